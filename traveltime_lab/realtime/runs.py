"""
Make runs from updates: with the times of a trip and an update, or with the stops and times of an update alone.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterable
from typing import Final

import numpy as np

from traveltime_lab._arrays import Int64Array, unique_values
from traveltime_lab.realtime.apply import planned_run
from traveltime_lab.realtime.match import Matcher, Matches, ordinal_of, origins, rows_by_text, seconds_of
from traveltime_lab.realtime.messages import TripUpdates
from traveltime_lab.realtime.predictions import NO_DATA, SKIPPED, Run, StopUpdate, in_order, predicted
from traveltime_lab.realtime.schema import STOP_RELATIONS
from traveltime_lab.realtime.sources import NONE
from traveltime_lab.transit.stop_sequences import StopSequences
from traveltime_lab.transit.timetable import Timetable

#: Delays of more than a day are mistakes, such as a wrong date (assumed).
MOST_DELAY_S: Final = 86_400
#: Name under which they are counted.
FAR: Final = "more than a day from the timetable"


class Runs:
    """
    The runs that updates describe.

    Parameters
    ----------
    timetable : Timetable
    updates : TripUpdates
    feeds : int64 array of shape (n_updates,)
        See `traveltime_lab.realtime.match.Matcher`.

    Attributes
    ----------
    matches : Matches
    stops : Counter
        Numbers of stop updates by what became of them.
    trips : Counter
        Numbers of trips by what was done.
    """

    #: Delays beyond this are mistakes, s.
    max_delay = MOST_DELAY_S

    def __init__(self, timetable: Timetable, updates: TripUpdates, feeds: Int64Array) -> None:
        self.timetable, self.updates, self.feeds = timetable, updates, feeds
        self.stops: Counter[str] = Counter()
        self.trips: Counter[str] = Counter()
        self.matches: Matches = Matcher(timetable, updates, feeds).found()
        self._spans = timetable.spans()
        self._stop_rows = rows_by_text(timetable.stops["stop_id"], [*updates.stop_id, *updates.assigned])
        self._stop_feed = timetable.column("stops", "feed_idx")
        self._route_rows = rows_by_text(timetable.routes["route_id"], updates.route_id)

    # With the times of a trip

    def headsign(self, u: int, trip: int) -> str:
        """Return the headsign of an update, or else that of a trip."""
        return str(self.updates.headsign[u] or self.timetable.trips["trip_headsign"].iloc[trip])

    def predict(self, u: int, planned: Run, date: int, closed: Iterable[int] = ()) -> Run | str | None:
        """
        Return a run with the times of an update, None if fewer than two stops are left, or why it does not fit.
        """
        delay = int(self.updates.delay[u])
        trip_delay = None if delay == NONE else delay
        if trip_delay is not None and abs(trip_delay) > self.max_delay:
            self.stops[FAR] += 1
            trip_delay = None
        updates, carried = self._stop_updates(u, planned, date)
        if not updates and not carried and trip_delay is None and self.updates.indptr[u] < self.updates.indptr[u + 1]:
            return "none of its stops can be used"
        position, arrival, departure, is_repaired = self._times(planned, updates, trip_delay, {*closed}, carried)
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
            short_name=planned.short_name, is_repaired=is_repaired, named=planned.named, starts=planned.starts,
        )  # fmt: skip

    def _times(
        self,
        planned: Run,
        updates: dict[int, StopUpdate],
        trip_delay: int | None,
        skipped: set[int],
        carried: dict[int, int | None],
    ) -> tuple[list[int], list[int], list[int], bool]:
        """Return the calls that remain and their times; see `predicted`."""
        return predicted(planned.arrival, planned.departure, updates, trip_delay, skipped, carried)

    def _stop_updates(self, u: int, planned: Run, date: int) -> tuple[dict[int, StopUpdate], dict[int, int | None]]:
        """
        Return the stop updates of an update by position in a trip.

        The second dict has the delays at stops that the trip does not have, such as those that a scenario removes, by
        the position of the next stop.
        """
        updates, hot = self.updates, self.timetable.hot
        trip = planned.source
        sequences = StopSequences.of_trip(self.timetable, trip)
        by_sequence = {value: i for i, value in enumerate(sequences)}
        feed = int(hot.trip_feed[trip])
        origin = int(origins(np.array([date]), hot.trip_zone[trip : trip + 1], self.timetable.zones)[0])
        found: dict[int, StopUpdate] = {}
        carried: dict[int, int | None] = {}
        following = 0
        for s in range(int(updates.indptr[u]), int(updates.indptr[u + 1])):
            at = self._position(s, planned.stop, by_sequence, feed, following)
            if at < 0:
                delay = self._delay_without_stop(s)
                if sequences[0] < updates.sequence[s] < sequences[-1] and delay != NONE:
                    carried[bisect(sequences, int(updates.sequence[s]))] = delay
                    self.stops["between stops of the trip, held for the next"] += 1
                else:
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
        return found, carried

    def _delay_without_stop(self, s: int) -> int | None:
        """Return the delay after a stop without planned times, None for the timetable, `NONE` if it is unknown."""
        updates = self.updates
        relation = int(updates.stop_relation[s])
        if relation == NO_DATA:
            return None
        if relation == SKIPPED or max(updates.arrival_time[s], updates.departure_time[s]) > 0:
            return NONE
        given = [int(each[s]) for each in (updates.departure_delay, updates.arrival_delay) if each[s] != NONE]
        return given[0] if given and abs(given[0]) <= self.max_delay else NONE

    def _delay(self, s: int, name: str, planned: int) -> int | None:
        """Return the delay of an arrival or departure; its time takes precedence over its delay."""
        time, delay = (int(getattr(self.updates, f"{name}_{what}")[s]) for what in ("time", "delay"))
        # Some feeds write 0 for an unknown time.
        value = time - planned if time not in (NONE, 0) else delay
        if value == NONE:
            return None
        if abs(value) > self.max_delay:
            self.stops[FAR] += 1
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

    def add(self, u: int) -> Run | str:
        """Return the run of a new trip, or why there is none."""
        updates, timetable = self.updates, self.timetable
        feed, trip = int(self.feeds[u]), int(self.matches.trip[u])
        routes = self._route_rows.get(updates.route_id[u], [])
        routes = [row for row in routes if feed in (-1, int(timetable.routes["feed_idx"].iloc[row]))]
        if len(routes) > 1:
            return "the route is in several feeds; say which with feed="
        route = routes[0] if routes else int(timetable.hot.trip_route[trip]) if trip >= 0 else self._route_of_stops(u)
        if route < 0:
            return "new trip of an unknown route"
        run = self.from_stops(u, int(self.matches.date[u]), route)
        if isinstance(run, str):
            return run
        run.trip_id = str(updates.new_id[u] or updates.trip_id[u] or updates.entity[u] or "new")
        run.headsign = str(updates.headsign[u])
        return run

    def _route_of_stops(self, u: int) -> int:
        """Return the only route whose trips call at the stops of an update in this order, -1 for none or several."""
        updates, timetable, hot = self.updates, self.timetable, self.timetable.hot
        part = slice(updates.indptr[u], updates.indptr[u + 1])
        stops = [self._stop(stop, int(self.feeds[u])) for stop in updates.stop_id[part]]
        if len(stops) < 2 or min(stops) < 0:
            return -1
        routes: set[int] = set()
        calling = np.flatnonzero(timetable.pattern_stop == stops[0])
        for pattern in unique_values(np.searchsorted(timetable.pattern_indptr, calling, "right") - 1).tolist():
            calls = iter(timetable.pattern_stop[slice(*timetable.pattern_indptr[pattern : pattern + 2])].tolist())
            if all(stop in calls for stop in stops):
                routes |= {*unique_values(hot.trip_route[hot.trip_pattern == pattern]).tolist()}
        return routes.pop() if len(routes) == 1 else -1

    def from_stops(self, u: int, date: int, route: int) -> Run | str:
        """Return a run with the stops and times of an update alone, or why there is none."""
        updates, timetable = self.updates, self.timetable
        feed, zone = (int(timetable.routes[name].iloc[route]) for name in ("feed_idx", "zone_idx"))
        stops, times, types = [], [], []
        for s in range(int(updates.indptr[u]), int(updates.indptr[u + 1])):
            if updates.stop_relation[s] == SKIPPED:
                continue
            stop = self._stop(updates.assigned[s] or updates.stop_id[s], feed)
            if stop < 0:
                return "a stop of the new trip is unknown"
            arrival, departure = int(updates.arrival_time[s]), int(updates.departure_time[s])
            if max(arrival, departure) <= 0:
                return "a stop of the new trip has no time"
            stops.append(stop)
            times += [arrival if arrival > 0 else departure, departure if departure > 0 else arrival]
            types.append([int(each[s]) if 0 <= each[s] <= 3 else 0 for each in (updates.pickup, updates.drop_off)])
        if len(stops) < 2:
            return "new trip with fewer than two stops"
        first, last = self._spans[feed]
        if date < 0:
            date = self._day_of(times[0], zone)
        origin = int(origins(np.array([date]), np.array([zone]), timetable.zones)[0]) if first <= date <= last else 0
        if not origin or not all(abs(time - origin) < 3 * MOST_DELAY_S for time in times):
            return "new trip outside the dates of the timetable"
        ordered, is_repaired = in_order([time - origin for time in times], [True] * len(times))
        self.trips["with times that decreased, which were raised"] += is_repaired
        return Run(
            -1, (date,), list(range(len(stops))), stops, [each[0] for each in types], [each[1] for each in types],
            ordered[0::2], ordered[1::2], is_new=True, route=route, is_repaired=is_repaired,
            starts=() if (start := seconds_of(updates.start_time[u])) == NONE else (start,),
        )  # fmt: skip

    def _day_of(self, time: int, zone: int) -> int:
        """Return the service date in which a moment lies, -1 outside the calendar."""
        around = time // 86_400 + 719_163
        for date in range(around - 2, around + 3):
            begins = origins(np.array([date, date + 1]), np.array([zone, zone]), self.timetable.zones)
            if begins[0] <= time < begins[1]:
                return date
        return -1

    def duplicate(self, u: int) -> Run | str:
        """Return the run of a trip that runs once more, at another time, or why there is none."""
        updates, timetable = self.updates, self.timetable
        trip, date = int(self.matches.trip[u]), int(self.matches.date[u])
        if updates.new_date[u]:
            date = ordinal_of(updates.new_date[u])
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
        planned.starts = (planned.departure[0],)
        return self.predict(u, planned, date) or "fewer than two stops are left"
