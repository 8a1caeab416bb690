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


@kernel
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
    heads = np.empty(max(16, 2 * indices.size), np.int32)
    first_child = np.full(n, -1, np.int32)
    next_child = np.full(n, -1, np.int32)
    known = np.full(n, -1, np.int32)
    at = 0
    for v in range(n):
        begin = at
        known[v] = v
        if at + n > heads.size:
            longer = np.empty(2 * heads.size + n, np.int32)
            for k in range(at):
                longer[k] = heads[k]
            heads = longer
        vertex = order[v]
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
            parent = heads[begin]
            for k in range(begin + 1, at):
                parent = min(parent, heads[k])
            next_child[v] = first_child[parent]
            first_child[parent] = v
        up_indptr[v + 1] = at
    # Transposing twice sorts the entries of each row.
    in_indptr, in_tails = turned(up_indptr, heads[:at])
    _, up_heads = turned(in_indptr, in_tails)
    return up_indptr, up_heads


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


@kernel
def turned(indptr, indices):
    """
    Return the transposed CSR.

    Parameters
    ----------
    indptr : int64 array of shape (n + 1,)
    indices : int32 array

    Returns
    -------
    turned_indptr, turned_indices : int64 and int32 arrays
        The entries of each row ascend.
    """
    turned_indptr = _turned_indptr(indptr, indices)
    turned_indices = np.empty(indices.size, np.int32)
    free = turned_indptr[:-1].copy()
    for v in range(indptr.size - 1):
        for k in range(indptr[v], indptr[v + 1]):
            w = indices[k]
            turned_indices[free[w]] = v
            free[w] += 1
    return turned_indptr, turned_indices


@kernel
def _turned_indptr(indptr, indices):
    """Return the begin of each row of the transposed CSR."""
    n = indptr.size - 1
    turned_indptr = np.zeros(n + 1, np.int64)
    for k in range(indices.size):
        turned_indptr[indices[k] + 1] += 1
    for v in range(n):
        turned_indptr[v + 1] += turned_indptr[v]
    return turned_indptr


@kernel
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
    int64 array of shape (n_arcs,)
        ``2 * pair`` for arcs upwards, ``2 * pair + 1`` for arcs downwards, where `pair` is a position in `up_heads`; -1
        for loops.
    """
    slots = np.empty(indices.size, np.int64)
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
    return slots
