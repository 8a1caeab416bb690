"""
Read stop_times.txt and frequencies.txt into flat arrays by trip, with patterns and courses.

A *course* is a pattern along one shape with one sequence of headsigns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from traveltime_lab._arrays import (
    BoolArray,
    Float32Array,
    FloatArray,
    IndexArray,
    Int32Array,
    Int64Array,
    UInt8Array,
    chosen_rows,
    indptr_of,
    within_rows,
)
from traveltime_lab.errors import GtfsError
from traveltime_lab.kernels.transit import parse, stop_times
from traveltime_lab.readers.gtfs.files import FeedFiles
from traveltime_lab.readers.gtfs.findings import Findings
from traveltime_lab.readers.gtfs.rows import codes, drop_rows
from traveltime_lab.readers.gtfs.stop_time_rows import BROKEN, FILE, NO_TYPE, in_order, read_rows
from traveltime_lab.readers.region import Region

#: Larger values of stop_sequence count as this one.
_MOST_INT32: Final = np.iinfo(np.int32).max
_WHY: Final = {
    stop_times.TOO_SHORT: "trip with fewer than two stop times",
    stop_times.NO_END_TIMES: "trip whose first or last stop time has no time",
    stop_times.BACK_IN_TIME: "trip whose times decrease",
}


@dataclass
class TripCalls:
    """
    Stop times of the usable trips, sorted by pattern and departure.

    Attributes
    ----------
    trip : int64 array of shape (n_trips,)
        Row of trips.txt.
    pattern, course : int32 arrays of shape (n_trips,)
    indptr, arrival, departure : int64, int32, int32 arrays
        CSR of the times of each trip.
    later : int32 array of shape (n_trips,)
        Seconds from the departure at the first stop of the whole trip to that at its first stop in the region.
    pattern_indptr, pattern_stop, pattern_pickup, pattern_drop_off : arrays
        CSR of the stops of each pattern, with their pickup and drop-off types.
    course_pattern, course_shape, course_indptr, course_along, course_headsign : arrays
        A course is a pattern along one shape, with one sequence of stop_headsigns.
    headsigns : list of str
        ``headsigns[0]`` is empty.
    sequence : int32 array or None
        stop_sequence of each time; None if those of every trip are 1, 2, 3 and so on.
    leaving : dict of int to int
        Row of stops.txt of each stop next to one that the region leaves out (see `_Calls.across`), and seconds of the
        shortest ride between the two.
    facts : dict
        Counts for the report.
    """

    trip: Int64Array
    pattern: Int32Array
    course: Int32Array
    indptr: Int64Array
    arrival: Int32Array
    departure: Int32Array
    later: Int32Array
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
    sequence: Int32Array | None
    leaving: dict[int, int]
    facts: dict[str, Any]


def read_calls(
    files: FeedFiles,
    findings: Findings,
    *,
    trip_ids: pa.Array,
    trip_is_kept: BoolArray,
    trip_shape: Int32Array,
    stop_ids: pa.Array,
    stop_is_kept: BoolArray,
    stop_lat: FloatArray,
    stop_lng: FloatArray,
    region: Region | None = None,
) -> TripCalls:
    """
    Read stop_times.txt.

    Parameters
    ----------
    files, findings
        The feed, and the object that collects dropped rows.
    trip_ids, trip_is_kept, trip_shape
        Id of each row of trips.txt, whether the trip was kept so far, and its shape number or -1.
    stop_ids, stop_is_kept, stop_lat, stop_lng
        Id of each row of stops.txt, whether the stop was kept, and its coordinates.
    region : Region, optional
        Leave out the stop times outside of it, and then the trips with fewer than two.

    Raises
    ------
    GtfsError
        If the file or one of its columns is missing, or no trip is left.
    """
    if FILE not in files:
        raise GtfsError(f"{files.source}: there is no {FILE}; a timetable needs stop times", file=FILE)
    table, read, headsigns = read_rows(files, findings, trip_ids, stop_ids)
    table.require("trip_id", "stop_id", "stop_sequence")
    if table.n_rows and "arrival_time" not in table and "departure_time" not in table:
        raise GtfsError(
            f"{files.source}: {FILE}, line 1: there is neither arrival_time nor departure_time", file=FILE, line=1
        )
    n_read = table.n_rows
    keep = np.ones(n_read, np.bool_)
    if read.is_flexible.size:
        drop_rows(table, findings, keep, read.is_flexible, "demand-responsive stop time without a stop")
    drop_rows(table, findings, keep, read.trip < 0, "unknown trip_id", "trip_id")
    if not trip_is_kept.all():
        keep &= trip_is_kept[read.trip]  # reported with the trip
    drop_rows(table, findings, keep, read.stop < 0, "unknown stop_id", "stop_id")
    if not stop_is_kept.all():
        drop_rows(table, findings, keep, ~stop_is_kept[read.stop], "stop time at a dropped stop", "stop_id")
    drop_rows(table, findings, keep, read.sequence < 0, "stop_sequence is not a whole number", "stop_sequence")
    for name, times in (("arrival_time", read.arrival), ("departure_time", read.departure)):
        drop_rows(table, findings, keep, times == BROKEN, f"{name} is not H:MM:SS", name)
    for name, types in (("pickup_type", read.pickup), ("drop_off_type", read.drop_off)):
        drop_rows(table, findings, keep, types == NO_TYPE, f"{name} is not 0, 1, 2 or 3", name)
    rows = in_order(read.trip, read.sequence, keep, len(trip_ids))
    trip, sequence = read.trip[rows], read.sequence[rows]
    again = np.zeros(rows.size, np.bool_)
    again[1:] = (trip[1:] == trip[:-1]) & (sequence[1:] == sequence[:-1])
    if again.any():
        twice = np.zeros(n_read, np.bool_)
        twice[rows[again]] = True
        drop_rows(table, findings, keep, twice, "duplicate stop_sequence in a trip", "trip_id")
        rows, trip, sequence = rows[~again], trip[~again], sequence[~again]
    begins = np.flatnonzero(np.concatenate([[True], trip[1:] != trip[:-1]])) if rows.size else np.zeros(0, np.int64)
    trips = trip[begins].astype(np.int64)
    never = np.ones(len(trip_ids), np.bool_)
    never[trips] = False
    never &= trip_is_kept
    findings.add("trips.txt", "trip without stop times", rows=int(never.sum()), example=_example(trip_ids, never))
    # Each column goes as its sorted copy comes.
    unsorted = read._asdict()
    del read, trip
    names = ("stop", "arrival", "departure", "along", "pickup", "drop_off", "headsign")
    columns: dict[str, Any] = {name: values[rows] if (values := unsorted.pop(name)).size else values for name in names}
    columns["sequence"] = np.minimum(sequence, _MOST_INT32).astype(np.int32)
    calls = _Calls(indptr=np.append(begins, rows.size).astype(np.int64), **columns)
    del unsorted, columns, sequence
    status = np.zeros(trips.size, np.uint8)
    culprit = np.zeros(trips.size, np.int64)
    n_filled = np.zeros(3, np.int64)
    stop_times.fill_times(*calls[:5], stop_lat, stop_lng, status, culprit, n_filled)
    for code, reason in _WHY.items():
        bad = np.flatnonzero(status == code)
        if bad.size:
            lines = table.lines(rows[culprit[bad[:1000]]])
            findings.add(FILE, reason, lines, rows=bad.size, example=str(trip_ids[int(trips[bad[0]])]))
    good = np.flatnonzero(status == stop_times.OK)
    if good.size == 0:
        raise GtfsError(f"{files.source}: no trip of the feed can be used: {_summary(findings)}", file=FILE)
    if good.size < trips.size:
        calls, trips = calls.of(good), trips[good]
    # The text of a national timetable is larger than the numbers in it.
    del table, rows
    cut: dict[str, Any] = {}
    leaving: dict[int, int] = {}
    whole = calls.first_departures
    if region is not None:
        is_inside = region.contains(stop_lng, stop_lat)[calls.stop]
        leaving = calls.across(is_inside)
        calls, left = calls.where(is_inside)
        cut["cut"] = {
            "stop_times_outside": int((~is_inside).sum()),
            "trips_with_fewer_than_two_stops_inside": trips.size - left.size,
        }
        trips, whole = trips[left], whole[left]
        if trips.size == 0:
            raise GtfsError(
                f"{files.source}: no trip has two stops within the bounds {region}; leave the feed out, or give bounds "
                "as (west, south, east, north)", file="stops.txt",
            )  # fmt: skip
    return _assembled(
        calls, trips, trip_shape[trips], calls.first_departures - whole, headsigns, leaving,
        {
            "stop_times": int(n_read),
            "times_filled_in": {
                "by_shape_dist_traveled": int(n_filled[0]),
                "by_straight_lines": int(n_filled[1]),
                "evenly": int(n_filled[2]),
            },
            **cut,
        },
    )  # fmt: skip


#: Pickup or drop-off type: passengers can neither board nor alight.
_NOT_AVAILABLE: Final = 1


class _Calls(NamedTuple):
    """CSR by trip of its stop times."""

    indptr: Int64Array
    stop: Int32Array
    arrival: Int32Array
    departure: Int32Array
    along: FloatArray  # empty if the feed has none
    pickup: UInt8Array
    drop_off: UInt8Array
    headsign: Int32Array  # likewise
    sequence: Int32Array

    @property
    def first_departures(self) -> Int32Array:
        """The departure of each trip at its first stop."""
        return self.departure[self.indptr[:-1]]

    def across(self, is_inside: BoolArray) -> dict[int, int]:
        """
        Return the stops inside from which a trip leads outside, or that it reaches from there, and the shortest rides.

        These are the stops next to one outside. Passengers who pass a stop where they cannot alight are met at the stop
        before, so that this one counts, too, and so on; likewise the stops after one where boarding is not allowed.
        """
        trip = np.repeat(np.arange(self.indptr.size - 1), np.diff(self.indptr))
        before = np.flatnonzero((is_inside[1:] != is_inside[:-1]) & (trip[1:] == trip[:-1]))
        leaves = is_inside[before]
        at, beyond = np.where(leaves, before, before + 1), np.where(leaves, before + 1, before)
        some_stops, some_rides = [self.stop[at]], [self._ride_s(at, beyond)]
        while at.size:
            is_passed = np.where(leaves, self.drop_off[at], self.pickup[at]) == _NOT_AVAILABLE
            other = np.where(leaves, at - 1, at + 1)
            is_passed &= (other >= 0) & (other < trip.size)
            other = other.clip(0, trip.size - 1)
            on = is_passed & (trip[other] == trip[at]) & is_inside[other]
            at, beyond, leaves = other[on], beyond[on], leaves[on]
            some_stops.append(self.stop[at])
            some_rides.append(self._ride_s(at, beyond))
        stops, seconds = np.concatenate(some_stops), np.concatenate(some_rides)
        order = np.lexsort((seconds, stops))
        found, first = np.unique(stops[order], return_index=True)
        return dict(zip(found.tolist(), seconds[order][first].tolist(), strict=True))

    def _ride_s(self, one: IndexArray, other: IndexArray) -> Int32Array:
        """Return the seconds from the departure at the first of two calls to the arrival at the second."""
        ride: Int32Array = np.maximum(self.arrival[np.maximum(one, other)] - self.departure[np.minimum(one, other)], 0)
        return ride

    def of(self, trips: IndexArray) -> _Calls:
        """Return the stop times of some trips, in ascending order."""
        lengths = np.diff(self.indptr)
        is_chosen = np.zeros(lengths.size, np.bool_)
        is_chosen[trips] = True
        at = np.repeat(is_chosen, lengths)
        columns: tuple[Any, ...] = self[1:]
        return _Calls(indptr_of(lengths[trips]), *(values[at] if values.size else values for values in columns))

    def where(self, is_kept: BoolArray) -> tuple[_Calls, IndexArray]:
        """Return some of the stop times and the trips that have two of them or more."""
        total = np.append(0, np.cumsum(is_kept))
        indptr = total[self.indptr]
        columns: tuple[Any, ...] = self[1:]
        calls = _Calls(indptr, *(values[is_kept] if values.size else values for values in columns))
        trips = np.flatnonzero(np.diff(indptr) >= 2)
        return calls.of(trips), trips


def _groups(indptr: Int64Array, keys: Int64Array) -> tuple[Int32Array, Int64Array]:
    """
    Group the rows of a CSR that have the same keys.

    Returns
    -------
    group : int32 array of shape (n_rows,)
        Number of the group of each row, in order of first appearance.
    leader : int64 array of shape (n_groups,)
        First row of each group.
    """
    # As texts, which pyarrow numbers in the order in which they first occur.
    buffers = [None, pa.py_buffer(indptr * keys.itemsize), pa.py_buffer(keys)]
    rows = pa.Array.from_buffers(pa.large_binary(), indptr.size - 1, buffers)
    group = rows.dictionary_encode().indices.to_numpy()
    return group, np.unique(group, return_index=True)[1]


def _assembled(
    calls: _Calls,
    trips: Int64Array,
    shape: Int32Array,
    later: Int32Array,
    headsigns: list[str],
    leaving: dict[int, int],
    facts: dict[str, Any],
) -> TripCalls:
    """Return stop times grouped by pattern and sorted by departure, with columns of the trips in this order."""
    indptr, stop, arrival, departure, along, pickup, drop_off, headsign, sequence = calls
    keys = stop.astype(np.int64) << 8 | pickup.astype(np.int64) << 4 | drop_off
    pattern, leader = _groups(indptr, keys)
    pattern_rows = chosen_rows(indptr, leader)[1]
    _, first_of_pair, pair = np.unique(
        pattern.astype(np.int64) << 32 | (shape.astype(np.int64) + 1), return_index=True, return_inverse=True
    )
    if headsign.size and headsign.any():
        keys = np.repeat(pair.astype(np.int64) << 32, np.diff(indptr)) | headsign
        course, course_leader = _groups(indptr, keys)
    else:
        course, course_leader = pair.astype(np.int32), first_of_pair.astype(np.int64)
    course_rows = chosen_rows(indptr, course_leader)[1]
    first, last = calls.first_departures, arrival[indptr[1:] - 1]
    order = np.lexsort((trips, last, first, pattern))
    sorted_arrival, sorted_departure = np.empty_like(arrival), np.empty_like(departure)
    stop_times.gather_rows(indptr, order, arrival, sorted_arrival)
    stop_times.gather_rows(indptr, order, departure, sorted_departure)
    sorted_sequence = None
    if not np.array_equal(sequence, within_rows(np.diff(indptr)) + 1):
        sorted_sequence = np.empty_like(sequence)
        stop_times.gather_rows(indptr, order, sequence, sorted_sequence)
    n_course_calls = course_rows.size
    return TripCalls(
        trip=trips[order],
        pattern=pattern[order],
        course=course[order],
        indptr=indptr_of(np.diff(indptr)[order]),
        arrival=sorted_arrival,
        departure=sorted_departure,
        later=later[order],
        pattern_indptr=indptr_of(np.diff(indptr)[leader]),
        pattern_stop=stop[pattern_rows],
        pattern_pickup=pickup[pattern_rows],
        pattern_drop_off=drop_off[pattern_rows],
        course_pattern=pattern[course_leader],
        course_shape=shape[course_leader],
        course_indptr=indptr_of(np.diff(indptr)[course_leader]),
        course_along=(along[course_rows] if along.size else np.full(n_course_calls, np.nan)).astype(np.float32),
        course_headsign=headsign[course_rows] if headsign.size else np.zeros(n_course_calls, np.int32),
        headsigns=headsigns,
        sequence=sorted_sequence,
        leaving=leaving,
        facts=facts,
    )


def _example(ids: pa.Array, mask: BoolArray) -> str:
    rows = np.flatnonzero(mask)
    return str(ids[int(rows[0])]) if rows.size else ""


def _summary(findings: Findings) -> str:
    """Return the dropped rows by reason, in one line."""
    dropped = findings.report()["dropped"]
    return "; ".join(f"{what} ({how_many})" for what, how_many in dropped.items()) or "the file has no rows"


def read_frequencies(
    files: FeedFiles, findings: Findings, trip_ids: pa.Array, new_number: Int32Array, later: Int32Array
) -> dict[str, Any]:
    """
    Read frequencies.txt.

    Parameters
    ----------
    files, findings
        The feed, and the object that collects dropped rows.
    trip_ids : pyarrow.Array
        Id of each row of trips.txt.
    new_number : int32 array
        New number of each row of trips.txt, -1 for dropped trips.
    later : int32 array
        Seconds from the first stop of each whole trip, by its new number, to the first one that is kept.
        Headways are those at the first stop of a trip, so they begin and end as much later.

    Returns
    -------
    dict of arrays
        ``frequency_trip``, ``frequency_start``, ``frequency_end``, ``frequency_headway`` (int32, s),
        ``frequency_exact`` (bool), sorted by trip and start.
    """
    name = "frequencies.txt"
    table = files.read(name, ("trip_id", "start_time", "end_time", "headway_secs", "exact_times"), findings)
    table.require("trip_id", "start_time", "end_time", "headway_secs")
    row = codes(table.strings("trip_id"), trip_ids)
    start, end = table.times("start_time"), table.times("end_time")
    headway, exact = table.integers("headway_secs"), table.integers("exact_times")
    keep = np.ones(table.n_rows, np.bool_)
    drop_rows(table, findings, keep, row < 0, "unknown trip_id", "trip_id")
    drop_rows(table, findings, keep, start < 0, "start_time is not H:MM:SS", "start_time")
    drop_rows(table, findings, keep, end < 0, "end_time is not H:MM:SS", "end_time")
    drop_rows(table, findings, keep, end <= start, "end_time is not after start_time", "end_time")
    is_no_headway = (headway < 1) | (headway > 7 * 86400)
    drop_rows(table, findings, keep, is_no_headway, "headway_secs is not a number of seconds from 1 to a week",
              "headway_secs")  # fmt: skip
    exact = np.where(exact == parse.MISSING, 0, exact)
    drop_rows(table, findings, keep, (exact != 0) & (exact != 1), "exact_times is not 0 or 1", "exact_times")
    whole = pd.DataFrame({"trip": row, "start": start, "end": end, "headway": headway, "exact": exact})
    drop_rows(table, findings, keep, whole.duplicated().to_numpy(), "duplicate row", "trip_id")
    rows = np.flatnonzero(keep)
    rows = rows[new_number[row[rows]] >= 0]
    trip = new_number[row[rows]]
    rows = rows[np.lexsort((start[rows], trip))]
    trip = new_number[row[rows]]
    overlaps = np.zeros(table.n_rows, np.bool_)
    overlaps[rows[1:][(trip[1:] == trip[:-1]) & (start[rows[1:]] < end[rows[:-1]])]] = True
    findings.add(name, "headways of a trip overlap: both are used", table.lines(np.flatnonzero(overlaps)),
                 is_dropped=False)  # fmt: skip
    return {
        "frequency_trip": trip.astype(np.int32),
        "frequency_start": (start[rows] + later[trip]).astype(np.int32),
        "frequency_end": (end[rows] + later[trip]).astype(np.int32),
        "frequency_headway": headway[rows].astype(np.int32),
        "frequency_exact": exact[rows] == 1,
    }
