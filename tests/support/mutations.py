"""
Mutations of files and bodies: of their bytes, of what is inside compressed parts, and of their structure.

Every function takes a `random.Random`, so that a case can be made again from its seed. Checksums and lengths of
containers are right again after a mutation inside of them.
"""

from __future__ import annotations

import bz2
import contextlib
import copy
import gzip
import io
import json
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

#: The largest content of a case; repetitions stop there.
MOST_BYTES = 2_000_000

Mutation = Callable[[bytes, random.Random], bytes]


# Bytes ----------------------------------------------------------------------------------------------------------------

#: Numbers at the ends of ranges, in bytes of either order.
_ENDS = [
    value.to_bytes(size, order)
    for size in (2, 4, 8)
    for value in (0, 1, (1 << 8 * size) - 1, 1 << 8 * size - 1, (1 << 8 * size - 1) - 1, 1 << 4 * size)
    for order in ("little", "big")
]


def of_bytes(content: bytes, dice: random.Random, other: bytes = b"") -> bytes:
    """Return content with one to three mutations of its bytes; `other` is a second file to splice with."""
    for _ in range(dice.choice([1, 1, 2, 3])):
        content = (
            dice.choice(_BYTES)(content, dice) if not other or dice.random() < 0.9 else _splice(content, dice, other)
        )
    return content[:MOST_BYTES]


def _place(content: bytes, dice: random.Random) -> int:
    """Return a place; beginnings and ends, where headers and footers are, more often than others."""
    size = max(len(content), 1)
    return dice.choice([dice.randrange(size), dice.randrange(min(size, 64)), size - 1 - dice.randrange(min(size, 64))])


def _part(content: bytes, dice: random.Random) -> tuple[int, int]:
    begin = _place(content, dice)
    return begin, begin + dice.choice([1, 2, 4, 8, dice.randrange(1, 65), dice.randrange(1, max(2, len(content)))])


def _flip(content: bytes, dice: random.Random) -> bytes:
    changed = bytearray(content or b"\0")
    for _ in range(dice.choice([1, 2, 8])):
        changed[_place(changed, dice)] ^= 1 << dice.randrange(8)
    return bytes(changed)


def _set(content: bytes, dice: random.Random) -> bytes:
    begin, end = _part(content, dice)
    end = min(end, begin + 64)
    return content[:begin] + bytes([dice.choice([0, 255, 127, dice.randrange(256)])]) * (end - begin) + content[end:]


def _delete(content: bytes, dice: random.Random) -> bytes:
    begin, end = _part(content, dice)
    return content[:begin] + content[end:]


def _insert(content: bytes, dice: random.Random) -> bytes:
    at = _place(content, dice)
    return content[:at] + dice.randbytes(dice.choice([1, 4, dice.randrange(1, 300)])) + content[at:]


def _truncate(content: bytes, dice: random.Random) -> bytes:
    return content[: dice.randrange(len(content) + 1)]


def _repeat(content: bytes, dice: random.Random) -> bytes:
    begin, end = _part(content, dice)
    part = content[begin:end]
    times = min(dice.choice([2, 3, 100, 5_000]), MOST_BYTES // max(len(part), 1))
    return content[:begin] + part * times + content[end:]


def _move(content: bytes, dice: random.Random) -> bytes:
    begin, end = _part(content, dice)
    rest = content[:begin] + content[end:]
    at = _place(rest, dice)
    return rest[:at] + content[begin:end] + rest[at:]


def _end_of_range(content: bytes, dice: random.Random) -> bytes:
    at, value = _place(content, dice), dice.choice(_ENDS)
    return content[:at] + value + content[at + len(value) :]


def _digits(content: bytes, dice: random.Random) -> bytes:
    """Replace a number in a text."""
    found = list(re.finditer(rb"-?\d+(\.\d+)?", content))
    if not found:
        return _set(content, dice)
    one = dice.choice(found)
    return content[: one.start()] + dice.choice(NUMBERS) + content[one.end() :]


def _splice(content: bytes, dice: random.Random, other: bytes) -> bytes:
    return content[: dice.randrange(len(content) + 1)] + other[dice.randrange(len(other) + 1) :]


#: Numbers as texts that are large, small, or none.
NUMBERS = [
    b"0", b"-1", b"1", b"-0.0", b"1e400", b"-1e308", b"1e-400", b"NaN", b"Infinity", b"-Infinity", b"nan", b"inf", b"",
    b"2147483648", b"-2147483649", b"4294967296", b"9223372036854775807", b"9223372036854775808",
    b"-9223372036854775808", b"18446744073709551616", b"36028797018963968", b"0.1", b"1_000", b"0x10", b"1e9",
    b"-" + b"9" * 5000, b"9" * 400,
]  # fmt: skip

_BYTES = [_flip, _flip, _set, _delete, _insert, _truncate, _repeat, _move, _end_of_range, _digits]


# Values of JSON -------------------------------------------------------------------------------------------------------


class Raw(bytes):
    """A part of a JSON text that is written as it is, valid or not."""


class Pairs(list[tuple[str, Any]]):
    """An object whose keys may repeat."""


def written(value: Any) -> bytes:
    """Return a value as JSON, with `Raw` and `Pairs` in it."""
    if isinstance(value, Raw):
        return bytes(value)
    if isinstance(value, dict | Pairs):
        pairs = value.items() if isinstance(value, dict) else value
        return b"{" + b",".join(json.dumps(str(key)).encode() + b":" + written(item) for key, item in pairs) + b"}"
    if isinstance(value, list | tuple):
        return b"[" + b",".join(map(written, value)) + b"]"
    return json.dumps(value).encode()


#: Anything in the place of anything.
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 5, 2**31, 2**63, -(2**63) - 1, 2**64, 10**400, 0.5, -0.0, 1e308, 5e-324, "", " ", "x",
    "0", "NaN", "null", "\0", "EPSG:9", "2026-02-30", "2026-03-02T08:00:00Z", "0001-01-01T00:00:00+14:00", "é" * 300,
    "a" * 100_000, [], {}, [[]], [{}], [None], {"": None}, [1, 2], ["a", "b"], {"a": {"a": {}}}, [0.0] * 1000,
    Raw(b"NaN"), Raw(b"-Infinity"), Raw(b"1e400"), Raw(b"-" + b"9" * 5000), Raw(b'"\\ud800"'), Raw(b'"\\udfff x"'),
    Raw(b'"\xff\xfe"'), Raw(b'"\xed\xa0\x80"'), Raw(b""), Raw(b"01"), Raw(b"'x'"), Raw(b"[" * 400 + b"]" * 400),
    Raw(b"[" * 100_000 + b"]" * 100_000), Raw(b'{"a":' * 900 + b"1" + b"}" * 900), Raw(b"[" + b"0," * 50_000 + b"0]"),
]  # fmt: skip


def of_json(value: Any, dice: random.Random) -> bytes:
    """Return a JSON text of a value with one to three mutations of its structure, or of its bytes."""
    if dice.random() < 0.2:
        return of_bytes(written(value), dice)
    value = copy.deepcopy(value)
    if dice.random() < 0.4:
        # A value of the same type passes more checks than others do.
        places = [(owner, key) for owner, key in _owners(value) if not isinstance(owner[key], dict | list)]
        for owner, key in dice.sample(places, min(len(places), dice.choice([1, 1, 2]))):
            owner[key] = _like(owner[key], dice)
        return written(value)
    for _ in range(dice.choice([1, 1, 2, 3])):
        value = _changed(value, dice)
    return written(value)[: 2 * MOST_BYTES]


def _owners(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container in a value with the keys of its items; of long lists only the first and last."""
    if isinstance(value, dict | list) and not isinstance(value, Pairs):
        keys = list(value) if isinstance(value, dict) else sorted({*range(len(value))[:3], *range(len(value))[-1:]})
        for key in keys:
            yield value, key
            yield from _owners(value[key])


def _changed(value: Any, dice: random.Random) -> Any:
    places = list(_owners(value))
    if not places or dice.random() < 0.02:
        return copy.deepcopy(dice.choice(VALUES))
    owner, key = dice.choice(places)
    what = dice.choice(["replace"] * 4 + ["delete", "wrap", "repeat", "key", "swap", "again", "same kind"])
    if what == "replace":
        # A copy: the next mutation may change it, or put it into itself.
        owner[key] = copy.deepcopy(dice.choice(VALUES))
    elif what == "delete":
        del owner[key]
    elif what == "wrap":
        owner[key] = dice.choice([[owner[key]], {"a": owner[key]}, [owner[key], owner[key]], {str(key): owner[key]}])
    elif what == "repeat" and isinstance(owner, list):
        owner[key:key] = [owner[key]] * dice.choice([1, 2, 300])
    elif what == "again" and isinstance(owner[key], dict):
        pairs = list(owner[key].items())
        name = dice.choice([*owner[key], "x"])
        owner[key] = Pairs([*pairs, (name, copy.deepcopy(dice.choice([*VALUES, *owner[key].values()])))])
    elif what == "key" and isinstance(owner, dict):
        new = dice.choice(["", "x", str(key).upper(), f"{key}_", "__class__", "\0", "a" * 10_000, *map(str, owner)])
        owner[new] = owner.pop(key)
    elif what == "swap":
        other, where = dice.choice(places)
        with contextlib.suppress(KeyError, IndexError):  # it was in what has been replaced
            owner[key], other[where] = copy.deepcopy(other[where]), copy.deepcopy(owner[key])
    else:
        owner[key] = _like(owner[key], dice)
    return value


def _like(value: Any, dice: random.Random) -> Any:
    """Return a value of the same type that is unlike."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return dice.choice([0, -value, value + 1, value * 1000, -1, 2**31 - 1, 2**40])
    if isinstance(value, float):
        return dice.choice([-value, value + 1e-9, value * 1000, 0.0, 1e15])
    if isinstance(value, str):
        return dice.choice([value + value, value[::-1], value[:-1], value + " ", value.upper(), value * 50])
    return type(value)()


# Tables of text -------------------------------------------------------------------------------------------------------

#: Fields of tables.
FIELDS = [
    *NUMBERS, b" ", b'"', b'""', b'"a\nb"', b"\0", b"\xff", b"\xc3\x28", b"\xef\xbb\xbf", b"a" * 100_000, b"NA",
    b"None", b"=1+1", b"\r", b"1,5", b"25:00:00", b"-1:00:00", b"9999999:99:99", b"20260230", b"00000000", b"99999999",
    "é".encode(),
]  # fmt: skip


def of_table(content: bytes, dice: random.Random, separator: bytes = b",") -> bytes:
    """Return a table of text with one to three mutations of its rows and fields, or of its bytes."""
    if dice.random() < 0.2:
        return of_bytes(content, dice)
    for _ in range(dice.choice([1, 1, 2, 3])):
        lines = content.split(b"\n")
        at = dice.choice([0, dice.randrange(len(lines)), dice.randrange(len(lines))])
        fields = lines[at].split(separator)
        column = dice.randrange(len(fields))
        what = dice.choice(["field"] * 4 + ["column", "more", "fewer", "again", "gone", "long", "header", "ends"])
        if what == "field":
            fields[column] = dice.choice(FIELDS)
        elif what == "more":
            fields += [dice.choice(FIELDS)[:1000]] * dice.choice([1, 2, 2000])
        elif what == "fewer":
            del fields[column]
        elif what == "long":
            fields[column] = (fields[column] * 1000)[:MOST_BYTES]
        lines[at] = separator.join(fields)
        if what == "again":
            lines[at:at] = [lines[at][:20_000]] * dice.choice([1, 100])
        elif what == "gone":
            del lines[at]
        elif what == "header":
            lines.insert(at, lines[0] if lines else b"")
        elif what == "column":
            lines = [_with_field(line.split(separator), column, dice, separator) for line in lines]
        content = dice.choice([b"\r\n", b"\r", b"\n\n"]).join(lines) if what == "ends" else b"\n".join(lines)
        content = content[:MOST_BYTES]
    return content


def _with_field(fields: list[bytes], column: int, dice: random.Random, separator: bytes) -> bytes:
    if column < len(fields) and dice.random() < 0.5:
        fields[column] = dice.choice(FIELDS)
    return separator.join(fields)


# XML ------------------------------------------------------------------------------------------------------------------

_ATTRIBUTE = re.compile(rb'="([^"]*)"')
_TAG = re.compile(rb"<[^>]*>")
#: Values of attributes, and what may be between them.
_XML = [
    *NUMBERS,
    b"&#0;",
    b"&#55296;",
    b"&amp;&lt;",
    b"&x;",
    b"a" * 10_000,
    b"\xff",
    "é".encode(),
    b"n1",
    b"yes;no",
    b"-",
]


def of_xml(content: bytes, dice: random.Random) -> bytes:
    """Return XML with one to three mutations of its attributes and elements, or of its bytes."""
    if dice.random() < 0.2:
        return of_bytes(content, dice)
    for _ in range(dice.choice([1, 1, 2, 3])):
        what = dice.choice(["attribute"] * 4 + ["tag", "tag", "entity", "nest"])
        found = list((_ATTRIBUTE if what == "attribute" else _TAG).finditer(content))
        if not found:
            return of_bytes(content, dice)
        one, other = dice.choice(found), dice.choice(found)
        if what == "attribute":
            new = dice.choice([*_XML, other[1], other[1]])
            content = content[: one.start(1)] + new + content[one.end(1) :]
        elif what == "tag":
            new = dice.choice(
                [b"", one[0] * 2, other[0], b"<!--" + one[0], b"<![CDATA[" + one[0] + b"]]>", one[0] * 500]
            )
            content = content[: one.start()] + new + content[one.end() :]
        elif what == "entity":
            bomb = b'<!DOCTYPE osm [<!ENTITY a "' + b"x" * 1000 + b'"><!ENTITY b "' + b"&a;" * 1000 + b'">]>'
            content = content.replace(b"?>", b"?>" + bomb, 1).replace(b'v="', b'v="&b;', 1)
        else:
            content = content[: one.start()] + b"<x>" * 5000 + content[one.start() :]
    return content[:MOST_BYTES]


# Messages of Protocol Buffers -----------------------------------------------------------------------------------------


class Field(NamedTuple):
    """A field of a message: its number, its wire type, and a number or bytes."""

    number: int
    wire: int
    value: Any


def varint(value: int) -> bytes:
    """Return a number as a variable number of bytes."""
    more = bytearray()
    while value > 127:
        more.append(value & 127 | 128)
        value >>= 7
    return bytes([*more, value])


def fields_of(message: bytes) -> list[Field]:
    """Return the fields of a message; ValueError if it is none."""
    found, at = [], 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            if at >= len(message) or shift > 63:
                raise ValueError("no number")
            value |= (message[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if message[at - 1] < 128:
                return value

    while at < len(message):
        key = number()
        wire = key & 7
        if wire == 0:
            value: Any = number()
        else:
            size = {1: 8, 5: 4}.get(wire) if wire != 2 else number()
            if size is None or at + size > len(message):
                raise ValueError("no field")
            value, at = message[at : at + size], at + size
        found.append(Field(key >> 3, wire, value))
    return found


def message_of(fields: list[Field]) -> bytes:
    """Return the message of fields."""
    parts = []
    for number, wire, value in fields:
        parts.append(varint(number << 3 | wire))
        parts.append(varint(value) if wire == 0 else (varint(len(value)) if wire == 2 else b"") + bytes(value))
    return b"".join(parts)


_VARINTS = [0, 1, 2, 127, 2**31 - 1, 2**31, 2**32, 2**55, 2**62, 2**63, 2**64 - 1, 2**64 - 2]


def of_message(content: bytes, dice: random.Random, depth: int = 0) -> bytes:
    """Return a message with a mutation of its fields or of those of messages in it, or of its bytes."""
    try:
        fields = fields_of(content)
    except ValueError:
        fields = []
    if not fields or dice.random() < 0.15:
        return of_bytes(content, dice)
    at = dice.randrange(len(fields))
    number, wire, value = fields[at]
    what = dice.choice(["value"] * 6 + ["again", "gone", "number", "wire", "many", "packed"])
    if what == "value" and wire == 2 and depth < 8 and dice.random() < 0.9:
        fields[at] = Field(number, wire, of_message(value, dice, depth + 1))
    elif what == "value" and wire == 2:
        fields[at] = Field(number, wire, dice.choice([b"", value * 50, b"\xff" * 10, dice.randbytes(30), value[:-1]]))
    elif what == "value":
        new = dice.choice(_VARINTS) if wire == 0 else dice.randbytes(len(value))
        fields[at] = Field(number, wire, dice.choice([new, struct.pack("<d", np.inf)[: len(value)]]) if wire else new)
    elif what == "again":
        fields.insert(dice.randrange(len(fields) + 1), fields[at])
    elif what == "gone":
        del fields[at]
    elif what == "number":
        fields[at] = Field(dice.choice([number + 1, max(number - 1, 0), 0, 2**29 - 1]), wire, value)
    elif what == "wire":
        fields[at] = Field(number, 0, dice.choice(_VARINTS)) if wire else Field(number, 2, dice.randbytes(5))
    elif what == "many":
        fields[at:at] = [fields[at]] * min(500, MOST_BYTES // (len(content) + 1))
    elif wire == 2:
        fields[at] = Field(number, wire, b"".join(varint(dice.choice(_VARINTS)) for _ in range(dice.randrange(40))))
    return message_of(fields)


# Inside of containers -------------------------------------------------------------------------------------------------


def in_zip(content: bytes, dice: random.Random, mutation: Mutation) -> bytes:
    """Return a zip file with a mutation inside of a file, of the names, or of its bytes."""
    if dice.random() < 0.2:
        return of_bytes(content, dice)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = [(name, archive.read(name)) for name in archive.namelist()]
    for _ in range(dice.choice([1, 1, 2])):
        at = dice.randrange(len(files))
        name, text = files[at]
        what = dice.choice(["content"] * 8 + ["gone", "name", "swap", "nested"])
        if what == "content":
            files[at] = name, mutation(text, dice)
        elif what == "gone" and len(files) > 1:
            del files[at]
        elif what == "name":
            files[at] = dice.choice([name.upper(), f"a/{name}", f"../{name}", f"./{name}", "/", "x.zip", "é.txt"]), text
        elif what == "swap":
            files[at] = name, dice.choice(files)[1]
        else:
            files = [("inner.zip", zipped(files))]
    return zipped(files, dice.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))


def zipped(files: list[tuple[str, bytes]], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip file; a repeated name is there once."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", how) as archive:
        for name, text in dict(files).items():
            archive.writestr(name, text)
    return sink.getvalue()


def in_stream(content: bytes, dice: random.Random, mutation: Mutation, how: str) -> bytes:
    """Return a compressed stream (``"gz"`` or ``"bz2"``) with a mutation inside of it, or of its bytes."""
    if dice.random() < 0.2:
        return of_bytes(content, dice)
    if how == "gz":
        return gzip.compress(mutation(gzip.decompress(content), dice), 1, mtime=0)
    return bz2.compress(mutation(bz2.decompress(content), dice), 1)


def in_pbf(content: bytes, dice: random.Random) -> bytes:
    """Return OpenStreetMap data as PBF with a mutation inside of a blob, of the blobs, or of its bytes."""
    if dice.random() < 0.1:
        return of_bytes(content, dice)
    blobs, at = [], 0
    while at < len(content):
        size = int.from_bytes(content[at : at + 4], "big")
        header = {field.number: field.value for field in fields_of(content[at + 4 : at + 4 + size])}
        at += 4 + size
        body = {field.number: field.value for field in fields_of(content[at : at + header[3]])}
        blobs.append((header[1], body[1] if 1 in body else zlib.decompress(body[3])))
        at += header[3]
    row = dice.choice([0, *range(len(blobs))])
    what = dice.choice(["content"] * 12 + ["again", "gone", "type", "size"])
    if what == "content":
        kind, raw = blobs[row]
        for _ in range(dice.choice([1, 1, 2, 3])):
            raw = of_message(raw, dice)
        blobs[row] = kind, raw
    elif what == "again":
        blobs.insert(row, blobs[row])
    elif what == "gone":
        del blobs[row]
    elif what == "type":
        blobs[row] = dice.choice([b"OSMHeader", b"OSMData", b"x", b""]), blobs[row][1]
    wrong = row if what == "size" else -1
    return b"".join(_blob(kind, raw, dice, is_wrong=at == wrong) for at, (kind, raw) in enumerate(blobs))


def _blob(kind: bytes, raw: bytes, dice: random.Random, *, is_wrong: bool) -> bytes:
    size = dice.choice([0, 1, len(raw) + 1, 2**25, 2**31 - 1, 2**63]) if is_wrong else len(raw)
    body = message_of([Field(2, 0, size), Field(3, 2, zlib.compress(raw, 1))])
    if dice.random() < 0.1:
        body = message_of([Field(1, 2, raw)])
    header = message_of([Field(1, 2, kind), Field(3, 0, len(body))])
    return len(header).to_bytes(4, "big") + header + body


def of_tiff(content: bytes, dice: random.Random) -> bytes:
    """Return a little-endian TIFF with mutations of the entries of its directory, or of its bytes."""
    if dice.random() < 0.3 or content[:4] != b"II*\0":
        return of_bytes(content, dice)
    changed = bytearray(content)
    begin = struct.unpack_from("<I", content, 4)[0]
    n_entries = struct.unpack_from("<H", content, begin)[0]
    for _ in range(dice.choice([1, 1, 2])):
        at = begin + 2 + 12 * dice.randrange(n_entries)
        what, value = dice.choice(["type", "count", "value", "value", "value", "tag"]), dice.choice(_TIFF)
        if what in ("type", "tag"):
            struct.pack_into("<H", changed, at + (2 if what == "type" else 0), value & 0xFFFF)
        else:
            struct.pack_into("<I", changed, at + (4 if what == "count" else 8), value)
    return bytes(changed)


_TIFF = [0, 1, 2, 3, 4, 5, 8, 12, 16, 64, 256, 257, 273, 1000, 65535, 65536, 10**6, 2**24, 2**31 - 1, 2**31, 2**32 - 1]


# Tables of Arrow ------------------------------------------------------------------------------------------------------


def of_arrow(table: pa.Table, dice: random.Random) -> pa.Table:
    """Return a table with one or two mutations of its columns or of its metadata; they fit each other."""
    for _ in range(dice.choice([1, 1, 2])):
        if not table.num_columns:
            return table
        at = dice.randrange(table.num_columns)
        what = dice.choice(["column"] * 5 + ["gone", "again", "name", "metadata", "metadata", "rows"])
        name = table.column_names[at]
        if what == "column":
            table = table.set_column(at, name, _column(table.column(at).combine_chunks(), dice))
        elif what == "gone":
            table = table.remove_column(at)
        elif what == "again":
            table = table.append_column(name, table.column(at))
        elif what == "name":
            names = [*table.column_names]
            names[at] = dice.choice(["", "geometry", "index", "\0", "é", "__index_level_0__", name.upper(), *names])
            table = table.rename_columns(names)
        elif what == "metadata":
            table = table.replace_schema_metadata(_metadata(table.schema.metadata or {}, dice))
        else:
            table = table.slice(0, dice.choice([0, 1]))
    return table


def _column(values: Any, dice: random.Random) -> pa.Array:
    n = len(values)
    return dice.choice(
        [
            lambda: pa.nulls(n),
            lambda: pa.array([None] * n, values.type),
            lambda: pa.array([dice.choice([0, -1, 2**62, 2**31])] * n, pa.int64()),
            lambda: pa.array([2**64 - 1] * n, pa.uint64()),
            lambda: pa.array([dice.choice([np.nan, np.inf, -1e308, 0.0, 1e-320])] * n, pa.float64()),
            lambda: pa.array([1.5] * n, pa.float32()),
            lambda: pa.array([True] * n),
            lambda: pa.array([dice.choice(["", "x", "a" * 10_000, "\0", "1e400", "9" * 5000])] * n),
            lambda: pa.array([dice.randbytes(dice.choice([0, 1, 5, 21, 100])) for _ in range(n)], pa.binary()),
            lambda: pa.array([[1, 2]] * n),
            lambda: pa.array([{"x": 1.0, "y": 2.0}] * n),
            lambda: pa.array([0] * n, pa.timestamp("ns", "UTC")),
            lambda: pa.array([2**62] * n, pa.duration("s")),
            lambda: pa.array([f"v{i}" for i in range(n)]).dictionary_encode(),
            lambda: pa.array([1] * n, pa.decimal128(38, 10)),
            lambda: pa.array(_bent(values.to_pylist(), dice), values.type),
        ]
    )()


def _bent(values: list[Any], dice: random.Random) -> list[Any]:
    """Return the values of a column of which one is mutated."""
    if values:
        at = dice.randrange(len(values))
        one = values[at]
        if isinstance(one, bytes):
            values[at] = of_bytes(one, dice)[:1000]
        elif isinstance(one, str):
            values[at] = dice.choice(["", one + one, "\0"])
        elif isinstance(one, float):
            values[at] = dice.choice([np.nan, np.inf, -one, 1e300])
        else:
            values[at] = None
    return values


def _metadata(metadata: dict[bytes, bytes], dice: random.Random) -> dict[bytes, bytes] | None:
    if not metadata or dice.random() < 0.1:
        return None
    changed = dict(metadata)
    key = dice.choice(list(changed))
    try:
        changed[key] = of_json(json.loads(changed[key]), dice)
    except (ValueError, RecursionError):  # it has been mutated before
        changed[key] = of_bytes(changed[key], dice)
    return changed


def parquet(table: pa.Table, **how: Any) -> bytes:
    """Return a table as Parquet without compression, in which a mutation of bytes reaches the values."""
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(table, sink, **{"compression": "none", **how})
    return sink.getvalue()


def of_parquet(content: bytes, dice: random.Random) -> bytes:
    """Return a Parquet file with mutations of its columns and metadata, of its footer, or of its bytes."""
    import pyarrow.parquet as pq

    if dice.random() < 0.4:
        return of_bytes(content, dice)
    if dice.random() < 0.3:
        # The footer: a message of Thrift, its length, and a mark.
        size = int.from_bytes(content[-8:-4], "little")
        footer = of_bytes(content[-8 - size : -8], dice)
        return content[: -8 - size] + footer + len(footer).to_bytes(4, "little") + content[-4:]
    return parquet(of_arrow(pq.read_table(io.BytesIO(content)), dice))
