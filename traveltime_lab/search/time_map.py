"""
Isochrones (`time_map`), areas within a distance (`distance_map`), and their accuracy (`shape_accuracy`).
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
from traveltime_lab._checks import finite, flag, one_of, percent, whole
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
from traveltime_lab.points import Points, PointsLike, read_points
from traveltime_lab.search.query import MomentLike, Query, ask
from traveltime_lab.search.tables import geo_frame
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.matrix import Block
from traveltime_lab.streets.snapping import OUTSIDE, SNAPPED, Snaps
from traveltime_lab.surfaces import polygons, raster, road_buffer
from traveltime_lab.surfaces.level_of_detail import DEFAULT_LEVEL, LevelOfDetail, parse_level_of_detail

#: Reasons why an area is empty.
_REASONS: Final = pd.CategoricalDtype(["origin_outside_network", "origin_not_snapped", "over_limit"])


def time_map(
    network: Network,
    origins: PointsLike,
    *,
    travel_time: int | dt.timedelta,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentLike = None,
    arrival_time: MomentLike = None,
    level_of_detail: str | int | Mapping[str, Any] | None = DEFAULT_LEVEL,
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
    Return the isochrone of each origin: the area that is reachable within a travel time.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with a unique index. With `arrival_time`, they are destinations.
    travel_time : int or timedelta
        Maximum travel time in seconds, 1 to 14400.
    transportation : str, Transportation or mapping, default "driving"
        Means of transportation; see `Transportation`.
    departure_time, arrival_time : datetime, str, optional
        As in `time_filter`.
    level_of_detail : str, int or mapping, default "medium"
        ``"lowest"``, ``"low"``, ``"medium"``, ``"high"`` or ``"highest"``, a number from -20 to 2, or an object as in
        docs/contract.md, 4.5, which also supports ``coarse_grid``. It is reduced for long travel times, as stated
        there.
    no_holes : bool, default False
        Whether to fill holes.
    polygons_filter : int or mapping, optional
        Maximum number of polygons; the largest ones are kept. The contract's ``{"limit": n}`` is accepted too.
    render_mode : {"approximate_time_filter", "road_buffering"}
        ``"approximate_time_filter"`` returns the area of points that are reachable according to `time_filter`,
        ``"road_buffering"`` a buffer of `buffer_distance` around the reachable roads.
    buffer_distance : int, default 1000
        Maximum distance between the area and a road in metres, at least 250.
    remove_water_bodies : bool, default True
        Whether to remove the sea, lakes and wide rivers.
    snapping : Snapping or mapping, optional
        Options for snapping points to streets.
    window : int, optional
        As in `time_filter`. The area is reachable with at least one departure in the window.
    percentile : float, optional
        With a window: minimum percentage of its departures (or arrivals, one per minute) with which the area is
        reachable. See ``percentiles`` of `time_filter` for travel times.

    Returns
    -------
    GeoDataFrame
        Indexed like `origins`: ``travel_time`` (int32, s), ``snap_distance`` (float64, m, NaN if not snapped),
        ``reason`` (why the area is empty, NA if it is not) and ``geometry``, a valid MultiPolygon in EPSG:4326 with
        counter-clockwise exterior rings, empty if the origin is not snapped.

    Raises
    ------
    InputError, CrsError, CoordinateError, LimitError, ModeError, MomentError
        As in `time_filter`.

    See Also
    --------
    time_filter : Travel times to given points.
    union, intersection, difference : Combine isochrones.
    shape_accuracy : Compare isochrones with `time_filter`.

    Notes
    -----
    Isochrones are contours of a travel-time surface. Its value at the centre of each cell of a fixed grid is the travel
    time that `time_filter` returns for that point.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> areas = tl.time_map(network, places.iloc[:2], travel_time=900, transportation="walking")
    >>> (areas.to_crs(network.crs).area / 1e6).round()
    name
    Plaza de Armas, Coquimbo    2.0
    Hospital, Coquimbo          3.0
    dtype: float64
    """
    query, limit, style = area_query(
        network, travel_time=travel_time, transportation=transportation, departure_time=departure_time,
        arrival_time=arrival_time, snapping=snapping, window=window, percentile=percentile,
        level_of_detail=level_of_detail, no_holes=no_holes, polygons_filter=polygons_filter, render_mode=render_mode,
        buffer_distance=buffer_distance, remove_water_bodies=remove_water_bodies,
    )  # fmt: skip
    return area_table(query, read_points(origins, "origins", query.network.bounds), limit, style, "travel_time")


def distance_map(
    network: Network,
    origins: PointsLike,
    *,
    distance: int,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentLike = None,
    arrival_time: MomentLike = None,
    level_of_detail: str | int | Mapping[str, Any] | None = DEFAULT_LEVEL,
    no_holes: bool = False,
    polygons_filter: int | Mapping[str, Any] | None = None,
    render_mode: Literal["approximate_time_filter", "road_buffering"] = "approximate_time_filter",
    buffer_distance: int = 1000,
    remove_water_bodies: bool = True,
    snapping: Snapping | Mapping[str, Any] | None = None,
    shortest: bool = False,
) -> gpd.GeoDataFrame:
    """
    Return the area within a distance along the streets of each origin.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with a unique index.
    distance : int
        Maximum distance in metres, 75 to 800000, along the *fastest* route, as the ``distance`` of `time_filter`. It
        includes the walks between points and streets (docs/contract.md, 7.10).
    transportation, departure_time, arrival_time, level_of_detail, no_holes, polygons_filter, render_mode, \
buffer_distance, remove_water_bodies, snapping
        As in `time_map`. For driving, the departure time affects which route is the fastest.
    shortest : bool, default False
        Whether to use the distance along the shortest route instead of the fastest.

    Returns
    -------
    GeoDataFrame
        As returned by `time_map`, with the column ``distance`` (int32, m) instead of ``travel_time``.

    Raises
    ------
    InputError, CrsError, CoordinateError, LimitError, ModeError, MomentError
        As in `time_map`.

    See Also
    --------
    time_map : Isochrones.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> areas = tl.distance_map(network, places.iloc[:2], distance=2000, transportation="cycling")
    >>> (areas.to_crs(network.crs).area / 1e6).round()
    name
    Plaza de Armas, Coquimbo    5.0
    Hospital, Coquimbo          6.0
    dtype: float64
    """
    limit = whole(distance, "distance", MIN_DISTANCE_M, MAX_DISTANCE_M, "metres")
    query = ask_distance(network, transportation, departure_time, arrival_time, snapping, shortest=shortest)
    style = shape_style(
        parse_level_of_detail(level_of_detail), no_holes=no_holes, polygons_filter=polygons_filter,
        render_mode=render_mode, buffer_distance=buffer_distance, remove_water_bodies=remove_water_bodies,
    )  # fmt: skip
    return area_table(query, read_points(origins, "origins", query.network.bounds), limit, style, "distance")


def ask_distance(
    network: Any,
    transportation: Any,
    departure_time: MomentLike,
    arrival_time: MomentLike,
    snapping: Any,
    *,
    shortest: Any = False,
) -> Query:
    """Validate the arguments that searches by distance share, as `ask` does for searches by travel time."""
    shortest = flag(shortest, "shortest")
    query = ask(network, transportation, departure_time, arrival_time, snapping, "distance")
    if shortest:
        return query
    return replace(ask(network, transportation, departure_time, arrival_time, snapping), is_length=True)


# Array-level functions ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShapeStyle:
    """Validated shape options."""

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
    """Validate the shape options."""
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
        no_holes=flag(no_holes, "no_holes"),
        n_polygons=n_polygons,
        is_road_buffer=render_mode == "road_buffering",
        buffer_m=whole(buffer_distance, "buffer_distance", MIN_BUFFER_M, MAX_BUFFER_M, "metres"),
        no_water=flag(remove_water_bodies, "remove_water_bodies"),
    )


def area_query(
    network: Any,
    *,
    travel_time: Any,
    transportation: Any,
    departure_time: MomentLike,
    arrival_time: MomentLike,
    snapping: Any,
    window: Any,
    percentile: Any,
    level_of_detail: Any,
    **shape_options: Any,
) -> tuple[Query, int, ShapeStyle]:
    """Validate the parameters of isochrones; the others are those of `shape_style`."""
    limit = whole(travel_time, "travel_time", 1, MAX_TRAVEL_TIME_S, "seconds")
    percents = () if percentile is None else (percent(percentile, "percentile"),)
    query = ask(
        network, transportation, departure_time, arrival_time, snapping, limit=limit, window=window, percents=percents
    )
    if percents and shape_options.get("render_mode") == "road_buffering":
        msg = "percentile needs render_mode='approximate_time_filter': each departure reaches other roads"
        raise UnsupportedError(msg)
    return query, limit, shape_style(parse_level_of_detail(level_of_detail).downgraded(limit), **shape_options)


def area_table(query: Query, places: Points, limit: int, style: ShapeStyle, column: str) -> gpd.GeoDataFrame:
    """Return the table of areas, one row per origin."""
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
    Return the area within a limit of each origin.

    Parameters
    ----------
    query : Query
        Validated query, from `ask`, or from `ask_distance` for a limit in metres.
    snaps : Snaps
        Snapped origins, see `Query.snap_at`.
    limit : int
        Maximum travel time in seconds, or distance in metres.
    style : ShapeStyle

    Returns
    -------
    object array of shape (n_origins,)
        MultiPolygons in EPSG:4326, empty if an origin is not snapped.
    """
    return np.array([_shape(query, snaps, i, limit, style) for i in range(len(snaps))], dtype=object)


def _shape(query: Query, snaps: Snaps, i: int, limit: int, style: ShapeStyle) -> shapely.MultiPolygon:
    """Return the area of one origin."""
    checkpoint()
    if snaps.status[i] != SNAPPED:
        return shapely.MultiPolygon()
    network, snapping = query.network, query.snapping
    family = query.egress_transportation.base
    cell_m = style.detail.cell_m(family)
    # The search extends one cell beyond the limit, so that the contour is interpolated between computed values.
    field = query.field_from(snaps.take(np.array([i])), limit + cell_m)
    checkpoint()
    x, y = network.frame.to_xy(snaps.lng[i : i + 1], snaps.lat[i : i + 1])
    here = float(x[0]), float(y[0])
    radius = raster.origin_radius(field, snapping, cell_m, limit)
    if style.is_road_buffer:
        pieces = road_buffer.reached_pieces(network.streets, field, limit)
        if not pieces.size:
            return shapely.MultiPolygon()
        # Distances are exact at cell centres, so cells smaller than a fortieth of the buffer do not change the shape.
        cell_m = float(np.clip(cell_m, style.buffer_m / 40.0, style.buffer_m / 5.0))
        drawn = road_buffer.road_buffer_surface(pieces, float(style.buffer_m), cell_m=cell_m, frame=network.frame)
        checkpoint()
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
        checkpoint()
        if style.detail.square_size_m is not None:
            shape = polygons.coarse_grid_polygons(
                drawn, float(limit), float(style.detail.square_size_m), origin_xy=here if radius > 0.0 else None
            )
        else:
            shape = polygons.contour_polygons(drawn, float(limit))
            if radius > 0.0 and not polygons.is_surrounded(drawn, float(limit), *here):
                shape = polygons.include_point(shape, *here, radius)
    checkpoint()
    if style.no_water:
        shape = network.water.subtract(shape)
    if style.no_holes:
        shape = polygons.fill_holes(shape)
    checkpoint()
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
    Return the share of random points on which isochrones agree with `time_filter`.

    Parameters
    ----------
    network : Network
    areas : GeoDataFrame
        Result of `time_map` or `distance_map`.
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Origins of `areas`.
    n_points : int, default 2000
        Number of points per area, distributed uniformly over its bounding box scaled by 1.3.
    seed : int, default 0
        Seed of the random number generator.
    transportation, departure_time, arrival_time, snapping, window, percentile, shortest
        The arguments with which `areas` were computed.
    remove_water_bodies : bool, default True
        The argument with which `areas` were computed; if True, points in water are excluded.

    Returns
    -------
    Series
        Share of points, 0 to 1, indexed like `areas`; NaN for empty areas.

    Raises
    ------
    InputError
        If `areas` is not a result of `time_map` or `distance_map`, or its index differs from that of `origins`.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> areas = tl.time_map(network, places.iloc[:2], travel_time=900, transportation="walking")
    >>> accuracy = tl.shape_accuracy(network, areas, places.iloc[:2], transportation="walking")
    >>> bool((accuracy > 0.95).all())
    True
    """
    column = next((name for name in ("travel_time", "distance") if name in getattr(areas, "columns", ())), None)
    if column is None or not isinstance(areas, gpd.GeoDataFrame):
        msg = "areas must be a GeoDataFrame returned by time_map or distance_map"
        raise InputError(msg)
    if not len(areas) or not areas.columns.is_unique or areas.geometry.isna().any():
        msg = "areas must have rows, columns with different names, and a shape in each row, as time_map returns them"
        raise InputError(msg)
    most = MAX_DISTANCE_M if column == "distance" else MAX_TRAVEL_TIME_S
    limits = [whole(value, f"each {column} of areas", 1, most, "metres or seconds") for value in areas[column].tolist()]
    n_points = whole(n_points, "n_points", 1, 1_000_000, "points")
    flag(remove_water_bodies, "remove_water_bodies")
    seed = whole(seed, "seed", 0, 2**63 - 1, "the random numbers")
    percents = () if percentile is None else (percent(percentile, "percentile"),)
    if column == "distance":
        query = ask_distance(network, transportation, departure_time, arrival_time, snapping, shortest=shortest)
    else:
        query = ask(
            network, transportation, departure_time, arrival_time, snapping, limit=max(limits),
            window=window, percents=percents,
        )  # fmt: skip
    places = read_points(origins, "origins", network.bounds)
    if not areas.index.equals(places.index):
        msg = "areas and origins must have the same index; pass the origins with which the areas were computed"
        raise InputError(msg)
    snaps = query.snap(places, is_origin=not query.is_arrival)
    rng = np.random.default_rng(seed)
    shares = np.full(len(places), np.nan)
    for i, (shape, limit) in enumerate(zip(areas.geometry, limits, strict=True)):
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
                _is_within(block, query, limit).ravel()
                for block in query.blocks(starts, ends, FOREVER_S if query.is_length else limit, "dijkstra")
            ]
        )
        shares[i] = float((is_reached == shapely.contains_xy(shape, lng, lat)).mean())
    return pd.Series(shares, index=areas.index, name="accuracy")


def _is_within(block: Block, query: Query, limit: int) -> BoolArray:
    """Return which pairs of a block are within the limit."""
    if block.spread is not None:
        return block.spread.ms[..., 0] < NO_TIME
    is_reached: BoolArray = block.labels != road.UNREACHED
    if query.is_length:
        is_reached &= label_parts.cm(block.labels) <= 100 * limit
    return is_reached
