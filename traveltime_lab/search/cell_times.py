"""
Reachable cells as arrays: the minimum, maximum and mean travel time in the reachable part of each, and its share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import (
    AnyArray,
    BoolArray,
    Float32Array,
    FloatArray,
    IndexArray,
    Int32Array,
    Int64Array,
    indptr_of,
)
from traveltime_lab.kernels.raster.cells import add_samples
from traveltime_lab.rounding import half_up, most_s
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.progress import advance
from traveltime_lab.search import border, trip_costs
from traveltime_lab.search.cell_numbers import CellNumbers, cell_numbers, sample_spacing_m
from traveltime_lab.search.query import Query
from traveltime_lab.streets.snapping import SNAPPED, Snaps
from traveltime_lab.surfaces import grids, raster
from traveltime_lab.surfaces.field import Field
from traveltime_lab.surfaces.grids import Grid
from traveltime_lab.surfaces.tiles import TILE

#: Statistics of travel times in a cell. The contract has these, the tables of the library also the share.
CELL_PROPERTIES: Final = ("min", "max", "mean")
SHARE: Final = "share_reachable"
#: Maximum number of tiles per origin; with 128 by 128 samples per tile, these are 50 million samples.
_MOST_TILES: Final = 3_000
#: Longest extent of a cell in samples up to which all its samples are counted; in larger cells every n-th is.
_COUNTED_SAMPLES: Final = 4 * TILE


@dataclass(frozen=True)
class CellTimes:
    """
    Travel times in the cells around one origin.

    Attributes
    ----------
    cell : object array of shape (n_cells,)
        Sorted names of the cells: H3 indexes as 15 hexadecimal digits, or geohashes.
    min, max, mean : int32 arrays of shape (n_cells,)
        Travel times in seconds, rounded half up.
    share_reachable : float64 array of shape (n_cells,), optional
        Share of the samples of each cell that are within the limit, above 0.
    """

    cell: AnyArray
    min: Int32Array
    max: Int32Array
    mean: Int32Array
    share_reachable: FloatArray | None = None


def cell_times(
    query: Query,
    snaps: Snaps,
    grid: Grid,
    resolution: int,
    limits: Sequence[int],
    *,
    no_water: bool,
    with_share: bool = False,
) -> list[list[CellTimes]]:
    """
    Return the reachable cells and their travel times as arrays, with one search for each origin.

    Parameters
    ----------
    query : Query
        Validated query for the largest limit.
    snaps : Snaps
        Snapped origins, see `Query.snap_at`.
    grid : {"h3", "geohash"}
    resolution : int
    limits : sequence of int
        Maximum travel times in seconds.
    no_water : bool
        Whether to ignore samples in water.
    with_share : bool, default False
        Whether to compute ``share_reachable``, which needs the samples of cells that are out of reach, too.

    Returns
    -------
    list of lists of CellTimes
        One list per origin, with one item per limit; items are empty if the origin is not snapped.
    """
    numbering = numbering_of(query, grid, resolution)
    found, longest, way = [], max(limits), border.of_streets(query, snaps)
    for i in range(len(snaps)):
        counts = [_CellCount.of(numbering, limit, with_share=with_share) for limit in limits]
        if snaps.status[i] == SNAPPED:
            start = snaps.one(i)
            field = query.field_from(start, longest + 1)
            _add_samples(query, start, field, counts, no_water=no_water)
            way[i] = min(way[i], border.of_field(query, start, field))
        found.append([count.named(no_water=no_water) for count in counts])
        advance(1)
    # Values are read up to a second beyond the limit.
    border.warn_of_origins(query, border.within(query, way, limits, 1.0))
    return found


def numbering_of(query: Query, grid: Grid, resolution: int) -> CellNumbers:
    """Return the numbers of the cells of the samples of a query."""
    network = query.network
    spacing = sample_spacing_m(grid, resolution, query.egress_transportation.base, network.frame.lat0)
    return cell_numbers(network, grid, resolution, spacing)


def _add_samples(query: Query, start: Snaps, field: Field, counts: Sequence[_CellCount], *, no_water: bool) -> None:
    """Add the samples of the field of one origin to the cells within each limit."""
    most = max(count.most for count in counts)
    numbering = counts[0].numbering
    for tile, values in raster.tile_values(
        query.network.streets,
        query.egress_transportation,
        query.snapping,
        field,
        cell_m=numbering.spacing_m,
        limit=most,
        most_tiles=_MOST_TILES,
        is_kept=trip_costs.places_within(query, start, math.ceil(most)),
    ):
        checkpoint()
        least = values.min()
        if not least <= most:
            continue
        numbers = numbering.of_tile(tile, no_water=no_water)
        for count in counts:
            if least <= count.most:
                count.add(tile, values, numbers)
    for count in counts:
        if field.start() <= count.most:
            count.add_origin(start)


def times_of_field(
    query: Query, start: Snaps, field: Field, numbering: CellNumbers, limit: int, *, no_water: bool
) -> CellTimes:
    """Return the cells within a limit of one origin, given the field of a search up to a second beyond it."""
    count = _CellCount.of(numbering, limit, with_share=False)
    _add_samples(query, start, field, [count], no_water=no_water)
    return count.named(no_water=no_water)


def shares_of_field(
    query: Query, start: Snaps, field: Field, numbering: CellNumbers, limit: int, *, no_water: bool
) -> tuple[AnyArray, FloatArray]:
    """
    Return the sorted names of cells and the mean of a share over their samples, with 0 where there is no value.

    Values of the field are what is missing of the share, and inf where that is all of it.
    """
    count = _CellCount.of(numbering, limit, with_share=True)
    _add_samples(query, start, field, [count], no_water=no_water)
    return count.shares(no_water=no_water)


@dataclass
class _WholeCells:
    """
    All samples of the cells around reached samples, whether they are reached or not.

    Attributes
    ----------
    numbering : CellNumbers
        Numbers of the cells of the samples that were searched.
    counted : CellNumbers
        Numbers of the cells of the samples that are counted: the same, or of cells with very many samples every n-th.
    stride : int
        This n.
    margin : int
        Longest extent of a cell, in samples.
    tiles : set of (int, int)
        Tiles of `counted` that may contain samples of reached cells.
    own : list of int
        Numbers of the cells in which the origin is an additional sample.
    """

    numbering: CellNumbers
    counted: CellNumbers
    stride: int
    margin: int
    tiles: set[tuple[int, int]] = field(default_factory=set)
    own: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, numbering: CellNumbers) -> _WholeCells:
        """Return no samples."""
        margin = math.ceil(numbering.longest_extent_m() / numbering.spacing_m)
        stride = math.ceil(margin / _COUNTED_SAMPLES)
        counted = numbering
        if stride > 1:
            network, grid, resolution = numbering.network, numbering.grid, numbering.resolution
            counted = cell_numbers(network, grid, resolution, numbering.spacing_m * stride)
        return cls(numbering, counted, stride, margin)

    def add(self, tile: tuple[int, int], is_reached: BoolArray) -> None:
        """Add the surroundings of the reached samples of a tile."""
        spans = []
        for place, axis in zip(tile, (1, 0), strict=True):
            hits = np.flatnonzero(is_reached.any(axis=axis))
            spans.append((place * TILE + int(hits[0]), place * TILE + int(hits[-1])))
        self._add(*spans)

    def add_point(self, lng: float, lat: float, own: int) -> None:
        """Add the surroundings of the origin, which is an additional sample of the cell `own`."""
        x, y = self.numbering.network.frame.to_xy(np.array([lng]), np.array([lat]))
        self._add(*((math.floor(float(at[0]) / self.numbering.spacing_m),) * 2 for at in (y, x)))
        self.own.append(own)

    def _add(self, *spans: tuple[int, int]) -> None:
        """Add the tiles with samples near a block, given by the first and last row and column of its samples."""
        size = TILE * self.stride
        rows, columns = (range((a - self.margin) // size, (b + self.margin) // size + 1) for a, b in spans)
        self.tiles.update((row, column) for row in rows for column in columns)

    def totals(self, cells: IndexArray, *, no_water: bool) -> FloatArray:
        """Return the number of samples in each of some reached cells, for cells with very many an estimate."""
        count = np.zeros(0, np.int64)
        for tile in sorted(self.tiles):
            checkpoint()
            here, n_samples = self.counted.counts_of_tile(tile, no_water=no_water)
            if self.counted.n_cells > count.size:
                count = np.append(count, np.zeros(self.counted.n_cells - count.size, np.int64))
            count[here] += n_samples
        if self.stride > 1:
            keys = [self.numbering.keys[number] for number in cells.tolist()]
            known = [self.counted.number_of.get(key, -1) for key in keys]
            totals = np.array([count[number] if 0 <= number < count.size else 0 for number in known], np.float64)
        else:
            totals = count[cells].astype(np.float64)
        return totals * self.stride**2 + np.isin(cells, self.own)


@dataclass
class _Statistics:
    """Running statistics of the samples in each cell."""

    low: FloatArray
    high: FloatArray
    total: FloatArray
    count: Int64Array

    @classmethod
    def empty(cls) -> _Statistics:
        """Return statistics of no cells."""
        return cls(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, np.int64))

    def add(self, values: Float32Array, cell: Int32Array, limit: float, n_cells: int) -> None:
        """Add samples in cells numbered below `n_cells`."""
        if n_cells > self.low.size:
            # Other threads may number cells at the same time, so there may be more cells than this search uses.
            more = max(n_cells, 2 * self.low.size) - self.low.size
            self.low = np.append(self.low, np.full(more, np.inf))
            self.high = np.append(self.high, np.full(more, -np.inf))
            self.total = np.append(self.total, np.zeros(more))
            self.count = np.append(self.count, np.zeros(more, np.int64))
        add_samples(values, cell, limit, self.low, self.high, self.total, self.count)

    def named(self, numbering: CellNumbers, whole: _WholeCells | None, *, no_water: bool) -> CellTimes:
        """Return the cells that have samples, sorted by name; with `whole` also their reachable shares."""
        cells = np.flatnonzero(self.count)
        names = numbering.names(cells)
        order = np.argsort(names)
        cells = cells[order]
        low, high = self.low[cells], self.high[cells]
        # Rounding errors may move the mean of equal values outside of their range.
        mean = np.clip(self.total[cells] / self.count[cells], low, high)
        share = None
        if whole is not None:
            share = np.minimum(self.count[cells] / np.maximum(whole.totals(cells, no_water=no_water), 1.0), 1.0)
        least, most, middle = (half_up(each).astype(np.int32) for each in (low, high, mean))
        return CellTimes(names[order], least, most, middle, share)


@dataclass
class _CellCount:
    """
    Statistics of the cells within one limit of an origin, and if requested all samples of these cells.

    Attributes
    ----------
    numbering : CellNumbers
    most : float
        Largest number of seconds within the limit.
    statistics : _Statistics
    whole : _WholeCells, optional
    """

    numbering: CellNumbers
    most: float
    statistics: _Statistics
    whole: _WholeCells | None

    @classmethod
    def of(cls, numbering: CellNumbers, limit: int, *, with_share: bool) -> _CellCount:
        """Return statistics of no cells."""
        return cls(numbering, most_s(limit), _Statistics.empty(), _WholeCells.of(numbering) if with_share else None)

    def add(self, tile: tuple[int, int], values: Float32Array, numbers: Int32Array) -> None:
        """Add the samples of a tile."""
        self.statistics.add(values, numbers, self.most, self.numbering.n_cells)
        if self.whole is not None:
            self.whole.add(tile, values <= self.most)

    def add_origin(self, start: Snaps) -> None:
        """Add the origin: the travel time to itself is zero, wherever the nearest sample is."""
        own = self.numbering.of_points(start.lng, start.lat)
        nothing = np.zeros((1, 1), np.float32)
        self.statistics.add(nothing, own[None, :], self.most, self.numbering.n_cells)
        if self.whole is not None:
            self.whole.add_point(float(start.lng[0]), float(start.lat[0]), int(own[0]))

    def named(self, *, no_water: bool) -> CellTimes:
        """Return the cells that have samples."""
        return self.statistics.named(self.numbering, self.whole, no_water=no_water)

    def shares(self, *, no_water: bool) -> tuple[AnyArray, FloatArray]:
        """Return the names of the cells that have samples, sorted, and one less the values per sample of the cell."""
        assert self.whole is not None
        cells = np.flatnonzero(self.statistics.count)
        names = self.numbering.names(cells)
        order = np.argsort(names)
        cells = cells[order]
        total = self.statistics.count[cells] - self.statistics.total[cells]
        share = total / np.maximum(self.whole.totals(cells, no_water=no_water), 1.0)
        return names[order], np.minimum(share, 1.0)


def combined_times(members: Sequence[CellTimes], *, at_least: int) -> CellTimes:
    """
    Return the cells that at least `at_least` searches have, with combined travel times.

    Parameters
    ----------
    members : sequence of CellTimes
        Cells of the same type and resolution.
    at_least : int
        1 for a union, the number of members for an intersection.

    Returns
    -------
    CellTimes
        For each cell, the smallest ``min``, the largest ``max`` and the mean of the ``mean``, rounded half up.
    """
    names = np.concatenate([member.cell for member in members])
    low, high, mean = (
        np.concatenate([getattr(member, name) for member in members]).astype(np.int64) for name in CELL_PROPERTIES
    )
    codes, distinct = pd.factorize(names, sort=True)
    counts = np.bincount(codes, minlength=len(distinct))
    order = np.argsort(codes, kind="stable")
    firsts = indptr_of(counts)[:-1]
    kept = counts >= at_least
    if not kept.any():
        nothing = np.zeros(0, np.int32)
        return CellTimes(np.zeros(0, dtype=object), nothing, nothing, nothing)
    n, total = counts[kept], np.add.reduceat(mean[order], firsts)[kept]
    return CellTimes(
        np.asarray(distinct, dtype=object)[kept],
        np.minimum.reduceat(low[order], firsts)[kept].astype(np.int32),
        np.maximum.reduceat(high[order], firsts)[kept].astype(np.int32),
        ((2 * total + n) // (2 * n)).astype(np.int32),
    )


def outlines(grid: Grid, names: AnyArray) -> AnyArray:
    """Return the polygons of cells; the polygon of a repeated cell is computed once."""
    codes, distinct = pd.factorize(names)
    if grid == "h3":
        polygons = grids.h3_polygons(np.array([int(name, 16) for name in distinct], np.uint64))
    else:
        places = np.array([grids.geohash_places(name) for name in distinct], np.int64).reshape(-1, 3)
        resolution = int(places[0, 2]) if len(places) else 1
        polygons = grids.geohash_polygons(places[:, 0], places[:, 1], resolution)
    return np.asarray(polygons[codes])
