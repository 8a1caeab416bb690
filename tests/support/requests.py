"""A right request for each endpoint of the service."""

from __future__ import annotations

from typing import Any

from tests.support.door import (
    FORUM,
    MONDAY,
    STATION,
    coords,
    locations,
    matrix_search,
    time_map_search,
)

FAST = {"departure_time": ..., "arrival_time_period": "weekday_morning"}


def fast_search(**more: Any) -> dict[str, Any]:
    return time_map_search(**{**FAST, **more})


def cell_search(**more: Any) -> dict[str, Any]:
    return time_map_search(**more)


#: A right request for each endpoint that takes a body.
RIGHT: dict[str, dict[str, Any]] = {
    "/v4/time-map": {"departure_searches": [time_map_search()]},
    "/v4/time-map/fast": {"arrival_searches": {"one_to_many": [fast_search()]}},
    "/v4/distance-map": {"departure_searches": [time_map_search(travel_time=..., travel_distance=300)]},
    "/v4/time-filter": {"locations": locations(STATION, FORUM), "departure_searches": [matrix_search()]},
    "/v4/time-filter/fast": {
        "locations": locations(STATION, FORUM),
        "arrival_searches": {"one_to_many": [matrix_search(**FAST)]},
    },
    "/v4/routes": {"locations": locations(STATION, FORUM), "departure_searches": [matrix_search(travel_time=...)]},
    "/v4/time-filter/postcodes": {"departure_searches": [time_map_search(properties=["travel_time"])]},
    "/v4/time-filter/postcode-districts": {
        "departure_searches": [time_map_search(properties=["coverage"], reachable_postcodes_threshold=0.5)]
    },
    "/v4/time-filter/postcode-sectors": {
        "departure_searches": [time_map_search(properties=["coverage"], reachable_postcodes_threshold=0)]
    },
    "/v4/h3": {"resolution": 8, "properties": ["mean"], "departure_searches": [cell_search()]},
    "/v4/h3/fast": {"resolution": 8, "properties": [], "arrival_searches": {"many_to_one": [fast_search()]}},
    "/v4/geohash": {"resolution": 6, "properties": ["min", "max"], "departure_searches": [cell_search()]},
    "/v4/geohash/fast": {"resolution": 6, "properties": ["mean"], "arrival_searches": {"many_to_one": [fast_search()]}},
    "/v4/supported-locations": {"locations": locations(STATION)},
}
#: And a right query for each that takes one.
QUERIES: dict[str, dict[str, Any]] = {
    "/v4/time-map": {"type": "walking", "travel_time": 300, **coords(STATION), "departure_time": MONDAY},
    "/v4/time-filter": {
        "type": "walking", "search_lat": STATION[0], "search_lng": STATION[1], "arrival_time": MONDAY,
        "locations": f"{FORUM[0]}_{FORUM[1]},60.17_24.94",
    },
    "/v4/routes": {
        "type": "walking", "origin_lat": STATION[0], "origin_lng": STATION[1], "destination_lat": FORUM[0],
        "destination_lng": FORUM[1], "departure_time": MONDAY,
    },
    "/v4/geocoding/search": {"query": "Forum"},
    "/v4/geocoding/autocomplete": {"query": "Forum"},
    "/v4/geocoding/reverse": coords(STATION),
    "/v4/map-info": {},
}  # fmt: skip
