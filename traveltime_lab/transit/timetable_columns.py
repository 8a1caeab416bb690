"""
The rules of the columns of timetables in saved networks; see `traveltime_lab.streets.columns`.

A new column needs a rule here: `check_timetable` refuses a timetable with a column that has none.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from traveltime_lab._arrays import arrays_by_field
from traveltime_lab.streets.columns import Column, check_column
from traveltime_lab.transit.timetable import TABLES, Timetable

#: Largest time after midnight, s, so that sums fit into 32 bits (assumed; GTFS has no limit).
_LATEST_S: Final = 100_000_000
_LAST_DAY: Final = dt.date.max.toordinal()

#: Rules of the arrays, with names such as those of the columns of a file.
ARRAYS: Final[Mapping[str, Column]] = {
    "trip_indptr": Column("int64", ("trips+",), 0, "stop times"),
    "arrival": Column("int32", ("stop times",), -_LATEST_S, _LATEST_S),
    "departure": Column("int32", ("stop times",), -_LATEST_S, _LATEST_S),
    "pattern_indptr": Column("int64", ("patterns+",), 0, "pattern stops"),
    "pattern_stop": Column("int32", ("pattern stops",), 0, "stops"),
    "pattern_pickup": Column("uint8", ("pattern stops",)),
    "pattern_drop_off": Column("uint8", ("pattern stops",)),
    "course_pattern": Column("int32", ("courses",), 0, "patterns"),
    "course_shape": Column("int32", ("courses",), -1, "shapes"),
    "course_indptr": Column("int64", ("courses+",), 0, "course stops"),
    "course_along": Column("float32", ("course stops",), may_be_nan=True),
    "course_headsign": Column("int32", ("course stops",), 0, "headsigns"),
    "shape_indptr": Column("int64", ("shapes+",), 0, "shape points"),
    "shape_lng": Column("float64", ("shape points",), -180.0, 180.0),
    "shape_lat": Column("float64", ("shape points",), -90.0, 90.0),
    "shape_along": Column("float64", ("shape points",), may_be_nan=True),
    "frequency_trip": Column("int32", ("frequencies",), 0, "trips"),
    "frequency_start": Column("int32", ("frequencies",), -_LATEST_S, _LATEST_S),
    "frequency_end": Column("int32", ("frequencies",), -_LATEST_S, _LATEST_S),
    "frequency_headway": Column("int32", ("frequencies",), 1, _LATEST_S),
    "frequency_exact": Column("bool", ("frequencies",)),
    "services.weekdays": Column("uint8", ("services",), 0, 127),
    "services.start": Column("int32", ("services",)),
    "services.end": Column("int32", ("services",)),
    "services.exception_date": Column("int32", ("exceptions",), 1, _LAST_DAY),
    "services.exception_service": Column("int32", ("exceptions",), 0, "services"),
    "services.exception_added": Column("bool", ("exceptions",)),
}
#: Columns of row numbers that may be -1, in addition to those of transfers.
_MAY_BE_NONE: Final = frozenset(
    {"stops.parent_idx", "trips.block_idx", "fare_attributes.agency_idx", "fare_rules.route_idx"}
)
#: Texts of the tables.
TEXTS: Final[Mapping[str, str]] = {
    "feeds": "name publisher version start_date end_date",
    "agencies": "agency_id agency_name agency_url agency_fare_url",
    "stops": "stop_id stop_code stop_name stop_timezone platform_code zone_id",
    "routes": "route_id route_short_name route_long_name route_color route_text_color mode group",
    "trips": "trip_id trip_headsign trip_short_name",
    "transfers": "",
    "fare_attributes": "fare_id currency_type",
    "fare_rules": "origin_id destination_id contains_id",
}
#: Numbers of the tables, besides those of rows (`TABLES`).
_NUMBERS: Final[Mapping[str, Column]] = {
    "stops.stop_lat": Column("float64", ("stops",), -90.0, 90.0, may_be_nan=True),
    "stops.stop_lon": Column("float64", ("stops",), -180.0, 180.0, may_be_nan=True),
    "fare_attributes.price": Column("float64", ("fare_attributes",), may_be_nan=True),
} | {
    name: Column("int32", (name.partition(".")[0],), -1)
    for name in (
        "stops.location_type", "stops.wheelchair_boarding", "routes.route_type", "trips.direction_id",
        "trips.wheelchair_accessible", "trips.bikes_allowed", "transfers.transfer_type",
        "transfers.min_transfer_time", "fare_attributes.payment_method", "fare_attributes.transfers",
        "fare_attributes.transfer_duration",
    )
}  # fmt: skip
#: Rules of the numbers of tables.
NUMBERS: Final[Mapping[str, Column]] = dict(_NUMBERS) | {
    f"{table}.{name}": Column(
        "int32", (table,), -1 if table == "transfers" or f"{table}.{name}" in _MAY_BE_NONE else 0, what
    )
    for table, targets in TABLES.items()
    for name, what in targets.items()
}


def sizes_of(timetable: Timetable) -> dict[str, int]:
    """Return the sizes that the rules name."""
    return {
        **{table: len(getattr(timetable, table)) for table in TABLES},
        "services": int(timetable.services.weekdays.size),
        "exceptions": int(timetable.services.exception_date.size),
        "zones": len(timetable.zones),
        "stop times": int(timetable.arrival.size),
        "patterns": int(timetable.pattern_indptr.size) - 1,
        "pattern stops": int(timetable.pattern_stop.size),
        "courses": int(timetable.course_pattern.size),
        "course stops": int(timetable.course_along.size),
        "headsigns": len(timetable.headsigns),
        "shapes": int(timetable.shape_indptr.size) - 1,
        "shape points": int(timetable.shape_lng.size),
        "frequencies": int(timetable.frequency_trip.size),
        # Searches have arrays of this size.
        "blocks": len(timetable.trips),
    }


def check_timetable(timetable: Timetable, *, is_known: bool = False) -> None:
    """
    Raise ValueError if columns of a timetable break their rules, or do not fit together.

    Parameters
    ----------
    timetable : Timetable
        From a file.
    is_known : bool, default False
        Whether the values of its columns have been checked before, so that only their types and numbers are.
    """
    arrays = arrays_by_field(timetable) | {
        f"services.{name}": array for name, array in arrays_by_field(timetable.services).items()
    }
    sizes = sizes_of(timetable)
    _check_names("arrays", arrays, ARRAYS)
    for name, rule in ARRAYS.items():
        check_column(name, arrays[name], rule, sizes, is_known=is_known)
    for table in TABLES:
        frame: pd.DataFrame = getattr(timetable, table)
        own = {name.partition(".")[2]: rule for name, rule in NUMBERS.items() if name.startswith(f"{table}.")}
        texts = TEXTS[table].split()
        _check_names(table, frame, [*own, *texts])
        for name, rule in own.items():
            check_column(f"{table}.{name}", frame[name].to_numpy(), rule, sizes, is_known=is_known)
        for name in texts:
            if not pd.api.types.is_string_dtype(frame[name].dtype) and len(frame):
                raise ValueError(f"column {table}.{name} must contain texts, got {frame[name].dtype}")
    if not is_known:
        _check_together(timetable)


def check_zone(name: str) -> None:
    """Raise ValueError if there is no such time zone."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"there is no time zone {name!r}") from error


def _check_names(what: str, given: Any, known: Any) -> None:
    """Raise ValueError unless exactly the known columns are there."""
    for name in {*given} ^ {*known}:
        fault = "is missing" if name in {*known} else "has no rule"
        raise ValueError(f"column {name} of {what} {fault}")


def _check_together(timetable: Timetable) -> None:
    """Raise ValueError if columns that are right in themselves do not fit together."""
    lengths = np.diff(timetable.pattern_indptr)
    pattern = timetable.trips["pattern_idx"].to_numpy()
    course = timetable.trips["course_idx"].to_numpy()
    if (lengths < 1).any():
        raise ValueError("column pattern_indptr has patterns without stops")
    if (np.diff(timetable.trip_indptr) != lengths[pattern]).any():
        raise ValueError("column trip_indptr does not match the lengths of the patterns")
    if (np.diff(timetable.course_indptr) != lengths[timetable.course_pattern]).any():
        raise ValueError("column course_indptr does not match the lengths of the patterns")
    if (timetable.course_pattern[course] != pattern).any():
        raise ValueError("column trips.course_idx has courses of other patterns")
    services = timetable.services
    runs = services.start <= services.end
    if runs.any() and not (services.start[runs].min() >= 1 and services.end[runs].max() <= _LAST_DAY):
        raise ValueError("columns services.start and services.end contain values that are no dates")
    if (np.diff(services.exception_date) < 0).any():
        raise ValueError("column services.exception_date is not in ascending order")
    if {*range(len(timetable.feeds))} - {*timetable.agencies["feed_idx"].tolist()}:
        raise ValueError("column agencies.feed_idx leaves out a feed")
    if not all(isinstance(text, str) for text in (*timetable.zones, *timetable.headsigns)) or not timetable.headsigns:
        raise ValueError("zones and headsigns must be texts")
    for zone in timetable.zones:
        check_zone(zone)
    if not all(isinstance(note, dict) for note in timetable.notes):
        raise ValueError("notes must be objects")
    spans = timetable.feed_spans
    if spans is not None and len(spans) != len(timetable.feeds):
        raise ValueError("feed_spans does not have one row per feed")
    if any(first <= last and not (first >= 1 and last <= _LAST_DAY) for first, last in spans or ()):
        raise ValueError("feed_spans contains values that are no dates")
