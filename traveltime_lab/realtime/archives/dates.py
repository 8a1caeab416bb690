"""
Find the service date of each update of an archive.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Final

import numpy as np

from traveltime_lab._arrays import BoolArray, Int64Array, chosen_rows, unique_values
from traveltime_lab.realtime.archives.settle import Settler
from traveltime_lab.realtime.archives.store import STOP_COLUMNS
from traveltime_lab.realtime.match import (
    DUPLICATED,
    FARTHEST_S,
    NEW_TRIPS,
    Matcher,
    feed_number,
    ordinal_of,
    origins,
    reference_times,
)
from traveltime_lab.realtime.messages import TripUpdates
from traveltime_lab.realtime.schema import TRIP_RELATIONS
from traveltime_lab.realtime.sources import NONE
from traveltime_lab.transit.timetable import Timetable

#: Reason of a finding.
MOVED: Final = "start_date a day off the times, such as the calendar date after midnight"
#: Messages predict at most this far ahead, s (assumed: a day).
_AHEAD_S: Final = 86_400
#: Relations of runs that need not be near the times of a trip.
_OWN_TIMES: Final = (*NEW_TRIPS, DUPLICATED, TRIP_RELATIONS["REPLACEMENT"])


def taken(updates: TripUpdates, rows: Int64Array) -> TripUpdates:
    """Return some updates, with their stops."""
    indptr, stops = chosen_rows(updates.indptr, rows)
    values = {
        item.name: getattr(updates, item.name)[stops if item.name in STOP_COLUMNS else rows]
        for item in fields(TripUpdates)
        if item.name != "indptr"
    }
    return TripUpdates(**values, indptr=indptr)


def feed_numbers(timetable: Timetable, feeds: list[str | None]) -> Int64Array:
    """Return the numbers of feeds by name, as `Matcher` takes them; raise InputError for unknown ones."""
    names = timetable.feeds["name"].astype(str).tolist()
    numbers = {name: feed_number(names, name) for name in dict.fromkeys(feeds)}
    return np.array([numbers[name] for name in feeds], np.int64)


def _without_absurd_times(updates: TripUpdates) -> TripUpdates:
    """Return updates without times that are long before or after the message, which says the day better."""
    written = np.where(updates.timestamp != NONE, updates.timestamp, updates.now)
    written[np.isin(updates.relation, _OWN_TIMES)] = NONE
    written = np.repeat(written, np.diff(updates.indptr))
    times = {}
    for name in ("arrival_time", "departure_time"):
        time = getattr(updates, name)
        is_known = (written != NONE) & (time != NONE)
        since = np.where(is_known, time, 0) - np.where(is_known, written, 0)
        times[name] = np.where((since < -FARTHEST_S) | (since > _AHEAD_S), NONE, time)
    return replace(updates, **times)


class Dates:
    """
    Service dates of updates.

    An update with a start_date is about it, others are about the date on which the trip runs nearest to the first time.

    Parameters
    ----------
    timetable : Timetable
    """

    def __init__(self, timetable: Timetable) -> None:
        self._timetable = timetable
        self._known: dict[str, int] = {}
        self._settler = Settler(timetable)
        #: Number of updates whose start_date is a day off.
        self.n_moved = 0
        #: Date and last moment of each new trip without a date.
        self._new: dict[tuple[str | None, str, str], tuple[int, int]] = {}

    def of(self, updates: TripUpdates, feeds: list[str | None]) -> tuple[Int64Array, BoolArray]:
        """
        Return the service date of each update, -1 for none, and whether its run is known to be of that date.

        Where no run is known, the date is that of its first time.
        """
        known = self._known
        for text in {*updates.start_date} - {*known}:
            known[text] = ordinal_of(text) if text else -1
        date = np.array([known[text] for text in updates.start_date], np.int64)
        is_sure = date >= 0
        if is_sure.any():
            date = self._on_their_days(updates, date)
        left = np.flatnonzero(~is_sure)
        if not left.size:
            return date, is_sure
        updates = _without_absurd_times(updates)
        reference = reference_times(updates)
        groups: dict[tuple[object, ...], list[int]] = {}
        for u in left.tolist():
            trip = updates.trip_id[u]
            key = (
                feeds[u], trip, "" if trip else updates.route_id[u], updates.start_time[u],
                -1 if trip else int(updates.direction[u]), int(updates.relation[u]), bool(updates.start_date[u]),
            )  # fmt: skip
            groups.setdefault(key, []).append(u)
        # The nearest run of a later moment is no earlier one.
        ends = [(min(own, key=reference.__getitem__), max(own, key=reference.__getitem__)) for own in groups.values()]
        self._match(updates, feeds, unique_values(np.array(ends).ravel()), date)
        apart = [u for own, (a, b) in zip(groups.values(), ends, strict=True) for u in own if date[a] != date[b]]
        if apart:
            self._match(updates, feeds, np.array(apart), date)
        for own, (a, b) in zip(groups.values(), ends, strict=True):
            if date[a] == date[b]:
                date[own] = date[a]
        is_sure = date >= 0
        local = self._local(reference)
        for u in np.flatnonzero(~is_sure).tolist():
            date[u] = local[u]
            if updates.relation[u] in NEW_TRIPS and reference[u] != NONE:
                name = feeds[u], updates.trip_id[u] or updates.entity[u], updates.new_id[u]
                before, moment = self._new.get(name, (-1, 0))
                # A new trip stays on the date on which it begins.
                if before >= 0 and abs(int(reference[u]) - moment) <= FARTHEST_S:
                    date[u] = before
                self._new[name] = int(date[u]), int(reference[u])
                is_sure[u] = date[u] >= 0
        return date, is_sure

    def _on_their_days(self, updates: TripUpdates, date: Int64Array) -> Int64Array:
        """Return dates, and those a day off by most times of the update, such as calendar dates after midnight."""
        owner = np.repeat(np.arange(len(updates)), np.diff(updates.indptr))
        n_times, later = np.zeros(len(updates), np.int64), np.zeros((3, len(updates)), np.int64)
        for times in (updates.arrival_time, updates.departure_time):
            at = np.flatnonzero((times != NONE) & (times != 0) & (date[owner] >= 0))
            steps = self._settler.later(updates.trip_id[owner[at]], date[owner[at]], times[at])
            n_times += np.bincount(owner[at], minlength=n_times.size)
            np.add.at(later, (steps + 1, owner[at]), 1)
        step = np.where(2 * later[0] > n_times, -1, np.where(2 * later[2] > n_times, 1, 0))
        step[np.isin(updates.relation, _OWN_TIMES)] = 0
        moved = np.flatnonzero(step)
        step[moved[~self._settler.runs(updates.trip_id[moved], date[moved] + step[moved])]] = 0
        self.n_moved += int(np.count_nonzero(step))
        return date + step

    def _match(self, updates: TripUpdates, feeds: list[str | None], rows: Int64Array, date: Int64Array) -> None:
        part = taken(updates, rows)
        date[rows] = (
            Matcher(self._timetable, part, feed_numbers(self._timetable, [feeds[u] for u in rows])).found().date
        )

    def _local(self, moments: Int64Array) -> Int64Array:
        """Return the dates of moments in the first time zone of the timetable, -1 for none."""
        found = np.full(moments.size, -1, np.int64)
        zone = np.zeros(1, np.int64)
        known: dict[int, int] = {}
        for i, moment in enumerate(moments.tolist()):
            if moment == NONE:
                continue
            around = moment // 86_400 + 719_163
            # Dates begin within a day of those in UTC.
            for each in (around + 1, around, around - 1):
                if not 1 < each < 3_650_000:
                    continue
                if each not in known:
                    known[each] = int(origins(np.array([each]), zone, self._timetable.zones)[0])
                if known[each] <= moment:
                    found[i] = each
                    break
        return found
