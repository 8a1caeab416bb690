"""
RAPTOR on flat arrays: the earliest time at which rides get a traveller to each stop.

What a journey is, exactly. It starts at seeds, stops at which one can be at given times (the walk, drive or cycle
there is the caller's), and alternates rides and changes. A ride boards a run at a position with `can_board` whose
departure is not before one is ready, and leaves it at a later position with `can_alight`; where the vehicle continues
as another run (`stay_run`) it stays the same ride. At a seed one is ready at the seed's time. After a ride that
arrives at stop s at time t one is ready

- at s itself at t + change_s[s] + change_delay (never where change_s is `UNREACHED`),
- at the end of a footpath of w seconds from s at t + w + change_delay,

so `change_s` concerns changes at the stop itself only, footpaths are not chained and none follows a seed directly.
Labels are arrival times *of rides*: what comes after the last ride, and so has its own walking budget, starts from
them, and stops that were only walked to have no label.

Three things differ from the paper. (1) `reached` remembers by pattern and position the first run that was ever on board
there; a stop is worth scanning only if an earlier run can be caught, which one look at that run tells. It prunes
repeated rounds and, in windows, repeated departures. (2) With in-seat continuations the earliest run of a pattern
does not dominate the later ones, which may continue elsewhere: all runs from the boarded one on pass their
continuation on, each once. (3) Labels carry a row per round only where searches are stacked (windows with a limit on
changes); otherwise one row serves all rounds.

References
----------
D. Delling, T. Pajor, R. Werneck, "Round-Based Public Transit Routing", ALENEX 2012.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from traveltime_lab.kernels.lines import UNREACHED

#: As many rides as it takes.
UNLIMITED = 1 << 30


class State(NamedTuple):
    """Working arrays of a search; between searches only `reset` is needed. The row of round k is min(k, n_rows - 1)."""

    best: np.ndarray  # int32 (n_rows, n_stops), earliest arrival of a ride after at most k rides
    ready: np.ndarray  # int32 (n_rows, n_stops), earliest time to board after at most k rides
    reached: np.ndarray  # int32 (n_rows, n_positions), first run (within its pattern) on board after at most k rides
    handled: np.ndarray  # int32 (n_rows, n_patterns), first run whose continuations were followed
    seated: np.ndarray  # int32 (n_runs,) or (0,), lowest row in which a run was entered by staying seated
    fresh: np.ndarray  # int32 (n_stops,), time to board at the marked stops, UNREACHED elsewhere
    marked: np.ndarray  # int32 (n_stops,), stops where the round may board
    touched: np.ndarray  # int32 (n_stops,), stops at which the round arrived earlier
    is_touched: np.ndarray  # bool (n_stops,)
    changed: np.ndarray  # int32 (n_stops,), stops at which the search arrived earlier; n_changed[0] of them
    is_changed: np.ndarray  # bool (n_stops,)
    n_changed: np.ndarray  # int64 (1,)
    queue: np.ndarray  # int32 (n_patterns,)
    first: np.ndarray  # int32 (n_patterns,), first position to scan, UNREACHED if not queued
    stack: np.ndarray  # int32 (n_runs,) or (0,)


@numba.njit(cache=True, nogil=True)
def new_state(lines, n_rows):
    """Return working arrays for searches in `lines`; one row, or one per number of rides from 0."""
    n_stops = lines.change_s.size
    n_patterns = lines.pattern_indptr.size - 1
    n_runs = lines.run_pattern.size if lines.stay_run.size > 0 else 0
    return State(
        np.full((n_rows, n_stops), UNREACHED, np.int32),
        np.full((n_rows, n_stops), UNREACHED, np.int32),
        np.full((n_rows, lines.pattern_stops.size), UNREACHED, np.int32),
        np.full((n_rows, n_patterns), UNREACHED, np.int32),
        np.full(n_runs, UNREACHED, np.int32),
        np.full(n_stops, UNREACHED, np.int32),
        np.empty(n_stops, np.int32),
        np.empty(n_stops, np.int32),
        np.zeros(n_stops, np.bool_),
        np.empty(n_stops, np.int32),
        np.zeros(n_stops, np.bool_),
        np.zeros(1, np.int64),
        np.empty(n_patterns, np.int32),
        np.full(n_patterns, UNREACHED, np.int32),
        np.empty(n_runs, np.int32),
    )


@numba.njit(cache=True, nogil=True)
def reset(state):
    """Forget the labels of earlier searches."""
    state.best.fill(UNREACHED)
    state.ready.fill(UNREACHED)
    state.reached.fill(UNREACHED)
    state.handled.fill(UNREACHED)
    state.seated.fill(UNREACHED)
    forget_changes(state)


@numba.njit(cache=True, nogil=True)
def forget_changes(state):
    """Empty the list of stops whose label changed."""
    for i in range(state.n_changed[0]):
        state.is_changed[state.changed[i]] = False
    state.n_changed[0] = 0


@numba.njit(cache=True, nogil=True)
def _lower(rows, row, i, value):
    """Lower entry i of a row, and of the rows below it, which allow more rides."""
    for j in range(row, rows.shape[0]):
        if rows[j, i] <= value:
            break
        rows[j, i] = value


@numba.njit(cache=True, nogil=True)
def seed(state, stops, times, offset, limit):
    """
    Mark the stops where a search starts; return how many.

    Parameters
    ----------
    stops, times : int32 arrays of shape (n_seeds,)
        Being at ``stops[i]`` is possible from ``times[i] + offset`` on. A stop may occur twice.
    limit : int
        Latest time of interest.
    """
    n_marked = 0
    for i in range(stops.size):
        stop = stops[i]
        time = times[i] + offset
        if time <= limit and time < state.ready[0, stop]:
            _lower(state.ready, 0, stop, time)
            if state.fresh[stop] == UNREACHED:
                state.marked[n_marked] = stop
                n_marked += 1
            state.fresh[stop] = time
    return n_marked


@numba.njit(cache=True, nogil=True)
def _queue_patterns(lines, state, row, n_marked):
    """Queue the patterns of which an earlier run than ever before can be caught at a marked stop; return how many."""
    stop_indptr, stop_pattern, stop_position = lines.stop_indptr, lines.stop_pattern, lines.stop_position
    pattern_indptr, run_indptr, time_indptr = lines.pattern_indptr, lines.run_indptr, lines.time_indptr
    departure = lines.departure
    reached = state.reached[row]
    marked, fresh, first, queue = state.marked, state.fresh, state.first, state.queue
    n_queued = 0
    for i in range(n_marked):
        stop = marked[i]
        time = fresh[stop]
        for e in range(stop_indptr[stop], stop_indptr[stop + 1]):
            p = stop_pattern[e]
            k = stop_position[e]
            if k >= first[p]:
                continue
            start = pattern_indptr[p]
            r = min(np.int64(reached[start + k]), run_indptr[p + 1] - run_indptr[p]) - 1
            n = pattern_indptr[p + 1] - start
            if r < 0 or departure[time_indptr[p] + r * n + k] < time:
                continue
            if first[p] == UNREACHED:
                queue[n_queued] = p
                n_queued += 1
            first[p] = k
    return n_queued


@numba.njit(cache=True, nogil=True)
def _push_continuations(lines, state, row, run, n_stack):
    """Put the runs that `run` continues as on the stack, those that were not entered before; return its height."""
    for s in range(lines.stay_indptr[run], lines.stay_indptr[run + 1]):
        other = lines.stay_run[s]
        if state.seated[other] > row:
            state.seated[other] = row
            state.stack[n_stack] = other
            n_stack += 1
    return n_stack


@numba.njit(cache=True, nogil=True)
def _stay_seated(lines, state, row, p, r_first, limit, n_touched):
    """Follow the continuations of all runs of a pattern from r_first on; return how many stops are touched."""
    start = lines.pattern_indptr[p]
    n = lines.pattern_indptr[p + 1] - start
    n_runs = lines.run_indptr[p + 1] - lines.run_indptr[p]
    n_stack = 0
    for r in range(r_first, min(n_runs, state.handled[row, p])):
        if lines.arrival[lines.time_indptr[p] + r * n + n - 1] > limit:
            break
        n_stack = _push_continuations(lines, state, row, lines.run_indptr[p] + r, n_stack)
    _lower(state.handled, row, p, r_first)
    while n_stack > 0:
        n_stack -= 1
        run = state.stack[n_stack]
        q = lines.run_pattern[run]
        start = lines.pattern_indptr[q]
        n = lines.pattern_indptr[q + 1] - start
        r = run - lines.run_indptr[q]
        at = lines.time_indptr[q] + r * n
        for k in range(1, n):
            time = lines.arrival[at + k]
            if time > limit:
                break
            stop = lines.pattern_stops[start + k]
            if time < state.best[row, stop] and lines.can_alight[start + k]:
                _lower(state.best, row, stop, time)
                if not state.is_touched[stop]:
                    state.is_touched[stop] = True
                    state.touched[n_touched] = stop
                    n_touched += 1
            if state.reached[row, start + k] <= r:
                # Someone who boarded, here at the latest, is no later at what follows.
                break
        if lines.arrival[at + n - 1] <= limit:
            n_stack = _push_continuations(lines, state, row, run, n_stack)
    return n_touched


@numba.njit(cache=True, nogil=True)
def _scan_queue(lines, state, row, n_queued, limit):
    """Ride the earliest runs that can be caught along the queued patterns; return how many stops are touched."""
    # Arrays are taken out of their tuples once: each access in a loop would count references.
    pattern_indptr, run_indptr, time_indptr = lines.pattern_indptr, lines.run_indptr, lines.time_indptr
    pattern_stops, can_board, can_alight = lines.pattern_stops, lines.can_board, lines.can_alight
    arrival, departure = lines.arrival, lines.departure
    best_rows, reached_rows = state.best, state.reached
    best, reached = best_rows[row], reached_rows[row]
    queue, first, fresh = state.queue, state.first, state.fresh
    touched, is_touched = state.touched, state.is_touched
    last_row = best_rows.shape[0] - 1
    with_stays = lines.stay_run.size > 0
    n_touched = 0
    for i in range(n_queued):
        p = queue[i]
        start = pattern_indptr[p]
        n = pattern_indptr[p + 1] - start
        n_runs = run_indptr[p + 1] - run_indptr[p]
        times = time_indptr[p]
        run = n_runs
        at = times
        for k in range(first[p], n):
            stop = pattern_stops[start + k]
            first_run = min(np.int64(reached[start + k]), n_runs)
            if run < n_runs:
                time = arrival[at + k]
                if time > limit:
                    run = n_runs
                else:
                    if time < best[stop] and can_alight[start + k]:
                        best[stop] = time
                        for j in range(row + 1, last_row + 1):
                            best_rows[j, stop] = min(best_rows[j, stop], time)
                        if not is_touched[stop]:
                            is_touched[stop] = True
                            touched[n_touched] = stop
                            n_touched += 1
                    if first_run <= run:
                        # From here on an earlier search or round sat in this run or in one before it.
                        run = n_runs
                    else:
                        first_run = run
                        reached[start + k] = run
                        for j in range(row + 1, last_row + 1):
                            reached_rows[j, start + k] = min(reached_rows[j, start + k], run)
            ready = fresh[stop]
            if ready == UNREACHED or first_run == 0 or k == n - 1 or not can_board[start + k]:
                continue
            if departure[times + (first_run - 1) * n + k] >= ready:
                low = np.int64(0)
                high = first_run - 1
                while low < high:
                    middle = (low + high) >> 1
                    if departure[times + middle * n + k] >= ready:
                        high = middle
                    else:
                        low = middle + 1
                if departure[times + low * n + k] <= limit:
                    run = low
                    at = times + run * n
                    reached[start + k] = run
                    for j in range(row + 1, last_row + 1):
                        reached_rows[j, start + k] = min(reached_rows[j, start + k], run)
        first[p] = UNREACHED
        if with_stays and run < n_runs:
            n_touched = _stay_seated(lines, state, row, p, run, limit, n_touched)
    return n_touched


@numba.njit(cache=True, nogil=True)
def ride_round(lines, state, n_marked, k, limit, change_delay, is_last):
    """
    Ride once from the marked stops, then change; return how many stops are marked for the next round.

    Parameters
    ----------
    lines : Lines
    state : State
        Changed. `marked` and `fresh` say where the ride may begin.
    n_marked : int
    k : int
        Number of the ride, from 1.
    limit : int
        Later times are of no interest.
    change_delay : int
        Seconds that every change takes beyond its walk.
    is_last : bool
        Whether no change follows.
    """
    row = min(k, state.best.shape[0] - 1)
    n_queued = _queue_patterns(lines, state, row, n_marked)
    n_touched = _scan_queue(lines, state, row, n_queued, limit)
    transfer_indptr, transfer_stop, transfer_s = lines.transfer_indptr, lines.transfer_stop, lines.transfer_s
    change_s = lines.change_s
    best, ready_rows = state.best[row], state.ready
    ready = ready_rows[row]
    last_row = ready_rows.shape[0] - 1
    marked, fresh, touched, is_touched = state.marked, state.fresh, state.touched, state.is_touched
    changed, is_changed = state.changed, state.is_changed
    for i in range(n_marked):
        fresh[marked[i]] = UNREACHED
    n_marked = 0
    n_changed = state.n_changed[0]
    for i in range(n_touched):
        stop = touched[i]
        is_touched[stop] = False
        if not is_changed[stop]:
            is_changed[stop] = True
            changed[n_changed] = stop
            n_changed += 1
        if is_last:
            continue
        time = best[stop] + change_delay
        # The stop itself comes first, then the footpaths, nearest first.
        for e in range(transfer_indptr[stop] - 1, transfer_indptr[stop + 1]):
            if e < transfer_indptr[stop]:
                end, at = stop, time + change_s[stop]
            else:
                end, at = transfer_stop[e], time + transfer_s[e]
                if at > limit:
                    break
            if at < ready[end] and at <= limit:
                ready[end] = at
                for j in range(row + 1, last_row + 1):
                    ready_rows[j, end] = min(ready_rows[j, end], at)
                if fresh[end] == UNREACHED:
                    marked[n_marked] = end
                    n_marked += 1
                fresh[end] = at
    state.n_changed[0] = n_changed
    return n_marked


@numba.njit(cache=True, nogil=True)
def ride(lines, state, n_marked, limit, max_rides, change_delay):
    """Ride and change until nothing improves or `max_rides` is spent; see `ride_round`. Returns the last round."""
    k = 0
    while n_marked > 0 and k < max_rides:
        k += 1
        n_marked = ride_round(lines, state, n_marked, k, limit, change_delay, k == max_rides)
    for i in range(n_marked):
        state.fresh[state.marked[i]] = UNREACHED
    return k


@numba.njit(cache=True, nogil=True)
def search(lines, state, seed_stop, seed_time, limit, max_rides, change_delay):
    """
    Find the earliest arrival by rides at every stop.

    Parameters
    ----------
    lines : Lines
        Forward lines, or mirrored ones for the latest departure: then all times are negated, too.
    state : State
        From ``new_state(lines, 1)``, used for any number of searches in a row.
    seed_stop, seed_time : int32 arrays of shape (n_seeds,)
        Stops where one can be, and from when.
    limit : int
        Latest arrival of interest.
    max_rides : int
        Most rides, one more than changes; `UNLIMITED` for as many as it takes.
    change_delay : int
        Seconds added to each change.

    Returns
    -------
    int32 array of shape (n_stops,)
        Arrival times, `UNREACHED` if none is within the limit. A view that the next search overwrites.
    """
    reset(state)
    n_marked = seed(state, seed_stop, seed_time, 0, limit)
    ride(lines, state, n_marked, limit, max_rides, change_delay)
    return state.best[state.best.shape[0] - 1]


@numba.njit(cache=True, nogil=True)
def search_rounds(lines, state, seed_stop, seed_time, limit, max_rides, change_delay):
    """
    Search and keep the labels of every round; see `search`.

    Returns
    -------
    best, ready : int32 arrays of shape (n_rounds + 1, n_stops)
        Earliest arrival of a ride, and earliest time to board, after at most k rides; row 0 has the seeds.
    """
    reset(state)
    n_stops = lines.change_s.size
    best = np.full((8, n_stops), UNREACHED, np.int32)
    ready = np.full((8, n_stops), UNREACHED, np.int32)
    n_marked = seed(state, seed_stop, seed_time, 0, limit)
    ready[0] = state.ready[0]
    k = 0
    while n_marked > 0 and k < max_rides:
        k += 1
        n_marked = ride_round(lines, state, n_marked, k, limit, change_delay, k == max_rides)
        if k == best.shape[0]:
            best = np.concatenate((best, np.empty_like(best)))
            ready = np.concatenate((ready, np.empty_like(ready)))
        best[k] = state.best[0]
        ready[k] = state.ready[0]
    for i in range(n_marked):
        state.fresh[state.marked[i]] = UNREACHED
    return best[: k + 1], ready[: k + 1]
