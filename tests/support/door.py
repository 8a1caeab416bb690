"""Asking the service in process, and what every error must look like."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import anyio
import anyio.from_thread
import httpx
import shapely

PAIR = ("an id", "a key")
HEADERS = {"X-Application-Id": PAIR[0], "X-Api-Key": PAIR[1]}
ERROR_KEYS = ["additional_info", "description", "documentation_link", "error_code", "http_status"]
MONDAY = "2026-03-02T08:00:00Z"

#: Places of the samples.
STATION, FORUM, MARKET = ((60.1711, 24.9414), (60.1690, 24.9383), (60.1679, 24.9524))
CENTRE, TERMINAL = (-30.027565, -51.227811), (-30.023285, -51.218856)


class Door:
    """
    A client of an ASGI application, without a socket.

    Calls return an `httpx.Response`; `json` is encoded, `body` is sent as it is.
    """

    def __init__(self, app: Any, portal: Any) -> None:
        self.app = app
        self.portal = portal

    def __call__(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        body: bytes | None = None,
        headers: Mapping[str, str] = HEADERS,
        accept: str | None = None,
        query: Any = None,
        basic: tuple[str, str] | None = None,
    ) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=True)
            async with httpx.AsyncClient(transport=transport, base_url="http://door") as client:
                more = {} if accept is None else {"Accept": accept}
                return await client.request(
                    method,
                    path,
                    content=body if json is None else encoded(json),
                    headers={**headers, **more},
                    params=query,
                    auth=basic,
                )

        response: httpx.Response = self.portal.call(ask)
        return response

    def post(self, path: str, content: Any, **more: Any) -> httpx.Response:
        return self("POST", path, json=content, **more)

    def get(self, path: str, query: Any = None, **more: Any) -> httpx.Response:
        return self("GET", path, query=query, **more)

    def proto(self, path: str, body: bytes, basic: tuple[str, str] | None = PAIR) -> httpx.Response:
        return self("POST", path, body=body, headers={}, basic=basic)


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


@contextlib.contextmanager
def open_door(app: Any) -> Iterator[Door]:
    with anyio.from_thread.start_blocking_portal() as portal:
        yield Door(app, portal)


def ok(response: httpx.Response, media: str = "application/json") -> Any:
    """Return the body of a success."""
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].partition(";")[0] == media
    return response.json() if "json" in media else response.content


def assert_error(
    response: httpx.Response,
    status: int,
    code: int | None = None,
    *,
    paths: set[str] | None = None,
    search_ids: list[str] | None = None,
) -> dict[str, list[str]]:
    """Assert the shape that every error has, wherever it comes from, and return its details."""
    assert response.status_code == status, (response.status_code, response.text)
    assert response.headers["content-type"].partition(";")[0] == "application/json"
    body = response.json()
    assert sorted(body) == ERROR_KEYS
    assert type(body["http_status"]) is int and body["http_status"] == status
    assert type(body["error_code"]) is int and body["error_code"] > 0
    assert type(body["description"]) is str and body["description"]
    assert "Traceback" not in response.text and "<html" not in response.text.lower()
    assert body["documentation_link"] == "/api/reference/error-codes"
    info = body["additional_info"]
    assert type(info) is dict
    for key, texts in info.items():
        assert type(key) is str and type(texts) is list and texts
        assert all(type(text) is str and text for text in texts)
    if code is not None:
        assert body["error_code"] == code, body
    if body["error_code"] == 2:
        assert body["description"] == "Invalid request json"
        assert status == 422 and info and all(key == "obj" or key.startswith(("obj.", "obj[")) for key in info), info
    if body["error_code"] == 3:
        assert body["description"] == "Failed to parse json - syntax error"
        assert status == 400 and list(info) == ["syntax_errors"]
    if body["error_code"] == 10:
        assert status == 401 and info == {}
    if paths is not None:
        assert set(info) == paths, info
    if search_ids is not None:
        assert info == {"search_id": search_ids}
    details: dict[str, list[str]] = info
    return details


def coords(place: tuple[float, float]) -> dict[str, float]:
    return {"lat": place[0], "lng": place[1]}


def time_map_search(name: str = "a", place: tuple[float, float] = STATION, **more: Any) -> dict[str, Any]:
    """Return a departure search for a shape on foot."""
    search = {
        "id": name,
        "coords": coords(place),
        "departure_time": MONDAY,
        "travel_time": 300,
        "transportation": {"type": "walking"},
    }
    return {key: value for key, value in {**search, **more}.items() if value is not ...}


def locations(*places: tuple[float, float]) -> list[dict[str, Any]]:
    """Return places named p0, p1 and so on."""
    return [{"id": f"p{i}", "coords": coords(place)} for i, place in enumerate(places)]


def matrix_search(name: str = "m", targets: int = 1, **more: Any) -> dict[str, Any]:
    """Return a departure search from p0 to the next ones on foot."""
    search = {
        "id": name,
        "departure_location_id": "p0",
        "arrival_location_ids": [f"p{i}" for i in range(1, targets + 1)],
        "departure_time": MONDAY,
        "travel_time": 1800,
        "transportation": {"type": "walking"},
        "properties": ["travel_time", "distance"],
    }
    return {key: value for key, value in {**search, **more}.items() if value is not ...}


def polygons(result: dict[str, Any]) -> shapely.MultiPolygon:
    """Return the shapes of a JSON result."""

    def ring(points: list[dict[str, float]]) -> list[tuple[float, float]]:
        assert points[0] == points[-1] and len(points) > 3
        return [(point["lng"], point["lat"]) for point in points]

    return shapely.MultiPolygon(
        [(ring(shape["shell"]), [ring(hole) for hole in shape["holes"]]) for shape in result["shapes"]]
    )
