"""
The few options of the machine: where to cache and how many threads to use. Nothing here changes an answer.

Examples
--------
>>> from traveltime_lab.settings import settings
>>> with settings.override(threads=1):
...     settings.threads
1
"""

from __future__ import annotations

import contextlib
import operator
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import platformdirs

from traveltime_lab.errors import LimitError

#: Environment variable that moves the default cache folder.
CACHE_VARIABLE = "TRAVELTIME_LAB_CACHE"


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Settings:
    """
    Options of this process: set them as attributes, or for a while with `override`.

    Attributes
    ----------
    cache_folder : Path
        Where built sample networks are kept. By default the user's cache folder, or ``TRAVELTIME_LAB_CACHE``.
        Created when first written to.
    threads : int
        Threads of a search, 1 or more. By default the cores this process may use.
    """

    __slots__ = ("_cache_folder", "_threads")

    def __init__(self) -> None:
        self._cache_folder = Path(
            os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_dir("traveltime_lab", appauthor=False)
        ).expanduser()
        self._threads = _usable_cores()

    @property
    def cache_folder(self) -> Path:
        """Where built sample networks are kept."""
        return self._cache_folder

    @cache_folder.setter
    def cache_folder(self, value: str | os.PathLike[str]) -> None:
        self._cache_folder = Path(value).expanduser()

    @property
    def threads(self) -> int:
        """Threads of a search."""
        return self._threads

    @threads.setter
    def threads(self, value: int) -> None:
        try:
            count = 0 if isinstance(value, bool) else operator.index(value)
        except TypeError:
            count = 0
        if count < 1:
            raise LimitError(f"threads must be a whole number of 1 or more; got {value!r}.")
        self._threads = count

    def __repr__(self) -> str:
        return f"Settings(cache_folder={str(self._cache_folder)!r}, threads={self._threads})"

    @contextlib.contextmanager
    def override(self, **values: Any) -> Iterator[Settings]:
        """Set options until the end of a ``with`` block; an invalid one leaves all as they were."""
        unknown = sorted(set(values) - {"cache_folder", "threads"})
        if unknown:
            raise AttributeError(f"Unknown option {unknown[0]!r}; known: 'cache_folder', 'threads'.")
        before = self._cache_folder, self._threads
        try:
            for name, value in values.items():
                setattr(self, name, value)
            yield self
        finally:
            self._cache_folder, self._threads = before


settings = Settings()
