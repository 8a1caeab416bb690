"""
A slow, obviously right twin of searches at speeds that change on the way, in plain Python.

A vehicle is followed along each street hour by hour. `TimedOracle.arrive` has the library's rule of rounding, and
`ideal` is the same without any rounding, from speeds and lengths. The latest departure is found by trying.
"""

from __future__ import annotations

import datetime as dt
import heapq
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from tests.support.oracle_hours import kph_then, week_of_times
from tests.support.oracles import StreetOracle, milliseconds, places_of
from traveltime_lab.network.network import Network
from traveltime_lab.streets.snapping import Snaps

MINUTE = dt.timedelta(minutes=1)


class TimedOracle(StreetOracle):
    """
    Travel times of driving, with the speeds of the hour in which each street is driven.

    Parameters
    ----------
    network : Network
    speeds : dict
        Measured speeds by edge, side and hour of the week; see `tests.support.oracle_hours.measured`.
    moment : datetime
        Departure or arrival time, in the zone of the network.
    is_arrival : bool, default False
        Whether trips arrive at the moment.
    model : str, optional
        Traffic model.
    mode, boarding_time
        See `StreetOracle`.
    """

    def __init__(
        self,
        network: Network,
        speeds: dict[Any, float],
        moment: dt.datetime,
        *,
        is_arrival: bool = False,
        model: str | None = None,
        mode: str = "driving",
        boarding_time: int = 0,
    ) -> None:
        super().__init__(network, mode, moment=moment.replace(tzinfo=None), boarding_time=boarding_time)
        self.is_arrival = is_arrival
        self.rows: dict[tuple[int, int], list[list[int | None]]] = {}
        self.moment, self.model, self.zone = moment.astimezone(dt.UTC), model, moment.tzinfo
        self.weeks = {d: week_of_times(network.tables, speeds, d // 2, d % 2) for d in self.traversal}
        self.known: dict[tuple[int, dt.datetime], tuple[float, int]] = {}
        self.spans: dict[int, tuple[int, dt.datetime]] = {}
        self.speeds = speeds
        self.before: dict[Any, list[tuple[Any, int]]] = {}
        self.turns: dict[Any, list[tuple[Any, int]]] = {}
        for state in list(self.graph):
            self.turns[state] = [(after, ms - self.traversal[state[0]]) for after, ms in self.successors(state)]
            for after, turn in self.turns[state]:
                self.before.setdefault(after, []).append((state, turn))

    # Hours

    def span(self, at: int) -> tuple[int, dt.datetime]:
        """Return when the hour of a time ends, in ms after the moment, and a local time of this hour."""
        for ends, (begin, clock) in self.spans.items():
            if begin <= at < ends:
                return ends, clock
        there = self.moment + dt.timedelta(milliseconds=at)
        local = there.astimezone(self.zone)
        end = there.replace(second=0, microsecond=0)
        while True:
            end += MINUTE
            other = end.astimezone(self.zone)
            if (other.date(), other.hour, other.utcoffset()) != (local.date(), local.hour, local.utcoffset()):
                break
        ends = (end - self.moment) // dt.timedelta(milliseconds=1)
        # From the first time that was asked for; an earlier one of the same hour comes here again.
        self.spans[ends] = at, dt.datetime(local.year, local.month, local.day, local.hour)
        return ends, self.spans[ends][1]

    def speed(self, d: int, clock: dt.datetime) -> tuple[float, int]:
        """Return the km/h along a directed edge in an hour, and the whole milliseconds that it takes."""
        if (d, clock) not in self.known:
            # Without a model, a speed that is measured has no rounding.
            kph = self.speeds.get((d // 2, d % 2, 24 * clock.weekday() + clock.hour)) if self.model is None else None
            kph = kph_then(self.weeks[d], self.model, clock) if kph is None else kph
            self.known[d, clock] = kph, milliseconds(float(self.network.tables.edge_length_m[d // 2]), kph)
        return self.known[d, clock]

    # Along one street

    def arrive(self, d: int, begin: float, end: float, at: int) -> int:
        """Return the arrival at a share of a directed edge, having left another one at a time."""
        ends, clock = self.span(at)
        whole = self.speed(d, clock)[1]
        place = math.floor(whole * begin + 0.5)
        while True:
            left = math.floor(whole * end + 0.5) - place
            if left <= 0:
                return at
            if at + left <= ends:
                return at + left
            place += ends - at
            at = ends
            ends, clock = self.span(at)
            following = self.speed(d, clock)[1]
            place = math.floor(Fraction(place * following, whole) + Fraction(1, 2))
            whole = following

    def ideal(self, d: int, begin: float, end: float, at: float) -> float:
        """Return the same without rounding."""
        left_m = float(self.network.tables.edge_length_m[d // 2]) * (end - begin)
        while True:
            ends, clock = self.span(math.floor(at))
            per_ms = self.speed(d, clock)[0] / 3600.0
            if at + left_m / per_ms <= ends:
                return at + left_m / per_ms
            left_m -= (ends - at) * per_ms
            at = ends

    def leave(self, d: int, begin: float, end: float, by: int) -> int:
        """Return the latest departure that arrives by a time."""
        likely = by - (self.arrive(d, begin, end, by) - by)
        if self.arrive(d, begin, end, likely) <= by < self.arrive(d, begin, end, likely + 1):
            return likely
        low, high = by, by + 1
        while self.arrive(d, begin, end, low) > by:
            low, high = low - 2 * (high - low), low
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.arrive(d, begin, end, middle) <= by else (low, middle)
        return low

    # Trips

    def times_ms(self, snaps: Snaps, i: int, targets: Snaps, **_: Any) -> list[int | None]:
        """Return milliseconds from one point to others, departing at the moment, or arriving then."""
        if self.is_arrival:
            # One search for each destination, from which the times of all origins are read.
            key = id(snaps), id(targets)
            if key not in self.rows:
                self.rows[key] = [self.timed_ms(targets, j, snaps) for j in range(len(targets))]
            return [row[i] for row in self.rows[key]]
        return self.timed_ms(snaps, i, targets)

    def timed_ms(self, near: Snaps, i: int, far: Snaps, *, is_ideal: bool = False) -> list[Any]:
        """Return the milliseconds between a point and others: to them, or from them in time for the moment."""
        drive: Callable[..., Any] = self.ideal if is_ideal else self.arrive
        is_arrival = self.is_arrival

        def onward(d: int, low: float, high: float, ms: Any) -> Any:
            return -self.leave(d, low, high, -ms) if is_arrival else drive(d, low, high, ms)

        starts = list(self._places(near, i))
        best: dict[Any, Any] = {}
        queue: list[tuple[Any, int, Any]] = []

        def enter(state: Any, ms: Any) -> None:
            if ms < best.get(state, math.inf):
                best[state] = ms
                heapq.heappush(queue, (ms, id(state), state))

        for d, share, walk in starts:
            if is_arrival:
                for state in self.states_of[d]:
                    enter(state, onward(d, 0.0, share, walk))
            else:
                for after, turn in self.turns[self.plain(d)]:
                    enter(after, onward(d, share, 1.0, walk) + turn)
        while queue:
            ms, _, state = heapq.heappop(queue)
            if ms > best[state]:
                continue
            if is_arrival:
                for earlier, turn in self.before.get(state, []):
                    enter(earlier, onward(earlier[0], 0.0, 1.0, ms + turn))
            else:
                passed = onward(state[0], 0.0, 1.0, ms)
                for after, turn in self.turns[state]:
                    enter(after, passed + turn)
        answers = []
        for j in range(len(far)):
            least = math.inf
            for d, share, walk in self._places(far, j):
                if is_arrival:
                    for after, turn in self.turns[self.plain(d)]:
                        if after in best:
                            least = min(least, onward(d, share, 1.0, best[after] + turn) + walk)
                else:
                    for state in self.states_of[d]:
                        if state in best:
                            least = min(least, onward(d, 0.0, share, best[state]) + walk)
                for other, place, before in starts:
                    low, high = (share, place) if is_arrival else (place, share)
                    if other == d and low <= high:
                        least = min(least, onward(d, low, high, before) + walk)
            answers.append(None if least == math.inf else least)
        return answers

    def _places(self, snaps: Snaps, i: int) -> Iterator[tuple[int, float, int]]:
        """Yield the directed edges that a point is on, its share of each, and the milliseconds to there."""
        for edge, at, walk in places_of(snaps, i):
            for d, share in ((2 * edge, at), (2 * edge + 1, 1.0 - at)):
                if d in self.traversal:
                    yield d, share, walk
