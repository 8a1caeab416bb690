"""
The day of searches without a date, ``"weekday_morning"``.

It is a date of the timetable, because trips, and the walks between them, are those of one date. Among all dates of all
feeds it is, in this order,

1. a Tuesday, Wednesday or Thursday; where these never have service, a Monday or Friday, then a day of the weekend;
2. a day on which most feeds run, all of them if there is one. A feed runs on a day that has departures, and not less
   than `LITTLE_SERVICE` of its busiest day within a week;
3. as busy as the busiest of these days: with `AS_BUSY` of its departures or more, each repetition of frequencies.txt
   counted;
4. no holiday of the feeds that run, if there is such a day. A day is a holiday of a feed if its services are not those
   of at least half of the same weekdays within `WEEKS` weeks. So it does not matter whether a feed writes its holidays
   as exceptions to a calendar, or is a list of dates;
5. the nearest to today, the later one of two that are equally near.

Today is the day on which a network is built. Its typical day is saved with it, so that the same network gives the same
answers on every day, in every process and on every machine.
"""

from __future__ import annotations

import datetime as dt
from typing import Final

import numpy as np

from traveltime_lab._arrays import BoolArray, Int64Array, unique_values
from traveltime_lab.transit.timetable import Timetable, is_little

#: A day with this share of the departures of the busiest day is as busy (assumed: in eleven feeds of ten places, most
#: Tuesdays to Thursdays have 98 to 100 % of the departures of the busiest, holidays and school holidays 30 to 92 %).
AS_BUSY: Final = 0.95
#: Weeks before and after a day whose same weekdays say what is usual (assumed: the two weeks of Christmas and New Year
#: are a quarter of them).
WEEKS: Final = 4
#: Days from a change of services beyond which one week is as the next: a choice depends on `WEEKS` weeks around a day.
_REACH: Final = 7 * WEEKS + 8
#: Classes of weekdays from Monday, the lowest first.
_CLASSES: Final = np.array([1, 0, 0, 0, 1, 2, 2])
_LAST: Final = dt.date.max.toordinal()


def typical_day(timetable: Timetable, today: dt.date) -> dt.date | None:
    """
    Return the day of searches without a date; see the description of this module.

    Returns
    -------
    date or None
        None if the timetable has no day with service.
    """
    days = _candidates(timetable, today.toordinal())
    if not days.size:
        return None
    around = unique_values(days[:, None] + np.arange(-7, 8))
    departures = timetable.departures_on(around)
    place = np.searchsorted(around, days)
    own = departures[:, place]
    busiest = own.copy()
    for step in (*range(-7, 0), *range(1, 8)):
        np.maximum(busiest, departures[:, np.searchsorted(around, days + step)], out=busiest)
    runs = ~is_little(own, busiest)
    total = own.sum(axis=0)
    left = np.flatnonzero(total > 0)
    if not left.size:
        return None
    kind = _CLASSES[(days - 1) % 7]
    left = left[kind[left] == kind[left].min()]
    n_feeds = runs.sum(axis=0)
    left = left[n_feeds[left] == n_feeds[left].max()]
    left = left[total[left] >= AS_BUSY * total[left].max()]
    is_holiday = _holidays(timetable, days[left], runs[:, left])
    left = left if is_holiday.all() else left[~is_holiday]
    away = days[left] - today.toordinal()
    # Twice the distance, so that the later one of two days comes first.
    return dt.date.fromordinal(int(days[left][np.argmin(2 * np.abs(away) - (away > 0))]))


def _candidates(timetable: Timetable, today: int) -> Int64Array:
    """
    Return dates among which the typical day is.

    Far from all changes of services, one week is as the next. Therefore the days around changes and around today are
    enough: a calendar of a hundred or ten thousand years is not gone through day by day.
    """
    spans = np.array(timetable.spans(), np.int64).reshape(-1, 2)
    spans = spans[spans[:, 0] <= spans[:, 1]]
    if not spans.size:
        return np.zeros(0, np.int64)
    services = timetable.services
    used = np.zeros(len(services), np.bool_)
    used[timetable.hot.trip_service] = True
    calendars = used & (services.start <= services.end)
    excepted = services.exception_date[used[services.exception_service]].astype(np.int64)
    changes = unique_values(
        np.concatenate(
            [
                spans[:, 0], spans[:, 1] + 1, services.start[calendars].astype(np.int64),
                services.end[calendars].astype(np.int64) + 1, excepted, excepted + 1, [today],
            ]
        )
    )  # fmt: skip
    days = unique_values(changes[:, None] + np.arange(-_REACH, _REACH + 1))
    is_inside = (days >= max(spans[:, 0].min(), 1)) & (days <= min(spans[:, 1].max(), _LAST))
    return np.asarray(days[is_inside])


def _holidays(timetable: Timetable, days: Int64Array, runs: BoolArray) -> BoolArray:
    """Return which of some days are holidays of any of the feeds that run on them."""
    # The sum of one random number for each service says which services run on a day.
    feed, service, _, departures = timetable.per_service
    feed, service = feed[departures > 0], service[departures > 0]
    numbers = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, feed.size)
    steps = 7 * np.array([*range(-WEEKS, 0), *range(1, WEEKS + 1)])
    around = unique_values(days[:, None] + np.append(steps, 0))
    marks = timetable.services.totals(service, feed, numbers, len(timetable.feeds), around)
    own = marks[:, np.searchsorted(around, days)]
    first, last = np.array(timetable.spans(), np.int64).T[:, :, None]
    n_same = np.zeros(own.shape, np.int64)
    n_all = np.zeros(own.shape, np.int64)
    for step in steps:
        is_inside = (first <= days + step) & (days + step <= last)
        n_all += is_inside
        n_same += is_inside & (marks[:, np.searchsorted(around, days + step)] == own)
    return np.asarray((runs & (2 * n_same < n_all)).any(axis=0))


def in_service(timetable: Timetable, day: dt.date) -> dict[str, str | int]:
    """Return the date, the departures and the feeds that do not run on a day, for reports."""
    own, busiest = timetable.departures_around(day.toordinal())
    absent = np.flatnonzero(is_little(own, busiest[:-1]))
    return {
        "date": day.isoformat(),
        "weekday": f"{day:%A}",
        "departures": int(own.sum()),
        "feeds_without_service": ", ".join(str(timetable.feeds["name"].iloc[i]) for i in absent) or "none",
    }
