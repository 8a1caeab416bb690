"""
Compute contraction orders of street graphs by nested dissection.

A small set of vertices, the separator, cuts the graph into two parts. The vertices of the separator come last in the
order, and both parts are dissected in the same way. To find a separator, the vertices are sorted along a compass
direction, and a maximum flow with vertex capacities of one is pushed from the first quarter of the vertices to the
last. The minimum cut of this flow is a separator; the smallest over all directions is used (inertial flow). The order
depends on the structure and the coordinates of the graph only, not on its weights.

References
----------
A. George, "Nested dissection of a regular finite element mesh", SIAM J. Numerical Analysis 10 (1973).
A. Schild, C. Sommer, "On balanced separators in road networks", SEA 2015 (inertial flow).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel

#: Predecessor of the first vertex of a flow path and successor of the last.
_SOURCE = np.int32(-2)
_SINK = np.int32(-3)


class Graph(NamedTuple):
    """An undirected graph; row `v` begins at ``indptr[v]`` and has ``degree[v]`` entries."""

    indptr: np.ndarray  # int32 (n + 1,)
    indices: np.ndarray  # int32
    degree: np.ndarray  # int32 (n,)


class Flow(NamedTuple):
    """
    Flow paths, and the working arrays of the search for the next one.

    Each vertex `v` is split into two nodes: flow enters at ``2 * v`` and leaves at ``2 * v + 1``.
    """

    before: np.ndarray  # int32 (n,), previous vertex on the flow path through each used vertex
    after: np.ndarray  # int32 (n,), next vertex
    used: np.ndarray  # bool (n,), whether a flow path passes the vertex
    seen: np.ndarray  # int32 (2 * n,), stamp of the last pass that came to the node
    parent: np.ndarray  # int32 (2 * n,)
    root: np.ndarray  # int32 (2 * n,), source of the tree of the node
    queue: np.ndarray  # int32 (2 * n,)
    done: np.ndarray  # int32 (n,), stamp of the last pass in which the tree of a source found a path


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
def _flow(graph, part, name, vertices, n_sources, is_target, most, paths, stamp):
    """
    Compute a maximum flow with unit vertex capacities inside one part of the graph.

    Each pass grows one search tree from every source and augments at most one path per tree; trees are disjoint, so
    these paths do not meet.

    Parameters
    ----------
    graph : Graph
    part, name : int32 array of shape (n,) and int32
        Number of the part that each vertex belongs to, and the part to search.
    vertices, n_sources : int32 array and int
        Vertices of the part; the first `n_sources` are the sources.
    is_target : bool array of shape (n,)
        Vertices where the flow may end.
    most : int
        Flow at which to give up.
    paths : Flow
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
    before, after, used, seen, parent, root, queue, done = paths
    flow = 0
    while True:
        stamp += 1
        last = 0
        for i in range(n_sources):
            s = vertices[i]
            seen[2 * s] = stamp
            parent[2 * s] = -1
            root[2 * s] = s
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
def dissect(graph, lines):
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
    """
    n = graph.indptr.size - 1
    part = np.full(n, -1, np.int32)
    used = np.zeros(n, np.bool_)
    seen = np.zeros(2 * n, np.int32)
    paths = Flow(
        before=np.empty(n, np.int32),
        after=np.empty(n, np.int32),
        used=used,
        seen=seen,
        parent=np.empty(2 * n, np.int32),
        root=np.empty(2 * n, np.int32),
        queue=np.empty(2 * n, np.int32),
        done=np.zeros(n, np.int32),
    )
    is_target = np.zeros(n, np.bool_)
    side = np.empty(n, np.int8)
    held = np.empty(n, np.int32)
    stack_begin = np.empty(128, np.int64)
    stack_end = np.empty(128, np.int64)
    stack_begin[0], stack_end[0] = 0, lines.shape[1]
    top = 1
    name = np.int32(0)
    stamp = np.int64(0)
    while top:
        top -= 1
        begin, end = stack_begin[top], stack_end[top]
        size = end - begin
        if size <= 2:
            continue
        name += 1
        for i in range(begin, end):
            part[lines[0, i]] = name
        quarter = max(1, size // 4)
        best = size
        for direction in range(lines.shape[0]):
            line = lines[direction, begin:end]
            for i in range(size):
                used[line[i]] = False
                is_target[line[i]] = i >= size - quarter
            flow, stamp = _flow(graph, part, name, line, quarter, is_target, best, paths, stamp)
            if flow < best:
                best = flow
                for v in line:
                    side[v] = 0 if seen[2 * v + 1] == stamp else (2 if seen[2 * v] == stamp else 1)
        if best == size:
            continue
        # Each line is partitioned in place by a stable sort, so that both parts remain sorted along it.
        n_first = n_second = 0
        for direction in range(lines.shape[0]):
            line = lines[direction, begin:end]
            for i in range(size):
                held[i] = line[i]
            n_first = n_second = 0
            for i in range(size):
                n_first += side[held[i]] == 0
                n_second += side[held[i]] == 1
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
        middle = begin + n_first
        last = middle + n_second
        # The smaller part is cut next, which bounds the height of the stack by the logarithm of the number of vertices.
        if n_first > n_second:
            stack_begin[top], stack_end[top] = begin, middle
            stack_begin[top + 1], stack_end[top + 1] = middle, last
        else:
            stack_begin[top], stack_end[top] = middle, last
            stack_begin[top + 1], stack_end[top + 1] = begin, middle
        top += 2
