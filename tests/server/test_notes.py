"""What the service says beside its answers: warnings, and the date of weekday_morning, in headers and in the log."""

from __future__ import annotations

import datetime as dt
import logging
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra 'server' is not installed")

import traveltime_lab as tl
from tests.support.door import HEADERS, PAIR, Door, locations, matrix_search, ok, open_door, time_map_search
from tests.support.protobuf import matrix_message
from tests.support.requests import FAST, QUERIES, RIGHT
from tests.support.towns import two_feeds
from tests.support.worlds import at
from traveltime_lab.runtime.warnings import warn
from traveltime_lab.server import app as app_module
from traveltime_lab.server.app import create_app
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.auth import Credentials
from traveltime_lab.server.config import Options
from traveltime_lab.server.context import Notes
from traveltime_lab.server.endpoints.table import ENDPOINTS
from traveltime_lab.server.protobuf import endpoints, service_pb2

DAY, WARNING = "x-weekday-morning", "x-warning"
RIDE = {"type": "public_transport"}
A, C = ((point.y, point.x) for point in at((0.0, 0.0), (6000.0, 0.0)))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    return two_feeds(tmp_path_factory.mktemp("two"))


@pytest.fixture(scope="module")
def two(network: tl.Network) -> Iterator[Door]:
    with open_door(create_app(Atlas(network), Credentials([PAIR]))) as opened:
        yield opened


def fast(**more: Any) -> dict[str, Any]:
    search = {**FAST, "transportation": RIDE, "travel_time": 7200, "properties": ["travel_time"], **more}
    return {"locations": locations(A, C), "arrival_searches": {"one_to_many": [matrix_search(**search)]}}


def proto(kind: int = 0, **more: Any) -> bytes:
    message = matrix_message(place=A, targets=[C], type=kind, travelTime=7200, **more)
    return bytes(message.SerializeToString())


PROTO = "/api/v3/uk/{}/fast/pt"


def test_the_date_in_json_and_protocol_buffers(two: Door, caplog: pytest.LogCaptureFixture) -> None:
    """On New Year's Day of 2008, the first one of the metro, it would be 6,000 s on foot."""
    with caplog.at_level(logging.INFO, "traveltime_lab.access"):
        found = two.post("/v4/time-filter/fast", fast())
        message = two.proto(PROTO.format("time-filter"), proto())
        streets = two.post("/v4/time-filter/fast", fast(transportation={"type": "walking"}))
    (location,) = ok(found)["results"][0]["locations"]
    assert location == {"id": "p1", "properties": {"travel_time": 700}}
    answer = service_pb2.TimeFilterFastResponse.FromString(message.content)
    assert list(answer.properties.travelTimes) == [700]
    for response in (found, message):
        assert response.headers[DAY] == "2019-12-31" and WARNING not in response.headers
    assert DAY not in streets.headers
    lines = [record.getMessage() for record in caplog.records if record.name == "traveltime_lab.access"]
    assert [" weekday_morning=2019-12-31" in line for line in lines] == [True, True, False]


#: Requests of all endpoints that may leave the date to the network, with a timetable.
TYPICAL = {
    "/v4/time-map/fast": {"arrival_searches": {"one_to_many": [time_map_search(place=A, **FAST, transportation=RIDE)]}},
    "/v4/time-filter/fast": fast(),
    **{
        f"/v4/{name}/fast": {
            "resolution": resolution, "properties": ["min"],
            "arrival_searches": {"many_to_one": [time_map_search(place=A, **FAST, transportation=RIDE)]},
        }
        for name, resolution in (("h3", 8), ("geohash", 6))
    },
}  # fmt: skip


@pytest.mark.parametrize("path", TYPICAL)
def test_the_date_of_each_fast_endpoint(two: Door, path: str) -> None:
    assert two.post(path, TYPICAL[path]).headers[DAY] == "2019-12-31"


def test_all_fast_endpoints_are_there() -> None:
    assert {endpoint.path for endpoint in ENDPOINTS if endpoint.path.endswith("/fast")} == set(TYPICAL)


def test_a_warning_of_the_library(two: Door, caplog: pytest.LogCaptureFixture) -> None:
    """It has one line of ASCII, although a feed is called métro; Python's own warnings are not asked."""
    search = matrix_search(
        departure_time="2008-01-01T08:00:00Z", transportation=RIDE, travel_time=7200, properties=["travel_time"]
    )
    body = {"locations": locations(A, C), "departure_searches": [search]}
    with caplog.at_level(logging.INFO, "traveltime_lab.access"), warnings.catch_warnings():
        warnings.simplefilter("error")
        response = two.post("/v4/time-filter", body)
    assert ok(response)["results"][0]["locations"][0]["properties"] == [{"travel_time": 6000}]
    text = response.headers[WARNING]
    assert text.startswith("departure_time 2008-01-01T08:00:00+00:00 is not covered by lines: m tro runs from 2008")
    assert repr(text) in caplog.text
    # Three searches say it once.
    many = {**body, "departure_searches": [{**search, "id": str(i)} for i in range(3)]}
    assert two.post("/v4/time-filter", many).headers[WARNING] == text


def test_every_endpoint_passes_on_warnings(
    network: tl.Network, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also those with an error, and long ones."""

    def warning(endpoint: Any) -> Any:
        def answer(call: Any) -> Any:
            warn(f"Grüße\r\nX-Other: 1 {endpoint.path}")
            warn("long " * 1000)
            return endpoint.answer(call)

        return replace(endpoint, answer=answer)

    monkeypatch.setattr(app_module, "ENDPOINTS", [warning(each) for each in ENDPOINTS])
    monkeypatch.setattr(endpoints, "ENDPOINTS", {path: warning(each) for path, each in endpoints.ENDPOINTS.items()})
    with open_door(create_app(Atlas(network), Credentials([PAIR]))) as door:
        answers = [(each.path, _ask(door, each)) for each in ENDPOINTS]
        answers += [
            (path, door.proto(f"/api/v3{path}".format(country="uk", mode="pt"), b"")) for path in endpoints.ENDPOINTS
        ]
    assert {response.status_code // 100 for _, response in answers} == {2, 4}
    for path, response in answers:
        text = response.headers[WARNING]
        assert text.startswith(f"Gr e X-Other: 1 {path} | long long"), path
        assert len(text) == 1000 and text.endswith("...") and text.isascii() and "x-other" not in response.headers


def _ask(door: Door, endpoint: Any) -> Any:
    path = endpoint.path.replace("{map_id}", "map")
    if endpoint.method == "POST":
        return door.post(path, RIGHT[endpoint.path])
    return door.get(path, QUERIES.get(endpoint.path))


def test_each_call_has_its_own_warnings() -> None:
    """`warnings.catch_warnings` would mix those of threads."""
    n, barrier = 8, threading.Barrier(8)

    def call(number: int) -> list[str]:
        notes = Notes()
        with notes.collected():
            for i in range(50):
                barrier.wait()
                warn(f"{number} {i}")
        return notes.warnings

    with ThreadPoolExecutor(n) as pool:
        for number, heard in enumerate(pool.map(call, range(n))):
            assert heard == [f"{number} {i}" for i in range(50)]
    with pytest.warns(UserWarning, match="outside"):
        warn("outside")


def test_the_days_of_several_maps() -> None:
    notes = Notes()
    notes.days.extend([dt.date(2022, 2, 22), dt.date(2019, 5, 14)])
    assert notes.headers() == {"X-Weekday-Morning": "2019-05-14, 2022-02-22"}


def test_pages_of_other_origins_may_read_the_headers(network: tl.Network) -> None:
    app = create_app(Atlas(network), Credentials([PAIR]), Options(allow_origins=("https://example.org",)))
    with open_door(app) as door:
        response = door.post("/v4/time-filter/fast", fast(), headers={**HEADERS, "Origin": "https://example.org"})
    exposed = response.headers["access-control-expose-headers"].lower().split(", ")
    assert {DAY, WARNING} <= set(exposed)


def test_page_and_library_begin_at_the_same_date(network: tl.Network) -> None:
    from traveltime_lab.server.page.routes import _described

    assert [_described(item)["moment"] for item in Atlas(network).maps] == [f"{network.typical_day}T08:00"]
