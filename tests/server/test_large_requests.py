"""Requests with many locations: every spelling of JSON is read, every fault is found, ids may be anything."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.door import FORUM, STATION, Door, assert_error, locations, matrix_search, ok
from traveltime_lab.server.contract import requests
from traveltime_lab.server.contract.decode import decode
from traveltime_lab.server.contract.errors import Failure
from traveltime_lab.server.endpoints.locations import Places

DRIVING = {"type": "driving"}


def read(text: str) -> list[tuple[str, float, float]]:
    """Return the locations of a request as the service reads them."""
    places = Places()
    request = decode(f'{{"locations":{text}}}'.encode(), requests.SupportedLocationsRequest, (places.check,))
    assert [location.id for location in request.locations] == places.ids
    return list(zip(places.ids, places.lat.tolist(), places.lng.tolist(), strict=True))


def one(lat: str, lng: str = "0") -> list[tuple[str, float, float]]:
    return read(f'[{{"id":"a","coords":{{"lat":{lat},"lng":{lng}}}}}]')


@given(st.floats(-90, 90), st.floats(-180, 180))
def test_numbers(lat: float, lng: float) -> None:
    """Every float comes back as it was written, in the shortest form and in others."""
    for write in (repr, lambda x: f"{x:.17f}", lambda x: f"{x:.6f}", lambda x: f"{x:.25f}", lambda x: f"{x:e}"):
        texts = write(lat), write(lng)
        assert one(*texts) == [("a", float(texts[0]), float(texts[1]))]


@given(st.integers(2**52, 2**53), st.integers(0, 40))
def test_middles(mantissa: int, shift: int) -> None:
    """Texts at and beside the middle between two floats."""
    middle = (2 * mantissa + 1) * 10**17 // 2 ** (shift + 54)
    for near in (middle - 1, middle, middle + 1):
        text = f"0.{near:017d}"[:21]
        assert one(text) == [("a", float(text), 0.0)]


@pytest.mark.parametrize(
    "text",
    ["01", "1.", ".5", "+1", "1e", "1e+", "-", "", "--1", "0x1", "NaN", "-Infinity", "1_0", "90.1", "-91", "1e400"],
)
def test_no_latitudes(text: str) -> None:
    with pytest.raises(Failure):
        one(text)


def test_spellings() -> None:
    text = ' [ { "coords" : { "lng" : -2 , "lat" : 1.50 } , "id" : "b c" } ,\n\t'
    text += '{"x":[],"id":"\\u00fc\\n","coords":{"lat":0,"lat":2,"lng":1E1}}] '
    assert read(text) == [("b c", 1.5, -2.0), ("ü\n", 2.0, 10.0)]


@given(st.lists(st.text(min_size=1, max_size=6), unique=True, min_size=1, max_size=12), st.data())
def test_positions(names: list[str], data: st.DataObject) -> None:
    """Places are found whichever search is from which place to which others, in any order and repeated."""
    places = Places()
    searches = []
    for i in range(data.draw(st.integers(1, 3))):
        first = data.draw(st.integers(0, len(names) - 1))
        in_order = st.integers(first + 1, len(names)).map(lambda last, first=first: names[first:last])
        targets = data.draw(in_order | st.lists(st.sampled_from(names), min_size=1, max_size=20))
        searches.append({
            "id": f"s{i}", "departure_location_id": data.draw(st.sampled_from(names)), "arrival_location_ids": targets,
            "travel_time": 900, "arrival_time_period": "weekday_morning", "transportation": DRIVING,
            "properties": ["travel_time"],
        })  # fmt: skip
    body = {
        "locations": [{"id": name, "coords": {"lat": i, "lng": -i}} for i, name in enumerate(names)],
        "arrival_searches": {"one_to_many": searches},
    }
    request = decode(json.dumps(body).encode(), requests.FastMatrixRequest, (places.check,))
    assert request.arrival_searches is not None and request.arrival_searches.one_to_many is not None
    assert places.lat.tolist() == [-lng for lng in places.lng.tolist()] == list(range(len(names)))
    for search, asked in zip(request.arrival_searches.one_to_many, searches, strict=True):
        assert places.origin(search) == names.index(asked["departure_location_id"])
        found = places.targets(search)
        assert found.tolist() == [names.index(name) for name in dict.fromkeys(asked["arrival_location_ids"])]
        assert places.names(found) == list(dict.fromkeys(asked["arrival_location_ids"]))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(min_size=1, max_size=6), unique=True, min_size=2, max_size=12), st.data())
def test_any_ids(door: Door, names: list[str], data: st.DataObject) -> None:
    """Ids come back as they were sent, each target once, in the order of the search."""
    targets = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=8))
    search = {
        "id": "s", "departure_location_id": names[0], "arrival_location_ids": targets, "travel_time": 900,
        "transportation": {"type": "walking"}, "properties": ["travel_time"],
    }  # fmt: skip
    places = [{"id": name, "coords": {"lat": STATION[0], "lng": STATION[1]}} for name in names]
    body = json.dumps({"locations": places, "arrival_searches": {"one_to_many": [search]}}).encode()
    (result,) = ok(door("POST", "/v4/time-filter/fast", body=body))["results"]
    assert [location["id"] for location in result["locations"]] == list(dict.fromkeys(targets))
    assert result["unreachable"] == []


def test_all_faults_of_a_large_request(door: Door) -> None:
    request = {
        "locations": [*locations(*[STATION] * 2000), *locations(FORUM)],
        "departure_searches": [matrix_search(arrival_location_ids=["p1", "unknown"], travel_time=1)],
    }
    body = json.dumps(request)
    search = "obj.departure_searches[0]"
    paths = {"obj.locations[2000].id", f"{search}.arrival_location_ids[1]", f"{search}.travel_time"}
    assert_error(door("POST", "/v4/time-filter", body=body.encode()), 422, 2, paths=paths)
    for broken in (body[:-1], body.replace("]", "}", 1)):
        assert_error(door("POST", "/v4/time-filter", body=broken.encode()), 400, 3)


@pytest.mark.thorough
def test_hundred_thousand(door: Door) -> None:
    rng = np.random.default_rng(0)
    n = 100_000
    lat, lng = rng.uniform(60.16, 60.18, n + 1), rng.uniform(24.92, 24.96, n + 1)
    lat[0], lng[0] = STATION
    search = matrix_search(targets=n, departure_time=..., properties=["travel_time"], transportation=DRIVING)
    request: dict[str, Any] = {
        "locations": locations(*zip(lat.tolist(), lng.tolist(), strict=True)),
        "arrival_searches": {"one_to_many": [search]},
    }
    (result,) = ok(door.post("/v4/time-filter/fast", request))["results"]
    names = [location["id"] for location in result["locations"]]
    assert len(names) + len(result["unreachable"]) == n
    assert set(names) | set(result["unreachable"]) == {f"p{i}" for i in range(1, n + 1)}
    search["arrival_location_ids"].append("p0")
    path = "obj.arrival_searches.one_to_many[0].arrival_location_ids"
    assert_error(door.post("/v4/time-filter/fast", request), 422, 2, paths={path})
