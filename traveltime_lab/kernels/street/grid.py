"""
Index line segments with a uniform grid in a hash table.

Only cells that a segment crosses are stored, so empty land takes no memory. Coordinates are local metres of a
`LocalFrame`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel


class Grid(NamedTuple):
    """
    Line segments and the square cells that they cross; see `build_grid`.

    Rows and columns of cells are numbered from the origin of the local metres. Searches skip those outside of the range
    with segments.
    """

    x1: np.ndarray  # float64 (n_segments,), m: one end
    y1: np.ndarray
    x2: np.ndarray  # float64 (n_segments,), m: the other end
    y2: np.ndarray
    cell: float  # side of a cell, m
    first_row: int
    last_row: int
    first_column: int
    last_column: int
    table: np.ndarray  # int64 (n_slots, 3), hash table: key of a cell, begin (-1 in free slots) and end in `members`
    members: np.ndarray  # int32, segments of each cell, ascending within a cell
    marks: np.ndarray  # uint8 (n_segments,), bits that searches can require


@kernel(inline="always")
def slot_of(key, mask):
    """Return the home slot of a cell key (Fibonacci hashing)."""
    return np.int64((np.uint64(key) * np.uint64(11400714819323198485)) >> np.uint64(32)) & mask


@kernel
def _cells_of(x1, y1, x2, y2, cell, keys, at):
    """
    Write the keys of the cells that a segment crosses to `keys`, starting at position `at`.

    If `keys` is empty, the keys are only counted.

    Returns
    -------
    int
        Position after the last key.
    """
    write = keys.size > 0
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
                keys[at] = (row << np.int64(32)) ^ (column & np.int64(0xFFFFFFFF))
            at += 1
    return at


def build_grid(x1, y1, x2, y2, cell, marks=None):
    """
    Index segments by the square cells that they cross.

    Parameters
    ----------
    x1, y1, x2, y2 : float64 arrays of shape (n_segments,), m
    cell : float
        Side of a cell in metres.
    marks : uint8 array of shape (n_segments,), optional
        Bits that searches can require.

    Returns
    -------
    Grid
    """
    marks = np.zeros(x1.size, np.uint8) if marks is None else marks
    keys, segment = _cells_of_all(x1, y1, x2, y2, cell)
    order = np.argsort(keys, kind="stable")
    bounds, table = _table_of(keys, order)
    return Grid(x1, y1, x2, y2, cell, *bounds, table, segment[order], marks)


@kernel
def _cells_of_all(x1, y1, x2, y2, cell):
    """Return the keys of the cells that segments cross, and the segment of each key."""
    n = x1.size
    keys = np.empty(0, np.int64)
    total = 0
    for i in range(n):
        total = _cells_of(x1[i], y1[i], x2[i], y2[i], cell, keys, total)
    keys = np.empty(total, np.int64)
    segment = np.empty(total, np.int32)
    at = np.int64(0)
    for i in range(n):
        end = _cells_of(x1[i], y1[i], x2[i], y2[i], cell, keys, at)
        for k in range(at, end):
            segment[k] = i
        at = end
    return keys, segment


@kernel
def _table_of(keys, order):
    """Return the range of rows and columns and the hash table of a `Grid`, given keys and the order that sorts them."""
    total = keys.size
    first_row, last_row = np.int64(0), np.int64(-1)
    first_column, last_column = np.int64(0), np.int64(-1)
    for i in range(total):
        row, column = keys[i] >> np.int64(32), np.int64(np.int32(keys[i] & np.int64(0xFFFFFFFF)))
        if i == 0:
            first_row, last_row, first_column, last_column = row, row, column, column
        first_row, last_row = min(first_row, row), max(last_row, row)
        first_column, last_column = min(first_column, column), max(last_column, column)
    distinct = 0
    for i in range(total):
        if i == 0 or keys[order[i]] != keys[order[i - 1]]:
            distinct += 1
    size = 16
    while size < 2 * distinct:
        size *= 2
    mask = np.int64(size - 1)
    table = np.full((size, 3), -1, np.int64)
    i = 0
    while i < total:
        key = keys[order[i]]
        end = i + 1
        while end < total and keys[order[end]] == key:
            end += 1
        slot = slot_of(key, mask)
        while table[slot, 1] != -1:
            slot = (slot + 1) & mask
        table[slot, 0] = key
        table[slot, 1] = i
        table[slot, 2] = end
        i = end
    return (first_row, last_row, first_column, last_column), table
