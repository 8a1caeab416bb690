"""
Snap points to the nearest position on the nearest usable edge.

An origin is snapped to the nearest edge from which the main part of the network can be reached, a destination to the
nearest edge that can be reached from there. Only if there is no such edge within the threshold, a point is snapped to
an island. A point that is nearer to an island has places there, too, for trips between two points on one island, see
`traveltime_lab.streets.local_pairs`. The straight walk between a point and its position must not cross water; a point
in the water may leave it. It must not cross a motorway at ground level, unless there is no other street near, see
`nearest_unbarred` of `traveltime_lab.kernels.street.nearest`. Points and the cells of a travel-time surface use the
same index, so that shapes and matrices agree.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from traveltime_lab._arrays import BoolArray, FloatArray, IndexArray, Int8Array, Int32Array, chosen_rows, indptr_of
from traveltime_lab.kernels.street import nearest, ties
from traveltime_lab.kernels.street.crossings import MOTORWAY, SHORE, barring
from traveltime_lab.kernels.street.grid import Grid, build_grid
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.table import WALKING
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.runtime.shared import shared
from traveltime_lab.runtime.threads import side_by_side
from traveltime_lab.settings import settings
from traveltime_lab.streets.graph import Topology
from traveltime_lab.streets.indoors import Indoors
from traveltime_lab.streets.islands import island_places, main_edges
from traveltime_lab.streets.layer import RoadsKey, StreetLayer, roads_key
from traveltime_lab.streets.segments import CELL_M, SegmentIndex, segments

#: Snapping of the stops of a timetable, which is that of other points.
STOP_SNAPPING: Final = Snapping()
#: Status of a point: snapped, too far from any usable edge, or outside of the network.
SNAPPED, TOO_FAR, OUTSIDE = 0, 1, 2

#: Marks of the segments of a snap index: that the main part of the network can be reached from there, that it leads
#: there, or both.
CAN_LEAVE, CAN_ARRIVE, MAIN = np.uint8(1), np.uint8(2), np.uint8(3)
#: Requirement for a street that may be on an island.
ANY = np.uint8(0)

#: Snap indexes by roads and accepted roads.
INDEXES = Derived[tuple[RoadsKey, str], "SegmentIndex"]("snap indexes", kept=16)
ISLANDS = Derived[tuple[RoadsKey, str, int], "SegmentIndex"]("islands", kept=32)
BARRIERS = Derived[None, Grid]("barriers", kept=1)

#: Number of points from which snapping runs in parallel.
MANY_POINTS: Final = 20_000


@dataclass(frozen=True)
class Snaps:
    """
    Positions of points on the network.

    At a junction, and wherever several streets are as near as the nearest one (within half a metre), a point has a
    position on each of them, where it is nearest. Searches use the best of these, see `places`.

    Attributes
    ----------
    edge : int32 array of shape (n,)
        Nearest usable edge, -1 for none.
    fraction : float64 array of shape (n,)
        Position on the edge, from 0 at ``edge_from`` to 1 at ``edge_to``.
    distance_m : float64 array of shape (n,)
        Straight-line distance between the point and its position; inf where there is none.
    status : int8 array of shape (n,)
        `SNAPPED`, `TOO_FAR` or `OUTSIDE`.
    lng, lat : float64 arrays of shape (n,)
        The points in EPSG:4326.
    places : traveltime_lab.kernels.street.ties.Places
        CSR by point of the positions on all edges that are as near, the nearest one first. If not given, a point has
        one position.
    islands : Places, optional
        CSR by point of the positions on islands of the points that are nearer to one than to the main network; see
        `traveltime_lab.streets.islands`. None if there are none, and until they are searched for.
    search : IslandSearch, optional
        How to find them, as long as they were not looked for: from one origin on the main network to many destinations,
        nothing depends on them.
    indoors : Indoors, optional
        The parts of connectors inside buildings, in addition to `places`; by default there are none.
    """

    edge: Int32Array
    fraction: FloatArray
    distance_m: FloatArray
    status: Int8Array
    lng: FloatArray
    lat: FloatArray
    places: ties.Places | None = None
    islands: ties.Places | None = None
    search: IslandSearch | None = None
    indoors: Indoors | None = None

    def __post_init__(self) -> None:
        """Give each point that is snapped one position, unless positions are given."""
        if self.places is None:
            found = self.edge >= 0
            indptr = indptr_of(found)
            arrays = self.edge[found], np.asarray(self.fraction[found], np.float64), self.distance_m[found]
            object.__setattr__(self, "places", ties.Places(indptr, *arrays))

    def __len__(self) -> int:
        """Return the number of points."""
        return self.edge.size

    def take(self, index: IndexArray) -> Snaps:
        """Return the snaps of the points at some positions."""
        assert self.places is not None
        return Snaps(
            self.edge[index],
            self.fraction[index],
            self.distance_m[index],
            self.status[index],
            self.lng[index],
            self.lat[index],
            _taken(self.places, index),
            None if self.islands is None else _taken(self.islands, index),
            self.search,
            None if self.indoors is None else self.indoors.take(self.places.indptr, index),
        )

    def one(self, point: int) -> Snaps:
        """Return the snap of one point; searches at several moments share it."""
        return shared("point", (self,), lambda: self.take(np.array([point])), point)

    def spread_out(self, index: IndexArray, n: int) -> Snaps:
        """Return the snaps of `n` points, of which these are the ones at some positions; the others have no street."""
        assert self.places is not None
        edge, fraction, distance = np.full(n, -1, np.int32), np.zeros(n), np.full(n, np.inf)
        status, lng, lat = np.full(n, TOO_FAR, np.int8), np.full(n, np.nan), np.full(n, np.nan)
        edge[index], fraction[index], distance[index] = self.edge, self.fraction, self.distance_m
        status[index], lng[index], lat[index] = self.status, self.lng, self.lat
        islands = self._island_places()
        islands = None if islands is None else _spread_out(islands, index, n)
        places = _spread_out(self.places, index, n)
        return Snaps(edge, fraction, distance, status, lng, lat, places, islands)

    def _island_places(self) -> ties.Places | None:
        """Return `islands`, which are looked for if they were not."""
        if self.search is not None:
            object.__setattr__(self, "islands", self.search.places(self))
            object.__setattr__(self, "search", None)
        return self.islands

    def on_islands(self) -> BoolArray:
        """Return which points are nearer to an island than to the main network."""
        islands = self._island_places()
        return np.zeros(len(self), np.bool_) if islands is None else np.diff(islands.indptr) > 0

    def without_islands(self) -> Snaps:
        """Return the snaps without places on islands, so that all trips use the others."""
        return replace(self, islands=None, search=None)

    def only_islands(self) -> Snaps:
        """Return the snaps to islands of all points; those that are not nearer to one have no street."""
        index = np.flatnonzero(self.on_islands())
        some = self.at_islands(index) if index.size else self.take(index)
        return some.spread_out(index, len(self))

    def at_islands(self, index: IndexArray) -> Snaps:
        """Return the snaps to islands of the points at some positions, which must be nearer to one."""
        islands = self._island_places()
        assert islands is not None
        places = _taken(islands, index)
        first = places.indptr[:-1]
        nearest_place = places.edge[first], places.fraction[first], places.distance[first]
        return Snaps(*nearest_place, self.status[index], self.lng[index], self.lat[index], places)


@dataclass(frozen=True)
class IslandSearch:
    """
    How to find the places of points on islands.

    Attributes
    ----------
    streets : StreetLayer
    transportation : Transportation
    accept_roads : str
        As in `snap_index`.
    limit_m : float
        Snapping threshold.
    """

    streets: StreetLayer
    transportation: Transportation
    accept_roads: str
    limit_m: float

    def places(self, snaps: Snaps) -> ties.Places | None:
        """Return the places of snapped points on islands; see `traveltime_lab.streets.islands.island_places`."""
        assert snaps.places is not None
        islands = island_index(self.streets, self.transportation, self.accept_roads, MAIN)
        is_main = main_edges(self.streets.road_graph(self.transportation).topology)
        x, y = self.streets.frame.to_xy(snaps.lng, snaps.lat)
        here = x, y, self.streets.frame.shrink(y)
        return island_places(*here, snaps.places, is_main, islands, barriers(self.streets), self.limit_m)


def _taken(places: ties.Places, index: IndexArray) -> ties.Places:
    """Return the places of the points at some positions."""
    indptr, *arrays = places
    new_indptr, rows = chosen_rows(indptr, index)
    return ties.Places(new_indptr, *(array[rows] for array in arrays))


def _spread_out(places: ties.Places, index: IndexArray, n: int) -> ties.Places:
    """Return the places of `n` points, of which those at ascending positions have some."""
    counts = np.zeros(n, np.int64)
    counts[index] = np.diff(places.indptr)
    return places._replace(indptr=indptr_of(counts))


def snap_index(streets: StreetLayer, transportation: Transportation, accept_roads: str) -> SegmentIndex:
    """
    Return the index of the edges that points can be snapped to, with the marks `CAN_LEAVE` and `CAN_ARRIVE`.

    Parameters
    ----------
    streets : StreetLayer
    transportation : Transportation
    accept_roads : {"both_drivable_and_walkable", "any_drivable"}
        For driving: whether points may be snapped to roads that pedestrians cannot use.
    """

    def build() -> SegmentIndex:
        topology = streets.road_graph(transportation).topology
        uses = streets.tables.uses
        usable = topology.takes_points[0::2] | topology.takes_points[1::2]
        # Routes do not begin or end in the middle of a ferry crossing.
        usable &= ~uses["is_ferry"].to_numpy()[streets.tables.edge_use]
        if transportation.street.has_road_options and accept_roads == "both_drivable_and_walkable":
            on_foot = streets.road_graph(Transportation(WALKING.name)).topology.takes_points
            usable &= on_foot[0::2] | on_foot[1::2]
        marks = CAN_LEAVE * topology.can_leave.astype(np.uint8) | CAN_ARRIVE * topology.can_arrive.astype(np.uint8)
        return SegmentIndex.build(streets, usable, marks, *_streets_of(topology))

    return INDEXES.of(streets, index_key(transportation, accept_roads), build)


def island_index(
    streets: StreetLayer, transportation: Transportation, accept_roads: str, needed: np.uint8
) -> SegmentIndex:
    """Return the index of the usable edges that lack a mark; see `snap_index`."""

    def build() -> SegmentIndex:
        whole = snap_index(streets, transportation, accept_roads)
        requested = np.zeros(streets.n_edges, np.bool_)
        requested[whole.edge[whole.grid.marks & needed != needed]] = True
        return SegmentIndex.build(streets, requested, None, *_streets_of(streets.road_graph(transportation).topology))

    key = (*index_key(transportation, accept_roads), int(needed))
    return ISLANDS.of(streets, key, build)


def _streets_of(topology: Topology) -> tuple[Int32Array, BoolArray]:
    """Return the street of each edge, and where streets end; a part of a street on an island has its own number."""
    return 2 * topology.chain + main_edges(topology).astype(np.int32), topology.ends_chain


def barriers(streets: StreetLayer) -> Grid:
    """Return what straight walks must not cross: the outlines of water, and motorways at ground level."""

    def build() -> Grid:
        x1, y1, x2, y2, edge, _, _ = segments(streets)
        is_barrier = streets.tables.uses["is_barrier"].to_numpy()[streets.tables.edge_use][edge]
        starts, ends = (np.zeros((0, 2)), np.zeros((0, 2))) if streets.shores is None else streets.shores()
        marks = np.repeat(np.array([SHORE, MOTORWAY]), [len(starts), int(is_barrier.sum())])
        grid: Grid = build_grid(
            np.concatenate([starts[:, 0], x1[is_barrier]]), np.concatenate([starts[:, 1], y1[is_barrier]]),
            np.concatenate([ends[:, 0], x2[is_barrier]]), np.concatenate([ends[:, 1], y2[is_barrier]]),
            CELL_M, marks,
        )  # fmt: skip
        return grid

    return BARRIERS.of(streets, None, build)


@functools.cache
def no_barriers() -> Grid:
    """Return an empty grid."""
    nothing = np.zeros(0)
    grid: Grid = build_grid(nothing, nothing, nothing, nothing, CELL_M)
    return grid


def index_key(transportation: Transportation, accept_roads: str) -> tuple[RoadsKey, str]:
    """Return the properties that a snap index depends on."""
    return roads_key(transportation), accept_roads if transportation.street.has_road_options else ""


def snap_points(
    streets: StreetLayer,
    lng: FloatArray,
    lat: FloatArray,
    transportation: Transportation,
    snapping: Snapping,
    needed: np.uint8 = MAIN,
) -> Snaps:
    """
    Snap points to the network.

    Parameters
    ----------
    streets : StreetLayer
    lng, lat : float64 arrays of shape (n,)
        EPSG:4326.
    transportation : Transportation
        Transportation whose streets are used.
    snapping : Snapping
        Threshold, penalty and accepted roads.
    needed : {CAN_LEAVE, CAN_ARRIVE, MAIN, ANY}
        `CAN_LEAVE` for origins, `CAN_ARRIVE` for destinations, `MAIN` for points that are both. Islands are used only
        where there is no such street within the threshold.
    """
    roads = (streets, transportation, snapping.accept_roads)
    index, walls = snap_index(*roads), barriers(streets)
    x, y = streets.frame.to_xy(lng, lat)
    limit_m = float(snapping.threshold)

    def look_up(index: SegmentIndex, needed: np.uint8, part: IndexArray) -> ties.Places:
        rules = (limit_m, index.grid, needed, walls)
        here = x[part], y[part], streets.frame.shrink(y[part])
        found, near = nearest.nearest_segments(*here, *rules)
        places: ties.Places = ties.tied_places(*here, found, near, *rules, index.parts)
        return places

    everyone = np.arange(x.size)
    if x.size >= MANY_POINTS and settings.threads > 1:
        # Sorted by location, so that neighbours use the same part of the index, and each thread its own.
        parts = np.array_split(_in_order_of_place(streets, x, y), settings.threads * 4)
        found = list(side_by_side([functools.partial(look_up, index, needed, part) for part in parts]))
    else:
        parts, found = [everyone], [look_up(index, needed, everyone)]
    islands = island_index(*roads, needed)
    missing = np.concatenate([part[np.diff(here.indptr) == 0] for part, here in zip(parts, found, strict=True)])
    if missing.size and islands.edge.size:
        parts.append(missing)
        found.append(look_up(islands, ANY, missing))
    edge, fraction, distance = np.full(x.size, -1, np.int32), np.zeros(x.size), np.full(x.size, np.inf)
    if len(parts) == 1:
        places = found[0]
        is_found = np.diff(places.indptr) > 0
        first = places.indptr[:-1][is_found]
        edge[is_found], fraction[is_found] = places.edge[first], places.fraction[first]
        distance[is_found] = places.distance[first]
    else:
        # Each point has results in one part at most.
        counts = np.zeros(x.size, np.int64)
        for part, here in zip(parts, found, strict=True):
            counts[part] += np.diff(here.indptr)
        indptr = indptr_of(counts)
        places = ties.Places(indptr, np.empty(indptr[-1], np.int32), np.empty(indptr[-1]), np.empty(indptr[-1]))
        put = functools.partial(functools.partial, ties.put_places)
        side_by_side([put(*each, places, edge, fraction, distance) for each in zip(parts, found, strict=True)])
        is_found = counts > 0
    status = np.where(is_found, SNAPPED, TOO_FAR).astype(np.int8)
    if not is_found.all():
        status[~is_found & _is_outside(streets, x, y, snapping.threshold)] = OUTSIDE
    return Snaps(edge, fraction, distance, status, lng, lat, places, None, IslandSearch(*roads, limit_m))


def _in_order_of_place(streets: StreetLayer, x: FloatArray, y: FloatArray) -> IndexArray:
    """Return the order of points by squares of 500 m or more, row by row."""
    (west, east), (south, north) = _box(streets)
    # At most 65,536 squares, because numpy sorts numbers of 16 bits quickest.
    side = max(500.0, (east - west) / 254.0, (north - south) / 254.0)
    row = np.clip((y - south) / side, 0.0, 255.0).astype(np.uint16)
    column = np.clip((x - west) / side, 0.0, 255.0).astype(np.uint16)
    return np.argsort((row << np.uint16(8)) | column, kind="stable")


def _box(streets: StreetLayer) -> tuple[FloatArray, FloatArray]:
    """Return the bounding box of the network in local metres: west and east, south and north."""
    west, south, east, north = streets.bounds
    return streets.frame.to_xy(np.array([west, east]), np.array([south, north]))


def metres_to_streets(
    streets: StreetLayer,
    lng: FloatArray,
    lat: FloatArray,
    transportation: Transportation,
    accept_roads: str = "any_drivable",
    needed: np.uint8 = ANY,
    *,
    limit_m: float = np.inf,
    over_barriers: bool = True,
) -> FloatArray:
    """
    Return the distance of points to the nearest street of a mode.

    Parameters
    ----------
    streets : StreetLayer
    lng, lat : float64 arrays of shape (n,)
    transportation, accept_roads
        As in `snap_index`.
    needed : {CAN_LEAVE, CAN_ARRIVE, MAIN, ANY}
        Requirement for the street, as in `snap_points`.
    limit_m : float, optional
        Farthest distance to search.
    over_barriers : bool, default True
        Whether the straight walk may cross water and motorways.

    Returns
    -------
    float64 array of shape (n,)
        Metres; inf if there is no such street.
    """
    index = snap_index(streets, transportation, accept_roads)
    x, y = streets.frame.to_xy(lng, lat)
    walls = no_barriers() if over_barriers else barriers(streets)
    rules = (float(limit_m), index.grid, needed, walls)
    if x.size < MANY_POINTS:
        return np.asarray(nearest.nearest_segments(x, y, streets.frame.shrink(y), *rules)[0].distance)
    # Sorted by location, so that neighbours use the same part of the index.
    order = _in_order_of_place(streets, x, y)
    x, y = x[order], y[order]
    metres = np.empty(x.size)
    metres[order] = nearest.nearest_segments(x, y, streets.frame.shrink(y), *rules)[0].distance
    return metres


def crosses_motorway(streets: StreetLayer, snaps: Snaps) -> BoolArray:
    """Return which points are joined to a street on the other side of a motorway, as there is no other one near."""
    walls, found = barriers(streets), np.flatnonzero(snaps.edge >= 0)
    x, y = streets.frame.to_xy(snaps.lng, snaps.lat)
    to_x, to_y = streets.frame.to_xy(*snapped_coordinates(streets, snaps))
    shrink = streets.frame.shrink(y)
    result = np.zeros(len(snaps), np.bool_)
    for i in found.tolist():
        result[i] = barring(x[i], y[i], to_x[i], to_y[i], shrink[i], walls, True)[0] >= 0
    return result


def on_closed_streets(topology: Topology, snaps: Snaps) -> BoolArray:
    """Return which points are at streets that a change has closed, and at no other."""
    assert snaps.places is not None
    forward = 2 * snaps.places.edge.astype(np.int64)
    is_open = topology.is_open[forward] | topology.is_open[forward + 1]
    n_open = indptr_of(is_open)[snaps.places.indptr]
    return np.asarray((np.diff(n_open) == 0) & (np.diff(snaps.places.indptr) > 0))


def _is_outside(streets: StreetLayer, x: FloatArray, y: FloatArray, margin_m: float) -> BoolArray:
    """Return which points are farther than a margin from the bounding box of the network."""
    box_x, box_y = _box(streets)
    return np.asarray(
        (x < box_x[0] - margin_m) | (x > box_x[1] + margin_m) | (y < box_y[0] - margin_m) | (y > box_y[1] + margin_m)
    )


def snapped_coordinates(streets: StreetLayer, snaps: Snaps) -> tuple[FloatArray, FloatArray]:
    """
    Return the coordinates of the positions on the network.

    Returns
    -------
    lng, lat : float64 arrays of shape (n,)
        EPSG:4326; NaN for points that were not snapped.
    """
    lng = np.full(len(snaps), np.nan)
    lat = np.full(len(snaps), np.nan)
    x1, y1, x2, y2, _, start, span = segments(streets)
    found = np.flatnonzero(snaps.edge >= 0)
    if found.size:
        e, f = snaps.edge[found], snaps.fraction[found]
        # Segments are sorted by edge and position: find the last one that begins at or before the fraction. An edge has
        # one segment less than coordinates; see `segments_of`.
        indptr, e = streets.tables.coord_indptr, e.astype(np.int64)
        segment, last = indptr[e] - e, indptr[e + 1] - e - 2
        going = np.flatnonzero(segment < last)
        step = 1 << int((last - segment).max(initial=0)).bit_length()
        while step > 1:
            step //= 2
            # The farthest steps first, each if the segment there begins at or before the fraction.
            there = segment[going] + step
            takes = there <= last[going]
            takes[takes] = start[there[takes]] <= f[going[takes]]
            segment[going[takes]] += step
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(span[segment] > 0, (f - start[segment]) / span[segment], 0.0)
        t = np.clip(t, 0.0, 1.0)
        x = x1[segment] + t * (x2[segment] - x1[segment])
        y = y1[segment] + t * (y2[segment] - y1[segment])
        lng[found], lat[found] = streets.frame.to_lnglat(x, y)
    return lng, lat
