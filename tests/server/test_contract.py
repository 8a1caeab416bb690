"""The contract's examples, moved to where a sample is, and the rows of its checklist that no other file covers."""

from __future__ import annotations

import datetime as dt
import html
import itertools
import json
from copy import deepcopy
from typing import Any
from xml.etree import ElementTree

import msgspec
import numpy as np
import pandas as pd
import pytest
import shapely

from tests.support.door import (
    CENTRE,
    FORUM,
    MARKET,
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
    polygons,
    time_map_search,
)
from tests.support.requests import QUERIES, RIGHT
from traveltime_lab.network.network import Network
from traveltime_lab.server import formats
from traveltime_lab.server.app import create_app
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.auth import Credentials
from traveltime_lab.server.contract import responses
from traveltime_lab.server.endpoints.table import ENDPOINTS, Endpoint
from traveltime_lab.server.postcodes import Zones

WKT, NO_HOLES = "application/vnd.wkt+json", "application/vnd.wkt-no-holes+json"


def asked(door: Door, endpoint: Any, media: str | None = None) -> Any:
    if endpoint.method == "GET":
        return door.get(endpoint.path, QUERIES[endpoint.path], accept=media)
    return door.post(endpoint.path, RIGHT[endpoint.path], accept=media)


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda e: f"{e.method}{e.path}")
def test_answers_are_as_described(door: Door, endpoint: Any) -> None:
    """No key too many, none missing, no null, whole numbers: the types of the description forbid unknown fields."""
    response = asked(door, endpoint)
    ok(response)
    msgspec.json.decode(response.content, type=getattr(responses, endpoint.result))
    assert b"null" not in response.content


# 7.2 and 6.1 ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    """The example of 7.2, on foot instead of by public transport."""
    return {
        "departure_searches": [
            time_map_search("a", travel_time=600, properties=["is_only_walking"]),
            time_map_search("b", FORUM, travel_time=300, transportation={"type": "cycling"}),
        ],
        "arrival_searches": [],
        "unions": [{"id": "u", "search_ids": ["a", "b"]}],
        "intersections": [{"id": "i", "search_ids": ["a", "b"]}],
    }


def test_time_map(door: Door, example: dict[str, Any]) -> None:
    results = ok(door.post("/v4/time-map", example))["results"]
    assert [result["search_id"] for result in results] == ["a", "b", "i", "u"]
    assert [sorted(result) for result in results] == [["properties", "search_id", "shapes"]] * 4
    assert [result["properties"] for result in results] == [{"is_only_walking": True}, {}, {}, {}]
    a, b, both, either = map(polygons, results)
    for shape in (a, b, both, either):
        assert shape.is_valid and not shape.is_empty
    assert shapely.area(shapely.symmetric_difference(either, shapely.union(a, b))) < 1e-12
    assert shapely.area(shapely.symmetric_difference(both, shapely.intersection(a, b))) < 1e-12
    assert a.covers(shapely.Point(STATION[1], STATION[0]))


def test_formats_agree(door: Door, example: dict[str, Any]) -> None:
    """All formats hold the same shapes, longitude first where the order matters."""
    plain = {result["search_id"]: polygons(result) for result in ok(door.post("/v4/time-map", example))["results"]}

    wkt = ok(door.post("/v4/time-map", example, accept=WKT), WKT)["results"]
    assert [sorted(result) for result in wkt] == [["properties", "search_id", "shape"]] * 4
    assert wkt[0]["properties"] == {"is_only_walking": True}
    for result in wkt:
        assert "e" not in result["shape"].lower().replace("polygon", "")
        shape = shapely.from_wkt(result["shape"])
        kind = "MULTIPOLYGON" if len(plain[result["search_id"]].geoms) > 1 else "POLYGON"
        assert result["shape"].startswith(kind)
        assert shapely.normalize(shapely.multipolygons([shape] if kind == "POLYGON" else shape.geoms)) == (
            shapely.normalize(plain[result["search_id"]])
        )

    for result in ok(door.post("/v4/time-map", example, accept=NO_HOLES), NO_HOLES)["results"]:
        shape = shapely.from_wkt(result["shape"])
        assert not any(len(part.interiors) for part in shapely.get_parts(shape))
        assert shape.area >= plain[result["search_id"]].area - 1e-12

    collection = ok(door.post("/v4/time-map", example, accept=formats.GEOJSON), formats.GEOJSON)
    assert sorted(collection) == ["features", "type"]
    assert [feature["properties"] for feature in collection["features"]] == [{"search_id": name} for name in "abiu"]
    for feature in collection["features"]:
        assert sorted(feature) == ["geometry", "properties", "type"]
        assert feature["geometry"]["type"] == "MultiPolygon"
        shape = shapely.from_geojson(json.dumps(feature["geometry"]))
        assert all(shapely.is_ccw(part.exterior) for part in shape.geoms)
        assert shapely.normalize(shape) == shapely.normalize(plain[feature["properties"]["search_id"]])

    boxes = ok(door.post("/v4/time-map", example, accept=formats.BOXES), formats.BOXES)["results"]
    for result in boxes:
        assert sorted(result) == ["bounding_boxes", "properties", "search_id"]
        shape = plain[result["search_id"]]
        assert len(result["bounding_boxes"]) == len(shape.geoms)
        for part, found in zip(shape.geoms, result["bounding_boxes"], strict=True):
            box = [found["envelope"][key] for key in ("min_lng", "min_lat", "max_lng", "max_lat")]
            assert np.allclose(box, part.bounds, atol=1e-9)
            tiles = [shapely.box(b["min_lng"], b["min_lat"], b["max_lng"], b["max_lat"]) for b in found["boxes"]]
            covered = shapely.union_all(tiles)
            assert abs(sum(tile.area for tile in tiles) - covered.area) < 1e-12
            assert shapely.area(shapely.difference(shapely.Polygon(part.exterior), covered)) < 1e-12


@pytest.mark.parametrize("media", [formats.KML, formats.GOOGLE_KML])
def test_kml_is_xml(door: Door, example: dict[str, Any], media: str) -> None:
    request = {**example, "unions": [{"id": "<&> \x01 ü", "search_ids": ["a"]}], "intersections": []}
    root = ElementTree.fromstring(ok(door.post("/v4/time-map", request, accept=media), media))
    space = "{http://www.opengis.net/kml/2.2}"
    assert root.tag == f"{space}kml"
    names = [element.text for element in root.iter(f"{space}name")]
    assert names == ["<&> \ufffd ü", "a", "b"]
    plain = polygons(ok(door.post("/v4/time-map", request))["results"][1])
    placemark = root.findall(f"{space}Document/{space}Placemark")[1]
    rings = placemark.findall(f".//{space}outerBoundaryIs/{space}LinearRing/{space}coordinates")
    first = [tuple(map(float, pair.split(","))) for pair in str(rings[0].text).split()]
    assert first == list(plain.geoms[0].exterior.coords) or first[::-1] == list(plain.geoms[0].exterior.coords)
    assert placemark.find(f"{space}MultiGeometry/{space}Polygon") is not None


def test_nothing_in_common(door: Door) -> None:
    """An empty intersection has no shapes, and an empty geometry in every format."""
    request = {
        "departure_searches": [time_map_search("a", travel_time=60), time_map_search("b", MARKET, travel_time=60)],
        "intersections": [{"id": "i", "search_ids": ["a", "b"]}],
    }
    assert ok(door.post("/v4/time-map", request))["results"][2] == {"search_id": "i", "shapes": [], "properties": {}}
    assert ok(door.post("/v4/time-map", request, accept=WKT), WKT)["results"][2]["shape"] == "MULTIPOLYGON EMPTY"
    collection = ok(door.post("/v4/time-map", request, accept=formats.GEOJSON), formats.GEOJSON)
    assert collection["features"][2]["geometry"] == {"type": "MultiPolygon", "coordinates": []}
    boxes = ok(door.post("/v4/time-map", request, accept=formats.BOXES), formats.BOXES)
    assert boxes["results"][2]["bounding_boxes"] == []
    assert b"<MultiGeometry></MultiGeometry>" in door.post("/v4/time-map", request, accept=formats.KML).content


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("application/json, text/plain, */*", "application/json"),
        ("application/json, text/xml, application/xml, */*", "application/json"),
        ("text/html, */*;q=0.1", "application/json"),
        ("application/vnd.wkt+json;charset=utf-8", WKT),
        ("application/json;q=0.5, application/vnd.wkt+json", WKT),
        ("APPLICATION/GEO+JSON", "application/geo+json"),
        ("application/vnd.wkt+json, application/geo+json", WKT),
        ("application/nothing, application/vnd.google-earth.kml+xml", formats.GOOGLE_KML),
        ("", "application/json"),
    ],
)
def test_negotiation(door: Door, accept: str | None, media: str) -> None:
    request = {"departure_searches": [time_map_search(travel_time=60)]}
    response = door.post("/v4/time-map", request, accept=accept)
    assert response.status_code == 200 and response.headers["content-type"].partition(";")[0] == media
    response = door.get("/v4/time-map", QUERIES["/v4/time-map"], accept=accept)
    assert response.status_code == 200 and response.headers["content-type"].partition(";")[0] == media


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("application/geo+json;q=0, application/vnd.wkt+json", "application/vnd.wkt+json"),
        ("application/json;q=0, */*", "application/vnd.wkt+json"),
        ("application/json;q=0", None),
        ("application/geo+json;q=high", None),
    ],
)
def test_refused_formats(door: Door, accept: str, media: str | None) -> None:
    response = door.get("/v4/time-map", QUERIES["/v4/time-map"], accept=accept)
    if media is None:
        assert_error(response, 406)
    else:
        assert response.status_code == 200 and response.headers["content-type"].partition(";")[0] == media


@pytest.mark.parametrize(
    "more",
    [
        {"level_of_detail": {"scale_type": "simple_numeric", "level": -20}},
        {"level_of_detail": {"scale_type": "coarse_grid", "square_size": 10**15}},
        {"render_mode": "road_buffering", "buffer_distance": 10**15},
        {"snapping": {"threshold": 10**15}},
        {"snapping": {"threshold": 10**15}, "level_of_detail": {"scale_type": "simple_numeric", "level": -20}},
        {"polygons_filter": {"limit": 10**15}},
    ],
    ids=str,
)
def test_absurd_options_end(door: Door, more: dict[str, Any]) -> None:
    """What the contract does not limit must not keep a machine busy: each of these once took from seconds to hours."""
    request = {"departure_searches": [time_map_search(travel_time=300, **more)]}
    assert polygons(ok(door.post("/v4/time-map", request))["results"][0]).area > 0


@pytest.mark.slow
def test_long_travel_times_are_drawn_more_coarsely(door: Door) -> None:
    """But bounding boxes keep the level that was asked for."""

    def drawn(level: str, seconds: int, media: str) -> Any:
        detail = {"scale_type": "simple", "level": level}
        search = time_map_search(travel_time=seconds, level_of_detail=detail, transportation={"type": "driving"})
        return door.post("/v4/time-map", {"departure_searches": [search]}, accept=media).json()["results"]

    boxes = "application/vnd.bounding-boxes+json"
    assert drawn("highest", 5_400, WKT) != drawn("high", 5_400, WKT)
    assert drawn("highest", 5_401, WKT) == drawn("high", 5_401, WKT)
    assert drawn("highest", 14_400, WKT) == drawn("low", 14_400, WKT)
    assert drawn("highest", 14_400, boxes) != drawn("low", 14_400, boxes)


def test_ten_searches_of_each_kind(door: Door) -> None:
    leaving = [time_map_search(f"d{i}", travel_time=60) for i in range(10)]
    arriving = [time_map_search(f"a{i}", travel_time=60, departure_time=..., arrival_time=MONDAY) for i in range(10)]
    unions = [{"id": f"u{i}", "search_ids": ["d0", "a0"]} for i in range(10)]
    request = {"departure_searches": leaving, "arrival_searches": arriving, "unions": unions}
    assert len(ok(door.post("/v4/time-map", request))["results"]) == 30


@pytest.mark.parametrize("size", range(4))
def test_properties_of_routes(door: Door, size: int) -> None:
    """Only what was asked for, whatever that is."""
    for wanted in itertools.combinations(["travel_time", "distance", "route"], size):
        request = deepcopy(RIGHT["/v4/routes"])
        for name in ("departure_searches", "arrival_searches"):
            for search in request.get(name, ()):
                search["properties"] = list(wanted)
        for result in ok(door.post("/v4/routes", request))["results"]:
            for location in result["locations"]:
                assert [sorted(each) for each in location["properties"]] == [sorted(wanted)]


def test_unions_of_nothing(door: Door) -> None:
    nothing = {"id": "u", "search_ids": []}
    request = {"departure_searches": [time_map_search(travel_time=60)], "unions": [nothing]}
    results = ok(door.post("/v4/time-map", request))["results"]
    assert {result["search_id"]: bool(result["shapes"]) for result in results}["u"] is False
    cells = {**RIGHT["/v4/h3"], "intersections": [nothing]}
    results = ok(door.post("/v4/h3", cells))["results"]
    assert {result["search_id"]: bool(result["cells"]) for result in results}["u"] is False
    assert ok(door.post("/v4/supported-locations", {"locations": []})) == {"locations": [], "unsupported_locations": []}


def test_zone_codes_are_spelt_alike() -> None:
    table = pd.DataFrame({
        "postcode": ["sw1y 5bg", "SW1Y5BH", " ec3v  1aa", "00100"], "lat": [51.5] * 4, "lng": [-0.1] * 4,
    })  # fmt: skip
    zones = Zones.from_table(table)
    assert zones.postcodes == ["SW1Y 5BG", "SW1Y 5BH", "EC3V 1AA", "00100"]
    assert zones.districts.tolist() == ["sw1y", "sw1y", "ec3v", "00100"]
    assert zones.sectors.tolist() == ["sw1y5", "sw1y5", "ec3v1", "00100"]
    named = Zones.from_table(table.assign(district="SW1Y", sector="SW1Y 5"))
    assert set(named.districts) == {"sw1y"} and set(named.sectors) == {"sw1y5"}


@pytest.mark.slow
def test_shape_options(door: Door) -> None:
    def area(**more: Any) -> float:
        request = {"departure_searches": [time_map_search(travel_time=420, **more)]}
        return float(polygons(ok(door.post("/v4/time-map", request))["results"][0]).area)

    plain = area()
    assert area(no_holes=True) >= plain
    assert area(single_shape=True) == area(polygons_filter={"limit": 1}) <= plain
    assert area(single_shape=True, polygons_filter={"limit": 100}) == plain
    assert area(render_mode="road_buffering", buffer_distance=250) != plain
    assert area(remove_water_bodies=False) >= plain
    assert area(level_of_detail={"scale_type": "simple", "level": "highest"}) != plain
    assert area(level_of_detail={"scale_type": "simple_numeric", "level": -2}) == plain
    assert area(level_of_detail={"scale_type": "simple", "level": "lowest"}) == plain
    assert area(level_of_detail={"scale_type": "coarse_grid", "square_size": 600}) != plain
    free = {"penalty": "disabled"}
    assert area(snapping=free) > plain
    assert area(snap_penalty="disabled") == area(snap_penalty=free) == area(snapping=free)
    assert area(snap_penalty="disabled", snapping={"penalty": "enabled"}) == plain
    assert area(snap_penalty="whatever") == area(snap_penalty=7) == plain


def test_distance_map(door: Door) -> None:
    search = time_map_search(travel_time=..., travel_distance=300)
    near = ok(door.post("/v4/distance-map", {"departure_searches": [search], "arrival_searches": [], "unions": None}))
    search["travel_distance"] = 500
    far = ok(door.post("/v4/distance-map", {"departure_searches": [search]}))
    assert polygons(near["results"][0]).area < polygons(far["results"][0]).area
    assert far["results"][0]["properties"] == {}


# 3.4: what real clients send ------------------------------------------------------------------------------------------


def test_null_is_absent(door: Door) -> None:
    nothing = dict.fromkeys(
        [
            "range", "level_of_detail", "snapping", "polygons_filter", "no_holes", "render_mode", "buffer_distance",
            "remove_water_bodies", "single_shape", "snap_penalty", "properties",
        ]
    )  # fmt: skip
    options = ("traffic_model", "include_roads", "disable_border_crossing", "boarding_time")
    plain = {"departure_searches": [time_map_search(transportation={"type": "driving"})]}
    drawn = time_map_search(transportation={"type": "driving", **dict.fromkeys(options)}, **nothing)
    full = {"departure_searches": [drawn], "arrival_searches": None, "unions": None, "intersections": None}
    assert ok(door.post("/v4/time-map", full)) == ok(door.post("/v4/time-map", plain))
    drawn["snapping"] = {"penalty": None, "accept_roads": None, "threshold": None}
    assert ok(door.post("/v4/time-map", full)) == ok(door.post("/v4/time-map", plain))


def test_unknown_and_inapplicable_fields_are_ignored(door: Door) -> None:
    plain = {"departure_searches": [time_map_search()]}
    everything = {
        "type": "walking", "pt_change_delay": 0, "walking_time": 900, "driving_time_to_station": 1800,
        "cycling_time_to_station": 900, "parking_time": 300, "boarding_time": 0, "traffic_model": "nonsense",
        "max_changes": {"enabled": True, "limit": -7}, "include_roads": 5,
    }  # fmt: skip
    odd = time_map_search(
        transportation=everything, with_holes=True, use_sharc=True, range={"enabled": True, "width": 99_999_999}
    )
    assert ok(door.post("/v4/time-map", {"departure_searches": [odd], "extra": [1]})) == ok(
        door.post("/v4/time-map", plain)
    )
    odd["range"] = {"enabled": False}
    assert ok(door.post("/v4/time-map", {"departure_searches": [odd]})) == ok(door.post("/v4/time-map", plain))


def test_repeated_keys(door: Door) -> None:
    body = encoded({"departure_searches": [time_map_search()]}).replace(
        b'"coords":', b'"coords": {"lat": 60.1711, "lng": 24.9414}, "coords":'
    )
    assert ok(door("POST", "/v4/time-map", body=body))


def test_whole_floats(door: Door) -> None:
    """900.0 is 900, also beside hundreds of right numbers."""
    request = {
        "locations": locations(STATION, FORUM),
        "departure_searches": [matrix_search(travel_time=1800.0, snapping={"threshold": 500.0})],
    }
    exact = {
        "locations": locations(STATION, FORUM),
        "departure_searches": [matrix_search(travel_time=1800, snapping={"threshold": 500})],
    }
    assert ok(door.post("/v4/time-filter", request)) == ok(door.post("/v4/time-filter", exact))


@pytest.mark.parametrize(
    "moment",
    [
        "2026-03-02T08:00:00Z",
        "2026-03-02T08:00:00.000Z",
        "2026-03-02T08:00:00.123456789Z",
        "2026-03-02T10:00:00+02:00",
        "2026-03-02T08:00:00",
        "2026-03-02T08:00:00.123456",
        "2026-03-02t08:00:00z",
        "2026-03-02T08:00Z",
        "2026-03-02T05:00:00-0300",
    ],
)
def test_moments(door: Door, moment: str) -> None:
    """One moment in all its spellings: the traffic of ten o'clock in Helsinki."""

    def seconds(**more: Any) -> int:
        search = matrix_search(transportation={"type": "driving"}, **more)
        request = {"locations": locations(STATION, MARKET), "departure_searches": [search]}
        found = ok(door.post("/v4/time-filter", request))["results"][0]["locations"][0]["properties"][0]
        return int(found["travel_time"])

    assert (
        seconds(departure_time=moment)
        == seconds(departure_time=MONDAY)
        != seconds(departure_time="2026-03-02T06:00:00Z")
    )


def test_query_moments(door: Door) -> None:
    right = QUERIES["/v4/time-map"]
    plus = ok(door("GET", "/v4/time-map?type=driving&travel_time=300&lat=60.1711&lng=24.9414"
                          "&departure_time=2026-03-02T10:00:00+02:00"))  # fmt: skip
    driving = {**right, "type": "driving"}
    assert plus == ok(door.get("/v4/time-map", {**driving, "departure_time": "2026-03-02T10:00:00+02:00"}))
    assert plus == ok(door.get("/v4/time-map", driving))


@pytest.mark.parametrize("path", QUERIES)
def test_a_get_may_have_a_body(door: Door, path: str) -> None:
    response = door("GET", path, query=QUERIES[path], body=b"null")
    assert response.status_code == 200


def test_ids_are_echoed(door: Door) -> None:
    names = ["", " ", "a b", "ü", "日本", '"\\/', "{}", "1", "\u2028", "x" * 500]
    request = {
        "locations": [{"id": name, "coords": coords(STATION)} for name in names[1:]],
        "departure_searches": [
            matrix_search(name, departure_location_id=" ", arrival_location_ids=names[1:]) for name in names[1:9]
        ],
    }
    results = ok(door.post("/v4/time-filter", request))["results"]
    assert [result["search_id"] for result in results] == sorted(names[1:9])
    assert [location["id"] for location in results[0]["locations"]] == names[1:]
    request["locations"][0]["id"] = names[0]
    info = assert_error(door.post("/v4/time-filter", request), 422, 2)
    assert "obj.locations[0].id" in info


# 7.4 to 7.6, 6.2 ------------------------------------------------------------------------------------------------------


def test_time_filter(door: Door) -> None:
    request = {
        "locations": locations(STATION, FORUM, (60.30, 24.94), MARKET),
        "departure_searches": [
            matrix_search(
                targets=3, range={"enabled": True, "max_results": 2, "width": 600},
                properties=["distance", "travel_time", "distance_breakdown"],
            )
        ],
    }  # fmt: skip
    (result,) = ok(door.post("/v4/time-filter", request))["results"]
    assert [location["id"] for location in result["locations"]] == ["p1", "p3"] and result["unreachable"] == ["p2"]
    for location in result["locations"]:
        (entry,) = location["properties"]
        assert sorted(entry) == ["distance", "distance_breakdown", "travel_time"]
        assert entry["distance_breakdown"] == [{"mode": "walk", "distance": entry["distance"]}]
        assert type(entry["travel_time"]) is int and type(entry["distance"]) is int


def test_time_filter_fast(door: Door) -> None:
    """The example of 7.6: properties are one object, and only what was asked for."""
    search = {
        "id": "x", "arrival_location_id": "p0", "departure_location_ids": ["p1", "p2"], "travel_time": 1800,
        "transportation": {"type": "driving"}, "arrival_time_period": "weekday_morning",
        "properties": ["travel_time", "distance"],
    }  # fmt: skip
    request = {
        "locations": locations(STATION, FORUM, (60.30, 24.94)),
        "arrival_searches": {"many_to_one": [search], "one_to_many": []},
    }
    (result,) = ok(door.post("/v4/time-filter/fast", request))["results"]
    assert result["unreachable"] == ["p2"] and sorted(result["locations"][0]["properties"]) == [
        "distance",
        "travel_time",
    ]
    for wanted in ([], ["distance"], ["travel_time"]):
        search["properties"] = wanted
        (result,) = ok(door.post("/v4/time-filter/fast", request))["results"]
        assert list(result["locations"][0]["properties"]) == wanted


def test_traffic(door: Door) -> None:
    """On the fast endpoints peak is the default; on the others the moment and the outlook decide."""

    def seconds(path: str, transportation: dict[str, Any]) -> int:
        is_fast = path.endswith("fast")
        more = {"departure_time": ...} if is_fast else {}
        search = matrix_search(transportation={"type": "driving", **transportation}, **more)
        searches = {"arrival_searches": {"one_to_many": [search]}} if is_fast else {"departure_searches": [search]}
        request = {"locations": locations(STATION, MARKET), **searches}
        found = ok(door.post(path, request))["results"][0]["locations"][0]["properties"]
        return int((found if is_fast else found[0])["travel_time"])

    fast, slow = "/v4/time-filter/fast", "/v4/time-filter"
    assert seconds(fast, {}) == seconds(fast, {"traffic_model": "peak"}) > seconds(fast, {"traffic_model": "off_peak"})
    times = [seconds(slow, {"traffic_model": name}) for name in ("optimistic", "balanced", "pessimistic")]
    assert times == sorted(set(times)) and seconds(slow, {}) == times[1]


def test_every_target_appears_once(door: Door) -> None:
    request = {
        "locations": locations(STATION, FORUM, (60.30, 24.94)),
        "departure_searches": [matrix_search(arrival_location_ids=["p2", "p1", "p0", "p1", "p2"])],
    }
    (result,) = ok(door.post("/v4/time-filter", request))["results"]
    assert [location["id"] for location in result["locations"]] == ["p1", "p0"]
    assert result["locations"][1]["properties"] == [{"travel_time": 0, "distance": 0}]
    assert result["unreachable"] == ["p2"]


def test_get_forms_equal_post_forms(door: Door) -> None:
    shape = ok(door.get("/v4/time-map", QUERIES["/v4/time-map"]))
    search = time_map_search("time-map")
    assert shape == ok(door.post("/v4/time-map", {"departure_searches": [search]}))
    found = ok(door.get("/v4/time-filter", QUERIES["/v4/time-filter"]))
    assert [location["id"] for location in found["results"][0]["locations"]] == ["0", "1"]
    query = {key: value for key, value in QUERIES["/v4/time-filter"].items() if key != "arrival_time"}
    leaving = ok(door.get("/v4/time-filter", {**query, "departure_time": MONDAY, "travel_time": 14_400}))
    assert sorted(leaving["results"][0]["locations"][0]["properties"][0]) == ["distance", "travel_time"]


@pytest.mark.parametrize("kind", ["walking", "cycling", "driving"])
def test_snapping_penalty(door: Door, kind: str) -> None:
    """The clients' own test: with the penalty trips take longer."""

    def seconds(penalty: str) -> int:
        search = matrix_search(transportation={"type": kind}, snapping={"penalty": penalty})
        request = {"locations": locations((60.1713, 24.9421), FORUM), "departure_searches": [search]}
        found = ok(door.post("/v4/time-filter", request))["results"][0]["locations"][0]["properties"][0]
        return int(found["travel_time"])

    assert seconds("enabled") > seconds("disabled")


# 7.11, 7.12, 6.4 ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["walking", "cycling", "driving"])
def test_routes(door: Door, kind: str) -> None:
    search = matrix_search(
        targets=2, travel_time=..., transportation={"type": kind}, properties=["travel_time", "distance", "route"]
    )
    request = {"locations": locations(STATION, MARKET, (60.30, 24.94)), "departure_searches": [search]}
    (result,) = ok(door.post("/v4/routes", request))["results"]
    assert result["unreachable"] == ["p2"]
    (entry,) = result["locations"][0]["properties"]
    parts = entry["route"]["parts"]
    assert [part["id"] for part in parts] == list(range(len(parts)))
    assert sum(part["travel_time"] for part in parts) == entry["travel_time"]
    assert sum(part["distance"] for part in parts) == entry["distance"]
    for one, two in itertools.pairwise(parts):
        assert one["coords"][-1] == two["coords"][0]
    for part in parts:
        assert ("direction" in part) == (part["type"] == "start_end")
    leaves = dt.datetime.fromisoformat(entry["route"]["departure_time"])
    arrives = dt.datetime.fromisoformat(entry["route"]["arrival_time"])
    assert leaves == dt.datetime.fromisoformat(MONDAY) and leaves.utcoffset() == dt.timedelta(hours=2)
    assert (arrives - leaves).total_seconds() == entry["travel_time"]
    search |= {"travel_time": 14_400, "properties": ["route", "distance_breakdown"]}
    (result,) = ok(door.post("/v4/time-filter", request))["results"]
    (again,) = result["locations"][0]["properties"]
    assert again["route"] == entry["route"] and sum(part["distance"] for part in again["distance_breakdown"]) > 0
    search["travel_time"] = 60
    (result,) = ok(door.post("/v4/time-filter", request))["results"]
    assert result["unreachable"] == ["p1", "p2"]


def test_routes_by_arrival(door: Door) -> None:
    query = {key: value for key, value in QUERIES["/v4/routes"].items() if key != "departure_time"}
    (result,) = ok(door.get("/v4/routes", {**query, "arrival_time": MONDAY}))["results"]
    (location,) = result["locations"]
    arrives = location["properties"][0]["route"]["arrival_time"]
    assert dt.datetime.fromisoformat(arrives) == dt.datetime.fromisoformat(MONDAY)
    (result,) = ok(door.get("/v4/routes", QUERIES["/v4/routes"]))["results"]
    assert result["search_id"] == "routes" and [item["id"] for item in result["locations"]] == ["destination"]


# 7.13 to 7.16, 6.5 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("system", "resolution", "cell"), [("h3", 9, "891126d3317ffff"), ("geohash", 7, "ud9wr9")])
def test_cells(door: Door, system: str, resolution: int, cell: str) -> None:
    centre = {f"{system}_centroid": cell}
    request: dict[str, Any] = {
        "resolution": resolution, "properties": ["min", "mean", "max"],
        "departure_searches": [time_map_search("c", coords=centre), time_map_search("d")],
        "unions": [{"id": "u", "search_ids": ["c", "d"]}],
        "intersections": [{"id": "i", "search_ids": ["c", "d"]}],
    }  # fmt: skip
    results = {result["search_id"]: result["cells"] for result in ok(door.post(f"/v4/{system}", request))["results"]}
    assert list(results) == ["c", "d", "i", "u"]
    names = {key: {item["id"] for item in cells} for key, cells in results.items()}
    assert names["u"] == names["c"] | names["d"] and names["i"] == names["c"] & names["d"] and names["i"]
    for item in results["u"]:
        assert len(item["id"]) == (15 if system == "h3" else resolution) and item["id"] == item["id"].lower()
        times = item["properties"]
        assert 0 <= times["min"] <= times["mean"] <= times["max"] <= 300
    request["properties"] = []
    assert ok(door.post(f"/v4/{system}", request))["results"][0]["cells"][0]["properties"] == {}
    path = "obj.departure_searches[0].coords"
    for wrong, where in (
        ({f"{system}_centroid": "nonsense!"}, f"{path}.{system}_centroid"),
        ({**centre, **coords(STATION)}, path),
        ({"lat": 60.0}, f"{path}.lng"),
    ):
        request["departure_searches"][0]["coords"] = wrong
        assert_error(door.post(f"/v4/{system}", request), 422, 2, paths={where})
    request["departure_searches"][0]["coords"] = centre
    for resolution in (0, 13, 99):
        request["resolution"] = resolution
        assert_error(door.post(f"/v4/{system}", request), 422, 2, paths={"obj.resolution"})


# 7.7 to 7.9 -----------------------------------------------------------------------------------------------------------


def test_postcodes(door: Door) -> None:
    request = {"departure_searches": [time_map_search("pc", travel_time=600, properties=["travel_time"])]}
    (result,) = ok(door.post("/v4/time-filter/postcodes", request))["results"]
    assert {item["code"] for item in result["postcodes"]} >= {"HE1 1AA", "HE1 2AA"}
    assert all(list(item["properties"][0]) == ["travel_time"] for item in result["postcodes"])
    zone = time_map_search(
        "d", travel_time=900, properties=["travel_time_reachable", "travel_time_all", "coverage"],
        reachable_postcodes_threshold=0.1,
    )  # fmt: skip
    (result,) = ok(door.post("/v4/time-filter/postcode-districts", {"departure_searches": [zone]}))["results"]
    by_code = {item["code"]: item["properties"] for item in result["districts"]}
    assert by_code["he1"]["coverage"] == 100.0 and by_code["he2"]["coverage"] == 50.0
    assert sorted(by_code["he1"]["travel_time_all"]) == ["max", "mean", "median", "min"]
    zone["reachable_postcodes_threshold"] = 0.6
    (result,) = ok(door.post("/v4/time-filter/postcode-districts", {"departure_searches": [zone]}))["results"]
    assert [item["code"] for item in result["districts"]] == ["he1"]
    (result,) = ok(door.post("/v4/time-filter/postcode-sectors", {"departure_searches": [zone]}))["results"]
    assert {item["code"] for item in result["sectors"]} == {"he11", "he12"}


def test_no_postcodes_of_a_map(door: Door) -> None:
    search = time_map_search("x", (-30.027565, -51.227811), properties=["travel_time"])
    assert_error(door.post("/v4/time-filter/postcodes", {"departure_searches": [search]}), 422, 16, search_ids=["x"])


# 7.20, 7.21 -----------------------------------------------------------------------------------------------------------


def test_maps(door: Door) -> None:
    maps = ok(door.get("/v4/map-info"))["maps"]
    assert [item["name"] for item in maps] == ["helsinki", "porto_alegre"]
    for item in maps:
        assert item["features"]["cross_country_modes"] == []
    assert [item["features"]["fares"] for item in maps] == [False, True]
    assert [item["features"]["postcodes"] for item in maps] == [True, False]
    request = {
        "locations": [{"id": "Kaunas", "coords": coords(STATION)}, {"id": "Sea", "coords": {"lat": 40, "lng": -40}}]
    }
    assert ok(door.post("/v4/supported-locations", request)) == {
        "locations": [{"id": "Kaunas", "map_name": "helsinki", "additional_map_names": []}],
        "unsupported_locations": ["Sea"],
    }


def test_postcodes_that_are_missing_are_said_to_be(helsinki: Network, porto_alegre: Network, zones: Zones) -> None:
    search = {
        "id": "x", "coords": coords(STATION), "departure_time": MONDAY, "travel_time": 600,
        "transportation": {"type": "walking"}, "properties": ["travel_time"],
    }  # fmt: skip
    credentials = Credentials([PAIR])
    for networks, table, place, text in (
        (helsinki, None, STATION, "no table of postcodes: start it with --zones"),
        ({"brazil": porto_alegre}, zones, CENTRE, "none on the map 'brazil'"),
    ):
        with open_door(create_app(Atlas(networks), credentials, None, table)) as alone:
            for path, more in (
                ("postcodes", {}),
                ("postcode-districts", {"properties": ["coverage"]}),
                ("postcode-sectors", {"properties": ["coverage"]}),
            ):
                asked = {"departure_searches": [{**search, "coords": coords(place), **more}]}
                response = alone.post(f"/v4/time-filter/{path}", asked)
                assert_error(response, 422, 16, search_ids=["x"])
                assert text in response.json()["description"]


# What the service tells about itself ----------------------------------------------------------------------------------


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: f"{endpoint.method} {endpoint.path}")
def test_examples_are_answered(door: Door, endpoint: Endpoint) -> None:
    """Around a place of the service's own first map; the page shows them."""
    operation = ok(door.get("/openapi.json", headers={}))["paths"][endpoint.path][endpoint.method.lower()]
    if endpoint.method == "POST":
        body = operation["requestBody"]["content"]["application/json"]["example"]
        found = ok(door.post(endpoint.path, body))
        shown = html.escape(json.dumps(body, indent=2))
    else:
        examples = {each["name"]: each["example"] for each in operation.get("parameters", ()) if "example" in each}
        assert examples or endpoint.path == "/v4/map-info"
        found = ok(door.get(endpoint.path, examples))
        shown = "".join(f"such as <code>{html.escape(str(value))}" for value in list(examples.values())[:1])
    for result in found.get("results", ()):
        assert result.get("shapes", result.get("cells", result.get("locations", True))), "something is in reach"
    assert shown in door.get("/docs", headers={}).text


def test_open_paths(door: Door) -> None:
    assert ok(door.get("/health", headers={}))["maps"] == ["helsinki", "porto_alegre"]
    document = ok(door.get("/openapi.json", headers={}))
    paths = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert {(e.method, e.path) for e in ENDPOINTS} <= paths
    page = door.get("/docs", headers={})
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
    assert "//" not in page.text.replace("https://json-schema.org", "").replace("</", ""), "nothing from elsewhere"
    assert "<script" not in page.text
    for endpoint in ENDPOINTS:
        assert endpoint.path in page.text
