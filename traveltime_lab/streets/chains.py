"""
Find streets between junctions, whatever the number of edges that they are cut into.

OpenStreetMap cuts a street where its name or its speed limit changes, and where an editor happened to end a way. Rules
that count streets, or that compare one street with another, use *chains*: edges that follow one another at nodes where
exactly two edges of the mode meet. Cutting a way, or joining two, changes no chain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab._arrays import AnyArray, BoolArray, Int32Array, Int64Array
from traveltime_lab.streets.components import order_by_row, weak


class Chains(NamedTuple):
    """
    Chains of the edges that are open to a mode.

    Attributes
    ----------
    of_directed : int32 array of shape (n_directed,)
        Number of the chain, and of the direction along it, of each directed edge.
    of_edge : int32 array of shape (n_edges,)
        Number of the chain of each edge.
    is_inner : bool array of shape (n_junctions,)
        Whether a junction is between two edges of one chain.
    ends : bool array of shape (n_directed,)
        Whether the chain ends where each directed edge begins.
    """

    of_directed: Int32Array
    of_edge: Int32Array
    is_inner: BoolArray
    ends: BoolArray


def chains(is_open: BoolArray, junction: Int32Array, n_junctions: int) -> Chains:
    """
    Join edges where exactly two of them meet.

    Parameters
    ----------
    is_open : bool array of shape (n_directed,)
        Directed edges that are open to the mode. Edges that are closed in both directions do not count.
    junction : int32 array of shape (n_directed,)
        Junction at the start of each directed edge.
    n_junctions : int
    """
    used = np.repeat(is_open[0::2] | is_open[1::2], 2)
    ends = np.flatnonzero(used)
    is_inner = np.bincount(junction[ends], minlength=n_junctions) == 2
    ends = ends[is_inner[junction[ends]]]
    first, second = ends[np.argsort(junction[ends], kind="stable")].reshape(-1, 2).T
    # An edge that begins and ends at a node which it does not share has no neighbour to be joined with.
    is_loop = first >> 1 == second >> 1
    is_inner[junction[first[is_loop]]] = False
    first, second = first[~is_loop], second[~is_loop]
    # An edge that ends at the node continues as the one that begins there.
    of_directed = _joined(np.concatenate([first ^ 1, second ^ 1]), np.concatenate([second, first]), used.size)
    of_edge = _joined(first >> 1, second >> 1, used.size // 2)
    return Chains(of_directed, of_edge, is_inner, ~is_inner[junction])


def _joined(a: Int64Array, b: Int64Array, n: int) -> Int32Array:
    """Return the component of each of `n` items, given pairs that belong together."""
    return weak(a, b, n)[1]


def distinct(group: AnyArray, member: AnyArray, n_groups: int) -> Int64Array:
    """Return the number of distinct members of each group, given the group and the member of each item."""
    order = order_by_row(member, int(member.max(initial=-1)) + 1)[1]
    order = order[order_by_row(group[order], n_groups)[1]]
    group, member = group[order], member[order]
    is_new = np.ones(group.size, np.bool_)
    is_new[1:] = (group[1:] != group[:-1]) | (member[1:] != member[:-1])
    return np.bincount(group[is_new], minlength=n_groups)
