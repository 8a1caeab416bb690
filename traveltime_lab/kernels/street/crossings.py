"""
Find straight walks that cross water, or a street that cannot be crossed on foot.
"""

from __future__ import annotations

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.grid import slot_of

#: Marks of the segments of a grid of barriers: the outline of water, with the water on its left, and streets that
#: cannot be crossed on foot.
SHORE, MOTORWAY = np.uint8(1), np.uint8(2)
#: A walk may lead over this much water, because outlines are drawn to some metres only (assumed).
WADE_M = 5.0
#: A walk to a street ends on the street, not beyond it (assumed width).
REACH_M = 1.0


@kernel
def is_barred(px, py, qx, qy, k, barriers, with_motorways):
    """
    Return whether a straight walk crosses a barrier.

    Parameters
    ----------
    px, py, qx, qy : float, m
        The point and its position on a street.
    k : float
        Shrink at the latitude of the point.
    barriers : Grid
        Segments marked `SHORE` or `MOTORWAY`.
    with_motorways : bool
        Whether motorways count, or only water.

    Notes
    -----
    Each crossing into the water adds the rest of the walk to the length in the water, each crossing out of it takes the
    rest away. The sum is the length in the water for a point on land, and never positive for a point in the water: from
    there, some water must be crossed.
    """
    if barriers.x1.size == 0:
        return False
    x1, y1, x2, y2, marks, cell = barriers.x1, barriers.y1, barriers.x2, barriers.y2, barriers.marks, barriers.cell
    table, members = barriers.table, barriers.members
    mask = np.int64(table.shape[0] - 1)
    dx, dy = qx - px, qy - py
    length = np.hypot(dx * k, dy)
    wet, n_crossed, crossed = 0.0, 0, np.empty(0, np.int32)
    low_y, high_y = min(py, qy), max(py, qy)
    first_row = max(np.int64(np.floor(low_y / cell)), barriers.first_row)
    last_row = min(np.int64(np.floor(high_y / cell)), barriers.last_row)
    for row in range(first_row, last_row + 1):
        # The columns of this row that the walk passes, a micrometre wider against rounding.
        xa, xb = px, qx
        if high_y > low_y:
            a = min(1.0, max(0.0, (row * cell - py) / dy))
            b = min(1.0, max(0.0, ((row + 1) * cell - py) / dy))
            xa, xb = px + a * dx, px + b * dx
        first = max(np.int64(np.floor((min(xa, xb) - 1e-6) / cell)), barriers.first_column)
        last = min(np.int64(np.floor((max(xa, xb) + 1e-6) / cell)), barriers.last_column)
        for column in range(first, last + 1):
            key = (row << np.int64(32)) ^ (column & np.int64(0xFFFFFFFF))
            slot = slot_of(key, mask)
            while table[slot, 1] != -1 and table[slot, 0] != key:
                slot = (slot + 1) & mask
            if table[slot, 1] == -1:
                continue
            for m in range(table[slot, 1], table[slot, 2]):
                i = members[m]
                bx, by = x2[i] - x1[i], y2[i] - y1[i]
                # Which side of the walk the ends of the segment are on; a shared end counts for one segment only.
                if (dx * (y1[i] - py) - dy * (x1[i] - px) > 0.0) == (dx * (y2[i] - py) - dy * (x2[i] - px) > 0.0):
                    continue
                turn = bx * dy - by * dx
                if turn == 0.0:
                    continue
                t = (bx * (y1[i] - py) - by * (x1[i] - px)) / turn
                if t < 0.0 or t > 1.0:
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
                if marks[i] == MOTORWAY:
                    if with_motorways and t * length < length - REACH_M:
                        return True
                elif turn > 0.0:
                    wet += (1.0 - t) * length
                else:
                    wet -= (1.0 - t) * length
    return wet > WADE_M
