"""
`TripTable`: all runs of a few hours as flat arrays, the only thing the timetable searches see of a timetable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class TripTable:
    """
    Runs of trips by pattern, in seconds after a reference moment.

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
    run_indptr : int64 array of shape (n_patterns + 1,)
        Runs of each pattern, sorted by departure.
    time_indptr : int64 array of shape (n_patterns + 1,)
        Where the times of each pattern begin.
    arrival, departure : int32 arrays of shape (n_times,)
        Time of run r (from 0 within pattern p) at position k: ``[time_indptr[p] + r * n_positions(p) + k]``.
    run_trip : int32 array of shape (n_runs,)
        trip_idx.
    run_date : int32 array of shape (n_runs,)
        Service date as proleptic ordinal.
    stop_indptr : int64 array of shape (n_stops + 1,)
        By stop the patterns and positions that call there, in `stop_pattern` and `stop_position` (int32).
    transfer_indptr : int64 array of shape (n_stops + 1,)
        Footpaths from each stop to others, in `transfer_stop` and `transfer_s` (int32, s).
    change_s : int32 array of shape (n_stops,)
        Least seconds for a change at the stop itself, 1,000,000,000 where it is forbidden.
    stay_run : int32 array of shape (n_runs,)
        Run that the vehicle continues as, its passengers seated; -1 for none.
    """

    reference: int
    n_stops: int
    pattern_indptr: Int64
    pattern_stops: Int32
    can_board: Bool
    can_alight: Bool
    run_indptr: Int64
    time_indptr: Int64
    arrival: Int32
    departure: Int32
    run_trip: Int32
    run_date: Int32
    stop_indptr: Int64
    stop_pattern: Int32
    stop_position: Int32
    transfer_indptr: Int64
    transfer_stop: Int32
    transfer_s: Int32
    change_s: Int32
    stay_run: Int32
