"""
Results as files, by the ending of their names, and as text for other programs.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import geopandas as gpd
import pandas as pd

from traveltime_lab._files import geojson, geoparquet, writable, write_bytes
from traveltime_lab.errors import InputError, TravelTimeError
from traveltime_lab.search.receipts.record import KEY
from traveltime_lab.search.replay.receipt import receipt


def _csv(table: pd.DataFrame, name: str, is_points: bool) -> bytes:
    """Return a table as CSV: points in the columns ``lng`` and ``lat``, other geometries as WKT."""
    own = ("lng", "lat") if is_points else ("geometry",)
    flat = _flat(table, own if isinstance(table, gpd.GeoDataFrame) else ())
    if isinstance(flat, gpd.GeoDataFrame):
        geometry = flat.geometry
        flat = pd.DataFrame(flat.drop(columns=geometry.name))
        if is_points:
            flat["lng"], flat["lat"] = geometry.x, geometry.y
        else:
            flat["geometry"] = geometry.to_wkt()
    return str(flat.to_csv(index=False, lineterminator="\n")).encode()


def _geojson(table: pd.DataFrame, name: str, is_points: bool) -> bytes:
    members = {KEY: receipt(table)} if KEY in table.attrs else {}
    return geojson(_flat(table), name, **members)


def _geopackage(table: pd.DataFrame, name: str, is_points: bool) -> bytes:
    # In memory, because GDAL does not report every file that it could not complete.
    buffer = io.BytesIO()
    layer = _flat(table, _OF_GEOPACKAGE)
    for column in layer.select_dtypes("datetimetz"):
        layer[column] = layer[column].dt.tz_convert("UTC")  # as the format demands
    layer.to_file(buffer, driver="GPKG", layer=name)
    return buffer.getvalue()


def _parquet(table: pd.DataFrame, name: str, is_points: bool) -> bytes:
    # With its index and categories, so that it is read as the library has returned it.
    return geoparquet(_plain(table))


_WRITERS: Final[Mapping[str, Callable[[pd.DataFrame, str, bool], bytes]]] = {
    ".csv": _csv,
    ".geojson": _geojson,
    ".json": _geojson,
    ".gpkg": _geopackage,
    ".parquet": _parquet,
    ".geoparquet": _parquet,
}


#: Columns that each layer of a GeoPackage has.
_OF_GEOPACKAGE: Final = ("fid", "geom")
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


def _content(table: pd.DataFrame, suffix: str, name: str, is_points: bool) -> bytes:
    """Return a result as the content of a file."""
    try:
        return _WRITERS[suffix](table, name, is_points)
    except TravelTimeError:
        raise
    except (RuntimeError, TypeError, ValueError) as error:  # of GDAL, pyogrio and pyarrow
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        msg = f"the result cannot be written as {suffix}: {reason}. Choose another format, or other labels with --id"
        raise InputError(msg) from error


def write(table: pd.DataFrame, path: Path, name: str, *, is_points: bool) -> None:
    """
    Write a result whole, or not at all.

    Parameters
    ----------
    table : DataFrame or GeoDataFrame
    path : Path
        Its ending chooses the format.
    name : str
        Name of the layer.
    is_points : bool
        Whether the geometries are points, also if all are missing. CSV has them in columns of their own.

    Raises
    ------
    FileAccessError
        If the file cannot be written.
    InputError
        If the format cannot have the table.
    """
    content = _content(table, path.suffix.lower(), name, is_points)
    write_bytes(path, content, what="the result", example="result.gpkg")


def show(table: pd.DataFrame, form: str, name: str, *, is_points: bool) -> None:
    """
    Write a result to stdout.

    Parameters
    ----------
    table : DataFrame or GeoDataFrame
    form : {"csv", "geojson"}
    name : str
        Name of the layer.
    is_points : bool
        As in `write`.
    """
    content = _content(table, f".{form}", name, is_points)
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
            plain[name] = column.map(_text, na_action="ignore")
    return plain


def _text(value: Any) -> str:
    """Return a value as text; tables and lists as JSON, which other programs read."""
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _flat(table: pd.DataFrame, reserved: Sequence[str] = ()) -> Any:
    """
    Return a table for CSV and GDAL, which have no index and no categories.

    Columns with the names of `reserved`, in capitals or not, get an underscore, so that the format does not replace
    them.
    """
    flat = _plain(table)
    geometry = flat.geometry.name if isinstance(flat, gpd.GeoDataFrame) else None
    others = [name for name in flat.columns if name != geometry]
    flat = flat.rename(columns={name: f"{name}_" for name in others if str(name).lower() in reserved})
    for name in flat.columns:
        if isinstance(flat[name].dtype, pd.CategoricalDtype):
            flat[name] = flat[name].astype("object")
    if "moment" in flat.index.names:
        return flat.reset_index()
    # The rows of results without labels are numbered only.
    if flat.index.name is None:
        return flat.reset_index(drop=True)
    # SQLite, and so GeoPackage, takes names in capitals for the same.
    taken = {*reserved, *(str(name).lower() for name in flat.columns)}
    free = next(name for name in (flat.index.name, "id", "label", "label_") if str(name).lower() not in taken)
    return flat.rename_axis(index=free).reset_index()
