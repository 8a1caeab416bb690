"""
Find all streets that are as near to a point as the nearest one.

At a junction all streets are equally near, and between two streets both may be. A street is the part between two
junctions, however many edges it is cut into (see `traveltime_lab.streets.chains`). See
`traveltime_lab.kernels.street.nearest` for the coordinates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.crossings import is_barred, is_surely_free
from traveltime_lab.kernels.street.grid import cell_at, empty_metres
from traveltime_lab.kernels.street.nearest import TIE_M, Near, Nearest, place_on
from traveltime_lab.kernels.street.raster_barriers import points_of

#: Largest number of places of a point (assumed to be more than are needed).
_MOST_TIED = 256
#: Positions that are so near to one another are the same: where two edges meet, with room for rounding to float32.
_SAME_M = 0.001


class Parts(NamedTuple):
    """Which parts of their edges, and of which streets, the segments of a grid are."""

    start: np.ndarray  # float64 (n_segments,), share of the edge before the segment
    span: np.ndarray  # float64 (n_segments,), share of the edge that the segment is
    street: np.ndarray  # int32 (n_segments,), number of the street
    ends: np.ndarray  # bool (n_directed,), whether a street ends where a directed edge begins


class Places(NamedTuple):
    """CSR by point of places on edges."""

    indptr: np.ndarray  # int64 (n_points + 1,)
    edge: np.ndarray  # int32 (n,)
    fraction: np.ndarray  # float64 (n,), 0 to 1
    distance: np.ndarray  # float64 (n,), m


@kernel(forceinline=True)
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
    """
    n_rows, n_columns = found.segment.shape
    edge, fraction = np.empty((n_rows, n_columns), np.int32), np.empty((n_rows, n_columns), np.float32)
    for row in range(n_rows):
        for column in range(n_columns):
            segment = np.int64(found.segment[row, column])
            if segment < 0:
                edge[row, column], fraction[row, column] = -1, 0.0
                continue
            edge[row, column] = edge_of[segment]
            fraction[row, column] = _place_of(segment, np.float64(found.position[row, column]), parts)
    return edge, fraction


def tied_cells(centres, found, tied, near, limit, grid, needed, barriers, parts):
    """
    Return the other streets that are as near to the cells of a raster as the nearest one, within `TIE_M`.

    Parameters
    ----------
    centres, limit, grid, needed, barriers
        As in `nearest_on_raster`.
    found, tied, near
        From `nearest_on_raster`.
    parts : Parts

    Returns
    -------
    cell, edge, fraction, distance : int32, int32, float32 and float32 arrays of shape (n,)
        Cells in ascending order: ``row * n_columns + column``.
    """
    px, py, shrink = points_of(centres, tied, found.segment.shape[1])
    at = np.divmod(tied, found.segment.shape[1])
    position, distance = found.position[at].astype(np.float64), found.distance[at].astype(np.float64)
    here = Nearest(found.segment[at], position, distance, np.ones(tied.size, np.bool_))
    places = _tied_places(px, py, shrink, here, near, limit, grid, needed, barriers, parts)
    _, _, _, point, edge, fraction, distance = divided(places)
    return tied.astype(np.int32)[point], edge, fraction, distance


@kernel
def divided(places):
    """
    Return the nearest place of each point, and the others.

    Parameters
    ----------
    places : Places
        From `tied_places`.

    Returns
    -------
    edge, fraction, distance : int32, float32 and float32 arrays of shape (n_points,)
        -1, 0 and inf for points without a place.
    point, other_edge, other_fraction, other_distance : int32, int32, float32 and float32 arrays of shape (n_others,)
        Points in ascending order.
    """
    indptr = places.indptr
    n = indptr.size - 1
    edge, fraction, distance = np.empty(n, np.int32), np.empty(n, np.float32), np.empty(n, np.float32)
    n_others = indptr[n]
    for i in range(n):
        n_others -= indptr[i] < indptr[i + 1]
    point, other_edge = np.empty(n_others, np.int32), np.empty(n_others, np.int32)
    other_fraction, other_distance = np.empty(n_others, np.float32), np.empty(n_others, np.float32)
    n_others = 0
    for i in range(n):
        first = indptr[i]
        if first == indptr[i + 1]:
            edge[i], fraction[i], distance[i] = -1, 0.0, np.inf
            continue
        edge[i], fraction[i], distance[i] = places.edge[first], places.fraction[first], places.distance[first]
        for j in range(first + 1, indptr[i + 1]):
            point[n_others], other_edge[n_others] = i, places.edge[j]
            other_fraction[n_others], other_distance[n_others] = places.fraction[j], places.distance[j]
            n_others += 1
    return edge, fraction, distance, point, other_edge, other_fraction, other_distance


def tied_places(px, py, shrink, found, near, limit, grid, needed, barriers, parts):
    """
    Return the places on streets that are as near to each point as the nearest one, within `TIE_M`.

    Parameters
    ----------
    px, py, shrink, limit, grid, needed, barriers
        As in `nearest_segments`.
    found : Nearest
        From `nearest_segments`, of the same points.
    near : Near
        From `nearest_segments`, too. The segments around points that have none are searched for those that are tied.
    parts : Parts

    Returns
    -------
    Places
        For each point that has a nearest segment, its nearest place, then, by distance, the nearest place of each other
        street within half a metre of the same distance, and all ends of streets there. Where two edges of a street meet
        at such a place, it is on both.
    """
    indptr, edge, fraction, distance = _tied_places(px, py, shrink, found, near, limit, grid, needed, barriers, parts)
    n = indptr[-1]
    return Places(indptr, edge[:n].copy(), fraction[:n].copy(), distance[:n].copy())


@kernel
def _tied_places(px, py, shrink, found, near, limit, grid, needed, barriers, parts):
    """Return the `Places` of `tied_places`, with room for more."""
    n = px.size
    ends, edge_of = grid.ends, grid.edge
    nearest, position, metres_to, may_be_tied = found
    first, some, some_t, some_d2 = _all_near(px, py, shrink, found, near, limit, grid, needed)
    walls, _, _, cell, first_row, last_row, first_column, last_column, blocks, members_of, rings, members = barriers
    indptr = np.zeros(n + 1, np.int64)
    most = n + first[n]
    edge, fraction, distance = np.empty(most, np.int32), np.empty(most), np.empty(most)
    kept_x, kept_y, kept_street = np.empty(_MOST_TIED), np.empty(_MOST_TIED), np.empty(_MOST_TIED, np.int32)
    at = 0
    for i in range(n):
        if nearest[i] >= 0:
            begin = at
            edge[at] = edge_of[nearest[i]]
            fraction[at] = _place_of(np.int64(nearest[i]), position[i], parts)
            distance[at] = metres_to[i]
            at += 1
        if nearest[i] >= 0 and may_be_tied[i]:
            x, y, k = px[i], py[i], shrink[i]
            own, t = np.int64(nearest[i]), position[i]
            kept_x[0] = ends[own, 0] + t * (ends[own, 2] - ends[own, 0])
            kept_y[0] = ends[own, 1] + t * (ends[own, 3] - ends[own, 1])
            kept_street[0] = parts.street[own]
            radius, least = _band(distance[begin], limit)
            has_barriers = walls.shape[0] > 0 and radius >= empty_metres(
                x, y, k, cell, first_row, last_row, first_column, last_column, blocks, rings
            )
            # Where the nearest walk had to cross a motorway, others may do so, too.
            with_motorways = has_barriers and not is_barred(x, y, kept_x[0], kept_y[0], k, barriers, True)
            # By distance and number, so that the places do not depend on the order of the cells.
            for m in range(first[i] + 1, first[i + 1]):
                number, t, squared, j = some[m], some_t[m], some_d2[m], m
                while j > first[i] and (
                    some_d2[j - 1] > squared or (some_d2[j - 1] == squared and some[j - 1] > number)
                ):
                    some[j], some_t[j], some_d2[j] = some[j - 1], some_t[j - 1], some_d2[j - 1]
                    j -= 1
                some[j], some_t[j], some_d2[j] = number, t, squared
            for m in range(first[i], first[i + 1]):
                s, t, squared = np.int64(some[m]), some_t[m], some_d2[m]
                if squared > radius * radius or squared < least or at == begin + _MOST_TIED:
                    continue
                place = _place_of(s, t, parts)
                qx = ends[s, 0] + t * (ends[s, 2] - ends[s, 0])
                qy = ends[s, 1] + t * (ends[s, 3] - ends[s, 1])
                is_end = (place == 0.0 and parts.ends[2 * edge_of[s]]) or (
                    place == 1.0 and parts.ends[2 * edge_of[s] + 1]
                )
                has_street, has_here, is_known = False, False, False
                for j in range(at - begin):
                    dx, dy = (qx - kept_x[j]) * k, qy - kept_y[j]
                    is_here = dx * dx + dy * dy < _SAME_M * _SAME_M
                    has_street |= kept_street[j] == parts.street[s]
                    has_here |= is_here and kept_street[j] == parts.street[s]
                    # A closed edge is at both of its ends.
                    is_known |= is_here and edge[begin + j] == edge_of[s] and abs(fraction[begin + j] - place) != 1.0
                if is_known or (has_street and not has_here and not is_end):
                    continue
                if has_barriers:
                    is_free = is_surely_free(
                        x, y, qx, qy, walls, cell, first_row, last_row, first_column, last_column, blocks, members_of,
                        members,
                    )  # fmt: skip
                    if not is_free and is_barred(x, y, qx, qy, k, barriers, with_motorways):
                        continue
                edge[at], fraction[at], distance[at] = edge_of[s], place, np.sqrt(squared)
                kept_x[at - begin], kept_y[at - begin], kept_street[at - begin] = qx, qy, parts.street[s]
                at += 1
        indptr[i + 1] = at
    return Places(indptr, edge, fraction, distance)


@kernel
def put_places(points, some, places, edge, fraction, distance):
    """
    Write the places of some points to those of all points.

    Parameters
    ----------
    points : int64 array of shape (n_some,)
        Numbers of the points.
    some : Places
        Places of these points.
    places : Places
        Places of all points: `indptr` is given, the others are overwritten.
    edge, fraction, distance : int32, float64 and float64 arrays of shape (n,)
        The first place of each point; overwritten where there is one.
    """
    for i in range(points.size):
        point, first, last = points[i], some.indptr[i], some.indptr[i + 1]
        if first < last:
            edge[point], fraction[point], distance[point] = some.edge[first], some.fraction[first], some.distance[first]
        to = places.indptr[point] - first
        for j in range(first, last):
            places.edge[to + j], places.fraction[to + j] = some.edge[j], some.fraction[j]
            places.distance[to + j] = some.distance[j]


@kernel(forceinline=True)
def _band(metres, limit):
    """
    Return the distance within which a segment is tied, and the squared distance from which it is.

    Nearer ones are barred or of no use; with room for rounding to float32.
    """
    return min(metres + TIE_M, limit), (metres * 0.99999) ** 2


@kernel
def _all_near(px, py, shrink, found, near, limit, grid, needed):
    """Return the segments that may be tied of all points, also of those for which they were not kept; as a `Near`."""
    n = px.size
    n_missing = 0
    for i in range(n):
        if found.segment[i] >= 0 and found.may_be_tied[i]:
            n_missing += near.begin[i] == near.begin[i + 1] or near.segment[near.begin[i]] < 0
    if n_missing == 0:
        return near
    ends, marks, _, cell, first_row, last_row, first_column, last_column, blocks, first_member, _, members = grid
    begin, size = np.zeros(n + 1, np.int64), near.begin[n] + 4 * n_missing + 64
    segment, position, squared = np.empty(size, np.int32), np.empty(size), np.empty(size)
    at = 0
    for i in range(n):
        first, last = near.begin[i], near.begin[i + 1]
        if first < last and near.segment[first] >= 0:
            if at + last - first > segment.size:
                segment, position, squared = _longer(segment), _longer(position), _longer(squared)
            for j in range(first, last):
                segment[at], position[at], squared[at] = near.segment[j], near.position[j], near.squared[j]
                at += 1
        elif found.segment[i] >= 0 and found.may_be_tied[i]:
            x, y, k = px[i], py[i], shrink[i]
            radius, least = _band(np.float64(found.distance[i]), limit)
            wide = radius / k
            for r in range(
                max(np.int64(np.floor((y - radius) / cell)), first_row),
                min(np.int64(np.floor((y + radius) / cell)), last_row) + 1,
            ):
                near_y = max(0.0, max(r * cell - y, y - (r + 1) * cell))
                far_y = max(abs(r * cell - y), abs((r + 1) * cell - y))
                for c in range(
                    max(np.int64(np.floor((x - wide) / cell)), first_column),
                    min(np.int64(np.floor((x + wide) / cell)), last_column) + 1,
                ):
                    # Skip cells of which all is nearer than the nearest street, or farther than the radius.
                    near_x = max(0.0, max(c * cell - x, x - (c + 1) * cell)) * k
                    far_x = max(abs(c * cell - x), abs((c + 1) * cell - x)) * k
                    if near_x * near_x + near_y * near_y > radius * radius:
                        continue
                    if far_x * far_x + far_y * far_y < least:
                        continue
                    here = cell_at(r - first_row, c - first_column, blocks)
                    if here < 0:
                        continue
                    for m in range(first_member[here], first_member[here + 1]):
                        s = np.int64(members[m])
                        t, d2 = place_on(x, y, k, ends[s, 0], ends[s, 1], ends[s, 2], ends[s, 3])
                        if d2 > radius * radius or d2 < least or marks[s] & needed != needed:
                            continue
                        if at == segment.size:
                            segment, position, squared = _longer(segment), _longer(position), _longer(squared)
                        segment[at], position[at], squared[at] = s, t, d2
                        at += 1
        begin[i + 1] = at
    return Near(begin, segment, position, squared)


@kernel
def _longer(values):
    """Return a copy of an array with room for more than as many values again."""
    copy = np.empty(2 * values.size + 512, values.dtype)
    for i in range(values.size):
        copy[i] = values[i]
    return copy
