"""Requests and answers of the Protocol Buffers endpoints, by generated code."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.door import FORUM, MARKET, STATION, Door

pytest.importorskip("google.protobuf", reason="protobuf is not installed")

from google.protobuf.message import DecodeError

from traveltime_lab.server.protobuf import service_pb2

__all__ = ["OCTETS", "PATH", "DecodeError", "asked", "matrix_message"]

OCTETS = "application/octet-stream"
PATH = "/api/v3/uk/time-filter/fast/walking"


def matrix_message(kind: str = "oneToManyRequest", **fields: Any) -> Any:
    """Return a request from the station to two places on foot, changed as told."""
    message = service_pb2.TimeFilterFastRequest()
    search = getattr(message, kind)
    location = search.departureLocation if kind == "oneToManyRequest" else search.arrivalLocation
    location.lat, location.lng = fields.pop("place", STATION)
    search.transportation.type = fields.pop("type", 4)
    search.travelTime = fields.pop("travelTime", 900)
    targets = fields.pop("targets", (FORUM, MARKET))
    for lat, lng in targets:
        search.locationDeltas.append(round((lat - location.lat) * 1e5))
        search.locationDeltas.append(round((lng - location.lng) * 1e5))
    for name, values in fields.items():
        getattr(search, name).extend(values)
    return message


def asked(door: Door, message: Any, path: str = PATH) -> Any:
    response = door.proto(path, message if isinstance(message, bytes) else message.SerializeToString())
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == OCTETS
    return service_pb2.TimeFilterFastResponse.FromString(response.content)
