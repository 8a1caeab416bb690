"""
Travel times between points, and where points meet the streets.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import AnyArray, BoolArray, Float32Array, FloatArray
from traveltime_lab._checks import finite, one_of, percent, whole
from traveltime_lab.errors import InputError, LimitError, UnsupportedError
from traveltime_lab.kernels.street import road
from traveltime_lab.kernels.transit.patterns import UNREACHED as NO_TIME
from traveltime_lab.limits import MAX_RESULTS, MAX_TRAVEL_TIME_S
from traveltime_lab.modes import Snapping, Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.points import Points, PointsLike, read_points
from traveltime_lab.search.pair_times import ReachablePairs, _joined, pair_times, poured, reachable_pairs
from traveltime_lab.search.pairs import (
    chosen_pairs,
    metres_of,
    moment_columns,
    reasons_of,
    seconds_of,
)
from traveltime_lab.search.query import MomentLike, Query, ask
from traveltime_lab.search.tables import geo_frame
from traveltime_lab.streets import matrix, paths
from traveltime_lab.streets.snapping import Snaps
from traveltime_lab.transit.itineraries import transit_routes
from traveltime_lab.transit.query import TransitQuery

PROPERTIES: Final = ("travel_time", "distance", "route", "snap_distance", "share")
FORMS: Final = ("pairs", "matrix", "sparse")
#: Most rows of a table with a row per pair, reached or not; beyond it the sparse form is the answer.
_MOST_PAIRS = 20_000_000


def time_filter(
    network: Network,
    origins: PointsLike,
    destinations: PointsLike,
    *,
    travel_time: int | dt.timedelta,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentLike = None,
    arrival_time: MomentLike = None,
    properties: Sequence[str] = ("travel_time",),
    pairs: Literal["all", "aligned"] | pd.DataFrame = "all",
    form: Literal["pairs", "matrix", "sparse"] = "pairs",
    snapping: Snapping | Mapping[str, Any] | None = None,
    window: int | None = None,
    max_results: int = 1,
    percentiles: Sequence[float] = (),
    engine: Literal["auto", "dijkstra", "hierarchy", "pandana"] = "auto",
) -> gpd.GeoDataFrame | pd.DataFrame:
    """
    Return travel times from origins to destinations.

    Parameters
    ----------
    network : Network
    origins, destinations : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with unique indexes. Reprojected, never mutated.
    travel_time : int or timedelta
        Limit in seconds, 1 to 14400. What takes longer is unreachable.
    transportation : str, Transportation or mapping, default "driving"
        How to travel; see `Transportation`.
    departure_time, arrival_time : datetime, str, optional
        One of the two at most. Aware, ISO 8601, or naive in the network's time zone, or ``"weekday_morning"``. For
        cars it selects the congestion of that hour and weekday.
    properties : sequence of str, default ("travel_time",)
        Any of ``travel_time``, ``distance`` (of the fastest route, walks to and from the streets included),
        ``route`` (its line), ``snap_distance`` and, over a window, ``share``. With percentiles it may be empty: the
        least time of a window is as much work as its percentiles.
    pairs : {"all", "aligned"} or DataFrame, default "all"
        All origins with all destinations, the first with the first and so on, or a table with the columns ``origin``
        and ``destination`` that hold index labels.
    form : {"pairs", "matrix", "sparse"}, default "pairs"
        A row per pair; a wide table with a row per origin and a column per destination; or a row per *reachable*
        pair without geometry, which is how large requests fit in memory.
    snapping : Snapping or mapping, optional
        Threshold, penalty and accepted roads of the snap to the streets.
    window : int, optional
        Timetable types: seconds after the departure, or before the arrival, in which one may leave or arrive as well,
        1 to 43200. The travel time is then the least of the window.
    max_results : int, default 1
        With a window and ``form="pairs"``: journeys per pair, 1 to 5, each in a row of its own, the shortest first.
        No journey is among them that another beats by leaving no earlier and arriving no later.
    percentiles : sequence of float, default ()
        With a window: percentages, over 0 and up to 100. ``travel_time_p80`` is the least time that 80 % of the
        departures (or arrivals) of the window keep to, one a minute from the given moment on.
    engine : {"auto", "dijkstra", "hierarchy", "pandana"}, default "auto"
        Who computes. All give the same answers.

    Returns
    -------
    GeoDataFrame or DataFrame
        ``pairs``: ``origin`` and ``destination`` (labels), ``travel_time`` (Int32, s, NA if unreachable),
        ``distance`` (Float64, m), ``origin_snap_distance`` and ``destination_snap_distance`` (float64, m), ``reason``
        (categorical, why the pair is unreachable, NA if it is not) and the geometry: the destination, or the route
        if asked for, in EPSG:4326. With a window also ``departure_time`` and ``arrival_time``; with percentiles a
        column like ``travel_time_p80`` (Int32, s) each; with ``share`` the share of departures that make it
        (float64, 0 to 1).
        ``matrix``: float32, NaN if unreachable, with ``origins.index`` as rows and ``destinations.index`` as columns;
        with both ``travel_time`` and ``distance`` the columns have the property as first level.
        ``sparse``: the reachable rows of ``pairs`` without ``reason`` and geometry.

    Raises
    ------
    InputError
        If a table is empty, has duplicate labels, or an argument is unknown.
    CrsError
        If a table has no CRS.
    CoordinateError
        If coordinates are missing, out of range or swapped.
    LimitError
        If `travel_time` is out of range, or the table would have more than 20 million rows.
    ModeError
        If the transportation is unknown.
    MomentError
        If a moment does not exist or is ambiguous.

    See Also
    --------
    time_map : The area instead of the times to known points.
    snap : Where points meet the streets.

    Notes
    -----
    Times are computed in whole milliseconds, compared with the limit, and only then rounded to seconds.

    Examples
    --------
    >>> times = time_filter(network, homes, shops, travel_time=1800)  # doctest: +SKIP
    """
    limit = whole(travel_time, "travel_time", 1, MAX_TRAVEL_TIME_S, "seconds")
    percents = _percents(percentiles)
    properties = _properties(properties, may_be_empty=bool(percents))
    one_of(form, "form", FORMS)
    matrix.check_engine(engine)
    n_best = whole(max_results, "max_results", 1, MAX_RESULTS, "journeys")
    needs_least = not percents or not {"travel_time", "distance", "route"}.isdisjoint(properties)
    query = ask(
        network, transportation, departure_time, arrival_time, snapping, limit=limit, window=window,
        percents=percents, with_share="share" in properties, with_least=needs_least,
    )  # fmt: skip
    if query.transit is not None:
        _check_transit_table(query.transit, properties, form, engine)
    if n_best > 1 and (query.transit is None or window is None or form != "pairs" or query.transit.has_spread):
        msg = "max_results lists the journeys of a window: give window, form='pairs' and no percentiles or share"
        raise InputError(msg)
    query = replace(query, needs_length="distance" in properties)
    starts = read_points(origins, "origins", network.bounds)
    ends = read_points(destinations, "destinations", network.bounds)
    chosen = chosen_pairs(pairs, starts, ends)
    if form == "matrix" and chosen is not None:
        msg = "form='matrix' needs all pairs; use form='pairs' or 'sparse' with pairs='aligned' or a table of pairs"
        raise InputError(msg)
    if form != "pairs" and "route" in properties:
        msg = f"form={form!r} has no room for routes; use form='pairs'"
        raise InputError(msg)
    start_snaps, end_snaps = query.snap(starts), query.snap(ends, is_origin=False)
    if form == "matrix":
        return _wide(query, starts, ends, start_snaps, end_snaps, limit, properties, percents, engine)
    if form == "sparse":
        reachable = reachable_pairs(query, start_snaps, end_snaps, limit, chosen=chosen, engine=engine)
        return _sparse(reachable, starts, ends, start_snaps, end_snaps, properties, percents)
    n_pairs = len(starts) * len(ends) if chosen is None else chosen[0].size
    if n_pairs > _MOST_PAIRS:
        msg = (
            f"{n_pairs:,} pairs are more than a table with a row for each can hold ({_MOST_PAIRS:,}); "
            "use form='sparse', which keeps what is reachable, or form='matrix'"
        )
        raise LimitError(msg)
    found = pair_times(query, start_snaps, end_snaps, limit, chosen=chosen, n_best=n_best, engine=engine)
    origin_of, destination_of, labels, moments = found.origin_of, found.destination_of, found.labels, found.moments
    lines = None
    if query.transit is not None and ("distance" in properties or "route" in properties):
        lines = np.full(labels.size, shapely.LineString(), dtype=object)
        reached = np.flatnonzero(labels != road.UNREACHED)
        when = None if moments is None else [moments[row] for row in reached]
        for at, route, label in transit_routes(
            query.transit, start_snaps, end_snaps, origin_of[reached], destination_of[reached], when
        ):
            labels[reached[at]], lines[reached[at]] = label, route.geometry
    is_reached = labels != road.UNREACHED
    columns: dict[str, Any] = {
        "origin": starts.index.take(origin_of),
        "destination": ends.index.take(destination_of),
    }
    if "travel_time" in properties:
        columns["travel_time"] = pd.arrays.IntegerArray(seconds_of(labels), ~is_reached)
    if found.spread is not None:
        columns |= _spread_columns(found.spread, percents, properties)
    if "distance" in properties:
        columns["distance"] = pd.arrays.FloatingArray(metres_of(labels), ~is_reached)
    if moments is not None:
        columns |= moment_columns(moments, seconds_of(labels), network.timezone, is_arrival=query.is_arrival)
    if "snap_distance" in properties:
        columns["origin_snap_distance"] = finite(start_snaps.distance_m)[origin_of]
        columns["destination_snap_distance"] = finite(end_snaps.distance_m)[destination_of]
    columns["reason"] = reasons_of(query, start_snaps, end_snaps, origin_of, destination_of, is_reached)
    if "route" in properties and lines is not None:
        geometry = lines
    elif "route" in properties:
        geometry = paths.route_lines(
            network.streets, query.graph, starts, ends, start_snaps, end_snaps, query.snapping, origin_of,
            destination_of, is_reached, limit,
        )  # fmt: skip
    else:
        geometry = ends.geometry[destination_of]
    return geo_frame(columns, geometry, pd.RangeIndex(labels.size))


def _check_transit_table(asked: TransitQuery, properties: tuple[str, ...], form: str, engine: str) -> None:
    """Raise an error for what a table of timetable trips cannot have."""
    if ("distance" in properties or "route" in properties) and form != "pairs":
        msg = (
            "distances and routes of timetable trips are told one by one: ask for them with form='pairs', and for "
            "fewer pairs"
        )
        raise UnsupportedError(msg)
    if engine != "auto":
        msg = f"engine={engine!r} searches streets; transportation {asked.transportation.type!r} needs engine='auto'"
        raise InputError(msg)


def _properties(properties: Any, *, may_be_empty: bool) -> tuple[str, ...]:
    """Return the checked list of properties."""
    if isinstance(properties, str):
        properties = (properties,)
    for name in properties:
        one_of(name, "properties", PROPERTIES)
    if not tuple(properties) and not may_be_empty:
        msg = f"properties is empty; name at least one of {', '.join(PROPERTIES)}"
        raise InputError(msg)
    return tuple(properties)


def _percents(percentiles: Any) -> tuple[float, ...]:
    """Return the checked percentiles."""
    if isinstance(percentiles, int | float):
        percentiles = (percentiles,)
    values = tuple(percent(value, "percentiles") for value in percentiles)
    if len(set(values)) != len(values):
        msg = f"percentiles must differ from each other; got {values}"
        raise InputError(msg)
    return values


def _spread_values(
    spread: matrix.Spread, percents: tuple[float, ...], properties: tuple[str, ...]
) -> dict[str, tuple[AnyArray, BoolArray]]:
    """Return the names and values of percentiles, and of shares if asked for, and where there are none."""
    columns: dict[str, tuple[AnyArray, BoolArray]] = {}
    for k, value in enumerate(percents):
        ms = spread.ms[..., k].astype(np.int64)
        columns[f"travel_time_p{value:g}"] = ((ms + 500) // 1000).astype(np.int32), ms >= NO_TIME
    if "share" in properties:
        columns["share"] = spread.share.astype(np.float64), np.zeros(spread.share.shape, np.bool_)
    return columns


def _spread_columns(
    spread: matrix.Spread, percents: tuple[float, ...], properties: tuple[str, ...]
) -> dict[str, pd.arrays.IntegerArray | FloatArray]:
    """Return percentiles, and shares if asked for, of rows as columns."""
    values = _spread_values(spread, percents, properties)
    return {
        name: column if name == "share" else pd.arrays.IntegerArray(np.where(is_lost, 0, column), is_lost)
        for name, (column, is_lost) in values.items()
    }


def _sparse(
    found: ReachablePairs,
    starts: Points,
    ends: Points,
    start_snaps: Snaps,
    end_snaps: Snaps,
    properties: tuple[str, ...],
    percents: tuple[float, ...],
) -> pd.DataFrame:
    """Return the reachable pairs as a table; columns are made one at a time, and their pieces dropped on the way."""
    table: dict[str, Any] = {}
    if "snap_distance" in properties:
        origin_distance, destination_distance = finite(start_snaps.distance_m), finite(end_snaps.distance_m)
        table["origin_snap_distance"] = poured([origin_distance[part] for part in found.origins])
        table["destination_snap_distance"] = poured([destination_distance[part] for part in found.destinations])
    table["origin"] = poured(found.origins, starts.index)
    table["destination"] = poured(found.destinations, ends.index)
    n_pairs = len(table["origin"])
    if "travel_time" in properties:
        table["travel_time"] = pd.arrays.IntegerArray(poured(found.seconds), np.zeros(n_pairs, np.bool_))
    if "distance" in properties:
        table["distance"] = pd.arrays.FloatingArray(poured(found.metres), np.zeros(n_pairs, np.bool_))
    if found.spreads:
        table |= _spread_columns(_joined(found.spreads), percents, properties)
    order_of_columns = ("origin", "destination", "travel_time", "distance", *table)
    return pd.DataFrame({name: table[name] for name in order_of_columns if name in table}, copy=False)


def _wide(
    query: Query,
    starts: Points,
    ends: Points,
    start_snaps: Snaps,
    end_snaps: Snaps,
    limit: int,
    properties: tuple[str, ...],
    percents: tuple[float, ...],
    engine: str,
) -> pd.DataFrame:
    """Return the wide matrix of times, distances and so on."""
    if "snap_distance" in properties:
        msg = "form='matrix' holds what belongs to pairs; snap() gives snap distances"
        raise InputError(msg)
    tables: dict[str, Float32Array] = {}
    for block in query.blocks(start_snaps, end_snaps, limit, engine):
        is_reached = block.labels != road.UNREACHED
        values: dict[str, Any] = {}
        if "travel_time" in properties:
            values["travel_time"] = np.where(is_reached, seconds_of(block.labels), np.nan)
        if block.spread is not None:
            for name, (column, is_lost) in _spread_values(block.spread, percents, properties).items():
                values[name] = np.where(is_lost, np.nan, column)
        if "distance" in properties:
            values["distance"] = np.where(is_reached, metres_of(block.labels), np.nan)
        for name, part in values.items():
            if name not in tables:
                tables[name] = np.empty((len(starts), len(ends)), np.float32)
            tables[name][block.rows, block.columns] = part
    frames = {
        name: pd.DataFrame(
            table, index=starts.index.rename("origin"), columns=ends.index.rename("destination"), copy=False
        )
        for name, table in tables.items()
    }
    if len(frames) == 1:
        return next(iter(frames.values()))
    return pd.concat(frames, axis=1, names=["property"])
