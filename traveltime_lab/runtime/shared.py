"""
Values that the searches of one call share: those of a call for many moments.

Outside of a `sharing` block nothing is kept. Inside, a value is kept under a name, what it depends on, and the objects
that it was computed from, until the block ends or `MOST_BYTES` are kept.

Examples
--------
>>> from traveltime_lab.runtime.shared import shared, sharing
>>> def link():
...     print("links")
...     return 1
>>> with sharing((), 2):
...     shared("links", (), link) + shared("links", (), link)
links
2
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from traveltime_lab.runtime.forks import Lock

#: Bytes of arrays that one call keeps; the least recently used are dropped.
MOST_BYTES: Final = 512 << 20

_T = TypeVar("_T")


class Sharing:
    """
    Values of one call, which its searches share.

    Attributes
    ----------
    moments : tuple of datetime
        Moments that are searched, in ascending order.
    n_moments : int
        Number of moments of the call, with those that need no search of their own.
    n_points : int
        Largest number of points of the search side so far.
    """

    def __init__(self, moments: Sequence[dt.datetime], n_moments: int) -> None:
        self.moments, self.n_moments = tuple(moments), n_moments
        self.n_points = 1
        self._lock = Lock()
        self._values: OrderedDict[Hashable, tuple[tuple[object, ...], Any, int]] = OrderedDict()
        self._bytes = 0

    def of(self, key: Hashable, objects: tuple[object, ...], build: Callable[[], _T]) -> _T:
        """Return the value of a key and some objects, which are kept with it so that no other has their number."""
        whole = (key, *map(id, objects))
        with self._lock:
            if whole in self._values:
                self._values.move_to_end(whole)
                known: _T = self._values[whole][1]
                return known
        value = build()
        n_bytes = int(getattr(value, "nbytes", 0))
        with self._lock:
            if whole not in self._values:
                self._values[whole] = objects, value, n_bytes
                self._bytes += n_bytes
            while self._bytes > MOST_BYTES and len(self._values) > 1:
                self._bytes -= self._values.popitem(last=False)[1][2]
            return value


_sharing: ContextVar[Sharing | None] = ContextVar("sharing", default=None)


@contextlib.contextmanager
def sharing(moments: Sequence[dt.datetime], n_moments: int, n_points: int = 1) -> Iterator[None]:
    """Let the searches in a ``with`` block share values; see `Sharing`."""
    here = Sharing(moments, n_moments)
    here.n_points = n_points
    token = _sharing.set(here)
    try:
        yield
    finally:
        _sharing.reset(token)


def shared_by() -> Sharing | None:
    """Return what the searches of this call share; None if it has one moment."""
    return _sharing.get()


def n_moments() -> int:
    """Return the number of moments of this call."""
    here = _sharing.get()
    return 1 if here is None else here.n_moments


def shared(name: str, objects: tuple[object, ...], build: Callable[[], _T], *key: Hashable) -> _T:
    """
    Return a value that the searches of a call share, or a new one if they share nothing.

    Parameters
    ----------
    name : str
    objects : tuple
        Objects from which the value is computed: the same ones, not equal ones, give the same value.
    build : callable
    *key : hashable
        Other values on which it depends.
    """
    here = _sharing.get()
    return build() if here is None else here.of((name, *key), objects, build)
