"""
Parse the CSV files of a GTFS feed into columns of text.

Files are read with `pyarrow.csv`. The maintained GTFS libraries do not report the line of an invalid row: gtfs-kit
13.0, partridge 1.1 and gtfs-parquet 0.7 either fail or replace the field by a missing value. They are also slower: on a
feed of 2.4 million stop times they took 4.1, 17.5 and 5.8 s to return text columns, on 2 cores.
"""

from __future__ import annotations

import bisect
import codecs
import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

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
from traveltime_lab.errors import GtfsError
from traveltime_lab.kernels.transit import parse as parsers
from traveltime_lab.readers.gtfs.findings import Findings

#: Bytes of a large file that are read at once.
BLOCK: Final = 1 << 25

Rows = IndexArray | BoolArray
Converted = TypeVar("Converted")


class TextTable:
    """
    Columns of a file as text, and the line numbers of its rows.

    Parameters
    ----------
    source : Path
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
        source: Path,
        name: str,
        columns: dict[str, pa.ChunkedArray],
        n_rows: int,
        body: bytes | memoryview,
        first_line: int,
        n_columns: int,
    ) -> None:
        self.source, self.name, self.n_rows = source, name, n_rows
        self._columns = columns
        self._body, self._first_line, self._n_columns = body, first_line, n_columns
        self._lines: Int32Array | Int64Array | None = None

    def __contains__(self, column: str) -> bool:
        """Return whether the header has a column."""
        return column in self._columns

    def require(self, *columns: str) -> None:
        """Raise GtfsError if the header lacks a column."""
        for column in columns:
            if column not in self._columns and self.n_rows:
                raise GtfsError(
                    f"{self.source}: {self.name}, line 1: there is no column {column!r}", file=self.name, line=1
                )

    def strings(self, column: str) -> pa.ChunkedArray:
        """Return a column as text; all fields are empty if the header lacks it."""
        if column in self._columns:
            return self._columns[column]
        return pa.chunked_array([pa.repeat("", self.n_rows)], type=pa.string())

    def text_at(self, column: str, row: int) -> str:
        """Return one field."""
        return str(self.strings(column)[row].as_py())

    def objects(self, column: str) -> ObjectArray:
        """Return a column as Python strings."""
        values: ObjectArray = self.strings(column).to_numpy(zero_copy_only=False)
        return values.astype(object)

    def is_missing(self, column: str) -> BoolArray:
        """Return where a column is empty."""
        return np.asarray(pc.equal(self.strings(column), "").to_numpy(zero_copy_only=False), dtype=np.bool_)

    def integers(self, column: str) -> Int64Array:
        """Return a column as whole numbers, `parse.MISSING` or `parse.BROKEN`."""
        return self._parsed(column, parsers.parse_integers)

    def times(self, column: str) -> Int64Array:
        """Return a column of times as seconds, `parse.MISSING` or `parse.BROKEN`."""
        return self._parsed(column, parsers.parse_times)

    def _parsed(self, column: str, parse: Any) -> Int64Array:
        out = np.full(self.n_rows, parsers.MISSING, np.int64)
        if column not in self._columns:
            return out
        start = 0
        for chunk in self._columns[column].chunks:
            if len(chunk):
                parse(*letters(chunk), out[start : start + len(chunk)])
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
        """Return a column of dates (YYYYMMDD) as proleptic ordinals, `parse.MISSING` or `parse.BROKEN`."""
        number = self.integers(column)
        year, month, day = number // 10000, number // 100 % 100, number % 100
        fits = (year >= 1) & (year <= 9999) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
        months = np.where(fits, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
        days = months.astype("datetime64[D]") + np.where(fits, day - 1, 0)
        fits &= days.astype("datetime64[M]") == months
        ordinal = days.astype(np.int64) + 719163  # datetime.date(1970, 1, 1).toordinal()
        return np.where(number == parsers.MISSING, parsers.MISSING, np.where(fits, ordinal, parsers.BROKEN))

    def lines(self, rows: Rows) -> Int64Array:
        """Return the line numbers of rows, where the header is line 1; they are computed at the first call."""
        if rows.size == 0 or (rows.dtype == np.bool_ and not rows.any()):
            return np.zeros(0, np.int64)
        if self._lines is None:
            data = np.frombuffer(self._body, np.uint8)
            none = np.zeros(0, np.int32)
            n = parsers.scan_records(data, self._first_line, none, none)
            lines, n_fields = np.zeros(n, np.int32), np.zeros(n, np.int32)
            if n:
                parsers.scan_records(data, self._first_line, lines, n_fields)
            regular = n_fields == self._n_columns
            if not regular.all():
                others = np.flatnonzero(~regular)[: self.n_rows - int(regular.sum())]
                lines = np.concatenate([lines[regular], lines[others]])
            self._lines = lines
        return self._lines[rows].astype(np.int64)

    def keep(self, rows: BoolArray) -> TextTable:
        """Return the rows where a mask is True."""
        if rows.all():
            return self
        lines = self.lines(rows)
        mask = pa.array(rows)
        columns = {name: values.filter(mask) for name, values in self._columns.items()}
        kept = TextTable(self.source, self.name, columns, int(rows.sum()), b"", 1, 0)
        kept._lines = lines
        return kept


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return np.nan


class CsvText(NamedTuple):
    """The text of a CSV file in UTF-8."""

    source: Path
    name: str
    header: list[str]
    begin: int  # of the text after the header
    first_line: int  # number of the line there
    raw: bytes

    @property
    def body(self) -> memoryview:
        """The text after the header."""
        return memoryview(self.raw)[self.begin :]

    @property
    def has_quoted_lines(self) -> bool:
        """Whether a line may end inside quotes; Arrow can read in parallel only if every line is a record."""
        is_quoted = self.raw.find(b'"', self.begin) >= 0
        return is_quoted and bool(parsers.has_quoted_lines(np.frombuffer(self.body, np.uint8)))

    @property
    def names(self) -> list[str]:
        """The names of the columns; a repeated one is given a number."""
        return [column if column not in self.header[:i] else f"{column}#{i}" for i, column in enumerate(self.header)]

    def table(self, columns: dict[str, pa.ChunkedArray], n_rows: int) -> TextTable:
        """Return a table of columns of the file."""
        return TextTable(self.source, self.name, columns, n_rows, self.body, self.first_line, len(self.header))


def read_text(
    source: Path, name: str, raw: bytes, findings: Findings, parser: Callable[[CsvText], Converted]
) -> Converted:
    """Parse a CSV file in UTF-8, UTF-16 or Windows-1252, or a mixture of the first and the last."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        findings.add(name, "UTF-16 instead of UTF-8: read as UTF-16", rows=1, is_dropped=False)
        raw = raw.decode("utf-16", errors="replace").encode("utf-8", errors="replace")
    elif not raw.isascii() and not _is_utf8(raw):
        # The reference requires UTF-8, but older tools on Windows write the local code page, some of them for one
        # file or one row among others. Bytes that are UTF-8 stay, so that ids agree with those of other files.
        findings.add(name, "not UTF-8: read as Windows-1252", rows=1, is_dropped=False)
        raw = raw.decode(errors=_CODE_PAGE).encode()
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        return parser(CsvText(source, name, *_header(raw), raw))
    except (pa.ArrowInvalid, csv.Error) as error:
        raise GtfsError(f"{source}: {name} is not a CSV table ({error})", file=name) from error


def _is_utf8(raw: bytes) -> bool:
    """Return whether bytes are UTF-8, without a copy of all of them as text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for begin in range(0, len(raw), BLOCK):
            decoder.decode(raw[begin : begin + BLOCK], final=begin + BLOCK >= len(raw))
    except UnicodeDecodeError:
        return False
    return True


def _in_code_page(error: UnicodeError) -> tuple[str, int]:
    """Return the text of bytes that are not UTF-8, for the error handler of `bytes.decode`."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", errors="replace"), error.end


#: Name of the error handler that reads bytes that are not UTF-8 as Windows-1252.
_CODE_PAGE: Final = "traveltime_lab.cp1252"
codecs.register_error(_CODE_PAGE, _in_code_page)


def parse(text: CsvText, requested: Sequence[str], findings: Findings) -> TextTable:
    """Return columns of a file."""
    include = [column for column in text.names if column in requested]
    if not text.header:
        return TextTable(text.source, text.name, {}, 0, b"", 1, 0)
    if _is_blank(text.body):
        return text.table({column: _no_text() for column in include}, 0)
    has_quoted_lines = text.has_quoted_lines
    irregular: list[str] = []
    try:
        table = _parsed(text, text.body, include, has_quoted_lines=has_quoted_lines)
    except pa.ArrowInvalid as error:
        if not _is_irregular(error):
            raise
        table = _parsed(text, text.body, include, has_quoted_lines=has_quoted_lines, aside=irregular)
    columns = {column: table.column(column) for column in include}
    n_rows = table.num_rows
    if irregular:
        columns, n_rows = _with_irregular(columns, n_rows, irregular, text.names)
        rows = np.arange(table.num_rows, n_rows)
        findings.add(
            text.name,
            "number of fields differs from the header: padded or truncated",
            text.table(columns, n_rows).lines(rows),
            example=irregular[0],
            is_dropped=False,
        )
    return text.table({column: _trimmed(values) for column, values in columns.items()}, n_rows)


def _parsed(
    text: CsvText, part: memoryview, include: list[str], *, has_quoted_lines: bool, aside: list[str] | None = None
) -> pa.Table:
    """Return columns of a part of a file; with `aside`, rows with a different number of fields are added to it."""

    def keep_aside(row: pa.csv.InvalidRow) -> str:
        assert aside is not None
        aside.append(row.text)
        return "skip"

    return pyarrow.csv.read_csv(
        pa.py_buffer(part),
        read_options=pyarrow.csv.ReadOptions(column_names=text.names, use_threads=aside is None, block_size=1 << 23),
        parse_options=pyarrow.csv.ParseOptions(
            newlines_in_values=has_quoted_lines, invalid_row_handler=None if aside is None else keep_aside
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            include_columns=include,
            column_types={column: pa.string() for column in include},
            strings_can_be_null=False,
        ),
    )


def parse_in_blocks(
    text: CsvText, requested: Sequence[str], findings: Findings, convert: Callable[[TextTable], Converted]
) -> tuple[TextBlocks, list[Converted]]:
    """Return what `FeedFiles.read_in_blocks` does."""
    include = [column for column in text.names if column in requested]
    parts = _blocks(text)
    found: list[Converted] = []
    begins = [0]
    try:
        for part in parts if len(parts) > 1 else []:
            table = _parsed(text, part, include, has_quoted_lines=False)
            block = text.table({column: _trimmed(table.column(column)) for column in include}, table.num_rows)
            begins.append(begins[-1] + block.n_rows)
            found.append(convert(block))
    except pa.ArrowInvalid as error:
        if not _is_irregular(error):
            raise
        found = []
    if found:
        return TextBlocks(text, include, parts, begins), found
    # A small file, or one whose rows have to be looked at together.
    whole = parse(text, requested, findings)
    return TextBlocks(text, include, [whole], [0, whole.n_rows]), [convert(whole)]


class TextBlocks(TextTable):
    """
    The rows of a large file, whose columns are not in memory.

    Parameters
    ----------
    text : CsvText
    include : list of str
        The columns.
    blocks : list of memoryview or TextTable
        The parts of the text with some of the rows each, or a table of all.
    begins : list of int
        The first row of each block, and the number of all rows.
    """

    def __init__(
        self, text: CsvText, include: list[str], blocks: Sequence[memoryview | TextTable], begins: list[int]
    ) -> None:
        columns = {column: _no_text() for column in include} if text.header else {}
        super().__init__(text.source, text.name, columns, begins[-1], text.body, text.first_line, len(text.header))
        self._text, self._blocks, self._begins = text, blocks, begins

    def text_at(self, column: str, row: int) -> str:
        """Return one field; its block is read again."""
        number = bisect.bisect_right(self._begins, row) - 1
        block = self._blocks[number]
        if not isinstance(block, TextTable):
            values = _trimmed(_parsed(self._text, block, [column], has_quoted_lines=False).column(column))
            return str(values[row - self._begins[number]].as_py())
        return block.text_at(column, row)


def _blocks(text: CsvText) -> list[memoryview]:
    """Return parts of a text that end with a line; the whole if lines may be parts of records."""
    raw, begin = text.raw, text.begin
    if len(raw) - begin <= BLOCK or text.has_quoted_lines:
        return [text.body]
    parts = []
    while begin < len(raw):
        line_end = raw.rfind(b"\n", begin, begin + BLOCK)
        if line_end < 0:
            line_end = raw.find(b"\n", begin + BLOCK)
        end = len(raw) if line_end < 0 or begin + BLOCK >= len(raw) else line_end + 1
        part = memoryview(raw)[begin:end]
        if not _is_blank(part):
            parts.append(part)
        begin = end
    return parts


def _is_blank(body: memoryview) -> bool:
    """Return whether there is nothing but white space."""
    return not bytes(body[:4096]).strip() and not bytes(body).strip()


def _is_irregular(error: pa.ArrowInvalid) -> bool:
    """Return whether the number of fields of a row differs from the header."""
    return "columns" in str(error)


def _trimmed(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without spaces around its fields."""
    if any(len(chunk) and parsers.has_outer_spaces(*letters(chunk)) for chunk in values.chunks):
        return pc.utf8_trim_whitespace(values)
    return values


def letters(chunk: pa.StringArray) -> tuple[Int32Array, UInt8Array]:
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
