"""
Keep the large arrays of finished values in temporary files, so that preparing a large network needs less memory.

The arrays are mapped: reading one brings its pages back into memory, and the operating system takes the pages for
other things whenever it needs to. The files have no name where the system allows it, so that nothing is left over when
the process ends, however it does. Where a file cannot be written, values stay in memory.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import logging
import mmap
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from traveltime_lab._arrays import AnyArray
from traveltime_lab.runtime.forks import Lock

logger = logging.getLogger(__name__)

#: Smallest array that is moved, in bytes (assumed: no city's arrays have more, but for one or two).
LEAST: Final = 8 << 20
#: Files that are mapped now, and the lock of this set.
_maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
_lock: Final = Lock()


def moved(value: Any) -> Any:
    """
    Return a value with its large arrays in a temporary file.

    Parameters
    ----------
    value : object
        An array, a dataclass, a tuple or a named tuple, of any depth. Other objects stay as they are, and so do parts
        without a large array, and parts that own values themselves (with a memo), which were moved before.
    """
    arrays = {id(array): array for array in _arrays_in(value) if array.nbytes >= LEAST and not _is_mapped(array)}
    if not arrays:
        return value
    try:
        mapped = _written(list(arrays.values()))
    except OSError as error:
        logger.info("kept in memory bytes=%d reason=%r", sum(array.nbytes for array in arrays.values()), str(error))
        return value
    return _replaced(value, dict(zip(arrays, mapped, strict=True)))


def new_bytes(value: Any) -> int:
    """Return the bytes of the arrays of a value that are not on disk."""
    distinct = {id(array): array for array in _arrays_in(value)}
    return sum(array.nbytes for array in distinct.values() if not _is_mapped(array))


def let_go() -> None:
    """Give the pages of mapped arrays back to the operating system, which reads them again when they are needed."""
    if hasattr(mmap, "MADV_DONTNEED"):
        with _lock:
            maps = list(_maps)
        for each in maps:
            each.madvise(mmap.MADV_DONTNEED)


def trim() -> None:
    """Give freed memory back to the operating system, where the library of C keeps it between memory in use (glibc)."""
    found = _malloc_trim()
    if found is not None:
        found(0)


@functools.cache
def _malloc_trim() -> Callable[[int], Any] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def _arrays_in(value: Any) -> Iterator[AnyArray]:
    """Yield the arrays of a value and of its parts."""
    if isinstance(value, np.ndarray):
        yield value
    for part in _parts(value).values():
        if not hasattr(part, "memo"):
            yield from _arrays_in(part)


def _parts(value: Any) -> dict[str, Any]:
    """Return the parts of a dataclass or a tuple, by field or position."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: getattr(value, item.name) for item in dataclasses.fields(value) if item.init}
    return {str(place): part for place, part in enumerate(value)} if isinstance(value, tuple) else {}


def _replaced(value: Any, mapped: dict[int, AnyArray]) -> Any:
    """Return a value with other arrays; parts without any of these are the same objects."""
    if isinstance(value, np.ndarray):
        return mapped.get(id(value), value)
    before = _parts(value)
    after = {name: part if hasattr(part, "memo") else _replaced(part, mapped) for name, part in before.items()}
    if all(after[name] is part for name, part in before.items()):
        return value
    if isinstance(value, tuple):
        return type(value)(*after.values()) if hasattr(value, "_fields") else tuple(after.values())
    return dataclasses.replace(value, **after)


def _is_mapped(array: AnyArray) -> bool:
    """Return whether an array is a view of a mapped file."""
    base: Any = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    return isinstance(base, mmap.mmap)


def _written(arrays: list[AnyArray]) -> list[AnyArray]:
    """Write arrays to a temporary file without a name, and return views of it."""
    begins, size = [], 0
    with tempfile.TemporaryFile(prefix="traveltime_lab_") as file:
        for array in arrays:
            # Aligned to pages, so that pages of one array can be given back without those of the next.
            begins.append(-(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
            file.seek(begins[-1])
            file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
            size = begins[-1] + array.nbytes
        file.flush()
        # Writeable, as other arrays are, which decides on the version of a kernel; nothing is ever written to them.
        whole = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_WRITE)
    with _lock:
        _maps.add(whole)
    return [
        np.frombuffer(whole, array.dtype, array.size, begin).reshape(array.shape)
        for array, begin in zip(arrays, begins, strict=True)
    ]
