"""
Edit the trips of a timetable: keep, copy, and give other times, with all that refers to them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import AnyArray, BoolArray, IndexArray, Int32Array, Int64Array, chosen_rows, indptr_of
from traveltime_lab.transit.stop_sequences import StopSequences
from traveltime_lab.transit.timetable import Timetable

#: Transfer type of GTFS that forbids to stay seated between two trips.
_NOT_SEATED: Final = 5


@dataclass
class TripCopies:
    """
    Trips derived from the trips of a timetable.

    Attributes
    ----------
    source : int64 array of shape (n,)
        The trip that each one is derived from.
    service : int32 array of shape (n,)
    is_new : bool array of shape (n,)
        False for the trip itself; at most one of each source. Others get ids of their own and are in no block.
    shift : int64 array of shape (n,), s
        How much later than its source each trip is.
    other, weight : int64 and float64 arrays of shape (n,)
        Another trip of the same stops, and its share in the times.
    """

    source: Int64Array
    service: Int32Array
    is_new: BoolArray
    shift: Int64Array
    other: Int64Array
    weight: AnyArray

    @classmethod
    def kept(cls, timetable: Timetable, chosen: IndexArray) -> TripCopies:
        """Return some trips unchanged."""
        n = chosen.size
        return cls(
            chosen.astype(np.int64), timetable.hot.trip_service[chosen], np.zeros(n, np.bool_), np.zeros(n, np.int64),
            chosen.astype(np.int64), np.zeros(n),
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: list[TripCopies]) -> TripCopies:
        """Return all trips of several parts."""
        names = ("source", "service", "is_new", "shift", "other", "weight")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def with_trips(timetable: Timetable, trips: TripCopies, **others: Any) -> Timetable:
    """
    Return a timetable with other trips, sorted by pattern and departure.

    Parameters
    ----------
    timetable : Timetable
    trips : TripCopies
    **others
        Fields to replace besides trips: ``services``, and arrays of frequencies whose trips are those of `timetable`.
    """
    indptr, at = chosen_rows(timetable.trip_indptr, trips.source)
    _, at_other = chosen_rows(timetable.trip_indptr, trips.other)
    lengths = np.diff(indptr)
    shift, weight = np.repeat(trips.shift, lengths), np.repeat(trips.weight, lengths)
    times = []
    for array in (timetable.arrival, timetable.departure):
        own, far = array[at].astype(np.int64), array[at_other].astype(np.int64)
        times.append((own + np.floor(weight * (far - own)).astype(np.int64) + shift).astype(np.int32))
    arrival, departure = times
    frame = timetable.trips.iloc[trips.source].reset_index(drop=True)
    frame["service_idx"] = trips.service.astype(np.int32)
    new = np.flatnonzero(trips.is_new)
    if new.size:
        frame.loc[new, "trip_id"] = _new_ids(frame["trip_id"].to_numpy()[new], timetable.trips["trip_id"])
        frame.loc[new, "block_idx"] = np.int32(-1)
    number = np.full(timetable.n_trips, -1, np.int64)
    old = np.flatnonzero(~trips.is_new)
    number[trips.source[old]] = old
    order = np.lexsort((arrival[indptr[1:] - 1], departure[indptr[:-1]], frame["pattern_idx"].to_numpy()))
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    number[number >= 0] = rank[number[number >= 0]]
    new_indptr, moved = chosen_rows(indptr, order)
    values: dict[str, Any] = {
        name: others.pop(name, getattr(timetable, name))
        for name in ("frequency_trip", "frequency_start", "frequency_end", "frequency_headway", "frequency_exact")
    }
    has_trip = number[values["frequency_trip"]] >= 0
    values = {name: array[has_trip] for name, array in values.items()}
    values["frequency_trip"] = number[values["frequency_trip"]].astype(np.int32)
    return tidy(
        replace(
            timetable,
            trips=frame.iloc[order].reset_index(drop=True),
            trip_indptr=new_indptr,
            arrival=arrival[moved],
            departure=departure[moved],
            sequences=StopSequences.chosen(timetable, at[moved]),
            transfers=_transfers(timetable, number),
            feed_spans=timetable.spans(),
            **values,
            **others,
        )
    )


def _new_ids(sources: AnyArray, taken: pd.Series) -> list[str]:
    """Return ids of copies, such as ``trip+1``, that no trip has."""
    known = set(taken)
    counts: dict[str, int] = {}
    found = []
    for source in sources:
        while True:
            counts[source] = counts.get(source, 0) + 1
            name = f"{source}+{counts[source]}"
            if name not in known:
                break
        found.append(name)
    return found


def _transfers(timetable: Timetable, number: Int64Array) -> pd.DataFrame:
    """
    Return the transfers between trips that remain, given their new numbers.

    Where trips of a block are removed, the vehicle of the trip before does not become that of the trip after.
    """
    frame = timetable.transfers.copy()
    is_left = np.ones(len(frame), np.bool_)
    for name in ("from_trip_idx", "to_trip_idx"):
        trip = frame[name].to_numpy()
        is_left &= (trip < 0) | (number[trip] >= 0)
        frame[name] = np.where(trip >= 0, number[trip], -1).astype(np.int32)
    frame = frame[is_left].reset_index(drop=True)
    hot = timetable.hot
    in_block = np.flatnonzero((hot.trip_block >= 0) & ~hot.is_repeated)
    order = in_block[np.lexsort((hot.first_departure[in_block], hot.trip_service[in_block], hot.trip_block[in_block]))]
    left = np.flatnonzero(number[order] >= 0)
    before, after = left[:-1], left[1:]
    a, b = order[before], order[after]
    is_same = (hot.trip_block[a] == hot.trip_block[b]) & (hot.trip_service[a] == hot.trip_service[b])
    gap = np.flatnonzero(is_same & (after > before + 1))
    if gap.size:
        rows = {name: np.full(gap.size, -1, np.int32) for name in frame.columns}
        rows["from_trip_idx"], rows["to_trip_idx"] = (number[ends[gap]].astype(np.int32) for ends in (a, b))
        rows["transfer_type"] = np.full(gap.size, _NOT_SEATED)
        bans = pd.DataFrame({name: rows[name].astype(frame[name].dtype) for name in frame.columns})
        frame = pd.concat([frame, bans], ignore_index=True) if len(frame) else bans
    return frame


def tidy(timetable: Timetable) -> Timetable:
    """Return a timetable without the patterns and courses that no trip has."""
    trips = timetable.trips
    patterns, pattern = np.unique(trips["pattern_idx"].to_numpy(), return_inverse=True)
    courses, course = np.unique(trips["course_idx"].to_numpy(), return_inverse=True)
    has_course = courses >= 0
    if patterns.size == timetable.pattern_indptr.size - 1 and has_course.sum() == timetable.course_indptr.size - 1:
        return timetable
    pattern_indptr, at = chosen_rows(timetable.pattern_indptr, patterns)
    course_indptr, along = chosen_rows(timetable.course_indptr, courses[has_course])
    return replace(
        timetable,
        trips=trips.assign(
            pattern_idx=pattern.astype(np.int32), course_idx=(course - int((~has_course).sum())).astype(np.int32)
        ),
        pattern_indptr=pattern_indptr,
        pattern_stop=timetable.pattern_stop[at],
        pattern_pickup=timetable.pattern_pickup[at],
        pattern_drop_off=timetable.pattern_drop_off[at],
        course_pattern=np.searchsorted(patterns, timetable.course_pattern[courses[has_course]]).astype(np.int32),
        course_shape=timetable.course_shape[courses[has_course]],
        course_indptr=course_indptr,
        course_along=timetable.course_along[along],
        course_headsign=timetable.course_headsign[along],
    )


def _sequences_without(timetable: Timetable, in_trips: BoolArray) -> StopSequences:
    """Return the sequences of some times; those of a trip then have gaps."""
    return StopSequences(StopSequences.all_of(timetable)[in_trips])


def without_stops(timetable: Timetable, stops: BoolArray) -> Timetable:
    """Return a timetable whose trips pass some stops without stopping; trips with fewer than two stops are removed."""
    n_left = np.add.reduceat(~stops[timetable.pattern_stop], timetable.pattern_indptr[:-1], dtype=np.int64)
    kept = np.flatnonzero(n_left[timetable.hot.trip_pattern] >= 2)
    if kept.size < timetable.n_trips:
        timetable = with_trips(timetable, TripCopies.kept(timetable, kept))
    stays = ~stops[timetable.pattern_stop]
    if stays.all():
        return timetable
    n_left = np.diff(indptr_of(stays)[timetable.pattern_indptr])
    pattern = timetable.hot.trip_pattern
    in_trips = stays[chosen_rows(timetable.pattern_indptr, pattern)[1]]
    in_courses = stays[chosen_rows(timetable.pattern_indptr, timetable.course_pattern)[1]]
    shorter = replace(
        timetable,
        trip_indptr=indptr_of(n_left[pattern]),
        arrival=timetable.arrival[in_trips],
        departure=timetable.departure[in_trips],
        sequences=_sequences_without(timetable, in_trips),
        pattern_indptr=indptr_of(n_left),
        pattern_stop=timetable.pattern_stop[stays],
        pattern_pickup=timetable.pattern_pickup[stays],
        pattern_drop_off=timetable.pattern_drop_off[stays],
        course_indptr=indptr_of(n_left[timetable.course_pattern]),
        course_along=timetable.course_along[in_courses],
        course_headsign=timetable.course_headsign[in_courses],
        feed_spans=timetable.spans(),
    )
    # Repetitions begin at the first stop, which may have changed.
    later = (shorter.hot.first_departure - timetable.hot.first_departure)[timetable.frequency_trip]
    return with_trips(
        shorter,
        TripCopies.kept(shorter, np.arange(shorter.n_trips)),
        frequency_start=timetable.frequency_start + later,
        frequency_end=timetable.frequency_end + later,
    )
