"""
Build customizable contraction hierarchies on CSR arrays and compute many-to-many labels with sweeps over them.

Vertices are numbered by rank in the contraction order: vertex 0 is contracted first. Contracting a vertex adds
shortcuts between its higher-ranked neighbours; the result is the chordal graph, which holds the higher-ranked
neighbours of each vertex. Each pair of neighbours has one label upwards (from the lower to the higher vertex) and one
downwards. Customization computes these labels for the current weights. The labels are those of
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
from traveltime_lab.kernels.records import Arcs
from traveltime_lab.kernels.unreached import UNREACHED


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
def _places_of_turned(indptr, indices):
    """Return what `turned` does, and the position in `indices` of each transposed entry, an int32 array."""
    turned_indptr = _turned_indptr(indptr, indices)
    turned_indices, places = np.empty(indices.size, np.int32), np.empty(indices.size, np.int32)
    free = turned_indptr[:-1].copy()
    for v in range(indptr.size - 1):
        for k in range(indptr[v], indptr[v + 1]):
            w = indices[k]
            turned_indices[free[w]] = v
            places[free[w]] = k
            free[w] += 1
    return turned_indptr, turned_indices, places


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


def customize(slots, weights, up_indptr, up_heads):
    """
    Return the labels of a hierarchy, without the arcs that no shortest path needs.

    The basic customization relaxes lower triangles: each label becomes that of the shortest path through lower-ranked
    vertices. The perfect customization then relaxes the other triangles from the top down: each label becomes that of
    the shortest path in the whole graph. Arcs for which a path through a third vertex is as short are removed.

    Parameters
    ----------
    slots : int64 array of shape (n_arcs,)
        From `slots_of_arcs`.
    weights : int64 array of shape (n_arcs,)
        Labels, non-negative.
    up_indptr, up_heads
        See `fill`.

    Returns
    -------
    up, down : Arcs
        The arcs from each vertex to higher ones, and from higher vertices to each vertex.
    """
    m = up_heads.size
    up, down = (np.full(m, UNREACHED, np.int64) for _ in range(2))
    heads_up, tails_down = (np.empty(m, np.int32) for _ in range(2))
    indptr_up, indptr_down = _customize(slots, weights, up_indptr, up_heads, up, down, heads_up, tails_down)
    # Not copied: in a large network these arrays are most of the memory.
    for array, indptr in ((up, indptr_up), (heads_up, indptr_up), (down, indptr_down), (tails_down, indptr_down)):
        array.resize(int(indptr[-1]), refcheck=False)
    return Arcs(indptr_up, heads_up, up), Arcs(indptr_down, tails_down, down)


@kernel
def _customize(slots, weights, up_indptr, up_heads, up, down, heads_up, tails_down):
    """
    Write the arcs of `customize`, and return where those of each vertex begin.

    Parameters
    ----------
    slots, weights, up_indptr, up_heads
        As in `customize`.
    up, down : int64 arrays of shape (n_pairs,)
        `UNREACHED`; overwritten with labels.
    heads_up, tails_down : int32 arrays of shape (n_pairs,)
        Overwritten.

    Returns
    -------
    indptr_up, indptr_down : int64 arrays of shape (n + 1,)
    """
    n = up_indptr.size - 1
    m = up_heads.size
    for arc in range(slots.size):
        slot = slots[arc]
        if slot >= 0:
            if slot & 1 == 0:
                up[slot >> 1] = min(up[slot >> 1], weights[arc])
            else:
                down[slot >> 1] = min(down[slot >> 1], weights[arc])
    in_indptr, in_tails, in_pairs = _places_of_turned(up_indptr, up_heads)
    pair_to = np.full(n, -1, np.int32)
    for u in range(n):
        for pair in range(up_indptr[u], up_indptr[u + 1]):
            pair_to[up_heads[pair]] = pair
        for i in range(in_indptr[u], in_indptr[u + 1]):
            below = in_pairs[i]
            to_v, from_v = down[below], up[below]
            last = up_indptr[in_tails[i] + 1]
            # Heads ascend, so the entries after u in the row of v rank higher than u.
            if to_v < UNREACHED:
                for pair in range(below + 1, last):
                    mine = pair_to[up_heads[pair]]
                    up[mine] = min(up[mine], to_v + up[pair])
            if from_v < UNREACHED:
                for pair in range(below + 1, last):
                    mine = pair_to[up_heads[pair]]
                    down[mine] = min(down[mine], down[pair] + from_v)
    # From the top down, so that pairs of higher-ranked vertices have their final labels already. A path through a third
    # vertex replaces an arc only if its other arc has a positive label. Otherwise two arcs could replace each other.
    needs_up = np.ones(m, np.bool_)
    needs_down = np.ones(m, np.bool_)
    for x in range(n - 1, -1, -1):
        first, last = up_indptr[x], up_indptr[x + 1]
        for pair in range(first, last):
            pair_to[up_heads[pair]] = pair
        for xy in range(first, last):
            y = up_heads[xy]
            left = last - xy - 1
            for yz in range(up_indptr[y], up_indptr[y + 1]):
                if left == 0:
                    break
                xz = pair_to[up_heads[yz]]
                if xz < first or xz >= last:
                    continue
                left -= 1
                way = up[xz] + down[yz]
                if down[yz] < UNREACHED and way <= up[xy] and down[yz] > 0:
                    needs_up[xy] = False
                    up[xy] = way
                way = up[xy] + up[yz]
                if up[yz] < UNREACHED and way <= up[xz] and up[yz] > 0:
                    needs_up[xz] = False
                    up[xz] = way
                way = up[yz] + down[xz]
                if up[yz] < UNREACHED and way <= down[xy] and up[yz] > 0:
                    needs_down[xy] = False
                    down[xy] = way
                way = down[yz] + down[xy]
                if down[yz] < UNREACHED and way <= down[xz] and down[yz] > 0:
                    needs_down[xz] = False
                    down[xz] = way
    indptr_up = np.zeros(n + 1, np.int64)
    indptr_down = np.zeros(n + 1, np.int64)
    n_up = n_down = 0
    for v in range(n):
        for pair in range(up_indptr[v], up_indptr[v + 1]):
            if needs_up[pair] and up[pair] < UNREACHED:
                heads_up[n_up] = up_heads[pair]
                up[n_up] = up[pair]
                n_up += 1
            if needs_down[pair] and down[pair] < UNREACHED:
                tails_down[n_down] = up_heads[pair]
                down[n_down] = down[pair]
                n_down += 1
        indptr_up[v + 1] = n_up
        indptr_down[v + 1] = n_down
    return indptr_up, indptr_down
