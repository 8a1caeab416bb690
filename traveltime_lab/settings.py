"""
Settings of the process: the cache folder, the number of threads, and whether compiling is shown.

No setting changes a result.

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
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import platformdirs

from traveltime_lab._files import as_path
from traveltime_lab.errors import InputError, LimitError

#: Environment variable that moves the default cache folder.
CACHE_VARIABLE = "TRAVELTIME_LAB_CACHE"
#: Environment variable that hides the bar of compilation if it is 0.
PROGRESS_VARIABLE = "TRAVELTIME_LAB_PROGRESS"

_is_alone: ContextVar[bool] = ContextVar("is_alone", default=False)


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Settings:
    """
    Settings of the process.

    Set them as attributes, or temporarily with `override`.

    Attributes
    ----------
    cache_folder : Path
        Folder of cached sample networks, and of marks of networks that have been checked. By default the environment
        variable ``TRAVELTIME_LAB_CACHE``, or the user's cache folder. It is created when the first file is written.
    threads : int
        Number of threads of a search, at least 1. By default the number of cores that this process may use.
    progress : bool
        Whether a terminal or notebook shows that searches are being compiled, which happens once per machine. By
        default True, unless the environment variable ``TRAVELTIME_LAB_PROGRESS`` is 0.
    """

    __slots__ = ("_cache_folder", "_progress", "_threads")

    def __init__(self) -> None:
        self._cache_folder = Path(
            os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_dir("traveltime_lab", appauthor=False)
        ).expanduser()
        self._threads = _usable_cores()
        self._progress = os.environ.get(PROGRESS_VARIABLE, "1") != "0"

    @property
    def cache_folder(self) -> Path:
        """Folder in which sample networks are cached."""
        return self._cache_folder

    @cache_folder.setter
    def cache_folder(self, value: str | os.PathLike[str]) -> None:
        self._cache_folder = as_path(value, "cache_folder").expanduser()

    @property
    def threads(self) -> int:
        """Number of threads of a search."""
        return 1 if _is_alone.get() else self._threads

    @threads.setter
    def threads(self, value: int) -> None:
        try:
            count = 0 if isinstance(value, bool) else operator.index(value)
        except TypeError:
            count = 0
        if count < 1:
            raise LimitError(f"threads must be a whole number of 1 or more; got {value!r}.")
        self._threads = count

    @property
    def progress(self) -> bool:
        """Whether a terminal or notebook shows that searches are being compiled."""
        return self._progress

    @progress.setter
    def progress(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise InputError(f"progress must be True or False; got {value!r}.")
        self._progress = value

    def __repr__(self) -> str:
        return f"Settings(cache_folder={str(self._cache_folder)!r}, threads={self.threads}, progress={self.progress})"

    @contextlib.contextmanager
    def override(self, **values: Any) -> Iterator[Settings]:
        """Set options for a ``with`` block; if a value is invalid, none is changed."""
        unknown = sorted(set(values) - {"cache_folder", "progress", "threads"})
        if unknown:
            raise AttributeError(f"Unknown option {unknown[0]!r}; known: 'cache_folder', 'progress', 'threads'.")
        before = self._cache_folder, self._threads, self._progress
        try:
            for name, value in values.items():
                setattr(self, name, value)
            yield self
        finally:
            self._cache_folder, self._threads, self._progress = before


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Restrict searches of this thread to one thread, whatever the settings of the process."""
    token = _is_alone.set(True)
    try:
        yield
    finally:
        _is_alone.reset(token)


settings = Settings()
