"""
Keep the nearest streets of the cells of a raster to those that can be reached without crossing a barrier.

`traveltime_lab.kernels.street.nearest_raster` searches as if there were no barriers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.crossings import is_barred, is_surely_free
from traveltime_lab.kernels.street.grid import empty_metres
from traveltime_lab.kernels.street.nearest import Rectangles, nearest_across_barriers, nearest_unbarred

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
    cells, rectangles = _barred_cells(centres, found, grid.ends, barriers)
    if cells.size == 0:
        return
    at = np.divmod(cells, first.shape[1])
    nearest_m = found.distance[at].astype(np.float64)
    found.segment[at], found.position[at], found.distance[at] = nearest_unbarred(
        *points_of(centres, cells, first.shape[1]), nearest_m, limit, grid, needed, barriers, rectangles
    )
    # Ties must be searched for again.
    found.may_be_tied[at], last[at] = True, first[at]


def _barred_cells(centres, found, ends, barriers):
    """
    Return the cells from which the walk to the nearest segment is barred.

    Returns
    -------
    cells : int64 array of shape (n,)
        ``row * n_columns + column``, sorted by rectangle.
    rectangles : Rectangles
        -1 for cells in the water, because water bars walks from land only.
    """
    n_rows, n_columns = found.segment.shape
    cells, from_land = _cells_with_barred_walk(centres, found, ends, barriers)
    side = _PART
    while side > 1 and side * centres.step > _SHARED_M:
        side //= 2
    across = (n_columns - 1) // side + 1
    part = cells // n_columns // side * across + cells % n_columns // side
    order = np.argsort(part, kind="stable")
    cells, part, from_land = cells[order], part[order], from_land[order]
    parts, number = np.unique(part[from_land], return_inverse=True)
    of_cell = np.full(cells.size, -1, np.int32)
    of_cell[from_land] = number
    top, left = parts // across * side, parts % across * side
    bottom, right = np.minimum(top + side, n_rows), np.minimum(left + side, n_columns)
    return cells, Rectangles(
        of_cell,
        x=centres.first_x + (left + right - 1) * 0.5 * centres.step,
        y=centres.first_y + (top + bottom - 1) * 0.5 * centres.step,
        half_x=(right - left) * 0.5 * centres.step,
        half_y=(bottom - top) * 0.5 * centres.step,
        shrink=np.minimum.reduceat(centres.shrink, np.arange(0, n_rows, side))[top // side],
    )


@kernel
def _cells_with_barred_walk(centres, found, ends, barriers):
    """
    Return the cells from which the walk to the nearest segment is barred, and which of these by water from land.

    Returns
    -------
    cells : int64 array of shape (n,)
        ``row * n_columns + column``, ascending.
    from_land : bool array of shape (n,)
    """
    first_x, first_y, step, shrink = centres
    walls, _, _, cell, first_row, last_row, first_column, last_column, blocks, begin, rings, members = barriers
    segment, position, distance, _ = found
    n_rows, n_columns = segment.shape
    barred, n = np.empty(n_rows * n_columns, np.int64), 0
    for row in range(n_rows):
        y, k, free_m = first_y + row * step, shrink[row], -np.inf
        for column in range(n_columns):
            s, t = np.int64(segment[row, column]), np.float64(position[row, column])
            # Longer by what rounding to float32 may have taken.
            metres = np.float64(distance[row, column]) + 0.001
            # Where nothing is near a cell, nothing is as near to its neighbour, less the way there.
            free_m -= step * k
            if s < 0 or metres < free_m:
                continue
            x = first_x + column * step
            free_m = empty_metres(x, y, k, cell, first_row, last_row, first_column, last_column, blocks, rings)
            if metres < free_m:
                continue
            qx, qy = ends[s, 0] + t * (ends[s, 2] - ends[s, 0]), ends[s, 1] + t * (ends[s, 3] - ends[s, 1])
            is_free = is_surely_free(
                x, y, qx, qy, walls, cell, first_row, last_row, first_column, last_column, blocks, begin, members
            )
            if not is_free and is_barred(x, y, qx, qy, k, barriers, True):
                barred[n] = row * n_columns + column
                n += 1
    cells, from_land = np.empty(n, np.int64), np.empty(n, np.bool_)
    for i in range(n):
        row, column = barred[i] // n_columns, barred[i] % n_columns
        s, t, x, y = segment[row, column], position[row, column], first_x + column * step, first_y + row * step
        qx, qy = ends[s, 0] + t * (ends[s, 2] - ends[s, 0]), ends[s, 1] + t * (ends[s, 3] - ends[s, 1])
        cells[i], from_land[i] = barred[i], is_barred(x, y, qx, qy, shrink[row], barriers, False)
    return cells, from_land


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
