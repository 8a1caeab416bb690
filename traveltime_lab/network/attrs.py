"""
Values for the ``attrs`` of tables that cost nothing until they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

_D = TypeVar("_D", bound="LateDict")


class LateDict(dict[str, Any]):
    """
    A dict of values of JSON that is filled when it is first read.

    It is read-only. Shallow and deep copies of it are the same object: pandas copies ``attrs`` deeply in every
    operation.
    """

    _fill: Callable[[], dict[str, Any]] | None = None

    @classmethod
    def of(cls: type[_D], kind: str, fill: Callable[[], dict[str, Any]]) -> _D:
        """Return a dict that `fill` fills later; `kind` is its entry ``format``."""
        made = cls(format=kind)  # an empty dict would be written as such without being read
        made._fill = fill
        return made

    def _filled(self: _D) -> _D:
        fill = self._fill
        if fill is not None:
            super().update(fill())
            self._fill = None
        return self

    def __getitem__(self, name: str) -> Any:
        """Return an entry."""
        return dict.__getitem__(self._filled(), name)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of entries."""
        return dict.__iter__(self._filled())

    def __len__(self) -> int:
        """Return the number of entries."""
        return dict.__len__(self._filled())

    def __contains__(self, name: object) -> bool:
        """Return whether there is an entry."""
        return dict.__contains__(self._filled(), name)

    def __eq__(self, other: object) -> bool:
        """Return whether two dicts have the same content."""
        if self is other:
            return True
        if isinstance(other, LateDict):
            other._filled()
        return dict.__eq__(self._filled(), other)

    __hash__ = None

    def __repr__(self) -> str:
        """Return the kind; the entries may be many."""
        return f"<{dict.__getitem__(self, 'format')}>"

    def __copy__(self: _D) -> _D:
        """Return the dict itself."""
        return self

    def __deepcopy__(self: _D, memo: Any) -> _D:
        """Return the dict itself."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the filled dict, for pickles."""
        return type(self), (dict(self.items()),)

    def get(self, name: str, default: Any = None) -> Any:
        """Return an entry, or the default."""
        return dict.get(self._filled(), name, default)

    def keys(self) -> Any:
        """Return the names of entries."""
        return dict.keys(self._filled())

    def values(self) -> Any:
        """Return the entries."""
        return dict.values(self._filled())

    def items(self) -> Any:
        """Return names and entries; the json module reads these."""
        return dict.items(self._filled())
