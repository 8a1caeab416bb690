"""
Routes with legs, directions, lines and times (`routes`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import AnyArray, Int64Array, ObjectArray
from traveltime_lab._checks import items, one_of, whole
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.itinerary import timed, unpaid
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.limits import MAX_RESULTS, MAX_ROUTE_TIME_S
from traveltime_lab.modes.costs import Costs
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.points import PointsLike, read_points
from traveltime_lab.question import MomentsLike
from traveltime_lab.runtime.progress import Progress, advance, check_progress, watched
from traveltime_lab.runtime.shared import n_moments
from traveltime_lab.search import trip_costs
from traveltime_lab.search.each_moment import at_each_moment
from traveltime_lab.search.pairs import (
    chosen_pairs,
    departures,
    metres_of,
    reasons_of,
    seconds_of,
)
from traveltime_lab.search.properties import PROPERTIES, column, names_for
from traveltime_lab.search.query import Query, ask
from traveltime_lab.search.receipts.record import with_receipt
from traveltime_lab.streets.directions import Narrator
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.paths import paths
from traveltime_lab.transit.itineraries import Found, transit_routes

ROUTE_PROPERTIES: Final = names_for("routes")
#: Maximum number of routes of a call; each has its own line and directions.
_MOST_ROUTES: Final = 100_000


@explained_keywords
@with_receipt
@at_each_moment(has_times=True)
def routes(
    network: Network,
    origins: PointsLike,
    destinations: PointsLike,
    *,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentsLike = None,
    arrival_time: MomentsLike = None,
    properties: Sequence[str] = ("travel_time", "distance", "route"),
    pairs: Literal["all", "aligned"] | pd.DataFrame = "all",
    snapping: Snapping | Mapping[str, Any] | None = None,
    window: int | None = None,
    max_results: int = 1,
    costs: Costs | Mapping[str, Any] | None = None,
    progress: Progress = False,
) -> gpd.GeoDataFrame:
    """
    Return the fastest routes from origins to destinations, with directions.

    Parameters
    ----------
    network : Network
    origins, destinations : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with unique indexes.
    transportation : str, Transportation or mapping, default "driving"
        Means of transportation; see `Transportation`. Types with a timetable have transit legs with stops and times.
    departure_time, arrival_time : datetime, str or list of these, optional
        As in `time_filter`; with several moments, the first column is ``moment``. With a date, routes have departure
        and arrival times.
    properties : sequence of str, default ("travel_time", "distance", "route")
        Any of ``travel_time``, ``distance``, ``distance_breakdown``, ``fares``, ``emissions``, ``cost``, ``on_foot``,
        ``route`` and ``alerts``.
    pairs : {"all", "aligned"} or DataFrame, default "all"
        As in `time_filter`; at most 100,000 pairs.
    snapping : Snapping or mapping, optional
        Options for snapping points to streets.
    window, max_results : int, optional
        As in `time_filter`: up to five itineraries per pair in a window, one row each.
    costs : Costs or mapping, optional
        Emissions and money of a kilometre, for ``emissions`` and ``cost``.
    progress : bool or callable, default False
        Whether to show a progress bar, or a function that is called as ``progress(done, total)`` with numbers of
        routes.

    Returns
    -------
    GeoDataFrame
        One row per pair or itinerary: ``origin`` and ``destination`` (labels), ``departure_time`` and ``arrival_time``
        (in the time zone of the network, NaT without a date), ``travel_time`` (Int32, s), ``distance`` (Float64, m),
        ``distance_breakdown`` (dict of metres by mode), ``fares`` (`Fares`: the cheapest tickets; None if the feed does
        not have them), ``emissions`` (Float64, g of CO2e) and ``cost`` (Float64: fares, running costs and tolls), both
        NA where a part of the route is not known, ``on_foot`` (boolean: whether the whole route is walked), ``route``
        (`Route`), ``alerts`` (tuple of `Alert`: those of live updates about its rides), ``reason`` (why there is no
        route, NA if there is one) and the line of the route in EPSG:4326. If there is no route, these values are
        missing or empty.

    Raises
    ------
    InputError
        If a table is empty, has duplicate labels, or an argument is unknown.
    CrsError
        If a table has no CRS.
    CoordinateError
        If coordinates are missing, out of range or swapped.
    LimitError
        If there are more than 100,000 pairs.
    ModeError
        If the transportation is unknown.
    MomentError
        If a time does not exist or is ambiguous, or the timetable does not cover it.

    See Also
    --------
    time_filter : Travel times without directions, for many more pairs.

    Notes
    -----
    Routes take at most 12 hours. Travel times and distances, and their sums over legs and steps, are exactly those of
    `time_filter`. The walks between points and streets are part of the first and the last leg. Drop the column
    ``route`` before writing the table to a file: it contains Python objects, which Parquet does not support.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> found = tl.routes(
    ...     network,
    ...     places.iloc[[0]],
    ...     places.iloc[[1]],
    ...     transportation="cycling",
    ... )
    >>> route = found["route"].iloc[0]
    >>> round(route.travel_time / 60), round(route.distance)
    (10, 1760)
    >>> for step in route.legs[0].steps[:3]:
    ...     print(step.directions)
    Start heading north
    Cycle 10 m
    Turn left and cycle 53 m

    With a timetable, legs have departure and arrival times:

    >>> found = tl.routes(
    ...     network,
    ...     places.loc[["PUCRS"]],
    ...     places.loc[["Mercado Público"]],
    ...     transportation="bus",
    ...     departure_time="2019-05-13T08:00:00",
    ... )
    >>> for leg in found["route"].iloc[0].legs:
    ...     print(f"{leg.departure_time:%H:%M}", leg.directions)
    08:00 Walk 50 m
    08:00 Take bus T9 from PARTENON IPIRANGA to CENTRO DOM FELICIANO
    08:21 Walk 740 m
    """
    requested = (properties,) if isinstance(properties, str) else items(properties, "properties", "names")
    for name in requested:
        one_of(name, "properties", ROUTE_PROPERTIES)
    n_best = whole(max_results, "max_results", 1, MAX_RESULTS, "itineraries")
    if n_best > 1 and window is None:
        msg = "max_results > 1 requires window; give one, such as window=3600"
        raise InputError(msg)
    check_progress(progress)
    query = ask(
        network, transportation, departure_time, arrival_time, snapping, limit=MAX_ROUTE_TIME_S, window=window,
        costs=trip_costs.requested_costs(costs, requested),
    )  # fmt: skip
    starts = read_points(origins, "origins", network.bounds)
    ends = read_points(destinations, "destinations", network.bounds)
    chosen = chosen_pairs(pairs, starts, ends)
    n_pairs = len(starts) * len(ends) if chosen is None else chosen[0].size
    n_routes = n_pairs * n_moments()
    if n_routes > _MOST_ROUTES:
        msg = (
            f"routes supports at most {_MOST_ROUTES:,} pairs; got {n_routes:,}. Use time_filter for travel times "
            "without directions"
        )
        raise LimitError(msg)
    snapped = Pairs(query.snap(starts), query.snap(ends, is_origin=False), chosen)
    with watched(progress, n_pairs * n_best, "Routes", "route"):
        answer = find_routes(query, snapped, n_best=n_best)
    origin_of, destination_of = answer.pairs.origin_of, answer.pairs.destination_of
    labels, found = answer.labels, answer.routes
    lines = np.full(labels.size, shapely.LineString(), dtype=object)
    for row, route in enumerate(found):
        if route is not None:
            i, j = origin_of[row], destination_of[row]
            ends_only = [(starts.lng[i], starts.lat[i]), (ends.lng[j], ends.lat[j])]
            lines[row] = route.geometry if route.legs else shapely.LineString(ends_only)
    is_reached = labels != UNREACHED
    columns: dict[str, Any] = {
        "origin": starts.index.take(origin_of),
        "destination": ends.index.take(destination_of),
        "departure_time": route_moments(found, "departure_time", network.timezone),
        "arrival_time": route_moments(found, "arrival_time", network.timezone),
    }
    charges = trip_costs.as_columns(trip_costs.of_routes(query, found, requested) if query.question.costs else {})
    for name in ROUTE_PROPERTIES:
        if name not in requested:
            continue
        if name in charges:
            columns[name] = charges[name]
        elif PROPERTIES[name].of is not None:
            columns[name] = column(PROPERTIES[name], seconds_of(labels), metres_of(labels), ~is_reached)
        elif name in ("distance_breakdown", "fares", "alerts"):
            columns[name] = _objects([None if route is None else getattr(route, name) for route in found])
        elif name == "on_foot":
            columns[name] = pd.array([None if route is None else route.on_foot for route in found], dtype="boolean")
        else:
            columns[name] = found
    columns["reason"] = reasons_of(query, answer.pairs, is_reached)
    return gpd.GeoDataFrame(columns, geometry=lines, crs="EPSG:4326")


# Array-level functions ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FoundRoutes:
    """
    Routes with one row per pair, or with one row per itinerary in a window.

    Attributes
    ----------
    pairs : Pairs
        The pair of each row.
    labels : int64 array of shape (n_rows,)
        See `traveltime_lab.kernels.street.road`.
    routes : object array of shape (n_rows,)
        `Route`, None if there is none.
    """

    pairs: Pairs
    labels: Int64Array
    routes: ObjectArray


def find_routes(query: Query, pairs: Pairs, *, n_best: int = 1) -> FoundRoutes:
    """
    Return the fastest routes of pairs.

    Parameters
    ----------
    query : Query
        Validated query; with a timetable, its limit must be `MAX_ROUTE_TIME_S`.
    pairs : Pairs
        Snapped origins and destinations, see `Query.snap_at`.
    n_best : int, default 1
        Maximum number of itineraries per pair, with a window.
    """
    n_pairs, when = len(pairs), None
    if query.transit is not None and query.transit.window:
        query.transit.check_headways("routes of a window")
        pairs, _, moments, _ = departures(query, pairs, n_best)
        # Rows without an itinerary have no time; that of the query is a placeholder, because they get no route.
        when = [moment or query.transit.moment for moment in moments]
    labels = np.full(len(pairs), UNREACHED, np.int64)
    found = np.full(len(pairs), None, dtype=object)
    for pair, route, label in found_routes(query, pairs, when):
        labels[pair], found[pair] = label, route
        advance(1)
    # Pairs without a route, and itineraries that a pair does not have.
    advance(n_pairs * n_best - int((labels != UNREACHED).sum()))
    return FoundRoutes(pairs, labels, found)


def found_routes(query: Query, pairs: Pairs, when: Sequence[dt.datetime] | None = None) -> Iterator[Found]:
    """Yield the routes of pairs, by timetable at moments of their own; those without a route are left out."""
    if query.transit is not None:
        return transit_routes(query.transit, pairs, when)
    return _street_routes(query, pairs)


def _street_routes(query: Query, pairs: Pairs) -> Iterator[Found]:
    """Yield the routes of pairs on streets, without those that have none."""
    network = query.network
    narrator = Narrator(network.streets, query.graph, query.transportation.base)
    moment = query.moment if isinstance(query.moment, dt.datetime) else None
    starts, ends = pairs.starts, pairs.ends
    for path in paths(query.graph, pairs, query.snapping, MAX_ROUTE_TIME_S):
        i, j = pairs.origin_of[path.pair], pairs.destination_of[path.pair]
        here = np.array([starts.lng[i], starts.lat[i]])
        there = np.array([ends.lng[j], ends.lat[j]])
        legs = narrator.legs(path, here, there)
        yield Found(path.pair, timed(legs, moment, is_arrival=query.is_arrival, fares=unpaid(legs)), path.label)


# The table ------------------------------------------------------------------------------------------------------------


def route_moments(found: AnyArray, name: str, timezone: str) -> pd.Series:
    """Return the departure or arrival times of routes as a column."""
    moments = [None if route is None else getattr(route, name) for route in found]
    utc = pd.Series([pd.NaT if moment is None else moment.astimezone(dt.UTC) for moment in moments])
    return pd.to_datetime(utc, utc=True).dt.tz_convert(timezone)


def _objects(values: list[Any]) -> AnyArray:
    """Return values as an object array with one element per row."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
