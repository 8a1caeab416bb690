"""
Draw the contours of a travel-time surface as valid polygons, and process the polygons.

A `Surface` holds one value (seconds or metres) for each cell of a raster. `contour_polygons` returns the area where the
linearly interpolated value is at most a limit. All shapes are in the local metres of a `LocalFrame` until `to_lnglat`.

The functions are used in this order: `contour_polygons` (or `coarse_grid_polygons`, or `road_buffer_surface` and then
`contour_polygons`) → `include_point` → `WaterBodies.subtract` → `fill_holes` → `largest_polygons` → `to_lnglat`. All
steps except `largest_polygons` keep shapes nested: the shape of a larger limit contains that of a smaller one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from shapely import MultiPolygon

from traveltime_lab._arrays import Float32Array, FloatArray
from traveltime_lab.crs import LocalFrame
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.kernels.raster import contours
from traveltime_lab.runtime.interrupts import checkpoint

#: Least distance between contour vertices and cell centres, as a share of a cell; it keeps vertices apart.
VERTEX_CLEARANCE = 0.01


@dataclass(frozen=True)
class Surface:
    """
    Values at the centres of square cells.

    Parameters
    ----------
    frame : LocalFrame
        Projection of the local metres.
    x0, y0 : float
        Centre of the south-west cell, ``values[0, 0]``, in local metres.
    cell_m : float
        Side of a cell.
    values : float32 array of shape (ny, nx), s or m
        Row 0 is the southernmost; inf (or NaN) where not reached.
    probe : callable, optional
        Called with two float64 arrays of shape (n,), coordinates in local metres, returns the values there as a float32
        array of the same shape.
    """

    frame: LocalFrame
    x0: float
    y0: float
    cell_m: float
    values: Float32Array
    probe: Callable[[FloatArray, FloatArray], Float32Array] | None = None


def contour_polygons(
    surface: Surface, limit: float, *, steepest: float | None = None, halvings: int = 0
) -> MultiPolygon:
    """
    Return the area where the linearly interpolated value of a surface is at most `limit`.

    Parameters
    ----------
    surface : Surface
        Cells beyond `limit` should have their true value where it is known, because it decides where the contour runs
        between them and their reached neighbours. Everything outside of the surface is unreached.
    limit : float
        Limit in the unit of the surface.
    steepest : float, optional
        Largest difference between neighbouring cells that is interpolated as a slope; larger differences are steps, see
        Notes. Default: one unit per metre, which is 1 m/s for seconds and no detour for metres.
    halvings : int, default 0
        How many times the interval between two cells is halved to find a step that the contour crosses. Each halving
        needs the value of one place between them, from the `probe` of the surface.

    Returns
    -------
    MultiPolygon
        Valid polygons in local metres. Rings do not touch; exteriors are counter-clockwise, holes clockwise. Empty if
        nothing is reached.

    Notes
    -----
    Values are clipped to within `steepest` of the limit before interpolation. This changes nothing where neighbours
    differ by less, which is the case wherever times grow at walking speed; there the contour is the exact linear one.
    Across a step (a river bank, the end of snapping, an unreached cell, two streets as near) the contour runs half-way
    between the cells, or between the last two places of the halvings, and closer to the reached one if little time is
    left there.

    Every crossing between two cells moves away from the reached cell as the limit grows or as cells beyond the limit
    become known, because a place that is within a limit is within a larger one. Therefore ``contour_polygons(a, s)`` is
    within ``contour_polygons(b, t)`` for all ``s <= t`` if ``a`` and ``b`` are equal (or both above ``s``). Without
    halvings it is enough that ``b`` is nowhere above ``a``.
    """
    cell_m = surface.cell_m
    step = np.float32(cell_m if steepest is None else steepest)
    if not (np.isfinite(limit) and np.isfinite(step) and step > 0):
        raise InputError(f"A contour needs a finite limit and a positive step. Got {limit} and {step} instead.")
    values = np.ascontiguousarray(surface.values, np.float32)
    # Every side of a square has at most one crossing, strictly inside the side, so rings cannot touch: the result is
    # valid by construction and remains valid when rounded.
    points, ring_starts, polygon_starts = contours.outlines(
        values, np.float32(limit), step, np.float32(VERTEX_CLEARANCE) * step
    )
    if not len(points):
        return MultiPolygon()
    if halvings and surface.probe is not None:
        _move_to_steps(points, surface, values, limit, step, halvings)
    points *= cell_m
    points += (surface.x0, surface.y0)
    offsets = (ring_starts, polygon_starts, np.array([0, len(polygon_starts) - 1]))
    return shapely.from_ragged_array(shapely.GeometryType.MULTIPOLYGON, points, offsets)[0]


def _move_to_steps(
    points: FloatArray, surface: Surface, values: Float32Array, limit: float, step: np.float32, halvings: int
) -> None:
    """
    Move the crossings of steps to where the limit is exceeded, by bisection.

    Parameters
    ----------
    points : float64 array of shape (n, 2)
        Column and row of each crossing, from `contours.outlines`. Changed in place.
    surface : Surface
        With a `probe`.
    values : float32 array of shape (ny, nx)
        Those of the surface, contiguous.
    limit, step, halvings
        See `contour_polygons`.
    """
    level, n_columns = np.float32(limit), values.shape[1]
    column, row = np.floor(points.T).astype(np.int64)
    ahead = (points[:, 0] > column).astype(np.int64)  # 1 if the other cell is in the next column, 0 if in the next row
    # The surface ends beyond its last cells; crossings there stay where they are.
    inner = (column >= 0) & (row >= 0) & (column + ahead < n_columns) & (row + 1 - ahead < values.shape[0])
    at = np.where(inner, row * n_columns + column, 0)
    flat = values.ravel()
    low, high = flat[at], flat[np.where(inner, at + np.where(ahead, 1, n_columns), 0)]
    some = np.flatnonzero(inner & ~(np.abs(np.where(inner, high, 0) - np.where(inner, low, 0)) <= step))
    if not some.size:
        return
    low, high = low[some], high[some]
    is_turned = ~(low <= level)  # the reached cell is the second one
    low, high = np.where(is_turned, high, low), np.where(is_turned, low, high)
    ahead = ahead[some]
    sign = np.where(is_turned, -1.0, 1.0)
    dx, dy = sign * ahead, sign * (1 - ahead)
    x, y = column[some] + is_turned * ahead, row[some] + is_turned * (1 - ahead)
    begin, width = np.zeros(some.size), 1.0
    assert surface.probe is not None
    for _ in range(halvings):
        width /= 2.0
        middle = begin + width
        between = surface.probe(
            surface.x0 + surface.cell_m * (x + middle * dx), surface.y0 + surface.cell_m * (y + middle * dy)
        )
        is_within = between <= level
        low, high = np.where(is_within, between, low), np.where(is_within, high, between)
        begin = np.where(is_within, middle, begin)
    most, least = width * np.float64(step), VERTEX_CLEARANCE * width * np.float64(step)
    a = np.clip(low.astype(np.float64) - level, -most, -least)
    b = np.clip(np.where(high < np.inf, high, np.inf).astype(np.float64) - level, least, most)  # NaN is not reached
    share = np.clip(begin + width * a / (a - b), VERTEX_CLEARANCE, 1.0 - VERTEX_CLEARANCE)
    points[some, 0], points[some, 1] = x + share * dx, y + share * dy


def coarse_grid_polygons(
    surface: Surface, limit: float, square_size_m: float, *, origin_xy: tuple[float, float] | None = None
) -> MultiPolygon:
    """
    Return the union of the squares of a coarse grid that contain a reached cell.

    Parameters
    ----------
    surface : Surface
        Raster of any cell size; a cell belongs to the square that contains its centre.
    limit : float
        Limit in the unit of the surface.
    square_size_m : float
        Side of a square. The grid is aligned to the centre of the frame, so all shapes of a network share one grid.
    origin_xy : tuple of float, optional
        Point in local metres whose square is always part of the shape.

    Returns
    -------
    MultiPolygon
        Valid polygons in local metres, exteriors counter-clockwise.
    """
    values = surface.values if surface.values.size else np.full((1, 1), np.inf, np.float32)
    ny, nx = values.shape
    column = np.floor((surface.x0 + surface.cell_m * np.arange(nx)) / square_size_m).astype(np.int64)
    row = np.floor((surface.y0 + surface.cell_m * np.arange(ny)) / square_size_m).astype(np.int64)
    column_starts, row_starts = (np.flatnonzero(np.diff(index, prepend=index[0] - 1)) for index in (column, row))
    reached = np.logical_or.reduceat(values <= limit, column_starts, axis=1)
    rows, columns = np.nonzero(np.logical_or.reduceat(reached, row_starts, axis=0))
    squares = np.column_stack([row[row_starts][rows], column[column_starts][columns]])
    if origin_xy is not None:
        own = np.floor(np.array([[origin_xy[1], origin_xy[0]]]) / square_size_m).astype(np.int64)
        squares = np.unique(np.concatenate([squares, own]), axis=0)
    if len(squares) == 0:
        return MultiPolygon()
    # Merge consecutive squares of a row into one rectangle.
    starts = np.ones(len(squares), np.bool_)
    starts[1:] = (np.diff(squares[:, 0]) != 0) | (np.diff(squares[:, 1]) != 1)
    first, last = squares[starts], squares[np.append(starts[1:], True)]
    runs = shapely.box(
        first[:, 1] * square_size_m,
        first[:, 0] * square_size_m,
        (last[:, 1] + 1) * square_size_m,
        (first[:, 0] + 1) * square_size_m,
    )
    return as_multipolygon(shapely.simplify(shapely.union_all(runs), 0.0))


def as_multipolygon(geometry: Any) -> MultiPolygon:
    """
    Return the polygons of a geometry as one valid MultiPolygon, exteriors counter-clockwise and holes clockwise.

    Points and lines, which overlays return where shapes only touch, are dropped. None becomes an empty MultiPolygon.
    """
    if geometry is None or shapely.is_empty(geometry):
        return MultiPolygon()
    if not shapely.is_valid(geometry):
        geometry = shapely.make_valid(geometry, method="structure", keep_collapsed=False)
    parts = shapely.get_parts(shapely.get_parts([geometry]))
    parts = parts[(shapely.get_type_id(parts) == shapely.GeometryType.POLYGON) & ~shapely.is_empty(parts)]
    return shapely.orient_polygons(shapely.multipolygons(parts)) if len(parts) else MultiPolygon()


def is_surrounded(surface: Surface, limit: float, x: float, y: float) -> bool:
    """
    Return whether the cell of a point and its eight neighbours are within a limit.

    If so, the contour polygon contains everything within half a cell of the point, and `include_point` would not change
    it.
    """
    row, column = round((y - surface.y0) / surface.cell_m), round((x - surface.x0) / surface.cell_m)
    if row < 1 or column < 1:
        return False
    around = surface.values[row - 1 : row + 2, column - 1 : column + 2]
    return around.size == 9 and bool((around <= np.float32(limit)).all())


def include_point(shape: MultiPolygon, x: float, y: float, radius_m: float) -> MultiPolygon:
    """
    Return the union of a shape and a small disc (16 corners) around its origin.

    The origin itself is always reached, but the centres of the cells around it may not be. With the same radius for all
    limits, shapes remain nested.
    """
    angle = np.arange(16) * (np.pi / 8)
    disc = shapely.Polygon(np.column_stack([x + radius_m * np.cos(angle), y + radius_m * np.sin(angle)]))
    parts = shapely.get_parts(shape)
    near = shapely.intersects(parts, disc)
    if near.sum() == 1 and shapely.covers(parts[near][0], disc):
        return shape
    joined = shapely.get_parts(shapely.union_all(np.append(parts[near], disc)))
    return shapely.orient_polygons(shapely.multipolygons(np.concatenate([parts[~near], joined])))


def fill_holes(shape: MultiPolygon) -> MultiPolygon:
    """Return a shape without its holes and without the polygons inside of the holes."""
    parts = shapely.get_parts(shape)
    if not shapely.get_num_interior_rings(parts).any():
        return shape
    filled = shapely.polygons(shapely.get_exterior_ring(parts))
    # The polygons were disjoint, so one that is within another filled polygon was in one of its holes.
    inside, around = shapely.STRtree(filled).query(shapely.point_on_surface(filled), predicate="within")
    nested = inside[inside != around]
    return shapely.multipolygons(np.delete(filled, nested))


def largest_polygons(shape: MultiPolygon, limit: int, *, frame: LocalFrame | None = None) -> MultiPolygon:
    """
    Return the `limit` largest polygons of a shape, in their original order.

    Parameters
    ----------
    shape : MultiPolygon
        Shape in local metres.
    limit : int
        Number of polygons, at least 1.
    frame : LocalFrame, optional
        If given, areas are corrected for the east-west distortion away from the centre of the frame.

    Raises
    ------
    LimitError
        If `limit` is less than 1.
    """
    if limit < 1:
        raise LimitError(f"The limit of polygons_filter must be at least 1. Got {limit} instead.")
    parts = shapely.get_parts(shape)
    if len(parts) <= limit:
        return shape
    area = shapely.area(parts)
    if frame is not None:
        area = area * frame.shrink(shapely.get_y(shapely.centroid(parts)))
    kept = np.sort(np.argsort(-area, kind="stable")[:limit])
    return shapely.multipolygons(parts[kept])


def to_lnglat(shape: MultiPolygon, frame: LocalFrame, *, decimals: int | None = None) -> MultiPolygon:
    """
    Transform a shape from local metres to longitude and latitude.

    Parameters
    ----------
    shape : MultiPolygon
        Shape in local metres.
    frame : LocalFrame
        Projection of the local metres.
    decimals : int, optional
        Decimals of a degree to round to; 7 decimals are about a centimetre. A shape that rounding would make invalid is
        not rounded. Default: no rounding, which is several times faster, because the validity of rounded shapes has to
        be checked.

    Returns
    -------
    MultiPolygon
        Shape in EPSG:4326 with longitudes from -180 to 180; it is split where it crosses the 180th meridian.
    """
    if shape.is_empty:
        return shape
    min_x, _, max_x, _ = shape.bounds
    (west, east), _ = frame.to_lnglat(np.array([min_x, max_x]), np.zeros(2), wrap=False)

    def degrees(xy: FloatArray) -> FloatArray:
        return np.column_stack(frame.to_lnglat(xy[:, 0], xy[:, 1], wrap=False))

    exact = shapely.transform(shape, degrees)
    if west < -180.0 or east > 180.0:
        turns = np.arange(math.floor((west + 180.0) / 360.0), math.floor((east + 180.0) / 360.0) + 1)
        pieces = [
            shapely.transform(shapely.clip_by_rect(exact, k * 360.0 - 180.0, -90.0, k * 360.0 + 180.0, 90.0), shift)
            for k in turns
            for shift in [lambda lnglat, k=k: np.clip(lnglat - (k * 360.0, 0.0), (-180.0, -90.0), (180.0, 90.0))]
        ]
        exact = as_multipolygon(shapely.geometrycollections([as_multipolygon(piece) for piece in pieces]))
    if decimals is None:
        return exact
    rounded = shapely.transform(exact, lambda lnglat: np.round(lnglat, decimals))
    return rounded if shapely.is_valid(rounded) else exact


def bounding_boxes(shape: MultiPolygon, *, step: float | None = None) -> list[tuple[FloatArray, FloatArray]]:
    """
    Return the envelope of each polygon of a shape, and rows of boxes that cover it.

    Parameters
    ----------
    shape : MultiPolygon
        Shape in any coordinates; holes are ignored.
    step : float, optional
        Height of a row, in the unit of the shape. Default: a 24th of the height of each polygon.

    Returns
    -------
    list of (float64 array of shape (4,), float64 array of shape (n, 4))
        Envelope and boxes as (min x, min y, max x, max y). The boxes of a polygon do not overlap and cover it.
    """
    answer = []
    for polygon in shapely.polygons(shapely.get_exterior_ring(shapely.get_parts(shape))):
        checkpoint()
        envelope = shapely.bounds(polygon)
        min_x, min_y, max_x, max_y = envelope
        n_rows = 24 if step is None else max(1, math.ceil((max_y - min_y) / step - 1e-9))
        if n_rows == 1:
            answer.append((envelope, envelope[None, :]))
            continue
        edges = np.linspace(min_y, max_y, n_rows + 1)
        strips = shapely.box(min_x, edges[:-1], max_x, edges[1:])
        pieces, row = shapely.get_parts(shapely.intersection(polygon, strips), return_index=True)
        areal = shapely.area(pieces) > 0
        piece_bounds, row = shapely.bounds(pieces[areal]), row[areal]
        order = np.lexsort((piece_bounds[:, 0], row))
        boxes: list[list[float]] = []
        previous_row = -1
        for k, (low, high) in zip(row[order], piece_bounds[order][:, [0, 2]], strict=True):
            # Pieces in one row can interlock, so that their boxes would overlap: merge them.
            if k == previous_row and low <= boxes[-1][2]:
                boxes[-1][2] = max(boxes[-1][2], high)
            else:
                boxes.append([low, edges[k], high, edges[k + 1]])
            previous_row = k
        answer.append((envelope, np.array(boxes)))
    return answer
