"""Requests and answers of the Protocol Buffers endpoints, by generated code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.door import FORUM, MARKET, STATION, Door

pytest.importorskip("google.protobuf", reason="protobuf is not installed")
# Generated modules import one another by their plain names.
sys.path.insert(0, str(Path(__file__).parent / "generated"))

import cells_fast_pb2
import time_filter_fast_pb2
from google.protobuf.message import DecodeError

__all__ = ["OCTETS", "PATH", "DecodeError", "asked", "cells_fast_pb2", "matrix_message", "time_filter_fast_pb2"]

OCTETS = "application/octet-stream"
PATH = "/api/v3/uk/time-filter/fast/walking"


def matrix_message(kind: str = "oneToManyRequest", **fields: Any) -> Any:
    """Return a request from the station to two places on foot, changed as told."""
    message = time_filter_fast_pb2.TimeFilterFastRequest()
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
    return time_filter_fast_pb2.TimeFilterFastResponse.FromString(response.content)
