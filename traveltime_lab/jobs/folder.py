"""
The folder of a large job: its parts, a manifest that says what they are, and what is still missing.

::

    _manifest.json       what determines the bytes of all parts; when all are there, also size and checksum of each
    _parts.jsonl         until then: a line for each part that is there
    part-000000.parquet  ...

A part is written under another name, renamed, and then added to the list. So a process that ends at any moment, or a
full disk, loses the parts under way at most. Readers of Parquet skip files whose names begin with ``_`` or ``.``.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from traveltime_lab._digests import digest
from traveltime_lab._files import access_error, as_path, explained, open_file, read_bytes, write_bytes
from traveltime_lab.errors import FormatError, InputError, MissingFileError
from traveltime_lab.jobs.job import Made
from traveltime_lab.runtime.forks import after_fork
from traveltime_lab.runtime.threads import side_by_side

#: Locks of folders, which Windows has not.
fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None

#: Open files that hold the locks of this process.
_holders: set[int] = set()

FORMAT: Final = "traveltime_lab.parts"
FORMAT_VERSION: Final = 1
MANIFEST: Final = "_manifest.json"
LIST: Final = "_parts.jsonl"
#: Where folders cannot be locked, a file with this name is, while a job is under way.
LOCK: Final = "_lock"


@dataclass(frozen=True)
class Part:
    """Number, size and checksum of a part that is in the folder."""

    part: int
    n_rows: int
    n_bytes: int
    blake2b: str

    @property
    def name(self) -> str:
        """Name of the file."""
        return part_name(self.part)

    def is_whole(self, folder: Path) -> bool:
        """Return whether the file has this size, this checksum and this number of rows."""
        path = folder / self.name
        try:
            if path.stat().st_size != self.n_bytes:
                return False
            with open_file(path) as file:
                found = hashlib.file_digest(file, digest).hexdigest()
            # The checksum is not that of the number of rows, which stands beside it.
            return found == self.blake2b and pq.read_metadata(path).num_rows == self.n_rows
        except (OSError, pa.ArrowException):
            return False


def part_name(part: int) -> str:
    """Return the name of the file of a part."""
    return f"part-{part:06d}.parquet"


class Folder:
    """
    The folder of a job, which this process alone writes to; see `opened`.

    Parameters
    ----------
    path : Path
    description : dict
        Everything that determines the bytes of all parts, as values of JSON.
    n_parts : int

    Attributes
    ----------
    done : dict of int to Part
        The parts that are there.
    is_finished : bool
        Whether all are there, and the manifest says so.
    """

    def __init__(self, path: Path, description: dict[str, Any], n_parts: int) -> None:
        self.path, self.n_parts = path, n_parts
        self.head = {"format": FORMAT, "format_version": FORMAT_VERSION, **description, "n_parts": n_parts}
        self.done: dict[int, Part] = {}
        self.is_finished = False

    @property
    def missing(self) -> list[int]:
        """The parts that are not there."""
        return [part for part in range(self.n_parts) if part not in self.done]

    def resume(self) -> None:
        """Check or write the manifest, and verify the parts that are there."""
        manifest = _read_manifest(self.path)
        if manifest is None:
            names = {path.name for path in self.path.iterdir()} - {LOCK}
            strangers = sorted(name for name in names if not name.endswith(".part"))
            if strangers:
                msg = (
                    f"{self.path} is not empty ({strangers[0]!r}) and has no manifest of a large job; give the path of "
                    "a folder that is empty or does not exist"
                )
                raise InputError(msg)
            self._write(MANIFEST, self.head)
        else:
            self._refuse_others(manifest)
        strangers = sorted(path.name for path in self.path.glob("part-*.parquet") if not self._is_mine(path.name))
        if strangers:
            msg = (
                f"{self.path} has {strangers[0]!r}, which is no part of this job, and which readers would read with "
                "its parts; delete it"
            )
            raise InputError(msg)
        # Files of a process that was killed; no other one writes here now.
        for path in self.path.glob(".*.part"):
            path.unlink()
        listed = _listed(self.path / LIST) if manifest is None or "parts" not in manifest else manifest["parts"]
        parts = [part for part in map(_as_part, listed) if part is not None and 0 <= part.part < self.n_parts]
        whole = side_by_side([functools.partial(part.is_whole, self.path) for part in parts])
        self.done = {part.part: part for part, is_whole in zip(parts, whole, strict=True) if is_whole}
        if self.missing:
            # Without the last line if it is incomplete, and without parts that changed.
            lines = "".join(_line(part) for part in self.done.values())
            write_bytes(self.path / LIST, lines.encode(), what="the list of parts", example=LIST)
            if manifest is not None and "parts" in manifest:
                self._write(MANIFEST, self.head)
        else:
            self.finish()

    def _is_mine(self, name: str) -> bool:
        """Return whether a file has the name of a part of this job."""
        number = name.removeprefix("part-").removesuffix(".parquet")
        return number.isdecimal() and int(number) < self.n_parts and name == part_name(int(number))

    def _refuse_others(self, manifest: dict[str, Any]) -> None:
        """Raise InputError if the folder belongs to another job."""
        known = {name: value for name, value in manifest.items() if name not in ("parts", "n_rows")}
        given = json.loads(json.dumps(self.head))
        differences = list(_differences(known, given))
        if differences:
            msg = (
                f"{self.path} holds the parts of another job: {'; '.join(differences[:3])}. "
                "Give another path, repeat the call with the same arguments, or delete the folder"
            )
            raise InputError(msg)

    def add(self, number: int, made: Made) -> None:
        """Write a part, and add it to the list."""
        part = Part(number, made.n_rows, len(made.content), digest(made.content).hexdigest())
        write_bytes(self.path / part.name, made.content, what="a part", example=part.name)
        with explained(self.path / LIST, "save the list of parts to"), (self.path / LIST).open("ab") as file:
            file.write(_line(part).encode())
            file.flush()
            os.fsync(file.fileno())
        self.done[number] = part

    def finish(self) -> None:
        """Write the final manifest."""
        parts = [self.done[number] for number in range(self.n_parts)]
        about = {"n_rows": sum(part.n_rows for part in parts), "parts": [asdict(part) for part in parts]}
        self._write(MANIFEST, self.head | about)
        with explained(self.path / LIST, "delete"):
            (self.path / LIST).unlink(missing_ok=True)
        self.is_finished = True

    def _write(self, name: str, content: dict[str, Any]) -> None:
        text = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
        write_bytes(self.path / name, text.encode(), what="the manifest", example=name)


@contextlib.contextmanager
def opened(path: Any, description: dict[str, Any], n_parts: int) -> Iterator[Folder]:
    """
    Yield the folder of a job, after verifying the parts that are there.

    Parameters
    ----------
    path : path-like
        Folder that does not exist, is empty, or holds parts of the same job.
    description : dict
        Everything that determines the bytes of all parts, as values of JSON.
    n_parts : int

    Raises
    ------
    InputError
        If the path is a file, or the folder holds something else, or another process writes to it.
    MissingFileError
        If the parent folder does not exist.
    FormatError
        If the manifest is damaged or of a different version.
    FileAccessError
        If the folder cannot be read or written.
    """
    target = as_path(path, "path")
    with explained(target, "save the parts to"):
        if target.exists() and not target.is_dir():
            msg = f"cannot save the parts to {target}: it is a file; give the path of a folder"
            raise InputError(msg)
        if not target.absolute().parent.is_dir():
            msg = f"cannot save the parts to {target}: {target.absolute().parent} does not exist; create it first"
            raise MissingFileError(msg)
        target.mkdir(exist_ok=True)
    with _alone(target):
        folder = Folder(target, description, n_parts)
        with explained(target, "save the parts to"):
            folder.resume()
        yield folder


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock a folder; the operating system frees the lock when the process ends, however it ends."""
    if fcntl is None:
        with _alone_by_file(folder):
            yield
        return
    with explained(folder, "open"):
        number = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _busy(folder) from error
        except OSError as error:
            raise access_error(error, folder, "lock") from error
        _holders.add(number)
        yield
    finally:
        _holders.discard(number)
        os.close(number)


@contextlib.contextmanager
def _alone_by_file(folder: Path) -> Iterator[None]:
    """Lock a file in a folder, where folders cannot be locked; Windows deletes it with the lock."""
    import filelock  # noqa: PLC0415 - not needed elsewhere

    lock = filelock.FileLock(folder / LOCK, timeout=0)
    with explained(folder, "lock"):
        try:
            lock.acquire()
        except filelock.Timeout as error:
            raise _busy(folder) from error
    try:
        yield
    finally:
        lock.release()


def _busy(folder: Path) -> InputError:
    return InputError(f"another process writes to {folder}; wait until it has ended, or give another path")


def _let_go() -> None:
    """Close what holds locks: a forked worker that outlives its parent must not keep the folder locked."""
    while _holders:
        os.close(_holders.pop())


after_fork(_let_go)


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest of a folder, None if it has none."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(read_bytes(path))
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        msg = f"{path} is damaged ({error}); delete the folder and run the job again"
        raise FormatError(msg) from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        msg = f"{path} is not the manifest of a large job; give the path of another folder"
        raise FormatError(msg)
    version = manifest.get("format_version")
    if version != FORMAT_VERSION:
        msg = f"{path} has format {version!r}, this version continues {FORMAT_VERSION}; give the path of another folder"
        raise FormatError(msg)
    if not isinstance(manifest.get("parts", []), list):
        msg = f"{path} is damaged (its parts are not a list); delete the folder and run the job again"
        raise FormatError(msg)
    return dict(manifest)


def _listed(path: Path) -> Iterator[Any]:
    """Yield the lines of a list of parts; the last one may be incomplete."""
    try:
        lines = read_bytes(path).splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        with contextlib.suppress(ValueError, RecursionError):
            yield json.loads(line)


def _as_part(row: Any) -> Part | None:
    """Return the part that a row of a list describes, None if it describes none."""
    try:
        return Part(int(row["part"]), int(row["n_rows"]), int(row["n_bytes"]), str(row["blake2b"]))
    except (TypeError, KeyError, ValueError, OverflowError):
        return None


def _line(part: Part) -> str:
    return json.dumps(asdict(part)) + "\n"


def _differences(known: Any, given: Any, name: str = "") -> Iterator[str]:
    """Yield what differs between two descriptions, in words."""
    if isinstance(known, dict) and isinstance(given, dict):
        for key in {**known, **given}:
            yield from _differences(known.get(key), given.get(key), f"{name}.{key}" if name else str(key))
    elif known != given:
        yield f"{name.removeprefix('parameters.')} was {known!r} and is now {given!r}"


def read_manifest(path: Any) -> dict[str, Any]:
    """Return the manifest of a folder that is complete or not."""
    folder = as_path(path, "path")
    with explained(folder, "read"):
        manifest = _read_manifest(folder)
    if manifest is None:
        msg = f"{folder} has no manifest of a large job"
        raise MissingFileError(msg)
    return manifest
