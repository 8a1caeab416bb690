"""
Decode an OpenStreetMap file into arrays: ways with their tags and node references, node positions, and relations.

libosmium decodes and filters the file. It writes the objects that pass a filter as lines of text (the OPL format,
https://osmcode.org/opl-file-format/) and the node positions as a binary table (the ``sparse_file_array`` index) into a
temporary folder. This module parses both: a call from C++ to Python for each node or tag would take five times as long
as everything else.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import osmium

from traveltime_lab._arrays import AnyArray, FloatArray, Int64Array
from traveltime_lab._files import as_path, full_temporary_folder, is_file, temporary_folder
from traveltime_lab.errors import DataError, MissingFileError

#: File name endings, and the names of these formats in libosmium.
FORMATS = {
    ".pbf": "pbf",
    ".osm": "osm",
    ".xml": "osm",
    ".osm.gz": "osm.gz",
    ".xml.gz": "osm.gz",
    ".osm.bz2": "osm.bz2",
    ".xml.bz2": "osm.bz2",
}

_LOCATION = np.dtype([("id", "<i8"), ("x", "<i4"), ("y", "<i4")])
_PER_DEGREE = 10_000_000  # the index stores coordinates as integers
_REFS_PER_CHUNK = 2_000_000


@dataclass(frozen=True)
class Ways:
    """Ways in file order: ids, tags in OPL notation, and node references as ragged rows."""

    osm_id: Int64Array
    tags: list[str]
    indptr: Int64Array
    refs: Int64Array

    def rows(self, rows: Int64Array) -> Ways:
        """Return only these ways, in this order."""
        lengths = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        take = np.repeat(self.indptr[rows] - indptr[:-1], lengths) + np.arange(indptr[-1])
        return Ways(self.osm_id[rows], [self.tags[row] for row in rows.tolist()], indptr, self.refs[take])


class Relation(NamedTuple):
    """One relation; members are (type letter, id, role)."""

    osm_id: int
    tags: dict[str, str]
    members: list[tuple[str, int, str]]


@dataclass(frozen=True)
class NodePositions:
    """Positions of all nodes of a file, sorted by id."""

    osm_id: Int64Array
    lng: FloatArray
    lat: FloatArray

    def find(self, refs: Int64Array) -> Int64Array:
        """Return the index of each node reference, -1 where the node is not in the file."""
        if len(self.osm_id) == 0:
            return np.full(len(refs), -1, np.int64)
        idx = np.minimum(np.searchsorted(self.osm_id, refs), len(self.osm_id) - 1)
        return np.where(self.osm_id[idx] == refs, idx, -1)


class Header(NamedTuple):
    """Metadata in the header of a file."""

    bounds: tuple[float, float, float, float] | None
    timestamp: str | None
    generator: str | None


class OsmFile:
    """
    An existing OpenStreetMap file of a known format.

    Parameters
    ----------
    path : str or path-like
        The file.

    Raises
    ------
    MissingFileError
        If there is no such file.
    DataError
        If it is empty, or if its name does not end in one of `FORMATS`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = as_path(path, "osm")
        if not is_file(self.path):
            what = "is a folder" if self.path.is_dir() else "does not exist"
            raise MissingFileError(f"Cannot read OpenStreetMap data: {self.path} {what}. Give the path of a file.")
        name = self.path.name.lower()
        known = [ending for ending in FORMATS if name.endswith(ending)]
        if not known:
            raise DataError(
                f"Cannot tell the format of {self.path}: the name must end in one of {', '.join(FORMATS)}, "
                f"got {self.path.suffix or 'no ending'!r}. Rename or convert the file."
            )
        if self.path.stat().st_size == 0:
            raise DataError(f"{self.path} is empty (0 bytes), expected OpenStreetMap data. Download it again.")
        self._format = FORMATS[max(known, key=len)]

    @contextmanager
    def decoding(self) -> Iterator[None]:
        """Raise DataError in place of the errors of libosmium about broken content."""
        try:
            yield
        except (RuntimeError, ValueError, osmium.InvalidLocationError) as error:
            raise DataError(
                f"{self.path} is not readable as OpenStreetMap data ({self._format}): {error}. "
                "It is damaged, truncated or of another format; download or export it again."
            ) from error

    def source(self) -> osmium.io.File:
        """Return the file as libosmium opens it."""
        return osmium.io.File(str(self.path), self._format)

    def _reader(self, entities: Any) -> osmium.io.Reader:
        return osmium.io.Reader(self.source(), entities)

    def header(self) -> Header:
        """Return the bounding box, data timestamp and generator in the file header; missing ones are None."""
        with self.decoding():
            reader = self._reader(osmium.osm.NOTHING)
            header = reader.header()
            reader.close()
        if header.has_multiple_object_versions:
            raise DataError(
                f"{self.path} contains several versions of objects (a history or change file), expected one version of "
                "each. Extract the data of one point in time from it."
            )
        box = header.box()
        bounds = None
        if box.valid():
            low, high = box.bottom_left, box.top_right
            bounds = (low.lon, low.lat, high.lon, high.lat)
        timestamp = header.get("osmosis_replication_timestamp") or header.get("timestamp")
        return Header(bounds, timestamp or None, header.get("generator") or None)

    @contextmanager
    def _lines(self, entities: Any, *filters: Any) -> Iterator[Iterable[str]]:
        """Yield the OPL lines of the objects that pass all filters."""
        with temporary_folder() as folder:
            target = os.path.join(folder, "passed.opl")
            with self.decoding():
                writer = osmium.SimpleWriter(osmium.io.File(target, "opl,add_metadata=false"))
                try:
                    osmium.apply(self._reader(entities), *filters, writer)
                    writer.close()
                except Exception as error:
                    _check_written(writer, folder, error)
                    raise
            with open(target, encoding="utf-8", newline="\n") as lines:
                yield lines

    def ways(self, *filters: Any) -> Ways:
        """Return the ways that pass all of the given filters (`osmium.filter`)."""
        osm_id: list[int] = []
        tags: list[str] = []
        counts: list[int] = []
        chunks: list[Int64Array] = []
        pending: list[str] = []
        n_pending = 0
        with self._lines(osmium.osm.WAY, *filters) as lines:
            for line in lines:
                head, _, nodes = line.rstrip("\n").rpartition(" N")
                identity, _, tag_text = head.partition(" T")
                osm_id.append(int(identity[1:]))
                tags.append(tag_text)
                count = nodes.count("n")
                counts.append(count)
                if count:
                    pending.append(nodes)
                    n_pending += count
                    if n_pending >= _REFS_PER_CHUNK:
                        chunks.append(_parse_refs(pending))
                        pending, n_pending = [], 0
        chunks.append(_parse_refs(pending))
        indptr = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=indptr[1:])
        return Ways(np.array(osm_id, np.int64), tags, indptr, np.concatenate(chunks))

    def tagged_nodes(self, keys: Iterable[str]) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield the id and the tags of each node that has one of these keys."""
        with self._lines(osmium.osm.NODE, osmium.filter.KeyFilter(*keys)) as lines:
            for line in lines:
                identity, _, rest = line.partition(" T")
                yield int(identity[1:]), parse_tags(rest[: rest.rfind(" x")])

    def relations(self, *tags: tuple[str, str]) -> list[Relation]:
        """Return the relations with one of these tags (key, value)."""
        found = []
        wanted = osmium.filter.TagFilter(*tags)
        with self._lines(osmium.osm.RELATION, wanted) as lines:
            for line in lines:
                head, _, member_text = line.rstrip("\n").rpartition(" M")
                identity, _, tag_text = head.partition(" T")
                members = []
                for member in filter(None, member_text.split(",")):
                    ref, _, role = member.partition("@")
                    members.append((ref[0], int(ref[1:]), decode(role)))
                found.append(Relation(int(identity[1:]), parse_tags(tag_text), members))
        return found

    def node_positions(self, *, has_negative_ids: bool = False) -> NodePositions:
        """Return the positions of all nodes. Negative ids (new nodes in editors) do not fit into the index."""
        table = self._written_locations() if has_negative_ids else self._indexed_locations()
        # Unused rows of the index and nodes without a position have coordinates out of range.
        table = table[(np.abs(table["x"]) <= 180 * _PER_DEGREE) & (np.abs(table["y"]) <= 90 * _PER_DEGREE)]
        order = np.argsort(table["id"], kind="stable")
        table = table[order]
        is_last = np.append(table["id"][1:] != table["id"][:-1], True)[: len(table)]
        table = table[is_last]  # the last version of each node
        return NodePositions(table["id"].astype(np.int64), table["x"] / _PER_DEGREE, table["y"] / _PER_DEGREE)

    def _indexed_locations(self) -> AnyArray:
        with _index_file() as target:
            with self.decoding():
                index = osmium.index.create_map(f"sparse_file_array,{target}")
                osmium.apply(self._reader(osmium.osm.NODE), osmium.NodeLocationsForWays(index))
            table: AnyArray = np.fromfile(target, dtype=_LOCATION)
            del index
        return table

    def _written_locations(self) -> AnyArray:
        rows = []
        with self._lines(osmium.osm.NODE) as lines:
            for line in lines:
                head, _, lat = line.rstrip("\n").rpartition(" y")
                _, _, lng = head.rpartition(" x")
                if lng and lat:
                    identity = int(line[1 : line.index(" ")])
                    rows.append((identity, round(float(lng) * _PER_DEGREE), round(float(lat) * _PER_DEGREE)))
        return np.array(rows, _LOCATION)


def _check_written(writer: Any, folder: Path, error: Exception) -> None:
    """
    Raise FileAccessError if a writer failed, not the reader.

    A writer of libosmium closes itself when it is deleted. One that cannot write then raises an exception where C++
    allows none, which ends the process. Such a writer is therefore never deleted; it holds a few megabytes.
    """
    try:
        writer.close()
    except RuntimeError:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(writer))
        raise full_temporary_folder(folder, str(error)) from error


@contextmanager
def _index_file() -> Iterator[str]:
    """
    Yield the path of a new file for the index of node positions.

    libosmium maps this file into memory. Where the disk is full, writing to it ends the process (SIGBUS), which no
    check before can exclude. On Linux it is a file in memory: the table is read into memory anyway.
    """
    if not hasattr(os, "memfd_create"):
        with temporary_folder() as folder:
            yield os.path.join(folder, "nodes.array")
        return
    descriptor = os.memfd_create("nodes.array")
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _parse_refs(texts: list[str]) -> Int64Array:
    """Return the numbers in OPL node lists such as ``n17,n42``."""
    if not texts:
        return np.zeros(0, np.int64)
    return np.fromstring(",".join(texts).replace("n", ""), dtype=np.int64, sep=",")


_ESCAPE = re.compile(r"%([0-9a-f]+)%")


def decode(text: str) -> str:
    """Decode the escapes of OPL, such as ``%20%`` for a space."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "%" in text else text


def encode(text: str) -> str:
    """Escape the characters that separate tags in OPL."""
    return re.sub(r"[ ,=@%\n]", lambda match: f"%{ord(match[0]):x}%", text)


def parse_tags(text: str) -> dict[str, str]:
    """Return the tags of an OPL tag list such as ``highway=service,name=A%20%B``."""
    return {decode(key): decode(value) for key, _, value in (pair.partition("=") for pair in text.split(",")) if key}
