"""Open rasters, and read those of counts, such as people per pixel, a few rows at a time."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy as np
import pyproj

from traveltime_lab._arrays import AnyArray, FloatArray
from traveltime_lab._files import as_path, is_file
from traveltime_lab.crs import WGS84
from traveltime_lab.errors import CrsError, DataError, InputError, MissingDependencyError, MissingFileError

#: Types of values that are read.
_REAL = frozenset(
    {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"}
)
#: Number of pixels that are read at once.
_AT_ONCE = 1_000_000


class Pixels(NamedTuple):
    """
    Pixels with a count.

    Attributes
    ----------
    counts : float64 array of shape (n,)
        Above 0, with the scale and the offset of the band.
    lng, lat : float64 arrays of shape (n, n_parts)
        Centres of equal parts of each pixel, in degrees.
    """

    counts: FloatArray
    lng: FloatArray
    lat: FloatArray


def read_counts(path: str | os.PathLike[str], band: int, part_m: float) -> Iterator[Pixels]:
    """
    Yield the pixels of a raster whose count is above 0.

    Parameters
    ----------
    path : path-like
        GeoTIFF, or any raster that GDAL reads.
    band : int
        Number of the band, from 1.
    part_m : float
        Longest side of a part in metres; larger pixels are divided into equal parts.

    Raises
    ------
    MissingDependencyError
        If rasterio is not installed.
    MissingFileError, DataError, CrsError, InputError
        If the file does not exist, is no raster or damaged, has no CRS, no such band, or negative or infinite counts.
    """
    with opened(path, "counts") as raster:
        if band > raster.count:
            msg = f"band must be from 1 to {raster.count}, the number of bands of {raster.name}; got {band}"
            raise InputError(msg)
        yield from _blocks(raster, band, part_m)


@contextmanager
def opened(path: str | os.PathLike[str], what: str) -> Iterator[Any]:
    """
    Open a raster that has a CRS.

    Parameters
    ----------
    path : path-like
    what : str
        Quantity of the pixels, such as ``"counts"``, for error messages.

    Raises
    ------
    MissingDependencyError
        If rasterio is not installed.
    MissingFileError, DataError, CrsError
        If the file does not exist, is no raster, or has no CRS.
    """
    try:
        import rasterio  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        msg = "reading a raster needs rasterio; install it with: pip install 'traveltime_lab[raster]'"
        raise MissingDependencyError(msg) from error
    file = as_path(path, what)
    if not is_file(file):
        msg = f"Cannot read a raster: {file} does not exist. Give the path of a GeoTIFF."
        raise MissingFileError(msg)
    with ExitStack() as stack:
        try:
            with warnings.catch_warnings():
                # It has no CRS either, or is refused below.
                warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
                raster = stack.enter_context(rasterio.open(file))
                is_placed = not raster.transform.is_identity
        except rasterio.errors.RasterioError as error:
            msg = f"{file} is not readable as a raster: {error}. Give a GeoTIFF of {what}."
            raise DataError(msg) from error
        if raster.crs is None:
            msg = f"{file} has no CRS; write it into the file first, for example with gdal_edit.py -a_srs EPSG:4326"
            raise CrsError(msg)
        if not np.isfinite(tuple(raster.transform)[:6]).all() or raster.transform.is_degenerate:
            msg = f"{file} has pixels without a size or a place; write their size and place into it with gdal_edit.py"
            raise DataError(msg)
        if not is_placed:
            msg = f"{file} does not say where its pixels are; write that into the file first, with gdal_edit.py -a_ullr"
            raise DataError(msg)
        yield raster


def values_of(
    raster: Any,
    band: int,
    part: tuple[int, int, int, int],
    *,
    dtype: str = "float64",
    shape: tuple[int, int] | None = None,
) -> AnyArray:
    """
    Return the values of a part of a band, with the scale and the offset of the band.

    Parameters
    ----------
    raster : rasterio.DatasetReader
        From `opened`.
    band : int
        Number of the band, from 1.
    part : tuple of int
        First column, first row, number of columns, number of rows.
    dtype : {"float64", "float32"}
    shape : tuple of int, optional
        Number of rows and columns to which pixels are averaged; by default those of `part`.

    Returns
    -------
    array of shape (n_rows, n_columns)
        NaN where a pixel has no data: the nodata value, outside of the mask, or transparent.

    Raises
    ------
    InputError
        If the band has no real numbers.
    DataError
        If the file is damaged, or the scale or the offset of the band cannot be.
    """
    from rasterio.enums import Resampling  # noqa: PLC0415 - an optional extra
    from rasterio.errors import RasterioError  # noqa: PLC0415
    from rasterio.windows import Window  # noqa: PLC0415

    own, scale, offset = raster.dtypes[band - 1], raster.scales[band - 1], raster.offsets[band - 1]
    if own not in _REAL:
        msg = f"{raster.name} has values of {own} in band {band}, expected real numbers. Convert it with gdal_translate"
        raise InputError(msg)
    if not (np.isfinite(scale) and np.isfinite(offset)) or scale == 0.0:
        msg = (
            f"{raster.name} has the scale {scale:g} and the offset {offset:g} in band {band}, with which all of its "
            "values are the same or none; correct them with gdal_edit.py -scale 1 -offset 0"
        )
        raise DataError(msg)
    try:
        found = raster.read(
            band,
            window=Window(*part),
            out_shape=shape,
            masked=True,
            out_dtype=dtype,
            resampling=Resampling.nearest if shape is None else Resampling.average,
        )
    except RasterioError as error:
        msg = f"{raster.name} is damaged: {error}. Copy or download the file again"
        raise DataError(msg) from error
    values = np.ma.filled(found, np.nan)
    kind = np.dtype(dtype).type
    with np.errstate(over="ignore", invalid="ignore"):  # the caller detects values that are not finite
        values *= kind(scale)
        values += kind(offset)
    return np.asarray(values, dtype)


def _blocks(raster: Any, band: int, part_m: float) -> Iterator[Pixels]:
    """Yield the pixels of an open raster, a few rows at a time."""
    to_degrees = pyproj.Transformer.from_crs(pyproj.CRS.from_user_input(raster.crs), WGS84, always_xy=True)
    parts = _parts_per_side(raster, to_degrees, part_m)
    offset = (np.arange(parts) + 0.5) / parts
    across, down = (values.ravel() for values in np.meshgrid(offset, offset))
    step = max(1, _AT_ONCE // (raster.width * parts**2))
    for first in range(0, raster.height, step):
        n_rows = min(step, raster.height - first)
        counts = values_of(raster, band, (0, first, raster.width, n_rows))
        if np.isinf(counts).any():
            msg = f"{raster.name} has infinite counts; if they stand for missing pixels, write NaN in their place"
            raise InputError(msg)
        if (counts < 0.0).any():
            msg = (
                f"{raster.name} has negative counts, such as {np.nanmin(counts):g}; if that stands for missing pixels, "
                "declare it as the nodata value of the file"
            )
            raise InputError(msg)
        rows, columns = np.nonzero(counts > 0.0)
        a = raster.transform
        column, row = columns[:, None] + across, rows[:, None] + first + down
        lng, lat = to_degrees.transform(a.a * column + a.b * row + a.c, a.d * column + a.e * row + a.f)
        if not (np.isfinite(lng).all() and np.isfinite(lat).all()):
            msg = f"{raster.name} has pixels outside of the range of its CRS {raster.crs}; is the CRS right?"
            raise CrsError(msg)
        yield Pixels(counts[rows, columns], np.asarray(lng), np.asarray(lat))


def _parts_per_side(raster: Any, to_degrees: pyproj.Transformer, part_m: float) -> int:
    """Return the number of parts into which a side of a pixel is divided."""
    a = raster.transform
    column = raster.width / 2.0 + np.array([0.0, 1.0, 0.0])
    row = raster.height / 2.0 + np.array([0.0, 0.0, 1.0])
    lng, lat = to_degrees.transform(a.a * column + a.b * row + a.c, a.d * column + a.e * row + a.f)
    sides = [pyproj.Geod(ellps="WGS84").inv(lng[0], lat[0], lng[i], lat[i])[2] for i in (1, 2)]
    if not np.isfinite(sides).all():
        msg = f"{raster.name} has pixels outside of the range of its CRS {raster.crs}; is the CRS right?"
        raise CrsError(msg)
    return int(np.clip(np.ceil(max(sides) / part_m), 1, 100))
