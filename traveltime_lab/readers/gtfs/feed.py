"""
Read GTFS feeds into a timetable.

Rows that cannot be used are dropped and reported with file, line and reason. A feed without any usable trip raises
`GtfsError`. Files that are not about travel times, fares or shapes are not read; they are listed in the report.

The format is that of the GTFS Schedule reference (gtfs.org/documentation/schedule/reference). Where the reference
leaves a choice, this reader does the following:

- Missing times are interpolated by ``shape_dist_traveled`` if all stop times between two timepoints have it, otherwise
  by the straight-line distances between stops.
- ``frequencies.txt`` with ``exact_times=0`` gives departures at start_time + k * headway_secs, as with exact times
  (assumed).
- ``pickup_type`` and ``drop_off_type`` 1 forbid boarding and alighting; 2 and 3 (by arrangement) allow it, as in
  OpenTripPlanner.
- ``continuous_pickup`` and ``continuous_drop_off``, demand-responsive zones and pathways are not used.
- Times are in the time zone of the route's agency; ``stop_timezone`` is only kept for display, as in the reference.
"""

from __future__ import annotations

import os
import zoneinfo
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from traveltime_lab.errors import GtfsError, InputError
from traveltime_lab.readers.gtfs.extras import read_fares, read_shapes, read_transfers
from traveltime_lab.readers.gtfs.files import FeedFiles, Findings, TextTable
from traveltime_lab.readers.gtfs.rows import choice, codes, drop_rows, new_numbers, read_file, unique_ids
from traveltime_lab.readers.gtfs.stop_times import TripCalls, read_calls, read_frequencies
from traveltime_lab.transit.calendar import Services
from traveltime_lab.transit.route_types import RouteClass, route_class
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.timetable_file import join_timetables

_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_READ: Final = frozenset(
    f"{name}.txt"
    for name in (
        "agency", "stops", "routes", "trips", "stop_times", "calendar", "calendar_dates", "frequencies", "transfers",
        "shapes", "fare_attributes", "fare_rules", "feed_info",
    )
)  # fmt: skip


def read_timetable(sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Timetable:
    """
    Read one or more GTFS feeds.

    Parameters
    ----------
    sources : path-like or iterable of path-like
        Zip files or folders. A zip file may contain the feed in one sub-folder or in one inner zip file. Feeds may have
        equal ids.

    Returns
    -------
    Timetable

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
    return join_timetables([read_feed(path) for path in paths])


def read_feed(source: str | os.PathLike[str]) -> Timetable:
    """
    Read one feed; see `read_timetable`.

    Parameters
    ----------
    source : path-like

    Returns
    -------
    Timetable

    Raises
    ------
    MissingFileError, GtfsError
    """
    return _Reader(FeedFiles(source)).timetable()


class _Reader:
    """Reader of one feed; the ``_read_*`` methods are called in order, and each needs the results of the previous."""

    def __init__(self, files: FeedFiles) -> None:
        self.files = files
        self.findings = Findings()

    def timetable(self) -> Timetable:
        """Return the timetable of the feed."""
        self._read_agencies()
        self._read_stops()
        self._read_routes()
        self._read_services()
        self.shape_ids, self.shape_arrays = read_shapes(self.files, self.findings)
        self._read_trips()
        calls = read_calls(
            self.files, self.findings,
            trip_ids=self.trip_ids, trip_is_kept=self.trip_is_kept, trip_shape=self.trip_shape,
            stop_ids=self.stop_ids, stop_is_kept=self.stop_is_kept,
            stop_lat=self.stop_lat, stop_lng=self.stop_lng,
        )  # fmt: skip
        # Renumber the stops, because dropped rows of stops.txt leave gaps.
        stop_number = new_numbers(self.stop_is_kept)
        trip_number = np.full(len(self.trip_ids), -1, np.int32)
        trip_number[calls.trip] = np.arange(calls.trip.size, dtype=np.int32)
        routes = (self.route_ids, new_numbers(self.route_is_kept))
        zones = self.stops["zone_id"].to_numpy(object)
        fares, fare_rules = read_fares(self.files, self.findings, self.agency_ids, routes, zones)
        trips = self._trips(calls)
        unread = [name for name in self.files.names if name.endswith(".txt") and name not in _READ]
        notes: dict[str, Any] = {"source": self.files.source.name, **calls.facts}
        if unread:
            notes["files_not_used"] = ", ".join(unread)
        ids = {"stop": (self.stop_ids, stop_number), "route": routes, "trip": (self.trip_ids, trip_number)}
        transfers = read_transfers(self.files, self.findings, ids)
        frequencies = read_frequencies(self.files, self.findings, self.trip_ids, trip_number)
        feeds = self._feed_info()
        return Timetable(
            feeds=feeds,
            agencies=self.agencies,
            stops=self.stops,
            routes=self.routes,
            trips=trips,
            transfers=transfers,
            fare_attributes=fares,
            fare_rules=fare_rules,
            services=self.services,
            zones=self.zones,
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
            **self.shape_arrays,
            **frequencies,
            notes=[{**notes, **self.findings.report()}],
        )

    def _read(self, name: str, *columns: str, needs: tuple[str, ...] = (), is_required: bool = False) -> TextTable:
        return read_file(self.files, self.findings, name, *columns, needs=needs, is_required=is_required)

    def _read_agencies(self) -> None:
        table = self._read(
            "agency.txt", "agency_id", "agency_name", "agency_url", "agency_timezone", "agency_fare_url",
            needs=("agency_timezone",), is_required=True,
        )  # fmt: skip
        names = table.objects("agency_timezone")
        is_zone = np.array([_is_zone(name) for name in names], np.bool_)
        if not is_zone.any():
            raise GtfsError(
                f"{self.files.source}: agency.txt, line {table.lines(np.array([0]))[0]}: agency_timezone "
                f"{names[0]!r} is not an IANA time zone such as 'Europe/Rome', so the times of the feed are ambiguous",
                file="agency.txt", line=int(table.lines(np.array([0]))[0]),
            )  # fmt: skip
        keep = np.ones(table.n_rows, np.bool_)
        drop_rows(table, self.findings, keep, ~is_zone, "agency_timezone is not an IANA time zone", "agency_timezone")
        again = pd.Index(table.objects("agency_id")).duplicated() & keep
        drop_rows(table, self.findings, keep, again, "duplicate agency_id", "agency_id")
        table = table.keep(keep)
        zone = table.objects("agency_timezone")
        self.zones = sorted(set(zone))
        if len(self.zones) > 1:
            self.findings.add(
                "agency.txt", f"agencies in several time zones ({', '.join(self.zones)}): that of each route applies",
                rows=table.n_rows, is_dropped=False,
            )  # fmt: skip
        self.agency_ids = pa.array(table.objects("agency_id"), type=pa.string())
        self.agencies = pd.DataFrame(
            {
                "feed_idx": np.zeros(table.n_rows, np.int32),
                **{name: table.objects(name) for name in ("agency_id", "agency_name", "agency_url", "agency_fare_url")},
                "zone_idx": np.array([self.zones.index(name) for name in zone], np.int32),
            }
        )

    def _read_stops(self) -> None:
        table = self._read(
            "stops.txt", "stop_id", "stop_code", "stop_name", "stop_lat", "stop_lon", "location_type",
            "parent_station", "stop_timezone", "wheelchair_boarding", "platform_code", "zone_id",
            needs=("stop_id",), is_required=True,
        )  # fmt: skip
        self.stop_ids, keep = unique_ids(table, self.findings, "stop_id")
        lat, bad_lat = table.floats("stop_lat")
        lng, bad_lng = table.floats("stop_lon")
        drop_rows(table, self.findings, keep, bad_lat, "stop_lat is not a number", "stop_lat")
        drop_rows(table, self.findings, keep, bad_lng, "stop_lon is not a number", "stop_lon")
        drop_rows(table, self.findings, keep, np.abs(lat) > 90.0, "stop_lat is not within -90 to 90", "stop_lat")
        drop_rows(table, self.findings, keep, np.abs(lng) > 180.0, "stop_lon is not within -180 to 180", "stop_lon")
        # Some tools write (0, 0), a place in the Gulf of Guinea, for unknown coordinates.
        is_nowhere = np.isnan(lat) | np.isnan(lng) | ((lat == 0.0) & (lng == 0.0))
        parent = codes(table.strings("parent_station"), self.stop_ids)
        parent[parent >= 0] = np.where(keep[parent[parent >= 0]], parent[parent >= 0], -1)
        lost = np.flatnonzero(keep & (parent < 0) & ~table.is_missing("parent_station"))
        self.findings.add("stops.txt", "unknown parent_station: ignored", table.lines(lost), is_dropped=False)
        lat[is_nowhere], lng[is_nowhere] = np.nan, np.nan
        from_parent = np.flatnonzero(is_nowhere & (parent >= 0) & ~is_nowhere[parent])
        lat[from_parent], lng[from_parent] = lat[parent[from_parent]], lng[parent[from_parent]]
        self.findings.add(
            "stops.txt", "no coordinates: the parent station's are used", table.lines(from_parent), is_dropped=False
        )
        location_type = choice(table, self.findings, "location_type", 4)
        # Generic nodes and boarding areas of a station need no coordinates.
        nowhere = np.flatnonzero(keep & np.isnan(lat) & (location_type <= 2))
        self.findings.add("stops.txt", "no coordinates: not linked to streets", table.lines(nowhere), is_dropped=False)
        wheelchair = choice(table, self.findings, "wheelchair_boarding", 2)
        self.stop_is_kept, self.stop_lat, self.stop_lng = keep, lat, lng
        number = new_numbers(keep)
        texts = ("stop_id", "stop_code", "stop_name", "stop_timezone", "platform_code", "zone_id")
        self.stops = pd.DataFrame(
            {
                "feed_idx": np.zeros(int(keep.sum()), np.int32),
                **{name: table.objects(name)[keep] for name in texts},
                "stop_lat": lat[keep],
                "stop_lon": lng[keep],
                "location_type": location_type[keep],
                "parent_idx": np.where(parent >= 0, number[parent], -1)[keep].astype(np.int32),
                "wheelchair_boarding": wheelchair[keep],
            }
        )

    def _read_routes(self) -> None:
        table = self._read(
            "routes.txt", "route_id", "agency_id", "route_short_name", "route_long_name", "route_type", "route_color",
            "route_text_color", needs=("route_id", "route_type"), is_required=True,
        )  # fmt: skip
        self.route_ids, keep = unique_ids(table, self.findings, "route_id")
        kind = table.integers("route_type")
        drop_rows(table, self.findings, keep, kind < 0, "route_type is not a whole number", "route_type")
        classes = {int(value): route_class(int(value)) for value in np.unique(kind[keep])}
        unknown = np.isin(kind, [value for value, found in classes.items() if found is None]) & keep
        self.findings.add(
            "routes.txt", "unknown route_type: used by public_transport only", table.lines(np.flatnonzero(unknown)),
            example=str(kind[unknown][0]) if unknown.any() else "", is_dropped=False,
        )  # fmt: skip
        agency = codes(table.strings("agency_id"), self.agency_ids)
        lost = np.flatnonzero(keep & (agency < 0) & (~table.is_missing("agency_id") | (len(self.agencies) > 1)))
        self.findings.add(
            "routes.txt", "no known agency_id: the first agency is used", table.lines(lost), is_dropped=False
        )
        agency = np.where(agency < 0, 0, agency)
        self.route_is_kept = keep
        other = RouteClass("bus", "other")
        found = [classes[int(value)] or other for value in kind[keep]]
        texts = ("route_id", "route_short_name", "route_long_name", "route_color", "route_text_color")
        self.routes = pd.DataFrame(
            {
                "feed_idx": np.zeros(len(found), np.int32),
                **{name: table.objects(name)[keep] for name in texts},
                "agency_idx": agency[keep].astype(np.int32),
                "zone_idx": self.agencies["zone_idx"].to_numpy()[agency[keep]].astype(np.int32),
                "route_type": kind[keep].astype(np.int32),
                "mode": np.array([item.mode for item in found], dtype=object),
                "group": np.array([item.group for item in found], dtype=object),
            }
        )

    def _read_services(self) -> None:
        table = self._read(
            "calendar.txt", "service_id", *_DAYS, "start_date", "end_date",
            needs=("service_id", *_DAYS, "start_date", "end_date"),
        )  # fmt: skip
        dates = self._read(
            "calendar_dates.txt", "service_id", "date", "exception_type",
            needs=("service_id", "date", "exception_type"),
        )  # fmt: skip
        if table.n_rows == 0 and dates.n_rows == 0:
            raise GtfsError(
                f"{self.files.source}: neither calendar.txt nor calendar_dates.txt has a row, so no trip ever runs",
                file="calendar.txt",
            )
        ids, keep = unique_ids(table, self.findings, "service_id")
        start, end = table.dates("start_date"), table.dates("end_date")
        drop_rows(table, self.findings, keep, start < 0, "start_date is not YYYYMMDD", "start_date")
        drop_rows(table, self.findings, keep, end < 0, "end_date is not YYYYMMDD", "end_date")
        drop_rows(table, self.findings, keep, end < start, "end_date is before start_date", "end_date")
        weekdays = np.zeros(table.n_rows, np.uint8)
        for bit, name in enumerate(_DAYS):
            flag = table.integers(name)
            drop_rows(table, self.findings, keep, (flag != 0) & (flag != 1), f"{name} is not 0 or 1", name)
            weekdays |= (flag == 1).astype(np.uint8) << bit
        self.service_ids = pa.array(
            pd.unique(np.concatenate([np.asarray(ids.to_pylist(), object)[keep], dates.objects("service_id")])),
            type=pa.string(),
        )
        n = len(self.service_ids)
        n_calendar = int(keep.sum())
        day = dates.dates("date")
        kind = dates.integers("exception_type")
        service = codes(dates.strings("service_id"), self.service_ids)
        kept = np.ones(dates.n_rows, np.bool_)
        drop_rows(dates, self.findings, kept, dates.is_missing("service_id"), "service_id is empty")
        drop_rows(dates, self.findings, kept, day < 0, "date is not YYYYMMDD", "date")
        drop_rows(dates, self.findings, kept, (kind != 1) & (kind != 2), "exception_type is not 1 or 2",
                  "exception_type")  # fmt: skip
        again = pd.Series(np.where(kept, service.astype(np.int64) << 32 | day, -np.arange(dates.n_rows) - 1))
        drop_rows(dates, self.findings, kept, again.duplicated().to_numpy(), "duplicate service_id and date")
        rows = np.flatnonzero(kept)
        rows = rows[np.argsort(day[rows], kind="stable")]
        rest = n - n_calendar
        self.services = Services(
            weekdays=np.concatenate([weekdays[keep], np.zeros(rest, np.uint8)]),
            start=np.concatenate([start[keep], np.ones(rest, np.int64)]).astype(np.int32),
            end=np.concatenate([end[keep], np.zeros(rest, np.int64)]).astype(np.int32),
            exception_date=day[rows].astype(np.int32),
            exception_service=service[rows].astype(np.int32),
            exception_added=kind[rows] == 1,
        )

    def _read_trips(self) -> None:
        table = self._read(
            "trips.txt", "trip_id", "route_id", "service_id", "trip_headsign", "trip_short_name", "direction_id",
            "block_id", "shape_id", "wheelchair_accessible", "bikes_allowed",
            needs=("trip_id", "route_id", "service_id"), is_required=True,
        )  # fmt: skip
        self.trip_ids, keep = unique_ids(table, self.findings, "trip_id")
        route = codes(table.strings("route_id"), self.route_ids)
        service = codes(table.strings("service_id"), self.service_ids)
        drop_rows(table, self.findings, keep, route < 0, "unknown route_id", "route_id")
        drop_rows(table, self.findings, keep, ~self.route_is_kept[route], "trip of a dropped route", "route_id")
        drop_rows(table, self.findings, keep, service < 0, "service_id is in no calendar file", "service_id")
        shape = codes(table.strings("shape_id"), self.shape_ids)
        lost = np.flatnonzero(keep & (shape < 0) & ~table.is_missing("shape_id"))
        if "shapes.txt" in self.files:
            self.findings.add("trips.txt", "unknown shape_id: ignored", table.lines(lost[:1000]), rows=lost.size,
                              is_dropped=False)  # fmt: skip
        block = np.full(table.n_rows, -1, np.int32)
        if "block_id" in table:
            coded, _ = pd.factorize(table.objects("block_id"))
            block = np.where(table.is_missing("block_id"), -1, coded).astype(np.int32)
        self.trip_table, self.trip_is_kept, self.trip_shape = table, keep, shape
        self.trip_route = new_numbers(self.route_is_kept)[route]
        self.trip_service, self.trip_block = service, block

    def _trips(self, calls: TripCalls) -> pd.DataFrame:
        """Return the usable trips, in the order of their stop times."""
        table, rows = self.trip_table, calls.trip
        direction = choice(table, self.findings, "direction_id", 1, missing=-1)
        wheelchair = choice(table, self.findings, "wheelchair_accessible", 2)
        bikes = choice(table, self.findings, "bikes_allowed", 2)
        return pd.DataFrame(
            {
                **{name: table.objects(name)[rows] for name in ("trip_id", "trip_headsign", "trip_short_name")},
                "route_idx": self.trip_route[rows],
                "service_idx": self.trip_service[rows],
                "pattern_idx": calls.pattern,
                "course_idx": calls.course,
                "block_idx": self.trip_block[rows],
                "direction_id": direction[rows],
                "wheelchair_accessible": wheelchair[rows],
                "bikes_allowed": bikes[rows],
            }
        )

    def _feed_info(self) -> pd.DataFrame:
        table = self._read("feed_info.txt", "feed_publisher_name", "feed_version", "feed_start_date", "feed_end_date")
        columns = {
            "publisher": "feed_publisher_name",
            "version": "feed_version",
            "start_date": "feed_start_date",
            "end_date": "feed_end_date",
        }
        row = {name: table.objects(column)[0] if table.n_rows else "" for name, column in columns.items()}
        return pd.DataFrame({"name": [self.files.name], **{name: [value] for name, value in row.items()}})


def _is_zone(name: str) -> bool:
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return bool(name)
