"""
The rule by which times are rounded and compared with limits.

Searches count whole milliseconds; answers report whole seconds, rounded half up. A time is within a limit if the
seconds that would be reported are at most the limit: a trip of 300.4 s takes 300 s and is within a limit of 300 s, one
of 300.5 s takes 301 s and is not. A result can therefore be compared with a smaller limit without a new search, as
clients with a cache do. Every comparison of a time with a limit, or with the longest walk or drive of an option, and
every rounding uses the functions of this module.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

from traveltime_lab._arrays import Int32Array, Int64Array

M = TypeVar("M", int, np.int64, Int32Array, Int64Array)


def whole_seconds(ms: M) -> M:
    """Return milliseconds as whole seconds, rounded half up; the dtype of arrays is kept."""
    return (ms + 500) // 1000


def half_up(values: Any) -> Any:
    """Return floats, such as seconds or metres, rounded half up to whole ones; they stay floats."""
    return np.floor(np.asarray(values) + 0.5)


def most_ms(limit: float) -> int:
    """Return the largest number of milliseconds within a limit in seconds."""
    return math.ceil(1000 * limit + 500) - 1


def most_s(limit: float) -> float:
    """Return the largest float32 number of seconds within a limit: the level of contours of fields of times."""
    return float(np.nextafter(np.float32(limit + 0.5), np.float32(0.0)))
