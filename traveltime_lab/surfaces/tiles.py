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
from traveltime_lab.kernels.raster.surface import Cells, cells_within
from traveltime_lab.kernels.street import nearest, ties
from traveltime_lab.modes import Snapping, Transportation
from traveltime_lab.streets.layer import RoadsKey, StreetLayer
from traveltime_lab.streets.snapping import (
    ANY,
    SegmentIndex,
    barriers,
    index_key,
    island_index,
    snap_index,
)

#: Number of cells along the side of a tile.
TILE = 128
#: Number of tiles kept for each network, mode and cell size: 12 bytes per cell, 200 KB per tile.
_KEPT_TILES = 2_000

_TILES = Derived[tuple[tuple[RoadsKey, str], float, float, float, int], "TileCache"]("tiles", kept=24)


@dataclass(frozen=True)
class Tile:
    """
    Nearest edges of the cells of a tile.

    Attributes
    ----------
    edge, fraction, distance : int32, float32, float32 arrays of shape (n_rows, n_columns)
        Nearest edge (-1 for none), position on it and distance to it in metres.
    tied_cell : int32 array of shape (n_tied,)
        Cells to which another edge is as near, in ascending order: ``row * n_columns + column``.
    tied_edge, tied_fraction, tied_distance : int32, float32, float32 arrays of shape (n_tied,)
        That edge, the position on it and the distance to it.
    """

    edge: Int32Array
    fraction: Float32Array
    distance: Float32Array
    tied_cell: Int32Array
    tied_edge: Int32Array
    tied_fraction: Float32Array
    tied_distance: Float32Array

    def some(self, mask: BoolArray) -> Tile:
        """Return the cells of a mask as one row."""
        kept = mask.ravel()[self.tied_cell]
        number = (np.cumsum(mask) - 1)[self.tied_cell[kept]].astype(np.int32)
        tied = (number, self.tied_edge[kept], self.tied_fraction[kept], self.tied_distance[kept])
        return Tile(self.edge[mask][None], self.fraction[mask][None], self.distance[mask][None], *tied)

    def cells(self, per_metre: float, buffer_m: float) -> Cells:
        """Return what kernels read of the cells; see `Cells` for the arguments."""
        tied = (self.tied_cell, self.tied_edge, self.tied_fraction, self.tied_distance)
        return Cells(self.edge, self.fraction, self.distance, per_metre, buffer_m, *tied)

    def part(self, rows: slice, columns: slice) -> Tile:
        """Return a rectangle of cells, in arrays of its own."""
        n_rows, n_columns = self.edge.shape
        if (rows.start, rows.stop, columns.start, columns.stop) == (0, n_rows, 0, n_columns):
            return self
        tied = (self.tied_cell, self.tied_edge, self.tied_fraction, self.tied_distance)
        rectangle = (rows.start, rows.stop, columns.start, columns.stop)
        return Tile(*cells_within(self.edge, self.fraction, self.distance, tied, *rectangle))


@dataclass
class TileCache:
    """Tiles of one network, mode, cell size and snapping threshold; cells farther than `reach_m` have no edge."""

    streets: StreetLayer
    index: SegmentIndex
    islands: SegmentIndex
    needed: np.uint8
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
        corner = (first_x, first_y, shrink)
        tile = self._nearest(self.index, self.needed, *corner, np.ones((TILE, TILE), np.bool_))
        missing = tile.edge < 0
        if self.islands.edge.size and missing.any():
            other = self._nearest(self.islands, ANY, *corner, missing)
            wanted = other.edge >= 0
            if self.reach_m < self.threshold_m:
                wanted &= ~self._is_near_main(first_x, first_y, shrink, wanted)
            tile = _merged(tile, other, wanted)
        return tile

    def _nearest(
        self, index: SegmentIndex, needed: np.uint8, first_x: float, first_y: float, shrink: FloatArray,
        asked: BoolArray,
    ) -> Tile:  # fmt: skip
        """Return the nearest edges of some cells of a tile."""
        rules = (self.reach_m, index.grid, needed, barriers(self.streets))
        found = nearest.nearest_on_raster(nearest.Centres(first_x, first_y, self.cell_m, shrink), asked, *rules)
        edge, fraction, cell = ties.places_of(found, index.grid.edge, index.parts)
        row, column = np.divmod(cell, TILE)
        # The types are those of points, so that `tied_places` is compiled once.
        segment, place, metres, may_be_tied = (values.ravel()[cell] for values in found)
        here = nearest.Nearest(segment, place.astype(np.float64), metres.astype(np.float64), may_be_tied)
        x, y = first_x + column * self.cell_m, first_y + row * self.cell_m
        indptr, *places = ties.tied_places(x, y, shrink[row], here, *rules, index.parts)
        # The first place of each cell is the nearest one.
        is_tied = np.ones(places[0].size, np.bool_)
        is_tied[indptr[:-1]] = False
        tied_cell = np.repeat(cell, np.diff(indptr))[is_tied]
        tied_edge, tied_fraction, tied_distance = (values[is_tied] for values in places)
        tied = (tied_cell, tied_edge, tied_fraction.astype(np.float32), tied_distance.astype(np.float32))
        return Tile(edge, fraction, found.distance, *tied)

    def _is_near_main(self, first_x: float, first_y: float, shrink: FloatArray, asked: BoolArray) -> BoolArray:
        """Return which cells snap to the main part of the network from farther away than `reach_m`."""
        row, column = np.nonzero(asked)
        x, y = first_x + column * self.cell_m, first_y + row * self.cell_m
        walls = barriers(self.streets)
        found = nearest.nearest_segments(x, y, shrink[row], self.threshold_m, self.index.grid, self.needed, walls)
        is_near = np.zeros_like(asked)
        is_near[row, column] = found.segment >= 0
        return is_near


def _merged(tile: Tile, other: Tile, wanted: BoolArray) -> Tile:
    """Return a tile with some cells of another one, which have no edge in the first."""
    kept = wanted.ravel()[other.tied_cell]
    cell = np.concatenate([tile.tied_cell, other.tied_cell[kept]])
    order = np.argsort(cell, kind="stable")
    return Tile(
        np.where(wanted, other.edge, tile.edge),
        np.where(wanted, other.fraction, tile.fraction),
        np.where(wanted, other.distance, tile.distance),
        cell[order],
        np.concatenate([tile.tied_edge, other.tied_edge[kept]])[order],
        np.concatenate([tile.tied_fraction, other.tied_fraction[kept]])[order],
        np.concatenate([tile.tied_distance, other.tied_distance[kept]])[order],
    )


def tile_cache(
    streets: StreetLayer,
    transportation: Transportation,
    snapping: Snapping,
    cell_m: float,
    reach_m: float = np.inf,
    *,
    needed: np.uint8,
) -> TileCache:
    """Return the tile cache of a network for a mode, a cell size and what cells need of streets; see `TileCache`."""
    roads = (streets, transportation, snapping.accept_roads)
    threshold_m = float(snapping.threshold)
    reach_m = min(reach_m, threshold_m)
    key = (index_key(transportation, snapping.accept_roads), cell_m, threshold_m, reach_m, int(needed))

    def start() -> TileCache:
        index, islands = snap_index(*roads), island_index(*roads, needed)
        return TileCache(streets, index, islands, needed, cell_m, threshold_m, reach_m)

    return _TILES.of(streets, key, start)
