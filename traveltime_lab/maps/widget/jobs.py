"""
Background jobs of which only the latest matters.

While a marker is dragged, searches are submitted faster than they complete. One job runs and one waits; a new job
replaces the waiting one.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

#: A job that has run longer than this is cancelled when a new one is submitted; a shorter one may complete.
PATIENCE_S = 0.25


class Cancelled(Exception):  # noqa: N818 - not an error, but a request of the user
    """The job was cancelled."""


class Job:
    """
    A job with its progress, which can be cancelled.

    Attributes
    ----------
    done, total : int
        Number of completed steps, and number of all steps.
    """

    def __init__(self) -> None:
        self.started = time.perf_counter()
        self.done, self.total = 0, 1
        self._stop = threading.Event()

    def cancel(self) -> None:
        """Request that the job stops at its next step."""
        self._stop.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether the job shall stop."""
        return self._stop.is_set()

    def step(self, done: int, total: int) -> None:
        """Record the progress; raise Cancelled if the job has been cancelled."""
        self.done, self.total = done, total
        if self._stop.is_set():
            raise Cancelled


Work = Callable[[Job], Any]
Done = Callable[[Any], None]
Failed = Callable[[BaseException], None]


class LatestOnly:
    """
    Run the latest job in a thread and deliver its result on the event loop.

    Without a running event loop, as in scripts and tests, jobs run synchronously.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._running: Job | None = None
        self._waiting: tuple[Work, Done, Failed] | None = None
        # A kernel may handle cells and widget messages in different threads.
        self._lock = threading.RLock()

    @property
    def running(self) -> Job | None:
        """The running job, None if there is none."""
        return self._running

    def submit(self, work: Work, done: Done, failed: Failed, *, at_once: bool = False) -> None:
        """
        Run `work(job)`, then `done(result)` or `failed(error)` on the event loop.

        Parameters
        ----------
        work, done, failed : callable
        at_once : bool, default False
            Whether to run synchronously even if there is an event loop.
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
        """Start a job in the thread."""
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
        """Deliver the result of a job and start the waiting one."""
        with self._lock:
            if self._running is not job:  # discarded in the meantime
                return
            self._running = None
            waiting, self._waiting = self._waiting, None
            if waiting is not None:
                self._start(loop, *waiting)
        if waiting is not None and isinstance(error, Cancelled):
            return
        _settle(done, failed, result, error)

    def cancel(self) -> None:
        """Cancel the running job and discard the waiting one."""
        with self._lock:
            self._waiting = None
            if self._running is not None:
                self._running.cancel()

    def forget(self) -> None:
        """Cancel the running job and discard its result."""
        with self._lock:
            self.cancel()
            self._running = None


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _run(work: Work, job: Job) -> tuple[Any, BaseException | None]:
    """Run a job and return its result and its error, one of which is None."""
    try:
        return work(job), None
    except Exception as error:  # displayed on the map
        return None, error


def _settle(done: Done, failed: Failed, result: Any, error: BaseException | None) -> None:
    if error is None:
        done(result)
    else:
        failed(error)
