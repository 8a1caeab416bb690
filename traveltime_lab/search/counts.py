"""
Bring counts, such as a population, from points, polygons or a raster onto H3 cells (`counts_to_h3`) or points
(`counts_to_points`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, Final

import geopandas as gpd
import h3
import numpy as np
import pandas as pd
import shapely
from scipy.spatial import cKDTree

from traveltime_lab._arrays import AnyArray, FloatArray, UInt64Array
from traveltime_lab._checks import items, whole
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.crs import WGS84
from traveltime_lab.errors import CoordinateError, CrsError, InputError, LimitError
from traveltime_lab.points import PointsLike, plain, read_points
from traveltime_lab.readers.raster import read_counts
from traveltime_lab.search.amounts import amounts_of
from traveltime_lab.search.tables import geo_frame
from traveltime_lab.surfaces import grids

#: Name of the column of counts that have none: those of a raster.
_COUNT: Final = "count"
#: Parts of a pixel per edge of a cell (assumed): with more, pixels across a border are divided more exactly.
_PARTS_PER_EDGE: Final = 4.0
_EARTH: Final = (-180.0, -90.0, 180.0, 90.0)
#: Area of the earth, and a degree of latitude in metres: those of a sphere of 6,371 km.
_EARTH_M2: Final = 4.0 * math.pi * 6_371_000.0**2
METRES_PER_DEGREE: Final = math.pi * 6_371_000.0 / 180.0
#: Largest number of cells of all polygons.
_MOST_CELLS: Final = 5_000_000


@explained_keywords
def counts_to_h3(
    counts: gpd.GeoDataFrame | str | os.PathLike[str],
    resolution: int,
    *,
    values: str | Sequence[str] | None = None,
    band: int = 1,
) -> gpd.GeoDataFrame:
    """
    Return counts, such as a population, by H3 cell.

    Parameters
    ----------
    counts : GeoDataFrame or path-like
        Points or polygons with counts in any CRS, or a GeoTIFF with a count in each pixel, which needs
        ``pip install 'traveltime_lab[raster]'``.
    resolution : int
        H3 resolution, 1 (largest cells) to 12 (smallest, about 18 m wide).
    values : str or sequence of str, optional
        Columns with counts; needed for a GeoDataFrame. The column of a GeoTIFF is ``count``.
    band : int, default 1
        Band of a GeoTIFF.

    Returns
    -------
    GeoDataFrame
        One row per cell with a count above 0, sorted by cell: the columns of `values` (float64) and the polygon in
        EPSG:4326, indexed by ``cell`` (15 hexadecimal digits). The sums of the columns are those of the input, apart
        from rounding.

    Raises
    ------
    InputError
        If the table is empty or has unsupported geometries, a column is missing or has missing or negative values, or
        the band does not exist.
    CrsError
        If the table or the file has no CRS.
    LimitError
        If `resolution` is out of range, or the counts have more than 5 million cells.
    MissingFileError, DataError
        If the file does not exist or is no raster.
    MissingDependencyError
        If rasterio is not installed.

    See Also
    --------
    counts_to_points : Counts by the nearest point.
    h3_centroids : Centroids of cells, for use as origins.
    accessibility : Uses counts as demand and opportunities.

    Notes
    -----
    The count of a point belongs to the cell around it. That of a polygon is shared among cells by area, and that of a
    pixel among the cells that contain the centres of its parts, whose sides are at most a quarter of the edge of a
    cell. Pixels without data count nothing; the scale and the offset of a band apply to its values.

    Examples
    --------
    >>> zones = tl.sample_points(kind="zones")
    >>> cells = tl.counts_to_h3(
    ...     zones.assign(people=1000), 6, values="people"
    ... )
    >>> round(float(cells["people"].sum())) == 1000 * len(zones)
    True
    """
    resolution = grids.check_resolution("h3", resolution)
    if not isinstance(counts, gpd.GeoDataFrame):
        _check_no_values(counts, values)
        sums = _Cells([_COUNT])
        part_m = grids.h3_edge_m(resolution) / _PARTS_PER_EDGE
        for pixels in read_counts(counts, whole(band, "band", 1, 10_000, "bands"), part_m):
            n_parts = pixels.lng.shape[1]
            shares = np.repeat(pixels.counts / n_parts, n_parts)[None]
            sums.add(grids.h3_cells_of(pixels.lng.ravel(), pixels.lat.ravel(), resolution), shares)
        return sums.table()
    names, amounts = _amounts(counts, values)
    shapes = _shapes(counts)
    sums = _Cells(names)
    if (shapely.get_dimensions(shapes) == 0).all():
        sums.add(grids.h3_cells_of(shapely.get_x(shapes), shapely.get_y(shapes), resolution), amounts)
        return sums.table()
    _check_areas(counts, shapes)
    n_cells = (
        float(shapely.area(shapely.transform(shapes, _equal_area)).sum()) * _EARTH_M2 / grids.h3_area_m2(resolution)
    )
    if n_cells > _MOST_CELLS:
        msg = (
            f"counts have about {n_cells:,.0f} cells of resolution {resolution}, more than {_MOST_CELLS:,}; "
            "use a coarser resolution"
        )
        raise LimitError(msg)
    for n, shape in enumerate(shapes):
        cells, share = _cells_of(shape, resolution)
        sums.add(cells, amounts[:, n : n + 1] * share)
    return sums.table()


@explained_keywords
def counts_to_points(
    counts: gpd.GeoDataFrame | str | os.PathLike[str],
    points: PointsLike,
    *,
    values: str | Sequence[str] | None = None,
    band: int = 1,
) -> gpd.GeoDataFrame:
    """
    Return counts, such as a population, by the nearest of some points.

    Parameters
    ----------
    counts, values, band
        As in `counts_to_h3`.
    points : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with a unique index.

    Returns
    -------
    GeoDataFrame
        Indexed like `points`: the columns of `values` (float64, 0 where nothing is nearest) and the points in
        EPSG:4326. The sums of the columns are those of the input, apart from rounding.

    Raises
    ------
    InputError, CrsError, CoordinateError, MissingFileError, DataError, MissingDependencyError
        As in `counts_to_h3`, and as in `time_filter` for `points`.

    See Also
    --------
    counts_to_h3 : Counts by H3 cell.

    Notes
    -----
    The count of a point or a pixel goes to the nearest point in a straight line. That of a polygon is divided equally
    among the points in it; without any, it goes to the point that is nearest to a point inside of the polygon.

    Examples
    --------
    >>> zones, places = tl.sample_points(kind="zones"), tl.sample_points()
    >>> near = tl.counts_to_points(
    ...     zones.assign(people=1000), places, values="people"
    ... )
    >>> near.index.equals(places.index)
    True
    >>> round(float(near["people"].sum())) == 1000 * len(zones)
    True
    """
    ends = read_points(points, "points", _EARTH)
    tree = cKDTree(_on_sphere(ends.lng, ends.lat))
    if not isinstance(counts, gpd.GeoDataFrame):
        _check_no_values(counts, values)
        names, totals = [_COUNT], np.zeros((1, len(ends)))
        for pixels in read_counts(counts, whole(band, "band", 1, 10_000, "bands"), np.inf):
            nearest = tree.query(_on_sphere(pixels.lng[:, 0], pixels.lat[:, 0]))[1]
            totals[0] += np.bincount(nearest, pixels.counts, len(ends))
    else:
        names, amounts = _amounts(counts, values)
        shapes = _shapes(counts)
        row, column = np.zeros(0, np.intp), np.zeros(0, np.intp)
        if (shapely.get_dimensions(shapes) == 2).all():
            _check_areas(counts, shapes)
            row, column = shapely.STRtree(ends.geometry).query(shapes, predicate="covers")
        alone = np.setdiff1d(np.arange(len(shapes)), row)
        inside = shapely.point_on_surface(shapes[alone])
        nearest = tree.query(_on_sphere(shapely.get_x(inside), shapely.get_y(inside)))[1]
        row, column = np.concatenate([row, alone]), np.concatenate([column, nearest])
        share = 1.0 / np.bincount(row, minlength=len(shapes))[row]
        totals = np.stack([np.bincount(column, each[row] * share, len(ends)) for each in amounts])
    return geo_frame(dict(zip(names, totals, strict=True)), ends.geometry.copy(), ends.index)


class _Cells:
    """Sums by cell."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.cells: UInt64Array = np.zeros(0, np.uint64)
        self.sums: FloatArray = np.zeros((len(names), 0))

    def add(self, cells: UInt64Array, amounts: FloatArray) -> None:
        """Add amounts of shape (n_columns, n) to cells, which may repeat."""
        distinct, at = np.unique(np.concatenate([self.cells, cells]), return_inverse=True)
        if distinct.size > _MOST_CELLS:
            msg = f"counts have more than {_MOST_CELLS:,} cells of this resolution; use a coarser one"
            raise LimitError(msg)
        both = np.concatenate([self.sums, amounts], axis=1)
        self.cells, self.sums = distinct, np.stack([np.bincount(at, each, distinct.size) for each in both])

    def table(self) -> gpd.GeoDataFrame:
        """Return the cells with a sum above 0."""
        kept = (self.sums > 0.0).any(axis=0)
        cells = self.cells[kept]
        index = pd.Index(grids.h3_names(cells), name="cell", dtype=object)
        return geo_frame(dict(zip(self.names, self.sums[:, kept], strict=True)), grids.h3_polygons(cells), index)


def _check_no_values(counts: Any, values: Any) -> None:
    """Raise InputError for tables of another kind, and for names of columns with a raster."""
    if isinstance(counts, pd.DataFrame | gpd.GeoSeries):
        msg = (
            f"counts must be a GeoDataFrame or the path of a GeoTIFF; got {type(counts).__name__}. Create one with "
            "gpd.GeoDataFrame(frame, geometry=gpd.points_from_xy(frame['lng'], frame['lat']), crs='EPSG:4326')"
        )
        raise InputError(msg)
    if values is not None:
        msg = f"values names columns of a GeoDataFrame; a GeoTIFF has bands, see band. Got {values!r}"
        raise InputError(msg)


def _amounts(counts: gpd.GeoDataFrame, values: Any) -> tuple[list[str], FloatArray]:
    """Return the names and the counts of the columns, of shape (n_columns, n_rows)."""
    if not len(counts):
        msg = "counts is empty; pass at least one row"
        raise InputError(msg)
    names = [values] if isinstance(values, str) else list(items(values, "values", "names of columns with counts"))
    for n, name in enumerate(names):
        if not isinstance(name, str) or name in names[:n] or name == "geometry":
            msg = f"values must name different columns of counts; got {name!r}"
            raise InputError(msg)
    if not names:
        msg = "values is empty; name at least one column of counts"
        raise InputError(msg)
    return names, np.stack([amounts_of(counts, "counts", name, "values") for name in names])


def _shapes(counts: gpd.GeoDataFrame) -> AnyArray:
    """Return the points or the areas of counts in longitude and latitude."""
    try:
        series = counts.geometry
    except AttributeError as error:
        msg = "counts has no active geometry; name the column with counts.set_geometry(...)"
        raise InputError(msg) from error
    if series.crs is None:
        msg = "counts has no CRS; set it first, for example with counts.set_crs('EPSG:4326')"
        raise CrsError(msg)
    shapes = np.asarray(series.to_crs(WGS84).array)
    kinds = set(shapely.get_type_id(shapes).tolist())
    if shapely.is_empty(shapes).any() or not (kinds <= {0} or kinds <= {3, 6}):
        msg = "counts must hold points only, or polygons only, none of them missing or empty"
        raise InputError(msg)
    corners = shapely.get_coordinates(shapes)
    if not (np.isfinite(corners).all() and (np.abs(corners) <= (180.0, 90.0)).all()):
        msg = "counts has coordinates out of range; longitude goes from -180 to 180 and latitude from -90 to 90"
        raise CoordinateError(msg)
    return shapes


def _check_areas(counts: gpd.GeoDataFrame, shapes: AnyArray) -> None:
    """Raise InputError for polygons that are not valid or have no area."""
    is_wrong = ~shapely.is_valid(shapes) | (shapely.area(shapes) == 0.0)
    if is_wrong.any():
        first = int(is_wrong.argmax())
        msg = (
            f"counts has {int(is_wrong.sum())} invalid polygons, the first at {plain(counts.index[first])!r} "
            f"({shapely.is_valid_reason(shapes[first])}); repair them with counts.make_valid()"
        )
        raise InputError(msg)


def _cells_of(shape: Any, resolution: int) -> tuple[UInt64Array, FloatArray]:
    """Return the cells that a polygon touches, and the share of its area in each; shares add up to 1."""
    _, south, _, north = shape.bounds
    # The centre of a cell that the polygon touches is at most so far away; edges are up to 1.6 times the average one.
    reach = 1.6 * grids.h3_edge_m(resolution) / METRES_PER_DEGREE
    grow = 1.0 / max(math.cos(math.radians(min(max(abs(south), abs(north)) + reach, 89.0))), 0.02)
    wide = shapely.transform(shape, lambda xy: xy * (1.0 / grow, 1.0))
    around = shapely.transform(shapely.buffer(wide, 1.1 * reach), lambda xy: xy * (grow, 1.0))
    cells = np.array([int(cell, 16) for cell in h3.geo_to_cells(around, resolution)], np.uint64)
    cells.sort()
    parts = shapely.intersection(grids.h3_polygons(cells), shape)
    areas = shapely.area(shapely.transform(parts, _equal_area))
    kept = areas > 0.0
    return cells[kept], areas[kept] / areas.sum()


def _equal_area(lnglat: FloatArray) -> FloatArray:
    """Return degrees as shares of the area of the earth (Lambert's cylindrical projection of the sphere)."""
    return np.column_stack([lnglat[:, 0] / 360.0, np.sin(np.radians(lnglat[:, 1])) / 2.0])


def _on_sphere(lng: FloatArray, lat: FloatArray) -> FloatArray:
    """Return places as points of the unit sphere."""
    a, b = np.radians(lng), np.radians(lat)
    return np.column_stack([np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), np.sin(b)])
