"""
Work shared out among threads, and memory bounded while it is.

Threads that `side_by_side` uses are kept: starting threads takes as long as a small part of an answer. Both functions
run jobs in the context of the caller, which knows whether anybody still waits for the answer
(`traveltime_lab._interrupts`).
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

#: Values in one block of a matrix; with 8 bytes each a thread holds 16 MB of them.
BLOCK: Final = 2_000_000


#: Whether the running code is part of a job of `side_by_side`.
_is_job: ContextVar[bool] = ContextVar("is_job", default=False)


@functools.cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="traveltime_lab")


def side_by_side(jobs: Sequence[Callable[[], _T]]) -> list[_T]:
    """
    Return what jobs return, in their order.

    The caller works, too.

    Parameters
    ----------
    jobs : sequence of callables
        Without arguments; most of their time outside the interpreter's lock. Jobs that call this function themselves
        get threads of their own: with the threads that are kept, all of them could wait for each other.
    """
    n_threads = min(settings.threads, len(jobs))
    if n_threads <= 1:
        return [job() for job in jobs]
    if _is_job.get():
        with ThreadPoolExecutor(n_threads - 1, thread_name_prefix="traveltime_lab") as pool:
            return _share_out(jobs, n_threads, pool)
    return _share_out(jobs, n_threads, _pool(settings.threads - 1))


def _share_out(jobs: Sequence[Callable[[], _T]], n_threads: int, pool: ThreadPoolExecutor) -> list[_T]:
    """Run jobs on the calling thread and on those of a pool."""
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
    Yield what a function returns for each part, in their order, computed a few parts ahead of the reader.

    Never more than `settings.threads` + 1 results are held, so that memory stays bounded however many parts there are.

    Parameters
    ----------
    function : callable
        Most of its time outside the interpreter's lock.
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
    Cut the rows of a matrix into blocks of at most `BLOCK` values, at least one for each thread.

    Parameters
    ----------
    n_rows, n_columns : int
    multiple : int, default 1
        Blocks have a multiple of this number of rows; the last one may have fewer.
    """
    size = min(BLOCK // max(n_columns, 1), -(-n_rows // settings.threads))
    size = max(1, -(-size // multiple)) * multiple
    return [slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]
