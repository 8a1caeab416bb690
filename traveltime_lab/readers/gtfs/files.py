"""
Read the files of a GTFS feed as columns of text.

A feed may be a zip file, a folder, or a zip file in a zip file. Files are read with `pyarrow.csv`. The maintained GTFS
libraries do not report the line of an invalid row: gtfs-kit 13.0, partridge 1.1 and gtfs-parquet 0.7 either fail or
replace the field by a missing value. They are also slower: on a feed of 2.4 million stop times they took 4.1, 17.5 and
5.8 s to return text columns, on 2 cores.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from traveltime_lab._arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    Int32Array,
    Int64Array,
    ObjectArray,
    UInt8Array,
)
from traveltime_lab._files import MOST_TIMES, as_path, explained, is_file, most_unpacked, read_bytes
from traveltime_lab.errors import GtfsError, MissingFileError
from traveltime_lab.kernels.transit import parse as text
from traveltime_lab.readers.gtfs.findings import Findings

#: Files that every feed has. They identify the feed inside a zip file or folder.
_MARKS: Final = ("stops.txt", "stop_times.txt", "trips.txt", "routes.txt", "agency.txt")
#: Most zip files in one another.
_DEEPEST: Final = 3

Rows = IndexArray | BoolArray


class FeedFiles:
    """
    The files of one feed.

    Parameters
    ----------
    source : path-like
        A zip file or a folder, with the feed at its top, in one sub-folder, or in one inner zip file.

    Attributes
    ----------
    name : str
        Name of the file or folder without its ending.
    names : list of str
        Names of the files in lower case.

    Raises
    ------
    MissingFileError
        If `source` does not exist.
    GtfsError
        If there is no feed or more than one.
    """

    def __init__(self, source: str | os.PathLike[str]) -> None:
        path = as_path(source, "gtfs")
        self.source = path
        self.name = path.stem if is_file(path) else path.name
        if path.is_dir():
            files = {
                PurePosixPath(item.relative_to(path).as_posix()): item for item in path.rglob("*") if item.is_file()
            }
            self._folder: dict[PurePosixPath, Path] | None = files
            self._zip: zipfile.ZipFile | None = None
            listed = list(files)
        elif path.is_file():
            self._folder = None
            self._zip = self._open_zip(path)
            listed = self._listed()
        else:
            raise MissingFileError(f"there is no GTFS feed at {path}; give the path of a zip file or folder")
        where = self._find(listed)
        depth = 0
        while where.suffix == ".zip":
            depth += 1
            if depth > _DEEPEST:  # such as a zip file that contains itself
                raise GtfsError(f"{path} has zip files in zip files, {_DEEPEST} deep; unpack it and pass the feed")
            inner = self._bytes(where)
            self._folder = None
            self._zip = self._open_zip(io.BytesIO(inner))
            where = self._find(self._listed())
        self._files = {
            item.name.lower(): item
            for item in (self._listed() if self._folder is None else self._folder)
            if item.parent == where
        }
        self.names = sorted(self._files)

    def _open_zip(self, file: Path | io.BytesIO) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(file)
        # A damaged directory may name a version that does not exist, or have names that are not text.
        except (zipfile.BadZipFile, NotImplementedError, ValueError, IndexError, struct.error, EOFError) as error:
            raise GtfsError(
                f"{self.source} is not a zip file ({error}); a feed is a zip or a folder of .txt files"
            ) from error

    def _listed(self) -> list[PurePosixPath]:
        if self._zip is None:
            return []
        # Folders end with a slash. A damaged zip may have files without a name. Paths leave out parts such as "./", so
        # the names are kept for reading.
        names = [item.filename for item in self._zip.infolist()]
        self._members = {PurePosixPath(name): name for name in names if name and not name.endswith("/")}
        return list(self._members)

    def _find(self, listed: list[PurePosixPath]) -> PurePosixPath:
        """Return the folder that contains the feed, or the inner zip file that may contain it."""
        listed = [item for item in listed if not any(part.startswith((".", "__MACOSX")) for part in item.parts)]
        folders: dict[PurePosixPath, int] = {}
        for item in listed:
            if item.name.lower() in _MARKS:
                folders[item.parent] = folders.get(item.parent, 0) + 1
        top = PurePosixPath(".")
        if top in folders:
            return top
        found = sorted(folders) or sorted(item for item in listed if item.suffix.lower() == ".zip")
        if len(found) == 1:
            return found[0]
        if found:
            raise GtfsError(
                f"{self.source} contains several feeds: {', '.join(map(str, found))}; unpack it and pass them as a list"
            )
        raise GtfsError(f"{self.source} is not a GTFS feed: there is no stops.txt, trips.txt or stop_times.txt in it")

    def _bytes(self, item: PurePosixPath) -> bytes:
        if self._zip is None:
            assert self._folder is not None
            with explained(self._folder[item], "read"):
                return read_bytes(self._folder[item])
        about = self._zip.getinfo(self._members[item])
        if about.file_size > most_unpacked(about.compress_size):
            raise GtfsError(
                f"{self.source}: {item} unpacks from {about.compress_size:,} to {about.file_size:,} bytes, more than "
                f"{MOST_TIMES} times as many, which no timetable does; unpack it and pass the folder if it is one",
                file=item.name,
            )
        try:
            return self._zip.read(self._members[item])
        except Exception as error:
            # The name before the content may differ from that of the directory, or not be text. Errors of zlib and
            # lzma have no common base.
            of_zip = (zipfile.BadZipFile, RuntimeError, ValueError, struct.error, EOFError, OSError)
            if not isinstance(error, of_zip) and type(error).__module__ not in ("zlib", "_lzma", "lzma"):
                raise
            raise GtfsError(
                f"{self.source}: {item} cannot be unpacked ({error}); download the feed again", file=item.name
            ) from error

    def read(self, name: str, columns: Sequence[str], findings: Findings) -> TextTable:
        """Return columns of a file; a missing file has no rows."""
        if name not in self._files:
            return TextTable(self, name, {}, 0, b"", 1, 0)
        return _read_text(self, name, self._bytes(self._files[name]), columns, findings)

    def __contains__(self, name: str) -> bool:
        """Return whether the feed has a file."""
        return name in self._files


class TextTable:
    """
    Columns of a file as text, and the line numbers of its rows.

    Parameters
    ----------
    files : FeedFiles
        The feed, for error messages.
    name : str
        Name of the file, such as ``stops.txt``.
    columns : dict of str to pyarrow.ChunkedArray
        Text of each column, without surrounding spaces; empty where missing.
    n_rows : int
    body : bytes
        Text after the header.
    first_line : int
        Line number of the beginning of `body`.
    n_columns : int
        Number of columns in the header. Rows with a different number of fields come last in `columns`.
    """

    def __init__(
        self,
        files: FeedFiles,
        name: str,
        columns: dict[str, pa.ChunkedArray],
        n_rows: int,
        body: bytes | memoryview,
        first_line: int,
        n_columns: int,
    ) -> None:
        self.files, self.name, self.n_rows = files, name, n_rows
        self._columns = columns
        self._body, self._first_line, self._n_columns = body, first_line, n_columns
        self._lines: Int64Array | None = None

    def __contains__(self, column: str) -> bool:
        """Return whether the header has a column."""
        return column in self._columns

    def require(self, *columns: str) -> None:
        """Raise GtfsError if the header lacks a column."""
        for column in columns:
            if column not in self._columns and self.n_rows:
                raise GtfsError(
                    f"{self.files.source}: {self.name}, line 1: there is no column {column!r}", file=self.name, line=1
                )

    def strings(self, column: str) -> pa.ChunkedArray:
        """Return a column as text; all fields are empty if the header lacks it."""
        if column in self._columns:
            return self._columns[column]
        return pa.chunked_array([pa.repeat("", self.n_rows)], type=pa.string())

    def objects(self, column: str) -> ObjectArray:
        """Return a column as Python strings."""
        values: ObjectArray = self.strings(column).to_numpy(zero_copy_only=False)
        return values.astype(object)

    def is_missing(self, column: str) -> BoolArray:
        """Return where a column is empty."""
        return np.asarray(pc.equal(self.strings(column), "").to_numpy(zero_copy_only=False), dtype=np.bool_)

    def integers(self, column: str) -> Int64Array:
        """Return a column as whole numbers, `text.MISSING` or `text.BROKEN`."""
        return self._parsed(column, text.parse_integers)

    def times(self, column: str) -> Int64Array:
        """Return a column of times as seconds, `text.MISSING` or `text.BROKEN`."""
        return self._parsed(column, text.parse_times)

    def _parsed(self, column: str, parse: Any) -> Int64Array:
        out = np.full(self.n_rows, text.MISSING, np.int64)
        if column not in self._columns:
            return out
        start = 0
        for chunk in self._columns[column].chunks:
            if len(chunk):
                parse(*_letters(chunk), out[start : start + len(chunk)])
            start += len(chunk)
        return out

    def floats(self, column: str) -> tuple[FloatArray, BoolArray]:
        """Return a column as numbers, NaN where empty or invalid, and a mask of the invalid ones."""
        is_broken = np.zeros(self.n_rows, np.bool_)
        if column not in self._columns:
            return np.full(self.n_rows, np.nan), is_broken
        values = self._columns[column]
        empty = pc.equal(values, "")
        try:
            numbers = pc.cast(pc.if_else(empty, pa.scalar(None, pa.string()), values), pa.float64())
            out = numbers.to_numpy(zero_copy_only=False).astype(np.float64)
        except pa.ArrowInvalid:
            out = np.array([_number(value) for value in values.to_pylist()])
        finite = np.isfinite(out)
        is_broken = ~finite & ~np.asarray(empty.to_numpy(zero_copy_only=False), dtype=np.bool_)
        out[~finite] = np.nan
        return out, is_broken

    def dates(self, column: str) -> Int64Array:
        """Return a column of dates (YYYYMMDD) as proleptic ordinals, `text.MISSING` or `text.BROKEN`."""
        number = self.integers(column)
        year, month, day = number // 10000, number // 100 % 100, number % 100
        fits = (year >= 1) & (year <= 9999) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
        months = np.where(fits, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
        days = months.astype("datetime64[D]") + np.where(fits, day - 1, 0)
        fits &= days.astype("datetime64[M]") == months
        ordinal = days.astype(np.int64) + 719163  # datetime.date(1970, 1, 1).toordinal()
        return np.where(number == text.MISSING, text.MISSING, np.where(fits, ordinal, text.BROKEN))

    def lines(self, rows: Rows) -> Int64Array:
        """Return the line numbers of rows, where the header is line 1; they are computed at the first call."""
        if rows.size == 0 or (rows.dtype == np.bool_ and not rows.any()):
            return np.zeros(0, np.int64)
        if self._lines is None:
            data = np.frombuffer(self._body, np.uint8)
            none = np.zeros(0, np.int64)
            n = text.scan_records(data, self._first_line, none, none)
            lines, n_fields = np.zeros(n, np.int64), np.zeros(n, np.int64)
            if n:
                text.scan_records(data, self._first_line, lines, n_fields)
            regular = n_fields == self._n_columns
            others = np.flatnonzero(~regular)[: self.n_rows - int(regular.sum())]
            self._lines = np.concatenate([lines[regular], lines[others]])
        return self._lines[rows]

    def keep(self, rows: BoolArray) -> TextTable:
        """Return the rows where a mask is True."""
        if rows.all():
            return self
        lines = self.lines(rows)
        mask = pa.array(rows)
        columns = {name: values.filter(mask) for name, values in self._columns.items()}
        kept = TextTable(self.files, self.name, columns, int(rows.sum()), b"", 1, 0)
        kept._lines = lines
        return kept


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return np.nan


def _read_text(files: FeedFiles, name: str, raw: bytes, requested: Sequence[str], findings: Findings) -> TextTable:
    """Return columns of a CSV file in UTF-8, UTF-16 or Windows-1252, or a mixture of the first and the last."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        findings.add(name, "UTF-16 instead of UTF-8: read as UTF-16", rows=1, is_dropped=False)
        raw = raw.decode("utf-16", errors="replace").encode("utf-8", errors="replace")
    elif not raw.isascii():
        try:
            raw.decode()
        except UnicodeDecodeError:
            # The reference requires UTF-8, but older tools on Windows write the local code page, some of them for one
            # file or one row among others. Bytes that are UTF-8 stay, so that ids agree with those of other files.
            findings.add(name, "not UTF-8: read as Windows-1252", rows=1, is_dropped=False)
            raw = raw.decode(errors=_CODE_PAGE).encode()
    try:
        return _parse(files, name, raw, requested, findings)
    except (pa.ArrowInvalid, csv.Error) as error:
        raise GtfsError(f"{files.source}: {name} is not a CSV table ({error})", file=name) from error


def _in_code_page(error: UnicodeError) -> tuple[str, int]:
    """Return the text of bytes that are not UTF-8, for the error handler of `bytes.decode`."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", errors="replace"), error.end


#: Name of the error handler that reads bytes that are not UTF-8 as Windows-1252.
_CODE_PAGE: Final = "traveltime_lab.cp1252"
codecs.register_error(_CODE_PAGE, _in_code_page)


def _parse(files: FeedFiles, name: str, raw: bytes, requested: Sequence[str], findings: Findings) -> TextTable:
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    header, begin, first_line = _header(raw)
    if not header:
        return TextTable(files, name, {}, 0, b"", 1, 0)
    body = memoryview(raw)[begin:]
    unique = [column if column not in header[:i] else f"{column}#{i}" for i, column in enumerate(header)]
    include = [column for column in unique if column in requested]
    if not bytes(body[:4096]).strip() and not bytes(body).strip():
        return TextTable(files, name, {column: _no_text() for column in include}, 0, b"", first_line, len(header))
    # Arrow can read in parallel only if every line is a record.
    has_quoted_lines = b'"' in raw and bool(text.has_quoted_lines(np.frombuffer(body, np.uint8)))
    irregular: list[str] = []

    def keep_aside(row: pa.csv.InvalidRow) -> str:
        irregular.append(row.text)
        return "skip"

    def parsed(*, is_lenient: bool) -> pa.Table:
        return pyarrow.csv.read_csv(
            pa.py_buffer(body),
            read_options=pyarrow.csv.ReadOptions(column_names=unique, use_threads=not is_lenient, block_size=1 << 23),
            parse_options=pyarrow.csv.ParseOptions(
                newlines_in_values=has_quoted_lines, invalid_row_handler=keep_aside if is_lenient else None
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                include_columns=include,
                column_types={column: pa.string() for column in include},
                strings_can_be_null=False,
            ),
        )

    try:
        table = parsed(is_lenient=False)
    except pa.ArrowInvalid as error:
        if "columns" not in str(error):
            raise
        table = parsed(is_lenient=True)
    columns = {column: table.column(column) for column in include}
    n_rows = table.num_rows
    if irregular:
        columns, n_rows = _with_irregular(columns, n_rows, irregular, unique)
        extra = TextTable(files, name, columns, n_rows, body, first_line, len(header))
        rows = np.arange(table.num_rows, n_rows)
        findings.add(
            name,
            "number of fields differs from the header: padded or truncated",
            extra.lines(rows),
            example=irregular[0],
            is_dropped=False,
        )
    columns = {column: _trimmed(values) for column, values in columns.items()}
    return TextTable(files, name, columns, n_rows, body, first_line, len(header))


def _trimmed(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without spaces around its fields."""
    if any(len(chunk) and text.has_outer_spaces(*_letters(chunk)) for chunk in values.chunks):
        return pc.utf8_trim_whitespace(values)
    return values


def _letters(chunk: pa.StringArray) -> tuple[Int32Array, UInt8Array]:
    """Return offsets and bytes of a text array."""
    _, offsets, data = chunk.buffers()
    where = np.frombuffer(offsets, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
    return where, np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)


def _no_text() -> pa.ChunkedArray:
    return pa.chunked_array([], type=pa.string())


def _header(raw: bytes) -> tuple[list[str], int, int]:
    """Return the column names, where the text after them begins, and the number of its first line."""
    at, line = 0, 1
    while at < len(raw):
        ends = [end for end in (raw.find(b"\n", at), raw.find(b"\r", at)) if end >= 0]
        end = min(ends, default=len(raw))
        after = end + (2 if raw[end : end + 2] == b"\r\n" else 1)
        row = raw[at:end].decode("utf-8", errors="replace")
        if row.strip():
            return [name.strip().strip('"').strip().lower() for name in next(csv.reader([row]))], after, line + 1
        at, line = after, line + 1
    return [], at, line


def _with_irregular(
    columns: dict[str, pa.ChunkedArray], n_rows: int, irregular: list[str], header: list[str]
) -> tuple[dict[str, pa.ChunkedArray], int]:
    """Append the rows whose number of fields differs from the header, padded or truncated, to the columns."""
    places = {column: header.index(column) for column in columns}
    extra: dict[str, list[str]] = {column: [] for column in columns}
    for text_of_row in irregular:
        row = next(csv.reader([text_of_row]), [])
        for column, at in places.items():
            extra[column].append(row[at] if at < len(row) else "")
    longer = {
        column: pa.chunked_array([*values.chunks, pa.array(extra[column], type=pa.string())], type=pa.string())
        for column, values in columns.items()
    }
    return longer, n_rows + len(irregular)
