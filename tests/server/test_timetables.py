"""Public transport over HTTP: the library's answers, windows, and days without service."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import traveltime_lab as tl
from tests.support.door import Door, assert_error, coords, locations, matrix_search, ok, polygons, time_map_search
from tests.support.protobuf import asked, matrix_message
from traveltime_lab.server.endpoints import ways
from traveltime_lab.transit import timetable

#: Places of Porto Alegre and a Tuesday of its timetable.
MARKET, TERMINAL, PUCRS = (-30.027565, -51.227811), (-30.023285, -51.218856), (-30.057972, -51.176073)
TUESDAY = "2019-05-14T08:00:00-03:00"
BUS: dict[str, Any] = {"type": "public_transport", "walking_time": 900, "max_changes": {"enabled": True, "limit": 2}}


@pytest.fixture(scope="module")
def timetabled(porto_alegre: tl.Network) -> tl.Network:
    assert porto_alegre.timetable is not None
    return porto_alegre


def matrix(door: Door, **more: Any) -> Any:
    defaults = {
        "departure_time": TUESDAY, "travel_time": 7200, "transportation": BUS, "properties": ["travel_time"],
    }  # fmt: skip
    search = matrix_search(targets=2, **{**defaults, **more})
    request = {"locations": locations(MARKET, TERMINAL, PUCRS), "departure_searches": [search]}
    return door.post("/v4/time-filter", request)


def times(response: Any) -> dict[str, int]:
    (result,) = ok(response)["results"]
    return {location["id"]: location["properties"][0]["travel_time"] for location in result["locations"]}


def test_matrix(door: Door, timetabled: tl.Network) -> None:
    import geopandas as gpd

    lat, lng = zip(MARKET, TERMINAL, PUCRS, strict=True)
    points = gpd.GeoSeries.from_xy(lng, lat, index=["p0", "p1", "p2"], crs="EPSG:4326")
    table = tl.time_filter(
        timetabled, points[:1], points[1:], travel_time=7200, transportation=BUS, departure_time=TUESDAY
    )
    found = times(matrix(door))
    assert found == dict(zip(table["destination"], table["travel_time"], strict=True)) and found["p2"] > 0
    walked = times(matrix(door, transportation={"type": "walking"}))
    assert found["p2"] < walked.get("p2", 7201)


def test_routes(door: Door, timetabled: tl.Network) -> None:
    """Parts of the four types with what each must have, in a matrix and as routes."""
    properties = ["travel_time", "distance", "distance_breakdown", "route"]
    (result,) = ok(matrix(door, properties=properties))["results"]
    (entry,) = next(location for location in result["locations"] if location["id"] == "p2")["properties"]
    rides = [part for part in entry["route"]["parts"] if part["type"] == "public_transport"]
    assert rides and entry["travel_time"] == times(matrix(door))["p2"]
    for ride in rides:
        assert {"line", "departure_station", "arrival_station", "departs_at", "arrives_at", "num_stops"} <= set(ride)
        assert len(ride["departs_at"]) == 8 and ride["mode"] == "bus"
    assert {part["mode"] for part in entry["distance_breakdown"]} >= {"bus", "walk"}
    search = matrix_search(departure_time=TUESDAY, travel_time=..., transportation=BUS, properties=["route"])
    (result,) = ok(door.post("/v4/routes", {"locations": locations(MARKET, PUCRS), "departure_searches": [search]}))[
        "results"
    ]
    assert result["locations"][0]["properties"][0]["route"] == entry["route"]


def test_window(door: Door, timetabled: tl.Network) -> None:
    """A window of departures is never slower than its beginning."""
    window = {"enabled": True, "max_results": 2, "width": 3600}
    at_once, later = times(matrix(door)), times(matrix(door, range=window))
    assert all(later[name] <= at_once[name] for name in at_once)
    search = time_map_search(
        place=MARKET, departure_time=TUESDAY, travel_time=1800, transportation=BUS, properties=["is_only_walking"]
    )
    (one,) = ok(door.post("/v4/time-map", {"departure_searches": [search]}))["results"]
    search["range"] = {"enabled": True, "width": 3600}
    (all_of_it,) = ok(door.post("/v4/time-map", {"departure_searches": [search]}))["results"]
    assert polygons(all_of_it).area >= polygons(one).area > 0
    assert all_of_it["properties"] == {"is_only_walking": False}
    request = {"resolution": 8, "properties": ["min"], "departure_searches": [search]}
    assert ok(door.post("/v4/h3", request))["results"][0]["cells"]


@pytest.mark.slow
def test_journeys_of_a_window(door: Door, timetabled: tl.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to max_results entries for each place, quickest first, with the same times whatever else is asked for."""
    window = {"enabled": True, "max_results": 3, "width": 3600}

    def entries(**search: Any) -> dict[str, list[dict[str, Any]]]:
        (result,) = ok(matrix(door, **search))["results"]
        return {location["id"]: location["properties"] for location in result["locations"]}

    known = entries(range=window, properties=["travel_time"])
    whole = entries(range=window, properties=["travel_time", "distance", "distance_breakdown", "route"])
    assert any(len(each) > 1 for each in known.values())
    for name, each in known.items():
        seconds = [entry["travel_time"] for entry in each]
        assert seconds == sorted(seconds) == [entry["travel_time"] for entry in whole[name]]
        assert seconds[0] == times(matrix(door, range=window))[name]
        for entry in whole[name]:
            assert sum(part["distance"] for part in entry["distance_breakdown"]) == pytest.approx(
                entry["distance"], abs=3
            )
            assert entry["route"]["departure_time"] < entry["route"]["arrival_time"]
    at_once = entries(properties=["travel_time", "distance", "distance_breakdown", "route"])
    # Distances without routes are those of the routes, by mode too, and no route is built for them.
    monkeypatch.setattr(ways, "find_routes", None)
    for wanted in (("travel_time", "distance"), ("distance", "distance_breakdown"), ("distance_breakdown",)):
        for most in (1, 3):
            measured = entries(range={**window, "max_results": most}, properties=list(wanted))
            assert measured == {
                name: [{key: entry[key] for key in wanted} for entry in each[:most]] for name, each in whole.items()
            }
        assert entries(properties=list(wanted)) == {
            name: [{key: entry[key] for key in wanted} for entry in each] for name, each in at_once.items()
        }


def test_only_walking(door: Door, timetabled: tl.Network) -> None:
    """At three in the night no bus runs."""
    search = time_map_search(
        place=MARKET, departure_time="2019-05-14T03:00:00-03:00", travel_time=600, transportation=BUS,
        properties=["is_only_walking"],
    )  # fmt: skip
    (result,) = ok(door.post("/v4/time-map", {"departure_searches": [search]}))["results"]
    assert result["properties"] == {"is_only_walking": True}


@pytest.mark.parametrize("kind", ["bus", "train", "coach", "driving+public_transport", "cycling+public_transport"])
def test_types(door: Door, timetabled: tl.Network, kind: str) -> None:
    assert ok(matrix(door, transportation={"type": kind}))


def test_days_without_service(door: Door, timetabled: tl.Network) -> None:
    response = matrix(door, departure_time="2030-03-05T08:00:00Z")
    assert_error(response, 422, 15, search_ids=["m"])
    first, last = timetabled.report()["timetable"]["buses"]["first_date"], "2019-07-15"
    assert f"buses runs from {first} to {last}" in response.json()["description"]


def test_fast(door: Door, timetabled: tl.Network) -> None:
    search = matrix_search(
        departure_time=..., transportation={"type": "public_transport"}, travel_time=7200,
        properties=["travel_time", "distance"],
    )  # fmt: skip
    request = {"locations": locations(MARKET, PUCRS), "arrival_searches": {"one_to_many": [search]}}
    (result,) = ok(door.post("/v4/time-filter/fast", request))["results"]
    (location,) = result["locations"]
    assert location["properties"]["travel_time"] > 0 and location["properties"]["distance"] > 0
    answer = asked(door, matrix_message(type=0, place=MARKET, targets=[PUCRS], travelTime=7200)).properties
    assert abs(answer.travelTimes[0] - location["properties"]["travel_time"]) <= 60
    details = matrix_message(type=0, place=MARKET, targets=[PUCRS], travelTime=7200)
    details.oneToManyRequest.transportation.publicTransport.walkingTimeToStation.value = 1
    assert asked(door, details).properties.travelTimes[0] != answer.travelTimes[0]


def test_map_info(door: Door, timetabled: tl.Network) -> None:
    maps = {item["name"]: item["features"] for item in ok(door.get("/v4/map-info"))["maps"]}
    assert maps["porto_alegre"]["public_transport"]["date_start"].startswith("2019-03-01T00:00:00-03:00")
    assert "public_transport" not in maps["helsinki"]
    modes = {
        item["transportation_mode"] for item in maps["porto_alegre"]["time_filter_fast"]["periods"][0]["supported"]
    }
    assert "public_transport" in modes


def test_get(door: Door, timetabled: tl.Network) -> None:
    query = {"type": "public_transport", "travel_time": 1200, **coords(MARKET), "departure_time": TUESDAY}
    assert ok(door.get("/v4/time-map", query))["results"][0]["shapes"]


def test_days_of_little_service_are_no_failure(
    door: Door, timetabled: tl.Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither where warnings are errors, as here, nor in the log."""
    monkeypatch.setattr(timetable, "LITTLE_SERVICE", 2.0)
    search = time_map_search("a", MARKET, departure_time=TUESDAY, transportation=BUS, travel_time=900)
    with pytest.warns(timetable.ServiceWarning):
        tl.time_map(
            timetabled, (MARKET[1], MARKET[0]), travel_time=60, transportation="public_transport",
            departure_time=TUESDAY,
        )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ok(door.post("/v4/time-map", {"departure_searches": [search]}))["results"]


@pytest.mark.parametrize("kind", ["oneToManyRequest", "manyToOneRequest"])
@pytest.mark.parametrize("mode", [0, 2])
def test_distances_where_nothing_is_reached(door: Door, timetabled: tl.Network, kind: str, mode: int) -> None:
    """There are no routes to measure then, by public transport or by car and public transport."""
    message = matrix_message(kind, type=mode, place=MARKET, targets=[PUCRS], travelTime=1, properties=[1])
    answer = asked(door, message).properties
    assert list(answer.travelTimes) == [-1]
    assert list(answer.distances) == [-1]
