"""
Compute rasters of the distance to reached roads, for shapes that are buffers around roads.
"""

from __future__ import annotations

import math

import numpy as np

from traveltime_lab._arrays import FloatArray
from traveltime_lab.crs import LocalFrame
from traveltime_lab.errors import LimitError
from traveltime_lab.kernels.raster.buffers import update_squared_distances
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.segments import segments, segments_of
from traveltime_lab.surfaces.field import Field, RoadValues, edge_boxes
from traveltime_lab.surfaces.polygons import Surface


def reached_pieces(streets: StreetLayer, field: Field, limit: float) -> FloatArray:
    """
    Return the segments of roads that a field reaches within a limit.

    Parameters
    ----------
    streets : StreetLayer
    field : Field
    limit : float
        Limit in seconds, or in metres in a field of distances.

    Returns
    -------
    float64 array of shape (n_pieces, 4), m
        Ends (x, y, x, y) in local metres, without ferries.
    """
    return np.concatenate([_pieces(streets, values, limit) for values in field.road_values(streets, limit)])


def _pieces(streets: StreetLayer, values: RoadValues, limit: float) -> FloatArray:
    """Return the segments of roads whose values are within a limit."""
    x1, y1, x2, y2, edge, start, span = segments(streets)
    if values.edges is not None:
        numbers, indptr = segments_of(streets, values.edges)
        x1, y1, x2, y2, start, span = (part[numbers] for part in (x1, y1, x2, y2, start, span))
        edge = np.repeat(np.arange(values.edges.size), np.diff(indptr))
    limit = min(limit, values.most)
    rows = values.rows.astype(np.float64)
    is_land, own_at = edge_boxes(streets).is_land, [own.edge for own in values.own]
    if values.edges is not None:
        is_land, own_at = is_land[values.edges], np.searchsorted(values.edges, own_at).tolist()

    def share(value: FloatArray, cost: FloatArray) -> FloatArray:
        left = np.where(np.isfinite(value), limit - value, -1.0)
        part = left / np.where(cost > 0.0, cost, 1.0)
        return np.where(left < 0.0, 0.0, np.where(cost > left, part, 1.0))

    # Reached intervals of each edge: from its start, to its end, and around the positions of the origin.
    n = len(rows)
    first_end, second_begin = (1.0, 0.0) if values.meeting is None else (values.meeting, values.meeting)
    intervals = [
        (np.zeros(n), np.minimum(share(rows[:, 0], rows[:, 1]), first_end)),
        (np.maximum(1.0 - share(rows[:, 2], rows[:, 3]), second_begin), np.ones(n)),
    ]
    for own, at in zip(values.own, own_at, strict=True):
        around = share(np.full(2, own.value), own.ahead)
        begin, end = np.ones(n), np.zeros(n)
        begin[at] = max(own.low, own.fraction - around[1])
        end[at] = min(own.high, own.fraction + around[0])
        intervals.append((begin, end))
    pieces = []
    for begin, end in intervals:
        low = np.maximum(start, begin[edge])
        high = np.minimum(start + span, end[edge])
        kept = np.flatnonzero((high > low) & is_land[edge] & (span > 0.0))
        a = ((low[kept] - start[kept]) / span[kept])[:, None]
        b = ((high[kept] - start[kept]) / span[kept])[:, None]
        first = np.column_stack([x1[kept], y1[kept]])
        step = np.column_stack([x2[kept], y2[kept]]) - first
        pieces.append(np.column_stack([first + a * step, first + b * step]))
    return np.concatenate(pieces)


def road_buffer_surface(segments_xy: FloatArray, buffer_m: float, *, cell_m: float, frame: LocalFrame) -> Surface:
    """
    Return a surface of the distance to the nearest road segment; its contour at `buffer_m` is the buffer.

    Parameters
    ----------
    segments_xy : float64 array of shape (n, 4), m
        Ends (x, y, x, y) of the segments in local metres; segments of zero length are points.
    buffer_m : float
        Width of the buffer on each side.
    cell_m : float
        Side of a cell. Distances are exact at the centres of cells, so a fifth of `buffer_m` gives smooth outlines.
    frame : LocalFrame
        Projection of the local metres.

    Returns
    -------
    Surface
        Distances in metres, exact to just beyond `buffer_m` and inf farther away. All surfaces of one frame and cell
        size have aligned cells, so the buffer of more segments contains that of fewer.
    """
    segments = np.ascontiguousarray(segments_xy, dtype=np.float64).reshape(-1, 4)
    if not (buffer_m > 0 and cell_m > 0 and np.isfinite(buffer_m)):
        raise LimitError(f"The buffer distance and the cell must be positive metres. Got {buffer_m} and {cell_m}.")
    if len(segments) == 0:
        return Surface(frame, 0.5 * cell_m, 0.5 * cell_m, cell_m, np.full((1, 1), np.inf, np.float32))
    # One more cell than the buffer, so that the contour at `buffer_m` is interpolated between exact values.
    reach_m = buffer_m + 1.001 * cell_m
    x, y = segments[:, ::2], segments[:, 1::2]
    col0, row0 = math.floor((x.min() - reach_m) / cell_m), math.floor((y.min() - reach_m) / cell_m)
    nx = math.ceil((x.max() + reach_m) / cell_m) - col0 + 1
    ny = math.ceil((y.max() + reach_m) / cell_m) - row0 + 1
    x0, y0 = (col0 + 0.5) * cell_m, (row0 + 0.5) * cell_m
    squared = np.full((ny, nx), np.finfo(np.float32).max, np.float32)  # the kernel uses fastmath, which excludes inf
    update_squared_distances(squared, segments, x0, y0, cell_m, reach_m)
    squared[squared > np.float32(reach_m) ** 2] = np.inf
    return Surface(frame, x0, y0, cell_m, np.sqrt(squared, out=squared))
