"""
Stop times of trips: missing times filled in, trips checked, trips with the same calls put into one pattern.

All arrays have one entry per call, those of one trip side by side and in order; ``indptr`` (int64) says where each trip
begins. Times are int32 seconds after noon minus 12 h of the service date, `UNTIMED` where the feed gives none.
"""

from __future__ import annotations

import math

import numba
import numpy as np

UNTIMED = np.int32(-1)

#: What `fill_times` says of a trip.
OK, TOO_SHORT, NO_END_TIMES, BACK_IN_TIME = 0, 1, 2, 3

#: Mean radius of the WGS84 ellipsoid, metres (IUGG).
_EARTH_RADIUS_M = 6371008.8


@numba.njit(cache=True, nogil=True)
def distance_m(lat_a, lng_a, lat_b, lng_b):
    """Return the great-circle metres between two places in degrees; NaN if one of them has no coordinates."""
    phi_a, phi_b = math.radians(lat_a), math.radians(lat_b)
    half_phi = (phi_b - phi_a) / 2.0
    half_lng = math.radians(lng_b - lng_a) / 2.0
    h = math.sin(half_phi) ** 2 + math.cos(phi_a) * math.cos(phi_b) * math.sin(half_lng) ** 2
    return 2.0 * _EARTH_RADIUS_M * math.asin(math.sqrt(min(1.0, h)))


@numba.njit(cache=True, nogil=True)
def fill_times(indptr, stop, arrival, departure, along, stop_lat, stop_lng, status, culprit, n_filled):
    """
    Fill in missing times between timed calls and check that no trip goes back in time.

    A call with only one of its two times has both equal. The time between two timed calls is shared out by distance
    travelled if the feed gives it for all calls between, else by the straight lines between the stops, evenly where
    these have no length or no coordinates.

    Parameters
    ----------
    indptr : int64 array of shape (n_trips + 1,)
    stop : int32 array of shape (n_calls,)
    arrival, departure : int32 arrays of shape (n_calls,), s
        Overwritten where `UNTIMED`.
    along : float64 array of shape (n_calls,) or (0,)
        ``shape_dist_traveled``, NaN where not given.
    stop_lat, stop_lng : float64 arrays of shape (n_stops,), degrees
    status : uint8 array of shape (n_trips,)
        Overwritten with `OK`, `TOO_SHORT`, `NO_END_TIMES` or `BACK_IN_TIME`.
    culprit : int64 array of shape (n_trips,)
        Overwritten with the call that is to blame.
    n_filled : int64 array of shape (3,)
        Counts of calls filled by distance travelled, by straight lines, evenly; added to.
    """
    for trip in range(indptr.size - 1):
        first, after = indptr[trip], indptr[trip + 1]
        culprit[trip] = first
        if after - first < 2:
            status[trip] = TOO_SHORT
            continue
        for i in range(first, after):
            if arrival[i] == UNTIMED:
                arrival[i] = departure[i]
            if departure[i] == UNTIMED:
                departure[i] = arrival[i]
        if departure[first] == UNTIMED or arrival[after - 1] == UNTIMED:
            status[trip] = NO_END_TIMES
            culprit[trip] = first if departure[first] == UNTIMED else after - 1
            continue
        status[trip] = OK
        last = first
        if departure[first] < arrival[first]:
            status[trip] = BACK_IN_TIME
        for i in range(first + 1, after):
            if arrival[i] == UNTIMED:
                continue
            if arrival[i] < departure[last] or departure[i] < arrival[i]:
                status[trip] = BACK_IN_TIME
                culprit[trip] = i
                break
            if i > last + 1:
                _share_out(last, i, stop, arrival, departure, along, stop_lat, stop_lng, n_filled)
            last = i


@numba.njit(cache=True, nogil=True)
def _share_out(start, end, stop, arrival, departure, along, stop_lat, stop_lng, n_filled):
    """Fill the times between two timed calls."""
    by_distance = along.size > 0 and along[end] > along[start]
    if by_distance:
        for i in range(start + 1, end + 1):
            by_distance &= along[i] >= along[i - 1]
    length = 0.0
    if not by_distance:
        for i in range(start + 1, end + 1):
            length += _step_m(i, stop, stop_lat, stop_lng)
    by_lines = not by_distance and length > 0.0  # False for NaN
    begin = departure[start]
    span = arrival[end] - begin
    walked = 0.0
    for i in range(start + 1, end):
        if by_distance:
            share = (along[i] - along[start]) / (along[end] - along[start])
            n_filled[0] += 1
        elif by_lines:
            walked += _step_m(i, stop, stop_lat, stop_lng)
            share = walked / length
            n_filled[1] += 1
        else:
            share = (i - start) / (end - start)
            n_filled[2] += 1
        moment = begin + np.int32(math.floor(span * share + 0.5))
        # Rounding up at the very end may not pass the next timed call.
        arrival[i] = departure[i] = min(moment, arrival[end])


@numba.njit(cache=True, nogil=True)
def _step_m(i, stop, stop_lat, stop_lng):
    a, b = stop[i - 1], stop[i]
    return distance_m(stop_lat[a], stop_lng[a], stop_lat[b], stop_lng[b])


@numba.njit(cache=True, nogil=True)
def group_rows(indptr, keys):
    """
    Give trips with the same keys at all of their calls the same number.

    Parameters
    ----------
    indptr : int64 array of shape (n_trips + 1,)
    keys : int64 array of shape (n_calls,)
        Whatever has to be equal, packed into one number.

    Returns
    -------
    group : int32 array of shape (n_trips,)
        In order of first appearance.
    leader : int64 array of shape (n_groups,)
        First trip of each group.
    """
    n = indptr.size - 1
    size = 16
    while size < 2 * n:
        size *= 2
    # An open hash table of group numbers; every hit is compared call by call, so equal hashes are harmless.
    table = np.full(size, -1, np.int64)
    hashes = np.zeros(n, np.uint64)
    group = np.zeros(n, np.int32)
    leader = np.zeros(n, np.int64)
    n_groups = 0
    for trip in range(n):
        first, after = indptr[trip], indptr[trip + 1]
        h = np.uint64(1469598103934665603) ^ np.uint64(after - first)
        for i in range(first, after):
            h = (h ^ np.uint64(keys[i])) * np.uint64(1099511628211)
            h ^= h >> np.uint64(29)
        at = np.int64(h & np.uint64(size - 1))
        while True:
            found = table[at]
            if found < 0:
                table[at] = n_groups
                hashes[n_groups] = h
                leader[n_groups] = trip
                group[trip] = n_groups
                n_groups += 1
                break
            if hashes[found] == h and _same(indptr, keys, trip, leader[found]):
                group[trip] = found
                break
            at = (at + 1) & (size - 1)
    return group, leader[:n_groups].copy()


@numba.njit(cache=True, nogil=True)
def _same(indptr, keys, a, b):
    if indptr[a + 1] - indptr[a] != indptr[b + 1] - indptr[b]:
        return False
    same = True
    for k in range(indptr[a + 1] - indptr[a]):
        same &= keys[indptr[a] + k] == keys[indptr[b] + k]
    return same


@numba.njit(cache=True, nogil=True)
def gather_rows(indptr, order, values, out):
    """Fill `out` with the values of the rows of a CSR in another order."""
    at = 0
    for row in order:
        for i in range(indptr[row], indptr[row + 1]):
            out[at] = values[i]
            at += 1


@numba.njit(cache=True, nogil=True)
def service_spans(weekdays, start, end, exception_indptr, exception_date, exception_added, first, last):
    """
    Fill the first and last date of each service as ordinals, `first` > `last` for a service that never runs.

    Parameters
    ----------
    weekdays : uint8 array of shape (n_services,)
        Bit 0 is Monday.
    start, end : int32 arrays of shape (n_services,)
        Ordinals of the calendar's dates, `start` > `end` for none.
    exception_indptr, exception_date, exception_added : int64, int32 and bool arrays
        By service and date.
    first, last : int32 arrays of shape (n_services,)
    """
    for service in range(weekdays.size):
        begin, stop = exception_indptr[service], exception_indptr[service + 1]
        low, high = np.int32(2_000_000_000), np.int32(-1)
        for i in range(begin, stop):
            if exception_added[i]:
                low = min(low, exception_date[i])
                high = max(high, exception_date[i])
        if weekdays[service]:
            date = start[service]
            at = begin
            while date <= end[service] and date < low:
                while at < stop and exception_date[at] < date:
                    at += 1
                if weekdays[service] >> ((date - 1) % 7) & 1 and not (at < stop and exception_date[at] == date):
                    low = date
                    break
                date += 1
            date = end[service]
            at = stop - 1
            while date >= start[service] and date > high:
                while at >= begin and exception_date[at] > date:
                    at -= 1
                if weekdays[service] >> ((date - 1) % 7) & 1 and not (at >= begin and exception_date[at] == date):
                    high = date
                    break
                date -= 1
        first[service], last[service] = low, high
