"""Contours of surfaces small enough to work out by hand, and the laws that shapes obey."""

from __future__ import annotations

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from shapely import MultiPolygon, box

from tests.support.oracles import outlines_by_contourpy
from traveltime_lab.crs import LocalFrame
from traveltime_lab.errors import CrsError, InputError, LimitError
from traveltime_lab.search.set_operations import difference, intersection, union
from traveltime_lab.surfaces.polygons import (
    Surface,
    bounding_boxes,
    coarse_grid_polygons,
    contour_polygons,
    fill_holes,
    include_point,
    is_surrounded,
    largest_polygons,
    to_lnglat,
)
from traveltime_lab.surfaces.road_buffer import road_buffer_surface

FRAME = LocalFrame(-8.61, 41.15)
INF = np.inf

quick = settings(max_examples=60, deadline=None)
values = st.one_of(st.integers(0, 60).map(float), st.floats(0, 60, width=32), st.just(INF))
grids = arrays(np.float32, st.tuples(st.integers(1, 8), st.integers(1, 8)), elements=values)


def surface(rows, cell_m=10.0, x0=0.0, y0=0.0):
    """The first row is the northernmost, as one draws it."""
    return Surface(FRAME, x0, y0, cell_m, np.array(rows, np.float32)[::-1])


def cone(metres_per_unit, cell_m=25.0, half=150):
    y, x = np.mgrid[-half : half + 1, -half : half + 1] * cell_m
    return Surface(FRAME, -half * cell_m, -half * cell_m, cell_m, (np.hypot(x, y) / metres_per_unit).astype(np.float32))


def assert_good(shape):
    assert isinstance(shape, MultiPolygon)
    assert shape.is_valid, shapely.is_valid_reason(shape)
    assert not any(part.is_empty for part in shape.geoms)
    for part in shape.geoms:
        assert part.exterior.is_ccw
        assert not any(hole.is_ccw for hole in part.interiors)


# Contours


@pytest.mark.parametrize("radius_m", [500.0, 1000.0, 3000.0])
def test_a_cone_of_walking_times_is_a_disc(radius_m):
    shape = contour_polygons(cone(1.25), radius_m / 1.25)
    assert_good(shape)
    assert shape.area == pytest.approx(np.pi * radius_m**2, rel=0.01)
    assert shape.hausdorff_distance(shapely.Point(0, 0).buffer(radius_m, quad_segs=64)) < 2.0


def test_the_contour_interpolates_values_not_a_mask():
    # 2 s of slack against 6 s too many: a quarter of the way to the next cell on each side.
    shape = contour_polygons(surface([[INF, 16, INF], [16, 8, 16], [INF, 16, INF]]), 10.0)
    assert shape.normalize().equals_exact(
        MultiPolygon([shapely.Polygon([(12.5, 10), (10, 12.5), (7.5, 10), (10, 7.5)])]).normalize(), 1e-6
    )


def test_the_contour_runs_half_way_across_a_step():
    shape = contour_polygons(surface([[0, 900], [0, 900]]), 100.0)
    assert shape.bounds == pytest.approx((-5, -5, 5, 15))


def test_time_that_is_almost_up_stays_near_the_reached_cell():
    near = contour_polygons(surface([[99, INF]]), 100.0)
    assert near.bounds[2] == pytest.approx(10 * 1 / 11, abs=1e-4)


def test_nothing_reached_is_empty():
    for rows in ([[INF]], [[200.0, 300.0]], [[np.nan]], np.zeros((0, 0))):
        assert contour_polygons(surface(rows), 100.0).is_empty
        assert coarse_grid_polygons(surface(rows), 100.0, 600).is_empty


def test_a_hole_is_a_hole_and_can_be_filled_with_its_island():
    rows = np.zeros((7, 7))
    rows[1:6, 1:6] = INF
    rows[3, 3] = 0
    shape = contour_polygons(surface(rows), 100.0)
    assert_good(shape)
    assert len(shape.geoms) == 2
    filled = fill_holes(shape)
    assert_good(filled)
    assert len(filled.geoms) == 1
    assert filled.area == pytest.approx(70 * 70 - 4 * 12.5)  # four cut corners


def test_limits_that_are_no_numbers_are_refused():
    for limit in (INF, np.nan):
        with pytest.raises(InputError, match="finite limit"):
            contour_polygons(surface([[0]]), limit)


@settings(max_examples=300, deadline=None)
@given(
    arrays(
        np.float32,
        st.tuples(st.integers(1, 10), st.integers(1, 10)),
        elements=st.sampled_from([0.0, 20.0, 30.0, 31.0, 45.0, INF, np.nan]) | st.floats(0, 60, width=32),
    ),
    st.sampled_from([20, 30, 37]),
)
def test_contours_are_those_of_contourpy(grid, limit):
    """Another implementation, of the whole raster; corners between all four of a square included."""
    shape = contour_polygons(Surface(FRAME, 30.0, -20.0, 10.0, grid), limit)
    assert_good(shape)
    expected = outlines_by_contourpy(grid, limit, step=10.0, clearance=0.1)
    there = shapely.transform(expected, lambda xy: 10.0 * xy + (30.0, -20.0))
    assert shapely.equals_exact(shapely.normalize(shape), shapely.normalize(there), 1e-6)


@quick
@given(grids, st.integers(1, 50), st.integers(0, 15))
def test_contours_are_valid_and_nested_by_limit(grid, limit, more):
    surface = Surface(FRAME, 0.0, 0.0, 10.0, grid)
    small, large = contour_polygons(surface, limit), contour_polygons(surface, limit + more)
    assert_good(small)
    assert_good(large)
    assert large.covers(small) or small.difference(large).area < 1e-9


@quick
@given(grids, st.integers(1, 50), st.integers(0, 15))
def test_a_search_that_stopped_earlier_draws_no_more(grid, limit, more):
    bounded = np.where(grid <= limit, grid, np.float32(INF))
    small = contour_polygons(Surface(FRAME, 0.0, 0.0, 10.0, bounded), limit)
    large = contour_polygons(Surface(FRAME, 0.0, 0.0, 10.0, grid), limit + more)
    assert small.difference(large).area < 1e-9


def stepped(seed: int, most: float = np.inf) -> Surface:
    """Return a surface whose values jump between random squares of 7 m; those beyond `most` are inf."""
    steps = np.random.default_rng(seed).choice(np.array([0.0, 3.0, 25.0, 60.0, INF]), (12, 12))

    def probe(x, y):
        values = steps[np.floor(y / 7.0).astype(int) % 12, np.floor(x / 7.0).astype(int) % 12] + 0.4 * np.hypot(x, y)
        return np.where(values <= most, values, INF).astype(np.float32)

    y, x = np.mgrid[:8, :8] * 10.0
    return Surface(FRAME, 0.0, 0.0, 10.0, probe(x, y), probe)


@quick
@given(st.integers(0, 2**32 - 1), st.integers(1, 80), st.integers(0, 15), st.integers(1, 3))
def test_contours_with_halvings_are_valid_nested_and_on_the_side_of_cells(seed, limit, more, halvings):
    whole = stepped(seed)
    small, large = (contour_polygons(whole, level, halvings=halvings) for level in (limit, limit + more))
    assert_good(small)
    assert_good(large)
    assert small.difference(large).area < 1e-9
    y, x = np.mgrid[:8, :8] * 10.0
    assert np.array_equal(shapely.contains_xy(small, x, y), whole.values <= limit)
    # A search knows values up to a cell, in seconds, beyond its limit.
    bounded = contour_polygons(stepped(seed, limit + 10.0), limit, halvings=halvings)
    assert bounded.equals_exact(small, 0.0)


@quick
@given(st.integers(0, 2**32 - 1), st.integers(1, 80), st.integers(1, 3))
def test_halvings_end_where_the_limit_is_exceeded(seed, limit, halvings):
    """One crossing after another, from the reached cell towards its neighbour."""
    drawn = stepped(seed)
    width = 10.0 / 2**halvings
    for x, y in shapely.get_coordinates(contour_polygons(drawn, limit, halvings=halvings)):
        ends = np.array([[np.floor(x / 10), np.floor(y / 10)], [np.ceil(x / 10), np.ceil(y / 10)]]) * 10.0
        if not ((ends >= 0) & (ends <= 70)).all():
            continue
        first, second = drawn.probe(*ends.T).astype(float)
        if not abs(first - second) > 10.0:
            continue
        inside, outside = ends if first <= limit else ends[::-1]
        ahead = (outside - inside) / 10.0
        low, high = 0.0, 10.0
        while high - low > width:
            middle = (low + high) / 2
            value = drawn.probe(*(inside + middle * ahead)[:, None])[0]
            low, high = (middle, high) if value <= limit else (low, middle)
        assert low - 1e-9 <= (np.array([x, y]) - inside) @ ahead <= high + 1e-9


@quick
@given(grids, st.integers(1, 50))
def test_cells_lie_on_their_side_of_the_contour(grid, limit):
    shape = contour_polygons(Surface(FRAME, 0.0, 0.0, 10.0, grid), limit)
    y, x = np.mgrid[: grid.shape[0], : grid.shape[1]] * 10.0
    assert np.array_equal(shapely.contains_xy(shape, x, y), grid <= limit)


@quick
@given(grids, st.integers(1, 50))
def test_a_wider_window_changes_nothing(grid, limit):
    wider = np.pad(grid, 3, constant_values=np.float32(INF))
    a = contour_polygons(Surface(FRAME, 30.0, 30.0, 10.0, grid), limit)
    b = contour_polygons(Surface(FRAME, 0.0, 0.0, 10.0, wider), limit)
    assert a.equals_exact(b, 1e-9)


@quick
@given(grids, st.integers(1, 50), st.integers(0, 9))
def test_every_step_after_the_contour_keeps_shapes_good(grid, limit, digits):
    surface = Surface(FRAME, 0.0, 0.0, 10.0, grid)
    shape = include_point(contour_polygons(surface, limit), 33.0, 21.0, 4.0)
    assert_good(shape)
    assert shape.covers(shapely.Point(33.0, 21.0))
    filled = fill_holes(shape)
    assert_good(filled)
    assert filled.area >= shape.area
    assert filled.equals(shapely.union_all([shapely.Polygon(part.exterior) for part in shape.geoms]))
    assert_good(largest_polygons(filled, 2))
    assert_good(to_lnglat(shape, FRAME))
    assert_good(to_lnglat(shape, FRAME, decimals=digits))


# Options


def test_only_the_largest_polygons_stay():
    shape = MultiPolygon([box(0, 0, 1, 1), box(10, 0, 13, 3), box(20, 0, 22, 2)])
    assert [part.area for part in largest_polygons(shape, 2).geoms] == [9, 4]
    assert largest_polygons(shape, 3) is shape
    with pytest.raises(LimitError, match="at least 1"):
        largest_polygons(shape, 0)


def test_areas_compare_in_true_metres():
    # At 60 degrees north a degree of longitude is much shorter than at the centre of this frame.
    frame = LocalFrame(0.0, 45.0)
    north = 15.0 * frame.metres_per_degree_lat
    shape = MultiPolygon([box(0, 0, 1000, 1000), box(0, north, 1200, north + 1000)])
    assert largest_polygons(shape, 1).bounds[1] == pytest.approx(north)
    assert largest_polygons(shape, 1, frame=frame).bounds[1] == 0


def test_an_origin_apart_from_the_shape_gets_its_disc():
    shape = include_point(MultiPolygon([box(0, 0, 10, 10)]), 100.0, 5.0, 4.0)
    assert_good(shape)
    assert len(shape.geoms) == 2
    assert include_point(shape, 100.0, 5.0, 1.0) is shape
    assert include_point(MultiPolygon(), 0.0, 0.0, 4.0).area == pytest.approx(np.pi * 16, rel=0.03)


def test_coarse_grids_are_whole_squares_of_the_frame():
    y, x = np.mgrid[0:4, 0:4]
    reached = Surface(FRAME, 50.0, -550.0, 100.0, np.where((x == 3) & (y == 3), 5.0, INF).astype(np.float32))
    shape = coarse_grid_polygons(reached, 10.0, 600, origin_xy=(650.0, 10.0))
    assert_good(shape)
    assert shape.equals(shapely.union_all([box(0, -600, 600, 0), box(600, 0, 1200, 600)]))


@quick
@given(grids, st.integers(1, 50), st.integers(0, 15))
def test_coarse_grids_hold_their_cells_and_are_nested(grid, limit, more):
    surface = Surface(FRAME, -35.0, -35.0, 10.0, grid)
    small, large = (coarse_grid_polygons(surface, t, 25) for t in (limit, limit + more))
    assert_good(small)
    assert small.area % 625 == pytest.approx(0, abs=1e-6)
    assert small.is_empty or large.covers(small)
    rows, cols = np.nonzero(grid <= limit)
    assert shapely.covers(small, shapely.points(-35.0 + 10 * cols, -35.0 + 10 * rows)).all()


# Degrees


def test_degrees_are_longitude_first():
    shape = to_lnglat(MultiPolygon([box(-10, -10, 10, 10)]), LocalFrame(139.69, 35.69))
    assert shape.centroid.coords[0] == pytest.approx((139.69, 35.69), abs=1e-6)
    assert_good(shape)


def test_rounding_never_makes_a_shape_invalid():
    needle = MultiPolygon([shapely.Polygon([(0, 0), (100, 0.001), (100, 0.002)])])
    assert_good(to_lnglat(needle, FRAME, decimals=6))


@pytest.mark.parametrize("lng0", [179.99, -179.99, 180.0])
def test_shapes_are_split_at_the_180th_meridian(lng0):
    frame = LocalFrame(lng0, -16.5)
    local = MultiPolygon([box(-5000, -100, 5000, 100).difference(box(-4000, -50, 4000, 50))])
    shape = to_lnglat(local, frame)
    assert_good(shape)
    assert shape.bounds[0] == -180
    assert shape.bounds[2] == 180
    metres2 = frame.metres_per_degree_lng * frame.metres_per_degree_lat
    assert shape.area * metres2 == pytest.approx(local.area)
    assert len(shape.geoms) == 2


# Buffered roads


def test_a_road_is_buffered_on_all_sides():
    road = np.array([[0.0, 0.0, 1000.0, 500.0], [1000.0, 500.0, 1000.0, 500.0]])
    shape = contour_polygons(road_buffer_surface(road, 250.0, cell_m=25.0, frame=FRAME), 250.0)
    assert_good(shape)
    exact = shapely.LineString([(0, 0), (1000, 500)]).buffer(250.0, quad_segs=64)
    assert shape.symmetric_difference(exact).area < 0.005 * exact.area


def test_no_roads_have_no_buffer():
    nothing = road_buffer_surface(np.zeros((0, 4)), 250.0, cell_m=25.0, frame=FRAME)
    assert contour_polygons(nothing, 250.0).is_empty
    with pytest.raises(LimitError, match="positive"):
        road_buffer_surface(np.zeros((0, 4)), 0.0, cell_m=25.0, frame=FRAME)


@settings(max_examples=25, deadline=None)
@given(arrays(np.float64, (5, 4), elements=st.integers(-12000, 12000).map(lambda k: k / 8)), st.integers(1, 5))
def test_distances_are_exact_and_more_roads_cover_more(roads, few):
    all_roads = road_buffer_surface(roads, 300.0, cell_m=60.0, frame=FRAME)
    y, x = np.indices(all_roads.values.shape)
    points = shapely.points(all_roads.x0 + 60.0 * x, all_roads.y0 + 60.0 * y)
    lines = shapely.multilinestrings(shapely.linestrings(roads.reshape(-1, 2, 2)))
    truth = shapely.distance(points, lines)
    near = np.isfinite(all_roads.values)
    assert np.abs(all_roads.values - truth)[near].max() < 0.01
    assert (truth[~near] > 359.99).all()
    some = road_buffer_surface(roads[:few], 300.0, cell_m=60.0, frame=FRAME)
    small, large = contour_polygons(some, 300.0), contour_polygons(all_roads, 300.0)
    assert small.difference(large).area < 1e-6


# Boxes


def test_a_square_is_its_own_box():
    (envelope, boxes), *others = bounding_boxes(MultiPolygon([box(0, 0, 10, 10)]), step=20)
    assert not others
    assert envelope.tolist() == [0, 0, 10, 10]
    assert boxes.tolist() == [[0, 0, 10, 10]]


@quick
@given(grids, st.sampled_from([None, 7.0, 30.0]))
def test_boxes_cover_their_polygon_and_do_not_overlap(grid, step):
    shape = contour_polygons(Surface(FRAME, 0.0, 0.0, 10.0, grid), 30.0)
    answer = bounding_boxes(shape, step=step)
    assert len(answer) == len(shape.geoms)
    for part, (envelope, boxes) in zip(shape.geoms, answer, strict=True):
        assert tuple(envelope) == part.bounds
        rectangles = shapely.box(*boxes.T)
        joined = shapely.union_all(rectangles)
        assert joined.area == pytest.approx(shapely.area(rectangles).sum())
        assert part.difference(joined).area < 1e-9
        assert box(*envelope).covers(joined)


# Sets


squares = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(1, 6), st.integers(1, 6)).map(
        lambda t: box(t[0], t[1], t[0] + t[2], t[1] + t[3])
    ),
    min_size=1,
    max_size=4,
).map(lambda parts: gpd.GeoSeries([MultiPolygon([part]) for part in parts], crs=4326))


@quick
@given(squares)
def test_members_lie_between_intersection_and_union(shapes):
    (both,), (any_,) = intersection(shapes).geometry, union(shapes).geometry
    assert_good(both)
    assert_good(any_)
    for member in shapes:
        assert any_.covers(member)
        assert both.is_empty or member.covers(both)


@quick
@given(squares, squares)
def test_difference_and_subtrahend_make_the_union(a, b):
    (rest,) = difference(a, b).geometry
    assert_good(rest)
    (removed,), (whole,) = union(b).geometry, union(gpd.GeoSeries([*a, *b], crs=4326)).geometry
    assert rest.intersection(removed).area == 0
    assert rest.area + removed.area == pytest.approx(whole.area)


def test_set_operations_answer_one_row_in_degrees():
    shapes = gpd.GeoDataFrame({"origin": ["a", "b"]}, geometry=[box(0, 0, 2, 2), box(1, 1, 3, 3)], crs=4326)
    answer = union(shapes.to_crs(3857), search_id="both")
    assert answer.shape == (1, 2)
    assert answer["search_id"].tolist() == ["both"]
    # Names and numbers get the column type that pandas gives them, other labels are kept.
    for search_id in ("both", 5, 0.5, ("a", 1), None):
        column = union(shapes, search_id=search_id).get("search_id", pd.Series([None]))
        assert column.dtype == (pd.Series([search_id]).dtype if isinstance(search_id, str | int | float) else object)
        assert column.tolist() == [search_id]
    assert answer.crs == "EPSG:4326"
    assert answer.geometry[0].bounds == pytest.approx((0, 0, 3, 3))
    assert intersection(shapes).columns.tolist() == ["geometry"]


def test_shapes_that_only_touch_share_nothing():
    shapes = gpd.GeoSeries([box(0, 0, 1, 1), box(1, 0, 2, 1)], crs=4326)
    assert intersection(shapes).geometry[0] == MultiPolygon()
    assert intersection(gpd.GeoSeries([box(0, 0, 1, 1), None], crs=4326)).geometry[0].is_empty
    assert union(shapes[:0]).geometry[0].is_empty


def test_set_operations_refuse_what_means_nothing():
    with pytest.raises(CrsError, match="shapes has no CRS"):
        union(gpd.GeoSeries([box(0, 0, 1, 1)]))
    with pytest.raises(CrsError, match="subtrahend has no CRS"):
        difference(gpd.GeoSeries([box(0, 0, 1, 1)], crs=4326), gpd.GeoSeries([box(0, 0, 1, 1)]))
    with pytest.raises(InputError, match="at least one"):
        intersection(gpd.GeoSeries([], crs=4326))
    with pytest.raises(InputError, match="got Polygon"):
        union(box(0, 0, 1, 1))


def test_several_tables():
    squares = [gpd.GeoSeries([box(x, 0, x + 2, 1)], crs="EPSG:4326") for x in (0, 1)]
    mercator = squares[1].to_crs("EPSG:3857")
    assert union(squares[0], mercator).geometry.iloc[0].area == pytest.approx(3.0)
    assert intersection(squares[0], mercator).geometry.iloc[0].area == pytest.approx(1.0)
    with pytest.raises(CrsError):
        union(squares[0], squares[1].set_crs(None, allow_override=True))


@quick
@given(grids, st.integers(1, 50), st.floats(0, 70), st.floats(0, 70))
def test_what_is_surrounded_holds_its_disc(grid, limit, x, y):
    drawn = Surface(FRAME, 0.0, 0.0, 10.0, grid)
    if is_surrounded(drawn, limit, x, y):
        shape = contour_polygons(drawn, limit)
        assert include_point(shape, x, y, 5.0) is shape


def test_surrounded_by_nine_cells():
    drawn = surface([[1, 1, 1, 9], [1, 1, 1, 1], [1, 1, 1, 1]])
    assert is_surrounded(drawn, 5.0, 10.0, 10.0)
    assert is_surrounded(drawn, 5.0, 14.9, 5.1)
    for x, y in ((20.0, 10.0), (10.0, 0.0), (0.0, 10.0), (10.0, 20.0), (-50.0, 10.0), (500.0, 10.0)):
        assert not is_surrounded(drawn, 5.0, x, y)
