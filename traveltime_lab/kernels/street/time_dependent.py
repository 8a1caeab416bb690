"""
Find fastest routes at speeds that change on the way.

Streets are driven as `traveltime_lab.kernels.street.by_hour` says: later departures never arrive earlier, so that
Dijkstra's algorithm with arrival times as labels is right [1]_.

**Search.** States, arcs, ports and labels are those of `traveltime_lab.kernels.street.road`. States are settled in the
order of their labels, and each once: two different times can become one by rounding, so that a search which corrects
labels could keep the length of a route that it has given up. They wait in a ring of buckets, and those of the current
bucket, and of labels that are too large for the ring, in a heap. A state with one incoming arc has its last label as
soon as that arc is relaxed, and waits in neither.

**Backward searches.** A search that arrives by a moment runs on transposed arcs. Its labels have the milliseconds from
the departure at a state to the moment; the times of hours are counted from the moment, so that they are negative.

References
----------
.. [1] Kaufman, D. E., Smith, R. L. (1993). Fastest paths in time-dependent networks for intelligent vehicle-highway
   systems application. IVHS Journal 1 (1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.heap import pop, push
from traveltime_lab.kernels.street.by_hour import Bends, changes, drive
from traveltime_lab.kernels.street.road import _NEXT_SHIFT, _STATE_MASK, TIME_SHIFT, _grow
from traveltime_lab.kernels.unreached import UNREACHED


class Space(NamedTuple):
    """Arrays of a search, which leaves them as it finds them."""

    label: np.ndarray  # int64 (n_states,), `UNREACHED`
    keys: np.ndarray  # int64, a heap of labels; an entry for each arc, as each is relaxed once, and for each seed
    states: np.ndarray  # int32, and their states
    heads: np.ndarray  # int32 (n_buckets,), a ring as in `road.Queue`, -1; the number is a power of two
    pool: np.ndarray  # int64 (n_arcs,)
    touched: np.ndarray  # int32 (n_states,), states that have a label
    stack: np.ndarray  # int32 (n_states,), states with one incoming arc to be relaxed at once


@kernel
def _search(streets, positions, row, ports, limit, parent, space):
    """
    Settle every state whose label is at most `limit`.

    Parameters
    ----------
    streets : Streets
    positions : Positions
    row : int
        The point where the search begins.
    ports : Ports
        Exit ports of directed edges, or entry ports in a backward search.
    limit : int64
    parent : int32 array of shape (n_states,) or (0,)
        Overwritten with the previous states, unless it is empty; -1 for seeds.
    space : Space

    Returns
    -------
    space : Space
        With the labels, to be reset; its heap may have been reallocated.
    touched : int32 array
        States that have a label, until the next search.
    """
    # Local variables: each use of a field of a named tuple, or call with one, would be counted as a reference.
    indptr, indices, edge, extra_ms, single, length = streets[:6]
    begins, row_of, ms = streets.hours
    is_backward, hour = streets.is_backward, 0
    label, heap_keys, heap_states, heads, pool, touched, stack = space
    shift, ring = streets.shift, np.int64(heads.size - 1)
    current, waiting, free = np.int64(-1), 0, 0
    with_parents = parent.size > 0
    n_touched, n, top = 0, 0, 0
    for p in range(positions.indptr[row], positions.indptr[row + 1]):
        for side in range(2):
            d = 2 * np.int64(positions.edge[p]) + side
            first, last = ports.indptr[d], ports.indptr[d + 1]
            if first == last:
                continue
            share = positions.fraction[p] if side == 0 else 1.0 - positions.fraction[p]
            low, high = (0.0, share) if streets.is_backward else (share, 1.0)
            key = drive(streets, d, low, high, positions.connector[p])
            for k in range(first, last):
                state, new = ports.states[k], key + ports.keys[k]
                if new > limit or new >= label[state]:
                    continue
                if label[state] == UNREACHED:
                    touched[n_touched] = state
                    n_touched += 1
                label[state] = new
                if with_parents:
                    parent[state] = -1
                # Only seeds may need more room: arrays that grow in the loop below would double its time.
                if n + indices.size >= heap_keys.size:
                    heap_keys, heap_states = _grow(heap_keys), _grow(heap_states)
                push(heap_keys, heap_states, n, new, state)
                n += 1
    while n > 0 or top > 0 or waiting > 0:
        if top > 0:
            top -= 1
            state = stack[top]
            key = label[state]
        elif n > 0 and (waiting == 0 or heap_keys[0] >> shift <= current):
            key, state = heap_keys[0], heap_states[0]
            pop(heap_keys, heap_states, n)
            n -= 1
            if key != label[state]:
                continue
            if waiting == 0:
                current, free = key >> shift, 0
        else:
            current += 1
            at = np.int64(heads[current & ring])
            heads[current & ring] = -1
            while at != -1:
                waiting -= 1
                state, at = pool[at] & _STATE_MASK, pool[at] >> _NEXT_SHIFT
                # States with a better label by now are in a former bucket.
                if label[state] >> shift == current:
                    push(heap_keys, heap_states, n, label[state], state)
                    n += 1
            continue
        for arc in range(indptr[state], indptr[state + 1]):
            head, d = indices[arc], np.int64(edge[arc])
            extra = np.int64(extra_ms[arc]) << TIME_SHIFT
            if key + extra >= label[head]:
                continue
            # The beginning of the way in the direction of the search.
            begin = key + extra if is_backward else key
            time = begin >> TIME_SHIFT
            at = -time if is_backward else time
            while begins[hour + 1] <= at:
                hour += 1
            while at < begins[hour]:
                hour -= 1
            whole = np.int64(ms[row_of[hour], d])
            is_within = at - whole >= begins[hour] if is_backward else at + whole <= begins[hour + 1]
            new = begin + (whole << TIME_SHIFT) + length[d] if is_within else drive(streets, d, 0.0, 1.0, begin)
            if not is_backward:
                new += extra
            if new >= label[head] or new > limit:
                continue
            if label[head] == UNREACHED:
                touched[n_touched] = head
                n_touched += 1
            label[head] = new
            if with_parents:
                parent[head] = state
            if single[head]:
                stack[top] = head
                top += 1
            elif current < new >> shift < current + ring:
                bucket = (new >> shift) & ring
                pool[free] = (np.int64(heads[bucket]) << _NEXT_SHIFT) | np.int64(head)
                heads[bucket] = free
                free += 1
                waiting += 1
            else:
                push(heap_keys, heap_states, n, new, head)
                n += 1
    return Space(label, heap_keys, heap_states, heads, pool, touched, stack), touched[:n_touched]


@kernel
def tree(streets, positions, ports, limit, parent, space):
    """
    Label every state within a limit of a point, and write the state before each.

    Parameters
    ----------
    streets : Streets
    positions : Positions
        Those of one point.
    ports : Ports
        Exit ports of directed edges, or entry ports in a backward search.
    limit : int64
    parent : int32 array of shape (n_states,)
        Overwritten, where states are reached, with the state towards the point; -1 at seeds.
    space : Space

    Returns
    -------
    space : Space
        With the labels, to be reset; its heap may have been reallocated.
    touched : int32 array
        States that have a label, until the next search.
    """
    return _search(streets, positions, 0, ports, limit, parent, space)


@kernel
def _read(streets, positions, point, ports, label):
    """Return the label of a point after a search, without ways along a single edge; see `labels_between`."""
    best = UNREACHED
    for p in range(positions.indptr[point], positions.indptr[point + 1]):
        for side in range(2):
            d = 2 * np.int64(positions.edge[p]) + side
            for k in range(ports.indptr[d], ports.indptr[d + 1]):
                reached = label[ports.states[k]]
                if reached != UNREACHED:
                    share = positions.fraction[p] if side == 0 else 1.0 - positions.fraction[p]
                    low, high = (share, 1.0) if streets.is_backward else (0.0, share)
                    best = min(best, drive(streets, d, low, high, reached + ports.keys[k]) + positions.connector[p])
    return best


@kernel
def _along(streets, near, a, far, b):
    """Return the label of driving between two positions on one edge, `UNREACHED` if that is impossible."""
    best = UNREACHED
    for side in range(2):
        d = 2 * np.int64(near.edge[a]) + side
        here = near.fraction[a] if side == 0 else 1.0 - near.fraction[a]
        there = far.fraction[b] if side == 0 else 1.0 - far.fraction[b]
        low, high = (there, here) if streets.is_backward else (here, there)
        if streets.is_open[d] and low <= high:
            best = min(best, drive(streets, d, low, high, near.connector[a]) + far.connector[b])
    return best


@kernel
def labels_between(streets, near, near_ports, far, far_ports, first, last, place, limit, space, result):
    """
    Write the labels between points where searches begin and points that they reach.

    Parameters
    ----------
    streets : Streets
    near, far : Positions
        Origins and destinations, or the other way round in a backward search.
    near_ports, far_ports : Ports
        Exit and entry ports of directed edges, or the other way round in a backward search.
    first, last : int64 arrays of shape (n_near,)
        The points that are read after each search: from ``first[i]`` to ``last[i] - 1``.
    place : int64 array of shape (n_near,)
        Point `j` is written to ``result[place[i] + j]``.
    limit : int64
        Larger labels are `UNREACHED`.
    space : Space
    result : int64 array

    Returns
    -------
    Space
        The same, whose heap may have been reallocated.
    """
    parent = np.empty(0, np.int32)
    for row in range(first.size):
        space, touched = _search(streets, near, row, near_ports, limit, parent, space)
        for j in range(first[row], last[row]):
            best = _read(streets, far, j, far_ports, space.label)
            for a in range(near.indptr[row], near.indptr[row + 1]):
                for b in range(far.indptr[j], far.indptr[j + 1]):
                    if near.edge[a] == far.edge[b]:
                        best = min(best, _along(streets, near, a, far, b))
            result[place[row] + j] = best if best <= limit else UNREACHED
        for i in range(touched.size):
            space.label[touched[i]] = UNREACHED
    return space


@kernel
def field_of_edges(streets, positions, near_ports, far_ports, limit, space, rows):
    """
    Write the values along all edges that a search from one point reaches.

    Parameters
    ----------
    streets : Streets
    positions : Positions
        Those of one point.
    near_ports, far_ports : Ports
        As in `labels_between`.
    limit : int64
    space : Space
    rows : float32 array of shape (n_edges, 4)
        ``inf, 0, inf, 0``. As in `traveltime_lab.kernels.street.reading.reached_rows`, but for the sides in the result.

    Returns
    -------
    space : Space
    edges : int32 array
        Edges that are entered within the limit.
    bends : Bends
        The sides whose values are no linear function of the position, because the speed changes on the way, in the
        order of edges; without those of the edges of the point itself.
    """
    space, touched = _search(streets, positions, 0, near_ports, limit, np.empty(0, np.int32), space)
    # Local variables and arrays that do not grow, as in `_search`.
    label, is_backward, hour = space.label, streets.is_backward, 0
    begins, row_of, ms = streets.hours
    port_indptr, port_states, port_keys = far_ports
    n_directed = port_indptr.size - 1
    edges, n_edges = np.empty(rows.shape[0], np.int32), 0
    bent, bent_ms, n = np.empty(n_directed, np.int32), np.empty(n_directed, np.int64), 0
    for d in range(n_directed):
        least = UNREACHED
        for k in range(port_indptr[d], port_indptr[d + 1]):
            reached = label[port_states[k]]
            if reached != UNREACHED:
                least = min(least, reached + port_keys[k])
        if least > limit:
            continue
        edge, time = d >> 1, least >> TIME_SHIFT
        if n_edges == 0 or edges[n_edges - 1] != edge:
            edges[n_edges] = edge
            n_edges += 1
        at = -time if is_backward else time
        while begins[hour + 1] <= at:
            hour += 1
        while at < begins[hour]:
            hour -= 1
        whole = np.int64(ms[row_of[hour], d])
        is_within = at - whole >= begins[hour] if is_backward else at + whole <= begins[hour + 1]
        if not is_within:
            whole = (drive(streets, d, 0.0, 1.0, least) >> TIME_SHIFT) - time
            if changes(streets.hours, d, time, whole, is_backward):
                bent[n], bent_ms[n] = d, time
                n += 1
        column = 0 if (d & 1 == 1) == is_backward else 2
        rows[edge, column] = time / 1000.0
        rows[edge, column + 1] = whole / 1000.0
    for i in range(touched.size):
        label[touched[i]] = UNREACHED
    share = np.full(n, 1.0 if is_backward else 0.0)
    return space, edges[:n_edges].copy(), Bends(bent[:n].copy(), bent_ms[:n].copy(), share)
