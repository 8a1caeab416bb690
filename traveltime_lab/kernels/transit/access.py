"""
Run many RAPTOR searches one after the other, and turn times at stops into times at targets.

A target is a point or a street node. A port is a stop near a target, with the time between the two. All functions work
in both directions of time: with mirrored lines the seeds are near the destination and the targets are origins. Times
have the unit of the lines, see `traveltime_lab.kernels.transit.patterns.Lines`.
"""

from __future__ import annotations

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.road import ascending
from traveltime_lab.kernels.transit.patterns import UNREACHED
from traveltime_lab.kernels.transit.raptor import search
from traveltime_lab.kernels.transit.search_state import new_state


@kernel
def ports_by_stop(indptr, stops, seconds, n_stops):
    """
    Regroup ports that are given by target by their stops.

    Parameters
    ----------
    indptr, stops, seconds : int64, int32, int32 arrays
        CSR of the ports of each target.
    n_stops : int

    Returns
    -------
    indptr, targets, seconds : int64, int32, int32 arrays
        CSR of the ports of each stop, nearest target first.
    """
    order = ascending(seconds)
    target_of = np.empty(stops.size, np.int32)
    for target in range(indptr.size - 1):
        for k in range(indptr[target], indptr[target + 1]):
            target_of[k] = target
    out_indptr = np.zeros(n_stops + 1, np.int64)
    for stop in stops:
        out_indptr[stop + 1] += 1
    for stop in range(n_stops):
        out_indptr[stop + 1] += out_indptr[stop]
    at = out_indptr[:-1].copy()
    targets = np.empty(stops.size, np.int32)
    out_seconds = np.empty(stops.size, np.int32)
    for i in order:
        targets[at[stops[i]]] = target_of[i]
        out_seconds[at[stops[i]]] = seconds[i]
        at[stops[i]] += 1
    return out_indptr, targets, out_seconds


@kernel
def gather(times, offset, limit, indptr, stops, seconds, out):
    """
    Lower ``out[target]`` to the least ``times[stop] + seconds - offset`` over its ports, if within the limit.

    Parameters
    ----------
    times : int32 array of shape (n_stops,)
        Arrival times, `UNREACHED` where there is none.
    offset, limit : int
        Time to subtract, and the longest travel time to write.
    indptr, stops, seconds : int64, int32, int32 arrays
        CSR of the ports of each target.
    out : int32 array of shape (n_targets,)
        Lowered in place.
    """
    for target in range(indptr.size - 1):
        least = UNREACHED
        for k in range(indptr[target], indptr[target + 1]):
            least = min(least, times[stops[k]] + seconds[k])
        if least - offset <= limit and least - offset < out[target]:
            out[target] = least - offset


@kernel
def many_to_stops(lines, seed_indptr, seed_stop, seed_s, starts, travel_limit, max_rides, change_delay, out):
    """
    Fill ``out[search, stop]`` with the time from the start of each search to the arrival by transit at each stop.

    Parameters
    ----------
    lines : Lines
    seed_indptr, seed_stop, seed_s : int64, int32, int32 arrays
        CSR of the access stops of each search and the access times.
    starts : int32 array of shape (n_searches,)
        Departure times.
    travel_limit, max_rides, change_delay : int
        As in `raptor.search`; the limit counts from the departure.
    out : int32 array of shape (n_searches, n_stops)
        Overwritten; `UNREACHED` where there is no journey within the limit.
    """
    state = new_state(lines, np.int64(1))
    for i in range(starts.size):
        seeds = slice(seed_indptr[i], seed_indptr[i + 1])
        limit = starts[i] + travel_limit
        times = search(lines, state, seed_stop[seeds], seed_s[seeds] + starts[i], limit, max_rides, change_delay)
        for stop in range(times.size):
            out[i, stop] = times[stop] - starts[i] if times[stop] != UNREACHED else UNREACHED
