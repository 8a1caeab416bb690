"""Requests for pages: descriptions, the map of the service and its session, tiles, and paths that are not there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from benchmarks.corpus.cases import Case, case
from benchmarks.corpus.contract import HEADERS
from benchmarks.corpus.world import PAIR, SERVICES

_PAGES = (
    "/", "/health", "/openapi.json", "/docs", "/api/reference/error-codes", "/page/page.css", "/page/main.js",
    "/page/api.js", "/page/map.js", "/page/moments.js", "/page/points.js", "/page/snippets.js", "/page/leaflet.js",
    "/page/leaflet.css", "/page/nothing.js", "/page/config", "/page/session", "/page/tiles/ground/12/2346/1186.svg",
    "/nothing", "/v4", "/v4/", "/v4/nothing", "/v4/time-map/", "//", "/%2e%2e/", "/favicon.ico", "/?token=wrong",
    "/v4/map-info", "/V4/time-map", "/robots.txt",
)  # fmt: skip
#: Tiles of the base map: in both cities, elsewhere, and such as there are not.
_TILES = (
    ("ground", 12, 2331, 1185), ("streets", 14, 9327, 4742), ("ground", 14, 9327, 4742), ("streets", 13, 2931, 4816),
    ("streets", 16, 23448, 38531), ("ground", 0, 0, 0), ("streets", 0, 1, 0), ("water", 12, 0, 0),
    ("streets", 30, 0, 0),
)  # fmt: skip


def _request(method: str, path: str, headers: dict[str, str] | None = None, body: str | None = None) -> dict[str, Any]:
    return {"method": method, "path": path, "headers": headers or {}, **({} if body is None else {"body": body})}


def _page(name: str, *requests: dict[str, Any], service: str = "both") -> Case:
    return case(f"page/{name}", "http", {"service": service, "requests": list(requests)})


def cases() -> Iterator[Case]:
    """Yield all requests for pages."""
    for path in _PAGES:
        for method in ("GET", "HEAD", "POST", "OPTIONS", "DELETE"):
            yield _page(f"{method} {path}", _request(method, path))
        for headers in (HEADERS, {"Host": "example.org"}, {"Accept": "text/html"}, {"Origin": "https://example.org"}):
            yield _page(f"GET {path} {sorted(headers)}", _request("GET", path, dict(headers)))
    for service in SERVICES:
        for path in ("/", "/health", "/v4/map-info", "/openapi.json"):
            for headers in ({}, {**HEADERS, "Origin": "https://example.org"}):
                yield _page(f"{service} {path} {len(headers)}", _request("GET", path, headers), service=service)
        preflight = {
            "Origin": "http://localhost:3000",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "x-api-key",
        }
        yield _page(f"{service} preflight", _request("OPTIONS", "/v4/time-map", preflight), service=service)
    right = json.dumps({"app_id": PAIR[0], "api_key": PAIR[1]})
    wrong = [json.dumps(pair) for pair in ({"app_id": PAIR[0], "api_key": "wrong"}, {"app_id": "é", "api_key": 5})]
    for i, body in enumerate((right, "{}", "", "5", *wrong, "x" * 20_000)):
        yield _page(f"sign in {i}", _request("POST", "/page/session", None, body))
    signed = _request("POST", "/page/session", None, right)
    cookie = {"with-cookie": "1"}
    config = _request("GET", "/page/config", cookie)
    yield _page("config", signed, config)
    for service in ("overlapping", "changed", "no_zones"):
        yield _page(f"config {service}", signed, config, service=service)
    yield _page("sign out", signed, _request("DELETE", "/page/session", cookie), config)
    for layer, z, x, y in _TILES:
        tile = f"/page/tiles/{layer}/{z}/{x}/{y}.svg"
        yield _page(f"tile {layer} {z} {x} {y}", signed, _request("GET", tile, cookie))
    search = {
        "id": "a", "coords": {"lat": 60.1711, "lng": 24.9414}, "departure_time": "2026-03-02T08:00:00Z",
        "travel_time": 300, "transportation": {"type": "walking"},
    }  # fmt: skip
    asked = json.dumps({"departure_searches": [search]})
    yield _page("search by cookie", signed, _request("POST", "/v4/time-map", cookie, asked))
    yield _page("info by cookie", signed, _request("GET", "/v4/map-info", {**cookie, "Host": "example.org"}))
