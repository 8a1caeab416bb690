"""
The HTTP server that the application runs in: how long it waits for clients, and how many it listens to.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import logging
import math
import socket
import sys
import time
from pathlib import Path
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from traveltime_lab.server.config import Options
from traveltime_lab.server.contract.errors import Failure, plain_failure

logger = logging.getLogger(__name__)

#: Descriptors that are left for files when all connections are open.
_SPARE_DESCRIPTORS: Final = 64
#: Connections beyond the most that still get an answer; those beyond them are closed without a word.
_TURNED_AWAY: Final = 50
#: Seconds that a client which is turned away has to read why.
_PARTING_S: Final = 2.0
#: Seconds between two lines of the log about the same shortage.
_REPEAT_S: Final = 10.0
#: Connections that the system accepts before the service does. With asyncio of Python 3.11, each of them is a failure
#: of its own when there are no descriptors.
_BACKLOG: Final = 128
_SHORTAGES: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class _Reporter:
    """Writes a line of the log at most every few seconds."""

    def __init__(self) -> None:
        self._next = -math.inf

    def report(self, text: str, *values: object) -> None:
        """Write a line unless there was one just before."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _REPEAT_S
            logger.warning(text, *values)


class _Protocol(H11Protocol):
    """
    HTTP as uvicorn speaks it, with time limits, a limit on connections, and errors in the contract's form.

    A connection may be idle for some seconds before a request, between requests, and while a client does not read its
    answer; a request's headers have the same time from their first byte on. `traveltime_lab.server.app` reads bodies
    and says how long it waits for them.
    """

    def __init__(self, *, idle_s: float, most: int, reporter: _Reporter, **more: Any) -> None:
        super().__init__(**more)
        self._idle_s = idle_s
        self._most = most
        self._reporter = reporter
        self._has_begun = self._is_turned_away = False
        self._waiting: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._unwritten = 0

    # Incoming data

    def connection_made(self, transport: Any) -> None:
        """Take a connection, or turn it away if there are too many."""
        super().connection_made(transport)
        n_open = len(self.connections)
        if n_open > self._most:
            self._reporter.report(
                "connections=%d are open, as many as there may be; others are turned away", self._most
            )
            self._is_turned_away = True
            if n_open > self._most + _TURNED_AWAY:
                transport.abort()
        self._wait_for_request()

    def data_received(self, data: bytes) -> None:
        """Take data of a client."""
        if self._is_turned_away:
            self._turn_away()
            return
        if not self._has_begun and not self._is_answering():
            self._wait_for_request(has_begun=True)
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the next request, and for the client to read the answer."""
        super().on_response_complete()
        if not self._is_answering() and not self.transport.is_closing():
            self._wait_for_request()
        self._watch_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        if self._writing is not None:
            self._writing.cancel()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_request(self, *, has_begun: bool = False) -> None:
        """Close the connection unless the headers of a request are there in time."""
        self._stop_waiting()
        self._has_begun = has_begun
        self._waiting = self.loop.call_later(self._idle_s, self._have_waited)

    def _stop_waiting(self) -> None:
        self._has_begun = False
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _have_waited(self) -> None:
        self._waiting = None
        if self.transport.is_closing():
            return
        # The rest of a body that was answered before its end is not worth waiting for, nor an answer of its own.
        is_request = self._has_begun and (self.cycle is None or not self.cycle.more_body)
        if is_request:
            self._say(plain_failure(408, f"The headers of the request took longer than {self._idle_s:g} s"))
        self.transport.close()

    def _turn_away(self) -> None:
        """Answer a client for which there is no room, and read nothing more from it."""
        if self._waiting is None:
            return
        self._stop_waiting()
        text = f"The service has {self._most} connections open, as many as it may; try again later"
        self._say(plain_failure(503, text, {"Retry-After": "10"}))
        if self.transport.can_write_eof():
            # Closed with data unread, a connection would take the answer with it.
            self.transport.write_eof()
            self.loop.call_later(_PARTING_S, self.transport.abort)
        else:
            self.transport.close()

    # Outgoing data

    def pause_writing(self) -> None:
        """Note that a client reads slowly."""
        super().pause_writing()
        self._watch_writing()

    def _watch_writing(self) -> None:
        """Close the connection if the client stops reading its answer."""
        self._unwritten = self.transport.get_write_buffer_size()
        if self._unwritten and self._writing is None:
            self._writing = self.loop.call_later(self._idle_s, self._have_written)

    def _have_written(self) -> None:
        self._writing = None
        if 0 < self._unwritten <= self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self._watch_writing()

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be read as HTTP."""
        self._say(plain_failure(400, msg))
        self.transport.close()

    def _say(self, failure: Failure) -> None:
        """Write a failure outside of the application."""
        body = failure.body()
        headers = {
            "content-type": "application/json", "content-length": str(len(body)), "connection": "close",
            **failure.headers,
        }  # fmt: skip
        lines = [f"HTTP/1.1 {failure.status} {STATUS_PHRASES[failure.status].decode()}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)

    def shutdown(self) -> None:
        """Close the connection as soon as nothing is being answered on it."""
        is_idle = not self._is_answering()
        if not is_idle and self.cycle.more_body and not self.cycle.response_started:
            # The rest of a body is not waited for.
            self._say(plain_failure(503, "The service is stopping", {"Retry-After": "10"}))
            self.transport.close()
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        elif is_idle and self.scheme == "https" and not self.transport.get_write_buffer_size():
            # The polite end of TLS waits half a minute for clients that have gone without a word.
            self.transport.abort()
        else:
            super().shutdown()
            self._watch_writing()


class _Server(uvicorn.Server):
    """The server of uvicorn on sockets that listen already."""

    def __init__(self, config: uvicorn.Config, options: Options, reporter: _Reporter) -> None:
        super().__init__(config)
        self._options = options
        self._reporter = reporter

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._failed)
        config = self.config
        await self.lifespan.startup()
        make: Any = config.http_protocol_class
        protocol = functools.partial(
            make, config=config, server_state=self.server_state, app_state=self.lifespan.state, _loop=loop
        )
        idle_s = None if config.ssl is None else self._options.idle_s
        self.servers = [
            await loop.create_server(
                protocol, sock=each, ssl=config.ssl, backlog=config.backlog, ssl_handshake_timeout=idle_s,
                ssl_shutdown_timeout=idle_s,
            )
            for each in sockets or ()
        ]  # fmt: skip
        self.started = True

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log what failed outside of any request."""
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in _SHORTAGES:
            self._reporter.report(
                "no connection can be accepted: %s; connections=%d are open. Raise the limit of open files (ulimit -n) "
                "or lower that of connections",
                error.strerror, len(self.server_state.connections),
            )  # fmt: skip
        else:
            loop.default_exception_handler(context)


def most_connections(requested: int) -> int:
    """Return how many connections may be open: the given number, but not all the files that the process may open."""
    if sys.platform == "win32":
        return requested
    import resource  # noqa: PLC0415 - only on POSIX systems

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return requested if most == resource.RLIM_INFINITY else max(1, min(requested, most - _SPARE_DESCRIPTORS))


def server(app: ASGIApp, certificate: Path | None, key: Path | None, options: Options) -> uvicorn.Server:
    """Return a server that is ready to run on a socket; with a certificate it speaks https."""
    reporter = _Reporter()
    most = most_connections(options.connections)
    http: Any = functools.partial(_Protocol, idle_s=options.idle_s, most=most, reporter=reporter)
    config = uvicorn.Config(
        app,
        http=http,
        loop="asyncio",  # `_Server` waits for connections as its loop does; uvicorn would take uvloop where it is
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=math.ceil(options.idle_s),
        ssl_certfile=certificate,
        ssl_keyfile=None if key is None else str(key),
        # X-Forwarded-For of a proxy would have to be trusted; no client's is.
        proxy_headers=False,
    )
    config.load()
    return _Server(config, options, reporter)
