"""
Open files that only the current user or root can have written.

A compiled kernel is a pickle: its file runs code with the rights of the process that reads it. A file is therefore read
only if it, and every folder on the way to it from the root, belongs to the current user or to root, and no other user
can write to them. A folder with the sticky bit, such as ``/tmp``, may be on the way, because others cannot rename or
delete what is not theirs; it may not hold the file itself. A symbolic link on the way is followed if it belongs to the
current user or to root, and its target is judged in the same way; the file itself may not be a link.

Each folder is opened from the one above it without following links, and what is judged is what has been opened, so that
a name cannot be exchanged between the check and the reading.

The group of a folder or file may write to it if this is the private group of the user, which has no other member, and
the file has no access control list. (Some systems give each user such a group, and a umask of 002.) On Windows nothing
is judged: there are no such owners and bits.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

#: Whether owners can be judged on this system.
CAN_JUDGE = hasattr(os, "geteuid") and os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd
#: Opens a folder that may be passed through but not listed, where the system has such a flag.
_PASS = getattr(os, "O_PATH", getattr(os, "O_SEARCH", os.O_RDONLY))
_FOLDER = _PASS | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
#: Without waiting for the other end of a pipe.
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_NEW = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
#: Most symbolic links on the way to a file, as in Linux.
_MOST_LINKS = 40


class UntrustedError(Exception):
    """
    A file or folder that another user could have written.

    Parameters
    ----------
    path : Path
        The file or folder.
    reason : str
        The fault, such as "belongs to another user (uid 1000)".
    """

    def __init__(self, path: str | Path, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.path = Path(path)
        self.reason = reason


def read(path: Path, size: int = -1) -> bytes:
    """
    Return the content of a file that only the current user or root can have written.

    Parameters
    ----------
    path : Path
    size : int, default -1
        Number of bytes to read; -1 for all.

    Raises
    ------
    UntrustedError
        If another user could have written the file.
    OSError
        If it does not exist, or cannot be read.
    """
    if not CAN_JUDGE:
        with open(path, "rb") as file:
            return file.read(size)
    with _opened_folder(path.parent) as folder:
        try:
            handle = os.open(path.name, _FILE, dir_fd=folder)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):
                raise UntrustedError(path, "is a symbolic link") from error
            raise
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if stat.S_ISDIR(found.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            if not stat.S_ISREG(found.st_mode):
                raise UntrustedError(path, "is not a file")
            _judge(path, found, handle)
            return file.read(size)


def make_folder(path: Path) -> None:
    """
    Create a folder, and those above it, unless it exists; raise UntrustedError if another user could write to it.

    Parameters
    ----------
    path : Path
    """
    if not CAN_JUDGE:
        path.mkdir(parents=True, exist_ok=True)
        return
    with _opened_folder(path, is_made=True):
        pass


def make_empty(path: Path) -> None:
    """
    Create an empty file, unless it exists, in a folder that only the current user or root can write to.

    Parameters
    ----------
    path : Path
        Its folder is created, too.

    Raises
    ------
    UntrustedError
        If another user could write to the folder.
    OSError
        If the file cannot be created.
    """
    if not CAN_JUDGE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return
    with _opened_folder(path.parent, is_made=True) as folder:
        os.close(os.open(path.name, _NEW, 0o600, dir_fd=folder))


@contextlib.contextmanager
def _opened_folder(path: Path, *, is_made: bool = False) -> Iterator[int]:
    """
    Open a folder that only the current user or root can write to, and yield its descriptor.

    With `is_made`, folders that are missing are created, below folders that have been judged.
    """
    waiting = list(reversed(Path(os.path.abspath(path)).parts[1:]))
    # The folders from the root to the last one that was reached, with their names.
    handles, names = [os.open("/", _FOLDER)], [""]
    n_links = 0
    try:
        _judge("/", os.fstat(handles[0]), is_last=not waiting)
        while waiting:
            name = waiting.pop()
            if name == "..":
                if len(handles) > 1:
                    os.close(handles.pop())
                    names.pop()
                continue
            here = "/".join([*names, name])
            if is_made:
                with contextlib.suppress(FileExistsError):
                    if not _exists(name, handles[-1]):
                        os.mkdir(name, 0o755, dir_fd=handles[-1])
            try:
                handle = os.open(name, _FOLDER, dir_fd=handles[-1])
            except OSError:
                found = os.stat(name, dir_fd=handles[-1], follow_symlinks=False)
                if not stat.S_ISLNK(found.st_mode):
                    raise
                _judge_owner(here, found)
                n_links += 1
                if n_links > _MOST_LINKS:
                    raise
                target = os.readlink(name, dir_fd=handles[-1])
                waiting.extend(reversed([part for part in target.split("/") if part not in ("", ".")]))
                if target.startswith("/"):
                    while len(handles) > 1:
                        os.close(handles.pop())
                        names.pop()
                if not waiting:  # the link leads to a folder that has been reached as one on the way
                    _judge("/".join(names) or "/", os.fstat(handles[-1]), handles[-1])
                continue
            handles.append(handle)
            names.append(name)
            _judge(here, os.fstat(handle), handle, is_last=not waiting)
        yield handles[-1]
    finally:
        for handle in handles:
            os.close(handle)


def _exists(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _judge(path: str | Path, found: os.stat_result, handle: int | None = None, *, is_last: bool = True) -> None:
    """
    Raise UntrustedError if another user could have written a file, or could write to a folder.

    Parameters
    ----------
    path : path-like
        For the message.
    found : stat_result
    handle : int, optional
        Descriptor of the file or folder.
    is_last : bool, default True
        False for a folder that is only passed through, where the sticky bit is enough.
    """
    _judge_owner(path, found)
    if not found.st_mode & _OTHERS_WRITE or (found.st_mode & stat.S_ISVTX and not is_last):
        return
    if found.st_mode & stat.S_IWOTH:
        raise UntrustedError(path, f"can be written to by everybody (mode {stat.S_IMODE(found.st_mode):04o})")
    if handle is None or not _is_private(found, handle):
        raise UntrustedError(
            path, f"can be written to by its group (gid {found.st_gid}, mode {stat.S_IMODE(found.st_mode):04o})"
        )


def _judge_owner(path: str | Path, found: os.stat_result) -> None:
    if found.st_uid not in (0, os.geteuid()):
        raise UntrustedError(path, f"belongs to another user (uid {found.st_uid})")


def _is_private(found: os.stat_result, handle: int) -> bool:
    """Return whether the group of a file has no member but the current user, and no list gives others access."""
    if found.st_gid == 0 or found.st_uid != os.geteuid():
        return False
    try:
        import grp  # noqa: PLC0415 - not on every system
        import pwd  # noqa: PLC0415

        user, group = pwd.getpwuid(found.st_uid), grp.getgrgid(found.st_gid)
    except (ImportError, KeyError):
        return False
    if group.gr_gid != user.pw_gid or group.gr_name != user.pw_name or set(group.gr_mem) - {user.pw_name}:
        return False
    if not hasattr(os, "getxattr"):
        return True
    try:
        os.getxattr(f"/proc/self/fd/{handle}", "system.posix_acl_access")
    except OSError as error:
        return error.errno in (errno.ENODATA, errno.ENOTSUP)
    return False


def home_of_user() -> Path | None:
    """Return the home of the current user from the database of users, whatever ``HOME`` says; None if it has none."""
    try:
        import pwd  # noqa: PLC0415 - not on every system

        return Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except (ImportError, KeyError):
        return None
