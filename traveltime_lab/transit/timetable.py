"""
The timetable: the content of one or more GTFS feeds as immutable tables and flat arrays.

Rows of tables are numbered from 0. Columns that end in ``_idx`` refer to them, with -1 for none. Tables have a column
for the feed, so feeds may use equal ids. Trips are sorted by pattern (the stops of a trip with their pickup and
drop-off types) and departure.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from traveltime_lab._arrays import (
    AnyArray,
    BoolArray,
    Float32Array,
    FloatArray,
    Int32Array,
    Int64Array,
    UInt8Array,
    UInt64Array,
    arrays_by_field,
)
from traveltime_lab._digests import digest, parts_of
from traveltime_lab.errors import InputError, NoServiceError
from traveltime_lab.runtime.forks import cached_property
from traveltime_lab.runtime.warnings import warn, warnings_to
from traveltime_lab.transit.calendar import ServiceCounts, Services, day_origin
from traveltime_lab.transit.headway_draws import row_keys
from traveltime_lab.transit.hot_columns import HotColumns
from traveltime_lab.transit.pathways import Pathways
from traveltime_lab.transit.stop_sequences import StopSequences
from traveltime_lab.transit.timetable_report import facts_of

#: Tables that the ``_idx`` columns of each table refer to.
TABLES: Final[Mapping[str, Mapping[str, str]]] = {
    "feeds": {},
    "agencies": {"feed_idx": "feeds", "zone_idx": "zones"},
    "stops": {"feed_idx": "feeds", "parent_idx": "stops"},
    "routes": {"feed_idx": "feeds", "agency_idx": "agencies", "zone_idx": "zones"},
    "trips": {
        "route_idx": "routes",
        "service_idx": "services",
        "pattern_idx": "patterns",
        "course_idx": "courses",
        "block_idx": "blocks",
    },
    "transfers": {
        "from_stop_idx": "stops",
        "to_stop_idx": "stops",
        "from_route_idx": "routes",
        "to_route_idx": "routes",
        "from_trip_idx": "trips",
        "to_trip_idx": "trips",
    },
    "fare_attributes": {"feed_idx": "feeds", "agency_idx": "agencies"},
    "fare_rules": {"fare_idx": "fare_attributes", "route_idx": "routes"},
}
#: A day with fewer departures than this share of the busiest day within a week of it causes a warning (assumed: in the
#: feeds tested, Sundays have 40 to 80 % of it, and days that a feed does not really cover have 0 to 5 %).
LITTLE_SERVICE: Final = 0.1


class ServiceWarning(UserWarning):
    """The timetable has little service on the day of a query."""


def service_warnings_to(listener: Callable[[str], object]) -> contextlib.AbstractContextManager[None]:
    """Pass the texts of service warnings to a function; see `traveltime_lab.runtime.warnings.warnings_to`."""
    return warnings_to(listener, ServiceWarning)


def is_little(departures: Any, busiest: Any) -> Any:
    """
    Return whether departures on a day are little service, or none.

    Parameters
    ----------
    departures : int or int array
    busiest : int or int array of the same shape
        Departures on the busiest day within a week of it.

    Returns
    -------
    bool or bool array of the same shape
    """
    return (departures == 0) | (departures < LITTLE_SERVICE * busiest)


def _against(departures: int, busiest: int, date: dt.date) -> str:
    """Return in words how many departures there are on a date with little service."""
    if not busiest:
        return f"0 departures on {date:%A} {date} and within a week of it"
    return f"{departures:,} departures on {date:%A} {date}, against {busiest:,} on the busiest day within a week of it"


@dataclass(frozen=True)
class Timetable:
    """
    The content of GTFS feeds.

    Attributes
    ----------
    feeds : DataFrame
        ``name``, ``publisher``, ``version``, ``start_date``, ``end_date`` (from feed_info.txt, "" if not given).
    agencies : DataFrame
        ``feed_idx``, ``agency_id``, ``agency_name``, ``agency_url``, ``agency_fare_url``, ``zone_idx``.
    stops : DataFrame
        ``feed_idx``, ``stop_id``, ``stop_code``, ``stop_name``, ``stop_lat``, ``stop_lon`` (degrees, NaN where not
        given), ``location_type``, ``parent_idx``, ``stop_timezone``, ``wheelchair_boarding``, ``platform_code``,
        ``zone_id``.
    routes : DataFrame
        ``feed_idx``, ``route_id``, ``agency_idx``, ``zone_idx``, ``route_short_name``, ``route_long_name``,
        ``route_type``, ``mode`` and ``group`` (see `traveltime_lab.transit.route_types`), ``route_color``,
        ``route_text_color``.
    trips : DataFrame
        ``trip_id``, ``route_idx``, ``service_idx``, ``pattern_idx``, ``course_idx``, ``block_idx``, ``trip_headsign``,
        ``trip_short_name``, ``direction_id``, ``wheelchair_accessible``, ``bikes_allowed`` (-1 or 0 where not given).
    transfers : DataFrame
        ``from_stop_idx`` and so on, ``transfer_type``, ``min_transfer_time`` (s, -1 where not given).
    fare_attributes : DataFrame
        GTFS fares v1: ``feed_idx``, ``fare_id``, ``agency_idx`` (-1 for any), ``price``, ``currency_type``,
        ``payment_method``, ``transfers`` and ``transfer_duration`` (s; -1 for any).
    fare_rules : DataFrame
        ``fare_idx``, ``route_idx`` (-1 for any), ``origin_id``, ``destination_id`` and ``contains_id`` (zone_id of
        stops, "" for any); see `traveltime_lab.transit.fares`.
    services : Services
        Calendars, by service_idx.
    zones : list of str
        IANA names of time zones, by zone_idx.
    trip_indptr : int64 array of shape (n_trips + 1,)
        Where the times of each trip begin.
    arrival, departure : int32 arrays of shape (n_stop_times,), s
        Times after noon minus 12 hours of the service date, in the time zone of the agency of the trip.
    pattern_indptr, pattern_stop, pattern_pickup, pattern_drop_off : int64, int32, uint8, uint8 arrays
        CSR of the stops of each pattern, with pickup and drop-off types as in the feed.
    course_pattern, course_shape, course_indptr, course_along, course_headsign : int32, int32, int64, float32, int32
        A course is a pattern along one shape. For each position it has ``shape_dist_traveled`` (NaN where not given)
        and the number of the stop_headsign in `headsigns` (0 for none).
    headsigns : list of str
    shape_indptr, shape_lng, shape_lat, shape_along : int64, float64, float64, float64 arrays
        CSR of the lines of shapes in EPSG:4326, with ``shape_dist_traveled``.
    frequency_trip, frequency_start, frequency_end, frequency_headway, frequency_exact : int32 and bool arrays
        Rows of frequencies.txt: trips that are repeated from start to before end (s). Departures are at
        start + k * headway, which is assumed for rows without exact times, too, unless a search has other `headways`.
    notes : list of dict
        Rows that were dropped or noted while reading, by feed.
    feed_spans : tuple of (int, int), optional
        First and last date of each feed as ordinals, first > last for none; by default those on which its trips run. A
        changed timetable covers the dates of the one before, also if a feed has lost its trips.
    leaving : tuple of (int, int)
        Stops with a trip whose next stop, or the one before, was left out when the feed was cut: row of the stop, and
        seconds of the shortest ride between the two. If passengers cannot alight there (or board, for the one before),
        also the next stop along the trip where this is possible, and those between. Answers do not depend on it.
    sequences : StopSequences, optional
        The stop_sequence of each time; by default those of every trip are 1, 2, 3 and so on. Answers do not depend on
        it.
    pathways : Pathways, optional
        The ways inside stations; None if there are none.
    """

    feeds: pd.DataFrame
    agencies: pd.DataFrame
    stops: pd.DataFrame
    routes: pd.DataFrame
    trips: pd.DataFrame
    transfers: pd.DataFrame
    fare_attributes: pd.DataFrame
    fare_rules: pd.DataFrame
    services: Services
    zones: list[str]
    trip_indptr: Int64Array
    arrival: Int32Array
    departure: Int32Array
    pattern_indptr: Int64Array
    pattern_stop: Int32Array
    pattern_pickup: UInt8Array
    pattern_drop_off: UInt8Array
    course_pattern: Int32Array
    course_shape: Int32Array
    course_indptr: Int64Array
    course_along: Float32Array
    course_headsign: Int32Array
    headsigns: list[str]
    shape_indptr: Int64Array
    shape_lng: FloatArray
    shape_lat: FloatArray
    shape_along: FloatArray
    frequency_trip: Int32Array
    frequency_start: Int32Array
    frequency_end: Int32Array
    frequency_headway: Int32Array
    frequency_exact: BoolArray
    notes: list[dict[str, Any]] = field(default_factory=list)
    feed_spans: tuple[tuple[int, int], ...] | None = None
    leaving: tuple[tuple[int, int], ...] = ()
    sequences: StopSequences | None = None
    pathways: Pathways | None = None

    def __post_init__(self) -> None:
        """Make every array read-only."""
        for array in (*arrays_by_field(self).values(), *arrays_by_field(self.services).values()):
            array.setflags(write=False)

    def __repr__(self) -> str:
        """Return the size and the dates in one line."""
        spans = ", ".join(f"{name} {first}..{last}" for name, first, last in self.named_spans())
        return f"<Timetable of {self.n_stops:,} stops and {self.n_trips:,} trips: {spans}>"

    @property
    def n_stops(self) -> int:
        """Number of stops, including stations and entrances."""
        return len(self.stops)

    @property
    def n_trips(self) -> int:
        """Number of trips, repeated ones counted once."""
        return len(self.trips)

    def column(self, table: str, name: str) -> AnyArray:
        """Return a column of a table as a contiguous array."""
        return np.ascontiguousarray(getattr(self, table)[name].to_numpy())

    @cached_property
    def is_called(self) -> BoolArray:
        """For each stop whether it has coordinates and a trip stops there, shape (n_stops,)."""
        found = np.zeros(self.n_stops, np.bool_)
        found[self.pattern_stop] = True
        for name in ("stop_lon", "stop_lat"):
            found &= np.isfinite(self.column("stops", name).astype(np.float64))
        return found

    @property
    def has_fares(self) -> bool:
        """Whether any feed has fares."""
        return len(self.fare_attributes) > 0

    @cached_property
    def hot(self) -> HotColumns:
        """Columns that searches use, as arrays that are computed once."""
        first, last = self.departure[self.trip_indptr[:-1]], self.arrival[self.trip_indptr[1:] - 1]
        is_repeated = np.zeros(self.n_trips, np.bool_)
        is_repeated[self.frequency_trip] = True
        zone = self.column("routes", "zone_idx")
        trip_route = self.column("trips", "route_idx")
        feed = self.column("routes", "feed_idx")
        return HotColumns(
            trip_route=trip_route,
            trip_service=self.column("trips", "service_idx"),
            trip_pattern=self.column("trips", "pattern_idx"),
            trip_block=self.column("trips", "block_idx"),
            trip_zone=zone[trip_route] if self.n_trips else np.zeros(0, np.int32),
            trip_feed=feed[trip_route] if self.n_trips else np.zeros(0, np.int32),
            first_departure=first,
            last_arrival=last,
            is_repeated=is_repeated,
        )

    @cached_property
    def frequency_keys(self) -> UInt64Array:
        """For each row of frequencies.txt a number that its draws depend on."""
        return row_keys(self)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of everything that results depend on."""
        tables = (pd.util.hash_pandas_object(getattr(self, table), index=False).to_numpy().data for table in TABLES)
        spans = "" if self.feed_spans is None else repr(self.feed_spans)
        names = "\0".join([*self.zones, *self.headsigns])
        arrays = parts_of({**arrays_by_field(self), **arrays_by_field(self.services)})
        inside = () if self.pathways is None else (self.pathways.fingerprint,)
        return digest(*arrays, *tables, names.encode(), spans.encode(), *inside).hexdigest()

    def trips_by_timezone(self) -> dict[str, int]:
        """Return the number of trips in each time zone, those with most first; without trips, the zones of agencies."""
        counts = np.bincount(self.hot.trip_zone, minlength=len(self.zones)).tolist()
        zones = {zone: count for zone, count in zip(self.zones, counts, strict=True) if count or not self.n_trips}
        return dict(sorted(zones.items(), key=lambda item: (-item[1], item[0])))

    # Service dates

    def services_on(self, date: dt.date | int) -> BoolArray:
        """Return for each service whether it is active on a service date, given as a date or its ordinal."""
        return self.services.on(date)

    @cached_property
    def _feed_spans(self) -> Int64Array:
        """First and last date of each feed as ordinals, shape (n_feeds, 2); first > last for none."""
        if self.feed_spans is not None:
            return np.array(self.feed_spans, np.int64).reshape(-1, 2)
        (first, last), counts = self.services.spans(), self.per_service
        spans = np.full((len(self.feeds), 2), (2_000_000_000, -1), np.int64)
        np.minimum.at(spans[:, 0], counts.feed, first[counts.service])
        np.maximum.at(spans[:, 1], counts.feed, last[counts.service])
        return spans

    def spans(self) -> tuple[tuple[int, int], ...]:
        """Return the first and last date of each feed as ordinals, as in `feed_spans`."""
        return tuple((int(first), int(last)) for first, last in self._feed_spans)

    def named_spans(self) -> list[tuple[str, dt.date | None, dt.date | None]]:
        """Return the name, the first and the last date of each feed."""
        return [
            (str(name), dt.date.fromordinal(int(a)), dt.date.fromordinal(int(b))) if a <= b else (str(name), None, None)
            for name, (a, b) in zip(self.feeds["name"], self._feed_spans, strict=True)
        ]

    def dates(self) -> pd.DataFrame:
        """
        Return the first and the last date with service of each feed.

        Returns
        -------
        DataFrame of shape (n_feeds, 2)
            Indexed by feed name; ``first`` and ``last`` are dates, None for a feed without service.
        """
        spans = self.named_spans()
        return pd.DataFrame(
            {"first": [first for _, first, _ in spans], "last": [last for _, _, last in spans]},
            index=pd.Index([name for name, _, _ in spans], name="feed"),
            dtype=object,
        )

    @cached_property
    def per_service(self) -> ServiceCounts:
        """Number of trips and of departures of each service."""
        repeats = (~self.hot.is_repeated).astype(np.int64)
        times = -(-(self.frequency_end - self.frequency_start) // self.frequency_headway)
        np.add.at(repeats, self.frequency_trip, times)
        return ServiceCounts.of(self.hot.trip_feed, self.hot.trip_service, repeats)

    def trips_per_day(self, date: dt.date) -> pd.DataFrame:
        """
        Return the number of trips and departures of each feed on a service date.

        Parameters
        ----------
        date : datetime.date
            Service date. Trips after midnight may belong to the service date before.

        Returns
        -------
        DataFrame of shape (n_feeds, 2)
            Indexed by feed name. ``trips`` counts trips of trips.txt once; ``departures`` counts each repetition of
            frequencies.txt.
        """
        trips, departures = self.per_service.on(self.services_on(date), len(self.feeds))
        return pd.DataFrame({"trips": trips, "departures": departures}, index=pd.Index(self.feeds["name"], name="feed"))

    def check_moment(self, moment: dt.datetime, *, name: str = "departure_time") -> None:
        """
        Raise or warn if the timetable has no, or little, service at a moment.

        A feed covers the moments from the start of its first service date to the end of its last, including trips that
        run past midnight.

        Parameters
        ----------
        moment : datetime
            Timezone-aware moment.
        name : str, default "departure_time"
            Name of the argument in messages.

        Raises
        ------
        NoServiceError
            If no feed covers the moment. The message contains the dates that are covered.

        Warns
        -----
        ServiceWarning
            If some feed does not cover the moment, or if the day has little or no service: fewer departures than
            `LITTLE_SERVICE` of the busiest day within a week of it, of all feeds or of one.
        """
        if moment.utcoffset() is None:
            raise InputError(f"{name} {moment} has no time zone; give an aware datetime.")
        posix = moment.timestamp()
        covers: list[bool] = []
        for zone, (first, last), overhang in zip(self.feed_zones, self._feed_spans, self._overhangs, strict=True):
            is_covered = False
            if first <= last:
                end = max(day_origin(int(last) + 1, zone), day_origin(int(last), zone) + overhang)
                is_covered = day_origin(int(first), zone) <= posix < end
            covers.append(is_covered)

        def listed() -> str:
            return "; ".join(
                f"{feed} runs from {first} to {last}" if first else f"{feed} never runs"
                for feed, first, last in self.named_spans()
            )

        if not any(covers):
            raise NoServiceError(
                f"{name} {moment.isoformat()} is outside the dates that the timetable covers: {listed()}. "
                "Choose a moment in between, or build the network with a timetable of that date."
            )
        if not all(covers):
            left_out = [str(feed) for feed, is_in in zip(self.feeds["name"], covers, strict=True) if not is_in]
            warn(f"{name} {moment.isoformat()} is not covered by {', '.join(left_out)}: {listed()}.", ServiceWarning)
        zone = self.feed_zones[covers.index(True)]
        date = moment.astimezone(ZoneInfo(zone)).date()
        own, busiest = self.departures_around(date.toordinal())
        runs_ever = self._runs_ever
        if runs_ever.any() and is_little(int(own.sum()), int(busiest[-1])):
            warn(
                f"{name} {moment.isoformat()}: only {_against(int(own.sum()), int(busiest[-1]), date)}.", ServiceWarning
            )
        elif len(covers) > 1 and (little := np.flatnonzero(runs_ever & covers & is_little(own, busiest[:-1]))).size:
            feeds = "; ".join(
                f"{self.feeds['name'].iloc[i]} has {_against(int(own[i]), int(busiest[i]), date)}" for i in little
            )
            warn(f"{name} {moment.isoformat()}: {feeds}.", ServiceWarning)

    def departures_around(self, ordinal: int) -> tuple[Int64Array, Int64Array]:
        """
        Return how much service there is on a day, and on the busiest within a week of it.

        Parameters
        ----------
        ordinal : int
            Service date.

        Returns
        -------
        departures : int64 array of shape (n_feeds,)
        busiest : int64 array of shape (n_feeds + 1,)
            The counts of each feed on its busiest day, then of all feeds together.
        """
        known = self._known_levels
        if ordinal not in known:
            around = self.departures_on(np.arange(ordinal - 7, ordinal + 8))
            known[ordinal] = around[:, 7], np.append(around.max(axis=1), around.sum(axis=0).max())
        return known[ordinal]

    def departures_on(self, days: Int64Array) -> Int64Array:
        """Return the number of departures of each feed, shape (n_feeds, n_days), on dates (ordinals, ascending)."""
        counts = self.per_service
        return self.services.totals(counts.service, counts.feed, counts.departures, len(self.feeds), days)

    @cached_property
    def _runs_ever(self) -> BoolArray:
        """For each feed whether it has departures at all; a feed that has lost its trips is missed on no day."""
        counts = self.per_service
        found = np.zeros(len(self.feeds), np.bool_)
        found[counts.feed[counts.departures > 0]] = True
        return found

    @cached_property
    def _known_levels(self) -> dict[int, tuple[Int64Array, Int64Array]]:
        """Results of `departures_around` for the days that were requested so far."""
        return {}

    @cached_property
    def feed_zones(self) -> list[str]:
        """The time zone of the first agency of each feed."""
        first = self.agencies.drop_duplicates("feed_idx").set_index("feed_idx")["zone_idx"]
        return [self.zones[int(first[i])] for i in range(len(self.feeds))]

    @cached_property
    def _overhangs(self) -> list[int]:
        """The latest time of a service date in each feed, s."""
        latest = np.zeros(len(self.feeds), np.int64)
        if self.n_trips:
            plain = ~self.hot.is_repeated
            np.maximum.at(latest, self.hot.trip_feed[plain], self.hot.last_arrival[plain])
            lasts = (self.hot.last_arrival - self.hot.first_departure)[self.frequency_trip] + self.frequency_end
            np.maximum.at(latest, self.hot.trip_feed[self.frequency_trip], lasts)
        return [int(value) for value in latest]

    def report(self) -> dict[str, Any]:
        """
        Return the dates, the trips per weekday, the size and the findings of each feed.

        Returns
        -------
        dict
            Facts by feed name. ``trips_per_weekday`` is that of the busiest of 60 weeks; ``week_of`` is its Monday.
        """
        return facts_of(self)
