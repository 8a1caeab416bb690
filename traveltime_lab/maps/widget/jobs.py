"""
Work beside the event loop, of which only the latest matters.

While a marker moves, questions come faster than answers. One runs, one waits, and whatever waited before is forgotten.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

#: Work that has taken longer than this is stopped when something newer arrives; shorter work may finish and be seen.
PATIENCE_S = 0.25


class Cancelled(Exception):  # noqa: N818 - not an error: somebody wanted it
    """Work was stopped on purpose."""


class Job:
    """
    One piece of work and the wish to stop it.

    Attributes
    ----------
    done, total : int
        Progress in steps.
    """

    def __init__(self) -> None:
        self.started = time.perf_counter()
        self.done, self.total = 0, 1
        self._stop = threading.Event()

    def cancel(self) -> None:
        """Stop at the next step."""
        self._stop.set()

    def step(self, done: int, total: int) -> None:
        """Note the progress; raise Cancelled if somebody wants the work stopped."""
        self.done, self.total = done, total
        if self._stop.is_set():
            raise Cancelled


Work = Callable[[Job], Any]
Done = Callable[[Any], None]
Failed = Callable[[BaseException], None]


class LatestOnly:
    """
    Run the latest piece of work in a thread and tell the event loop about it.

    Without a running event loop (a script, a test) work runs at once, where it is submitted.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._running: Job | None = None
        self._waiting: tuple[Work, Done, Failed] | None = None
        # Cells and the messages of widgets can be handled in different threads of a kernel.
        self._lock = threading.RLock()

    @property
    def running(self) -> Job | None:
        """The job that runs now."""
        return self._running

    def submit(self, work: Work, done: Done, failed: Failed, *, at_once: bool = False) -> None:
        """
        Run `work(job)`, then `done(result)` or `failed(error)` on the event loop.

        Parameters
        ----------
        work, done, failed : callable
        at_once : bool, default False
            Run here and now even if there is an event loop.
        """
        loop = None if at_once else _running_loop()
        if loop is None:
            self.forget()
            _settle(done, failed, *_run(work, Job()))
            return
        with self._lock:
            if self._running is None:
                self._start(loop, work, done, failed)
                return
            self._waiting = (work, done, failed)
            if time.perf_counter() - self._running.started > PATIENCE_S:
                self._running.cancel()

    def _start(self, loop: asyncio.AbstractEventLoop, work: Work, done: Done, failed: Failed) -> None:
        """Hand work to the thread."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="traveltime-map")
        job = self._running = Job()

        def finished(future: Future[Any]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._finish, loop, job, done, failed, *future.result())

        self._pool.submit(_run, work, job).add_done_callback(finished)

    def _finish(
        self,
        loop: asyncio.AbstractEventLoop,
        job: Job,
        done: Done,
        failed: Failed,
        result: Any,
        error: BaseException | None,
    ) -> None:
        """Tell about a finished job and start what waits."""
        with self._lock:
            if self._running is not job:  # forgotten meanwhile
                return
            self._running = None
            waiting, self._waiting = self._waiting, None
            if waiting is not None:
                self._start(loop, *waiting)
        if waiting is not None and isinstance(error, Cancelled):
            return
        _settle(done, failed, result, error)

    def cancel(self) -> None:
        """Stop the running job and forget what waits."""
        with self._lock:
            self._waiting = None
            if self._running is not None:
                self._running.cancel()

    def forget(self) -> None:
        """Stop the running job and do not tell about it."""
        with self._lock:
            self.cancel()
            self._running = None


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _run(work: Work, job: Job) -> tuple[Any, BaseException | None]:
    """Return the result and the error of a piece of work, one of them None."""
    try:
        return work(job), None
    except Exception as error:  # told beside the map
        return None, error


def _settle(done: Done, failed: Failed, result: Any, error: BaseException | None) -> None:
    if error is None:
        done(result)
    else:
        failed(error)
