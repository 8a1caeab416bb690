"""Isochrones in parts are those of `time_map`, whatever the parts and whoever makes them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import geopandas as gpd
import pyarrow.parquet as pq
import pytest
import shapely

import traveltime_lab as tl
from tests.support.large_jobs import checksums, grid, manifest, points
from traveltime_lab.network.network import Network

HOMES = points(12, 3, texts=True)
ON_FOOT: dict[str, Any] = {"travel_time": 60, "transportation": "walking"}


@pytest.fixture(scope="module")
def town() -> Network:
    return grid()


@pytest.mark.parametrize("part_size", [1, 5, 200])
@pytest.mark.parametrize("asked", [{}, {"level_of_detail": "low", "no_holes": True}], ids=["plain", "options"])
def test_equals_time_map(town: Network, tmp_path: Path, part_size: int, asked: dict[str, Any]) -> None:
    asked = ON_FOOT | asked
    folder = tl.write_areas(town, HOMES, tmp_path / "a", part_size=part_size, progress=False, **asked)
    expected = tl.time_map(town, HOMES, **asked)
    found = gpd.read_parquet(folder)
    assert manifest(folder)["n_parts"] == -(-12 // min(12, part_size))
    assert list(found) == ["origin", *expected]
    assert found["origin"].tolist() == HOMES.index.tolist()
    assert found.crs == expected.crs
    assert expected["reason"].notna().any() and expected["reason"].isna().any()
    for name in ("travel_time", "reason", "snap_distance"):
        assert found[name].isna().tolist() == expected[name].isna().tolist()
        assert found[name].dropna().tolist() == expected[name].dropna().tolist()
    assert all(map(shapely.equals_exact, found.geometry, expected.geometry))
    assert shapely.is_ccw(shapely.get_exterior_ring(found.geometry.explode().array)).all()


def test_metadata_are_those_of_geoparquet(town: Network, tmp_path: Path) -> None:
    folder = tl.write_areas(town, HOMES[:3], tmp_path / "a", progress=False, **ON_FOOT)
    metadata = pq.read_schema(folder / "part-000000.parquet").metadata
    geo = json.loads(metadata[b"geo"])
    assert geo["version"] == "1.1.0" and geo["primary_column"] == "geometry"
    assert geo["columns"]["geometry"]["encoding"] == "WKB"
    assert geo["columns"]["geometry"]["crs"]["id"] == {"authority": "EPSG", "code": 4326}
    about = json.loads(metadata[b"traveltime_lab"])
    assert about["licence"] == town.attribution
    assert about["units"]["snap_distance"] == "m"
    assert about["parameters"]["style"]["buffer_m"] == 1000


def test_goes_on_with_the_same_bytes(town: Network, tmp_path: Path) -> None:
    def stop(done: int, _: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    whole = tl.write_areas(town, HOMES, tmp_path / "whole", part_size=2, progress=False, **ON_FOOT)
    with pytest.raises(KeyboardInterrupt, match=r"3 of 6 parts \(6 of 12 areas\)"):
        tl.write_areas(town, HOMES, tmp_path / "a", part_size=2, progress=stop, **ON_FOOT)
    with pytest.raises(tl.InputError, match=r"level_of_detail|style.detail"):
        tl.write_areas(town, HOMES, tmp_path / "a", part_size=2, progress=False, level_of_detail="highest", **ON_FOOT)
    with ThreadPoolExecutor(2) as executor:
        tl.write_areas(town, HOMES, tmp_path / "a", part_size=2, progress=False, executor=executor, **ON_FOOT)
    assert checksums(tmp_path / "a") == checksums(whole)


@pytest.mark.slow
def test_a_window_with_a_percentile(porto_alegre: Network, tmp_path: Path) -> None:
    places = tl.sample_points("porto_alegre")[:2]
    asked = {
        "travel_time": 900, "transportation": "public_transport", "departure_time": "2019-05-13T08:00:00",
        "window": 300, "percentile": 80, "level_of_detail": "lowest",
    }  # fmt: skip
    found = gpd.read_parquet(tl.write_areas(porto_alegre, places, tmp_path / "a", progress=False, **asked))
    assert all(map(shapely.equals_exact, found.geometry, tl.time_map(porto_alegre, places, **asked).geometry))


def test_limits_on_emissions(porto_alegre: Network, tmp_path: Path) -> None:
    places = tl.sample_points("porto_alegre")[:2]
    asked = {"travel_time": [300, 900], "max_emissions": 250, "costs": {"occupancy": 2}, "level_of_detail": "lowest"}
    folder = tl.write_areas(porto_alegre, places, tmp_path / "a", progress=False, **asked)
    found, expected = gpd.read_parquet(folder), tl.time_map(porto_alegre, places, **asked)
    assert all(map(shapely.equals_exact, found.geometry, expected.geometry))
    free = tl.time_map(porto_alegre, places, travel_time=[300, 900], level_of_detail="lowest")
    assert (shapely.area(free.geometry.array) > shapely.area(found.geometry.array)).all()
    for changed in ({"max_emissions": 300}, {"costs": {"occupancy": 1}}):
        with pytest.raises(tl.InputError):
            tl.write_areas(porto_alegre, places, folder, progress=False, **{**asked, **changed})
    again = tl.replay(folder, porto_alegre, origins=places)
    assert again.is_same, again


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"max_emissions": 5, "render_mode": "road_buffering"}, tl.UnsupportedError),
        ({"percentile": 50, "render_mode": "road_buffering"}, (tl.UnsupportedError, tl.InputError)),
        ({"part_size": 0}, tl.LimitError),
        ({"level_of_detail": "wonderful"}, tl.InputError),
        ({"progress": 5}, tl.InputError),
    ],
)
def test_wrong_arguments_make_no_folder(town: Network, tmp_path: Path, asked: dict[str, Any], error: Any) -> None:
    with pytest.raises(error):
        tl.write_areas(town, HOMES, tmp_path / "a", **({"progress": False} | ON_FOOT | asked))
    assert not (tmp_path / "a").exists()
