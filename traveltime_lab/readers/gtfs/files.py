"""
Read the files of a GTFS feed.

A feed may be a zip file, a folder, or a zip file in a zip file.
"""

from __future__ import annotations

import io
import os
import shutil
import struct
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from traveltime_lab._files import MOST_TIMES, as_path, explained, is_file, most_unpacked, read_bytes
from traveltime_lab.errors import GtfsError, MissingFileError
from traveltime_lab.readers.gtfs.findings import Findings
from traveltime_lab.readers.gtfs.text import (
    Converted,
    CsvText,
    TextBlocks,
    TextTable,
    parse,
    parse_in_blocks,
    read_text,
)

#: Files that every feed has. They identify the feed inside a zip file or folder.
_MARKS: Final = ("stops.txt", "stop_times.txt", "trips.txt", "routes.txt", "agency.txt")
#: Most zip files in one another.
_DEEPEST: Final = 3
#: Bytes that are unpacked at once.
_PIECE: Final = 1 << 24


class FeedFiles:
    """
    The files of one feed.

    Parameters
    ----------
    source : path-like
        A zip file or a folder, with the feed at its top, in one sub-folder, or in one inner zip file.

    Attributes
    ----------
    name : str
        Name of the file or folder without its ending.
    names : list of str
        Names of the files in lower case.

    Raises
    ------
    MissingFileError
        If `source` does not exist.
    GtfsError
        If there is no feed or more than one.
    """

    def __init__(self, source: str | os.PathLike[str]) -> None:
        path = as_path(source, "gtfs")
        self.source = path
        self.name = path.stem if is_file(path) else path.name
        if path.is_dir():
            files = {
                PurePosixPath(item.relative_to(path).as_posix()): item for item in path.rglob("*") if item.is_file()
            }
            self._folder: dict[PurePosixPath, Path] | None = files
            self._zip: zipfile.ZipFile | None = None
            listed = list(files)
        elif path.is_file():
            self._folder = None
            self._zip = self._open_zip(path)
            listed = self._listed()
        else:
            raise MissingFileError(f"there is no GTFS feed at {path}; give the path of a zip file or folder")
        where = self._find(listed)
        depth = 0
        while where.suffix == ".zip":
            depth += 1
            if depth > _DEEPEST:  # such as a zip file that contains itself
                raise GtfsError(f"{path} has zip files in zip files, {_DEEPEST} deep; unpack it and pass the feed")
            inner = self._bytes(where)
            self._folder = None
            self._zip = self._open_zip(io.BytesIO(inner))
            where = self._find(self._listed())
        self._files = {
            item.name.lower(): item
            for item in (self._listed() if self._folder is None else self._folder)
            if item.parent == where
        }
        self.names = sorted(self._files)

    def _open_zip(self, file: Path | io.BytesIO) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(file)
        # A damaged directory may name a version that does not exist, or have names that are not text.
        except (zipfile.BadZipFile, NotImplementedError, ValueError, IndexError, struct.error, EOFError) as error:
            raise GtfsError(
                f"{self.source} is not a zip file ({error}); a feed is a zip or a folder of .txt files"
            ) from error

    def _listed(self) -> list[PurePosixPath]:
        if self._zip is None:
            return []
        # Folders end with a slash. A damaged zip may have files without a name. Paths leave out parts such as "./", so
        # the names are kept for reading.
        names = [item.filename for item in self._zip.infolist()]
        self._members = {PurePosixPath(name): name for name in names if name and not name.endswith("/")}
        return list(self._members)

    def _find(self, listed: list[PurePosixPath]) -> PurePosixPath:
        """Return the folder that contains the feed, or the inner zip file that may contain it."""
        listed = [item for item in listed if not any(part.startswith((".", "__MACOSX")) for part in item.parts)]
        folders: dict[PurePosixPath, int] = {}
        for item in listed:
            if item.name.lower() in _MARKS:
                folders[item.parent] = folders.get(item.parent, 0) + 1
        top = PurePosixPath(".")
        if top in folders:
            return top
        found = sorted(folders) or sorted(item for item in listed if item.suffix.lower() == ".zip")
        if len(found) == 1:
            return found[0]
        if found:
            raise GtfsError(
                f"{self.source} contains several feeds: {', '.join(map(str, found))}; unpack it and pass them as a list"
            )
        raise GtfsError(f"{self.source} is not a GTFS feed: there is no stops.txt, trips.txt or stop_times.txt in it")

    def _bytes(self, item: PurePosixPath) -> bytes:
        if self._zip is None:
            assert self._folder is not None
            with explained(self._folder[item], "read"):
                return read_bytes(self._folder[item])
        about = self._zip.getinfo(self._members[item])
        if about.file_size > most_unpacked(about.compress_size):
            raise GtfsError(
                f"{self.source}: {item} unpacks from {about.compress_size:,} to {about.file_size:,} bytes, more than "
                f"{MOST_TIMES} times as many, which no timetable does; unpack it and pass the folder if it is one",
                file=item.name,
            )
        sink = io.BytesIO()
        try:
            # `ZipFile.read` would hold a large file twice.
            with self._zip.open(self._members[item]) as source:
                shutil.copyfileobj(source, sink, _PIECE)
        except Exception as error:
            # The name before the content may differ from that of the directory, or not be text. Errors of zlib and
            # lzma have no common base.
            of_zip = (zipfile.BadZipFile, RuntimeError, ValueError, struct.error, EOFError, OSError)
            if not isinstance(error, of_zip) and type(error).__module__ not in ("zlib", "_lzma", "lzma"):
                raise
            raise GtfsError(
                f"{self.source}: {item} cannot be unpacked ({error}); download the feed again", file=item.name
            ) from error
        return sink.getvalue()

    def read(self, name: str, columns: Sequence[str], findings: Findings) -> TextTable:
        """Return columns of a file; a missing file has no rows."""
        if name not in self._files:
            return TextTable(self.source, name, {}, 0, b"", 1, 0)
        raw = self._bytes(self._files[name])
        return read_text(self.source, name, raw, findings, lambda text: parse(text, columns, findings))

    def read_in_blocks(
        self, name: str, columns: Sequence[str], findings: Findings, convert: Callable[[TextTable], Converted]
    ) -> tuple[TextBlocks, list[Converted]]:
        """
        Call a function with the rows of a large file, some megabytes at a time, and return its results.

        The columns of text of a national timetable would take several times the memory of the numbers in them.

        Returns
        -------
        table : TextBlocks
            The rows of the whole file, without columns.
        found : list
            The results of `convert` for each block of rows.
        """
        raw = self._bytes(self._files[name]) if name in self._files else b""

        def parse_all(text: CsvText) -> tuple[TextBlocks, list[Converted]]:
            return parse_in_blocks(text, columns, findings, convert)

        return read_text(self.source, name, raw, findings, parse_all)

    def __contains__(self, name: str) -> bool:
        """Return whether the feed has a file."""
        return name in self._files
