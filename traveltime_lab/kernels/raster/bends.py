"""
Compute travel times at the cells of a raster on edges where the speed changes while they are driven.
"""

from __future__ import annotations

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.by_hour import value_at


@kernel
def _least(streets, bends, edge, share):
    """Return the least value at a position of an edge, given as a share; inf without a side of it among the bends."""
    low, high = 0, bends.directed.size
    while low < high:
        middle = (low + high) // 2
        if bends.directed[middle] >> 1 < edge:
            low = middle + 1
        else:
            high = middle
    least = np.inf
    while low < bends.directed.size and bends.directed[low] >> 1 == edge:
        least = min(least, value_at(streets, bends, low, share))
        low += 1
    return least


@kernel
def lower_on_bends(cells, window, streets, bends, is_bent, values):
    """
    Lower the values of cells whose nearest edges have a bend, or an edge that is as near.

    Parameters
    ----------
    cells : Cells
        All cells of the tile.
    window : Window
        All of its cells are read, whatever its blocks.
    streets : traveltime_lab.kernels.street.by_hour.Streets
    bends : traveltime_lab.kernels.street.by_hour.Bends
        In the order of edges.
    is_bent : bool array of shape (n_edges,)
        Edges with a bend.
    values : float32 array of shape (n_rows, n_columns)
        As in `traveltime_lab.kernels.raster.surface.gather`, which has set them without the bends.
    """
    edge, fraction, distance, per_metre, buffer_m = cells[:5]
    top, left, bottom, right, to_row, to_column = window[:6]
    for row in range(top, bottom):
        for column in range(left, right):
            e = edge[row, column]
            if e >= 0 and is_bent[e] and distance[row, column] <= buffer_m:
                value = _least(streets, bends, e, np.float64(fraction[row, column]))
                i, j = row - top + to_row, column - left + to_column
                values[i, j] = min(values[i, j], np.float32(value + distance[row, column] * per_metre))
    for k in range(cells.tied_cell.size):
        row, column = cells.tied_cell[k] // edge.shape[1], cells.tied_cell[k] % edge.shape[1]
        e, metres = cells.tied_edge[k], cells.tied_distance[k]
        if top <= row < bottom and left <= column < right and is_bent[e] and metres <= buffer_m:
            value = _least(streets, bends, e, np.float64(cells.tied_fraction[k]))
            i, j = row - top + to_row, column - left + to_column
            values[i, j] = min(values[i, j], np.float32(value + metres * per_metre))
