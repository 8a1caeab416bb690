"""
Find the nearest street of every square cell, tile by tile.

The nearest edge of a cell does not depend on the query. It is found once for each network, mode and cell size, for
tiles of cells as they are needed, and kept.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np

from traveltime_lab._arrays import BoolArray, Float32Array, FloatArray, Int32Array
from traveltime_lab._forks import Lock
from traveltime_lab._interrupts import checkpoint
from traveltime_lab._memo import Derived
from traveltime_lab._threads import side_by_side
from traveltime_lab.kernels.street import nearest
from traveltime_lab.modes import Snapping, Transportation
from traveltime_lab.streets.layer import RoadsKey, StreetLayer
from traveltime_lab.streets.snapping import SegmentIndex, index_key, snap_indexes

#: Number of cells along the side of a tile.
TILE = 128
#: Number of tiles kept for each network, mode and cell size: 12 bytes per cell, 200 KB per tile.
_KEPT_TILES = 2_000

_TILES = Derived[tuple[tuple[RoadsKey, str], float, float, float], "TileCache"]("tiles", kept=24)


@dataclass(frozen=True)
class Tile:
    """Nearest edge (-1 for none), position on it and distance to it in metres for each cell of a tile."""

    edge: Int32Array
    fraction: Float32Array
    distance: Float32Array

    def some(self, mask: BoolArray) -> Tile:
        """Return the cells of a mask as one row."""
        return Tile(self.edge[mask][None], self.fraction[mask][None], self.distance[mask][None])

    def part(self, rows: slice, columns: slice) -> Tile:
        """Return a rectangle of cells."""
        return Tile(self.edge[rows, columns], self.fraction[rows, columns], self.distance[rows, columns])


@dataclass
class TileCache:
    """Tiles of one network, mode, cell size and snapping threshold; cells farther than `reach_m` have no edge."""

    streets: StreetLayer
    main: SegmentIndex
    islands: SegmentIndex
    cell_m: float
    threshold_m: float
    reach_m: float
    tiles: OrderedDict[tuple[int, int], Tile] = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)

    def get(self, wanted: list[tuple[int, int]]) -> dict[tuple[int, int], Tile]:
        """Return tiles by (row, column); missing tiles are computed on all threads."""
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
        """Snap the centres of the cells of a tile."""
        checkpoint()
        row, column = key
        first_x = (column * TILE + 0.5) * self.cell_m
        first_y = (row * TILE + 0.5) * self.cell_m
        shrink = self.streets.frame.shrink(first_y + np.arange(TILE, dtype=np.float64) * self.cell_m)
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
        """Return the nearest edge, position and distance of each cell of a tile."""
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
        """Return which cells snap to the main part of the network from farther away than `reach_m`."""
        row, column = np.nonzero(asked)
        x, y = first_x + column * self.cell_m, first_y + row * self.cell_m
        segment, place, metres = np.empty(row.size, np.int32), np.empty(row.size), np.empty(row.size)
        nearest.nearest_segments(x, y, shrink[row], self.threshold_m, *self.main.geometry(), segment, place, metres)
        is_near = np.zeros_like(asked)
        is_near[row, column] = segment >= 0
        return is_near


def tile_cache(
    streets: StreetLayer, transportation: Transportation, snapping: Snapping, cell_m: float, reach_m: float = np.inf
) -> TileCache:
    """Return the tile cache of a network for a mode and a cell size; see `TileCache`."""
    main, islands = snap_indexes(streets, transportation, snapping.accept_roads)
    threshold_m = float(snapping.threshold)
    reach_m = min(reach_m, threshold_m)
    key = (index_key(transportation, snapping.accept_roads), cell_m, threshold_m, reach_m)
    return _TILES.of(streets, key, lambda: TileCache(streets, main, islands, cell_m, threshold_m, reach_m))
