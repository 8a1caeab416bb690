"""
Travel times between stops and targets, by stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from traveltime_lab.kernels.records import StopLinks
from traveltime_lab.kernels.transit.access import TargetPorts, ports_by_stop
from traveltime_lab.runtime.forks import cached_property


@dataclass(frozen=True)
class StopReach:
    """
    Times between stops and targets, by target and by stop.

    Parameters
    ----------
    links : StopLinks
        Stops around each target.
    n_stops : int
    """

    links: StopLinks
    n_stops: int

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return self.links.n_points

    @cached_property
    def ports(self) -> TargetPorts:
        """The links by stop."""
        ports: TargetPorts = ports_by_stop(self.links, self.n_stops)
        return ports


def array(values: npt.ArrayLike, dtype: type) -> Any:
    """Return values as a contiguous, writable array; Numba would compile the kernels again for read-only arrays."""
    return np.require(values, dtype, ["C", "W"])
