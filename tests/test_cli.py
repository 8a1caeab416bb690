"""The command line: what it prints, what it writes, how it fails."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest

import traveltime_lab as tl
from tests.support import browsing
from tests.support.combinations import first_of
from tests.support.osm_files import osm_xml
from traveltime_lab import cli
from traveltime_lab.maps import leaflet, style

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network


@pytest.mark.parametrize("name", first_of(1, ["porto_alegre", "helsinki"], mark=pytest.mark.slow))
def test_demo(name: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network: Network = request.getfixturevalue(name)
    folder = tmp_path / "a" / "folder"
    assert cli.main(["demo", "--sample", name, "--out", str(folder)]) == 0
    printed = capsys.readouterr().out
    places = tl.sample_points(name)
    assert all(place in printed for place in places.index)
    assert "© OpenStreetMap" in printed

    times = pd.read_csv(folder / "travel_times.csv", index_col=0)
    assert times.shape == (len(places), len(places))
    assert times.notna().all(axis=None)

    written = json.loads((folder / "isochrones.geojson").read_bytes())
    assert written["name"] == "isochrones", "a layer without a name has a random one"
    areas = gpd.read_file(folder / "isochrones.geojson")
    assert len(areas) == len(cli.DEMO_MODES) * len(cli.DEMO_MINUTES)
    assert areas.crs == "EPSG:4326"
    assert areas.geometry.is_valid.all() and not areas.geometry.is_empty.any()
    origin = places.geometry[cli.DEMO_ORIGINS[name]]
    assert areas.geometry.intersects(origin).all()
    sizes = areas.to_crs(network.crs).area.to_numpy().reshape(len(cli.DEMO_MODES), -1)
    assert (sizes[:, 1:] > sizes[:, :-1]).all()
    same = gpd.read_parquet(folder / "isochrones.parquet")
    assert same["travel_time"].tolist() == areas["travel_time"].tolist()

    page = (folder / "map.html").read_text(encoding="utf-8")
    assert "OpenStreetMap" in page and len(page) < 2_000_000
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)
    assert [attributes for attributes, _ in scripts] == ["", ' type="application/json" id="data"', ""]
    assert scripts[2][1].count("const drawBase") == 1 and "base_maps.js" not in page
    own = page.replace(leaflet.script(), "").replace(leaflet.stylesheet(), "")
    assert not re.search(r"(?:src|href)=|url\(|@import|https?:(?!//www\.w3\.org/2000/svg)", own), "it works offline"
    data = json.loads(scripts[1][1])
    assert [mode["type"] for mode in data["modes"]] == list(cli.DEMO_MODES)
    assert [time["time"] for time in data["times"]] == [60 * minutes for minutes in cli.DEMO_MINUTES]
    assert [area["km2"] for area in data["areas"]] == pytest.approx(sizes.ravel() / 1e6, abs=0.01)
    assert [place["name"] for place in data["places"] if place["is_origin"]] == [cli.DEMO_ORIGINS[name]]
    assert all((style.WATER in base["ground"]) == (name == "helsinki") for base in data["bases"]), "by the sea"


@pytest.mark.slow
@pytest.mark.skipif(browsing.CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium")
def test_demo_map_in_a_browser(helsinki: Network, tmp_path: Path) -> None:
    """Opened from the disk, without a network, wide and narrow."""
    pytest.importorskip("playwright", reason="playwright is not installed")
    assert cli.main(["demo", "--sample", "helsinki", "--out", str(tmp_path)]) == 0
    faults: list[str] = []
    with browsing.chromium() as browser:
        for width in (1200, 400):
            page = browser.new_page(viewport={"width": width, "height": 800}, offline=True)
            page.on("pageerror", lambda error: faults.append(str(error)))
            page.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
            page.goto((tmp_path / "map.html").as_uri())
            assert page.locator(".leaflet-areas-pane path").count() == len(cli.DEMO_MINUTES)
            page.wait_for_function("[...document.images].length && [...document.images].every(each => each.complete)")
            by_car = page.locator("#times").inner_text()
            page.locator("#modes input").last.focus()
            page.keyboard.press("ArrowLeft")
            assert page.locator("#times").inner_text() != by_car, "the other mode, by the keyboard"
            if width > 700:
                page.locator(".area-300").first.hover(force=True)
                assert page.locator("#here").inner_text() == "Here: within 5 min"
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            folder = Path(os.environ.get("TRAVELTIME_LAB_SCREENSHOTS") or tmp_path)
            page.wait_for_timeout(400)
            page.screenshot(path=folder / f"demo-{width}.png")
    assert not faults


def test_a_build_that_cannot_be_prepared_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "path.osm", tmp_path / "path.network"
    source.write_text(
        '<osm version="0.6"><node id="1" lat="60.17" lon="24.94"/><node id="2" lat="60.171" lon="24.94"/>'
        '<way id="1"><nd ref="1"/><nd ref="2"/><tag k="highway" v="footway"/></way></osm>'
    )
    assert cli.main(["build", str(source), str(out), "--prepare", "walking", "driving"]) == 1
    assert "no street of the network is open" in capsys.readouterr().err
    assert {*tmp_path.iterdir()} == {source}
    assert cli.main(["build", str(source), str(out), "--prepare", "walking"]) == 0
    assert {*tmp_path.iterdir()} == {source, out}


@pytest.mark.slow
def test_build_and_info(helsinki: Network, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tl.sample_files("helsinki")["streets"]
    out = tmp_path / "helsinki.network"
    more = ["--timezone", "Europe/Helsinki", "--prepare", "walking"]
    assert cli.main(["build", str(source), str(out), *more]) == 0
    assert str(out) in capsys.readouterr().out
    assert tl.load_network(out).n_edges == helsinki.n_edges
    assert cli.main(["build", str(source), str(out), "--prepare", "public_transport"]) == 1
    assert "no timetable" in capsys.readouterr().err
    assert tl.load_network(out).prepared == ("walking",)
    assert cli.main(["info", str(out)]) == 0
    told = capsys.readouterr().out
    assert "Europe/Helsinki" in told
    assert "prepared for: walking" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "missing.network"], "missing.network"),
        (["build", "missing.osm.pbf", "out.network"], "missing.osm.pbf"),
        (["info", "."], ""),
    ],
)
def test_errors_are_explained(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("traveltime-lab: ")
    assert message in captured.err
    assert captured.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [[], ["serve", "--port", "many"], ["demo", "--sample", "atlantis"], ["build", "one"]]
)
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    assert "usage: traveltime-lab" in capsys.readouterr().err


def lists() -> list[tuple[str, argparse.Action]]:
    """Return command and option of all options that take several values."""
    commands = next(action for action in cli._parser()._actions if isinstance(action, argparse._SubParsersAction))
    return [
        (command, action)
        for command, parser in commands.choices.items()
        for action in parser._actions
        if action.option_strings and (action.nargs == "+" or isinstance(action, argparse._AppendAction))
    ]


@pytest.mark.parametrize(("command", "action"), lists(), ids=lambda each: each if isinstance(each, str) else each.dest)
def test_an_option_for_several_values_may_be_given_several_times(command: str, action: argparse.Action) -> None:
    name = action.option_strings[-1]
    over_days = ["network", "0,0", "--travel-time", "60", "--departure-time", "2026-03-03T08:00"]
    needed = {
        "build": ["osm", "out"],
        "networks": ["out"],
        "reliability": over_days,
        "reliability-map": over_days,
        "reliability-cells": [*over_days, "--resolution", "9"],
    }.get(command, [])
    for _ in "ab":  # and what one call is given is not kept for the next
        options, _rest = cli._parser().parse_known_args([command, *needed, name, "one", name, "two"])
        assert getattr(options, action.dest) == ["one", "two"]


@pytest.mark.slow
def test_module_runs_and_help_is_cheap() -> None:
    code = (
        "import sys, runpy\n"
        "sys.argv = ['traveltime-lab', '--version']\n"
        "try: runpy.run_module('traveltime_lab', run_name='__main__')\n"
        "except SystemExit as stop: assert not stop.code\n"
        "assert not {'numpy', 'pandas', 'numba'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == f"traveltime-lab {tl.__version__}"


@pytest.mark.parametrize("name", ["two.osm.pbf", "TWO.OSM", "two.xml", "two.osm.gz"])
def test_the_last_osm_file_is_not_replaced_by_the_network(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for each in ("one.osm", name):
        (tmp_path / each).write_bytes(b"mine")
    assert cli.main(["build", str(tmp_path / "one.osm"), str(tmp_path / name)]) == 1
    assert "OUT, the last name, is the network to write" in capsys.readouterr().err
    assert (tmp_path / name).read_bytes() == b"mine"


def test_build_with_elevation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rasterio = pytest.importorskip("rasterio")
    street = osm_xml({1: (0.5, 0.5), 2: (0.505, 0.5)}, [(1, "1 2", "highway=residential")])
    (tmp_path / "street.osm").write_bytes(street)
    profile = {"driver": "GTiff", "width": 30, "height": 20, "count": 1, "dtype": "int16", "crs": "EPSG:4326"}
    profile["transform"] = rasterio.Affine(0.001, 0, 0.49, 0, -0.001, 0.51)
    with rasterio.open(tmp_path / "hill.tif", "w", **profile) as file:
        file.write(np.add.outer(np.zeros(20), 3 * np.arange(30)).astype(np.int16), 1)
    out = tmp_path / "street.network"
    made = ["build", str(tmp_path / "street.osm"), str(out), "--timezone", "UTC", "--elevation"]
    assert cli.main([*made, str(tmp_path / "hill.tif"), "--prepare", "walking"]) == 0
    assert "hill.tif: elevation, " in capsys.readouterr().out
    network = tl.load_network(out)
    assert network.prepared == ("walking",)
    assert network.tables.walking_slope_factor[0] > 1.0 > network.tables.walking_slope_factor[1]
    assert cli.main([*made, "missing.tif"]) == 1
    assert "missing.tif does not exist" in capsys.readouterr().err


def test_build_with_speeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    street = osm_xml({1: (0.5, 0.5), 2: (0.505, 0.5)}, [(7, "1 2", "highway=residential")])
    (tmp_path / "street.osm").write_bytes(street)
    (tmp_path / "speeds.csv").write_text("way,hour,kph\n7,8,12.5\n")
    change = tl.SetSpeed(ways=[7], modes="driving", factor=2)
    tl.save_changes([change], tmp_path / "changes.json")
    out = tmp_path / "street.network"
    made = ["build", str(tmp_path / "street.osm"), str(out), "--timezone", "UTC", "--speeds"]
    more = ["--changes", str(tmp_path / "changes.json"), "--prepare", "driving"]
    assert cli.main([*made, str(tmp_path / "speeds.csv"), *more]) == 0
    assert "speeds.csv: measured speeds, " in capsys.readouterr().out
    network = tl.load_network(out)
    assert network.prepared == ("driving",)
    assert network.edges_frame("2026-03-03T08:00")["traffic_kph_backward"].tolist() == [25]
    assert cli.main([*made, "missing.csv"]) == 1
    assert "no profile of speeds at missing.csv" in capsys.readouterr().err


def test_build_cuts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = {1: (-9.0, -9.0), 2: (-8.999, -9.0), 3: (-8.99, -9.0), 4: (-8.989, -9.0)}
    (tmp_path / "street.osm").write_bytes(osm_xml(nodes, [(5, "1 2", "highway=path"), (6, "3 4", "highway=path")]))
    build = ["build", str(tmp_path / "street.osm"), str(tmp_path / "out.network")]
    for bounds in (["--bounds", "-9.1,-9.1,-8.995,-8.9"], ["--bounds=-9.1,-9.1,-8.995,-8.9"]):
        assert cli.main([*build, *bounds]) == 0
        assert tl.load_network(tmp_path / "out.network").n_edges == 1
    assert "nodes within bounds: 2" in capsys.readouterr().out
    assert cli.main([*build, "--bounds", "1,1,2,2"]) == 1
    assert "nothing within the bounds (1.0, 1.0, 2.0, 2.0)" in capsys.readouterr().err
    for wrong in ("1,2,3", "-1,b,2,3"):
        with pytest.raises(SystemExit):
            cli.main([*build, "--bounds", wrong])
        assert "is not west,south,east,north" in capsys.readouterr().err
