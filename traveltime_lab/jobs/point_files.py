"""
Read points from a file: GeoParquet, GeoPackage and other formats of GDAL, and tables with ``lng`` and ``lat``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import geopandas as gpd
import pandas as pd

from traveltime_lab._csv import read_csv, separator_of
from traveltime_lab._files import as_path, is_file
from traveltime_lab._parquet import check_size
from traveltime_lab.errors import DataError, MissingFileError, TravelTimeError
from traveltime_lab.points import plain

_CSV: Final = (".csv", ".csv.gz", ".tsv", ".txt")
_PARQUET: Final = (".parquet", ".geoparquet", ".pq")
#: Names of the columns of longitude and latitude, in small letters; the first pair that is there counts.
_LNG_LAT: Final = (
    ("lng", "lat"), ("lon", "lat"), ("long", "lat"), ("longitude", "latitude"), ("x", "y")
)  # fmt: skip
_DECIMAL_COMMA: Final = r"^(\s*-?\d+),(\d+\s*)$"
#: Thousands, or a number with three decimals; 0,500 can only be the latter.
_AMBIGUOUS: Final = r"\s*-?[1-9]\d{0,2},\d{3}\s*"
#: Column of the labels if none is named.
_ID: Final = "id"


def read_point_file(
    path: str | os.PathLike[str],
    id_column: str | None = None,
    layer: str | None = None,
    *,
    numbers: Sequence[str] = (),
) -> gpd.GeoDataFrame:
    """
    Read labelled points from a file.

    Parameters
    ----------
    path : path-like
        ``.parquet`` and ``.csv`` files may have the columns ``lng`` and ``lat`` (EPSG:4326) instead of a geometry, also
        called ``lon``, ``long`` or ``longitude`` and ``latitude``, or ``x`` and ``y``, in capitals or not. The columns
        of ``.csv`` files are separated by commas, semicolons, tabs or bars; numbers may have decimal commas, unless
        the separator is a comma. Other files are read by GDAL.
    id_column : str, optional
        Column of the labels; by default ``id`` if there is one, otherwise they are 0, 1, 2 ...
    layer : str, optional
        Layer of a file that has several, such as a GeoPackage.
    numbers : sequence of str, default ()
        Columns of numbers to read as well. Texts such as ``12,500`` are refused, as they may be thousands.

    Returns
    -------
    GeoDataFrame
        The points in the CRS of the file, with the labels as index: int64 if all of them are written as whole numbers,
        otherwise texts.

    Raises
    ------
    MissingFileError
        If there is no such file.
    DataError
        If it cannot be read, has no CRS or several layers, or if a column is missing or has labels of other types.
    """
    source = as_path(path, "path")
    if not is_file(source):
        msg = f"no file of points at {source}"
        raise MissingFileError(msg)
    try:
        separator = _separator(source)
        table = _read(source, layer, separator)
        labelled = _labelled(table, source, id_column)
        for name in numbers:
            labelled[name] = _numbers(table, name, source, separator).to_numpy()
        return labelled
    except TravelTimeError:
        raise
    except UnicodeDecodeError as error:
        msg = f"{source} is not in UTF-8 ({error.reason} in position {error.start}); save it in UTF-8"
        raise DataError(msg) from error
    except Exception as error:  # readers of many formats raise errors of many kinds
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        msg = f"{source} cannot be read as a file of points: {reason}"
        raise DataError(msg) from error


def _labelled(table: gpd.GeoDataFrame, source: Path, id_column: str | None) -> gpd.GeoDataFrame:
    """Return the points of a table with the labels of a column as index."""
    if table.crs is None:
        msg = f"{source} has no CRS; save it with one, such as EPSG:4326"
        raise DataError(msg)
    if not len(table):
        msg = f"{source} has no rows"
        raise DataError(msg)
    column = id_column if id_column is not None else (_ID if _ID in table.columns else None)
    if column is None:
        return table.reset_index(drop=True)[["geometry"]]
    if column not in table.columns or column == "geometry":
        msg = f"{source} has no column {column!r}; its columns are {_listed(table)}"
        raise DataError(msg)
    labels = _labels(table[column])
    if labels.isna().any():
        msg = f"{source} has no {column!r} in row {int(labels.isna().argmax()) + 1}"
        raise DataError(msg)
    if labels.duplicated().any():
        msg = f"{source} has the {column!r} {plain(labels[labels.duplicated()].iloc[0])!r} more than once"
        raise DataError(msg)
    if not pd.api.types.is_integer_dtype(labels.dtype) and not _are_texts(labels):
        msg = (
            f"{source} must have texts or whole numbers in the column {column!r}; row 1 has "
            f"{plain(labels.iloc[0])!r}. Name another column with --id"
        )
        raise DataError(msg)
    return table[["geometry"]].set_index(pd.Index(labels, name=column))


def _numbers(table: gpd.GeoDataFrame, name: str, source: Path, separator: str | None) -> pd.Series:
    """Return a column of numbers."""
    if name not in table.columns or name == "geometry":
        msg = f"{source} has no column {name!r}; its columns are {_listed(table)}"
        raise DataError(msg)
    if pd.api.types.is_string_dtype(table[name].dtype):
        unclear = table[name].astype("str").str.fullmatch(_AMBIGUOUS).fillna(False).astype("bool")
        if unclear.any():
            row = int(unclear.argmax())
            text = plain(table[name].iloc[row])
            whole, point = (text.strip().replace(",", each) for each in ("", "."))
            msg = (
                f"{source} has {text!r} as {name} in row {row + 1}, which may be thousands or decimals; write it as "
                f"{whole} or {point}"
            )
            raise DataError(msg)
    values = _as_numbers(table[name], separator)
    wrong = values.isna() & table[name].notna()
    if wrong.any():
        row = int(wrong.argmax())
        msg = f"{source} has {plain(table[name].iloc[row])!r} as {name} in row {row + 1}, which is not a number"
        raise DataError(msg)
    return values


def _are_texts(labels: pd.Series) -> bool:
    return bool(pd.api.types.infer_dtype(labels) == "string")


def _separator(source: Path) -> str | None:
    """Return the separator of the columns of a text file, None for other files."""
    name = source.name.lower()
    if not name.endswith(_CSV):
        return None
    return "\t" if name.endswith(".tsv") else separator_of(source, encoding="utf-8-sig")


def _read(source: Path, layer: str | None, separator: str | None) -> gpd.GeoDataFrame:
    """Read a file as a GeoDataFrame whose geometry is called so."""
    name = source.name.lower()
    if name.endswith((*_CSV, *_PARQUET)) and layer is not None:
        msg = f"{source} has no layers; leave {layer!r} out"
        raise DataError(msg)
    if separator is not None:
        # As texts: "007" is not 7. Nor is "NA" missing.
        table = read_csv(
            source, dtype="string", sep=separator, encoding="utf-8-sig", keep_default_na=False, na_values=[""]
        )
        return _from_columns(table, source, separator)
    if name.endswith(_PARQUET):
        check_size(source)
        try:
            found = gpd.read_parquet(source)
        except ValueError:
            # Without metadata of GeoParquet.
            return _from_columns(pd.read_parquet(source), source)
    else:
        found = gpd.read_file(source, layer=_layer(source, layer))
        if not isinstance(found, gpd.GeoDataFrame):
            return _from_columns(found, source)
    found = found.reset_index() if found.index.name else found
    return found if found.geometry.name == "geometry" else found.rename_geometry("geometry")


def _layer(source: Path, layer: str | None) -> str | None:
    """Return the layer to read, or raise DataError if there are several and none of them is meant."""
    there = gpd.list_layers(source)
    names = there.loc[there["geometry_type"].notna(), "name"].tolist() or there["name"].tolist()
    if layer is not None and layer not in there["name"].tolist():
        msg = f"{source} has no layer {layer!r}; its layers are {', '.join(map(repr, names))}"
        raise DataError(msg)
    if layer is None and len(names) > 1:
        msg = f"{source} has several layers: {', '.join(map(repr, names))}. Name one of them with --layer"
        raise DataError(msg)
    return layer if layer is not None else (names[0] if names else None)


def _as_numbers(column: pd.Series, separator: str | None) -> pd.Series:
    """
    Return a column as floats, of texts with decimal points or commas; NaN where it has no number.

    Where commas separate the columns, a comma within a number separates thousands more often than decimals.
    """
    if separator != "," and pd.api.types.is_string_dtype(column.dtype):
        column = column.astype("str").str.replace(_DECIMAL_COMMA, r"\1.\2", regex=True)
    return pd.to_numeric(column, errors="coerce").astype("float64")


def _from_columns(table: pd.DataFrame, source: Path, separator: str | None = None) -> gpd.GeoDataFrame:
    """Return the points of the columns ``lng`` and ``lat``, or of those with other names for them."""
    named = {str(name).strip().lower(): name for name in reversed(table.columns)}
    chosen = next((pair for pair in _LNG_LAT if set(pair) <= set(named)), None)
    if chosen is None:
        name = "lat" if any(lng in named for lng, _ in _LNG_LAT) else "lng"
        others = ", ".join(" and ".join(pair) for pair in _LNG_LAT[1:])
        msg = (
            f"{source} has no column {name!r}; its columns are {_listed(table)}. Points need lng and lat (or {others})"
        )
        raise DataError(msg)
    values = {}
    for name in (named[each] for each in chosen):
        values[name] = _as_numbers(table[name], separator)
    for name, column in values.items():
        if column.isna().any():
            row = int(column.isna().argmax())
            msg = f"{source} has {table[name].iloc[row]!r} as {name} in row {row + 1}, which is not a number"
            raise DataError(msg)
    geometry = gpd.points_from_xy(*values.values(), crs="EPSG:4326")
    return gpd.GeoDataFrame(table.drop(columns="geometry", errors="ignore"), geometry=geometry)


def _labels(column: pd.Series) -> pd.Series:
    """Return labels as int64 if all are written as whole numbers, as they are otherwise."""
    if pd.api.types.is_string_dtype(column.dtype) and not column.isna().any():
        texts = column.astype("str")
        is_whole = texts.str.fullmatch(r"0|-?[1-9][0-9]{0,17}")
        return texts.astype("int64") if is_whole.all() else texts
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype(column.cat.categories.dtype)
    return column


def _listed(table: Any) -> str:
    return ", ".join(repr(name) for name in table.columns if name != "geometry")
