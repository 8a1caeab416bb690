"""
Compute the earliest arrival by transit at each stop with RAPTOR on flat arrays.

**Journeys.** A search starts at *seeds*: access stops with the time at which the traveller is there. How the
traveller gets to them, and walks on from the last stop, is left to the caller. A journey alternates transit legs
(`ride` in identifiers) and transfers (`change`). A leg boards a trip instance (`run`) at a position with `can_board`
that departs no earlier than the traveller is ready, and alights at a later position with `can_alight`. If the vehicle
continues as another trip instance (`stay_instance`), the traveller may stay seated and the leg continues. At a seed the
traveller is ready at the time of the seed. After a leg that arrives at stop s at time t the traveller is ready to board

- at s itself at t + change_time[s] + change_delay, or never if change_time[s] is `FORBIDDEN`;
- at the end of a footpath of duration w from s at t + w + change_delay.

So `change_time` is the minimum time of a transfer at the stop itself, footpaths are not chained, and no footpath
follows a seed. A label is the arrival time *of a leg*. Egress starts from these labels with its own walking budget, and
stops that are reached on foot only have no label. Times have the unit of the lines, see
`traveltime_lab.kernels.transit.patterns.Lines`.

**Differences from the paper.**

1. `reached` stores for each pattern and position the earliest trip instance on board so far, and `usable` stores the
   departure of the instance before it. Boarding at a position can only improve an arrival if the traveller is ready by
   then. This prunes later rounds and, in windows, earlier departures.
2. With in-seat continuations the earliest trip instance of a pattern does not dominate the later ones, which may
   continue as other trips. All instances from the boarded one on follow their continuations, each of them once.
3. Labels have one row per round only in windows with a limit on transfers. Otherwise one row serves all rounds.

The innermost loops use unsigned indices: Numba then omits the check for negative ones, which saves a fifth of the time.

References
----------
D. Delling, T. Pajor, R. Werneck, "Round-Based Public Transit Routing", ALENEX 2012.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.transit.search_state import lower, reset, seed
from traveltime_lab.kernels.unreached import NEVER, TOO_EARLY

#: Value of `max_rides` for searches without a limit on transfers.
UNLIMITED = 1 << 30
#: Rounds for which searches that keep them reserve memory to begin with.
ROUNDS = 8
#: If more than one stop in this many is touched, relaxing the footpaths of all stops without a branch is faster
#: (measured).
MANY = 8


class Limits(NamedTuple):
    """Limits of a search that begins with a departure."""

    travel_time: int  # longest time from the departure
    rides: int  # largest number of transit legs, one more than the number of transfers, or `UNLIMITED`
    change_delay: int  # time added to each transfer


@kernel
def queue_patterns(lines, state, row, n_marked):
    """
    Queue the patterns of which an earlier trip instance than before can be boarded at a marked stop.

    Returns
    -------
    int
        Number of queued patterns.
    """
    stop_indptr, stop_pattern, stop_boarding = lines.stop_indptr, lines.stop_pattern, lines.stop_boarding
    usable_rows = state.usable
    usable = usable_rows[row]
    marked, fresh, first, queue = state.marked, state.fresh, state.first, state.queue
    n_queued = np.uint64(0)
    for i in range(np.uint64(n_marked)):
        stop = np.uint64(marked[i])
        time = fresh[stop]
        for e in range(np.uint64(stop_indptr[stop]), np.uint64(stop_indptr[stop + np.uint64(1)])):
            position = np.uint64(stop_boarding[e])
            p = np.uint64(stop_pattern[e])
            earliest = first[p]
            # Without a branch: the outcome is unpredictable, and a mispredicted branch costs more than the assignments.
            is_caught = time <= usable[position]
            queue[n_queued] = p
            n_queued += np.uint64(is_caught & (earliest == NEVER))
            first[p] = min(earliest, stop_boarding[e]) if is_caught else earliest
    return np.int64(n_queued)


@kernel
def _push_continuations(lines, state, row, run, n_stack):
    """Push the trip instances that `run` continues as and that were not entered before; return the stack height."""
    for s in range(lines.stay_indptr[run], lines.stay_indptr[run + 1]):
        other = lines.stay_instance[s]
        if state.seated[other] > row:
            state.seated[other] = row
            state.stack[n_stack] = other
            n_stack += 1
    return n_stack


@kernel
def _stay_seated(lines, state, row, p, r_first, limit, n_touched):
    """Follow the continuations of all instances of a pattern from r_first on; return the number of touched stops."""
    start = lines.pattern_indptr[p]
    n = lines.pattern_indptr[p + 1] - start
    n_runs = lines.instance_indptr[p + 1] - lines.instance_indptr[p]
    n_stack = np.int64(0)
    for r in range(r_first, min(n_runs, state.handled[row, p])):
        if lines.arrival[lines.time_indptr[p] + r * n + n - 1] > limit:
            break
        n_stack = _push_continuations(lines, state, row, lines.instance_indptr[p] + r, n_stack)
    lower(state.handled, row, p, r_first)
    while n_stack > 0:
        n_stack -= 1
        run = state.stack[n_stack]
        q = lines.run_pattern[run]
        start = lines.pattern_indptr[q]
        n = lines.pattern_indptr[q + 1] - start
        r = run - lines.instance_indptr[q]
        at = lines.time_indptr[q] + r * n
        for k in range(1, n):
            time = lines.arrival[at + k]
            if time > limit:
                break
            stop = lines.pattern_stops[start + k]
            if time < state.best[row, stop] and lines.can_alight[start + k]:
                state.best[row, stop] = time
                if not state.is_touched[stop]:
                    state.is_touched[stop] = True
                    state.touched[n_touched] = stop
                    n_touched += 1
            if state.reached[row, start + k] <= r:
                # An earlier leg has this trip instance, or one before it, from here on: nothing can improve.
                break
        if lines.arrival[at + n - 1] <= limit:
            n_stack = _push_continuations(lines, state, row, np.int64(run), n_stack)
    return n_touched


@kernel
def _lowered(before, after, out):
    """
    List the stops whose labels are lower than before.

    `out` needs one place more than there are stops, because the loop writes before it counts.

    Returns
    -------
    int
        Number of stops in `out`.
    """
    n = np.uint64(0)
    for stop in range(np.uint64(after.size)):
        out[n] = stop
        n += np.uint64(after[stop] < before[stop])
    return np.int64(n)


@kernel
def scan_queue(lines, state, row, n_queued, limit):
    """
    Scan the queued patterns with the earliest trip instances that can be boarded.

    Whether an arrival improves a label is unpredictable. If the patterns cover most stops, it is faster to lower all
    labels without a branch and to compare them with a copy afterwards.

    Returns
    -------
    int
        Number of touched stops.
    """
    # Arrays are taken out of their tuples before the loops, where each access would count references.
    pattern_indptr, instance_indptr, time_indptr = lines.pattern_indptr, lines.instance_indptr, lines.time_indptr
    pattern_stops, can_alight = lines.pattern_stops, lines.can_alight
    arrival, departure = lines.arrival, lines.departure
    best_rows, reached_rows, usable_rows = state.best, state.reached, state.usable
    best, reached, usable = best_rows[row], reached_rows[row], usable_rows[row]
    queue, first, fresh = state.queue, state.first, state.fresh
    touched, is_touched = state.touched, state.is_touched
    before = state.before
    last_row = best_rows.shape[0] - 1
    # Estimated with the mean length of all patterns: the queued ones have more positions than there are stops.
    are_most = n_queued * pattern_stops.size > queue.size * best.size
    if are_most:
        for stop in range(best.size):
            before[stop] = best[stop]
    with_stays = lines.stay_instance.size > 0
    n_touched = np.int64(0)
    for i in range(n_queued):
        p = queue[i]
        start = pattern_indptr[p]
        n = pattern_indptr[p + 1] - start
        n_runs = instance_indptr[p + 1] - instance_indptr[p]
        times = time_indptr[p]
        run = n_runs
        at = times
        for k in range(first[p] - start, n):
            position = np.uint64(start + k)
            stop = np.uint32(pattern_stops[position])
            is_new = False
            if run < n_runs:
                time = arrival[np.uint64(at + k)]
                if time > limit:
                    run = n_runs
                else:
                    if are_most:
                        label = best[stop]
                        best[stop] = min(label, time) if can_alight[position] else label
                    elif time < best[stop] and can_alight[position]:
                        best[stop] = time
                        if not is_touched[stop]:
                            is_touched[stop] = True
                            touched[n_touched] = stop
                            n_touched += 1
                    # Otherwise an earlier round or departure had this trip instance, or one before it, from here on.
                    is_new = reached[position] > run
                    run = run if is_new else n_runs
            ready = fresh[stop]
            latest = usable[position]
            if is_new and latest != TOO_EARLY:
                latest = departure[at - n + k] if run > 0 else TOO_EARLY
            if ready <= latest:
                low = np.int64(0)
                high = (run if is_new else min(np.int64(reached[position]), n_runs)) - 1
                while low < high:
                    middle = (low + high) >> 1
                    if departure[times + middle * n + k] >= ready:
                        high = middle
                    else:
                        low = middle + 1
                if departure[times + low * n + k] <= limit:
                    run = low
                    at = times + run * n
                    is_new = True
                    latest = departure[at - n + k] if run > 0 else TOO_EARLY
            if is_new:
                reached[position] = run
                usable[position] = latest
                for j in range(row + 1, last_row + 1):
                    reached_rows[j, position] = min(reached_rows[j, position], run)
                    usable_rows[j, position] = min(usable_rows[j, position], latest)
        first[p] = NEVER
        if with_stays and run < n_runs:
            n_touched = _stay_seated(lines, state, row, p, run, limit, n_touched)
    if are_most:
        n_touched = _lowered(before, best, touched)
    for i in range(n_touched):
        stop = touched[i]
        is_touched[stop] = False
        for j in range(row + 1, last_row + 1):
            best_rows[j, stop] = min(best_rows[j, stop], best[stop])
    return n_touched


@kernel
def change_from_few(lines, state, row, n_touched, limit, change_delay):
    """
    Relax the transfers of the touched stops one by one and mark the stops that improve.

    Returns
    -------
    int
        Number of marked stops.
    """
    transfer_indptr, transfer_stop, transfer_time = lines.transfer_indptr, lines.transfer_stop, lines.transfer_time
    change_time = lines.change_time
    ready_rows, best_rows = state.ready, state.best
    ready, best = ready_rows[row], best_rows[row]
    touched, marked, is_marked = state.touched, state.marked, state.is_marked
    n_marked = 0
    for i in range(np.uint64(n_touched)):
        stop = np.uint64(touched[i])
        time = best[stop] + change_delay
        at = time + change_time[stop]
        if at <= limit and at < ready[stop]:
            ready[stop] = at
            if not is_marked[stop]:
                is_marked[stop] = True
                marked[n_marked] = stop
                n_marked += 1
        for e in range(np.uint64(transfer_indptr[stop]), np.uint64(transfer_indptr[stop + np.uint64(1)])):
            at = time + transfer_time[e]
            if at > limit:  # footpaths are sorted by duration
                break
            end = np.uint64(transfer_stop[e])
            if at < ready[end]:
                ready[end] = at
                if not is_marked[end]:
                    is_marked[end] = True
                    marked[n_marked] = end
                    n_marked += 1
    for i in range(n_marked):
        is_marked[marked[i]] = False
    return n_marked


@kernel
def change_from_many(lines, state, row, n_touched, limit, change_delay):
    """
    Relax transfers as `change_from_few` does, faster if most stops are touched.

    Whether a footpath improves a label is unpredictable. To lower all labels without a branch and to compare them with
    a copy afterwards takes half the time of a branch at each footpath.
    """
    transfer_indptr, transfer_stop, transfer_time = lines.transfer_indptr, lines.transfer_stop, lines.transfer_time
    change_time = lines.change_time
    ready_rows, best_rows = state.ready, state.best
    ready, best = ready_rows[row], best_rows[row]
    touched, marked, before = state.touched, state.marked, state.before
    latest, delay = np.int32(limit), np.int32(change_delay)
    for stop in range(ready.size):
        before[stop] = ready[stop]
    for i in range(np.uint64(n_touched)):
        stop = np.uint64(touched[i])
        time = np.int32(best[stop] + delay)
        at = np.int32(time + change_time[stop])
        if at <= latest:
            ready[stop] = min(ready[stop], at)
        for e in range(np.uint64(transfer_indptr[stop]), np.uint64(transfer_indptr[stop + np.uint64(1)])):
            at = np.int32(time + transfer_time[e])
            if at > latest:  # footpaths are sorted by duration
                break
            end = np.uint64(transfer_stop[e])
            ready[end] = min(ready[end], at)
    return _lowered(before, ready, marked)


@kernel
def ride_round(lines, state, n_marked, k, limit, change_delay, is_last):
    """
    Run one round: scan the patterns at the marked stops, then relax transfers.

    Parameters
    ----------
    lines : Lines
    state : State
        Changed. `marked` lists the stops where the round may board, `fresh` the times to board there.
    n_marked : int
        Number of marked stops.
    k : int
        Number of the round, from 1.
    limit : int
        Latest arrival of interest.
    change_delay : int
        Time added to each transfer.
    is_last : bool
        True if no transfer follows.

    Returns
    -------
    int
        Number of stops marked for the next round.
    """
    row = min(k, state.best.shape[0] - 1)
    n_queued = queue_patterns(lines, state, row, n_marked)
    n_touched = scan_queue(lines, state, row, n_queued, limit)
    fresh, marked = state.fresh, state.marked
    for i in range(n_marked):
        fresh[marked[i]] = NEVER
    changed, is_changed, touched = state.changed, state.is_changed, state.touched
    n_changed = state.n_changed[0]
    for i in range(n_touched):
        stop = touched[i]
        if not is_changed[stop]:
            is_changed[stop] = True
            changed[n_changed] = stop
            n_changed += 1
    state.n_changed[0] = n_changed
    if is_last:
        return 0
    if n_touched * MANY > lines.change_time.size:
        n_marked = change_from_many(lines, state, row, n_touched, limit, change_delay)
    else:
        n_marked = change_from_few(lines, state, row, n_touched, limit, change_delay)
    ready_rows = state.ready
    ready = ready_rows[row]
    for i in range(n_marked):
        stop = marked[i]
        fresh[stop] = ready[stop]
        for j in range(row + 1, ready_rows.shape[0]):
            ready_rows[j, stop] = min(ready_rows[j, stop], ready[stop])
    return n_marked


@kernel
def ride(lines, state, n_marked, limit, max_rides, change_delay):
    """Run rounds until no label improves or there were `max_rides`; return the number of the last round."""
    k = 0
    while n_marked > 0 and k < max_rides:
        k += 1
        n_marked = ride_round(lines, state, n_marked, k, limit, change_delay, k == max_rides)
    for i in range(n_marked):
        state.fresh[state.marked[i]] = NEVER
    return k


@kernel
def search(lines, state, seed_stop, seed_time, limit, max_rides, change_delay):
    """
    Find the earliest arrival by transit at every stop.

    Parameters
    ----------
    lines : Lines
        Forward lines, or mirrored lines for the latest departure; with mirrored lines all times are negated.
    state : State
        From ``new_state(lines, 1)``; can be used for any number of searches.
    seed_stop, seed_time : int32 arrays of shape (n_seeds,)
        Access stops, and the times at which the traveller is there.
    limit : int
        Latest arrival of interest.
    max_rides : int
        Largest number of transit legs, one more than the number of transfers, or `UNLIMITED`.
    change_delay : int
        Time added to each transfer.

    Returns
    -------
    int32 array of shape (n_stops,)
        Arrival times, `NEVER` beyond the limit. This is a view into `state`: the next search overwrites it.
    """
    reset(state)
    n_marked = seed(state, seed_stop, seed_time, np.int32(0), limit)
    ride(lines, state, n_marked, limit, max_rides, change_delay)
    return state.best[state.best.shape[0] - 1]


@kernel
def rounds_into(lines, state, seeds, start, limits, best, ready):
    """
    Search as `search` does, and keep the labels of every round in arrays that grow where they have too few rows.

    Parameters
    ----------
    lines : Lines
    state : State
        From ``new_state(lines, 1)``; can be used for any number of searches.
    seeds : pair of int32 arrays of shape (n_seeds,)
        Access stops, and the times after `start` at which the traveller is there.
    start : int
        Moment of the search.
    limits : Limits
    best, ready : int32 arrays of shape (n_rows, n_stops)
        Overwritten.

    Returns
    -------
    best, ready : int32 arrays of shape (n_rows, n_stops)
        Earliest arrival of a leg and earliest time to board after at most k legs; row 0 holds the seeds.
    n_rounds : int
        Rows up to this one are valid.
    """
    latest = start + limits.travel_time
    reset(state)
    n_marked = seed(state, seeds[0], seeds[1], np.int32(start), latest)
    best[0] = NEVER
    ready[0] = state.ready[0]
    k = 0
    while n_marked > 0 and k < limits.rides:
        k += 1
        n_marked = ride_round(lines, state, n_marked, k, latest, limits.change_delay, k == limits.rides)
        if k == best.shape[0]:
            best = np.concatenate((best, np.empty_like(best)))
            ready = np.concatenate((ready, np.empty_like(ready)))
        best[k] = state.best[0]
        ready[k] = state.ready[0]
    for i in range(n_marked):
        state.fresh[state.marked[i]] = NEVER
    return best, ready, k


@kernel
def search_rounds(lines, state, seeds, start, limits):
    """
    Search as `search` does, and keep the labels of every round; see `rounds_into`.

    Returns
    -------
    best, ready : int32 arrays of shape (n_rounds + 1, n_stops)
    """
    n_stops = lines.change_time.size
    best, ready = np.empty((ROUNDS, n_stops), np.int32), np.empty((ROUNDS, n_stops), np.int32)
    best, ready, k = rounds_into(lines, state, seeds, start, limits, best, ready)
    return best[: k + 1], ready[: k + 1]
