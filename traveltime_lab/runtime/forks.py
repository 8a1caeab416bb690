"""
Locks that a forked process can use.

A fork copies the memory of a process and only one of its threads. A lock that another thread held stays locked in the
copy for ever, unless it is replaced there, as the `Lock` of this module is. Data that it guards must be usable after
each statement under the lock, because that thread may have been anywhere.

Pools of threads are recreated in a forked process, see `traveltime_lab.runtime.threads`. Forks wait while a kernel is
being compiled, see `traveltime_lab.kernels.compiled`.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Final, TypeVar

from traveltime_lab.runtime.interrupts import checkpoint

_T = TypeVar("_T")

#: Seconds between two checks that the holder of a lock, for which a thread waits, still exists.
_PATIENCE_S: Final = 0.05


class Lock:
    """A lock for ``with`` blocks that is free in a forked process: no thread waits for a holder that is gone."""

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _locks.add(self)

    def __enter__(self) -> None:
        """Wait for the lock; `InterruptedSearchError` if the search was cancelled meanwhile."""
        if self._lock.acquire(blocking=False):
            return
        while not self._lock.acquire(timeout=_PATIENCE_S):
            checkpoint()

    def __exit__(self, *_error: object) -> None:
        """Release the lock."""
        self._lock.release()

    def free(self) -> None:
        """Make the lock free in a process that has one thread only."""
        self._lock = threading.Lock()


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


def _free_all() -> None:
    for lock in list(_locks):
        lock.free()


class cached_property(functools.cached_property[_T]):  # noqa: N801 - named like the one that it replaces
    """
    A property that is computed once.

    Until Python 3.12, that of the standard library holds a lock while it computes. This one holds none, so
    concurrent threads may compute the same value twice.
    """

    def __init__(self, function: Callable[[Any], _T]) -> None:
        super().__init__(function)
        self.lock = contextlib.nullcontext()


def after_fork(in_child: Callable[[], None]) -> None:
    """Have a function called in each forked process, where there are such."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=in_child)


after_fork(_free_all)
