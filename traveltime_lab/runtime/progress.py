"""
Progress of long work: a bar in terminals and notebooks, or the function of a caller.

Every function with an argument ``progress`` has the same protocol: False shows nothing, True a bar of tqdm, and a
function is called as ``progress(done, total)``, in the thread of the caller, with whole numbers of which `done` never
falls and equals `total` in the end.

Searches call `advance` between their parts. It does nothing unless a `watched` block is around them, so that they do
not depend on the display.

Examples
--------
>>> from traveltime_lab.runtime.progress import advance, watched
>>> with watched(
...     lambda done, total: print(done, "of", total),
...     3,
...     "Example",
...     "step",
... ):
...     advance(2)
2 of 3
3 of 3
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

from traveltime_lab._checks import flag
from traveltime_lab.errors import InputError
from traveltime_lab.runtime.forks import Lock
from traveltime_lab.settings import settings

#: Whether to show a bar, or a function that is called as ``progress(done, total)``.
Progress: TypeAlias = bool | Callable[[int, int], Any]

#: Parts of which a search that is watched consists at least, if it can be divided.
PARTS: Final = 100
#: Seconds without compilation after which its bar ends.
_REST_S: Final = 2.0

_advance: ContextVar[Callable[[int], None] | None] = ContextVar("advance", default=None)


def check_progress(progress: Any) -> None:
    """Raise InputError if an argument is neither True, False nor a function."""
    if not callable(progress):
        try:
            flag(progress, "progress")
        except InputError:
            msg = f"progress must be True or False, or a function to call as progress(done, total); got {progress!r}"
            raise InputError(msg) from None


@contextlib.contextmanager
def shown(
    progress: Progress, total: int, what: str, unit: str, *, done: int = 0, is_share: bool = False
) -> Iterator[Callable[[int], None]]:
    """
    Yield a function that is called with the amount of work that has been done since its last call.

    Parameters
    ----------
    progress : bool or callable
        Argument of the user, see `Progress`.
    total : int
        Amount of all work.
    what, unit : str
        Name of the work and of one unit of it, shown with the bar.
    done : int, default 0
        Amount that was done before.
    is_share : bool, default False
        Whether units mean nothing to the user, so that the bar shows the share only.
    """
    if not progress or done >= total:
        yield lambda _amount: None
        return
    if callable(progress):
        function = progress
        with _counted(done, total, lambda reached, _amount: function(reached, total)) as say:
            yield say
        return
    # Imports ipywidgets in notebooks, which takes time that others do not need to spend.
    from tqdm.auto import tqdm  # noqa: PLC0415

    form = {"bar_format": "{l_bar}{bar}| {elapsed}<{remaining}"} if is_share else {}
    with (
        tqdm(
            total=total,
            initial=done,
            desc=what,
            unit=unit,
            unit_scale=total >= 1000,
            smoothing=0.05,
            mininterval=0.2,
            **form,
        ) as bar,
        _counted(done, total, lambda _reached, amount: bar.update(amount)) as say,
    ):
        yield say


@contextlib.contextmanager
def _counted(done: int, total: int, report: Callable[[int, int], Any]) -> Iterator[Callable[[int], None]]:
    """Yield a function that adds up amounts and reports the sum and the amount; the rest is reported at the end."""
    reached = done

    def say(amount: int) -> None:
        nonlocal reached
        amount = min(amount, total - reached)
        if amount > 0:
            reached += amount
            report(reached, amount)

    yield say
    say(total)


@contextlib.contextmanager
def watched(progress: Progress, total: int, what: str, unit: str) -> Iterator[None]:
    """Show the progress of the searches in a ``with`` block, which call `advance`; see `shown`."""
    with shown(progress, total, what, unit) as say:
        token = _advance.set(say if progress else None)
        try:
            yield
        finally:
            _advance.reset(token)


@contextlib.contextmanager
def unwatched() -> Iterator[None]:
    """Report no progress of the searches in a ``with`` block, which are parts of a larger one."""
    token = _advance.set(None)
    try:
        yield
    finally:
        _advance.reset(token)


def advance(amount: int) -> None:
    """Report that an amount of the work of the innermost `watched` block has been done."""
    say = _advance.get()
    if say is not None:
        say(amount)


def is_watched() -> bool:
    """Return whether `advance` does anything, so that work should be divided into more parts."""
    return _advance.get() is not None


# Compilation ---------------------------------------------------------------------------------------------------------


def is_interactive() -> bool:
    """Return whether someone reads the standard error stream: in a terminal or a notebook."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None:
        return True
    return sys.stderr is not None and sys.stderr.isatty()


class CompilationBar:
    """
    Bar that explains interactively why the first searches take long, until no kernel has been compiled for long.

    Called with the name of a kernel when its compilation begins, and with None when it ends; see
    `traveltime_lab.kernels.cache.watchers`.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._bar: Any = None
        self._depth = 0
        self._timer: threading.Timer | None = None

    def __call__(self, name: str | None) -> None:
        """Show that a kernel is being compiled, or that it has been."""
        if not settings.progress or not is_interactive():
            return
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._bar is None:
                from tqdm.auto import tqdm  # noqa: PLC0415 - as above

                self._bar = tqdm(
                    desc="Compiling searches, once per machine", unit=" kernels", miniters=1, mininterval=0.0,
                    bar_format="{desc}: {n_fmt}{unit} [{elapsed}]",
                )  # fmt: skip
            # Kernels that a kernel calls are compiled within it.
            self._depth = max(0, self._depth + (1 if name is not None else -1))
            self._bar.update(0 if name is not None else 1)
            if not self._depth:
                self._timer = threading.Timer(_REST_S, self.close)
                self._timer.daemon = True
                self._timer.start()

    def close(self) -> None:
        """End the bar; the next compilation begins a new one."""
        with self._lock:
            if self._bar is not None:
                self._bar.close()
            self._bar, self._depth = None, 0
