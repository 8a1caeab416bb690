"""The commands of large jobs: files in, files out, and exit statuses that scripts can rely on."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import geopandas as gpd
import pandas as pd
import pytest
import shapely

import traveltime_lab as tl
from tests.support import ROOT
from tests.support.combinations import combined
from tests.support.disk import size_limit
from tests.support.large_jobs import ON_FOOT, checksums, grid, points
from traveltime_lab import cli
from traveltime_lab.commands import large_jobs
from traveltime_lab.jobs import run
from traveltime_lab.jobs.point_files import read_point_file
from traveltime_lab.network.network import Network

HOMES, SHOPS = points(20, 1), points(15, 2, texts=True)


@pytest.fixture(scope="module")
def town() -> Network:
    return grid()


@pytest.fixture(scope="module")
def files(town: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    town.save(folder / "town.network")
    frame(HOMES).to_parquet(folder / "homes.parquet")
    frame(SHOPS).to_file(folder / "shops.gpkg")
    return folder


def frame(places: gpd.GeoSeries) -> gpd.GeoDataFrame:
    return gpd.GeoDataFrame({"id": places.index}, geometry=places.array)


def arguments(files: Path, out: Path, command: str = "matrix") -> list[str]:
    inputs = [files / "town.network", files / "homes.parquet", *([files / "shops.gpkg"] if command == "matrix" else [])]
    return [command, *map(str, inputs), str(out), "--travel-time", "200", "--transportation", "walking"]


def test_matrix(town: Network, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--properties", "travel_time,distance", "--part-size", "100"]
    assert cli.main([*arguments(files, tmp_path / "m"), *more]) == 0
    printed = capsys.readouterr()
    rows = pd.read_parquet(tmp_path / "m")
    assert f"Complete: {len(rows):,} rows in 4 parts" in printed.out and str(tmp_path / "m") in printed.out
    expected = tl.time_filter(town, HOMES, SHOPS, form="sparse", properties=("travel_time", "distance"), **ON_FOOT)
    assert rows["origin"].tolist() == expected["origin"].tolist()
    assert rows["destination"].tolist() == expected["destination"].tolist()
    assert rows["distance"].tolist() == expected["distance"].tolist()


def test_areas(town: Network, files: Path, tmp_path: Path) -> None:
    more = ["--level-of-detail", "-2", "--no-holes", "--part-size", "7", "--quiet"]
    assert cli.main([*arguments(files, tmp_path / "a", "areas"), *more]) == 0
    found = gpd.read_parquet(tmp_path / "a")
    expected = tl.time_map(town, HOMES, level_of_detail=-2, no_holes=True, **ON_FOOT)
    assert found.geometry.geom_equals_exact(expected.geometry.reset_index(drop=True), 0.0).all()


@pytest.mark.slow
def test_options_of_transportation_and_several_limits(town: Network, files: Path, tmp_path: Path) -> None:
    slow = ["--walking-speed", "3", "--snapping-penalty", "disabled"]
    assert cli.main([*arguments(files, tmp_path / "m"), *slow]) == 0
    means = {"transportation": {"type": "walking", "walking_speed": 3}, "snapping": {"penalty": "disabled"}}
    expected = tl.time_filter(town, HOMES, SHOPS, form="sparse", travel_time=200, **means)
    assert pd.read_parquet(tmp_path / "m")["travel_time"].tolist() == expected["travel_time"].tolist()
    several = ["100,200" if text == "200" else text for text in arguments(files, tmp_path / "a", "areas")]
    assert cli.main([*several, *slow]) == 0
    areas = tl.time_map(town, HOMES, travel_time=[100, 200], **means)
    assert gpd.read_parquet(tmp_path / "a").geometry.geom_equals_exact(areas.geometry, 0.0, align=False).all()


@pytest.mark.slow
def test_timetables(porto_alegre: Network, tmp_path: Path) -> None:
    places = tl.sample_points("porto_alegre")
    porto_alegre.save(tmp_path / "porto_alegre.network")
    frame(places.geometry).to_parquet(tmp_path / "places.parquet")
    inputs = [str(tmp_path / name) for name in ("porto_alegre.network", "places.parquet", "places.parquet", "m")]
    asked = ["--travel-time", "3600", "--transportation", "bus", "--departure-time", "2019-05-13T08:00"]
    assert cli.main(["matrix", *inputs, *asked, "--window", "300", "--percentiles", "50, 80"]) == 0
    assert list(pd.read_parquet(tmp_path / "m"))[-2:] == ["travel_time_p50", "travel_time_p80"]


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"homes.parquet": "missing.csv"}, 1, "no file of points at"),
        ({"town.network": "homes.parquet"}, 1, "is not a complete saved network"),
        ({"walking": "flying"}, 1, "Unknown transportation type 'flying'"),
        ({"200": "0"}, 1, "travel_time must be from 1"),
        ({}, 1, "no column 'nr'"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_errors_have_status_1(
    files: Path, tmp_path: Path, change: dict[str, str], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = arguments(files, tmp_path / "m")
    for old, new in change.items():
        # Whole words and names of files, as folders of pytest have numbers, too.
        given = [str(Path(text).with_name(new)) if Path(text).name == old else text for text in given]
    assert cli.main([*given, *([] if change else ["--id", "nr"])]) == status
    assert words in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("more", [["--percentiles", "x"], ["--workers", "0"], ["--properties", "fares"]])
def test_wrong_values_have_status_1(files: Path, tmp_path: Path, more: list[str]) -> None:
    assert cli.main([*arguments(files, tmp_path / "m"), *more]) == 1


@pytest.mark.parametrize("more", [["--travel-time", "long"], ["--departure-time", "x", "--arrival-time", "y"]])
def test_wrong_usage_has_status_2(files: Path, tmp_path: Path, more: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main([*arguments(files, tmp_path / "m"), *more])
    assert caught.value.code == 2


@pytest.mark.slow
def test_a_full_disk_has_status_3_and_ctrl_c_130(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [*arguments(files, tmp_path / "m"), "--part-size", "30"]
    with size_limit(2000):
        assert cli.main(given) == 3
    assert "0 of 10 parts" in capsys.readouterr().err

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run, "made_parts", interrupted)
        assert cli.main(given) == 130
    assert "interrupted; 0 of 10 parts" in capsys.readouterr().err
    assert cli.main(given) == 0
    assert cli.main(given) == 0
    assert cli.main([*given, "--part-size", "60"]) == 1
    assert "holds the parts of another job" in capsys.readouterr().err


def test_a_disk_that_is_full_from_the_start_has_status_3(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [*arguments(files, tmp_path / "m"), "--part-size", "30"]
    with size_limit(100):
        assert cli.main(given) == 3
    assert "repeat the call once there is space" in capsys.readouterr().err
    assert cli.main(given) == 0


def test_an_interruption_without_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(tl, "load_network", interrupted)
    assert cli.main(["info", "porto_alegre"]) == 130
    assert capsys.readouterr().err == "traveltime-lab: interrupted\n"


@pytest.mark.skipif(os.name == "nt", reason="no signals")
@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM"])
@pytest.mark.thorough
def test_a_signal_in_the_middle(files: Path, tmp_path: Path, sent: str) -> None:
    given = [*arguments(files, tmp_path / "m"), "--part-size", "15"]
    with subprocess.Popen(
        [sys.executable, "-m", "traveltime_lab", *given], cwd=ROOT, stderr=subprocess.PIPE, text=True
    ) as process:
        while process.poll() is None and not (tmp_path / "m" / "part-000000.parquet").exists():
            os.sched_yield()
        process.send_signal(getattr(signal, sent))
        _, told = process.communicate()
    # It may have been complete by then.
    assert process.returncode == 0 or (process.returncode == 130 and "interrupted" in told), told
    assert cli.main(given) == 0
    assert cli.main([*arguments(files, tmp_path / "whole"), "--part-size", "15"]) == 0
    assert checksums(tmp_path / "m") == checksums(tmp_path / "whole")


@pytest.mark.skipif(os.name == "nt", reason="no signals")
@pytest.mark.parametrize(
    ("module", "sent"),
    combined(
        ["traveltime_lab.cli", "argparse", "pandas", "numba", "traveltime_lab.jobs.matrix"], ["SIGINT", "SIGTERM"],
        mark=pytest.mark.thorough, few=pytest.mark.slow,
    ),
)  # fmt: skip
def test_a_signal_during_the_start(files: Path, tmp_path: Path, module: str, sent: str) -> None:
    """Whatever is being imported, the status is the one that is documented."""
    code = (
        "import os, runpy, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.{sent})\n"
        "sys.meta_path.insert(0, Finder())\n"
        "sys.argv = ['traveltime-lab', *sys.argv[1:]]\n"
        "runpy.run_module('traveltime_lab', run_name='__main__')\n"
    )
    given = [sys.executable, "-c", code, *arguments(files, tmp_path / "m")]
    done = subprocess.run(given, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "traveltime-lab: interrupted\n")
    assert not (tmp_path / "m").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_workers(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "fork" in multiprocessing.get_all_start_methods():
        monkeypatch.setattr(large_jobs, "START", "fork")  # at once, where spawned ones import everything
    for name, workers in (("two", "2"), ("one", "1")):
        given = [*arguments(files, tmp_path / name), "--part-size", "60", "--workers", workers]
        assert cli.main(given) == 0
    assert checksums(tmp_path / "two") == checksums(tmp_path / "one")


# Files of points ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.csv.gz", "p.parquet", "geo.parquet", "p.gpkg", "p.geojson"])
@pytest.mark.parametrize("places", [HOMES, SHOPS], ids=["numbers", "texts"])
def test_formats(tmp_path: Path, name: str, places: gpd.GeoSeries) -> None:
    path = tmp_path / name
    table = pd.DataFrame({"id": places.index, "lat": places.y.to_numpy(), "lng": places.x.to_numpy()})
    if name.endswith((".csv", ".csv.gz", ".tsv")):
        table.to_csv(path, index=False, sep="\t" if name.endswith(".tsv") else ",")
    elif name == "p.parquet":
        table.to_parquet(path)
    elif name == "geo.parquet":
        frame(places).rename_geometry("where").to_parquet(path)
    else:
        frame(places).to_file(path)
    found = read_point_file(path)
    assert found.index.tolist() == places.index.tolist()
    assert shapely.distance(found.geometry.to_numpy(), places.to_numpy()).max() < 1e-9
    assert found.crs == "EPSG:4326"


def test_labels_of_files(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    head = "nr,id,lng,lat\n"
    path.write_text(head + "007,5,0.5,0.5\n8,-6,0.6,0.5\n")
    assert read_point_file(path, "nr").index.tolist() == ["007", "8"]
    assert read_point_file(path).index.tolist() == [5, -6]
    path.write_text("lng,lat\n0.5,0.5\n0.6,0.5\n")
    assert read_point_file(path).index.tolist() == [0, 1]
    for missing in ("NA", "null", "None", "nan", "N/A"):  # Namibia, and others
        path.write_text(f"id,lng,lat\n{missing},0.5,0.5\nZA,0.6,0.5\n")
        assert read_point_file(path).index.tolist() == [missing, "ZA"]


def test_labels_of_categories(tmp_path: Path) -> None:
    texts = pd.Categorical(["b", "a"])
    frame(points(2, 1)).assign(id=texts).to_parquet(tmp_path / "p.parquet")
    assert read_point_file(tmp_path / "p.parquet").index.tolist() == ["b", "a"]


def test_layers(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.gpkg"
    frame(SHOPS).to_file(path, layer="shops")
    frame(SHOPS.iloc[:4]).to_file(path, layer="some")
    with pytest.raises(tl.DataError, match=r"has several layers: 'shops', 'some'\. Name one of them with --layer"):
        read_point_file(path)
    with pytest.raises(tl.DataError, match="has no layer 'none'; its layers are 'shops', 'some'"):
        read_point_file(path, layer="none")
    assert len(read_point_file(path, layer="some")) == 4
    assert len(read_point_file(files / "shops.gpkg", layer="shops")) == len(SHOPS)
    with pytest.raises(tl.DataError, match="has no layers; leave 'some' out"):
        read_point_file(files / "homes.parquet", layer="some")
    command = ["matrix", str(files / "town.network"), str(path), str(path)]
    how = ["--travel-time", "200", "--transportation", "walking", "--quiet"]
    assert cli.main([*command, str(tmp_path / "one"), *how, "--layer", "some"]) == 0
    assert cli.main([*command, str(tmp_path / "two"), *how, "--layer", "some,shops"]) == 0
    one, two = (pd.read_parquet(tmp_path / name) for name in ("one", "two"))
    assert set(one["destination"]) <= set(SHOPS.index[:4])
    assert not set(two["destination"]) <= set(SHOPS.index[:4])
    assert cli.main([*command, str(tmp_path / "three"), *how, "--layer", "a,b,c"]) == 1
    assert "--layer must be the name of a layer, or two with a comma; got 'a,b,c'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("p.csv", "id,east,lat\n1,0,0\n", "no column 'lng'; its columns are 'id', 'east', 'lat'"),
        ("p.csv", "id,lng,lat\n1,0,x\n", "'x' as lat in row 1, which is not a number"),
        ("p.csv", "id,lng,lat\n1,0,0\n1,0,0\n", "the 'id' 1 more than once"),
        ("p.csv", "id,lng,lat\n1,0,0\n,0,0\n", "no 'id' in row 2"),
        ("p.csv", "id,lng,lat\n", "has no rows"),
        ("p.csv", "", "cannot be read as a file of points: No columns"),
        ("p.csv", "id,lng,lat\nNA,NA,0\n", "'NA' as lng in row 1, which is not a number"),
        ("p.parquet", "PAR1", "cannot be read as a file of points"),
        ("p.gpkg", "nothing", "cannot be read as a file of points"),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(tl.DataError, match=words):
        read_point_file(tmp_path / name)


def test_columns_and_encodings_that_are_wrong(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes("id,lng,lat\né,0,0\n".encode("latin-1"))
    with pytest.raises(tl.DataError, match=r"is not in UTF-8 \(.*\); save it in UTF-8"):
        read_point_file(path)
    path.write_text("id,lng,lat\n1,0,0\n")
    with pytest.raises(tl.DataError, match=r"no column 'foo'; its columns are 'id', 'lng', 'lat'$"):
        read_point_file(path, "foo")
    path = tmp_path / "p.parquet"
    frame(points(2, 1)).assign(id=[1.5, 2.5]).to_parquet(path)
    with pytest.raises(tl.DataError, match=r"texts or whole numbers in the column 'id'; row 1 has 1.5"):
        read_point_file(path)
    frame(points(2, 1)).set_crs(None, allow_override=True).to_parquet(path)
    with pytest.raises(tl.DataError, match="has no CRS; save it with one, such as EPSG:4326"):
        read_point_file(path)
