"""
Example requests of all JSON endpoints, around a place that the service has, for its description.
"""

from __future__ import annotations

from typing import Any, Final

#: Longitude and latitude of examples without a service: the centre of the sample Porto Alegre.
SOMEWHERE: Final = (-51.2224, -30.0304)
#: Degrees from one place of an example to the other: some hundred metres.
_BESIDE: Final = 0.004
_MOMENT: Final = "2026-03-02T08:00:00Z"
_ON_FOOT: Final = {"type": "walking"}


def _coords(place: tuple[float, float]) -> dict[str, float]:
    return {"lat": place[1], "lng": place[0]}


def _places(place: tuple[float, float]) -> tuple[tuple[float, float], tuple[float, float]]:
    lng, lat = round(place[0], 4), round(place[1], 4)
    return (lng, lat), (round(lng + _BESIDE, 4), lat)


def bodies(place: tuple[float, float]) -> dict[str, dict[str, Any]]:
    """Return a body for each path that takes one, around a place (longitude, latitude)."""
    here, there = _places(place)
    area = {
        "id": "area", "coords": _coords(here), "departure_time": _MOMENT, "travel_time": 900, "transportation": _ON_FOOT
    }  # fmt: skip
    usual = {
        "id": "area", "coords": _coords(here), "arrival_time_period": "weekday_morning", "travel_time": 900,
        "transportation": {"type": "driving"},
    }  # fmt: skip
    table = {
        "id": "times", "departure_location_id": "here", "arrival_location_ids": ["there"], "departure_time": _MOMENT,
        "travel_time": 1800, "transportation": _ON_FOOT, "properties": ["travel_time", "distance"],
    }  # fmt: skip
    usual_table = {
        "id": "times", "departure_location_id": "here", "arrival_location_ids": ["there"], "travel_time": 1800,
        "arrival_time_period": "weekday_morning", "transportation": {"type": "driving"}, "properties": ["travel_time"],
    }  # fmt: skip
    locations = [{"id": "here", "coords": _coords(here)}, {"id": "there", "coords": _coords(there)}]
    zones = {**area, "properties": ["coverage"], "reachable_postcodes_threshold": 0.1}
    return {
        "/v4/time-map": {"departure_searches": [area]},
        "/v4/time-map/fast": {"arrival_searches": {"one_to_many": [usual]}},
        "/v4/distance-map": {
            "departure_searches": [{**_without(area, "travel_time"), "travel_distance": 1000}],
        },
        "/v4/time-filter": {"locations": locations, "departure_searches": [table]},
        "/v4/time-filter/fast": {"locations": locations, "arrival_searches": {"one_to_many": [usual_table]}},
        "/v4/time-filter/postcodes": {"departure_searches": [{**area, "properties": ["travel_time"]}]},
        "/v4/time-filter/postcode-districts": {"departure_searches": [zones]},
        "/v4/time-filter/postcode-sectors": {"departure_searches": [zones]},
        "/v4/routes": {"locations": locations, "departure_searches": [_without(table, "travel_time")]},
        "/v4/h3": {"resolution": 9, "properties": ["mean"], "departure_searches": [area]},
        "/v4/h3/fast": {"resolution": 8, "properties": ["mean"], "arrival_searches": {"one_to_many": [usual]}},
        "/v4/geohash": {"resolution": 7, "properties": ["mean"], "departure_searches": [area]},
        "/v4/geohash/fast": {"resolution": 6, "properties": ["mean"], "arrival_searches": {"one_to_many": [usual]}},
        "/v4/supported-locations": {"locations": locations},
    }


def queries(place: tuple[float, float]) -> dict[str, dict[str, Any]]:
    """Return a query for each path that takes one, around a place (longitude, latitude)."""
    here, there = _places(place)
    how = {"type": "walking", "departure_time": _MOMENT}
    return {
        "/v4/time-map": {**how, "travel_time": 900, **_coords(here)},
        "/v4/time-filter": {
            **how, "search_lat": here[1], "search_lng": here[0], "locations": f"{there[1]}_{there[0]}"
        },
        "/v4/routes": {
            **how, "origin_lat": here[1], "origin_lng": here[0], "destination_lat": there[1],
            "destination_lng": there[0],
        },
        "/v4/geocoding/search": {"query": "station"},
        "/v4/geocoding/autocomplete": {"query": "stat"},
        "/v4/geocoding/reverse": _coords(here),
    }  # fmt: skip


def _without(search: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in search.items() if key != name}
