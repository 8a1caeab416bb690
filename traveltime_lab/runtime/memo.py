"""
Caches of values derived from an immutable owner, such as the search graphs of a network.

A `Derived` describes one kind of cached value: the types of key and value, and how many values are kept per owner. The
values are stored in the `Memo` of their owner and freed with it. Each kind has its own cache, so that one kind cannot
evict the values of another.

Examples
--------
>>> class Street:
...     def __init__(self):
...         self.memo = Memo()
>>> LENGTHS = Derived[str, int]("lengths", kept=2)
>>> street = Street()
>>> LENGTHS.of(street, "feet", lambda: 300)
300
>>> LENGTHS.of(street, "feet", lambda: 0)
300
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from traveltime_lab.runtime.forks import Lock
from traveltime_lab.runtime.interrupts import finishing

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(eq=False)
class _Entry:
    """A cached value, or the lock of the thread that is computing it."""

    lock: Lock = field(default_factory=Lock)
    is_made: bool = False
    value: Any = None


class Memo:
    """
    The cached values of one owner.

    A copy or a pickle of a memo is empty, because its values can be computed again.

    Attributes
    ----------
    entries : dict
        Values that may be dropped, by kind and key.
    pinned : dict
        Values that are never dropped, by kind and key; see `Derived.pin`.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.entries: dict[Derived[Any, Any], OrderedDict[Hashable, _Entry]] = {}
        self.pinned: dict[tuple[Derived[Any, Any], Hashable], Any] = {}

    def share(self, other: Memo, kinds: Iterable[Derived[Any, Any]]) -> None:
        """
        Keep values of some kinds together with another memo, whose owner gives the same ones.

        Values that either owner computes later are there for both. This memo must be new.
        """
        self.lock = other.lock
        with self.lock:
            for kind in kinds:
                self.entries[kind] = other.entries.setdefault(kind, OrderedDict())
                self.pinned |= {key: value for key, value in other.pinned.items() if key[0] is kind}

    def __reduce__(self) -> tuple[type[Memo], tuple[()]]:
        """Pickle as an empty memo."""
        return Memo, ()


class Owner(Protocol):
    """An object that values are derived from."""

    @property
    def memo(self) -> Memo:
        """The cached values."""


class Use(NamedTuple):
    """A cached value that was requested; see `recording`."""

    kind: Derived[Any, Any]
    owner: Owner
    key: Hashable
    value: Any


_uses: ContextVar[list[Use] | None] = ContextVar("uses of cached values", default=None)
_finish: ContextVar[Callable[[str, Any], Any] | None] = ContextVar("last step of computed values", default=None)


@contextlib.contextmanager
def finished_by(step: Callable[[str, Any], Any]) -> Iterator[None]:
    """
    Keep an equal value in place of each that this thread computes in a ``with`` block.

    Parameters
    ----------
    step : callable
        Returns the value to keep, given the name of its kind and the value.
    """
    token = _finish.set(step)
    try:
        yield
    finally:
        _finish.reset(token)


@contextlib.contextmanager
def recording() -> Iterator[list[Use]]:
    """Collect the values that this thread requests in a ``with`` block, without intermediate values of these."""
    uses: list[Use] = []
    token = _uses.set(uses)
    try:
        yield uses
    finally:
        _uses.reset(token)


class Derived(Generic[K, V]):
    """
    A kind of derived value.

    Parameters
    ----------
    name : str
        Name in the `repr`, for debugging.
    kept : int or callable, default 1
        Number of values kept per owner, or a function of the owner that returns it; the least recently used ones are
        dropped.
    """

    def __init__(self, name: str, *, kept: int | Callable[[Any], int] = 1) -> None:
        self.name = name
        self.kept = kept

    def __repr__(self) -> str:
        return f"Derived({self.name!r}, kept={self.kept})"

    def of(self, owner: Owner, key: K, make: Callable[[], V]) -> V:
        """
        Return the value of a key; compute it first if it is not cached.

        If several threads request a value at the same time, one computes it and the others wait, each until its search
        is cancelled. The one that computes is not cancelled: otherwise a client that waits less long than the
        computation takes would begin it again and again.

        Parameters
        ----------
        owner : Owner
        key : hashable
            Everything that the value depends on besides the owner.
        make : callable
            Computes the value; must not request the same key. If it raises, nothing is cached.
        """
        uses = _uses.get()
        if uses is None:
            return self._of(owner, key, make)
        token = _uses.set(None)
        try:
            value = self._of(owner, key, make)
        finally:
            _uses.reset(token)
        uses.append(Use(self, owner, key, value))
        return value

    def _of(self, owner: Owner, key: K, make: Callable[[], V]) -> V:
        memo = owner.memo
        with memo.lock:
            if (self, key) in memo.pinned:
                pinned: V = memo.pinned[self, key]
                return pinned
            entries = memo.entries.setdefault(self, OrderedDict())
            entry = entries.setdefault(key, _Entry())
            entries.move_to_end(key)
        with entry.lock:
            if not entry.is_made:
                with finishing():
                    step = _finish.get()
                    entry.value = make() if step is None else step(self.name, make())
                entry.is_made = True
                kept = self.kept(owner) if callable(self.kept) else self.kept
                with memo.lock:
                    # Another thread may have pinned it meanwhile, and all must have the same object.
                    entry.value = memo.pinned.get((self, key), entry.value)
                    made = [each for each in entries if entries[each].is_made]
                    for each in made[:-kept]:
                        del entries[each]
        value: V = entry.value
        return value

    def is_ready(self, owner: Owner, key: K) -> bool:
        """Return whether the value of a key is cached."""
        with owner.memo.lock:
            if (self, key) in owner.memo.pinned:
                return True
            entry = owner.memo.entries.get(self, OrderedDict()).get(key)
            return entry is not None and entry.is_made

    def get(self, owner: Owner, key: K) -> V | None:
        """Return the value of a key, None if it is not cached."""
        with owner.memo.lock:
            entry = owner.memo.entries.get(self, OrderedDict()).get(key)
            made = entry.value if entry is not None and entry.is_made else None
            found: V | None = owner.memo.pinned.get((self, key), made)
            return found

    def pin(self, owner: Owner, key: K, value: V) -> None:
        """
        Cache a value for as long as its owner exists, whether or not it was computed before.

        Parameters
        ----------
        owner : Owner
        key : hashable
            Everything that the value depends on besides the owner.
        value : object
            The value that `make` would return.
        """
        with owner.memo.lock:
            owner.memo.pinned[self, key] = value
            entry = owner.memo.entries.get(self, OrderedDict()).get(key)
            # Not deleted, because owners that share it have not pinned it.
            if entry is not None and entry.is_made:
                entry.value = value
