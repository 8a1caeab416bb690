"""Tables made without their constructor are those of the constructor."""

from __future__ import annotations

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

import traveltime_lab as tl
from traveltime_lab.search.tables import geo_frame

pytestmark = [pytest.mark.quick, pytest.mark.pythons]


@pytest.mark.parametrize("n", [0, 1, 3])
def test_equals_the_constructor(n: int) -> None:
    labels = pd.Index([f"place {i}" for i in range(n)], name="home")
    columns = {
        "origin": pd.Index(["x"] * n),
        "travel_time": np.arange(n, dtype=np.int32),
        "distance": pd.arrays.FloatingArray(np.arange(n) / 2.0, np.arange(n) == 1),
        "reason": pd.Categorical.from_codes([0] * n, ["far", "near"]),
        "route": np.array([{"legs": i} for i in range(n)], dtype=object),
        "departure": pd.date_range("2026-05-14", periods=n, tz="Europe/Rome"),
    }
    geometry = np.array([None if i == 2 else shapely.Point(i, i) for i in range(n)], dtype=object)
    expected = gpd.GeoDataFrame(columns, geometry=geometry, crs="EPSG:4326", index=labels)
    for index in (labels, pd.RangeIndex(n)):
        found = geo_frame(columns, geometry, index)
        expected.index = index
        pd.testing.assert_frame_equal(found, expected)
        assert type(found) is gpd.GeoDataFrame
        assert found.crs == expected.crs
        assert found.columns.dtype == expected.columns.dtype
        assert found.geometry.name == "geometry"


def test_tables_share_nothing() -> None:
    points = np.array([shapely.Point(0, 0)])
    first, second = (geo_frame({"n": np.zeros(1)}, points, pd.RangeIndex(1)) for _ in range(2))
    first.columns.name = "mine"
    first.loc[0, "n"] = 5.0
    first["more"] = 1
    third = geo_frame({"n": np.zeros(1)}, points, pd.RangeIndex(1))
    for table in (second, third):
        assert table.columns.name is None
        assert list(table.columns) == ["n", "geometry"]
        assert table["n"].tolist() == [0.0]


def test_results_do_not_share_the_geometries_that_are_given(porto_alegre) -> None:
    given = tl.sample_points().iloc[:3]
    before = given.geometry.to_wkb().tolist()
    options = {"travel_time": 1800, "transportation": "walking"}
    results = [
        tl.time_filter(porto_alegre, given, given, **options),
        tl.nearest(porto_alegre, given, given, k=1, **options),
        tl.time_map(porto_alegre, given, **options),
        tl.accessibility(porto_alegre, given, given, **options),
        tl.counts_to_points(given.assign(people=1.0), given, values="people"),
    ]
    for found in results:
        at = found.columns.get_loc("geometry")
        found.iloc[0, at] = shapely.Point(9, 9)
        assert not np.shares_memory(found.geometry.to_numpy(), given.geometry.to_numpy())
    assert given.geometry.to_wkb().tolist() == before


def test_labels_of_several_levels_are_tuples() -> None:
    labels = pd.MultiIndex.from_tuples([(1, "a"), (2, "b")])
    found = geo_frame({"origin": labels}, np.array([None, None], dtype=object), pd.RangeIndex(2))
    assert found["origin"].tolist() == [(1, "a"), (2, "b")]


def test_an_index_is_not_called_as_a_column(porto_alegre: tl.Network) -> None:
    """Points that are labelled by name and streets that have names, too."""
    places = tl.sample_points().iloc[:3]
    assert places.index.name == "name"
    found = tl.snap(porto_alegre, places)
    assert found.index.name == "id" and found.index.tolist() == places.index.tolist()
    assert found.reset_index().columns[0] == "id"
    area = tl.time_map(porto_alegre, places.rename_axis("travel_time"), travel_time=300, transportation="walking")
    assert area.index.name == "id" and area.reset_index()["id"].tolist() == places.index.tolist()
    assert tl.time_map(porto_alegre, places, travel_time=300, transportation="walking").index.name == "name"
