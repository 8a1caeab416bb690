"""
Find all streets that are as near to a point as the nearest one.

At a junction all streets are equally near, and between two streets both may be. See
`traveltime_lab.kernels.street.nearest` for the coordinates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.grid import slot_of
from traveltime_lab.kernels.street.nearest import is_walk_barred, place_on

#: Streets are tied if their distances differ by no more than this; coordinates and lines are no more exact (assumed).
TIE_M = 0.5


class Streets(NamedTuple):
    """Edges of the segments of a grid."""

    edge: np.ndarray  # int32 (n_segments,)
    start: np.ndarray  # float64 (n_segments,), share of the edge before the segment
    span: np.ndarray  # float64 (n_segments,), share of the edge that the segment is


class Places(NamedTuple):
    """CSR by point of places on edges."""

    indptr: np.ndarray  # int64 (n_points + 1,)
    edge: np.ndarray  # int32 (n,)
    fraction: np.ndarray  # float64 (n,), 0 to 1
    distance: np.ndarray  # float64 (n,), m


@kernel
def _place_of(segment, t, streets):
    """Return the share of its edge before a position on a segment; exactly 0 or 1 at the ends of the edge."""
    fraction = streets.start[segment] + t * streets.span[segment]
    return 0.0 if fraction < 1e-9 else (1.0 if fraction > 1.0 - 1e-9 else fraction)


@kernel
def tied_places(px, py, shrink, found, limit, grid, needed, barriers, streets):
    """
    Return the places on streets that are as near to each point as the nearest one, within `TIE_M`.

    Parameters
    ----------
    px, py, shrink, limit, grid, needed, barriers
        As in `nearest_segments`.
    found : Nearest
        From `nearest_segments`, of the same points.
    streets : Streets

    Returns
    -------
    Places
        Of each point that has a nearest segment its nearest place, then one place on each other edge within half a
        metre of the same distance. A closed edge that begins and ends at the point has both ends.
    """
    x1, y1, x2, y2, cell, first_row, last_row, first_column, last_column, table, members, marks = grid
    mask = np.int64(table.shape[0] - 1)
    n = px.size
    has_barriers = barriers.x1.size > 0
    indptr = np.zeros(n + 1, np.int64)
    edge = np.empty(n + 64, np.int32)
    fraction = np.empty(n + 64)
    distance = np.empty(n + 64)
    at = 0
    for i in range(n):
        nearest = found.segment[i]
        if nearest >= 0:
            if at + 256 > edge.size:
                edge, fraction, distance = _longer(edge, at), _longer(fraction, at), _longer(distance, at)
            begin, room = at, at + 256
            edge[at] = streets.edge[nearest]
            fraction[at] = _place_of(nearest, np.float64(found.position[i]), streets)
            distance[at] = found.distance[i]
            at += 1
            k = shrink[i]
            radius = min(distance[begin] + TIE_M, limit)
            # Where the nearest walk had to cross a motorway, others may do so, too.
            t_nearest = np.float64(found.position[i])
            with_motorways = has_barriers and not is_walk_barred(
                px[i], py[i], k, grid, nearest, t_nearest, barriers, True
            )
            wide = radius / k
            for r in range(
                max(np.int64(np.floor((py[i] - radius) / cell)), first_row),
                min(np.int64(np.floor((py[i] + radius) / cell)), last_row) + 1,
            ):
                near_y = max(0.0, max(r * cell - py[i], py[i] - (r + 1) * cell))
                far_y = max(abs(r * cell - py[i]), abs((r + 1) * cell - py[i]))
                for c in range(
                    max(np.int64(np.floor((px[i] - wide) / cell)), first_column),
                    min(np.int64(np.floor((px[i] + wide) / cell)), last_column) + 1,
                ):
                    # Skip cells of which all is nearer than the nearest street, so that their streets are barred or of
                    # no use, or farther than the radius.
                    near_x = max(0.0, max(c * cell - px[i], px[i] - (c + 1) * cell)) * k
                    far_x = max(abs(c * cell - px[i]), abs((c + 1) * cell - px[i])) * k
                    if near_x * near_x + near_y * near_y > radius * radius:
                        continue
                    if np.sqrt(far_x * far_x + far_y * far_y) < distance[begin] * 0.999:
                        continue
                    key = (r << np.int64(32)) ^ (c & np.int64(0xFFFFFFFF))
                    slot = slot_of(key, mask)
                    while table[slot, 1] != -1 and table[slot, 0] != key:
                        slot = (slot + 1) & mask
                    if table[slot, 1] == -1:
                        continue
                    for m in range(table[slot, 1], table[slot, 2]):
                        s = members[m]
                        t, squared = place_on(px[i], py[i], k, x1[s], y1[s], x2[s], y2[s])
                        if squared > radius * radius or marks[s] & needed != needed:
                            continue
                        place, metres, is_known = _place_of(s, t, streets), np.sqrt(squared), False
                        for j in range(begin, at):
                            if edge[j] == streets.edge[s] and abs(fraction[j] - place) != 1.0:
                                is_known = True
                                if metres < distance[j] and j > begin:
                                    fraction[j], distance[j] = place, metres
                        if is_known or at == room:
                            continue
                        if has_barriers and is_walk_barred(px[i], py[i], k, grid, s, t, barriers, with_motorways):
                            continue
                        edge[at], fraction[at], distance[at] = streets.edge[s], place, metres
                        at += 1
        indptr[i + 1] = at
    return Places(indptr, edge[:at].copy(), fraction[:at].copy(), distance[:at].copy())


@kernel
def _longer(values, n):
    """Return an array of twice the length with the first `n` values."""
    longer = np.empty(2 * values.size + 512, values.dtype)
    for i in range(n):
        longer[i] = values[i]
    return longer
