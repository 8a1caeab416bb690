"""
One OpenStreetMap file as a user has it: its format, its faults, what its header says.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import osmium
import shapely

from traveltime_lab._files import as_path, explained, full_temporary_folder, is_file
from traveltime_lab.crs import wrap_degrees
from traveltime_lab.errors import DataError, MissingFileError
from traveltime_lab.readers.osm import blobs, versions
from traveltime_lab.streets.extent import Bounds

#: File name endings, and the names of these formats in libosmium.
FORMATS: Final = {
    ".pbf": "pbf",
    ".osm": "osm",
    ".xml": "osm",
    ".osm.gz": "osm.gz",
    ".xml.gz": "osm.gz",
    ".osm.bz2": "osm.bz2",
    ".xml.bz2": "osm.bz2",
}
#: Text of libosmium about an index of node positions that cannot grow.
_NO_ROOM: Final = "Could not resize file"
#: Degrees between the boxes of adjoining files that are no gap: headers have seven to nine decimals.
_ROUNDING: Final = 1.5e-7


class Header(NamedTuple):
    """
    Metadata in the header of a file.

    Attributes
    ----------
    bounds : tuple of float, optional
        West, south, east, north; west is greater than east across the 180th meridian.
    timestamp, generator : str, optional
    shape : Polygon or MultiPolygon, optional
        The boxes of several files, if they do not fill that of them all.
    """

    bounds: Bounds | None
    timestamp: str | None
    generator: str | None
    shape: Any = None


class SourceFile:
    """
    An existing OpenStreetMap file of a known format.

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
                f"Cannot recognize the format of {self.path}: the name must end in one of {', '.join(FORMATS)}, "
                f"got {self.path.suffix or 'no ending'!r}. Rename or convert the file."
            )
        self.size = self.path.stat().st_size
        if self.size == 0:
            raise DataError(f"{self.path} is empty (0 bytes), expected OpenStreetMap data. Download it again.")
        self.format = FORMATS[max(known, key=len)]
        with explained(self.path, "read"):
            fault = blobs.fault(self.path) if self.format == "pbf" else None
            bomb = versions.unpacks_to_much_more(self.path, self.format)
        if fault is not None:
            raise _unreadable([self], f"PBF error: {fault}")
        if bomb is not None:
            raise DataError(f"{self.path} is not read as OpenStreetMap data ({self.format}): {bomb}.")

    def decoding(self) -> AbstractContextManager[None]:
        """Raise DataError in place of the errors of libosmium about broken content."""
        return decoding([self])

    def reader(self, entities: Any) -> osmium.io.Reader:
        """Return a reader of the objects of some types, as they are in the file."""
        return osmium.io.Reader(osmium.io.File(str(self.path), self.format), entities)

    @property
    def may_have_deleted(self) -> bool:
        """Whether the file may have deleted objects that libosmium reads as if they were not."""
        return self.format != "pbf" and versions.may_have_deleted(self.path, self.format)

    def deleted_in_editor(self) -> set[tuple[str, int, int]]:
        """Return the objects that an editor has marked; see `traveltime_lab.readers.osm.versions`."""
        return set() if self.format == "pbf" else versions.deleted_in_editor(self.path, self.format)

    def header(self) -> Header:
        """Return the bounding box, data timestamp and generator in the header; missing ones are None."""
        with self.decoding():
            reader = self.reader(osmium.osm.NOTHING)
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


def paths_of(parts: Sequence[SourceFile]) -> str:
    """Return the paths of files, for errors."""
    return ", ".join(str(part.path) for part in parts)


@contextmanager
def decoding(parts: Sequence[SourceFile]) -> Iterator[None]:
    """Raise DataError in place of the errors of libosmium about broken content of files."""
    try:
        yield
    except (RuntimeError, ValueError, IndexError, osmium.InvalidLocationError) as error:  # IndexError: bad UTF-8
        if isinstance(error, DataError):
            raise
        if _NO_ROOM in str(error):
            raise full_temporary_folder(Path(tempfile.gettempdir(), "nodes.array"), str(error)) from error
        raise _unreadable(parts, str(error)) from error


@contextmanager
def reading_text(parts: Sequence[SourceFile]) -> Iterator[None]:
    """Raise DataError in place of errors about text that is not UTF-8, which libosmium may pass on."""
    try:
        yield
    except UnicodeError as error:
        raise DataError(
            f"{paths_of(parts)} is not readable as OpenStreetMap data ({_formats(parts)}): it has text that is not "
            f"UTF-8 ({error}). It is damaged or was written by a faulty program; download or export it again."
        ) from error


def _unreadable(parts: Sequence[SourceFile], reason: str) -> DataError:
    return DataError(
        f"{paths_of(parts)} is not readable as OpenStreetMap data ({_formats(parts)}): {reason}. "
        "It is damaged, truncated or of another format; download or export it again."
    )


def _formats(parts: Sequence[SourceFile]) -> str:
    return ", ".join(dict.fromkeys(part.format for part in parts))


def joint(headers: Sequence[Header]) -> Header:
    """
    Return what several headers say together.

    Bounds are missing if those of one file are: it may reach anywhere. The timestamp is the earliest,
    and missing if one is; programs are listed.
    """
    if len(headers) == 1:
        return headers[0]
    boxes = [header.bounds for header in headers if header.bounds is not None]
    bounds, shape = _joint_bounds(boxes) if len(boxes) == len(headers) else (None, None)
    times = [header.timestamp for header in headers if header.timestamp is not None]
    programs = dict.fromkeys(header.generator for header in headers if header.generator is not None)
    return Header(bounds, min(times) if len(times) == len(headers) else None, ", ".join(programs) or None, shape)


def _joint_bounds(boxes: Sequence[Bounds]) -> tuple[Bounds, Any]:
    """Return the bounding box of boxes, and their union if it is smaller."""
    # Whole turns from where the first box is, so that one across the 180th meridian is one piece.
    first = boxes[0][0]
    west, east = (np.array([box[side] for box in boxes]) for side in (0, 2))
    east = np.where(east < west, east + 360.0, east)
    turns = 360.0 * np.round((wrap_degrees(west - first) - (west - first)) / 360.0)
    west, east = west + turns, east + turns
    south, north = min(box[1] for box in boxes), max(box[3] for box in boxes)
    bounds: Bounds = (boxes[int(west.argmin())][0], south, boxes[int(east.argmax())][2], north)
    if east.max() - west.min() >= 360.0:
        bounds = (-180.0, south, 180.0, north)
    sides = zip(west - _ROUNDING, east + _ROUNDING, boxes, strict=True)
    union = shapely.union_all([shapely.box(a, box[1] - _ROUNDING, b, box[3] + _ROUNDING) for a, b, box in sides])
    if shapely.covers(union, shapely.box(west.min(), south, min(east.max(), west.min() + 360.0), north)):
        return bounds, None
    turned = [shapely.transform(union, partial(np.add, [turn, 0.0])) for turn in (-360.0, 0.0, 360.0)]
    shape = shapely.intersection(shapely.union_all(turned), shapely.box(-180.0, -90.0, 180.0, 90.0))
    shapely.prepare(shape)
    return bounds, shape
