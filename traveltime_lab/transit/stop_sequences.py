"""
The stop_sequence of the times of a timetable, by which live updates name stops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from traveltime_lab._arrays import AnyArray, Int32Array, within_rows

if TYPE_CHECKING:
    from traveltime_lab.transit.timetable import Timetable


@dataclass(frozen=True)
class StopSequences:
    """
    The stop_sequence of each time of a timetable, by which live updates name stops.

    Attributes
    ----------
    numbers : int32 array of shape (n_stop_times,)
    """

    numbers: Int32Array

    def __post_init__(self) -> None:
        """Make the array read-only."""
        self.numbers.setflags(write=False)

    @classmethod
    def chosen(cls, timetable: Timetable, at: AnyArray) -> StopSequences | None:
        """Return the values at some positions of a timetable, given as rows or as a mask."""
        return None if timetable.sequences is None else cls(timetable.sequences.numbers[at])

    @staticmethod
    def of_trip(timetable: Timetable, trip: int) -> list[int]:
        """Return the values of a trip."""
        begin, end = (int(at) for at in timetable.trip_indptr[trip : trip + 2])
        if timetable.sequences is None:
            return list(range(1, end - begin + 1))
        found: list[int] = timetable.sequences.numbers[begin:end].tolist()
        return found

    @classmethod
    def all_of(cls, timetable: Timetable) -> Int32Array:
        """Return the values of all times of a timetable."""
        if timetable.sequences is not None:
            return timetable.sequences.numbers
        return (within_rows(np.diff(timetable.trip_indptr)) + 1).astype(np.int32)
