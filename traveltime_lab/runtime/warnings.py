"""
Warnings of this package: shown by Python, or passed to a function of the caller.

`warnings.catch_warnings` changes the whole process (before Python 3.14), so that each thread would get the warnings of
all. A function that listens here is part of the context of a call, which `traveltime_lab.runtime.threads` hands on to
its threads.

Examples
--------
>>> from traveltime_lab.runtime.warnings import warn, warnings_to
>>> heard = []
>>> with warnings_to(heard.append):
...     warn("the timetable has no trips on that day")
>>> heard
['the timetable has no trips on that day']
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

Listener = Callable[[str], object]

#: Listeners, the innermost last, each with the category of its warnings.
_listeners: ContextVar[tuple[tuple[type[Warning], Listener], ...]] = ContextVar("listeners", default=())


@contextlib.contextmanager
def warnings_to(listener: Listener, category: type[Warning] = Warning) -> Iterator[None]:
    """
    Pass the texts of warnings of this package to a function instead of warning, within a ``with`` block.

    Parameters
    ----------
    listener : callable
        Called with the text of each warning, in the thread that warns.
    category : type, default Warning
        Warnings of other categories go where they went before.
    """
    token = _listeners.set((*_listeners.get(), (category, listener)))
    try:
        yield
    finally:
        _listeners.reset(token)


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Pass a text to the innermost listener, or else to `warnings.warn` for the line that called the package."""
    for kind, listener in reversed(_listeners.get()):
        if issubclass(category, kind):
            listener(text)
            return
    warnings.warn(text, category, stacklevel=_callers_level())


def _callers_level() -> int:
    """Return the level of the stack, seen from the function that calls this one, at which the package was called."""
    # Context managers of the package are left through contextlib.
    ours, level = (str(Path(__file__).parents[1]), contextlib.__file__), 1
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(ours):
        frame, level = frame.f_back, level + 1
    return level
