"""
Results as files, by the ending of their names, and as text for other programs.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import geopandas as gpd
import pandas as pd

from traveltime_lab._files import geojson, geoparquet, writable, write_bytes
from traveltime_lab.errors import InputError
from traveltime_lab.search.receipts.record import KEY
from traveltime_lab.search.replay.receipt import receipt


def _csv(table: pd.DataFrame, name: str) -> bytes:
    """Return a table as CSV: points in the columns ``lng`` and ``lat``, other geometries as WKT."""
    flat = _flat(table)
    if isinstance(flat, gpd.GeoDataFrame):
        geometry = flat.geometry
        flat = pd.DataFrame(flat.drop(columns=geometry.name))
        if (geometry.isna() | geometry.is_empty | (geometry.geom_type == "Point")).all() and not geometry.isna().all():
            flat["lng"], flat["lat"] = geometry.x, geometry.y
        else:
            flat["geometry"] = geometry.to_wkt()
    return str(flat.to_csv(index=False, lineterminator="\n")).encode()


def _geojson(table: pd.DataFrame, name: str) -> bytes:
    members = {KEY: receipt(table)} if KEY in table.attrs else {}
    return geojson(_flat(table), name, **members)


def _geopackage(table: pd.DataFrame, name: str) -> bytes:
    # In memory, because GDAL does not report every file that it could not complete.
    buffer = io.BytesIO()
    layer = _flat(table)
    for column in layer.select_dtypes("datetimetz"):
        layer[column] = layer[column].dt.tz_convert("UTC")  # as the format demands
    layer.to_file(buffer, driver="GPKG", layer=name)
    return buffer.getvalue()


def _parquet(table: pd.DataFrame, name: str) -> bytes:
    # With its index and categories, so that it is read as the library has returned it.
    return geoparquet(_plain(table))


_WRITERS: Final[Mapping[str, Callable[[pd.DataFrame, str], bytes]]] = {
    ".csv": _csv,
    ".geojson": _geojson,
    ".json": _geojson,
    ".gpkg": _geopackage,
    ".parquet": _parquet,
    ".geoparquet": _parquet,
}


#: Formats of GDAL, by ending.
_LAYERS: Final = {".geojson": "GeoJSON", ".json": "GeoJSON", ".gpkg": "GeoPackage"}


def check_out(path: Path | None, form: str, *, has_geometry: bool) -> None:
    """
    Raise an error if a result cannot be written; called before the search.

    Parameters
    ----------
    path : Path or None
        None for stdout.
    form : {"csv", "geojson"}
        Format of stdout.
    has_geometry : bool
        Whether the result will have a geometry.

    Raises
    ------
    InputError
        If the ending stands for no format or for one that needs a geometry, or the path is a folder, a device, a pipe
        or a socket.
    MissingFileError
        If the folder does not exist.
    """
    suffix = f".{form}" if path is None else path.suffix.lower()
    if suffix not in _WRITERS:
        raise InputError(f"--out must end with {', '.join(_WRITERS)}; got {str(path)!r}")
    if suffix in _LAYERS and not has_geometry:
        way = "--format csv" if path is None else "--out with .csv or .parquet"
        raise InputError(f"the result has no geometry, which {_LAYERS[suffix]} needs; use {way}")
    if path is not None:
        writable(path, what="the result", example="result.gpkg")


def write(table: pd.DataFrame, path: Path, name: str) -> None:
    """
    Write a result whole, or not at all.

    Parameters
    ----------
    table : DataFrame or GeoDataFrame
    path : Path
        Its ending chooses the format.
    name : str
        Name of the layer.

    Raises
    ------
    FileAccessError
        If the file cannot be written.
    """
    write_bytes(path, _WRITERS[path.suffix.lower()](table, name), what="the result", example="result.gpkg")


def show(table: pd.DataFrame, form: str, name: str) -> None:
    """
    Write a result to stdout.

    Parameters
    ----------
    table : DataFrame or GeoDataFrame
    form : {"csv", "geojson"}
    name : str
        Name of the layer.
    """
    content = _WRITERS[f".{form}"](table, name)
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        # A reader such as head has what it needs. Python would write the rest when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _plain(table: pd.DataFrame) -> Any:
    """Return a table with texts instead of objects, and names of columns in one level."""
    plain = table.copy()
    if not isinstance(plain, gpd.GeoDataFrame):
        names = plain.columns
        is_deep = isinstance(names, pd.MultiIndex)
        plain.columns = pd.Index([" ".join(map(str, name)) if is_deep else str(name) for name in names])
    for name in plain.columns:
        column = plain[name]
        if column.dtype == object and not column.map(lambda value: isinstance(value, str) or value is None).all():
            plain[name] = column.map(str, na_action="ignore")
    return plain


def _flat(table: pd.DataFrame) -> Any:
    """Return a table for CSV and GDAL, which have no index and no categories."""
    flat = _plain(table)
    for name in flat.columns:
        if isinstance(flat[name].dtype, pd.CategoricalDtype):
            flat[name] = flat[name].astype("object")
    # The rows of results without labels are numbered only.
    if flat.index.name is None:
        return flat.reset_index(drop=True)
    free = next(name for name in (flat.index.name, "id", "label", "label_") if name not in flat.columns)
    return flat.rename_axis(index=free).reset_index()
