"""Working arrays that searches leave as they found them."""

from __future__ import annotations

import datetime as dt
import threading
from collections import deque
from typing import Any

import numpy as np
import pytest

from tests.support.combinations import first_of
from traveltime_lab.kernels.raster.surface import box_of_rows
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.limits import FOREVER_S
from traveltime_lab.modes.snapping import as_snapping
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.network.network import Network
from traveltime_lab.search.query import ask
from traveltime_lab.settings import settings
from traveltime_lab.streets import contraction, field, matrix, workspaces
from traveltime_lab.streets.field import label_field, length_field, row_field
from traveltime_lab.streets.graph import RoadGraph, Topology
from traveltime_lab.streets.labels import limit_label
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.paths import paths
from traveltime_lab.streets.snapping import CAN_ARRIVE, CAN_LEAVE, Snaps, snap_points
from traveltime_lab.surfaces.field import edge_boxes, label_rows

ENGINES = ["dijkstra", "hierarchy"]
MORNING = "2026-03-02T08:00"


def some_labels(network: Network, graph: RoadGraph, engine: str, n: int, seed: int, *, limit: float) -> np.ndarray:
    """Return labels of all pairs of some points, or of one pair of each, from a seed."""
    transportation, snapping = as_transportation("driving"), as_snapping(None)
    random = np.random.default_rng(seed)
    west, south, east, north = network.bounds
    sides = [(random.uniform(west, east, size), random.uniform(south, north, size)) for size in (n, n + 3)]
    starts, ends = (
        snap_points(network.streets, *side, transportation, snapping, needed)
        for side, needed in zip(sides, (CAN_LEAVE, CAN_ARRIVE), strict=True)
    )
    blocks = matrix.label_blocks(network.streets, graph, starts, ends, snapping, limit=limit, engine=engine)
    rows = np.concatenate([block.labels.ravel() for block in blocks])
    order = random.permutation(n)
    chosen = Pairs(starts, ends, (np.arange(n), order))
    pairs = matrix.pair_labels(network.streets, graph, chosen, snapping, limit=limit, engine=engine)
    return np.concatenate([rows, pairs])


def helsinki_snaps(network: Network, n: int, needed: np.uint8) -> Snaps:
    """Return snaps of random points to streets for cars."""
    random = np.random.default_rng(n + int(needed))
    west, south, east, north = network.bounds
    lng, lat = random.uniform(west, east, n), random.uniform(south, north, n)
    return snap_points(network.streets, lng, lat, as_transportation("driving"), as_snapping(None), needed)


def assert_clean(topology: Topology) -> int:
    """Check the idle arrays of a topology and return their number."""
    searches = [*workspaces._SEARCHES.of(topology, None, deque), *workspaces._TREES.of(topology, None, deque)]
    for timed in workspaces._TIMED.of(topology, None, deque):
        assert (timed.arrays.label == UNREACHED).all()
        assert (timed.arrays.heads == -1).all()
    for space in searches:
        assert (space.label == UNREACHED).all()
        assert (space.queue.heads == -1).all()
    numbers = workspaces._NUMBERS.of(topology, None, deque)
    for each in numbers:
        assert (each == -1).all()
    climbs = workspaces._CLIMBS.of(topology, None, deque)
    for climb in climbs:
        assert (climb.label == UNREACHED).all()
        assert not climb.has_work.any()
    return len(searches) + len(numbers) + len(climbs)


@pytest.mark.parametrize("engine", ENGINES)
def test_they_are_as_before_after_any_search(helsinki: Network, engine: str) -> None:
    graph = helsinki.road_graph(as_transportation("driving"))
    for seed, (n, limit) in enumerate([(1, 60), (5, 600), (40, 3600), (2, 14_400), (300, 900)]):
        some_labels(helsinki, graph, engine, n, seed, limit=limit)
        assert assert_clean(graph.topology)


@pytest.mark.parametrize(
    "moment",
    first_of(
        1, [{}, {"departure_time": MORNING}, {"arrival_time": MORNING}],
        mark=pytest.mark.thorough, few=pytest.mark.slow,
    ),
)  # fmt: skip
def test_routes_use_them_again(helsinki: Network, moment: dict[str, str]) -> None:
    means = as_transportation({"type": "driving", "time_dependent": bool(moment)})
    graph = ask(helsinki, means, moment.get("departure_time"), moment.get("arrival_time"), None).graph
    snaps = Pairs(*(helsinki_snaps(helsinki, 14, needed) for needed in (CAN_LEAVE, CAN_ARRIVE)))
    found = [list(paths(graph, snaps, as_snapping(None), limit)) for limit in (14_400, 14_400, 300)]
    assert found[0] == found[1] and len(found[0]) > len(found[2]) > 0
    # A caller may take the first one only.
    assert next(paths(graph, snaps, as_snapping(None), 14_400)) == found[0][0]
    kind = workspaces._TIMED if moment else workspaces._TREES
    assert len(kind.of(graph.topology, None, deque)) == 1
    assert_clean(graph.topology)


def test_graphs_of_other_moments_share_them(helsinki: Network) -> None:
    moments = dt.datetime(2026, 3, 2, 8), dt.datetime(2026, 3, 2, 11)
    graphs = [helsinki.road_graph(as_transportation("driving"), moment) for moment in moments]
    assert graphs[0].topology is graphs[1].topology
    alone = [some_labels(helsinki, graph, "dijkstra", 9, 1, limit=3600) for graph in graphs]
    assert not np.array_equal(*alone)
    for _ in range(2):
        for graph, expected in zip(graphs, alone, strict=True):
            assert np.array_equal(some_labels(helsinki, graph, "dijkstra", 9, 1, limit=3600), expected)
    assert_clean(graphs[0].topology)


@pytest.mark.slow
def test_threads_do_not_share_them_at_the_same_time(helsinki: Network) -> None:
    graph = helsinki.road_graph(as_transportation("driving"))
    expected = {
        (engine, seed): some_labels(helsinki, graph, engine, 30, seed, limit=1800)
        for engine in ENGINES
        for seed in range(4)
    }
    wrong = []

    def search(engine: str, seed: int) -> None:
        made = [some_labels(helsinki, graph, engine, 30, seed, limit=1800) for _ in range(5)]
        wrong.extend((engine, seed) for each in made if not np.array_equal(each, expected[engine, seed]))

    threads = [threading.Thread(target=search, args=each) for each in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert_clean(graph.topology)


@pytest.mark.parametrize("is_backward", [False, True])
@pytest.mark.parametrize("mode", ["walking", "cycling", "driving"])
def test_values_along_edges_are_those_of_labels(helsinki: Network, mode: str, is_backward: bool) -> None:
    graph, snapping = helsinki.road_graph(as_transportation(mode)), as_snapping(None)
    random = np.random.default_rng(5)
    west, south, east, north = helsinki.bounds
    lng, lat = random.uniform(west, east, 12), random.uniform(south, north, 12)
    transportation, needed = as_transportation(mode), CAN_ARRIVE if is_backward else CAN_LEAVE
    snaps = snap_points(helsinki.streets, lng, lat, transportation, snapping, needed)
    for place in np.flatnonzero(snaps.edge >= 0):
        for limit in (30.0, 240.0, 7200.0):
            here = snaps.take(np.array([place]))
            near = row_field(graph, here, snapping, limit=limit, is_backward=is_backward)
            whole = label_field(graph, here, snapping, limit=limit, is_backward=is_backward)
            for most in (limit, limit / 2.0):
                rows, box = label_rows(
                    helsinki.streets, graph, whole.label, most, whole.positions.edge, is_backward=is_backward
                )
                assert np.array_equal(near.rows.values, rows)
                edges = near.rows.edges
                assert edges is not None
                assert np.array_equal(np.sort(edges), np.flatnonzero(np.isfinite(rows[:, [0, 2]]).any(axis=1)))
                found = box_of_rows(edges, rows, 0, edge_boxes(helsinki.streets), most, near.positions.edge)
                assert np.array_equal(found, box)
            kept = near.rows.values
            del near
            assert np.isinf(kept[:, [0, 2]]).all(), "the next search may use them"


def fastest(rows: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the lengths of the fastest routes to places on edges, from times and lengths along them."""
    times = rows[:, [0, 2]] + rows[:, [1, 3]] * np.column_stack([share, 1.0 - share])
    metres = rows[:, [4, 6]] + rows[:, [5, 7]] * np.column_stack([share, 1.0 - share])
    return np.take_along_axis(metres, times.argmin(axis=1)[:, None], axis=1)[:, 0]


@pytest.mark.parametrize("is_backward", [False, True])
@pytest.mark.parametrize("mode", ["walking", "driving", "driving+ferry"])
def test_lengths_of_fastest_routes_up_to_a_limit_are_those_without_one(
    helsinki: Network, mode: str, is_backward: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    means, needed, snapping = as_transportation(mode), CAN_ARRIVE if is_backward else CAN_LEAVE, as_snapping(None)
    graph, random = helsinki.road_graph(means), np.random.default_rng(13)
    west, south, east, north = helsinki.bounds
    lng, lat = random.uniform(west, east, 12), random.uniform(south, north, 12)
    snaps, share = (
        snap_points(helsinki.streets, lng, lat, means, snapping, needed),
        random.uniform(size=helsinki.n_edges),
    )
    n_local = 0
    for place in np.flatnonzero(snaps.edge >= 0):
        here = snaps.take(np.array([place]))
        for limit in (100.0, 600.0, 1500.0, 30_000.0):
            field._NEEDED.of(graph, None, dict).clear()
            for _ in range(2):  # without and with the experience of a search
                near = length_field(graph, here, snapping, limit_m=limit, is_backward=is_backward)
            n_local += near.limit < limit_label(FOREVER_S, "time")
            with monkeypatch.context() as patch:
                patch.setattr(field, "_SWEPT_FROM", -1.0)
                whole = length_field(graph, here, snapping, limit_m=limit, is_backward=is_backward)
            label = label_field(graph, here, snapping, limit=FOREVER_S, is_backward=is_backward).label.reshape(-1, 2)
            expected, reached = whole.rows.values, (label != UNREACHED)[:, :: -1 if is_backward else 1]
            assert np.array_equal(np.isfinite(expected[:, [0, 2]]), reached)
            label = label[:, :: -1 if is_backward else 1]
            assert np.array_equal(expected[:, [4, 6]][reached], ((label & (1 << 32) - 1) / 100)[reached].astype("f4"))
            metres, all_metres = fastest(near.rows.values, share), fastest(expected, share)
            of_interest = np.minimum(metres, all_metres) <= limit
            assert np.array_equal(metres[of_interest], all_metres[of_interest])
            assert near.rows.edges is not None
            reached_edges = np.isfinite(near.rows.values[:, [0, 2]]).any(axis=1)
            assert np.array_equal(np.sort(near.rows.edges), np.flatnonzero(reached_edges))
            kept = near.rows.values
            del near, whole
            assert np.isinf(kept[:, ::2]).all() and not kept[:, 1::2].any(), "the next search may use them"
    assert n_local > 8
    assert_clean(graph.topology)


@pytest.mark.parametrize("is_backward", [False, True])
@pytest.mark.parametrize("mode", ["walking", "driving"])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_sweep_of_the_hierarchy_is_a_search(
    helsinki: Network, mode: str, is_backward: bool, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    means, needed, snapping = as_transportation(mode), CAN_ARRIVE if is_backward else CAN_LEAVE, as_snapping(None)
    graph = helsinki.road_graph(means)
    contraction.hierarchy(helsinki.streets, graph)
    random = np.random.default_rng(11)
    west, south, east, north = helsinki.bounds
    lng, lat = random.uniform(west, east, 8), random.uniform(south, north, 8)
    snaps = snap_points(helsinki.streets, lng, lat, means, snapping, needed)
    for place in np.flatnonzero(snaps.edge >= 0):
        here = snaps.take(np.array([place]))
        for limit in (30.0, 600.0, 7200.0):
            found = []
            for share in (-1.0, 1.0):
                monkeypatch.setattr(field, "_SWEPT_FROM", share)
                with settings.override(threads=threads):
                    by_row = row_field(graph, here, snapping, limit=limit, is_backward=is_backward)
                assert by_row.rows.edges is not None
                found.append((by_row.rows.values.copy(), np.sort(by_row.rows.edges)))
                del by_row
            for swept, searched in zip(*found, strict=True):
                assert np.array_equal(swept, searched)
            swept = label_field(graph, here, snapping, limit=limit, is_backward=is_backward).label
            with monkeypatch.context() as patch:
                patch.setattr(contraction.HIERARCHY, "get", lambda *_: None)
                searched = label_field(graph, here, snapping, limit=limit, is_backward=is_backward).label
            assert np.array_equal(swept, searched)
    assert_clean(graph.topology)


@pytest.mark.parametrize("is_backward", [False, True])
def test_many_places_from_one_are_read_after_a_sweep_of_all_states(
    helsinki: Network, is_backward: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = helsinki.road_graph(as_transportation("driving"))
    random = np.random.default_rng(12)
    west, south, east, north = helsinki.bounds
    sides = [
        snap_points(
            helsinki.streets, random.uniform(west, east, n), random.uniform(south, north, n),
            as_transportation("driving"), as_snapping(None), needed,
        )
        for n, needed in zip((900, 1) if is_backward else (1, 900), (CAN_LEAVE, CAN_ARRIVE), strict=True)
    ]  # fmt: skip
    found = []
    for most in (0.0, 1e9):
        monkeypatch.setattr(contraction, "_MOST", most)
        blocks = matrix.label_blocks(helsinki.streets, graph, *sides, as_snapping(None), limit=400, engine="hierarchy")
        found.append(np.concatenate([block.labels.ravel() for block in blocks]))
    assert np.array_equal(*found)
    assert 20 < np.count_nonzero(found[0] == UNREACHED) < 880


def test_a_search_that_reaches_much_is_replaced_by_a_sweep(helsinki: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit like that of the search, or a larger one, and only if there is a hierarchy."""
    means, snapping = as_transportation("driving"), as_snapping(None)
    swept: list[object] = []
    label_all = contraction.label_all

    def noted(*arguments: Any, **options: Any) -> None:
        swept.append(arguments)
        label_all(*arguments, **options)

    monkeypatch.setattr(contraction, "label_all", noted)
    graph = helsinki.road_graph(means)
    field._SHARES.of(graph, None, dict).clear()
    middle = np.array([np.median(helsinki.tables.node_lng)]), np.array([np.median(helsinki.tables.node_lat)])
    here = snap_points(helsinki.streets, *middle, means, snapping, CAN_LEAVE)

    def search(limit: float) -> bool:
        swept.clear()
        row_field(graph, here, snapping, limit=limit, is_backward=False)
        return bool(swept)

    contraction.hierarchy(helsinki.streets, graph)
    assert not search(20.0)
    assert not search(3600.0), "the search of 20 seconds reached little"
    assert search(3600.0)
    assert search(7200.0)
    assert not search(20.0)
    monkeypatch.setattr(contraction.HIERARCHY, "get", lambda *_: None)
    assert not search(3600.0)


def test_arrays_of_a_search_that_failed_are_not_used_again(helsinki: Network) -> None:
    graph = helsinki.road_graph(as_transportation("cycling"))
    with pytest.raises(KeyboardInterrupt), workspaces.search_space(graph, graph.core_forward) as space:
        space.label[0] = 0
        raise KeyboardInterrupt
    assert_clean(graph.topology)


def test_few_are_kept(helsinki: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspaces, "_MOST_IDLE_BYTES", 0)
    topology = helsinki.road_graph(as_transportation("walking")).topology
    workspaces._CLIMBS.of(topology, None, deque).clear()  # those of earlier tests
    with workspaces.climbs(topology), workspaces.climbs(topology):
        pass
    assert len(workspaces._CLIMBS.of(topology, None, deque)) == 1
