"""
Kernels compiled before they are needed, by a second process, from a list of the signatures in use.

Numba compiles one function at a time in a process, so a first `traveltime-lab demo` used one core while it waited. The
list ``signatures.txt`` says which signatures the searches of this package ask for, in the order in which they first do.
`start_helper` has another process work through it from its end, while this one comes from the beginning; they meet on
disk, see `traveltime_lab.kernels.compiled`. A signature that is missing from the list is compiled when it is called,
one that no longer fits its kernel is left out: neither changes an answer, and a test compares the list with what is
compiled. ``python tests/kernels/record.py`` writes it.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from numba import types

from traveltime_lab.kernels.compiled import is_kept
from traveltime_lab.settings import settings

logger = logging.getLogger(__name__)

_LIST = Path(__file__).with_name("signatures.txt")
_ROOT = "traveltime_lab.kernels."
#: Fewer missing kernels than this are compiled sooner than another process begins.
_FEW = 4


def as_text(kind: Any) -> str:
    """Return a numba type as an expression that `_as_type` can evaluate."""
    if isinstance(kind, types.Array):
        steps = ["::1" if kind.layout == "C" and i == kind.ndim - 1 else ":" for i in range(kind.ndim)]
        text = f"{kind.dtype}[{', '.join(steps)}]"
        return text if kind.mutable else f"readonly({text})"
    if isinstance(kind, types.BaseTuple):
        members: Any = kind
        parts = ", ".join(map(as_text, members))
        named = getattr(kind, "instance_class", None)
        return f"({parts},)" if named is None else f"{named.__module__.removeprefix(_ROOT)}.{named.__name__}({parts})"
    if isinstance(kind, types.Omitted):
        return f"omitted({kind.value!r})"
    return str(kind)


def line(name: str, arguments: Iterable[Any]) -> str:
    """Return the line of the list for a kernel, such as ``street.reduction.fill``, and the types of its arguments."""
    return f"{name}({', '.join(map(as_text, arguments))})"


def listed(sections: Iterable[str] = ()) -> Iterator[str]:
    """Yield the lines of some sections of the list, of all if none is named."""
    wanted, section = set(sections), ""
    for text in _LIST.read_text(encoding="utf-8").splitlines():
        if text.startswith("["):
            section = text.strip("[]")
        elif text and not text.startswith("#") and (not wanted or section in wanted):
            yield text


class _Names(dict[str, Any]):
    """What an expression of the list may name: types of numba, and modules of kernels with their named tuples."""

    def __missing__(self, name: str) -> Any:
        return getattr(types, name) if hasattr(types, name) else importlib.import_module(_ROOT + name)


def resolve(text: str) -> tuple[Any, tuple[Any, ...]]:
    """
    Return the kernel and the types of its arguments that a line of the list means.

    Raises
    ------
    Exception
        Of any kind, if there is no such kernel or type.
    """
    path, _, arguments = text.partition("(")
    module, _, name = path.rpartition(".")
    dispatcher = getattr(importlib.import_module(_ROOT + module), name)
    names = _Names(readonly=lambda kind: kind.copy(readonly=True), omitted=types.Omitted, bool=types.boolean)
    found = eval(f"[{arguments[:-1]}]", {"__builtins__": {}}, names)
    return dispatcher, tuple(map(_as_type, found))


def _as_type(found: Any) -> Any:
    """Return the type that an evaluated expression means: tuples, named or not, stand for the type of a tuple."""
    if isinstance(found, tuple):
        named = type(found) if hasattr(found, "_fields") else None
        make: Any = types.BaseTuple.from_types
        return make(tuple(map(_as_type, found)), named)
    return found


def compile_listed(sections: Iterable[str] = (), *, from_the_end: bool = False) -> None:
    """Compile, or find on disk, the kernels of some sections of the list."""
    lines = list(listed(sections))
    for text in reversed(lines) if from_the_end else lines:
        try:
            dispatcher, arguments = resolve(text)
            dispatcher.compile(arguments)
        except Exception as error:  # an old line; what is called instead is compiled then
            logger.warning("signature=%s is out of date: %s: %s", text, type(error).__name__, error)


def n_missing(sections: Iterable[str] = ()) -> int:
    """Return how many kernels of some sections of the list are not on disk, 0 if nothing can be kept there."""
    n = 0
    for text in listed(sections):
        with contextlib.suppress(Exception):
            n += is_kept(*resolve(text)) is False
    return n


def start_helper(sections: Iterable[str] = ()) -> int:
    """
    Compile the kernels of some sections of the list in another process if several are missing.

    The process ends when it is done, or with this one. None is started on one core, from a frozen application, or
    where compiled kernels cannot be kept.

    Parameters
    ----------
    sections : iterable of str
        In the order of need; by default all.

    Returns
    -------
    int
        How many kernels were missing.
    """
    sections = tuple(sections)
    missing = n_missing(sections)
    if missing < _FEW or settings.threads < 2 or not sys.executable or getattr(sys, "frozen", False):
        return missing
    path = os.pathsep.join([str(_LIST.parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        helper = subprocess.Popen(
            [sys.executable, "-m", __name__, *sections],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        logger.warning("no process to compile in: %s", error)
    else:
        atexit.register(_stop, helper)
    return missing


def _stop(helper: subprocess.Popen[bytes]) -> None:
    if helper.poll() is None:
        helper.terminate()
    helper.wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        compile_listed(sys.argv[1:], from_the_end=True)
