"""
Snap points to the nearest position on the nearest usable edge.

A point is snapped to the nearest edge of the main part of the network, where every place can be left and reached again.
Only if there is no such edge within the threshold, it is snapped to an island. Points and the cells of a travel-time
surface use the same index, so that shapes and matrices agree.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from traveltime_lab._arrays import BoolArray, FloatArray, IndexArray, Int8Array, Int32Array
from traveltime_lab._memo import Derived
from traveltime_lab._threads import side_by_side
from traveltime_lab.kernels.street import nearest
from traveltime_lab.modes import Snapping, Transportation
from traveltime_lab.settings import settings
from traveltime_lab.streets.layer import RoadsKey, StreetLayer, roads_key

#: Snapping of the stops of a timetable, which is that of other points.
STOP_SNAPPING: Final = Snapping()
#: Status of a point: snapped, too far from any usable edge, or outside of the network.
SNAPPED, TOO_FAR, OUTSIDE = 0, 1, 2

#: Snap indexes by roads and accepted roads.
_INDEXES = Derived[tuple[RoadsKey, str], tuple["SegmentIndex", "SegmentIndex"]]("snap indexes", kept=16)
_SEGMENTS = Derived[None, tuple[Any, ...]]("segments")

#: Side of the cells of the index in metres: about a city block, so that a cell has few segments.
_CELL_M = 60.0


@dataclass(frozen=True)
class Snaps:
    """
    Positions of points on the network.

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
    """

    edge: Int32Array
    fraction: FloatArray
    distance_m: FloatArray
    status: Int8Array
    lng: FloatArray
    lat: FloatArray

    def __len__(self) -> int:
        """Return the number of points."""
        return self.edge.size

    def take(self, index: IndexArray) -> Snaps:
        """Return the snaps of the points at some positions."""
        return Snaps(
            self.edge[index],
            self.fraction[index],
            self.distance_m[index],
            self.status[index],
            self.lng[index],
            self.lat[index],
        )


@dataclass(frozen=True)
class SegmentIndex:
    """
    Line segments of some edges in a hashed grid.

    Attributes
    ----------
    grid : traveltime_lab.kernels.street.nearest.Grid
        The segments by the cells that they cross.
    edge : int32 array of shape (n_segments,)
        Edge of each segment.
    start, span : float64 arrays of shape (n_segments,)
        Position of the first end on the edge, and share of the edge, 0 to 1.
    """

    grid: nearest.Grid
    edge: Int32Array
    start: FloatArray
    span: FloatArray

    @classmethod
    def build(cls, streets: StreetLayer, wanted: BoolArray) -> SegmentIndex:
        """Index the segments of the edges marked in `wanted` (bool array of shape (n_edges,))."""
        x1, y1, x2, y2, edge, start, span = segments(streets)
        mine = wanted[edge]
        grid = nearest.build_grid(x1[mine], y1[mine], x2[mine], y2[mine], _CELL_M)
        return cls(grid, edge[mine], start[mine], span[mine])


def segments(streets: StreetLayer) -> tuple[Any, ...]:
    """
    Return the straight segments of all edges, edge by edge and along each edge.

    Returns
    -------
    x1, y1, x2, y2 : float64 arrays of shape (n_segments,), m
        Ends in local metres.
    edge : int32 array of shape (n_segments,)
        Edge of each segment.
    start, span : float64 arrays of shape (n_segments,)
        Position of the first end on the edge, and share of the edge, 0 to 1.
    """
    return _SEGMENTS.of(streets, None, lambda: _segments(streets))


def _segments(streets: StreetLayer) -> tuple[Any, ...]:
    """Split the lines of all edges into straight segments; see `segments`."""
    t = streets.tables
    x, y = streets.frame.to_xy(t.coord_lng, t.coord_lat)
    edge_of_coord = np.repeat(np.arange(streets.n_edges, dtype=np.int32), np.diff(t.coord_indptr))
    inner = edge_of_coord[1:] == edge_of_coord[:-1]
    first = np.flatnonzero(inner)
    # Use the mean shrink of both ends to get the length of a segment in true metres.
    shrink = streets.frame.shrink(y)
    dx = (x[first + 1] - x[first]) * (shrink[first] + shrink[first + 1]) / 2.0
    length = np.hypot(dx, y[first + 1] - y[first])
    edge = edge_of_coord[first]
    total = np.bincount(edge, weights=length, minlength=streets.n_edges)
    before = np.concatenate([[0.0], np.cumsum(length)])[:-1]
    offset = np.concatenate([[0.0], np.cumsum(total)])[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        start = np.where(total[edge] > 0, (before - offset[edge]) / total[edge], 0.0)
        span = np.where(total[edge] > 0, length / total[edge], 0.0)
    return x[first], y[first], x[first + 1], y[first + 1], edge, np.clip(start, 0.0, 1.0), span


def snap_indexes(
    streets: StreetLayer, transportation: Transportation, accept_roads: str
) -> tuple[SegmentIndex, SegmentIndex]:
    """
    Return the index of the main part of the network and the index of islands.

    Parameters
    ----------
    streets : StreetLayer
    transportation : Transportation
    accept_roads : {"both_drivable_and_walkable", "any_drivable"}
        For driving: whether points may be snapped to roads that pedestrians cannot use.
    """

    def build() -> tuple[SegmentIndex, SegmentIndex]:
        topology = streets.road_graph(transportation).topology
        uses = streets.tables.uses
        usable = topology.is_open[0::2] | topology.is_open[1::2]
        # Routes do not begin or end in the middle of a ferry crossing.
        usable &= ~uses["is_ferry"].to_numpy()[streets.tables.edge_use]
        if transportation.base == "driving" and accept_roads == "both_drivable_and_walkable":
            on_foot = streets.road_graph(Transportation("walking")).topology.is_open
            usable &= on_foot[0::2] | on_foot[1::2]
        main = topology.can_leave & topology.can_arrive
        return SegmentIndex.build(streets, usable & main), SegmentIndex.build(streets, usable & ~main)

    return _INDEXES.of(streets, index_key(transportation, accept_roads), build)


def index_key(transportation: Transportation, accept_roads: str) -> tuple[RoadsKey, str]:
    """Return the properties that a snap index depends on."""
    return roads_key(transportation), accept_roads if transportation.base == "driving" else ""


def snap_points(
    streets: StreetLayer,
    lng: FloatArray,
    lat: FloatArray,
    transportation: Transportation,
    snapping: Snapping,
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

    Returns
    -------
    Snaps
    """
    main, islands = snap_indexes(streets, transportation, snapping.accept_roads)
    x, y = streets.frame.to_xy(lng, lat)
    shrink = streets.frame.shrink(y)
    n = x.size
    edge = np.full(n, -1, np.int32)
    fraction = np.zeros(n)
    distance = np.full(n, np.inf)

    def look_up(index: SegmentIndex, part: IndexArray) -> None:
        found = nearest.nearest_segments(x[part], y[part], shrink[part], float(snapping.threshold), index.grid)
        is_near = found.segment >= 0
        hit, seg = part[is_near], found.segment[is_near]
        edge[hit] = index.edge[seg]
        fraction[hit] = np.clip(index.start[seg] + found.position[is_near] * index.span[seg], 0.0, 1.0)
        distance[hit] = found.distance[is_near]

    everyone = np.arange(n)
    if n >= 20_000 and settings.threads > 1:
        # Sorted by location, so that each thread uses its own part of the index.
        parts = np.array_split(np.lexsort((x, np.floor(y / 500.0))), settings.threads * 4)
        side_by_side([functools.partial(look_up, main, part) for part in parts])
    else:
        look_up(main, everyone)
    missing = np.flatnonzero(edge < 0)
    if missing.size and islands.edge.size:
        look_up(islands, missing)
    status = np.where(edge >= 0, SNAPPED, TOO_FAR).astype(np.int8)
    status[(edge < 0) & _is_outside(streets, x, y, snapping.threshold)] = OUTSIDE
    return Snaps(edge, fraction, distance, status, lng, lat)


def metres_to_streets(
    streets: StreetLayer, lng: FloatArray, lat: FloatArray, transportation: Transportation
) -> FloatArray:
    """
    Return the distance of points to the nearest street of a mode, at any distance.

    Every segment is compared, so this is meant for few points, such as those that could not be snapped.

    Returns
    -------
    float64 array of shape (n,)
        Metres; inf if there is no such street.
    """
    x, y = streets.frame.to_xy(lng, lat)
    metres = np.full(x.size, np.inf)
    for index in snap_indexes(streets, transportation, "any_drivable"):
        grid = index.grid
        dy = grid.y2 - grid.y1
        for i in range(x.size):
            k = float(streets.frame.shrink(y[i]))
            to_x, to_y, dx = (grid.x1 - x[i]) * k, grid.y1 - y[i], (grid.x2 - grid.x1) * k
            squared = dx * dx + dy * dy
            along = np.clip(-(to_x * dx + to_y * dy) / np.where(squared > 0.0, squared, 1.0), 0.0, 1.0)
            metres[i] = min(metres[i], np.hypot(to_x + along * dx, to_y + along * dy).min(initial=np.inf))
    return metres


def _is_outside(streets: StreetLayer, x: FloatArray, y: FloatArray, margin_m: float) -> BoolArray:
    """Return which points are farther than a margin from the bounding box of the network."""
    west, south, east, north = streets.bounds
    box_x, box_y = streets.frame.to_xy(np.array([west, east]), np.array([south, north]))
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
    x1, y1, x2, y2, edge, start, span = segments(streets)
    found = np.flatnonzero(snaps.edge >= 0)
    if found.size:
        e, f = snaps.edge[found], snaps.fraction[found]
        # Segments are sorted by edge and position: find the last one that begins at or before the fraction.
        segment = np.searchsorted(edge + start, e + np.minimum(f, 1.0 - 1e-12), side="right") - 1
        segment = np.clip(segment, np.searchsorted(edge, e), np.searchsorted(edge, e, side="right") - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(span[segment] > 0, (f - start[segment]) / span[segment], 0.0)
        t = np.clip(t, 0.0, 1.0)
        x = x1[segment] + t * (x2[segment] - x1[segment])
        y = y1[segment] + t * (y2[segment] - y1[segment])
        lng[found], lat[found] = streets.frame.to_lnglat(x, y)
    return lng, lat
