"""Small seas drawn in metres around Tokyo, whose sides one can tell by eye; and laws of cutting them out."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely import MultiPolygon, Point, box

from traveltime_lab.crs import LocalFrame
from traveltime_lab.errors import FormatError
from traveltime_lab.network.water import WaterBodies

FRAME = LocalFrame(139.69, 35.69)
HALF_M, MARGIN_M = 1000.0, 500.0  # the network is 2 km wide, the box 3 km


def lnglat(xy, frame=FRAME):
    xy = np.asarray(xy, np.float64)
    return np.column_stack(frame.to_lnglat(xy[:, 0], xy[:, 1]))


def build(coastlines=(), water=(), frame=FRAME, **options):
    (west, east), (south, north) = frame.to_lnglat(np.array([-HALF_M, HALF_M]), np.array([-HALF_M, HALF_M]))
    areas = [shapely.transform(area, lambda xy: lnglat(xy, frame)) for area in water]
    lines = [lnglat(line, frame) for line in coastlines]
    return WaterBodies.build(lines, areas, (west, south, east, north), frame, margin_m=MARGIN_M, **options)


def is_wet(water, *points):
    x, y = np.array(points, np.float64).T
    return water.contains(x, y).tolist()


def ring(x, y, radius_m, n=12, clockwise=False):
    angle = np.linspace(0, 2 * np.pi, n + 1) * (-1 if clockwise else 1)
    return np.column_stack([x + radius_m * np.cos(angle), y + radius_m * np.sin(angle)])


# Sea


def test_the_sea_is_on_the_right_of_its_coast():
    coast = [(0, -3000), (0, 3000)]  # northwards, so land in the west
    assert is_wet(build([coast]), (-500, 0), (500, 0), (1400, 1400)) == [False, True, True]
    assert is_wet(build([coast[::-1]]), (-500, 0), (500, 0), (-1400, 0)) == [True, False, True]
    assert build([coast]).geometry.area == pytest.approx(1500 * 3000, rel=1e-6)


def test_an_island_is_dry_and_its_surroundings_are_sea():
    water = build([ring(0, 0, 500)])
    assert is_wet(water, (0, 0), (800, 0), (-1400, -1400)) == [False, True, True]
    assert water.report["sea_faces"] == 1


def test_an_inner_sea_is_wet_and_its_surroundings_are_land():
    water = build([ring(0, 0, 500, clockwise=True)])
    assert is_wet(water, (0, 0), (800, 0)) == [True, False]


def test_pieces_join_in_any_order():
    pieces = [[(0, 200), (50, 600), (0, 3000)], [(0, -3000), (0, -300)], [(0, -300), (-50, 0), (0, 200)]]
    water = build(pieces)
    assert is_wet(water, (-500, 0), (500, 0)) == [False, True]
    assert water.report["coast_gaps_joined"] == water.report["coast_ends_extended"] == 0


def test_a_coast_cut_inside_the_box_is_carried_to_its_edge():
    water = build([[(0, -1000), (0, 1000)]])
    assert is_wet(water, (-500, 0), (500, 0), (500, 1400), (-500, 1400)) == [False, True, True, False]
    assert water.report["coast_ends_extended"] == 2


def test_a_gap_in_the_coast_is_closed():
    water = build([[(0, -3000), (0, -100)], [(0, 100), (0, 3000)]])
    assert is_wet(water, (-20, 0), (20, 0), (-500, 0), (500, 0)) == [False, True, False, True]
    assert water.report["coast_gaps_joined"] == 1


def test_a_coast_that_turns_back_outside_the_extract_closes_on_itself():
    # The bay enters and leaves through the eastern cut.
    water = build([[(1000, -200), (0, -200), (0, 200), (1000, 200)][::-1]])
    assert is_wet(water, (500, 0), (500, 400), (-500, 0)) == [False, True, True]
    bay = build([[(1000, -200), (0, -200), (0, 200), (1000, 200)]])
    assert is_wet(bay, (500, 0), (500, 400), (-500, 0)) == [True, False, False]


def test_no_coast_is_no_sea():
    assert len(build()) == 0
    # A coast that misses the box says nothing about it.
    assert len(build([[(5000, -3000), (5000, 3000)]])) == 0


def test_streets_are_not_on_the_sea():
    wrong = [[(0, 3000), (0, -3000)]]  # drawn backwards: the town in the west would drown
    rng = np.random.default_rng(0)
    town = np.column_stack([rng.uniform(-1000, -10, 500), rng.uniform(-1000, 1000, 500)])
    with pytest.warns(UserWarning, match=r"4\.5 km2 of sea around longitude 139\.682, latitude 35\.690"):
        water = build(wrong, street_xy=town)
    assert water.report["sea_faces_rejected"] == 1
    assert len(water) == 0
    bridges = np.column_stack([rng.uniform(10, 1000, 30), np.zeros(30)])
    right = build([wrong[0][::-1]], street_xy=np.concatenate([town, bridges]))
    assert right.report["sea_faces_rejected"] == 0
    assert right.report["street_nodes_in_sea"] == 30
    assert is_wet(right, (500, 0)) == [True]


def test_the_longer_coast_decides_a_contradiction():
    # A spur of reversed coast on the land side closes no face of its own.
    water = build([[(0, -3000), (0, 3000)], [(0, 500), (-200, 500), (-200, 300), (0, 300)]])
    assert is_wet(water, (-500, 0), (500, 0)) == [False, True]


def test_the_180th_meridian_is_no_shore():
    frame = LocalFrame(179.999, -16.5)
    water = build([[(0, -3000), (0, 3000)]], [Point(-500, 0).buffer(200)], frame=frame)
    assert is_wet(water, (-500, 0), (-900, 0), (500, 0)) == [True, False, True]
    assert water.geometry.area == pytest.approx(1500 * 3000 + Point(0, 0).buffer(200).area, rel=1e-6)


# Inland water


def test_lakes_are_kept_and_ponds_are_not():
    lake, pond = box(-300, -300, 100, 100), box(500, 500, 520, 520)
    water = build(water=[lake, pond])
    assert is_wet(water, (0, 0), (510, 510)) == [True, False]
    assert water.report["small_bodies_dropped"] == 1
    assert water.geometry.symmetric_difference(lake).area < 0.01


def test_pieces_of_a_river_count_together():
    pieces = [box(0, y, 20, y + 200) for y in range(-1000, 1000, 200)]
    assert build(water=pieces).geometry.area == pytest.approx(20 * 2000, rel=1e-6)


def test_broken_areas_are_repaired():
    bow_tie = shapely.Polygon([(0, 0), (400, 400), (400, 0), (0, 400)])
    assert build(water=[bow_tie]).geometry.area == pytest.approx(80_000, rel=1e-3)


def test_a_lake_that_opens_into_the_sea_overlaps_nothing():
    water = build([[(0, -3000), (0, 3000)]], [box(-300, -300, 300, 300)])
    assert shapely.area(water.tiles).sum() == pytest.approx(1500 * 3000 + 300 * 600, rel=1e-6)


# Cutting


def wavy(n, radius_m, seed):
    rng = np.random.default_rng(seed)
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    radius = radius_m * (1 + 0.2 * rng.random(n))
    return shapely.Polygon(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]))


BAY = build([ring(0, 0, 900, n=3000)], [wavy(2000, 500, 1).difference(wavy(500, 200, 2)), box(600, -50, 800, 50)])
BAY_GEOMETRY = BAY.geometry


def test_tiles_are_small_and_fit_together():
    assert shapely.get_num_coordinates(BAY.tiles).max() <= 256
    assert shapely.is_valid(BAY.tiles).all()
    assert BAY.geometry.is_valid
    assert shapely.area(BAY.tiles).sum() == pytest.approx(BAY.geometry.area, rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000), st.integers(50, 1400), st.integers(-900, 900), st.integers(-900, 900), st.integers(0, 99)
)
def test_what_is_cut_is_the_water_and_nothing_else(seed, radius_m, x, y, more_m):
    shape = MultiPolygon([shapely.affinity.translate(wavy(60, radius_m, seed), x, y)])
    dry = BAY.subtract(shape)
    assert isinstance(dry, MultiPolygon)
    assert dry.is_valid
    assert all(part.exterior.is_ccw for part in dry.geoms)
    exact = shape.difference(BAY_GEOMETRY)
    assert dry.symmetric_difference(exact).area < 1e-6
    larger = BAY.subtract(MultiPolygon([shape.buffer(more_m)]) if more_m else shape)
    assert dry.difference(larger).area < 1e-6


def test_polygons_away_from_water_are_untouched():
    shape = MultiPolygon([box(-400, -400, -390, -390), box(-880, -10, -800, 10)])
    lake = build(water=[box(0, 0, 500, 500)])
    assert lake.subtract(shape) is shape
    assert lake.subtract(MultiPolygon()).is_empty
    assert lake.subtract(MultiPolygon([box(100, 100, 200, 200)])) == MultiPolygon()


def test_points_are_told_apart_in_arrays_of_any_shape():
    x, y = np.meshgrid(np.linspace(-1400, 1400, 41), np.linspace(-1400, 1400, 31))
    assert np.array_equal(BAY.contains(x, y), shapely.contains_xy(BAY.geometry, x, y))
    assert build().contains(x, y).sum() == 0


def test_water_survives_storage():
    again = WaterBodies.from_wkb(BAY.to_wkb(), report={"sea_faces": 1})
    assert len(again) == len(BAY)
    assert shapely.equals_exact(again.tiles, BAY.tiles).all()
    assert again.report == {"sea_faces": 1}
    assert len(WaterBodies.from_wkb(WaterBodies.empty().to_wkb())) == 0
    with pytest.raises(FormatError, match="other bytes"):
        WaterBodies.from_wkb(b"not water")
    with pytest.raises(FormatError, match="collection of polygons"):
        WaterBodies.from_wkb(shapely.to_wkb(Point(0, 0)))


def test_no_water_changes_nothing():
    nothing = WaterBodies.empty()
    shape = MultiPolygon([box(0, 0, 1, 1)])
    assert nothing.subtract(shape) is shape
    assert nothing.geometry == MultiPolygon()
    assert is_wet(nothing, (0, 0)) == [False]
