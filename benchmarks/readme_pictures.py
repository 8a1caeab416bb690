"""
Draw the pictures of the README anew: ``python benchmarks/readme_pictures.py``.

Two still maps, the curve of a guide page, and the widget, as JupyterLab shows it in headless Chromium (left out with
``--no-browser``).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import pandas as pd
from PIL import Image

import traveltime_lab as tl
from traveltime_lab.maps import plot

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "pictures"
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

from reduced_colours import reduced  # noqa: E402


def still() -> None:
    network, places = tl.sample_network(), tl.sample_points()
    hospital = places.loc[["Hospital Santa Casa"]]
    morning = {"transportation": "driving", "departure_time": "2026-03-02T08:00"}
    # The extract has no shore: a wide buffer would reach into the Guaíba.
    shapes = {"level_of_detail": "high", "buffer_distance": 250, **morning}
    areas = [tl.time_map(network, hospital, travel_time=limit, **shapes) for limit in (300, 600, 900)]
    title = "By car from Hospital Santa Casa, Monday at eight"
    plot.save(FOLDER / "isochrones.png", network, pd.concat(areas), places, title=title, size=6.5, dpi=110)
    zones = tl.sample_points(kind="zones")
    times = tl.time_filter(network, zones, hospital, travel_time=7200, **morning)
    minutes = zones.assign(minutes=times["travel_time"].to_numpy(dtype=float, na_value=float("nan")) / 60)
    title = "To Hospital Santa Casa"
    plot.save(
        FOLDER / "matrix.png", network, None, minutes, column="minutes", title=title, size=6.5, dpi=110,
        street_names=False,
    )  # fmt: skip


def day() -> None:
    """Draw the curve of docs/guide/public-transport.md."""
    network, places = tl.sample_network(), tl.sample_points()
    found = tl.accessibility(
        network,
        places.loc[["PUCRS"]],
        tl.sample_points(kind="zones"),
        travel_time=1800,
        values="jobs",
        transportation="public_transport",
        departure_time=("2019-05-14T00:00", "2019-05-15T00:00", "15min"),
    )
    axes = found.plot.line(x="moment", y="jobs", figsize=(7, 3.2), ylim=0)
    axes.figure.savefig(FOLDER / "day.png", dpi=110, bbox_inches="tight")


def widget() -> None:
    sys.path.insert(0, str(ROOT))
    from tests.support import browsing

    with (
        tempfile.TemporaryDirectory() as folder,
        browsing.serve_lab(Path(folder)) as lab,
        browsing.chromium() as browser,
    ):
        page, _ = browsing.run_notebook(browser, lab, "01-quick-start")
        page.locator(".leaflet-control-zoom-in").first.click()  # until footpaths are drawn
        page.wait_for_timeout(3000)
        box = page.locator(".leaflet-container").first.bounding_box()
        page.mouse.move(box["x"] + 0.62 * box["width"], box["y"] + 0.3 * box["height"])
        page.get_by_text("Here", exact=False).last.wait_for()
        page.wait_for_timeout(1000)
        clip = {"x": box["x"] - 4, "y": box["y"] - 4, "width": box["width"] + 330, "height": box["height"] + 44}
        page.screenshot(path=FOLDER / "widget.png", clip=clip)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-browser", action="store_true")
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    still()
    day()
    if not options.no_browser:
        widget()
    for path in FOLDER.glob("*.png"):
        with Image.open(path) as picture:
            picture.load()
        small = picture if picture.mode == "P" else reduced(picture)
        small.save(path, "PNG", optimize=True)
