"""
Find the calls of trips that alerts with ``NO_SERVICE`` close.

A call is closed if its departure by the timetable, or its arrival at the last stop, lies in a period of the alert. That
holds for each repetition of a trip with frequencies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from traveltime_lab._arrays import AnyArray, BoolArray, Int64Array, chosen_rows, unique_values
from traveltime_lab.realtime.apply import repetitions
from traveltime_lab.realtime.match import UNKNOWN_FEED, ordinal_of, origins, rows_by_text, seconds_of
from traveltime_lab.realtime.sources import NONE
from traveltime_lab.transit.timetable import Timetable

#: Days after the message for which its alerts are applied (assumed): a closure until further notice has no end.
MOST_DAYS: Final = 60
_EPOCH_DAY: Final = 719_163

#: Selectors of alerts that are applied, where those that name only a stop, a route or a trip are one for each alert
#: (assumed, as a bound of time).
MOST_SELECTORS: Final = 1_000
_MOST_IDS: Final = 100_000
_VOID: Final = "an active_period is empty, or no time in POSIX seconds"
#: Names of a selector that are looked up.
_IDS: Final = frozenset({"agency_id", "route_id", "stop_id", "trip.route_id", "trip.trip_id"})


@dataclass
class Closures:
    """
    Calls that alerts close.

    Attributes
    ----------
    calls : dict of (int, int) to set of int
        Positions by trip and service date.
    trips : dict of int to bool array of shape (n_trips,)
        By service date, the trips of which fewer than two calls are left.
    repeated : dict of (int, int) to dict of int to set of int
        By trip with frequencies and service date, the positions by departure, in addition to `calls`, where not all
        repetitions are closed.
    """

    calls: dict[tuple[int, int], set[int]] = field(default_factory=dict)
    trips: dict[int, BoolArray] = field(default_factory=dict)
    repeated: dict[tuple[int, int], dict[int, set[int]]] = field(default_factory=dict)
    n: int = 0

    def is_gone(self, trip: int, date: int) -> bool:
        """Return whether fewer than two calls of a trip are left on a date."""
        return date in self.trips and bool(self.trips[date][trip])

    def of(self, trip: int, date: int, n_calls: int) -> set[int]:
        """Return the positions of a trip that are closed on a date."""
        if self.is_gone(trip, date):
            return {*range(n_calls)}
        return self.calls.get((trip, date), set())


def closed_calls(timetable: Timetable, alerts: list[dict[str, Any]], feeds: list[int]) -> tuple[Closures, list[str]]:
    """
    Return the calls that alerts close, and what each alert does as text.

    Parameters
    ----------
    timetable : Timetable
    alerts : list of dict
        See `traveltime_lab.realtime.messages.Messages`.
    feeds : list of int
        Feed of each alert, -1 for any.
    """
    closed = Closures()
    effects = []
    known = _Known(timetable, [s for alert in alerts if alert["effect"] == "NO_SERVICE" for s in alert["selectors"]])
    n_left = MOST_SELECTORS
    for alert, feed in zip(alerts, feeds, strict=True):
        if feed == UNKNOWN_FEED:
            effects.append("no feed of the network has the name that was given")
        elif alert["effect"] != "NO_SERVICE":
            effects.append("note")
        elif not alert["selectors"]:
            effects.append("closes nothing, as it has no informed_entity")
        elif not alert["periods"] and alert["n_void"]:
            effects.append(f"closes nothing, as {_VOID}")
        elif not any(any(period) for period in alert["periods"]) and alert["now"] == NONE:
            effects.append("closes nothing, as neither an active_period nor a time of the message says when")
        else:
            n_before = closed.n
            selectors, n_more = _together(alert["selectors"])
            n_unclear = sum(known.close(selector, feed, alert, closed) for selector in selectors[:n_left])
            n, n_more = closed.n - n_before, n_more + len(selectors[n_left:])
            n_left = max(0, n_left - len(selectors))
            notes = [f"closes {n:,} calls" if n else "closes no call of the timetable"]
            if n_unclear:
                notes.append(f"{n_unclear:,} selectors are of several feeds; say which with feed=")
            if n_more:
                notes.append(f"{n_more:,} more selectors are not applied")
            if alert["n_void"]:
                notes.append(_VOID)
            effects.append("; ".join(notes))
    return closed, effects


def _together(selectors: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """
    Return selectors without repetitions, in which those that name one id each are one with several ids.

    The second value is the number of ids beyond the bound, which are left out.
    """
    found: dict[Any, dict[str, Any]] = {}
    ids: dict[str, dict[str, None]] = {}
    for selector in selectors:
        if len(selector) == 1 and {*selector} <= _IDS:
            ((name, value),) = selector.items()
            ids.setdefault(name, {})[value] = None
            found.setdefault(name, {})
        else:
            found[tuple(sorted(selector.items(), key=str))] = {
                name: (value,) if name in _IDS else value for name, value in selector.items()
            }
    for name, values in ids.items():
        found[name] = {name: tuple(values)[:_MOST_IDS]}
    return list(found.values()), sum(max(0, len(values) - _MOST_IDS) for values in ids.values())


def known_feeds(timetable: Timetable, selectors: list[dict[str, Any]]) -> Callable[[dict[str, Any]], set[int]]:
    """Return a function that gives the feeds which have all ids of one of some selectors, empty for one without ids."""
    return _Known(timetable, selectors).feeds_with


class _Known:
    """The ids that alerts name, in a timetable."""

    def __init__(self, timetable: Timetable, selectors: list[dict[str, Any]]) -> None:
        self.timetable = timetable

        def rows(table: str, column: str, *names: str) -> dict[str, list[int]]:
            requested = [each[name] for each in selectors for name in names if name in each]
            return rows_by_text(getattr(timetable, table)[column], requested)

        self.agencies = rows("agencies", "agency_id", "agency_id")
        self.routes = rows("routes", "route_id", "route_id", "trip.route_id")
        self.stops = rows("stops", "stop_id", "stop_id")
        self.trips = rows("trips", "trip_id", "trip.trip_id")

        tables = {"agency_id": (self.agencies, "agencies"), "stop_id": (self.stops, "stops")}
        tables |= dict.fromkeys(("route_id", "trip.route_id"), (self.routes, "routes"))
        feeds = {name: (known, timetable.column(table, "feed_idx")) for name, (known, table) in tables.items()}
        #: Rows by id, and the feed of each row, by the name in a selector.
        self._feeds = feeds | {"trip.trip_id": (self.trips, timetable.hot.trip_feed)}

    def close(self, selector: dict[str, Any], feed: int, alert: dict[str, Any], closed: Closures) -> int:
        """Add the calls that one selector of an alert closes; return how many of its ids are of several feeds."""
        if feed >= 0 or len(self.timetable.feeds) == 1:
            self._close(selector, feed, alert, closed)
            return 0
        if not _IDS & {*selector}:  # a type of routes, which all feeds may have
            return 1
        if len(selector) > 1:
            feeds = self.feeds_of({name: ids[0] for name, ids in selector.items() if name in _IDS})
            if len(feeds) == 1:
                self._close(selector, feeds.pop(), alert, closed)
            return int(len(feeds) > 1)
        ((name, ids),) = selector.items()
        clear = [each for each in ids if len(self.feeds_of({name: each})) < 2]
        self._close({name: tuple(clear)}, feed, alert, closed)
        return len(ids) - len(clear)

    def feeds_with(self, selector: dict[str, Any]) -> set[int]:
        """Return the feeds that have all ids of a selector, empty for one without ids."""
        named = {name: value for name, value in selector.items() if name in _IDS}
        return self.feeds_of(named) if named else set()

    def feeds_of(self, named: dict[str, str]) -> set[int]:
        """Return the feeds that have all of some ids."""
        found = []
        for name, value in named.items():
            known, feed = self._feeds[name]
            found.append({int(feed[row]) for row in known.get(value, ())})
        return set.intersection(*found)

    def _close(self, selector: dict[str, Any], feed: int, alert: dict[str, Any], closed: Closures) -> None:
        """Add the calls that one selector of an alert closes."""
        trips = self._trips(selector, feed)
        if trips is None or not trips.any():
            return
        timetable, hot = self.timetable, self.timetable.hot
        stops = self._stops(selector, feed)
        if stops is not None:
            calls = np.append(0, np.cumsum(stops[timetable.pattern_stop]))[timetable.pattern_indptr]
            trips &= (np.diff(calls) > 0)[hot.trip_pattern]
        rows = np.flatnonzero(trips)
        if not rows.size:
            return
        start = seconds_of(selector["trip.start_time"]) if "trip.start_time" in selector else None
        only = ordinal_of(selector["trip.start_date"]) if "trip.start_date" in selector else None
        for date in self._dates(alert, rows, only):
            runs = rows[timetable.services_on(date)[hot.trip_service[rows]]]
            if date in closed.trips:
                runs = runs[~closed.trips[date][runs]]
            if runs.size:
                self._close_on(date, runs, stops, alert, closed, start)

    def _trips(self, selector: dict[str, Any], feed: int) -> BoolArray | None:
        """Return the trips that a selector means, of any stop; None for one that names nothing."""
        timetable, hot = self.timetable, self.timetable.hot
        route_table = timetable.routes
        is_meant = np.ones(timetable.n_trips, np.bool_)
        if not {*selector} - {"trip.start_date", "trip.start_time"}:
            return None
        if feed >= 0:
            is_meant &= hot.trip_feed == feed
        routes = np.ones(len(route_table), np.bool_)
        for name in ("route_id", "trip.route_id"):
            if name in selector:
                routes &= _mask(len(route_table), _rows(self.routes, selector[name]))
        if "agency_id" in selector:
            routes &= np.isin(route_table["agency_idx"].to_numpy(), _rows(self.agencies, selector["agency_id"]))
        if "route_type" in selector:
            routes &= route_table["route_type"].to_numpy() == selector["route_type"]
        is_meant &= routes[hot.trip_route]
        for name in ("direction_id", "trip.direction_id"):
            if name in selector:
                is_meant &= timetable.trips["direction_id"].to_numpy() == selector[name]
        if "trip.trip_id" in selector:
            is_meant &= _mask(timetable.n_trips, _rows(self.trips, selector["trip.trip_id"]))
        if "trip.start_time" in selector:
            start = seconds_of(selector["trip.start_time"])
            is_meant &= (hot.is_repeated | (hot.first_departure == start)) & (start != NONE)
        return is_meant

    def _stops(self, selector: dict[str, Any], feed: int) -> BoolArray | None:
        """Return the stops that a selector means, with those of stations; None for all."""
        if "stop_id" not in selector:
            return None
        timetable = self.timetable
        found = _mask(timetable.n_stops, _rows(self.stops, selector["stop_id"]))
        if feed >= 0:
            found &= timetable.column("stops", "feed_idx") == feed
        parent = timetable.column("stops", "parent_idx")
        return np.asarray(found | ((parent >= 0) & found[parent]))

    def _dates(self, alert: dict[str, Any], rows: Int64Array, only: int | None) -> list[int]:
        """Return the service dates that may have calls in the periods of an alert."""
        now = alert["now"]
        spans = [span for span in self.timetable.spans() if span[0] <= span[1]]
        if not spans:
            return []
        first, last = min(a for a, _ in spans), max(b for _, b in spans)
        if only is not None:
            return [only] if first <= only <= last else []
        longest = int(self.timetable.hot.last_arrival[rows].max()) // 86_400 + 1
        dates: set[int] = set()
        for start, end in alert["periods"] or [(None, None)]:
            earliest = start if start is not None else now if now != NONE else end
            if earliest is None:
                continue
            begin = earliest // 86_400 + _EPOCH_DAY - longest - 1
            most = (now if now != NONE else earliest) // 86_400 + _EPOCH_DAY + MOST_DAYS
            until = most if end is None else min(most, end // 86_400 + _EPOCH_DAY + 1)
            dates |= {*range(max(first, begin), min(last, until) + 1)}
        return sorted(dates)

    def _close_on(
        self,
        date: int,
        runs: Int64Array,
        stops: BoolArray | None,
        alert: dict[str, Any],
        closed: Closures,
        start: int | None,
    ) -> None:
        """Add the calls on a date that lie in a period of an alert, of trips and of the repetitions with a start."""
        timetable, hot = self.timetable, self.timetable.hot
        begins = origins(np.full(runs.size, date, np.int64), hot.trip_zone[runs], timetable.zones)
        indptr, at = chosen_rows(timetable.trip_indptr, runs)
        owner = np.repeat(np.arange(runs.size), np.diff(indptr))
        position = np.arange(at.size) - indptr[owner]
        time = timetable.departure[at].astype(np.int64)
        last = indptr[1:] - 1
        time[last] = timetable.arrival[at[last]]
        first_time, last_time = time + begins[owner], time + begins[owner]
        for i in np.flatnonzero(hot.is_repeated[runs]).tolist():
            rows = np.flatnonzero(timetable.frequency_trip == runs[i])
            part = slice(indptr[i], indptr[i + 1])
            offset = time[part] - time[indptr[i]] + begins[i]
            first_time[part] = offset + timetable.frequency_start[rows].min()
            last_time[part] = offset + timetable.frequency_end[rows].max() - 1
        is_meant = np.ones(at.size, np.bool_)
        if stops is not None:
            patterns = hot.trip_pattern[runs]
            calls = np.repeat(timetable.pattern_indptr[patterns], np.diff(indptr)) + position
            is_meant = stops[timetable.pattern_stop[calls]]
        is_closed = is_meant & _in_periods(alert, first_time, last_time)
        # A call may be closed in some repetitions if the interval only overlaps a period.
        is_open = is_meant & (~is_closed if start is None else True) & _in_periods(alert, last_time, first_time)
        for i in unique_values(owner[is_open & hot.is_repeated[runs][owner]]).tolist():
            part = slice(indptr[i], indptr[i + 1])
            offset = time[part] - time[indptr[i]] + begins[i]
            self._close_repetitions((int(runs[i]), date), offset, is_meant[part], alert, closed, start)
        if start is not None:
            is_closed &= ~hot.is_repeated[runs][owner]
        n_closed = np.bincount(owner, is_closed, runs.size)
        is_gone = n_closed > np.diff(indptr) - 2
        closed.n += int(n_closed.sum())
        gone = closed.trips.setdefault(date, np.zeros(timetable.n_trips, np.bool_))
        gone[runs[is_gone]] = True
        for k in np.flatnonzero(is_closed & ~is_gone[owner]).tolist():
            closed.calls.setdefault((int(runs[owner[k]]), date), set()).add(int(position[k]))

    def _close_repetitions(
        self,
        key: tuple[int, int],
        offset: Int64Array,
        is_meant: BoolArray,
        alert: dict[str, Any],
        closed: Closures,
        start: int | None,
    ) -> None:
        """
        Add the calls of the repetitions of a trip on a date that lie in a period of an alert.

        With a start, it is the nearest repetition: at that time, or without exact times up to half a headway away.
        """
        for departures, headway, is_exact in repetitions(self.timetable, key[0]):
            own = departures.astype(np.int64)
            if start is not None:
                far = np.abs(own - start)
                own = own[[far.argmin()]] if far.min() <= (0 if is_exact else headway / 2) else own[:0]
            time = (own[:, None] + offset).ravel()
            inside = _in_periods(alert, time, time).reshape(own.size, offset.size) & is_meant
            for k in np.flatnonzero(inside.any(axis=1)).tolist():
                positions = closed.repeated.setdefault(key, {}).setdefault(int(own[k]), set())
                positions |= {*np.flatnonzero(inside[k]).tolist()}
            closed.n += int(inside.sum())


def _in_periods(alert: dict[str, Any], first: AnyArray, last: AnyArray) -> BoolArray:
    """Return which intervals lie in one of the periods of an alert; without any, from the message on."""
    found = np.zeros(first.size, np.bool_)
    for start, end in alert["periods"] or [(alert["now"] if alert["now"] != NONE else None, None)]:
        inside = np.ones(first.size, np.bool_)
        if start is not None:
            inside &= first >= start
        if end is not None:
            inside &= last < end
        found |= inside
    return found


def _rows(known: dict[str, list[int]], ids: tuple[str, ...]) -> list[int]:
    """Return the rows that have some ids."""
    return [row for each in ids for row in known.get(each, ())]


def _mask(n: int, rows: list[int]) -> BoolArray:
    found = np.zeros(n, np.bool_)
    found[rows] = True
    return found
