"""
Find the snapshots and tables of an archive: files of a folder, members of a zip or tar file, bytes and frames.
"""

from __future__ import annotations

import lzma
import os
import re
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd

from traveltime_lab._files import as_path, explained, is_file, most_unpacked, open_file, read_bytes
from traveltime_lab.errors import InputError, MissingFileError, TravelTimeError
from traveltime_lab.realtime.sources import MOST_BYTES

#: Names of tables, and of files with several others.
_TABLE: Final = re.compile(r"\.(csv|txt|tsv|parquet|pq)(\.(gz|bz2|xz|zst))?$", re.IGNORECASE)
_TAR: Final = re.compile(r"\.(tar|tar\.(gz|bz2|xz)|tgz|tbz2|txz)$", re.IGNORECASE)
_ZIP: Final = re.compile(r"\.zip$", re.IGNORECASE)
#: First lines of tables as text: printable, with a separator.
_HEADER: Final = re.compile(rb"[^\x00-\x08\x0a-\x1f\x7f]*[,;\t|][^\x00-\x08\x0a-\x1f\x7f]*")
#: Files that accompany others.
_BESIDE: Final = re.compile(r"(^|/)(\.|__MACOSX/|readme|licen[cs]e)|\.(md|html|rst)$", re.IGNORECASE)
_DAMAGED: Final = (
    OSError, EOFError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile, tarfile.TarError, zlib.error,
    lzma.LZMAError,
)  # fmt: skip
#: A file with several others may unpack to this many times its size (assumed: deflate packs at most 1,030 times).
_MOST_TIMES: Final = 1_030
_MOST_DEPTH: Final = 8


class Item(NamedTuple):
    """
    A snapshot or a table of an archive.

    Attributes
    ----------
    name : str
        For reports.
    feed : str or None
        Name of the GTFS feed that it is about, if given.
    is_table : bool
    read : callable
        Returns a path or bytes, or the frame or message itself; raises an error if it cannot be read.
    """

    name: str
    feed: str | None
    is_table: bool
    read: Callable[[], Any]


def items_of(archive: Any, feed: str | None, note: Callable[[str, str], None]) -> Iterator[Item]:
    """
    Yield the snapshots and tables of an archive, those of a folder or a zip file by name.

    Parameters
    ----------
    archive : path-like, bytes, DataFrame, message, mapping or iterable of these
    feed : str, optional
    note : callable
        Called with the name of a file and why a part of it cannot be read.

    Raises
    ------
    InputError
        If it is something else.
    MissingFileError, FileAccessError
        If a file or folder does not exist or cannot be looked at.
    """
    yield from _items(archive, feed, note, 0)


def _items(given: Any, feed: str | None, note: Callable[[str, str], None], depth: int) -> Iterator[Item]:
    if depth > _MOST_DEPTH:
        raise InputError(f"archive must be lists at most {_MOST_DEPTH} deep; got more, or one that contains itself")
    if isinstance(given, pd.DataFrame):
        yield Item("the table", feed, True, lambda: given)
    elif isinstance(given, bytes | bytearray | memoryview):
        content = bytes(given)
        is_table = content[:4] == b"PAR1" or _is_text_table(content)
        yield Item("the table" if is_table else "the message", feed, is_table, lambda: content)
    elif callable(getattr(given, "SerializeToString", None)):
        yield Item("the message", feed, False, lambda: given)
    elif isinstance(given, str | os.PathLike):
        if str(given).lower().startswith(("http://", "https://", "s3://", "gs://")):
            raise InputError(f"archive must be files or folders; got the address {str(given)!r}. Download it first")
        yield from _of_path(as_path(given, "archive"), feed, note)
    elif isinstance(given, Mapping):
        for name, inner in given.items():
            if not isinstance(name, str):
                raise InputError(f"the keys of archive must be names of feeds; got {name!r}")
            yield from _items(inner, name, note, depth + 1)
    elif isinstance(given, Iterable) and not isinstance(given, str):
        for inner in given:
            yield from _items(inner, feed, note, depth + 1)
    else:
        raise InputError(
            "archive must be a folder, a file, bytes, a DataFrame, a list of these or a dict by feed; got "
            f"{type(given).__name__}"
        )


def _is_text_table(content: bytes) -> bool:
    """Return whether bytes begin with the names of columns, as CSV files do."""
    first = content[:4096].removeprefix(b"\xef\xbb\xbf").split(b"\n")[0].strip(b"\r")
    return bool(first) and first[:1] not in b"{[" and bool(_HEADER.fullmatch(first))


def _of_path(path: Path, feed: str | None, note: Callable[[str, str], None]) -> Iterator[Item]:
    with explained(path, "look for"):
        is_folder = path.is_dir()
    if not is_folder:
        if not is_file(path):
            raise MissingFileError(f"no archive at {path}; give the path of a folder, a table or a snapshot")
        yield from _of_file(path, path.name, feed, note)
        return
    with explained(path, "list"):
        names = sorted(
            os.path.relpath(os.path.join(folder, name), path).replace(os.sep, "/")
            for folder, _, files in os.walk(path)
            for name in files
        )
    for name in names:
        if not _BESIDE.search(name):
            yield from _of_file(path / name, name, feed, note)


def _of_file(path: Path, name: str, feed: str | None, note: Callable[[str, str], None]) -> Iterator[Item]:
    if _ZIP.search(name):
        yield from _of_zip(path, name, feed, note)
    elif _TAR.search(name):
        yield from _of_tar(path, name, feed, note)
    elif _TABLE.search(name):
        yield Item(name, feed, True, lambda: path)
    else:
        yield Item(name, feed, False, lambda: _content(path))


def _content(path: Path) -> bytes:
    if not is_file(path):
        raise MissingFileError(f"no snapshot at {path}")
    with explained(path, "read"):
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"it has more than {MOST_BYTES:,} bytes; a message has at most that")
        return read_bytes(path)


def _plain(name: str) -> str:
    """Return the name of a member without what names no folder, such as the ``./`` of ``tar cf x.tar .``."""
    return "/".join(part for part in name.replace("\\", "/").split("/") if part not in ("", ".", ".."))


def _of_zip(path: Path, name: str, feed: str | None, note: Callable[[str, str], None]) -> Iterator[Item]:
    try:
        with explained(path, "read"), zipfile.ZipFile(path) as file:
            members = [(_plain(each.filename), each) for each in file.infolist() if not each.is_dir()]
            if {"stop_times.txt", "trips.txt"} <= {own for own, _ in members}:
                note(name, "it is a GTFS timetable, not an archive of what was observed")
                return
            for own, member in sorted(members, key=lambda each: each[0]):
                if not _BESIDE.search(own):
                    yield Item(own, feed, bool(_TABLE.search(own)), partial(_of_member, file, member))
    except TravelTimeError:
        raise
    except _DAMAGED as error:
        note(name, _damaged(error))


def _of_member(file: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    most = min(MOST_BYTES, most_unpacked(member.compress_size))
    try:
        with file.open(member) as stream:
            content = stream.read(most + 1)
    except _DAMAGED as error:
        raise InputError(_damaged(error)) from error
    if len(content) > most:
        raise InputError(f"it unpacks to more than {most:,} bytes; unpack it if it is what it seems")
    return content


def _of_tar(path: Path, name: str, feed: str | None, note: Callable[[str, str], None]) -> Iterator[Item]:
    """Yield the members by name; those of a file in another order lie in a temporary one meanwhile."""
    items = _in_tar(path, name, feed, note)
    if _is_in_order(path):
        yield from items
        return
    with tempfile.TemporaryFile() as file:
        places = []
        for item in items:
            content = item.read()
            places.append((item, file.tell(), len(content)))
            file.write(content)
        for item, begin, size in sorted(places, key=lambda each: each[0].name):
            file.seek(begin)
            yield item._replace(read=partial(bytes, file.read(size)))


def _is_in_order(path: Path) -> bool:
    """Return whether the members of a tar file, as far as it can be read, are in the order of their names."""
    before = ""
    try:
        with open_file(path) as raw, tarfile.open(fileobj=raw, mode="r|*") as file:
            for member in file:
                if member.isfile() and not _BESIDE.search(own := _plain(member.name)):
                    if own < before:
                        return False
                    before = own
    except _DAMAGED:
        return True
    return True


def _in_tar(path: Path, name: str, feed: str | None, note: Callable[[str, str], None]) -> Iterator[Item]:
    most = max(most_unpacked(path.stat().st_size), _MOST_TIMES * path.stat().st_size)
    n_bytes = 0
    try:
        with explained(path, "read"), open_file(path) as raw, tarfile.open(fileobj=raw, mode="r|*") as file:
            for member in file:
                own = _plain(member.name)
                if not member.isfile() or _BESIDE.search(own):
                    continue
                n_bytes += member.size
                if n_bytes > most:
                    note(name, f"it unpacks to more than {most:,} bytes, and the rest of it is left out")
                    return
                if member.size > MOST_BYTES:
                    note(own, f"it has more than {MOST_BYTES:,} bytes")
                    continue
                stream = file.extractfile(member)
                content = b"" if stream is None else stream.read()
                yield Item(own, feed, bool(_TABLE.search(own)), partial(bytes, content))
    except TravelTimeError as error:
        note(name, str(error))
    except _DAMAGED as error:
        note(name, _damaged(error))


def _damaged(error: Exception) -> str:
    return f"it is damaged: {str(error) or type(error).__name__}"
