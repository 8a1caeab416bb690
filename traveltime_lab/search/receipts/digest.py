"""
A hash of the content of a table, which is the same after the table was written to Parquet and read again.

Labels, column names and values count; properties that a file may change without a change of values do not: the width of
whole numbers, the encoding of texts, the order of categories, the unit in which moments are stored.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import shapely

from traveltime_lab._digests import digest


class Digest:
    """The hash of a table that is given in one or several pieces, from first to last row."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._columns: dict[str, Any] = {}

    def add(self, rows: pd.DataFrame) -> None:
        """Add the next rows."""
        # The flag of the border is about the extract: networks with and without a known border have equal answers.
        rows = rows.drop(columns="reaches_border", errors="ignore")
        names = [str(_plain(name)) for name in rows.columns]
        pieces: list[tuple[str, Any]] = [
            (f"{number} {name}", rows.iloc[:, number]) for number, name in enumerate(names)
        ]
        if not _is_counted(rows.index):
            pieces.insert(0, ("labels", rows.index))
        for name, values in pieces:
            if name not in self._columns:
                self._columns[name] = digest()
            for content in _bytes_of(values):
                self._columns[name].update(content)
        self.n_rows += len(rows)

    def hexdigest(self) -> str:
        """Return the hash as 32 hexadecimal digits."""
        columns = (json.dumps([name, column.hexdigest()]).encode() for name, column in self._columns.items())
        return digest(f"{self.n_rows}".encode(), *columns).hexdigest()


def digest_of(table: pd.DataFrame) -> str:
    """Return the hash of a table."""
    found = Digest()
    found.add(table)
    return found.hexdigest()


def digest_of_arrays(columns: Mapping[str, Any]) -> str:
    """Return the hash of labels and columns that are no table yet."""
    total = digest()
    for name, values in columns.items():
        total.update(json.dumps(name).encode())
        for content in _bytes_of(values):
            total.update(content)
    return total.hexdigest()


def _is_counted(labels: pd.Index) -> bool:
    """Return whether labels are 0, 1, 2 and so on; a file may leave them out, and parts of it count from 0 again."""
    if isinstance(labels, pd.RangeIndex):
        return bool(labels.start == 0 and labels.step == 1)
    return labels.dtype.kind in "iu" and bool((labels.to_numpy() == np.arange(len(labels))).all())


def _bytes_of(values: Any) -> Iterable[bytes]:
    """Yield the content of a column; the contents of two pieces are together that of the whole column."""
    if isinstance(values, pd.MultiIndex):
        values = values.to_flat_index()
    column = pd.Series(values).reset_index(drop=True)
    dtype = column.dtype
    if dtype.name == "geometry":
        yield from map(_shape, shapely.to_wkb(np.asarray(column.array)))
    elif isinstance(dtype, pd.CategoricalDtype):
        yield from _texts(column.astype(object))
    elif pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_integer_dtype(dtype):
        yield from _whole_numbers(column)
    elif pd.api.types.is_float_dtype(dtype):
        numbers = column.to_numpy(np.float64, na_value=np.nan) + 0.0  # no negative zero
        yield np.where(np.isnan(numbers), np.nan, numbers).astype("<f8").tobytes()
    elif pd.api.types.is_datetime64_any_dtype(dtype):
        utc = column.dt.tz_convert("UTC").dt.tz_localize(None) if column.dt.tz is not None else column
        yield utc.to_numpy("datetime64[ns]").astype("<i8").tobytes()
    else:
        yield from _texts(column)


def _whole_numbers(column: pd.Series) -> Iterable[bytes]:
    """Yield value and presence of each number, side by side so that pieces can follow one another."""
    is_missing = column.isna().to_numpy()
    pairs = np.empty((len(column), 2), "<i8")
    pairs[:, 0] = column.fillna(0).to_numpy().astype(np.int64)
    pairs[:, 1] = is_missing
    yield pairs.tobytes()


def _shape(content: bytes | None) -> bytes:
    """Return a shape after its length."""
    return b"none" if content is None else len(content).to_bytes(8, "little") + content


def _texts(column: pd.Series) -> Iterable[bytes]:
    """Yield the values of a column of texts or other objects."""
    is_missing = column.isna().to_numpy()
    for value, is_lost in zip(column.to_numpy(object), is_missing, strict=True):
        if isinstance(value, bytes):
            yield _shape(value)  # a shape that was read as a plain column
        else:
            text = "null" if is_lost else json.dumps(_plain(value), default=_plain, sort_keys=True)
            yield (text + "\n").encode("utf-8", "surrogatepass")


def _plain(value: Any) -> Any:
    """Return a value of JSON for an object."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, shapely.Geometry):
        return value.wkb_hex
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int | float | bool | dict):
        return value
    return str(type(value))
