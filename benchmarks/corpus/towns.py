"""
Cases about two made-up towns in which every option makes a difference: ferries, tolls, tracks, fares, all vehicles.

The samples have no fares, no ferry and no lake; these towns of the tests do.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from typing import Any

import traveltime_lab as tl
from benchmarks.corpus.cases import Case
from benchmarks.corpus.contract import Right, Schemas, first_search, http
from benchmarks.corpus.library import TYPES, call, code, values_of_option
from benchmarks.corpus.messages import message, proto
from benchmarks.corpus.tables import SNAPPINGS
from tests.support.everything import POINTS, at
from traveltime_lab.modes import table
from traveltime_lab.search.routes import ROUTE_PROPERTIES
from traveltime_lab.server.formats import SHAPE_FORMATS
from traveltime_lab.server.protobuf import service_pb2

_MOMENTS = ({"departure_time": "'2019-05-07T08:00:00'"}, {"arrival_time": "'2019-05-07T08:40:50'"})
#: Searches there: places, and keywords that they need.
_SEARCHES: dict[str, tuple[str, dict[str, str]]] = {
    "time_filter": ("TOWNS, FAR, TOWN", {"travel_time": "1400"}),
    "nearest": ("TOWNS, FAR, TOWN", {"travel_time": "1400", "k": "4"}),
    "routes": ("TOWNS, FAR, TOWN", {}),
    "time_map": ("TOWNS, FAR", {"travel_time": "900", "level_of_detail": "'low'"}),
    "h3_cells": ("TOWNS, FAR", {"travel_time": "900", "resolution": "7"}),
    "accessibility": ("TOWNS, FAR, TOWN", {"travel_time": "1400", "values": "'people'"}),
    "explain": ("TOWNS, FAR, TOWN.loc[['farm']]", {"travel_time": "600"}),
    "snap": ("TOWNS, TOWN", {}),
}
#: Options of shapes, in each format.
_DRAWN = ({}, {"no_holes": True}, {"remove_water_bodies": False}, {"polygons_filter": {"limit": 1}})


def cases() -> Iterator[Case]:
    """Yield all of them."""
    yield from _calls()
    yield from _requests()
    yield from _messages()


def _calls() -> Iterator[Case]:
    """Yield each type, option, snapping and property of routes, with fares."""
    options = [field for field in dataclasses.fields(tl.Transportation) if field.name != "type"]
    for kind in TYPES:
        for name, (places, needed) in _SEARCHES.items():
            for moment in _MOMENTS if name != "snap" else ({},):
                yield call(name, places, **needed, transportation=repr(kind), **moment)
                for field in options:
                    if table.applies(field.name, table.ALIASES.get(kind, kind)) and name in ("time_filter", "routes"):
                        for value in values_of_option(field)[:2]:
                            means = f"{{'type': {kind!r}, '{field.name}': {value}}}"
                            yield call(name, places, **needed, transportation=means, **moment)
        for properties in (*((each,) for each in ROUTE_PROPERTIES), ROUTE_PROPERTIES):
            given = {"transportation": repr(kind), "properties": repr(properties)}
            yield call("routes", "TOWNS, FAR, TOWN", **given, **_MOMENTS[0])
            if kind in table.TIMETABLE_TYPES:
                yield call("routes", "TOWNS, FAR, TOWN", **given, **_MOMENTS[0], window="600", max_results="3")
        shown = "[None if r is None else [r, r.parts(), r.fares, r.distance_breakdown, r.legs_frame()] for r in x]"
        asked = f"tl.routes(TOWNS, FAR, TOWN, transportation={kind!r}, departure_time='2019-05-07T08:00:00')"
        yield code(f"towns/parts {kind}", f"x = {asked}['route']\n{shown}")
    for snapping in SNAPPINGS:
        for kind in ("walking", "driving", "public_transport"):
            for name, (places, needed) in _SEARCHES.items():
                moment = {} if name == "snap" else _MOMENTS[0]
                yield call(name, places, **needed, transportation=repr(kind), snapping=snapping, **moment)


class _Towns(Right):
    """Right requests about the towns."""

    def __init__(self, schemas: Schemas) -> None:
        super().__init__(schemas, "centre")

    def moved(self, value: Any) -> Any:
        """Return a request with the places and moments of the towns."""
        if isinstance(value, dict):
            if value.keys() == {"lat", "lng"}:
                return at(POINTS["far"])
            return {key: self.moved(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.moved(item) for item in value]
        return "2019-05-07T08:00:00Z" if value == "2026-03-02T08:00:00Z" else value


def _requests() -> Iterator[Case]:
    """Yield each type at each JSON endpoint, with all properties and fares, and shapes in each format."""
    schemas = Schemas()
    right = _Towns(schemas)
    for path, schema, formats in schemas.posts():
        for array in filter(None, right.arrays(schema)):
            base = right.moved(right.body(schema, array))
            search = first_search(base, array)
            if "locations" in base:
                base["locations"] = [{"id": name, "coords": at(place)} for name, place in POINTS.items()]
                for key in [key for key in search if key.endswith("location_id")]:
                    search[key] = "far"
                for key in [key for key in search if key.endswith("location_ids")]:
                    search[key] = list(POINTS)
            if "travel_time" in search:
                search["travel_time"] = 900
            outer, _, inner = array.partition(".")
            target = schemas.of(schema["properties"][outer])
            fields = schemas.of(schemas.of(target["properties"][inner] if inner else target)["items"])["properties"]
            known = schemas.of(fields["properties"])["items"].get("enum", []) if "properties" in fields else []
            for kind in schemas.of(fields["transportation"])["discriminator"]["mapping"]:
                search["transportation"] = {"type": kind}
                yield http(f"towns {array} {kind}", "POST", path, base, service="towns")
                if "fares" in known:
                    body = copy.deepcopy(base)
                    for wanted in (["fares"], ["travel_time", "fares"], known):
                        first_search(body, array)["properties"] = wanted
                        yield http(f"towns {array} {kind} {wanted}", "POST", path, body, service="towns")
            if SHAPE_FORMATS[1] in formats and array == right.arrays(schema)[0]:
                search["transportation"] = {"type": "driving"}
                for media in formats:
                    for more in (
                        {},
                        {"no_holes": True},
                        {"remove_water_bodies": False},
                        {"polygons_filter": {"limit": 1}},
                    ):
                        body = copy.deepcopy(base)
                        first_search(body, array).update(more)
                        headers = {"X-Application-Id": "an id", "X-Api-Key": "a key", "Accept": media}
                        yield http(f"towns {media} {more}", "POST", path, body, headers=headers, service="towns")


def _messages() -> Iterator[Case]:
    """Yield each type at each endpoint of Protocol Buffers, with fares."""
    here = at(POINTS["far"])
    targets = [(at(place)["lat"], at(place)["lng"]) for place in POINTS.values()]
    for kind, properties in (("time-filter", ([], [0], [1], [0, 1])), ("h3", ([0, 1, 2],)), ("geohash", ([0, 1, 2],))):
        for value in service_pb2.TransportationType.DESCRIPTOR.values:
            for is_arrival in (False, True):
                for wanted in properties:
                    body = message(
                        kind, "centre", is_arrival=is_arrival, type=value.number, properties=wanted, targets=targets,
                        place=(here["lat"], here["lng"]), travel_time=1400, resolution=6,
                    )  # fmt: skip
                    name = f"towns {value.name} {is_arrival} {wanted}"
                    yield proto(name, f"/api/v3/uk/{kind}/fast/walking", body, service="towns")
