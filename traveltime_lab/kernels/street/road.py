"""
Shortest paths on street graphs given as CSR arrays.

A label is one int64: travel time in milliseconds in the upper 32 bits and length in centimetres in the lower 32, so
the smallest label is the fastest route and, among equally fast ones, the shortest; adding labels adds both parts.
Int64Array make the answer independent of the order of additions: every engine, and a search run backwards, returns the
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
    indptr,
    indices,
    weights,
    seed_states,
    seed_keys,
    limit,
    shift,
    label,
    queued,
    parent,
    with_parents,
    heads,
    pool_state,
    pool_next,
):
    """
    Settle every state whose label is at most `limit`; see `one_to_all` for the arrays.

    `label` must hold `UNREACHED`, `queued` -1 and `heads` -1; they are left so except for `label`. Returns the pool,
    which may have grown, and the states that got a label.
    """
    # The number of buckets is a power of two: a mask costs less than a division.
    ring = np.int64(heads.size - 1)
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
                _push(state, current & ring, heads, pool_state, pool_next, free)
                free += 1
                queued[state] = np.int32(current)
                waiting += 1
        slot = current & ring
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
                        _push(head, bucket & ring, heads, pool_state, pool_next, free)
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
        A power of two larger than the largest weight shifted by `shift`, plus two.
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
        indptr,
        indices,
        weights,
        seed_states,
        seed_keys,
        limit,
        shift,
        label,
        queued,
        parent,
        with_parents,
        heads,
        pool_state,
        pool_next,
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
def trace(state, label, parent, indptr, indices, weights):
    """
    Return the root of the tree that `state` hangs on and the arcs from there to `state`.

    Parameters
    ----------
    state : int
    label, parent : int64 and int32 arrays of shape (n_states,)
        From `one_to_all`.
    indptr, indices, weights : arrays
        The CSR that was searched.

    Returns
    -------
    root : int
    arcs : int64 array
        In travel order.
    """
    n = 0
    at = state
    while parent[at] >= 0:
        at = parent[at]
        n += 1
    arcs = np.empty(n, np.int64)
    at = state
    while parent[at] >= 0:
        before = parent[at]
        for arc in range(indptr[before], indptr[before + 1]):
            if indices[arc] == at and label[before] + weights[arc] == label[at]:
                n -= 1
                arcs[n] = arc
                break
        at = before
    return at, arcs


@numba.njit(cache=True, nogil=True)
def single_entries(indptr_rev, indices_rev):
    """
    Return which states have exactly one way in, so that a search need not queue them.

    Of a ring of such states, which nothing leads into, one is left out.

    Parameters
    ----------
    indptr_rev, indices_rev : int32 arrays
        Transposed CSR.

    Returns
    -------
    bool array of shape (n_states,)
    """
    n = indptr_rev.size - 1
    single = np.empty(n, np.bool_)
    for state in range(n):
        single[state] = indptr_rev[state + 1] - indptr_rev[state] == 1
    seen = np.full(n, -1, np.int32)
    for state in range(n):
        at = state
        while single[at] and seen[at] == -1:
            seen[at] = state
            at = indices_rev[indptr_rev[at]]
        if single[at] and seen[at] == state:
            single[at] = False
    return single


@numba.njit(cache=True, nogil=True)
def contract(indptr, indices, weights, single):
    """
    Leave the states with one way in out of a CSR, joining the arcs through them.

    Parameters
    ----------
    indptr, indices, weights : arrays
        The CSR.
    single : bool array of shape (n_states,)
        From `single_entries`.

    Returns
    -------
    core_indptr, core_indices, core_weights : int32, int32, int64 arrays
        Arcs between the other states; rows of left-out states are empty.
    above : int32 array of shape (n_states,)
        The other state through which each left-out state is reached, -1 for states not left out.
    above_key : int64 array of shape (n_states,)
        Label from there to the state.
    """
    n = indptr.size - 1
    above = np.full(n, -1, np.int32)
    above_key = np.zeros(n, np.int64)
    core_indptr = np.zeros(n + 1, np.int32)
    core_indices = np.empty(indices.size, np.int32)
    core_weights = np.empty(indices.size, np.int64)
    stack = np.empty(n + 1, np.int32)
    size = 0
    for state in range(n):
        if not single[state]:
            stack[0] = state
            top = 1
            while top:
                top -= 1
                at = stack[top]
                key = np.int64(0) if at == state else above_key[at]
                for arc in range(indptr[at], indptr[at + 1]):
                    head = indices[arc]
                    if single[head]:
                        above[head] = state
                        above_key[head] = key + weights[arc]
                        stack[top] = head
                        top += 1
                    else:
                        core_indices[size] = head
                        core_weights[size] = key + weights[arc]
                        size += 1
        core_indptr[state + 1] = size
    return core_indptr, core_indices[:size].copy(), core_weights[:size].copy(), above, above_key


@numba.njit(cache=True, nogil=True)
def expand_seeds(indptr, indices, weights, single, seed_indptr, seed_states, seed_keys):
    """
    Carry seeds at left-out states on to the states behind them.

    Parameters
    ----------
    indptr, indices, weights : arrays
        The whole CSR.
    single : bool array of shape (n_states,)
    seed_indptr, seed_states, seed_keys : int64, int32, int64 arrays
        CSR of seeds by row.

    Returns
    -------
    seed_indptr, seed_states, seed_keys : int64, int32, int64 arrays
        The seeds and those that follow from them.
    """
    n_rows = seed_indptr.size - 1
    out_indptr = np.zeros(n_rows + 1, np.int64)
    out_states = np.empty(seed_states.size * 4 + 64, np.int32)
    out_keys = np.empty(out_states.size, np.int64)
    size = 0
    for row in range(n_rows):
        for k in range(seed_indptr[row], seed_indptr[row + 1]):
            # The output doubles as the queue: what is appended while it is read is expanded in its turn.
            at = size
            if size == out_states.size:
                out_states = _grow(out_states)
                out_keys = _grow(out_keys)
            out_states[size] = seed_states[k]
            out_keys[size] = seed_keys[k]
            size += 1
            while at < size:
                state, key = out_states[at], out_keys[at]
                at += 1
                if not single[state]:
                    continue
                for arc in range(indptr[state], indptr[state + 1]):
                    if size == out_states.size:
                        out_states = _grow(out_states)
                        out_keys = _grow(out_keys)
                    out_states[size] = indices[arc]
                    out_keys[size] = key + weights[arc]
                    size += 1
        out_indptr[row + 1] = size
    return out_indptr, out_states[:size].copy(), out_keys[:size].copy()


@numba.njit(cache=True, nogil=True)
def expand_reads(above, above_key, read_indptr, read_states, read_keys):
    """
    Let readings at left-out states also look at the state that those are reached through.

    Parameters
    ----------
    above, above_key : int32 and int64 arrays of shape (n_states,)
        From `contract`.
    read_indptr, read_states, read_keys : int64, int32, int64 arrays
        CSR of readings.

    Returns
    -------
    read_indptr, read_states, read_keys : int64, int32, int64 arrays
    """
    n = read_indptr.size - 1
    extra = 0
    for k in range(read_states.size):
        if above[read_states[k]] >= 0:
            extra += 1
    out_indptr = np.zeros(n + 1, np.int64)
    out_states = np.empty(read_states.size + extra, np.int32)
    out_keys = np.empty(out_states.size, np.int64)
    size = 0
    for row in range(n):
        for k in range(read_indptr[row], read_indptr[row + 1]):
            state = read_states[k]
            out_states[size] = state
            out_keys[size] = read_keys[k]
            size += 1
            if above[state] >= 0:
                out_states[size] = above[state]
                out_keys[size] = read_keys[k] + above_key[state]
                size += 1
        out_indptr[row + 1] = size
    return out_indptr, out_states, out_keys


@numba.njit(cache=True, nogil=True)
def fill(label, above, above_key, limit):
    """Label the left-out states of a finished search, in place; see `contract`."""
    for state in range(label.size):
        if above[state] >= 0 and label[above[state]] != UNREACHED:
            through = label[above[state]] + above_key[state]
            if through <= limit and through < label[state]:
                label[state] = through
