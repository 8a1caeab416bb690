"""
Read the files of a feed that are not about trips: shapes, transfers and fares.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from traveltime_lab._arrays import AnyArray, BoolArray, Int32Array, ObjectArray
from traveltime_lab.kernels.transit import parse
from traveltime_lab.readers.gtfs.files import FeedFiles
from traveltime_lab.readers.gtfs.findings import Findings
from traveltime_lab.readers.gtfs.rows import choice, codes, drop_rows, new_numbers, read_file, unique_ids
from traveltime_lab.readers.gtfs.text import TextTable

#: Id of each row of a file, and the new number of each row, -1 for dropped rows.
Ids = tuple[pa.Array, Int32Array]
_ZONES: Final = ("origin_id", "destination_id", "contains_id")


def read_shapes(files: FeedFiles, findings: Findings) -> tuple[pa.Array, dict[str, Any]]:
    """Return the ids of shapes.txt and the arrays ``shape_indptr``, ``shape_lng``, ``shape_lat``, ``shape_along``."""
    table = read_file(
        files, findings, "shapes.txt", "shape_id", "shape_pt_lat", "shape_pt_lon", "shape_pt_sequence",
        "shape_dist_traveled",
        needs=("shape_id", "shape_pt_lat", "shape_pt_lon", "shape_pt_sequence"),
    )  # fmt: skip
    keep = np.ones(table.n_rows, np.bool_)
    lat, _ = table.floats("shape_pt_lat")
    lng, _ = table.floats("shape_pt_lon")
    order = table.integers("shape_pt_sequence")
    along, _ = table.floats("shape_dist_traveled")
    drop_rows(table, findings, keep, table.is_missing("shape_id"), "shape_id is empty")
    drop_rows(table, findings, keep, ~(np.abs(lat) <= 90.0), "shape_pt_lat is not a latitude", "shape_pt_lat")
    drop_rows(table, findings, keep, ~(np.abs(lng) <= 180.0), "shape_pt_lon is not a longitude", "shape_pt_lon")
    drop_rows(table, findings, keep, order < 0, "shape_pt_sequence is not a whole number", "shape_pt_sequence")
    coded = table.strings("shape_id").combine_chunks().dictionary_encode() if table.n_rows else None
    if coded is None:
        shape_ids, number = pa.array([], pa.string()), np.zeros(0, np.int32)
    else:
        shape_ids, number = coded.dictionary, coded.indices.to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(keep)
    rows = rows[np.lexsort((order[rows], number[rows]))]
    return shape_ids, {
        "shape_indptr": np.searchsorted(number[rows], np.arange(len(shape_ids) + 1)).astype(np.int64),
        "shape_lng": lng[rows],
        "shape_lat": lat[rows],
        "shape_along": along[rows],
    }


def read_transfers(
    files: FeedFiles, findings: Findings, ids: Mapping[str, Ids], outside: Mapping[str, BoolArray]
) -> pd.DataFrame:
    """
    Return transfers.txt with row numbers in place of ids.

    `ids` holds those of ``stop``, ``route`` and ``trip``; `outside` says which stops and trips are outside of the
    region that is read. Their transfers are left out. Stops say nothing of in-seat transfers (types 4 and 5), which are
    between trips: those that are unknown or outside do not count.
    """
    table = read_file(
        files, findings, "transfers.txt", "from_stop_id", "to_stop_id", "from_route_id", "to_route_id", "from_trip_id",
        "to_trip_id", "transfer_type", "min_transfer_time",
    )  # fmt: skip
    keep = np.ones(table.n_rows, np.bool_)
    kind, least = table.integers("transfer_type"), table.integers("min_transfer_time")
    kind = np.where(kind == parse.MISSING, 0, kind)
    ends: dict[str, Int32Array] = {}
    for what, (known, number) in ids.items():
        for end in ("from", "to"):
            column = f"{end}_{what}_id"
            row = codes(table.strings(column), known)
            needs_no_stop = (kind >= 4) & (what == "stop")
            if what in outside:
                keep &= (row < 0) | ~outside[what][row] | needs_no_stop
            ends[f"{end}_{what}_idx"] = found = np.where(row >= 0, number[row], -1).astype(np.int32)
            is_lost = (found < 0) & ~table.is_missing(column) & ~needs_no_stop
            drop_rows(table, findings, keep, is_lost, f"unknown {column}", column)
    drop_rows(table, findings, keep, (kind < 0) | (kind > 5), "transfer_type is not 0 to 5", "transfer_type")
    is_bad = (least != parse.MISSING) & ((least < 0) | (least > 7 * 86400))
    drop_rows(table, findings, keep, is_bad, "min_transfer_time is not a number of seconds up to a week",
              "min_transfer_time")  # fmt: skip
    has_stops = (ends["from_stop_idx"] >= 0) & (ends["to_stop_idx"] >= 0)
    has_trips = (ends["from_trip_idx"] >= 0) & (ends["to_trip_idx"] >= 0)
    drop_rows(table, findings, keep, (kind <= 3) & ~has_stops, "transfer without two stops")
    drop_rows(table, findings, keep, (kind >= 4) & ~has_trips, "in-seat transfer without two trips")
    no_time = keep & (kind == 2) & (least == parse.MISSING)
    findings.add(
        "transfers.txt", "transfer_type 2 without min_transfer_time: the walking time is used",
        table.lines(np.flatnonzero(no_time)), is_dropped=False,
    )  # fmt: skip
    kind = np.where(no_time, 0, kind)
    is_special = np.zeros(table.n_rows, np.bool_)
    for what in ("from_route_idx", "to_route_idx", "from_trip_idx", "to_trip_idx"):
        is_special |= ends[what] >= 0
    findings.add(
        "transfers.txt", "min_transfer_time and bans of single routes or trips: kept but not used",
        table.lines(np.flatnonzero(keep & is_special & ((kind == 2) | (kind == 3)))), is_dropped=False,
    )  # fmt: skip
    least = np.where(least == parse.MISSING, -1, least)
    frame = pd.DataFrame({**ends, "transfer_type": kind.astype(np.int32), "min_transfer_time": least})
    frame["min_transfer_time"] = frame["min_transfer_time"].astype(np.int32)
    return frame[keep].reset_index(drop=True)


def read_fares(
    files: FeedFiles,
    findings: Findings,
    agency_ids: pa.Array,
    routes: Ids,
    zone_ids: ObjectArray,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """
    Return the tables of GTFS Fares V1: fare_attributes.txt and fare_rules.txt.

    ``transfers`` is -1 for unlimited transfers, ``transfer_duration`` is -1 for an unlimited time and ``agency_idx`` is
    -1 for all agencies. If no rule of a fare can be read, the fare is dropped, too, because a fare without rules would
    be valid everywhere.
    """
    table = read_file(
        files, findings, "fare_attributes.txt", "fare_id", "price", "currency_type", "payment_method", "transfers",
        "agency_id", "transfer_duration", needs=("fare_id", "price", "currency_type"),
    )  # fmt: skip
    ids, keep = unique_ids(table, findings, "fare_id")
    price, _ = table.floats("price")
    drop_rows(table, findings, keep, ~(price >= 0.0), "price is not a number of 0 or more", "price")
    currency = np.array([value.upper() for value in table.objects("currency_type")], object)
    no_code = np.array([re.fullmatch("[A-Z]{3}", value) is None for value in currency], np.bool_)
    drop_rows(table, findings, keep, no_code, "currency_type is not a code of three letters", "currency_type")
    transfers, duration = table.integers("transfers"), table.integers("transfer_duration")
    is_bad = (transfers != parse.MISSING) & ((transfers < 0) | (transfers > 2))
    drop_rows(table, findings, keep, is_bad, "transfers is not 0, 1, 2 or empty", "transfers")
    is_bad = (duration != parse.MISSING) & ((duration < 0) | (duration > np.iinfo(np.int32).max))
    drop_rows(table, findings, keep, is_bad, "transfer_duration is not a number of seconds", "transfer_duration")
    agency, no_agency = codes(table.strings("agency_id"), agency_ids), table.is_missing("agency_id")
    drop_rows(table, findings, keep, (agency < 0) & ~no_agency, "unknown agency_id", "agency_id")
    rules = _read_rules(files, findings, table, ids, keep, routes, zone_ids)
    if len(agency_ids) > 1:
        findings.add(
            "fare_attributes.txt", "no agency_id in a feed of several agencies: valid for all of them",
            table.lines(np.flatnonzero(keep & no_agency)), is_dropped=False,
        )  # fmt: skip
    fares = pd.DataFrame(
        {
            "feed_idx": np.zeros(int(keep.sum()), np.int32),
            "fare_id": table.objects("fare_id")[keep],
            "agency_idx": np.where(no_agency, -1, agency)[keep].astype(np.int32),
            "price": price[keep],
            "currency_type": currency[keep],
            "payment_method": choice(table, findings, "payment_method", 1)[keep],
            "transfers": np.where(transfers == parse.MISSING, -1, transfers)[keep].astype(np.int32),
            "transfer_duration": np.where(duration == parse.MISSING, -1, duration)[keep].astype(np.int32),
        }
    )
    rules["fare_idx"] = new_numbers(keep)[rules["fare_idx"].to_numpy()]
    return fares, rules


def _read_rules(
    files: FeedFiles,
    findings: Findings,
    fares: TextTable,
    fare_ids: pa.Array,
    is_kept: BoolArray,
    routes: Ids,
    zone_ids: ObjectArray,
) -> pd.DataFrame:
    """Return fare_rules.txt with fares as row numbers; fares that lose all their rules are removed from `is_kept`."""
    table = read_file(
        files, findings, "fare_rules.txt", "fare_id", "route_id", *_ZONES, needs=("fare_id",),
    )  # fmt: skip
    fare = codes(table.strings("fare_id"), fare_ids)
    route = codes(table.strings("route_id"), routes[0])
    keep = np.ones(table.n_rows, np.bool_)
    drop_rows(table, findings, keep, fare < 0, "unknown fare_id", "fare_id")
    drop_rows(table, findings, keep, ~_taken(is_kept, fare), "rule of a dropped fare", "fare_id")
    any_route = table.is_missing("route_id")
    drop_rows(table, findings, keep, (route < 0) & ~any_route, "unknown route_id", "route_id")
    number = np.where(route >= 0, _taken(routes[1], route), -1)
    drop_rows(table, findings, keep, (number < 0) & ~any_route, "rule of a dropped route", "route_id")
    for column in _ZONES:
        rows = np.flatnonzero(keep & ~table.is_missing(column) & ~np.isin(table.objects(column), zone_ids))
        reason = f"{column} is not a zone_id of stops.txt: the rule never applies"
        findings.add(table.name, reason, table.lines(rows[:1000]), rows=rows.size, is_dropped=False)
    had, has = (np.zeros(is_kept.size, np.bool_) for _ in range(2))
    had[fare[fare >= 0]] = True
    has[fare[keep]] = True
    drop_rows(fares, findings, is_kept, had & ~has, "none of its rows in fare_rules.txt can be used", "fare_id")
    return pd.DataFrame(
        {
            "fare_idx": fare[keep].astype(np.int32),
            "route_idx": number[keep].astype(np.int32),
            **{name: table.objects(name)[keep] for name in _ZONES},
        }
    )


def _taken(values: AnyArray, rows: AnyArray) -> AnyArray:
    """Return ``values[rows]``, or zeros if `values` is empty; row -1 gets an arbitrary value."""
    return values[rows] if values.size else np.zeros(rows.size, values.dtype)
