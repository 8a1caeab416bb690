"""
Running the service: in the background of a program or notebook (`serve`), or as a program of its own (`run`).
"""

from __future__ import annotations

import contextlib
import operator
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from traveltime_lab._checks import flag, items, number, whole, words
from traveltime_lab._files import as_path, is_file, temporary_folder
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError, LimitError, MissingDependencyError, MissingFileError, TravelTimeError
from traveltime_lab.modes.costs import Costs, as_costs
from traveltime_lab.network.network import Network
from traveltime_lab.search.geocoding.nominatim import Nominatim
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.auth import Credentials, generate_pair
from traveltime_lab.server.config import MOST_IDLE_S, Options
from traveltime_lab.server.live import Live, check_times
from traveltime_lab.server.live_sources import checked, update_sources
from traveltime_lab.server.postcodes import Zones
from traveltime_lab.server.tls import write_certificate

if TYPE_CHECKING:
    import uvicorn

    from traveltime_lab.server.reload import Reloader
    from traveltime_lab.server.serving import Serving

#: A table of postcodes, or the file of one.
ZonesLike: TypeAlias = Zones | pd.DataFrame | str | os.PathLike[str]
#: A file or an address, several, or a dict by network or feed.
UpdatesLike: TypeAlias = str | os.PathLike[str] | list[Any] | tuple[Any, ...] | Mapping[str, Any]
#: Seconds that a start may take.
_START_S = 30.0


class Served(str):
    """
    Address of a running service, such as ``http://127.0.0.1:8000``, with the facts that a client needs.

    Attributes
    ----------
    host : str
    port : int
    app_id, api_key : str
        A pair that the service accepts.
    certificate : Path or None
        PEM file of a self-signed certificate, while the service runs.
    page : str
        Address of the map that the service shows at ``/``. It lets one browser in, once; others sign in with a pair.
    """

    host: str
    port: int
    app_id: str
    api_key: str
    certificate: Path | None
    page: str
    _serving: Serving

    def reload(self, networks: Network | Mapping[str, Network] | Iterable[Network]) -> None:
        """
        Answer with other networks from now on.

        Returns when they are ready and in place. No request waits: those that are being answered keep the former
        networks, and each is answered with one set of networks.

        Parameters
        ----------
        networks : Network, mapping of str to Network, or iterable of Network
            As in `serve`.

        Raises
        ------
        InputError
            If there is no network, or a name cannot be used; then nothing changes.
        """
        self._serving.exchange(Atlas(networks))

    @property
    def middle(self) -> tuple[float, float]:
        """Longitude and latitude of a crossing in the middle of the smallest network."""
        return self._serving.atlas.maps[0].middle

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
    serving: Serving
    live: Live | None

    def following(self) -> contextlib.AbstractContextManager[None]:
        """Apply live updates for the length of a ``with`` block."""
        return contextlib.nullcontext() if self.live is None else self.live.running()


@contextlib.contextmanager
def _prepared(
    networks: Atlas | Network | Mapping[str, Network] | Iterable[Network],
    host: str,
    port: int,
    credentials: Iterable[tuple[str, str]] | None,
    tls: bool | tuple[str | os.PathLike[str], str | os.PathLike[str]],
    zones: ZonesLike | None,
    options: Options,
) -> Iterator[_Prepared]:
    """Bind the address and prepare everything, so that faults are reported before anything runs."""
    try:
        from traveltime_lab.server import app as application  # noqa: PLC0415 - an optional extra
        from traveltime_lab.server import browsers, listening  # noqa: PLC0415
        from traveltime_lab.server.page.sessions import Sessions  # noqa: PLC0415
        from traveltime_lab.server.serving import Serving  # noqa: PLC0415
    except ModuleNotFoundError as error:
        text = f"the service needs {error.name}. Type: pip install 'traveltime_lab[server]'"
        raise MissingDependencyError(text) from error
    serving = Serving(networks if isinstance(networks, Atlas) else Atlas(networks))
    del networks  # after a reload, nothing else should keep them in memory
    sources = checked(options.updates, {item.name: item.network for item in serving.atlas.maps})
    live = Live(serving, sources, options.every_s, options.max_age_s) if sources else None
    pairs = _checked_pairs(credentials)
    if zones is not None and not isinstance(zones, Zones):
        zones = Zones.from_table(zones) if isinstance(zones, pd.DataFrame) else Zones.read(zones)
    options = replace(options, hosts=browsers.known_hosts(host))
    sessions = Sessions(pairs[0][0])
    app = application.create_app(serving, Credentials(pairs), options, zones, sessions)
    with contextlib.ExitStack() as stack:
        certificate = key = None
        if isinstance(tls, tuple):
            certificate, key = (as_path(path, "tls") for path in items(tls, "tls", "two paths", 2))
            for path in (certificate, key):
                if not is_file(path):
                    raise MissingFileError(f"no certificate or key at {path}")
            _check_certificate(certificate, key)
        elif flag(tls, "tls"):
            folder = stack.enter_context(temporary_folder())
            certificate, key = write_certificate(folder, host)
        try:
            listener = stack.enter_context(_bound(words(host, "host"), _checked_port(port)))
        except (OSError, OverflowError, UnicodeError) as error:
            raise InputError(f"cannot listen on {host} port {port}: {error}") from error
        server = listening.server(app, certificate, key, options)
        bound_port = listener.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        address = Served(f"{'https' if certificate else 'http'}://{shown}:{bound_port}")
        address.host, address.port = host, bound_port
        address.app_id, address.api_key = pairs[0]
        address.certificate = certificate
        address.page = f"{address}/?token={sessions.token}"
        address._serving = serving
        yield _Prepared(server, listener, address, serving, live)


def _check_certificate(certificate: Path, key: Path) -> None:
    """Raise InputError if a server cannot use a certificate and its key."""
    try:
        # Without an answer, OpenSSL prompts for the password of a key on the terminal, and waits.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ValueError) as error:
        msg = (
            f"{certificate} and {key} are not a certificate and its key in PEM, without a password "
            f"({str(error) or type(error).__name__}); write them again"
        )
        raise InputError(msg) from error


def _checked_port(port: Any) -> int:
    """Return a port as a plain integer; whether it can be used shows when it is bound."""
    try:
        if not isinstance(port, bool):
            return operator.index(port)
    except TypeError:
        pass
    raise InputError(f"port must be a whole number from 0 to 65535; got {port!r}")


def _checked_pairs(credentials: Any) -> list[tuple[str, str]]:
    """Return pairs of application id and API key; one is made up if there are none."""
    if credentials is None:
        return [generate_pair()]
    pairs = [items(pair, "credentials", "pairs of texts", 2) for pair in items(credentials, "credentials", "pairs")]
    if not pairs:
        raise InputError("credentials is empty; give at least one pair of application id and API key")
    return [(words(app_id, "credentials"), words(api_key, "credentials")) for app_id, api_key in pairs]


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address."""
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    # With the protocol, because asyncio sends small packets at once only over sockets that say TCP. Otherwise the body
    # of an answer waits up to 40 ms until the client has acknowledged its head.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except BaseException:
        listener.close()
        raise
    return listener


@explained_keywords
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
    costs: Costs | Mapping[str, Any] | None = None,
    allow_origins: str | Iterable[str] = (),
    updates: UpdatesLike | None = None,
    every: float = Options.every_s,
    max_age: float = Options.max_age_s,
) -> Iterator[Served]:
    """
    Serve networks over HTTP for the length of a ``with`` block.

    Parameters
    ----------
    networks : Network, mapping of str to Network, or iterable of Network
        A mapping gives the maps names. The place of a search decides which map answers.
    host : str, default "127.0.0.1"
        Where to listen: this machine only by default.
    port : int, default 0
        0 takes a free one.
    credentials : iterable of (str, str), optional
        Accepted pairs of application id and API key; by default one is made up.
    tls : bool or (certificate, key), default False
        True generates a self-signed certificate; two PEM files use yours.
    zones : DataFrame or path-like, optional
        Postcodes for the endpoints that answer about them, see `traveltime_lab.server.postcodes.Zones`.
    body_limit : int, default 100000000
        Bytes of a request.
    timeout_s : float, default 300
        Seconds that a request may take; infinity for no limit.
    idle_s : float, default 10
        Seconds that a connection may be idle, and that the headers of a request may take; at most a day.
    connections : int, default 500
        Connections that are open at once; further ones are answered with 503. At most 64 fewer than the process may
        open files.
    hits_per_minute : int, optional
        Rate limit for each application id.
    nominatim : str, optional
        Address of a Nominatim server that answers about names; by default the networks do.
    costs : Costs or mapping, optional
        Emissions and money of a kilometre, for the properties ``emissions`` and ``cost`` of requests. By default those
        of `Costs`, which has no prices.
    allow_origins : str or iterable of str, optional
        Origins of web pages whose scripts may read the answers (CORS), such as ``"http://localhost:3000"``, or ``"*"``
        for all. By default there are none.
    updates : path-like, str, list of these, or dict, optional
        Files or addresses (http or https) of GTFS Realtime messages, which are read again and again and applied to the
        planned timetable while the service answers; see `Network.with_updates`. A dict has them by the name of the
        network, or for a single network by the name of the GTFS feed that they are about; a dict by network may have
        such dicts as values.
    every : float, default 30
        Seconds between two looks at each of them, at most a day, and at least one second for addresses.
    max_age : float, default 600
        Seconds after which a message is no longer used, by the timestamp of its header; the planned timetable takes
        its place. Infinity for no limit.

    Returns
    -------
    context manager of Served
        Gives the address, a str with the attributes ``app_id``, ``api_key``, ``headers``, ``proto``, ``certificate``
        and ``page``, the address of a map to click on. ``reload(networks)`` has the service answer with other networks.

    Raises
    ------
    InputError
        If there is no network, the credentials are empty, an origin is none, or the address cannot be used; if updates
        are for a network or feed that is not there, or for one without a timetable.
    LimitError
        If a number is out of range.
    MissingDependencyError
        If the extra ``server`` is not installed.

    Examples
    --------
    >>> import json
    >>> from urllib.request import Request, urlopen
    >>> with tl.serve({"porto_alegre": tl.sample_network()}) as url:
    ...     with urlopen(
    ...         Request(f"{url}/v4/map-info", headers=url.headers)
    ...     ) as response:
    ...         answer = json.load(response)
    >>> [item["name"] for item in answer["maps"]]
    ['porto_alegre']
    """
    if not number(timeout_s, "timeout_s", "seconds") > 0:
        raise LimitError(f"timeout_s must be above 0 seconds; got {timeout_s!r}")
    if not 0 < number(idle_s, "idle_s", "seconds") <= MOST_IDLE_S:
        raise LimitError(f"idle_s must be above 0 and at most {MOST_IDLE_S:,.0f} seconds; got {idle_s!r}")
    every_s, max_age_s = check_times(every, max_age)
    atlas = Atlas(networks)
    sources = () if updates is None else update_sources(updates, tuple(item.name for item in atlas.maps))
    check_times(every_s, max_age_s, sources)
    options = Options(
        body_limit=whole(body_limit, "body_limit", 1, 2**63 - 1, "bytes"),
        timeout_s=number(timeout_s, "timeout_s"),
        idle_s=number(idle_s, "idle_s"),
        connections=whole(connections, "connections", 1, 2**31 - 1, "connections"),
        hits_per_minute=(
            None if hits_per_minute is None else whole(hits_per_minute, "hits_per_minute", 1, 2**31 - 1, "hits")
        ),
        nominatim=None if nominatim is None else Nominatim(nominatim),
        costs=as_costs(costs),
        allow_origins=(
            (allow_origins,) if isinstance(allow_origins, str) else tuple(items(allow_origins, "allow_origins", "URLs"))
        ),
        updates=sources,
        every_s=every_s,
        max_age_s=max_age_s,
    )
    with _prepared(atlas, host, port, credentials, tls, zones, options) as prepared:
        del networks, atlas  # as above
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
            with prepared.following():
                if prepared.live is not None:
                    prepared.live.wait(_START_S)
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
    reloader: Callable[[Serving], Reloader] | None = None,
) -> None:
    """
    Serve networks until SIGINT or SIGTERM, then finish the requests in progress.

    Code and graphs that the first requests need are loaded and built in the background: see
    `traveltime_lab.server.warm_up`.

    Parameters
    ----------
    announce : callable
        Called with the address once it is bound.
    networks, host, port, credentials, tls, zones
        As in `serve`.
    options : Options, optional
    reloader : callable, optional
        Returns what exchanges the networks while the service runs.
    """
    with _prepared(networks, host, port, credentials, tls, zones, options or Options()) as prepared:
        del networks  # as above
        announce(prepared.address)
        prepared.serving.begin()
        with (
            contextlib.nullcontext() if reloader is None else reloader(prepared.serving).running(),
            prepared.following(),
        ):
            prepared.server.run([prepared.listener])
