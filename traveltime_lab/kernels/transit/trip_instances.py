"""
Runs of trips put into patterns in which no run overtakes another, ready for a round-based search.
"""

from __future__ import annotations

import numba
import numpy as np

from traveltime_lab.kernels.transit.stop_times import distance_m


@numba.njit(cache=True, nogil=True)
def assign_lanes(instance_trip, run_shift, run_pattern, trip_indptr, arrival, departure, lane):
    """
    Give each run of a pattern the first lane whose last run it does not overtake; greedy, in the given order.

    Parameters
    ----------
    instance_trip : int32 array of shape (n_runs,)
        Sorted by pattern, then departure.
    run_shift : int32 array of shape (n_runs,), s
        What to add to the times of the trip.
    run_pattern : int32 array of shape (n_runs,)
    trip_indptr, arrival, departure : int64, int32, int32 arrays
        Times of trips.
    lane : int32 array of shape (n_runs,)
        Overwritten with the number of the lane, counted through all patterns.

    Returns
    -------
    int
        Number of lanes.
    """
    n = instance_trip.size
    last = np.zeros(n, np.int64)
    n_lanes = 0
    begin = 0
    while begin < n:
        first_lane = n_lanes
        run = begin
        while run < n and run_pattern[run] == run_pattern[begin]:
            chosen = -1
            for k in range(first_lane, n_lanes):
                if _follows(last[k], run, instance_trip, run_shift, trip_indptr, arrival, departure):
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


@numba.njit(cache=True, nogil=True)
def _follows(before, after, instance_trip, run_shift, trip_indptr, arrival, departure):
    """Return whether a run is nowhere earlier than another of its pattern."""
    a, b = trip_indptr[instance_trip[before]], trip_indptr[instance_trip[after]]
    n = trip_indptr[instance_trip[before] + 1] - a
    lead = run_shift[after] - run_shift[before]
    for k in range(n - 1, -1, -1):
        if arrival[b + k] + lead < arrival[a + k] or departure[b + k] + lead < departure[a + k]:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def write_times(instance_trip, run_shift, trip_indptr, arrival, departure, out_arrival, out_departure):
    """Fill the times of runs one after the other, shifted; int32, s."""
    at = 0
    for run in range(instance_trip.size):
        shift = run_shift[run]
        for i in range(trip_indptr[instance_trip[run]], trip_indptr[instance_trip[run] + 1]):
            out_arrival[at] = arrival[i] + shift
            out_departure[at] = departure[i] + shift
            at += 1


@numba.njit(cache=True, nogil=True)
def calls_by_stop(pattern_indptr, pattern_stops, n_stops):
    """
    Return by stop the (pattern, position) pairs that call there, as CSR: int64 indptr, int32, int32.
    """
    indptr = np.zeros(n_stops + 1, np.int64)
    for stop in pattern_stops:
        indptr[stop + 1] += 1
    for stop in range(n_stops):
        indptr[stop + 1] += indptr[stop]
    at = indptr[:-1].copy()
    patterns = np.zeros(pattern_stops.size, np.int32)
    positions = np.zeros(pattern_stops.size, np.int32)
    for pattern in range(pattern_indptr.size - 1):
        for i in range(pattern_indptr[pattern], pattern_indptr[pattern + 1]):
            stop = pattern_stops[i]
            patterns[at[stop]] = pattern
            positions[at[stop]] = i - pattern_indptr[pattern]
            at[stop] += 1
    return indptr, patterns, positions


@numba.njit(cache=True, nogil=True)
def link_blocks(
    block_trip,
    block_of,
    on_duty,
    run_of,
    first,
    last,
    first_stop,
    last_stop,
    stop_lat,
    stop_lng,
    most_m,
    banned,
    stay_instance,
):
    """
    Link the runs of one service date that a vehicle makes one after the other.

    Parameters
    ----------
    block_trip : int64 array
        Trips with a block, sorted by block, first departure, last arrival.
    block_of : int32 array of shape (n_trips,)
    on_duty : bool array of shape (n_trips,)
        Whether the trip runs on the date at all.
    run_of : int32 array of shape (n_trips,)
        Run of each trip on the date, -1 for none, such as a trip outside of the interval.
    first, last : int32 arrays of shape (n_trips,), s
        First departure and last arrival.
    first_stop, last_stop : int32 arrays of shape (n_trips,)
    stop_lat, stop_lng : float64 arrays
    most_m : float
        Farthest that the next trip may begin from where the one before ends.
    banned : int64 array
        Pairs of trips, ``from << 32 | to``, sorted, between which riders may not stay.
    stay_instance : int32 array of shape (n_runs,)
        Overwritten where a vehicle continues.
    """
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
