"""
Compute labels of many pairs with customizable contraction hierarchies.

The contraction order and its shortcuts depend on the streets only and are computed once per topology. The
customization depends on speeds and is computed once per search graph, in a sixth of that time. The labels equal those
of `traveltime_lab.kernels.street.road`, including lengths, turn costs and turn restrictions, because a hierarchy
contracts the states and arcs of the same `RoadGraph` and uses the same ports.
"""

from __future__ import annotations

import functools
import itertools
import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.sparse import coo_array

from traveltime_lab._arrays import FloatArray, Int32Array, Int64Array
from traveltime_lab._memo import Derived
from traveltime_lab._threads import map_ahead, row_blocks, side_by_side
from traveltime_lab.kernels.records import Arcs, Ports
from traveltime_lab.kernels.street import contraction as kernel
from traveltime_lab.kernels.street import dissection, road, sweeps, turns
from traveltime_lab.settings import settings
from traveltime_lab.streets.graph import RoadGraph, Topology, take_rows
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.links import LinkedPoints, by_edge, rows_of

logger = logging.getLogger(__name__)

# Nanoseconds on one thread; only their ratios matter. Measured in Milan by `benchmarks/bench_matrix.py`.
#: Per state: contraction, customization, selection of the states that lead to the destinations, sweep of all lanes.
_CONTRACT_NS: Final = 6500
_CUSTOMIZE_NS: Final = 1200
_RESTRICT_NS: Final = 200
_SWEEP_NS: Final = 90
#: Per origin, for the upward search.
_CLIMB_NS: Final = 15_000
#: Per state of the network, for arrays of this length.
_STATE_NS: Final = 2
#: Per state of the graph, for the working arrays of a block of plain searches.
_FILL_NS: Final = 2
#: Per state that a plain search reaches.
_SEARCH_NS: Final = 100
#: Per chosen pair, for the searches from both ends.
_PAIR_NS: Final = 30_000
#: Searches that a request adds to the experience with a limit, and the most that are kept.
_SAMPLES_AT_ONCE: Final = 3
_SAMPLES: Final = 9
#: Largest part of the time with the hierarchy that they may take together; what they did not reach is estimated.
_SAMPLE_SHARE: Final = 0.25
#: Typical number of states in the upward search from a destination. Those of n destinations have this number times n to
#: the power of 0.75 in common: measured with `benchmarks/engine_choice.py`, as the factor for large networks.
_CONE: Final = 300


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
    slots : int64 array of shape (n_arcs,)
        Slot of each arc; see `traveltime_lab.kernels.street.contraction.slots_of_arcs`.
    """

    rank: Int32Array
    up_indptr: Int64Array
    up_heads: Int32Array
    slots: Int64Array


@dataclass(frozen=True)
class Hierarchy:
    """
    A contraction customized with the labels of a search graph.

    Attributes
    ----------
    rank : int32 array of shape (n_states,)
        Rank of each state in the contraction order.
    up, down : Arcs
        By rank, the arcs from each state to higher-ranked ones, and from higher-ranked states to each state.
    """

    rank: Int32Array
    up: Arcs
    down: Arcs


@dataclass
class _Experience:
    """
    Statistics of the requests to a search graph.

    Attributes
    ----------
    reach : dict
        Shares of the states of a connected part that searches in it reached, by limit.
    missed_ns : float
        Nanoseconds that a hierarchy would have saved in all requests so far.
    idle : list of tuple of int64 array and road.Queue
        Labels, which are `road.UNREACHED`, and an empty queue, for searches that reach little of a large network.
    """

    reach: dict[int, list[float]] = field(default_factory=dict)
    missed_ns: float = 0.0
    idle: list[tuple[Int64Array, Any]] = field(default_factory=list)


class Choice(NamedTuple):
    """
    The engine for a request.

    Attributes
    ----------
    by_hierarchy : bool
        Whether a hierarchy is expected to be faster than one search from each point.
    hierarchy_s : float
        Seconds that are expected with a hierarchy, which is made if necessary.
    """

    by_hierarchy: bool
    hierarchy_s: float


PART_SIZES = Derived[None, Int64Array]("sizes of connected parts")
CONTRACTION = Derived[None, Contraction]("contraction")
HIERARCHY = Derived[None, Hierarchy]("hierarchy")
_EXPERIENCE = Derived[None, _Experience]("experience with searches")


def contraction(streets: StreetLayer, topology: Topology) -> Contraction:
    """Return the contraction of a topology, which is computed once and kept."""
    return CONTRACTION.of(topology, None, lambda: _contract(streets, topology))


def hierarchy(streets: StreetLayer, graph: RoadGraph) -> Hierarchy:
    """Return the hierarchy of a search graph, which is computed once and kept."""
    return HIERARCHY.of(graph, None, lambda: _customize(streets, graph))


def pays_off(
    streets: StreetLayer,
    graph: RoadGraph,
    leaving: LinkedPoints,
    reached: LinkedPoints,
    largest: np.int64,
    *,
    are_pairs: bool = False,
) -> bool:
    """Return whether a hierarchy is expected to be faster than one search from each point; see `choose`."""
    return choose(streets, graph, leaving, reached, largest, are_pairs=are_pairs).by_hierarchy


def choose(
    streets: StreetLayer,
    graph: RoadGraph,
    leaving: LinkedPoints,
    reached: LinkedPoints,
    largest: np.int64,
    *,
    are_pairs: bool = False,
) -> Choice:
    """
    Choose between a hierarchy and one search from each point.

    Parameters
    ----------
    streets : StreetLayer
    graph : RoadGraph
    leaving, reached : LinkedPoints
        Origins and destinations.
    largest : int64
        Largest label of interest.
    are_pairs : bool, default False
        Whether each destination belongs to one origin only.

    Notes
    -----
    If the hierarchy does not exist yet, the time to build it is charged to this request in full, because there may be
    no other. In addition, the time that a hierarchy would have saved is summed over all requests. When the sum exceeds
    the time to build it, the hierarchy is built in the background, so that a service that gets many small requests has
    one in the end.

    A search reaches a share of the connected part of the network where it begins. The sizes of these parts are known,
    and the share is the mean of some searches, of which each request adds a few. As that is an estimate, a caller that
    searches from each point should turn to the hierarchy when it has taken as long as the hierarchy would. The states
    that a hierarchy visits are counted if it exists.
    """
    is_backward = not are_pairs and len(reached.snaps) < len(leaving.snaps)
    near, far = (reached, leaving) if is_backward else (leaving, reached)
    n_near, n_states = len(near.snaps), graph.topology.n_states
    if not n_near or not len(far.snaps):
        return Choice(False, np.inf)
    experience = _EXPERIENCE.of(graph, None, _Experience)
    making_ns: float = 0
    if not HIERARCHY.is_ready(graph, None):
        making_ns += n_states * _CUSTOMIZE_NS
        if not CONTRACTION.is_ready(graph.topology, None):
            making_ns += n_states * _CONTRACT_NS
    # Labels of large networks do not fit into the caches of a processor.
    search_ns = _SEARCH_NS * float(np.clip(np.sqrt(n_states / 70_000), 1.0, 2.7)) / min(settings.threads, n_near)
    parts_of_near = _parts(graph, near)
    sizes = np.where(parts_of_near >= 0, part_sizes(graph)[parts_of_near], 0)

    all_ns = search_ns * float(sizes.sum())
    asking_ns = _asking_ns(streets, graph, near, far, all_ns, is_backward=is_backward, are_pairs=are_pairs)
    hierarchy_s = (making_ns + asking_ns) / 1e9
    if all_ns <= asking_ns:
        return Choice(False, hierarchy_s)
    # Limits that differ by less than a tenth share their measurements: an estimate is sufficient here.
    shares = experience.reach.setdefault(int(10.0 * np.log(float(largest) + 1.0)), [])
    if len(shares) < _SAMPLES:
        enough = _SAMPLE_SHARE * (making_ns + asking_ns) / all_ns
        shares += _shares_within(graph, experience, near, sizes, largest, enough, is_backward=is_backward)
    # Each block of rows has working arrays of its own, and the first blocks are small; see `matrix`.
    n_blocks = max(1.0, 2.0 * np.log2(n_near) / settings.threads)
    searching_ns = all_ns * float(np.mean(shares)) + n_blocks * n_states * _FILL_NS
    gain_ns = searching_ns - asking_ns
    if gain_ns <= 0 or gain_ns > making_ns:
        return Choice(bool(gain_ns > 0), hierarchy_s)
    experience.missed_ns += gain_ns
    if experience.missed_ns > making_ns:
        experience.missed_ns = -np.inf
        logger.info("hierarchy begun in the background states=%d", n_states)
        threading.Thread(
            target=hierarchy, args=(streets, graph), name="traveltime_lab.streets.contraction", daemon=True
        ).start()
    return Choice(False, hierarchy_s)


def _asking_ns(
    streets: StreetLayer,
    graph: RoadGraph,
    near: LinkedPoints,
    far: LinkedPoints,
    most_ns: float,
    *,
    is_backward: bool,
    are_pairs: bool,
) -> float:
    """
    Return the time of a request to a hierarchy that exists.

    The states in the upward searches from the destinations are counted, but not further than up to `most_ns`. Before
    the hierarchy exists, their number is estimated.
    """
    if are_pairs:
        return len(far.snaps) * _PAIR_NS / settings.threads
    n_sweeps = -(-len(near.snaps) // sweeps.LANES)
    n_threads = min(settings.threads, n_sweeps)
    row_ns = _RESTRICT_NS + n_sweeps * _SWEEP_NS / n_threads
    n_states = graph.topology.n_states
    if HIERARCHY.is_ready(graph, None):
        made = hierarchy(streets, graph)
        # In a backward search, the downward arcs are traversed upwards.
        down = made.up if is_backward else made.down
        n_rows: float = sweeps.cone_size(down, made.rank, far.ports, int(min(most_ns / row_ns, n_states)) + 1)
    else:
        # The upward searches from the destinations stay in their parts of the network.
        parts = np.unique(_parts(graph, far))
        n_rows = min(int(part_sizes(graph)[parts[parts >= 0]].sum()), _CONE * len(far.snaps) ** 0.75)
    return n_states * _STATE_NS + len(near.snaps) * _CLIMB_NS / n_threads + n_rows * row_ns


def part_sizes(graph: RoadGraph) -> Int64Array:
    """Return the number of states of each connected part of the network."""
    component = graph.topology.component
    return PART_SIZES.of(graph.topology, None, lambda: np.bincount(component, minlength=1).astype(np.int64))


def _parts(graph: RoadGraph, ends: LinkedPoints) -> Int64Array:
    """Return the connected part in which each point is, -1 for points without a street."""
    has_ports = np.diff(ends.ports.indptr) > 0
    found = np.full(has_ports.size, -1, np.int64)
    found[has_ports] = graph.topology.component[ends.ports.states[ends.ports.indptr[:-1][has_ports]]]
    return found


def _shares_within(
    graph: RoadGraph,
    experience: _Experience,
    ends: LinkedPoints,
    sizes: Int64Array,
    largest: np.int64,
    enough: float,
    *,
    is_backward: bool,
) -> list[float]:
    """
    Return the shares of their parts that searches from a few points reach; larger parts are drawn more often.

    A search ends when it has reached the share `enough`, and its share is estimated then.
    """
    core = graph.core(is_backward=is_backward)
    # Without replacement: no point is searched from twice.
    n_drawn = int(np.clip(np.count_nonzero(sizes) // 4, 1, _SAMPLES_AT_ONCE))
    n_known = sum(map(len, experience.reach.values()))
    drawn = np.random.default_rng(n_known).choice(sizes.size, n_drawn, replace=False, p=sizes / sizes.sum())
    shares = []
    try:  # other threads may choose, too
        label, queue = experience.idle.pop()
    except IndexError:
        label, queue = np.full(core.arcs.indptr.size - 1, road.UNREACHED, np.int64), None
    if queue is None or queue.shift != graph.shift or queue.heads.size != core.n_buckets:
        queue = road.new_queue(label.size, graph.shift, core.n_buckets)
    for row in drawn.tolist():
        seeds = core.seed_rows(take_rows(ends.ports, row, row + 1))
        most = float(enough * sizes[row])
        reached, queue = road.reach_sizes(core.arcs, seeds, largest, most, label, queue)
        shares.append(min(1.0, float(reached[0] / sizes[row])))
    if not experience.idle:
        experience.idle.append((label, queue))
    return shares


def _contract(streets: StreetLayer, topology: Topology) -> Contraction:
    """Compute the contraction order of a topology and its shortcuts."""
    begin = time.perf_counter()
    n_states = topology.n_states
    source = np.repeat(np.arange(n_states, dtype=np.int32), np.diff(topology.indptr))
    apart = source != topology.indices
    ends = np.concatenate([source[apart], topology.indices[apart]])
    others = np.concatenate([topology.indices[apart], source[apart]])
    # Merge parallel arcs.
    both = coo_array((np.ones(ends.size, np.int8), (ends, others)), shape=(n_states, n_states)).tocsr()
    indptr, indices = both.indptr.astype(np.int32), both.indices.astype(np.int32)
    # Contract dead ends and states with two neighbours first: a third of the states, in very little time.
    left, degree = indices.copy(), np.empty(n_states, np.int32)
    peeled = dissection.peel(indptr, left, degree)
    rest = np.flatnonzero(degree >= 0).astype(np.int32)
    x, y = _places(streets, topology, source)
    lines = np.stack([rest[np.argsort(along[rest], kind="stable")] for along in (x, y, x + y, x - y)])
    dissection.dissect(dissection.Graph(indptr, left, degree), lines)
    order = np.concatenate([peeled, lines[0]])
    rank = np.empty(n_states, np.int32)
    rank[order] = np.arange(n_states, dtype=np.int32)
    up_indptr, up_heads = kernel.fill(indptr, indices, rank, order)
    slots = kernel.slots_of_arcs(topology.indptr, topology.indices, rank, up_indptr, up_heads)
    seconds = time.perf_counter() - begin
    logger.info("contracted states=%d pairs=%d seconds=%.2f", n_states, up_heads.size, seconds)
    return Contraction(rank, up_indptr, up_heads, slots)


def _places(streets: StreetLayer, topology: Topology, source: Int32Array) -> tuple[FloatArray, FloatArray]:
    """
    Return the positions of states: of nodes at the node, of directed edges in the middle of the edge.

    Parameters
    ----------
    streets : StreetLayer
    topology : Topology
    source : int32 array of shape (n_arcs,)
        State that each arc leaves.

    Returns
    -------
    x, y : float64 arrays of shape (n_states,), m
    """
    tables = streets.tables
    tail = np.empty(2 * streets.n_edges, np.int64)
    tail[0::2], tail[1::2] = tables.edge_from, tables.edge_to
    # The position of a state without arcs is arbitrary.
    first = np.zeros(topology.n_states, np.int64)
    first[topology.indices] = tail[topology.arc_edge ^ 1]
    first[source] = tail[topology.arc_edge]
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
    up, down = kernel.customize(made.slots, graph.weights, made.up_indptr, made.up_heads)
    seconds = time.perf_counter() - begin
    logger.info("customized up=%d down=%d seconds=%.2f", up.indices.size, down.indices.size, seconds)
    return Hierarchy(made.rank, up, down)


def label_blocks(
    streets: StreetLayer, graph: RoadGraph, leaving: LinkedPoints, reached: LinkedPoints, largest: np.int64
) -> Iterator[tuple[slice, slice, Int64Array]]:
    """
    Yield the labels of all pairs, in blocks of whole rows or whole columns.

    Parameters
    ----------
    streets : StreetLayer
    graph : RoadGraph
    leaving, reached : LinkedPoints
        Origins and destinations.
    largest : int64
        Largest label of interest.

    Yields
    ------
    rows, columns : slice
        Origins and destinations of the block.
    labels : int64 array of shape (n_rows, n_columns)
        `UNREACHED` beyond the limit.

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
    stream = sweeps.restrict(down, made.rank, far.ports)
    n_near, n_far = len(near.snaps), len(far.snaps)
    columns = by_edge(far.positions)

    def sweep(part: slice) -> tuple[slice, slice, Int64Array]:
        indptr, states, keys = near.ports
        labels = np.empty((part.stop - part.start, n_far), np.int64)
        seeds = Ports(indptr[part.start : part.stop + 1], states, keys)
        sweeps.many_to_many(up, made.rank, stream, seeds, largest, labels)
        here, limits = rows_of(near.positions, part.start, part.stop), np.full(part.stop - part.start, largest)
        turns.improve_along_edges(here, far.positions, not is_backward, graph.directed, columns, limits, labels)
        if is_backward:
            return slice(0, n_far), part, labels.T
        return part, slice(0, n_far), labels

    yield from map_ahead(sweep, row_blocks(n_near, n_far, multiple=sweeps.LANES))


def pair_labels(
    streets: StreetLayer,
    graph: RoadGraph,
    leaving: LinkedPoints,
    reached: LinkedPoints,
    row_indptr: Int64Array,
    largest: np.int64,
) -> Int64Array:
    """
    Return the labels of chosen pairs, without routes along a single edge, which the caller adds.

    Parameters
    ----------
    streets : StreetLayer
    graph : RoadGraph
    leaving : LinkedPoints
        Origins.
    reached : LinkedPoints
        Destination of each pair, sorted by origin.
    row_indptr : int64 array of shape (n_origins + 1,)
        Where the pairs of each origin begin.
    largest : int64
        Largest label of interest.

    Returns
    -------
    int64 array of shape (n_pairs,)
        `UNREACHED` beyond the limit.
    """
    made = hierarchy(streets, graph)
    labels = np.full(len(reached.snaps), road.UNREACHED, np.int64)
    # Split the pairs into parts of about equal size, each with all pairs of its origins.
    targets = np.linspace(0, labels.size, settings.threads * 4 + 1)
    borders = np.unique(np.searchsorted(row_indptr, targets, side="left"))

    def climb(first: int, last: int) -> None:
        begin, end = row_indptr[first], row_indptr[last]
        sweeps.one_to_some(
            made.up,
            made.down,
            made.rank,
            take_rows(leaving.ports, first, last),
            take_rows(reached.ports, int(begin), int(end)),
            row_indptr[first : last + 1] - begin,
            largest,
            labels[begin:end],
        )

    side_by_side([functools.partial(climb, *ends) for ends in itertools.pairwise(borders.tolist())])
    return labels
