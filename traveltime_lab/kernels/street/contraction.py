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
from traveltime_lab.kernels.street.road import UNREACHED

#: Number of searches in one sweep. Their labels for one vertex, 64 bytes, fill a cache line and whole vector registers.
LANES = 8


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
    in_indptr, in_tails, _ = turned(up_indptr, heads[:at])
    _, up_heads, _ = turned(in_indptr, in_tails)
    return up_indptr, up_heads


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
    places : int32 array
        Position in `indices` of each transposed entry.
    """
    n = indptr.size - 1
    turned_indptr = np.zeros(n + 1, np.int64)
    for k in range(indices.size):
        turned_indptr[indices[k] + 1] += 1
    for v in range(n):
        turned_indptr[v + 1] += turned_indptr[v]
    turned_indices = np.empty(indices.size, np.int32)
    places = np.empty(indices.size, np.int32)
    free = turned_indptr[:-1].copy()
    for v in range(n):
        for k in range(indptr[v], indptr[v + 1]):
            w = indices[k]
            turned_indices[free[w]] = v
            places[free[w]] = k
            free[w] += 1
    return turned_indptr, turned_indices, places


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


@kernel
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
    indptr_up, heads_up, labels_up : int64, int32, int64 arrays
        CSR of the arcs from each vertex to higher ones.
    indptr_down, tails_down, labels_down : int64, int32, int64 arrays
        CSR of the arcs from higher vertices to each vertex.
    """
    n = up_indptr.size - 1
    m = up_heads.size
    up = np.full(m, UNREACHED, np.int64)
    down = np.full(m, UNREACHED, np.int64)
    for arc in range(slots.size):
        slot = slots[arc]
        if slot >= 0:
            if slot & 1 == 0:
                up[slot >> 1] = min(up[slot >> 1], weights[arc])
            else:
                down[slot >> 1] = min(down[slot >> 1], weights[arc])
    in_indptr, in_tails, in_pairs = turned(up_indptr, up_heads)
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
    heads_up = np.empty(m, np.int32)
    tails_down = np.empty(m, np.int32)
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
    return (
        indptr_up,
        heads_up[:n_up].copy(),
        up[:n_up].copy(),
        indptr_down,
        tails_down[:n_down].copy(),
        down[:n_down].copy(),
    )


@kernel
def restrict(indptr_down, tails_down, labels_down, rank, read_indptr, read_states, read_keys):
    """
    Return the downward arcs that lead to some readings, as one stream for `many_to_many`.

    This is the target selection of RPHAST.

    Parameters
    ----------
    indptr_down, tails_down, labels_down
        From `customize`.
    rank : int32 array
        See `fill`.
    read_indptr, read_states, read_keys : int64, int32, int64 arrays
        CSR of the readings of each column: the label of a column is the smallest of ``label[state] + key``.

    Returns
    -------
    place : int32 array of shape (n,)
        Row of each vertex in the restricted graph, by rank; -1 for vertices outside of it. Higher-ranked vertices have
        lower rows.
    tails, labels : int32 and int64 arrays
        For each row the arcs into it, which come from earlier rows, followed by one entry with a tail of -1. After the
        vertices each column has a row, whose arcs are its readings.
    n_rows : int
        Number of rows of vertices.
    """
    n = indptr_down.size - 1
    n_columns = read_indptr.size - 1
    place = np.full(n, -1, np.int32)
    stack = np.empty(n, np.int32)
    n_rows = 0
    n_arcs = 0
    for i in range(read_states.size):
        v = rank[read_states[i]]
        if place[v] >= 0:
            continue
        place[v] = 0
        stack[0] = v
        top = 1
        while top:
            top -= 1
            v = stack[top]
            n_rows += 1
            n_arcs += indptr_down[v + 1] - indptr_down[v]
            for k in range(indptr_down[v], indptr_down[v + 1]):
                w = tails_down[k]
                if place[w] < 0:
                    place[w] = 0
                    stack[top] = w
                    top += 1
    length = n_arcs + n_rows + read_states.size + n_columns
    tails = np.full(length, -1, np.int32)
    labels = np.zeros(length, np.int64)
    row = 0
    at = 0
    for v in range(n - 1, -1, -1):
        if place[v] < 0:
            continue
        place[v] = row
        row += 1
        for k in range(indptr_down[v], indptr_down[v + 1]):
            tails[at] = place[tails_down[k]]
            labels[at] = labels_down[k]
            at += 1
        at += 1
    for column in range(n_columns):
        for k in range(read_indptr[column], read_indptr[column + 1]):
            tails[at] = place[rank[read_states[k]]]
            labels[at] = read_keys[k]
            at += 1
        at += 1
    return place, tails, labels, n_rows


@kernel
def many_to_many(
    indptr_up,
    heads_up,
    labels_up,
    rank,
    place,
    tails,
    labels,
    n_rows,
    seed_indptr,
    seed_states,
    seed_keys,
    limit,
    result,
):
    """
    Fill ``result[i, j]`` with the smallest label from the seeds of search `i` to the readings of column `j`.

    `LANES` searches run side by side: each climbs from its seeds to higher-ranked vertices, then one sweep down the
    restricted graph serves them all.

    Parameters
    ----------
    indptr_up, heads_up, labels_up, rank
        See `customize` and `fill`.
    place, tails, labels, n_rows
        From `restrict`.
    seed_indptr, seed_states, seed_keys : int64, int32, int64 arrays
        CSR of the seeds of each search.
    limit : int64
        Labels above it become `UNREACHED`.
    result : int64 array of shape (n_searches, n_columns)
        Overwritten.
    """
    n = indptr_up.size - 1
    n_searches, n_columns = result.shape
    slot = np.full(n, -1, np.int32)
    # One flag for each block of 64 vertices of consecutive ranks: whether some of them wait to be relaxed.
    has_work = np.zeros((n >> 6) + 1, np.bool_)
    above = np.empty((1024, LANES), np.int64)
    start = np.full(n_rows, -1, np.int32)
    below = np.empty((n_rows, LANES), np.int64)
    for first in range(0, n_searches, LANES):
        used = min(LANES, n_searches - first)
        n_slots = np.int64(0)
        for lane in range(used):
            for k in range(seed_indptr[first + lane], seed_indptr[first + lane + 1]):
                v = rank[seed_states[k]]
                if slot[v] < 0:
                    above = _room_for(above, n_slots)
                    slot[v] = n_slots
                    n_slots += 1
                    has_work[v >> 6] = True
                above[slot[v], lane] = min(above[slot[v], lane], seed_keys[k])
        for block in range(has_work.size):
            if not has_work[block]:
                continue
            has_work[block] = False
            for v in range(block << 6, min(n, (block + 1) << 6)):
                mine = slot[v]
                if mine < 0:
                    continue
                slot[v] = -1
                if place[v] >= 0:
                    start[place[v]] = mine
                for k in range(indptr_up[v], indptr_up[v + 1]):
                    w = heads_up[k]
                    theirs = slot[w]
                    if theirs < 0:
                        above = _room_for(above, n_slots)
                        theirs = n_slots
                        slot[w] = theirs
                        n_slots += 1
                        has_work[w >> 6] = True
                    label = labels_up[k]
                    for lane in range(LANES):
                        above[theirs, lane] = min(above[theirs, lane], above[mine, lane] + label)
        at = 0
        for row in range(n_rows + n_columns):
            a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = UNREACHED
            if row < n_rows and start[row] >= 0:
                mine = start[row]
                start[row] = -1
                a0, a1, a2, a3 = above[mine, 0], above[mine, 1], above[mine, 2], above[mine, 3]
                a4, a5, a6, a7 = above[mine, 4], above[mine, 5], above[mine, 6], above[mine, 7]
            tail = tails[at]
            # The loop over the lanes is unrolled by hand, so that all lanes stay in registers. It ends at a sentinel:
            # given a count, the compiler would transform it.
            while tail >= 0:
                label = labels[at]
                a0 = min(a0, below[tail, 0] + label)
                a1 = min(a1, below[tail, 1] + label)
                a2 = min(a2, below[tail, 2] + label)
                a3 = min(a3, below[tail, 3] + label)
                a4 = min(a4, below[tail, 4] + label)
                a5 = min(a5, below[tail, 5] + label)
                a6 = min(a6, below[tail, 6] + label)
                a7 = min(a7, below[tail, 7] + label)
                at += 1
                tail = tails[at]
            at += 1
            if row < n_rows:
                below[row, 0], below[row, 1], below[row, 2], below[row, 3] = a0, a1, a2, a3
                below[row, 4], below[row, 5], below[row, 6], below[row, 7] = a4, a5, a6, a7
            else:
                best = (a0, a1, a2, a3, a4, a5, a6, a7)
                for lane in range(used):
                    result[first + lane, row - n_rows] = best[lane] if best[lane] <= limit else UNREACHED


@kernel
def _room_for(above, slot):
    """Return `above` with row `slot` set to `UNREACHED`, reallocated with twice as many rows if it is full."""
    if slot == above.shape[0]:
        longer = np.empty((2 * slot, LANES), np.int64)
        for row in range(slot):
            for lane in range(LANES):
                longer[row, lane] = above[row, lane]
        above = longer
    for lane in range(LANES):
        above[slot, lane] = UNREACHED
    return above


@kernel
def _climb(indptr, heads, arc_labels, rank, states, keys, limit, label, has_work, found):
    """
    Label the vertices that arcs upwards reach from seeds within a limit.

    Returns
    -------
    int
        Number of labelled vertices, which are listed in `found`.
    """
    n = label.size
    for k in range(states.size):
        v = rank[states[k]]
        if keys[k] <= limit and keys[k] < label[v]:
            label[v] = keys[k]
            has_work[v >> 6] = True
    count = 0
    for block in range(has_work.size):
        if not has_work[block]:
            continue
        has_work[block] = False
        for v in range(block << 6, min(n, (block + 1) << 6)):
            mine = label[v]
            if mine == UNREACHED:
                continue
            found[count] = v
            count += 1
            for k in range(indptr[v], indptr[v + 1]):
                onward = mine + arc_labels[k]
                w = heads[k]
                if onward <= limit and onward < label[w]:
                    label[w] = onward
                    has_work[w >> 6] = True
    return count


@kernel
def one_to_some(
    indptr_up,
    heads_up,
    labels_up,
    indptr_down,
    tails_down,
    labels_down,
    rank,
    seed_indptr,
    seed_states,
    seed_keys,
    read_indptr,
    read_states,
    read_keys,
    row_indptr,
    limit,
    result,
):
    """
    Fill `result` with the smallest labels of chosen pairs.

    A search upwards from the seeds meets a search upwards from the readings; the best vertex that both reach gives the
    label of the pair.

    Parameters
    ----------
    indptr_up, heads_up, labels_up, indptr_down, tails_down, labels_down
        See `customize`.
    rank : int32 array
        See `fill`.
    seed_indptr, seed_states, seed_keys : int64, int32, int64 arrays
        CSR of the seeds of each search.
    read_indptr, read_states, read_keys : int64, int32, int64 arrays
        CSR of the readings of each pair.
    row_indptr : int64 array of shape (n_searches + 1,)
        The pairs of search `i` are ``row_indptr[i]`` to ``row_indptr[i + 1] - 1``.
    limit : int64
        Labels above it become `UNREACHED`.
    result : int64 array of shape (n_pairs,)
        Overwritten.
    """
    n = indptr_up.size - 1
    ahead, back = np.full(n, UNREACHED, np.int64), np.full(n, UNREACHED, np.int64)
    found_ahead, found_back = np.empty(n, np.int32), np.empty(n, np.int32)
    has_work = np.zeros((n >> 6) + 1, np.bool_)
    for row in range(seed_indptr.size - 1):
        seeds = slice(seed_indptr[row], seed_indptr[row + 1])
        states, keys = seed_states[seeds], seed_keys[seeds]
        n_ahead = _climb(indptr_up, heads_up, labels_up, rank, states, keys, limit, ahead, has_work, found_ahead)
        for pair in range(row_indptr[row], row_indptr[row + 1]):
            reads = slice(read_indptr[pair], read_indptr[pair + 1])
            states, keys = read_states[reads], read_keys[reads]
            n_back = _climb(indptr_down, tails_down, labels_down, rank, states, keys, limit, back, has_work, found_back)
            best = UNREACHED
            for i in range(n_back):
                v = found_back[i]
                if ahead[v] < UNREACHED:
                    best = min(best, ahead[v] + back[v])
                back[v] = UNREACHED
            result[pair] = best if best <= limit else UNREACHED
        for i in range(n_ahead):
            ahead[found_ahead[i]] = UNREACHED
