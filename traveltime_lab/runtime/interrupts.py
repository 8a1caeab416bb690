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

_is_unwanted: ContextVar[Callable[[], bool] | None] = ContextVar("is_unwanted", default=None)


@contextlib.contextmanager
def interruptible(is_unwanted: Callable[[], bool]) -> Iterator[None]:
    """
    Make searches in a ``with`` block cancellable.

    Parameters
    ----------
    is_unwanted : callable
        Called without arguments at every checkpoint, in the thread of the search; cancels the search if it returns
        True. It is called often, so it should be cheap.
    """
    token = _is_unwanted.set(is_unwanted)
    try:
        yield
    finally:
        _is_unwanted.reset(token)


def checkpoint() -> None:
    """
    Raise an error if the search has been cancelled.

    Raises
    ------
    InterruptedSearchError
        If the callable of the innermost `interruptible` returns True.
    """
    is_unwanted = _is_unwanted.get()
    if is_unwanted is not None and is_unwanted():
        raise InterruptedSearchError("the search was cancelled: its result is no longer needed")


@contextlib.contextmanager
def finishing() -> Iterator[None]:
    """Let searches in a ``with`` block run to their end, for results that later searches need, too."""
    token = _is_unwanted.set(None)
    try:
        yield
    finally:
        _is_unwanted.reset(token)
