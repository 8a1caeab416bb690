"""
Find the blocks of a raster whose cells are all far from every limit, without reading the cells.

The value of a cell is at least the least value on its edges, and at most the greatest one, each with the way between
the cell and its edge. A block has far fewer edges than cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.raster.transit_surface import Rides, time_over_all
from traveltime_lab.kernels.unreached import NEVER


class BlockEdges(NamedTuple):
    """Edges of the cells of square blocks, the blocks of a tile row by row."""

    n_edges: np.ndarray  # int32 (n_blocks,), number of edges of each block
    edge: np.ndarray  # int32 (n,), edges of the blocks one after another, each edge of a block once
    nearest_m: np.ndarray  # float32 (n_blocks,), least distance of a cell from an edge, inf if no cell has one
    farthest_m: np.ndarray  # float32 (n_blocks,), largest distance of a cell from its edge, inf if a cell has no edge


class RideBounds(NamedTuple):
    """Travel times by transit and a walk; see `traveltime_lab.kernels.raster.transit_surface.gather_rides`."""

    row_of: np.ndarray  # int32 (n_edges,), row of `starts` of each edge, -1 if not reached; empty without transit
    starts: np.ndarray  # int32 (n_rows, 8), ms
    per_metre: float  # value of one metre between a cell and its edge, s
    budget_ms: float  # longest walk, from the stop to the cell
    is_backward: bool
    rides: Rides  # without stops if `starts` are bounds of several departures


@kernel
def settle_blocks(
    corners, blocks, rows, own_edge, per_metre, buffer_m, most_of_rows, rides, levels, step, side, values, is_read
):
    """
    Fill the blocks whose values are all far from every limit, with a value on the same side of each.

    Parameters
    ----------
    corners : int64 array of shape (n_tiles, 2)
        Row and column of the first cell of each tile in `values`, also outside of it.
    blocks : BlockEdges
        The blocks of the tiles one after another.
    rows : float32 array of shape (n_edges, 4)
        From `traveltime_lab.kernels.raster.surface.edge_rows`, or bounds in its form, see
        `traveltime_lab.surfaces.field.EdgeBounds`.
    own_edge : int32 array of shape (n,)
        Edges of the origin. Blocks with some of them are not filled.
    per_metre, buffer_m : float
        As in `Cells`.
    most_of_rows : float
        Values of `rows` and the way to the cell that are greater do not count.
    rides : RideBounds
        Other values, of which the lesser ones count.
    levels : float32 array of shape (n_levels,)
        The limits.
    step : float32
        Values are far from a limit if they differ from it by this much.
    side : int
        Side of a block in cells.
    values : float32 array of shape (n_rows, n_columns)
        Overwritten where blocks are filled.
    is_read : bool array of shape (n_tiles, n, n)
        Set to False for the blocks that are filled; those that are False are passed over.

    Notes
    -----
    A value is computed from the same numbers in the same way as in `gather` and `gather_rides`, and each operation
    keeps an order of its operands, so that the bounds hold to the last bit. A walk over one end of an edge that is
    within the budget for the farthest place of all cells is within it for each.
    """
    first_own, last_own = np.int32(np.iinfo(np.int32).max), np.int32(-1)
    for e in own_edge:
        first_own, last_own = min(first_own, e), max(last_own, e)
    n_edges, edge, nearest_m, farthest_m = blocks
    row_of, starts, ride_per_metre, budget_ms, is_backward, (ports, around, stop_ms) = rides
    has_rides, has_stops = row_of.size > 0, stop_ms.size > 0
    block, last = 0, 0
    for tile in range(is_read.shape[0]):
        for i in range(is_read.shape[1]):
            for j in range(is_read.shape[2]):
                first, last = last, last + n_edges[block]
                near, far = nearest_m[block], farthest_m[block]
                block += 1
                if not is_read[tile, i, j]:
                    continue
                off_ms, far_off_ms = 1000.0 * ride_per_metre * near, 1000.0 * ride_per_metre * far
                # If the fastest journey walks too far, others may not: they are only looked at where that matters.
                for attempt in range(2 if has_stops else 1):
                    least, most, is_near = np.float32(np.inf), np.float32(-np.inf), False
                    # Cells too far from their edge have no value.
                    for k in range(first, last if near <= buffer_m else first):
                        e = edge[k]
                        is_near |= first_own <= e <= last_own
                        low = min(rows[e, 0], rows[e, 2])
                        high = min(rows[e, 0] + rows[e, 1], rows[e, 2] + rows[e, 3])
                        if has_rides:
                            low, of_edge = np.float32(low + near * per_metre), np.float32(high + far * per_metre)
                            high = of_edge if of_edge <= most_of_rows else np.float32(np.inf)
                        row = row_of[e] if has_rides else -1
                        if row >= 0:
                            low_ms, high_ms = starts[row, 3] + off_ms, np.inf
                            for end in range(2):
                                d = 2 * np.int64(e) + (1 - end if is_backward else end)
                                time, walk = np.float64(starts[row, 4 * end]), np.float64(starts[row, 4 * end + 1])
                                along = starts[row, 4 * end + 2] + far_off_ms
                                shortest, longest = time + off_ms, time + along
                                if walk + off_ms > budget_ms and attempt == 1 and time < NEVER:
                                    shortest = time_over_all(d, off_ms, budget_ms, ports, around, stop_ms)
                                if walk + along > budget_ms:
                                    longest = np.inf
                                    if attempt == 1 and time < NEVER:
                                        longest = time_over_all(d, along, budget_ms, ports, around, stop_ms)
                                low_ms, high_ms = min(low_ms, shortest), min(high_ms, longest)
                            low = min(low, np.float32(low_ms / 1000.0))
                            high = min(high, np.float32(high_ms / 1000.0))
                        least, most = min(least, low), max(most, high)
                    if not has_rides:
                        # Then the way to the edge can be added last.
                        least, most = np.float32(least + near * per_metre), np.float32(most + far * per_metre)
                        most = most if most <= most_of_rows else np.float32(np.inf)
                    # Nothing is known of cells without an edge.
                    most = most if far <= buffer_m else np.float32(np.inf)
                    for level in levels:
                        is_near |= not (most - level <= -step or least - level >= step)
                    if not is_near:
                        break
                if is_near:
                    continue
                is_read[tile, i, j] = False
                top, left = corners[tile, 0] + i * side, corners[tile, 1] + j * side
                for row in range(max(top, 0), min(top + side, values.shape[0])):
                    for column in range(max(left, 0), min(left + side, values.shape[1])):
                        values[row, column] = least
