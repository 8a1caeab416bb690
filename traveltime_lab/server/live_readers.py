"""
Read the files and addresses of live updates again and again.

An address is fetched over http or https only, through the proxies of the environment as `urllib.request` uses them. A
redirect leads neither from https to http nor from a public address to one of a private network. A fetch ends after some
seconds, whatever the server does, and at once when it is aborted. No error has any part of an answer.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import traveltime_lab
from traveltime_lab._files import explained, is_file, read_bytes
from traveltime_lab.errors import TravelTimeError
from traveltime_lab.realtime.sources import MOST_BYTES

#: Seconds that a fetch may take from its beginning to its end (assumed: the largest messages have 10 MB).
FETCH_S: Final = 10.0
#: Seconds without a change after which a file is complete (assumed); a quarter of the time between two looks, if less.
_QUIET_S: Final = 1.0
_MOST_TRIES: Final = 5
_CHUNK: Final = 1 << 16
#: Beginnings of addresses.
SCHEMES: Final = ("http://", "https://")
#: IPv6 addresses that stand for those of IPv4 in their last 32 bits. Source: RFC 6052.
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


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
        self._is_private = False
        self.deadline: float | None = None
        self._opener = urllib.request.OpenerDirector()
        # Neither files nor data: or ftp: addresses can be opened.
        for handler in (
            urllib.request.ProxyHandler(), urllib.request.UnknownHandler(), _Http(self._connect), _Https(self._connect),
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
        except Exception as error:
            # The validators may be about another answer than the last one that was read.
            if not (isinstance(error, urllib.error.HTTPError) and error.code == 304 and self._known):
                self._known = {}
                raise self._fault(error) from None
            error.close()
            return None
        finally:
            self.deadline = None
            with self._lock:
                self._sockets.clear()

    def _fault(self, error: Exception) -> SourceError:
        """Return an error without anything that the server says."""
        if isinstance(error, SourceError):
            return error
        if isinstance(error, urllib.error.HTTPError):
            error.close()
            if error.code // 100 == 3 and error.code != 304:
                text = f"the server answers {error.code}, a redirect that leads nowhere or in a circle"
            else:
                phrase = http.client.responses.get(error.code, "")
                text = f"the server answers {error.code} {phrase}".rstrip()
            return SourceError("status", text)
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        if self._is_aborted or isinstance(cause, TimeoutError):
            text = f"the server did not answer within {self._fetch_s:g} s"
        elif isinstance(cause, ssl.SSLError):
            text = f"the server cannot be reached: TLS fails with {cause.reason or type(cause).__name__}"
        elif isinstance(cause, OSError):
            text = f"the server cannot be reached: {cause.strerror or cause}"
        else:
            text = f"the server does not answer as HTTP says: {type(error).__name__}"
        return SourceError("unreachable", text)

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

    def _connect(self, request: Any) -> _Connect:
        """Return a function that connects for a request, unless that is a redirect into a private network."""
        is_redirect = getattr(request, "is_redirect", False)
        if request.has_proxy() or getattr(request, "_tunnel_host", None):
            self._allow(is_redirect, [_is_private_name(str(urlsplit(request.full_url).hostname))])
            return lambda place, timeout, source: self._watched(socket.create_connection(place, timeout, source))

        def connect(place: Any, timeout: Any, source: Any) -> socket.socket:
            if not is_redirect:
                found = self._watched(socket.create_connection(place, timeout, source))
                self._allow(False, [is_private(found.getpeername()[0])])
                return found
            # The addresses that were checked are those that are connected to: names may change what they mean.
            places: list[Any] = [each[4] for each in socket.getaddrinfo(place[0], place[1], 0, socket.SOCK_STREAM)]
            self._allow(True, [is_private(str(each[0])) for each in places])
            for number, each in enumerate(places, 1):
                try:
                    return self._watched(socket.create_connection(each[:2], timeout, source))
                except OSError:
                    if number == len(places):
                        raise
            raise OSError("no address")

        return connect

    def _allow(self, is_redirect: bool, are_private: list[bool]) -> None:
        """Note whether the source itself is private, or raise SourceError for a redirect to what is, if it is not."""
        if not is_redirect:
            self._is_private = any(are_private)
        elif any(are_private) and not self._is_private:
            raise SourceError("status", "the server redirects to an address of a private network")

    def _watched(self, connected: socket.socket) -> socket.socket:
        """Return a socket that another thread can end from now on."""
        with self._lock:
            self._sockets.append(connected)
            is_aborted = self._is_aborted
        if is_aborted or self._wait(0.0):
            connected.close()
            raise TimeoutError
        return connected

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
        if not newurl.lower().startswith(SCHEMES):
            raise SourceError("status", f"the server answers {code} with an address that is not http or https")
        if req.full_url.lower().startswith("https:") and not newurl.lower().startswith("https:"):
            raise SourceError("status", f"the server answers {code} with an address that is not https, as its own is")
        found: Any = super().redirect_request(req, fp, code, msg, headers, newurl)
        if found is not None:
            found.is_redirect = True
        return found


def is_private(address: str) -> bool:
    """Return whether an IP address is that of this machine, of a private network, or of no single other machine."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        found = found.ipv4_mapped or found.sixtofour or found
    if found in _NAT64:
        found = ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF)
    return not found.is_global or found.is_multicast


def _is_private_name(host: str) -> bool:
    """Return whether a host is private by its name alone, which is all that is known behind a proxy."""
    name = host.lower().rstrip(".")
    return is_private(name) or name == "localhost" or name.endswith((".localhost", ".local", ".internal"))


_Connect = Callable[[Any, Any, Any], socket.socket]


class _Http(urllib.request.HTTPHandler):
    """Opens connections by a function."""

    def __init__(self, connect: Callable[[Any], _Connect]) -> None:
        super().__init__()
        self._connect = connect

    def http_open(self, req: Any) -> Any:
        connect = self._connect(req)

        class Connection(http.client.HTTPConnection):
            def connect(self) -> None:
                self._create_connection = connect
                super().connect()

        return self.do_open(Connection, req)


class _Https(urllib.request.HTTPSHandler):
    """The same with TLS, which checks certificates."""

    def __init__(self, connect: Callable[[Any], _Connect]) -> None:
        super().__init__()
        self._connect = connect

    def https_open(self, req: Any) -> Any:
        connect = self._connect(req)

        class Connection(http.client.HTTPSConnection):
            def connect(self) -> None:
                self._create_connection = connect
                super().connect()

        return self.do_open(Connection, req)
