"""
Send a job to the workers of an executor, once, and compute its parts there.

How the job gets to the workers depends on the executor: threads share it, a process pool reads it from a temporary
file, Dask scatters it, and any other executor gets it with every task. Each worker process keeps the job, with its
network and its snapped destinations, for the next part.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED as FIRST
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from traveltime_lab._files import temporary_folder
from traveltime_lab.errors import InputError, TravelTimeError, UnfinishedJobError
from traveltime_lab.runtime.forks import Lock
from traveltime_lab.settings import one_thread

#: How often a part is given to a worker before the job ends.
_ATTEMPTS: Final = 4
#: Workers of an executor that does not say how many it has, assumed.
_WORKERS: Final = 16
#: Parts per worker that wait or are under way, so that no worker is idle while results are written.
_AHEAD: Final = 2

#: Seconds to wait for the first worker of a cluster.
_PATIENCE_S: Final = 600
#: Seconds after which a wait for parts looks whether the cluster can still be reached.
_LOOK_S: Final = 5.0
_CLOSED: Final = "the Dask client of the executor was closed; create a new one"

P_contra = TypeVar("P_contra", bound=Hashable, contravariant=True)
P = TypeVar("P", bound=Hashable)
T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Job(Protocol[P_contra, T_co]):
    """A computation in parts; it is pickled for other processes."""

    #: Different for each job.
    key: str

    def make(self, part: P_contra, /) -> T_co:
        """Return a part."""


#: The job of this worker process by its key.
_kept: dict[str, Job[Any, Any]] = {}
_lock = Lock()


def check_executor(executor: Any) -> Executor | None:
    """Raise InputError if the value is not an executor."""
    if executor is None or isinstance(executor, Executor):
        return executor
    msg = (
        f"executor must be a concurrent.futures.Executor or None; got {type(executor).__name__}. "
        "For a Dask client, pass client.get_executor()"
    )
    raise InputError(msg)


def made_parts(job: Job[P, T], parts: Sequence[P], executor: Executor | None) -> Iterator[tuple[P, T]]:
    """
    Yield the parts of a job as they become ready.

    Parameters
    ----------
    job : Job
    parts : sequence
        The parts to compute: numbers, or whatever `Job.make` takes.
    executor : Executor or None
        None computes them here, in order.

    Raises
    ------
    UnfinishedJobError
        If the executor can no longer be used, or workers ended several times with the same part.
    """
    if executor is None:
        for part in parts:
            yield part, job.make(part)
        return
    with contextlib.ExitStack() as stack:
        delivery = stack.enter_context(_delivery(job, executor))
        yield from _by_workers(delivery, parts, executor)


def _by_workers(
    delivery: Callable[[], Callable[[P], Future[T]]], parts: Sequence[P], executor: Executor
) -> Iterator[tuple[P, T]]:
    """Yield parts that workers compute, a few ahead of the caller; see `made_parts`."""
    attempts = dict.fromkeys(parts, 0)
    waiting, running = list(reversed(parts)), dict[Future[T], P]()
    submit = None
    try:
        while waiting or running:
            if waiting and submit is None:
                submit = delivery()
            most = _AHEAD * n_workers(executor)
            while submit is not None and waiting and len(running) < most:
                part = waiting.pop()
                attempts[part] += 1
                running[_submitted(submit, part)] = part
            for future in _ended(running, executor):
                part = running.pop(future)
                error = _error_of(future)
                if error is None:
                    yield part, future.result()
                elif not _is_lost(error):
                    raise error
                elif attempts[part] >= _ATTEMPTS:
                    msg = (
                        f"workers ended {attempts[part]} times while they computed part {part}, "
                        "perhaps for lack of memory"
                    )
                    raise UnfinishedJobError(msg) from error
                else:
                    # Scattered data may be lost with the worker.
                    waiting.append(part)
                    submit = None
    except BrokenExecutor as error:
        msg = (
            "a worker process ended (killed, out of memory, or started by a script that does not begin its work below "
            "if __name__ == '__main__'), and the executor cannot be used any more; create a new one"
        )
        raise UnfinishedJobError(msg) from error
    except Exception as error:
        if isinstance(error, TravelTimeError) or not _is_closed(executor):
            raise
        raise UnfinishedJobError(_CLOSED) from error
    finally:
        for future in running:
            future.cancel()


def _ended(running: dict[Future[T], P], executor: Executor) -> set[Future[T]]:
    """Wait for the next parts, and return those that have ended."""
    while True:
        ended = wait(running, timeout=_LOOK_S, return_when=FIRST).done
        if ended:
            return ended
        if _is_closed(executor):
            raise UnfinishedJobError(_CLOSED)


def _is_closed(executor: Executor) -> bool:
    """Return whether an executor is that of a Dask client that was closed."""
    return getattr(getattr(executor, "_client", None), "status", "") in {"closing", "closed"}


def n_workers(executor: Executor) -> int:
    """Return how many parts an executor computes at a time; a cluster may have grown since the last call."""
    client = getattr(executor, "_client", None)
    if client is not None and hasattr(client, "nthreads"):
        return max(1, int(sum(client.nthreads().values())))
    return int(getattr(executor, "_max_workers", None) or _WORKERS)


def _submitted(submit: Callable[[P], Future[T]], part: P) -> Future[T]:
    try:
        return submit(part)
    except BrokenExecutor:
        raise
    except RuntimeError as error:
        msg = f"the executor does not take any work ({error}); create a new one"
        raise InputError(msg) from error


def _error_of(future: Future[Any]) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError as error:
        return error


def _is_lost(error: BaseException) -> bool:
    """Return whether an error means that the worker was lost, not that the part has failed."""
    if isinstance(error, TravelTimeError | BrokenExecutor):
        return False
    names = {cls.__name__ for cls in type(error).__mro__}
    return isinstance(error, CancelledError | ConnectionError) or bool(
        names & {"KilledWorker", "CommClosedError", "CancelledError", "FutureCancelledError", "NoValidWorkerError"}
    )


@contextlib.contextmanager
def _delivery(job: Job[P, T], executor: Executor) -> Iterator[Callable[[], Callable[[P], Future[T]]]]:
    """Yield a function that brings the job to the workers, and returns a function that submits parts."""
    if isinstance(executor, ThreadPoolExecutor):
        yield lambda: lambda part: executor.submit(make_alone, job, part)
        return
    client = getattr(executor, "_client", None)
    if client is not None and hasattr(client, "scatter"):

        def scattered() -> Callable[[P], Future[T]]:
            try:
                there = client.scatter(job, broadcast=True, hash=False, timeout=_PATIENCE_S)
            except TimeoutError as error:
                msg = f"the cluster had no worker for {_PATIENCE_S} s; start some"
                raise UnfinishedJobError(msg) from error
            return lambda part: _submitted_to_dask(client, executor, there, part)

        yield scattered
        return
    content = pickle.dumps(job, protocol=pickle.HIGHEST_PROTOCOL)
    if isinstance(executor, ProcessPoolExecutor):
        with temporary_folder() as folder:
            path = folder / "job.pickle"
            path.write_bytes(content)
            yield lambda: lambda part: executor.submit(make_from_file, path, job.key, part)
        return
    yield lambda: lambda part: executor.submit(make_from_bytes, content, job.key, part)


def _submitted_to_dask(client: Any, executor: Any, there: Any, part: Any) -> Future[Any]:
    """
    Submit a part of a scattered job, and return a future that ends in any case.

    That of the executor's own ``submit`` never ends if a worker is lost after the task ended and before its result was
    fetched, when the scattered job was lost, too (distributed 2026.8).
    """
    if executor._shutdown:
        raise RuntimeError("cannot schedule new futures after shutdown")
    theirs = client.submit(make_alone, there, part, **executor._kwargs)
    ours: Future[Any] = Future()

    def follow(ended: Any) -> None:
        if ours.set_running_or_notify_cancel():
            try:
                ours.set_result(ended.result())
            except BaseException as error:
                ours.set_exception(error)

    def cancel(ended: Future[Any]) -> None:
        if ended.cancelled():
            # A closed client has cancelled all futures by itself, and refuses further calls.
            with contextlib.suppress(Exception):
                theirs.cancel()

    theirs.add_done_callback(follow)
    ours.add_done_callback(cancel)
    return ours


def make_alone(job: Job[P, T], part: P) -> T:
    """Compute a part in one thread: an executor runs as many tasks at a time as it has cores."""
    with one_thread():
        return job.make(part)


def make_from_file(path: Path, key: str, part: Any) -> Any:
    """Return a part of a job in a file, which is read once per process."""
    return make_alone(_keep(key, path.read_bytes), part)


def make_from_bytes(content: bytes, key: str, part: Any) -> Any:
    """Return a part of a pickled job, which is unpickled once per process."""
    return make_alone(_keep(key, lambda: content), part)


def _keep(key: str, read: Callable[[], bytes]) -> Job[Any, Any]:
    """Return the job with a key, and forget others."""
    with _lock:
        job = _kept.get(key)
        if job is None:
            job = pickle.loads(read())
            _kept.clear()
            _kept[key] = job
        return job
