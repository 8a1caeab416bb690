"""
Stopping work that nobody waits for any more: long searches pass checkpoints between their parts.

Examples
--------
>>> from traveltime_lab._interrupts import checkpoint, interruptible
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
    Let searches in a ``with`` block end early.

    Parameters
    ----------
    is_unwanted : callable
        Asked at every checkpoint, often and from the searching thread; True ends the search.
    """
    token = _is_unwanted.set(is_unwanted)
    try:
        yield
    finally:
        _is_unwanted.reset(token)


def checkpoint() -> None:
    """
    Go on, unless nobody waits for the answer.

    Raises
    ------
    InterruptedSearchError
        If the innermost `interruptible` says so.
    """
    is_unwanted = _is_unwanted.get()
    if is_unwanted is not None and is_unwanted():
        raise InterruptedSearchError("nobody waits for this search any more")
