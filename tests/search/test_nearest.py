"""The nearest places are the first of the sorted matrix, with ties in the order of the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import traveltime_lab as tl
from tests.support.combinations import combined
from tests.support.large_jobs import grid, points
from tests.support.worlds import at
from traveltime_lab.network.network import Network
from traveltime_lab.search import nearest as module
from traveltime_lab.streets import k_nearest

ON_FOOT: dict[str, Any] = {"transportation": "walking", "travel_time": 250}
BOTH = ("travel_time", "distance")


@pytest.fixture(scope="module")
def town() -> Network:
    return grid()


def expected_rows(network: Network, origins: Any, places: Any, k: int, **asked: Any) -> list[tuple[Any, ...]]:
    """Sort the whole table: by milliseconds, which whole seconds do not show, then by position."""
    from traveltime_lab.points import read_points
    from traveltime_lab.search.time_filter import table_query
    from traveltime_lab.streets import labels

    query, _ = table_query(network, properties=BOTH, **asked)
    a, b = (read_points(table, "points", network.bounds) for table in (origins, places))
    table = np.full((len(a), len(b)), -1, np.int64)
    for block in query.blocks(query.snap(a), query.snap(b, is_origin=False), query.limit):
        table[block.rows, block.columns] = labels.ms(block.labels)
    found = tl.time_filter(network, origins, places, properties=BOTH, **asked)
    found["order"] = np.tile(np.arange(len(b)), len(a))
    found["ms"] = table.ravel()
    rows = []
    for origin, group in found.groupby("origin", sort=False):
        best = group.dropna(subset="travel_time").sort_values(["ms", "order"]).head(k)
        rows += [
            (origin, i, row.destination, row.travel_time, row.distance) for i, row in enumerate(best.itertuples(), 1)
        ]
        rows += [(origin, i, None, None, None) for i in range(len(best) + 1, min(k, len(b)) + 1)]
    return rows


def rows_of(found: pd.DataFrame) -> list[tuple[Any, ...]]:
    columns = found[["origin", "k", "destination", "travel_time", "distance"]]
    return [tuple(None if pd.isna(value) else value for value in row) for row in columns.itertuples(index=False)]


@pytest.mark.parametrize(
    ("k", "n_origins", "n_places"), combined([1, 3, 15, 100], [(40, 15), (15, 40)], mark=pytest.mark.thorough)
)
def test_equals_the_sorted_matrix(
    town: Network, monkeypatch: pytest.MonkeyPatch, n_origins: int, n_places: int, k: int
) -> None:
    origins, places = points(n_origins, 1), points(n_places, 2, texts=True)
    # Places at the same spot tie in every position.
    places.iloc[::4] = places.iloc[1]
    expected = expected_rows(town, origins, places, k, **ON_FOOT)
    assert {row[2] is None for row in expected} == {True, False}
    for block, keys in ((2_000_000, 2_000_000), (60, 25)):
        monkeypatch.setattr("traveltime_lab.runtime.threads.BLOCK", block)
        monkeypatch.setattr(k_nearest, "_KEYS", keys)
        found = tl.nearest(town, origins, places, k=k, properties=BOTH, **ON_FOOT)
        assert rows_of(found) == expected
    assert found.crs == "EPSG:4326"
    is_found = found["destination"].notna()
    assert found.geometry[~is_found].isna().all()
    assert found.geometry[is_found].tolist() == places[found["destination"][is_found]].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["hierarchy", "pandana"])
def test_engines_agree(town: Network, engine: str) -> None:
    if engine == "pandana":
        pytest.importorskip("pandana")
    origins, places = points(20, 1), points(30, 2)
    asked = {"k": 4, "properties": BOTH, **ON_FOOT}
    pd.testing.assert_frame_equal(
        tl.nearest(town, origins, places, engine=engine, **asked), tl.nearest(town, origins, places, **asked)
    )


def test_timetables_and_arrival(porto_alegre: Network) -> None:
    places = tl.sample_points("porto_alegre")
    asked = {"transportation": "public_transport", "travel_time": 3600, "arrival_time": "2019-05-13T09:00:00"}
    found = tl.nearest(porto_alegre, places, places, k=3, **asked)
    times = tl.time_filter(porto_alegre, places, places, **asked).dropna(subset="travel_time")
    for origin, group in found.groupby("origin"):
        best = sorted(times.loc[times["origin"] == origin, "travel_time"])[:3]
        assert group["travel_time"].dropna().tolist() == best
    assert (found.loc[found["k"] == 1, "destination"] == places.index).all()
    metres = tl.time_filter(porto_alegre, places, places, properties=BOTH, **asked).set_index(["origin", "destination"])
    found = tl.nearest(porto_alegre, places, places, k=3, properties=BOTH, **asked).dropna(subset="travel_time")
    pairs = pd.MultiIndex.from_frame(found[["origin", "destination"]])
    assert found["distance"].tolist() == metres["distance"].loc[pairs].tolist()


def test_types(town: Network) -> None:
    here, there = at((500, 500), (900, 100)), at((500, 500), (600, 500))
    found = tl.nearest(town, here, there, k=2, **ON_FOOT)
    assert found.dtypes.astype("str").tolist() == ["int64", "int32", "int64", "Int32", "geometry"]
    assert found["destination"].tolist() == [0, 1, 1, 0]
    assert found["travel_time"].tolist() == [0, 20, 140, 160]
    found = tl.nearest(town, here, there, **{**ON_FOOT, "travel_time": 30})
    assert found["destination"].dtype == "Int64"
    assert found["destination"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    "labels",
    [
        ["x", "y"],
        [7, 8],
        [1.5, 2.5],
        [True, False],
        pd.array([3, 4], dtype="uint8"),
        pd.array([3, 4], dtype="Int64"),
        pd.array(["p", "q"], dtype="string"),
        pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]),
        pd.CategoricalIndex(["u", "v"]),
        pd.DatetimeIndex(["2026-01-01", "2026-01-02"]),
    ],
    ids=lambda labels: str(getattr(labels, "dtype", labels[0])),
)
def test_labels_of_any_type_may_be_missing(town: Network, labels: Any) -> None:
    here, there = at((500, 500), (900, 100)), at((500, 500), (600, 500)).set_axis(labels)
    expected = there.index.tolist()
    assert tl.nearest(town, here, there, **ON_FOOT)["destination"].tolist() == [expected[0], expected[1]]
    found = tl.nearest(town, here, there, k=2, **ON_FOOT | {"travel_time": 30})["destination"]
    assert found.isna().tolist() == [False, False, True, True]
    assert found.tolist()[:2] == expected


def test_the_only_place_is_out_of_reach(town: Network) -> None:
    found = tl.nearest(town, at((500, 500), (600, 500)), at((500, 500)), k=2, **ON_FOOT | {"travel_time": 10})
    assert found["destination"].isna().tolist() == [False, True]
    assert found.geometry.isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"k": 0}, "k must be from 1 to 1000"),
        (
            {"properties": ("travel_time", "snap_distance")},
            r"properties must be one of 'travel_time', 'distance'.*; got 'snap_distance'",
        ),
        ({"properties": "distance"}, "properties must have travel_time"),
        ({"engine": "magic"}, "engine must be one of"),
    ],
)
def test_wrong_arguments(town: Network, asked: dict[str, Any], error: str) -> None:
    with pytest.raises(tl.InputError, match=error):
        tl.nearest(town, at((0, 0)), at((0, 0)), **ON_FOOT | asked)


def test_too_many_rows(town: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_ROWS", 3)
    with pytest.raises(tl.LimitError, match="at most 3 rows; got k=2 for 2 origins"):
        tl.nearest(town, at((0, 0), (100, 0)), at((0, 0), (0, 100)), k=5, **ON_FOOT)
