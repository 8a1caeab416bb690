"""
Keep the nearest streets of the cells of a raster to those that can be reached without crossing a barrier.

`traveltime_lab.kernels.street.nearest_raster` searches as if there were no barriers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.grid import empty_metres
from traveltime_lab.kernels.street.nearest import (
    Rectangles,
    is_walk_barred,
    nearest_across_barriers,
    nearest_unbarred,
)

#: Longest side of the parts of a raster whose cells share a rectangle, see `Rectangles`, in metres.
_SHARED_M = 64.0
#: The longest side in cells.
_PART = 8


class Centres(NamedTuple):
    """Centres of the cells of a raster in local metres, row 0 in the south."""

    first_x: float  # centre of the cell in row 0 and column 0, m
    first_y: float
    step: float  # distance between neighbours, m
    shrink: np.ndarray  # float64 (n_rows,)


def points_of(centres, cells, n_columns):
    """Return local metres of some cells, given as ``row * n_columns + column``, and the shrink at their latitudes."""
    row, column = np.divmod(cells, n_columns)
    x, y = centres.first_x + column * centres.step, centres.first_y + row * centres.step
    return x, y, centres.shrink[row]


def go_round(centres, limit, grid, needed, barriers, found, first, last):
    """Replace the nearest segments of centres from which the walk there is barred; see `nearest_on_raster`."""
    cells, of_cell, n, rectangles, n_rectangles = _barred_cells(centres, found, grid.ends, barriers)
    if n == 0:
        return
    cells = cells[:n]
    at = np.divmod(cells, first.shape[1])
    some = Rectangles(of_cell[:n], *(part[:n_rectangles] for part in rectangles))
    nearest_m, rules = found.distance[at].astype(np.float64), (limit, grid, needed, barriers, some)
    found.segment[at], found.position[at], found.distance[at] = nearest_unbarred(
        *points_of(centres, cells, first.shape[1]), nearest_m, *rules
    )
    # Ties must be searched for again.
    found.may_be_tied[at], last[at] = True, first[at]


@kernel
def _barred_cells(centres, found, ends, barriers):
    """
    Return the cells from which the walk to the nearest segment is barred.

    Returns
    -------
    cells : int64 array
        Its first elements are the cells, ``row * n_columns + column``.
    of_cell : int32 array
        The rectangle of each, -1 for cells in the water.
    n : int
        Number of cells.
    rectangles : tuple of float64 arrays
        All arrays of `Rectangles` but the first.
    n_rectangles : int
    """
    first_x, first_y, step, shrink = centres
    _, _, _, cell, first_row, last_row, first_column, last_column, blocks, _, rings, _ = barriers
    n_rows, n_columns = found.segment.shape
    side = _PART
    while side > 1 and side * step > _SHARED_M:
        side //= 2
    cells, of_cell = np.empty(n_rows * n_columns, np.int64), np.empty(n_rows * n_columns, np.int32)
    most = ((n_rows - 1) // side + 1) * ((n_columns - 1) // side + 1)
    x, y, half_x, half_y, least = np.empty(most), np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    n, n_rectangles = 0, 0
    for top in range(0, n_rows, side):
        for left in range(0, n_columns, side):
            bottom, right = min(top + side, n_rows), min(left + side, n_columns)
            is_begun = False
            for row in range(top, bottom):
                py, k = first_y + row * step, shrink[row]
                for column in range(left, right):
                    if found.segment[row, column] < 0:
                        continue
                    # Most centres have no barrier as near as their street.
                    px, d = first_x + column * step, np.float64(found.distance[row, column])
                    free_m = empty_metres(
                        px, py, k, cell, first_row, last_row, first_column, last_column, blocks, rings
                    )
                    if d < free_m - 0.001:
                        continue
                    s, t = np.int64(found.segment[row, column]), np.float64(found.position[row, column])
                    if not is_walk_barred(px, py, k, ends, s, t, barriers, True):
                        continue
                    cells[n], of_cell[n] = row * n_columns + column, -1
                    # Water bars walks from land only.
                    if is_walk_barred(px, py, k, ends, s, t, barriers, False):
                        if not is_begun:
                            is_begun = True
                            x[n_rectangles] = first_x + (left + right - 1) * 0.5 * step
                            y[n_rectangles] = first_y + (top + bottom - 1) * 0.5 * step
                            half_x[n_rectangles] = (right - left) * 0.5 * step
                            half_y[n_rectangles] = (bottom - top) * 0.5 * step
                            least[n_rectangles] = np.inf
                            for r in range(top, bottom):
                                least[n_rectangles] = min(least[n_rectangles], shrink[r])
                            n_rectangles += 1
                        of_cell[n] = n_rectangles - 1
                    n += 1
    return cells, of_cell, n, (x, y, half_x, half_y, least), n_rectangles


def reaches_of_blocks(px, py, shrink, half_m, more_m, limit, grid, needed, barriers):
    """
    Return the distance within which the nearest segment of each centre in a block certainly is.

    Parameters
    ----------
    px, py, shrink : float64 arrays of shape (n,)
        Middles of the blocks, and the shrink there.
    half_m : float
        Half of the diagonal of a block, m.
    more_m : float
        How far around the walks from a block there must be no barrier either, m.
    limit, grid, needed, barriers
        As in `nearest_segments`.

    Returns
    -------
    float32 array of shape (n,)
        inf if there is no segment within the limit, or if a barrier may lead to another segment.
    """
    found, _ = nearest_across_barriers(px, py, shrink, limit - half_m, grid, needed)
    # The distance is inf where there is no segment.
    reaches = (found.distance + half_m).astype(np.float32)
    if barriers.ends.shape[0]:
        _leave_free(px, py, shrink, found.distance, half_m, more_m, barriers, reaches)
    return reaches


@kernel
def _leave_free(px, py, shrink, metres, half_m, more_m, barriers, reaches):
    """Write inf for the blocks that have a barrier near; see `reaches_of_blocks`."""
    _, _, _, cell, first_row, last_row, first_column, last_column, blocks, _, rings, _ = barriers
    for i in range(px.size):
        free_m = empty_metres(
            px[i], py[i], shrink[i], cell, first_row, last_row, first_column, last_column, blocks, rings
        )
        walk_m = metres[i] + half_m
        if walk_m + half_m + more_m >= free_m:
            reaches[i] = np.inf
