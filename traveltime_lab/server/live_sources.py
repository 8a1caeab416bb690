"""
Where the service finds live updates: files and addresses, which are read again and again.

An address is fetched over http or https only, also after a redirect, through the proxies of the environment as
`urllib.request` uses them. A fetch ends after some seconds, whatever the server does, and at once when it is aborted.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import traveltime_lab
from traveltime_lab._checks import did_you_mean
from traveltime_lab._files import as_path, explained, is_file, read_bytes
from traveltime_lab.errors import InputError, TravelTimeError
from traveltime_lab.network.network import Network
from traveltime_lab.realtime.match import feed_number
from traveltime_lab.realtime.sources import MOST_BYTES
from traveltime_lab.realtime.updates import check_planned

#: Seconds that a fetch may take from its beginning to its end (assumed: the largest messages have 10 MB).
FETCH_S: Final = 10.0
#: Seconds without a change after which a file is complete (assumed); a quarter of the time between two looks, if less.
_QUIET_S: Final = 1.0
_MOST_TRIES: Final = 5
_CHUNK: Final = 1 << 16
_SCHEMES: Final = ("http://", "https://")
#: Sources of a service (assumed); each has a thread.
_MOST_SOURCES: Final = 100


@dataclass(frozen=True)
class UpdateSource:
    """
    A file or an address of live updates.

    Parameters
    ----------
    address : str
        Path, or address with http or https.
    map : str, optional
        Name of the network; None for the only one.
    feed : str, optional
        Name of the GTFS feed that the messages are about.
    label : str
        Name for logs and metrics: an address without its query, which may contain a key, or the name of the file.
    """

    address: str
    map: str | None = None
    feed: str | None = None
    label: str = ""

    @property
    def is_remote(self) -> bool:
        """Whether it is an address."""
        return self.address.lower().startswith(_SCHEMES)


def update_sources(given: Any, maps: tuple[str, ...]) -> tuple[UpdateSource, ...]:
    """
    Return the sources that the argument `updates` of `serve` gives.

    Parameters
    ----------
    given : path-like, list of these, or mapping
        A mapping has names of networks or of feeds as keys; see `traveltime_lab.serve`.
    maps : tuple of str
        Names of the networks.
    """
    return tuple(_sources(given, maps, None, None))


def _sources(given: Any, maps: tuple[str, ...], name: str | None, feed: str | None) -> list[UpdateSource]:
    if isinstance(given, Mapping):
        if any(not isinstance(key, str) for key in given):
            raise InputError(f"the keys of updates must be names of networks or feeds; got {[*given]!r}")
        if feed is not None:
            raise InputError(f"updates of feed {feed!r} must be a file or an address, or a list of these; got a dict")
        is_by_map = name is None and (len(maps) > 1 or {*given} <= {*maps})
        if is_by_map:
            return [each for key, inner in given.items() for each in _sources(inner, maps, key, None)]
        return [each for key, inner in given.items() for each in _sources(inner, maps, name, key)]
    if isinstance(given, list | tuple):
        nested = [each for each in given if isinstance(each, list | tuple | Mapping)]
        if nested:
            raise InputError(f"a list of updates must have files or addresses; got {nested[0]!r}")
        return [each for inner in given for each in _sources(inner, maps, name, feed)]
    if not isinstance(given, str | os.PathLike):
        raise InputError(
            "updates must be a file or an address that is read again and again, a list of these, or a dict by network "
            f"or feed; got {type(given).__name__}"
        )
    text = os.fspath(as_path(given, "updates")) if not isinstance(given, str) else given
    return [UpdateSource(text, name, feed)]


def parsed(text: str) -> UpdateSource:
    """Return the source that an option ``[NETWORK][:FEED]=FILE_OR_URL`` of the command specifies."""
    names, equals, address = text.partition("=")
    if not equals or "/" in names or "\\" in names:
        return UpdateSource(text)
    name, _, feed = names.partition(":")
    return UpdateSource(address, name or None, feed or None)


def name_of(source: UpdateSource, names: tuple[str, ...]) -> str:
    """Return the name of the network that a source is about; InputError if there is none, or several could be meant."""
    if source.map is None and len(names) > 1:
        raise InputError(
            f"updates must name the network that they are about, which is one of {', '.join(names)}; write "
            f"NETWORK={_label(source)}, or pass a dict"
        )
    name = names[0] if source.map is None else source.map
    if name not in names:
        raise InputError(
            f"updates are for a network called {name!r}; there are {', '.join(map(repr, names))}"
            f"{did_you_mean(name, names)}"
        )
    return name


def checked(sources: tuple[UpdateSource, ...], networks: Mapping[str, Network]) -> tuple[UpdateSource, ...]:
    """
    Return sources with the names of their networks, and with labels that differ.

    Raises
    ------
    InputError
        If a network or feed is unknown, a network has no timetable, or an address cannot be one.
    """
    if len(sources) > _MOST_SOURCES:
        raise InputError(f"a service has at most {_MOST_SOURCES} sources of updates; got {len(sources)}")
    labels: dict[str, int] = {}
    found = []
    for source in sources:
        name = name_of(source, tuple(networks))
        network = networks[name]
        check_planned(network.timetable, network.tables.report)
        assert network.timetable is not None
        feed_number(network.timetable.feeds["name"].astype(str).tolist(), source.feed)
        label = _label(source)
        labels[label] = labels.get(label, 0) + 1
        shown = label if labels[label] == 1 else f"{label} #{labels[label]}"
        found.append(UpdateSource(source.address, name, source.feed, shown))
    return tuple(found)


def _label(source: UpdateSource) -> str:
    if not source.is_remote:
        scheme, separator, _ = source.address.partition("://")
        if separator and scheme.isalpha():
            raise InputError(f"updates must be a file or an address with http or https; got one with {scheme!r}")
        return as_path(source.address, "updates").name
    try:
        parts = urlsplit(source.address)
        host, port = parts.hostname, parts.port
        is_good = bool(host) and source.address.isascii() and source.address.isprintable() and " " not in source.address
    except ValueError:
        is_good = False
    if not is_good:
        raise InputError(f"updates must be a file or an address; {source.address.partition('?')[0]!r} is no address")
    if parts.username is not None or parts.password is not None:
        raise InputError(f"updates from {host}: an address with a password is not supported; use one with a key")
    return (
        f"{parts.scheme.lower()}://{f'[{host}]' if ':' in str(host) else host}{f':{port}' if port else ''}{parts.path}"
    )


class SourceError(Exception):
    """
    A source that cannot be read.

    Attributes
    ----------
    kind : str
        Kind of the fault, which does not change from one look to the next.
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class FileReader:
    """
    Reads a file when it has changed.

    Parameters
    ----------
    path : Path
    every : float
        Seconds between two looks.
    wait : callable
        Waits some seconds, and returns whether the service is stopping.
    """

    def __init__(self, path: Path, every: float, wait: Callable[[float], bool]) -> None:
        self._path, self._wait = path, wait
        self._quiet_s = min(_QUIET_S, every / 4.0)
        self._stamp: tuple[int, int, int] | None = None
        self.deadline: float | None = None

    def read(self) -> bytes | None:
        """Return the content of the file; None if it is the one that was accepted before."""
        for _ in range(_MOST_TRIES):
            stamp = self._look()
            if stamp == self._stamp:
                return None
            # A file that is being written has changed just now, or changes while it is read.
            if abs(time.time() - stamp[0] / 1e9) < self._quiet_s and self._wait(self._quiet_s):
                return None
            if self._look() != stamp:
                continue
            try:
                with explained(self._path, "read"):
                    content = read_bytes(self._path)
            except TravelTimeError as error:
                raise SourceError("missing", self._said(error)) from None
            if self._look() == stamp:
                self._read = stamp
                return content
        raise SourceError("changing", "it changes while it is read; replace it in one step")

    def accept(self) -> None:
        """Read the file no more until it has changed."""
        self._stamp = self._read

    def _look(self) -> tuple[int, int, int]:
        try:
            if self._path.is_dir():
                raise SourceError("missing", "it is a folder; name its files")
            if not is_file(self._path):
                raise SourceError("missing", "there is no such file")
            with explained(self._path, "look for"):
                found = self._path.stat()
        except TravelTimeError as error:
            raise SourceError("missing", self._said(error)) from None
        if found.st_size > MOST_BYTES:
            raise SourceError("too_large", f"it has more than {MOST_BYTES:,} bytes; a message has at most that")
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _said(self, error: Exception) -> str:
        return str(error).replace(str(self._path), self._path.name)

    def abort(self) -> None:
        """Do nothing: a file is read in no time."""


class AddressReader:
    """
    Fetches an address.

    Parameters
    ----------
    address : str
    wait : callable
        As in `FileReader`.
    fetch_s : float, optional
        Seconds that a fetch may take.

    Attributes
    ----------
    deadline : float or None
        When the running fetch has to end, as `time.monotonic` counts; `abort` ends it.
    """

    def __init__(self, address: str, wait: Callable[[float], bool], fetch_s: float | None = None) -> None:
        self._address, self._wait = address, wait
        self._fetch_s = FETCH_S if fetch_s is None else fetch_s
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._known: dict[str, str] = {}
        self._new: dict[str, str] = {}
        self._is_aborted = False
        self.deadline: float | None = None
        self._opener = urllib.request.OpenerDirector()
        # Neither files nor data: or ftp: addresses can be opened.
        for handler in (
            urllib.request.ProxyHandler(), urllib.request.UnknownHandler(), _Http(self._watch), _Https(self._watch),
            urllib.request.HTTPDefaultErrorHandler(), _Redirects(), urllib.request.HTTPErrorProcessor(),
        ):  # fmt: skip
            self._opener.add_handler(handler)
        self._opener.addheaders = [("User-Agent", f"traveltime_lab/{traveltime_lab.__version__}")]

    def read(self) -> bytes | None:
        """Return what the address answers; None if the server says that it has not changed."""
        self._is_aborted, self.deadline = False, time.monotonic() + self._fetch_s
        request = urllib.request.Request(self._address, headers={"Accept-Encoding": "gzip", **self._known})
        try:
            with self._opener.open(request, timeout=self._fetch_s) as response:
                self._new = {
                    header: response.headers[said]
                    for said, header in (("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since"))
                    if response.headers[said]
                }
                return self._body(response)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 304 and self._known:
                return None
            if error.code // 100 == 3:
                text = f"the server answers {error.code}, a redirect that leads nowhere or in a circle"
                raise SourceError("status", text) from None
            reason = " ".join(str(error.reason).split())
            raise SourceError("status", f"the server answers {error.code} {reason}".rstrip()) from None
        except SourceError:
            raise
        except Exception as error:
            if self._is_aborted or isinstance(error, TimeoutError):
                text = f"the server did not answer within {self._fetch_s:g} s"
                raise SourceError("unreachable", text) from None
            cause = error.reason if isinstance(error, urllib.error.URLError) else error
            if isinstance(cause, TimeoutError):
                text = f"the server did not answer within {self._fetch_s:g} s"
            elif isinstance(cause, OSError):
                text = f"the server cannot be reached: {cause.strerror or cause}"
            else:
                text = f"the server does not answer as HTTP says: {type(cause).__name__}"
            raise SourceError("unreachable", text) from None
        finally:
            self.deadline = None
            with self._lock:
                self._sockets.clear()

    def accept(self) -> None:
        """Request the answer from now on only if it has changed."""
        self._known = self._new

    def abort(self) -> None:
        """End a fetch that is running, from another thread."""
        with self._lock:
            self._is_aborted = True
            for each in self._sockets:
                with contextlib.suppress(OSError):  # it is closed already
                    each.shutdown(socket.SHUT_RDWR)

    def _watch(self, connected: socket.socket) -> None:
        with self._lock:
            self._sockets.append(connected)
            is_aborted = self._is_aborted
        if is_aborted or self._wait(0.0):
            raise TimeoutError

    def _body(self, response: Any) -> bytes:
        assert self.deadline is not None
        found = bytearray()
        too_large = SourceError(
            "too_large", f"the answer has more than {MOST_BYTES:,} bytes; a message has at most that"
        )
        if response.length is not None and response.length > MOST_BYTES:
            raise too_large
        while chunk := response.read1(_CHUNK):
            found += chunk
            if len(found) > MOST_BYTES:
                raise too_large
            if time.monotonic() > self.deadline:
                raise TimeoutError
        if self._is_aborted:
            raise TimeoutError
        if response.length:
            raise SourceError("truncated", "the answer ends before its Content-Length")
        return bytes(found)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, at most ten, to addresses with http or https only, without reading the bodies of answers."""

    def http_error_302(self, req: Any, fp: Any, code: int, msg: str, headers: Any) -> Any:
        fp.close()
        return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if not newurl.lower().startswith(_SCHEMES):
            raise SourceError("status", f"the server answers {code} with an address that is not http or https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _Http(urllib.request.HTTPHandler):
    """Opens connections whose sockets are known, so that another thread can end them."""

    def __init__(self, watch: Callable[[socket.socket], None]) -> None:
        super().__init__()
        self._watch = watch

    def http_open(self, req: Any) -> Any:
        watch = self._watch

        class Connection(http.client.HTTPConnection):
            def connect(self) -> None:
                super().connect()
                watch(self.sock)

        return self.do_open(Connection, req)


class _Https(urllib.request.HTTPSHandler):
    """The same with TLS, which checks certificates."""

    def __init__(self, watch: Callable[[socket.socket], None]) -> None:
        super().__init__()
        self._watch = watch

    def https_open(self, req: Any) -> Any:
        watch = self._watch

        class Connection(http.client.HTTPSConnection):
            def connect(self) -> None:
                super().connect()
                watch(self.sock)

        return self.do_open(Connection, req)
