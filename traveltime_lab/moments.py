"""
Moments of departure and arrival: every accepted spelling becomes an aware datetime in the network's time zone.

A time without an offset is the network's local time. Around clock changes such a time may not exist or may happen
twice; both are errors that show the two readings, because guessing would move an answer by an hour.
"""

from __future__ import annotations

import datetime as dt
import enum
import re
from typing import Any, Final, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from traveltime_lab.errors import InputError, MomentError


class TypicalMoment(enum.Enum):
    """A moment known by its habit, not by its date."""

    WEEKDAY_MORNING = "weekday_morning"


#: A typical weekday between 8 and 9 local time, as the contract's ``arrival_time_period`` means it.
WEEKDAY_MORNING: Final = TypicalMoment.WEEKDAY_MORNING

Moment = dt.datetime | TypicalMoment

_HAS_TIME = re.compile(r"[Tt ]\d{2}")
_EXAMPLE = "2026-03-02T08:00:00, 2026-03-02T08:00:00Z or 2026-03-02T08:00:00+02:00"


def resolve_moment(value: Any, timezone: str, *, name: str) -> Moment | None:
    """
    Return a moment in the network's time zone.

    Parameters
    ----------
    value : datetime, pandas.Timestamp, numpy.datetime64, str or None
        ISO 8601 with or without an offset; without one it is local time. ``"weekday_morning"`` stands for a typical
        weekday between 8 and 9.
    timezone : str
        IANA name of the network's time zone.
    name : str
        What to call the value in messages.

    Returns
    -------
    datetime, TypicalMoment or None
        Aware and in `timezone`; `WEEKDAY_MORNING`; None for None.

    Raises
    ------
    MomentError
        If the value cannot be read, has no time of day, does not exist in `timezone`, or happens twice in it.
    """
    if value is None:
        return None
    if value is WEEKDAY_MORNING or (isinstance(value, str) and value == WEEKDAY_MORNING.value):
        return WEEKDAY_MORNING
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise MomentError(f"Unknown time zone {timezone!r}; use an IANA name such as 'Europe/Helsinki'.") from None
    moment = _as_datetime(value, name)
    try:
        if moment.utcoffset() is not None:
            return moment.astimezone(zone)
        return _localise(moment, zone, name)
    except OverflowError:
        raise MomentError(f"{name} {value} is too near the end of the calendar.") from None


def resolve_moments(departure_time: Any, arrival_time: Any, timezone: str) -> tuple[Moment | None, bool]:
    """
    Return the one moment of a search, and whether it is that of arrival.

    Parameters
    ----------
    departure_time, arrival_time : datetime, pandas.Timestamp, numpy.datetime64, str or None
        At most one of the two; see `resolve_moment`.
    timezone : str
        IANA name of the network's time zone.

    Returns
    -------
    moment : datetime, TypicalMoment or None
        None when neither is given.
    is_arrival : bool
        True if the moment is that of arrival.

    Raises
    ------
    InputError
        If both are given.
    MomentError
        If the moment cannot be used.
    """
    if departure_time is not None and arrival_time is not None:
        raise InputError(
            "Give departure_time or arrival_time, not both; "
            f"got departure_time={departure_time!r} and arrival_time={arrival_time!r}."
        )
    if arrival_time is not None:
        return resolve_moment(arrival_time, timezone, name="arrival_time"), True
    return resolve_moment(departure_time, timezone, name="departure_time"), False


def _as_datetime(value: Any, name: str) -> dt.datetime:
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
    if value != value:
        raise MomentError(f"{name} is missing (NaT); give a moment or None.")
    unit = value.dtype.name.partition("[")[2].rstrip("]")
    if unit in ("Y", "M", "W", "D"):
        raise _no_time(value, name)
    moment = value.astype("datetime64[us]").item()
    if not isinstance(moment, dt.datetime):
        raise MomentError(f"{name} {value} is outside the years 1 to 9999.")
    return moment


def _no_time(value: object, name: str) -> MomentError:
    day = str(value).strip()
    return MomentError(f"{name} {day} has no time of day. Give one, such as {day}T08:00:00.")


def _localise(naive: dt.datetime, zone: ZoneInfo, name: str) -> dt.datetime:
    """Return `naive` in `zone` if that names exactly one moment; `fold=1` picks the second of two (PEP 495)."""
    first = naive.replace(tzinfo=zone, fold=0)
    second = naive.replace(tzinfo=zone, fold=1)
    before, after = first.utcoffset(), second.utcoffset()
    if before is None or after is None or before == after:
        return first
    if before > after:
        if naive.fold == 1:
            return second
        raise MomentError(
            f"{name} {naive.isoformat()} happens twice in {zone.key}, when clocks go back. "
            f"Write the offset: {first.isoformat()} (the first) or {second.isoformat()} (the second)."
        )
    # In a gap each reading keeps the offset of one side, and so falls on the other side.
    later = first.astimezone(dt.UTC).astimezone(zone)
    earlier = second.astimezone(dt.UTC).astimezone(zone)
    raise MomentError(
        f"{name} {naive.isoformat()} does not exist in {zone.key}: clocks go forward over it. "
        f"Write the offset: {first.isoformat()} (which is {later.isoformat()}) "
        f"or {second.isoformat()} (which is {earlier.isoformat()})."
    )
