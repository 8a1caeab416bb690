"""
Run a job: compute the missing parts of its folder, show the progress, and report how far it came.
"""

from __future__ import annotations

from concurrent.futures import Executor
from pathlib import Path
from typing import Any, ClassVar, Protocol

from traveltime_lab._files import FULL
from traveltime_lab.errors import FileAccessError, TravelTimeError, UnfinishedJobError
from traveltime_lab.jobs import folder
from traveltime_lab.jobs.job import Failed, Made
from traveltime_lab.network import unfinished
from traveltime_lab.runtime.executors import Job, check_executor, made_parts
from traveltime_lab.runtime.progress import Progress, check_progress, shown
from traveltime_lab.runtime.warnings import warn


class FolderJob(folder.Described, Job[Any, Made | Failed], Protocol):
    """A job whose parts are files of a folder."""

    #: Unit of the progress.
    unit: ClassVar[str]

    def weight(self, part: Any, /) -> int:
        """Return how much of the work a part is, in `unit`."""


def run(job: FolderJob, path: Any, executor: Executor | None, progress: Progress) -> Path:
    """
    Write the parts of a job that are missing.

    Parameters
    ----------
    job : FolderJob
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
    TravelTimeError
        The first error that `Job.make` returns, after all other parts are written.
    KeyboardInterrupt
        If the user interrupts the job; the message says how far it came.
    """
    executor = check_executor(executor)
    check_progress(progress)
    try:
        with folder.opened(path, job) as parts:
            _fill(parts, job, executor, progress)
            return parts.path
    except FileAccessError as error:
        if error.errno not in FULL:
            raise
        # There was no room even for the manifest.
        raise UnfinishedJobError(f"{error}; repeat the call once there is space", error.errno) from error


def _fill(parts: folder.Folder, job: FolderJob, executor: Executor | None, progress: Progress) -> None:
    """Make the parts that are missing; see `run`."""
    errors: dict[Any, TravelTimeError] = {}
    try:
        # Functions get counts of parts; bars have the unit of the job.
        done, total = (len(parts.done), parts.n_parts) if callable(progress) else _amounts(job, parts)
        with shown(progress, total, f"Writing {parts.path.name}", job.unit, done=done) as advance:
            for key, made in made_parts(job, parts.missing, executor):
                if isinstance(made, Failed):
                    errors[key] = made.error
                    continue
                parts.add(key, made)
                if made.kept is not None:
                    unfinished.remove(made.kept)
                for note in made.notes:
                    warn(note)
                advance(1 if callable(progress) else job.weight(key))
            if errors:
                raise _first(errors, job, parts)
        if not parts.is_finished:
            parts.finish()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {_how_far(job, parts)}") from None
    except (FileAccessError, UnfinishedJobError) as error:
        if error in errors.values():
            raise
        raise UnfinishedJobError(f"{error}; {_how_far(job, parts)}", getattr(error, "errno", None)) from error


def _first(errors: dict[Any, TravelTimeError], job: FolderJob, parts: folder.Folder) -> TravelTimeError:
    """Return the error of the first part that has one, and say how far the job came."""
    failed = [key for key in job.files() if key in errors]
    error = errors[failed[0]]
    others = f"; there are errors of {', '.join(map(repr, failed[1:]))}, too" if failed[1:] else ""
    return reworded(error, f"{error}{others}; {_how_far(job, parts)}")


def reworded(error: TravelTimeError, text: str) -> TravelTimeError:
    """Return an error with another message; its kind and attributes stay."""
    error.args = (text,)
    if isinstance(error, ImportError):
        error.msg = text
    return error


def _amounts(job: FolderJob, parts: folder.Folder) -> tuple[int, int]:
    """Return the amount of work that has been done, and that of the whole job."""
    return sum(map(job.weight, parts.done)), sum(map(job.weight, job.files()))


def _how_far(job: FolderJob, parts: folder.Folder) -> str:
    done, total = _amounts(job, parts)
    if total == parts.n_parts:
        return f"{done:,} of {total:,} {job.unit}s are in {parts.path}; repeat the call to resume"
    return (
        f"{len(parts.done)} of {parts.n_parts} parts ({done:,} of {total:,} {job.unit}s) are in {parts.path}; "
        "repeat the call to resume"
    )
