"""
Find straight walks that cross water, or a street that cannot be crossed on foot.
"""

from __future__ import annotations

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.grid import cell_at, empty_metres

#: Marks of the segments of a grid of barriers: the outline of water, with the water on its left, and streets that
#: cannot be crossed on foot.
SHORE, MOTORWAY = np.uint8(1), np.uint8(2)
#: A walk may lead over this much water, because outlines are drawn to some metres only (assumed).
WADE_M = 5.0
#: A walk to a street ends on the street, not beyond it (assumed width).
REACH_M = 1.0
#: Number of parts into which walks are divided to find the water that bars them all.
_SHARES = 16


@kernel(forceinline=True)
def _metres(x, y):
    """Return the length of a vector, faster than ``np.hypot``, which guards against numbers that no walk has."""
    return np.sqrt(x * x + y * y)


@kernel(forceinline=True)
def crosses_at(px, py, qx, qy, k, barriers, i):
    """
    Return where a straight walk crosses a segment of a grid of barriers, and whether it bars the walk by itself.

    Parameters
    ----------
    px, py, qx, qy : float, m
        The point and its position on a street.
    k : float
        Shrink at the latitude of the point.
    barriers : Grid
    i : int
        The segment.

    Returns
    -------
    t : float
        Part of the walk before the crossing, 0 to 1; negative if there is none.
    is_bar : bool
        Whether the segment is a motorway that is crossed before the walk is at its end.
    turn : float
        Positive if the walk leads to the left side of the segment.
    """
    ends = barriers.ends
    dx, dy = qx - px, qy - py
    x1, y1, x2, y2 = ends[i, 0], ends[i, 1], ends[i, 2], ends[i, 3]
    # Which side of the walk the ends of the segment are on; a shared end counts for one segment only.
    if (dx * (y1 - py) - dy * (x1 - px) > 0.0) == (dx * (y2 - py) - dy * (x2 - px) > 0.0):
        return -1.0, False, 0.0
    bx, by = x2 - x1, y2 - y1
    turn = bx * dy - by * dx
    if turn == 0.0:
        return -1.0, False, turn
    t = (bx * (y1 - py) - by * (x1 - px)) / turn
    if t < 0.0 or t > 1.0:
        return -1.0, False, turn
    length = _metres(dx * k, dy)
    return t, barriers.marks[i] == MOTORWAY and t * length < length - REACH_M, turn


@kernel(forceinline=True)
def bars_square(px, py, k, x1, y1, x2, y2, x, y, half):
    """
    Return whether a motorway bars all straight walks from a point to a square; False if it bars only some.

    Parameters
    ----------
    px, py, k
        As in `crosses_at`.
    x1, y1, x2, y2 : float, m
        Ends of a segment of the motorway.
    x, y, half : float, m
        Middle of the square and half of its side, wider than the square by more than rounding takes.

    Notes
    -----
    The places behind the segment are between the two rays from the point through its ends, and more than `REACH_M`
    beyond its line. Each is one side of a line, of which the corner is looked at that is the last to be on it.
    """
    ax, ay, bx, by = (x1 - px) * k, y1 - py, (x2 - px) * k, y2 - py
    qx, qy, half_x, dx, dy = (x - px) * k, y - py, half * k, bx - ax, by - ay
    sign = 1.0 if ax * by - ay * bx > 0.0 else -1.0
    after_first = sign * (ax * qy - ay * qx) - (abs(ay) * half_x + abs(ax) * half)
    before_last = sign * (qx * by - qy * bx) - (abs(by) * half_x + abs(bx) * half)
    beyond = sign * (dy * (qx - ax) - dx * (qy - ay)) - (abs(dy) * half_x + abs(dx) * half)
    return after_first > 0.0 and before_last > 0.0 and beyond > REACH_M * np.sqrt(dx * dx + dy * dy)


@kernel(forceinline=True)
def is_surely_free(
    px, py, qx, qy, ends, cell, first_row, last_row, first_column, last_column, blocks, begin, members
):  # fmt: skip
    """
    Return whether no segment of a grid of barriers is near a short straight walk; False proves nothing.

    Parameters
    ----------
    px, py, qx, qy : float, m
        Ends of the walk.
    ends, cell, first_row, last_row, first_column, last_column, blocks, begin, members
        Fields of the grid of barriers. As single arguments they are not counted as references.
    """
    low_x, high_x, low_y, high_y = min(px, qx), max(px, qx), min(py, qy), max(py, qy)
    # A micrometre wider against rounding, as in `barring`.
    first = max(np.int64(np.floor((low_x - 1e-6) / cell)), first_column)
    last = min(np.int64(np.floor((high_x + 1e-6) / cell)), last_column)
    top = max(np.int64(np.floor((low_y - 1e-6) / cell)), first_row)
    bottom = min(np.int64(np.floor((high_y + 1e-6) / cell)), last_row)
    is_free = (last - first < 4) and (bottom - top < 4)
    for r in range(top, bottom + 1 if is_free else top):
        for c in range(first, last + 1):
            here = cell_at(r - first_row, c - first_column, blocks)
            if here >= 0:
                for m in range(begin[here], begin[here + 1]):
                    x1, y1, x2, y2 = ends[members[m], 0], ends[members[m], 1], ends[members[m], 2], ends[members[m], 3]
                    is_free &= (
                        (max(x1, x2) < low_x) | (min(x1, x2) > high_x) | (max(y1, y2) < low_y) | (min(y1, y2) > high_y)
                    )
    return is_free


@kernel(forceinline=True)
def _columns_of(px, py, qx, qy, row, cell):
    """Return the first and last columns of cells that a straight walk passes in a row."""
    dx, dy = qx - px, qy - py
    xa, xb = px, qx
    if dy != 0.0:
        a = min(1.0, max(0.0, (row * cell - py) / dy))
        b = min(1.0, max(0.0, ((row + 1) * cell - py) / dy))
        xa, xb = px + a * dx, px + b * dx
    # A micrometre wider against rounding.
    return np.int64(np.floor((min(xa, xb) - 1e-6) / cell)), np.int64(np.floor((max(xa, xb) + 1e-6) / cell))


@kernel
def barring(px, py, qx, qy, k, barriers, with_motorways):
    """
    Return what bars a straight walk.

    Parameters
    ----------
    px, py, qx, qy, k, barriers
        As in `crosses_at`; the segments are marked `SHORE` or `MOTORWAY`.
    with_motorways : bool
        Whether motorways count, or only water.

    Returns
    -------
    by : int
        A motorway, -2 for water, -1 for nothing.
    n_entered : int
        How many more shores the walk crosses into the water than out of it: 1 if it leads from land into the water.
        0 if a motorway bars the walk, or if nothing is near.

    Notes
    -----
    Each crossing into the water adds the rest of the walk to the length in the water, each crossing out of it takes the
    rest away. The sum is the length in the water for a point on land, and never positive for a point in the water: from
    there, some water must be crossed.
    """
    _, marks, _, cell, first_row, last_row, first_column, last_column, blocks, begin, rings, members = barriers
    length = _metres((qx - px) * k, qy - py)
    # Most walks are shorter than the distance to the nearest ring of cells with a barrier.
    if empty_metres(px, py, k, cell, first_row, last_row, first_column, last_column, blocks, rings) > length:
        return np.int64(-1), 0
    has_shores = False
    low_y, high_y = min(py, qy), max(py, qy)
    for r in range(
        max(np.int64(np.floor(low_y / cell)), first_row), min(np.int64(np.floor(high_y / cell)), last_row) + 1
    ):
        low, high = _columns_of(px, py, qx, qy, r, cell)
        for c in range(max(low, first_column), min(high, last_column) + 1):
            here = cell_at(r - first_row, c - first_column, blocks)
            if here < 0:
                continue
            for m in range(begin[here], begin[here + 1]):
                i = np.int64(members[m])
                t, is_bar, _ = crosses_at(px, py, qx, qy, k, barriers, i)
                if is_bar and with_motorways:
                    return i, 0
                has_shores |= t >= 0.0 and marks[i] != MOTORWAY
    if not has_shores:
        return np.int64(-1), 0
    wet, n_entered = _way_in_water(px, py, qx, qy, k, barriers)
    return np.int64(-2) if wet > WADE_M else np.int64(-1), n_entered


@kernel
def _way_in_water(px, py, qx, qy, k, barriers):
    """Return the length of a straight walk in the water, as of `barring`, and the number of shores that it returns."""
    _, marks, _, cell, first_row, last_row, first_column, last_column, blocks, begin, _, members = barriers
    length = _metres((qx - px) * k, qy - py)
    wet, n_entered, n_crossed, crossed = 0.0, 0, 0, np.empty(0, np.int32)
    low_y, high_y = min(py, qy), max(py, qy)
    for r in range(
        max(np.int64(np.floor(low_y / cell)), first_row), min(np.int64(np.floor(high_y / cell)), last_row) + 1
    ):
        low, high = _columns_of(px, py, qx, qy, r, cell)
        for c in range(max(low, first_column), min(high, last_column) + 1):
            here = cell_at(r - first_row, c - first_column, blocks)
            if here < 0:
                continue
            for m in range(begin[here], begin[here + 1]):
                i = np.int64(members[m])
                t, _, turn = crosses_at(px, py, qx, qy, k, barriers, i)
                if t < 0.0 or marks[i] == MOTORWAY:
                    continue
                # Segments are in several cells, but each crossing counts once.
                is_known = False
                for j in range(n_crossed):
                    is_known |= crossed[j] == i
                if is_known:
                    continue
                if n_crossed == crossed.size:
                    longer = np.empty(2 * crossed.size + 8, np.int32)
                    for j in range(n_crossed):
                        longer[j] = crossed[j]
                    crossed = longer
                crossed[n_crossed] = i
                n_crossed += 1
                if turn > 0.0:
                    wet += (1.0 - t) * length
                    n_entered += 1
                else:
                    wet -= (1.0 - t) * length
                    n_entered -= 1
    return wet, n_entered


@kernel
def is_barred(px, py, qx, qy, k, barriers, with_motorways):
    """Return whether a straight walk is barred; see `barring`."""
    return barring(px, py, qx, qy, k, barriers, with_motorways)[0] != -1


@kernel
def is_behind_water(px, py, k, x, y, half_x, half_y, to_x, to_y, to_half, barriers):
    """
    Return whether water bars each straight walk from a rectangle of land to a square; False proves nothing.

    Parameters
    ----------
    px, py : float, m
        A point in the rectangle that is on land.
    k : float
        Least shrink at the latitudes of the rectangle.
    x, y, half_x, half_y : float, m
        Middle of the rectangle and half of its sides. Only walks from points on land are looked at.
    to_x, to_y, to_half : float, m
        Middle of the square and half of its side.
    barriers : Grid
        Its shores are the outlines of polygons whose interiors are disjoint.

    Notes
    -----
    The places of all walks after a share of their length are a rectangle, too. If no shore is in it, nor within some
    metres around it, it is water as a whole or land as a whole. A walk that leads through the middle of so much water
    is that long in it. The place of one walk says which of the two it is.
    """
    ends, marks, _, cell, first_row, last_row, first_column, last_column, blocks, begin, _, members = barriers
    # A metre more against rounding.
    margin = (WADE_M + 1.0) / min(1.0, k)
    for i in range(1, _SHARES):
        share = i / _SHARES
        mid_x, mid_y = x + share * (to_x - x), y + share * (to_y - y)
        wide = (1.0 - share) * half_x + share * to_half + margin
        high = (1.0 - share) * half_y + share * to_half + margin
        left, right, bottom, top = mid_x - wide, mid_x + wide, mid_y - high, mid_y + high
        is_clear = True
        for r in range(
            max(np.int64(np.floor(bottom / cell)), first_row), min(np.int64(np.floor(top / cell)), last_row) + 1
        ):
            for c in range(
                max(np.int64(np.floor(left / cell)), first_column),
                min(np.int64(np.floor(right / cell)), last_column) + 1,
            ):
                here = cell_at(r - first_row, c - first_column, blocks)
                if here < 0 or not is_clear:
                    continue
                for m in range(begin[here], begin[here + 1]):
                    s = members[m]
                    x1, y1, x2, y2 = ends[s, 0], ends[s, 1], ends[s, 2], ends[s, 3]
                    is_clear &= (
                        (marks[s] == MOTORWAY)
                        | (max(x1, x2) < left)
                        | (min(x1, x2) > right)
                        | (max(y1, y2) < bottom)
                        | (min(y1, y2) > top)
                    )
        if is_clear:
            _, n_entered = barring(px, py, px + share * (to_x - px), py + share * (to_y - py), k, barriers, False)
            if n_entered == 1:
                return True
    return False
