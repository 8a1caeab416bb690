"""
Columns of a timetable that searches use, by trip.
"""

from __future__ import annotations

from dataclasses import dataclass

from traveltime_lab._arrays import BoolArray, Int32Array


@dataclass(frozen=True)
class HotColumns:
    """
    Columns by trip that searches use.

    Attributes
    ----------
    trip_route, trip_service, trip_pattern, trip_block, trip_zone, trip_feed : int32 arrays of shape (n_trips,)
    first_departure, last_arrival : int32 arrays of shape (n_trips,), s
    is_repeated : bool array of shape (n_trips,)
        Whether the trip is in frequencies.txt, so that its own stop times are only a template.
    """

    trip_route: Int32Array
    trip_service: Int32Array
    trip_pattern: Int32Array
    trip_block: Int32Array
    trip_zone: Int32Array
    trip_feed: Int32Array
    first_departure: Int32Array
    last_arrival: Int32Array
    is_repeated: BoolArray
