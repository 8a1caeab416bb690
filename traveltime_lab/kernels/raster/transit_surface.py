"""
Times at the cells of a raster that rides bring, with a walk of at most so long from the last stop.

The earliest way to a junction may have used up its walk, while a later one has not. So a cell takes the quick answer
of its street's ends where that keeps the budget, and else asks all stops around. Cells on streets with stops ask too.
"""

from __future__ import annotations

import numba
import numpy as np

from traveltime_lab.kernels.street.road import TIME_SHIFT
from traveltime_lab.kernels.transit.patterns import UNREACHED as NEVER
from traveltime_lab.kernels.transit.walks import NEVER_KEY, WALK_MASK, straight_ms


@numba.njit(cache=True, nogil=True)
def edge_starts(
    state_keys,
    port_indptr,
    port_states,
    port_keys,
    traversal,
    is_open,
    is_backward,
    stop_ms,
    edge_indptr,
    edge_stops,
    stop_connector_ms,
    starts,
):
    """
    Fill what `gather_rides` reads of each edge.

    Parameters
    ----------
    state_keys : int64 array of shape (n_states,)
        See `traveltime_lab.kernels.transit.walks.spread`.
    port_indptr, port_states, port_keys : int64, int32, int64 arrays
        Entry ports of directed edges, or backwards their exit ports.
    cross : int64 array of shape (n_directed,)
        Labels of the directed edges.
    is_open : bool array of shape (n_directed,)
    is_backward : bool
    stop_ms, edge_indptr, edge_stops, stop_connector_ms
        As in `gather_rides`.
    starts : int32 array of shape (n_edges, 8)
        Overwritten, all in milliseconds. 0: the time of being at the start of the edge, `NEVER` where not reached. 1:
        what of it is the walk after the ride. 2: the way along the edge. 3: the earliest time of being on the edge next
        to one of its stops. 4 to 6: as 0 to 2, at its end. 7 stays as it is: half a cache line, since each cell reads
        all of it. Backwards the times are of what lies between the edge and where one is going.
    """
    for e in range(starts.shape[0]):
        for side in range(2):
            d = 2 * e + (1 - side if is_backward else side)
            least = NEVER_KEY
            if is_open[d]:
                for k in range(port_indptr[d], port_indptr[d + 1]):
                    key = state_keys[port_states[k]]
                    if key != NEVER_KEY:
                        # What lies in between adds to the time and to the walk.
                        extra = port_keys[k] >> TIME_SHIFT
                        least = min(least, key + (extra << TIME_SHIFT) + extra)
            starts[e, 4 * side] = NEVER if least == NEVER_KEY else np.int32(least >> TIME_SHIFT)
            starts[e, 4 * side + 1] = 0 if least == NEVER_KEY else np.int32(least & WALK_MASK)
            starts[e, 4 * side + 2] = np.int32(traversal[d] >> TIME_SHIFT)
        starts[e, 3] = NEVER
        for k in range(edge_indptr[e], edge_indptr[e + 1]):
            stop = edge_stops[k]
            starts[e, 3] = min(starts[e, 3], stop_ms[stop] + stop_connector_ms[stop])


@numba.njit(cache=True, nogil=True)
def box_of(starts, boxes, is_land, limit_ms):
    """Return the box (west, south, east, north) of the edges entered within a limit; see `edge_starts`."""
    west, south, east, north = np.inf, np.inf, -np.inf, -np.inf
    for e in range(starts.shape[0]):
        if min(starts[e, 0], starts[e, 4]) <= limit_ms and is_land[e]:
            box = boxes[e]
            west, south = min(west, box[0]), min(south, box[1])
            east, north = max(east, box[2]), max(north, box[3])
    return west, south, east, north


@numba.njit(cache=True, nogil=True)
def _ask_all(
    d,
    part_ms,
    budget_ms,
    port_indptr,
    port_states,
    port_keys,
    state_indptr,
    state_stops,
    state_ms,
    stop_ms,
):
    """Return the least time over all stops around the start of a directed edge, walked on for `part_ms`."""
    best = np.float64(NEVER)
    for k in range(port_indptr[d], port_indptr[d + 1]):
        state = port_states[k]
        onward = part_ms + (port_keys[k] >> 32)
        for j in range(state_indptr[state], state_indptr[state + 1]):
            walk = state_ms[j] + onward
            time = stop_ms[state_stops[j]] + walk
            if walk <= budget_ms and time < best:
                best = time
    return best


@numba.njit(cache=True, nogil=True)
def gather_rides(
    edge,
    fraction,
    distance,
    per_metre,
    buffer_m,
    starts,
    traversal,
    is_open,
    is_backward,
    budget_ms,
    limit_ms,
    port_indptr,
    port_states,
    port_keys,
    state_indptr,
    state_stops,
    state_ms,
    stop_ms,
    edge_indptr,
    edge_stops,
    stop_fraction,
    stop_connector_ms,
    values,
):
    """
    Lower the value of each cell to what rides and a walk bring.

    Parameters
    ----------
    edge, fraction, distance, per_metre, buffer_m
        As in `traveltime_lab.kernels.raster.surface.gather`.
    starts : int32 array of shape (n_edges, 8)
        From `edge_starts`.
    cross : int64 array of shape (n_directed,)
        Labels of the directed edges.
    is_open : bool array of shape (n_directed,)
    is_backward : bool
    budget_ms : int
        Longest walk, the cell's own metres to its street included.
    limit_ms : int
        Longer times are of no interest; `starts` need not have them either.
    port_indptr, port_states, port_keys
        As in `edge_starts`.
    state_indptr, state_stops, state_ms : int64, int32, int32 arrays
        By state the stops around it.
    stop_ms : int32 array of shape (n_stops,)
        Time of being at each stop, `NEVER` if one is not.
    edge_indptr, edge_stops : int64, int32 arrays
        By edge the stops on it.
    stop_fraction, stop_connector_ms : float64, int64 arrays of shape (n_stops,)
    values : float32 array
        Seconds, lowered.
    """
    for r in range(edge.shape[0]):
        for c in range(edge.shape[1]):
            e = edge[r, c]
            if e < 0 or distance[r, c] > buffer_m:
                continue
            f = np.float64(fraction[r, c])
            off_ms = 1000.0 * per_metre * distance[r, c]
            bound = min(1000.0 * np.float64(values[r, c]), limit_ms + 1.0)
            best = bound
            first_ms = f * starts[e, 2] + off_ms
            second_ms = (1.0 - f) * starts[e, 6] + off_ms
            first, second = starts[e, 0] + first_ms, starts[e, 4] + second_ms
            # Which end is nearer nobody can foresee, so no branch asks; if the nearer will do, the other is no better.
            if min(first, second) < best:
                is_first = first <= second
                side, part_ms, time = (0, first_ms, first) if is_first else (1, second_ms, second)
                if starts[e, 4 * side + 1] + part_ms <= budget_ms:
                    best = time
                else:
                    for _ in range(2):
                        if time < best:
                            if starts[e, 4 * side + 1] + part_ms > budget_ms:
                                time = _ask_all(
                                    2 * e + (1 - side if is_backward else side), part_ms, budget_ms, port_indptr,
                                    port_states, port_keys, state_indptr, state_stops, state_ms, stop_ms,
                                )  # fmt: skip
                            best = min(best, time)
                        side, part_ms, time = (1, second_ms, second) if is_first else (0, first_ms, first)
            if starts[e, 3] + off_ms < best:
                for k in range(edge_indptr[e], edge_indptr[e + 1]):
                    stop = edge_stops[k]
                    to_street_ms = stop_connector_ms[stop] + off_ms
                    if stop_ms[stop] + to_street_ms < best:
                        walk = to_street_ms + straight_ms(
                            e, f, stop_fraction[stop], traversal, is_open, not is_backward
                        )
                        if walk <= budget_ms:
                            best = min(best, stop_ms[stop] + walk)
            if best < bound:
                values[r, c] = best / 1000.0
