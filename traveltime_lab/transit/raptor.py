"""
Search a `TripTable` with RAPTOR: travel times at a moment or over a window, and the transit legs of itineraries.

`TransitSearch` works with stops only. Points are linked to stops by `StopLinks`, the times between points and stops.
Searches run in both directions of time: forwards from a departure at the points, or backwards from an arrival at them
(``is_arrival=True``), with links *from* the stops to the points.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from traveltime_lab._arrays import Int32Array, Int64Array
from traveltime_lab.errors import DataError, InputError, LimitError
from traveltime_lab.kernels.records import StopLinks
from traveltime_lab.kernels.transit import journeys as journey_kernels
from traveltime_lab.kernels.transit import patterns as line_kernels
from traveltime_lab.kernels.transit import range_raptor, raptor, search_state
from traveltime_lab.kernels.transit.access import gather, many_to_stops
from traveltime_lab.kernels.transit.journeys import Searches
from traveltime_lab.kernels.transit.patterns import Lines
from traveltime_lab.kernels.transit.range_raptor import Seeds
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.transit import lanes
from traveltime_lab.transit.legs import Itineraries, LegForest, Rounds, forest_of, leg_forest
from traveltime_lab.transit.search_options import TransitOptions, falling, turned
from traveltime_lab.transit.stop_reach import StopReach, array
from traveltime_lab.transit.trip_table import TripTable

#: Departures of a window that are searched between two checks for a cancellation.
_STARTS_AT_ONCE: Final = 64
#: Faults that `kernels.transit.patterns.first_fault` finds.
_FAULTS: Final = {
    1: "trip instance {1} of pattern {0} departs before it arrives, at position {2}",
    2: "trip instance {1} of pattern {0} arrives before it departed from the previous stop, at position {2}",
    3: "trip instance {1} of pattern {0} overtakes the previous one, at position {2}; they need different patterns",
    4: "trip instance {1} of pattern {0} continues as one that departs before it arrives",
    5: "a footpath from stop {0} has a negative duration",
    6: "the minimum transfer time at stop {0} is negative",
}


@dataclass
class TransitSearch:
    """
    A trip table prepared for searches in both directions of time.

    Parameters
    ----------
    table : TripTable
        It is not modified.

    Raises
    ------
    DataError
        If times of a trip decrease, trip instances overtake each other, or a footpath or minimum transfer time is
        negative.

    Notes
    -----
    Times are int32 in the unit of the table, seconds or milliseconds, with
    `NEVER` where there is no journey. Moments count from the reference of
    the table. Methods are thread-safe and release the global interpreter lock.
    """

    table: TripTable
    _lines: dict[bool, Lines] = field(default_factory=dict, init=False, repr=False)
    #: Working arrays of `rounds` in each direction that no thread uses: at most as many as have searched at once.
    _idle: dict[bool, deque[search_state.State]] = field(init=False, repr=False)
    _in_lanes: dict[bool, lanes.LaneSearch] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        t = self.table
        patterns = line_kernels.Patterns(
            indptr=array(t.pattern_indptr, np.int64),
            stops=array(t.pattern_stops, np.int32),
            can_board=array(t.can_board, np.bool_),
            can_alight=array(t.can_alight, np.bool_),
        )
        instances = line_kernels.Instances(
            indptr=array(t.instance_indptr, np.int64),
            time_indptr=array(t.time_indptr, np.int64),
            arrival=array(t.arrival, np.int32),
            departure=array(t.departure, np.int32),
            stay=array(t.stay_instance, np.int32),
        )
        footpaths = line_kernels.Footpaths(
            indptr=array(t.transfer_indptr, np.int64),
            stops=array(t.transfer_stop, np.int32),
            times=array(t.transfer_time, np.int32),
        )
        forward = line_kernels.forward_lines(patterns, instances, footpaths, array(t.change_time, np.int32))
        kind, *place = line_kernels.first_fault(forward)
        if kind:
            raise DataError(_FAULTS[kind].format(*place))
        self._lines[False] = forward
        self._idle = {False: deque(), True: deque()}

    def lines(self, is_arrival: bool) -> Lines:
        """Return the lines of a direction of search; mirrored lines are built at the first call."""
        if is_arrival not in self._lines:
            self._lines[is_arrival] = line_kernels.mirrored(self._lines[False])
        return self._lines[is_arrival]

    def _lanes(self, is_arrival: bool) -> lanes.LaneSearch:
        """Return the searches in groups of a direction."""
        if is_arrival not in self._in_lanes:
            self._in_lanes[is_arrival] = lanes.LaneSearch(self.lines(is_arrival))
        return self._in_lanes[is_arrival]

    def stop_times(
        self, access: StopLinks, moments: npt.ArrayLike, options: TransitOptions, *, is_arrival: bool = False
    ) -> Int32Array:
        """
        Return travel times by transit between points and stops.

        Parameters
        ----------
        access : StopLinks
            Links of the points where the searches start.
        moments : int array of shape (n_points,) or int
            Departures from the points, or arrivals at them.
        options : TransitOptions
        is_arrival : bool, default False

        Returns
        -------
        int32 array of shape (n_points, n_stops)
            Time from the departure at the point to the arrival of a vehicle at the stop; in arrival searches from the
            departure of a vehicle at the stop to the arrival at the point.
        """
        starts = self._starts(access, moments, is_arrival)
        out = np.empty((access.n_points, self.table.n_stops), np.int32)
        write = lanes.to_stops(starts, out)
        if not self._lanes(is_arrival).from_points(access, starts, options.limits, write):
            many_to_stops(self.lines(is_arrival), access, starts, options.limits, out)
        return out

    def target_times(
        self,
        access: StopLinks,
        moments: npt.ArrayLike,
        egress: StopLinks,
        options: TransitOptions,
        *,
        is_arrival: bool = False,
    ) -> Int32Array:
        """
        Return travel times by transit between points and targets; see `stop_times`.

        Parameters
        ----------
        egress : StopLinks
            Links of the targets.

        Returns
        -------
        int32 array of shape (n_points, n_targets)
        """
        starts, limits = self._starts(access, moments, is_arrival), options.limits
        out = np.full((access.n_points, egress.n_points), NEVER, np.int32)
        write = lanes.to_targets(starts, egress, limits.travel_time, out)
        if not self._lanes(is_arrival).from_points(access, starts, limits, write):
            at_stops = np.empty((access.n_points, self.table.n_stops), np.int32)
            many_to_stops(self.lines(is_arrival), access, starts, limits, at_stops)
            for row, times in zip(at_stops, out, strict=True):
                gather(row, 0, limits.travel_time, egress, times)
        return out

    def window_stop_times(
        self,
        access: StopLinks,
        moments: npt.ArrayLike,
        width: int,
        options: TransitOptions,
        *,
        is_arrival: bool = False,
        step: int = 1,
    ) -> Int32Array:
        """
        Return the least travel time to each stop over all departures of a window; see `stop_times`.

        The window begins at the moment, has the length `width`, and has a departure every `step`, including both ends.
        In arrival searches it ends at the moment.
        """
        lines = self.lines(is_arrival)
        starts = self._starts(access, moments, is_arrival)
        state = range_raptor.window_state(lines, options.max_rides)
        out = np.full((access.n_points, self.table.n_stops), NEVER, np.int32)
        for point in range(access.n_points):
            seeds = seeds_of(access.of(point))
            search_state.reset(state)
            for some in parts_of(_events(lines, seeds, starts[point], width, step)):
                range_raptor.window_least(lines, state, seeds, some, options.limits, out[point])
        return out

    def window_best(
        self,
        access: StopLinks,
        moments: npt.ArrayLike,
        width: int,
        egress: StopLinks,
        n_best: int,
        options: TransitOptions,
        *,
        is_arrival: bool = False,
        step: int = 1,
        direct_time: Int32Array | None = None,
    ) -> tuple[Int32Array, Int32Array]:
        """
        Return the shortest journeys of a window between points and targets; see `window_stop_times`.

        Parameters
        ----------
        direct_time : int32 array of shape (n_points, n_targets), optional
            Travel times without transit, such as walking. They are listed as one journey if nothing is faster at some
            departure of the window.

        Returns
        -------
        times : int32 array of shape (n_points, n_targets, n_best)
            Travel times, ascending; `NEVER` where there are fewer journeys. No journey is dominated by one that
            departs no earlier and arrives no later.
        moments : int32 array of shape (n_points, n_targets, n_best)
            Departure from the point, or arrival at it, of each journey.
        """
        lines = self.lines(is_arrival)
        starts = self._starts(access, moments, is_arrival)
        state = range_raptor.window_state(lines, options.max_rides)
        reach = StopReach(egress, self.table.n_stops)
        out = np.full((access.n_points, egress.n_points, n_best), NEVER, np.int32)
        out_start = out.copy()
        direct = _direct(direct_time, out.shape[:2], options)
        for point in range(access.n_points):
            seeds, begin = seeds_of(access.of(point)), int(starts[point])
            progress = range_raptor.new_progress(direct[point], options.travel_limit)
            best = out[point], out_start[point]
            events = _events(lines, seeds, starts[point], width, step)
            search_state.reset(state)
            for some in parts_of(events):
                range_raptor.window_best(
                    lines,
                    state,
                    seeds,
                    some,
                    options.limits,
                    reach.ports,
                    direct[point],
                    int(events[0]),
                    step,
                    progress,
                    *best,
                )
            range_raptor.finish_best(direct[point], options.travel_limit, begin, progress, *best)
        if is_arrival:
            out_start = np.where(out == NEVER, NEVER, -out_start).astype(np.int32)
        return out, out_start

    def window_times(
        self,
        access: tuple[Int32Array, Int32Array],
        moments: npt.ArrayLike,
        egress: StopLinks | StopReach,
        options: TransitOptions,
        *,
        is_arrival: bool = False,
        direct_time: Int32Array | None = None,
    ) -> Int32Array:
        """
        Return travel times between one point and targets for each of many moments; see `stop_times`.

        Parameters
        ----------
        access : pair of int32 arrays of shape (n_links,)
            Stops and times of the point.
        moments : int array of shape (n_moments,)
            Departures (or arrivals) in any order.
        direct_time : int32 array of shape (n_targets,), optional
            Travel times without transit.

        Returns
        -------
        int32 array of shape (n_moments, n_targets)
            Rows in the order of `moments`.
        """
        lines = self.lines(is_arrival)
        starts, order = falling(moments, is_arrival)
        reach = egress if isinstance(egress, StopReach) else StopReach(egress, self.table.n_stops)
        direct, limits = _direct(direct_time, (reach.n_targets,), options), options.limits
        found = np.empty((starts.size, reach.n_targets), np.int32)
        seeds, write = seeds_of(access), lanes.to_targets(starts, reach.links, limits.travel_time, found)
        if self._lanes(is_arrival).at_moments(seeds, starts, limits, write):
            np.minimum(found, direct, out=found)
        else:
            state = range_raptor.window_state(lines, options.max_rides)
            arrival = np.full(reach.n_targets, NEVER, np.int32)
            search_state.reset(state)
            for some, rows in zip(parts_of(starts), parts_of(found), strict=True):
                range_raptor.window_times(lines, state, seeds, some, limits, reach.ports, direct, arrival, rows)
        out = np.empty_like(found)
        out[order] = found
        return out

    def stop_times_by_moment(
        self,
        access: tuple[Int32Array, Int32Array],
        moments: npt.ArrayLike,
        options: TransitOptions,
        *,
        is_arrival: bool = False,
    ) -> Int32Array:
        """
        Return travel times between one point and all stops for each of many moments; see `stop_times`.

        Returns
        -------
        int32 array of shape (n_moments, n_stops)
            Rows in the order of `moments`.
        """
        lines = self.lines(is_arrival)
        starts, order = falling(moments, is_arrival)
        found = np.empty((starts.size, self.table.n_stops), np.int32)
        seeds, write = seeds_of(access), lanes.to_stops(starts, found)
        if not self._lanes(is_arrival).at_moments(seeds, starts, options.limits, write):
            state = range_raptor.window_state(lines, options.max_rides)
            search_state.reset(state)
            for some, rows in zip(parts_of(starts), parts_of(found), strict=True):
                range_raptor.window_stops(lines, state, seeds, some, options.limits, rows)
        out = np.empty_like(found)
        out[order] = found
        return out

    def journeys(
        self,
        access: tuple[Int32Array, Int32Array],
        moment: int,
        stops: npt.ArrayLike,
        options: TransitOptions,
        *,
        is_arrival: bool = False,
    ) -> tuple[Int32Array, Itineraries]:
        """
        Return travel times between one point and some stops, as `stop_times` does, and the transit legs.

        Among equally fast journeys one with the fewest legs is returned.

        Returns
        -------
        times : int32 array of shape (n_targets,)
        journeys : Itineraries
        """
        found = self.rounds(access, moment, options, is_arrival=is_arrival)
        targets = array(stops, np.int32)
        return found.times_at(targets), leg_forest(found, targets).itineraries()

    def rounds(
        self,
        access: tuple[Int32Array, Int32Array],
        moment: int,
        options: TransitOptions,
        *,
        is_arrival: bool = False,
    ) -> Rounds:
        """Search from one point, and keep the state that reconstructs journeys; see `stop_times`."""
        lines, back = self.lines(is_arrival), self.lines(not is_arrival)
        start = int(turned(np.array([moment]), is_arrival)[0])
        with self._state(is_arrival) as state:
            best, ready = raptor.search_rounds(lines, state, seeds_of(access), start, options.limits)
        return Rounds(self.table, lines, back, best, ready, start, options.change_delay, is_arrival)

    def fastest(
        self, near: StopLinks, far: StopLinks, searches: Searches, options: TransitOptions, *, is_arrival: bool = False
    ) -> tuple[Int64Array, Int32Array, LegForest]:
        """
        Return the fastest journeys between points and targets, with their transit legs, of many searches.

        Parameters
        ----------
        near, far : StopLinks
            Links of the points where searches begin, and of the targets.
        searches : Searches
            With moments after the reference of the table, and one limit each instead of that of the options.
        options : TransitOptions
        is_arrival : bool, default False

        Returns
        -------
        links : int64 array of shape (n_targets,)
            Positions in the links of `far`, -1 if no stop is reached.
        times : int32 array of shape (n_targets,)
            Travel times, `NEVER` beyond the limit.
        forest : LegForest
        """
        lines, back = self.lines(is_arrival), self.lines(not is_arrival)
        typed = Searches(
            array(searches.points, np.int64), turned(searches.starts, is_arrival), array(searches.limits, np.int32),
            array(searches.indptr, np.int64), array(searches.targets, np.int64), array(searches.bounds, np.int32),
        )  # fmt: skip
        with self._state(is_arrival) as state:
            links, times, *traced = journey_kernels.fastest_journeys(
                lines, back, state, _typed(near), _typed(far), typed, options.max_rides, options.change_delay
            )
        last, legs, first = traced
        run_pattern = self.lines(is_arrival=False).run_pattern
        return links, times, forest_of(self.table, (last, legs, first), run_pattern, is_arrival=is_arrival)

    @contextlib.contextmanager
    def _state(self, is_arrival: bool) -> Iterator[search_state.State]:
        """Lend working arrays; after an exception they are not used again."""
        idle = self._idle[is_arrival]
        try:
            state = idle.pop()
        except IndexError:
            state = search_state.new_state(self.lines(is_arrival), 1)
        yield state
        idle.append(state)

    def _starts(self, access: StopLinks, moments: npt.ArrayLike, is_arrival: bool) -> Int32Array:
        """Return the departure of each point in the direction of the search; check the stops of the links."""
        if access.stops.size and not 0 <= access.stops.min() <= access.stops.max() < self.table.n_stops:
            msg = (
                f"links refer to stops {access.stops.min()} to {access.stops.max()}; the table has {self.table.n_stops}"
            )
            raise InputError(msg)
        return turned(np.broadcast_to(np.asarray(moments, np.int64), (access.n_points,)), is_arrival)


def seeds_of(access: tuple[Int32Array, Int32Array]) -> Seeds:
    """Return the access stops and times of one point as kernels take them."""
    return Seeds(array(access[0], np.int32), array(access[1], np.int32))


def _typed(links: StopLinks) -> StopLinks:
    """Return links as kernels take them."""
    return StopLinks(array(links.indptr, np.int64), array(links.stops, np.int32), array(links.ms, np.int32))


def _events(lines: Lines, seeds: Seeds, begin: np.int32, width: int, step: int) -> Int32Array:
    """Return the departures of a window that have to be searched, latest first."""
    found: Int32Array = range_raptor.window_starts(lines, seeds, int(begin), _end(begin, width), step)
    return found


def parts_of(rows: Int32Array) -> Iterator[Int32Array]:
    """Yield a few rows at a time, as long as the search is not cancelled."""
    for first in range(0, len(rows), _STARTS_AT_ONCE):
        checkpoint()
        yield rows[first : first + _STARTS_AT_ONCE]


def _end(begin: np.int32, width: int) -> int:
    """Return the last departure of a window."""
    if not 0 <= width < NEVER // 4:
        msg = f"the length of a window must be from 0 to {NEVER // 4 - 1:,}; got {width}"
        raise LimitError(msg)
    return int(begin) + int(width)


def _direct(direct_time: Int32Array | None, shape: tuple[int, ...], options: TransitOptions) -> Int32Array:
    """Return a copy of the travel times without transit, `NEVER` beyond the limit or if there are none."""
    if direct_time is None:
        return np.full(shape, NEVER, np.int32)
    if direct_time.shape != shape:
        msg = f"direct_time must have the shape {shape}; got {direct_time.shape}"
        raise InputError(msg)
    return np.where(direct_time <= options.travel_limit, direct_time, NEVER).astype(np.int32)
