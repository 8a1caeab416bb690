"""
The folder of a large job: its parts, a manifest that says what they are, and what is still missing.

::

    _manifest.json       what determines the bytes of all parts; when all are there, also size and checksum of each
    _parts.jsonl         until then: a line for each part that is there
    part-000000.parquet  ...

A part is written under another name, renamed, and then added to the list. So a process that ends at any moment, or a
full disk, loses the parts under way at most. Readers of Parquet skip files whose names begin with ``_`` or ``.``.

Parts of tables are numbered, and depend on the manifest alone. Those of `write_networks` have names, such as
``helsinki.network``, and the list has the inputs of each, so that others may be added later.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from traveltime_lab._digests import digest
from traveltime_lab._files import access_error, as_path, explained, fcntl, open_file, read_bytes, write_bytes
from traveltime_lab.errors import FormatError, InputError, MissingFileError
from traveltime_lab.jobs.job import Made
from traveltime_lab.runtime.forks import after_fork
from traveltime_lab.runtime.threads import side_by_side

#: Open files that hold the locks of this process.
_holders: set[int] = set()

FORMAT: Final = "traveltime_lab.parts"
FORMAT_VERSION: Final = 1
MANIFEST: Final = "_manifest.json"
LIST: Final = "_parts.jsonl"
#: Where folders cannot be locked, a file with this name is, while a job is under way.
LOCK: Final = "_lock"


class Described(Protocol):
    """The side of a job that its folder sees."""

    #: Names that readers of the folder take for parts, as a pattern of `pathlib.Path.glob`.
    pattern: ClassVar[str]

    def description(self) -> dict[str, Any]:
        """Return what determines the bytes of all parts, as values of JSON."""

    def files(self) -> dict[Any, str]:
        """Return the name of the file of each part, by its number or name."""

    def inputs(self, part: Any, /) -> dict[str, Any] | None:
        """Return what else determines the bytes of a part, as values of JSON; None if nothing does."""


@dataclass(frozen=True)
class Part:
    """
    A part that is in the folder.

    Attributes
    ----------
    part : int or str
        Its number or name.
    n_rows : int or None
        Number of rows of a table.
    n_bytes : int
        Size of the file.
    blake2b : str
        Checksum of the file.
    inputs : dict or None
        See `Described.inputs`.
    """

    part: int | str
    n_rows: int | None
    n_bytes: int
    blake2b: str
    inputs: dict[str, Any] | None = None

    def is_whole(self, path: Path) -> bool:
        """Return whether a file has this size, this checksum and this number of rows."""
        try:
            if path.stat().st_size != self.n_bytes:
                return False
            with open_file(path) as file:
                found = hashlib.file_digest(file, digest).hexdigest()
            # The checksum is not that of the number of rows, which stands beside it.
            if found != self.blake2b:
                return False
            return self.n_rows is None or pq.read_metadata(path).num_rows == self.n_rows
        except (OSError, pa.ArrowException):
            return False


class Folder:
    """
    The folder of a job, which this process alone writes to; see `opened`.

    Parameters
    ----------
    path : Path
    job : Described

    Attributes
    ----------
    done : dict of int or str to Part
        The parts that are there.
    is_finished : bool
        Whether all are there, and the manifest says so.
    """

    def __init__(self, path: Path, job: Described) -> None:
        self.path, self._job, self._files = path, job, job.files()
        self.n_parts = len(self._files)
        about = {"format": FORMAT, "format_version": FORMAT_VERSION}
        self.head = {**about, **job.description(), "n_parts": self.n_parts}
        self.done: dict[Any, Part] = {}
        self.is_finished = False
        self._inputs: dict[Any, dict[str, Any]] = {}

    @property
    def missing(self) -> list[Any]:
        """The parts that are not there."""
        return [part for part in self._files if part not in self.done]

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
        mine = {*self._files.values()}
        strangers = sorted(path.name for path in self.path.glob(self._job.pattern) if path.name not in mine)
        if strangers:
            msg = (
                f"{self.path} has {strangers[0]!r}, which is no part of this job, and which readers would read with "
                "its parts; delete it"
            )
            raise InputError(msg)
        # Files of a process that was killed; no other one writes here now.
        for path in self.path.glob(".*.part"):
            path.unlink()
        parts = [part for part in self._parts(manifest) if part.part in self._files]
        whole = side_by_side([functools.partial(part.is_whole, self.path / self._files[part.part]) for part in parts])
        # Equal inputs may be written in another order.
        parts = [replace(part, inputs=self._inputs.get(part.part)) for part in parts]
        self.done = {part.part: part for part, is_whole in zip(parts, whole, strict=True) if is_whole}
        if self.missing:
            # Without the last line if it is incomplete, and without parts that changed.
            lines = "".join(_line(part) for part in self.done.values())
            write_bytes(self.path / LIST, lines.encode(), what="the list of parts", example=LIST)
            if manifest is not None and ("parts" in manifest or manifest.get("n_parts") != self.n_parts):
                self._write(MANIFEST, self.head)
        else:
            self.finish()

    def _parts(self, manifest: dict[str, Any] | None) -> list[Part]:
        """Return the parts that the manifest lists, or else the list of those that are there so far."""
        listed = _listed(self.path / LIST) if manifest is None or "parts" not in manifest else manifest["parts"]
        return [part for part in map(_as_part, listed) if part is not None]

    def _refuse_others(self, manifest: dict[str, Any]) -> None:
        """Raise InputError if the folder belongs to another job, or one of its parts does; keep the inputs of parts."""
        # The number of parts follows from the rest, or may differ.
        known = {name: value for name, value in manifest.items() if name not in ("parts", "n_rows", "n_parts")}
        given = json.loads(json.dumps({name: value for name, value in self.head.items() if name != "n_parts"}))
        differences = list(_differences(known, given))
        if not differences:
            for part in self._parts(manifest):
                # A file that is gone is written again, with the inputs of this call.
                if part.inputs is None or part.part not in self._files or not self._has(part):
                    continue
                given = self._inputs[part.part] = json.loads(json.dumps(self._job.inputs(part.part)))
                differences += _differences(part.inputs, given, str(part.part))
        if differences:
            msg = (
                f"{self.path} holds the parts of another job: {'; '.join(differences[:3])}. "
                "Give another path, repeat the call with the same arguments, or delete the folder"
            )
            raise InputError(msg)

    def _has(self, part: Part) -> bool:
        return (self.path / self._files[part.part]).exists()

    def add(self, key: Any, made: Made) -> None:
        """Write a part, or rename the file that has it, and add it to the list."""
        path = self.path / self._files[key]
        if isinstance(made.content, Path):
            with explained(path, "save a part to"):
                with open_file(made.content) as file:
                    blake2b = hashlib.file_digest(file, digest).hexdigest()
                n_bytes = made.content.stat().st_size
                made.content.replace(path)
        else:
            n_bytes, blake2b = len(made.content), digest(made.content).hexdigest()
            write_bytes(path, made.content, what="a part", example=path.name)
        part = Part(key, made.n_rows, n_bytes, blake2b, made.inputs)
        with explained(self.path / LIST, "save the list of parts to"), (self.path / LIST).open("ab") as file:
            file.write(_line(part).encode())
            file.flush()
            os.fsync(file.fileno())
        self.done[key] = part

    def finish(self) -> None:
        """Write the final manifest."""
        parts = [self.done[key] for key in self._files]
        counts = [part.n_rows for part in parts if part.n_rows is not None]
        about = {"n_rows": sum(counts)} if counts else {}
        self._write(MANIFEST, self.head | about | {"parts": [_row(part) for part in parts]})
        with explained(self.path / LIST, "delete"):
            (self.path / LIST).unlink(missing_ok=True)
        self.is_finished = True

    def _write(self, name: str, content: dict[str, Any]) -> None:
        text = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
        write_bytes(self.path / name, text.encode(), what="the manifest", example=name)


@contextlib.contextmanager
def opened(path: Any, job: Described) -> Iterator[Folder]:
    """
    Yield the folder of a job, after verifying the parts that are there.

    Parameters
    ----------
    path : path-like
        Folder that does not exist, is empty, or holds parts of the same job.
    job : Described

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
        folder = Folder(target, job)
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
        key, n_rows, inputs = row["part"], row.get("n_rows"), row.get("inputs")
        if not isinstance(key, int | str) or not isinstance(n_rows, int | None) or not isinstance(inputs, dict | None):
            return None
        if (n_rows is None) is (inputs is None):  # tables have rows, and networks have inputs
            return None
        # True is a whole number, too.
        key, n_rows = int(key) if isinstance(key, int) else key, None if n_rows is None else int(n_rows)
        return Part(key, n_rows, int(row["n_bytes"]), str(row["blake2b"]), inputs)
    except (AttributeError, TypeError, KeyError, ValueError, OverflowError):
        return None


def _row(part: Part) -> dict[str, Any]:
    return {name: value for name, value in asdict(part).items() if value is not None}


def _line(part: Part) -> str:
    return json.dumps(_row(part)) + "\n"


def _differences(known: Any, given: Any, name: str = "") -> Iterator[str]:
    """Yield what differs between two descriptions, in words."""
    if isinstance(known, dict) and isinstance(given, dict):
        for key in {**known, **given}:
            yield from _differences(known.get(key), given.get(key), f"{name}.{key}" if name else str(key))
    elif isinstance(known, list) and isinstance(given, list) and len(known) == len(given) and _are_dicts(known + given):
        for place, pair in enumerate(zip(known, given, strict=True)):
            yield from _differences(*pair, f"{name}[{place}]")
    elif known != given:
        yield f"{name.removeprefix('parameters.')} was {known!r:.200} and is now {given!r:.200}"


def _are_dicts(values: list[Any]) -> bool:
    return all(isinstance(value, dict) for value in values)


def read_manifest(path: Any) -> dict[str, Any]:
    """Return the manifest of a folder that is complete or not."""
    folder = as_path(path, "path")
    with explained(folder, "read"):
        manifest = _read_manifest(folder)
    if manifest is None:
        msg = f"{folder} has no manifest of a large job"
        raise MissingFileError(msg)
    return manifest
