"""
Follow planned journeys in another timetable: at each stop the passenger takes the next vehicle of the same line.

Times have the unit of the lines, see `traveltime_lab.kernels.transit.patterns.Lines`. All lines are in travel order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.unreached import NEVER

#: Trip instance of a planned ride that has no vehicle of its own: the next one is as good as any.
ANY_VEHICLE = -2
#: First planned call of a trip instance that is not planned, or is with other calls; and of one of several repetitions.
ANY_CALLS, ITS_STOPS = -1, -2
#: How a journey ends: at the last stop, after the latest moment, or at a stop where no vehicle of the line leaves.
ARRIVED, TOO_LATE, NO_VEHICLE = 0, 1, 2


class PlannedRides(NamedTuple):
    """CSR by journey of its rides in travel order, as they are in the timetable in which they are followed."""

    indptr: np.ndarray  # int64 (n_journeys + 1,)
    lead: np.ndarray  # int32 (n_rides,), time from the start, or from leaving the vehicle before, to boarding
    board: np.ndarray  # int32 (n_rides,), stop; -1 if the timetable lacks it
    alight: np.ndarray  # int32 (n_rides,)
    line: np.ndarray  # int32 (n_rides,), route; -1 if the timetable lacks it
    run: np.ndarray  # int32 (n_rides,), planned vehicle; -1 if it does not run, or ANY_VEHICLE


class Platforms(NamedTuple):
    """Stops of one station, and the planned stops of the calls of each trip instance."""

    following: np.ndarray  # int32 (n_stops,), another stop of the same station, in a circle; itself if it is alone
    station: np.ndarray  # int32 (n_stops,), the stop without a parent above each stop
    first: np.ndarray  # int64 (n_runs,), where the stops of its planned calls begin; or ANY_CALLS, ITS_STOPS
    stops: np.ndarray  # int32, planned stops; -1 if the timetable lacks it


@kernel
def _calls_at(lines, platforms, run, position, stop):
    """
    Return whether the call of a trip instance at a position is one at a stop, or a planned one there that has moved.

    A planned call that has moved to another stop of the station counts as one at its planned stop, too. Where no calls
    are planned, all stops of the station count.
    """
    actual = lines.pattern_stops[lines.pattern_indptr[lines.run_pattern[run]] + position]
    if actual == stop:
        return True
    if platforms.station[actual] != platforms.station[stop]:
        return False
    first = platforms.first[run]
    return first == ANY_CALLS or (first >= 0 and platforms.stops[first + position] == stop)


@kernel
def _arrival(lines, platforms, run, position, stop):
    """Return when a trip instance arrives at a stop after a position; NEVER if passengers cannot alight there."""
    for _ in range(lines.run_pattern.size):
        p = lines.run_pattern[run]
        begin, end = lines.pattern_indptr[p], lines.pattern_indptr[p + 1]
        at = lines.time_indptr[p] + (run - lines.instance_indptr[p]) * (end - begin) - begin
        for k in range(begin + position + 1, end):
            if lines.can_alight[k] and _calls_at(lines, platforms, run, k - begin, stop):
                return np.int64(lines.arrival[at + k])
        # Passengers stay seated while the vehicle continues as another trip.
        if lines.stay_instance.size == 0 or lines.stay_indptr[run] == lines.stay_indptr[run + 1]:
            return np.int64(NEVER)
        run = np.int64(lines.stay_instance[lines.stay_indptr[run]])
        position = np.int64(0)
    return np.int64(NEVER)


@kernel
def _next_arrival(lines, platforms, run_line, ready, latest, board, alight, line):
    """
    Return when the next vehicle of a line arrives at a stop, and whether one departs from another in time.

    It is the vehicle that arrives first of those that depart at or after `ready`: the first one that departs, unless
    another one overtakes it.
    """
    best, departs, stop = np.int64(NEVER), False, board
    for _ in range(platforms.following.size):
        for e in range(lines.stop_indptr[stop], lines.stop_indptr[stop + 1]):
            p = lines.stop_pattern[e]
            first = lines.pattern_indptr[p]
            n = lines.pattern_indptr[p + 1] - first
            position = lines.stop_boarding[e] - first
            n_runs = lines.instance_indptr[p + 1] - lines.instance_indptr[p]
            at = lines.time_indptr[p] + position
            low, high = np.int64(0), n_runs
            while low < high:
                middle = (low + high) >> 1
                if lines.departure[at + middle * n] >= ready:
                    high = middle
                else:
                    low = middle + 1
            for r in range(low, n_runs):
                departure = lines.departure[at + r * n]
                if departure > latest or departure > best:
                    break
                run = lines.instance_indptr[p] + r
                if run_line[run] != line or not _calls_at(lines, platforms, run, position, board):
                    continue
                time = _arrival(lines, platforms, run, position, alight)
                if time < NEVER:
                    departs = True
                    best = min(best, time)
        stop = np.int64(platforms.following[stop])
        if stop == board:
            break
    return best, departs


@kernel
def _is_caught(lines, platforms, run, ready, board, alight):
    """Return whether a passenger can take a trip instance from one stop to another."""
    p = lines.run_pattern[run]
    begin, end = lines.pattern_indptr[p], lines.pattern_indptr[p + 1]
    at = lines.time_indptr[p] + (run - lines.instance_indptr[p]) * (end - begin) - begin
    for k in range(begin, end - 1):
        if (
            lines.can_board[k]
            and lines.departure[at + k] >= ready
            and _calls_at(lines, platforms, run, k - begin, board)
        ):
            return _arrival(lines, platforms, run, k - begin, alight) < NEVER
    return False


@kernel
def follow(lines, platforms, run_line, planned, start, latest, arrival, missed, is_first_missed, end):
    """
    Follow planned journeys.

    Parameters
    ----------
    lines : Lines
        The lines of the timetable in which the journeys are followed.
    platforms : Platforms
    run_line : int32 array of shape (n_runs,)
        Route of each trip instance.
    planned : PlannedRides
    start, latest : int32 arrays of shape (n_journeys,)
        When each journey begins, and the latest arrival at its last stop.
    arrival : int32 array of shape (n_journeys,)
        Filled with the arrival at the last stop; `NEVER` if it is not reached by then.
    missed : int32 array of shape (n_journeys,)
        Filled with the number of transfers at which the planned vehicle cannot be caught, with those not reached.
    is_first_missed : bool array of shape (n_journeys,)
        Filled with whether the first planned vehicle cannot be caught.
    end : int8 array of shape (n_journeys,)
        Filled with ARRIVED, TOO_LATE or NO_VEHICLE.
    """
    for j in range(start.size):
        now = np.int64(start[j])
        missed[j], is_first_missed[j], end[j] = 0, False, ARRIVED
        first = planned.indptr[j]
        for i in range(first, planned.indptr[j + 1]):
            is_made = False
            if end[j] == ARRIVED:
                ready = now + planned.lead[i]
                board, alight = np.int64(planned.board[i]), np.int64(planned.alight[i])
                time, departs = np.int64(NEVER), False
                if board >= 0 and alight >= 0:
                    time, departs = _next_arrival(
                        lines, platforms, run_line, ready, np.int64(latest[j]), board, alight, planned.line[i]
                    )
                    if planned.run[i] >= 0:
                        is_made = _is_caught(lines, platforms, planned.run[i], ready, board, alight)
                    else:
                        is_made = departs and planned.run[i] == ANY_VEHICLE
                if time > latest[j]:
                    end[j] = TOO_LATE if departs else NO_VEHICLE
                now = time
            if not is_made:
                if i == first:
                    is_first_missed[j] = True
                else:
                    missed[j] += 1
        arrival[j] = now if end[j] == ARRIVED else NEVER
