"""Trips that may leave or arrive anywhere in a window, against single departures one by one."""

from __future__ import annotations

from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.oracles import random_points
from tests.support.towns import MEANS, ON_FOOT, timetable, towns
from tests.support.worlds import FRAME, at, tables
from traveltime_lab.transit.raptor import TransitSearch

BEGIN = pd.Timestamp("2026-03-03T08:00", tz="UTC")


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    """One straight street of 10 km and a bus from its beginning to its end at 8:00, 8:20 and, faster, at 8:25."""
    stops = {"a": (0.0, 0.0), "b": (5000.0, 0.0), "c": (10_000.0, 0.0)}
    trips = [
        [("a", 28_800), ("b", 29_100), ("c", 29_400)],
        [("a", 30_000), ("b", 30_300), ("c", 30_600)],
        [("a", 30_300), ("c", 30_500)],
    ]
    streets = tables({0: (-500, 0), 1: (0, 0), 2: (5000, 0), 3: (10_500, 0)}, [(i, i + 1, ON_FOOT) for i in range(3)])
    path = timetable(tmp_path_factory.mktemp("street"), stops, trips)
    return tl.build_network(streets, gtfs=path, timezone="UTC")


def rows(network: tl.Network, start: Any, end: Any, **how: Any) -> gpd.GeoDataFrame:
    """Return a table for one pair of places in metres."""
    how = {"travel_time": 7200, "transportation": "bus", **how}
    return tl.time_filter(network, at(start), at(end), **how)


class TestByHand:
    def test_journeys_that_none_beats(self, street: tl.Network) -> None:
        # The bus of 8:20 is beaten by the one that leaves later and arrives earlier.
        found = rows(street, (0, 0), (10_000, 0), departure_time=BEGIN, window=1800, max_results=5)
        assert found["travel_time"].tolist() == [200, 600]
        assert found["departure_time"].tolist() == [BEGIN + pd.Timedelta("25min"), BEGIN]
        assert found["arrival_time"].tolist() == [BEGIN + pd.Timedelta("28min20s"), BEGIN + pd.Timedelta("10min")]

    def test_percentiles_alone_cost_no_search_of_the_window(
        self, street: tl.Network, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        how = {"departure_time": BEGIN, "window": 1800, "percentiles": (50,), "travel_time": 3600}
        expected = rows(street, (0, 0), (10_000, 0), **how)["travel_time_p50"].tolist()

        def search(*_: Any, **__: Any) -> Any:
            raise AssertionError("the least time of the window is searched for, and not returned")

        monkeypatch.setattr(TransitSearch, "window_stop_times", search)
        monkeypatch.setattr(TransitSearch, "window_best", search)
        found = rows(street, (0, 0), (10_000, 0), properties=(), **how)
        assert found["travel_time_p50"].tolist() == expected
        assert "travel_time" not in found
        with pytest.raises(AssertionError, match="least time"):
            rows(street, (0, 0), (10_000, 0), properties=("travel_time",), **how)

    def test_walking_is_a_journey_once(self, street: tl.Network) -> None:
        found = rows(street, (4000, 0), (5000, 0), departure_time=BEGIN, window=1800, max_results=5)
        assert found["travel_time"].tolist() == [1000]
        assert found["departure_time"].tolist() == [BEGIN]

    def test_percentiles_and_share(self, street: tl.Network) -> None:
        # At 8:00 it takes 600 s; from 8:01 on one waits for 8:25: 24 min + 200 s, falling to 200 s; then there is none.
        found = rows(
            street, (0, 0), (10_000, 0), departure_time=BEGIN, window=1800, percentiles=(50, 80, 90),
            properties=("travel_time", "share"), travel_time=3600,
        ).loc[0]  # fmt: skip
        waits = sorted([600.0, *(60.0 * k + 200 for k in range(25))])
        assert found["share"] == pytest.approx(26 / 30)
        assert found["travel_time"] == 200
        assert found["travel_time_p50"] == waits[14]
        assert found["travel_time_p80"] == waits[23]
        assert found["travel_time_p90"] is pd.NA

    def test_a_pair_without_a_journey_has_one_row(self, street: tl.Network) -> None:
        how: dict[str, Any] = {"departure_time": BEGIN, "window": 600, "max_results": 3, "travel_time": 300}
        found = rows(street, (0, 0), (10_000, 0), properties=("travel_time", "distance", "route"), **how)
        assert len(found) == 1
        assert found["travel_time"][0] is pd.NA
        assert pd.isna(found["departure_time"][0])
        assert found["reason"][0] == "over_limit"

    def test_distances_and_routes_of_a_window(self, street: tl.Network) -> None:
        how: dict[str, Any] = {"departure_time": BEGIN - pd.Timedelta("2min"), "window": 1800, "max_results": 2}
        found = rows(street, (100, 0), (9950, 0), properties=("travel_time", "distance", "route"), **how)
        routes = tl.routes(street, at((100, 0)), at((9950, 0)), transportation="bus", **how)
        assert found["distance"].tolist() == pytest.approx([10_150, 10_150], rel=0.001)
        for name in ("travel_time", "departure_time", "arrival_time", "distance"):
            assert found[name].tolist() == routes[name].tolist()
        assert [route.departure_time for route in routes["route"]] == routes["departure_time"].tolist()

    def test_a_shape_one_can_rely_on(self, street: tl.Network) -> None:
        how: dict[str, Any] = {
            "travel_time": 1500, "departure_time": BEGIN, "window": 1500, "transportation": "bus",
            "level_of_detail": "high",
        }  # fmt: skip
        any_time = tl.time_map(street, at((0, 0)), **how).geometry[0]
        half, all_of_it = (tl.time_map(street, at((0, 0)), percentile=p, **how).geometry[0] for p in (50, 100))
        end, home = at((10_000, 0)).union_all(), at((1000, 0)).union_all()
        assert any_time.covers(end)
        assert half.covers(end)
        assert not all_of_it.intersects(end)
        assert all_of_it.covers(home)
        assert half.difference(any_time).area == pytest.approx(0.0, abs=1e-9)

    @pytest.mark.parametrize(
        ("how", "error", "words"),
        [
            ({"percentiles": (50,)}, tl.InputError, "window"),
            ({"properties": ("share",)}, tl.InputError, "window"),
            ({"window": 600, "percentiles": (0,)}, tl.LimitError, "above 0"),
            ({"window": 600, "percentiles": ("fast",)}, tl.InputError, "a number"),
            ({"window": 600, "percentiles": (50, 50)}, tl.InputError, "unique"),
            ({"max_results": 2}, tl.InputError, "window"),
            ({"window": 600, "max_results": 6}, tl.LimitError, "max_results"),
            ({"window": 600, "max_results": 2, "form": "matrix"}, tl.InputError, "pairs"),
            ({"window": 600, "max_results": 2, "percentiles": (50,)}, tl.InputError, "excludes percentiles"),
        ],
    )
    def test_what_makes_no_sense_is_refused(
        self, street: tl.Network, how: dict[str, Any], error: type[Exception], words: str
    ) -> None:
        with pytest.raises(error, match=words):
            rows(street, (0, 0), (10_000, 0), departure_time=BEGIN, **how)

    def test_streets_have_no_percentiles(self, street: tl.Network) -> None:
        with pytest.raises(tl.InputError, match="timetable"):
            rows(street, (0, 0), (50, 0), transportation="walking", window=600, percentiles=(50,))
        with pytest.raises(tl.UnsupportedError, match="render_mode"):
            tl.time_map(
                street, at((0, 0)), travel_time=900, transportation="bus", departure_time=BEGIN, window=600,
                percentile=80, render_mode="road_buffering",
            )  # fmt: skip


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(towns(), MEANS, st.integers(1, 150), st.booleans(), st.integers(0, 2**32 - 1))
@pytest.mark.thorough
def test_windows_equal_their_departures_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, town: Any, means: dict[str, Any], window: int, is_arrival: bool, seed: int
) -> None:
    nodes, links, stops, trips = town
    path = timetable(tmp_path_factory.mktemp("town"), stops, trips)
    network = tl.build_network(tables(nodes, [(*link, ON_FOOT) for link in links]), gtfs=path, timezone="UTC")
    if means["type"].startswith("driving"):
        means = {**means, "traffic_model": "off_peak"}
    rng = np.random.default_rng(seed)
    side = max(x for x, _ in nodes.values()) + 60
    origins, destinations = (
        gpd.GeoSeries.from_xy(*FRAME.to_lnglat(rng.uniform(-60, side, n), rng.uniform(-60, side, n)), crs="EPSG:4326")
        for n in (2, 3)
    )
    name, sign = ("arrival_time", -1) if is_arrival else ("departure_time", 1)
    how: dict[str, Any] = {"travel_time": 1500, "transportation": means}
    moment = BEGIN + pd.Timedelta(minutes=10)

    def single(second: int) -> np.ndarray:
        stamp = {name: moment + pd.Timedelta(seconds=sign * second)}
        return tl.time_filter(network, origins, destinations, form="matrix", **how, **stamp).to_numpy()

    every = np.stack([single(second) for second in range(window + 1)])
    least = np.where(np.isnan(every), np.inf, every).min(axis=0)
    whole = {**how, name: moment, "window": window}
    got = tl.time_filter(network, origins, destinations, form="matrix", **whole).to_numpy()
    np.testing.assert_array_equal(np.where(np.isnan(got), np.inf, got), least)
    shortest = tl.time_filter(network, origins, destinations, max_results=3, **whole)
    first = shortest.groupby(["origin", "destination"])["travel_time"].first().to_numpy(float, na_value=np.inf)
    np.testing.assert_array_equal(first, least.ravel())
    for row in shortest.dropna(subset="travel_time").itertuples():
        when = row.arrival_time if is_arrival else row.departure_time
        second = int(abs((when - moment).total_seconds()))
        assert 0 <= second <= window
        assert every[second, row.origin, row.destination] == row.travel_time

    minutes = np.sort(np.where(np.isnan(every), np.inf, every)[:window:60], axis=0)
    table = tl.time_filter(
        network, origins, destinations, percentiles=(25, 80), properties=("share",), form="matrix", **whole
    )
    n = len(minutes)
    for p in (25, 80):
        values = table[f"travel_time_p{p}"].to_numpy()
        np.testing.assert_array_equal(
            np.where(np.isnan(values), np.inf, values), minutes[int(np.ceil(p * n / 100)) - 1]
        )
    np.testing.assert_allclose(table["share"].to_numpy(), np.isfinite(minutes).mean(axis=0), rtol=1e-6)


@pytest.mark.slow
def test_forms_agree(porto_alegre: tl.Network) -> None:
    network = porto_alegre
    origins, destinations = (
        gpd.GeoSeries.from_xy(*random_points(network, n, seed), crs="EPSG:4326") for n, seed in ((3, 1), (20, 2))
    )
    for moment in ({"departure_time": "2019-05-14T08:00"}, {"arrival_time": "2019-05-14T09:00"}):
        how: dict[str, Any] = {
            "travel_time": 2700, "transportation": "public_transport", "window": 1800, "percentiles": (50, 80),
            "properties": ("travel_time", "share"), **moment,
        }  # fmt: skip
        pairs = tl.time_filter(network, origins, destinations, **how)
        wide = tl.time_filter(network, origins, destinations, form="matrix", **how)
        sparse = tl.time_filter(network, origins, destinations, form="sparse", **how)
        chosen = tl.time_filter(network, origins, destinations, pairs=pairs[["origin", "destination"]], **how)
        reached = pairs[pairs["travel_time"].notna()].reset_index(drop=True)
        for name in ("travel_time", "travel_time_p50", "travel_time_p80", "share"):
            values = pairs[name].to_numpy(float, na_value=np.nan)
            np.testing.assert_array_equal(wide[name].to_numpy().ravel(), values.astype(np.float32))
            np.testing.assert_array_equal(chosen[name].to_numpy(float, na_value=np.nan), values)
            assert sparse[name].tolist() == reached[name].tolist()


@pytest.mark.thorough
def test_shapes_agree_with_percentiles(porto_alegre: tl.Network) -> None:
    network = porto_alegre
    origin = gpd.GeoSeries.from_xy(*random_points(network, 1, 5), crs="EPSG:4326")
    how: dict[str, Any] = {
        "transportation": "public_transport", "departure_time": "2019-05-14T08:00", "window": 1200, "percentile": 80,
    }  # fmt: skip
    areas = tl.time_map(network, origin, travel_time=1800, level_of_detail="highest", **how)
    assert tl.shape_accuracy(network, areas, origin, n_points=800, **how)[0] > 0.985
