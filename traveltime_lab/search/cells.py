"""
Travel times by cell: H3 hexagons and geohash rectangles with the shortest, longest and mean travel time in each.

The statistics are over *samples*: the places at which `time_map` samples its travel-time surface, the centres of a
fixed lattice of squares, each with the value that `time_filter` gives for that point. A sample belongs to the cell
that its coordinates are in, and counts if its value is within the limit. So a cell is in the answer if a sample in it
is in reach, the statistics are those of its reachable part, and more time never loses a cell. The origin itself is one
more sample, of no travel time.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd

from traveltime_lab._arrays import FloatArray
from traveltime_lab._checks import whole
from traveltime_lab.errors import InputError
from traveltime_lab.limits import MAX_TRAVEL_TIME_S
from traveltime_lab.modes import Snapping, Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.points import PointsLike, read_points
from traveltime_lab.search.cell_times import CELL_PROPERTIES, cell_times, outlines
from traveltime_lab.search.query import MomentLike, Query, ask
from traveltime_lab.surfaces import grids
from traveltime_lab.surfaces.grids import Grid


def h3_cells(
    network: Network,
    origins: PointsLike,
    *,
    travel_time: int | dt.timedelta,
    resolution: int,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentLike = None,
    arrival_time: MomentLike = None,
    properties: Sequence[str] = CELL_PROPERTIES,
    remove_water_bodies: bool = True,
    snapping: Snapping | Mapping[str, Any] | None = None,
    geometry: bool = True,
    window: int | None = None,
) -> gpd.GeoDataFrame | pd.DataFrame:
    """
    Return the H3 hexagons within reach of each origin, with the travel times in them.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with a unique index. With `arrival_time` they are where trips end.
    travel_time : int or timedelta
        Limit in seconds, 1 to 14400.
    resolution : int
        Of the hexagons, 1 (largest) to 12 (smallest, about 18 m wide).
    transportation : str, Transportation or mapping, default "driving"
        How to travel; see `Transportation`.
    departure_time, arrival_time : datetime, str, optional
        As in `time_filter`.
    properties : sequence of str, default ("min", "max", "mean")
        Which travel times to return; none for the cells alone.
    remove_water_bodies : bool, default True
        Whether places in the sea, in lakes and in wide rivers do not count.
    snapping : Snapping or mapping, optional
        Threshold, penalty and accepted roads of the snap to the streets.
    geometry : bool, default True
        Whether to return the outlines, which takes longer than all the rest.
    window : int, optional
        As in `time_map`: the cells and times are those of all trips of the window.

    Returns
    -------
    GeoDataFrame or DataFrame
        One row per origin and cell, by origin and then by cell: ``origin`` (label), ``cell`` (15 hexadecimal digits),
        ``min``, ``max`` and ``mean`` (int32, s; whole seconds, ``min <= mean <= max <= travel_time``) and, if asked
        for, the outline in EPSG:4326. An origin without a street has no rows; `snap` says why.

    Raises
    ------
    InputError
        If a table is empty, has duplicate labels, or an argument is unknown.
    CrsError
        If the table has no CRS.
    CoordinateError
        If coordinates are missing, out of range or swapped.
    LimitError
        If `travel_time` or `resolution` is out of range, or the area in reach has more than 50 million samples.
    ModeError
        If the transportation is unknown.
    MomentError
        If a moment does not exist or is ambiguous.

    See Also
    --------
    geohash_cells : The same for geohashes.
    union_cells, intersection_cells : Combine searches.
    time_map : The area as a polygon.

    Notes
    -----
    The travel times are those at samples of the travel-time surface that lie in the cell and within the limit, at
    least 12 in a hexagon of average size. A place between samples can be nearer or farther by the walk to the next
    one, or by more where a street begins, ends or is one-way.

    Examples
    --------
    >>> cells = h3_cells(network, homes, travel_time=1800, resolution=9)  # doctest: +SKIP
    """
    limit = whole(travel_time, "travel_time", 1, MAX_TRAVEL_TIME_S, "seconds")
    query = ask(network, transportation, departure_time, arrival_time, snapping, limit=limit, window=window)
    return _cells(query, origins, "h3", resolution, limit, properties, remove_water_bodies, with_geometry=geometry)


def geohash_cells(
    network: Network,
    origins: PointsLike,
    *,
    travel_time: int | dt.timedelta,
    resolution: int,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentLike = None,
    arrival_time: MomentLike = None,
    properties: Sequence[str] = CELL_PROPERTIES,
    remove_water_bodies: bool = True,
    snapping: Snapping | Mapping[str, Any] | None = None,
    geometry: bool = True,
    window: int | None = None,
) -> gpd.GeoDataFrame | pd.DataFrame:
    """
    Return the geohash rectangles within reach of each origin, with the travel times in them.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with a unique index.
    travel_time : int or timedelta
        Limit in seconds, 1 to 14400.
    resolution : int
        Length of the geohashes, 1 (largest) to 9 (smallest, about 5 m).
    transportation, departure_time, arrival_time, properties, remove_water_bodies, snapping, geometry, window
        As in `h3_cells`.

    Returns
    -------
    GeoDataFrame or DataFrame
        As from `h3_cells`, with geohashes as ``cell``.

    Raises
    ------
    InputError, CrsError, CoordinateError, LimitError, ModeError, MomentError
        As in `h3_cells`.
    """
    limit = whole(travel_time, "travel_time", 1, MAX_TRAVEL_TIME_S, "seconds")
    query = ask(network, transportation, departure_time, arrival_time, snapping, limit=limit, window=window)
    return _cells(query, origins, "geohash", resolution, limit, properties, remove_water_bodies, with_geometry=geometry)


def h3_centroids(cells: Sequence[str]) -> gpd.GeoSeries:
    """
    Return the centres of H3 cells as points to search from.

    Parameters
    ----------
    cells : sequence of str
        Names of cells.

    Returns
    -------
    GeoSeries
        Points in EPSG:4326, indexed by cell.

    Raises
    ------
    InputError
        If a name is not that of a cell.
    """
    lng, lat = cell_centres("h3", cells)
    return gpd.GeoSeries.from_xy(lng, lat, index=pd.Index(list(cells), name="cell"), crs="EPSG:4326")


def geohash_centroids(cells: Sequence[str]) -> gpd.GeoSeries:
    """
    Return the centres of geohashes of up to 12 letters as points to search from.

    Parameters
    ----------
    cells : sequence of str
        Names of cells.

    Returns
    -------
    GeoSeries
        Points in EPSG:4326, indexed by cell.

    Raises
    ------
    InputError
        If a name is not a geohash.
    """
    lng, lat = cell_centres("geohash", cells)
    return gpd.GeoSeries.from_xy(lng, lat, index=pd.Index(list(cells), name="cell"), crs="EPSG:4326")


def cell_centres(grid: Grid, cells: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """
    Return longitudes and latitudes of the centres of cells.

    Raises
    ------
    InputError
        If a name is not that of a cell.
    """
    if grid == "h3":
        lng, lat = grids.h3_centres(grids.h3_indexes(list(cells)))
        return lng, lat
    lng, lat = np.array([grids.geohash_centre(cell) for cell in cells], np.float64).reshape(-1, 2).T
    return lng, lat


def _cells(
    query: Query,
    origins: Any,
    grid: Grid,
    resolution: Any,
    limit: int,
    properties: Any,
    remove_water_bodies: Any,
    *,
    with_geometry: bool,
) -> gpd.GeoDataFrame | pd.DataFrame:
    """Return the table of cells of all origins."""
    resolution = grids.check_resolution(grid, resolution)
    wanted = _checked_properties(properties)
    for name, value in (("remove_water_bodies", remove_water_bodies), ("geometry", with_geometry)):
        if not isinstance(value, bool | np.bool_):
            msg = f"{name} must be True or False; got {value!r}"
            raise InputError(msg)
    places = read_points(origins, "origins", query.network.bounds)
    snaps = query.snap(places, is_origin=not query.is_arrival)
    found = cell_times(query, snaps, grid, resolution, limit, no_water=bool(remove_water_bodies))
    names = np.concatenate([times.cell for times in found])
    columns: dict[str, Any] = {
        "origin": places.index.take(np.repeat(np.arange(len(places)), [times.cell.size for times in found])),
        "cell": pd.Series(names, dtype=object),
    }
    columns |= {name: np.concatenate([getattr(times, name) for times in found]) for name in wanted}
    if not with_geometry:
        return pd.DataFrame(columns)
    return gpd.GeoDataFrame(columns, geometry=outlines(grid, names), crs="EPSG:4326")


def _checked_properties(properties: Any) -> tuple[str, ...]:
    """Return the wanted statistics in their usual order."""
    given = (properties,) if isinstance(properties, str) else tuple(properties)
    for name in given:
        if name not in CELL_PROPERTIES:
            msg = f"properties must be of {', '.join(map(repr, CELL_PROPERTIES))}; got {name!r}"
            raise InputError(msg)
    return tuple(name for name in CELL_PROPERTIES if name in given)
