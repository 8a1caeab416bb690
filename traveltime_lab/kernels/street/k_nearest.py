"""
Find the `k` nearest of all places for every state, by one search from all places or by one sweep of a hierarchy.

One search for each place, or a matrix, takes a time that grows with the number of places. Only `k` of them matter at
each state, though: if `k` other places are nearer to a state than a place is, they are also nearer to all states from
which the route to that place leads through this one. The search therefore keeps a list of at most `k` places for each
state, and continues from places that enter a list as `road.search` continues from states whose label improves. However
many places there are, a state is visited about `k` times. This is network expansion [1]_ from all places at once.

With a contraction hierarchy, such lists climb from the places to higher-ranked vertices, and one sweep carries them
down to the origins. Each vertex is visited once on either way.

Places are compared by their travel time in milliseconds, and by their number if it is the same. The label of a place is
the smallest label of a route to it, so that lengths are those of `road.many_to_many`.

References
----------
.. [1] Papadias, D., Zhang, J., Mamoulis, N., Tao, Y. (2003). Query processing in spatial network databases.
   Proceedings of VLDB 2003, 802-813.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.order import ascending
from traveltime_lab.kernels.prefetch import prefetch
from traveltime_lab.kernels.street.road import _NEXT_SHIFT, _STATE_MASK, LENGTH_MASK, TIME_SHIFT, _grow
from traveltime_lab.kernels.street.sweeps import cone, fetch
from traveltime_lab.kernels.street.turns import along_same_edge
from traveltime_lab.kernels.unreached import NO_PLACE


class Lists(NamedTuple):
    """
    The places of each row, nearest first.

    A row has `k` entries, of which those that are not used have the key `NO_PLACE`.
    """

    #: Milliseconds in the upper 32 bits, the number of the place in the bits from 1 to 31; bit 0 says that the entry
    #: waits in the queue.
    key: np.ndarray  # int64 (n_rows * k,)
    cm: np.ndarray  # uint32 (n_rows * k,), the lower half of the label


@kernel
def empty_lists(n_rows, k):
    """Return empty lists for `n_rows` rows."""
    return Lists(np.full(n_rows * k, NO_PLACE, np.int64), np.empty(n_rows * k, np.uint32))


@kernel(inline="always")
def _place(key):
    """Return the number of the place of an entry."""
    return (key & LENGTH_MASK) >> 1


@kernel(inline="always")
def _label(lists, entry):
    """Return the label of an entry."""
    return (lists.key[entry] >> TIME_SHIFT << TIME_SHIFT) | np.int64(lists.cm[entry])


@kernel
def _enter(lists, k, row, place, label, waits):
    """Enter a place into the list of a row, or improve its label; return whether the list has changed."""
    first, last = row * k, row * k + k - 1
    new = (label >> TIME_SHIFT << TIME_SHIFT) | (place << 1)
    if new > lists.key[last]:
        return False
    at = first
    while at < last and lists.key[at] != NO_PLACE and _place(lists.key[at]) != place:
        at += 1
    if lists.key[at] != NO_PLACE and _place(lists.key[at]) == place and label >= _label(lists, at):
        return False
    # This entry is that of the place, or not used, or the last one, which is pushed out.
    while at > first and lists.key[at - 1] > new:
        lists.key[at], lists.cm[at] = lists.key[at - 1], lists.cm[at - 1]
        at -= 1
    lists.key[at], lists.cm[at] = new | waits, label & LENGTH_MASK
    return True


@kernel
def k_nearest(arcs, seeds, k, limit, shift, n_buckets):
    """
    Return the `k` nearest places of each state.

    Parameters
    ----------
    arcs : Arcs
    seeds : Ports
        Seeds of each place.
    k : int
    limit : int64
        Largest label of interest.
    shift, n_buckets : int
        As in `road.one_to_all`.

    Returns
    -------
    Lists
        The lists of all states; no entry waits.
    """
    indptr, indices, weights = arcs
    n_states = indptr.size - 1
    lists = empty_lists(n_states, k)
    seed_state, seed_key = seeds.states, seeds.keys
    for place in range(seeds.indptr.size - 1):
        for i in range(seeds.indptr[place], seeds.indptr[place + 1]):
            if seed_key[i] <= limit:
                _enter(lists, k, np.int64(seed_state[i]), place, seed_key[i], 1)
    # As in `road.search`: a ring of buckets that spans the longest arc, which seeds enter in the order of their labels.
    begin, end = seeds.indptr[0], seeds.indptr[seeds.indptr.size - 1]
    order = ascending(seed_key[begin:end])
    next_seed = 0
    ring = np.int64(n_buckets - 1)
    heads = np.full(n_buckets, -1, np.int32)
    pool = np.empty(1024, np.int64)
    # Entries of the pool that are free again, so that it stays as small as the frontier.
    spare = np.int64(-1)
    free = 0
    waiting = 0
    current = np.int64(-1)
    while True:
        if waiting == 0:
            if next_seed == order.size or seed_key[begin + order[next_seed]] > limit:
                break
            current = seed_key[begin + order[next_seed]] >> shift
        else:
            current += 1
        slot = current & ring
        while next_seed < order.size and seed_key[begin + order[next_seed]] >> shift == current:
            if free == pool.size:
                pool = _grow(pool)
            pool[free] = (np.int64(heads[slot]) << _NEXT_SHIFT) | np.int64(seed_state[begin + order[next_seed]])
            heads[slot] = free
            free += 1
            next_seed += 1
            waiting += 1
        while heads[slot] != -1:
            at = np.int64(heads[slot])
            state = pool[at] & _STATE_MASK
            heads[slot] = pool[at] >> _NEXT_SHIFT
            pool[at] = spare
            spare = at
            waiting -= 1
            if heads[slot] != -1:
                # Prefetch the memory of the next state while this one is relaxed.
                following = pool[heads[slot]] & _STATE_MASK
                prefetch(lists.key, following * k)
                for arc in range(indptr[following], indptr[following + 1]):
                    prefetch(lists.key, np.int64(indices[arc]) * k + k - 1)
            for entry in range(state * k, state * k + k):
                key = lists.key[entry]
                if key >> shift > current:
                    break
                if key & 1 == 0:
                    continue
                lists.key[entry] = key - 1
                place, label = _place(key), _label(lists, entry)
                for arc in range(indptr[state], indptr[state + 1]):
                    new, head = label + weights[arc], np.int64(indices[arc])
                    if new > limit or not _enter(lists, k, head, place, new, 1):
                        continue
                    if spare >= 0:
                        at = spare
                        spare = pool[at]
                    else:
                        if free == pool.size:
                            pool = _grow(pool)
                        at = np.int64(free)
                        free += 1
                    bucket = (new >> shift) & ring
                    pool[at] = (np.int64(heads[bucket]) << _NEXT_SHIFT) | head
                    heads[bucket] = at
                    waiting += 1
    return lists


@kernel
def climbing_lists(down, parent, rank, requested, seeds, k, limit, place, vertices):
    """
    Return the `k` nearest places of the vertices of a hierarchy by arcs that lead down to them.

    Parameters
    ----------
    down : Arcs
    parent, rank : int32 arrays of shape (n,)
        As in `traveltime_lab.kernels.street.sweeps`.
    requested : int32 array
        States to find the places of.
    seeds : Ports
        Seeds of each place: states, and the labels from there to the place.
    k : int
    limit : int64
        Largest label of interest.
    place : int32 array of shape (n,)
        -1; becomes the row of each vertex by rank. The caller empties it with `vertices`.
    vertices : int32 array of shape (n,)
        Overwritten with the vertex of each row, each after those above it.

    Returns
    -------
    lists : Lists
        The lists of the rows.
    n_requested : int
        Number of rows of the requested states and of the vertices above them, which come first.
    n_rows : int
    """
    n_requested = cone(parent, rank, requested, place, vertices, np.int64(0))
    n_rows = cone(parent, rank, seeds.states, place, vertices, n_requested)
    lists = empty_lists(n_rows, k)
    for number in range(seeds.indptr.size - 1):
        for i in range(seeds.indptr[number], seeds.indptr[number + 1]):
            if seeds.keys[i] <= limit:
                _enter(lists, k, np.int64(place[rank[seeds.states[i]]]), number, seeds.keys[i], 0)
    key, cm = lists
    indptr, tails, labels = down
    for row in range(n_rows - 1, -1, -1):
        if key[row * k] == NO_PLACE:
            continue
        v = vertices[row]
        for arc in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
            _carry(key, cm, k, row, np.int64(place[tails[arc]]), labels[arc], limit)
    return lists, n_requested, n_rows


@kernel
def carry_down(up, rows, vertices, k, limit, place, lists):
    """
    Complete the lists of `climbing_lists` in some rows, with those of the vertices above them, which are complete.

    Parameters
    ----------
    up : Arcs
    rows, vertices : int32 arrays of shape (n,)
        Rows and their vertices, each after those above it.
    k, limit, place
        As in `climbing_lists`.
    lists : Lists
        Those of the rows are changed.
    """
    key, cm = lists
    indptr, heads, labels = up
    for i in range(rows.size):
        fetch(up, vertices, i, rows.size)
        row, v = np.int64(rows[i]), vertices[i]
        for arc in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
            _carry(key, cm, k, np.int64(place[heads[arc]]), row, labels[arc], limit)


@kernel(inline="always")
def _carry(key, cm, k, row, other, label, limit):
    """Enter the places of a row into the list of another one, with a label added."""
    first, last = other * k, other * k + k - 1
    for entry in range(row * k, row * k + k):
        whole = key[entry]
        new = (whole >> TIME_SHIFT << TIME_SHIFT) + np.int64(cm[entry]) + label
        number = whole & LENGTH_MASK
        own = (new >> TIME_SHIFT << TIME_SHIFT) | number
        # The following ones are no nearer.
        if whole == NO_PLACE or new > limit or own > key[last]:
            break
        at = first
        while at < last and key[at] != NO_PLACE and key[at] & LENGTH_MASK != number:
            at += 1
        is_known = key[at] != NO_PLACE and key[at] & LENGTH_MASK == number
        if is_known and (own > key[at] or (own == key[at] and new & LENGTH_MASK >= cm[at])):
            continue
        while at > first and key[at - 1] > own:
            key[at], cm[at] = key[at - 1], cm[at - 1]
            at -= 1
        key[at], cm[at] = own, new & LENGTH_MASK


@kernel
def read_k_nearest(found, reads, first, last, k, limit, result):
    """
    Enter the nearest places of the states that points leave by.

    Parameters
    ----------
    found : Lists
        From `k_nearest`.
    reads : Ports
        Readings of all points.
    first, last : int
        The first point to read, and the one after the last.
    k : int
    limit : int64
        Larger labels are left out.
    result : Lists
        Lists of the points. Those of `first` to ``last - 1`` are changed.
    """
    for point in range(first, last):
        for i in range(reads.indptr[point], reads.indptr[point + 1]):
            begin = np.int64(reads.states[i]) * k
            for entry in range(begin, begin + k):
                if found.key[entry] == NO_PLACE:
                    break
                label = _label(found, entry) + reads.keys[i]
                if label > limit:
                    break
                _enter(result, k, point, _place(found.key[entry]), label, 0)


@kernel
def enter_along_edges(points, places, directed, by_edge, first, last, k, limit, result):
    """
    Enter the places that points reach along one edge, without a junction between.

    Parameters
    ----------
    points, places : Positions
        Routes lead from points to places.
    directed : Directed
    by_edge : ByEdge
        The positions of the places.
    first, last, k, limit, result
        As in `read_k_nearest`.
    """
    order, owner = by_edge
    for point in range(first, last):
        for a in range(points.indptr[point], points.indptr[point + 1]):
            edge = points.edge[a]
            low, high = 0, order.size
            while low < high:
                middle = (low + high) // 2
                if places.edge[order[middle]] < edge:
                    low = middle + 1
                else:
                    high = middle
            while low < order.size and places.edge[order[low]] == edge:
                b = order[low]
                label = along_same_edge(edge, points.fraction[a], edge, places.fraction[b], directed)
                label += points.connector[a] + places.connector[b]
                if label <= limit:
                    _enter(result, k, point, owner[b], label, 0)
                low += 1


@kernel
def enter_same(points, places, k, result):
    """Enter pairs of a point and a place that have the same coordinates, so that no time lies between them."""
    for i in range(points.size):
        _enter(result, k, points[i], places[i], np.int64(0), 0)
