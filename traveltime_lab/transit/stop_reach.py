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


@dataclass(frozen=True)
class StopReach:
    """Times between stops and targets, grouped by stop: the transpose of `StopLinks`."""

    ports: TargetPorts
    n_targets: int

    @classmethod
    def of(cls, links: StopLinks, n_stops: int) -> StopReach:
        """Transpose links by point to links by stop."""
        return cls(ports_by_stop(links, n_stops), links.n_points)


def array(values: npt.ArrayLike, dtype: type) -> Any:
    """Return values as a contiguous, writable array; Numba would compile the kernels again for read-only arrays."""
    return np.require(values, dtype, ["C", "W"])
