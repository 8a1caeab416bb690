"""
Requests to the JSON endpoints, made from the OpenAPI document: each field of each endpoint present, absent, null, of
another type, at its limits, below and above them, with each of its choices.
"""

from __future__ import annotations

import copy
import json
import urllib.parse
from collections.abc import Iterator
from typing import Any

from benchmarks.corpus.cases import Case, case
from benchmarks.corpus.world import PAIR
from traveltime_lab.server import openapi
from traveltime_lab.server.contract.requests import PLACES_OF_OPTIONS

HEADERS = {"X-Application-Id": PAIR[0], "X-Api-Key": PAIR[1]}
#: By city: places, and a moment of service.
PLACES = {
    "centre": [(60.1711, 24.9414), (60.1690, 24.9383), (60.1679, 24.9524), (60.1742, 24.9470)],
    "city": [(-30.027565, -51.227811), (-30.023285, -51.218856), (-30.030426, -51.222396), (-30.057970, -51.176070)],
}
MOMENT = {"centre": "2026-03-02T08:00:00Z", "city": "2019-05-14T08:00:00-03:00"}
#: Fields that are tried in both directions.
_DIRECTED = (
    "departure_time", "arrival_time", "travel_time", "properties", "arrival_location_id", "departure_location_ids",
)  # fmt: skip
#: Largest array that a limit is tried with.
_LONGEST = 2001


def coords(place: tuple[float, float]) -> dict[str, float]:
    """Return a place as the service writes it."""
    return {"lat": place[0], "lng": place[1]}


def http(
    name: str,
    method: str,
    path: str,
    body: Any = None,
    *,
    service: str = "both",
    headers: dict[str, str] | None = None,
    query: Any = None,
    raw: str | None = None,
) -> Case:
    """Return a case of one request."""
    request: dict[str, Any] = {
        "method": method,
        "path": path if query is None else f"{path}?{urllib.parse.urlencode(query)}",
    }
    request["headers"] = HEADERS if headers is None else headers
    if raw is not None:
        request["body"] = raw
    elif body is not None:
        request["body"] = json.dumps(body)
    label = path.removeprefix("/v4/").replace("/", ".") or "page"
    return case(f"http/{method} {label}/{name}", "http", {"service": service, "requests": [request]})


class Schemas:
    """The schemas of the OpenAPI document."""

    def __init__(self) -> None:
        self.document = openapi.describe()

    def of(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return a schema without references, and without null as a choice."""
        while True:
            if "$ref" in schema:
                name = schema["$ref"].rpartition("/")[2]
                schema = self.document["components"]["schemas"][name]
            elif "anyOf" in schema and "discriminator" not in schema:
                others = [each for each in schema["anyOf"] if each.get("type") != "null"]
                if len(others) != 1:
                    return schema
                schema = others[0]
            else:
                return schema

    def posts(self) -> Iterator[tuple[str, dict[str, Any], list[str]]]:
        """Yield path, schema of the body and formats of each JSON endpoint that takes one."""
        for path, operation in self._operations("post"):
            content = operation["requestBody"]["content"]
            if "application/json" in content:
                yield (
                    path,
                    self.of(content["application/json"]["schema"]),
                    list(operation["responses"]["200"]["content"]),
                )

    def gets(self) -> Iterator[tuple[str, list[dict[str, Any]], list[str]]]:
        """Yield path, parameters and formats of each endpoint that takes a query."""
        for path, operation in self._operations("get"):
            if path.startswith("/v4"):
                yield path, operation.get("parameters", []), list(operation["responses"]["200"]["content"])

    def _operations(self, method: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for path, methods in self.document["paths"].items():
            if method in methods:
                yield path, methods[method]


class Right:
    """Right requests, made from schemas."""

    def __init__(self, schemas: Schemas, where: str) -> None:
        self.schemas = schemas
        self.where = where

    def body(self, schema: dict[str, Any], array: str) -> dict[str, Any]:
        """Return a request with one search in an array, whose name has a dot for fast searches."""
        found: dict[str, Any] = {}
        fields = schema["properties"]
        if "locations" in fields:
            found["locations"] = [
                {"id": f"p{i}", "coords": coords(place)} for i, place in enumerate(PLACES[self.where])
            ]
        if "resolution" in fields:
            found["resolution"] = 8 if fields["resolution"]["maximum"] > 9 else 6
        if "properties" in fields:
            found["properties"] = sorted(fields["properties"]["items"]["enum"])
        outer, _, inner = array.partition(".")
        if outer:
            target = fields[outer]
            if inner:
                target = self.schemas.of(target)["properties"][inner]
            search = self.search(self.schemas.of(self.schemas.of(target)["items"]))
            found[outer] = {inner: [search]} if inner else [search]
        return found

    def search(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return a search with the fields that it must have."""
        known = {
            "id": "s", "coords": coords(PLACES[self.where][0]), "travel_time": 300, "travel_distance": 300,
            "transportation": {"type": "walking"},
            "departure_time": MOMENT[self.where], "arrival_time": MOMENT[self.where],
            "departure_location_id": "p0", "arrival_location_id": "p0", "arrival_location_ids": ["p1", "p2", "p3"],
            "departure_location_ids": ["p1", "p2", "p3"], "arrival_time_period": "weekday_morning",
        }  # fmt: skip
        found = {}
        for name in schema["required"]:
            if name == "properties":
                found[name] = list(self.schemas.of(schema["properties"][name])["items"]["enum"])
                if "fares" in found[name]:
                    found[name].remove("fares")
            else:
                found[name] = known[name]
        return found

    def arrays(self, schema: dict[str, Any]) -> list[str]:
        """Return the names of the arrays of searches of a request."""
        found = []
        for name in ("departure_searches", "arrival_searches"):
            if name in schema["properties"]:
                inner = self.schemas.of(schema["properties"][name])
                found += [f"{name}.{each}" for each in inner["properties"]] if inner.get("type") == "object" else [name]
        return found or [""]


def cases() -> Iterator[Case]:
    """Yield all requests."""
    schemas = Schemas()
    for path, schema, _ in schemas.posts():
        yield from _of_types(schemas, path, schema)
        yield from _of_fields(schemas, path, schema)


def first_search(body: dict[str, Any], array: str) -> dict[str, Any]:
    outer, _, inner = array.partition(".")
    found: dict[str, Any] = (body[outer][inner] if inner else body[outer])[0]
    return found


def _of_types(schemas: Schemas, path: str, schema: dict[str, Any]) -> Iterator[Case]:
    """Yield each type of transportation of an endpoint, with its options, in both directions."""
    for where in PLACES:
        right = Right(schemas, where)
        for array in right.arrays(schema):
            if not array:
                continue
            body = right.body(schema, array)
            search = first_search(body, array)
            outer, _, inner = array.partition(".")
            target = schemas.of(schema["properties"][outer])
            fields = schemas.of(schemas.of(target["properties"][inner] if inner else target)["items"])["properties"]
            kinds = schemas.of(fields["transportation"])["discriminator"]["mapping"]
            for kind, reference in kinds.items():
                rides = any(word in kind for word in ("public", "bus", "train", "coach"))
                if where == ("centre" if not rides else "city") or path == "/v4/time-filter":
                    search["transportation"] = {"type": kind}
                    yield http(f"{where} {array} {kind}", "POST", path, body)
                    if "range" in fields and rides:
                        for window in ({"enabled": True, "width": 900, "max_results": 2}, {"enabled": False}):
                            search["range"] = window
                            yield http(f"{where} {array} {kind} range {window}", "POST", path, body)
                        del search["range"]
                if where == "city" and array == right.arrays(schema)[0] and not rides:
                    search["transportation"] = {"type": kind}
                    yield http(f"{where} {array} {kind}", "POST", path, body)
                if where == "city":
                    options = schemas.of({"$ref": reference})["properties"]
                    for name, option in options.items():
                        for value in values(schemas, option) if name != "type" else ():
                            if path not in ("/v4/time-filter", "/v4/time-filter/fast") and value != 60:
                                continue
                            search["transportation"] = {"type": kind, name: value}
                            yield http(f"{where} {array} {kind} {name}={value}", "POST", path, body)
            search["transportation"] = {"type": "boat"}
            yield http(f"{where} {array} unknown type", "POST", path, body)


def values(schemas: Schemas, schema: dict[str, Any]) -> list[Any]:
    """Return values of a field: right ones, those around its limits, and wrong ones."""
    schema = schemas.of(schema)
    if "enum" in schema:
        return [*schema["enum"], "other", 5, None]
    kind = schema.get("type")
    if kind == "boolean":
        return [True, False, "true", 1, None]
    if kind in ("integer", "number"):
        found: list[Any] = [60, 1, 0, -1, 1.5, "60", True, None, 2**31, 10**30]
        for limit in ("minimum", "maximum"):
            if limit in schema:
                found += [schema[limit], schema[limit] + (-1 if limit == "minimum" else 1)]
        return [value for value in found if not isinstance(value, float) or abs(value) < 1e9]
    if kind == "string":
        if schema.get("format") == "date-time":
            return [
                "2019-05-14T08:00:00Z", "2019-05-14T08:00:00+03:00", "2019-05-14T08:00:00.123-03:00",
                "2019-05-14t08:00:00z", "2019-05-14T08:00:00", "2019-05-14", "2019-02-30T08:00:00Z",
                "2019-05-14T24:00:00Z", "soon", "", 5, None, "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
                "2030-01-01T08:00:00Z",
            ]  # fmt: skip
        return ["a", "", "é🚌", "x" * 300, 5, None, [], " "]
    if kind == "array":
        inner = schemas.of(schema["items"])
        single = inner["enum"] if "enum" in inner else ["p1"] if inner.get("type") == "string" else []
        found = [[], "text", {}, [None], [5], None, ["unknown"], *([each] for each in single), list(single), single * 2]
        if schema.get("maxItems", _LONGEST) < _LONGEST and inner.get("type") == "string":
            found += [(single * _LONGEST)[: schema["maxItems"]], (single * _LONGEST)[: schema["maxItems"] + 1]]
        return found
    if kind == "object" or "anyOf" in schema:
        found = [{}, [], "text", 5, None]
        options = [schemas.of(each) for each in schema.get("anyOf", [schema])]
        for option in options:
            found += _objects(schemas, option)
        return found
    return ["enabled", "disabled", {"penalty": "disabled"}, 5, [], None]


def _objects(schemas: Schemas, schema: dict[str, Any]) -> list[Any]:
    """Return objects of a schema: each of its fields with each of its values, beside right ones."""
    fields = schema.get("properties", {})
    right = {name: next(iter(values(schemas, field)), None) for name, field in fields.items()}
    needed = {name: right[name] for name in schema.get("required", ())}
    found: list[Any] = [needed, right]
    for name, field in fields.items():
        tried = values(schemas, field) if schemas.of(field).get("type") != "object" else [{}, 5]
        found += [{**needed, name: value} for value in tried]
        found.append({key: value for key, value in right.items() if key != name})
    return found


def _of_fields(schemas: Schemas, path: str, schema: dict[str, Any]) -> Iterator[Case]:
    """Yield each field of a request and of its searches with each of its values, and without it."""
    right = Right(schemas, "centre")
    for number, array in enumerate(right.arrays(schema)):
        base = right.body(schema, array)
        for name, field in schema["properties"].items():
            if number == 0:
                yield from _changed(schemas, f"{array} {name}", path, base, (), name, field)
        if not array:
            continue
        outer, _, inner = array.partition(".")
        target = schemas.of(schema["properties"][outer])
        fields = schemas.of(schemas.of(target["properties"][inner] if inner else target)["items"])["properties"]
        where = (outer, inner, 0) if inner else (outer, 0)
        for name, field in fields.items():
            if name == "transportation":
                continue
            # The other direction has the same fields, but for those of its own.
            if number and name not in _DIRECTED:
                continue
            yield from _changed(schemas, f"{array} search.{name}", path, base, where, name, field)
        for name in (*PLACES_OF_OPTIONS, "unknown"):
            if number == 0 and name not in fields:
                yield _with(f"{array} misplaced {name}", path, base, where, name, 5)


def _changed(
    schemas: Schemas,
    label: str,
    path: str,
    base: dict[str, Any],
    where: tuple[Any, ...],
    name: str,
    field: dict[str, Any],
) -> Iterator[Case]:
    for i, value in enumerate(values(schemas, field)):
        yield _with(f"{label} {i} {str(value)[:40]}", path, base, where, name, value)
    body = copy.deepcopy(base)
    owner = _owner(body, where)
    if owner.pop(name, None) is not None:
        yield http(f"{label} absent", "POST", path, body)


def _owner(body: Any, where: tuple[Any, ...]) -> Any:
    for key in where:
        body = body[key]
    return body


def _with(label: str, path: str, base: dict[str, Any], where: tuple[Any, ...], name: str, value: Any) -> Case:
    body = copy.deepcopy(base)
    _owner(body, where)[name] = value
    return http(label, "POST", path, body)
