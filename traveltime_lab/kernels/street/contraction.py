"""
Build customizable contraction hierarchies on CSR arrays.

Vertices are numbered by rank in the contraction order: vertex 0 is contracted first. Contracting a vertex adds
shortcuts between its higher-ranked neighbours; the result is the chordal graph, which holds the higher-ranked
neighbours of each vertex. Each pair of neighbours has one label upwards (from the lower to the higher vertex) and one
downwards. Customization computes these labels for the current weights (`traveltime_lab.kernels.street.customization`),
and sweeps go along them (`traveltime_lab.kernels.street.sweeps`). The labels are those of
`traveltime_lab.kernels.street.road`. They are integers, whose sums do not depend on the order of the additions, so the
results equal those of `road` exactly.

References
----------
J. Dibbelt, B. Strasser, D. Wagner, "Customizable contraction hierarchies", J. Experimental Algorithmics 21 (2016).
D. Delling, A. Goldberg, R. Werneck, "Faster batched shortest paths in road networks", ATMOS 2011 (RPHAST).
"""

from __future__ import annotations

import numpy as np

from traveltime_lab.kernels.compiled import kernel

#: Values up to which a sort by insertion is the quickest (assumed, as in NumPy's sorts).
_FEW = 16


@kernel
def _sort(values, first, last):
    """Sort a part of an array in place."""
    if last - first > _FEW:
        values[first:last].sort()
        return
    for k in range(first + 1, last):
        value, at = values[k], k
        while at > first and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value


@kernel
def neighbours(indptr, indices, others):
    """
    Write the neighbours of each state, in either direction.

    Parameters
    ----------
    indptr, indices : int32 arrays
        CSR of a directed graph.
    others : int32 array of shape (2 * n_arcs,)
        Overwritten with the neighbours, one row after the other; those of each row ascend. The rest is left over.

    Returns
    -------
    int32 array of shape (n_states + 1,)
        Where the neighbours of each state begin; there are no loops and no parallel edges.
    """
    n = indptr.size - 1
    begin = np.zeros(n + 1, np.int32)
    for state in range(n):
        for arc in range(indptr[state], indptr[state + 1]):
            if indices[arc] != state:
                begin[state + 1] += 1
                begin[indices[arc] + 1] += 1
    for state in range(n):
        begin[state + 1] += begin[state]
    free = begin[:n].copy()
    for state in range(n):
        for arc in range(indptr[state], indptr[state + 1]):
            other = indices[arc]
            if other != state:
                others[free[state]] = other
                free[state] += 1
                others[free[other]] = state
                free[other] += 1
    # Sort each row, and move it to the end of those before it without what it has twice.
    at, first = 0, begin[0]
    for state in range(n):
        last = begin[state + 1]
        _sort(others, first, last)
        begin[state] = at
        for k in range(first, last):
            if k == first or others[k] != others[k - 1]:
                others[at] = others[k]
                at += 1
        first = last
    begin[n] = at
    return begin


def fill(indptr, indices, rank, order):
    """
    Return the chordal graph of a contraction order.

    Parameters
    ----------
    indptr, indices : int32 arrays
        CSR of an undirected graph without loops.
    rank : int32 array of shape (n,)
        Rank of each vertex.
    order : int32 array of shape (n,)
        Vertex of each rank, the inverse of `rank`.

    Returns
    -------
    up_indptr, up_heads : int64 and int32 arrays
        CSR of the higher-ranked neighbours of each vertex. Rows and entries are ranks; the entries of a row ascend.
    """
    n = order.size
    up_indptr = np.zeros(n + 1, np.int64)
    first_child, next_child, known = (np.full(n, -1, np.int32) for _ in range(3))
    # More than the states of a city by car need (3.2 times): memory that is not written to is not used.
    up_heads = np.empty(max(16, 4 * indices.size), np.int32)
    v = 0
    while (v := _fill(indptr, indices, rank, order, v, up_indptr, up_heads, first_child, next_child, known)) < n:
        # Not copied: in a large network these arrays are most of the memory.
        up_heads.resize(up_heads.size * 5 // 4 + n, refcheck=False)
    up_heads.resize(int(up_indptr[-1]), refcheck=False)
    return up_indptr, up_heads


@kernel
def _fill(indptr, indices, rank, order, first, up_indptr, heads, first_child, next_child, known):
    """
    Write the rows of `fill` from a vertex on, and return the one whose row might have no room, or the end.

    Parameters
    ----------
    indptr, indices, rank, order
        As in `fill`.
    first : int
        Rank of the first vertex.
    up_indptr : int64 array of shape (n + 1,)
        Overwritten from ``first + 1`` on.
    heads : int32 array
        Overwritten from ``up_indptr[first]`` on.
    first_child, next_child, known : int32 arrays of shape (n,)
        -1 before the first call, and what the call before has left.
    """
    n = order.size
    at = up_indptr[first]
    for v in range(first, n):
        vertex = order[v]
        most = np.int64(indptr[vertex + 1] - indptr[vertex])
        child = first_child[v]
        while child >= 0:
            most += up_indptr[child + 1] - up_indptr[child]
            child = next_child[child]
        if at + min(most, n - v) > heads.size:
            return v
        begin = at
        known[v] = v
        for k in range(indptr[vertex], indptr[vertex + 1]):
            w = rank[indices[k]]
            if w > v and known[w] != v:
                known[w] = v
                heads[at] = w
                at += 1
        child = first_child[v]
        while child >= 0:
            for k in range(up_indptr[child], up_indptr[child + 1]):
                w = heads[k]
                if known[w] != v:
                    known[w] = v
                    heads[at] = w
                    at += 1
            child = next_child[child]
        if at > begin:
            _sort(heads, begin, at)
            parent = heads[begin]
            next_child[v] = first_child[parent]
            first_child[parent] = v
        up_indptr[v + 1] = at
    return n


@kernel
def elimination_tree(up_indptr, up_heads):
    """
    Return the elimination tree of a chordal graph.

    Parameters
    ----------
    up_indptr, up_heads
        See `fill`.

    Returns
    -------
    parent : int32 array of shape (n,)
        The lowest of the higher-ranked neighbours of each vertex, -1 for none. The other ones are above it in the tree.
    """
    parent = np.full(up_indptr.size - 1, -1, np.int32)
    for v in range(parent.size):
        if up_indptr[v] < up_indptr[v + 1]:
            # The entries of a row ascend.
            parent[v] = up_heads[up_indptr[v]]
    return parent


def slots_of_arcs(indptr, indices, rank, up_indptr, up_heads):
    """
    Return the slot of the chordal graph that the weight of each arc belongs to.

    Parameters
    ----------
    indptr, indices : int32 arrays
        CSR of the directed graph.
    rank, up_indptr, up_heads
        See `fill`.

    Returns
    -------
    int32 array of shape (n_arcs,), int64 if there are more than a thousand million pairs
        ``2 * pair`` for arcs upwards, ``2 * pair + 1`` for arcs downwards, where `pair` is a position in `up_heads`; -1
        for loops.
    """
    slots = np.empty(indices.size, np.int32 if 2 * up_heads.size <= np.iinfo(np.int32).max else np.int64)
    _write_slots(indptr, indices, rank, up_indptr, up_heads, slots)
    return slots


@kernel
def _write_slots(indptr, indices, rank, up_indptr, up_heads, slots):
    """Write the slots of `slots_of_arcs`."""
    for state in range(indptr.size - 1):
        v = rank[state]
        for arc in range(indptr[state], indptr[state + 1]):
            w = rank[indices[arc]]
            low, high = min(v, w), max(v, w)
            if low == high:
                slots[arc] = -1
                continue
            first, last = up_indptr[low], up_indptr[low + 1]
            while first < last:
                middle = (first + last) // 2
                if up_heads[middle] < high:
                    first = middle + 1
                else:
                    last = middle
            slots[arc] = 2 * first + (1 if v > w else 0)
