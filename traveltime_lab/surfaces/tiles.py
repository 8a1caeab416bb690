"""
Find the nearest street of every square cell, tile by tile.

The nearest edge of a cell does not depend on the query. It is found once for each network, mode and cell size, for
tiles of cells as they are needed, and kept.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from traveltime_lab._arrays import BoolArray, Float32Array, FloatArray, IndexArray, Int32Array, unique_values
from traveltime_lab.kernels.raster.blocks import BlockEdges
from traveltime_lab.kernels.raster.surface import Cells, Window, cells_within, joined_cells
from traveltime_lab.kernels.street import nearest, nearest_raster, raster_barriers, ties
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.runtime.forks import Lock
from traveltime_lab.runtime.interrupts import checkpoint, finishing
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.runtime.threads import side_by_side
from traveltime_lab.streets.layer import RoadsKey, StreetLayer
from traveltime_lab.streets.segments import SegmentIndex
from traveltime_lab.streets.snapping import (
    ANY,
    barriers,
    index_key,
    island_index,
    snap_index,
)

#: Number of cells along the side of a tile, and along the side of the blocks of a tile. Only blocks that are
#: requested are snapped to streets.
TILE = 128
BLOCK = 16
#: Number of tiles kept for each network, mode and cell size: 12 bytes per cell, 200 KB per tile.
_KEPT_TILES = 2_000

#: All blocks of a tile.
ALL_BLOCKS = np.ones((TILE // BLOCK, TILE // BLOCK), np.bool_)


def cells_of_blocks(blocks: BoolArray) -> BoolArray:
    """Return which cells of a tile are in some of its blocks."""
    return blocks.repeat(BLOCK, axis=0).repeat(BLOCK, axis=1)


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
    known : bool array of shape (TILE / BLOCK, TILE / BLOCK), optional
        Blocks of a whole tile whose cells are snapped to streets. Cells of the other blocks have no edge.
    """

    edge: Int32Array
    fraction: Float32Array
    distance: Float32Array
    tied_cell: Int32Array
    tied_edge: Int32Array
    tied_fraction: Float32Array
    tied_distance: Float32Array
    known: BoolArray | None = None

    @functools.cached_property
    def is_whole(self) -> bool:
        """Whether all cells of a tile are snapped to streets."""
        return self.known is not None and bool(self.known.all())

    def arrays(self) -> tuple[Any, ...]:
        """Return edges, positions and distances of the cells, and those that are tied."""
        tied = (self.tied_cell, self.tied_edge, self.tied_fraction, self.tied_distance)
        return self.edge, self.fraction, self.distance, tied

    def some(self, mask: BoolArray) -> Tile:
        """Return the cells of a mask as one row."""
        kept = mask.ravel()[self.tied_cell]
        number = (np.cumsum(mask) - 1)[self.tied_cell[kept]].astype(np.int32)
        tied = (number, self.tied_edge[kept], self.tied_fraction[kept], self.tied_distance[kept])
        return Tile(self.edge[mask][None], self.fraction[mask][None], self.distance[mask][None], *tied)

    def has(self, of_edge: BoolArray, within_m: float = np.inf) -> BoolArray:
        """
        Return for each cell whether something holds for its edge, or for a tied one.

        Parameters
        ----------
        of_edge : bool array of shape (n_edges,)
        within_m : float, optional
            How much farther away than the nearest edge tied ones may be.

        Returns
        -------
        bool array of shape (n_rows, n_columns)
        """
        result = of_edge[self.edge] & (self.edge >= 0)
        near = self.tied_distance <= self.distance.reshape(-1)[self.tied_cell] + np.float32(within_m)
        result.reshape(-1)[self.tied_cell[near & of_edge[self.tied_edge]]] = True
        return result

    def only(self, mask: BoolArray) -> Tile:
        """Return the tile with edges at the cells of a mask only."""
        kept = mask.reshape(-1)[self.tied_cell]
        tied = self.tied_cell[kept], self.tied_edge[kept], self.tied_fraction[kept], self.tied_distance[kept]
        return Tile(np.where(mask, self.edge, np.int32(-1)), self.fraction, self.distance, *tied)

    def cells(self, per_metre: float, buffer_m: float) -> Cells:
        """Return the cells in the form of kernels; see `Cells` for the arguments."""
        tied = (self.tied_cell, self.tied_edge, self.tied_fraction, self.tied_distance)
        return Cells(self.edge, self.fraction, self.distance, per_metre, buffer_m, *tied)

    def spread_out(self, cells: IndexArray, n: int) -> Tile:
        """Return a tile of one row with these cells at other places among `n`, of which the others have no edge."""
        edge, fraction = np.full((1, n), -1, np.int32), np.zeros((1, n), np.float32)
        distance = np.full((1, n), np.inf, np.float32)
        edge[0, cells], fraction[0, cells], distance[0, cells] = self.edge[0], self.fraction[0], self.distance[0]
        tied_cell = cells[self.tied_cell].astype(np.int32)
        return Tile(edge, fraction, distance, tied_cell, self.tied_edge, self.tied_fraction, self.tied_distance)

    def part(self, window: Window) -> Tile:
        """Return the cells of a window, in arrays of their own."""
        top, left, bottom, right = window[:4]
        if (top, left, bottom, right) == (0, 0, *self.edge.shape):
            return self
        return Tile(*cells_within(*self.arrays(), top, bottom, left, right))


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
    reaches: dict[tuple[int, int], Float32Array] = field(default_factory=dict)
    blocks: dict[tuple[int, int], BlockEdges] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def lacks_any(self, requested: list[tuple[int, int]]) -> bool:
        """Return whether some blocks of tiles are not snapped to streets yet."""
        with self.lock:
            return any(key not in self.tiles or not self.tiles[key].is_whole for key in requested)

    def whole(self, requested: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return which of some tiles have all their cells snapped to streets."""
        with self.lock:
            return [key for key in requested if key in self.tiles and self.tiles[key].is_whole]

    def edges_of_blocks(self, tiles: dict[tuple[int, int], Tile]) -> BlockEdges:
        """Return the edges of the blocks of whole tiles, one tile after another; those of each tile are kept."""
        with self.lock:
            found = {key: self.blocks[key] for key in tiles if key in self.blocks}
        missing = [key for key in tiles if key not in found]
        for key in missing:
            found[key] = edges_of_blocks(tiles[key], BLOCK)
        with self.lock:
            self.blocks.update((key, found[key]) for key in missing if key in self.tiles)
        return BlockEdges(*map(np.concatenate, zip(*(found[key] for key in tiles), strict=True)))

    def reaches_of_blocks(self, places: list[tuple[int, int]]) -> Float32Array:
        """
        Return the distance in metres from the cells of each block within which their edges are.

        Parameters
        ----------
        places : list of tuple
            Tiles.

        Returns
        -------
        float32 array of shape (n_tiles, TILE / BLOCK, TILE / BLOCK)
            inf where the distance is not known without looking at each cell.
        """
        n, side_m = TILE // BLOCK, BLOCK * self.cell_m
        with self.lock:
            found = {place: self.reaches[place] for place in places if place in self.reaches}
        missing = np.array([place for place in places if place not in found], np.int64).reshape(-1, 2)
        if len(missing):
            middle = (np.arange(n) + 0.5) * side_m
            y = (missing[:, :1] * (n * side_m) + middle)[:, :, None]
            x = (missing[:, 1:] * (n * side_m) + middle)[:, None, :]
            x, y, shrink = (part.ravel() for part in np.broadcast_arrays(x, y, self.streets.frame.shrink(y)))
            half_m = 0.71 * side_m * max(1.0, float(shrink.max()))
            rules = (self.index.grid, self.needed, barriers(self.streets))
            reaches = raster_barriers.reaches_of_blocks(x, y, shrink, half_m, 4.0 * self.cell_m, self.reach_m, *rules)
            keys = [(int(row), int(column)) for row, column in missing]
            found.update(zip(keys, reaches.reshape(-1, n, n), strict=True))
            with self.lock:
                self.reaches.update(found)
        return np.array([found[place] for place in places])

    def get(
        self, requested: list[tuple[int, int]], needed: dict[tuple[int, int], BoolArray] | None = None
    ) -> dict[tuple[int, int], Tile]:
        """
        Return tiles by (row, column); missing ones are computed on all threads.

        Each tile is cached as soon as it is computed: after a cancelled search, the next one computes only the rest.

        Parameters
        ----------
        requested : list of tuple
        needed : dict, optional
            Blocks of each tile that are needed; default: all. Tiles without any may be left out of the result.
        """
        with self.lock:
            found = {key: self.tiles[key] for key in requested if key in self.tiles}

        def is_needed(key: tuple[int, int]) -> BoolArray:
            known = _known(found.get(key))
            return ~known if needed is None else needed[key] & ~known

        parts = [key for key in requested if key not in found or not found[key].is_whole]
        missing = {key: blocks for key in parts if (blocks := is_needed(key)).any()}
        with self.lock:
            for key in found:
                # The last tile is the one that was used last.
                if key in self.tiles:
                    self.tiles.move_to_end(key)

        def make(key: tuple[int, int], blocks: BoolArray) -> Tile:
            tile = self._make(key, blocks, found.get(key))
            self._keep(key, tile, max(_KEPT_TILES, len(requested)))
            return tile

        jobs = [functools.partial(make, key, blocks) for key, blocks in missing.items()]
        return found | dict(zip(missing, side_by_side(jobs), strict=True))

    def _keep(self, key: tuple[int, int], tile: Tile, n_kept: int) -> None:
        """Keep a tile, and of the others those that were used last."""
        with finishing(), self.lock:
            self.tiles[key] = tile
            self.tiles.move_to_end(key)
            while len(self.tiles) > n_kept:
                last_used = self.tiles.popitem(last=False)[0]
                self.reaches.pop(last_used, None)
                self.blocks.pop(last_used, None)

    def at(self, x: FloatArray, y: FloatArray) -> Tile:
        """
        Snap any places as if they were centres of cells.

        Parameters
        ----------
        x, y : float64 arrays of shape (n,)
            Places in local metres.

        Returns
        -------
        Tile
            With one row. It is not kept.
        """
        shrink = self.streets.frame.shrink(y)
        tile = self._nearest_of_places(self.index, self.needed, x, y, shrink)
        missing = np.flatnonzero(tile.edge[0] < 0)
        if self.islands.edge.size and missing.size:
            part = x[missing], y[missing], shrink[missing]
            of_islands = self._nearest_of_places(self.islands, ANY, *part)
            is_kept = of_islands.edge[0] >= 0
            if self.reach_m < self.threshold_m:
                is_kept &= ~self._is_near_main(*part)
            tile = _merged(tile, of_islands.spread_out(missing, x.size), _marked(missing[is_kept], x.size))
        return tile

    def _nearest_of_places(
        self, index: SegmentIndex, needed: np.uint8, x: FloatArray, y: FloatArray, shrink: FloatArray
    ) -> Tile:
        """Return the nearest edges of places as a tile of one row."""
        rules = (self.reach_m, index.grid, needed, barriers(self.streets))
        found, near = nearest.nearest_segments(x, y, shrink, *rules)
        places: ties.Places = ties.tied_places(x, y, shrink, found, near, *rules, index.parts)
        edge, fraction, distance, *others = ties.divided(places)
        return Tile(edge[None], fraction[None], distance[None], *others)

    def _make(self, key: tuple[int, int], blocks: BoolArray, former: Tile | None) -> Tile:
        """Snap the centres of the cells of some blocks of a tile, of which others may be known."""
        checkpoint()
        row, column = key
        first_x = (column * TILE + 0.5) * self.cell_m
        first_y = (row * TILE + 0.5) * self.cell_m
        shrink = self.streets.frame.shrink(first_y + np.arange(TILE, dtype=np.float64) * self.cell_m)
        corner = (first_x, first_y, shrink)
        is_needed = cells_of_blocks(blocks)
        tile = self._nearest(self.index, self.needed, *corner, is_needed)
        missing = is_needed & (tile.edge < 0)
        if self.islands.edge.size and missing.any():
            other = self._nearest(self.islands, ANY, *corner, missing)
            requested = other.edge >= 0
            if self.reach_m < self.threshold_m:
                rows, columns = np.nonzero(requested)
                x: FloatArray = first_x + columns.astype(np.float64) * self.cell_m
                y: FloatArray = first_y + rows.astype(np.float64) * self.cell_m
                requested[rows, columns] = ~self._is_near_main(x, y, shrink[rows])
            tile = _merged(tile, other, requested)
        if former is not None:
            tile = _merged(former, tile, is_needed)
        return replace(tile, known=blocks | _known(former))

    def _nearest(
        self, index: SegmentIndex, needed: np.uint8, first_x: float, first_y: float, shrink: FloatArray,
        is_needed: BoolArray,
    ) -> Tile:  # fmt: skip
        """Return the nearest edges of some cells of a tile."""
        centres = raster_barriers.Centres(first_x, first_y, self.cell_m, shrink)
        rules = (self.reach_m, index.grid, needed, barriers(self.streets))
        found, tied, near = nearest_raster.nearest_on_raster(centres, is_needed, *rules)
        edge, fraction = ties.places_of(found, index.grid.edge, index.parts)
        return Tile(edge, fraction, found.distance, *ties.tied_cells(centres, found, tied, near, *rules, index.parts))

    def _is_near_main(self, x: FloatArray, y: FloatArray, shrink: FloatArray) -> BoolArray:
        """Return which places snap to the main part of the network from farther away than `reach_m`."""
        walls = barriers(self.streets)
        found, _ = nearest.nearest_segments(x, y, shrink, self.threshold_m, self.index.grid, self.needed, walls)
        return np.asarray(found.segment >= 0)


def whole_window(blocks: BoolArray | None = None) -> Window:
    """Return the window of all cells of a tile, in an array of its size, of which all or some blocks are read."""
    return Window(0, 0, TILE, TILE, 0, 0, ALL_BLOCKS if blocks is None else blocks)


def edges_of_blocks(tile: Tile, side: int) -> BlockEdges:
    """Return the edges of square blocks of a tile; `side`, in cells, divides the sides of the tile."""
    n_rows, n_columns = tile.edge.shape[0] // side, tile.edge.shape[1] // side
    numbers = np.arange(n_rows * n_columns).reshape(n_rows, n_columns)
    block, edges = numbers.repeat(side, axis=0).repeat(side, axis=1).ravel(), tile.edge.ravel()
    # A block and an edge as one number. Most neighbours are in the same block and have the same edge.
    pairs = (block << 32 | edges)[edges >= 0]
    pairs = pairs[np.diff(pairs, prepend=-1) != 0]
    pairs = unique_values(np.concatenate([pairs, block[tile.tied_cell] << 32 | tile.tied_edge]))
    n_edges = np.bincount(pairs >> 32, minlength=n_rows * n_columns).astype(np.int32)
    metres = np.where(tile.edge >= 0, tile.distance, np.float32(np.inf)).reshape(n_rows, side, n_columns, side)
    nearest_m = metres.min(axis=(1, 3)).ravel()
    np.minimum.at(nearest_m, block[tile.tied_cell], tile.tied_distance)
    return BlockEdges(n_edges, (pairs & 0xFFFFFFFF).astype(np.int32), nearest_m, metres.max(axis=(1, 3)).ravel())


def _known(tile: Tile | None) -> BoolArray:
    """Return which blocks of a tile are known; none if there is no tile."""
    if tile is None:
        return np.zeros((TILE // BLOCK, TILE // BLOCK), np.bool_)
    assert tile.known is not None
    return tile.known


def _marked(cells: IndexArray, n: int) -> BoolArray:
    """Return a mask of one row of `n` cells."""
    mask = np.zeros((1, n), np.bool_)
    mask[0, cells] = True
    return mask


def _merged(tile: Tile, other: Tile, requested: BoolArray) -> Tile:
    """Return a tile in which some cells, which have no edge, are replaced by those of a second tile."""
    return Tile(*joined_cells(*tile.arrays(), *other.arrays(), requested))


def tile_cache(
    streets: StreetLayer,
    transportation: Transportation,
    snapping: Snapping,
    cell_m: float,
    reach_m: float = np.inf,
    *,
    needed: np.uint8,
) -> TileCache:
    """Return the tile cache of a network for a mode, a cell size and a requirement for streets; see `TileCache`."""
    roads = (streets, transportation, snapping.accept_roads)
    threshold_m = float(snapping.threshold)
    reach_m = min(reach_m, threshold_m)
    key = (index_key(transportation, snapping.accept_roads), cell_m, threshold_m, reach_m, int(needed))

    def start() -> TileCache:
        index, islands = snap_index(*roads), island_index(*roads, needed)
        return TileCache(streets, index, islands, needed, cell_m, threshold_m, reach_m)

    return _TILES.of(streets, key, start)
