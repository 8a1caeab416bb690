"""
Arrange a timetable for RAPTOR, forwards and backwards in time.

`Lines` holds a `TripTable` in one direction of time. `forward_lines` keeps the direction. `mirrored` reverses it: it
negates all times, reverses the positions and the trip instances of each pattern, transposes footpaths and in-seat
continuations, and exchanges boarding and alighting. A search for the earliest arrival in mirrored lines is therefore
an exact search for the latest departure, at the same cost.

In identifiers, `run` and `instance` both mean a trip instance: one trip on one service date, or one repetition of a
frequency. `stay` means an in-seat continuation: the vehicle continues as another trip of its block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.order import ascending
from traveltime_lab.kernels.unreached import TOO_EARLY


class Patterns(NamedTuple):
    """Patterns: sequences of stops."""

    indptr: np.ndarray  # int64 (n_patterns + 1,), index pointer of the positions
    stops: np.ndarray  # int32 (n_positions,)
    can_board: np.ndarray  # bool (n_positions,)
    can_alight: np.ndarray  # bool (n_positions,)


class Instances(NamedTuple):
    """Trip instances by pattern; see `Lines` for the order of the times."""

    indptr: np.ndarray  # int64 (n_patterns + 1,)
    time_indptr: np.ndarray  # int64 (n_patterns + 1,)
    arrival: np.ndarray  # int32 (n_times,)
    departure: np.ndarray  # int32 (n_times,)
    stay: np.ndarray  # int32 (n_runs,), trip instance that the vehicle continues as, -1 for none


class Footpaths(NamedTuple):
    """CSR of the footpaths from each stop."""

    indptr: np.ndarray  # int64 (n_stops + 1,)
    stops: np.ndarray  # int32
    times: np.ndarray  # int32


class Lines(NamedTuple):
    """
    Patterns, trip instances, footpaths and in-seat continuations in one direction of time.

    All times are int32 numbers in one unit: seconds, or milliseconds after `TripTable.in_milliseconds`. The kernels
    that take lines take and return times of the same unit. The time of trip instance r of pattern p at position k has
    the index ``time_indptr[p] + r * n_positions(p) + k``. ``stop_*`` lists for each stop the patterns that can be
    boarded there and the positions of boarding as indices of `pattern_stops`; the last position of a pattern is never
    among them. ``stay_indptr`` has length 1 if no trip instance continues as another.
    """

    pattern_indptr: np.ndarray  # int64 (n_patterns + 1,)
    pattern_stops: np.ndarray  # int32 (n_positions,)
    can_board: np.ndarray  # bool (n_positions,)
    can_alight: np.ndarray  # bool (n_positions,)
    instance_indptr: np.ndarray  # int64 (n_patterns + 1,)
    time_indptr: np.ndarray  # int64 (n_patterns + 1,)
    arrival: np.ndarray  # int32 (n_times,)
    departure: np.ndarray  # int32 (n_times,)
    last_departure: np.ndarray  # int32 (n_positions,), TOO_EARLY where boarding is not possible
    stop_indptr: np.ndarray  # int64 (n_stops + 1,)
    stop_pattern: np.ndarray  # int32 (n_boardings,)
    stop_boarding: np.ndarray  # int32 (n_boardings,)
    transfer_indptr: np.ndarray  # int64 (n_stops + 1,)
    transfer_stop: np.ndarray  # int32 (n_transfers,), nearest first
    transfer_time: np.ndarray  # int32 (n_transfers,), ascending within a stop
    change_time: np.ndarray  # int32 (n_stops,)
    stay_indptr: np.ndarray  # int64 (n_runs + 1,), or (1,)
    stay_instance: np.ndarray  # int32 (n_stays,)
    run_pattern: np.ndarray  # int32 (n_runs,)


@kernel
def _csr(rows, n_rows):
    """Return the index pointer of rows and the order of a stable counting sort by row, without negative rows."""
    indptr = np.zeros(n_rows + 1, np.int64)
    for row in rows:
        if row >= 0:
            indptr[row + 1] += 1
    for row in range(n_rows):
        indptr[row + 1] += indptr[row]
    order = np.empty(indptr[n_rows], np.int64)
    at = indptr[:-1].copy()
    for i in range(rows.size):
        if rows[i] >= 0:
            order[at[rows[i]]] = i
            at[rows[i]] += 1
    return indptr, order


@kernel
def _boardings(pattern_indptr, pattern_stops, can_board, n_stops):
    """Return the CSR of the patterns and positions that can be boarded at each stop, without last positions."""
    rows = np.full(pattern_stops.size, -1, np.int32)
    pattern = np.empty(pattern_stops.size, np.int32)
    for p in range(pattern_indptr.size - 1):
        for i in range(pattern_indptr[p], pattern_indptr[p + 1]):
            pattern[i] = p
            if can_board[i] and i < pattern_indptr[p + 1] - 1:
                rows[i] = pattern_stops[i]
    indptr, order = _csr(rows, n_stops)
    stop_pattern = np.empty(order.size, np.int32)
    stop_boarding = np.empty(order.size, np.int32)
    for k in range(order.size):
        stop_pattern[k] = pattern[order[k]]
        stop_boarding[k] = order[k]
    return indptr, stop_pattern, stop_boarding


@kernel
def _nearest_first(footpaths):
    """Return the footpaths with those of each stop sorted by duration; the same arrays if they are."""
    indptr, stops, times = footpaths
    is_sorted = True
    for row in range(indptr.size - 1):
        for k in range(indptr[row] + 1, indptr[row + 1]):
            is_sorted &= times[k - 1] <= times[k]
    if is_sorted:
        return footpaths
    out_stops = np.empty_like(stops)
    out_times = np.empty_like(times)
    for row in range(indptr.size - 1):
        start, end = indptr[row], indptr[row + 1]
        order = ascending(times[start:end])
        for k in range(end - start):
            out_stops[start + k] = stops[start + order[k]]
            out_times[start + k] = times[start + order[k]]
    return Footpaths(indptr, out_stops, out_times)


@kernel
def _last_departures(pattern_indptr, can_board, instance_indptr, time_indptr, departure):
    """Return the latest departure from each position, TOO_EARLY where boarding is not possible."""
    out = np.full(pattern_indptr[-1], TOO_EARLY, np.int32)
    for p in range(pattern_indptr.size - 1):
        start, end = pattern_indptr[p], pattern_indptr[p + 1]
        if instance_indptr[p + 1] > instance_indptr[p]:
            for i in range(start, end - 1):
                if can_board[i]:
                    out[i] = departure[time_indptr[p + 1] - end + i]
    return out


@kernel
def forward_lines(patterns, instances, footpaths, change_time):
    """
    Return the `Lines` of the arrays of a `TripTable`.

    Parameters
    ----------
    patterns : Patterns
    instances : Instances
    footpaths : Footpaths
    change_time : int32 array of shape (n_stops,)
        Minimum transfer time at the stop itself.
    """
    pattern_indptr, pattern_stops, can_board, can_alight = patterns
    instance_indptr, time_indptr, arrival, departure, stay_instance = instances
    stop_indptr, stop_pattern, stop_boarding = _boardings(pattern_indptr, pattern_stops, can_board, change_time.size)
    near = _nearest_first(footpaths)
    run_pattern = np.empty(instance_indptr[-1], np.int32)
    for p in range(instance_indptr.size - 1):
        run_pattern[instance_indptr[p] : instance_indptr[p + 1]] = p
    n_stays = 0
    for run in stay_instance:
        n_stays += run >= 0
    stay_indptr = np.zeros(1 if n_stays == 0 else stay_instance.size + 1, np.int64)
    stays = np.empty(n_stays, np.int32)
    if n_stays > 0:
        size = 0
        for run in range(stay_instance.size):
            if stay_instance[run] >= 0:
                stays[size] = stay_instance[run]
                size += 1
            stay_indptr[run + 1] = size
    return Lines(
        pattern_indptr=pattern_indptr,
        pattern_stops=pattern_stops,
        can_board=can_board,
        can_alight=can_alight,
        instance_indptr=instance_indptr,
        time_indptr=time_indptr,
        arrival=arrival,
        departure=departure,
        last_departure=_last_departures(pattern_indptr, can_board, instance_indptr, time_indptr, departure),
        stop_indptr=stop_indptr,
        stop_pattern=stop_pattern,
        stop_boarding=stop_boarding,
        transfer_indptr=near.indptr,
        transfer_stop=near.stops,
        transfer_time=near.times,
        change_time=change_time,
        stay_indptr=stay_indptr,
        stay_instance=stays,
        run_pattern=run_pattern,
    )


@kernel
def _reversed_blocks(indptr, values):
    """Return values with the order inside each block reversed."""
    out = np.empty_like(values)
    for block in range(indptr.size - 1):
        start, end = indptr[block], indptr[block + 1]
        for i in range(start, end):
            out[i] = values[start + end - 1 - i]
    return out


@kernel
def mirrored(lines):
    """
    Return the lines with time reversed.

    In a pattern with n trip instances and m positions, instance r becomes n - 1 - r, position k becomes m - 1 - k, and
    time t becomes -t.
    """
    n_stops = lines.change_time.size
    n_runs = lines.run_pattern.size
    pattern_stops = _reversed_blocks(lines.pattern_indptr, lines.pattern_stops)
    can_board = _reversed_blocks(lines.pattern_indptr, lines.can_alight)
    can_alight = _reversed_blocks(lines.pattern_indptr, lines.can_board)
    stop_indptr, stop_pattern, stop_boarding = _boardings(lines.pattern_indptr, pattern_stops, can_board, n_stops)

    source = np.empty(lines.transfer_stop.size, np.int32)
    for stop in range(n_stops):
        source[lines.transfer_indptr[stop] : lines.transfer_indptr[stop + 1]] = stop
    transfer_indptr, order = _csr(lines.transfer_stop, n_stops)
    near = _nearest_first(Footpaths(transfer_indptr, source[order], lines.transfer_time[order]))

    stay_indptr = np.zeros(1, np.int64)
    stays = np.empty(0, np.int32)
    if lines.stay_instance.size > 0:
        before = np.empty(lines.stay_instance.size, np.int32)
        after = np.empty(lines.stay_instance.size, np.int32)
        for run in range(n_runs):
            p = lines.run_pattern[run]
            for k in range(lines.stay_indptr[run], lines.stay_indptr[run + 1]):
                q = lines.run_pattern[lines.stay_instance[k]]
                after[k] = lines.instance_indptr[p] + lines.instance_indptr[p + 1] - 1 - run
                before[k] = lines.instance_indptr[q] + lines.instance_indptr[q + 1] - 1 - lines.stay_instance[k]
        stay_indptr, order = _csr(before, n_runs)
        stays = after[order]
    departure = -_reversed_blocks(lines.time_indptr, lines.arrival)
    indptr, time_indptr = lines.instance_indptr, lines.time_indptr
    return Lines(
        pattern_indptr=lines.pattern_indptr,
        pattern_stops=pattern_stops,
        can_board=can_board,
        can_alight=can_alight,
        instance_indptr=indptr,
        time_indptr=time_indptr,
        arrival=-_reversed_blocks(time_indptr, lines.departure),
        departure=departure,
        last_departure=_last_departures(lines.pattern_indptr, can_board, indptr, time_indptr, departure),
        stop_indptr=stop_indptr,
        stop_pattern=stop_pattern,
        stop_boarding=stop_boarding,
        transfer_indptr=near.indptr,
        transfer_stop=near.stops,
        transfer_time=near.times,
        change_time=lines.change_time,
        stay_indptr=stay_indptr,
        stay_instance=stays,
        run_pattern=lines.run_pattern,
    )


@kernel
def first_fault(lines):
    """
    Return the first violation of the requirements of searches.

    Returns
    -------
    kind : int
        0: there is none. 1: a trip instance departs before it arrives. 2: it arrives before it departed from the
        previous stop. 3: it overtakes the previous instance of its pattern. 4: a vehicle continues as another trip
        before it has arrived. 5: the duration of a footpath is negative. 6: a minimum transfer time is negative.
    pattern, run, position : int
        Where the violation is.
    """
    for p in range(lines.pattern_indptr.size - 1):
        n = lines.pattern_indptr[p + 1] - lines.pattern_indptr[p]
        for r in range(lines.instance_indptr[p + 1] - lines.instance_indptr[p]):
            row = lines.time_indptr[p] + r * n
            for k in range(n):
                i = row + k
                if lines.departure[i] < lines.arrival[i]:
                    return 1, p, r, k
                if k > 0 and lines.arrival[i] < lines.departure[i - 1]:
                    return 2, p, r, k
                if r > 0 and (lines.arrival[i] < lines.arrival[i - n] or lines.departure[i] < lines.departure[i - n]):
                    return 3, p, r, k
            run = lines.instance_indptr[p] + r
            if lines.stay_instance.size > 0:
                for s in range(lines.stay_indptr[run], lines.stay_indptr[run + 1]):
                    q = lines.run_pattern[lines.stay_instance[s]]
                    m = lines.pattern_indptr[q + 1] - lines.pattern_indptr[q]
                    entry = lines.time_indptr[q] + (lines.stay_instance[s] - lines.instance_indptr[q]) * m
                    if lines.departure[entry] < lines.arrival[row + n - 1]:
                        return 4, p, r, n - 1
    for stop in range(lines.change_time.size):
        if lines.change_time[stop] < 0:
            return 6, stop, 0, 0
        for k in range(lines.transfer_indptr[stop], lines.transfer_indptr[stop + 1]):
            if lines.transfer_time[k] < 0:
                return 5, stop, 0, 0
    return 0, 0, 0, 0
