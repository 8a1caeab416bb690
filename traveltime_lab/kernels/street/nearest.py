"""
Find the nearest street segment of a point.

Coordinates are local metres of a `LocalFrame`. East-west distances in the frame are exact at the latitude of its centre
only; `shrink` is the ratio of true east-west metres to frame metres at the latitude of a point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.crossings import is_barred
from traveltime_lab.kernels.street.grid import slot_of

#: How much farther away than the nearest street the street may be that a point is snapped to instead (assumed).
DETOUR_M = 500.0


class Centres(NamedTuple):
    """Centres of the cells of a raster in local metres, row 0 in the south."""

    first_x: float  # centre of the cell in row 0 and column 0, m
    first_y: float
    step: float  # distance between neighbours, m
    shrink: np.ndarray  # float64 (n_rows,)


class Nearest(NamedTuple):
    """Nearest segments of points, shape (n,), or of the cells of a raster, shape (n_rows, n_columns)."""

    segment: np.ndarray  # int32, -1 if there is none
    position: np.ndarray  # float, 0 to 1 along the segment
    distance: np.ndarray  # float, m; inf if there is none


@kernel(inline="always")
def place_on(px, py, k, ax, ay, bx, by):
    """Return the position (0 to 1) on a segment that is nearest to a point, and its squared distance."""
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


@kernel
def _nearest(px, py, k, limit, skip, grid, needed):
    """
    Return the nearest segment within `limit` metres of a point that has the needed marks.

    Rings of cells around the point are searched until the next ring is farther than the best segment. Among equally
    near segments the one with the lowest index is returned.

    Parameters
    ----------
    px, py, k : float
        Point in local metres, and the shrink at its latitude.
    limit, skip : float
        Farthest distance to search, and a distance within which no segment is known to be, m.
    grid : Grid
    needed : uint8
        Marks that the segment must have.

    Returns
    -------
    segment : int
        -1 if there is none.
    position : float
        Position on the segment, 0 to 1.
    distance : float
        Metres.
    """
    x1, y1, x2, y2, cell, first_row, last_row, first_column, last_column, table, members, marks = grid
    mask = np.int64(table.shape[0] - 1)
    column = np.int64(np.floor(px / cell))
    row = np.int64(np.floor(py / cell))
    # Distance from the point to the nearest side of its cell: the inner distance of the first ring.
    inside = min(min(px - column * cell, (column + 1) * cell - px) * k, min(py - row * cell, (row + 1) * cell - py))
    narrow = min(1.0, k) * cell
    best = limit * limit
    best_segment = -1
    best_t = 0.0
    ring = 0
    if skip > 0.0:
        wide = max(1.0, k) * cell
        ring = max(0, np.int64(np.floor(skip / (wide * 1.4142135623730951))) - 1)
    # Skip the rings before the first row or column with a segment, and stop after the last.
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
                slot = slot_of(key, mask)
                while table[slot, 1] != -1 and table[slot, 0] != key:
                    slot = (slot + 1) & mask
                if table[slot, 1] == -1:
                    continue
                for m in range(table[slot, 1], table[slot, 2]):
                    i = members[m]
                    t, d2 = place_on(px, py, k, x1[i], y1[i], x2[i], y2[i])
                    if marks[i] & needed != needed:
                        continue
                    # Ties go to the lowest index, so the result does not depend on the order of the cells.
                    if d2 < best or (d2 == best and (best_segment == -1 or i < best_segment)):
                        best = d2
                        best_segment = i
                        best_t = t
        ring += 1
    return best_segment, best_t, np.sqrt(best)


@kernel
def nearest_segments(px, py, shrink, limit, grid, needed, barriers):
    """
    Return the nearest segment of each point that a straight walk reaches.

    Parameters
    ----------
    px, py, shrink : float64 arrays of shape (n,)
        Points in local metres and the shrink at their latitudes.
    limit : float
        Farthest distance to search, m.
    grid : Grid
    needed : uint8
        Marks that the segments must have.
    barriers : Grid
        What walks must not cross, see `traveltime_lab.kernels.street.crossings`; may be empty.

    Returns
    -------
    Nearest
    """
    n = px.size
    found = Nearest(np.empty(n, np.int32), np.empty(n), np.empty(n))
    for i in range(n):
        s, t, d = _nearest(px[i], py[i], shrink[i], limit, 0.0, grid, needed)
        found.segment[i] = s
        found.position[i] = t
        found.distance[i] = d if s >= 0 else np.inf
    if barriers.x1.size:
        # Few walks cross a barrier, so the nearest segments are found first and examined afterwards.
        for i in range(n):
            s, t, d = found.segment[i], found.position[i], found.distance[i]
            if s >= 0 and is_walk_barred(px[i], py[i], shrink[i], grid, s, t, barriers, True):
                s, t, d = _nearest_unbarred(px[i], py[i], shrink[i], d, limit, grid, needed, barriers)
                found.segment[i] = s
                found.position[i] = t
                found.distance[i] = d
    return found


@kernel
def is_walk_barred(px, py, k, grid, segment, t, barriers, with_motorways):
    """Return whether the straight walk from a point to a position on a segment crosses a barrier."""
    qx = grid.x1[segment] + t * (grid.x2[segment] - grid.x1[segment])
    qy = grid.y1[segment] + t * (grid.y2[segment] - grid.y1[segment])
    return is_barred(px, py, qx, qy, k, barriers, with_motorways)


@kernel
def _nearest_unbarred(px, py, k, nearest_m, limit, grid, needed, barriers):
    """
    Return the nearest segment of a point that a straight walk reaches without crossing water or a motorway.

    If there is none, as between the carriageways of a motorway, only water counts. Arguments and results are those of
    `_nearest_over_land`.
    """
    s, t, d = _nearest_over_land(px, py, k, nearest_m, limit, grid, needed, barriers, True)
    if s < 0:
        s, t, d = _nearest_over_land(px, py, k, nearest_m, limit, grid, needed, barriers, False)
    return s, t, d


@kernel
def _nearest_over_land(px, py, k, nearest_m, limit, grid, needed, barriers, with_motorways):
    """
    Return the nearest segment of a point that a straight walk reaches without crossing a barrier.

    Parameters
    ----------
    nearest_m : float
        Distance to the nearest segment, which is barred.
    px, py, k, limit, grid, needed, barriers
        As in `_nearest` and `nearest_segments`.
    with_motorways : bool
        Whether motorways are barriers.

    Returns
    -------
    segment, position, distance
        As of `_nearest`.

    Notes
    -----
    Segments within a radius are examined from the nearest one on, and the radius grows as long as all of them are
    barred, up to `DETOUR_M` beyond the nearest segment.
    """
    x1, y1, x2, y2 = grid.x1, grid.y1, grid.x2, grid.y2
    farthest = min(limit, nearest_m + DETOUR_M)
    radius, examined = nearest_m * 0.999, nearest_m * 0.999
    while radius < farthest:
        radius = min(1.25 * radius + 25.0, farthest)
        candidates = np.empty(1024, np.int32)
        n = _candidates(px, py, k, examined, radius, grid, needed, candidates)
        while n < 0:
            candidates = np.empty(2 * candidates.size, np.int32)
            n = _candidates(px, py, k, examined, radius, grid, needed, candidates)
        distances = np.empty(n)
        for j in range(n):
            i = candidates[j]
            distances[j] = np.sqrt(place_on(px, py, k, x1[i], y1[i], x2[i], y2[i])[1])
        # The lowest index first among equally near segments, as in `_nearest`.
        best, best_segment, best_t = np.inf, -1, 0.0
        for j in np.argsort(distances):
            i = candidates[j]
            if distances[j] < examined or distances[j] > best or (distances[j] == best and i >= best_segment):
                continue
            t, _ = place_on(px, py, k, x1[i], y1[i], x2[i], y2[i])
            if not is_walk_barred(px, py, k, grid, i, t, barriers, with_motorways):
                best, best_segment, best_t = distances[j], i, t
        if best_segment >= 0:
            return best_segment, best_t, best
        examined = radius
    return -1, 0.0, np.inf


@kernel
def _candidates(px, py, k, least, most, grid, needed, found):
    """
    Write the segments within `most` metres of a point that have the needed marks to `found`.

    No segment may be nearer than `least` metres. Segments in several cells of the grid are written several times.

    Returns
    -------
    int
        Number of segments written, -1 if `found` is too short.
    """
    x1, y1, x2, y2, cell, first_row, last_row, first_column, last_column, table, members, marks = grid
    mask = np.int64(table.shape[0] - 1)
    column = np.int64(np.floor(px / cell))
    row = np.int64(np.floor(py / cell))
    rings = np.int64(np.ceil(most / (min(1.0, k) * cell))) + 1
    n = 0
    for r in range(max(row - rings, first_row), min(row + rings, last_row) + 1):
        # Distance to the nearest and farthest place of the row of cells, then of each cell in it.
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
            slot = slot_of(key, mask)
            while table[slot, 1] != -1 and table[slot, 0] != key:
                slot = (slot + 1) & mask
            if table[slot, 1] == -1:
                continue
            for m in range(table[slot, 1], table[slot, 2]):
                i = members[m]
                _, squared = place_on(px, py, k, x1[i], y1[i], x2[i], y2[i])
                if squared <= most * most and marks[i] & needed == needed:
                    if n == found.size:
                        return -1
                    found[n] = i
                    n += 1
    return n


@kernel
def nearest_on_raster(centres, n_columns, limit, grid, needed, barriers):
    """
    Return the nearest segment of each cell centre of a raster that a straight walk reaches.

    Parameters
    ----------
    centres : Centres
    n_columns : int
    limit, grid, needed, barriers
        As in `nearest_segments`.

    Returns
    -------
    Nearest
        With positions and distances in float32.

    Notes
    -----
    The raster is processed in blocks of 8 by 8 cells. Far from the streets few segments can be nearest to any centre
    of a block, because their distances to the middle of the block are about the same; they are collected once per
    block. Near the streets the distance at one centre bounds the distance at the next.
    """
    first_x, first_y, step, shrink = centres
    n_rows = shrink.size
    shape = (n_rows, n_columns)
    found = Nearest(np.empty(shape, np.int32), np.empty(shape, np.float32), np.empty(shape, np.float32))
    side = 8
    near = np.empty(512, np.int32)
    for top in range(0, n_rows, side):
        for left in range(0, n_columns, side):
            bottom, right = min(top + side, n_rows), min(left + side, n_columns)
            middle = (top + bottom) // 2
            k = shrink[middle]
            px = first_x + (left + right - 1) / 2.0 * step
            py = first_y + (top + bottom - 1) / 2.0 * step
            # Slightly more than half of the diagonal, because the shrink differs from row to row.
            half = np.hypot((right - left) / 2.0 * k, (bottom - top) / 2.0) * step * 1.001 + 0.1
            s, _, d = _nearest(px, py, k, limit + half, 0.0, grid, needed)
            n = -1
            if s < 0:
                n = 0
            elif d > 2.0 * half:
                n = _candidates(px, py, k, d * 0.999, min(d + 2.0 * half, limit + half), grid, needed, near)
            for row in range(top, bottom):
                if n >= 0:
                    _nearest_of(near[:n], centres, row, left, right, limit, grid, found)
                else:
                    _nearest_in_row(centres, row, left, right, limit, grid, needed, found)
    if barriers.x1.size:
        for row in range(n_rows):
            py, k = first_y + row * step, shrink[row]
            for c in range(n_columns):
                s, t = found.segment[row, c], found.position[row, c]
                px = first_x + c * step
                if s >= 0 and is_walk_barred(px, py, k, grid, s, t, barriers, True):
                    d = np.float64(found.distance[row, c])
                    s, t, d = _nearest_unbarred(px, py, k, d, limit, grid, needed, barriers)
                    found.segment[row, c] = s
                    found.position[row, c] = t
                    found.distance[row, c] = d
    return found


@kernel
def _nearest_of(candidates, centres, row, left, right, limit, grid, found):
    """Write the nearest of the given candidates for columns `left` to `right - 1` of a row."""
    x1, y1, x2, y2 = grid.x1, grid.y1, grid.x2, grid.y2
    py, k = centres.first_y + row * centres.step, centres.shrink[row]
    for c in range(left, right):
        px = centres.first_x + c * centres.step
        best = limit * limit
        best_segment = -1
        best_t = 0.0
        for i in candidates:
            t, squared = place_on(px, py, k, x1[i], y1[i], x2[i], y2[i])
            if squared < best or (squared == best and (best_segment == -1 or i < best_segment)):
                best = squared
                best_segment = i
                best_t = t
        found.segment[row, c] = best_segment
        found.position[row, c] = best_t
        found.distance[row, c] = np.sqrt(best) if best_segment >= 0 else np.inf


@kernel
def _nearest_in_row(centres, row, left, right, limit, grid, needed, found):
    """Write the nearest segment for columns `left` to `right - 1` of a row, where one cell bounds the next distance."""
    py, k = centres.first_y + row * centres.step, centres.shrink[row]
    hop = centres.step * k
    known = -1.0
    is_near = False
    for c in range(left, right):
        skip = 0.0
        bound = limit
        if known >= 0.0:
            skip = max(0.0, known - hop)
            if is_near:
                bound = min(limit, (known + hop) * 1.000001 + 1e-3)
        s, t, d = _nearest(centres.first_x + c * centres.step, py, k, bound, skip, grid, needed)
        is_near = s >= 0
        found.segment[row, c] = s
        found.position[row, c] = t
        found.distance[row, c] = d if is_near else np.inf
        known = d if is_near else limit
