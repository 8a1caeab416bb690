"""
Writes what the integration tests of the Solr plugin ask and what the library answers, as JSON.

    python oracle.py CASES.json

Documents are random places of the sample city. Some share a place, some have none. Coordinates are rounded as Lucene
stores them and, for the Protocol Buffers matrix, as the message carries them; with that, times must be equal.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import shapely

import traveltime_lab as tl

SEED = 16
N_DOCUMENTS = 2000
N_CASES = 60
MOMENT = "2026-03-02T11:30:00Z"
MODES = ("driving", "walking", "cycling", "driving+ferry", "walking+ferry", "cycling+ferry")
LIMITS = (300, 600, 900, 1800, 3600)
DIGITS = "0123456789bcdefghjkmnpqrstuvwxyz"
JSON_OPTIONS: tuple[dict[str, Any], ...] = (
    {"type": "driving"},
    {"type": "walking"},
    {"type": "cycling"},
    {"type": "driving", "traffic_model": "optimistic"},
    {"type": "driving+ferry", "boarding_time": 60},
)


def stored(lat: Any, lng: Any) -> tuple[Any, Any]:
    """Return coordinates as Lucene stores them, rounded down to steps of 1/2^32 of the range."""
    return np.floor(lat / (180 / 2**32)) * (180 / 2**32), np.floor(lng / (360 / 2**32)) * (360 / 2**32)


def on_the_wire(origin: float, values: Any) -> tuple[float, Any]:
    """Return a coordinate of the origin and those of targets as a message of the matrix carries them."""
    return float(np.float32(origin)), float(np.float32(origin)) + np.floor((values - origin) * 1e5 + 0.5) / 1e5


def geohash(lat: float, lng: float, n_digits: int) -> tuple[str, float, float]:
    """Return the geohash of a place and the centre of its cell."""
    low, high, value = [-180.0, -90.0], [180.0, 90.0], (lng, lat)
    text = ""
    for digit in range(n_digits):
        number = 0
        for bit in range(5):
            axis = (5 * digit + bit) % 2
            middle = (low[axis] + high[axis]) / 2
            number = 2 * number + (value[axis] >= middle)
            (low if value[axis] >= middle else high)[axis] = middle
        text += DIGITS[number]
    return text, (low[1] + high[1]) / 2, (low[0] + high[0]) / 2


def answers(
    network: Any, origin: tuple[float, float], lats: Any, lngs: Any, *, reverse: bool, **options: Any
) -> dict[int, tuple[int, int]]:
    """Return seconds and metres of the targets that the library reaches, by position."""
    points = list(shapely.points(lngs, lats))
    place = [shapely.Point(origin[1], origin[0])]
    origins, destinations = (points, place) if reverse else (place, points)
    found = tl.time_filter(
        network, origins, destinations, form="sparse", properties=("travel_time", "distance"), **options
    )
    side = found["origin" if reverse else "destination"].to_numpy()
    return {
        int(number): (int(seconds), math.floor(metres + 0.5))
        for number, seconds, metres in zip(side, found["travel_time"], found["distance"], strict=True)
    }


def scatter(random: np.random.Generator, zones: Any) -> tuple[list[dict[str, Any]], Any, Any, Any]:
    """Return documents around the zones of the city, about 300 m away, their coordinates, and which have a place."""
    near = zones.iloc[random.integers(len(zones), size=N_DOCUMENTS)]
    lats = near.y.to_numpy() + random.normal(0, 0.003, N_DOCUMENTS)
    lngs = near.x.to_numpy() + random.normal(0, 0.003, N_DOCUMENTS)
    lats[-200:], lngs[-200:] = lats[:200], lngs[:200]
    lats, lngs = stored(lats, lngs)
    has_place = random.random(N_DOCUMENTS) > 0.05
    documents = [
        {"id": str(i), "kind": "even" if i % 2 == 0 else "odd"}
        | ({"location": f"{float(lats[i])!r},{float(lngs[i])!r}"} if has_place[i] else {})
        for i in range(N_DOCUMENTS)
    ]
    return documents, lats, lngs, has_place


def main() -> None:
    """Write the cases."""
    random = np.random.default_rng(SEED)
    network = tl.sample_network()
    zones = tl.sample_points(kind="zones").geometry
    documents, lats, lngs, has_place = scatter(random, zones)
    ids = np.flatnonzero(has_place)
    cases = []
    while len(cases) < N_CASES:
        number = len(cases)
        zone = zones.iloc[int(random.integers(len(zones)))]
        lat, lng = round(zone.y, 6), round(zone.x, 6)
        limit = int(LIMITS[random.integers(len(LIMITS))])
        reverse = bool(random.random() < 0.5)
        make = fast if number % 5 < 3 else by_json
        case, found = make(network, number, (lat, lng), limit, reverse, lats[ids], lngs[ids])
        if not found:
            continue  # The service refuses places without a street nearby, for which the library has empty answers.
        case["expected"] = {str(ids[i]): value for i, value in found.items()}
        cases.append(case)
    Path(sys.argv[1]).write_text(json.dumps({"documents": documents, "cases": cases}), encoding="utf-8")


def fast(
    network: Any, number: int, place: tuple[float, float], limit: int, reverse: bool, lats: Any, lngs: Any
) -> tuple[dict[str, Any], dict[int, tuple[int, int]]]:
    """Return the parameters of a query over Protocol Buffers, and its answer."""
    mode = MODES[number % len(MODES)]
    origin = f"{place[0]},{place[1]}"
    if number % 3 == 0:
        origin, *centre = geohash(*place, 9)
        place = centre[0], centre[1]
    parser = ("traveltime", "fuzzy", "uncached")[number % 4 % 3]
    parameters = {"origin": origin, "field": "location", "limit": str(limit), "mode": mode}
    if parser != "uncached":
        parameters["country"] = ("uk", "FI", "porto_alegre")[number % 3]
    if reverse:
        parameters["requestType"] = "MANY_TO_ONE"
    lat, wire_lats = on_the_wire(place[0], lats)
    lng, wire_lngs = on_the_wire(place[1], lngs)
    transportation: dict[str, Any] = {"type": mode}
    if mode.startswith("driving"):
        transportation["traffic_model"] = "peak"
    moment = {"arrival_time" if reverse else "departure_time": "weekday_morning"}
    found = answers(
        network, (lat, lng), wire_lats, wire_lngs, reverse=reverse, travel_time=limit,
        transportation=transportation, **moment,
    )  # fmt: skip
    return {"parser": parser, "parameters": parameters, "local": number % 7 == 0}, found


def by_json(
    network: Any, number: int, place: tuple[float, float], limit: int, reverse: bool, lats: Any, lngs: Any
) -> tuple[dict[str, Any], dict[int, tuple[int, int]]]:
    """Return the parameters of a query over JSON, and its answer."""
    transportation = JSON_OPTIONS[number % len(JSON_OPTIONS)]
    side = "arrival" if reverse else "departure"
    parameters = {
        "field": "location", "travel_time": str(limit), "transportation": json.dumps(transportation),
        f"{side}_time": MOMENT, f"{side}_location": json.dumps({"lat": place[0], "lng": place[1]}),
    }  # fmt: skip
    if number % 4 == 0:
        parameters["range"] = json.dumps({"enabled": True, "max_results": 2, "width": 600})
    found = answers(
        network, place, lats, lngs, reverse=reverse, travel_time=limit, transportation=transportation,
        **{f"{side}_time": MOMENT},
    )  # fmt: skip
    return {"parser": ("json", "json_fuzzy")[number % 2], "parameters": parameters, "local": number % 7 == 0}, found


if __name__ == "__main__":
    main()
