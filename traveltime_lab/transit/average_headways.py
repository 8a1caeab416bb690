"""
Search with services by headway of which each boarding waits half a headway on average.

A `HeadwayTable` holds the rows of frequencies.txt with ``exact_times=0`` of the service dates in question, beside a
trip table without them. `AverageSearch` searches both, and reconstructs journeys: the boardings that a search tried are
added to the trip table as trip instances of their own, which begin (in arrival searches end) with the wait.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from traveltime_lab._arrays import AnyArray, BoolArray, Int32Array, Int64Array, chosen_rows, within_rows
from traveltime_lab.kernels.records import StopLinks
from traveltime_lab.kernels.transit import average_headways as kernels
from traveltime_lab.kernels.transit import range_raptor, reconstruct, ride_lines, search_state
from traveltime_lab.kernels.transit.average_headways import HeadwayLines
from traveltime_lab.kernels.transit.journeys import Searches
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.transit.headway_draws import spread_of
from traveltime_lab.transit.legs import LegForest, Rounds, forest_of
from traveltime_lab.transit.raptor import TransitSearch, parts_of, seeds_of
from traveltime_lab.transit.search_options import TransitOptions, falling, turned
from traveltime_lab.transit.stop_reach import array
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.trip_instances import active_rows, may_call, usable_trips
from traveltime_lab.transit.trip_table import TripTable
from traveltime_lab.transit.wheelchair import Ridden


@dataclass(frozen=True)
class HeadwayTable:
    """
    Headway lines: rows of frequencies.txt on service dates, with times in milliseconds after a reference moment.

    Attributes
    ----------
    lines : HeadwayLines
    trip, date : int32 arrays of shape (n_lines,)
        trip_idx, and service date as proleptic ordinal.
    headway : int32 array of shape (n_lines,), s
    """

    lines: HeadwayLines
    trip: Int32Array
    date: Int32Array
    headway: Int32Array


def headway_table(
    timetable: Timetable, begin: int, end: int, *, is_used: BoolArray | None = None, ridden: Ridden | None = None
) -> HeadwayTable:
    """
    Return the headway lines that run at some moment of an interval; see `traveltime_lab.transit.trip_instances`.

    Parameters
    ----------
    timetable : Timetable
    begin, end : int
        Interval ``[begin, end)`` in POSIX seconds; times of the result count from `begin`.
    is_used : bool array of shape (n_routes,), optional
        Routes to use. Default: all.
    ridden : Ridden, optional
        Trips and stops for travellers without steps. Default: all.
    """
    rows, date, shift = active_rows(timetable, begin, end, usable_trips(timetable, is_used, ridden))
    trip = timetable.frequency_trip[rows]
    pattern = timetable.hot.trip_pattern[trip]
    indptr, at = chosen_rows(timetable.pattern_indptr, pattern)
    _, calls = chosen_rows(timetable.trip_indptr, trip)
    origin = np.repeat(timetable.hot.first_departure[trip], np.diff(indptr))
    begins = timetable.frequency_start[rows].astype(np.int64) + shift
    ends = timetable.frequency_end[rows].astype(np.int64) + shift
    stops = timetable.pattern_stop[at]
    can_board = may_call(timetable.pattern_pickup[at], stops, ridden)
    lines = HeadwayLines(
        indptr,
        array(stops, np.int32),
        can_board,
        may_call(timetable.pattern_drop_off[at], stops, ridden),
        ((timetable.arrival[calls] - origin) * np.int32(1000)).astype(np.int32),
        ((timetable.departure[calls] - origin) * np.int32(1000)).astype(np.int32),
        (begins * 1000).astype(np.int32),
        (ends * 1000).astype(np.int32),
        (spread_of(timetable, rows) * 500).astype(np.int32),
        *_boardings(indptr, stops, can_board, timetable.n_stops),
    )
    return HeadwayTable(lines, trip, date, timetable.frequency_headway[rows])


def _boardings(
    indptr: Int64Array, stops: Int32Array, can_board: BoolArray, n_stops: int
) -> tuple[Int64Array, Int32Array, Int32Array]:
    """Return the CSR of the lines and positions that can be boarded at each stop, without last positions."""
    line = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    is_boarded = can_board.copy()
    is_boarded[indptr[1:] - 1] = False
    found = np.flatnonzero(is_boarded)
    order = found[np.argsort(stops[found], kind="stable")]
    begins = np.searchsorted(stops[order], np.arange(n_stops + 1)).astype(np.int64)
    return begins, line[order].astype(np.int32), order.astype(np.int32)


def mirrored(lines: HeadwayLines) -> HeadwayLines:
    """Return headway lines with time reversed; see `traveltime_lab.kernels.transit.patterns.mirrored`."""
    sizes = np.diff(lines.indptr)
    turned = np.repeat(lines.indptr[1:] - 1, sizes) - within_rows(sizes)
    end = lines.arrival[lines.indptr[1:] - 1]
    ends = np.repeat(end, sizes)
    stops, can_board = lines.stops[turned], lines.can_alight[turned]
    return HeadwayLines(
        lines.indptr,
        stops,
        can_board,
        lines.can_board[turned],
        (ends - lines.departure[turned]).astype(np.int32),
        (ends - lines.arrival[turned]).astype(np.int32),
        (-lines.last - end).astype(np.int32),
        (-lines.first - end).astype(np.int32),
        lines.wait,
        *_boardings(lines.indptr, stops, can_board, lines.stop_indptr.size - 1),
    )


class Waits(NamedTuple):
    """
    Which trip instances of a table run by headway.

    Attributes
    ----------
    ms : int32 array of shape (n_runs,), ms
        Wait that the times of a trip instance contain: before the vehicle leaves the stop of boarding, or in arrival
        searches after it arrives at the stop of alighting; 0 for trips with times.
    headway : int32 array of shape (n_runs,), s
        0 for trips with times.
    is_arrival : bool
    """

    ms: Int32Array
    headway: Int32Array
    is_arrival: bool


@dataclass
class AverageSearch:
    """
    A trip table and a headway table, prepared for searches in both directions of time.

    Parameters
    ----------
    scheduled : TransitSearch
        With times in milliseconds.
    headways : HeadwayTable
    """

    scheduled: TransitSearch
    headways: HeadwayTable
    _lines: dict[bool, HeadwayLines] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._lines = {False: self.headways.lines}

    @property
    def table(self) -> TripTable:
        """The trip instances with times."""
        return self.scheduled.table

    def lines(self, is_arrival: bool) -> HeadwayLines:
        """Return the headway lines of a direction of search."""
        if is_arrival not in self._lines:
            self._lines[is_arrival] = mirrored(self._lines[False])
        return self._lines[is_arrival]

    def stop_times_by_moment(
        self,
        access: tuple[Int32Array, Int32Array],
        moments: npt.ArrayLike,
        options: TransitOptions,
        *,
        is_arrival: bool = False,
    ) -> Int32Array:
        """Return travel times between one point and all stops for each of many moments; see `TransitSearch`."""
        lines, heads = self.scheduled.lines(is_arrival), self.lines(is_arrival)
        starts, order = falling(moments, is_arrival)
        state = range_raptor.window_state(lines, options.max_rides)
        found = np.empty((starts.size, self.table.n_stops), np.int32)
        seeds = seeds_of(access)
        search_state.reset(state)
        for some, rows in zip(parts_of(starts), parts_of(found), strict=True):
            kernels.average_stops(lines, heads, state, seeds, some, options.limits, rows)
        out = np.empty_like(found)
        out[order] = found
        return out

    def rounds(
        self,
        access: tuple[Int32Array, Int32Array],
        moment: int,
        options: TransitOptions,
        *,
        is_arrival: bool = False,
    ) -> tuple[Rounds, Waits]:
        """Search from one point, and keep what reconstructs journeys; see `TransitSearch.rounds`."""
        lines, heads = self.scheduled.lines(is_arrival), self.lines(is_arrival)
        (start,), _ = falling([moment], is_arrival)
        state = search_state.new_state(lines, 1)
        best, ready, tried = kernels.average_rounds(lines, heads, state, seeds_of(access), int(start), options.limits)
        table, waits = self._with_boardings(np.unique(tried, axis=1), is_arrival=is_arrival)
        search = TransitSearch(table)
        there, back = search.lines(is_arrival), search.lines(not is_arrival)
        return Rounds(table, there, back, best, ready, int(start), options.change_delay, is_arrival), waits

    def fastest(
        self, near: StopLinks, far: StopLinks, searches: Searches, options: TransitOptions, *, is_arrival: bool = False
    ) -> tuple[Int64Array, Int32Array, LegForest]:
        """Return the fastest journeys between points and targets, with their legs; see `TransitSearch.fastest`."""
        lines, heads = self.scheduled.lines(is_arrival), self.lines(is_arrival)
        starts = turned(np.asarray(searches.starts, np.int64), is_arrival)
        found = []
        for point, start, limit in zip(
            searches.points.tolist(), starts.tolist(), searches.limits.tolist(), strict=True
        ):
            checkpoint()
            state, limits = search_state.new_state(lines, 1), options.limits._replace(travel_time=limit)
            found.append(kernels.average_rounds(lines, heads, state, seeds_of(near.of(point)), start, limits))
        tried = np.concatenate([np.empty((3, 0), np.int32), *(each[2] for each in found)], axis=1)
        table, _ = self._with_boardings(np.unique(tried, axis=1), is_arrival=is_arrival)
        search = TransitSearch(table)
        both = search.lines(is_arrival), search.lines(not is_arrival)
        far = StopLinks(array(far.indptr, np.int64), array(far.stops, np.int32), array(far.ms, np.int32))
        links, times = np.full(searches.targets.size, -1, np.int64), np.full(searches.targets.size, NEVER, np.int32)
        last, legs, first = np.full(searches.targets.size, -1, np.int32), [np.empty((8, 0), np.int32)], [0]
        for i, (best, ready, _) in enumerate(found):
            here = slice(int(searches.indptr[i]), int(searches.indptr[i + 1]))
            at = ride_lines.best_links(far, best[-1])[searches.targets[here]]
            reached = np.flatnonzero(at >= 0)
            ms = np.full(at.size, NEVER, np.int64)
            ms[reached] = best[-1][far.stops[at[reached]]].astype(np.int64) - starts[i] + far.ms[at[reached]]
            ms[ms > searches.limits[i]] = NEVER
            within = np.flatnonzero(ms < np.minimum(searches.bounds[here], NEVER))
            stops = np.full(at.size, -1, np.int32)
            stops[within] = far.stops[at[within]]
            ends, its = reconstruct.trace(*both, best, ready, options.change_delay, stops)
            links[here], times[here] = at, ms
            last[here] = np.where(ends >= 0, ends + first[-1], -1)
            its[7] = np.where(its[7] >= 0, its[7] + first[-1], -1)
            legs.append(its)
            first.append(first[-1] + its.shape[1])
        traced = last, np.concatenate(legs, axis=1), np.array(first, np.int64)
        return links, times, forest_of(table, traced, search.lines(is_arrival=False).run_pattern, is_arrival=is_arrival)

    def _with_boardings(self, tried: Int32Array, *, is_arrival: bool) -> tuple[TripTable, Waits]:
        """
        Return the trip table with a trip instance for each boarding of a headway line, as a pattern of its own.

        It can be boarded at this position only, from the moment at which the wait begins. In arrival searches one can
        alight there only, at the moment at which the wait ends.
        """
        table, lines = self.table, self.headways.lines
        line, at, base = (row.astype(np.int64) for row in tried)
        position = at - lines.indptr[line]
        sizes = np.diff(lines.indptr)[line]
        if is_arrival:
            position = sizes - 1 - position
            base = -base - lines.arrival[lines.indptr[line + 1] - 1]
        indptr, calls = chosen_rows(lines.indptr, line)
        here = within_rows(sizes) - np.repeat(position, sizes)
        wait = np.repeat(lines.wait[line], sizes)
        arrival, departure = (np.repeat(base, sizes) + times[calls] for times in (lines.arrival, lines.departure))
        if is_arrival:
            arrival, departure = arrival + np.where(here >= 0, wait, 0), departure + np.where(here >= 0, wait, 0)
            can_board, can_alight = lines.can_board[calls] & (here < 0), here == 0
        else:
            arrival, departure = arrival - np.where(here <= 0, wait, 0), departure - np.where(here <= 0, wait, 0)
            can_board, can_alight = here == 0, lines.can_alight[calls] & (here > 0)

        def after(indptr_before: Int64Array, more: Int64Array) -> Int64Array:
            return np.concatenate([indptr_before, indptr_before[-1] + more[1:]])

        def joined(name: str, more: AnyArray) -> Any:
            mine = getattr(table, name)
            return np.concatenate([mine, more.astype(mine.dtype)])

        n_runs = table.instance_trip.size
        found = replace(
            table,
            pattern_indptr=after(table.pattern_indptr, indptr),
            pattern_stops=joined("pattern_stops", lines.stops[calls]),
            can_board=joined("can_board", can_board),
            can_alight=joined("can_alight", can_alight),
            instance_indptr=after(table.instance_indptr, np.arange(line.size + 1)),
            time_indptr=after(table.time_indptr, indptr),
            arrival=joined("arrival", arrival),
            departure=joined("departure", departure),
            instance_trip=joined("instance_trip", self.headways.trip[line]),
            instance_date=joined("instance_date", self.headways.date[line]),
            stay_instance=joined("stay_instance", np.full(line.size, -1)),
        )
        none = np.zeros(n_runs, np.int32)
        ms, headway = (np.concatenate([none, each[line]]) for each in (lines.wait, self.headways.headway))
        return found, Waits(ms.astype(np.int32), headway.astype(np.int32), is_arrival)
