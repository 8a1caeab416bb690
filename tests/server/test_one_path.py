"""One path from a request to the kernels: moments are read once, and no tables are made on the way."""

from __future__ import annotations

from typing import Any

import geopandas as gpd
import pytest

from tests.support.door import Door, ok
from tests.support.requests import RIGHT
from traveltime_lab.server.contract import moments

TIMED = ["/v4/time-map", "/v4/distance-map", "/v4/time-filter", "/v4/routes", "/v4/h3", "/v4/geohash"]
FAST = ["/v4/time-map/fast", "/v4/time-filter/fast", "/v4/h3/fast", "/v4/geohash/fast"]
POSTCODES = [path for path in RIGHT if "postcode" in path]


@pytest.mark.parametrize("path", [*TIMED, *POSTCODES])
def test_each_moment_is_read_once(door: Door, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    read, right = [], moments.read_moment

    def spy(text: str) -> Any:
        read.append(text)
        return right(text)

    monkeypatch.setattr(moments, "read_moment", spy)
    ok(door.post(path, RIGHT[path]))
    assert len(read) == 1


@pytest.mark.parametrize("path", [*TIMED, *FAST, *POSTCODES])
def test_no_tables(door: Door, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    expected = ok(door.post(path, RIGHT[path]))

    def refuse(*args: Any, **more: Any) -> Any:
        raise AssertionError("a table was made")

    for kind in (gpd.GeoDataFrame, gpd.GeoSeries):
        monkeypatch.setattr(kind, "__init__", refuse)
    assert ok(door.post(path, RIGHT[path])) == expected
