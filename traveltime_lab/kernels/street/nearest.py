"""
Nearest street: a uniform grid over line segments, hashed so that empty land costs nothing.

Coordinates are local metres of a `LocalFrame`; `shrink` says by how much true east-west metres differ from frame
metres at the query's latitude, so answers are right far from the frame's centre too.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True, inline="always")
def _slot(key, mask):
    """Return the home slot of a cell key (Fibonacci hashing)."""
    return np.int64((np.uint64(key) * np.uint64(11400714819323198485)) >> np.uint64(32)) & mask


@numba.njit(cache=True, nogil=True)
def _cells_of(x1, y1, x2, y2, cell, keys, at):
    """Write the keys of the cells that a segment crosses to `keys` from `at` (only count if empty); return the end."""
    write = keys.size > 0
    if y1 > y2:
        x1, y1, x2, y2 = x2, y2, x1, y1
    row1 = np.int64(np.floor(y1 / cell))
    row2 = np.int64(np.floor(y2 / cell))
    for row in range(row1, row2 + 1):
        if row1 == row2:
            xa, xb = x1, x2
        else:
            # The part of the segment inside this row of cells.
            low = max(y1, row * cell)
            high = min(y2, (row + 1) * cell)
            xa = x1 + (x2 - x1) * (low - y1) / (y2 - y1)
            xb = x1 + (x2 - x1) * (high - y1) / (y2 - y1)
        if xa > xb:
            xa, xb = xb, xa
        # A hair wider than exact: rounding must not lose the cell in which a segment only touches a corner.
        column1 = np.int64(np.floor((xa - 1e-6) / cell))
        column2 = np.int64(np.floor((xb + 1e-6) / cell))
        for column in range(column1, column2 + 1):
            if write:
                keys[at] = (row << np.int64(32)) ^ (column & np.int64(0xFFFFFFFF))
            at += 1
    return at


@numba.njit(cache=True, nogil=True)
def build_grid(x1, y1, x2, y2, cell):
    """
    Index segments by the square cells that they cross.

    Parameters
    ----------
    x1, y1, x2, y2 : float64 arrays of shape (n_segments,), m
    cell : float
        Side of a cell in metres.

    Returns
    -------
    lattice : tuple of float, int, int, int, int
        Side of a cell, first and last row and first and last column that hold anything: searches begin there, however
        far away their points are.
    table : int64 array of shape (n_slots, 3)
        Open-addressing hash table: cell key, begin and end in `members`; begin is -1 in free slots.
    members : int32 array
        Segments, cell by cell, ascending.
    """
    n = x1.size
    none = np.empty(0, np.int64)
    total = 0
    for i in range(n):
        total = _cells_of(x1[i], y1[i], x2[i], y2[i], cell, none, total)
    keys = np.empty(total, np.int64)
    segment = np.empty(total, np.int32)
    at = 0
    for i in range(n):
        end = _cells_of(x1[i], y1[i], x2[i], y2[i], cell, keys, at)
        segment[at:end] = i
        at = end
    order = np.argsort(keys, kind="mergesort")
    members = segment[order]
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
        slot = _slot(key, mask)
        while table[slot, 1] != -1:
            slot = (slot + 1) & mask
        table[slot, 0] = key
        table[slot, 1] = i
        table[slot, 2] = end
        i = end
    return (cell, first_row, last_row, first_column, last_column), table, members


@numba.njit(cache=True, nogil=True, inline="always")
def _place_on(px, py, k, ax, ay, bx, by):
    """Return the place on a segment that is nearest to a point, 0 to 1, and the square of its distance."""
    to_x = (ax - px) * k
    to_y = ay - py
    dx = (bx - ax) * k
    dy = by - ay
    squared = dx * dx + dy * dy
    t = 0.0
    if squared > 0.0:
        t = -(to_x * dx + to_y * dy) / squared
        t = 0.0 if t < 0.0 else (1.0 if t > 1.0 else t)
    ex = to_x + t * dx
    ey = to_y + t * dy
    return t, ex * ex + ey * ey


@numba.njit(cache=True, nogil=True)
def _nearest(px, py, k, limit, skip, x1, y1, x2, y2, lattice, table, members):
    """
    Return the nearest segment to a point within `limit` metres: index (-1 if none), position 0..1, distance.

    `k` is the shrink at the point; rings of cells nearer than `skip` metres are known to be empty.
    """
    cell, first_row, last_row, first_column, last_column = lattice
    mask = np.int64(table.shape[0] - 1)
    column = np.int64(np.floor(px / cell))
    row = np.int64(np.floor(py / cell))
    # How far the point is from the sides of its cell, the start of every ring's inner distance.
    inside = min(min(px - column * cell, (column + 1) * cell - px) * k, min(py - row * cell, (row + 1) * cell - py))
    narrow = min(1.0, k) * cell
    best = limit * limit
    best_segment = -1
    best_t = 0.0
    ring = 0
    if skip > 0.0:
        wide = max(1.0, k) * cell
        ring = max(0, np.int64(np.floor(skip / (wide * 1.4142135623730951))) - 1)
    # Rings before the first cell that holds anything, and behind the last.
    ring = max(ring, max(max(first_row - row, row - last_row), max(first_column - column, column - last_column)))
    last_ring = max(max(row - first_row, last_row - row), max(column - first_column, last_column - column))
    while ring <= last_ring:
        inner = 0.0 if ring == 0 else inside + (ring - 1) * narrow
        if inner * inner > best or inner > limit:
            break
        for r in range(max(row - ring, first_row), min(row + ring, last_row) + 1):
            step = 1 if (r == row - ring or r == row + ring or ring == 0) else 2 * ring
            first = column - ring if step > 1 else max(column - ring, first_column)
            for c in range(first, min(column + ring, last_column) + 1, step):
                if c < first_column:
                    continue
                key = (r << np.int64(32)) ^ (c & np.int64(0xFFFFFFFF))
                slot = _slot(key, mask)
                while table[slot, 1] != -1 and table[slot, 0] != key:
                    slot = (slot + 1) & mask
                if table[slot, 1] == -1:
                    continue
                for m in range(table[slot, 1], table[slot, 2]):
                    i = members[m]
                    t, d2 = _place_on(px, py, k, x1[i], y1[i], x2[i], y2[i])
                    # Equally near segments: the lowest index, so the answer never depends on the order of cells.
                    if d2 < best or (d2 == best and (best_segment == -1 or i < best_segment)):
                        best = d2
                        best_segment = i
                        best_t = t
        ring += 1
    return best_segment, best_t, np.sqrt(best)


@numba.njit(cache=True, nogil=True)
def nearest_segments(px, py, shrink, limit, x1, y1, x2, y2, lattice, table, members, segment, position, distance):
    """
    Fill the nearest segment of each point.

    Parameters
    ----------
    px, py, shrink : float64 arrays of shape (n,)
        Points in local metres and the shrink at their latitudes.
    limit : float
        Farthest segment to accept, m.
    x1, y1, x2, y2, lattice, table, members
        The grid, see `build_grid`.
    segment, position, distance : int32, float64, float64 arrays of shape (n,)
        Overwritten: segment or -1, place on it from 0 to 1, metres (inf if none).
    """
    for i in range(px.size):
        s, t, d = _nearest(px[i], py[i], shrink[i], limit, 0.0, x1, y1, x2, y2, lattice, table, members)
        segment[i] = s
        position[i] = t
        distance[i] = d if s >= 0 else np.inf


@numba.njit(cache=True, nogil=True)
def _candidates(px, py, k, least, most, x1, y1, x2, y2, lattice, table, members, found):
    """
    Write the segments within `most` metres of a point to `found`; return how many, -1 if there is no room.

    None is nearer than `least` metres. Segments in several cells of the grid are found several times.
    """
    cell, first_row, last_row, first_column, last_column = lattice
    mask = np.int64(table.shape[0] - 1)
    column = np.int64(np.floor(px / cell))
    row = np.int64(np.floor(py / cell))
    rings = np.int64(np.ceil(most / (min(1.0, k) * cell))) + 1
    n = 0
    for r in range(max(row - rings, first_row), min(row + rings, last_row) + 1):
        # Nearest and farthest place of the row of cells, then of each cell in it.
        near_y = max(0.0, max(r * cell - py, py - (r + 1) * cell))
        far_y = max(abs(r * cell - py), abs((r + 1) * cell - py))
        if near_y > most:
            continue
        for c in range(max(column - rings, first_column), min(column + rings, last_column) + 1):
            near_x = max(0.0, max(c * cell - px, px - (c + 1) * cell)) * k
            if near_x * near_x + near_y * near_y > most * most:
                continue
            far_x = max(abs(c * cell - px), abs((c + 1) * cell - px)) * k
            if far_x * far_x + far_y * far_y < least * least:
                continue
            key = (r << np.int64(32)) ^ (c & np.int64(0xFFFFFFFF))
            slot = _slot(key, mask)
            while table[slot, 1] != -1 and table[slot, 0] != key:
                slot = (slot + 1) & mask
            if table[slot, 1] == -1:
                continue
            for m in range(table[slot, 1], table[slot, 2]):
                i = members[m]
                _, squared = _place_on(px, py, k, x1[i], y1[i], x2[i], y2[i])
                if squared <= most * most:
                    if n == found.size:
                        return -1
                    found[n] = i
                    n += 1
    return n


@numba.njit(cache=True, nogil=True)
def nearest_on_raster(
    first_x, first_y, step, shrink, limit, x1, y1, x2, y2, lattice, table, members, segment, position, distance
):
    """
    Fill the nearest segment of each cell centre of a raster, row 0 in the south.

    Parameters
    ----------
    first_x, first_y, step : float
        Centre of cell (0, 0) and the distance between centres, m.
    shrink : float64 array of shape (n_rows,)
    limit, x1, y1, x2, y2, lattice, table, members
        As in `nearest_segments`.
    segment, position, distance : int32, float32, float32 arrays of shape (n_rows, n_columns)
        Overwritten, as in `nearest_segments`.

    Notes
    -----
    The raster is worked off in blocks of 8 by 8. Far from the streets all centres of a block have their nearest
    segment among the few that are about as near to its middle as the nearest one is; in the streets neighbouring
    centres bound each other's distances.
    """
    n_rows, n_columns = segment.shape
    side = 8
    near = np.empty(512, np.int32)
    for top in range(0, n_rows, side):
        for left in range(0, n_columns, side):
            bottom, right = min(top + side, n_rows), min(left + side, n_columns)
            middle = (top + bottom) // 2
            k = shrink[middle]
            px = first_x + (left + right - 1) / 2.0 * step
            py = first_y + (top + bottom - 1) / 2.0 * step
            # A hair more than half of the diagonal, because the shrink differs from row to row.
            half = np.hypot((right - left) / 2.0 * k, (bottom - top) / 2.0) * step * 1.001 + 0.1
            s, _, d = _nearest(px, py, k, limit + half, 0.0, x1, y1, x2, y2, lattice, table, members)
            n = -1
            if s < 0:
                n = 0
            elif d > 2.0 * half:
                most = min(d + 2.0 * half, limit + half)
                n = _candidates(px, py, k, d * 0.999, most, x1, y1, x2, y2, lattice, table, members, near)
            for r in range(top, bottom):
                if n >= 0:
                    _nearest_of(
                        first_x, first_y + r * step, step, shrink[r], limit, left, right, near[:n],
                        x1, y1, x2, y2, segment[r], position[r], distance[r],
                    )  # fmt: skip
                else:
                    _nearest_in_row(
                        first_x, first_y + r * step, step, shrink[r], limit, left, right,
                        x1, y1, x2, y2, lattice, table, members, segment[r], position[r], distance[r],
                    )  # fmt: skip


@numba.njit(cache=True, nogil=True)
def _nearest_of(first_x, py, step, k, limit, left, right, candidates, x1, y1, x2, y2, segment, position, distance):
    """Fill the nearest of some segments for the columns `left` to `right` of a row."""
    for c in range(left, right):
        px = first_x + c * step
        best = limit * limit
        best_segment = -1
        best_t = 0.0
        for i in candidates:
            t, squared = _place_on(px, py, k, x1[i], y1[i], x2[i], y2[i])
            if squared < best or (squared == best and (best_segment == -1 or i < best_segment)):
                best = squared
                best_segment = i
                best_t = t
        segment[c] = best_segment
        position[c] = best_t
        distance[c] = np.sqrt(best) if best_segment >= 0 else np.inf


@numba.njit(cache=True, nogil=True)
def _nearest_in_row(
    first_x, py, step, k, limit, left, right, x1, y1, x2, y2, lattice, table, members, segment, position, distance
):
    """Fill the nearest segment for the columns `left` to `right` of a row, each bounding the distance of the next."""
    hop = step * k
    known = -1.0
    found = False
    for c in range(left, right):
        skip = 0.0
        bound = limit
        if known >= 0.0:
            skip = max(0.0, known - hop)
            if found:
                bound = min(limit, (known + hop) * 1.000001 + 1e-3)
        s, t, d = _nearest(first_x + c * step, py, k, bound, skip, x1, y1, x2, y2, lattice, table, members)
        segment[c] = s
        position[c] = t
        found = s >= 0
        distance[c] = d if found else np.inf
        known = d if found else limit
