"""Sample cities: what they contain, and that they are cached, and built again when the cache is broken."""

from __future__ import annotations

import datetime as dt
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import h3
import numpy as np
import pytest

from tests.support import ROOT
from traveltime_lab.crs import segment_lengths_m
from traveltime_lab.errors import InputError, UnsupportedError
from traveltime_lab.network import sample
from traveltime_lab.network.sample import sample_files, sample_network, sample_points
from traveltime_lab.settings import settings

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network


def test_porto_alegre(porto_alegre: Network) -> None:
    assert porto_alegre.timezone == "America/Sao_Paulo"
    assert not porto_alegre.is_left_hand
    assert "OpenStreetMap" in porto_alegre.attribution
    assert 25_000 < porto_alegre.n_edges < 33_000
    west, south, east, north = porto_alegre.bounds
    assert (-51.27 < west < east < -51.13) and (-30.12 < south < north < -29.99)
    footways = porto_alegre.report()["edges_by_highway"]["footway"]
    assert footways > 3_000
    assert porto_alegre.timetable is not None
    assert set(porto_alegre.report()["timetable"]) == {"buses", "metro"}
    # Counted in the feeds: trips by agency on a Tuesday and a Saturday.
    for day, trips in ((dt.date(2019, 5, 14), 8_520 + 529), (dt.date(2019, 5, 18), 416)):
        assert porto_alegre.timetable.trips_per_day(day)["trips"].sum() == trips


def test_helsinki(helsinki: Network) -> None:
    assert helsinki.timezone == "Europe/Helsinki"
    assert "OpenStreetMap" in helsinki.attribution
    assert (helsinki.tables.uses.walking_kph_forward > 0).any()
    assert len(helsinki.tables.restriction_only) > 20


@pytest.mark.parametrize("name", ["porto_alegre", "helsinki"])
def test_places_are_on_streets(name: str, request: pytest.FixtureRequest) -> None:
    network: Network = request.getfixturevalue(name)
    points = sample_points(name)
    assert points.crs == "EPSG:4326"
    assert points.index.is_unique
    assert len(points) >= 5
    for point in points.geometry:
        lng = np.column_stack([np.full(network.n_nodes, point.x), network.tables.node_lng]).ravel()
        lat = np.column_stack([np.full(network.n_nodes, point.y), network.tables.node_lat]).ravel()
        assert segment_lengths_m(lng, lat)[::2].min() < 150


def test_zones() -> None:
    zones = sample_points(kind="zones")
    assert zones.index.is_unique
    assert all(h3.get_resolution(cell) == 9 for cell in zones.index)
    centres = np.array([h3.cell_to_latlng(cell) for cell in zones.index])
    np.testing.assert_allclose(centres, np.column_stack([zones.geometry.y, zones.geometry.x]), atol=1e-6)
    assert zones[["population", "schools", "jobs", "healthcare"]].sum().tolist() == [812_935, 194, 337_921, 141]
    assert zones.notna().all(axis=None)
    with pytest.raises(UnsupportedError):
        sample_points("helsinki", kind="zones")
    with pytest.raises(InputError, match="kind"):
        sample_points(kind="stops")


@pytest.mark.parametrize("name", ["porto_alegre", "helsinki"])
def test_files(name: str) -> None:
    """Each is there, is named in NOTICE, and together they are small."""
    files = sample_files(name)
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    for path in files.values():
        assert path.is_file()
        assert f"\n{name}/{path.name}\n" in notice
    folder = files["streets"].parent
    assert {path.name for path in folder.iterdir()} == {path.name for path in files.values()}
    assert sum(path.stat().st_size for path in folder.parent.rglob("*.*")) < 4_000_000


def test_unknown_sample() -> None:
    with pytest.raises(InputError, match="Did you mean 'helsinki'"):
        sample_network("Helsinky")
    with pytest.raises(InputError, match="'porto_alegre', 'helsinki'"):
        sample_network("atlantis")
    for function in (sample_network, sample_points, sample_files):
        with pytest.raises(InputError, match="use 'porto_alegre'"):
            function("coquimbo")


@pytest.mark.slow
def test_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    builds: list[Path] = []
    build = sample.build_network

    def counted(*args: object, **kwargs: object) -> Network:
        builds.append(tmp_path)
        return build(*args, **kwargs)

    monkeypatch.setattr(sample, "build_network", counted)
    with settings.override(cache_folder=tmp_path / "new" / "folder"):
        first = sample_network("helsinki")
        second = sample_network("helsinki")
        assert (len(builds), first.fingerprint) == (1, second.fingerprint)
        (cached,) = settings.cache_folder.iterdir()
        del second
        with caplog.at_level(logging.WARNING):
            cached.write_bytes(cached.read_bytes()[:1000])
            assert sample_network("helsinki").fingerprint == first.fingerprint
        assert len(builds) == 2
        assert "building again" in caplog.text
        assert sample_network("helsinki").fingerprint == first.fingerprint
        assert len(builds) == 2
    (tmp_path / "file").write_text("not a folder")
    with settings.override(cache_folder=tmp_path / "file"):
        assert sample_network("helsinki").fingerprint == first.fingerprint
