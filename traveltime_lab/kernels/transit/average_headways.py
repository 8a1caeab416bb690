"""
Search with RAPTOR where some lines have a headway and no times, of which a boarding waits the half on average.

A *headway line* (`line` in identifiers) is a row of frequencies.txt on a service date. Its vehicles leave the first
stop from `first` to `last`. A traveller who is ready to board at a position waits for the first vehicle, if none has
left yet, and then for `wait`, half a headway; the vehicle must have left the first stop by `last`. All other times are
those of the trip. So a boarding is a departure from the first stop, `base` in identifiers, that any traveller may have
of their own, and the earliest is the best: lines need no trip instances, and rounds no memory of them.

Lines with times are searched as in `traveltime_lab.kernels.transit.raptor`, in the same rounds. Mirrored lines wait
half a headway after alighting, so that searches for the latest departure are exact, too. Times have the unit of the
lines.

References
----------
M. W. Conway, A. Byrd, M. van der Linden, "Evidence-Based Transit and Land Use Sketch Planning Using Interactive
Accessibility Methods on Combined Schedule and Headway-Based Networks", Transportation Research Record 2653 (2017).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.transit.raptor import (
    MANY,
    ROUNDS,
    change_from_few,
    change_from_many,
    queue_patterns,
    scan_queue,
)
from traveltime_lab.kernels.transit.search_state import forget_changes, reset, seed
from traveltime_lab.kernels.unreached import NEVER


class HeadwayLines(NamedTuple):
    """Headway lines in one direction of time, with positions as CSR."""

    indptr: np.ndarray  # int64 (n_lines + 1,)
    stops: np.ndarray  # int32 (n_positions,)
    can_board: np.ndarray  # bool (n_positions,)
    can_alight: np.ndarray  # bool (n_positions,)
    arrival: np.ndarray  # int32 (n_positions,), time after the departure from the first position
    departure: np.ndarray  # int32 (n_positions,)
    first: np.ndarray  # int32 (n_lines,), earliest departure from the first position
    last: np.ndarray  # int32 (n_lines,), latest departure from the first position
    wait: np.ndarray  # int32 (n_lines,)
    stop_indptr: np.ndarray  # int64 (n_stops + 1,), CSR of the positions where each stop can be boarded
    stop_line: np.ndarray  # int32
    stop_boarding: np.ndarray  # int32, indices of `stops`


class Boardings(NamedTuple):
    """Working arrays of a search, and a list of the boardings that it tried."""

    queue: np.ndarray  # int32 (n_lines,)
    begin: np.ndarray  # int32 (n_lines,), first position to scan, NEVER if not queued
    tried: np.ndarray  # int32 (3, n), line, position and base of each boarding; none is kept that has no space
    n_tried: np.ndarray  # int64 (1,)


@kernel
def new_boardings(heads, n):
    """Return working arrays with space for some boardings."""
    n_lines = heads.first.size
    return Boardings(
        np.empty(n_lines, np.int32),
        np.full(n_lines, NEVER, np.int32),
        np.empty((3, n), np.int32),
        np.zeros(1, np.int64),
    )


@kernel
def _scan_headways(heads, boardings, state, k, n_marked, n_touched, limit):
    """
    Scan the headway lines at the marked stops, after the patterns of the same round.

    Returns
    -------
    int
        Number of touched stops, with the `n_touched` of the patterns.
    """
    n_rows = state.best.shape[0]
    row = min(k, n_rows - 1)
    queue, begin, tried = boardings.queue, boardings.begin, boardings.tried
    fresh, marked, touched, is_touched = state.fresh, state.marked, state.touched, state.is_touched
    best_rows = state.best
    best = best_rows[row]
    n_queued = 0
    for i in range(n_marked):
        stop = marked[i]
        for e in range(heads.stop_indptr[stop], heads.stop_indptr[stop + 1]):
            line, position = heads.stop_line[e], heads.stop_boarding[e]
            if fresh[stop] + heads.wait[line] - heads.departure[position] <= heads.last[line]:
                if begin[line] == NEVER:
                    queue[n_queued] = line
                    n_queued += 1
                begin[line] = min(begin[line], position)
    for i in range(n_touched):
        is_touched[touched[i]] = True
    for i in range(n_queued):
        line = queue[i]
        wait, base = heads.wait[line], np.int32(NEVER)
        end = heads.indptr[line + 1]
        for position in range(begin[line], end):
            stop = heads.stops[position]
            if base != NEVER and heads.can_alight[position]:
                time = base + heads.arrival[position]
                if time <= limit and time < best[stop]:
                    best[stop] = time
                    if not is_touched[stop]:
                        is_touched[stop] = True
                        touched[n_touched] = stop
                        n_touched += 1
            if fresh[stop] != NEVER and heads.can_board[position] and position < end - 1:
                away = heads.departure[position]
                other = max(fresh[stop], heads.first[line] + away) + wait - away
                if other < base and other <= heads.last[line] and other + away <= limit:
                    base = np.int32(other)
                    n_tried = boardings.n_tried[0]
                    if n_tried < tried.shape[1]:
                        tried[0, n_tried], tried[1, n_tried], tried[2, n_tried] = line, position, base
                        boardings.n_tried[0] = n_tried + 1
        begin[line] = NEVER
    for i in range(n_touched):
        stop = touched[i]
        is_touched[stop] = False
        for j in range(row + 1, n_rows):
            best_rows[j, stop] = min(best_rows[j, stop], best[stop])
    return n_touched


@kernel
def _round(lines, heads, boardings, state, n_marked, k, limit, change_delay, is_last):
    """
    Run one round as `traveltime_lab.kernels.transit.raptor.ride_round` does, with headway lines.

    Searches without headway lines do not share parts of it: these calls would cost them 5 % (measured).
    """
    row = min(k, state.best.shape[0] - 1)
    n_touched = scan_queue(lines, state, row, queue_patterns(lines, state, row, n_marked), limit)
    n_touched = _scan_headways(heads, boardings, state, k, n_marked, n_touched, limit)
    for i in range(n_marked):
        state.fresh[state.marked[i]] = NEVER
    for i in range(n_touched):
        stop = state.touched[i]
        if not state.is_changed[stop]:
            state.is_changed[stop] = True
            state.changed[state.n_changed[0]] = stop
            state.n_changed[0] += 1
    if is_last:
        return 0
    if n_touched * MANY > lines.change_time.size:
        n_marked = change_from_many(lines, state, row, n_touched, limit, change_delay)
    else:
        n_marked = change_from_few(lines, state, row, n_touched, limit, change_delay)
    for i in range(n_marked):
        stop = state.marked[i]
        state.fresh[stop] = state.ready[row, stop]
        for j in range(row + 1, state.ready.shape[0]):
            state.ready[j, stop] = min(state.ready[j, stop], state.ready[row, stop])
    return n_marked


@kernel
def average_stops(lines, heads, state, seeds, starts, limits, out):
    """
    Fill ``out[start, stop]`` with the time from each departure to the arrival by transit at each stop.

    Parameters
    ----------
    lines : Lines
        Lines with times.
    heads : HeadwayLines
        In the same direction of time.
    state : State
        From `traveltime_lab.kernels.transit.range_raptor.window_state`, reset before the first departures.
    seeds : Seeds
    starts : int32 array of shape (n_starts,)
        Departures, not ascending, and none after those of earlier calls.
    limits : Limits
        With the same number of rides as `state`.
    out : int32 array of shape (n_starts, n_stops)
        Overwritten; `NEVER` where there is no journey within the limit.
    """
    best = state.best[state.best.shape[0] - 1]
    boardings = new_boardings(heads, 0)
    for i in range(starts.size):
        latest = starts[i] + limits.travel_time
        forget_changes(state)
        n_marked = seed(state, seeds.stops, seeds.times, starts[i], latest)
        k = 0
        while n_marked > 0 and k < limits.rides:
            k += 1
            n_marked = _round(
                lines, heads, boardings, state, n_marked, k, latest, limits.change_delay, k == limits.rides
            )
        for j in range(n_marked):
            state.fresh[state.marked[j]] = NEVER
        for stop in range(best.size):
            time = best[stop] - starts[i]
            out[i, stop] = time if time <= limits.travel_time else NEVER


@kernel
def average_rounds(lines, heads, state, seeds, start, limits):
    """
    Search at one moment, and keep the labels of every round and the boardings of headway lines.

    Parameters
    ----------
    lines, heads
        As in `average_stops`.
    state : State
        From ``new_state(lines, 1)``; can be used for any number of searches.
    seeds : Seeds
    start : int
        Moment of the search.
    limits : Limits

    Returns
    -------
    best, ready : int32 arrays of shape (n_rounds + 1, n_stops)
        See `traveltime_lab.kernels.transit.raptor.rounds_into`.
    tried : int32 array of shape (3, n_boardings)
        Line, position (as an index of ``heads.stops``) and departure from the first position of each boarding.
    """
    n_stops, latest = lines.change_time.size, start + limits.travel_time
    best, ready = np.empty((ROUNDS, n_stops), np.int32), np.empty((ROUNDS, n_stops), np.int32)
    tried = np.empty((3, 0), np.int32)
    reset(state)
    n_marked = seed(state, seeds.stops, seeds.times, np.int32(start), latest)
    best[0] = NEVER
    ready[0] = state.ready[0]
    # A round boards at most once at each position.
    boardings = new_boardings(heads, heads.stops.size)
    k = 0
    while n_marked > 0 and k < limits.rides:
        k += 1
        boardings.n_tried[0] = 0
        n_marked = _round(lines, heads, boardings, state, n_marked, k, latest, limits.change_delay, k == limits.rides)
        tried = np.concatenate((tried, boardings.tried[:, : boardings.n_tried[0]]), axis=1)
        if k == best.shape[0]:
            best = np.concatenate((best, np.empty_like(best)))
            ready = np.concatenate((ready, np.empty_like(ready)))
        best[k] = state.best[0]
        ready[k] = state.ready[0]
    for i in range(n_marked):
        state.fresh[state.marked[i]] = NEVER
    return best[: k + 1], ready[: k + 1], tried
