"""The page at ``/``: who is let in, what it may load, what it is told. `test_page_in_browser` clicks on it."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.support import worlds
from tests.support.door import HEADERS, PAIR, Door, assert_error, ok, open_door
from traveltime_lab.maps import basemap, leaflet, style
from traveltime_lab.network.network import Network
from traveltime_lab.server.app import create_app
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.auth import Credentials
from traveltime_lab.server.config import Options
from traveltime_lab.server.contract import limits
from traveltime_lab.server.page.sessions import Sessions
from traveltime_lab.server.serve import serve

SVG = "{http://www.w3.org/2000/svg}"
ANYONE: dict[str, str] = {}


@pytest.fixture(scope="module")
def tiny() -> Network:
    return worlds.world({"a": (0.0, 0.0), "b": (1000.0, 0.0)}, [("a", "b", {"name": "Only <Street>"})])


def opened(tiny: Network, sessions: Sessions, **options: Any) -> Any:
    return open_door(create_app(Atlas({"tiny": tiny}), Credentials([PAIR]), Options(**options), None, sessions))


@pytest.fixture
def sessions() -> Sessions:
    return Sessions(PAIR[0])


@pytest.fixture
def door(tiny: Network, sessions: Sessions) -> Iterator[Door]:
    with opened(tiny, sessions) as door:
        yield door


def let_in(door: Door, sessions: Sessions) -> dict[str, str]:
    """Use the link; return the headers that the page's own requests then have."""
    response = door.get("/", {"token": sessions.token}, headers=ANYONE)
    assert response.status_code == 303
    return {"Cookie": response.headers["set-cookie"].partition(";")[0], "Sec-Fetch-Site": "same-origin"}


def test_the_link_works_once(door: Door, sessions: Sessions) -> None:
    assert door("HEAD", "/", query={"token": sessions.token}, headers=ANYONE).headers.get("set-cookie") is None
    response = door.get("/", {"token": sessions.token}, headers=ANYONE)
    assert (response.status_code, response.headers["location"]) == (303, "./"), "the token leaves the address"
    (cookie,) = SimpleCookie(response.headers["set-cookie"]).values()
    assert cookie["httponly"] and cookie["samesite"] == "strict" and cookie["path"] == "/" and not cookie["secure"]
    mine = {"Cookie": f"{cookie.key}={cookie.value}"}
    assert ok(door.get("/page/config", headers=mine))["app_id"] == PAIR[0]
    for token in (sessions.token, "", "another", cookie.value):
        again = door.get("/", {"token": token}, headers=ANYONE)
        assert again.status_code == 303 and "set-cookie" not in again.headers
    assert sessions.token not in repr(vars(sessions)["_link"]), "kept as digests only"


def test_what_a_session_opens(door: Door, sessions: Sessions) -> None:
    mine = let_in(door, sessions)
    for path in ("/page/config", "/page/tiles/ground/10/0/0.svg", "/v4/map-info"):
        assert door.get(path, headers=mine).status_code == 200
        assert_error(door.get(path, headers=ANYONE), 401, 10)
        assert_error(door.get(path, headers={"Cookie": mine["Cookie"] + "x"}), 401, 10)
    # Keys that are sent count, cookie or not; Protocol Buffers take no cookie.
    wrong = {**mine, "X-Application-Id": PAIR[0], "X-Api-Key": "wrong"}
    assert_error(door.get("/v4/map-info", headers=wrong), 401, 10)
    assert door("POST", "/api/v3/uk/time-filter/fast/driving", body=b"", headers=mine).status_code == 401
    assert door("DELETE", "/page/session", headers=ANYONE).status_code == 401
    assert door("DELETE", "/page/session", headers=mine).status_code == 204
    assert_error(door.get("/v4/map-info", headers=mine), 401, 10)


def test_pages_of_others_cannot_use_a_session(door: Door, sessions: Sessions) -> None:
    """Other ports of a host are the same site, so their pages' requests have the cookie."""
    mine = let_in(door, sessions)
    cookie = {"Cookie": mine["Cookie"]}
    for headers in (
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://door:3000"},
        {"Origin": "null"},
    ):
        assert_error(door.get("/v4/map-info", headers={**cookie, **headers}), 401, 10)
        assert_error(door.post("/v4/time-map", {}, headers={**cookie, **headers}), 401, 10)
    for headers in ({}, {"Sec-Fetch-Site": "none"}, {"Origin": "http://door"}):
        ok(door.get("/v4/map-info", headers={**cookie, **headers}))


def test_a_session_counts_hits(tiny: Network, sessions: Sessions) -> None:
    with opened(tiny, sessions, hits_per_minute=1) as door:
        mine = let_in(door, sessions)
        # Far from the network: counted, and answered at once.
        query = {"type": "walking", "lat": 0, "lng": 0, "travel_time": 60, "departure_time": "2026-03-02T08:00:00Z"}
        assert_error(door.get("/v4/time-map", query, headers=mine), 422)
        assert_error(door.get("/v4/time-map", query, headers=mine), 429)
        assert_error(door.get("/v4/time-map", query, headers=HEADERS), 429)


def test_sign_in(door: Door) -> None:
    right = door.post("/page/session", {"app_id": PAIR[0], "api_key": PAIR[1]}, headers=ANYONE)
    assert right.status_code == 204 and "HttpOnly" in right.headers["set-cookie"]
    cookie = {"Cookie": right.headers["set-cookie"].partition(";")[0]}
    ok(door.get("/page/config", headers=cookie))
    assert_error(door.post("/page/session", {"app_id": PAIR[0], "api_key": "no"}, headers=ANYONE), 401, 10)
    for body in (
        b"",
        b"{}",
        b"[]",
        b'{"app_id": 1, "api_key": "b"}',
        b"\xff",
        b'{"app_id": "a", "api_key": "b", "c": 1}',
    ):
        assert_error(door("POST", "/page/session", body=body, headers=ANYONE), 400)
    assert_error(door("POST", "/page/session", body=b" " * 20_000, headers=ANYONE), 413)
    assert_error(door("PUT", "/page/session", body=b"", headers=ANYONE), 405)


def test_nothing_comes_from_elsewhere(door: Door) -> None:
    index = door.get("/", headers=ANYONE)
    page = ok(index, "text/html").decode()
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|//", page), (
        "no inline script or style, no other site"
    )
    scripts = re.findall(r"<script([^>]*)>([^<]*)</script>", page)
    assert scripts and all("src=" in attributes and not content for attributes, content in scripts)
    wanted = set(re.findall(r'(?:src|href)="(page/[^"]+)"', page))
    seen: set[str] = set()
    while wanted - seen:
        path = (wanted - seen).pop()
        seen.add(path)
        response = door.get("/" + path, headers=ANYONE)
        assert response.status_code == 200, path
        assert response.headers["x-content-type-options"] == "nosniff"
        wanted |= {f"page/{name}" for name in re.findall(r"from '\./([^']+)'", response.text)}
        if "leaflet" not in path:
            assert not re.search(r"https?:(?!//www\.w3\.org/2000/svg)|innerHTML = [^p]*text", response.text), path
        tagged = door.get("/" + path, headers={"If-None-Match": response.headers["etag"]})
        assert (tagged.status_code, tagged.content) == (304, b"")
    assert {"page/leaflet.js", "page/main.js", "page/points.js"} <= seen
    rules = dict(rule.strip().split(" ", 1) for rule in index.headers["content-security-policy"].split(";"))
    assert rules["default-src"] == rules["form-action"] == rules["base-uri"] == rules["frame-ancestors"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert index.headers["referrer-policy"] == "no-referrer"
    for path in ("/page/nothing.js", "/page/..%2froutes.py", "/page/index.html", "/page/"):
        assert_error(door.get(path, headers=ANYONE), 404)


def test_leaflet_is_what_was_published() -> None:
    assert leaflet.script().startswith("/* @preserve\n * Leaflet 1.9.4")
    assert "BSD 2-Clause License" in (leaflet.files(leaflet.__name__) / "LICENSE").read_text(encoding="utf-8")


def test_what_the_page_is_told(porto_alegre: Network, tiny: Network, sessions: Sessions) -> None:
    atlas = Atlas({"porto_alegre": porto_alegre, "tiny": tiny})
    with open_door(create_app(atlas, Credentials([PAIR]), None, None, sessions)) as door:
        told = ok(door.get("/page/config", headers=let_in(door, sessions)))
    assert [item["name"] for item in told["maps"]] == ["tiny", "porto_alegre"]
    street, timetable = told["maps"]
    assert timetable["timezone"] == "America/Sao_Paulo" and timetable["dates"] == ["2019-03-01", "2019-12-31"]
    assert timetable["moment"] == f"{porto_alegre.typical_day}T08:00" == "2019-07-11T08:00"
    assert {"type": "bus", "label": "bus only"} in timetable["modes"]
    assert street["dates"] is None and {mode["type"] for mode in street["modes"]} >= {"walking", "driving"}
    assert (told["most_minutes"], told["most_searches"], told["most_targets"]) == (240, len(style.ORIGIN_COLOURS), 2000)
    assert told["most_areas"] == limits.MAX_SEARCHES
    assert told["tile_px"] == basemap.TILE_PX and "{layer}/{z}/{x}/{y}" in told["tiles"]


def test_tiles(door: Door, sessions: Sessions, tiny: Network) -> None:
    mine = let_in(door, sessions)
    west, south, east, north = tiny.bounds
    z = 14
    mercator_x, mercator_y = map(float, basemap.mercator(*np.array([west + east, south + north]) / 2))
    world = 2 * 3.141592653589793 * 6_378_137
    x, y = (int((0.5 + sign * value / world) * 2**z) for sign, value in ((1, mercator_x), (-1, mercator_y)))
    found = []
    for column in (x - 1, x, x + 1):
        response = door.get(f"/page/tiles/streets/{z}/{column}/{y}.svg", headers=mine)
        root = ElementTree.fromstring(ok(response, "image/svg+xml"))
        assert root.get("width") == root.get("height") == str(basemap.TILE_PX)
        found += [element.get("d") for element in root.iter(f"{SVG}path") if element.get("d")]
        assert all(text.text == "Only <Street>" for text in root.iter(f"{SVG}text"))
    assert found, "the street is on its tiles"
    ground = door.get(f"/page/tiles/ground/{z}/{x}/{y}.svg", headers=mine)
    assert ground.content == door.get(f"/page/tiles/ground/{z}/{x}/{y}.svg", headers=mine).content
    for path in ("water/3/0/0", "streets/3/8/0", "streets/3/0/8", "streets/21/0/0", "streets/-1/0/0", "streets/a/0/0"):
        assert_error(door.get(f"/page/tiles/{path}.svg", headers=mine), 404)


def test_tiles_join(porto_alegre: Network) -> None:
    """A line that crosses the edge of a tile is on both sides of it, at the same place."""
    z, x, y = 12, 1465, 2407

    def crossings(column: int, at: int) -> set[int]:
        root = ElementTree.fromstring(basemap.tile([porto_alegre], "streets", z, column, y))
        places = set()
        for path in root.iter(f"{SVG}path"):
            for line in filter(None, path.get("d", "").split("M")):
                steps = [tuple(map(int, re.findall(r"-?\d+", step))) for step in line.split("l")]
                px, py = steps[0]
                for dx, dy in steps[1:]:
                    if (px - at) * (px + dx - at) < 0 and abs(dx) > 2:
                        places.add(round(py + dy * (at - px) / dx))
                    px, py = px + dx, py + dy
        return {place for place in places if 0 <= place <= 5120}

    left, right = crossings(x, 5120), crossings(x + 1, 0)
    assert len(left) > 5
    lonely = [place for place in left if not any(abs(place - other) <= 3 for other in right)]
    assert len(lonely) <= 0.1 * len(left), "simplified alike"


def test_the_page_has_the_names_of_this_machine_only(tiny: Network) -> None:
    with serve(tiny) as url:
        assert urlsplit(url.page).netloc == f"127.0.0.1:{url.port}"
        path = f"/?{urlsplit(url.page).query}"

        def ask(path: str, host: str, cookie: str = "") -> tuple[int, str]:
            connection = http.client.HTTPConnection(url.host, url.port, timeout=30)
            connection.request("GET", path, headers={"Host": host, **({"Cookie": cookie} if cookie else {})})
            response = connection.getresponse()
            body = response.read()
            connection.close()
            if response.status == 421:
                assert json.loads(body)["error_code"] == 421
            return response.status, response.headers.get("set-cookie", "").partition(";")[0]

        for each in ("/", path, "/page/main.js", "/page/config"):
            assert ask(each, "evil.example") == (421, "")
        status, cookie = ask(path, f"localhost:{url.port}")
        assert status == 303 and str(url.port) in cookie.partition("=")[0], "ports do not share cookies"
        assert ask("/v4/map-info", f"localhost:{url.port}", cookie)[0] == 200
        assert ask("/v4/map-info", "evil.example", cookie)[0] == 421


def test_secure_cookies(tiny: Network) -> None:
    import ssl
    from urllib.request import HTTPCookieProcessor, HTTPSHandler, build_opener

    with serve(tiny, tls=True) as url:
        jar = HTTPCookieProcessor()
        browser = build_opener(jar, HTTPSHandler(context=ssl.create_default_context(cafile=str(url.certificate))))
        assert b"Travel times" in browser.open(url.page).read()
        (cookie,) = jar.cookiejar
        assert cookie.secure
        assert json.load(browser.open(f"{url}/page/config"))["app_id"] == url.app_id


def test_old_sessions_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    from traveltime_lab.server.page import sessions as module

    monkeypatch.setattr(module, "_MOST_SESSIONS", 2)
    kept = Sessions("a")
    for _ in range(5):
        kept.start("a")
    assert len(kept._open) == 2 and kept.redeem("é\udc80") is None
    assert Sessions().token == "" and Sessions().redeem("") is None
