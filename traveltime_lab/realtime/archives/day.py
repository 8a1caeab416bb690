"""
The observations of one service date, in the form of live updates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import Int64Array
from traveltime_lab.realtime.archives.dates import taken
from traveltime_lab.realtime.archives.plan import EVENING_S, MORNING_S, ObservedPlan, Rules, meets
from traveltime_lab.realtime.archives.store import Store
from traveltime_lab.realtime.match import origins, rows_by_text
from traveltime_lab.realtime.messages import Messages, TripUpdates, joined
from traveltime_lab.realtime.runs import MOST_DELAY_S
from traveltime_lab.realtime.sources import NONE
from traveltime_lab.transit.timetable import Timetable

#: Time zones of a timetable may be this far from the first one, s (assumed).
_ZONES_S: Final = 21_600
_VEHICLES: Final = (
    "source", "vehicle_id", "label", "trip_id", "route_id", "stop_id", "status", "timestamp", "bearing", "speed", "lat",
    "lng",
)  # fmt: skip


class DayMessages(Messages):
    """
    The observations of a service date as messages, which are read from a store when they are needed.

    Parameters
    ----------
    store : Store
    rules : Rules
    note : callable
        Called with each plan that they lead to, and the number of rows about each run, unless there are dates around.
    timetable : Timetable, optional
        For dates around: the trips of which those in the nights are taken.
    """

    def __init__(
        self,
        store: Store,
        rules: Rules,
        note: Callable[[ObservedPlan, Int64Array], object],
        timetable: Timetable | None = None,
    ) -> None:
        day = store.day(rules.date)
        feeds = list(dict.fromkeys([*day.feed, *(feed for date in rules.around for feed in store.day(date).feed)]))
        moments = day.updates.timestamp[day.updates.timestamp != NONE]
        latest = int(moments.max()) if moments.size else -1
        frame = pd.DataFrame({"name": "the archive", "feed": feeds, "timestamp": latest}).astype({"feed": object})
        vehicles = pd.DataFrame({name: np.zeros(0, object) for name in _VEHICLES})
        for name, value in (("sources", frame), ("alerts", []), ("vehicles", vehicles)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_of", (store, rules, note, timetable, {feed: i for i, feed in enumerate(feeds)}))

    @property
    def trips(self) -> TripUpdates:
        """The last known values of each run."""
        return self._read()[0]

    def _read(self) -> tuple[TripUpdates, Int64Array]:
        """Return the updates of the day and of its nights, and their service dates."""
        store, rules, _, timetable, numbers = self._of
        parts, dates = [], []
        for date in sorted((rules.date, *rules.around)):
            day = store.day(date)
            updates = replace(day.updates, source=np.array([numbers[feed] for feed in day.feed], np.int64))
            if date != rules.date:
                updates = taken(updates, _in_night(timetable, updates, rules.date, is_before=date < rules.date))
            parts.append(updates)
            dates.append(np.full(len(updates), date))
        return joined(parts), np.concatenate(dates)

    def plan(self, timetable: Timetable, feeds: Int64Array, messages: Messages) -> ObservedPlan:
        """Return what the observations change in a timetable."""
        store, rules, note, *_ = self._of
        plan = ObservedPlan(timetable, messages, feeds, [], rules, self._read()[1])
        if not rules.around:
            note(plan, store.day(rules.date).rows)
        return plan

    _of: Any


def _in_night(timetable: Timetable, updates: TripUpdates, date: int, *, is_before: bool) -> Int64Array:
    """Return the updates of the date before or after a date whose runs may be under way in the night between them."""
    rows = rows_by_text(timetable.trips["trip_id"], updates.trip_id)
    meeting = {
        trip for trip, own in rows.items() if meets(timetable, np.array(own, np.int64), is_before=is_before).any()
    }
    # Others are late, or new.
    is_open = np.array([is_before or trip not in rows for trip in updates.trip_id.tolist()], np.bool_)
    owner = np.repeat(np.arange(len(updates)), np.diff(updates.indptr))
    midnight = int(origins(np.array([date + (not is_before)]), np.zeros(1, np.int64), timetable.zones)[0])
    found = np.array([trip in meeting or not trip for trip in updates.trip_id.tolist()], np.bool_)
    late = MOST_DELAY_S - EVENING_S
    for name in ("arrival", "departure"):
        time, delay = getattr(updates, f"{name}_time"), getattr(updates, f"{name}_delay")
        is_near = (time >= midnight - _ZONES_S) if is_before else (time > 0) & (time < midnight + MORNING_S + _ZONES_S)
        found[owner[is_open[owner] & (is_near | (is_before & (delay >= late)))]] = True
    found |= is_before & (updates.delay >= late)
    at: Int64Array = np.flatnonzero(found)
    return at
