"""
Unions, intersections and differences of isochrones and of tables of cells.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Sequence
from functools import reduce
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely
from shapely import MultiPolygon

from traveltime_lab._arrays import AnyArray
from traveltime_lab._checks import is_hashable, items
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import CrsError, InputError
from traveltime_lab.search.cell_times import CELL_PROPERTIES, CellTimes, combined_times, outlines
from traveltime_lab.surfaces import grids
from traveltime_lab.surfaces.grids import Grid
from traveltime_lab.surfaces.polygons import as_multipolygon


@explained_keywords
def union(
    shapes: gpd.GeoDataFrame | gpd.GeoSeries, *others: gpd.GeoDataFrame | gpd.GeoSeries, search_id: Hashable = None
) -> gpd.GeoDataFrame:
    """
    Return the union of all polygons.

    Parameters
    ----------
    shapes, *others : GeoDataFrame or GeoSeries
        Polygons in one or more tables, each in any CRS. Missing geometries are treated as empty.
    search_id : hashable, optional
        Value of a column ``search_id`` in the result; by default there is no such column.

    Returns
    -------
    GeoDataFrame of shape (1, 1) or (1, 2)
        A valid MultiPolygon in EPSG:4326 with counter-clockwise exterior rings; empty if all polygons are empty.

    Raises
    ------
    CrsError
        If a table has no CRS.

    See Also
    --------
    intersection, difference : Other set operations.
    union_cells : The union of tables of cells.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> areas = tl.time_map(
    ...     network,
    ...     places.iloc[:2],
    ...     travel_time=900,
    ...     transportation="walking",
    ... )
    >>> either = tl.union(areas)
    >>> bool(
    ...     either.to_crs(network.crs).area.iloc[0]
    ...     < areas.to_crs(network.crs).area.sum()
    ... )
    True
    """
    return _one_row(shapely.union_all(_all_members(shapes, *others)), search_id)


@explained_keywords
def intersection(
    shapes: gpd.GeoDataFrame | gpd.GeoSeries, *others: gpd.GeoDataFrame | gpd.GeoSeries, search_id: Hashable = None
) -> gpd.GeoDataFrame:
    """
    Return the intersection of all polygons.

    Parameters
    ----------
    shapes, *others : GeoDataFrame or GeoSeries
        At least one polygon in one or more tables, each in any CRS. Missing geometries are treated as empty.
    search_id : hashable, optional
        Value of a column ``search_id`` in the result; by default there is no such column.

    Returns
    -------
    GeoDataFrame of shape (1, 1) or (1, 2)
        A valid MultiPolygon in EPSG:4326 with counter-clockwise exterior rings; empty if the polygons do not overlap.

    Raises
    ------
    CrsError
        If a table has no CRS.
    InputError
        If there are no polygons.

    See Also
    --------
    union, difference : Other set operations.
    intersection_cells : The intersection of tables of cells.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> areas = tl.time_map(
    ...     network,
    ...     places.iloc[:2],
    ...     travel_time=900,
    ...     transportation="walking",
    ... )
    >>> both = tl.intersection(areas)
    >>> bool(
    ...     both.to_crs(network.crs).area.iloc[0]
    ...     < areas.to_crs(network.crs).area.min()
    ... )
    True
    """
    members = _all_members(shapes, *others)
    if len(members) == 0:
        raise InputError("An intersection needs at least one polygon; got an empty table")
    return _one_row(reduce(lambda a, b: as_multipolygon(shapely.intersection(a, b)), members), search_id)


@explained_keywords
def difference(
    minuend: gpd.GeoDataFrame | gpd.GeoSeries,
    subtrahend: gpd.GeoDataFrame | gpd.GeoSeries,
    *,
    search_id: Hashable = None,
) -> gpd.GeoDataFrame:
    """
    Return the union of the polygons of `minuend` without the union of those of `subtrahend`.

    Parameters
    ----------
    minuend, subtrahend : GeoDataFrame or GeoSeries
        Polygons, each table in any CRS. Missing geometries are treated as empty.
    search_id : hashable, optional
        Value of a column ``search_id`` in the result; by default there is no such column.

    Returns
    -------
    GeoDataFrame of shape (1, 1) or (1, 2)
        A valid MultiPolygon in EPSG:4326 with counter-clockwise exterior rings; empty if nothing is left.

    Raises
    ------
    CrsError
        If a table has no CRS.

    See Also
    --------
    union, intersection : Other set operations.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> areas = tl.time_map(
    ...     network,
    ...     places.iloc[:2],
    ...     travel_time=900,
    ...     transportation="walking",
    ... )
    >>> only_first = tl.difference(areas.iloc[:1], areas.iloc[1:])
    >>> bool(
    ...     only_first.to_crs(network.crs).area.iloc[0]
    ...     < areas.to_crs(network.crs).area.iloc[0]
    ... )
    True
    """
    whole = shapely.union_all(_members(minuend, "minuend"))
    return _one_row(shapely.difference(whole, shapely.union_all(_members(subtrahend, "subtrahend"))), search_id)


def _all_members(*tables: gpd.GeoDataFrame | gpd.GeoSeries) -> AnyArray:
    """Return the polygons of several tables in EPSG:4326."""
    return np.concatenate([_members(table, "shapes") for table in tables])


def _members(shapes: gpd.GeoDataFrame | gpd.GeoSeries, name: str) -> list[MultiPolygon]:
    if not isinstance(shapes, gpd.GeoDataFrame | gpd.GeoSeries):
        raise InputError(f"{name} must be a GeoDataFrame or GeoSeries; got {type(shapes).__name__}")
    try:
        geometry = shapes.geometry
    except AttributeError as error:
        raise InputError(f"{name} has no active geometry; name the column with {name}.set_geometry(...)") from error
    if geometry.crs is None:
        raise CrsError(f"{name} has no CRS; set it first, for example with {name}.set_crs('EPSG:4326')")
    return [as_multipolygon(member) for member in geometry.to_crs(4326)]


def _one_row(geometry: Any, search_id: Hashable) -> gpd.GeoDataFrame:
    columns = {}
    if search_id is not None:
        if not is_hashable(search_id):
            raise InputError(f"search_id must be a name or a number; got {type(search_id).__name__} {search_id!r}")
        # Any label is kept unchanged; names and numbers get the column type that pandas gives them.
        label = np.empty(1, dtype=object)
        label[0] = search_id
        columns["search_id"] = pd.Series(label, dtype=object)
        if isinstance(search_id, str | int | float):
            with contextlib.suppress(UnicodeEncodeError, OverflowError):
                columns["search_id"] = pd.Series([search_id])
    return gpd.GeoDataFrame(columns, geometry=[as_multipolygon(geometry)], crs=4326)


# Combinations --------------------------------------------------------------------------------------------------------


@explained_keywords
def union_cells(members: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """
    Return the union of the cells of several searches.

    Parameters
    ----------
    members : sequence of DataFrame or GeoDataFrame
        The cells of *one* search each: the rows of one origin from `h3_cells` or `geohash_cells`, or the result of a
        combination. All members must have the same type of cell and resolution.

    Returns
    -------
    DataFrame or GeoDataFrame
        One row per cell, sorted by name: ``cell``, and those of ``min``, ``max`` and ``mean`` that all members have:
        the smallest ``min``, the largest ``max``, and the mean of the ``mean`` of the members with the cell (int32, s,
        rounded half up). Includes the polygons if all members do. ``share_reachable`` is left out: it does not follow
        from those of the members.

    Raises
    ------
    InputError
        If there are no members, or a member is not a table of cells, has several origins, or has a different type of
        cell or resolution.

    See Also
    --------
    intersection_cells : The cells that all searches have in common.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> cells = tl.h3_cells(
    ...     network,
    ...     places.iloc[:2],
    ...     travel_time=600,
    ...     resolution=8,
    ...     transportation="walking",
    ... )
    >>> members = [
    ...     cells[cells["origin"] == origin] for origin in places.index[:2]
    ... ]
    >>> len(tl.union_cells(members))
    10
    """
    return _combined(members, "union_cells", at_least=1)


@explained_keywords
def intersection_cells(members: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """
    Return the intersection of the cells of several searches.

    Parameters
    ----------
    members : sequence of DataFrame or GeoDataFrame
        As in `union_cells`. If a member has no rows, neither has the result.

    Returns
    -------
    DataFrame or GeoDataFrame
        As returned by `union_cells`, with the cells that all members have.

    Raises
    ------
    InputError
        As in `union_cells`.

    See Also
    --------
    union_cells : The cells that any search has.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> cells = tl.h3_cells(
    ...     network,
    ...     places.iloc[:2],
    ...     travel_time=600,
    ...     resolution=8,
    ...     transportation="walking",
    ... )
    >>> members = [
    ...     cells[cells["origin"] == origin] for origin in places.index[:2]
    ... ]
    >>> tl.intersection_cells(members)["cell"].tolist()
    ['88a9012885fffff', '88a90128a9fffff', '88a90128abfffff']
    """
    return _combined(members, "intersection_cells")


def _combined(members: Any, name: str, *, at_least: int | None = None) -> pd.DataFrame:
    """Return the cells that at least `at_least` members have, by default all of them."""
    if isinstance(members, pd.DataFrame):
        # A table cannot be split by origin here: an origin without reachable cells has no rows.
        msg = (
            f"{name} requires a list with one table per search; got a single table. Split it by origin: "
            f"{name}([cells[cells['origin'] == origin] for origin in origins.index])"
        )
        raise InputError(msg)
    members = items(members, "members", "tables of cells")
    if not members:
        msg = f"{name} needs at least one table of cells; got none"
        raise InputError(msg)
    kinds = set()
    for n, member in enumerate(members):
        if not isinstance(member, pd.DataFrame) or "cell" not in member.columns:
            msg = f"members[{n}] of {name} must be a result of h3_cells or geohash_cells; got {type(member).__name__}"
            raise InputError(msg)
        if not member["cell"].is_unique:
            msg = f"members[{n}] of {name} has cells of several origins; pass the rows of each origin as one member"
            raise InputError(msg)
        if len(member):
            kinds.add(_kind(member["cell"].iloc[0]))
    if len(kinds) > 1:
        said = " and ".join(f"{grid} of resolution {resolution}" for grid, resolution in sorted(kinds))
        msg = f"the members of {name} must have the same type of cell and resolution; got {said}"
        raise InputError(msg)
    statistics = [column for column in CELL_PROPERTIES if all(column in member.columns for member in members)]
    outlined = all(isinstance(member, gpd.GeoDataFrame) for member in members)
    tables = []
    for member in members:
        no_times = np.zeros(len(member), np.int32)
        low, high, mean = (
            member[column].to_numpy(np.int32) if column in statistics else no_times for column in CELL_PROPERTIES
        )
        tables.append(CellTimes(member["cell"].to_numpy(object), low, high, mean))
    found = combined_times(tables, at_least=len(members) if at_least is None else at_least)
    kept = found.cell
    result: dict[str, Any] = {"cell": pd.Series(kept, dtype=object)}
    result |= {name: getattr(found, name) for name in statistics}
    if not outlined:
        return pd.DataFrame(result)
    grid: Grid = next(iter(kinds))[0] if kinds else "h3"
    return gpd.GeoDataFrame(result, geometry=outlines(grid, np.asarray(kept, dtype=object)), crs="EPSG:4326")


def _kind(cell: Any) -> tuple[Grid, int]:
    """Return the type and resolution of a cell; geohashes have at most 12 letters and H3 indexes 15 digits."""
    if isinstance(cell, str) and len(cell) > 12:
        return "h3", int(grids.h3_indexes([cell])[0]) >> 52 & 15
    return "geohash", grids.geohash_places(cell)[2]
