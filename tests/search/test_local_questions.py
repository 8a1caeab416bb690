"""
Later questions about a place need memory for what they reach, not for the whole network.

Arrays that kernels allocate are not counted. Searches at speeds that change on the way copy the times along all streets
of their hours, and drives to stops have arrays of all streets, so these are not among the questions.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import geopandas as gpd
import pytest

import traveltime_lab as tl
from tests.support.combinations import first_of
from tests.support.towns import timetable
from tests.support.worlds import at, tables
from traveltime_lab.settings import settings

#: Questions of each kind of search; the others are forms of them.
FEW = ("accessibility", "distance_map", "explain", "h3_cells", "nearest", "routes", "time_filter", "time_map, bus")

HERE, THERE, MORNING = at((630, 520)), at((910, 700)), "2026-03-02T08:00"
#: A bus along the town, and how to go by it.
STOPS = {"a": (600.0, 510.0), "b": (1500.0, 510.0), "c": (2400.0, 510.0)}
TRIPS = [[("a", t), ("b", t + 90), ("c", t + 180)] for t in range(28_860, 30_600, 300)]
BUS: dict[str, Any] = {"transportation": {"type": "public_transport", "walking_time": 120}, "departure_time": MORNING}
BUS_ARRIVING: dict[str, Any] = {"transportation": BUS["transportation"], "arrival_time": "2026-03-02T08:20"}
#: More places than those for which one search each is quicker than walks around all stops.
MANY = at(*((600.0 + 20 * i, 560.0) for i in range(40)))
Question = Callable[[tl.Network, gpd.GeoSeries, gpd.GeoSeries], object]
QUESTIONS: dict[str, Question] = {
    "accessibility": lambda town, a, b: tl.accessibility(town, a, b, travel_time=300),
    "distance_map": lambda town, a, b: tl.distance_map(town, a, distance=300),
    "distance_map, arrival": lambda town, a, b: tl.distance_map(town, a, distance=300, arrival_time=MORNING),
    "distance_map, road_buffering": lambda town, a, b: tl.distance_map(
        town, a, distance=300, render_mode="road_buffering"
    ),
    "distance_map, shortest": lambda town, a, b: tl.distance_map(town, a, distance=300, shortest=True),
    "explain": lambda town, a, b: tl.explain(town, a, b, travel_time=900),
    "geohash_cells": lambda town, a, b: tl.geohash_cells(town, a, travel_time=60, resolution=6),
    "h3_cells, bus": lambda town, a, b: tl.h3_cells(town, a, travel_time=300, resolution=9, **BUS),
    "h3_cells": lambda town, a, b: tl.h3_cells(town, a, travel_time=60, resolution=9),
    "nearest": lambda town, a, b: tl.nearest(town, a, b, k=1, travel_time=900),
    "prepare_points": lambda town, a, b: tl.prepare_points(town, a),
    "reverse_geocode": lambda town, a, b: tl.reverse_geocode(town, a.x.iloc[0], a.y.iloc[0]),
    "routes": lambda town, a, b: tl.routes(town, a, b),
    "routes, walking": lambda town, a, b: tl.routes(town, a, b, transportation="walking"),
    "snap": lambda town, a, b: tl.snap(town, a),
    "time_filter": lambda town, a, b: tl.time_filter(town, a, b, travel_time=900),
    "time_filter, arrival": lambda town, a, b: tl.time_filter(town, a, b, travel_time=900, arrival_time=MORNING),
    "time_filter, bus": lambda town, a, b: tl.time_filter(town, a, b, travel_time=900, **BUS),
    "time_filter, bus, many": lambda town, a, b: tl.time_filter(town, a, MANY, travel_time=900, **BUS),
    "time_filter, distance": lambda town, a, b: tl.time_filter(
        town, a, b, travel_time=900, properties=("travel_time", "distance", "route")
    ),
    "time_filter, matrix": lambda town, a, b: tl.time_filter(town, a, b, travel_time=900, form="matrix"),
    "time_map": lambda town, a, b: tl.time_map(town, a, travel_time=60),
    "time_map, road_buffering": lambda town, a, b: tl.time_map(town, a, travel_time=60, render_mode="road_buffering"),
    "time_map, bus": lambda town, a, b: tl.time_map(town, a, travel_time=300, level_of_detail="lowest", **BUS),
    "time_map, bus, arrival": lambda town, a, b: tl.time_map(
        town,
        a,
        travel_time=300,
        level_of_detail="lowest",
        transportation=BUS["transportation"],
        arrival_time="2026-03-02T08:20",
    ),
    "time_map, bus, percentile": lambda town, a, b: tl.time_map(
        town, a, travel_time=300, window=600, percentile=70, level_of_detail="lowest", **BUS
    ),
    "time_map, bus, road_buffering": lambda town, a, b: tl.time_map(
        town, a, travel_time=300, render_mode="road_buffering", **BUS
    ),
    "time_map, walking": lambda town, a, b: tl.time_map(town, a, travel_time=120, transportation="walking"),
}


@cache
def town(side: int) -> tl.Network:
    """Return a grid of streets with a name each, and a bus."""
    across, along = range(side), range(side - 1)
    links = [((i, j), (i + 1, j), {"name": f"{j} Street"}) for i in along for j in across]
    links += [((i, j), (i, j + 1), {"name": f"{i} Avenue"}) for i in across for j in along]
    places = {(i, j): (100.0 * i, 100.0 * j) for i in across for j in across}
    with TemporaryDirectory() as folder:
        feed = timetable(Path(folder), STOPS, TRIPS)
        return tl.build_network(tables(places, links), gtfs=feed, timezone="UTC")


def peak_of(question: Question, network: tl.Network) -> int:
    """Return the bytes that a question allocates at most after it was put before."""
    for _ in range(3):
        question(network, HERE, THERE)
    gc.collect()
    tracemalloc.start()
    try:
        question(network, HERE, THERE)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "name",
    first_of(
        len(FEW), [*FEW, *(name for name in QUESTIONS if name not in FEW)],
        mark=pytest.mark.thorough, few=pytest.mark.slow,
    ),
)  # fmt: skip
def test_memory_does_not_grow_with_the_network(name: str) -> None:
    smallest, small, large = town(40), town(60), town(110)
    # In several threads the peak depends on how many parts of an area are computed at the same time, and in one on how
    # the area lies in the cells of the network.
    with settings.override(threads=1):
        first, second, third = (peak_of(QUESTIONS[name], each) for each in (smallest, small, large))
    # A column of booleans takes a byte for each edge.
    assert third - max(first, second) < 0.9 * (large.n_edges - small.n_edges)
