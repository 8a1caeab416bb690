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
from traveltime_lab.realtime.archives.plan import ObservedPlan, Rules
from traveltime_lab.realtime.archives.store import Store
from traveltime_lab.realtime.messages import Messages, TripUpdates
from traveltime_lab.realtime.sources import NONE
from traveltime_lab.transit.timetable import Timetable

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
        Called with each plan that they lead to, and the number of rows about each run.
    """

    def __init__(self, store: Store, rules: Rules, note: Callable[[ObservedPlan, Int64Array], object]) -> None:
        day = store.day(rules.date)
        feeds = list(dict.fromkeys(day.feed))
        moments = day.updates.timestamp[day.updates.timestamp != NONE]
        latest = int(moments.max()) if moments.size else -1
        frame = pd.DataFrame({"name": "the archive", "feed": feeds, "timestamp": latest}).astype({"feed": object})
        vehicles = pd.DataFrame({name: np.zeros(0, object) for name in _VEHICLES})
        for name, value in (("sources", frame), ("alerts", []), ("vehicles", vehicles)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_of", (store, rules, note, {feed: i for i, feed in enumerate(feeds)}))

    @property
    def trips(self) -> TripUpdates:
        """The last known values of each run."""
        store, rules, _, numbers = self._of
        day = store.day(rules.date)
        updates: TripUpdates = replace(day.updates, source=np.array([numbers[feed] for feed in day.feed], np.int64))
        return updates

    def plan(self, timetable: Timetable, feeds: Int64Array, messages: Messages) -> ObservedPlan:
        """Return what the observations change in a timetable."""
        store, rules, note, _ = self._of
        plan = ObservedPlan(timetable, messages, feeds, [], rules)
        note(plan, store.day(rules.date).rows)
        return plan

    _of: Any
