"""
Decide what each update changes in a timetable, and say why where it changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import numpy as np

from traveltime_lab._arrays import Int64Array
from traveltime_lab.realtime.alerts import closed_calls
from traveltime_lab.realtime.apply import Edits, departures_without, planned_run, repetitions
from traveltime_lab.realtime.match import GONE, NEW_TRIPS, Matcher, Matches, origins, rows_by_text, seconds_of
from traveltime_lab.realtime.match import ordinal_of as ordinal
from traveltime_lab.realtime.messages import Messages
from traveltime_lab.realtime.predictions import NO_DATA, SKIPPED, Run, StopUpdate, in_order, predicted
from traveltime_lab.realtime.schema import STOP_RELATIONS, TRIP_RELATIONS
from traveltime_lab.realtime.sources import NONE
from traveltime_lab.transit.stop_sequences import StopSequences
from traveltime_lab.transit.timetable import Timetable

#: Delays of more than a day are mistakes, such as a wrong date (assumed).
MOST_DELAY_S: Final = 86_400
_REPLACEMENT, _DUPLICATED = TRIP_RELATIONS["REPLACEMENT"], TRIP_RELATIONS["DUPLICATED"]
APPLIED: Final = "applied"


class Plan:
    """
    The edits of a timetable that follow from updates.

    Parameters
    ----------
    timetable : Timetable
    messages : Messages
    feeds : int64 array of shape (n_updates,)
        See `traveltime_lab.realtime.match.Matcher`.
    alert_feeds : list of int
        Likewise for each alert.

    Attributes
    ----------
    edits : Edits
    matches : Matches
    result : list of str
        `APPLIED` or the reason why an update changes nothing, for each update of a trip.
    stops : Counter
        Numbers of stop updates by what became of them.
    trips : Counter
        Numbers of trips by what was done.
    alert_effect : list of str
        Effect of each alert on the timetable, as text.
    """

    def __init__(self, timetable: Timetable, messages: Messages, feeds: Int64Array, alert_feeds: list[int]) -> None:
        self.timetable, self.messages, self.updates = timetable, messages, messages.trips
        self.feeds = feeds
        self.edits = Edits()
        self.stops: Counter[str] = Counter()
        self.trips: Counter[str] = Counter()
        updates = self.updates
        self.matches: Matches = Matcher(timetable, updates, feeds).found()
        self.result = list(self.matches.reason)
        self._spans = timetable.spans()
        self._stop_rows = rows_by_text(timetable.stops["stop_id"], [*updates.stop_id, *updates.assigned])
        self._stop_feed = timetable.stops["feed_idx"].to_numpy()
        self._route_rows = rows_by_text(timetable.routes["route_id"], updates.route_id)
        self._gone: dict[tuple[int, int], list[int]] = {}
        self._extra: set[tuple[int, str, int]] = set()
        self.closed, self.alert_effect = closed_calls(timetable, messages.alerts, alert_feeds)
        self._work()

    def _work(self) -> None:
        updates = self.updates
        claimed: dict[tuple[int, int, int], int] = {}
        order = np.lexsort((np.arange(len(updates)), updates.timestamp))
        # The last update of a run counts.
        for u in order.tolist():
            relation = int(updates.relation[u])
            if self.result[u] or relation in (*NEW_TRIPS, _DUPLICATED):
                continue
            trip = int(self.matches.trip[u])
            start = int(self.matches.start[u]) if self.timetable.hot.is_repeated[trip] else NONE
            key = trip, int(self.matches.date[u]), start
            if key in claimed:
                self.result[claimed[key]] = "replaced by a later update of the same trip"
            claimed[key] = u
        for u in range(len(updates)):
            if not self.result[u] or self.result[u] == "new":
                self.result[u] = self._apply(u) or APPLIED
        self._apply_repetitions()
        self._apply_closures()

    # One update

    def _apply(self, u: int) -> str:
        """Apply an update; return why it changes nothing."""
        relation, trip = int(self.updates.relation[u]), int(self.matches.trip[u])
        if relation in NEW_TRIPS:
            return self._add(u, trip)
        date = int(self.matches.date[u])
        if relation == _DUPLICATED:
            return self._duplicate(u, trip)
        if self.timetable.hot.is_repeated[trip]:
            return self._repeated(u, trip, date)
        if relation in GONE:
            self.edits.remove(trip, (date,))
            self.trips["canceled"] += 1
            return ""
        if relation == _REPLACEMENT:
            run, reason = self._from_stops(u, date, int(self.timetable.hot.trip_route[trip]))
            if run is None:
                return reason
            run.trip_id, run.headsign = str(self.timetable.trips["trip_id"].iloc[trip]), self._headsign(u, trip)
            self.edits.remove(trip, (date,))
            self.edits.runs.append(run)
            self.trips["replaced"] += 1
            return ""
        planned = planned_run(self.timetable, trip, (date,))
        run = self._predict(u, planned, date, self.closed.of(trip, date, len(planned.stop)))
        if run is None:
            self.edits.remove(trip, (date,))
            self.trips["canceled, as fewer than two stops are left"] += 1
        elif run == planned:
            self.trips["as in the timetable"] += 1
        else:
            self.edits.remove(trip, (date,))
            self.edits.runs.append(run)
            self.trips["with other times or stops"] += 1
        return ""

    def _headsign(self, u: int, trip: int) -> str:
        return str(self.updates.headsign[u] or self.timetable.trips["trip_headsign"].iloc[trip])

    def _predict(self, u: int, planned: Run, date: int, closed: Iterable[int] = ()) -> Run | None:
        """Return a run with the times of an update; None if fewer than two stops are left."""
        delay = int(self.updates.delay[u])
        trip_delay = None if delay == NONE else delay
        if trip_delay is not None and abs(trip_delay) > MOST_DELAY_S:
            self.stops["more than a day from the timetable"] += 1
            trip_delay = None
        updates = self._stop_updates(u, planned, date)
        position, arrival, departure, is_repaired = predicted(
            planned.arrival, planned.departure, updates, trip_delay, {*closed}
        )
        if len(position) < 2:
            return None
        self.trips["with times that decreased, which were raised"] += is_repaired
        found = [updates.get(i, StopUpdate()) for i in position]
        return Run(
            planned.source, planned.dates, [planned.position[i] for i in position],
            [planned.stop[i] if own.stop < 0 else own.stop for i, own in zip(position, found, strict=True)],
            [planned.pickup[i] if own.pickup < 0 else own.pickup for i, own in zip(position, found, strict=True)],
            [planned.drop_off[i] if own.drop_off < 0 else own.drop_off for i, own in zip(position, found, strict=True)],
            arrival, departure, planned.is_new, trip_id=planned.trip_id, headsign=planned.headsign,
            short_name=planned.short_name, is_repaired=is_repaired,
        )  # fmt: skip

    def _stop_updates(self, u: int, planned: Run, date: int) -> dict[int, StopUpdate]:
        """Return the stop updates of an update by position in a trip."""
        updates, hot = self.updates, self.timetable.hot
        trip = planned.source
        by_sequence = {value: i for i, value in enumerate(StopSequences.of_trip(self.timetable, trip))}
        feed = int(hot.trip_feed[trip])
        origin = int(origins(np.array([date]), hot.trip_zone[trip : trip + 1], self.timetable.zones)[0])
        found: dict[int, StopUpdate] = {}
        following = 0
        for s in range(int(updates.indptr[u]), int(updates.indptr[u + 1])):
            at = self._position(s, planned.stop, by_sequence, feed, following)
            if at < 0:
                self.stops["not a stop of the trip"] += 1
                continue
            following = at + 1
            events: list[int | None] = []
            for name, time in (("arrival", planned.arrival[at]), ("departure", planned.departure[at])):
                events.append(self._delay(s, name, origin + time))
            relation = int(updates.stop_relation[s])
            if relation not in STOP_RELATIONS.values():
                self.stops["unknown schedule_relationship"] += 1
                continue
            self.stops[{SKIPPED: "skipped", NO_DATA: "without data"}.get(relation, "with times")] += 1
            assigned = -1
            if updates.assigned[s]:
                assigned = self._stop(updates.assigned[s], feed)
                self.stops["assigned to another stop" if assigned >= 0 else "unknown assigned_stop_id"] += 1
            pickup, drop_off = (
                int(each[s]) if 0 <= each[s] <= 3 else -1 for each in (updates.pickup, updates.drop_off)
            )
            found[at] = StopUpdate(relation, events[0], events[1], assigned, pickup, drop_off)
        return found

    def _delay(self, s: int, name: str, planned: int) -> int | None:
        """Return the delay of an arrival or departure; its time takes precedence over its delay."""
        time, delay = (int(getattr(self.updates, f"{name}_{what}")[s]) for what in ("time", "delay"))
        # Some feeds write 0 for an unknown time.
        value = time - planned if time not in (NONE, 0) else delay
        if value == NONE:
            return None
        if abs(value) > MOST_DELAY_S:
            self.stops["more than a day from the timetable"] += 1
            return None
        return value

    def _position(self, s: int, stops: list[int], by_sequence: dict[int, int], feed: int, following: int) -> int:
        """Return the position of a stop update in a trip, -1 for none."""
        updates = self.updates
        named = {row for row in self._stop_rows.get(updates.stop_id[s], ()) if self._stop_feed[row] == feed}
        at = by_sequence.get(int(updates.sequence[s]), -1)
        if at >= 0 and (not named or stops[at] in named):
            return at
        if named:
            later = [i for i in range(following, len(stops)) if stops[i] in named]
            if later:
                return later[0]
            if at < 0:
                return next((i for i, stop in enumerate(stops) if stop in named), -1)
        # A different stop at a known sequence: the platform of a station, which assigned_stop_id has to confirm.
        return at

    def _stop(self, stop_id: str, feed: int) -> int:
        """Return the row of a stop of a feed, or of any if it is -1 and only one has it; -1 for none."""
        rows = [row for row in self._stop_rows.get(stop_id, ()) if feed in (-1, int(self._stop_feed[row]))]
        return rows[0] if len(rows) == 1 else -1

    # New trips

    def _add(self, u: int, trip: int) -> str:
        """Apply an update of a new trip."""
        updates, timetable = self.updates, self.timetable
        feed = int(self.feeds[u])
        routes = self._route_rows.get(updates.route_id[u], [])
        routes = [row for row in routes if feed in (-1, int(timetable.routes["feed_idx"].iloc[row]))]
        if len(routes) > 1:
            return "the route is in several feeds; say which with feed="
        route = routes[0] if routes else int(timetable.hot.trip_route[trip]) if trip >= 0 else self._route_of_stops(u)
        if route < 0:
            return "new trip of an unknown route"
        run, reason = self._from_stops(u, int(self.matches.date[u]), route)
        if run is None:
            return reason
        run.trip_id = str(updates.new_id[u] or updates.trip_id[u] or updates.entity[u] or "new")
        run.headsign = str(updates.headsign[u])
        return self._extra_run(run, int(timetable.routes["feed_idx"].iloc[route]), "added")

    def _extra_run(self, run: Run, feed: int, what: str) -> str:
        """Add a run besides those of the timetable, once."""
        key = feed, run.trip_id, run.dates[0]
        if key in self._extra:
            return "a new trip with this id is there already"
        self._extra.add(key)
        self.edits.runs.append(run)
        self.trips[what] += 1
        return ""

    def _route_of_stops(self, u: int) -> int:
        """Return the only route whose trips call at the stops of an update in this order, -1 for none or several."""
        updates, timetable, hot = self.updates, self.timetable, self.timetable.hot
        part = slice(updates.indptr[u], updates.indptr[u + 1])
        stops = [self._stop(stop, int(self.feeds[u])) for stop in updates.stop_id[part]]
        if len(stops) < 2 or min(stops) < 0:
            return -1
        routes: set[int] = set()
        calling = np.flatnonzero(timetable.pattern_stop == stops[0])
        for pattern in np.unique(np.searchsorted(timetable.pattern_indptr, calling, "right") - 1).tolist():
            calls = iter(timetable.pattern_stop[slice(*timetable.pattern_indptr[pattern : pattern + 2])].tolist())
            if all(stop in calls for stop in stops):
                routes |= {*np.unique(hot.trip_route[hot.trip_pattern == pattern]).tolist()}
        return routes.pop() if len(routes) == 1 else -1

    def _from_stops(self, u: int, date: int, route: int) -> tuple[Run | None, str]:
        """Return a run with the stops and times of an update alone, or why there is none."""
        updates, timetable = self.updates, self.timetable
        feed, zone = (int(timetable.routes[name].iloc[route]) for name in ("feed_idx", "zone_idx"))
        stops, times, types = [], [], []
        for s in range(int(updates.indptr[u]), int(updates.indptr[u + 1])):
            if updates.stop_relation[s] == SKIPPED:
                continue
            stop = self._stop(updates.assigned[s] or updates.stop_id[s], feed)
            if stop < 0:
                return None, "a stop of the new trip is unknown"
            arrival, departure = int(updates.arrival_time[s]), int(updates.departure_time[s])
            if max(arrival, departure) <= 0:
                return None, "a stop of the new trip has no time"
            stops.append(stop)
            times += [arrival if arrival > 0 else departure, departure if departure > 0 else arrival]
            types.append([int(each[s]) if 0 <= each[s] <= 3 else 0 for each in (updates.pickup, updates.drop_off)])
        if len(stops) < 2:
            return None, "new trip with fewer than two stops"
        first, last = self._spans[feed]
        if date < 0:
            date = self._day_of(times[0], zone)
        origin = int(origins(np.array([date]), np.array([zone]), timetable.zones)[0]) if first <= date <= last else 0
        if not origin or not all(abs(time - origin) < 3 * MOST_DELAY_S for time in times):
            return None, "new trip outside the dates of the timetable"
        ordered, is_repaired = in_order([time - origin for time in times], [True] * len(times))
        self.trips["with times that decreased, which were raised"] += is_repaired
        return Run(
            -1, (date,), list(range(len(stops))), stops, [each[0] for each in types], [each[1] for each in types],
            ordered[0::2], ordered[1::2], is_new=True, route=route, is_repaired=is_repaired,
        ), ""  # fmt: skip

    def _day_of(self, time: int, zone: int) -> int:
        """Return the service date in which a moment lies, -1 outside the calendar."""
        around = time // 86_400 + 719_163
        for date in range(around - 2, around + 3):
            begins = origins(np.array([date, date + 1]), np.array([zone, zone]), self.timetable.zones)
            if begins[0] <= time < begins[1]:
                return date
        return -1

    def _duplicate(self, u: int, trip: int) -> str:
        """Apply an update of a trip that runs once more, at another time."""
        updates, timetable = self.updates, self.timetable
        date = int(self.matches.date[u])
        if updates.new_date[u]:
            date = ordinal(updates.new_date[u])
        first, last = self._spans[int(timetable.hot.trip_feed[trip])]
        if not first <= date <= last:
            return "start_date of the duplicated trip is no date of the timetable"
        text = updates.new_time[u] or updates.start_time[u]
        start = seconds_of(text) if text else NONE
        if text and start == NONE:
            return "start_time is no time (HH:MM:SS)"
        planned = planned_run(timetable, trip, (date,))
        planned.is_new = True
        planned.trip_id = str(updates.new_id[u] or f"{updates.trip_id[u]}+duplicated")
        planned.headsign, planned.short_name = str(updates.headsign[u]), str(updates.short_name[u])
        later = 0 if start == NONE else start - planned.departure[0]
        planned.arrival = [time + later for time in planned.arrival]
        planned.departure = [time + later for time in planned.departure]
        run = self._predict(u, planned, date)
        if run is None:
            return "fewer than two stops are left"
        return self._extra_run(run, int(timetable.hot.trip_feed[trip]), "duplicated")

    # Repeated trips

    def _repeated(self, u: int, trip: int, date: int) -> str:
        """Apply an update of one repetition of a trip with frequencies, or of all without a start."""
        start, relation = int(self.matches.start[u]), int(self.updates.relation[u])
        if start == NONE:
            if relation not in GONE:
                return "start_time is missing, which says which repetition of the trip is meant"
            self.edits.remove(trip, (date,))
            self.trips["canceled"] += 1
            return ""
        gone = self._gone.setdefault((trip, date), [])
        replaced = self._repetition(trip, start, gone)
        if isinstance(replaced, str):
            return replaced
        if relation in GONE:
            if replaced == NONE:
                return "no repetition of the trip starts then"
            gone.append(replaced)
            self.trips["canceled"] += 1
            return ""
        if relation == _REPLACEMENT:
            return "REPLACEMENT of a trip with frequencies is not supported"
        planned = planned_run(self.timetable, trip, (date,))
        later = start - planned.departure[0]
        planned.arrival = [time + later for time in planned.arrival]
        planned.departure = [time + later for time in planned.departure]
        planned.is_new = True
        planned.trip_id = f"{self.timetable.trips['trip_id'].iloc[trip]}@{self._clock(start)}"
        run = self._predict(u, planned, date, self.closed.of(trip, date, len(planned.stop)))
        if replaced != NONE:
            gone.append(replaced)
        if run is not None:
            self.edits.runs.append(run)
        self.trips["with other times or stops" if replaced != NONE else "added"] += 1
        return ""

    @staticmethod
    def _clock(seconds: int) -> str:
        return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"

    def _repetition(self, trip: int, start: int, gone: list[int]) -> int | str:
        """
        Return the departure that a run takes the place of, `NONE` for none, or why the run cannot be.

        For rows without exact times, it is the nearest that is left, at most half a headway away.
        """
        best, least = NONE, 0
        is_exact = True
        for departures, headway, exact in repetitions(self.timetable, trip):
            is_exact &= exact
            left = departures[~np.isin(departures, gone)]
            if not left.size:
                continue
            nearest = int(left[np.abs(left - start).argmin()])
            far = abs(nearest - start)
            if far <= (0 if exact else headway / 2) and (best == NONE or far < least):
                best, least = nearest, far
        if best == NONE and is_exact:
            return "no repetition of the trip starts then"
        return best

    def _apply_repetitions(self) -> None:
        """Let the trips with frequencies run without the repetitions that runs take the place of."""
        for (trip, date), gone in self._gone.items():
            if gone and date not in self.edits.removed.get(trip, ()):
                self.edits.remove(trip, (date,))
                n_calls = int(np.diff(self.timetable.trip_indptr[trip : trip + 2])[0])
                self._run_without(trip, (date,), self.closed.of(trip, date, n_calls), gone)

    # Alerts

    def _apply_closures(self) -> None:
        """Leave out the calls that alerts close, of trips without an update of their own."""
        same: dict[tuple[int, frozenset[int]], list[int]] = {}
        gone: dict[int, list[int]] = {}
        for date, is_gone in self.closed.trips.items():
            for trip in np.flatnonzero(is_gone).tolist():
                if date not in self.edits.removed.get(trip, ()):
                    gone.setdefault(trip, []).append(date)
        for trip, dates in gone.items():
            self.edits.remove(trip, dates)
            self.trips["closed by alerts"] += len(dates)
        for (trip, date), positions in self.closed.calls.items():
            if date not in self.edits.removed.get(trip, ()):
                same.setdefault((trip, frozenset(positions)), []).append(date)
        for (trip, closed), dates in same.items():
            self.edits.remove(trip, dates)
            has_run = self._run_without(trip, tuple(dates), closed)
            self.trips["with stops closed by alerts" if has_run else "closed by alerts"] += len(dates)

    def _run_without(
        self, trip: int, dates: tuple[int, ...], positions: Iterable[int], gone: Iterable[int] = ()
    ) -> bool:
        """Add a trip without some calls, and without some of its repetitions; return whether any of it is left."""
        planned = planned_run(self.timetable, trip, dates)
        left, arrival, departure, _ = predicted(planned.arrival, planned.departure, {}, None, {*positions})
        if len(left) < 2:
            return False
        run = Run(
            trip, dates, left, [planned.stop[i] for i in left], [planned.pickup[i] for i in left],
            [planned.drop_off[i] for i in left], arrival, departure,
        )  # fmt: skip
        if not self.timetable.hot.is_repeated[trip]:
            self.edits.runs.append(run)
            return True
        later = departure[0] - planned.departure[0]
        rows = [
            (start + later, end + later, headway, exact)
            for start, end, headway, exact in departures_without(self.timetable, trip, gone)
        ]
        if rows:
            self.edits.repeated.append((run, rows))
        return bool(rows)
