"""Reading OpenStreetMap files: small streets written out in the test, and the real extracts where they are present."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from tests.support.osm_files import Relation, Way, osm_xml
from traveltime_lab import crs
from traveltime_lab._arrays import arrays_by_field
from traveltime_lab.crs import segment_lengths_m
from traveltime_lab.errors import DataError, MissingFileError
from traveltime_lab.readers.osm import edges as edges_module
from traveltime_lab.readers.osm import extract, places, street_ways
from traveltime_lab.readers.osm import nodes as nodes_module
from traveltime_lab.readers.osm.edges import split_at_junctions, unbroken_runs
from traveltime_lab.readers.osm.extract import Ways
from traveltime_lab.readers.osm.nodes import NodePositions
from traveltime_lab.readers.osm.streets import read_osm
from traveltime_lab.streets.tables import NODE_BLOCKS_DRIVING, NODE_CROSSING, NODE_SIGNALS, USE_DTYPES, StreetTables

pytestmark = pytest.mark.quick

# Nodes 1 to 9 on a grid with steps of 0.001 degrees, numbered like a telephone, 1 in the north-west.
GRID = {3 * row + column + 1: (column * 0.001, 0.002 - row * 0.001) for row in range(3) for column in range(3)}


@pytest.fixture(autouse=True)
def read_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read nodes as those of large files, with the index of libosmium; other tests have small files."""
    monkeypatch.setattr(extract, "_SMALL", 0)


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., StreetTables]:
    """Read streets written out in a test."""

    def read_streets(ways: Iterable[Way], relations: Iterable[Relation] = (), **options: Any) -> StreetTables:
        path = tmp_path / "streets.osm"
        path.write_bytes(osm_xml(options.pop("nodes", GRID), ways, relations, **options))
        return read_osm(path)

    return read_streets


def edges_of(tables: StreetTables) -> list[str]:
    """Return edges as "way: node-node"."""
    ids = tables.node_osm_id
    rows = zip(tables.edge_way_id, ids[tables.edge_from], ids[tables.edge_to], strict=True)
    return sorted(f"{way}: {a}-{b}" for way, a, b in rows)


def restrictions_of(tables: StreetTables) -> list[str]:
    """Return restrictions as "no 4>5>8": the nodes along the directed edges."""
    ids = tables.node_osm_id
    texts = []
    for number, is_only in enumerate(tables.restriction_only):
        row = slice(*tables.restriction_indptr[number : number + 2])
        nodes: list[int] = []
        for directed in tables.restriction_edges[row].tolist():
            ends = [ids[tables.edge_from[directed // 2]], ids[tables.edge_to[directed // 2]]]
            ends = ends[::-1] if directed % 2 else ends
            assert not nodes or nodes[-1] == ends[0], "directed edges must follow each other"
            nodes += ends if not nodes else ends[1:]
        texts.append(f"{'only' if is_only else 'no'} {'>'.join(map(str, nodes))}")
    return sorted(texts)


def check_invariants(tables: StreetTables) -> None:
    """Assert what `StreetTables` promises."""
    n_nodes, n_edges = len(tables.node_osm_id), len(tables.edge_from)
    assert tables.node_lng.shape == tables.node_lat.shape == tables.node_flags.shape == (n_nodes,)
    assert tables.node_flags.dtype == np.uint16
    assert len(np.unique(tables.node_osm_id)) == n_nodes
    for column in (tables.edge_from, tables.edge_to, tables.edge_use, tables.edge_name):
        assert column.dtype == np.int32
        assert column.shape == (n_edges,)
        assert column.min() >= 0
    assert max(tables.edge_from.max(), tables.edge_to.max()) == n_nodes - 1
    assert len(np.unique(np.concatenate([tables.edge_from, tables.edge_to]))) == n_nodes, "every node has an edge"
    assert tables.edge_name.max() < len(tables.names)
    assert tables.names[0] == ""
    assert len(set(tables.names)) == len(tables.names)
    assert list(tables.uses.columns) == list(USE_DTYPES)
    for column, dtype in USE_DTYPES.items():
        assert tables.uses[column].dtype == dtype
    assert sorted(np.unique(tables.edge_use)) == list(range(len(tables.uses)))
    assert np.isfinite(tables.edge_length_m).all()
    assert (tables.edge_length_m > 0).all()
    first, last = tables.coord_indptr[:-1], tables.coord_indptr[1:]
    assert (last - first >= 2).all()
    assert last[-1] == len(tables.coord_lng) == len(tables.coord_lat)
    for ends, nodes in ((first, tables.edge_from), (last - 1, tables.edge_to)):
        np.testing.assert_array_equal(tables.coord_lng[ends], tables.node_lng[nodes])
        np.testing.assert_array_equal(tables.coord_lat[ends], tables.node_lat[nodes])
    for edge in np.linspace(0, n_edges - 1, 50, dtype=int):
        line = slice(*tables.coord_indptr[edge : edge + 2])
        length_m = segment_lengths_m(tables.coord_lng[line], tables.coord_lat[line]).sum()
        assert tables.edge_length_m[edge] == pytest.approx(max(length_m, 0.01), abs=1e-5)
    assert tables.restriction_indptr[-1] == len(tables.restriction_edges)
    assert len(tables.restriction_indptr) == len(tables.restriction_only) + 1
    if len(tables.restriction_edges):
        assert tables.restriction_edges.max() < 2 * n_edges
        heads = np.where(tables.restriction_edges % 2, tables.edge_from[tables.restriction_edges // 2], -1)
        heads = np.where(heads < 0, tables.edge_to[tables.restriction_edges // 2], heads)
        tails = np.where(
            tables.restriction_edges % 2,
            tables.edge_to[tables.restriction_edges // 2],
            tables.edge_from[tables.restriction_edges // 2],
        )
        inside = np.ones(len(tails), bool)
        inside[tables.restriction_indptr[:-1]] = False
        np.testing.assert_array_equal(tails[inside], heads[np.flatnonzero(inside) - 1])


class TestEdges:
    def test_a_way_is_cut_where_another_passes(self, read):
        tables = read([(10, "4 5 6", "highway=primary"), (11, "2 5 8", "highway=service")])
        check_invariants(tables)
        assert edges_of(tables) == ["10: 4-5", "10: 5-6", "11: 2-5", "11: 5-8"]
        assert tables.edge_length_m[:2] == pytest.approx(111.3, abs=0.1)

    def test_bends_stay_inside_an_edge(self, read):
        tables = read([(10, "1 2 5 6 9", "highway=primary")])
        assert edges_of(tables) == ["10: 1-9"]
        assert tables.coord_lng.tolist() == pytest.approx([0, 0.001, 0.001, 0.002, 0.002])
        assert tables.edge_length_m[0] == pytest.approx(443.7, abs=0.2)

    def test_ways_stay_apart_even_where_they_continue_each_other(self, read):
        ways = [(10, "1 2", "highway=primary"), (11, "2 3", "highway=primary")]
        assert edges_of(read(ways)) == ["10: 1-2", "11: 2-3"]

    def test_a_way_nobody_may_use_cuts_nothing(self, read):
        tables = read([(10, "4 5 6", "highway=primary"), (11, "2 5 8", "highway=proposed")])
        assert edges_of(tables) == ["10: 4-6"]
        assert tables.report["ways_dropped_unusable"] == 1

    def test_a_closed_way_is_a_loop(self, read):
        tables = read([(10, "1 2 5 4 1", "highway=residential")])
        check_invariants(tables)
        assert edges_of(tables) == ["10: 1-1"]

    def test_a_way_that_crosses_itself_is_cut_there(self, read):
        assert edges_of(read([(10, "4 5 6 3 2 5 8", "highway=residential")])) == ["10: 4-5", "10: 5-5", "10: 5-8"]

    def test_parallel_edges_are_kept(self, read):
        ways = [(10, "1 2 3", "highway=primary"), (11, "1 5 3", "highway=primary")]
        assert edges_of(read(ways)) == ["10: 1-3", "11: 1-3"]

    def test_signals_and_bollards_cut_and_crossings_do_not(self, read):
        ways = [(10, "1 2 3", "highway=primary"), (11, "4 5 6", "highway=primary"), (12, "7 8 9", "highway=path")]
        node_tags = {2: "highway=traffic_signals", 5: "highway=crossing", 8: "barrier=bollard"}
        tables = read(ways, node_tags=node_tags)
        assert edges_of(tables) == ["10: 1-2", "10: 2-3", "11: 4-6", "12: 7-8", "12: 8-9"]
        flags = dict(zip(tables.node_osm_id.tolist(), tables.node_flags.tolist(), strict=True))
        assert (flags[2], flags[8]) == (NODE_SIGNALS, NODE_BLOCKS_DRIVING)
        assert 5 not in flags

    def test_flags_of_junctions_add_up(self, read):
        node_tags = {5: "highway=crossing barrier=bollard"}
        tables = read([(10, "4 5 6", "highway=primary"), (11, "2 5", "highway=path")], node_tags=node_tags)
        assert tables.node_flags[tables.node_osm_id == 5].tolist() == [NODE_CROSSING | NODE_BLOCKS_DRIVING]

    def test_missing_nodes_cut_a_way(self, read):
        ways = [(10, "1 2 77 78 5 6 9 79", "highway=primary")]
        tables = read([*ways, (11, "80 1", "highway=primary"), (12, "3 81", "highway=primary")])
        check_invariants(tables)
        assert edges_of(tables) == ["10: 1-2", "10: 5-9"]
        assert tables.report["missing_node_references"] == 5
        assert tables.report["ways_cut_at_missing_nodes"] == 1
        assert tables.report["ways_dropped_missing_nodes"] == 2
        assert tables.report["ways_dropped_degenerate"] == 0

    def test_repeated_and_lonely_nodes(self, read):
        ways = [(10, "1 1 2 2", "highway=primary"), (11, "3", "highway=primary"), (12, "4 4", "highway=primary")]
        tables = read([*ways, (13, "", "highway=primary")])
        assert edges_of(tables) == ["10: 1-2"]
        assert tables.coord_indptr.tolist() == [0, 2]
        assert tables.report["ways_dropped_degenerate"] == 3

    def test_two_nodes_at_one_point_stay_connected(self, read):
        nodes = {**GRID, 20: GRID[5]}
        ways = [(10, "4 5", "highway=path"), (11, "5 20", "highway=steps"), (12, "20 6", "highway=path")]
        tables = read(ways, nodes=nodes)
        check_invariants(tables)
        assert edges_of(tables) == ["10: 4-5", "11: 5-20", "12: 20-6"]
        assert tables.edge_length_m[1] == 0.01

    def test_names_fall_back_to_numbers(self, read):
        ways = [
            (10, "1 2", "highway=primary|name=Rua 7, Bairro = 50% & Ãé|ref=BR 1"),
            (11, "2 3", "highway=primary|ref=BR 1"),
            (12, "3 6", "highway=primary|access=yes"),
        ]
        tables = read(ways)
        assert [tables.names[idx] for idx in tables.edge_name] == ["Rua 7, Bairro = 50% & Ãé", "BR 1", ""]

    def test_equal_interpretations_share_a_row(self, read):
        ways = [
            (10, "1 2", "highway=primary|lanes=2"),
            (11, "2 3", "highway=primary|lit=yes"),
            (12, "3 6", "highway=primary|oneway=yes"),
        ]
        tables = read(ways)
        assert len(tables.uses) == 2
        assert tables.edge_use.tolist() == [0, 0, 1]

    def test_negative_identities_of_editors(self, read):
        nodes = {-1: (0.0, 0.0), -2: (0.001, 0.0), 3: (0.002, 0.0)}
        assert edges_of(read([(-10, "-1 -2 3", "highway=primary")], nodes=nodes)) == ["-10: -1-3"]

    def test_positions_off_the_globe_are_missing(self, read):
        nodes = {1: (0.0, 0.0), 2: (0.001, 0.0), 3: (200.0, 95.0)}
        tables = read([(10, "1 2 3", "highway=primary")], nodes=nodes)
        assert edges_of(tables) == ["10: 1-2"]

    def test_lines_across_the_180th_meridian_are_short(self, read):
        nodes = {1: (179.9995, -16.0), 2: (-179.9995, -16.0)}
        tables = read([(10, "1 2", "highway=primary")], nodes=nodes)
        assert tables.edge_length_m[0] == pytest.approx(107.0, abs=0.1)
        assert tables.coord_lng.tolist() == [179.9995, -179.9995]


def split_slowly(ways: list[list[int]], known: set[int], must_split: set[int]) -> list[tuple[int, tuple[int, ...]]]:
    """Cut ways into (way, nodes) one node at a time: the obviously right twin of the array version."""
    runs: list[tuple[int, list[int]]] = []
    for way, refs in enumerate(ways):
        run: list[int] = []
        for ref in [*refs, None]:
            if ref in known:
                if not run or run[-1] != ref:
                    run.append(ref)
            else:
                runs.append((way, run))
                run = []
    runs = [(way, run) for way, run in runs if len(run) > 1]
    passes = [node for _, run in runs for node in run]
    pieces = []
    for way, run in runs:
        piece = [run[0]]
        for number, node in enumerate(run[1:], start=1):
            piece.append(node)
            if number == len(run) - 1 or passes.count(node) > 1 or node in must_split:
                pieces.append((way, tuple(piece)))
                piece = [node]
    return pieces


@given(
    st.lists(st.lists(st.integers(1, 12), max_size=9), max_size=8),
    st.sets(st.integers(1, 12), min_size=1),
    st.sets(st.integers(1, 12)),
)
def test_cutting_agrees_with_the_slow_twin(refs, known, must_split):
    ids = np.array(sorted(known))
    positions = NodePositions(ids, ids * 0.001, ids % 3 * 0.001)
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in refs], dtype=np.int64)])
    flat = np.array([ref for row in refs for ref in row], np.int64)
    ways = Ways(np.arange(len(refs)), [""] * len(refs), indptr, flat)
    runs = unbroken_runs(ways, positions)
    kept = [any(way == each for each, _ in split_slowly(refs, known, set())) for way in range(len(refs))]
    missing = [not known.issuperset(row) for row in refs]
    assert runs.report == {
        "missing_node_references": sum(ref not in known for row in refs for ref in row),
        "ways_cut_at_missing_nodes": sum(cut and way for cut, way in zip(missing, kept, strict=True)),
        "ways_dropped_missing_nodes": sum(cut and not way for cut, way in zip(missing, kept, strict=True)),
        "ways_dropped_degenerate": sum(not cut and not way for cut, way in zip(missing, kept, strict=True)),
    }
    edges = split_at_junctions(runs, positions, np.isin(ids, list(must_split)))
    found = []
    for edge, way in enumerate(edges.way.tolist()):
        line = slice(*edges.coord_indptr[edge : edge + 2])
        nodes = tuple(np.rint(edges.coord_lng[line] * 1000).astype(int).tolist())
        assert (nodes[0], nodes[-1]) == (ids[edges.from_node[edge]], ids[edges.to_node[edge]])
        assert edges.length_m[edge] == pytest.approx(
            segment_lengths_m(edges.coord_lng[line], edges.coord_lat[line]).sum()
        )
        found.append((way, nodes))
    assert found == split_slowly(refs, known, must_split)


# A bay of 5.6 km and one of half of that, with a pier between them; 6 is on the far shore.
BAY = {1: (0.0, 0.0), 2: (0.05, 0.0), 3: (0.051, 0.0), 4: (0.076, 0.0), 5: (0.076, 0.001), 6: (0.08, 0.0)}


class TestAreasAndFerries:
    def test_outlines_of_pedestrian_areas_are_walkable(self, read):
        relation = (90, "w20@outer w21@outer w22@inner", "type=multipolygon highway=pedestrian")
        ways = [(10, "4 1", "highway=primary"), (20, "1 2 3", "source=x"), (21, "3 6 5 1", ""), (22, "4 5 8 4", "")]
        tables = read(ways, [relation])
        assert edges_of(tables) == ["10: 4-1", "20: 1-3", "21: 3-1"]
        outline = tables.uses.iloc[tables.edge_use[1]]
        assert (outline.highway, outline.walking_kph_forward, outline.driving_kph_forward) == ("pedestrian", 5, 0)
        assert tables.report["pedestrian_area_outlines"] == 2

    def test_a_ferry_takes_its_duration(self, read):
        nodes = {1: (0.0, 0.0), 2: (0.05, 0.0), 3: (0.1, 0.0), 4: (0.05, 0.01)}
        ways = [(10, "1 2 3", "route=ferry duration=00:30"), (11, "2 4", "highway=service")]
        tables = read(ways, nodes=nodes)
        assert edges_of(tables) == ["10: 1-2", "10: 2-3", "11: 2-4"]
        seconds = tables.edge_length_m[:2] / (tables.uses.walking_kph_forward[tables.edge_use[:2]] / 3.6)
        assert seconds.sum() == pytest.approx(1800, rel=1e-6)

    def test_a_ferry_that_leaves_the_file_does_not(self, read):
        tables = read([(10, "1 2 77", "route=ferry duration=00:30")])
        assert tables.uses.walking_kph_forward.tolist() == [5]

    FERRY = "type=route|route=ferry|name=Line 1|foot=yes|motor_vehicle=yes|duration=00:30"

    def ferries(self, tables: StreetTables) -> dict[int, Any]:
        rows = tables.uses.iloc[tables.edge_use]
        return dict(zip(tables.edge_way_id.tolist(), rows.itertuples(index=False), strict=True))

    def test_a_relation_makes_its_untagged_ways_ferries(self, read):
        ways = [
            (10, "1 2", ""),
            (11, "2 3", "man_made=pier"),
            (12, "3 4", "source=chart|motor_vehicle=no"),
            (13, "4 5", "highway=service"),
            (14, "4 5 6 4", "natural=beach"),
            (15, "4 6", "building=yes"),
            (16, "5 6", ""),
        ]
        members = "w10@ w11@ w12@ w13@ w14@ n4@stop w15@platform w16@platform_exit"
        tables = read(ways, [(90, members, self.FERRY)], nodes=BAY)
        check_invariants(tables)
        uses = self.ferries(tables)
        assert {way for way, use in uses.items() if use.is_ferry} == {10, 12}
        assert set(uses) == {10, 11, 12, 13}
        assert (uses[10].driving_access, uses[12].driving_access) == (1, 0), "a way's own tags win"
        assert tables.names[tables.edge_name[tables.edge_way_id == 10][0]] == "Line 1"
        assert tables.report["ferry_ways_from_relations"] == 2
        length_m = dict(zip(tables.edge_way_id.tolist(), tables.edge_length_m.tolist(), strict=True))
        kph = (length_m[10] + length_m[12]) / 1800 * 3.6
        assert [uses[way].walking_kph_forward for way in (10, 12)] == pytest.approx([kph, kph], rel=1e-6)
        assert kph == pytest.approx(16.7, abs=0.1)

    def test_without_the_relation_they_are_nothing(self, read):
        tables = read([(10, "1 2", ""), (13, "4 5", "highway=service")], nodes=BAY)
        assert set(self.ferries(tables)) == {13}

    def test_a_duration_of_a_way_beats_that_of_its_relation(self, read):
        ways = [(10, "1 2", "route=ferry duration=00:10"), (12, "3 4", "route=ferry")]
        uses = self.ferries(read(ways, [(90, "w10@ w12@", self.FERRY)], nodes=BAY))
        assert uses[10].walking_kph_forward == pytest.approx(5.566 * 6, abs=0.01)
        assert uses[12].walking_kph_forward == pytest.approx((5.566 + 2.783) * 2, abs=0.01)

    def test_a_duration_for_ways_not_in_the_file_is_not_used(self, read):
        ways = [(10, "1 2", "route=ferry"), (12, "3 4", "route=ferry")]
        uses = self.ferries(read(ways, [(90, "w10@ w12@ w99@", self.FERRY)], nodes=BAY))
        assert {use.walking_kph_forward for use in uses.values()} == {5}

    def test_roles_say_which_way_a_ferry_goes(self, read):
        ways = [(10, "1 2", ""), (12, "4 3", ""), (13, "2 3", "highway=path")]
        uses = self.ferries(read(ways, [(90, "w10@forward w12@backward", self.FERRY)], nodes=BAY))
        assert (uses[10].walking_kph_forward > 0, uses[10].walking_kph_backward > 0) == (True, False)
        assert (uses[12].walking_kph_forward > 0, uses[12].walking_kph_backward > 0) == (False, True)
        assert uses[10].walking_kph_forward == pytest.approx(5.566 * 2, abs=0.01), "the time is that of one way"

    def test_buses_are_no_ferries(self, read):
        ways = [(10, "1 2", ""), (13, "4 5", "highway=service")]
        assert set(self.ferries(read(ways, [(90, "w10@", "type=route route=bus")], nodes=BAY))) == {13}


class TestRestrictions:
    CROSS = (
        (10, "4 5", "highway=primary"),
        (11, "5 6", "highway=primary"),
        (12, "2 5", "highway=primary"),
        (13, "5 8", "highway=primary"),
    )

    def mapped(self, read, members, kind="no_left_turn", ways=CROSS, **tags):
        text = "|".join([f"restriction={kind}", "type=restriction", *(f"{k}={v}" for k, v in tags.items())])
        tables = read(ways, [(90, members, text)])
        check_invariants(tables)
        return restrictions_of(tables), tables.report["restrictions_dropped"]

    def test_via_a_node(self, read):
        assert self.mapped(read, "w10@from n5@via w12@to") == (["no 4>5>2"], {})
        assert self.mapped(read, "w12@from n5@via w10@to", "only_right_turn") == (["only 2>5>4"], {})

    def test_via_a_node_that_no_street_has(self, read):
        """Nodes 3 and 77: one is on no way, one is not in the file."""
        for via in (3, 77):
            assert self.mapped(read, f"w10@from n{via}@via w12@to")[0] == []

    def test_the_nearest_piece_of_a_way_is_meant(self, read):
        ways = [
            (10, "1 4 5", "highway=primary"),
            (11, "4 7", "highway=primary"),
            (12, "5 8 9", "highway=primary"),
            (13, "5 6", "highway=primary"),
            (14, "8 7", "highway=primary"),
        ]
        assert self.mapped(read, "w10@from n5@via w12@to", ways=ways)[0] == ["no 4>5>8"]

    def test_no_u_turn_goes_back_the_same_edge(self, read):
        assert self.mapped(read, "w10@from n5@via w10@to", "no_u_turn") == (["no 4>5>4"], {})

    def test_via_a_way(self, read):
        ways = [
            (10, "1 4", "highway=primary"),
            (11, "4 5 6", "highway=primary"),
            (12, "5 8", "highway=primary"),
            (13, "6 3", "highway=primary"),
        ]
        assert self.mapped(read, "w10@from w11@via w13@to", "no_u_turn", ways) == (["no 1>4>5>6>3"], {})
        assert self.mapped(read, "w12@from w11@via w13@to", "no_u_turn", ways) == (["no 8>5>6>3"], {})

    def test_via_two_ways(self, read):
        ways = [
            (10, "1 4", "highway=primary"),
            (11, "4 5", "highway=primary"),
            (12, "5 6", "highway=primary"),
            (13, "6 3", "highway=primary"),
        ]
        assert self.mapped(read, "w10@from w11@via w12@via w13@to", "only_left_turn", ways)[0] == ["only 1>4>5>6>3"]
        assert self.mapped(read, "w10@from w12@via w11@via w13@to", "only_left_turn", ways)[0] == ["only 1>4>5>6>3"]

    def test_one_way_streets_decide_the_direction(self, read):
        ways = [(10, "4 5", "highway=primary oneway=-1"), *self.CROSS[1:]]
        reasons = {"not_drivable_or_not_connected": 1}
        assert self.mapped(read, "w10@from n5@via w12@to", ways=ways) == ([], reasons)
        assert self.mapped(read, "w12@from n5@via w10@to", ways=ways) == (["no 2>5>4"], {})

    def test_no_entry_from_several_ways(self, read):
        found, _ = self.mapped(read, "w10@from w12@from n5@via w11@to", "no_entry")
        assert found == ["no 2>5>6", "no 4>5>6"]
        found, _ = self.mapped(read, "w10@from n5@via w11@to w13@to", "no_exit")
        assert found == ["no 4>5>6", "no 4>5>8"]

    @pytest.mark.slow
    def test_of_several_ways_the_one_at_the_node_is_meant(self, read):
        """Pieces of a street before and behind the junction are members, too, as in real relations."""
        ways = [*self.CROSS, (14, "1 4", "highway=primary"), (15, "2 3", "highway=primary")]
        for members in (
            "w14@from w10@from n5@via w12@to",
            "w10@from w14@from n5@via w12@to",
            "w10@from n5@via w12@to w15@to",
            "w14@from w10@from n5@via w15@to w12@to",
            "w10@from w10@from n5@via w12@to",
            "w10@from w99@from n5@via w12@to",  # 99 is outside of the file
        ):
            assert self.mapped(read, members, ways=ways) == (["no 4>5>2"], {}), members
        # One-way streets away from the junction are not where one comes from.
        ways = [*self.CROSS[:1], (11, "5 6", "highway=primary oneway=yes"), *self.CROSS[2:]]
        assert self.mapped(read, "w10@from w11@from n5@via w12@to", ways=ways) == (["no 4>5>2"], {})

    def test_of_several_ways_the_one_at_the_via_way_is_meant(self, read):
        ways = [
            *self.CROSS,
            *((way, nodes, "highway=primary") for way, nodes in ((14, "1 4"), (15, "2 3"), (16, "3 6"))),
        ]
        found, reasons = self.mapped(read, "w14@from w10@from w12@via w15@to w16@to", "no_left_turn", ways)
        assert (found, reasons) == (["no 4>5>2>3"], {})

    def test_a_via_node_in_the_middle_of_a_way_cuts_it(self, read):
        ways = [(10, "4 5", "highway=primary"), (11, "5 6", "highway=primary")]
        assert self.mapped(read, "w10@from n5@via w11@to", "no_straight_on", ways) == (["no 4>5>6"], {})

    @pytest.mark.parametrize(
        ("members", "tags", "reason"),
        [
            ("w10@from n5@via w12@to", {"except": "bus;motorcar"}, "cars_exempt"),
            ("w10@from n5@via w12@to", {"kind": "no_idea"}, "unknown_kind"),
            ("w10@from n5@via w12@to", {"day_on": "Mo"}, "condition_not_understood"),
            ("w10@from n5@via w99@to", {}, "way_not_in_file_or_unusable"),
            ("w10@from n6@via w12@to", {}, "not_drivable_or_not_connected"),
            ("w10@from w12@to", {}, "incomplete_relation"),
            ("w10@from n5@via", {}, "incomplete_relation"),
            ("w10@from n5@via n6@via w12@to", {}, "incomplete_relation"),
            ("w10@from w11@from n5@via w12@to", {}, "ambiguous_members"),
            ("w10@from w12@to" + " w11@via" * 9, {}, "too_many_via_ways"),
        ],
    )
    def test_what_cannot_be_mapped_is_counted(self, read, members, tags, reason):
        assert self.mapped(read, members, **tags) == ([], {reason: 1})

    def test_restrictions_of_other_vehicles(self, read):
        members = "w10@from n5@via w12@to"
        relations = [
            (90, members, "type=restriction|restriction:hgv=no_left_turn"),
            (91, members, "type=restriction|restriction:hgv:conditional=no_left_turn @ (07:00-09:00)"),
            (92, members, "type=restriction|restriction:motorcar=no_left_turn"),
        ]
        tables = read(self.CROSS, relations)
        assert restrictions_of(tables) == ["no 4>5>2"]
        assert tables.report["restrictions_read"] == 3
        assert tables.report["restrictions_dropped"] == {"other_vehicles": 2}

    def test_restrictions_with_hours(self, read):
        members = "w10@from n5@via w12@to"
        relations = [
            (90, members, "type=restriction|restriction:conditional=no_left_turn @ (Mo,We 07:00-09:00)"),
            (91, members, "type=restriction|restriction=no_u_turn"),  # dropped: these ways are not one way
            (92, "w10@from n5@via w11@to", "type=restriction|restriction=no_straight_on"),
            (93, "w12@from n5@via w11@to", "type=restriction restriction=only_left_turn hour_on=22 hour_off=6"),
            (
                94,
                members.replace("w12", "w13"),
                "restriction=no_turn|restriction:conditional=none @ (Su)|type=restriction",
            ),
        ]
        tables = read(self.CROSS, relations)
        check_invariants(tables)
        found = {}
        for k, row in enumerate(tables.timed_restrictions.tolist()):
            minutes = tables.timed_minutes[slice(*tables.timed_indptr[k : k + 2])]
            edges = tables.restriction_edges[slice(*tables.restriction_indptr[row : row + 2])]
            ends = tables.node_osm_id[np.where(edges % 2, tables.edge_from[edges // 2], tables.edge_to[edges // 2])]
            key = bool(tables.restriction_only[row]), int(ends[1]), bool(tables.timed_by_default[k])
            found[key] = (minutes / 60).tolist()
        nights = [hour for day in range(7) for hour in (24 * day + 6, 24 * day + 22)]
        assert found == {
            (False, 2, False): [7, 9, 48 + 7, 48 + 9],
            (True, 6, False): [0, *nights, 168],
            (False, 8, True): [0, 144],
        }
        report = tables.report
        assert (report["restrictions_mapped"], report["restrictions_with_hours"]) == (5, 3)
        assert (report["restrictions_with_ignored_conditions"], report["restriction_conditions_ignored"]) == (0, {})

    def test_several_ways_have_the_same_hours(self, read):
        tags = "type=restriction|restriction:conditional=no_entry @ (Sa,Su)"
        tables = read(self.CROSS, [(90, "w10@from w12@from n5@via w11@to", tags)])
        assert restrictions_of(tables) == ["no 2>5>6", "no 4>5>6"]
        assert tables.timed_restrictions.tolist() == [0, 1]
        assert tables.timed_minutes.tolist() == [120 * 60, 168 * 60] * 2

    @pytest.mark.parametrize(
        ("tags", "n_mapped", "ignored", "dropped"),
        [
            ("restriction=no_left_turn|restriction:conditional=none @ (22:00-06:00)", 1, {}, {}),
            ("restriction=no_left_turn|restriction:conditional=none @ (PH)", 1, {"holidays": 1}, {}),
            ("restriction:motorcar:conditional=no_left_turn @ (Mo-Fr)", 1, {}, {}),
            (
                "restriction:conditional=no_left_turn @ (sunset-sunrise); no_left_turn @ (Jun); no_left_turn @ (wet)",
                0,
                {"sun": 1, "dates": 1, "other": 1},
                {"condition_not_understood": 1},
            ),
            ("restriction=no_left_turn|hour_on=07:00", 0, {"other": 1}, {"condition_not_understood": 1}),
            ("restriction:conditional=no_left_turn @ (PH)|except=motorcar", 0, {}, {"cars_exempt": 1}),
            ("restriction:conditional=no_left_turn @ (Mo)|except=bus;bicycle", 1, {}, {}),
            ("restriction:hgv:conditional=no_left_turn @ (PH)", 0, {}, {"other_vehicles": 1}),
            ("restriction:bus=no_left_turn|day_on=Mo", 0, {}, {"other_vehicles": 1}),
        ],
    )
    def test_conditions_that_are_not_honoured_are_counted(self, read, tags, n_mapped, ignored, dropped):
        report = read(self.CROSS, [(90, "w10@from n5@via w12@to", f"type=restriction|{tags}")]).report
        assert report["restrictions_mapped"] == n_mapped
        assert report["restriction_conditions_ignored"] == ignored
        assert report["restrictions_with_ignored_conditions"] == bool(ignored)
        assert report["restrictions_dropped"] == dropped

    def test_a_way_that_goes_on_both_ways_is_ambiguous(self, read):
        ways = [(10, "4 5", "highway=primary"), (11, "2 5 8", "highway=primary")]
        assert self.mapped(read, "w10@from n5@via w11@to", ways=ways) == ([], {"ambiguous_geometry": 1})


@given(
    st.lists(st.tuples(st.integers(-4, 30), st.booleans()), unique_by=lambda row: row[0]),
    st.booleans(),
    st.lists(st.integers(-6, 32)),
    st.integers(1, 5),
)
def test_a_table_of_nodes_has_those_with_a_position(rows, is_sorted, asked, block):
    # Rows of the index that are not used have the id 0.
    there = {osm_id: (osm_id * 7 % 100, osm_id * 3 % 50) for osm_id, has_place in rows if has_place and osm_id}
    rows = sorted(rows) if is_sorted else rows
    outside = (2**31 - 1, 2**31 - 1)
    table = np.array([(osm_id, *there.get(osm_id, outside)) for osm_id, _ in rows], nodes_module.LOCATION)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nodes_module, "_BLOCK", block)
        made = nodes_module.NodeTable(table)
        found = made.of(np.array(asked, np.int64))
        corners, mean = made.hull(0.0)
    assert made.n_nodes == len(there)
    expected = sorted({osm_id for osm_id in asked if osm_id in there})
    assert found.osm_id.tolist() == expected
    assert found.lng.tolist() == [there[osm_id][0] / 1e7 for osm_id in expected]
    assert found.lat.tolist() == [there[osm_id][1] / 1e7 for osm_id in expected]
    if there:
        every = np.array([*there.values()]) / 1e7
        assert made.bounds == (*every.min(axis=0), *every.max(axis=0))
        hull, of_all = (shapely.convex_hull(shapely.MultiPoint(each)) for each in (corners, every))
        # Corners on a straight line may differ.
        assert shapely.hausdorff_distance(hull, of_all) < 1e-12
        assert mean == pytest.approx(every[:, 1].mean())
    else:
        assert made.bounds is None
    made.forget()
    assert made.of(np.array(asked, np.int64)).osm_id.size == 0


@pytest.mark.parametrize("n", [0, 1, 2, 9, 10, 11])
def test_segments_have_the_same_lengths_in_parts(n, monkeypatch):
    rng = np.random.default_rng(n)
    lng, lat = rng.uniform(-180.0, 180.0, n), rng.uniform(-80.0, 80.0, n)
    whole = segment_lengths_m(lng, lat)
    monkeypatch.setattr(crs, "_AT_ONCE", 3)
    np.testing.assert_array_equal(segment_lengths_m(lng, lat), whole)
    assert whole.size == max(0, n - 1)


@pytest.mark.thorough
def test_how_many_objects_are_read_at_once_does_not_matter(tmp_path, monkeypatch):
    numbered = [(n, f"{n % 9 + 1} {(n + 1) % 9 + 1}", f"building=yes|addr:housenumber={n}") for n in range(20, 32)]
    path = tmp_path / "town.osm"
    tags = {n: f"name=Place {n}|amenity=cafe" for n in range(1, 10)}
    streets = [
        (10, "1 2 3", "highway=primary|name=First|lit=yes"),
        (11, "3 6 9", "highway=steps|step_count=9"),
        (12, "1 4 7 8", "highway=proposed|name=Never"),
        (13, "4 5 6", "highway=residential|tunnel=yes|surface=asphalt|name=First"),
        (14, "7 9", "route=ferry|duration=00:20|foot=yes"),
        (15, "2 5 99 8", "highway=primary|lit=yes"),
    ]
    path.write_bytes(osm_xml(GRID, [*streets, *numbered], node_tags=tags))
    whole = read_osm(path)
    assert whole.report["place_nodes"] == 9 and whole.report["place_ways"] == 12
    assert whole.names == ["", "First"] and whole.uses["is_ferry"].any() and whole.edge_off_ground.any()
    monkeypatch.setattr(places, "_AT_ONCE", 5)
    monkeypatch.setattr(street_ways, "AT_ONCE", 2)
    monkeypatch.setattr(edges_module, "_AT_ONCE", 2)
    monkeypatch.setattr(nodes_module, "_BLOCK", 2)
    parts = read_osm(path)
    assert parts.places.equals(whole.places)
    assert parts.uses.equals(whole.uses)
    assert parts.names == whole.names
    assert parts.report == whole.report
    for name, array in arrays_by_field(whole).items():
        np.testing.assert_array_equal(array, getattr(parts, name), name)


def test_ways_without_references_keep_none_of_their_memory():
    ways = Ways(np.array([1]), ["highway=primary"], np.array([0, 2]), np.array([7, 8]))
    left = ways.without_refs()
    assert left.refs.size == 0 and left.refs.base is None
    assert left.osm_id is ways.osm_id and left.indptr.size == 2


@pytest.mark.parametrize("ids", [[], [5], [-3, 5, 9]])
def test_positions_are_found_by_id(ids):
    positions = NodePositions(np.array(ids, np.int64), np.zeros(len(ids)), np.zeros(len(ids)))
    asked = [5, -3, 0, 9, 10, -4, 5]
    assert positions.find(np.array(asked)).tolist() == [ids.index(each) if each in ids else -1 for each in asked]
    assert positions.find(np.zeros(0, np.int64)).tolist() == []


class TestWater:
    STREET = (10, "1 2", "highway=primary")

    def test_closed_ways_and_multipolygons(self, read):
        nodes = {**GRID, 20: (0.0002, 0.0002), 21: (0.0004, 0.0002), 22: (0.0002, 0.0004)}
        pond = (20, "1 2 5 4 1", "natural=water")
        ways = [self.STREET, pond, (21, "7 8 9 3", ""), (22, "3 1 7", ""), (23, "20 21 22 20", "")]
        tables = read(ways, [(90, "w21@outer w22@outer w23@inner", "type=multipolygon natural=water")], nodes=nodes)
        assert tables.report["water_areas"] == 2
        square, lake = tables.water
        assert square.area == pytest.approx(1e-6)
        assert lake.area == pytest.approx(4e-6 - 2e-8)
        assert len(lake.interiors) == 1

    def test_each_way_is_an_area_of_its_own(self, read):
        """Three ponds as ways, and one as a multipolygon of a way with two nodes and another."""
        ways = [
            self.STREET, (20, "1 2 5 4 1", "natural=water"), (21, "5 6 9 5", "natural=water"),
            (22, "4 5 8 7 4", "natural=water"), (23, "2 3", ""), (24, "3 6 5 2", ""),
        ]  # fmt: skip
        tables = read(ways, [(90, "w23@outer w24@outer", "type=multipolygon natural=water")])
        assert [area.area for area in tables.water] == pytest.approx([1e-6, 0.5e-6, 1e-6, 1e-6])
        assert tables.water[0].bounds == pytest.approx((0.0, 0.001, 0.001, 0.002))
        assert tables.water[1].bounds == pytest.approx((0.001, 0.0, 0.002, 0.001))

    def test_a_shore_that_does_not_close_beside_one_that_does(self, read):
        ways = [self.STREET, (20, "1 2 5 4 1", ""), (21, "6 9 8", "")]
        tables = read(ways, [(90, "w20@outer w21@outer", "type=multipolygon natural=water")])
        assert tables.water == []
        assert tables.report["water_areas_dropped_incomplete"] == 1

    @pytest.mark.parametrize(
        "tags",
        ["natural=water water=fountain", "leisure=swimming_pool", "landuse=basin", "natural=water intermittent=yes"],
    )
    def test_small_or_passing_water_is_left_out(self, read, tags):
        assert read([self.STREET, (20, "1 2 5 4 1", tags)]).water == []

    def test_rings_that_do_not_close_are_counted(self, read):
        ways = [self.STREET, (20, "1 2 5", "natural=water"), (21, "1 2 77 1", "natural=water"), (22, "4 5 6", "")]
        tables = read(ways, [(90, "w22@outer w99@outer", "type=multipolygon natural=water")])
        assert tables.water == []
        assert tables.report["water_areas_dropped_incomplete"] == 3

    # A lake across the northern border of the bounds below, 5 in the middle of its southern shore.
    HEAD = '<bounds minlat="0.0" minlon="0.0" maxlat="0.0022" maxlon="0.002"/>'
    CUT_LAKE = "1 4 5 6 3 77 78 1"

    def test_a_lake_cut_by_one_side_of_the_extract_is_closed_along_it(self, read):
        tables = read([(10, "7 8", "highway=path"), (20, self.CUT_LAKE, "natural=water")], head=self.HEAD)
        assert tables.report["water_areas_closed_at_border"] == 1
        (lake,) = tables.water
        assert lake.bounds == pytest.approx((0.0, 0.001, 0.002, 0.002))
        assert lake.area == pytest.approx(2e-6)

    @pytest.mark.parametrize(
        ("way", "head"),
        [
            (CUT_LAKE, ""),  # not known to be cut
            ("4 5 8 7 77 4", HEAD.replace('minlon="0.0"', 'minlon="-0.01"')),  # broken off inside
            ("1 4 5 2 77 6 3 1", HEAD),  # the gap is inside, though the way touches the border
            ("2 5 4 77 2", HEAD),  # around a corner
            ("1 4 5 6 3 77", HEAD),  # not closed to begin with
            ("1 3 4 6 77 1", HEAD.replace('minlon="0.0"', 'minlon="0.0001"')),  # crosses itself
        ],
    )
    def test_other_cut_areas_stay_out(self, read, way, head):
        tables = read([(10, "7 8", "highway=path"), (20, way, "natural=water")], head=head)
        assert tables.water == []
        assert tables.report["water_areas_dropped_incomplete"] == 1
        assert not tables.report.get("water_areas_closed_at_border")

    @pytest.mark.parametrize(("metres", "is_closed"), [(45.0, True), (55.0, False)])
    @pytest.mark.parametrize("north", [0.0, 60.0])
    def test_a_lake_is_cut_if_it_ends_within_50_m_of_the_border(self, read, metres, is_closed, north):
        """At 60 degrees north, a degree of longitude is half as long as at the equator."""
        west = 0.001 - metres / (111_320.0 * math.cos(math.radians(north)))
        places = {20: (0.001, 0.0), 21: (0.004, 0.0), 22: (0.004, 0.002), 23: (0.001, 0.002)}
        nodes = {node: (lng, north + lat) for node, (lng, lat) in places.items()}
        head = f'<bounds minlat="{north - 0.01}" minlon="{west}" maxlat="{north + 0.01}" maxlon="0.01"/>'
        ways = [(10, "21 22", "highway=path"), (20, "20 21 22 23 77 20", "natural=water")]
        assert bool(read(ways, nodes=nodes, head=head).water) == is_closed

    def test_a_peninsula_is_not_flooded(self, read):
        nodes = {**GRID, **{20 + i: (0.0005 + i * 0.0002, 0.0015) for i in range(4)}}
        ways = [(10, "20 21 22 23", "highway=residential"), (11, "21 5", "highway=path"), (12, "22 5", "highway=path")]
        with pytest.warns(UserWarning, match="cut by the border .* left out: 1") as caught:
            tables = read([*ways, (20, self.CUT_LAKE, "natural=water")], head=self.HEAD, nodes=nodes)
        assert len(caught) == 1
        assert tables.water == []
        assert tables.report["water_areas_dropped_incomplete"] == tables.report["water_areas_dropped_with_streets"] == 1

    @pytest.mark.pythons
    def test_coastlines_are_joined_end_to_end(self, read):
        ways = [
            self.STREET,
            (20, "5 6", "natural=coastline"),
            (21, "4 5", "natural=coastline"),
            (22, "6 77 9 8", "natural=coastline"),
            (23, "1 2 3 1", "natural=coastline"),
        ]
        tables = read(ways)
        lines = [[next(n for n, p in GRID.items() if p == tuple(row)) for row in line] for line in tables.coastlines]
        assert sorted(lines) == [[1, 2, 3, 1], [4, 5, 6], [9, 8]]
        assert tables.report["coastline_missing_nodes"] == 1

    def test_an_island_of_two_ways_is_one_ring(self, read):
        ways = [self.STREET, (20, "1 2 3", "natural=coastline"), (21, "3 6 1", "natural=coastline")]
        (line,) = read(ways).coastlines
        assert tuple(line[0]) == tuple(line[-1])
        assert len(line) == 5


class TestFiles:
    STREET = osm_xml(GRID, [(10, "1 2 3", "highway=primary")])

    @pytest.mark.pythons
    @pytest.mark.parametrize(
        ("name", "pack"),
        [
            ("a.osm", bytes),
            ("a.xml", bytes),
            ("A.OSM", bytes),
            ("a.osm.gz", gzip.compress),
            ("a.xml.gz", gzip.compress),
            ("a.osm.bz2", bz2.compress),
            ("a.xml.bz2", bz2.compress),
        ],
    )
    def test_formats(self, tmp_path, name, pack):
        (tmp_path / name).write_bytes(pack(self.STREET))
        assert edges_of(read_osm(str(tmp_path / name))) == ["10: 1-3"]

    def test_what_the_header_says(self, tmp_path):
        head = '<bounds minlat="-1" minlon="-2" maxlat="3" maxlon="4"/>'
        path = tmp_path / "a.osm"
        path.write_bytes(osm_xml(GRID, [(10, "1 2 3", "highway=primary")], head=head))
        tables = read_osm(path)
        assert tables.bounds == (-2, -1, 4, 3)
        assert tables.report["attribution"] == "© OpenStreetMap contributors, ODbL 1.0"
        assert tables.report["source"] == "a.osm"

    def test_no_header_no_bounds(self, tmp_path):
        (tmp_path / "a.osm").write_bytes(self.STREET)
        assert read_osm(tmp_path / "a.osm").bounds is None

    def test_missing_file(self, tmp_path):
        with pytest.raises(MissingFileError, match=r"no\.pbf does not exist"):
            read_osm(tmp_path / "no.pbf")
        with pytest.raises(FileNotFoundError, match="is a folder"):
            read_osm(tmp_path)

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("a.osm", b"", "is empty"),
            ("a.txt", STREET, "must end in one of"),
            ("a.osm", STREET[:-60], "damaged, truncated or of another format"),
            ("a.osm", b"<html><body>Too many requests</body></html>", "html"),
            ("a.osm", b'{"elements": []}', "XML parsing error"),
            ("a.osm.gz", gzip.compress(STREET, mtime=0)[:-30], "gzip error|XML parsing error"),
            ("a.osm.bz2", bz2.compress(STREET)[:-30], "bzip2 error|XML parsing error"),
            ("a.osm.bz2", STREET, "bzip2 error"),
            ("a.pbf", STREET, "PBF error"),
            ("a.pbf", bytes(range(256)) * 8, "PBF error"),
            ("a.osm", osm_xml(GRID, []), "has no usable streets: 0 ways"),
            ("a.osm", osm_xml(GRID, [(10, "1 2", "highway=proposed")]), "1 ways have street tags, 0 of them are open"),
            ("a.osm", osm_xml({}, [(10, "1 2", "highway=primary")]), "none has two nodes in the file"),
            ("a.osm", b'<osmChange version="0.6"></osmChange>', "history"),
        ],
    )
    def test_broken_content(self, tmp_path, name, content, message):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=message) as caught:
            read_osm(tmp_path / name)
        assert name in str(caught.value)

    def test_progress(self, tmp_path):
        (tmp_path / "a.osm").write_bytes(self.STREET)
        steps: list[tuple[str, float]] = []
        read_osm(tmp_path / "a.osm", on_step=lambda step, share: steps.append((step, share)))
        shares = [share for _, share in steps]
        assert shares == sorted(shares)
        assert (shares[0], steps[-1]) == (0.0, ("done", 1.0))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors are listed in /proc")
@pytest.mark.parametrize("in_memory", [True, False])
def test_files_are_closed(tmp_path: Path, in_memory: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """libosmium leaves the index of node positions open: 17 MB of memory for each file that was read."""
    if not in_memory:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    xml = osm_xml(GRID, [(1, "1 2 3", "highway=residential")])
    (tmp_path / "good.osm").write_bytes(xml)
    (tmp_path / "negative.osm").write_bytes(osm_xml({**GRID, -1: (0.003, 0.0)}, [(1, "1 -1", "highway=path")]))
    (tmp_path / "broken.osm").write_bytes(xml[: len(xml) // 2])

    def open_now() -> list[str]:
        links = []
        for descriptor in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                links.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        return sorted(link for link in links if "nodes.array" in link)

    for name in ("good.osm", "negative.osm", "broken.osm"):
        with contextlib.suppress(DataError):
            read_osm(tmp_path / name)
        assert open_now() == []


# Ranges, not numbers: other rules about tags move counts by a few percent (see the README beside the data).
REAL = {
    "porto_alegre/osm.pbf": {"edges": (24_000, 33_000), "junctions": 17_110, "restrictions": 0, "water": 1},
    "helsinki/osm_center.pbf": {"edges": (10_000, 15_000), "junctions": 6_297, "restrictions": 70, "water": 9},
    "monaco/osm.pbf": {"edges": (4_500, 7_000), "junctions": 3_292, "restrictions": 25, "water": 5},
    "edge_cases/no_left_turn.osm.pbf": {"edges": (17_000, 25_000), "junctions": None, "restrictions": 110, "water": 0},
    "edge_cases/via_way_restriction.osm.pbf": {
        "edges": (12_000, 19_000),
        "junctions": None,
        "restrictions": 32,
        "water": 0,
    },
    "edge_cases/fiji_ferry_antimeridian.osm.pbf": {
        "edges": (1_800, 2_700),
        "junctions": None,
        "restrictions": 4,
        "water": 0,
    },
}


@pytest.mark.parametrize("name", REAL)
def test_real_extracts(shared_data: Path, name: str) -> None:
    expected = REAL[name]
    tables = read_osm(shared_data / name)
    check_invariants(tables)
    low, high = expected["edges"]
    assert low <= len(tables.edge_from) <= high
    assert len(tables.restriction_only) >= expected["restrictions"]
    assert len(tables.water) >= expected["water"]
    assert all(area.is_valid for area in tables.water)
    assert tables.edge_length_m.max() < 30_000, "no edge spans the globe"
    if expected["junctions"]:
        is_walkable = (tables.uses.walking_access == 1).to_numpy()[tables.edge_use]
        ends = np.concatenate([tables.edge_from[is_walkable], tables.edge_to[is_walkable]])
        degree = np.bincount(ends, minlength=len(tables.node_osm_id))
        n_junctions = int(((degree != 2) & (degree > 0)).sum())
        assert n_junctions == pytest.approx(expected["junctions"], rel=0.12)


def test_restrictions_via_ways_are_longer(shared_data: Path) -> None:
    tables = read_osm(shared_data / "edge_cases/via_way_restriction.osm.pbf")
    assert np.diff(tables.restriction_indptr).max() >= 3


def test_coastlines_of_monaco(shared_data: Path) -> None:
    tables = read_osm(shared_data / "monaco/osm.pbf")
    assert 1 <= len(tables.coastlines) < 28, "28 ways, joined"
    # Land is on the left: Monaco's coast runs north-east, the land lies to the north-west of it.
    longest = max(tables.coastlines, key=len)
    sea_side = shapely.LineString(longest).offset_curve(-0.005)
    land_side = shapely.LineString(longest).offset_curve(0.005)
    assert land_side.centroid.y > sea_side.centroid.y
    assert tables.node_flags.max() >= NODE_SIGNALS
