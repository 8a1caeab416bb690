"""
Write runs of trips into a timetable, which hold on their service dates only.

Trips of the timetable keep their rows. One that runs differently on some dates gets a service without them, and a copy
with a service of these dates is appended. Tables and arrays that do not change are shared with the timetable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import AnyArray, Int64Array
from traveltime_lab.realtime.growing import Growing
from traveltime_lab.realtime.predictions import Run
from traveltime_lab.transit.calendar import Services
from traveltime_lab.transit.stop_sequences import StopSequences
from traveltime_lab.transit.timetable import Timetable

#: Transfer types of GTFS by which passengers stay seated, or may not.
_SEATED: Final = (4, 5)


@dataclass
class Edits:
    """
    The differences from the timetable.

    Attributes
    ----------
    removed : dict of int to set of int
        Trips by row, and the service dates on which the trip of the timetable does not run.
    runs : list of Run
    repeated : list of (Run, list of tuple)
        Runs that are repeated, with rows of start, end, headway and whether it is exact.
    """

    removed: dict[int, set[int]] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    repeated: list[tuple[Run, list[tuple[int, int, int, bool]]]] = field(default_factory=list)

    def remove(self, trip: int, dates: Iterable[int]) -> None:
        """Let a trip of the timetable not run on some dates."""
        self.removed.setdefault(trip, set()).update(dates)

    def copies(self, n_trips: int) -> dict[int, Run]:
        """Return the runs by their rows in the timetable with the edits, given the number of its planned trips."""
        return dict(enumerate([*self.runs, *(run for run, _ in self.repeated)], n_trips))

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self.removed or self.runs or self.repeated)


class _NewServices:
    """Services that are appended to those of a timetable."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        order = np.argsort(services.exception_service, kind="stable")
        self._order, self._by_service = order, services.exception_service[order]
        self._rows: list[tuple[int, int, int]] = []
        self._exceptions: list[tuple[int, int, bool]] = []

    def _number(self, key: tuple[int, tuple[int, ...]]) -> tuple[int, bool]:
        is_new = key not in self._numbers
        return self._numbers.setdefault(key, len(self._services) + len(self._numbers)), is_new

    def only_on(self, dates: Iterable[int]) -> int:
        """Return the service of some dates."""
        key = (-1, tuple(sorted({*dates})))
        number, is_new = self._number(key)
        if is_new:
            self._rows.append((0, 1, 0))
            self._exceptions += [(date, number, True) for date in key[1]]
        return number

    def without(self, service: int, dates: Iterable[int]) -> int:
        """Return a service of the timetable without some dates."""
        key = (service, tuple(sorted({*dates})))
        number, is_new = self._number(key)
        if is_new:
            old = self._services
            self._rows.append((int(old.weekdays[service]), int(old.start[service]), int(old.end[service])))
            begin, end = np.searchsorted(self._by_service, [service, service + 1])
            own = self._order[begin:end]
            kept = own[~np.isin(old.exception_date[own], key[1])]
            self._exceptions += [
                (int(date), number, bool(is_added))
                for date, is_added in zip(old.exception_date[kept], old.exception_added[kept], strict=True)
            ]
            self._exceptions += [(date, number, False) for date in key[1]]
        return number

    def all(self) -> Services:
        """Return the services of the timetable and the new ones."""
        if not self._rows:
            return self._services
        weekdays, start, end = zip(*self._rows, strict=True)
        dates, numbers, added = zip(*self._exceptions, strict=True) if self._exceptions else ((), (), ())
        new = Services(
            np.array(weekdays, np.uint8), np.array(start, np.int32), np.array(end, np.int32),
            np.array(dates, np.int32), np.array(numbers, np.int32) - np.int32(len(self._services)),
            np.array(added, np.bool_),
        )  # fmt: skip
        return Services.joined([self._services, new])


class _NewPatterns:
    """Patterns and courses that are appended to those of a timetable."""

    def __init__(self, timetable: Timetable) -> None:
        self._timetable = timetable
        self._patterns: dict[tuple[tuple[int, ...], ...], int] = {}
        self._courses: dict[tuple[Any, ...], int] = {}
        self.stops: list[tuple[tuple[int, ...], ...]] = []
        self.courses: list[tuple[int, int, AnyArray, AnyArray]] = []
        self._course_of = timetable.trips["course_idx"].to_numpy()

    def of(self, run: Run) -> tuple[int, int]:
        """Return the pattern and the course of a run."""
        timetable, hot = self._timetable, self._timetable.hot
        own = (tuple(run.stop), tuple(run.pickup), tuple(run.drop_off))
        shape, along, sign = -1, np.full(len(run.stop), np.nan, np.float32), np.zeros(len(run.stop), np.int32)
        if run.source >= 0:
            pattern, course = int(hot.trip_pattern[run.source]), int(self._course_of[run.source])
            if own == self._planned(pattern):
                return pattern, course
            at = int(timetable.course_indptr[course]) + np.array(run.position)
            shape = int(timetable.course_shape[course])
            along, sign = timetable.course_along[at], timetable.course_headsign[at]
        if own not in self._patterns:
            self._patterns[own] = timetable.pattern_indptr.size - 1 + len(self.stops)
            self.stops.append(own)
        pattern = self._patterns[own]
        key = (pattern, shape, along.tobytes(), sign.tobytes())
        if key not in self._courses:
            self._courses[key] = timetable.course_indptr.size - 1 + len(self.courses)
            self.courses.append((pattern, shape, along, sign))
        return pattern, self._courses[key]

    def _planned(self, pattern: int) -> tuple[tuple[int, ...], ...]:
        timetable = self._timetable
        at = slice(timetable.pattern_indptr[pattern], timetable.pattern_indptr[pattern + 1])
        columns = (timetable.pattern_stop, timetable.pattern_pickup, timetable.pattern_drop_off)
        return tuple(tuple(column[at].tolist()) for column in columns)

    def values(self) -> dict[str, Any]:
        """Return the fields of the timetable that change."""
        old = self._timetable
        if not self.stops:
            return {}
        lengths = [len(own[0]) for own in self.stops]

        def appended(name: str, new: Sequence[Any]) -> AnyArray:
            array = getattr(old, name)
            return np.concatenate([array, np.array(new, array.dtype)])

        flat = [[value for own in self.stops for value in own[i]] for i in range(3)]
        course_lengths = [each[2].size for each in self.courses]
        return {
            "pattern_indptr": np.append(old.pattern_indptr, old.pattern_indptr[-1] + np.cumsum(lengths)),
            "pattern_stop": appended("pattern_stop", flat[0]),
            "pattern_pickup": appended("pattern_pickup", flat[1]),
            "pattern_drop_off": appended("pattern_drop_off", flat[2]),
            "course_pattern": appended("course_pattern", [each[0] for each in self.courses]),
            "course_shape": appended("course_shape", [each[1] for each in self.courses]),
            "course_indptr": np.append(old.course_indptr, old.course_indptr[-1] + np.cumsum(course_lengths)),
            "course_along": np.concatenate([old.course_along, *(each[2] for each in self.courses)]),
            "course_headsign": np.concatenate([old.course_headsign, *(each[3] for each in self.courses)]),
        }


def applied(timetable: Timetable, edits: Edits, growing: Growing | None = None) -> Timetable:
    """
    Return a timetable with edits; the same one if there are none.

    Parameters
    ----------
    timetable : Timetable
    edits : Edits
        With the trips before them; see `with_trips_before`.
    growing : Growing, optional
        Memory of the times, which all timetables with edits of this one share.

    Returns
    -------
    Timetable
        The trips of the timetable, in their order, then one row for each run.
    """
    if not edits:
        return timetable
    services, patterns = _NewServices(timetable.services), _NewPatterns(timetable)
    service = timetable.hot.trip_service.copy()
    for trip, dates in edits.removed.items():
        service[trip] = services.without(int(service[trip]), dates)
    runs = [*edits.runs, *(run for run, _ in edits.repeated)]
    at = [patterns.of(run) for run in runs]
    own = [services.only_on(run.dates) for run in runs]
    values = patterns.values()
    if runs:
        values |= _times(timetable, runs, growing or Growing())
    values |= _frequencies(timetable, edits, len(edits.runs))
    return replace(
        timetable,
        trips=_trips(timetable, runs, service, at, own),
        services=services.all(),
        transfers=_transfers(timetable, runs),
        feed_spans=timetable.spans(),
        **values,
    )


def planned_run(timetable: Timetable, trip: int, dates: tuple[int, ...]) -> Run:
    """Return a trip of the timetable, with its own times, on some dates."""
    times = slice(timetable.trip_indptr[trip], timetable.trip_indptr[trip + 1])
    pattern = timetable.hot.trip_pattern[trip]
    calls = slice(timetable.pattern_indptr[pattern], timetable.pattern_indptr[pattern + 1])
    stop = timetable.pattern_stop[calls].tolist()
    return Run(
        trip, dates, list(range(len(stop))), stop, timetable.pattern_pickup[calls].tolist(),
        timetable.pattern_drop_off[calls].tolist(), timetable.arrival[times].tolist(),
        timetable.departure[times].tolist(),
    )  # fmt: skip


def _times(timetable: Timetable, runs: Sequence[Run], growing: Growing) -> dict[str, Any]:
    lengths = [len(run.stop) for run in runs]
    values: dict[str, Any] = {
        "trip_indptr": np.append(timetable.trip_indptr, timetable.trip_indptr[-1] + np.cumsum(lengths)),
    }
    for name in ("arrival", "departure"):
        new = np.array([time for run in runs for time in getattr(run, name)], np.int32)
        values[name] = growing.longer(name, getattr(timetable, name), new)
    if timetable.sequences is not None or any(run.position != list(range(len(run.stop))) for run in runs):
        old = StopSequences.all_of(timetable)
        own = [
            old[timetable.trip_indptr[run.source] + np.array(run.position)]
            if run.source >= 0
            else np.arange(1, len(run.stop) + 1, dtype=np.int32)
            for run in runs
        ]
        values["sequences"] = StopSequences(growing.longer("sequences", old, np.concatenate(own).astype(np.int32)))
    return values


def _trips(
    timetable: Timetable, runs: Sequence[Run], service: AnyArray, at: Sequence[tuple[int, int]], own: Sequence[int]
) -> pd.DataFrame:
    """Return the table of trips, with runs appended."""
    planned = timetable.trips
    if not np.array_equal(service, timetable.hot.trip_service):
        planned = planned.assign(service_idx=service)
    if not runs:
        return planned
    # Runs without a trip have the columns of any trip until they get their own.
    new = timetable.trips.iloc[[max(run.source, 0) for run in runs]].reset_index(drop=True)
    ids, signs, names = (new[name].to_numpy(object).copy() for name in ("trip_id", "trip_headsign", "trip_short_name"))
    columns = {name: new[name].to_numpy().copy() for name in new.columns if new[name].dtype.kind == "i"}
    for i, run in enumerate(runs):
        if run.source < 0:
            signs[i] = names[i] = ""
            columns["route_idx"][i] = run.route
            for name in ("direction_id", "wheelchair_accessible", "bikes_allowed"):
                columns[name][i] = 0
        if run.source < 0 or run.is_new:
            columns["block_idx"][i] = -1
        ids[i] = run.trip_id or ids[i]
        signs[i] = run.headsign or signs[i]
        names[i] = run.short_name or names[i]
    columns["service_idx"][:] = own
    columns["pattern_idx"][:] = [pattern for pattern, _ in at]
    columns["course_idx"][:] = [course for _, course in at]
    texts = {"trip_id": ids, "trip_headsign": signs, "trip_short_name": names}
    for name, values in (columns | texts).items():
        new[name] = pd.Series(values, dtype=planned[name].dtype)
    return pd.concat([planned, new], ignore_index=True)


def _frequencies(timetable: Timetable, edits: Edits, n_before: int) -> dict[str, Any]:
    """Return the rows of frequencies, with those of the copies of repeated trips."""
    rows = [(timetable.n_trips + n_before + i, *row) for i, (_, rows) in enumerate(edits.repeated) for row in rows]
    if not rows:
        return {}
    names = ("trip", "start", "end", "headway", "exact")
    return {
        f"frequency_{name}": np.concatenate(
            [getattr(timetable, f"frequency_{name}"), np.array(column, getattr(timetable, f"frequency_{name}").dtype)]
        )
        for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }


def _seated(timetable: Timetable) -> list[tuple[int, int, int, int]]:
    """
    Return the pairs of trips between which passengers stay seated, or may not.

    Each is the row of transfers, the two trips, and 0 if the second begins on the service date of the first, otherwise
    1: it begins on the next one if it would begin before the end of the first.
    """
    frame, hot = timetable.transfers, timetable.hot
    pairs = frame[["from_trip_idx", "to_trip_idx"]].to_numpy()
    rows = np.flatnonzero(np.isin(frame["transfer_type"].to_numpy(), _SEATED) & (pairs >= 0).all(axis=1))
    later = hot.first_departure[pairs[rows, 1]] < hot.last_arrival[pairs[rows, 0]]
    return [
        (int(row), int(pairs[row, 0]), int(pairs[row, 1]), int(late)) for row, late in zip(rows, later, strict=True)
    ]


def with_trips_before(timetable: Timetable, edits: Edits) -> Edits:
    """
    Return edits in which the trips before those that change, whose passengers stay seated, have copies of their own.

    The trip of the timetable cannot continue as the copy of another: it would on the day before, too.
    """
    before: dict[int, list[tuple[int, int]]] = {}
    for _, first, second, later in _seated(timetable):
        before.setdefault(second, []).append((first, later))
    copied = {(run.source, date) for run in edits.runs if run.source >= 0 and not run.is_new for date in run.dates}
    left = [key for key in copied if key[0] in before]
    if not left:
        return edits
    removed = {trip: {*dates} for trip, dates in edits.removed.items()}
    found = Edits(removed, list(edits.runs), edits.repeated)
    while left:
        trip, date = left.pop()
        for first, later in before.get(trip, ()):
            key = first, date - later
            runs = timetable.services_on(key[1])[timetable.hot.trip_service[first]]
            if runs and key not in copied and key[1] not in removed.get(first, ()):
                found.remove(first, (key[1],))
                found.runs.append(planned_run(timetable, first, (key[1],)))
                copied.add(key)
                left.append(key)
    return found


def _transfers(timetable: Timetable, runs: Sequence[Run]) -> pd.DataFrame:
    """Return the transfers with those by which passengers stay seated in copies of trips."""
    copies: dict[tuple[int, int], int] = {}
    for i, run in enumerate(runs):
        if run.source >= 0 and not run.is_new:
            copies |= {(run.source, date): timetable.n_trips + i for date in run.dates}
    dates: dict[int, list[int]] = {}
    for trip, date in copies:
        dates.setdefault(trip, []).append(date)
    rows = {
        (row, copies[first, date], copies.get((second, date + later), second))
        for row, first, second, later in _seated(timetable)
        for date in dates.get(first, ())
    }
    if not rows:
        return timetable.transfers
    at, one, other = (np.array(column, np.int32) for column in zip(*sorted(rows), strict=True))
    new = timetable.transfers.iloc[at].reset_index(drop=True).assign(from_trip_idx=one, to_trip_idx=other)
    return pd.concat([timetable.transfers, new], ignore_index=True)


def fingerprint_parts(edits: Edits) -> bytes:
    """Return the content of edits for a hash."""
    removed = sorted((trip, tuple(sorted(dates))) for trip, dates in edits.removed.items())

    def plain(run: Run) -> tuple[Any, ...]:
        return tuple(getattr(run, item.name) for item in fields(run) if item.compare)

    runs = [plain(run) for run in edits.runs]
    return repr((removed, runs, [(plain(run), rows) for run, rows in edits.repeated])).encode()


def departures_without(timetable: Timetable, trip: int, gone: Iterable[int]) -> list[tuple[int, int, int, bool]]:
    """
    Return the rows of frequencies of a repeated trip without some of its departures.

    Parameters
    ----------
    timetable : Timetable
    trip : int
    gone : iterable of int, s
        Departures ``start + k * headway`` of the rows.
    """
    left: list[tuple[int, int, int, bool]] = []
    missing = {*gone}
    for row in np.flatnonzero(timetable.frequency_trip == trip).tolist():
        start, end, headway = (
            int(getattr(timetable, f"frequency_{name}")[row]) for name in ("start", "end", "headway")
        )
        exact = bool(timetable.frequency_exact[row])
        own = sorted(time for time in missing if start <= time < end and (time - start) % headway == 0)
        missing -= {*own}
        for time in own:
            if start < time:
                left.append((start, time, headway, exact))
            start = time + headway
        if start < end:
            left.append((start, end, headway, exact))
    return left


def departures_apart(
    timetable: Timetable, trip: int, gone: Iterable[int], closed: Mapping[int, set[int]]
) -> dict[frozenset[int], list[tuple[int, int, int, bool]]]:
    """
    Return the rows of frequencies of a repeated trip, without some departures, by the calls that are closed then.

    Parameters
    ----------
    timetable, trip, gone
        See `departures_without`.
    closed : mapping of int to set of int
        Positions of closed calls by departure.
    """
    positions = {time: frozenset(each) for time, each in closed.items()}
    nothing: frozenset[int] = frozenset()
    found: dict[frozenset[int], list[tuple[int, int, int, bool]]] = {}
    for start, end, headway, exact in departures_without(timetable, trip, gone):
        begin, kind = start, positions.get(start, nothing)
        for time in range(start, end, headway):
            if positions.get(time, nothing) != kind:
                found.setdefault(kind, []).append((begin, time, headway, exact))
                begin, kind = time, positions.get(time, nothing)
        found.setdefault(kind, []).append((begin, end, headway, exact))
    return found


def repetitions(timetable: Timetable, trip: int) -> list[tuple[Int64Array, int, bool]]:
    """Return the departures, the headway and whether it is exact of each row of frequencies of a repeated trip."""
    return [
        (
            np.arange(timetable.frequency_start[row], timetable.frequency_end[row], timetable.frequency_headway[row]),
            int(timetable.frequency_headway[row]),
            bool(timetable.frequency_exact[row]),
        )
        for row in np.flatnonzero(timetable.frequency_trip == trip).tolist()
    ]
