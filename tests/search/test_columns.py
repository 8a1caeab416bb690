"""Columns of results are named for what they hold, and hide no attribute of a table."""

from __future__ import annotations

import datetime as dt
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import geopandas as gpd
import pytest

import traveltime_lab as tl

WALK = {"travel_time": 900, "transportation": "walking"}
#: Names that hide an attribute all the same: the contract has them, for cells, distances and places by name.
OF_THE_CONTRACT = {"min", "max", "mean", "distance", "type"}
BY_BUS = {"travel_time": 900, "departure_time": "2019-05-14T08:00"}
DAYS = partial(dict.fromkeys, [dt.date(2019, 5, 14)])
PROPERTIES = ["travel_time", "distance", "snap_distance"]
#: What is asked of the sample, by public function.
ASKED: dict[str, Callable[[tl.Network, gpd.GeoDataFrame], Any]] = {
    "time_filter": lambda n, p: tl.time_filter(n, p, p, properties=PROPERTIES, **WALK),
    "nearest": lambda n, p: tl.nearest(n, p, p, k=2, properties=["travel_time", "distance"], **WALK),
    "routes": lambda n, p: tl.routes(n, p, p, transportation="walking"),
    "pareto_routes": lambda n, p: tl.pareto_routes(n, p, p, **{**WALK, "transportation": ["walking", "cycling"]}),
    "snap": lambda n, p: tl.snap(n, p),
    "time_map": lambda n, p: tl.time_map(n, p, **WALK),
    "distance_map": lambda n, p: tl.distance_map(n, p, distance=500, transportation="walking"),
    "union": lambda n, p: tl.union(tl.time_map(n, p, **WALK)),
    "intersection": lambda n, p: tl.intersection(tl.time_map(n, p, **WALK)),
    "difference": lambda n, p: tl.difference(tl.time_map(n, p, **WALK), tl.time_map(n, p, **WALK)),
    "h3_cells": lambda n, p: tl.h3_cells(n, p, resolution=9, **WALK),
    "geohash_cells": lambda n, p: tl.geohash_cells(n, p, resolution=6, **WALK),
    "union_cells": lambda n, p: tl.union_cells([tl.h3_cells(n, p.iloc[[0]], resolution=9, **WALK)]),
    "intersection_cells": lambda n, p: tl.intersection_cells([tl.h3_cells(n, p.iloc[[0]], resolution=9, **WALK)]),
    "accessibility": lambda n, p: tl.accessibility(n, p, p, **WALK),
    "accessibility, nearest": lambda n, p: tl.accessibility(n, p, p, measure="nearest", **WALK),
    "reliability": lambda n, p: tl.reliability(n, DAYS(n), p, p, **BY_BUS),
    "reliability, departures": lambda n, p: tl.reliability(n, DAYS(n), p, p, form="departures", **BY_BUS),
    "reliability, opportunities": lambda n, p: tl.reliability(n, DAYS(n), p, opportunities=p, **BY_BUS),
    "reliability_map": lambda n, p: tl.reliability_map(n, DAYS(n), p, **BY_BUS),
    "reliability_cells": lambda n, p: tl.reliability_cells(n, DAYS(n), p, resolution=8, **BY_BUS),
    "compare": lambda n, p: tl.compare(*[tl.time_filter(n, p, p, **WALK)] * 2),
    "compare, areas": lambda n, p: tl.compare(*[tl.time_map(n, p, **WALK)] * 2),
    "geocode": lambda n, p: tl.geocode(n, "hospital"),
    "reverse_geocode": lambda n, p: tl.reverse_geocode(n, lng=-51.227811, lat=-30.027565),
    "counts_to_h3": lambda n, p: tl.counts_to_h3(p.assign(people=1), 8, values="people"),
    "counts_to_points": lambda n, p: tl.counts_to_points(p.assign(people=1), p, values="people"),
    "sample_points": lambda n, p: tl.sample_points(),
}
#: Functions whose columns are those that the caller names, of a job that tests/jobs looks at, or of indices.
NOT_HERE = {"places", "matrix_frame", "inequality", "alkire_foster"}


def test_every_function_with_a_table_is_tried() -> None:
    functions = {name: getattr(tl, name) for name in tl.__all__ if inspect.isfunction(getattr(tl, name))}
    tables = {name for name, each in functions.items() if "Frame" in str(inspect.signature(each).return_annotation)}
    assert tables == {name.partition(",")[0] for name in ASKED} | NOT_HERE


@pytest.mark.parametrize("name", ASKED)
def test_columns_hide_nothing(porto_alegre: tl.Network, name: str) -> None:
    """Each column can be read as an attribute, except the names that the contract gives."""
    table = ASKED[name](porto_alegre, tl.sample_points().iloc[:2])
    known = set(dir(gpd.GeoDataFrame)) - {"geometry"}
    assert set(table.columns) & known <= OF_THE_CONTRACT


def test_times_to_the_nearest_are_not_beside_a_limit_of_the_same_name(porto_alegre: tl.Network) -> None:
    places = tl.sample_points().iloc[:3]
    found = tl.accessibility(
        porto_alegre, places, places.assign(schools=1), values="schools", measure="nearest", **WALK
    )
    assert found.columns.tolist() == ["travel_time_limit", "travel_time_to_schools", "reason", "geometry"]
    assert found["travel_time_limit"].eq(900).all() and found["travel_time_to_schools"].eq(0).all()
