"""A search from all places, and a sweep, find the nearest of the sorted matrix, ties and lengths included."""

from __future__ import annotations

import math
from typing import Any, get_args

import geopandas as gpd
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.oracles import random_points, simple_oracle
from traveltime_lab.kernels.records import Arcs, Ports
from traveltime_lab.kernels.street import k_nearest as kernels
from traveltime_lab.kernels.street import road
from traveltime_lab.kernels.unreached import NO_PLACE, UNREACHED
from traveltime_lab.modes.snapping import as_snapping
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.network.network import Network
from traveltime_lab.streets import contraction, engines, k_nearest, matrix
from traveltime_lab.streets.snapping import CAN_ARRIVE, CAN_LEAVE, Snaps, snap_points

SECOND = 1000 << road.TIME_SHIFT


@st.composite
def graphs(draw: Any) -> tuple[int, list[tuple[int, int, int]], list[tuple[int, int, int]], int, int]:
    """Draw states, arcs and seeds with few different labels, so that many of them tie, and k and a limit."""
    n = draw(st.integers(1, 8))
    state, ms = st.integers(0, n - 1), st.sampled_from([0, 0, 1, 2, 3, 50])
    label = st.builds(lambda time, length: (time << road.TIME_SHIFT) + length, ms, st.integers(0, 2))
    arcs = draw(st.lists(st.tuples(state, state, label), max_size=20))
    seeds = draw(st.lists(st.tuples(st.integers(0, 5), state, label), min_size=1, max_size=12))
    limit = draw(st.sampled_from([0, 2, 5, 10_000]))
    return n, arcs, seeds, draw(st.integers(1, 7)), ((limit + 1) << road.TIME_SHIFT) - 1


@given(graphs(), st.integers(0, 2))
def test_lists_are_those_of_a_search_from_each_place(drawn: Any, shift: int) -> None:
    n, arcs, seeds, k, limit = drawn
    arcs.sort()
    indptr = np.searchsorted([tail for tail, _, _ in arcs], np.arange(n + 1)).astype(np.int32)
    csr = Arcs(indptr, np.array([head for _, head, _ in arcs], np.int32), np.array([w for *_, w in arcs], np.int64))
    seeds.sort()
    ports = Ports(
        np.searchsorted([place for place, _, _ in seeds], np.arange(7)),
        np.array([state for _, state, _ in seeds], np.int32),
        np.array([key for *_, key in seeds], np.int64),
    )
    expected: list[list[tuple[int, int, int]]] = [[] for _ in range(n)]
    for place in range(6):
        own: dict[int, int] = {}
        for of, state, key in seeds:
            if of == place:
                own[state] = min(key, own.get(state, key))
        for state, label in simple_oracle(*csr, own, limit).items():
            expected[state].append((label >> road.TIME_SHIFT, place, label))
    width = road.TIME_SHIFT + shift
    n_buckets = 1 << (int(csr.weights.max(initial=0) >> width) + 3).bit_length()
    found = kernels.k_nearest(csr, ports, k, limit, width, n_buckets)
    keys, cm = found.key.reshape(n, k), found.cm.reshape(n, k)
    assert ((keys & 1 == 0) | (keys == NO_PLACE)).all()
    for state in range(n):
        rows = [
            (key >> road.TIME_SHIFT, (key & int(road.LENGTH_MASK)) >> 1, (key & ~int(road.LENGTH_MASK)) | length)
            for key, length in zip(keys[state].tolist(), cm[state].tolist(), strict=True)
            if key != NO_PLACE
        ]
        assert rows == sorted(expected[state])[:k]


def snapped(network: Network, mode: str, n: int, seed: int, needed: int) -> Snaps:
    transportation, snapping = as_transportation(mode), as_snapping(None)
    lng, lat = random_points(network, n, seed)
    # Some at the coordinates of others, and some far from any street.
    lng[::7], lat[::7] = lng[0], lat[0]
    lng[5::20] += 1.0
    return snap_points(network.streets, lng, lat, transportation, snapping, needed)


@pytest.mark.parametrize("mode", ["walking", "cycling", "driving"])
@pytest.mark.parametrize(("n_origins", "n_places"), [(60, 9), (9, 60)])
def test_equals_the_sorted_matrix(
    helsinki: Network, monkeypatch: pytest.MonkeyPatch, mode: str, n_origins: int, n_places: int
) -> None:
    monkeypatch.setattr(k_nearest.settings, "threads", 2)
    graph, snapping = helsinki.road_graph(as_transportation(mode)), as_snapping(None)
    origins, places = snapped(helsinki, mode, n_origins, 1, CAN_LEAVE), snapped(helsinki, mode, n_places, 1, CAN_ARRIVE)
    linked = k_nearest.link(graph, origins, places, snapping)
    n_missing = 0
    for limit in (20, 300, 3600):
        labels = np.full((n_origins, n_places), UNREACHED)
        for block in matrix.label_blocks(
            helsinki.streets, graph, origins, places, snapping, limit=limit, engine="dijkstra"
        ):
            labels[block.rows, block.columns] = block.labels
        order = np.argsort(labels >> road.TIME_SHIFT, axis=1, kind="stable")
        ordered = np.take_along_axis(labels, order, axis=1)
        order[ordered == UNREACHED] = -1
        for k in (1, 4, n_places):
            # Sweeps in one piece and in parts, too.
            for way, many in (("search", 0), ("hierarchy", math.inf), ("hierarchy", 0)):
                monkeypatch.setattr(k_nearest, "_MANY_ROWS", many)
                found, found_labels = k_nearest.nearest_places(
                    helsinki.streets, graph, *linked, snapping, k, limit, way
                )
                np.testing.assert_array_equal(found_labels, ordered[:, :k])
                np.testing.assert_array_equal(found, order[:, :k])
            n_missing += (found < 0).sum()
    assert 0 < n_missing < 3 * n_origins * n_places


@pytest.mark.parametrize("k", [1, 3])
def test_the_public_function_gives_the_same_either_way(helsinki: Network, monkeypatch: Any, k: int) -> None:
    points = [
        gpd.GeoSeries.from_xy(*random_points(helsinki, n, seed), crs="EPSG:4326") for n, seed in ((50, 1), (20, 2))
    ]
    asked: dict[str, Any] = {"travel_time": 600, "k": k, "properties": ("travel_time", "distance")}
    tables, done = [], []
    for way in (None, *get_args(k_nearest.Way)):
        monkeypatch.setattr(k_nearest, "quickest", lambda *_, way=way: way)
        tables.append(tl.nearest(helsinki, *points, progress=lambda *now: done.append(now), **asked))
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    assert done[-1] == (1000, 1000)
    assert tables[0]["travel_time"].notna().any()


@pytest.mark.parametrize("k", [1, 3, 40])
def test_accessibility_is_the_same_either_way(helsinki: Network, monkeypatch: Any, k: int) -> None:
    homes, sites = (
        gpd.GeoDataFrame(geometry=gpd.points_from_xy(*random_points(helsinki, n, seed)), crs="EPSG:4326")
        for n, seed in ((50, 1), (20, 2))
    )
    sites = sites.assign(beds=np.arange(20) % 4, doctors=[5] + 19 * [0], nobody=0)
    asked: dict[str, Any] = {"travel_time": [120, 600], "k": k, "values": ["beds", "doctors", "nobody"]}
    tables, done = [], []
    for way in (None, *get_args(k_nearest.Way)):
        monkeypatch.setattr(k_nearest, "quickest", lambda *_, way=way: way)
        tables.append(
            tl.accessibility(helsinki, homes, sites, measure="nearest", progress=lambda *now: done.append(now), **asked)
        )
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    assert done[-1] == (1000, 1000)
    assert tables[0]["travel_time_to_beds"].notna().any() == (k <= 30)


def test_the_quickest_way_depends_on_the_request(helsinki: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, snapping = helsinki.road_graph(as_transportation("driving")), as_snapping(None)
    making_ns = [np.inf]
    plain = engines.expected
    monkeypatch.setattr(
        engines, "expected", lambda *request, **how: plain(*request, **how)._replace(making_ns=making_ns[0])
    )

    def quickest(n_origins: int, n_places: int, k: int, limit: float = 3600) -> str | None:
        points = (
            snapped(helsinki, "driving", n_origins, 1, CAN_LEAVE),
            snapped(helsinki, "driving", n_places, 2, CAN_ARRIVE),
        )
        return k_nearest.quickest(helsinki.streets, graph, *k_nearest.link(graph, *points, snapping), k, limit)

    assert quickest(3000, 1000, 1) == "search"
    assert quickest(1, 5, 1) is None
    assert quickest(300, 100, 100) is None
    making_ns[0] = 0.0
    assert quickest(3000, 1000, 5) == "hierarchy"
    # A search that reaches little.
    assert quickest(3000, 1000, 5, 1) == "search"


def test_lists_that_are_too_large_are_not_made(helsinki: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, snapping = helsinki.road_graph(as_transportation("driving")), as_snapping(None)
    points = snapped(helsinki, "driving", 3000, 1, CAN_LEAVE), snapped(helsinki, "driving", 1000, 2, CAN_ARRIVE)
    linked = k_nearest.link(graph, *points, snapping)
    monkeypatch.setattr(k_nearest, "_MOST_BYTES", 12 * graph.topology.n_states)
    assert k_nearest.quickest(helsinki.streets, graph, *linked, 1, 3600) is not None
    assert k_nearest.quickest(helsinki.streets, graph, *linked, 2, 3600) is None


def test_few_rows_of_a_large_hierarchy_fit(helsinki: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, snapping = helsinki.road_graph(as_transportation("driving")), as_snapping(None)
    points = snapped(helsinki, "driving", 3, 1, CAN_LEAVE), snapped(helsinki, "driving", 3, 2, CAN_ARRIVE)
    linked, plain = k_nearest.link(graph, *points, snapping), engines.expected
    slow = {"searching_ns": 1e12, "asking_ns": 1e12, "making_ns": 0.0}
    monkeypatch.setattr(engines, "expected", lambda *request, **how: plain(*request, **how)._replace(**slow))
    monkeypatch.setattr(k_nearest, "_FEW_PAIRS", 0)
    contraction.hierarchy(helsinki.streets, graph)
    for share, way in ((1.0, "hierarchy"), (0.5, "hierarchy"), (0.001, None)):
        monkeypatch.setattr(k_nearest, "_MOST_BYTES", int(12 * 2 * graph.topology.n_states * share))
        assert k_nearest.quickest(helsinki.streets, graph, *linked, 2, 3600) == way


def test_a_request_is_remembered_once(helsinki: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, snapping = helsinki.road_graph(as_transportation("driving")), as_snapping(None)
    points = snapped(helsinki, "driving", 300, 1, CAN_LEAVE), snapped(helsinki, "driving", 100, 2, CAN_ARRIVE)
    linked, plain, remembered = k_nearest.link(graph, *points, snapping), engines.expected, []
    monkeypatch.setattr(engines, "is_worth_making", lambda *_: bool(remembered.append(1)))
    monkeypatch.setattr(k_nearest, "_FEW_PAIRS", 0)
    for searching_ns, way, n in ((1.0, None, 0), (1e15, "search", 1)):
        times = {"searching_ns": searching_ns, "asking_ns": searching_ns, "making_ns": 1e18}
        monkeypatch.setattr(
            engines, "expected", lambda *request, times=times, **how: plain(*request, **how)._replace(**times)
        )
        assert k_nearest.quickest(helsinki.streets, graph, *linked, 3, 3600) == way
        assert len(remembered) == n


def test_what_a_request_takes_is_expected_without_a_choice(helsinki: Network) -> None:
    graph, snapping = helsinki.road_graph(as_transportation("driving")), as_snapping(None)
    points = snapped(helsinki, "driving", 30, 1, CAN_LEAVE), snapped(helsinki, "driving", 20, 2, CAN_ARRIVE)
    linked = k_nearest.link(graph, *points, snapping)
    missed_ns = engines._EXPERIENCE.of(graph, None, engines._Experience).missed_ns
    found = engines.expected(helsinki.streets, graph, *linked, np.int64(3600 * SECOND))
    assert 0 < found.reach <= graph.topology.n_states
    assert math.isclose(found.least_ns, min(found.searching_ns, found.asking_ns + found.making_ns))
    assert engines._EXPERIENCE.of(graph, None, engines._Experience).missed_ns == missed_ns
