"""
Check arguments: one function for each kind of value, with one wording for each kind of error.
"""

from __future__ import annotations

import datetime as dt
import operator
from typing import Any

import numpy as np
import pandas as pd

from traveltime_lab._arrays import FloatArray
from traveltime_lab.errors import InputError, LimitError


def whole(value: Any, name: str, least: int, most: int, unit: str) -> int:
    """
    Return an integer in a range.

    Whole floats are accepted, durations if the unit is seconds; booleans are not.
    """
    if unit == "seconds" and isinstance(value, dt.timedelta | np.timedelta64):
        value = pd.Timedelta(value).total_seconds()
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
        msg = f"{name} must be a whole number of {unit}; got {value!r}{more}"
        raise InputError(msg)
    if not least <= number <= most:
        msg = f"{name} must be from {least} to {most} {unit}; got {number}"
        raise LimitError(msg)
    return number


def percent(value: Any, name: str) -> float:
    """Return a percentage above 0 and at most 100."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        msg = f"{name} must be numbers above 0 and at most 100; got {value!r}"
        raise InputError(msg)
    if not 0.0 < float(value) <= 100.0:
        msg = f"{name} must be above 0 and at most 100; got {value}"
        raise LimitError(msg)
    return float(value)


def one_of(value: Any, name: str, known: tuple[str, ...]) -> str:
    """Return a value, or raise InputError if it is not one of the known names."""
    if value not in known:
        msg = f"{name} must be one of {', '.join(map(repr, known))}; got {value!r}"
        raise InputError(msg)
    return str(value)


def flag(value: Any, name: str) -> bool:
    """Return a boolean, or raise InputError if the value is anything else, such as 0 or "no"."""
    if not isinstance(value, bool | np.bool_):
        msg = f"{name} must be True or False; got {value!r}"
        raise InputError(msg)
    return bool(value)


def finite(values: FloatArray) -> FloatArray:
    """Replace infinite values by NaN."""
    return np.where(np.isfinite(values), values, np.nan)
