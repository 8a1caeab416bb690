"""
`TripTable`: all runs of a few hours as flat arrays, the only thing the timetable searches see of a timetable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from traveltime_lab._arrays import BoolArray, Int32Array, Int64Array
from traveltime_lab.kernels.transit.patterns import UNREACHED


@dataclass(frozen=True)
class TripTable:
    """
    Runs of trips by pattern, in seconds (or milliseconds, see `in_milliseconds`) after a reference moment.

    A run is one trip on one service date or one repetition of a frequency. A pattern is a sequence of stops; none of
    its runs overtakes another at any position, neither arriving nor departing.

    Parameters
    ----------
    reference : int
        POSIX seconds that all times count from.
    n_stops : int
    pattern_indptr : int64 array of shape (n_patterns + 1,)
        Range of each pattern in the arrays by position.
    pattern_stops : int32 array of shape (n_positions,)
        stop_idx by position; a loop has a stop twice.
    can_board, can_alight : bool arrays of shape (n_positions,)
    instance_indptr : int64 array of shape (n_patterns + 1,)
        Runs of each pattern, sorted by departure.
    time_indptr : int64 array of shape (n_patterns + 1,)
        Where the times of each pattern begin.
    arrival, departure : int32 arrays of shape (n_times,)
        Time of run r (from 0 within pattern p) at position k: ``[time_indptr[p] + r * n_positions(p) + k]``.
    instance_trip : int32 array of shape (n_runs,)
        trip_idx.
    instance_date : int32 array of shape (n_runs,)
        Service date as proleptic ordinal.
    transfer_indptr : int64 array of shape (n_stops + 1,)
        Footpaths from each stop to others, in `transfer_stop` and `transfer_time` (int32).
    change_time : int32 array of shape (n_stops,)
        Least time for a change at the stop itself, 1,000,000,000 where it is forbidden.
    stay_instance : int32 array of shape (n_runs,)
        Run that the vehicle continues as, its passengers seated; -1 for none.
    """

    reference: int
    n_stops: int
    pattern_indptr: Int64Array
    pattern_stops: Int32Array
    can_board: BoolArray
    can_alight: BoolArray
    instance_indptr: Int64Array
    time_indptr: Int64Array
    arrival: Int32Array
    departure: Int32Array
    instance_trip: Int32Array
    instance_date: Int32Array
    transfer_indptr: Int64Array
    transfer_stop: Int32Array
    transfer_time: Int32Array
    change_time: Int32Array
    stay_instance: Int32Array

    def in_milliseconds(self) -> TripTable:
        """Return the table with all times in milliseconds, in which walks count; `reference` stays in seconds."""
        is_allowed = self.change_time < UNREACHED
        return replace(
            self,
            arrival=self.arrival * np.int32(1000),
            departure=self.departure * np.int32(1000),
            transfer_time=self.transfer_time * np.int32(1000),
            change_time=np.where(is_allowed, self.change_time * np.int32(1000), UNREACHED).astype(np.int32),
        )
