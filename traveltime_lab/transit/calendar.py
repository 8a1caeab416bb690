"""
When services run: rules by weekday and dates, evaluated for the dates asked about and never enumerated.

Dates are proleptic ordinals (`datetime.date.toordinal`), int32.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np

from traveltime_lab._arrays import BoolArray, Int32Array, UInt8Array
from traveltime_lab.kernels.transit import stop_times


@dataclass(frozen=True)
class Services:
    """
    Rules of services.

    Attributes
    ----------
    weekdays : uint8 array of shape (n_services,)
        Bit 0 is Monday; 0 for services without a calendar.
    start, end : int32 arrays of shape (n_services,)
        First and last date of the calendar, `start` > `end` without one.
    exception_date, exception_service, exception_added : int32, int32 and bool arrays of shape (n_exceptions,)
        Dates on which a service runs or does not run against its calendar, sorted by date.
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
        """Return by service whether it runs on a date."""
        ordinal = date.toordinal() if isinstance(date, dt.date) else int(date)
        runs = (self.weekdays >> ((ordinal - 1) % 7) & 1).astype(np.bool_)
        runs &= (self.start <= ordinal) & (ordinal <= self.end)
        begin, stop = np.searchsorted(self.exception_date, [ordinal, ordinal + 1])
        runs[self.exception_service[begin:stop]] = self.exception_added[begin:stop]
        return runs

    def spans(self) -> tuple[Int32Array, Int32Array]:
        """Return the first and the last date that each service runs on, first > last for one that never runs."""
        order = np.lexsort((self.exception_date, self.exception_service))
        indptr = np.searchsorted(self.exception_service[order], np.arange(len(self) + 1)).astype(np.int64)
        first = np.zeros(len(self), np.int32)
        last = np.zeros(len(self), np.int32)
        stop_times.service_spans(
            self.weekdays,
            self.start,
            self.end,
            indptr,
            self.exception_date[order],
            self.exception_added[order],
            first,
            last,
        )
        return first, last

    @staticmethod
    def joined(parts: Sequence[Services]) -> Services:
        """Return the services of several feeds, numbered one feed after the other."""
        offsets = np.cumsum([0, *(len(part) for part in parts)])
        plain = {item.name: np.concatenate([getattr(part, item.name) for part in parts]) for item in fields(Services)}
        plain["exception_service"] = np.concatenate(
            [part.exception_service + np.int32(offset) for part, offset in zip(parts, offsets, strict=False)]
        )
        order = np.argsort(plain["exception_date"], kind="stable")
        for name in ("exception_date", "exception_service", "exception_added"):
            plain[name] = plain[name][order]
        return Services(**plain)


@lru_cache(maxsize=4096)
def day_origin(date: int, zone: str) -> int:
    """
    Return the POSIX second that times of a service date count from: noon minus 12 hours.

    It is midnight on every day but those on which clocks change; GTFS Schedule reference, "Time".
    """
    day = dt.date.fromordinal(date)
    noon = dt.datetime(day.year, day.month, day.day, 12, tzinfo=ZoneInfo(zone))
    return int(noon.timestamp()) - 12 * 3600
