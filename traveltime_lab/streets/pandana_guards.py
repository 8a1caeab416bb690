"""
Keep pandana's C++ code within bounds: its threads, and its output.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator
from typing import Any

from traveltime_lab.runtime.forks import after_fork

#: Handle of threadpoolctl for the OpenMP library, kept because finding it takes milliseconds.
_controller: Any = None
#: Whether this process was forked. GNU's OpenMP waits for ever for threads that its parent had, unless it needs none.
_is_forked = False


def _note_fork() -> None:
    global _is_forked
    _is_forked = True


after_fork(_note_fork)


@contextlib.contextmanager
def pandana_threads(count: int) -> Iterator[None]:
    """Set the number of threads of pandana, regardless of what others have set; a forked process has one."""
    # scikit-learn, which pandana imports, depends on it.
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415

    global _controller
    if _controller is None:
        _controller = ThreadpoolController().select(user_api="openmp")
    with _controller.limit(limits=1 if _is_forked else count):
        yield


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Discard what C++ code prints. This affects the whole process, so the context should be short."""
    if sys.stdout is not None:
        sys.stdout.flush()
    _flush_c()
    try:
        kept = os.dup(1)
    except OSError:
        # There is no standard output.
        yield
        return
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
        try:
            yield
        finally:
            _flush_c()
            os.dup2(kept, 1)
    finally:
        os.close(kept)


def _flush_c() -> None:
    """Flush the output buffers of C, so that earlier output is not discarded."""
    ctypes.CDLL("ucrtbase" if os.name == "nt" else None).fflush(None)
