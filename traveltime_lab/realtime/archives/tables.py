"""
Read tables of observed stop times into the form of live updates.

A row is a call with its arrival and departure, or one of these events. Rows of one run are brought together; their
times become POSIX seconds.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import BoolArray, Int64Array, ObjectArray, unique_values
from traveltime_lab._checks import did_you_mean
from traveltime_lab.errors import InputError
from traveltime_lab.realtime.archives.moments import Moments, dates_in, seconds_in, whole_numbers_in
from traveltime_lab.realtime.archives.settle import Settler
from traveltime_lab.realtime.archives.table_files import chunks_of
from traveltime_lab.realtime.match import origins, rows_by_text
from traveltime_lab.realtime.messages import TripUpdates
from traveltime_lab.realtime.sources import NONE
from traveltime_lab.transit.stop_sequences import StopSequences
from traveltime_lab.transit.timetable import Timetable

#: Names of columns, and those by which they are found where the user names none. The first one is that of this library.
NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "trip_id": ("trip_id", "gtfs_trip_id", "trip", "tripid"),
    "date": ("date", "service_date", "start_date", "trip_start_date", "operating_date", "operation_date", "day"),
    "start_time": ("start_time", "trip_start_time"),
    "route_id": ("route_id", "gtfs_route_id", "route"),
    "stop_sequence": ("stop_sequence", "sequence", "stop_seq", "gtfs_stop_sequence"),
    "stop_id": ("stop_id", "gtfs_stop_id", "stop", "stopid"),
    "arrival": (
        "arrival", "observed_arrival", "actual_arrival", "arrival_time", "observed_arrival_time", "actual_arrival_time",
        "arrival_observed", "arrival_actual",
    ),
    "departure": (
        "departure", "observed_departure", "actual_departure", "departure_time", "observed_departure_time",
        "actual_departure_time", "departure_observed", "departure_actual",
    ),
    "arrival_delay": ("arrival_delay", "arrival_delay_s"),
    "departure_delay": ("departure_delay", "departure_delay_s"),
    "event": ("event", "event_type"),
    "observed": ("observed", "observed_time", "actual", "actual_time", "time"),
    "scheduled": ("scheduled", "scheduled_time", "planned", "planned_time"),
}  # fmt: skip
_EVENTS: Final = {
    "arrival": 0, "arr": 0, "a": 0, "arrive": 0, "arrived": 0,
    "departure": 1, "dep": 1, "d": 1, "depart": 1, "departed": 1,
}  # fmt: skip
#: Rows of a trip without a date that are farther apart belong to several runs, s (assumed: half a day).
_APART_S: Final = 43_200
_DAY_S: Final = 86_400
#: The source of updates of tables, whose moments say on which day they are and not when they were written.
OF_TABLE: Final = -1
_TIMES: Final = ("arrival", "departure")


@dataclass(frozen=True)
class Columns:
    """
    The columns of a table by meaning.

    Attributes
    ----------
    of : dict of str to str
        The column for each of `NAMES` that the table has.
    """

    of: dict[str, str]

    @classmethod
    def found(cls, table: list[str], given: Mapping[str, str], name: str) -> Columns:
        """
        Return the columns of a table.

        Raises
        ------
        InputError
            If a column that the user names is not there, or the table has no trips, stops or times.
        """
        found: dict[str, str] = {}
        by_lower = {str(column).strip().lower(): column for column in reversed(table)}
        for key, others in NAMES.items():
            if key in given:
                if given[key] not in table:
                    hint = did_you_mean(given[key], [str(each) for each in table])
                    raise InputError(f"{name} has no column {given[key]!r}, which columns names for {key!r}{hint}")
                found[key] = given[key]
                continue
            taken = {*given.values()}
            match = next((by_lower[each] for each in others if each in by_lower and by_lower[each] not in taken), None)
            if match is not None:
                found[key] = match
        if twice := [column for column in found.values() if table.count(column) > 1]:
            raise InputError(f"{name} has several columns {twice[0]!r}; rename those that are something else")
        shown = ", ".join(map(repr, table[:12]))
        if "trip_id" not in found and "route_id" not in found:
            raise InputError(f"{name} has no column of trips; name it with columns={{'trip_id': ...}}; it has {shown}")
        if "stop_sequence" not in found and "stop_id" not in found:
            raise InputError(
                f"{name} has no column of stops; name it with columns={{'stop_sequence': ...}} or 'stop_id'; it has "
                f"{shown}"
            )
        for key in ("arrival", "departure"):
            # Beside delays, these are the planned times, as in stop_times.txt.
            has_delay = bool({"arrival_delay", "departure_delay"} & {*found})
            if has_delay and key not in given and str(found.get(key)).strip().lower() == f"{key}_time":
                del found[key]
        if "event" in found and "observed" in found:
            for each in ("arrival", "departure"):
                found.pop(each, None)
        elif not {"arrival", "departure", "arrival_delay", "departure_delay"} & {*found}:
            raise InputError(
                f"{name} has no column of observed times; name it with columns={{'arrival': ..., 'departure': ...}}, "
                f"or 'event' and 'observed'; it has {shown}"
            )
        return cls(found)


def check_columns(columns: Any) -> Mapping[str, str]:
    """Return the names of columns that a user gives, or raise InputError."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        raise InputError(f"columns must be a dict such as {{'trip_id': 'TRIP'}}; got {type(columns).__name__}")
    for key, name in columns.items():
        if key not in NAMES:
            raise InputError(f"columns has no name {key!r}; there are {', '.join(NAMES)}{did_you_mean(key, NAMES)}")
        if not isinstance(name, str) or not name:
            raise InputError(f"columns[{key!r}] must be the name of a column; got {name!r}")
    return dict(columns)


class Tables:
    """
    Tables that become updates of trips.

    Parameters
    ----------
    timetable : Timetable
    note : callable
        Called with the name of a table, why rows of it are not used, and their number.
    """

    def __init__(self, timetable: Timetable, note: Callable[[str, str, int], None]) -> None:
        self._timetable, self._note = timetable, note
        self._moments, self._settler = Moments(timetable.zones), Settler(timetable)

    def updates(self, content: Any, name: str, given: Mapping[str, str]) -> Iterator[TripUpdates]:
        """
        Yield the rows of a table as updates, some thousand at once.

        Raises
        ------
        InputError, DataError
            If it is no table, or has not the columns.
        """
        for chunk in chunks_of(
            content, name, lambda table: Columns.found(table, given, name).of,
            lambda reason, n: self._note(name, reason, n),
        ):  # fmt: skip
            yield self._updates(chunk, name)

    def _updates(self, rows: dict[str, Any], name: str) -> TripUpdates:
        n = len(next(iter(rows.values())))
        texts = {key: _texts(rows[key], n) if key in rows else np.full(n, "", object) for key in _TEXTS}
        zone = self._zones(texts["trip_id"])
        date, is_void = dates_in(rows["date"]) if "date" in rows else (np.full(n, -1, np.int64), np.zeros(n, np.bool_))
        self._count(name, "date that is none", is_void)
        sequence, bad = whole_numbers_in(rows["stop_sequence"]) if "stop_sequence" in rows else (np.full(n, NONE), None)
        if bad is not None:
            self._count(name, "stop_sequence that is no number", bad)
        values: dict[str, Int64Array] = {}
        is_of_day: dict[str, BoolArray] = {}
        for key in ("arrival", "departure", "observed", "scheduled"):
            if key in rows:
                values[key], bad = self._moments.posix(rows[key], date, zone)
                is_of_day[key] = self._moments.is_of_day
                self._settle(values[key], self._moments.again, texts["trip_id"], sequence, texts["stop_id"], zone)
                self._count(name, f"{key} that is no time", bad)
        date = self._on_their_days(values, is_of_day, texts["trip_id"], date, name)
        for key in ("arrival_delay", "departure_delay"):
            if key in rows:
                values[key], bad = seconds_in(rows[key])
                self._count(name, f"{key} that is no number", bad)
        times = {key: values.get(key, np.full(n, NONE)) for key in _TIMES}
        if "event" in rows and "observed" in values:
            kinds = _texts(rows["event"], n)
            kind = np.array([_EVENTS.get(str(each).strip().lower(), -1) for each in kinds], np.int64)
            self._count(name, "event that is neither arrival nor departure", kind < 0)
            times = {key: np.where(kind == i, values["observed"], NONE) for i, key in enumerate(_TIMES)}
        delays = {key: values.get(f"{key}_delay", np.full(n, NONE)) for key in _TIMES}
        has_stop = (sequence != NONE) | (texts["stop_id"] != "")
        has_trip = (texts["trip_id"] != "") | (texts["route_id"] != "")
        has_time = np.zeros(n, np.bool_)
        for each in (*times.values(), *delays.values()):
            has_time |= each != NONE
        self._count(name, "no trip_id", ~has_trip)
        self._count(name, "neither stop_sequence nor stop_id", has_trip & ~has_stop)
        reference = values.get("scheduled", np.full(n, NONE))
        first = np.where(times["arrival"] != NONE, times["arrival"], times["departure"])
        reference = np.where(reference == NONE, first, reference)
        no_day = has_trip & has_stop & has_time & (date < 0) & (reference == NONE)
        self._count(name, "neither a date nor a time that says it", no_day)
        kept = np.flatnonzero(has_trip & has_stop & has_time & ~is_void & ~no_day)
        return _grouped(texts, date, sequence, times, delays, reference, kept)

    def _on_their_days(
        self,
        values: dict[str, Int64Array],
        is_of_day: dict[str, BoolArray],
        trips: ObjectArray,
        date: Int64Array,
        name: str,
    ) -> Int64Array:
        """Return the service dates of rows, and write the times of the service day, where they are a day off."""
        for key, own in values.items():
            later = np.where(is_of_day[key], self._settler.later(trips, date, own), 0)
            own -= np.where(own == NONE, 0, later * _DAY_S)
            self._count(name, f"{key} a day off, as a clock time after midnight without 24 hours", later != 0)
        # Moments say on which day they are.
        later = np.zeros(date.size, np.int64)
        for key in ("scheduled", "observed", "arrival", "departure"):
            if key in values:
                own = np.where(is_of_day[key], NONE, values[key])
                later = np.where(later == 0, self._settler.later(trips, date, own), later)
        later = np.where(self._settler.runs(trips, date + later), later, 0)
        self._count(name, "date a day off, such as the calendar date of a time after midnight", later != 0)
        return date + later

    def _settle(
        self,
        values: Int64Array,
        again: Int64Array,
        trips: ObjectArray,
        sequence: Int64Array,
        stops: ObjectArray,
        zone: Int64Array,
    ) -> None:
        """Choose, of the moments whose clock time comes twice, the one nearer to the timetable."""
        at = np.flatnonzero(again)
        if not at.size:
            return
        timetable = self._timetable
        rows = rows_by_text(timetable.trips["trip_id"], trips[at])
        for i in at.tolist():
            for trip in rows.get(trips[i], [])[:1]:
                begin, end = (int(each) for each in timetable.trip_indptr[trip : trip + 2])
                numbers = StopSequences.of_trip(timetable, trip)
                pattern = int(timetable.pattern_indptr[timetable.hot.trip_pattern[trip]])
                ids = timetable.stops["stop_id"].iloc[timetable.pattern_stop[pattern : pattern + end - begin]].tolist()
                place = numbers.index(sequence[i]) if sequence[i] in numbers else -1
                place = ids.index(stops[i]) if place < 0 and stops[i] in ids else place
                if place < 0:
                    continue
                day = int(values[i]) // 86_400 + 719_163
                days = np.arange(day - 2, day + 2)
                planned = origins(days, np.full(4, zone[i]), timetable.zones) + int(timetable.departure[begin + place])
                far = [int(np.abs(values[i] + later - planned).min()) for later in (0, again[i])]
                values[i] += again[i] if far[1] < far[0] else 0

    def _count(self, name: str, reason: str, where: BoolArray) -> None:
        if n := int(np.count_nonzero(where)):
            self._note(name, reason, n)

    def _zones(self, trips: ObjectArray) -> Int64Array:
        """Return the time zone of each trip, that of the first agency for unknown ones."""
        if len(self._timetable.zones) == 1:
            return np.zeros(trips.size, np.int64)
        codes, unique = pd.factorize(trips)
        zones = self._timetable.hot.trip_zone
        rows = rows_by_text(self._timetable.trips["trip_id"], unique.tolist())
        own = np.array([int(zones[rows[trip][0]]) if trip in rows else 0 for trip in unique.tolist()], np.int64)
        found: Int64Array = own[codes]
        return found


_TEXTS: Final = ("trip_id", "route_id", "start_time", "stop_id")


def _texts(values: Any, n: int) -> ObjectArray:
    """Return a column as texts, empty for missing values; whole numbers lose the ``.0`` of columns with gaps."""
    series = pd.Series(values)
    if series.dtype.kind == "f":
        whole = series.dropna()
        if (whole == whole.round()).all():
            series = series.astype("Int64")
    missing = series.isna().to_numpy()
    found: ObjectArray = series.astype(object).where(~missing, "").astype(str).to_numpy(object)
    assert found.size == n
    return found


def _grouped(
    texts: dict[str, ObjectArray],
    date: Int64Array,
    sequence: Int64Array,
    times: dict[str, Int64Array],
    delays: dict[str, Int64Array],
    reference: Int64Array,
    kept: Int64Array,
) -> TripUpdates:
    """Return the rows that are kept as updates, one for each run."""
    codes = [pd.factorize(texts[key][kept])[0] for key in ("trip_id", "route_id", "start_time")]
    day, moment = date[kept], reference[kept]
    # Without a date, rows of one trip are in the order of time, and a long pause begins another run.
    order = np.lexsort((np.where(day < 0, moment, 0), day, *codes[::-1]))
    keys = [each[order] for each in (*codes, day)]
    is_first = np.ones(order.size, np.bool_)
    if order.size:
        is_first[1:] = (day[order][1:] < 0) & (np.diff(moment[order]) > _APART_S)
        for each in keys:
            is_first[1:] |= each[1:] != each[:-1]
    begins = np.flatnonzero(is_first)
    n = begins.size
    middle = kept[order][(begins + np.append(begins[1:], order.size)) // 2] if n else begins
    # The last row counts, wherever its time is.
    rows = kept[order[np.lexsort((order, np.cumsum(is_first)))]]
    firsts = rows[begins]
    nothing, none = np.full(n, "", object), np.full(n, NONE)
    no_text, no_number = np.full(rows.size, "", object), np.full(rows.size, NONE)
    dates = {value: "" if value < 0 else _date_text(value) for value in unique_values(date[firsts]).tolist()}
    return TripUpdates(
        source=np.full(n, OF_TABLE), now=none, timestamp=np.where(date[firsts] < 0, reference[middle], NONE),
        entity=nothing, trip_id=texts["trip_id"][firsts], route_id=texts["route_id"][firsts],
        start_time=texts["start_time"][firsts],
        start_date=np.array([dates[value] for value in date[firsts].tolist()], object),
        new_id=nothing, new_time=nothing, new_date=nothing, headsign=nothing, short_name=nothing, direction=none,
        relation=np.zeros(n, np.int64), delay=none, is_modified=np.zeros(n, np.bool_),
        indptr=np.append(begins, order.size).astype(np.int64),
        stop_id=texts["stop_id"][rows], assigned=no_text, sequence=sequence[rows],
        stop_relation=np.zeros(rows.size, np.int64), pickup=no_number, drop_off=no_number,
        arrival_delay=delays["arrival"][rows], arrival_time=times["arrival"][rows],
        departure_delay=delays["departure"][rows], departure_time=times["departure"][rows],
    )  # fmt: skip


def _date_text(date: int) -> str:
    return dt.date.fromordinal(date).strftime("%Y%m%d")
