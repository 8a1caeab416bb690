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
from typing import Any

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.records import Arcs
from traveltime_lab.kernels.unreached import UNREACHED

#: Directions in which the arc of a pair is needed, as bits.
_UP, _DOWN, _BOTH = np.uint8(1), np.uint8(2), np.uint8(3)
#: Vertices from which several threads are worth it (assumed: fewer take some milliseconds).
_MANY = 20_000


def customize(
    slots: Any,
    weights: Any,
    up_indptr: Any,
    up_heads: Any,
    side_by_side: Callable[[Sequence[Callable[[], None]]], object],
    n_threads: int = 1,
) -> tuple[Arcs, Arcs]:
    """
    Return the labels of a hierarchy, without the arcs that no shortest path needs.

    Parameters
    ----------
    slots : int64 array of shape (n_arcs,)
        From `traveltime_lab.kernels.street.contraction.slots_of_arcs`.
    weights : int64 array of shape (n_arcs,)
        Labels, non-negative.
    up_indptr, up_heads
        From `traveltime_lab.kernels.street.contraction.fill`.
    side_by_side : callable
        Runs functions in parallel.
    n_threads : int, default 1
        Number of threads; labels do not depend on it.

    Returns
    -------
    up, down : Arcs
        The arcs from each vertex to higher ones, and from higher vertices to each vertex.
    """
    n, m = up_indptr.size - 1, up_heads.size
    n_parts = 2 * n_threads if n_threads > 1 and n >= _MANY else 1
    part_of = divide(up_indptr, up_heads, n_parts)
    order = np.argsort(part_of, kind="stable").astype(np.int32)
    *parts, top = np.split(order, np.searchsorted(part_of[order], np.arange(1, n_parts + 1)))
    up, down = (np.full(m, UNREACHED, np.int64) for _ in range(2))
    put_weights(slots, weights, up, down)
    waiting, following, pair_of = np.full(n, -1, np.int32), np.empty(n, np.int32), up_indptr[:n].copy()
    wait_for = waiting, following, pair_of
    side_by_side([partial(relax_lower, part, part_of, up_indptr, up_heads, up, down, *wait_for) for part in parts])
    wait_for_top(part_of, n_parts, up_indptr, up_heads, *wait_for)
    relax_lower(top, part_of, up_indptr, up_heads, up, down, *wait_for)
    needs = np.full(m, _BOTH)
    relax_others(top, up_indptr, up_heads, up, down, needs)
    side_by_side([partial(relax_others, part, up_indptr, up_heads, up, down, needs) for part in parts])
    # One after the other, and not copied: in a large network these arrays are most of the memory.
    made = []
    for labels, needed in ((up, _UP), (down, _DOWN)):
        heads = np.empty(m, np.int32)
        indptr = keep(up_indptr, up_heads, needs, needed, labels, heads)
        for array in (labels, heads):
            array.resize(int(indptr[-1]), refcheck=False)
        made.append(Arcs(indptr, heads, labels))
    return made[0], made[1]


@kernel
def divide(up_indptr, up_heads, n_parts):
    """
    Return the part of each vertex: subtrees of the elimination tree with about equal numbers of triangles.

    Parameters
    ----------
    up_indptr, up_heads
        As in `customize`.
    n_parts : int

    Returns
    -------
    int32 array of shape (n,)
        0 to ``n_parts - 1``, and `n_parts` for the vertices above them.
    """
    n = up_indptr.size - 1
    work, total = np.zeros(n), 0.0
    for v in range(n):
        degree = up_indptr[v + 1] - up_indptr[v]
        work[v] += 1.0 + 0.5 * degree * degree
        if degree > 0:
            work[up_heads[up_indptr[v]]] += work[v]
        else:
            total += work[v]
    part_of = np.empty(n, np.int32)
    load = np.zeros(n_parts)
    for v in range(n - 1, -1, -1):
        parent = up_heads[up_indptr[v]] if up_indptr[v] < up_indptr[v + 1] else -1
        if parent >= 0 and part_of[parent] < n_parts:
            part_of[v] = part_of[parent]
        elif n_parts > 1 and work[v] > total / (2 * n_parts):
            part_of[v] = n_parts
        else:
            part_of[v] = np.argmin(load)
            load[part_of[v]] += work[v]
    return part_of


@kernel
def put_weights(slots, weights, up, down):
    """
    Write the smallest weight of each slot into the labels, which are `UNREACHED` before.

    Parameters
    ----------
    slots, weights
        As in `customize`.
    up, down : int64 arrays of shape (n_pairs,)
    """
    for arc in range(slots.size):
        slot = slots[arc]
        if slot >= 0:
            if slot & 1 == 0:
                up[slot >> 1] = min(up[slot >> 1], weights[arc])
            else:
                down[slot >> 1] = min(down[slot >> 1], weights[arc])


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
    up, down : int64 arrays of shape (n_pairs,)
        From `put_weights`; lowered in place.
    waiting : int32 array of shape (n,)
        The first vertex that waits at each one, -1 for none.
    following : int32 array of shape (n,)
        The next vertex that waits at the same one as each vertex, -1 for none.
    pair_of : int64 array of shape (n,)
        The pair of each vertex and the one where it waits, or would wait; the end of its row after the last.
    """
    pair_to = np.full(part_of.size, -1, np.int32)
    for u in vertices:
        part = part_of[u]
        for pair in range(up_indptr[u], up_indptr[u + 1]):
            pair_to[up_heads[pair]] = pair
        v = waiting[u]
        while v >= 0:
            then = following[v]
            below, last = pair_of[v], up_indptr[v + 1]
            to_v, from_v = down[below], up[below]
            # Heads ascend, so the entries after u in the row of v rank higher than u.
            if to_v < UNREACHED:
                for pair in range(below + 1, last):
                    mine = pair_to[up_heads[pair]]
                    up[mine] = min(up[mine], to_v + up[pair])
            if from_v < UNREACHED:
                for pair in range(below + 1, last):
                    mine = pair_to[up_heads[pair]]
                    down[mine] = min(down[mine], down[pair] + from_v)
            pair_of[v] = below + 1
            if below + 1 < last:
                _wait(v, up_heads[below + 1], part, part_of, waiting, following)
            v = then
        if up_indptr[u] < up_indptr[u + 1]:
            _wait(u, up_heads[up_indptr[u]], part, part_of, waiting, following)


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
def relax_others(vertices, up_indptr, up_heads, up, down, needs):
    """
    Relax the triangles of vertices through others, and find the arcs that a path through a third vertex replaces.

    Parameters
    ----------
    vertices : int32 array
        In increasing order; the vertices above them in the elimination tree are among them, or done.
    up_indptr, up_heads
        As in `customize`.
    up, down : int64 arrays of shape (n_pairs,)
        From `relax_lower`; lowered in place.
    needs : uint8 array of shape (n_pairs,)
        `_BOTH`; lowered to the directions in which the arc is needed. Those of unreached arcs mean nothing.
    """
    # Sums of two labels are less than 2**64: as numbers without a sign, those of unreached ones compare well, too, and
    # no branch depends on a label.
    up, down = up.view(np.uint64), down.view(np.uint64)
    unreached = np.uint64(UNREACHED)
    # From the top down, so that pairs of higher-ranked vertices have their final labels already. A path through a third
    # vertex replaces an arc only if its other arc has a positive label. Otherwise two arcs could replace each other.
    for x in vertices[::-1]:
        last = up_indptr[x + 1]
        for xy in range(up_indptr[x], last - 1):
            yz = up_indptr[up_heads[xy]]
            up_xy, down_xy, needs_xy = up[xy], down[xy], needs[xy]
            for xz in range(xy + 1, last):
                # The higher-ranked neighbours of x are neighbours of each other, and rows ascend.
                while up_heads[yz] != up_heads[xz]:
                    yz += 1
                up_yz = up[yz] if up[yz] > 0 else unreached
                down_yz = down[yz] if down[yz] > 0 else unreached
                up_xz, down_xz = up[xz], down[xz]
                way = up_xz + down_yz
                needs_xy &= ~np.uint8(way <= up_xy)
                up_xy = min(up_xy, way)
                way = up_yz + down_xz
                needs_xy &= ~np.uint8(np.uint8(way <= down_xy) << 1)
                down_xy = min(down_xy, way)
                way_up, way_down = up_xy + up_yz, down_yz + down_xy
                up[xz], down[xz] = min(up_xz, way_up), min(down_xz, way_down)
                needs[xz] &= ~np.uint8(np.uint8(way_up <= up_xz) | np.uint8(np.uint8(way_down <= down_xz) << 1))
            up[xy], down[xy], needs[xy] = up_xy, down_xy, needs_xy


@kernel
def keep(up_indptr, up_heads, needs, needed, labels, heads):
    """
    Move the arcs of one direction that are needed to the beginning, and return where those of each vertex begin.

    Parameters
    ----------
    up_indptr, up_heads
        As in `customize`.
    needs : uint8 array of shape (n_pairs,)
        From `relax_others`.
    needed : {_UP, _DOWN}
        The direction.
    labels : int64 array of shape (n_pairs,)
        Overwritten with the labels of the arcs.
    heads : int32 array of shape (n_pairs,)
        Overwritten with their higher-ranked vertices.

    Returns
    -------
    int64 array of shape (n + 1,)
    """
    indptr = np.zeros(up_indptr.size, np.int64)
    at = 0
    for v in range(up_indptr.size - 1):
        for pair in range(up_indptr[v], up_indptr[v + 1]):
            if needs[pair] & needed and labels[pair] < UNREACHED:
                heads[at] = up_heads[pair]
                labels[at] = labels[pair]
                at += 1
        indptr[v + 1] = at
    return indptr
