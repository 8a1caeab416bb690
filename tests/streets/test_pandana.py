"""The engine on contraction hierarchies gives the labels of the other one."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest

from tests.support.oracles import random_points
from traveltime_lab import build_network, time_filter
from traveltime_lab.errors import MissingDependencyError
from traveltime_lab.kernels.street import road
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.network.network import Network
from traveltime_lab.settings import settings
from traveltime_lab.streets import matrix
from traveltime_lab.streets.labels import limit_label
from traveltime_lab.streets.links import LinkedPoints
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.snapping import SNAPPED, Snaps, snap_points

pytest.importorskip("pandana")

from traveltime_lab.streets import pandana, pandana_guards

MODES = ("walking", "cycling", "driving")
LNG, LAT = 139.69, 35.69
STEP = 0.002

# Two rows of four junctions 1 to 4 and 5 to 8, a dead end at 9, an island of 10 and 11:
#
#   1 - 2 - 3 - 4        10 - 11
#   |   |   |   |
#   5 - 6 - 7 - 8 - 9
NODES = {
    1: (0, 1), 2: (1, 1), 3: (2, 1), 4: (3, 1), 5: (0, 0), 6: (1, 0), 7: (2, 0), 8: (3, 0), 9: (4, 0),
    10: (6, 1), 11: (7, 1),
}  # fmt: skip
WAYS = {
    100: ("1 2 3 4", "highway=primary"),
    101: ("5 6", "highway=residential"),
    102: ("6 7", "highway=residential motor_vehicle=destination"),
    103: ("7 8", "highway=residential"),
    104: ("1 5", "highway=residential oneway=yes"),
    105: ("2 6", "highway=residential"),
    106: ("3 7", "highway=residential motor_vehicle=destination"),
    107: ("4 8", "highway=tertiary"),
    108: ("10 11", "highway=residential"),
    109: ("8 9", "highway=residential"),
}
RESTRICTIONS = (
    ("100", "2", "105", "no_right_turn"),
    # From the dead end over 8 and 4 to the west is forbidden, a path of three ways; from 7 it is not.
    ("109", "107", "100", "no_left_turn"),
)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Network:
    """Junctions with every kind of state: restricted, by way, destination-only, one-way, island."""
    body = [
        f'<node id="{ref}" version="1" lon="{LNG + x * STEP}" lat="{LAT + y * STEP}">'
        + ('<tag k="highway" v="traffic_signals"/>' if ref == 3 else "")
        + "</node>"
        for ref, (x, y) in NODES.items()
    ]
    for ref, (nodes, tags) in WAYS.items():
        points = "".join(f'<nd ref="{node}"/>' for node in nodes.split())
        pairs = (tag.split("=") for tag in tags.split())
        body.append(
            f'<way id="{ref}" version="1">{points}'
            + "".join(f'<tag k="{key}" v="{value}"/>' for key, value in pairs)
            + "</way>"
        )
    for ref, (first, via, last, kind) in enumerate(RESTRICTIONS, 1):
        via_type = "node" if len(via) == 1 else "way"
        body.append(
            f'<relation id="{ref}" version="1"><member type="way" ref="{first}" role="from"/>'
            f'<member type="{via_type}" ref="{via}" role="via"/><member type="way" ref="{last}" role="to"/>'
            f'<tag k="type" v="restriction"/><tag k="restriction" v="{kind}"/></relation>'
        )
    path = tmp_path_factory.mktemp("town") / "town.osm"
    path.write_text(f'<?xml version="1.0"?><osm version="0.6">{"".join(body)}</osm>')
    return build_network(path)


def everywhere(network: Network, mode: str, places: int) -> Snaps:
    """Positions along every open edge, ends included, with walks of 0 to 40 m; the last one has no street."""
    is_open = network.road_graph(as_transportation(mode)).topology.is_open
    edges = np.flatnonzero(is_open[0::2] | is_open[1::2]).astype(np.int32)
    edge = np.append(np.repeat(edges, places), np.int32(-1))
    fraction = np.append(np.tile(np.linspace(0.0, 1.0, places), edges.size), 0.0)
    distance = np.append(np.arange(edges.size * places) % 41.0, np.inf)
    return snaps_at(edge, fraction, distance)


def snaps_at(edge: Any, fraction: Any, distance: Any) -> Snaps:
    """Positions of points without coordinates: no two of them are the same point."""
    nowhere = np.full(len(edge), np.nan)
    return Snaps(np.asarray(edge, np.int32), fraction, distance, np.full(len(edge), SNAPPED, np.int8), nowhere, nowhere)


def table(
    network: Network, mode: str, starts: Snaps, ends: Snaps, limit: float, engine: str, metric: Any = "time"
) -> np.ndarray:
    graph = network.road_graph(as_transportation(mode), metric=metric)
    labels = np.empty((len(starts), len(ends)), np.int64)
    blocks = matrix.label_blocks(network.streets, graph, starts, ends, Snapping(), limit=limit, engine=engine)
    for block in blocks:
        labels[block.rows, block.columns] = block.labels
    return labels


def assert_same(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal times; equal lengths, but for routes that are equally fast."""
    np.testing.assert_array_equal(found == UNREACHED, expected == UNREACHED)
    np.testing.assert_array_equal(found >> road.TIME_SHIFT, expected >> road.TIME_SHIFT)
    assert (found >= expected).all()
    assert (found == expected).mean() > 0.999


@pytest.mark.parametrize("metric", ["time", "distance"])
@pytest.mark.parametrize("mode", MODES)
def test_every_pair_of_places_in_a_town(town: Network, mode: str, metric: str) -> None:
    starts, ends = everywhere(town, mode, 4), everywhere(town, mode, 5)
    expected = table(town, mode, starts, ends, 14_400, "dijkstra", metric)
    found = table(town, mode, starts, ends, 14_400, "pandana", metric)
    # Round numbers make many routes equally long or fast here; so only what is minimised is compared.
    np.testing.assert_array_equal(found == UNREACHED, expected == UNREACHED)
    np.testing.assert_array_equal(found >> road.TIME_SHIFT, expected >> road.TIME_SHIFT)
    reached = expected != UNREACHED
    assert reached.any()
    assert not reached.all()
    assert (expected[-1] == UNREACHED).all()


def test_the_town_has_states_of_every_kind(town: Network) -> None:
    topology = town.road_graph(as_transportation("driving")).topology
    n_open = int(topology.is_open.sum())
    destination_only = 2 * 2
    assert topology.n_states > n_open + destination_only


@pytest.mark.parametrize("mode", MODES)
def test_both_orders_on_one_edge(town: Network, mode: str) -> None:
    """Backwards on a one-way street is a trip round the block, not a negative time."""
    places = everywhere(town, mode, 5)
    pairs = [(i, j) for i in range(len(places)) for j in range(len(places)) if places.edge[i] == places.edge[j]]
    origin_of, destination_of = np.array(pairs, dtype=np.intp).T
    graph = town.road_graph(as_transportation(mode))
    arguments = (Pairs(places, places, (origin_of, destination_of)), Snapping())
    expected = matrix.pair_labels(town.streets, graph, *arguments, limit=14_400, engine="dijkstra")
    for with_length in (True, False):
        found = matrix.pair_labels(
            town.streets, graph, *arguments, limit=14_400, engine="pandana", with_length=with_length
        )
        np.testing.assert_array_equal(found >> road.TIME_SHIFT, expected >> road.TIME_SHIFT)


@pytest.mark.parametrize("limit", [60, 91, 200])
def test_limit_counts_whole_seconds(town: Network, limit: int) -> None:
    starts, ends = everywhere(town, "driving", 3), everywhere(town, "driving", 4)
    everything = table(town, "driving", starts, ends, 14_400, "dijkstra")
    found = table(town, "driving", starts, ends, limit, "pandana")
    within = everything >> road.TIME_SHIFT < limit * 1000 + 500
    np.testing.assert_array_equal(found != UNREACHED, within)
    # A limit that is some trip's time in whole seconds includes that trip; one second less does not.
    longest = int(everything[within].max() >> road.TIME_SHIFT)
    for whole, is_within in (((longest + 500) // 1000, True), ((longest + 500) // 1000 - 1, False)):
        found = table(town, "driving", starts, ends, whole, "pandana")
        is_longest = everything >> road.TIME_SHIFT == longest
        assert (found[is_longest] != UNREACHED).all() == is_within


def odd_network(seed: int) -> Network:
    """Random streets with parallel edges, loops, nodes on one spot (edges of 0 m) and nodes without streets."""
    rng = np.random.default_rng(seed)
    n = 14
    place = rng.integers(0, 5, (n, 2))
    place[1] = place[0]
    nodes = gpd.GeoDataFrame(
        geometry=gpd.points_from_xy(LNG + place[:, 0] * STEP, LAT + place[:, 1] * STEP), crs="EPSG:4326"
    )
    u, v = rng.integers(0, n - 2, (2, 26))
    u[:4], v[:4] = [0, 1, 2, 2], [1, 2, 3, 3]
    keep = (u != v) | (rng.random(26) < 0.5)
    edges = pd.DataFrame({"u": u[keep], "v": v[keep]})
    edges["length"] = rng.integers(1, 400, len(edges)).astype(float)
    edges.loc[0, "length"] = 0.0
    edges.loc[3, "length"] = edges.loc[2, "length"]
    for mode in MODES:
        edges[f"{mode}_kph"] = 3.6
    edges["oneway"] = np.where(rng.random(len(edges)) < 0.3, "yes", "no")
    return build_network((nodes, edges))


@pytest.mark.parametrize("mode", ["walking", "driving"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.slow
def test_odd_graphs(seed: int, mode: str) -> None:
    network = odd_network(seed)
    starts = everywhere(network, mode, 3)
    expected = table(network, mode, starts, starts, 14_400, "dijkstra")
    found = table(network, mode, starts, starts, 14_400, "pandana")
    np.testing.assert_array_equal(found >> road.TIME_SHIFT, expected >> road.TIME_SHIFT)


def test_ways_over_arcs_of_no_time() -> None:
    """Pairs of nodes on one spot: pandana knows no weight of 0."""
    n = 12
    nodes = gpd.GeoDataFrame(
        geometry=gpd.points_from_xy(LNG + np.arange(n) // 2 * STEP, np.full(n, LAT)), crs="EPSG:4326"
    )
    edges = pd.DataFrame({"u": np.arange(n - 1), "v": np.arange(1, n), "walking_kph": 3.6})
    edges["length"] = np.where(edges["u"] % 2, 7.0, 0.0)
    network = build_network((nodes, edges))
    assert (network.road_graph(as_transportation("walking")).weights >> road.TIME_SHIFT == 0).sum() == n
    places = snaps_at(np.arange(n - 1), np.full(n - 1, 0.5), np.zeros(n - 1))
    expected = table(network, "walking", places, places, 14_400, "dijkstra")
    assert expected[0, -1] >> road.TIME_SHIFT == 5 * 7000
    np.testing.assert_array_equal(table(network, "walking", places, places, 14_400, "pandana"), expected)


@pytest.mark.parametrize("with_nothing", [False, True])
def test_each_weight_is_kept_to_the_millisecond(with_nothing: bool) -> None:
    """Thousandths such as 1.001 lie below their decimal as binary numbers, and pandana truncates."""
    ms = np.arange(1001, 1401)
    n = ms.size + 1
    nodes = gpd.GeoDataFrame(geometry=gpd.points_from_xy(LNG + np.arange(n) * STEP, np.full(n, LAT)), crs="EPSG:4326")
    edges = pd.DataFrame({"u": np.arange(n - 1), "v": np.arange(1, n), "walking_kph": 3.6, "length": ms / 1000.0})
    if with_nothing:
        # Graphs with an arc of 0 ms have other units in pandana.
        edges.loc[0, "length"] = 0.0
    network = build_network((nodes, edges))
    graph = network.road_graph(as_transportation("walking"))
    assert np.isin(ms[1:], graph.weights >> road.TIME_SHIFT).all()
    source = np.repeat(np.arange(graph.topology.n_states), np.diff(graph.topology.indptr)).astype(np.int32)
    found = pandana.hierarchy(network.streets, graph).ways(source, graph.topology.indices.astype(np.int32))
    np.testing.assert_array_equal(found, graph.weights >> road.TIME_SHIFT)


def test_a_street_without_a_turn() -> None:
    """One one-way street for cars: a graph without arcs, which pandana could not contract."""
    nodes = gpd.GeoDataFrame(geometry=gpd.points_from_xy([LNG, LNG + STEP], [LAT, LAT]), crs="EPSG:4326")
    edges = pd.DataFrame({"u": [0], "v": [1], "driving_kph": [36.0], "length": [100.0], "oneway": ["yes"]})
    network = build_network((nodes, edges))
    assert network.road_graph(as_transportation("driving")).weights.size == 0
    places = snaps_at([0, 0], np.array([0.2, 0.7]), np.zeros(2))
    labels = table(network, "driving", places, places, 100, "pandana")
    assert labels[1, 0] == UNREACHED
    assert labels[0, 1] & road.LENGTH_MASK == 5000
    np.testing.assert_array_equal(labels, table(network, "driving", places, places, 100, "dijkstra"))


CASES = [("monaco", mode) for mode in (*MODES, "driving+ferry")] + [("porto_alegre", "driving")]


@pytest.mark.parametrize(("city", "mode"), CASES)
@pytest.mark.thorough
def test_cities(request: pytest.FixtureRequest, city: str, mode: str) -> None:
    network = request.getfixturevalue(city)
    transportation = as_transportation(mode)
    starts, ends = (
        snap_points(network.streets, *random_points(network, n, seed), transportation, Snapping())
        for n, seed in ((15, 1), (200, 2))
    )
    # Every origin shares its edge with one destination.
    ends.edge[: len(starts)] = starts.edge
    for limit in (300, 14_400):
        expected = table(network, mode, starts, ends, limit, "dijkstra")
        assert_same(table(network, mode, starts, ends, limit, "pandana"), expected)
    graph = network.road_graph(transportation)
    rng = np.random.default_rng(3)
    origin_of, destination_of = rng.integers(0, 15, 500), rng.integers(0, 200, 500)
    pairs = Pairs(starts, ends, (origin_of, destination_of))
    labels = matrix.pair_labels(network.streets, graph, pairs, Snapping(), limit=14_400, engine="pandana")
    assert_same(labels, expected[origin_of, destination_of])


@pytest.mark.parametrize("properties", [("travel_time",), ("travel_time", "distance")])
@pytest.mark.parametrize("form", ["pairs", "matrix", "sparse"])
def test_time_filter_gives_the_same_table(town: Network, form: Any, properties: tuple[str, ...]) -> None:
    lng, lat = random_points(town, 30, 5)
    points = gpd.GeoSeries.from_xy(lng, lat, index=[f"p{i}" for i in range(30)], crs="EPSG:4326")
    tables = [
        time_filter(town, points[:12], points, travel_time=100, form=form, engine=engine, properties=properties)
        for engine in ("dijkstra", "pandana")
    ]
    pd.testing.assert_frame_equal(*tables)


def test_pairs_by_table(town: Network) -> None:
    lng, lat = random_points(town, 12, 6)
    points = gpd.GeoSeries.from_xy(lng, lat, crs="EPSG:4326")
    for pairs in ("aligned", pd.DataFrame({"origin": [0, 0, 7, 3], "destination": [5, 0, 1, 5]})):
        tables = [
            time_filter(town, points, points[::-1].set_axis(range(12)), travel_time=500, pairs=pairs, engine=engine)
            for engine in ("dijkstra", "pandana")
        ]
        pd.testing.assert_frame_equal(*tables)


def test_nobody_leaves_to_stay_where_they_are(town: Network) -> None:
    lng, lat = random_points(town, 8, 7)
    points = gpd.GeoSeries.from_xy(lng, lat, crs="EPSG:4326")
    for pairs in ("all", "aligned"):
        times = time_filter(town, points, points, travel_time=900, pairs=pairs, engine="pandana")
        assert (times.travel_time[times.origin == times.destination].fillna(0) == 0).all()
        assert (times.travel_time > 0).any() == (pairs == "all")


@pytest.mark.slow
def test_blocks_cover_all_columns(town: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks and calls, as large requests have them."""
    monkeypatch.setattr("traveltime_lab.runtime.threads.BLOCK", 40)
    for name, value in (("_WAYS", 64), ("_PATHS", 3)):
        monkeypatch.setattr(pandana, name, value)
    starts, ends = everywhere(town, "driving", 2), everywhere(town, "driving", 3)
    graph = town.road_graph(as_transportation("driving"))
    expected = table(town, "driving", starts, ends, 14_400, "dijkstra")
    arguments = (
        LinkedPoints.of(graph, starts, Snapping(), is_entry=False),
        LinkedPoints.of(graph, ends, Snapping(), is_entry=True),
        limit_label(14_400, "time"),
    )
    for with_length in (True, False):
        blocks = list(pandana.Pandana(with_length).label_blocks(town.streets, graph, *arguments))
        assert len(blocks) > 10
        found = np.hstack([labels for _, _, labels in blocks])
        np.testing.assert_array_equal(found >> road.TIME_SHIFT, expected >> road.TIME_SHIFT)
        assert [columns.start for _, columns, _ in blocks][1:] == [columns.stop for _, columns, _ in blocks][:-1]


def test_contracted_once(town: Network) -> None:
    graph = town.road_graph(as_transportation("driving"))
    assert pandana.hierarchy(town, graph) is pandana.hierarchy(town, graph)
    peak = town.road_graph(as_transportation({"type": "driving", "traffic_model": "peak"}))
    assert pandana.hierarchy(town, graph) is not pandana.hierarchy(town, peak)


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    network = odd_network(1)
    sys.stdout.write("before")
    pandana.hierarchy(network, network.road_graph(as_transportation("walking")))
    os.write(1, b" after")
    sys.stdout.flush()
    assert capfd.readouterr().out == "before after"


def test_output_is_back_after_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="inside"), pandana_guards.silenced():
        os.write(1, b"never seen")
        raise RuntimeError("inside")
    os.write(1, b"seen")
    assert capfd.readouterr().out == "seen"


def test_threads_may_change_after_contraction() -> None:
    """pandana ends the process if asked by more threads than it was made with."""
    from threadpoolctl import threadpool_limits

    network = odd_network(2)
    starts = everywhere(network, "walking", 5)
    with settings.override(threads=1), threadpool_limits(1):
        expected = table(network, "walking", starts, starts, 14_400, "pandana")
    with threadpool_limits(2):
        np.testing.assert_array_equal(table(network, "walking", starts, starts, 14_400, "pandana"), expected)


def test_without_pandana(town: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    network = odd_network(3)
    monkeypatch.setitem(sys.modules, "pandana", None)
    points = gpd.GeoSeries.from_xy(*random_points(network, 2, 0), crs="EPSG:4326")
    with pytest.raises(MissingDependencyError, match=r"pip install 'traveltime_lab\[pandana\]'"):
        time_filter(network, points, points, travel_time=60, transportation="walking", engine="pandana")


@pytest.mark.thorough
def test_edge_cases_with_restrictions(shared_data: Path) -> None:
    for name in ("no_left_turn", "via_way_restriction"):
        network = build_network(shared_data / "edge_cases" / f"{name}.osm.pbf")
        starts, ends = (
            snap_points(network.streets, *random_points(network, 40, seed), as_transportation("driving"), Snapping())
            for seed in (1, 2)
        )
        expected = table(network, "driving", starts, ends, 14_400, "dijkstra")
        assert_same(table(network, "driving", starts, ends, 14_400, "pandana"), expected)
