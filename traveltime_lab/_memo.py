"""
Values derived from something immutable, made once and kept with it: search graphs of a network, hierarchies of a graph.

A `Derived` names one kind of value, with the types of its key and of the value and how many of them are kept; its
owner, anything with a `Memo`, holds them. Kinds do not compete for room, and values go when their owner goes.

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

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(eq=False)
class _Entry:
    """One value, or the place where a thread is making it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    is_made: bool = False
    value: Any = None


class Memo:
    """
    The derived values of one owner.

    A copy or a pickle of it is empty: what is derived can be made again.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.entries: dict[Derived[Any, Any], OrderedDict[Hashable, _Entry]] = {}

    def __reduce__(self) -> tuple[type[Memo], tuple[()]]:
        """Pickle as an empty memo."""
        return Memo, ()


class Owner(Protocol):
    """Whatever values are derived from."""

    @property
    def memo(self) -> Memo:
        """Where the values are kept."""


class Derived(Generic[K, V]):
    """
    One kind of derived value.

    Parameters
    ----------
    name : str
        For people who look into a memo.
    kept : int, default 1
        Values of this kind kept with one owner; the least recently used are dropped.
    """

    def __init__(self, name: str, *, kept: int = 1) -> None:
        self.name = name
        self.kept = kept

    def __repr__(self) -> str:
        return f"Derived({self.name!r}, kept={self.kept})"

    def of(self, owner: Owner, key: K, make: Callable[[], V]) -> V:
        """
        Return the value of a key, made at most once even if threads ask for it at the same time.

        Parameters
        ----------
        owner : Owner
        key : hashable
            Everything that the value depends on besides the owner.
        make : callable
            Makes the value; must not ask for the same key. If it raises, nothing is kept.
        """
        memo = owner.memo
        with memo.lock:
            entries = memo.entries.setdefault(self, OrderedDict())
            entry = entries.setdefault(key, _Entry())
            entries.move_to_end(key)
            if entry.is_made:
                return entry.value  # type: ignore[no-any-return]
        with entry.lock:
            if not entry.is_made:
                entry.value = make()
                entry.is_made = True
                with memo.lock:
                    made = [each for each in entries if entries[each].is_made]
                    for each in made[: -self.kept]:
                        del entries[each]
        return entry.value  # type: ignore[no-any-return]

    def is_ready(self, owner: Owner, key: K) -> bool:
        """Return whether the value of a key is there already."""
        with owner.memo.lock:
            entry = owner.memo.entries.get(self, OrderedDict()).get(key)
            return entry is not None and entry.is_made
