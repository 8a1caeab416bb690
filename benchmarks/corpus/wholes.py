"""Requests to the JSON endpoints as wholes: formats, credentials, references within them, places, and the GET forms."""

from __future__ import annotations

import copy
import itertools
import json
import urllib.parse
from collections.abc import Iterator
from typing import Any

from benchmarks.corpus.cases import Case
from benchmarks.corpus.contract import HEADERS, MOMENT, PLACES, Right, Schemas, coords, first_search, http, values
from benchmarks.corpus.world import PAIR


def cases() -> Iterator[Case]:
    """Yield all of them."""
    schemas = Schemas()
    for path, schema, formats in schemas.posts():
        yield from _of_formats(schemas, path, schema, formats)
        yield from _of_wholes(schemas, path, schema)
    for path, parameters, formats in schemas.gets():
        yield from _of_queries(schemas, path, parameters, formats)


_ACCEPTS = (
    "*/*", "application/*", "text/html", "application/json;q=0.5, application/geo+json", "application/json;q=0", "",
    "text/*, */*;q=0.1", "application/json;q=x", "APPLICATION/JSON", "application/octet-stream", "application/xml",
)  # fmt: skip


#: Options of shapes that are asked for in each format.
_DRAWN: tuple[dict[str, Any], ...] = (
    {"no_holes": True},
    {"travel_time": 600},
    {"level_of_detail": {"scale_type": "simple", "level": "medium"}},
    {"properties": ["is_only_walking", "agencies"]},
)
#: In the bay, far away, at the edge of the streets, with latitude and longitude swapped, and beyond the streets.
ODD_PLACES = {
    "bay": (60.1650, 24.9600), "gulf": (0.0, 0.0), "edge": (60.1642, 24.9352), "swapped": (24.9414, 60.1711),
    "far": (60.19, 24.97),
}  # fmt: skip


def _of_formats(schemas: Schemas, path: str, schema: dict[str, Any], formats: list[str]) -> Iterator[Case]:
    """Yield each format of an endpoint, with one search and with several, and what it cannot answer with."""
    right = Right(schemas, "centre")
    arrays = right.arrays(schema)
    base = right.body(schema, arrays[0])
    for accept in (*formats, *_ACCEPTS, "application/vnd.wkt+json", "application/kml+xml"):
        yield http(f"accept {accept}", "POST", path, base, headers={**HEADERS, "Accept": accept})
    if "unions" not in schema["properties"]:
        return
    for accept in formats:
        for options in _DRAWN:
            body = copy.deepcopy(base)
            search = first_search(body, arrays[0])
            if "travel_distance" in search and "travel_time" in options:
                options = {"travel_distance": 700}
            search |= options
            outer, _, inner = arrays[0].partition(".")
            second = {**search, "id": '<&">', "coords": coords(PLACES["centre"][1])}
            (body[outer] if inner else body)[inner or outer].append(second)
            body["unions"] = [{"id": "u", "search_ids": ["s", '<&">']}, {"id": "a u", "search_ids": []}]
            body["intersections"] = [{"id": "i", "search_ids": ["s", '<&">']}]
            yield http(f"combined {accept} {options}", "POST", path, body, headers={**HEADERS, "Accept": accept})


def _of_wholes(schemas: Schemas, path: str, schema: dict[str, Any]) -> Iterator[Case]:
    """Yield what is about a request as a whole: its JSON, its credentials, references between its parts, its place."""
    right = Right(schemas, "centre")
    arrays = right.arrays(schema)
    base = right.body(schema, arrays[0])
    text = json.dumps(base)
    texts = (
        "", " ", "{", text[:-1], text + "x", "null", "[]", "5", '"a"', "{}", text.replace("60.1711", "1e400"),
        text.replace("60.1711", "NaN"), "\ufeff" + text, text.replace('"s"', '"\\ud800"'), "[" * 3000,
        text.replace("{", '{"id": "again", ', 1), text.replace('"type"', '"kind"'),
    )  # fmt: skip
    for i, raw in enumerate(texts):
        yield http(f"text {i} {raw[:20]}", "POST", path, raw=raw)
    lost: tuple[dict[str, str], ...] = (
        {}, {"X-Application-Id": PAIR[0]}, {**HEADERS, "X-Api-Key": "wrong"},
        {"x-application-id": PAIR[0], "x-api-key": PAIR[1]}, {"Authorization": "Basic YW4gaWQ6YSBrZXk="},
    )  # fmt: skip
    for i, headers in enumerate(lost):
        yield http(f"credentials {i}", "POST", path, base, headers=headers)
    yield http("compressed", "POST", path, base, headers={**HEADERS, "Content-Encoding": "gzip"})
    other = {**HEADERS, "Origin": "http://localhost:3000"}
    yield http("other origin", "POST", path, base, headers=other, service="other_origins")
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"):
        yield http("method", method, path)
    for service in ("small_bodies", "overlapping", "no_zones", "hurried"):
        yield http(f"service {service}", "POST", path, base, service=service)
    city = Right(schemas, "city").body(schema, arrays[0])
    for service in ("overlapping", "changed"):
        yield http(f"service {service} city", "POST", path, city, service=service)
    if not arrays[0]:
        return
    for label, place in ODD_PLACES.items():
        body = copy.deepcopy(base)
        if "locations" in body:
            body["locations"][0]["coords"] = coords(place)
            yield http(f"own place {label}", "POST", path, body)
            body = copy.deepcopy(base)
            body["locations"][2]["coords"] = coords(place)
            yield http(f"target {label}", "POST", path, body)
        else:
            first_search(body, arrays[0])["coords"] = coords(place)
            yield http(f"own place {label}", "POST", path, body)
    outer, _, inner = arrays[0].partition(".")
    for cell in ("8a1126d34a37fff", "8a1fb46622dffff", "ud9wxw", "6feqz", "nothing", ""):
        for field in ("h3_centroid", "geohash_centroid") if "resolution" in base else ():
            body = copy.deepcopy(base)
            first_search(body, arrays[0])["coords"] = {field: cell}
            yield http(f"{field} {cell}", "POST", path, body)
    for count in (2, 10, 11):
        for names in ("each", "same"):
            body = copy.deepcopy(base)
            ids = [f"s{i}" if names == "each" else "s" for i in range(count)]
            searches = [{**first_search(base, arrays[0]), "id": each} for each in ids]
            (body[outer] if inner else body)[inner or outer] = searches
            yield http(f"{count} searches {names}", "POST", path, body)
            if count == 2 and names == "each":
                yield http("two hits of one", "POST", path, body, service="few_hits")
    both = copy.deepcopy(base)
    for array in arrays[1:]:
        other = right.body(schema, array)
        outer, _, inner = array.partition(".")
        first_search(other, array)["id"] = "t"
        if inner:
            both[outer][inner] = other[outer][inner]
        else:
            both[outer] = other[outer]
    yield http("both directions", "POST", path, both)
    if "unions" in schema["properties"]:
        combined = (["s"], ["s", "s"], ["none"], [], ["s"] * 21)
        for kind, members in itertools.product(("unions", "intersections"), combined):
            for label, each in (("one", [{"id": "u"}]), ("twice", [{"id": "s"}] * 2)):
                body = {**base, kind: [{**item, "search_ids": members} for item in each]}
                yield http(f"{kind} {label} {len(members)} {members[:1]}", "POST", path, body)
    if "locations" in base:
        changes = {
            "twice": base["locations"] * 2, "one": base["locations"][:1], "text": ["p0"],
            "no id": [{"coords": coords(PLACES["centre"][0])}], "no coords": [{"id": "p0"}],
        }  # fmt: skip
        for label, change in changes.items():
            yield http(f"locations {label}", "POST", path, {**base, "locations": change})


#: Right queries of the GET endpoints.
QUERIES: dict[str, dict[str, Any]] = {
    "/v4/time-map": {
        "type": "walking", "travel_time": 300, **coords(PLACES["centre"][0]), "departure_time": MOMENT["centre"],
    },
    "/v4/time-filter": {
        "type": "walking", "search_lat": 60.1711, "search_lng": 24.9414, "departure_time": MOMENT["centre"],
        "locations": "60.169_24.9383,60.17_24.94",
    },
    "/v4/routes": {
        "type": "walking", "origin_lat": 60.1711, "origin_lng": 24.9414, "destination_lat": 60.169,
        "destination_lng": 24.9383, "departure_time": MOMENT["centre"],
    },
    "/v4/geocoding/search": {"query": "Forum"},
    "/v4/geocoding/autocomplete": {"query": "Ateneum"},
    "/v4/geocoding/reverse": coords(PLACES["centre"][0]),
    "/v4/map-info": {},
}  # fmt: skip
_TEXTS: dict[str, tuple[str, ...]] = {
    "locations": (
        "60.169_24.9383",
        "60.169,24.9383",
        "91_0",
        "a_b",
        ",",
        "60.169_24.9383," * 2000 + "60.17_24.94",
        "0_0,60.17_24.94",
    ),
    "within.country": ("FI", "SE", "FI,SE", "x"),
    "bounds": ("60.16,24.93,60.18,24.95", "60.16,24.93", "a,b,c,d", "91,0,0,0"),
    "focus.lat": ("60.17",),
    "exclude.location.types": ("country", "street", "country,x"),
    "query": ("Forum, Helsinki", "Nowhere", "mannerheimintie 5", "x" * 300),
}


def _of_queries(schemas: Schemas, path: str, parameters: list[dict[str, Any]], formats: list[str]) -> Iterator[Case]:
    """Yield queries: each parameter with its values, and without it."""
    base = QUERIES[path]
    yield http("right", "GET", path, query=base)
    for parameter in parameters:
        name, schema = parameter["name"], parameter["schema"]
        tried = [
            *schema.get("enum", ()),
            *_TEXTS.get(name, ()),
            "",
            " ",
            "text",
            "5",
            "-1",
            "1.5",
            "1e3",
            "nan",
            "true",
            "FALSE",
        ]
        tried += [schema[limit] + step for limit in ("minimum", "maximum") if limit in schema for step in (-1, 0, 1)]
        if schema.get("format") == "date-time":
            tried += values(schemas, schema)[:10]
        for value in dict.fromkeys(map(str, tried)):
            if (name, value) == ("travel_time", "14400"):
                value = "1400"
            yield http(f"{name}={value[:40]}", "GET", path, query={**base, name: value})
        yield http(f"without {name}", "GET", path, query={key: value for key, value in base.items() if key != name})
    if "departure_time" in base:
        arriving = {key: value for key, value in base.items() if key != "departure_time"}
        for kind in ("walking", "public_transport", "driving", "cycling"):
            for direction in ("departure_time", "arrival_time"):
                query = {**arriving, "type": kind, direction: MOMENT["centre"]}
                yield http(f"{kind} {direction}", "GET", path, query=query)
                yield http(f"{kind} {direction} city", "GET", path, query=_in_city(query, direction))
        yield http("both moments", "GET", path, query={**base, "arrival_time": MOMENT["centre"]})
        yield http("no moment", "GET", path, query=arriving)
    if path.startswith("/v4/geocoding/s"):
        extras: tuple[dict[str, Any], ...] = (
            {"focus.lat": 60.17, "focus.lng": 24.95}, {"format.name": "true", "format.exclude.country": "true"},
            {"limit": 1, "force.add.postcode": "true"},
        )  # fmt: skip
        for extra in extras:
            for words in ("a", "Helsinki", "katu"):
                yield http(f"{words} {extra}", "GET", path, query={"query": words, **extra})
    for accept in (*formats, *_ACCEPTS):
        yield http(f"accept {accept}", "GET", path, query=base, headers={**HEADERS, "Accept": accept})
    yield http("credentials none", "GET", path, query=base, headers={})
    in_query = {**base, "app_id": PAIR[0], "api_key": PAIR[1]}
    yield http("credentials in the query", "GET", path, query=in_query, headers={})
    yield http("unknown parameter", "GET", path, query={**base, "nothing": "1"})
    yield http("twice", "GET", f"{path}?{urllib.parse.urlencode(base)}&lat=5&type=driving")
    for method in ("HEAD", "OPTIONS", "DELETE"):
        yield http("method", method, path, query=base)
    for service in ("overlapping", "changed", "no_zones", "any_origin"):
        headers = {**HEADERS, "Origin": "https://example.org"}
        yield http(f"service {service}", "GET", path, query=base, service=service, headers=headers)


def _in_city(query: dict[str, Any], direction: str) -> dict[str, Any]:
    """Return a query about the other city."""
    (lat, lng), (far_lat, far_lng) = PLACES["city"][:2]
    moved = {
        "lat": lat, "lng": lng, "search_lat": lat, "search_lng": lng, "origin_lat": lat, "origin_lng": lng,
        "destination_lat": far_lat, "destination_lng": far_lng, "locations": f"{far_lat}_{far_lng}",
        direction: MOMENT["city"],
    }  # fmt: skip
    return {key: moved.get(key, value) for key, value in query.items()}
