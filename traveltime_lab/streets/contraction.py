"""
Compute labels of many pairs with customizable contraction hierarchies.

The contraction order and its shortcuts depend on the streets only and are computed once per topology; saved networks
have the order, from which the shortcuts follow in a tenth of the time. The customization depends on speeds and is
computed once per search graph. The labels equal those
of `traveltime_lab.kernels.street.road`, including lengths, turn costs and turn restrictions, because a hierarchy
contracts the states and arcs of the same `RoadGraph` and uses the same ports.
"""

from __future__ import annotations

import functools
import itertools
import logging
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from traveltime_lab._arrays import FloatArray, Int32Array, Int64Array, rows_of, take_rows, unique_values
from traveltime_lab.kernels.lanes import LANES
from traveltime_lab.kernels.records import Arcs, Ports
from traveltime_lab.kernels.street import contraction as kernel
from traveltime_lab.kernels.street import customization, dissection, edge_dissection, sweeps, turns
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.runtime import on_disk
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.runtime.threads import even_slices, map_ahead, row_blocks, side_by_side
from traveltime_lab.settings import settings
from traveltime_lab.streets.graph import RoadGraph, Topology
from traveltime_lab.streets.junctions import interleave
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.links import LinkedPoints, by_edge
from traveltime_lab.streets.workspaces import climbs, numbers, streams

logger = logging.getLogger(__name__)

#: States from a state to the top of a hierarchy, as a share of the square root of all states: 0.3 to 0.9 on foot and by
#: car in Porto Alegre, Milan, Helsinki and New York. The upward searches from n destinations visit half of this number
#: times n to the power of 0.75 together.
DEPTH: Final = 0.5
_CONE: Final = 0.5
#: Share of the states that are above the points (`n_ancestors`) from which on a sweep over all states is quicker from
#: one origin (measured on two cores: from 0.3 on in New York, from 0.7 on in Milan, where it matters less).
_MOST: Final = 0.3
#: States from which several threads are worth it (assumed: fewer take a fraction of a millisecond).
_MANY: Final = 20_000


@dataclass(frozen=True)
class Contraction:
    """
    The part of a hierarchy that depends on the streets only.

    Attributes
    ----------
    rank : int32 array of shape (n_states,)
        Rank of each state in the contraction order.
    up_indptr, up_heads : int64 and int32 arrays
        CSR by rank of the chordal graph: the higher-ranked neighbours of each state, by arcs or shortcuts.
    parent : int32 array of shape (n_states,)
        By rank, the parent of each state in the elimination tree; see
        `traveltime_lab.kernels.street.contraction.elimination_tree`.
    slots : int32 or int64 array of shape (n_arcs,)
        Slot of each arc; see `traveltime_lab.kernels.street.contraction.slots_of_arcs`.
    """

    rank: Int32Array
    up_indptr: Int64Array
    up_heads: Int32Array
    parent: Int32Array
    slots: Int32Array | Int64Array


@dataclass(frozen=True)
class Hierarchy:
    """
    A contraction customized with the labels of a search graph.

    Attributes
    ----------
    rank : int32 array of shape (n_states,)
        Rank of each state in the contraction order.
    parent : int32 array of shape (n_states,)
        See `Contraction`.
    up, down : Arcs
        By rank, the arcs from each state to higher-ranked ones, and from higher-ranked states to each state.
    """

    rank: Int32Array
    parent: Int32Array
    up: Arcs
    down: Arcs


RANKS = Derived[None, Int32Array]("contraction order")
CONTRACTION = Derived[None, Contraction]("contraction")
HIERARCHY = Derived[None, Hierarchy]("hierarchy")
#: Parts of all vertices for sweeps in threads, by the number of parts.
_PARTS = Derived[int, list[Int32Array]]("parts of sweeps")


def ranks(streets: StreetLayer, topology: Topology) -> Int32Array:
    """Return the rank of each state in the contraction order of a topology, which is computed once and kept."""
    return RANKS.of(topology, None, lambda: _rank(streets, topology))


def contraction(streets: StreetLayer, topology: Topology) -> Contraction:
    """Return the contraction of a topology, which is computed once and kept."""
    return CONTRACTION.of(topology, None, lambda: _contract(streets, topology))


def hierarchy(streets: StreetLayer, graph: RoadGraph) -> Hierarchy:
    """Return the hierarchy of a search graph, which is computed once and kept."""
    return HIERARCHY.of(graph, None, lambda: _customize(streets, graph))


def _contract(streets: StreetLayer, topology: Topology) -> Contraction:
    """Compute the shortcuts of a topology."""
    rank = ranks(streets, topology)
    begin = time.perf_counter()
    order = np.empty(rank.size, np.int32)
    order[rank] = np.arange(rank.size, dtype=np.int32)
    up_indptr, up_heads = kernel.fill(*_neighbours(topology), rank, order)
    parent = kernel.elimination_tree(up_indptr, up_heads)
    slots = kernel.slots_of_arcs(topology.indptr, topology.indices, rank, up_indptr, up_heads)
    seconds = time.perf_counter() - begin
    logger.info("contracted states=%d pairs=%d seconds=%.2f", topology.n_states, up_heads.size, seconds)
    return Contraction(rank, up_indptr, up_heads, parent, slots)


def _rank(streets: StreetLayer, topology: Topology) -> Int32Array:
    """Compute the rank of each state in the contraction order of a topology."""
    begin = time.perf_counter()
    order = order_of(streets, topology, settings.threads)
    rank = np.empty(order.size, np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    logger.info("ordered states=%d seconds=%.2f", topology.n_states, time.perf_counter() - begin)
    return rank


def _neighbours(topology: Topology) -> tuple[Int32Array, Int32Array]:
    """Return the neighbours of each state as the index pointer and the indices of a CSR."""
    indices = np.empty(2 * topology.indices.size, np.int32)
    indptr = kernel.neighbours(topology.indptr, topology.indices, indices)
    indices.resize(int(indptr[-1]), refcheck=False)
    return indptr, indices


def order_of(streets: StreetLayer, topology: Topology, n_threads: int, many: int = dissection.MANY) -> Int32Array:
    """Return the states of a topology in contraction order; for the arguments see `dissection.dissect`."""
    has_edges = bool((topology.state_edge >= 0).all())
    return (_order_of_directed_edges if has_edges else _order_of_states)(streets, topology, n_threads, many)


def _order_of_states(streets: StreetLayer, topology: Topology, n_threads: int, many: int) -> Int32Array:
    """Return the order of states that are nodes, of which some may have several."""
    indptr, indices = _neighbours(topology)
    # Contract dead ends and states with two neighbours first: a third of the states, in very little time.
    left, degree = indices.copy(), np.empty(indptr.size - 1, np.int32)
    peeled = dissection.peel(indptr, left, degree)
    lines = _lines(np.flatnonzero(degree >= 0), *_places(streets, topology))
    dissection.dissect(dissection.Graph(indptr, left, degree), lines, side_by_side, n_threads, many)
    return np.concatenate([peeled, lines[0]])


def _order_of_directed_edges(streets: StreetLayer, topology: Topology, n_threads: int, many: int) -> Int32Array:
    """Return the order of states that are directed edges; those of an edge follow each other."""
    tables, edge_of = streets.tables, topology.state_edge >> 1
    n_states = np.bincount(edge_of, minlength=tables.edge_from.size).astype(np.int32)
    used = np.flatnonzero(n_states).astype(np.int32)
    tails, heads, n_states = tables.edge_from[used], tables.edge_to[used], n_states[used]
    n_nodes = tables.node_lng.size
    peeled, kept = edge_dissection.peel(tails, heads, n_states, n_nodes)
    left = edge_dissection.streets_of(tails[kept], heads[kept], n_states[kept], n_nodes)
    lines = _lines(np.flatnonzero(left.degree), *streets.frame.to_xy(tables.node_lng, tables.node_lat))
    order = used[np.concatenate([peeled, kept[edge_dissection.dissect(left, lines, side_by_side, n_threads, many)]])]
    place = np.empty(tables.edge_from.size, np.int32)
    place[order] = np.arange(order.size, dtype=np.int32)
    return np.argsort(place[edge_of], kind="stable").astype(np.int32)


def _lines(vertices: Int64Array, x: FloatArray, y: FloatArray) -> Int32Array:
    """Return some vertices, sorted along each of four compass directions; int32 array of shape (4, n)."""
    x, y = x[vertices], y[vertices]
    lines = np.empty((4, vertices.size), np.int32)
    for line, along in zip(lines, (x, y, x + y, x - y), strict=True):
        line[:] = vertices[np.argsort(along, kind="stable")]
    return lines


def _places(streets: StreetLayer, topology: Topology) -> tuple[FloatArray, FloatArray]:
    """
    Return the positions of states: those of their nodes, or the middles of directed edges.

    Returns
    -------
    x, y : float64 arrays of shape (n_states,), m
    """
    tables = streets.tables
    tail = interleave(tables.edge_from, tables.edge_to)
    # The position of a state without arcs is arbitrary.
    first = np.zeros(topology.n_states, np.int32)
    first[topology.indices] = tail[topology.arc_edge ^ 1]
    first[np.repeat(np.arange(topology.n_states, dtype=np.int32), np.diff(topology.indptr))] = tail[topology.arc_edge]
    second = first.copy()
    of_edges = topology.state_edge >= 0
    first[of_edges] = tail[topology.state_edge[of_edges]]
    second[of_edges] = tail[topology.state_edge[of_edges] ^ 1]
    x, y = streets.frame.to_xy(tables.node_lng, tables.node_lat)
    return (x[first] + x[second]) / 2.0, (y[first] + y[second]) / 2.0


def _customize(streets: StreetLayer, graph: RoadGraph) -> Hierarchy:
    """Customize the contraction of a search graph with its labels."""
    made = contraction(streets, graph.topology)
    begin = time.perf_counter()
    up, down = customization.customize(
        made.slots, graph.weights, made.up_indptr, made.up_heads, side_by_side, settings.threads, on_disk.let_go
    )
    seconds = time.perf_counter() - begin
    logger.info("customized up=%d down=%d seconds=%.2f", up.indices.size, down.indices.size, seconds)
    return Hierarchy(made.rank, made.parent, up, down)


def n_ancestors(n_states: int, n_points: int) -> float:
    """Return the typical number of states that the upward searches from a few points visit together."""
    return _CONE * DEPTH * math.sqrt(n_states) * math.pow(n_points, 0.75)


def label_blocks(
    streets: StreetLayer, graph: RoadGraph, leaving: LinkedPoints, reached: LinkedPoints, largest: np.int64
) -> Iterator[tuple[slice, slice, Int64Array]]:
    """
    Yield the labels of all pairs; see `traveltime_lab.streets.engines.Engine`.

    Notes
    -----
    The search starts from the side with fewer points, because the cost of a sweep grows much more slowly than the
    number of points that it reads.
    """
    is_backward = len(reached.snaps) < len(leaving.snaps)
    near, far = (reached, leaving) if is_backward else (leaving, reached)
    made = hierarchy(streets, graph)
    # In a backward search, the downward arcs are traversed upwards.
    up, down = (made.down, made.up) if is_backward else (made.up, made.down)
    n_near, n_far = len(near.snaps), len(far.snaps)
    columns, near_ports = by_edge(far.positions, near.positions), near.ports

    def along_edges(part: slice, labels: Int64Array) -> tuple[slice, slice, Int64Array]:
        here, limits = rows_of(near.positions, part.start, part.stop), np.full(part.stop - part.start, largest)
        turns.improve_along_edges(here, far.positions, not is_backward, graph.directed, columns, limits, labels)
        return (slice(0, n_far), part, labels.T) if is_backward else (part, slice(0, n_far), labels)

    if n_near == 1:
        labels = np.empty((1, n_far), np.int64)
        seeds = take_rows(near_ports, 0, 1)
        n_states = graph.topology.n_states
        if n_ancestors(n_states, n_far) > _MOST * n_states:
            label = np.empty(n_states, np.int64)
            label_all(graph, made, seeds.states, seeds.keys, largest, label, is_backward=is_backward)
            far.read(label, graph.core(is_backward=is_backward), largest, labels[0])
            yield along_edges(slice(0, 1), labels)
            return
        with climbs(graph.topology) as climbed, numbers(graph.topology) as place, streams(graph.topology) as space:
            sweeps.one_to_many(
                up, down, made.parent, made.rank, seeds, far.ports, largest, climbed, place, space.room, labels[0]
            )
        yield along_edges(slice(0, 1), labels)
        return

    def sweep(stream: sweeps.Stream, part: slice) -> tuple[slice, slice, Int64Array]:
        indptr, states, keys = near_ports
        labels = np.empty((part.stop - part.start, n_far), np.int64)
        seeds = Ports(indptr[part.start : part.stop + 1], states, keys)
        with climbs(graph.topology) as space:
            sweeps.many_to_many(up, made.rank, stream, seeds, largest, space, labels)
        return along_edges(part, labels)

    with numbers(graph.topology) as place, streams(graph.topology) as space:
        stream, space.room = sweeps.restrict(down, made.parent, made.rank, far.ports, place, space.room)
        blocks = map_ahead(functools.partial(sweep, stream), row_blocks(n_near, n_far, multiple=LANES))
        try:
            yield from blocks
        finally:
            # After the last thread has read it.
            blocks.close()
            place[stream.vertices] = -1


def pair_labels(
    streets: StreetLayer,
    graph: RoadGraph,
    leaving: LinkedPoints,
    reached: LinkedPoints,
    row_indptr: Int64Array,
    largest: np.int64,
) -> Int64Array:
    """Return the labels of chosen pairs; see `traveltime_lab.streets.engines.Engine`."""
    made = hierarchy(streets, graph)
    labels = np.full(len(reached.snaps), UNREACHED, np.int64)
    # Split the pairs into parts of about equal size, each with all pairs of its origins.
    targets = np.linspace(0, labels.size, settings.threads * 4 + 1)
    borders = unique_values(np.searchsorted(row_indptr, targets, side="left"))
    starts, ends = leaving.ports, reached.ports

    def climb(first: int, last: int) -> None:
        begin, end = row_indptr[first], row_indptr[last]
        with climbs(graph.topology) as ahead, climbs(graph.topology) as back:
            sweeps.one_to_some(
                made.up,
                made.down,
                made.rank,
                take_rows(starts, first, last),
                take_rows(ends, int(begin), int(end)),
                row_indptr[first : last + 1] - begin,
                largest,
                ahead,
                back,
                labels[begin:end],
            )

    side_by_side([functools.partial(climb, *part) for part in itertools.pairwise(borders.tolist())])
    return labels


def label_all(
    graph: RoadGraph,
    contracted: Hierarchy,
    states: Int32Array,
    keys: Int64Array,
    largest: np.int64,
    label: Int64Array,
    *,
    is_backward: bool,
) -> None:
    """
    Label all states from seeds, with one sweep over the whole hierarchy (PHAST).

    Its time depends on the size of the network only. It takes as much processor time as a search that reaches a fifth
    of the network, and by the clock of two cores half of that (measured in Milan and New York).

    Parameters
    ----------
    graph : RoadGraph
    contracted : Hierarchy
        The hierarchy of the graph.
    states, keys : int32 and int64 arrays of shape (n_seeds,)
        Seeds.
    largest : int64
        Larger labels become `UNREACHED`.
    label : int64 array of shape (n_states,)
        Overwritten.
    is_backward : bool
        Whether labels lead to the seeds.

    References
    ----------
    D. Delling, A. Goldberg, A. Nowatzyk, R. Werneck, "PHAST: hardware-accelerated shortest path trees", J. Parallel and
    Distributed Computing 73 (2013).
    """
    up, down = (contracted.down, contracted.up) if is_backward else (contracted.up, contracted.down)
    n_parts = 2 * settings.threads if settings.threads > 1 and label.size >= _MANY else 1
    parts = _PARTS.of(graph.topology, n_parts, lambda: _parts_of(contracted, n_parts))
    with climbs(graph.topology) as space:
        by_rank = space.label
        climbed = np.empty(label.size, np.int32)
        sweeps.climb(up, contracted.rank, states, keys, largest, by_rank, space.has_work, climbed)
        *below, top = (functools.partial(sweeps.carry_down, down, part, by_rank) for part in parts)
        top()
        side_by_side(below)
        take = functools.partial(functools.partial, sweeps.take_labels, by_rank, contracted.rank, largest)
        side_by_side([take(part.start, part.stop, label) for part in even_slices(label.size)])


def _parts_of(contracted: Hierarchy, n_parts: int) -> list[Int32Array]:
    """Return vertices in parts that do not depend on one another, and as the last one those on which they depend."""
    work = np.diff(contracted.up.indptr) + 1.0
    parts = customization.vertices_of_parts(customization.divide(contracted.parent, work, n_parts), n_parts)
    # From the top down.
    return [part[::-1].copy() for part in parts]
