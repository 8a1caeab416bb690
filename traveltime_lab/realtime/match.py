"""
Find the trips, service dates and repetitions that updates are about.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from traveltime_lab._arrays import AnyArray, BoolArray, Int64Array, unique_values, within_rows
from traveltime_lab._checks import did_you_mean
from traveltime_lab.errors import InputError
from traveltime_lab.realtime.messages import TripUpdates
from traveltime_lab.realtime.schema import TRIP_RELATIONS
from traveltime_lab.realtime.sources import NONE
from traveltime_lab.transit.calendar import day_origin
from traveltime_lab.transit.timetable import Timetable

#: An update without a date is about the day on which its trip runs nearest to the time of the update, at most 12 hours
#: away (assumed: half a day, so that at most one run of a daily trip comes into question).
FARTHEST_S: Final = 43_200
#: Trips of New York's subway have their start in the id, in hundredths of minutes: ``036050_2..S07R``.
_NYCT: Final = re.compile(r"(-?\d{6})_([A-Z0-9]{1,3})\.\.?([NS])")
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()
#: Days before and after the day in UTC on which a trip may have begun.
_DAYS: Final = np.arange(-3, 3)
#: No feed of the network has the name that was given.
UNKNOWN_FEED: Final = -2

NEW_TRIPS: Final = (TRIP_RELATIONS["ADDED"], TRIP_RELATIONS["NEW"])
DUPLICATED: Final = TRIP_RELATIONS["DUPLICATED"]
GONE: Final = (TRIP_RELATIONS["CANCELED"], TRIP_RELATIONS["DELETED"])


@dataclass
class Matches:
    """
    The trip, date and start that each update is about.

    Attributes
    ----------
    trip, date : int64 arrays of shape (n,)
        Row of the trip and service date as an ordinal; -1 for none.
    start : int64 array of shape (n,), s
        Time at which the trip starts, by the update; `NONE` where it says nothing.
    reason : list of str
        Why there is no trip; empty if there is one.
    """

    trip: Int64Array
    date: Int64Array
    start: Int64Array
    reason: list[str]


def rows_by_text(column: pd.Series, requested: Iterable[str]) -> dict[str, list[int]]:
    """Return the rows of a column of texts that have some of the texts."""
    unique = list({*requested} - {""})
    if not unique or not len(column):
        return {}
    values = pa.array(column)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    at = pc.index_in(values.cast(pa.large_string()), value_set=pa.array(unique, pa.large_string()))
    code = at.fill_null(-1).to_numpy(zero_copy_only=False)
    found: dict[str, list[int]] = {}
    for row in np.flatnonzero(code >= 0).tolist():
        found.setdefault(unique[int(code[row])], []).append(row)
    return found


def seconds_of(text: str) -> int:
    """Return a time such as ``25:15:30`` in seconds, `NONE` for none."""
    found = re.fullmatch(r"\s*(\d{1,3}):([0-5]\d)(?::([0-5]\d))?\s*", text)
    return NONE if found is None else int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3] or 0)


def ordinal_of(text: str) -> int:
    """Return a date such as ``20190514`` as an ordinal, -1 for none."""
    if re.fullmatch(r"\d{8}", text) is None:
        return -1
    try:
        return dt.date(int(text[:4]), int(text[4:6]), int(text[6:])).toordinal()
    except ValueError:
        return -1


def feed_number(names: Sequence[str], name: str | None) -> int:
    """
    Return the number of a feed by name, -1 for None, `UNKNOWN_FEED` if several have the name.

    Raises
    ------
    InputError
        If none has.
    """
    if name is None:
        return -1
    if name not in names:
        raise InputError(
            f"no feed of the network is called {name!r}; there are {', '.join(map(repr, names))}"
            f"{did_you_mean(name, names)}"
        )
    rows = [number for number, each in enumerate(names) if each == name]
    return rows[0] if len(rows) == 1 else UNKNOWN_FEED


class Matcher:
    """
    A timetable whose trips are looked up.

    Parameters
    ----------
    timetable : Timetable
    updates : TripUpdates
    feeds : int64 array of shape (n_updates,)
        Number of the feed of each update, -1 for any, `UNKNOWN_FEED` for one that is not there.
    """

    def __init__(self, timetable: Timetable, updates: TripUpdates, feeds: Int64Array) -> None:
        self.timetable, self.updates, self.feeds = timetable, updates, feeds
        self._rows = rows_by_text(timetable.trips["trip_id"], updates.trip_id)
        self._routes = rows_by_text(timetable.routes["route_id"], updates.route_id)
        self._on: dict[int, BoolArray] = {}
        self._by_start: dict[int, tuple[Int64Array, Int64Array]] = {}
        self._route_feed = timetable.column("routes", "feed_idx")
        self._stop_feed = timetable.column("stops", "feed_idx")
        self._known_starts: dict[tuple[int, int], list[int]] = {}
        spans = [span for span in timetable.spans() if span[0] <= span[1]]
        self._first = min((first for first, _ in spans), default=0)
        self._last = max((last for _, last in spans), default=-1)
        self._stops_of = rows_by_text(timetable.stops["stop_id"], updates.stop_id)

    def found(self) -> Matches:
        """Return the trip of each update."""
        updates, n = self.updates, len(self.updates)
        start = np.array([seconds_of(text) if text else NONE for text in updates.start_time], np.int64)
        out = Matches(np.full(n, -1), np.full(n, -1), start, [""] * n)
        candidates: list[list[int]] = []
        for each in range(n):
            reason, rows = self._candidates(each, out)
            out.reason[each] = reason
            candidates.append(rows)
        # Candidates on days: pairs of an update and a trip, then with each day that may be meant.
        counts = np.array([len(rows) for rows in candidates], np.int64)
        trip = np.array([row for rows in candidates for row in rows], np.int64)
        self._choose(out, np.repeat(np.arange(n), counts), trip)
        return out

    def _candidates(self, u: int, out: Matches) -> tuple[str, list[int]]:
        """Return why an update can have no trip, or the trips that it may be about."""
        updates, hot = self.updates, self.timetable.hot
        relation, feed = int(updates.relation[u]), int(self.feeds[u])
        if feed == UNKNOWN_FEED:
            return "no feed of the network has the name that was given", []
        if updates.is_modified[u]:
            return "trip modifications are not supported", []
        if relation not in TRIP_RELATIONS.values():
            return "unknown schedule_relationship", []
        date = updates.start_date[u]
        if date:
            out.date[u] = ordinal_of(date)
            if out.date[u] < 0:
                return "start_date is no date (YYYYMMDD)", []
            if not self._first <= out.date[u] <= self._last:
                return "start_date is outside the dates of the timetable", []
        elif relation == DUPLICATED and updates.new_date[u]:
            out.date[u] = ordinal_of(updates.new_date[u])
            if not self._first <= out.date[u] <= self._last:
                return "start_date of the duplicated trip is no date of the timetable", []
        if updates.start_time[u] and out.start[u] == NONE:
            return "start_time is no time (HH:MM:SS)", []
        rows = [row for row in self._rows.get(updates.trip_id[u], []) if feed in (-1, int(hot.trip_feed[row]))]
        if rows:
            return "", rows
        if relation in NEW_TRIPS:
            return "new", []
        return self._by_route(u, out)

    def _by_route(self, u: int, out: Matches) -> tuple[str, list[int]]:
        """Return the trips of a route that start at the time of an update; without a start, why there are none."""
        updates = self.updates
        known, letter = updates.trip_id[u], ""
        named = _NYCT.match(known) if known else None
        if named is not None and out.start[u] == NONE:
            hundredths, letter = int(named[1]), named[3]
            out.start[u] = round(hundredths * 0.6)
        routes = self._routes.get(updates.route_id[u], [])
        if not known and not updates.route_id[u]:
            return "names neither a trip nor a route", []
        if known and not routes:
            return "unknown trip_id", []
        if not routes:
            return "unknown route_id", []
        if out.start[u] == NONE:
            return ("unknown trip_id" if known else "names neither a trip nor a start_time"), []
        feed, direction = int(self.feeds[u]), int(updates.direction[u])
        found: list[int] = []
        for route in routes:
            if feed in (-1, int(self._route_feed[route])):
                key = route, int(out.start[u])
                if key not in self._known_starts:
                    self._known_starts[key] = self._starting(*key)
                found += self._known_starts[key]
        if direction != NONE and len(found) > 1:
            directions = self.timetable.trips["direction_id"].to_numpy()
            found = [row for row in found if directions[row] == direction] or found
        if found and (letter or len(found) > 1):
            found = self._calling(u, found, letter)
        if not found:
            return ("unknown trip_id, and " if known else "") + "no trip of the route starts at that time", []
        return "", found

    def _starting(self, route: int, start: int) -> list[int]:
        """Return the trips of a route that start at a time, with those that are repeated then."""
        hot, timetable = self.timetable.hot, self.timetable
        if route not in self._by_start:
            rows = np.flatnonzero((hot.trip_route == route) & ~hot.is_repeated)
            order = np.argsort(hot.first_departure[rows], kind="stable")
            self._by_start[route] = rows[order], hot.first_departure[rows[order]].astype(np.int64)
        rows, times = self._by_start[route]
        first, last = np.searchsorted(times, [start, start + 1])
        mine = hot.trip_route[timetable.frequency_trip] == route
        mine &= (timetable.frequency_start <= start) & (start < timetable.frequency_end)
        fits = (start - timetable.frequency_start) % timetable.frequency_headway == 0
        repeated = unique_values(timetable.frequency_trip[mine & (fits | ~timetable.frequency_exact)])
        return [*rows[first:last].tolist(), *repeated.tolist()]

    def _calling(self, u: int, trips: list[int], letter: str) -> list[int]:
        """Return the trips that call at all stops of an update, those of the feed, in their order."""
        updates, timetable = self.updates, self.timetable
        ids = updates.stop_id[updates.indptr[u] : updates.indptr[u + 1]]
        if letter and any(stop and stop[-1] in "NS" and stop[-1] != letter for stop in ids):
            return []
        found = []
        for trip in trips:
            feed, pattern = int(timetable.hot.trip_feed[trip]), int(timetable.hot.trip_pattern[trip])
            calls = iter(
                timetable.pattern_stop[timetable.pattern_indptr[pattern] : timetable.pattern_indptr[pattern + 1]]
            )
            requested = [[row for row in self._stops_of.get(stop, []) if self._stop_feed[row] == feed] for stop in ids]
            if all(any(call == row for call in calls) for rows in requested for row in rows[:1]):
                found.append(trip)
        return found

    def _is_on(self, service: Int64Array, date: Int64Array) -> BoolArray:
        """Return whether services are active on dates."""
        result = np.zeros(date.size, np.bool_)
        if not date.size:
            return result
        order = np.argsort(date, kind="stable")
        days, begins = np.unique(date[order], return_index=True)
        for day, at in zip(days.tolist(), np.split(order, begins[1:]), strict=True):
            if self._first <= day <= self._last:
                if day not in self._on:
                    self._on[day] = self.timetable.services_on(day)
                result[at] = self._on[day][service[at]]
        return result

    def _choose(self, out: Matches, u: Int64Array, trip: Int64Array) -> None:
        """Choose the trip and the day of each update among candidates."""
        every_u, every_trip = u, trip
        hot, updates = self.timetable.hot, self.updates
        has_date = out.date[u] >= 0
        reference = reference_times(updates)[u]
        known = has_date | (reference != NONE)
        for each in unique_values(u[~known]).tolist():
            out.reason[each] = "neither a start_date nor a time says the day"
        u, trip, has_date, reference = u[known], trip[known], has_date[known], reference[known]
        n_days = np.where(has_date, 1, _DAYS.size)
        pair = np.repeat(np.arange(u.size), n_days)
        step = within_rows(n_days)
        days = np.where(has_date[pair], out.date[u[pair]], _EPOCH + reference[pair] // 86_400 + _DAYS[step])
        is_on = self._is_on(hot.trip_service[trip[pair]].astype(np.int64), days)
        # The source of a duplicated trip need not run on that day.
        has_run = np.zeros(len(updates), np.bool_)
        has_run[u[pair[is_on]]] = True
        is_on |= (updates.relation[u[pair]] == DUPLICATED) & ~has_run[u[pair]]
        pair, days = pair[is_on], days[is_on]
        origin = origins(days, hot.trip_zone[trip[pair]], self.timetable.zones)
        span = (hot.last_arrival - hot.first_departure)[trip[pair]]
        first = np.where(
            hot.is_repeated[trip[pair]] & (out.start[u[pair]] != NONE),
            out.start[u[pair]],
            hot.first_departure[trip[pair]],
        )
        before = origin + first - reference[pair]
        far = np.where(has_date[pair], 0, np.maximum(np.maximum(before, -before - span), 0))
        is_near = far <= FARTHEST_S
        pair, days, far, before = pair[is_near], days[is_near], far[is_near], before[is_near]
        order = np.lexsort((np.abs(before), far, u[pair]))
        pair, days = pair[order], days[order]
        chosen: dict[int, list[tuple[int, int]]] = {}
        for owner, row, day in zip(u[pair].tolist(), trip[pair].tolist(), days.tolist(), strict=True):
            chosen.setdefault(owner, []).append((row, day))
        for each in {*u.tolist()} - {*chosen}:
            dated = out.date[each] >= 0
            out.reason[each] = f"the trip does not run {'on its start_date' if dated else 'at that time'}"
        for each, runs in chosen.items():
            trips = {row for row, _ in runs}
            if len(trips) == 1:
                out.trip[each], out.date[each] = runs[0]
            elif len({int(hot.trip_feed[row]) for row in trips}) > 1:
                out.reason[each] = "the trip is in several feeds; say which with feed="
            else:
                out.reason[each] = "several trips start at that time"
        # A new trip may have the id of one that runs on other days only, and then its route.
        for each, row in zip(every_u.tolist(), every_trip.tolist(), strict=True):
            if updates.relation[each] in NEW_TRIPS and each not in chosen:
                out.reason[each], out.trip[each] = "new", row


def reference_times(updates: TripUpdates) -> Int64Array:
    """Return a moment of each update: the first time of a stop, or else when it was written; `NONE` for none."""
    found = np.where(updates.timestamp != NONE, updates.timestamp, updates.now)
    times = np.where(updates.departure_time > 0, updates.departure_time, updates.arrival_time)
    has_time = np.flatnonzero((times > 0) & (times < 253_402_300_799))
    row = np.repeat(np.arange(len(updates)), np.diff(updates.indptr))[has_time]
    rows, first = np.unique(row, return_index=True)
    found[rows] = times[has_time[first]]
    return found


def origins(days: Int64Array, zone: AnyArray, zones: Sequence[str]) -> Int64Array:
    """Return the POSIX seconds from which the times of service dates count, in time zones given by number."""
    if not days.size:
        return np.zeros(0, np.int64)
    key = days.astype(np.int64) * len(zones) + zone
    unique, inverse = np.unique(key, return_inverse=True)
    values: list[Any] = [day_origin(int(k) // len(zones), zones[int(k) % len(zones)]) for k in unique]
    return np.array(values, np.int64)[inverse]
