"""
Parts of one answer computed at the same time, on threads that are kept: starting threads takes as long as a small part.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from traveltime_lab.settings import settings

_T = TypeVar("_T")


@functools.cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="traveltime_lab")


def side_by_side(jobs: Sequence[Callable[[], _T]]) -> list[_T]:
    """
    Return what jobs return, in their order.

    The caller works, too. Jobs must not call this function: they could wait for threads that wait for them.

    Parameters
    ----------
    jobs : sequence of callables
        Without arguments; most of their time outside the interpreter's lock.
    """
    n_threads = min(settings.threads, len(jobs))
    if n_threads <= 1:
        return [job() for job in jobs]
    results: dict[int, _T] = {}

    def work(first: int) -> None:
        for i in range(first, len(jobs), n_threads):
            results[i] = jobs[i]()

    # The context knows whether anybody still waits for the answer.
    others = [
        _pool(settings.threads - 1).submit(contextvars.copy_context().run, work, first) for first in range(1, n_threads)
    ]
    try:
        work(0)
    finally:
        for other in others:
            other.result()
    return [results[i] for i in range(len(jobs))]
