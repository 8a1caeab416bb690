"""
The page in a real browser: headless Chromium clicks, drags, changes what there is to change, and copies requests.

Pictures of what a person would see go to the folder that ``TRAVELTIME_LAB_SCREENSHOTS`` names.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import geopandas as gpd
import pandas as pd
import pytest

from tests.support import browsing
from tests.support.browsing import HOLDS_MARKER, OUTLINE, WIDTH, drag_marker, until_text
from traveltime_lab.network.network import Network
from traveltime_lab.server.serve import Served, serve

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Response

pytestmark = [
    pytest.mark.skipif(browsing.CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium"),
    pytest.mark.skipif(importlib.util.find_spec("playwright") is None, reason="playwright is not installed"),
]

#: Kernels may have to be compiled first.
PATIENCE_MS = 180_000
#: The button that saves areas.
AREAS = "Download areas (GeoJSON)"
#: Latitude and longitude of the market hall.
MARKET = (-30.0276, -51.2278)
PASTED = """name, lat, lng
-30.027565, -51.227811, Mercado, Centro
Rodoviária; -30.023285; -51.218856
-30.064940 -51.236591 Beira-Rio
"""


@pytest.fixture(scope="module")
def url(porto_alegre: Network) -> Iterator[Served]:
    with serve({"porto_alegre": porto_alegre}) as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing.chromium() as browser:
        yield browser


def picture(page: Page, name: str) -> None:
    """Keep a picture of a page for people to look at, if they asked for one."""
    folder = os.environ.get("TRAVELTIME_LAB_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"page-{name}.png")


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open a page of some width; at the end, nothing went wrong in it and nothing came from elsewhere."""
    faults: list[str] = []
    contexts = []

    def opened(address: str, width: int, height: int = 800) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height})
        contexts.append(context)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: faults.append(str(error)))
        # Refusals of the content security policy are errors of the console; those of the service are none of the page.
        page.on(
            "console",
            lambda line: (
                faults.append(line.text) if line.type == "error" and "server responded" not in line.text else None
            ),
        )
        page.on("request", lambda request: faults.append(request.url) if not is_own(request.url) else None)
        page.goto(address)
        return page

    def is_own(address: str) -> bool:
        return address.startswith(("http://127.0.0.1:", "data:"))

    yield opened
    for context in contexts:
        context.close()
    assert not faults


def areas(page: Page, act: Callable[[], Any]) -> dict[str, Any]:
    """Return the service's answer about areas that an action leads to, once it is drawn."""

    def is_it(response: Response) -> bool:
        return response.url.endswith("/v4/time-map") and response.request.method == "POST"

    with page.expect_response(is_it) as caught:
        act()
    assert caught.value.status == 200, caught.value.text()
    page.locator(".leaflet-areas-pane path").first.wait_for(state="attached")
    page.wait_for_timeout(250)
    answer: dict[str, Any] = caught.value.json()
    return answer


def until(page: Page, condition: str) -> None:
    """Wait until an expression is true; Playwright's own waiting needs what the page's policy forbids."""
    end = time.monotonic() + PATIENCE_MS / 1000
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"waited in vain until {condition[:100]}"
        page.wait_for_timeout(50)


def point(page: Page, x: float, y: float) -> tuple[float, float]:
    """Return where parts of the map's width and height are."""
    box = page.locator("#map").bounding_box()
    assert box is not None
    return box["x"] + x * box["width"], box["y"] + y * box["height"]


@pytest.mark.slow
def test_click_drag_mode_and_time(url: Served, visit: Callable[..., Page]) -> None:
    page = visit(url.page, 1400)
    page.locator("#controls").wait_for()
    assert page.url == f"{url}/", "the token has left the address"
    until(page, "document.querySelectorAll('.leaflet-streets-pane img.leaflet-tile-loaded').length > 2")

    areas(page, lambda: page.mouse.click(*point(page, 0.5, 0.5)))
    clicked = page.evaluate(OUTLINE)
    assert page.evaluate(HOLDS_MARKER)
    picture(page, "1-clicked")
    drag_marker(page, 60, -120)
    until(page, f"({OUTLINE})() !== {json.dumps(clicked)}")
    page.wait_for_timeout(700)
    assert page.evaluate(HOLDS_MARKER), "the area follows the pin"

    on_foot = page.evaluate(WIDTH)
    slider = page.get_by_label("Travel time in minutes")
    assert slider.get_attribute("max") == "240"
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    until(page, f"({WIDTH})() > {1.1 * on_foot}")
    until_text(page.locator("#status"), lambda text: "km²" in text)
    assert page.get_by_label("Minutes", exact=True).input_value() == "20"
    longer = page.evaluate(WIDTH)
    areas(page, lambda: page.get_by_label("Mode").select_option("driving"))
    until(page, f"({WIDTH})() > {longer}")
    picture(page, "2-driving")

    dawn = areas(page, lambda: page.get_by_label("Local time").fill("2019-05-14T03:00"))
    assert dawn["features"][0]["geometry"]["coordinates"]
    request = page.locator("#code").text_content() or ""
    assert "2019-05-14T06:00:00Z" in request, "the clocks of Brazil, three hours behind"

    page.reload()
    page.locator("#controls").wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.locator("#sign-in").wait_for()


@pytest.mark.thorough
def test_union_and_copied_requests(url: Served, visit: Callable[..., Page]) -> None:
    page = visit(url, 1400)
    sign_in(page, url)
    areas(page, lambda: page.mouse.click(*point(page, 0.5, 0.5)))
    assert page.get_by_label("union").is_disabled()
    page.get_by_label("adds a pin").check()
    areas(page, lambda: page.mouse.click(*point(page, 0.53, 0.53)))
    combined = areas(page, lambda: page.get_by_label("intersection").check())
    assert combined["features"][0]["properties"]["search_id"] == "intersection"
    picture(page, "3-intersection")
    answer = areas(page, lambda: page.get_by_label("union").check())
    assert "union" in {feature["properties"]["search_id"] for feature in answer["features"]}
    page.locator("#request summary").click()
    environment = {
        **os.environ, "TRAVELTIME_LAB_APP_ID": url.app_id, "TRAVELTIME_LAB_API_KEY": url.api_key,
    }  # fmt: skip
    commands = {
        "curl": ["bash", "-c"],
        "Python": [sys.executable, "-c"],
        "JavaScript": ["node", "--input-type=module", "-e"],
    }
    for language, command in commands.items():
        page.get_by_label(language, exact=True).check()
        page.get_by_role("button", name="Copy", exact=True).click()
        until_text(page.locator("#copied"), lambda text: text == "Copied.")
        code = page.evaluate("navigator.clipboard.readText()")
        assert url.api_key not in code and "time-map" in code
        if shutil.which({"curl": "curl"}.get(language, command[0])) is None:
            continue
        done = subprocess.run(
            [*command, code], env=environment, capture_output=True, text=True, timeout=60, check=True
        )  # fmt: skip
        assert json.loads(done.stdout) == answer, language
    picture(page, "4-union-and-code")


@pytest.mark.thorough
def test_narrow(url: Served, visit: Callable[..., Page]) -> None:
    page = visit(url, 400)
    page.get_by_label("Application id").fill(url.app_id)
    page.get_by_label("API key").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    until_text(page.locator("#sign-in-error"), lambda text: "wrong" in text)
    sign_in(page, url)

    # Without a mouse: a pin from the keyboard, moved by arrow keys.
    page.get_by_role("button", name="Place a pin in the middle").focus()
    areas(page, lambda: page.keyboard.press("Enter"))
    pin = page.locator(".pin")
    assert "Arrow keys move it" in (pin.get_attribute("aria-label") or "")
    before = page.evaluate(OUTLINE)
    pin.focus()
    areas(page, lambda: page.keyboard.press("Shift+ArrowUp"))
    assert page.evaluate(OUTLINE) != before and page.evaluate(HOLDS_MARKER)

    page.locator("#matrix summary").click()
    page.get_by_label("Points, one per line").fill(PASTED)
    minutes = page.get_by_label("Minutes", exact=True)
    minutes.fill("90")
    areas(page, lambda: minutes.press("Enter"))
    page.get_by_role("button", name="Compute").click()
    until_text(page.locator("#matrix-note"), lambda text: "of 3 within 1 h 30 min" in text)
    assert page.locator("#table tbody tr").count() == 3
    assert "min" in page.locator("#table tbody tr").nth(1).inner_text()
    picture(page, "5-narrow-matrix")
    page.get_by_label("Points, one per line").fill("-51.23, -30.03\n95, 3")
    page.get_by_role("button", name="Compute").click()
    until_text(page.locator("#matrix-note"), lambda text: "line 2: latitude comes first" in text)

    page.get_by_label("from the selected pin to the pointer").check()
    page.mouse.move(*point(page, 0.6, 0.6))
    page.locator(".leaflet-route-pane path").first.wait_for(state="attached")
    until_text(page.locator("#route"), lambda text: "min" in text)
    picture(page, "6-narrow-route")
    page.locator("#request summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400, "nothing sticks out"
    unlabelled = page.evaluate(
        "[...document.querySelectorAll('#panel input, #panel select, #panel textarea')]"
        ".filter(each => !each.labels.length).map(each => each.outerHTML)"
    )
    assert unlabelled == []
    pin.focus()
    page.keyboard.press("Delete")
    page.locator(".pin").wait_for(state="detached")
    assert page.locator("#no-origins").is_visible()


@pytest.mark.thorough
def test_a_route_goes_with_what_it_was_asked_for(url: Served, visit: Callable[..., Page]) -> None:
    page = visit(url, 1400)
    sign_in(page, url)
    route = page.locator("#route")

    def show() -> None:
        page.get_by_role("button", name="Route to the middle of the map").click()
        until_text(route, lambda text: "min" in text)
        page.locator(".trip").wait_for()

    areas(page, lambda: page.get_by_role("button", name="Place a pin in the middle").click())
    pin = page.locator(".pin")
    changes = {
        "moved": lambda: (pin.first.focus(), page.keyboard.press("Shift+ArrowUp")),
        "moment": lambda: page.get_by_label("Local time").fill("2019-05-14T03:00"),
        "mode": lambda: page.get_by_label("Mode").select_option("cycling"),
        "another pin": lambda: (
            page.get_by_label("adds a pin").check(), page.mouse.click(*point(page, 0.53, 0.53)),
        ),
        "chosen": lambda: page.locator("#origins .name").first.click(),
        "removed": lambda: (pin.first.focus(), page.keyboard.press("Delete")),
    }  # fmt: skip
    for name, change in changes.items():
        show()
        change()
        assert route.text_content() == "", name
        assert page.locator(".leaflet-route-pane path").count() == 0, name
        page.locator(".trip").wait_for(state="detached")


@pytest.mark.slow
def test_places_rings_and_files(url: Served, visit: Callable[..., Page], tmp_path: Path) -> None:
    page = visit(url, 1400)
    sign_in(page, url)
    field = page.get_by_label("Place or address")
    field.fill("Nowhere at all 12345")
    field.press("Enter")
    until_text(page.locator("#find-note"), lambda text: "no place called Nowhere at all 12345" in text)
    field.fill("Mercado Público")
    page.get_by_role("button", name="Find", exact=True).click()
    found = page.locator("#found button")
    found.first.wait_for()
    assert page.locator("#find-note").text_content() == "" and found.count() <= 6
    picture(page, "7-places")
    first = areas(page, found.first.click)
    assert len(first["features"]) == 1 and found.count() == 0
    until_text(page.locator("#origins .name"), lambda text: "Mercado" in text)
    assert page.evaluate(HOLDS_MARKER)
    lat, lng = MARKET
    place = json.loads(
        page.evaluate("fetch('v4/geocoding/search?query=Mercado%20P%C3%BAblico&limit=1').then(a => a.text())")
    )
    assert abs(place["features"][0]["geometry"]["coordinates"][0] - lng) < 0.01
    assert abs(place["features"][0]["geometry"]["coordinates"][1] - lat) < 0.01

    name = saved(page, AREAS, tmp_path)
    assert name == "areas-porto-alegre-walking-15-min.geojson"
    names = page.locator("#origins .name")
    assert gpd.read_file(tmp_path / name)["origin"].tolist() == names.all_inner_texts(), "as soon as it is drawn"

    three = areas(page, lambda: page.get_by_label("Rings").select_option("3"))
    assert page.locator("#rings-note").text_content() == "5, 10, 15 min"
    ids = {feature["properties"]["search_id"] for feature in three["features"]}
    assert ids == {f"origin 1, {minutes} min" for minutes in (5, 10, 15)}
    until_text(page.locator("#status"), lambda text: "5 min" in text and "15 min" in text and text.count("km²") == 3)
    assert page.locator(".leaflet-areas-pane path").count() == 3
    picture(page, "8-rings")

    name = saved(page, AREAS, tmp_path)
    assert name == "areas-porto-alegre-walking-5-10-15-min.geojson"
    content = json.loads((tmp_path / name).read_text("utf-8"))
    assert "OpenStreetMap" in content["attribution"]
    table = gpd.read_file(tmp_path / name)
    assert table["minutes"].tolist() == [15, 10, 5] and "Mercado" in table["origin"][0]
    answered = {each["properties"]["search_id"]: each["geometry"] for each in three["features"]}
    assert {each["properties"]["search_id"]: each["geometry"] for each in content["features"]} == answered
    sizes = table.to_crs(31982).area
    assert sizes.is_monotonic_decreasing and table.geometry[0].covers(table.geometry[2].buffer(-1e-4))

    page.get_by_label("adds a pin").check()
    areas(page, lambda: page.mouse.click(*point(page, 0.55, 0.55)))
    until_text(names.nth(1), lambda text: text[0] != "-")
    table = gpd.read_file(tmp_path / saved(page, AREAS, tmp_path))
    assert dict(zip(table["search_id"].str[:8], table["origin"], strict=True)) == {
        "origin 1": names.nth(0).inner_text(), "origin 2": names.nth(1).inner_text(),
    }  # fmt: skip
    union = areas(page, lambda: page.get_by_label("union").check())
    assert {"union, 5 min", "union, 10 min", "union, 15 min"} <= {
        feature["properties"]["search_id"] for feature in union["features"]
    }
    picture(page, "9-union-of-rings")
    # While an answer is on its way, the file has the name of the areas that are drawn.
    release = hold(page, "time-map")
    page.get_by_label("Mode").select_option("cycling")
    page.get_by_label("Rings").select_option("2")
    until(page, "document.querySelector('#rings-note').textContent === '8, 15 min'")
    assert saved(page, AREAS, tmp_path) == name
    release()
    page.get_by_label("Mode").select_option("walking")
    areas(page, lambda: page.get_by_label("Rings").select_option("3"))
    until_text(page.locator("#status"), lambda text: text.count("km²") == 3)
    name = saved(page, AREAS, tmp_path)
    assert gpd.read_file(tmp_path / name)["search_id"].tolist() == ["union, 15 min", "union, 10 min", "union, 5 min"]
    page.mouse.click(*point(page, 0.45, 0.45))
    page.locator("#origins li").nth(2).wait_for()
    page.get_by_label("Rings").select_option("4")
    until_text(page.locator("#status"), lambda text: "There can be 10 areas at once" in text)
    assert page.get_by_role("button", name=AREAS).is_disabled()

    page.locator("#matrix summary").click()
    page.get_by_label("Points, one per line").fill(PASTED)
    page.get_by_role("button", name="Compute").click()
    until_text(page.locator("#matrix-note"), lambda text: "of 3 within" in text)
    name = saved(page, "Download CSV", tmp_path)
    times = pd.read_csv(tmp_path / name)
    assert times["point"].tolist()[0] == "Mercado, Centro"
    assert times.columns.tolist() == ["point", *names.all_inner_texts(), "attribution"]
    assert times["attribution"].tolist() == [content["attribution"]] * 3
    assert times.iloc[:, 1:-1].dtypes.eq(float).all()
    page.get_by_role("button", name="Copy as CSV").click()
    until_text(page.locator("#matrix-note"), lambda text: text == "Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == (tmp_path / name).read_text("utf-8")
    assert page.locator("#table thead th").count() == 4, "the attribution is on the map"


@pytest.mark.thorough
def test_a_table_goes_with_its_network(porto_alegre: Network, helsinki: Network, visit: Callable[..., Page]) -> None:
    """And with its pins, of which one may be removed before the answer is there."""
    with serve({"porto_alegre": porto_alegre, "helsinki": helsinki}) as url:
        page = visit(url, 1400)
        sign_in(page, url)
        page.locator("#matrix summary").click()
        page.get_by_label("adds a pin").check()
        network, compute = page.locator("#network"), page.get_by_role("button", name="Compute")
        download, note, rows = (page.locator(each) for each in ("#download-table", "#matrix-note", "#table tr"))

        def begin() -> None:
            network.select_option("porto_alegre")
            for x in (0.5, 0.52):
                areas(page, functools.partial(page.mouse.click, *point(page, x, 0.5)))
            page.get_by_label("Points, one per line").fill(PASTED)

        begin()
        compute.click()
        until_text(note, lambda text: "of 3 within" in text)
        assert rows.count() == 4 and download.is_enabled()
        network.select_option("helsinki")
        assert rows.count() == 0 and download.is_disabled() and note.text_content() == ""

        for change in (
            lambda: network.select_option("helsinki"),
            lambda: page.locator("#origins .remove").first.click(),
        ):
            begin()
            release = hold(page, "time-filter")
            compute.click()
            change()
            release()
            page.wait_for_timeout(300)
            is_kept = network.input_value() == "porto_alegre"
            assert rows.count() == (4 if is_kept else 0) and download.is_enabled() is is_kept
            assert page.locator("#table thead th").count() == (3 if is_kept else 0)


def saved(page: Page, name: str, folder: Path) -> str:
    """Save the file of a button in a folder and return its name."""
    with page.expect_download() as caught:
        page.get_by_role("button", name=name).click()
    caught.value.save_as(folder / caught.value.suggested_filename)
    return str(caught.value.suggested_filename)


def hold(page: Page, endpoint: str) -> Callable[[], None]:
    """Keep requests to an endpoint from it until the returned function is called, which waits for an answer."""
    held: list[Any] = []
    is_open = False

    def handle(route: Any) -> None:
        if is_open:
            route.continue_()
        else:
            held.append(route)

    def release() -> None:
        nonlocal is_open
        end = time.monotonic() + PATIENCE_MS / 1000
        while not held:
            assert time.monotonic() < end, "no request"
            page.wait_for_timeout(20)
        is_open = True
        with page.expect_response(lambda response: response.url.endswith(f"/v4/{endpoint}")):
            for route in held:
                route.continue_()

    page.route(f"**/v4/{endpoint}", handle)
    return release


def find(page: Page, text: str) -> None:
    page.get_by_label("Place or address").fill(text)
    page.get_by_role("button", name="Find", exact=True).click()
    page.locator("#found button").first.click()


@pytest.mark.thorough
def test_a_place_that_gets_no_pin_renames_none(url: Served, visit: Callable[..., Page]) -> None:
    page = visit(url, 1400)
    sign_in(page, url)
    page.get_by_label("adds a pin").check()
    most = json.loads(page.evaluate("fetch('page/config').then(a => a.text())"))["most_searches"]
    for i in range(most):
        areas(page, functools.partial(page.mouse.click, *point(page, 0.45 + 0.1 * i / most, 0.5)))
    names = page.locator("#origins .name")
    find(page, "Mercado Público")
    until_text(page.locator("#status"), lambda text: f"There can be {most} pins" in text)
    assert names.count() == most and not any("Mercado" in text for text in names.all_inner_texts())
    page.get_by_label("moves the pin").check()
    areas(page, lambda: find(page, "Mercado Público"))
    assert ["Mercado" in text for text in names.all_inner_texts()] == [False] * (most - 1) + [True]


def sign_in(page: Page, url: Served) -> None:
    page.get_by_label("Application id").fill(url.app_id)
    page.get_by_label("API key").fill(url.api_key)
    page.get_by_role("button", name="Sign in").click()
    page.locator("#controls").wait_for()


@pytest.mark.thorough
def test_moments_and_points(url: Served, visit: Callable[..., Page]) -> None:
    page = visit(url, 800)
    moments: Callable[[str, str], str | None] = lambda local, zone: page.evaluate(  # noqa: E731
        "async ([local, zone]) => (await import('/page/moments.js')).toUtc(local, zone)", [local, zone]
    )
    assert moments("2026-03-02T08:00", "Europe/Helsinki") == "2026-03-02T06:00:00Z"
    assert moments("2026-03-29T02:59", "Europe/Helsinki") == "2026-03-29T00:59:00Z", "a minute before the clocks change"
    assert moments("2026-03-29T04:00", "Europe/Helsinki") == "2026-03-29T01:00:00Z"
    assert moments("2026-07-01T00:15", "Asia/Kathmandu") == "2026-06-30T18:30:00Z"
    assert moments("", "UTC") is None
    parse: Callable[[str], Any] = lambda text: page.evaluate(  # noqa: E731
        "async text => (await import('/page/points.js')).parse(text)", text
    )
    found = parse(PASTED + "1,2\n1,2\n\n+60.1711\t24.9414\tHelsinki")
    assert found["wrong"] == []
    assert [(p["name"], p["lat"], p["lng"]) for p in found["points"]] == [
        ("Mercado, Centro", -30.027565, -51.227811), ("Rodoviária", -30.023285, -51.218856),
        ("Beira-Rio", -30.064940, -51.236591), ("point 4", 1, 2), ("point 5", 1, 2), ("Helsinki", 60.1711, 24.9414),
    ]  # fmt: skip
    feature = {"type": "Feature", "properties": {"name": "a"}, "geometry": {"type": "Point", "coordinates": [2, 1]}}
    collection = {"type": "FeatureCollection", "features": [feature, feature]}
    assert [p["name"] for p in parse(json.dumps(collection))["points"]] == ["a", "a (2)"]
    assert parse('{"type": "Point", "coordinates": [2, 1]}')["points"][0]["lat"] == 1
    assert "no JSON" in parse("{")["wrong"][0]
    assert "feature 1" in parse('{"type": "Polygon", "coordinates": []}')["wrong"][0]
    assert "no two numbers" in parse("a\nb")["wrong"][0]
