"""
Isochrones (`time_map`), areas within a distance (`distance_map`), and their accuracy (`shape_accuracy`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import geopandas as gpd

from traveltime_lab._checks import distances_m
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.limits import (
    MAX_DISTANCE_M,
    MIN_DISTANCE_M,
)
from traveltime_lab.modes.costs import Costs
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.points import PointsLike, read_points
from traveltime_lab.question import MomentsLike
from traveltime_lab.runtime.progress import Progress, check_progress, watched
from traveltime_lab.search.area_shapes import area_query, area_table, distance_query, shape_style
from traveltime_lab.search.each_moment import at_each_moment
from traveltime_lab.search.receipts.record import with_receipt
from traveltime_lab.surfaces.level_of_detail import DEFAULT_LEVEL, parse_level_of_detail


@explained_keywords
@with_receipt
@at_each_moment(by_label=True)
def time_map(
    network: Network,
    origins: PointsLike,
    *,
    travel_time: int | dt.timedelta | Sequence[int | dt.timedelta],
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentsLike = None,
    arrival_time: MomentsLike = None,
    level_of_detail: str | int | Mapping[str, Any] | None = DEFAULT_LEVEL,
    no_holes: bool = False,
    polygons_filter: int | Mapping[str, Any] | None = None,
    render_mode: Literal["approximate_time_filter", "road_buffering"] = "approximate_time_filter",
    buffer_distance: int = 1000,
    remove_water_bodies: bool = True,
    snapping: Snapping | Mapping[str, Any] | None = None,
    window: int | None = None,
    percentile: float | None = None,
    max_emissions: float | None = None,
    max_cost: float | None = None,
    costs: Costs | Mapping[str, Any] | None = None,
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
    departure_time, arrival_time : datetime, str or list of these, optional
        As in `time_filter`. With several moments, the first column is ``moment``.
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
    max_emissions, max_cost : float, optional
        Grams of CO2e, and money, that a trip has at most: a place is in reach only if its fastest trip keeps these
        limits, too, and both are known. Not with `percentile` or road buffers; a cost on streets without tolls and
        ferries only.
    costs : Costs or mapping, optional
        Emissions and money of a kilometre, for `max_emissions` and `max_cost`.
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

    Emissions and costs are those of `time_filter`, of the fastest trip to each place. Limits on them take longer: the
    trips to all places in reach are searched, too. ``reaches_border`` is that of the area without these limits.

    Areas run past the border of the extract (`build_network` says where it is), up to the longest walk off the street.
    Those without ``reaches_border`` are those of a larger extract, and some of those with it are, too. Exceptions are
    water that the border cuts, places off the street next to holes and inward corners of a polygon, places more than
    20 km from the border with a larger `threshold` of `snapping`, and origins without a street, whose area is empty.

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
        buffer_distance=buffer_distance, remove_water_bodies=remove_water_bodies, max_emissions=max_emissions,
        max_cost=max_cost, costs=costs,
    )  # fmt: skip
    check_progress(progress)
    places = read_points(origins, "origins", query.network.bounds)
    with watched(progress, len(places), "Areas", "origin"):
        return area_table(query, places, limits, style, "travel_time")


@explained_keywords
@with_receipt
@at_each_moment(by_label=True)
def distance_map(
    network: Network,
    origins: PointsLike,
    *,
    distance: int | Sequence[int],
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentsLike = None,
    arrival_time: MomentsLike = None,
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
    query = distance_query(network, transportation, departure_time, arrival_time, snapping, shortest=shortest)
    style = shape_style(
        parse_level_of_detail(level_of_detail), no_holes=no_holes, polygons_filter=polygons_filter,
        render_mode=render_mode, buffer_distance=buffer_distance, remove_water_bodies=remove_water_bodies,
    )  # fmt: skip
    check_progress(progress)
    places = read_points(origins, "origins", query.network.bounds)
    with watched(progress, len(places), "Areas", "origin"):
        return area_table(query, places, limits, style, "distance")
