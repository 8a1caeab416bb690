"""
Find access by car or bicycle to the stops of an arrival search, within a budget of driving time.

The stop with the shortest total travel time may be too far away to drive to, while another stop is not. Every state of
the street graph therefore keeps all Pareto-optimal pairs of travel time and driving time. A point takes the fastest
pair whose driving time, including the drive from the point to the state, is within the budget.

References
----------
E. Martins, "On a multicriteria shortest path problem", European Journal of Operational Research 16 (1984).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.heap import pop, push
from traveltime_lab.kernels.street.road import TIME_SHIFT, _grow
from traveltime_lab.kernels.transit.walks import WALK_MASK
from traveltime_lab.kernels.unreached import NEVER


class Drives(NamedTuple):
    """CSR of the Pareto-optimal pairs of each state: travel times ascend and driving times descend."""

    indptr: np.ndarray  # int64 (n_states + 1,)
    ms: np.ndarray  # int32, travel times
    drive_ms: np.ndarray  # int32, driving times


@kernel
def drives_to_stops(arcs, stop_ms, ports, budget_ms, limit_ms):
    """
    Search the street graph backwards from all stops at once, with travel time and driving time as criteria.

    Parameters
    ----------
    arcs : Arcs
        Transposed arcs of the street graph.
    stop_ms : int32 array of shape (n_stops,)
        Travel time from each stop to the destination, `NEVER` if there is no journey.
    ports : Ports
        Entry ports of each stop, connectors included.
    budget_ms, limit_ms : int
        Longest driving time, and longest travel time.

    Returns
    -------
    Drives
    """
    indptr, indices, weights = arcs
    port_indptr, port_states, port_keys = ports
    n_states = indptr.size - 1
    least = np.full(n_states, NEVER, np.int32)
    # A key holds the travel time in the upper 32 bits and the driving time in the lower 32 bits.
    keys, waiting, n_waiting = np.empty(1 << 16, np.int64), np.empty(1 << 16, np.int32), 0
    for stop in range(stop_ms.size):
        if stop_ms[stop] >= NEVER:
            continue
        for k in range(port_indptr[stop], port_indptr[stop + 1]):
            drive = port_keys[k] >> TIME_SHIFT
            if drive <= budget_ms and stop_ms[stop] + drive <= limit_ms:
                if n_waiting == keys.size:
                    keys, waiting = _grow(keys), _grow(waiting)
                push(
                    keys, waiting, n_waiting, ((np.int64(stop_ms[stop]) + drive) << TIME_SHIFT) | drive, port_states[k]
                )
                n_waiting += 1
    states = np.empty(1 << 16, np.int32)
    times = np.empty(1 << 16, np.int32)
    drives = np.empty(1 << 16, np.int32)
    n = 0
    while n_waiting > 0:
        state, time, drive = waiting[0], keys[0] >> TIME_SHIFT, keys[0] & WALK_MASK
        pop(keys, waiting, n_waiting)
        n_waiting -= 1
        if drive >= least[state]:
            continue
        least[state] = drive
        if n == states.size:
            states, times, drives = _grow(states), _grow(times), _grow(drives)
        states[n], times[n], drives[n] = state, time, drive
        n += 1
        first, last = indptr[state], indptr[state + 1]
        if n_waiting + last - first > keys.size:
            keys, waiting = _grow(keys), _grow(waiting)
        for k in range(first, last):
            step = weights[k] >> TIME_SHIFT
            if drive + step < least[indices[k]] and drive + step <= budget_ms and time + step <= limit_ms:
                push(keys, waiting, n_waiting, ((time + step) << TIME_SHIFT) | (drive + step), indices[k])
                n_waiting += 1
    label_indptr = np.zeros(n_states + 1, np.int64)
    for i in range(n):
        label_indptr[states[i] + 1] += 1
    for state in range(n_states):
        label_indptr[state + 1] += label_indptr[state]
    at = label_indptr[:-1].copy()
    label_ms, drive_ms = np.empty(n, np.int32), np.empty(n, np.int32)
    for i in range(n):
        label_ms[at[states[i]]] = times[i]
        drive_ms[at[states[i]]] = drives[i]
        at[states[i]] += 1
    return Drives(label_indptr, label_ms, drive_ms)
