"""
Values that the searches of one call share: those of a call for many moments.

Outside of a `sharing` block nothing is kept. Inside, a value is kept under a name, what it depends on, and the objects
that it was computed from, until the block ends, a moment passes, or `MOST_BYTES` are kept.

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
import math
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from traveltime_lab.runtime.forks import Lock

#: Bytes of arrays that one call keeps; the least recently used are dropped.
MOST_BYTES: Final = 512 << 20

#: Package whose objects `size_of` looks into.
_HOME: Final = __name__.partition(".")[0]

_T = TypeVar("_T")


def size_of(value: object) -> int:
    """
    Return the bytes of the arrays of a value.

    Those of objects with a memo, such as layers and graphs, are left out, since they belong to the network.
    """
    waiting: list[Any] = [value]
    seen: dict[int, Any] = {}
    total = 0
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        # With the object, so that no other gets its number.
        seen[id(each)] = each
        n_bytes = getattr(each, "nbytes", None)
        if isinstance(n_bytes, int):
            total += n_bytes
        elif isinstance(each, tuple | list | deque):
            waiting += each
        elif isinstance(each, dict):
            waiting += each.values()
        elif type(each).__module__.partition(".")[0] == _HOME and not hasattr(each, "memo"):
            waiting += getattr(each, "__dict__", {}).values()
    return total


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
        self._instants = frozenset(moment.timestamp() for moment in self.moments)
        self.n_points = 1
        self._lock = Lock()
        self._values: OrderedDict[Hashable, tuple[tuple[object, ...], Any, int, float]] = OrderedDict()
        self._bytes = 0

    def has(self, moment: dt.datetime) -> bool:
        """Return whether a moment is searched."""
        return moment.timestamp() in self._instants

    def begin(self, moment: dt.datetime) -> None:
        """Drop the values that no moment from this one on needs."""
        now = moment.timestamp()
        with self._lock:
            for whole in [whole for whole, value in self._values.items() if value[3] < now]:
                self._bytes -= self._values.pop(whole)[2]

    def of(self, key: Hashable, objects: tuple[object, ...], build: Callable[[], _T], *, until: float = math.inf) -> _T:
        """
        Return the value of a key and some objects, which are kept with it so that no other has their number.

        Moments are no keys: those of an hour that comes twice are equal in the same time zone. Their POSIX seconds are.

        Parameters
        ----------
        key : hashable
        objects : tuple
        build : callable
        until : float, optional
            POSIX seconds of the last moment that needs the value; see `begin`.
        """
        whole = (key, *map(id, objects))
        with self._lock:
            if whole in self._values:
                self._values.move_to_end(whole)
                known: _T = self._values[whole][1]
                return known
        value = build()
        n_bytes = size_of(value)
        with self._lock:
            if whole not in self._values:
                self._values[whole] = objects, value, n_bytes, until
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


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Let the searches in a ``with`` block share nothing: those of a call of its own within another call."""
    token = _sharing.set(None)
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
