"""
Every number that the contract limits, in one place. Source: docs/contract.md, 3.9 unless said otherwise.

Limits that the library has as well are taken from there.
"""

from __future__ import annotations

from typing import Final

from traveltime_lab.limits import (
    MAX_BUFFER_M,
    MAX_CHANGES,
    MAX_DISTANCE_M,
    MAX_OPTION_S,
    MAX_POLYGONS,
    MAX_RESULTS,
    MAX_THRESHOLD_M,
    MAX_TRAVEL_TIME_S,
    MAX_WINDOW_S,
    MIN_BUFFER_M,
    MIN_DISTANCE_M,
)
from traveltime_lab.surfaces.grids import GEOHASH_RESOLUTIONS, H3_RESOLUTIONS
from traveltime_lab.surfaces.level_of_detail import MAX_SQUARE_SIZE_M, MIN_SQUARE_SIZE_M

__all__ = [
    "GEOHASH_RESOLUTIONS", "H3_RESOLUTIONS", "MAX_BUFFER_M", "MAX_DISTANCE_M", "MAX_POLYGONS", "MAX_RESULTS",
    "MAX_SQUARE_SIZE_M", "MAX_TRAVEL_TIME_S", "MAX_WINDOW_S", "MIN_BUFFER_M", "MIN_DISTANCE_M", "MIN_SQUARE_SIZE_M",
]  # fmt: skip

#: docs/contract.md, 4.5; not the default of the library.
DEFAULT_LEVEL_OF_DETAIL: Final = "lowest"
#: Searches, unions or intersections in each array of a request.
MAX_SEARCHES: Final = 10
#: Ids of searches in a union or an intersection: as many as a request has searches, of both directions.
MAX_COMBINED: Final = 2 * MAX_SEARCHES
#: Seconds. The regular endpoints' minimum is that of 2021; the fast ones and the GET forms state none.
MIN_TRAVEL_TIME_S: Final = 60
MAX_FAST_TRAVEL_TIME_S: Final = 10_800
#: Seconds; docs/contract.md, 13, row 25: the limit of the fast JSON endpoints, a superset of the documented 7200.
MAX_PROTO_TRAVEL_TIME_S: Final = 10_800
#: Location ids in a search. Routes: docs/contract.md, 13, row 18.
MAX_TARGETS: Final = 2_000
MAX_FAST_TARGETS: Final = 100_000
MAX_ROUTE_TARGETS: Final = 2_000
MAX_PROTO_TARGETS: Final = 200_000
#: Bytes of a Protocol Buffers message: a quarter more than the most targets take, of two numbers with a tag each.
MAX_PROTO_BODY: Final = 15 * MAX_PROTO_TARGETS
#: Seconds; docs/contract.md, 8.3.
MAX_STATION_TIME_S: Final = 1_800
MAX_GEOCODING_RESULTS: Final = 50
#: Larger numbers mean these where the contract states no upper limit: no place is farther, no journey is longer, no
#: trip has more changes.
FARTHEST_M: Final = MAX_THRESHOLD_M
LONGEST_S: Final = MAX_OPTION_S
MOST_CHANGES: Final = MAX_CHANGES
#: Points in a GET time-filter; assumed, docs/contract.md, 14.4.
MAX_LISTED_POINTS: Final = 2_000
