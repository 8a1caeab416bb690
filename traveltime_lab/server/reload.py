"""
Reloading networks whose files have changed, while the service answers with the former ones.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from traveltime_lab.network.network import Network
from traveltime_lab.scenarios.file import load_changes
from traveltime_lab.server.atlas import Atlas

if TYPE_CHECKING:
    from traveltime_lab.server.serving import Serving  # needs an optional extra

logger = logging.getLogger(__name__)

#: Time, size and number of each file; None for a file that is not there.
Stamp: TypeAlias = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True)
class Source:
    """
    Where a network comes from.

    Parameters
    ----------
    files : tuple of Path
        Files that it is built from; a source without files never changes.
    load : callable
        Returns the network.
    """

    files: tuple[Path, ...]
    load: Callable[[], Network]

    def changed_by(self, file: Path) -> Source:
        """Return the source of the network with the changes of a JSON file."""
        return Source((*self.files, file), lambda: self.load().with_changes(load_changes(file)))

    def stamp(self) -> Stamp:
        """Return what changes if a file does."""
        return tuple(_stamp(path) for path in self.files)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Reloader:
    """
    Reloads networks in a thread: after a signal, or when it sees that a file has changed.

    Parameters
    ----------
    serving : Serving
    sources : mapping of str to Source
        By the names of the maps, which `serving` has already.
    stamps : mapping of str to Stamp
        Those of the files before they were loaded.
    watch_s : float, optional
        Seconds between two looks at the files; by default there are none, and only `wake` reloads.
    hangups : Hangups, optional
        From `hangups`, if SIGHUP is handled already.
    """

    def __init__(
        self,
        serving: Serving,
        sources: Mapping[str, Source],
        stamps: Mapping[str, Stamp],
        watch_s: float | None = None,
        hangups: Hangups | None = None,
    ) -> None:
        self._serving = serving
        self._sources = sources
        self._stamps = dict(stamps)
        self._watch_s = watch_s
        self._hangups = hangups
        #: Stamps of the last look, and of files that could not be loaded.
        self._seen = dict(stamps)
        self._failed: dict[str, Stamp] = {}
        self._wake, self._is_over = threading.Event(), threading.Event()

    def wake(self) -> None:
        """Reload what has changed; returns at once."""
        self._wake.set()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Run the thread for the length of a ``with`` block; SIGHUP wakes it."""
        thread = threading.Thread(target=self._run, name="traveltime_lab.server.reload", daemon=True)
        thread.start()
        try:
            with hangups() if self._hangups is None else contextlib.nullcontext(self._hangups) as signals:
                signals.call(self.wake)
                yield
        finally:
            self._is_over.set()
            self._wake.set()

    def _run(self) -> None:
        while True:
            is_signalled = self._wake.wait(self._watch_s)
            self._wake.clear()
            if self._is_over.is_set():
                return
            try:
                if is_signalled:
                    logger.info("reload requested")
                    self._failed.clear()
                    self.reload(self._changed())
                else:
                    self.look()
            except Exception:
                logger.exception("networks cannot be reloaded")

    def look(self) -> None:
        """Reload what has changed and is complete: files that are as they were at the last look."""
        changed = self._changed()
        still = [name for name in changed if changed[name] == self._seen.get(name)]
        self._seen |= changed
        # One of several files may not be there yet.
        self.reload({name: changed[name] for name in still if None not in changed[name]})

    def _changed(self) -> dict[str, Stamp]:
        """Return the current stamps of sources that have changed since they were loaded, or could not be."""
        now = {name: source.stamp() for name, source in self._sources.items()}
        return {name: now[name] for name in now if now[name] not in (self._stamps[name], self._failed.get(name))}

    def reload(self, changed: Mapping[str, Stamp]) -> bool:
        """
        Load the changed sources, and exchange the networks for them.

        The former network stays where a source cannot be loaded.

        Parameters
        ----------
        changed : mapping of str to Stamp
            By name.

        Returns
        -------
        bool
            Whether networks were exchanged.
        """
        loaded = {}
        for name in changed:
            try:
                loaded[name] = self._sources[name].load()
            except Exception as error:
                # Whatever is wrong with the files, the service keeps the network that it has.
                self._keep({name: changed[name]}, error)
        if not loaded:
            return False
        stamps = {name: changed[name] for name in loaded}
        try:
            former = {item.name: item.network for item in self._serving.planned.maps}
            self._serving.exchange(Atlas(former | loaded))
        except Exception as error:
            self._keep(stamps, error)
            return False
        self._stamps |= stamps
        return True

    def _keep(self, stamps: Mapping[str, Stamp], error: Exception) -> None:
        """Log and count an error; its sources are loaded again once they have changed."""
        logger.error("map=%s cannot be reloaded, the former network stays: %s", ",".join(stamps), error)
        logger.debug("reload failed", exc_info=error)
        self._failed |= stamps
        self._serving.metrics.reloaded(is_ok=False)


class Hangups:
    """
    Handles SIGHUP by calling a function, also for a signal that arrived before there was one.

    The same signal says that the terminal of the process has gone; then the process ends, unless it was started to
    ignore that, as by nohup.
    """

    def __init__(self, *, has_terminal: bool) -> None:
        self._has_terminal = has_terminal
        self._call: Callable[[], None] | None = None
        self._is_late = False

    def call(self, function: Callable[[], None]) -> None:
        """Call a function at each signal from now on, and at once if there was one already."""
        self._call = function
        if self._is_late:
            function()

    def handle(self, _number: int, _frame: Any) -> None:
        """Handle the signal."""
        if self._has_terminal and not _has_terminal():
            os.kill(os.getpid(), signal.SIGTERM)
        elif self._call is None:
            self._is_late = True
        else:
            self._call()


@contextlib.contextmanager
def hangups() -> Iterator[Hangups]:
    """Handle SIGHUP within a ``with`` block in the main thread; nothing in others."""
    if not hasattr(signal, "SIGHUP") or threading.current_thread() is not threading.main_thread():
        yield Hangups(has_terminal=False)
        return
    former = signal.getsignal(signal.SIGHUP)
    found = Hangups(has_terminal=former is not signal.SIG_IGN and _has_terminal())
    signal.signal(signal.SIGHUP, found.handle)
    try:
        yield found
    finally:
        signal.signal(signal.SIGHUP, former)


def _has_terminal() -> bool:
    """Return whether the process has a terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | getattr(os, "O_NOCTTY", 0)))
    except OSError:
        return False
    return True
