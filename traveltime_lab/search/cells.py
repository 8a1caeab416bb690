"""
Travel times by cell: H3 hexagons and geohashes with the minimum, maximum and mean travel time in each.

The statistics are computed from *samples* of the travel-time surface of `time_map`: the centres of a fixed square grid,
each with the travel time that `time_filter` returns for that point. A sample belongs to the cell that contains it, and
is used if its travel time is within the limit. A cell is therefore in the result if it contains a reachable sample, its
statistics are those of its reachable part, and a longer travel time never removes a cell. ``share_reachable`` says how
large this part is. The origin itself is an additional sample with a travel time of zero.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final

import geopandas as gpd
import numpy as np
import pandas as pd

from traveltime_lab._arrays import FloatArray
from traveltime_lab._checks import flag, is_several, items, one_of, travel_times_s
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError
from traveltime_lab.limits import MAX_TRAVEL_TIME_S
from traveltime_lab.modes.costs import Costs
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.points import PointsLike, read_points
from traveltime_lab.question import MomentsLike
from traveltime_lab.runtime.progress import Progress, check_progress, watched
from traveltime_lab.search import trip_costs
from traveltime_lab.search.cell_times import CELL_PROPERTIES, SHARE, cell_times, outlines
from traveltime_lab.search.each_moment import at_each_moment
from traveltime_lab.search.query import Query, ask
from traveltime_lab.search.receipts.record import with_receipt
from traveltime_lab.surfaces import grids
from traveltime_lab.surfaces.grids import Grid

#: Possible columns of a table of cells.
_COLUMNS: Final = (*CELL_PROPERTIES, SHARE)


@explained_keywords
@with_receipt
@at_each_moment()
def h3_cells(
    network: Network,
    origins: PointsLike,
    *,
    travel_time: int | dt.timedelta | Sequence[int | dt.timedelta],
    resolution: int,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentsLike = None,
    arrival_time: MomentsLike = None,
    properties: Sequence[str] = _COLUMNS,
    remove_water_bodies: bool = True,
    snapping: Snapping | Mapping[str, Any] | None = None,
    geometry: bool = True,
    window: int | None = None,
    max_emissions: float | None = None,
    max_cost: float | None = None,
    costs: Costs | Mapping[str, Any] | None = None,
    progress: Progress = False,
) -> gpd.GeoDataFrame | pd.DataFrame:
    """
    Return the reachable H3 cells of each origin, with the travel times in them.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with a unique index. With `arrival_time`, they are destinations.
    travel_time : int, timedelta or list of these
        Maximum travel time in seconds, 1 to 14400. A list, such as ``[600, 1200, 1800]``, returns the cells of several
        travel times from one search.
    resolution : int
        H3 resolution, 1 (largest cells) to 12 (smallest, about 18 m wide).
    transportation : str, Transportation or mapping, default "driving"
        Means of transportation; see `Transportation`.
    departure_time, arrival_time : datetime, str or list of these, optional
        As in `time_filter`. With several moments, the first column is ``moment``.
    properties : sequence of str, default ("min", "max", "mean", "share_reachable")
        Columns to return; may be empty.
    remove_water_bodies : bool, default True
        Whether to ignore samples in the sea, lakes and wide rivers.
    snapping : Snapping or mapping, optional
        Options for snapping points to streets.
    geometry : bool, default True
        Whether to return the polygons of the cells, which takes most of the time.
    window : int, optional
        As in `time_map`. Travel times are the shortest in the window.
    max_emissions, max_cost : float, optional
        Grams of CO2e, and money, that a trip has at most: a sample is in reach only if its fastest trip keeps these
        limits, too, and both are known. A cost on streets without tolls and ferries only.
    costs : Costs or mapping, optional
        Emissions and money of a kilometre, for `max_emissions` and `max_cost`.
    progress : bool or callable, default False
        Whether to show a progress bar, or a function that is called as ``progress(done, total)`` with numbers of
        origins.

    Returns
    -------
    GeoDataFrame or DataFrame
        One row per origin and cell, sorted by origin and cell: ``origin`` (label), ``cell`` (15 hexadecimal digits);
        ``min``, ``max`` and ``mean`` of the reachable part of the cell (int32, s; ``min <= mean <= max <=
        travel_time``); ``share_reachable``, the share of the cell that is reachable (float64, above 0 and up to 1);
        and, if requested, the polygon in EPSG:4326. Origins that are not snapped have no rows; `snap` returns the
        reason. With a list of travel times, there is one row per origin, travel time and cell, and the second column is
        ``travel_time`` (int32, s).

    Raises
    ------
    InputError
        If a table is empty, has duplicate labels, or an argument is unknown.
    CrsError
        If the table has no CRS.
    CoordinateError
        If coordinates are missing, out of range or swapped.
    LimitError
        If `travel_time` or `resolution` is out of range, or the reachable area has more than 50 million samples.
    ModeError
        If the transportation is unknown.
    MomentError
        If a time does not exist or is ambiguous, or the timetable does not cover it.

    Warns
    -----
    UserWarning
        If `travel_time` is a number below 60: the unit is seconds.

    See Also
    --------
    geohash_cells : Reachable geohashes.
    union_cells, intersection_cells : Combine the cells of several searches.
    time_map : Isochrones.

    Notes
    -----
    The statistics are those of the samples of the travel-time surface that lie in the cell and are within the limit. A
    cell of average size has at least 12 samples. Travel times between samples can differ by the walk to the next
    sample, or by more where a street begins, ends or is one-way.

    Where ``share_reachable`` is less than 1, `time_filter` may find the centroid of the cell (see `h3_centroids`) out
    of reach, or beyond ``max`` with a higher limit. With `remove_water_bodies`, it is the share of the samples on land.
    In cells with more than 500 samples from side to side, it is estimated from every second, third, ... sample.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> cells = tl.h3_cells(
    ...     network,
    ...     places.iloc[[0]],
    ...     travel_time=600,
    ...     resolution=8,
    ...     transportation="walking",
    ... )
    >>> cells[["cell", "min", "max", "share_reachable"]].round(2)
                  cell  min  max  share_reachable
    0  88a9012881fffff  306  598             0.26
    1  88a9012885fffff    0  600             1.00
    2  88a9012887fffff  427  591             0.14
    3  88a901288dfffff  319  597             0.28
    4  88a90128a9fffff  458  600             0.11
    5  88a90128abfffff  466  600             0.09
    6  88a90128e3fffff  438  600             0.12
    """
    limits = travel_times_s(travel_time, MAX_TRAVEL_TIME_S)
    most = trip_costs.limits_of(max_emissions, max_cost)
    query = ask(
        network, transportation, departure_time, arrival_time, snapping, limit=max(limits), window=window,
        costs=trip_costs.requested_costs(costs, most),
    )  # fmt: skip
    query = trip_costs.within(query, most)
    return _cells(
        query, origins, "h3", resolution, limits, properties, remove_water_bodies,
        with_geometry=geometry, names_limits=is_several(travel_time), progress=progress,
    )  # fmt: skip


@explained_keywords
@with_receipt
@at_each_moment()
def geohash_cells(
    network: Network,
    origins: PointsLike,
    *,
    travel_time: int | dt.timedelta | Sequence[int | dt.timedelta],
    resolution: int,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentsLike = None,
    arrival_time: MomentsLike = None,
    properties: Sequence[str] = _COLUMNS,
    remove_water_bodies: bool = True,
    snapping: Snapping | Mapping[str, Any] | None = None,
    geometry: bool = True,
    window: int | None = None,
    max_emissions: float | None = None,
    max_cost: float | None = None,
    costs: Costs | Mapping[str, Any] | None = None,
    progress: Progress = False,
) -> gpd.GeoDataFrame | pd.DataFrame:
    """
    Return the reachable geohashes of each origin, with the travel times in them.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with a unique index.
    travel_time : int, timedelta or list of these
        Maximum travel time in seconds, 1 to 14400. A list returns the cells of several travel times from one search.
    resolution : int
        Length of the geohashes, 1 (largest cells) to 9 (smallest, about 5 m).
    transportation, departure_time, arrival_time, properties, remove_water_bodies, snapping, geometry, window, \
max_emissions, max_cost, costs, progress
        As in `h3_cells`.

    Returns
    -------
    GeoDataFrame or DataFrame
        As returned by `h3_cells`, with geohashes in the column ``cell``.

    Raises
    ------
    InputError, CrsError, CoordinateError, LimitError, ModeError, MomentError
        As in `h3_cells`.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> cells = tl.geohash_cells(
    ...     network,
    ...     places.iloc[[0]],
    ...     travel_time=600,
    ...     resolution=6,
    ...     transportation="walking",
    ...     geometry=False,
    ... )
    >>> cells["cell"].tolist()
    ['6fet4h', '6fet4j', '6fet4k', '6fet4m', '6fet4n', '6fet4q']
    """
    limits = travel_times_s(travel_time, MAX_TRAVEL_TIME_S)
    most = trip_costs.limits_of(max_emissions, max_cost)
    query = ask(
        network, transportation, departure_time, arrival_time, snapping, limit=max(limits), window=window,
        costs=trip_costs.requested_costs(costs, most),
    )  # fmt: skip
    query = trip_costs.within(query, most)
    return _cells(
        query, origins, "geohash", resolution, limits, properties, remove_water_bodies,
        with_geometry=geometry, names_limits=is_several(travel_time), progress=progress,
    )  # fmt: skip


@explained_keywords
def h3_centroids(cells: Sequence[str] | pd.DataFrame) -> gpd.GeoSeries:
    """
    Return the centroids of H3 cells, for use as origins or destinations.

    Parameters
    ----------
    cells : sequence of str or DataFrame
        H3 indexes as hexadecimal digits, or a table that has them in a column or an index named ``cell``, such as that
        of `counts_to_h3` or `h3_cells`.

    Returns
    -------
    GeoSeries
        Points in EPSG:4326, indexed by cell.

    Raises
    ------
    InputError
        If a name is not an H3 index, or a table has no cells.

    Examples
    --------
    >>> point = tl.h3_centroids(["88a9012885fffff"]).iloc[0]
    >>> round(point.x, 3), round(point.y, 3)
    (-51.227, -30.027)
    """
    return _centroids(cells, "h3")


@explained_keywords
def geohash_centroids(cells: Sequence[str] | pd.DataFrame) -> gpd.GeoSeries:
    """
    Return the centroids of geohashes, for use as origins or destinations.

    Parameters
    ----------
    cells : sequence of str or DataFrame
        Geohashes of up to 12 letters, or a table that has them in a column or an index named ``cell``, such as that of
        `geohash_cells`.

    Returns
    -------
    GeoSeries
        Points in EPSG:4326, indexed by cell.

    Raises
    ------
    InputError
        If a name is not a geohash, or a table has no cells.

    Examples
    --------
    >>> point = tl.geohash_centroids(["6fet4j"]).iloc[0]
    >>> round(point.x, 3), round(point.y, 3)
    (-51.235, -30.028)
    """
    return _centroids(cells, "geohash")


def _centroids(cells: Any, grid: Grid) -> gpd.GeoSeries:
    """Return the centroids of cells that are given by name, or as a table with one row for each."""
    if isinstance(cells, pd.DataFrame):
        if "cell" not in cells.columns and cells.index.name != "cell":
            columns = ", ".join(map(repr, cells.columns)) or "none"
            raise InputError(f"cells must have a column or an index named 'cell'; its columns are {columns}")
        cells = cells["cell"] if "cell" in cells.columns else cells.index
    names = list(items(cells, "cells", "names of cells"))
    lng, lat = cell_centres(grid, names)
    return gpd.GeoSeries.from_xy(lng, lat, index=pd.Index(names, name="cell"), crs="EPSG:4326")


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
    limits: Sequence[int],
    properties: Any,
    remove_water_bodies: Any,
    *,
    with_geometry: bool,
    names_limits: bool,
    progress: Progress,
) -> gpd.GeoDataFrame | pd.DataFrame:
    """Return the table of cells of all origins."""
    resolution = grids.check_resolution(grid, resolution)
    check_progress(progress)
    requested = _checked_properties(properties)
    no_water, with_geometry = flag(remove_water_bodies, "remove_water_bodies"), flag(with_geometry, "geometry")
    places = read_points(origins, "origins", query.network.bounds)
    snaps = query.snap(places, is_origin=not query.is_arrival)
    with watched(progress, len(places), "Cells", "origin"):
        found = cell_times(query, snaps, grid, resolution, limits, no_water=no_water, with_share=SHARE in requested)
    tables = [times for of_origin in found for times in of_origin]
    names = np.concatenate([times.cell for times in tables])
    sizes = np.array([times.cell.size for times in tables])
    row, limit_of = np.divmod(np.repeat(np.arange(len(tables)), sizes), len(limits))
    columns: dict[str, Any] = {"origin": places.index.take(row)}
    if names_limits:
        columns["travel_time"] = np.array(limits, np.int32)[limit_of]
    columns["cell"] = pd.Series(names, dtype=object)
    columns |= {name: np.concatenate([getattr(times, name) for times in tables]) for name in requested}
    if not with_geometry:
        return pd.DataFrame(columns)
    return gpd.GeoDataFrame(columns, geometry=outlines(grid, names), crs="EPSG:4326")


def _checked_properties(properties: Any) -> tuple[str, ...]:
    """Validate the statistics and return them in the order of `_COLUMNS`."""
    given = (properties,) if isinstance(properties, str) else items(properties, "properties", "names")
    for name in given:
        one_of(name, "properties", _COLUMNS)
    return tuple(name for name in _COLUMNS if name in given)
