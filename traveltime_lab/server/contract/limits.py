"""Every number that the contract limits, in one place. Source: contract 3.9 unless said otherwise."""

from __future__ import annotations

from typing import Final

#: Searches, unions or intersections in each array of a request.
MAX_SEARCHES: Final = 10
#: Seconds. The regular endpoints' minimum is that of 2021; the fast ones and the GET forms state none.
MIN_TRAVEL_TIME_S: Final = 60
MAX_TRAVEL_TIME_S: Final = 14_400
MAX_FAST_TRAVEL_TIME_S: Final = 10_800
#: Seconds; contract 13, row 25: the limit of the fast JSON endpoints, a superset of the documented 7200.
MAX_PROTO_TRAVEL_TIME_S: Final = 10_800
MIN_DISTANCE_M: Final = 75
MAX_DISTANCE_M: Final = 800_000
#: Location ids in a search. Routes: contract 13, row 18.
MAX_TARGETS: Final = 2_000
MAX_FAST_TARGETS: Final = 100_000
MAX_ROUTE_TARGETS: Final = 2_000
MAX_PROTO_TARGETS: Final = 200_000
MAX_RANGE_WIDTH_S: Final = 43_200
MAX_RANGE_RESULTS: Final = 5
MIN_BUFFER_M: Final = 250
MIN_SQUARE_M: Final = 600
#: Larger bands and squares mean these, the largest of the library; the contract states no limit.
MAX_BUFFER_M: Final = 100_000
MAX_SQUARE_M: Final = 1_000_000
#: Contract 7.13: the widest bounds of any source.
H3_RESOLUTIONS: Final = (1, 12)
GEOHASH_RESOLUTIONS: Final = (1, 9)
#: Seconds; contract 8.3.
MAX_STATION_TIME_S: Final = 1_800
MAX_GEOCODING_RESULTS: Final = 50
#: Where the contract states no upper limit, larger numbers mean these: no place is farther, no journey is longer, no
#: shape has more polygons, no trip has more changes.
FARTHEST_M: Final = 20_000_000
LONGEST_S: Final = 86_400
MOST_POLYGONS: Final = 1_000_000
MOST_CHANGES: Final = 1_000
#: Points in a GET time-filter; assumed, contract 14.4.
MAX_LISTED_POINTS: Final = 2_000
