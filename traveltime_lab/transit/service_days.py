"""
Find the days with service of a part of a timetable: the trips of some vehicles, or the trips at some stops.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Final

import numpy as np

from traveltime_lab._arrays import BoolArray, Int32Array, indptr_of, unique_values
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.transit.route_types import ridden_routes
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.trip_instances import usable_trips
from traveltime_lab.transit.wheelchair import ridden, rule_of

Trips = BoolArray

_DAY_S: Final = 86_400
#: Number of days to search on either side of a date; timetables rarely pause for longer.
_FARTHEST: Final = 400


def trips_of(timetable: Timetable, transportation: Transportation) -> Trips:
    """
    Return for each trip whether a means of transportation uses it.

    Parameters
    ----------
    timetable : Timetable
    transportation : Transportation
        A timetable type.
    """
    return usable_trips(
        timetable, ridden_routes(timetable.routes, transportation), ridden(timetable, rule_of(transportation))
    )


def trips_at(timetable: Timetable, trips: Trips, stops: Int32Array, *, is_boarding: bool) -> Trips:
    """Return which of some trips have pickup, or drop-off, at one of some stops (stop_idx)."""
    rules = timetable.pattern_pickup if is_boarding else timetable.pattern_drop_off
    hit = np.isin(timetable.pattern_stop, stops) & (rules != 1)
    counts = indptr_of(hit)[timetable.pattern_indptr]
    return np.asarray(trips & (np.diff(counts) > 0)[timetable.hot.trip_pattern])


def stops_of(timetable: Timetable, trips: Trips, *, is_boarding: bool) -> BoolArray:
    """Return for each stop whether one of some trips has pickup, or drop-off, there."""
    rules = timetable.pattern_pickup if is_boarding else timetable.pattern_drop_off
    is_used = np.zeros(timetable.pattern_indptr.size - 1, np.bool_)
    is_used[timetable.hot.trip_pattern[trips]] = True
    calls = np.repeat(is_used, np.diff(timetable.pattern_indptr)) & (rules != 1)
    found = np.zeros(timetable.n_stops, np.bool_)
    found[timetable.pattern_stop[calls]] = True
    return found


def groups(timetable: Timetable) -> list[str]:
    """Return the kinds of vehicles that have trips, sorted by name."""
    routes = unique_values(timetable.hot.trip_route)
    return sorted({str(group) for group in timetable.routes["group"].to_numpy()[routes]})


def runs_on(timetable: Timetable, trips: Trips, date: dt.date) -> bool:
    """Return whether any of some trips runs on a date, including trips of the day before that run past midnight."""
    return _run_on(timetable, *_services(timetable, trips), date.toordinal())


def _services(timetable: Timetable, trips: Trips) -> tuple[Trips, Trips]:
    """Return for each service whether it has any of some trips, and whether one of these runs past midnight."""
    hot = timetable.hot
    ends = hot.last_arrival.astype(np.int64)
    repeated = timetable.frequency_trip
    spans = (hot.last_arrival - hot.first_departure)[repeated]
    np.maximum.at(ends, repeated, timetable.frequency_end.astype(np.int64) + spans)
    found = []
    for chosen in (trips, trips & (ends >= _DAY_S)):
        services = np.zeros(len(timetable.services), np.bool_)
        services[hot.trip_service[chosen]] = True
        found.append(services)
    return found[0], found[1]


def _run_on(timetable: Timetable, by_day: Trips, by_night: Trips, ordinal: int) -> bool:
    """Return whether the services `by_day` are active on a date, or those `by_night` on the day before."""
    if (by_day & timetable.services_on(ordinal)).any():
        return True
    return ordinal > 1 and bool((by_night & timetable.services_on(ordinal - 1)).any())


def span(timetable: Timetable) -> tuple[dt.date, dt.date] | None:
    """Return the first and the last date with service, None if there is none."""
    dates = timetable.dates()
    first, last = dates["first"].dropna(), dates["last"].dropna()
    return (first.min(), last.max()) if len(first) else None


def nearest_days(timetable: Timetable, trips: Trips, date: dt.date) -> Iterator[dt.date]:
    """Yield the dates on which some trips run, nearest to a date first, the later one first if equally near."""
    ends = span(timetable)
    if ends is None:
        return
    first, last = (end.toordinal() for end in ends)
    middle = min(max(date.toordinal(), first), last)
    services = _services(timetable, trips)
    for days in range(_FARTHEST):
        for ordinal in dict.fromkeys((middle + days, middle - days)):
            if first <= ordinal <= last and _run_on(timetable, *services, ordinal):
                yield dt.date.fromordinal(ordinal)


def different_days(timetable: Timetable, trips: Trips, date: dt.date, most: int) -> Iterator[dt.date]:
    """Yield the nearest dates with different services, in the order of `nearest_days`."""
    used = unique_values(timetable.hot.trip_service[trips])
    known: set[bytes] = set()
    for day in nearest_days(timetable, trips, date):
        services = timetable.services_on(day)[used].tobytes()
        if services not in known:
            known.add(services)
            yield day
        if len(known) >= most:
            return
