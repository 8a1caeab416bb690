"""
Find the nearest street segment of a point.

Coordinates are local metres of a `LocalFrame`. East-west distances in the frame are exact at the latitude of its centre
only; `shrink` is the ratio of true east-west metres to frame metres at the latitude of a point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.crossings import barring, crosses_at, is_barred
from traveltime_lab.kernels.street.grid import cell_at, empty_rings

#: Streets are tied if their distances differ by no more than this; coordinates and lines are no more exact (assumed).
TIE_M = 0.5
#: The same with room for rounding to float32.
_SURELY_M = TIE_M + 0.001
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
    may_be_tied: np.ndarray  # bool, whether a segment of another edge may be within `TIE_M` of the same distance


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

    Rings of cells around the point are searched until the next ring is farther than the best segment and those tied
    with it. Among equally near segments the one with the lowest index is returned.

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
    may_be_tied : bool
        See `Nearest`.
    """
    ends, marks, edge, cell, first_row, last_row, first_column, last_column, blocks, begin, rings, members = grid
    column = np.int64(np.floor(px / cell))
    row = np.int64(np.floor(py / cell))
    # Distance from the point to the nearest side of its cell: the inner distance of the first ring.
    inside = min(min(px - column * cell, (column + 1) * cell - px) * k, min(py - row * cell, (row + 1) * cell - py))
    narrow = min(1.0, k) * cell
    best = limit * limit
    best_segment = -1
    best_t = 0.0
    # Squared distance to the nearest segment of another edge, and the distance within which there may be better ones.
    second = np.inf
    reach = limit
    ring = empty_rings(row, column, first_row, last_row, first_column, last_column, blocks, rings)
    if skip > 0.0:
        wide = max(1.0, k) * cell
        ring = max(ring, np.int64(np.floor(skip / (wide * 1.4142135623730951))) - 1)
    last_ring = max(max(row - first_row, last_row - row), max(column - first_column, last_column - column))
    while ring <= last_ring:
        inner = 0.0 if ring == 0 else inside + (ring - 1) * narrow
        if inner > reach:
            break
        for r in range(max(row - ring, first_row), min(row + ring, last_row) + 1):
            near_y = max(0.0, max(r * cell - py, py - (r + 1) * cell))
            if near_y > reach:
                continue
            step = 1 if (r == row - ring or r == row + ring or ring == 0) else 2 * ring
            first = column - ring if step > 1 else max(column - ring, first_column)
            for c in range(first, min(column + ring, last_column) + 1, step):
                if c < first_column:
                    continue
                here = cell_at(r - first_row, c - first_column, blocks)
                if here < 0 or begin[here] == begin[here + 1]:
                    continue
                near_x = max(0.0, max(c * cell - px, px - (c + 1) * cell)) * k
                if near_x * near_x + near_y * near_y > reach * reach:
                    continue
                for m in range(begin[here], begin[here + 1]):
                    i = members[m]
                    t, d2 = place_on(px, py, k, ends[i, 0], ends[i, 1], ends[i, 2], ends[i, 3])
                    if d2 > reach * reach or marks[i] & needed != needed:
                        continue
                    # Ties go to the lowest index, so the result does not depend on the order of the cells.
                    if d2 < best or (d2 == best and (best_segment == -1 or i < best_segment)):
                        if best_segment >= 0 and edge[i] != edge[best_segment]:
                            second = best
                        best = d2
                        best_segment = i
                        best_t = t
                        reach = min(limit, np.sqrt(best) + _SURELY_M)
                    elif d2 < second and best_segment >= 0 and edge[i] != edge[best_segment]:
                        second = d2
        ring += 1
    distance = np.sqrt(best)
    return best_segment, best_t, distance, np.sqrt(second) <= distance + _SURELY_M


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
    found = Nearest(np.empty(n, np.int32), np.empty(n), np.empty(n), np.empty(n, np.bool_))
    segment, position, distance, may_be_tied = found
    has_barriers = barriers.ends.shape[0] > 0
    for i in range(n):
        x, y, k = px[i], py[i], shrink[i]
        s, t, d, is_tied = _nearest(x, y, k, limit, 0.0, grid, needed)
        if s >= 0 and has_barriers and is_walk_barred(x, y, k, grid, s, t, barriers, True):
            s, t, d = _nearest_unbarred(x, y, k, d, limit, grid, needed, barriers)
            is_tied = True
        segment[i] = s
        position[i] = t
        distance[i] = d if s >= 0 else np.inf
        may_be_tied[i] = is_tied
    return found


@kernel
def is_walk_barred(px, py, k, grid, segment, t, barriers, with_motorways):
    """Return whether the straight walk from a point to a position on a segment crosses a barrier."""
    ends = grid.ends
    qx = ends[segment, 0] + t * (ends[segment, 2] - ends[segment, 0])
    qy = ends[segment, 1] + t * (ends[segment, 3] - ends[segment, 1])
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
    Segments within a radius are examined, and the radius grows as long as all of them are barred, up to `DETOUR_M`
    beyond the nearest segment. The motorways that barred the last walks are tried first, because neighbours are likely
    to be barred by the same ones.
    """
    ends, marks, _, cell, first_row, last_row, first_column, last_column, blocks, begin, _, members = grid
    column = np.int64(np.floor(px / cell))
    row = np.int64(np.floor(py / cell))
    farthest = min(limit, nearest_m + DETOUR_M)
    radius, examined = nearest_m * 0.999, nearest_m * 0.999
    known, n_known = np.empty(8, np.int64), 0
    best_segment, best_t = -1, 0.0
    while radius < farthest and best_segment < 0:
        radius = min(1.25 * radius + 25.0, farthest)
        # Squared distances up to which a segment is better, and down to which all are examined.
        best, done = radius * radius, examined * examined
        around = np.int64(np.ceil(radius / (min(1.0, k) * cell))) + 1
        for r in range(max(row - around, first_row), min(row + around, last_row) + 1):
            near_y = max(0.0, max(r * cell - py, py - (r + 1) * cell))
            far_y = max(abs(r * cell - py), abs((r + 1) * cell - py))
            if near_y * near_y > best:
                continue
            for c in range(max(column - around, first_column), min(column + around, last_column) + 1):
                here = cell_at(r - first_row, c - first_column, blocks)
                if here < 0 or begin[here] == begin[here + 1]:
                    continue
                near_x = max(0.0, max(c * cell - px, px - (c + 1) * cell)) * k
                far_x = max(abs(c * cell - px), abs((c + 1) * cell - px)) * k
                if near_x * near_x + near_y * near_y > best or far_x * far_x + far_y * far_y < done:
                    continue
                for m in range(begin[here], begin[here + 1]):
                    i = members[m]
                    t, d2 = place_on(px, py, k, ends[i, 0], ends[i, 1], ends[i, 2], ends[i, 3])
                    # The lowest index first among equally near segments, as in `_nearest`.
                    if d2 > best or d2 < done or (d2 == best and best_segment >= 0 and i >= best_segment):
                        continue
                    if marks[i] & needed != needed:
                        continue
                    qx = ends[i, 0] + t * (ends[i, 2] - ends[i, 0])
                    qy = ends[i, 1] + t * (ends[i, 3] - ends[i, 1])
                    is_free = True
                    for j in range(n_known):
                        if crosses_at(px, py, qx, qy, k, barriers, known[j])[1]:
                            is_free = False
                            known[0], known[j] = known[j], known[0]
                            break
                    if is_free:
                        by = barring(px, py, qx, qy, k, barriers, with_motorways)
                        if by >= 0:
                            n_known = min(n_known + 1, known.size)
                            known[n_known - 1] = by
                        if by == -1:
                            best, best_segment, best_t = d2, i, t
        examined = radius
    return best_segment, best_t, np.sqrt(best) if best_segment >= 0 else np.inf


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
    ends, marks, _, cell, first_row, last_row, first_column, last_column, blocks, begin, _, members = grid
    column = np.int64(np.floor(px / cell))
    row = np.int64(np.floor(py / cell))
    around = np.int64(np.ceil(most / (min(1.0, k) * cell))) + 1
    n = 0
    for r in range(max(row - around, first_row), min(row + around, last_row) + 1):
        # Distance to the nearest and farthest place of the row of cells, then of each cell in it.
        near_y = max(0.0, max(r * cell - py, py - (r + 1) * cell))
        far_y = max(abs(r * cell - py), abs((r + 1) * cell - py))
        if near_y > most:
            continue
        for c in range(max(column - around, first_column), min(column + around, last_column) + 1):
            near_x = max(0.0, max(c * cell - px, px - (c + 1) * cell)) * k
            if near_x * near_x + near_y * near_y > most * most:
                continue
            far_x = max(abs(c * cell - px), abs((c + 1) * cell - px)) * k
            if far_x * far_x + far_y * far_y < least * least:
                continue
            here = cell_at(r - first_row, c - first_column, blocks)
            if here < 0:
                continue
            for m in range(begin[here], begin[here + 1]):
                i = members[m]
                _, squared = place_on(px, py, k, ends[i, 0], ends[i, 1], ends[i, 2], ends[i, 3])
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
    found = Nearest(
        np.empty(shape, np.int32), np.empty(shape, np.float32), np.empty(shape, np.float32), np.empty(shape, np.bool_)
    )
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
            s, _, d, _ = _nearest(px, py, k, limit + half, 0.0, grid, needed)
            n = -1
            if s < 0:
                n = 0
            elif d > 2.0 * half:
                most = min(d + 2.0 * half + _SURELY_M, limit + half)
                n = _candidates(px, py, k, d * 0.999, most, grid, needed, near)
            for row in range(top, bottom):
                if n >= 0:
                    _nearest_of(near[:n], centres, row, left, right, limit, grid, found)
                else:
                    _nearest_in_row(centres, row, left, right, limit, grid, needed, found)
    if barriers.ends.shape[0]:
        for row in range(n_rows):
            py, k = first_y + row * step, shrink[row]
            for c in range(n_columns):
                s, t = np.int64(found.segment[row, c]), np.float64(found.position[row, c])
                px = first_x + c * step
                if s >= 0 and is_walk_barred(px, py, k, grid, s, t, barriers, True):
                    d = np.float64(found.distance[row, c])
                    s, t, d = _nearest_unbarred(px, py, k, d, limit, grid, needed, barriers)
                    found.segment[row, c] = s
                    found.position[row, c] = t
                    found.distance[row, c] = d
                    found.may_be_tied[row, c] = True
    return found


@kernel
def _nearest_of(candidates, centres, row, left, right, limit, grid, found):
    """Write the nearest of the given candidates for columns `left` to `right - 1` of a row."""
    ends, edge = grid.ends, grid.edge
    segment, position, distance, may_be_tied = found
    py, k = centres.first_y + row * centres.step, centres.shrink[row]
    for c in range(left, right):
        px = centres.first_x + c * centres.step
        best, second = limit * limit, np.inf
        best_segment = -1
        best_t = 0.0
        for i in candidates:
            t, squared = place_on(px, py, k, ends[i, 0], ends[i, 1], ends[i, 2], ends[i, 3])
            if squared < best or (squared == best and (best_segment == -1 or i < best_segment)):
                if best_segment >= 0 and edge[i] != edge[best_segment]:
                    second = best
                best = squared
                best_segment = i
                best_t = t
            elif squared < second and best_segment >= 0 and edge[i] != edge[best_segment]:
                second = squared
        segment[row, c] = best_segment
        position[row, c] = best_t
        distance[row, c] = np.sqrt(best) if best_segment >= 0 else np.inf
        may_be_tied[row, c] = np.sqrt(second) <= np.sqrt(best) + _SURELY_M


@kernel
def _nearest_in_row(centres, row, left, right, limit, grid, needed, found):
    """Write the nearest segment for columns `left` to `right - 1` of a row, where one cell bounds the next distance."""
    segment, position, distance, may_be_tied = found
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
                bound = min(limit, (known + hop) * 1.000001 + 2.0 * _SURELY_M)
        s, t, d, is_tied = _nearest(centres.first_x + c * centres.step, py, k, bound, skip, grid, needed)
        is_near = s >= 0
        segment[row, c] = s
        position[row, c] = t
        distance[row, c] = d if is_near else np.inf
        may_be_tied[row, c] = is_tied
        known = d if is_near else limit
