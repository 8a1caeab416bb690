"""The commands for searches: each writes what the function of the library returns, in every format."""

from __future__ import annotations

import functools
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas as gpd
import pandas as pd
import pytest

import traveltime_lab as tl
from tests.support import ROOT
from tests.support.combinations import combined
from tests.support.disk import size_limit
from traveltime_lab import cli
from traveltime_lab.commands.searches import COMMANDS
from traveltime_lab.network.network import Network

MORNING = {
    "transportation": {"type": "bus", "max_changes": 1, "walking_time": 600},
    "departure_time": "weekday_morning",
}
BY_BUS = [
    "--transportation",
    "bus",
    "--max-changes",
    "1",
    "--walking-time",
    "600",
    "--departure-time",
    "weekday_morning",
]
#: Arguments of the functions, and the same on a command line. Points are given by the names of tables.
ASKED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "time_map": (
        {"origins": "homes", "travel_time": [300, 600], "no_holes": True, "remove_water_bodies": False, **MORNING},
        ["--travel-time", "300,600", "--no-holes", "--no-remove-water-bodies", *BY_BUS],
    ),
    "distance_map": (
        {"origins": "homes", "distance": 800, "transportation": "walking", "level_of_detail": -1, "shortest": True},
        ["--distance", "800", "--transportation", "walking", "--level-of-detail", "-1", "--shortest"],
    ),
    "time_filter": (
        {
            "origins": "homes", "destinations": "work", "travel_time": 2700, "window": 1200, "percentiles": [50, 80],
            "properties": ["travel_time", "share"], **MORNING,
        },
        ["--travel-time", "2700", "--window", "1200", "--percentiles", "50,80", "--properties", "travel_time,share",
         *BY_BUS],
    ),
    "routes": (
        {"origins": "homes", "destinations": "work", "properties": ["travel_time"], "pairs": "aligned", **MORNING},
        ["--properties", "travel_time", "--pairs", "aligned", *BY_BUS],
    ),
    "pareto_routes": (
        {"origins": "homes", "destinations": "work", "pairs": "aligned", "travel_time": 3600,
         "criteria": ["travel_time", "rides"], "costs": {"occupancy": 2}, **MORNING},
        ["--pairs", "aligned", "--travel-time", "3600", "--criteria", "travel_time,rides",
         "--costs", '{"occupancy": 2}', *BY_BUS],
    ),
    "nearest": (
        {
            "origins": "homes", "places": "work", "travel_time": 1800, "k": 2,
            "transportation": {"type": "cycling", "cycling_speed": 20.5}, "snapping": {"threshold": 90},
        },
        ["--travel-time", "1800", "--k", "2", "--transportation", "cycling", "--cycling-speed", "20.5",
         "--snapping-threshold", "90"],
    ),
    "accessibility": (
        {
            "origins": "homes", "opportunities": "work", "travel_time": 1200, "values": "jobs", "measure": "e2sfca",
            "demand": "people", "decay": {"type": "gaussian", "scale": 400}, "transportation": "cycling",
        },
        ["--travel-time", "1200", "--values", "jobs", "--measure", "e2sfca", "--demand", "people", "--decay",
         '{"type": "gaussian", "scale": 400}', "--transportation", "cycling"],
    ),
    "h3_cells": (
        {"origins": "homes", "travel_time": 600, "resolution": 8, "properties": ["min"], "transportation": "walking"},
        ["--travel-time", "600", "--resolution", "8", "--properties", "min", "--transportation", "walking"],
    ),
    "geohash_cells": (
        {"origins": "homes", "travel_time": 600, "resolution": 6, "transportation": "walking"},
        ["--travel-time", "600", "--resolution", "6", "--transportation", "walking"],
    ),
    "snap": ({"points": "homes", "role": "destination"}, ["--role", "destination"]),
    "geocode": (
        {"query": "Mercado", "limit": 3, "focus": {"lng": -51.2, "lat": -30.0}, "bounds": (-51.3, -30.1, -51.1, -30.0)},
        ["Mercado", "--limit", "3", "--focus", "-51.2,-30.0", "--bounds", "-51.3,-30.1,-51.1,-30.0"],
    ),
    "reverse_geocode": ({"lng": -51.22, "lat": -30.03}, ["-51.22", "-30.03"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def tables() -> dict[str, gpd.GeoDataFrame]:
    places = tl.sample_points("porto_alegre")
    homes = places.iloc[:3].assign(people=[1.0, 20.0, 300.0]).rename_axis(index="id")
    return {"homes": homes, "work": places.iloc[3:6].assign(jobs=[5, 0, 7]).rename_axis(index="id")}


@pytest.fixture(scope="module")
def files(tables: dict[str, gpd.GeoDataFrame], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    homes = tables["homes"]
    as_text = pd.DataFrame(homes.drop(columns="geometry")).assign(lng=homes.geometry.x, lat=homes.geometry.y)
    as_text.to_csv(folder / "homes.csv", float_format="%.17g")
    tables["work"].reset_index().to_file(folder / "work.gpkg")
    return folder


@pytest.fixture(autouse=True)
def loaded(porto_alegre: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network is loaded already."""
    monkeypatch.setattr(cli, "_named_network", lambda text: (text, porto_alegre))


def command(files: Path, function: str, *more: str) -> list[str]:
    given, texts = ASKED[function]
    names = {"homes": "homes.csv", "work": "work.gpkg"}
    points = [str(files / names[value]) for value in given.values() if isinstance(value, str) and value in names]
    return [function.replace("_", "-"), "city.network", *points, *texts, *more]


def answer(network: Network, tables: dict[str, gpd.GeoDataFrame], function: str) -> pd.DataFrame:
    given = {
        name: tables.get(value, value) if isinstance(value, str) else value
        for name, value in ASKED[function][0].items()
    }
    return getattr(tl, function)(network, **given)


@pytest.fixture(scope="module")
def answers(porto_alegre: Network, tables: dict[str, gpd.GeoDataFrame]) -> Callable[[str], pd.DataFrame]:
    """The answers of the library, each computed once."""
    return functools.cache(lambda function: answer(porto_alegre, tables, function))


def test_every_command_is_tried() -> None:
    """Those without points or with an archive have tests of their own."""
    assert {each.function for each in COMMANDS} == {
        *ASKED,
        "explain",
        "reliability",
        "reliability_map",
        "reliability_cells",
    }


@pytest.mark.parametrize(
    ("function", "ending"), combined(ASKED, [".parquet", ".gpkg", ".geojson"], mark=pytest.mark.thorough)
)
def test_the_file_is_what_the_function_returns(
    function: str, ending: str, files: Path, answers: Callable[[str], pd.DataFrame], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    expected = answers(function).copy()
    assert len(expected)
    if "route" in expected:
        expected["route"] = expected["route"].astype(str)  # files have the text of a route
    wanted = expected.drop(columns="geometry")
    out = tmp_path / f"result{ending}"
    assert cli.main(command(files, function, "--out", str(out))) == 0
    printed = capsys.readouterr()
    assert printed.out == f"Saved: {len(expected):,} row{'' if len(expected) == 1 else 's'}: {out}\n"
    found = gpd.read_parquet(out) if ending == ".parquet" else gpd.read_file(out)
    assert found.crs == "EPSG:4326"
    assert found.geometry.geom_equals_exact(expected.geometry, 1e-12, align=False).all()
    if ending == ".parquet":
        pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    else:
        assert list(found)[:-1] == [*([] if expected.index.name is None else ["id"]), *wanted]
        for name in wanted.select_dtypes("number"):
            values = wanted[name].astype("float64").tolist()
            assert found[name].astype("float64").tolist() == pytest.approx(values, nan_ok=True)
    # geocode has no receipt, and a GeoPackage takes none.
    if "receipt" in expected.attrs and ending != ".gpkg":
        kept = tl.receipt(out)
        assert (kept["function"], kept["answer"]) == (function, tl.receipt(expected)["answer"])


@pytest.mark.parametrize("function", ASKED)
def test_csv_has_every_row_and_the_geometry_last(
    function: str, files: Path, answers: Callable[[str], pd.DataFrame], capsys: pytest.CaptureFixture[str]
) -> None:
    expected = answers(function)
    assert cli.main(command(files, function, "--format", "csv")) == 0
    as_text = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert len(as_text) == len(expected)
    is_points = (expected.geometry.geom_type == "Point").all()
    assert list(as_text)[-2:] == ["lng", "lat"] if is_points else list(as_text)[-1] == "geometry"


@pytest.mark.parametrize("ending", ["csv", "geojson"])
@pytest.mark.parametrize(
    "function",
    [
        name if name in ("distance_map", "snap", "geocode") else pytest.param(name, marks=pytest.mark.thorough)
        for name in ASKED
    ],
)
def test_what_is_printed_is_what_is_written(
    function: str, ending: str, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables of areas, of points and without an index; all commands write by the same function."""
    out = tmp_path / f"result.{ending}"
    assert cli.main(command(files, function, "--out", str(out))) == 0
    capsys.readouterr()
    assert cli.main(command(files, function, "--format", ending)) == 0
    assert capsys.readouterr().out.encode() == out.read_bytes()


def test_explain(porto_alegre: Network, capsys: pytest.CaptureFixture[str]) -> None:
    there = ["-51.2278,-30.0276", "-51.1706,-30.0602"]
    asked = ["--travel-time", "900", "--transportation", "walking", "--walking-speed", "6"]
    assert cli.main(["explain", "city.network", *there, *asked]) == 0
    means = tl.Transportation("walking", walking_speed=6)
    places = [tuple(map(float, place.split(","))) for place in there]
    expected = tl.explain(porto_alegre, *places, travel_time=900, transportation=means)
    assert capsys.readouterr().out == f"{expected}\n"


@pytest.mark.slow
def test_legs(files: Path, porto_alegre: Network, tables: dict[str, gpd.GeoDataFrame], tmp_path: Path) -> None:
    inputs = ["routes", "city.network", str(files / "homes.csv"), str(files / "work.gpkg"), *BY_BUS, "--legs"]
    assert cli.main([*inputs, "--out", str(tmp_path / "legs.gpkg")]) == 0
    found = gpd.read_file(tmp_path / "legs.gpkg")
    routes = tl.routes(porto_alegre, tables["homes"], tables["work"], **MORNING)
    legs = [leg for route in routes["route"].dropna() for leg in route.legs]
    assert found["mode"].tolist() == [leg.mode for leg in legs]
    assert found["travel_time"].tolist() == [leg.travel_time for leg in legs]
    assert cli.main([*inputs, "--properties", "travel_time"]) == 1


@pytest.mark.slow
def test_tables_of_pairs_and_matrices(
    files: Path, tables: dict[str, gpd.GeoDataFrame], porto_alegre: Network, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    inputs = [
        "time-filter",
        "city.network",
        str(files / "homes.csv"),
        str(files / "work.gpkg"),
        "--travel-time",
        "3600",
    ]
    chosen = pd.DataFrame({"origin": tables["homes"].index[[2, 0]], "destination": tables["work"].index[[1, 1]]})
    chosen.to_csv(tmp_path / "pairs.csv", index=False)
    assert cli.main([*inputs, "--pairs", str(tmp_path / "pairs.csv")]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert found[["origin", "destination"]].to_numpy().tolist() == chosen.to_numpy().tolist()
    for text, words in (("origin\nx\n", "has no column 'destination'"), ("", "cannot be read as a file of pairs")):
        (tmp_path / "pairs.csv").write_text(text)
        assert cli.main([*inputs, "--pairs", str(tmp_path / "pairs.csv")]) == 1
        assert words in capsys.readouterr().err
    assert cli.main([*inputs, "--pairs", "any"]) == 1
    assert "--pairs must be all, aligned or a .csv file; there is no file any" in capsys.readouterr().err

    both = ["--properties", "travel_time,distance"]
    assert cli.main([*inputs, "--form", "matrix", *both, "--out", str(tmp_path / "m.parquet")]) == 0
    assert cli.main([*inputs, "--form", "matrix", *both, "--out", str(tmp_path / "m.csv")]) == 0
    expected = tl.time_filter(
        porto_alegre, tables["homes"], tables["work"], travel_time=3600, form="matrix",
        properties=["travel_time", "distance"],
    )  # fmt: skip
    for found in (pd.read_parquet(tmp_path / "m.parquet").reset_index(), pd.read_csv(tmp_path / "m.csv")):
        assert list(found) == [expected.index.name, *(" ".join(labels) for labels in expected.columns)]
        assert (found.iloc[:, 1:].to_numpy("float32") == expected.to_numpy()).all()


def test_numbers_of_points_and_labels_that_are_columns_of_the_result(
    porto_alegre: Network, tables: dict[str, gpd.GeoDataFrame], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    homes = tables["homes"].rename_axis(index="name").reset_index()
    homes.to_file(tmp_path / "homes.geojson")
    assert cli.main(["snap", "city.network", str(tmp_path / "homes.geojson"), "--id", "name"]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert found["id"].tolist() == homes["name"].tolist() and "name" in found.columns[1:]
    assert cli.main(["snap", "city.network", str(tmp_path / "homes.geojson")]) == 0
    assert pd.read_csv(io.StringIO(capsys.readouterr().out))["id"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--out", "x.shp"], "--out must end with .csv, .geojson, .json, .gpkg, .parquet, .geoparquet; got 'x.shp'"),
        (["--out", "none/x.csv"], "does not exist; create it first"),
        (
            ["--out", "x.gpkg", "--form", "matrix"],
            "no geometry, which GeoPackage needs; use --out with .csv",
        ),
        (["--format", "geojson", "--form", "sparse"], "no geometry, which GeoJSON needs; use --format csv"),
        (["--out", "x.csv", "--travel-time", "0"], "travel_time must be from 1"),
        (["--out", "x.csv", "--transportation", "flying"], "Unknown transportation type 'flying'"),
        (["--out", "x.csv", "--transportation", "walking", "--cycling-speed", "9"], "cycling_speed does not apply"),
        (["--out", "x.csv", "--id", "nr"], "has no column 'nr'"),
        (["--out", "x.csv", "--layer", "a,b,c"], "--layer must be the name of a layer"),
        (["--out", "x.csv", "--properties", "beauty"], "beauty"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_errors_have_status_1_and_leave_no_file(
    more: list[str], words: str, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    inputs = [str(files / "homes.csv"), str(files / "work.gpkg"), "--travel-time", "600"]
    assert cli.main(["time-filter", "city.network", *inputs, *more]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("traveltime-lab: ") and words in captured.err
    assert captured.out == "" and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("column", ["beauty", "id"])
def test_columns_must_be_there_and_be_numbers(column: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = ["accessibility", "city.network", *[str(files / "homes.csv")] * 2, "--travel-time", "600"]
    assert cli.main([*inputs, "--values", column]) == 1
    words = "has no column 'beauty'" if column == "beauty" else "as id in row 1, which is not a number"
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "more",
    [["--travel-time", "x"], ["--out", "a.csv", "--format", "csv"], ["--render-mode", "x"],
     ["--departure-time", "2026-01-01", "--arrival-time", "2026-01-01"]],
)  # fmt: skip
def test_wrong_usage_has_status_2(more: list[str], files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["time-map", "city.network", str(files / "homes.csv"), "--travel-time", "600", *more])
    assert caught.value.code == 2
    assert "usage: traveltime-lab time-map NETWORK ORIGINS --travel-time S,..." in capsys.readouterr().err


def test_a_full_disk_keeps_the_former_file(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "areas.geojson"
    out.write_text("former")
    with size_limit(1000):
        assert cli.main(command(files, "time_map", "--out", str(out))) == 1
    assert out.read_text("utf-8") == "former" and [path.name for path in tmp_path.iterdir()] == ["areas.geojson"]
    assert "cannot save the result to" in capsys.readouterr().err


def test_warnings_and_the_date_are_lines_on_stderr(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = ["time-filter", "city.network", str(files / "homes.csv"), str(files / "work.gpkg")]
    assert cli.main([*inputs, "--travel-time", "30", *BY_BUS]) == 0
    told = capsys.readouterr().err
    assert "traveltime-lab: warning: travel_time" in told and "traveltime-lab: weekday_morning is 2019-" in told


@pytest.mark.thorough
def test_a_reader_that_has_enough(porto_alegre: Network, tmp_path: Path) -> None:
    porto_alegre.save(tmp_path / "city.network")
    given = [sys.executable, "-m", "traveltime_lab", "h3-cells", str(tmp_path / "city.network"), "-51.2224,-30.0304"]
    asked = [*given, "--travel-time", "1200", "--resolution", "9", "--transportation", "cycling", "--quiet"]
    with subprocess.Popen(asked, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        told = process.stderr.read().decode()
    assert process.returncode == 0 and "Broken" not in told and "Exception" not in told, told


@pytest.mark.slow
def test_several_moments(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A list and START/END/EVERY have the same rows, a column of moments, and exclude each other."""
    start, later, end = "2019-05-13T08:00", "2019-05-13T08:15", "2019-05-13T08:30"
    how = ["time-filter", "porto_alegre", "-51.23,-30.03", "-51.22,-30.03", "--travel-time", "3600", "--quiet"]
    how += ["--transportation", "public_transport", "--format", "csv"]
    tables = []
    for moments in (
        ["--departure-time", start, "--departure-time", later],
        ["--departure-time", f"{start}/{end}/15min"],
    ):
        assert cli.main([*how, *moments]) == 0
        tables.append(capsys.readouterr().out)
    assert tables[0] == tables[1]
    assert len(tables[0].splitlines()) == 3 and "2019-05-13 08:15:00-03:00" in tables[0].replace("T", " ")
    assert cli.main([*how, "--form", "matrix", "--departure-time", f"{start}/{end}/15min"]) == 0
    assert capsys.readouterr().out.startswith("moment,origin,")
    with pytest.raises(SystemExit) as caught:
        cli.main([*how, "--departure-time", start, "--departure-time", f"{start}/{end}/15min"])
    assert caught.value.code == 2
    capsys.readouterr()
    wrong = [
        f"{start}/{end}",
        f"{start}/{end}/15min/x",
        f"{start}/{end}/",
        f"{start}/{later}/{end}",
        "2026/03/03 10:00",
    ]
    for given in wrong:
        for option in ("--departure-time", "--arrival-time"):
            with pytest.raises(SystemExit) as caught:
                cli.main([*how, option, given])
            assert caught.value.code == 2
            told = " ".join(capsys.readouterr().err.split())
            assert f"{option} takes a moment, or START/END/EVERY" in told and f"got {given!r}" in told
