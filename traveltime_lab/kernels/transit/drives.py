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

import heapq
from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.road import TIME_SHIFT, _grow
from traveltime_lab.kernels.transit.patterns import UNREACHED as NEVER
from traveltime_lab.kernels.transit.walks import straight_ms


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
    heap = [(np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)]
    for stop in range(stop_ms.size):
        if stop_ms[stop] >= NEVER:
            continue
        for k in range(port_indptr[stop], port_indptr[stop + 1]):
            drive = port_keys[k] >> TIME_SHIFT
            if drive <= budget_ms and stop_ms[stop] + drive <= limit_ms:
                heap.append((np.int64(stop_ms[stop] + drive), np.int64(drive), np.int64(port_states[k])))
    heapq.heapify(heap)
    states = np.empty(1 << 16, np.int32)
    times = np.empty(1 << 16, np.int32)
    drives = np.empty(1 << 16, np.int32)
    n = 0
    while len(heap) > 0:
        time, drive, state = heapq.heappop(heap)
        if drive >= least[state]:
            continue
        least[state] = drive
        if n == states.size:
            states, times, drives = _grow(states), _grow(times), _grow(drives)
        states[n], times[n], drives[n] = state, time, drive
        n += 1
        for k in range(indptr[state], indptr[state + 1]):
            step = weights[k] >> TIME_SHIFT
            if drive + step < least[indices[k]] and drive + step <= budget_ms and time + step <= limit_ms:
                heapq.heappush(heap, (time + step, drive + step, np.int64(indices[k])))
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


@kernel
def _lower(
    cell, edge, fraction, distance, per_metre, buffer_m, directed, budget_ms, ports, drives, stop_ms, on_edges, values
):
    """
    Lower the values of some cells; see `gather_drives`.

    Parameters
    ----------
    cell : int32 array of shape (n,)
        Numbers of the cells, empty for all.
    edge, fraction, distance : int32, float32, float32 arrays of shape (n,)
    values : float32 array of shape (n_cells,), s
    """
    # Local variables, see `traveltime_lab.kernels.raster.surface`.
    label_indptr, label_ms, drive_ms = drives
    traversal, is_open = directed
    port_indptr, port_states, port_keys = ports.indptr, ports.states, ports.keys
    indptr, stops, place, connector = on_edges.indptr, on_edges.stops, on_edges.fraction, on_edges.connector
    is_all = cell.size == 0
    for i in range(edge.size):
        e, metres = edge[i], distance[i]
        if e < 0 or metres > buffer_m:
            continue
        at = i if is_all else np.int64(cell[i])
        f, off_ms, best = np.float64(fraction[i]), 1000.0 * per_metre * metres, 1000.0 * np.float64(values[at])
        for side in range(2):
            # The car drives from the cell to the end of the edge.
            d = 2 * e + 1 - side
            if not is_open[d]:
                continue
            part_ms = (f if side == 0 else 1.0 - f) * (traversal[d] >> TIME_SHIFT) + off_ms
            for k in range(port_indptr[d], port_indptr[d + 1]):
                onward = part_ms + (port_keys[k] >> TIME_SHIFT)
                state = port_states[k]
                for j in range(label_indptr[state], label_indptr[state + 1]):
                    if drive_ms[j] + onward <= budget_ms:
                        best = min(best, label_ms[j] + onward)
                        break
        for k in range(indptr[e], indptr[e + 1]):
            stop = stops[k]
            if stop_ms[stop] == NEVER:
                continue
            drive = straight_ms(e, f, place[k], directed, np.bool_(False))
            drive += (connector[k] >> TIME_SHIFT) + off_ms
            if drive <= budget_ms:
                best = min(best, stop_ms[stop] + drive)
        values[at] = best / 1000.0


@kernel
def gather_drives(cells, directed, budget_ms, ports, drives, stop_ms, on_edges, values):
    """
    Lower the value of each cell to the travel time of driving to a stop and taking transit from there.

    Parameters
    ----------
    cells : traveltime_lab.kernels.raster.surface.Cells
    directed : Directed
    budget_ms : int
        Longest driving time, including the connector between the cell and its street.
    ports : Ports
        Exit ports of each directed edge.
    drives : Drives
        From `drives_to_stops`.
    stop_ms : int32 array of shape (n_stops,)
        Travel time from each stop to the destination, `NEVER` if there is no journey.
    on_edges : StopsOnEdges
    values : float32 array of shape (n_rows, n_columns), s
        Lowered in place.
    """
    edge, fraction, distance, per_metre, buffer_m, tied_cell, tied_edge, tied_fraction, tied_distance = cells
    of_all, of_each = np.empty(0, np.int32), values.reshape(-1)
    _lower(
        of_all,
        edge.reshape(-1),
        fraction.reshape(-1),
        distance.reshape(-1),
        per_metre,
        buffer_m,
        directed,
        budget_ms,
        ports,
        drives,
        stop_ms,
        on_edges,
        of_each,
    )
    if tied_cell.size:
        _lower(
            tied_cell,
            tied_edge,
            tied_fraction,
            tied_distance,
            per_metre,
            buffer_m,
            directed,
            budget_ms,
            ports,
            drives,
            stop_ms,
            on_edges,
            of_each,
        )
