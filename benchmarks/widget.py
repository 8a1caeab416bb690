"""
Costs of a drag of the widget's marker on the sample: milliseconds to repaint and bytes on the wire.

``python benchmarks/widget.py`` measures what Python does and sends, and how long a drop takes while the curve of the
day is searched; with ``--browser`` also JupyterLab in headless Chromium, from the mouse's release to the changed shape
on the screen.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import ipywidgets
from ipywidgets.embed import dependency_state

import traveltime_lab as tl

ROOT = Path(__file__).parents[1]
PLACE = "Parque Farroupilha"
TUESDAY = {"departure_time": "2019-05-14T08:00"}
CASES: dict[str, dict[str, Any]] = {
    "walking 15 min": {"travel_time": 900, "transportation": "walking"},
    "cycling 15 min": {"travel_time": 900, "transportation": "cycling"},
    "driving 15 min": {"travel_time": 900, "transportation": "driving"},
    "driving 30 min": {"travel_time": 1800, "transportation": "driving"},
    "bus 30 min": {"travel_time": 1800, "transportation": "public_transport", **TUESDAY},
    "bus 60 min": {"travel_time": 3600, "transportation": "public_transport", **TUESDAY},
    "bus 60, window": {"travel_time": 3600, "transportation": "public_transport", **TUESDAY, "window": 3600},
    "bus 60, 80 %": {
        "travel_time": 3600, "transportation": "public_transport", **TUESDAY, "window": 3600, "percentile": 80,
    },
}  # fmt: skip


def in_python(n: int) -> None:
    network = tl.sample_network()
    plaza = tl.sample_points().loc[[PLACE]]
    sent: list[int] = []
    send = ipywidgets.Widget._send

    def counted(self: Any, message: dict[str, Any], buffers: Any = None) -> Any:
        sent.append(len(json.dumps(message)))
        return send(self, message, buffers)

    ipywidgets.Widget._send = counted
    print(f"{n} drags of 100 to 400 m, warm; three rings; median and 90 % of milliseconds, kB to the browser")
    print("while the marker moves, as it is shown then (slow answers coarsely), and where it is dropped\n")
    print(f"{'':16} {'moving ms':>16} {'dropped ms':>16} {'CPU ms':>8} {'kB a drag':>10} {'kB at first':>12}")
    for name, values in CASES.items():
        made = tl.TravelTimeMap(network, plaza, **values)
        first = len(json.dumps(dependency_state([made]))) / 1000
        start = made.state.origins[0]
        moving, dropped, cpus, sizes = [], [], [], []
        for i in range(n + 5):
            step = 0.001 + 0.003 * (i % 7) / 7
            place = start.lng + step * (-1) ** i, start.lat + step * (i % 3 - 1)
            sent.clear()
            made.move_origin(PLACE, *place, is_dragging=True)
            first_half, begun = sum(sent), time.perf_counter()
            made.move_origin(PLACE, place[0] + 1e-5, place[1], is_dragging=True)
            half, cpu = time.perf_counter(), time.process_time()
            sent.clear()
            made.move_origin(PLACE, place[0], place[1])
            if i >= 5:
                moving.append((half - begun) * 1e3)
                dropped.append((time.perf_counter() - half) * 1e3)
                cpus.append((time.process_time() - cpu) * 1e3)
                sizes.append(max(sum(sent), first_half) / 1000)
        print(
            f"{name:16} {_spread(moving)} {_spread(dropped)} {statistics.median(cpus):8.0f} "
            f"{statistics.median(sizes):10.1f} {first:12.0f}"
        )


async def with_curve(n: int) -> None:
    """Print how long the curve of the day takes, and drops without it and while it is searched, by turns."""
    network = tl.sample_network()
    plaza = tl.sample_points().loc[[PLACE]]
    print(f"\nThe curve of the day: {n} drops by turns without it and while it is searched, median and 90 %")
    for name in ("bus 30 min", "bus 60 min", "bus 60, 80 %"):
        made = tl.TravelTimeMap(network, plaza, **CASES[name])
        cpu = time.process_time()
        while len(made._day_found) < len(made._day_parts):
            await asyncio.sleep(0.01)
        whole = time.process_time() - cpu
        start, dropped = made.state.origins[0], {False: [], True: []}
        for i in range(2 * n + 4):
            made.panel._curve.value = has_curve = i % 2 == 1
            place = start.lng + 0.001 * (1 + i // 2 % 5), start.lat + 0.001 * (i // 2 % 3)
            made.move_origin(PLACE, *place)
            while made._shape_jobs.running is not None:
                await asyncio.sleep(0.001)
            while has_curve and made._day_jobs.running is None:
                await asyncio.sleep(0.001)
            begun = time.perf_counter()
            made.move_origin(PLACE, place[0] + 2e-4, place[1])
            while made._shape_jobs.running is not None:
                await asyncio.sleep(0.001)
            if i >= 4:
                dropped[has_curve].append((time.perf_counter() - begun) * 1e3)
        without, meanwhile = (_spread(dropped[has_curve]) for has_curve in (False, True))
        print(f"{name:16} curve {whole:5.2f} s of processor time; drops without{without} ms, meanwhile{meanwhile} ms")


def _spread(values: list[float]) -> str:
    """Return median and 90 %."""
    return f"{statistics.median(values):7.0f} {sorted(values)[int(0.9 * len(values))]:8.0f}"


def in_browser(n: int) -> None:
    sys.path.insert(0, str(ROOT))
    from tests.support import browsing

    with (
        tempfile.TemporaryDirectory() as folder,
        browsing.serve_lab(Path(folder)) as lab,
        browsing.chromium() as browser,
    ):
        received: list[int] = []
        page, _ = browsing.run_notebook(browser, lab, "01-quick-start")
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on(
            "Network.webSocketFrameReceived", lambda frame: received.append(len(frame["response"]["payloadData"]))
        )
        page.evaluate(
            """() => {
                window.painted = [];
                const pane = document.querySelector('.leaflet-areas-pane');
                new MutationObserver(() => requestAnimationFrame(() => window.painted.push(performance.now())))
                    .observe(pane, {subtree: true, childList: true, attributes: true, attributeFilter: ['d']});
                document.addEventListener('mouseup', () => { window.released = performance.now(); }, true);
            }"""
        )
        times, sizes = [], []
        for i in range(n):
            browsing.drag_marker(page, 40 * (-1) ** i, 20 * (i % 3 - 1), drop=False)
            page.wait_for_timeout(1500)
            page.mouse.move(*_at_marker(page, 12 * (-1) ** i))
            page.evaluate("() => { window.painted = []; }")
            received.clear()
            page.mouse.up()
            page.wait_for_timeout(1500)
            first = page.evaluate("() => window.painted.length ? window.painted[0] - window.released : null")
            if first is not None:
                times.append(first)
            sizes.append(sum(received) / 1000)
        times.sort()
        print(
            f"\nIn JupyterLab, walking 15 min, release of the mouse to the changed shape: median "
            f"{statistics.median(times):.0f} ms, 90 % {times[int(0.9 * len(times))]:.0f} ms ({len(times)} drags); "
            f"{statistics.median(sizes):.1f} kB received as text of the web socket"
        )


def _at_marker(page: Any, dx: float) -> tuple[float, float]:
    box = page.locator(".leaflet-marker-icon").first.bounding_box()
    return box["x"] + box["width"] / 2 + dx, box["y"] + box["height"] / 3


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drags", type=int, default=30)
    parser.add_argument("--browser", action="store_true")
    options = parser.parse_args()
    in_python(options.drags)
    asyncio.run(with_curve(options.drags))
    if options.browser:
        in_browser(min(options.drags, 15))
