"""
Service calendars: rules by weekday and date, evaluated for single dates without listing all dates.

Dates are proleptic ordinals (`datetime.date.toordinal`), int32.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from traveltime_lab._arrays import (
    BoolArray,
    IndexArray,
    Int32Array,
    Int64Array,
    UInt8Array,
    indptr_of,
    unique_values,
    within_rows,
)
from traveltime_lab.kernels.transit import stop_times
from traveltime_lab.streets.components import order_by_row

#: Last date of the calendar of `datetime`.
_LAST_DATE: Final = dt.date.max.toordinal()


@dataclass(frozen=True)
class Services:
    """
    The calendars of services.

    Attributes
    ----------
    weekdays : uint8 array of shape (n_services,)
        Bit 0 is Monday; 0 for services without a calendar.
    start, end : int32 arrays of shape (n_services,)
        First and last date of the calendar; `start` > `end` for services without a calendar.
    exception_date, exception_service, exception_added : int32, int32, bool arrays of shape (n_exceptions,)
        Dates on which service is added to, or removed from, the calendar, sorted by date.
    """

    weekdays: UInt8Array
    start: Int32Array
    end: Int32Array
    exception_date: Int32Array
    exception_service: Int32Array
    exception_added: BoolArray

    def __len__(self) -> int:
        """Return the number of services."""
        return int(self.weekdays.size)

    def on(self, date: dt.date | int) -> BoolArray:
        """Return for each service whether it is active on a date."""
        ordinal = date.toordinal() if isinstance(date, dt.date) else int(date)
        runs = (self.weekdays >> ((ordinal - 1) % 7) & 1).astype(np.bool_)
        runs &= (self.start <= ordinal) & (ordinal <= self.end)
        begin, stop = np.searchsorted(self.exception_date, [ordinal, ordinal + 1])
        runs[self.exception_service[begin:stop]] = self.exception_added[begin:stop]
        return runs

    def totals(
        self, service: IndexArray, row: IndexArray, value: Int64Array, n_rows: int, days: Int64Array
    ) -> Int64Array:
        """
        Return sums over the services that are active on each of some dates.

        The work grows with services, exceptions and dates, not with their product. Sums that do not fit wrap around.

        Parameters
        ----------
        service, row : intp arrays of shape (n,)
            Each value counts in its row on the dates of its service.
        value : int64 array of shape (n,)
        n_rows : int
        days : int64 array of shape (n_days,)
            Dates in ascending order.

        Returns
        -------
        int64 array of shape (n_rows, n_days)
        """
        found = np.zeros((n_rows, days.size), np.int64)
        weekday = (days - 1) % 7
        for bit in range(7):
            own = np.flatnonzero(weekday == bit)
            runs = np.flatnonzero((self.weekdays[service] >> bit & 1) & (self.start[service] <= self.end[service]))
            steps = np.zeros((n_rows, own.size + 1), np.int64)
            np.add.at(steps, (row[runs], np.searchsorted(days[own], self.start[service[runs]])), value[runs])
            stops = np.searchsorted(days[own], self.end[service[runs]], "right")
            np.subtract.at(steps, (row[runs], stops), value[runs])
            found[:, own] = np.cumsum(steps[:, :-1], axis=1)
        # Add and remove the exceptions to the calendars.
        order = np.argsort(service, kind="stable")
        counts = np.bincount(service, minlength=len(self))
        exceptions = np.flatnonzero(np.isin(self.exception_date, days))
        times = counts[self.exception_service[exceptions]]
        exception = np.repeat(exceptions, times)
        first = indptr_of(counts)
        within = within_rows(times)
        cell = order[first[self.exception_service[exception]] + within]
        date, whose = self.exception_date[exception], self.exception_service[exception]
        usual = (self.weekdays[whose] >> ((date - 1) % 7) & 1).astype(np.bool_)
        usual &= (self.start[whose] <= date) & (date <= self.end[whose])
        change = self.exception_added[exception].astype(np.int64) - usual
        np.add.at(found, (row[cell], np.searchsorted(days, date)), change * value[cell])
        return found

    def spans(self) -> tuple[Int32Array, Int32Array]:
        """Return the first and the last date of each service; first > last for a service without dates."""
        # Exceptions are sorted by date already.
        indptr, order = order_by_row(self.exception_service, len(self))
        first = np.zeros(len(self), np.int32)
        last = np.zeros(len(self), np.int32)
        stop_times.service_spans(
            self.weekdays,
            self.start,
            self.end,
            indptr.astype(np.int64),
            self.exception_date[order],
            self.exception_added[order],
            first,
            last,
        )
        return first, last

    def last_by_weekday(self, is_used: BoolArray) -> Int64Array:
        """
        Return the last date of each day of the week, from Monday, on which one of some services is active.

        Parameters
        ----------
        is_used : bool array of shape (n_services,)

        Returns
        -------
        int64 array of shape (7,)
            Ordinals, 0 for never.
        """
        found = np.zeros(7, np.int64)
        whose, date = self.exception_service.astype(np.int64), self.exception_date.astype(np.int64)
        # One larger number than all ends the list, so that each number has a place in it.
        removed = np.append(unique_values((whose << 32 | date)[~self.exception_added]), np.iinfo(np.int64).max)
        for weekday in range(7):
            service = np.flatnonzero(is_used & (self.weekdays >> weekday & 1).astype(np.bool_))
            last = self.end[service].astype(np.int64)
            last -= (last - 1 - weekday) % 7
            left = np.arange(service.size)
            while left.size:
                keys = service[left] << 32 | last[left]
                is_removed = removed[np.searchsorted(removed, keys)] == keys
                left = left[is_removed & (last[left] >= self.start[service[left]])]
                last[left] -= 7
            found[weekday] = last[last >= self.start[service]].max(initial=0)
        added = np.flatnonzero(self.exception_added & is_used[whose])
        np.maximum.at(found, (date[added] - 1) % 7, date[added])
        return found

    @staticmethod
    def joined(parts: Sequence[Services]) -> Services:
        """Concatenate the services of several feeds."""
        offsets = indptr_of([len(part) for part in parts])
        plain = {item.name: np.concatenate([getattr(part, item.name) for part in parts]) for item in fields(Services)}
        plain["exception_service"] = np.concatenate(
            [part.exception_service + np.int32(offset) for part, offset in zip(parts, offsets, strict=False)]
        )
        order = np.argsort(plain["exception_date"], kind="stable")
        for name in ("exception_date", "exception_service", "exception_added"):
            plain[name] = plain[name][order]
        return Services(**plain)


class ServiceCounts(NamedTuple):
    """
    Trips of services, for the pairs of a feed and a service that have any, in this order.

    Attributes
    ----------
    feed, service : int64 arrays of shape (n,)
    trips, departures : int64 arrays of shape (n,)
        Trips of trips.txt, and departures on each day of the service, in which repetitions of frequencies.txt count.
    """

    feed: Int64Array
    service: Int64Array
    trips: Int64Array
    departures: Int64Array

    @classmethod
    def of(cls, feed: Int32Array, service: Int32Array, departures: Int64Array) -> ServiceCounts:
        """Return the counts, given the feed, the service and the departures of each trip."""
        n_services = int(service.max(initial=0)) + 1
        of, cells = pd.factorize(feed.astype(np.int64) * n_services + service)
        trips = np.bincount(of, minlength=cells.size)
        totals = np.bincount(of, weights=departures, minlength=cells.size).astype(np.int64)
        order = np.argsort(cells)
        return cls(cells[order] // n_services, cells[order] % n_services, trips[order], totals[order])

    def on(self, runs: BoolArray, n_feeds: int) -> tuple[Int64Array, Int64Array]:
        """Return the trips and the departures of each feed on a day, given the services that are active on it."""
        feed = self.feed[runs[self.service]]
        trips, departures = (
            np.bincount(feed, weights=counts[runs[self.service]], minlength=n_feeds).astype(np.int64)
            for counts in (self.trips, self.departures)
        )
        return trips, departures


@lru_cache(maxsize=4096)
def day_origin(date: int, zone: str) -> int:
    """
    Return the POSIX second from which the times of a service date count: noon minus 12 hours.

    It differs from midnight on days of a clock change; see GTFS Schedule reference, "Time". Dates may lie outside of
    the calendar of `datetime`, whose last day is 31 December 9999.
    """
    # A calendar that ends on 31 December 9999, for "until further notice", needs the day after it.
    known = min(max(date, 1), _LAST_DATE)
    day = dt.date.fromordinal(known)
    noon = dt.datetime(day.year, day.month, day.day, 12, tzinfo=ZoneInfo(zone))
    return int(noon.timestamp()) - 12 * 3600 + (date - known) * 86400
