"""
Read dates and times of tables, in the forms in which agencies write them.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import BoolArray, Int64Array, unique_values
from traveltime_lab.realtime.match import origins
from traveltime_lab.realtime.sources import NONE

#: Numbers below are seconds of the service day, others POSIX seconds: a service day has at most 48 hours (assumed), and
#: this moment of 1970 is in no archive.
_SECONDS_OF_DAY: Final = 200_000
#: The last moment of the calendar of `datetime`, POSIX seconds.
_LAST: Final = 253_402_300_799
_EPOCH: Final = 719_163
#: A clock time, and the offset of its zone after it.
_OFFSET: Final = re.compile(
    r"(?P<time>:\d\d(?:\.\d+)?|T\d{4,6}(?:\.\d+)?)\s*(?P<zone>Z|[+-]\d\d(?::?\d\d)?)$", re.IGNORECASE
)
_CLOCK: Final = r"^\s*(-?)(\d{1,3}):([0-5]?\d)(?::([0-5]?\d)(?:\.\d+)?)?\s*$"


def seconds_in(values: Any) -> tuple[Int64Array, BoolArray]:
    """Return a column as whole numbers, `NONE` where missing, and where something else is given."""
    series = pd.Series(values)
    missing = series.isna().to_numpy()
    if series.dtype.kind == "m":
        number = series.dt.total_seconds().to_numpy(np.float64)
    else:
        texts = series.astype(object).where(~missing, None)
        number = pd.to_numeric(texts, errors="coerce").to_numpy(np.float64)
        missing = missing | np.array([isinstance(each, str) and not each.strip() for each in texts], np.bool_)
    good = np.isfinite(number) & (np.abs(number) < 1e15)
    found = np.full(number.size, NONE)
    found[good] = np.rint(number[good]).astype(np.int64)
    return found, ~good & ~missing


def whole_numbers_in(values: Any) -> tuple[Int64Array, BoolArray]:
    """Return a column as whole numbers, `NONE` where missing, and where something else is given."""
    found, bad = seconds_in(values)
    number = pd.to_numeric(pd.Series(values).astype(object), errors="coerce").to_numpy(np.float64, na_value=np.nan)
    is_part = (found != NONE) & (number != found)
    return np.where(is_part, NONE, found), bad | is_part


def dates_in(values: Any) -> tuple[Int64Array, BoolArray]:
    """Return a column as ordinals of dates, -1 where missing, and where something else is given."""
    series = pd.Series(values)
    missing = series.isna().to_numpy()
    if series.dtype == object:
        # Lists and dicts are no dates, and cannot be looked up.
        series = series.map(lambda each: each if isinstance(each, dt.date) else str(each), na_action="ignore")
    codes, unique = pd.factorize(series.astype(object).where(~missing, None))
    own = np.full(unique.size + 1, -1, np.int64)
    for i, each in enumerate(unique.tolist()):
        own[i] = _date(each)
    found = own[codes]
    empty = np.array([isinstance(each, str) and not each.strip() for each in unique.tolist()] + [True], np.bool_)
    return found, (found < 0) & ~empty[codes]


def _date(value: Any) -> int:
    """Return a date or a moment, YYYYMMDD, or YYYY-MM-DD with or without a time, as an ordinal; -1 for all else."""
    if isinstance(value, dt.date):
        return value.toordinal()
    # Other orders of day and month cannot be told apart.
    found = re.fullmatch(r"(\d{4})(-?)(\d\d)\2(\d\d)(?:\.0|[T ]\d\d:.*)?", str(value).strip(), re.ASCII)
    if found is None:
        return -1
    try:
        return dt.date(int(found[1]), int(found[3]), int(found[4])).toordinal()
    except ValueError:
        return -1


class Moments:
    """
    Times of tables as POSIX seconds.

    Parameters
    ----------
    zones : sequence of str
        IANA names of time zones.
    """

    def __init__(self, zones: Sequence[str]) -> None:
        self._zones = zones
        #: Seconds by which moments of the last column may be later, as their clock time comes twice.
        self.again: Int64Array = np.zeros(0, np.int64)
        #: Which of the last column are seconds or clock times of the service day.
        self.is_of_day: BoolArray = np.zeros(0, np.bool_)

    def posix(self, values: Any, date: Int64Array, zone: Int64Array) -> tuple[Int64Array, BoolArray]:
        """
        Return a column as POSIX seconds, `NONE` where missing, and where something else is given.

        Parameters
        ----------
        values : column
            POSIX seconds; moments with or without a time zone, also as texts; or seconds, ``HH:MM:SS`` or durations of
            the service day. Moments without a zone are in that of the trip. If a time comes twice, it is the first,
            and `again` says how much later the second one is.
        date : int64 array of shape (n,)
            Service dates as ordinals, -1 where not known.
        zone : int64 array of shape (n,)
            Number of the time zone of each row.
        """
        series = pd.Series(values).reset_index(drop=True)
        missing = series.isna().to_numpy()
        self.again, self.is_of_day = np.zeros(len(series), np.int64), np.zeros(len(series), np.bool_)
        if series.dtype.kind == "M" or isinstance(series.dtype, pd.DatetimeTZDtype):
            return self._of_datetimes(series, zone, self.again), np.zeros(len(series), np.bool_)
        if series.dtype.kind == "m":
            self.is_of_day[:] = True
            return self._of_service_day(seconds_in(series)[0], date, zone), ~missing & (date < 0)
        if series.dtype.kind in "iuf":
            return self._of_numbers(seconds_in(series)[0], date, zone, missing)
        texts = series.astype(object).where(~missing, "").astype(str).str.strip()
        found = np.full(len(series), NONE)
        is_empty = (texts == "").to_numpy()
        number, not_number = seconds_in(texts)
        found, bad = self._of_numbers(number, date, zone, is_empty | not_number)
        left = not_number & ~is_empty
        clock = texts[left].str.extract(_CLOCK)
        is_clock = clock[1].notna().to_numpy()
        at = np.flatnonzero(left)
        own = clock[is_clock]
        seconds = own[1].astype(np.int64) * 3600 + own[2].astype(np.int64) * 60 + own[3].fillna(0).astype(np.int64)
        seconds = seconds.where(own[0] != "-", -seconds).to_numpy(np.int64)
        rows = at[is_clock]
        self.is_of_day[rows] = True
        found[rows] = self._of_service_day(seconds, date[rows], zone[rows])
        rows = at[~is_clock]
        if rows.size:
            again = np.zeros(rows.size, np.int64)
            found[rows] = self._of_texts(texts.iloc[rows], zone[rows], again)
            self.again[rows] = again
        bad = bad | (left & (found == NONE))
        return found, bad

    def _of_texts(self, texts: pd.Series, zone: Int64Array, again: Int64Array) -> Int64Array:
        # PostgreSQL writes the hours of an offset alone, and some put a space before it.
        texts = texts.str.replace(_OFFSET, r"\g<time>\g<zone>", regex=True).str.upper()
        has_zone = np.array([_OFFSET.search(each) is not None for each in texts], np.bool_)
        found = np.full(len(texts), NONE)
        if has_zone.any():
            moments = pd.to_datetime(texts[has_zone], errors="coerce", utc=True, format="ISO8601")
            found[has_zone] = self._of_datetimes(moments, zone[has_zone], np.zeros(len(moments), np.int64))
        if not has_zone.all():
            moments = pd.to_datetime(texts[~has_zone], errors="coerce", format="ISO8601")
            twice = np.zeros(len(moments), np.int64)
            found[~has_zone] = self._of_datetimes(moments, zone[~has_zone], twice)
            again[~has_zone] = twice
        return found

    def _of_numbers(
        self, number: Int64Array, date: Int64Array, zone: Int64Array, missing: BoolArray
    ) -> tuple[Int64Array, BoolArray]:
        is_day = (number != NONE) & (np.abs(number) < _SECONDS_OF_DAY)
        self.is_of_day |= is_day
        found = np.where(is_day, NONE, number)
        found[is_day] = self._of_service_day(number[is_day], date[is_day], zone[is_day])
        # Such as milliseconds.
        found[(found != NONE) & ((found < 0) | (found > _LAST))] = NONE
        return found, ~missing & (found == NONE)

    def _of_service_day(self, seconds: Int64Array, date: Int64Array, zone: Int64Array) -> Int64Array:
        good = (date > 1) & (seconds != NONE)
        found = np.full(seconds.size, NONE)
        found[good] = origins(date[good], zone[good], self._zones) + seconds[good]
        return found

    def _of_datetimes(self, moments: pd.Series, zone: Int64Array, again: Int64Array) -> Int64Array:
        """Return moments as POSIX seconds; write to `again` how much later those are whose clock time comes twice."""
        missing = moments.isna().to_numpy()
        found = np.full(len(moments), NONE)
        if isinstance(moments.dtype, pd.DatetimeTZDtype):
            moments = moments.dt.tz_convert("UTC").dt.tz_localize(None)
            found[~missing] = moments[~missing].to_numpy().astype("datetime64[s]").astype(np.int64)
            return found
        for number in unique_values(zone).tolist():
            mine = (zone == number) & ~missing
            local = moments[mine]
            first, second = (
                local.dt.tz_localize(
                    self._zones[number], ambiguous=np.full(len(local), is_first), nonexistent="shift_forward"
                )
                .dt.tz_convert("UTC")
                .dt.tz_localize(None)
                .to_numpy()
                .astype("datetime64[s]")
                .astype(np.int64)
                for is_first in (True, False)
            )
            found[mine], again[mine] = first, second - first
        return found
