"""
Numbers of the cells in which the sample points of a network are: H3 cells and geohashes.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from traveltime_lab._arrays import (
    AnyArray,
    FloatArray,
    IndexArray,
    Int32Array,
    Int64Array,
    UInt64Array,
)
from traveltime_lab.network.network import Network
from traveltime_lab.runtime.forks import Lock
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.surfaces import grids
from traveltime_lab.surfaces.grids import Grid
from traveltime_lab.surfaces.level_of_detail import CELL_M
from traveltime_lab.surfaces.tiles import TILE

#: Minimum number of samples in a cell of average size, if the grid of a level of detail is used, and in cells that are
#: too small for the finest level. With 12 samples, even the smallest H3 hexagon of a resolution, which has 0.6 of the
#: average area, contains at least one.
_SAMPLES_OF_LEVEL: Final = 16
_FEWEST_SAMPLES: Final = 12
#: Number of tiles of cell numbers that are cached per network, type of cell and spacing; 64 KB each.
_KEPT_TILES: Final = 2_000
#: Upper limit for the diameter of an H3 cell over the average edge of its resolution. It was at most 2.21 in the cells
#: of 20,000 random places at the resolutions 2, 5 and 9; the rest is for distortions of the plane of the network.
_LONGEST_OF_EDGE: Final = 2.3

_NUMBERS = Derived[tuple[str, int, float], "CellNumbers"]("numbers of cells", kept=8)


def cell_numbers(network: Network, grid: Grid, resolution: int, spacing_m: float) -> CellNumbers:
    """Return the numbers of the cells of a network, which are kept; see `CellNumbers`."""
    key = (grid, resolution, spacing_m)
    return _NUMBERS.of(network, key, lambda: CellNumbers(network, grid, resolution, spacing_m))


def sample_spacing_m(grid: Grid, resolution: int, family: str, lat: float) -> float:
    """
    Return the spacing of samples in metres.

    The spacing is that of the coarsest level of detail (see `traveltime_lab.surfaces.level_of_detail`) with 16 samples
    in a cell of average size and four along its shorter side, so that cells and isochrones use the same surface. It is
    smaller for cells that are too small for any level.

    Parameters
    ----------
    grid : {"h3", "geohash"}
    resolution : int
    family : {"walking", "cycling", "driving"}
    lat : float
        Latitude of the network, degrees.
    """
    if grid == "h3":
        area = grids.h3_area_m2(resolution)
        side = float(np.sqrt(area))
    else:
        width, height = grids.geohash_size_m(resolution, lat)
        area, side = width * height, min(width, height)
    longest = min(float(np.sqrt(area / _SAMPLES_OF_LEVEL)), side / 4.0)
    for level_m in CELL_M[family]:
        if level_m <= longest:
            return level_m
    return round(min(float(np.sqrt(area / _FEWEST_SAMPLES)), side / 3.0), 2)


@dataclass(frozen=True)
class _Samples:
    """
    The cells of the samples of a tile.

    Attributes
    ----------
    cell : int32 array of shape (n_rows, n_columns)
        Number of the cell of each sample, -1 for none.
    distinct : int32 array of shape (n,)
        The cells.
    count : int64 array of shape (n,)
        Number of samples in each.
    """

    cell: Int32Array
    distinct: Int32Array
    count: Int64Array

    @classmethod
    def of(cls, cell: Int32Array) -> _Samples:
        """Count the samples."""
        distinct, count = np.unique(cell[cell >= 0], return_counts=True)
        return cls(cell, distinct, count)


@dataclass
class CellNumbers:
    """
    The cell that contains each sample, as consecutive numbers, computed and cached by tile.

    Attributes
    ----------
    network : Network
    grid : {"h3", "geohash"}
    resolution : int
    spacing_m : float
        Spacing of samples in metres.
    """

    network: Network
    grid: Grid
    resolution: int
    spacing_m: float
    keys: list[int] = field(default_factory=list)
    number_of: dict[int, int] = field(default_factory=dict)
    tiles: OrderedDict[tuple[int, int], tuple[_Samples, _Samples]] = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)

    @property
    def n_cells(self) -> int:
        """Number of cells that have been numbered so far."""
        return len(self.keys)

    def of_tile(self, tile: tuple[int, int], *, no_water: bool) -> Int32Array:
        """Return the cells of the samples of a tile; with `no_water`, samples in water get -1."""
        return self._samples(tile, no_water=no_water).cell

    def counts_of_tile(self, tile: tuple[int, int], *, no_water: bool) -> tuple[Int32Array, Int64Array]:
        """Return the cells that have samples in a tile, and how many; with `no_water`, none of those in water."""
        samples = self._samples(tile, no_water=no_water)
        return samples.distinct, samples.count

    def _samples(self, tile: tuple[int, int], *, no_water: bool) -> _Samples:
        """Return the samples of a tile, computed once."""
        with self.lock:
            made = self.tiles.get(tile)
            if made is not None:
                self.tiles.move_to_end(tile)
        if made is None:
            made = self._make(tile)
            with self.lock:
                self.tiles[tile] = made
                while len(self.tiles) > _KEPT_TILES:
                    self.tiles.popitem(last=False)
        return made[1] if no_water else made[0]

    def _make(self, tile: tuple[int, int]) -> tuple[_Samples, _Samples]:
        """Return the cells of the samples of a tile, with and without samples in water."""
        steps = (np.arange(TILE, dtype=np.float64) + 0.5) * self.spacing_m
        y, x = (place * TILE * self.spacing_m + steps for place in tile)
        lng, lat = self.network.frame.to_lnglat(x, y)
        shape = (TILE, TILE)
        if self.grid == "h3":
            lat = np.clip(lat, -90.0, 90.0)
            keys = grids.h3_cells_of(np.broadcast_to(lng, shape), np.broadcast_to(lat[:, None], shape), self.resolution)
        else:
            columns = grids.geohash_columns(lng, self.resolution)
            rows = grids.geohash_rows(lat, self.resolution)
            keys = _geohash_key(columns[None, :], rows[:, None]).astype(np.uint64)
        cell = self._number(keys)
        everywhere = on_land = _Samples.of(cell)
        if len(self.network.water):
            wet = self.network.water.contains(np.tile(x, TILE), np.repeat(y, TILE)).reshape(shape)
            if wet.any():
                on_land = _Samples.of(np.where(wet, np.int32(-1), cell))
        return everywhere, on_land

    def of_points(self, lng: FloatArray, lat: FloatArray) -> Int32Array:
        """Return the cells of points."""
        if self.grid == "h3":
            return self._number(grids.h3_cells_of(lng, lat, self.resolution))
        columns, rows = grids.geohash_columns(lng, self.resolution), grids.geohash_rows(lat, self.resolution)
        return self._number(_geohash_key(columns, rows).astype(np.uint64))

    def _number(self, keys: UInt64Array) -> Int32Array:
        """Return the numbers of cells; new cells get the next free numbers."""
        distinct, inverse = np.unique(keys.ravel(), return_inverse=True)
        numbers = np.empty(distinct.size, np.int32)
        with self.lock:
            for n, key in enumerate(distinct.tolist()):
                number = self.number_of.get(key, -1)
                if number < 0:
                    # In this order a process that is forked in between has a number that nothing uses.
                    number = len(self.keys)
                    self.keys.append(key)
                    self.number_of[key] = number
                numbers[n] = number
        return numbers[inverse].reshape(keys.shape)

    def longest_extent_m(self) -> float:
        """Return an upper limit for the width and height of a cell on the plane of the network."""
        frame = self.network.frame
        if self.grid == "geohash":
            return max(grids.geohash_size_m(self.resolution, frame.lat0))
        south, north = self.network.bounds[1::2]
        _, y = frame.to_xy(np.zeros(2), np.array([south, north]))
        return grids.h3_edge_m(self.resolution) * _LONGEST_OF_EDGE / float(min(1.0, *frame.shrink(y)))

    def names(self, numbers: IndexArray) -> AnyArray:
        """Return the names of numbered cells."""
        keys = np.array([self.keys[number] for number in numbers.tolist()], np.uint64)
        if self.grid == "h3":
            return grids.h3_names(keys)
        both = keys.astype(np.int64)
        return grids.geohash_names(both >> 32, both & 0xFFFFFFFF, self.resolution)


def _geohash_key(columns: Int64Array, rows: Int64Array) -> Int64Array:
    """Return the column and row of geohashes as a single number."""
    return (columns << 32) + rows
