"""
Several departure or arrival times of one call: lists, and moments from a start to an end at even steps.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

from traveltime_lab.errors import LimitError, MomentError
from traveltime_lab.limits import MAX_MOMENTS
from traveltime_lab.moments import WEEKDAY_MORNING, TypicalMoment, as_datetime, resolve_moment

#: Arguments that are moments.
NAMES: Final = ("departure_time", "arrival_time")
#: Length of a tuple (start, end, every).
_RANGE: Final = 3
_LIKE_A_DATE = re.compile(r"\s*(\d{4}[-/.]\d|\d{8}|\d{1,2}[-/.]\d{1,2}[-/.]\d)")

#: A moment, see `traveltime_lab.question.MomentLike`, or several of them.
Several: TypeAlias = Sequence[Any] | pd.Series | pd.Index | np.ndarray


def are_several(value: Any) -> bool:
    """Return whether an argument is a list of moments or a tuple (start, end, every), even with one member or none."""
    kinds = list | tuple | pd.Series | pd.Index | pd.api.extensions.ExtensionArray
    return isinstance(value, kinds) or (isinstance(value, np.ndarray) and value.ndim > 0)


def check_kind(value: Any, name: str) -> None:
    """
    Raise an error if an argument is several values, but no list of moments.

    Raises
    ------
    MomentError
        If it is a set, a generator, a mapping or the like.
    """
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | np.ndarray) and not are_several(value):
        raise MomentError(
            f"{name} must be one moment, a list of moments, or (start, end, every); got {type(value).__name__}. "
            f"For the moments of a set or a generator, give {name}=list(...)."
        )


def resolve_several(value: Any, timezone: str, *, name: str) -> tuple[dt.datetime, ...]:
    """
    Convert a list of departure or arrival times to the time zone of the network, in the order given.

    Parameters
    ----------
    value : list, tuple, Series, DatetimeIndex or ndarray
        Moments as in `traveltime_lab.moments.resolve_moment`, all with an offset or none, or a tuple (start, end,
        every) with a timedelta, a pandas offset or its name, such as ``"15min"``. Steps are in elapsed time, and the
        end is excluded.
    timezone : str
        IANA name of the network's time zone.
    name : str
        Name of the argument in error messages.

    Returns
    -------
    tuple of datetime
        Timezone-aware, all different, at least one.

    Raises
    ------
    MomentError
        If there are none, one is missing, invalid or occurs twice, some have an offset and others have none, or the
        step is not a positive time.
    LimitError
        If there are more than `MAX_MOMENTS`.

    Examples
    --------
    >>> found = resolve_several(
    ...     ("2026-03-29T00:00", "2026-03-30T00:00", "15min"),
    ...     "Europe/Helsinki",
    ...     name="departure_time",
    ... )
    >>> len(found), found[12].isoformat()
    (92, '2026-03-29T04:00:00+03:00')
    """
    if isinstance(value, tuple) and len(value) == _RANGE and is_step(value[2]):
        return _stepped(*value, timezone, name)
    if getattr(value, "ndim", 1) != 1:
        raise MomentError(f"{name} must be a list of moments, of one dimension; got an array of shape {value.shape}.")
    if not len(value):
        raise MomentError(f"{name} is empty; give at least one moment, or None.")
    _check_number(len(value), name)
    given = [_member(each, f"{name}[{i}]") for i, each in enumerate(value)]
    has_offset = [each.utcoffset() is not None for each in given]
    if any(has_offset) and not all(has_offset):
        with_one, without = has_offset.index(True), has_offset.index(False)
        raise MomentError(
            f"{name} mixes moments with an offset from UTC and without one, such as {name}[{with_one}] "
            f"{given[with_one].isoformat()} and {name}[{without}] {given[without].isoformat()}. Give all with or all "
            "without one."
        )
    moments: list[dt.datetime] = []
    places: dict[dt.datetime, int] = {}
    for i, each in enumerate(given):
        moment = resolve_moment(each, timezone, name=f"{name}[{i}]")
        assert isinstance(moment, dt.datetime)
        instant = moment.astimezone(dt.UTC)
        if instant in places:
            raise MomentError(
                f"{name} has {moment.isoformat()} twice, at {places[instant]} and {i}; give each moment once."
            )
        places[instant] = i
        moments.append(moment)
    return tuple(moments)


def _check_number(number: int, name: str) -> None:
    if number > MAX_MOMENTS:
        msg = f"{name} has {number:,} moments, and a call takes at most {MAX_MOMENTS:,}. Call for some at a time"
        raise LimitError(msg)


def _member(value: Any, name: str) -> dt.datetime:
    """Return a member of a list as a datetime."""
    if value is None:
        raise MomentError(f"{name} is missing (None); leave it out.")
    if value is WEEKDAY_MORNING or (isinstance(value, str) and value == WEEKDAY_MORNING.value):
        msg = f"{name} is {WEEKDAY_MORNING.value!r}, which cannot be in a list; give it alone, or moments with a date."
        raise MomentError(msg)
    return as_datetime(value, name)


def is_step(value: Any) -> bool:
    """Return whether the third member of a tuple is meant as a step and not as a moment."""
    if isinstance(value, str):
        return value != WEEKDAY_MORNING.value and not _LIKE_A_DATE.match(value)
    # NaT is a datetime.
    return value is not None and not isinstance(value, dt.date | np.datetime64 | TypicalMoment)


def _stepped(start: Any, end: Any, every: Any, timezone: str, name: str) -> tuple[dt.datetime, ...]:
    """Return the moments from a start to before an end."""
    step = _step(every, name)
    first, last = (
        resolve_moment(_member(each, f"the {what} of {name}"), timezone, name=f"the {what} of {name}")
        for each, what in ((start, "start"), (end, "end"))
    )
    assert isinstance(first, dt.datetime) and isinstance(last, dt.datetime)
    begin, stop = first.astimezone(dt.UTC), last.astimezone(dt.UTC)
    if begin >= stop:
        raise MomentError(
            f"{name} must end after it starts: (start, end, every) has the moments from the start to before the end; "
            f"got {first.isoformat()} and {last.isoformat()}."
        )
    number = -((begin - stop) // step)
    _check_number(number, name)
    return tuple((begin + n * step).astimezone(first.tzinfo) for n in range(number))


def _step(every: Any, name: str) -> dt.timedelta:
    """Return the step between moments."""
    needed = (
        f"the third member of {name}, the time between two moments, must be a timedelta or a pandas offset such as "
        "'15min'"
    )
    step: Any = every
    if isinstance(every, str):
        try:
            step = pd.tseries.frequencies.to_offset(every)
        except ValueError:
            raise MomentError(f"{needed}; got {every!r}.") from None
    if isinstance(step, pd.offsets.Day) or (
        isinstance(step, pd.offsets.BaseOffset) and not isinstance(step, pd.offsets.Tick)
    ):
        raise MomentError(
            f"{needed}, of a fixed length; got {every!r}. For moments by the calendar, such as the same time of each "
            "day, give pandas.date_range(start, end, freq=...)."
        )
    if isinstance(step, dt.timedelta | np.timedelta64 | pd.offsets.Tick):
        length = pd.Timedelta(step)
        if length == length and length >= pd.Timedelta(seconds=1) and not length.nanoseconds:
            found: dt.timedelta = length.to_pytimedelta()
            return found
        raise MomentError(f"{needed}, of at least a second; got {every!r}.")
    raise MomentError(f"{needed}; got {type(every).__name__} {every!r}.")
