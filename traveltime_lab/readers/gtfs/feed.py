"""
Read GTFS feeds into a timetable.

Rows that cannot be used are dropped and reported with file, line and reason. A feed without any usable trip raises
`GtfsError`. Files that are not about travel times, fares or shapes are not read; they are listed in the report.

The format is that of the GTFS Schedule reference (gtfs.org/documentation/schedule/reference). Where the reference
leaves a choice, this reader does the following:

- Missing times are interpolated by ``shape_dist_traveled`` if all stop times between two timepoints have it, otherwise
  by the straight-line distances between stops.
- ``frequencies.txt`` with ``exact_times=0`` gives departures at start_time + k * headway_secs, as with exact times
  (assumed), unless the option ``headways`` of `Transportation` says otherwise.
- ``pickup_type`` and ``drop_off_type`` 1 forbid boarding and alighting; 2 and 3 (by arrangement) allow it, as in
  OpenTripPlanner.
- ``continuous_pickup`` and ``continuous_drop_off``, and demand-responsive zones, are not used.
- Stations whose pathways are not complete are read as if they had none; see `traveltime_lab.readers.gtfs.pathways`.
- Times are in the time zone of the route's agency; ``stop_timezone`` is only kept for display, as in the reference.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from traveltime_lab._arrays import BoolArray
from traveltime_lab.errors import InputError
from traveltime_lab.readers.gtfs.extras import read_fares, read_shapes, read_transfers
from traveltime_lab.readers.gtfs.files import FeedFiles
from traveltime_lab.readers.gtfs.findings import Findings
from traveltime_lab.readers.gtfs.pathways import read_pathways
from traveltime_lab.readers.gtfs.rows import new_numbers
from traveltime_lab.readers.gtfs.stop_times import TripCalls, read_calls, read_frequencies
from traveltime_lab.readers.gtfs.tables import (
    read_agencies,
    read_feed_info,
    read_routes,
    read_services,
    read_stops,
    read_trips,
    trip_frame,
)
from traveltime_lab.readers.region import Region
from traveltime_lab.transit.stop_sequences import StopSequences
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.timetable_file import join_timetables

_READ: Final = frozenset(
    f"{name}.txt"
    for name in (
        "agency", "stops", "routes", "trips", "stop_times", "calendar", "calendar_dates", "frequencies", "transfers",
        "shapes", "fare_attributes", "fare_rules", "feed_info", "pathways", "levels",
    )
)  # fmt: skip


def read_timetable(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], region: Region | None = None
) -> Timetable:
    """
    Read one or more GTFS feeds.

    Parameters
    ----------
    sources : path-like or iterable of path-like
        Zip files or folders. A zip file may contain the feed in one sub-folder or in one inner zip file. Feeds may have
        equal ids.
    region : Region, optional
        Read only the stops in it with their stations, the parts of trips between them, and trips with two of them or
        more. Missing times are filled in before.

    Raises
    ------
    InputError
        If there are no sources.
    MissingFileError
        If a source does not exist.
    GtfsError
        If a feed cannot be used.
    """
    paths = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    if not paths:
        raise InputError("read_timetable needs at least one GTFS feed; got an empty sequence.")
    return join_timetables([read_feed(path, region) for path in paths])


def read_feed(source: str | os.PathLike[str], region: Region | None = None) -> Timetable:
    """
    Read one feed; see `read_timetable`.

    Parameters
    ----------
    source : path-like
    region : Region, optional

    Raises
    ------
    MissingFileError, GtfsError
    """
    files, findings = FeedFiles(source), Findings()
    agencies, stops = read_agencies(files, findings), read_stops(files, findings)
    routes = read_routes(files, findings, agencies)
    service_ids, services = read_services(files, findings)
    shape_ids, shapes = read_shapes(files, findings)
    trips = read_trips(files, findings, routes, service_ids, shape_ids)
    calls = read_calls(
        files, findings,
        trip_ids=trips.ids, trip_is_kept=trips.is_kept, trip_shape=trips.shape,
        stop_ids=stops.ids, stop_is_kept=stops.is_kept, stop_lat=stops.lat, stop_lng=stops.lng, region=region,
    )  # fmt: skip
    zones = stops.frame["zone_id"].to_numpy(object)
    pathways, about = read_pathways(files, findings, stops, calls.pattern_stop)
    calls.facts.update(about)
    outside: dict[str, BoolArray] = {}
    if region is not None:
        every, stops = stops, stops.within(region.contains(stops.lng, stops.lat), pathways)
        outside = {"stop": every.is_kept & ~stops.is_kept, "trip": trips.is_kept.copy()}
        outside["trip"][calls.trip] = False
        calls.facts["cut"] = {"stops_outside": int(outside["stop"].sum()), **calls.facts["cut"]}
    # Renumber the stops, because dropped rows of stops.txt leave gaps.
    stop_number, route_number = new_numbers(stops.is_kept), new_numbers(routes.is_kept)
    if region is not None and pathways is not None:
        pathways = pathways.renumbered(stop_number[every.is_kept])
    trip_number = np.full(len(trips.ids), -1, np.int32)
    trip_number[calls.trip] = np.arange(calls.trip.size, dtype=np.int32)
    numbers = {"stop": (stops.ids, stop_number), "route": (routes.ids, route_number), "trip": (trips.ids, trip_number)}
    fares, fare_rules = read_fares(files, findings, agencies.ids, numbers["route"], zones)
    usable = trip_frame(findings, trips, calls)
    transfers = read_transfers(files, findings, numbers, outside)
    frequencies = read_frequencies(files, findings, trips.ids, trip_number, calls.later)
    return Timetable(
        feeds=read_feed_info(files, findings),
        agencies=agencies.frame,
        stops=stops.frame,
        routes=routes.frame,
        trips=usable,
        transfers=transfers,
        fare_attributes=fares,
        fare_rules=fare_rules,
        services=services,
        zones=agencies.zones,
        trip_indptr=calls.indptr,
        arrival=calls.arrival,
        departure=calls.departure,
        pattern_indptr=calls.pattern_indptr,
        pattern_stop=stop_number[calls.pattern_stop],
        pattern_pickup=calls.pattern_pickup,
        pattern_drop_off=calls.pattern_drop_off,
        course_pattern=calls.course_pattern,
        course_shape=calls.course_shape,
        course_indptr=calls.course_indptr,
        course_along=calls.course_along,
        course_headsign=calls.course_headsign,
        headsigns=calls.headsigns,
        **shapes,
        **frequencies,
        notes=[_notes(files, calls, findings)],
        sequences=None if calls.sequence is None else StopSequences(calls.sequence),
        leaving=tuple((int(stop_number[stop]), seconds) for stop, seconds in calls.leaving.items()),
        pathways=pathways,
    )


def _notes(files: FeedFiles, calls: TripCalls, findings: Findings) -> dict[str, Any]:
    """Return the report of a feed."""
    notes: dict[str, Any] = {"source": files.source.name, **calls.facts}
    unread = [name for name in files.names if name.endswith(".txt") and name not in _READ]
    if unread:
        notes["files_not_used"] = ", ".join(unread)
    return {**notes, **findings.report()}
