"""
Count the departures of a timetable by service date and hour.
"""

from __future__ import annotations

import datetime as dt
from typing import Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import Int64Array, within_rows
from traveltime_lab.transit.timetable import Timetable

_HOUR_S: Final = 3600
_LAST_DATE: Final = dt.date.max.toordinal()


def departures_by_hour(timetable: Timetable, day: dt.date | None = None) -> pd.DataFrame:
    """
    Return the number of departures of each feed by service date and hour, over one week.

    Parameters
    ----------
    timetable : Timetable
    day : date, optional
        A day of the week to count. By default that of ``week_of`` in `Timetable.report`, for each feed its own.

    Returns
    -------
    DataFrame
        ``feed`` (as in `Timetable.report`), ``date``, ``hour`` and ``departures``, with a row for each hour. A
        departure is that of a trip, or of one of its repetitions by frequencies.txt, from its first stop.
    """
    feed, service, hour, count = _departures(timetable)
    parts = []
    for i, (label, facts) in enumerate(timetable.report().items()):
        if day is None and facts["week_of"] == "never":
            continue
        some = (day or dt.date.fromisoformat(facts["week_of"])).toordinal()
        is_own = feed == i
        own_service, own_hour, own_count = service[is_own], hour[is_own], count[is_own]
        least, most = min(0, own_hour.min(initial=0)), max(23, own_hour.max(initial=0))
        monday = some - (some - 1) % 7
        for ordinal in range(monday, min(monday + 7, _LAST_DATE + 1)):
            running = own_count * timetable.services_on(ordinal)[own_service]
            departures = np.bincount(own_hour - least, weights=running, minlength=most - least + 1).astype(np.int64)
            hours = np.arange(least, most + 1)
            parts.append((label, dt.date.fromordinal(ordinal), hours, departures))
    lengths = [hours.size for _, _, hours, _ in parts]
    dates = np.empty(len(parts), object)
    dates[:] = [date for _, date, _, _ in parts]
    return pd.DataFrame(
        {
            "feed": np.repeat(np.array([label for label, _, _, _ in parts], object), lengths),
            "date": np.repeat(dates, lengths),
            "hour": np.concatenate([np.zeros(0, np.int64), *(hours for _, _, hours, _ in parts)]),
            "departures": np.concatenate([np.zeros(0, np.int64), *(number for _, _, _, number in parts)]),
        }
    )


def _departures(timetable: Timetable) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """Return feed, service and hour of departures, and how many there are of each, on a day of the service."""
    hot = timetable.hot
    # The stop times of repeated trips are a template: they depart at start + k * headway, before end.
    plain = np.flatnonzero(~hot.is_repeated)
    start, end, headway = (
        values.astype(np.int64)
        for values in (timetable.frequency_start, timetable.frequency_end, timetable.frequency_headway)
    )
    n_hours = np.maximum((end - 1) // _HOUR_S - start // _HOUR_S + 1, 0)
    row = np.repeat(np.arange(start.size), n_hours)
    hour = start[row] // _HOUR_S + within_rows(n_hours)

    def before(moment: Int64Array) -> Int64Array:
        """Return how many departures of each row are before a moment."""
        passed = np.clip(moment, start[row], end[row]) - start[row]
        return np.asarray(-(-passed // headway[row]))

    repeats = before((hour + 1) * _HOUR_S) - before(hour * _HOUR_S)
    trip = np.concatenate([plain, timetable.frequency_trip[row]]).astype(np.int64)
    hours = np.concatenate([hot.first_departure[plain].astype(np.int64) // _HOUR_S, hour])
    counts = np.concatenate([np.ones(plain.size, np.int64), repeats])
    return hot.trip_feed[trip].astype(np.int64), hot.trip_service[trip].astype(np.int64), hours, counts
