"""
The service as an ASGI application: from HTTP to a `Call` and back.

Searches run in threads. Meanwhile the loop detects a closed connection, which stops the search at its next
checkpoint, and the timeout of the request.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import logging
import re
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final
from weakref import WeakKeyDictionary

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from traveltime_lab.errors import InterruptedSearchError
from traveltime_lab.runtime.interrupts import interruptible
from traveltime_lab.server import openapi
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.auth import Credentials, basic_pair, header_text
from traveltime_lab.server.browsers import check_host, check_origins, with_origins
from traveltime_lab.server.config import LARGE_BODY, LARGEST_BODIES, Options
from traveltime_lab.server.context import Answer, Call, Meter
from traveltime_lab.server.contract.errors import CREDENTIALS, DOCUMENTATION_LINK, Failure, failure_of, plain_failure
from traveltime_lab.server.contract.limits import MAX_PROTO_BODY
from traveltime_lab.server.endpoints.table import ENDPOINTS, Endpoint
from traveltime_lab.server.metrics import OTHER, Metrics
from traveltime_lab.server.operations import operations
from traveltime_lab.server.page.routes import page_routes
from traveltime_lab.server.page.sessions import Sessions
from traveltime_lab.server.postcodes import Zones
from traveltime_lab.server.protobuf import endpoints
from traveltime_lab.server.serving import Serving
from traveltime_lab.server.workers import Body, Workers
from traveltime_lab.settings import settings

logger = logging.getLogger(__name__)
access = logging.getLogger("traveltime_lab.access")


def _trimmer() -> Callable[[int], int] | None:
    """Return glibc's `malloc_trim`; None where the C library has none."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)


_trim = _trimmer()


def _hand_back_memory() -> None:
    """
    Hand free memory back to the system.

    Each thread of glibc keeps what it freed, in pieces that few later requests fit into: a service under load grew by
    hundreds of megabytes without holding on to anything.
    """
    if _trim is not None:
        _trim(0)


def _forget_frames(error: Exception) -> None:
    """Drop the frames of an error that is not logged: they keep a request and its arrays in memory."""
    if isinstance(error, InterruptedSearchError) or failure_of(error).status < 500:
        error.__cause__ = error.__context__ = None
        error.__traceback__ = None


class Service:
    """
    The state that all requests share.

    Parameters
    ----------
    serving : Serving
    credentials : Credentials
    options : Options
    zones : Zones or None
        Postcodes, for the endpoints that answer about them.
    sessions : Sessions
        Browsers that were let in.
    """

    def __init__(
        self, serving: Serving, credentials: Credentials, options: Options, zones: Zones | None, sessions: Sessions
    ) -> None:
        self.serving = serving
        self.credentials = credentials
        self.sessions = sessions
        self.options = options
        self.zones = zones
        self.meter = Meter(options.hits_per_minute)
        self._workers: WeakKeyDictionary[asyncio.AbstractEventLoop, Workers] = WeakKeyDictionary()

    def workers(self) -> Workers:
        """Return the threads for requests of the running event loop; a forked process has a loop of its own."""
        loop = asyncio.get_running_loop()
        if loop not in self._workers:
            options = self.options
            n_large = options.large_workers or 2 * settings.threads
            self._workers[loop] = Workers(options.workers, n_large, LARGEST_BODIES * options.body_limit)
        return self._workers[loop]

    def all_workers(self) -> list[Workers]:
        """Return the threads of all event loops."""
        return list(self._workers.values())

    @contextlib.asynccontextmanager
    async def lifespan(self, app: object) -> AsyncIterator[None]:
        """End the threads of this event loop when the server has stopped; nothing is being answered then."""
        yield
        if (workers := self._workers.pop(asyncio.get_running_loop(), None)) is not None:
            workers.close()

    def authenticate(self, request: Request, *, is_proto: bool) -> str:
        """Return the application id of a request; Failure 401 if its credentials are missing or wrong."""
        if is_proto:
            pair = basic_pair(request.headers.get("authorization"))
        else:
            pair = header_text(request.headers, "x-application-id"), header_text(request.headers, "x-api-key")
            if pair == (None, None) and request.method in ("GET", "HEAD"):
                pair = request.query_params.get("app_id"), request.query_params.get("api_key")
            if pair == (None, None) and (app_id := self.sessions.app_id(request)) is not None:
                check_host(request.headers.get("host"), self.options.hosts)
                return app_id
        if not self.credentials.accept(*pair):
            headers = {"WWW-Authenticate": 'Basic realm="traveltime_lab"'} if is_proto else {}
            raise Failure(401, CREDENTIALS, "Application id or API key is wrong or missing", None, headers)
        return str(pair[0])

    async def read_body(self, request: Request, body: Body, *, is_proto: bool) -> None:
        """Read the body of a request; Failure 413 if it is larger than allowed, 408 if it does not come."""
        limit, idle_s = self.options.body_limit, self.options.idle_s
        if is_proto:
            limit = min(limit, MAX_PROTO_BODY)
        too_large = f"Request body is larger than {limit} bytes"
        coding = request.headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("", "identity"):
            raise plain_failure(415, "Request body must not be compressed")
        size, has_more = 0, True
        while has_more:
            with anyio.move_on_after(idle_s) as patience:
                message = await request.receive()
            if patience.cancelled_caught:
                text = f"No part of the request body came for {idle_s:g} s"
                raise plain_failure(408, text, {"Retry-After": "60", "Connection": "close"})
            if message["type"] == "http.disconnect":
                raise InterruptedSearchError("the client has gone")
            chunk, has_more = message.get("body", b""), message.get("more_body", False)
            size += len(chunk)
            # Read a body that is too large to its end, within reason, because many clients read no answer before.
            if size > 4 * limit + 1_000_000:
                raise plain_failure(413, too_large, {"Connection": "close"})
            if size <= limit:
                body.add(chunk)
            else:
                body.drop()
        if size > limit:
            raise plain_failure(413, too_large)

    async def work(self, request: Request, answer: Callable[[Call], Answer], call: Call, body: Body) -> Answer:
        """Return what `answer` makes of a call, in a thread, as long as the client waits."""
        is_cancelled = threading.Event()
        is_large = len(body.data) >= LARGE_BODY

        def run() -> Answer:
            with interruptible(is_cancelled.is_set), call.notes.collected():
                try:
                    return answer(call)
                except Exception as error:
                    _forget_frames(error)
                    raise
                finally:
                    if is_large or is_cancelled.is_set():
                        _hand_back_memory()

        outcome: list[Answer] = []
        try:
            async with anyio.create_task_group() as group:

                async def listen() -> None:
                    while (await request.receive())["type"] != "http.disconnect":
                        pass
                    is_cancelled.set()
                    group.cancel_scope.cancel()

                group.start_soon(listen)
                outcome.append(await self.workers().run(run, body, is_large=is_large))
                group.cancel_scope.cancel()
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            is_cancelled.set()
        if not outcome:
            raise InterruptedSearchError("the client has gone")
        return outcome[0]


def _response(
    service: Service, endpoint_of: Callable[[Request], Endpoint], *, is_proto: bool
) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler for the endpoints of a path."""

    async def handle(request: Request) -> Response:
        call: Call | None = None
        body = service.workers().body()
        try:
            with anyio.fail_after(service.options.timeout_s):
                endpoint = endpoint_of(request)
                app_id = service.authenticate(request, is_proto=is_proto)
                await service.read_body(request, body, is_proto=is_proto)
                # Lines of one header are one list.
                headers = {name: ", ".join(request.headers.getlist(name)) for name in set(request.headers)}
                call = Call(
                    service.serving.atlas, body.data, request.query_params, request.path_params, headers, app_id,
                    service.meter, service.zones, service.options.nominatim, service.options.costs,
                )  # fmt: skip
                found = await service.work(request, endpoint.answer, call, body)
            response = Response(found.body, 200, dict(found.headers), found.media)
        except Exception as error:
            response = _failed(error, service.options, is_proto=is_proto)
        finally:
            body.done()
        if call is not None:
            response.headers.update(call.notes.headers())
            request.scope.setdefault("state", {})["logged"] = call.logged()
        return response

    return handle


def _failed(error: Exception, options: Options, *, is_proto: bool = False) -> Response:
    """Return the response to an error; errors that the client has not caused are logged."""
    if isinstance(error, TimeoutError):
        # Not 5xx, which one client repeats at once; Retry-After keeps another from repeating a 408.
        text = f"Request took longer than {options.timeout_s:g} s"
        failure = plain_failure(408, text, {"Retry-After": "60", "Connection": "close"})
    elif isinstance(error, HTTPException):
        headers = dict(error.headers or {})
        if "Allow" in headers:  # Starlette joins a set
            headers["Allow"] = ", ".join(sorted(headers["Allow"].split(", ")))
        failure = plain_failure(error.status_code, _DESCRIPTIONS.get(error.status_code, error.detail), headers)
    elif isinstance(error, InterruptedSearchError):
        # The client has gone; the status is for the log, as other servers write it.
        failure = plain_failure(499, "Client has gone")
    else:
        failure = failure_of(error)
    if failure.status >= 500 and failure.status != 503:
        logger.error("request failed", exc_info=error)
    _forget_frames(error)
    headers = dict(failure.headers)
    if is_proto:
        headers |= endpoints.error_headers(failure)
    return Response(failure.body(), failure.status, headers, "application/json")


_DESCRIPTIONS: Final = {404: "There is nothing at this path", 405: "This path does not take this method"}


def create_app(
    atlas: Atlas | Serving,
    credentials: Credentials,
    options: Options | None = None,
    zones: Zones | None = None,
    sessions: Sessions | None = None,
) -> ASGIApp:
    """
    Return the service as an ASGI application.

    Parameters
    ----------
    atlas : Atlas or Serving
        The networks; a `Serving` can exchange them.
    credentials : Credentials
    options : Options, optional
    zones : Zones, optional
        Postcodes, for the endpoints that answer about them.
    sessions : Sessions, optional
        Browsers that are let in to the page, and the link that lets one in; by default there is no link.

    Raises
    ------
    InputError
        If an origin of `options` is none.
    """
    options = options or Options()
    sessions = sessions or Sessions()
    serving = atlas if isinstance(atlas, Serving) else Serving(atlas)
    service = Service(serving, credentials, options, zones, sessions)
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in ENDPOINTS:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    document = openapi.describe(serving.atlas.maps[0].middle)
    description = json.dumps(document).encode()
    page, errors = openapi.page(document).encode(), openapi.errors_page().encode()

    def by_method(methods: dict[str, Endpoint]) -> Callable[[Request], Endpoint]:
        return lambda request: methods["GET" if request.method == "HEAD" else request.method]

    async def openapi_json(request: Request) -> Response:
        return Response(description, media_type="application/json")

    async def docs(request: Request) -> Response:
        return Response(page, media_type="text/html")

    async def error_codes(request: Request) -> Response:
        return Response(errors, media_type="text/html")

    routes = [
        Route(path, _response(service, by_method(methods), is_proto=False), methods=sorted(methods))
        for path, methods in by_path.items()
    ]

    def without_credentials(
        answer: Callable[[Request], Awaitable[Response]],
    ) -> Callable[[Request], Awaitable[Response]]:
        async def handle(request: Request) -> Response:
            try:
                check_host(request.headers.get("host"), options.hosts)
                return await answer(request)
            except Failure as failure:
                return _failed(failure, options)

        return handle

    routes += [
        Route(path, without_credentials(answer), methods=["GET"])
        for path, answer in (
            *operations(serving, service.all_workers),
            ("/openapi.json", openapi_json),
            ("/docs", docs),
            (DOCUMENTATION_LINK, error_codes),
        )
    ]
    routes += page_routes(serving, credentials, sessions, without_credentials)
    for prefix in endpoints.PREFIXES:
        for path, endpoint in endpoints.ENDPOINTS.items():
            handler = _response(service, by_method({"POST": endpoint}), is_proto=True)
            routes.append(Route(prefix + path, handler, methods=["POST"]))

    async def on_error(request: Request, error: Exception) -> Response:
        return _failed(error, options, is_proto=endpoints.is_proto_path(request.url.path))

    handlers = {HTTPException: on_error, Exception: on_error}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=service.lifespan)
    app.router.redirect_slashes = False
    labels: dict[object, str] = {route.endpoint: route.path for route in routes}
    open_app = _with_clear_framing(with_origins(app, check_origins(options.allow_origins)))
    return _AccessLog(open_app, serving.metrics, labels)


def _with_clear_framing(app: ASGIApp) -> ASGIApp:
    """
    Return an application that refuses requests whose end depends on the reader, and closes their connections.

    A request with both Content-Length and Transfer-Encoding, or with Transfer-Encoding in HTTP/1.0, may hide a second
    request from a proxy in front of the service. Source: RFC 9112, 6.1 and 6.3.
    """

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            names = {name for name, _ in scope["headers"]}
            if b"transfer-encoding" in names and (b"content-length" in names or scope["http_version"] == "1.0"):
                text = "The length of the request body is ambiguous: send Content-Length or Transfer-Encoding, not both"
                failure = plain_failure(400, text, {"Connection": "close"})
                await _failed(failure, Options())(scope, receive, send)
                return
        await app(scope, receive, send)

    return call


#: A target in absolute form, such as http://127.0.0.1:8000/v4/map-info. Schemes have no case.
_ABSOLUTE: Final = re.compile("https?://", re.IGNORECASE)
#: Segments of a path that the service could have; others may contain an API key.
_PLAIN_SEGMENTS: Final = re.compile(r"(?:/[A-Za-z0-9._~-]*(?=/|$))*")


def _logged(path: str) -> str:
    """Return the beginning of a path up to the first segment that may contain more than a name."""
    plain = _PLAIN_SEGMENTS.match(path)
    assert plain is not None
    return path if plain[0] == path else f"{plain[0]}/..."


class _AccessLog:
    """
    Count each request and write a line for it, without its query string or other parts that may be an API key.

    Parameters
    ----------
    app : ASGI application
    metrics : Metrics
    labels : mapping
        Path of the route of each handler.
    """

    def __init__(
        self, app: Callable[[Scope, Receive, Send], Awaitable[None]], metrics: Metrics, labels: Mapping[object, str]
    ) -> None:
        self.app = app
        self._metrics = metrics
        self._labels = labels

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if _ABSOLUTE.match(scope["path"]):
            # Clients send this form to proxies, and every server must accept it (RFC 9112, 3.2.2).
            path = "/" + scope["path"].split("/", 3)[3] if scope["path"].count("/") > 2 else "/"
            scope = {**scope, "path": path, "raw_path": path.encode()}
        started = time.perf_counter()
        status = size = 0

        async def note(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self.app(scope, receive, note)
        finally:
            seconds = time.perf_counter() - started
            label = self._labels.get(scope.get("endpoint"), OTHER)
            self._metrics.answered(label, scope["method"], status, seconds)
            more = scope.get("state", {}).get("logged", "")
            # repr keeps a path with line breaks in it on its line.
            access.info(
                "client=%s method=%s path=%r status=%s bytes=%d ms=%.1f%s",
                (scope.get("client") or ("-",))[0],
                scope["method"],
                _logged(scope["path"]),
                status,
                size,
                1000.0 * seconds,
                more,
            )
