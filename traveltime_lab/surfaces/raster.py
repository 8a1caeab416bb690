"""
Travel-time surfaces: the value of a field at the centres of square cells.

Which edge a cell belongs to does not depend on the question, so it is found once per network, mode and cell size, tile
by tile as needed, and kept. A surface is then a gather through these tiles.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from traveltime_lab._arrays import AnyArray, BoolArray, Float32Array, FloatArray, Int32Array, Int64Array
from traveltime_lab._interrupts import checkpoint
from traveltime_lab._threads import side_by_side
from traveltime_lab.errors import LimitError
from traveltime_lab.kernels.raster import transit_surface
from traveltime_lab.kernels.raster.surface import edge_rows, gather, gather_lengths, length_rows
from traveltime_lab.kernels.street import nearest, road
from traveltime_lab.kernels.transit import drives
from traveltime_lab.kernels.transit.patterns import UNREACHED
from traveltime_lab.kernels.transit.range_raptor import nearest_rank
from traveltime_lab.modes import Snapping, Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.streets import costs
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.links import EdgeField
from traveltime_lab.streets.snapping import SegmentIndex, index_key, segments, snap_indexes
from traveltime_lab.surfaces.polygons import Surface
from traveltime_lab.transit.stop_links import LinkedStops, Walks

#: Cells along the side of a tile.
TILE = 128
#: Tiles kept per network, mode and cell size: 12 bytes per cell, 200 KB per tile.
_KEPT_TILES = 2_000
#: Tiles that `tile_values` holds at a time.
_TILES_AT_ONCE = 256
#: Cells in the largest surface; where a shape is too wide for that, its cells double in size.
_MOST_CELLS = 16_000_000


@dataclass(frozen=True)
class Reached:
    """
    What the rides of one departure reach with a walk after them.

    Attributes
    ----------
    stop_ms : int32 array of shape (n_stops,)
        Milliseconds until one is at each stop (backwards: from there), `UNREACHED` if one is not.
    starts : int32 array of shape (n_edges, 8)
        At both ends of each edge; see `traveltime_lab.kernels.raster.transit_surface.edge_starts`.
    """

    stop_ms: Int32Array
    starts: Int32Array


@dataclass(frozen=True)
class Driven:
    """
    From where the rides of one arrival are reached by car or bicycle.

    Attributes
    ----------
    stop_ms : int32 array of shape (n_stops,)
        Milliseconds from being at each stop, parking included.
    labels : tuple of int64, int32, int32 arrays
        By state the times and drives of which none is worse in both; see `traveltime_lab.kernels.transit.drives`.
    """

    stop_ms: Int32Array
    labels: tuple[Int64Array, Int32Array, Int32Array]


@dataclass(frozen=True)
class RideField:
    """
    What rides reach of a whole network, or those on foot all the way.

    Attributes
    ----------
    graph : RoadGraph
        Of the streets between the rides and the places.
    is_backward : bool
        Whether trips end at the origin of the field instead of beginning there.
    direct : EdgeField
        On foot all the way.
    quickest : Reached or Driven
        By the best of all departures that count.
    reached : tuple of Reached or of Driven
        By each departure that counts, where a percentile of them is wanted; else empty.
    percent : float
        Values are those that so many percent of the departures keep to.
    budget_ms : int
        Longest walk, or drive.
    limit_ms : int
        Longest time; where rides bring one later only, values may be higher than they would be without a limit.
    around : Walks, optional
        Where one walks: the walks from, or to, stops.
    stops : Stations
        On the streets of `graph`.
    transportation : Transportation
        How one moves there.
    """

    graph: RoadGraph
    is_backward: bool
    direct: EdgeField
    quickest: Reached | Driven
    reached: tuple[Reached, ...] | tuple[Driven, ...]
    percent: float
    budget_ms: int
    limit_ms: int
    around: Walks | None
    stops: LinkedStops
    transportation: Transportation

    def start(self) -> float:
        """Return the value at the place where the field begins: the walk between the point and its street."""
        return self.direct.start()

    def label(self) -> Int64Array:
        """
        Return the labels at the start of each directed edge (backwards: from its end) by the quickest rides.

        Budgets of walks and drives are kept at the ends of edges only.
        """
        if isinstance(self.quickest, Reached):
            ms = self.quickest.starts[:, [4, 0] if self.is_backward else [0, 4]].ravel()
            return np.where(ms >= UNREACHED, road.UNREACHED, ms.astype(np.int64) << road.TIME_SHIFT)
        indptr, times, _ = self.quickest.labels
        has_any = np.diff(indptr) > 0
        least = np.full(has_any.size, road.UNREACHED, np.int64)
        least[has_any] = times[indptr[:-1][has_any]].astype(np.int64) << road.TIME_SHIFT
        return road.field_of_edges(least, *self.graph.exit_ports())  # type: ignore[no-any-return]

    def gatherer(self, per_metre: float, buffer_m: float) -> Callable[[Tile, Any], None]:
        """Return what lowers the values of cells, given their tile."""
        graph, is_open = self.graph, self.graph.topology.is_open
        ports = graph.exit_ports() if self.is_backward else graph.entry_ports()
        there = (
            self.stops.edge_indptr, self.stops.edge_stops, self.stops.snaps.fraction,
            self.stops.connector >> road.TIME_SHIFT,
        )  # fmt: skip

        def lower_one(rides: Reached | Driven, tile: Tile, values: Any) -> None:
            cells = (tile.edge, tile.fraction, tile.distance, per_metre, buffer_m)
            if isinstance(rides, Driven):
                drives.gather_drives(
                    *cells,
                    graph.traversal,
                    is_open,
                    self.budget_ms,
                    *ports,
                    *rides.labels,
                    rides.stop_ms,
                    *there,
                    values,
                )
                return
            assert self.around is not None
            transit_surface.gather_rides(
                *cells, rides.starts, graph.traversal, is_open, self.is_backward, self.budget_ms, self.limit_ms, *ports,
                *self.around.by_state, rides.stop_ms, *there, values,
            )  # fmt: skip

        def lower(tile: Tile, values: Any) -> None:
            if not self.reached:
                lower_one(self.quickest, tile, values)
                return
            # Most cells are reached on foot as quickly by any departure, or by none at all.
            least = values.copy()
            lower_one(self.quickest, tile, least)
            depends = least < values
            cells = tile.some(depends)
            of_each = np.repeat(values[depends][None], len(self.reached), axis=0)
            for k, part in enumerate(of_each):
                lower_one(self.reached[k], cells, part[None])
            rank = nearest_rank(self.percent, len(self.reached))
            values[depends] = np.partition(np.ascontiguousarray(of_each.T), rank, axis=1)[:, rank]

        return lower


@dataclass(frozen=True)
class LengthField:
    """
    Metres of the fastest ways of a whole network from one position.

    Attributes
    ----------
    times : EdgeField
        Of a search without a limit: a fast detour may be long and the way beyond it short.
    """

    times: EdgeField

    @property
    def graph(self) -> RoadGraph:
        """The graph of the search."""
        return self.times.graph

    def start(self) -> float:
        """Return the metres between the point and its street, 0 where they do not count."""
        return (self.times.connector & road.LENGTH_MASK) / 100.0

    def own_m(self) -> float:
        """Return the length of the edge where the field begins."""
        return int(self.times.graph.traversal[2 * self.times.edge] & road.LENGTH_MASK) / 100.0

    def rows(self, network: Network, limit: float) -> tuple[Float32Array, FloatArray]:
        """Return times and lengths along all edges and the box of what lies within a limit; see `reached_rows`."""
        boxes, is_land = network.cached(("boxes",), lambda: _edge_boxes(network))
        rows, box = np.empty((network.n_edges, 8), np.float32), np.empty(4)
        times = self.times
        length_rows(times.label, times.graph.traversal, times.is_backward, boxes, is_land, limit, times.edge, rows, box)
        return rows, box

    def reader(self, rows: Float32Array, per_metre: float, buffer_m: float) -> Callable[[Tile, Any], None]:
        """Return what fills the values of cells, given their tile."""
        times = self.times
        place = (times.edge, times.fraction, times.ahead(), self.own_m(), times.start(), self.start())

        def read(tile: Tile, values: Any) -> None:
            gather_lengths(tile.edge, tile.fraction, tile.distance, rows, per_metre, buffer_m, *place, values)

        return read


Field: TypeAlias = EdgeField | RideField | LengthField


@dataclass(frozen=True)
class Tile:
    """Nearest edge (-1 for none), place on it and metres to it for each cell of a tile."""

    edge: Int32Array
    fraction: Float32Array
    distance: Float32Array

    def some(self, mask: BoolArray) -> Tile:
        """Return chosen cells as one row."""
        return Tile(self.edge[mask][None], self.fraction[mask][None], self.distance[mask][None])

    def part(self, rows: slice, columns: slice) -> Tile:
        """Return some of the cells."""
        return Tile(self.edge[rows, columns], self.fraction[rows, columns], self.distance[rows, columns])


@dataclass
class TileCache:
    """Tiles of one network, mode, cell size and snapping threshold; cells farther than `reach_m` have no edge."""

    network: Network
    main: SegmentIndex
    islands: SegmentIndex
    cell_m: float
    threshold_m: float
    reach_m: float
    tiles: OrderedDict[tuple[int, int], Tile] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, wanted: list[tuple[int, int]]) -> dict[tuple[int, int], Tile]:
        """Return tiles by (row, column), making those that are missing on all threads."""
        with self.lock:
            found = {key: self.tiles[key] for key in wanted if key in self.tiles}
        missing = [key for key in wanted if key not in found]
        made = dict(zip(missing, side_by_side([functools.partial(self._make, key) for key in missing]), strict=True))
        with self.lock:
            self.tiles.update(made)
            for key in wanted:
                self.tiles.move_to_end(key)
            while len(self.tiles) > max(_KEPT_TILES, len(wanted)):
                self.tiles.popitem(last=False)
        return found | made

    def _make(self, key: tuple[int, int]) -> Tile:
        """Snap the centres of a tile's cells."""
        checkpoint()
        row, column = key
        first_x = (column * TILE + 0.5) * self.cell_m
        first_y = (row * TILE + 0.5) * self.cell_m
        shrink = self.network.frame.shrink(first_y + np.arange(TILE, dtype=np.float64) * self.cell_m)
        edge, fraction, distance = self._nearest(self.main, first_x, first_y, shrink)
        missing = edge < 0
        if self.islands.edge.size and missing.any():
            edge2, fraction2, distance2 = self._nearest(self.islands, first_x, first_y, shrink)
            if self.reach_m < self.threshold_m:
                edge2[self._is_near_main(first_x, first_y, shrink, missing & (edge2 >= 0))] = -1
            edge = np.where(missing, edge2, edge)
            fraction = np.where(missing, fraction2, fraction)
            distance = np.where(missing, distance2, distance)
        return Tile(edge, fraction, distance)

    def _nearest(
        self, index: SegmentIndex, first_x: float, first_y: float, shrink: FloatArray
    ) -> tuple[Int32Array, Float32Array, Float32Array]:
        """Return nearest edge, place and distance of each cell of a tile."""
        segment = np.empty((TILE, TILE), np.int32)
        position = np.empty((TILE, TILE), np.float32)
        distance = np.empty((TILE, TILE), np.float32)
        nearest.nearest_on_raster(
            first_x, first_y, self.cell_m, shrink, self.reach_m, *index.geometry(), segment, position, distance
        )
        found = segment >= 0
        safe = np.where(found, segment, 0)
        if not index.edge.size:
            return np.full((TILE, TILE), -1, np.int32), position, distance
        edge = np.where(found, index.edge[safe], -1).astype(np.int32)
        fraction = (index.start[safe] + position * index.span[safe]).astype(np.float32)
        return edge, fraction, distance

    def _is_near_main(self, first_x: float, first_y: float, shrink: FloatArray, asked: BoolArray) -> BoolArray:
        """Return which cells snap to the main streets, though from farther away than is of interest."""
        row, column = np.nonzero(asked)
        x, y = first_x + column * self.cell_m, first_y + row * self.cell_m
        segment, place, metres = np.empty(row.size, np.int32), np.empty(row.size), np.empty(row.size)
        nearest.nearest_segments(x, y, shrink[row], self.threshold_m, *self.main.geometry(), segment, place, metres)
        is_near = np.zeros_like(asked)
        is_near[row, column] = segment >= 0
        return is_near


def tile_cache(
    network: Network, transportation: Transportation, snapping: Snapping, cell_m: float, reach_m: float = np.inf
) -> TileCache:
    """Return the tiles of a network for a mode and a cell size, made once and kept; see `TileCache`."""
    main, islands = snap_indexes(network, transportation, snapping.accept_roads)
    threshold_m = float(snapping.threshold)
    reach_m = min(reach_m, threshold_m)
    key = ("tiles", index_key(transportation, snapping.accept_roads), cell_m, threshold_m, reach_m)
    return network.cached(key, lambda: TileCache(network, main, islands, cell_m, threshold_m, reach_m))


def surface(
    network: Network,
    transportation: Transportation,
    snapping: Snapping,
    edge_field: Field,
    *,
    cell_m: float,
    buffer_m: float,
    limit: float,
) -> Surface:
    """
    Return the values of a field at the cells around everything that it reaches.

    Parameters
    ----------
    network : Network
    transportation : Transportation
    snapping : Snapping
    edge_field : EdgeField
    cell_m : float
        Side of a cell in metres.
    buffer_m : float
        Farthest from a street that a cell may be.
    limit : float
        Seconds (or metres): how far from the streets the window need extend.

    Returns
    -------
    Surface
        In cells of `cell_m`, or of twice, four times... as much where that is more than 16 million cells.
    """
    layers, box = _layers(network, transportation, snapping, edge_field, limit=limit, buffer_m=buffer_m)
    per_metre = _per_metre(edge_field, snapping)
    reach_m = min(buffer_m, float(snapping.threshold))
    if per_metre:
        reach_m = min(reach_m, limit / per_metre)
    # Two cells more, so that the contour closes inside of the window.
    margin = reach_m + 2.0 * cell_m
    shrink = float(network.frame.shrink(np.array([box[1], box[3]])).min())
    while (box[2] - box[0] + 2 * margin / shrink) * (box[3] - box[1] + 2 * margin) > _MOST_CELLS * cell_m**2:
        cell_m *= 2.0
        margin = reach_m + 2.0 * cell_m
    first_column = int(np.floor((box[0] - margin / shrink) / cell_m))
    first_row = int(np.floor((box[1] - margin) / cell_m))
    n_columns = int(np.ceil((box[2] + margin / shrink) / cell_m)) - first_column
    n_rows = int(np.ceil((box[3] + margin) / cell_m)) - first_row
    values = np.full((n_rows, n_columns), np.inf, np.float32)
    tile_rows = range(first_row // TILE, (first_row + n_rows - 1) // TILE + 1)
    tile_columns = range(first_column // TILE, (first_column + n_columns - 1) // TILE + 1)
    places = [(r, c) for r in tile_rows for c in tile_columns]
    # Not less than the usual threshold, so that bands of all widths share their tiles.
    most_m = max(buffer_m, float(Snapping().threshold))
    tiles = [tile_cache(network, layer.transportation, snapping, cell_m, most_m).get(places) for layer in layers]

    def fill(place: tuple[int, int]) -> None:
        top, left = place[0] * TILE - first_row, place[1] * TILE - first_column
        inside_rows = slice(max(0, -top), min(TILE, n_rows - top))
        inside_columns = slice(max(0, -left), min(TILE, n_columns - left))
        target = values[
            top + inside_rows.start : top + inside_rows.stop, left + inside_columns.start : left + inside_columns.stop
        ]
        for layer, found in zip(layers, tiles, strict=True):
            layer.read(found[place].part(inside_rows, inside_columns), target)

    side_by_side([functools.partial(fill, place) for place in places])
    return Surface(
        frame=network.frame,
        x0=(first_column + 0.5) * cell_m,
        y0=(first_row + 0.5) * cell_m,
        cell_m=cell_m,
        values=values,
    )


def tile_values(
    network: Network,
    transportation: Transportation,
    snapping: Snapping,
    edge_field: Field,
    *,
    cell_m: float,
    limit: float,
    most_tiles: int,
) -> Iterator[tuple[tuple[int, int], Float32Array]]:
    """
    Yield the values of a field tile by tile, for those who do not need the surface as one array.

    Parameters
    ----------
    network : Network
    transportation : Transportation
    snapping : Snapping
    edge_field : EdgeField
    cell_m : float
        Side of a cell in metres; kept however many cells there are.
    limit : float
        Seconds (or metres): how far from the streets the tiles need extend.
    most_tiles : int
        Beyond so many tiles nothing is computed.

    Yields
    ------
    key : tuple of int
        Row and column of the tile; its south-west cell has the centre
        ``((column * TILE + 0.5) * cell_m, (row * TILE + 0.5) * cell_m)`` in local metres.
    values : float32 array of shape (TILE, TILE)
        As in `surface`; overwritten by the next tile.

    Raises
    ------
    LimitError
        If there are more than `most_tiles`.
    """
    layers, box = _layers(network, transportation, snapping, edge_field, limit=limit, buffer_m=np.inf)
    per_metre = _per_metre(edge_field, snapping)
    margin = float(snapping.threshold)
    if per_metre:
        margin = min(margin, limit / per_metre)
    shrink = float(network.frame.shrink(np.array([box[1], box[3]])).min())
    side = TILE * cell_m
    columns = range(int((box[0] - margin / shrink) // side), int((box[2] + margin / shrink) // side) + 1)
    lines = range(int((box[1] - margin) // side), int((box[3] + margin) // side) + 1)
    if len(columns) * len(lines) > most_tiles:
        n_places = len(columns) * len(lines) * TILE**2
        msg = (
            f"the area in reach has {n_places / 1e6:,.0f} million places {cell_m:g} m apart, "
            f"more than {most_tiles * TILE**2 / 1e6:,.0f} million; use a coarser resolution or a shorter travel time"
        )
        raise LimitError(msg)
    keys = [(r, c) for r in lines for c in columns]
    caches = [tile_cache(network, layer.transportation, snapping, cell_m) for layer in layers]
    values = np.empty((TILE, TILE), np.float32)
    for first in range(0, len(keys), _TILES_AT_ONCE):
        some = keys[first : first + _TILES_AT_ONCE]
        tiles = [cache.get(some) for cache in caches]
        for key in some:
            for layer, found in zip(layers, tiles, strict=True):
                layer.read(found[key], values)
            yield key, values


class _Layer(NamedTuple):
    """
    What fills, or lowers, the values of cells.

    Attributes
    ----------
    transportation : Transportation
        Whose streets the cells belong to.
    read : callable
        Takes a tile and the values of its cells, which it changes.
    """

    transportation: Transportation
    read: Callable[[Tile, Any], None]


def _layers(
    network: Network,
    transportation: Transportation,
    snapping: Snapping,
    edge_field: Field,
    *,
    limit: float,
    buffer_m: float,
) -> tuple[list[_Layer], FloatArray]:
    """Return what fills the values of cells, the first of which sets them, and the box of all that is reached."""
    per_metre = _per_metre(edge_field, snapping)
    if isinstance(edge_field, LengthField):
        rows, box = edge_field.rows(network, limit)
        return [_Layer(transportation, edge_field.reader(rows, per_metre, buffer_m))], box
    field = edge_field.direct if isinstance(edge_field, RideField) else edge_field
    rows, box = reached_rows(network, field, limit)
    ahead, start = field.ahead(), field.start()

    def read(tile: Tile, values: Any) -> None:
        gather(
            tile.edge, tile.fraction, tile.distance, rows, per_metre, buffer_m, field.edge, field.fraction, ahead,
            start, values,
        )  # fmt: skip

    layers = [_Layer(transportation, read)]
    if isinstance(edge_field, RideField):
        layers.append(_Layer(edge_field.transportation, edge_field.gatherer(per_metre, buffer_m)))
        other = _ride_box(network, edge_field, limit)
        box = np.concatenate([np.minimum(box[:2], other[:2]), np.maximum(box[2:], other[2:])])
    return layers, box


def _ride_box(network: Network, field: RideField, limit: float) -> FloatArray:
    """Return the box of what rides reach, as `reached_rows` does."""
    if isinstance(field.quickest, Driven):
        return _label_rows(network, field.graph, field.label(), field.is_backward, limit, field.direct.edge)[1]
    boxes, is_land = network.cached(("boxes",), lambda: _edge_boxes(network))
    return np.array(transit_surface.box_of(field.quickest.starts, boxes, is_land, limit * 1000.0))


def _per_metre(edge_field: Field, snapping: Snapping) -> float:
    """Return what a metre between a point and its street costs, in seconds or metres."""
    if snapping.penalty == "disabled":
        return 0.0
    return 1.0 if _is_length(edge_field) else 3.6 / costs.CONNECTOR_KPH


def _is_length(edge_field: Field) -> bool:
    """Return whether values are metres."""
    return isinstance(edge_field, LengthField) or edge_field.graph.metric == "distance"


def reached_rows(network: Network, field: EdgeField, limit: float) -> tuple[Float32Array, FloatArray]:
    """
    Return the values of a field along all edges and the box of what it reaches.

    Returns
    -------
    rows : float32 array of shape (n_edges, 4)
        See `traveltime_lab.kernels.raster.surface.edge_rows`.
    box : float64 array of shape (4,)
        West, south, east, north in local metres of the edges entered within the limit, ferries left out and the
        field's own edge included.
    """
    return _label_rows(network, field.graph, field.label, field.is_backward, limit, field.edge)


def _label_rows(
    network: Network, graph: RoadGraph, label: Int64Array, is_backward: bool, limit: float, edge: int
) -> tuple[Float32Array, FloatArray]:
    """Return values and box of labels of edges; see `reached_rows`."""
    boxes, is_land = network.cached(("boxes",), lambda: _edge_boxes(network))
    rows, box = np.empty((network.n_edges, 4), np.float32), np.empty(4)
    unit = 100.0 if graph.metric == "distance" else 1000.0
    edge_rows(label, graph.traversal, unit, is_backward, boxes, is_land, limit, edge, rows, box)
    return rows, box


def _edge_boxes(network: Network) -> tuple[FloatArray, BoolArray]:
    """Return the boxes of all edges in local metres, and which edges are on land."""
    t = network.tables
    x, y = network.frame.to_xy(t.coord_lng, t.coord_lat)
    begin = t.coord_indptr[:-1]
    boxes = np.column_stack(
        [
            np.minimum.reduceat(x, begin),
            np.minimum.reduceat(y, begin),
            np.maximum.reduceat(x, begin),
            np.maximum.reduceat(y, begin),
        ]
    )
    return boxes, ~t.uses["is_ferry"].to_numpy()[t.edge_use]


def origin_radius(edge_field: Field, snapping: Snapping, cell_m: float, limit: float) -> float:
    """
    Return the radius in metres of the disc around an origin that its shape must hold.

    An origin can lie between cells that are not reached. The disc is half a cell, less where so little of the limit
    is left after the walk to the street and back that one cannot get as far, and never less than a metre.

    Parameters
    ----------
    edge_field : EdgeField
    snapping : Snapping
    cell_m : float
    limit : float
        Seconds, or metres in a field of distances.

    Returns
    -------
    float
        0 where even the origin's own street is out of reach.
    """
    is_distance = _is_length(edge_field)
    walk = edge_field.start()
    if walk > limit:
        return 0.0
    if snapping.penalty == "disabled":
        return cell_m / 2.0
    left_m = (limit - 2.0 * walk) * (1.0 if is_distance else costs.CONNECTOR_KPH / 3.6)
    return float(np.clip(left_m / 2.0, 1.0, cell_m / 2.0))


def reached_pieces(network: Network, edge_field: Field, limit: float) -> FloatArray:
    """
    Return the pieces of road that a field reaches within a limit.

    Parameters
    ----------
    network : Network
    edge_field : EdgeField
    limit : float
        Seconds, or metres in a field of distances.

    Returns
    -------
    float64 array of shape (n_pieces, 4)
        Ends (x, y, x, y) in local metres. Ferries are left out.
    """
    if isinstance(edge_field, RideField):
        rows, _ = _label_rows(
            network, edge_field.graph, edge_field.label(), edge_field.is_backward, limit, edge_field.direct.edge
        )
        by_rides = _pieces(network, rows, limit, None)
        return np.concatenate([reached_pieces(network, edge_field.direct, limit), by_rides])
    if isinstance(edge_field, LengthField):
        rows, times = edge_field.rows(network, limit)[0].astype(np.float64), edge_field.times
        # Where both ends lead on, the ways of equal time meet at one place.
        with np.errstate(invalid="ignore", divide="ignore"):
            meeting = (rows[:, 2] + rows[:, 3] - rows[:, 0]) / (rows[:, 1] + rows[:, 3])
        meeting = np.where(np.isfinite(rows[:, 2]), np.clip(np.nan_to_num(meeting, nan=0.5), 0.0, 1.0), 1.0)
        meeting[~np.isfinite(rows[:, 0])] = 0.0
        ahead = np.where(np.isfinite(times.ahead()), edge_field.own_m(), np.inf)
        # Straight along the field's own edge only as far as no way through its ends is quicker.
        up, down = times.ahead()
        t0, dt0, t1, dt1 = rows[times.edge, :4]
        start, place = times.start(), times.fraction
        low, high = 0.0, 1.0
        if np.isfinite(t1) and np.isfinite(up):
            high = float(np.clip((t1 + dt1 - start + place * up) / (up + dt1), place, 1.0))
        if np.isfinite(t0) and np.isfinite(down):
            low = float(np.clip((start + place * down - t0) / (dt0 + down), 0.0, place))
        own = (times.edge, place, edge_field.start(), ahead, low, high)
        return _pieces(network, rows[:, 4:], limit, own, meeting)
    own = (edge_field.edge, edge_field.fraction, edge_field.start(), edge_field.ahead(), 0.0, 1.0)
    return _pieces(network, reached_rows(network, edge_field, limit)[0], limit, own)


def _pieces(
    network: Network,
    values: AnyArray,
    limit: float,
    own: tuple[int, float, float, FloatArray, float, float] | None,
    meeting: FloatArray | float | None = None,
) -> FloatArray:
    """
    Return the pieces of road whose values are within a limit.

    Parameters
    ----------
    network : Network
    values : float array of shape (n_edges, 4)
        As from `reached_rows`.
    limit : float
    own : tuple, optional
        Edge, place on it, value there, what its edge costs both ways, and from where to where at most: pieces around
        it are reached straight.
    meeting : float64 array of shape (n_edges,), optional
        Place up to which the first two numbers of a row hold, and from which the others; both all along by default.
    """
    x1, y1, x2, y2, edge, start, span = segments(network)
    rows = values.astype(np.float64)
    _, is_land = network.cached(("boxes",), lambda: _edge_boxes(network))

    def share(value: FloatArray, cost: FloatArray) -> FloatArray:
        left = np.where(np.isfinite(value), limit - value, -1.0)
        part = left / np.where(cost > 0.0, cost, 1.0)
        return np.where(left < 0.0, 0.0, np.where(cost > left, part, 1.0))

    # Reached parts of each edge as intervals of places: from its start, to its end, and around the origin.
    n = len(rows)
    begin, end = np.ones(n), np.zeros(n)
    if own is not None:
        own_edge, place, value, ahead, low_end, high_end = own
        around = share(np.full(2, value), ahead)
        begin[own_edge] = max(low_end, place - around[1])
        end[own_edge] = min(high_end, place + around[0])
    first_end, second_begin = (1.0, 0.0) if meeting is None else (meeting, meeting)
    intervals = [
        (np.zeros(n), np.minimum(share(rows[:, 0], rows[:, 1]), first_end)),
        (np.maximum(1.0 - share(rows[:, 2], rows[:, 3]), second_begin), np.ones(n)),
        (begin, end),
    ]
    pieces = []
    for begin, end in intervals:
        low = np.maximum(start, begin[edge])
        high = np.minimum(start + span, end[edge])
        kept = np.flatnonzero((high > low) & is_land[edge] & (span > 0.0))
        a = ((low[kept] - start[kept]) / span[kept])[:, None]
        b = ((high[kept] - start[kept]) / span[kept])[:, None]
        first = np.column_stack([x1[kept], y1[kept]])
        step = np.column_stack([x2[kept], y2[kept]]) - first
        pieces.append(np.column_stack([first + a * step, first + b * step]))
    return np.concatenate(pieces)
