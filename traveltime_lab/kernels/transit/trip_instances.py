"""
Split patterns so that no trip instance overtakes another, and link the trip instances of a block.

RAPTOR requires that trips of one pattern do not overtake each other. In identifiers, `run` and `instance` both mean a
trip instance: one trip on one service date, or one repetition of a frequency.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.transit.stop_times import distance_m


class StopTimes(NamedTuple):
    """CSR of the stop times of each trip, s."""

    indptr: np.ndarray  # int64 (n_trips + 1,)
    arrival: np.ndarray  # int32
    departure: np.ndarray  # int32


class TripEnds(NamedTuple):
    """Where and when trips begin and end."""

    first: np.ndarray  # int32 (n_trips,), s: first departure
    last: np.ndarray  # int32 (n_trips,), s: last arrival
    first_stop: np.ndarray  # int32 (n_trips,), stop_idx
    last_stop: np.ndarray  # int32 (n_trips,), stop_idx


@kernel
def assign_lanes(instance_trip, run_shift, run_pattern, stop_times, lane):
    """
    Distribute the trip instances of each pattern over lanes in which none overtakes another.

    Each trip instance goes to the first lane of its pattern whose last instance it does not overtake. The order of the
    input decides (a greedy algorithm).

    Parameters
    ----------
    instance_trip : int32 array of shape (n_runs,)
        trip_idx of each trip instance, sorted by pattern, then departure.
    run_shift : int32 array of shape (n_runs,), s
        Time to add to the stop times of the trip.
    run_pattern : int32 array of shape (n_runs,)
        Pattern of each trip instance.
    stop_times : StopTimes
    lane : int32 array of shape (n_runs,)
        Overwritten with the number of the lane, counted over all patterns.

    Returns
    -------
    int
        Number of lanes.
    """
    n = instance_trip.size
    last = np.zeros(n, np.int64)
    n_lanes = 0
    begin = np.int64(0)
    while begin < n:
        first_lane = n_lanes
        run = begin
        while run < n and run_pattern[run] == run_pattern[begin]:
            chosen = -1
            for k in range(first_lane, n_lanes):
                if _follows(last[k], run, instance_trip, run_shift, stop_times):
                    chosen = k
                    break
            if chosen < 0:
                chosen = n_lanes
                n_lanes += 1
            lane[run] = chosen
            last[chosen] = run
            run += 1
        begin = run
    return n_lanes


@kernel
def _follows(before, after, instance_trip, run_shift, stop_times):
    """Return whether trip instance `after` is at no position earlier than `before`, of the same pattern."""
    trip_indptr, arrival, departure = stop_times
    a, b = trip_indptr[instance_trip[before]], trip_indptr[instance_trip[after]]
    n = trip_indptr[instance_trip[before] + 1] - a
    lead = run_shift[after] - run_shift[before]
    for k in range(n - 1, -1, -1):
        if arrival[b + k] + lead < arrival[a + k] or departure[b + k] + lead < departure[a + k]:
            return False
    return True


@kernel
def write_times(instance_trip, run_shift, stop_times, out_arrival, out_departure):
    """Fill the times of all trip instances, one after the other (int32, s); see `assign_lanes`."""
    trip_indptr, arrival, departure = stop_times
    at = 0
    for run in range(instance_trip.size):
        shift = run_shift[run]
        for i in range(trip_indptr[instance_trip[run]], trip_indptr[instance_trip[run] + 1]):
            out_arrival[at] = arrival[i] + shift
            out_departure[at] = departure[i] + shift
            at += 1


@kernel
def link_blocks(block_trip, block_of, on_duty, run_of, ends, stop_lat, stop_lng, most_m, banned, stay_instance):
    """
    Link consecutive trip instances of the same block on one service date.

    Parameters
    ----------
    block_trip : int64 array
        Trips with a block, sorted by block, first departure, last arrival.
    block_of : int32 array of shape (n_trips,)
        Block of each trip.
    on_duty : bool array of shape (n_trips,)
        Whether the service of the trip is active on the date.
    run_of : int32 array of shape (n_trips,)
        Trip instance of each trip on the date, -1 if there is none, such as for a trip outside of the interval.
    ends : TripEnds
    stop_lat, stop_lng : float64 arrays of shape (n_stops,), degrees
    most_m : float
        Longest distance between the last stop of a trip and the first stop of the next, m.
    banned : int64 array
        Pairs of trips ``from << 32 | to``, sorted, between which passengers may not stay seated.
    stay_instance : int32 array of shape (n_runs,)
        Overwritten with the trip instance that the vehicle continues as.
    """
    first, last, first_stop, last_stop = ends
    before = -1
    for trip in block_trip:
        if not on_duty[trip]:
            continue
        is_linked = before >= 0 and run_of[before] >= 0 and run_of[trip] >= 0
        if is_linked and block_of[before] == block_of[trip] and first[trip] >= last[before]:
            a, b = last_stop[before], first_stop[trip]
            is_near = a == b or distance_m(stop_lat[a], stop_lng[a], stop_lat[b], stop_lng[b]) <= most_m
            key = np.int64(before) << 32 | trip
            at = np.searchsorted(banned, key)
            if is_near and not (at < banned.size and banned[at] == key):
                stay_instance[run_of[before]] = run_of[trip]
        before = trip
