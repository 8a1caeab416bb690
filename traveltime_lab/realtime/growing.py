"""
Longer copies of large arrays that share the memory of what they have in common.

The array is written once to a file in memory (a temporary file where the system has none). A longer copy is a private
map of the file: pages that are not written to are there once for all copies, and only the values at the end take memory
of their own.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from typing import IO, Final

import numpy as np

from traveltime_lab._arrays import AnyArray
from traveltime_lab.runtime.forks import Lock

#: Arrays of fewer bytes are copied (assumed: a map takes a file descriptor and whole pages).
LEAST_BYTES: Final = 1 << 20


class Growing:
    """Arrays by name, and files with their content."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._files: dict[str, IO[bytes]] = {}

    def longer(self, name: str, array: AnyArray, tail: AnyArray) -> AnyArray:
        """
        Return an array with values added at its end.

        Parameters
        ----------
        name : str
            Name of the array; it must have the same content in all calls.
        array, tail : arrays of one dimension and dtype
        """
        if array.nbytes < LEAST_BYTES:
            return np.concatenate([array, tail])
        try:
            found: AnyArray = np.frombuffer(self._mapped(name, array, array.nbytes + tail.nbytes), array.dtype)
        except (OSError, ValueError):  # no space, or no descriptor left
            return np.concatenate([array, tail])
        found[array.size :] = tail
        return found

    def _mapped(self, name: str, array: AnyArray, n_bytes: int) -> mmap.mmap:
        """Return a private map of the file of an array."""
        with self._lock:
            file = self._files.get(name)
            if file is None:
                file = _temporary_file()
                file.write(np.ascontiguousarray(array).data)
                file.flush()
                self._files[name] = file
                weakref.finalize(self, file.close)
            if os.fstat(file.fileno()).st_size < n_bytes:
                file.truncate(n_bytes)
            return mmap.mmap(file.fileno(), n_bytes, access=mmap.ACCESS_COPY)


def _temporary_file() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("timetable"), "w+b")
    return tempfile.TemporaryFile()
