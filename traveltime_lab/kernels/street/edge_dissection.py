"""
Compute contraction orders of the directed edges of a street graph by nested dissection.

A state of a graph with turns is a directed edge, and has arcs to the edges that one may turn to. To cut such a graph,
it is enough to cut the street graph: when all states of the edges between two sets of nodes are removed, no arc leads
from the states on one side to those on the other. So the separators are minimum cuts of the undirected street graph, in
which the capacity of an edge is its number of states. It has a third of the vertices of the graph of states and no
split vertices, so that its flows take a fifth of the time; contraction orders are as good.

Otherwise the dissection is that of `traveltime_lab.kernels.street.dissection`.

References
----------
V. Buchhold, D. Wagner, T. Zeitz, M. Zündorf, "Customizable contraction hierarchies with turn costs", ATMOS 2020
(orders of states from edge cuts).
A. Schild, C. Sommer, "On balanced separators in road networks", SEA 2015 (inertial flow).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.dissection import MANY, divide, in_parts

#: More than any cut.
_MOST = np.int64(1) << 40


class Streets(NamedTuple):
    """
    An undirected graph in which several edges may join two nodes.

    Row `v` begins at ``indptr[v]`` and has ``degree[v]`` entries, which become fewer when edges are cut.
    """

    indptr: np.ndarray  # int32 (n + 1,)
    degree: np.ndarray  # int32 (n,)
    heads: np.ndarray  # int32 (2 * m,)
    directed: np.ndarray  # int32 (2 * m,), 2 * edge where the edge begins at the node, 2 * edge + 1 where it ends
    tails: np.ndarray  # int32 (2 * m,), node that each directed edge begins at
    capacity: np.ndarray  # int32 (m,)


class Work(NamedTuple):
    """
    Flow, and the working arrays of the search for the next path.

    A part uses the values of its nodes and edges, and of `queue` and `held` those between its borders.
    """

    flow: np.ndarray  # int32 (m,), in the direction of each edge
    is_source: np.ndarray  # bool (n,)
    is_target: np.ndarray  # bool (n,)
    seen: np.ndarray  # int32 (n,), stamp of the last pass that came to the node
    parent: np.ndarray  # int32 (n,), directed edge by which it came
    root: np.ndarray  # int32 (n,), source of the tree of the node
    done: np.ndarray  # int32 (n,), stamp of the last pass in which the tree of a source found a path
    side: np.ndarray  # int8 (n,)
    queue: np.ndarray  # int32 (n_lines,)
    held: np.ndarray  # int32 (n_lines,)


@kernel
def _starts(tails, heads, n_nodes):
    """Return where the edges of each node begin, if each edge is listed at both ends; int32 array."""
    indptr = np.zeros(n_nodes + 1, np.int32)
    for e in range(tails.size):
        indptr[tails[e] + 1] += 1
        indptr[heads[e] + 1] += 1
    for v in range(n_nodes):
        indptr[v + 1] += indptr[v]
    return indptr


@kernel
def peel(tails, heads, capacity, n_nodes):
    """
    Remove dead ends, and join the edges at nodes that have two.

    Parameters
    ----------
    tails, heads : int32 arrays of shape (m,)
        Ends of each edge. Overwritten with those of the joined edge, where it remains.
    capacity : int32 array of shape (m,)
        The edge with less remains of two that are joined.
    n_nodes : int

    Returns
    -------
    peeled, kept : int32 arrays
        Edges that are contracted first, in this order, and those that remain.
    """
    m = tails.size
    indptr = _starts(tails, heads, n_nodes)
    edges = np.empty(2 * m, np.int32)
    degree = np.zeros(n_nodes, np.int32)
    peeled, n_peeled = np.empty(m, np.int32), 0
    is_gone = np.zeros(m, np.bool_)
    for e in range(m):
        if tails[e] == heads[e]:
            # No other edge needs a loop.
            is_gone[e] = True
            peeled[n_peeled] = e
            n_peeled += 1
            continue
        for v in (tails[e], heads[e]):
            edges[indptr[v] + degree[v]] = e
            degree[v] += 1
    queue, last = np.empty(n_nodes, np.int32), 0
    for v in range(n_nodes):
        if degree[v] <= 2:
            queue[last] = v
            last += 1
    first = 0
    while first < last:
        v = queue[first]
        first += 1
        if degree[v] == 0:
            continue
        e = edges[indptr[v]]
        f = edges[indptr[v] + 1] if degree[v] == 2 else np.int32(-1)
        if f >= 0 and capacity[f] > capacity[e]:
            e, f = f, e
        # Edge `e` goes; `u` is where it leads, and `w` where `f` does.
        u = tails[e] + heads[e] - v
        w = tails[f] + heads[f] - v if f >= 0 else np.int32(-1)
        degree[v] = 0
        is_gone[e] = True
        peeled[n_peeled] = e
        n_peeled += 1
        if f >= 0 and u != w:
            for k in range(indptr[u], indptr[u] + degree[u]):
                if edges[k] == e:
                    edges[k] = f
                    break
            tails[f], heads[f] = u, w
            continue
        if f >= 0:
            # Both lead to the same node.
            is_gone[f] = True
            peeled[n_peeled] = f
            n_peeled += 1
        before, at = degree[u], indptr[u]
        for k in range(indptr[u], indptr[u] + degree[u]):
            if edges[k] != e and edges[k] != f:
                edges[at] = edges[k]
                at += 1
        degree[u] = at - indptr[u]
        if before > 2 and degree[u] <= 2:
            queue[last] = u
            last += 1
    kept, n_kept = np.empty(m - n_peeled, np.int32), 0
    for e in range(m):
        if not is_gone[e]:
            kept[n_kept] = e
            n_kept += 1
    return peeled[:n_peeled].copy(), kept


@kernel
def streets_of(tails, heads, capacity, n_nodes):
    """
    Return a graph of edges.

    Parameters
    ----------
    tails, heads : int32 arrays of shape (m,)
        Ends of each edge, which differ.
    capacity : int32 array of shape (m,)
    n_nodes : int

    Returns
    -------
    Streets
    """
    m = tails.size
    indptr = _starts(tails, heads, n_nodes)
    degree = np.zeros(n_nodes, np.int32)
    others, directed, both = np.empty(2 * m, np.int32), np.empty(2 * m, np.int32), np.empty(2 * m, np.int32)
    for d in range(2 * m):
        v, w = (tails[d >> 1], heads[d >> 1]) if d & 1 == 0 else (heads[d >> 1], tails[d >> 1])
        at = indptr[v] + degree[v]
        others[at], directed[at], both[d] = w, d, v
        degree[v] += 1
    return Streets(indptr, degree, others, directed, both, capacity)


@kernel
def _flow(streets, work, line, n_sources, queue, most, stamp):
    """
    Compute a maximum flow inside one part of the graph.

    Each pass grows one search tree from every source that has neighbours elsewhere, and augments at most one path per
    tree by one; trees are disjoint, so these paths do not meet.

    Parameters
    ----------
    streets : Streets
    work : Work
        Its `flow`, `is_source` and `is_target` are those of this flow.
    line, n_sources : int32 array and int
        Nodes of the part; the first `n_sources` are the sources.
    queue : int32 array of shape (n_nodes of the part,)
    most : int
        Flow at which to give up.
    stamp : int
        Number of the previous pass.

    Returns
    -------
    total : int
        The flow. If it is `most` or more, it may not be maximal.
    stamp : int
        Number of the last pass. ``seen[v] == stamp`` where the residual graph leads from a source to node `v`.
    """
    indptr, degree, heads, directed, tails, capacity = streets
    flow, is_source, is_target, seen, parent, root, done = work[:7]
    total = np.int64(0)
    while True:
        stamp += 1
        last = 0
        for i in range(n_sources):
            s = line[i]
            seen[s] = stamp
            parent[s] = -1
            root[s] = s
            for k in range(indptr[s], indptr[s] + degree[s]):
                if not is_source[heads[k]]:
                    queue[last] = s
                    last += 1
                    break
        first = 0
        grown = np.int64(0)
        while first < last:
            v = queue[first]
            first += 1
            tree = root[v]
            if done[tree] == stamp:
                continue
            for k in range(indptr[v], indptr[v] + degree[v]):
                w = heads[k]
                if seen[w] == stamp:
                    continue
                d = directed[k]
                if (flow[d >> 1] if d & 1 == 0 else -flow[d >> 1]) >= capacity[d >> 1]:
                    continue
                if not is_target[w]:
                    seen[w] = stamp
                    parent[w] = d
                    root[w] = tree
                    queue[last] = w
                    last += 1
                    continue
                done[tree] = stamp
                grown += 1
                while d >= 0:
                    flow[d >> 1] += 1 if d & 1 == 0 else -1
                    d = parent[tails[d]]
                break
        total += grown
        if grown == 0 or total >= most:
            return total, stamp


@kernel
def cut(streets, work, lines, begin, end, before, order, stamp):
    """
    Cut a part in two, and write the edges that are cut.

    Parameters
    ----------
    streets : Streets
        Edges that are cut are removed from its rows.
    work : Work
    lines : int32 array of shape (n_directions, n_nodes)
        The nodes sorted along each compass direction. Those of the part are overwritten: with the nodes of the first
        side, and those of the second.
    begin, end : int
        Where the nodes of the part are.
    before : int
        Where the edges of the part end in the order.
    order : int32 array of shape (m,)
        The edges in a contraction order. Those that are cut come last of the part.
    stamp : int
        Number of the last pass of this part or of those that it is a part of.

    Returns
    -------
    middle : int
        Where the nodes of the first side end.
    first_before, second_before : int
        Where the edges of either side end in the order.
    stamp : int
    """
    indptr, degree, heads, directed = streets[:4]
    side, held = work.side, work.held[begin:end]
    size = end - begin
    if size == 2:
        side[lines[0, begin]], side[lines[0, begin + 1]] = 0, 1
    else:
        quarter, best = max(1, size // 4), _MOST
        for direction in range(lines.shape[0]):
            line = lines[direction, begin:end]
            for i in range(size):
                v = line[i]
                work.is_source[v] = i < quarter
                work.is_target[v] = i >= size - quarter
                for k in range(indptr[v], indptr[v] + degree[v]):
                    work.flow[directed[k] >> 1] = 0
            total, stamp = _flow(streets, work, line, quarter, work.queue[begin:end], best, stamp)
            if total < best:
                best = total
                for v in line:
                    side[v] = 0 if work.seen[v] == stamp else 1
        divide(lines, side, begin, end, held)
    n_first = n_second = 0
    for i in range(begin, end):
        v = lines[0, i]
        n_first += side[v] == 0
        k, last = indptr[v], indptr[v] + degree[v]
        while k < last:
            if side[heads[k]] == side[v]:
                # It is met at both of its nodes.
                n_second += side[v] == 1
                k += 1
                continue
            if side[v] == 0:
                before -= 1
                order[before] = directed[k] >> 1
            last -= 1
            heads[k], directed[k] = heads[last], directed[last]
        degree[v] = last - indptr[v]
    return begin + n_first, before - n_second // 2, before, stamp


@kernel
def dissect_part(streets, work, lines, order, begin, end, before, stamp):
    """Cut a part, its sides, their sides and so on; see `cut`."""
    stack = np.empty((128, 3), np.int64)
    stack[0] = begin, end, before
    top = 1
    while top:
        top -= 1
        begin, end, before = stack[top]
        if end - begin < 2:
            continue
        middle, first_before, before, stamp = cut(streets, work, lines, begin, end, before, order, stamp)
        # The smaller part is cut next, which bounds the height of the stack by the logarithm of the number of nodes.
        first = top if middle - begin > end - middle else top + 1
        stack[first] = begin, middle, first_before
        stack[2 * top + 1 - first] = middle, end, before
        top += 2


def dissect(
    streets: Streets,
    lines: Any,
    side_by_side: Callable[[Sequence[Callable[[], Any]]], list[Any]],
    n_threads: int = 1,
    many: int = MANY,
) -> Any:
    """
    Order edges by nested dissection.

    Parameters
    ----------
    streets : Streets
        Loses its edges.
    lines : int32 array of shape (n_directions, n_nodes)
        The nodes that have edges, sorted along each compass direction. Overwritten.
    side_by_side : callable
        Runs functions in parallel and returns their results.
    n_threads : int, default 1
        Number of threads; the order does not depend on it.
    many : int, default 20,000
        Number of nodes from which several threads are used.

    Returns
    -------
    int32 array of shape (m,)
        The edges in a contraction order.
    """
    n, m, size = streets.degree.size, streets.capacity.size, lines.shape[1]
    work = Work(
        flow=np.empty(m, np.int32),
        is_source=np.empty(n, np.bool_),
        is_target=np.empty(n, np.bool_),
        seen=np.zeros(n, np.int32),
        parent=np.empty(n, np.int32),
        root=np.empty(n, np.int32),
        done=np.zeros(n, np.int32),
        side=np.empty(n, np.int8),
        queue=np.empty(size, np.int32),
        held=np.empty(size, np.int32),
    )
    order = np.empty(m, np.int32)

    def cut_part(begin: int, end: int, before: int, stamp: int) -> list[tuple[int, ...]]:
        if end - begin < 2:
            return []
        middle, first_before, before, stamp = cut(streets, work, lines, begin, end, before, order, stamp)
        return [(begin, middle, first_before, stamp), (middle, end, before, stamp)]

    dissected = partial(dissect_part, streets, work, lines, order)
    in_parts((0, size, m, 0), cut_part, dissected, side_by_side, n_threads, many)
    return order
