"""Streets on the ground, and areas of water that are land because streets stand in them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.oracles_water import drowned_slowly
from tests.support.osm_files import osm_xml
from tests.support.worlds import tables
from traveltime_lab.readers.osm.streets import read_osm
from traveltime_lab.readers.osm.tags import is_off_ground
from traveltime_lab.streets.on_ground import _around, drowned, first_cover, nodes_on_ground

pytestmark = pytest.mark.quick


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([600.0, 2_500.0, 30_000.0]), st.integers(0, 60), st.integers(1, 4))
@pytest.mark.slow
def test_the_areas_that_are_land_are_those_of_the_slow_twin(seed, side_m, n_nodes, n_areas):
    """Areas are strips side by side, some of them water; nodes are in clusters, on shores and anywhere."""
    rng = np.random.default_rng(seed)
    edges = np.sort(rng.uniform(-side_m, side_m, n_areas + 1))
    areas = [shapely.box(a, -side_m, b, side_m) for a, b in itertools.pairwise(edges)]
    is_water = rng.random(n_areas) < 0.7
    at = rng.uniform(-side_m, side_m, (4, 2))[rng.integers(0, 4, n_nodes)] + rng.normal(0, 300, (n_nodes, 2))
    on_shore = rng.random(n_nodes) < 0.1
    at[on_shore, 0] = rng.choice(edges, int(on_shore.sum()))
    extent = (-side_m, -side_m, side_m, side_m)
    found = drowned(np.array(areas, dtype=object), is_water, at[:, 0], at[:, 1], extent)
    assert {tuple(each) for each in found} == drowned_slowly(areas, is_water.tolist(), at.tolist(), extent)


BOXES = st.lists(st.tuples(*[st.integers(0, 6)] * 2, *[st.integers(1, 4)] * 2), max_size=5)


@given(BOXES, st.sampled_from([shapely.intersects_xy, shapely.contains_xy]))
def test_the_last_polygon_covers_a_point(boxes, covers):
    """Points within, on the sides and at the corners of boxes, and beside them."""
    polygons = np.array([shapely.box(x, y, x + width, y + height) for x, y, width, height in boxes], dtype=object)
    x, y = (axis.ravel() for axis in np.mgrid[0:10:0.5, 0:10:0.5])
    each = np.array([covers(polygon, x, y) for polygon in polygons]).reshape(-1, x.size)
    expected = [max(np.flatnonzero(column), default=-1) for column in each.T]
    assert first_cover(polygons, x, y, covers).tolist() == expected


@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20)), min_size=1, max_size=4, unique=True))
def test_cells_around_cells_are_within_half_a_kilometre_along_both_axes(cells):
    column, row = np.array(cells).T
    extent = (-1_050.0, -2_000.0, 850.0, 1_999.0)
    found = {(float(x), float(y)) for x, y in zip(*_around(column, row, extent), strict=True)}
    assert found == {
        (100.0 * i + 50.0, 100.0 * j + 50.0)
        for a, b in cells
        for i in range(a - 5, a + 6)
        for j in range(b - 5, b + 6)
        if -1_050 <= 100 * i + 50 <= 850 and -2_000 <= 100 * j + 50 <= 1_999
    }


@pytest.mark.parametrize(
    ("tags", "is_off"),
    [
        ("highway=footway", False),
        ("highway=footway bridge=no tunnel=0 floating=no", False),
        ("highway=footway tunnel=building_passage", False),
        ("highway=footway bridge=boardwalk", True),
        ("highway=service bridge=yes", True),
        ("highway=service tunnel=yes", True),
        ("highway=footway man_made=pier", True),
        ("man_made=pier", True),
        ("highway=path man_made=breakwater", True),
        ("highway=footway floating=yes", True),
    ],
)
def test_what_stands_on_the_ground(tmp_path, tags, is_off):
    """The second way has the tags; its far end is on the ground unless they say otherwise."""
    nodes = {1: (0.0, 0.0), 2: (0.001, 0.0), 3: (0.002, 0.0)}
    path = tmp_path / "streets.osm"
    path.write_bytes(osm_xml(nodes, [(10, "1 2", "highway=residential"), (11, "2 3", tags)]))
    found = read_osm(path)
    assert found.edge_off_ground.tolist() == [False, is_off]
    assert found.node_osm_id[nodes_on_ground(found)].tolist() == ([1, 2] if is_off else [1, 2, 3])
    assert is_off_ground(dict(pair.split("=") for pair in tags.split())) == is_off


def test_ferries_and_tables_without_bridges():
    ferry = ("b", "c", {"highway": None, "route": "ferry"})
    found = tables({"a": (0, 0), "b": (100, 0), "c": (200, 0)}, [("a", "b"), ferry])
    assert found.edge_off_ground.size == 0
    assert nodes_on_ground(found).tolist() == sorted([found.edge_from[0], found.edge_to[0]])
