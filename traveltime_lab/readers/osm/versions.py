"""
Find objects that a file has several times or that are deleted, and write each object once, in its last version.

Most files have each object once, sorted by id, which costs almost nothing to find out. The others are those that were
joined from overlapping parts, full histories without the mark of one, and files that an editor such as JOSM saved.
"""

from __future__ import annotations

import bz2
import gzip
import mmap
import re
import xml.parsers.expat
import zlib
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from traveltime_lab import _files
from traveltime_lab._arrays import AnyArray, BoolArray, Int64Array
from traveltime_lab.errors import DataError

#: The end of each file in a joint one, and its deleted objects.
Deleted = Sequence[tuple[int, set[tuple[str, int, int]]]]

_TYPES = {"n": "node", "w": "way", "r": "relation"}
_LETTERS = {"node": "n", "way": "w", "relation": "r"}
#: Number of each type by its letter.
_KINDS = np.zeros(256, np.uint8)
_KINDS[list(b"nwr")] = 0, 1, 2
_PER_CHUNK = 1 << 24
#: Attributes of objects in XML that are deleted: in answers of the API, and in files saved by editors.
_DELETED = re.compile(rb"""visible\s*=\s*["']false|action\s*=\s*["']delete""")
_LONGEST_MARK = 64
_OPENERS: dict[str, Any] = {"osm.gz": gzip.open, "osm.bz2": bz2.open}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Order(NamedTuple):
    """
    Order of the objects that a list of ids has.

    Attributes
    ----------
    is_unique : bool
        Whether it has each object once.
    is_sorted : bool
        Whether objects are in the order of libosmium: nodes, ways, relations, by ascending ids. Negative ids are not.
    """

    is_unique: bool
    is_sorted: bool


class Dropped(NamedTuple):
    """Numbers of objects that were left out: earlier or equal versions, and objects whose last version is deleted."""

    objects_repeated: int
    objects_deleted: int


def order_of(path: Path) -> Order:
    """Return the order of a file in the format `opl.IDS`."""
    if all(_is_ascending(kinds, ids) for kinds, ids in _chunks_of_ids(path)):
        return Order(is_unique=True, is_sorted=True)
    every = [*_chunks_of_ids(path)]
    kinds, ids = (np.concatenate(column) for column in zip(*((k[1:], i[1:]) for k, i in every), strict=True))
    order = np.lexsort((ids, kinds))
    is_again = (np.diff(kinds[order].astype(np.int8)) == 0) & (np.diff(ids[order]) == 0)
    return Order(is_unique=not is_again.any(), is_sorted=False)


def is_unique(ids: Int64Array) -> bool:
    """Return whether ids have no repetition; sorted ones are checked without sorting."""
    if (ids[1:] > ids[:-1]).all():
        return True
    ids = np.sort(ids)
    return not (ids[1:] == ids[:-1]).any()


def _is_ascending(kinds: AnyArray, ids: Int64Array) -> bool:
    is_next_type, is_same_type = kinds[1:] > kinds[:-1], kinds[1:] == kinds[:-1]
    return bool((is_next_type | (is_same_type & (ids[1:] > ids[:-1]))).all())


def _chunks_of_ids(path: Path) -> Iterator[tuple[AnyArray, Int64Array]]:
    """Yield types (0 to 2) and ids of the lines of a file; each chunk begins with the last line of the one before."""
    kinds, ids = np.zeros(1, np.uint8), np.array([np.iinfo(np.int64).min])
    with path.open("rb") as lines:
        while text := lines.read(_PER_CHUNK):
            text += lines.readline()
            codes = np.frombuffer(text, np.uint8)
            kinds = np.append(kinds[-1], _KINDS[codes[codes >= ord("n")]])
            numbers = np.fromstring(text.translate(None, b"nwr").decode("ascii"), dtype=np.int64, sep="\n")
            ids = np.append(ids[-1], numbers)
            yield kinds, ids


def may_have_deleted(path: Path, form: str) -> bool:
    """Return whether an XML file has text that marks deleted objects, in attributes or (by chance) in tags."""
    with _opened(path, form) as stream:
        try:
            before = stream.read(2)
            if before in _UTF16:
                return True
            while text := stream.read(_PER_CHUNK):
                text = before + text
                if _DELETED.search(text):
                    return True
                before = text[-_LONGEST_MARK:]
        except (OSError, EOFError, ValueError):  # libosmium reports the fault
            return False
    return False


def unpacks_to_much_more(path: Path, form: str) -> str | None:
    """Return the fault of an XML file that unpacks to much more than its size, or None."""
    if form not in _OPENERS:
        return None
    # libosmium reports the fault of a damaged one.
    with suppress(OSError, EOFError, ValueError, zlib.error), _opened(path, form) as stream:
        return _files.unpacks_to_much_more(path, stream)
    return None


def deleted_in_editor(path: Path, form: str) -> set[tuple[str, int, int]]:
    """Return type letter, id and number (from 1, of those with this id) of the objects with ``action="delete"``."""
    found: set[tuple[str, int, int]] = set()
    seen: Counter[tuple[str, int]] = Counter()

    def start(name: str, attributes: dict[str, str]) -> None:
        letter = _LETTERS.get(name)
        if letter is not None and "id" in attributes:
            key = letter, int(attributes["id"])
            seen[key] += 1
            if attributes.get("action") == "delete":
                found.add((*key, seen[key]))

    parser = xml.parsers.expat.ParserCreate()
    parser.StartElementHandler = start
    with _opened(path, form) as stream:
        parser.ParseFile(stream)
    return found


@contextmanager
def _opened(path: Path, form: str) -> Iterator[IO[bytes] | Any]:
    with _files.open_file(path) as file:
        if form not in _OPENERS:
            yield file
            return
        with _OPENERS[form](file, "rb") as stream:
            yield stream


def write_last_versions(source: Path, target: Path, deleted: Deleted, name: str) -> Dropped:
    """
    Write the last version of each object, without deleted ones, sorted by type and id.

    Parameters
    ----------
    source : Path
        File in the format `opl.FORMAT`.
    target : Path
        New file in the same format.
    deleted : sequence of (int, set of (str, int, int))
        The byte of `source` where each of the user's files ends, and its objects that are deleted besides those that
        `source` marks, from `deleted_in_editor`.
    name : str
        The user's files, for errors.

    Raises
    ------
    DataError
        If an object has different content twice in its last version, or several times without numbers of versions.
    """
    if source.stat().st_size == 0:
        target.touch()
        return Dropped(0, 0)
    columns = _columns(source, deleted)
    order = np.lexsort((columns.version, np.abs(columns.osm_id), columns.osm_id >= 0, columns.kind))
    kind, osm_id = columns.kind[order], columns.osm_id[order]
    is_same = (kind[1:] == kind[:-1]) & (osm_id[1:] == osm_id[:-1])  # as the object before
    is_last = np.append(~is_same, True)
    with source.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as text:
        lines = _Lines(text, columns)
        for row in np.flatnonzero(is_last & np.append(False, is_same)).tolist():
            _check_equal(lines, order, columns, row, name)
        kept = order[is_last & columns.is_visible[order]]
        with target.open("wb") as out:
            out.writelines(lines[row] for row in kept.tolist())
    return Dropped(int((~is_last).sum()), int(is_last.sum()) - len(kept))


class _Columns(NamedTuple):
    """Columns of an OPL file, a row for each line; `start` has one more, the size of the file."""

    kind: AnyArray
    osm_id: Int64Array
    version: Int64Array
    is_visible: BoolArray
    start: Int64Array


class _Lines:
    """The lines of an OPL file by row."""

    def __init__(self, text: mmap.mmap, columns: _Columns) -> None:
        self._text = text
        self._start = columns.start

    def __getitem__(self, row: int) -> bytes:
        return self._text[self._start[row] : self._start[row + 1]]


def _columns(source: Path, deleted: Deleted) -> _Columns:
    kinds, ids, versions, visible, starts = bytearray(), array("q"), array("q"), bytearray(), array("q", [0])
    seen: Counter[tuple[str, int]] = Counter()
    waiting = iter(deleted)
    end, of_file = next(waiting)
    with source.open("rb") as lines:
        for line in lines:
            while starts[-1] >= end:
                end, of_file = next(waiting)
                seen.clear()
            head, version, state, _ = line.split(b" ", 3)
            kinds.append(head[0])
            ids.append(int(head[1:]))
            versions.append(int(version[1:]))
            visible.append(state == b"dV")
            starts.append(starts[-1] + len(line))
            if of_file:
                key = chr(head[0]), ids[-1]
                seen[key] += 1
                visible[-1] &= (*key, seen[key]) not in of_file
    return _Columns(
        _KINDS[np.frombuffer(kinds, np.uint8)],
        np.array(ids, np.int64),
        np.array(versions, np.int64),
        np.frombuffer(visible, np.uint8).astype(bool),
        np.array(starts, np.int64),
    )


def _check_equal(lines: _Lines, order: Int64Array, columns: _Columns, last: int, name: str) -> None:
    """Raise DataError unless all candidates for the last version of an object, which ends at row `last`, are equal."""
    row = order[last]
    kind, osm_id, version = columns.kind[row], columns.osm_id[row], columns.version[row]
    requested = _content(lines[row]), bool(columns.is_visible[row])
    at = last - 1
    while at >= 0 and columns.osm_id[order[at]] == osm_id and columns.kind[order[at]] == kind:
        other = order[at]
        at -= 1
        # Without a number of its own, a version may be any, also a later one.
        if columns.version[other] not in (version, 0):
            continue
        if (_content(lines[other]), bool(columns.is_visible[other])) != requested:
            what = "nwr"[kind]
            versions = f"in version {version}" if columns.version[other] else "without numbers of versions"
            msg = (
                f"{name} has {_TYPES[what]} {osm_id} several times {versions}, and they differ: "
                f"{_shown(lines[other])} and {_shown(lines[row])}. It is unclear which one counts; "
                "remove one of them, or join extracts of the same moment that are cut with complete ways and relations"
            )
            raise DataError(msg)


def _content(line: bytes) -> tuple[bytes, ...]:
    """Return the content of an object without its version; the order of tags does not matter."""
    tags, _, rest = line.split(b" ", 3)[3].partition(b" ")
    return *sorted(tags[1:].split(b",")), rest


def _shown(line: bytes) -> str:
    text = line.rstrip(b"\n").decode()
    return repr(text if len(text) <= 120 else text[:117] + "...")
