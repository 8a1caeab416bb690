"""
Travel times between points (`time_filter`), and snapping of points to streets (`snap`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, cast

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import Float32Array, FloatArray, Int64Array
from traveltime_lab._checks import finite, items, one_of, percents_of, travel_time_s, whole
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError, LimitError, UnsupportedError
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.limits import MAX_RESULTS, MAX_TRAVEL_TIME_S
from traveltime_lab.modes.costs import Costs
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.points import Points, PointsLike, read_points
from traveltime_lab.question import MomentLike, MomentsLike
from traveltime_lab.runtime.progress import Progress, check_progress, watched
from traveltime_lab.runtime.shared import n_moments
from traveltime_lab.search import border, trip_costs
from traveltime_lab.search.each_moment import Rows, at_each_moment
from traveltime_lab.search.pair_columns import after_time, number_columns, sparse_table, spread_columns, spread_values
from traveltime_lab.search.pair_times import PairTimes, ReachablePairs, pair_times, reachable_pairs
from traveltime_lab.search.pairs import (
    chosen_pairs,
    metres_of,
    moment_columns,
    reasons_of,
    seconds_of,
)
from traveltime_lab.search.properties import PROPERTIES, charged, names_for, numbers, wants_length
from traveltime_lab.search.query import Query, ask
from traveltime_lab.search.receipts.record import with_receipt
from traveltime_lab.search.routes import found_routes
from traveltime_lab.search.tables import geo_frame
from traveltime_lab.streets import engines, matrix, paths, timed
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.transit.query import TransitQuery
from traveltime_lab.transit.travel_times import direct_labels

FORMS: Final = ("pairs", "matrix", "sparse")
#: Maximum number of rows for ``form="pairs"``, which has a row for every pair.
_MOST_PAIRS = 20_000_000


@explained_keywords
@with_receipt
@at_each_moment()
def time_filter(
    network: Network,
    origins: PointsLike,
    destinations: PointsLike,
    *,
    travel_time: int | dt.timedelta,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentsLike = None,
    arrival_time: MomentsLike = None,
    properties: Sequence[str] | None = None,
    pairs: Literal["all", "aligned"] | pd.DataFrame = "all",
    form: Literal["pairs", "matrix", "sparse"] = "pairs",
    snapping: Snapping | Mapping[str, Any] | None = None,
    window: int | None = None,
    max_results: int = 1,
    percentiles: Sequence[float] = (),
    engine: Literal["auto", "dijkstra", "hierarchy", "pandana"] = "auto",
    costs: Costs | Mapping[str, Any] | None = None,
    progress: Progress = False,
) -> gpd.GeoDataFrame | pd.DataFrame:
    """
    Return travel times from origins to destinations.

    Parameters
    ----------
    network : Network
    origins, destinations : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with unique indexes.
    travel_time : int or timedelta
        Maximum travel time in seconds, 1 to 14400. Destinations that take longer are unreachable.
    transportation : str, Transportation or mapping, default "driving"
        Means of transportation; see `Transportation`.
    departure_time, arrival_time : datetime, str or list of these, optional
        At most one of the two: a datetime or an ISO 8601 string, in the time zone of the network if naive, or
        ``"weekday_morning"``: at 8, or by 9, on `Network.typical_day`. Required for types with a timetable; for
        driving, it selects the congestion and the turn restrictions with hours that hold, both for the whole trip.
        A list, a DatetimeIndex, or a tuple (start, end, every) without the end is up to 1500 moments; see Notes.
    properties : sequence of str, optional
        Any of ``travel_time``, ``distance`` (along the fastest route, including the walks between points and streets),
        ``route`` (the line of the fastest route), ``emissions`` and ``cost`` (those of the fastest trip, by `costs`; a
        cost by timetable, with tolls or ferries for ``form="pairs"`` only), ``snap_distance``, with a window ``share``,
        and with a timetable ``on_foot`` (whether the whole trip is walked; ``form="pairs"`` only), ``reaches_border``
        (whether a larger extract may have a faster trip; ``form="pairs"`` only). With percentiles it may be empty,
        which saves the search for the shortest travel time in the window. Default: ``("travel_time",)``, or of a matrix
        with percentiles none, so that one percentile gives a plain matrix.
    pairs : {"all", "aligned"} or DataFrame, default "all"
        ``"all"`` combines all origins with all destinations, ``"aligned"`` the first origin with the first destination
        and so on. A DataFrame must have the columns ``origin`` and ``destination`` with index labels.
    form : {"pairs", "matrix", "sparse"}, default "pairs"
        ``"pairs"`` returns a row per pair, ``"matrix"`` a row per origin and a column per destination, ``"sparse"`` a
        row per *reachable* pair without geometry, which needs the least memory.
    snapping : Snapping or mapping, optional
        Options for snapping points to streets.
    window : int, optional
        Timetable types: length in seconds, 1 to 43200, of a window that begins at the departure time or ends at the
        arrival time. The travel time is then the shortest one in the window.
    max_results : int, default 1
        With a window and ``form="pairs"``: maximum number of itineraries per pair, 1 to 5, one row each, fastest first.
        An itinerary is omitted if another one departs no earlier and arrives no later.
    percentiles : sequence of float, default ()
        With a window: percentages above 0 and at most 100. ``travel_time_p80`` is the travel time within which at least
        80 % of the departures (or arrivals) in the window reach the destination, with one departure per minute.
    engine : {"auto", "dijkstra", "hierarchy", "pandana"}, default "auto"
        The algorithm to use. All return the same results; ``"hierarchy"`` and ``"pandana"`` do not support
        `time_dependent`.
    costs : Costs or mapping, optional
        Emissions and money of a kilometre, for ``emissions`` and ``cost``.
    progress : bool or callable, default False
        Whether to show a progress bar, or a function that is called as ``progress(done, total)`` with numbers of pairs.

    Returns
    -------
    GeoDataFrame or DataFrame
        ``pairs``: ``origin`` and ``destination`` (labels), ``travel_time`` (Int32, s, NA if unreachable),
        ``distance`` (Float64, m), ``emissions`` (Float64, g of CO2e) and ``cost`` (Float64, in the currency of `costs`
        or of the fares), NA where a part of the trip is not known, ``origin_snap_distance`` and
        ``destination_snap_distance`` (float64, m), ``reason`` (categorical; why the pair is unreachable, NA if it is
        reachable) and the geometry in EPSG:4326: the route if it is among `properties`, otherwise the destination. With
        a window also ``departure_time`` and ``arrival_time``; with percentiles one column each, such as
        ``travel_time_p80`` (Int32, s); with ``share`` the share of departures that reach the destination (float64, 0 to
        1); with ``on_foot`` whether the trip is walked (boolean, NA if unreachable); with ``reaches_border`` whether a
        way across the border of the extract may be faster, or the only one within the limit (boolean, NA if the border
        is not known). It is a bound: the way to the border and the way from there are no longer than the travel time,
        whatever is in between. With a timetable, the travel time is the longest of the row, and vehicles wait nowhere
        between the border and the end of the trip whose moment is not given.
        ``matrix``: float32, NaN if unreachable, with ``origins.index`` as rows and ``destinations.index`` as columns;
        if there are several properties, they are the first level of the columns.
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
        If a time does not exist or is ambiguous, or the timetable does not cover it.

    Warns
    -----
    UserWarning
        If `travel_time` is a number below 60: the unit is seconds.

    See Also
    --------
    time_map : Isochrones.
    routes : Routes with directions.
    snap : Snap points to streets.

    Notes
    -----
    Travel times are computed in milliseconds and rounded half up to seconds before they are compared with the limit. In
    every search, a place is within reach if its travel time in whole seconds is at most `travel_time`.

    With several moments, the rows of each are those of a call for it alone, one after the other, with the column
    ``moment`` (timezone-aware); rows of a matrix have the levels ``moment`` and ``origin``. In (start, end, every),
    the last is a timedelta or a pandas offset, such as ``"15min"``, of elapsed time: a day of quarter hours has 96.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> times = tl.time_filter(
    ...     network,
    ...     places.iloc[[0]],
    ...     places.iloc[[1, 2, 7]],
    ...     travel_time=1800,
    ...     transportation="cycling",
    ... )
    >>> times.set_index("destination")["travel_time"] // 60
    destination
    Rodoviária                9
    Hospital Santa Casa       5
    Iguatemi               <NA>
    Name: travel_time, dtype: Int32
    >>> times["reason"].iloc[2]
    'over_limit'

    A matrix of travel times in seconds:

    >>> matrix = tl.time_filter(
    ...     network,
    ...     places.iloc[:2],
    ...     places.iloc[:2],
    ...     travel_time=3600,
    ...     transportation="walking",
    ...     form="matrix",
    ... )
    >>> (matrix // 60).to_numpy().tolist()
    [[0.0, 15.0], [15.0, 0.0]]
    """
    if properties is None:
        is_spread = isinstance(form, str) and form == "matrix" and bool(percents_of(percentiles))
        properties = () if is_spread else ("travel_time",)
    query, properties = table_query(
        network, travel_time=travel_time, transportation=transportation, departure_time=departure_time,
        arrival_time=arrival_time, properties=properties, form=form, snapping=snapping, window=window,
        percentiles=percentiles, engine=engine, costs=costs,
    )  # fmt: skip
    check_progress(progress)
    n_best = whole(max_results, "max_results", 1, MAX_RESULTS, "itineraries")
    if n_best > 1 and (query.transit is None or window is None or form != "pairs" or query.transit.has_spread):
        msg = "max_results > 1 requires window and form='pairs', and excludes percentiles and share"
        raise InputError(msg)
    starts = read_points(origins, "origins", network.bounds)
    ends = read_points(destinations, "destinations", network.bounds)
    chosen = chosen_pairs(pairs, starts, ends)
    if form == "matrix" and chosen is not None:
        msg = "form='matrix' requires pairs='all'; use form='pairs' or 'sparse' for aligned pairs or a table of pairs"
        raise InputError(msg)
    n_pairs = len(starts) * len(ends) if chosen is None else chosen[0].size
    n_rows = n_pairs * n_moments()
    if form == "pairs" and n_rows > _MOST_PAIRS:
        msg = (
            f"form='pairs' supports at most {_MOST_PAIRS:,} pairs; got {n_rows:,}. "
            "Use form='sparse', which contains reachable pairs only, or form='matrix'"
        )
        raise LimitError(msg)
    snapped = Pairs(query.snap(starts), query.snap(ends, is_origin=False), chosen)
    with watched(progress, n_pairs * _n_passes(query, properties, form), "Travel times", "pair"):
        if form == "matrix":
            blocks = trip_costs.charged_blocks(query, snapped.starts, snapped.ends, query.limit, engine)
            return _wide(query, properties, starts, ends, blocks)
        if form == "sparse":
            reachable = reachable_pairs(query, snapped, query.limit, engine=engine)
            return cast(pd.DataFrame, _Rows(query, properties, starts, ends, reachable).answer())
        found = pair_times(query, snapped, query.limit, n_best=n_best, engine=engine)
        return cast(pd.DataFrame, _Rows(query, properties, starts, ends, found).answer())


@dataclass(frozen=True, eq=False)
class _Rows(Rows):
    """The rows of one or several moments; see `traveltime_lab.search.each_moment`."""

    query: Query
    properties: tuple[str, ...]
    starts: Points
    ends: Points
    found: PairTimes | ReachablePairs

    def __len__(self) -> int:
        return len(self.found)

    def table(self) -> pd.DataFrame:
        if isinstance(self.found, ReachablePairs):
            return sparse_table(self.found, self.starts, self.ends, self.properties, self.query.percents)
        return _long(self.query, self.properties, self.starts, self.ends, self.found)

    @property
    def has_charges(self) -> bool:
        """Whether emissions and costs, if requested, are found without routes."""
        return len(self.query.charges) == len(charged(self.properties))

    def joined(self, each: Sequence[_Rows]) -> pd.DataFrame:
        # Streets differ by moment, and so do routes by timetable.
        if self.query.transit is None or "route" in self.properties or not self.has_charges:
            tables = {number: rows.table() for number, rows in {id(rows): rows for rows in each}.items()}
            return pd.concat([tables[id(rows)] for rows in each], ignore_index=True)
        found: Any = self.found
        return replace(self, found=found.joined([rows.found for rows in each])).table()


def _on_foot(query: TransitQuery, pairs: Pairs, labels: Int64Array) -> pd.arrays.BooleanArray:
    """Return whether trips are walked all the way; NA where there is none. Equally fast rides are not taken."""
    is_reached = labels != UNREACHED
    reached = np.flatnonzero(is_reached)
    walked = direct_labels(query, pairs.take(reached))
    found = np.zeros(labels.size, np.bool_)
    found[reached] = (walked != UNREACHED) & (label_parts.ms(walked) <= label_parts.ms(labels[reached]))
    return pd.arrays.BooleanArray(found, ~is_reached)


def _long(
    query: Query, properties: tuple[str, ...], starts: Points, ends: Points, found: PairTimes
) -> gpd.GeoDataFrame:
    """Return the result for ``form="pairs"``."""
    network = query.network
    pairs, labels, moments = found.pairs, found.labels, found.moments
    origin_of, destination_of = pairs.origin_of, pairs.destination_of
    lines = None
    charges = found.charges
    by_route = len(charges) < len(charged(properties))
    if by_route or (query.transit is not None and "route" in properties):
        routes = np.full(labels.size, None, dtype=object)
        reached = np.flatnonzero(labels != UNREACHED)
        when = None if moments is None else [moments[row] for row in reached]
        for at, route, label in found_routes(query, pairs.take(reached), when):
            labels[reached[at]], routes[reached[at]] = label, route
        if query.transit is not None and "route" in properties:
            lines = np.array([shapely.LineString() if each is None else each.geometry for each in routes], object)
        if by_route:
            charges = trip_costs.of_routes(query, routes, properties)
    is_reached = labels != UNREACHED
    columns: dict[str, Any] = {
        "origin": starts.index.take(origin_of),
        "destination": ends.index.take(destination_of),
    }
    spread = {} if found.spread is None else spread_columns(found.spread, query.percents, properties)
    numbers_of = number_columns(labels, ~is_reached, properties) | trip_costs.as_columns(charges)
    columns |= after_time({name: numbers_of[name] for name in PROPERTIES if name in numbers_of}, spread)
    if moments is not None:
        columns |= moment_columns(moments, seconds_of(labels), network.timezone, is_arrival=query.is_arrival)
    if "snap_distance" in properties:
        columns["origin_snap_distance"] = finite(pairs.starts.distance_m)[origin_of]
        columns["destination_snap_distance"] = finite(pairs.ends.distance_m)[destination_of]
    if query.transit is not None and "on_foot" in properties:
        columns["on_foot"] = _on_foot(query.transit, pairs, labels)
    columns["reason"] = reasons_of(query, pairs, is_reached)
    if border.COLUMN in properties:
        flags = found.reaches_border
        columns[border.COLUMN] = pd.array([None] * labels.size if flags is None else flags, dtype="boolean")
    if "route" in properties and lines is not None:
        geometry = lines
    elif "route" in properties:
        geometry = paths.route_lines(network.streets, query.graph, pairs, query.snapping, is_reached, query.limit)
    else:
        geometry = ends.geometry[destination_of]
    return geo_frame(columns, geometry, pd.RangeIndex(labels.size))


def table_query(
    network: Any,
    *,
    travel_time: Any,
    transportation: Any,
    departure_time: MomentLike = None,
    arrival_time: MomentLike = None,
    properties: Any = ("travel_time",),
    form: Any = "sparse",
    snapping: Any = None,
    window: Any = None,
    percentiles: Any = (),
    engine: Any = "auto",
    costs: Any = None,
    allowed: tuple[str, ...] = names_for(*FORMS),
) -> tuple[Query, tuple[str, ...]]:
    """Validate the parameters of a table of travel times: those of `time_filter`; return its query and properties."""
    limit = travel_time_s(travel_time, MAX_TRAVEL_TIME_S)
    percents = percents_of(percentiles)
    properties = _properties(properties, allowed, may_be_empty=bool(percents))
    one_of(form, "form", FORMS)
    engines.check_engine(engine)
    needs_least = not percents or any(PROPERTIES[name].needs_least for name in properties)
    query = ask(
        network, transportation, departure_time, arrival_time, snapping, limit=limit, window=window,
        percents=percents, with_share="share" in properties, with_least=needs_least,
        costs=trip_costs.requested_costs(costs, properties),
    )  # fmt: skip
    trip_costs.check_form(query, properties, form)
    if query.transit is not None:
        _check_transit_table(query.transit, properties, form, engine)
    elif "on_foot" in properties:
        msg = f"on_foot needs a timetable; transportation {query.transportation.type!r} has none. Leave it out"
        raise InputError(msg)
    if query.transportation.time_dependent:
        timed.check_engine(engine)
    if form != "pairs" and border.COLUMN in properties:
        raise InputError(f"form={form!r} cannot contain {border.COLUMN}; use form='pairs'")
    if form != "pairs" and "route" in properties:
        msg = f"form={form!r} cannot contain routes; use form='pairs'"
        raise InputError(msg)
    return with_properties(query, properties), properties


def with_properties(query: Query, properties: tuple[str, ...]) -> Query:
    """Return the query that searches what properties need."""
    # Routes by timetable come with their lengths.
    needs_length = wants_length(properties) and (query.transit is None or "route" not in properties)
    charges = () if trip_costs.needs_routes(query, properties) else tuple(row.name for row in charged(properties))
    needs_length |= bool(charges) and query.transit is None
    needs_border = border.COLUMN in properties and border.is_known(query)
    return replace(query, needs_length=needs_length, needs_border=needs_border, charges=charges)


def _n_passes(query: Query, properties: tuple[str, ...], form: str) -> int:
    """Return how often a search goes over all pairs."""
    transit = query.transit
    has_departures = form == "pairs" and transit is not None and bool(transit.window) and transit.with_least
    has_lines = form == "pairs" and ("route" in properties or trip_costs.needs_routes(query, properties))
    has_grams = transit is not None and bool(query.charges)
    return (
        1
        + has_lines
        + has_grams * (1 + has_departures)
        + (has_departures and transit is not None and transit.has_spread)
    )


def _check_transit_table(query: TransitQuery, properties: tuple[str, ...], form: str, engine: str) -> None:
    """Raise an error for options that are not supported with a timetable."""
    if any(PROPERTIES[name].needs_route for name in properties) and form != "pairs":
        msg = (
            "with a timetable, routes and on_foot are computed pair by pair; use form='pairs', and fewer pairs if it "
            "takes too long"
        )
        raise UnsupportedError(msg)
    if engine != "auto":
        msg = f"engine={engine!r} is for streets only; transportation {query.transportation.type!r} needs engine='auto'"
        raise InputError(msg)


def _properties(properties: Any, allowed: tuple[str, ...], *, may_be_empty: bool) -> tuple[str, ...]:
    """Validate the properties."""
    properties = (properties,) if isinstance(properties, str) else items(properties, "properties", "names")
    for name in properties:
        one_of(name, "properties", allowed)
    if not properties and not may_be_empty:
        msg = f"properties is empty; give at least one of {', '.join(allowed)}"
        raise InputError(msg)
    return tuple(properties)


def _axis(labels: pd.Index, name: str) -> pd.Index:
    """Return labels under one name; those of several levels become tuples."""
    return (labels.to_flat_index() if isinstance(labels, pd.MultiIndex) else labels).rename(name)


def _wide(
    query: Query,
    properties: tuple[str, ...],
    starts: Points,
    ends: Points,
    blocks: Iterator[tuple[matrix.Block, dict[str, FloatArray]]],
) -> pd.DataFrame:
    """Return the result for ``form="matrix"``."""
    if "snap_distance" in properties:
        msg = "form='matrix' cannot contain snap_distance; use snap() or form='pairs'"
        raise InputError(msg)
    rows, has_length = numbers(properties), wants_length(properties)
    tables: dict[str, Float32Array] = {}
    for block, charges in blocks:
        is_reached = block.labels != UNREACHED
        known = seconds_of(block.labels), metres_of(block.labels) if has_length else None
        values = {row.name: np.where(is_reached, row.of(*known), np.nan) for row in rows if row.of is not None}
        spread: dict[str, Any] = {}
        if block.spread is not None:
            for name, (part, is_lost) in spread_values(block.spread, query.percents, properties).items():
                spread[name] = np.where(is_lost, np.nan, part)
        if query.charges:
            values |= charges
            values = {name: values[name] for name in PROPERTIES if name in values}
        for name, part in after_time(values, spread).items():
            if name not in tables:
                tables[name] = np.empty((len(starts), len(ends)), np.float32)
            tables[name][block.rows, block.columns] = part
    frames = {
        name: pd.DataFrame(
            table, index=_axis(starts.index, "origin"), columns=_axis(ends.index, "destination"), copy=False
        )
        for name, table in tables.items()
    }
    if len(frames) == 1:
        return next(iter(frames.values()))
    return pd.concat(frames, axis=1, names=["property"])
