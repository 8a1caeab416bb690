"""
Answers as bytes: equal exactly if columns, types, labels, values, coordinates and metadata are, to the last bit.

`normalised` is the one place where parts of an answer that depend on the time or the machine are replaced.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

import traveltime_lab as tl

_TIME = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?\+00:00"
#: What depends on the time, the machine or chance: patterns, and what stands for them.
_REPLACED: tuple[tuple[re.Pattern[bytes], bytes | Callable[[re.Match[bytes]], bytes]], ...] = (
    # When the files of a sample were written, in receipts and reports.
    (re.compile(rb"""(modified\\*["'](?:\]: str |: )\\*["'])""" + _TIME), rb"\1<modified>"),
    (re.compile(rb"((?:streets|timetable|elevation), )" + _TIME), rb"\1<modified>"),
    # The day on which the map of the service begins where there is no timetable: one of next week.
    (re.compile(rb"""("moment": ")[-\d]+(T08:00", "dates": null)"""), rb"\1<day>\2"),
    # The version of the package.
    (re.compile(rb"(?<![\d.])" + re.escape(tl.__version__.encode()) + rb"(?![\d.])"), b"<version>"),
    # Ports that are free by chance.
    (re.compile(rb"127\.0\.0\.1:\d+"), b"127.0.0.1:<port>"),
    # Sessions of browsers, by port, and the part of the addresses of tiles that keeps them from old caches.
    (re.compile(rb"traveltime_lab_\d+=[^;\s]+;"), b"traveltime_lab_<port>=<session>;"),
    (re.compile(rb"(<session>; expires=)[^;]+;"), rb"\1<now>;"),
    (re.compile(rb"(\.svg\?v=)[0-9a-f]+"), rb"\1<run>"),
    # What a first run says, and the seconds of the demo.
    (re.compile(rb"traveltime-lab: compiling, [^\n]*\n"), b""),
    (re.compile(rb"(\nDone in )[\d.]+ s"), rb"\1<seconds> s"),
    # Seconds until the count of hits begins anew.
    (re.compile(rb"(begins anew in )\d+( s)"), rb"\1<seconds>\2"),
    (re.compile(rb"^(429\n(?:.*\n)*?retry-after: )\d+"), rb"\1<seconds>"),
    # The order of methods, which Starlette keeps in a set: that of the hash seed.
    (re.compile(rb"(?<=\nallow: )[A-Z, ]+(?=\n)"), lambda found: b", ".join(sorted(found[0].split(b", ")))),
    # Addresses of objects in memory.
    (re.compile(rb"( at 0x)[0-9a-f]{6,}"), rb"\1<address>"),
)


def normalised(answer: bytes, folders: bytes) -> bytes:
    """
    Return an answer without what depends on the time, the machine or chance.

    `folders` is the folder of this process; each case has one below it.
    """
    answer = answer.replace(str(Path(tl.__file__).parent).encode(), b"<package>")
    answer = re.sub(re.escape(folders) + rb"(?:/case-\d+)?", b"<folder>", answer)
    for pattern, replacement in _REPLACED:
        answer = pattern.sub(replacement, answer)
    return answer


def error_text(error: BaseException) -> str:
    """Return the class and the message of an error."""
    notes = "".join(f"\nnote: {note}" for note in getattr(error, "__notes__", ()))
    return f"error: {type(error).__name__}\n{error}{notes}\n"


def written(value: Any) -> str:
    """Return an answer as text."""
    return "\n".join(_lines("answer", value)) + "\n"


def _lines(name: str, value: Any) -> Iterator[str]:
    """Yield the lines of a value, each with where it is in the answer."""
    kind = type(value).__name__
    if isinstance(value, tl.Network):
        yield f"{name}: {value!r}, {len(value.changes)} changes, {value.timezone}, prepared {value.prepared}"
    elif isinstance(value, pd.DataFrame):
        yield from _table(name, value)
    elif isinstance(value, pd.Series):
        yield f"{name}: {kind} named {value.name!r} of {len(value)} rows"
        yield from _lines(f"{name}.index", value.index)
        yield from _column(f"{name}.values", value)
        yield from _metadata(name, value.attrs)
    elif isinstance(value, pd.Index):
        yield f"{name}: {kind} of {len(value)}, dtype={value.dtype}, names={list(value.names)!r}"
        yield from (f"{name}[{i}]: {_scalar(item)}" for i, item in enumerate(value.tolist()))
    elif isinstance(value, np.ndarray):
        yield f"{name}: array of {value.shape}, dtype={value.dtype}"
        yield from (f"{name}[{i}]: {_scalar(item)}" for i, item in enumerate(value.ravel().tolist()))
    elif isinstance(value, Mapping):
        yield f"{name}: {kind} of {len(value)}"
        for key, item in value.items():
            yield from _lines(f"{name}[{key!r}]", item)
    elif isinstance(value, list | tuple):
        yield f"{name}: {kind} of {len(value)}"
        for i, item in enumerate(value):
            yield from _lines(f"{name}[{i}]", item)
    elif isinstance(value, set | frozenset):
        yield f"{name}: {kind} {sorted(map(repr, value))}"
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield f"{name}: {kind}"
        for field in dataclasses.fields(value):
            if not field.name.startswith("_"):
                yield from _lines(f"{name}.{field.name}", getattr(value, field.name))
    else:
        yield f"{name}: {_scalar(value)}"


def _table(name: str, table: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of a table: its form, its labels, its columns."""
    more = ""
    if isinstance(table, gpd.GeoDataFrame):
        more = f", geometry={table._geometry_column_name!r}"
    yield f"{name}: {type(table).__name__} of {len(table)} rows and {table.shape[1]} columns{more}"
    yield from _lines(f"{name}.index", table.index)
    yield from _lines(f"{name}.columns", table.columns)
    for i, column in enumerate(table.columns):
        yield from _column(f"{name}[{column!r}]", table.iloc[:, i])
    yield from _metadata(name, table.attrs)


def _column(name: str, column: pd.Series) -> Iterator[str]:
    """Yield the lines of a column."""
    crs = getattr(column, "crs", None)
    yield f"{name}: dtype={column.dtype}" + (f", crs={crs.to_string()}" if crs is not None else "")
    if isinstance(column.dtype, pd.CategoricalDtype):
        yield f"{name}: categories={column.cat.categories.tolist()!r}, ordered={column.cat.ordered}"
    for i, item in enumerate(column.tolist()):
        if isinstance(item, list | tuple | dict) or dataclasses.is_dataclass(item):
            yield from _lines(f"{name}[{i}]", item)
        else:
            yield f"{name}[{i}]: {_scalar(item)}"


def _metadata(name: str, attrs: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table's metadata; a receipt is read by the function for that."""
    for key in attrs:
        yield f"{name}.attrs has {key!r}"
    if "traveltime_lab" in attrs:
        holder = pd.DataFrame()
        holder.attrs = dict(attrs)
        try:
            yield from _lines(f"{name}.receipt", dict(tl.receipt(holder)))
        except tl.TravelTimeError as error:
            yield f"{name}.receipt: {type(error).__name__} {error}"


def _scalar(value: Any) -> str:
    """Return a single value with its type; floats as the shortest text that gives them back."""
    if isinstance(value, shapely.Geometry):
        return f"{value.geom_type} {shapely.to_wkb(value, hex=True, include_srid=True)}"
    if isinstance(value, np.generic):
        return f"{type(value).__name__} {value.item()!r}"
    if isinstance(value, pd.Timestamp | pd.Timedelta | dt.datetime | dt.date | dt.time | dt.timedelta):
        zone = f" {value.tzinfo}" if getattr(value, "tzinfo", None) is not None else ""
        return f"{type(value).__name__} {value}{zone}"
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, Path):
        return f"Path {value.as_posix()}"
    if isinstance(value, bytes):
        return f"bytes {value.hex()}"
    if value is None or value is pd.NA or value is pd.NaT or isinstance(value, bool | int | float | str):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__} ({', '.join(_scalar(item) for item in value)})"
    if type(value).__module__.startswith("pyproj"):
        return f"CRS {value.to_string()}"
    raise TypeError(f"answers hold {type(value).__module__}.{type(value).__qualname__}, which has no canonical form")


def folder_text(folder: Path) -> str:
    """Return the files of a folder: texts as they are, tables of Parquet by their values and metadata."""
    lines = []
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        lines.append(f"file {path.relative_to(folder).as_posix()}\n")
        if path.suffix == ".parquet":
            lines.append(_parquet(path))
        elif path.suffix in (".json", ".geojson", ".csv", ".html", ".txt"):
            lines.append(path.read_text(encoding="utf-8") + "\n")
        elif path.suffix == ".png":
            lines.append(f"picture {path.read_bytes()[:8].hex()}\n")
    return "".join(lines)


def _parquet(path: Path) -> str:
    import pyarrow.parquet as pq

    file = pq.read_table(path)
    metadata = {key.decode(): item.decode() for key, item in (file.schema.metadata or {}).items()}
    metadata.pop("pandas", None)
    table = file.to_pandas()
    return written(table) + json.dumps({"schema": str(file.schema.remove_metadata()), **metadata}) + "\n"
