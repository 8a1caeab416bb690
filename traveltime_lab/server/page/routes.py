"""
The resources of the page: itself, its base map, and its configuration.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any, Final
from weakref import WeakKeyDictionary

import anyio.to_thread
import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

import traveltime_lab
from traveltime_lab.maps import basemap, leaflet, style
from traveltime_lab.maps.widget import choices
from traveltime_lab.runtime.forks import Lock
from traveltime_lab.server.atlas import Atlas, Map
from traveltime_lab.server.auth import Credentials
from traveltime_lab.server.contract import limits
from traveltime_lab.server.contract.errors import CREDENTIALS, Failure, plain_failure
from traveltime_lab.server.page.sessions import Sessions, cookie_name, set_cookie
from traveltime_lab.server.serving import Serving

#: Nothing from elsewhere, no script and no style within the page. Leaflet clears images with one in a data URL.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_STATIC: Final = {
    "page.css": "text/css",
    "main.js": "text/javascript",
    "api.js": "text/javascript",
    "files.js": "text/javascript",
    "map.js": "text/javascript",
    "moments.js": "text/javascript",
    "places.js": "text/javascript",
    "points.js": "text/javascript",
    "snippets.js": "text/javascript",
}
#: Bytes of a sign-in: two short texts.
_MOST_LOGIN: Final = 10_000
#: Bytes of tiles that are kept (assumed: some hundred windows).
_KEPT_TILES: Final = 64_000_000

Handler = Callable[[Request], Awaitable[Response]]


def page_routes(
    serving: Serving, credentials: Credentials, sessions: Sessions, answered: Callable[[Handler], Handler]
) -> list[Route]:
    """
    Return the routes of the page.

    Parameters
    ----------
    serving : Serving
    credentials : Credentials
        Pairs that may sign in without the link.
    sessions : Sessions
    answered : callable
        Wraps a handler that needs no credentials: checks the host and turns a `Failure` into an answer.
    """
    page = _Page(serving, credentials, sessions)
    listed: list[tuple[str, Handler, str]] = [
        ("/", page.index, "GET"),
        ("/page/session", page.sign_in, "POST"),
        ("/page/session", page.sign_out, "DELETE"),
        ("/page/config", page.config, "GET"),
        ("/page/tiles/{layer}/{z:int}/{x:int}/{y:int}.svg", page.tile, "GET"),
        ("/page/{name}", page.static, "GET"),
    ]
    by_path: dict[str, dict[str, Handler]] = {}
    for path, handler, method in listed:
        by_path.setdefault(path, {})[method] = handler

    def by_method(handlers: dict[str, Handler]) -> Handler:
        return lambda request: handlers["GET" if request.method == "HEAD" else request.method](request)

    return [Route(path, answered(by_method(handlers)), methods=sorted(handlers)) for path, handlers in by_path.items()]


class _Page:
    def __init__(self, serving: Serving, credentials: Credentials, sessions: Sessions) -> None:
        self._serving = serving
        self._credentials = credentials
        self._sessions = sessions
        folder = files(__package__).joinpath("static")
        self._index = folder.joinpath("index.html").read_bytes()
        self._files = {
            "leaflet.js": (leaflet.script().encode(), "text/javascript"),
            "leaflet.css": (leaflet.stylesheet().encode(), "text/css"),
            **{name: (folder.joinpath(name).read_bytes(), media) for name, media in _STATIC.items()},
        }
        #: Weak, so that former networks do not stay in memory.
        self._tiles: WeakKeyDictionary[Atlas, _Tiles] = WeakKeyDictionary()

    def _current(self) -> tuple[Atlas, _Tiles]:
        """Return the current networks and their tiles."""
        atlas = self._serving.atlas
        return atlas, self._tiles.setdefault(atlas, _Tiles())

    async def index(self, request: Request) -> Response:
        """Return the page; with the token of the link, let the browser in first."""
        token = request.query_params.get("token")
        if token is None:
            return Response(self._index, headers={**_HEADERS, "Cache-Control": "no-cache"}, media_type="text/html")
        # A program that only looks whether the link leads somewhere does not use it up.
        session = None if request.method == "HEAD" else self._sessions.redeem(token)
        # The token leaves the address bar and the history.
        response = RedirectResponse("./", 303, {**_HEADERS, "Cache-Control": "no-store"})
        if session is not None:
            set_cookie(request, response, session)
        return response

    async def static(self, request: Request) -> Response:
        """Return a file of the page."""
        name = request.path_params["name"]
        if name not in self._files:
            raise plain_failure(404, "There is nothing at this path")
        content, media = self._files[name]
        tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        headers = {**_HEADERS, "Cache-Control": "no-cache", "ETag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=media)

    async def sign_in(self, request: Request) -> Response:
        """Sign a browser in with an application id and its key."""
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MOST_LOGIN:
                raise plain_failure(413, f"Request body is larger than {_MOST_LOGIN} bytes", {"Connection": "close"})
        try:
            pair = msgspec.json.decode(body, type=_Pair)
        except (msgspec.DecodeError, ValueError):
            raise plain_failure(400, "The body must be JSON with the texts app_id and api_key") from None
        if not self._credentials.accept(pair.app_id, pair.api_key):
            raise Failure(401, CREDENTIALS, "Application id or API key is wrong or missing")
        response = Response(status_code=204, headers=_HEADERS)
        set_cookie(request, response, self._sessions.start(pair.app_id))
        return response

    async def sign_out(self, request: Request) -> Response:
        """End the session."""
        self._signed_in(request)
        name = cookie_name(request)
        self._sessions.end(request.cookies[name])
        response = Response(status_code=204, headers=_HEADERS)
        response.delete_cookie(name, path="/", httponly=True, samesite="strict")
        return response

    async def config(self, request: Request) -> Response:
        """Return the facts about the networks that the page needs."""
        app_id = self._signed_in(request)
        atlas, tiles = self._current()
        maps = await anyio.to_thread.run_sync(lambda: [_described(item) for item in atlas.maps])
        body = {
            "version": traveltime_lab.__version__,
            "app_id": app_id,
            "maps": maps,
            "tiles": f"page/tiles/{{layer}}/{{z}}/{{x}}/{{y}}.svg?v={tiles.version}",
            "tile_px": basemap.TILE_PX,
            "colours": style.ORIGIN_COLOURS,
            "most_minutes": limits.MAX_TRAVEL_TIME_S // 60,
            "most_areas": limits.MAX_SEARCHES,
            "most_searches": min(limits.MAX_SEARCHES, len(style.ORIGIN_COLOURS)),
            "most_targets": limits.MAX_TARGETS,
        }
        headers = {**_HEADERS, "Cache-Control": "no-store"}
        return Response(json.dumps(body), headers=headers, media_type="application/json")

    async def tile(self, request: Request) -> Response:
        """Return a tile of the base map."""
        self._signed_in(request)
        layer, z, x, y = (request.path_params[name] for name in ("layer", "z", "x", "y"))
        if layer not in ("ground", "streets") or z > basemap.DEEPEST_TILE or x >= 2**z or y >= 2**z:
            raise plain_failure(404, "There is no such tile")
        atlas, tiles = self._current()
        content = await anyio.to_thread.run_sync(tiles.get, atlas, layer, z, x, y)
        headers = {**_HEADERS, "Cache-Control": "private, max-age=86400"}
        return Response(content, headers=headers, media_type="image/svg+xml")

    def _signed_in(self, request: Request) -> str:
        app_id = self._sessions.app_id(request)
        if app_id is None:
            raise Failure(401, CREDENTIALS, "Open the link that the terminal printed, or sign in at /")
        return app_id


class _Pair(msgspec.Struct, forbid_unknown_fields=True):
    app_id: str
    api_key: str


class _Tiles:
    """Tiles of the base map; the last ones that were requested are cached."""

    def __init__(self) -> None:
        #: Part of their addresses, so that browsers do not show those of other networks that were here before.
        self.version = secrets.token_hex(4)
        self._lock = Lock()
        self._kept: OrderedDict[tuple[str, int, int, int], bytes] = OrderedDict()
        self._size = 0

    def get(self, atlas: Atlas, layer: str, z: int, x: int, y: int) -> bytes:
        key = layer, z, x, y
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        # The smallest network last: it has the most detail.
        networks = [item.network for item in reversed(atlas.maps)]
        content = basemap.tile(networks, layer, z, x, y).encode()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = content
                self._size += len(content)
            while self._size > _KEPT_TILES:
                self._size -= len(self._kept.popitem(last=False)[1])
        return content


def _described(item: Map) -> dict[str, Any]:
    """Return the facts about a map that the page needs."""
    network = item.network
    west, south, east, north = network.bounds
    lng, lat = item.middle
    dates = item.timetable_dates
    return {
        "name": item.name,
        "bounds": [west, south, east + (360.0 if east < west else 0.0), north],
        "middle": [lng, lat],
        "timezone": network.timezone,
        "modes": [{"type": kind, "label": choices.in_words(kind)} for kind in choices.kinds(network)],
        "moment": f"{choices.first_day(network).isoformat()}T08:00",
        "dates": None if dates is None else [moment.date().isoformat() for moment in dates],
        "attribution": network.attribution,
    }
