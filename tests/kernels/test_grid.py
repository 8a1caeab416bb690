"""The index of segments: what is found in it equals a search through all segments, however far apart these are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import distance_transform_cdt

from tests.support.oracles import none_near
from traveltime_lab.kernels.street import nearest, ties
from traveltime_lab.kernels.street.grid import Grid, build_grid, cell_at, empty_rings

CELL_M = 90.0
#: Offsets of towns in metres: in the same block of cells, in the next one, and many blocks away in each direction.
TOWNS = np.array([[0.0, 0.0], [700.0, -300.0], [5_000.0, 5_900.0], [-40_000.0, 23_000.0]])


def some_segments(seed: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ends, marks and edges of random segments in towns, some of them long and some points."""
    rng = np.random.default_rng(seed)
    start = TOWNS[rng.integers(0, len(TOWNS), n)] + rng.normal(0, 400, (n, 2))
    way = rng.normal(0, 1, (n, 2)) * rng.choice([0.0, 20.0, 100.0, 2_000.0], (n, 1), p=[0.05, 0.45, 0.45, 0.05])
    ends = np.column_stack([start, start + way])
    return ends, rng.integers(0, 4, n).astype(np.uint8), (np.arange(n) // 2).astype(np.int32)


def no_barriers() -> Grid:
    nothing = np.zeros(0)
    return build_grid(nothing, nothing, nothing, nothing, CELL_M)


def distances(x: float, y: float, k: float, ends: np.ndarray) -> np.ndarray:
    """Return the distance of a point to each segment, m."""
    to_x, to_y = (ends[:, 0] - x) * k, ends[:, 1] - y
    dx, dy = (ends[:, 2] - ends[:, 0]) * k, ends[:, 3] - ends[:, 1]
    squared = dx * dx + dy * dy
    along = np.clip(-(to_x * dx + to_y * dy) / np.where(squared > 0.0, squared, 1.0), 0.0, 1.0)
    return np.hypot(to_x + along * dx, to_y + along * dy)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 150), st.sampled_from([0.7, 1.0, 1.2]),
    st.sampled_from([50.0, 1_000.0, np.inf]), st.sampled_from([0, 1, 3]),
)  # fmt: skip
def test_nearest_segments_are_those_of_a_search_through_all(seed, n, k, limit, needed) -> None:
    ends, marks, edge = some_segments(seed, n)
    grid = build_grid(*ends.T.copy(), CELL_M, marks, edge)
    rng = np.random.default_rng(seed + 1)
    points = TOWNS[rng.integers(0, len(TOWNS), 40)] + rng.normal(0, 800, (40, 2))
    points[:10] = ends[rng.integers(0, n, 10), :2]  # at the ends of segments
    x, y = points.T.copy()
    found, _ = nearest.nearest_segments(x, y, np.full(40, k), limit, grid, np.uint8(needed), no_barriers())
    for i in range(40):
        away = np.where(marks & needed == needed, distances(x[i], y[i], k, ends), np.inf)
        if away.min() > limit or not np.isfinite(away.min()):
            assert found.segment[i] == -1
            continue
        segment = found.segment[i]
        assert found.distance[i] == pytest.approx(away.min(), abs=1e-6)
        assert away[segment] == pytest.approx(away.min(), abs=1e-6)
        others = away[edge != edge[segment]]
        if np.any(others <= min(away.min() + nearest.TIE_M, limit)):
            assert found.may_be_tied[i]
        elif not np.any(others <= away.min() + nearest.TIE_M + 0.01):
            assert not found.may_be_tied[i]


def tied(x: np.ndarray, y: np.ndarray, limit: float, grid: Grid, *, is_kept: bool) -> ties.Places:
    """Return the places of points, with the segments that the search for the nearest one kept or without."""
    here, rules = (x, y, np.ones(x.size)), (limit, grid, np.uint8(0), no_barriers())
    found, near = nearest.nearest_segments(*here, *rules)
    n = grid.ends.shape[0]
    parts = ties.Parts(np.zeros(n), np.ones(n), grid.edge, np.ones(2 * n, np.bool_))
    return ties.tied_places(*here, found, near if is_kept else none_near(x.size), *rules, parts)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 150), st.sampled_from([1.0, 50.0, 1_000.0]))
def test_the_search_for_the_nearest_segment_keeps_all_that_are_tied(seed, n, limit) -> None:
    ends, marks, edge = some_segments(seed, n)
    rng = np.random.default_rng(seed)
    # Some begin where others end, some differ by less than half a metre.
    ends[n // 2 :, :2] = ends[rng.integers(0, n, n - n // 2), 2:]
    ends[: n // 4] = ends[rng.integers(0, n, n // 4)] + rng.normal(0, 0.2, (n // 4, 4))
    grid = build_grid(*ends.T.copy(), CELL_M, marks, edge)
    x, y = np.concatenate([ends[:, :2], ends[:, 2:] + rng.normal(0, 5, (n, 2))]).T.copy()
    for kept, searched in zip(
        tied(x, y, limit, grid, is_kept=True), tied(x, y, limit, grid, is_kept=False), strict=True
    ):
        assert np.array_equal(kept, searched)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 12))
def test_the_nearest_place_of_each_point_and_the_others(seed, n) -> None:
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(rng.integers(0, 4, n))])
    size = indptr[-1]
    places = ties.Places(indptr, np.arange(size, dtype=np.int32), rng.random(size), rng.random(size) * 1e3)
    columns = places.edge, places.fraction.astype(np.float32), places.distance.astype(np.float32)
    rows = list(zip(*(each.tolist() for each in columns), strict=True))
    of_point = [rows[first:last] for first, last in itertools.pairwise(indptr)]
    found = [each.tolist() for each in ties.divided(places)]
    assert list(zip(*found[:3], strict=True)) == [row[0] if row else (-1, 0.0, np.inf) for row in of_point]
    assert list(zip(*found[3:], strict=True)) == [(i, *each) for i, row in enumerate(of_point) for each in row[1:]]


@pytest.mark.parametrize("n", [2, 63, 64, 65, 200, 511, 513, 2000])
def test_many_streets_meet(n: int) -> None:
    """More streets than are kept for a point, in one cell and in others, and farther streets before and after them."""
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    around = np.column_stack([np.zeros(n), np.zeros(n), 500 * np.cos(angle), 500 * np.sin(angle)])
    beside = around[: n // 2] + 30.0
    ends = np.concatenate([beside, around, beside + 3.0])
    edge = np.arange(len(ends), dtype=np.int32)
    grid = build_grid(*ends.T.copy(), CELL_M, None, edge)
    both = [
        tied(np.array([0.0, 0.1]), np.array([0.0, 0.0]), 1_000.0, grid, is_kept=is_kept) for is_kept in (True, False)
    ]
    places = both[0]
    first = n // 2
    for i in range(2):
        found = places.edge[places.indptr[i] : places.indptr[i + 1]]
        assert len(set(found)) == len(found) == min(n, 256)
        assert set(found) <= set(range(first, first + n))
    assert places.edge[0] == places.edge[places.indptr[1]] == first
    for kept, searched in zip(
        places, tied(np.array([0.0, 0.1]), np.zeros(2), 1_000.0, grid, is_kept=False), strict=True
    ):
        assert np.array_equal(kept, searched)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 150))
def test_rings_without_segments(seed, n) -> None:
    """As many rings are known to be empty as really are, up to a limit, near the segments; never more."""
    ends, _, _ = some_segments(seed, n)
    grid = build_grid(*ends.T.copy(), CELL_M)
    bounds = grid.first_row, grid.last_row, grid.first_column, grid.last_column
    shape = grid.last_row - grid.first_row + 1, grid.last_column - grid.first_column + 1
    rows, columns = np.indices(shape)
    block = grid.blocks[rows // 64, columns // 64].astype(np.int64)
    stored = np.where(block < 0, -1, block * 4096 + rows % 64 * 64 + columns % 64)
    assert stored[-1, -1] == cell_at(shape[0] - 1, shape[1] - 1, grid.blocks)
    is_empty = (stored < 0) | (np.diff(grid.begin)[stored] == 0)
    truth = distance_transform_cdt(is_empty, "chessboard")
    rng = np.random.default_rng(seed)
    for row, column in zip(rng.integers(0, shape[0], 300), rng.integers(0, shape[1], 300), strict=True):
        place = row + grid.first_row, column + grid.first_column
        known = empty_rings(*place, *bounds, grid.blocks, grid.rings)
        assert known <= truth[row, column]
        if stored[row, column] >= 0:
            assert known == min(truth[row, column], 16)


def test_an_index_without_segments() -> None:
    found, _ = nearest.nearest_segments(
        np.zeros(2), np.zeros(2), np.ones(2), 1_000.0, no_barriers(), np.uint8(0), no_barriers()
    )
    assert found.segment.tolist() == [-1, -1]
    assert np.isinf(found.distance).all()
