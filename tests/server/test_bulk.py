"""Large requests read and written by kernels: the same as the ordinary way, and out of its way for anything unusual."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from tests.support.door import FORUM, STATION, Door, assert_error, encoded, locations, matrix_search, ok
from traveltime_lab.kernels import json_text
from traveltime_lab.server import bulk
from traveltime_lab.server.contract import requests


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Compile the kernels before anything is timed."""
    read('[{"id":"a","coords":{"lat":1,"lng":2}}]')
    bulk._strings(Raw(b"[]"))


def read(text: str) -> list[tuple[str, float, float]] | None:
    """Return locations as the kernel reads them."""
    places = bulk._places(Raw(text.encode()))
    if places is None:
        return None
    return list(zip(places.names(np.arange(places.lat.size)), places.lat.tolist(), places.lng.tolist(), strict=True))


def one(lat: str, lng: str = "0") -> list[tuple[str, float, float]] | None:
    return read(f'[{{"id":"a","coords":{{"lat":{lat},"lng":{lng}}}}}]')


@given(st.floats(-90, 90), st.floats(-180, 180))
def test_numbers(lat: float, lng: float) -> None:
    """Every float comes back as it was written, in the shortest form and in others."""
    for write in (repr, lambda x: f"{x:.17f}", lambda x: f"{x:.6f}", lambda x: f"{x:.25f}", lambda x: f"{x:e}"):
        texts = write(lat), write(lng)
        assert one(*texts) == [("a", float(texts[0]), float(texts[1]))]


@given(st.integers(0, 89), st.text("0123456789", min_size=1, max_size=22), st.sampled_from(["", "-"]))
@settings(max_examples=500)
def test_digits(whole: int, digits: str, sign: str) -> None:
    text = f"{sign}{whole}.{digits}"
    assert one(text) == [("a", float(text), 0.0)]


@given(st.integers(2**52, 2**53), st.integers(0, 40))
def test_middles(mantissa: int, shift: int) -> None:
    """Texts at and beside the middle between two floats."""
    middle = (2 * mantissa + 1) * 10**17 // 2 ** (shift + 54)
    for near in (middle - 1, middle, middle + 1):
        text = f"0.{near:017d}"[:21]
        assert one(text) == [("a", float(text), 0.0)]


@pytest.mark.parametrize(
    "text", ["01", "1.", ".5", "+1", "1e", "1e+", "-", "", "--1", "0x1", "NaN", "1_0", "90.1", "-91"]
)
def test_no_numbers(text: str) -> None:
    assert one(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "[]", "{}", "[1]", "[{}]", "[", "[,]", '[{"id":"a"}]', '[{"coords":{"lat":1,"lng":2}}]',
        '[{"id":"a","coords":{"lat":1}}]', '[{"id":"","coords":{"lat":1,"lng":2}}]',
        '[{"id":1,"coords":{"lat":1,"lng":2}}]', '[{"id":"a","coords":{"lat":1,"lat":2}}]',
        '[{"id":"a","id":"b","coords":{"lat":1,"lng":2}}]', '[{"id":"a","coords":{"lat":1,"lng":2},"x":1}]',
        '[{"id":"a","coords":{"lat":1,"lng":2,"x":3}}]', '[{"id":"a\\n","coords":{"lat":1,"lng":2}}]',
        '[{"id":"ü","coords":{"lat":1,"lng":2}}]', '[{"id":"a","coords":null}]',
        '[{"id":"a","coords":{"lat":"1","lng":2}}]', '[{"id":"a","coords":{"lat":1,"lng":2}},]',
        '[{"id":"a","coords":{"lat":1,"lng":2}}] x', '[{"id":"a","coords":{"lat":1,"lng":2}}', "null",
        '[{"id":"a","coordz":{"lat":1,"lng":2}}]', '[{"id":"a","coords":{"lat":1,"lug":2}}]',
    ],
)  # fmt: skip
def test_unusual_locations_are_left(text: str) -> None:
    assert read(text) is None
    for n in range(len(text.rstrip("x ]"))):
        assert read(text[:n]) is None


def test_spellings() -> None:
    text = (
        ' [ { "coords" : { "lng" : -2 , "lat" : 1.50 } , "id" : "b c" } ,\n\t{"id":"d","coords":{"lat":0,"lng":1E1}}] '
    )
    assert read(text) == [("b c", 1.5, -2.0), ("d", 0.0, 10.0)]


@given(st.lists(st.text(st.characters(codec="ascii"), max_size=4), max_size=8))
def test_strings(texts: list[str]) -> None:
    plain = all(32 <= ord(c) < 127 and c not in '"\\' for text in texts for c in text)
    found = bulk._strings(Raw(encoded(texts)))
    if not plain:
        assert found is None
        return
    assert found is not None
    data, starts, ends = found
    assert [data[a:b].tobytes().decode() for a, b in zip(starts, ends, strict=True)] == texts


@given(st.lists(st.text("ab", min_size=1, max_size=6), unique=True, min_size=1), st.text("ab", max_size=6))
def test_index(texts: list[str], other: str) -> None:
    listed = [{"id": text, "coords": {"lat": 1, "lng": 2}} for text in texts]
    places = bulk._places(Raw(encoded(listed)))
    assert places is not None and places.is_unique
    assert places.names(np.arange(len(texts))) == texts
    twins = bulk._places(Raw(encoded([*listed, listed[0]])))
    assert twins is not None and not twins.is_unique
    found = bulk._strings(Raw(encoded([*texts, other])))
    assert found is not None
    positions = np.empty(len(texts) + 1, np.int64)
    data, starts, ends = places._ids
    assert json_text.find_texts(data, starts, ends, places._table, *found, positions) == (other in texts)
    if other in texts:
        assert positions.tolist() == [*range(len(texts)), texts.index(other)]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.floats(60.16, 60.18), st.floats(24.92, 24.96)), min_size=2, max_size=12),
    st.data(),
    st.booleans(),
    st.booleans(),
)
def test_answers_are_the_same(
    door: Door, places: list[Any], data: st.DataObject, is_fast: bool, is_arrival: bool
) -> None:
    names = st.integers(0, len(places) - 1).map(lambda i: f"p{i}")
    known = ["travel_time", "distance"] + ([] if is_fast else ["distance_breakdown"])
    one_side, other = ("arrival", "departure") if is_arrival else ("departure", "arrival")
    search = {
        "id": "s", f"{one_side}_location_id": "p0",
        f"{other}_location_ids": data.draw(st.lists(names, min_size=1, max_size=8)),
        "travel_time": data.draw(st.integers(60, 900)), "transportation": {"type": "walking"},
        "properties": data.draw(st.lists(st.sampled_from(known), unique=True)),
    }  # fmt: skip
    if not is_fast:
        search[f"{one_side}_time"] = "2026-03-02T08:00:00Z"
    searches: dict[str, Any] = {f"{one_side}_searches": [search]}
    if is_fast:
        searches = {"arrival_searches": {"many_to_one" if is_arrival else "one_to_many": [search]}}
    body = encoded({"locations": locations((60.1711, 24.9414), *places), **searches})
    path = "/v4/time-filter/fast" if is_fast else "/v4/time-filter"
    kind = requests.FastMatrixRequest if is_fast else requests.MatrixRequest
    ordinary = door("POST", path, body=body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "LEAST_BYTES", 0)
        assert bulk.decode_matrix(body, kind) is not None
        large = door("POST", path, body=body)
    assert ok(large) == ok(ordinary) and large.content == ordinary.content


def test_faults_go_the_ordinary_way(door: Door) -> None:
    """A large request with any fault is refused with all its faults."""
    request = {
        "locations": [*locations(*[STATION] * 2000), *locations(FORUM)],
        "departure_searches": [matrix_search(arrival_location_ids=["p1", "nobody"], travel_time=1)],
    }
    body = json.dumps(request)
    assert len(body) > bulk.LEAST_BYTES and bulk.decode_matrix(body.encode(), requests.MatrixRequest) is None
    search = "obj.departure_searches[0]"
    paths = {"obj.locations[2000].id", f"{search}.arrival_location_ids[1]", f"{search}.travel_time"}
    assert_error(door("POST", "/v4/time-filter", body=body.encode()), 422, 2, paths=paths)
    for broken in (body[:-1], body.replace("]", "}", 1)):
        assert_error(door("POST", "/v4/time-filter", body=broken.encode()), 400, 3)


def test_hundred_thousand(door: Door) -> None:
    rng = np.random.default_rng(0)
    n = 100_000
    lat, lng = rng.uniform(60.16, 60.18, n + 1), rng.uniform(24.92, 24.96, n + 1)
    lat[0], lng[0] = STATION
    driving = {"type": "driving"}
    search = matrix_search(targets=n, departure_time=..., properties=["travel_time"], transportation=driving)
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
