"""The command line: what it prints, what it writes, how it fails."""

from __future__ import annotations

import base64
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from matplotlib import colors, pyplot

import traveltime_lab as tl
from traveltime_lab import cli
from traveltime_lab.maps import style

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network


@pytest.mark.parametrize("name", ["coquimbo", "helsinki"])
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
    assert "OpenStreetMap" in page
    assert not re.search(r"""(?:src|href)=(?!['"]data:image/png)|url\(|@import""", page), "the page must work offline"
    pictures = re.findall(r"src='data:image/png;base64,([^']*)' alt='([^']*)'", page)
    assert [re.search("walking|driving", words).group() for _, words in pictures] == list(cli.DEMO_MODES)
    for picture, words in pictures:
        assert "5, 10, 15 minutes" in words
        pixels = pyplot.imread(io.BytesIO(base64.b64decode(picture)))
        # Every ring is there, in its colour over the paper.
        paper = np.array(colors.to_rgb(style.PAPER))
        for colour in style.ramp(len(cli.DEMO_MINUTES)):
            mixed = style.AREA_OPACITY * np.array(colors.to_rgb(colour)) + (1 - style.AREA_OPACITY) * paper
            assert (np.abs(pixels[:, :, :3] - mixed).max(axis=2) < 0.02).sum() > 500


def test_build_and_info(helsinki: Network, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from traveltime_lab.network import sample

    source = sample._locate(sample._SAMPLES["helsinki"])
    out = tmp_path / "helsinki.network"
    assert cli.main(["build", str(source), str(out), "--timezone", "Europe/Helsinki"]) == 0
    assert str(out) in capsys.readouterr().out
    assert tl.load_network(out).n_edges == helsinki.n_edges
    assert cli.main(["info", str(out)]) == 0
    assert "Europe/Helsinki" in capsys.readouterr().out


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
