"""
Choose the engine for a matrix: one search from each point, a contraction hierarchy, or pandana.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

import numpy as np

from traveltime_lab._arrays import Int32Array, Int64Array, take_rows, unique_values
from traveltime_lab._checks import one_of
from traveltime_lab.kernels.lanes import LANES
from traveltime_lab.kernels.street import road, sweeps
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.settings import settings
from traveltime_lab.streets import contraction
from traveltime_lab.streets.contraction import CONTRACTION, DEPTH, HIERARCHY, RANKS, hierarchy, n_ancestors
from traveltime_lab.streets.dijkstra import Dijkstra
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.labels import limit_step
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.links import LinkedPoints
from traveltime_lab.streets.workspaces import search_space

ENGINES: Final = ("auto", "dijkstra", "hierarchy", "pandana")
logger = logging.getLogger(__name__)

# Nanoseconds on one thread; only their ratios matter. Fitted to matrices in Porto Alegre, Milan and a patchwork of 28
# regions, and to chosen pairs in Porto Alegre, Milan and New York; `benchmarks/engine_choice.py --expected` compares
# what they say with the real times. Orders took 1,300 to 3,900 on foot and by car in Porto Alegre, Milan and New York.
#: Per state: contraction order, contraction, customization, selection of the states that lead to the destinations,
#: sweep of all lanes.
_ORDER_NS: Final = 2500
_CONTRACT_NS: Final = 350
_CUSTOMIZE_NS: Final = 1200
_RESTRICT_NS: Final = 80
_SWEEP_NS: Final = 34
#: Per state, instead of the last two, from one origin.
_SWEEP_OF_ONE_NS: Final = 42
#: Per state that a plain search reaches.
_SEARCH_NS: Final = 63
#: Per origin of plain searches, for beginning one.
_BEGIN_NS: Final = 6000
#: Per pair, for the label that a plain search or a sweep leaves at the destination.
_READ_NS: Final = 17
_READ_LANE_NS: Final = 5
#: Per origin, for its upward search, and per chosen pair, for the one of its destination and for their meeting, in a
#: hierarchy of `_USUAL_DEPTH` states from a state to the top.
_CLIMB_NS: Final = 5500
_PAIR_NS: Final = 4000
_USUAL_DEPTH: Final = 130
#: Power of the depth with which they grow: the higher states have more neighbours.
_DEPTH_POWER: Final = 1.7
#: Searches that a request adds to the experience with a limit, and the most that are kept.
_SAMPLES_AT_ONCE: Final = 8
_SAMPLES: Final = 9
#: Origins from which a request relies on searches of its own, which cost little beside it, unless earlier ones say that
#: one engine takes this many times as long as the other.
_MANY: Final = 4
_CLEAR: Final = 4.0
#: Largest part of the time with the hierarchy that they may take together; the rest is estimated.
_SAMPLE_SHARE: Final = 0.05
#: The states that a hierarchy visits are counted until it is expected to take this many times as long as searches.
_COUNTED: Final = 1.5


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
    """

    reach: dict[int, list[float]] = field(default_factory=dict)
    missed_ns: float = 0.0


class Choice(NamedTuple):
    """
    The engine for a request.

    Attributes
    ----------
    by_hierarchy : bool
        Whether a hierarchy is expected to be faster than one search from each point.
    hierarchy_s : float
        Seconds that are expected with a hierarchy, which is built if necessary.
    """

    by_hierarchy: bool
    hierarchy_s: float


class Expected(NamedTuple):
    """
    Expected times of a request, in nanoseconds.

    Attributes
    ----------
    searching_ns : float
        With one search from each point.
    asking_ns, making_ns : float
        With an existing hierarchy, and for building it.
    reach : float
        Number of states that a search from one point reaches.
    """

    searching_ns: float
    asking_ns: float
    making_ns: float
    reach: float

    @property
    def least_ns(self) -> float:
        """With the better engine."""
        return min(self.searching_ns, self.asking_ns + self.making_ns)


#: Number of positions of destinations that show in which connected parts of the network they are.
_SAMPLED_PARTS = 4096
PART_SIZES = Derived[None, Int64Array]("sizes of connected parts")
_EXPERIENCE = Derived[None, _Experience]("experience with searches")


class Engine(Protocol):
    """
    A module or an object that computes the labels of many pairs. All engines return the same labels.

    `largest` is the largest label of interest; labels above it are `UNREACHED`.
    """

    def label_blocks(
        self, streets: StreetLayer, graph: RoadGraph, leaving: LinkedPoints, reached: LinkedPoints, largest: np.int64
    ) -> Iterator[tuple[slice, slice, Int64Array]]:
        """Yield the labels of all pairs in blocks of whole rows (origins) or whole columns (destinations)."""

    def pair_labels(
        self,
        streets: StreetLayer,
        graph: RoadGraph,
        leaving: LinkedPoints,
        reached: LinkedPoints,
        row_indptr: Int64Array,
        largest: np.int64,
    ) -> Int64Array:
        """
        Return the labels of chosen pairs, without routes along a single edge, which the caller adds.

        `reached` has the destination of each pair, sorted by origin; the pairs of origin `i` are those from
        ``row_indptr[i]`` to ``row_indptr[i + 1] - 1``.
        """


def check_engine(name: str) -> None:
    """Raise InputError for an unknown engine."""
    one_of(name, "engine", ENGINES)


def engine_of(
    name: str,
    streets: StreetLayer,
    graph: RoadGraph,
    leaving: LinkedPoints,
    reached: LinkedPoints,
    largest: np.int64,
    *,
    with_length: bool,
    are_pairs: bool = False,
) -> Engine:
    """
    Return the engine with a name, of `ENGINES`; ``"auto"`` is the one that `choose` expects to be faster.

    Parameters
    ----------
    name : str
    streets, graph, leaving, reached, largest, are_pairs
        The request, as in `choose`.
    with_length : bool
        Whether the lower halves of the labels are needed. If not, an engine may leave them undefined to save time.
    """
    if name == "pandana":
        from traveltime_lab.streets.pandana import Pandana  # noqa: PLC0415 - an optional extra

        return Pandana(with_length)
    if name == "dijkstra":
        return Dijkstra()
    chosen = Choice(True, 0.0)
    if name == "auto":
        chosen = choose(streets, graph, leaving, reached, largest, are_pairs=are_pairs)
    return contraction if chosen.by_hierarchy else Dijkstra(chosen.hierarchy_s)


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
    if not len(leaving.snaps) or not len(reached.snaps):
        return Choice(False, np.inf)
    found = expected(streets, graph, leaving, reached, largest, are_pairs=are_pairs)
    is_better = is_worth_making(streets, graph, found.searching_ns - found.asking_ns, found.making_ns)
    return Choice(is_better, (found.making_ns + found.asking_ns) / 1e9)


def is_worth_making(streets: StreetLayer, graph: RoadGraph, gain_ns: float, making_ns: float) -> bool:
    """
    Return whether a request saves more with a hierarchy than making it takes, and remember what it would have saved.

    Parameters
    ----------
    streets : StreetLayer
    graph : RoadGraph
    gain_ns : float
        Nanoseconds that the request saves with an existing hierarchy; negative if it is slower.
    making_ns : float
        `Expected.making_ns`, 0 if the hierarchy exists.

    Notes
    -----
    See `choose` for what is begun in the background.
    """
    if gain_ns <= 0 or gain_ns > making_ns:
        return bool(gain_ns > 0)
    experience = _EXPERIENCE.of(graph, None, _Experience)
    experience.missed_ns += gain_ns
    if experience.missed_ns > making_ns:
        experience.missed_ns = -np.inf
        logger.info("hierarchy begun in the background states=%d", graph.topology.n_states)
        threading.Thread(
            target=hierarchy, args=(streets, graph), name="traveltime_lab.streets.engines", daemon=True
        ).start()
    return False


def expected(
    streets: StreetLayer,
    graph: RoadGraph,
    leaving: LinkedPoints,
    reached: LinkedPoints,
    largest: np.int64,
    *,
    are_pairs: bool = False,
    is_rough: bool = False,
) -> Expected:
    """
    Return what a request is expected to take with either engine; see `choose` for the parameters and the method.

    With `is_rough`, the request makes no searches of its own once there is experience with its limit.
    """
    is_backward = not are_pairs and len(reached.snaps) < len(leaving.snaps)
    near, far = (reached, leaving) if is_backward else (leaving, reached)
    n_near, n_states = len(near.snaps), graph.topology.n_states
    experience = _EXPERIENCE.of(graph, None, _Experience)
    making_ns: float = 0
    if not HIERARCHY.is_ready(graph, None):
        making_ns += n_states * _CUSTOMIZE_NS
        if not CONTRACTION.is_ready(graph.topology, None):
            making_ns += n_states * _CONTRACT_NS
            if not RANKS.is_ready(graph.topology, None):
                making_ns += n_states * _ORDER_NS / settings.threads
    # Labels of large networks do not fit into the caches of a processor.
    search_ns = _SEARCH_NS * float(np.clip(np.sqrt(n_states / 70_000), 1.0, 1.6)) / min(settings.threads, n_near)
    parts_of_near = _parts(graph, near)
    sizes = np.where(parts_of_near >= 0, part_sizes(graph)[parts_of_near], 0)

    all_ns, mean_size = search_ns * float(sizes.sum()), float(sizes.mean())
    n_pairs = len(far.snaps) if are_pairs else n_near * len(far.snaps)
    fixed_ns = (n_near * _BEGIN_NS + n_pairs * _READ_NS) / min(settings.threads, n_near)
    # Limits that differ by less than a tenth share their measurements: an estimate is sufficient here.
    shares = experience.reach.setdefault(limit_step(largest), [])
    share = float(np.mean(shares)) if len(shares) >= _SAMPLES else 1.0
    # A search that takes longer than expected turns to the hierarchy, so that few origins are not worth more.
    most_ns = fixed_ns + all_ns * min(1.0, (_CLEAR if n_near >= _MANY else _COUNTED) * share)
    sure_ns = (fixed_ns + all_ns * share) / _CLEAR if len(shares) >= _SAMPLES else 0.0
    asking_ns = _asking_ns(streets, graph, near, far, most_ns, sure_ns, are_pairs=are_pairs)
    if all_ns > asking_ns:
        even = (making_ns + asking_ns) / all_ns
        is_close = not is_rough and n_near >= _MANY and even / _CLEAR < share < even * _CLEAR
        if len(shares) < _SAMPLES or is_close:
            own = _shares_within(graph, experience, near, sizes, largest, even, is_backward=is_backward)
            shares[:] = [*shares, *own][-_SAMPLES:]
            share = float(np.mean(own if n_near >= _MANY else shares))
    return Expected(fixed_ns + all_ns * share, asking_ns, making_ns, mean_size * share)


def _asking_ns(
    streets: StreetLayer,
    graph: RoadGraph,
    near: LinkedPoints,
    far: LinkedPoints,
    most_ns: float,
    sure_ns: float,
    *,
    are_pairs: bool,
) -> float:
    """
    Return the time of a request to a hierarchy that exists.

    The states in the upward searches from the destinations are counted, but not further than up to `most_ns`, not if
    their typical number takes less than `sure_ns`, and not if that number is all states. Beyond that, and before the
    hierarchy exists, their number is estimated.
    """
    n_near, n_far, n_states = len(near.snaps), len(far.snaps), graph.topology.n_states
    depth = DEPTH * math.sqrt(n_states)
    deeper = math.pow(depth / _USUAL_DEPTH, _DEPTH_POWER)
    if are_pairs:
        return (n_near * _CLIMB_NS + n_far * _PAIR_NS) * deeper / settings.threads
    n_sweeps = -(-n_near // LANES)
    n_threads = min(settings.threads, n_sweeps)
    row_ns = _SWEEP_OF_ONE_NS if n_near == 1 else _RESTRICT_NS + n_sweeps * _SWEEP_NS / n_threads
    fixed_ns = n_near * (_CLIMB_NS * deeper + n_far * _READ_LANE_NS) / n_threads
    n_typical = n_ancestors(n_states, n_far)
    typical_ns = fixed_ns + n_typical * row_ns
    if typical_ns < sure_ns:
        return typical_ns
    n_rows, most = 0.0, int(np.clip((most_ns - fixed_ns) / row_ns, 0, n_states)) + 1
    # Very many destinations need nearly all states.
    if n_typical < n_states and HIERARCHY.is_ready(graph, None):
        made = hierarchy(streets, graph)
        n_rows = sweeps.cone_size(made.parent, made.rank, far.ports, most)
    if not 0 < n_rows < most:
        # Not counted. The upward searches from the destinations stay in their parts of the network.
        edges = far.positions.edge[far.positions.indptr[0] : far.positions.indptr[-1]]
        parts = unique_values(_parts_of_edges(graph, far, edges[:: max(1, edges.size // _SAMPLED_PARTS)]))
        n_expected = min(int(part_sizes(graph)[parts[parts >= 0]].sum()), n_typical)
        n_rows = max(n_rows, n_expected)
    return fixed_ns + n_rows * row_ns


def part_sizes(graph: RoadGraph) -> Int64Array:
    """Return the number of states of each connected part of the network."""
    component = graph.topology.component
    return PART_SIZES.of(graph.topology, None, lambda: np.bincount(component, minlength=1).astype(np.int64))


def _parts(graph: RoadGraph, ends: LinkedPoints) -> Int64Array:
    """Return the connected part in which each point is, -1 for points without a street."""
    indptr, edge = ends.positions.indptr, ends.positions.edge
    found = np.full(indptr.size - 1, -1, np.int64)
    has_streets = np.diff(indptr) > 0
    found[has_streets] = _parts_of_edges(graph, ends, edge[indptr[:-1][has_streets]])
    if (found[has_streets] < 0).any():
        # The nearest street of these has no ports.
        owner = np.repeat(np.arange(found.size), np.diff(indptr))
        np.maximum.at(found, owner, _parts_of_edges(graph, ends, edge[indptr[0] : indptr[-1]]))
    return found


def _parts_of_edges(graph: RoadGraph, ends: LinkedPoints, edge: Int32Array) -> Int64Array:
    """Return the connected part in which the ports of each edge are, -1 for edges without ports."""
    indptr, states, _ = ends.edge_ports
    # Both directed edges of an edge follow each other.
    first, last = indptr[2 * edge.astype(np.int64)], indptr[2 * edge.astype(np.int64) + 2]
    found = np.full(edge.size, -1, np.int64)
    found[first < last] = graph.topology.component[states[first[first < last]]]
    return found


def _shares_within(
    graph: RoadGraph,
    experience: _Experience,
    ends: LinkedPoints,
    sizes: Int64Array,
    largest: np.int64,
    even: float,
    *,
    is_backward: bool,
) -> list[float]:
    """
    Return the shares of their parts that searches from a few points reach; larger parts are drawn more often.

    A search ends when it has taken its part of `_SAMPLE_SHARE` of the time with the hierarchy, and its share is
    estimated then. If all origins reached the share `even`, searches from them would take as long as the hierarchy.
    """
    core = graph.core(is_backward=is_backward)
    # Without replacement: no point is searched from twice.
    n_drawn = int(np.clip(np.count_nonzero(sizes) // 2, 1, _SAMPLES_AT_ONCE))
    n_known = sum(map(len, experience.reach.values()))
    drawn = np.random.default_rng(n_known).choice(sizes.size, n_drawn, replace=False, p=sizes / sizes.sum())
    shares: list[float] = []
    # On one thread, whereas the hierarchy works on all.
    enough = _SAMPLE_SHARE * even * float(sizes.sum()) / n_drawn / min(settings.threads, sizes.size)
    with search_space(graph, core) as space:
        for row in drawn.tolist():
            seeds = core.seed_rows(take_rows(ends.ports, row, row + 1))
            most = min(enough, float(sizes[row]))
            reached, space.queue = road.reach_sizes(core.arcs, seeds, largest, most, space.label, space.queue)
            shares.append(min(1.0, float(reached[0] / sizes[row])))
            if len(shares) > 1 and min(shares) > 4.0 * even:
                break
    return shares
