"""
The trip table: all trip instances of a few hours as flat arrays. Searches use nothing else of a timetable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from traveltime_lab._arrays import BoolArray, Int32Array, Int64Array
from traveltime_lab.kernels.unreached import FORBIDDEN


@dataclass(frozen=True)
class TripTable:
    """
    Trip instances by pattern, with times in seconds (or milliseconds, see `in_milliseconds`) after a reference moment.

    A trip instance (``instance`` or ``run`` in identifiers) is one trip on one service date or one repetition of a
    frequency. A pattern is a sequence of stops. No trip instance of a pattern overtakes another at any position,
    neither arriving nor departing.

    Parameters
    ----------
    reference : int
        POSIX seconds from which all times count.
    n_stops : int
    pattern_indptr : int64 array of shape (n_patterns + 1,)
        Index pointer of the positions of each pattern.
    pattern_stops : int32 array of shape (n_positions,)
        stop_idx by position; a loop has a stop twice.
    can_board, can_alight : bool arrays of shape (n_positions,)
        Whether passengers may board, or alight, at each position.
    instance_indptr : int64 array of shape (n_patterns + 1,)
        Index pointer of the trip instances of each pattern, sorted by departure.
    time_indptr : int64 array of shape (n_patterns + 1,)
        Where the times of each pattern begin.
    arrival, departure : int32 arrays of shape (n_times,)
        Time of trip instance r (from 0 within pattern p) at position k: ``[time_indptr[p] + r * n_positions(p) + k]``.
    instance_trip : int32 array of shape (n_runs,)
        trip_idx.
    instance_date : int32 array of shape (n_runs,)
        Service date as proleptic ordinal.
    transfer_indptr : int64 array of shape (n_stops + 1,)
        CSR of the footpaths from each stop, with `transfer_stop` and `transfer_time` (int32).
    change_time : int32 array of shape (n_stops,)
        Minimum transfer time at the stop itself, 1,000,000,000 where transfers are forbidden.
    stay_instance : int32 array of shape (n_runs,)
        Trip instance that the vehicle continues as while passengers stay seated; -1 for none.
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

    def calls_at(self, instance: int) -> tuple[Int32Array, Int32Array]:
        """Return the arrivals and departures of a trip instance by position."""
        pattern = int(np.searchsorted(self.instance_indptr, instance, side="right")) - 1
        size = int(self.pattern_indptr[pattern + 1] - self.pattern_indptr[pattern])
        at = int(self.time_indptr[pattern]) + (instance - int(self.instance_indptr[pattern])) * size
        return self.arrival[at : at + size], self.departure[at : at + size]

    def in_milliseconds(self) -> TripTable:
        """Return the table with all times in milliseconds, as in street searches; `reference` remains in seconds."""
        is_allowed = self.change_time < FORBIDDEN
        return replace(
            self,
            arrival=self.arrival * np.int32(1000),
            departure=self.departure * np.int32(1000),
            transfer_time=self.transfer_time * np.int32(1000),
            change_time=np.where(is_allowed, self.change_time * np.int32(1000), FORBIDDEN).astype(np.int32),
        )
