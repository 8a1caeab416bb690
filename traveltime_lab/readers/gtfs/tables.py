"""
Read the tables of a GTFS feed that describe who runs what, where and when; stop times and the rest are read elsewhere.

The tables refer to each other by ids. Rows keep their positions in the file while the feed is read, and `is_kept` says
which of them are used: a row of another file that refers to a dropped one is dropped with a reason of its own.
"""

from __future__ import annotations

import zoneinfo
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from traveltime_lab._arrays import BoolArray, FloatArray, Int32Array, ObjectArray, unique_values
from traveltime_lab.errors import GtfsError
from traveltime_lab.readers.gtfs.files import FeedFiles
from traveltime_lab.readers.gtfs.findings import Findings
from traveltime_lab.readers.gtfs.rows import choice, codes, drop_rows, new_numbers, read_file, unique_ids
from traveltime_lab.readers.gtfs.stop_times import TripCalls
from traveltime_lab.readers.gtfs.text import TextTable
from traveltime_lab.transit.calendar import Services
from traveltime_lab.transit.pathways import Pathways, roots
from traveltime_lab.transit.route_types import RouteClass, route_class

_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True)
class Agencies:
    """
    The agencies of a feed.

    Attributes
    ----------
    ids : pyarrow.Array
        agency_id of each kept agency.
    frame : DataFrame
        The kept agencies, see `traveltime_lab.transit.timetable.Timetable`.
    zones : list of str
        Time zones.
    """

    ids: Any
    frame: pd.DataFrame
    zones: list[str]


@dataclass(frozen=True)
class _Rows:
    """
    The rows of a file, to which other files refer by their ids.

    Attributes
    ----------
    ids : pyarrow.Array
        Id of each row.
    is_kept : bool array of shape (n_rows,)
    """

    ids: Any
    is_kept: BoolArray


@dataclass(frozen=True)
class Stops(_Rows):
    """
    The stops of a feed.

    Attributes
    ----------
    lat, lng : float64 arrays of shape (n_rows,), degrees
        NaN if unknown.
    frame : DataFrame
        The kept stops, see `traveltime_lab.transit.timetable.Timetable`.
    level_id : object array of shape (n_rows,)
    """

    lat: FloatArray
    lng: FloatArray
    frame: pd.DataFrame
    level_id: ObjectArray

    def within(self, is_inside: BoolArray, pathways: Pathways | None) -> Stops:
        """Return the stops of some rows, with the stations that they belong to, and the pathways of these."""
        rows = np.flatnonzero(self.is_kept)
        parent = self.frame["parent_idx"].to_numpy()
        chosen = is_inside[rows]
        for _ in range(2):  # boarding areas belong to platforms, and these to stations
            chosen[parent[chosen & (parent >= 0)]] = True
        if pathways is not None:
            inside = np.concatenate([pathways.start, pathways.end])
            chosen[inside[chosen[roots(parent)[inside]]]] = True
        is_kept = np.zeros_like(self.is_kept)
        is_kept[rows[chosen]] = True
        frame = self.frame[chosen].reset_index(drop=True)
        above = parent[chosen]
        frame["parent_idx"] = np.where(above >= 0, new_numbers(chosen)[above], -1).astype(np.int32)
        return Stops(self.ids, is_kept, self.lat, self.lng, frame, self.level_id)


@dataclass(frozen=True)
class Routes(_Rows):
    """
    The routes of a feed.

    Attributes
    ----------
    frame : DataFrame
        The kept routes, see `traveltime_lab.transit.timetable.Timetable`.
    """

    frame: pd.DataFrame


@dataclass(frozen=True)
class Trips(_Rows):
    """
    The trips of a feed.

    Attributes
    ----------
    route, service, block, shape : int32 arrays of shape (n_rows,)
        Kept route, service, block and row of the shape; -1 for none.
    table : TextTable
        All columns.
    """

    route: Int32Array
    service: Int32Array
    block: Int32Array
    shape: Int32Array
    table: TextTable


def read_agencies(files: FeedFiles, findings: Findings) -> Agencies:
    """Read ``agency.txt``."""
    table = read_file(
        files, findings, "agency.txt", "agency_id", "agency_name", "agency_url", "agency_timezone", "agency_fare_url",
        needs=("agency_timezone",), is_required=True,
    )  # fmt: skip
    names = table.objects("agency_timezone")
    is_zone = np.array([_is_zone(name) for name in names], np.bool_)
    if not is_zone.any():
        raise GtfsError(
            f"{files.source}: agency.txt, line {table.lines(np.array([0]))[0]}: agency_timezone "
            f"{names[0]!r} is not an IANA time zone such as 'Europe/Rome', so the times of the feed are ambiguous",
            file="agency.txt", line=int(table.lines(np.array([0]))[0]),
        )  # fmt: skip
    keep = np.ones(table.n_rows, np.bool_)
    drop_rows(table, findings, keep, ~is_zone, "agency_timezone is not an IANA time zone", "agency_timezone")
    again = np.zeros(table.n_rows, np.bool_)
    again[keep] = pd.Index(table.objects("agency_id")[keep]).duplicated()
    drop_rows(table, findings, keep, again, "duplicate agency_id", "agency_id")
    table = table.keep(keep)
    zone = table.objects("agency_timezone")
    zones = sorted(set(zone))
    if len(zones) > 1:
        findings.add(
            "agency.txt", f"agencies in several time zones ({', '.join(zones)}): that of each route applies",
            rows=table.n_rows, is_dropped=False,
        )  # fmt: skip
    ids = pa.array(table.objects("agency_id"), type=pa.string())
    frame = pd.DataFrame(
        {
            "feed_idx": np.zeros(table.n_rows, np.int32),
            **{name: table.objects(name) for name in ("agency_id", "agency_name", "agency_url", "agency_fare_url")},
            "zone_idx": np.array([zones.index(name) for name in zone], np.int32),
        }
    )
    return Agencies(ids, frame, zones)


def read_stops(files: FeedFiles, findings: Findings) -> Stops:
    """Read ``stops.txt``."""
    table = read_file(
        files, findings, "stops.txt", "stop_id", "stop_code", "stop_name", "stop_lat", "stop_lon", "location_type",
        "parent_station", "stop_timezone", "wheelchair_boarding", "platform_code", "zone_id",
        "level_id", needs=("stop_id",), is_required=True,
    )  # fmt: skip
    ids, keep = unique_ids(table, findings, "stop_id")
    lat, bad_lat = table.floats("stop_lat")
    lng, bad_lng = table.floats("stop_lon")
    drop_rows(table, findings, keep, bad_lat, "stop_lat is not a number", "stop_lat")
    drop_rows(table, findings, keep, bad_lng, "stop_lon is not a number", "stop_lon")
    drop_rows(table, findings, keep, np.abs(lat) > 90.0, "stop_lat is not within -90 to 90", "stop_lat")
    drop_rows(table, findings, keep, np.abs(lng) > 180.0, "stop_lon is not within -180 to 180", "stop_lon")
    # Some tools write (0, 0), a place in the Gulf of Guinea, for unknown coordinates.
    is_nowhere = np.isnan(lat) | np.isnan(lng) | ((lat == 0.0) & (lng == 0.0))
    parent = codes(table.strings("parent_station"), ids)
    parent[parent >= 0] = np.where(keep[parent[parent >= 0]], parent[parent >= 0], -1)
    lost = np.flatnonzero(keep & (parent < 0) & ~table.is_missing("parent_station"))
    findings.add("stops.txt", "unknown parent_station: ignored", table.lines(lost), is_dropped=False)
    lat[is_nowhere], lng[is_nowhere] = np.nan, np.nan
    from_parent = np.flatnonzero(is_nowhere & (parent >= 0) & ~is_nowhere[parent])
    lat[from_parent], lng[from_parent] = lat[parent[from_parent]], lng[parent[from_parent]]
    findings.add(
        "stops.txt", "no coordinates: the parent station's are used", table.lines(from_parent), is_dropped=False
    )
    location_type = choice(table, findings, "location_type", 4)
    # Generic nodes and boarding areas of a station need no coordinates.
    nowhere = np.flatnonzero(keep & np.isnan(lat) & (location_type <= 2))
    findings.add("stops.txt", "no coordinates: not linked to streets", table.lines(nowhere), is_dropped=False)
    wheelchair = choice(table, findings, "wheelchair_boarding", 2)
    number = new_numbers(keep)
    texts = ("stop_id", "stop_code", "stop_name", "stop_timezone", "platform_code", "zone_id")
    frame = pd.DataFrame(
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
    return Stops(ids, keep, lat, lng, frame, table.objects("level_id"))


def read_routes(files: FeedFiles, findings: Findings, agencies: Agencies) -> Routes:
    """Read ``routes.txt``."""
    table = read_file(
        files, findings, "routes.txt", "route_id", "agency_id", "route_short_name", "route_long_name", "route_type",
        "route_color", "route_text_color", needs=("route_id", "route_type"), is_required=True,
    )  # fmt: skip
    ids, keep = unique_ids(table, findings, "route_id")
    kind = table.integers("route_type")
    drop_rows(table, findings, keep, kind < 0, "route_type is not a whole number", "route_type")
    classes = {int(value): route_class(int(value)) for value in unique_values(kind[keep])}
    unknown = np.isin(kind, [value for value, found in classes.items() if found is None]) & keep
    findings.add(
        "routes.txt", "unknown route_type: used by public_transport only", table.lines(np.flatnonzero(unknown)),
        example=str(kind[unknown][0]) if unknown.any() else "", is_dropped=False,
    )  # fmt: skip
    agency = codes(table.strings("agency_id"), agencies.ids)
    lost = np.flatnonzero(keep & (agency < 0) & (~table.is_missing("agency_id") | (len(agencies.frame) > 1)))
    findings.add("routes.txt", "no known agency_id: the first agency is used", table.lines(lost), is_dropped=False)
    agency = np.where(agency < 0, 0, agency)
    other = RouteClass("bus", "other")
    found = [classes[int(value)] or other for value in kind[keep]]
    texts = ("route_id", "route_short_name", "route_long_name", "route_color", "route_text_color")
    frame = pd.DataFrame(
        {
            "feed_idx": np.zeros(len(found), np.int32),
            **{name: table.objects(name)[keep] for name in texts},
            "agency_idx": agency[keep].astype(np.int32),
            "zone_idx": agencies.frame["zone_idx"].to_numpy()[agency[keep]].astype(np.int32),
            "route_type": kind[keep].astype(np.int32),
            "mode": np.array([item.mode for item in found], dtype=object),
            "group": np.array([item.group for item in found], dtype=object),
        }
    )
    return Routes(ids, keep, frame)


def read_services(files: FeedFiles, findings: Findings) -> tuple[Any, Services]:
    """Read ``calendar.txt`` and ``calendar_dates.txt``; return the service_id of each service, and the services."""
    table = read_file(
        files, findings, "calendar.txt", "service_id", *_DAYS, "start_date", "end_date",
        needs=("service_id", *_DAYS, "start_date", "end_date"),
    )  # fmt: skip
    dates = read_file(
        files, findings, "calendar_dates.txt", "service_id", "date", "exception_type",
        needs=("service_id", "date", "exception_type"),
    )  # fmt: skip
    if table.n_rows == 0 and dates.n_rows == 0:
        raise GtfsError(
            f"{files.source}: neither calendar.txt nor calendar_dates.txt has a row, so no trip ever runs",
            file="calendar.txt",
        )
    listed, keep = unique_ids(table, findings, "service_id")
    start, end = table.dates("start_date"), table.dates("end_date")
    drop_rows(table, findings, keep, start < 0, "start_date is not YYYYMMDD", "start_date")
    drop_rows(table, findings, keep, end < 0, "end_date is not YYYYMMDD", "end_date")
    drop_rows(table, findings, keep, end < start, "end_date is before start_date", "end_date")
    weekdays = np.zeros(table.n_rows, np.uint8)
    for bit, name in enumerate(_DAYS):
        flag = table.integers(name)
        drop_rows(table, findings, keep, (flag != 0) & (flag != 1), f"{name} is not 0 or 1", name)
        weekdays |= (flag == 1).astype(np.uint8) << bit
    ids = pa.chunked_array([listed.filter(pa.array(keep)), *dates.strings("service_id").chunks], pa.string()).unique()
    n = len(ids)
    n_calendar = int(keep.sum())
    day = dates.dates("date")
    kind = dates.integers("exception_type")
    service = codes(dates.strings("service_id"), ids)
    kept = np.ones(dates.n_rows, np.bool_)
    drop_rows(dates, findings, kept, dates.is_missing("service_id"), "service_id is empty")
    drop_rows(dates, findings, kept, day < 0, "date is not YYYYMMDD", "date")
    drop_rows(dates, findings, kept, (kind != 1) & (kind != 2), "exception_type is not 1 or 2",
              "exception_type")  # fmt: skip
    again = pd.Series(np.where(kept, service.astype(np.int64) << 32 | day, -np.arange(dates.n_rows) - 1))
    drop_rows(dates, findings, kept, again.duplicated().to_numpy(), "duplicate service_id and date")
    rows = np.flatnonzero(kept)
    rows = rows[np.argsort(day[rows], kind="stable")]
    rest = n - n_calendar
    return ids, Services(
        weekdays=np.concatenate([weekdays[keep], np.zeros(rest, np.uint8)]),
        start=np.concatenate([start[keep], np.ones(rest, np.int64)]).astype(np.int32),
        end=np.concatenate([end[keep], np.zeros(rest, np.int64)]).astype(np.int32),
        exception_date=day[rows].astype(np.int32),
        exception_service=service[rows].astype(np.int32),
        exception_added=kind[rows] == 1,
    )


def read_trips(files: FeedFiles, findings: Findings, routes: Routes, service_ids: Any, shape_ids: Any) -> Trips:
    """Read ``trips.txt``."""
    table = read_file(
        files, findings, "trips.txt", "trip_id", "route_id", "service_id", "trip_headsign", "trip_short_name",
        "direction_id", "block_id", "shape_id", "wheelchair_accessible", "bikes_allowed",
        needs=("trip_id", "route_id", "service_id"), is_required=True,
    )  # fmt: skip
    ids, keep = unique_ids(table, findings, "trip_id")
    route = codes(table.strings("route_id"), routes.ids)
    service = codes(table.strings("service_id"), service_ids)
    drop_rows(table, findings, keep, route < 0, "unknown route_id", "route_id")
    drop_rows(table, findings, keep, ~routes.is_kept[route], "trip of a dropped route", "route_id")
    drop_rows(table, findings, keep, service < 0, "service_id is in no calendar file", "service_id")
    shape = codes(table.strings("shape_id"), shape_ids)
    lost = np.flatnonzero(keep & (shape < 0) & ~table.is_missing("shape_id"))
    if "shapes.txt" in files:
        findings.add("trips.txt", "unknown shape_id: ignored", table.lines(lost[:1000]), rows=lost.size,
                          is_dropped=False)  # fmt: skip
    block = np.full(table.n_rows, -1, np.int32)
    if "block_id" in table:
        coded, _ = pd.factorize(table.objects("block_id"))
        block = np.where(table.is_missing("block_id"), -1, coded).astype(np.int32)
    return Trips(ids, keep, new_numbers(routes.is_kept)[route], service, block, shape, table)


def trip_frame(findings: Findings, trips: Trips, calls: TripCalls) -> pd.DataFrame:
    """Return the usable trips, in the order of their stop times."""
    table, rows = trips.table, calls.trip
    direction = choice(table, findings, "direction_id", 1, missing=-1)
    wheelchair = choice(table, findings, "wheelchair_accessible", 2)
    bikes = choice(table, findings, "bikes_allowed", 2)
    return pd.DataFrame(
        {
            **{name: table.objects(name)[rows] for name in ("trip_id", "trip_headsign", "trip_short_name")},
            "route_idx": trips.route[rows],
            "service_idx": trips.service[rows],
            "pattern_idx": calls.pattern,
            "course_idx": calls.course,
            "block_idx": trips.block[rows],
            "direction_id": direction[rows],
            "wheelchair_accessible": wheelchair[rows],
            "bikes_allowed": bikes[rows],
        }
    )


def read_feed_info(files: FeedFiles, findings: Findings) -> pd.DataFrame:
    """Read ``feed_info.txt``."""
    table = read_file(
        files, findings, "feed_info.txt", "feed_publisher_name", "feed_version", "feed_start_date", "feed_end_date"
    )
    columns = {
        "publisher": "feed_publisher_name",
        "version": "feed_version",
        "start_date": "feed_start_date",
        "end_date": "feed_end_date",
    }
    row = {name: table.objects(column)[0] if table.n_rows else "" for name, column in columns.items()}
    return pd.DataFrame({"name": [files.name], **{name: [value] for name, value in row.items()}})


def _is_zone(name: str) -> bool:
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return bool(name)
