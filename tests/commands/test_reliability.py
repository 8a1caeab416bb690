"""The command ``reliability``: each file is what the function returns for the days that its options stand for."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import geopandas as gpd
import pandas as pd
import pytest

import traveltime_lab as tl
from tests.support.towns import blocks
from tests.support.worlds import FRAME
from traveltime_lab import cli
from traveltime_lab.network.network import Network

DATES = ("2026-03-02", "2026-03-03", "2026-03-04")
HOW = ["--travel-time", "3600", "--departure-time", "2026-03-02T08:00", "--window", "60", "--quiet"]
MORNING = {"travel_time": 3600, "departure_time": "2026-03-02T08:00", "window": 60}
#: The west of the town, where a line begins.
WEST = tuple(map(float, FRAME.to_lnglat(0.0, 600.0)))
SPOT = f"{WEST[0]},{WEST[1]}"


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Network:
    return blocks(tmp_path_factory.mktemp("town"))


@pytest.fixture(autouse=True)
def loaded(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network is loaded already."""
    monkeypatch.setattr(cli, "_named_network", lambda text: (text, network))


@pytest.fixture(scope="module")
def archive(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three days, on each of which other trips are late, in one table a day."""
    folder = tmp_path_factory.mktemp("archive")
    trips = network.trips_frame(date=DATES[0]).trip_id
    for k, date in enumerate(DATES):
        late = {"trip_id": trips.iloc[k::3], "date": date, "stop_sequence": 1, "departure_delay": 240 * (k + 1)}
        pd.DataFrame(late).to_csv(folder / f"{date}.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, gpd.GeoDataFrame]:
    spots = gpd.points_from_xy(*FRAME.to_lnglat([0.0, 600.0, 1500.0, 890.0], [590.0, 0.0, 610.0, 1490.0]), crs=4326)
    table = gpd.GeoDataFrame({"jobs": [5, 0, 7, 20]}, geometry=spots).rename_axis(index="id")
    path = tmp_path_factory.mktemp("places") / "places.gpkg"
    table.reset_index().to_file(path)
    return path, table


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> pd.DataFrame:
    assert cli.main(["reliability", "city.network", *map(str, arguments), *HOW]) == 0
    return pd.read_csv(io.StringIO(capsys.readouterr().out))


@pytest.mark.slow
def test_pairs(
    network: Network, archive: Path, places: tuple[Path, gpd.GeoDataFrame], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path, table = places
    given = [path, path, "--archive", archive, "--percentiles", "50,90"]
    days = tl.observed_days(network, archive)
    expected = tl.reliability(network, days, table, table, percentiles=[50, 90], **MORNING)
    found = run(capsys, *given)
    assert expected["n_days"].eq(3).all() and (expected["planned_p90"] != expected["observed_p90"]).any()
    pd.testing.assert_frame_equal(found, pd.read_csv(io.StringIO(expected.to_csv(index=False))))
    out = tmp_path / "times.parquet"
    assert cli.main(["reliability", "city.network", *map(str, given), *HOW, "--out", str(out)]) == 0
    pd.testing.assert_frame_equal(pd.read_parquet(out), expected, check_dtype=False)
    assert tl.receipt(out)["answer"] == tl.receipt(expected)["answer"]
    assert capsys.readouterr().out == f"Saved: {len(expected)} rows: {out}\n"
    each = tl.reliability(network, days, table, table, form="departures", **MORNING)
    assert len(run(capsys, path, path, "--archive", archive, "--form", "departures")) == len(each)


@pytest.mark.thorough
def test_opportunities_have_a_geometry(
    network: Network, archive: Path, places: tuple[Path, gpd.GeoDataFrame], tmp_path: Path
) -> None:
    path, table = places
    out = tmp_path / "reach.gpkg"
    given = [path, "--opportunities", path, "--values", "jobs", "--archive", archive, "--gaps", "planned"]
    assert cli.main(["reliability", "city.network", *map(str, given), *HOW, "--out", str(out)]) == 0
    days = tl.observed_days(network, archive, gaps="planned")
    expected = tl.reliability(network, days, table, opportunities=table, values="jobs", **MORNING)
    found = gpd.read_file(out)
    assert found.geometry.geom_equals_exact(expected.geometry, 1e-12, align=False).all()
    assert found["jobs_realizable_p80"].tolist() == expected["jobs_realizable_p80"].tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "more"),
    [("reliability_map", {"level_of_detail": "lowest"}), ("reliability_cells", {"grid": "geohash", "resolution": 7})],
)
def test_areas_and_cells(network: Network, archive: Path, tmp_path: Path, function: str, more: dict[str, Any]) -> None:
    out = tmp_path / "found.parquet"
    options = [text for name, value in more.items() for text in (f"--{name.replace('_', '-')}", value)]
    options += ["--archive", archive, "--percentiles", "50,100", "--kinds", "planned,observed"]
    given = [function.replace("_", "-"), "city.network", SPOT, *options, *HOW, "--travel-time", 900]
    assert cli.main([str(text) for text in [*given, "--out", out]]) == 0
    how = {**MORNING, **more, "travel_time": 900, "percentiles": [50, 100], "kinds": ["planned", "observed"]}
    expected = getattr(tl, function)(network, tl.observed_days(network, archive), WEST, **how)
    found = gpd.read_parquet(out)
    pd.testing.assert_frame_equal(
        pd.DataFrame(found.drop(columns="geometry")), pd.DataFrame(expected.drop(columns="geometry")),
        check_dtype=False, check_categorical=False, check_names=False,
    )  # fmt: skip
    assert found.geometry.geom_equals_exact(expected.geometry, 1e-12, align=False).all()


@pytest.mark.thorough
def test_days_and_archives(
    network: Network, archive: Path, places: tuple[Path, gpd.GeoDataFrame], capsys: pytest.CaptureFixture[str]
) -> None:
    pair = places[0], SPOT
    whole = tl.observed_days(network, archive)
    for dates, chosen in ((f"{DATES[0]},{DATES[2]}", DATES[::2]), (f"{DATES[1]}/2026-12-31", DATES[1:])):
        found = run(capsys, *pair, "--archive", archive, "--dates", dates)
        expected = tl.reliability(
            network, whole.select(chosen), places[1], WEST, **MORNING
        )  # fmt: skip
        assert found["n_days"].tolist() == expected["n_days"].tolist() == [2] * 4
        assert found["realizable_p95"].tolist() == expected["realizable_p95"].tolist()
    parts = [text for date in DATES[:2] for text in ("--archive", archive / f"{date}.csv")]
    assert run(capsys, *pair, *parts)["n_days"].tolist() == [2] * 4
    feed = network.timetable.feeds["name"].iloc[0]
    named = [text for date in DATES[:2] for text in ("--archive", f"{feed}={archive / date}.csv")]
    assert run(capsys, *pair, *named).equals(run(capsys, *pair, *parts))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--archive", "none.csv"], "none.csv"),
        (["--archive", "{archive}", "--dates", "yesterday"], "--dates must be DATE,... or FIRST/LAST"),
        (["--archive", "{archive}", "--dates", "2026-03-09"], "no observations"),
        (["--archive", "{archive}", "--dates", "2026-03-09/2026-03-11"], "has 2026-03-09/2026-03-11, of which"),
        (["--archive", "x={archive}", "--archive", "{archive}"], "--archive must be PATH, or NAME=PATH each time"),
        (["--archive", "{archive}", "--feed", "beauty"], "beauty"),
        (["--archive", "{archive}", "--columns", '{"beauty": "x"}'], "beauty"),
        (["--archive", "{archive}", "--transportation", "walking"], "reliability needs a timetable"),
        (["--archive", "{archive}", "--format", "geojson"], "no geometry, which GeoJSON needs"),
        (["--archive", "{archive}", "--opportunities", "{places}"], "give destinations, for travel times of pairs, or"),
        (["--archive", "{archive}/2026-03-02.csv", "--out", "{archive}/2026-03-02.csv"], "file that the command reads"),
    ],
)  # fmt: skip
def test_errors(
    more: list[str], words: str, archive: Path, places: tuple[Path, gpd.GeoDataFrame],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    given = [text.replace("{archive}", str(archive)).replace("{places}", str(places[0])) for text in more]
    before = {path: path.read_bytes() for path in archive.iterdir()}
    assert cli.main(["reliability", "city.network", *[str(places[0])] * 2, *given, *HOW]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("traveltime-lab: ") and words in captured.err.splitlines()[-1]
    assert captured.out == "" and {path: path.read_bytes() for path in archive.iterdir()} == before


def test_what_is_required(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for more in (HOW, ["--archive", str(archive), *HOW[:2]]):
        with pytest.raises(SystemExit) as caught:
            cli.main(["reliability", "city.network", SPOT, SPOT, *more])
        assert caught.value.code == 2
    usage = "usage: traveltime-lab reliability NETWORK ORIGINS --departure-time TIME --travel-time S --archive PATH"
    assert usage in capsys.readouterr().err
    assert cli.main(["reliability", "city.network", SPOT, "--archive", str(archive), *HOW]) == 1
    assert "got neither" in capsys.readouterr().err


def test_nothing_is_written_into_the_archive(
    archive: Path, places: tuple[Path, gpd.GeoDataFrame], capsys: pytest.CaptureFixture[str]
) -> None:
    out = archive / "times.csv"
    given = ["reliability", "city.network", str(places[0]), str(places[0]), "--archive", str(archive), *HOW]
    assert cli.main([*given, "--out", str(out)]) == 1
    assert "in a folder that it reads" in capsys.readouterr().err and not out.exists()
