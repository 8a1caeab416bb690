"""
The routes and trips of a timetable as tables.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, IndexArray, Int64Array, chosen_rows, unique_values
from traveltime_lab._checks import composed, did_you_mean, flag, items, words
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError, NoServiceError
from traveltime_lab.kernels.transit import ride_lines
from traveltime_lab.moments import as_date
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.transit.calendar import day_origin
from traveltime_lab.transit.departures import departures_of, runs_on
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.ride_lengths import trip_lines
from traveltime_lab.transit.timetable import Timetable

if TYPE_CHECKING:
    import geopandas as gpd

    from traveltime_lab.network.data import NetworkData


@explained_keywords
def routes_frame(self: NetworkData, *, date: dt.date | str | None = None, only_served: bool = True) -> gpd.GeoDataFrame:
    """
    Return the routes of the timetable with their lines in EPSG:4326, and their departures on a day.

    Parameters
    ----------
    date : date or str, optional
        Service date of the departures, such as ``"2019-05-14"``; by default `typical_day`.
    only_served : bool, default True
        Whether to return only routes with a trip, on any day.

    Returns
    -------
    GeoDataFrame
        One row per route, in the order of the feeds.

        - ``route_id``, ``short_name``, ``long_name``, ``feed`` (name of the feed), ``agency_id``, ``agency`` (name):
          text, empty where not given
        - ``route_type``: int64, that of GTFS
        - ``mode``: text, the mode of legs in results, such as ``"bus"`` or ``"train"``
        - ``color``, ``text_color``: text, six hexadecimal digits as in the feed, empty where not given
        - ``n_trips``: int64, trips on all days; those that ``frequencies.txt`` repeats count once
        - ``n_stops``: int64, different stops of these trips
        - ``n_departures``: int64, departures from first stops on the date, each repetition counted
        - ``first_departure``, ``last_departure``: datetime in the time zone of the network, from first stops on the
          service date, which may be after midnight; NaT without departures
        - ``geometry``: MultiLineString, the different lines of the trips: shapes of the feed from the first to the last
          stop, or straight lines between stops; none without trips

    Raises
    ------
    InputError
        If the network has no timetable, or `date` is no date.
    NoServiceError
        If no feed covers the date.

    See Also
    --------
    trips_frame : The trips of the routes.

    Examples
    --------
    >>> routes = tl.sample_network().routes_frame(date="2019-05-14")
    >>> routes.loc[
    ...     routes["feed"] == "metro",
    ...     ["mode", "n_trips", "n_stops", "n_departures"],
    ... ].to_numpy().tolist()
    [['train', 672, 22, 305], ['train', 576, 2, 224]]
    """
    import geopandas as gpd  # noqa: PLC0415

    flag(only_served, "only_served")
    layer, day = _layer_of(self, "routes"), None
    t = layer.timetable
    day = layer.typical_day if date is None else _covered(t, date)
    routes, departures, runs = t.routes, departures_of(t), runs_on(t, day)
    n, of = len(routes), t.hot.trip_route
    n_trips = np.bincount(of, minlength=n)
    n_departures = np.zeros(n, np.int64)
    first, last = np.full(n, np.iinfo(np.int64).max), np.full(n, np.iinfo(np.int64).min)
    has = np.flatnonzero(runs & (departures.number > 0))
    np.add.at(n_departures, of[has], departures.number[has])
    np.minimum.at(first, of[has], departures.first[has])
    np.maximum.at(last, of[has], departures.last[has])
    agency = t.column("routes", "agency_idx")
    columns = {
        "route_id": _texts(routes, "route_id"),
        "short_name": _texts(routes, "route_short_name"),
        "long_name": _texts(routes, "route_long_name"),
        "feed": _texts(t.feeds, "name")[t.column("routes", "feed_idx")],
        "agency_id": _texts_at(t.agencies, "agency_id", agency),
        "agency": _texts_at(t.agencies, "agency_name", agency),
        "route_type": t.column("routes", "route_type").astype(np.int64),
        "mode": _texts(routes, "mode"),
        "color": _texts(routes, "route_color"),
        "text_color": _texts(routes, "route_text_color"),
        "n_trips": n_trips.astype(np.int64),
        "n_stops": _n_stops(t),
        "n_departures": n_departures,
        "first_departure": _moments(t, first, n_departures > 0, day, self.timezone),
        "last_departure": _moments(t, last, n_departures > 0, day, self.timezone),
    }
    frame = gpd.GeoDataFrame(columns, geometry=_route_lines(layer), crs="EPSG:4326")
    return frame[n_trips > 0].reset_index(drop=True) if only_served else frame


@explained_keywords
def trips_frame(
    self: NetworkData,
    *,
    date: dt.date | str | None = None,
    routes: str | Sequence[str] | None = None,
    geometry: bool = True,
) -> gpd.GeoDataFrame | pd.DataFrame:
    """
    Return the trips of the timetable with their lines in EPSG:4326.

    Parameters
    ----------
    date : date or str, optional
        Return only the trips of this service date, such as ``"2019-05-14"``; by default those of all days.
    routes : str or sequence of str, optional
        Return only the trips of these ``route_id``, of all feeds that have them.
    geometry : bool, default True
        Whether to return lines; a DataFrame without them otherwise.

    Returns
    -------
    GeoDataFrame or DataFrame
        One row per trip, by route, direction and departure.

        - ``trip_id``, ``route_id``, ``route`` (short name, or long name), ``feed``, ``headsign``, ``short_name``: text,
          empty where not given
        - ``service``: int64, a number that trips of the same days have in common, in this network only
        - ``direction_id``: Int8, 0 or 1 as in the feed; NA where not given
        - ``n_stops``: int64
        - ``first_stop``, ``last_stop``: text, ``stop_id``; ``first_stop_name``, ``last_stop_name``
        - ``departure_s``, ``arrival_s``: int64, departure from the first stop and arrival at the last, in seconds after
          noon minus 12 hours of the service date in the time zone of the agency; more than 86,400 after midnight
        - ``n_departures``: int64, 1, or the number of repetitions by ``frequencies.txt``; times are then those of the
          first one
        - ``last_departure_s``: int64, departure of the last repetition
        - ``geometry``: LineString from the first to the last stop along the shape of the feed, or straight from stop to
          stop; none if the stops have no coordinates

    Raises
    ------
    InputError
        If the network has no timetable, `date` is no date, or a route does not exist.
    NoServiceError
        If no feed covers the date.

    See Also
    --------
    routes_frame : The routes.

    Examples
    --------
    >>> trips = tl.sample_network().trips_frame(
    ...     date="2019-05-14", routes="T1"
    ... )
    >>> trips.loc[0, ["n_stops", "departure_s", "arrival_s"]].tolist()
    [67, 21600, 24780]
    """
    import geopandas as gpd  # noqa: PLC0415

    flag(geometry, "geometry")
    layer = _layer_of(self, "trips")
    t = layer.timetable
    chosen = np.ones(t.n_trips, np.bool_) if date is None else runs_on(t, _covered(t, date))
    if routes is not None:
        chosen &= _is_route(t, routes)[t.hot.trip_route]
    departures = departures_of(t)
    direction = t.column("trips", "direction_id").astype(np.int64)
    trips = np.flatnonzero(chosen)
    order = (trips, departures.first[trips], direction[trips], t.hot.trip_route[trips])
    trips = trips[np.lexsort(order)]
    route, first = t.hot.trip_route[trips], departures.first[trips]
    begin, end = (t.pattern_indptr[t.hot.trip_pattern[trips] + k] for k in (0, 1))
    ends = {"first": t.pattern_stop[begin], "last": t.pattern_stop[end - 1]}
    short, long = _texts(t.routes, "route_short_name"), _texts(t.routes, "route_long_name")
    columns = {
        "trip_id": _texts(t.trips, "trip_id")[trips],
        "route_id": _texts(t.routes, "route_id")[route],
        "route": np.where(short == "", long, short)[route],
        "feed": _texts(t.feeds, "name")[t.hot.trip_feed[trips]],
        "headsign": _texts(t.trips, "trip_headsign")[trips],
        "short_name": _texts(t.trips, "trip_short_name")[trips],
        "service": t.hot.trip_service[trips].astype(np.int64),
        "direction_id": pd.array(direction[trips], "Int8"),
        "n_stops": end - begin,
        **{f"{side}_stop": _texts(t.stops, "stop_id")[stop] for side, stop in ends.items()},
        **{f"{side}_stop_name": _texts(t.stops, "stop_name")[stop] for side, stop in ends.items()},
        "departure_s": first,
        "arrival_s": first + t.hot.last_arrival[trips] - t.hot.first_departure[trips],
        "n_departures": departures.number[trips],
        "last_departure_s": departures.last[trips],
    }
    frame = pd.DataFrame(columns)
    frame.loc[direction[trips] < 0, "direction_id"] = pd.NA
    if not geometry:
        return frame
    number, lines = _lines_of(layer, trips)
    return gpd.GeoDataFrame(frame, geometry=lines[number], crs="EPSG:4326")


def _layer_of(network: NetworkData, what: str) -> TransitLayer:
    if network.transit is None:
        raise InputError(f"the network has no timetable, and no {what}; build it with gtfs=, the path of a GTFS feed")
    return network.transit


def _covered(timetable: Timetable, date: Any) -> dt.date:
    """Return a date; raise NoServiceError if no feed covers it."""
    day = as_date(date, "date")
    spans = timetable.named_spans()
    if not any(first is not None and last is not None and first <= day <= last for _, first, last in spans):
        dates = "; ".join(f"{name} runs from {a} to {b}" if a else f"{name} never runs" for name, a, b in spans)
        raise NoServiceError(f"date {day} is outside the dates that the timetable covers: {dates}")
    return day


def _is_route(timetable: Timetable, requested: Any) -> BoolArray:
    """Return which routes have some ids."""
    ids = (requested,) if isinstance(requested, str) else items(requested, "routes", "route_id")
    known = _texts(timetable.routes, "route_id")
    there = set(known)
    for each in ids:
        if words(each, "each of routes") not in there:
            names = timetable.routes[["route_short_name", "route_long_name"]].astype(str).map(composed)
            named = known[(names == composed(each)).any(axis=1).to_numpy()].tolist()
            hint = f"; it is the name of {', '.join(map(repr, named[:5]))}" if named else did_you_mean(each, known)
            raise InputError(f"no route has the id {each!r}{hint}")
    return np.isin(known, list(ids))


def _texts(table: pd.DataFrame, name: str) -> AnyArray:
    return np.asarray(table[name], object)


def _texts_at(table: pd.DataFrame, name: str, rows: AnyArray) -> AnyArray:
    """Return the texts of some rows, empty for -1."""
    texts = np.append(_texts(table, name), "")
    return np.asarray(texts[rows])


def _moments(timetable: Timetable, seconds: Int64Array, is_any: BoolArray, day: dt.date | None, timezone: str) -> Any:
    """Return seconds of a service date, by route, as moments; NaT where there are none."""
    posix = np.full(seconds.size, np.datetime64("NaT", "s"))
    if day is not None:
        zones = timetable.column("routes", "zone_idx")
        for zone in unique_values(zones[is_any]):
            own = is_any & (zones == zone)
            origin = day_origin(day.toordinal(), timetable.zones[zone])
            posix[own] = (seconds[own] + origin).astype("datetime64[s]")
    return pd.DatetimeIndex(posix.astype("datetime64[ns]"), tz="UTC").tz_convert(timezone)


def _n_stops(timetable: Timetable) -> Int64Array:
    """Return the number of different stops of each route."""
    t = timetable
    pairs = unique_values(t.hot.trip_route.astype(np.int64) * (t.pattern_indptr.size) + t.hot.trip_pattern)
    route, pattern = np.divmod(pairs, t.pattern_indptr.size)
    indptr, at = chosen_rows(t.pattern_indptr, pattern)
    of = np.repeat(route, np.diff(indptr))
    stops = unique_values(of * t.n_stops + t.pattern_stop[at]) // max(t.n_stops, 1)
    return np.bincount(stops, minlength=len(t.routes)).astype(np.int64)


def _lines_of(layer: TransitLayer, trips: IndexArray) -> tuple[IndexArray, AnyArray]:
    """Return the number of the line of each trip, and the lines, each of a course, or of a pattern without one."""
    t, lines = layer.timetable, trip_lines(layer)
    course = t.trips["course_idx"].to_numpy()[trips].astype(np.int64)
    pattern = t.hot.trip_pattern[trips].astype(np.int64)
    _, example, number = np.unique(np.where(course >= 0, course, -1 - pattern), return_index=True, return_inverse=True)
    found = np.full(example.size, None, object)
    for k, trip in enumerate(trips[example].tolist()):
        checkpoint()
        line = _line(t, lines, trip)
        if len(line):
            found[k] = shapely.LineString(line if len(line) > 1 else np.repeat(line, 2, axis=0))
    return number, found


def _line(timetable: Timetable, lines: ride_lines.TripLines, trip: int) -> FloatArray:
    """Return the line of a trip from its first to its last stop, without stops that have no coordinates."""
    n = int(timetable.trip_indptr[trip + 1] - timetable.trip_indptr[trip])
    line = ride_lines.trip_line(lines, trip, 0, n - 1)
    return cast(FloatArray, line[np.isfinite(line).all(axis=1)])


def _route_lines(layer: TransitLayer) -> AnyArray:
    """Return the different lines of each route; None without trips."""
    t = layer.timetable
    found = np.full(len(t.routes), None, object)
    number, lines = _lines_of(layer, np.arange(t.n_trips))
    pairs = pd.DataFrame({"route": t.hot.trip_route, "line": number}).drop_duplicates().sort_values(["route", "line"])
    pairs["wkb"] = shapely.to_wkb(lines)[pairs["line"]]
    pairs = pairs[pairs["wkb"].notna()].drop_duplicates(["route", "wkb"])
    routes, owner = np.unique(pairs["route"].to_numpy(), return_inverse=True)
    if routes.size:
        found[routes] = shapely.multilinestrings(lines[pairs["line"].to_numpy()], indices=owner)
    return found
