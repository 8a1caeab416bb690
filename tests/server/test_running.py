"""Served for real: addresses, certificates, stopping, hanging up, limits, logs, the command line."""

from __future__ import annotations

import asyncio
import asyncio.selector_events
import base64
import http.client
import json
import logging
import math
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import traveltime_lab as tl
from tests.support import ROOT, worlds
from tests.support.door import (
    HEADERS,
    PAIR,
    STATION,
    Door,
    assert_error,
    coords,
    encoded,
    ok,
    open_door,
    time_map_search,
)
from tests.support.requests import RIGHT
from traveltime_lab.errors import InputError, InterruptedSearchError, MissingFileError
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.search import area_shapes
from traveltime_lab.server import app as application
from traveltime_lab.server import auth, tls
from traveltime_lab.server import warm_up as warming
from traveltime_lab.server.app import create_app
from traveltime_lab.server.atlas import Atlas, Map
from traveltime_lab.server.auth import Credentials
from traveltime_lab.server.config import Options
from traveltime_lab.server.context import Meter
from traveltime_lab.server.contract.errors import Failure
from traveltime_lab.server.serve import Served, serve
from traveltime_lab.settings import settings
from traveltime_lab.surfaces import tiles


@pytest.fixture(scope="module")
def tiny() -> tl.Network:
    """A street of a kilometre."""
    return worlds.world({"a": (0.0, 0.0), "b": (1000.0, 0.0)}, [("a", "b")])


HERE = worlds.at((100.0, 0.0)).iloc[0]
SEARCH = time_map_search(place=(HERE.y, HERE.x), travel_time=60)


def connect(url: Served, **more: Any) -> http.client.HTTPConnection:
    if url.startswith("https"):
        context = ssl.create_default_context(cafile=url.certificate)
        return http.client.HTTPSConnection(url.host, url.port, timeout=30, context=context)
    return http.client.HTTPConnection(url.host, url.port, timeout=30)


def post(url: Served, path: str, content: Any) -> tuple[int, Any]:
    connection = connect(url)
    connection.request("POST", path, encoded(content), url.headers)
    response = connection.getresponse()
    body = json.loads(response.read())
    connection.close()
    return response.status, body


@pytest.mark.slow
def test_serve(tiny: tl.Network) -> None:
    with serve(tiny) as url:
        assert isinstance(url, str) and re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        assert url.app_id and len(url.api_key) >= 32 and url.proto == f"{url}/api/v3"
        status, body = post(url, "/v4/time-map", {"departure_searches": [SEARCH]})
        assert status == 200 and body["results"][0]["shapes"]
        first = url.api_key
    with pytest.raises(ConnectionError):
        connect(url).connect()
    with serve({"here": tiny, "there": tiny}, credentials=[PAIR]) as url:
        assert (url.app_id, url.api_key) == PAIR and url.api_key != first
        status, body = post(url, "/v4/supported-locations", {"locations": [{"id": "x", "coords": SEARCH["coords"]}]})
        assert body["locations"] == [{"id": "x", "map_name": "here", "additional_map_names": ["there"]}]


def test_serve_says_what_is_wrong(tiny: tl.Network, tmp_path: Path) -> None:
    for wrong in ([], {}, 5, ["x"], {"a b": tiny}):
        with pytest.raises(InputError), serve(wrong):
            raise AssertionError
    for pairs in ([], [("a", "")], [("", "b")]):
        with pytest.raises(InputError), serve(tiny, credentials=pairs):
            raise AssertionError
    with pytest.raises(InputError, match="cannot listen"), serve(tiny, host="192.0.2.1"):
        raise AssertionError
    with pytest.raises(InputError, match="cannot listen"), serve(tiny, port=70_000):
        raise AssertionError
    with pytest.raises(MissingFileError), serve(tiny, tls=(tmp_path / "a", tmp_path / "b")):
        raise AssertionError
    with pytest.raises(MissingFileError), serve(tiny, zones=tmp_path / "zones.csv"):
        raise AssertionError


@pytest.mark.slow
def test_tls(tiny: tl.Network) -> None:
    """A client that trusts the certificate gets through with all checks on; the key is nobody else's to read."""
    with serve(tiny, tls=True) as url:
        assert url.startswith("https://127.0.0.1:") and url.certificate is not None
        assert post(url, "/v4/time-map", {"departure_searches": [SEARCH]})[0] == 200
        key = url.certificate.with_name("key.pem")
        if os.name == "posix":
            assert key.stat().st_mode & 0o077 == 0
        stranger = http.client.HTTPSConnection(url.host, url.port, context=ssl.create_default_context())
        with pytest.raises(ssl.SSLCertVerificationError):
            stranger.connect()
        stranger.close()
        with serve(tiny, tls=(url.certificate, key)) as second:
            assert second.startswith("https")
    assert not url.certificate.exists()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Makes searches wait until told, or until nobody waits for them; tells how they ended."""
    state: dict[str, Any] = {"started": threading.Event(), "go": threading.Event(), "ends": []}
    right = area_shapes.draw_shapes

    def shape(*args: Any, **kwargs: Any) -> Any:
        state["started"].set()
        try:
            while not state["go"].wait(0.01):
                checkpoint()
        except BaseException as error:
            state["ends"].append(type(error).__name__)
            raise
        state["ends"].append("done")
        return right(*args, **kwargs)

    monkeypatch.setattr(area_shapes, "draw_shapes", shape)
    yield state
    state["go"].set()


def until(condition: Any, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_hanging_up_stops_the_search(tiny: tl.Network, slow: dict[str, Any]) -> None:
    with serve(tiny) as url:
        connection = connect(url)
        connection.request("POST", "/v4/time-map", encoded({"departure_searches": [SEARCH]}), url.headers)
        assert slow["started"].wait(10)
        connection.close()
        until(lambda: slow["ends"] == ["InterruptedSearchError"])


def test_small_requests_pass_a_long_one(tiny: tl.Network, slow: dict[str, Any]) -> None:
    with serve(tiny) as url:
        waiting = threading.Thread(target=post, args=(url, "/v4/time-map", {"departure_searches": [SEARCH]}))
        waiting.start()
        assert slow["started"].wait(10)
        locations = [{"id": name, "coords": SEARCH["coords"]} for name in "ab"]
        search = {
            "id": "m", "departure_location_id": "a", "arrival_location_ids": ["b"], "travel_time": 60,
            "departure_time": SEARCH["departure_time"], "transportation": {"type": "walking"},
            "properties": ["travel_time"],
        }  # fmt: skip
        assert post(url, "/v4/time-filter", {"locations": locations, "departure_searches": [search]})[0] == 200
        assert slow["ends"] == []
        slow["go"].set()
        waiting.join(10)


@pytest.mark.slow
def test_large_requests_wait_for_each_other(tiny: tl.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as many as there are threads are worked on; small ones go on beside them."""
    monkeypatch.setattr(application, "LARGE_BODY", 2000)
    running, most = threading.Semaphore(0), []
    go, right = threading.Event(), area_shapes.draw_shapes

    def shape(*args: Any, **kwargs: Any) -> Any:
        running.release()
        go.wait(10)
        most.append(1)
        return right(*args, **kwargs)

    monkeypatch.setattr(area_shapes, "draw_shapes", shape)
    large = {"departure_searches": [SEARCH], "x": "y" * 2000}
    with settings.override(threads=1), serve(tiny) as url:
        waiting = [threading.Thread(target=post, args=(url, "/v4/time-map", large)) for _ in range(4)]
        for thread in waiting:
            thread.start()
        assert running.acquire(timeout=10) and running.acquire(timeout=10)
        assert not running.acquire(timeout=0.3)
        small = threading.Thread(target=post, args=(url, "/v4/time-map", {"departure_searches": [SEARCH]}))
        small.start()
        assert running.acquire(timeout=10)
        go.set()
        for thread in (*waiting, small):
            thread.join(10)
    assert len(most) == 5


def test_warm_up(tiny: tl.Network, porto_alegre: tl.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks each map for each usual question, and what a map cannot answer stops nothing."""
    asked, right = [], warming.try_out

    def try_out(item: Map, kind: str, moment: Any) -> None:
        asked.append((item.network, kind))
        right(item, kind, moment)

    monkeypatch.setattr(warming, "try_out", try_out)
    warming.warm_up(Atlas({"tiny": tiny, "porto_alegre": porto_alegre}))
    kinds = [[kind for network, kind in asked if network is each] for each in (tiny, porto_alegre)]
    assert kinds[0] == ["driving", "walking", "driving", "cycling"]
    assert kinds[1] == ["driving", "walking", "public_transport", "driving", "cycling"]


@pytest.mark.slow
def test_stopping_finishes_what_runs(tiny: tl.Network, slow: dict[str, Any]) -> None:
    outcome: list[Any] = []
    with serve(tiny) as url:
        request = {"departure_searches": [SEARCH]}
        waiting = threading.Thread(target=lambda: outcome.append(post(url, "/v4/time-map", request)))
        waiting.start()
        assert slow["started"].wait(10)
        threading.Timer(0.3, slow["go"].set).start()
    waiting.join(10)
    assert outcome[0][0] == 200 and slow["ends"] == ["done"]


def test_its_threads_end_with_it(tiny: tl.Network) -> None:
    before = set(threading.enumerate())
    with serve(tiny) as url:
        assert post(url, "/v4/time-map", {"departure_searches": [SEARCH]})[0] == 200
        mine = {each for each in set(threading.enumerate()) - before if each.name.startswith("traveltime_lab.server")}
        assert len(mine) > 1
    assert not any(each.is_alive() for each in mine)


def test_targets_as_proxies_get_them(tiny: tl.Network) -> None:
    with serve(tiny) as url, socket.create_connection((url.host, url.port), 10) as raw:
        head = "".join(f"{name}: {value}\r\n" for name, value in url.headers.items())
        raw.sendall(f"GET {url}/v4/map-info HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{head}\r\n".encode())
        assert raw.recv(1000).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("version", "headers"),
    [
        ("1.1", ("Content-Length: 5", "Transfer-Encoding: chunked")),
        ("1.1", ("Transfer-Encoding: chunked", "Content-Length: 0")),
        ("1.0", ("Transfer-Encoding: chunked",)),
    ],
)
@pytest.mark.parametrize("path", ["/v4/time-map", "/api/v3/uk/time-filter/fast/driving", "/health", "/nothing"])
def test_ambiguous_lengths_are_refused(tiny: tl.Network, version: str, headers: tuple[str, ...], path: str) -> None:
    """What follows such a request is not answered: a proxy may have taken it for a part of the body."""
    with serve(tiny) as url, socket.create_connection((url.host, url.port), 10) as raw:
        lines = [f"{name}: {value}" for name, value in url.headers.items()]
        first = [f"POST {path} HTTP/{version}", f"Host: {url.host}", *lines, *headers, "", "0", "", ""]
        second = ["GET /health HTTP/1.1", f"Host: {url.host}", "", ""]
        raw.sendall("\r\n".join([*first, *second]).encode())
        answer = b"".join(iter(lambda: raw.recv(65_536), b""))
    assert re.match(rb"HTTP/1\.[01] 400 ", answer) and answer.count(b"HTTP/1.") == 1
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error_code"] == 400


def test_accept_in_several_lines(tiny: tl.Network) -> None:
    with serve(tiny) as url:
        connection = connect(url)
        connection.putrequest("POST", "/v4/time-map")
        body = encoded({"departure_searches": [SEARCH]})
        for name, value in (*url.headers.items(), ("Content-Length", str(len(body)))):
            connection.putheader(name, value)
        connection.putheader("Accept", "application/vnd.wkt+json;q=0.1")
        connection.putheader("Accept", "application/geo+json")
        connection.endheaders(body)
        response = connection.getresponse()
        assert response.getheader("content-type") == "application/geo+json" and response.read()
        connection.close()


def test_hanging_up_stops_what_other_threads_do(tiny: tl.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of a shape are made on several threads, which know, too, whether anybody waits."""
    begun: list[str] = []
    ends: list[str] = []

    def make(*_: Any) -> Any:
        begun.append(threading.current_thread().name)
        try:
            for _ in range(1000):
                checkpoint()
                time.sleep(0.01)
        except InterruptedSearchError:
            ends.append(threading.current_thread().name)
            raise

    monkeypatch.setattr(tiles.TileCache, "_make", make)
    world = worlds.world({"a": (0.0, 0.0), "b": (9000.0, 0.0)}, [("a", "b")])
    with settings.override(threads=2), serve(world) as url:
        connection = connect(url)
        request = {"departure_searches": [{**SEARCH, "travel_time": 3600}]}
        connection.request("POST", "/v4/time-map", encoded(request), url.headers)
        until(lambda: len(set(begun)) == 2)
        connection.close()
        until(lambda: len(set(ends)) == 2)


@pytest.mark.parametrize("with_tls", [False, True])
def test_small_packets_are_sent_at_once(tiny: tl.Network, monkeypatch: pytest.MonkeyPatch, with_tls: bool) -> None:
    """Otherwise each answer over a connection that stays open takes 40 ms: its body waits for the client's ACK."""
    set_at: list[int] = []
    made = asyncio.selector_events._SelectorSocketTransport.__init__

    def make(self: Any, loop: Any, sock: socket.socket, *rest: Any, **more: Any) -> None:
        made(self, loop, sock, *rest, **more)
        set_at.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(asyncio.selector_events._SelectorSocketTransport, "__init__", make)
    with serve(tiny, tls=with_tls) as url, socket.create_connection((url.host, url.port), 10) as raw:
        raw.settimeout(10)
        until(lambda: set_at == [1] if not with_tls else bool(set_at))
    assert set(set_at) == {1}


@pytest.mark.slow
def test_timeout(tiny: tl.Network, slow: dict[str, Any]) -> None:
    with serve(tiny, timeout_s=0.2) as url:
        status, body = post(url, "/v4/time-map", {"departure_searches": [SEARCH]})
        assert status == 408 and body["http_status"] == 408
        until(lambda: slow["ends"] == ["InterruptedSearchError"])


@pytest.mark.slow
def test_slow_upload(tiny: tl.Network) -> None:
    with serve(tiny, timeout_s=0.3) as url, socket.create_connection((url.host, url.port), 10) as raw:
        head = "".join(f"{name}: {value}\r\n" for name, value in url.headers.items())
        raw.sendall(f"POST /v4/time-map HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n{head}\r\n{{".encode())
        assert raw.recv(1000).startswith(b"HTTP/1.1 408 ")


def test_body_limit(tiny: tl.Network) -> None:
    with serve(tiny, body_limit=1000) as url:
        status, body = post(url, "/v4/time-map", {"x": "y" * 3000})
        assert status == 413 and body["http_status"] == 413
        assert post(url, "/v4/time-map", {"departure_searches": [SEARCH], "x": "y" * 500})[0] == 200


def test_rate_limit(tiny: tl.Network) -> None:
    atlas = Atlas(tiny)
    with open_door(create_app(atlas, Credentials([PAIR, ("b", "c")]), Options(hits_per_minute=5))) as door:
        request = {"departure_searches": [SEARCH], "unions": [{"id": "u", "search_ids": ["a"]}]}
        for _ in range(2):
            ok(door.post("/v4/time-map", request))
        refused = door.post("/v4/time-map", request)
        assert_error(refused, 429)
        assert 0 < int(refused.headers["retry-after"]) <= 60
        ok(door.get("/v4/map-info"))
        ok(door.post("/v4/time-map", request, headers={"X-Application-Id": "b", "X-Api-Key": "c"}))


def test_meter() -> None:
    now = 0.0
    meter = Meter(10, clock=lambda: now)
    meter.take("a", 10)
    with pytest.raises(Failure) as caught:
        meter.take("a", 1)
    assert caught.value.status == 429
    meter.take("b", 10)
    now = 60.0
    meter.take("a", 10)


def test_log(tiny: tl.Network, caplog: pytest.LogCaptureFixture) -> None:
    """A line for each request, on one line, without query strings and without any key."""
    with open_door(create_app(Atlas(tiny), Credentials([PAIR]))) as door, caplog.at_level(logging.DEBUG):
        door.post("/v4/time-map", {"departure_searches": [SEARCH]})
        door.get("/v4/map-info", {"app_id": PAIR[0], "api_key": PAIR[1]}, headers={})
        door.get("/v4/map-info", {"app_id": PAIR[0], "api_key": "a wrong key"}, headers={})
        door.get("/no%0Athing")
        for path in ("/v4/map-info;api_key={}", "/v4/map-info%3Fapi_key={}", "/{0}:{0}@host/v4"):
            door.get(path.format(PAIR[1]))
        with serve(tiny, credentials=[PAIR]) as url:
            targets = (
                "HTTP://app_id:{}@host/v4/map-info",
                "hTTps://{}@host",
                "http://host/v4?api_key={}",
                "//a:{}@host/v4",
            )
            for target in targets:
                with socket.create_connection((url.host, url.port), 10) as raw:
                    raw.sendall(f"GET {target.format(PAIR[1].replace(' ', '%20'))} HTTP/1.0\r\n\r\n".encode())
                    assert raw.recv(1000)
    lines = [record.getMessage() for record in caplog.records if record.name == "traveltime_lab.access"]
    assert len(lines) == 11 and not any("\n" in line for line in lines)
    assert re.search(r"method=POST path='/v4/time-map' status=200 bytes=\d+ ms=.* validate_ms=.* engine_ms=", lines[0])
    assert "path='/v4/...'" in lines[4] and "path='/v4/map-info'" in lines[7]
    assert "status=200" in lines[1] and "status=401" in lines[2] and "status=404" in lines[3]
    said = "\n".join(
        record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))
    )
    for secret in (PAIR[1], "a wrong key", "api_key"):
        assert secret not in said


def test_bugs_are_logged_but_not_told(
    tiny: tl.Network, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr(area_shapes, "draw_shapes", broken)
    with open_door(create_app(Atlas(tiny), Credentials([PAIR]))) as door:
        response = door.post("/v4/time-map", {"departure_searches": [SEARCH]})
    assert_error(response, 500)
    assert "secret" not in response.text and "a secret detail" in caplog.text


# Credentials ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_certificates_that_are_none(tiny: tl.Network, tmp_path: Path) -> None:
    """Of an encrypted key, OpenSSL asked the terminal for the password, and the start waited."""
    from cryptography.hazmat.primitives import serialization

    certificate, key = tls.write_certificate(tmp_path, "127.0.0.1")
    secret = tmp_path / "secret.pem"
    forms = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"x")
    found = serialization.load_pem_private_key(key.read_bytes(), None)
    secret.write_bytes(found.private_bytes(*forms))
    (tmp_path / "empty").write_bytes(b"")
    for pair in [(certificate, secret), (key, certificate), (certificate, tmp_path / "empty")]:
        with pytest.raises(InputError, match="are not a certificate and its key in PEM"), serve(tiny, tls=pair):
            pytest.fail("it must not start")
    with serve(tiny, tls=(certificate, key)) as url:
        assert url.certificate == certificate


def test_where_credentials_come_from(tmp_path: Path) -> None:
    file = tmp_path / "pairs"
    file.write_text("# mine\n\n  a:b \nc:d:e\n", encoding="utf-8")
    found = auth.find_pairs(["x:y"], file, {auth.VARIABLE: "p:q, r:s\nt:u"})
    assert found == [("x", "y"), ("a", "b"), ("c", "d:e"), ("p", "q"), ("r", "s"), ("t", "u")]
    assert auth.find_pairs(environment={}) == []
    for wrong in ("secret", ":secret", "secret:"):
        with pytest.raises(InputError) as caught:
            auth.find_pairs([wrong], environment={})
        assert "secret" not in str(caught.value)
    with pytest.raises(MissingFileError):
        auth.find_pairs(file=tmp_path / "none")
    file.write_bytes(b"\xef\xbb\xbfa:b\n")
    assert auth.find_pairs(file=file, environment={}) == [("a", "b")]
    file.write_bytes(b"a:b\nc:\xe9\n")
    with pytest.raises(InputError, match=r"pairs is not in UTF-8 .* at byte 6.; save it in UTF-8"):
        auth.find_pairs(file=file, environment={})


def test_pairs_are_compared_whole() -> None:
    known = Credentials([("ab", "c"), ("é", "ü")])
    assert known.accept("ab", "c") and known.accept("é", "ü")
    for pair in [("a", "bc"), ("abc", ""), ("ab", "c "), ("", ""), (None, None), ("ab", None), ("\udce9", "x")]:
        assert not known.accept(*pair)
    assert "ab" not in repr(known)


@pytest.mark.parametrize(
    ("header", "pair"),
    [
        ("Basic YTpi", ("a", "b")),
        ("basic  YTpiOmM=", ("a", "b:c")),
        ("Basic YQ==", (None, None)),
        ("Basic ???", (None, None)),
        ("Basic /w==", (None, None)),
        ("Basic w6k6w7w=", ("é", "ü")),
        ("Basic 6Tr8", ("é", "ü")),
        ("Bearer YTpi", (None, None)),
        ("", (None, None)),
        (None, (None, None)),
    ],
)
def test_basic(header: str | None, pair: tuple[str | None, str | None]) -> None:
    assert auth.basic_pair(header) == pair


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_keys_that_are_not_ascii(tiny: tl.Network, encoding: str) -> None:
    """One rule for headers and Basic, whichever encoding a client has chosen."""
    pair = ("prénom", "clé-ü")
    octets = [part.encode(encoding) for part in pair]
    with serve(tiny, credentials=[pair]) as url:
        basic = b"Basic " + base64.b64encode(b":".join(octets))
        for path, headers in (
            ("/v4/map-info", {"X-Application-Id": octets[0], "X-Api-Key": octets[1]}),
            ("/api/v3/uk/time-filter/fast/driving", {"Authorization": basic}),
        ):
            connection = connect(url)
            connection.request("GET" if path.startswith("/v4") else "POST", path, b"", headers)
            assert connection.getresponse().status != 401
            connection.close()


# Maps -----------------------------------------------------------------------------------------------------------------


def test_the_place_decides_the_map(door: Door, porto_alegre: tl.Network, helsinki: tl.Network) -> None:
    searches = [time_map_search("north"), time_map_search("south", (-30.027565, -51.227811))]
    results = ok(door.post("/v4/time-map", {"departure_searches": searches}))["results"]
    assert all(result["shapes"] for result in results)


def test_overlapping_maps() -> None:
    """Of maps that cover the place the one with most targets answers, the smallest of several."""
    small = worlds.world({"a": (0.0, 0.0), "b": (1000.0, 0.0)}, [("a", "b")])
    large = worlds.world({"a": (0.0, 0.0), "b": (9000.0, 0.0)}, [("a", "b")])
    atlas = Atlas({"large": large, "small": small})
    near, far = worlds.at((500.0, 0.0), (8000.0, 0.0))
    here = near.x, near.y

    def chosen(*places: Any) -> Any:
        import numpy as np

        found = atlas.choices(*here, np.array([p.x for p in places]), np.array([p.y for p in places]))
        return found[0][0].name, found[0][1].tolist()

    assert [item.name for item in atlas.covering(*here)] == ["small", "large"]
    assert chosen(near) == ("small", [True])
    assert chosen(near, far) == ("large", [True, True])
    assert chosen() == ("small", [])
    assert atlas.covering(0.0, 50.0) == []


# The command line -----------------------------------------------------------------------------------------------------


def serve_command(arguments: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "traveltime_lab", "serve", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
        cwd=ROOT,
    )


def read_until(process: subprocess.Popen[str], pattern: str) -> str:
    text = ""
    assert process.stdout is not None
    for line in process.stdout:
        text += line
        if re.search(pattern, line):
            return text
    raise AssertionError(text)


@pytest.mark.skipif(os.name == "nt", reason="no SIGTERM")
@pytest.mark.slow
def test_command(tiny: tl.Network, tmp_path: Path) -> None:
    """Prints address and credentials, answers its own example, and stops when told."""
    file = tiny.save(tmp_path / "tiny.network")
    with serve_command([str(file)], {auth.VARIABLE: ""}) as process:
        try:
            said = read_until(process, "Ctrl")
            example = re.search(r"curl '(http://[^/]+)(/\S+)' -H 'X-Application-Id: (\w+)' -H 'X-Api-Key: (\w+)'", said)
            assert example is not None, said
            address, path, name, key = example.groups()
            connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=30)
            connection.request("GET", path, headers={"X-Application-Id": name, "X-Api-Key": key})
            response = connection.getresponse()
            body = json.loads(response.read())
            connection.close()
            assert response.status == 200 and body["results"][0]["shapes"]
            link = re.search(rf"{address}(/\?token=(\S+))", said)
            assert link is not None, said
            for has_cookie in (True, False):
                connection.request("GET", link[1])
                response = connection.getresponse()
                response.read()
                assert response.status == 303 and ("set-cookie" in response.headers) == has_cookie
            connection.close()
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        log = process.stdout.read()
        process.wait(30)
    assert "status=200" in log and key not in log and link[2] not in log and "Traceback" not in log


@pytest.mark.skipif(os.name == "nt", reason="no SIGTERM")
@pytest.mark.slow
def test_command_with_configured_credentials(tiny: tl.Network, tmp_path: Path) -> None:
    file = tiny.save(tmp_path / "tiny.network")
    with serve_command(["--tls", "--quiet", f"here={file}"], {auth.VARIABLE: "me:a-secret-key"}) as process:
        said = read_until(process, "Ctrl")
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        said += process.stdout.read()
        process.wait(30)
    assert "Serving here at https://127.0.0.1" in said and "a-secret-key" not in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.network"], "no saved network"),
        (["--certificate", "x.pem"], "must be given together"),
        (["--credentials", "nocolon"], "ID:KEY"),
        (["--timeout", "0"], "positive"),
        (["--zones", "none.csv", "porto_alegre"], "no table of zones"),
        (["--allow-origin", "localhost:3000", "porto_alegre"], "an origin must be such as"),
    ],
)
def test_command_errors(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], porto_alegre: tl.Network
) -> None:
    from traveltime_lab import cli

    assert cli.main(["serve", "--port", "0", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_right_requests_over_a_socket(served: Served) -> None:
    for path, request in RIGHT.items():
        status, body = post(served, path, request)
        assert status in (200, 404), body
    assert coords(STATION) and HEADERS


@pytest.mark.parametrize("seconds", [0, -1, 86_401, math.inf, math.nan])
def test_connections_may_be_idle_for_a_day_at_most(tiny: tl.Network, seconds: float) -> None:
    with (
        pytest.raises(tl.LimitError, match="idle_s must be above 0 and at most 86,400 seconds"),
        serve(tiny, idle_s=seconds),
    ):
        raise AssertionError("served")
