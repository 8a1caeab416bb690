"""
The trips of a timetable as kernels take them to draw and measure rides, and the lengths of rides that are kept.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from traveltime_lab.kernels.transit import ride_lines
from traveltime_lab.kernels.transit.ride_lines import KnownLengths, TripLines
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.stop_reach import array
from traveltime_lab.transit.timetable import Timetable

#: Most lengths of rides that are kept: 256 MB. Memory is taken for those that are measured.
_MOST_KNOWN: Final = 1 << 26
_TRIP_LINES = Derived[None, TripLines]("lines of trips")
_KNOWN = Derived[None, KnownLengths]("lengths of rides")


def trip_lines(layer: TransitLayer) -> TripLines:
    """Return the trips, stops and shapes of a timetable as kernels take them."""
    return _TRIP_LINES.of(layer, None, lambda: _trip_lines(layer.timetable))


def _trip_lines(t: Timetable) -> TripLines:
    n_shapes = t.shape_indptr.size - 1
    is_finite = np.ones(n_shapes, np.bool_)
    owner = np.repeat(np.arange(n_shapes), np.diff(t.shape_indptr))
    is_finite[owner[~np.isfinite(t.shape_along)]] = False
    filled = np.flatnonzero(np.diff(t.shape_indptr) > 0)
    grows = np.zeros(n_shapes, np.bool_)
    grows[filled] = t.shape_along[t.shape_indptr[filled + 1] - 1] > t.shape_along[t.shape_indptr[filled]]
    # Places are distances where all stops of a course have one; others are found when they are needed.
    is_measured = np.append(is_finite & grows, False)[t.course_shape]  # -1 is no shape
    course_of = np.repeat(np.arange(t.course_shape.size), np.diff(t.course_indptr))
    is_measured[course_of[~np.isfinite(t.course_along)]] = False
    place = np.where(is_measured[course_of], t.course_along.astype(np.float64), ride_lines.UNKNOWN_PLACE)
    return TripLines(
        array(t.hot.trip_pattern, np.int32),
        array(t.trips["course_idx"].to_numpy(), np.int32),
        array(t.pattern_indptr, np.int64),
        array(t.pattern_stop, np.int32),
        array(t.column("stops", "stop_lon"), np.float64),
        array(t.column("stops", "stop_lat"), np.float64),
        array(t.course_indptr, np.int64),
        array(place, np.float64),
        array(is_measured, np.bool_),
        array(t.course_shape, np.int32),
        array(t.shape_indptr, np.int64),
        array(t.shape_lng, np.float64),
        array(t.shape_lat, np.float64),
        array(t.shape_along, np.float64),
        ride_lines.shape_degrees(
            array(t.shape_indptr, np.int64), array(t.shape_lng, np.float64), array(t.shape_lat, np.float64)
        ),
    )


def known_lengths(layer: TransitLayer) -> KnownLengths:
    """Return where the lengths of rides are kept."""
    return _KNOWN.of(layer, None, lambda: _no_lengths(layer.timetable))


def _no_lengths(t: Timetable) -> KnownLengths:
    """Make room for the lengths of rides between all positions of each course, and of each pattern without one."""
    n_courses, n_patterns = t.course_indptr.size - 1, t.pattern_indptr.size - 1
    course = t.trips["course_idx"].to_numpy()
    is_straight = np.zeros(n_patterns, np.bool_)
    is_straight[t.hot.trip_pattern[course < 0]] = True
    n = np.concatenate([np.diff(t.course_indptr), np.where(is_straight, np.diff(t.pattern_indptr), 0)]).astype(np.int64)
    ends = np.cumsum(n * (n - 1) // 2)
    begin = np.where(ends <= _MOST_KNOWN, ends - n * (n - 1) // 2, -1)
    size = int(ends[ends <= _MOST_KNOWN].max(initial=0))
    return KnownLengths(begin[:n_courses].copy(), begin[n_courses:].copy(), np.zeros(size, np.int32))


def straight_cm(lines: TripLines, a: int, b: int) -> int:
    """Return the centimetres of the straight line between two stops."""
    metres = ride_lines.length_m(lines.stop_lng[a], lines.stop_lat[a], lines.stop_lng[b], lines.stop_lat[b])
    return int(ride_lines.whole_cm(metres))
