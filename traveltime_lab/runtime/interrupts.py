"""
Cooperative cancellation: long searches call `checkpoint` between their parts.

Examples
--------
>>> from traveltime_lab.runtime.interrupts import (
...     checkpoint,
...     interruptible,
... )
>>> with interruptible(lambda: False):
...     checkpoint()
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from traveltime_lab.errors import InterruptedSearchError

_is_cancelled: ContextVar[Callable[[], bool] | None] = ContextVar("is_cancelled", default=None)


@contextlib.contextmanager
def interruptible(is_cancelled: Callable[[], bool]) -> Iterator[None]:
    """
    Make searches in a ``with`` block cancellable.

    Parameters
    ----------
    is_cancelled : callable
        Called without arguments at every checkpoint, in the thread of the search; cancels the search if it returns
        True. It is called often, so it should be cheap.
    """
    token = _is_cancelled.set(is_cancelled)
    try:
        yield
    finally:
        _is_cancelled.reset(token)


def checkpoint() -> None:
    """
    Raise an error if the search has been cancelled.

    Raises
    ------
    InterruptedSearchError
        If the callable of the innermost `interruptible` returns True.
    """
    is_cancelled = _is_cancelled.get()
    if is_cancelled is not None and is_cancelled():
        raise InterruptedSearchError("the search was cancelled: its result is no longer needed")


@contextlib.contextmanager
def finishing() -> Iterator[None]:
    """Let searches in a ``with`` block run to their end, for results that later searches need, too."""
    token = _is_cancelled.set(None)
    try:
        yield
    finally:
        _is_cancelled.reset(token)
