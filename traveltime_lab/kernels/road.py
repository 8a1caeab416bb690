"""
Shortest paths on street graphs given as CSR arrays.

A label is one int64: travel time in milliseconds in the upper 32 bits and length in centimetres in the lower 32, so
the smallest label is the fastest route and, among equally fast ones, the shortest; adding labels adds both parts.
Integers make the answer independent of the order of additions: every engine, and a search run backwards, returns the
same number.

The queue is a ring of buckets, each a few seconds wide. States inside one bucket are scanned in any order and, if one
improves, again (label correcting inside a bucket, label setting between buckets), which beats a heap because nothing
is ever sorted.

References
----------
R. Dial, "Algorithm 360: Shortest-path forest with topological ordering", CACM 12 (1969).
U. Meyer, P. Sanders, "Delta-stepping: a parallelizable shortest path algorithm", J. Algorithms 49 (2003).
"""

from __future__ import annotations

import numba
import numpy as np

#: Label of a state that was not reached; never leaves the package.
UNREACHED = np.int64(1) << np.int64(62)
#: Position of the travel time inside a label.
TIME_SHIFT = 32
#: Mask of the length inside a label.
LENGTH_MASK = np.int64((1 << 32) - 1)


@numba.njit(cache=True, nogil=True, inline="always")
def _push(state, bucket, heads, pool_state, pool_next, free):
    """Put `state` in front of a bucket's list, taking place `free` of the pool."""
    pool_state[free] = state
    pool_next[free] = heads[bucket]
    heads[bucket] = free


@numba.njit(cache=True, nogil=True)
def _grow(array):
    """Return a copy of `array` twice as long."""
    longer = np.empty(array.size * 2, array.dtype)
    longer[: array.size] = array
    return longer


@numba.njit(cache=True, nogil=True)
def _search(
    indptr, indices, weights, seed_states, seed_keys, limit, shift, label, queued, parent, with_parents, heads, pool_state, pool_next
):
    """
    Settle every state whose label is at most `limit`; see `one_to_all` for the arrays.

    `label` must hold `UNREACHED`, `queued` -1 and `heads` -1; they are left so except for `label`. Returns the pool,
    which may have grown, and the states that got a label.
    """
    n_buckets = heads.size
    free = 0
    waiting = 0
    touched = np.empty(1024, np.int32)
    n_touched = 0
    current = np.int64(-1)
    for i in range(seed_states.size):
        state = seed_states[i]
        key = seed_keys[i]
        if key > limit or key >= label[state]:
            continue
        if label[state] == UNREACHED:
            if n_touched == touched.size:
                touched = _grow(touched)
            touched[n_touched] = state
            n_touched += 1
        label[state] = key
        if with_parents:
            parent[state] = -1
    # Seeds enter the ring in order of time, so that the ring need only be as wide as the longest arc.
    seeds = touched[:n_touched].copy()
    order = np.argsort(label[seeds])
    next_seed = 0
    ring_end = np.int64(n_buckets)
    while True:
        if waiting == 0:
            if next_seed == seeds.size:
                break
            current = label[seeds[order[next_seed]]] >> shift
        else:
            current += 1
        # A seed joins when the ring has come to its bucket; a better label found meanwhile has replaced it already.
        while next_seed < seeds.size:
            state = seeds[order[next_seed]]
            bucket = label[state] >> shift
            if bucket > current:
                break
            next_seed += 1
            if bucket == current and queued[state] == -1:
                if free == pool_state.size:
                    pool_state = _grow(pool_state)
                    pool_next = _grow(pool_next)
                _push(state, current % ring_end, heads, pool_state, pool_next, free)
                free += 1
                queued[state] = np.int32(current)
                waiting += 1
        slot = current % ring_end
        while heads[slot] != -1:
            place = heads[slot]
            heads[slot] = pool_next[place]
            waiting -= 1
            state = pool_state[place]
            if queued[state] != current:
                continue
            queued[state] = -1
            key = label[state]
            for arc in range(indptr[state], indptr[state + 1]):
                new = key + weights[arc]
                head = indices[arc]
                if new < label[head] and new <= limit:
                    if label[head] == UNREACHED:
                        if n_touched == touched.size:
                            touched = _grow(touched)
                        touched[n_touched] = head
                        n_touched += 1
                    label[head] = new
                    if with_parents:
                        parent[head] = state
                    bucket = new >> shift
                    if queued[head] != bucket:
                        if free == pool_state.size:
                            pool_state = _grow(pool_state)
                            pool_next = _grow(pool_next)
                        _push(head, bucket % ring_end, heads, pool_state, pool_next, free)
                        free += 1
                        queued[head] = np.int32(bucket)
                        waiting += 1
        if waiting == 0:
            free = 0
    return pool_state, pool_next, touched[:n_touched]


@numba.njit(cache=True, nogil=True)
def one_to_all(indptr, indices, weights, seed_states, seed_keys, limit, shift, n_buckets, with_parents):
    """
    Return the label of every state within `limit` of the seeds.

    Parameters
    ----------
    indptr : int32 array of shape (n_states + 1,)
    indices : int32 array of shape (n_arcs,)
    weights : int64 array of shape (n_arcs,), labels, non-negative
    seed_states, seed_keys : int32 and int64 arrays
        Where the search begins and with which labels.
    limit : int64
        Largest label to settle.
    shift : int
        Bits of a label below a bucket's number.
    n_buckets : int
        More than the largest weight shifted by `shift`, plus two.
    with_parents : bool
        Whether to record the tree.

    Returns
    -------
    label : int64 array of shape (n_states,)
        `UNREACHED` beyond the limit.
    parent : int32 array of shape (n_states,) or (0,)
        State before on the best route; -1 at seeds, -2 where not reached.
    """
    n_states = indptr.size - 1
    label = np.full(n_states, UNREACHED, np.int64)
    queued = np.full(n_states, -1, np.int32)
    parent = np.full(n_states if with_parents else 0, -2, np.int32)
    heads = np.full(n_buckets, -1, np.int32)
    pool_state = np.empty(n_states + 1024, np.int32)
    pool_next = np.empty(n_states + 1024, np.int32)
    _search(
        indptr, indices, weights, seed_states, seed_keys, limit, shift, label, queued, parent, with_parents, heads, pool_state, pool_next
    )
    return label, parent


@numba.njit(cache=True, nogil=True)
def many_to_many(
    indptr,
    indices,
    weights,
    seed_indptr,
    seed_states,
    seed_keys,
    read_indptr,
    read_states,
    read_keys,
    limit,
    shift,
    n_buckets,
    result,
):
    """
    Fill ``result[i, j]`` with the smallest label from seeds `i` to readings `j`.

    Parameters
    ----------
    indptr, indices, weights, limit, shift, n_buckets
        As in `one_to_all`; `limit` is an int64 array with one limit per row.
    seed_indptr, seed_states, seed_keys : int64, int32, int64 arrays
        CSR of the seeds of each row.
    read_indptr, read_states, read_keys : int64, int32, int64 arrays
        CSR of each column's readings: the label of the column is the smallest of ``label[state] + key``.
    result : int64 array of shape (n_rows, n_columns)
        Overwritten; `UNREACHED` beyond the row's limit.
    """
    n_states = indptr.size - 1
    label = np.full(n_states, UNREACHED, np.int64)
    queued = np.full(n_states, -1, np.int32)
    parent = np.empty(0, np.int32)
    heads = np.full(n_buckets, -1, np.int32)
    pool_state = np.empty(n_states + 1024, np.int32)
    pool_next = np.empty(n_states + 1024, np.int32)
    n_columns = read_indptr.size - 1
    for row in range(seed_indptr.size - 1):
        first, last = seed_indptr[row], seed_indptr[row + 1]
        pool_state, pool_next, touched = _search(
            indptr,
            indices,
            weights,
            seed_states[first:last],
            seed_keys[first:last],
            limit[row],
            shift,
            label,
            queued,
            parent,
            False,
            heads,
            pool_state,
            pool_next,
        )
        for column in range(n_columns):
            best = UNREACHED
            for k in range(read_indptr[column], read_indptr[column + 1]):
                reached = label[read_states[k]]
                if reached != UNREACHED:
                    best = min(best, reached + read_keys[k])
            result[row, column] = best if best <= limit[row] else UNREACHED
        for i in range(touched.size):
            label[touched[i]] = UNREACHED


@numba.njit(cache=True, nogil=True)
def one_to_some(
    indptr,
    indices,
    weights,
    seed_indptr,
    seed_states,
    seed_keys,
    read_indptr,
    read_states,
    read_keys,
    row_indptr,
    limit,
    shift,
    n_buckets,
    result,
):
    """
    Fill ``result[j]`` with the smallest label from the seeds of the row that reading `j` belongs to.

    As `many_to_many`, but row `i` is read only at the readings ``row_indptr[i]`` to ``row_indptr[i + 1]``; `limit`
    is one label for all.
    """
    n_states = indptr.size - 1
    label = np.full(n_states, UNREACHED, np.int64)
    queued = np.full(n_states, -1, np.int32)
    parent = np.empty(0, np.int32)
    heads = np.full(n_buckets, -1, np.int32)
    pool_state = np.empty(n_states + 1024, np.int32)
    pool_next = np.empty(n_states + 1024, np.int32)
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
        for j in range(row_indptr[row], row_indptr[row + 1]):
            best = UNREACHED
            for k in range(read_indptr[j], read_indptr[j + 1]):
                reached = label[read_states[k]]
                if reached != UNREACHED:
                    best = min(best, reached + read_keys[k])
            result[j] = best if best <= limit else UNREACHED
        for i in range(touched.size):
            label[touched[i]] = UNREACHED


@numba.njit(cache=True, nogil=True)
def reach(indptr, indices, start):
    """Return which states can be reached from the states marked in the bool array `start`."""
    reached = start.copy()
    stack = np.empty(reached.size, np.int32)
    top = 0
    for state in range(reached.size):
        if reached[state]:
            stack[top] = state
            top += 1
    while top:
        top -= 1
        state = stack[top]
        for arc in range(indptr[state], indptr[state + 1]):
            head = indices[arc]
            if not reached[head]:
                reached[head] = True
                stack[top] = head
                top += 1
    return reached


@numba.njit(cache=True, nogil=True)
def field_of_edges(label, port_indptr, port_states, port_keys):
    """
    Return for each directed edge the smallest ``label[state] + key`` over its ports.

    With entry ports of a forward search this is the label at the start of the edge, with exit ports of a backward
    search the label from its end.
    """
    n = port_indptr.size - 1
    field = np.full(n, UNREACHED, np.int64)
    for edge in range(n):
        for k in range(port_indptr[edge], port_indptr[edge + 1]):
            reached = label[port_states[k]]
            if reached != UNREACHED:
                field[edge] = min(field[edge], reached + port_keys[k])
    return field


@numba.njit(cache=True, nogil=True)
def trace(state, label, parent, indptr, indices, weights, arc_edge):
    """
    Return the root of the tree that `state` hangs on and the edges from there to `state`.

    Parameters
    ----------
    state : int
    label, parent : int64 and int32 arrays of shape (n_states,)
        From `one_to_all`.
    indptr, indices, weights : arrays
        The CSR that was searched.
    arc_edge : int32 array of shape (n_arcs,)
        Directed edge that each arc travels.

    Returns
    -------
    root : int
    edges : int32 array
        Directed edges in travel order.
    """
    n = 0
    at = state
    while parent[at] >= 0:
        at = parent[at]
        n += 1
    edges = np.empty(n, np.int32)
    at = state
    while parent[at] >= 0:
        before = parent[at]
        for arc in range(indptr[before], indptr[before + 1]):
            if indices[arc] == at and label[before] + weights[arc] == label[at]:
                n -= 1
                edges[n] = arc_edge[arc]
                break
        at = before
    return at, edges
