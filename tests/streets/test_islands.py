"""Trips between two points on one island of the network, and between two points that are one place."""

from __future__ import annotations

import importlib.util
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.oracles import random_points
from tests.support.worlds import FRAME, at, towns, world
from traveltime_lab.crs import WGS84_A_M
from traveltime_lab.streets.islands import reachable_edges
from traveltime_lab.streets.local_pairs import LocalPairs, same_places
from traveltime_lab.streets.snapping import Snaps

ENGINES = ["dijkstra", "hierarchy", *(["pandana"] if importlib.util.find_spec("pandana") else [])]
quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
#: A town of 64 junctions, and an island of three streets 100 m to the east of it.
TOWN = {(i, j): (100.0 * i, 100.0 * j) for i in range(8) for j in range(8)}
STREETS: list[Any] = [((i, j), (i + 1, j)) for i in range(7) for j in range(8)]
STREETS += [((i, j), (i, j + 1)) for i in range(8) for j in range(7)]
ISLAND = {"P": (800, 0), "Q": (800, 600), "R": (1000, 600)}
#: Two places on the island, one nearer to the town than to the island, one in the town.
ON_P, ON_R, BETWEEN, IN_TOWN = (810, 100), (990, 590), (730, 300), (350, 300)


def island_world(tags: dict[str, Any] | None = None) -> tl.Network:
    return world(TOWN | ISLAND, [*STREETS, ("P", "Q", tags or {}), ("Q", "R", tags or {})])


@pytest.fixture(scope="module")
def island() -> tl.Network:
    return island_world()


def seconds(*metres: float, walked: float) -> int:
    """Return whole seconds of streets at 18 km/h and connectors at 5 km/h."""
    return round(sum(metres) / 5.0 + walked * 3.6 / 5.0)


@pytest.mark.parametrize("mode", ["walking", "cycling", "driving"])
@pytest.mark.parametrize("moment", ["departure_time", "arrival_time"])
def test_a_trip_on_an_island_stays_there(island: tl.Network, mode: str, moment: str) -> None:
    places = at(ON_P, ON_R, BETWEEN, IN_TOWN)
    ask = {"travel_time": 3600, "form": "matrix", "transportation": mode, moment: "2026-03-03T03:00"}
    times = tl.time_filter(island, places, places, **ask).to_numpy(dtype=float)
    assert times[0, 1] == times[1, 0]
    # Cars are a little slower at any time of day.
    assert times[0, 1] == pytest.approx(seconds(500, 190, walked=20), abs=30 if mode == "driving" else 0)
    # All other trips begin and end in the town.
    assert times[0, 2] == pytest.approx(seconds(200, walked=110 + 30), abs=10 if mode == "driving" else 0)
    assert times[1, 3] > 290 * 0.72
    assert not np.isnan(times).any()
    assert (np.diag(times) == 0).all()


def test_one_way_along_an_island() -> None:
    """Where nothing leads along the island, the trip leads through the town."""
    network = island_world({"oneway": "yes"})
    places = at(ON_P, ON_R)
    ask: dict[str, Any] = {"travel_time": 3600, "transportation": "driving"}
    times = tl.time_filter(network, places, places, form="matrix", **ask).to_numpy(dtype=float)
    assert times[0, 1] < 200
    assert times[1, 0] > (290 + 110) * 0.72
    for row, (i, j) in enumerate([(0, 1), (1, 0)]):
        found = tl.routes(network, places.iloc[[i]], places.iloc[[j]], transportation="driving")
        assert found["travel_time"].tolist() == [times[i, j]], row
    # The limit does not turn a trip along the island into one through the town.
    short = tl.time_filter(network, places, places, form="matrix", **ask | {"travel_time": 100}).to_numpy(dtype=float)
    assert np.isnan(short[0, 1])
    assert np.isnan(short[1, 0])


@pytest.mark.parametrize("oneway", ["yes", "-1"])
def test_one_way_into_the_town_and_out_of_it(oneway: str) -> None:
    """Nothing leads back along such a street, so that it is an island; the other way leads through the town."""
    network = world(TOWN | {"P": (1300, 0)}, [*STREETS, ("P", (7, 0), {"oneway": oneway})])
    places = at((1200, 10), (900, 10))
    ask: dict[str, Any] = {"travel_time": 3600, "transportation": "driving", "departure_time": "2026-03-03T03:00"}
    times = tl.time_filter(network, places, places, form="matrix", **ask).to_numpy(dtype=float)
    along, back = (times[0, 1], times[1, 0]) if oneway == "yes" else (times[1, 0], times[0, 1])
    assert along == seconds(300, walked=20)
    assert back == seconds(200, walked=10 + 500)


def test_which_edges_ways_lead_to_and_from() -> None:
    """Edges 0, 1, 2 and 4 are one-way streets in a row; from the end of 1, edge 3 branches off for both directions."""
    nodes = {**{i: (100 * i, 0) for i in range(5)}, "X": (200, 100)}
    one_way = {"oneway": "yes"}
    network = world(nodes, [(0, 1, one_way), (1, 2, one_way), (2, 3, one_way), (2, "X"), (3, 4, one_way)])
    topology = network.streets.road_graph(tl.Transportation("driving")).topology
    for edges, after, before in (
        ([1], [2, 3, 4], [0]),
        ([3], [2, 3, 4], [0, 1, 3]),
        ([0, 4], [1, 2, 3, 4], [0, 1, 2, 3]),
    ):
        for expected, is_backward in ((after, False), (before, True)):
            found = reachable_edges(topology, np.array(edges, np.int32), is_backward=is_backward)
            assert np.flatnonzero(found).tolist() == expected, (edges, is_backward)


@pytest.mark.parametrize("moment", ["departure_time", "arrival_time"])
@pytest.mark.parametrize("search", [tl.time_map, tl.distance_map])
@pytest.mark.parametrize("mode", ["walking", "driving"])
def test_areas_cover_the_island_and_the_town(island: tl.Network, search: Any, mode: str, moment: str) -> None:
    how: dict[str, Any] = {"transportation": mode, moment: "2026-03-03T03:00", "level_of_detail": "highest"}
    limit = {"travel_time": 170} if search is tl.time_map else {"distance": 720}
    shape = search(island, at(ON_P), **limit, **how).geometry.iloc[0]
    assert shape.covers(at((990, 601)).iloc[0])
    assert shape.covers(at((702, 300)).iloc[0])
    assert not shape.covers(at((200, 700)).iloc[0])
    # Too far along the island, whose streets the way through the town does not lead to.
    near = search(island, at(ON_P), **{name: value // 2 for name, value in limit.items()}, **how).geometry.iloc[0]
    assert near.covers(at((801, 200)).iloc[0])
    assert not near.covers(at((990, 601)).iloc[0])
    # From the town, the island is reached on foot, across the fields.
    town = search(island, at((690, 300)), **limit, **how).geometry.iloc[0]
    assert town.covers(at((790, 300)).iloc[0])


def test_explanations_know_islands(island: tl.Network) -> None:
    ask: dict[str, Any] = {"travel_time": 3600, "transportation": "walking"}
    along = tl.explain(island, at(ON_P), at(ON_R), **ask)
    assert along.codes == ("made_of",)
    across = tl.explain(island, at(ON_P), at(IN_TOWN), **ask)
    assert across.codes == ("made_of", "origin_moved")
    assert "island" in str(across)


@pytest.mark.parametrize("mode", ["walking", "driving"])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_knows_islands_and_single_places(island: tl.Network, engine: str, mode: str) -> None:
    """The fifth point is 4 mm from the first, the sixth as far from the fourth."""
    places = at(ON_P, ON_R, BETWEEN, IN_TOWN, (810, 100.004), (350, 300.004))
    rows, columns = np.divmod(np.arange(36), 6)
    chosen = pd.DataFrame({"origin": rows, "destination": columns})
    ask: dict[str, Any] = {"travel_time": 3600, "transportation": mode}
    times = tl.time_filter(island, places, places, form="matrix", engine="dijkstra", **ask).to_numpy(dtype=float)
    assert times[0, 4] == times[4, 0] == times[3, 5] == 0
    assert times[0, 1] == times[4, 1] == times[1, 4] < 200
    whole = tl.time_filter(island, places, places, form="matrix", engine=engine, **ask).to_numpy(dtype=float)
    pairs = tl.time_filter(island, places, places, pairs=chosen, engine=engine, **ask)["travel_time"]
    np.testing.assert_array_equal(whole, times)
    np.testing.assert_array_equal(pairs.to_numpy(dtype=float).reshape(6, 6), times)


@quick
@given(towns(), st.sampled_from(["walking", "cycling", "driving"]), st.integers(0, 2**31))
@pytest.mark.thorough
def test_every_door_has_the_same_times(network: tl.Network, mode: str, seed: int) -> None:
    """Random towns have islands, most of them of one or two streets."""
    places = gpd.GeoSeries.from_xy(*random_points(network, 7, seed), crs="EPSG:4326")
    ask: dict[str, Any] = {"travel_time": 14_400, "transportation": mode}
    times = tl.time_filter(network, places, places, form="matrix", **ask).to_numpy(dtype=float)

    def assert_same(found: Any) -> None:
        np.testing.assert_array_equal(np.asarray(found, dtype=float).reshape(7, 7), times)

    assert_same(tl.time_filter(network, places, places, form="pairs", **ask)["travel_time"])
    prepared = tl.prepare_points(network, places, transportation=mode)
    assert_same(tl.time_filter(network, prepared, prepared, form="matrix", **ask))
    one_by_one = [tl.time_filter(network, places.iloc[[i]], places, form="matrix", **ask) for i in range(7)]
    assert_same(pd.concat(one_by_one))
    rows, columns = (np.arange(49) // 7, np.arange(49) % 7)
    chosen = pd.DataFrame({"origin": rows, "destination": columns})
    for engine in ENGINES:
        assert_same(tl.time_filter(network, places, places, form="matrix", engine=engine, **ask))
        assert_same(tl.time_filter(network, places, places, pairs=chosen, engine=engine, **ask)["travel_time"])
    assert_same(tl.routes(network, places, places, transportation=mode)["travel_time"])
    for k in (1, 3, 7):
        found = tl.nearest(network, places, places, k=k, **ask)
        assert found["travel_time"].dropna().astype(float).tolist() == [
            time for row in times for time in np.sort(row)[:k] if np.isfinite(time)
        ]


def test_blocks_of_a_matrix_get_their_pairs() -> None:
    """Labels written block by block, in whole rows or whole columns, are those written at once."""
    rows, columns = np.divmod(np.random.default_rng(0).permutation(35)[:20], 7)
    pairs = LocalPairs(rows, columns, np.arange(1, 21))
    whole, by_rows, by_columns = np.zeros((3, 5, 7), np.int64)
    whole[rows, columns] = pairs.labels
    for part in (slice(0, 2), slice(2, 5)):
        pairs.write(part, slice(0, 7), by_rows[part])
    for part in (slice(0, 3), slice(3, 7)):
        pairs.write(slice(0, 5), part, by_columns[:, part])
    np.testing.assert_array_equal(by_rows, whole)
    np.testing.assert_array_equal(by_columns, whole)
    pairs.transposed.write(slice(0, 7), slice(0, 5), by_rows.T)
    np.testing.assert_array_equal(by_rows, whole)


# One place


@pytest.mark.parametrize("mode", ["walking", "driving"])
def test_a_centimetre_away_is_the_same_place(island: tl.Network, mode: str) -> None:
    lng, lat = FRAME.to_lnglat(350.0, 340.0)
    cm = 0.01 / 111_000
    places = gpd.GeoSeries.from_xy(
        [lng, lng + 1e-13, lng, lng, lng + 1.5 * cm], [lat, lat, lat - 1e-13, lat + 0.9 * cm, lat], crs="EPSG:4326"
    )
    ask: dict[str, Any] = {"travel_time": 3600, "transportation": mode, "properties": ["travel_time", "distance"]}
    found = tl.time_filter(island, places.iloc[:1], places, **ask)
    assert found["travel_time"].tolist() == [0, 0, 0, 0, round(2 * 40 * 0.72)]
    assert found["distance"].tolist()[:4] == [0, 0, 0, 0]
    assert found["distance"].iloc[4] == pytest.approx(80, abs=1)
    routes = tl.routes(island, places.iloc[:1], places, transportation=mode)
    assert routes["travel_time"].tolist() == found["travel_time"].tolist()
    near = tl.nearest(island, places.iloc[:1], places, k=5, travel_time=3600, transportation=mode)
    assert near["travel_time"].tolist() == found["travel_time"].tolist()


@given(
    st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.booleans()), max_size=14),
    st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.booleans()), max_size=14),
    st.sampled_from([(0.0, 0.0), (24.9, 60.2), (-179.99, -33.0), (10.0, 89.0)]),
)
def test_places_that_are_one_are_found(some: Any, others: Any, place: tuple[float, float]) -> None:
    """All pairs of a few points and of many, whose distances are multiples of 4 mm north and 4 mm east."""

    def snaps(points: Any) -> Snaps:
        rows = np.array(points, np.float64).reshape(-1, 3)
        metre = 180.0 / (np.pi * WGS84_A_M)
        lng = place[0] + rows[:, 0] * 0.004 * metre / np.cos(np.radians(place[1]))
        edge, zeros = np.where(rows[:, 2] > 0, 0, -1).astype(np.int32), np.zeros(len(rows))
        return Snaps(edge, zeros, zeros, zeros.astype(np.int8), lng, place[1] + rows[:, 1] * 0.004 * metre)

    found = same_places(snaps(some), snaps(others))
    assert sorted(zip(*map(np.ndarray.tolist, found), strict=True)) == [
        (i, j)
        for i, (x, y, is_snapped) in enumerate(some)
        for j, (u, v, also) in enumerate(others)
        if is_snapped and also and np.hypot(x - u, y - v) * 0.004 < 0.01
    ]


@pytest.mark.slow
@quick
@given(towns(), st.sampled_from(["walking", "driving"]), st.sampled_from([3857, 32631, 2154]), st.integers(0, 2**31))
def test_projected_points_have_the_same_times(network: tl.Network, mode: str, crs: int, seed: int) -> None:
    places = gpd.GeoSeries.from_xy(*random_points(network, 6, seed), crs="EPSG:4326")
    ask: dict[str, Any] = {"travel_time": 14_400, "transportation": mode, "form": "matrix"}
    times = tl.time_filter(network, places, places, **ask).to_numpy(dtype=float)
    again = tl.time_filter(network, places, places.to_crs(crs), **ask).to_numpy(dtype=float)
    np.testing.assert_allclose(again, times, rtol=0, atol=1.0)
    assert (np.diag(again)[np.isfinite(np.diag(times))] == 0).all()
