"""
File format of saved networks.

A saved network is an Arrow IPC file with a table of one row; every column is a list. Any Arrow reader can open it
(``pyarrow.feather.read_table``). Checksums cover every byte (`traveltime_lab.network.checksums`).

Loading reads the file into memory and verifies it; arrays are views of this private copy. A mapped file would load
sooner, but when it is overwritten or truncated in place, the operating system changes the arrays of a running search or
ends the process (SIGBUS). Files are therefore mapped only on request.

Prepared values (`traveltime_lab.network.prepared`) are in columns that other versions of this package do not read.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import mmap
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from traveltime_lab._arrays import AnyArray, arrays_by_field
from traveltime_lab._digests import digest, parts_of
from traveltime_lab._files import as_path, explained, is_file, open_file, replacing
from traveltime_lab.errors import FileAccessError, FormatError, MissingFileError
from traveltime_lab.network import checked, checksums, prepared_file
from traveltime_lab.network.history import History
from traveltime_lab.network.water import WaterBodies
from traveltime_lab.runtime import on_disk
from traveltime_lab.streets.extent import Extent
from traveltime_lab.streets.hourly_speeds import DAYS, HOURS, HourlySpeeds
from traveltime_lab.streets.tables import (
    OPTIONAL_ARRAYS,
    PLACE_DTYPES,
    USE_DTYPES,
    StreetTables,
    check_consistent,
    places_frame,
)
from traveltime_lab.transit import timetable_file
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.timetable_columns import check_zone

#: Version of the file format; files of other versions raise an error.
FORMAT_VERSION = 5
#: Additions to the version of networks with slopes, and with measured speeds by hour, so that versions of this package
#: without these refuse the file.
_SLOPES, _HOURLY = " with slopes", " with speeds by hour"
_VERSIONS = (FORMAT_VERSION, *(f"{FORMAT_VERSION}{more}" for more in (_SLOPES, _HOURLY, _SLOPES + _HOURLY)))
_FORMAT_NAME = "traveltime_lab.network"
#: Length of the beginning of an Arrow file, with its padding.
_MAGIC_BYTES = 8
#: Errors that meaningless content may cause, such as sizes beyond the memory.
_FAULTS = (KeyError, IndexError, AttributeError, TypeError, ValueError, ArithmeticError, RecursionError, MemoryError)
#: Types of the fields of the header.
_HEADER = {"timezone": str, "is_left_hand": bool, "attribution": str, "fingerprint": str, "report": dict}
#: Levels of the facts of a report in one another; those of this package have five at most.
_DEEPEST = 20
#: Bytes that are written at once.
_PIECE = 16 << 20
#: Prefixes of the columns of the timetable, and of measured speeds.
_TIMETABLE = "timetable/"
_HOURLY_COLUMNS = "hourly."


@dataclass(frozen=True)
class Contents:
    """
    The contents of a saved network.

    Attributes
    ----------
    tables : StreetTables
    water : WaterBodies
    timezone : str
    is_left_hand : bool
    attribution : str
    timetable : Timetable, optional
    fingerprint : str
        Hash of everything above.
    history : History
        The changes that the network has had.
    typical_day : date, optional
        The day of searches without a date; see `traveltime_lab.transit.typical_day`.
    prepared : tuple of mappings, optional
        Header and columns of the prepared values; see `traveltime_lab.network.prepared_file.to_columns`.
    mark : str, optional
        Mark of the file (`traveltime_lab.network.checked`), if it was mapped and may be remembered.
    is_known : bool
        Whether the values of its columns have been checked before.
    """

    tables: StreetTables
    water: WaterBodies
    timezone: str
    is_left_hand: bool
    attribution: str
    timetable: Timetable | None
    fingerprint: str
    history: History
    typical_day: dt.date | None = None
    prepared: tuple[Mapping[str, Any], Mapping[str, AnyArray]] | None = None
    mark: str | None = None
    is_known: bool = False


def write_file(contents: Contents, path: str | os.PathLike[str]) -> Path:
    """Write a network to an Arrow IPC file and return its path; see `traveltime_lab.network.network.Network.save`."""
    with replacing(path, what="the network", example="city.network") as temporary:
        table = _to_arrow(contents)
        with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(_InPieces(sink), table.schema) as writer:
            writer.write_table(table)
        checksums.seal(temporary)
    return Path(path)


class _InPieces:
    """
    A file that is written in pieces, and gives back the pages of mapped arrays after each.

    Otherwise all prepared values that `traveltime_lab.runtime.on_disk` has moved to disk were in memory in the end.
    """

    closed = False

    def __init__(self, file: pa.NativeFile) -> None:
        self._file = file

    def write(self, content: Any) -> None:
        whole = memoryview(content)
        for begin in range(0, len(whole), _PIECE):
            self._file.write(whole[begin : begin + _PIECE])
            if len(whole) > _PIECE:
                on_disk.let_go()

    def flush(self) -> None:
        self._file.flush()


def read_file(path: str | os.PathLike[str], *, verify: bool = True) -> Contents:
    """
    Read a saved network.

    Parameters
    ----------
    path : path-like
    verify : bool, default True
        Whether to read a private copy of the file and verify its checksums; otherwise the file is mapped into memory.

    Raises
    ------
    MissingFileError
        If the file does not exist.
    FormatError
        If the file is truncated, damaged, not a saved network, or of a different version.
    """
    source = as_path(path, "path")
    if not is_file(source):
        msg = f"no saved network at {source}"
        raise MissingFileError(msg)
    has_checksums, mark = True, None
    try:
        if verify:
            with explained(source, "read"):
                content, has_checksums = checksums.read_verified(source)
        else:
            content, mark = _mapped(source)
        reader = pa.ipc.open_file(pa.BufferReader(content))
        meta = _header(source, reader.schema)
        if not has_checksums:
            msg = f"{source} is damaged (it has no checksums); copy the file again, or build and save the network again"
            raise FormatError(msg)
        table = pa.Table.from_batches([_plain_batch(content, reader.schema)])
        table.validate(full=True)  # offsets of texts, for example
    except (FileAccessError, FormatError):
        raise
    except (pa.ArrowException, OSError, *_FAULTS) as error:
        msg = f"{source} is not a complete saved network ({str(error).splitlines()[0]}); build and save it again"
        raise FormatError(msg) from error
    try:
        return _from_arrow(table, meta, content, mark)
    except (pa.ArrowException, *_FAULTS) as error:
        msg = f"{source} is damaged ({type(error).__name__}: {error}); build and save the network again"
        raise FormatError(msg) from error


def _mapped(source: Path) -> tuple[pa.Buffer, str | None]:
    """
    Return the content of a file, which is mapped into memory, and its mark.

    Pages are shared with other processes. The map is private, so that arrays are writeable as others are, which decides
    on the version of a kernel; nothing is ever written to them.
    """
    with open_file(source) as file:
        if os.fstat(file.fileno()).st_size == 0:
            return pa.py_buffer(b""), None
        content = pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        return content, checked.mark_of(file.fileno())


def _plain_batch(content: pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    """
    Return the only batch of an Arrow file, whose columns are views of the content.

    Columns that are compressed, as `write_file` leaves none, could claim any size: Arrow takes memory for it before it
    reads them.
    """
    # After its magic number, a file is a stream of messages: the schema, then the batches.
    messages = pa.ipc.MessageReader.open_stream(pa.BufferReader(content.slice(_MAGIC_BYTES)))
    first = next(messages, None)
    if first is None or first.type != "schema":  # the schema of the footer is used
        raise ValueError("it does not begin with a schema")
    message = next(messages, None)
    if message is None:
        raise ValueError("it ends before its columns")
    if message.type != "record batch" or _is_compressed(message.metadata):
        raise ValueError("its columns are compressed, or differ from those of a network")
    return pa.ipc.read_record_batch(message, schema)


def _is_compressed(metadata: pa.Buffer) -> bool:
    """
    Return whether the buffers of a record batch are compressed, given the metadata of its message.

    pyarrow does not show it. The metadata is a FlatBuffer whose tables begin with the distance to their list of fields:
    `Message` of Arrow's Message.fbs has the `RecordBatch` as field 2, and that has `BodyCompression` as field 3.
    """
    data = memoryview(metadata)

    def field(table: int, number: int) -> int | None:
        listed = table - struct.unpack_from("<i", data, table)[0]
        place = 4 + 2 * number
        (size,) = struct.unpack_from("<H", data, listed)
        (offset,) = struct.unpack_from("<H", data, listed + place) if place < size else (0,)
        return table + offset if offset else None

    def target(place: int | None) -> int:
        assert place is not None, "Arrow has verified the message"
        return place + int(struct.unpack_from("<I", data, place)[0])

    return field(target(field(target(0), 2)), 3) is not None


def _header(source: Path, schema: pa.Schema) -> dict[str, Any]:
    """Return the header of a saved network; raise FormatError if it is foreign or of a different version."""
    header = (schema.metadata or {}).get(_FORMAT_NAME.encode())
    if header is None:
        msg = f"{source} is an Arrow file, but not a network saved by traveltime_lab"
        raise FormatError(msg)
    try:
        meta = dict(json.loads(header))
    except (ValueError, TypeError, RecursionError) as error:
        msg = f"{source} is damaged (its header is not a JSON object: {error}); build and save the network again"
        raise FormatError(msg) from error
    if meta.get("version") not in _VERSIONS:
        msg = (
            f"{source} has network format {meta.get('version')}, this version reads {FORMAT_VERSION}; "
            f"build the network again from its sources: traveltime-lab build OSM {source.name}"
        )
        raise FormatError(msg)
    return meta


def plain_arrays(tables: StreetTables) -> dict[str, AnyArray]:
    """Return the NumPy arrays of street tables by field name, without optional ones that are empty."""
    arrays = arrays_by_field(tables)
    hourly = {} if tables.hourly is None else tables.hourly.arrays()
    found = {name: array for name, array in arrays.items() if name not in OPTIONAL_ARRAYS or array.size}
    return found | {f"{_HOURLY_COLUMNS}{name}": array for name, array in hourly.items()}


def hash_of_streets(tables: StreetTables, water: WaterBodies, timezone: str, is_left_hand: bool) -> hashlib.blake2b:
    """Return the state of a hash of all data but the timetable; see `fingerprint`."""
    arrays = plain_arrays(tables)
    for name in ("edge_off_ground", "edge_is_cut"):
        arrays.pop(name, None)  # no answer depends on it
    return digest(
        *parts_of(arrays),
        tables.uses.to_csv(index=False).encode(),
        "\0".join(tables.names).encode(),
        pd.util.hash_pandas_object(tables.places, index=False).to_numpy().data,
        water.to_wkb(),
        f"{timezone} {is_left_hand} {FORMAT_VERSION}".encode(),
    )


def fingerprint(streets: hashlib.blake2b, timetable: Timetable | None) -> str:
    """Return a hash of all data that results depend on, given that of `hash_of_streets`."""
    found = streets.copy()
    if timetable is not None:
        found.update(timetable.fingerprint.encode())
    return found.hexdigest()


def _to_arrow(contents: Contents) -> pa.Table:
    """Return the contents as a table of one row."""
    columns: dict[str, pa.Array] = {}

    def add(name: str, values: pa.Array) -> None:
        offsets = pa.array([0, len(values)], type=pa.int64())
        columns[name] = pa.LargeListArray.from_arrays(offsets, values)

    for name, array in plain_arrays(contents.tables).items():
        add(name, pa.array(np.ascontiguousarray(array).reshape(-1)))
    for name, series in contents.tables.uses.items():
        add(f"uses.{name}", pa.array(series.to_numpy()))
    for name, series in contents.tables.places.items():
        add(f"places.{name}", _plain_array(series))
    add("names", pa.array(contents.tables.names, type=pa.string()))
    add("water", pa.array([contents.water.to_wkb()], type=pa.large_binary()))
    meta: dict[str, Any] = {
        "version": _version(contents.tables),
        "timezone": contents.timezone,
        "is_left_hand": contents.is_left_hand,
        "attribution": contents.attribution,
        "fingerprint": contents.fingerprint,
        "report": contents.tables.report,
        "water_report": contents.water.report,
    }
    if contents.tables.extent is not None:
        meta["extent"] = contents.tables.extent.to_json()
    if contents.history.changes:
        meta["history"] = contents.history.to_json()
    if contents.timetable is not None:
        day = contents.typical_day
        meta["typical_day"] = None if day is None else day.isoformat()
        rides, meta["timetable"] = timetable_file.to_tables(contents.timetable)
        for name, array in rides.items():
            add(f"{_TIMETABLE}{name}", array)
    if contents.prepared is not None:
        meta["prepared"], prepared_columns = contents.prepared
        for name, array in prepared_columns.items():
            add(name, pa.array(array))
    table = pa.table(columns)
    return table.replace_schema_metadata({_FORMAT_NAME: json.dumps(meta, default=str)})


def _version(tables: StreetTables) -> int | str:
    """Return the version of the file of some tables."""
    more = (_SLOPES if tables.has_slopes else "") + (_HOURLY if tables.hourly is not None else "")
    return f"{FORMAT_VERSION}{more}" if more else FORMAT_VERSION


def _plain_array(series: pd.Series) -> pa.Array:
    """Return a column as one Arrow array."""
    if isinstance(series.dtype, pd.ArrowDtype):
        return pa.array(series).cast(pa.large_string())
    return pa.array(series.to_numpy())


def _from_arrow(table: pa.Table, meta: dict[str, Any], content: pa.Buffer, mark: str | None) -> Contents:
    """Return the contents of a table of one row; the arrays are views of the content of the file."""

    def values(name: str) -> pa.Array:
        return table.column(name).chunk(0).values  # noqa: PD011 - Arrow, not pandas

    if table.num_rows != 1:
        raise ValueError(f"it has {table.num_rows} rows instead of 1")
    for name, kind in {**_HEADER, "water_report": dict}.items():
        if not isinstance(meta[name], kind):
            raise TypeError(f"{name} of the header must be {kind.__name__}, got {type(meta[name]).__name__}")
    check_zone(meta["timezone"])
    for name in ("report", "water_report"):
        _check_facts(meta[name], name)
    _check_files(meta["report"])
    arrays: dict[str, Any] = {}
    for item in fields(StreetTables):
        if item.name in table.column_names and item.name not in ("names", "water"):
            # Arrow copies booleans, which it stores as bits, and empty columns; the other arrays are views of the file.
            arrays[item.name] = values(item.name).to_numpy(zero_copy_only=False)
    if f"{_HOURLY_COLUMNS}week_of" in table.column_names:
        columns = {item.name: values(f"{_HOURLY_COLUMNS}{item.name}").to_numpy() for item in fields(HourlySpeeds)}
        shapes = {"weeks": (-1, DAYS), "days": (-1, HOURS)}
        arrays["hourly"] = HourlySpeeds(**{name: each.reshape(shapes.get(name, -1)) for name, each in columns.items()})
    uses = pd.DataFrame({name: values(f"uses.{name}").to_numpy(zero_copy_only=False) for name in USE_DTYPES})
    uses = uses.astype(USE_DTYPES)
    places = {
        name: values(f"places.{name}") if dtype == "string" else values(f"places.{name}").to_numpy()
        for name, dtype in PLACE_DTYPES.items()
    }
    tables = StreetTables(
        **arrays,
        uses=uses,
        names=values("names").to_pylist(),
        coastlines=[],
        water=[],
        places=places_frame(places),
        report=meta["report"],
        extent=Extent.from_json(meta["extent"]) if "extent" in meta else None,
    )
    is_known = mark is not None and checked.is_known(mark)
    if not is_known:
        check_consistent(tables)
    timetable = typical_day = None
    if "timetable" in meta:
        rides = [name for name in table.column_names if name.startswith(_TIMETABLE)]
        columns = {name.removeprefix(_TIMETABLE): values(name) for name in rides}
        timetable = timetable_file.from_tables(columns, meta["timetable"], is_known=is_known)
        if meta["typical_day"] is not None:
            typical_day = dt.date.fromisoformat(meta["typical_day"])
    prepared = None
    if "prepared" in meta:
        names = [name for name in table.column_names if name.startswith(prepared_file.PREFIX)]
        prepared = meta["prepared"], {name: _writeable(values(name), content) for name in names}
    return Contents(
        tables=tables,
        water=WaterBodies.from_wkb(values("water")[0].as_py(), report=meta["water_report"]),
        timezone=meta["timezone"],
        is_left_hand=meta["is_left_hand"],
        attribution=meta["attribution"],
        timetable=timetable,
        fingerprint=meta["fingerprint"],
        history=History.from_json(meta["history"]) if "history" in meta else History(),
        typical_day=typical_day,
        prepared=prepared,
        mark=mark,
        is_known=is_known,
    )


def _check_facts(facts: Any, name: str, depth: int = 0) -> None:
    """Raise ValueError if facts of a report are nested too deeply to be shown."""
    if depth > _DEEPEST:
        raise ValueError(f"{name} of the header is nested more than {_DEEPEST} levels deep")
    for value in facts.values() if isinstance(facts, dict) else facts:
        if isinstance(value, dict | list):
            _check_facts(value, name, depth + 1)


def _check_files(report: dict[str, Any]) -> None:
    """Raise TypeError or KeyError unless the sources in a report are described as `sources.described` does."""
    files, elevation = report.get("files", []), report.get("elevation", {})
    if not isinstance(files, list) or not isinstance(elevation, dict):
        raise TypeError("files and elevation of the report must be a list and a dict")
    for file in files:
        for key in ("name", "role", "modified", "sha256"):
            if not isinstance(file[key], str):
                raise TypeError(f"{key} of a file of the report must be str, got {type(file[key]).__name__}")


def _writeable(values: pa.Array, content: pa.Buffer) -> AnyArray:
    """Return numbers as an array that has the flags of other arrays; those of Arrow are read-only."""
    view: AnyArray = values.to_numpy()
    if not view.size:
        return view.copy()
    start = view.__array_interface__["data"][0] - content.address
    found: AnyArray = np.frombuffer(content, view.dtype, view.size, start)
    return found
