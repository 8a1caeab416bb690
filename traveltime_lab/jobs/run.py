"""
Run a job: compute the missing parts of its folder, show the progress, and report how far it came.
"""

from __future__ import annotations

from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from traveltime_lab._files import FULL
from traveltime_lab.errors import FileAccessError, UnfinishedJobError
from traveltime_lab.jobs import folder
from traveltime_lab.jobs.job import Job
from traveltime_lab.runtime.executors import check_executor, made_parts
from traveltime_lab.runtime.progress import Progress, check_progress, shown


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
        Whether to show a progress bar, or a function that is called as ``progress(done, total)`` with numbers of
        parts.

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
    check_progress(progress)
    try:
        with folder.opened(path, job.description(), job.n_parts) as parts:
            _fill(parts, job, executor, progress)
            return parts.path
    except FileAccessError as error:
        if error.errno not in FULL:
            raise
        # There was no room even for the manifest.
        raise UnfinishedJobError(f"{error}; repeat the call once there is space", error.errno) from error


def _fill(parts: folder.Folder, job: Job, executor: Executor | None, progress: Progress) -> None:
    """Make the parts that are missing; see `run`."""
    try:
        # Functions get counts of parts; bars have the unit of the job.
        done, total = (len(parts.done), parts.n_parts) if callable(progress) else _amounts(job, parts)
        with shown(progress, total, f"Writing {parts.path.name}", job.unit, done=done) as advance:
            for number, made in made_parts(job, parts.missing, executor):
                parts.add(number, made)
                advance(1 if callable(progress) else job.weight(number))
        if not parts.is_finished:
            parts.finish()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {_how_far(job, parts)}") from None
    except (FileAccessError, UnfinishedJobError) as error:
        raise UnfinishedJobError(f"{error}; {_how_far(job, parts)}", getattr(error, "errno", None)) from error


def _amounts(job: Job, parts: folder.Folder) -> tuple[int, int]:
    """Return the amount of work that has been done, and that of the whole job."""
    return sum(map(job.weight, parts.done)), sum(map(job.weight, range(job.n_parts)))


def _how_far(job: Job, parts: folder.Folder) -> str:
    done, total = _amounts(job, parts)
    return (
        f"{len(parts.done)} of {parts.n_parts} parts ({done:,} of {total:,} {job.unit}s) are in {parts.path}; "
        "repeat the call to resume"
    )
