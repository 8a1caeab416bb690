"""
Search all departures in a window with range RAPTOR (rRAPTOR).

The search handles the departures from the last to the first and keeps its labels. An earlier traveller can wait, so
the labels of later departures are upper bounds for earlier ones, and each departure costs only what it improves. With
a limit on transfers, labels are kept for each number of transit legs; without a limit, one label per stop is enough.

The travel time of a departure includes the wait before the first leg. There are three kinds of results:

- the travel time of every departure, for percentiles (`window_times`);
- the least travel time over all departures (`window_least`);
- the shortest journeys that are not dominated by a journey that departs no earlier and arrives no later
  (`window_best`).

For the last two it is enough to search the departures that just catch a vehicle, see `window_starts`. With mirrored
lines a window of departures becomes a window of arrivals. The kernels can be called with some departures after others,
so that a caller may stop in between; `search_state.reset` comes before the first. In identifiers, `start` is a
departure from the origin and `ride` is a transit leg. Times have the unit of the lines, see
`traveltime_lab.kernels.transit.patterns.Lines`.

References
----------
D. Delling, T. Pajor, R. Werneck, "Round-Based Public Transit Routing", ALENEX 2012.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.transit.raptor import UNLIMITED, ride
from traveltime_lab.kernels.transit.search_state import forget_changes, lower, new_state
from traveltime_lab.kernels.unreached import NEVER


class Seeds(NamedTuple):
    """Access stops of a point, and the access times."""

    stops: np.ndarray  # int32 (n_seeds,)
    times: np.ndarray  # int32 (n_seeds,)


@kernel
def _departures(lines, entry, earliest):
    """
    Return where the departures of a pattern at one of its stops are, from a time on.

    Parameters
    ----------
    lines : Lines
    entry : int
        Place in `lines.stop_pattern`.
    earliest : int

    Returns
    -------
    at, stride, n : int
        The departures are ``lines.departure[at + k * stride]`` for k from 0 to n - 1, ascending.
    """
    p = lines.stop_pattern[entry]
    stride = lines.pattern_indptr[p + 1] - lines.pattern_indptr[p]
    at = lines.time_indptr[p] + lines.stop_boarding[entry] - lines.pattern_indptr[p]
    n_runs = lines.instance_indptr[p + 1] - lines.instance_indptr[p]
    low, high = np.int64(0), n_runs
    while low < high:
        middle = (low + high) >> 1
        if lines.departure[at + middle * stride] >= earliest:
            high = middle
        else:
            low = middle + 1
    return at + low * stride, stride, n_runs - low


@kernel
def window_starts(lines, seeds, begin, end, step):
    """
    Return the last departure of the window and those that just catch a vehicle at an access stop, latest first.

    Departures are multiples of `step` after the first.

    Parameters
    ----------
    lines : Lines
    seeds : Seeds
    begin, end : int
        Window of departures, both ends included.
    step : int
        Time between two departures.

    Returns
    -------
    int32 array of shape (n_starts,)
        Descending. Journeys of the other departures are dominated or no shorter.
    """
    seed_stop, seed_time = seeds
    is_start = np.zeros((end - begin) // step + 1, np.bool_)
    is_start[-1] = True
    for i in range(seed_stop.size):
        for e in range(lines.stop_indptr[seed_stop[i]], lines.stop_indptr[seed_stop[i] + 1]):
            at, stride, n = _departures(lines, e, begin + seed_time[i])
            for r in range(n):
                start = lines.departure[at + r * stride] - seed_time[i]
                if start > end:
                    break
                is_start[(start - begin) // step] = True
    return (begin + step * np.flatnonzero(is_start)[::-1]).astype(np.int32)


@kernel
def window_state(lines, max_rides):
    """Return working arrays for searches of windows; see `search_state.new_state`."""
    return new_state(lines, 1 if max_rides >= UNLIMITED else max_rides + 1)


@kernel
def _caught(lines, seeds, starts):
    """
    Return at which access stops each departure from the origin catches a vehicle that the next later one does not.

    Parameters
    ----------
    starts : int32 array of shape (n_starts,)
        Not ascending.

    Returns
    -------
    bool array of shape (n_starts, n_seeds)
        All of the first row are True: what the departures before it have caught is not known.
    """
    seed_stop, seed_time = seeds
    is_caught = np.zeros((starts.size, seed_stop.size), np.bool_)
    is_caught[0] = True
    for i in range(seed_stop.size):
        for e in range(lines.stop_indptr[seed_stop[i]], lines.stop_indptr[seed_stop[i] + 1]):
            k = starts.size - 1
            at, stride, n = _departures(lines, e, starts[k] + seed_time[i])
            for r in range(n):
                start = lines.departure[at + r * stride] - seed_time[i]
                if start >= starts[0]:
                    break
                while starts[k - 1] <= start:
                    k -= 1
                is_caught[k, i] = True
    return is_caught


@kernel
def _add_start(lines, state, seeds, is_caught, start, limits):
    """
    Search one more departure, not later than the previous one; `state.changed` lists the stops that it improved.

    At the access stops where it catches nothing that the previous one does not, there is nothing to improve.
    """
    forget_changes(state)
    latest = start + limits.travel_time
    n_marked = 0
    for i in range(seeds.stops.size):
        stop, time = seeds.stops[i], seeds.times[i] + start
        if time <= latest and time < state.ready[0, stop]:
            lower(state.ready, np.int64(0), stop, time)
            if is_caught[i]:
                if state.fresh[stop] == NEVER:
                    state.marked[n_marked] = stop
                    n_marked += 1
                state.fresh[stop] = time
    ride(lines, state, n_marked, latest, limits.rides, limits.change_delay)


@kernel
def window_stops(lines, state, seeds, starts, limits, out):
    """
    Fill ``out[start, stop]`` with the time from each departure to the arrival by transit at each stop.

    Parameters
    ----------
    lines : Lines
    state : State
        From `window_state`, reset before the first departures.
    seeds : Seeds
    starts : int32 array of shape (n_starts,)
        Departures, not ascending, and none after those of earlier calls.
    limits : Limits
        With the same number of rides as `state`.
    out : int32 array of shape (n_starts, n_stops)
        Overwritten; `NEVER` where there is no journey within the limit.
    """
    best = state.best[state.best.shape[0] - 1]
    is_caught = _caught(lines, seeds, starts)
    for i in range(starts.size):
        _add_start(lines, state, seeds, is_caught[i], starts[i], limits)
        for stop in range(best.size):
            time = best[stop] - starts[i]
            out[i, stop] = time if time <= limits.travel_time else NEVER


@kernel
def window_least(lines, state, seeds, starts, limits, out):
    """
    Lower ``out[stop]`` to the least time from any of the departures to an arrival by transit; see `window_stops`.

    `out` has `NEVER` before the first departures.
    """
    best = state.best[state.best.shape[0] - 1]
    is_caught = _caught(lines, seeds, starts)
    for i in range(starts.size):
        _add_start(lines, state, seeds, is_caught[i], starts[i], limits)
        for j in range(state.n_changed[0]):
            stop = state.changed[j]
            out[stop] = min(out[stop], best[stop] - starts[i])


@kernel
def window_times(lines, state, seeds, starts, limits, ports, direct, arrival, out):
    """
    Fill ``out[start, target]`` with the travel time of each departure to each target; see `window_stops`.

    Parameters
    ----------
    ports : TargetPorts
    direct : int32 array of shape (n_targets,)
        Travel time without transit, `NEVER` where there is none.
    arrival : int32 array of shape (n_targets,)
        Changed; `NEVER` before the first departures.
    out : int32 array of shape (n_starts, n_targets)
        Overwritten; `NEVER` beyond the limit.
    """
    port_indptr, port_target, port_time = ports
    best = state.best[state.best.shape[0] - 1]
    is_caught = _caught(lines, seeds, starts)
    for i in range(starts.size):
        _add_start(lines, state, seeds, is_caught[i], starts[i], limits)
        for j in range(state.n_changed[0]):
            time = best[state.changed[j]]
            for k in range(port_indptr[state.changed[j]], port_indptr[state.changed[j] + 1]):
                at = time + port_time[k]
                if at - starts[i] > limits.travel_time:
                    break
                if at < arrival[port_target[k]]:
                    arrival[port_target[k]] = at
        for target in range(direct.size):
            time = min(arrival[target] - starts[i], direct[target])
            out[i, target] = time if time <= limits.travel_time else NEVER


class Progress(NamedTuple):
    """The state of `window_best` for each target after some departures."""

    arrival: np.ndarray  # int32 (n_targets,), earliest arrival of the departures so far
    later: np.ndarray  # int32 (n_targets,), the same before the latest improvement
    is_listed: np.ndarray  # bool (n_targets,), whether the journey without transit is listed, or never will be
    improved: np.ndarray  # int32 (n_targets,), targets that a departure improves
    is_improved: np.ndarray  # bool (n_targets,)


@kernel
def new_progress(direct, travel_limit):
    """Return the state of `window_best` before the first departures."""
    n_targets = direct.size
    return Progress(
        np.full(n_targets, NEVER, np.int32),
        np.full(n_targets, NEVER, np.int32),
        direct > travel_limit,
        np.empty(n_targets, np.int32),
        np.zeros(n_targets, np.bool_),
    )


@kernel
def window_best(lines, state, seeds, starts, limits, ports, direct, last_start, step, progress, out, out_start):
    """
    Insert the shortest journeys of some departures to each target; see `window_times`. `finish_best` follows the last.

    Parameters
    ----------
    starts : int32 array of shape (n_starts,)
        From `window_starts`.
    direct : int32 array of shape (n_targets,)
        Travel time without transit, `NEVER` where there is none. It is listed as one journey, at a departure with
        no faster journey, if there is such a departure.
    last_start, step : int
        Last departure of the window, and the time between two departures.
    progress : Progress
        From `new_progress`; changed.
    out, out_start : int32 arrays of shape (n_targets, n_best)
        Changed: the travel times of the shortest journeys, ascending, and their departures; `NEVER` after the last
        journey, and before the first departures. Among equally long journeys the later comes first. No journey is
        dominated by one that departs no earlier and arrives no later.
    """
    port_indptr, port_target, port_time = ports
    best = state.best[state.best.shape[0] - 1]
    arrival, later, is_listed = progress.arrival, progress.later, progress.is_listed
    improved, is_improved = progress.improved, progress.is_improved
    is_caught = _caught(lines, seeds, starts)
    for i in range(starts.size):
        _add_start(lines, state, seeds, is_caught[i], starts[i], limits)
        n_improved = 0
        for j in range(state.n_changed[0]):
            time = best[state.changed[j]]
            for k in range(port_indptr[state.changed[j]], port_indptr[state.changed[j] + 1]):
                at = time + port_time[k]
                if at - starts[i] > limits.travel_time:
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
            if not is_listed[target] and other <= last_start and other + direct[target] < later[target]:
                is_listed[target] = True
                _insert(out[target], out_start[target], np.int64(direct[target]), np.int64(other))
            later[target] = arrival[target]
            if time < direct[target]:
                _insert(out[target], out_start[target], np.int64(time), np.int64(starts[i]))


@kernel
def finish_best(direct, travel_limit, begin, progress, out, out_start):
    """Insert the journeys without transit that are the fastest from the first departure on; see `window_best`."""
    arrival, is_listed = progress.arrival, progress.is_listed
    for target in range(direct.size):
        if not is_listed[target] and direct[target] <= travel_limit and begin + direct[target] < arrival[target]:
            _insert(out[target], out_start[target], np.int64(direct[target]), np.int64(begin))


@kernel
def _insert(times, starts, time, start):
    """Insert a journey into the list of the shortest; it comes after those of equal length."""
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


@kernel
def nearest_rank(percent, n):
    """Return the position in n ascending values of the least value that at least `percent` percent do not exceed."""
    return min(max(np.int64(np.ceil(percent * n / 100.0 - 1e-9)) - 1, 0), n - 1)


@kernel
def percentiles(times, percents, out):
    """
    Fill ``out[target, percent]`` with percentiles of the travel times over all departures.

    The p-th percentile is the least travel time that at least p percent of the departures do not exceed (nearest rank,
    without interpolation).

    Parameters
    ----------
    times : int32 array of shape (n_starts, n_targets)
    percents : float64 array of shape (n_percents,)
        Greater than 0, at most 100.
    out : int32 array of shape (n_targets, n_percents)
        Overwritten; `NEVER` where too few departures reach the target.
    """
    n_starts, n_targets = times.shape
    ranks = np.empty(percents.size, np.int64)
    for i in range(percents.size):
        ranks[i] = nearest_rank(percents[i], n_starts)
    # Targets are transposed in blocks: reading one column at a time would fetch a cache line for each number.
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


@kernel
def share_within(times, limit, out):
    """Fill ``out[target]`` (float64) with the share of departures that reach the target within the limit."""
    out[:] = 0.0
    for i in range(times.shape[0]):
        for target in range(times.shape[1]):
            if times[i, target] <= limit:
                out[target] += 1.0
    out /= times.shape[0]
