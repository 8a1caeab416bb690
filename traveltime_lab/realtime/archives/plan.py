"""
Decide what the observations of a day change in a timetable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from traveltime_lab._arrays import BoolArray, Int64Array
from traveltime_lab.realtime.archives.gaps import DROP, PROPAGATE, filled
from traveltime_lab.realtime.match import FARTHEST_S
from traveltime_lab.realtime.messages import Messages
from traveltime_lab.realtime.plan import Plan
from traveltime_lab.realtime.predictions import NO_DATA, SKIPPED, Run, StopUpdate, in_order, predicted
from traveltime_lab.realtime.runs import FAR
from traveltime_lab.transit.timetable import Timetable

#: Times farther from the timetable are nearer to the run of another day, s.
MOST_OFF_S: Final = FARTHEST_S
#: Trips of the date before that end in the evening, and those of the date after that begin before the morning, are part
#: of the nights of a day, s (assumed: delays of six hours, and searches until six o'clock).
EVENING_S: Final = 64_800
MORNING_S: Final = 21_600
#: Names of what is counted.
OBSERVED, GAP, DECREASED = "calls observed", "calls without an observed time", "times that decrease along the trip"
DROPPED: Final = "dropped, as calls were not observed"
UNOBSERVED: Final = "dropped, as they were not observed"
_TOO_SHORT: Final = "canceled, as fewer than two stops are left"


@dataclass(frozen=True)
class Rules:
    """
    Rules for the times that an archive does not have.

    Attributes
    ----------
    date : int
        Service date as an ordinal.
    gaps, unobserved : str
        See `traveltime_lab.observed_days`.
    max_delay : int, s
    around : tuple of int
        Those of the dates before and after it that have observations, too.
    """

    date: int
    gaps: str
    unobserved: str
    max_delay: int
    around: tuple[int, ...] = ()


def meets(timetable: Timetable, trips: Int64Array, *, is_before: bool) -> BoolArray:
    """Return whether trips of the date before may run after midnight, or those of the date after it in its night."""
    hot = timetable.hot
    if is_before:
        found: BoolArray = hot.is_repeated[trips] | (hot.last_arrival[trips] >= EVENING_S)
        return found
    return hot.is_repeated[trips] | (hot.first_departure[trips] < MORNING_S)


class ObservedPlan(Plan):
    """
    The edits of a timetable that follow from the observations of a day.

    Parameters
    ----------
    timetable, messages, feeds, alert_feeds
        See `traveltime_lab.realtime.plan.Plan`.
    rules : Rules
    dates : int64 array of shape (n_updates,)
        Service date of the observations of each update.

    Attributes
    ----------
    delays : list of tuple
        Trip, position, whether it is a departure, and delay (s) of each event that was observed.
    seen : set of int
        Trips with an update that was applied, on the date of the rules.
    """

    def __init__(
        self,
        timetable: Timetable,
        messages: Messages,
        feeds: Int64Array,
        alert_feeds: list[int],
        rules: Rules,
        dates: Int64Array,
    ) -> None:
        self.rules, self._dates = rules, dates
        self.delays: list[tuple[int, int, int, int]] = []
        self._seen: dict[int, set[int]] = {date: set() for date in (rules.date, *rules.around)}
        self._has_dropped = False
        super().__init__(timetable, messages, feeds, alert_feeds)

    @property
    def seen(self) -> set[int]:
        """Trips with an update that was applied."""
        return self._seen[self.rules.date]

    def _work(self) -> None:
        self.max_delay = self.rules.max_delay
        elsewhere = (self.matches.date != self._dates) & (self.matches.trip >= 0)
        for u in np.flatnonzero(elsewhere).tolist():
            self.result[u] = self.result[u] or "its run is on another service date"
        super()._work()
        if self.rules.unobserved == DROP:
            for date in self._seen:
                self._drop_unobserved(date)

    def _apply(self, u: int) -> str:
        self._has_dropped = False
        reason = super()._apply(u)
        if reason.endswith(FAR):
            reason = f"its times are more than {self.max_delay:,} s from the timetable"
        if not reason and self.matches.trip[u] >= 0:
            self._seen[int(self._dates[u])].add(int(self.matches.trip[u]))
        if self._has_dropped:
            self.trips[_TOO_SHORT] -= 1
            self.trips[DROPPED] += 1
        return reason

    def _drop_unobserved(self, date: int) -> None:
        """Leave out the trips of a day, of feeds that the archive is about, that it says nothing about."""
        timetable, hot, seen = self.timetable, self.timetable.hot, self._seen[date]
        feeds = {int(hot.trip_feed[trip]) for trip in seen}
        is_on = timetable.services_on(date)[hot.trip_service] & np.isin(hot.trip_feed, [*feeds])
        if date != self.rules.date:
            is_on &= meets(timetable, np.arange(timetable.n_trips), is_before=date < self.rules.date)
        for trip in np.flatnonzero(is_on).tolist():
            is_seen = trip in seen and not hot.is_repeated[trip]
            if not is_seen and date not in self.edits.removed.get(trip, ()):
                self.edits.remove(trip, (date,))
                self.trips[UNOBSERVED] += 1

    def _apply_repetitions(self) -> None:
        if self.rules.unobserved != DROP:
            super()._apply_repetitions()
            return
        for trip, date in self._gone:
            self.edits.remove(trip, (date,))

    def _times(
        self,
        planned: Run,
        updates: dict[int, StopUpdate],
        trip_delay: int | None,
        skipped: set[int],
        carried: dict[int, int | None],
    ) -> tuple[list[int], list[int], list[int], bool]:
        """Return the calls that remain and their times; see `predicted`."""
        position = [
            i for i in range(len(planned.stop))
            if i not in skipped and (i not in updates or updates[i].relation != SKIPPED)
        ]  # fmt: skip
        times: list[int] = []
        observed: list[int | None] = []
        for i in position:
            own = updates.get(i)
            times += [planned.arrival[i], planned.departure[i]]
            observed += [None, None] if own is None or own.relation == NO_DATA else [own.arrival, own.departure]
            if i in carried and observed[-2] is None:
                observed[-2] = carried[i]
        if self.rules.gaps == PROPAGATE:
            self._count(planned.source, position, observed)
            return predicted(planned.arrival, planned.departure, updates, trip_delay, skipped, carried)
        found = filled(times, observed, self.rules.gaps, trip_delay)
        used = [delay if is_given else None for delay, is_given in zip(found.delay, found.is_given, strict=True)]
        self._count(planned.source, position, used)
        self.stops[DECREASED] += found.n_absurd
        if self.rules.gaps == DROP and found.n_gaps:
            self._has_dropped = True
            return [], [], [], False
        ordered, _ = in_order([a + b for a, b in zip(times, found.delay, strict=True)], found.is_given)
        return position, ordered[0::2], ordered[1::2], False

    def _count(self, trip: int, position: list[int], used: list[int | None]) -> None:
        """Count the calls of a run with and without an observed event that is used, and keep the delays of these."""
        for k, delay in enumerate(used):
            if delay is not None:
                self.delays.append((trip, position[k // 2], k & 1, delay))
        n_gaps = sum(used[k] is None and used[k + 1] is None for k in range(0, len(used), 2))
        self.stops[GAP] += n_gaps
        self.stops[OBSERVED] += len(position) - n_gaps
