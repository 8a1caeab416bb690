"""
Travel times between points and stops, by point and by stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from traveltime_lab._arrays import Int32Array, Int64Array
from traveltime_lab.errors import InputError
from traveltime_lab.kernels.transit.access import StopPorts, TargetPorts, ports_by_stop
from traveltime_lab.kernels.transit.range_raptor import Seeds


@dataclass(frozen=True)
class StopLinks:
    """
    Times between points and stops, in the unit of the trip table that is searched.

    Parameters
    ----------
    indptr : int64 array of shape (n_points + 1,)
        Index pointer of the links of each point.
    stops : int32 array of shape (n_links,)
        stop_idx.
    time : int32 array of shape (n_links,)
        Non-negative.
    """

    indptr: Int64Array
    stops: Int32Array
    time: Int32Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "indptr", array(self.indptr, np.int64))
        object.__setattr__(self, "stops", array(self.stops, np.int32))
        object.__setattr__(self, "time", array(self.time, np.int32))
        if self.stops.size != self.time.size or self.indptr.size == 0 or self.indptr[-1] != self.stops.size:
            msg = (
                f"links need one stop and one time each, and indptr must end with their number; got {self.stops.size} "
                f"stops, {self.time.size} times, indptr ending with {self.indptr[-1:].tolist()}"
            )
            raise InputError(msg)
        if self.time.size and self.time.min() < 0:
            msg = f"the times of links must not be negative; got {self.time.min()}"
            raise InputError(msg)

    @property
    def ports(self) -> StopPorts:
        """The links as kernels take them."""
        return StopPorts(self.indptr, self.stops, self.time)

    @property
    def n_points(self) -> int:
        """Number of points."""
        return self.indptr.size - 1

    def of(self, point: int) -> Seeds:
        """Return the stops and times of one point."""
        rows = slice(int(self.indptr[point]), int(self.indptr[point + 1]))
        return Seeds(self.stops[rows], self.time[rows])


@dataclass(frozen=True)
class StopReach:
    """
    Times between stops and targets, grouped by stop: the transpose of `StopLinks`.

    Parameters
    ----------
    ports : TargetPorts
    n_targets : int
    """

    ports: TargetPorts
    n_targets: int

    @classmethod
    def of(cls, links: StopLinks, n_stops: int) -> StopReach:
        """Transpose links by point to links by stop."""
        return cls(ports_by_stop(links.ports, n_stops), links.n_points)


def array(values: npt.ArrayLike, dtype: type) -> Any:
    """Return values as a contiguous, writable array; Numba would compile the kernels again for read-only arrays."""
    return np.require(values, dtype, ["C", "W"])
