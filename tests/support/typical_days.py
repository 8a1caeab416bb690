"""
The slow twin of `traveltime_lab.transit.typical_day`: every date of the timetable, one after the other.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter

from traveltime_lab.transit.timetable import Timetable

_DAY = dt.timedelta(days=1)


def services_on(timetable: Timetable, date: dt.date) -> set[int]:
    """Return the services that are active on a date."""
    services, ordinal = timetable.services, date.toordinal()
    active = set()
    for i in range(len(services)):
        runs = services.start[i] <= ordinal <= services.end[i] and bool(services.weekdays[i] >> date.weekday() & 1)
        for day, service, added in zip(
            services.exception_date, services.exception_service, services.exception_added, strict=True
        ):
            if service == i and day == ordinal:
                runs = bool(added)
        if runs:
            active.add(i)
    return active


def departures_by_trip(timetable: Timetable) -> list[int]:
    """Return how often each trip departs on a date of its service."""
    times = [0] * timetable.n_trips
    repeated = set(timetable.frequency_trip.tolist())
    for trip in range(timetable.n_trips):
        times[trip] = 0 if trip in repeated else 1
    for trip, start, end, headway in zip(
        timetable.frequency_trip, timetable.frequency_start, timetable.frequency_end, timetable.frequency_headway,
        strict=True,
    ):  # fmt: skip
        times[trip] += len(range(start, end, headway))
    return times


def slow_typical_day(timetable: Timetable, today: dt.date) -> dt.date | None:
    """Return the day of searches without a date."""
    spans = [
        (dt.date.fromordinal(first), dt.date.fromordinal(last)) for first, last in timetable.spans() if first <= last
    ]
    if not spans:
        return None
    feed_of = timetable.routes["feed_idx"].tolist()
    trips = [
        (feed_of[route], service, times)
        for route, service, times in zip(
            timetable.trips["route_idx"], timetable.trips["service_idx"], departures_by_trip(timetable), strict=True
        )
        if times
    ]
    n_feeds = len(timetable.feeds)
    known: dict[dt.date, tuple[list[int], list[frozenset[int]]]] = {}

    def on(date: dt.date) -> tuple[list[int], list[frozenset[int]]]:
        """Return departures and services of each feed."""
        if date not in known:
            active = services_on(timetable, date)
            departures = Counter[int]()
            services: list[set[int]] = [set() for _ in range(n_feeds)]
            for feed, service, times in trips:
                if service in active:
                    departures[feed] += times
                    services[feed].add(service)
            known[date] = [departures[feed] for feed in range(n_feeds)], [frozenset(each) for each in services]
        return known[date]

    def runs(date: dt.date, feed: int) -> bool:
        own = on(date)[0][feed]
        return own > 0 and own >= 0.1 * max(on(date + k * _DAY)[0][feed] for k in range(-7, 8))

    def is_holiday(date: dt.date) -> bool:
        for feed, (first, last) in enumerate(timetable.spans()):
            if not runs(date, feed):
                continue
            others = [date + 7 * k * _DAY for k in range(-4, 5) if k]
            others = [other for other in others if first <= other.toordinal() <= last]
            same = [other for other in others if on(other)[1][feed] == on(date)[1][feed]]
            if 2 * len(same) < len(others):
                return True
        return False

    first, last = min(first for first, _ in spans), max(last for _, last in spans)
    dates = [first + k * _DAY for k in range((last - first).days + 1)]
    dates = [date for date in dates if sum(on(date)[0])]
    for weekdays in ((1, 2, 3), (0, 4), (5, 6)):
        if some := [date for date in dates if date.weekday() in weekdays]:
            dates = some
            break
    if not dates:
        return None
    covering = {date: sum(runs(date, feed) for feed in range(n_feeds)) for date in dates}
    dates = [date for date in dates if covering[date] == max(covering.values())]
    busiest = max(sum(on(date)[0]) for date in dates)
    dates = [date for date in dates if sum(on(date)[0]) >= 0.95 * busiest]
    dates = [date for date in dates if not is_holiday(date)] or dates
    return min(dates, key=lambda date: (abs((date - today).days), -date.toordinal()))
