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
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import geopandas as gpd
import numpy as np
import pandas as pd

from traveltime_lab._arrays import AnyArray, Float32Array, FloatArray, IndexArray, Int32Array, Int64Array, UInt64Array
from traveltime_lab._memo import Derived
from traveltime_lab.errors import InputError
from traveltime_lab.kernels.raster.cells import add_samples
from traveltime_lab.limits import MAX_TRAVEL_TIME_S
from traveltime_lab.modes import Snapping, Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.points import PointsLike, read_points
from traveltime_lab.search.query import MomentLike, Query, ask, whole
from traveltime_lab.streets.snapping import SNAPPED, Snaps
from traveltime_lab.surfaces import grids, raster
from traveltime_lab.surfaces.grids import Grid
from traveltime_lab.surfaces.level_of_detail import CELL_M
from traveltime_lab.surfaces.tiles import TILE

CELL_PROPERTIES: Final = ("min", "max", "mean")

#: Samples in a cell of average size where the lattice of a level of detail is used, and in cells too small for the
#: finest level. Of 12 samples at least one is in the smallest H3 hexagon, which has 0.6 of the average area.
_SAMPLES_OF_LEVEL: Final = 16
_FEWEST_SAMPLES: Final = 12
#: Largest number of tiles of 128 by 128 samples for one origin, 50 million samples.
_MOST_TILES: Final = 3_000
#: Tiles of cell numbers kept per network, grid and lattice; 64 KB each.
_KEPT_TILES: Final = 2_000


@dataclass(frozen=True)
class CellTimes:
    """
    Travel times in the cells around one origin.

    Attributes
    ----------
    cell : object array of shape (n_cells,)
        Names of the cells, in order: H3 indexes as 15 hexadecimal digits, or geohashes.
    min, max, mean : int32 arrays of shape (n_cells,)
        Seconds, rounded half up.
    """

    cell: AnyArray
    min: Int32Array
    max: Int32Array
    mean: Int32Array


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
    return gpd.GeoDataFrame(columns, geometry=_outlines(grid, names), crs="EPSG:4326")


def _checked_properties(properties: Any) -> tuple[str, ...]:
    """Return the wanted statistics in their usual order."""
    given = (properties,) if isinstance(properties, str) else tuple(properties)
    for name in given:
        if name not in CELL_PROPERTIES:
            msg = f"properties must be of {', '.join(map(repr, CELL_PROPERTIES))}; got {name!r}"
            raise InputError(msg)
    return tuple(name for name in CELL_PROPERTIES if name in given)


def _outlines(grid: Grid, names: AnyArray) -> AnyArray:
    """Return the polygons of cells by name, each made once."""
    codes, distinct = pd.factorize(names)
    if grid == "h3":
        polygons = grids.h3_polygons(np.array([int(name, 16) for name in distinct], np.uint64))
    else:
        places = np.array([grids.geohash_places(name) for name in distinct], np.int64).reshape(-1, 3)
        resolution = int(places[0, 2]) if len(places) else 1
        polygons = grids.geohash_polygons(places[:, 0], places[:, 1], resolution)
    return np.asarray(polygons[codes])


_NUMBERS = Derived[tuple[str, int, float], "CellNumbers"]("numbers of cells", kept=8)


def cell_times(
    query: Query, snaps: Snaps, grid: Grid, resolution: int, limit: int, *, no_water: bool
) -> list[CellTimes]:
    """
    Return the cells and travel times of each origin, without tables and outlines.

    Parameters
    ----------
    query : Query
        What to search, checked.
    snaps : Snaps
        The places, from `Question.snap_at`; `Snaps.status` says which of them have no street.
    grid : {"h3", "geohash"}
    resolution : int
    limit : int
        Seconds.
    no_water : bool
        Whether samples in water do not count.

    Returns
    -------
    list of CellTimes
        One for each place, empty where it has no street.
    """
    network, snapping = query.network, query.snapping
    spacing = sample_spacing_m(grid, resolution, query.egress_transportation.base, network.frame.lat0)
    key = (grid, resolution, spacing)
    numbering = _NUMBERS.of(network, key, lambda: CellNumbers(network, grid, resolution, spacing))
    found = []
    for i in range(len(snaps)):
        statistics = _Statistics.empty()
        if snaps.status[i] == SNAPPED:
            start = snaps.take(np.array([i]))
            field = query.field_from(start, limit)
            for tile, values in raster.tile_values(
                network.streets,
                query.egress_transportation,
                snapping,
                field,
                cell_m=spacing,
                limit=float(limit),
                most_tiles=_MOST_TILES,
            ):
                if not values.min() <= limit:
                    continue
                statistics.add(values, numbering.of_tile(tile, no_water=no_water), float(limit), numbering.n_cells)
            if field.start() <= limit:
                # Who stays where they are needs no time, wherever the nearest sample is.
                own = numbering.of_points(snaps.lng[i : i + 1], snaps.lat[i : i + 1])
                statistics.add(np.zeros((1, 1), np.float32), own[None, :], float(limit), numbering.n_cells)
        found.append(statistics.named(numbering))
    return found


def sample_spacing_m(grid: Grid, resolution: int, family: str, lat: float) -> float:
    """
    Return the distance in metres between the samples of cells.

    That of the coarsest level of detail (see `traveltime_lab.surfaces.level_of_detail`) with 16 samples in a cell of
    average size and four along its shorter side, so that a cell and a shape see the same surface; closer still in cells
    too small for any level.

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


@dataclass
class CellNumbers:
    """
    Which cell each sample of a lattice is in, as dense numbers, made tile by tile and kept.

    Attributes
    ----------
    network : Network
    grid : {"h3", "geohash"}
    resolution : int
    spacing_m : float
        Distance between samples.
    """

    network: Network
    grid: Grid
    resolution: int
    spacing_m: float
    keys: list[int] = field(default_factory=list)
    number_of: dict[int, int] = field(default_factory=dict)
    tiles: OrderedDict[tuple[int, int], tuple[Int32Array, Int32Array]] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def n_cells(self) -> int:
        """Number of cells that have a number so far."""
        return len(self.keys)

    def of_tile(self, tile: tuple[int, int], *, no_water: bool) -> Int32Array:
        """Return the cells of a tile's samples, with `no_water` -1 for those in water."""
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

    def _make(self, tile: tuple[int, int]) -> tuple[Int32Array, Int32Array]:
        """Return the cells of all samples of a tile, and the same without samples in water."""
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
        everywhere = self._number(keys)
        on_land = everywhere
        if len(self.network.water):
            wet = self.network.water.contains(np.tile(x, TILE), np.repeat(y, TILE)).reshape(shape)
            if wet.any():
                on_land = np.where(wet, np.int32(-1), everywhere)
        return everywhere, on_land

    def of_points(self, lng: FloatArray, lat: FloatArray) -> Int32Array:
        """Return the cells of points."""
        if self.grid == "h3":
            return self._number(grids.h3_cells_of(lng, lat, self.resolution))
        columns, rows = grids.geohash_columns(lng, self.resolution), grids.geohash_rows(lat, self.resolution)
        return self._number(_geohash_key(columns, rows).astype(np.uint64))

    def _number(self, keys: UInt64Array) -> Int32Array:
        """Return the numbers of cells, giving new ones to those that have none."""
        distinct, inverse = np.unique(keys.ravel(), return_inverse=True)
        numbers = np.empty(distinct.size, np.int32)
        with self.lock:
            for n, key in enumerate(distinct.tolist()):
                number = self.number_of.setdefault(key, len(self.keys))
                if number == len(self.keys):
                    self.keys.append(key)
                numbers[n] = number
        return numbers[inverse].reshape(keys.shape)

    def names(self, numbers: IndexArray) -> AnyArray:
        """Return the names of numbered cells."""
        keys = np.array([self.keys[number] for number in numbers.tolist()], np.uint64)
        if self.grid == "h3":
            return grids.h3_names(keys)
        both = keys.astype(np.int64)
        return grids.geohash_names(both >> 32, both & 0xFFFFFFFF, self.resolution)


def _geohash_key(columns: Int64Array, rows: Int64Array) -> Int64Array:
    """Return column and row of geohashes as one number."""
    return (columns << 32) + rows


@dataclass
class _Statistics:
    """What is known so far about the samples in each numbered cell."""

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
            # Other threads number cells of their own meanwhile, so there may be more than this search ever uses.
            more = max(n_cells, 2 * self.low.size) - self.low.size
            self.low = np.append(self.low, np.full(more, np.inf))
            self.high = np.append(self.high, np.full(more, -np.inf))
            self.total = np.append(self.total, np.zeros(more))
            self.count = np.append(self.count, np.zeros(more, np.int64))
        add_samples(values, cell, limit, self.low, self.high, self.total, self.count)

    def named(self, numbering: CellNumbers) -> CellTimes:
        """Return the cells that have samples, in order of their names."""
        cells = np.flatnonzero(self.count)
        names = numbering.names(cells)
        order = np.argsort(names)
        cells = cells[order]
        low, high = self.low[cells], self.high[cells]
        # The mean of equal values may differ from them in its last bit.
        mean = np.clip(self.total[cells] / self.count[cells], low, high)
        return CellTimes(names[order], _rounded(low), _rounded(high), _rounded(mean))


def _rounded(seconds: FloatArray) -> Int32Array:
    """Return whole seconds, rounded half up."""
    return np.floor(seconds + 0.5).astype(np.int32)


# Combinations --------------------------------------------------------------------------------------------------------


def union_cells(members: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """
    Return the cells that are in any of several searches.

    Parameters
    ----------
    members : sequence of DataFrame or GeoDataFrame
        Each the cells of *one* search: rows of one origin from `h3_cells` or `geohash_cells`, or a combination of
        such. All of one grid and resolution.

    Returns
    -------
    DataFrame or GeoDataFrame
        One row per cell, by name: ``cell``, and of ``min``, ``max`` and ``mean`` what all members have: the smallest
        ``min``, the largest ``max`` and the mean of the ``mean`` of the members that have the cell (int32, s, rounded
        half up). With outlines if all members have them.

    Raises
    ------
    InputError
        If there are no members, or one is not such a table, has several origins, or another grid or resolution.
    """
    return _combined(members, "union_cells", at_least=1)


def intersection_cells(members: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """
    Return the cells that are in all of several searches.

    Parameters
    ----------
    members : sequence of DataFrame or GeoDataFrame
        As in `union_cells`. A member without rows empties the intersection.

    Returns
    -------
    DataFrame or GeoDataFrame
        As from `union_cells`, over all members.

    Raises
    ------
    InputError
        As in `union_cells`.
    """
    return _combined(members, "intersection_cells", at_least=len(members))


def _combined(members: Sequence[pd.DataFrame], name: str, *, at_least: int) -> pd.DataFrame:
    """Return the cells that `at_least` so many members have."""
    if isinstance(members, pd.DataFrame):
        # Not taken apart here: an origin that reaches nothing has no rows, and would be forgotten.
        msg = (
            f"{name} takes a list with a table for each search; got one table. For the origins of one search: "
            f"{name}([cells[cells['origin'] == origin] for origin in origins.index])"
        )
        raise InputError(msg)
    members = list(members)
    if not members:
        msg = f"{name} needs at least one table of cells; got none"
        raise InputError(msg)
    kinds = set()
    for n, member in enumerate(members):
        if not isinstance(member, pd.DataFrame) or "cell" not in member.columns:
            msg = f"members[{n}] of {name} must be a table from h3_cells or geohash_cells; got {type(member).__name__}"
            raise InputError(msg)
        if not member["cell"].is_unique:
            msg = f"members[{n}] of {name} has cells of several origins; pass the rows of each origin as one member"
            raise InputError(msg)
        if len(member):
            kinds.add(_kind(member["cell"].iloc[0]))
    if len(kinds) > 1:
        said = " and ".join(f"{grid} of resolution {resolution}" for grid, resolution in sorted(kinds))
        msg = f"the members of {name} must have one grid and resolution; got {said}"
        raise InputError(msg)
    statistics = [column for column in CELL_PROPERTIES if all(column in member.columns for member in members)]
    outlined = all(isinstance(member, gpd.GeoDataFrame) for member in members)
    found = combined_times(
        [
            CellTimes(
                member["cell"].to_numpy(object),
                *(member[name].to_numpy(np.int32) if name in statistics else no_times for name in CELL_PROPERTIES),
            )
            for member, no_times in ((member, np.zeros(len(member), np.int32)) for member in members)
        ],
        at_least=at_least,
    )
    kept = found.cell
    result: dict[str, Any] = {"cell": pd.Series(kept, dtype=object)}
    result |= {name: getattr(found, name) for name in statistics}
    if not outlined:
        return pd.DataFrame(result)
    grid: Grid = next(iter(kinds))[0] if kinds else "h3"
    return gpd.GeoDataFrame(result, geometry=_outlines(grid, np.asarray(kept, dtype=object)), crs="EPSG:4326")


def combined_times(members: Sequence[CellTimes], *, at_least: int) -> CellTimes:
    """
    Return the cells that at least so many of several searches have, and the times of those that have them.

    Parameters
    ----------
    members : sequence of CellTimes
        All of one grid and resolution.
    at_least : int
        1 for a union, the number of members for an intersection.

    Returns
    -------
    CellTimes
        By cell the smallest ``min``, the largest ``max`` and the mean of the ``mean``, rounded half up.
    """
    names = np.concatenate([member.cell for member in members])
    low, high, mean = (
        np.concatenate([getattr(member, name) for member in members]).astype(np.int64) for name in CELL_PROPERTIES
    )
    codes, distinct = pd.factorize(names, sort=True)
    counts = np.bincount(codes, minlength=len(distinct))
    order = np.argsort(codes, kind="stable")
    firsts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.intp)
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


def _kind(cell: Any) -> tuple[Grid, int]:
    """Return grid and resolution of a cell's name; geohashes have at most 12 letters and H3 indexes 15 digits."""
    if isinstance(cell, str) and len(cell) > 12:
        return "h3", int(grids.h3_indexes([cell])[0]) >> 52 & 15
    return "geohash", grids.geohash_places(cell)[2]
