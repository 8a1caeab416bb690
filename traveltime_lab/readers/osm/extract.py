"""
Decode an OpenStreetMap file into arrays: ways with their tags and node references, node positions, and relations.

libosmium decodes and filters the file. It writes the objects that pass a filter as lines of text (the OPL format,
`traveltime_lab.readers.osm.opl`) and the node positions as a binary table (the ``sparse_file_array`` index; those
of small files as text, too) into a temporary folder. This module parses both: a call from C++ to Python for each node
or tag would take five times as long as everything else.

Every reader sees the same objects: each one once, in its last version, and none that is deleted. The first pass over a
file finds out whether that is so already. If not, a temporary file takes its place
(`traveltime_lab.readers.osm.versions`).
"""

from __future__ import annotations

import mmap
import os
import shutil
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import osmium

from traveltime_lab._arrays import AnyArray, Int64Array, indptr_of
from traveltime_lab._files import temporary_folder
from traveltime_lab.errors import DataError
from traveltime_lab.readers.osm import cut, opl, versions
from traveltime_lab.readers.osm.nodes import LOCATION, PER_DEGREE, NodePositions, NodeTable, ascends, ids_of
from traveltime_lab.readers.osm.opl import decode, parse_tags
from traveltime_lab.readers.osm.source_file import Header, SourceFile, decoding, joint, paths_of, reading_text
from traveltime_lab.readers.region import Region, swapped_hint

Result = TypeVar("Result")

_OBJECTS = osmium.osm.NODE | osmium.osm.WAY | osmium.osm.RELATION
_DELETED = " dD "  # tags have no spaces in OPL
_REFS_PER_CHUNK = 500_000
#: Largest file in bytes whose nodes are read from text: the index of libosmium has room for a million nodes from the
#: beginning, which takes longer to fill than all else of a small file.
_SMALL = 1 << 15
#: libosmium's filter of ids has bits for ranges of ids of this size, in blocks of this number of bytes, and 8 bytes for
#: each range up to the highest. The most that it may take, besides a multiple of the size of the file.
_IDS_SHIFT, _RANGE_BYTES, _FILTER_BYTES, _FILTER_SHARE = 25, 1 << 22, 1 << 26, 16


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
        indptr = indptr_of(lengths)
        take = np.repeat(self.indptr[rows] - indptr[:-1], lengths) + np.arange(indptr[-1])
        return Ways(self.osm_id[rows], [self.tags[row] for row in rows.tolist()], indptr, self.refs[take])

    def without_tags(self) -> Ways:
        """Return the ways without their tags, which are most of the memory of a large file."""
        return replace(self, tags=[])

    def without_refs(self) -> Ways:
        """Return the ways without their node references."""
        # New arrays: views would keep the memory of the others.
        return replace(self, indptr=np.zeros_like(self.indptr), refs=np.zeros(0, np.int64))


class Relation(NamedTuple):
    """One relation; members are (type letter, id, role)."""

    osm_id: int
    tags: dict[str, str]
    members: list[tuple[str, int, str]]


class OsmFile:
    """
    An existing OpenStreetMap file of a known format, or several that are read as one.

    Parameters
    ----------
    paths : str, path-like or sequence of these
        The file, or the files. Objects that several of them have count once, in their last version.
    region : Region, optional
        Read only what `traveltime_lab.readers.osm.cut` cuts out of the file.

    Raises
    ------
    MissingFileError
        If there is no such file.
    DataError
        If it is empty, or if its name does not end in one of `FORMATS`.
    """

    def __init__(self, paths: str | os.PathLike[str] | Sequence[Any], region: Region | None = None) -> None:
        each: Sequence[Any] = paths if isinstance(paths, list | tuple) else [paths]
        self.parts = [SourceFile(path) for path in each]
        self.region = region
        self.cut: cut.Cut | None = None
        #: Earlier, equal and deleted objects that were left out because the file has objects several times or deleted.
        self.dropped = versions.Dropped(0, 0)
        self._temporary = ExitStack()
        self._is_rewritten = False
        self._current: tuple[str, str] | None = None  # path and format of what is read
        self._locations: AnyArray | None = None
        self._nodes: NodeTable | None = None

    @property
    def name(self) -> str:
        """The names of the files, without folders."""
        return ", ".join(part.path.name for part in self.parts)

    @property
    def paths(self) -> str:
        """The paths of the files, for errors."""
        return paths_of(self.parts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> bool | None:
        """Delete the temporary files, and free the memory of the positions, which the frames of an error would keep."""
        self._locations = None
        if self._nodes is not None:
            self._nodes.forget()
        return self._temporary.__exit__(*error)

    def decoding(self) -> AbstractContextManager[None]:
        """Raise DataError in place of the errors of libosmium about broken content."""
        return decoding(self.parts)

    def reading_text(self) -> AbstractContextManager[None]:
        """Raise DataError in place of errors about text that is not UTF-8, which libosmium may pass on."""
        return reading_text(self.parts)

    def source(self) -> osmium.io.File:
        """Return a file as libosmium opens it, with each object once, in its last version, and no deleted one."""
        if self._current is None:
            self._current = self._survey() if self.region is None else self._cut(self.region)
        path, form = self._current
        return osmium.io.File(path, form)

    def sorted_source(self) -> osmium.io.File:
        """Return a file like that of `source` whose objects are sorted by type and id."""
        if self._current is None and len(self.parts) > 1:
            self._current = self._rewrite()
        if self._current is None:
            order = self._order(_OBJECTS)
            self._current = self._readable(is_fine=order.is_sorted)
        return self.source()

    def _reader(self, entities: Any) -> osmium.io.Reader:
        return osmium.io.Reader(self.source(), entities)

    def _survey(self) -> tuple[str, str]:
        """Return path and format of a file with each object once; keep the positions of nodes if it is the user's."""
        if len(self.parts) > 1:
            return self._rewrite()
        if self._is_small:
            return self._readable(is_fine=self._order(_OBJECTS).is_unique)
        others = osmium.filter.EntityFilter(osmium.osm.WAY | osmium.osm.RELATION)

        def read(positions: Any) -> versions.Order:
            positions.apply_nodes_to_ways = False  # which would also sort them
            return self._order(_OBJECTS, positions, others)

        order, locations = _with_locations(read)
        has_each_once = ascends(locations) or versions.is_unique(ids_of(locations))
        found = self._readable(is_fine=order.is_unique and has_each_once)
        if not self._is_rewritten:
            self._locations = locations
        return found

    @property
    def _is_small(self) -> bool:
        return sum(part.size for part in self.parts) <= _SMALL

    def _order(self, entities: Any, *handlers: Any) -> versions.Order:
        """Return the order of the objects that pass all filters."""
        with temporary_folder() as folder:
            with self.decoding():
                opl.write(folder / "ids", opl.IDS, self.parts[0].reader(entities), *handlers)
            return versions.order_of(folder / "ids")

    def _readable(self, *, is_fine: bool) -> tuple[str, str]:
        """Return path and format of the user's file if its objects are in order and none is deleted, or rewrite it."""
        (part,) = self.parts
        return (str(part.path), part.format) if is_fine and not part.may_have_deleted else self._rewrite()

    def _rewrite(self) -> tuple[str, str]:
        """Write the last versions of all objects to a temporary file; return its path and format."""
        folder = self._temporary.enter_context(temporary_folder())
        every, last, deleted = folder / "every.opl", folder / "last.opl", []
        with every.open("wb") as target:
            for part in self.parts:
                with part.decoding():
                    opl.write(folder / "part.opl", opl.FORMAT, part.reader(_OBJECTS))
                with (folder / "part.opl").open("rb") as lines:
                    shutil.copyfileobj(lines, target)
                (folder / "part.opl").unlink()
                deleted.append((target.tell(), part.deleted_in_editor()))
        self.dropped = versions.write_last_versions(every, last, deleted, self.paths)
        every.unlink()
        self._is_rewritten = True
        return str(last), "opl"

    def _cut(self, region: Region) -> tuple[str, str]:
        """Write what a region has of the file to a temporary file; return its path and format."""
        part = self.parts[0]
        if len(self.parts) > 1 or part.may_have_deleted:
            source, form = self._rewrite()
            readers: cut.Readers = partial(_readers, source, form)
        else:
            is_pbf = part.format == "pbf"
            readers = cut.PbfParts(part.path) if is_pbf else partial(_readers, str(part.path), part.format)
        folder = self._temporary.enter_context(temporary_folder())
        target = folder / "cut.opl"
        try:
            with self.decoding():
                found = cut.write_cut(readers, region, folder, target, must_ascend=not self._is_rewritten)
        except cut.NotSortedError:
            source, form = self._rewrite()
            readers = partial(_readers, source, form)
            with self.decoding():
                found = cut.write_cut(readers, region, folder, target, must_ascend=False)
        if not found.nodes_inside:
            where = found.data_bounds
            data = "it has no nodes" if where is None else "its data are within ({:g}, {:g}, {:g}, {:g})".format(*where)
            hint = "" if where is None else swapped_hint(region, where)
            raise DataError(
                f"{self.paths} has nothing within the bounds {region}: {data}{hint}. Bounds are (west, south, east, "
                "north), in degrees."
            )
        self.cut = found
        self._is_rewritten = True
        return str(target), "opl"

    def header(self) -> Header:
        """
        Return what the headers of the files say.

        The bounding box of a part is that of its region, as far as the files have it.
        """
        header = joint([part.header() for part in self.parts])
        return header if self.region is None else header._replace(bounds=self.region.within(header.bounds))

    @contextmanager
    def _lines(self, entities: Any, *filters: Any) -> Iterator[Iterable[str]]:
        """Yield the OPL lines of the objects that pass all filters, without those that are deleted."""
        with temporary_folder() as folder:
            target = folder / "passed.opl"
            with self.decoding():
                opl.write(target, opl.FORMAT, self._reader(entities), *filters)
            with target.open(encoding="utf-8", newline="\n") as lines:
                yield (line for line in lines if _DELETED not in line) if _has_deleted(target) else lines

    def ways(self, *filters: Any, only: Collection[int] | None = None) -> Ways:
        """Return the ways that pass all of the given filters (`osmium.filter`), or those of them with some ids."""
        (found,) = self.parts_of_ways(*filters, only=only)
        return found

    def parts_of_ways(
        self, *filters: Any, only: Collection[int] | None = None, most: int | None = None
    ) -> Iterator[Ways]:
        """Yield the ways of `ways`, at most some in each part; there is at least one part."""
        part = _WaysOfLines()
        with self._lines(osmium.osm.WAY, *filters) as lines:
            for line in lines:
                part.add(line, only)
                if most is not None and len(part.osm_id) == most:
                    yield part.ways()
                    part = _WaysOfLines()
        yield part.ways()

    def ways_by_id(self, requested: Collection[int]) -> Ways:
        """Return the ways with these ids."""
        # The filter has a bit for each id of the ranges that contain one of them: ids far apart would take much more
        # memory than the file. New ways of editors have negative ids, which it does not take.
        ranges = {way >> _IDS_SHIFT for way in requested}
        most = _FILTER_BYTES + _FILTER_SHARE * sum(part.size for part in self.parts)
        if min(ranges, default=0) >= 0 and len(ranges) * _RANGE_BYTES + max(ranges, default=0) * 8 <= most:
            return self.ways(osmium.filter.IdFilter(requested))
        return self.ways(only=frozenset(requested))

    def tagged_nodes(self, keys: Iterable[str]) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield the id and the tags of each node that has one of these keys."""
        with self._lines(osmium.osm.NODE, osmium.filter.KeyFilter(*keys)) as lines:
            for line in lines:
                identity, _, rest = line.partition(" T")
                yield _id_of(identity), parse_tags(rest[: rest.rfind(" x")])

    def relations(self, *tags: tuple[str, str]) -> list[Relation]:
        """Return the relations with one of these tags (key, value)."""
        found = []
        requested = osmium.filter.TagFilter(*tags)
        with self._lines(osmium.osm.RELATION, requested) as lines:
            for line in lines:
                head, _, member_text = line.rstrip("\n").rpartition(" M")
                identity, _, tag_text = head.partition(" T")
                members = []
                for member in filter(None, member_text.split(",")):
                    ref, _, role = member.partition("@")
                    members.append((ref[0], int(ref[1:]), decode(role)))
                found.append(Relation(_id_of(identity), parse_tags(tag_text), members))
        return found

    def read_nodes(self, *, has_negative_ids: bool = False) -> NodeTable:
        """
        Read the positions of all nodes, for `positions_of`.

        Negative ids (new nodes in editors) do not fit into the index of libosmium.
        """
        if has_negative_ids:
            if not self._is_rewritten and not self._order(osmium.osm.NODE).is_unique:
                self._current = self._rewrite()
            table = self._written_locations()
        elif self._is_small:
            table = self._written_locations()
            table = table[table["id"] >= 0]
        else:
            table = self._indexed_locations() if self._locations is None else self._locations
        self._locations = None
        self._nodes = NodeTable(table)
        return self._nodes

    def positions_of(self, *refs: Int64Array) -> NodePositions:
        """Return the positions of the nodes with these ids that the file has, after `read_nodes`."""
        assert self._nodes is not None
        return self._nodes.of(np.concatenate(refs))

    def _indexed_locations(self) -> AnyArray:
        def read(positions: Any) -> None:
            with self.decoding():
                osmium.apply(self._reader(osmium.osm.NODE), positions)

        return _with_locations(read)[1]

    def _written_locations(self) -> AnyArray:
        rows = []
        with self._lines(osmium.osm.NODE) as lines:
            for line in lines:
                head, _, lat = line.rstrip("\n").rpartition(" y")
                _, _, lng = head.rpartition(" x")
                if lng and lat:
                    rows.append((_id_of(line), round(float(lng) * PER_DEGREE), round(float(lat) * PER_DEGREE)))
        return np.array(rows, LOCATION)


def _readers(path: str, form: str, kind: Any) -> Iterator[osmium.io.Reader]:
    """Yield a reader of the objects of a type."""
    yield osmium.io.Reader(osmium.io.File(path, form), kind)


def _id_of(text: str) -> int:
    """Return the id at the beginning of an OPL line, such as 17 of ``n17 v2 dV T``."""
    return int(text[1 : text.index(" ")])


def _has_deleted(path: Path) -> bool:
    """Return whether an OPL file has a deleted object."""
    if path.stat().st_size == 0:
        return False
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return text.find(_DELETED.encode()) >= 0


def _with_locations(read: Callable[[Any], Result]) -> tuple[Result, AnyArray]:
    """
    Call a function with a handler of libosmium that collects the positions of nodes.

    Parameters
    ----------
    read : callable
        Called with the handler, passes the nodes of a file to it.

    Returns
    -------
    result
        Result of the function.
    array of dtype `LOCATION`
        Rows of the handler's index. Unused rows have the id 0.
    """
    with _index_file() as (target, descriptor):
        try:
            index = osmium.index.create_map(f"sparse_file_array,{target}")
            result = read(osmium.NodeLocationsForWays(index))
        finally:
            _close_others(descriptor)
        n_rows = os.fstat(descriptor).st_size // LOCATION.itemsize
        if not hasattr(os, "memfd_create") or n_rows == 0:
            return result, np.fromfile(target, LOCATION)
        # The file is in memory already, and stays there as long as the array does.
        return result, np.frombuffer(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ), LOCATION, n_rows)


@contextmanager
def _index_file() -> Iterator[tuple[str, int]]:
    """
    Yield the path and a descriptor of a new file for the index of node positions.

    libosmium maps this file into memory. Where the disk is full, writing to it ends the process (SIGBUS), which no
    check before can exclude. On Linux it is a file in memory: the table is read into memory anyway.
    """
    with ExitStack() as after:
        if hasattr(os, "memfd_create"):
            descriptor = os.memfd_create("nodes.array")
            target = f"/proc/self/fd/{descriptor}"
        else:
            target = os.path.join(after.enter_context(temporary_folder()), "nodes.array")
            descriptor = os.open(target, os.O_CREAT | os.O_RDWR)
        try:
            yield target, descriptor
        finally:
            os.close(descriptor)


def _close_others(own: int) -> None:
    """
    Close all descriptors of this process for a file but one; nothing but libosmium opens the file meanwhile.

    libosmium opens the file and never closes it, which would keep the file, and on Linux its memory, until the process
    ends.
    """
    file = os.fstat(own)
    for folder in ("/proc/self/fd", "/dev/fd"):
        if os.path.isdir(folder):
            open_now = [int(name) for name in os.listdir(folder)]
            break
    else:
        open_now = list(range(2048))  # the most that the C library of Windows opens
    for descriptor in open_now:
        with suppress(OSError):
            if descriptor != own and os.path.samestat(os.fstat(descriptor), file):
                os.close(descriptor)


class _WaysOfLines:
    """Ways from lines of text, one after the other."""

    def __init__(self) -> None:
        self.osm_id, self._counts = array("q"), array("q")
        self._tags: list[str] = []
        self._chunks: list[Int64Array] = []
        self._pending: list[str] = []
        self._n_pending = 0

    def add(self, line: str, only: Collection[int] | None) -> None:
        """Add the way of a line, if it is one of some ids."""
        head, _, nodes = line.rstrip("\n").rpartition(" N")
        identity, _, tag_text = head.partition(" T")
        way = _id_of(identity)
        if only is not None and way not in only:
            return
        self.osm_id.append(way)
        self._tags.append(tag_text)
        count = nodes.count("n")
        self._counts.append(count)
        if count:
            self._pending.append(nodes)
            self._n_pending += count
            if self._n_pending >= _REFS_PER_CHUNK:
                self._parse()

    def ways(self) -> Ways:
        """Return the ways."""
        self._parse()
        return Ways(np.array(self.osm_id, np.int64), self._tags, indptr_of(self._counts), np.concatenate(self._chunks))

    def _parse(self) -> None:
        self._chunks.append(_parse_refs(self._pending))
        self._pending, self._n_pending = [], 0


def _parse_refs(texts: list[str]) -> Int64Array:
    """Return the numbers in OPL node lists such as ``n17,n42``."""
    if not texts:
        return np.zeros(0, np.int64)
    return np.fromstring(",".join(texts).replace("n", ""), dtype=np.int64, sep=",")
