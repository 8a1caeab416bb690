"""
GTFS feeds to a timetable.

Every row that cannot be used is dropped and reported with file, line and reason; a feed that cannot be used at all is a
`GtfsError`. Files that say nothing about travel times, fares or shapes are not read, and listed in the report.

Format: GTFS Schedule reference (gtfs.org/documentation/schedule/reference). What it leaves open is decided here:

- Missing times are shared out along ``shape_dist_traveled`` if all calls between two timed ones have it, else along the
  straight lines between stops.
- ``frequencies.txt`` without exact times: departures at start_time + k * headway_secs, as with exact times (assumed).
- ``pickup_type`` and ``drop_off_type`` 1 forbid; 2 and 3 (by arrangement) allow, as in OpenTripPlanner.
- ``continuous_pickup`` and ``continuous_drop_off``, demand-responsive zones and pathways are not used.
- Times are in the zone of the route's agency; ``stop_timezone`` is kept for display, as the reference says.
"""

from __future__ import annotations

import os
import zoneinfo
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from traveltime_lab.errors import GtfsError, InputError
from traveltime_lab.gtfs_calls import TripCalls, codes, drop_rows, read_calls, read_frequencies
from traveltime_lab.gtfs_files import FeedFiles, Findings, TextTable
from traveltime_lab.kernels import text
from traveltime_lab.route_types import RouteClass, route_class
from traveltime_lab.services import Services
from traveltime_lab.timetable import Timetable

_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_READ: Final = frozenset(
    f"{name}.txt"
    for name in (
        "agency", "stops", "routes", "trips", "stop_times", "calendar", "calendar_dates", "frequencies", "transfers",
        "shapes", "fare_attributes", "fare_rules", "feed_info",
    )
)  # fmt: skip

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int32]


def read_timetable(sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Timetable:
    """
    Read one or several feeds.

    Parameters
    ----------
    sources : path-like or iterable of path-like
        Zip files or folders; a zip may hold the feed in one sub-folder or one inner zip. Feeds may share ids.

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
    return Timetable.joined([read_feed(path) for path in paths])


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
    """One feed on its way to a timetable; every ``_read_*`` method needs those before it."""

    def __init__(self, files: FeedFiles) -> None:
        self.files = files
        self.findings = Findings()

    def timetable(self) -> Timetable:
        """Return the timetable of the feed."""
        self._read_agencies()
        self._read_stops()
        self._read_routes()
        self._read_services()
        self._read_shapes()
        self._read_trips()
        calls = read_calls(
            self.files, self.findings,
            trip_ids=self.trip_ids, trip_is_kept=self.trip_is_kept, trip_shape=self.trip_shape,
            stop_ids=self.stop_ids, stop_is_kept=self.stop_is_kept,
            stop_lat=self.stop_lat, stop_lng=self.stop_lng,
        )  # fmt: skip
        # Rows of stops.txt that were dropped leave gaps in the numbers; close them.
        stop_number = _numbers(self.stop_is_kept)
        trip_number = np.full(len(self.trip_ids), -1, np.int32)
        trip_number[calls.trip] = np.arange(calls.trip.size, dtype=np.int32)
        fares, fare_rules = self._fares()
        trips = self._trips(calls)
        unread = [name for name in self.files.names if name.endswith(".txt") and name not in _READ]
        notes: dict[str, Any] = {"source": self.files.source.name, **calls.facts}
        if unread:
            notes["files_not_used"] = ", ".join(unread)
        transfers = self._transfers(stop_number, trip_number)
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
        """Return a file's columns."""
        if is_required and name not in self.files:
            raise GtfsError(f"{self.files.source}: there is no {name} in the feed", file=name)
        table = self.files.read(name, columns, self.findings)
        if is_required and table.n_rows == 0:
            raise GtfsError(f"{self.files.source}: {name} has no rows", file=name)
        table.require(*needs)
        return table

    def _unique(self, table: TextTable, column: str) -> tuple[pa.Array, Mask]:
        """Return the ids of a file and which rows are kept: those with an id that no row before has."""
        keep = np.ones(table.n_rows, np.bool_)
        drop_rows(table, self.findings, keep, table.is_missing(column), f"{column} is empty")
        values = table.strings(column)
        ids = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], pa.string())
        again = pd.Index(table.objects(column)).duplicated()
        drop_rows(table, self.findings, keep, again, f"{column} given twice", column)
        return ids, keep

    def _choice(self, table: TextTable, column: str, largest: int, missing: int = 0) -> Numbers:
        """Return an enumerated column; values outside of it are noted and read as `missing`."""
        values = table.integers(column)
        is_bad = (values != text.MISSING) & ((values < 0) | (values > largest))
        rows = np.flatnonzero(is_bad)
        if rows.size:
            example = str(table.strings(column)[int(rows[0])].as_py())
            reason = f"{column} is not 0 to {largest}: read as not given"
            self.findings.add(table.name, reason, table.lines(rows), example=example, is_dropped=False)
        return np.where(is_bad | (values == text.MISSING), missing, values).astype(np.int32)

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
                f"{names[0]!r} is no IANA time zone such as 'Europe/Rome', so no time of the feed can be placed",
                file="agency.txt", line=int(table.lines(np.array([0]))[0]),
            )  # fmt: skip
        keep = np.ones(table.n_rows, np.bool_)
        drop_rows(table, self.findings, keep, ~is_zone, "agency_timezone is no IANA time zone", "agency_timezone")
        again = pd.Index(table.objects("agency_id")).duplicated() & keep
        drop_rows(table, self.findings, keep, again, "agency_id given twice", "agency_id")
        table = table.keep(keep)
        zone = table.objects("agency_timezone")
        self.zones = sorted(set(zone))
        if len(self.zones) > 1:
            self.findings.add(
                "agency.txt", f"agencies in several time zones ({', '.join(self.zones)}): each route keeps its own",
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
        self.stop_ids, keep = self._unique(table, "stop_id")
        lat, bad_lat = table.floats("stop_lat")
        lng, bad_lng = table.floats("stop_lon")
        drop_rows(table, self.findings, keep, bad_lat, "stop_lat is no number", "stop_lat")
        drop_rows(table, self.findings, keep, bad_lng, "stop_lon is no number", "stop_lon")
        drop_rows(table, self.findings, keep, np.abs(lat) > 90.0, "stop_lat is not within -90 to 90", "stop_lat")
        drop_rows(table, self.findings, keep, np.abs(lng) > 180.0, "stop_lon is not within -180 to 180", "stop_lon")
        # (0, 0) is what tools write for an unknown place; no stop floats in the Gulf of Guinea.
        is_nowhere = np.isnan(lat) | np.isnan(lng) | ((lat == 0.0) & (lng == 0.0))
        parent = codes(table.strings("parent_station"), self.stop_ids)
        parent[parent >= 0] = np.where(keep[parent[parent >= 0]], parent[parent >= 0], -1)
        lost = np.flatnonzero(keep & (parent < 0) & ~table.is_missing("parent_station"))
        self.findings.add("stops.txt", "unknown parent_station: read as none", table.lines(lost), is_dropped=False)
        lat[is_nowhere], lng[is_nowhere] = np.nan, np.nan
        from_parent = np.flatnonzero(is_nowhere & (parent >= 0) & ~is_nowhere[parent])
        lat[from_parent], lng[from_parent] = lat[parent[from_parent]], lng[parent[from_parent]]
        self.findings.add(
            "stops.txt", "no coordinates: takes those of its parent station", table.lines(from_parent), is_dropped=False
        )
        nowhere = np.flatnonzero(keep & np.isnan(lat))
        self.findings.add(
            "stops.txt", "no coordinates: can only be ridden through", table.lines(nowhere), is_dropped=False
        )
        location_type = self._choice(table, "location_type", 4)
        wheelchair = self._choice(table, "wheelchair_boarding", 2)
        self.stop_is_kept, self.stop_lat, self.stop_lng = keep, lat, lng
        number = _numbers(keep)
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
        self.route_ids, keep = self._unique(table, "route_id")
        kind = table.integers("route_type")
        drop_rows(table, self.findings, keep, kind < 0, "route_type is no whole number", "route_type")
        classes = {int(value): route_class(int(value)) for value in np.unique(kind[keep])}
        unknown = np.isin(kind, [value for value, found in classes.items() if found is None]) & keep
        self.findings.add(
            "routes.txt", "unknown route_type: only public_transport rides it", table.lines(np.flatnonzero(unknown)),
            example=str(kind[unknown][0]) if unknown.any() else "", is_dropped=False,
        )  # fmt: skip
        agency = codes(table.strings("agency_id"), self.agency_ids)
        lost = np.flatnonzero(keep & (agency < 0) & (~table.is_missing("agency_id") | (len(self.agencies) > 1)))
        self.findings.add(
            "routes.txt", "no known agency_id: read as the first agency's", table.lines(lost), is_dropped=False
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
                f"{self.files.source}: neither calendar.txt nor calendar_dates.txt has a row, so nothing ever runs",
                file="calendar.txt",
            )
        ids, keep = self._unique(table, "service_id")
        start, end = table.dates("start_date"), table.dates("end_date")
        drop_rows(table, self.findings, keep, start < 0, "start_date is not YYYYMMDD", "start_date")
        drop_rows(table, self.findings, keep, end < 0, "end_date is not YYYYMMDD", "end_date")
        drop_rows(table, self.findings, keep, end < start, "end_date is before start_date", "end_date")
        weekdays = np.zeros(table.n_rows, np.uint8)
        for bit, day in enumerate(_DAYS):
            flag = table.integers(day)
            drop_rows(table, self.findings, keep, (flag != 0) & (flag != 1), f"{day} is not 0 or 1", day)
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
        drop_rows(dates, self.findings, kept, again.duplicated().to_numpy(), "service_id and date given twice")
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

    def _read_shapes(self) -> None:
        table = self._read(
            "shapes.txt", "shape_id", "shape_pt_lat", "shape_pt_lon", "shape_pt_sequence", "shape_dist_traveled",
            needs=("shape_id", "shape_pt_lat", "shape_pt_lon", "shape_pt_sequence"),
        )  # fmt: skip
        keep = np.ones(table.n_rows, np.bool_)
        lat, _ = table.floats("shape_pt_lat")
        lng, _ = table.floats("shape_pt_lon")
        order = table.integers("shape_pt_sequence")
        along, _ = table.floats("shape_dist_traveled")
        drop_rows(table, self.findings, keep, table.is_missing("shape_id"), "shape_id is empty")
        drop_rows(table, self.findings, keep, ~(np.abs(lat) <= 90.0), "shape_pt_lat is no latitude", "shape_pt_lat")
        drop_rows(table, self.findings, keep, ~(np.abs(lng) <= 180.0), "shape_pt_lon is no longitude", "shape_pt_lon")
        drop_rows(table, self.findings, keep, order < 0, "shape_pt_sequence is no whole number", "shape_pt_sequence")
        coded = table.strings("shape_id").combine_chunks().dictionary_encode() if table.n_rows else None
        if coded is None:
            self.shape_ids, number = pa.array([], pa.string()), np.zeros(0, np.int32)
        else:
            self.shape_ids, number = coded.dictionary, coded.indices.to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(keep)
        rows = rows[np.lexsort((order[rows], number[rows]))]
        self.shape_arrays: dict[str, Any] = {
            "shape_indptr": np.searchsorted(number[rows], np.arange(len(self.shape_ids) + 1)).astype(np.int64),
            "shape_lng": lng[rows],
            "shape_lat": lat[rows],
            "shape_along": along[rows],
        }

    def _read_trips(self) -> None:
        table = self._read(
            "trips.txt", "trip_id", "route_id", "service_id", "trip_headsign", "trip_short_name", "direction_id",
            "block_id", "shape_id", "wheelchair_accessible", "bikes_allowed",
            needs=("trip_id", "route_id", "service_id"), is_required=True,
        )  # fmt: skip
        self.trip_ids, keep = self._unique(table, "trip_id")
        route = codes(table.strings("route_id"), self.route_ids)
        service = codes(table.strings("service_id"), self.service_ids)
        drop_rows(table, self.findings, keep, route < 0, "unknown route_id", "route_id")
        drop_rows(table, self.findings, keep, ~self.route_is_kept[route], "trip of a dropped route", "route_id")
        drop_rows(table, self.findings, keep, service < 0, "service_id in neither calendar", "service_id")
        shape = codes(table.strings("shape_id"), self.shape_ids)
        lost = np.flatnonzero(keep & (shape < 0) & ~table.is_missing("shape_id"))
        if "shapes.txt" in self.files:
            self.findings.add("trips.txt", "unknown shape_id: read as none", table.lines(lost[:1000]), rows=lost.size,
                              is_dropped=False)  # fmt: skip
        block = np.full(table.n_rows, -1, np.int32)
        if "block_id" in table:
            coded, _ = pd.factorize(table.objects("block_id"))
            block = np.where(table.is_missing("block_id"), -1, coded).astype(np.int32)
        self.trip_table, self.trip_is_kept, self.trip_shape = table, keep, shape
        self.trip_route = _numbers(self.route_is_kept)[route]
        self.trip_service, self.trip_block = service, block

    def _trips(self, calls: TripCalls) -> pd.DataFrame:
        """Return the trips that can run, in the order of their calls."""
        table, rows = self.trip_table, calls.trip
        direction = self._choice(table, "direction_id", 1, missing=-1)
        wheelchair = self._choice(table, "wheelchair_accessible", 2)
        bikes = self._choice(table, "bikes_allowed", 2)
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

    def _transfers(self, stop_number: Numbers, trip_number: Numbers) -> pd.DataFrame:
        table = self._read(
            "transfers.txt", "from_stop_id", "to_stop_id", "from_route_id", "to_route_id", "from_trip_id",
            "to_trip_id", "transfer_type", "min_transfer_time",
        )  # fmt: skip
        keep = np.ones(table.n_rows, np.bool_)
        kind, least = table.integers("transfer_type"), table.integers("min_transfer_time")
        kind = np.where(kind == text.MISSING, 0, kind)
        ends: dict[str, Numbers] = {}
        numbers: Mapping[str, tuple[pa.Array, Numbers]] = {
            "stop": (self.stop_ids, stop_number),
            "route": (self.route_ids, _numbers(self.route_is_kept)),
            "trip": (self.trip_ids, trip_number),
        }
        for what, (ids, number) in numbers.items():
            for end in ("from", "to"):
                column = f"{end}_{what}_id"
                row = codes(table.strings(column), ids)
                ends[f"{end}_{what}_idx"] = found = np.where(row >= 0, number[row], -1).astype(np.int32)
                is_lost = (found < 0) & ~table.is_missing(column)
                drop_rows(table, self.findings, keep, is_lost, f"unknown {column}", column)
        drop_rows(table, self.findings, keep, (kind < 0) | (kind > 5), "transfer_type is not 0 to 5", "transfer_type")
        is_bad = (least != text.MISSING) & ((least < 0) | (least > 7 * 86400))
        drop_rows(table, self.findings, keep, is_bad, "min_transfer_time is not a number of seconds up to a week",
                  "min_transfer_time")  # fmt: skip
        has_stops = (ends["from_stop_idx"] >= 0) & (ends["to_stop_idx"] >= 0)
        has_trips = (ends["from_trip_idx"] >= 0) & (ends["to_trip_idx"] >= 0)
        drop_rows(table, self.findings, keep, (kind <= 3) & ~has_stops, "transfer without two stops")
        drop_rows(table, self.findings, keep, (kind >= 4) & ~has_trips, "in-seat transfer without two trips")
        no_time = keep & (kind == 2) & (least == text.MISSING)
        self.findings.add(
            "transfers.txt", "transfer_type 2 without min_transfer_time: the walk decides",
            table.lines(np.flatnonzero(no_time)), is_dropped=False,
        )  # fmt: skip
        kind = np.where(no_time, 0, kind)
        is_special = np.zeros(table.n_rows, np.bool_)
        for what in ("from_route_idx", "to_route_idx", "from_trip_idx", "to_trip_idx"):
            is_special |= ends[what] >= 0
        self.findings.add(
            "transfers.txt", "least times and bans for single routes or trips are kept but not used",
            table.lines(np.flatnonzero(keep & is_special & ((kind == 2) | (kind == 3)))), is_dropped=False,
        )  # fmt: skip
        least = np.where(least == text.MISSING, -1, least)
        frame = pd.DataFrame({**ends, "transfer_type": kind.astype(np.int32), "min_transfer_time": least})
        frame["min_transfer_time"] = frame["min_transfer_time"].astype(np.int32)
        return frame[keep].reset_index(drop=True)

    def _fares(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return fares v1: prices and what they are valid for."""
        table = self._read(
            "fare_attributes.txt", "fare_id", "price", "currency_type", "payment_method", "transfers", "agency_id",
            "transfer_duration", needs=("fare_id", "price", "currency_type"),
        )  # fmt: skip
        ids, keep = self._unique(table, "fare_id")
        price, _ = table.floats("price")
        drop_rows(table, self.findings, keep, ~(price >= 0.0), "price is no number from 0", "price")
        duration = table.integers("transfer_duration")
        agency = codes(table.strings("agency_id"), self.agency_ids)
        fares = pd.DataFrame(
            {
                "feed_idx": np.zeros(int(keep.sum()), np.int32),
                "fare_id": table.objects("fare_id")[keep],
                "agency_idx": agency[keep],
                "price": price[keep],
                "currency_type": table.objects("currency_type")[keep],
                "payment_method": self._choice(table, "payment_method", 1)[keep],
                # Empty means any number of changes: -1.
                "transfers": self._choice(table, "transfers", 2, missing=-1)[keep],
                "transfer_duration": np.where(duration < 0, -1, duration)[keep].astype(np.int32),
            }
        )
        rules = self._read(
            "fare_rules.txt", "fare_id", "route_id", "origin_id", "destination_id", "contains_id", needs=("fare_id",)
        )
        number = _numbers(keep)
        row = codes(rules.strings("fare_id"), ids)
        fare = np.where(row >= 0, number[row] if number.size else -1, -1)
        route = codes(rules.strings("route_id"), self.route_ids)
        kept = np.ones(rules.n_rows, np.bool_)
        drop_rows(rules, self.findings, kept, fare < 0, "unknown fare_id", "fare_id")
        is_lost = (route < 0) & ~rules.is_missing("route_id")
        drop_rows(rules, self.findings, kept, is_lost, "unknown route_id", "route_id")
        route = np.where(route >= 0, _numbers(self.route_is_kept)[route], -1)
        return fares, pd.DataFrame(
            {
                "fare_idx": fare[kept].astype(np.int32),
                "route_idx": route[kept].astype(np.int32),
                **{name: rules.objects(name)[kept] for name in ("origin_id", "destination_id", "contains_id")},
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


def _numbers(keep: Mask) -> Numbers:
    """Return the new number of each row when dropped ones leave, -1 for these."""
    return np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)


def _is_zone(name: str) -> bool:
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return bool(name)
