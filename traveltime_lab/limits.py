"""
Limits of the parameters of searches, and the rule by which times are rounded and compared with them.

Source of the limits: docs/contract.md, 3.9, unless stated otherwise.

Searches count whole milliseconds; answers report whole seconds, rounded half up. A time is within a limit if the
seconds that would be reported are at most the limit: a trip of 300.4 s takes 300 s and is within a limit of 300 s, one
of 300.5 s takes 301 s and is not. A result can therefore be compared with a smaller limit without a new search, as
clients with a cache do. Every comparison of a time with a limit, or with the longest walk or drive of an option, and
every rounding uses the functions below.
"""

from __future__ import annotations

import math
from typing import Any, Final, TypeVar

import numpy as np

from traveltime_lab._arrays import Int32Array, Int64Array

M = TypeVar("M", int, np.int64, Int32Array, Int64Array)

#: Maximum travel time in seconds, and range of distances in metres.
MAX_TRAVEL_TIME_S: Final = 14_400
MIN_DISTANCE_M: Final = 75
MAX_DISTANCE_M: Final = 800_000
#: Maximum travel time of a route in seconds.
MAX_ROUTE_TIME_S: Final = 43_200
#: Maximum length of a departure or arrival window in seconds.
MAX_WINDOW_S: Final = 43_200
#: Maximum number of itineraries per pair and window. Source: docs/contract.md, 4.3.
MAX_RESULTS: Final = 5
#: Range of buffer distances in metres; the contract has no upper limit.
MIN_BUFFER_M: Final = 250
MAX_BUFFER_M: Final = 100_000
#: Maximum of polygons_filter (assumed: no isochrone has as many polygons).
MAX_POLYGONS: Final = 1_000_000
#: Maximum of the options of a means of transportation in seconds: a day, twice the longest trip (assumed).
MAX_OPTION_S: Final = 86_400
#: Maximum number of transfers (assumed: no trip of twelve hours has as many).
MAX_CHANGES: Final = 1_000
#: Slowest and fastest walking speed in km/h (assumed: slower than with a walking frame, faster than most runners).
WALKING_SPEEDS_KPH: Final = (0.5, 20.0)
#: Slowest and fastest cycling speed in km/h: that of pushing a bicycle (bicycle.lua of OSRM), and (assumed) faster than
#: a speed pedelec.
CYCLING_SPEEDS_KPH: Final = (4.0, 60.0)
#: Maximum of the snapping threshold in metres: half the way round the earth.
MAX_THRESHOLD_M: Final = 20_000_000
#: Maximum travel time in seconds where only the distance is limited: a week.
FOREVER_S: Final = 604_800


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
