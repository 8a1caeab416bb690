"""
Find the nearest street segment of every cell of a raster.

Few segments can be the nearest one of some cell of a square: by the triangle inequality those that are no farther from
its middle than the nearest one and twice the way from the middle to a corner. They are collected for each square, and
squares are divided into four until few cells are left. See `traveltime_lab.kernels.street.nearest` for the coordinates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.grid import cell_at
from traveltime_lab.kernels.street.nearest import (
    SURELY_M,
    Near,
    Nearest,
    nearest_across_barriers,
    place_on,
)
from traveltime_lab.kernels.street.raster_barriers import go_round, points_of

#: Side of a square in cells, and the longest in metres; cells of smaller squares are searched from like points.
#: Measured in Milan and New York.
_SQUARE, _LONGEST_M, _SMALLEST = 16, 250.0, 8
#: Side of the parts of a square in cells, and of the parts of these.
_QUARTER, _PART = 8, 4


class _Squares(NamedTuple):
    """Squares of a raster with requested cells, and their middles."""

    corners: np.ndarray  # int64 (n, 4), first row and column and last row and column of these cells
    px: np.ndarray  # float64 (n,), m
    py: np.ndarray
    shrink: np.ndarray  # float64 (n,)
    half: np.ndarray  # float64 (n,), m: distance from the middle to the centres at the corners
    # How much longer a distance may be at the latitude of a row than at that of the middle, as a share.
    longer: np.ndarray  # float64 (n,)


def nearest_on_raster(centres, is_requested, limit, grid, needed, barriers):
    """
    Return the nearest segment of each cell centre of a raster that a straight walk reaches.

    Parameters
    ----------
    centres : traveltime_lab.kernels.street.raster_barriers.Centres
    is_requested : bool array of shape (n_rows, n_columns)
        The cells to process; the others have no segment.
    limit, grid, needed, barriers
        As in `nearest_segments`.

    Returns
    -------
    found : Nearest
        With positions and distances in float32.
    tied : int64 array of shape (n_tied,)
        Cells that may be tied, ascending: ``row * n_columns + column``.
    near : Near
        The segments that may be tied of each of them.
    """
    shape = is_requested.shape
    found = Nearest(
        np.full(shape, -1, np.int32), np.zeros(shape, np.float32), np.full(shape, np.inf, np.float32),
        np.zeros(shape, np.bool_),
    )  # fmt: skip
    # Where the segments that may be tied of each cell begin and end.
    first, last = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    side = _SQUARE
    while side > 1 and side * centres.step > _LONGEST_M:
        side //= 2
    if side >= _SMALLEST:
        near = _nearest_of_squares(centres, is_requested, limit, grid, needed, side, found, first, last)
    else:
        near = _nearest_of_each(centres, is_requested, limit, grid, needed, found, first, last)
    if barriers.ends.shape[0]:
        go_round(centres, limit, grid, needed, barriers, found, first, last)
    tied = np.flatnonzero(found.may_be_tied)
    return found, tied, _in_order(tied, first.reshape(-1), last.reshape(-1), near)


def _nearest_of_each(centres, is_requested, limit, grid, needed, found, first, last):
    """Write the nearest segment of each requested cell; arguments and results as of `_nearest_of_squares`."""
    cells = np.flatnonzero(is_requested)
    each, near = nearest_across_barriers(*points_of(centres, cells, is_requested.shape[1]), limit, grid, needed)
    _write_each(cells, each, near.begin, found, first, last)
    return near


@kernel
def _write_each(cells, each, begin, found, first, last):
    """Write the nearest segments of some cells to those of a raster."""
    n_columns = first.shape[1]
    for i in range(cells.size):
        if each.segment[i] >= 0:
            row, column = cells[i] // n_columns, cells[i] % n_columns
            found.segment[row, column], found.position[row, column] = each.segment[i], each.position[i]
            found.distance[row, column], found.may_be_tied[row, column] = each.distance[i], each.may_be_tied[i]
            first[row, column], last[row, column] = begin[i], begin[i + 1]


def _nearest_of_squares(centres, is_requested, limit, grid, needed, side, found, first, last):
    """
    Write the nearest segment of each requested cell.

    Parameters
    ----------
    centres, is_requested, limit, grid, needed
        As in `nearest_on_raster`.
    side : int
        Side of the squares in cells, a power of two.
    found : Nearest
        Overwritten where a cell has a segment.
    first, last : int32 arrays of shape (n_rows, n_columns)
        Overwritten there: where the segments that may be tied begin and end in `near`.

    Returns
    -------
    near : Near
        Its `begin` is without meaning.
    """
    squares, n = _squares_of(centres, is_requested, side)
    squares = _Squares(*(part[:n] for part in squares))
    longest_m, most = (float(squares.half.max()) + 1.0, float(squares.longer.max())) if n else (0.0, 0.0)
    here = squares.px, squares.py, squares.shrink
    middles, _ = nearest_across_barriers(*here, (limit + longest_m) * (1.0 + most), grid, needed)
    return _nearest_in_squares(
        centres, is_requested, limit, grid, needed, squares, middles.distance, found, first, last
    )


@kernel
def _nearest_in_squares(centres, is_requested, limit, grid, needed, squares, nearest_m, found, first, last):
    """
    Write the nearest segment of each requested cell of some squares.

    Parameters
    ----------
    squares : _Squares
    nearest_m : float64 array of shape (n,)
        Distance from the middle of each square to its nearest segment, m; inf if there is none.
    centres, is_requested, limit, grid, needed, found, first, last
        As in `_nearest_of_squares`, whose result is returned.
    """
    corners, px, py, shrink, half, longer = squares
    some, of_cell = _room(1024), np.empty(8 * _PART * _PART)
    near, n_near = Near(np.empty(0, np.int64), np.empty(512, np.int32), np.empty(512), np.empty(512)), 0
    for i in range(px.size):
        if nearest_m[i] == np.inf:
            continue
        radius = _radius(nearest_m[i], half[i], limit, longer[i])
        n = -1
        while n < 0:
            n = _segments_around(px[i], py[i], shrink[i], radius, grid, needed, some)
            if n < 0:
                some = _room(4 * some.number.size)
        n_before, n_near = n_near, -1
        while n_near < 0:
            n_near = _nearest_in_square(
                centres, is_requested, limit, grid.edge, corners[i], shrink[i], longer[i], some, n, of_cell, found,
                first, last, near, n_before,
            )  # fmt: skip
            if n_near < 0:
                near = _longer(near)
    return near


class _Segments(NamedTuple):
    """Segments that may be the nearest one of some cells; after those of a square those of its parts."""

    number: np.ndarray  # int32
    x1: np.ndarray  # float64, m
    y1: np.ndarray
    x2: np.ndarray
    y2: np.ndarray
    squared: np.ndarray  # float64, squared distance to the middle of the cells, m2


@kernel
def _room(size):
    """Return arrays for segments."""
    return _Segments(
        np.empty(size, np.int32), np.empty(size), np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    )


# The loops over segments and cells are in kernels that assign no arrays and call nothing, because arrays that a loop
# assigns, or gives to a function, are counted as references each time.


@kernel
def _segments_around(x, y, k, radius, grid, needed, some):
    """
    Write the segments within a radius of a point, some perhaps more than once.

    Returns
    -------
    int
        Their number, -1 if there may be no room for three times as many.
    """
    ends, marks, _, cell, first_row, last_row, first_column, last_column, blocks, begin, _, members = grid
    number, ax, ay, bx, by, _ = some
    top = max(np.int64(np.floor((y - radius) / cell)), first_row)
    bottom = min(np.int64(np.floor((y + radius) / cell)), last_row)
    left = max(np.int64(np.floor((x - radius / k) / cell)), first_column)
    right = min(np.int64(np.floor((x + radius / k) / cell)), last_column)
    n = 0
    for r in range(top, bottom + 1):
        for c in range(left, right + 1):
            here = cell_at(r - first_row, c - first_column, blocks)
            if here < 0:
                continue
            first, last = np.int64(begin[here]), np.int64(begin[here + 1])
            if 3 * (n + last - first) > number.size:
                return -1
            for m in range(first, last):
                s = members[m]
                x1, y1, x2, y2 = ends[s, 0], ends[s, 1], ends[s, 2], ends[s, 3]
                # A segment is in several cells of the grid; that of its first end is enough if it is one of these.
                row, column = np.int64(np.floor(y1 / cell)), np.int64(np.floor(x1 / cell))
                is_elsewhere = ((row != r) | (column != c)) & (
                    (top <= row) & (row <= bottom) & (left <= column) & (column <= right)
                )
                _, d2 = place_on(x, y, k, x1, y1, x2, y2)
                number[n], ax[n], ay[n], bx[n], by[n] = s, x1, y1, x2, y2
                n += (not is_elsewhere) & (d2 <= radius * radius) & (marks[s] & needed == needed)
    return n


@kernel
def _keep_near(first_x, first_y, step, cells, k0, limit, slack, some, first, last):
    """
    Copy, to the places from `last` on, the segments from `first` to `last` that may be the nearest ones of some cells.

    Parameters
    ----------
    first_x, first_y, step : float
        As of `Centres`.
    cells : tuple of int
        First row and column and last row and column.
    k0, limit, slack, some
        As in `_nearest_in_square`.

    Returns
    -------
    int
        Where the copies end.
    """
    number, ax, ay, bx, by, squared = some
    top, left, bottom, right = cells
    x, y = first_x + (left + right) * 0.5 * step, first_y + (top + bottom) * 0.5 * step
    for j in range(first, last):
        _, squared[j] = place_on(x, y, k0, ax[j], ay[j], bx[j], by[j])
    least = np.inf
    for j in range(first, last):
        least = squared[j] if squared[j] < least else least
    radius = _radius(np.sqrt(least), _half_diagonal(top, left, bottom, right, step, k0), limit, slack)
    n = last
    for j in range(first, last):
        number[n], ax[n], ay[n], bx[n], by[n] = number[j], ax[j], ay[j], bx[j], by[j]
        n += squared[j] <= radius * radius
    return n


@kernel
def _nearest_in_square(
    centres,
    is_requested,
    limit,
    edge,
    square,
    k0,
    slack,
    some,
    n_some,
    of_cell,
    found,
    near_begin,
    near_end,
    near,
    n_near,
):
    """
    Write the nearest segment of each requested cell of a square.

    Parameters
    ----------
    centres, is_requested, limit, found
        As in `_nearest_of_squares`.
    edge : int32 array of shape (n_segments,)
    square : int64 array of shape (4,)
        First row and column and last row and column.
    k0, slack : float
        The shrink of the square, and how much that of its rows differs, as a share.
    some : _Segments
        The first `n_some` may be the nearest ones; the others are overwritten.
    of_cell : float64 array of shape (8 * _PART ** 2,)
        Overwritten.
    near_begin, near_end, near : int32 arrays of shape (n_rows, n_columns), Near
        Results of `_nearest_of_squares`.
    n_near : int
        How much of `near` is used.

    Returns
    -------
    int
        How much of `near` is used, -1 if it has no room.
    """
    first_x, first_y, step, shrink = centres
    segment, position, distance, may_be_tied = found
    number, ax, ay, bx, by, _ = some
    _, near_number, near_t, near_d2 = near
    # x, y, shrink of the cells of a part; the nearest segment, its edge, position and squared distance; squared
    # distance of the nearest one of a different edge. In one array of one type, so that the compiler can
    # prove that they do not overlap, and computes several cells at a time.
    n_cells = np.int64(_PART * _PART)
    at_y, at_k, at_best, at_edge = n_cells, 2 * n_cells, 3 * n_cells, 4 * n_cells
    at_place, at_least, at_second = 5 * n_cells, 6 * n_cells, 7 * n_cells
    for quarter_row in range(square[0], square[2] + 1, _QUARTER):
        for quarter_column in range(square[1], square[3] + 1, _QUARTER):
            last_row, last_column = quarter_row + _QUARTER - 1, quarter_column + _QUARTER - 1
            last_row, last_column = min(last_row, square[2]), min(last_column, square[3])
            here = quarter_row, quarter_column, last_row, last_column
            n_quarter = _keep_near(first_x, first_y, step, here, k0, limit, slack, some, 0, n_some)
            for top in range(quarter_row, last_row + 1, _PART):
                for left in range(quarter_column, last_column + 1, _PART):
                    bottom, right = min(top + _PART - 1, last_row), min(left + _PART - 1, last_column)
                    here = top, left, bottom, right
                    n = _keep_near(first_x, first_y, step, here, k0, limit, slack, some, n_some, n_quarter)
                    for m in range(n_cells):
                        row, column = top + m // _PART, left + m % _PART
                        of_cell[m], of_cell[m + at_y] = first_x + column * step, first_y + row * step
                        of_cell[m + at_k] = shrink[min(row, shrink.size - 1)]
                        of_cell[m + at_least], of_cell[m + at_second] = np.inf, np.inf
                    for j in range(n_quarter, n):
                        s, e = np.float64(number[j]), np.float64(edge[number[j]])
                        x1, y1, x2, y2 = ax[j], ay[j], bx[j], by[j]
                        for m in range(n_cells):
                            t, d2 = place_on(of_cell[m], of_cell[m + at_y], of_cell[m + at_k], x1, y1, x2, y2)
                            was, best, its_edge = of_cell[m + at_least], of_cell[m + at_best], of_cell[m + at_edge]
                            place, second = of_cell[m + at_place], of_cell[m + at_second]
                            # Ties go to the lowest index, so the result does not depend on the order.
                            is_best = (d2 < was) | ((d2 == was) & (s < best))
                            farther = was if is_best else d2
                            of_cell[m + at_second] = farther if (its_edge != e) & (farther < second) else second
                            of_cell[m + at_least] = d2 if is_best else was
                            of_cell[m + at_place] = t if is_best else place
                            of_cell[m + at_best] = s if is_best else best
                            of_cell[m + at_edge] = e if is_best else its_edge
                    for m in range(n_cells):
                        metres = np.sqrt(of_cell[m + at_least])
                        reach = min(limit, metres + SURELY_M)
                        of_cell[m + at_k] = metres
                        # Negative where nothing is tied.
                        of_cell[m + at_second] = reach * reach - of_cell[m + at_second]
                    for row in range(top, bottom + 1):
                        for column in range(left, right + 1):
                            m = (row - top) * _PART + column - left
                            if is_requested[row, column] and of_cell[m + at_least] <= limit * limit:
                                segment[row, column] = np.int32(of_cell[m + at_best])
                                position[row, column] = of_cell[m + at_place]
                                distance[row, column] = of_cell[m + at_k]
                                may_be_tied[row, column] = of_cell[m + at_second] >= 0.0
                    for row in range(top, bottom + 1):
                        for column in range(left, right + 1):
                            m = (row - top) * _PART + column - left
                            if not (is_requested[row, column] and may_be_tied[row, column]):
                                continue
                            if n_near + n - n_quarter > near_number.size:
                                return -1
                            near_begin[row, column] = n_near
                            reach = min(limit, of_cell[m + at_k] + SURELY_M)
                            x, y, k = of_cell[m], of_cell[m + at_y], shrink[row]
                            for j in range(n_quarter, n):
                                t, d2 = place_on(x, y, k, ax[j], ay[j], bx[j], by[j])
                                near_number[n_near], near_t[n_near], near_d2[n_near] = number[j], t, d2
                                n_near += d2 <= reach * reach
                            near_end[row, column] = n_near
    return n_near


@kernel
def _squares_of(centres, is_requested, side):
    """
    Return the squares of a raster that have requested cells.

    Returns
    -------
    squares : _Squares
        With room for more.
    n : int
        Their number.
    """
    first_x, first_y, step, shrink = centres
    n_rows, n_columns = is_requested.shape
    most = ((n_rows - 1) // side + 1) * ((n_columns - 1) // side + 1)
    corners, px, py, k = np.empty((most, 4), np.int64), np.empty(most), np.empty(most), np.empty(most)
    half, longer = np.empty(most), np.empty(most)
    n = 0
    for begin_row in range(0, n_rows, side):
        for begin_column in range(0, n_columns, side):
            top, left, bottom, right = n_rows, n_columns, -1, -1
            for row in range(begin_row, min(begin_row + side, n_rows)):
                for column in range(begin_column, min(begin_column + side, n_columns)):
                    if is_requested[row, column]:
                        top, bottom = min(top, row), row
                        left, right = min(left, column), max(right, column)
            if bottom >= 0:
                corners[n, 0], corners[n, 1], corners[n, 2], corners[n, 3] = top, left, bottom, right
                px[n], py[n] = first_x + (left + right) * 0.5 * step, first_y + (top + bottom) * 0.5 * step
                k[n], longer[n] = shrink[(top + bottom) // 2], 0.0
                for row in range(top, bottom + 1):
                    longer[n] = max(longer[n], abs(shrink[row] / k[n] - 1.0))
                half[n] = _half_diagonal(top, left, bottom, right, step, k[n])
                n += 1
    return _Squares(corners, px, py, k, half, longer), n


@kernel(forceinline=True)
def _half_diagonal(top, left, bottom, right, step, k):
    """Return the distance from the middle of some cells to the centres at their corners, in metres."""
    return 0.5 * step * np.sqrt(((right - left) * k) ** 2.0 + (bottom - top) ** 2.0)


@kernel(forceinline=True)
def _radius(metres, half, limit, slack):
    """
    Return the distance from the middle of some cells within which all their nearest and tied segments are.

    Parameters
    ----------
    metres : float
        Distance of the middle to its nearest segment.
    half : float
        Distance to the centres at the corners.
    limit : float
        Farthest distance of a segment from its cell.
    slack : float
        How much longer a distance may be at the latitude of a cell than at that of the middle, as a share.
    """
    most = min(limit, (metres + half) * (1.0 + slack))
    # A millimetre against rounding.
    return (most + SURELY_M) * (1.0 + 2.0 * slack) + half + 0.001


@kernel
def _longer(near):
    """Return a copy with room for more than as many segments again."""
    size = 2 * near.segment.size
    segment, position, squared = np.empty(size, np.int32), np.empty(size), np.empty(size)
    for i in range(near.segment.size):
        segment[i], position[i], squared[i] = near.segment[i], near.position[i], near.squared[i]
    return Near(near.begin, segment, position, squared)


@kernel
def _in_order(tied, first, last, near):
    """Return the segments that may be tied of some cells in the order of these."""
    n_near = np.int64(0)
    for cell in tied:
        n_near += last[cell] - first[cell]
    begin = np.zeros(tied.size + 1, np.int64)
    segment, position, squared = np.empty(n_near, np.int32), np.empty(n_near), np.empty(n_near)
    n_near = np.int64(0)
    for i in range(tied.size):
        for j in range(np.int64(first[tied[i]]), np.int64(last[tied[i]])):
            segment[n_near], position[n_near], squared[n_near] = near.segment[j], near.position[j], near.squared[j]
            n_near += 1
        begin[i + 1] = n_near
    return Near(begin, segment, position, squared)
