"""
Search the fastest journeys between points, and their transit legs, with many searches in one call.

Times have the unit of the lines, see `traveltime_lab.kernels.transit.patterns.Lines`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.transit.raptor import ROUNDS, Limits, rounds_into
from traveltime_lab.kernels.transit.reconstruct import new_tracing, trace_into
from traveltime_lab.kernels.transit.ride_lines import best_link
from traveltime_lab.kernels.unreached import NEVER


class Searches(NamedTuple):
    """Searches of journeys between points, with targets in CSR."""

    points: np.ndarray  # int64 (n_searches,), where the searches begin: rows of the links of one side
    starts: np.ndarray  # int32 (n_searches,), moments in the direction of the search
    limits: np.ndarray  # int32 (n_searches,), longest travel times
    indptr: np.ndarray  # int64 (n_searches + 1,)
    targets: np.ndarray  # int64 (n_targets,), rows of the links of the other side
    bounds: np.ndarray  # int32 (n_targets,), journeys of less time are traced


@kernel
def fastest_journeys(lines, back, state, near, far, searches, max_rides, change_delay):
    """
    Find the fastest journey of each pair of a search and a target, and trace its legs.

    Parameters
    ----------
    lines, back : Lines
        The lines to search, and the same lines mirrored.
    state : State
        From ``new_state(lines, 1)``; can be used for any number of searches.
    near, far : StopLinks
        Links of the points where searches begin, and of the targets.
    searches : Searches
    max_rides, change_delay : int
        See `traveltime_lab.kernels.transit.raptor.Limits`.

    Returns
    -------
    links : int64 array of shape (n_targets,)
        How each target is joined to its stop, as position in the links of `far`; -1 if there is no journey.
    times : int32 array of shape (n_targets,)
        Travel times, `NEVER` beyond the limit.
    last : int32 array of shape (n_targets,)
        The last leg of each journey, -1 where it is not traced.
    legs : int32 array of shape (8, n_legs)
        See `traveltime_lab.kernels.transit.reconstruct.trace_into`.
    first : int64 array of shape (n_searches + 1,)
        Index pointer of the legs of each search.
    """
    points, starts, longest, indptr, targets, bounds = searches
    links = np.empty(targets.size, np.int64)
    times, stops, last = np.empty((3, targets.size), np.int32)
    first = np.zeros(points.size + 1, np.int64)
    n_stops = lines.change_time.size
    best, ready = np.empty((ROUNDS, n_stops), np.int32), np.empty((ROUNDS, n_stops), np.int32)
    tracing = new_tracing(lines, ROUNDS)
    legs = np.empty((8, max(16, 2 * targets.size)), np.int32)
    size = 0
    for search in range(points.size):
        begin, end = near.indptr[points[search]], near.indptr[points[search] + 1]
        seeds = near.stops[begin:end], near.ms[begin:end]
        start, limits = starts[search], Limits(np.int64(longest[search]), max_rides, change_delay)
        best, ready, k = rounds_into(lines, state, seeds, start, limits, best, ready)
        if best.shape[0] > tracing.known.shape[0]:
            tracing = new_tracing(lines, best.shape[0])
        begin, end = indptr[search], indptr[search + 1]
        for i in range(begin, end):
            links[i], times[i], stops[i] = best_link(far, best[k], targets[i]), NEVER, -1
            if links[i] < 0:
                continue
            stop = far.stops[links[i]]
            time = best[k, stop] - start + far.ms[links[i]]
            if time <= limits.travel_time:
                times[i] = time
                stops[i] = stop if time < bounds[i] else -1
        labels = best[: k + 1], ready[: k + 1]
        legs, size = trace_into(
            lines, back, labels, change_delay, stops[begin:end], last[begin:end], tracing, legs, size
        )
        first[search + 1] = size
    return links, times, last, legs[:, :size].copy(), first
