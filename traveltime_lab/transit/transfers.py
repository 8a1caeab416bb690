"""
Merge the walks between stops with the rules of transfers.txt.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab._arrays import BoolArray, IndexArray, Int32Array, Int64Array, indptr_of_rows, within_rows
from traveltime_lab.errors import InputError
from traveltime_lab.kernels.unreached import FORBIDDEN
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.wheelchair import Rule


class Footpaths(NamedTuple):
    """
    Footpaths between stops as CSR by the stop at which they begin.

    Attributes
    ----------
    indptr : int64 array of shape (n_stops + 1,)
    stop : int32 array of shape (n_footpaths,)
        Stop at the end, which is never that at the beginning.
    seconds : int32 array of shape (n_footpaths,), s
    """

    indptr: Int64Array
    stop: Int32Array
    seconds: Int32Array


class Transfers(NamedTuple):
    """
    Transfers between stops and at stops.

    Attributes
    ----------
    indptr, stop, seconds : int64, int32, int32 arrays
        As in `Footpaths`, with the rules of transfers.txt applied.
    change_time : int32 array of shape (n_stops,), s
        Minimum transfer time at the stop itself, `FORBIDDEN` where it is forbidden.
    """

    indptr: Int64Array
    stop: Int32Array
    seconds: Int32Array
    change_time: Int32Array


class StationWays(NamedTuple):
    """
    Conditions of the rules of transfers.txt besides walks along streets.

    Attributes
    ----------
    is_indoors : bool array of shape (n_stops,)
        Stops in stations with pathways.
    station : int32 array of shape (n_stops,)
        Station of each stop.
    start, stop : int32 arrays of shape (n_ways,)
        Stops between which there is a way inside, however long.
    seconds : int64 array of shape (n_ways,), s
    rule : Rule or None
        That of step-free travel.
    """

    is_indoors: BoolArray
    station: Int32Array
    start: Int32Array
    stop: Int32Array
    seconds: Int64Array
    rule: Rule | None


def merge_transfers(timetable: Timetable, footpaths: Footpaths | None, ways: StationWays | None = None) -> Transfers:
    """
    Merge walks along streets with the rules of transfers.txt.

    A rule for a station applies to all its stops; rules for the stops themselves take precedence. Type 2 replaces the
    walking time, type 3 forbids the transfer, and types 0 and 1 keep the walk. Rules for single routes or trips are not
    used.

    Stops at one position, such as those of two feeds, are one place: there is no walk between them, and a rule for one
    of them applies to transfers between it and the others unless they have a rule of their own. It does not apply to
    transfers among the others.

    Stops in stations with pathways are no such place. Between these and other stops, the longer of the way and the time
    of the rule counts, because min_transfer_time is what "must be available" to permit a transfer (GTFS reference):
    a closed elevator makes transfers longer. A rule alone is no way within a station with pathways, for travellers
    without steps not to or from one either, and if they are strict nowhere.

    Parameters
    ----------
    timetable : Timetable
    footpaths : Footpaths or None
        Walks along streets, and inside stations.
    ways : StationWays, optional
        Needed if there are stations with pathways, or for travellers without steps.

    Raises
    ------
    InputError
        If `footpaths` does not have one row per stop.
    """
    n = timetable.n_stops
    walks = _Pairs(*(np.zeros(0, np.int32) for _ in range(3)))
    if footpaths is not None:
        if footpaths.indptr.size != n + 1 or int(footpaths.indptr[-1]) != footpaths.stop.size:
            raise InputError(f"footpaths must be a CSR of {n} stops; got {footpaths.indptr.size - 1}")
        start = np.repeat(np.arange(n, dtype=np.int32), np.diff(footpaths.indptr))
        walks = _Pairs(start, *(values.astype(np.int32, copy=False) for values in footpaths[1:]))
    twins = _twins(timetable)
    if ways is not None:
        twins = twins[~ways.is_indoors[twins].any(axis=1)]
    walks = walks.where(~walks.are_among(twins, n))
    together = _Pairs(*(column.astype(np.int32) for column in (*twins.T, np.zeros(len(twins)))))
    rules = _rules(timetable, twins)
    change_time = np.zeros(n, np.int32)
    at_stop = rules[rules[:, 0] == rules[:, 1]]
    change_time[at_stop[:, 0]] = np.where(at_stop[:, 2] == 3, FORBIDDEN, at_stop[:, 3])
    between = rules[rules[:, 0] != rules[:, 1]]
    timed = between[between[:, 2] == 2]
    if ways is not None:
        starts, stops, seconds = (np.concatenate(both).astype(np.int64) for both in zip(walks, together, strict=True))
        timed = _with_ways(timed, ways, (starts, stops, seconds), n)
    walks, together = (
        pairs.where(~pairs.are_among(between, n) & (pairs.start != pairs.stop)) for pairs in (walks, together)
    )
    ruled = _Pairs(*(timed[:, k].astype(np.int32) for k in (0, 1, 3)))
    few = _Pairs(*(np.concatenate(both) for both in zip(together, ruled, strict=True)))
    few = few.where(np.argsort(few.keys(n), kind="stable"))
    keys = walks.keys(n)
    if (keys[1:] < keys[:-1]).any():
        order = np.argsort(keys, kind="stable")
        walks, keys = walks.where(order), keys[order]
    # The walks of a national timetable are many, and sorted already.
    at = np.searchsorted(keys, few.keys(n), "right")
    begin, end, times = (np.insert(column, at, other) for column, other in zip(walks, few, strict=True))
    return Transfers(indptr_of_rows(begin, n), end, times, change_time)


class _Pairs(NamedTuple):
    """Pairs of stops with the seconds between them, as int32 arrays."""

    start: Int32Array
    stop: Int32Array
    seconds: Int32Array

    def keys(self, n: int) -> Int64Array:
        """Return a number for each pair, which ascends with start and stop."""
        return self.start * np.int64(n) + self.stop

    def where(self, rows: BoolArray | IndexArray) -> _Pairs:
        """Return some of the pairs."""
        return self if rows.dtype == np.bool_ and rows.all() else _Pairs(*(column[rows] for column in self))

    def are_among(self, others: Int64Array, n: int) -> BoolArray:
        """Return which pairs are among those of the first two columns of a table."""
        found = np.zeros(self.start.size, np.bool_)
        if len(others):
            begins = np.zeros(n, np.bool_)
            begins[others[:, 0]] = True
            some = np.flatnonzero(begins[self.start])
            keys = self.start[some] * np.int64(n) + self.stop[some]
            found[some] = np.isin(keys, others[:, 0] * n + others[:, 1])
        return found


def _with_ways(
    timed: Int64Array, ways: StationWays, walks: tuple[Int64Array, Int64Array, Int64Array], n: int
) -> Int64Array:
    """Return the rules with a time that hold, in which ways inside take at least as long as they do."""
    starts, stops, seconds = (
        np.concatenate(both)
        for both in zip(walks, (ways.start.astype(np.int64), ways.stop.astype(np.int64), ways.seconds), strict=True)
    )
    keys = starts * n + stops
    order = np.lexsort((seconds, keys))
    requested = timed[:, 0] * n + timed[:, 1]
    place = np.searchsorted(keys[order], requested)
    has_way = place < keys.size
    has_way[has_way] = keys[order[place[has_way]]] == requested[has_way]
    a, b = timed[:, 0], timed[:, 1]
    one, both = ways.is_indoors[a] | ways.is_indoors[b], ways.is_indoors[a] & ways.is_indoors[b]
    needs_way = both & (ways.station[a] == ways.station[b])
    if ways.rule is not None:
        needs_way |= one | (ways.rule.kind == "strict")
    held = timed.copy()
    longer = np.flatnonzero(has_way & one)
    held[longer, 3] = np.maximum(held[longer, 3], seconds[order[place[longer]]])
    return np.asarray(held[has_way | ~needs_way])


def _twins(timetable: Timetable) -> Int64Array:
    """Return the ordered pairs of two stops with trips at one position, sorted, of shape (n_pairs, 2)."""
    lng, lat = (timetable.column("stops", name).astype(np.float64) for name in ("stop_lon", "stop_lat"))
    stops = np.flatnonzero(timetable.is_called)
    order = stops[np.lexsort((lat[stops], lng[stops]))]
    is_new = np.ones(order.size, np.bool_)
    is_new[1:] = (np.diff(lng[order]) != 0.0) | (np.diff(lat[order]) != 0.0)
    begins = np.append(np.flatnonzero(is_new), order.size)
    pairs = [np.zeros((0, 2), np.int64)]
    for k in np.flatnonzero(np.diff(begins) > 1):
        here = order[begins[k] : begins[k + 1]]
        both = np.column_stack([np.repeat(here, here.size), np.tile(here, here.size)])
        pairs.append(both[both[:, 0] != both[:, 1]].astype(np.int64))
    found = np.concatenate(pairs)
    return found[np.lexsort((found[:, 1], found[:, 0]))]


def _rules(timetable: Timetable, twins: Int64Array) -> Int64Array:
    """Return rows of (from, to, type 2 or 3, s) between stops, at most one per pair of stops; for `twins` see above."""
    frame = timetable.transfers
    is_general = np.ones(len(frame), np.bool_)
    for name in ("from_route_idx", "to_route_idx", "from_trip_idx", "to_trip_idx"):
        is_general &= frame[name].to_numpy() < 0
    columns = ("from_stop_idx", "to_stop_idx", "transfer_type", "min_transfer_time")
    rows = np.column_stack([frame[name].to_numpy().astype(np.int64) for name in columns])
    rows = rows[is_general & (rows[:, 2] <= 3)]
    if rows.size == 0:
        return np.zeros((0, 4), np.int64)
    parent = timetable.column("stops", "parent_idx")
    children = np.argsort(parent, kind="stable")
    begins = np.searchsorted(parent[children], np.arange(timetable.n_stops + 1))

    def members(stop: int) -> Int64Array:
        """Return a stop, and its child stops if it is a station."""
        return np.append(children[begins[stop] : begins[stop + 1]], stop)

    # Columns: from, to, type, s, number of ends that the rule has through a station only, position in the file.
    places = np.arange(len(rows))
    spread = [np.column_stack([rows, np.zeros_like(places), places])]
    has_members = begins[1:] > begins[:-1]
    for place in np.flatnonzero(has_members[rows[:, 0]] | has_members[rows[:, 1]]):
        a, b, kind, least = rows[place]
        ends = np.array([(i, j) for i in members(a) for j in members(b)])
        rank = (ends[:, 0] != a).astype(np.int64) + (ends[:, 1] != b)
        spread.append(np.column_stack([ends, np.full((len(ends), 2), (kind, least)), rank, np.full(len(ends), place)]))
    every = np.concatenate(spread)
    if len(twins):
        every = np.concatenate([every, _of_twins(every, twins, side=0), _of_twins(every, twins, side=1)])
    # Keep the most specific rule of each pair, then the first in the file. Types 0 and 1 override others, too.
    order = np.lexsort((every[:, 5], every[:, 4], every[:, 1], every[:, 0]))
    every = every[order]
    is_first = np.ones(len(every), np.bool_)
    is_first[1:] = (every[1:, :2] != every[:-1, :2]).any(axis=1)
    every = every[is_first]
    return every[every[:, 2] >= 2, :4]


def _of_twins(rules: Int64Array, twins: Int64Array, *, side: int) -> Int64Array:
    """Return rules with the stop at one end (`side` 0 or 1) replaced by each other stop at its position, as weaker."""
    first, last = (np.searchsorted(twins[:, 0], rules[:, side], how) for how in ("left", "right"))
    rows = np.repeat(np.arange(len(rules)), last - first)
    at = within_rows(last - first) + first[rows]
    found: Int64Array = rules[rows].copy()
    found[:, side] = twins[at, 1]
    # Through a station there are at most two steps.
    found[:, 4] += 3
    kept: Int64Array = found[found[:, 0] != found[:, 1]]
    return kept
