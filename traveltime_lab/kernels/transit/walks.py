"""
Find the states of the street graph within walking distance of stops, and the stops within walking distance of points.

Times are int32 milliseconds. The walking budget covers the whole walk, including connectors.
"""

from __future__ import annotations

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.road import TIME_SHIFT, UNREACHED, _grow, _search, ascending
from traveltime_lab.kernels.transit.patterns import UNREACHED as NEVER

#: Key of a state that no walk reaches (see `spread`), and the mask of the walk in a key.
NEVER_KEY = np.int64(NEVER) << TIME_SHIFT
WALK_MASK = np.int64((1 << TIME_SHIFT) - 1)


@kernel
def states_around(
    indptr, indices, weights, seed_indptr, seed_states, seed_keys, limit, shift, n_buckets, counts, states, walk_ms
):
    """
    Search from each row of seeds and list the states within a limit, nearest first.

    Parameters
    ----------
    indptr, indices, weights, shift, n_buckets
        As in `traveltime_lab.kernels.street.road.one_to_all`.
    seed_indptr, seed_states, seed_keys : int64, int32, int64 arrays
        CSR of the seeds of each row.
    limit : int64
        Largest label to settle.
    counts : int64 array of shape (n_rows,)
        Overwritten with the number of states of each row.
    states, walk_ms : int32 arrays
        Output buffers, which are reallocated if they are too short.

    Returns
    -------
    states, walk_ms : int32 arrays
        States and walking times, row by row.
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
            heads,
            pool_state,
            pool_next,
        )
        while at + touched.size > states.size:
            states = _grow(states)
            walk_ms = _grow(walk_ms)
        order = ascending(label[touched])
        for i in order:
            states[at] = touched[i]
            walk_ms[at] = np.int32(label[touched[i]] >> TIME_SHIFT)
            at += 1
        counts[row] = touched.size
        for i in range(touched.size):
            label[touched[i]] = UNREACHED
    return states[:at].copy(), walk_ms[:at].copy()


@kernel
def turned(indptr, columns, values, n_columns):
    """
    Return the transposed CSR.

    Parameters
    ----------
    indptr, columns, values : int64, int32 and any arrays
    n_columns : int

    Returns
    -------
    indptr, rows, values : int64, int32 and any arrays
        The rows of the input ascend within a row of the result.
    """
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


@kernel
def straight_ms(edge, here, there, traversal, is_open, is_leaving):
    """
    Return the milliseconds along an edge between a position `here` and a stop at position `there`.

    Parameters
    ----------
    edge : int
    here, there : float
        Fractions of the edge, 0 to 1.
    traversal, is_open : int64 and bool arrays of shape (n_directed,)
        Labels of the directed edges, and whether they may be used.
    is_leaving : bool
        True from the stop to the position, False from the position to the stop.

    Returns
    -------
    int
        `NEVER` if the edge is closed in that direction.
    """
    a, b = (there, here) if is_leaving else (here, there)
    best = NEVER
    for side in range(2):
        d = 2 * edge + side
        start, end = (a, b) if side == 0 else (1.0 - a, 1.0 - b)
        if is_open[d] and end >= start:
            time = traversal[d] >> TIME_SHIFT
            best = min(best, np.int64(time * end + 0.5) - np.int64(time * start + 0.5))
    return best


@kernel
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
    List the stops within walking distance of each point.

    Parameters
    ----------
    edges, fractions, connector_ms : int32, float64, int64 arrays of shape (n_points,)
        Position of each point on its edge (-1 if it was not snapped), and the walking time of the connector.
    read_indptr, read_states, read_ms : int64, int32, int64 arrays
        CSR of the ports of each point, connectors included.
    state_indptr, state_stops, state_ms : int64, int32, int32 arrays
        CSR of the stops within walking distance of each state.
    edge_indptr, edge_stops : int64, int32 arrays
        CSR of the stops on each edge.
    stop_fractions, stop_connector_ms : float64, int64 arrays of shape (n_stops,)
        Position of each stop on its edge, and the walking time of its connector.
    traversal : int64 array of shape (n_directed,)
        Labels of the directed edges from start to end.
    is_open : bool array of shape (n_directed,)
        Whether each directed edge may be used.
    is_leaving : bool
        True if one walks from the stops to the points, False if one walks from the points to the stops.
    budget_ms : int
        Longest walk.
    n_stops : int
    counts : int64 array of shape (n_points,)
        Overwritten with the number of stops of each point.
    stops, walk_ms : int32 arrays
        Output buffers, which are reallocated if they are too short.

    Returns
    -------
    stops, walk_ms : int32 arrays
        Stops and walking times, point by point.
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


@kernel
def spread(times_ms, first, last, limit_ms, indptr, states, walk_ms, keys):
    """
    Lower the keys of states to the earliest time at which a walk from a stop reaches them.

    Parameters
    ----------
    times_ms : int32 array of shape (n_stops,)
        Travel time at each stop, `NEVER` if it was not reached.
    first, last : int
        Stops `first` to ``last - 1`` are used.
    limit_ms : int
        Longest travel time of interest.
    indptr, states, walk_ms : int64, int32, int32 arrays
        CSR of the states within walking distance of each stop, nearest first.
    keys : int64 array of shape (n_states,)
        Lowered in place. A key holds the travel time in the upper 32 bits and the duration of the walk in the lower 32
        bits, so that among equal times the shortest walk wins; `NEVER_KEY` where no walk leads.
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
