"""
Cut the lines of rides out of the shapes of trips, and measure them.

A ride follows the shape of its trip between the places of its two stops. These are given by ``shape_dist_traveled`` for
all stops of a trip; without it they are the places along the shape, none before that of the stop before it, whose
distances to the stops have the least sum. So a stop that a loop passes twice, or that is beside the way back, is where
the stops around it allow. Without a shape a ride is straight from stop to stop. Routes take their lines and lengths
from here, and so do distances without routes: they are equal.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.unreached import NEVER

#: Semi-major axis and squared eccentricity of WGS 84, as in `traveltime_lab.crs`.
WGS84_A_M = 6_378_137.0
WGS84_E2 = 6.694379990141316e-3
#: Lengths from this number of centimetres on are measured each time: `KnownLengths.cm` has 32 bits.
_MOST_CM = 2**31 - 2
#: Places along a shape whose distances to a stop differ by less are equally near: a tenth of a millimetre (assumed).
#: Shapes that go along a street twice have two such places.
SAME_DEGREES = 1e-9
#: Most combinations of stops and segments for which places are searched together: 240 MB. With more, each is the
#: nearest one after that before it.
_MOST_PLACES = 20_000_000
#: Stops that are farther away from their place are not on the shape (assumed: 550 m from north to south, less from west
#: to east), such as the last call of a line that returns to its beginning with the shape of one direction only.
FAR_DEGREES = 0.005
#: Place of a stop that is not known yet.
UNKNOWN_PLACE = -1.0


class TripLines(NamedTuple):
    """Trips, their stops and their shapes."""

    trip_pattern: np.ndarray  # int32 (n_trips,)
    trip_course: np.ndarray  # int32 (n_trips,), a pattern along one shape; -1 for none
    pattern_indptr: np.ndarray  # int64 (n_patterns + 1,)
    pattern_stops: np.ndarray  # int32 (n_positions,)
    stop_lng: np.ndarray  # float64 (n_stops,)
    stop_lat: np.ndarray  # float64 (n_stops,)
    course_indptr: np.ndarray  # int64 (n_courses + 1,), of the positions of a course
    course_place: np.ndarray  # float64, place of each stop along its shape, NaN for none, or UNKNOWN_PLACE; changed
    is_measured: np.ndarray  # bool (n_courses,), whether places are shape_dist_traveled, and not degrees
    course_shape: np.ndarray  # int32 (n_courses,), -1 for none
    shape_indptr: np.ndarray  # int64 (n_shapes + 1,)
    shape_lng: np.ndarray  # float64 (n_points,)
    shape_lat: np.ndarray  # float64 (n_points,)
    shape_along: np.ndarray  # float64 (n_points,), shape_dist_traveled
    shape_degrees: np.ndarray  # float64 (n_points,), length of the shape up to the point, in degrees


class KnownLengths(NamedTuple):
    """
    The lengths of rides on one trip that were measured before.

    Trips of one course, or of one pattern without a shape, have the same lengths between the same positions. A number
    that several threads write at once is the same for each.
    """

    course_begin: np.ndarray  # int64 (n_courses,), where the rides of a course begin in `cm`, -1 for none
    pattern_begin: np.ndarray  # int64 (n_patterns,), the same for trips without a course
    cm: np.ndarray  # int32 (n,), one more than the centimetres from position i to j > i, at j (j - 1) / 2 + i; or 0


@kernel
def length_m(lng_a, lat_a, lng_b, lat_b):
    """Return the metres between two points, as `traveltime_lab.crs.segment_lengths_m` does."""
    phi = math.radians((lat_a + lat_b) / 2.0)
    w2 = 1.0 - WGS84_E2 * math.sin(phi) ** 2
    x = math.radians(WGS84_A_M / math.sqrt(w2) * math.cos(phi))
    y = math.radians(WGS84_A_M * (1.0 - WGS84_E2) / w2**1.5)
    return math.hypot(((lng_b - lng_a + 180.0) % 360.0 - 180.0) * x, (lat_b - lat_a) * y)


@kernel
def whole_cm(metres):
    """Return a length in whole centimetres, rounded half up."""
    return np.int64(math.floor(metres * 100.0 + 0.5))


@kernel
def shape_degrees(indptr, lng, lat):
    """Return the length of each shape up to each of its points, in degrees."""
    out = np.zeros(lng.size, np.float64)
    for shape in range(indptr.size - 1):
        for k in range(indptr[shape] + 1, indptr[shape + 1]):
            out[k] = out[k - 1] + math.hypot(lng[k] - lng[k - 1], lat[k] - lat[k - 1])
    return out


@kernel
def _nearest_along(lng, lat, along, x, y, begin):
    """Return the place along a line, not before `begin`, that is nearest to a point; the first of several."""
    best, place = np.inf, begin
    for k in range(lng.size - 1):
        size = along[k + 1] - along[k]
        if along[k + 1] <= begin or size <= 0.0:
            continue
        dx, dy = lng[k + 1] - lng[k], lat[k + 1] - lat[k]
        first = max(0.0, (begin - along[k]) / size)
        part = ((x - lng[k]) * dx + (y - lat[k]) * dy) / (dx * dx + dy * dy)
        part = min(max(part, first), 1.0)
        squared = (lng[k] + part * dx - x) ** 2 + (lat[k] + part * dy - y) ** 2
        if squared < best * best:
            away = math.sqrt(squared)
            if away < best - SAME_DEGREES:
                best, place = away, along[k] + part * size
    return place


@kernel
def _place_at(lng, lat, along, place):
    """Return the coordinates of a place along a line."""
    last = -1
    for k in range(along.size):
        if along[k] <= place:
            last = k
    if last < 0:
        return lng[0], lat[0]
    if last == along.size - 1:
        return lng[last], lat[last]
    part = (place - along[last]) / (along[last + 1] - along[last])
    return lng[last] + part * (lng[last + 1] - lng[last]), lat[last] + part * (lat[last + 1] - lat[last])


@kernel
def _is_far(lng, lat, along, place, x, y):
    """Return whether a place along a line is farther than FAR_DEGREES from a point."""
    there = _place_at(lng, lat, along, place)
    return math.hypot(there[0] - x, there[1] - y) > FAR_DEGREES


@kernel
def _places_in_order(lng, lat, along, x, y, some, out):
    """Do what `places_along` does, with the points at the indices `some`."""
    n_segments = lng.size - 1
    out[:] = np.nan
    if some.size * n_segments > _MOST_PLACES:
        begin = 0.0
        for i in some:
            begin = _nearest_along(lng, lat, along, x[i], y[i], begin)
            if not _is_far(lng, lat, along, begin, x[i], y[i]):
                out[i] = begin
        return
    # For each point and segment: the place in it, the segment of the point before, and the least sum of distances.
    place = np.empty((some.size, n_segments), np.float64)
    back = np.empty((some.size, n_segments), np.int32)
    cost, before = np.zeros(n_segments, np.float64), np.empty(n_segments, np.float64)
    for row in range(some.size):
        before[:] = cost
        least, least_at = np.inf if row else 0.0, -1
        for k in range(n_segments):
            size = along[k + 1] - along[k]
            cost[k] = np.inf
            if size > 0.0:
                dx, dy = lng[k + 1] - lng[k], lat[k + 1] - lat[k]
                px, py = x[some[row]] - lng[k], y[some[row]] - lat[k]
                part = min(max((px * dx + py * dy) / (dx * dx + dy * dy), 0.0), 1.0)
                cost[k] = least + math.hypot(part * dx - px, part * dy - py)
                place[row, k], back[row, k] = along[k] + part * size, least_at
                if row and before[k] < np.inf:
                    # The point before is on the same segment.
                    later = max(part, min((place[row - 1, k] - along[k]) / size, 1.0))
                    together = before[k] + math.hypot(later * dx - px, later * dy - py)
                    if together < cost[k] - SAME_DEGREES:
                        cost[k] = together
                        place[row, k], back[row, k] = max(along[k] + later * size, place[row - 1, k]), k
            if row and before[k] < least - SAME_DEGREES:
                least, least_at = before[k], k
    least, at = np.inf, -1
    for k in range(n_segments):
        if cost[k] < least - SAME_DEGREES:
            least, at = cost[k], k
    if at < 0:
        return
    for row in range(some.size - 1, -1, -1):
        i = some[row]
        if not _is_far(lng, lat, along, place[row, at], x[i], y[i]):
            out[i] = place[row, at]
        at = np.int64(back[row, at])


@kernel
def places_along(lng, lat, along, x, y, out):
    """
    Find the places along a line, in order, whose distances to some points have the least sum.

    Parameters
    ----------
    lng, lat, along : float64 arrays of shape (n_points,)
        The line, and its length up to each of its points.
    x, y : float64 arrays of shape (n,)
        Points in order; those without coordinates get no place, nor do those farther than `FAR_DEGREES` from the line,
        and none of them moves the places of others.
    out : float64 array of shape (n,)
        Overwritten with the places; NaN for these points and for those farther than `FAR_DEGREES` from their place.
        The first of several equal sums is taken.
    """
    some = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    _places_in_order(lng, lat, along, x, y, some, out)
    is_near = np.isfinite(out[some])
    for k in range(some.size):
        if not is_near[k]:
            point = x[some[k]], y[some[k]]
            is_near[k] = not _is_far(lng, lat, along, _nearest_along(lng, lat, along, *point, 0.0), *point)
    if not is_near.all():
        _places_in_order(lng, lat, along, x, y, some[is_near], out)


@kernel
def trip_line(trips, trip, first, last):
    """
    Return the line of a trip between two positions.

    Parameters
    ----------
    trips : TripLines
    trip, first, last : int
        trip_idx, and positions in its pattern.

    Returns
    -------
    float64 array of shape (n, 2)
        Longitudes and latitudes; one row if the positions are one and there is no shape.
    """
    start = trips.pattern_indptr[trips.trip_pattern[trip]]
    course = trips.trip_course[trip]
    shape = trips.course_shape[course] if course >= 0 else np.int32(-1)
    if shape >= 0 and trips.shape_indptr[shape + 1] - trips.shape_indptr[shape] > 1:
        a, b = trips.shape_indptr[shape], trips.shape_indptr[shape + 1]
        lng, lat = trips.shape_lng[a:b], trips.shape_lat[a:b]
        along = trips.shape_along[a:b] if trips.is_measured[course] else trips.shape_degrees[a:b]
        at = trips.course_indptr[course]
        places = trips.course_place[at : trips.course_indptr[course + 1]]
        if places[first] == UNKNOWN_PLACE or places[last] == UNKNOWN_PLACE:
            # Threads that do the same write the same.
            stops = trips.pattern_stops[start : start + places.size]
            found = np.empty(places.size, np.float64)
            places_along(lng, lat, along, trips.stop_lng[stops], trips.stop_lat[stops], found)
            places[:] = found
        # Beyond the first and the last stop that are on the shape, lines are straight.
        one, two = first, last
        while one < two and not math.isfinite(places[one]):
            one += 1
        while two > one and not math.isfinite(places[two]):
            two -= 1
        begin, end = places[one], places[two]
        if begin < end:
            line = np.empty((lng.size + 2 + last - first, 2), np.float64)
            n = 0
            for k in range(first, one):
                stop = trips.pattern_stops[start + k]
                line[n, 0], line[n, 1] = trips.stop_lng[stop], trips.stop_lat[stop]
                n += 1
            line[n, 0], line[n, 1] = _place_at(lng, lat, along, begin)
            n += 1
            for k in range(lng.size):
                if begin < along[k] < end:
                    line[n, 0], line[n, 1] = lng[k], lat[k]
                    n += 1
            line[n, 0], line[n, 1] = _place_at(lng, lat, along, end)
            n += 1
            for k in range(two + 1, last + 1):
                stop = trips.pattern_stops[start + k]
                line[n, 0], line[n, 1] = trips.stop_lng[stop], trips.stop_lat[stop]
                n += 1
            return line[:n].copy()
    line = np.empty((last - first + 1, 2), np.float64)
    for k in range(line.shape[0]):
        stop = trips.pattern_stops[start + first + k]
        line[k, 0], line[k, 1] = trips.stop_lng[stop], trips.stop_lat[stop]
    return line


@kernel
def line_cm(line):
    """Return the length of a line in whole centimetres."""
    metres = 0.0
    for k in range(line.shape[0] - 1):
        metres += length_m(line[k, 0], line[k, 1], line[k + 1, 0], line[k + 1, 1])
    return whole_cm(metres)


@kernel
def _known_place(trips, known, trip, first, last):
    """Return the place of a ride on one trip in `known.cm`, -1 for none."""
    course = trips.trip_course[trip]
    begin = known.course_begin[course] if course >= 0 else known.pattern_begin[trips.trip_pattern[trip]]
    return begin + last * (last - 1) // 2 + first if begin >= 0 and first < last else np.int64(-1)


@kernel
def ride_cm(trips, known, trip, first, last):
    """Return the centimetres of a ride on one trip; `known` is changed as by `ride_calls`."""
    place = _known_place(trips, known, trip, first, last)
    if place >= 0 and known.cm[place] > 0:
        return np.int64(known.cm[place]) - 1
    line = trip_line(trips, trip, first, last)
    cm = line_cm(line)
    if place >= 0 and cm < _MOST_CM:
        known.cm[place] = cm + 1
    return np.int64(cm)


@kernel
def ride_calls(trips, known, instance_trip, stay_instance, board_run, board_position, alight_run, alight_position):
    """
    Return the trips of rides, several if passengers stay seated, with the length of each.

    A ride goes straight from the end of one trip to the beginning of the next. Boarding where a trip ends,
    or alighting where it begins, is no ride on it.

    Parameters
    ----------
    trips : TripLines
    known : KnownLengths
        Changed: the lengths of rides on one trip are added.
    instance_trip, stay_instance : int32 arrays of shape (n_runs,)
        trip_idx of trip instances, and the trip instance that each continues as.
    board_run, board_position, alight_run, alight_position : int32 arrays of shape (n_rides,)

    Returns
    -------
    indptr : int64 array of shape (n_rides + 1,)
        Index pointer of the trips of each ride, in travel order.
    calls : int64 array of shape (n_calls, 4)
        trip_idx, the first and the last position in its pattern, and centimetres.
    """
    indptr, stops, pattern_of = trips.pattern_indptr, trips.pattern_stops, trips.trip_pattern
    call_indptr = np.zeros(board_run.size + 1, np.int64)
    out = np.empty((board_run.size + 8, 4), np.int64)
    n = 0
    for i in range(board_run.size):
        run, first, is_on, stop, x, y = board_run[i], np.int64(board_position[i]), False, np.int32(-1), 0.0, 0.0
        while True:
            is_end = run == alight_run[i]
            trip = np.int64(instance_trip[run])
            begin = indptr[pattern_of[trip]]
            last = np.int64(alight_position[i]) if is_end else indptr[pattern_of[trip] + 1] - begin - 1
            place = np.int64(-1)
            if is_end and not is_on:
                place = _known_place(trips, known, trip, first, last)
                if place >= 0 and known.cm[place] > 0:
                    if n == out.shape[0]:
                        out = np.concatenate((out, np.empty_like(out)))
                    out[n, 0], out[n, 1], out[n, 2], out[n, 3] = trip, first, last, np.int64(known.cm[place]) - 1
                    n += 1
                    break
            is_idle = False
            if first == last and is_end:
                is_idle = is_on and stops[begin + first] == stop
            elif first == last and run == board_run[i]:
                is_idle = stops[begin + first] == stops[indptr[pattern_of[instance_trip[stay_instance[run]]]]]
            if not is_idle:
                line = trip_line(trips, trip, first, last)
                metres = length_m(x, y, line[0, 0], line[0, 1]) if is_on else 0.0
                for k in range(line.shape[0] - 1):
                    metres += length_m(line[k, 0], line[k, 1], line[k + 1, 0], line[k + 1, 1])
                if n == out.shape[0]:
                    out = np.concatenate((out, np.empty_like(out)))
                cm = whole_cm(metres)
                out[n, 0], out[n, 1], out[n, 2], out[n, 3] = trip, first, last, cm
                n += 1
                if place >= 0 and cm < _MOST_CM:
                    known.cm[place] = cm + 1
                x, y = line[line.shape[0] - 1, 0], line[line.shape[0] - 1, 1]
                is_on, stop = True, stops[begin + last]
            if is_end:
                break
            run, first = stay_instance[run], np.int64(0)
        call_indptr[i + 1] = n
    return call_indptr, out[:n].copy()


@kernel
def summed(before, own):
    """Return for each leg the sum of its own values and those of the legs before it, which come earlier."""
    out = own.copy()
    for leg in range(before.size):
        if before[leg] >= 0:
            out[leg] += out[before[leg]]
    return out


@kernel
def best_link(links, times, point):
    """
    Return how a point is reached fastest from, or reaches, a stop.

    Parameters
    ----------
    links : StopLinks
    times : int32 array of shape (n_stops,)
        Times at the stops, `NEVER` where there is no journey.
    point : int

    Returns
    -------
    int
        Position of the link; ties go to the first stop; -1 if there is none.
    """
    indptr, stops, ms = links
    least, best, nearest = np.int64(NEVER), np.int64(-1), np.int32(0)
    for k in range(indptr[point], indptr[point + 1]):
        stop = stops[k]
        # Times without a journey are never less than the first bound.
        time = np.int64(times[stop]) + ms[k]
        if time < least or (time == least and stop < nearest):
            least, best, nearest = time, k, stop
    return best


@kernel
def best_links(links, times):
    """
    Return how each point is reached fastest from, or reaches, a stop; see `best_link`.

    Returns
    -------
    int64 array of shape (n_points,)
        Positions of the links.
    """
    out = np.empty(links.indptr.size - 1, np.int64)
    for point in range(out.size):
        out[point] = best_link(links, times, point)
    return out
