"""
Find the nearest places of many origins with one search from all places, where that is quicker than a matrix.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Final

import numpy as np

from traveltime_lab._arrays import IndexArray, Int64Array
from traveltime_lab.kernels.street import k_nearest, road
from traveltime_lab.kernels.unreached import NO_PLACE, UNREACHED
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.threads import even_slices, side_by_side
from traveltime_lab.streets import engines, matrix
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.labels import limit_label
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.links import LinkedPoints, by_edge
from traveltime_lab.streets.local_pairs import island_pairs, same_places
from traveltime_lab.streets.snapping import Snaps
from traveltime_lab.streets.timed import TimedGraph

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
#: Per place in the list of an origin.
_READ_NS: Final = 60
#: Per pair of a matrix, of which the best are selected.
_SELECT_NS: Final = 15


def pays_off(
    streets: StreetLayer, graph: RoadGraph, leaving: LinkedPoints, reached: LinkedPoints, k: int, limit: float
) -> bool:
    """Return whether one search from all places is possible, and expected to be quicker than a matrix."""
    if isinstance(graph, TimedGraph):
        # A search from places needs their times, and one from origins theirs: only one side has a time in common.
        return False
    n_origins, n_places, n_entries = len(leaving.snaps), len(reached.snaps), k * graph.topology.n_states
    if n_origins * n_places <= _FEW_PAIRS or _BYTES * n_entries > _MOST_BYTES:
        return False
    list_ns = float(np.clip(_LIST_NS * np.sqrt(_BYTES * n_entries / _CACHED_BYTES), _LIST_NS, _MOST_LIST_NS))
    reading_ns, selecting_ns = n_origins * k * _READ_NS, n_origins * n_places * _SELECT_NS
    if reading_ns + n_entries * list_ns < selecting_ns:
        return True
    found = engines.expected(streets, graph, leaving, reached, limit_label(limit, graph.metric))
    return reading_ns + min(n_entries, n_places * found.reach) * list_ns < selecting_ns + found.least_ns


def nearest_places(
    streets: StreetLayer,
    graph: RoadGraph,
    leaving: LinkedPoints,
    reached: LinkedPoints,
    snapping: Snapping,
    k: int,
    limit: float,
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

    Returns
    -------
    places : intp array of shape (n_origins, k)
        Positions of the places, nearest first; -1 where there is none within the limit.
    labels : int64 array of shape (n_origins, k)
        Labels of the routes to them, `UNREACHED` where there is none. They are those of `matrix.label_blocks`.
    """
    checkpoint()
    core, largest = graph.core(is_backward=True), limit_label(limit, graph.metric)
    n_origins = len(leaving.snaps)
    found = k_nearest.k_nearest(core.arcs, core.seed_rows(reached.ports), k, largest, graph.shift, core.n_buckets)
    checkpoint()
    reads, places_by_edge = core.read_rows(leaving.ports), by_edge(reached.positions, leaving.positions)
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
    apart = np.unique(island_pairs(graph, leaving.snaps, reached.snaps, snapping, largest).rows)
    if apart.size:
        best = Best.none(apart.size, k)
        for block in matrix.label_blocks(
            streets, graph, leaving.snaps.take(apart), reached.snaps, snapping, limit=limit
        ):
            best.improve(block)
        places[apart], labels[apart] = best.places, best.labels
    return places, labels


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
