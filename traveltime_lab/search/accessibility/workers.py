"""
Passes over a travel-time matrix by the workers of an executor, each for some of the origins.

A worker gets the query and the snapped points once and keeps them. It searches the travel times of its origins in each
pass, and only sums come back.
"""

from __future__ import annotations

import uuid
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import traveltime_lab
from traveltime_lab.errors import InputError
from traveltime_lab.runtime.executors import made_parts, n_workers
from traveltime_lab.runtime.progress import advance
from traveltime_lab.search.accessibility.measures import Matrix, Passes, Step, StepOf

#: Parts of the origins for each worker, so that all end at about the same time (assumed).
_PARTS_PER_WORKER: Final = 4


@dataclass(frozen=True, eq=False)
class _Part:
    """A step for some origins."""

    rows: slice
    step: Step

    def __str__(self) -> str:
        """Return the name of the part in messages."""
        return f"of origins {self.rows.start} to {self.rows.stop - 1}"


@dataclass(eq=False)
class _Study:
    """The data that all parts share; pickled for other processes."""

    matrix: Matrix
    key: str
    version: str

    def make(self, part: _Part) -> Any:
        """Return the result of a step, and the times to the border if they are searched."""
        if self.version != traveltime_lab.__version__:
            msg = (
                f"a worker has traveltime_lab {traveltime_lab.__version__}, the calling process has {self.version}; "
                "install the same version on both"
            )
            raise InputError(msg)
        whole = self.matrix
        starts = whole.starts.take(np.arange(part.rows.start, part.rows.stop))
        own = Matrix(whole.query, starts, whole.ends, whole.limit, whole.n_layers)
        return part.step(own), own.to_border


@dataclass
class PassesByWorkers(Passes):
    """The passes over a matrix by the workers of an executor."""

    executor: Executor

    def __post_init__(self) -> None:
        """Name the data that workers keep between passes."""
        self._study = _Study(self.matrix, uuid.uuid4().hex, traveltime_lab.__version__)

    def run(self, step_of: StepOf) -> list[Any]:
        """Return the results of the steps of a pass, in the order of the origins."""
        n_origins, n_sites = self.shape
        n_parts = min(n_origins, _PARTS_PER_WORKER * n_workers(self.executor))
        cuts = np.linspace(0, n_origins, n_parts + 1).astype(int).tolist()
        parts = [_Part(rows, step_of(rows)) for rows in map(slice, cuts[:-1], cuts[1:])]
        found: dict[_Part, Any] = {}
        for part, (result, to_border) in made_parts(self._study, parts, self.executor):
            found[part] = result
            if to_border is not None:
                self.matrix.note(part.rows, to_border)
            advance((part.rows.stop - part.rows.start) * n_sites)
        return [found[part] for part in parts]
