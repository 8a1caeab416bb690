"""Read heights of the ground from a raster, and interpolate between its pixels."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyproj

from traveltime_lab._arrays import Float32Array, FloatArray
from traveltime_lab.crs import WGS84
from traveltime_lab.errors import CrsError, InputError
from traveltime_lab.readers.raster import opened, values_of

#: Smaller pixels are averaged to about this size, metres. OpenTripPlanner and R5 sample heights at this distance, too.
FINEST_M: Final = 10.0
#: Pixels beyond the network that are read, so that places on its bounds lie between pixels.
_MARGIN: Final = 2
_METRES: Final = frozenset({"", "m", "metre", "metres", "meter", "meters"})


@dataclass(frozen=True)
class Heights:
    """
    Heights of the ground in a part of a raster.

    Attributes
    ----------
    values : float32 array of shape (n_rows, n_columns)
        Metres; NaN where there is no height.
    inverse : tuple of float
        Coefficients ``(a, b, c, d, e, f)``: a place (x, y) in the CRS of the raster is at column ``a x + b y + c`` and
        row ``d x + e y + f``; the centre of the first pixel is at (0.5, 0.5).
    from_degrees : pyproj.Transformer
        From longitude and latitude to the CRS of the raster.
    pixel_m : float
        Shorter side of a pixel, metres.
    """

    values: Float32Array
    inverse: tuple[float, ...]
    from_degrees: Any
    pixel_m: float

    def at(self, lng: FloatArray, lat: FloatArray) -> FloatArray:
        """
        Return the heights at places, interpolated between the centres of the four nearest pixels.

        A place has a height if the pixel that it is in has one. Neighbours without one are left out.

        Parameters
        ----------
        lng, lat : float64 arrays of shape (n,)

        Returns
        -------
        float64 array of shape (n,)
            Metres; NaN outside of the raster and where it has no data.
        """
        column, row = _place(self.inverse, self.from_degrees, lng, lat)
        n_rows, n_columns = self.values.shape
        inside = (column >= 0) & (column <= n_columns) & (row >= 0) & (row <= n_rows)
        column, row = np.where(inside, column, 0.5), np.where(inside, row, 0.5)
        own = self.values[
            np.minimum(row.astype(np.intp), n_rows - 1), np.minimum(column.astype(np.intp), n_columns - 1)
        ]
        left, top = np.floor(column - 0.5).astype(np.intp), np.floor(row - 0.5).astype(np.intp)
        across, down = column - 0.5 - left, row - 0.5 - top
        total, weights = np.zeros(column.size), np.zeros(column.size)
        for dy, wy in ((0, 1.0 - down), (1, down)):
            for dx, wx in ((0, 1.0 - across), (1, across)):
                value = self.values[np.clip(top + dy, 0, n_rows - 1), np.clip(left + dx, 0, n_columns - 1)]
                weight = np.where(np.isnan(value), 0.0, wx * wy)
                total += weight * np.nan_to_num(value)
                weights += weight
        has_height = inside & ~np.isnan(own)
        return np.where(has_height, total / np.where(weights > 0.0, weights, 1.0), np.nan)


def read_heights(path: str | os.PathLike[str], lng: FloatArray, lat: FloatArray) -> Heights:
    """
    Read the part of a raster of heights that some places are in.

    Parameters
    ----------
    path : path-like
        GeoTIFF, or any raster that GDAL reads, with one band of heights in metres.
    lng, lat : float64 arrays of shape (n,)
        Places in degrees.

    Raises
    ------
    MissingDependencyError
        If rasterio is not installed.
    MissingFileError, DataError, CrsError
        If the file does not exist, is no raster or damaged, or has no CRS.
    InputError
        If the raster has several bands or a unit other than metres, or no place has a height.
    """
    with opened(path, "heights") as raster:
        _check(raster)
        from_degrees = pyproj.Transformer.from_crs(WGS84, pyproj.CRS.from_user_input(raster.crs), always_xy=True)
        inverse = tuple(~raster.transform)[:6]
        column, row = _place(inverse, from_degrees, lng, lat)
        inside = (column >= 0) & (column <= raster.width) & (row >= 0) & (row <= raster.height)
        if not inside.any():
            west, south, east, north = _bounds(raster)
            msg = (
                f"{raster.name} does not touch the network: it has heights from {west:.4f} to {east:.4f} east and "
                f"{south:.4f} to {north:.4f} north. Give a raster of the same place"
            )
            raise InputError(msg)
        first_column = int(np.clip(np.floor(column[inside].min()) - _MARGIN, 0, None))
        first_row = int(np.clip(np.floor(row[inside].min()) - _MARGIN, 0, None))
        width = int(np.clip(np.ceil(column[inside].max()) + _MARGIN, 1, raster.width)) - first_column
        height = int(np.clip(np.ceil(row[inside].max()) + _MARGIN, 1, raster.height)) - first_row
        middle = float(np.median(lng[inside])), float(np.median(lat[inside]))
        pixel_m = _pixel_m(raster.transform, from_degrees, middle)
        shrink = max(1, round(FINEST_M / pixel_m))
        shape = -(-height // shrink), -(-width // shrink)
        values = values_of(raster, 1, (first_column, first_row, width, height), dtype="float32", shape=shape)
    values[~np.isfinite(values)] = np.nan
    if np.isnan(values).all():
        msg = f"{path} has no heights where the network is, only missing pixels. Give a raster of the same place"
        raise InputError(msg)
    across, down = shape[1] / width, shape[0] / height
    a, b, c, d, e, f = inverse
    scaled = (a * across, b * across, (c - first_column) * across, d * down, e * down, (f - first_row) * down)
    return Heights(values, scaled, from_degrees, pixel_m * min(width / shape[1], height / shape[0]))


def _check(raster: Any) -> None:
    """Raise InputError for a raster that does not have one band of metres."""
    if raster.count != 1:
        msg = (
            f"{raster.name} has {raster.count} bands; heights are one band. Write it into a file of its own, for "
            "example with gdal_translate -b 1"
        )
        raise InputError(msg)
    unit = str(raster.units[0] or "").strip().lower()
    if unit not in _METRES:
        msg = f"{raster.name} has heights in {unit!r}; convert them to metres, for example with gdal_calc.py"
        raise InputError(msg)


def _place(
    inverse: tuple[float, ...], from_degrees: Any, lng: FloatArray, lat: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return columns and rows of places; infinite where the CRS of the raster has none."""
    x, y = (np.asarray(each, np.float64) for each in from_degrees.transform(lng, lat))
    a, b, c, d, e, f = inverse
    with np.errstate(invalid="ignore"):
        column, row = a * x + b * y + c, d * x + e * y + f
    is_there = np.isfinite(column) & np.isfinite(row)
    return np.where(is_there, column, np.inf), np.where(is_there, row, np.inf)


def _pixel_m(transform: Any, from_degrees: Any, middle: tuple[float, float]) -> float:
    """Return the shorter side of a pixel at a place, metres."""
    x, y = from_degrees.transform(*middle)
    sides = np.array([[0.0, 0.0], [transform.a, transform.d], [transform.b, transform.e]])
    lng, lat = from_degrees.transform(x + sides[:, 0], y + sides[:, 1], direction="INVERSE")
    geod = pyproj.Geod(ellps="WGS84")
    metres = min(geod.inv(lng[0], lat[0], lng[i], lat[i])[2] for i in (1, 2))
    if not (np.isfinite(metres) and metres > 0.0):
        msg = "the raster has no pixels of a size in metres at the network; is its CRS right?"
        raise CrsError(msg)
    return float(metres)


def _bounds(raster: Any) -> tuple[float, float, float, float]:
    """Return west, south, east and north of a raster in degrees; infinite where its CRS has no degrees."""
    to_degrees = pyproj.Transformer.from_crs(pyproj.CRS.from_user_input(raster.crs), WGS84, always_xy=True)
    west, south, east, north = to_degrees.transform_bounds(*raster.bounds)
    return west, south, east, north
