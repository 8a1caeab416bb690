"""The answer over HTTP is the library's answer to the same question, in JSON and in Protocol Buffers."""

from __future__ import annotations

from typing import Any

import geopandas as gpd
import numpy as np
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.door import Door, coords, ok, polygons
from tests.support.protobuf import asked, matrix_message

#: In and around the sample of Helsinki.
PLACES = st.tuples(st.floats(60.160, 60.182), st.floats(24.920, 24.962))
INNER = st.tuples(st.floats(60.1665, 60.1735), st.floats(24.938, 24.950))
MODES = st.sampled_from(["walking", "cycling", "driving"])
MOMENTS = st.datetimes(
    min_value=__import__("datetime").datetime(2026, 1, 1), max_value=__import__("datetime").datetime(2027, 1, 1)
).map(lambda moment: moment.isoformat() + "Z")
SNAPPINGS = st.fixed_dictionaries(
    {},
    optional={
        "penalty": st.sampled_from(["enabled", "disabled"]),
        "threshold": st.integers(50, 2000),
        "accept_roads": st.sampled_from(["both_drivable_and_walkable", "any_drivable"]),
    },
)
fast = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def points(places: list[tuple[float, float]]) -> gpd.GeoSeries:
    lat, lng = zip(*places, strict=True)
    return gpd.GeoSeries.from_xy(lng, lat, crs="EPSG:4326")


def expected(table: Any, column: str) -> dict[str, tuple[int, int]]:
    reached = table[table["travel_time"].notna()]
    rows = zip(reached[column], reached["travel_time"], reached["distance"], strict=True)
    return {f"t{i}": (int(seconds), int(np.floor(metres + 0.5))) for i, seconds, metres in rows}


@fast
@given(INNER, st.lists(PLACES, min_size=1, max_size=8), MODES, MOMENTS, st.integers(60, 2000), st.booleans(), SNAPPINGS)
def test_time_filter(
    door: Door,
    helsinki: tl.Network,
    place: Any,
    others: list[Any],
    mode: str,
    moment: str,
    limit: int,
    is_arrival: bool,
    snapping: dict[str, Any],
) -> None:
    one, many = points([place]), points(others)
    ends = (many, one) if is_arrival else (one, many)
    when = {"arrival_time" if is_arrival else "departure_time": moment}
    table = tl.time_filter(
        helsinki, *ends, travel_time=limit, transportation=mode, properties=("travel_time", "distance"),
        snapping=snapping, **when,
    )  # fmt: skip
    single, several = ("arrival_location_id", "departure_location_ids") if is_arrival else (
        "departure_location_id", "arrival_location_ids",
    )  # fmt: skip
    search = {
        "id": "s", single: "o", several: [f"t{i}" for i in range(len(others))], **when, "travel_time": limit,
        "transportation": {"type": mode}, "properties": ["travel_time", "distance"], "snapping": snapping,
    }  # fmt: skip
    listed = [{"id": "o", "coords": coords(place)}]
    listed += [{"id": f"t{i}", "coords": coords(other)} for i, other in enumerate(others)]
    name = "arrival_searches" if is_arrival else "departure_searches"
    response = door.post("/v4/time-filter", {"locations": listed, name: [search]})
    if (table["reason"] == "origin_not_snapped").any() and not is_arrival:
        assert response.json()["error_code"] == 16
        return
    if (table["reason"] == "destination_not_snapped").any() and is_arrival:
        assert response.json()["error_code"] == 16
        return
    (result,) = ok(response)["results"]
    found = {
        location["id"]: (location["properties"][0]["travel_time"], location["properties"][0]["distance"])
        for location in result["locations"]
    }
    wanted = expected(table, "origin" if is_arrival else "destination")
    assert found == wanted and list(found) == list(wanted)
    assert result["unreachable"] == [f"t{i}" for i in range(len(others)) if f"t{i}" not in wanted]


@fast
@given(
    INNER,
    st.lists(PLACES, min_size=1, max_size=8),
    st.sampled_from([(4, "walking"), (5, "cycling"), (1, "driving")]),
    st.integers(60, 2000),
    st.booleans(),
)
def test_protobuf(
    door: Door, helsinki: tl.Network, place: Any, others: list[Any], mode: tuple[int, str], limit: int, is_arrival: bool
) -> None:
    """The library is asked for the places that the message holds after its rounding."""
    kind = "manyToOneRequest" if is_arrival else "oneToManyRequest"
    message = matrix_message(kind, place=place, targets=others, type=mode[0], travelTime=limit, properties=[1])
    search = getattr(message, kind)
    location = search.arrivalLocation if is_arrival else search.departureLocation
    deltas = np.array(search.locationDeltas).reshape(-1, 2) / 1e5
    one = points([(location.lat, location.lng)])
    many = points([(location.lat + lat, location.lng + lng) for lat, lng in deltas])
    transportation = {"type": mode[1]} | ({"traffic_model": "peak"} if mode[1] == "driving" else {})
    table = tl.time_filter(
        helsinki, *((many, one) if is_arrival else (one, many)), travel_time=limit, transportation=transportation,
        properties=("travel_time", "distance"),
        **{"arrival_time" if is_arrival else "departure_time": "weekday_morning"},
    )  # fmt: skip
    wanted = expected(table, "origin" if is_arrival else "destination")
    answer = asked(door, message).properties
    found = zip(answer.travelTimes, answer.distances, strict=True)
    assert list(found) == [wanted.get(f"t{i}", (-1, -1)) for i in range(len(others))]


@pytest.mark.slow
@settings(fast, max_examples=8)
@given(
    INNER,
    MODES,
    st.integers(60, 600),
    st.booleans(),
    st.fixed_dictionaries(
        {},
        optional={
            "no_holes": st.booleans(),
            "remove_water_bodies": st.booleans(),
            "buffer_distance": st.integers(250, 2000),
            "polygons_filter": st.fixed_dictionaries({"limit": st.integers(1, 3)}),
            "render_mode": st.sampled_from(["approximate_time_filter", "road_buffering"]),
            "level_of_detail": st.sampled_from(
                [
                    {"scale_type": "simple", "level": "medium"},
                    {"scale_type": "simple_numeric", "level": -7},
                    {"scale_type": "coarse_grid", "square_size": 700},
                ]
            ),
        },
    ),
)
def test_time_map(
    door: Door, helsinki: tl.Network, place: Any, mode: str, limit: int, is_arrival: bool, options: dict[str, Any]
) -> None:
    when = {"arrival_time" if is_arrival else "departure_time": "2026-03-02T08:00:00Z"}
    drawn = {"level_of_detail": "lowest", **options}
    table = tl.time_map(helsinki, points([place]), travel_time=limit, transportation=mode, **when, **drawn)
    name = "arrival_searches" if is_arrival else "departure_searches"
    search = {"id": "s", "coords": coords(place), **when, "travel_time": limit, "transportation": {"type": mode}}
    (result,) = ok(door.post("/v4/time-map", {name: [{**search, **options}]}))["results"]
    assert shapely.normalize(polygons(result)) == shapely.normalize(table.geometry.iloc[0])


@pytest.mark.slow
@settings(fast, max_examples=8)
@given(INNER, MODES, st.integers(60, 600), st.integers(7, 11), st.booleans())
def test_cells(
    door: Door, helsinki: tl.Network, place: Any, mode: str, limit: int, resolution: int, water: bool
) -> None:
    table = tl.h3_cells(
        helsinki, points([place]), travel_time=limit, transportation=mode, resolution=resolution,
        remove_water_bodies=water, departure_time="2026-03-02T08:00:00Z", geometry=False,
    )  # fmt: skip
    search = {
        "id": "s", "coords": coords(place), "departure_time": "2026-03-02T08:00:00Z", "travel_time": limit,
        "transportation": {"type": mode}, "remove_water_bodies": water,
    }  # fmt: skip
    request = {"resolution": resolution, "properties": ["max", "mean", "min"], "departure_searches": [search]}
    (result,) = ok(door.post("/v4/h3", request))["results"]
    rows = zip(table["cell"], table["min"], table["max"], table["mean"], strict=True)
    wanted = [
        {"id": cell, "properties": {"min": int(low), "max": int(high), "mean": int(mean)}}
        for cell, low, high, mean in rows
    ]
    assert result["cells"] == wanted
