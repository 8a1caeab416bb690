"""
Searches for every start in a window (rRAPTOR): from the last start to the first, labels kept.

Whoever leaves earlier can wait and do what is possible later, so labels of later starts are bounds for earlier ones,
and each start costs only what it improves. With a limit on changes labels are kept per number of rides; without one,
one label per stop is enough.

All starts count: who leaves at `start` and waits travels from `start` on. The answers are

- times by start, for percentiles (`window_times`);
- the least seconds over all starts (`window_least`), which is the union of all journeys of the window;
- the few shortest journeys none of which is beaten by one that leaves no earlier and arrives no later (`window_best`).

For the last two the starts at which something changes are enough, see `window_starts`. With mirrored lines a window
of departures becomes one of arrivals.
"""

from __future__ import annotations

import numba
import numpy as np

from traveltime_lab.kernels.transit.patterns import UNREACHED
from traveltime_lab.kernels.transit.raptor import UNLIMITED, forget_changes, new_state, reset, ride, seed


@numba.njit(cache=True, nogil=True)
def window_starts(lines, seed_stop, seed_s, begin, end, step):
    """
    Return the last start of the window and those with which some departure is just caught, latest first.

    Starts are `step` apart, counted from the first.

    Parameters
    ----------
    lines : Lines
    seed_stop, seed_s : int32 arrays of shape (n_seeds,)
        Stops and the seconds to get there.
    begin, end : int
        First start, and the latest one if it is a step; both included.
    step : int

    Returns
    -------
    int32 array of shape (n_starts,)
        Falling; no journey of another start is both quicker and not beaten.
    """
    is_start = np.zeros((end - begin) // step + 1, np.bool_)
    is_start[-1] = True
    for i in range(seed_stop.size):
        for e in range(lines.stop_indptr[seed_stop[i]], lines.stop_indptr[seed_stop[i] + 1]):
            p = lines.stop_pattern[e]
            n = lines.pattern_indptr[p + 1] - lines.pattern_indptr[p]
            at = lines.time_indptr[p] + lines.stop_boarding[e] - lines.pattern_indptr[p]
            low = np.int64(0)
            high = lines.instance_indptr[p + 1] - lines.instance_indptr[p]
            last = high
            while low < high:
                middle = (low + high) >> 1
                if lines.departure[at + middle * n] >= begin + seed_s[i]:
                    high = middle
                else:
                    low = middle + 1
            for r in range(low, last):
                start = lines.departure[at + r * n] - seed_s[i]
                if start > end:
                    break
                is_start[(start - begin) // step] = True
    return (begin + step * np.flatnonzero(is_start)[::-1]).astype(np.int32)


@numba.njit(cache=True, nogil=True)
def window_state(lines, max_rides):
    """Return working arrays for windows; see `raptor.new_state`."""
    return new_state(lines, 1 if max_rides >= UNLIMITED else max_rides + 1)


@numba.njit(cache=True, nogil=True)
def _add_start(lines, state, seed_stop, seed_s, start, travel_limit, max_rides, change_delay):
    """Search from one more start, not after the one before; `state.changed` then lists the stops that improved."""
    forget_changes(state)
    n_marked = seed(state, seed_stop, seed_s, start, start + travel_limit)
    ride(lines, state, n_marked, start + travel_limit, max_rides, change_delay)


@numba.njit(cache=True, nogil=True)
def window_stops(lines, state, seed_stop, seed_s, starts, travel_limit, max_rides, change_delay, out):
    """
    Fill ``out[start, stop]`` with seconds from each start to the arrival of a ride at each stop.

    Parameters
    ----------
    lines : Lines
    state : State
        From `window_state` with the same `max_rides`.
    seed_stop, seed_s : int32 arrays of shape (n_seeds,)
    starts : int32 array of shape (n_starts,)
        Not rising.
    travel_limit, max_rides, change_delay : int
    out : int32 array of shape (n_starts, n_stops)
        `UNREACHED` where there is no journey within the limit.
    """
    reset(state)
    best = state.best[state.best.shape[0] - 1]
    for i in range(starts.size):
        _add_start(lines, state, seed_stop, seed_s, starts[i], travel_limit, max_rides, change_delay)
        for stop in range(best.size):
            time = best[stop] - starts[i]
            out[i, stop] = time if time <= travel_limit else UNREACHED


@numba.njit(cache=True, nogil=True)
def window_least(lines, state, seed_stop, seed_s, starts, travel_limit, max_rides, change_delay, out):
    """Fill ``out[stop]`` with the least seconds from any start to the arrival of a ride; see `window_stops`."""
    reset(state)
    out[:] = UNREACHED
    best = state.best[state.best.shape[0] - 1]
    for i in range(starts.size):
        _add_start(lines, state, seed_stop, seed_s, starts[i], travel_limit, max_rides, change_delay)
        for j in range(state.n_changed[0]):
            stop = state.changed[j]
            out[stop] = min(out[stop], best[stop] - starts[i])


@numba.njit(cache=True, nogil=True)
def window_times(
    lines,
    state,
    seed_stop,
    seed_s,
    starts,
    travel_limit,
    max_rides,
    change_delay,
    port_indptr,
    port_target,
    port_s,
    direct_s,
    out,
):
    """
    Fill ``out[start, target]`` with seconds from each start to each target; see `window_stops`.

    Parameters
    ----------
    port_indptr, port_target, port_s : int64, int32 and int32 arrays
        Ports by stop, nearest target first.
    direct_s : int32 array of shape (n_targets,)
        Seconds of another way that is open at any time, `UNREACHED` where there is none.
    out : int32 array of shape (n_starts, n_targets)
    """
    reset(state)
    best = state.best[state.best.shape[0] - 1]
    arrival = np.full(direct_s.size, UNREACHED, np.int32)
    for i in range(starts.size):
        _add_start(lines, state, seed_stop, seed_s, starts[i], travel_limit, max_rides, change_delay)
        for j in range(state.n_changed[0]):
            time = best[state.changed[j]]
            for k in range(port_indptr[state.changed[j]], port_indptr[state.changed[j] + 1]):
                at = time + port_s[k]
                if at - starts[i] > travel_limit:
                    break
                if at < arrival[port_target[k]]:
                    arrival[port_target[k]] = at
        for target in range(direct_s.size):
            time = min(arrival[target] - starts[i], direct_s[target])
            out[i, target] = time if time <= travel_limit else UNREACHED


@numba.njit(cache=True, nogil=True)
def window_best(
    lines,
    state,
    seed_stop,
    seed_s,
    starts,
    travel_limit,
    max_rides,
    change_delay,
    port_indptr,
    port_target,
    port_s,
    direct_s,
    begin,
    step,
    out_s,
    out_start,
):
    """
    Fill in the shortest journeys of the window to each target; see `window_times`.

    Parameters
    ----------
    starts : int32 array
        From `window_starts`.
    direct_s : int32 array of shape (n_targets,)
        Seconds of another way that is open at any time, `UNREACHED` where there is none. It is a journey once, at a
        start at which nothing is quicker, if there is one.
    begin, step : int
        First start, and how far starts are apart.
    out_s, out_start : int32 arrays of shape (n_targets, n_best)
        Seconds, rising, `UNREACHED` beyond the last journey, and when each starts; of equally long ones the later.
        No journey is beaten by one that starts no earlier and ends no later.
    """
    reset(state)
    out_s[:] = UNREACHED
    out_start[:] = UNREACHED
    n_targets = out_s.shape[0]
    best = state.best[state.best.shape[0] - 1]
    arrival = np.full(n_targets, UNREACHED, np.int32)
    later = arrival.copy()
    is_told = direct_s > travel_limit
    improved = np.empty(n_targets, np.int32)
    is_improved = np.zeros(n_targets, np.bool_)
    for i in range(starts.size):
        _add_start(lines, state, seed_stop, seed_s, starts[i], travel_limit, max_rides, change_delay)
        n_improved = 0
        for j in range(state.n_changed[0]):
            time = best[state.changed[j]]
            for k in range(port_indptr[state.changed[j]], port_indptr[state.changed[j] + 1]):
                at = time + port_s[k]
                if at - starts[i] > travel_limit:
                    break
                target = port_target[k]
                if at < arrival[target]:
                    arrival[target] = at
                    if not is_improved[target]:
                        is_improved[target] = True
                        improved[n_improved] = target
                        n_improved += 1
        for j in range(n_improved):
            target = improved[j]
            is_improved[target] = False
            time = arrival[target] - starts[i]
            other = starts[i] + step
            if not is_told[target] and other <= starts[0] and other + direct_s[target] < later[target]:
                is_told[target] = True
                _insert(out_s[target], out_start[target], direct_s[target], other)
            later[target] = arrival[target]
            if time < direct_s[target]:
                _insert(out_s[target], out_start[target], time, starts[i])
    for target in range(n_targets):
        if not is_told[target] and direct_s[target] <= travel_limit and begin + direct_s[target] < arrival[target]:
            _insert(out_s[target], out_start[target], direct_s[target], begin)


@numba.njit(cache=True, nogil=True)
def _insert(times, starts, time, start):
    """Put a journey in its place among the shortest; of equally long ones the earlier comer stays first."""
    n = times.size
    place = n
    while place > 0 and time < times[place - 1]:
        place -= 1
    for k in range(n - 1, place, -1):
        times[k] = times[k - 1]
        starts[k] = starts[k - 1]
    if place < n:
        times[place] = time
        starts[place] = start


@numba.njit(cache=True, nogil=True)
def nearest_rank(percent, n):
    """Return the position among n rising values of the least that at least so many percent do not exceed."""
    return min(max(np.int64(np.ceil(percent * n / 100.0 - 1e-9)) - 1, 0), n - 1)


@numba.njit(cache=True, nogil=True)
def percentiles(times, percents, out):
    """
    Fill ``out[target, percent]`` with the least time that at least so many percent of the starts keep to.

    Parameters
    ----------
    times : int32 array of shape (n_starts, n_targets)
    percents : float64 array of shape (n_percents,)
        Above 0, up to 100.
    out : int32 array of shape (n_targets, n_percents)
        `UNREACHED` where too few starts get there at all. Nearest rank, never interpolated.
    """
    n_starts, n_targets = times.shape
    ranks = np.empty(percents.size, np.int64)
    for i in range(percents.size):
        ranks[i] = nearest_rank(percents[i], n_starts)
    # Blocks of targets: a column at a time would fetch a cache line per number.
    width = 64
    block = np.empty((width, n_starts), np.int32)
    for first in range(0, n_targets, width):
        last = min(first + width, n_targets)
        for i in range(n_starts):
            for target in range(first, last):
                block[target - first, i] = times[i, target]
        for target in range(first, last):
            column = np.sort(block[target - first])
            for i in range(ranks.size):
                out[target, i] = column[ranks[i]]


@numba.njit(cache=True, nogil=True)
def share_within(times, limit, out):
    """Fill ``out[target]``, float64, with the share of starts that get there within the limit."""
    out[:] = 0.0
    for i in range(times.shape[0]):
        for target in range(times.shape[1]):
            if times[i, target] <= limit:
                out[target] += 1.0
    out /= times.shape[0]
