"""The threads in which requests are worked on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import anyio

from traveltime_lab.server.contract.errors import plain_failure

_T = TypeVar("_T")


class Body:
    """
    The body of a request, in the room for all of them.

    Attributes
    ----------
    data : bytearray
    """

    def __init__(self, workers: Workers) -> None:
        self.data = bytearray()
        self._workers = workers
        self._is_lent = False

    def add(self, chunk: bytes) -> None:
        """Append to the body; Failure 503 if there is no room."""
        if len(chunk) > self._workers.room:
            text = "The service holds as many request bodies as it has room for; try again later"
            raise plain_failure(503, text, {"Retry-After": "10", "Connection": "close"})
        self._workers.room -= len(chunk)
        self.data += chunk

    def drop(self) -> None:
        """Empty the body."""
        self._workers.room += len(self.data)
        self.data = bytearray()

    def lend(self) -> None:
        """Leave it to a thread to drop the body."""
        self._is_lent = True

    def done(self) -> None:
        """Drop the body unless a thread has it."""
        if not self._is_lent:
            self.drop()


class Workers:
    """
    Threads for the requests of one event loop, and the room for their bodies.

    A request without a waiting client keeps its slot until its thread is done with it, so that there are never
    more threads, or more requests in memory, than slots.

    Parameters
    ----------
    n_small, n_large : int
        Requests that are worked on at once, with small and with large bodies.
    room : int
        Bytes of all bodies that are held at once.

    Attributes
    ----------
    room : int
        Bytes of bodies that may still come.
    n_waiting, n_running : int
        Requests that wait for a slot, and that have one.
    """

    def __init__(self, n_small: int, n_large: int, room: int) -> None:
        self._slots = {False: anyio.Semaphore(n_small), True: anyio.Semaphore(n_large)}
        self._pool = ThreadPoolExecutor(n_small + n_large, thread_name_prefix="traveltime_lab.server")
        self.room = room
        self.n_waiting = self.n_running = 0

    def body(self) -> Body:
        """Return an empty body."""
        return Body(self)

    def close(self) -> None:
        """End the threads once their work is done."""
        self._pool.shutdown()

    async def run(self, work: Callable[[], _T], body: Body, *, is_large: bool) -> _T:
        """Return the result of a function, called in a thread as soon as there is a slot for it; it drops the body."""
        slot = self._slots[is_large]
        self.n_waiting += 1
        try:
            await slot.acquire()
        finally:
            self.n_waiting -= 1
        self.n_running += 1
        loop = asyncio.get_running_loop()

        def free() -> None:
            self.n_running -= 1
            body.drop()
            slot.release()

        def done(_future: Future[Any]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop may have ended before the thread
                loop.call_soon_threadsafe(free)

        try:
            future = self._pool.submit(work)
        except BaseException:
            self.n_running -= 1
            slot.release()
            raise
        body.lend()
        future.add_done_callback(done)
        return await asyncio.wrap_future(future)
