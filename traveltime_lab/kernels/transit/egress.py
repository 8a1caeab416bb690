"""
Times at points that rides bring, with a walk (or before them a drive) of at most so long between stop and point.

What `traveltime_lab.kernels.raster.transit_surface` and `traveltime_lab.kernels.transit.drives` do for the cells of a
raster, in whole milliseconds.
"""

from __future__ import annotations

import numba
import numpy as np

from traveltime_lab.kernels.street.road import TIME_SHIFT
from traveltime_lab.kernels.transit.patterns import UNREACHED as NEVER
from traveltime_lab.kernels.transit.walks import WALK_MASK, straight_ms


@numba.njit(cache=True, nogil=True)
def _along_the_edge(
    i, edges, fractions, connector_ms, edge_indptr, edge_stops, stop_fraction, stop_connector_ms, traversal, is_open,
    is_leaving, budget_ms, stop_ms, best,
):  # fmt: skip
    """Return the least of `best` and the times by stops on the point's own edge."""
    edge = edges[i]
    for k in range(edge_indptr[edge], edge_indptr[edge + 1]):
        stop = edge_stops[k]
        if stop_ms[stop] == NEVER:
            continue
        way = straight_ms(edge, fractions[i], stop_fraction[stop], traversal, is_open, is_leaving)
        way += connector_ms[i] + stop_connector_ms[stop]
        if way <= budget_ms:
            best = min(best, stop_ms[stop] + way)
    return best


@numba.njit(cache=True, nogil=True)
def read_walks(
    edges,
    fractions,
    connector_ms,
    port_indptr,
    port_states,
    port_ms,
    state_keys,
    state_indptr,
    state_stops,
    state_walk_ms,
    stop_ms,
    edge_indptr,
    edge_stops,
    stop_fraction,
    stop_connector_ms,
    traversal,
    is_open,
    is_leaving,
    budget_ms,
    limit_ms,
    out,
):
    """
    Fill the times of points.

    Parameters
    ----------
    edges, fractions, connector_ms : int32, float64, int64 arrays of shape (n_points,)
        Where the points are on the streets (edge -1 for nowhere) and the walk there.
    port_indptr, port_states, port_ms : int64, int32, int64 arrays
        Ports of the points, connectors included.
    state_keys : int64 array of shape (n_states,)
        See `traveltime_lab.kernels.transit.walks.spread`.
    state_indptr, state_stops, state_walk_ms : int64, int32, int32 arrays
        By state the stops around it.
    stop_ms : int32 array of shape (n_stops,)
        Time of being at each stop, `NEVER` if one is not.
    edge_indptr, edge_stops : int64, int32 arrays
        By edge the stops on it.
    stop_fraction, stop_connector_ms : float64, int64 arrays of shape (n_stops,)
    cross : int64 array of shape (n_directed,)
    is_open : bool array of shape (n_directed,)
    is_leaving : bool
        Whether the walks lead from the stops to the points.
    budget_ms, limit_ms : int
    out : int32 array of shape (n_points,)
        `NEVER` where over the limit.
    """
    for i in range(edges.size):
        best = np.int64(NEVER)
        if edges[i] >= 0:
            for k in range(port_indptr[i], port_indptr[i + 1]):
                state, extra = port_states[k], port_ms[k]
                # The quick answer is a bound; it holds unless its walk is too long.
                time = (state_keys[state] >> TIME_SHIFT) + extra
                if time >= best:
                    continue
                if (state_keys[state] & WALK_MASK) + extra <= budget_ms:
                    best = time
                    continue
                for j in range(state_indptr[state], state_indptr[state + 1]):
                    walk = state_walk_ms[j] + extra
                    if walk <= budget_ms:
                        best = min(best, stop_ms[state_stops[j]] + walk)
            best = _along_the_edge(
                i, edges, fractions, connector_ms, edge_indptr, edge_stops, stop_fraction, stop_connector_ms, traversal,
                is_open, is_leaving, budget_ms, stop_ms, best,
            )  # fmt: skip
        out[i] = best if best <= limit_ms else NEVER


@numba.njit(cache=True, nogil=True)
def read_drives(
    edges,
    fractions,
    connector_ms,
    port_indptr,
    port_states,
    port_ms,
    label_indptr,
    label_ms,
    drive_ms,
    stop_ms,
    edge_indptr,
    edge_stops,
    stop_fraction,
    stop_connector_ms,
    traversal,
    is_open,
    budget_ms,
    limit_ms,
    out,
):
    """
    Fill the times of points from which one drives to a stop; see `read_walks`.

    Parameters
    ----------
    label_indptr, label_ms, drive_ms : int64, int32, int32 arrays
        From `traveltime_lab.kernels.transit.drives.drives_to_stops`.
    """
    for i in range(edges.size):
        best = np.int64(NEVER)
        if edges[i] >= 0:
            for k in range(port_indptr[i], port_indptr[i + 1]):
                state, extra = port_states[k], port_ms[k]
                for j in range(label_indptr[state], label_indptr[state + 1]):
                    if drive_ms[j] + extra <= budget_ms:
                        best = min(best, label_ms[j] + extra)
                        break
            best = _along_the_edge(
                i, edges, fractions, connector_ms, edge_indptr, edge_stops, stop_fraction, stop_connector_ms, traversal,
                is_open, False, budget_ms, stop_ms, best,
            )  # fmt: skip
        out[i] = best if best <= limit_ms else NEVER
