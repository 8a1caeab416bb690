"""
Read the columns of tables, some rows at once: Parquet, CSV and frames.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from traveltime_lab._csv import MOST_COLUMNS
from traveltime_lab._files import explained, most_unpacked, open_file
from traveltime_lab._parquet import check_size
from traveltime_lab.errors import DataError, TravelTimeError

#: Rows that are read at once (assumed: about 100 MB), and bytes of a text file.
_PER_CHUNK: Final = 200_000
_BLOCK: Final = 1 << 24
_LONGEST_HEADER: Final = 1 << 20
_SEPARATORS: Final = (",", ";", "\t", "|")
_OPENED: Final[dict[str, Callable[[Any], Any]]] = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
_Find = Callable[[list[str]], dict[str, str]]
_DAMAGED: Final = (pa.ArrowException, ValueError, EOFError, OSError, lzma.LZMAError, zlib.error, csv.Error)


def chunks_of(content: Any, name: str, find: _Find, note: Callable[[str, int], object]) -> Iterator[dict[str, Any]]:
    """
    Yield the columns of a table by meaning, some rows at once.

    Parameters
    ----------
    content : DataFrame, Path or bytes
    name : str
    find : callable
        Returns the column of each meaning, given all.
    note : callable
        Called with why rows are not used, and their number.

    Raises
    ------
    DataError
        If the table is damaged.
    """
    if isinstance(content, pd.DataFrame):
        yield from _of_frame(content, find)
        return
    try:
        with explained(name, "read"), _opened(content) as raw:
            if name.lower().endswith((".parquet", ".pq")) or (isinstance(content, bytes) and content[:4] == b"PAR1"):
                if isinstance(content, Path):
                    check_size(content)
                batches, found = _of_parquet(raw, find)
            else:
                batches, found = _of_csv(raw, name, find, note)
            for batch in batches:
                if batch.num_rows:
                    columns = {key: batch.column(batch.schema.get_field_index(column)) for key, column in found.items()}
                    yield {key: column.to_pandas() for key, column in columns.items()}
    except TravelTimeError:
        raise
    except _DAMAGED as error:
        raise DataError(
            f"{name} is no table that can be read: {(str(error) or repr(error)).splitlines()[0]}"
        ) from error


def _of_frame(frame: pd.DataFrame, find: _Find) -> Iterator[dict[str, Any]]:
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    found = find([str(column) for column in frame.columns])
    at = {str(column): i for i, column in reversed([*enumerate(frame.columns)])}
    for begin in range(0, len(frame), _PER_CHUNK):
        part = frame.iloc[begin : begin + _PER_CHUNK]
        yield {key: part.iloc[:, at[column]].reset_index(drop=True) for key, column in found.items()}


def _opened(content: Path | bytes) -> IO[bytes]:
    return open_file(content) if isinstance(content, Path) else io.BytesIO(content)


def _of_parquet(raw: IO[bytes], find: _Find) -> tuple[Iterator[pa.RecordBatch], dict[str, str]]:
    file = pa.parquet.ParquetFile(raw)
    found = find(file.schema_arrow.names)
    return file.iter_batches(_PER_CHUNK, columns=[*dict.fromkeys(found.values())]), found


class _Text(io.RawIOBase):
    """
    The content of a file in UTF-8, with U+FFFD in place of bytes that are no text, which pyarrow does not survive.

    A packed file whose content is much larger raises ValueError.
    """

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream, self._most, self._n = stream, most, 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            content = self._stream.read(len(buffer))
            self._n += len(content)
            if self._n > self._most:
                raise ValueError(f"it unpacks to more than {self._most:,} bytes; unpack it if it is what it seems")
            self._left = self._decoder.decode(content, not content).encode()
            if not content:
                break
        part, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


def _of_csv(
    raw: IO[bytes], name: str, find: _Find, note: Callable[[str, int], object]
) -> tuple[Iterator[pa.RecordBatch], dict[str, str]]:
    """Return the rows of a CSV file as texts, and the column of each meaning."""
    size = raw.seek(0, io.SEEK_END)

    def opened() -> IO[bytes]:
        raw.seek(0)
        packed = raw.read(6)
        raw.seek(0)
        kind = "gz" if packed[:2] == b"\x1f\x8b" else "bz2" if packed[:3] == b"BZh" else "xz"
        is_packed = kind != "xz" or packed == b"\xfd7zXZ\0"
        stream = _Text(_OPENED[kind](raw), most_unpacked(size)) if is_packed else _Text(raw, size)
        return io.BufferedReader(stream, 1 << 20)

    header = opened().readline(_LONGEST_HEADER).decode("utf-8-sig", "replace").strip("\r\n")
    if len(header) >= _LONGEST_HEADER - 4 or "\0" in header:
        raise ValueError("its first line is no header of columns")
    separator = max(_SEPARATORS, key=header.count)
    names = next(csv.reader([header], delimiter=separator), [])
    if len(names) > MOST_COLUMNS:
        raise ValueError(f"its header has {len(names):,} columns; at most {MOST_COLUMNS:,} are read")
    names = [each.strip() for each in names]
    found = find(names)
    at = [str(i) for i in range(len(names))]
    number = {column: at[i] for i, column in reversed([*enumerate(names)])}
    places = {key: number[column] for key, column in found.items()}

    def skip(row: Any) -> str:
        note("row with more or fewer fields than the header", 1)
        return "skip"

    reader = pa.csv.open_csv(
        opened(),
        pa.csv.ReadOptions(use_threads=False, block_size=_BLOCK, skip_rows=1, column_names=at),
        pa.csv.ParseOptions(delimiter=separator, invalid_row_handler=skip),
        pa.csv.ConvertOptions(
            column_types=dict.fromkeys(at, pa.string()), include_columns=[*dict.fromkeys(places.values())],
            strings_can_be_null=True, null_values=[""],
        ),
    )  # fmt: skip
    return iter(reader), places
