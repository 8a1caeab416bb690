"""
Run many RAPTOR searches one after the other, and turn times at stops into times at targets.

A target is a point or a street node. A port is a stop near a target, with the time between the two. All functions work
in both directions of time: with mirrored lines the seeds are near the destination and the targets are origins. Times
have the unit of the lines, see `traveltime_lab.kernels.transit.patterns.Lines`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.order import ascending
from traveltime_lab.kernels.transit.raptor import search
from traveltime_lab.kernels.transit.search_state import new_state
from traveltime_lab.kernels.unreached import NEVER


class TargetPorts(NamedTuple):
    """CSR of the targets that each stop is linked to, nearest first."""

    indptr: np.ndarray  # int64 (n_stops + 1,)
    targets: np.ndarray  # int32
    times: np.ndarray  # int32


@kernel
def ports_by_stop(ports, n_stops):
    """
    Regroup the links of targets by their stops.

    Parameters
    ----------
    ports : StopLinks
    n_stops : int

    Returns
    -------
    TargetPorts
    """
    indptr, stops, times = ports
    order = ascending(times)
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
    out_times = np.empty(stops.size, np.int32)
    for i in order:
        targets[at[stops[i]]] = target_of[i]
        out_times[at[stops[i]]] = times[i]
        at[stops[i]] += 1
    return TargetPorts(out_indptr, targets, out_times)


@kernel
def gather(at_stops, offset, limit, ports, out):
    """
    Lower ``out[target]`` to the least ``at_stops[stop] + time - offset`` over its ports, if within the limit.

    Parameters
    ----------
    at_stops : int32 array of shape (n_stops,)
        Arrival times, `NEVER` where there is none.
    offset, limit : int
        Time to subtract, and the longest travel time to write.
    ports : StopLinks
    out : int32 array of shape (n_targets,)
        Lowered in place.
    """
    indptr, stops, times = ports
    for target in range(indptr.size - 1):
        least = NEVER
        for k in range(indptr[target], indptr[target + 1]):
            least = min(least, at_stops[stops[k]] + times[k])
        if least - offset <= limit and least - offset < out[target]:
            out[target] = least - offset


@kernel
def gather_rows(at_stops, limit, ports, out):
    """
    Fill ``out[target, row]`` with the least ``at_stops[stop, row] + time`` over the ports of a target.

    Parameters
    ----------
    at_stops : int32 array of shape (n_stops, n_rows)
        Travel times of several searches, `NEVER` where there is none.
    limit : int
        Longest travel time.
    ports : StopLinks
    out : int32 array of shape (n_targets, n_rows)
        Overwritten; `NEVER` beyond the limit.
    """
    indptr, stops, times = ports
    n_rows = at_stops.shape[1]
    for target in range(indptr.size - 1):
        least = out[target]
        least[:] = NEVER
        for k in range(indptr[target], indptr[target + 1]):
            here = at_stops[stops[k]]
            time = times[k]
            for row in range(n_rows):
                least[row] = min(least[row], here[row] + time)
        for row in range(n_rows):
            if least[row] > limit:
                least[row] = NEVER


@kernel
def many_to_stops(lines, access, starts, limits, out):
    """
    Fill ``out[search, stop]`` with the time from the start of each search to the arrival by transit at each stop.

    Parameters
    ----------
    lines : Lines
    access : StopLinks
        Access stops of each search and the access times.
    starts : int32 array of shape (n_searches,)
        Departure times.
    limits : Limits
    out : int32 array of shape (n_searches, n_stops)
        Overwritten; `NEVER` where there is no journey within the limit.
    """
    state = new_state(lines, np.int64(1))
    for i in range(starts.size):
        own = slice(access.indptr[i], access.indptr[i + 1])
        limit = starts[i] + limits.travel_time
        times = access.ms[own] + starts[i]
        times = search(lines, state, access.stops[own], times, limit, limits.rides, limits.change_delay)
        for stop in range(times.size):
            out[i, stop] = times[stop] - starts[i] if times[stop] != NEVER else NEVER
