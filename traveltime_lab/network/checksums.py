"""
Checksums of saved networks: one for each column, and together they cover every byte of the file.

An Arrow file ends with a footer, which says where the columns are. The table of checksums lies between the columns and
the footer, where Arrow readers do not look::

    columns | table of checksums: JSON, its length and CRC-32, a mark | footer of the Arrow file

The checksum is the CRC-32 of zlib, which needs no further package and lets other threads run. It finds damage, not
tampering.
"""

from __future__ import annotations

import functools
import json
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa

from traveltime_lab._files import open_file
from traveltime_lab.errors import FormatError
from traveltime_lab.runtime.threads import side_by_side

#: End of an Arrow file: the length of the footer and a mark (Arrow Columnar Format, "IPC File Format").
_ARROW_END: Final = struct.Struct("<i6s")
_ARROW_MARK: Final = b"ARROW1"
#: End of the table of checksums: the length and the CRC-32 of its JSON, and a mark.
_TABLE_END: Final = struct.Struct("<II16s")
_TABLE_MARK: Final = b"traveltime sums1"
#: Longest section in bytes; long columns have several, so that threads share them.
_LONGEST: Final = 16 << 20
#: Name of the section after the table of checksums.
_FOOTER: Final = "footer"


def seal(path: Path) -> None:
    """
    Add checksums to an Arrow file of one record batch.

    Parameters
    ----------
    path : Path
        File without checksums; it is changed in place.
    """
    with pa.memory_map(str(path), "rb") as mapped:
        whole = mapped.read_buffer()
        content = memoryview(whole)
        footer = _footer_start(content)
        if footer is None:
            raise FormatError(f"{path} is not an Arrow file, so checksums cannot be added")
        sections = list(_sections(whole, footer))
        tail = bytes(content[footer:])
        del content, whole
    rows = []
    # Not through the mapping, whose pages would count as memory of this process, all of a large file.
    with path.open("rb") as file:
        for name, begin, end in sections:
            file.seek(begin)
            rows.append((name, begin, end, zlib.crc32(file.read(end - begin))))
    table = json.dumps([*rows, (_FOOTER, -len(tail), None, zlib.crc32(tail))]).encode()
    # Readers may expect the footer at a multiple of eight bytes.
    table += b" " * (-(len(table) + _TABLE_END.size) % 8)
    with path.open("rb+") as file:
        file.seek(footer)
        file.write(table + _TABLE_END.pack(len(table), zlib.crc32(table), _TABLE_MARK) + tail)


def read_verified(path: Path) -> tuple[pa.Buffer, bool]:
    """
    Read a file into memory and verify its checksums.

    The bytes are a private copy: later changes of the file have no effect.

    Returns
    -------
    content : pyarrow.Buffer
    has_checksums : bool
        False if there is no table of checksums; nothing was verified then.

    Raises
    ------
    FormatError
        If a checksum differs.
    """
    with open_file(path, buffering=0) as file:
        content = pa.allocate_buffer(os.fstat(file.fileno()).st_size)
        view = memoryview(content).cast("B")
        at = 0
        while at < len(view) and (n_read := file.readinto(view[at:])):
            at += n_read
    if at < len(view):
        raise FormatError(f"{path} became shorter while it was read; load it again when it has been written")
    rows = _table(path, view)
    if rows is None:
        return content, False

    def check(name: str, begin: int, end: int | None, expected: int) -> None:
        found = zlib.crc32(view[begin:end])
        if found != expected:
            where = f"bytes {begin:,} to {end:,} ({name})" if end is not None else f"the last {-begin:,} bytes"
            raise _damaged(path, where, found, expected)

    side_by_side([functools.partial(check, *row) for row in rows])
    return content, True


def _footer_start(content: memoryview) -> int | None:
    """Return where the footer of an Arrow file begins, None if it has none."""
    if len(content) < _ARROW_END.size:
        return None
    length, mark = _ARROW_END.unpack(content[-_ARROW_END.size :])
    start = len(content) - _ARROW_END.size - length
    return start if mark == _ARROW_MARK and length > 0 and start > 0 else None


def _sections(whole: pa.Buffer, footer: int) -> Iterator[tuple[str, int, int]]:
    """Yield name, begin and end of the sections before the footer; each column begins a new one."""
    table = pa.ipc.open_file(pa.BufferReader(whole)).read_all()
    starts = [("header", 0)]
    for name in table.column_names:
        held = [item for item in table.column(name).chunk(0).buffers() if item is not None and item.size]
        starts.append((name, min(item.address for item in held) - whole.address))
    ends = [*(start for _, start in starts[1:]), footer]
    for (name, start), end in zip(starts, ends, strict=True):
        for begin in range(start, end, _LONGEST):
            yield name, begin, min(begin + _LONGEST, end)


def _table(path: Path, content: memoryview) -> list[tuple[str, int, int | None, int]] | None:
    """Return the table of checksums, None if there is none."""
    footer = _footer_start(content)
    if footer is None or footer < _TABLE_END.size:
        return None
    end = footer - _TABLE_END.size
    length, expected, mark = _TABLE_END.unpack(content[end:footer])
    if mark != _TABLE_MARK:
        return None
    begin = end - length
    found = zlib.crc32(content[max(begin, 0) : end])
    if begin < 0 or found != expected:
        raise _damaged(path, "the table of checksums", found, expected)
    try:
        rows = [
            (str(name), int(start), stop and int(stop), int(crc))
            for name, start, stop, crc in json.loads(bytes(content[begin:end]))
        ]
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        raise FormatError(
            f"{path} is damaged: its table of checksums cannot be read ({error}); copy the file again"
        ) from error
    if not rows:
        raise _damaged(path, "the table of checksums", found, expected)
    # The sections follow each other from the first byte to the table, and continue behind it.
    borders = [0, *(row[2] for row in rows[:-1])]
    if [row[1] for row in rows[:-1]] != borders[:-1] or borders[-1] != begin or rows[-1][1] != footer - len(content):
        msg = (
            f"{path} is damaged: a part of it is missing or was added; copy the file again, or build and save the "
            "network again"
        )
        raise FormatError(msg)
    return rows


def _damaged(path: Path, where: str, found: int, expected: int) -> FormatError:
    return FormatError(
        f"{path} is damaged: the checksum of {where} is {found:08x} instead of {expected:08x}; copy the file again, or "
        "build and save the network again"
    )
