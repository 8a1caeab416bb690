"""
Slow, obviously right twins of the timetable searches, in plain Python and without any of the kernels' code.

A connection scan per ride, repeated until nothing changes, so that neither ties nor rides of no time need any care.
`earliest` looks forward, `latest` backward, and `latest_by_trying` answers the backward question with forward searches
only, straight from its definition. Windows are answered by asking at every second.

The rules of a journey: it starts at seeds (stop, time). A ride boards where that is allowed, at or after the time one
is ready, and alights where that is allowed; staying seated in a vehicle that continues as another run is the same
ride. After a ride one is ready at the same stop `change_time` later or at the end of one footpath, in both cases
`change_delay` later still. The answer per stop is the arrival of a ride.

References
----------
J. Dibbelt, T. Pajor, B. Strasser, D. Wagner, "Connection Scan Algorithm", ACM JEA 23 (2018).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

from traveltime_lab.transit.trip_table import TripTable

Seeds = Iterable[tuple[int, int]]
Labels = dict[int, int]


@dataclass(frozen=True)
class Call:
    """A run at a position of its pattern."""

    stop: int
    arrival: int
    departure: int
    can_board: bool
    can_alight: bool


class TransitOracle:
    """The runs of a table as lists of calls, and what can be asked of them."""

    def __init__(self, table: TripTable) -> None:
        self.n_stops = table.n_stops
        self.runs: list[list[Call]] = []
        for p in range(len(table.pattern_indptr) - 1):
            positions = range(int(table.pattern_indptr[p]), int(table.pattern_indptr[p + 1]))
            for r in range(int(table.instance_indptr[p + 1] - table.instance_indptr[p])):
                first = int(table.time_indptr[p]) + r * len(positions)
                self.runs.append(
                    [
                        Call(
                            int(table.pattern_stops[i]),
                            int(table.arrival[first + k]),
                            int(table.departure[first + k]),
                            bool(table.can_board[i]),
                            bool(table.can_alight[i]),
                        )
                        for k, i in enumerate(positions)
                    ]
                )
        self.stays = {run: int(other) for run, other in enumerate(table.stay_instance) if other >= 0}
        self.stayed: dict[int, list[int]] = {}
        for run, other in self.stays.items():
            self.stayed.setdefault(other, []).append(run)
        self.walks = {
            stop: [
                (int(table.transfer_stop[k]), int(table.transfer_time[k]))
                for k in range(int(table.transfer_indptr[stop]), int(table.transfer_indptr[stop + 1]))
            ]
            for stop in range(table.n_stops)
        }
        self.walks_to = {
            stop: [(start, s) for start, walks in self.walks.items() for end, s in walks if end == stop]
            for stop in self.walks
        }
        self.change = [int(s) for s in table.change_time]
        #: (departure, arrival, run, position at which the connection begins), by departure.
        self.connections = sorted(
            (call.departure, calls[k + 1].arrival, run, k)
            for run, calls in enumerate(self.runs)
            for k, call in enumerate(calls[:-1])
        )

    def _rides(self, max_changes: int) -> Iterable[int]:
        """Return a number for every ride that a journey may have."""
        return itertools.count() if max_changes < 0 else range(max_changes + 1)

    def earliest(
        self, seeds: Seeds, *, max_changes: int = -1, change_delay: int = 0, limit: float = math.inf
    ) -> Labels:
        """Return the earliest arrival of a ride by stop, where there is one within the limit."""
        ready: Labels = {}
        for stop, time in seeds:
            ready[stop] = min(time, ready.get(stop, time))
        best: Labels = {}
        for _ in self._rides(max_changes):
            arrived = self._ride(ready)
            improved = {stop: time for stop, time in arrived.items() if time < best.get(stop, math.inf)}
            if not improved:
                break
            best |= improved
            ready = {}
            for stop, time in arrived.items():
                for other, walk in [(stop, self.change[stop]), *self.walks[stop]]:
                    at = time + walk + change_delay
                    ready[other] = min(at, ready.get(other, at))
        return {stop: time for stop, time in best.items() if time <= limit}

    def _ride(self, ready: Labels) -> Labels:
        """Return the earliest arrivals with exactly one ride from stops where one is ready."""
        arrived: Labels = {}
        aboard: dict[int, int] = {}  # first position at which one is on board of a run
        is_stable = False
        while not is_stable:
            is_stable = True
            for departure, arrival, run, position in self.connections:
                call, then = self.runs[run][position], self.runs[run][position + 1]
                can_catch = call.can_board and ready.get(call.stop, math.inf) <= departure
                if can_catch and position < aboard.get(run, math.inf):
                    aboard[run] = position
                    is_stable = False
                if aboard.get(run, math.inf) > position:
                    continue
                is_last = position == len(self.runs[run]) - 2
                if is_last and run in self.stays and aboard.get(self.stays[run], math.inf) > 0:
                    aboard[self.stays[run]] = 0
                    is_stable = False
                if then.can_alight and arrival < arrived.get(then.stop, math.inf):
                    arrived[then.stop] = arrival
                    is_stable = False
        return arrived

    def latest(self, seeds: Seeds, *, max_changes: int = -1, change_delay: int = 0, limit: float = -math.inf) -> Labels:
        """Return the latest departure of a ride by stop with which one is at a seed (stop, time) in time."""
        needed: Labels = {}
        for stop, time in seeds:
            needed[stop] = max(time, needed.get(stop, time))
        best: Labels = {}
        for _ in self._rides(max_changes):
            left = self._ride_back(needed)
            improved = {stop: time for stop, time in left.items() if time > best.get(stop, -math.inf)}
            if not improved:
                break
            best |= improved
            needed = {}
            for stop, time in left.items():
                for other, walk in [(stop, self.change[stop]), *self.walks_to[stop]]:
                    at = time - walk - change_delay
                    needed[other] = max(at, needed.get(other, at))
        return {stop: time for stop, time in best.items() if time >= limit}

    def _ride_back(self, needed: Labels) -> Labels:
        """Return the latest departures with exactly one ride that is in time where one is needed."""
        left: Labels = {}
        aboard: dict[int, int] = {}  # last position until which one is on board of a run
        is_stable = False
        while not is_stable:
            is_stable = True
            for departure, arrival, run, position in reversed(self.connections):
                call, then = self.runs[run][position], self.runs[run][position + 1]
                is_in_time = then.can_alight and needed.get(then.stop, -math.inf) >= arrival
                if is_in_time and position + 1 > aboard.get(run, -1):
                    aboard[run] = position + 1
                    is_stable = False
                if aboard.get(run, -1) < position + 1:
                    continue
                for before in self.stayed.get(run, []) if position == 0 else []:
                    if aboard.get(before, -1) < len(self.runs[before]) - 1:
                        aboard[before] = len(self.runs[before]) - 1
                        is_stable = False
                if call.can_board and departure > left.get(call.stop, -math.inf):
                    left[call.stop] = departure
                    is_stable = False
        return left

    def latest_by_trying(self, seeds: Seeds, *, max_changes: int = -1, change_delay: int = 0) -> Labels:
        """Answer the question of `latest` by a forward search from every departure of every stop."""
        seeds = list(seeds)
        best: Labels = {}
        for stop in range(self.n_stops):
            times = {call.departure for calls in self.runs for call in calls[:-1] if call.stop == stop}
            for time in sorted(times, reverse=True):
                arrivals = self.earliest([(stop, time)], max_changes=max_changes, change_delay=change_delay)
                if any(arrivals.get(end, math.inf) <= latest for end, latest in seeds):
                    best[stop] = time
                    break
        return best

    def window(
        self, access: Seeds, starts: Iterable[int], *, travel_limit: float = math.inf, **options: int
    ) -> dict[int, Labels]:
        """Return the arrivals within `travel_limit` for each time of leaving, with seconds of access to the seeds."""
        access = list(access)
        return {
            start: self.earliest([(stop, start + s) for stop, s in access], limit=start + travel_limit, **options)
            for start in starts
        }
