"""Streets from osmnx graphs, frames and places: what is merged, kept, turned around and refused."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import geopandas as gpd
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import shapely

from tests.support import overpass
from traveltime_lab.crs import segment_lengths_m
from traveltime_lab.errors import (
    CoordinateError,
    CrsError,
    DataError,
    InputError,
    LimitError,
    MissingDependencyError,
    ServiceError,
)
from traveltime_lab.network.sample import sample_files
from traveltime_lab.readers.frames import tables_from_frames
from traveltime_lab.readers.osmnx import tables_from_osmnx
from traveltime_lab.readers.overpass import tables_from_place
from traveltime_lab.streets.tables import (
    ACCESS_NO,
    ACCESS_YES,
    NODE_BLOCKS_DRIVING,
    NODE_SIGNALS,
    USE_DTYPES,
    StreetTables,
)

pytestmark = pytest.mark.quick

# Tokyo: longitudes and latitudes cannot be swapped here.
LNG, LAT = 139.69, 35.69
STEP = 0.001


def graph_of(*edges: tuple[int, int, dict[str, Any]], crs: Any = "EPSG:4326", **attributes: Any) -> nx.MultiDiGraph:
    """Nodes 0 to 9 in a row, a thousandth of a degree apart."""
    graph = nx.MultiDiGraph(crs=crs, **attributes)
    for node in sorted({end for edge in edges for end in edge[:2]}):
        graph.add_node(node, x=LNG + node * STEP, y=LAT)
    for u, v, data in edges:
        graph.add_edge(u, v, **data)
    return graph


def use_of(tables: StreetTables, edge: int = 0) -> pd.Series:
    return tables.uses.iloc[tables.edge_use[edge]]


def assert_sound(tables: StreetTables) -> None:
    """Check everything `StreetTables` promises."""
    n_nodes, n_edges = len(tables.node_lng), len(tables.edge_from)
    assert tables.node_osm_id.dtype == np.int64
    assert tables.node_flags.dtype == np.uint16
    assert tables.edge_from.dtype == tables.edge_to.dtype == tables.edge_use.dtype == np.int32
    assert tables.coord_indptr.dtype == np.int64
    assert len({len(tables.node_osm_id), len(tables.node_lat), len(tables.node_flags), n_nodes}) == 1
    assert set(np.unique([tables.edge_from, tables.edge_to])) == set(range(n_nodes))
    assert len(tables.coord_indptr) == n_edges + 1
    assert tables.coord_indptr[-1] == len(tables.coord_lng) == len(tables.coord_lat)
    assert (np.diff(tables.coord_indptr) >= 2).all()
    first, last = tables.coord_indptr[:-1], tables.coord_indptr[1:] - 1
    np.testing.assert_array_equal(tables.coord_lng[first], tables.node_lng[tables.edge_from])
    np.testing.assert_array_equal(tables.coord_lat[last], tables.node_lat[tables.edge_to])
    assert list(tables.uses.columns) == list(USE_DTYPES)
    assert {column: str(dtype) for column, dtype in tables.uses.dtypes.items()} == USE_DTYPES
    assert tables.edge_use.max() < len(tables.uses)
    assert tables.names[0] == ""
    assert tables.edge_name.max() < len(tables.names)
    assert np.isfinite(tables.edge_length_m).all()


# osmnx graphs


def test_two_mirrored_edges_are_one_street() -> None:
    line = shapely.LineString([(LNG, LAT), (LNG + STEP / 2, LAT + STEP), (LNG + STEP, LAT)])
    way = {"osmid": 7, "highway": "residential", "oneway": False, "name": "Asagaya"}
    graph = graph_of(
        (0, 1, {**way, "reversed": False, "geometry": line}),
        (1, 0, {**way, "reversed": True, "geometry": line.reverse()}),
    )
    tables = tables_from_osmnx(graph)
    assert_sound(tables)
    assert len(tables.edge_from) == 1
    assert tables.report["mirrored_edges_merged"] == 1
    np.testing.assert_array_equal(shapely.get_coordinates(line), np.column_stack([tables.coord_lng, tables.coord_lat]))
    assert tables.edge_way_id[0] == 7
    assert tables.names[tables.edge_name[0]] == "Asagaya"
    assert use_of(tables).driving_kph_forward == use_of(tables).driving_kph_backward > 0
    expected = segment_lengths_m(tables.coord_lng, tables.coord_lat).sum()
    assert tables.edge_length_m[0] == pytest.approx(expected)


def from_frames(graph: nx.MultiDiGraph) -> StreetTables:
    """Read a graph by way of its tables of nodes and edges."""
    nodes = gpd.GeoDataFrame(
        {}, index=list(graph.nodes), geometry=[shapely.Point(d["x"], d["y"]) for _, d in graph.nodes(data=True)],
        crs=graph.graph["crs"],
    )  # fmt: skip
    rows = {(u, v, key): data for u, v, key, data in graph.edges(keys=True, data=True)}
    edges = pd.DataFrame(list(rows.values()), index=pd.MultiIndex.from_tuples(rows, names=["u", "v", "key"]))
    return tables_from_frames(nodes, edges)


@pytest.mark.parametrize("read", [tables_from_osmnx, from_frames])
def test_streets_keep_the_direction_they_are_drawn_in(read: Callable[[nx.MultiDiGraph], StreetTables]) -> None:
    way = {"osmid": 7, "highway": "residential", "oneway": False, "maxspeed:forward": "20", "maxspeed:backward": "50"}
    graph = graph_of((0, 1, {**way, "reversed": True}), (1, 0, {**way, "reversed": False}))
    tables = read(graph)
    assert tables.node_osm_id[tables.edge_from[0]] == 1
    assert use_of(tables).driving_kph_forward < use_of(tables).driving_kph_backward


@pytest.mark.parametrize("data", [{"reversed": True, "oneway": False}, {"oneway": "-1"}])
def test_a_street_against_its_way_is_turned_with_its_bends(data: dict[str, Any]) -> None:
    line = shapely.LineString([(LNG, LAT), (LNG + STEP / 4, LAT + STEP), (LNG + STEP / 2, LAT), (LNG + STEP, LAT)])
    tables = tables_from_osmnx(graph_of((0, 1, {"osmid": 7, "highway": "residential", "geometry": line, **data})))
    assert_sound(tables)
    assert tables.node_osm_id[[tables.edge_from[0], tables.edge_to[0]]].tolist() == [1, 0]
    found = np.column_stack([tables.coord_lng, tables.coord_lat])
    np.testing.assert_array_equal(found, shapely.get_coordinates(line)[::-1])


def test_parallel_streets_stay_apart() -> None:
    bent = shapely.LineString([(LNG, LAT), (LNG + STEP / 2, LAT + STEP), (LNG + STEP, LAT)])
    way = {"osmid": 7, "highway": "residential", "oneway": False}
    graph = graph_of(
        (0, 1, {**way}),
        (0, 1, {**way, "geometry": bent}),
        (1, 0, {**way}),
        (1, 0, {**way, "geometry": bent.reverse()}),
        (1, 0, {**way, "osmid": 8}),
        (0, 1, {**way, "osmid": 8}),
    )
    tables = tables_from_osmnx(graph)
    assert_sound(tables)
    assert sorted(tables.edge_way_id) == [7, 7, 8]


def test_loops_merge_with_their_mirror() -> None:
    loop = shapely.LineString([(LNG, LAT), (LNG + STEP, LAT), (LNG + STEP, LAT + STEP), (LNG, LAT)])
    way = {"osmid": 7, "highway": "residential", "oneway": False}
    tables = tables_from_osmnx(graph_of((0, 0, {**way, "geometry": loop}), (0, 0, {**way, "geometry": loop.reverse()})))
    assert_sound(tables)
    assert len(tables.edge_from) == 1
    assert tables.edge_from[0] == tables.edge_to[0]


@pytest.mark.pythons
@pytest.mark.parametrize("value", [True, "yes", "True", "1", 1, [True, False]])
def test_one_way(value: object) -> None:
    tables = tables_from_osmnx(graph_of((0, 1, {"osmid": 7, "highway": "residential", "oneway": value})))
    use = use_of(tables)
    assert use.driving_kph_forward > 0
    assert use.driving_kph_backward == 0
    assert use.walking_kph_forward == use.walking_kph_backward > 0


@pytest.mark.pythons
@pytest.mark.parametrize("value", [False, "no", "False", 0])
def test_two_way_although_one_edge_is_there(value: object) -> None:
    use = use_of(tables_from_osmnx(graph_of((0, 1, {"osmid": 7, "highway": "residential", "oneway": value}))))
    assert use.driving_kph_forward == use.driving_kph_backward > 0


def test_out_and_back_one_ways_stay_two_edges() -> None:
    way = {"osmid": 7, "highway": "residential", "oneway": True}
    tables = tables_from_osmnx(graph_of((0, 1, way), (1, 0, way)))
    assert len(tables.edge_from) == 2


def test_a_graph_without_oneway_means_its_directions() -> None:
    tables = tables_from_osmnx(
        graph_of((0, 1, {"highway": "residential"}), (1, 2, {"highway": "motorway"}), (2, 1, {"highway": "motorway"}))
    )
    assert len(tables.edge_from) == 2
    assert use_of(tables, 0).driving_kph_backward == 0
    assert use_of(tables, 1).driving_kph_backward > 0


def test_osmnx_all_oneway_keeps_tags_and_turned_the_nodes() -> None:
    graph = graph_of(
        (0, 1, {"osmid": 1, "highway": "residential"}),
        (1, 2, {"osmid": 2, "highway": "residential", "oneway": "yes"}),
        (2, 3, {"osmid": 3, "highway": "residential", "oneway": "-1"}),
        created_with="OSMnx 2.1.1",
    )
    tables = tables_from_osmnx(graph)
    assert use_of(tables, 0).driving_kph_backward > 0
    assert (use_of(tables, 1).driving_kph_forward > 0) and (use_of(tables, 1).driving_kph_backward == 0)
    # Cars go from 2 to 3; the way is drawn from 3 to 2.
    assert tables.node_osm_id[tables.edge_from[2]] == 3
    assert (use_of(tables, 2).driving_kph_forward == 0) and (use_of(tables, 2).driving_kph_backward > 0)


def test_an_edge_of_several_ways_allows_what_all_allow() -> None:
    edge = {"osmid": [5, 4], "highway": ["residential", "footway"], "oneway": False}
    mixed = use_of(tables_from_osmnx(graph_of((0, 1, edge), (1, 0, {**edge, "osmid": [4, 5]}))))
    assert mixed.driving_access == ACCESS_NO
    assert mixed.walking_access == ACCESS_YES
    speeds = {
        limit: use_of(
            tables_from_osmnx(
                graph_of((0, 1, {"osmid": 1, "highway": "residential", "maxspeed": limit, "oneway": False}))
            )
        ).driving_kph_forward
        for limit in ("20", "50")
    }
    edge = {"osmid": [4, 5], "highway": "residential", "maxspeed": ["50", "20"], "oneway": False}
    both = use_of(tables_from_osmnx(graph_of((0, 1, edge)))).driving_kph_forward
    assert both == pytest.approx(2 / (1 / speeds["20"] + 1 / speeds["50"]), rel=1e-6)


def test_node_tags_become_flags() -> None:
    graph = graph_of((0, 1, {"highway": "residential"}), (1, 2, {"highway": "residential"}))
    graph.nodes[0]["highway"] = "traffic_signals"
    graph.nodes[1]["barrier"] = "bollard"
    assert list(tables_from_osmnx(graph).node_flags) == [NODE_SIGNALS, NODE_BLOCKS_DRIVING, 0]


@pytest.mark.pythons
def test_projected_graph() -> None:
    ox = pytest.importorskip("osmnx")
    way = {"osmid": 7, "highway": "residential", "oneway": False}
    graph = graph_of((0, 1, way), (1, 0, way))
    plain, projected = tables_from_osmnx(graph), tables_from_osmnx(ox.project_graph(graph))
    assert len(projected.edge_from) == 1
    np.testing.assert_allclose(projected.node_lng, plain.node_lng, atol=1e-9)
    np.testing.assert_allclose(projected.node_lat, plain.node_lat, atol=1e-9)


def test_what_nobody_can_use_is_dropped_and_reported() -> None:
    graph = graph_of(
        (0, 1, {"highway": "residential"}), (1, 2, {"highway": "proposed"}), (1, 1, {"highway": "service"})
    )
    tables = tables_from_osmnx(graph)
    assert_sound(tables)
    assert (tables.report["edges_without_use"], tables.report["edges_without_length"]) == (1, 1)
    assert tables.report["nodes_without_edges"] == 1
    with pytest.raises(InputError, match="No edge is open to any mode"):
        tables_from_osmnx(graph_of((0, 1, {"highway": "proposed"})))


def test_graph_errors() -> None:
    good = (0, 1, {"highway": "residential"})
    with pytest.raises(CrsError, match="crs"):
        tables_from_osmnx(graph_of(good, crs=None))
    with pytest.raises(CrsError, match="Unknown CRS"):
        tables_from_osmnx(graph_of(good, crs="EPSG:nowhere"))
    with pytest.raises(InputError, match="no edges"):
        tables_from_osmnx(graph_of())
    graph = graph_of(good)
    graph.nodes[1]["y"] = float("nan")
    with pytest.raises(CoordinateError, match="number 1"):
        tables_from_osmnx(graph)
    graph.nodes[1]["y"] = 139.69
    with pytest.raises(CoordinateError, match="outside the globe"):
        tables_from_osmnx(graph)
    del graph.nodes[1]["y"]
    with pytest.raises(InputError, match="'y'"):
        tables_from_osmnx(graph)
    far = shapely.LineString([(LNG, LAT), (LNG + 1, LAT)])
    with pytest.raises(InputError, match="more than 50 m"):
        tables_from_osmnx(graph_of((0, 1, {"highway": "residential", "geometry": far})))


def test_a_graph_is_not_changed() -> None:
    graph = graph_of((0, 1, {"highway": "residential", "oneway": "-1"}), created_with="OSMnx 2.1.1")
    before = nx.node_link_data(graph, edges="links")
    tables_from_osmnx(graph)
    assert nx.node_link_data(graph, edges="links") == before


# Frames


def frames() -> tuple[gpd.GeoDataFrame, gpd.GeoDataFrame]:
    nodes = gpd.GeoDataFrame(
        index=[10, 20, 30], geometry=gpd.points_from_xy(LNG + STEP * np.arange(3), [LAT] * 3), crs="EPSG:4326"
    )
    edges = gpd.GeoDataFrame(
        {"u": [10, 20], "v": [20, 30], "highway": ["residential", "footway"], "oneway": ["yes", None], "osmid": [1, 2]},
        geometry=[shapely.LineString([(LNG, LAT), (LNG + STEP, LAT)]), None],
        crs="EPSG:4326",
    )
    return nodes, edges


def test_frames() -> None:
    nodes, edges = frames()
    copies = nodes.copy(deep=True), edges.copy(deep=True)
    tables = tables_from_frames(nodes, edges)
    assert_sound(tables)
    np.testing.assert_array_equal(tables.node_osm_id, [10, 20, 30])
    np.testing.assert_array_equal(tables.edge_way_id, [1, 2])
    assert use_of(tables, 0).driving_kph_backward == 0
    assert use_of(tables, 1).walking_kph_backward > 0
    pd.testing.assert_frame_equal(nodes, copies[0])
    pd.testing.assert_frame_equal(edges, copies[1])


@pytest.mark.pythons
def test_frames_in_any_crs_and_with_other_names() -> None:
    nodes, edges = frames()
    plain = tables_from_frames(nodes, edges)
    other = tables_from_frames(
        nodes.to_crs(6677), edges.to_crs(3857).rename(columns={"u": "from", "v": "to", "osmid": "way_id"})
    )
    np.testing.assert_allclose(other.node_lng, plain.node_lng, atol=1e-9)
    np.testing.assert_allclose(other.edge_length_m, plain.edge_length_m, rtol=1e-6)
    np.testing.assert_array_equal(other.edge_way_id, plain.edge_way_id)


def test_frames_with_names_for_nodes_and_no_lines() -> None:
    nodes, edges = frames()
    nodes.index = ["a", "b", "c"]
    edges["u"], edges["v"] = ["a", "b"], ["b", "c"]
    tables = tables_from_frames(nodes, pd.DataFrame(edges.drop(columns=["geometry", "osmid"])))
    assert_sound(tables)
    assert (tables.node_osm_id < 0).all()
    assert (tables.edge_way_id < 0).all()


def test_a_line_drawn_backwards_is_turned() -> None:
    nodes, edges = frames()
    edges.loc[0, "geometry"] = edges.geometry[0].reverse()
    tables = tables_from_frames(nodes, edges)
    assert_sound(tables)
    assert tables.node_osm_id[tables.edge_from[0]] == 10


def test_frames_agree_with_the_graph_they_come_from() -> None:
    ox = pytest.importorskip("osmnx")
    way = {"osmid": 7, "highway": "residential", "oneway": False, "length": 90.0}
    graph = graph_of((0, 1, way), (1, 0, way), (1, 2, {**way, "oneway": True, "osmid": 8}))
    nodes, edges = ox.graph_to_gdfs(graph)
    tables, expected = tables_from_frames(nodes, edges), tables_from_osmnx(graph)
    np.testing.assert_array_equal(tables.edge_from, expected.edge_from)
    np.testing.assert_array_equal(tables.edge_way_id, expected.edge_way_id)
    pd.testing.assert_frame_equal(tables.uses, expected.uses)
    np.testing.assert_array_equal(tables.edge_length_m, [90.0, 90.0])


def test_own_speeds_alone() -> None:
    nodes, edges = frames()
    edges = edges.drop(columns="highway").assign(walking_kph=[4.0, 5.0], driving_kph=[30.0, np.nan])
    tables = tables_from_frames(nodes, edges)
    first, second = use_of(tables, 0), use_of(tables, 1)
    assert (first.walking_kph_forward, first.walking_kph_backward) == (4.0, 4.0)
    assert (first.driving_kph_forward, first.driving_kph_backward) == (30.0, 0.0)  # oneway
    assert (first.cycling_access, second.driving_access) == (ACCESS_NO, ACCESS_NO)
    assert second.walking_access == ACCESS_YES


def test_own_speeds_over_tags() -> None:
    nodes, edges = frames()
    edges = edges.assign(driving_kph=[12.5, 10.0], walking_kph=[0.0, np.nan], oneway=["-1", None])
    tables = tables_from_frames(nodes, edges)
    first, second = use_of(tables, 0), use_of(tables, 1)
    assert (first.driving_kph_forward, first.driving_kph_backward) == (0.0, 12.5)
    assert first.walking_access == ACCESS_NO
    assert first.cycling_access == ACCESS_YES
    assert (second.driving_access, second.driving_kph_backward) == (ACCESS_YES, 10.0)
    assert second.walking_kph_forward > 0


def test_speeds_by_direction() -> None:
    nodes, edges = frames()
    edges = pd.DataFrame(
        {"driving_kph": [30.0, 50.0]},
        index=pd.MultiIndex.from_tuples([(10, 20, 0), (20, 10, 0)], names=["u", "v", "key"]),
    )
    use = use_of(tables_from_frames(nodes, edges))
    assert (use.driving_kph_forward, use.driving_kph_backward) == (30.0, 50.0)


def test_a_ferry_takes_its_duration_over_the_whole_way() -> None:
    nodes, edges = frames()
    edges = edges.drop(columns=["highway", "oneway"]).assign(route="ferry", duration="00:10", osmid=5, highway=None)
    tables = tables_from_frames(nodes, edges)
    assert use_of(tables, 0).is_ferry
    assert tables.edge_use[0] == tables.edge_use[1]
    hours = tables.edge_length_m.sum() / 1000 / use_of(tables).walking_kph_forward
    assert hours * 60 == pytest.approx(10.0, rel=1e-5)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda n, e: (n.set_crs(None, allow_override=True), e), CrsError, "nodes has no CRS"),
        (lambda n, e: (n, e.set_crs(None, allow_override=True)), CrsError, "edges has lines but no CRS"),
        (lambda n, e: (n.iloc[:0], e), InputError, "nodes is empty"),
        (lambda n, e: (n, e.iloc[:0]), InputError, "edges is empty"),
        (lambda n, e: (pd.DataFrame(n), e), InputError, "GeoDataFrame of points"),
        (lambda n, e: (n.set_axis([10, 20, 20]), e), InputError, r"repeats 1 ids, such as \[20\]"),
        (lambda n, e: (n.iloc[:2], e), InputError, r"1 of 2 edges refer to nodes .* such as \[30\]"),
        (lambda n, e: (n.reset_index(names="id"), e), InputError, "set_index"),
        (lambda n, e: (n, e.drop(columns="u")), InputError, "'u' and 'v'"),
        (lambda n, e: (n, e.drop(columns="highway")), InputError, "'highway' or one of"),
        (lambda n, e: (n, e.assign(driving_kph=-1.0)), LimitError, "driving_kph"),
        (lambda n, e: (n, e.assign(driving_kph=np.inf)), LimitError, "driving_kph"),
        (lambda n, e: (n, e.assign(driving_kph="fast")), InputError, "driving_kph"),
        (lambda n, e: (n, e.assign(length=[-5.0, 1.0])), LimitError, "length"),
        (lambda n, e: (n, e.assign(highway="proposed")), InputError, "No edge is open to any mode"),
        (lambda n, e: (n.set_geometry([None, *n.geometry[1:]]), e), CoordinateError, r"\[10\]"),
        (lambda n, e: (n.set_geometry([e.geometry.iloc[0]] * 3), e), InputError, "points only"),
        (lambda n, e: (n.translate(float("nan")).to_frame("geometry"), e), CoordinateError, "not finite|no geometry"),
        (lambda n, e: (n.to_crs(3857).set_crs(4326, allow_override=True), e), CoordinateError, "outside the globe"),
        (lambda n, e: (n.translate(0.1).to_frame("geometry"), e), InputError, "more than 50 m"),
        (lambda n, e: (n, e.set_geometry([n.geometry.iloc[0]] * 2)), InputError, "LineStrings"),
    ],
)
def test_frame_errors(change: Any, error: type[Exception], message: str) -> None:
    nodes, edges = change(*frames())
    with pytest.raises(error, match=message):
        tables_from_frames(nodes, edges)


# Places, through a small Overpass on this machine


@pytest.fixture(scope="module")
def extract() -> overpass.Extract:
    """The middle of the sample of Helsinki."""
    return overpass.Extract(sample_files("helsinki")["streets"], (24.9414, 60.1710), 0.007)


@pytest.fixture
def osmnx_server(extract: overpass.Extract, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    ox = pytest.importorskip("osmnx")
    with overpass.serve(extract) as url:
        monkeypatch.setattr(ox.settings, "overpass_url", f"{url}/api")
        monkeypatch.setattr(ox.settings, "nominatim_url", f"{url}/")
        monkeypatch.setattr(ox.settings, "overpass_rate_limit", False)
        monkeypatch.setattr(ox.settings, "use_cache", False)
        monkeypatch.setattr(ox.settings, "requests_timeout", 20)
        yield ox


@pytest.mark.thorough
def test_places(osmnx_server: Any, extract: overpass.Extract) -> None:
    ox = osmnx_server
    before = (ox.settings.all_oneway, list(ox.settings.useful_tags_way))
    by_box = tables_from_place(extract.bounds)
    assert_sound(by_box)
    assert (ox.settings.all_oneway, ox.settings.useful_tags_way) == before
    assert by_box.report["attribution"].startswith("© OpenStreetMap")
    # Every usable way is there, its metres counted once.
    drawn = {way["id"]: way for way in extract.ways}
    assert set(by_box.edge_way_id) <= set(drawn)
    metres = dict.fromkeys(set(by_box.edge_way_id), 0.0)
    for way, length in zip(by_box.edge_way_id, by_box.edge_length_m, strict=True):
        metres[way] += length
    for way, length in metres.items():
        at = [extract.nodes[ref] for ref in drawn[way]["nodes"] if ref in extract.nodes]
        lng, lat = np.array([node["lon"] for node in at]), np.array([node["lat"] for node in at])
        assert length == pytest.approx(segment_lengths_m(lng, lat).sum(), rel=1e-6, abs=1e-6)
    assert (by_box.node_flags & NODE_SIGNALS).any()
    # Contraflow cycling needs tags that osmnx does not keep by itself.
    contraflow = by_box.uses[(by_box.uses.cycling_kph_backward > 0) & (by_box.uses.driving_kph_forward > 0)]
    assert (contraflow.driving_kph_backward == 0).any()

    polygon = shapely.box(*extract.bounds)
    for place in (polygon, gpd.GeoSeries([polygon], crs=4326).to_crs(3067), overpass.PLACE):
        tables = tables_from_place(place)
        np.testing.assert_array_equal(np.sort(tables.edge_way_id), np.sort(by_box.edge_way_id))


@pytest.mark.parametrize("kind", [tuple, list, np.array])
def test_a_box_across_the_180th_meridian_is_two(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ox = pytest.importorskip("osmnx")
    asked = []

    def graph_from_bbox(box: tuple[float, ...], **_options: Any) -> nx.MultiDiGraph:
        asked.append(box)
        number, lng = len(asked), box[0]
        graph = nx.MultiDiGraph(crs="EPSG:4326")
        for node in range(2):
            graph.add_node(10 * number + node, x=lng + 0.01 * node, y=-17.0)
        graph.add_edge(10 * number, 10 * number + 1, osmid=number, highway="residential", oneway=False, length=1e3)
        return graph

    monkeypatch.setattr(ox, "graph_from_bbox", graph_from_bbox)
    tables = tables_from_place(kind([179.9, -17.1, -179.9, -16.9]))
    assert asked == [(179.9, -17.1, 180.0, -16.9), (-180.0, -17.1, -179.9, -16.9)]
    with pytest.raises(InputError, match="west and east seem to be exchanged"):
        tables_from_place(kind([9.2, 45.4, 9.1, 45.5]))
    assert sorted(tables.edge_way_id.tolist()) == [1, 2]


@pytest.mark.thorough
def test_points(osmnx_server: Any) -> None:
    by_name = tables_from_place({"lat": 60.1710, "lng": 24.9414}, distance=300)
    assert_sound(by_name)
    for place in (shapely.Point(24.9414, 60.1710), gpd.GeoSeries([shapely.Point(24.9414, 60.1710)], crs=4326)):
        np.testing.assert_array_equal(tables_from_place(place, distance=300).edge_way_id, by_name.edge_way_id)
    np.testing.assert_array_equal(tables_from_place(((60.1710, 24.9414), 300)).edge_way_id, by_name.edge_way_id)
    assert abs(by_name.node_lng.mean() - 24.9414) < 0.005
    assert len(tables_from_place(overpass.PLACE, distance=200).edge_from) > 0


@pytest.mark.thorough
def test_a_place_without_streets(osmnx_server: Any) -> None:
    with pytest.raises(DataError, match="no streets"):
        tables_from_place((0.0, 0.0, 0.01, 0.01))
    with pytest.raises(DataError, match="Nowhere"):
        tables_from_place("Nowhere at all")


def test_no_overpass(osmnx_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(osmnx_server.settings, "overpass_url", "http://127.0.0.1:9/api")
    with pytest.raises(ServiceError, match=r"Overpass at http://127\.0\.0\.1:9/api"):
        tables_from_place((24.93, 60.16, 24.94, 60.17))


@pytest.mark.parametrize(
    ("place", "options", "error"),
    [
        (shapely.Point(24.9, 60.2), {}, InputError),
        (shapely.Point(24.9, 60.2), {"distance": -5}, InputError),
        (shapely.Point(24.9, 60.2), {"distance": float("nan")}, InputError),
        ({"lat": 139.0, "lng": 35.0}, {"distance": 100}, CoordinateError),
        ((24.9, 60.2, 24.8, 60.1), {}, InputError),
        ((24.9, 60.2, 25.0, 60.2), {}, InputError),
        ((24.9, 60.1, 24.9, 60.2), {}, InputError),
        ((24.9, 160.2, 25.0, 160.3), {}, CoordinateError),
        ((24.9, float("nan"), 25.0, 60.3), {}, CoordinateError),
        ((24.9, 60.1, 25.0, 60.3), {"distance": 100}, InputError),
        (shapely.Polygon(), {}, InputError),
        (shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)]), {}, InputError),
        (gpd.GeoSeries([shapely.box(0, 0, 1, 1)]), {}, CrsError),
        ("", {}, InputError),
        (5, {}, InputError),
        ((1, 2, 3), {}, InputError),
    ],
)
def test_place_errors(place: Any, options: dict[str, Any], error: type[Exception]) -> None:
    pytest.importorskip("osmnx")
    with pytest.raises(error):
        tables_from_place(place, **options)


def test_osmnx_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "osmnx", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'traveltime_lab\[osmnx\]'"):
        tables_from_place("Helsinki")
