"""JupyterLab in a headless Chromium, for tests and benchmarks of the widget."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
#: Call of a widget.
_WIDGET = re.compile(r"tl\.(TravelTimeMap|SideBySideMap)\(")
#: Seconds that the cells of a notebook may take on a busy machine.
PATIENCE_S = 240

#: Whether the marker's tip lies in the outermost shape, by the browser's own geometry.
HOLDS_MARKER = """
() => {
    const marker = document.querySelector('.leaflet-marker-icon').getBoundingClientRect();
    const tip = new DOMPoint((marker.left + marker.right) / 2, marker.bottom);
    return [...document.querySelectorAll('.leaflet-areas-pane path')].some(
        path => path.isPointInFill(tip.matrixTransform(path.getScreenCTM().inverse())));
}
"""
OUTLINE = "() => [...document.querySelectorAll('.leaflet-areas-pane path')].map(path => path.getAttribute('d')).join()"
#: Of each of several maps: its shapes, where its first pin is, and the scale of its window.
OUTLINES = """
() => [...document.querySelectorAll('.leaflet-areas-pane')].map(
    pane => [...pane.querySelectorAll('path')].map(path => path.getAttribute('d')).join())
"""
PINS = """
() => [...document.querySelectorAll('.leaflet-container')].map(map => {
    const pin = map.querySelector('.leaflet-marker-icon').getBoundingClientRect(), box = map.getBoundingClientRect();
    return [pin.left - box.left, pin.top - box.top];
})
"""
WINDOWS = """
() => [...document.querySelectorAll('.leaflet-container')].map(map => {
    const bar = map.querySelector('.leaflet-control-scale-line');
    return bar.textContent + bar.style.width;
})
"""
#: Width of the largest shape in metres, by the scale bar: the map may zoom to show all of it.
WIDTH = """
() => {
    const bar = document.querySelector('.leaflet-control-scale-line'), [length, unit] = bar.textContent.split(' ');
    const metres = Number(length) * (unit === 'km' ? 1000 : 1) / parseFloat(bar.style.width);
    return document.querySelector('.leaflet-areas-pane path').getBBox().width * metres;
}
"""

#: Whether the first control is below the map.
BELOW_MAP = """
() => document.querySelector('.traveltime-mode').getBoundingClientRect().top
    > document.querySelector('.leaflet-container').getBoundingClientRect().bottom
"""
#: Classes of widgets whose contents do not fit into them.
CUT_OFF = """
() => [...document.querySelectorAll('.jp-OutputArea-output .jupyter-widgets')].filter(element => {
    const {overflowX, overflowY} = getComputedStyle(element);
    return element.clientWidth && (element.scrollWidth > element.clientWidth + 1 && overflowX !== 'visible'
        || element.scrollHeight > element.clientHeight + 1 && overflowY !== 'visible');
}).map(element => element.className)
"""


@contextlib.contextmanager
def serve_lab(folder: Path, short: Iterable[str] = ()) -> Iterator[str]:
    """
    Start a JupyterLab with copies of the notebooks in a folder and yield its address.

    Of notebooks whose names are in `short` only the cell with the first widget is kept, and those that it depends on.
    """
    work, config = folder / "work", folder / "config"
    shutil.copytree(
        ROOT / "notebooks", work, ignore=shutil.ignore_patterns("*.py", "__pycache__", ".ipynb_checkpoints")
    )
    for name in short:
        path = work / f"{name}.ipynb"
        notebook = json.loads(path.read_text("utf-8"))
        notebook["cells"] = _needed([cell for cell in notebook["cells"] if cell["cell_type"] == "code"])
        path.write_text(json.dumps(notebook), "utf-8")
    (config / "labconfig").mkdir(parents=True)
    quiet = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    (config / "labconfig" / "page_config.json").write_text(json.dumps(quiet))
    with contextlib.closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
        "JUPYTER_CONFIG_DIR": str(config),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}", "--allow-root"]
    command += ["--IdentityProvider.token=", f"--ServerApp.root_dir={work}"]
    with (folder / "log.txt").open("w") as log:
        server = subprocess.Popen(command, cwd=work, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            until(lambda: _answers(port), "JupyterLab answers", server)
            yield f"http://127.0.0.1:{port}/lab"
        finally:
            server.terminate()
            try:
                server.wait(60)
            except subprocess.TimeoutExpired:  # kernels that still compute hold it up
                server.kill()
                server.wait()


def _needed(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the cell with the first widget and the ones before it that assign what it needs."""
    kept: list[dict[str, Any]] = []
    wanted: set[str] = set()
    for cell in reversed(cells):
        source = "".join(cell["source"])
        names = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name | ast.alias)]
        loaded = {name.id for name in names if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load)}
        bound = {
            name.asname or name.name if isinstance(name, ast.alias) else name.id
            for name in names
            if isinstance(name, ast.alias) or isinstance(name.ctx, ast.Store)
        }
        if _WIDGET.search(source):
            kept, wanted = [cell], loaded
        elif bound & wanted:
            kept, wanted = [cell, *kept], wanted | loaded
    return kept


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def until(is_so: Callable[[], Any], what: str, server: subprocess.Popen[Any] | None = None) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, f"waited in vain until: {what}"
        assert server is None or server.poll() is None, "the server stopped"
        time.sleep(0.05)


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Start a headless Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def run_notebook(browser: Browser, lab: str, name: str) -> tuple[Page, list[str]]:
    """Open a notebook, run all cells and scroll to its widget; also return what the browser complained about."""
    page = browser.new_page(viewport={"width": 1500, "height": 950})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    strangers: list[str] = []
    page.on("request", lambda request: strangers.append(request.url) if "127.0.0.1" not in request.url else None)
    # Other environments are tested at the same time and leave little of the machine.
    page.set_default_timeout(180_000)
    page.goto(f"{lab}/tree/{name}.ipynb?reset")
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
    # Only the notebook matters: fold the file browser away.
    page.keyboard.press("Control+b")
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    last = page.locator(".jp-CodeCell").last.locator(".jp-InputArea-prompt")
    until_text(last, lambda text: any(letter.isdigit() for letter in text), PATIENCE_S)
    page.locator(".leaflet-areas-pane path").first.wait_for(state="attached")
    page.locator(".leaflet-container").first.scroll_into_view_if_needed()
    page.locator(".leaflet-marker-icon").first.wait_for()
    page.wait_for_timeout(700)
    online = [url for url in strangers if not url.startswith(("data:", "blob:"))]
    assert not online, "works without internet"
    return page, complaints


def until_text(locator: Locator, is_so: Callable[[str], bool], seconds: float = 60) -> None:
    """Wait until an element's text is as wanted."""
    end = time.monotonic() + seconds
    while not is_so(locator.inner_text()):
        assert time.monotonic() < end, f"waited in vain; the text is {locator.inner_text()!r}"
        locator.page.wait_for_timeout(100)


def until_changed(page: Page, before: str) -> str:
    """Wait until shapes differ from before and have settled."""
    page.wait_for_function(f"before => ({OUTLINE})() !== before", arg=before, timeout=180_000)
    settled = ""
    while settled != (now := page.evaluate(OUTLINE)):
        settled = now
        page.wait_for_timeout(600)
    return str(settled)


def drag_marker(page: Page, dx: float, dy: float, *, drop: bool = True) -> None:
    """Take the first marker by its head and move it."""
    box = page.locator(".leaflet-marker-icon").first.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 3
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 11):
        page.mouse.move(x + dx * step / 10, y + dy * step / 10)
        page.wait_for_timeout(60)
    if drop:
        page.mouse.up()
