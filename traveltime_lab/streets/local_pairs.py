"""
Pairs of points whose trip does not use the places where other trips begin and end.

Two rules look at both points of a pair:

- Points that are at most a centimetre apart are one place, if both are snapped: the trip takes no time, without the
  walks to the street and back. Coordinates differ by less after they have been projected and back.
- Points whose nearest streets are on one island (see `traveltime_lab.streets.islands`) are joined to these streets, if
  there is a way between them along the island. All other trips from or to an island begin or end on the main network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from traveltime_lab._arrays import BoolArray, FloatArray, IndexArray, Int64Array, indptr_of, within_rows
from traveltime_lab.crs import WGS84_A_M
from traveltime_lab.kernels.street.ties import Places
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.limits import FOREVER_S
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.threads import row_blocks
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.labels import limit_label
from traveltime_lab.streets.links import LinkedPoints
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.row_search import RowSearch
from traveltime_lab.streets.snapping import Snaps
from traveltime_lab.streets.timed import TimedGraph
from traveltime_lab.streets.timed import pair_labels as timed_labels

#: Largest distance of points that are one place.
SAME_PLACE_M: Final = 0.01
#: A degree of latitude is no shorter than this.
_DEGREE_M: Final = 110_000.0
#: Up to this number, points are compared with all others, one by one.
_FEW_POINTS: Final = 8
#: A direction in space, such that points on Earth rarely have the same component along it.
_DIRECTION: Final = np.array([0.5377, 0.7181, 0.4419])


@dataclass(frozen=True)
class LocalPairs:
    """
    Pairs of rows and columns with their labels; see the module.

    Attributes
    ----------
    rows, columns : intp arrays of shape (n,)
    labels : int64 array of shape (n,)
        `UNREACHED` beyond the limit.
    """

    rows: IndexArray
    columns: IndexArray
    labels: Int64Array

    def write(self, rows: slice, columns: slice, labels: Int64Array) -> None:
        """Write the labels of these pairs to a block of labels."""
        here = (self.rows >= rows.start) & (self.rows < rows.stop)
        here &= (self.columns >= columns.start) & (self.columns < columns.stop)
        labels[self.rows[here] - rows.start, self.columns[here] - columns.start] = self.labels[here]

    @property
    def transposed(self) -> LocalPairs:
        """The pairs with rows and columns exchanged."""
        return LocalPairs(self.columns, self.rows, self.labels)


def local_pairs(
    graph: RoadGraph, origins: Snaps, destinations: Snaps, snapping: Snapping, largest: np.int64
) -> LocalPairs:
    """
    Return the pairs that are one place or on one island.

    Parameters
    ----------
    graph : RoadGraph
    origins, destinations : Snaps
        Rows and columns.
    snapping : Snapping
    largest : int64
        Labels above it are `UNREACHED`.

    Returns
    -------
    LocalPairs
        A pair that is both comes twice, with its label 0 at last.
    """
    island, same = island_pairs(graph, origins, destinations, snapping, largest), same_places(origins, destinations)
    return LocalPairs(
        np.concatenate([island.rows, same[0]]),
        np.concatenate([island.columns, same[1]]),
        np.concatenate([island.labels, np.zeros(same[0].size, np.int64)]),
    )


def local_labels(
    graph: RoadGraph, pairs: Pairs, snapping: Snapping, largest: np.int64
) -> tuple[IndexArray, Int64Array]:
    """
    Return which of some chosen pairs are one place or on one island, and their labels; see `local_pairs`.

    Returns
    -------
    chosen : intp array of shape (n,)
        Positions of the pairs.
    labels : int64 array of shape (n,)
    """
    origins, destinations, origin_of, destination_of = pairs.starts, pairs.ends, pairs.origin_of, pairs.destination_of
    same = np.flatnonzero(are_same(origins, destinations, origin_of, destination_of))
    few, many = (origins, destinations) if len(origins) <= len(destinations) else (destinations, origins)
    both = np.zeros(0, np.intp)
    if few.on_islands().any() and many.on_islands().any():
        both = np.flatnonzero(origins.on_islands()[origin_of] & destinations.on_islands()[destination_of])
    starts, start_of = np.unique(origin_of[both], return_inverse=True)
    ends, end_of = np.unique(destination_of[both], return_inverse=True)
    island = island_pairs(graph, origins.take(starts), destinations.take(ends), snapping, largest)
    keys = island.rows * max(ends.size, 1) + island.columns
    order = np.argsort(keys)
    requested = start_of * max(ends.size, 1) + end_of
    place = np.searchsorted(keys[order], requested)
    found = np.flatnonzero(place < keys.size)
    found = found[keys[order][place[found]] == requested[found]]
    labels = island.labels[order[place[found]]]
    return np.concatenate([both[found], same]), np.concatenate([labels, np.zeros(same.size, np.int64)])


def _in_space(snaps: Snaps) -> FloatArray:
    """Return points in geocentric coordinates on a sphere, in metres; NaN for those not snapped, or indoors."""
    lng, lat = np.radians(snaps.lng), np.radians(snaps.lat)
    level = np.cos(lat)
    xyz = WGS84_A_M * np.column_stack([level * np.cos(lng), level * np.sin(lng), np.sin(lat)])
    xyz[snaps.edge < 0] = np.nan
    if snaps.indoors is not None:
        xyz[snaps.indoors.is_indoors] = np.nan
    return xyz


def are_same(origins: Snaps, destinations: Snaps, origin_of: IndexArray, destination_of: IndexArray) -> BoolArray:
    """Return which of some chosen pairs are one place."""
    near = np.abs(origins.lat[origin_of] - destinations.lat[destination_of]) <= SAME_PLACE_M / _DEGREE_M
    if near.any():
        a, b = origins.take(origin_of[near]), destinations.take(destination_of[near])
        near[near] = _is_near(_in_space(a), _in_space(b))
    return near


def _is_near(a: FloatArray, b: FloatArray) -> BoolArray:
    """Return which points are one place, row by row."""
    return np.asarray(((a - b) ** 2).sum(axis=1) <= SAME_PLACE_M**2)


def same_places(origins: Snaps, destinations: Snaps) -> tuple[IndexArray, IndexArray]:
    """Return the pairs of an origin and a destination that are one place."""
    if min(len(origins), len(destinations)) <= _FEW_POINTS:
        few, many = (origins, destinations) if len(origins) <= len(destinations) else (destinations, origins)
        near = [np.flatnonzero(np.abs(many.lat - lat) <= SAME_PLACE_M / _DEGREE_M) for lat in few.lat]
        i = np.repeat(np.arange(len(few)), [each.size for each in near])
        j = np.concatenate([np.empty(0, np.intp), *near])
        kept = are_same(few, many, i, j)
        i, j = i[kept], j[kept]
        return (i, j) if few is origins else (j, i)
    a, b = _in_space(origins), _in_space(destinations)
    along_a, along_b = a @ _DIRECTION, b @ _DIRECTION
    order = np.argsort(along_b)
    along_b = along_b[order]
    # Components along a direction differ by no more than points do; NaN comes last.
    first = np.searchsorted(along_b, along_a - 2.0 * SAME_PLACE_M)
    counts = np.searchsorted(along_b, along_a + 2.0 * SAME_PLACE_M, side="right") - first
    counts[np.isnan(along_a)] = 0
    i = np.repeat(np.arange(along_a.size), counts)
    j = order[np.repeat(first, counts) + within_rows(counts)]
    kept = _is_near(a[i], b[j])
    return i[kept], j[kept]


def island_pairs(
    graph: RoadGraph, origins: Snaps, destinations: Snaps, snapping: Snapping, largest: np.int64
) -> LocalPairs:
    """
    Return the pairs that are on one island with a way between them; see `local_pairs` for the parameters.

    Whether there is a way does not depend on the limit. Searches stay on islands: they begin at origins that cannot
    leave theirs, or at destinations of which the main network does not lead to theirs.
    """
    few, many = (origins, destinations) if len(origins) <= len(destinations) else (destinations, origins)
    found: list[tuple[IndexArray, IndexArray, Int64Array]] = []
    starts = ends = np.zeros(0, np.intp)
    # Most points are on no island, so that those of the other side need not be looked for.
    if few.on_islands().any() and many.on_islands().any():
        starts, ends = np.flatnonzero(origins.on_islands()), np.flatnonzero(destinations.on_islands())
        topology, forever = graph.topology, limit_label(FOREVER_S, graph.metric)
        leaving, reached = origins.at_islands(starts), destinations.at_islands(ends)
        stays, is_cut_off = ~_any(leaving.places, topology.can_leave), ~_any(reached.places, topology.can_arrive)
        for rows, columns, is_backward in (
            (np.flatnonzero(stays), np.arange(ends.size), False),
            (np.flatnonzero(is_cut_off), np.flatnonzero(~stays), True),
        ):
            if not (rows.size and columns.size):
                continue
            i, j = (columns, rows) if is_backward else (rows, columns)
            ends_of = (
                LinkedPoints.of(graph, leaving.take(i), snapping, is_entry=False),
                LinkedPoints.of(graph, reached.take(j), snapping, is_entry=True),
            )
            of_rows, of_columns = ends_of[::-1] if is_backward else ends_of
            search = RowSearch.of(graph, of_rows, of_columns, is_backward=is_backward, is_once=True)
            for part in row_blocks(rows.size, columns.size):
                checkpoint()
                labels = search.labels(part, np.full(part.stop - part.start, forever))
                row, column = np.nonzero(labels != UNREACHED)
                each = rows[row + part.start], columns[column], labels[row, column]
                found.append((each[1], each[0], each[2]) if is_backward else each)
    if not found:
        nothing = np.zeros(0, np.intp)
        return LocalPairs(nothing, nothing, np.zeros(0, np.int64))
    row, column, label = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    if isinstance(graph, TimedGraph):
        label = timed_labels(graph, Pairs(leaving, reached, (row, column)), snapping, largest)
    return LocalPairs(starts[row], ends[column], np.where(label > largest, UNREACHED, label))


def _any(places: Places | None, of_edge: BoolArray) -> BoolArray:
    """Return for each point whether something holds for the edge of one of its places."""
    assert places is not None
    counts = indptr_of(of_edge[places.edge])[places.indptr]
    return np.asarray(np.diff(counts) > 0)
