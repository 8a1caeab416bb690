"""Answers about the maps themselves: what they can do, which places they cover, what the places are called."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import msgspec
import numpy as np

from traveltime_lab.errors import InputError, ServiceError
from traveltime_lab.network.network import Network
from traveltime_lab.search.geocoding.nominatim import Nominatim
from traveltime_lab.server import engine
from traveltime_lab.server.atlas import Atlas, Map
from traveltime_lab.server.context import Answer, Call
from traveltime_lab.server.contract import queries
from traveltime_lab.server.contract.errors import Failure, plain_failure, schema_failure
from traveltime_lab.server.contract.moments import write_moment
from traveltime_lab.server.postcodes import Zones

#: Types of the fast endpoints. Source: contract 5.2.
FAST_TYPES: Final = (
    "public_transport", "driving", "cycling", "walking", "walking+ferry", "cycling+ferry", "driving+ferry",
    "driving+public_transport",
)  # fmt: skip


def features(item: Map, zones: Zones | None) -> dict[str, Any]:
    """Return what a map can answer, as in contract 6.6."""
    available = set(engine.available_types(item.network))
    supported = [
        {"search_type": f"arrival.{direction}", "transportation_mode": mode}
        for direction in ("one_to_many", "many_to_one")
        for mode in FAST_TYPES
        if mode in available
    ]
    found: dict[str, Any] = {
        "cross_country_modes": [],
        "time_filter_fast": {"periods": [{"time_period": "weekday_morning", "supported": supported}]},
        "fares": engine.has_fares(item.network),
        "postcodes": zones is not None and bool(item.covers(zones.lng, zones.lat).any()),
    }
    dates = engine.timetable_dates(item.network)
    if dates is not None:
        first, last = dates
        found["public_transport"] = {"date_start": write_moment(first), "date_end": write_moment(last)}
    return found


def map_info(atlas: Atlas, zones: Zones | None) -> dict[str, Any]:
    """Return all maps with their features."""
    maps = sorted(atlas.maps, key=lambda item: item.name)
    return {"maps": [{"name": item.name, "features": features(item, zones)} for item in maps]}


def supported_locations(atlas: Atlas, request: Any) -> dict[str, Any]:
    """Return which maps cover which locations, the smallest first."""
    lng = np.array([location.coords.lng for location in request.locations])
    lat = np.array([location.coords.lat for location in request.locations])
    covered = [(item.name, item.covers(lng, lat).tolist()) for item in atlas.maps]
    found, missing = [], []
    for i, location in enumerate(request.locations):
        names = [name for name, is_covered in covered if is_covered[i]]
        if names:
            found.append({"id": location.id, "map_name": names[0], "additional_map_names": names[1:]})
        else:
            missing.append(location.id)
    return {"locations": found, "unsupported_locations": missing}


def language_of(header: str | None) -> str:
    """Return the first language of an Accept-Language header, English by default."""
    first = (header or "").split(",")[0].partition(";")[0].strip()
    return first if first and first != "*" and len(first) < 36 and first.isascii() else "en"


def search(call: Call, query: queries.SearchQuery) -> Answer:
    """Answer a search for places by name."""
    language = language_of(call.headers.get("accept-language"))
    focus = None if query.focus_lat is None else {"lat": query.focus_lat, "lng": query.focus_lng}
    with call.lap("engine"):
        try:
            found = engine.geocode(
                _networks(call.atlas),
                _geocoder(call, language),
                query.query,
                limit=query.limit,
                within_country=query.within_country,
                bounds=None if query.bounds is None else queries.read_bounds(query.bounds),
                focus=focus,
                format_name=bool(query.format_name),
                exclude_country=bool(query.format_exclude_country),
            )
        except InputError as error:
            raise _told(error, query.within_country) from error
        except ServiceError as error:
            raise plain_failure(500, "The geocoder behind this service does not answer") from error
    if "country" in (query.exclude_location_types or "").lower().split(","):
        found = [place for place in found if place.get("type") != "country"]
    return _features(call, found, language)


def reverse(call: Call, query: queries.ReverseQuery) -> Answer:
    """Answer a search for the address of a place."""
    language = language_of(call.headers.get("accept-language"))
    with call.lap("engine"):
        try:
            found = engine.reverse_geocode(
                _networks(call.atlas),
                _geocoder(call, language),
                query.lng,
                query.lat,
                within_country=query.within_country,
            )
        except engine.NotCoveredError as error:
            raise plain_failure(400, "There is no address near this place") from error
        except InputError as error:
            raise _told(error, query.within_country) from error
        except ServiceError as error:
            raise plain_failure(500, "The geocoder behind this service does not answer") from error
    return _features(call, [found], language)


def _told(error: InputError, within_country: str | None) -> Failure:
    """Return the failure of a query that the geocoder cannot use."""
    name = "within.country" if within_country is not None and "within_country" in str(error) else "query"
    return schema_failure({f"obj.{name}": [str(error)]})


def _geocoder(call: Call, language: str) -> Nominatim | None:
    return None if call.nominatim is None else replace(call.nominatim, language=language)


def _networks(atlas: Atlas) -> list[Network]:
    return [item.network for item in atlas.maps]


def _features(call: Call, found: list[dict[str, Any]], language: str) -> Answer:
    listed = []
    for place in found:
        properties = {key: value for key, value in place.items() if key not in ("lng", "lat") and value is not None}
        covering = call.atlas.covering(place["lng"], place["lat"])
        if covering:
            properties["features"] = features(covering[0], call.zones)
        geometry = {"type": "Point", "coordinates": [place["lng"], place["lat"]]}
        listed.append({"type": "Feature", "geometry": geometry, "properties": properties})
    body = msgspec.json.encode({"type": "FeatureCollection", "features": listed})
    # Networks know one name of each place, in no particular language.
    return Answer(body, headers={} if call.nominatim is None else {"Content-Language": language})
