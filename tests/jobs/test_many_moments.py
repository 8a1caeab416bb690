"""Large jobs at several moments: the rows are those of the functions in memory, by origin and moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import geopandas as gpd
import pandas as pd
import pytest

import traveltime_lab as tl
from tests.support.combinations import combined
from traveltime_lab.errors import InputError, MomentError
from traveltime_lab.transit.timetable import ServiceWarning

DAY = "2019-05-13T"
MOMENTS = [f"{DAY}08:15", f"{DAY}08:00", f"{DAY}23:40"]
HOW: dict[str, Any] = {"travel_time": 1500, "progress": False}


@pytest.fixture(scope="module")
def sample() -> tl.Network:
    return tl.sample_network()


@pytest.mark.parametrize(
    ("mode", "side"),
    combined(["driving", "public_transport"], ["departure_time", "arrival_time"], mark=pytest.mark.thorough),
)
def test_matrix(sample: tl.Network, tmp_path: Path, mode: str, side: str) -> None:
    places = tl.sample_points()
    how = {**HOW, "transportation": mode, "properties": ["travel_time", "distance"], side: MOMENTS}
    folders = [
        tl.write_matrix(sample, places, places, tmp_path / str(size), part_size=size, **how) for size in (70, 900)
    ]
    few, many = (pd.read_parquet(folder) for folder in folders)
    assert len(list(folders[0].glob("*.parquet"))) > len(list(folders[1].glob("*.parquet")))
    pd.testing.assert_frame_equal(few, many, check_categorical=False)
    assert list(few.columns) == ["moment", "origin", "destination", "travel_time", "distance"]
    twin = tl.time_filter(sample, places, places, form="sparse", **how)
    twin = twin.assign(at=places.index.get_indexer(twin["origin"])).sort_values("at", kind="stable")
    for name in few.columns:
        assert few[name].tolist() == twin[name].tolist()
    assert str(few["moment"].dt.tz) == sample.timezone
    again = tl.replay(folders[0], sample, origins=places, destinations=places)
    assert again.is_same


@pytest.mark.thorough
def test_areas(sample: tl.Network, tmp_path: Path) -> None:
    places = tl.sample_points().iloc[:3]
    for mode in ("walking", "public_transport"):
        how = {**HOW, "travel_time": [300, 600], "transportation": mode, "departure_time": MOMENTS}
        folder = tl.write_areas(sample, places, tmp_path / mode, part_size=2, **how)
        areas = gpd.read_parquet(folder)
        twin = tl.time_map(sample, places, **how).reset_index()
        twin = twin.assign(at=places.index.get_indexer(twin["name"])).sort_values("at", kind="stable")
        assert areas["origin"].tolist() == twin["name"].tolist()
        for name in ("moment", "travel_time"):
            assert areas[name].tolist() == twin[name].tolist()
        assert areas.geometry.to_wkb().tolist() == twin.geometry.to_wkb().tolist()
        assert tl.replay(folder, sample, origins=places).is_same


@pytest.mark.thorough
def test_jobs_warn_of_each_moment(sample: tl.Network, tmp_path: Path) -> None:
    places = tl.sample_points().iloc[:2]
    how = {**HOW, "transportation": "public_transport"}
    writers: dict[str, Any] = {
        "matrix": lambda folder, **when: tl.write_matrix(sample, places, places, folder, **how, **when),
        "areas": lambda folder, **when: tl.write_areas(sample, places, folder, level_of_detail="low", **how, **when),
        "table": lambda _, **when: tl.time_filter(sample, places, places, **how, **when),
    }
    saturday, sunday = "2019-05-04T08:00", "2019-05-05T08:00"
    for side in ("departure_time", "arrival_time"):
        cases = (
            (saturday, 1),
            ([saturday, MOMENTS[0]], 1),
            ([MOMENTS[0], saturday], 1),
            ([*MOMENTS, saturday, sunday], 2),
        )
        for number, (several, n) in enumerate(cases):
            for name, write in writers.items():
                with pytest.warns(ServiceWarning, match=f"^{side} 2019-05-04T08:00") as heard:
                    write(tmp_path / f"{name} {side} {number}", **{side: several})
                own = [each for each in heard if each.category is ServiceWarning]
                assert len(own) == 1 and own[0].filename == __file__
                assert ("and similarly in 1 more of 5 searches" in str(own[0].message)) == (n == 2)


def test_a_job_resumes_with_the_same_moments_only(sample: tl.Network, tmp_path: Path) -> None:
    places = tl.sample_points()
    how = {**HOW, "transportation": "public_transport"}
    folder = tmp_path / "day"
    tl.write_matrix(sample, places, places, folder, departure_time=MOMENTS, **how)
    before = {path.name: path.read_bytes() for path in folder.glob("*.parquet")}
    (folder / "part-000000.parquet").unlink()
    tl.write_matrix(sample, places, places, folder, departure_time=MOMENTS, **how)
    assert {path.name: path.read_bytes() for path in folder.glob("*.parquet")} == before
    with pytest.raises(InputError, match="the parts of another job: departure_time was"):
        tl.write_matrix(sample, places, places, folder, departure_time=MOMENTS[:2], **how)
    with pytest.raises(MomentError, match=r"departure_time\[1\] 2030"):
        tl.write_matrix(sample, places, places, folder, departure_time=[MOMENTS[0], "2030-01-01T08:00"], **how)
