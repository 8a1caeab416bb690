"""
Find shortest paths on street graphs given as CSR arrays.

This is the first kernel to read. The other kernels use the same labels, the same ports and the same way of searching
backwards.

**States and arcs.** A search runs over *states* 0 to n_states - 1, joined by directed arcs in compressed sparse row
(CSR) form: the arcs that leave state `s` are ``indptr[s]`` to ``indptr[s + 1] - 1``, arc `a` leads to ``indices[a]``
and costs ``weights[a]``. When walking or cycling, a state is a node of the street network. When driving, a state is a
directed edge that the car is about to enter, so that an arc can carry the cost of a turn and a banned turn is an arc
that is missing. The kernels search both in the same way; `traveltime_lab.streets.graph` builds both.

**Labels.** Every weight and every distance is one int64 number, a *label*: the travel time in milliseconds in the upper
32 bits and the length in centimetres in the lower 32 bits. Adding two labels adds both parts, and comparing them
compares the times first and the lengths second. The smallest label therefore belongs to the fastest route and, among
equally fast routes, to the shortest. To minimise the length instead, the caller exchanges the two parts. Sums of
integers do not depend on the order of the additions, so a forward search, a backward search and a contraction hierarchy
return exactly the same number. `UNREACHED` marks states without a label.

**Bucket queue.** States wait in a ring of buckets. ``label >> shift`` is the number of a state's bucket, and the ring
has more buckets than the longest arc spans. The search empties the buckets in ascending order and relaxes the arcs of
the states in each. It does not sort the states of one bucket: if the label of a state improves while its bucket is
being emptied, the state is relaxed again. The search is thus label-correcting within a bucket and label-setting
between buckets, as in delta-stepping [2]_. The caller chooses buckets about a fifth as wide as a typical arc, so that
few states are relaxed twice. A state whose label improves is put into another bucket and stays in the former one, too,
where it is passed over, because its label is no longer one of that bucket.

**Ports.** An origin or destination is a point, snapped to a position on a directed edge. *Ports* connect positions to
states; a port is a state and a label to add. The *entry ports* of a directed edge are the states that stand for its
start: the label of a position on the edge is the least ``label[state] + key`` over them, where `key` holds the part of
the edge before the position and the connector from the edge to the point. The *exit ports* are the states where a route
can continue after the end of the edge: their `key` holds the connector, the rest of the edge and the turn at its end.
A search from an origin to a destination has three steps:

1. seed the exit ports of the origin with their keys;
2. relax arcs until all states within the limit are settled;
3. read the label of the destination at its entry ports.

A directed edge `d` runs along edge ``d // 2``; ``d ^ 1`` is the same edge in the opposite direction. A route that
begins and ends on one edge may need no junction at all; `traveltime_lab.kernels.street.turns` handles that case.

**Backward searches.** To find all origins that reach a destination, the caller passes the transposed CSR, seeds the
entry ports of the destination and reads at the exit ports of the origins. The kernels are the same: a label then
leads from a state to the destination.

**Left-out states.** Nearly half of the directed edges of a city have exactly one predecessor. `contract` removes such
states before the search, `expand_seeds` and `expand_reads` adapt seeds and readings to the smaller graph, and `fill`
labels the removed states afterwards. The labels do not change.

References
----------
.. [1] R. Dial, "Algorithm 360: Shortest-path forest with topological ordering", CACM 12 (1969).
.. [2] U. Meyer, P. Sanders, "Delta-stepping: a parallelizable shortest path algorithm", J. Algorithms 49 (2003).
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.order import ascending
from traveltime_lab.kernels.prefetch import prefetch
from traveltime_lab.kernels.records import Ports
from traveltime_lab.kernels.unreached import UNREACHED

#: Number of bits of the length, which stand below the travel time in a label.
TIME_SHIFT = 32
#: Mask of the bits of the length in a label.
LENGTH_MASK = np.int64((1 << 32) - 1)
#: Bits of a place in the pool of a queue that hold a state, and their mask.
_NEXT_SHIFT, _STATE_MASK = 32, np.int64((1 << 32) - 1)


class Queue(NamedTuple):
    """
    The bucket queue.

    A search leaves `heads` as it finds them, holding -1 only, so that one queue serves many searches.
    """

    shift: int  # ``label >> shift`` is the number of a bucket
    heads: np.ndarray  # int32 (n_buckets,), place in the pool of the first state of each bucket, -1 if empty
    pool: np.ndarray  # int64, linked lists of the buckets: the place of the next state (32 bits) and a state (32 bits)


@kernel(inline="always")
def _push(state, bucket, heads, pool, free):
    """Prepend `state` to the linked list of a bucket, in place `free` of the pool."""
    pool[free] = (np.int64(heads[bucket]) << _NEXT_SHIFT) | np.int64(state)
    heads[bucket] = free


@kernel
def _grow(array):
    """Return a copy of `array` twice as long."""
    longer = np.empty(array.size * 2, array.dtype)
    # A loop compiles in a tenth of the time of a slice assignment, which includes code for an error message.
    for i in range(array.size):
        longer[i] = array[i]
    return longer


@kernel
def new_queue(n_states, shift, n_buckets):
    """Return an empty queue; see `one_to_all` for the arguments."""
    return Queue(shift, np.full(n_buckets, -1, np.int32), np.empty(n_states + 1024, np.int64))


@kernel
def _label_seeds(seed_states, seed_keys, limit, label, parent):
    """
    Label the seeds within the limit; see `search` for the arguments.

    Returns
    -------
    touched : int32 array
        The labelled states, and space for more.
    n_touched : int
        Their number.
    """
    touched = np.empty(1024, np.int32)
    n_touched = 0
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
        if parent.size > 0:
            parent[state] = -1
    return touched, n_touched


@kernel
def search(arcs, seed_states, seed_keys, limit, label, parent, queue):
    """
    Settle every state whose label is at most `limit`; see `one_to_all` for the other arguments.

    Parameters
    ----------
    label : int64 array of shape (n_states,)
        `UNREACHED`. Overwritten where states are reached; the caller resets it before another search.
    parent : int32 array of shape (n_states,) or (0,)
        Overwritten with the tree, unless it is empty: the previous state on the best route, -1 at seeds.
    queue : Queue

    Returns
    -------
    queue : Queue
        The queue, whose pool may have been reallocated.
    touched : int32 array
        States that have a label.
    """
    indptr, indices, weights = arcs
    shift, heads, pool = queue
    # The number of buckets is a power of two: a mask costs less than a division.
    ring = np.int64(heads.size - 1)
    last_arc = indices.size - 1
    with_parents = parent.size > 0
    free = 0
    waiting = 0
    touched, n_touched = _label_seeds(seed_states, seed_keys, limit, label, parent)
    current = np.int64(-1)
    # Seeds enter the ring in the order of their labels, so that the ring only has to span the longest arc.
    seeds = touched[:n_touched].copy()
    order = ascending(label[seeds])
    next_seed = 0
    while True:
        if waiting == 0:
            if next_seed == seeds.size:
                break
            current = label[seeds[order[next_seed]]] >> shift
        else:
            current += 1
        # A seed is queued once the ring has come to its bucket. If the search has found a better label for its state
        # in the meantime, that label has replaced the seed already.
        while next_seed < seeds.size:
            state = seeds[order[next_seed]]
            bucket = label[state] >> shift
            if bucket > current:
                break
            next_seed += 1
            if bucket == current:
                if free == pool.size:
                    pool = _grow(pool)
                _push(state, current & ring, heads, pool, free)
                free += 1
                waiting += 1
        slot = current & ring
        while heads[slot] != -1:
            entry = pool[heads[slot]]
            following = entry >> _NEXT_SHIFT
            heads[slot] = following
            waiting -= 1
            state = entry & _STATE_MASK
            if following != -1:
                # Prefetch the memory of the next state while this one is relaxed; most states have two arcs.
                entry = pool[following]
                first = np.int64(indptr[entry & _STATE_MASK])
                if first < last_arc:
                    prefetch(label, indices[first])
                    prefetch(label, indices[first + 1])
                second = entry >> _NEXT_SHIFT
                if second != -1:
                    first = np.int64(indptr[pool[second] & _STATE_MASK])
                    prefetch(indices, first)
                    prefetch(weights, first)
                    prefetch(label, pool[second] & _STATE_MASK)
            # Unsigned, as Numba checks other indices for being negative.
            place = np.uint64(state)
            key = label[place]
            if key >> shift != current:
                continue
            for arc in range(np.uint64(indptr[place]), np.uint64(indptr[place + np.uint64(1)])):
                new = key + weights[arc]
                head = np.uint64(indices[arc])
                old = label[head]
                if new < old and new <= limit:
                    if old == UNREACHED:
                        if n_touched == touched.size:
                            touched = _grow(touched)
                        touched[n_touched] = head
                        n_touched += 1
                    label[head] = new
                    if with_parents:
                        parent[head] = state
                    if free == pool.size:
                        pool = _grow(pool)
                    _push(head, (new >> shift) & ring, heads, pool, free)
                    prefetch(indptr, np.int64(head))
                    free += 1
                    waiting += 1
        if waiting == 0:
            free = 0
    return Queue(shift, heads, pool), touched[:n_touched]


@kernel
def one_to_all(arcs, seed_states, seed_keys, limit, shift, n_buckets):
    """
    Return the label of every state within `limit` of the seeds.

    Parameters
    ----------
    arcs : Arcs
    seed_states, seed_keys : int32 and int64 arrays of shape (n_seeds,)
        States where the search begins, and their labels.
    limit : int64
        Largest label to settle.
    shift : int
        ``label >> shift`` is the number of a bucket.
    n_buckets : int
        Size of the ring: a power of two larger than ``(weights.max() >> shift) + 2``.

    Returns
    -------
    int64 array of shape (n_states,)
        `UNREACHED` beyond the limit.
    """
    n_states = arcs.indptr.size - 1
    label = np.full(n_states, UNREACHED, np.int64)
    parent = np.empty(0, np.int32)
    search(arcs, seed_states, seed_keys, limit, label, parent, new_queue(n_states, shift, n_buckets))
    return label


def reach_sizes(arcs, seeds, limit, enough, label, queue):
    """
    Estimate how many states are within a limit of the seeds of each row.

    A search begins with a small part of the limit, which is doubled until the search has found enough states. The
    number within the whole limit is then estimated from the area, so that a row costs little more than is of interest.

    Parameters
    ----------
    arcs : Arcs
    seeds : Ports
        Seeds of the rows.
    limit : int64
    enough : float
        Number of states above which an estimate is sufficient.
    label : int64 array of shape (n_states,)
        `UNREACHED`, also afterwards.
    queue : Queue
        Empty, also afterwards.

    Returns
    -------
    sizes : float64 array of shape (n_rows,)
    queue : Queue
        The queue, whose pool may have been reallocated.
    """
    nowhere = Ports(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int64))
    result, sizes = np.empty((1, 0), np.int64), np.zeros(seeds.indptr.size - 1)
    for row, (first, last) in enumerate(itertools.pairwise(seeds.indptr.tolist())):
        here = Ports(np.array([0, last - first]), seeds.states[first:last], seeds.keys[first:last])
        found = 0
        for halvings in range(8, -1, -1):
            before, n_reached = found, np.zeros(1, np.int64)
            queue = many_to_many(arcs, here, nowhere, np.array([limit >> halvings]), label, queue, result, n_reached)
            found = int(n_reached[0])
            # All of a small part of the network, unless the seeds are on a long street.
            is_all = halvings <= 4 and found == before
            sizes[row] = found if is_all else found * 4.0**halvings
            if is_all or found >= enough:
                break
    return sizes, queue


@kernel
def many_to_many(arcs, seeds, reads, limit, label, queue, result, n_reached):
    """
    Fill ``result[i, j]`` with the smallest label from the seeds of row `i` to the readings of column `j`.

    Parameters
    ----------
    arcs : Arcs
    seeds, reads : Ports
        Seeds of the rows and readings of the columns.
    limit : int64 array of shape (n_rows,)
        Largest label to settle, by row.
    label : int64 array of shape (n_states,)
        `UNREACHED`, also afterwards.
    queue : Queue
        Empty, also afterwards.
    result : int64 array of shape (n_rows, n_columns)
        Overwritten; `UNREACHED` beyond the limit of the row.
    n_reached : int64 array of shape (n_rows,)
        Overwritten with the number of states within the limit of each row.

    Returns
    -------
    Queue
        The queue, whose pool may have been reallocated.
    """
    parent = np.empty(0, np.int32)
    read_indptr, read_states, read_keys = reads
    for row in range(seeds.indptr.size - 1):
        first, last = seeds.indptr[row], seeds.indptr[row + 1]
        queue, touched = search(
            arcs, seeds.states[first:last], seeds.keys[first:last], limit[row], label, parent, queue
        )
        for column in range(read_indptr.size - 1):
            best = UNREACHED
            for k in range(read_indptr[column], read_indptr[column + 1]):
                reached = label[read_states[k]]
                if reached != UNREACHED:
                    best = min(best, reached + read_keys[k])
            result[row, column] = best if best <= limit[row] else UNREACHED
        n_reached[row] = touched.size
        for i in range(touched.size):
            label[touched[i]] = UNREACHED
    return queue


@kernel
def from_one(arcs, seeds, limit, label, queue):
    """
    Label the states within a limit of the seeds of one row.

    Parameters
    ----------
    arcs : Arcs
    seeds : Ports
        Seeds of one row.
    limit : int64
    label : int64 array of shape (n_states,)
        `UNREACHED`; afterwards with labels, to be cleared with `clear`.
    queue : Queue
        Empty, also afterwards.

    Returns
    -------
    queue : Queue
        The queue, whose pool may have been reallocated.
    touched : int32 array
        States that have a label.
    """
    return search(arcs, seeds.states, seeds.keys, limit, label, np.empty(0, np.int32), queue)


@kernel
def clear(label, touched):
    """Set the labels of some states to `UNREACHED`."""
    for i in range(touched.size):
        label[touched[i]] = UNREACHED


@kernel
def one_to_some(arcs, seeds, reads, row_indptr, limits, label, queue, result):
    """
    Fill ``result[j]`` with the smallest label from the seeds of the row that reading `j` belongs to.

    In contrast to `many_to_many`, each row has readings of its own.

    Parameters
    ----------
    arcs : Arcs
    seeds, reads : Ports
        Seeds of the rows, and all readings.
    row_indptr : int64 array of shape (n_rows + 1,)
        The readings of row `i` are ``row_indptr[i]`` to ``row_indptr[i + 1] - 1``.
    limits : int64 array of shape (n_rows,)
        Largest label to settle for each row.
    label, queue : int64 array and Queue
        As in `many_to_many`.
    result : int64 array of shape (n_readings,)
        Overwritten; `UNREACHED` beyond the limit.

    Returns
    -------
    Queue
    """
    parent = np.empty(0, np.int32)
    read_indptr, read_states, read_keys = reads
    for row in range(seeds.indptr.size - 1):
        first, last = seeds.indptr[row], seeds.indptr[row + 1]
        limit = limits[row]
        queue, touched = search(arcs, seeds.states[first:last], seeds.keys[first:last], limit, label, parent, queue)
        for j in range(row_indptr[row], row_indptr[row + 1]):
            best = UNREACHED
            for k in range(read_indptr[j], read_indptr[j + 1]):
                reached = label[read_states[k]]
                if reached != UNREACHED:
                    best = min(best, reached + read_keys[k])
            result[j] = best if best <= limit else UNREACHED
        for i in range(touched.size):
            label[touched[i]] = UNREACHED
    return queue
