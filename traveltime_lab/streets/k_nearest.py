"""
Find the nearest places of many origins with one search from all places, or with one sweep of a hierarchy, where that is
quicker than a matrix.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from traveltime_lab._arrays import IndexArray, Int32Array, Int64Array, unique_values
from traveltime_lab.kernels.records import Ports
from traveltime_lab.kernels.street import customization, k_nearest, road, sweeps
from traveltime_lab.kernels.unreached import NO_PLACE, UNREACHED
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.threads import even_slices, side_by_side
from traveltime_lab.settings import settings
from traveltime_lab.streets import contraction, engines, matrix
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.labels import limit_label
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.links import LinkedPoints, by_edge
from traveltime_lab.streets.local_pairs import island_pairs, same_places
from traveltime_lab.streets.snapping import Snaps
from traveltime_lab.streets.timed import TimedGraph
from traveltime_lab.streets.workspaces import numbers, streams

#: One search from all places, or one sweep of a contraction hierarchy.
Way = Literal["search", "hierarchy"]

#: Rows of a block that are looked at together; bounds the memory for their keys.
_KEYS: Final = 2_000_000
#: Pairs up to which a matrix takes no time worth an estimate.
_FEW_PAIRS: Final = 20_000
#: Bytes of an entry of a list, and most of the lists of all states.
_BYTES: Final = 12
_MOST_BYTES: Final = 1 << 30
# Nanoseconds on one thread, as in `engines`, measured in Milan and New York with `benchmarks/peers/nearest.py`.
#: Per place in the list of a state, where the lists fit into a cache of this size in bytes, and most if they do not.
_LIST_NS: Final = 100
_CACHED_BYTES: Final = 6e6
_MOST_LIST_NS: Final = 500
#: Rows of a sweep from which several threads are worth it (assumed).
_MANY_ROWS: Final = 20_000
#: Per vertex of a hierarchy, and in addition per place in its list.
_ROW_NS: Final = 100
_CARRY_NS: Final = 45
#: Per place in the list of an origin.
_READ_NS: Final = 60
#: Per pair of a matrix, of which the best are selected.
_SELECT_NS: Final = 15


def quickest(
    streets: StreetLayer, graph: RoadGraph, leaving: LinkedPoints, reached: LinkedPoints, k: int, limit: float
) -> Way | None:
    """Return the quickest way that is possible, as expected; None for a matrix."""
    if isinstance(graph, TimedGraph):
        # A search from places needs their times, and one from origins theirs: only one side has a time in common.
        return None
    n_origins, n_places, n_states = len(leaving.snaps), len(reached.snaps), graph.topology.n_states
    if n_origins * n_places <= _FEW_PAIRS:
        return None
    found = engines.expected(streets, graph, leaving, reached, limit_label(limit, graph.metric), is_rough=True)
    reading_ns, matrix_ns = n_origins * k * _READ_NS, n_origins * n_places * _SELECT_NS + found.least_ns
    searching_ns = sweeping_ns = np.inf
    n_entries = k * n_states
    fits = _BYTES * n_entries <= _MOST_BYTES
    if fits:
        list_ns = np.clip(_LIST_NS * np.sqrt(_BYTES * n_entries / _CACHED_BYTES), _LIST_NS, _MOST_LIST_NS)
        searching_ns = reading_ns + min(n_entries, n_places * found.reach) * float(list_ns)
    if fits or _has_few_rows(streets, graph, leaving, reached, _MOST_BYTES // (_BYTES * k)):
        n_rows = min(n_states, sum(contraction.n_ancestors(n_states, n) for n in (n_origins, n_places)))
        sweeping_ns = reading_ns + n_rows * (_ROW_NS + k * _CARRY_NS)
    if matrix_ns <= searching_ns:
        # A matrix remembers by itself what it would have saved with a hierarchy.
        return "hierarchy" if matrix_ns - sweeping_ns > found.making_ns else None
    saves = engines.is_worth_making(streets, graph, searching_ns - sweeping_ns, found.making_ns)
    return "hierarchy" if saves else "search"


def _has_few_rows(
    streets: StreetLayer, graph: RoadGraph, leaving: LinkedPoints, reached: LinkedPoints, most: int
) -> bool:
    """Return whether a hierarchy exists in which a sweep between some points has fewer rows than a number."""
    if not contraction.HIERARCHY.is_ready(graph, None):
        return False
    made = contraction.hierarchy(streets, graph)
    n_rows = sum(int(sweeps.cone_size(made.parent, made.rank, side.ports, most)) for side in (leaving, reached))
    return n_rows < most


def nearest_places(
    streets: StreetLayer,
    graph: RoadGraph,
    leaving: LinkedPoints,
    reached: LinkedPoints,
    snapping: Snapping,
    k: int,
    limit: float,
    way: Way,
) -> tuple[IndexArray, Int64Array]:
    """
    Return the nearest places of each origin, by milliseconds, then by position.

    Parameters
    ----------
    streets : StreetLayer
    graph : RoadGraph
    leaving, reached : LinkedPoints
        Origins and places.
    snapping : Snapping
    k : int
        Number of places for each origin, at most that of all places.
    limit : float
        Limit in seconds, including connectors.
    way : {"search", "hierarchy"}
        Both return the same.

    Returns
    -------
    places : intp array of shape (n_origins, k)
        Positions of the places, nearest first; -1 where there is none within the limit.
    labels : int64 array of shape (n_origins, k)
        Labels of the routes to them, `UNREACHED` where there is none. They are those of `matrix.label_blocks`.
    """
    checkpoint()
    largest, n_origins = limit_label(limit, graph.metric), len(leaving.snaps)
    places_by_edge = by_edge(reached.positions, leaving.positions)
    if way == "hierarchy":
        found, reads = _of_hierarchy(contraction.hierarchy(streets, graph), graph, leaving, reached, k, largest)
    else:
        core = graph.core(is_backward=True)
        seeds, reads = core.seed_rows(reached.ports), core.read_rows(leaving.ports)
        found = k_nearest.k_nearest(core.arcs, seeds, k, largest, graph.shift, core.n_buckets)
    checkpoint()
    result = k_nearest.empty_lists(n_origins, k)

    def read(part: slice) -> None:
        these = part.start, part.stop, k, largest, result
        k_nearest.read_k_nearest(found, reads, *these)
        k_nearest.enter_along_edges(leaving.positions, reached.positions, graph.directed, places_by_edge, *these)

    side_by_side([functools.partial(read, part) for part in even_slices(n_origins)])
    k_nearest.enter_same(*same_places(leaving.snaps, reached.snaps), k, result)
    keys, is_there = result.key.reshape(-1, k), result.key.reshape(-1, k) != NO_PLACE
    places = np.where(is_there, (keys & road.LENGTH_MASK) >> 1, -1)
    labels = (keys & ~road.LENGTH_MASK) | result.cm.reshape(-1, k).astype(np.int64)
    labels = np.where(is_there, labels, UNREACHED)
    # Origins with a place on their own island are searched for themselves: that changes the order of the others, too.
    apart = unique_values(island_pairs(graph, leaving.snaps, reached.snaps, snapping, largest).rows)
    if apart.size:
        best = Best.none(apart.size, k)
        for block in matrix.label_blocks(
            streets, graph, leaving.snaps.take(apart), reached.snaps, snapping, limit=limit
        ):
            best.improve(block)
        places[apart], labels[apart] = best.places, best.labels
    return places, labels


def _of_hierarchy(
    made: contraction.Hierarchy,
    graph: RoadGraph,
    leaving: LinkedPoints,
    reached: LinkedPoints,
    k: int,
    largest: np.int64,
) -> tuple[k_nearest.Lists, Ports]:
    """Return the lists of the vertices of a hierarchy, and by which of them the origins are left."""
    with numbers(graph.topology) as place, streams(graph.topology) as room:
        vertices = room.room.vertices
        arcs = made.down, made.parent, made.rank
        found, n_requested, n_rows = k_nearest.climbing_lists(
            *arcs, leaving.ports.states, reached.ports, k, largest, place, vertices
        )
        checkpoint()
        *parts, top = _parts(made, vertices[:n_requested], place)
        below = [
            functools.partial(k_nearest.carry_down, made.up, rows, vertices[rows], k, largest, place, found)
            for rows in (top, *parts)
        ]
        below[0]()
        side_by_side(below[1:])
        reads = leaving.ports._replace(states=place[made.rank[leaving.ports.states]])
        place[vertices[:n_rows]] = -1
    return found, reads


def _parts(made: contraction.Hierarchy, vertices: Int32Array, place: Int32Array) -> list[Int32Array]:
    """Return rows of vertices that do not depend on one another, and as the last ones those on which they depend."""
    n_rows = vertices.size
    if settings.threads == 1 or n_rows < _MANY_ROWS:
        return [np.arange(n_rows, dtype=np.int32)]
    # Rows come after those above them, and here before them.
    upwards = vertices[::-1]
    parent = made.parent[upwards]
    parent = np.where(parent >= 0, n_rows - 1 - place[parent], -1).astype(np.int32)
    n_parts = 2 * settings.threads
    work = np.diff(made.up.indptr)[upwards].astype(np.float64)
    part_of = customization.divide(parent, work, n_parts)[::-1].copy()
    parts: list[Int32Array] = customization.vertices_of_parts(part_of, n_parts)
    return parts


def link(graph: RoadGraph, origins: Snaps, places: Snaps, snapping: Snapping) -> tuple[LinkedPoints, LinkedPoints]:
    """Return origins and places linked to the states of a graph."""
    leaving = LinkedPoints.of(graph, origins, snapping, is_entry=False)
    return leaving, LinkedPoints.of(graph, places, snapping, is_entry=True)


@dataclass(frozen=True)
class Best:
    """
    The best places of each origin so far, best first.

    Attributes
    ----------
    keys : int64 array of shape (n_origins, k)
        Milliseconds in the upper 32 bits, position of the place in the lower; `NO_PLACE` for no place.
    labels : int64 array of shape (n_origins, k)
        Labels of these places.
    """

    keys: Int64Array
    labels: Int64Array

    @classmethod
    def none(cls, n_origins: int, k: int) -> Best:
        """Return no places."""
        shape = (n_origins, k)
        return cls(np.full(shape, NO_PLACE), np.full(shape, UNREACHED, np.int64))

    @property
    def places(self) -> IndexArray:
        """Positions of the places, -1 for none."""
        return np.where(self.keys == NO_PLACE, -1, self.keys & 0xFFFF_FFFF)

    def improve(self, block: matrix.Block) -> None:
        """Take the places of a block that are better."""
        step = max(1, _KEYS // max(1, block.labels.shape[1]))
        positions = np.arange(block.columns.start, block.columns.stop, dtype=np.int64)
        for first in range(0, block.labels.shape[0], step):
            labels = block.labels[first : first + step]
            rows = slice(block.rows.start + first, block.rows.start + first + labels.shape[0])
            keys = (label_parts.ms(labels) << 32) | positions
            keys[labels == UNREACHED] = NO_PLACE
            keys = np.concatenate([self.keys[rows], keys], axis=1)
            labels = np.concatenate([self.labels[rows], labels], axis=1)
            k = self.keys.shape[1]
            if keys.shape[1] > 2 * k:
                kept = np.argpartition(keys, k - 1, axis=1)[:, :k]
                keys, labels = np.take_along_axis(keys, kept, 1), np.take_along_axis(labels, kept, 1)
            order = np.argsort(keys, axis=1)[:, :k]
            self.keys[rows] = np.take_along_axis(keys, order, 1)
            self.labels[rows] = np.take_along_axis(labels, order, 1)
