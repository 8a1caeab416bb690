"""
The value of a field at the centres of square cells, as one array or tile by tile.

A surface is a gather through the tiles of `traveltime_lab.surfaces.tiles`, which know the nearest street of each cell.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from traveltime_lab._arrays import Float32Array
from traveltime_lab._threads import side_by_side
from traveltime_lab.errors import LimitError
from traveltime_lab.modes import Snapping, Transportation
from traveltime_lab.streets import costs
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.surfaces.field import Field
from traveltime_lab.surfaces.polygons import Surface
from traveltime_lab.surfaces.tiles import TILE, tile_cache

#: Tiles that `tile_values` holds at a time.
_TILES_AT_ONCE = 256
#: Cells in the largest surface; where a shape is too wide for that, its cells double in size.
_MOST_CELLS = 16_000_000


def surface(
    streets: StreetLayer,
    transportation: Transportation,
    snapping: Snapping,
    field: Field,
    *,
    cell_m: float,
    buffer_m: float,
    limit: float,
) -> Surface:
    """
    Return the values of a field at the cells around everything that it reaches.

    Parameters
    ----------
    streets : StreetLayer
    transportation : Transportation
    snapping : Snapping
    field : Field
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
    per_metre = _per_metre(field, snapping)
    readers, box = field.cell_readers(streets, transportation, limit=limit, per_metre=per_metre, buffer_m=buffer_m)
    reach_m = min(buffer_m, float(snapping.threshold))
    if per_metre:
        reach_m = min(reach_m, limit / per_metre)
    # Two cells more, so that the contour closes inside of the window.
    margin = reach_m + 2.0 * cell_m
    shrink = float(streets.frame.shrink(np.array([box[1], box[3]])).min())
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
    tiles = [tile_cache(streets, reader.transportation, snapping, cell_m, most_m).get(places) for reader in readers]

    def fill(place: tuple[int, int]) -> None:
        top, left = place[0] * TILE - first_row, place[1] * TILE - first_column
        inside_rows = slice(max(0, -top), min(TILE, n_rows - top))
        inside_columns = slice(max(0, -left), min(TILE, n_columns - left))
        target = values[
            top + inside_rows.start : top + inside_rows.stop, left + inside_columns.start : left + inside_columns.stop
        ]
        for reader, found in zip(readers, tiles, strict=True):
            reader.read(found[place].part(inside_rows, inside_columns), target)

    side_by_side([functools.partial(fill, place) for place in places])
    return Surface(
        frame=streets.frame,
        x0=(first_column + 0.5) * cell_m,
        y0=(first_row + 0.5) * cell_m,
        cell_m=cell_m,
        values=values,
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
) -> Iterator[tuple[tuple[int, int], Float32Array]]:
    """
    Yield the values of a field tile by tile, for those who do not need the surface as one array.

    Parameters
    ----------
    streets : StreetLayer
    transportation : Transportation
    snapping : Snapping
    field : Field
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
    per_metre = _per_metre(field, snapping)
    readers, box = field.cell_readers(streets, transportation, limit=limit, per_metre=per_metre, buffer_m=np.inf)
    margin = float(snapping.threshold)
    if per_metre:
        margin = min(margin, limit / per_metre)
    shrink = float(streets.frame.shrink(np.array([box[1], box[3]])).min())
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
    caches = [tile_cache(streets, reader.transportation, snapping, cell_m) for reader in readers]
    values = np.empty((TILE, TILE), np.float32)
    for first in range(0, len(keys), _TILES_AT_ONCE):
        some = keys[first : first + _TILES_AT_ONCE]
        tiles = [cache.get(some) for cache in caches]
        for key in some:
            for reader, found in zip(readers, tiles, strict=True):
                reader.read(found[key], values)
            yield key, values


def _per_metre(field: Field, snapping: Snapping) -> float:
    """Return what a metre between a point and its street costs, in seconds or metres."""
    if snapping.penalty == "disabled":
        return 0.0
    return 1.0 if field.is_length else 3.6 / costs.CONNECTOR_KPH


def origin_radius(field: Field, snapping: Snapping, cell_m: float, limit: float) -> float:
    """
    Return the radius in metres of the disc around an origin that its shape must hold.

    An origin can lie between cells that are not reached. The disc is half a cell, less where so little of the limit
    is left after the walk to the street and back that one cannot get as far, and never less than a metre.

    Parameters
    ----------
    field : Field
    snapping : Snapping
    cell_m : float
    limit : float
        Seconds, or metres in a field of distances.

    Returns
    -------
    float
        0 where even the origin's own street is out of reach.
    """
    walk = field.start()
    if walk > limit:
        return 0.0
    if snapping.penalty == "disabled":
        return cell_m / 2.0
    left_m = (limit - 2.0 * walk) * (1.0 if field.is_length else costs.CONNECTOR_KPH / 3.6)
    return float(np.clip(left_m / 2.0, 1.0, cell_m / 2.0))
