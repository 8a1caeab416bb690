"""
Find the points that have a street segment nearer than a distance; see `traveltime_lab.kernels.street.nearest`.
"""

from __future__ import annotations

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.grid import cell_at, empty_metres
from traveltime_lab.kernels.street.nearest import place_on


@kernel
def has_nearer(px, py, shrink, metres, grid):
    """
    Return which points have a segment that is nearer than a distance, across barriers, too.

    Parameters
    ----------
    px, py, shrink : float64 arrays of shape (n,)
    metres : float64 array of shape (n,)
        Distance of each point, m.
    grid : Grid

    Returns
    -------
    bool array of shape (n,)
    """
    ends, _, _, cell, first_row, last_row, first_column, last_column, blocks, begin, rings, members = grid
    result = np.zeros(px.size, np.bool_)
    for point in range(px.size):
        x, y, k, radius = px[point], py[point], shrink[point], metres[point]
        # Most points have no cell with segments as near.
        free_m = empty_metres(x, y, k, cell, first_row, last_row, first_column, last_column, blocks, rings)
        if radius <= free_m:
            continue
        wide, least = radius / k, np.inf
        for r in range(
            max(np.int64(np.floor((y - radius) / cell)), first_row),
            min(np.int64(np.floor((y + radius) / cell)), last_row) + 1,
        ):
            for c in range(
                max(np.int64(np.floor((x - wide) / cell)), first_column),
                min(np.int64(np.floor((x + wide) / cell)), last_column) + 1,
            ):
                here = cell_at(r - first_row, c - first_column, blocks)
                if here >= 0:
                    for m in range(begin[here], begin[here + 1]):
                        i = members[m]
                        _, d2 = place_on(x, y, k, ends[i, 0], ends[i, 1], ends[i, 2], ends[i, 3])
                        least = d2 if d2 < least else least
        result[point] = least < radius * radius
    return result
