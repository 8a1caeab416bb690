"""
Fill in missing stop times and check trips.

All arrays have one entry per stop time, sorted by trip and stop sequence; ``indptr`` (int64) says where each trip
begins. Times are int32 seconds after noon minus 12 h of the service date, `UNTIMED` where the feed gives none.
"""

from __future__ import annotations

import math

import numpy as np

from traveltime_lab.kernels.compiled import kernel

UNTIMED = np.int32(-1)

#: Values that `fill_times` writes to `status`.
OK, TOO_SHORT, NO_END_TIMES, BACK_IN_TIME = 0, 1, 2, 3

#: Mean radius of the WGS84 ellipsoid, metres (IUGG).
_EARTH_RADIUS_M = 6371008.8


@kernel
def distance_m(lat_a, lng_a, lat_b, lng_b):
    """Return the great-circle distance of two points in degrees, in metres; NaN if one has no coordinates."""
    phi_a, phi_b = math.radians(lat_a), math.radians(lat_b)
    half_phi = (phi_b - phi_a) / 2.0
    half_lng = math.radians(lng_b - lng_a) / 2.0
    h = math.sin(half_phi) ** 2 + math.cos(phi_a) * math.cos(phi_b) * math.sin(half_lng) ** 2
    return 2.0 * _EARTH_RADIUS_M * math.asin(math.sqrt(min(1.0, h)))


@kernel
def fill_times(indptr, stop, arrival, departure, along, stop_lat, stop_lng, status, culprit, n_filled):
    """
    Interpolate missing times between timepoints and check that times do not decrease along a trip.

    If only the arrival or only the departure of a stop time is given, both are equal. Between two stop times with times
    the others are interpolated by ``shape_dist_traveled`` if the feed gives it for all of them, otherwise by the
    straight-line distances between the stops, or in equal steps if these are zero or a stop has no coordinates.

    Parameters
    ----------
    indptr : int64 array of shape (n_trips + 1,)
    stop : int32 array of shape (n_calls,)
        stop_idx of each stop time.
    arrival, departure : int32 arrays of shape (n_calls,), s
        Overwritten where `UNTIMED`.
    along : float64 array of shape (n_calls,) or (0,)
        ``shape_dist_traveled``, NaN where not given.
    stop_lat, stop_lng : float64 arrays of shape (n_stops,), degrees
    status : uint8 array of shape (n_trips,)
        Overwritten with `OK`, `TOO_SHORT`, `NO_END_TIMES` or `BACK_IN_TIME`.
    culprit : int64 array of shape (n_trips,)
        Overwritten with the position of the stop time that the status refers to.
    n_filled : int64 array of shape (3,)
        Numbers of stop times interpolated by ``shape_dist_traveled``, by straight lines and in equal steps; increased.
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


@kernel
def _share_out(start, end, stop, arrival, departure, along, stop_lat, stop_lng, n_filled):
    """Interpolate the times between two stop times with times."""
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
        # Rounding must not exceed the next given time.
        arrival[i] = departure[i] = min(moment, arrival[end])


@kernel
def _step_m(i, stop, stop_lat, stop_lng):
    a, b = stop[i - 1], stop[i]
    return distance_m(stop_lat[a], stop_lng[a], stop_lat[b], stop_lng[b])


@kernel
def gather_rows(indptr, order, values, out):
    """Fill `out` with the values of the rows of a CSR in the order of `order`."""
    at = 0
    for row in order:
        for i in range(indptr[row], indptr[row + 1]):
            out[at] = values[i]
            at += 1


@kernel
def service_spans(weekdays, start, end, exception_indptr, exception_date, exception_added, first, last):
    """
    Find the first and the last service date of each service.

    Parameters
    ----------
    weekdays : uint8 array of shape (n_services,)
        Weekdays of ``calendar.txt``; bit 0 is Monday.
    start, end : int32 arrays of shape (n_services,)
        Dates of ``calendar.txt`` as proleptic ordinals, `start` > `end` for services without a calendar.
    exception_indptr, exception_date, exception_added : int64, int32, bool arrays
        CSR of the exceptions of each service, sorted by date, and whether they add service.
    first, last : int32 arrays of shape (n_services,)
        Overwritten with proleptic ordinals, `first` > `last` for a service without dates.
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
