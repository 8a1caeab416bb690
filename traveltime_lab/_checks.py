"""
Check arguments: one function for each kind of value, with one wording for each kind of error.
"""

from __future__ import annotations

import datetime as dt
import math
import numbers
import operator
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Set
from typing import Any, Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import FloatArray
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.runtime.warnings import warn

#: Control and format characters that texts need: tabs, line breaks and joiners (of Persian, and of emoji).
_KEPT: Final = "\t\n\u200c\u200d"


def whole(value: Any, name: str, least: int, most: int, unit: str) -> int:
    """
    Return an integer in a range.

    Whole floats are accepted, durations if the unit is seconds; booleans are not.
    """
    if unit == "seconds" and isinstance(value, dt.timedelta | np.timedelta64):
        value = _seconds(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool | np.bool_):
        more = ""
        if isinstance(value, list | tuple | range | np.ndarray | pd.Series):
            more = f"; call the function once per {name} and concatenate the results with pd.concat"
        elif unit == "seconds" and isinstance(value, str):
            more = _seconds_of_text(value)
        msg = f"{name} must be a whole number of {unit}; got {value!r}{more}"
        raise InputError(msg)
    if not least <= number <= most:
        msg = f"{name} must be from {least} to {most} {unit}; got {number}"
        raise LimitError(msg)
    return number


def is_whole(value: Any) -> bool:
    """Return whether a value is an integer; booleans and durations, which NumPy counts among them, are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_ | np.timedelta64)


def is_hashable(value: Any) -> bool:
    """Return whether a value has a hash; some have a type with one, such as durations without a unit, but none."""
    try:
        hash(value)
    except (TypeError, ValueError):
        return False
    return True


#: A number of seconds below this may be meant as minutes.
_FEW_SECONDS: Final = 60


def travel_time_s(value: Any, most: int) -> int:
    """Return a maximum travel time in seconds; warn of a bare number below 60, which may be meant as minutes."""
    seconds = whole(value, "travel_time", 1, most, "seconds")
    if seconds < _FEW_SECONDS and not isinstance(value, dt.timedelta | np.timedelta64):
        msg = (
            f"travel_time is in seconds: {seconds} is less than a minute. If minutes are meant, give {60 * seconds}; "
            f"if not, datetime.timedelta(seconds={seconds}) avoids this warning"
        )
        warn(msg)
    return seconds


def is_several(value: Any) -> bool:
    """Return whether a limit is a list of limits: a list, tuple, set, range, array, index or column."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Collection) and not isinstance(value, str | bytes | bytearray | Mapping | pd.DataFrame)


def travel_times_s(value: Any, most: int) -> tuple[int, ...]:
    """Return one or several maximum travel times in seconds; see `travel_time_s`."""
    if not is_several(value):
        return (travel_time_s(value, most),)
    return _unique([travel_time_s(each, most) for each in _limits(value, "travel_time")], "travel_time")


def distances_m(value: Any, least: int, most: int) -> tuple[int, ...]:
    """Return one or several maximum distances in metres."""
    if not is_several(value):
        return (whole(value, "distance", least, most, "metres"),)
    return _unique([whole(each, "distance", least, most, "metres") for each in _limits(value, "distance")], "distance")


def _limits(value: Any, name: str) -> tuple[Any, ...]:
    """Return the items of a list of limits that has at least one."""
    found = items(value, name, "limits")
    if not found:
        msg = f"{name} is an empty list; give at least one limit"
        raise InputError(msg)
    return found


def _unique(limits: list[int], name: str) -> tuple[int, ...]:
    """Return limits, or raise InputError if one is there twice."""
    twice = next((limit for n, limit in enumerate(limits) if limit in limits[:n]), None)
    if twice is not None:
        msg = f"{name} has {twice} more than once; give each limit once"
        raise InputError(msg)
    return tuple(limits)


def _seconds_of_text(value: str) -> str:
    """Return advice on a text that is a duration, such as "15min", "00:15:00" or "PT15M"."""
    try:
        seconds = pd.Timedelta(str(value)).total_seconds()  # one of numpy is refused by some versions
    except (ValueError, OverflowError):
        return ""
    # A bare number would be one of nanoseconds.
    is_plain = value.strip().replace(".", "", 1).isdigit()
    if is_plain or not seconds.is_integer() or seconds < 1:
        return ""
    return f"; give {seconds:.0f}"


def _seconds(value: dt.timedelta | np.timedelta64) -> Any:
    """Return a duration in seconds; years, months, units of nothing and NaT are returned unchanged."""
    if isinstance(value, np.timedelta64):
        unit = np.datetime_data(value.dtype)[0]
        if unit in ("Y", "M", "generic") or np.isnat(value):
            return value
        return float(value / np.timedelta64(1, "s"))
    return value.total_seconds()


def number(value: Any, name: str, unit: str = "") -> float:
    """Return a real number as a float, infinite if it is too large; booleans, texts and durations are not numbers."""
    given = value
    # NumPy counts durations among the whole numbers.
    is_other = isinstance(value, bool | np.bool_ | np.timedelta64)
    if isinstance(value, numbers.Real) and not is_other:
        try:
            return float(given)
        except OverflowError:
            return math.inf if given > 0 else -math.inf
    msg = f"{name} must be a number{unit and f' of {unit}'}; got {value!r}"
    raise InputError(msg)


def words(value: Any, name: str) -> str:
    """Return a text that can be shown and sent, or raise InputError."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            pass
        else:
            return str(value)
    msg = f"{name} must be a text; got {value!r}"
    raise InputError(msg)


def percent(value: Any, name: str) -> float:
    """Return a percentage above 0 and at most 100."""
    share = number(value, name)
    if not 0.0 < share <= 100.0:
        msg = f"{name} must be above 0 and at most 100; got {value}"
        raise LimitError(msg)
    return share


def percents_of(percentiles: Any) -> tuple[float, ...]:
    """Return one or several different percentages; see `percent`."""
    given = (percentiles,) if isinstance(percentiles, int | float) else items(percentiles, "percentiles", "numbers")
    values = tuple(percent(value, "percentiles") for value in given)
    if len(set(values)) != len(values):
        msg = f"percentiles must be unique; got {values}"
        raise InputError(msg)
    return values


def one_of(value: Any, name: str, known: tuple[str, ...]) -> str:
    """Return a value, or raise InputError if it is not one of the known names."""
    if not isinstance(value, str) or value not in known:
        msg = f"{name} must be one of {', '.join(map(repr, known))}; got {value!r}"
        raise InputError(msg)
    return str(value)


#: Similarity in percent from which a name, or a number, may have been meant by another (assumed).
_ALIKE: Final = {"name": 60, "number": 85}
#: Maximum number of names that `did_you_mean` lists.
_MOST_MEANT: Final = 3


def did_you_mean(requested: Any, known: Iterable[Any]) -> str:
    """
    Return the end of an error about an unknown name, label or id: similar ones, empty if there are none.

    Case and Unicode normalisation do not count. Numbers are similar if few of their digits differ. The message says
    if a name differs in its Unicode normalisation only, and thus looks the same.
    """
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - for errors only

    choices = {str(each): each.item() if isinstance(each, np.generic) else each for each in known}
    least = _ALIKE["number" if is_whole(requested) else "name"]
    close = process.extract(
        str(requested), list(choices), scorer=fuzz.ratio, processor=folded, limit=_MOST_MEANT, score_cutoff=least
    )
    if not close:
        return ""
    hint = f"; did you mean {' or '.join(repr(choices[name]) for name, *_ in close)}?"
    if any(name != str(requested) and composed(name) == composed(str(requested)) for name, *_ in close):
        hint = f"{hint} It has the same letters in another Unicode normalisation; see unicodedata.normalize"
    return hint


def composed(text: str) -> str:
    """Return a text in NFC: a letter and its accent are one character, however they were typed."""
    return unicodedata.normalize("NFC", text)


def folded(text: str) -> str:
    """Return a name without case, in NFC, for comparisons."""
    return composed(composed(text).casefold())


def items(value: Any, name: str, what: str, how_many: int | None = None) -> tuple[Any, ...]:
    """
    Return the items of a list, a tuple, a set, an array, an index or a column.

    Anything else raises InputError, and so does a different number of items than `how_many`: a text would be split,
    a table gives its columns, and an iterator may never end. A set has no order, which the items of a certain number
    have.
    """
    is_array = isinstance(value, np.ndarray) and value.ndim == 1
    is_plain = isinstance(value, Collection) and not isinstance(value, str | bytes | bytearray | Mapping | np.ndarray)
    if is_array or (is_plain and not isinstance(value, pd.DataFrame)):
        found = tuple(value)
        if how_many is None or (how_many == len(found) and not isinstance(value, Set)):
            return found
    msg = f"{name} must be a list of {what}; got {type(value).__name__} {value!r}"
    raise InputError(msg)


def flag(value: Any, name: str) -> bool:
    """Return a boolean, or raise InputError if the value is anything else, such as 0 or "no"."""
    if not isinstance(value, bool | np.bool_):
        msg = f"{name} must be True or False; got {value!r}"
        raise InputError(msg)
    return bool(value)


def floats_of(values: pd.Series) -> FloatArray:
    """Return numbers as floats, NaN where they are missing; raise TypeError, or ValueError, if they are none."""
    if getattr(values.dtype, "kind", "") in {"m", "M"}:
        # pandas would count them from 1970.
        raise TypeError("dates and durations are no numbers")
    return np.asarray(values.to_numpy(np.float64, na_value=np.nan))


def finite(values: FloatArray) -> FloatArray:
    """Replace infinite values by NaN."""
    return np.where(np.isfinite(values), values, np.nan)


def plain_text(text: str, most: int | None = None) -> str:
    """
    Return a text from elsewhere without control and format characters, which change how other text is shown.

    Line breaks and joiners of letters are kept.

    Parameters
    ----------
    text : str
    most : int, optional
        Most characters; a longer text ends with ``...``.
    """
    if not text.isprintable():
        text = "".join(each for each in text if each in _KEPT or unicodedata.category(each) not in ("Cc", "Cf", "Cs"))
    return text if most is None or len(text) <= most else f"{text[: most - 3]}..."
