"""
Run a job: make what is missing in its folder, show the progress, and say how far it came.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, TypeAlias

from traveltime_lab._checks import flag
from traveltime_lab.errors import FileAccessError, UnfinishedJobError
from traveltime_lab.jobs import folder
from traveltime_lab.jobs.executors import check_executor, made_parts
from traveltime_lab.jobs.job import Job

#: Whether to show a progress bar, or a function that is called as ``progress(n_done, n_parts)``.
Progress: TypeAlias = bool | Callable[[int, int], Any]


def run(job: Job, path: Any, executor: Executor | None, progress: Progress) -> Path:
    """
    Write the parts of a job that are missing.

    Parameters
    ----------
    job : Job
    path : path-like
        Folder of the parts.
    executor : Executor or None
    progress : bool or callable
        Whether to show a progress bar, or a function that is called as ``progress(n_done, n_parts)`` after each part.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    UnfinishedJobError
        If the disk is full, or the workers of the executor ended.
    KeyboardInterrupt
        If the user interrupts the job; the message says how far it came.
    """
    executor = check_executor(executor)
    if not callable(progress):
        flag(progress, "progress")
    with folder.opened(path, job.description(), job.n_parts) as parts:
        try:
            with _shown(job, parts, progress) as advance:
                for number, made in made_parts(job, parts.missing, executor):
                    parts.add(number, made)
                    advance(number)
            if not parts.is_finished:
                parts.finish()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"interrupted; {_how_far(job, parts)}") from None
        except (FileAccessError, UnfinishedJobError) as error:
            raise UnfinishedJobError(f"{error}; {_how_far(job, parts)}", getattr(error, "errno", None)) from error
        return parts.path


def _how_far(job: Job, parts: folder.Folder) -> str:
    done, total = (sum(map(job.weight, numbers)) for numbers in (parts.done, range(job.n_parts)))
    return (
        f"{len(parts.done)} of {parts.n_parts} parts ({done:,} of {total:,} {job.unit}s) are in {parts.path}; "
        "the same call goes on from there"
    )


@contextlib.contextmanager
def _shown(job: Job, parts: folder.Folder, progress: Progress) -> Iterator[Callable[[int], None]]:
    """Yield a function that is called with each part that has been written."""
    if callable(progress):
        yield lambda _part: progress(len(parts.done), parts.n_parts)
        return
    if not progress or not parts.missing:
        yield lambda _part: None
        return
    # Imports ipywidgets in notebooks, which takes time that others do not need to spend.
    from tqdm.auto import tqdm  # noqa: PLC0415

    done, total = (sum(map(job.weight, numbers)) for numbers in (parts.done, range(job.n_parts)))
    with tqdm(total=total, initial=done, unit=job.unit, unit_scale=True, desc=parts.path.name, smoothing=0.05) as bar:
        yield lambda part: bar.update(job.weight(part)) and None
