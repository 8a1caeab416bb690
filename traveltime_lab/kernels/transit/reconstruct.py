"""
Reconstruct the transit legs of journeys from the labels of a search.

The searches store no parent pointers, so that searches without routes do not pay for them. The labels of each round
are sufficient: going from the last leg to the first, there is a trip instance that arrives at exactly the time of the
label, and a stop where it could be boarded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.unreached import NEVER


@kernel
def _fewest_rides(labels, stop, time):
    """Return the lowest round whose label at a stop is no later than `time`, -1 if there is none."""
    for k in range(labels.shape[0]):
        if labels[k, stop] <= time:
            return k
    return -1


@kernel
def _find_ride(lines, back, ready, k, stop, time, seen, stamp, stack):
    """
    Find the k-th leg of a journey that arrives at a stop at `time`.

    Among several legs the one with the fewest legs before it is chosen, then the one with the longest wait before
    boarding: as the first leg it allows the latest departure, as a later leg it has the safest transfer.

    Parameters
    ----------
    lines, back, ready
        As in `trace_into`.
    k, stop, time : int
    seen, stack : int32 arrays of shape (n_runs,) and (n_runs + 1,)
        Working arrays.
    stamp : int
        Last number that was written to `seen`.

    Returns
    -------
    found : tuple of five int
        board_run, board_position, alight_run, alight_position and the number of legs before; -1 if there is no leg.
    stamp : int
        For the next call.
    """
    found = (np.int64(-1), np.int64(-1), np.int64(-1), np.int64(-1), np.int64(k))
    longest = np.int64(-1)
    for e in range(back.stop_indptr[stop], back.stop_indptr[stop + 1]):
        p = back.stop_pattern[e]
        n = lines.pattern_indptr[p + 1] - lines.pattern_indptr[p]
        last = lines.pattern_indptr[p + 1] - 1 - back.stop_boarding[e]
        n_runs = lines.instance_indptr[p + 1] - lines.instance_indptr[p]
        at = lines.time_indptr[p] + last
        low = np.int64(0)
        high = n_runs
        while low < high:
            middle = (low + high) >> 1
            if lines.arrival[at + middle * n] >= time:
                high = middle
            else:
                low = middle + 1
        for r in range(low, n_runs):
            if lines.arrival[at + r * n] != time:
                break
            alight_run = lines.instance_indptr[p] + r
            stack[0] = alight_run
            n_stack = 1
            stamp += 1
            end = last
            while n_stack > 0:
                n_stack -= 1
                run = stack[n_stack]
                q = lines.run_pattern[run]
                m = lines.pattern_indptr[q + 1] - lines.pattern_indptr[q]
                row = lines.time_indptr[q] + (run - lines.instance_indptr[q]) * m
                if end < 0:
                    end = m - 1
                for i in range(end - 1, -1, -1):
                    position = lines.pattern_indptr[q] + i
                    boarding = lines.pattern_stops[position]
                    departure = lines.departure[row + i]
                    if not lines.can_board[position] or ready[k - 1, boarding] > departure:
                        continue
                    rides = _fewest_rides(ready, boarding, departure)
                    wait = departure - ready[rides, boarding]
                    if found[0] < 0 or rides < found[4] or (rides == found[4] and wait > longest):
                        found = (np.int64(run), np.int64(i), np.int64(alight_run), np.int64(last), np.int64(rides))
                        longest = np.int64(wait)
                end = -1
                if back.stay_instance.size > 0:
                    turned = back.instance_indptr[q] + back.instance_indptr[q + 1] - 1 - run
                    for s in range(back.stay_indptr[turned], back.stay_indptr[turned + 1]):
                        before = back.stay_instance[s]
                        o = back.run_pattern[before]
                        before = back.instance_indptr[o] + back.instance_indptr[o + 1] - 1 - before
                        if seen[before] != stamp:
                            seen[before] = stamp
                            stack[n_stack] = before
                            n_stack += 1
    return found, stamp


@kernel
def _find_change(lines, back, best, k, stop, time, change_delay):
    """Return the stop where the k-th leg ends before a transfer that is ready at `stop` at `time`, nearest first."""
    if best[k, stop] != NEVER and best[k, stop] + lines.change_time[stop] + change_delay == time:
        return stop
    for e in range(back.transfer_indptr[stop], back.transfer_indptr[stop + 1]):
        before = back.transfer_stop[e]
        if best[k, before] != NEVER and best[k, before] + back.transfer_time[e] + change_delay == time:
            return before
    return -1


class Tracing(NamedTuple):
    """Working arrays of `trace_into`, for labels of at most as many rounds as `known` has rows."""

    known: np.ndarray  # int32 (n_rows, n_stops), the leg that ends at a stop after k legs, -1 where none is known
    chain: np.ndarray  # int32 (7, n_rows), legs of one journey that are not known yet, last leg first
    seen: np.ndarray  # int32 (n_runs,)
    stack: np.ndarray  # int32 (n_runs + 1,)
    stamp: np.ndarray  # int64 (1,), last number that was written to `seen`


@kernel
def new_tracing(lines, n_rows):
    """Return working arrays for labels of at most `n_rows` rounds."""
    n_runs = lines.run_pattern.size
    return Tracing(
        np.full((n_rows, lines.change_time.size), np.int32(-1)),
        np.empty((7, n_rows), np.int32),
        np.zeros(n_runs, np.int32),
        np.empty(n_runs + 1, np.int32),
        np.zeros(1, np.int64),
    )


@kernel
def trace_into(lines, back, labels, change_delay, stops, last, tracing, legs, size):
    """
    Add the transit legs of the journeys that arrive at some stops at the times of their labels to a forest.

    Journeys that have a leg and its arrival in common have all legs before it in common, too. Each is stored once.

    Parameters
    ----------
    lines, back : Lines
        The lines that were searched, and the same lines mirrored.
    labels : pair of int32 arrays of shape (n_rounds + 1, n_stops)
        `best` and `ready` of `raptor.rounds_into`.
    change_delay : int
        As in the search.
    stops : int32 array of shape (n_targets,)
        Egress stops, -1 for none.
    last : int32 array of shape (n_targets,)
        Filled with the last leg of the journey to each target; -1 for none and for a stop that was not reached.
    tracing : Tracing
        Changed; `known` is left as it was found.
    legs : int32 array of shape (8, n)
        A leg per column: trip instance and position where it is boarded, the same where it is left, the duration of the
        transfer from the leg before it (0 for first legs), the round and the stop of its label, and the leg before it,
        which comes earlier (-1 for first legs). Trip instances are numbered over all patterns, and positions within
        their patterns, in the order of `lines`. Both trip instances differ if the traveller stays seated while the
        vehicle continues as another trip.
    size : int
        Number of columns that hold legs of other searches.

    Returns
    -------
    legs : int32 array
        With legs added; a larger array where there was no space.
    size : int
    """
    best, ready = labels
    known, chain, seen, stack, stamps = tracing
    n_rounds = best.shape[0] - 1
    begin, stamp = size, stamps[0]
    for target in range(stops.size):
        last[target] = -1
        stop = np.int64(stops[target])
        time = best[n_rounds, stop] if stop >= 0 else NEVER
        k = _fewest_rides(best, stop, time) if time != NEVER else 0
        leg = np.int32(-1)
        n = 0
        while k > 0:
            leg = known[k, stop]
            if leg >= 0:
                break
            ride, stamp = _find_ride(lines, back, ready, k, stop, time, seen, stamp, stack)
            assert ride[0] >= 0, "a label without a ride"
            for i in range(4):
                chain[i, n] = ride[i]
            chain[4, n] = 0
            chain[5, n], chain[6, n] = k, stop
            k = ride[4]
            if k > 0:
                boarding = lines.pattern_stops[lines.pattern_indptr[lines.run_pattern[ride[0]]] + ride[1]]
                stop = np.int64(_find_change(lines, back, best, k, boarding, ready[k, boarding], change_delay))
                assert stop >= 0, "a change without a ride before"
                time = best[k, stop]
                chain[4, n] = ready[k, boarding] - time - change_delay
            n += 1
        while size + n > legs.shape[1]:
            legs = np.concatenate((legs, np.empty_like(legs)), axis=1)
        for i in range(n - 1, -1, -1):
            for j in range(7):
                legs[j, size] = chain[j, i]
            legs[7, size] = leg
            leg = np.int32(size)
            known[chain[5, i], chain[6, i]] = leg
            size += 1
        last[target] = leg
    for i in range(begin, size):
        known[legs[5, i], legs[6, i]] = -1
    stamps[0] = stamp
    return legs, size


@kernel
def trace(lines, back, best, ready, change_delay, stops):
    """
    Return the transit legs of the journeys of one search that arrive at some stops; see `trace_into`.

    Returns
    -------
    last : int32 array of shape (n_targets,)
        The last leg of the journey to each target; -1 for a stop that was not reached.
    legs : int32 array of shape (8, n_legs)
    """
    last = np.empty(stops.size, np.int32)
    legs = np.empty((8, max(16, 2 * stops.size)), np.int32)
    tracing = new_tracing(lines, best.shape[0])
    legs, size = trace_into(lines, back, (best, ready), change_delay, stops, last, tracing, legs, 0)
    return last, legs[:, :size].copy()
