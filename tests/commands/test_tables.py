"""Results as files: names that formats have for themselves, and columns that do not depend on the data."""

from __future__ import annotations

import io
import json
from pathlib import Path

import geopandas as gpd
import pandas as pd
import pytest
import shapely

import traveltime_lab as tl
from tests.support.combinations import combined
from traveltime_lab import cli
from traveltime_lab.commands import tables
from traveltime_lab.network.network import Network

HERE, THERE = "-51.2278,-30.0276", "-51.1706,-30.0602"
#: A place without a street near it.
SEA = "-40.0,-33.0"
WALKING = ["--transportation", "walking"]
TO, ROUTE = ["--travel-time", "600"], ["--properties", "travel_time,route"]


@pytest.fixture(autouse=True)
def loaded(porto_alegre: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network is loaded already."""
    monkeypatch.setattr(cli, "_named_network", lambda text: (text, porto_alegre))


def points(path: Path, column: str) -> Path:
    places = [each.split(",") for each in (HERE, THERE)]
    table = pd.DataFrame({column: ["a", "b"], "x": [each[0] for each in places], "y": [each[1] for each in places]})
    table.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("column", "ending"),
    combined(
        ["fid", "FID", "geom", "Geom", "lng", "LAT", "Name", "geometry_", "id"],
        [".gpkg", ".csv", ".geojson", ".parquet"],
        mark=pytest.mark.thorough,
    ),
)
def test_labels_are_kept_whatever_their_column_is_called(column: str, ending: str, tmp_path: Path) -> None:
    source, out = points(tmp_path / "homes.csv", column), tmp_path / f"out{ending}"
    assert cli.main(["snap", "city.network", str(source), "--id", column, "--out", str(out)]) == 0
    if ending == ".parquet":
        assert gpd.read_parquet(out).index.tolist() == ["a", "b"]
        return
    found = pd.read_csv(out) if ending == ".csv" else gpd.read_file(out)
    assert found.iloc[:, 0].tolist() == ["a", "b"]
    assert len({name.lower() for name in found}) == len(found.columns)
    if ending == ".csv":
        assert found[["lng", "lat"]].notna().all(axis=None)


@pytest.mark.parametrize("column", ["fid", "geom", "lng", "id", "geometry"])
def test_other_columns_are_renamed_too(column: str, tmp_path: Path) -> None:
    table = gpd.GeoDataFrame(
        {column: [5.5, 6.5]} if column != "geometry" else {"amount": [5.5, 6.5]},
        geometry=gpd.points_from_xy([1, 2], [3, 4], crs="EPSG:4326"),
        index=pd.Index(["a", "b"], name="id"),
    )
    for ending, read in ((".gpkg", gpd.read_file), (".csv", pd.read_csv)):
        tables.write(table, tmp_path / f"a{ending}", "layer", is_points=True)
        found = read(tmp_path / f"a{ending}")
        assert found.iloc[:, 0].tolist() == ["a", "b"] and found.iloc[:, 1].tolist() == [5.5, 6.5]
    assert found[["lng", "lat"]].to_numpy().tolist() == [[1, 3], [2, 4]]


def test_what_gdal_refuses_is_an_error_of_the_package(tmp_path: Path) -> None:
    table = gpd.GeoDataFrame({"Amount": [1], "amount": [2]}, geometry=[shapely.Point(0, 0)], crs="EPSG:4326")
    with pytest.raises(tl.InputError, match=r"the result cannot be written as \.gpkg: .*Choose another format"):
        tables.write(table, tmp_path / "a.gpkg", "layer", is_points=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("asked", "empty"),
    [
        (["snap", HERE], ["snap", SEA]),
        (["nearest", HERE, HERE, "--travel-time", "60"], ["nearest", SEA, THERE, "--travel-time", "60"]),
        (["geocode", "Mercado"], ["geocode", "zzzzqqqq"]),
        (["time-map", HERE, "--travel-time", "60"], ["time-map", SEA, "--travel-time", "60"]),
        (["time-filter", HERE, THERE, *TO], ["time-filter", HERE, SEA, *TO]),
        (["time-filter", HERE, HERE, *TO, *ROUTE], ["time-filter", HERE, SEA, *TO, *ROUTE]),
        (["routes", HERE, THERE], ["routes", HERE, SEA]),
        (["routes", HERE, THERE, "--legs"], ["routes", HERE, SEA, "--legs"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_columns_do_not_depend_on_the_data(
    asked: list[str], empty: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = []
    for name, *more in (asked, empty):
        means = [] if name in ("snap", "geocode") else WALKING
        assert cli.main([name, "city.network", *more, *means, "--format", "csv"]) == 0
        found.append(list(pd.read_csv(io.StringIO(capsys.readouterr().out))))
    assert found[0] == found[1]


def test_legs_without_a_route_have_the_types_of_others(tmp_path: Path) -> None:
    for name, place in (("some", THERE), ("none", SEA)):
        out = str(tmp_path / f"{name}.parquet")
        assert cli.main(["routes", "city.network", HERE, place, *WALKING, "--legs", "--out", out]) == 0
    some, none = (gpd.read_parquet(tmp_path / f"{name}.parquet") for name in ("some", "none"))
    assert len(some) and not len(none) and none.crs == some.crs
    numbers = some.select_dtypes("number")
    assert none[list(numbers)].dtypes.to_dict() == numbers.dtypes.to_dict()


def test_objects_are_json_in_csv(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    values = [{"name": "São João", "price": 1.5, "none": None}, [1, 2]]
    tables.show(pd.DataFrame({"fares": values}), "csv", "layer", is_points=False)
    found = pd.read_csv(io.BytesIO(capfdbinary.readouterr().out))
    assert [json.loads(text) for text in found["fares"]] == values


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([HERE, THERE, "--id", "nr"], "--id needs a file of points"),
        ([HERE, THERE, "--layer", "homes"], "--layer needs a file of points"),
        (["homes.csv", THERE, "--layer", ",work"], "--layer has 'work' for points that are LNG,LAT"),
        ([HERE, THERE, "--decimal", ","], "--decimal needs a file of points"),
        (["homes.csv", THERE, "--lng", ",x"], "--lng has 'x' for points that are LNG,LAT"),
        (["homes.csv", THERE, "--lng", "a,b,c"], "--lng must be the name of a column, or two with a comma"),
        (["homes.csv", THERE, "--lng", "east", "--lat", "lat"], "homes.csv has no column 'east'; its columns are"),
        ([HERE, "x.gpkg", "--separator", ";"], "--separator is for text files such as .csv; there are none"),
        (["homes.csv", THERE, "--id", "nr", "--out", "homes.csv"], "is a file that the command reads"),
        (["homes.csv", THERE, "--id", "nr", "--out", "../{folder}/homes.csv"], "is a file that the command reads"),
        ([HERE, THERE, "--pairs", "homes.csv", "--out", "homes.csv"], "is a file that the command reads"),
        ([HERE, "homes.csv", "--pairs", "big.csv"], "big.csv cannot be read as a file of pairs"),
    ],
)
def test_errors(
    more: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    points(tmp_path / "homes.csv", "nr")
    (tmp_path / "big.csv").write_text("origin,destination\n99999999999999999999,0\n")
    before = (tmp_path / "homes.csv").read_bytes()
    given = [text.format(folder=tmp_path.name) for text in more]
    assert cli.main(["time-filter", "city.network", *given, "--travel-time", "600", *WALKING]) == 1
    assert words in capsys.readouterr().err
    assert (tmp_path / "homes.csv").read_bytes() == before


def test_each_file_has_columns_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same table of times for files as the library writes them, and for others with options."""
    monkeypatch.chdir(tmp_path)
    places = tl.sample_points("porto_alegre").iloc[:4]
    x, y, names = places.geometry.x, places.geometry.y, places.index
    pd.DataFrame({"id": names, "lng": x, "lat": y}).to_csv("plain.csv", index=False)
    metres = places.to_crs("EPSG:31982").geometry
    pd.DataFrame({"nr": names, "Rechts": metres.x, "Hoch": metres.y}).to_csv("a.txt", sep=":", decimal=",", index=False)
    places.rename_axis("id").reset_index().to_file("b.gpkg")
    how = ["--travel-time", "3600", *WALKING]
    assert cli.main(["time-filter", "city.network", "plain.csv", "plain.csv", *how, "--out", "one.csv"]) == 0
    options = ["--id", "nr,", "--lng", "Rechts,", "--lat", "Hoch,", "--crs", "EPSG:31982,"]
    options += ["--separator", ":", "--decimal", ","]
    assert cli.main(["time-filter", "city.network", "a.txt", "b.gpkg", *how, *options, "--out", "two.csv"]) == 0
    one, two = pd.read_csv("one.csv"), pd.read_csv("two.csv")
    assert len(one) and (one["travel_time"] - two["travel_time"]).abs().max() <= 1


def test_the_network_and_its_sources_are_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "city.gpkg"
    source.write_text("network")
    for network in (str(source), f"city={source}"):
        assert cli.main(["snap", network, HERE, "--out", str(source)]) == 1
        assert "is a file that the command reads" in capsys.readouterr().err
    assert cli.main(["build", str(source), str(source)]) == 1
    assert "is a file that the command reads" in capsys.readouterr().err
    assert source.read_text("utf-8") == "network"
