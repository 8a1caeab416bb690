"""The service under abuse: abandoned work, endless bodies, half-sent requests, too many connections."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import http.client
import json
import logging
import math
import re
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import traveltime_lab as tl
from tests.support import worlds
from tests.support.combinations import combined, first_of
from tests.support.door import CENTRE, PAIR, TERMINAL, Door, assert_error, locations, matrix_search, ok, time_map_search
from tests.support.logs import messages
from tests.support.requests import RIGHT
from traveltime_lab.errors import InterruptedSearchError
from traveltime_lab.runtime.interrupts import interruptible
from traveltime_lab.search import area_shapes
from traveltime_lab.server import listening
from traveltime_lab.server.app import create_app
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.auth import Credentials
from traveltime_lab.server.config import Options
from traveltime_lab.server.context import Call, Meter
from traveltime_lab.server.contract import area_requests, limits, requests, rules, shape_requests
from traveltime_lab.server.contract import decode as decoding
from traveltime_lab.server.contract.decode import decode
from traveltime_lab.server.contract.errors import MOST_FAULTS, Failure
from traveltime_lab.server.endpoints.locations import Places
from traveltime_lab.server.endpoints.table import ENDPOINTS
from traveltime_lab.server.serve import Served, serve
from traveltime_lab.settings import settings

HERE = worlds.at((100.0, 0.0)).iloc[0]
SEARCH = time_map_search(place=(HERE.y, HERE.x), travel_time=60)
REQUEST = {"departure_searches": [SEARCH]}


@pytest.fixture(scope="module")
def tiny() -> tl.Network:
    """A street of a kilometre."""
    return worlds.world({"a": (0.0, 0.0), "b": (1000.0, 0.0)}, [("a", "b")])


def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def sent(url: Served, content: Any, path: str = "/v4/time-map") -> http.client.HTTPConnection:
    """Send a request and return the connection without reading the answer."""
    connection = http.client.HTTPConnection(url.host, url.port, timeout=30)
    connection.request("POST", path, json.dumps(content).encode(), url.headers)
    return connection


def answer(connection: http.client.HTTPConnection) -> tuple[int, Any]:
    response = connection.getresponse()
    body = json.loads(response.read())
    connection.close()
    return response.status, body


def raw(url: Served, text: str = "") -> socket.socket:
    connection = socket.create_connection((url.host, url.port), 30)
    connection.sendall(text.encode())
    return connection


def head(url: Served, length: int, *more: str) -> str:
    """Return the head of a request with a body."""
    names = [f"{name}: {value}" for name, value in url.headers.items()]
    lines = ["POST /v4/time-map HTTP/1.1", "Host: x", f"Content-Length: {length}", *names, *more, "", ""]
    return "\r\n".join(lines)


def rest(connection: socket.socket) -> bytes:
    """Return what the service sends until it closes a connection."""
    found = b""
    with connection, contextlib.suppress(ConnectionError):
        while part := connection.recv(65536):
            found += part
    return found


# Work that nobody waits for -------------------------------------------------------------------------------------------


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Makes searches wait until told, whether or not anybody waits for them, and counts them."""
    state: dict[str, Any] = {"running": [], "go": threading.Event(), "most": 0}
    right = area_shapes.draw_shapes

    def shape(*args: Any, **kwargs: Any) -> Any:
        state["running"].append(1)
        state["most"] = max(state["most"], len(state["running"]))
        state["go"].wait(20)
        state["running"].pop()
        return right(*args, **kwargs)

    monkeypatch.setattr(area_shapes, "draw_shapes", shape)
    yield state
    state["go"].set()


@pytest.mark.slow
def test_a_slot_is_free_when_its_thread_is(tiny: tl.Network, deaf: dict[str, Any]) -> None:
    """Requests that their clients gave up, or that took too long, hold their slots until they are out of the way."""
    with served(tiny, workers=2, timeout_s=0.5) as url:
        deaf["go"].set()
        until(lambda: answer(sent(url, REQUEST))[0] == 200, 60.0)
        deaf["go"].clear()
        deaf["most"] = 0
        n_before = threading.active_count()
        for _ in range(3):
            sent(url, REQUEST).close()
        slow = [sent(url, REQUEST) for _ in range(3)]
        until(lambda: len(deaf["running"]) == 2)
        assert [answer(connection)[0] for connection in slow] == [408] * 3
        assert deaf["most"] == 2 and threading.active_count() <= n_before + 2
        deaf["go"].set()
        until(lambda: not deaf["running"])
        assert answer(sent(url, REQUEST))[0] == 200


@contextlib.contextmanager
def served(network: tl.Network, **options: Any) -> Iterator[Served]:
    """Serve with options that `serve` does not have."""
    from traveltime_lab.server import serve as running

    listener = running._bound("127.0.0.1", 0)
    app = create_app(Atlas(network), Credentials([PAIR]), Options(**options))
    server = listening.server(app, None, None, Options(**options))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    until(lambda: server.started)
    url = Served("http://127.0.0.1")
    url.host, url.port, (url.app_id, url.api_key) = "127.0.0.1", listener.getsockname()[1], PAIR
    try:
        yield url
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


class Patience:
    """Somebody who looks at a search so many times, and knows how long it was between two looks."""

    def __init__(self, most: float) -> None:
        self.most, self.looks = most, 0
        self.longest, self.last = 0.0, time.perf_counter()

    def __call__(self) -> bool:
        now = time.perf_counter()
        self.longest, self.last = max(self.longest, now - self.last), now
        self.looks += 1
        return self.looks > self.most


#: Least looks at each of the searches below.
LOOKS = {"windows": 10, "routes": 60, "rides": 20, "shapes": 10, "cells": 10, "faults": 1}
TUESDAY = "2019-05-14T08:00:00-03:00"
BUS = {"type": "bus"}
WINDOW = {"range": {"enabled": True, "width": 43_200, "max_results": 5}}
LONG = {
    "windows": (
        "/v4/time-filter",
        {
            "locations": locations(CENTRE, TERMINAL),
            "departure_searches": [
                matrix_search(departure_time=TUESDAY, travel_time=7200, transportation=BUS, **WINDOW)
            ],
        },
    ),
    "routes": (
        "/v4/routes",
        {
            "locations": locations(CENTRE, *[(TERMINAL[0] + i * 1e-4, TERMINAL[1]) for i in range(60)]),
            "departure_searches": [matrix_search(targets=60, travel_time=..., properties=["route"])],
        },
    ),
    "rides": (
        "/v4/routes",
        {
            "locations": locations(CENTRE, *[(TERMINAL[0] + i * 1e-4, TERMINAL[1]) for i in range(20)]),
            "departure_searches": [
                matrix_search(
                    targets=20, travel_time=..., properties=["route"], departure_time=TUESDAY, transportation=BUS
                )
            ],
        },
    ),
    "shapes": (
        "/v4/time-map",
        {
            "departure_searches": [
                time_map_search("a", CENTRE, departure_time=TUESDAY, travel_time=1800, transportation=BUS),
                time_map_search("b", CENTRE, travel_time=1800),
            ],
            "unions": [{"id": "u", "search_ids": ["a", "b"]}],
            "intersections": [{"id": "i", "search_ids": ["a", "b"]}],
        },
    ),
    "cells": (
        "/v4/h3",
        {
            "resolution": 9,
            "properties": ["mean"],
            "departure_searches": [time_map_search("a", CENTRE, travel_time=1800), time_map_search("b", CENTRE)],
            "unions": [{"id": "u", "search_ids": ["a", "b"]}],
        },
    ),
    "faults": ("/v4/time-filter", {"locations": [{"id": str(i)} for i in range(99)], "departure_searches": []}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", first_of(2, LONG, mark=pytest.mark.slow))
def test_work_ends_wherever_it_is(porto_alegre: tl.Network, name: str) -> None:
    """Whatever the look at which nobody waits any more, the search ends there."""
    path, request = LONG[name]
    endpoint = next(each for each in ENDPOINTS if (each.path, each.method) == (path, "POST"))
    body = json.dumps(request).encode()

    def ask(patience: Patience) -> None:
        call = Call(Atlas(porto_alegre), body, {}, {}, {}, "me", Meter(), None)
        with interruptible(patience):
            endpoint.answer(call)

    for _ in range(2):
        patience = Patience(math.inf)
        with settings.override(threads=1), contextlib.suppress(Failure):
            ask(patience)
    assert patience.looks >= LOOKS[name]
    # Once everything is at hand, no step is longer than this (some milliseconds each, on a free machine).
    assert patience.longest < 5.0
    for n in (0, 1, patience.looks // 2, patience.looks - 1):
        with settings.override(threads=1), pytest.raises(InterruptedSearchError):
            ask(Patience(n))


# Unions and intersections ---------------------------------------------------------------------------------------------


def test_repeated_members_count_once(door: Door) -> None:
    searches = [time_map_search("a"), time_map_search("b", travel_time=200)]
    once, often = (
        {"departure_searches": searches, "unions": [{"id": "u", "search_ids": ids}], "intersections": [
            {"id": "i", "search_ids": ids}]}
        for ids in (["a", "b"], ["a"] * 9 + ["b"] * 9)
    )  # fmt: skip
    assert ok(door.post("/v4/time-map", often)) == ok(door.post("/v4/time-map", once))
    more = {"resolution": 8, "properties": ["min", "max", "mean"]}
    assert ok(door.post("/v4/h3", {**often, **more})) == ok(door.post("/v4/h3", {**once, **more}))


@pytest.mark.parametrize(
    "path", ["/v4/time-map", "/v4/time-map/fast", "/v4/distance-map", "/v4/h3", "/v4/geohash/fast"]
)
def test_members_are_at_most_all_searches(door: Door, path: str) -> None:
    request = {**RIGHT[path], "unions": [{"id": "u", "search_ids": ["a"] * (limits.MAX_COMBINED + 1)}]}
    assert_error(door.post(path, request), 422, 2, paths={"obj.unions[0].search_ids"})


# Faulty bodies --------------------------------------------------------------------------------------------------------

N = 600_000
KINDS = {
    "time-map": (shape_requests.TimeMapRequest, rules.SHAPES),
    "time-map/fast": (shape_requests.FastTimeMapRequest, rules.SHAPES),
    "distance-map": (shape_requests.DistanceMapRequest, rules.SHAPES),
    "time-filter": (requests.MatrixRequest, rules.SEARCHES),
    "time-filter/fast": (requests.FastMatrixRequest, rules.SEARCHES),
    "routes": (requests.RoutesRequest, rules.SEARCHES),
    "h3": (area_requests.H3Request, rules.CELLS),
    "geohash/fast": (area_requests.FastGeohashRequest, rules.CELLS),
    "postcodes": (area_requests.PostcodesRequest, rules.SEARCHES),
    "supported-locations": (requests.SupportedLocationsRequest, ()),
}
#: Values of any field, whose decoded form would take many times as much memory as the body.
VALUES = {
    "objects": b"[" + b"{}," * (N // 3) + b"{}]",
    "arrays": b"[" + b"[]," * (N // 3) + b"[]]",
    "texts": b"[" + b'"a",' * (N // 4) + b'"a"]',
    "numbers": b"[" + b"1," * (N // 2) + b"1]",
    "keys": b"{" + b",".join(b'"%d":1' % i for i in range(N // 10)) + b"}",
    "text": b'"' + b"a" * N + b'"',
    "digits": b"1" * N,
    "blanks": b"[" + b" " * N + b"5]",
}


def fields_of(kind: Any) -> Iterator[str]:
    """Yield bodies with a hole at each field of a request that searches and locations may have."""
    outer = ("departure_searches", "arrival_searches", "locations", "unions", "properties", "unknown")
    yield from (f'{{"{name}":%s}}' for name in outer)
    inner = (
        "search_ids",
        "arrival_location_ids",
        "transportation",
        "coords",
        "snap_penalty",
        "departure_time",
        "range",
    )
    for array in ("departure_searches", "unions"):
        yield from (f'{{"{array}":[{{"id":"a","{name}":%s}}]}}' for name in inner)
    yield '{"arrival_searches":{"one_to_many":%s}}'
    yield '{"arrival_searches":{"many_to_one":[{"arrival_location_id":"a","departure_location_ids":%s}]}}'


@pytest.mark.parametrize("is_each", [False, pytest.param(True, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", KINDS)
def test_faulty_bodies_take_little(name: str, is_each: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Whatever is sent in whatever place: memory is a few times that of the body, and few faults are told, in short.

    Each value in each place, or one in each.
    """
    # As small for these bodies as it is for those that a service takes.
    monkeypatch.setattr(decoding, "_MOST_COMMAS", 6000)
    monkeypatch.setattr(decoding, "_SMALL", 600)
    kind, checks = KINDS[name]
    with pytest.raises(Failure):
        decode(b'{"departure_searches":[{},{},{},{},{},{},{},{},{},{},{},{}]}', kind)
    for n, value in enumerate(VALUES.values()):
        for text in [*fields_of(kind)][0 if is_each else n :: 1 if is_each else len(VALUES)]:
            body = text.encode().replace(b"%s", value)
            more = (Places().check,) if name.startswith(("time-filter", "routes", "supported")) else ()
            failure = None
            tracemalloc.start()
            started = time.perf_counter()
            try:
                decode(body, kind, (*checks, *more))
            except Failure as error:
                failure = error
            took = time.perf_counter() - started
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 6 * len(body) + 2_000_000, (text, value[:10], peak)
            # Some hundredths of a second on a free machine.
            assert took < 5.0, (text, value[:10], took)
            if failure is not None:
                assert sum(map(len, failure.info.values())) <= MOST_FAULTS + 1
                assert len(failure.body()) < 50_000


def test_long_ids_are_cut_in_faults(door: Door) -> None:
    name = "x" * 100_000
    searches = [time_map_search(name), time_map_search(name)]
    request = {"departure_searches": searches, "unions": [{"id": "u", "search_ids": [name + "y"] * 5}]}
    assert len(door.post("/v4/time-map", request).content) < 2000
    places = [{**locations(CENTRE)[0], "id": name}] * 2
    matrix = {"locations": places, "departure_searches": [matrix_search(arrival_location_ids=[name + "y"])]}
    assert len(door.post("/v4/time-filter", matrix).content) < 2000
    cell = {**RIGHT["/v4/h3"], "departure_searches": [{**time_map_search(), "coords": {"h3_centroid": name}}]}
    assert len(door.post("/v4/h3", cell).content) < 2000


@pytest.mark.slow
def test_whole_floats_in_large_bodies(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is forgiven is forgiven whatever the length, and what is taken apart is put together again."""
    request = {
        "locations": locations(*[(60.17 + i * 1e-6, 24.94) for i in range(9000)]),
        "departure_searches": [matrix_search(targets=2000, snap_penalty={"penalty": "disabled"}, unknown=[[], {}])],
    }
    expected = ok(door.post("/v4/time-filter", request))
    request["departure_searches"][0]["travel_time"] = 1800.0
    assert ok(door.post("/v4/time-filter", request)) == expected
    monkeypatch.setattr(decoding, "_MOST_COMMAS", 10)
    monkeypatch.setattr(decoding, "_SMALL", 10)
    assert ok(door.post("/v4/time-filter", request)) == expected
    assert_error(door("POST", "/v4/time-filter", body=json.dumps(request).encode()[:-1]), 400, 3)


def test_messages_have_a_size(door: Door) -> None:
    body = b"\x0a" * (limits.MAX_PROTO_BODY + 1)
    response = door.proto("/api/v3/uk/time-filter/fast/walking", body)
    assert_error(response, 413)
    assert response.headers["x-error-message"] == "INVALID_PROTO_REQUEST"


# Half-sent requests ---------------------------------------------------------------------------------------------------


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "traveltime_lab.access"]


@pytest.mark.slow
def test_closing_within_an_upload_is_one_line(tiny: tl.Network, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "traveltime_lab.access"), serve(tiny) as url:
        raw(url, head(url, 1000) + "{").close()
        until(lambda: len(lines(caplog)) == 1)
        time.sleep(0.2)
    assert "status=499" in lines(caplog)[0]
    assert not messages(caplog, logging.WARNING)


@pytest.mark.slow
def test_stopping_waits_for_no_body(tiny: tl.Network) -> None:
    with serve(tiny) as url:
        half = [raw(url, head(url, 1000) + "{") for _ in range(3)]
        silent, begun = raw(url), raw(url, "POST /v4/time-map HTTP/1.1\r\nHost:")
        time.sleep(0.2)
        started = time.monotonic()
    assert time.monotonic() - started < 5.0
    for connection in half:
        said = rest(connection)
        assert said.startswith(b"HTTP/1.1 503 ") and b"stopping" in said
    assert rest(silent) == rest(begun) == b""


@pytest.mark.slow
def test_idle_connections_are_closed(tiny: tl.Network) -> None:
    with serve(tiny, idle_s=0.5) as url:
        started = time.monotonic()
        silent, begun = raw(url), raw(url, "POST /v4/time-map HTTP/1.1\r\nHost:")
        kept = sent(url, REQUEST)
        response = kept.getresponse()
        assert response.status == 200 and response.read() and kept.sock is not None
        assert rest(silent) == b""
        said = rest(begun)
        assert said.startswith(b"HTTP/1.1 408 ") and json.loads(said.partition(b"\r\n\r\n")[2])["http_status"] == 408
        assert rest(kept.sock) == b""
        assert 0.4 < time.monotonic() - started < 5.0


@pytest.mark.slow
def test_headers_have_a_time_however_often_they_come(tiny: tl.Network) -> None:
    with serve(tiny, idle_s=0.5) as url:
        started = time.monotonic()
        connection = raw(url, "POST /v4/time-map HTTP/1.1\r\n")
        with contextlib.suppress(ConnectionError):
            for i in range(100):
                connection.sendall(f"X-{i}: 1\r\n".encode())
                time.sleep(0.05)
        assert rest(connection).startswith((b"HTTP/1.1 408 ", b""))
        assert time.monotonic() - started < 6.0


@pytest.mark.slow
def test_bodies_that_stop_coming(tiny: tl.Network) -> None:
    with serve(tiny, idle_s=0.4) as url:
        started = time.monotonic()
        said = rest(raw(url, head(url, 1000) + "{"))
        assert said.startswith(b"HTTP/1.1 408 ") and b"body" in said
        assert time.monotonic() - started < 5.0
        # One that comes slowly is waited for.
        body = json.dumps(REQUEST)
        connection = raw(url, head(url, len(body), "Connection: close"))
        for begin in range(0, len(body), 40):
            connection.sendall(body[begin : begin + 40].encode())
            time.sleep(0.1)
        assert rest(connection).startswith(b"HTTP/1.1 200 ")


@pytest.mark.slow
def test_a_body_after_its_answer_is_not_waited_for(tiny: tl.Network) -> None:
    with serve(tiny, idle_s=0.4) as url:
        started = time.monotonic()
        connection = raw(url, head(url, 10_000).replace(url.api_key, "wrong"))
        with contextlib.suppress(ConnectionError):
            for _ in range(100):
                connection.sendall(b"x")
                time.sleep(0.05)
        assert time.monotonic() - started < 4.0
        connection.close()


@pytest.mark.slow
def test_clients_that_do_not_read(tiny: tl.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that nobody takes is thrown away, and stopping does not wait for it."""
    from traveltime_lab.server.endpoints import maps

    monkeypatch.setattr(maps, "map_info", lambda *_: {"maps": ["x" * 20_000_000]})
    with serve(tiny, idle_s=0.4) as url:
        names = "".join(f"{name}: {value}\r\n" for name, value in url.headers.items())
        connection = raw(url, f"GET /v4/map-info HTTP/1.1\r\nHost: x\r\n{names}\r\n")
        assert connection.recv(10)
        time.sleep(0.5)
        started = time.monotonic()
    assert time.monotonic() - started < 5.0
    connection.close()


# Connections ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_too_many_connections(tiny: tl.Network, caplog: pytest.LogCaptureFixture) -> None:
    with serve(tiny, connections=3) as url:
        held = [raw(url) for _ in range(3)]
        time.sleep(0.2)
        refused = [sent(url, REQUEST) for _ in range(5)]
        for connection in refused:
            response = connection.getresponse()
            body = json.loads(response.read())
            assert response.status == body["http_status"] == 503 and "connections" in body["description"]
            assert int(response.headers["retry-after"]) > 0
            connection.close()
        for connection in held:
            connection.close()
        time.sleep(0.2)
        assert answer(sent(url, REQUEST))[0] == 200
    told = messages(caplog, logging.WARNING)
    assert len(told) == 1 and "turned away" in told[0]


@pytest.mark.slow
def test_no_more_descriptors(
    tiny: tl.Network, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A line of the log, not a flood of them, and service as soon as there are some again."""
    right, is_short = socket.socket.accept, threading.Event()

    def accept(self: socket.socket) -> Any:
        if is_short.is_set():
            raise OSError(errno.EMFILE, "Too many open files")
        return right(self)

    monkeypatch.setattr(socket.socket, "accept", accept)
    monkeypatch.setattr(asyncio.constants, "ACCEPT_RETRY_DELAY", 0.1)  # of a second
    with serve(tiny) as url:
        is_short.set()
        waiting = sent(url, REQUEST)
        time.sleep(0.5)
        is_short.clear()
        assert answer(waiting)[0] == 200
    told = messages(caplog, logging.WARNING)
    assert len(told) == 1 and re.search("no connection can be accepted.*open files", told[0])
    assert "Traceback" not in caplog.text


def test_connections_leave_descriptors_for_files(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    assert listening.most_connections(5) == 5
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    assert listening.most_connections(500) == 192
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert listening.most_connections(500) == 500


@pytest.mark.slow
def test_bodies_have_room_for_some(tiny: tl.Network) -> None:
    """Half-sent bodies cannot fill the memory: ten of the largest are held, further ones refused."""
    with served(tiny, body_limit=1000, idle_s=20.0) as url:
        part = "x" * 999
        held = [raw(url, head(url, 1000) + part) for _ in range(10)]
        time.sleep(0.5)
        said = rest(raw(url, head(url, 1000) + part))
        assert said.startswith(b"HTTP/1.1 503 ") and b"bodies" in said
        for connection in held:
            connection.close()
        time.sleep(0.3)
        assert answer(sent(url, REQUEST))[0] == 200


# Numbers of more digits than Python converts -------------------------------------------------------------------------


def leaves(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of a request."""
    if isinstance(content, dict | list):
        for key in content if isinstance(content, dict) else range(len(content))[:1]:
            yield (*path, key)
            yield from leaves(content[key], (*path, key))


@pytest.mark.parametrize(
    ("path", "digits"),
    combined(
        sorted(RIGHT),
        ["9" * 5000, "-" + "9" * 5000, "9" * 5000 + ".5", "9" * 5000 + "e-4990", "1e99999"],
        mark=pytest.mark.thorough,
    ),
    ids=lambda value: value[:40],
)
def test_endless_numbers(door: Door, path: str, digits: str) -> None:
    """In every place of a body, and beside what is known: answered or refused in the contract's form."""
    for place in [*leaves(RIGHT[path]), ("unknown",)]:
        request = json.loads(json.dumps(RIGHT[path]))
        owner = request
        for key in place[:-1]:
            owner = owner[key]
        owner[place[-1]] = "DIGITS"
        response = door("POST", path, body=json.dumps(request).replace('"DIGITS"', digits).encode())
        if response.status_code != 200:
            assert response.status_code in (400, 404, 422), (place, response.text)
            assert_error(response, response.status_code)


@pytest.mark.parametrize("body", ["9" * 5000, "[" + "9" * 5000 + "]", '{"a": ' + "9" * 5000 + "}"])
@pytest.mark.parametrize("path", sorted(RIGHT))
def test_bodies_of_endless_numbers(door: Door, path: str, body: str) -> None:
    response = door("POST", path, body=body.encode())
    assert response.status_code in (400, 422)
    assert_error(response, response.status_code)


@pytest.mark.parametrize("many", [3, 3000])
def test_endless_numbers_among_many(door: Door, many: int) -> None:
    """Large arrays are decoded in another way."""
    request = json.dumps({"locations": [{"id": str(i), "coords": {"lat": 1, "lng": 2}} for i in range(many)]})
    for wrong in ('"lat": 1', '"id": "1"'):
        body = request.replace(wrong, wrong.partition(":")[0] + ": " + "9" * 5000, 1).encode()
        info = assert_error(door("POST", "/v4/time-filter", body=body), 422, 2)
        assert any(key.startswith("obj.locations[") for key in info)
