"""
The limits of timetable searches, and their moments in the direction of a search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from traveltime_lab._arrays import IndexArray, Int32Array, Int64Array
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.kernels.transit import raptor
from traveltime_lab.kernels.unreached import NEVER


@dataclass(frozen=True)
class TransitOptions:
    """
    The limits of a search, with times in the unit of the trip table.

    Parameters
    ----------
    travel_limit : int
        Longest travel time from the moment of the search.
    max_changes : int, optional
        Largest number of transfers. Default: no limit.
    change_delay : int, default 0
        Time added to each transfer, but not to the first boarding.
    """

    travel_limit: int
    max_changes: int | None = None
    change_delay: int = 0

    def __post_init__(self) -> None:
        least = {"travel_limit": 0, "max_changes": 0, "change_delay": 0}
        for name, low in least.items():
            value = getattr(self, name)
            if value is not None and not low <= value < NEVER // 4:
                msg = f"{name} must be from 0 to {NEVER // 4 - 1:,}; got {value}"
                raise LimitError(msg)

    @property
    def max_rides(self) -> int:
        """Largest number of transit legs."""
        return raptor.UNLIMITED if self.max_changes is None else int(self.max_changes) + 1

    @property
    def limits(self) -> raptor.Limits:
        """The limits as kernels take them."""
        return raptor.Limits(int(self.travel_limit), self.max_rides, int(self.change_delay))


def turned(moments: Int64Array, is_arrival: bool) -> Int32Array:
    """Return moments in the direction of a search."""
    if moments.size and max(-int(moments.min()), int(moments.max())) >= NEVER // 4:
        msg = f"moments are too far from the reference of the trip table; got {moments.min()} to {moments.max()}"
        raise InputError(msg)
    return (-moments if is_arrival else moments).astype(np.int32)


def falling(moments: npt.ArrayLike, is_arrival: bool) -> tuple[Int32Array, IndexArray]:
    """Return moments in the direction of a search, latest first, and their original positions."""
    when = np.atleast_1d(np.asarray(moments, np.int64))
    order = np.argsort(when, kind="stable")
    if not is_arrival:
        order = order[::-1]
    return turned(when[order], is_arrival), order
