"""Areas within a distance: the length of the fastest way counts, as in the matrix."""

from __future__ import annotations

from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.jumps import assert_cells_equal
from tests.support.worlds import at, world
from traveltime_lab.points import read_points
from traveltime_lab.search.query import ask
from traveltime_lab.streets.field import length_field
from traveltime_lab.streets.snapping import Snaps
from traveltime_lab.surfaces import raster
from traveltime_lab.surfaces.field import DistanceField
from traveltime_lab.surfaces.islands import with_island

SLOW, FAST = {"walking_kph": 5.0}, {"walking_kph": 72.0}


@pytest.fixture(scope="module")
def town() -> tl.Network:
    """A slow street of 1000 m, and a fast way around it of 2200 m, which takes 110 s."""
    nodes = {"a": (0, 0), "b": (1000, 0), "c": (1000, 600), "d": (0, 600)}
    return world(nodes, [("a", "b", SLOW), ("a", "d", FAST), ("d", "c", FAST), ("c", "b", FAST)])


@pytest.mark.parametrize("render_mode", ["approximate_time_filter", "road_buffering"])
def test_by_hand(town: tl.Network, render_mode: Any) -> None:
    how: dict[str, Any] = {
        "distance": 1500, "transportation": "walking", "level_of_detail": "highest", "render_mode": render_mode,
        "buffer_distance": 250,
    }  # fmt: skip
    fastest = tl.distance_map(town, at((0, 0)), **how).geometry[0]
    shortest = tl.distance_map(town, at((0, 0)), shortest=True, **how).geometry[0]
    # 576 m along the slow street take as long as going around; beyond it is more than 2200 m.
    near, beyond, end = (at(place).iloc[0] for place in ((300, 0), (850, -20), (1000, -20)))
    assert fastest.covers(near)
    assert shortest.covers(near)
    assert not fastest.intersects(beyond)
    assert not fastest.intersects(end)
    assert shortest.covers(beyond)
    assert shortest.covers(end)
    table = tl.time_filter(
        town, at((0, 0)), at((850, -20)), travel_time=3600, transportation="walking", properties=("distance",)
    )
    assert table["distance"][0] == pytest.approx(2200 + 150 + 20, abs=0.5)


def test_accuracy_knows_both(town: tl.Network) -> None:
    origin = at((100, 30))
    for shortest in (False, True):
        areas = tl.distance_map(
            town, origin, distance=900, transportation="walking", level_of_detail="highest", shortest=shortest
        )
        share = tl.shape_accuracy(town, areas, origin, transportation="walking", shortest=shortest)[0]
        assert share > 0.99


def test_what_makes_no_sense_is_refused(town: tl.Network) -> None:
    with pytest.raises(tl.InputError, match="shortest"):
        tl.distance_map(town, at((0, 0)), distance=900, shortest="yes")
    with pytest.raises(tl.UnsupportedError, match="distance_map"):
        tl.distance_map(town, at((0, 0)), distance=900, transportation="bus")


@pytest.mark.thorough
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(2, 4), st.booleans(), st.integers(0, 2**32 - 1))
@example(2, True, 17616).via("the origin is at the end of a one-way street, and so are some cells")
@example(4, True, 2647).via("two ways are as fast within a centimetre of a cell")
@example(4, False, 145318).via("two ways are as fast within a centimetre of a cell")
def test_surfaces_equal_matrices(n: int, is_arrival: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = {(i, j): tuple(np.array([i, j]) * 300.0 + rng.uniform(-60, 60, 2)) for i in range(n) for j in range(n)}
    links = [((i, j), (i + 1, j)) for i in range(n - 1) for j in range(n)]
    links += [((i, j), (i, j + 1)) for i in range(n) for j in range(n - 1)]
    network = world(
        nodes,
        [
            (*link, {"driving_kph": float(rng.uniform(5, 80)), "oneway": bool(rng.random() < 0.2)})
            for link in links
            if rng.random() < 0.9
        ]
        or [(*links[0], {})],
    )
    here = at(tuple(rng.uniform(-30, (n - 1) * 300 + 30, 2)))
    when = {"arrival_time" if is_arrival else "departure_time": "2026-03-03T03:00"}
    both = {"departure_time": None, "arrival_time": None, **when}
    query = ask(network, "driving", *both.values(), None)
    snaps = query.snap(read_points(here, "here", network.bounds), is_origin=not is_arrival)

    def search(places: Snaps) -> DistanceField:
        return DistanceField(
            length_field(query.graph, places, query.snapping, limit_m=740.0, is_backward=query.is_arrival)
        )

    field = with_island(search(snaps), search, query.graph, snaps, is_backward=query.is_arrival)
    (drawn,) = raster.surfaces(
        network.streets,
        query.egress_transportation,
        query.snapping,
        field,
        cell_m=40.0,
        buffer_m=1000.0,
        limits=[700.0],
    )

    def matrix(cells: gpd.GeoSeries) -> pd.DataFrame:
        ends = (cells, here) if is_arrival else (here, cells)
        how: dict[str, Any] = {"transportation": "driving", "form": "matrix", "properties": ("distance",), **when}
        return tl.time_filter(network, *ends, travel_time=14_400, **how)

    def inner(cells: gpd.GeoSeries) -> Any:
        """Corners are nearest to two streets at once, and either is right."""
        fraction = query.snap_at(cells.x.to_numpy(), cells.y.to_numpy(), is_origin=is_arrival).fraction
        return (fraction > 1e-6) & (fraction < 1.0 - 1e-6)

    assert_cells_equal(drawn, matrix, 700.0, within=0.3, sure=0.3, where=inner)
