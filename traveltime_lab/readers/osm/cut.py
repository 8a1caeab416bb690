"""
Cut a region out of an OpenStreetMap file, before it is read.

The cut has

- the nodes in the region or on its border,
- the ways that have one of these nodes, with all their nodes, also those outside,
- the relations that have one of these nodes or ways as a member,
- the ways of those of these relations that are multipolygons of water, with all their nodes, so that a lake across the
  border is whole.

The first three rules are those of ``osmium extract --strategy complete_ways`` without relations of relations, which
networks do not use; the last is that of ``--strategy smart``, for water alone. Ways that cross the region without a
node in it are not in the cut, nor is water around the whole of it.

The file is decoded in parts of a few megabytes, three times or four: nodes, ways, relations, ways of water, nodes.
Memory grows with the cut, and not with the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import osmium
import pyarrow as pa
from pyarrow import csv

from traveltime_lab._arrays import BoolArray, FloatArray, Int64Array, indptr_of, unique_values
from traveltime_lab.readers.osm import blobs, opl
from traveltime_lab.readers.osm.opl import parse_tags
from traveltime_lab.readers.osm.water_tags import is_water
from traveltime_lab.readers.region import Region
from traveltime_lab.streets.extent import Bounds

#: Bytes of a part of a file: of text, and of a PBF file, which has about five times as much text.
_TEXT_BYTES: Final = 1 << 25
_DELETED: Final = b" dD "
_MEMBER: Final = re.compile(rb"[M,]([nwr])(-?\d+)@")
_NODE, _WAY, _RELATION = osmium.osm.NODE, osmium.osm.WAY, osmium.osm.RELATION

#: Returns readers of the objects of a type, which together yield those of a file.
Readers = Callable[[Any], Iterable[osmium.io.Reader]]


class NotSortedError(Exception):
    """The objects of a file are not in the order of their ids, so that it may have some of them several times."""


class Cut(NamedTuple):
    """
    Size of a cut.

    Attributes
    ----------
    region : Region
    nodes_inside, nodes, ways, relations : int
    data_bounds : tuple of float, optional
        West, south, east, north of all nodes of the file, None if there are none.
    """

    region: Region
    nodes_inside: int
    nodes: int
    ways: int
    relations: int
    data_bounds: Bounds | None

    def facts(self) -> dict[str, Any]:
        """Return what was cut out, for the report of a network."""
        return {
            **self.region.facts(),
            "nodes_within_bounds": self.nodes_inside,
            "nodes_kept": self.nodes,
            "ways_kept": self.ways,
            "relations_kept": self.relations,
        }


class PbfParts:
    """Readers of the parts of a PBF file; a part without objects of a type is skipped the next time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._empty: set[tuple[int, Any]] = set()

    def __call__(self, kind: Any) -> Iterator[osmium.io.Reader]:
        """Yield a reader of each part that may have objects of a type."""
        for number, part in enumerate(blobs.parts(self._path)):
            if (number, kind) not in self._empty:
                self._last = number, kind
                yield osmium.io.Reader(osmium.io.FileBuffer(part, "pbf"), kind)

    def had_none(self) -> None:
        """Note that the part that was read last has no objects of its type."""
        self._empty.add(self._last)


def write_cut(readers: Readers, region: Region, folder: Path, target: Path, *, must_ascend: bool) -> Cut:
    """
    Write the cut of a file in the format `opl.FORMAT`, in the order of the file: nodes, ways, relations.

    Parameters
    ----------
    readers : callable
        The file, which has each object once.
    region : Region
    folder : Path
        For temporary files.
    target : Path
        File to write.
    must_ascend : bool
        Whether to raise NotSortedError if the ids of a type do not ascend.
    """
    source = _Source(readers, folder, must_ascend)
    inside, data_bounds = _nodes_inside(source, region)
    if not inside.size:
        return Cut(region, 0, 0, 0, 0, data_bounds)
    way_file, relation_file = folder / "ways.opl", folder / "relations.opl"
    ways, refs = _write_ways(source, way_file, lambda _, indptr, at: _hits(at, inside, indptr) > 0)
    n_relations, water = _write_relations(source, relation_file, inside, ways)
    if not _is_in(water, ways).all():
        ways = np.union1d(ways, water)
        ways, refs = _write_ways(source, way_file, lambda ids, *_: _is_in(ids, ways))
    kept = np.union1d(inside, refs)
    with target.open("wb") as out:
        n_nodes = 0
        for text in source.texts(_NODE):
            rows = np.flatnonzero(_is_in(_parsed_nodes(text).osm_id, kept))
            n_nodes += rows.size
            ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")) + 1
            begins = np.append(0, ends[:-1])
            out.writelines(text[a:b] for a, b in zip(begins[rows].tolist(), ends[rows].tolist(), strict=True))
        for part in (way_file, relation_file):
            with part.open("rb") as lines:
                while text := lines.read(_TEXT_BYTES):
                    out.write(text)
            part.unlink()
    return Cut(region, inside.size, n_nodes, ways.size, n_relations, data_bounds)


@dataclass
class _Source:
    """The objects of a file as text."""

    readers: Readers
    folder: Path
    must_ascend: bool

    def texts(self, kind: Any) -> Iterator[bytes]:
        """Yield the lines of the objects of a type that are not deleted, some megabytes at a time."""
        part = self.folder / "part.opl"
        for reader in self.readers(kind):
            part.unlink(missing_ok=True)  # of a reading that ended with an error
            opl.write(part, opl.FORMAT, reader)
            is_empty = part.stat().st_size == 0
            if is_empty and isinstance(self.readers, PbfParts):
                self.readers.had_none()
            with part.open("rb") as lines:
                while text := lines.read(_TEXT_BYTES):
                    text += lines.readline()
                    if _DELETED in text:
                        text = b"".join(line for line in text.splitlines(keepends=True) if _DELETED not in line)
                    if text:
                        yield text
            part.unlink()

    def check(self, ids: Int64Array, before: int | None) -> int | None:
        """Raise NotSortedError if ids do not ascend from the one before; return the last."""
        if self.must_ascend and ids.size:
            if not (ids[1:] > ids[:-1]).all() or (before is not None and ids[0] <= before):
                raise NotSortedError
            return int(ids[-1])
        return before


class _Nodes(NamedTuple):
    """Ids and positions of nodes; NaN without a position."""

    osm_id: Int64Array
    lng: FloatArray
    lat: FloatArray


def _parsed_nodes(text: bytes) -> _Nodes:
    """Return the nodes of lines such as ``n17 v2 dV Thighway=crossing x2.1 y41.4``; tags have no spaces."""
    plain = text[1:].replace(b"\nn", b"\n").replace(b" x", b" ").replace(b" y", b" ")
    names = ["id", "version", "state", "tags", "x", "y"]
    table = csv.read_csv(
        pa.BufferReader(plain),
        read_options=csv.ReadOptions(column_names=names, use_threads=False, block_size=_TEXT_BYTES),
        parse_options=csv.ParseOptions(delimiter=" ", quote_char=False, escape_char=False),
        convert_options=csv.ConvertOptions(
            include_columns=["id", "x", "y"],
            column_types={"id": pa.int64(), "x": pa.float64(), "y": pa.float64()},
            null_values=[""],
        ),
    )
    osm_id, x, y = (table[name].to_numpy() for name in ("id", "x", "y"))
    return _Nodes(osm_id, x.astype(np.float64), y.astype(np.float64))


def _nodes_inside(source: _Source, region: Region) -> tuple[Int64Array, Bounds | None]:
    """Return the sorted ids of the nodes in a region, and the bounds of all nodes."""
    parts: list[Int64Array] = []
    corners = [np.inf, np.inf, -np.inf, -np.inf]
    before = None
    for text in source.texts(_NODE):
        nodes = _parsed_nodes(text)
        before = source.check(nodes.osm_id, before)
        is_known = (np.abs(nodes.lng) <= 180.0) & (np.abs(nodes.lat) <= 90.0)
        lng, lat = nodes.lng[is_known], nodes.lat[is_known]
        if lng.size:
            low, high = np.minimum(corners[:2], [lng.min(), lat.min()]), np.maximum(corners[2:], [lng.max(), lat.max()])
            corners = [*low.tolist(), *high.tolist()]
        parts.append(nodes.osm_id[is_known][region.contains(lng, lat)])
    ids = unique_values(np.concatenate(parts)) if parts else np.zeros(0, np.int64)
    return ids, (corners[0], corners[1], corners[2], corners[3]) if corners[0] <= corners[2] else None


def _write_ways(
    source: _Source, target: Path, choose: Callable[[Int64Array, Int64Array, Int64Array], BoolArray]
) -> tuple[Int64Array, Int64Array]:
    """
    Write the lines of some ways; return their sorted ids and those of their nodes.

    `choose` returns whether to keep each way, by ids of ways, offsets of their nodes, and ids of these.
    """
    ids: list[Int64Array] = []
    nodes: list[Int64Array] = []
    before = None
    with target.open("wb") as out:
        for text in source.texts(_WAY):
            lines = text.splitlines(keepends=True)
            ends = [line[line.rindex(b" N") + 2 : -1] for line in lines]
            indptr = indptr_of([end.count(b"n") for end in ends])
            osm_id = _numbers([line[1 : line.index(b" ")] for line in lines])
            before = source.check(osm_id, before)
            refs = _numbers([end.replace(b"n", b"") for end in ends if end])
            is_kept = choose(osm_id, indptr, refs)
            out.writelines(lines[row] for row in np.flatnonzero(is_kept).tolist())
            ids.append(osm_id[is_kept])
            nodes.append(unique_values(refs[np.repeat(is_kept, np.diff(indptr))]))
    none = np.zeros(0, np.int64)
    return unique_values(np.concatenate([none, *ids])), unique_values(np.concatenate([none, *nodes]))


def _write_relations(source: _Source, target: Path, nodes: Int64Array, ways: Int64Array) -> tuple[int, Int64Array]:
    """Write the relations with one of these members; return their number and the ways of those that are water."""
    water: list[int] = []
    n_written = 0
    before = None
    with target.open("wb") as out:
        for text in source.texts(_RELATION):
            lines = text.splitlines(keepends=True)
            before = source.check(_numbers([line[1 : line.index(b" ")] for line in lines]), before)
            for line in lines:
                head, _, rest = line.rpartition(b" M")
                members = _MEMBER.findall(b"M" + rest)
                own_nodes, own_ways = (
                    np.array([int(ref) for kind, ref in members if kind == letter], np.int64) for letter in (b"n", b"w")
                )
                if _is_in(own_nodes, nodes).any() or _is_in(own_ways, ways).any():
                    out.write(line)
                    n_written += 1
                    tags = parse_tags(head.partition(b" T")[2].decode())
                    if tags.get("type") == "multipolygon" and is_water(tags):
                        water.extend(own_ways.tolist())
    return n_written, unique_values(np.array(water, np.int64))


def _numbers(texts: list[bytes]) -> Int64Array:
    """Return the numbers in texts, each with one number or several between commas."""
    if not texts:
        return np.zeros(0, np.int64)
    return np.fromstring(b",".join(texts).decode("ascii"), dtype=np.int64, sep=",")


def _hits(refs: Int64Array, ids: Int64Array, indptr: Int64Array) -> Int64Array:
    """Return how many of the references of each row are among sorted ids."""
    total = np.append(0, np.cumsum(_is_in(refs, ids)))
    hits: Int64Array = total[indptr[1:]] - total[indptr[:-1]]
    return hits


def _is_in(values: Int64Array, ids: Int64Array) -> BoolArray:
    """Return whether values are among sorted ids."""
    if not ids.size:
        return np.zeros(values.size, np.bool_)
    at = np.minimum(np.searchsorted(ids, values), ids.size - 1)
    found: BoolArray = ids[at] == values
    return found
