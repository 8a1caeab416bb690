"""Networks as objects: saved, loaded, pickled, immutable, and what they say about themselves."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.support.oracles import random_points
from tests.support.osm_files import osm_xml
from traveltime_lab import build_network, load_network, time_filter, time_map
from traveltime_lab.errors import InputError
from traveltime_lab.network.network import Network

# A block of streets around a pond, with a one-way, a restriction, a name beyond ASCII and a ferry.
NODES = {10 * row + column: (8.0 + 0.003 * column, 50.0 + 0.002 * row) for row in range(4) for column in range(4)}
NODES |= {90: (8.0031, 50.0021), 91: (8.0059, 50.0021), 92: (8.0059, 50.0039), 93: (8.0031, 50.0039)}
ROWS = [(100 + row, " ".join(str(10 * row + column) for column in range(4))) for row in range(4)]
COLUMNS = [(200 + column, " ".join(str(10 * row + column) for row in range(4))) for column in range(3)]
WAYS = [
    *((way, refs, f"highway=residential|name=Straße {way}") for way, refs in ROWS),
    *((way, refs, "highway=tertiary") for way, refs in COLUMNS),
    (203, "3 13 23 33", "highway=tertiary|oneway=yes"),
    (300, "90 91 92 93 90", "natural=water"),
    (301, "0 33", "route=ferry|duration=00:20"),
]
RESTRICTION = (900, "w200@from n0@via w100@to", "type=restriction restriction=no_left_turn")


@pytest.fixture(scope="module")
def block(tmp_path_factory: pytest.TempPathFactory) -> Network:
    path = tmp_path_factory.mktemp("block") / "block.osm"
    path.write_bytes(osm_xml(NODES, WAYS, [RESTRICTION], node_tags={11: "highway=traffic_signals"}))
    return build_network(path)


@pytest.fixture
def saved(block: Network, tmp_path: Path) -> Path:
    return block.save(tmp_path / "block.network")


def assert_equal(found: Network, expected: Network) -> None:
    """Everything that a network is made of, and the answers."""
    for item in dataclasses.fields(expected.tables):
        values = getattr(expected.tables, item.name)
        if isinstance(values, np.ndarray):
            other = getattr(found.tables, item.name)
            assert other.dtype == values.dtype, item.name
            np.testing.assert_array_equal(other, values, item.name)
    pd.testing.assert_frame_equal(found.tables.uses, expected.tables.uses)
    assert found.tables.names == expected.tables.names
    assert found.tables.report == expected.tables.report
    for name in ("fingerprint", "bounds", "timezone", "is_left_hand", "attribution", "frame", "crs", "n_edges"):
        assert getattr(found, name) == getattr(expected, name), name
    assert found.water.to_wkb() == expected.water.to_wkb()
    assert found.report() == expected.report()
    points = gpd.GeoSeries.from_xy(*random_points(expected, 12, 1), crs="EPSG:4326")
    for mode in ("walking", "driving+ferry"):
        ask = {"travel_time": 900, "transportation": mode}
        both = ["travel_time", "distance"]
        tables = [time_filter(n, points, points, properties=both, **ask) for n in (found, expected)]
        pd.testing.assert_frame_equal(*tables)
        shapes = [time_map(n, points[:2], **ask).geometry for n in (found, expected)]
        assert shapes[0].geom_equals_exact(shapes[1], 0.0).all()


def test_a_loaded_network_is_the_same(block, saved):
    assert block.water.tiles.size
    assert_equal(load_network(saved), block)
    assert_equal(load_network(str(saved)), block)


def test_a_network_goes_through_pickle(block, saved):
    block.road_graph("walking")
    assert_equal(pickle.loads(pickle.dumps(block)), block)
    assert_equal(pickle.loads(pickle.dumps(load_network(saved))), block)


def test_saving_twice_writes_the_same_bytes(block, saved, tmp_path):
    assert load_network(saved).save(tmp_path / "again.network").read_bytes() == saved.read_bytes()


def test_the_file_is_open_to_others(block, saved):
    """One Arrow table with a row; each column is a list: what pyarrow, pandas or duckdb read."""
    with pa.OSFile(str(saved), "rb") as source:
        table = pa.ipc.open_file(source).read_all()
    row = {name: table.column(name)[0].as_py() for name in ("node_lng", "edge_length_m", "names", "uses.highway")}
    assert row["node_lng"] == block.tables.node_lng.tolist()
    assert row["edge_length_m"] == block.tables.edge_length_m.tolist()
    assert "Straße 102" in row["names"]
    assert "ferry" in row["uses.highway"]


def test_arrays_are_views_of_what_was_read(saved):
    for is_verified in (True, False):
        assert not load_network(saved, verify=is_verified).tables.edge_length_m.flags.owndata


def test_arrays_cannot_be_changed(block, saved):
    for network in (block, load_network(saved)):
        for name in ("node_lng", "edge_from", "edge_length_m", "coord_lat", "restriction_edges"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(network.tables, name)[0] = 0
        with pytest.raises(dataclasses.FrozenInstanceError):
            network.tables.names = []


def test_fingerprints_tell_inputs_apart(block, tmp_path):
    def built(ways=WAYS, relations=(RESTRICTION,), **options):
        path = tmp_path / "other.osm"
        path.write_bytes(osm_xml(NODES, ways, relations, node_tags={11: "highway=traffic_signals"}))
        return build_network(path, **options).fingerprint

    others = {
        built(WAYS[:-1]),
        built(WAYS[:-2] + WAYS[-1:]),
        built(relations=()),
        built(timezone="Europe/Paris"),
        built(is_left_hand=True),
    }
    assert built() == block.fingerprint
    assert len(others | {block.fingerprint}) == 6


def test_what_it_says_about_itself(block):
    assert (block.n_nodes, block.timezone, block.is_left_hand) == (16, "Europe/Berlin", False)
    assert block.bounds == pytest.approx((8.0, 50.0, 8.009, 50.006))
    assert "16 nodes" in repr(block)
    assert block.crs.axis_info[0].unit_name == "metre"
    report = block.report()
    assert report["restrictions_mapped"] == 1
    assert set(report["modes"]) == {"walking", "cycling", "driving"}
    assert "timezone" in str(report)
    nodes, edges = block.nodes_frame(), block.edges_frame()
    assert (len(nodes), len(edges)) == (16, block.n_edges)
    assert nodes.crs == edges.crs == "EPSG:4326"
    lengths = edges.to_crs(block.crs).length
    assert lengths.to_numpy() == pytest.approx(edges["length_m"].to_numpy(), rel=1e-3)
    assert edges.geometry[0].coords[0] == nodes.geometry[edges["from_node"][0]].coords[0]


def test_graphs_are_made_once(block):
    assert block.road_graph("driving") is block.road_graph("driving")
    assert block.road_graph("driving").topology is block.road_graph("driving", metric="distance").topology
    assert block.road_graph("driving") is not block.road_graph("walking")


def test_unknown_zones_are_refused(tmp_path):
    path = tmp_path / "block.osm"
    path.write_bytes(osm_xml(NODES, WAYS))
    for zone in ("Berlin", "../etc/passwd", ""):
        with pytest.raises(InputError, match="IANA"):
            build_network(path, timezone=zone)
