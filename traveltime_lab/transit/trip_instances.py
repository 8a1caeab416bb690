"""
Build the trip table of an interval: its trip instances as arrays for the kernels.

A *trip instance* (``instance`` or ``run`` in identifiers) is one trip on one service date, or one of its repetitions by
frequencies.txt. Trip instances with equal stops form a pattern. If one overtakes another, they are put into different
patterns, so that the first instance of a pattern that can be boarded is also the first to arrive at every stop.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import fields
from typing import Final, NamedTuple

import numpy as np

from traveltime_lab._arrays import BoolArray, IndexArray, Int32Array, Int64Array, indptr_of, within_rows
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.kernels.transit import trip_instances
from traveltime_lab.kernels.unreached import FORBIDDEN
from traveltime_lab.transit.calendar import day_origin
from traveltime_lab.transit.headway_draws import Draw, first_departures
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.trip_table import TripTable

#: Longest distance in metres between the end of a trip and the beginning of the next trip of its block for passengers
#: to stay seated; the default of maxInterlineDistance in OpenTripPlanner. Over longer distances vehicles run empty.
STAY_SEATED_M: Final = 200.0
#: Longest wait between two trips that an in-seat transfer joins. Assumed: vehicles do not wait longer at the end of a
#: line, and where the second trip does not run today, its run of tomorrow is later than that.
STAY_SEATED_S: Final = 12 * 3600
#: Longest interval; longer ones do not fit into the int32 times of the kernels.
_LONGEST_S: Final = 366 * 86400


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


def trip_table(
    timetable: Timetable,
    begin: int,
    end: int,
    *,
    is_used: BoolArray | None = None,
    changes: Transfers | None = None,
    headways: Draw | bool = True,
) -> TripTable:
    """
    Return the trip instances that run at some moment of an interval, on any service date.

    Parameters
    ----------
    timetable : Timetable
    begin, end : int
        Interval ``[begin, end)`` in POSIX seconds; times of the result count from `begin`.
    is_used : bool array of shape (n_routes,), optional
        Routes to use. Default: all.
    changes : Transfers, optional
        From `merge_transfers`, with walks along streets. Default: transfers of transfers.txt only.
    headways : Draw or bool, default True
        How rows of frequencies.txt with ``exact_times=0`` are read: with the departures of a draw, as with exact times
        (True), or not at all (False).

    Raises
    ------
    LimitError
        If `end` is not after `begin`, or more than 366 days after it.
    InputError
        If `is_used` is not a bool array with one value per route.
    """
    begin, end = int(begin), int(end)
    if not begin < end <= begin + _LONGEST_S:
        raise LimitError(f"the interval must be 1 second to 366 days long; got {end - begin} s")
    if is_used is not None and (is_used.shape != (len(timetable.routes),) or is_used.dtype != np.bool_):
        raise InputError(
            f"is_used must be a bool array of {len(timetable.routes)} routes; got {is_used.dtype} {is_used.shape}"
        )
    if changes is None:
        changes = merge_transfers(timetable, None)
    hot = timetable.hot
    trip, date, shift = _runs_between(timetable, begin, end, is_used, headways)
    first = hot.first_departure[trip] + shift
    order = np.lexsort((date, trip, hot.last_arrival[trip] + shift, first, hot.trip_pattern[trip]))
    trip, date, shift = trip[order], date[order], shift[order]
    lane = np.zeros(trip.size, np.int32)
    times = trip_instances.StopTimes(timetable.trip_indptr, timetable.arrival, timetable.departure)
    n_lanes = trip_instances.assign_lanes(trip, shift, hot.trip_pattern[trip], times, lane)
    order = np.argsort(lane, kind="stable")
    trip, date, shift, lane = trip[order], date[order], shift[order], lane[order]
    instance_indptr = np.searchsorted(lane, np.arange(n_lanes + 1)).astype(np.int64)
    kind = hot.trip_pattern[trip[instance_indptr[:-1]]]
    lengths = np.diff(timetable.pattern_indptr)[kind]
    pattern_indptr = indptr_of(lengths)
    rows = np.repeat(timetable.pattern_indptr[kind] - pattern_indptr[:-1], lengths) + np.arange(pattern_indptr[-1])
    pattern_stops = timetable.pattern_stop[rows]
    time_indptr = indptr_of(lengths * np.diff(instance_indptr))
    arrival, departure = np.empty(time_indptr[-1], np.int32), np.empty(time_indptr[-1], np.int32)
    trip_instances.write_times(trip, shift, times, arrival, departure)
    table = TripTable(
        reference=begin,
        n_stops=timetable.n_stops,
        pattern_indptr=pattern_indptr,
        pattern_stops=pattern_stops,
        can_board=timetable.pattern_pickup[rows] != 1,
        can_alight=timetable.pattern_drop_off[rows] != 1,
        instance_indptr=instance_indptr,
        time_indptr=time_indptr,
        arrival=arrival,
        departure=departure,
        instance_trip=trip,
        instance_date=date,
        transfer_indptr=changes.indptr,
        transfer_stop=changes.stop,
        transfer_time=changes.seconds,
        change_time=changes.change_time,
        stay_instance=_stay_instances(timetable, trip, date, shift),
    )
    for item in fields(table):
        value = getattr(table, item.name)
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    return table


def _runs_between(
    timetable: Timetable, begin: int, end: int, is_used: BoolArray | None, headways: Draw | bool
) -> tuple[Int32Array, Int32Array, Int32Array]:
    """Return the trip, the service date and the shift (s after `begin`) of the instances that overlap an interval."""
    hot = timetable.hot
    is_open = np.ones(timetable.n_trips, np.bool_) if is_used is None else is_used[hot.trip_route]
    repeated = timetable.frequency_trip
    span = (hot.last_arrival - hot.first_departure)[repeated]

    def later(rows: IndexArray, date: int) -> Int64Array | int:
        return first_departures(timetable, rows, date, headways) if isinstance(headways, Draw) else 0

    trips, dates, shifts = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    for number, zone in enumerate(timetable.zones):
        here = is_open & (hot.trip_zone == number)
        plain = here & ~hot.is_repeated
        repeats = here[repeated] & (timetable.frequency_exact | (headways is not False))
        earliest, latest = [], []
        if plain.any():
            earliest.append(int(hot.first_departure[plain].min()))
            latest.append(int(hot.last_arrival[plain].max()))
        if repeats.any():
            earliest.append(int(timetable.frequency_start[repeats].min()))
            latest.append(int((timetable.frequency_end + span)[repeats].max()))
        if not earliest:
            continue
        for date in _dates_between(begin - max(latest), end - min(earliest), zone):
            shift = day_origin(date, zone) - begin
            runs_today = timetable.services_on(date)[hot.trip_service]
            is_run = plain & runs_today
            is_run &= hot.last_arrival + np.int64(shift) >= 0
            is_run &= hot.first_departure + np.int64(shift) < end - begin
            trip = np.flatnonzero(is_run).astype(np.int32)
            trips.append(trip)
            shifts.append(np.full(trip.size, shift, np.int32))
            rows = np.flatnonzero(repeats & runs_today[repeated])
            if rows.size:
                trip, repeat_shift = _repetitions(timetable, rows, span[rows], shift, end - begin, later(rows, date))
                trips.append(trip)
                shifts.append(repeat_shift)
            dates.append(np.full(sum(map(len, trips)) - sum(map(len, dates)), date, np.int32))
    return np.concatenate(trips), np.concatenate(dates), np.concatenate(shifts)


def active_rows(
    timetable: Timetable, begin: int, end: int, is_used: BoolArray | None
) -> tuple[IndexArray, Int32Array, Int64Array]:
    """
    Return the rows of frequencies.txt without exact times that run at some moment of an interval, on any service date.

    Returns
    -------
    rows : intp array of shape (n_lines,)
        A row for each of its service dates.
    date : int32 array of shape (n_lines,)
        Service date as proleptic ordinal.
    shift : int64 array of shape (n_lines,), s
        Beginning of the service date after `begin`.
    """
    hot, trip = timetable.hot, timetable.frequency_trip
    is_open = ~timetable.frequency_exact
    if is_used is not None:
        is_open &= is_used[hot.trip_route[trip]]
    latest = timetable.frequency_end.astype(np.int64) + (hot.last_arrival - hot.first_departure)[trip]
    found: list[tuple[IndexArray, int, int]] = []
    for number, zone in enumerate(timetable.zones):
        here = np.flatnonzero(is_open & (hot.trip_zone[trip] == number))
        if not here.size:
            continue
        first = begin - int(latest[here].max())
        for date in _dates_between(first, end - int(timetable.frequency_start[here].min()), zone):
            shift = day_origin(date, zone) - begin
            is_run = timetable.services_on(date)[hot.trip_service[trip[here]]]
            is_run &= (latest[here] + shift >= 0) & (timetable.frequency_start[here] + np.int64(shift) < end - begin)
            found.append((here[is_run], date, shift))
    counts = [rows.size for rows, _, _ in found]
    rows = np.concatenate([np.zeros(0, np.intp), *(rows for rows, _, _ in found)])
    dates = np.array([date for _, date, _ in found], np.int32)
    shifts = np.array([shift for _, _, shift in found], np.int64)
    return rows, np.repeat(dates, counts), np.repeat(shifts, counts)


def _dates_between(begin: int, end: int, zone: str) -> list[int]:
    """Return the service dates, as ordinals, that begin in an interval of POSIX seconds."""
    epoch = dt.date(1970, 1, 1).toordinal()
    first = max(1, begin // 86400 + epoch - 2)
    last = min(dt.date.max.toordinal(), end // 86400 + epoch + 2)
    return [date for date in range(first, last + 1) if begin <= day_origin(date, zone) <= end]


def _repetitions(
    timetable: Timetable, rows: IndexArray, span: Int32Array, shift: int, length: int, later: Int64Array | int
) -> tuple[Int32Array, Int32Array]:
    """
    Return the trips and shifts of the repetitions on a date that overlap an interval of `length` seconds.

    The first departure of each row is `later` seconds after its start.
    """
    start, headway = timetable.frequency_start[rows].astype(np.int64) + later, timetable.frequency_headway[rows]
    until = timetable.frequency_end[rows]
    # Repetition k departs at start + k * headway, before `until` and the end, and arrives `span` later, not before 0.
    lowest = np.maximum(0, -((start + shift + span) // headway))
    highest = (np.minimum(until, length - shift) - start - 1) // headway
    counts = np.maximum(0, highest - lowest + 1)
    k = within_rows(counts) + np.repeat(lowest, counts)
    trip = timetable.frequency_trip[rows]
    base = start + shift - timetable.hot.first_departure[trip]
    return np.repeat(trip, counts), (np.repeat(base, counts) + k * np.repeat(headway, counts)).astype(np.int32)


def _stay_instances(timetable: Timetable, trip: Int32Array, date: Int32Array, shift: Int32Array) -> Int32Array:
    """Return the trip instance that each instance continues as, by block_id and in-seat transfers; -1 for none."""
    hot = timetable.hot
    stay = np.full(trip.size, -1, np.int32)
    kind = timetable.column("transfers", "transfer_type")
    pairs = np.column_stack([timetable.column("transfers", f"{end}_trip_idx") for end in ("from", "to")])
    seated, banned = pairs[kind == 4], pairs[kind == 5]
    in_block = np.flatnonzero((hot.trip_block >= 0) & ~hot.is_repeated)
    if in_block.size == 0 and seated.size == 0:
        return stay
    in_block = in_block[
        np.lexsort((hot.last_arrival[in_block], hot.first_departure[in_block], hot.trip_block[in_block]))
    ]
    ban = np.sort(banned[:, 0].astype(np.int64) << 32 | banned[:, 1])
    indptr, stops = timetable.pattern_indptr, timetable.pattern_stop
    ends = trip_instances.TripEnds(
        first=hot.first_departure,
        last=hot.last_arrival,
        first_stop=stops[indptr[hot.trip_pattern]],
        last_stop=stops[indptr[hot.trip_pattern + 1] - 1],
    )
    lat, lng = timetable.column("stops", "stop_lat"), timetable.column("stops", "stop_lon")
    is_plain = ~hot.is_repeated[trip]
    run_of: dict[int, Int32Array] = {}
    for day in np.unique(date):
        on = np.flatnonzero(is_plain & (date == day))
        run_of[int(day)] = np.full(timetable.n_trips, -1, np.int32)
        run_of[int(day)][trip[on]] = on
        on_duty = timetable.services_on(int(day))[hot.trip_service]
        today = run_of[int(day)]
        trip_instances.link_blocks(in_block, hot.trip_block, on_duty, today, ends, lat, lng, STAY_SEATED_M, ban, stay)
    for day, today in run_of.items():
        # The vehicle continues on the same service date, or after midnight on the next one.
        for before, after in seated:
            if today[before] < 0:
                continue
            run = today[before]
            for runs_then in (today, run_of.get(day + 1)):
                if runs_then is None or runs_then[after] < 0:
                    continue
                start = int(hot.first_departure[after]) + int(shift[runs_then[after]])
                if 0 <= start - int(hot.last_arrival[before]) - int(shift[run]) <= STAY_SEATED_S:
                    stay[run] = runs_then[after]
                    break
    return stay


def merge_transfers(timetable: Timetable, footpaths: Footpaths | None) -> Transfers:
    """
    Merge walks along streets with the rules of transfers.txt.

    A rule for a station applies to all its stops; rules for the stops themselves take precedence. Type 2 replaces the
    walking time, type 3 forbids the transfer, and types 0 and 1 keep the walk. Rules for single routes or trips are not
    used.

    Stops at one position, such as those of two feeds, are one place: there is no walk between them, and a rule for one
    of them applies to transfers between it and the others unless they have a rule of their own. It does not apply to
    transfers among the others.

    Parameters
    ----------
    timetable : Timetable
    footpaths : Footpaths or None
        Walks along streets.

    Raises
    ------
    InputError
        If `footpaths` does not have one row per stop.
    """
    n = timetable.n_stops
    start, stop, seconds = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    if footpaths is not None:
        if footpaths.indptr.size != n + 1 or int(footpaths.indptr[-1]) != footpaths.stop.size:
            raise InputError(f"footpaths must be a CSR of {n} stops; got {footpaths.indptr.size - 1}")
        start = np.repeat(np.arange(n), np.diff(footpaths.indptr))
        stop, seconds = footpaths.stop.astype(np.int64), footpaths.seconds.astype(np.int64)
    twins = _twins(timetable)
    is_twin = np.isin(start * n + stop, twins[:, 0] * n + twins[:, 1])
    start = np.concatenate([start[~is_twin], twins[:, 0]])
    stop = np.concatenate([stop[~is_twin], twins[:, 1]])
    seconds = np.concatenate([seconds[~is_twin], np.zeros(len(twins), np.int64)])
    rules = _rules(timetable, twins)
    change_time = np.zeros(n, np.int32)
    at_stop = rules[rules[:, 0] == rules[:, 1]]
    change_time[at_stop[:, 0]] = np.where(at_stop[:, 2] == 3, FORBIDDEN, at_stop[:, 3])
    between = rules[rules[:, 0] != rules[:, 1]]
    is_ruled = np.isin(start * n + stop, between[:, 0] * n + between[:, 1]) | (start == stop)
    timed = between[between[:, 2] == 2]
    start = np.concatenate([start[~is_ruled], timed[:, 0]])
    stop = np.concatenate([stop[~is_ruled], timed[:, 1]])
    seconds = np.concatenate([seconds[~is_ruled], timed[:, 3]])
    order = np.lexsort((stop, start))
    indptr = np.searchsorted(start[order], np.arange(n + 1)).astype(np.int64)
    return Transfers(indptr, stop[order].astype(np.int32), seconds[order].astype(np.int32), change_time)


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
