"""
Decide what each update changes in a timetable, and say why where it changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from traveltime_lab._arrays import Int64Array
from traveltime_lab.realtime.alerts import closed_calls
from traveltime_lab.realtime.apply import Edits, departures_apart, departures_without, planned_run, repetitions
from traveltime_lab.realtime.match import DUPLICATED, GONE, NEW_TRIPS
from traveltime_lab.realtime.messages import Messages
from traveltime_lab.realtime.predictions import Run, predicted
from traveltime_lab.realtime.runs import FAR, Runs
from traveltime_lab.realtime.schema import TRIP_RELATIONS
from traveltime_lab.realtime.sources import NONE
from traveltime_lab.transit.timetable import Timetable

_REPLACEMENT: Final = TRIP_RELATIONS["REPLACEMENT"]
APPLIED: Final = "applied"


class Plan(Runs):
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
    matches, stops, trips
        See `traveltime_lab.realtime.runs.Runs`.
    edits : Edits
    result : list of str
        `APPLIED` or the reason why an update changes nothing, for each update of a trip.
    alert_effect : list of str
        Effect of each alert on the timetable, as text.
    """

    def __init__(self, timetable: Timetable, messages: Messages, feeds: Int64Array, alert_feeds: list[int]) -> None:
        super().__init__(timetable, messages.trips, feeds)
        self.edits = Edits()
        self.result = list(self.matches.reason)
        self._gone: dict[tuple[int, int], list[int]] = {}
        self._route_feed = timetable.column("routes", "feed_idx")
        #: Runs besides those of the timetable by update, with what is counted if they are added.
        self._extra: dict[int, tuple[Run, Counter[str], Counter[str]]] = {}
        #: Updates that cancel such runs.
        self._cancels: set[int] = set()
        self.closed, self.alert_effect = closed_calls(timetable, messages.alerts, alert_feeds)
        self._work()

    def _work(self) -> None:
        extra = self._extra_runs()
        for updates in [*self._runs().values(), *extra.values()]:
            # The latest one that can be applied counts.
            is_done = False
            for u in sorted(updates, key=self._by_time(updates), reverse=True):
                if is_done:
                    self.result[u] = "replaced by a later update of the same trip"
                else:
                    self.result[u] = self._apply(u) or APPLIED
                    is_done = self.result[u] == APPLIED
        self._apply_repetitions()
        self._apply_closures()

    def _by_time(self, updates: list[int]) -> Callable[[int], tuple[int, int]]:
        """Return the key by which updates of one run are in order: by time if each has one, or else as given."""
        times = {u: int(self.updates.timestamp[u]) for u in updates}
        times = {u: int(self.updates.now[u]) if time == NONE else time for u, time in times.items()}
        return (lambda u: (0, u)) if NONE in times.values() else (lambda u: (times[u], u))

    def _runs(self) -> dict[tuple[int, int, int], list[int]]:
        """Return the updates of each run of the timetable, in the order of the first ones."""
        found: dict[tuple[int, int, int], list[int]] = {}
        for u, relation in enumerate(self.updates.relation.tolist()):
            if not self.result[u] and relation not in (*NEW_TRIPS, DUPLICATED) and u not in self._cancels:
                trip = int(self.matches.trip[u])
                start = int(self.matches.start[u]) if self.timetable.hot.is_repeated[trip] else NONE
                found.setdefault((trip, int(self.matches.date[u]), start), []).append(u)
        return found

    def _extra_runs(self) -> dict[tuple[int, str, int], list[int]]:
        """Return the updates of each run besides those of the timetable, by feed, id and date."""
        found: dict[tuple[int, str, int], list[int]] = {}
        for u, relation in enumerate(self.updates.relation.tolist()):
            if self.result[u] not in ("", "new") or relation not in (*NEW_TRIPS, DUPLICATED):
                continue
            counted = self.stops, self.trips
            self.stops, self.trips = Counter(), Counter()
            made = self.duplicate(u) if relation == DUPLICATED else self.add(u)
            if isinstance(made, str):
                self.result[u] = made
            else:
                self._extra[u] = made, self.stops, self.trips
                self.matches.date[u] = made.dates[0]
                feed = self._route_feed[made.route] if made.source < 0 else self.timetable.hot.trip_feed[made.source]
                found.setdefault((int(feed), made.trip_id, made.dates[0]), []).append(u)
            self.stops, self.trips = counted
        self._cancel_extra_runs(found)
        return found

    def _cancel_extra_runs(self, found: dict[tuple[int, str, int], list[int]]) -> None:
        """Add the updates that cancel runs besides those of the timetable."""
        keys: dict[str, list[tuple[int, str, int]]] = {}
        for key in found:
            keys.setdefault(key[1], []).append(key)
        updates, ids = self.updates, self.timetable.trips["trip_id"]
        for u in np.flatnonzero(np.isin(updates.relation, GONE)).tolist():
            name, trip = str(updates.trip_id[u]), int(self.matches.trip[u])
            if name not in keys or (trip >= 0 and ids.iloc[trip] == name):
                continue
            feed, date = int(self.feeds[u]), int(self.matches.date[u])
            own = [
                key for key in keys[name]
                if feed in (-1, key[0]) and (not updates.start_date[u] or date == key[2])
            ]  # fmt: skip
            if len(own) == 1:
                found[own[0]].append(u)
                self._cancels.add(u)

    # One update

    def _apply(self, u: int) -> str:
        """Apply an update; return why it changes nothing."""
        relation, trip = int(self.updates.relation[u]), int(self.matches.trip[u])
        if u in self._cancels:
            self.trips["canceled"] += 1
            return ""
        if u in self._extra:
            extra, stops, trips = self._extra[u]
            self.edits.runs.append(extra)
            self.stops += stops
            self.trips += trips
            self.trips["duplicated" if relation == DUPLICATED else "added"] += 1
            return ""
        date = int(self.matches.date[u])
        if self.timetable.hot.is_repeated[trip]:
            return self._repeated(u, trip, date)
        if relation in GONE:
            self.edits.remove(trip, (date,))
            self.trips["canceled"] += 1
            return ""
        if relation == _REPLACEMENT:
            made = self.from_stops(u, date, int(self.timetable.hot.trip_route[trip]))
            if isinstance(made, str):
                return made
            made.trip_id, made.headsign = str(self.timetable.trips["trip_id"].iloc[trip]), self.headsign(u, trip)
            made.starts = (int(self.timetable.hot.first_departure[trip]),)
            self.edits.remove(trip, (date,))
            self.edits.runs.append(made)
            self.trips["replaced"] += 1
            return ""
        planned = planned_run(self.timetable, trip, (date,))
        n_far = self.stops[FAR]
        run = self.predict(u, planned, date, self.closed.of(trip, date, len(planned.stop)))
        if isinstance(run, str):
            return run
        if run is None:
            self.edits.remove(trip, (date,))
            self.trips["canceled, as fewer than two stops are left"] += 1
        elif run == planned and self.stops[FAR] > n_far:
            return f"its times are {FAR}"
        elif run == planned:
            self.trips["as in the timetable"] += 1
        else:
            self.edits.remove(trip, (date,))
            self.edits.runs.append(run)
            self.trips["with other times or stops"] += 1
        return ""

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
        planned.named = str(self.timetable.trips["trip_id"].iloc[trip])
        planned.trip_id = f"{planned.named}@{self._clock(start)}"
        planned.starts = (start,) if replaced == NONE else (start, replaced)
        closed: set[int] = set()
        if replaced != NONE:
            closed = self.closed.of(trip, date, len(planned.stop))
            closed = closed | self.closed.repeated.get((trip, date), {}).get(replaced, set())
        run = self.predict(u, planned, date, closed)
        if isinstance(run, str):
            return run
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
        """Let the trips with frequencies run without the repetitions that runs take the place of, or alerts close."""
        for trip, date in {**self._gone, **self.closed.repeated}:
            gone, closed = self._gone.get((trip, date), []), self.closed.repeated.get((trip, date), {})
            is_planned = not gone and (not closed or self.closed.is_gone(trip, date))
            if is_planned or date in self.edits.removed.get(trip, ()):
                continue
            self.edits.remove(trip, (date,))
            always = self.closed.of(trip, date, int(np.diff(self.timetable.trip_indptr[trip : trip + 2])[0]))
            has_run = [
                self._run_without(trip, (date,), always | positions, rows)
                for positions, rows in departures_apart(self.timetable, trip, gone, closed).items()
            ]
            if closed:
                self.trips["with repetitions closed by alerts" if any(has_run) else "closed by alerts"] += 1

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
            rows = departures_without(self.timetable, trip, ()) if self.timetable.hot.is_repeated[trip] else []
            has_run = self._run_without(trip, tuple(dates), closed, rows)
            self.trips["with stops closed by alerts" if has_run else "closed by alerts"] += len(dates)

    def _run_without(
        self, trip: int, dates: tuple[int, ...], positions: Iterable[int], rows: list[tuple[int, int, int, bool]]
    ) -> bool:
        """Add a trip without some calls, with rows of frequencies if it is repeated; return whether it is left."""
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
        if rows:
            self.edits.repeated.append((run, [(start + later, end + later, h, exact) for start, end, h, exact in rows]))
        return bool(rows)
