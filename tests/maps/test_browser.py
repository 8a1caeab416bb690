"""
The widget in a real browser: JupyterLab runs notebooks in headless Chromium, markers are dragged, sliders moved.

Pictures of what a person would see go to the folder that ``TRAVELTIME_LAB_SCREENSHOTS`` names.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import traveltime_lab as tl
from tests.support import browsing
from tests.support.browsing import (
    BELOW_MAP,
    CUT_OFF,
    HOLDS_MARKER,
    OUTLINE,
    OUTLINES,
    PINS,
    WIDTH,
    WINDOWS,
    drag_marker,
    run_notebook,
    until_changed,
    until_text,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SCREENSHOTS = "TRAVELTIME_LAB_SCREENSHOTS"

pytestmark = [
    pytest.mark.skipif(browsing.CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium"),
    pytest.mark.skipif(importlib.util.find_spec("playwright") is None, reason="playwright is not installed"),
    pytest.mark.skipif(importlib.util.find_spec("jupyterlab") is None, reason="jupyterlab is not installed"),
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab with copies of the notebooks, of which nbval runs all cells."""
    with browsing.serve_lab(
        tmp_path_factory.mktemp("lab"), short=["03-traffic", "05-public-transport", "14-scenarios"]
    ) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    with browsing.chromium() as browser:
        yield browser


@pytest.fixture
def shoot(tmp_path: Path) -> Callable[[Page, str], None]:
    """Keep a picture of the page."""
    folder = Path(os.environ.get(SCREENSHOTS) or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    return lambda page, name: page.screenshot(path=folder / f"{name}.png") and None


@pytest.mark.slow
def test_quick_start(browser: Browser, lab: str, shoot: Callable[[Page, str], None]) -> None:
    page, complaints = run_notebook(browser, lab, "01-quick-start")
    shoot(page, "quick-start-1-opened")
    opened = page.evaluate(OUTLINE)
    assert page.evaluate(HOLDS_MARKER)

    drag_marker(page, -140, 60, drop=False)
    while_dragging = until_changed(page, opened)
    shoot(page, "quick-start-2-dragging")
    assert page.evaluate(HOLDS_MARKER), "shapes follow while the marker moves"
    page.mouse.up()
    page.wait_for_timeout(1500)
    dropped = page.evaluate(OUTLINE)
    assert dropped and while_dragging != opened
    assert page.evaluate(HOLDS_MARKER)
    shoot(page, "quick-start-3-dropped")

    width = page.evaluate(WIDTH)
    page.locator(".traveltime-minutes .noUi-handle").first.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    until_changed(page, dropped)
    until_text(page.locator(".leaflet-control-container").first, lambda text: "20 min" in text)
    assert page.evaluate(WIDTH) > 1.1 * width, "five minutes more reach farther"
    assert page.evaluate(HOLDS_MARKER)
    shoot(page, "quick-start-4-slider")

    box = page.locator(".leaflet-container").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.3 * box["height"])
    page.get_by_text("Here", exact=False).last.wait_for()
    page.locator(".leaflet-routes-pane path").first.wait_for(state="attached")
    page.wait_for_timeout(400)
    shoot(page, "quick-start-5-pointing")
    before = page.evaluate(OUTLINE)
    page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 0.4 * box["height"])
    until_changed(page, before)
    assert page.locator(".leaflet-marker-icon").count() == 2
    shoot(page, "quick-start-6-second-origin")

    page.set_viewport_size({"width": 600, "height": 950})
    page.wait_for_function(f"() => ({BELOW_MAP})()")
    assert page.evaluate(CUT_OFF) == []
    shoot(page, "quick-start-7-narrow")
    assert not complaints
    page.close()


@pytest.mark.thorough
def test_traffic(browser: Browser, lab: str, shoot: Callable[[Page, str], None]) -> None:
    page, complaints = run_notebook(browser, lab, "03-traffic")
    shoot(page, "traffic-1-eight")
    peak, width = page.evaluate(OUTLINE), page.evaluate(WIDTH)
    assert page.evaluate(HOLDS_MARKER)
    page.locator(".traveltime-clock .noUi-handle").first.focus()
    for _ in range(20):
        page.keyboard.press("ArrowLeft")
    page.get_by_text("03:00", exact=True).first.wait_for()
    night = until_changed(page, peak)
    assert page.evaluate(WIDTH) > width, "at night one gets farther"
    shoot(page, "traffic-2-night")
    drag_marker(page, 120, 40)
    until_changed(page, night)
    assert page.evaluate(HOLDS_MARKER)
    shoot(page, "traffic-3-dragged")
    assert not complaints
    page.close()


@pytest.mark.thorough
def test_public_transport(browser: Browser, lab: str, shoot: Callable[[Page, str], None]) -> None:
    page, complaints = run_notebook(browser, lab, "05-public-transport")
    shoot(page, "public-transport-1-eight")
    by_bus = page.evaluate(OUTLINE)
    assert page.evaluate(HOLDS_MARKER)
    curve = page.locator(".traveltime-day-picture").first
    until_text(curve, lambda text: " to " in text)
    page.set_viewport_size({"width": 1500, "height": 1250})
    plot = curve.locator("svg").first.bounding_box()
    assert plot is not None
    page.mouse.click(plot["x"] + plot["width"] * 20.5 / 24, plot["y"] + plot["height"] / 3)
    page.get_by_text("20:30", exact=True).first.wait_for()
    evening = until_changed(page, by_bus)
    until_text(curve, lambda text: "at 20:30" in text)
    shoot(page, "public-transport-2-curve")
    page.mouse.click(plot["x"] + plot["width"] / 3, plot["y"] + plot["height"] / 2)
    assert until_changed(page, evening) == by_bus, "a click on the curve sets the time"
    page.locator("select").filter(has_text="this very minute").first.select_option(label="within an hour")
    page.locator("select").filter(has_text="the luckiest minute").first.select_option(label="80 % of the minutes")
    until_changed(page, by_bus)
    box = page.locator(".leaflet-container").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.31 * box["width"], box["y"] + 0.8 * box["height"])
    page.get_by_text("80 % of the time within", exact=False).last.wait_for()
    page.wait_for_timeout(1500)
    sure = page.evaluate(OUTLINE)
    shoot(page, "public-transport-3-relied-on")
    page.locator(".traveltime-clock .noUi-handle").first.focus()
    for _ in range(56):
        page.keyboard.press("ArrowRight")
    page.get_by_text("22:00", exact=True).first.wait_for()
    until_changed(page, sure)
    shoot(page, "public-transport-4-night")
    page.locator(".traveltime-mode select").first.select_option(label="by car")
    page.locator("select").filter(has_text="this very minute").first.wait_for(state="hidden")
    assert page.evaluate(CUT_OFF) == []
    assert not complaints
    page.close()


def until_side_by_side(page: Page) -> None:
    """Wait until both maps show the same window and their pins are at the same place, and stay so."""
    for _ in range(2):
        page.wait_for_function(
            f"""() => {{
                const pins = ({PINS})(), windows = ({WINDOWS})();
                return windows[0] === windows[1] && pins[0].every((at, i) => Math.abs(at - pins[1][i]) <= 2);
            }}""",
            timeout=60_000,
        )
        page.wait_for_timeout(1000)


@pytest.mark.thorough
def test_side_by_side(browser: Browser, lab: str, shoot: Callable[[Page, str], None]) -> None:
    page, complaints = run_notebook(browser, lab, "14-scenarios")
    shoot(page, "side-by-side-1-opened")
    opened = page.evaluate(OUTLINES)
    assert len(opened) == 2 and opened[0] != opened[1], "the works make a difference"
    pins, windows = page.evaluate(PINS), page.evaluate(WINDOWS)
    assert pins[0] == pytest.approx(pins[1], abs=2) and windows[0] == windows[1]

    drag_marker(page, 60, 50)
    # Only a pin that moved changes the shapes, and a pin that stayed behind is not where the other one is. Where on
    # the screen both are says nothing: the maps zoom to show all of the new shapes.
    page.wait_for_function(f"before => ({OUTLINES})().every((d, i) => d !== before[i])", arg=opened, timeout=180_000)
    until_side_by_side(page)
    shoot(page, "side-by-side-2-dragged")

    box = page.locator(".leaflet-container").last.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + 0.8 * box["height"]
    page.mouse.move(x, y)
    page.mouse.wheel(0, -120)
    page.wait_for_function(f"before => ({WINDOWS})().every(w => w !== before)", arg=windows[0], timeout=60_000)
    until_side_by_side(page)
    page.mouse.move(x + 5, y)
    page.get_by_text("Here", exact=False).nth(1).wait_for()
    shoot(page, "side-by-side-3-zoomed")
    page.set_viewport_size({"width": 600, "height": 950})
    page.wait_for_timeout(1500)
    assert page.evaluate(CUT_OFF) == []
    shoot(page, "side-by-side-4-narrow")
    assert not complaints
    page.close()


@pytest.mark.thorough
def test_exported_page(browser: Browser, tmp_path: Path, shoot: Callable[[Page, str], None]) -> None:
    network, places = tl.sample_network(), tl.sample_points()
    made = tl.TravelTimeMap(network, places.iloc[[0, 1]], travel_time=900)
    page, complaints = browser.new_page(viewport={"width": 1400, "height": 900}), []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(made.to_html(tmp_path / "map.html").as_uri())
    pin = page.locator(".leaflet-marker-icon").first.bounding_box()
    assert pin is not None
    page.mouse.move(pin["x"] + pin["width"] / 2 + 4, pin["y"] + pin["height"] + 4)
    until_text(page.locator("#here"), lambda text: f"{places.index[0]}: within 5 min" in text)
    assert f"{places.index[1]}: " in page.locator("#here").inner_text()
    page.mouse.move(1390, 450)
    until_text(page.locator("#here"), lambda text: text.count("not within 15 min") == 2)
    shoot(page, "exported")
    assert not complaints
    page.close()
