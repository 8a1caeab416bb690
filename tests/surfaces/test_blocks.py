"""Blocks of a raster that need not be read: the laws that their edges and values follow."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from traveltime_lab.kernels.raster.blocks import BlockEdges, settle_blocks
from traveltime_lab.kernels.raster.surface import Origin, Window, gather
from traveltime_lab.surfaces.tiles import Tile, edges_of_blocks

SIDE, N = 4, 3
SHAPE = (SIDE * N, SIDE * N)
PER_METRE, BUFFER_M = 0.75, 100.0


def random_tile(rng: np.random.Generator, n_edges: int) -> Tile:
    """Return a tile with cells in patches of the same edge, some without one, some tied."""
    edge = rng.integers(-1, n_edges, (6, 6)).repeat(2, axis=0).repeat(2, axis=1).astype(np.int32)
    distance = np.where(edge < 0, np.inf, rng.uniform(0, 120, SHAPE)).astype(np.float32)
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
    # The tile begins outside of the array.
    values, corner = np.full((SHAPE[0] - 1, SHAPE[1] + 1), np.nan, np.float32), np.array([[-1, 1]])
    settle_blocks(corner, blocks, rows, own, PER_METRE, BUFFER_M, levels, step, SIDE, values, is_read)
    found = np.full(SHAPE, np.nan, np.float32)
    found[1:] = values[:, 1:]
    is_filled = (is_asked & ~is_read)[0].repeat(SIDE, axis=0).repeat(SIDE, axis=1)
    is_filled[0] = False
    assert np.isnan(found[~is_filled]).all() and np.isnan(values[:, 0]).all()
    for level in levels:
        there, here = true[is_filled] - level, found[is_filled] - level
        assert np.array_equal(np.sign(there), np.sign(here))
        assert (np.abs(there) >= step).all() and (np.abs(here) >= step).all()


def test_most_blocks_of_a_large_area_are_filled() -> None:
    edge, far = np.zeros(SHAPE, np.int32), np.ones(SHAPE, np.float32)
    none = np.empty(0, np.int32)
    metres = np.empty(0, np.float32)
    blocks = edges_of_blocks(Tile(edge, far, far, none, none, metres, metres), SIDE)
    both = BlockEdges(*map(np.concatenate, zip(blocks, blocks, strict=True)))
    values, is_read = np.full((SHAPE[0], 2 * SHAPE[1]), np.nan, np.float32), np.ones((2, N, N), np.bool_)
    corners, level = np.array([[0, 0], [0, SHAPE[1]]]), np.array([900.0], np.float32)
    rows = np.array([[100.0, 5.0, np.inf, 0.0]], np.float32)
    settle_blocks(corners, both, rows, none, PER_METRE, BUFFER_M, level, np.float32(20.0), SIDE, values, is_read)
    assert not is_read.any() and (values == 100.0).all()
