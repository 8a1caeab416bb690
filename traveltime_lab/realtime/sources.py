"""
Read GTFS Realtime messages into columns.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from traveltime_lab._arrays import AnyArray, Int64Array, ObjectArray, UInt8Array
from traveltime_lab._files import as_path, explained, is_file, read_bytes
from traveltime_lab.errors import DataError, InputError, LimitError, MissingFileError
from traveltime_lab.kernels import wire
from traveltime_lab.realtime.json_messages import to_bytes
from traveltime_lab.realtime.schema import KINDS, NUMBER, PLACES

#: Most bytes of a message (assumed; those of the largest networks have 10 MB).
MOST_BYTES: Final = 1 << 28
#: Most bytes of a message in JSON, and most objects, lists and commas in it, by which its values take memory
#: (assumed: six times the bytes of Protocol Buffers, and ten times the 60,000 stop updates of the Netherlands).
MOST_JSON_BYTES, MOST_JSON_PARTS = 1 << 26, 5_000_000
#: How many times the bytes of a packed message it may have, and the bytes that any may have (assumed).
MOST_TIMES, ALWAYS_UNPACKED = 100, 1 << 20
#: Most values of a message (assumed; 60,000 stop updates of the Netherlands have 300,000).
MOST_VALUES: Final = 15_000_000
#: Most messages within a message by place (assumed, several times those of the largest networks), for which objects of
#: Python are created.
MOST_PARTS: Final = {
    "entity": 1_000_000,
    "entity.trip_update": 1_000_000,
    "entity.trip_update.stop_time_update": 3_000_000,
    "entity.vehicle": 500_000,
    "entity.alert": 100_000,
    "entity.alert.active_period": 500_000,
    "entity.alert.informed_entity": 500_000,
    "entity.alert.header_text.translation": 300_000,
    "entity.alert.description_text.translation": 300_000,
    "entity.alert.url.translation": 300_000,
}
#: Lists in one another (assumed; one in another is common).
_MOST_DEPTH: Final = 20
#: Characters of a path (the bound of Linux).
_LONGEST_PATH: Final = 4_096
_JSON: Final = re.compile(r'\ufeff?\s*\{\s*"')
_GZIP: Final = b"\x1f\x8b"
#: A value that is not given.
NONE: Final = np.iinfo(np.int64).min


class Source(NamedTuple):
    """
    A message as bytes of Protocol Buffers.

    Attributes
    ----------
    name : str
        For reports and errors.
    feed : str or None
        Name of the GTFS feed that it is about, if given.
    content : bytes
    """

    name: str
    feed: str | None
    content: bytes

    @classmethod
    def of(cls, name: str, feed: str | None, content: bytes) -> Source:
        """Return the message in the content of a file, which may be packed or JSON; DataError or LimitError if none."""
        return cls(name, feed, _plain(content, name))


def sources_of(given: Any, feed: str | None = None) -> list[Source]:
    """
    Return the messages that a user gives.

    Parameters
    ----------
    given : path-like, bytes, message, Source, sequence of these, or mapping
        A mapping has the names of feeds as keys.
    feed : str, optional

    Raises
    ------
    InputError
        If it is something else.
    MissingFileError, FileAccessError
        If a file does not exist or cannot be read.
    LimitError
        If a message is too large.
    """
    return _sources(given, feed, 0)


def _sources(given: Any, feed: str | None, depth: int) -> list[Source]:
    if depth > _MOST_DEPTH:
        raise InputError(f"updates must be lists at most {_MOST_DEPTH} deep; got more, or a list that contains itself")
    if isinstance(given, Mapping):
        if {"entity", "header"} & {*given}:
            raise InputError(
                "the keys of updates must be names of feeds; got a message as a dict. Pass json.dumps(message).encode()"
            )
        return [each for name, inner in given.items() for each in _sources(inner, _feed_name(name), depth + 1)]
    if isinstance(given, Source):
        return [given]
    if isinstance(given, list | tuple):
        return [each for inner in given for each in _sources(inner, feed, depth + 1)]
    if isinstance(given, bytes | bytearray | memoryview):
        return [Source("the message", feed, _plain(bytes(given), "the message"))]
    if callable(serialized := getattr(given, "SerializeToString", None)):
        # A FeedMessage of gtfs-realtime-bindings or of another generated module.
        return [Source("the message", feed, _plain(bytes(serialized()), "the message"))]
    if not isinstance(given, str | os.PathLike):
        raise InputError(
            "updates must be a file, bytes, a FeedMessage, a list of these or a dict by feed; got "
            f"{type(given).__name__}"
        )
    if str(given).lower().startswith(("http://", "https://")):
        raise InputError(f"updates must be a file or bytes; got the address {str(given)!r}. Download it first")
    if isinstance(given, str) and (len(given) > _LONGEST_PATH or _JSON.match(given)):
        raise InputError(
            f"updates must be a file or bytes; got a text of {len(given):,} characters. Pass the content of a message "
            "as bytes, such as text.encode()"
        )
    path = as_path(given, "updates")
    with explained(path, "look for"):
        if path.is_dir():
            raise InputError(f"updates must be a file or bytes; got the folder {path}. Name its files, as a list")
    if not is_file(path):
        raise MissingFileError(f"no GTFS Realtime message at {path}")
    with explained(path, "read"):
        if path.stat().st_size > MOST_BYTES:
            raise LimitError(f"{path} has more than {MOST_BYTES:,} bytes; a message has at most that")
        content = read_bytes(path)
    return [Source(path.name, feed, _plain(content, str(path)))]


def _feed_name(name: Any) -> str:
    if not isinstance(name, str):
        raise InputError(f"the keys of updates must be names of feeds; got {name!r}")
    return name


def _plain(content: bytes, name: str) -> bytes:
    """Return a message as bytes of Protocol Buffers, unpacked."""
    if content.startswith(_GZIP):
        most = min(MOST_BYTES, max(ALWAYS_UNPACKED, MOST_TIMES * len(content)))
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
                content = file.read(most + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{name} is damaged: {error}; fetch it again") from error
        if len(content) > most:
            raise LimitError(f"{name} unpacks to more than {most:,} bytes; unpack it if it is what it seems")
    if len(content) > MOST_BYTES:
        raise LimitError(f"{name} has more than {MOST_BYTES:,} bytes; a message has at most that")
    # A message of Protocol Buffers may begin with a line break, too, but not with one and a brace of JSON after it.
    text = content.removeprefix(b"\xef\xbb\xbf")
    if text[:1] == b"{" or (text[:64].lstrip()[:1] == b"{" and text.rstrip()[-1:] == b"}"):
        _check_json(text, name)
        return to_bytes(text, name)
    return content


def _check_json(text: bytes, name: str) -> None:
    """Raise LimitError for JSON whose values would take much memory, before it is parsed."""
    if len(text) > MOST_JSON_BYTES:
        raise LimitError(
            f"{name} has more than {MOST_JSON_BYTES:,} bytes of JSON; a message in JSON has at most that. Use Protocol "
            "Buffers"
        )
    n = sum(text.count(mark) for mark in (b"{", b"[", b","))
    if n > MOST_JSON_PARTS:
        raise LimitError(f"{name} has {n:,} objects, lists and commas of JSON; at most {MOST_JSON_PARTS:,} can be read")


class Fields:
    """
    The fields of a message by place (`traveltime_lab.realtime.schema`).

    Parameters
    ----------
    source : Source

    Raises
    ------
    DataError
        If it is no GTFS Realtime message, or an incomplete one.
    LimitError
        If it has too many values.
    """

    def __init__(self, source: Source) -> None:
        name = source.name
        self.content = source.content
        data: UInt8Array = np.frombuffer(source.content or b"\0", np.uint8)[: len(source.content)].copy()
        nothing = np.zeros((0, 2), np.int64), np.zeros((0, 4), np.int64)
        n_nodes, n_leaves, fault = wire.fields(data, KINDS, *nothing, True)
        if fault >= 0:
            raise DataError(
                f"{name} is no complete GTFS Realtime message: byte {fault:,} of {data.size:,} cannot be read; "
                "fetch it again"
            )
        if n_nodes + n_leaves > MOST_VALUES:
            raise LimitError(f"{name} has {n_nodes + n_leaves:,} values; at most {MOST_VALUES:,} can be read")
        nodes, leaves = np.empty((n_nodes, 2), np.int64), np.empty((n_leaves, 4), np.int64)
        wire.fields(data, KINDS, nodes, leaves, False)
        counts = np.bincount(nodes[:, 0], minlength=len(PLACES))
        for place, most in MOST_PARTS.items():
            if (n := int(counts[NUMBER[place]])) > most:
                raise LimitError(f"{name} has {n:,} messages at {place}; at most {most:,} can be read")
        self._kind, self._parent = np.ascontiguousarray(nodes[:, 0]), np.ascontiguousarray(nodes[:, 1])
        by_kind = np.argsort(self._kind, kind="stable")
        self._by_kind = np.split(by_kind, np.searchsorted(self._kind[by_kind], np.arange(1, len(PLACES))))
        key = self._kind[leaves[:, 0]] * KINDS.shape[1] + leaves[:, 1]
        order = np.argsort(key, kind="stable")
        self._key, self._leaves = key[order], leaves[order]
        self._row = np.full(n_nodes, -1, np.int64)
        if not self._by_kind[NUMBER["header"]].size:
            raise DataError(f"{name} is no GTFS Realtime message: it has no header; check what it is")

    def count(self, place: str) -> int:
        """Return the number of messages at a place."""
        return int(self._by_kind[NUMBER[place]].size)

    def rows_in(self, place: str, outer: str) -> Int64Array:
        """Return for each message at a place the row, among those at an outer place, of the one that it is in."""
        return self._up(self._by_kind[NUMBER[place]], outer)

    def _up(self, nodes: Int64Array, outer: str) -> Int64Array:
        base = self._by_kind[NUMBER[outer]]
        for _ in range(outer.count("."), _DEPTH):
            inside = self._kind[nodes] != NUMBER[outer]
            if not inside.any():
                break
            nodes = np.where(inside, self._parent[nodes], nodes)
        return np.searchsorted(base, nodes)

    def _found(self, base: str, name: str) -> tuple[Int64Array, AnyArray]:
        """Return the row of each value of a field below a place, and the values; later ones replace others."""
        inner, _, last = f"{base}.{name}".lstrip(".").rpartition(".")
        key = NUMBER[inner] * KINDS.shape[1] + PLACES[NUMBER[inner]].fields[last][0]
        begin, end = np.searchsorted(self._key, [key, key + 1])
        part = self._leaves[begin:end]
        return self._up(part[:, 0], base), part

    def numbers(self, base: str, name: str, default: int = NONE) -> Int64Array:
        """Return whole numbers by row of a place."""
        found = np.full(self.count(base), default, np.int64)
        rows, part = self._found(base, name)
        found[rows] = part[:, 2]
        return found

    def floats(self, base: str, name: str) -> AnyArray:
        """Return floats by row of a place, NaN where not given."""
        found = np.full(self.count(base), np.nan)
        rows, part = self._found(base, name)
        found[rows] = part[:, 2].astype(np.uint32).view(np.float32)
        return found

    def texts(self, base: str, name: str) -> ObjectArray:
        """Return texts by row of a place, empty where not given."""
        found = np.full(self.count(base), "", object)
        rows, part = self._found(base, name)
        content = self.content
        for row, begin, size in zip(rows.tolist(), part[:, 2].tolist(), part[:, 3].tolist(), strict=True):
            found[row] = content[begin : begin + size].decode("utf-8", "replace")
        return found

    def is_in(self, place: str, outer: str) -> AnyArray:
        """Return for each message at an outer place whether it has one at the inner place."""
        found = np.zeros(self.count(outer), np.bool_)
        found[self.rows_in(place, outer)] = True
        return found


#: Messages in one another.
_DEPTH: Final = max(place.path.count(".") for place in PLACES) + 1
