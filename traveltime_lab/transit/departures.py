"""
The departures of trips, with the repetitions of frequencies.txt, and their numbers by route.
"""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

import numpy as np

from traveltime_lab._arrays import BoolArray, Int64Array
from traveltime_lab.transit.timetable import Timetable


class Departures(NamedTuple):
    """
    The departures of trips from their first stops, on a service date on which they run.

    Attributes
    ----------
    number : int64 array of shape (n_trips,)
        1, or the number of repetitions.
    first, last : int64 arrays of shape (n_trips,), s
        First and last departure, after noon minus 12 hours of the date; undefined where there is none.
    """

    number: Int64Array
    first: Int64Array
    last: Int64Array


def departures_of(timetable: Timetable) -> Departures:
    """Return the departures of each trip."""
    hot, trip = timetable.hot, timetable.frequency_trip
    number = (~hot.is_repeated).astype(np.int64)
    first = hot.first_departure.astype(np.int64)
    last = first.copy()
    start, end, headway = (
        values.astype(np.int64)
        for values in (timetable.frequency_start, timetable.frequency_end, timetable.frequency_headway)
    )
    times = -(-(end - start) // headway)
    np.add.at(number, trip, times)
    first[trip], last[trip] = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    np.minimum.at(first, trip, start)
    np.maximum.at(last, trip, start + (times - 1) * headway)
    return Departures(number, first, last)


def runs_on(timetable: Timetable, date: dt.date | int | None) -> BoolArray:
    """Return which trips run on a service date; none for None."""
    if date is None:
        return np.zeros(timetable.n_trips, np.bool_)
    return np.asarray(timetable.services_on(date)[timetable.hot.trip_service])


def by_route(timetable: Timetable, date: dt.date | int | None) -> Int64Array:
    """Return the number of departures of each route on a service date, shape (n_routes,)."""
    weights = departures_of(timetable).number * runs_on(timetable, date)
    found = np.zeros(len(timetable.routes), np.int64)
    np.add.at(found, timetable.hot.trip_route, weights)
    return found
