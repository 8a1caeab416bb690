"""Straight walks between points and streets: over land, and to streets that serve the trip."""

from __future__ import annotations

from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import assume, given
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.osm_files import osm_xml
from tests.support.worlds import world
from traveltime_lab.crs import LocalFrame
from traveltime_lab.kernels.street import nearest, nearest_raster, raster_barriers
from traveltime_lab.kernels.street.crossings import (
    MOTORWAY,
    REACH_M,
    SHORE,
    WADE_M,
    barring,
    bars_square,
    crosses_at,
    is_behind_water,
)
from traveltime_lab.kernels.street.grid import Grid, build_grid
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network.water import WaterBodies
from traveltime_lab.streets import snapping

STEP = 0.001  # about 111 m north, 79 m east
#: A street on each bank of a river, joined by a bridge in the east; an island in the river with a footway of its own.
NODES = {
    1: (0, 0), 2: (40, 0), 3: (40, 10), 4: (0, 10), 5: (12, 4.5), 6: (14, 4.5),
    11: (-5, 1), 12: (50, 1), 13: (50, 9), 14: (-5, 9), 21: (10, 4), 22: (20, 4), 23: (20, 6), 24: (10, 6),
    31: (-5, -3), 32: (50, -3), 41: (0, -5), 42: (50, -5), 43: (50, 0), 51: (30, 20), 52: (30, 12),
}  # fmt: skip
WAYS = [
    (101, "1 2", "highway=residential"),
    (102, "2 3", "highway=residential bridge=yes"),
    (103, "3 4", "highway=residential"),
    (104, "5 6", "highway=footway"),
    (105, "31 32", "highway=motorway oneway=yes"),
    (106, "41 42 43 2", "highway=residential"),
    (107, "3 52", "highway=residential"),
    (108, "52 51", "highway=residential oneway=yes"),
    (201, "11 12 13 14 11", ""),
    (202, "21 22 23 24 21", ""),
]
RIVER = (1, "w201@outer w202@inner", "type=multipolygon natural=water")


@pytest.fixture(scope="module")
def banks(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    path = tmp_path_factory.mktemp("banks") / "banks.osm"
    nodes = {ref: (9.0 + x * STEP, 45.0 + y * STEP) for ref, (x, y) in NODES.items()}
    path.write_bytes(osm_xml(nodes, WAYS, [RIVER]))
    return tl.build_network(path)


def at(*places: tuple[float, float]) -> gpd.GeoSeries:
    x, y = np.array(places, dtype=float).T
    return gpd.GeoSeries.from_xy(9.0 + x * STEP, 45.0 + y * STEP, crs="EPSG:4326")


def test_walks_cross_neither_water_nor_motorways(banks: tl.Network) -> None:
    # On the island; on the south bank; between the motorway and the south bank; beyond the motorway; in the river.
    places = at((11, 4.2), (20, 0.9), (20, -2.8), (20, -3.3), (20, 1.2), (20, 8.0))
    found = tl.snap(banks, places, transportation="driving", snapping={"threshold": 1000})
    assert found["way_id"].tolist()[1:] == [101, 101, 106, 101, 103]
    # All drivable streets are across the river.
    assert found["status"].iloc[0] == "not_snapped"
    on_foot = tl.snap(banks, places, transportation="walking", snapping={"threshold": 1000})
    assert on_foot["way_id"].tolist() == [104, 101, 101, 106, 101, 103]


def test_matrices_shapes_and_cells_agree_beside_a_river(banks: tl.Network) -> None:
    origin, island = at((10, 0)), at((13, 5))
    for transportation in ("walking", "driving"):
        times = tl.time_filter(banks, origin, island, travel_time=7200, transportation=transportation, form="matrix")
        assert times.isna().all(axis=None)
        shape = tl.time_map(
            banks, origin, travel_time=7200, transportation=transportation, level_of_detail="highest"
        ).geometry.iloc[0]
        assert not shape.contains(island.iloc[0])
        assert shape.contains(at((20, 10.5)).iloc[0])


def test_an_origin_must_be_left_and_a_destination_reached(banks: tl.Network) -> None:
    # The one-way street 108 ends at a dead end: one can arrive there, but not leave.
    dead_end, start = at((30, 16)), at((10, 0))
    there = tl.time_filter(banks, start, dead_end, travel_time=7200, transportation="driving", form="matrix")
    back = tl.time_filter(banks, dead_end, start, travel_time=7200, transportation="driving", form="matrix")
    assert there.notna().all(axis=None)
    # Snapped to street 107, 445 m away, instead of the dead end.
    assert back.notna().all(axis=None)
    parts = tl.routes(banks, start, dead_end, transportation="driving")
    assert parts["distance"].notna().all()


#: Searches for the travel time from the first of two places to the second, by car.
TIMES_OF = {
    "pairs": lambda net, here, there, **ask: tl.time_filter(net, here, there, **ask)["travel_time"],
    "sparse": lambda net, here, there, **ask: tl.time_filter(net, here, there, form="sparse", **ask)["travel_time"],
    "chosen": lambda net, here, there, **ask: tl.time_filter(net, here, there, pairs="aligned", **ask)["travel_time"],
    "lines": lambda net, here, there, **ask: tl.time_filter(
        net, here, there, properties=("travel_time", "route"), **ask
    )["travel_time"],
    "routes": lambda net, here, there, travel_time, **ask: tl.routes(net, here, there, **ask)["travel_time"],
    "nearest": lambda net, here, there, **ask: tl.nearest(net, here, there, **ask)["travel_time"],
    "accessibility": lambda net, here, there, **ask: tl.accessibility(
        net, here, there, measure="nearest", **ask
    )["travel_time_to_opportunities"],
    "prepared": lambda net, here, there, **ask: tl.time_filter(
        net, tl.prepare_points(net, here, transportation="driving"),
        tl.prepare_points(net, there, transportation="driving"), **ask
    )["travel_time"],
    "explain": lambda net, here, there, **ask: pd.Series([tl.explain(net, here, there, **ask).travel_time]),
}  # fmt: skip


@pytest.mark.parametrize("search", TIMES_OF)
def test_every_search_knows_which_end_is_which(banks: tl.Network, search: str) -> None:
    """Cars get to a dead end and do not leave it, so that as an origin it is snapped to another street, 445 m away."""
    dead_end, start = at((30, 16)), at((10, 0))
    ask = {"travel_time": 7200, "transportation": "driving"}
    for here, there in ((start, dead_end), (dead_end, start)):
        matrix = tl.time_filter(banks, here, there, form="matrix", **ask).iloc[0, 0]
        assert TIMES_OF[search](banks, here, there, **ask).tolist() == [matrix]


# The straight walk ---------------------------------------------------------------------------------------------------

coordinates = st.floats(-300.0, 300.0)


@given(
    st.lists(st.tuples(coordinates, coordinates, st.floats(5.0, 120.0), st.integers(3, 9)), min_size=1, max_size=5),
    coordinates, coordinates, coordinates, coordinates, st.sampled_from([0.5, 1.0]),
)  # fmt: skip
@pytest.mark.thorough
def test_a_walk_is_barred_where_more_than_some_metres_are_wet(lakes, px, py, qx, qy, k) -> None:
    discs = [shapely.Point(x, y).buffer(radius, quad_segs=n) for x, y, radius, n in lakes]
    water = shapely.union_all(discs)
    bodies = WaterBodies(shapely.get_parts(water))
    starts, ends = bodies.outlines()
    grid = build_grid(*starts.T.copy(), *ends.T.copy(), 60.0, np.full(len(starts), SHORE))
    walk = shapely.LineString([(px, py), (qx, qy)])
    wet = walk.intersection(water).length / max(walk.length, 1e-9) * np.hypot((qx - px) * k, qy - py)
    barred = barring(px, py, qx, qy, k, grid, True)[0] != -1
    # GEOS may divide by zero on the way; numpy warns of it.
    with np.errstate(divide="ignore", invalid="ignore"):
        from_shore, from_water = shapely.distance([water.boundary, water], shapely.Point(px, py))
    # A point on the shore is both on land and in the water.
    assume(from_shore > 1e-6)
    if from_water == 0.0:
        assert not barred  # somebody in the water may leave it
    elif abs(wet - WADE_M) > 1e-6:
        assert barred == (wet > WADE_M)


@pytest.mark.slow
@given(coordinates, coordinates, coordinates, coordinates, coordinates, coordinates, coordinates, coordinates)
def test_a_walk_is_barred_by_a_motorway_but_may_end_there(ax, ay, bx, by, px, py, qx, qy) -> None:
    ends = [np.array([value]) for value in (ax, ay, bx, by)]
    grid = build_grid(*ends, 60.0, np.array([MOTORWAY]))
    road, walk = shapely.LineString([(ax, ay), (bx, by)]), shapely.LineString([(px, py), (qx, qy)])
    meeting = road.intersection(walk)
    if meeting.geom_type != "Point" or min(road.distance(end) for end in walk.boundary.geoms) < 1e-6:
        return
    if min(walk.distance(end) for end in road.boundary.geoms) < 1e-6:
        return
    left_m = 0.0 if meeting.is_empty else walk.length - walk.project(meeting)
    if abs(left_m - REACH_M) > 1e-6:
        assert (barring(px, py, qx, qy, 1.0, grid, True)[0] >= 0) == (left_m > REACH_M)


@pytest.mark.slow
def test_walks_without_barriers_are_free() -> None:
    nothing = np.zeros(0)
    assert barring(0.0, 0.0, 1e6, 1e6, 1.0, build_grid(nothing, nothing, nothing, nothing, 60.0), True)[0] == -1


def test_a_point_that_is_moved_says_so(banks: tl.Network) -> None:
    islander = at((13, 4.6))
    there = tl.snap(banks, islander, transportation="driving", snapping={"threshold": 1000})
    assert there["status"].tolist() == ["not_snapped"]
    assert there["nearest_distance"].iloc[0] < 700
    beyond = tl.snap(banks, at((20, -2.9)), transportation="walking")
    assert beyond["snap_distance"].iloc[0] > beyond["nearest_distance"].iloc[0] + 50
    # A dead end is entered, but cannot be left.
    end = at((30, 16))
    for role, way in (("origin", 107), ("destination", 108)):
        found = tl.snap(banks, end, transportation="driving", role=role, snapping={"threshold": 1000})
        assert found["way_id"].tolist() == [way]
    with pytest.raises(tl.InputError, match="role must be"):
        tl.snap(banks, end, role="via")
    why = tl.explain(banks, end, at((10, 0)), travel_time=3600, transportation="driving", snapping={"threshold": 1000})
    assert why.is_reached
    assert "origin_moved" in why.codes
    assert "leads the wrong way" in str(why)
    why = tl.explain(banks, at((20, -2.9)), at((10, 0)), travel_time=3600, transportation="walking")
    assert "on the other side of water or of a motorway" in str(why)
    why = tl.explain(banks, islander, at((10, 0)), travel_time=3600, transportation="driving")
    assert "on the other side of water" in str(why)


@pytest.mark.parametrize(("north", "way"), [(5, 102), (6, 101)])
def test_a_motorway_is_crossed_if_no_other_street_is_near(tmp_path: Path, north: int, way: int) -> None:
    """11 m from the motorway, the street beyond it is 122 m away, the one on this side 544 m or 655 m."""
    nodes = {1: (-25, -1), 2: (25, -1), 3: (-25, north), 4: (25, north), 5: (-24, 0), 6: (24, 0)}
    ways = [
        (101, "1 2", "highway=residential"), (102, "3 4", "highway=residential"), (103, "1 3", "highway=residential"),
        (104, "5 6", "highway=motorway oneway=yes"),
    ]  # fmt: skip
    path = tmp_path / "motorway.osm"
    path.write_bytes(osm_xml({ref: (9.0 + x * STEP, 45.0 + y * STEP) for ref, (x, y) in nodes.items()}, ways))
    network, here = tl.build_network(path), at((0, 0.1))
    assert tl.snap(network, here, transportation="walking")["way_id"].tolist() == [way]
    ask = {"travel_time": 7200, "transportation": "walking"}
    for ends, side in (((here, at((20, -1.1))), "origin"), ((at((20, -1.1)), here), "destination")):
        why = tl.explain(network, *ends, **ask)
        assert why.is_reached
        assert (f"{side}_across_motorway" in why.codes) == (way == 101)
        assert (f"{side}_moved" in why.codes) == (way == 102)
    assert ("on the other side of a motorway" in str(why)) == (way == 101)


def test_ponds_are_no_barrier(tmp_path: Path) -> None:
    """A pond of 1.2 hectares, 177 m long, between a place and its street; one of 3.5 hectares bars the walk."""
    for width, bars in ((0.8, False), (2.5, True)):
        x = width / 2
        nodes = {1: (-9, 0), 2: (9, 0), 11: (-x, 0.2), 12: (x, 0.2), 13: (x, 1.8), 14: (-x, 1.8)}
        path = tmp_path / "pond.osm"
        ways = [(101, "1 2", "highway=residential"), (102, "11 12 13 14 11", "natural=water")]
        path.write_bytes(osm_xml({ref: (9.0 + x * STEP, 45.0 + y * STEP) for ref, (x, y) in nodes.items()}, ways))
        found = tl.snap(tl.build_network(path), at((0, 2.0)), transportation="walking")
        assert (found["snap_distance"].fillna(999.0) > 240).tolist() == [bars]


# What is behind water ------------------------------------------------------------------------------------------------


def barriers_of(bodies: WaterBodies, motorways: np.ndarray) -> Grid:
    """Return a grid of shores, and of motorways given as rows of x and y of both ends."""
    starts, ends = bodies.outlines()
    rows = np.concatenate([np.column_stack([starts, ends]), motorways.reshape(-1, 4)])
    marks = np.repeat(np.array([SHORE, MOTORWAY]), [len(starts), len(motorways)])
    return build_grid(*(column.copy() for column in rows.T), 60.0, marks)


def river(width: float) -> WaterBodies:
    """Return a river along the x axis, in pieces as `WaterBodies.build` makes them."""
    return WaterBodies(shapely.box(np.arange(-1150.0, 1150.0, 500.0), 0.0, np.arange(-650.0, 1650.0, 500.0), width))


@given(
    st.lists(st.tuples(coordinates, coordinates, st.floats(5.0, 200.0), st.integers(3, 9)), min_size=1, max_size=4),
    coordinates, coordinates, st.floats(0.0, 40.0), st.floats(0.0, 40.0), coordinates, coordinates,
    st.sampled_from([0.0, 45.0]), st.sampled_from([0.5, 1.0]),
)  # fmt: skip
@pytest.mark.thorough
def test_all_walks_to_what_is_behind_water_are_barred(lakes, x, y, half_x, half_y, to_x, to_y, to_half, k) -> None:
    discs = [shapely.Point(x, y).buffer(radius, quad_segs=n) for x, y, radius, n in lakes]
    bodies = WaterBodies(shapely.get_parts(shapely.union_all(discs)))
    grid = barriers_of(bodies, np.zeros((0, 4)))
    shares = np.linspace(-1.0, 1.0, 5)
    starts = [(x + a * half_x, y + b * half_y) for a in shares for b in shares]
    on_land = [start for start in starts if shapely.distance(bodies.geometry, shapely.Point(start)) > 1e-6]
    if on_land and is_behind_water(*on_land[0], k, x, y, half_x, half_y, to_x, to_y, to_half, grid):
        for start in on_land:
            for a in shares:
                for b in shares:
                    assert barring(*start, to_x + a * to_half, to_y + b * to_half, k, grid, False)[0] == -2


@pytest.mark.slow
@pytest.mark.parametrize(("width", "is_wide"), [(300.0, True), (150.0, True), (8.0, False)])
def test_a_wide_river_hides_the_other_bank(width: float, is_wide: bool) -> None:
    grid = barriers_of(river(width), np.zeros((0, 4)))
    for to_y in (width + 100.0, width + 500.0):
        assert is_behind_water(10.0, -50.0, 1.0, 0.0, -60.0, 16.0, 16.0, 40.0, to_y, 45.0, grid) == is_wide
    # On the same bank, and in the river.
    assert not is_behind_water(10.0, -50.0, 1.0, 0.0, -60.0, 16.0, 16.0, 40.0, -300.0, 45.0, grid)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("step", [4.0, 21.0, 80.0])
def test_rasters_beside_rivers_find_what_points_find(seed: int, step: float) -> None:
    """Rasters skip what is behind water, points look at each street: the answers are equal."""
    rng = np.random.default_rng(seed)
    bodies = river(float(rng.choice([30.0, 120.0, 250.0])))
    # Most streets are on the other bank, which few cells reach; some are bridges.
    x, y = rng.uniform(-600.0, 600.0, 400), np.append(rng.uniform(-700.0, -400.0, 20), rng.uniform(100.0, 700.0, 380))
    dx, dy = rng.normal(0.0, 40.0, (2, 400))
    streets = build_grid(
        x, y, x + dx, y + dy, 90.0, rng.choice(np.array([1, 3], np.uint8), 400), np.arange(400, dtype=np.int32)
    )
    motorways = rng.uniform(-500.0, 300.0, (int(rng.integers(0, 4)), 4))
    walls, limit = barriers_of(bodies, motorways), float(rng.choice([400.0, 1000.0]))
    shape = (24, 40)
    shrink = np.linspace(0.99, 1.01, shape[0])
    centres = raster_barriers.Centres(-0.5 * shape[1] * step, -0.7 * shape[0] * step, step, shrink)
    rules = (limit, streets, np.uint8(2), walls)
    on_raster, _, _ = nearest_raster.nearest_on_raster(centres, np.ones(shape, np.bool_), *rules)
    px = np.broadcast_to(centres.first_x + np.arange(shape[1]) * step, shape).ravel()
    py = np.repeat(centres.first_y + np.arange(shape[0]) * step, shape[1])
    found, _ = nearest.nearest_segments(px, py, np.repeat(shrink, shape[1]), *rules)
    across, _ = nearest.nearest_across_barriers(px, py, np.repeat(shrink, shape[1]), *rules[:3])
    assert np.array_equal(on_raster.segment.ravel(), found.segment)
    assert np.array_equal(on_raster.distance.ravel(), found.distance.astype(np.float32))
    assert np.array_equal(on_raster.position.ravel(), found.position.astype(np.float32))
    assert (found.segment != across.segment).any()


@pytest.mark.parametrize("seed", range(8))
def test_nearest_streets_among_motorways_are_those_of_a_search_through_all(seed: int) -> None:
    """Points next to one another, whose searches share what they find out about motorways, and points far away."""
    rng = np.random.default_rng(seed)
    n, x, y = 300, *rng.uniform(-700.0, 700.0, (2, 300))
    dx, dy = rng.normal(0.0, 30.0, (2, n))
    streets = build_grid(x, y, x + dx, y + dy, 90.0, np.ones(n, np.uint8), np.arange(n, dtype=np.int32))
    # A motorway of short segments, and others that cross it.
    at = np.linspace(-800.0, 800.0, 40)
    bend = np.column_stack([at, 60.0 * np.sin(at / 150.0)])
    motorways = np.concatenate([np.column_stack([bend[:-1], bend[1:]]), rng.uniform(-600.0, 600.0, (6, 4))])
    limit, k = float(rng.choice([200.0, 1000.0])), 0.9
    walls = barriers_of(river(40.0), motorways)
    px, py = np.tile(np.arange(-90.0, 91.0, 15.0), 2), np.repeat([-20.0, 70.0], 13)
    px, py = np.append(px, rng.uniform(-700.0, 700.0, 20)), np.append(py, rng.uniform(-700.0, 700.0, 20))
    found, _ = nearest.nearest_segments(px, py, np.full(px.size, k), limit, streets, np.uint8(1), walls)
    for i in range(px.size):
        here = [nearest.place_on(px[i], py[i], k, *ends) for ends in streets.ends]
        metres = np.sqrt([squared for _, squared in here])
        along = zip(here, streets.ends, strict=True)
        ends = [(x1 + t * (x2 - x1), y1 + t * (y2 - y1)) for (t, _), (x1, y1, x2, y2) in along]
        best = np.inf
        most = min(limit, metres.min() + nearest.DETOUR_M)
        for with_motorways in (True, False):
            bars = np.array([barring(px[i], py[i], *end, k, walls, with_motorways)[0] for end in ends])
            best = metres[(bars == -1) & (metres <= most)].min(initial=np.inf)
            if best < np.inf:
                break
        assert found.distance[i] == pytest.approx(best)


@pytest.mark.slow
@given(
    coordinates, coordinates, coordinates, coordinates, coordinates, coordinates, st.sampled_from([0.5, 1.0]),
    st.floats(0.2, 3.0), st.floats(-0.4, 0.4), st.sampled_from([1.0, 20.0, 45.0]),
)  # fmt: skip
def test_all_walks_to_a_square_behind_a_motorway_are_barred(ax, ay, bx, by, px, py, k, away, aside, half) -> None:
    ends = [np.array([value]) for value in (ax, ay, bx, by)]
    grid = build_grid(*ends, 60.0, np.array([MOTORWAY]))
    mid_x, mid_y = (ax + bx) / 2 + aside * (bx - ax), (ay + by) / 2 + aside * (by - ay)
    x, y = mid_x + away * (mid_x - px), mid_y + away * (mid_y - py)
    is_behind = bars_square(px, py, k, ax, ay, bx, by, x, y, half + 0.001)
    shares = np.linspace(-1.0, 1.0, 5)
    barred = [crosses_at(px, py, x + a * half, y + b * half, k, grid, 0)[1] for a in shares for b in shares]
    assert all(barred) or not is_behind
    assert bars_square(px, py, k, bx, by, ax, ay, x, y, half + 0.001) == is_behind


def test_a_square_far_behind_a_motorway_is_barred() -> None:
    for turn in range(8):
        c, s = np.cos(turn * np.pi / 4), np.sin(turn * np.pi / 4)
        corners = [
            (c * x - s * y, s * x + c * y) for x, y in ((30.0, -40.0), (30.0, 40.0), (200.0, 30.0), (200.0, 300.0))
        ]
        (ax, ay), (bx, by), behind, beside = corners
        assert bars_square(0.0, 0.0, 1.0, ax, ay, bx, by, *behind, 45.0)
        assert not bars_square(0.0, 0.0, 1.0, ax, ay, bx, by, *beside, 45.0)
        # The motorway is 30 m away.
        assert not bars_square(0.0, 0.0, 1.0, ax, ay, bx, by, c * 70.0, s * 70.0, 45.0)


def assert_positions_on_edges(network: tl.Network, seed: int) -> None:
    """Compare the coordinates of random positions with those of a slow walk along the edges."""
    rng = np.random.default_rng(seed)
    streets = network.streets
    edge = rng.integers(0, streets.n_edges, 300).astype(np.int32)
    fraction = rng.choice([0.0, 1.0, 0.5, *rng.random(20)], edge.size)
    edge[:5] = -1
    nothing = np.zeros(edge.size)
    snaps = snapping.Snaps(edge, fraction, nothing, nothing.astype(np.int8), nothing, nothing)
    lng, lat = snapping.snapped_coordinates(streets, snaps)
    assert np.isnan(lng[:5]).all() and np.isnan(lat[:5]).all()
    t = streets.tables
    for i in range(5, edge.size):
        part = slice(t.coord_indptr[edge[i]], t.coord_indptr[edge[i] + 1])
        x, y = streets.frame.to_xy(t.coord_lng[part], t.coord_lat[part])
        shrink = streets.frame.shrink((y[:-1] + y[1:]) / 2)
        along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x) * shrink, np.diff(y)))])
        there = np.array([np.interp(fraction[i] * along[-1], along, axis) for axis in (x, y)])
        found = np.array(streets.frame.to_xy(lng[i : i + 1], lat[i : i + 1]))[:, 0]
        assert np.abs(found - there).max() < 0.01, (i, edge[i], fraction[i])


def test_segments_are_the_shares_of_their_edges() -> None:
    """Also of a street of 60 cm, of one whose bends are at one place and of one without a length, far in the north."""
    frame = LocalFrame(24.9, 60.2)
    nodes = {"a": (0, 0), "b": (300, 0), "c": (300, 0.6), "d": (900, 900), "e": (900, 900)}
    ways = [
        ("a", "b", {"via": [(0, 400), (100, 400)]}), ("b", "c", {"via": [(300.2, 0.0), (300.2, 0.5)]}),
        ("b", "d", {"via": [(300, 0), (300, 0), (700, 100)]}),
        ("d", "e"),
    ]  # fmt: skip
    streets = world(nodes, ways, frame=frame).streets
    x1, y1, x2, y2, edge, start, span = snapping.segments(streets)
    t, row = streets.tables, 0
    for number in range(streets.n_edges):
        line = slice(t.coord_indptr[number], t.coord_indptr[number + 1])
        x, y = streets.frame.to_xy(t.coord_lng[line], t.coord_lat[line])
        shrink = streets.frame.shrink(y)
        metres = [
            np.hypot((x[i + 1] - x[i]) * (shrink[i] + shrink[i + 1]) / 2, y[i + 1] - y[i]) for i in range(len(x) - 1)
        ]
        for i, length in enumerate(metres):
            assert edge[row] == number
            assert [x1[row], y1[row], x2[row], y2[row]] == [x[i], y[i], x[i + 1], y[i + 1]]
            assert start[row] == pytest.approx(sum(metres[:i]) / (sum(metres) or 1), abs=1e-9)
            assert span[row] == pytest.approx(length / (sum(metres) or 1), abs=1e-9)
            row += 1
    assert row == len(edge) == 11


@pytest.mark.parametrize("seed", range(3))
def test_positions_on_edges_are_those_of_a_slow_walk_along_them(banks: tl.Network, seed: int) -> None:
    assert_positions_on_edges(banks, seed)


@pytest.mark.parametrize("seed", range(3))
def test_positions_on_edges_of_a_city(helsinki: tl.Network, seed: int) -> None:
    assert_positions_on_edges(helsinki, seed)


def test_points_at_closed_streets(banks: tl.Network) -> None:
    """A point at a junction is at a closed street if all streets that meet there are closed."""
    places = at((20, 0), (40, 5), (40, 0), (-30, 0))
    for ways, expected in (
        ([101], [True, False, False, False]),
        ([101, 102], [True, True, False, False]),
        ([101, 102, 106], [True, True, True, False]),
    ):
        closed = banks.with_changes(tl.CloseStreets(ways=ways))
        walking = Transportation("walking")
        asked = places.x.to_numpy(), places.y.to_numpy(), walking, Snapping(threshold=500)
        snaps = snapping.snap_points(closed.streets, *asked)
        assert (snaps.edge >= 0).tolist() == [True, True, True, False]
        topology = closed.streets.road_graph(walking).topology
        assert snapping.on_closed_streets(topology, snaps).tolist() == expected


def test_what_is_outside_is_farther_than_the_threshold_from_all_streets(banks: tl.Network) -> None:
    """Some places within its box, or less than 300 m from it, are too far from streets."""
    places = at((20, 0), (-6, -4.9), (-4.9, 6), (-20, 6), (20, 40), (70, 0), (20, -20))
    found = tl.snap(banks, places, transportation="driving", snapping={"threshold": 300})
    asked = places.x.to_numpy(), places.y.to_numpy(), Transportation("driving"), Snapping(threshold=300)
    snaps = snapping.snap_points(banks.streets, *asked)
    assert (found["status"] == "snapped").tolist() == (snaps.status == snapping.SNAPPED).tolist()
    assert snaps.status.tolist() == [snapping.SNAPPED, *[snapping.TOO_FAR] * 2, *[snapping.OUTSIDE] * 4]


def test_distances_of_many_points_are_those_of_few(helsinki: tl.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    west, south, east, north = helsinki.bounds
    rng = np.random.default_rng(4)
    asked = (helsinki.streets, rng.uniform(west, east, 500), rng.uniform(south, north, 500), Transportation("walking"))
    few = snapping.metres_to_streets(*asked)
    monkeypatch.setattr(snapping, "MANY_POINTS", 100)
    assert (snapping.metres_to_streets(*asked) == few).all()
