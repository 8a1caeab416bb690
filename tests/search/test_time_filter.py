"""The public functions on worlds small enough to work out by hand, and every error a caller can cause."""

from __future__ import annotations

import datetime as dt

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

import traveltime_lab as tl
from tests.support.feeds import feed
from tests.support.osm_files import osm_xml
from tests.support.worlds import FRAME, at, world

pytestmark = pytest.mark.quick

#: A straight street of 1000 m at 5 m/s from A to B, a side street of 500 m from B to C, and D-E out of reach.
NODES = {"A": (0, 0), "B": (1000, 0), "C": (1000, 500), "D": (5000, -4000), "E": (5400, -4000)}
STREETS = [("A", "B"), ("B", "C"), ("D", "E")]
ON_FOOT = {"transportation": "walking"}


@pytest.fixture(scope="module")
def town():
    return world(NODES, STREETS)


def test_times_and_distances_by_hand(town):
    times = tl.time_filter(
        town,
        at((0, 0), (200, 0)),
        at((1000, 0), (1000, 500), (700, 0)),
        travel_time=600,
        properties=("travel_time", "distance"),
        **ON_FOOT,
    )
    # 5 m/s along the streets.
    assert times["travel_time"].tolist() == [200, 300, 140, 160, 260, 100]
    assert times["distance"].tolist() == pytest.approx([1000, 1500, 700, 800, 1300, 500], abs=0.1)
    assert times["origin"].tolist() == [0, 0, 0, 1, 1, 1]
    assert times["destination"].tolist() == [0, 1, 2, 0, 1, 2]
    assert times["reason"].isna().all()
    assert str(times["travel_time"].dtype) == "Int32"
    assert times.crs == "EPSG:4326"


def test_walk_to_the_street_counts_unless_the_penalty_is_disabled(town):
    # 100 m at 5 km/h are 72 s.
    origin, destination = at((500, 100)), at((1000, 0))
    counted = tl.time_filter(
        town, origin, destination, travel_time=600, properties=("travel_time", "distance"), **ON_FOOT
    )
    free = tl.time_filter(town, origin, destination, travel_time=600, snapping={"penalty": "disabled"}, **ON_FOOT)
    assert counted["travel_time"].tolist() == [172]
    assert counted["distance"].tolist() == pytest.approx([600], abs=0.2)
    assert free["travel_time"].tolist() == [100]


def test_one_point_is_no_journey(town):
    here = at((500, 100))
    for pairs in ("all", "aligned"):
        assert tl.time_filter(town, here, here, travel_time=60, pairs=pairs, **ON_FOOT)["travel_time"].tolist() == [0]


def test_every_reason(town):
    origins = at((0, 0), (0, -2500), (90_000, 0))
    destinations = at((1000, 0), (5200, -4000), (1000, 500), (0, -2500), (0, -90_000))
    found = tl.time_filter(town, origins, destinations, travel_time=250, **ON_FOOT)
    table = found.set_index(["origin", "destination"])["reason"]
    assert pd.isna(table[0, 0])
    assert table[0].tolist()[1:] == [
        "other_component",
        "over_limit",
        "destination_not_snapped",
        "destination_outside_network",
    ]
    assert set(table[1]) == {"origin_not_snapped"}
    assert set(table[2]) == {"origin_outside_network"}
    assert found["travel_time"].isna().sum() == 14


def test_forms_hold_the_same_answers(town):
    rng = np.random.default_rng(5)
    origins = at(*rng.uniform((0, -200), (1200, 700), (12, 2)))
    destinations = at(*rng.uniform((0, -200), (1200, 700), (30, 2)))
    ask = {"travel_time": 200, "properties": ("travel_time", "distance"), **ON_FOOT}
    pairs = tl.time_filter(town, origins, destinations, **ask)
    wide = tl.time_filter(town, origins, destinations, form="matrix", **ask)
    sparse = tl.time_filter(town, origins, destinations, form="sparse", **ask)
    assert wide["travel_time"].shape == (12, 30)
    flat = pairs["travel_time"].to_numpy(dtype=float, na_value=np.nan).reshape(12, 30)
    np.testing.assert_array_equal(wide["travel_time"].to_numpy(dtype=float), flat)
    reached = pairs.dropna(subset="travel_time").reset_index(drop=True)
    assert 0 < len(reached) < len(pairs)
    pd.testing.assert_frame_equal(
        pd.DataFrame(reached[["origin", "destination", "travel_time", "distance"]]), sparse, check_dtype=False
    )
    chosen = pairs.sample(50, random_state=1)
    again = tl.time_filter(town, origins, destinations, pairs=pd.DataFrame(chosen[["origin", "destination"]]), **ask)
    assert again["travel_time"].tolist() == chosen["travel_time"].tolist()
    aligned = tl.time_filter(town, origins, destinations.iloc[:12], pairs="aligned", **ask)
    assert aligned["travel_time"].tolist() == [pairs["travel_time"].iloc[31 * i] for i in range(12)]


@pytest.mark.parametrize("labels", [list, lambda n: [f"p{i}" for i in n], lambda n: [i / 4 for i in n]])
@pytest.mark.parametrize(("n_origins", "n_destinations"), [(12, 30), (30, 12), (40, 1)])
def test_sparse_is_what_pairs_reach_in_any_number_of_blocks(town, monkeypatch, labels, n_origins, n_destinations):
    monkeypatch.setattr("traveltime_lab.runtime.threads.BLOCK", 70)
    rng = np.random.default_rng(8)
    origins, destinations = (at(*rng.uniform((0, -300), (1200, 800), (n, 2))) for n in (n_origins, n_destinations))
    origins.index = labels(range(n_origins))
    destinations.index = labels(range(100, 100 + n_destinations))
    ask = {"travel_time": 300, "properties": ["travel_time", "distance", "snap_distance"], **ON_FOOT}
    pairs = tl.time_filter(town, origins, destinations, **ask)
    reached = pairs[pairs["travel_time"].notna()].reset_index(drop=True)
    assert 0 < len(reached) < len(pairs)
    sparse = tl.time_filter(town, origins, destinations, form="sparse", **ask)
    pd.testing.assert_frame_equal(sparse, pd.DataFrame(reached.drop(columns=["reason", "geometry"])))
    nothing = tl.time_filter(town, origins, destinations, form="sparse", **(ask | {"travel_time": 1}))
    assert len(nothing) == 0
    assert nothing.dtypes.equals(sparse.dtypes)


@pytest.mark.parametrize("properties", [["travel_time"], ["travel_time", "distance", "snap_distance"]])
def test_sparse_keeps_to_the_chosen_pairs(town, properties):
    rng = np.random.default_rng(9)
    origins, destinations = (at(*rng.uniform((0, -300), (1200, 800), (20, 2))) for _ in range(2))
    destinations.iloc[:5] = origins.iloc[:5]
    table = pd.DataFrame({"origin": rng.integers(0, 20, 60), "destination": rng.integers(0, 20, 60)})
    ask = {"travel_time": 300, "properties": properties, **ON_FOOT}
    for chosen in ("aligned", table.drop_duplicates()):
        pairs = tl.time_filter(town, origins, destinations, pairs=chosen, **ask)
        reached = pairs[pairs["travel_time"].notna()].reset_index(drop=True)
        assert 0 < len(reached) < len(pairs)
        sparse = tl.time_filter(town, origins, destinations, pairs=chosen, form="sparse", **ask)
        pd.testing.assert_frame_equal(sparse, pd.DataFrame(reached.drop(columns=["reason", "geometry"])))


def test_many_to_one_is_one_to_many_turned_round(town):
    rng = np.random.default_rng(6)
    many, one = at(*rng.uniform((0, -100), (1200, 600), (40, 2))), at((1000, 250))
    out = tl.time_filter(town, one, many, travel_time=1000, **ON_FOOT)["travel_time"]
    back = tl.time_filter(town, many, one, travel_time=1000, **ON_FOOT)["travel_time"]
    assert out.tolist() == back.tolist()


def test_one_way_streets(monkeypatch):
    ring = world(
        {"A": (0, 0), "B": (600, 0), "C": (600, 600), "D": (0, 600)},
        [
            ("A", "B", {"oneway": "yes"}),
            ("B", "C", {"oneway": "yes"}),
            ("C", "D", {"oneway": "yes"}),
            ("D", "A", {"oneway": "yes"}),
        ],
    )
    times = tl.time_filter(
        ring, at((300, 0)), at((450, 0), (150, 0)), travel_time=3600, transportation=tl.Transportation("cycling")
    )
    # Ahead 150 m; behind 2400 - 150 m around the block.
    assert times["travel_time"].tolist() == [30, 450]


def test_routes_run_from_origin_to_destination(town):
    routes = tl.time_filter(
        town, at((500, 100), (0, 0)), at((1000, 400)), travel_time=900, properties=("route", "distance"), **ON_FOOT
    )
    for line, start, length in zip(routes.geometry, ((500, 100), (0, 0)), routes["distance"], strict=True):
        x, y = FRAME.to_xy(*np.array(line.coords).T)
        assert (x[0], y[0]) == pytest.approx(start, abs=0.01)
        assert (x[-1], y[-1]) == pytest.approx((1000, 400), abs=0.01)
        assert np.hypot(np.diff(x), np.diff(y)).sum() == pytest.approx(length, abs=0.5)
    far = tl.time_filter(town, at((0, 0)), at((5200, -4000)), travel_time=900, properties=("route",), **ON_FOOT)
    assert far.geometry.iloc[0].is_empty


@pytest.mark.pythons
def test_snap_shows_where_points_meet_the_streets(town):
    points = at((500, 100), (0, -2500), (90_000, 0))
    places = tl.snap(town, points, transportation="walking")
    assert places["status"].tolist() == ["snapped", "not_snapped", "outside_network"]
    assert places["snap_distance"].iloc[0] == pytest.approx(100, abs=0.1)
    x, y = FRAME.to_xy(places.geometry.x.to_numpy()[:1], places.geometry.y.to_numpy()[:1])
    assert (x[0], y[0]) == pytest.approx((500, 0), abs=0.01)
    assert places.geometry.iloc[1] is None
    assert places["way_id"].iloc[0] == 100


def test_threshold(town):
    near = tl.snap(town, at((500, 400)), transportation="walking", snapping=tl.Snapping(threshold=300))
    assert near["status"].tolist() == ["not_snapped"]


def test_cars_do_not_start_on_motorways_unless_asked():
    network = world(
        {"A": (0, 0), "B": (2000, 0), "C": (0, 300), "D": (2000, 300)},
        [
            ("A", "B", {"highway": "motorway", "oneway": "no", "walking_kph": 0.0, "cycling_kph": 0.0}),
            ("C", "D"),
            ("A", "C"),
            ("B", "D"),
        ],
    )
    point = at((1000, 50))
    usual = tl.snap(network, point)
    anywhere = tl.snap(network, point, snapping={"accept_roads": "any_drivable"})
    assert usual["snap_distance"].iloc[0] == pytest.approx(250, abs=1)
    assert anywhere["snap_distance"].iloc[0] == pytest.approx(50, abs=1)


def test_islands_are_left_for_the_mainland():
    block = {(i, j): (100.0 * i, 100.0 * j) for i in range(8) for j in range(8)}
    streets = [((i, j), (i + 1, j)) for i in range(7) for j in range(8)]
    streets += [((i, j), (i, j + 1)) for i in range(8) for j in range(7)]
    network = world({**block, "P": (900, 0), "Q": (900, 100)}, [*streets, ("P", "Q")])
    # 10 m from the island P-Q, 190 m from the mainland.
    place = tl.snap(network, at((890, 50)), transportation="walking")
    assert place["snap_distance"].iloc[0] == pytest.approx(190, abs=1)
    alone = tl.snap(network, at((890, 50)), transportation="walking", snapping={"threshold": 100})
    assert alone["snap_distance"].iloc[0] == pytest.approx(10, abs=1)


@pytest.mark.pythons
def test_any_crs_goes_in_and_nothing_is_changed(town):
    origins, destinations = at((0, 0)), at((1000, 500))
    projected = gpd.GeoDataFrame(
        {"name": ["a"]}, geometry=list(origins.to_crs("EPSG:3857")), index=["home"], crs="EPSG:3857"
    )
    before = projected.copy()
    times = tl.time_filter(town, projected, destinations.to_crs("EPSG:32631"), travel_time=600, **ON_FOOT)
    assert times["travel_time"].tolist() == [300]
    assert times["origin"].tolist() == ["home"]
    pd.testing.assert_frame_equal(projected, before)


# Shapes


def test_a_ride_by_hand(tmp_path):
    """One minute of waiting, twenty of riding; a minute later the walk of two kilometres is what is left."""
    nodes = {number: (0.49 + 0.01 * number, 0.5) for number in (1, 2, 3)}
    (tmp_path / "town.osm").write_bytes(osm_xml(nodes, [(1, "1 2 3", "highway=residential")]))
    network = tl.build_network(tmp_path / "town.osm", gtfs=feed(tmp_path), timezone="UTC")
    ends = [gpd.GeoSeries.from_xy([lng], [0.5], crs="EPSG:4326") for lng in (0.5, 0.52)]
    times = [
        tl.time_filter(
            network, *ends, travel_time=3600, transportation="public_transport", departure_time=f"2026-03-02T{clock}"
        )["travel_time"].iloc[0]
        for clock in ("07:59", "08:01")
    ]
    walk = tl.time_filter(network, *ends, travel_time=3600, transportation="walking")["travel_time"].iloc[0]
    assert times == [1260, walk] and walk > 1260


@pytest.mark.pythons
def test_points_as_people_have_them(town):
    """Pairs and single points are longitude and latitude; durations are what they say."""
    start, end = at((0, 0)).iloc[0], at((1000, 500)).iloc[0]
    tables = tl.time_filter(town, at((0, 0)), at((1000, 500), (0, 0)), travel_time=1800, **ON_FOOT)
    pairs = [(end.x, end.y), start]
    for origin in (start, (start.x, start.y), [start], [(start.x, start.y)]):
        for limit in (1800, 1800.0, dt.timedelta(minutes=30), pd.Timedelta("30min"), np.timedelta64(30, "m")):
            loose = tl.time_filter(town, origin, pairs, travel_time=limit, **ON_FOOT)
            assert loose["travel_time"].tolist() == tables["travel_time"].tolist()
            assert loose["destination"].tolist() == [0, 1]
    assert tl.time_map(town, start, travel_time=600, **ON_FOOT).geometry.iloc[0].covers(start)
    for wrong in ([], [start, "here"], (1.0, 2.0, 3.0), [[1.0, 2.0]], "1,2", None, (True, False), [start.buffer(1)]):
        with pytest.raises(tl.InputError, match="origins"):
            tl.time_map(town, wrong, travel_time=600, **ON_FOOT)
    with pytest.raises(tl.CoordinateError):
        tl.time_map(town, (float("nan"), 0.0), travel_time=600, **ON_FOOT)
    with pytest.raises(tl.InputError, match="points_from_xy"):
        tl.time_map(town, pd.DataFrame({"lng": [0.0], "lat": [0.0]}), travel_time=600, **ON_FOOT)
    for limit in (pd.Timedelta("1.5s"), pd.NaT):
        with pytest.raises(tl.InputError, match="whole number of seconds"):
            tl.time_map(town, start, travel_time=limit, **ON_FOOT)


@pytest.mark.pythons
def test_a_shape_by_hand():
    street = world({"A": (-2000, 0), "B": (2000, 0)}, [("A", "B")])
    # 300 s: 1500 m along the street at 5 m/s, 300 / 0.72 = 417 m to its side at 5 km/h: a rhombus.
    area = tl.time_map(street, at((0, 0)), travel_time=300, level_of_detail="highest", **ON_FOOT).geometry.iloc[0]
    x, y = FRAME.to_xy(*np.array(area.geoms[0].exterior.coords).T)
    # The tips are as sharp as a cell: 5 m at the side are 18 m along the street.
    assert (x.min(), x.max()) == pytest.approx((-1500, 1500), abs=18)
    assert (y.min(), y.max()) == pytest.approx((-417, 417), abs=5)
    square_metres = area.area * FRAME.metres_per_degree_lng * FRAME.metres_per_degree_lat
    assert square_metres == pytest.approx(2 * 1500 * 417, rel=0.01)


def test_buffer_distance_bounds_a_shape():
    street = world({"A": (-2000, 0), "B": (2000, 0)}, [("A", "B")])
    area = tl.time_map(street, at((0, 0)), travel_time=300, level_of_detail="highest", buffer_distance=250, **ON_FOOT)
    _, y = FRAME.to_xy(*np.array(area.geometry.iloc[0].geoms[0].exterior.coords).T)
    assert (y.min(), y.max()) == pytest.approx((-250, 250), abs=6)


def test_road_buffering_by_hand():
    street = world({"A": (-2000, 0), "B": (2000, 0)}, [("A", "B")])
    area = tl.time_map(
        street,
        at((200, 0)),
        travel_time=200,
        render_mode="road_buffering",
        buffer_distance=300,
        level_of_detail="high",
        **ON_FOOT,
    ).geometry.iloc[0]
    x, y = FRAME.to_xy(*np.array(area.geoms[0].exterior.coords).T)
    # 1000 m each way and a round end of 300 m.
    assert (x.min(), x.max()) == pytest.approx((-1100, 1500), abs=5)
    assert (y.min(), y.max()) == pytest.approx((-300, 300), abs=5)
    square_metres = area.area * FRAME.metres_per_degree_lng * FRAME.metres_per_degree_lat
    assert square_metres == pytest.approx(2000 * 600 + np.pi * 300**2, rel=0.01)


def test_distance_map_by_hand(town):
    area = tl.distance_map(town, at((0, 0)), distance=1200, level_of_detail="highest", **ON_FOOT)
    assert area["distance"].tolist() == [1200]
    # 1000 m to B and 200 m up the side street.
    inside = shapely.contains_xy(
        area.geometry.iloc[0], *FRAME.to_lnglat(np.array([1000.0, 1000.0]), np.array([190.0, 215.0]))
    )
    assert inside.tolist() == [True, False]


def test_shapes_keep_the_order_and_tell_why_they_are_empty(town):
    origins = gpd.GeoSeries(
        list(at((0, 0), (0, -2500), (90_000, 0), (500, 900))), index=["d", "c", "b", "a"], crs="EPSG:4326"
    )
    areas = tl.time_map(town, origins, travel_time=60, **ON_FOOT)
    assert areas.index.tolist() == ["d", "c", "b", "a"]
    assert areas.geometry.is_empty.tolist() == [False, True, True, True]
    assert areas["reason"].tolist()[1:] == ["origin_not_snapped", "origin_outside_network", "over_limit"]
    assert pd.isna(areas["reason"].iloc[0])
    assert (areas.geom_type == "MultiPolygon").all()


def test_a_shape_holds_its_origin_even_off_the_road(town):
    # 350 m off the street are 252 s: to the street, but not back, in 300 s.
    origin = at((500, 350))
    area = tl.time_map(town, origin, travel_time=300, **ON_FOOT).geometry.iloc[0]
    assert area.contains(origin.iloc[0])


def test_arrival_shapes_follow_one_ways_backwards():
    street = world({"A": (-3000, 0), "B": (3000, 0)}, [("A", "B", {"oneway": "yes"})])
    middle = at((0, 0))
    ask = {"travel_time": 300, "transportation": "cycling", "level_of_detail": "high"}
    ahead = tl.time_map(street, middle, **ask).geometry.iloc[0]
    behind = tl.time_map(street, middle, arrival_time="2026-03-02T08:00:00Z", **ask).geometry.iloc[0]
    for area, sign in ((ahead, 1), (behind, -1)):
        x, _ = FRAME.to_xy(*np.array(area.geoms[0].exterior.coords).T)
        assert (sign * x).max() == pytest.approx(1500, abs=60)
        assert (sign * x).min() > -500


@pytest.mark.parametrize("render_mode", ["approximate_time_filter", "road_buffering"])
def test_coarse_grid(town, render_mode):
    """A coarse grid draws whole squares: those that the area of the render mode reaches into."""
    means = {**ON_FOOT, "render_mode": render_mode, "buffer_distance": 250}
    area, fine = (
        tl.time_map(town, at((100, 100)), travel_time=120, level_of_detail=level, **means).geometry.iloc[0]
        for level in ({"scale_type": "coarse_grid", "square_size": 600}, "highest")
    )
    assert area.intersection(fine).area > 0.97 * fine.area
    x, y = FRAME.to_xy(*np.array(area.geoms[0].exterior.coords).T)
    frame = town.frame
    lng, lat = FRAME.to_lnglat(x, y)
    x, y = frame.to_xy(lng, lat)
    np.testing.assert_allclose(np.round(x / 600) * 600, x, atol=0.01)
    np.testing.assert_allclose(np.round(y / 600) * 600, y, atol=0.01)


def test_accuracy_takes_the_arguments_of_its_areas_only(town):
    """Those of the other function were ignored."""
    origins = at((0, 0))
    by_time = tl.time_map(town, origins, travel_time=300, **ON_FOOT)
    by_distance = tl.distance_map(town, origins, distance=300, **ON_FOOT)
    with pytest.raises(tl.InputError, match="shortest is for areas of distance_map"):
        tl.shape_accuracy(town, by_time, origins, transportation="walking", shortest=True)
    for more in ({"window": 600}, {"percentile": 50}):
        with pytest.raises(tl.InputError, match="window and percentile are for areas of time_map"):
            tl.shape_accuracy(town, by_distance, origins, transportation="walking", **more)


def test_accuracy_is_reported(town):
    origins = at((0, 0), (900, 100))
    areas = tl.time_map(town, origins, travel_time=300, level_of_detail="highest", **ON_FOOT)
    accuracy = tl.shape_accuracy(town, areas, origins, n_points=3000, transportation="walking")
    assert (accuracy > 0.995).all()
    with pytest.raises(tl.InputError, match="same index"):
        tl.shape_accuracy(town, areas, origins.iloc[:1], transportation="walking")


# Moments and traffic


def test_rush_hour_is_slower_than_night(town):
    nodes = {"A": (0, 0), "B": (5000, 0)}
    network = world(nodes, [("A", "B", {"highway": "primary", "driving_kph": 36.0})])
    ask = {"travel_time": 3600, "transportation": "driving"}

    def seconds(**more):
        return tl.time_filter(network, at((0, 0)), at((5000, 0)), **(ask | more))["travel_time"].iloc[0]

    night, rush = seconds(departure_time="2026-03-02T03:00:00"), seconds(departure_time="2026-03-02T08:30:00")
    sunday = seconds(departure_time="2026-03-01T08:30:00")
    assert night == 500 == seconds(transportation=tl.Transportation("driving", traffic_model="off_peak"))
    assert rush == 800 == seconds(departure_time="weekday_morning")
    assert rush == seconds(transportation=tl.Transportation("driving", traffic_model="peak"))
    assert night <= sunday < rush
    assert seconds(departure_time=dt.datetime(2026, 3, 2, 8, 30, tzinfo=dt.UTC)) == rush
    # 08:30 in Tokyo is 23:30 the day before in UTC, which this network's clocks show.
    assert seconds(departure_time="2026-03-02T08:30:00+09:00") < rush
    models = [tl.Transportation("driving", traffic_model=name) for name in ("optimistic", "balanced", "pessimistic")]
    assert sorted(seconds(transportation=model) for model in models) == [
        seconds(transportation=model) for model in models
    ]
    assert seconds(arrival_time="2026-03-02T08:30:00") == rush


# Errors

POINT = at((0, 0))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"travel_time": 0}, tl.LimitError, "from 1 to 14400"),
        ({"travel_time": 14_401}, tl.LimitError, "14401"),
        ({"travel_time": 10.5}, tl.InputError, "whole number"),
        ({"travel_time": "600"}, tl.InputError, "whole number"),
        ({"travel_time": True}, tl.InputError, "whole number"),
        ({"transportation": "walkng"}, tl.ModeError, "walking"),
        ({"transportation": "public_transport"}, tl.InputError, "timetable"),
        ({"origins": gpd.GeoSeries([], crs="EPSG:4326")}, tl.InputError, "empty"),
        ({"origins": gpd.GeoSeries.from_xy([0.5], [0.5])}, tl.CrsError, "set_crs"),
        ({"origins": pd.concat([POINT, POINT])}, tl.InputError, "more than once"),
        ({"origins": gpd.GeoSeries.from_xy([np.nan], [0.5], crs="EPSG:4326")}, tl.CoordinateError, "missing|finite"),
        ({"origins": gpd.GeoSeries([None], crs="EPSG:4326")}, tl.CoordinateError, "missing"),
        ({"origins": gpd.GeoSeries.from_xy([np.inf], [0.5], crs="EPSG:4326")}, tl.CoordinateError, "finite"),
        ({"origins": gpd.GeoSeries.from_xy([0.5], [91.0], crs="EPSG:4326")}, tl.CoordinateError, "out of range"),
        ({"origins": gpd.GeoSeries([shapely.box(0, 0, 1, 1)], crs="EPSG:4326")}, tl.InputError, "representative_point"),
        ({"destinations": gpd.GeoSeries([shapely.Point()], crs="EPSG:4326")}, tl.CoordinateError, "empty"),
        ({"departure_time": "yesterday"}, tl.MomentError, "yesterday"),
        ({"departure_time": "2026-03-02T08:00", "arrival_time": "2026-03-02T09:00"}, tl.InputError, "not both"),
        ({"properties": ("speed",)}, tl.InputError, "speed"),
        ({"properties": ()}, tl.InputError, "empty"),
        ({"form": "long"}, tl.InputError, "'sparse'"),
        ({"engine": "quantum"}, tl.InputError, "'dijkstra'"),
        ({"pairs": "some"}, tl.InputError, "aligned"),
        ({"pairs": "aligned", "destinations": at((0, 0), (1, 1))}, tl.InputError, "1 and 2"),
        ({"pairs": pd.DataFrame({"origin": [0]})}, tl.InputError, "destination"),
        ({"pairs": pd.DataFrame({"origin": [7], "destination": [0]})}, tl.InputError, "origin 7"),
        ({"pairs": pd.DataFrame({"origin": [0, 0], "destination": [0, 8]})}, tl.InputError, "destination 8"),
        ({"pairs": pd.DataFrame({"origin": [], "destination": []})}, tl.InputError, "empty"),
        ({"form": "matrix", "pairs": "aligned"}, tl.InputError, "pairs='all'"),
        ({"form": "sparse", "properties": ("route",)}, tl.InputError, "routes"),
        ({"snapping": {"threshold": -1}}, tl.LimitError, "-1"),
        ({"network": "town"}, tl.InputError, "build_network"),
    ],
)
def test_time_filter_refuses(town, change, error, words):
    arguments = {"network": town, "origins": POINT, "destinations": POINT, "travel_time": 600} | change
    with pytest.raises(error, match=words):
        tl.time_filter(arguments.pop("network"), arguments.pop("origins"), arguments.pop("destinations"), **arguments)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"travel_time": -5}, tl.LimitError, "-5"),
        ({"level_of_detail": "best"}, tl.InputError, "best"),
        ({"level_of_detail": 3}, tl.LimitError, "3"),
        ({"no_holes": "yes"}, tl.InputError, "True or False"),
        ({"polygons_filter": 0}, tl.LimitError, "0"),
        ({"polygons_filter": {"max": 1}}, tl.InputError, "limit"),
        ({"render_mode": "pretty"}, tl.InputError, "road_buffering"),
        ({"buffer_distance": 249}, tl.LimitError, "250"),
        ({"remove_water_bodies": None}, tl.InputError, "True or False"),
    ],
)
def test_time_map_refuses(town, change, error, words):
    with pytest.raises(error, match=words):
        tl.time_map(town, POINT, **({"travel_time": 600} | change))


@pytest.mark.parametrize("distance", [74, 800_001])
def test_distance_map_refuses(town, distance):
    with pytest.raises(tl.LimitError, match=str(distance)):
        tl.distance_map(town, POINT, distance=distance)


def test_swapped_coordinates_are_noticed(porto_alegre):
    swapped = gpd.GeoSeries.from_xy([-30.03, -30.04], [-51.20, -51.21], crs="EPSG:4326")
    with pytest.raises(tl.CoordinateError, match="swapped"):
        tl.time_map(porto_alegre, swapped, travel_time=600)
    # Only far away, not swapped: data, not an error.
    far = gpd.GeoSeries.from_xy([139.69], [35.69], crs="EPSG:4326")
    assert tl.time_map(porto_alegre, far, travel_time=600)["reason"].tolist() == ["origin_outside_network"]


def test_an_island_of_one_way_streets():
    """A ring far away, whose streets are drawn with and against their direction."""
    nodes = {"A": (0, 0), "B": (300, 0), "C": (600, 0), "D": (5000, 0), "E": (5300, 0), "F": (5000, 300)}
    ring = [("D", "E", {"oneway": "yes"}), ("F", "E", {"oneway": "-1"}), ("F", "D", {"oneway": "yes"})]
    network = world(nodes, [("A", "B"), ("B", "C"), *ring])
    ends = at((5150, 0), (5150, 150), (5000, 150))
    found = tl.time_filter(network, at((0, 0)), ends, travel_time=600, transportation="driving")
    assert found["reason"].tolist() == ["other_component"] * 3


def test_a_street_that_only_leads_into_town():
    # From its outer to its inner part one gets, though from town nobody gets there.
    ring = [("a", "b"), ("b", "c"), ("c", "a")]
    feeder = [("e", "f", {"oneway": True}), ("f", "a", {"oneway": True})]
    network = world({"a": (0, 0), "b": (400, 0), "c": (200, 300), "e": (-6000, 0), "f": (-4000, 0)}, ring + feeder)
    outer, inner, town = at((-5000, 0), (-2000, 0), (200, 0))
    pairs = gpd.GeoSeries([outer, town], crs="EPSG:4326"), gpd.GeoSeries([inner, inner], crs="EPSG:4326")
    found = tl.time_filter(network, *pairs, travel_time=60, transportation="driving", pairs="aligned")
    assert found["reason"].tolist() == ["over_limit", "other_component"]
    found = tl.time_filter(network, *pairs, travel_time=3600, transportation="driving", pairs="aligned")
    assert found["travel_time"].notna().tolist() == [True, False]


def test_clock_changes_need_an_offset():
    network = tl.build_network(world(NODES, STREETS).tables, timezone="Europe/Rome")
    ask = {"travel_time": 600, "transportation": "driving"}
    for moment in ("2026-10-25T02:30:00", "2026-03-29T02:30:00"):
        with pytest.raises(tl.MomentError, match=r"\+0[12]:00"):
            tl.time_filter(network, POINT, POINT, departure_time=moment, **ask)
    tl.time_filter(network, POINT, POINT, departure_time="2026-10-25T02:30:00+01:00", **ask)


def test_too_many_rows_are_refused_before_the_work(town):
    many = gpd.GeoSeries.from_xy(np.full(5000, 0.5), np.full(5000, 0.5), crs="EPSG:4326")
    with pytest.raises(tl.LimitError, match="sparse"):
        tl.time_filter(town, many, many, travel_time=60)
