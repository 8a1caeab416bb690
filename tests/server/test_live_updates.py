"""The service applies live updates while it answers, and says what became of them."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import itertools
import json
import logging
import math
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

pytest.importorskip("starlette", reason="the extra 'server' is not installed")

import traveltime_lab as tl
from tests.support import ROOT, towns
from tests.support.combinations import first_of
from tests.support.door import PAIR, coords
from tests.support.logs import messages
from tests.support.worlds import at
from traveltime_lab import cli
from traveltime_lab.realtime.json_messages import to_bytes
from traveltime_lab.realtime.schema import PLACES
from traveltime_lab.server import live, live_readers
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.live import Live, check_times
from traveltime_lab.server.live_readers import AddressReader, FileReader, SourceError
from traveltime_lab.server.live_sources import UpdateSource, checked, parsed, update_sources
from traveltime_lab.server.serve import Served, serve
from traveltime_lab.server.serving import Serving

A, B = ((point.y, point.x) for point in at((0.0, 0.0), (3000.0, 0.0)))
DAY, NOW = "20260302", 1_772_438_400  # 08:00 UTC


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    return towns.town(tmp_path_factory.mktemp("town"))


def late(delay: int, timestamp: int | None = NOW, **more: Any) -> bytes:
    """Return a message: the bus from a to b is late, and a trip is unknown."""
    header = {"gtfs_realtime_version": "2.0"} | ({} if timestamp is None else {"timestamp": timestamp})
    updates = [
        {"id": name, "trip_update": {"trip": {"trip_id": name, "start_date": DAY}, "delay": delay}}
        for name in ("t0", "unknown")
    ]
    return json.dumps({"header": header, "entity": updates, **more}).encode()


#: Moments at which files are said to have been written, each before the last.
PAST = itertools.count(1_499_999_999, -1)


def put(path: Path, content: bytes) -> None:
    """Replace a file in one step; it looks as if it had been there for a while."""
    part = path.with_name("part")
    part.write_bytes(content)
    moment = next(PAST)
    os.utime(part, (moment, moment))
    part.replace(path)


def seconds(url: Served, n_searches: int = 1) -> int:
    """Return the travel time from a to b, which is the same in all searches of a request."""
    search = {
        "departure_location_id": "a", "arrival_location_ids": ["b"], "travel_time": 7200,
        "properties": ["travel_time"], "transportation": {"type": "bus"}, "departure_time": "2026-03-02T08:00:00Z",
    }  # fmt: skip
    body = {
        "locations": [{"id": name, "coords": coords(place)} for name, place in (("a", A), ("b", B))],
        "departure_searches": [{**search, "id": str(i)} for i in range(n_searches)],
    }
    response = requests.post(f"{url}/v4/time-filter", json=body, headers=url.headers, timeout=30)
    assert response.status_code == 200, response.text
    (found,) = {each["locations"][0]["properties"][0]["travel_time"] for each in response.json()["results"]}
    return int(found)


def said(url: Served) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = requests.get(f"{url}/health", timeout=30).json()["updates"]
    return found


def wait_for(condition: Callable[[], object]) -> None:
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it does not happen")


class Following:
    """The sources of a service, looked at when a test says so."""

    def __init__(self, networks: dict[str, tl.Network], *sources: UpdateSource, max_age: float = 600.0) -> None:
        self.now = float(NOW)
        self.serving = Serving(Atlas(networks))
        self.serving.is_ready = True
        self.set_s = 0.0
        clock = lambda: self.now + self.set_s  # noqa: E731
        self.live = Live(self.serving, checked(sources, networks), 30.0, max_age, clock, lambda: self.now)
        self.serving.follow(self.live)

    def look(self) -> list[dict[str, Any]]:
        for each in self.live._followers:
            each.look()
        self.live.refresh()
        return [each.described() for each in self.live.statuses()]

    @property
    def network(self) -> tl.Network:
        return self.serving.atlas.maps[0].network

    @property
    def delay(self) -> int:
        """Return by how much the bus is late, in seconds."""
        found = tl.time_filter(
            self.network, at((0.0, 0.0)), at((3000.0, 0.0)), travel_time=7200, transportation="bus",
            departure_time="2026-03-02T08:00:00",
        )  # fmt: skip
        return int(found["travel_time"].iloc[0]) - 300


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "trips.json"


@pytest.fixture
def following(planned: tl.Network, file: Path) -> Following:
    return Following({"town": planned}, UpdateSource(str(file)))


@pytest.mark.slow
def test_the_twin_is_the_library(following: Following, planned: tl.Network, file: Path) -> None:
    for delay in (60, 120):
        put(file, late(delay))
        following.look()
        assert following.delay == delay
        assert following.network.fingerprint == planned.with_updates(late(delay)).fingerprint


def test_what_health_says(following: Following, file: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "traveltime_lab.server.live")
    basic = {"map": "town", "source": "trips.json", "in_use": False, "applied": 0, "not_applied": 0, "alerts": 0}
    reason = "there is no such file"
    assert following.look() == [{**basic, "status": "failed", "reason": reason}]
    put(file, late(60))
    following.now += 5
    when = {"age": 5, "timestamp": "2026-03-02T08:00:00Z"}
    good = {**basic, "status": "ok", "in_use": True, **when, "applied": 1, "not_applied": 1}
    assert following.look() == [good] == following.look()
    for content, text in (
        (b"", "header"),
        (late(60)[:-9], "trips.json is"),
        (b"<html>", "a web page"),
        (b"\xff", "byte 0"),
    ):
        put(file, content)
        (found,) = following.look()
        assert text in found.pop("reason"), found
        assert found == {**good, "status": "failed"} and following.delay == 60
    file.unlink()
    assert following.look()[0]["reason"] == reason and following.delay == 60
    put(file, late(60))
    assert following.look() == [good]
    heard = messages(caplog)
    assert len(heard) == 5, heard
    assert heard[0].endswith("none of its messages is in use: there is no such file")
    assert "its last message stays in use" in heard[2]
    assert heard[1] == heard[4] == "map=town updates=trips.json in use: applied=1 not_applied=1 alerts=0"


def test_a_fault_is_logged_once(following: Following, file: Path, caplog: pytest.LogCaptureFixture) -> None:
    put(file, b"x")
    for _ in range(5):
        following.look()
    put(file, b"y")
    following.look()
    assert len(messages(caplog, logging.WARNING)) == 1


@pytest.mark.slow
def test_an_old_message_gives_way_to_the_plan(
    following: Following, file: Path, planned: tl.Network, caplog: pytest.LogCaptureFixture
) -> None:
    put(file, late(60))
    following.look()
    following.now += 600
    following.look()
    assert following.delay == 60
    following.now += 1
    (found,) = following.look()
    assert (found["status"], found["in_use"], found["age"]) == ("old", False, 601) and found["applied"] == 0
    assert following.network is planned
    put(file, late(90, NOW + 600))
    assert following.look()[0]["status"] == "ok" and following.delay == 90
    assert messages(caplog, logging.WARNING) == [
        "map=town updates=trips.json: its message is older than 600 s, none of its messages is in use"
    ]


@pytest.mark.parametrize("timestamp", [NOW + 10**6, 10**12, None])
def test_messages_of_a_time_to_come_grow_old(following: Following, file: Path, timestamp: int | None) -> None:
    put(file, late(60, timestamp))
    following.look()
    assert following.delay == 60
    following.now += 500
    following.look()
    file.unlink()
    following.now += 500
    (found,) = following.look()
    assert found["in_use"] is (timestamp != NOW + 10**6), "a message without a time is as old as the last look"
    following.now += 101
    assert not following.look()[0]["in_use"]


def test_no_limit_of_age(planned: tl.Network, file: Path) -> None:
    following = Following({"town": planned}, UpdateSource(str(file)), max_age=math.inf)
    put(file, late(60, 1))
    following.look()
    assert following.delay == 60 and following.live._patience_s() is None


def test_unchanged_bytes_are_not_applied_again(
    following: Following, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(file, late(60))
    following.look()
    monkeypatch.setattr(tl.Network, "with_updates", lambda *_: pytest.fail("applied again"))
    network = following.network
    following.look()
    put(file, late(60))
    following.look()
    (status,) = following.live.statuses()
    assert following.network is network and status.looks == {"changed": 1, "unchanged": 2, "failed": 0}


def test_several_sources_and_networks(planned: tl.Network, tmp_path: Path) -> None:
    one, two, other = (tmp_path / name for name in ("1.pb", "2.pb", "3.pb"))
    assert planned.timetable is not None
    feed = str(planned.timetable.feeds["name"].iloc[0])
    sources = update_sources({"town": {feed: [one, two]}, "twin": str(other)}, ("town", "twin"))
    assert [(each.map, each.feed) for each in sources] == [("town", feed), ("town", feed), ("twin", None)]
    following = Following({"town": planned, "twin": planned}, *sources)
    alert = {"header_text": {"translation": [{"text": "Works"}]}, "informed_entity": [{"stop_id": "a"}]}
    put(one, late(60))
    put(two, json.dumps({"header": {"timestamp": NOW}, "entity": [{"id": "1", "alert": alert}]}).encode())
    found = following.look()
    assert [each["in_use"] for each in found] == [True, True, False]
    assert [(each["applied"], each["not_applied"], each["alerts"]) for each in found] == [
        (1, 1, 0),
        (0, 0, 1),
        (0, 0, 0),
    ]
    assert found[0]["feed"] == feed and "feed" not in found[2]
    first, second = (item.network for item in following.serving.atlas.maps)
    assert (first.updates is None) != (second.updates is None)
    put(one, b"broken")
    put(other, late(300))
    assert [each["in_use"] for each in following.look()] == [True, True, True], "each by itself"


def test_updates_that_cannot_be_applied(
    following: Following, file: Path, planned: tl.Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(file, late(60))
    following.look()

    def broken(*_given: object) -> None:
        raise ValueError("a fault")

    with monkeypatch.context() as patch:
        patch.setattr(tl.Network, "with_updates", broken)
        put(file, late(120))
        (found,) = following.look()
        assert found["status"] == "failed" and found["in_use"]
        assert found["reason"] == "it cannot be applied: ValueError"
    assert following.delay == 60
    put(file, late(180))
    assert following.look()[0]["status"] == "ok" and following.delay == 180


@pytest.mark.parametrize("guilty", first_of(1, [1, 0, 2], mark=pytest.mark.thorough, few=pytest.mark.slow))
def test_one_source_of_several_cannot_be_applied(
    planned: tl.Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guilty: int
) -> None:
    """Only that one fails: the others get newer, and its last message is used until it is too old."""
    files = [tmp_path / f"{number}.json" for number in range(3)]
    following = Following({"town": planned}, *(UpdateSource(str(each)) for each in files))
    apply, n_applied = tl.Network.with_updates, 0

    def poisoned(network: tl.Network, given: Any) -> tl.Network:
        nonlocal n_applied
        n_applied += 1
        if any(b"POISON" in each.content for each in given):
            raise tl.InputError("it is bad; got POISON")
        return apply(network, given)

    monkeypatch.setattr(tl.Network, "with_updates", poisoned)
    others = [number for number in range(3) if number != guilty]
    put(files[guilty], late(60))
    for number in others:
        put(files[number], late(0, entity=[]))
    assert all(each["in_use"] for each in following.look()) and following.delay == 60
    poison = [{"id": "POISON", "trip_update": {"trip": {"trip_id": "POISON"}}}]
    put(files[guilty], late(0, NOW + 1, entity=poison))
    for passed, is_used in ((300, True), (590, True), (601, False), (900, False)):
        following.now = NOW + passed
        put(files[guilty], late(0, NOW + passed, entity=poison))
        for number in others:
            put(
                files[number],
                late(100, NOW + passed) if number == others[-1] and not is_used else late(0, NOW + passed, entity=[]),
            )
        found = following.look()
        assert [each["status"] for each in found] == ["failed" if n == guilty else "ok" for n in range(3)]
        assert [each["in_use"] for each in found] == [is_used or n != guilty for n in range(3)]
        assert [each["age"] for each in found] == [passed if n == guilty and is_used else 0 for n in range(3)]
        assert found[guilty]["reason"] == "it cannot be applied: it is bad"
        assert following.delay == (60 if is_used else 100)
    n_applied = 0
    following.look()
    assert not n_applied, "nothing is tried again"
    put(files[guilty], late(180, NOW + 900))
    put(files[others[-1]], late(0, NOW + 900, entity=[]))
    assert {each["status"] for each in following.look()} == {"ok"} and following.delay == 180


@pytest.mark.slow
def test_a_reload_with_other_feeds(planned: tl.Network, tmp_path: Path) -> None:
    """A source whose feed is gone is the only one that fails."""
    assert planned.timetable is not None
    one, two = tmp_path / "1.json", tmp_path / "2.json"
    feed = str(planned.timetable.feeds["name"].iloc[0])
    following = Following({"town": planned}, UpdateSource(str(one)), UpdateSource(str(two), None, feed))
    put(one, late(60))
    put(two, late(0, entity=[]))
    assert [each["in_use"] for each in following.look()] == [True, True] and following.delay == 60
    other = towns.timetable(tmp_path, towns.STOPS, towns.TRIPS)
    other = other.rename(other.with_stem("renamed"))
    following.serving.exchange(Atlas({"town": tl.build_network(towns.STREETS, gtfs=other, timezone="UTC")}))
    first, second = following.look()
    assert following.delay == 60 and first["status"] == "ok" and second["status"] == "failed"
    assert (
        second["reason"].startswith("it cannot be applied: no feed of the network is called") and not second["in_use"]
    )
    following.serving.exchange(Atlas({"town": planned}))
    assert [each["status"] for each in following.look()] == ["ok", "ok"]


def test_the_clock_is_set(following: Following, file: Path) -> None:
    """Ages grow also while the clock of the machine is set back, and with it when it is set forward."""
    put(file, late(60, NOW - 100))
    following.look()
    file.unlink()
    following.set_s = -7200.0
    following.now += 500
    (found,) = following.look()
    assert found["in_use"] and found["age"] == 600
    following.now += 1
    assert not following.look()[0]["in_use"]
    put(file, late(60, NOW + 501 - 7200))
    assert following.look()[0]["in_use"]
    following.set_s = 0.0
    assert following.look()[0]["age"] == 7200


def test_an_older_message_is_passed_over(following: Following, file: Path) -> None:
    """Unless the last one is of a time to come, or cannot be applied."""
    put(file, late(60, NOW))
    following.look()
    for timestamp in (NOW - 1, NOW - 500):
        put(file, late(300, timestamp))
        (found,) = following.look()
        assert (found["status"], found["age"], following.delay) == ("ok", 0, 60)
    put(file, late(120, NOW + 1000))
    following.look()
    put(file, late(180, NOW + 10))
    following.look()
    assert following.delay == 180
    put(file, late(240, None))
    following.look()
    assert following.delay == 240


def test_a_network_that_is_gone_is_not_prepared_again(
    following: Following, file: Path, planned: tl.Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(file, late(60))
    following.look()
    following.serving.exchange(Atlas({"else": planned}))
    monkeypatch.setattr(following.serving, "refresh", lambda: pytest.fail("prepared again"))
    (found,) = following.look()
    assert not found["in_use"] and (found["applied"], found["not_applied"]) == (0, 0)


@pytest.mark.slow
def test_reasons_have_nothing_of_a_message(
    planned: tl.Network, agency: Agency, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever value has the wrong type, at any place of a message."""
    following = Following({"town": planned}, UpdateSource(f"http://127.0.0.1:{agency.server_port}/good"))
    secret = "secret\x1b[2J\nsecret"
    wrong: list[Any] = [
        secret,
        {"header": secret},
        {"header": {}, "entity": secret},
        {"header": {}, "entity": [secret]},
    ]
    for place in PLACES:
        for name, (_, what) in place.fields.items():
            value: Any = {name: [secret] if what == "text" else secret}
            for outer in reversed(place.path.split(".") if place.path else []):
                value = {outer: value}
            wrong.append({"header": {}, **value})
    n_failed = 0
    for each in wrong:
        agency.content = json.dumps(each).encode()
        (found,) = following.look()
        n_failed += found["status"] == "failed"
        assert "secret" not in json.dumps(found) and found.get("reason", "").isprintable()
    assert n_failed > 40
    agency.content = f'{{"header": {secret}'.encode()
    assert following.look()[0]["status"] == "failed"
    assert "secret" not in caplog.text


@pytest.mark.slow
def test_a_reload_keeps_the_updates(following: Following, file: Path, tmp_path: Path, planned: tl.Network) -> None:
    put(file, late(60))
    following.look()
    other = planned.with_changes([tl.CloseStreets(edges=[1], modes="cycling")])
    following.serving.exchange(Atlas({"town": other}))
    assert following.delay == 60 and following.network._planned is other
    (found,) = following.look()
    assert found["status"] == "ok"
    without = tl.build_network(towns.STREETS, timezone="UTC")
    following.serving.exchange(Atlas({"town": without}))
    (found,) = following.look()
    assert found["status"] == "failed" and not found["in_use"] and "needs a timetable" in found["reason"]
    assert following.network is without
    following.serving.exchange(Atlas({"else": planned}))
    (found,) = following.look()
    assert following.network is planned and not found["in_use"]
    assert (found["status"], found["reason"]) == ("failed", "a reload has left no network of this name")
    following.serving.exchange(Atlas({"town": planned}))
    assert following.delay == 60


@pytest.mark.slow
def test_former_networks_are_forgotten(following: Following, file: Path) -> None:
    import gc

    gone = []
    for delay in (60, 120, 180):
        put(file, late(delay))
        following.look()
        assert following.delay == delay
        gone.append(weakref.ref(following.network))
    gc.collect()
    assert [each() is None for each in gone] == [True, True, False]


@pytest.mark.slow
def test_map_info_is_that_of_the_plan(planned: tl.Network, file: Path) -> None:
    """Even if no trip is left on the last day of the timetable."""
    trips = [{"trip_id": name, "start_date": "20261231", "schedule_relationship": "CANCELED"} for name in ("t0", "t1")]
    entities = [{"id": each["trip_id"], "trip_update": {"trip": each}} for each in trips]
    put(file, late(60, int(time.time()), entity=entities))
    with serve({"town": planned}, credentials=[PAIR]) as url:
        expected = requests.get(f"{url}/v4/map-info", headers=url.headers, timeout=30).json()
    with serve({"town": planned}, credentials=[PAIR], updates=file) as url:
        assert said(url)[0]["applied"] == 2
        assert requests.get(f"{url}/v4/map-info", headers=url.headers, timeout=30).json() == expected


# Files ----------------------------------------------------------------------------------------------------------------


def test_a_file_that_is_being_written(file: Path) -> None:
    slept: list[float] = []

    def wait(some_s: float) -> bool:
        slept.append(some_s)
        if len(slept) == 1:
            with file.open("ab") as more:
                more.write(b"rest")
        elif len(slept) > 2:
            os.utime(file, (1, 1))
        return False

    file.write_bytes(b"half ")
    assert FileReader(file, 30.0, wait).read() == b"half rest" and set(slept) == {1.0}
    file.write_bytes(b"again")
    assert FileReader(file, 0.4, lambda some_s: True).read() is None, "the service stops"

    def touch(some_s: float) -> bool:
        file.write_bytes(file.read_bytes() + b".")
        return False

    with pytest.raises(SourceError, match="replace it in one step"):
        FileReader(file, 30.0, touch).read()


def test_what_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reads(path: Path) -> str:
        with pytest.raises(SourceError) as caught:
            FileReader(path, 1.0, lambda some_s: False).read()
        assert str(tmp_path) not in str(caught.value)
        return str(caught.value)

    assert reads(tmp_path) == "it is a folder; name its files"
    assert reads(tmp_path / "x" / "y") == "there is no such file"
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert "a pipe" in reads(tmp_path / "pipe")
    monkeypatch.setattr(live_readers, "MOST_BYTES", 3)
    put(tmp_path / "large", b"1234")
    assert "more than 3 bytes" in reads(tmp_path / "large")


# Addresses ------------------------------------------------------------------------------------------------------------


class Agency(http.server.ThreadingHTTPServer):
    """A server of messages with an odd answer for each path."""

    daemon_threads = True
    block_on_close = False
    content = b"0"
    release = threading.Event()
    asked: list[tuple[str, str | None]]
    away = ""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Agency
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        name = self.path.partition("?")[0].rpartition("/")[2]
        self.server.asked.append((self.path, self.headers["If-None-Match"]))
        getattr(self, f"do_{name}")()

    def _send(self, content: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content_Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(content)
        self.close_connection = True

    def do_good(self) -> None:
        mark = f'"{hash(self.server.content)}"'
        if self.headers["If-None-Match"] == mark:
            self.send_response(304)
            self.end_headers()
            self.close_connection = True
        else:
            self._send(self.server.content, ETag=mark)

    def do_packed(self) -> None:
        self._send(gzip.compress(self.server.content), Content_Encoding="gzip")

    def do_html(self) -> None:
        self._send(b"<!doctype html><p>Sign in", ETag='"html"')

    def do_500(self) -> None:
        self._send(b"Traceback", 500)

    def do_to_good(self) -> None:
        self._send(b"x" * 1000, 302, Location="/good")

    def do_loop(self) -> None:
        self._send(b"", 301, Location="/loop")

    def do_chain(self) -> None:
        self._send(b"", 307, Location=f"/chain?{len(self.server.asked)}")

    def do_304(self) -> None:
        self.send_response(304)
        self.end_headers()

    def do_odd(self) -> None:
        self.wfile.write(b"HTTP/1.1 500 \x1b[2Jsecret " + b"x" * 1000 + b"\r\nContent-Length: 0\r\n\r\n")
        self.close_connection = True

    def do_stuck(self) -> None:
        if self.headers["If-None-Match"]:
            self._send(b"", 412)
        else:
            self._send(self.server.content, ETag='"x"')

    def do_away(self) -> None:
        self._send(b"", 302, Location=self.server.away)

    def do_local(self) -> None:
        self._send(b"", 302, Location="file:///etc/hostname")

    def do_ftp(self) -> None:
        self._send(b"", 302, Location="ftp://127.0.0.1/x")

    def do_short(self) -> None:
        self._send(self.server.content, Content_Length=str(len(self.server.content) + 1))

    def do_long(self) -> None:
        self._send(b"", Content_Length=str(10**10))

    def do_endless(self) -> None:
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):
            while not self.server.release.is_set():
                self.wfile.write(b"\n" * 65536)

    def do_chunks(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"5\r\nhal")
        self.close_connection = True

    def do_hang(self) -> None:
        self.server.release.wait(30)
        self.close_connection = True

    def do_drip(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        with contextlib.suppress(OSError):
            while not self.server.release.wait(0.05):
                self.wfile.write(b"X: y\r\n"[:1])
                self.wfile.flush()

    def do_drip_body(self) -> None:
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):
            while not self.server.release.wait(0.05):
                self.wfile.write(b"x")

    def do_gone(self) -> None:
        self.close_connection = True

    def do_nonsense(self) -> None:
        self.wfile.write(b"\x00\xff nonsense\r\n\r\n")
        self.close_connection = True


@pytest.fixture
def agency(monkeypatch: pytest.MonkeyPatch) -> Iterator[Agency]:
    for name in ("http_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with Agency(("127.0.0.1", 0), _Handler) as server:
        server.asked, server.release = [], threading.Event()
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.release.set()
        server.shutdown()
        thread.join()


def reader(agency: Agency, path: str, fetch_s: float = 10.0) -> AddressReader:
    return AddressReader(f"http://127.0.0.1:{agency.server_port}/{path}", lambda some_s: False, fetch_s)


@pytest.mark.parametrize("path", ["good", "to_good", "good?key=secret"])
def test_an_address_is_read_when_it_has_changed(agency: Agency, path: str) -> None:
    reading = reader(agency, path)
    assert reading.read() == b"0" and reading.read() == b"0", "nothing was accepted"
    reading.accept()
    assert reading.read() is None
    agency.content = b"1"
    assert reading.read() == b"1"
    assert [each for _, each in agency.asked if each is not None]


def test_the_proxy_of_the_environment(agency: Agency, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{agency.server_port}")
    monkeypatch.setenv("no_proxy", "")
    reading = AddressReader("http://agency.invalid/good", lambda some_s: False)
    assert reading.read() == b"0" and agency.asked == [("http://agency.invalid/good", None)]


@pytest.mark.parametrize(
    ("path", "kind", "text"),
    [
        ("500", "status", "the server answers 500 Internal Server Error"),
        ("odd", "status", "the server answers 500 Internal Server Error"),
        ("304", "status", "the server answers 304 Not Modified"),
        ("loop", "status", "301, a redirect that leads nowhere or in a circle"),
        ("chain", "status", "307, a redirect"),
        ("local", "status", "302, a redirect"),
        ("ftp", "status", "302 with an address that is not http or https"),
        ("short", "truncated", "ends before its Content-Length"),
        ("long", "too_large", "more than 268,435,456 bytes"),
        ("chunks", "unreachable", "IncompleteRead"),
        ("nonsense", "unreachable", "BadStatusLine"),
        ("gone", "unreachable", "cannot be reached: Remote end closed connection"),
    ],
)  # fmt: skip
def test_odd_answers(agency: Agency, path: str, kind: str, text: str) -> None:
    with pytest.raises(SourceError, match=re.escape(text)) as caught:
        reader(agency, path).read()
    assert caught.value.kind == kind and str(caught.value).isprintable() and "secret" not in str(caught.value)


def test_what_fails_is_not_requested_as_before(agency: Agency) -> None:
    reading = reader(agency, "stuck")
    for _ in range(2):
        assert reading.read() == b"0"
        reading.accept()
        with pytest.raises(SourceError, match="412"):
            reading.read()


@pytest.mark.parametrize(
    ("address", "expected"),
    [(each, True) for each in (
        "127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "::1", "::",
        "fe80::1%eth0", "fd00::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "224.0.0.1", "ff02::1",
    )] + [(each, False) for each in ("93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8", "host")],
)  # fmt: skip
def test_private_addresses(address: str, expected: bool) -> None:
    assert live_readers.is_private(address) is expected


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_redirects_into_private_networks(agency: Agency, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    """A private source may lead to private addresses, and a public one may not."""
    agency.away = f"http://{host}:{agency.server_port}/good"
    assert reader(agency, "away").read() == b"0"
    own = live_readers.is_private
    asked = iter([False])
    monkeypatch.setattr(live_readers, "is_private", lambda each: next(asked, own(each)))
    with pytest.raises(SourceError, match="redirects to an address of a private network"):
        reader(agency, "away").read()
    assert [each for each, _ in agency.asked] == ["/away", "/good", "/away"]


def test_redirects_behind_a_proxy(agency: Agency, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{agency.server_port}")
    monkeypatch.setenv("no_proxy", "")
    for away in ("http://127.0.0.1/good", "http://localhost./good", "http://metadata.internal/good"):
        agency.away = away
        with pytest.raises(SourceError, match="private network"):
            AddressReader("http://agency.invalid/away", lambda some_s: False).read()
    agency.away = "http://other.invalid/good"
    assert AddressReader("http://agency.invalid/away", lambda some_s: False).read() == b"0"


def test_redirects_without_tls() -> None:
    request = urllib.request.Request("https://host/a")
    with pytest.raises(SourceError, match="an address that is not https, as its own is"):
        live_readers._Redirects().redirect_request(request, None, 302, "", {}, "http://host/b")


def test_an_answer_without_end(agency: Agency, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_readers, "MOST_BYTES", 1_000_000)
    with pytest.raises(SourceError, match="more than 1,000,000 bytes"):
        reader(agency, "endless").read()


@pytest.mark.parametrize("path", ["hang", "drip_body"])
def test_a_server_that_hangs(agency: Agency, path: str) -> None:
    with pytest.raises(SourceError, match=r"did not answer within 0\.2 s"):
        reader(agency, path, 0.2).read()


@pytest.mark.parametrize("path", ["hang", "drip", "drip_body"])
def test_a_fetch_is_aborted(agency: Agency, path: str) -> None:
    reading, faults = reader(agency, path), []

    def read() -> None:
        with pytest.raises(SourceError) as caught:
            reading.read()
        faults.append(caught.value.kind)

    thread = threading.Thread(target=read)
    thread.start()
    wait_for(lambda: agency.asked)
    reading.abort()
    thread.join()
    assert faults == ["unreachable"] and reading.deadline is None


def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        reading = AddressReader(f"http://127.0.0.1:{taken.getsockname()[1]}/", lambda some_s: False)
        with pytest.raises(SourceError, match="the server cannot be reached: "):
            reading.read()


def test_a_web_page_is_no_message(planned: tl.Network, agency: Agency) -> None:
    base = f"http://127.0.0.1:{agency.server_port}"
    following = Following({"town": planned}, UpdateSource(f"{base}/html?key=secret"), UpdateSource(f"{base}/packed"))
    agency.content = to_bytes(late(60), "it")
    first, second = following.look()
    assert first["reason"] == "it is a web page or XML, and no GTFS Realtime message"
    assert "secret" not in json.dumps(first) and first["source"] == f"{base}/html"
    assert second["in_use"] and following.delay == 60
    following.look()
    assert agency.asked[-2][1] is None, "what is no message is fetched again"


# Running --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_answers_change_while_it_runs(planned: tl.Network, agency: Agency, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_readers, "FETCH_S", 0.5)
    monkeypatch.setattr(live, "LEAST_EVERY_S", 0.0)
    address = f"http://127.0.0.1:{agency.server_port}"
    now = int(time.time())
    agency.content = late(60, now)
    hanging = [f"{address}/{path}?key=secret" for path in ("hang", "drip", "drip")]
    with serve({"town": planned}, credentials=[PAIR], updates=[f"{address}/good", *hanging], every=0.05) as url:
        wait_for(lambda: seconds(url) == 360)
        for delay in (120, 180):
            agency.content = late(delay, now)
            wait_for(lambda delay=delay: seconds(url, 3) == 300 + delay)
        labels = [each["source"] for each in said(url)]
        assert labels == [f"{address}/{name}" for name in ("good", "hang", "drip", "drip #2")]
        text = requests.get(f"{url}/metrics", timeout=30).text
        sample = rf'traveltime_lab_updates_trips{{map="town",source="{address}/good",outcome="applied"}} 1'
        assert sample in text and "secret" not in text
        assert f'updates_in_use{{map="town",source="{address}/hang"}} 0' in text
        assert requests.get(f"{url}/ready", timeout=30).status_code == 200
        begun = time.monotonic()
    assert time.monotonic() - begun < 4.5, "threads that wait for a server are ended"
    assert not [each.name for each in threading.enumerate() if each.name.endswith((".updates", ".live"))]


@pytest.mark.slow
def test_updates_are_there_from_the_beginning(planned: tl.Network, file: Path) -> None:
    put(file, late(60, int(time.time())))
    with serve(planned, credentials=[PAIR], updates=str(file)) as url:
        assert seconds(url) == 360
        url.reload(planned)
        assert seconds(url) == 360
        assert said(url)[0]["map"] == "map"
    with serve(planned, credentials=[PAIR]) as url:
        assert "updates" not in requests.get(f"{url}/health", timeout=30).json()
        assert "updates" not in requests.get(f"{url}/metrics", timeout=30).text


@pytest.mark.thorough
def test_load(planned: tl.Network, file: Path) -> None:
    """Each answer is that of one message."""
    now = int(time.time())
    put(file, late(0, now))
    known, faults, is_over = {300 + delay for delay in range(0, 600, 30)}, [], threading.Event()
    seen: set[int] = set()
    with serve({"town": planned}, credentials=[PAIR], updates=file, every=0.02) as url:

        def ask() -> None:
            while not is_over.is_set():
                try:
                    seen.add(seconds(url, 5))
                except Exception as error:
                    faults.append(error)

        clients = [threading.Thread(target=ask) for _ in range(3)]
        for client in clients:
            client.start()
        for delay in range(0, 600, 30):
            put(file, late(delay, now) if delay % 4 else late(delay, now)[:-20])
            time.sleep(0.1)
        is_over.set()
        for client in clients:
            client.join()
    assert not faults, faults[:3]
    assert len(seen) > 3 and seen <= known


# Mistakes at the start ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("updates", "text"),
    [
        (5, "got int"),
        (b"message", "got bytes"),
        ("", "got ''"),
        ([["a"]], "a list of updates"),
        ({5: "a"}, "the keys of updates"),
        ({"town": {"feed": {"x": "y"}}}, "got a dict"),
        ({"nowhere": "a"}, "no feed of the network is called 'nowhere'"),
        ({"town": {"feeed": "a"}}, "no feed of the network is called 'feeed'"),
        ("http:///a", "is no address"),
        ("http://host:x/a", "is no address"),
        ("http://ho st/?key=secret", "'http://ho st/' is no address"),
        ("http://me:secret@ho st/a#secret", "'http://ho st/a' is no address"),
        ("http://me:secret@host/a", "an address with a password"),
        *((f"{wrong}?key=secret", f"got {shown!r}, which is no address, and no file that exists") for wrong, shown in (
            ("ftp://host/a", "ftp://host/a"), ("file:///etc/passwd", "file:///etc/passwd"),
            ("https//host/a", "https//host/a"), ("https:/host/a", "https:/host/a"), ("htps:host", "htps:host"),
            ("ftp://me:secret@host/a", "ftp://host/a"), ("s3+x://b/k", "s3+x://b/k"), ("//host/a", "//host/a"),
            ("me:secret@host/a", "host/a"), ("host/a", "host/a"),
        )),
        (["a"] * 101, "at most 100"),
    ],
)  # fmt: skip
def test_mistakes(planned: tl.Network, updates: Any, text: str) -> None:
    with pytest.raises(tl.InputError) as caught, serve({"town": planned}, updates=updates):
        pass
    assert text in str(caught.value) and "secret" not in str(caught.value)


def test_names_of_sources(planned: tl.Network, tmp_path: Path) -> None:
    """They have no key of an address, and differ."""
    names = {
        "HTTPS://Host/x?key=secret": "https://host/x",
        "https://host/secret/x.pb?key=secret#secret": "https://host/.../x.pb",
        "http://host:81": "http://host:81",
        "http://[::1]:81/secret/x/": "http://[::1]:81/.../",
        "a/x": "x", "b/x": "x #2", "c/x #2": "x #2 #2", "d/x": "x #3", "d/y\r\x1b[2J\u202e": "y[2J",
    }  # fmt: skip
    odd = tmp_path / "what?" / "x:"
    odd.mkdir(parents=True)
    (odd / "trips").write_bytes(late(60))
    names[str(odd / "trips")] = "trips"
    found = checked(update_sources([*names], ("town",)), {"town": planned})
    assert [each.label for each in found] == [*names.values()]


def test_mistakes_about_networks(planned: tl.Network, tmp_path: Path) -> None:
    bare = tl.build_network(towns.STREETS, timezone="UTC")
    late_file = tmp_path / "late"
    late_file.write_bytes(late(60))
    saved = tl.load_network(planned.with_updates(late_file).save(tmp_path / "late.network"))
    for networks, updates, text in (
        ({"town": planned, "other": planned}, "trips.pb", "one of town, other; write NETWORK=trips.pb"),
        ({"town": planned, "other": planned}, {"toun": "trips.pb"}, "called 'toun'; there are 'town', 'other'"),
        ({"town": bare}, "trips.pb", "needs a timetable"),
        ({"town": saved}, "trips.pb", "saved with updates"),
    ):
        with pytest.raises(tl.InputError, match=re.escape(text)), serve(networks, updates=updates):
            pass


def test_addresses_are_not_read_all_the_time(planned: tl.Network) -> None:
    with pytest.raises(tl.LimitError, match=r"every must be at least 1 second for addresses; got 0\.5"):
        check_times(0.5, 600, [UpdateSource("http://host/a")])
    assert check_times(0.5, 600, [UpdateSource("a")]) == (0.5, 600)
    assert check_times(1, 600, [UpdateSource("http://host/a")]) == (1, 600)
    with pytest.raises(tl.LimitError), serve(planned, updates="http://127.0.0.1:1/a", every=0.5):
        pass


def test_messages_that_would_grow_old_between_two_looks() -> None:
    sources = [UpdateSource("a")]
    with pytest.warns(UserWarning, match="every is 600 seconds, and messages are too old after 600"):
        check_times(600, 600, sources)
    check_times(600, 600, [])
    check_times(600, math.inf, sources)


@pytest.mark.parametrize(("every", "max_age"), [(0, 1), (-1, 1), (86_401, 1), (math.nan, 1), (1, 0), (1, math.nan)])
def test_limits_of_times(every: float, max_age: float, planned: tl.Network) -> None:
    with pytest.raises(tl.LimitError, match=r"every must be above 0|max_age must be above 0"):
        check_times(every, max_age)
    with pytest.raises(tl.LimitError), serve(planned, updates="a", every=every, max_age=max_age):
        pass


def test_how_the_command_spells_them() -> None:
    for text, expected in {
        "a/trips.pb": UpdateSource("a/trips.pb"),
        "city=trips.pb": UpdateSource("trips.pb", "city"),
        "city:bus=https://host/a?key=b": UpdateSource("https://host/a?key=b", "city", "bus"),
        ":bus=trips.pb": UpdateSource("trips.pb", None, "bus"),
        "https://host/a?key=b": UpdateSource("https://host/a?key=b"),
        "./city=trips.pb": UpdateSource("./city=trips.pb"),
        " https://host/a?key=b\n": UpdateSource("https://host/a?key=b"),
        "city= https://host/a?key=b": UpdateSource("https://host/a?key=b", "city"),
    }.items():
        assert parsed(text) == expected


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="ends processes by signals")
@pytest.mark.slow
def test_the_command(planned: tl.Network, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planned.save(tmp_path / "town.network")
    put(tmp_path / "trips.json", late(60, int(time.time())))
    command = ["serve", str(tmp_path / "town.network"), "--port", "0", "--credentials", "a:b", "--updates"]
    for wrong, text in (
        ((f"toun={tmp_path}",), "called 'toun'; there are 'town'"),
        (("x", "--every", "0"), "--every must be positive"),
        (("x", "--every", "1e9"), "--every must be at most 86,400"),
        (("x", "--max-age", "nan"), "--max-age must be positive"),
        (("http://127.0.0.1:1/x", "--every", "0.5"), "every must be at least 1 second"),
    ):
        assert cli.main([*command, *wrong]) == 1
        assert text in capsys.readouterr().err
    for wrong, text in (
        (("--every", "5"), "--every needs --updates"),
        (("--max-age", "5"), "--max-age needs --updates"),
    ):
        assert cli.main([*command[: command.index("--updates")], *wrong]) == 1
        assert text in capsys.readouterr().err
    with subprocess.Popen(
        [sys.executable, "-m", "traveltime_lab", *command, f"town={tmp_path / 'trips.json'}", "--every", "0.1"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        address = re.search(r"http://\S+", process.stdout.readline())
        assert address is not None
        url = Served(address[0])
        url.app_id, url.api_key = "a", "b"
        try:
            wait_for(lambda: seconds(url) == 360)
            put(tmp_path / "trips.json", b"broken")
            wait_for(lambda: said(url)[0]["status"] == "failed")
            assert seconds(url) == 360
        finally:
            process.terminate()
            _, told = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM
    assert told.count("cannot be used, its last message stays in use") == 1 and "in use: applied=1" in told
