"""
Isochrones (`time_map`), areas within a distance (`distance_map`), and their accuracy (`shape_accuracy`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import BoolArray, ObjectArray
from traveltime_lab._checks import distances_m, finite, flag, one_of, percent, travel_times_s, whole
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError, UnsupportedError
from traveltime_lab.limits import (
    MAX_BUFFER_M,
    MAX_DISTANCE_M,
    MAX_POLYGONS,
    MAX_TRAVEL_TIME_S,
    MIN_BUFFER_M,
    MIN_DISTANCE_M,
)
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.points import Points, PointsLike, read_points
from traveltime_lab.question import MomentLike
from traveltime_lab.rounding import most_s
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.progress import Progress, advance, check_progress, watched
from traveltime_lab.search import border
from traveltime_lab.search.query import Query, ask
from traveltime_lab.search.receipts.record import with_receipt
from traveltime_lab.search.tables import geo_frame
from traveltime_lab.streets.snapping import OUTSIDE, SNAPPED, Snaps, on_closed_streets
from traveltime_lab.surfaces import polygons, raster, road_buffer
from traveltime_lab.surfaces.field import Field
from traveltime_lab.surfaces.level_of_detail import DEFAULT_LEVEL, LevelOfDetail, parse_level_of_detail

#: Reasons why an area is empty.
_REASONS: Final = pd.CategoricalDtype(
    ["origin_outside_network", "origin_not_snapped", "origin_street_closed", "over_limit"]
)


@explained_keywords
@with_receipt
def time_map(
    network: Network,
    origins: PointsLike,
    *,
    travel_time: int | dt.timedelta | Sequence[int | dt.timedelta],
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
    progress: Progress = False,
) -> gpd.GeoDataFrame:
    """
    Return the isochrone of each origin: the area that is reachable within a travel time.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with a unique index. With `arrival_time`, they are destinations.
    travel_time : int, timedelta or list of these
        Maximum travel time in seconds, 1 to 14400. A list, such as ``[600, 1200, 1800]``, draws several areas around
        each origin from one search.
    transportation : str, Transportation or mapping, default "driving"
        Means of transportation; see `Transportation`.
    departure_time, arrival_time : datetime, str, optional
        As in `time_filter`.
    level_of_detail : str, int or mapping, default "medium"
        ``"lowest"``, ``"low"``, ``"medium"``, ``"high"`` or ``"highest"``, a number from -20 to 2, or an object as in
        docs/contract.md, 4.5, which also supports ``coarse_grid``: the squares that the area reaches into. It is
        reduced for long travel times, as stated there.
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
    progress : bool or callable, default False
        Whether to show a progress bar, or a function that is called as ``progress(done, total)`` with numbers of
        origins.

    Returns
    -------
    GeoDataFrame
        Indexed like `origins`: ``travel_time`` (int32, s), ``snap_distance`` (float64, m, NaN if not snapped),
        ``reason`` (why the area is empty, or that a change has closed the street at the origin; otherwise NA),
        ``reaches_border`` (bool, only if the border of the extract is known; see Notes) and ``geometry``, a valid
        MultiPolygon in EPSG:4326 with counter-clockwise exterior rings, empty if the origin is not snapped. With a list
        of travel times, an origin has one row for each of them, in the order of the list, under the same label.

    Raises
    ------
    InputError, CrsError, CoordinateError, LimitError, ModeError, MomentError
        As in `time_filter`; also if a list of travel times is empty or has one of them twice.

    Warns
    -----
    UserWarning
        If `travel_time` is a number below 60: the unit is seconds.
    BorderWarning
        If areas extend to the border of the extract: what lies beyond it is missing.

    See Also
    --------
    time_filter : Travel times to given points.
    union, intersection, difference : Combine isochrones.
    shape_accuracy : Compare isochrones with `time_filter`.

    Notes
    -----
    Isochrones are contours of a travel-time surface. Its value at the centre of each cell of a fixed grid is the travel
    time that `time_filter` returns for that point.

    The areas of several travel times are nested: each contains those of shorter ones, except with `polygons_filter`,
    and road buffers within a millimetre. All have the level of detail that is available for the longest; apart from
    that, they equal those of single calls.

    Areas run past the border of the extract (`build_network` says where it is), up to the longest walk off the street.
    Those without ``reaches_border`` are those of any larger extract; some of those with it are, too.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> areas = tl.time_map(
    ...     network,
    ...     places.iloc[:2],
    ...     travel_time=900,
    ...     transportation="walking",
    ... )
    >>> (areas.to_crs(network.crs).area / 1e6).round()
    name
    Mercado Público    3.0
    Rodoviária         2.0
    dtype: float64

    Nested areas, from one search:

    >>> areas = tl.time_map(
    ...     network,
    ...     places.iloc[[0]],
    ...     travel_time=[300, 600, 900],
    ...     transportation="walking",
    ... )
    >>> [round(area, 1) for area in areas.to_crs(network.crs).area / 1e6]
    [0.3, 1.3, 3.1]
    """
    query, limits, style = area_query(
        network, travel_time=travel_time, transportation=transportation, departure_time=departure_time,
        arrival_time=arrival_time, snapping=snapping, window=window, percentile=percentile,
        level_of_detail=level_of_detail, no_holes=no_holes, polygons_filter=polygons_filter, render_mode=render_mode,
        buffer_distance=buffer_distance, remove_water_bodies=remove_water_bodies,
    )  # fmt: skip
    check_progress(progress)
    places = read_points(origins, "origins", query.network.bounds)
    with watched(progress, len(places), "Areas", "origin"):
        return area_table(query, places, limits, style, "travel_time")


@explained_keywords
@with_receipt
def distance_map(
    network: Network,
    origins: PointsLike,
    *,
    distance: int | Sequence[int],
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
    progress: Progress = False,
) -> gpd.GeoDataFrame:
    """
    Return the area within a distance along the streets of each origin.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with a unique index.
    distance : int or list of int
        Maximum distance in metres, 75 to 800000, along the *fastest* route, as the ``distance`` of `time_filter`. It
        includes the walks between points and streets (docs/contract.md, 7.10). A list draws several areas around each
        origin from one search.
    transportation
        As in `time_map`.
    departure_time, arrival_time
        As in `time_map`. For driving, the time affects which route is the fastest.
    level_of_detail, no_holes, polygons_filter, render_mode, buffer_distance, remove_water_bodies, snapping
        As in `time_map`.
    shortest : bool, default False
        Whether to use the distance along the shortest route instead of the fastest.
    progress : bool or callable, default False
        Whether to show a progress bar, or a function that is called as ``progress(done, total)`` with numbers of
        origins.

    Returns
    -------
    GeoDataFrame
        As returned by `time_map`, with the column ``distance`` (int32, m) instead of ``travel_time``.

    Raises
    ------
    InputError, CrsError, CoordinateError, LimitError, ModeError, MomentError
        As in `time_map`.

    Warns
    -----
    BorderWarning
        As in `time_map`. The length of the shortest route to the border counts; a detour across it that is faster, but
        longer than `distance`, is not looked for.

    See Also
    --------
    time_map : Isochrones.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> areas = tl.distance_map(
    ...     network,
    ...     places.iloc[:2],
    ...     distance=2000,
    ...     transportation="cycling",
    ... )
    >>> (areas.to_crs(network.crs).area / 1e6).round()
    name
    Mercado Público    6.0
    Rodoviária         4.0
    dtype: float64
    """
    limits = distances_m(distance, MIN_DISTANCE_M, MAX_DISTANCE_M)
    query = ask_distance(network, transportation, departure_time, arrival_time, snapping, shortest=shortest)
    style = shape_style(
        parse_level_of_detail(level_of_detail), no_holes=no_holes, polygons_filter=polygons_filter,
        render_mode=render_mode, buffer_distance=buffer_distance, remove_water_bodies=remove_water_bodies,
    )  # fmt: skip
    check_progress(progress)
    places = read_points(origins, "origins", query.network.bounds)
    with watched(progress, len(places), "Areas", "origin"):
        return area_table(query, places, limits, style, "distance")


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
) -> tuple[Query, tuple[int, ...], ShapeStyle]:
    """Validate the parameters of isochrones; the others are those of `shape_style`."""
    limits = travel_times_s(travel_time, MAX_TRAVEL_TIME_S)
    percents = () if percentile is None else (percent(percentile, "percentile"),)
    query = ask(
        network,
        transportation,
        departure_time,
        arrival_time,
        snapping,
        limit=max(limits),
        window=window,
        percents=percents,
    )
    style = shape_style(parse_level_of_detail(level_of_detail).downgraded(max(limits)), **shape_options)
    if percents and style.is_road_buffer:
        msg = "percentile needs render_mode='approximate_time_filter': each departure reaches other roads"
        raise UnsupportedError(msg)
    return query, limits, style


def area_table(query: Query, places: Points, limits: Sequence[int], style: ShapeStyle, column: str) -> gpd.GeoDataFrame:
    """Return the table of areas, one row per origin and limit."""
    snaps = query.snap(places, is_origin=not query.is_arrival)
    shapes, reaches_border = draw_areas(query, snaps, limits, style)
    geometry = shapes.ravel()
    n_limits = len(limits)
    status = np.repeat(snaps.status, n_limits)
    codes = np.where(status == OUTSIDE, 0, np.where(status == SNAPPED, 3, 1))
    codes[np.repeat(on_closed_streets(query.graph.topology, snaps), n_limits)] = 2
    codes[(codes == 3) & ~shapely.is_empty(geometry)] = -1
    columns = {
        column: np.tile(np.array(limits, np.int32), len(places)),
        "snap_distance": np.repeat(finite(snaps.distance_m), n_limits),
        "reason": pd.Categorical.from_codes(codes, dtype=_REASONS),
    }
    if reaches_border is not None:
        columns[border.COLUMN] = reaches_border.ravel()
    return geo_frame(columns, geometry, places.index if n_limits == 1 else places.index.repeat(n_limits))


def draw_shapes(query: Query, snaps: Snaps, limits: Sequence[int], style: ShapeStyle) -> ObjectArray:
    """
    Return the areas within one or more limits of each origin, with one search for each origin.

    Parameters
    ----------
    query : Query
        Validated query, from `ask` for the largest limit, or from `ask_distance` for limits in metres.
    snaps : Snaps
        Snapped origins, see `Query.snap_at`.
    limits : sequence of int
        Maximum travel times in seconds, or distances in metres.
    style : ShapeStyle

    Returns
    -------
    object array of shape (n_origins, n_limits)
        MultiPolygons in EPSG:4326, empty if an origin is not snapped.
    """
    return draw_areas(query, snaps, limits, style)[0]


def draw_areas(
    query: Query, snaps: Snaps, limits: Sequence[int], style: ShapeStyle
) -> tuple[ObjectArray, BoolArray | None]:
    """Return the areas as `draw_shapes` does, and which reach the border, None if it is not known; warn of these."""
    shapes = np.full((len(snaps), len(limits)), shapely.MultiPolygon(), dtype=object)
    way = border.of_streets(query, snaps)
    for i in np.flatnonzero(snaps.status == SNAPPED).tolist():
        shapes[i], aboard = _shapes(query, snaps.take(np.array([i])), limits, style)
        way[i] = min(way[i], aboard)
        advance(1)
    # A contour is interpolated between cells on both sides of the limit, as `_shapes` says.
    return shapes, border.of_areas(
        query, snaps, way, limits, shapes, style.detail.cell_m(query.egress_transportation.base)
    )


def _shapes(
    query: Query, here: Snaps, limits: Sequence[int], style: ShapeStyle
) -> tuple[list[shapely.MultiPolygon], float]:
    """Return the areas of one origin, and with a timetable the way from there to the border; inf if it is not known."""
    checkpoint()
    levels = [float(limit) if query.is_in_metres else most_s(limit) for limit in limits]
    cell_m = style.detail.cell_m(query.egress_transportation.base)
    # The search extends one cell beyond the limit, so that the contour is interpolated between computed values.
    # Values farther away have no effect: `contour_polygons` clips them.
    field = query.field_from(here, max(levels) + cell_m)
    checkpoint()
    if style.is_road_buffer:
        drawn = [_road_buffer(query, field, level, style, cell_m) for level in levels]
    else:
        drawn_on = raster.surfaces(
            query.network.streets,
            query.egress_transportation,
            query.snapping,
            field,
            cell_m=cell_m,
            buffer_m=float(style.buffer_m),
            limits=levels,
        )
        checkpoint()
        drawn = [
            _contour(query, here, field, surface, level, style, cell_m)
            for level, surface in zip(levels, drawn_on, strict=True)
        ]
    return [_finished(query.network, shape, style) for shape in drawn], border.of_field(query, here, field)


def _road_buffer(query: Query, field: Field, level: float, style: ShapeStyle, cell_m: float) -> shapely.MultiPolygon:
    """Return the area around the roads whose values are at most a level, in local metres."""
    pieces = road_buffer.reached_pieces(query.network.streets, field, level)
    if not pieces.size:
        return shapely.MultiPolygon()
    # Distances are exact at cell centres, so cells smaller than a fortieth of the buffer do not change the shape.
    cell_m = float(np.clip(cell_m, style.buffer_m / 40.0, style.buffer_m / 5.0))
    distances = road_buffer.road_buffer_surface(pieces, float(style.buffer_m), cell_m=cell_m, frame=query.network.frame)
    checkpoint()
    if style.detail.square_size_m is not None:
        return polygons.coarse_grid_polygons(distances, float(style.buffer_m), float(style.detail.square_size_m))
    return polygons.contour_polygons(distances, float(style.buffer_m), steepest=cell_m)


def _contour(
    query: Query,
    here: Snaps,
    field: Field,
    drawn: polygons.Surface,
    level: float,
    style: ShapeStyle,
    cell_m: float,
) -> shapely.MultiPolygon:
    """Return the area of a surface whose values are at most a level, with the origin, in local metres."""
    x, y = (float(values[0]) for values in query.network.frame.to_xy(here.lng, here.lat))
    radius = raster.origin_radius(field, query.snapping, cell_m, level)
    if style.detail.square_size_m is not None:
        return polygons.coarse_grid_polygons(
            drawn, level, float(style.detail.square_size_m), origin_xy=(x, y) if radius > 0.0 else None
        )
    halvings = style.detail.halvings(query.egress_transportation.base, is_length=field.is_length)
    shape = polygons.contour_polygons(drawn, level, halvings=halvings)
    if radius > 0.0 and not polygons.is_surrounded(drawn, level, x, y):
        shape = polygons.include_point(shape, x, y, radius)
    return shape


def _finished(network: Network, shape: shapely.MultiPolygon, style: ShapeStyle) -> shapely.MultiPolygon:
    """Return a shape in longitude and latitude, without water, holes or small polygons if the style says so."""
    checkpoint()
    if style.no_water:
        shape = network.water.subtract(shape)
    if style.no_holes:
        shape = polygons.fill_holes(shape)
    checkpoint()
    if style.n_polygons is not None:
        shape = polygons.largest_polygons(shape, style.n_polygons, frame=network.frame)
    return polygons.to_lnglat(shape, network.frame)
