"""
Leave out the states of a graph that have a single predecessor, and label them after a search.

See "Left-out states" in `traveltime_lab.kernels.street.road`.
"""

from __future__ import annotations

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.records import Arcs, Ports
from traveltime_lab.kernels.street.road import _grow
from traveltime_lab.kernels.unreached import UNREACHED

#: Largest sum of the labels of a chain of arcs: several edges of the longest time in a row must not wrap around.
_MOST = UNREACHED - np.int64(1)


@kernel
def single_entries(indptr_rev, indices_rev):
    """
    Return which states have exactly one incoming arc, so that a search need not queue them.

    If such states form a ring, one of them is returned as False: otherwise none of them would keep a label of its own.

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


@kernel
def contract(arcs, single):
    """
    Remove the states with one incoming arc and replace the paths through them by single arcs.

    Parameters
    ----------
    arcs : SharedArcs
    single : bool array of shape (n_states,)
        From `single_entries`.

    Returns
    -------
    core : Arcs
        Arcs between the states that are kept. The numbers of states do not change; rows of removed states are empty.
    above : int32 array of shape (n_states,)
        For each removed state the last kept state on the only path to it; -1 for kept states.
    above_key : int64 array of shape (n_states,)
        Label of the path from there to the removed state.
    """
    indptr, indices, order, weights = arcs
    n = indptr.size - 1
    is_ordered = order.size == 0
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
                    through = min(key + weights[arc if is_ordered else order[arc]], _MOST)
                    if single[head]:
                        above[head] = state
                        above_key[head] = through
                        stack[top] = head
                        top += 1
                    else:
                        core_indices[size] = head
                        core_weights[size] = through
                        size += 1
        core_indptr[state + 1] = size
    return Arcs(core_indptr, core_indices[:size].copy(), core_weights[:size].copy()), above, above_key


@kernel
def expand_seeds(arcs, single, seeds):
    """
    Add seeds at the states that follow a removed state with a seed.

    Parameters
    ----------
    arcs : SharedArcs
        The arcs before `contract`.
    single : bool array of shape (n_states,)
        From `single_entries`.
    seeds : Ports
        Seeds of each row.

    Returns
    -------
    Ports
        The given seeds and the added ones.
    """
    indptr, indices, order, weights = arcs
    is_ordered = order.size == 0
    seed_indptr, seed_states, seed_keys = seeds
    n_rows = seed_indptr.size - 1
    out_indptr = np.zeros(n_rows + 1, np.int64)
    out_states = np.empty(seed_states.size * 4 + 64, np.int32)
    out_keys = np.empty(out_states.size, np.int64)
    size = 0
    for row in range(n_rows):
        for k in range(seed_indptr[row], seed_indptr[row + 1]):
            # The output is also the queue: seeds that are appended here are expanded in a later pass of the loop.
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
                    out_keys[size] = min(key + weights[arc if is_ordered else order[arc]], _MOST)
                    size += 1
        out_indptr[row + 1] = size
    return Ports(out_indptr, out_states[:size].copy(), out_keys[:size].copy())


@kernel
def expand_reads(above, above_key, reads):
    """
    Add to each reading at a removed state a reading at the kept state that leads to it.

    Parameters
    ----------
    above, above_key : int32 and int64 arrays of shape (n_states,)
        From `contract`.
    reads : Ports
        Readings of each column.

    Returns
    -------
    Ports
        The given readings and the added ones.
    """
    read_indptr, read_states, read_keys = reads
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
    return Ports(out_indptr, out_states, out_keys)


@kernel
def fill(label, above, above_key, limit):
    """
    Label the removed states after a search of the contracted graph, in place.

    Parameters
    ----------
    label : int64 array of shape (n_states,)
        Labels of the kept states, and of removed states with seeds of their own; lowered.
    above, above_key : int32 and int64 arrays of shape (n_states,)
        From `contract`.
    limit : int64
        Larger labels are not written.
    """
    for state in range(label.size):
        if above[state] >= 0 and label[above[state]] != UNREACHED:
            through = label[above[state]] + above_key[state]
            if through <= limit and through < label[state]:
                label[state] = through
