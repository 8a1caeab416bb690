"""
Prepare travel times by transit at the ends of edges, from which those of cells along them follow.
"""

from __future__ import annotations

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.road import TIME_SHIFT
from traveltime_lab.kernels.transit.walks import WALK_MASK
from traveltime_lab.kernels.unreached import NEVER, NEVER_KEY


@kernel
def _least_key(d, state_keys, ports, is_open):
    """Return the least key at the start of a directed edge (backwards: at its end); see `edge_starts`."""
    least = NEVER_KEY
    if is_open[d]:
        for k in range(ports.indptr[d], ports.indptr[d + 1]):
            key = state_keys[ports.states[k]]
            if key != NEVER_KEY:
                # The key of a port adds to the travel time and to the walk.
                extra = ports.keys[k] >> TIME_SHIFT
                least = min(least, key + (extra << TIME_SHIFT) + extra)
    return least


@kernel
def _least_at_stops(e, stop_ms, on_edges):
    """Return the least travel time at a stop of an edge, connector included."""
    least = np.int64(NEVER)
    for k in range(on_edges.indptr[e], on_edges.indptr[e + 1]):
        least = min(least, stop_ms[on_edges.stops[k]] + (on_edges.connector[k] >> TIME_SHIFT))
    return np.int32(least)


@kernel
def edge_starts(edges, state_keys, ports, directed, is_backward, stop_ms, on_edges, starts):
    """
    Prepare the numbers that `gather_rides` of `traveltime_lab.kernels.raster.transit_surface` reads for some edges.

    Parameters
    ----------
    edges : int32 array of shape (n_rows,)
    state_keys : int64 array of shape (n_states,)
        From `traveltime_lab.kernels.transit.walks.spread`.
    ports : Ports
        Entry ports of each directed edge, or exit ports if `is_backward`.
    directed : Directed
    is_backward : bool
        True if cells are origins, False if they are destinations.
    stop_ms : int32 array of shape (n_stops,)
        Travel time at each stop, `NEVER` if it was not reached.
    on_edges : StopsOnEdges
    starts : int32 array of shape (n_rows, 8), ms
        Overwritten. Column 0: travel time at the start of the edge, `NEVER` where not reached; backwards the travel
        time from there to the destination. Column 1: the walk in column 0. Column 2: the time along the edge. Column 3:
        the least travel time at a stop of the edge, connector included. Columns 4 to 6: as 0 to 2, at the end of the
        edge. Column 7 is not written; with it a row fills half a cache line, which each cell reads at once.
    """
    traversal, is_open = directed
    for row in range(edges.size):
        # With a narrow number the loop takes twice as long (measured).
        e = np.int64(edges[row])
        for side in range(2):
            d = 2 * e + (1 - side if is_backward else side)
            least = _least_key(d, state_keys, ports, is_open)
            starts[row, 4 * side] = NEVER if least == NEVER_KEY else np.int32(least >> TIME_SHIFT)
            starts[row, 4 * side + 1] = 0 if least == NEVER_KEY else np.int32(least & WALK_MASK)
            starts[row, 4 * side + 2] = np.int32(traversal[d] >> TIME_SHIFT)
        starts[row, 3] = _least_at_stops(e, stop_ms, on_edges)


@kernel
def box_of(edges, starts, edge_boxes, limit_ms):
    """Return the bounding box (west, south, east, north) of the edges reached within a limit; see `edge_starts`."""
    boxes, is_land = edge_boxes
    west, south, east, north = np.inf, np.inf, -np.inf, -np.inf
    for row in range(edges.size):
        e = np.int64(edges[row])
        if min(starts[row, 0], starts[row, 3], starts[row, 4]) <= limit_ms and is_land[e]:
            box = boxes[e]
            west, south = min(west, box[0]), min(south, box[1])
            east, north = max(east, box[2]), max(north, box[3])
    return west, south, east, north


@kernel
def edges_within(edges, starts, limit_ms):
    """Return the edges reached within a limit, and the least travel time of each; see `edge_starts`."""
    within, least_ms, n = np.empty(edges.size + 1, np.int32), np.empty(edges.size + 1, np.int32), 0
    for row in range(edges.size):
        within[n], least_ms[n] = edges[row], min(starts[row, 0], starts[row, 3], starts[row, 4])
        n += least_ms[n] <= limit_ms
    return within[:n].copy(), least_ms[:n].copy()


@kernel
def departure_starts(edges, state_keys, ports, is_open, is_backward, stop_ms, on_edges, moment, starts):
    """
    Prepare the numbers of one departure that `gather_departures` of
    `traveltime_lab.kernels.raster.transit_surface` reads for some edges.

    Parameters
    ----------
    edges, state_keys, ports, is_backward, stop_ms, on_edges
        As in `edge_starts`.
    is_open : bool array of shape (n_directed,)
    moment : int
        Number of the departure.
    starts : int32 array of shape (n_rows, 5, n_moments), ms
        Its column `moment` is overwritten. Rows 0 and 1: travel time at the start of the edge, and the walk in it, as
        in `edge_starts`. Rows 2 and 3: those at the end of the edge. Row 4: the least travel time at a stop of the
        edge, connector included.
    """
    for row in range(edges.size):
        e = np.int64(edges[row])
        for side in range(2):
            least = _least_key(2 * e + (1 - side if is_backward else side), state_keys, ports, is_open)
            starts[row, 2 * side, moment] = NEVER if least == NEVER_KEY else np.int32(least >> TIME_SHIFT)
            starts[row, 2 * side + 1, moment] = 0 if least == NEVER_KEY else np.int32(least & WALK_MASK)
        starts[row, 4, moment] = _least_at_stops(e, stop_ms, on_edges)
