"""
Find trips of a timetable that may be wrong: those that overtake others of their pattern, and those that are very fast.
"""

from __future__ import annotations

import datetime as dt
from typing import Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import AnyArray, FloatArray, Int64Array
from traveltime_lab.crs import segment_lengths_m
from traveltime_lab.transit.timetable import Timetable

#: Highest plausible speed between two stops by mode, km/h (assumed); others have that of trains.
FASTEST_KPH: Final = {
    "bus": 130.0, "coach": 130.0, "rail_underground": 130.0, "ferry": 90.0, "cable_car": 60.0, "train": 350.0,
    "plane": 1000.0,
}  # fmt: skip
#: Times of many feeds are whole minutes: a ride may take so much longer than they say.
_ROUNDING_S: Final = 60


def overtaking_trips(timetable: Timetable) -> pd.DataFrame:
    """
    Return the trips that leave the first stop of their pattern later and arrive at another stop earlier.

    Returns
    -------
    DataFrame
        ``feed``, ``date`` (of the week named by ``week_of`` in `Timetable.report`, on which both run), ``route_id``,
        ``trip_id``, ``overtaken`` (the trip that it overtakes by most), ``stop_id`` (where) and ``seconds`` (by how
        much). A row for each trip that overtakes, on the first of those days. Repeated trips of frequencies.txt have no
        times of their own and are left out.
    """
    hot, rows = timetable.hot, []
    for number, (label, facts) in enumerate(timetable.report().items()):
        if facts["week_of"] == "never":
            continue
        seen: set[int] = set()
        monday = dt.date.fromisoformat(facts["week_of"]).toordinal()
        for ordinal in range(monday, min(monday + 7, dt.date.max.toordinal() + 1)):
            runs = timetable.services_on(ordinal)[hot.trip_service] & ~hot.is_repeated & (hot.trip_feed == number)
            trips = np.flatnonzero(runs)
            for trip, other, position, seconds in _overtakings(timetable, trips):
                if trip not in seen:
                    seen.add(trip)
                    stop = timetable.pattern_stop[timetable.pattern_indptr[hot.trip_pattern[trip]] + position]
                    rows.append((label, dt.date.fromordinal(ordinal), trip, other, stop, seconds))
    columns = ["feed", "date", "trip", "other", "stop", "seconds"]
    found = pd.DataFrame(rows, columns=columns)
    trip, other, stop = (found[name].to_numpy(np.int64) for name in ("trip", "other", "stop"))
    ids = timetable.trips["trip_id"].to_numpy(object)
    return pd.DataFrame(
        {
            "feed": found["feed"],
            "date": found["date"],
            "route_id": timetable.routes["route_id"].to_numpy(object)[hot.trip_route[trip]],
            "trip_id": ids[trip],
            "overtaken": ids[other],
            "stop_id": timetable.stops["stop_id"].to_numpy(object)[stop],
            "seconds": found["seconds"].to_numpy(np.int64),
        }
    )


def _overtakings(timetable: Timetable, trips: Int64Array) -> list[tuple[int, int, int, int]]:
    """Return trip, overtaken trip, position in the pattern and seconds, of trips that run on one day."""
    hot, found = timetable.hot, []
    # By pattern, and by the departure from its first stop.
    order = trips[np.lexsort((hot.first_departure[trips], hot.trip_pattern[trips]))]
    starts = np.flatnonzero(np.diff(hot.trip_pattern[order], prepend=-1))
    for group in np.split(order, starts[1:]) if order.size else ():
        if group.size < 2:
            continue
        first = timetable.trip_indptr[group]
        length = int(timetable.trip_indptr[group[0] + 1] - first[0])
        arrival = timetable.arrival[first[:, None] + np.arange(length)].astype(np.int64)
        leaving = hot.first_departure[group]
        latest = np.maximum.accumulate(arrival, axis=0)
        # Trips that leave at the same time do not overtake each other.
        earlier = np.searchsorted(leaving, leaving, side="left") - 1
        ahead = np.where((earlier >= 0)[:, None], latest[np.maximum(earlier, 0)], arrival) - arrival
        ahead[:, 0] = 0
        for i in np.flatnonzero((ahead > 0).any(axis=1)).tolist():
            position = int(ahead[i].argmax())
            other = int(arrival[: earlier[i] + 1, position].argmax())
            found.append((int(group[i]), int(group[other]), position, int(ahead[i, position])))
    return found


def fast_rides(timetable: Timetable) -> pd.DataFrame:
    """
    Return the rides between two stops of a trip that are faster than their mode allows, also if times were rounded.

    Returns
    -------
    DataFrame
        ``feed``, ``route_id``, ``mode``, ``from_stop``, ``to_stop`` (rows of the table of stops), ``km`` (in a straight
        line), ``seconds`` (of the fastest trip), ``kph`` and ``trips`` (number of trips that are as doubtful). A row
        for each route and pair of stops that follow each other.
    """
    hot = timetable.hot
    n_times = np.diff(timetable.trip_indptr)
    trip = np.repeat(np.arange(n_times.size), n_times)
    is_last = np.zeros(trip.size, np.bool_)
    is_last[timetable.trip_indptr[1:][n_times > 0] - 1] = True
    here = np.flatnonzero(~is_last)
    trip = trip[here]
    position = here - timetable.trip_indptr[trip]
    at = timetable.pattern_indptr[hot.trip_pattern[trip]] + position
    start, end = timetable.pattern_stop[at], timetable.pattern_stop[at + 1]
    seconds = timetable.arrival[here + 1].astype(np.int64) - timetable.departure[here]
    metres = _metres(timetable, start, end)
    mode = timetable.column("routes", "mode")[hot.trip_route[trip]]
    fastest = np.array([FASTEST_KPH.get(str(name), FASTEST_KPH["train"]) for name in mode], np.float64)
    is_fast = metres > fastest / 3.6 * (seconds + _ROUNDING_S)
    rides = pd.DataFrame(
        {
            "route": hot.trip_route[trip][is_fast],
            "from_stop": start[is_fast],
            "to_stop": end[is_fast],
            "km": metres[is_fast] / 1000.0,
            "seconds": seconds[is_fast],
        }
    )
    rides = rides.groupby(["route", "from_stop", "to_stop"], as_index=False).agg(
        km=("km", "first"), seconds=("seconds", "min"), trips=("seconds", "size")
    )
    route, labels = rides["route"].to_numpy(), np.array(list(timetable.report()), object)
    with np.errstate(divide="ignore"):
        kph = rides["km"].to_numpy() / (rides["seconds"].to_numpy() / 3600.0)
    return pd.DataFrame(
        {
            "feed": labels[timetable.column("routes", "feed_idx")[route]],
            "route_id": timetable.routes["route_id"].to_numpy(object)[route],
            "mode": timetable.column("routes", "mode")[route],
            "from_stop": rides["from_stop"],
            "to_stop": rides["to_stop"],
            "km": rides["km"],
            "seconds": rides["seconds"],
            "kph": kph,
            "trips": rides["trips"],
        }
    )


def _metres(timetable: Timetable, start: AnyArray, end: AnyArray) -> FloatArray:
    """Return the straight lines between stops in metres, NaN where a stop has no coordinates."""
    lng, lat = (timetable.column("stops", name).astype(np.float64) for name in ("stop_lon", "stop_lat"))
    pairs, which = np.unique(start.astype(np.int64) * timetable.n_stops + end, return_inverse=True)
    a, b = np.divmod(pairs, max(timetable.n_stops, 1))
    # Every second segment of the sequence a0, b0, a1, b1, ...
    ends = np.stack([a, b], axis=1).ravel()
    lengths = segment_lengths_m(lng[ends], lat[ends])[::2] if ends.size else np.empty(0)
    return np.asarray(lengths[which])
