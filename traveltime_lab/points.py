"""
Input points: validation, and conversion from any CRS to longitude and latitude.
"""

from __future__ import annotations

import contextlib
import functools
import math
import numbers
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, TypeAlias

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray
from traveltime_lab._checks import number
from traveltime_lab.crs import WGS84
from traveltime_lab.errors import CoordinateError, CrsError, InputError
from traveltime_lab.runtime.shared import shared
from traveltime_lab.runtime.threads import even_slices, side_by_side

#: West, south, east, north in EPSG:4326; west is larger than east if the box crosses the 180th meridian.
Bounds: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True)
class Points:
    """
    Validated points.

    Attributes
    ----------
    index : Index
        Index of the input table.
    lng, lat : float64 arrays of shape (n,)
        Coordinates in EPSG:4326.
    geometry : object array of shape (n,)
        Shapely points in EPSG:4326, without heights.
    """

    index: pd.Index
    lng: FloatArray
    lat: FloatArray
    geometry: AnyArray

    def __len__(self) -> int:
        """Return the number of points."""
        return self.lng.size


#: Accepted types of input points; pairs are (longitude, latitude).
PointsLike: TypeAlias = gpd.GeoDataFrame | gpd.GeoSeries | shapely.Point | Sequence[Any] | Points


#: Usual names of columns of coordinates, and endings of files of tables.
_LNG_NAMES = ("lng", "lon", "long", "longitude", "x")
_LAT_NAMES = ("lat", "latitude", "y")
_TABLE_FILES = {".csv", ".parquet", ".geojson", ".json", ".gpkg", ".shp", ".xlsx", ".txt", ".kml", ".feather"}


def _column_of(table: pd.DataFrame, names: Sequence[str]) -> Any:
    """Return the column of a table that has one of some names in any case; the first name if there is none."""
    return next((name for known in names for name in table.columns if str(name).lower() == known), names[0])


def as_table(points: Any) -> Any:
    """Return the table of prepared points; return any other value unchanged."""
    return getattr(points, "table", points) if isinstance(points, Points) else points


def plain(label: Any) -> Any:
    """Return an index label as a Python object, for messages: 7 instead of np.int64(7)."""
    return label.item() if isinstance(label, np.generic) else label


def read_points(table: Any, name: str, bounds: Bounds) -> Points:
    """
    Validate points and convert them to EPSG:4326.

    Parameters
    ----------
    table : GeoDataFrame, GeoSeries, Point, (lng, lat), list of these or PreparedPoints
        A table must have points in any CRS and a unique index. Points and pairs without a table are longitude and
        latitude; their labels are 0, 1, 2 ... Heights of points are ignored.
    name : str
        Name of the argument in error messages.
    bounds : tuple of float
        West, south, east, north of the network, used to detect swapped coordinates.

    Raises
    ------
    InputError
        If the table is empty or has duplicate labels, or the type is unsupported.
    CrsError
        If the table has no CRS.
    CoordinateError
        If coordinates are missing, not finite, out of range or swapped.
    """
    if isinstance(table, Points):
        return table
    return shared("points", (table,), functools.partial(_read, table, name, bounds), name)


def _read(table: Any, name: str, bounds: Bounds) -> Points:
    """Validate points and convert them; see `read_points`."""
    loose = loose_points(table)
    if loose is not None:
        series = loose
    elif isinstance(table, gpd.GeoDataFrame | gpd.GeoSeries):
        try:
            series = table.geometry if isinstance(table, gpd.GeoDataFrame) else table
        except AttributeError as error:
            msg = f"{name} has no active geometry; name the column with {name}.set_geometry(...)"
            raise InputError(msg) from error
    else:
        msg = (
            f"{name} must be a GeoDataFrame or GeoSeries of points, a shapely Point, a pair (lng, lat), or a list of "
            f"Points or pairs; got {type(table).__name__}. "
            "Create a GeoSeries with gpd.GeoSeries.from_xy(lng, lat, crs='EPSG:4326')"
        )
        msg = f"{msg}{_as_pairs(table)}"
        if isinstance(table, str):
            msg = f"{name} must be points, not a name; got {table!r}. Find it with geocode(network, {table!r})"
            if PurePath(table).suffix.lower() in _TABLE_FILES:
                msg = (
                    f"{name} must be points, not a file; got {table!r}. Read it first, for example with "
                    "geopandas.read_file"
                )
            if _as_pairs(table):
                msg = f"{name} must be points, not a text; got {table!r}{_as_pairs(table)}"
        if isinstance(table, pd.DataFrame):
            x, y = (_column_of(table, names) for names in (_LNG_NAMES, _LAT_NAMES))
            msg = (
                f"{name} is a DataFrame without geometry. Create one with gpd.GeoDataFrame({name}, crs='EPSG:4326', "
                f"geometry=gpd.points_from_xy({name}[{x!r}], {name}[{y!r}]))"
            )
        elif isinstance(table, pd.Series):
            msg = f"{name} must be a table; got a single row. Select it with two brackets: places.loc[['label']]"
        raise InputError(msg)
    if len(series) == 0:
        msg = f"{name} is empty; pass at least one point"
        raise InputError(msg)
    if series.crs is None:
        msg = f"{name} has no CRS; set it first, for example with {name}.set_crs('EPSG:4326')"
        raise CrsError(msg)
    _check_unique(series.index, name)
    values = np.asarray(series.array)
    kinds, x, y = coordinates(values)
    bad = kinds == -1
    if bad.any():
        first = plain(series.index[int(bad.argmax())])
        msg = f"{name} has {_counted(int(bad.sum()), 'missing or empty point')}, the first at {first!r}"
        raise CoordinateError(msg)
    if (kinds != 0).any():
        first = int((kinds != 0).argmax())
        msg = (
            f"{name} must hold points; got a {values[first].geom_type} at {plain(series.index[first])!r}. "
            "Use .representative_point() or .centroid first"
        )
        raise InputError(msg)
    lng, lat = x, y
    # A height is no part of a place: it would be part of results, and of the conversion from one datum to another.
    if (shapely.get_coordinate_dimension(values) != 2).any():
        values = shapely.force_2d(values)
        series = gpd.GeoSeries(values, index=series.index, crs=series.crs)
    if not series.crs.equals(WGS84, ignore_axis_order=True):
        values = np.asarray(series.to_crs(WGS84).array)
        lng, lat = shapely.get_x(values), shapely.get_y(values)
    wrong = ~(np.isfinite(lng) & np.isfinite(lat))
    if wrong.any():
        msg = (
            f"{name} has {_counted(int(wrong.sum()), 'point')} with coordinates that are not finite, "
            f"the first at {plain(series.index[int(wrong.argmax())])!r}"
        )
        raise CoordinateError(msg)
    wrong = (np.abs(lat) > 90.0) | (np.abs(lng) > 180.0)
    if wrong.any():
        first = int(wrong.argmax())
        msg = (
            f"{name} has {_counted(int(wrong.sum()), 'point')} out of range, the first (lng {lng[first]:g}, "
            f"lat {lat[first]:g}) at {plain(series.index[first])!r}; longitude goes from -180 to 180 and latitude from "
            "-90 to 90. Is the CRS right, or are the coordinates swapped?"
        )
        raise CoordinateError(msg)
    _check_not_swapped(lng, lat, name, bounds)
    return Points(series.index, lng, lat, values)


def _as_pairs(given: Any) -> str:
    """Return how to write places of other forms, mappings with lat and lng or two numbers in a list, as pairs."""
    if isinstance(given, str) or _are_numbers(given):
        pairs = [tuple(given.split(",") if isinstance(given, str) else given)]
        return f". Write the pair {_written(pairs[0])}" if _are_numbers(pairs[0]) else ""
    several = given if isinstance(given, list) else [given]
    pairs = [tuple(_named(item, names) for names in (_LNG_NAMES, _LAT_NAMES)) for item in several]
    if not all(map(_are_numbers, pairs)):
        return ""
    if several is not given:
        return f". Write the pair (longitude, latitude): {_written(pairs[0])}"
    return f". Write pairs (longitude, latitude): [{', '.join(map(_written, pairs[:2]))}{', ...' * (len(pairs) > 2)}]"


def _named(item: Any, names: Sequence[str]) -> Any:
    """Return the value of a mapping that has one of some names; None if there is none."""
    if not isinstance(item, Mapping):
        return None
    values = {str(key).lower(): value for key, value in item.items()}
    return next((values[name] for name in names if name in values), None)


def _written(pair: Sequence[Any]) -> str:
    return f"({', '.join(str(value).strip() for value in pair)})"


def _are_numbers(pair: Any) -> bool:
    """Return whether something is two numbers, or texts of numbers."""
    return isinstance(pair, list | tuple) and len(pair) == 2 and all(map(_is_number, pair))


def _is_number(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def _counted(n: int, what: str) -> str:
    """Return a number with its noun, such as "2 points"."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


#: Results of `coordinates` for large arrays, by the number of the array, within `read_once`.
_READ: ContextVar[dict[int, tuple[AnyArray, tuple[AnyArray, FloatArray, FloatArray]]] | None]
_READ = ContextVar("_READ", default=None)


@contextlib.contextmanager
def read_once() -> Iterator[None]:
    """Read the coordinates of large arrays once, although several callers use them; the arrays must not be changed."""
    token = _READ.set({})
    try:
        yield
    finally:
        _READ.reset(token)


def coordinates(values: AnyArray) -> tuple[AnyArray, FloatArray, FloatArray]:
    """
    Return the types of shapely geometries, as numbers of shapely, and the coordinates of points.

    Parameters
    ----------
    values : object array of shape (n,)

    Returns
    -------
    types : int32 array of shape (n,)
        0 for points, -1 for missing and empty geometries.
    x, y : float64 arrays of shape (n,)
        NaN for anything but points. They must not be changed.
    """
    known = _READ.get()
    if known is not None and id(values) in known:
        return known[id(values)][1]
    parts = even_slices(values.size)
    if len(parts) == 1:
        return _coordinates(values)
    read = side_by_side([functools.partial(_coordinates, values[part]) for part in parts])
    types, x, y = (np.concatenate(arrays) for arrays in zip(*read, strict=True))
    if known is not None:
        # With the array itself, whose number would otherwise be used again.
        known[id(values)] = values, (types, x, y)
    return types, x, y


def _coordinates(values: AnyArray) -> tuple[AnyArray, FloatArray, FloatArray]:
    """Return types and coordinates; see `coordinates`."""
    # GEOS may refuse to read empty points.
    with contextlib.suppress(shapely.GEOSException):
        x, y = shapely.get_x(values), shapely.get_y(values)
        if not np.isnan(x).any():
            return np.zeros(values.size, np.int32), x, y
    types, is_empty = shapely.get_type_id(values), shapely.is_empty(values)
    if is_empty.any():
        types, values = np.where(is_empty, -1, types), values.copy()
        values[is_empty] = None
    return types, shapely.get_x(values), shapely.get_y(values)


def loose_points(given: Any) -> gpd.GeoSeries | None:
    """Return points and (lng, lat) pairs as a GeoSeries, None for anything else."""
    several = given if isinstance(given, list) else [given]
    points = []
    for item in several:
        if isinstance(item, shapely.Point):
            points.append(item)
        elif (
            isinstance(item, tuple)
            and len(item) == 2
            and all(isinstance(value, numbers.Real) and not isinstance(value, bool) for value in item)
        ):
            points.append(shapely.Point(*(number(value, "a coordinate") for value in item)))
        else:
            return None
    return gpd.GeoSeries(points, crs=WGS84)


def _check_unique(index: pd.Index, name: str) -> None:
    """Raise InputError for duplicate labels."""
    if not index.is_unique:
        twice = index[index.duplicated()][0]
        msg = f"{name} has the label {plain(twice)!r} more than once in its index; use {name}.reset_index(drop=True)"
        raise InputError(msg)


def _check_not_swapped(lng: FloatArray, lat: FloatArray, name: str, bounds: Bounds) -> None:
    """Raise CoordinateError if no point is near the network, but all are with longitude and latitude swapped."""
    west, south, east, north = bounds
    width = (east - west) % 360.0

    def near(x: FloatArray, y: FloatArray) -> BoolArray:
        margin = 0.5
        return np.asarray(
            ((x - west + margin) % 360.0 <= width + 2 * margin) & (y >= south - margin) & (y <= north + margin)
        )

    # Mostly the first points decide.
    if near(lng[:9], lat[:9]).any():
        return
    if not near(lng, lat).any() and near(lat, lng).all():
        msg = (
            f"{name} are all far from the network, and with longitude and latitude swapped all are in it: the first is "
            f"lng {lng[0]:g}, lat {lat[0]:g}; the network lies in west {west:g}, south {south:g}, east {east:g}, "
            f"north {north:g}. Points are (x=longitude, y=latitude)"
        )
        raise CoordinateError(msg)
