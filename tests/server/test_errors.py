"""Every way to fail, on every endpoint, has the five keys, the right code and the right paths."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import traveltime_lab as tl
from tests.support import ROOT, worlds
from tests.support.door import (
    FORUM,
    HEADERS,
    MONDAY,
    PAIR,
    STATION,
    Door,
    assert_error,
    coords,
    encoded,
    locations,
    matrix_search,
    ok,
    open_door,
    time_map_search,
)
from tests.support.osm_files import osm_xml
from tests.support.requests import QUERIES, RIGHT
from traveltime_lab.server.app import create_app
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.auth import Credentials
from traveltime_lab.server.contract.decode import _raise_if_syntax
from traveltime_lab.server.contract.errors import DOCUMENTATION_LINK, EXPLANATIONS
from traveltime_lab.server.endpoints.table import ENDPOINTS
from traveltime_lab.server.protobuf.endpoints import PREFIXES


def test_all_endpoints_are_here() -> None:
    assert set(RIGHT) == {e.path for e in ENDPOINTS if e.method == "POST"}
    assert set(QUERIES) == {e.path for e in ENDPOINTS if e.method == "GET"}


@pytest.mark.parametrize("path", RIGHT)
def test_right_requests(door: Door, path: str) -> None:
    response = door.post(path, RIGHT[path])
    ok(response)


@pytest.mark.parametrize("path", QUERIES)
def test_right_queries(door: Door, path: str) -> None:
    response = door.get(path, QUERIES[path])
    ok(response)


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda e: f"{e.method}{e.path}")
def test_credentials(door: Door, endpoint: Any) -> None:
    name, key = HEADERS.values()
    for headers in (
        {},
        {"X-Application-Id": name},
        {"X-Api-Key": key},
        {"X-Application-Id": name, "X-Api-Key": "wrong"},
        {"X-Application-Id": key, "X-Api-Key": name},
        {"X-Application-Id": "", "X-Api-Key": ""},
        {"Authorization": "Basic YTpi"},
    ):
        assert_error(door(endpoint.method, endpoint.path, body=b"{", headers=headers), 401, 10)
    # A query authenticates a GET only, and headers win over it.
    query = {"app_id": name, "api_key": key}
    right = QUERIES if endpoint.method == "GET" else RIGHT
    asked = {"query": {**query, **right[endpoint.path]}} if endpoint.method == "GET" else {"json": {}, "query": query}
    response = door(endpoint.method, endpoint.path, headers={}, **asked)
    if endpoint.method == "POST":
        assert_error(response, 401, 10)
    else:
        ok(response)
    assert_error(door(endpoint.method, endpoint.path, headers={"X-Api-Key": "wrong"}, **asked), 401, 10)


@pytest.mark.parametrize("path", RIGHT)
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"{'a': 1}", b"nul", b'{"a": 1,}', b"\xff\xfe", b"[" * 100_000],
    ids=["empty", "brace", "quotes", "word", "comma", "bytes", "deep"],
)
def test_syntax(door: Door, path: str, body: bytes) -> None:
    assert_error(door("POST", path, body=body), 400, 3)


@pytest.mark.parametrize("text", [b"\xff", b"\\ud800", b"\\x", b"\n"])
def test_broken_strings(door: Door, text: bytes) -> None:
    body = b'{"locations": [{"id": "' + text + b'", "coords": {"lat": 1, "lng": 2}}]}'
    assert_error(door("POST", "/v4/supported-locations", body=body), 400, 3)


class _DecodeError(msgspec.DecodeError, ValueError):
    """An error as msgspec 0.23 raises it for text that is not UTF-8; before, it raised a `UnicodeDecodeError`."""


@pytest.mark.parametrize(
    "error", [_DecodeError("Invalid UTF-8"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid")]
)
def test_errors_about_syntax_are_no_faults_of_values(error: Exception) -> None:
    with pytest.raises(type(error)):
        _raise_if_syntax(error)
    for fault in (msgspec.ValidationError("Expected `str`, got `int`"), ValueError("Exceeds the limit of digits")):
        _raise_if_syntax(fault)


@pytest.mark.parametrize("path", RIGHT)
@pytest.mark.parametrize("body", [b"null", b"[]", b"1", b'"text"', b"true", b"[1e999]"])
def test_not_an_object(door: Door, path: str, body: bytes) -> None:
    assert_error(door("POST", path, body=body), 422, 2, paths={"obj"})


def leaves(value: Any, path: str = "obj") -> list[tuple[str, Any, Any]]:
    """Return path, owner and key of everything in a request."""
    found = []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        here = f"{path}.{key}" if isinstance(value, dict) else f"{path}[{key}]"
        found.append((here, value, key))
        if isinstance(item, dict | list):
            found += leaves(item, here)
    return found


@pytest.mark.parametrize("path", RIGHT)
def test_each_field_with_a_wrong_type(door: Door, path: str) -> None:
    """Every field in turn gets a value of no type it knows; the fault is told under its path and nowhere else."""
    for where, _, _ in leaves(RIGHT[path]):
        for wrong in ({"no": "type"}, [{}]):
            request = copy.deepcopy(RIGHT[path])
            here, owner, key = next(item for item in leaves(request) if item[0] == where)
            if isinstance(owner[key], type(wrong)):
                continue
            owner[key] = wrong
            info = assert_error(door.post(path, request), 422, 2)
            assert any(key.startswith(here) for key in info), (here, info)


@pytest.mark.parametrize("path", RIGHT)
def test_each_required_field_missing(door: Door, path: str) -> None:
    optional = {
        "departure_searches",
        "arrival_time_period",
        "one_to_many",
        "many_to_one",
        "reachable_postcodes_threshold",
    }
    for where, parent, name in leaves(RIGHT[path]):
        if not isinstance(parent, dict) or name in optional:
            continue
        for is_null in (False, True):
            request = copy.deepcopy(RIGHT[path])
            here, owner, key = next(item for item in leaves(request) if item[0] == where)
            if is_null:
                owner[key] = None
            else:
                del owner[key]
            info = assert_error(door.post(path, request), 422, 2)
            assert info.get(here) == ["missing"], (here, info)


def test_faults_of_all_searches(door: Door) -> None:
    search = {"departure_time": MONDAY, "travel_time": 600, "transportation": {"type": "driving"}}
    request = {
        "resolution": 99,
        "properties": [],
        "departure_searches": [
            {"id": "a", "coords": {"h3_centroid": "zz"}, **search},
            {"id": "b", "coords": {"h3_centroid": "yy"}, **search, "travel_time": 5},
        ],
    }
    paths = {
        "obj.resolution",
        "obj.departure_searches[0].coords.h3_centroid",
        "obj.departure_searches[1].coords.h3_centroid",
        "obj.departure_searches[1].travel_time",
    }
    assert_error(door.post("/v4/h3", request), 422, 2, paths=paths)
    search["transportation"]["disable_border_crossing"] = True
    request = {"departure_searches": [time_map_search(name, **search) for name in "ab"]}
    path = "obj.departure_searches[{}].transportation.disable_border_crossing"
    assert_error(door.post("/v4/time-map", request), 422, 2, paths={path.format(0), path.format(1)})


def test_numbers_beyond_all(door: Door) -> None:
    request = encoded({"departure_searches": [time_map_search(travel_time=111), "no search"]})
    for number in (b"1e400", b"-1e400", b"9" * 400):
        response = door("POST", "/v4/time-map", body=request.replace(b"111", number))
        paths = {"obj.departure_searches[0].travel_time", "obj.departure_searches[1]"}
        assert_error(response, 422, 2, paths=paths)
    assert_error(door("POST", "/v4/time-map", body=b'{"x": 1e400, "y": NaN}'), 400, 3)


def test_dotted_names(door: Door) -> None:
    query = {
        "query": "B", "focus.lat": "x", "focus.lng": "1", "force.add.postcode": "z", "format.exclude.country": "q",
        "format.name": "maybe", "limit": "51",
    }  # fmt: skip
    info = assert_error(
        door.get("/v4/geocoding/search", query), 422, 2,
        paths={f"obj.{name}" for name in query if name not in ("query", "focus.lng")},
    )  # fmt: skip
    assert info["obj.limit"][0].endswith("got 51")


def test_all_faults_at_once(door: Door) -> None:
    request = {
        "locations": [
            {"id": "a", "coords": {"lat": 91, "lng": "x"}},
            {"id": "a", "coords": {"lat": 1}},
            {"id": "", "coords": []},
        ],
        "departure_searches": [
            {
                "id": "s",
                "departure_location_id": 5,
                "arrival_location_ids": ["nowhere"],
                "departure_time": "soon",
                "travel_time": 59,
                "transportation": {"type": "teleport"},
                "properties": ["travel_time", "price"],
                "snapping": {"penalty": "maybe", "threshold": -1},
            },
            "not a search",
        ],
        "arrival_searches": [
            {
                **matrix_search("s", departure_time=..., departure_location_id=..., arrival_location_ids=...),
                "arrival_time": "2026-03-02",
                "arrival_location_id": "a",
                "departure_location_ids": [],
                "transportation": {"type": "bus", "max_changes": {"enabled": True, "limit": -7}},
                "range": {"enabled": True, "width": 0},
            }
        ],
    }
    search, arrival = "obj.departure_searches[0]", "obj.arrival_searches[0]"
    info = assert_error(
        door.post("/v4/time-filter", request),
        422,
        2,
        paths={
            "obj.locations[0].coords.lat",
            "obj.locations[0].coords.lng",
            "obj.locations[1].id",
            "obj.locations[1].coords.lng",
            "obj.locations[2].id",
            "obj.locations[2].coords",
            f"{search}.departure_location_id",
            f"{search}.departure_time",
            f"{search}.travel_time",
            f"{search}.transportation.type",
            f"{search}.properties[1]",
            f"{search}.snapping.penalty",
            f"{search}.snapping.threshold",
            "obj.departure_searches[1]",
            f"{arrival}.id",
            f"{arrival}.arrival_time",
            f"{arrival}.departure_location_ids",
            f"{arrival}.transportation.max_changes.limit",
            f"{arrival}.range.width",
            f"{arrival}.range.max_results",
        },
    )
    for name in ("walking", "public_transport", "cycling+public_transport"):
        assert name in info[f"{search}.transportation.type"][0].partition("[")[2].partition("]")[0]


def test_a_hundred_faults_are_listed(door: Door) -> None:
    request = {"locations": [{"id": "x"}] * 5000}
    info = assert_error(door.post("/v4/supported-locations", request), 422, 2)
    assert len(info) <= 101 and "more faults" in info["obj"][0]


SEARCHES = [path for path in RIGHT if path != "/v4/supported-locations"]


def arrays_of(path: str) -> tuple[str, dict[str, Any], str]:
    """Return the JSON path, the owner and the name of the array of searches of a right request."""
    request = copy.deepcopy(RIGHT[path])
    if "departure_searches" in request:
        return "obj.departure_searches", request, "departure_searches"
    name = next(iter(request["arrival_searches"]))
    return f"obj.arrival_searches.{name}", request, name


@pytest.mark.parametrize("path", SEARCHES)
def test_numbers_of_searches(door: Door, path: str) -> None:
    where, request, name = arrays_of(path)
    owner = request if name == "departure_searches" else request["arrival_searches"]
    first = owner[name][0]
    owner[name] = [{**first, "id": str(i)} for i in range(11)]
    assert_error(door.post(path, request), 422, 2, paths={where})
    parent = where.rpartition(".")[0]
    for nothing in ([], None):
        owner[name] = nothing
        assert_error(door.post(path, request), 422, 2, paths={parent})
    owner[name] = [first, first]
    assert_error(door.post(path, request), 422, 2, paths={f"{where}[1].id"})


@pytest.mark.parametrize("path", [path for path in SEARCHES if path != "/v4/distance-map" and path != "/v4/routes"])
@pytest.mark.parametrize("seconds", [-1, 0, 14_401, 1e300, 300.5, "300", True])
def test_travel_times(door: Door, path: str, seconds: Any) -> None:
    where, request, name = arrays_of(path)
    owner = request if name == "departure_searches" else request["arrival_searches"]
    owner[name][0]["travel_time"] = seconds
    assert_error(door.post(path, request), 422, 2, paths={f"{where}[0].travel_time"})
    if path.endswith("fast"):
        owner[name][0]["travel_time"] = 10_801
        assert_error(door.post(path, request), 422, 2, paths={f"{where}[0].travel_time"})


@pytest.mark.parametrize("path", [path for path in SEARCHES if "routes" not in path and "time-filter" not in path])
def test_combinations(door: Door, path: str) -> None:
    _where, request, name = arrays_of(path)
    owner = request if name == "departure_searches" else request["arrival_searches"]
    own = owner[name][0]["id"]
    request["unions"] = [{"id": "u", "search_ids": [own, "nobody"]}, {"id": own, "search_ids": [own]}]
    request["intersections"] = [{"id": "i", "search_ids": ["u"]}, {"id": "u", "search_ids": []}]
    assert_error(
        door.post(path, request),
        422,
        2,
        paths={
            "obj.unions[0].search_ids[1]",
            "obj.unions[1].id",
            "obj.intersections[0].search_ids[0]",
            "obj.intersections[1].id",
        },
    )
    request["unions"] = [{"id": f"u{i}", "search_ids": [own]} for i in range(11)]
    del request["intersections"]
    assert_error(door.post(path, request), 422, 2, paths={"obj.unions"})


@pytest.mark.parametrize("path", SEARCHES)
def test_not_covered(door: Door, path: str) -> None:
    """Code 16 with the ids of all searches that no map covers."""
    _where, request, name = arrays_of(path)
    owner = request if name == "departure_searches" else request["arrival_searches"]
    first = owner[name][0]
    sea = {"lat": 40.0, "lng": -40.0}
    owner[name] = [{**first, "id": "far"}, {**first, "id": "away"}]
    for search in owner[name]:
        if "coords" in search:
            search["coords"] = sea
    if "locations" in request:
        request["locations"][0]["coords"] = sea
    assert_error(door.post(path, request), 422, 16, search_ids=["far"])


@pytest.mark.parametrize("path", [path for path in SEARCHES if path != "/v4/distance-map"])
def test_no_timetable(door: Door, path: str) -> None:
    """Code 15: the samples have none here."""
    _where, request, name = arrays_of(path)
    owner = request if name == "departure_searches" else request["arrival_searches"]
    owner[name][0]["transportation"] = {"type": "public_transport"}
    assert_error(door.post(path, request), 422, 15, search_ids=[owner[name][0]["id"]])


@pytest.mark.parametrize("path", ["/v4/time-filter", "/v4/time-filter/fast", "/v4/routes"])
def test_no_fares(door: Door, path: str) -> None:
    _where, request, name = arrays_of(path)
    owner = request if name == "departure_searches" else request["arrival_searches"]
    owner[name][0]["properties"] = ["travel_time", "fares"]
    assert_error(door.post(path, request), 422, 13, search_ids=[owner[name][0]["id"]])


def test_too_many_targets(door: Door) -> None:
    request = {
        "locations": [{"id": f"p{i}", "coords": coords(STATION)} for i in range(2002)],
        "departure_searches": [matrix_search(targets=2001)],
    }
    path = "obj.departure_searches[0].arrival_location_ids"
    assert_error(door.post("/v4/time-filter", request), 422, 2, paths={path})
    request["departure_searches"] = [matrix_search(targets=2000)]
    assert len(ok(door.post("/v4/time-filter", request))["results"][0]["locations"]) == 2000


def test_places_of_different_maps(door: Door) -> None:
    """Code 16 for points of one search on two maps; unreachable for points on none."""
    request = {"locations": locations(STATION, (-30.027565, -51.227811)), "departure_searches": [matrix_search()]}
    assert_error(door.post("/v4/time-filter", request), 422, 16, search_ids=["m"])
    request["locations"] = locations(STATION, (60.3, 24.9))
    assert ok(door.post("/v4/time-filter", request))["results"][0]["unreachable"] == ["p1"]


def test_points_too_far_from_streets(door: Door) -> None:
    """Beyond the threshold the search's own place is an error, a target is unreachable."""
    near = (60.17110, 24.94140)
    request = {
        "locations": locations(near, FORUM),
        "departure_searches": [matrix_search(snapping={"threshold": 0})],
    }
    assert_error(door.post("/v4/time-filter", request), 422, 16, search_ids=["m"])
    search = time_map_search(snapping={"threshold": 0})
    assert_error(door.post("/v4/time-map", {"departure_searches": [search]}), 422, 16, search_ids=["a"])


@pytest.fixture(scope="module")
def banks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """A service of a street that all places north of it are cut off from, by a river of 110 m."""
    step = 0.001
    nodes = {1: (-20, 0), 2: (20, 0), 11: (-30, 1), 12: (30, 1), 13: (30, 2), 14: (-30, 2)}
    ways = [(101, "1 2", "highway=residential"), (102, "11 12 13 14 11", "natural=water")]
    path = tmp_path_factory.mktemp("banks") / "banks.osm"
    path.write_bytes(osm_xml({ref: (9.0 + x * step, 45.0 + y * step) for ref, (x, y) in nodes.items()}, ways))
    atlas = Atlas({"banks": tl.build_network(path), "elsewhere": worlds.world({0: (0, 0), 1: (900, 0)}, [(0, 1)])})
    with open_door(create_app(atlas, Credentials([PAIR]), None)) as opened:
        yield opened


@pytest.mark.parametrize(
    ("place", "snapping", "kind", "words"),
    [
        ((45.003, 9.0), {}, "driving", "cut off by water: a street by car is 333 m away, on the other side, and none"),
        ((45.003, 9.0), {"threshold": 300}, "driving", "has no street by car within the snapping threshold of 300 m"),
        ((44.999, 9.0), {"threshold": 50}, "walking", "threshold of 50 m; the nearest one is 111 m away"),
        ((44.992, 9.0), {"threshold": 600}, "cycling", "by bicycle within the snapping threshold of 600 m; the"),
        ((48.0, 9.0), {}, "driving", "is on no map of this service; GET /v4/map-info lists the maps"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/v4/time-map", "/v4/time-filter", "/v4/routes", "/v4/h3"])
def test_why_a_place_is_not_covered(
    banks: Door, path: str, place: tuple[float, float], snapping: dict[str, int], kind: str, words: str
) -> None:
    """Code 16 says what is in between, or how far away the nearest street is."""
    request = copy.deepcopy(RIGHT[path])
    (search,) = request["departure_searches"] = request["departure_searches"][:1]
    search |= {"transportation": {"type": kind}, "snapping": snapping}
    if "coords" in search:
        search["coords"] = coords(place)
    else:
        targets = (45.0, 9.001), (45.0, 9.002)
        request["locations"] = locations(place, *targets)
        search |= {"departure_location_id": "p0", "arrival_location_ids": ["p1", "p2"]}
    for other in ("arrival_searches", "unions", "intersections"):
        request.pop(other, None)
    response = banks.post(path, request)
    assert_error(response, 422, 16, search_ids=[search["id"]])
    assert words in response.json()["description"]


def test_places_on_two_maps_are_named_as_such(banks: Door) -> None:
    request = {"locations": locations((45.0, 9.0), (0.5, 0.502)), "departure_searches": [matrix_search()]}
    response = banks.post("/v4/time-filter", request)
    assert_error(response, 422, 16, search_ids=["m"])
    assert "are on different maps" in response.json()["description"]


def test_borders_are_refused_in_words(door: Door) -> None:
    search = time_map_search(transportation={"type": "driving", "disable_border_crossing": True})
    info = assert_error(door.post("/v4/time-map", {"departure_searches": [search]}), 422, 2)
    assert "border" in str(info)


@pytest.mark.parametrize("path", QUERIES)
def test_each_query_parameter(door: Door, path: str) -> None:
    right = QUERIES[path]
    moments = {"departure_time", "arrival_time"}
    for name in right:
        missing = {key: value for key, value in right.items() if key != name}
        expected = {"obj.departure_time"} if name in moments else {f"obj.{name}"}
        assert_error(door.get(path, missing), 422, 2, paths=expected)
    if "type" in right:
        both = {**right, "departure_time": MONDAY, "arrival_time": MONDAY}
        assert_error(door.get(path, both), 422, 2, paths={"obj.departure_time"})
        wrong = {**right, "type": "ferry", "departure_time": "x", "arrival_time": ""}
        assert_error(door.get(path, wrong), 422, 2, paths={"obj.type", "obj.departure_time"})
        bus = door.get(path, {**right, "type": "public_transport"})
        assert_error(bus, 422, 15)
    for name in [key for key in right if key.endswith(("lat", "lng"))]:
        for value in ("x", "181", "nan", "inf", "1e999", "1_0"):
            assert_error(door.get(path, {**right, name: value}), 422, 2, paths={f"obj.{name}"})


def test_query_of_points(door: Door) -> None:
    right = QUERIES["/v4/time-filter"]
    wrong = {**right, "locations": "60.17_24.94,60.17,x_y,91_0"}
    paths = {f"obj.locations[{i}]" for i in (1, 2, 3)}
    assert_error(door.get("/v4/time-filter", wrong), 422, 2, paths=paths)
    many = {**right, "locations": ",".join(["60.17_24.94"] * 2001)}
    assert_error(door.get("/v4/time-filter", many), 422, 2, paths={"obj.locations"})


def test_geocoding_queries(door: Door) -> None:
    wrong = {
        "query": "x", "limit": 51, "format.name": "maybe", "bounds": "1,2,3", "focus.lat": 1, "force.add.postcode": 2,
    }  # fmt: skip
    paths = {f"obj.{name}" for name in ("limit", "format.name", "bounds", "focus.lng", "force.add.postcode")}
    assert_error(door.get("/v4/geocoding/search", wrong), 422, 2, paths=paths)


@pytest.mark.parametrize("path", ["/v5", "/v4", "/v4/", "/v4//map-info", "/v4/map-info/", "/v3/map-info", "/x" * 2000])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_unknown_paths(door: Door, path: str, method: str) -> None:
    assert_error(door(method, path), 404)


@pytest.mark.parametrize(
    "path",
    [
        *RIGHT,
        *QUERIES,
        "/health",
        "/ready",
        "/metrics",
        "/openapi.json",
        "/docs",
        DOCUMENTATION_LINK,
        "/api/v3/uk/h3/fast/pt",
    ],
)
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "NONSENSE"])
def test_wrong_methods(door: Door, path: str, method: str) -> None:
    response = door(method, path)
    assert_error(response, 405)
    assert response.headers["allow"].split(", ") == sorted(response.headers["allow"].split(", "))


@pytest.mark.parametrize("path", ["/v4/time-map", "/v4/time-map/fast", "/v4/distance-map"])
def test_unsupported_formats(door: Door, path: str) -> None:
    for accept in ("text/html", "application/xml, text/csv;q=0.5", "application/json;q=0"):
        assert_error(door.post(path, RIGHT[path], accept=accept), 406)
    response = door.post(path, RIGHT[path], accept="application/kml+xml")
    if path.endswith("fast"):
        assert_error(response, 406)
    else:
        assert response.status_code == 200


def test_formats_do_not_change_errors(door: Door) -> None:
    for accept in ("application/geo+json", "application/kml+xml", "application/vnd.wkt+json"):
        assert_error(door.post("/v4/time-map", {}, accept=accept), 422, 2)
        assert_error(door.get("/nothing", accept=accept), 404)


def test_compressed_bodies(door: Door) -> None:
    headers = {**HEADERS, "Content-Encoding": "gzip"}
    assert_error(door("POST", "/v4/time-map", body=b"x", headers=headers), 415)


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("kind", ["time-filter", "geohash", "h3"])
def test_protobuf_errors_have_headers(door: Door, prefix: str, kind: str) -> None:
    def check(response: Any, status: int, code: str, name: str) -> None:
        assert_error(response, status)
        assert response.headers["x-error-code"] == code
        assert response.headers["x-error-message"] == name
        assert response.headers["x-error-details"]

    path = f"{prefix}/uk/{kind}/fast/driving"
    check(door.proto(path, b"", basic=None), 401, "8", "AUTH_ERROR_NO_USER_ID")
    check(door.proto(path, b"", basic=("an id", "wrong")), 401, "8", "AUTH_ERROR_NO_USER_ID")
    check(door("POST", path, body=b""), 401, "8", "AUTH_ERROR_NO_USER_ID")
    check(door.proto(path, b"\xff"), 400, "15", "INVALID_PROTO_REQUEST")
    check(door.proto(path, b""), 422, "14", "ONE_TO_MANY_OR_MANY_TO_ONE_MUST_NOT_BE_NULL")
    check(door.proto(f"{prefix}/atlantis/{kind}/fast/driving", b""), 404, "0", "UNKNOWN")
    check(door.proto(f"{prefix}/uk/{kind}/fast/flying", b""), 404, "0", "UNKNOWN")
    check(door("GET", path), 405, "0", "UNKNOWN")


def test_errors_lead_to_a_page(door: Door) -> None:
    response = door.get(DOCUMENTATION_LINK, headers={})
    assert response.status_code == 200 and response.headers["content-type"].startswith("text/html")
    for each in EXPLANATIONS:
        assert f"id='{each.code}'" in response.text and each.remedy in response.text
    assert len({each.code for each in EXPLANATIONS}) == len(EXPLANATIONS)


def test_all_errors_are_explained() -> None:
    """Every status that a module of the service names is in the table."""
    folder = ROOT / "traveltime_lab" / "server"
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*.py")]
    named = {int(status) for text in texts for status in re.findall(r"(?:plain_failure|[^h]Failure)\((\d{3}),", text)}
    # 499 is for the log only: the client has gone.
    assert {404, 405, 406, 413, 500} <= {each.status for each in EXPLANATIONS}
    assert len(named) > 8 and named - {499} <= {each.status for each in EXPLANATIONS}
