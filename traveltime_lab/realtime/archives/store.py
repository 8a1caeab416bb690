"""
Keep the last known values of each run and call of an archive, by service date.

A stop of a trip is in many snapshots: first with predictions, at last with what happened, until the vehicle has passed
it and it vanishes. The value of the latest message that has one counts, for each arrival and departure. Values are kept
as rows of numbers that are sorted and reduced from time to time, and days that are read to the end as packed bytes, so
that memory grows with the calls of a day and not with the number of messages.
"""

from __future__ import annotations

import datetime as dt
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np

from traveltime_lab._arrays import AnyArray, Int64Array, chosen_rows, indptr_of, unique_values
from traveltime_lab._digests import digest
from traveltime_lab.realtime.match import DUPLICATED, NEW_TRIPS
from traveltime_lab.realtime.messages import TripUpdates
from traveltime_lab.realtime.predictions import NO_DATA
from traveltime_lab.realtime.sources import NONE

#: Kinds of rows: a time and a delay of an arrival or departure, the state of a call, or that of one without data.
_ARRIVAL, _DEPARTURE, _STATE, _NO_STATE = 0, 1, 2, 3
#: Columns of the rows of calls, and of those of whole runs.
_CALL_COLUMNS: Final = ("run", "call", "kind", "when", "time", "delay")
_HEAD_COLUMNS: Final = ("run", "when", "relation", "delay", "extra", "rows")
#: Texts by which a run is known, and columns of `TripUpdates` that have a value for each stop.
_RUN_TEXTS: Final = ("feed", "trip_id", "route_id", "start_time", "new_id", "new_time", "new_date")
STOP_COLUMNS: Final = frozenset({
    "stop_id", "assigned", "sequence", "stop_relation", "pickup", "drop_off", "arrival_delay", "arrival_time",
    "departure_delay", "departure_time",
})  # fmt: skip
#: Rows that are reduced at once (assumed: about 50 MB), and days that are open at the same time.
_MOST_ROWS: Final = 1_000_000
_MOST_OPEN: Final = 3

_Columns = dict[str, Int64Array]


def _packed(values: Int64Array) -> bytes:
    """Return whole numbers as few bytes: differences, the first bytes of all before the second ones."""
    with np.errstate(over="ignore"):
        steps = np.diff(values, prepend=np.int64(0))
    return zlib.compress(np.ascontiguousarray(steps.view(np.uint8).reshape(-1, 8).T).tobytes(), 4)


def _unpacked(content: bytes) -> Int64Array:
    by_byte = np.frombuffer(zlib.decompress(content), np.uint8).reshape(8, -1)
    with np.errstate(over="ignore"):
        found: Int64Array = np.cumsum(np.ascontiguousarray(by_byte.T).view(np.int64).ravel())
    return found


def packed(columns: _Columns) -> dict[str, bytes]:
    """Return columns of whole numbers as few bytes."""
    return {name: _packed(np.ascontiguousarray(values, np.int64)) for name, values in columns.items()}


def unpacked(columns: dict[str, bytes]) -> _Columns:
    """Return the columns that `packed` was given."""
    return {name: _unpacked(content) for name, content in columns.items()}


def _joined(parts: list[_Columns], names: tuple[str, ...]) -> _Columns:
    nothing = np.zeros(0, np.int64)
    return {name: np.concatenate([nothing, *(part[name] for part in parts)]) for name in names}


def _last(columns: _Columns, keys: tuple[str, ...]) -> _Columns:
    """Return the last row of each key by time, or else in the order in which they were added."""
    if not columns["run"].size:
        return columns
    order = np.lexsort((columns["when"], *(columns[key] for key in reversed(keys))))
    ends = np.zeros(order.size, np.bool_)
    ends[-1] = True
    for key in keys:
        values = columns[key][order]
        ends[:-1] |= values[1:] != values[:-1]
    rows = order[ends]
    return {name: values[rows] for name, values in columns.items()}


def _apart(calls: _Columns, sign: int) -> _Columns:
    """Return rows with moments of messages that count from the times in them, for -1, or the other way round, for 1."""
    time, when = calls["time"], calls["when"]
    is_event = (calls["kind"] < _STATE) & (time != NONE) & (when != NONE)
    return {**calls, "when": np.where(is_event, when + sign * np.where(is_event, time, 0), when)}


class _Day:
    """The rows of one service date."""

    def __init__(self) -> None:
        self._calls: list[_Columns] = []
        self._heads: list[_Columns] = []
        self._n = self._n_reduced = 0
        self._packed: tuple[dict[str, bytes], dict[str, bytes]] | None = None

    def add(self, calls: _Columns, heads: _Columns) -> None:
        self._open()
        self._calls.append(calls)
        self._heads.append(heads)
        self._n += calls["run"].size
        if self._n > 2 * self._n_reduced + _MOST_ROWS:
            self._reduce()

    def _open(self) -> None:
        if self._packed is not None:
            calls, heads = self._packed
            self._calls, self._heads, self._packed = [_apart(unpacked(calls), 1)], [unpacked(heads)], None
            self._n = self._n_reduced = self._calls[0]["run"].size

    def _reduce(self) -> None:
        self._calls = [_last(_joined(self._calls, _CALL_COLUMNS), ("kind", "run", "call"))]
        heads = _joined(self._heads, _HEAD_COLUMNS)
        n_rows = np.bincount(heads["run"], heads["rows"]) if heads["run"].size else np.zeros(0)
        heads = _last(heads, ("run",))
        heads["rows"] = n_rows[heads["run"]].astype(np.int64)
        self._heads = [heads]
        self._n = self._n_reduced = self._calls[0]["run"].size

    def close(self) -> None:
        """Keep the rows as packed bytes."""
        if self._packed is None:
            self._reduce()
            self._packed = packed(_apart(self._calls[0], -1)), packed(self._heads[0])
            self._calls, self._heads = [], []

    def read(self) -> tuple[_Columns, _Columns]:
        """Return the last values of calls and of runs."""
        self.close()
        assert self._packed is not None
        calls, heads = self._packed
        return _apart(unpacked(calls), 1), unpacked(heads)


@dataclass(frozen=True)
class DayOfArchive:
    """
    The content of an archive about a service date.

    Attributes
    ----------
    updates : TripUpdates
        One update for each run, with its last known values.
    feed : list of (str or None)
        Name of the GTFS feed of each, if given.
    arrival_when, departure_when : int64 arrays of shape (n_stops,), POSIX seconds
        When the messages were written that have the times; `NONE` where not known.
    rows : int64 array of shape (n,)
        Number of stop updates, or rows, about each.
    """

    updates: TripUpdates
    feed: list[str | None]
    arrival_when: Int64Array
    departure_when: Int64Array
    rows: Int64Array


class Store:
    """The last known values of an archive by service date."""

    def __init__(self) -> None:
        self._texts: dict[str | None, int] = {"": 0}
        self._runs: dict[tuple[int, ...], int] = {}
        self._calls: dict[tuple[int, str, int], int] = {}
        self._call_states: dict[tuple[int, int, int, int, int], int] = {}
        self._head_texts: dict[tuple[int, ...], int] = {}
        self._days: dict[int, _Day] = {}
        self._recent: list[int] = []

    @property
    def dates(self) -> list[int]:
        """Service dates as ordinals, in order."""
        return sorted(self._days)

    def drop(self, dates: Iterable[int]) -> None:
        """Forget dates."""
        for date in dates:
            del self._days[date]

    def _text(self, value: str | None) -> int:
        return self._texts.setdefault(value, len(self._texts))

    def add(self, updates: TripUpdates, feeds: list[str | None], dates: Int64Array, is_sure: AnyArray) -> None:
        """
        Add the updates of a message, or of several.

        Parameters
        ----------
        updates : TripUpdates
        feeds : list of (str or None)
            Name of the GTFS feed of each update.
        dates : int64 array of shape (n,)
            Service date of each update.
        is_sure : bool array of shape (n,)
            Whether its run is known to be of that date; otherwise it is a date near the times of the update.
        """
        heads = self._heads(updates, feeds, dates, is_sure)
        calls = self._call_rows(updates, heads)
        owner = calls.pop("owner")
        for date in unique_values(dates).tolist():
            mine = dates == date
            rows = mine[owner]
            self._day(date).add(
                {name: values[rows] for name, values in calls.items()},
                {name: values[mine] for name, values in heads.items()},
            )

    def _day(self, date: int) -> _Day:
        if date in self._recent[-1:]:
            return self._days[date]
        if date in self._recent:
            self._recent.remove(date)
        self._recent.append(date)
        if len(self._recent) > _MOST_OPEN:
            self._days[self._recent.pop(0)].close()
        return self._days.setdefault(date, _Day())

    def _heads(self, updates: TripUpdates, feeds: list[str | None], dates: Int64Array, is_sure: AnyArray) -> _Columns:
        n = len(updates)
        run, extra = np.empty(n, np.int64), np.empty(n, np.int64)
        text, runs, extras = self._text, self._runs, self._head_texts
        relation = updates.relation.tolist()
        columns = zip(
            dates.tolist(), is_sure.tolist(), feeds, updates.trip_id, updates.route_id, updates.start_time,
            updates.new_id, updates.new_time, updates.new_date, updates.direction.tolist(),
            updates.is_modified.tolist(), relation, updates.entity, updates.headsign, updates.short_name,
            strict=True,
        )  # fmt: skip
        for u, row in enumerate(columns):
            (date, sure, feed, trip, route, start, new_id, new_time, new_date, direction, modified, kind,
             entity, headsign, short_name) = row  # fmt: skip
            group = 1 if kind in NEW_TRIPS else 2 if kind == DUPLICATED else 0
            # A trip with an id need not name its route in each message.
            key = (
                date, sure, group, text(feed), text(trip), 0 if trip else text(route), text(start), text(new_id),
                text(new_time), text(new_date), NONE if trip else direction, modified,
            )  # fmt: skip
            run[u] = runs.setdefault(key, len(runs))
            # Ids of entities may differ in each message.
            words = text("" if trip else entity), text(route), text(headsign), text(short_name), direction
            extra[u] = extras.setdefault(words, len(extras))
        when = np.where(updates.timestamp != NONE, updates.timestamp, updates.now)
        return {
            "run": run, "when": when, "relation": updates.relation, "delay": updates.delay, "extra": extra,
            "rows": np.diff(updates.indptr),
        }  # fmt: skip

    def _call_rows(self, updates: TripUpdates, heads: _Columns) -> _Columns:
        counts = np.diff(updates.indptr)
        owner = np.repeat(np.arange(len(updates)), counts)
        run, when = heads["run"][owner], heads["when"][owner]
        call, state = self._places(updates, counts), self._states(updates)
        has_data = updates.stop_relation != NO_DATA
        parts = []
        for event, name in ((_ARRIVAL, "arrival"), (_DEPARTURE, "departure")):
            time, delay = getattr(updates, f"{name}_time"), getattr(updates, f"{name}_delay")
            # Some feeds write 0 for an unknown time.
            time = np.where(time == 0, NONE, time)
            at = np.flatnonzero(has_data & ((time != NONE) | (delay != NONE)))
            # A time takes precedence.
            delay = np.where(time != NONE, NONE, delay)
            parts.append((owner[at], run[at], call[at], np.full(at.size, event), when[at], time[at], delay[at]))
        # Stops vanish from the front, which does not change the number of those that follow.
        following = np.repeat(updates.indptr[1:], counts) - np.arange(owner.size)
        # A message without data takes back no state.
        kind = np.where(has_data, _STATE, _NO_STATE)
        parts.append((owner, run, call, kind, when, state, -following))
        names = ("owner", *_CALL_COLUMNS)
        return {name: np.concatenate(column) for name, column in zip(names, zip(*parts, strict=True), strict=True)}

    def _places(self, updates: TripUpdates, counts: Int64Array) -> Int64Array:
        """
        Return the number of the call that each stop update is about.

        It is known by its stop_sequence, or else by its stop, and by how often the same stop follows in the update:
        stops vanish from the front.
        """
        calls, sequence = self._calls, updates.sequence.tolist()
        again = np.zeros(len(sequence), np.int64)
        has_none = updates.sequence == NONE
        if has_none.any():
            owner = np.repeat(np.arange(counts.size), counts)
            seen: dict[tuple[int, str], int] = {}
            for s in np.flatnonzero(has_none)[::-1].tolist():
                key = int(owner[s]), updates.stop_id[s]
                again[s] = seen[key] = seen.get(key, -1) + 1
        rows = zip(sequence, updates.stop_id, again.tolist(), strict=True)
        return np.array(
            [calls.setdefault((n, "" if n != NONE else stop, k), len(calls)) for n, stop, k in rows], np.int64
        )

    def _states(self, updates: TripUpdates) -> Int64Array:
        """Return a number for everything else that a stop update says."""
        states, text = self._call_states, self._text
        rows = zip(
            updates.stop_relation.tolist(), updates.stop_id, updates.assigned, updates.pickup.tolist(),
            updates.drop_off.tolist(), strict=True,
        )  # fmt: skip
        return np.array(
            [
                states.setdefault((relation, text(stop), text(assigned), pickup, drop_off), len(states))
                for relation, stop, assigned, pickup, drop_off in rows
            ],
            np.int64,
        )

    def finish(self) -> None:
        """Keep all days as packed bytes, and what names their runs as arrays."""
        for day in self._days.values():
            day.close()
        self._recent = []
        self._by_number: list[str | None] = list(self._texts)
        self._run_table = packed(_table(self._runs, 12))
        self._head_table, self._state_table = _table(self._head_texts, 5), _table(self._call_states, 5)
        self._call_list = list(self._calls)
        self._runs = {}

    def day(self, date: int) -> DayOfArchive:
        """Return what is known about a service date, after `finish`."""
        calls, heads = self._days[date].read()
        all_runs = unpacked(self._run_table)
        runs = {name: values[heads["run"]] for name, values in all_runs.items()}
        extra = {name: values[heads["extra"]] for name, values in self._head_table.items()}
        texts = np.array(self._by_number, object)
        n = heads["run"].size
        updates, whens = self._stops(calls, heads["run"])
        known = heads["when"] != NONE
        date_text = dt.date.fromordinal(date).strftime("%Y%m%d") if date > 0 else ""
        return DayOfArchive(
            TripUpdates(
                source=np.zeros(n, np.int64), now=np.full(n, NONE), timestamp=np.where(known, heads["when"], NONE),
                entity=texts[extra["0"]], trip_id=texts[runs["4"]], route_id=texts[extra["1"]],
                start_time=texts[runs["6"]], start_date=np.where(runs["1"] == 1, date_text, "").astype(object),
                new_id=texts[runs["7"]], new_time=texts[runs["8"]], new_date=texts[runs["9"]],
                headsign=texts[extra["2"]], short_name=texts[extra["3"]], direction=extra["4"],
                relation=heads["relation"], delay=heads["delay"], is_modified=runs["11"].astype(np.bool_), **updates,
            ),
            [self._by_number[number] for number in runs["3"].tolist()],
            *whens,
            heads["rows"],
        )  # fmt: skip

    def _stops(self, calls: _Columns, runs: Int64Array) -> tuple[dict[str, Any], tuple[Int64Array, Int64Array]]:
        """Return the stops of runs in the form of `TripUpdates`, and when their times were written."""
        places = self._call_list
        numbers = np.array([place[0] for place in places] or [0], np.int64)
        is_state = calls["kind"] == _STATE
        every = calls["run"] * len(places) + calls["call"]
        is_state |= (calls["kind"] == _NO_STATE) & ~np.isin(every, every[is_state])
        calls = {name: values[np.argsort(every, kind="stable")] for name, values in calls.items()}
        is_state = is_state[np.argsort(every, kind="stable")]
        run, call, state = (calls[name][is_state] for name in ("run", "call", "time"))
        found = {name: np.full(run.size, NONE) for name in ("time0", "time1", "delay0", "delay1", "when0", "when1")}
        key = run * len(places) + call
        for kind in (_ARRIVAL, _DEPARTURE):
            mine = calls["kind"] == kind
            at = np.searchsorted(key, calls["run"][mine] * len(places) + calls["call"][mine])
            for name in ("time", "delay", "when"):
                found[f"{name}{kind}"][at] = calls[name][mine]
        # In the order of the trip: by number, or else as in the messages, or by time if each of these has a few stops.
        sequence = numbers[call] if run.size else np.zeros(0, np.int64)
        time = np.where(found["time0"] != NONE, found["time0"], found["time1"])
        rank = calls["delay"][is_state]
        at = np.lexsort((rank, run))
        is_same = (np.diff(run[at]) == 0) & (np.diff(rank[at]) == 0)
        by_time = np.isin(run, run[at[1:][is_same]])
        order = np.lexsort((call, np.where(by_time, time, rank), sequence, run))
        run, call, state, sequence = run[order], call[order], state[order], sequence[order]
        found = {name: values[order] for name, values in found.items()}
        states = {name: values[state] for name, values in self._state_table.items()}
        texts = np.array(self._by_number, object)
        relation = states["0"].copy()
        has_event = np.zeros(run.size, np.bool_)
        for name in ("time0", "time1", "delay0", "delay1"):
            has_event |= found[name] != NONE
        # A message without data does not take back what was known.
        relation[has_event & (relation == NO_DATA)] = 0
        counts = np.bincount(np.searchsorted(runs, run), minlength=runs.size)
        updates = {
            "indptr": indptr_of(counts), "stop_id": texts[states["1"]], "assigned": texts[states["2"]],
            "sequence": sequence, "stop_relation": relation, "pickup": states["3"], "drop_off": states["4"],
            "arrival_delay": found["delay0"], "arrival_time": found["time0"], "departure_delay": found["delay1"],
            "departure_time": found["time1"],
        }  # fmt: skip
        return updates, (found["when0"], found["when1"])

    def digest(self) -> str:
        """Return a hash of what is known, whatever its order in the archive, after `finish`."""
        found = digest()
        for date in self.dates:
            day = self.day(date)
            found.update(f"{date} {len(day.updates)}".encode())
            for part in _content(day):
                found.update(part)
        return found.hexdigest()


def _content(day: DayOfArchive) -> Iterator[Any]:
    """Yield the content of a day, with its runs in the order of their texts."""
    updates = day.updates
    names = [item.name for item in fields(TripUpdates) if item.name not in ("source", "now", "timestamp", "indptr")]
    n = len(updates)
    columns = {name: getattr(updates, name) for name in names}
    texts = [columns[name] for name in _RUN_TEXTS if name != "feed"]
    order = sorted(range(n), key=lambda u: (str(day.feed[u]), *(each[u] for each in texts), updates.relation[u]))
    at = np.array(order, np.int64)
    indptr, stops = chosen_rows(updates.indptr, at)
    yield repr([day.feed[u] for u in order]).encode()
    yield indptr.data
    for name, values in columns.items():
        own = values[stops if name in STOP_COLUMNS else at]
        yield "\0".join(own.tolist()).encode() if own.dtype == object else np.ascontiguousarray(own).data


def _table(rows: Iterable[tuple[int, ...]], n_columns: int) -> _Columns:
    """Return rows of numbers as columns "0", "1" and so on."""
    whole = np.array([*rows], np.int64).reshape(-1, n_columns)
    return {str(i): whole[:, i].copy() for i in range(n_columns)}
