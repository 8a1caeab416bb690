"""Routes on streets: their labels are those of the matrix, and their lines run along the streets."""

from __future__ import annotations

from typing import Any

import geopandas as gpd
import numpy as np
import pytest
import shapely
import shapely.ops
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.oracles import random_points
from tests.support.worlds import FRAME, tables, world
from traveltime_lab.crs import LocalFrame, line_length_m
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.points import read_points
from traveltime_lab.search.query import ask
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets import matrix
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.paths import (
    line_of,
    lines_between,
    part_of_line,
    parts_of_lines,
    paths,
    route_lines,
)
from traveltime_lab.streets.pieces import Piece
from traveltime_lab.streets.topology import bearings

quick = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])

#: A street that goes east, north, and east again, 600 m in all, and one that goes straight back, one way for cars.
NODES = {"A": (0, 0), "B": (400, 200)}
BENT = [("A", "B", {"via": [(100, 0), (100, 200)]}), ("B", "A", {"oneway": "yes"})]


@st.composite
def bent_towns(draw: st.DrawFn) -> tl.Network:
    """Draw streets with bends between the nodes of a grid; some are one-way, doubled, loops, or for residents."""
    side = draw(st.integers(2, 3))
    nodes = {(i, j): (200 * i, 200 * j) for i in range(side) for j in range(side)}
    node = st.sampled_from(sorted(nodes))
    bends = st.lists(st.tuples(st.integers(-80, 480), st.integers(-80, 480)), max_size=3, unique=True)
    streets = []
    for start, end in draw(st.lists(st.tuples(node, node), min_size=2, max_size=12)):
        via = draw(bends) or ([(nodes[start][0] + 50, nodes[start][1] + 20)] if start == end else [])
        tags = draw(st.sampled_from([{}, {}, {"oneway": "yes"}, {"access": "destination"}, {"highway": "primary"}]))
        streets.append((start, end, {"via": via, **tags}))
    return world(nodes, streets)


@quick
@given(
    bent_towns(),
    st.sampled_from(["walking", "cycling", "driving"]),
    st.sampled_from(["time", "distance"]),
    st.sampled_from([0, 1, 59, 60, 61, 150, 400, 3600]),
    st.integers(0, 2**31),
)
@pytest.mark.thorough
def test_labels_are_those_of_the_matrix_and_lines_as_long(
    network: tl.Network, mode: str, metric: Any, limit: int, seed: int
) -> None:
    """All pairs within a limit have a path, no other has; its line follows streets and is as long as it says."""
    points = read_points(gpd.GeoSeries.from_xy(*random_points(network, 5, seed), crs="EPSG:4326"), "", network.bounds)
    query = ask(network, mode, None, None, None, metric)
    here, there = query.snap(points), query.snap(points, is_origin=False)
    streets, graph, pairs = network.streets, query.graph, Pairs(here, there)
    ask_for = streets, graph, pairs, query.snapping
    expected = matrix.pair_labels(*ask_for, limit=limit)
    is_reached = expected != UNREACHED
    found = {path.pair: path for path in paths(*ask_for[1:], limit)}
    assert {pair: path.label for pair, path in found.items()} == dict(
        zip(np.flatnonzero(is_reached).tolist(), expected[is_reached].tolist(), strict=True)
    )
    lines = route_lines(*ask_for, is_reached, limit)
    assert (shapely.is_empty(lines) == ~is_reached).all()
    part = label_parts.cm if metric == "time" else label_parts.primary
    xy = [np.column_stack(FRAME.to_xy(*shapely.get_coordinates(line).T)) for line in network.edges_frame().geometry]
    near_streets = shapely.union_all([shapely.LineString(line) for line in xy]).buffer(0.01)
    for pair, path in found.items():
        at = shapely.get_coordinates(lines[pair])
        rounded = 0.02 * (len(path.pieces) + 2)
        assert line_length_m(*at.T) == pytest.approx(part(path.label) / 100.0, abs=rounded)
        assert at[0].tolist() == [points.lng[pairs.origin_of[pair]], points.lat[pairs.origin_of[pair]]]
        assert at[-1].tolist() == [points.lng[pairs.destination_of[pair]], points.lat[pairs.destination_of[pair]]]
        if len(at) > 3:
            # Without the ways between points and streets.
            assert near_streets.covers(shapely.LineString(np.column_stack(FRAME.to_xy(*at[1:-1].T))))


@quick
@given(st.integers(0, 3), st.floats(0, 1), st.floats(0, 1))
def test_parts_of_lines_equal_those_of_shapely(directed: int, one: float, other: float) -> None:
    begin, end = sorted([one, other])
    places = [(0, 0), (100, 0), (100, 200), (400, 200)] if directed < 2 else [(400, 200), (0, 0)]
    line = shapely.LineString(places[:: -1 if directed % 2 else 1])
    expected = shapely.ops.substring(line, begin, end, normalized=True)
    found = part_of_line(tables(NODES, BENT), Piece(directed, begin, end, 0))
    xy = shapely.LineString(np.column_stack(FRAME.to_xy(*found.T)))
    assert shapely.distance(shapely.points(xy.coords[0]), shapely.points(expected.coords[0])) < 0.01
    assert shapely.distance(shapely.points(xy.coords[-1]), shapely.points(expected.coords[-1])) < 0.01
    assert shapely.hausdorff_distance(xy, expected) < 0.01
    assert xy.length == pytest.approx((end - begin) * line.length, abs=0.01)
    if begin == 0.0 and end == 1.0:
        assert len(found) == len(places)


def test_a_part_of_a_street_without_length_is_its_place() -> None:
    drawn = tables({"A": (0, 0), "B": (0, 0)}, [("A", "B")])
    place = [drawn.coord_lng[0], drawn.coord_lat[0]]
    for piece in (Piece(0, 0.0, 1.0, 0), Piece(1, 0.0, 0.5, 0), Piece(0, 0.25, 0.25, 0)):
        found = part_of_line(drawn, piece)
        np.testing.assert_array_equal(found, [place] * len(found))


@pytest.mark.parametrize("lng0", [0.5, -179.9999, 179.9999, 100.0, -100.0])
def test_parts_of_lines_are_short_anywhere(lng0: float) -> None:
    """A street across the 180th meridian has parts of the same lengths as one elsewhere."""
    frame = LocalFrame(lng0, 0.5)
    drawn = tables({"A": (-150, 0), "B": (150, 0)}, [("A", "B", {"via": [(50, 0)]})], frame=frame)
    for piece, metres in ((Piece(0, 0.0, 1.0, 0), 300), (Piece(1, 0.0, 0.5, 0), 150), (Piece(0, 0.25, 1.0, 0), 225)):
        found = part_of_line(drawn, piece)
        assert np.ptp(found[:, 0]) < 0.003
        assert line_length_m(*found.T) == pytest.approx(metres, abs=0.01)
        assert (np.diff(found[:, 0]) > 0).all() == (piece.directed == 0)


@quick
@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1), st.floats(0, 1)), max_size=6), st.booleans())
def test_lines_of_pieces_are_those_of_each(drawn: list[tuple[int, float, float]], across_180: bool) -> None:
    town = tables(NODES, BENT, frame=LocalFrame(179.9995 if across_180 else 0.5, 0.5))
    pieces = [Piece(directed, min(ends), max(ends), 0) for directed, *ends in drawn]
    pieces += [Piece(piece.directed, 0.0, 1.0, 0) for piece in pieces]
    found, indptr = parts_of_lines(town, pieces)
    lines = [part_of_line(town, piece) for piece in pieces]
    np.testing.assert_array_equal(indptr, np.cumsum([0, *map(len, lines)]))
    np.testing.assert_array_equal(found, np.concatenate([np.empty((0, 2)), *lines]))


@quick
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=9), st.data())
def test_lines_of_ranges_are_those_of_each(points: list[tuple[int, int]], data: st.DataObject) -> None:
    """With points that repeat, up to rounding or exactly, and ranges of one point."""
    coordinates = np.array(points) * [1.0, 1e-10]
    row = st.integers(0, len(points))
    ranges = data.draw(st.lists(st.tuples(row, row).filter(lambda ends: ends[0] < ends[1]), min_size=1, max_size=5))
    begins, ends = np.array(ranges, np.int64).T
    found = [line.wkb for line in lines_between(coordinates, begins, ends)]
    assert found == [line_of([coordinates[begin:end]]).wkb for begin, end in ranges]


def test_lines_keep_no_joint_twice() -> None:
    parts = [np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[1.0, 5e-10], [1.0, 1.0]])]
    assert list(line_of(parts).coords) == [(0, 0), (1, 0), (1, 1)]
    assert list(line_of([parts[0], parts[0]]).coords) == [(0, 0), (0, 0)]


def test_bearings_are_those_of_first_and_last_segments() -> None:
    start, end = bearings(tables(NODES, BENT), FRAME)
    assert start[:2] == pytest.approx([90, -90], abs=0.1)
    assert end[:2] == pytest.approx([90, -90], abs=0.1)
    back = np.degrees(np.arctan2(-400, -200))
    assert start[2:] == pytest.approx([back, back + 180], abs=0.1)
    assert end[2:] == pytest.approx([back, back + 180], abs=0.1)
    # A hook: north, then west.
    start, end = bearings(tables({"A": (0, 0), "B": (-50, 100)}, [("A", "B", {"via": [(0, 100)]})]), FRAME)
    assert start == pytest.approx([0, 90], abs=0.1)
    assert end == pytest.approx([-90, 180], abs=0.1)
