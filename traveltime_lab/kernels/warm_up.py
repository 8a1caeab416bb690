"""
Compile kernels in advance in a second process, from a list of the signatures in use.

Numba compiles one function at a time in a process, so that a first `traveltime-lab demo` uses one core only. The list
``signatures.txt`` contains the signatures that the searches of this package use, in the order of their first use.
`start_helper` starts another process that compiles those that take longest, and then the others from the end of the
list, while this process compiles them as they are called, from its beginning; they share the cache on disk, see
`traveltime_lab.kernels.cache`. Each announces what it begins, so that no kernel is compiled twice. Signatures that are
not in the list are compiled when they are called, and those that do not match their kernel any more are skipped, so the
list never changes results. A test compares it with the signatures that are compiled; ``python tests/kernels/record.py``
writes it.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path
from typing import Any

from numba import types

from traveltime_lab.kernels.cache import file_name, is_kept, others
from traveltime_lab.settings import settings

logger = logging.getLogger(__name__)

_LIST = Path(__file__).with_name("signatures.txt")
_ROOT = "traveltime_lab.kernels."
#: A named tuple in a line, with its module.
_NAMED = re.compile(r"([a-z_][\w.]*)\.[A-Z]\w*\(")
#: Modules whose kernels take longest. Those of ``street`` share most of their parts, which each process compiles for
#: itself, so one process compiles all of them.
_LONGEST = (
    "street.nearest.", "street.ties.", "street.nearest_raster.", "street.raster_barriers.", "raster.contours.",
)  # fmt: skip
#: How long a process waits for a kernel that the other one compiles; the longest take some four seconds.
_PATIENCE_S = 30.0
#: Least number of missing kernels for which starting another process saves time.
_FEW = 4


def as_text(kind: Any) -> str:
    """Return a Numba type as an expression that `resolve` can evaluate."""
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
    """Return the line of the list for a kernel, such as ``street.reduction.fill``, with the types of its arguments."""
    return f"{name}({', '.join(map(as_text, arguments))})"


def listed(sections: Iterable[str] = ()) -> Iterator[str]:
    """Yield the lines of some sections of the list, by default of all."""
    chosen, section = set(sections), ""
    for text in _LIST.read_text(encoding="utf-8").splitlines():
        if text.startswith("["):
            section = text.strip("[]")
        elif text and not text.startswith("#") and (not chosen or section in chosen):
            yield text


class _Names(dict[str, Any]):
    """Names in the expressions of the list: types of Numba, and modules of kernels with their named tuples."""

    def __missing__(self, name: str) -> Any:
        return getattr(types, name) if hasattr(types, name) else importlib.import_module(_ROOT + name)


def resolve(text: str) -> tuple[Any, tuple[Any, ...]]:
    """
    Return the kernel of a line of the list, and the types of its arguments.

    Raises
    ------
    Exception
        Any exception, if there is no such kernel or type.
    """
    path, _, arguments = text.partition("(")
    module, _, name = path.rpartition(".")
    dispatcher = getattr(importlib.import_module(_ROOT + module), name)
    for other in _NAMED.findall(arguments):
        importlib.import_module(_ROOT + other)
    names = _Names(readonly=lambda kind: kind.copy(readonly=True), omitted=types.Omitted, bool=types.boolean)
    found = eval(f"[{arguments[:-1]}]", {"__builtins__": {}}, names)
    return dispatcher, tuple(map(_as_type, found))


def _as_type(found: Any) -> Any:
    """Return the type of an evaluated expression; a tuple, named or not, stands for the type of such a tuple."""
    if isinstance(found, tuple):
        named = type(found) if hasattr(found, "_fields") else None
        make: Any = types.BaseTuple.from_types
        return make(tuple(map(_as_type, found)), named)
    return found


def for_helper(lines: Iterable[str]) -> list[str]:
    """Return lines in the order in which another process compiles them: the longest ones, then from the end."""
    lines = list(lines)
    first = [text for text in lines if text.startswith(_LONGEST)]
    return [*first, *(text for text in reversed(lines) if not text.startswith(_LONGEST))]


def compile_listed(lines: Iterable[str]) -> None:
    """Compile the kernels of some lines of the list, unless they are in the cache."""
    for text in lines:
        try:
            dispatcher, arguments = resolve(text)
            dispatcher.compile(arguments)
        except Exception as error:  # an outdated line; its kernel is compiled when it is called
            logger.warning("signature=%s is out of date: %s: %s", text, type(error).__name__, error)


def n_missing(sections: Iterable[str] = ()) -> int:
    """Return the number of kernels of some sections that are not in the cache, 0 if they cannot be cached."""
    n = 0
    for text in listed(sections):
        with contextlib.suppress(Exception):
            n += is_kept(*resolve(text)) is False
    return n


def start_helper(sections: Iterable[str] = ()) -> int:
    """
    Compile the kernels of some sections of the list in another process, if several of them are missing.

    The process ends when it is done, or together with this one. No process is started on a single core, in a frozen
    application, or if compiled kernels cannot be cached.

    Parameters
    ----------
    sections : iterable of str
        Sections in the order in which they are needed. Default: all.

    Returns
    -------
    int
        Number of missing kernels.
    """
    sections = tuple(sections)
    missing = n_missing(sections)
    if missing < _FEW or settings.threads < 2 or not sys.executable or getattr(sys, "frozen", False):
        return missing
    path = os.pathsep.join([str(_LIST.parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, *sections],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,  # which closes when this process ends, in whatever way
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        logger.warning("no process to compile in: %s", error)
    else:
        helper = _Helper(process)
        others.append(helper.has_written)
        atexit.register(helper.stop)
        # Until it is waited for, a process that has ended is in the table of processes, however long this one runs.
        threading.Thread(target=helper.listen, daemon=True, name="traveltime_lab helper").start()
    return missing


class _Helper:
    """
    Another process that compiles kernels, seen from this one.

    Each announces the kernels that it begins to compile, so that no kernel is compiled twice.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process, self._stdin, self._stdout = process, process.stdin, process.stdout
        self._changed = threading.Condition()
        self._now = ""

    def has_written(self, name: str) -> bool:
        """Announce a kernel by its file; wait while the process compiles it, and return whether it has ended that."""
        with contextlib.suppress(OSError, ValueError):  # it has ended
            self._stdin.write(name.encode() + b"\n")
            self._stdin.flush()
        with self._changed:
            return self._now == name and self._changed.wait_for(lambda: self._now != name, _PATIENCE_S)

    def listen(self) -> None:
        """Follow what the process compiles until it has ended, and release its resources."""
        for line in self._stdout:
            self._set(line.decode().strip())
        self._set("")
        self._stdout.close()
        self._wait()
        with contextlib.suppress(ValueError):
            others.remove(self.has_written)

    def _set(self, name: str) -> None:
        with self._changed:
            self._now = name
            self._changed.notify_all()

    def stop(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            self._process.terminate()
        self._wait()

    def _wait(self) -> None:
        self._process.wait()
        # One thread at a time: `listen` and `stop` may end together. The error is about what the process has not read.
        with self._changed, contextlib.suppress(OSError):
            self._stdin.close()


if hasattr(os, "register_at_fork"):  # a fork has no thread that listens
    os.register_at_fork(after_in_child=others.clear)


def _listen_to_parent(needed: set[str]) -> None:
    """Collect the names that the process announces that has started this one, and end together with it."""
    for line in sys.stdin.buffer:
        needed.add(line.decode().strip())
    os._exit(0)


def _announce(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()


def _help(sections: Iterable[str], needed: Container[str], announce: Callable[[str], Any]) -> None:
    """Compile the kernels that another process does not compile; announce the file of each, and an empty line."""
    for text in for_helper(listed(sections)):
        with contextlib.suppress(Exception):
            dispatcher, arguments = resolve(text)
            name = file_name(dispatcher, arguments)
            if name not in needed:
                announce(f"{name}\n")
                dispatcher.compile(arguments)
                announce("\n")


if __name__ == "__main__":
    needed_by_parent: set[str] = set()
    threading.Thread(target=_listen_to_parent, args=[needed_by_parent], daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        _help(sys.argv[1:], needed_by_parent, _announce)
