"""Answers about the maps themselves: their features, and the places that they cover."""

from __future__ import annotations

from typing import Any

import numpy as np

from traveltime_lab.modes.table import FAST_TYPES
from traveltime_lab.server.atlas import Atlas, Map
from traveltime_lab.server.contract.moments import write_moment
from traveltime_lab.server.contract.requests import SupportedLocationsRequest
from traveltime_lab.server.postcodes import Zones


def features(item: Map, zones: Zones | None) -> dict[str, Any]:
    """Return the features of a map, as in docs/contract.md, 6.6."""
    available = set(item.types)
    supported = [
        {"search_type": f"arrival.{direction}", "transportation_mode": mode}
        for direction in ("one_to_many", "many_to_one")
        for mode in FAST_TYPES
        if mode in available
    ]
    found: dict[str, Any] = {
        "cross_country_modes": [],
        "time_filter_fast": {"periods": [{"time_period": "weekday_morning", "supported": supported}]},
        "fares": item.has_fares,
        "postcodes": zones is not None and bool(item.covers(zones.lng, zones.lat).any()),
    }
    dates = item.timetable_dates
    if dates is not None:
        first, last = dates
        found["public_transport"] = {"date_start": write_moment(first), "date_end": write_moment(last)}
    return found


def map_info(atlas: Atlas, zones: Zones | None) -> dict[str, Any]:
    """Return all maps with their features."""
    maps = sorted(atlas.maps, key=lambda item: item.name)
    return {"maps": [{"name": item.name, "features": features(item, zones)} for item in maps]}


def supported_locations(atlas: Atlas, request: SupportedLocationsRequest) -> dict[str, Any]:
    """Return which maps cover which locations, in the order in which they are searched."""
    lng = np.array([location.coords.lng for location in request.locations])
    lat = np.array([location.coords.lat for location in request.locations])
    # A map with a place in the box of its streets comes before those with the place beside it; see `Atlas.covering`.
    within = [(item.name, item.covers(lng, lat, 0.0).tolist()) for item in atlas.maps]
    beside = [(item.name, item.covers(lng, lat).tolist()) for item in atlas.maps]
    found, missing = [], []
    for i, location in enumerate(request.locations):
        names = list(dict.fromkeys(name for name, is_covered in (*within, *beside) if is_covered[i]))
        if names:
            found.append({"id": location.id, "map_name": names[0], "additional_map_names": names[1:]})
        else:
            missing.append(location.id)
    return {"locations": found, "unsupported_locations": missing}
