"""Requests to the Protocol Buffers endpoints, made from the messages and enumerations that the service has."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from benchmarks.corpus.cases import Case, case
from benchmarks.corpus.contract import PLACES
from benchmarks.corpus.wholes import ODD_PLACES
from benchmarks.corpus.world import PAIR
from traveltime_lab.server.protobuf import service_pb2

BASIC = {"Authorization": "Basic " + base64.b64encode(":".join(PAIR).encode()).decode()}
_CELLS = {"h3": 9, "geohash": 6}
_TARGETS: dict[str, list[tuple[float, float]]] = {
    "none": [], "same": [PLACES["centre"][0]] * 3, "other city": PLACES["city"], "over the pole": [(95.0, 24.9)],
    "around": [(60.1, 200.0)],
}  # fmt: skip
_LIMITS = (0, 1, 60, 300, 10_800, 10_801, -1, 2**31 - 1)


def proto(name: str, path: str, body: Any, headers: dict[str, str] | None = None, service: str = "both") -> Case:
    """Return a case of a message, or of bytes."""
    content = body if isinstance(body, bytes) else body.SerializeToString()
    request = {
        "method": "POST", "path": path, "headers": BASIC if headers is None else headers,
        "base64": base64.b64encode(content).decode(),
    }  # fmt: skip
    return case(f"proto/{path.removeprefix('/api/')}/{name}", "http", {"service": service, "requests": [request]})


def message(kind: str, where: str, *, is_arrival: bool = False, **more: Any) -> Any:
    """Return a request from the first place of a city to the others."""
    whole = service_pb2.CellsFastRequest() if kind in _CELLS else service_pb2.TimeFilterFastRequest()
    search = whole.manyToOneRequest if is_arrival else whole.oneToManyRequest
    place = search.arrivalLocation if is_arrival else search.departureLocation
    place.lat, place.lng = more.get("place", PLACES[where][0])
    search.transportation.type = more.get("type", 4)
    search.travelTime = more.get("travel_time", 400 if kind in _CELLS else 1200)
    search.properties.extend(more.get("properties", ()))
    if kind in _CELLS:
        search.resolution = more.get("resolution", _CELLS[kind])
        if "water" in more:
            search.removeWaterBodies = more["water"]
    else:
        for lat, lng in more.get("targets", PLACES[where][1:]) if abs(place.lat) < 100.0 else ():
            search.locationDeltas.extend((round((lat - place.lat) * 1e5), round((lng - place.lng) * 1e5)))
    for name, value in more.get("details", {}).items():
        detail, _, field = name.partition(".")
        getattr(getattr(search.transportation, detail), field).value = value
    if "period" in more:
        search.arrivalTimePeriod = more["period"]
    return whole


def cases() -> Iterator[Case]:
    """Yield all messages."""
    types = [value.number for value in service_pb2.TransportationType.DESCRIPTOR.values]
    for kind in ("time-filter", *_CELLS):
        path = f"/api/v3/uk/{kind}/fast/walking"
        known = (
            service_pb2.CellPropertyType.DESCRIPTOR
            if kind in _CELLS
            else service_pb2.TimeFilterFastRequest.Property.DESCRIPTOR
        )
        numbers = [value.number for value in known.values]
        for where in PLACES:
            for is_arrival in (False, True):
                for number in (*types, 8, -1):
                    for properties in ([], numbers[-1:]):
                        body = message(kind, where, is_arrival=is_arrival, type=number, properties=properties)
                        yield proto(f"{where} {is_arrival} type {number} {properties}", path, body)
                for properties in (*([each] for each in numbers), numbers, numbers * 2, [7]):
                    body = message(kind, where, is_arrival=is_arrival, properties=properties)
                    yield proto(f"{where} {is_arrival} properties {properties}", path, body)
                for limit in _LIMITS:
                    body = message(kind, where, is_arrival=is_arrival, travel_time=limit)
                    yield proto(f"{where} {is_arrival} limit {limit}", path, body)
        for details in _details():
            for number in (0, 2, 4):
                body = message(kind, "city", type=number, travel_time=1200, details=details)
                yield proto(f"details {number} {details}", path, body)
        for label, place in {**ODD_PLACES, "beyond": (95.0, 0.0), "infinite": (float("inf"), 0.0)}.items():
            yield proto(f"place {label}", path, message(kind, "centre", place=place))
        if kind in _CELLS:
            for resolution in (0, 1, 5, 9, 10, 12, 13, 99):
                body = message(kind, "centre", resolution=resolution, travel_time=120)
                yield proto(f"resolution {resolution}", path, body)
            for water in (True, False):
                yield proto(f"water {water}", path, message(kind, "centre", water=water, properties=[0, 1, 2]))
        else:
            for label, targets in _TARGETS.items():
                yield proto(f"targets {label}", path, message(kind, "centre", targets=targets))
            odd = message(kind, "centre")
            odd.oneToManyRequest.locationDeltas.append(5)
            yield proto("odd deltas", path, odd)
        yield proto("period", path, message(kind, "centre", period=3))
        yield from _wholes(kind, path)


def _details() -> Iterator[dict[str, int]]:
    for field in service_pb2.Transportation.DESCRIPTOR.oneofs_by_name["transportationDetails"].fields:
        for inner in field.message_type.fields:
            for value in (0, 1, 300, 1200, 1201, 1800, 1801):
                yield {f"{field.name}.{inner.name}": value}


def _wholes(kind: str, path: str) -> Iterator[Case]:
    """Yield broken messages, paths and credentials."""
    body = message(kind, "centre").SerializeToString()
    both = message(kind, "centre")
    both.MergeFrom(message(kind, "centre", is_arrival=True))
    yield proto("both", path, both)
    broken = (b"", body[:-3], body + b"\xff", b"hello", b"{}", body + b"\xfa\x07\x01x", bytes(40))
    for i, content in enumerate(broken):
        yield proto(f"broken {i}", path, content)
    for field in ("departureLocation", "transportation", "travelTime"):
        without = message(kind, "centre")
        without.oneToManyRequest.ClearField(field)
        yield proto(f"without {field}", path, without)
    for prefix in ("/api/v2", "/api/v3", "", "/api/v4"):
        for country in ("uk", "gb", "fi", "helsinki", "xx", "UK"):
            for mode in ("walking", "pt", "driving+ferry", "boat"):
                yield proto("path", f"{prefix}/{country}/{kind}/fast/{mode}", body)
    lost: tuple[dict[str, str], ...] = (
        {}, {"Authorization": "Basic eDp5"}, {"Authorization": "Basic ###"}, {"Authorization": "Bearer x"},
        {"X-Application-Id": PAIR[0], "X-Api-Key": PAIR[1]}, {**BASIC, "Accept": "application/json"},
        {**BASIC, "Content-Encoding": "gzip"},
    )  # fmt: skip
    for label, headers in enumerate(lost):
        yield proto(f"credentials {label}", path, body, headers)
    for service in ("overlapping", "small_bodies", "other_origins", "changed"):
        yield proto(f"service {service}", path, body, service=service)
        yield proto(f"service {service} long", path, body + b"\xfa\x07\x01x" * 120, service=service)
