"""
Compute travel times between points and stops, within a budget of walking or driving time.

These kernels do for points, in whole milliseconds, what `traveltime_lab.kernels.raster.transit_surface` and
`traveltime_lab.kernels.transit.drives` do for the cells of a raster.
"""

from __future__ import annotations

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.road import TIME_SHIFT
from traveltime_lab.kernels.transit.patterns import UNREACHED as NEVER
from traveltime_lab.kernels.transit.walks import WALK_MASK, straight_ms


@kernel
def _along_the_edge(
    i, edges, fractions, connector_ms, edge_indptr, edge_stops, stop_fraction, stop_connector_ms, traversal, is_open,
    is_leaving, budget_ms, stop_ms, best,
):  # fmt: skip
    """Return the least of `best` and the times through the stops on the edge of point `i`."""
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


@kernel
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
    Fill the travel times of points that are reached on foot from stops, or from which stops are reached on foot.

    Parameters
    ----------
    edges, fractions, connector_ms : int32, float64, int64 arrays of shape (n_points,)
        Position of each point on its edge (-1 if it was not snapped), and the walking time of the connector.
    port_indptr, port_states, port_ms : int64, int32, int64 arrays
        CSR of the ports of each point, connectors included.
    state_keys : int64 array of shape (n_states,)
        From `traveltime_lab.kernels.transit.walks.spread`.
    state_indptr, state_stops, state_walk_ms : int64, int32, int32 arrays
        CSR of the stops within walking distance of each state.
    stop_ms : int32 array of shape (n_stops,)
        Travel time at each stop, `NEVER` if it was not reached.
    edge_indptr, edge_stops : int64, int32 arrays
        CSR of the stops on each edge.
    stop_fraction, stop_connector_ms : float64, int64 arrays of shape (n_stops,)
        Position of each stop on its edge, and the walking time of its connector.
    traversal : int64 array of shape (n_directed,)
        Labels of the directed edges from start to end.
    is_open : bool array of shape (n_directed,)
        Whether each directed edge may be used.
    is_leaving : bool
        True if one walks from the stops to the points, False if one walks from the points to the stops.
    budget_ms, limit_ms : int
        Longest walk, and longest travel time.
    out : int32 array of shape (n_points,)
        Overwritten; `NEVER` beyond the limit.
    """
    for i in range(edges.size):
        best = np.int64(NEVER)
        if edges[i] >= 0:
            for k in range(port_indptr[i], port_indptr[i + 1]):
                state, extra = port_states[k], port_ms[k]
                # The least time of the state is a lower bound. It is exact if its walk is within the budget; otherwise
                # all stops around the state are compared.
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


@kernel
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
    Fill the travel times of points from which one drives to a stop; see `read_walks`.

    Parameters
    ----------
    label_indptr, label_ms, drive_ms : int64, int32, int32 arrays
        From `traveltime_lab.kernels.transit.drives.drives_to_stops`.
    budget_ms, limit_ms : int
        Longest drive, and longest travel time.
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
