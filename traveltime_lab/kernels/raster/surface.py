"""
Compute travel times at the cells of a raster from the labels of directed edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.unreached import UNREACHED

#: More than any edge.
_LAST_EDGE = np.int32(np.iinfo(np.int32).max)


class Cells(NamedTuple):
    """Cells of a raster, shape (n_rows, n_columns), and the way between the centre of a cell and its nearest edge."""

    edge: np.ndarray  # int32, nearest edge, -1 for none
    fraction: np.ndarray  # float32, position on the edge, 0 to 1
    distance: np.ndarray  # float32, m: distance to the edge
    per_metre: float  # value of one metre of that distance, in seconds or metres
    buffer_m: float  # cells farther than this from their edge have no value
    tied_cell: np.ndarray  # int32 (n_tied,), cells with another edge as near: row * n_columns + column, ascending
    tied_edge: np.ndarray  # int32 (n_tied,)
    tied_fraction: np.ndarray  # float32 (n_tied,)
    tied_distance: np.ndarray  # float32 (n_tied,), m


class Window(NamedTuple):
    """A rectangle of the cells of a tile, and where it is in an array of values."""

    top: int  # first row and column, and those after the last
    left: int
    bottom: int
    right: int
    row: int  # of the first cell in the array of values
    column: int
    blocks: np.ndarray  # bool (n, n), square blocks of cells of the whole tile that are read


class Origin(NamedTuple):
    """Positions of the origin of a field. Cells on their edges may be reached along them, without a junction."""

    edge: np.ndarray  # int32 (n,)
    fraction: np.ndarray  # float64 (n,)
    ahead: np.ndarray  # float64 (n, 2), values of the whole edge to higher and to lower fractions; inf where closed
    start: np.ndarray  # float64 (n,), value at each position


class EdgeBoxes(NamedTuple):
    """Bounding boxes of edges."""

    boxes: np.ndarray  # float32 (n_edges, 4), m: west, south, east, north in local metres, rounded outwards
    is_land: np.ndarray  # bool (n_edges,), edges that extend a bounding box of several, in contrast to ferries


@kernel
def edge_rows(start, traversal, unit, is_backward, edge_boxes, limit, own_edges, rows):
    """
    Prepare the labels of directed edges for `gather`, and return the bounding box of the reached edges.

    Parameters
    ----------
    start : int64 array of shape (n_directed,)
        Labels of a field, see `traveltime_lab.streets.links.EdgeField.label`.
    traversal : int64 array of shape (n_directed,)
        Labels of the directed edges from start to end.
    unit : float
        Units of the upper part of a label per second or metre.
    is_backward : bool
        True if the labels come from a backward search.
    edge_boxes : EdgeBoxes
    limit : float
        Edges with larger values do not extend the bounding box.
    own_edges : int32 array of shape (n,)
        Edges that always extend the bounding box.
    rows : float32 array of shape (n_edges, 4)
        Overwritten: the value at position `f` (0 to 1) on the edge is the smaller of ``row[0] + f * row[1]`` and
        ``row[2] + (1 - f) * row[3]``; inf where a side is not reached.

    Returns
    -------
    float64 array of shape (4,), m
        West, south, east, north.
    """
    boxes, is_land = edge_boxes
    west, south, east, north = np.inf, np.inf, -np.inf, -np.inf
    # In a backward search the value is the rest of the edge after the position plus the label at the end of the edge.
    first, second = (1, 0) if is_backward else (0, 1)
    for e in range(rows.shape[0]):
        a, b = start[2 * e + first], start[2 * e + second]
        low = np.inf
        if a != UNREACHED:
            low = (a >> 32) / unit
            rows[e, 0] = low
            rows[e, 1] = (traversal[2 * e + first] >> 32) / unit
        else:
            rows[e, 0] = np.inf
            rows[e, 1] = 0.0
        if b != UNREACHED:
            value = (b >> 32) / unit
            low = min(low, value)
            rows[e, 2] = value
            rows[e, 3] = (traversal[2 * e + second] >> 32) / unit
        else:
            rows[e, 2] = np.inf
            rows[e, 3] = 0.0
        if low <= limit and is_land[e]:
            west, south = min(west, boxes[e, 0]), min(south, boxes[e, 1])
            east, north = max(east, boxes[e, 2]), max(north, boxes[e, 3])
    for e in own_edges:
        west, south = min(west, boxes[e, 0]), min(south, boxes[e, 1])
        east, north = max(east, boxes[e, 2]), max(north, boxes[e, 3])
    return np.array([west, south, east, north])


@kernel
def box_of_rows(edges, rows, column, edge_boxes, limit, own_edges):
    """
    Return the bounding box of the edges whose values are within a limit; see `edge_rows`.

    Parameters
    ----------
    edges : int32 array
        Edges to look at.
    column : int
        The first of the four columns of `rows` that have the values.

    Returns
    -------
    float64 array of shape (4,), m
        West, south, east, north.
    """
    boxes, is_land = edge_boxes
    west, south, east, north = np.inf, np.inf, -np.inf, -np.inf
    for i in range(edges.size + own_edges.size):
        is_own = i >= edges.size
        e = own_edges[i - edges.size] if is_own else edges[i]
        if is_own or (is_land[e] and min(rows[e, column], rows[e, column + 2]) <= limit):
            west, south = min(west, boxes[e, 0]), min(south, boxes[e, 1])
            east, north = max(east, boxes[e, 2]), max(north, boxes[e, 3])
    return np.array([west, south, east, north])


@kernel
def mark_blocks(edges, margins, edge_boxes, shrink, block_m, first_row, first_column, reaches, marks):
    """
    Mark the square blocks of cells that may have cells within a distance of some edges.

    Parameters
    ----------
    edges : int32 array of shape (n,)
        Ferries among them are left out, because cells do not belong to them.
    margins : float64 array of shape (n,)
        The distance for each edge, m.
    edge_boxes : EdgeBoxes
    shrink : float
        Least ratio of true east-west metres to metres of the frame.
    block_m : float
        Side of a block in metres.
    first_row, first_column : int
        Row and column of the first mark; block (0, 0) has its south-west corner at the origin of the local metres.
    reaches : float32 array of shape (n_rows, n_columns)
        Distance from the cells of each block within which their edges are, m; inf if it is not known.
    marks : bool array of shape (n_rows, n_columns)
        Set to True for these blocks.
    """
    boxes, is_land = edge_boxes
    n_rows, n_columns = marks.shape
    longest = 0.0
    for row in range(n_rows):
        for column in range(n_columns):
            longest = max(longest, np.float64(reaches[row, column]))
    for i in range(edges.size):
        e = edges[i]
        if not is_land[e]:
            continue
        margin = min(margins[i], longest)
        west, south, east, north = boxes[e, 0], boxes[e, 1], boxes[e, 2], boxes[e, 3]
        top = max(np.int64(np.floor((south - margin) / block_m)) - first_row, 0)
        bottom = min(np.int64(np.floor((north + margin) / block_m)) - first_row, n_rows - 1)
        left = max(np.int64(np.floor((west - margin / shrink) / block_m)) - first_column, 0)
        right = min(np.int64(np.floor((east + margin / shrink) / block_m)) - first_column, n_columns - 1)
        for row in range(top, bottom + 1):
            y = (first_row + row) * block_m
            dy = max(0.0, max(south - y - block_m, y - north))
            for column in range(left, right + 1):
                if not marks[row, column]:
                    x = (first_column + column) * block_m
                    dx = max(0.0, max(west - x - block_m, x - east)) * shrink
                    most = min(margin, np.float64(reaches[row, column]))
                    marks[row, column] = dx * dx + dy * dy <= most * most


@kernel
def cells_within(edge, fraction, distance, tied, top, bottom, left, right):
    """
    Return a rectangle of cells in arrays of its own, and the tied edges numbered within it.

    Parameters
    ----------
    edge, fraction, distance : arrays of shape (n_rows, n_columns)
        As in `Cells`.
    tied : tuple of arrays of shape (n_tied,)
        The last four of `Cells`.
    top, bottom, left, right : int
        First row and column of the rectangle, and those after its last.

    Returns
    -------
    edge, fraction, distance, tied_cell, tied_edge, tied_fraction, tied_distance
    """
    n_columns, shape = edge.shape[1], (bottom - top, right - left)
    new_edge, new_fraction = np.empty(shape, np.int32), np.empty(shape, np.float32)
    new_distance = np.empty(shape, np.float32)
    for row in range(shape[0]):
        for column in range(shape[1]):
            new_edge[row, column] = edge[top + row, left + column]
            new_fraction[row, column] = fraction[top + row, left + column]
            new_distance[row, column] = distance[top + row, left + column]
    tied_cell, tied_edge, tied_fraction, tied_distance = tied
    first, last = np.searchsorted(tied_cell, top * n_columns), np.searchsorted(tied_cell, bottom * n_columns)
    n = last - first
    cell, also = np.empty(n, np.int32), np.empty(n, np.int32)
    place, metres = np.empty(n, np.float32), np.empty(n, np.float32)
    n, begin = 0, top * n_columns
    row = top
    for k in range(first, last):
        while tied_cell[k] >= begin + n_columns:
            begin += n_columns
            row += 1
        column = tied_cell[k] - begin
        if left <= column < right:
            cell[n] = (row - top) * (right - left) + column - left
            also[n], place[n], metres[n] = tied_edge[k], tied_fraction[k], tied_distance[k]
            n += 1
    return new_edge, new_fraction, new_distance, cell[:n], also[:n], place[:n], metres[:n]


@kernel
def joined_cells(edge, fraction, distance, tied, other_edge, other_fraction, other_distance, other_tied, is_other):
    """
    Return the cells of a tile, with some cells, which have no edge there, replaced by those of a second tile.

    Parameters
    ----------
    edge, fraction, distance, tied
        As in `cells_within`.
    other_edge, other_fraction, other_distance, other_tied
        The same of the other tile.
    is_other : bool array of shape (n_rows, n_columns)
        Cells of the other tile.

    Returns
    -------
    edge, fraction, distance, tied_cell, tied_edge, tied_fraction, tied_distance
    """
    shape, of_other = edge.shape, is_other.reshape(-1)
    new_edge, new_fraction = np.empty(shape, np.int32), np.empty(shape, np.float32)
    new_distance = np.empty(shape, np.float32)
    for row in range(shape[0]):
        for column in range(shape[1]):
            own = not is_other[row, column]
            new_edge[row, column] = edge[row, column] if own else other_edge[row, column]
            new_fraction[row, column] = fraction[row, column] if own else other_fraction[row, column]
            new_distance[row, column] = distance[row, column] if own else other_distance[row, column]
    tied_cell, tied_edge, tied_fraction, tied_distance = tied
    also_cell, also_edge, also_fraction, also_distance = other_tied
    most = tied_cell.size + also_cell.size
    cell, also = np.empty(most, np.int32), np.empty(most, np.int32)
    place, metres = np.empty(most, np.float32), np.empty(most, np.float32)
    n, i = 0, 0
    for j in range(also_cell.size + 1):
        last = j == also_cell.size
        if not last and not of_other[also_cell[j]]:
            continue
        while i < tied_cell.size and (last or tied_cell[i] < also_cell[j]):
            cell[n], also[n], place[n], metres[n] = tied_cell[i], tied_edge[i], tied_fraction[i], tied_distance[i]
            n, i = n + 1, i + 1
        if not last:
            cell[n], also[n], place[n], metres[n] = also_cell[j], also_edge[j], also_fraction[j], also_distance[j]
            n += 1
    return new_edge, new_fraction, new_distance, cell[:n].copy(), also[:n].copy(), place[:n].copy(), metres[:n].copy()


@kernel
def _range_of(edges):
    """Return the first and the last of some edges; no edge is between these if there are none."""
    first, last = _LAST_EDGE, np.int32(-1)
    for edge in edges:
        first, last = min(first, edge), max(last, edge)
    return first, last


# The loops over cells read local variables and call nothing: a field of a named tuple, or an array that is an argument
# of a function called for each cell, would be counted as a reference each time, which takes several times as long. As
# tied edges are in the order of cells, each loop reads the nearest edge of a cell and then those that are as near.


@kernel
def gather(cells, window, rows, origin, values):
    """
    Fill the value of each cell of some blocks of a tile from its nearest edges.

    Parameters
    ----------
    cells : Cells
        All cells of the tile.
    window : Window
    rows : float32 array of shape (n_edges, 4)
        From `edge_rows`.
    origin : Origin
    values : float32 array of shape (n_rows, n_columns)
        Overwritten within the blocks of the window; inf where not reached.
    """
    per_metre, buffer_m, n_columns = cells.per_metre, cells.buffer_m, cells.edge.shape[1]
    edge, fraction, distance = cells.edge.reshape(-1), cells.fraction.reshape(-1), cells.distance.reshape(-1)
    tied_cell, tied_edge, tied_fraction, tied_distance = (
        cells.tied_cell, cells.tied_edge, cells.tied_fraction, cells.tied_distance,
    )  # fmt: skip
    own_edge, own_fraction, own_ahead, own_start = origin
    first_own, last_own = _range_of(own_edge)
    top, left, bottom, right, to_row, to_column, blocks = window
    side, of_each, width = n_columns // blocks.shape[1], values.reshape(-1), values.shape[1]
    n_tied, tied = tied_cell.size, 0
    for row in range(top, bottom):
        # Cells of the row are read in runs of blocks.
        column = left
        while column < right:
            if not blocks[row // side, column // side]:
                column = (column // side + 1) * side
                continue
            first, end = row * n_columns + column, column
            while end < right and blocks[row // side, end // side]:
                end = (end // side + 1) * side
            end = min(end, right)
            while tied < n_tied and tied_cell[tied] < first:
                tied += 1
            next_tied = tied_cell[tied] if tied < n_tied else -1
            shift = (to_row + row - top) * width + to_column - left + column - first
            for k in range(first, first + end - column):
                e, f, d = edge[k], fraction[k], distance[k]
                least = np.float32(np.inf)
                while True:
                    if e >= 0 and d <= buffer_m:
                        best = np.float64(
                            min(rows[e, 0] + f * rows[e, 1], rows[e, 2] + (np.float32(1.0) - f) * rows[e, 3])
                        )
                        if first_own <= e <= last_own:
                            for o in range(own_edge.size):
                                if e == own_edge[o]:
                                    # At the origin itself a closed direction does not matter: 0 times inf would be NaN.
                                    ahead = f - own_fraction[o]
                                    if ahead > 0.0:
                                        best = min(best, own_start[o] + ahead * own_ahead[o, 0])
                                    elif ahead < 0.0:
                                        best = min(best, own_start[o] - ahead * own_ahead[o, 1])
                                    else:
                                        best = min(best, own_start[o])
                        least = min(least, np.float32(best + d * per_metre))
                    if k != next_tied:
                        break
                    e, f, d = tied_edge[tied], tied_fraction[tied], tied_distance[tied]
                    tied += 1
                    next_tied = tied_cell[tied] if tied < n_tied else -1
                of_each[k + shift] = least
            column = end


@kernel
def gather_lengths(cells, rows, origin, ahead_m, start_m, seconds_per_metre, values):
    """
    Fill the length in metres of the fastest route to each cell; see `gather`.

    Parameters
    ----------
    rows : float32 array of shape (n_edges, 8)
        From `traveltime_lab.kernels.street.reading.reached_lengths`.
    origin : Origin
        With values in seconds.
    ahead_m, start_m : float64 arrays of shape (n_positions,)
        Lengths that belong to the seconds of `origin`.
    seconds_per_metre : float
        Time of one metre between a cell and its edge, which decides between edges that are as near.
    """
    per_metre, buffer_m, of_each = cells.per_metre, cells.buffer_m, values.reshape(-1)
    edge, fraction, distance = cells.edge.reshape(-1), cells.fraction.reshape(-1), cells.distance.reshape(-1)
    tied_cell, tied_edge, tied_fraction, tied_distance = (
        cells.tied_cell, cells.tied_edge, cells.tied_fraction, cells.tied_distance,
    )  # fmt: skip
    own_edge, own_fraction, own_ahead, own_start = origin
    first_own, last_own = _range_of(own_edge)
    n_tied, tied = tied_cell.size, 0
    next_tied = tied_cell[0] if n_tied else -1
    for k in range(edge.size):
        e, f, d = edge[k], fraction[k], distance[k]
        least_s, of_least = np.inf, np.inf
        while True:
            if e >= 0 and d <= buffer_m:
                g = np.float32(1.0) - f
                time, metres = rows[e, 0] + f * rows[e, 1], rows[e, 4] + f * rows[e, 5]
                other = rows[e, 2] + g * rows[e, 3]
                if other < time:
                    time, metres = other, rows[e, 6] + g * rows[e, 7]
                if first_own <= e <= last_own:
                    for o in range(own_edge.size):
                        if e == own_edge[o]:
                            ahead = f - own_fraction[o]
                            straight = own_start[o]
                            if ahead > 0.0:
                                straight += ahead * own_ahead[o, 0]
                            elif ahead < 0.0:
                                straight -= ahead * own_ahead[o, 1]
                            if np.isfinite(straight) and straight <= time:
                                time, metres = np.float32(straight), np.float32(start_m[o] + abs(ahead) * ahead_m[o])
                seconds = time + d * seconds_per_metre
                if seconds < least_s:
                    least_s, of_least = seconds, metres + d * per_metre
            if k != next_tied:
                break
            e, f, d = tied_edge[tied], tied_fraction[tied], tied_distance[tied]
            tied += 1
            next_tied = tied_cell[tied] if tied < n_tied else -1
        of_each[k] = of_least
