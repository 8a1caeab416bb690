"""
Walks between stops and streets: the states within the budget of each stop, and the stops within that of a point.

Times are int32 milliseconds; a budget holds for the whole walk, connectors included.
"""

from __future__ import annotations

import numba
import numpy as np

from traveltime_lab.kernels.street.road import TIME_SHIFT, UNREACHED, _grow, _search
from traveltime_lab.kernels.transit.patterns import UNREACHED as NEVER

#: Time and walk where nothing leads, and the walk's half of them.
NEVER_KEY = np.int64(NEVER) << TIME_SHIFT
WALK_MASK = np.int64((1 << TIME_SHIFT) - 1)


@numba.njit(cache=True, nogil=True)
def states_around(
    indptr, indices, weights, seed_indptr, seed_states, seed_keys, limit, shift, n_buckets, counts, states, walk_ms
):
    """
    Search from each of some rows of seeds and list the states within a limit, nearest first.

    Parameters
    ----------
    indptr, indices, weights, shift, n_buckets
        As in `traveltime_lab.kernels.street.road.one_to_all`.
    seed_indptr, seed_states, seed_keys : int64, int32, int64 arrays
        CSR of the seeds of each row.
    limit : int64
        Largest label.
    counts : int64 array of shape (n_rows,)
        Overwritten: how many states each row has.
    states, walk_ms : int32 arrays
        Room to begin with.

    Returns
    -------
    states, walk_ms : int32 arrays
        Row by row.
    """
    n_states = indptr.size - 1
    label = np.full(n_states, UNREACHED, np.int64)
    queued = np.full(n_states, -1, np.int32)
    parent = np.empty(0, np.int32)
    heads = np.full(n_buckets, -1, np.int32)
    pool_state = np.empty(n_states + 1024, np.int32)
    pool_next = np.empty(n_states + 1024, np.int32)
    at = 0
    for row in range(seed_indptr.size - 1):
        first, last = seed_indptr[row], seed_indptr[row + 1]
        pool_state, pool_next, touched = _search(
            indptr,
            indices,
            weights,
            seed_states[first:last],
            seed_keys[first:last],
            limit,
            shift,
            label,
            queued,
            parent,
            False,
            heads,
            pool_state,
            pool_next,
        )
        while at + touched.size > states.size:
            states = _grow(states)
            walk_ms = _grow(walk_ms)
        order = np.argsort(label[touched])
        for i in order:
            states[at] = touched[i]
            walk_ms[at] = np.int32(label[touched[i]] >> TIME_SHIFT)
            at += 1
        counts[row] = touched.size
        for i in range(touched.size):
            label[touched[i]] = UNREACHED
    return states[:at].copy(), walk_ms[:at].copy()


@numba.njit(cache=True, nogil=True)
def turned(indptr, columns, values, n_columns):
    """Return a CSR with its rows and columns exchanged; the rows of the result are in the order of the columns."""
    out_indptr = np.zeros(n_columns + 1, np.int64)
    for column in columns:
        out_indptr[column + 1] += 1
    for column in range(n_columns):
        out_indptr[column + 1] += out_indptr[column]
    at = out_indptr[:-1].copy()
    rows = np.empty(columns.size, np.int32)
    out_values = np.empty(columns.size, values.dtype)
    for row in range(indptr.size - 1):
        for k in range(indptr[row], indptr[row + 1]):
            place = at[columns[k]]
            rows[place] = row
            out_values[place] = values[k]
            at[columns[k]] += 1
    return out_indptr, rows, out_values


@numba.njit(cache=True, nogil=True)
def straight_ms(edge, here, there, traversal, is_open, is_leaving):
    """Return the milliseconds between a place `here` and a stop `there` on one edge, `NEVER` if the way is closed."""
    a, b = (there, here) if is_leaving else (here, there)
    best = NEVER
    for side in range(2):
        d = 2 * edge + side
        start, end = (a, b) if side == 0 else (1.0 - a, 1.0 - b)
        if is_open[d] and end >= start:
            time = traversal[d] >> TIME_SHIFT
            best = min(best, np.int64(time * end + 0.5) - np.int64(time * start + 0.5))
    return best


@numba.njit(cache=True, nogil=True)
def links_of_points(
    edges,
    fractions,
    connector_ms,
    read_indptr,
    read_states,
    read_ms,
    state_indptr,
    state_stops,
    state_ms,
    edge_indptr,
    edge_stops,
    stop_fractions,
    stop_connector_ms,
    traversal,
    is_open,
    is_leaving,
    budget_ms,
    n_stops,
    counts,
    stops,
    walk_ms,
):
    """
    List the stops within a budget of points, with the walks between them.

    Parameters
    ----------
    edges, fractions, connector_ms : int32, float64, int64 arrays of shape (n_points,)
        Where the points are on the streets (edge -1 for nowhere) and the walk there.
    read_indptr, read_states, read_ms : int64, int32, int64 arrays
        Ports of the points, connectors included.
    state_indptr, state_stops, state_ms : int64, int32, int32 arrays
        By state the stops around it.
    edge_indptr, edge_stops : int64, int32 arrays
        By edge the stops on it.
    stop_fractions, stop_connector_ms : float64, int64 arrays of shape (n_stops,)
    cross : int64 array of shape (n_directed,)
    is_open : bool array of shape (n_directed,)
    is_leaving : bool
        Whether the walks lead from the stops to the points.
    budget_ms : int
    n_stops : int
    counts : int64 array of shape (n_points,)
        Overwritten.
    stops, walk_ms : int32 arrays
        Room to begin with.

    Returns
    -------
    stops, walk_ms : int32 arrays
        Point by point.
    """
    best = np.full(n_stops, NEVER, np.int32)
    found = np.empty(n_stops, np.int32)
    at = 0
    for i in range(edges.size):
        n = 0
        if edges[i] >= 0:
            for k in range(read_indptr[i], read_indptr[i + 1]):
                state, extra = read_states[k], read_ms[k]
                for j in range(state_indptr[state], state_indptr[state + 1]):
                    time = state_ms[j] + extra
                    stop = state_stops[j]
                    if time <= budget_ms and time < best[stop]:
                        if best[stop] == NEVER:
                            found[n] = stop
                            n += 1
                        best[stop] = time
            for k in range(edge_indptr[edges[i]], edge_indptr[edges[i] + 1]):
                stop = edge_stops[k]
                time = straight_ms(edges[i], fractions[i], stop_fractions[stop], traversal, is_open, is_leaving)
                time += connector_ms[i] + stop_connector_ms[stop]
                if time <= budget_ms and time < best[stop]:
                    if best[stop] == NEVER:
                        found[n] = stop
                        n += 1
                    best[stop] = time
        while at + n > stops.size:
            stops = _grow(stops)
            walk_ms = _grow(walk_ms)
        for k in range(n):
            stops[at] = found[k]
            walk_ms[at] = best[found[k]]
            best[found[k]] = NEVER
            at += 1
        counts[i] = n
    return stops[:at].copy(), walk_ms[:at].copy()


@numba.njit(cache=True, nogil=True)
def spread(times_ms, first, last, limit_ms, indptr, states, walk_ms, keys):
    """
    Lower the times of states to what a walk from the stops around them takes.

    Parameters
    ----------
    times_ms : int32 array of shape (n_stops,)
        Time of being at each stop, `NEVER` if one is not.
    first, last : int
        The stops to walk from.
    limit_ms : int
        Latest time of interest.
    indptr, states, walk_ms : int64, int32, int32 arrays
        By stop the states around it, nearest first.
    keys : int64 array of shape (n_states,)
        Lowered: times in the upper halves, in the lower ones the walks behind them, of equally early ones the
        shortest; `NEVER_KEY` where nothing leads.
    """
    for stop in range(first, last):
        start = np.int64(times_ms[stop])
        if start > limit_ms:
            continue
        for k in range(indptr[stop], indptr[stop + 1]):
            walk = np.int64(walk_ms[k])
            if start + walk > limit_ms:
                break
            key = ((start + walk) << TIME_SHIFT) | walk
            keys[states[k]] = min(keys[states[k]], key)
