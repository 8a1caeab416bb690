"""
Decide what the observations of a day change in a timetable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from traveltime_lab._arrays import Int64Array
from traveltime_lab.realtime.archives.gaps import DROP, PROPAGATE, filled
from traveltime_lab.realtime.match import FARTHEST_S
from traveltime_lab.realtime.messages import Messages
from traveltime_lab.realtime.plan import Plan
from traveltime_lab.realtime.predictions import NO_DATA, SKIPPED, Run, StopUpdate, in_order, predicted
from traveltime_lab.realtime.runs import FAR
from traveltime_lab.transit.timetable import Timetable

#: Times farther from the timetable are nearer to the run of another day, s.
MOST_OFF_S: Final = FARTHEST_S
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
    """

    date: int
    gaps: str
    unobserved: str
    max_delay: int


class ObservedPlan(Plan):
    """
    The edits of a timetable that follow from the observations of a day.

    Parameters
    ----------
    timetable, messages, feeds, alert_feeds
        See `traveltime_lab.realtime.plan.Plan`.
    rules : Rules

    Attributes
    ----------
    delays : list of tuple
        Trip, position, whether it is a departure, and delay (s) of each event that was observed.
    seen : set of int
        Trips with an update that was applied.
    """

    def __init__(
        self, timetable: Timetable, messages: Messages, feeds: Int64Array, alert_feeds: list[int], rules: Rules
    ) -> None:
        self.rules = rules
        self.delays: list[tuple[int, int, int, int]] = []
        self.seen: set[int] = set()
        self._has_dropped = False
        super().__init__(timetable, messages, feeds, alert_feeds)

    def _work(self) -> None:
        self.max_delay = self.rules.max_delay
        elsewhere = (self.matches.date != self.rules.date) & (self.matches.trip >= 0)
        for u in np.flatnonzero(elsewhere).tolist():
            self.result[u] = self.result[u] or "its run is on another service date"
        super()._work()
        if self.rules.unobserved == DROP:
            self._drop_unobserved()

    def _apply(self, u: int) -> str:
        self._has_dropped = False
        reason = super()._apply(u)
        if reason.endswith(FAR):
            reason = f"its times are more than {self.max_delay:,} s from the timetable"
        if not reason and self.matches.trip[u] >= 0:
            self.seen.add(int(self.matches.trip[u]))
        if self._has_dropped:
            self.trips[_TOO_SHORT] -= 1
            self.trips[DROPPED] += 1
        return reason

    def _drop_unobserved(self) -> None:
        """Leave out the trips of the day, of feeds that the archive is about, that it says nothing about."""
        timetable, hot, date = self.timetable, self.timetable.hot, self.rules.date
        feeds = {int(hot.trip_feed[trip]) for trip in self.seen}
        is_on = timetable.services_on(date)[hot.trip_service] & np.isin(hot.trip_feed, [*feeds])
        for trip in np.flatnonzero(is_on).tolist():
            is_seen = trip in self.seen and not hot.is_repeated[trip]
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
        found = filled(times, observed, self.rules.gaps, trip_delay)
        trip = planned.source
        for k, (delay, is_given) in enumerate(zip(found.delay, found.is_given, strict=True)):
            if is_given:
                self.delays.append((trip, position[k // 2], k & 1, delay))
        self.stops[GAP] += found.n_gaps
        self.stops[OBSERVED] += len(position) - found.n_gaps
        self.stops[DECREASED] += found.n_absurd
        if self.rules.gaps == DROP and found.n_gaps:
            self._has_dropped = True
            return [], [], [], False
        if self.rules.gaps == PROPAGATE:
            return predicted(planned.arrival, planned.departure, updates, trip_delay, skipped, carried)
        ordered, _ = in_order([a + b for a, b in zip(times, found.delay, strict=True)], found.is_given)
        return position, ordered[0::2], ordered[1::2], False
