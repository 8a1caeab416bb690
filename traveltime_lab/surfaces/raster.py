"""
Compute the values of a field at the centres of square cells, as one array or tile by tile.

The tiles of `traveltime_lab.surfaces.tiles` hold the nearest street of each cell; a surface reads the field there.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from traveltime_lab._arrays import BoolArray, Float32Array, FloatArray, Int32Array
from traveltime_lab.errors import LimitError
from traveltime_lab.kernels.raster.blocks import settle_blocks
from traveltime_lab.kernels.raster.surface import Window, mark_blocks
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.threads import side_by_side
from traveltime_lab.settings import settings
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.surfaces.field import CellReading, DistanceField, Field, StreetField, edge_boxes, joined_box
from traveltime_lab.surfaces.islands import IslandField
from traveltime_lab.surfaces.polygons import Surface
from traveltime_lab.surfaces.road_buffer import reached_pieces
from traveltime_lab.surfaces.tiles import ALL_BLOCKS, BLOCK, TILE, TileCache, tile_cache, whole_window

#: Number of tiles that `tile_values` holds in memory at a time.
_TILES_AT_ONCE = 256
#: Up to this number of tiles only the blocks that are needed are linked to streets; in larger areas most of them are
#: needed. Measured in Milan and New York. In larger areas only, blocks far from all limits are not read (assumed).
_FEW_TILES = 16
#: From this number of places on all threads read their values (assumed).
_MANY_PROBES = 1_000
_ONE_BLOCK = np.ones((1, 1), np.bool_)
#: Largest number of cells of a surface; the size of the cells is doubled until it is not exceeded.
_MOST_CELLS = 16_000_000
#: Edges of larger bounding boxes may be cut to their reached parts where cells would be too many, m (assumed).
_LONG_M = 10_000.0
#: Blocks are far from a limit from this many sides of a cell, in seconds or metres; contours clip values at one.
_FAR_CELLS = 2.0

#: Called with two float64 arrays of shape (n,), coordinates in local metres, returns a bool array: the places that an
#: area within a limit may contain.
IsKept: TypeAlias = Callable[[FloatArray, FloatArray], BoolArray]


def surfaces(
    streets: StreetLayer,
    transportation: Transportation,
    snapping: Snapping,
    field: Field,
    *,
    cell_m: float,
    buffer_m: float,
    limits: Sequence[float],
    is_kept: IsKept | None = None,
) -> list[Surface]:
    """
    Return the values of a field at the cells around all streets that it reaches within one or more limits.

    Parameters
    ----------
    streets : StreetLayer
    transportation : Transportation
    snapping : Snapping
    field : Field
    cell_m : float
        Side of a cell in metres.
    buffer_m : float
        Largest distance of a reached cell from its street, m.
    limits : sequence of float
        Limits in seconds (or metres). They bound the margin around the reached streets.
    is_kept : callable, optional
        Places within the largest limit that are not kept get the value inf.

    Returns
    -------
    list of Surface
        One for each limit. All are parts of one raster, and each has the extent that it has alone, so that contours are
        equal to the last bit. Values beyond the largest limit may be inf, but those of neighbours of cells within a
        limit are not. Values that differ from all limits by ``2 * cell_m`` or more may be replaced by others that do,
        on the same sides of all limits, because contours clip them. Cells have the side `cell_m`, or two, four, ...
        times as much if there were more than 16 million of them, also around the reached parts of long edges alone.
    """
    most = max(limits)
    per_metre = _per_metre(field, snapping)

    def reach(limit: float) -> tuple[CellReading, float]:
        reading = field.cell_readers(streets, transportation, limit=limit, per_metre=per_metre, buffer_m=buffer_m)
        reach_m = min(buffer_m, float(snapping.threshold))
        return reading, min(reach_m, limit / per_metre) if per_metre else reach_m

    first_m = cell_m
    reading, reach_m = reach(most)
    box = _box(streets, field, reading, most, reach_m, first_m)
    extent = _Extent.around(streets, box, reach_m, cell_m)
    while extent.area_m2 > _MOST_CELLS * cell_m**2:
        cell_m *= 2.0
        extent = _Extent.around(streets, box, reach_m, cell_m)
    values = np.empty((extent.n_rows, extent.n_columns), np.float32)
    places = extent.tiles()
    # At least the default threshold, so that shapes of all buffer widths share their tiles.
    most_m = max(buffer_m, float(Snapping().threshold))
    caches = [
        tile_cache(streets, reader.transportation, snapping, cell_m, most_m, needed=reader.needed)
        for reader in reading.readers
    ]
    needed = _needed_blocks(streets, reading, most, per_metre, reach_m, places, caches)
    if needed is not None:
        values.fill(np.inf)
    blocks_of = needed or dict.fromkeys(places, ALL_BLOCKS)
    places = [place for place in places if blocks_of[place].any()]
    # The edges of blocks are found for the tiles of former searches: those of others may not be needed again.
    is_one = all(cache is caches[0] for cache in caches)
    known = caches[0].whole(places) if reading.bounds and is_one and len(places) > _FEW_TILES else []
    bounds = reading.bounds() if reading.bounds and known else None
    tiles = [cache.get(places, needed) for cache in caches]

    def settle(some: list[tuple[int, int]]) -> None:
        """Fill the blocks of some tiles that need not be read."""
        assert bounds is not None
        corners = np.array(some) * TILE - (extent.first_row, extent.first_column)
        blocks = caches[0].edges_of_blocks({place: tiles[0][place] for place in some})
        is_read = np.array([blocks_of[place] for place in some])
        levels, far = np.array(limits, np.float32), np.float32(_FAR_CELLS * cell_m)
        settle_blocks(corners, blocks, *bounds, levels, far, BLOCK, values, is_read)
        blocks_of.update(zip(some, is_read, strict=True))

    n = settings.threads
    side_by_side([functools.partial(settle, known[i::n]) for i in range(min(n, len(known)))])
    places = [place for place in places if blocks_of[place].any()]

    def fill(place: tuple[int, int]) -> None:
        top, left = place[0] * TILE - extent.first_row, place[1] * TILE - extent.first_column
        window = Window(
            max(0, -top), max(0, -left), min(TILE, extent.n_rows - top), min(TILE, extent.n_columns - left),
            max(0, top), max(0, left), blocks_of[place],
        )  # fmt: skip
        for reader, found in zip(reading.readers, tiles, strict=True):
            reader.read(found[place], window, values)
            if bounds is None:
                # Where no block is filled, other readers may lower all cells, which takes less time.
                window = window._replace(blocks=ALL_BLOCKS)

    if len(places) <= _FEW_TILES and len(reading.readers) == 1:
        # Reading some tiles from one search takes no longer than submitting them to a thread.
        for place in places:
            fill(place)
    else:
        side_by_side([functools.partial(fill, place) for place in places])
    if is_kept is not None:
        corner = extent.first_row, extent.first_column
        _leave_out(values, corner, cell_m, most, is_kept)

    def probe(x: FloatArray, y: FloatArray) -> Float32Array:
        """Return the values of any places."""
        checkpoint()
        found = np.full((1, x.size), np.inf, np.float32)

        def fill(part: slice) -> None:
            values = found[:, part]
            window = Window(0, 0, 1, values.size, 0, 0, _ONE_BLOCK)
            tile_of = {id(cache): cache.at(x[part], y[part]) for cache in {id(each): each for each in caches}.values()}
            for reader, cache in zip(reading.readers, caches, strict=True):
                reader.read(tile_of[id(cache)], window, values)

        n_parts = settings.threads if x.size >= _MANY_PROBES else 1
        ends = [x.size * part // n_parts for part in range(n_parts + 1)]
        side_by_side([functools.partial(fill, slice(*each)) for each in itertools.pairwise(ends)])
        if is_kept is not None:
            within = np.flatnonzero(found[0] <= most)
            found[0, within[~is_kept(x[within], y[within])]] = np.inf
        return found.reshape(-1)

    def extent_of(limit: float) -> _Extent:
        if limit == most:
            return extent
        smaller, smaller_m = reach(limit)
        around = _box(streets, field, smaller, limit, smaller_m, first_m)
        return _Extent.around(streets, around, smaller_m, cell_m).within(extent)

    return [extent_of(limit).surface(streets, values, extent, probe) for limit in limits]


def _leave_out(values: Float32Array, corner: tuple[int, int], cell_m: float, limit: float, is_kept: IsKept) -> None:
    """Set the values of cells within a limit to inf that are not kept; the first cell is at a row and column."""
    row, column = np.nonzero(values <= limit)
    x, y = ((first + at + 0.5) * cell_m for first, at in zip(corner[::-1], (column, row), strict=True))
    kept = is_kept(x.astype(np.float64), y.astype(np.float64))
    values[row[~kept], column[~kept]] = np.inf


def _box(
    streets: StreetLayer, field: Field, reading: CellReading, limit: float, reach_m: float, cell_m: float
) -> FloatArray:
    """Return the bounding box of the reached edges, or that of their reached parts if it has too many cells."""
    box = _finite(reading.box)
    if _Extent.around(streets, box, reach_m, cell_m).area_m2 <= _MOST_CELLS * cell_m**2:
        return box
    return _reached_box(streets, field, reading, limit)


def _finite(box: FloatArray) -> FloatArray:
    """Return a bounding box, that of one place if there is no street at all, such as none that is step-free."""
    return box if np.isfinite(box).all() else np.zeros(4)


def _reached_box(streets: StreetLayer, field: Field, reading: CellReading, limit: float) -> FloatArray:
    """
    Return the bounding box of the parts of edges that are reached within a limit.

    An edge may lead around the earth, such as one with a node thrown far away, and be reached for a kilometre.

    Returns
    -------
    float64 array of shape (4,), m
        West, south, east, north in local metres.
    """
    parts = (field.main, field.island) if isinstance(field, IslandField) else (field,)
    if not all(isinstance(part, StreetField | DistanceField) for part in parts):
        # In a transit search, parts of an edge may be reached from a stop that is on it.
        return reading.box
    boxes, is_land = edge_boxes(streets)
    pieces = reached_pieces(streets, field, limit)
    edges, least = reading.reached()
    edges = edges[(least <= limit) & is_land[edges]]
    sides_m = (boxes[:, 2:] - boxes[:, :2]).max(axis=1)
    short = boxes[edges[sides_m[edges] <= _LONG_M]]
    if not len(pieces):
        return reading.box
    # Fractions of cells and values of edges are rounded to 24 bits.
    rounded_m = 1e-6 * float(sides_m[edges].max(initial=0.0))
    xy = pieces.reshape(-1, 2)
    return joined_box([*short, [*(xy.min(axis=0) - rounded_m), *(xy.max(axis=0) + rounded_m)]])


def _needed_blocks(
    streets: StreetLayer,
    reading: CellReading,
    limit: float,
    per_metre: float,
    reach_m: float,
    places: list[tuple[int, int]],
    caches: Sequence[TileCache],
) -> dict[tuple[int, int], BoolArray] | None:
    """
    Return the blocks of tiles with cells within a limit, or their neighbours; None if all blocks shall be read.

    Contours depend on no other cells. `places` are a rectangle of tiles.
    """
    if len(places) > _FEW_TILES or not any(cache.lacks_any(places) for cache in caches):
        return None
    edges, least = reading.reached()
    margins = (limit - least) / per_metre if per_metre else np.full(least.size, np.inf)
    # Neighbours are up to a diagonal of a cell farther away.
    margins = np.minimum(margins, reach_m) + 2.0 * caches[0].cell_m
    return _blocks_around(streets, edges, margins, places, caches)


def _blocks_around(
    streets: StreetLayer,
    edges: Int32Array,
    margins: FloatArray,
    places: list[tuple[int, int]],
    caches: Sequence[TileCache],
) -> dict[tuple[int, int], BoolArray]:
    """
    Return the blocks of tiles, which are a rectangle, that have cells within a margin around their edges.

    Parameters
    ----------
    streets : StreetLayer
    edges, margins : int32 and float64 arrays of shape (n,)
        Margins in metres, two cells wider than the distance of cells that are within the limit.
    places : list of tuple
        The tiles.
    caches : sequence of TileCache

    Notes
    -----
    If a cell belongs to an edge, so may its neighbour, whose nearest edge is up to two diagonals of a cell nearer.
    """
    (top, left), (bottom, right) = places[0], places[-1]
    n, cell_m = TILE // BLOCK, caches[0].cell_m
    shape = (bottom - top + 1, right - left + 1)
    each = np.zeros((len(places), n, n), np.float32)
    for cache in {id(cache): cache for cache in caches}.values():
        np.maximum(each, cache.reaches_of_blocks(places), out=each)
    reaches = each.reshape(*shape, n, n).swapaxes(1, 2).reshape(shape[0] * n, shape[1] * n)
    marks = np.zeros(reaches.shape, np.bool_)
    # Metres of the frame that are the least true metres.
    shrink = float(streets.frame.shrink(np.array([top, bottom + 1]) * TILE * cell_m).min())
    mark_blocks(
        edges, margins, edge_boxes(streets), shrink, cell_m * BLOCK, top * n, left * n,
        reaches + np.float32(3.0 * cell_m), marks,
    )  # fmt: skip
    return {
        # Copies, because kernels are compiled again for arrays with gaps.
        (row, column): marks[
            (row - top) * n : (row - top + 1) * n, (column - left) * n : (column - left + 1) * n
        ].copy()
        for row, column in places
    }


class _Extent(NamedTuple):
    """
    Rows and columns of a raster; cell (0, 0) has its south-west corner at the origin of the local metres.

    Attributes
    ----------
    first_row, first_column, n_rows, n_columns : int
    area_m2 : float
        Area before it is rounded to whole cells.
    cell_m : float
    """

    first_row: int
    first_column: int
    n_rows: int
    n_columns: int
    area_m2: float
    cell_m: float

    @classmethod
    def around(cls, streets: StreetLayer, box: FloatArray, reach_m: float, cell_m: float) -> _Extent:
        """Return the cells around a bounding box of streets."""
        # Two more cells, so that contours close inside of the surface.
        margin = reach_m + 2.0 * cell_m
        shrink = float(streets.frame.shrink(np.array([box[1], box[3]])).min())
        first_column = int(np.floor((box[0] - margin / shrink) / cell_m))
        first_row = int(np.floor((box[1] - margin) / cell_m))
        n_columns = int(np.ceil((box[2] + margin / shrink) / cell_m)) - first_column
        n_rows = int(np.ceil((box[3] + margin) / cell_m)) - first_row
        area_m2 = float((box[2] - box[0] + 2 * margin / shrink) * (box[3] - box[1] + 2 * margin))
        return cls(first_row, first_column, n_rows, n_columns, area_m2, cell_m)

    def within(self, other: _Extent) -> _Extent:
        """Return the cells that are also in another extent."""
        first_row, first_column = max(self.first_row, other.first_row), max(self.first_column, other.first_column)
        last_row = min(self.first_row + self.n_rows, other.first_row + other.n_rows)
        last_column = min(self.first_column + self.n_columns, other.first_column + other.n_columns)
        return self._replace(
            first_row=first_row,
            first_column=first_column,
            n_rows=last_row - first_row,
            n_columns=last_column - first_column,
        )

    def tiles(self) -> list[tuple[int, int]]:
        """Return the rows and columns of the tiles that have some of the cells."""
        rows = range(self.first_row // TILE, (self.first_row + self.n_rows - 1) // TILE + 1)
        columns = range(self.first_column // TILE, (self.first_column + self.n_columns - 1) // TILE + 1)
        return [(r, c) for r in rows for c in columns]

    def surface(
        self,
        streets: StreetLayer,
        values: Float32Array,
        of: _Extent,
        probe: Callable[[FloatArray, FloatArray], Float32Array],
    ) -> Surface:
        """Return the part of the values of a larger extent."""
        top, left = self.first_row - of.first_row, self.first_column - of.first_column
        return Surface(
            frame=streets.frame,
            x0=(self.first_column + 0.5) * self.cell_m,
            y0=(self.first_row + 0.5) * self.cell_m,
            cell_m=self.cell_m,
            values=values[top : top + self.n_rows, left : left + self.n_columns],
            probe=probe,
        )


def tile_values(
    streets: StreetLayer,
    transportation: Transportation,
    snapping: Snapping,
    field: Field,
    *,
    cell_m: float,
    limit: float,
    most_tiles: int,
    is_kept: IsKept | None = None,
) -> Iterator[tuple[tuple[int, int], Float32Array]]:
    """
    Yield the values of a field tile by tile, without one array for the whole surface.

    Parameters
    ----------
    streets : StreetLayer
    transportation : Transportation
    snapping : Snapping
    field : Field
    cell_m : float
        Side of a cell in metres. It is not increased if there are many cells.
    limit : float
        Limit in seconds (or metres). It bounds the margin around the reached streets.
    most_tiles : int
        Largest number of tiles.
    is_kept : callable, optional
        As in `surfaces`.

    Yields
    ------
    key : tuple of int
        Row and column of the tile; its south-west cell has the centre
        ``((column * TILE + 0.5) * cell_m, (row * TILE + 0.5) * cell_m)`` in local metres. Tiles without a value within
        the limit may be left out.
    values : float32 array of shape (TILE, TILE)
        As in `surfaces`. The array is overwritten by the next tile.

    Raises
    ------
    LimitError
        If there are more than `most_tiles` tiles.
    """
    per_metre = _per_metre(field, snapping)
    reading = field.cell_readers(streets, transportation, limit=limit, per_metre=per_metre, buffer_m=np.inf)
    box, margin = _finite(reading.box), float(snapping.threshold)
    if per_metre:
        margin = min(margin, limit / per_metre)
    side = TILE * cell_m

    def rectangle(box: FloatArray) -> tuple[range, range]:
        shrink = float(streets.frame.shrink(np.array([box[1], box[3]])).min())
        columns = range(int((box[0] - margin / shrink) // side), int((box[2] + margin / shrink) // side) + 1)
        return columns, range(int((box[1] - margin) // side), int((box[3] + margin) // side) + 1)

    columns, lines = rectangle(box)
    if len(columns) * len(lines) > most_tiles:
        columns, lines = rectangle(_reached_box(streets, field, reading, limit))
    if len(columns) * len(lines) > most_tiles:
        n_places = len(columns) * len(lines) * TILE**2
        msg = (
            f"the reachable area has {n_places / 1e6:,.0f} million sample points {cell_m:g} m apart, "
            f"more than {most_tiles * TILE**2 / 1e6:,.0f} million; use a coarser resolution or a shorter travel time"
        )
        raise LimitError(msg)
    keys = [(r, c) for r in lines for c in columns]
    caches = [
        tile_cache(streets, reader.transportation, snapping, cell_m, needed=reader.needed) for reader in reading.readers
    ]
    needed = _needed_blocks(streets, reading, limit, per_metre, margin, keys, caches)
    values = np.empty((TILE, TILE), np.float32)
    for first in range(0, len(keys), _TILES_AT_ONCE):
        checkpoint()
        some = keys[first : first + _TILES_AT_ONCE]
        read = [key for key in some if needed is None or needed[key].any()]
        tiles = [cache.get(read, needed) for cache in caches]
        for key in read:
            window = whole_window(None if needed is None else needed[key])
            if needed is not None:
                values.fill(np.inf)
            for reader, found in zip(reading.readers, tiles, strict=True):
                reader.read(found[key], window, values)
            if is_kept is not None:
                _leave_out(values, (key[0] * TILE, key[1] * TILE), cell_m, limit, is_kept)
            yield key, values


def _per_metre(field: Field, snapping: Snapping) -> float:
    """Return the value of one metre between a point and its street, in seconds or metres."""
    if snapping.penalty == "disabled":
        return 0.0
    return 1.0 if field.is_length else 3.6 / field.connector_kph


def origin_radius(field: Field, snapping: Snapping, cell_m: float, limit: float) -> float:
    """
    Return the radius in metres of the disc around an origin that is always part of its shape.

    The cells around an origin may be unreached. The radius is half a cell, or less if what is left of the limit after
    the connector to the street and back does not suffice for that distance, but at least one metre.

    Parameters
    ----------
    field : Field
    snapping : Snapping
    cell_m : float
    limit : float
        Limit in seconds, or in metres in a field of distances.

    Returns
    -------
    float
        0 if the street of the origin is beyond the limit.
    """
    walk = field.start()
    if walk > limit:
        return 0.0
    if snapping.penalty == "disabled":
        return cell_m / 2.0
    left_m = (limit - 2.0 * walk) * (1.0 if field.is_length else field.connector_kph / 3.6)
    return float(np.clip(left_m / 2.0, 1.0, cell_m / 2.0))
