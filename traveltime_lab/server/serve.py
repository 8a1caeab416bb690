"""
Running the service: in the background of a program or notebook (`serve`), or as a program of its own (`run`).
"""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pandas as pd

from traveltime_lab.errors import InputError, MissingDependencyError, MissingFileError, TravelTimeError
from traveltime_lab.network.network import Network
from traveltime_lab.search.geocoding.nominatim import Nominatim
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.auth import Credentials, generate_pair
from traveltime_lab.server.config import Options
from traveltime_lab.server.postcodes import Zones
from traveltime_lab.server.tls import write_certificate

if TYPE_CHECKING:
    import uvicorn

#: A table of postcodes, or the file of one.
ZonesLike: TypeAlias = Zones | pd.DataFrame | str | os.PathLike[str]
#: Seconds that a start may take.
_START_S = 30.0


class Served(str):
    """
    Address of a running service, such as ``http://127.0.0.1:8000``, with what a client needs to know.

    Attributes
    ----------
    host : str
    port : int
    app_id, api_key : str
        A pair that the service accepts.
    certificate : Path or None
        PEM file of a self-signed certificate, while the service runs.
    """

    host: str
    port: int
    app_id: str
    api_key: str
    certificate: Path | None

    @property
    def headers(self) -> dict[str, str]:
        """The headers that authenticate a JSON request."""
        return {"X-Application-Id": self.app_id, "X-Api-Key": self.api_key}

    @property
    def proto(self) -> str:
        """The base of the Protocol Buffers endpoints."""
        return f"{self}/api/v3"


@dataclass(frozen=True)
class _Prepared:
    """A service that only has to be started."""

    server: uvicorn.Server
    listener: socket.socket
    address: Served
    atlas: Atlas


@contextlib.contextmanager
def _prepared(
    networks: Network | Mapping[str, Network] | Iterable[Network],
    host: str,
    port: int,
    credentials: Iterable[tuple[str, str]] | None,
    tls: bool | tuple[str | os.PathLike[str], str | os.PathLike[str]],
    zones: ZonesLike | None,
    options: Options,
) -> Iterator[_Prepared]:
    """Bind the address and make everything ready, so that what is wrong is said before anything runs."""
    try:
        from traveltime_lab.server import app as application  # noqa: PLC0415 - an optional extra
        from traveltime_lab.server import listening  # noqa: PLC0415
    except ModuleNotFoundError as error:
        text = f"the service needs {error.name}. Type: pip install 'traveltime_lab[server]'"
        raise MissingDependencyError(text) from error
    atlas = Atlas(networks)
    pairs = list(credentials) if credentials is not None else [generate_pair()]
    if zones is not None and not isinstance(zones, Zones):
        zones = Zones.from_table(zones) if isinstance(zones, pd.DataFrame) else Zones.read(zones)
    app = application.create_app(atlas, Credentials(pairs), options, zones)
    with contextlib.ExitStack() as stack:
        certificate = key = None
        if isinstance(tls, tuple):
            certificate, key = (Path(path) for path in tls)
            for path in (certificate, key):
                if not path.is_file():
                    raise MissingFileError(f"no certificate or key at {path}")
        elif tls:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="traveltime_lab_"))
            certificate, key = write_certificate(Path(folder), host)
        try:
            listener = stack.enter_context(_bound(host, port))
        except (OSError, OverflowError) as error:
            raise InputError(f"cannot listen on {host} port {port}: {error}") from error
        server = listening.server(app, certificate, key, options)
        bound_port = listener.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        address = Served(f"{'https' if certificate else 'http'}://{shown}:{bound_port}")
        address.host, address.port = host, bound_port
        address.app_id, address.api_key = pairs[0]
        address.certificate = certificate
        yield _Prepared(server, listener, address, atlas)


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address."""
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except BaseException:
        listener.close()
        raise
    return listener


@contextlib.contextmanager
def serve(
    networks: Network | Mapping[str, Network] | Iterable[Network],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    credentials: Iterable[tuple[str, str]] | None = None,
    tls: bool | tuple[str | os.PathLike[str], str | os.PathLike[str]] = False,
    zones: ZonesLike | None = None,
    body_limit: int = Options.body_limit,
    timeout_s: float = Options.timeout_s,
    idle_s: float = Options.idle_s,
    connections: int = Options.connections,
    hits_per_minute: int | None = None,
    nominatim: str | None = None,
) -> Iterator[Served]:
    """
    Serve networks over HTTP for the length of a ``with`` block.

    Parameters
    ----------
    networks : Network, mapping of str to Network, or iterable of Network
        A mapping gives the maps names. The place of a search decides which map answers.
    host : str, default "127.0.0.1"
        Where to listen: this machine only, unless told otherwise.
    port : int, default 0
        0 takes a free one.
    credentials : iterable of (str, str), optional
        Accepted pairs of application id and API key; by default one is made up.
    tls : bool or (certificate, key), default False
        True makes a self-signed certificate; two PEM files use yours.
    zones : DataFrame or path-like, optional
        Postcodes for the endpoints that answer about them, see `traveltime_lab.server.postcodes.Zones`.
    body_limit : int, default 100000000
        Bytes of a request.
    timeout_s : float, default 300
        Seconds that a request may take.
    idle_s : float, default 10
        Seconds that a connection may be idle, and that the headers of a request may take.
    connections : int, default 500
        Connections that are open at once; further ones are answered with 503. At most 64 fewer than the process may
        open files.
    hits_per_minute : int, optional
        Rate limit for each application id.
    nominatim : str, optional
        Address of a Nominatim server that answers about names; by default the networks do.

    Returns
    -------
    context manager of Served
        Gives the address, a str; it also knows ``app_id``, ``api_key``, ``headers``, ``proto`` and ``certificate``.

    Raises
    ------
    InputError
        If there is no network, the credentials are empty, or the address cannot be used.
    MissingDependencyError
        If the extra ``server`` is not installed.

    Examples
    --------
    >>> import json
    >>> from urllib.request import Request, urlopen
    >>> with tl.serve({"coquimbo": tl.sample_network()}) as url:
    ...     with urlopen(Request(f"{url}/v4/map-info", headers=url.headers)) as response:
    ...         answer = json.load(response)
    >>> [item["name"] for item in answer["maps"]]
    ['coquimbo']
    """
    options = Options(
        body_limit=body_limit,
        timeout_s=timeout_s,
        idle_s=idle_s,
        connections=connections,
        hits_per_minute=hits_per_minute,
        nominatim=None if nominatim is None else Nominatim(nominatim),
    )
    with _prepared(networks, host, port, credentials, tls, zones, options) as prepared:
        server = prepared.server
        thread = threading.Thread(
            target=server.run, args=([prepared.listener],), name="traveltime_lab.server", daemon=True
        )
        thread.start()
        try:
            deadline = time.monotonic() + _START_S
            while not server.started:
                if not thread.is_alive() or time.monotonic() > deadline:
                    raise TravelTimeError("the service did not start; its log says why")
                time.sleep(0.005)
            yield prepared.address
        finally:
            server.should_exit = True
            thread.join()


def run(
    networks: Network | Mapping[str, Network] | Iterable[Network],
    *,
    announce: Callable[[Served], None],
    host: str = "127.0.0.1",
    port: int = 8000,
    credentials: Iterable[tuple[str, str]] | None = None,
    tls: bool | tuple[str | os.PathLike[str], str | os.PathLike[str]] = False,
    zones: ZonesLike | None = None,
    options: Options | None = None,
) -> None:
    """
    Serve networks until SIGINT or SIGTERM, then finish what is being answered.

    While the first requests come in, what they need is made ready beside them: see `traveltime_lab.server.warm_up`.

    Parameters
    ----------
    announce : callable
        Called with the address once it is bound.
    networks, host, port, credentials, tls, zones
        As in `serve`.
    options : Options, optional
    """
    with _prepared(networks, host, port, credentials, tls, zones, options or Options()) as prepared:
        from traveltime_lab.server.warm_up import warm_up  # noqa: PLC0415 - an optional extra

        announce(prepared.address)
        threading.Thread(
            target=warm_up, args=(prepared.atlas,), name="traveltime_lab.server.warm_up", daemon=True
        ).start()
        prepared.server.run([prepared.listener])
