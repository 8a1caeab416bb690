"""
Find the service dates of observations that are dated a day too early or too late.

Agencies write the calendar date of calls after midnight in place of the service date, or a clock time such as 00:31 for
24:31. Such a time is half a day or more from its trip, and nearer to the run of the day before or after.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from traveltime_lab._arrays import BoolArray, Int64Array, ObjectArray, unique_values
from traveltime_lab.realtime.match import FARTHEST_S, origins, rows_by_text
from traveltime_lab.realtime.sources import NONE
from traveltime_lab.transit.timetable import Timetable

_DAY_S: Final = 86_400


class Settler:
    """
    Trips whose observations may be a day off.

    Parameters
    ----------
    timetable : Timetable
    """

    def __init__(self, timetable: Timetable) -> None:
        self._timetable = timetable
        self._known: dict[str, int] = {"": -1}
        self._on: dict[int, BoolArray] = {}

    def _rows(self, trips: ObjectArray) -> Int64Array:
        """Return the row of each trip, -1 for unknown ones and those that are repeated or in several feeds."""
        known, names = self._known, trips.tolist()
        left = {*names} - {*known}
        if left:
            found = rows_by_text(self._timetable.trips["trip_id"], left)
            is_repeated = self._timetable.hot.is_repeated
            for name in left:
                own = found.get(name, [])
                known[name] = own[0] if len(own) == 1 and not is_repeated[own[0]] else -1
        return np.array([known[name] for name in names], np.int64)

    def later(self, trips: ObjectArray, date: Int64Array, time: Int64Array) -> Int64Array:
        """
        Return by how many days the run that is nearest to a time is later than that of a date: -1, 0 or 1.

        Parameters
        ----------
        trips : array of str, shape (n,)
        date : int64 array of shape (n,)
            Service dates as ordinals, -1 where not known.
        time : int64 array of shape (n,), POSIX seconds
            `NONE` where not known.
        """
        found = np.zeros(date.size, np.int64)
        row = self._rows(trips)
        at = np.flatnonzero((row >= 0) & (date > 2) & (date < 3_650_000) & (time != NONE) & (np.abs(time) < 2**40))
        if not at.size:
            return found
        hot, row, date, time = self._timetable.hot, row[at], date[at], time[at]
        zone, first, last = hot.trip_zone[row], hot.first_departure[row], hot.last_arrival[row]

        def far(days: int) -> Int64Array:
            since = time - origins(date + days, zone, self._timetable.zones)
            nothing = np.zeros(1, np.int64)
            distance: Int64Array = np.maximum(np.maximum(first - since, since - last), nothing)
            return distance

        own, before, after = far(0), far(-1), far(1)
        found[at] = np.where(
            own <= FARTHEST_S, 0, np.where(before < np.minimum(own, after), -1, np.where(after < own, 1, 0))
        )
        # Times that are days off are not of the next day either.
        found[at[np.minimum(before, after) > FARTHEST_S]] = 0
        return found

    def runs(self, trips: ObjectArray, date: Int64Array) -> BoolArray:
        """Return whether trips run on service dates."""
        row = self._rows(trips)
        result = np.zeros(date.size, np.bool_)
        for day in unique_values(date).tolist():
            if not 1 <= day < 3_650_000:
                continue
            if day not in self._on:
                self._on[day] = self._timetable.services_on(day)
            mine = (date == day) & (row >= 0)
            result[mine] = self._on[day][self._timetable.hot.trip_service[row[mine]]]
        return result
