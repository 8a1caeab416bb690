"""
Streets that stand on ground, and areas of water that are land, because streets stand in them.

A coastline that is incomplete or has the wrong direction turns land into sea. Streets reveal that: on land they fill an
area, whereas in water they are bridges, piers, causeways and ferries, few and in lines. Therefore an area of water is
compared with the land near it, by the number of small cells that have streets on the ground. Cells count once, however
many piers of a marina are in them, and what is far away does not count at all: neither a city in the same file nor the
open sea says anything about a shore.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import shapely

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, IndexArray, Int64Array, ObjectArray, unique_values
from traveltime_lab.streets.components import weak
from traveltime_lab.streets.tables import StreetTables

#: Side of a cell. About the distance between junctions in a town (assumed).
CELL_M = 100.0
#: Distance from water within which land is compared with it, and around streets within which areas are (assumed; piers
#: are shorter).
NEAR_M = 500.0
#: Maximum share of cells with streets in water relative to that on the land near it (assumed).
MAX_DENSITY = 0.5
#: Least distance between groups of streets that say nothing about each other's shores (assumed).
APART_M = 10_000.0
#: Cells with streets in water that say something even if the land has more of them (assumed).
MIN_CELLS = 5

_ROWS = np.int64(1 << 32)


def nodes_on_ground(tables: StreetTables) -> Int64Array:
    """Return the nodes that a street on the ground has: no ferry, bridge, tunnel or pier."""
    on_ground = ~tables.uses["is_ferry"].to_numpy()[tables.edge_use]
    if tables.edge_off_ground.size:
        on_ground &= ~tables.edge_off_ground
    return ends_of(tables.edge_from, tables.edge_to, on_ground)


def ends_of(edge_from: AnyArray, edge_to: AnyArray, chosen: BoolArray) -> Int64Array:
    """Return the sorted nodes at the ends of some edges."""
    return unique_values(np.concatenate([edge_from[chosen], edge_to[chosen]])).astype(np.int64)


class Drowned(NamedTuple):
    """Streets on the ground in an area of water that show that it is land, at least around them."""

    area: int
    #: Minimum x and y, maximum x and y of the cells of these streets, m.
    bounds: tuple[float, float, float, float]
    #: Whether no streets elsewhere show that the area is water.
    is_all: bool


def drowned(
    areas: ObjectArray, is_water: BoolArray, x: FloatArray, y: FloatArray, extent: tuple[float, float, float, float]
) -> list[Drowned]:
    """
    Find areas of water that have about as many streets as the land near them.

    Groups of streets that are more than `APART_M` apart are judged one by one.

    Parameters
    ----------
    areas : array of shapely Polygon
        Areas with disjoint interiors, in local metres.
    is_water : bool array of shape (n_areas,)
        Whether each is water; the others, and all that is outside of them, are land.
    x, y : float64 arrays of shape (n_nodes,), m
        Nodes of streets on the ground.
    extent : tuple of float, m
        Minimum x and y, maximum x and y of the streets. There are none outside, so that nothing is compared there.

    Returns
    -------
    list of Drowned
        Water that has streets while the land within `NEAR_M` has none, and water whose share of cells with streets is
        more than `MAX_DENSITY` of that on land, both within `NEAR_M` of the streets on either side of the shore. A few
        cells, fewer than `MIN_CELLS` and not more than on land, say nothing.
    """
    # Streets that end on a shore stand on it.
    label = _of_water(areas, is_water, x, y, shapely.contains_xy)
    if not (label >= 0).any():
        return []
    column, row, owner = _cells(x, y, label)
    middle_x, middle_y = _middles(column, row)
    group = _groups(column, row)
    found = []
    for area in unique_values(owner[owner >= 0]).tolist():
        inside = owner == area
        near = (owner < 0) & _is_near(areas[area], middle_x, middle_y)
        verdicts = {}
        for number in unique_values(group[inside | near]).tolist():
            wet, dry = np.flatnonzero(inside & (group == number)), np.flatnonzero(near & (group == number))
            verdicts[number] = _is_land(areas, is_water, area, (column, row), wet, dry, extent)
        for number, is_land in verdicts.items():
            if is_land:
                here = inside & (group == number)
                low, high = (pick(np.stack([column[here], row[here]]), axis=1) for pick in (np.min, np.max))
                bounds = (*(low * CELL_M).tolist(), *((high + 1) * CELL_M).tolist())
                found.append(Drowned(area, bounds, all(verdicts.values())))
    return found


def _is_land(
    areas: ObjectArray,
    is_water: BoolArray,
    area: int,
    cells: tuple[Int64Array, Int64Array],
    wet: IndexArray,
    dry: IndexArray,
    extent: tuple[float, float, float, float],
) -> bool:
    """Return whether an area of water with streets in some cells, and near streets in dry cells, is land."""
    if wet.size <= dry.size and wet.size < MIN_CELLS:
        return False
    if not dry.size:
        return True
    chosen = np.concatenate([wet, dry])
    kind = _of_water(areas, is_water, *_around(cells[0][chosen], cells[1][chosen], extent))
    n_wet, n_dry = max(int((kind == area).sum()), wet.size), max(int((kind < 0).sum()), dry.size)
    return wet.size / n_wet > MAX_DENSITY * dry.size / n_dry


def _groups(column: Int64Array, row: Int64Array) -> Int64Array:
    """Return the number of the group of each cell, of groups that are more than `APART_M` apart."""
    scale = round(APART_M / CELL_M)
    place, block = np.unique(_key(column // scale, row // scale), return_inverse=True)
    pairs = []
    for step in (1, _ROWS - 1, _ROWS, _ROWS + 1):
        at = np.minimum(np.searchsorted(place, place + step), place.size - 1)
        there = np.flatnonzero(place[at] == place + step)
        pairs.append((there, at[there]))
    a, b = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
    return weak(a, b, place.size)[1][block].astype(np.int64)


def first_cover(
    polygons: ObjectArray, x: FloatArray, y: FloatArray, covers: Callable[..., BoolArray] = shapely.intersects_xy
) -> Int64Array:
    """Return the index of a polygon that covers each point, -1 if there is none."""
    cover = np.full(x.size, -1, np.int64)
    order = np.argsort(y, kind="stable")
    by_y = y[order]
    shapely.prepare(polygons)
    for k, (min_x, min_y, max_x, max_y) in enumerate(shapely.bounds(polygons)):
        rows = order[np.searchsorted(by_y, min_y) : np.searchsorted(by_y, max_y, side="right")]
        rows = rows[(x[rows] >= min_x) & (x[rows] <= max_x)]
        cover[rows[covers(polygons[k], x[rows], y[rows])]] = k
    return cover


def _of_water(
    areas: ObjectArray,
    is_water: BoolArray,
    x: FloatArray,
    y: FloatArray,
    covers: Callable[..., BoolArray] = shapely.intersects_xy,
) -> Int64Array:
    """Return the area of water of each point, -1 on land."""
    water = np.flatnonzero(is_water)
    cover = first_cover(areas[water], x, y, covers)
    return np.where(cover >= 0, water[cover] if water.size else -1, -1)


def _cells(x: FloatArray, y: FloatArray, label: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return columns and rows of the cells with streets, and the label that most of their nodes have; -1 if tied."""
    place, cell = np.unique(_key(np.floor(x / CELL_M), np.floor(y / CELL_M)), return_inverse=True)
    n_labels = np.int64(label.max() + 2)
    pair, count = np.unique(cell * n_labels + label + 1, return_counts=True)
    # The last pair of each cell has the highest count, and is land before water where counts are equal.
    order = np.lexsort((-(pair % n_labels), count, pair // n_labels))
    of = pair[order] // n_labels
    last = np.append(of[1:] != of[:-1], True)
    owner = pair[order][last] % n_labels - 1
    column, row = np.divmod(place, _ROWS)
    return column - _ROWS // 4, row - _ROWS // 4, owner


def _around(
    column: Int64Array, row: Int64Array, extent: tuple[float, float, float, float]
) -> tuple[FloatArray, FloatArray]:
    """Return the centres of all cells within `NEAR_M` of some cells along both axes, and within an extent."""
    reach = round(NEAR_M / CELL_M)
    key = _key(column, row)
    for step in (_ROWS, np.int64(1)):
        key = unique_values((key[:, None] + step * np.arange(-reach, reach + 1)).ravel())
    column, row = np.divmod(key, _ROWS)
    x, y = _middles(column - _ROWS // 4, row - _ROWS // 4)
    inside = (x >= extent[0]) & (y >= extent[1]) & (x <= extent[2]) & (y <= extent[3])
    return x[inside], y[inside]


def _key(column: AnyArray, row: AnyArray) -> Int64Array:
    """Return one number for each cell, whose columns and rows may be negative."""
    return (column.astype(np.int64) + _ROWS // 4) * _ROWS + row.astype(np.int64) + _ROWS // 4


def _middles(column: Int64Array, row: Int64Array) -> tuple[FloatArray, FloatArray]:
    """Return the centres of cells in metres."""
    return CELL_M * (column + np.float64(0.5)), CELL_M * (row + np.float64(0.5))


def _is_near(area: shapely.Polygon, x: FloatArray, y: FloatArray) -> BoolArray:
    """Return which points are within `NEAR_M` of an area."""
    min_x, min_y, max_x, max_y = shapely.bounds(area)
    near: BoolArray = (x >= min_x - NEAR_M) & (x <= max_x + NEAR_M) & (y >= min_y - NEAR_M) & (y <= max_y + NEAR_M)
    rows = np.flatnonzero(near)
    shapely.prepare(area)
    near[rows] = shapely.dwithin(area, shapely.points(x[rows], y[rows]), NEAR_M)
    return near
