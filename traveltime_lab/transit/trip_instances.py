"""
Build the trip table of an interval: its trip instances as arrays for the kernels.

A *trip instance* (``instance`` or ``run`` in identifiers) is one trip on one service date, or one of its repetitions by
frequencies.txt. Trip instances with equal stops form a pattern. If one overtakes another, they are put into different
patterns, so that the first instance of a pattern that can be boarded is also the first to arrive at every stop.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import fields
from typing import Final

import numpy as np

from traveltime_lab._arrays import (
    BoolArray,
    IndexArray,
    Int32Array,
    Int64Array,
    UInt8Array,
    indptr_of,
    unique_values,
    within_rows,
)
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.kernels.transit import trip_instances
from traveltime_lab.transit.calendar import day_origin
from traveltime_lab.transit.headway_draws import Draw, first_departures
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.transfers import Transfers, merge_transfers
from traveltime_lab.transit.trip_table import TripTable
from traveltime_lab.transit.wheelchair import Ridden

#: Longest distance in metres between the end of a trip and the beginning of the next trip of its block for passengers
#: to stay seated; the default of maxInterlineDistance in OpenTripPlanner. Over longer distances vehicles run empty.
STAY_SEATED_M: Final = 200.0
#: Longest wait between two trips that an in-seat transfer joins. Assumed: vehicles do not wait longer at the end of a
#: line, and where the second trip does not run today, its run of tomorrow is later than that.
STAY_SEATED_S: Final = 12 * 3600
#: Longest interval; longer ones do not fit into the int32 times of the kernels.
_LONGEST_S: Final = 366 * 86400


def trip_table(
    timetable: Timetable,
    begin: int,
    end: int,
    *,
    is_used: BoolArray | None = None,
    changes: Transfers | None = None,
    headways: Draw | bool = True,
    ridden: Ridden | None = None,
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
    ridden : Ridden, optional
        The trips, and the stops for boarding and alighting, that travellers without steps can use. Default: all.

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
    trip, date, shift = _runs_between(timetable, begin, end, usable_trips(timetable, is_used, ridden), headways)
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
        can_board=may_call(timetable.pattern_pickup[rows], pattern_stops, ridden),
        can_alight=may_call(timetable.pattern_drop_off[rows], pattern_stops, ridden),
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


def usable_trips(timetable: Timetable, is_used: BoolArray | None, ridden: Ridden | None) -> BoolArray:
    """Return which trips can be used, by route and for travellers without steps, shape (n_trips,)."""
    trips = np.ones(timetable.n_trips, np.bool_)
    if is_used is not None:
        trips &= is_used[timetable.hot.trip_route]
    if ridden is not None:
        trips &= ridden.trips
    return trips


def may_call(rules: UInt8Array, stops: Int32Array, ridden: Ridden | None) -> BoolArray:
    """Return whether passengers may board, or alight, given the rule and the stop of each position of patterns."""
    is_allowed = np.asarray(rules != 1)
    return is_allowed if ridden is None else np.asarray(is_allowed & ridden.stops[stops])


def _runs_between(
    timetable: Timetable, begin: int, end: int, is_open: BoolArray, headways: Draw | bool
) -> tuple[Int32Array, Int32Array, Int32Array]:
    """Return the trip, the service date and the shift (s after `begin`) of the instances that overlap an interval."""
    hot = timetable.hot
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
    timetable: Timetable, begin: int, end: int, is_usable: BoolArray
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
    is_open = ~timetable.frequency_exact & is_usable[trip]
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
    for day in unique_values(date):
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
