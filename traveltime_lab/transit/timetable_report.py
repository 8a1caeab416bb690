"""
Report on the feeds of a timetable.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import unique_values

if TYPE_CHECKING:
    from traveltime_lab.transit.timetable import Timetable

_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def facts_of(timetable: Timetable) -> dict[str, Any]:
    """Return facts about each feed by its name; see `Timetable.report`."""
    facts: dict[str, Any] = {}
    stop_feed = np.bincount(timetable.column("stops", "feed_idx"), minlength=len(timetable.feeds))
    route_feed = np.bincount(timetable.column("routes", "feed_idx"), minlength=len(timetable.feeds))
    trip_feed = np.bincount(timetable.hot.trip_feed, minlength=len(timetable.feeds))
    routes = timetable.column("trips", "route_idx")[unique_values(timetable.frequency_trip[~timetable.frequency_exact])]
    by_headway = np.bincount(
        timetable.column("routes", "feed_idx")[unique_values(routes)], minlength=len(timetable.feeds)
    )
    used = unique_values(timetable.hot.trip_route)
    with_trips = np.bincount(timetable.column("routes", "feed_idx")[used], minlength=len(timetable.feeds))
    for i, (name, first, last) in enumerate(timetable.named_spans()):
        monday, counts = _busiest_week(timetable, i)
        label = next(text for k in range(i, 2 * i + 2) if (text := name if k == i else f"{name} ({k})") not in facts)
        facts[label] = {
            "timezone": timetable.feed_zones[i],
            "first_date": str(first or "never"),
            "last_date": str(last or "never"),
            "stops": int(stop_feed[i]),
            "routes": int(route_feed[i]),
            "trips": int(trip_feed[i]),
            "lines_with_trips": int(with_trips[i]),
            "lines_by_headway": int(by_headway[i]),
            "week_of": str(monday or "never"),
            "trips_per_weekday": dict(zip(_WEEKDAYS, counts, strict=True)),
            "last_date_by_weekday": _last_dates(timetable, i),
            **(timetable.notes[i] if i < len(timetable.notes) else {}),
        }
    return facts


def days_left(timetable: Timetable, day: dt.date) -> pd.DataFrame:
    """Return the dates with service of each feed, and the days that are left on a day; see `Report.expiry`."""
    dates = timetable.dates()
    left = [None if last is None else (last - day).days for last in dates["last"]]
    table = pd.DataFrame({"feed": list(timetable.report())})
    table["first"], table["last"] = dates["first"].to_numpy(object), dates["last"].to_numpy(object)
    return table.assign(days_left=pd.array(left, dtype="Int64"))


def headway_lines(timetable: Timetable) -> pd.DataFrame:
    """Return the lines that run by headway without exact times; see `Report.headways`."""
    rows = np.flatnonzero(~timetable.frequency_exact)
    route = timetable.hot.trip_route[timetable.frequency_trip[rows]]
    order = np.argsort(route, kind="stable")
    mine, first = np.unique(route[order], return_index=True)
    routes, labels = timetable.routes.iloc[mine], np.array([*timetable.report()], object)
    headway = timetable.frequency_headway[rows][order].astype(np.int64)
    least, most = (fn.reduceat(headway, first) if mine.size else headway for fn in (np.minimum, np.maximum))
    names = routes["route_short_name"].to_numpy(object), routes["route_long_name"].to_numpy(object)
    with_times = np.bincount(timetable.hot.trip_route[~timetable.hot.is_repeated], minlength=len(timetable.routes))
    return pd.DataFrame(
        {
            "feed": labels[routes["feed_idx"].to_numpy()],
            "route_id": routes["route_id"].to_numpy(object),
            "line": [short or long or "" for short, long in zip(*names, strict=True)],
            "mode": routes["mode"].to_numpy(object),
            "least_headway": least,
            "most_headway": most,
            "trips_with_times": with_times[mine].astype(np.int64),
        }
    )


def _busiest_week(timetable: Timetable, feed: int) -> tuple[dt.date | None, list[int]]:
    """Return the Monday of the week with most trips, and the number of trips on its seven days."""
    first, last = timetable.spans()[feed]
    if first > last:
        return None, [0] * 7
    mondays = unique_values(
        np.linspace(first - (first - 1) % 7, last - (last - 1) % 7, 60).astype(np.int64) // 7 * 7 + 1
    )
    per_service = timetable.per_service
    is_own = per_service.feed == feed
    service, trips = per_service.service[is_own], per_service.trips[is_own]
    best: tuple[int, list[int]] = (0, [0] * 7)
    for monday in mondays:
        counts = [int(trips @ timetable.services_on(int(day))[service]) for day in range(monday, monday + 7)]
        if sum(counts) > sum(best[1]):
            best = (int(monday), counts)
    return (dt.date.fromordinal(best[0]) if best[0] else None), best[1]


def _last_dates(timetable: Timetable, feed: int) -> dict[str, str]:
    """Return the last date with a trip on each day of the week."""
    has_trips = np.zeros(len(timetable.services), np.bool_)
    has_trips[timetable.per_service.service[timetable.per_service.feed == feed]] = True
    found = timetable.services.last_by_weekday(has_trips)
    dates = [str(dt.date.fromordinal(day)) if day else "never" for day in found.tolist()]
    return dict(zip(_WEEKDAYS, dates, strict=True))
