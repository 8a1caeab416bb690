"""
Departure and arrival times: conversion to timezone-aware datetimes in the time zone of the network.

A naive time is local time of the network. Around a clock change such a time may not exist or may be ambiguous. Both
raise an error that shows the two readings, because a wrong guess would shift the result by an hour.
"""

from __future__ import annotations

import datetime as dt
import enum
import re
from collections.abc import Sized
from typing import Any, Final, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from traveltime_lab.errors import InputError, MomentError


class TypicalMoment(enum.Enum):
    """A typical time of the week, without a date."""

    WEEKDAY_MORNING = "weekday_morning"


#: A typical weekday between 8 and 9 local time, the contract's ``arrival_time_period``.
WEEKDAY_MORNING: Final = TypicalMoment.WEEKDAY_MORNING

Moment = dt.datetime | TypicalMoment

#: Distance from the ends of the calendar: the longest trip, a week, and a window or a repetition of service before it.
_MARGIN: Final = dt.timedelta(days=16)
#: Seconds from 1970 that are beyond the years 1 to 9999, and units of NumPy in a second.
_FARTHEST_S: Final = 1e12
_UNITS_PER_S: Final = {
    "h": 1 / 3600, "m": 1 / 60, "s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9, "ps": 1e12, "fs": 1e15, "as": 1e18,
}  # fmt: skip
_HAS_TIME = re.compile(r"[Tt ]\d{2}")
_EXAMPLE = "2026-03-02T08:00:00, 2026-03-02T08:00:00Z or 2026-03-02T08:00:00+02:00"


def resolve_moment(value: Any, timezone: str, *, name: str) -> Moment | None:
    """
    Convert a departure or arrival time to the time zone of the network.

    Parameters
    ----------
    value : datetime, pandas.Timestamp, numpy.datetime64, str or None
        Strings are ISO 8601; a time without an offset is local time. ``"weekday_morning"`` is a typical weekday between
        8 and 9, see `traveltime_lab.transit.typical_day`.
    timezone : str
        IANA name of the network's time zone.
    name : str
        Name of the argument in error messages.

    Returns
    -------
    datetime, TypicalMoment or None
        A timezone-aware datetime in `timezone`, `WEEKDAY_MORNING`, or None for None.

    Raises
    ------
    MomentError
        If the value is invalid, has no time of day, or does not exist or is ambiguous in `timezone`.

    Examples
    --------
    >>> resolve_moment(
    ...     "2026-03-02T08:00:00", "Europe/Helsinki", name="departure_time"
    ... ).isoformat()
    '2026-03-02T08:00:00+02:00'
    """
    if value is None:
        return None
    if value is WEEKDAY_MORNING or (isinstance(value, str) and value == WEEKDAY_MORNING.value):
        return WEEKDAY_MORNING
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise MomentError(f"Unknown time zone {timezone!r}; use an IANA name such as 'Europe/Helsinki'.") from None
    moment = as_datetime(value, name)
    try:
        found = moment.astimezone(zone) if moment.utcoffset() is not None else _localise(moment, zone, name)
        for away in (-_MARGIN, _MARGIN):
            (found.astimezone(dt.UTC) + away).astimezone(zone)
    except OverflowError:
        raise MomentError(
            f"{name} {value} is too near an end of the calendar, which goes from the year 1 to 9999."
        ) from None
    return found


def today(timezone: str) -> dt.date:
    """Return the date in a time zone, such as ``"Europe/Helsinki"``, now."""
    return dt.datetime.now(ZoneInfo(timezone)).date()


def as_date(value: Any, name: str) -> dt.date:
    """Return a date, or a text in ISO 8601, as a date."""
    try:
        if isinstance(value, str):
            return dt.date.fromisoformat(value.strip())
        # NaT is a datetime, too, and differs from itself.
        if isinstance(value, dt.date) and value == value:
            return dt.date(value.year, value.month, value.day)
    except ValueError:
        pass
    msg = f"{name} must be a date such as datetime.date(2026, 1, 31) or '2026-01-31'; got {value!r}"
    raise InputError(msg)


def resolve_moments(departure_time: Any, arrival_time: Any, timezone: str) -> tuple[Moment | None, bool]:
    """
    Return the departure or arrival time of a search, and which of the two it is.

    Parameters
    ----------
    departure_time, arrival_time : datetime, pandas.Timestamp, numpy.datetime64, str or None
        At most one of the two; see `resolve_moment`.
    timezone : str
        IANA name of the network's time zone.

    Returns
    -------
    moment : datetime, TypicalMoment or None
        None if neither is given.
    is_arrival : bool
        True if the moment is the arrival time.

    Raises
    ------
    InputError
        If both are given.
    MomentError
        If the time is invalid.
    """
    if departure_time is not None and arrival_time is not None:
        raise InputError(
            "Give departure_time or arrival_time, not both; "
            f"got departure_time={departure_time!r} and arrival_time={arrival_time!r}."
        )
    if arrival_time is not None:
        return resolve_moment(arrival_time, timezone, name="arrival_time"), True
    return resolve_moment(departure_time, timezone, name="departure_time"), False


def elapsed_s(earlier: dt.datetime, later: dt.datetime) -> float:
    """
    Return the seconds from one moment to another, negative if that is earlier.

    Python compares and subtracts datetimes of one zone by their clocks, which show an hour twice in autumn.
    """
    return (later.astimezone(dt.UTC) - earlier.astimezone(dt.UTC)).total_seconds()


def are_same(one: Moment | None, other: Moment | None) -> bool:
    """Return whether two moments of questions are one."""
    if isinstance(one, dt.datetime) and isinstance(other, dt.datetime):
        return not elapsed_s(one, other)
    return one == other


def as_datetime(value: Any, name: str) -> dt.datetime:
    """Return a moment as a datetime, which is naive if the moment has no offset; see `resolve_moment`."""
    if isinstance(value, str):
        return _from_text(value, name)
    if type(value).__module__.partition(".")[0] == "numpy" and type(value).__name__ == "datetime64":
        return _from_numpy(value, name)
    if isinstance(value, dt.datetime):
        if value != value:  # pandas.NaT
            raise MomentError(f"{name} is missing (NaT); give a moment or None.")
        # Nanoseconds of a pandas.Timestamp are dropped.
        return cast(dt.datetime, value.to_pydatetime(warn=False) if hasattr(value, "to_pydatetime") else value)
    if isinstance(value, dt.date):
        raise _no_time(value, name)
    # Arrays without a dimension have no length.
    if isinstance(value, Sized) and getattr(value, "ndim", None) != 0:
        raise MomentError(
            f"{name} must be one moment here: a datetime, an ISO 8601 string such as {_EXAMPLE}, or 'weekday_morning'; "
            f"got {type(value).__name__} of length {len(value)}."
        )
    raise MomentError(
        f"{name} must be a datetime, an ISO 8601 string such as {_EXAMPLE}, or 'weekday_morning'; "
        f"got {type(value).__name__} {value!r}."
    )


def _from_text(value: str, name: str) -> dt.datetime:
    text = value.strip().upper()
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError as error:
        raise MomentError(
            f"{name} {value!r} is not an ISO 8601 date and time ({error}). Write it like {_EXAMPLE}."
        ) from None
    if not _HAS_TIME.search(text):
        raise _no_time(value, name)
    return moment


def _from_numpy(value: Any, name: str) -> dt.datetime:
    import numpy as np  # noqa: PLC0415 - the value is of it

    if value != value:
        raise MomentError(f"{name} is missing (NaT); give a moment or None.")
    unit = value.dtype.name.partition("[")[2].rstrip("]")
    if unit in ("Y", "M", "W", "D"):
        raise _no_time(value, name)
    # A moment too far away for microseconds either wraps around or raises, depending on the version of numpy.
    unit, multiple = np.datetime_data(value.dtype)
    is_far = abs(int(value.astype(np.int64))) * multiple > _FARTHEST_S * _UNITS_PER_S[unit]
    moment = None if is_far else value.astype("datetime64[us]").item()
    if not isinstance(moment, dt.datetime):
        # Its text could overflow, too.
        raise MomentError(f"{name} is outside the years 1 to 9999; got a {value.dtype} that is.")
    return moment


def _no_time(value: object, name: str) -> MomentError:
    day = str(value).strip()
    return MomentError(f"{name} {day} has no time of day. Give one, such as {day}T08:00:00.")


def _localise(naive: dt.datetime, zone: ZoneInfo, name: str) -> dt.datetime:
    """Return `naive` in `zone` if it is unambiguous there; `fold=1` selects the second of two readings (PEP 495)."""
    first = naive.replace(tzinfo=zone, fold=0)
    second = naive.replace(tzinfo=zone, fold=1)
    before, after = first.utcoffset(), second.utcoffset()
    if before is None or after is None or before == after:
        return first
    if before > after:
        if naive.fold == 1:
            return second
        raise MomentError(
            f"{name} {naive.isoformat()} is ambiguous in {zone.key}: the clocks go back then. "
            f"Write the offset: {first.isoformat()} (the first) or {second.isoformat()} (the second)."
        )
    # In a gap, each reading has the offset of one side and therefore falls on the other side.
    later = first.astimezone(dt.UTC).astimezone(zone)
    earlier = second.astimezone(dt.UTC).astimezone(zone)
    raise MomentError(
        f"{name} {naive.isoformat()} does not exist in {zone.key}: the clocks go forward then. "
        f"Write the offset: {first.isoformat()} (which is {later.isoformat()}) "
        f"or {second.isoformat()} (which is {earlier.isoformat()})."
    )
