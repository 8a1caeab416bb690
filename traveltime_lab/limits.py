"""Numbers that a question may not pass, each in one place. Source: contract 3.9 unless said otherwise."""

from __future__ import annotations

from typing import Final

#: Longest travel time in seconds, and range of distances in metres.
MAX_TRAVEL_TIME_S: Final = 14_400
MIN_DISTANCE_M: Final = 75
MAX_DISTANCE_M: Final = 800_000
#: Longest route in seconds.
MAX_ROUTE_TIME_S: Final = 43_200
#: Longest window of departures or arrivals in seconds.
MAX_WINDOW_S: Final = 43_200
#: Most itineraries of a window in one answer. Source: contract 4.3.
MAX_RESULTS: Final = 5
#: Metres that a shape may extend from a road; the contract states no upper limit.
MIN_BUFFER_M: Final = 250
MAX_BUFFER_M: Final = 100_000
#: Most polygons that a shape can be asked to keep; assumed, no shape has as many.
MAX_POLYGONS: Final = 1_000_000
#: As long as any trip may take, where only its length is limited: a week, in seconds.
FOREVER_S: Final = 604_800
