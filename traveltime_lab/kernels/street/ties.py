"""
Find all streets that are as near to a point as the nearest one.

At a junction all streets are equally near, and between two streets both may be. See
`traveltime_lab.kernels.street.nearest` for the coordinates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.grid import cell_at, empty_metres
from traveltime_lab.kernels.street.nearest import TIE_M, is_walk_barred, place_on


class Parts(NamedTuple):
    """Which parts of their edges the segments of a grid are."""

    start: np.ndarray  # float64 (n_segments,), share of the edge before the segment
    span: np.ndarray  # float64 (n_segments,), share of the edge that the segment is


class Places(NamedTuple):
    """CSR by point of places on edges."""

    indptr: np.ndarray  # int64 (n_points + 1,)
    edge: np.ndarray  # int32 (n,)
    fraction: np.ndarray  # float64 (n,), 0 to 1
    distance: np.ndarray  # float64 (n,), m


@kernel(inline="always")
def _place_of(segment, t, parts):
    """Return the share of its edge before a position on a segment; exactly 0 or 1 at the ends of the edge."""
    fraction = parts.start[segment] + t * parts.span[segment]
    return 0.0 if fraction < 1e-9 else (1.0 if fraction > 1.0 - 1e-9 else fraction)


@kernel
def places_of(found, edge_of, parts):
    """
    Return edges and positions of the nearest segments of the cells of a raster.

    Parameters
    ----------
    found : Nearest
        From `nearest_on_raster`.
    edge_of : int32 array of shape (n_segments,)
    parts : Parts

    Returns
    -------
    edge, fraction : int32 and float32 arrays of shape (n_rows, n_columns)
        -1 and 0 for cells without a segment.
    tied : int32 array
        Cells that may be tied, ascending: ``row * n_columns + column``.
    """
    n_rows, n_columns = found.segment.shape
    edge, fraction = np.empty((n_rows, n_columns), np.int32), np.empty((n_rows, n_columns), np.float32)
    tied, n = np.empty(n_rows * n_columns, np.int32), 0
    for row in range(n_rows):
        for column in range(n_columns):
            segment = np.int64(found.segment[row, column])
            if segment < 0:
                edge[row, column], fraction[row, column] = -1, 0.0
                continue
            edge[row, column] = edge_of[segment]
            fraction[row, column] = _place_of(segment, np.float64(found.position[row, column]), parts)
            tied[n] = row * n_columns + column
            n += found.may_be_tied[row, column]
    return edge, fraction, tied[:n].copy()


@kernel
def tied_places(px, py, shrink, found, limit, grid, needed, barriers, parts):
    """
    Return the places on streets that are as near to each point as the nearest one, within `TIE_M`.

    Parameters
    ----------
    px, py, shrink, limit, grid, needed, barriers
        As in `nearest_segments`.
    found : Nearest
        From `nearest_segments`, of the same points.
    parts : Parts

    Returns
    -------
    Places
        Of each point that has a nearest segment its nearest place, then one place on each other edge within half a
        metre of the same distance. A closed edge that begins and ends at the point has both ends.
    """
    ends, marks, edge_of, cell, first_row, last_row, first_column, last_column, blocks, first_member, _, members = grid
    n = px.size
    _, _, _, wall_cell, wall_top, wall_bottom, wall_left, wall_right, wall_blocks, _, wall_rings, _ = barriers
    indptr = np.zeros(n + 1, np.int64)
    edge = np.empty(n + 64, np.int32)
    fraction = np.empty(n + 64)
    distance = np.empty(n + 64)
    at = 0
    for i in range(n):
        nearest = np.int64(found.segment[i])
        if nearest >= 0:
            if at + 256 > edge.size:
                edge, fraction, distance = _longer(edge, at), _longer(fraction, at), _longer(distance, at)
            begin, room = at, at + 256
            edge[at] = edge_of[nearest]
            fraction[at] = _place_of(nearest, np.float64(found.position[i]), parts)
            distance[at] = found.distance[i]
            at += 1
            if not found.may_be_tied[i]:
                indptr[i + 1] = at
                continue
            k = shrink[i]
            radius = min(distance[begin] + TIE_M, limit)
            has_barriers = barriers.ends.shape[0] > 0 and radius >= empty_metres(
                px[i], py[i], k, wall_cell, wall_top, wall_bottom, wall_left, wall_right, wall_blocks, wall_rings
            )
            # Where the nearest walk had to cross a motorway, others may do so, too.
            t_nearest = np.float64(found.position[i])
            with_motorways = has_barriers and not is_walk_barred(
                px[i], py[i], k, grid, nearest, t_nearest, barriers, True
            )
            # Nearer streets are barred or of no use; with room for rounding to float32.
            least = (distance[begin] * 0.99999) ** 2
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
                    # Skip cells of which all is nearer than the nearest street, or farther than the radius.
                    near_x = max(0.0, max(c * cell - px[i], px[i] - (c + 1) * cell)) * k
                    far_x = max(abs(c * cell - px[i]), abs((c + 1) * cell - px[i])) * k
                    if near_x * near_x + near_y * near_y > radius * radius:
                        continue
                    if far_x * far_x + far_y * far_y < least:
                        continue
                    here = cell_at(r - first_row, c - first_column, blocks)
                    if here < 0:
                        continue
                    for m in range(first_member[here], first_member[here + 1]):
                        s = np.int64(members[m])
                        t, squared = place_on(px[i], py[i], k, ends[s, 0], ends[s, 1], ends[s, 2], ends[s, 3])
                        if squared > radius * radius or squared < least or marks[s] & needed != needed:
                            continue
                        place, metres, is_known = _place_of(s, t, parts), np.sqrt(squared), False
                        for j in range(begin, at):
                            if edge[j] == edge_of[s] and abs(fraction[j] - place) != 1.0:
                                is_known = True
                                if metres < distance[j] and j > begin:
                                    fraction[j], distance[j] = place, metres
                        if is_known or at == room:
                            continue
                        if has_barriers and is_walk_barred(px[i], py[i], k, grid, s, t, barriers, with_motorways):
                            continue
                        edge[at], fraction[at], distance[at] = edge_of[s], place, metres
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
