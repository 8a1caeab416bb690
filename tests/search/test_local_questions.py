"""
Later questions about a place need memory for what they reach, not for the whole network.

Arrays that kernels allocate are not counted. Searches at speeds that change on the way copy the times along all streets
of their hours, and those by public transport have arrays of all streets, so these are not among the questions.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from functools import cache

import geopandas as gpd
import pytest

import traveltime_lab as tl
from tests.support.worlds import at, world

pytestmark = pytest.mark.slow

HERE, THERE, MORNING = at((630, 520)), at((910, 700)), "2026-03-02T08:00"
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
    "h3_cells": lambda town, a, b: tl.h3_cells(town, a, travel_time=60, resolution=9),
    "nearest": lambda town, a, b: tl.nearest(town, a, b, k=1, travel_time=900),
    "prepare_points": lambda town, a, b: tl.prepare_points(town, a),
    "reverse_geocode": lambda town, a, b: tl.reverse_geocode(town, a.x.iloc[0], a.y.iloc[0]),
    "routes": lambda town, a, b: tl.routes(town, a, b),
    "routes, walking": lambda town, a, b: tl.routes(town, a, b, transportation="walking"),
    "snap": lambda town, a, b: tl.snap(town, a),
    "time_filter": lambda town, a, b: tl.time_filter(town, a, b, travel_time=900),
    "time_filter, arrival": lambda town, a, b: tl.time_filter(town, a, b, travel_time=900, arrival_time=MORNING),
    "time_filter, distance": lambda town, a, b: tl.time_filter(
        town, a, b, travel_time=900, properties=("travel_time", "distance", "route")
    ),
    "time_filter, matrix": lambda town, a, b: tl.time_filter(town, a, b, travel_time=900, form="matrix"),
    "time_map": lambda town, a, b: tl.time_map(town, a, travel_time=60),
    "time_map, road_buffering": lambda town, a, b: tl.time_map(town, a, travel_time=60, render_mode="road_buffering"),
    "time_map, walking": lambda town, a, b: tl.time_map(town, a, travel_time=120, transportation="walking"),
}


@cache
def town(side: int) -> tl.Network:
    """Return a grid of streets with a name each."""
    across, along = range(side), range(side - 1)
    links = [((i, j), (i + 1, j), {"name": f"{j} Street"}) for i in along for j in across]
    links += [((i, j), (i, j + 1), {"name": f"{i} Avenue"}) for i in across for j in along]
    return world({(i, j): (100.0 * i, 100.0 * j) for i in across for j in across}, links)


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


@pytest.mark.parametrize("name", QUESTIONS)
def test_memory_does_not_grow_with_the_network(name: str) -> None:
    small, large = town(40), town(110)
    grown = peak_of(QUESTIONS[name], large) - peak_of(QUESTIONS[name], small)
    # A column of booleans takes a byte for each edge.
    assert grown < 0.9 * (large.n_edges - small.n_edges)
