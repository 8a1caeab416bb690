"""
On which days a part of a timetable runs: the trips of some vehicles, or those that call at some stops.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Final

import numpy as np

from traveltime_lab._arrays import BoolArray, Int32Array
from traveltime_lab.transit.route_types import is_selected
from traveltime_lab.transit.timetable import Timetable

Trips = BoolArray

_DAY_S: Final = 86_400
#: Days looked through on either side of a date; timetables rarely pause for longer.
_FARTHEST: Final = 400


def trips_of(timetable: Timetable, vehicles: str) -> Trips:
    """
    Return by trip whether a kind of vehicle runs it.

    Parameters
    ----------
    timetable : Timetable
    vehicles : str
        As `Transportation.vehicles`.
    """
    if vehicles == "public_transport":
        return np.ones(timetable.n_trips, np.bool_)
    return np.asarray(is_selected(timetable.column("routes", "group"), vehicles)[timetable.hot.trip_route])


def trips_at(timetable: Timetable, trips: Trips, stops: Int32Array, *, is_boarding: bool) -> Trips:
    """Return which of some trips call at one of some stops (stop_idx) to let people in, or out."""
    rules = timetable.pattern_pickup if is_boarding else timetable.pattern_drop_off
    hit = np.isin(timetable.pattern_stop, stops) & (rules != 1)
    counts = np.concatenate([[0], np.cumsum(hit)])[timetable.pattern_indptr]
    return np.asarray(trips & (np.diff(counts) > 0)[timetable.hot.trip_pattern])


def stops_of(timetable: Timetable, trips: Trips, *, is_boarding: bool) -> BoolArray:
    """Return by stop whether one of some trips lets people in there, or out."""
    rules = timetable.pattern_pickup if is_boarding else timetable.pattern_drop_off
    is_used = np.zeros(timetable.pattern_indptr.size - 1, np.bool_)
    is_used[timetable.hot.trip_pattern[trips]] = True
    calls = np.repeat(is_used, np.diff(timetable.pattern_indptr)) & (rules != 1)
    found = np.zeros(timetable.n_stops, np.bool_)
    found[timetable.pattern_stop[calls]] = True
    return found


def groups(timetable: Timetable) -> list[str]:
    """Return the kinds of vehicles that have trips, in order of name."""
    routes = np.unique(timetable.hot.trip_route)
    return sorted({str(group) for group in timetable.routes["group"].to_numpy()[routes]})


def runs_on(timetable: Timetable, trips: Trips, date: dt.date) -> bool:
    """Return whether any of some trips is on its way on a date, those from the night before included."""
    return _run_on(timetable, *_services(timetable, trips), date.toordinal())


def _services(timetable: Timetable, trips: Trips) -> tuple[Trips, Trips]:
    """Return by service whether any of some trips belongs to it, and whether one of these goes on past midnight."""
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
    """Return whether some services run on a date, or others did the night before."""
    if (by_day & timetable.services_on(ordinal)).any():
        return True
    return ordinal > 1 and bool((by_night & timetable.services_on(ordinal - 1)).any())


def span(timetable: Timetable) -> tuple[dt.date, dt.date] | None:
    """Return the first and the last date on which any trip runs, None if none ever does."""
    dates = timetable.dates()
    first, last = dates["first"].dropna(), dates["last"].dropna()
    return (first.min(), last.max()) if len(first) else None


def nearest_days(timetable: Timetable, trips: Trips, date: dt.date) -> Iterator[dt.date]:
    """Yield the dates on which some trips run, the nearest to a date first and the later of equally near ones."""
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
    """Yield the nearest dates whose services differ, as `nearest_days` does."""
    used = np.unique(timetable.hot.trip_service[trips])
    known: set[bytes] = set()
    for day in nearest_days(timetable, trips, date):
        services = timetable.services_on(day)[used].tobytes()
        if services not in known:
            known.add(services)
            yield day
        if len(known) >= most:
            return
