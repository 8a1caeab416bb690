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

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from traveltime_lab._forks import Lock

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
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.entries: dict[Derived[Any, Any], OrderedDict[Hashable, _Entry]] = {}

    def __reduce__(self) -> tuple[type[Memo], tuple[()]]:
        """Pickle as an empty memo."""
        return Memo, ()


class Owner(Protocol):
    """An object that values are derived from."""

    @property
    def memo(self) -> Memo:
        """The cached values."""


class Derived(Generic[K, V]):
    """
    A kind of derived value.

    Parameters
    ----------
    name : str
        Name in the `repr`, for debugging.
    kept : int, default 1
        Number of values kept per owner; the least recently used ones are dropped.
    """

    def __init__(self, name: str, *, kept: int = 1) -> None:
        self.name = name
        self.kept = kept

    def __repr__(self) -> str:
        return f"Derived({self.name!r}, kept={self.kept})"

    def of(self, owner: Owner, key: K, make: Callable[[], V]) -> V:
        """
        Return the value of a key; compute it first if it is not cached.

        If several threads request a value at the same time, one computes it and the others wait, each until its search
        is cancelled.

        Parameters
        ----------
        owner : Owner
        key : hashable
            Everything that the value depends on besides the owner.
        make : callable
            Computes the value; must not request the same key. If it raises, nothing is cached.
        """
        memo = owner.memo
        with memo.lock:
            entries = memo.entries.setdefault(self, OrderedDict())
            entry = entries.setdefault(key, _Entry())
            entries.move_to_end(key)
        with entry.lock:
            if not entry.is_made:
                entry.value = make()
                entry.is_made = True
                with memo.lock:
                    made = [each for each in entries if entries[each].is_made]
                    for each in made[: -self.kept]:
                        del entries[each]
        value: V = entry.value
        return value

    def is_ready(self, owner: Owner, key: K) -> bool:
        """Return whether the value of a key is cached."""
        with owner.memo.lock:
            entry = owner.memo.entries.get(self, OrderedDict()).get(key)
            return entry is not None and entry.is_made
