"""Blocks of a raster that need not be read: the laws that their edges and values follow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traveltime_lab._arrays import indptr_of
from traveltime_lab.kernels.raster import transit_edges, transit_surface
from traveltime_lab.kernels.raster.blocks import BlockEdges, RideBounds, settle_blocks
from traveltime_lab.kernels.raster.surface import Origin, Window, gather
from traveltime_lab.kernels.raster.transit_surface import Rides, gather_rides, time_over_all
from traveltime_lab.kernels.records import Directed, Ports, StopLinks
from traveltime_lab.kernels.street.road import TIME_SHIFT
from traveltime_lab.kernels.transit.walks import StopsOnEdges
from traveltime_lab.kernels.unreached import NEVER, NEVER_KEY
from traveltime_lab.surfaces.field import NO_RIDES
from traveltime_lab.surfaces.tiles import Tile, edges_of_blocks

SIDE, N = 4, 3
SHAPE = (SIDE * N, SIDE * N)
PER_METRE, BUFFER_M = 0.75, 100.0


class RandomRides(NamedTuple):
    """Travel times by transit at the ends of edges, and what they are made of."""

    row_of: np.ndarray
    starts: np.ndarray
    directed: Directed
    rides: Rides
    on_edges: StopsOnEdges


def random_tile(rng: np.random.Generator, n_edges: int, most_m: float = 120.0) -> Tile:
    """Return a tile with cells in patches of the same edge, some without one, some tied."""
    edge = rng.integers(-1, n_edges, (6, 6)).repeat(2, axis=0).repeat(2, axis=1).astype(np.int32)
    distance = np.where(edge < 0, np.inf, rng.uniform(0, most_m, SHAPE)).astype(np.float32)
    fraction = rng.random(SHAPE).astype(np.float32)
    n_tied = rng.integers(0, 20)
    tied_cell = np.sort(rng.choice(np.flatnonzero(edge.ravel() >= 0), n_tied)).astype(np.int32)
    tied = tied_cell, rng.integers(0, n_edges, n_tied).astype(np.int32), rng.random(n_tied).astype(np.float32)
    return Tile(edge, fraction, distance, *tied, distance.ravel()[tied_cell])


def random_rows(rng: np.random.Generator, n_edges: int) -> np.ndarray:
    """Return the values of edges, of which some are near one another and some are not reached from one end or both."""
    rows = np.empty((n_edges, 4), np.float32)
    rows[:, ::2] = rng.choice([0.0, 700.0]) + rng.uniform(0, rng.choice([50, 400]), (n_edges, 2))
    rows[:, 1::2] = rng.uniform(0, 60, (n_edges, 2))
    rows[rng.random((n_edges, 4)) < rng.choice([0.0, 0.1])] = np.inf
    rows[:, 1::2][~np.isfinite(rows[:, ::2])] = 0.0
    rows[:, 1::2][~np.isfinite(rows[:, 1::2])] = 1.0
    return rows


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 100_000))
def test_each_edge_of_a_block_is_listed_once(seed: int) -> None:
    tile = random_tile(np.random.default_rng(seed), 40)
    found = edges_of_blocks(tile, SIDE)
    ends = np.cumsum(found.n_edges)
    for block, part in enumerate(np.split(found.edge, ends[:-1])):
        rows, columns = (slice(SIDE * at, SIDE * (at + 1)) for at in divmod(block, N))
        is_here = np.zeros(SHAPE, np.bool_)
        is_here[rows, columns] = True
        nearest = tile.edge[is_here]
        assert sorted(part) == sorted({*nearest[nearest >= 0], *tile.tied_edge[is_here.ravel()[tile.tied_cell]]})
        assert found.farthest_m[block] == tile.distance[is_here].max()
        tied_m = tile.tied_distance[is_here.ravel()[tile.tied_cell]]
        assert found.nearest_m[block] == min(tile.distance[is_here].min(), tied_m.min(initial=np.inf))
    assert ends[-1] == found.edge.size


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 100_000))
def test_filled_blocks_are_on_the_side_of_their_values(seed: int) -> None:
    rng, step = np.random.default_rng(seed), np.float32(20.0)
    tile, rows = random_tile(rng, 40), random_rows(rng, 40)
    levels = rng.choice([100.0, 300.0, 600.0, 900.0], rng.integers(1, 3)).astype(np.float32)
    own = rng.integers(0, 40, rng.integers(0, 2)).astype(np.int32)
    origin = Origin(own, rng.random(own.size), rng.uniform(0, 60, (own.size, 2)), rng.uniform(0, 5, own.size))
    blocks, cells = edges_of_blocks(tile, SIDE), tile.cells(PER_METRE, BUFFER_M)
    is_asked = rng.random((1, N, N)) < 0.9
    true, is_read = np.empty(SHAPE, np.float32), is_asked.copy()
    gather(cells, Window(0, 0, *SHAPE, 0, 0, np.ones((N, N), np.bool_)), rows, origin, true)
    most_on_foot = float(rng.choice([150.0, np.inf]))
    true[true > most_on_foot] = np.inf
    # The tile begins outside of the array.
    values, corner = np.full((SHAPE[0] - 1, SHAPE[1] + 1), np.nan, np.float32), np.array([[-1, 1]])
    settle_blocks(
        corner, blocks, rows, own, PER_METRE, BUFFER_M, most_on_foot, NO_RIDES, levels, step, SIDE, values, is_read
    )
    found = np.full(SHAPE, np.nan, np.float32)
    found[1:] = values[:, 1:]
    is_filled = (is_asked & ~is_read)[0].repeat(SIDE, axis=0).repeat(SIDE, axis=1)
    is_filled[0] = False
    assert np.isnan(found[~is_filled]).all() and np.isnan(values[:, 0]).all()
    for level in levels:
        there, here = true[is_filled] - level, found[is_filled] - level
        assert np.array_equal(np.sign(there), np.sign(here))
        assert (np.abs(there) >= step).all() and (np.abs(here) >= step).all()


def random_rides(rng: np.random.Generator, n_edges: int, budget_ms: int, *, is_backward: bool) -> RandomRides:
    """Return stops around the ends of edges, some of which are not reached, and others on edges."""
    n_states, n_stops = 50, 12
    # The next stop, with a shorter walk, is often reached much later.
    stop_ms = (rng.choice([0, 0, 900_000], n_stops) + rng.integers(0, 60_000, n_stops)).astype(np.int32)
    stop_ms[rng.random(n_stops) < 0.1] = NEVER
    n_links, n_ports, n_on = rng.integers(0, 9, n_states), rng.integers(0, 3, 2 * n_edges), rng.integers(0, 2, n_edges)
    n_on *= rng.random(n_edges) < 0.2
    links = rng.integers(0, n_stops, n_links.sum()).astype(np.int32)
    walks = rng.integers(0, int(rng.choice([1.1, 2.0]) * budget_ms), links.size).astype(np.int32)
    states = rng.integers(0, n_states, n_ports.sum()).astype(np.int32)
    ports = Ports(indptr_of(n_ports), states, rng.integers(0, 20_000, states.size) << TIME_SHIFT)
    around = StopLinks(indptr_of(n_links), links, walks)
    state_keys = np.full(n_states, NEVER_KEY, np.int64)
    for state in range(n_states):
        for j in range(around.indptr[state], around.indptr[state + 1]):
            if stop_ms[links[j]] < NEVER and walks[j] <= budget_ms:
                key = (np.int64(stop_ms[links[j]] + walks[j]) << 32) | walks[j]
                state_keys[state] = min(state_keys[state], key)
    directed = Directed(rng.integers(0, 60_000, 2 * n_edges) << TIME_SHIFT, rng.random(2 * n_edges) < 0.9)
    on = rng.integers(0, n_stops, n_on.sum()).astype(np.int32)
    on_edges = StopsOnEdges(
        indptr_of(n_on), on, rng.random(on.size), rng.integers(0, 9_000, on.size) << TIME_SHIFT, n_stops
    )
    edges = np.sort(rng.choice(n_edges, n_edges - 2, replace=False)).astype(np.int32)
    row_of, starts = np.full(n_edges, -1, np.int32), np.empty((edges.size, 8), np.int32)
    row_of[edges] = np.arange(edges.size)
    transit_edges.edge_starts(edges, state_keys, ports, directed, is_backward, stop_ms, on_edges, starts)
    return RandomRides(row_of, starts, directed, Rides(ports, around, stop_ms), on_edges)


@settings(max_examples=600, deadline=None)
@given(st.integers(0, 100_000), st.booleans())
def test_filled_blocks_are_on_the_side_of_their_values_by_transit(seed: int, is_backward: bool) -> None:
    rng, step = np.random.default_rng(seed), np.float32(20.0)
    budget_ms, per_metre, most_on_foot = (
        int(rng.choice([60_000, 200_000])),
        0.7,
        float(rng.choice([20.0, 150.0, np.inf])),
    )
    n = int(rng.choice([3, 4, 5, 8]))
    tile, rows = (
        random_tile(rng, n, float(rng.choice([5.0, 60.0, 120.0]))),
        random_rows(rng, n) + np.float32([[rng.choice([0.0, 900.0]), 0.0] * 2]),
    )
    row_of, starts, directed, rides, on_edges = random_rides(rng, n, budget_ms, is_backward=is_backward)
    levels = rng.choice([100.0, 300.0, 600.0, 900.0], rng.integers(1, 3)).astype(np.float32)
    none = np.empty(0, np.int32)
    origin = Origin(none, np.empty(0), np.empty((0, 2)), np.empty(0))
    blocks, cells = edges_of_blocks(tile, SIDE), tile.cells(PER_METRE, BUFFER_M)
    whole = Window(0, 0, *SHAPE, 0, 0, np.ones((N, N), np.bool_))
    true, is_read = np.empty(SHAPE, np.float32), np.ones((1, N, N), np.bool_)
    gather(cells, whole, rows, origin, true)
    true[true > most_on_foot] = np.inf
    on_foot = true.copy()
    arguments = row_of, starts, directed, is_backward, budget_ms, 10_000_000, rides, on_edges
    gather_rides(tile.cells(per_metre, BUFFER_M), whole, *arguments, true)
    # Some blocks of a part of the tile, written elsewhere, as a whole tile is.
    is_some, there = rng.random((N, N)) < 0.5, np.full((SHAPE[0] + 3, SHAPE[1] + 3), np.float32(np.inf))
    there[2:-4, 3:-2] = on_foot[1:-2, 2:]
    window = Window(1, 2, SHAPE[0] - 2, SHAPE[1], 2, 3, is_some)
    gather_rides(tile.cells(per_metre, BUFFER_M), window, *arguments, there)
    is_lowered = is_some.repeat(SIDE, axis=0).repeat(SIDE, axis=1)
    assert np.array_equal(there[2:-4, 3:-2], np.where(is_lowered, true, on_foot)[1:-2, 2:])
    bounds = RideBounds(row_of, starts, per_metre, float(budget_ms), is_backward, rides)
    found = np.full(SHAPE, np.nan, np.float32)
    settle_blocks(
        np.array([[0, 0]]), blocks, rows, none, PER_METRE, BUFFER_M, most_on_foot, bounds, levels, step, SIDE, found,
        is_read,
    )  # fmt: skip
    is_filled = ~is_read[0].repeat(SIDE, axis=0).repeat(SIDE, axis=1)
    assert np.isnan(found[~is_filled]).all()
    for level in levels:
        real, filled = true[is_filled] - level, found[is_filled] - level
        assert np.array_equal(np.sign(real), np.sign(filled))
        assert (np.abs(real) >= step).all() and (np.abs(filled) >= step).all()


@pytest.mark.parametrize("is_backward", [False, True])
@pytest.mark.parametrize(
    ("nearest_m", "farthest_m", "value_s"),
    [(1.0, 3.0, 201.0), (4.0, 18.0, 280.0), (2.0, 40.0, None), (5.0, 60.0, None), (21.0, 30.0, 800.0)],
)
def test_slower_journeys_with_shorter_walks_decide(
    nearest_m: float, farthest_m: float, value_s: float | None, is_backward: bool
) -> None:
    """A block on one edge that is open in one direction; its fastest journeys need walks of 197, 180 and 0 s."""
    budget_ms, d = 200_000, int(is_backward)
    stop_ms = np.array([4_000, 100_000, 800_000, 0], np.int32)
    around = StopLinks(
        np.array([0, 3, 4]), np.array([0, 1, 2, 3], np.int32), np.array([197_000, 180_000, 0, 0], np.int32)
    )
    # A state of the closed direction, which counts for nothing, is beside the last stop.
    ports = Ports(np.arange(3), np.array([[0, 1], [1, 0]][d], np.int32), np.zeros(2, np.int64))
    keys = np.array([(201_000 << 32) | 197_000, 0])
    directed = Directed(np.zeros(2, np.int64), np.arange(2) == d)
    on_edges = StopsOnEdges(np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0), np.empty(0, np.int64), 4)
    starts, row_of = np.empty((1, 8), np.int32), np.zeros(1, np.int32)
    transit_edges.edge_starts(row_of, keys, ports, directed, is_backward, stop_ms, on_edges, starts)
    none, edge = np.empty(0, np.int32), np.zeros((SIDE, SIDE), np.int32)
    distance = np.linspace(nearest_m, farthest_m, SIDE**2, dtype=np.float32).reshape(edge.shape)
    tile = Tile(edge, np.zeros(edge.shape, np.float32), distance, none, none, none.astype(np.float32), distance[:0, 0])
    bounds = RideBounds(row_of, starts, 1.0, float(budget_ms), is_backward, Rides(ports, around, stop_ms))
    rows, level = np.array([[np.inf, 0.0] * 2], np.float32), np.array([500.0], np.float32)
    values, is_read = np.full(edge.shape, np.nan, np.float32), np.ones((1, 1, 1), np.bool_)
    settle_blocks(
        np.array([[0, 0]]), edges_of_blocks(tile, SIDE), rows, none, 1.0, BUFFER_M, np.inf, bounds, level,
        np.float32(20.0), SIDE, values, is_read,
    )  # fmt: skip
    assert is_read.all() == (value_s is None)
    if value_s is not None:
        assert (values == value_s + nearest_m).all()


@given(st.integers(0, 100_000))
def test_remembered_journeys_are_the_fastest_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rides = random_rides(rng, 40, 200_000, is_backward=False).rides
    # Few different numbers, so that some are equal.
    rides.stop_ms[:] = np.where(rides.stop_ms < NEVER, rides.stop_ms % 5 * 1000, NEVER)
    rides.around.ms[:] = rides.around.ms % 7 * 1000
    times, walks = np.full(40, -1), np.full(40, -1)
    for d in range(80):
        n = transit_surface._journeys_to(d, *rides, times, walks, 16)
        assert 0 <= n <= transit_surface._JOURNEYS
        assert (np.diff(times[16 : 16 + n]) > 0).all() and (np.diff(walks[16 : 16 + n]) < 0).all()
        for part_ms in (0.0, 2500.5):
            for budget_ms in (0, 3000, 8000, 30_000):
                within = times[16 : 16 + n][walks[16 : 16 + n] + part_ms <= budget_ms] + part_ms
                assert within.min(initial=NEVER) == time_over_all(d, part_ms, budget_ms, *rides)
    assert (times[:16] == -1).all() and (times[24:] == -1).all()


def test_more_journeys_than_are_remembered_are_counted_as_none() -> None:
    n = transit_surface._JOURNEYS + 1
    one, stops = np.array([0, 1]), np.arange(n, dtype=np.int32)
    around = StopLinks(np.array([0, n]), stops, np.arange(n, 0, -1, dtype=np.int32) * 1000)
    rides = Rides(Ports(one, np.zeros(1, np.int32), np.zeros(1, np.int64)), around, stops * np.int32(5000))
    times, walks = np.empty(n, np.int64), np.empty(n, np.int64)
    assert transit_surface._journeys_to(0, *rides, times, walks, 0) == -1
    assert time_over_all(0, 0.0, 1000, *rides) == 5000 * (n - 1) + 1000


def test_most_blocks_of_a_large_area_are_filled() -> None:
    edge, far = np.zeros(SHAPE, np.int32), np.ones(SHAPE, np.float32)
    none = np.empty(0, np.int32)
    metres = np.empty(0, np.float32)
    blocks = edges_of_blocks(Tile(edge, far, far, none, none, metres, metres), SIDE)
    both = BlockEdges(*map(np.concatenate, zip(blocks, blocks, strict=True)))
    values, is_read = np.full((SHAPE[0], 2 * SHAPE[1]), np.nan, np.float32), np.ones((2, N, N), np.bool_)
    corners, level = np.array([[0, 0], [0, SHAPE[1]]]), np.array([900.0], np.float32)
    rows = np.array([[100.0, 5.0, np.inf, 0.0]], np.float32)
    settle_blocks(
        corners, both, rows, none, PER_METRE, BUFFER_M, np.inf, NO_RIDES, level, np.float32(20.0), SIDE, values, is_read
    )
    # A metre from the edge.
    assert not is_read.any() and (values == 100.0 + PER_METRE).all()
