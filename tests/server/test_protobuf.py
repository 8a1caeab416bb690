"""Protocol Buffers: arrays read as bytes against the generated code, the contract's bytes, and every rule it names."""

from __future__ import annotations

import gc
import math
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.door import FORUM, MARKET, STATION, Door, assert_error
from tests.support.protobuf import (
    OCTETS,
    PATH,
    DecodeError,
    asked,
    matrix_message,
)
from traveltime_lab.server.protobuf import endpoints, messages, service_pb2
from traveltime_lab.server.protobuf.endpoints import ERRORS, PREFIXES, SEGMENTS, TYPES


def refused(door: Door, message: Any, name: str, status: int = 422, path: str = PATH) -> None:
    response = door.proto(path, message if isinstance(message, bytes) else message.SerializeToString())
    assert_error(response, status)
    assert response.headers["x-error-message"] == name
    assert response.headers["x-error-code"] == str(ERRORS.index(name))
    assert response.headers["x-error-details"]
    # The code of the JSON endpoints where they have one, else the status.
    codes = {"SOURCE_NOT_IN_GEOMETRY": 16, "SOURCE_OUT_OF_REACH": 16, "SERVICE_MISMATCH_WRONG_TRANSPORTATION_MODE": 15}
    assert response.json()["error_code"] == codes.get(name, status)


# The codec ------------------------------------------------------------------------------------------------------------


def test_bytes_of_the_contract() -> None:
    """The examples of 8.5 to 8.7, byte by byte."""
    request = bytes.fromhex(
        "0a22 0a0a0d00004e4215cdccccbd 120ad00fcf0fe0a712e0b60d 1a020803 28880e 320101".replace(" ", "")
    )
    (found,) = messages.parse_matrix(request)
    search = found.message
    assert not found.is_arrival
    assert (found.location.lat, found.location.lng) == (51.5, pytest.approx(-0.1, abs=1e-7))
    assert found.deltas.tolist() == [1000, -1000, 150000, 110000]
    assert search.transportation.type == 3
    assert search.travelTime == 900 and list(search.properties) == [1]
    answer = messages.matrix_response(np.array([702, -1]), np.array([3120, -1]))
    assert answer.hex() == "1213" + "0a03fc0a01" + "1a0cb018ffffffffffffffffff01"

    cells = bytes.fromhex("1218 0a0a0d00004e4215cdccccbd 12020804 20880e 2805 320101".replace(" ", ""))
    (found,) = messages.parse_cells(cells)
    assert found.is_arrival and found.message.resolution == 5 and list(found.message.properties) == [1]
    answer = messages.cells_response("geohash", ["gcpvj", "gcpvn"], {"min": np.array([0, 312])})
    assert answer.hex() == "0a13" + "0a05676370766a" + "0a05676370766e" + "120300f004"
    answer = messages.cells_response("h3", ["87195da49ffffff"], {"min": np.array([0])})
    assert answer.hex() == "0a0d" + "0a08ffffff49da957108" + "120100"


INT32 = st.integers(-(2**31), 2**31 - 1)


@given(st.lists(st.integers(-1, 20_000)), st.lists(st.integers(-1, 2**31 - 1)) | st.none())
def test_matrix_responses(times: list[int], distances: list[int] | None) -> None:
    data = messages.matrix_response(
        np.array(times, np.int64), None if distances is None else np.array(distances, np.int64)
    )
    message = service_pb2.TimeFilterFastResponse.FromString(data)
    assert list(message.properties.travelTimes) == times
    assert list(message.properties.distances) == (distances or [])
    assert message.SerializeToString(deterministic=True) == data


@given(st.lists(INT32), st.floats(width=32), INT32, st.lists(st.integers(0, 2**31 - 1)), st.booleans(), INT32)
def test_requests(
    deltas: list[int], lat: float, travel_time: int, properties: list[int], is_arrival: bool, kind: int
) -> None:
    message = service_pb2.TimeFilterFastRequest()
    search = message.manyToOneRequest if is_arrival else message.oneToManyRequest
    location = search.arrivalLocation if is_arrival else search.departureLocation
    location.lat = lat
    search.locationDeltas.extend(deltas)
    search.travelTime = travel_time
    search.properties.extend(properties)
    search.transportation.type = kind
    search.transportation.publicTransport.walkingTimeToStation.value = 5
    (found,) = messages.parse_matrix(message.SerializeToString())
    assert found.is_arrival == is_arrival
    assert found.deltas.tolist() == deltas
    assert found.message.travelTime == travel_time and list(found.message.properties) == properties
    assert found.message.transportation.type == kind
    assert found.message.transportation.publicTransport.walkingTimeToStation.value == 5
    assert found.location.lat == lat or (math.isnan(found.location.lat) and math.isnan(lat))


def generated(data: bytes) -> Any:
    try:
        return service_pb2.TimeFilterFastRequest.FromString(data)
    except DecodeError:
        return None


def compare(data: bytes) -> None:
    """Messages with arrays as bytes and the messages as generated agree about any bytes."""
    message = generated(data)
    try:
        found = messages.parse_matrix(data)
    except messages.DecodeError:
        assert message is None
        return
    assert message is not None
    by_name = {"manyToOneRequest" if search.is_arrival else "oneToManyRequest": search for search in found}
    for name, single in (("oneToManyRequest", "departureLocation"), ("manyToOneRequest", "arrivalLocation")):
        assert message.HasField(name) == (name in by_name)
        if name not in by_name:
            continue
        theirs, search = getattr(message, name), by_name[name]
        ours = search.message
        assert list(theirs.locationDeltas) == search.deltas.tolist()
        assert theirs.travelTime == ours.travelTime
        assert theirs.arrivalTimePeriod == ours.arrivalTimePeriod
        assert list(theirs.properties) == list(ours.properties)
        assert theirs.HasField(single) == (search.location is not None)
        assert theirs.HasField("transportation") == ours.HasField("transportation")
        assert theirs.transportation.SerializeToString() == ours.transportation.SerializeToString()


SEEDS = [
    bytes.fromhex("0a220a0a0d00004e4215cdccccbd120ad00fcf0fe0a712e0b60d1a02080328880e320101"),
    bytes.fromhex("0a0a10d00f10cf0f1801300130000a021801"),  # unpacked, and a message in two parts
    bytes.fromhex("121c1a1a08021216" + "0a0308840712030888071a0308ac02" + "12030805" + "1a020a00"),
    bytes.fromhex("0b0c0a00"),  # a group where a message was expected
    bytes.fromhex("0b000a000b0c0a00"),  # a group with a field of number 0
    bytes.fromhex("0a0a1202d00f10cf0f1202d00f"),  # packed and not, in turn
]


@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    compare(data)


@given(st.sampled_from(SEEDS), st.data())
def test_broken_requests(seed: bytes, data: st.DataObject) -> None:
    """Requests with bytes changed, cut off, repeated."""
    broken = bytearray(seed)
    for _ in range(data.draw(st.integers(0, 4))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    compare(bytes(broken[: data.draw(st.integers(0, len(broken)))]))
    compare(bytes(broken) + seed)


@given(st.lists(INT32, max_size=5), st.lists(INT32, max_size=5))
def test_arrays_in_parts(first: list[int], second: list[int]) -> None:
    parts = [matrix_message(targets=()) for _ in range(2)]
    parts[0].oneToManyRequest.locationDeltas.extend(first)
    parts[1].oneToManyRequest.locationDeltas.extend(second)
    compare(b"".join(part.SerializeToString() for part in parts))


# The endpoint ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("kind", ["oneToManyRequest", "manyToOneRequest"])
def test_matrix(door: Door, prefix: str, kind: str) -> None:
    message = matrix_message(kind, properties=[1], targets=(FORUM, (60.30, 24.94), MARKET))
    answer = asked(door, message, f"{prefix}/fi/time-filter/fast/walking").properties
    times, distances = list(answer.travelTimes), list(answer.distances)
    assert times[0] > 0 and times[2] > 0 and times[1] == distances[1] == -1
    assert distances[0] > 0 and distances[2] > distances[0] and not answer.monthlyFares
    assert not asked(door, matrix_message(kind)).properties.distances


def test_paths(door: Door) -> None:
    """Country and mode select nothing: the transport is that of the message."""
    expected = asked(door, matrix_message())
    for country in ("uk", "GB", "fi", "helsinki"):
        for mode in (*SEGMENTS, "driving%2Bferry"):
            assert asked(door, matrix_message(), f"/{country}/time-filter/fast/{mode}") == expected


@pytest.mark.parametrize("number", range(8))
def test_transports(door: Door, number: int) -> None:
    if TYPES[number].uses_timetable:
        refused(door, matrix_message(type=number), "SERVICE_MISMATCH_WRONG_TRANSPORTATION_MODE")
    else:
        assert asked(door, matrix_message(type=number)).properties.travelTimes[0] > 0


def test_limits(door: Door) -> None:
    times = list(asked(door, matrix_message(travelTime=10_800)).properties.travelTimes)
    assert list(asked(door, matrix_message(travelTime=min(times))).properties.travelTimes) in (
        [min(times), -1],
        [-1, -1],
    )
    assert list(asked(door, matrix_message(travelTime=0, targets=(FORUM,))).properties.travelTimes) == [-1]
    refused(door, matrix_message(travelTime=10_801), "TRAVEL_TIME_LIMIT_TOO_HIGH")
    refused(door, matrix_message(travelTime=-1), "TRAVEL_TIME_LIMIT_TOO_LOW")
    many = matrix_message(targets=())
    many.oneToManyRequest.locationDeltas.extend([0] * 400_000)
    assert len(asked(door, many).properties.travelTimes) == 200_000
    many.oneToManyRequest.locationDeltas.extend([0, 0])
    refused(door, many, "INVALID_PROTO_REQUEST")


def test_no_targets(door: Door) -> None:
    response = door.proto(PATH, matrix_message(targets=()).SerializeToString())
    assert response.status_code == 200 and response.content == b""


def test_extreme_deltas(door: Door) -> None:
    """Targets off the globe or on its other side are unreachable."""
    message = matrix_message(targets=())
    message.oneToManyRequest.locationDeltas.extend([2**31 - 1, -(2**31), -(2**31), 0, 0, 36_000_000, 0, 0])
    times = list(asked(door, message).properties.travelTimes)
    assert times[:2] == [-1, -1] and times[2] == times[3] >= 0


def test_rules(door: Door) -> None:
    both = matrix_message()
    both.manyToOneRequest.CopyFrom(matrix_message("manyToOneRequest").manyToOneRequest)
    refused(door, both, "BOTH_MANY_TO_ONE_AND_ONE_TO_MANY_CANNOT_BE_SENT")
    refused(door, b"", "ONE_TO_MANY_OR_MANY_TO_ONE_MUST_NOT_BE_NULL")
    refused(door, bytes.fromhex("0a00"), "SOURCE_MUST_NOT_BE_NULL")
    lost = matrix_message()
    lost.oneToManyRequest.ClearField("transportation")
    refused(door, lost, "TRANSPORTATION_MUST_NOT_BE_NULL")
    refused(door, matrix_message(type=8), "UNRECOGNIZED_TRANSPORTATION_MODE")
    odd = matrix_message()
    odd.oneToManyRequest.locationDeltas.append(1)
    refused(door, odd, "INTERLEAVED_DELTAS_INVALID_COORDINATE_PAIRS")
    for place in ((40.0, -40.0), (91.0, 0.0), (math.nan, 0.0), (0.0, math.inf)):
        refused(door, matrix_message(place=place, targets=()), "SOURCE_NOT_IN_GEOMETRY")
    refused(door, matrix_message(targets=((-30.027565, -51.227811),)), "SOURCE_NOT_IN_GEOMETRY")
    refused(door, matrix_message(properties=[7]), "INVALID_PROTO_REQUEST")
    refused(door, matrix_message(properties=[0]), "UNKNOWN")
    refused(door, b"\x0a\xff", "INVALID_PROTO_REQUEST", 400)
    late = matrix_message()
    late.oneToManyRequest.arrivalTimePeriod = 3
    refused(door, late, "INVALID_PROTO_REQUEST")


@pytest.mark.parametrize(
    ("field", "seconds", "name"),
    [
        ("walkingTimeToStation", 0, "WALK_TO_STATION_MUST_BE_POSITIVE"),
        ("walkingTimeToStation", 1801, "WALK_TO_STATION_TOO_HIGH"),
        ("walkingTimeToStation", 901, "WALK_TO_STATION_OVER_TRAVEL_TIME_LIMIT"),
        ("drivingTimeToStation", 0, "DRIVE_TO_STATION_MUST_BE_POSITIVE"),
        ("drivingTimeToStation", 1801, "DRIVE_TO_STATION_TOO_HIGH"),
        ("drivingTimeToStation", 901, "DRIVE_TO_STATION_OVER_TRAVEL_TIME_LIMIT"),
        ("parkingTime", 901, "PARKING_TIME_OVER_TRAVEL_TIME_LIMIT"),
    ],
)
def test_station_times(door: Door, field: str, seconds: int, name: str) -> None:
    message = matrix_message(type=2)
    details = message.oneToManyRequest.transportation.drivingAndPublicTransport
    getattr(details, field).value = seconds
    getattr(details, field).SetInParent()
    refused(door, message, name)
    message.oneToManyRequest.transportation.type = 4
    refused(door, message, "TRANSPORTATION_DETAILS_MISMATCH")


@pytest.mark.parametrize(("system", "resolution"), [("h3", 9), ("geohash", 7)])
def test_cells(door: Door, monkeypatch: pytest.MonkeyPatch, system: str, resolution: int) -> None:
    asked_dry, right = [], endpoints.find_cells

    def spy(*args: Any) -> Any:
        asked_dry.append(args[-1])
        return right(*args)

    monkeypatch.setattr(endpoints, "find_cells", spy)
    message = service_pb2.CellsFastRequest()
    search = message.oneToManyRequest
    search.departureLocation.lat, search.departureLocation.lng = STATION
    search.transportation.type, search.travelTime, search.resolution = 4, 300, resolution
    path = f"/api/v3/uk/{system}/fast/walking"
    kind = service_pb2.H3FastResponse if system == "h3" else service_pb2.GeohashFastResponse

    def cells() -> Any:
        response = door.proto(path, message.SerializeToString())
        assert response.status_code == 200 and response.headers["content-type"] == OCTETS
        return kind.FromString(response.content).cells

    found = cells()
    assert len(found.ids) > 3 and not found.minTravelTimes
    search.properties.extend([0, 1, 2])
    found = cells()
    assert len(found.ids) == len(found.minTravelTimes) == len(found.maxTravelTimes) == len(found.meanTravelTimes)
    low, mean, high = map(np.array, (found.minTravelTimes, found.meanTravelTimes, found.maxTravelTimes))
    assert (low <= mean).all() and (mean <= high).all() and high.max() <= 300
    dry = len(found.ids)
    for is_dry in (True, False):
        search.removeWaterBodies = is_dry
        assert (len(cells().ids) == dry) if is_dry else (len(cells().ids) >= dry)
    assert asked_dry == [True, True, True, False]  # absent means true
    search.resolution = 13
    refused(door, message, "INVALID_PROTO_REQUEST", path=path)
    search.resolution = resolution
    search.travelTime = 0
    response = door.proto(path, message.SerializeToString())
    assert response.status_code == 200


def test_no_cells_is_an_empty_message() -> None:
    assert messages.cells_response("h3", [], {"min": np.empty(0, np.int64)}) == b""


@pytest.mark.slow
def test_classes_of_messages_are_no_garbage() -> None:
    """A class that is made when a field is read, and collected while another thread reads it, ends the process."""
    message = matrix_message()
    (search,) = messages.parse_matrix(message.SerializeToString())
    classes = [weakref.ref(type(search.message)), weakref.ref(type(search.location))]
    del search
    gc.collect()
    assert all(found() is not None for found in classes)
