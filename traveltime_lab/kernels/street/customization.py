"""
Compute the labels of a contraction hierarchy for the weights of a moment, in several threads.

The basic customization relaxes lower triangles: each label becomes that of the shortest path through lower-ranked
vertices. The perfect customization then relaxes the other triangles from the top down: each label becomes that of the
shortest path in the whole graph. Arcs for which a path through a third vertex is as short are removed.

A row of the chordal graph depends on rows of vertices below it in the elimination tree, and then on those above it.
Subtrees are therefore independent of each other: the first customization computes them side by side and the few
vertices above them afterwards, the second one in the opposite order.

References
----------
J. Dibbelt, B. Strasser, D. Wagner, "Customizable contraction hierarchies", J. Experimental Algorithmics 21 (2016).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.records import Arcs
from traveltime_lab.kernels.street.components import order_by
from traveltime_lab.kernels.street.contraction import elimination_tree
from traveltime_lab.kernels.unreached import UNREACHED

#: Directions in which the arc of a pair is needed, as bits.
_UP, _DOWN = np.uint8(1), np.uint8(2)
_FAR = np.uint64(UNREACHED)
#: Vertices from which several threads are worth it (assumed: fewer take some milliseconds).
_MANY = 20_000
#: Most arcs that 32-bit places can count.
_MOST_ARCS = np.iinfo(np.int32).max


def customize(
    slots: Any,
    weights: Any,
    up_indptr: Any,
    up_heads: Any,
    side_by_side: Callable[[Sequence[Callable[[], None]]], object],
    n_threads: int = 1,
    after_weights: Callable[[], object] | None = None,
) -> tuple[Arcs, Arcs]:
    """
    Return the labels of a hierarchy, without the arcs that no shortest path needs.

    Parameters
    ----------
    slots : int32 or int64 array of shape (n_arcs,)
        From `traveltime_lab.kernels.street.contraction.slots_of_arcs`.
    weights : int64 array of shape (n_arcs,)
        Labels, non-negative.
    up_indptr, up_heads
        From `traveltime_lab.kernels.street.contraction.fill`.
    side_by_side : callable
        Runs functions in parallel.
    n_threads : int, default 1
        Number of threads; labels do not depend on it.
    after_weights : callable, optional
        Called when `slots` and `weights` are not needed any more.

    Returns
    -------
    up, down : Arcs
        The arcs from each vertex to higher ones, and from higher vertices to each vertex.
    """
    n, m = up_indptr.size - 1, up_heads.size
    n_parts = 2 * n_threads if n_threads > 1 and n >= _MANY else 1
    part_of = divide(elimination_tree(up_indptr, up_heads), _work_of(up_indptr), n_parts)
    *parts, top = vertices_of_parts(part_of, n_parts)
    # Without a sign, so that the sum of two labels with one more bit each fits into 64 bits.
    up, down = (np.full(m, _FAR, np.uint64) for _ in range(2))
    put_weights(slots, weights, up, down)
    if after_weights is not None:
        after_weights()
    graph = up_indptr, up_heads, up, down
    waiting, following, pair_of = np.full(n, -1, np.int32), np.empty(n, np.int32), up_indptr[:n].copy()
    wait_for = waiting, following, pair_of
    side_by_side([partial(relax_lower, part, part_of, *graph, *wait_for) for part in parts])
    wait_for_top(part_of, n_parts, up_indptr, up_heads, *wait_for)
    relax_lower(top, part_of, *graph, *wait_for)
    needs = np.empty(m, np.uint8)
    relax_others(top, top[:0], *graph, needs, following, pair_of)
    side_by_side([partial(relax_others, part, top, *graph, needs, following, pair_of) for part in parts])
    made = []
    for labels, direction in ((up, _UP), (down, _DOWN)):
        indptr = rows_left(up_indptr, needs, direction, labels)
        # Not copied, and before there are more: in a large network these arrays are most of the memory.
        labels.resize(int(indptr[-1]), refcheck=False)
        heads = np.empty(labels.size, np.int32)
        heads_left(up_heads, needs, direction, heads)
        if labels.size <= _MOST_ARCS:
            indptr = indptr.astype(np.int32)
        made.append(Arcs(indptr, heads, labels.view(np.int64)))
    return made[0], made[1]


def _work_of(up_indptr):
    """Return the work at each vertex: about the number of its triangles."""
    work = np.diff(up_indptr).astype(np.float64)
    np.square(work, out=work)
    work *= 0.5
    work += 1.0
    return work


@kernel
def divide(parent, work, n_parts):
    """
    Return the part of each vertex: subtrees of the elimination tree with about equal work.

    Parameters
    ----------
    parent : int32 array of shape (n,)
        See `traveltime_lab.kernels.street.contraction.elimination_tree`.
    work : float64 array of shape (n,)
        Work at each vertex, such as the number of its triangles; overwritten.
    n_parts : int

    Returns
    -------
    int32 array of shape (n,)
        0 to ``n_parts - 1``, and `n_parts` for the vertices above them.
    """
    n, total = parent.size, 0.0
    for v in range(n):
        if parent[v] >= 0:
            work[parent[v]] += work[v]
        else:
            total += work[v]
    part_of = np.empty(n, np.int32)
    load = np.zeros(n_parts)
    for v in range(n - 1, -1, -1):
        if parent[v] >= 0 and part_of[parent[v]] < n_parts:
            part_of[v] = part_of[parent[v]]
        elif n_parts > 1 and work[v] > total / (2 * n_parts):
            part_of[v] = n_parts
        else:
            part_of[v] = np.argmin(load)
            load[part_of[v]] += work[v]
    return part_of


def vertices_of_parts(part_of, n_parts):
    """Return the vertices of each part of `divide` in increasing order; those above the parts are the last one."""
    indptr, order = order_by(part_of, n_parts + 1)
    return [order[begin:end] for begin, end in pairwise(indptr)]


@kernel
def put_weights(slots, weights, up, down):
    """
    Write the smallest weight of each slot into the labels, which are `_FAR` before.

    Parameters
    ----------
    slots, weights
        As in `customize`.
    up, down : uint64 arrays of shape (n_pairs,)
    """
    for arc in range(slots.size):
        slot = slots[arc]
        if slot >= 0:
            if slot & 1 == 0:
                up[slot >> 1] = min(up[slot >> 1], np.uint64(weights[arc]))
            else:
                down[slot >> 1] = min(down[slot >> 1], np.uint64(weights[arc]))


@kernel
def relax_lower(vertices, part_of, up_indptr, up_heads, up, down, waiting, following, pair_of):
    """
    Relax the triangles of the vertices of a part through lower-ranked vertices.

    A vertex waits at the next of its higher-ranked neighbours, so that each finds the lower ones without the transposed
    graph, which would be as large as the labels. If that neighbour is in a different part, it waits nowhere.

    Parameters
    ----------
    vertices : int32 array
        The vertices of the part in increasing order.
    part_of : int32 array of shape (n,)
        From `divide`.
    up_indptr, up_heads
        As in `customize`.
    up, down : uint64 arrays of shape (n_pairs,)
        From `put_weights`; lowered in place.
    waiting : int32 array of shape (n,)
        The first vertex that waits at each one, -1 for none.
    following : int32 array of shape (n,)
        The next vertex that waits at the same one as each vertex, -1 for none.
    pair_of : int64 array of shape (n,)
        The pair of each vertex and the one where it waits, or would wait; the end of its row after the last.
    """
    # Labels of the row of one vertex, at its heads.
    row_up, row_down = np.empty(part_of.size, np.uint64), np.empty(part_of.size, np.uint64)
    for u in vertices:
        part = part_of[u]
        first, end = up_indptr[u], up_indptr[u + 1]
        for pair in range(first, end):
            w = up_heads[pair]
            row_up[w], row_down[w] = up[pair], down[pair]
        v = waiting[u]
        while v >= 0:
            then = following[v]
            below, last = pair_of[v], up_indptr[v + 1]
            to_v, from_v = down[below], up[below]
            # Heads ascend, so the entries after u in the row of v rank higher than u.
            if to_v < _FAR and from_v < _FAR:
                for pair in range(below + 1, last):
                    w = up_heads[pair]
                    row_up[w] = min(row_up[w], to_v + up[pair])
                    row_down[w] = min(row_down[w], down[pair] + from_v)
            elif to_v < _FAR:
                for pair in range(below + 1, last):
                    w = up_heads[pair]
                    row_up[w] = min(row_up[w], to_v + up[pair])
            elif from_v < _FAR:
                for pair in range(below + 1, last):
                    w = up_heads[pair]
                    row_down[w] = min(row_down[w], down[pair] + from_v)
            pair_of[v] = below + 1
            if below + 1 < last:
                _wait(v, up_heads[below + 1], part, part_of, waiting, following)
            v = then
        for pair in range(first, end):
            w = up_heads[pair]
            up[pair], down[pair] = row_up[w], row_down[w]
        if first < end:
            _wait(u, up_heads[first], part, part_of, waiting, following)


@kernel
def _wait(v, u, part, part_of, waiting, following):
    """Let a vertex wait at another one, if that is in the part."""
    if part_of[u] == part:
        following[v] = waiting[u]
        waiting[u] = v


@kernel
def wait_for_top(part_of, top, up_indptr, up_heads, waiting, following, pair_of):
    """Let the vertices of all parts wait at their neighbours above the parts; see `relax_lower`."""
    for v in range(part_of.size):
        if part_of[v] < top and pair_of[v] < up_indptr[v + 1]:
            _wait(v, up_heads[pair_of[v]], top, part_of, waiting, following)


@kernel
def relax_others(vertices, above, up_indptr, up_heads, up, down, needs, following, pair_of):
    """
    Relax the triangles of vertices through others, and find the arcs that a path through a third vertex replaces.

    From the top down, so that pairs of higher-ranked vertices have their final labels already. A path through a third
    vertex replaces an arc only if its other arc has a positive label. Otherwise two arcs could replace each other.

    Parameters
    ----------
    vertices, above : int32 arrays
        In increasing order. The vertices above the first ones in the elimination tree are among them or `above`, the
        rows of which are final.
    up_indptr, up_heads
        As in `customize`.
    up, down : uint64 arrays of shape (n_pairs,)
        From `relax_lower`; lowered in place.
    needs : uint8 array of shape (n_pairs,)
        Overwritten with the directions in which the arc is needed. Those of unreached arcs mean nothing.
    following, pair_of
        As in `relax_lower`, but from the highest neighbour down; overwritten at `vertices`.

    Notes
    -----
    Until their rows are final, labels have one more bit below the others: 1 for the label of the arc, 0 for that of a
    path. So the lesser one of two is that of the path if both are as short, and no comparison needs a branch. The sum
    of two such labels has 64 bits.
    """
    n = up_indptr.size - 1
    one = np.uint64(1)
    none = np.uint64(UNREACHED - 1) << one
    row_up, row_down = np.empty(n, np.uint64), np.empty(n, np.uint64)
    # Each call has its own, as vertices of several parts wait at the same ones above them.
    waiting = np.full(n, -1, np.int32)
    for v in vertices:
        for pair in range(up_indptr[v], up_indptr[v + 1]):
            up[pair] = min(up[pair] << one, none) | one
            down[pair] = min(down[pair] << one, none) | one
        pair_of[v] = up_indptr[v + 1] - 1
        if pair_of[v] >= up_indptr[v]:
            higher = up_heads[pair_of[v]]
            following[v] = waiting[higher]
            waiting[higher] = v
    for y in above[::-1]:
        if waiting[y] < 0:
            continue
        for yz in range(up_indptr[y], up_indptr[y + 1]):
            z = up_heads[yz]
            row_up[z] = min(up[yz] << one, none) if up[yz] > 0 else none
            row_down[z] = min(down[yz] << one, none) if down[yz] > 0 else none
        _relax_others_of(y, up_indptr, up_heads, up, down, waiting, following, pair_of, row_up, row_down)
    for y in vertices[::-1]:
        for yz in range(up_indptr[y], up_indptr[y + 1]):
            needs[yz] = (up[yz] & one) * _UP + (down[yz] & one) * _DOWN
            to_z, from_z = up[yz] & ~one, down[yz] & ~one
            up[yz] = to_z >> one if to_z < none else _FAR
            down[yz] = from_z >> one if from_z < none else _FAR
            z = up_heads[yz]
            row_up[z], row_down[z] = to_z if to_z > 0 else none, from_z if from_z > 0 else none
        _relax_others_of(y, up_indptr, up_heads, up, down, waiting, following, pair_of, row_up, row_down)


@kernel
def _relax_others_of(y, up_indptr, up_heads, up, down, waiting, following, pair_of, row_up, row_down):
    """Relax the triangles of the vertices that wait at `y`, whose labels are at its heads in `row_up`, `row_down`."""
    one = np.uint64(1)
    x = waiting[y]
    while x >= 0:
        then = following[x]
        xy = pair_of[x]
        least_up, least_down = up[xy], down[xy]
        to_y, from_y = least_up & ~one, least_down & ~one
        # Heads ascend, so the entries after y in the row of x are in the row of y, too.
        for xz in range(xy + 1, up_indptr[x + 1]):
            z = up_heads[xz]
            to_z, from_z, to_here, from_here = row_up[z], row_down[z], up[xz], down[xz]
            least_up = min(least_up, (to_here & ~one) + from_z)
            least_down = min(least_down, (from_here & ~one) + to_z)
            up[xz] = min(to_here, to_y + to_z)
            down[xz] = min(from_here, from_y + from_z)
        up[xy], down[xy] = least_up, least_down
        if xy > up_indptr[x]:
            pair_of[x] = xy - 1
            lower = up_heads[xy - 1]
            following[x] = waiting[lower]
            waiting[lower] = x
        x = then


@kernel
def rows_left(up_indptr, needs, direction, labels):
    """
    Move the labels of the arcs that are needed in one direction to the begin.

    Parameters
    ----------
    up_indptr
        As in `customize`.
    needs : uint8 array of shape (n_pairs,)
        From `relax_others`. Arcs that lead nowhere lose the direction, too.
    direction : {_UP, _DOWN}
    labels : uint64 array of shape (n_pairs,)
        Overwritten.

    Returns
    -------
    int64 array of shape (n + 1,)
        Where the arcs of each vertex begin.
    """
    indptr = np.zeros(up_indptr.size, np.int64)
    at = 0
    for v in range(up_indptr.size - 1):
        for pair in range(up_indptr[v], up_indptr[v + 1]):
            if labels[pair] >= _FAR:
                needs[pair] &= ~direction
            elif needs[pair] & direction:
                labels[at] = labels[pair]
                at += 1
        indptr[v + 1] = at
    return indptr


@kernel
def heads_left(up_heads, needs, direction, heads):
    """Write the higher-ranked vertices of the arcs of `rows_left` to `heads`."""
    at = 0
    for pair in range(up_heads.size):
        if needs[pair] & direction:
            heads[at] = up_heads[pair]
            at += 1
