"""
Find the blocks of a raster whose cells are all far from every limit, without reading the cells.

The value of a cell is at least the least value on its edges, and at most the greatest one and the way between the cell
and its edge. A block has far fewer edges than cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel


class BlockEdges(NamedTuple):
    """Edges of the cells of square blocks, the blocks of a tile row by row."""

    n_edges: np.ndarray  # int32 (n_blocks,), number of edges of each block
    edge: np.ndarray  # int32 (n,), edges of the blocks one after another, each edge of a block once
    farthest_m: np.ndarray  # float32 (n_blocks,), largest distance of a cell from its edge, inf if a cell has no edge


@kernel
def settle_blocks(corners, blocks, rows, own_edge, per_metre, buffer_m, levels, step, side, values, is_read):
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
        As in `Cells`, or as in `EdgeBounds`.
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
    A value is computed from the same numbers in the same way as in `gather`, and each operation keeps an order of its
    operands, so that the bounds hold to the last bit.
    """
    first_own, last_own = np.int32(np.iinfo(np.int32).max), np.int32(-1)
    for e in own_edge:
        first_own, last_own = min(first_own, e), max(last_own, e)
    n_edges, edge, farthest_m = blocks
    block, last = 0, 0
    for tile in range(is_read.shape[0]):
        for i in range(is_read.shape[1]):
            for j in range(is_read.shape[2]):
                first, last = last, last + n_edges[block]
                metres = farthest_m[block]
                block += 1
                if not is_read[tile, i, j]:
                    continue
                least, most, is_near = np.float32(np.inf), np.float32(-np.inf), False
                for k in range(first, last):
                    e = edge[k]
                    least = min(least, min(rows[e, 0], rows[e, 2]))
                    most = max(most, min(rows[e, 0] + rows[e, 1], rows[e, 2] + rows[e, 3]))
                    is_near |= first_own <= e <= last_own
                # Cells without an edge, or too far from it, have no value, or none that is known.
                most = np.float32(np.float64(most) + metres * per_metre if metres <= buffer_m else np.inf)
                for level in levels:
                    is_near |= not (most - level <= -step or least - level >= step)
                if is_near:
                    continue
                is_read[tile, i, j] = False
                top, left = corners[tile, 0] + i * side, corners[tile, 1] + j * side
                for row in range(max(top, 0), min(top + side, values.shape[0])):
                    for column in range(max(left, 0), min(left + side, values.shape[1])):
                        values[row, column] = least
