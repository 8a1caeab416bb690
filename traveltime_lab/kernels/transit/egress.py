"""
Compute travel times between points and stops, within a budget of walking or driving time.

These kernels do for points, in whole milliseconds, what `traveltime_lab.kernels.raster.transit_surface` and
`traveltime_lab.kernels.transit.drives` do for the cells of a raster.
"""

from __future__ import annotations

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.road import TIME_SHIFT
from traveltime_lab.kernels.transit.walks import WALK_MASK, straight_ms
from traveltime_lab.kernels.unreached import NEVER


@kernel
def _along_the_edge(i, positions, on_edges, directed, is_leaving, budget_ms, stop_ms, best):
    """Return the least of `best` and the times through the stops on the edges of point `i`."""
    for p in range(positions.indptr[i], positions.indptr[i + 1]):
        edge, fraction = positions.edge[p], positions.fraction[p]
        for k in range(on_edges.indptr[edge], on_edges.indptr[edge + 1]):
            stop = on_edges.stops[k]
            if stop_ms[stop] == NEVER:
                continue
            way = straight_ms(edge, fraction, on_edges.fraction[k], directed, is_leaving)
            way += (positions.connector[p] >> TIME_SHIFT) + (on_edges.connector[k] >> TIME_SHIFT)
            if way <= budget_ms:
                best = min(best, stop_ms[stop] + way)
    return best


@kernel
def read_walks(positions, reads, state_keys, around, stop_ms, on_edges, directed, is_leaving, budget_ms, limit_ms):
    """
    Return the travel times of points that are reached on foot from stops, or from which stops are reached on foot.

    Parameters
    ----------
    positions : Positions
    reads : Ports
        Ports of each point, connectors included.
    state_keys : int64 array of shape (n_states,)
        From `traveltime_lab.kernels.transit.walks.spread`.
    around : StopLinks
        Stops around each state.
    stop_ms : int32 array of shape (n_stops,)
        Travel time at each stop, `NEVER` if it was not reached.
    on_edges : StopsOnEdges
    directed : Directed
    is_leaving : bool
        True if one walks from the stops to the points, False if one walks from the points to the stops.
    budget_ms, limit_ms : int
        Longest walk, and longest travel time.

    Returns
    -------
    int32 array of shape (n_points,)
        `NEVER` beyond the limit.
    """
    state_indptr, state_stops, state_ms = around
    out = np.full(positions.indptr.size - 1, NEVER, np.int32)
    for i in range(out.size):
        best = np.int64(NEVER)
        for k in range(reads.indptr[i], reads.indptr[i + 1]):
            state, extra = reads.states[k], reads.keys[k] >> TIME_SHIFT
            # The least time of the state is a lower bound. It is exact if its walk is within the budget; otherwise all
            # stops around the state are compared.
            time = (state_keys[state] >> TIME_SHIFT) + extra
            if time >= best:
                continue
            if (state_keys[state] & WALK_MASK) + extra <= budget_ms:
                best = time
                continue
            for j in range(state_indptr[state], state_indptr[state + 1]):
                walk = state_ms[j] + extra
                if walk <= budget_ms:
                    best = min(best, stop_ms[state_stops[j]] + walk)
        best = _along_the_edge(i, positions, on_edges, directed, is_leaving, budget_ms, stop_ms, best)
        if best <= limit_ms:
            out[i] = best
    return out


@kernel
def read_drives(positions, reads, drives, stop_ms, on_edges, directed, budget_ms, limit_ms):
    """
    Return the travel times of points from which one drives to a stop; see `read_walks`.

    Parameters
    ----------
    drives : Drives
        From `traveltime_lab.kernels.transit.drives.drives_to_stops`.
    budget_ms, limit_ms : int
        Longest drive, and longest travel time.
    """
    out = np.full(positions.indptr.size - 1, NEVER, np.int32)
    for i in range(out.size):
        best = np.int64(NEVER)
        for k in range(reads.indptr[i], reads.indptr[i + 1]):
            state, extra = reads.states[k], reads.keys[k] >> TIME_SHIFT
            for j in range(drives.indptr[state], drives.indptr[state + 1]):
                if drives.drive_ms[j] + extra <= budget_ms:
                    best = min(best, drives.ms[j] + extra)
                    break
        best = _along_the_edge(i, positions, on_edges, directed, np.bool_(False), budget_ms, stop_ms, best)
        if best <= limit_ms:
            out[i] = best
    return out
