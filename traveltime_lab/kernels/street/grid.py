"""
Index line segments with a uniform grid of square cells.

Cells are stored in square blocks, and a directory has the number of each block, so a cell is found without a search.
Only blocks with segments are stored, so empty land takes no memory. Coordinates are local metres of a `LocalFrame`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.components import order_by

#: Cells along the side of a block: this power of two.
_SHIFT = 6
_SIDE = 1 << _SHIFT
#: Rings of cells without segments are counted up to this number.
_RINGS = 16
#: Blocks whose rings are counted at once, so that temporary arrays take some megabytes.
_AT_ONCE = 256
#: Blocks that are stored for long segments alone: this number, or one for each segment (assumed). Segments of half the
#: circumference of the earth, as between nodes at wrong places, would take gigabytes.
_MOST_LONG_BLOCKS = 2_000


class Grid(NamedTuple):
    """
    Line segments and the square cells that they cross; see `build_grid`.

    Rows and columns of cells are numbered from the origin of the local metres. Searches skip those outside of the range
    with segments.
    """

    ends: np.ndarray  # float64 (n_segments, 4), m: x and y of one end, then of the other
    marks: np.ndarray  # uint8 (n_segments,), bits that searches can require
    edge: np.ndarray  # int32 (n_segments,), street of each segment
    cell: float  # side of a cell, m
    first_row: int
    last_row: int
    first_column: int
    last_column: int
    blocks: np.ndarray  # int32 (n_rows, n_columns) of blocks: number, or minus the distance to the next one in blocks
    begin: np.ndarray  # int32 (n_cells + 1,), begin of each stored cell in `members`
    rings: np.ndarray  # uint8 (n_cells,), ring of cells around each cell that has the first segment, at most `_RINGS`
    members: np.ndarray  # int32, segments of each cell, ascending within a cell


@kernel(forceinline=True)
def cell_at(row, column, blocks):
    """
    Return the number of a stored cell, -1 if its block is not stored.

    `row` and `column` are counted from the first ones of the grid, and must be within it.
    """
    block = np.int64(blocks[row >> _SHIFT, column >> _SHIFT])
    if block < 0:
        return np.int64(-1)
    return (block << (2 * _SHIFT)) | ((row & (_SIDE - 1)) << _SHIFT) | (column & (_SIDE - 1))


@kernel(forceinline=True)
def empty_rings(row, column, first_row, last_row, first_column, last_column, blocks, rings):
    """
    Return how many rings of cells around a cell certainly have no segments, counting the cell itself as the first.

    Parameters
    ----------
    row, column : int
        Cell, inside or outside of the grid.
    first_row, last_row, first_column, last_column, blocks, rings
        Fields of the `Grid`.
    """
    outside = max(max(first_row - row, row - last_row), max(first_column - column, column - last_column))
    if outside > 0:
        return outside
    r, c = row - first_row, column - first_column
    cell = cell_at(r, c, blocks)
    if cell >= 0:
        return np.int64(rings[cell])
    # The next block with segments is this many blocks away, so all blocks between are empty.
    away = -np.int64(blocks[r >> _SHIFT, c >> _SHIFT])
    return (away - 1) * _SIDE + 1


@kernel(forceinline=True)
def empty_metres(px, py, k, cell, first_row, last_row, first_column, last_column, blocks, rings):
    """
    Return a distance in metres within which a point certainly has no segment; 0 or less if there may be some.

    Parameters
    ----------
    px, py, k : float
        Point in local metres, and the shrink at its latitude.
    cell, first_row, last_row, first_column, last_column, blocks, rings
        Fields of the `Grid`.
    """
    column, row = np.int64(np.floor(px / cell)), np.int64(np.floor(py / cell))
    empty = empty_rings(row, column, first_row, last_row, first_column, last_column, blocks, rings)
    if empty == 0:
        return -1.0
    # To the nearest side of its cell, and the other cells without segments.
    inside = min(min(px - column * cell, (column + 1) * cell - px) * k, min(py - row * cell, (row + 1) * cell - py))
    return inside + (empty - 1) * min(1.0, k) * cell


@kernel
def _cells_of(x1, y1, x2, y2, cell, rows, columns, at):
    """
    Write the cells that a segment crosses to `rows` and `columns`, starting at position `at`.

    If these are empty, the cells are only counted.

    Returns
    -------
    int
        Position after the last cell.
    """
    write = rows.size > 0
    if y1 > y2:
        x1, y1, x2, y2 = x2, y2, x1, y1
    row1 = np.int64(np.floor(y1 / cell))
    row2 = np.int64(np.floor(y2 / cell))
    for row in range(row1, row2 + 1):
        if row1 == row2:
            xa, xb = x1, x2
        else:
            # Clip the segment to this row of cells.
            low = max(y1, row * cell)
            high = min(y2, (row + 1) * cell)
            xa = x1 + (x2 - x1) * (low - y1) / (y2 - y1)
            xb = x1 + (x2 - x1) * (high - y1) / (y2 - y1)
        if xa > xb:
            xa, xb = xb, xa
        # A micrometre wider than exact, so that rounding does not lose a cell of which the segment touches a corner.
        column1 = np.int64(np.floor((xa - 1e-6) / cell))
        column2 = np.int64(np.floor((xb + 1e-6) / cell))
        for column in range(column1, column2 + 1):
            if write:
                rows[at] = row
                columns[at] = column
            at += 1
    return at


def build_grid(x1, y1, x2, y2, cell, marks=None, edge=None):
    """
    Index segments by the square cells that they cross.

    Parameters
    ----------
    x1, y1, x2, y2 : float64 arrays of shape (n_segments,), m
    cell : float
        Side of a cell in metres; it is doubled as long as segments that are longer than many cells need too many.
    marks : uint8 array of shape (n_segments,), optional
        Bits that searches can require.
    edge : int32 array of shape (n_segments,), optional
        Street of each segment; needed to find ties.

    Returns
    -------
    Grid
    """
    marks = np.zeros(x1.size, np.uint8) if marks is None else marks
    edge = np.zeros(x1.size, np.int32) if edge is None else edge
    ends = np.column_stack([x1, y1, x2, y2]).astype(np.float64)
    across = np.abs(ends[:, 0] - ends[:, 2]) + np.abs(ends[:, 1] - ends[:, 3])
    while (across // (cell * _SIDE)).sum() > max(_MOST_LONG_BLOCKS, len(ends)):
        cell *= 2.0
    row, column, segment = _cells_of_all(ends, cell)
    if segment.size == 0:
        blocks, numbers = np.zeros((0, 0), np.int32), (np.zeros(1, np.int32), np.zeros(0, np.uint8), segment)
        return Grid(ends, marks, edge, cell, 0, -1, 0, -1, blocks, *numbers)
    first_row, first_column = int(row.min()), int(column.min())
    bounds = first_row, int(row.max()), first_column, int(column.max())
    row -= first_row
    column -= first_column
    is_stored = np.zeros(((bounds[1] - bounds[0]) // _SIDE + 1, (bounds[3] - bounds[2]) // _SIDE + 1), np.bool_)
    is_stored[row >> _SHIFT, column >> _SHIFT] = True
    blocks = np.where(is_stored, 0, np.iinfo(np.int32).max // 2).astype(np.int32)
    _spread_distances(blocks)
    blocks *= -1
    blocks[is_stored] = np.arange(is_stored.sum())
    begin, members = _members_by_cell(row, column, segment, blocks, is_stored.sum() << (2 * _SHIFT))
    return Grid(ends, marks, edge, cell, *bounds, blocks, begin, _rings_of(blocks, begin), members)


@kernel
def _cells_of_all(ends, cell):
    """Return row and column of the cells that segments cross, and the segment of each."""
    n = ends.shape[0]
    rows, columns = np.empty(0, np.int32), np.empty(0, np.int32)
    total = 0
    for i in range(n):
        total = _cells_of(ends[i, 0], ends[i, 1], ends[i, 2], ends[i, 3], cell, rows, columns, total)
    rows, columns = np.empty(total, np.int32), np.empty(total, np.int32)
    segment = np.empty(total, np.int32)
    at = np.int64(0)
    for i in range(n):
        end = _cells_of(ends[i, 0], ends[i, 1], ends[i, 2], ends[i, 3], cell, rows, columns, at)
        for j in range(at, end):
            segment[j] = i
        at = end
    return rows, columns, segment


def _members_by_cell(row, column, segment, blocks, n_cells):
    """Return `begin` and `members` of a `Grid`, given cells counted from the first row and column."""
    block = blocks[row >> _SHIFT, column >> _SHIFT]
    cell = (block << (2 * _SHIFT)) | ((row & (_SIDE - 1)) << _SHIFT) | (column & (_SIDE - 1))
    cell.flags.writeable = False
    begin, order = order_by(cell, n_cells)
    return begin, segment[order]


def _spread_distances(distance):
    """
    Replace each value by the least sum of a value and the number of rings to it.

    Two passes over the array are exact for this distance (Rosenfeld and Pfaltz, "Distance functions on digital
    pictures", Pattern Recognition 1, 1968).

    Parameters
    ----------
    distance : int32 array of shape (..., n_rows, n_columns)
        Overwritten.
    """
    column = np.arange(distance.shape[-1], dtype=np.int32)
    for towards in (distance, distance[..., ::-1, ::-1]):
        for r in range(towards.shape[-2]):
            row = towards[..., r, :]
            if r > 0:
                last = towards[..., r - 1, :] + 1
                np.minimum(row, last, out=row)
                np.minimum(row[..., 1:], last[..., :-1], out=row[..., 1:])
                np.minimum(row[..., :-1], last[..., 1:], out=row[..., :-1])
            # The least sum of a value and the columns to it, from the first column on.
            row[...] = np.minimum.accumulate(row - column, axis=-1) + column


def _rings_of(blocks, begin):
    """Return `rings` of a `Grid`."""
    rows, columns = np.nonzero(blocks >= 0)
    # The last block stands for all that are not stored, without segments.
    is_empty = np.ones((rows.size + 1, _SIDE, _SIDE), np.bool_)
    is_empty[:-1] = (begin[:-1] == begin[1:]).reshape(-1, _SIDE, _SIDE)
    numbers = np.pad(np.maximum(blocks, -1), 1, constant_values=-1)
    rings = np.empty((rows.size, _SIDE, _SIDE), np.uint8)
    # The cells of a block and of a margin around it, because segments in other blocks count, too.
    beside, cell = np.divmod(np.arange(-_RINGS, _SIDE + _RINGS), _SIDE)
    beside += 1
    for first in range(0, rows.size, _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        block = numbers[rows[some, None, None] + beside[:, None], columns[some, None, None] + beside]
        distance = np.where(is_empty[block, cell[:, None], cell], np.int32(_RINGS), np.int32(0))
        _spread_distances(distance)
        rings[some] = distance[:, _RINGS:-_RINGS, _RINGS:-_RINGS]
    return rings.reshape(-1)
