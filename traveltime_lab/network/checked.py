"""
Remember which saved networks have been checked, so that opening one again does not read all of its columns.

The columns of a saved network are checked before kernels read them, as kernels do not check bounds. For a network of
ten million edges this reads gigabytes of which a search may need a few. When a file has passed, a mark is left in the
cache folder. Its name is a digest of what identifies the content of the file to the operating system, the number of
the file and the times and size that every change of it changes, and of the modules with the rules. A file without a
mark is checked, and so is every file where the system has no such time, or where another user could have left marks.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import time
from pathlib import Path
from typing import Final

from traveltime_lab.kernels import trusted
from traveltime_lab.network import prepared_columns
from traveltime_lab.settings import settings
from traveltime_lab.streets import columns, hourly_speeds, tables
from traveltime_lab.transit import timetable_columns, timetable_file

#: Seconds after a change of a file in which a second change might have the same time (2 s in FAT).
_SAME_TIME_S: Final = 2.0
#: Most marks; the oldest are dropped.
_MOST: Final = 1000


def mark_of(handle: int) -> str | None:
    """
    Return the name of the mark of an open file.

    Parameters
    ----------
    handle : int
        Descriptor of the file.

    Returns
    -------
    str or None
        None where the system does not say when a file was changed, and for a file that was changed just now: a further
        change might have the same time.
    """
    found = os.fstat(handle)
    if not trusted.CAN_JUDGE or time.time() - found.st_ctime < _SAME_TIME_S:
        return None
    known = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    return hashlib.blake2b(f"{known} {_rules()}".encode(), digest_size=20).hexdigest()


def is_known(mark: str) -> bool:
    """Return whether a file with a mark has passed all checks."""
    try:
        trusted.read(_folder() / mark)
    except (OSError, trusted.UntrustedError):
        return False
    return True


def remember(mark: str) -> None:
    """Leave a mark, where possible."""
    folder = _folder()
    with contextlib.suppress(OSError, trusted.UntrustedError):
        trusted.make_empty(folder / mark)
        marks = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
        for path in marks[:-_MOST]:
            path.unlink()


def _folder() -> Path:
    return settings.cache_folder / "checked"


@functools.cache
def _rules() -> str:
    """Return a digest of the modules with the rules of columns."""
    modules = columns, hourly_speeds, prepared_columns, tables, timetable_columns, timetable_file
    sources = b"".join(Path(str(module.__file__)).read_bytes() for module in modules)
    return hashlib.blake2b(sources, digest_size=16).hexdigest()
