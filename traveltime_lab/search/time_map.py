"""
The areas within reach in a time or a distance.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import BoolArray, ObjectArray
from traveltime_lab._checks import finite, one_of, percent, whole
from traveltime_lab._interrupts import checkpoint
from traveltime_lab.errors import InputError, UnsupportedError
from traveltime_lab.kernels.street import road
from traveltime_lab.kernels.transit.patterns import UNREACHED as NO_TIME
from traveltime_lab.limits import (
    FOREVER_S,
    MAX_BUFFER_M,
    MAX_DISTANCE_M,
    MAX_POLYGONS,
    MAX_TRAVEL_TIME_S,
    MIN_BUFFER_M,
    MIN_DISTANCE_M,
)
from traveltime_lab.modes import Snapping, Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.points import PointsLike, read_points
from traveltime_lab.search.query import MomentLike, Query, ask
from traveltime_lab.search.tables import geo_frame
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.matrix import Block
from traveltime_lab.streets.snapping import OUTSIDE, SNAPPED, Snaps
from traveltime_lab.surfaces import polygons, raster, road_buffer
from traveltime_lab.surfaces.level_of_detail import LevelOfDetail, parse_level_of_detail

#: Why a shape is empty.
_REASONS: Final = pd.CategoricalDtype(["origin_outside_network", "origin_not_snapped", "over_limit"])


def time_map(
    network: Network,
    origins: PointsLike,
    *,
    travel_time: int | dt.timedelta,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentLike = None,
    arrival_time: MomentLike = None,
    level_of_detail: str | int | Mapping[str, Any] | None = None,
    no_holes: bool = False,
    polygons_filter: int | Mapping[str, Any] | None = None,
    render_mode: Literal["approximate_time_filter", "road_buffering"] = "approximate_time_filter",
    buffer_distance: int = 1000,
    remove_water_bodies: bool = True,
    snapping: Snapping | Mapping[str, Any] | None = None,
    window: int | None = None,
    percentile: float | None = None,
) -> gpd.GeoDataFrame:
    """
    Return the area within reach of each origin in a travel time.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with a unique index. With `arrival_time` they are where trips end.
    travel_time : int or timedelta
        Limit in seconds, 1 to 14400.
    transportation : str, Transportation or mapping, default "driving"
        How to travel; see `Transportation`.
    departure_time, arrival_time : datetime, str, optional
        As in `time_filter`.
    level_of_detail : str, int or mapping, optional
        ``"lowest"`` (default) to ``"highest"``, a number from -20 to 2, or the contract's object, which also knows
        ``coarse_grid``. Lowered silently for long travel times, as the contract says.
    no_holes : bool, default False
        Whether to fill holes.
    polygons_filter : int or mapping, optional
        Keep only so many of the largest polygons (the contract's ``{"limit": n}`` or the number).
    render_mode : {"approximate_time_filter", "road_buffering"}
        The area where `time_filter` says yes, or the reached roads widened by `buffer_distance`.
    buffer_distance : int, default 1000
        Metres that the shape may extend from a road, at least 250.
    remove_water_bodies : bool, default True
        Whether to cut out the sea, lakes and wide rivers.
    snapping : Snapping or mapping, optional
    window : int, optional
        As in `time_filter`: the area is that of all trips of the window.
    percentile : float, optional
        With a window: the area that at least so many percent of its departures (or arrivals, one a minute) reach in
        the travel time, such as 80 for where one can rely on it. `time_filter` tells the same times as
        ``percentiles``.

    Returns
    -------
    GeoDataFrame
        Indexed like `origins` and in their order, EPSG:4326: ``travel_time`` (int32, s), ``snap_distance`` (float64,
        m, NaN if not snapped), ``reason`` (why the shape is empty, NA if it is not) and ``geometry``: a valid
        MultiPolygon, exterior rings counter-clockwise, empty if the origin has no street.

    Raises
    ------
    InputError, CrsError, CoordinateError, LimitError, ModeError, MomentError
        As in `time_filter`.

    See Also
    --------
    time_filter : Travel times to known points.
    union, intersection, difference : Combine shapes.
    shape_accuracy : How well a shape agrees with `time_filter`.

    Notes
    -----
    The shape is the contour of the travel-time surface: at the centres of a fixed grid of cells the surface has the
    value that `time_filter` would give for that point.

    Examples
    --------
    >>> areas = time_map(network, homes, travel_time=900, transportation="walking")  # doctest: +SKIP
    """
    limit = whole(travel_time, "travel_time", 1, MAX_TRAVEL_TIME_S, "seconds")
    percents = () if percentile is None else (percent(percentile, "percentile"),)
    query = ask(
        network, transportation, departure_time, arrival_time, snapping, limit=limit, window=window, percents=percents
    )
    if percents and render_mode == "road_buffering":
        msg = "percentile needs render_mode='approximate_time_filter': the roads in reach differ by departure"
        raise UnsupportedError(msg)
    style = shape_style(
        parse_level_of_detail(level_of_detail).downgraded(limit), no_holes=no_holes, polygons_filter=polygons_filter,
        render_mode=render_mode, buffer_distance=buffer_distance, remove_water_bodies=remove_water_bodies,
    )  # fmt: skip
    return _table(query, origins, limit, style, "travel_time")


def distance_map(
    network: Network,
    origins: PointsLike,
    *,
    distance: int,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentLike = None,
    arrival_time: MomentLike = None,
    level_of_detail: str | int | Mapping[str, Any] | None = None,
    no_holes: bool = False,
    polygons_filter: int | Mapping[str, Any] | None = None,
    render_mode: Literal["approximate_time_filter", "road_buffering"] = "approximate_time_filter",
    buffer_distance: int = 1000,
    remove_water_bodies: bool = True,
    snapping: Snapping | Mapping[str, Any] | None = None,
    shortest: bool = False,
) -> gpd.GeoDataFrame:
    """
    Return the area within a distance of each origin along the streets.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with a unique index.
    distance : int
        Limit in metres of the *fastest* route, 75 to 800000, which is the ``distance`` of `time_filter` (contract
        7.10); walks to and from the streets count.
    transportation, departure_time, arrival_time, level_of_detail, no_holes, polygons_filter, render_mode, \
buffer_distance, remove_water_bodies, snapping
        As in `time_map`. The fastest route of a car depends on the hour.
    shortest : bool, default False
        Whether to measure along the shortest route instead, however slow it is.

    Returns
    -------
    GeoDataFrame
        As from `time_map`, with the column ``distance`` (int32, m) instead of ``travel_time``.

    Raises
    ------
    InputError, CrsError, CoordinateError, LimitError, ModeError, MomentError
        As in `time_map`.
    """
    limit = whole(distance, "distance", MIN_DISTANCE_M, MAX_DISTANCE_M, "metres")
    query = ask_distance(network, transportation, departure_time, arrival_time, snapping, shortest=shortest)
    style = shape_style(
        parse_level_of_detail(level_of_detail), no_holes=no_holes, polygons_filter=polygons_filter,
        render_mode=render_mode, buffer_distance=buffer_distance, remove_water_bodies=remove_water_bodies,
    )  # fmt: skip
    return _table(query, origins, limit, style, "distance")


def ask_distance(
    network: Any,
    transportation: Any,
    departure_time: MomentLike,
    arrival_time: MomentLike,
    snapping: Any,
    *,
    shortest: Any = False,
) -> Query:
    """Check the arguments that searches within a distance share, as `ask` does for those within a time."""
    if not isinstance(shortest, bool | np.bool_):
        msg = f"shortest must be True or False; got {shortest!r}"
        raise InputError(msg)
    query = ask(network, transportation, departure_time, arrival_time, snapping, "distance")
    if shortest:
        return query
    return replace(ask(network, transportation, departure_time, arrival_time, snapping), is_length=True)


# The array-level form -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShapeStyle:
    """How shapes are drawn, checked."""

    detail: LevelOfDetail
    no_holes: bool
    n_polygons: int | None
    is_road_buffer: bool
    buffer_m: int
    no_water: bool


def shape_style(
    detail: LevelOfDetail,
    *,
    no_holes: Any = False,
    polygons_filter: Any = None,
    render_mode: Any = "approximate_time_filter",
    buffer_distance: Any = 1000,
    remove_water_bodies: Any = True,
) -> ShapeStyle:
    """Check the options of shapes."""
    for name, value in (("no_holes", no_holes), ("remove_water_bodies", remove_water_bodies)):
        if not isinstance(value, bool | np.bool_):
            msg = f"{name} must be True or False; got {value!r}"
            raise InputError(msg)
    if isinstance(polygons_filter, Mapping):
        unknown = set(polygons_filter) - {"limit"}
        if unknown or "limit" not in polygons_filter:
            msg = f"polygons_filter must be {{'limit': n}} or a number; got {dict(polygons_filter)!r}"
            raise InputError(msg)
        polygons_filter = polygons_filter["limit"]
    n_polygons = None
    if polygons_filter is not None:
        n_polygons = whole(polygons_filter, "polygons_filter", 1, MAX_POLYGONS, "polygons")
    one_of(render_mode, "render_mode", ("approximate_time_filter", "road_buffering"))
    return ShapeStyle(
        detail=detail,
        no_holes=bool(no_holes),
        n_polygons=n_polygons,
        is_road_buffer=render_mode == "road_buffering",
        buffer_m=whole(buffer_distance, "buffer_distance", MIN_BUFFER_M, MAX_BUFFER_M, "metres"),
        no_water=bool(remove_water_bodies),
    )


def _table(query: Query, origins: Any, limit: int, style: ShapeStyle, column: str) -> gpd.GeoDataFrame:
    """Return one shape per origin."""
    places = read_points(origins, "origins", query.network.bounds)
    snaps = query.snap(places, is_origin=not query.is_arrival)
    geometry = draw_shapes(query, snaps, limit, style)
    codes = np.where(snaps.status == OUTSIDE, 0, np.where(snaps.status == SNAPPED, 2, 1))
    codes[(codes == 2) & ~shapely.is_empty(geometry)] = -1
    columns = {
        column: np.full(len(places), limit, np.int32),
        "snap_distance": finite(snaps.distance_m),
        "reason": pd.Categorical.from_codes(codes, dtype=_REASONS),
    }
    return geo_frame(columns, geometry, places.index)


def draw_shapes(query: Query, snaps: Snaps, limit: int, style: ShapeStyle) -> ObjectArray:
    """
    Return the shape of what lies within a limit of each place.

    Parameters
    ----------
    query : Query
        What to search, checked: by `ask`, or by `ask_distance` for a limit in metres.
    snaps : Snaps
        The places, from `Question.snap_at`; `Snaps.status` says which of them have no street.
    limit : int
        Seconds or metres.
    style : ShapeStyle

    Returns
    -------
    object array of shape (n_places,)
        MultiPolygons in EPSG:4326, empty where a place has no street.
    """
    return np.array([_shape(query, snaps, i, limit, style) for i in range(len(snaps))], dtype=object)


def _shape(query: Query, snaps: Snaps, i: int, limit: int, style: ShapeStyle) -> shapely.MultiPolygon:
    """Return the shape of one origin."""
    checkpoint()
    if snaps.status[i] != SNAPPED:
        return shapely.MultiPolygon()
    network, snapping = query.network, query.snapping
    family = query.egress_transportation.base
    cell_m = style.detail.cell_m(family)
    # A cell farther than the limit, so that the contour lies between true values.
    field = query.field_from(snaps.take(np.array([i])), limit + cell_m)
    x, y = network.frame.to_xy(snaps.lng[i : i + 1], snaps.lat[i : i + 1])
    here = float(x[0]), float(y[0])
    radius = raster.origin_radius(field, snapping, cell_m, limit)
    if style.is_road_buffer:
        pieces = road_buffer.reached_pieces(network.streets, field, limit)
        if not pieces.size:
            return shapely.MultiPolygon()
        # Distances are exact at the centres of cells, so that finer ones than a fortieth of the band draw the same.
        cell_m = float(np.clip(cell_m, style.buffer_m / 40.0, style.buffer_m / 5.0))
        drawn = road_buffer.road_buffer_surface(pieces, float(style.buffer_m), cell_m=cell_m, frame=network.frame)
        shape = polygons.contour_polygons(drawn, float(style.buffer_m), steepest=cell_m)
    else:
        drawn = raster.surface(
            network.streets,
            query.egress_transportation,
            snapping,
            field,
            cell_m=cell_m,
            buffer_m=float(style.buffer_m),
            limit=float(limit),
        )
        if style.detail.square_size_m is not None:
            shape = polygons.coarse_grid_polygons(
                drawn, float(limit), float(style.detail.square_size_m), origin_xy=here if radius > 0.0 else None
            )
        else:
            shape = polygons.contour_polygons(drawn, float(limit))
            if radius > 0.0 and not polygons.is_surrounded(drawn, float(limit), *here):
                shape = polygons.include_point(shape, *here, radius)
    if style.no_water:
        shape = network.water.subtract(shape)
    if style.no_holes:
        shape = polygons.fill_holes(shape)
    if style.n_polygons is not None:
        shape = polygons.largest_polygons(shape, style.n_polygons, frame=network.frame)
    return polygons.to_lnglat(shape, network.frame)


def shape_accuracy(
    network: Network,
    areas: gpd.GeoDataFrame,
    origins: PointsLike,
    *,
    n_points: int = 2000,
    seed: int = 0,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentLike = None,
    arrival_time: MomentLike = None,
    snapping: Snapping | Mapping[str, Any] | None = None,
    remove_water_bodies: bool = True,
    window: int | None = None,
    percentile: float | None = None,
    shortest: bool = False,
) -> pd.Series:
    """
    Return how often shapes and `time_filter` agree about random points.

    Parameters
    ----------
    network : Network
    areas : GeoDataFrame
        From `time_map` (or `distance_map`) of `origins`.
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        What the shapes were made for.
    n_points : int, default 2000
        Points per shape, uniform in 1.3 times its box.
    seed : int, default 0
        Of the random points.
    transportation, departure_time, arrival_time, snapping, window, percentile, shortest
        As the shapes were made.
    remove_water_bodies : bool, default True
        As the shapes were made: points on removed water are left out, because there a shape says no on purpose.

    Returns
    -------
    Series
        Share of agreeing points from 0 to 1 by the index of `areas`; NaN for empty shapes.

    Raises
    ------
    InputError
        If `areas` is not a result of `time_map` or `distance_map`, or does not fit `origins`.
    """
    column = next((name for name in ("travel_time", "distance") if name in getattr(areas, "columns", ())), None)
    if column is None or not isinstance(areas, gpd.GeoDataFrame):
        msg = "areas must be a GeoDataFrame from time_map or distance_map"
        raise InputError(msg)
    n_points = whole(n_points, "n_points", 1, 10_000_000, "points")
    percents = () if percentile is None else (percent(percentile, "percentile"),)
    if column == "distance":
        query = ask_distance(network, transportation, departure_time, arrival_time, snapping, shortest=shortest)
    else:
        query = ask(
            network, transportation, departure_time, arrival_time, snapping, limit=int(areas[column].max()),
            window=window, percents=percents,
        )  # fmt: skip
    places = read_points(origins, "origins", network.bounds)
    if not areas.index.equals(places.index):
        msg = "areas and origins must have the same index; pass the origins that the areas were made for"
        raise InputError(msg)
    snaps = query.snap(places, is_origin=not query.is_arrival)
    rng = np.random.default_rng(seed)
    shares = np.full(len(places), np.nan)
    for i, (shape, limit) in enumerate(zip(areas.geometry, areas[column], strict=True)):
        if shape.is_empty:
            continue
        west, south, east, north = shape.bounds
        middle, half = np.array([west + east, south + north]) / 2.0, np.array([east - west, north - south]) * 0.65
        lng, lat = (middle + rng.uniform(-1.0, 1.0, (n_points, 2)) * half).T
        lat = np.clip(lat, -90.0, 90.0)
        if remove_water_bodies:
            dry = ~network.water.contains(*network.frame.to_xy(lng, lat))
            lng, lat = lng[dry], lat[dry]
        if not lng.size:
            continue
        targets = query.snap_at(lng, lat, is_origin=query.is_arrival)
        here = snaps.take(np.array([i]))
        starts, ends = (targets, here) if query.is_arrival else (here, targets)
        is_reached = np.concatenate(
            [
                _is_within(block, query, int(limit)).ravel()
                for block in query.blocks(starts, ends, FOREVER_S if query.is_length else int(limit), "dijkstra")
            ]
        )
        shares[i] = float((is_reached == shapely.contains_xy(shape, lng, lat)).mean())
    return pd.Series(shares, index=areas.index, name="accuracy")


def _is_within(block: Block, query: Query, limit: int) -> BoolArray:
    """Return which pairs of a block keep to a limit."""
    if block.spread is not None:
        return block.spread.ms[..., 0] < NO_TIME
    is_reached: BoolArray = block.labels != road.UNREACHED
    if query.is_length:
        is_reached &= label_parts.cm(block.labels) <= 100 * limit
    return is_reached
