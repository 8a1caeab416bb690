"""Several limits at once: nested, equal to single calls, from one search; and the warning about minutes."""

from __future__ import annotations

import datetime as dt
import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
import shapely

import traveltime_lab as tl
from tests.support.towns import blocks
from tests.support.worlds import at
from traveltime_lab.search.query import Query

LIMITS = [900, 300, 601]
HOMES = ((40, 25), (900, 610), (1500, -3000), (90_000, 0))
BUS: dict[str, Any] = {"transportation": "public_transport", "departure_time": "2026-03-02T08:00"}
WALK: dict[str, Any] = {"transportation": "walking"}
WINDOW: dict[str, Any] = {**BUS, "window": 900}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    return blocks(tmp_path_factory.mktemp("blocks"))


@pytest.mark.parametrize(
    "how",
    [
        WALK,
        {**WALK, "arrival_time": "2026-03-02T09:00"},
        {"transportation": "driving"},
        BUS,
        WINDOW,
        {**WINDOW, "percentile": 60},
        {**WALK, "render_mode": "road_buffering", "buffer_distance": 250},
        {**BUS, "render_mode": "road_buffering", "buffer_distance": 250},
        {**WALK, "level_of_detail": {"scale_type": "coarse_grid", "square_size": 600}},
        {**BUS, "no_holes": True, "level_of_detail": "highest"},
    ],
    ids=lambda how: "-".join(map(str, how.values())),
)
def test_areas_are_nested_and_equal_single_calls(town: tl.Network, how: dict[str, Any]) -> None:
    homes = at(*HOMES).set_axis(list("abcd"))
    areas = tl.time_map(town, homes, travel_time=LIMITS, **how)
    assert areas.index.tolist() == [label for label in "abcd" for _ in LIMITS]
    assert areas["travel_time"].tolist() == LIMITS * 4
    for limit in LIMITS:
        alone = tl.time_map(town, homes, travel_time=limit, **how)
        same(areas[areas["travel_time"] == limit], alone)
    assert_nested(areas, "travel_time")
    assert areas["reason"].notna().tolist() == [False] * 6 + [True] * 6


@pytest.mark.parametrize("shortest", [False, True])
def test_areas_within_distances(town: tl.Network, shortest: bool) -> None:
    limits = np.array([400, 1500, 900])
    areas = tl.distance_map(town, at(*HOMES), distance=limits, shortest=shortest, **WALK)
    for limit in limits.tolist():
        alone = tl.distance_map(town, at(*HOMES), distance=limit, shortest=shortest, **WALK)
        same(areas[areas["distance"] == limit], alone)
    assert_nested(areas, "distance")


def same(areas: Any, alone: Any) -> None:
    assert shapely.equals_exact(areas.geometry.to_numpy(), alone.geometry.to_numpy(), 0.0).all()
    pd.testing.assert_frame_equal(areas.drop(columns="geometry"), alone.drop(columns="geometry"))


def assert_nested(areas: Any, column: str) -> None:
    tolerance = 1e-13  # a square millimetre in square degrees is 1e-16; distances to roads are float32
    for _, of_origin in areas.groupby(level=0):
        shapes = of_origin.sort_values(column).geometry.to_numpy()
        for smaller, larger in pairwise(shapes):
            beyond = shapely.difference(smaller, larger)
            assert beyond.area < tolerance, beyond.area


def test_one_level_of_detail_for_all(town: tl.Network) -> None:
    """`highest` ends at 90 minutes: beside a longer limit, the shorter one has the level of the longer one."""
    areas = tl.time_map(town, at((40, 25)), travel_time=[600, 5401], level_of_detail="highest", **WALK)
    alone = tl.time_map(town, at((40, 25)), travel_time=600, level_of_detail="high", **WALK)
    assert areas.geometry.iloc[0].equals_exact(alone.geometry.iloc[0], 0.0)
    assert_nested(areas, "travel_time")


@pytest.mark.parametrize(
    "how", [WALK, {"transportation": "driving"}, BUS, WINDOW], ids=["walk", "drive", "bus", "window"]
)
def test_cells_equal_single_calls(town: tl.Network, how: dict[str, Any]) -> None:
    homes = at(*HOMES[:3]).set_axis(list("abc"))
    for cells_of, resolution in ((tl.h3_cells, 10), (tl.geohash_cells, 7)):
        cells = cells_of(town, homes, travel_time=LIMITS, resolution=resolution, geometry=False, **how)
        assert cells.columns[:3].tolist() == ["origin", "travel_time", "cell"]
        for limit in LIMITS:
            alone = cells_of(town, homes, travel_time=limit, resolution=resolution, geometry=False, **how)
            mine = cells[cells["travel_time"] == limit].drop(columns="travel_time").reset_index(drop=True)
            pd.testing.assert_frame_equal(mine, alone)
        shares = cells.pivot_table(index=["origin", "cell"], columns="travel_time", values="share_reachable").fillna(0)
        assert (shares[300] <= shares[601]).all()
        assert (shares[601] <= shares[900]).all()
    with_shapes = tl.h3_cells(town, homes, travel_time=[300, 600], resolution=9, **how)
    assert with_shapes.geometry.notna().all()


def test_one_search_for_each_origin(town: tl.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    search = Query.field_from
    monkeypatch.setattr(Query, "field_from", lambda self, here, limit: asked.append(limit) or search(self, here, limit))
    homes = at((40, 25), (900, 610))
    tl.time_map(town, homes, travel_time=[300, 600, 900], **BUS)
    assert len(asked) == 2
    tl.h3_cells(town, homes, travel_time=[300, 600, 900], resolution=9, **WALK)
    assert len(asked) == 4


def test_a_list_of_one(town: tl.Network) -> None:
    home = at((40, 25))
    pd.testing.assert_frame_equal(
        tl.time_map(town, home, travel_time=[600], **WALK), tl.time_map(town, home, travel_time=600, **WALK)
    )
    cells = tl.h3_cells(town, home, travel_time=[600], resolution=9, **WALK)
    assert cells["travel_time"].eq(600).all()


def test_accuracy_of_several_areas(town: tl.Network) -> None:
    homes = at((40, 25), (900, 610)).set_axis(["a", "b"])
    areas = tl.time_map(town, homes, travel_time=[300, 600], level_of_detail="highest", **WALK)
    shares = tl.shape_accuracy(town, areas, homes, n_points=300, **WALK)
    assert shares.index.tolist() == ["a", "a", "b", "b"]
    assert (shares > 0.97).all()
    with pytest.raises(tl.InputError, match="the same index"):
        tl.shape_accuracy(town, areas.iloc[1:], homes, **WALK)


@pytest.mark.parametrize(
    ("limits", "error", "says"),
    [
        ([], tl.InputError, "travel_time is an empty list"),
        ([600, 600.0], tl.InputError, "travel_time has 600 more than once"),
        ([600, "900"], tl.InputError, "whole number of seconds; got '900'"),
        ([600, 14_401], tl.LimitError, "from 1 to 14400 seconds; got 14401"),
        ([[600]], tl.InputError, "whole number"),
        ("600", tl.InputError, "whole number"),
        ({600: 900}, tl.InputError, "whole number"),
        (np.array([[600]]), tl.InputError, "travel_time must be a list of limits"),
    ],
)
def test_wrong_lists(town: tl.Network, limits: Any, error: type[Exception], says: str) -> None:
    for call in (tl.time_map, tl.h3_cells):
        more = {"resolution": 9} if call is tl.h3_cells else {}
        with pytest.raises(error, match=says):
            call(town, at((0, 0)), travel_time=limits, **WALK, **more)
    with pytest.raises(tl.InputError, match="distance has 600 more than once"):
        tl.distance_map(town, at((0, 0)), distance=[600, 600])


def test_lists_are_refused_where_there_is_one_limit(town: tl.Network) -> None:
    for call in (tl.time_filter, tl.explain):
        with pytest.raises(tl.InputError, match="call the function once per travel_time"):
            call(town, at((0, 0)), at((300, 0)), travel_time=[600, 900], **WALK)


def test_minutes_are_warned_of(town: tl.Network) -> None:
    home = at((40, 25))
    calls = [
        lambda t: tl.time_map(town, home, travel_time=t, **WALK),
        lambda t: tl.time_map(town, home, travel_time=[600, t], **WALK),
        lambda t: tl.h3_cells(town, home, travel_time=t, resolution=10, **WALK),
        lambda t: tl.geohash_cells(town, home, travel_time=t, resolution=7, **WALK),
        lambda t: tl.time_filter(town, home, home, travel_time=t, **WALK),
        lambda t: tl.explain(town, home, home, travel_time=t, **WALK),
    ]
    for call in calls:
        with pytest.warns(
            UserWarning, match=r"in seconds: 30 is less than a minute. If minutes are meant, give 1800"
        ) as told:
            call(30)
        assert {warning.filename for warning in told} == {__file__}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call(dt.timedelta(seconds=30))
            call(60)
