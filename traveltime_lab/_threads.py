"""
Parallel work in threads with bounded memory.

`side_by_side` reuses its threads, because starting threads takes a noticeable part of a fast search. Jobs run in a copy
of the caller's context, so that `traveltime_lab._interrupts.checkpoint` can cancel them.
"""

from __future__ import annotations

import contextvars
import functools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from typing import Final, TypeVar

from traveltime_lab.settings import settings

_S = TypeVar("_S")
_T = TypeVar("_T")

#: Number of values in one block of a matrix: 16 MB per thread at 8 bytes per value.
BLOCK: Final = 2_000_000


#: Whether the current code runs in a job of `side_by_side`.
_is_job: ContextVar[bool] = ContextVar("is_job", default=False)


@functools.cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="traveltime_lab")


def side_by_side(jobs: Sequence[Callable[[], _T]]) -> list[_T]:
    """
    Run jobs in parallel and return their results in order.

    The calling thread takes part in the work.

    Parameters
    ----------
    jobs : sequence of callables
        Called without arguments; they should release the global interpreter lock most of the time. A job that calls
        this function itself gets new threads, because waiting for the shared ones could deadlock.
    """
    n_threads = min(settings.threads, len(jobs))
    if n_threads <= 1:
        return [job() for job in jobs]
    if _is_job.get():
        with ThreadPoolExecutor(n_threads - 1, thread_name_prefix="traveltime_lab") as pool:
            return _share_out(jobs, n_threads, pool)
    return _share_out(jobs, n_threads, _pool(settings.threads - 1))


def _share_out(jobs: Sequence[Callable[[], _T]], n_threads: int, pool: ThreadPoolExecutor) -> list[_T]:
    """Run jobs in the calling thread and in those of a pool."""
    results: dict[int, _T] = {}

    def work(first: int) -> None:
        _is_job.set(True)
        for i in range(first, len(jobs), n_threads):
            results[i] = jobs[i]()

    others = [pool.submit(contextvars.copy_context().run, work, first) for first in range(1, n_threads)]
    try:
        contextvars.copy_context().run(work, 0)
    finally:
        for other in others:
            other.result()
    return [results[i] for i in range(len(jobs))]


def map_ahead(function: Callable[[_S], _T], parts: Sequence[_S]) -> Iterator[_T]:
    """
    Apply a function to each part in parallel, and yield the results in order.

    At most ``settings.threads + 1`` results are held at a time, so that memory stays bounded.

    Parameters
    ----------
    function : callable
        Should release the global interpreter lock most of the time.
    parts : sequence
    """
    if len(parts) <= 1 or settings.threads == 1:
        yield from map(function, parts)
        return
    with ThreadPoolExecutor(settings.threads, thread_name_prefix="traveltime_lab") as pool:
        waiting: deque[Future[_T]] = deque()
        for part in parts:
            waiting.append(pool.submit(contextvars.copy_context().run, function, part))
            if len(waiting) > settings.threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def row_blocks(n_rows: int, n_columns: int, *, multiple: int = 1) -> list[slice]:
    """
    Split the rows of a matrix into blocks of at most `BLOCK` values, and into at least one block per thread.

    Parameters
    ----------
    n_rows, n_columns : int
    multiple : int, default 1
        The number of rows of a block is a multiple of this number; the last block may have fewer.
    """
    size = min(BLOCK // max(n_columns, 1), -(-n_rows // settings.threads))
    size = max(1, -(-size // multiple)) * multiple
    return [slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]
