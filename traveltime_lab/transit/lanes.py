"""
Search a timetable for many points, or many moments, at once; see `traveltime_lab.kernels.transit.raptor_lanes`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import IndexArray, Int32Array
from traveltime_lab.kernels.records import StopLinks
from traveltime_lab.kernels.time_lanes import LATEST, SEARCHES
from traveltime_lab.kernels.transit import range_raptor, raptor_lanes
from traveltime_lab.kernels.transit.patterns import Lines
from traveltime_lab.kernels.transit.raptor import Limits
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.runtime.interrupts import checkpoint

#: Fewer searches from several points are quicker one after the other (measured in Porto Alegre).
_FEWEST: Final = 8
#: Searches that a block of a matrix should have: half of a group, as a group takes nearly as long with fewer.
ENOUGH: Final = SEARCHES // 2
#: Fewer departures that catch other vehicles than the next one are quicker with range RAPTOR (measured there).
_FEWEST_DEPARTURES: Final = 12
#: Prepared timetables that take more memory are not kept, B (assumed).
_MOST_KEPT: Final = 64 * 2**20
#: Memory of a call of a vehicle (two times of 16 bits) and of a footpath (a row and a time), B.
_BYTES_OF_TIMES: Final = 4
_BYTES_OF_WALK: Final = 6


@dataclass(frozen=True, eq=False)
class InLanes:
    """A timetable prepared for groups of searches between two moments, which can be used by one thread at a time."""

    moments: raptor_lanes.Moments
    change_delay: int
    ticks: raptor_lanes.InTicks
    lanes: raptor_lanes.Lanes
    n_fixed_bytes: int

    @classmethod
    def of(cls, lines: Lines, moments: raptor_lanes.Moments, change_delay: int) -> InLanes:
        """Prepare a timetable, of which nothing is converted yet."""
        ticks = _in_ticks(lines)
        lanes = _lanes(lines, ticks.stop.size)
        n_bytes = sum(array.nbytes for array in (*ticks, *lanes))
        n_converted = _BYTES_OF_TIMES * ticks.arrival.size + _BYTES_OF_WALK * ticks.walk_row.size
        return cls(moments, change_delay, ticks, lanes, n_bytes - n_converted)

    @property
    def n_bytes(self) -> int:
        """Memory that is in use, B. Times and footpaths that are not converted take none."""
        n_times, n_walks = self.ticks.filled.tolist()
        return self.n_fixed_bytes + _BYTES_OF_TIMES * int(n_times) + _BYTES_OF_WALK * int(n_walks)


#: Takes the group that was searched last, and the numbers of its searches.
Write = Callable[[InLanes, IndexArray], None]


def to_stops(starts: Int32Array, out: Int32Array) -> Write:
    """Return a function that writes times at stops; see `raptor_lanes.times_at_stops`."""

    def write(mine: InLanes, members: IndexArray) -> None:
        raptor_lanes.times_at_stops(mine.moments, mine.ticks, mine.lanes, starts, members, out)

    return write


def to_targets(starts: Int32Array, links: StopLinks, limit: int, out: Int32Array) -> Write:
    """Return a function that writes times at targets; see `raptor_lanes.times_at_targets`."""

    def write(mine: InLanes, members: IndexArray) -> None:
        raptor_lanes.times_at_targets(mine.moments, mine.ticks, mine.lanes, starts, members, links, limit, out)

    return write


@dataclass(eq=False)
class LaneSearch:
    """
    Searches in groups, for the lines of one direction.

    Parameters
    ----------
    lines : Lines

    Notes
    -----
    Methods are thread-safe. A timetable that is prepared for some moments is kept, and used again for these.
    """

    lines: Lines
    #: Timetables that no thread uses, those used last at the end.
    _idle: deque[InLanes] = field(default_factory=deque, init=False, repr=False)

    def from_points(self, access: StopLinks, starts: Int32Array, limits: Limits, write: Write) -> bool:
        """
        Search from points.

        Parameters
        ----------
        access, starts, limits
            As in `traveltime_lab.kernels.transit.access.many_to_stops`.
        write : callable
            Called after the search of each group, with the numbers of its searches.

        Returns
        -------
        bool
            False if it is not worthwhile, or not possible because searches take too long for times of 16 bits, or
            times of the lines are no whole ticks. Some of the groups may have been written.
        """
        return access.n_points >= _FEWEST and self._run(access, starts, limits, write, _FEWEST, by_area=True)

    def at_moments(self, seeds: range_raptor.Seeds, starts: Int32Array, limits: Limits, write: Write) -> bool:
        """
        Search the departures from one point; see `from_points`.

        Range RAPTOR takes a step for each departure that catches a vehicle that the next one misses. If these are few,
        it is quicker.
        """
        n = starts.size
        if not self._is_busy(seeds, starts):
            return False
        access = StopLinks(np.arange(n + 1) * seeds.stops.size, np.tile(seeds.stops, n), np.tile(seeds.times, n))
        return self._run(access, starts, limits, write, _FEWEST_DEPARTURES, by_area=False)

    def _is_busy(self, seeds: range_raptor.Seeds, starts: Int32Array) -> bool:
        """Return whether many of the departures catch a vehicle that the next one misses."""
        n = starts.size
        if n < _FEWEST_DEPARTURES:
            return False
        begin, end = int(starts.min()), int(starts.max())
        n_steps = range_raptor.window_starts(self.lines, seeds, begin, end, max(1, (end - begin) // (n - 1))).size
        return bool(n_steps >= max(_FEWEST_DEPARTURES, n / 2))

    def _run(
        self, access: StopLinks, starts: Int32Array, limits: Limits, write: Write, fewest: int, *, by_area: bool
    ) -> bool:
        """Search groups of searches that start near one another, or of consecutive ones; see `from_points`."""
        parts = _in_parts(starts, limits.travel_time)
        if not parts or starts.size < fewest * len(parts):
            return False
        for moments, searches in parts:
            mine = self._prepared(moments, limits.change_delay)
            if by_area:
                searches = searches[np.argsort(_first_rows(access, mine.ticks.row)[searches], kind="stable")]
            for members in np.array_split(searches, -(-searches.size // SEARCHES)):
                checkpoint()
                if not raptor_lanes.search_lanes(
                    self.lines, moments, mine.ticks, mine.lanes, access, starts, limits, members
                ):
                    return False
                write(mine, members)
            self._keep(mine)
        return True

    def _prepared(self, moments: raptor_lanes.Moments, change_delay: int) -> InLanes:
        """Return what is kept for these moments, otherwise prepare it."""
        for _ in range(len(self._idle)):
            try:
                mine = self._idle.pop()
            except IndexError:
                break
            if mine.moments == moments and mine.change_delay == change_delay:
                return mine
            self._idle.appendleft(mine)
        return InLanes.of(self.lines, moments, change_delay)

    def _keep(self, mine: InLanes) -> None:
        """Keep a timetable for the next search, and forget others if they take too much memory together."""
        self._idle.append(mine)
        while sum(kept.n_bytes for kept in tuple(self._idle)) > _MOST_KEPT:
            with suppress(IndexError):  # another thread may have taken it
                self._idle.popleft()


def _in_parts(starts: Int32Array, travel_time: int) -> list[tuple[raptor_lanes.Moments, IndexArray]]:
    """
    Divide searches into parts whose times have 16 bits.

    Parameters
    ----------
    starts : int32 array of shape (n_searches,)
    travel_time : int
        Longest travel time.

    Returns
    -------
    list
        The moments of each part, and its searches by their start. It is empty if one search alone takes too long.
    """
    order = np.argsort(starts, kind="stable")
    ordered = starts[order].astype(np.int64)
    tick = 1 if ordered[-1] + travel_time - ordered[0] <= raptor_lanes.MOST_TICKS else raptor_lanes.LONG_TICK
    parts, begin = [], 0
    while begin < starts.size:
        base = int(ordered[begin])
        base -= base % tick
        end = int(np.searchsorted(ordered, base + (raptor_lanes.MOST_TICKS + 1) * tick - travel_time))
        if end <= begin:
            return []
        last = int(ordered[end - 1]) + travel_time
        parts.append((raptor_lanes.Moments(base, tick, (last - base) // tick, last), order[begin:end]))
        begin = end
    return parts


def _first_rows(access: StopLinks, row: Int32Array) -> Int32Array:
    """Return numbers that are near one another where points are, and so their searches in the same patterns."""
    has_links = np.diff(access.indptr) > 0
    # Rows are numbered along the patterns.
    first_row = np.full(access.n_points, -1, np.int32)
    first_row[has_links] = row[access.stops[access.indptr[:-1][has_links]]]
    return first_row


def _in_ticks(lines: Lines) -> raptor_lanes.InTicks:
    """Return a timetable of which nothing is converted; rows of stops are numbered along the patterns."""
    position_row, stop = pd.factorize(lines.pattern_stops)
    n_stops, n_patterns, n_rows = lines.change_time.size, lines.pattern_indptr.size - 1, stop.size
    row = np.full(n_stops, -1, np.int32)
    row[stop] = np.arange(n_rows)
    n_times, n_walks = lines.arrival.size, lines.transfer_stop.size
    return raptor_lanes.InTicks(
        row=row,
        boarding_row=np.where(np.diff(lines.stop_indptr) > 0, row, np.int32(-1)),
        stop=stop,
        position_row=position_row.astype(np.int32),
        times_at=np.full(n_patterns, -1, np.int64),
        first_run=np.empty(n_patterns, np.int32),
        n_runs=np.empty(n_patterns, np.int32),
        arrival=np.empty(n_times, np.int16),
        departure=np.empty(n_times, np.int16),
        walks_begin=np.full(n_rows, -1, np.int64),
        walks_end=np.empty(n_rows, np.int64),
        walk_row=np.empty(n_walks + 1, np.int32),
        walk_time=np.empty(n_walks + 1, np.int16),
        change_time=np.empty(n_rows, np.int16),
        filled=np.zeros(2, np.int64),
    )


def _lanes(lines: Lines, n_rows: int) -> raptor_lanes.Lanes:
    """Return working arrays."""
    n_patterns, longest = lines.pattern_indptr.size - 1, int(np.diff(lines.pattern_indptr).max(initial=0))
    n_runs = lines.run_pattern.size if lines.stay_instance.size else 0
    return raptor_lanes.Lanes(
        end=np.empty(SEARCHES, np.int16),
        # One row is read where there are no stops.
        best=np.empty((max(1, n_rows), SEARCHES), np.int16),
        ready=np.empty((n_rows, SEARCHES), np.int16),
        fresh=np.zeros(n_rows, np.uint64),
        soonest=np.full(n_rows, LATEST, np.int16),
        marked=np.empty(n_rows + 1, np.int32),
        touched=np.empty(n_rows, np.int32),
        first_arrival=np.full(n_rows, LATEST, np.int16),
        queue=np.empty(n_patterns + 1, np.int32),
        first=np.full(n_patterns, NEVER, np.int32),
        may_board=np.empty(longest, np.uint64),
        seen=np.empty(longest, np.uint64),
        seated=np.zeros(n_runs, np.uint64),
        pending=np.zeros(n_runs, np.uint64),
        stack=np.empty(n_runs, np.int32),
    )
