"""
Check that a PBF file is a sequence of whole blobs whose texts have no null bytes, before libosmium reads it.

libosmium never closes a file whose blobs it cannot tell apart, or whose header it cannot read. Its texts end at the
first null byte, so that one within a tag makes it read beyond the tags of an object, which ends the process. The format
is that of https://wiki.openstreetmap.org/wiki/PBF_Format: the length of a header in four bytes, the header, and a blob
of the length that the header says.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pyarrow as pa

from traveltime_lab._files import MOST_TIMES, most_unpacked, open_file

#: The most bytes of a header and of a blob, of the format.
_MOST_HEADER, _MOST_BLOB = 64 * 1024, 32 * 1024 * 1024
#: Bytes of the parts of `parts`, at least.
_PART_BYTES = 1 << 23
_TYPES = (b"OSMHeader", b"OSMData")
#: Features of files that libosmium reads.
_FEATURES = (b"OsmSchema-V0.6", b"DenseNodes", b"HistoricalInformation")


def fault(path: Path) -> str | None:
    """Return the fault of the blobs of a file, or None."""
    size, n_unpacked = path.stat().st_size, 0
    with open_file(path, buffering=128) as file:
        at = 0
        while at < size:
            found = _blob(file)
            if isinstance(found, str):
                return f"{found} at byte {at:,}"
            kind, n_bytes = found
            if kind != _TYPES[at > 0]:
                return f"a blob of the type {kind.decode(errors='replace')!r} at byte {at:,}"
            is_first, at = at == 0, file.tell() + n_bytes
            if at > size:
                return f"it ends within a blob, {at - size:,} bytes are missing"
            if is_first:
                wrong = _fault_of_header(file.read(n_bytes))
                if wrong is not None:
                    return wrong
            n_unpacked += _unpacked(file, at - n_bytes, at)
            if n_unpacked > most_unpacked(size):
                break
            if not is_first:
                file.seek(at - n_bytes)
                wrong = _fault_of_data(file.read(n_bytes))
                if wrong is not None:
                    return f"{wrong} in the blob at byte {at - n_bytes:,}"
            file.seek(at)
    if n_unpacked > most_unpacked(size):
        return f"it unpacks from {size:,} to {n_unpacked:,} bytes, more than {MOST_TIMES} times as many"
    return None


def parts(path: Path) -> Iterator[bytes]:
    """Yield parts of a file without a fault, each a file of its own: the header, and some whole blobs of data."""
    size = path.stat().st_size
    with open_file(path) as file:
        header, part, at = b"", bytearray(), 0
        while at < size:
            found = _blob(file)
            if isinstance(found, str):
                return  # it has changed since it was checked; libosmium reports the fault
            end = file.tell() + found[1]
            file.seek(at)
            blob = file.read(end - at)
            if at == 0:
                header = blob
            else:
                part += blob
            at = end
            if len(part) >= _PART_BYTES or (part and at >= size):
                yield header + bytes(part)
                part.clear()


def _unpacked(file: IO[bytes], begin: int, end: int) -> int:
    """Return how many bytes a blob says that it has when unpacked, more than which libosmium does not unpack."""
    at, n_bytes = begin, 0
    try:
        while at < end:
            file.seek(at)
            start = file.read(min(20, end - at))  # two numbers of 64 bits
            key, length = _varint(start, 0)
            value, length = _varint(start, length)
            at += length + (value if key & 7 == 2 else 0)
            if key >> 3 == 2 and key & 7 == 0:
                n_bytes = value
    except IndexError:  # libosmium reports the fault
        pass
    return n_bytes


def _blob(file: IO[bytes]) -> tuple[bytes, int] | str:
    """Return type and length of the blob that begins here, or the fault of its header."""
    length = file.read(4)
    n_header = int.from_bytes(length, "big")
    if len(length) < 4:
        return "it ends within the length of a header"
    if n_header > _MOST_HEADER:
        return f"a header of {n_header:,} bytes (at most {_MOST_HEADER:,})"
    header = file.read(n_header)
    if len(header) < n_header:
        return "it ends within a header"
    try:
        fields = _fields(header)
    except IndexError:
        fields = {}
    kind, n_bytes = fields.get(1), fields.get(3)
    if not isinstance(kind, bytes) or not isinstance(n_bytes, int):
        return "a header without type or length of its blob"
    if not 0 < n_bytes <= _MOST_BLOB:
        return f"a blob of {n_bytes:,} bytes (1 to {_MOST_BLOB:,})"
    return kind, n_bytes


def _fault_of_header(blob: bytes) -> str | None:
    """Return the fault of the blob that is the header of a file."""
    try:
        for content in _contents(blob):
            for feature in _values(content, 4):
                if feature not in _FEATURES:
                    return f"it needs a feature that is not supported: {feature!r}"
            for box in _values(content, 1):
                _fields(box)
    except (IndexError, ValueError, OSError, zlib.error):
        return "its header is damaged"
    return None


def _fault_of_data(blob: bytes) -> str | None:
    """
    Return the fault of the texts of a blob of data.

    Content that cannot be read here is damaged: libosmium reads some of it differently, and may find a text with a null
    byte.
    """
    try:
        for content in _contents(blob):
            for table in _values(content, 1):
                # The first text is empty, so that its length is a null byte; few other lengths are.
                may_have_null = table.count(0) > table.startswith(b"\n\0")
                if may_have_null and any(b"\0" in text for text in _values(table, 1)):
                    return "a text with a null byte"
    except (IndexError, ValueError, OSError, zlib.error):
        return "damaged data"
    return None


def _contents(blob: bytes) -> Iterator[bytes]:
    """Yield the content of a blob, in each form that libosmium reads; errors of several kinds if one is damaged."""
    yield from _values(blob, 1)
    size = _fields(blob).get(2)
    for packed in _values(blob, 3):
        unpacked = zlib.decompressobj()
        content = unpacked.decompress(packed, _MOST_BLOB)
        if not unpacked.eof or len(content) != size:
            raise IndexError
        yield content
    for packed in _values(blob, 6):
        if not isinstance(size, int) or size > _MOST_BLOB:
            raise IndexError
        yield pa.Codec("lz4_raw").decompress(packed, decompressed_size=size, asbytes=True)


def _values(message: bytes, number: int) -> list[bytes]:
    """Return the texts and messages of a field that may be there several times; IndexError if they are none."""
    values = [value for field, value in _pairs(message) if field == number]
    if not all(isinstance(value, bytes) for value in values):
        raise IndexError
    return [value for value in values if isinstance(value, bytes)]


def _fields(message: bytes) -> dict[int, bytes | int]:
    """Return numbers and values of the fields of a Protocol Buffers message; IndexError if it is none."""
    return dict(_pairs(message))


def _pairs(message: bytes) -> Iterator[tuple[int, bytes | int]]:
    """Yield numbers and values of the fields of a Protocol Buffers message; IndexError if it is none."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        value: bytes | int
        if key & 7 == 0:
            value, at = _varint(message, at)
        elif key & 7 == 2:
            size, at = _varint(message, at)
            if at + size > len(message):
                raise IndexError
            value, at = message[at : at + size], at + size
        else:
            raise IndexError
        yield key >> 3, value


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return a number and the place after it."""
    value, shift = 0, 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise IndexError
