"""Networks as graphs of networkx, osmnx and pandana."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import geopandas as gpd
import numpy as np
import pytest
import shapely

import traveltime_lab as tl
from tests.support.osm_files import osm_xml
from traveltime_lab.kernels.street.nearest import TIE_M
from traveltime_lab.network.network import Network
from traveltime_lab.streets.tables import NODE_BLOCKS_WALKING, NODE_SIGNALS

nx = pytest.importorskip("networkx")

LOST = "the exported graph of driving is without"


def some_pairs(network: Network, graph: Any, count: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """
    Return junctions that can be left and reached, and at which a point is at this junction only.

    At a signal the wait depends on the street of the point. Where another street passes within the distance of ties, a
    point is at that street, too.
    """
    tables = network.tables
    lines = network.edges_frame().to_crs(network.crs).geometry.array
    points = network.nodes_frame().to_crs(network.crs).geometry.array
    node, edge = shapely.STRtree(lines).query(points, predicate="dwithin", distance=2 * TIE_M)
    passed = node[(tables.edge_from[edge] != node) & (tables.edge_to[edge] != node)]
    special = np.flatnonzero(tables.node_flags & (NODE_SIGNALS | NODE_BLOCKS_WALKING))
    main = max(nx.strongly_connected_components(graph), key=len)
    # Numbers beyond the nodes are the sides of nodes that cannot be passed.
    plain = sorted(set(range(network.n_nodes)) & main - {*passed.tolist(), *special.tolist()})
    assert len(plain) > 0.8 * network.n_nodes
    chosen = np.random.default_rng(5).choice(plain, (2, count))
    return chosen[0], chosen[1]


def our_times(network: Network, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    points = network.nodes_frame().geometry
    found = tl.time_filter(
        network, points.iloc[starts].reset_index(drop=True), points.iloc[ends].reset_index(drop=True), pairs="aligned",
        travel_time=14400, transportation="walking",
    )  # fmt: skip
    return found["travel_time"].to_numpy(float)


@pytest.mark.thorough
def test_times_are_those_of_the_library(helsinki: Network) -> None:
    graph = helsinki.to_networkx("walking")
    starts, ends = some_pairs(helsinki, graph)
    theirs = np.array([
        nx.bidirectional_dijkstra(graph, a, b, weight="travel_time")[0] for a, b in zip(starts, ends, strict=True)
    ])  # fmt: skip
    ours = our_times(helsinki, starts, ends)
    assert np.abs(ours - theirs).max() <= 0.5 + 1e-6
    assert theirs.max() > 600


@pytest.mark.slow
def test_pandana_has_the_same_times(helsinki: Network) -> None:
    pytest.importorskip("pandana")
    starts, ends = some_pairs(helsinki, helsinki.to_networkx("walking"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        theirs = helsinki.to_pandana("walking").shortest_path_lengths(starts, ends)
    assert np.abs(our_times(helsinki, starts, ends) - theirs).max() <= 0.5 + 1e-6


@pytest.mark.slow
def test_osmnx_reads_nodes_and_edges(helsinki: Network) -> None:
    ox = pytest.importorskip("osmnx")
    graph = helsinki.to_osmnx("cycling")
    nodes, edges = ox.graph_to_gdfs(graph)
    is_open = helsinki.road_graph("cycling").topology.is_open
    assert (nodes.crs, len(edges)) == ("EPSG:4326", is_open.sum())
    # Each row has the line of its edge, from the node where it begins to that where it ends.
    rows = helsinki.edges_frame().iloc[edges["edge"]]
    lines = np.where(edges["reversed"], shapely.reverse(rows.geometry.array), rows.geometry.array)
    assert shapely.equals_exact(edges.geometry.array, lines, 1e-9).all()
    assert np.array_equal(edges["osmid"], rows["way_id"])
    assert np.array_equal(edges["length"], rows["length_m"])
    for name, at in (("u", 0), ("v", -1)):
        points = nodes.loc[edges.index.get_level_values(name)].geometry.array
        assert shapely.equals_exact(points, shapely.get_point(edges.geometry.array, at), 1e-9).all()
    assert edges["oneway"].any() and not edges["oneway"].all()
    again = ox.graph_from_gdfs(nodes, edges, graph_attrs=graph.graph)
    assert (set(again.edges), again.graph["attribution"]) == (set(graph.edges), helsinki.attribution)
    assert ox.basic_stats(graph)["m"] == len(edges)
    streets = {frozenset((u, v)) | {("edge", edge)} for u, v, edge in graph.edges(data="edge")}
    assert nodes["street_count"].sum() == 2 * len(streets)
    # osmnx takes two one-way streets between the same nodes for one.
    assert (nodes["street_count"] >= nodes.index.map(ox.stats.count_streets_per_node(graph))).all()


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Network:
    """A one-way street with a wall that walkers cannot pass at node 3, and a signal at node 2."""
    nodes = {i: (0.5 + 0.001 * i, 0.5) for i in range(1, 5)}
    ways = [
        (7, "1 2", "highway=primary|oneway=yes"), (8, "2 3", "highway=residential"), (9, "3 4", "highway=residential"),
    ]  # fmt: skip
    path = tmp_path_factory.mktemp("street") / "street.osm"
    path.write_bytes(osm_xml(nodes, ways, node_tags={2: "highway=traffic_signals", 3: "barrier=wall"}))
    return tl.build_network(path, timezone="UTC")


def test_walls_and_closed_directions(street: Network) -> None:
    walking = street.to_networkx("walking")
    by_osm = {data["osm_id"]: label for label, data in walking.nodes(data=True) if data["osm_id"] != 3}
    assert sum(data["osm_id"] == 3 for _, data in walking.nodes(data=True)) == 2
    assert not nx.has_path(walking, by_osm[1], by_osm[4])
    assert nx.has_path(walking, by_osm[2], by_osm[1])
    with pytest.warns(UserWarning, match=LOST):
        driving = street.to_networkx("driving")
    assert not nx.has_path(driving, by_osm[2], by_osm[1])
    # A walker waits for the signal at the end of an edge.
    there, back = (walking.edges[by_osm[a], by_osm[b], 0] for a, b in ((1, 2), (2, 1)))
    assert there["travel_time"] > back["travel_time"] == pytest.approx(back["length"] * 3.6 / 5, abs=0.001)


def test_driving_warns_and_has_congestion(helsinki: Network) -> None:
    with pytest.warns(UserWarning, match=f"{LOST} [0-9]+ turn restrictions, the costs of turns"):
        free = helsinki.to_networkx("driving", "2026-03-02T03:00")
    with pytest.warns(UserWarning, match=LOST):
        busy = helsinki.to_networkx("driving", departure_time="2026-03-02T08:00")
    assert free.size("travel_time") < busy.size("travel_time")
    assert free.size("length") == busy.size("length")


def test_closed_streets_are_left_out(street: Network) -> None:
    closed = street.with_changes(tl.CloseStreets(ways=8, modes="walking"))
    assert {data["osmid"] for *_, data in closed.to_networkx("walking").edges(data=True)} == {7, 9}


@pytest.mark.parametrize("name", ["to_networkx", "to_osmnx", "to_pandana"])
def test_errors(street: Network, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    export = getattr(street, name)
    with pytest.raises(tl.errors.ModeError, match="'public_transport' needs a timetable"):
        export("public_transport")
    everywhere = gpd.GeoSeries([shapely.box(0, 0, 1, 1)], crs=4326)
    shut = street.with_changes(tl.CloseStreets(everywhere, modes="walking"))
    with pytest.raises(tl.errors.ModeError, match="no street of the network is open to 'walking'"):
        getattr(shut, name)("walking")
    missing, extra = ("pandana", "pandana") if name == "to_pandana" else ("networkx", "osmnx")
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(tl.errors.MissingDependencyError, match=rf"{name} needs {missing}: .*\[{extra}\]"):
        export("walking")
