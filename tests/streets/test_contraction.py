"""Contraction hierarchies give the labels of plain searches, to the bit."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.oracles import random_points, simple_oracle
from tests.support.worlds import at, world
from traveltime_lab.kernels.records import Ports
from traveltime_lab.kernels.street import contraction as kernel
from traveltime_lab.kernels.street import customization, dissection, edge_dissection, sweeps
from traveltime_lab.kernels.street import k_nearest as nearest_kernels
from traveltime_lab.kernels.unreached import NO_PLACE, UNREACHED
from traveltime_lab.modes.snapping import Snapping, as_snapping
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.network.network import Network
from traveltime_lab.runtime.threads import side_by_side
from traveltime_lab.settings import settings as options
from traveltime_lab.streets import contraction, dijkstra, engines, matrix
from traveltime_lab.streets import graph as road_graph
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.labels import limit_label
from traveltime_lab.streets.links import LinkedPoints
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.snapping import Snaps, snap_points

#: Long enough to be no limit.
FAR = np.int64(1) << 60


def csr(n: int, arcs: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a CSR of arcs (from, to, label)."""
    arcs = sorted(arcs)
    source, target, label = (np.array([arc[i] for arc in arcs], np.int64) for i in range(3))
    indptr = np.zeros(n + 1, np.int32)
    np.cumsum(np.bincount(source, minlength=n), out=indptr[1:])
    return indptr, target.astype(np.int32), label


def undirected(n: int, arcs: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the CSR of neighbours, without loops and parallel edges."""
    both = {(a, b) for a, b, _ in arcs if a != b} | {(b, a) for a, b, _ in arcs if a != b}
    indptr, indices, _ = csr(n, [(a, b, 0) for a, b in both])
    return indptr, indices


def contract(n: int, arcs: list[tuple[int, int, int]], xy: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return order, rank and chordal graph."""
    indptr, indices = undirected(n, arcs)
    left, degree = indices.copy(), np.empty(n, np.int32)
    peeled = dissection.peel(indptr, left, degree)
    rest = np.flatnonzero(degree >= 0).astype(np.int32)
    lines = np.stack([rest[np.argsort(along[rest], kind="stable")] for along in (*xy, xy[0] + xy[1], xy[0] - xy[1])])
    dissection.dissect(dissection.Graph(indptr, left, degree), lines, in_turn)
    order = np.concatenate([peeled, lines[0]])
    rank = np.empty(n, np.int32)
    rank[order] = np.arange(n)
    return order, rank, *kernel.fill(indptr, indices, rank, order)


def in_turn(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run jobs in an order on which nothing may depend, and return their results."""
    return [job() for job in reversed(jobs)][::-1]


@st.composite
def digraphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int, int]]]:
    """Draw small graphs with loops, parallel arcs, arcs of nothing and loose parts; few labels, so many ties."""
    n = draw(st.integers(1, 14))
    node = st.integers(0, n - 1)
    label = st.tuples(st.integers(0, 3), st.integers(0, 2)).map(lambda parts: (parts[0] << 32) + parts[1])
    return n, draw(st.lists(st.tuples(node, node, label), max_size=50))


@st.composite
def port_rows(draw: st.DrawFn, n: int) -> list[dict[int, int]]:
    """Draw some rows of ports, each from state to key; empty rows are points without a street."""
    key = st.tuples(st.integers(0, 4), st.integers(0, 3)).map(lambda parts: (parts[0] << 32) + parts[1])
    return draw(st.lists(st.dictionaries(st.integers(0, n - 1), key, max_size=3), min_size=1, max_size=19))


def as_ports(rows: list[dict[int, int]]) -> Ports:
    """Return rows of ports."""
    indptr = np.cumsum([0] + [len(row) for row in rows]).astype(np.int64)
    states = np.array([state for row in rows for state in row], np.int32)
    return Ports(indptr, states, np.array([key for row in rows for key in row.values()], np.int64))


@pytest.fixture(autouse=True, scope="module")
def two_threads() -> Iterator[None]:
    """Estimates of what an engine costs depend on the number of threads."""
    with options.override(threads=2):
        yield


def test_many_arcs_are_counted_in_64_bits(helsinki: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = helsinki.road_graph("driving")
    made = contraction.contraction(helsinki.streets, graph.topology)
    arrays = made.slots, graph.weights, made.up_indptr, made.up_heads
    few = customization.customize(*arrays, in_turn)
    most = max(arcs.indices.size for arcs in few)
    for limit, dtype in ((most, np.int32), (min(arcs.indices.size for arcs in few) - 1, np.int64)):
        monkeypatch.setattr(customization, "_MOST_ARCS", limit)
        for expected, found in zip(few, customization.customize(*arrays, in_turn), strict=True):
            assert found.indptr.dtype == dtype
            for one, other in zip(expected, found, strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n_threads", [2, 5])
def test_parts_of_a_hierarchy_do_not_change_it(
    helsinki: Network, monkeypatch: pytest.MonkeyPatch, n_threads: int
) -> None:
    graph = helsinki.road_graph("driving")
    made = contraction.contraction(helsinki.streets, graph.topology)
    arrays = made.slots, graph.weights, made.up_indptr, made.up_heads
    whole = customization.customize(*arrays, in_turn)
    monkeypatch.setattr(customization, "_MANY", 0)
    for run in (in_turn, side_by_side):
        for expected, found in zip(whole, customization.customize(*arrays, run, n_threads), strict=True):
            for one, other in zip(expected, found, strict=True):
                np.testing.assert_array_equal(one, other)
    # All vertices above a vertex of a part are in that part, or above all parts.
    n_parts = 2 * n_threads
    work = np.square(np.diff(made.up_indptr), dtype=float)
    part_of = customization.divide(made.parent, work, n_parts)
    low = np.repeat(np.arange(part_of.size), np.diff(made.up_indptr))
    above = part_of[made.up_heads]
    assert ((above == part_of[low]) | (above == n_parts)).all()
    degrees = np.diff(made.up_indptr).astype(float)
    work = np.bincount(part_of, degrees * degrees, n_parts + 1)
    assert work[:n_parts].max() < 2 * work.sum() / n_parts
    assert work[n_parts] < 0.5 * work.sum()


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_nearest_places_are_those_of_networkx(data: st.DataObject) -> None:
    n, arcs = data.draw(digraphs())
    origins, places, k = data.draw(port_rows(n)), data.draw(port_rows(n)), data.draw(st.integers(1, 5))
    limit = data.draw(st.sampled_from([int(FAR), (5 << 32) - 1, (1 << 32) - 1]))
    xy = np.array(data.draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=n, max_size=n))).T
    indptr, indices, weights = csr(n, arcs)
    _, rank, up_indptr, up_heads = contract(n, arcs, xy.astype(float))
    slots = kernel.slots_of_arcs(indptr, indices, rank, up_indptr, up_heads)
    up, down = customization.customize(slots, weights, up_indptr, up_heads, in_turn)
    parent = kernel.elimination_tree(up_indptr, up_heads)
    leaving, row_of, vertices = as_ports(origins), np.full(n, -1, np.int32), np.full(n, -7, np.int32)
    found, n_requested, n_rows = nearest_kernels.climbing_lists(
        down, parent, rank, leaving.states, as_ports(places), k, limit, row_of, vertices
    )
    rows = np.arange(n_requested, dtype=np.int32)
    nearest_kernels.carry_down(up, rows, vertices[:n_requested], k, limit, row_of, found)
    assert sorted(vertices[:n_rows].tolist()) == np.flatnonzero(row_of >= 0).tolist()
    lists = nearest_kernels.empty_lists(len(origins), k)
    reads = leaving._replace(states=row_of[rank[leaving.states]])
    nearest_kernels.read_k_nearest(found, reads, 0, len(origins), k, limit, lists)
    for row, keys, lengths in zip(origins, lists.key.reshape(-1, k), lists.cm.reshape(-1, k), strict=True):
        labels = simple_oracle(indptr, indices, weights, row, limit)
        expected = []
        for number, place in enumerate(places):
            label = min((labels[state] + key for state, key in place.items() if state in labels), default=FAR)
            if label <= limit and label < FAR:
                expected.append((label >> 32, number, label & 0xFFFF_FFFF))
        here = [
            (key >> 32, (key & 0xFFFF_FFFF) >> 1, length)
            for key, length in zip(keys.tolist(), lengths.tolist(), strict=True)
            if key != NO_PLACE
        ]
        assert here == sorted(expected)[:k]


@settings(max_examples=300, deadline=None)
@given(st.data())
@pytest.mark.slow
def test_labels_are_those_of_networkx(data: st.DataObject) -> None:
    n, arcs = data.draw(digraphs())
    seeds, reads = data.draw(port_rows(n)), data.draw(port_rows(n))
    limit = data.draw(st.sampled_from([int(FAR), (5 << 32) - 1, 3 << 32, 0]))
    xy = np.array(data.draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=n, max_size=n))).T
    indptr, indices, weights = csr(n, arcs)
    _, rank, up_indptr, up_heads = contract(n, arcs, xy.astype(float))
    slots = kernel.slots_of_arcs(indptr, indices, rank, up_indptr, up_heads)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(customization, "_MANY", 0)
        n_threads = data.draw(st.integers(1, 3))
        upward, downward = customization.customize(slots, weights, up_indptr, up_heads, in_turn, n_threads)
    # As others have left it.
    parent = kernel.elimination_tree(up_indptr, up_heads)
    room = sweeps.Room(*(np.full(data.draw(st.integers(n, 9 * n)), -7, array.dtype) for array in sweeps.new_room(n)))
    room = room._replace(labels=np.full(room.tails.size, -7, np.int64))
    for up, down, rows, columns in ((upward, downward, seeds, reads), (downward, upward, reads, seeds)):
        numbers, climb = np.full(n, -1, np.int32), sweeps.new_climb(n)
        stream, room = sweeps.restrict(down, parent, rank, as_ports(columns), numbers, room)
        result = np.zeros((len(rows), len(columns)), np.int64)
        sweeps.many_to_many(up, rank, stream, as_ports(rows), np.int64(limit), climb, result)
        numbers[stream.vertices] = -1
        assert_unused(climb, numbers)
        expected = np.full((len(seeds), len(reads)), UNREACHED)
        for i, row in enumerate(seeds):
            found = simple_oracle(indptr, indices, weights, row, limit)
            for j, column in enumerate(reads):
                best = min((found[state] + key for state, key in column.items() if state in found), default=FAR + 1)
                if best <= limit:
                    expected[i, j] = best
        # Against the arcs, rows and columns change places.
        assert np.array_equal(result, expected if rows is seeds else expected.T)
        one = np.zeros(len(columns), np.int64)
        for row, labels in zip(rows, result, strict=True):
            given = as_ports([row]), as_ports(columns), np.int64(limit)
            sweeps.one_to_many(up, down, parent, rank, *given, climb, numbers, room, one)
            assert np.array_equal(one, labels)
            assert_unused(climb, numbers)


def assert_unused(climb: sweeps.Climb, numbers: Any) -> None:
    """Check that the next search may use arrays."""
    assert (climb.label == UNREACHED).all()
    assert not climb.has_work.any()
    assert (numbers == -1).all()


@settings(max_examples=200, deadline=None)
@given(digraphs(), st.randoms(use_true_random=False))
def test_the_order_has_every_vertex_once_and_the_fill_is_chordal(
    graph: tuple[int, list[tuple[int, int, int]]], random: Any
) -> None:
    n, arcs = graph
    xy = np.array([[random.random() for _ in range(n)] for _ in range(2)])
    order, rank, up_indptr, up_heads = contract(n, arcs, xy)
    assert sorted(order) == list(range(n))
    higher = [set(up_heads[up_indptr[v] : up_indptr[v + 1]].tolist()) for v in range(n)]
    parent = kernel.elimination_tree(up_indptr, up_heads).tolist()
    for v in range(n):
        above, at = set(), parent[v]
        while at >= 0:
            above.add(at)
            at = parent[at]
        assert higher[v] <= above
        row = up_heads[up_indptr[v] : up_indptr[v + 1]].tolist()
        assert row == sorted(set(row))
        assert all(w > v for w in row)
        assert all(b in higher[a] for a in row for b in row if b > a)
    for a, b, _ in arcs:
        assert a == b or max(rank[a], rank[b]) in higher[min(rank[a], rank[b])]


@settings(max_examples=200, deadline=None)
@given(digraphs())
def test_neighbours_are_those_in_either_direction(graph: tuple[int, list[tuple[int, int, int]]]) -> None:
    n, arcs = graph
    indptr, indices, _ = csr(n, arcs)
    others = np.full(2 * indices.size, -7, np.int32)
    begin = kernel.neighbours(indptr, indices, others)
    expected_indptr, expected = undirected(n, arcs)
    assert begin.tolist() == expected_indptr.tolist()
    assert others[: begin[-1]].tolist() == expected.tolist()


@pytest.mark.parametrize("n_leaves", [3, 17, 40, 300])
def test_a_fill_of_any_size_has_room(n_leaves: int) -> None:
    """A star whose middle is contracted first becomes a graph in which all are neighbours, in rows of any length."""
    n = n_leaves + 1
    indptr, indices = undirected(n, [(0, i, 1) for i in range(1, n)])
    rank = np.arange(n, dtype=np.int32)
    up_indptr, up_heads = kernel.fill(indptr, indices, rank, rank)
    rows = [up_heads[a:b].tolist() for a, b in itertools.pairwise(up_indptr)]
    assert rows == [list(range(v + 1, n)) for v in range(n)]
    assert up_heads.size > 4 * indices.size or n_leaves < 17


def test_a_grid_is_cut_where_it_is_narrow() -> None:
    # Four rows of nine vertices; four vertices, one of each row, part the grid.
    arcs = [(9 * r + c, 9 * r + c + 1, 1) for r in range(4) for c in range(8)]
    arcs += [(9 * r + c, 9 * r + c + 9, 1) for r in range(3) for c in range(9)]
    vertex = np.arange(36)
    indptr, indices = undirected(36, arcs)
    lines = np.stack([np.argsort(along, kind="stable") for along in (vertex % 9, vertex // 9)]).astype(np.int32)
    dissection.dissect(dissection.Graph(indptr, indices, np.diff(indptr).astype(np.int32)), lines, in_turn)
    assert sorted(lines[0].tolist()) == sorted(lines[1].tolist()) == list(range(36))
    cut = lines[0][-4:].tolist()
    assert {v // 9 for v in cut} == {0, 1, 2, 3}
    grid = nx.Graph((a, b) for a, b, _ in arcs)
    grid.remove_nodes_from(cut)
    first, second = (len(part) for part in nx.connected_components(grid))
    assert min(first, second) >= 36 // 4 - 4


def test_a_path_and_a_tree_need_no_shortcuts_beyond_their_bends() -> None:
    path = [(i, i + 1, 1) for i in range(29)]
    star = [(0, i, 1) for i in range(1, 30)]
    for arcs in (path, star):
        indptr, indices = undirected(30, arcs)
        degree = np.empty(30, np.int32)
        assert sorted(dissection.peel(indptr, indices.copy(), degree)) == list(range(30))
        assert (degree == -1).all()
    assert contract(30, star, np.zeros((2, 30)))[3].size == 29


@pytest.mark.parametrize("n_threads", [2, 5])
def test_orders_do_not_depend_on_threads(helsinki: Network, monkeypatch: pytest.MonkeyPatch, n_threads: int) -> None:
    monkeypatch.setattr(contraction, "side_by_side", in_turn)
    for mode in ("walking", "driving"):
        topology = helsinki.road_graph(mode).topology
        with options.override(threads=1):
            whole = contraction._contract(helsinki.streets, topology)
        order = contraction.order_of(helsinki.streets, topology, n_threads, many=0)
        np.testing.assert_array_equal(whole.rank[order], np.arange(order.size))


@st.composite
def street_plans(draw: st.DrawFn) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Draw nodes and edges, with loops and parallel edges: their number, ends and capacities."""
    n = draw(st.integers(2, 12))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node, st.integers(1, 3)), max_size=30))
    tails, heads, capacity = (np.array([edge[i] for edge in edges], np.int32) for i in range(3))
    return n, tails, heads, capacity


@settings(max_examples=200, deadline=None)
@given(street_plans())
def test_what_remains_of_streets_has_the_cuts_of_all(plan: tuple[int, np.ndarray, np.ndarray, np.ndarray]) -> None:
    """No dead ends, no nodes of two edges; between nodes that remain, the minimum cuts are those before."""
    n, tails, heads, capacity = plan
    ends = tails.copy(), heads.copy()
    peeled, kept = edge_dissection.peel(*ends, capacity, n)
    assert sorted([*peeled.tolist(), *kept.tolist()]) == list(range(tails.size))
    before, after = (_capacities(n, *arrays) for arrays in (plan[1:], [each[kept] for each in (*ends, capacity)]))
    degree = np.bincount(np.concatenate([ends[0][kept], ends[1][kept]]), minlength=n)
    assert ((degree == 0) | (degree >= 3)).all()
    left = np.flatnonzero(degree).tolist()
    for a, b in itertools.combinations(left[:4], 2):
        assert nx.maximum_flow_value(before, a, b) == nx.maximum_flow_value(after, a, b)


@settings(max_examples=200, deadline=None)
@given(street_plans(), st.randoms(use_true_random=False))
def test_a_cut_is_a_minimum_cut_and_comes_last(
    plan: tuple[int, np.ndarray, np.ndarray, np.ndarray], random: Any
) -> None:
    n, *arrays = plan
    is_street = arrays[0] != arrays[1]
    tails, heads, capacity = (each[is_street] for each in arrays)
    streets = edge_dissection.streets_of(tails, heads, capacity, n)
    nodes = np.flatnonzero(streets.degree).astype(np.int32)
    if nodes.size < 4:
        return
    random.shuffle(nodes)
    quarter, graph = max(1, nodes.size // 4), _capacities(n, tails, heads, capacity)
    graph.add_edges_from(("from", v) for v in nodes[:quarter].tolist())
    graph.add_edges_from((v, "to") for v in nodes[-quarter:].tolist())
    lines = nodes[None, :].copy()
    order = edge_dissection.dissect(streets, lines, in_turn)
    assert sorted(order.tolist()) == list(range(tails.size))
    # The nodes of the first side are those that the last edges of the order cut off.
    total = nx.maximum_flow_value(graph, "from", "to")
    cuts = np.cumsum(capacity[order[::-1]])
    assert total in cuts or total == 0
    last = order[order.size - 1 - int(np.searchsorted(cuts, total)) :] if total else order[:0]
    left = _capacities(n, tails, heads, capacity)
    for e in last.tolist():
        left[tails[e]][heads[e]]["capacity"] -= int(capacity[e])
    left.remove_edges_from([(a, b) for a, b, room in left.edges(data="capacity") if room == 0])
    left.add_edges_from(("from", v) for v in nodes[:quarter].tolist())
    left.add_edges_from((v, "to") for v in nodes[-quarter:].tolist())
    assert not nx.has_path(left, "from", "to")


def _capacities(n: int, tails: np.ndarray, heads: np.ndarray, capacity: np.ndarray) -> nx.Graph:
    """Return a graph of streets; parallel ones are one with the sum of their capacities."""
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    for a, b, room in zip(tails.tolist(), heads.tolist(), capacity.tolist(), strict=True):
        if a != b:
            room += graph.get_edge_data(a, b, {"capacity": 0})["capacity"]
            graph.add_edge(a, b, capacity=room)
    return graph


def joined(
    network: Network, graph: RoadGraph, mode: str, n_origins: int, n_destinations: int
) -> tuple[Snaps, Snaps, LinkedPoints, LinkedPoints, Snapping]:
    """Return random origins and destinations on a graph, all of them on the main network."""
    snapping = as_snapping(None)
    transportation = as_transportation(mode)
    origins, destinations = (
        snap_points(network.streets, *random_points(network, n, seed), transportation, snapping).without_islands()
        for n, seed in ((n_origins, 1), (n_destinations, 2))
    )
    leaving = LinkedPoints.of(graph, origins, snapping, is_entry=False)
    reached = LinkedPoints.of(graph, destinations, snapping, is_entry=True)
    return origins, destinations, leaving, reached, snapping


def assert_same_labels(network: Network, graph: RoadGraph, mode: str, shape: tuple[int, int], limit: float) -> None:
    """Compare both engines on random points."""
    origins, destinations, leaving, reached, snapping = joined(network, graph, mode, *shape)
    expected, got = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for block in matrix.label_blocks(
        network.streets, graph, origins, destinations, snapping, limit=limit, engine="dijkstra"
    ):
        expected[block.rows, block.columns] = block.labels
    largest = limit_label(limit, graph.metric)
    for rows, columns, labels in contraction.label_blocks(network.streets, graph, leaving, reached, largest):
        got[rows, columns] = labels
    assert limit < 14_400 or (got != UNREACHED).any()
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("mode", ["walking", "cycling+ferry", "driving"])
@pytest.mark.parametrize("metric", ["time", "distance"])
def test_labels_are_those_of_searches_in_a_city(helsinki: Network, mode: str, metric: road_graph.Metric) -> None:
    graph = helsinki.road_graph(as_transportation(mode), metric=metric)
    for shape in ((37, 50), (50, 3), (1, 40)):
        for limit in (300, 14_400):
            assert_same_labels(helsinki, graph, mode, shape, limit)


@pytest.mark.parametrize("mode", ["cycling", "driving"])
def test_labels_are_those_of_searches_where_streets_are_one_way(porto_alegre: Network, mode: str) -> None:
    graph = porto_alegre.road_graph(as_transportation(mode))
    assert_same_labels(porto_alegre, graph, mode, (60, 200), 14_400)
    assert_same_labels(porto_alegre, graph, mode, (200, 60), 900)


@pytest.mark.parametrize("mode", ["walking", "driving"])
@pytest.mark.parametrize("limit", [0, 300, 14_400])
def test_chosen_pairs_have_the_labels_of_searches(helsinki: Network, mode: str, limit: int) -> None:
    graph = helsinki.road_graph(as_transportation(mode))
    origins, destinations, _, _, snapping = joined(helsinki, graph, mode, 30, 40)
    random = np.random.default_rng(1)
    pairs = Pairs(origins, destinations, (random.integers(0, 30, 300), random.integers(0, 40, 300)))
    expected, got = (
        matrix.pair_labels(helsinki.streets, graph, pairs, snapping, limit=limit, engine=engine)
        for engine in ("dijkstra", "hierarchy")
    )
    assert np.array_equal(got, expected)
    assert np.array_equal(
        matrix.pair_labels(helsinki.streets, graph, pairs.take([0]), snapping, limit=limit, engine="hierarchy"),
        expected[:1],
    )


def test_no_pairs(helsinki: Network) -> None:
    graph = helsinki.road_graph(as_transportation("driving"))
    origins, destinations, _, _, snapping = joined(helsinki, graph, "driving", 3, 3)
    none = np.empty(0, np.intp)
    for engine in ("dijkstra", "hierarchy"):
        pairs = Pairs(origins, destinations, (none, none))
        labels = matrix.pair_labels(helsinki.streets, graph, pairs, snapping, limit=900, engine=engine)
        assert labels.shape == (0,)


def test_one_thread_and_small_blocks_change_nothing(helsinki: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = helsinki.road_graph(as_transportation("driving"))
    monkeypatch.setattr("traveltime_lab.runtime.threads.BLOCK", 100)
    assert_same_labels(helsinki, graph, "driving", (41, 50), 14_400)
    with options.override(threads=1):
        assert_same_labels(helsinki, graph, "driving", (41, 50), 14_400)


def test_a_topology_is_contracted_once_whatever_the_speeds(helsinki: Network) -> None:
    transportation = as_transportation("driving")
    by_time = helsinki.road_graph(transportation)
    by_distance = helsinki.road_graph(transportation, metric="distance")
    assert by_time.topology is by_distance.topology
    assert (
        contraction.hierarchy(helsinki.streets, by_time).rank
        is contraction.hierarchy(helsinki.streets, by_distance).rank
    )
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: contraction.hierarchy(helsinki.streets, by_time), range(4)))
    assert all(each is made[0] for each in made)


@pytest.mark.slow
def test_it_pays_off_for_many_searches_and_once_it_is_there() -> None:
    side = range(40)
    streets = [((i, j), (i + 1, j)) for i in side[:-1] for j in side]
    streets += [((j, i), (j, i + 1)) for i in side[:-1] for j in side]
    network = world({(i, j): (100.0 * i, 100.0 * j) for i in side for j in side}, streets)
    graph = network.road_graph(as_transportation("driving"))
    _, _, few, _, _ = joined(network, graph, "driving", 20, 1)
    _, _, leaving, reached, _ = joined(network, graph, "driving", 1000, 1000)
    largest, short = limit_label(14_400, "time"), limit_label(30, "time")
    assert engines.pays_off(network.streets, graph, leaving, reached, largest)
    assert not engines.pays_off(network.streets, graph, leaving, reached, short)
    assert not engines.pays_off(network.streets, graph, few, reached, largest)
    contraction.hierarchy(network.streets, graph)
    assert engines.pays_off(network.streets, graph, few, reached, largest)
    _, _, one, some, _ = joined(network, graph, "driving", 1, 3)
    assert engines.pays_off(network.streets, graph, one, some, largest)
    assert not engines.pays_off(network.streets, graph, one, reached, short)


@pytest.mark.parametrize("shape", [(80, 30), (30, 80), (60, 60)])
def test_a_wrong_start_is_given_up(helsinki: Network, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int]) -> None:
    graph = helsinki.road_graph(as_transportation("driving"))
    origins, destinations, _, _, snapping = joined(helsinki, graph, "driving", *shape)
    expected = labels_of(helsinki, graph, origins, destinations, snapping, "dijkstra")
    chosen = np.repeat(np.arange(shape[0]), 3), np.random.default_rng(1).integers(0, shape[1], 3 * shape[0])
    pairs = Pairs(origins, destinations, chosen)
    one_by_one = matrix.pair_labels(helsinki.streets, graph, pairs, snapping, limit=3600, engine="dijkstra")
    begun = []
    many, few = contraction.label_blocks, contraction.pair_labels
    monkeypatch.setattr(contraction, "label_blocks", lambda *given: begun.append("blocks") or many(*given))
    monkeypatch.setattr(contraction, "pair_labels", lambda *given: begun.append("pairs") or few(*given))
    monkeypatch.setattr(engines, "choose", lambda *_given, **_more: engines.Choice(False, 1e-9))
    monkeypatch.setattr(dijkstra, "_ROWS_AT_ONCE", 2)
    np.testing.assert_array_equal(labels_of(helsinki, graph, origins, destinations, snapping, "auto"), expected)
    found = matrix.pair_labels(helsinki.streets, graph, pairs, snapping, limit=3600)
    np.testing.assert_array_equal(found, one_by_one)
    assert begun == ["blocks", "pairs"]


def labels_of(
    network: Network, graph: RoadGraph, origins: Snaps, destinations: Snaps, snapping: Snapping, engine: str
) -> np.ndarray:
    labels = np.empty((len(origins), len(destinations)), np.int64)
    for block in matrix.label_blocks(
        network.streets, graph, origins, destinations, snapping, limit=3600, engine=engine
    ):
        labels[block.rows, block.columns] = block.labels
    return labels


def test_many_small_regions_do_not_hide_a_large_one() -> None:
    """Three points in small regions said that searches end soon, for good; most points are in a large region."""
    side = range(30)
    streets = [((i, j), (i + 1, j)) for i in side[:-1] for j in side]
    streets += [((j, i), (j, i + 1)) for i in side[:-1] for j in side]
    nodes: dict[Any, tuple[float, float]] = {(i, j): (100.0 * i, 100.0 * j) for i in side for j in side}
    for k in range(40):
        nodes |= {("a", k): (5000.0 + 300.0 * k, 0.0), ("b", k): (5100.0 + 300.0 * k, 0.0)}
        streets.append((("a", k), ("b", k)))
    network = world(nodes, streets)
    graph = network.road_graph(as_transportation("driving"))
    snapping, largest = as_snapping(None), limit_label(14_400, "time")
    apart = at(*[(5050.0 + 300.0 * k, 0.0) for k in range(40)])
    inside = at(*[(50.0 + 100.0 * (k % 29), 100.0 * (k % 30)) for k in range(1000)])

    def linked(points: Any, *, is_entry: bool) -> LinkedPoints:
        snaps = snap_points(
            network.streets, points.x.to_numpy(), points.y.to_numpy(), as_transportation("driving"), snapping
        )
        return LinkedPoints.of(graph, snaps, snapping, is_entry=is_entry)

    for points, pays in ((apart, False), (inside, True), (apart, False), (inside, True)):
        both = linked(points, is_entry=False), linked(points, is_entry=True)
        assert engines.pays_off(network.streets, graph, *both, largest) == pays


def test_small_requests_again_and_again_earn_it() -> None:
    """Each alone does without; together they lose what it takes, and then it is made beside them."""
    side = range(20)
    streets = [((i, j), (i + 1, j)) for i in side[:-1] for j in side]
    streets += [((j, i), (j, i + 1)) for i in side[:-1] for j in side]
    network = world({(i, j): (100.0 * i, 100.0 * j) for i in side for j in side}, streets)
    graph = network.road_graph(as_transportation("driving"))
    _, _, one, other, _ = joined(network, graph, "driving", 1, 1)
    largest = limit_label(14_400, "time")
    assert not engines.pays_off(network.streets, graph, one, other, largest)
    for _ in range(1000):
        engines.pays_off(network.streets, graph, one, other, largest)
    for thread in threading.enumerate():
        if thread.name == "traveltime_lab.streets.engines":
            thread.join()
    assert engines.pays_off(network.streets, graph, one, other, largest)


def test_points_without_a_street_reach_nothing() -> None:
    network = world({"a": (0, 0), "b": (500, 0), "c": (500, 500)}, [("a", "b"), ("b", "c")])
    graph = network.road_graph(as_transportation("driving"))
    points = at((0, 0), (500, 250), (90_000, 90_000))
    snapping = as_snapping(None)
    snaps = snap_points(
        network.streets, points.x.to_numpy(), points.y.to_numpy(), as_transportation("driving"), snapping
    )
    leaving = LinkedPoints.of(graph, snaps, snapping, is_entry=False)
    reached = LinkedPoints.of(graph, snaps, snapping, is_entry=True)
    ((rows, columns, labels),) = contraction.label_blocks(
        network.streets, graph, leaving, reached, limit_label(14_400, "time")
    )
    assert (rows, columns) == (slice(0, 3), slice(0, 3))
    assert (labels[2] == UNREACHED).all()
    assert (labels[:, 2] == UNREACHED).all()
    assert (labels[:2, :2] != UNREACHED).all()
