"""
New stops and lines in a timetable, in a feed of their own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import Int32Array, Int64Array, indptr_of
from traveltime_lab.crs import segment_lengths_m
from traveltime_lab.errors import InputError
from traveltime_lab.scenarios.changes import seconds_of
from traveltime_lab.scenarios.transit_changes import DAYS, AddLine, AddStop
from traveltime_lab.scenarios.trips import TripCopies, with_trips
from traveltime_lab.transit.calendar import Services
from traveltime_lab.transit.route_types import route_class
from traveltime_lab.transit.stop_sequences import StopSequences
from traveltime_lab.transit.timetable import Timetable

#: Name of the feed of new lines and stops.
FEED: Final = "changes"


def _appended(frame: pd.DataFrame, **columns: Any) -> pd.DataFrame:
    """Return a table with rows added; columns that are not given are empty texts or zeros."""
    n = len(next(iter(columns.values())))
    new = {}
    for name, series in frame.items():
        is_number = pd.api.types.is_numeric_dtype(series.dtype)
        empty = np.zeros(n) if is_number else np.full(n, "", object)
        # Texts of a table without rows have any type.
        new[name] = pd.Series(columns.get(name, empty), dtype=series.dtype if len(frame) or is_number else None)
    return pd.concat([frame, pd.DataFrame(new)], ignore_index=True)


def _with_feed(timetable: Timetable, timezone: str) -> tuple[Timetable, int, int]:
    """Return a timetable with the feed of changes, and the numbers of this feed and its agency."""
    names = timetable.feeds["name"].tolist()
    if FEED in names:
        feed = names.index(FEED)
        agencies = timetable.agencies
        is_ours = (agencies["feed_idx"] == feed) & (agencies["agency_id"] == FEED)
        if is_ours.any():
            return timetable, feed, int(np.flatnonzero(is_ours)[0])
        raise InputError(f"a feed of the network is called {FEED!r}, the name of that of new lines; rename its file")
    zones = timetable.zones if timezone in timetable.zones else [*timetable.zones, timezone]
    spans = timetable.spans()
    covered = [span for span in spans if span[0] <= span[1]]
    if not covered:
        raise InputError("the timetable covers no date, so a new line cannot run on any; check the feeds in report()")
    # The new feed covers what the others do, so that no moment is outside of some feeds only because of it.
    whole = (min(first for first, _ in covered), max(last for _, last in covered))
    changed = replace(
        timetable,
        feeds=_appended(timetable.feeds, name=[FEED]),
        agencies=_appended(
            timetable.agencies, feed_idx=[len(names)], agency_id=[FEED], agency_name=["Scenario"],
            zone_idx=[zones.index(timezone)],
        ),
        zones=zones,
        feed_spans=(*spans, whole),
        notes=[*timetable.notes, {"source": FEED}],
    )  # fmt: skip
    return changed, len(names), len(timetable.agencies)


def add_stop(timetable: Timetable, change: AddStop, timezone: str) -> Timetable:
    """Return a timetable with another stop; see `AddStop`."""
    if (timetable.stops["stop_id"] == change.stop_id).any():
        raise InputError(f"{change.title}: there is a stop {change.stop_id!r} already; choose another stop_id")
    timetable, feed, _ = _with_feed(timetable, timezone)
    name = change.stop_id if change.stop_name is None else change.stop_name
    stops = _appended(
        timetable.stops, feed_idx=[feed], stop_id=[change.stop_id], stop_name=[name], stop_lat=[change.lat],
        stop_lon=[change.lng], parent_idx=[-1],
    )  # fmt: skip
    return replace(timetable, stops=stops)


def add_line(timetable: Timetable, change: AddLine, stops: Int32Array, timezone: str) -> Timetable:
    """Return a timetable with another line at some stops (stop_idx); see `AddLine`."""
    if (timetable.routes["route_id"] == change.route_id).any():
        raise InputError(f"{change.title}: there is a route {change.route_id!r} already; choose another route_id")
    timetable, feed, agency = _with_feed(timetable, timezone)
    legs = _legs(timetable, change, stops)
    ways = [(stops, legs)]
    if change.both_directions:
        ways.append((stops[::-1], legs[::-1]))
    departures = np.arange(seconds_of(change.start), seconds_of(change.end), change.headway, dtype=np.int64)
    n_stops, n_runs = stops.size, departures.size
    arrival, departure = [], []
    for _, times in ways:
        leaves = indptr_of(times + change.dwell)
        arrives = leaves - change.dwell
        arrives[0] = 0
        leaves[-1] = arrives[-1]
        arrival.append((departures[:, None] + arrives).ravel())
        departure.append((departures[:, None] + leaves).ravel())
    kind = route_class(change.route_type)
    assert kind is not None
    route = len(timetable.routes)
    pattern, course = timetable.pattern_indptr.size - 1, timetable.course_indptr.size - 1
    way = np.repeat(np.arange(len(ways)), n_runs)
    names = timetable.stops["stop_name"].to_numpy(object)
    ends = [str(names[at[-1]] or "") for at, _ in ways]
    n_all = len(ways) * n_stops
    longer = replace(
        timetable,
        routes=_appended(
            timetable.routes, feed_idx=[feed], route_id=[change.route_id], agency_idx=[agency],
            zone_idx=[int(timetable.agencies["zone_idx"].to_numpy()[agency])],
            route_short_name=[change.route_id if change.route_name is None else change.route_name],
            route_type=[change.route_type], mode=[kind.mode], group=[kind.group],
        ),
        trips=_appended(
            timetable.trips,
            trip_id=[f"{change.route_id}:{w}:{k}" for w in range(len(ways)) for k in range(n_runs)],
            route_idx=np.full(way.size, route), service_idx=np.full(way.size, len(timetable.services)),
            pattern_idx=pattern + way, course_idx=course + way, block_idx=np.full(way.size, -1), direction_id=way,
            trip_headsign=np.array(ends, object)[way],
        ),
        services=Services.joined([timetable.services, _service(timetable, change)]),
        trip_indptr=_longer(timetable.trip_indptr, np.full(way.size, n_stops)),
        arrival=np.concatenate([timetable.arrival, *arrival]).astype(np.int32),
        departure=np.concatenate([timetable.departure, *departure]).astype(np.int32),
        sequences=_sequences(timetable, way.size, n_stops),
        pattern_indptr=_longer(timetable.pattern_indptr, np.full(len(ways), n_stops)),
        pattern_stop=np.concatenate([timetable.pattern_stop, *(at for at, _ in ways)]).astype(np.int32),
        pattern_pickup=np.concatenate([timetable.pattern_pickup, np.zeros(n_all, np.uint8)]),
        pattern_drop_off=np.concatenate([timetable.pattern_drop_off, np.zeros(n_all, np.uint8)]),
        course_pattern=np.concatenate([timetable.course_pattern, pattern + np.arange(len(ways))]).astype(np.int32),
        course_shape=np.concatenate([timetable.course_shape, np.full(len(ways), -1)]).astype(np.int32),
        course_indptr=_longer(timetable.course_indptr, np.full(len(ways), n_stops)),
        course_along=np.concatenate([timetable.course_along, np.full(n_all, np.nan)]).astype(np.float32),
        course_headsign=np.concatenate([timetable.course_headsign, np.zeros(n_all)]).astype(np.int32),
    )  # fmt: skip
    return with_trips(longer, TripCopies.kept(longer, np.arange(longer.n_trips)))


def _sequences(timetable: Timetable, n_trips: int, n_stops: int) -> StopSequences | None:
    """Return the sequences of stops with those of new trips, which are 1, 2, 3 and so on."""
    if timetable.sequences is None:
        return None
    new = np.tile(np.arange(1, n_stops + 1, dtype=np.int32), n_trips)
    return StopSequences(np.concatenate([timetable.sequences.numbers, new]))


def _longer(indptr: Int64Array, lengths: Int64Array) -> Int64Array:
    """Return an index pointer with rows added."""
    return np.concatenate([indptr, indptr[-1] + np.cumsum(lengths)]).astype(np.int64)


def _legs(timetable: Timetable, change: AddLine, stops: Int32Array) -> Int64Array:
    """Return the seconds from each stop of a line to the next."""
    lng = timetable.column("stops", "stop_lon").astype(np.float64)[stops]
    lat = timetable.column("stops", "stop_lat").astype(np.float64)[stops]
    nowhere = np.isnan(lng) | np.isnan(lat)
    if nowhere.any():
        stop = change.stops[int(nowhere.argmax())]
        raise InputError(f"{change.title}: the stop {stop!r} has no coordinates; use another, or add one with AddStop")
    if change.times is not None:
        return np.array(change.times, np.int64)
    metres = segment_lengths_m(lng, lat)
    return np.asarray(np.maximum(1, np.rint(metres * 3.6 / np.array(change.speed))).astype(np.int64))


def _service(timetable: Timetable, change: AddLine) -> Services:
    """Return the service of a line: some days of the week, on the dates that the timetable covers."""
    covered = [span for span in timetable.spans() if span[0] <= span[1]]
    weekdays = sum(1 << DAYS.index(day) for day in change.days)
    nothing = np.zeros(0, np.int32)
    return Services(
        weekdays=np.array([weekdays], np.uint8),
        start=np.array([min(first for first, _ in covered)], np.int32),
        end=np.array([max(last for _, last in covered)], np.int32),
        exception_date=nothing,
        exception_service=nothing,
        exception_added=np.zeros(0, np.bool_),
    )
