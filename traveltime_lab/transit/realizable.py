"""
Travel times of passengers who follow a planned journey on a day on which vehicles do not run as planned.

The planned journey is the fastest one by the planned timetable. On the day, the passenger leaves at the planned moment
and takes the planned ways on streets. At each planned stop, the passenger takes the next vehicle of the same line, a
route of GTFS, that calls at the planned stop where the ride ends: of those that depart at or after the moment at which
the passenger is ready, the one that arrives there first. That is the first one that departs, unless another one
overtakes it. Planned journeys all the way on foot take as long as planned.

A planned call that the day has at another stop of the same station, as when the platform changes, counts as one at its
planned stop, and the way between the two takes no time. The calls of vehicles that are not planned, or make fewer or
more calls than planned, count at all stops of the station.

This is the realizable accessibility of [1]_, in which passengers have the timetable, but no delays in advance. There
the fastest trip by the times that vehicles had is the *retrospective* one, as in [2]_: that of passengers with perfect
information.

References
----------
.. [1] Liu, Porr, Miller. "Realizable accessibility: evaluating the reliability of public transit accessibility using
   high-resolution real-time data". Journal of Geographical Systems 25, 2023 (online 2022).
   https://doi.org/10.1007/s10109-022-00382-w
.. [2] Wessel, Farber. "On the accuracy of schedule-based GTFS for measuring accessibility". Journal of Transport and
   Land Use 12(1), 2019. https://doi.org/10.5198/jtlu.2019.1502
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from traveltime_lab._arrays import AnyArray, BoolArray, IndexArray, Int8Array, Int32Array, Int64Array, UInt64Array
from traveltime_lab.kernels.records import StopLinks
from traveltime_lab.kernels.transit import next_vehicle
from traveltime_lab.kernels.transit.journeys import Searches
from traveltime_lab.kernels.transit.next_vehicle import ANY_CALLS, ANY_VEHICLE, ARRIVED, ITS_STOPS, Platforms
from traveltime_lab.kernels.unreached import NEVER, UNREACHED
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.threads import map_ahead
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.layer import GraphKey
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.snapping import Snaps
from traveltime_lab.transit.lengths import in_parts
from traveltime_lab.transit.query import TransitQuery
from traveltime_lab.transit.raptor import TransitSearch
from traveltime_lab.transit.stop_reach import array
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.travel_times import direct_labels
from traveltime_lab.transit.trip_table import TripTable

#: How a journey that follows a plan ends; the first three are those of the kernel.
NO_PLAN: Final = 3
#: Longest interval between departures that have one trip table.
_LONGEST_S: Final = 7200
#: Dates as ordinals are less than this number.
_DATES: Final = 4_000_000


class Followed(NamedTuple):
    """
    Planned journeys of pairs at several moments, and what became of them on a day.

    Attributes
    ----------
    planned, realizable : int32 arrays of shape (n_moments, n_pairs), ms
        Travel times, `NEVER` beyond the limit.
    transfers, missed : int8 arrays of shape (n_moments, n_pairs)
        Planned transfers between vehicles, and those at which the passenger does not catch the planned vehicle.
    is_possible : bool array of shape (n_moments, n_pairs)
        Whether all planned vehicles can be caught. True for planned walks, False without a plan.
    end : int8 array of shape (n_moments, n_pairs)
        `ARRIVED`, `TOO_LATE`, `NO_VEHICLE` or `NO_PLAN`.
    """

    planned: Int32Array
    realizable: Int32Array
    transfers: Int8Array
    missed: Int8Array
    is_possible: BoolArray
    end: Int8Array


def feed_numbers(planned: Timetable, other: Timetable) -> IndexArray | None:
    """
    Return the number that each feed of another timetable has in the planned one, or one that no feed has there.

    Feeds are matched by name, whatever the order; names do not matter if both timetables have one feed, or the same
    names in the same order. None if feeds have been renamed, or several have one name.
    """
    mine, theirs = ([str(name) for name in each.feeds["name"]] for each in (planned, other))
    if mine == theirs or len(mine) == len(theirs) == 1:
        return np.arange(len(theirs))
    is_renamed = not ({*mine} <= {*theirs} or {*theirs} <= {*mine})
    if is_renamed or len({*mine}) < len(mine) or len({*theirs}) < len(theirs):
        return None
    return np.array([mine.index(name) if name in mine else len(mine) + k for k, name in enumerate(theirs)])


class Names:
    """
    Stops, routes and trips of a planned timetable by their ids, with which those of other timetables are found.

    Feeds of other timetables are those of `feed_numbers`.

    Parameters
    ----------
    timetable : Timetable
    """

    def __init__(self, timetable: Timetable) -> None:
        self.timetable = timetable
        #: Number of the id of each trip.
        self.trip_code, self._trip_ids = pd.factorize(_keys(timetable, "trips", "trip_id"))
        self._last: tuple[Timetable, IndexArray] = timetable, np.asarray(self.trip_code)

    def trips_of(self, other: Timetable) -> IndexArray:
        """Return the number of the id of each trip of another timetable, -1 for those that are not planned."""
        last, codes = self._last
        if last is not other:
            codes = self._codes_of(other)
            self._last = other, codes
        return codes

    def _codes_of(self, other: Timetable) -> IndexArray:
        mine, theirs = self.timetable.trips["trip_id"].to_numpy(), other.trips["trip_id"].to_numpy()
        n, feeds = len(mine), feed_numbers(self.timetable, other)
        known = pd.Index(self._trip_ids)
        if len(theirs) >= n and np.array_equal(mine, theirs[:n]) and other.routes is self.timetable.routes:
            # Updates are appended.
            added = known.get_indexer(pd.Index(_keys(other, "trips", "trip_id", feeds, n)))
            return np.concatenate([self.trip_code, added])
        found: IndexArray = known.get_indexer(pd.Index(_keys(other, "trips", "trip_id", feeds)))
        return found

    def rows_in(self, other: Timetable, table: str, column: str) -> Int32Array | None:
        """Return the rows of another timetable of each row of a table, -1 for none; None if they are the same."""
        if getattr(other, table) is getattr(self.timetable, table):
            return None
        feeds = feed_numbers(self.timetable, other)
        mine, theirs = _keys(self.timetable, table, column), _keys(other, table, column, feeds)
        if np.array_equal(mine, theirs[: mine.size]):
            return None
        _, first = np.unique(theirs, return_index=True)
        found = pd.Index(theirs[first]).get_indexer(pd.Index(mine))
        return np.where(found >= 0, first[found], -1).astype(np.int32)


def _keys(
    timetable: Timetable, table: str, column: str, feeds: IndexArray | None = None, begin: int = 0
) -> UInt64Array:
    """Return a hash of the feed, by its number in `feeds`, and the id of each row of a table from some row on."""
    rows = getattr(timetable, table).iloc[begin:]
    feed = timetable.hot.trip_feed[begin:] if table == "trips" else rows["feed_idx"].to_numpy()
    ids = pd.util.hash_array(rows[column].to_numpy(object), categorize=False)
    if feeds is not None:
        feed = feeds[feed]
    keys: UInt64Array = ids ^ pd.util.hash_array(feed.astype(np.int64) + 1)
    return keys


@dataclass(frozen=True)
class _Day:
    """
    Trip instances of a day in which journeys are followed.

    Attributes
    ----------
    search : TransitSearch
    run_line : int32 array of shape (n_runs,)
        Route of each trip instance.
    run_of : int32 array of shape (n_planned_runs,)
        Trip instance of each one of the planned table, see `next_vehicle.PlannedRides`.
    platforms : Platforms
    stop_of, line_of : int32 arrays, optional
        Stops and routes by those of the planned timetable, if they differ.
    """

    search: TransitSearch
    run_line: Int32Array
    run_of: Int32Array
    platforms: Platforms
    stop_of: Int32Array | None
    line_of: Int32Array | None

    @classmethod
    def of(cls, names: Names, planned: TripTable, timetable: Timetable, search: TransitSearch) -> _Day:
        """Find the planned trip instances in those of a day."""
        table, hot = search.table, timetable.hot
        run_of = np.full(planned.instance_trip.size, -1, np.int32)
        mine = _run_keys(names.trip_code, planned)
        theirs = _run_keys(names.trips_of(timetable), table)
        theirs[hot.is_repeated[table.instance_trip]] = -1
        order = np.argsort(theirs, kind="stable")
        at = np.searchsorted(theirs[order], mine)
        is_there = at < order.size
        is_there[is_there] = theirs[order[at[is_there]]] == mine[is_there]
        run_of[is_there] = order[at[is_there]]
        stop_of = names.rows_in(timetable, "stops", "stop_id")
        first = _planned_calls(planned, table, run_of)
        first[hot.is_repeated[table.instance_trip]] = ITS_STOPS
        run_of[names.timetable.hot.is_repeated[planned.instance_trip]] = ANY_VEHICLE
        return cls(
            search,
            array(hot.trip_route[table.instance_trip], np.int32),
            run_of,
            Platforms(*_stations(timetable), first, array(_mapped(planned.pattern_stops, stop_of), np.int32)),
            stop_of,
            names.rows_in(timetable, "routes", "route_id"),
        )


def _planned_calls(planned: TripTable, table: TripTable, run_of: Int32Array) -> Int64Array:
    """Return where the stops of the planned calls of each trip instance begin, `ANY_CALLS` if it makes other calls."""
    sizes = [np.diff(each.pattern_indptr)[_patterns(each)] for each in (planned, table)]
    first = np.full(table.instance_trip.size, ANY_CALLS, np.int64)
    mine = np.flatnonzero(run_of >= 0)
    mine = mine[sizes[0][mine] == sizes[1][run_of[mine]]]
    first[run_of[mine]] = planned.pattern_indptr[_patterns(planned)[mine]]
    return first


def _patterns(table: TripTable) -> IndexArray:
    """Return the pattern of each trip instance."""
    return np.repeat(np.arange(table.instance_indptr.size - 1), np.diff(table.instance_indptr))


def _stations(timetable: Timetable) -> tuple[Int32Array, Int32Array]:
    """Return for each stop another one of its station, in a circle, and the stop without a parent above it."""
    parent = timetable.stops["parent_idx"].to_numpy()
    station = np.arange(parent.size, dtype=np.int32)
    # Boarding areas have platforms, and these a station. A feed may have stops that are their own parents.
    for _ in range(2):
        above = parent[station]
        station = np.where(above >= 0, above, station).astype(np.int32)
    order = np.argsort(station, kind="stable").astype(np.int32)
    following = np.empty_like(station)
    begins = np.flatnonzero(np.diff(station[order], prepend=-1))
    after = np.arange(1, order.size + 1)
    after[np.append(begins[1:], order.size) - 1] = begins
    following[order] = order[after]
    return following, station


def _run_keys(codes: AnyArray, table: TripTable) -> Int64Array:
    """Return a number for the trip and the service date of each trip instance, -1 for trips without a number."""
    code = codes[table.instance_trip].astype(np.int64)
    return np.where(code < 0, -1, code * _DATES + table.instance_date)


def followed(
    planned: TransitQuery,
    day: TransitQuery,
    pairs: Pairs,
    moments: Sequence[dt.datetime],
    names: Names,
    advance: Callable[[int], object],
) -> Followed:
    """
    Plan journeys, and follow them on a day.

    Parameters
    ----------
    planned, day : TransitQuery
        The same question to the planned timetable and to that of the day.
    pairs : Pairs
        Snapped to the streets of the planned query.
    moments : sequence of datetime
        Departures, ascending.
    names : Names
        Those of the planned timetable.
    advance : callable
        Is called with the number of pairs of each search.
    """
    walked = direct_labels(planned, pairs)
    walk_ms = np.where(walked == UNREACHED, NEVER, label_parts.ms(walked)).astype(np.int32)
    return _followed(planned, day, pairs, planned.links(pairs.ends, is_origin=False), walk_ms, moments, names, advance)


def followed_to_stops(
    planned: TransitQuery,
    day: TransitQuery,
    starts: Snaps,
    stops: IndexArray,
    moments: Sequence[dt.datetime],
    names: Names,
) -> Followed:
    """
    Plan journeys to stops, and follow them on a day; see `followed`.

    Parameters
    ----------
    planned, day, moments, names
        As in `followed`.
    starts : Snaps
    stops : intp array of shape (n_stops,)
        Stops of the planned timetable where journeys end. Walks all the way are left out.

    Returns
    -------
    Followed
        With all pairs of starts and stops.
    """
    far = StopLinks(np.arange(stops.size + 1), stops.astype(np.int32), np.zeros(stops.size, np.int32))
    pairs = Pairs(starts, planned.stops.side(is_leaving=True).snaps.take(stops))
    no_walks = np.full(len(pairs), NEVER, np.int32)
    return _followed(planned, day, pairs, far, no_walks, moments, names, lambda _: None)


def _followed(
    planned: TransitQuery,
    day: TransitQuery,
    pairs: Pairs,
    far: StopLinks,
    walk_ms: Int32Array,
    moments: Sequence[dt.datetime],
    names: Names,
    advance: Callable[[int], object],
) -> Followed:
    """Do what `followed` does, given the links of the destinations and the walks all the way."""
    shape = len(moments), len(pairs)
    found = Followed(
        np.tile(walk_ms, (shape[0], 1)),
        np.tile(walk_ms, (shape[0], 1)),
        np.zeros(shape, np.int8),
        np.zeros(shape, np.int8),
        np.tile(walk_ms < NEVER, (shape[0], 1)),
        np.tile(np.where(walk_ms < NEVER, ARRIVED, NO_PLAN).astype(np.int8), (shape[0], 1)),
    )
    order = np.argsort(pairs.origin_of, kind="stable")
    rows_of = [rows for rows in np.split(order, np.flatnonzero(np.diff(pairs.origin_of[order])) + 1) if rows.size]
    near: dict[GraphKey | None, StopLinks] = {}
    for group in grouped(planned, moments):
        some = [moments[i] for i in group]
        there, then = planned.asking(moment=some[0]), day.asking(moment=some[0])
        key = there.access_key
        if key not in near:
            near[key] = there.links(pairs.starts, is_origin=True)
        search = there.search(some)
        today = _Day.of(names, search.table, day.layer.timetable, then.search(some))
        plan = _Planning(there, search, near[key], far, pairs, walk_ms)
        searches = [np.array([i, k]) for i in group for k in range(len(rows_of))]

        def work(
            part: Sequence[IndexArray],
            plan: _Planning = plan,
            today: _Day = today,
            first: dt.datetime = some[0],
        ) -> int:
            later = [round((moments[int(i)].timestamp() - first.timestamp()) * 1000) for i, _ in part]
            plan.follow(part, later, [rows_of[int(k)] for _, k in part], today, found)
            return sum(rows_of[int(k)].size for _, k in part)

        for done in map_ahead(work, in_parts(searches)):
            checkpoint()
            advance(done)
    return found


def grouped(query: TransitQuery, moments: Sequence[dt.datetime]) -> Iterator[list[int]]:
    """Yield the positions of moments that have a trip table and the ways to the first stop in common."""
    group: list[int] = []
    for i, moment in enumerate(moments):
        here = query.asking(moment=moment)
        if group:
            first = query.asking(moment=moments[group[0]])
            if moment.timestamp() - first.moment.timestamp() > _LONGEST_S or here.access_key != first.access_key:
                yield group
                group = []
        group.append(i)
    yield group


@dataclass(frozen=True)
class _Planning:
    """The planned journeys of pairs at the moments of one trip table."""

    query: TransitQuery
    search: TransitSearch
    near: StopLinks
    far: StopLinks
    pairs: Pairs
    walk_ms: Int32Array

    @functools.cached_property
    def _near_ms(self) -> tuple[Int64Array, Int32Array]:
        """The links of the origins as sorted numbers of point and stop, and their times."""
        points = np.repeat(np.arange(self.near.n_points), np.diff(self.near.indptr))
        keys = points * self.search.table.n_stops + self.near.stops
        order = np.argsort(keys, kind="stable")
        return keys[order], self.near.ms[order]

    def follow(
        self,
        part: Sequence[IndexArray],
        later_ms: Sequence[int],
        rows_of: Sequence[IndexArray],
        today: _Day,
        found: Followed,
    ) -> None:
        """
        Search from some origins at some moments, and follow the journeys on a day.

        Parameters
        ----------
        part : sequence of int arrays of shape (2,)
            Position of the moment first.
        later_ms : sequence of int
            Milliseconds between the first moment of the table and that of each search.
        rows_of : sequence of intp arrays
            Pairs of each search, all with one origin.
        today : _Day
        found : Followed
            Filled.
        """
        query, pairs, options = self.query, self.pairs, self.query.options
        rows = np.concatenate(rows_of)
        sizes = np.array([each.size for each in rows_of])
        moment_of = np.repeat([int(i) for i, _ in part], sizes)
        points = pairs.origin_of[[each[0] for each in rows_of]]
        later = np.array(later_ms, np.int64)
        searches = Searches(
            points=points,
            starts=query.at(self.search) + later,
            limits=np.full(points.size, options.travel_limit, np.int32),
            indptr=np.concatenate([[0], np.cumsum(sizes)]),
            targets=pairs.destination_of[rows],
            bounds=self.walk_ms[rows],
        )
        links_at, ms, forest = self.search.fastest(self.near, self.far, searches, options)
        ridden = np.flatnonzero(forest.last >= 0)
        if not ridden.size:
            return
        indptr, legs = forest.in_order()
        lead = forest.change.astype(np.int64) + options.change_delay
        first = np.flatnonzero(forest.before < 0)
        keys, near_ms = self._near_ms
        starts_at = points[forest.search_of[first]] * self.search.table.n_stops + forest.rides.board_stop[first]
        lead[first] = near_ms[np.searchsorted(keys, starts_at)]
        rides, table = forest.rides, self.search.table
        route = query.layer.timetable.hot.trip_route[table.instance_trip[rides.board_run]]
        planned = next_vehicle.PlannedRides(
            array(np.concatenate([indptr[ridden], indptr[-1:]]), np.int64),
            array(lead[legs], np.int32),
            array(_mapped(rides.board_stop, today.stop_of)[legs], np.int32),
            array(_mapped(rides.alight_stop, today.stop_of)[legs], np.int32),
            array(_mapped(route, today.line_of)[legs], np.int32),
            array(today.run_of[rides.board_run][legs], np.int32),
        )
        then = query.moment.timestamp() * 1000 - today.search.table.reference * 1000
        start = round(then) + np.repeat(later, sizes)[ridden]
        egress_ms = self.far.ms[links_at[ridden]].astype(np.int64)
        arrival, missed = np.empty((2, ridden.size), np.int32)
        is_first_missed, end = np.empty(ridden.size, np.bool_), np.empty(ridden.size, np.int8)
        next_vehicle.follow(
            today.search.lines(is_arrival=False), today.platforms, today.run_line, planned, array(start, np.int32),
            array(start + options.travel_limit - egress_ms, np.int32), arrival, missed, is_first_missed, end,
        )  # fmt: skip
        at = moment_of[ridden], rows[ridden]
        found.planned[at] = ms[ridden]
        found.realizable[at] = np.where(arrival < NEVER, arrival - start + egress_ms, NEVER)
        n_rides = np.diff(indptr)[ridden]
        found.transfers[at] = np.minimum(n_rides - 1, 127)
        found.missed[at] = np.minimum(missed, 127)
        found.is_possible[at] = (missed == 0) & ~is_first_missed
        found.end[at] = end


def _mapped(values: AnyArray, to: Int32Array | None) -> AnyArray:
    """Return the values of another timetable."""
    return values if to is None else to[values]
