"""
Compute travel times at the cells of a raster from the labels of directed edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel


class Cells(NamedTuple):
    """Cells of a raster, shape (n_rows, n_columns), and the way between the centre of a cell and its nearest edge."""

    edge: np.ndarray  # int32, nearest edge, -1 for none
    fraction: np.ndarray  # float32, position on the edge, 0 to 1
    distance: np.ndarray  # float32, m: distance to the edge
    per_metre: float  # value of one metre of that distance, in seconds or metres
    buffer_m: float  # cells farther than this from their edge have no value


class Origin(NamedTuple):
    """Position of the origin of a field. Cells on the same edge may be reached along it, without a junction."""

    edge: int
    fraction: float
    ahead: np.ndarray  # float64 (2,), values of the whole edge to higher and to lower fractions; inf where closed
    start: float  # value at the position


class EdgeBoxes(NamedTuple):
    """Bounding boxes of edges."""

    boxes: np.ndarray  # float64 (n_edges, 4), m: west, south, east, north in local metres
    is_land: np.ndarray  # bool (n_edges,), edges that extend a bounding box of several, in contrast to ferries


@kernel
def edge_rows(start, traversal, unit, is_backward, edge_boxes, limit, own_edge, rows):
    """
    Prepare the labels of directed edges for `gather`, and return the bounding box of the reached edges.

    Parameters
    ----------
    start : int64 array of shape (n_directed,)
        Labels of a field, see `traveltime_lab.streets.links.EdgeField.label`.
    traversal : int64 array of shape (n_directed,)
        Labels of the directed edges from start to end.
    unit : float
        Units of the upper part of a label per second or metre.
    is_backward : bool
        True if the labels come from a backward search.
    edge_boxes : EdgeBoxes
    limit : float
        Edges with larger values do not extend the bounding box.
    own_edge : int
        Edge that always extends the bounding box.
    rows : float32 array of shape (n_edges, 4)
        Overwritten: the value at position `f` (0 to 1) on the edge is the smaller of ``row[0] + f * row[1]`` and
        ``row[2] + (1 - f) * row[3]``; inf where a side is not reached.

    Returns
    -------
    float64 array of shape (4,), m
        West, south, east, north.
    """
    boxes, is_land = edge_boxes
    unreached = np.int64(1) << np.int64(62)
    west, south, east, north = np.inf, np.inf, -np.inf, -np.inf
    # In a backward search the value is the rest of the edge after the position plus the label at the end of the edge.
    first, second = (1, 0) if is_backward else (0, 1)
    for e in range(rows.shape[0]):
        a, b = start[2 * e + first], start[2 * e + second]
        low = np.inf
        if a != unreached:
            low = (a >> 32) / unit
            rows[e, 0] = low
            rows[e, 1] = (traversal[2 * e + first] >> 32) / unit
        else:
            rows[e, 0] = np.inf
            rows[e, 1] = 0.0
        if b != unreached:
            value = (b >> 32) / unit
            low = min(low, value)
            rows[e, 2] = value
            rows[e, 3] = (traversal[2 * e + second] >> 32) / unit
        else:
            rows[e, 2] = np.inf
            rows[e, 3] = 0.0
        if (low <= limit and is_land[e]) or e == own_edge:
            west = min(west, boxes[e, 0])
            south = min(south, boxes[e, 1])
            east = max(east, boxes[e, 2])
            north = max(north, boxes[e, 3])
    return np.array([west, south, east, north])


@kernel
def gather(cells, rows, origin, values):
    """
    Fill the value of each cell from its nearest edge.

    Parameters
    ----------
    cells : Cells
    rows : float32 array of shape (n_edges, 4)
        From `edge_rows`.
    origin : Origin
    values : float32 array of shape (n_rows, n_columns)
        Overwritten; inf where not reached.
    """
    edge, fraction, distance, per_metre, buffer_m = cells
    field_edge, field_fraction, field_ahead, field_start = origin
    for r in range(edge.shape[0]):
        for c in range(edge.shape[1]):
            e = edge[r, c]
            d = distance[r, c]
            if e < 0 or d > buffer_m:
                values[r, c] = np.inf
                continue
            f = fraction[r, c]
            best = min(rows[e, 0] + f * rows[e, 1], rows[e, 2] + (np.float32(1.0) - f) * rows[e, 3])
            if e == field_edge:
                ahead = f - field_fraction
                if ahead >= 0.0:
                    best = min(best, field_start + ahead * field_ahead[0])
                else:
                    best = min(best, field_start - ahead * field_ahead[1])
            values[r, c] = best + d * per_metre


@kernel
def length_rows(start, traversal, is_backward, edge_boxes, limit, own_edge, rows):
    """
    Prepare the labels of directed edges for `gather_lengths`; see `edge_rows`.

    Parameters
    ----------
    limit : float, m
    rows : float32 array of shape (n_edges, 8)
        Overwritten with two groups of four numbers as in `edge_rows`: the first in seconds, the second in metres of the
        same routes.
    """
    boxes, is_land = edge_boxes
    unreached = np.int64(1) << np.int64(62)
    length = (np.int64(1) << np.int64(32)) - 1
    west, south, east, north = np.inf, np.inf, -np.inf, -np.inf
    first, second = (1, 0) if is_backward else (0, 1)
    for e in range(rows.shape[0]):
        low = np.inf
        for side in range(2):
            d = 2 * e + (first if side == 0 else second)
            label, along = start[d], traversal[d]
            if label == unreached:
                rows[e, 2 * side] = np.inf
                rows[e, 2 * side + 1] = 0.0
                rows[e, 2 * side + 4] = np.inf
                rows[e, 2 * side + 5] = 0.0
                continue
            rows[e, 2 * side] = (label >> 32) / 1000.0
            rows[e, 2 * side + 1] = (along >> 32) / 1000.0
            rows[e, 2 * side + 4] = (label & length) / 100.0
            rows[e, 2 * side + 5] = (along & length) / 100.0
            low = min(low, (label & length) / 100.0)
        if (low <= limit and is_land[e]) or e == own_edge:
            west, south = min(west, boxes[e, 0]), min(south, boxes[e, 1])
            east, north = max(east, boxes[e, 2]), max(north, boxes[e, 3])
    return np.array([west, south, east, north])


@kernel
def gather_lengths(cells, rows, origin, ahead_m, start_m, values):
    """
    Fill the length in metres of the fastest route to each cell; see `gather`.

    Parameters
    ----------
    rows : float32 array of shape (n_edges, 8)
        From `length_rows`.
    origin : Origin
        With values in seconds.
    ahead_m, start_m : float
        Lengths that belong to the seconds of `origin`.
    """
    edge, fraction, distance, per_metre, buffer_m = cells
    field_edge, field_fraction, field_ahead, field_start = origin
    for r in range(edge.shape[0]):
        for c in range(edge.shape[1]):
            e = edge[r, c]
            d = distance[r, c]
            if e < 0 or d > buffer_m:
                values[r, c] = np.inf
                continue
            f = fraction[r, c]
            g = np.float32(1.0) - f
            time, metres = rows[e, 0] + f * rows[e, 1], rows[e, 4] + f * rows[e, 5]
            other = rows[e, 2] + g * rows[e, 3]
            if other < time:
                time, metres = other, rows[e, 6] + g * rows[e, 7]
            if e == field_edge:
                ahead = f - field_fraction
                straight = ahead * field_ahead[0] if ahead >= 0.0 else -ahead * field_ahead[1]
                if np.isfinite(straight) and field_start + straight <= time:
                    metres = np.float32(start_m + abs(ahead) * ahead_m)
            values[r, c] = metres + d * per_metre
