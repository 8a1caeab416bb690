"""Limits of the parameters of searches. Source: docs/contract.md, 3.9, unless stated otherwise."""

from __future__ import annotations

from typing import Final

#: Maximum travel time in seconds, and range of distances in metres.
MAX_TRAVEL_TIME_S: Final = 14_400
MIN_DISTANCE_M: Final = 75
MAX_DISTANCE_M: Final = 800_000
#: Maximum travel time of a route in seconds.
MAX_ROUTE_TIME_S: Final = 43_200
#: Maximum length of a departure or arrival window in seconds.
MAX_WINDOW_S: Final = 43_200
#: Maximum number of moments of a call (assumed): those of a day of 25 hours, one each minute.
MAX_MOMENTS: Final = 1_500
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
#: Maximum number of draws of random headways (assumed: each is a timetable of its own), and largest seed.
MAX_DRAWS: Final = 1_000
MAX_SEED: Final = 2**32 - 1
#: Highest level of traffic stress: Mekuria, Furth, Nixon 2012.
MAX_STRESS: Final = 4
#: Caps of step-free walks, per cent and metres (assumed: steeper than any street, from a child's buggy to a car).
INCLINES: Final = (1.0, 100.0)
WIDTHS_M: Final = (0.3, 5.0)
#: Slowest and fastest walking speed in km/h (assumed: slower than with a walking frame, faster than most runners).
WALKING_SPEEDS_KPH: Final = (0.5, 20.0)
#: Slowest and fastest cycling speed in km/h: that of pushing a bicycle (bicycle.lua of OSRM), and (assumed) faster than
#: a speed pedelec.
CYCLING_SPEEDS_KPH: Final = (4.0, 60.0)
#: Maximum of the snapping threshold in metres: half the way round the earth.
MAX_THRESHOLD_M: Final = 20_000_000
#: Maximum travel time in seconds where only the distance is limited: a week.
FOREVER_S: Final = 604_800
