"""
Parallel work in threads with bounded memory.

All searches of a process share one pool of threads, because starting threads takes a noticeable part of a fast search,
and because searches that run at the same time must not multiply them. The calling thread works, too, and does what no
thread of the pool has begun: so jobs may start jobs of their own, and no caller waits for a thread that is busy.

Jobs run in a copy of the caller's context, so that `traveltime_lab.runtime.interrupts.checkpoint` can cancel them; it
is also called before each. When a caller continues, with a result or an error, none of its jobs is running any more.
"""

from __future__ import annotations

import contextvars
import functools
import itertools
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from traveltime_lab.runtime.forks import after_fork
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.progress import PARTS, is_watched
from traveltime_lab.settings import settings

_S = TypeVar("_S")
_T = TypeVar("_T")

#: Number of values in one block of a matrix: 16 MB per thread at 8 bytes per value.
BLOCK: Final = 2_000_000
#: Fewest items of which a thread of its own is worth it: some nanoseconds each, where a thread takes microseconds.
_FEWEST: Final = 10_000


@functools.cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="traveltime_lab")


# A forked process has the pools without their threads.
after_fork(_pool.cache_clear)


def side_by_side(jobs: Sequence[Callable[[], _T]]) -> list[_T]:
    """
    Run jobs in parallel and return their results in order.

    Parameters
    ----------
    jobs : sequence of callables
        Called without arguments; they should release the global interpreter lock most of the time.
    """
    n_threads = min(settings.threads, len(jobs))
    results: dict[int, _T] = {}
    numbers, has_failed = itertools.count(), threading.Event()

    def work() -> None:
        try:
            while not has_failed.is_set() and (i := next(numbers)) < len(jobs):
                checkpoint()
                results[i] = jobs[i]()
        except BaseException:
            has_failed.set()
            raise

    if n_threads <= 1:
        work()
        return [results[i] for i in range(len(jobs))]
    pool = _pool(settings.threads - 1)
    others = [pool.submit(contextvars.copy_context().run, work) for _ in range(n_threads - 1)]
    try:
        work()
    finally:
        begun = _call_off(others)
    for other in begun:
        other.result()
    return [results[i] for i in range(len(jobs))]


def even_slices(n: int) -> list[slice]:
    """Return consecutive slices of `n` items, one for each thread; fewer if there are few items."""
    n_parts = max(1, min(settings.threads, n // _FEWEST))
    ends = [n * part // n_parts for part in range(n_parts + 1)]
    return [slice(*each) for each in itertools.pairwise(ends)]


def _call_off(futures: Sequence[Future[Any]]) -> list[Future[Any]]:
    """Cancel the parts that no thread has begun; wait for the others and return them."""
    begun = [future for future in futures if not future.cancel()]
    wait(begun)
    return begun


@dataclass
class _Ahead(Generic[_S, _T]):
    """A part that was submitted to the pool, and its result if it was computed here instead."""

    part: _S
    future: Future[_T]
    made: list[_T]


def map_ahead(function: Callable[[_S], _T], parts: Sequence[_S]) -> Generator[_T, None, None]:
    """
    Apply a function to each part in parallel, and yield the results in order.

    At most ``settings.threads + 1`` results are held at a time, so that memory stays bounded.

    Parameters
    ----------
    function : callable
        Should release the global interpreter lock most of the time.
    parts : sequence
    """

    def work(part: _S) -> _T:
        checkpoint()
        return function(part)

    if len(parts) <= 1 or settings.threads == 1:
        yield from map(work, parts)
        return
    pool = _pool(settings.threads - 1)
    waiting: deque[_Ahead[_S, _T]] = deque()
    try:
        for part in parts:
            waiting.append(_Ahead(part, pool.submit(contextvars.copy_context().run, work, part), []))
            if len(waiting) > settings.threads:
                yield _first(work, waiting)
        while waiting:
            yield _first(work, waiting)
    finally:
        _call_off([each.future for each in waiting])


def _first(work: Callable[[_S], _T], waiting: deque[_Ahead[_S, _T]]) -> _T:
    """Remove the first part and return its result; until it is ready, compute parts that no thread has begun."""
    head = waiting[0]
    while not head.made and not head.future.done():
        idle = next((each for each in waiting if not each.made and each.future.cancel()), None)
        if idle is None:
            break
        idle.made.append(work(idle.part))
    result = head.made[0] if head.made else head.future.result()
    waiting.popleft()
    return result


def row_blocks(n_rows: int, n_columns: int, *, multiple: int = 1, fewest: int = 1) -> list[slice]:
    """
    Split the rows of a matrix into blocks of at most `BLOCK` values, and into one block per thread or more.

    There are more blocks if someone watches the progress.

    Parameters
    ----------
    n_rows, n_columns : int
    multiple : int, default 1
        The number of rows of a block is a multiple of this number; the last block may have fewer.
    fewest : int, default 1
        Fewest rows of a block; there may be fewer blocks than threads. `BLOCK` comes first.
    """
    n_least = max(settings.threads, PARTS) if is_watched() else settings.threads
    n_blocks = max(1, min(n_least, n_rows // fewest))
    size = min(BLOCK // max(n_columns, 1), -(-n_rows // n_blocks))
    size = max(1, -(-size // multiple)) * multiple
    return [slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]
