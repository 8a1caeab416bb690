"""
Compute contraction orders of street graphs by nested dissection.

A small set of vertices, the separator, cuts the graph into two parts. The vertices of the separator come last in the
order, and both parts are dissected in the same way. To find a separator, the vertices are sorted along a compass
direction, and a maximum flow with vertex capacities of one is pushed from the first quarter of the vertices to the
last. The minimum cut of this flow is a separator; the smallest over all directions is used (inertial flow). The order
depends on the structure and the coordinates of the graph only, not on its weights.

The two parts of a cut have nothing in common, so that several threads dissect parts side by side, in the same arrays.

References
----------
A. George, "Nested dissection of a regular finite element mesh", SIAM J. Numerical Analysis 10 (1973).
A. Schild, C. Sommer, "On balanced separators in road networks", SEA 2015 (inertial flow).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel

#: Predecessor of the first vertex of a flow path and successor of the last.
_SOURCE = np.int32(-2)
_SINK = np.int32(-3)
#: How often all parts are cut before each thread dissects parts of its own, for each doubling of the threads and once
#: more: four parts for each thread, as some are larger than others.
_MORE_CUTS = 2
#: Vertices from which several threads are worth it (assumed: fewer take some milliseconds).
MANY = 20_000


class Graph(NamedTuple):
    """An undirected graph; row `v` begins at ``indptr[v]`` and has ``degree[v]`` entries."""

    indptr: np.ndarray  # int32 (n + 1,)
    indices: np.ndarray  # int32
    degree: np.ndarray  # int32 (n,)


class Work(NamedTuple):
    """
    Flow paths, and the working arrays of the search for the next one.

    Each vertex `v` is split into two nodes: flow enters at ``2 * v`` and leaves at ``2 * v + 1``. A part uses the
    values of its vertices, and of `queue` and `held` those between its borders.
    """

    before: np.ndarray  # int32 (n,), previous vertex on the flow path through each used vertex
    after: np.ndarray  # int32 (n,), next vertex
    used: np.ndarray  # bool (n,), whether a flow path passes the vertex
    is_source: np.ndarray  # bool (n,), whether the flow may begin at the vertex
    is_target: np.ndarray  # bool (n,), whether it may end there
    seen: np.ndarray  # int32 (2 * n,), stamp of the last pass that came to the node
    parent: np.ndarray  # int32 (2 * n,)
    root: np.ndarray  # int32 (2 * n,), source of the tree of the node
    done: np.ndarray  # int32 (n,), stamp of the last pass in which the tree of a source found a path
    part: np.ndarray  # int32 (n,), where the part of the vertex begins
    side: np.ndarray  # int8 (n,), side of the cut: first, second, or 2 for the separator
    queue: np.ndarray  # int32 (2 * n_lines,)
    held: np.ndarray  # int32 (n_lines,)


@kernel
def peel(indptr, indices, degree):
    """
    Contract the vertices with at most two neighbours, one after the other.

    The neighbours of a contracted vertex become neighbours of each other, so the graph does not grow.

    Parameters
    ----------
    indptr, indices : int32 arrays
        CSR of an undirected graph without loops and parallel edges. `indices` is overwritten with the remaining graph.
    degree : int32 array of shape (n,)
        Overwritten with the number of remaining neighbours of each vertex, -1 for contracted vertices.

    Returns
    -------
    int32 array
        The contracted vertices in the order of their contraction.
    """
    n = indptr.size - 1
    queue = np.empty(n, np.int32)
    last = 0
    for v in range(n):
        degree[v] = indptr[v + 1] - indptr[v]
        if degree[v] <= 2:
            queue[last] = v
            last += 1
    first = 0
    while first < last:
        v = queue[first]
        first += 1
        a = indices[indptr[v]] if degree[v] > 0 else np.int32(-1)
        b = indices[indptr[v] + 1] if degree[v] > 1 else np.int32(-1)
        degree[v] = -1
        for side in range(2):
            u, w = (a, b) if side == 0 else (b, a)
            if u < 0:
                continue
            begin, end = indptr[u], indptr[u] + degree[u]
            at_v, knows = -1, w < 0
            for k in range(begin, end):
                if indices[k] == v:
                    at_v = k
                elif indices[k] == w:
                    knows = True
            if knows:
                indices[at_v] = indices[end - 1]
                degree[u] -= 1
                if degree[u] == 2:
                    queue[last] = u
                    last += 1
            else:
                indices[at_v] = w
    return queue[:last].copy()


@kernel
def _flow(graph, work, line, name, n_sources, queue, most, stamp):
    """
    Compute a maximum flow with unit vertex capacities inside one part of the graph.

    Each pass grows one search tree from every source that has neighbours elsewhere, and augments at most one path per
    tree; trees are disjoint, so these paths do not meet.

    Parameters
    ----------
    graph : Graph
    work : Work
        Its `used`, `is_source` and `is_target` are those of this flow.
    line, name, n_sources : int32 array and ints
        Vertices of the part, and its name; the first `n_sources` are the sources.
    queue : int32 array of shape (2 * n_vertices,)
    most : int
        Flow at which to give up.
    stamp : int
        Number of the previous pass.

    Returns
    -------
    flow : int
        Number of paths. If it is `most` or more, the flow may not be maximal.
    stamp : int
        Number of the last pass. ``seen[node] == stamp`` where the residual graph leads from a source to the node.
    """
    indptr, indices, degree = graph
    before, after, used, is_source, is_target, seen, parent, root, done, part = work[:10]
    flow = 0
    while True:
        stamp += 1
        last = 0
        for i in range(n_sources):
            s = line[i]
            seen[2 * s] = stamp
            parent[2 * s] = -1
            root[2 * s] = s
            is_inner = True
            for k in range(indptr[s], indptr[s] + degree[s]):
                if part[indices[k]] == name and not is_source[indices[k]]:
                    is_inner = False
                    break
            if is_inner:
                # Its paths begin at other sources just as well.
                seen[2 * s + 1] = stamp
            else:
                queue[last] = 2 * s
                last += 1
        first = 0
        grown = 0
        while first < last:
            node = queue[first]
            first += 1
            tree = root[node]
            if done[tree] == stamp:
                continue
            v = node >> 1
            if node & 1 == 0:
                # Pass the vertex if it is free, otherwise go back along the flow path that uses it.
                if not used[v]:
                    onward = node + 1
                elif before[v] >= 0:
                    onward = 2 * before[v] + 1
                else:
                    continue
                if seen[onward] != stamp:
                    seen[onward] = stamp
                    parent[onward] = node
                    root[onward] = tree
                    queue[last] = onward
                    last += 1
                continue
            if is_target[v] and not (used[v] and after[v] == _SINK):
                done[tree] = stamp
                grown += 1
                after[v] = _SINK
                at = node
                while True:
                    came = parent[at]
                    if came < 0:
                        before[at >> 1] = _SOURCE
                        break
                    if came >> 1 == at >> 1:
                        used[at >> 1] = at & 1 == 1
                    elif at & 1 == 0:
                        after[came >> 1] = at >> 1
                        before[at >> 1] = came >> 1
                    at = came
                continue
            if used[v] and seen[node - 1] != stamp:
                seen[node - 1] = stamp
                parent[node - 1] = node
                root[node - 1] = tree
                queue[last] = node - 1
                last += 1
            for k in range(indptr[v], indptr[v] + degree[v]):
                w = indices[k]
                if part[w] == name and seen[2 * w] != stamp:
                    seen[2 * w] = stamp
                    parent[2 * w] = node
                    root[2 * w] = tree
                    queue[last] = 2 * w
                    last += 1
        flow += grown
        if grown == 0 or flow >= most:
            return flow, stamp


@kernel
def cut(graph, work, lines, begin, end, stamp):
    """
    Cut a part in two.

    Parameters
    ----------
    graph : Graph
    work : Work
    lines : int32 array of shape (n_directions, n_vertices)
        The vertices sorted along each compass direction. Those of the part are overwritten: with the vertices of the
        first side, those of the second, and the separator.
    begin, end : int
        Where the vertices of the part are.
    stamp : int
        Number of the last pass of this part or of those that it is a part of.

    Returns
    -------
    middle, last : int
        Where the first and the second side end; both `begin` if the part is a clique.
    stamp : int
    """
    size = end - begin
    if size <= 2:
        return begin, begin, stamp
    name, quarter, best = np.int32(begin), max(1, size // 4), size
    queue, held = work.queue[2 * begin : 2 * end], work.held[begin:end]
    seen, side = work.seen, work.side
    for direction in range(lines.shape[0]):
        line = lines[direction, begin:end]
        for i in range(size):
            v = line[i]
            work.used[v] = False
            work.is_source[v] = i < quarter
            work.is_target[v] = i >= size - quarter
        flow, stamp = _flow(graph, work, line, name, quarter, queue, best, stamp)
        if flow < best:
            best = flow
            for v in line:
                side[v] = 0 if seen[2 * v + 1] == stamp else (2 if seen[2 * v] == stamp else 1)
    if best == size:
        return begin, begin, stamp
    n_first, n_second = divide(lines, side, begin, end, held)
    middle, last = begin + n_first, begin + n_first + n_second
    # The first side keeps the name of the part, as it begins where that does.
    for i in range(middle, end):
        work.part[lines[0, i]] = middle if i < last else -1
    return middle, last, stamp


@kernel
def divide(lines, side, begin, end, held):
    """
    Sort the vertices of a part by side, stably: along each line they remain sorted on each side.

    Parameters
    ----------
    lines : int32 array of shape (n_directions, n_vertices)
        Overwritten from `begin` to `end`.
    side : int8 array
        0, 1 or 2 for each vertex.
    begin, end : int
    held : int32 array of shape (end - begin,)
        Overwritten.

    Returns
    -------
    n_first, n_second : int
        Number of vertices with 0 and 1.
    """
    size = end - begin
    n_first = n_second = 0
    for direction in range(lines.shape[0]):
        line = lines[direction, begin:end]
        n_first = n_second = 0
        for i in range(size):
            held[i] = line[i]
            n_first += side[line[i]] == 0
            n_second += side[line[i]] == 1
        at_first, at_second, at_cut = 0, n_first, n_first + n_second
        for i in range(size):
            v = held[i]
            if side[v] == 0:
                line[at_first] = v
                at_first += 1
            elif side[v] == 1:
                line[at_second] = v
                at_second += 1
            else:
                line[at_cut] = v
                at_cut += 1
    return n_first, n_second


@kernel
def dissect_part(graph, work, lines, begin, end, stamp):
    """Cut a part, its sides, their sides and so on; see `cut`."""
    stack_begin = np.empty(128, np.int64)
    stack_end = np.empty(128, np.int64)
    stack_begin[0], stack_end[0] = begin, end
    top = 1
    while top:
        top -= 1
        begin, end = stack_begin[top], stack_end[top]
        middle, last, stamp = cut(graph, work, lines, begin, end, stamp)
        # The smaller part is cut next, which bounds the height of the stack by the logarithm of the number of vertices.
        is_larger = middle - begin > last - middle
        stack_begin[top], stack_end[top] = (begin, middle) if is_larger else (middle, last)
        stack_begin[top + 1], stack_end[top + 1] = (middle, last) if is_larger else (begin, middle)
        if last > begin:
            top += 2


def dissect(
    graph: Graph,
    lines: Any,
    side_by_side: Callable[[Sequence[Callable[[], Any]]], list[Any]],
    n_threads: int = 1,
    many: int = MANY,
) -> None:
    """
    Order vertices by nested dissection.

    Parameters
    ----------
    graph : Graph
        The graph after `peel`.
    lines : int32 array of shape (n_directions, n_vertices)
        The vertices to order, sorted along each compass direction. Overwritten: afterwards each row holds the vertices
        in a contraction order. The rows differ only in how they order the vertices of one separator or of one part that
        was not cut further.
    side_by_side : callable
        Runs functions in parallel and returns their results.
    n_threads : int, default 1
        Number of threads; the order does not depend on it.
    many : int, default 20,000
        Number of vertices from which several threads are used.
    """
    n, size = graph.indptr.size - 1, lines.shape[1]
    work = Work(
        before=np.empty(n, np.int32),
        after=np.empty(n, np.int32),
        used=np.empty(n, np.bool_),
        is_source=np.empty(n, np.bool_),
        is_target=np.empty(n, np.bool_),
        seen=np.zeros(2 * n, np.int32),
        parent=np.empty(2 * n, np.int32),
        root=np.empty(2 * n, np.int32),
        done=np.zeros(n, np.int32),
        part=np.full(n, -1, np.int32),
        side=np.empty(n, np.int8),
        queue=np.empty(2 * size, np.int32),
        held=np.empty(size, np.int32),
    )

    work.part[lines[0]] = 0

    def cut_part(begin: int, end: int, stamp: int) -> list[tuple[int, ...]]:
        middle, last, stamp = cut(graph, work, lines, begin, end, stamp)
        return [(begin, middle, stamp), (middle, last, stamp)]

    in_parts((0, size, 0), cut_part, partial(dissect_part, graph, work, lines), side_by_side, n_threads, many)


def in_parts(
    whole: tuple[int, ...],
    cut_part: Callable[..., list[tuple[int, ...]]],
    dissect_part: Callable[..., object],
    side_by_side: Callable[[Sequence[Callable[[], Any]]], list[Any]],
    n_threads: int,
    many: int,
) -> None:
    """
    Cut a whole until there are parts for all threads, and dissect these side by side.

    Parameters
    ----------
    whole : tuple of int
        First vertex, end, and what else the functions need.
    cut_part, dissect_part : callables
        Called with the values of a part. The first one returns two parts, which may be empty.
    side_by_side, n_threads, many
        See `dissect`.
    """
    parts = [whole]
    if n_threads > 1 and whole[1] - whole[0] >= many:
        for _ in range((n_threads - 1).bit_length() + _MORE_CUTS):
            cuts = side_by_side([partial(cut_part, *part) for part in parts])
            parts = [part for both in cuts for part in both if part[1] > part[0]]
    # The largest first, so that no thread begins with it when the others are done.
    parts.sort(key=lambda part: part[0] - part[1])
    side_by_side([partial(dissect_part, *part) for part in parts])
