"""
Times between places and the border of the extract, beyond which streets may be missing.

One search from the whole border gives, for any point, the least time in which the border is reached from there. A
search from a point whose limit is shorter than that has the answer of a larger extract.

The border of a mode has three parts:

- edges that are cut (`StreetTables.edge_is_cut`), where they are;
- edges less than `NEAR_M` from the border, after a walk of half the way there: off the street, a place is measured from
  the nearest street, and at the middle of that way a missing street beyond the border may be as near;
- the nearest streets of all places that are nearer to the border than to a street, after the walk to that place.

Islands that are cut are beyond the border, too: in a larger extract they may be parts of the main network, to which
points are snapped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from traveltime_lab._arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    Int32Array,
    Int64Array,
    chosen_rows,
    indptr_of_rows,
    within_rows,
)
from traveltime_lab.crs import LocalFrame
from traveltime_lab.kernels.street import nearer, ties
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.limits import FOREVER_S
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.components import weak
from traveltime_lab.streets.extent import LocalBorder
from traveltime_lab.streets.field import label_field
from traveltime_lab.streets.graph import RoadGraph, Topology
from traveltime_lab.streets.islands import main_edges
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.links import positions
from traveltime_lab.streets.segments import SegmentIndex, segments
from traveltime_lab.streets.snapping import ANY, MAIN, SNAPPED, Snaps, index_key, snap_points

#: Metres from the border at which any edge counts as near, and spacing of the places that are looked at (assumed: about
#: a city block, and half of one).
NEAR_M: Final = 100.0
SPACING_M: Final = 50.0
#: Metres from the border up to which places are looked at every `SPACING_M`, as far as the usual threshold of snapping.
#: Farther on, steps are a share of the distance (assumed).
FAR_M: Final = 1000.0
STEP: Final = 0.1
#: Metres from the border beyond which no place is looked at, whatever the threshold of snapping (assumed).
MOST_M: Final = 20_000.0
#: Pairs of a point and a place on its edge that are looked at together: some ten megabytes.
_MOST_AT_ONCE: Final = 200_000


class Places(NamedTuple):
    """Positions on edges, and the straight way in metres from there to a place off the street."""

    edge: Int32Array
    fraction: FloatArray
    metres: FloatArray


_LOCAL = Derived[LocalFrame, LocalBorder]("border in local metres")
_OWN = Derived[None, Places]("edges at the border")
_UNSURE = Derived[None, BoolArray]("edges of islands at the border")
_INDEX = Derived[None, "SegmentIndex | None"]("index of islands at the border")
_WHOLE = Derived[None, FloatArray]("times of both directions of edges")
_PLACES = Derived[tuple[int, str], Places]("border of a mode", kept=2)
WAYS = Derived[tuple[bool, bool, int, str], "WaysThere"]("ways to the border", kept=4)


def is_known(streets: StreetLayer) -> bool:
    """Return whether the border of the extract is known."""
    return streets.tables.edge_is_cut.size > 0


def local_border(streets: StreetLayer) -> LocalBorder | None:
    """Return the border of the extract in local metres; it is kept. None if the extract has no box."""
    extent = streets.tables.extent
    if extent is None or extent.box is None:
        return None
    return _LOCAL.of(streets, streets.frame, lambda: LocalBorder.of(extent, streets.frame))


def times_to_border(
    streets: StreetLayer, graph: RoadGraph, means: Transportation, snapping: Snapping, *, is_arrival: bool
) -> WaysThere:
    """
    Return lower bounds of the ways between places and the border; they are searched once and kept.

    Parameters
    ----------
    streets : StreetLayer
        Streets with a border that is known.
    graph : RoadGraph
        Graph of the search.
    means : Transportation
        Transportation on streets.
    snapping : Snapping
        Its penalty decides whether walks off the street count. Places off the street are looked at up to its threshold
        from the border, 1 km at least and 20 km at most.
    is_arrival : bool
        True for ways from the border, False for ways to the border.
    """
    key = is_arrival, snapping.penalty == "enabled", *_reach(means, snapping)
    return WAYS.of(graph, key, lambda: _times(streets, graph, means, snapping, is_arrival))


def _reach(means: Transportation, snapping: Snapping) -> tuple[int, str]:
    """Return how far from the border places off the street are looked at, in metres, and the streets they snap to."""
    far_m = min(max(float(snapping.threshold), FAR_M), MOST_M)
    return int(far_m), index_key(means, snapping.accept_roads)[1]


def _times(
    streets: StreetLayer, graph: RoadGraph, means: Transportation, snapping: Snapping, is_arrival: bool
) -> WaysThere:
    places = _PLACES.of(graph.topology, _reach(means, snapping), lambda: _places(streets, graph, means, snapping))
    unsure = _INDEX.of(graph.topology, None, lambda: _index(streets, graph))
    return replace(WaysThere.of(streets, graph, places, snapping, is_arrival=is_arrival), unsure=unsure)


@dataclass(frozen=True)
class WaysThere:
    """
    Lower bounds of the ways between any point and the nearest of some places, by one search from these.

    Attributes
    ----------
    is_arrival : bool
        Whether ways lead from the places instead of there.
    beyond : float64 array of shape (n_directed,)
        Seconds, or metres in a graph of distances, from the end of each directed edge to the places, or from there to
        its beginning; inf where there is no way.
    indptr, fraction, add : int64, float64, float64 arrays
        CSR by edge of the places: positions, and values to add.
    unsure : SegmentIndex, optional
        Edges of islands that are cut; see `unsure_edges`. None if there are none.
    """

    is_arrival: bool
    beyond: FloatArray
    indptr: Int64Array
    fraction: FloatArray
    add: FloatArray
    unsure: SegmentIndex | None = None

    @classmethod
    def of(
        cls, streets: StreetLayer, graph: RoadGraph, somewhere: Places, snapping: Snapping, *, is_arrival: bool
    ) -> WaysThere:
        """Search from some places; see `times_to_border` for the other parameters."""
        order = np.argsort(somewhere.edge, kind="stable")
        edge, fraction, metres = (values[order] for values in somewhere)
        beyond, add = np.full(2 * streets.n_edges, np.inf), np.zeros(0)
        if edge.size:
            # One point has all the places.
            places = ties.Places(np.array([0, edge.size], np.int64), edge.astype(np.int32), fraction, metres)
            none = np.zeros(1)
            here = Snaps(places.edge[:1], none, places.distance[:1], np.zeros(1, np.int8), none, none, places)
            add = label_parts.primary(positions(graph, here, snapping).connector) / graph.unit
            label = label_field(graph, here, snapping, limit=FOREVER_S, is_backward=not is_arrival).label
            reached = label != UNREACHED
            beyond[reached] = label_parts.primary(label[reached]) / graph.unit
        indptr = indptr_of_rows(edge, streets.n_edges)
        return cls(is_arrival, beyond, indptr, np.asarray(fraction, np.float64), add)

    def joined(self, other: WaysThere) -> WaysThere:
        """Return the ways to the places of both, in the same graph and direction."""
        n_edges = self.indptr.size - 1
        edge = np.concatenate([np.repeat(np.arange(n_edges), np.diff(each.indptr)) for each in (self, other)])
        order = np.argsort(edge, kind="stable")
        fraction, add = np.append(self.fraction, other.fraction), np.append(self.add, other.add)
        beyond = np.minimum(self.beyond, other.beyond)
        indptr = indptr_of_rows(edge, n_edges)
        return replace(self, beyond=beyond, indptr=indptr, fraction=fraction[order], add=add[order])

    def at(self, graph: RoadGraph, snaps: Snaps, snapping: Snapping) -> FloatArray:
        """Return the bound for each snapped point, with the way between the point and its edge; inf without an edge."""
        here = positions(graph, snaps, snapping)
        each = self._at(graph, here.edge.astype(np.int64), here.fraction)
        each += label_parts.primary(here.connector) / graph.unit
        found = np.full(len(snaps), np.inf)
        has_any = np.diff(here.indptr) > 0
        if each.size:
            found[has_any] = np.minimum.reduceat(each, here.indptr[:-1][has_any])
        return found

    def _at(self, graph: RoadGraph, edge: Int64Array, fraction: FloatArray) -> FloatArray:
        """Return the bound for positions on edges."""
        whole, beyond = _WHOLE.of(graph, None, lambda: _whole(graph))[edge], self.beyond.reshape(-1, 2)[edge]
        share = np.column_stack([fraction, 1.0 - fraction] if self.is_arrival else [1.0 - fraction, fraction])
        part = _shares(share, whole)
        part += beyond
        found: FloatArray = np.minimum(part[:, 0], part[:, 1])
        # Ways along the edge itself, in either direction; some points at a time, as edges may have many places.
        n_places = np.diff(self.indptr)[edge]
        some = np.flatnonzero(n_places)
        least, block = np.minimum(whole[some, 0], whole[some, 1]), np.cumsum(n_places[some]) // _MOST_AT_ONCE
        starts = np.flatnonzero(np.append(True, block[1:] != block[:-1])) if some.size else block
        for start, end in pairwise([*starts.tolist(), some.size]):
            rows, at = chosen_rows(self.indptr, edge[some[start:end]])
            of = start + np.repeat(np.arange(end - start), np.diff(rows))
            along = _shares(np.abs(self.fraction[at] - fraction[some[of]]), least[of])
            along += self.add[at]
            np.minimum.at(found, some[of], along)
        # Parts of edges are rounded to units of labels.
        found -= 2.0 / graph.unit
        return np.maximum(found, 0.0, out=found)


def _whole(graph: RoadGraph) -> FloatArray:
    """Return the time, or the length, of both directions of edges (n_edges, 2); inf where they are closed."""
    whole = np.where(graph.topology.is_open, label_parts.primary(graph.traversal) / graph.unit, np.inf)
    return whole.reshape(-1, 2)


def _shares(share: FloatArray, whole: FloatArray) -> FloatArray:
    """Return parts of edges; one of zero length is free, also of an edge that is closed."""
    with np.errstate(invalid="ignore"):
        found: FloatArray = share * whole
    found[share == 0.0] = 0.0
    return found


def _places(streets: StreetLayer, graph: RoadGraph, means: Transportation, snapping: Snapping) -> Places:
    """Return the border of a mode: where it is reached, and after which straight way off the street."""
    found = [_OWN.of(streets, None, lambda: _own_places(streets)), *_beside(streets, means, snapping)]
    unsure = unsure_edges(streets, graph)
    if unsure.any():
        x1, y1, x2, y2, edge, start, span = segments(streets)
        x, y = _spaced(*(ends[unsure[edge]] for ends in (x1, y1, x2, y2)))
        half = np.hypot(x2 - x1, y2 - y1) / 2.0
        gap = _gap_m((x, y), ((x1 + x2) / 2.0, (y1 + y2) / 2.0))
        gap = np.maximum(gap - half - SPACING_M / 2.0, 0.0)
        near = gap <= NEAR_M
        found.append(Places(edge[near], (start + span / 2.0)[near], gap[near] / 2.0))
        beside, _ = _nearest_to(streets, means, x, y, snapping, MAIN)
        found.append(beside._replace(metres=beside.metres / 2.0))
    edge, fraction, metres = (np.concatenate(part) for part in zip(*found, strict=True))
    return Places(edge, fraction, metres)


def _beside(streets: StreetLayer, means: Transportation, snapping: Snapping) -> Iterator[Places]:
    """
    Yield the nearest streets of the places that are nearer to the border than to a street.

    If a place is, so are those between it and the nearest place on the border. So rays from the border to the inside
    are followed as long as that is true.
    """
    border = local_border(streets)
    if border is None or not streets.n_edges:
        return
    far_m = _reach(means, snapping)[0]
    x, y = streets.frame.to_xy(streets.tables.coord_lng, streets.tables.coord_lat)
    # A street is at most as far from the border as a ray is long, and then as a place may be from its street.
    window = x.min() - 2 * far_m, y.min() - 2 * far_m, x.max() + 2 * far_m, y.max() + 2 * far_m
    (x, y), (x_in, y_in) = (values.T for values in border.places(SPACING_M, window))
    depth_m = 0.0
    while x.size and depth_m <= far_m:
        places, of = _nearest_to(streets, means, x + depth_m * x_in, y + depth_m * y_in, snapping, ANY)
        nearest_m = np.full(x.size, float(far_m))
        np.minimum.at(nearest_m, of, places.metres)
        step_m = SPACING_M if depth_m < FAR_M else STEP * depth_m
        # Places between those that are looked at may be as much nearer.
        yield places._replace(metres=np.maximum(places.metres - step_m, 0.0))
        on = nearest_m > depth_m
        depth_m += step_m
        x, y, x_in, y_in = x[on], y[on], x_in[on], y_in[on]


def _own_places(streets: StreetLayer) -> Places:
    """Return the places where edges are cut, and those on edges less than `NEAR_M` from the border."""
    t = streets.tables
    counts = np.diff(t.coord_indptr)
    edge = np.repeat(np.arange(streets.n_edges, dtype=np.int32), counts)
    x, y = streets.frame.to_xy(t.coord_lng, t.coord_lat)
    is_last = np.zeros(x.size, np.bool_)
    is_last[t.coord_indptr[1:] - 1] = True
    step = np.hypot((x[1:] - x[:-1]) * streets.frame.shrink((y[1:] + y[:-1]) / 2.0), y[1:] - y[:-1])
    step[is_last[:-1]] = 0.0
    along = np.append(0.0, np.cumsum(step))
    begin, length = along[t.coord_indptr[:-1]], along[t.coord_indptr[1:] - 1] - along[t.coord_indptr[:-1]]
    fraction = np.clip((along - begin[edge]) / np.where(length > 0.0, length, 1.0)[edge], 0.0, 1.0)
    # The nearest position between two places of a line is at most as much nearer as they are apart.
    apart = np.maximum(np.append(step, 0.0), np.append(0.0, step))

    is_cut, is_end = t.edge_is_cut[edge], is_last | np.append(True, is_last[:-1])
    border = local_border(streets)
    if border is not None:
        outside = ~border.extent.contains(t.coord_lng, t.coord_lat)
        gap = border.gap_m(t.coord_lng, t.coord_lat, 2.0 * NEAR_M)
    else:
        outside, gap = np.zeros(x.size, np.bool_), np.full(x.size, np.inf)
        if is_cut.any():
            gap = _gap_m((x[is_cut & is_end], y[is_cut & is_end]), (x, y))
    is_across = np.bincount(edge[outside], minlength=streets.n_edges) > 0
    at_cut = outside | (is_cut & is_end & ~is_across[edge])
    near = np.maximum(gap - apart, 0.0)
    near[at_cut] = 0.0
    some = np.flatnonzero(near <= NEAR_M)
    return Places(edge[some], fraction[some], near[some] / 2.0)


def _gap_m(places: tuple[FloatArray, FloatArray], points: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return the distance in metres of each point to the nearest of some places; inf beyond ``2 * NEAR_M``."""
    from scipy.spatial import cKDTree  # noqa: PLC0415 - takes a tenth of the time of all imports; often not needed

    found, _ = cKDTree(np.column_stack(places)).query(np.column_stack(points), distance_upper_bound=2.0 * NEAR_M)
    return np.asarray(found, np.float64)


def _nearest_to(
    streets: StreetLayer,
    means: Transportation,
    x: FloatArray,
    y: FloatArray,
    snapping: Snapping,
    needed: np.uint8,
) -> tuple[Places, IndexArray]:
    """Return the nearest positions on streets of places in local metres, and the place of each."""
    anywhere = replace(snapping, threshold=_reach(means, snapping)[0])
    snaps = snap_points(streets, *streets.frame.to_lnglat(x, y), means, anywhere, needed)
    assert snaps.places is not None
    indptr, edge, fraction, metres = snaps.places
    return Places(edge, fraction, metres), np.repeat(np.arange(x.size), np.diff(indptr))


def _spaced(x1: FloatArray, y1: FloatArray, x2: FloatArray, y2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return places on segments that are at most `SPACING_M` apart, both ends included."""
    counts = 2 + (np.hypot(x2 - x1, y2 - y1) / SPACING_M).astype(np.int64)
    share = within_rows(counts) / np.repeat(counts - 1, counts)
    x, y = (np.repeat(a, counts) + share * np.repeat(b - a, counts) for a, b in ((x1, x2), (y1, y2)))
    return x, y


def unsure_edges(streets: StreetLayer, graph: RoadGraph) -> BoolArray:
    """
    Return the edges that are on an island which is cut: beyond the border it may be a part of the main network.

    Points at such an island are snapped to the main network, and perhaps would not be in a larger extract.
    """
    return _UNSURE.of(graph.topology, None, lambda: _unsure_edges(streets, graph.topology))


def _index(streets: StreetLayer, graph: RoadGraph) -> SegmentIndex | None:
    """Return the index of the edges of islands that are cut."""
    unsure = unsure_edges(streets, graph)
    return SegmentIndex.build(streets, unsure) if unsure.any() else None


def _unsure_edges(streets: StreetLayer, topology: Topology) -> BoolArray:
    t = streets.tables
    takes_points = topology.takes_points[0::2] | topology.takes_points[1::2]
    island = np.flatnonzero(takes_points & ~main_edges(topology))
    ends = t.edge_from[island], t.edge_to[island]
    n_nodes = t.node_lng.size
    _, component = weak(*ends, n_nodes)
    is_cut = np.zeros(n_nodes, np.bool_)
    is_cut[component[ends[0][t.edge_is_cut[island]]]] = True
    found = np.zeros(streets.n_edges, np.bool_)
    found[island[is_cut[component[ends[0]]]]] = True
    return found


def from_points(
    streets: StreetLayer,
    graph: RoadGraph,
    means: Transportation,
    snaps: Snaps,
    snapping: Snapping,
    *,
    is_arrival: bool,
) -> FloatArray:
    """
    Return a lower bound of the way between each point and the border.

    Parameters
    ----------
    streets, graph, means, is_arrival
        As in `times_to_border`.
    snaps : Snaps
    snapping : Snapping

    Returns
    -------
    float64 array of shape (n,)
        Seconds, or metres in a graph of distances. 0 for points whose nearest street may be missing; inf for points
        without a way to the border.
    """
    ways = times_to_border(streets, graph, means, snapping, is_arrival=is_arrival)
    found = ways.at(graph, snaps, snapping)
    found[are_uncertain(streets, ways, snaps, snapping)] = 0.0
    return found


def are_uncertain(streets: StreetLayer, ways: WaysThere, snaps: Snaps, snapping: Snapping) -> BoolArray:
    """Return which points are beyond the border, or so near that a street beyond it may be the nearest."""
    found = np.zeros(len(snaps), np.bool_)
    border = local_border(streets)
    if border is not None:
        within_m = float(snapping.threshold)
        reach_m = np.where(snaps.status == SNAPPED, np.minimum(snaps.distance_m, within_m), within_m)
        near = np.flatnonzero(~border.is_deeper(snaps.lng, snaps.lat, reach_m))
        gap = border.gap_m(snaps.lng[near], snaps.lat[near], within_m)
        found[near] = (gap == 0.0) | (gap < reach_m[near])
    if ways.unsure is not None:
        x, y = streets.frame.to_xy(snaps.lng, snaps.lat)
        within = np.where(snaps.status == SNAPPED, snaps.distance_m, float(snapping.threshold))
        found |= nearer.has_nearer(x, y, streets.frame.shrink(y), within, ways.unsure.grid)
    return found
