"""
Write files whole or not at all, and say in plain words why a file cannot be read or written.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import json
import os
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final, cast

from traveltime_lab.errors import FileAccessError, InputError, MissingFileError, TravelTimeError

#: Error numbers of the operating system when a disk, a quota or a limit of file sizes is exhausted.
FULL: Final = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG})
#: Error numbers where there is no file.
_NOWHERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
_NO_PERMISSION: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})

#: Locks of files and folders, which Windows has not.
fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None
#: Length of the part of a file's name that its temporary file has, and how many of these there may be at a time.
_FIRST_CHARACTERS, _MOST_NUMBERS = 40, 100


#: How many times its size a compressed file may have (timetables and map data have up to 20 times, deflate allows
#: 1,030 and bzip2 a million), and the bytes that any may have (assumed).
MOST_TIMES, ALWAYS_UNPACKED = 100, 1 << 26
_PER_CHUNK: Final = 1 << 20


def most_unpacked(n_bytes: int) -> int:
    """Return the most bytes that a file may have, given its compressed size."""
    return max(ALWAYS_UNPACKED, MOST_TIMES * n_bytes)


def unpacks_to_much_more(path: Path, stream: IO[bytes]) -> str | None:
    """
    Return the fault of a compressed file whose content is much larger than the file, or None.

    Parameters
    ----------
    path : Path
    stream : file
        Its content, unpacked while it is read. Errors of the decompressor about a damaged file are passed on.
    """
    n_bytes = path.stat().st_size
    most, n_read = most_unpacked(n_bytes), 0
    while n_chunk := len(stream.read(_PER_CHUNK)):
        n_read += n_chunk
        if n_read > most:
            return f"it unpacks from {n_bytes:,} to more than {most:,} bytes; unpack it if it is what it seems"
    return None


def as_path(value: Any, name: str) -> Path:
    """
    Return a path, or raise InputError for what cannot be one.

    Parameters
    ----------
    value : path-like
    name : str
        Name of the argument in error messages.
    """
    try:
        text = os.fspath(value)
        os.fsencode(text)
    except (TypeError, UnicodeEncodeError):
        text = None
    if not isinstance(text, str) or not text or "\0" in text:
        raise InputError(f"{name} must be the path of a file or folder, a str or a Path; got {value!r}")
    return Path(text)


def is_file(path: Path) -> bool:
    """
    Return whether a path is a regular file.

    Raises
    ------
    FileAccessError
        If it is a device, a pipe or a socket, which nothing reads: it may never end, and opening a pipe waits for a
        writer. Or if it cannot be looked at.
    """
    with explained(path, "look for"):
        try:
            mode = path.stat().st_mode
        except OSError as error:
            if error.errno in _NOWHERE:
                return False
            raise
    _refuse_special(path, mode)
    return stat.S_ISREG(mode)


def open_file(path: Path, buffering: int = -1) -> io.BufferedReader:
    """
    Open a regular file for reading.

    Raises
    ------
    FileAccessError
        If it is a folder, a device, a pipe or a socket.
    OSError
        If it does not exist or cannot be opened; see `explained`.
    """

    def opened(name: str, flags: int) -> int:
        _refuse_special(path, os.stat(name).st_mode)
        # Do not wait for a pipe that has replaced the file meanwhile.
        descriptor = os.open(name, flags | getattr(os, "O_NONBLOCK", 0))
        try:
            _refuse_special(path, os.fstat(descriptor).st_mode)
        except FileAccessError:
            os.close(descriptor)
            raise
        return descriptor

    return cast("io.BufferedReader", open(path, "rb", buffering=buffering, opener=opened))


def read_bytes(path: Path) -> bytes:
    """Return the content of a regular file; for the errors see `open_file`."""
    with open_file(path) as file:
        return file.read()


def _refuse_special(path: Path, mode: int) -> None:
    """Raise FileAccessError for a device, a pipe or a socket."""
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        msg = f"cannot read {path}: it is a device, a pipe or a socket; give the path of a regular file"
        raise FileAccessError(msg, errno.EINVAL)


def access_error(error: OSError, path: Any, doing: str) -> FileAccessError:
    """Return the error of this library for an error of the operating system."""
    if error.errno in FULL:
        reason = "there is no space left on the disk (or in a quota); free some, or choose a folder on another disk"
    elif error.errno in _NO_PERMISSION:
        reason = "this process may not do that; change the permissions, or choose another folder"
    else:
        reason = (error.strerror or str(error)).splitlines()[0]
    return FileAccessError(f"cannot {doing} {path}: {reason}", error.errno)


@contextlib.contextmanager
def explained(path: Any, doing: str) -> Iterator[None]:
    """Raise FileAccessError in place of errors of the operating system."""
    try:
        yield
    except TravelTimeError:
        raise
    except OSError as error:
        raise access_error(error, path, doing) from error


def writable(path: Any, *, what: str, example: str) -> Path:
    """
    Return the file that a path stands for, if it can be written or replaced.

    Parameters
    ----------
    path : path-like
        It must not exist, or be a regular file or a symbolic link to one.
    what : str
        Name of the output in error messages, such as "the network".
    example : str
        Name of a file, for error messages.

    Raises
    ------
    InputError
        If the path is a folder, a device, a pipe or a socket.
    MissingFileError
        If the folder does not exist.
    FileAccessError
        If the path cannot be looked at.
    """
    target = as_path(path, "path")
    with explained(target, f"save {what} to"):
        # Renaming onto a symbolic link would replace the link.
        target = Path(os.path.realpath(target))
        if target.is_dir():
            msg = f"cannot save {what} to {target}: it is a folder; give the path of a file such as {example}"
            raise InputError(msg)
        if target.exists() and not target.is_file():
            msg = f"cannot save {what} to {target}: it is a device, a pipe or a socket; give the path of a regular file"
            raise InputError(msg)
        if not target.parent.is_dir():
            msg = f"cannot save {what} to {target}: the folder {target.parent} does not exist; create it first"
            raise MissingFileError(msg)
    return target


@contextlib.contextmanager
def replacing(path: Any, *, what: str, example: str) -> Iterator[Path]:
    """
    Yield a temporary path in the folder of a file, and rename it to that file when all is written.

    An incomplete file is never left under the final name. For the parameters and errors see `writable`; failed
    writes raise FileAccessError.

    Notes
    -----
    The temporary file is ``.NAME.0.part``, with the next number while another process or thread writes to that one. An
    empty file beside it is locked meanwhile, so that the next save of the same file can delete what a killed process
    left. The file itself is not locked, because nothing could be written to it where locks are mandatory (SMB).
    """
    target = writable(path, what=what, example=example)
    with explained(target, f"save {what} to"), _temporary_beside(target) as temporary:
        try:
            yield temporary
            with temporary.open("rb+") as written:
                os.fsync(written.fileno())
            temporary.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def _temporary_beside(target: Path) -> Iterator[Path]:
    """Yield the path of a new file in the folder of a file, to which nothing else writes meanwhile."""
    name = f".{target.name[:_FIRST_CHARACTERS]}"
    for number in range(_MOST_NUMBERS if fcntl else 0):
        path, lock = (target.with_name(f"{name}.{number}{ending}") for ending in (".part", ".lock.part"))
        try:
            descriptor = _locked(lock)
        except OSError:
            # The file system has no locks, or nothing can be written here, which is said when the file is.
            break
        if descriptor is None:
            continue
        try:
            if _is_new(path):
                yield path
                return
        finally:
            with contextlib.suppress(OSError):
                lock.unlink()
            os.close(descriptor)
    yield target.with_name(f"{name}.{os.getpid()}-{threading.get_ident()}.part")


def _locked(path: Path) -> int | None:
    """Open and lock a file, and return its descriptor; None if that is in use, or not a file of this user."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK
    is_new = True
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        is_new = False
        try:
            descriptor = os.open(path, flags)
        except OSError:
            return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            return None
        if is_new:
            path.unlink(missing_ok=True)
        raise
    with contextlib.suppress(OSError):
        # Unless the process that had the lock before has deleted the file since it was opened here.
        if os.path.samestat(os.fstat(descriptor), path.lstat()):
            return descriptor
    os.close(descriptor)
    return None


def _is_new(path: Path) -> bool:
    """Delete what is at a path, but no folder, and create an empty file there; return whether that was possible."""
    try:
        path.unlink(missing_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except OSError:
        return False
    return True


def write_bytes(path: Any, content: bytes, *, what: str, example: str) -> None:
    """Write a file whole or not at all; see `replacing`."""
    with replacing(path, what=what, example=example) as temporary:
        temporary.write_bytes(content)


def geojson(frame: Any, name: str, **members: Any) -> bytes:
    """
    Return a GeoDataFrame as GeoJSON in full precision, with further members, which readers of RFC 7946 ignore.

    The same table always gives the same bytes: without a name for the layer, GDAL takes that of a temporary file.

    GDAL writes into memory, because it does not report every file that it could not complete. Text is written as it
    is, also if a spreadsheet program would take it for a formula.
    """
    buffer = io.BytesIO()
    frame.to_file(buffer, driver="GeoJSON", layer=name)
    content = buffer.getvalue()
    if members:
        # At the end: GDAL looks for the type of the file at its beginning.
        body = content.rstrip().removesuffix(b"}").rstrip()
        content = body + b",\n" + json.dumps(members, ensure_ascii=False).encode()[1:] + b"\n"
    return content


def geoparquet(frame: Any) -> bytes:
    """Return a GeoDataFrame as GeoParquet."""
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """
    Yield a new folder, which is deleted in the end.

    Raises
    ------
    FileAccessError
        If it cannot be created, or there is no space left in it.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix="traveltime_lab_", ignore_cleanup_errors=True)
    except OSError as error:
        text = f"cannot create a temporary folder: {error.strerror or error}; set TMPDIR to a folder with space"
        raise FileAccessError(text, error.errno) from error
    with folder as path:
        try:
            yield Path(path)
        except OSError as error:
            if error.errno not in FULL or isinstance(error, FileAccessError):
                raise
            raise full_temporary_folder(Path(path), str(error.strerror)) from error


def full_temporary_folder(folder: Path, reason: str) -> FileAccessError:
    """Return the error for a temporary folder that takes no more."""
    text = f"cannot write to the temporary folder {folder.parent}: {reason}; free some space, or set TMPDIR to another"
    return FileAccessError(text, errno.ENOSPC)
