"""Step-free trips through real stations and timetables, beside a plain twin; and what the stations have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import geopandas as gpd
import networkx as nx
import numpy as np
import pytest

import traveltime_lab as tl
from tests.support.feeds import posix
from tests.support.oracles_stations import StationFeed, StationOracle
from tests.transit.test_stations import check
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.readers.gtfs.feed import read_feed
from traveltime_lab.transit.inside import Walker, inside
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.pathways import ENTRANCE
from traveltime_lab.transit.wheelchair import rule_of

WASHINGTON = "pathways/wmata_rail.zip"
#: Feed, streets, box of points, and a departure.
CITIES = {
    "washington": (WASHINGTON, "edge_cases/no_left_turn.osm.pbf", (-77.06, 38.90, -77.0, 38.95), "2026-05-12T12:10:00"),
    "helsinki": ("helsinki/gtfs.zip", "helsinki/osm_center.pbf", (24.93, 60.16, 24.957, 60.183), "2022-02-22T06:10:00"),
}  # fmt: skip


@pytest.mark.thorough
def test_washington_without_stairs_and_escalators(shared_data: Path) -> None:
    """By elevators, platforms are reached from 154 of 239 entrances; wheelchair_boarding says no for 7 of these."""
    feed = StationFeed.read(shared_data / WASHINGTON)
    timetable = read_feed(shared_data / WASHINGTON)
    streets: Any = None  # which the ways inside do not need
    layer = TransitLayer(streets, timetable, "America/New_York")
    ids = timetable.stops["stop_id"].to_numpy(object)
    kinds = timetable.stops["location_type"].to_numpy()
    assert (kinds == ENTRANCE).sum() == 239
    for step_free in (None, "lenient", "strict"):
        found = inside(layer, Walker(5.0, rule_of(Transportation("walking", step_free=step_free))))
        assert found is not None
        assert np.unique(found.entering.end).size == np.unique(found.leaving.start).size == 125
        graph = feed.ways(step_free)
        expected = {}
        doors = [stop for stop in feed.stops if feed.kind(stop) == "2" and stop in graph]
        for start in [*(door for door in doors if feed.takes_wheelchairs(door, step_free)), *sorted(feed.called)]:
            for end, ms in nx.single_source_dijkstra_path_length(graph, start, weight="ms").items():
                is_door = feed.kind(end) == "2" and feed.takes_wheelchairs(end, step_free)
                if start != end and (end in feed.called or (is_door and start in feed.called)):
                    expected[start, end] = ms
        got = {
            (ids[a], ids[b]): int(label) >> 32
            for links in (found.entering, found.leaving, found.changing)
            for a, b, label in zip(*links, strict=True)
        }
        assert got == expected
    graph = feed.ways("lenient")
    reached = {
        door
        for door in feed.stops
        if feed.kind(door) == "2" and door in graph and any(stop in nx.descendants(graph, door) for stop in feed.called)
    }
    assert len(reached) == 154
    assert sum(feed.takes_wheelchairs(door, "strict") for door in reached) == 147


@pytest.mark.thorough
@pytest.mark.parametrize("step_free", ["lenient", "strict"])
@pytest.mark.parametrize("city", CITIES)
def test_500_pairs_equal_a_plain_twin_in_both_directions(shared_data: Path, city: str, step_free: str) -> None:
    gtfs, osm, (west, south, east, north), moment = CITIES[city]
    network = tl.build_network(shared_data / osm, gtfs=shared_data / gtfs)
    means = Transportation("public_transport", step_free=step_free, walking_time=1500)
    rng = np.random.default_rng(7)
    points = [(rng.uniform(west, east, n), rng.uniform(south, north, n)) for n in (20, 25)]
    when, limit = posix(moment), 3600
    oracle = StationOracle(network, StationFeed.read(shared_data / gtfs), means, *points, when - 4000, when + 4000)
    n, n_reached = check(network, oracle, means, points, when, limit)
    assert n == 500
    # By the strict rule few streets of the extracts are known to be step-free, and no trip in Washington.
    assert n_reached > (250 if step_free == "lenient" else 10)


@pytest.mark.thorough
@pytest.mark.parametrize("step_free", [None, "lenient"])
def test_500_pairs_that_avoid_ways_equal_a_plain_twin_in_both_directions(
    shared_data: Path, step_free: str | None
) -> None:
    gtfs, osm, (west, south, east, north), moment = CITIES["helsinki"]
    network = tl.build_network(shared_data / osm, gtfs=shared_data / gtfs)
    means = Transportation("public_transport", step_free=step_free, avoid=("unlit", "unpaved"), walking_time=1500)
    rng = np.random.default_rng(7)
    points = [(rng.uniform(west, east, n), rng.uniform(south, north, n)) for n in (20, 25)]
    when = posix(moment)
    oracle = StationOracle(network, StationFeed.read(shared_data / gtfs), means, *points, when - 4000, when + 4000)
    n, n_reached = check(network, oracle, means, points, when, 3600)
    assert n == 500
    assert n_reached > 250


@pytest.mark.thorough
@pytest.mark.parametrize("direction", ["departure_time", "arrival_time"])
@pytest.mark.parametrize("step_free", [None, "lenient"])
def test_routes_through_stations_are_those_of_the_matrix(
    shared_data: Path, direction: str, step_free: str | None
) -> None:
    """Times and lengths of 200 routes, whose legs inside stations are parts of the walk."""
    gtfs, osm, (west, south, east, north), moment = CITIES["washington"]
    network = tl.build_network(shared_data / osm, gtfs=shared_data / gtfs)
    means = Transportation("public_transport", step_free=step_free, walking_time=1800)
    rng = np.random.default_rng(0)
    ends = [gpd.GeoSeries.from_xy(rng.uniform(west, east, n), rng.uniform(south, north, n), crs=4326) for n in (10, 20)]
    when = {direction: f"{moment}Z"}
    times = tl.time_filter(
        network, *ends, travel_time=7200, transportation=means, properties=("travel_time", "distance"), **when
    )
    found = tl.routes(network, *ends, transportation=means, **when)
    both = times.merge(found, on=["origin", "destination"], suffixes=("", "_of_route"))
    assert len(both) == 200
    has_route = both["route"].notna()
    assert has_route.sum() > 150
    for name in ("travel_time", "distance"):
        np.testing.assert_array_equal(both[name][has_route], both[f"{name}_of_route"][has_route])
    legs = [[leg.directions for leg in route.legs] for route in both["route"][has_route]]
    assert sum(any(text.startswith("Enter ") for text in each) for each in legs) > 50
    assert step_free is None or not any("stairs" in text or "escalator" in text for each in legs for text in each)
    for route in both["route"][has_route]:
        assert sum(leg.travel_time for leg in route.legs) == route.travel_time
