"""
Find the nearest street segment of a point.

Coordinates are local metres of a `LocalFrame`. East-west distances in the frame are exact at the latitude of its centre
only; `shrink` is the ratio of true east-west metres to frame metres at the latitude of a point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.lanes import SEGMENTS, measure
from traveltime_lab.kernels.prefetch import prefetch
from traveltime_lab.kernels.street.crossings import (
    barring,
    bars_square,
    crosses_at,
    is_barred,
    is_behind_water,
    is_surely_free,
)
from traveltime_lab.kernels.street.grid import cell_at, empty_metres, empty_rings

#: Streets are tied if their distances differ by no more than this; coordinates and lines are no more exact (assumed).
TIE_M = 0.5
#: The same with room for rounding to float32.
SURELY_M = TIE_M + 0.001
#: How much farther away than the nearest street the street may be that a point is snapped to instead (assumed).
DETOUR_M = 500.0
#: Number of segments that are kept for one point, from one block of lanes to the next.
_ROOM = 512
#: How many points ahead their cells are found, the numbers of the segments in these prefetched, and their ends.
_CELLS_AHEAD, _NUMBERS_AHEAD, _ENDS_AHEAD = 24, 16, 8
#: At least as many cells are remembered; a power of two.
_HOMES = 32
#: Number of directions, a multiple of eight: for each, the motorway that barred the last walk is remembered. All are
#: forgotten where the next point is farther away than this, in metres (both assumed).
_DIRECTIONS, _SAME_BARS_M = 64, 100.0
_FINITE = np.finfo(np.float64).max


class Nearest(NamedTuple):
    """Nearest segments of points, shape (n,), or of the cells of a raster, shape (n_rows, n_columns)."""

    segment: np.ndarray  # int32, -1 if there is none
    position: np.ndarray  # float, 0 to 1 along the segment
    distance: np.ndarray  # float, m; inf if there is none
    may_be_tied: np.ndarray  # bool, whether a segment of another edge may be within `TIE_M` of the same distance


class Near(NamedTuple):
    """CSR by point of the segments that may be tied with the nearest one, in any order; none where nothing is tied."""

    begin: np.ndarray  # int64 (n_points + 1,)
    segment: np.ndarray  # int32 (n or more,), the first of a point is -1 if its nearest segment is barred
    position: np.ndarray  # float64 (n or more,), 0 to 1 along the segment
    squared: np.ndarray  # float64 (n or more,), squared distance, m2


class Rectangles(NamedTuple):
    """Rectangles in which the points on land share a map of the cells behind water, see `_Shadows`."""

    of_point: np.ndarray  # int32 (n_points,), -1 for none
    x: np.ndarray  # float64 (n_rectangles,), middle, m
    y: np.ndarray
    half_x: np.ndarray  # float64, half of the sides, m
    half_y: np.ndarray
    shrink: np.ndarray  # float64, least shrink in each


class _Shadows(NamedTuple):
    """Which cells of a grid of streets are behind water for the points of a rectangle that are on land."""

    x: float  # middle of the rectangle, m
    y: float
    half_x: float  # half of its sides, m
    half_y: float
    shrink: float  # least shrink in it
    first_row: int  # first row and column of the cells in question
    first_column: int
    state: np.ndarray  # uint8 (n_rows, n_columns): `_UNKNOWN`, `_BEHIND_WATER` or `_IN_SIGHT`; overwritten


_UNKNOWN, _BEHIND_WATER, _IN_SIGHT = np.uint8(0), np.uint8(1), np.uint8(2)
#: How many cells of the grid of streets around the middle of a rectangle are known, in each direction.
_KNOWN_CELLS = 32


@kernel(forceinline=True)
def place_on(px, py, k, ax, ay, bx, by):
    """Return the position (0 to 1) on a segment that is nearest to a point, and its squared distance."""
    to_x = (ax - px) * k
    to_y = ay - py
    dx = (bx - ax) * k
    dy = by - ay
    squared = dx * dx + dy * dy
    # Without branches: which side of a segment a point is on cannot be guessed.
    t = -(to_x * dx + to_y * dy) / (squared if squared > 0.0 else 1.0)
    t = min(max(t, 0.0), 1.0)
    ex = to_x + t * dx
    ey = to_y + t * dy
    return t, ex * ex + ey * ey


@kernel
def nearest_across_barriers(px, py, shrink, limit, grid, needed):
    """
    Return the nearest segment within `limit` metres of each point, across barriers, too.

    Rings of cells around the point are searched until the next ring is farther than the best segment and those tied
    with it. Among equally near segments the one with the lowest index is returned.

    Parameters
    ----------
    px, py, shrink, limit, grid, needed
        As in `nearest_segments`.

    Returns
    -------
    Nearest
    Near

    Notes
    -----
    Segments of a cell are measured several at once before they are compared, because a processor that guesses a
    comparison wrong waits for the distance that it depends on.
    """
    n = px.size
    found = Nearest(np.empty(n, np.int32), np.empty(n), np.empty(n), np.empty(n, np.bool_))
    segment, position, distance, may_be_tied = found
    # Numbers, positions and squared distances of the segments near one point.
    near, near_t, near_d2 = np.empty(_ROOM, np.int32), np.empty(_ROOM), np.empty(_ROOM)
    tied_begin, n_tied = np.zeros(n + 1, np.int64), 0
    tied, tied_t, tied_d2 = np.empty(n + 64, np.int32), np.empty(n + 64), np.empty(n + 64)
    # The loop calls nothing but what is rare: an array that is an argument of a function called for each point would
    # be counted as a reference each time.
    ends, marks, edge, cell, first_row, last_row, first_column, last_column, blocks, begin, rings, members = grid
    # The cells of the next points, of which first the number of segments, then their numbers, then their ends are
    # prefetched.
    home = np.empty(_HOMES, np.int64)
    for point in range(-_CELLS_AHEAD, n):
        later = point + _CELLS_AHEAD
        if later < n:
            column, row = np.int64(np.floor(px[later] / cell)), np.int64(np.floor(py[later] / cell))
            here = np.int64(-1)
            if first_row <= row <= last_row and first_column <= column <= last_column:
                here = cell_at(row - first_row, column - first_column, blocks)
                prefetch(begin, here)
                prefetch(rings, here)
            home[later % _HOMES] = here
        later = point + _NUMBERS_AHEAD
        if 0 <= later < n and home[later % _HOMES] >= 0:
            prefetch(members, begin[home[later % _HOMES]])
        later = point + _ENDS_AHEAD
        if 0 <= later < n and home[later % _HOMES] >= 0:
            # Always as many, because a processor guesses a number wrong that differs from cell to cell.
            first = min(np.int64(begin[home[later % _HOMES]]), members.size - SEGMENTS)
            for member in range(max(0, first), max(0, first) + min(SEGMENTS, members.size)):
                prefetch(ends, 4 * np.int64(members[member]))
        if point < 0:
            continue
        x, y, k = px[point], py[point], shrink[point]
        column, row = np.int64(np.floor(x / cell)), np.int64(np.floor(y / cell))
        # Distance from the point to the nearest side of its cell: the inner distance of the first ring.
        inside = min(min(x - column * cell, (column + 1) * cell - x) * k, min(y - row * cell, (row + 1) * cell - y))
        narrow = min(1.0, k) * cell
        # Squared distance to the nearest segment, and the distance within which a better or tied one is.
        best, reach, n_near, is_full = np.inf, limit, 0, False
        ring = empty_rings(row, column, first_row, last_row, first_column, last_column, blocks, rings)
        last_ring = max(max(row - first_row, last_row - row), max(column - first_column, last_column - column))
        while ring <= last_ring:
            inner = 0.0 if ring == 0 else inside + (ring - 1) * narrow
            if inner > reach:
                break
            left, right = max(column - ring, first_column), min(column + ring, last_column)
            # Sides of the ring that are out of reach.
            if ring > 0 and (x - (column - ring + 1) * cell) * k > reach:
                left = max(left, column - ring + 1)
            if ring > 0 and ((column + ring) * cell - x) * k > reach:
                right = min(right, column + ring - 1)
            for r in range(max(row - ring, first_row), min(row + ring, last_row) + 1):
                near_y = max(0.0, max(r * cell - y, y - (r + 1) * cell))
                if near_y > reach:
                    continue
                is_whole = r == row - ring or r == row + ring
                c = left if is_whole or left == column - ring else column + ring
                while c <= right:
                    here = cell_at(r - first_row, c - first_column, blocks)
                    near_x = max(0.0, max(c * cell - x, x - (c + 1) * cell)) * k
                    c += 1 if is_whole else max(1, 2 * ring)
                    if here < 0 or begin[here] == begin[here + 1]:
                        continue
                    if near_x * near_x + near_y * near_y > reach * reach:
                        continue
                    for first in range(begin[here], begin[here + 1], SEGMENTS):
                        if n_near + SEGMENTS > _ROOM:
                            # Keep those that may be tied; if these are too many, the one with the lowest index.
                            n_kept, lowest = 0, -1
                            for j in range(n_near):
                                if near_d2[j] <= reach * reach:
                                    near[n_kept], near_t[n_kept], near_d2[n_kept] = near[j], near_t[j], near_d2[j]
                                    if near_d2[j] == best and (lowest < 0 or near[j] < near[lowest]):
                                        lowest = n_kept
                                    n_kept += 1
                            if n_kept + SEGMENTS > _ROOM:
                                near[0], near_t[0], near_d2[0] = near[lowest], near_t[lowest], near_d2[lowest]
                                n_kept, is_full = 1, True
                            n_near = n_kept
                        n_here = min(SEGMENTS, begin[here + 1] - first)
                        least = measure(
                            ends, marks, needed, members, first, n_here, x, y, k, near, near_t, near_d2, n_near
                        )
                        if least == np.inf or least > reach * reach:
                            continue
                        n_near += n_here
                        if least < best:
                            best, reach = least, min(limit, np.sqrt(least) + SURELY_M)
            ring += 1
        # Ties go to the lowest index, so the result does not depend on the order of the cells.
        best_segment, best_t, n_kept = -1, 0.0, 0
        # Without branches, as above. Those of other marks are infinitely far.
        farthest = min(reach * reach, _FINITE)
        for j in range(n_near):
            squared = near_d2[j]
            near[n_kept], near_t[n_kept], near_d2[n_kept] = near[j], near_t[j], squared
            n_kept += squared <= farthest
        for j in range(n_kept):
            if near_d2[j] == best and (best_segment < 0 or near[j] < best_segment):
                best_segment, best_t = np.int64(near[j]), near_t[j]
        is_tied = is_full
        for j in range(n_kept):
            is_tied |= edge[near[j]] != edge[best_segment]
        segment[point], position[point], may_be_tied[point] = best_segment, best_t, is_tied
        distance[point] = np.sqrt(best)
        if is_tied and not is_full and n_tied + n_kept <= tied.size:
            for j in range(n_kept):
                tied[n_tied], tied_t[n_tied], tied_d2[n_tied] = near[j], near_t[j], near_d2[j]
                n_tied += 1
        tied_begin[point + 1] = n_tied
    return found, Near(tied_begin, tied, tied_t, tied_d2)


@kernel
def barred_walks(px, py, shrink, found, ends, barriers, with_motorways):
    """
    Return from which points the straight walk to the nearest segment is barred.

    Parameters
    ----------
    px, py, shrink, barriers
        As in `nearest_segments`; there is a barrier.
    found : Nearest
        Found for the points across barriers. Distances may be longer by some metres, which takes time only.
    ends : float64 array of shape (n_segments, 4)
        Ends of the segments.
    with_motorways : bool
        Whether motorways count, or only water.

    Returns
    -------
    bool array of shape (n,)
    """
    walls, _, _, cell, first_row, last_row, first_column, last_column, blocks, begin, rings, members = barriers
    segment, position, distance, _ = found
    result = np.zeros(px.size, np.bool_)
    for i in range(px.size):
        if segment[i] < 0:
            continue
        x, y, k = px[i], py[i], shrink[i]
        # Most points have no barrier as near as their street.
        free_m = empty_metres(x, y, k, cell, first_row, last_row, first_column, last_column, blocks, rings)
        if distance[i] < free_m:
            continue
        s, t = np.int64(segment[i]), position[i]
        qx = ends[s, 0] + t * (ends[s, 2] - ends[s, 0])
        qy = ends[s, 1] + t * (ends[s, 3] - ends[s, 1])
        is_free = is_surely_free(
            x, y, qx, qy, walls, cell, first_row, last_row, first_column, last_column, blocks, begin, members
        )
        result[i] = not is_free and is_barred(x, y, qx, qy, k, barriers, with_motorways)
    return result


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
        Lines that walks must not cross, see `traveltime_lab.kernels.street.crossings`; may be empty.

    Returns
    -------
    Nearest
    Near
    """
    found, near = nearest_across_barriers(px, py, shrink, limit, grid, needed)
    if not barriers.ends.shape[0]:
        return found, near
    barred = np.flatnonzero(barred_walks(px, py, shrink, found, grid.ends, barriers, True))
    if barred.size:
        nothing = np.empty(0)
        rectangles = Rectangles(np.full(barred.size, -1, np.int32), nothing, nothing, nothing, nothing, nothing)
        found.segment[barred], found.position[barred], found.distance[barred] = nearest_unbarred(
            px[barred], py[barred], shrink[barred], found.distance[barred], limit, grid, needed, barriers, rectangles
        )
        found.may_be_tied[barred] = True
        first = near.begin[barred]
        near.segment[first[first < near.begin[barred + 1]]] = -1
    return found, near


@kernel
def nearest_unbarred(px, py, shrink, nearest_m, limit, grid, needed, barriers, rectangles):
    """
    Return the nearest segment of each point that a straight walk reaches without crossing water or a motorway.

    If there is none that is at most `DETOUR_M` farther away than the nearest segment, as between the carriageways of a
    motorway, only water counts.

    Parameters
    ----------
    px, py, shrink, limit, grid, needed, barriers
        As in `nearest_segments`.
    nearest_m : float64 array of shape (n,)
        Distance to the nearest segment, which is barred.
    rectangles : Rectangles
        The points of each rectangle are next to one another.

    Returns
    -------
    segment, position, distance : int64, float64 and float64 arrays of shape (n,)
        As of `Nearest`.
    """
    n, of_point = px.size, rectangles.of_point
    segment, position, distance = np.empty(n, np.int64), np.empty(n), np.empty(n)
    side = 2 * _KNOWN_CELLS + 1 if rectangles.x.size > 0 else 0
    nothing = _Shadows(0.0, 0.0, 0.0, 0.0, 1.0, 0, 0, np.empty((0, 0), np.uint8))
    shadows, state, last = nothing, np.empty((side, side), np.uint8), -1
    bars = np.empty(_DIRECTIONS, np.int64)
    for i in range(n):
        if i == 0 or abs(px[i] - px[i - 1]) + abs(py[i] - py[i - 1]) > _SAME_BARS_M:
            for direction in range(_DIRECTIONS):
                bars[direction] = -1
        at = of_point[i]
        if at >= 0 and at != last:
            x, y, last = rectangles.x[at], rectangles.y[at], at
            shadows = _Shadows(
                x, y, rectangles.half_x[at], rectangles.half_y[at], rectangles.shrink[at],
                np.int64(np.floor(y / grid.cell)) - _KNOWN_CELLS, np.int64(np.floor(x / grid.cell)) - _KNOWN_CELLS,
                state,
            )  # fmt: skip
            for row in range(side):
                for column in range(side):
                    state[row, column] = _UNKNOWN
        known, x, y, k, d = shadows if at >= 0 else nothing, px[i], py[i], shrink[i], nearest_m[i]
        s, t, d, is_by_motorway = _nearest_over_land(x, y, k, d, limit, grid, needed, barriers, known, bars, True)
        if s < 0 and is_by_motorway:
            s, t, d, _ = _nearest_over_land(x, y, k, nearest_m[i], limit, grid, needed, barriers, known, bars, False)
        segment[i], position[i], distance[i] = s, t, d
    return segment, position, distance


@kernel
def _nearest_over_land(px, py, k, nearest_m, limit, grid, needed, barriers, shadows, bars, with_motorways):
    """
    Return the nearest segment of a point that a straight walk reaches without crossing a barrier.

    Parameters
    ----------
    nearest_m : float
        Distance to the nearest segment, which is barred.
    px, py, k, limit, grid, needed, barriers
        As in `nearest_segments`.
    shadows : _Shadows
        Shadows of a rectangle with the point, which is on land if there are cells in question.
    bars : int64 array of shape (_DIRECTIONS,)
        A motorway that may bar walks in each direction, -1 if none is known. Overwritten.
    with_motorways : bool
        Whether motorways are barriers.

    Returns
    -------
    segment, position, distance
        As of `nearest_across_barriers`.
    is_by_motorway : bool
        Whether a motorway barred a walk, or would bar one.

    Notes
    -----
    Rings of cells around the point are searched until the next ring is farther than the best segment, or `DETOUR_M`
    farther away than the nearest one. The motorways that barred the last walks are tried first, because neighbours are
    likely to be barred by the same ones. Most of them are so near that one segment of them bars all walks to a cell.
    """
    ends, marks, _, cell, first_row, last_row, first_column, last_column, blocks, begin, rings, members = grid
    column = np.int64(np.floor(px / cell))
    row = np.int64(np.floor(py / cell))
    inside = min(min(px - column * cell, (column + 1) * cell - px) * k, min(py - row * cell, (row + 1) * cell - py))
    narrow = min(1.0, k) * cell
    walls, state = barriers.ends, shadows.state
    best_segment, best_t, is_by_motorway = -1, 0.0, False
    # Squared distance up to which a segment is better.
    best = min(limit, nearest_m + DETOUR_M) ** 2
    ring = empty_rings(row, column, first_row, last_row, first_column, last_column, blocks, rings)
    last_ring = max(max(row - first_row, last_row - row), max(column - first_column, last_column - column))
    while ring <= last_ring:
        inner = 0.0 if ring == 0 else inside + (ring - 1) * narrow
        if inner * inner > best:
            break
        for r in range(max(row - ring, first_row), min(row + ring, last_row) + 1):
            near_y = max(0.0, max(r * cell - py, py - (r + 1) * cell))
            if near_y * near_y > best:
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
                if near_x * near_x + near_y * near_y > best:
                    continue
                # A place on a segment is in one of the cells that the segment crosses, and looked at there.
                at_row, at_column = r - shadows.first_row, c - shadows.first_column
                if 0 <= at_row < state.shape[0] and 0 <= at_column < state.shape[1]:
                    if state[at_row, at_column] == _UNKNOWN:
                        is_behind = is_behind_water(
                            px, py, shadows.shrink, shadows.x, shadows.y, shadows.half_x, shadows.half_y,
                            (c + 0.5) * cell, (r + 0.5) * cell, 0.5 * cell + 0.001, barriers,
                        )  # fmt: skip
                        state[at_row, at_column] = _BEHIND_WATER if is_behind else _IN_SIGHT
                    if state[at_row, at_column] == _BEHIND_WATER:
                        continue
                x, y, half = (c + 0.5) * cell, (r + 0.5) * cell, 0.5 * cell + 0.001
                b = bars[_direction(x - px, y - py)] if with_motorways else -1
                if b >= 0 and bars_square(
                    px, py, k, walls[b, 0], walls[b, 1], walls[b, 2], walls[b, 3], x, y, half
                ):  # fmt: skip
                    is_by_motorway = True
                    continue
                for m in range(begin[here], begin[here + 1]):
                    i = members[m]
                    t, d2 = place_on(px, py, k, ends[i, 0], ends[i, 1], ends[i, 2], ends[i, 3])
                    # The lowest index first among equally near segments, as in `nearest_across_barriers`.
                    if d2 > best or (d2 == best and best_segment >= 0 and i >= best_segment):
                        continue
                    if marks[i] & needed != needed:
                        continue
                    qx = ends[i, 0] + t * (ends[i, 2] - ends[i, 0])
                    qy = ends[i, 1] + t * (ends[i, 3] - ends[i, 1])
                    direction = _direction(qx - px, qy - py)
                    by = bars[direction] if with_motorways else -1
                    if by < 0 or not crosses_at(px, py, qx, qy, k, barriers, by)[1]:
                        by, _ = barring(px, py, qx, qy, k, barriers, with_motorways)
                    if by >= 0:
                        is_by_motorway, bars[direction] = True, by
                    if by == -1:
                        best, best_segment, best_t = d2, i, t
        ring += 1
    metres = np.sqrt(best) if best_segment >= 0 else np.inf
    return best_segment, best_t, metres, is_by_motorway


@kernel(forceinline=True)
def _direction(x, y):
    """Return the number of a direction, 0 to `_DIRECTIONS` - 1."""
    wide, high = abs(x), abs(y)
    share = min(wide, high) / max(max(wide, high), 1e-9)
    eighth = 4 * (x < 0.0) + 2 * (y < 0.0) + (wide < high)
    return eighth * (_DIRECTIONS // 8) + min(np.int64(share * (_DIRECTIONS // 8)), _DIRECTIONS // 8 - 1)
