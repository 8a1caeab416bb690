"""
Read points from a file: GeoParquet, GeoPackage and other formats of GDAL, and tables with ``lng`` and ``lat``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import geopandas as gpd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyproj

from traveltime_lab._checks import composed, did_you_mean
from traveltime_lab._csv import header_of, read_csv, separator_of
from traveltime_lab._files import as_path, is_file
from traveltime_lab._parquet import check_size
from traveltime_lab.errors import DataError, InputError, MissingFileError, TravelTimeError
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
#: Decimal marks, and names of separators that are hard to type.
_DECIMALS: Final = (".", ",")
_NAMED_SEPARATORS: Final = {"tab": "\t", r"\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}


@dataclass(frozen=True)
class _Written:
    """
    How a file has its points and numbers.

    Attributes
    ----------
    lng, lat : str or None
        Columns of the coordinates; None for those with a usual name, or a geometry.
    separator : str or None
        Separator of columns; None for files that are no text.
    decimal : str or None
        Decimal mark; None for a point, or a comma where it separates no columns.
    crs : str
        CRS of the columns of coordinates.
    """

    lng: str | None
    lat: str | None
    separator: str | None
    decimal: str | None
    crs: str


def read_point_file(
    path: str | os.PathLike[str],
    id_column: str | None = None,
    layer: str | None = None,
    *,
    numbers: Sequence[str] = (),
    lng: str | None = None,
    lat: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    crs: str | None = None,
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
        Columns of numbers to read as well. Texts such as ``12,500`` are refused, as they may be thousands, unless
        `decimal` says what the comma is.
    lng, lat : str, optional
        Columns of longitude and latitude, or of x and y in `crs`. They count before other names, and before a geometry.
    separator : str, optional
        Separator of the columns of a text file: a character, or one of the words tab, comma, semicolon, bar and space.
        By default the one of ``, ; tab |`` that its header has most often.
    decimal : {".", ","}, optional
        Decimal mark of a text file. By default numbers may have either, unless commas separate the columns. With a
        comma, these must be quoted.
    crs : str, optional
        CRS of the columns of coordinates, such as ``"EPSG:31370"``; by default EPSG:4326.

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
    InputError
        If only one of `lng` and `lat` is given, or separator, decimal mark or CRS are not valid.
    """
    source = as_path(path, "path")
    if (lng is None) != (lat is None):
        there, missing = ("lng", "lat") if lat is None else ("lat", "lng")
        msg = f"--{there} names a column of coordinates without the other; add --{missing}"
        raise InputError(msg)
    if not is_file(source):
        msg = f"no file of points at {source}"
        raise MissingFileError(msg)
    try:
        written = _Written(lng, lat, _separator(source, separator, decimal), decimal, _crs(crs))
        table = _read(source, layer, written, has_crs=crs is not None)
        labelled = _labelled(table, source, id_column)
        for name in numbers:
            labelled[name] = _numbers(table, name, source, written).to_numpy()
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


def is_text_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file of points is a text file with columns, by the ending of its name."""
    return os.fspath(path).lower().endswith(_CSV)


def column_names(path: str | os.PathLike[str], separator: str | None = None) -> list[str]:
    """Return the names of the columns of a text file or a Parquet file, none for other files and unreadable ones."""
    source = as_path(path, "path")
    try:
        if is_text_file(source):
            return header_of(source, encoding="utf-8-sig", separator=_separator(source, separator, None) or ",")
        if source.name.lower().endswith(_PARQUET):
            check_size(source)
            return [str(name) for name in pq.read_schema(source).names]
    except (OSError, ValueError, TravelTimeError, pa.ArrowException):  # which reading its points explains
        return []
    return []


def _labelled(table: gpd.GeoDataFrame, source: Path, id_column: str | None) -> gpd.GeoDataFrame:
    """Return the points of a table with the labels of a column as index."""
    if table.crs is None:
        msg = f"{source} has no CRS; save it with one, such as EPSG:4326"
        raise DataError(msg)
    if not len(table):
        msg = f"{source} has no rows"
        raise DataError(msg)
    if id_column is None and _ID not in table.columns:
        return table.reset_index(drop=True)[["geometry"]]
    column = _column(table, _ID if id_column is None else id_column)
    if column is None or column == "geometry":
        raise DataError(_no_column(table, source, str(id_column)))
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


def _numbers(table: gpd.GeoDataFrame, name: str, source: Path, written: _Written) -> pd.Series:
    """Return a column of numbers."""
    column = _column(table, name)
    if column is None or column == "geometry":
        raise DataError(_no_column(table, source, name))
    name = column
    _check_clear(table, name, source, written)
    values = _as_numbers(table[name], written)
    wrong = values.isna() & table[name].notna()
    if wrong.any():
        row = int(wrong.argmax())
        msg = f"{source} has {plain(table[name].iloc[row])!r} as {name} in row {row + 1}, which is not a number"
        raise DataError(msg)
    return values


def _check_clear(table: pd.DataFrame, name: Any, source: Path, written: _Written) -> None:
    """Raise DataError if a column has texts that may be thousands or decimals."""
    if written.decimal is None and pd.api.types.is_string_dtype(table[name].dtype):
        unclear = table[name].astype("str").str.fullmatch(_AMBIGUOUS).fillna(False).astype("bool")
        if unclear.any():
            row = int(unclear.argmax())
            text = plain(table[name].iloc[row])
            whole, point = (text.strip().replace(",", each) for each in ("", "."))
            msg = (
                f"{source} has {text!r} as {name} in row {row + 1}, which may be thousands or decimals; write it as "
                f"{whole} or {point}, or choose the decimal mark with --decimal"
            )
            raise DataError(msg)


def _are_texts(labels: pd.Series) -> bool:
    return bool(pd.api.types.infer_dtype(labels) == "string")


def _separator(source: Path, given: str | None, decimal: str | None) -> str | None:
    """Return the separator of the columns of a text file, None for other files."""
    name = source.name.lower()
    if decimal is not None and decimal not in _DECIMALS:
        msg = f"--decimal must be . or a comma; got {decimal!r}"
        raise InputError(msg)
    if not is_text_file(source):
        option = "separator" if given is not None else "decimal" if decimal is not None else None
        if option is not None:
            msg = f"{source} is not a text file such as .csv, which --{option} is for; leave it out"
            raise InputError(msg)
        return None
    if given is None:
        return "\t" if name.endswith(".tsv") else separator_of(source, encoding="utf-8-sig")
    words = ", ".join(word for word in _NAMED_SEPARATORS if word.isalpha())
    separator = _NAMED_SEPARATORS.get(given.lower(), given)
    if len(separator) != 1 or separator in '"\r\n' or separator.isalnum():
        msg = f"--separator must be one character, or one of {words}; got {given!r}"
        raise InputError(msg)
    return separator


def _crs(given: str | None) -> str:
    """Return a CRS that pyproj reads, EPSG:4326 by default."""
    if given is None:
        return "EPSG:4326"
    try:
        found = pyproj.CRS.from_user_input(given)
    except pyproj.exceptions.CRSError as error:
        msg = f"--crs must be a CRS such as EPSG:31370; got {given!r}"
        raise InputError(msg) from error
    # A compound CRS has a horizontal one, in which columns of two coordinates are.
    horizontal = found.sub_crs_list[0] if found.is_compound else found
    if not (horizontal.is_projected or horizontal.is_geographic) or horizontal.is_geocentric:
        msg = f"--crs must be a geographic or projected CRS such as EPSG:31370; {given!r} is a {found.type_name}"
        raise InputError(msg)
    return given


def _read(source: Path, layer: str | None, written: _Written, *, has_crs: bool) -> gpd.GeoDataFrame:
    """Read a file as a GeoDataFrame whose geometry is called so."""
    name = source.name.lower()
    if name.endswith((*_CSV, *_PARQUET)) and layer is not None:
        msg = f"{source} has no layers; leave {layer!r} out"
        raise DataError(msg)
    if written.separator is not None:
        # As texts: "007" is not 7. Nor is "NA" missing.
        table = read_csv(
            source, dtype="string", sep=written.separator, encoding="utf-8-sig", keep_default_na=False, na_values=[""]
        )
        return _from_columns(table, source, written)
    if name.endswith(_PARQUET):
        check_size(source)
        try:
            found = gpd.read_parquet(source)
        except ValueError:
            # Without metadata of GeoParquet.
            return _from_columns(pd.read_parquet(source), source, written)
    else:
        found = gpd.read_file(source, layer=_layer(source, layer))
    if not isinstance(found, gpd.GeoDataFrame):
        return _from_columns(found, source, written)
    found = found.reset_index() if found.index.name else found
    if written.lng is not None:
        return _from_columns(pd.DataFrame(found), source, written)
    if has_crs:
        msg = f"{source} has a geometry with a CRS of its own; leave --crs out"
        raise InputError(msg)
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


def _as_numbers(column: pd.Series, written: _Written) -> pd.Series:
    """
    Return a column as floats, of texts with decimal points or commas; NaN where it has no number.

    Where commas separate the columns, a comma within a number separates thousands more often than decimals.
    """
    if pd.api.types.is_string_dtype(column.dtype):
        column = column.astype("str")
        if written.decimal == ",":
            # A point is no decimal mark then, and may separate thousands.
            column = column.where(~column.str.contains(".", regex=False), "")
        if written.decimal == "," or (written.decimal is None and written.separator != ","):
            column = column.str.replace(_DECIMAL_COMMA, r"\1.\2", regex=True)
    return pd.to_numeric(column, errors="coerce").astype("float64")


def _from_columns(table: pd.DataFrame, source: Path, written: _Written) -> gpd.GeoDataFrame:
    """Return the points of the columns ``lng`` and ``lat``, or of those with other names for them."""
    names = _named_columns(table, source, written) or _usual_columns(table, source)
    values = {name: _as_numbers(table[name], written) for name in names}
    # Degrees have no thousands.
    is_projected = pyproj.CRS.from_user_input(written.crs).is_projected
    for name, column in values.items():
        if is_projected and written.separator != ",":
            _check_clear(table, name, source, written)
        is_wrong = ~np.isfinite(column.to_numpy())
        if is_wrong.any():
            row = int(is_wrong.argmax())
            value = plain(table[name].iloc[row])
            what = "an infinite number" if np.isinf(column.iloc[row]) else "not a number"
            msg = f"{source} has {value!r} as {name} in row {row + 1}, which is {what}"
            raise DataError(msg)
    geometry = gpd.points_from_xy(*values.values(), crs=written.crs)
    return gpd.GeoDataFrame(table.drop(columns="geometry", errors="ignore"), geometry=geometry)


def _named_columns(table: pd.DataFrame, source: Path, written: _Written) -> list[Any]:
    """Return the columns of the coordinates that are named; none if they are not."""
    found = []
    for requested in (written.lng, written.lat):
        if requested is not None:
            name = _column(table, requested)
            if name is None:
                raise DataError(_no_column(table, source, requested))
            found.append(name)
    if len(set(found)) == 1:
        msg = f"--lng and --lat both name the column {written.lng!r}; give each its own"
        raise InputError(msg)
    return found


def _column(table: pd.DataFrame, requested: str) -> Any:
    """Return the column that has a name, or has it without blanks around it and in any Unicode normalisation."""
    if requested in table.columns:
        return requested
    name = composed(requested.strip())
    return next((each for each in table.columns if composed(str(each).strip()) == name), None)


def _usual_columns(table: pd.DataFrame, source: Path) -> list[Any]:
    """Return the columns of the coordinates that have usual names."""
    named = {str(name).strip().lower(): name for name in reversed(table.columns)}
    chosen = next((pair for pair in _LNG_LAT if set(pair) <= set(named)), None)
    if chosen is None:
        name = "lat" if any(lng in named for lng, _ in _LNG_LAT) else "lng"
        others = ", ".join(" and ".join(pair) for pair in _LNG_LAT[1:])
        msg = f"Points need lng and lat (or {others}), unless --lng and --lat name others"
        raise DataError(f"{source} has no column {name!r}; its columns are {_listed(table)}. {msg}")
    return [named[each] for each in chosen]


def _labels(column: pd.Series) -> pd.Series:
    """Return labels as int64 if all are written as whole numbers, as they are otherwise."""
    if pd.api.types.is_string_dtype(column.dtype) and not column.isna().any():
        texts = column.astype("str")
        is_whole = texts.str.fullmatch(r"0|-?[1-9][0-9]{0,17}")
        return texts.astype("int64") if is_whole.all() else texts
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype(column.cat.categories.dtype)
    return column


def _no_column(table: Any, source: Path, requested: str) -> str:
    """Return the error about a column that is missing."""
    others = [str(name) for name in table.columns if name != "geometry"]
    hint = did_you_mean(requested, others)
    return f"{source} has no column {requested!r}; its columns are {_listed(table)}{hint}"


def _listed(table: Any) -> str:
    return ", ".join(repr(name) for name in table.columns if name != "geometry")
