"""
Let no signal handler run inside a kernel.

Python runs the handlers of signals in the main thread, between two instructions of Python code. While Numba turns the
results of a kernel into Python objects it calls such code, and does not expect an exception there: Ctrl+C, whose
handler raises KeyboardInterrupt, would end the process with a segmentation fault. Kernels of the main thread are
therefore called through `call`, and signals that arrive meanwhile are handled when the kernel has returned.

To set a handler takes some microseconds, as long as many a kernel. So public functions hold signals as a whole
(`held`), which costs a call of a kernel next to nothing; signals that arrive between two kernels are handled at once.

This module imports no other of the package, because kernels are compiled again when a module that they import changes.

Examples
--------
>>> from traveltime_lab.runtime.signals import call, held
>>> with held():
...     call(abs, -1)
1
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: Signals whose handlers may raise exceptions, where the system has them.
_SIGNALS: Final = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGBREAK")
    if hasattr(signal, name)
)


class _State:
    """State of the main thread, the only one that handles signals."""

    def __init__(self) -> None:
        self.thread = threading.main_thread().ident
        #: Nested `held` blocks, and whether a kernel is running.
        self.depth = 0
        self.is_inside = False
        #: Handlers that were there before, and the signals that arrived in a kernel.
        self.former: dict[int, Any] = {}
        self.arrived: list[int] = []


_state = _State()


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Take over the handlers of signals, so that they do not run inside kernels; nothing in other threads."""
    state = _state
    if threading.get_ident() != state.thread:
        yield
        return
    if state.depth == 0:
        _take_over(state)
    state.depth += 1
    try:
        yield
    finally:
        state.depth -= 1
        if state.depth == 0:
            _give_back(state)
            _handle_arrived(state)


def call(function: Callable[_P, _T], *arguments: _P.args, **keywords: _P.kwargs) -> _T:
    """Call a function; in the main thread, signals that arrive meanwhile are handled afterwards."""
    state = _state
    if threading.get_ident() != state.thread or state.is_inside:
        return function(*arguments, **keywords)
    if state.depth == 0:
        with held():
            return call(function, *arguments, **keywords)
    state.is_inside = True
    try:
        return function(*arguments, **keywords)
    finally:
        state.is_inside = False
        _handle_arrived(state)


def postpone(function: Callable[_P, _T], *arguments: _P.args, **keywords: _P.kwargs) -> _T:
    """
    Call a function in a finalizer, where Python would ignore the exception of a handler.

    Signals that arrive meanwhile are handled after the next kernel, or at the end of the outermost `held` block.
    """
    state = _state
    if threading.get_ident() != state.thread or state.is_inside:
        return function(*arguments, **keywords)
    state.is_inside = True
    try:
        return function(*arguments, **keywords)
    finally:
        state.is_inside = False


def _handle_arrived(state: _State) -> None:
    """Call the handlers of the signals that arrived in a kernel or in a finalizer."""
    while state.arrived:
        _handle(state.arrived.pop(0), None)


def _take_over(state: _State) -> None:
    """Replace the handlers that are functions."""
    for number in _SIGNALS:
        former = signal.getsignal(number)
        if callable(former) and former is not _handle:
            state.former[number] = former
            # In an interpreter beside the main one no handler can be set, and none is called.
            with contextlib.suppress(ValueError):
                signal.signal(number, _handle)


def _give_back(state: _State) -> None:
    """Put back the handlers that have not been replaced meanwhile."""
    for number, former in state.former.items():
        if signal.getsignal(number) is _handle:
            signal.signal(number, former)


def _handle(number: int, frame: FrameType | None) -> None:
    """Call the former handler of a signal, unless a kernel is running."""
    if _state.is_inside:
        _state.arrived.append(number)
    else:
        _state.former[number](number, frame)


def _begin_anew() -> None:
    """Make the thread that was forked the main thread, which it is from then on."""
    _state.thread = threading.get_ident()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
