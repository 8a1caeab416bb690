"""Sort arcs by state, and find the components of a graph."""

from __future__ import annotations

import numpy as np

from traveltime_lab.kernels.compiled import kernel


@kernel
def order_by(keys, n):
    """
    Sort by counting.

    Parameters
    ----------
    keys : int32 array of shape (m,)
        Numbers from 0 to ``n - 1``.
    n : int

    Returns
    -------
    indptr : int32 array of shape (n + 1,)
        Where the items of each key begin in the order.
    order : int32 array of shape (m,)
        Positions of the items by key; items with the same key stay in their order.
    """
    indptr = np.zeros(n + 1, np.int32)
    for item in range(keys.size):
        indptr[keys[item] + 1] += 1
    for key in range(n):
        indptr[key + 1] += indptr[key]
    free = indptr[:n].copy()
    order = np.empty(keys.size, np.int32)
    for item in range(keys.size):
        key = keys[item]
        order[free[key]] = item
        free[key] += 1
    return indptr, order


@kernel
def weak(source, target, n):
    """
    Return the connected components of an undirected graph, by a union-find structure with path halving.

    Parameters
    ----------
    source, target : int32 arrays of shape (m,)
        Ends of each edge.
    n : int
        Number of nodes.

    Returns
    -------
    n_parts : int
    part : int32 array of shape (n,)
        Component of each node, numbered by the first node of each.
    """
    root = np.empty(n, np.int32)
    for node in range(n):
        root[node] = node
    for edge in range(source.size):
        a, b = source[edge], target[edge]
        while root[a] != a:
            root[a] = root[root[a]]
            a = root[a]
        while root[b] != b:
            root[b] = root[root[b]]
            b = root[b]
        # The root is the first node of its component, so that it is numbered before the others look it up.
        if a < b:
            root[b] = a
        elif b < a:
            root[a] = b
    part = np.empty(n, np.int32)
    n_parts = 0
    for node in range(n):
        if root[node] == node:
            part[node] = n_parts
            n_parts += 1
        else:
            part[node] = part[root[node]]
    return n_parts, part


@kernel
def strong(indptr, indices):
    """
    Return the strongly connected components of a directed graph.

    Source: R. Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Computing 1 (1972), with a stack of its
    own in place of recursion.

    Parameters
    ----------
    indptr, indices : int32 arrays
        CSR of nodes; may contain loops and parallel arcs.

    Returns
    -------
    n_groups : int
    group : int32 array of shape (n,)
        Component of each node.
    """
    n = indptr.size - 1
    group = np.full(n, -1, np.int32)
    number = np.full(n, -1, np.int32)
    lowest = np.empty(n, np.int32)
    arc = indptr[:n].copy()
    path, waiting = np.empty(n, np.int32), np.empty(n, np.int32)
    n_seen = n_waiting = n_groups = 0
    for start in range(n):
        if number[start] >= 0:
            continue
        depth = 0
        entered = start
        while depth >= 0:
            if entered >= 0:
                path[depth] = waiting[n_waiting] = entered
                number[entered] = lowest[entered] = n_seen
                n_seen += 1
                n_waiting += 1
                entered = -1
            node = path[depth]
            if arc[node] < indptr[node + 1]:
                head = indices[arc[node]]
                arc[node] += 1
                if number[head] < 0:
                    depth += 1
                    entered = head
                elif group[head] < 0:
                    lowest[node] = min(lowest[node], number[head])
                continue
            if lowest[node] == number[node]:
                while group[node] < 0:
                    n_waiting -= 1
                    group[waiting[n_waiting]] = n_groups
                n_groups += 1
            depth -= 1
            if depth >= 0:
                lowest[path[depth]] = min(lowest[path[depth]], lowest[node])
    return n_groups, group
