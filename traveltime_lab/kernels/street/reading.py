"""
Read the labels of a search: along directed edges, as routes, and as the set of states that are reached.
"""

from __future__ import annotations

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.road import UNREACHED


@kernel
def reach(indptr, indices, start):
    """
    Return which states can be reached from a set of states.

    Parameters
    ----------
    indptr, indices : int32 arrays
        CSR of states.
    start : bool array of shape (n_states,)

    Returns
    -------
    bool array of shape (n_states,)
        True also for the states in `start`.
    """
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


@kernel
def field_of_edges(label, ports):
    """
    Return for each directed edge the smallest ``label[state] + key`` over its ports.

    With the labels of a forward search and entry ports this is the label at the start of the edge; with the labels of
    a backward search and exit ports it is the label from the end of the edge to the destination.

    Parameters
    ----------
    label : int64 array of shape (n_states,)
        From `one_to_all`.
    ports : Ports
        Ports of each directed edge.

    Returns
    -------
    int64 array of shape (n_directed,)
        `UNREACHED` where no port was reached.
    """
    port_indptr, port_states, port_keys = ports
    n = port_indptr.size - 1
    field = np.full(n, UNREACHED, np.int64)
    for edge in range(n):
        for k in range(port_indptr[edge], port_indptr[edge + 1]):
            reached = label[port_states[k]]
            if reached != UNREACHED:
                field[edge] = min(field[edge], reached + port_keys[k])
    return field


@kernel
def trace(state, label, parent, arcs):
    """
    Return the seed that `state` was reached from and the arcs from there to `state`.

    Parameters
    ----------
    state : int
        A state that was reached.
    label, parent : int64 and int32 arrays of shape (n_states,)
        From `one_to_all`.
    arcs : Arcs
        The arcs that were searched.

    Returns
    -------
    root : int
        State of the seed.
    used : int64 array
        Arcs in the order of the search.
    """
    indptr, indices, weights = arcs
    n = 0
    at = state
    while parent[at] >= 0:
        at = parent[at]
        n += 1
    used = np.empty(n, np.int64)
    at = state
    while parent[at] >= 0:
        before = parent[at]
        for arc in range(indptr[before], indptr[before + 1]):
            if indices[arc] == at and label[before] + weights[arc] == label[at]:
                n -= 1
                used[n] = arc
                break
        at = before
    return at, used
