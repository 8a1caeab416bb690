"""
Read the labels of a search: along directed edges, as routes, and as the set of states that are reached.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.reduction import fill
from traveltime_lab.kernels.street.road import LENGTH_MASK, TIME_SHIFT, _grow, search
from traveltime_lab.kernels.unreached import UNREACHED

#: A search that reaches more than this fraction (1 / n) of the states reads all of the network, which is faster then
#: (measured in Milan).
_MUCH = 8


class Removed(NamedTuple):
    """CSR by state of the states that were removed from the graph and are reached from it only."""

    indptr: np.ndarray  # int32 (n_states + 1,)
    states: np.ndarray  # int32
    above: np.ndarray  # int32 (n_states,), kept state that leads to each removed state, -1 for kept states
    above_key: np.ndarray  # int64 (n_states,), label from there


class PortsOfStates(NamedTuple):
    """CSR by state of the directed edges that have a port there: the transpose of `Ports`."""

    indptr: np.ndarray  # int32 (n_states + 1,)
    directed: np.ndarray  # int32, directed edge
    port: np.ndarray  # int32, its port, as numbered in `Ports`


@kernel
def ports_of_states(indptr, states, n_states):
    """
    Return the ports at each state.

    Parameters
    ----------
    indptr, states : int64 and int32 arrays
        CSR of the states of the ports of each directed edge.
    n_states : int

    Returns
    -------
    PortsOfStates
        Ports of one state are in ascending order.
    """
    begins = np.zeros(n_states + 1, np.int32)
    for state in states:
        begins[state + 1] += 1
    for state in range(n_states):
        begins[state + 1] += begins[state]
    free = begins[:n_states].copy()
    directed, ports = np.empty(states.size, np.int32), np.empty(states.size, np.int32)
    for d in range(indptr.size - 1):
        for port in range(indptr[d], indptr[d + 1]):
            place = free[states[port]]
            directed[place], ports[place] = d, port
            free[states[port]] += 1
    return PortsOfStates(begins, directed, ports)


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
        From `search`.
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


@kernel
def _lower_row(label, directed, traversal, unit, side, rows):
    """Lower the value of a directed edge that is entered with a label; see `reached_rows`."""
    edge = directed >> 1
    # Labels of one time that differ in their length have the same value.
    value = np.float32((label >> 32) / unit)
    column = 0 if directed & 1 == side else 2
    if value < rows[edge, column]:
        rows[edge, column] = value
        rows[edge, column + 1] = (traversal[directed] >> 32) / unit


@kernel
def _reached_states(arcs, seeds, limit, label, queue, removed):
    """
    Search, and return the states that are reached, removed ones included, unless these are much of the network.

    Parameters
    ----------
    arcs, seeds, limit, label, queue, removed
        As in `reached_rows`.

    Returns
    -------
    queue : Queue
    states : int32 array
        States that have a label; without the removed ones where much is reached.
    is_much : bool
    """
    seed_states, seed_keys = seeds
    queue, touched = search(arcs, seed_states, seed_keys, limit, label, np.empty(0, np.int32), queue)
    if touched.size > label.size // _MUCH:
        return queue, touched, True
    states, n = np.empty(2 * touched.size + 64, np.int32), touched.size
    for i in range(touched.size):
        states[i] = touched[i]
    for i in range(touched.size):
        above = touched[i]
        for k in range(removed.indptr[above], removed.indptr[above + 1]):
            state = removed.states[k]
            through = label[above] + removed.above_key[state]
            if through <= limit and through < label[state]:
                if label[state] == UNREACHED:
                    if n == states.size:
                        states = _grow(states)
                    states[n] = state
                    n += 1
                label[state] = through
    return queue, states[:n].copy(), False


@kernel
def reached_rows(arcs, seeds, limit, label, queue, removed, of_states, ports, traversal, unit, side, rows):
    """
    Search, and write the values of the edges that are reached, unless much of the network is.

    The time depends on the streets that are reached, not on the size of the network. Where much is reached, `all_rows`
    is quicker, because it reads in the order of memory, and several threads can call it.

    Parameters
    ----------
    arcs : Arcs
        Arcs between the states that were not removed.
    seeds : tuple of int32 and int64 arrays of shape (n_seeds,)
        States and keys as in `traveltime_lab.kernels.street.road.one_to_all`.
    limit : int64
        Largest label to settle.
    label : int64 array of shape (n_states,)
        `UNREACHED`, also afterwards; where much is reached, the labels of all states afterwards.
    queue : Queue
        Empty, also afterwards.
    removed : Removed
    of_states : PortsOfStates
    ports : Ports
        Entry ports of directed edges, or exit ports for a backward search.
    traversal : int64 array of shape (n_directed,)
        Labels of the directed edges from start to end.
    unit : float
        Units of the upper part of a label per second or metre.
    side : int
        Side of an edge, 0 or 1, whose labels give the first two columns: 1 for a backward search.
    rows : float32 array of shape (n_edges, 4)
        ``inf, 0, inf, 0``. The value at position `f` (0 to 1) on a reached edge becomes the smaller of
        ``row[0] + f * row[1]`` and ``row[2] + (1 - f) * row[3]``.

    Returns
    -------
    queue : Queue
        The queue, whose pool may have been reallocated.
    edges : int32 array
        Edges that are reached; none where much is reached.
    is_much : bool
        Whether much of the network is reached.
    """
    queue, states, is_much = _reached_states(arcs, seeds, limit, label, queue, removed)
    if is_much:
        fill(label, removed.above, removed.above_key, limit)
        return queue, np.empty(0, np.int32), True
    edges, n_edges = np.empty(states.size + 64, np.int32), 0
    for i in range(states.size):
        state = states[i]
        for k in range(of_states.indptr[state], of_states.indptr[state + 1]):
            directed = of_states.directed[k]
            edge = directed >> 1
            if np.isinf(rows[edge, 0]) and np.isinf(rows[edge, 2]):
                if n_edges == edges.size:
                    edges = _grow(edges)
                edges[n_edges] = edge
                n_edges += 1
            _lower_row(label[state] + ports.keys[of_states.port[k]], directed, traversal, unit, side, rows)
        label[state] = UNREACHED
    return queue, edges[:n_edges].copy(), False


@kernel
def all_rows(label, first, last, ports, traversal, unit, side, rows):
    """
    Write the values of consecutive edges, given the labels of all states.

    Parameters
    ----------
    label : int64 array of shape (n_states,)
    first, last : int
        The first edge, and the one after the last.
    ports, traversal, unit, side, rows
        As in `reached_rows`.

    Returns
    -------
    int32 array
        The edges that are reached.
    """
    edges, n_edges = np.empty(last - first, np.int32), 0
    for edge in range(first, last):
        edges[n_edges] = edge
        is_reached = False
        for directed in range(2 * edge, 2 * edge + 2):
            least = UNREACHED
            for k in range(ports.indptr[directed], ports.indptr[directed + 1]):
                least = min(least, label[ports.states[k]] + ports.keys[k])
            # Keys are not negative, so a sum is at least `UNREACHED` where no port is reached.
            if least < UNREACHED:
                column = 0 if directed & 1 == side else 2
                rows[edge, column] = (least >> 32) / unit
                rows[edge, column + 1] = (traversal[directed] >> 32) / unit
                is_reached = True
        n_edges += is_reached
    return edges[:n_edges].copy()


@kernel
def reached_lengths(
    arcs, seeds, limit, most_cm, extra_ms, label, queue, removed, of_states, ports, traversal, side, rows
):
    """
    Search, and write the times and lengths of the edges that are reached, unless much of the network is.

    Parameters
    ----------
    arcs, seeds, limit, label, queue, removed, of_states, ports, traversal, side
        As in `reached_rows`; labels are times and lengths. All labels are `UNREACHED` afterwards.
    most_cm : int
        Lengths up to which routes are of interest, cm.
    extra_ms : int
        Longest time of a turn and of boarding, ms.
    rows : float32 array of shape (n_edges, 8)
        ``inf, 0`` four times. The first four numbers become those of `reached_rows`, the other four the lengths in
        metres of the same routes.

    Returns
    -------
    queue : Queue
        The queue, whose pool may have been reallocated.
    edges : int32 array
        Edges that are reached; none where much is reached.
    needed_ms : int
        Time up to which a search has to go. If it is within `limit`, the search has found all places whose fastest
        routes are up to `most_cm` long.
    is_much : bool
        Whether much of the network is reached.

    Notes
    -----
    A route is at least as long as the routes to the states on it. So each route of interest that a search has not found
    continues one that it has found, along a street that this one enters. `needed_ms` is the latest time at which a
    continuation can be at the end of such a street, a turn included, or at the length `most_cm`.
    """
    queue, states, is_much = _reached_states(arcs, seeds, limit, label, queue, removed)
    edges, n_edges, needed_ms = np.empty(0 if is_much else states.size + 64, np.int32), 0, np.int64(0)
    (port_indptr, port_states, port_keys), (begins, directed_at, _) = ports, of_states
    for i in range(0 if is_much else states.size):
        for k in range(begins[states[i]], begins[states[i] + 1]):
            directed = directed_at[k]
            edge = directed >> 1
            if np.isinf(rows[edge, 0]) and np.isinf(rows[edge, 2]):
                if n_edges == edges.size:
                    edges = _grow(edges)
                edges[n_edges] = edge
                n_edges += 1
            least, along = UNREACHED, traversal[directed]
            for port in range(port_indptr[directed], port_indptr[directed + 1]):
                least = min(least, label[port_states[port]] + port_keys[port])
            c = 0 if directed & 1 == side else 2
            rows[edge, c], rows[edge, c + 4] = (least >> TIME_SHIFT) / 1000.0, (least & LENGTH_MASK) / 100.0
            rows[edge, c + 1], rows[edge, c + 5] = (along >> TIME_SHIFT) / 1000.0, (along & LENGTH_MASK) / 100.0
            time, left_cm = least >> TIME_SHIFT, most_cm - (least & LENGTH_MASK)
            if (along & LENGTH_MASK) <= left_cm:
                needed_ms = max(needed_ms, time + (along >> TIME_SHIFT) + extra_ms)
            elif left_cm >= 0:
                share = left_cm / (along & LENGTH_MASK)
                needed_ms = max(needed_ms, time + np.int64((along >> TIME_SHIFT) * share) + 1)
    for i in range(states.size):
        label[states[i]] = UNREACHED
    return queue, edges[:n_edges].copy(), needed_ms, is_much


@kernel
def all_lengths(label, first, last, ports, traversal, side, rows):
    """
    Write the times and lengths of consecutive edges, given the labels of all states.

    Parameters
    ----------
    label : int64 array of shape (n_states,)
    first, last : int
        The first edge, and the one after the last.
    ports, traversal, side, rows
        As in `reached_lengths`.

    Returns
    -------
    int32 array
        The edges that are reached.
    """
    edges, n_edges = np.empty(last - first, np.int32), 0
    port_indptr, port_states, port_keys = ports
    for edge in range(first, last):
        edges[n_edges] = edge
        is_reached = False
        for directed in range(2 * edge, 2 * edge + 2):
            least, along = UNREACHED, traversal[directed]
            for port in range(port_indptr[directed], port_indptr[directed + 1]):
                least = min(least, label[port_states[port]] + port_keys[port])
            # Keys are not negative, so a sum is at least `UNREACHED` where no port is reached.
            if least < UNREACHED:
                c = 0 if directed & 1 == side else 2
                rows[edge, c], rows[edge, c + 4] = (least >> TIME_SHIFT) / 1000.0, (least & LENGTH_MASK) / 100.0
                rows[edge, c + 1], rows[edge, c + 5] = (along >> TIME_SHIFT) / 1000.0, (along & LENGTH_MASK) / 100.0
                is_reached = True
        n_edges += is_reached
    return edges[:n_edges].copy()
