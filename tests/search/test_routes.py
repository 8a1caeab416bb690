"""Routes: directions in words on drawn streets, and sums that are those of `time_filter` to the last digit."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.combinations import first_of
from tests.support.lines import assert_no_joint_twice, has_no_joint_twice
from tests.support.oracles import random_points
from tests.support.worlds import FRAME, at, towns, world
from traveltime_lab.itinerary import Leg, Ride, StopCall
from traveltime_lab.streets import paths

ON_FOOT = {"transportation": "walking"}

#: The legal keys of a part, by type (contract 6.4).
PART_KEYS = {"id", "type", "mode", "directions", "distance", "travel_time", "coords"}
REQUIRED = {
    "basic": set(),
    "road": set(),
    "start_end": {"direction"},
    "public_transport": {
        "line", "departure_station", "arrival_station", "departs_at", "arrives_at", "num_stops"
    },
}  # fmt: skip
OPTIONAL = {"road": {"road", "turn"}}


def assert_adds_up(route: tl.Route, travel_time: int, distance: float) -> None:
    """Legs, steps and parts sum to the route, end where the next one begins, and parts are the contract's."""
    assert route.travel_time == travel_time
    assert route.distance == distance
    for leg in route.legs:
        if leg.steps:
            assert sum(step.travel_time for step in leg.steps) == leg.travel_time
            assert sum(round(100 * step.distance) for step in leg.steps) == round(100 * leg.distance)
            assert all(step.travel_time >= 0 for step in leg.steps)
    for before, after in pairwise(route.legs):
        assert before.destination == pytest.approx(after.origin, abs=1e-8)
        assert before.mode != after.mode
    parts = route.parts()
    assert [part["id"] for part in parts] == list(range(len(parts)))
    assert sum(part["travel_time"] for part in parts) == travel_time
    assert sum(part["distance"] for part in parts) == int(np.floor(distance + 0.5))
    for part in parts:
        keys = set(part) - PART_KEYS
        assert set(part) >= PART_KEYS
        assert REQUIRED[part["type"]] <= keys <= REQUIRED[part["type"]] | OPTIONAL.get(part["type"], set())
        assert part["directions"]
        assert len(part["coords"]) >= 2
        assert isinstance(part["distance"], int)
        assert isinstance(part["travel_time"], int)
    for before, after in pairwise(parts):
        assert before["coords"][-1] == pytest.approx(after["coords"][0], abs=1e-8)
    assert_no_joint_twice(route)


def words(route: tl.Route) -> list[str]:
    return [part["directions"] for part in route.parts()]


def one(network, origin, destination, **options):
    return tl.routes(network, at(origin), at(destination), **options).iloc[0]


#: Main Street from west to east with Side Street going north from its middle, and Long Lane on from its end.
NODES = {"A": (0, 0), "B": (500, 0), "C": (1000, 0), "D": (500, 400), "E": (1400, 10), "F": (500, -300)}
TOWN = [
    ("A", "B", {"name": "Main Street"}),
    ("B", "C", {"name": "Main Street"}),
    ("B", "D", {"name": "Side Street"}),
    ("C", "E", {"name": "Long Lane"}),
    ("B", "F"),
]


@pytest.fixture(scope="module")
def town():
    return world(NODES, TOWN)


def test_directions_name_streets_and_turns(town):
    row = one(town, (0, 20), (500, 400), **ON_FOOT)
    # 20 m at 5 km/h are 14.4 s; 900 m at 5 m/s are 180 s.
    assert row["travel_time"] == 194
    assert words(row["route"]) == [
        "Start heading east",
        "Walk 500 m along Main Street",
        "Turn left onto Side Street and walk 400 m",
        "Arrive at the destination",
    ]
    parts = row["route"].parts()
    assert [part["type"] for part in parts] == ["start_end", "road", "road", "start_end"]
    assert [part["mode"] for part in parts] == ["walk"] * 4
    assert [part["travel_time"] for part in parts] == [14, 100, 80, 0]
    assert [part["distance"] for part in parts] == [20, 500, 400, 0]
    assert [part.get("direction") for part in parts] == ["east", None, None, "north"]
    assert [part.get("road") for part in parts] == [None, "Main Street", "Side Street", None]
    assert [part.get("turn") for part in parts] == [None, None, "left", None]
    assert_adds_up(row["route"], 194, row["distance"])
    assert row["route"].distance_breakdown == {"walk": row["distance"]}


@pytest.mark.parametrize(
    ("origin", "destination", "expected"),
    [
        ((500, 300), (1000, 0), "Turn left onto Main Street and {} 500 m"),
        ((500, 300), (100, 0), "Turn right onto Main Street and {} 400 m"),
        ((600, 0), (1300, 8), "Continue onto Long Lane and {} 300 m"),
        ((600, 0), (500, -100), "Turn left and {} 100 m"),
        ((500, -100), (500, 100), "Continue onto Side Street and {} 100 m"),
    ],
)
@pytest.mark.parametrize(("mode", "verb"), [("walking", "walk"), ("cycling", "cycle"), ("driving", "drive")])
def test_turns(town, origin, destination, expected, mode, verb):
    row = one(town, origin, destination, transportation=mode)
    assert words(row["route"])[2] == expected.format(verb)
    assert_adds_up(row["route"], row["travel_time"], row["distance"])


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ((1000, 260), "Continue onto Second and walk"),
        ((1120, 300), "Turn slightly right onto Second and walk"),
        ((1300, 40), "Turn right onto Second and walk"),
        ((1020, -260), "Turn back onto Second and walk"),
        ((1100, -200), "Turn sharp right onto Second and walk"),
        ((880, 300), "Turn slightly left onto Second and walk"),
        ((900, -200), "Turn sharp left onto Second and walk"),
    ],
)
def test_how_sharp_a_turn_is(place, expected):
    # North along First, then on from (1000, 0).
    nodes = {"A": (1000, -400), "B": (1000, 0), "C": place, "D": (600, 3)}
    bend = world(nodes, [("A", "B", {"name": "First"}), ("B", "C", {"name": "Second"}), ("B", "D")])
    assert words(one(bend, (1000, -390), place, **ON_FOOT)["route"])[2].startswith(expected)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    ("least", "gentle", "sharper"),
    [
        (20, "Continue", "Turn slightly"),
        (45, "Turn slightly", "Turn"),
        (135, "Turn", "Turn sharp"),
        (170, "Turn sharp", ""),
    ],
)
def test_where_turns_begin_to_be_sharper(side, least, gentle, sharper):
    """Half a degree less, and half a degree more, than the least angle of a kind of turn."""
    for angle, kind in ((least - 0.5, gentle), (least + 0.5, sharper)):
        east = 300 * np.sin(np.radians(angle)) * (1 if side == "right" else -1)
        place = (1000 + east, 300 * np.cos(np.radians(angle)))
        nodes = {"A": (1000, -400), "B": (1000, 0), "C": place, "D": (600, 3), "E": (1400, 3)}
        first, second = {"name": "First"}, {"name": "Second"}
        bend = world(nodes, [("A", "B", first), ("B", "C", second), ("B", "D"), ("B", "E")])
        said = words(one(bend, (1000, -390), place, **ON_FOOT)["route"])[2]
        expected = "Continue" if kind == "Continue" else f"{kind} {side}" if kind else "Turn back"
        assert said.startswith(f"{expected} onto Second"), angle


def test_a_turn_on_one_street_is_said_at_junctions_only():
    nodes = {"A": (0, 0), "B": (300, 0), "C": (300, 300)}
    bend = [("A", "B", {"name": "Crooked Road"}), ("B", "C", {"name": "Crooked Road"})]
    assert words(one(world(nodes, bend), (0, 0), (300, 300), **ON_FOOT)["route"])[1:-1] == [
        "Walk 600 m along Crooked Road"
    ]
    junction = world(nodes | {"D": (600, 0)}, [*bend, ("B", "D", {"name": "Other Road"})])
    assert words(one(junction, (0, 0), (300, 300), **ON_FOOT)["route"])[1:-1] == [
        "Walk 300 m along Crooked Road",
        "Turn left to stay on Crooked Road and walk 300 m",
    ]


def test_a_nameless_crossing_is_no_news():
    nodes = {"A": (0, 0), "B": (300, 0), "C": (320, 0), "D": (600, 0)}
    name = {"name": "High Street"}
    street = world(nodes, [("A", "B", name), ("B", "C"), ("C", "D", name)])
    assert words(one(street, (0, 0), (600, 0), **ON_FOOT)["route"])[1:-1] == ["Walk 600 m along High Street"]


@pytest.mark.parametrize("oneway", ["", "yes"])
def test_roundabouts_count_their_exits(oneway):
    """The street on which one comes is no exit, whether one could leave by it or not."""
    # Right-hand traffic goes round against the clock: in from the south, past the east, out to the north.
    nodes = {"S": (0, -300), "s": (0, -30), "e": (30, 0), "n": (0, 30), "w": (-30, 0), "E": (300, 0), "N": (0, 300)}
    ring = {"junction": "roundabout", "oneway": "yes"}
    streets = [
        ("s", "e", ring), ("e", "n", ring), ("n", "w", ring), ("w", "s", ring),
        ("S", "s", {"name": "South Road", "oneway": oneway}), ("e", "E", {"name": "East Road"}),
        ("n", "N", {"name": "North Road"}),
    ]  # fmt: skip
    row = one(world(nodes, streets), (0, -250), (0, 200), transportation="driving")
    assert words(row["route"])[1:-1] == [
        "Drive 220 m along South Road",
        "At the roundabout take exit 2 onto North Road and drive 255 m",
    ]
    assert row["route"].parts()[2]["turn"] == "roundabout"
    assert row["route"].parts()[2]["road"] == "North Road"
    assert_adds_up(row["route"], row["travel_time"], row["distance"])
    inside = one(world(nodes, streets), (0, -250), (15, 15), transportation="driving")
    assert words(inside["route"])[2].startswith("At the roundabout go round and drive")


# Ferries -------------------------------------------------------------------------------------------------------------

ISLANDS = {"A": (0, 0), "B": (500, 0), "C": (2500, 0), "D": (2500, 400)}
FERRY = {"highway": None, "route": "ferry", "name": "Blue Line"}


@pytest.fixture(scope="module")
def islands():
    return world(ISLANDS, [("A", "B", {"name": "Pier Street"}), ("B", "C", FERRY), ("C", "D")])


@pytest.mark.parametrize(("mode", "name"), [("walking", "walk"), ("cycling", "bike"), ("driving", "car")])
@pytest.mark.parametrize("boarding_time", [0, 300])
def test_ferries_are_legs_of_their_own(islands, mode, name, boarding_time):
    transportation = {"type": f"{mode}+ferry", "boarding_time": boarding_time}
    row = one(islands, (0, 0), (2500, 400), transportation=transportation, departure_time="2024-05-14T08:00")
    boarding = ["boarding"] if boarding_time else []
    route = row["route"]
    assert [leg.mode for leg in route.legs] == [name, *boarding, "ferry", name]
    # 500 m, 2000 m and 400 m at 5 m/s; cars meet other cars on the streets.
    times = {leg.mode: leg.travel_time for leg in route.legs[:-1]}
    assert times["ferry"] == 400
    assert times.get("boarding", 0) == boarding_time
    if mode != "driving":
        assert (times[name], route.legs[-1].travel_time) == (100, 80)
    assert [leg.distance for leg in route.legs] == pytest.approx([500, *([0] if boarding else []), 2000, 400], abs=0.1)
    assert route.legs[-2].name == "Blue Line"
    assert route.legs[-2].directions == "Take the ferry Blue Line for 2000 m"
    assert set(route.distance_breakdown) == {name, "ferry"}
    assert_adds_up(route, row["travel_time"], row["distance"])
    for before, after in pairwise(route.legs):
        assert before.arrival_time == after.departure_time
    assert route.legs[-1].arrival_time == route.arrival_time == row["arrival_time"]
    assert row["reason"] is np.nan or pd.isna(row["reason"])
    dry = one(islands, (0, 0), (2500, 400), transportation=mode)
    assert dry["route"] is None
    assert pd.isna(dry["travel_time"])
    assert dry["reason"] == "other_component"
    assert dry.geometry.is_empty


# Sums ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["departure_time", "arrival_time"])
@pytest.mark.parametrize("mode", ["bus", "cycling+public_transport"])
def test_parts_of_journeys_by_timetable_add_up(mode, side):
    # Whoever arrives early waits at the end, which the last part includes.
    network, points = tl.sample_network(), tl.sample_points().iloc[:5]
    found = tl.routes(network, points, points.iloc[::-1], transportation=mode, **{side: "2019-05-13T09:00:30"})
    waits = []
    for route, seconds in zip(found["route"], found["travel_time"], strict=True):
        if route is None:
            continue
        parts = route.parts()
        assert sum(part["travel_time"] for part in parts) == route.travel_time == seconds
        assert all(part["travel_time"] >= 0 for part in parts)
        for leg in route.legs:
            if leg.steps:
                assert sum(step.travel_time for step in leg.steps) == leg.travel_time - leg.waiting_time
        waits.append(route.legs[-1].waiting_time if route.legs and route.legs[-1].ride is None else 0)
    assert any(waits) is (side == "arrival_time")


@pytest.mark.parametrize(
    "mode", first_of(1, ["driving+ferry", "walking", "cycling", "driving"], mark=pytest.mark.thorough)
)
def test_sums_are_those_of_time_filter_in_a_city(helsinki, mode):
    lng, lat = random_points(helsinki, 24, seed=3)
    points = gpd.GeoSeries.from_xy(lng, lat, crs="EPSG:4326")
    starts, ends = points.iloc[:12], points.iloc[12:]
    options = {"transportation": mode, "departure_time": "2024-05-14T08:00"}
    found = tl.routes(helsinki, starts, ends, **options)
    times = tl.time_filter(
        helsinki, starts, ends, travel_time=14_400, properties=("travel_time", "distance", "route"), **options
    )
    pd.testing.assert_series_equal(found["travel_time"], times["travel_time"])
    pd.testing.assert_series_equal(found["distance"], times["distance"])
    pd.testing.assert_series_equal(found["reason"], times["reason"])
    assert found["origin"].tolist() == times["origin"].tolist()
    assert found["travel_time"].notna().sum() > 100
    same = shapely.hausdorff_distance(found.geometry.array, times.geometry.array)
    assert np.nanmax(same) < 1e-7
    for row in found[found["travel_time"].notna()].itertuples():
        assert_adds_up(row.route, row.travel_time, row.distance)
        assert row.geometry.equals(row.route.geometry)
    assert all(map(has_no_joint_twice, times.geometry))


@pytest.mark.parametrize("pace", first_of(1, [1e-3, 1e3, 0.05], mark=pytest.mark.thorough, few=pytest.mark.slow))
def test_the_first_search_may_reach_too_far_or_not_far_enough(helsinki, monkeypatch, pace):
    lng, lat = random_points(helsinki, 16, seed=4)
    points = gpd.GeoSeries.from_xy(lng, lat, crs="EPSG:4326")
    options = {"transportation": "driving", "departure_time": "2024-05-14T08:00"}
    expected = tl.routes(helsinki, points, points, **options)
    monkeypatch.setattr(paths, "mean_pace", lambda graph: pace)
    found = tl.routes(helsinki, points, points, **options)
    pd.testing.assert_frame_equal(found.drop(columns="route"), expected.drop(columns="route"))


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(towns(), st.data())
def test_sums_are_those_of_time_filter_in_random_towns(network, data):
    places = st.lists(st.tuples(st.integers(-50, 650), st.integers(-50, 650)), min_size=1, max_size=3, unique=True)
    starts, ends = at(*data.draw(places)), at(*data.draw(places))
    mode = data.draw(st.sampled_from(["walking", "cycling", "driving"]))
    penalty = data.draw(st.sampled_from(["enabled", "disabled"]))
    options = {"transportation": mode, "snapping": {"penalty": penalty}}
    found = tl.routes(network, starts, ends, **options)
    times = tl.time_filter(network, starts, ends, travel_time=14_400, properties=("travel_time", "distance"), **options)
    pd.testing.assert_series_equal(found["travel_time"], times["travel_time"])
    pd.testing.assert_series_equal(found["distance"], times["distance"])
    for row in found[found["travel_time"].notna()].itertuples():
        assert_adds_up(row.route, row.travel_time, row.distance)


def test_one_point_is_no_journey(town):
    row = one(town, (200, 30), (200, 30), departure_time="2024-05-14T08:00", **ON_FOOT)
    assert row["travel_time"] == 0
    assert row["route"].legs == ()
    assert row["route"].parts() == []
    assert row["route"].geometry.is_empty
    assert row["departure_time"] == row["arrival_time"]
    assert row.geometry.length == 0.0


def test_pairs_and_unreachable(town):
    origins, destinations = at((0, 0), (0, 90_000)), at((500, 400), (1000, 0))
    found = tl.routes(town, origins, destinations, pairs="aligned", **ON_FOOT)
    assert found["reason"].tolist()[1:] == ["origin_outside_network"]
    assert pd.isna(found["reason"][0])
    assert found["route"][1] is None
    table = pd.DataFrame({"origin": [0, 0], "destination": [1, 0]})
    chosen = tl.routes(town, origins, destinations, pairs=table, properties=["travel_time"], **ON_FOOT)
    assert chosen["travel_time"].tolist() == [200, 180]
    assert "route" not in chosen.columns
    breakdown = tl.routes(town, origins, destinations, properties="distance_breakdown", **ON_FOOT)
    assert breakdown["distance_breakdown"][0]["walk"] == pytest.approx(900, abs=0.1)
    assert breakdown["distance_breakdown"][3] is None
    walked = tl.routes(town, origins, destinations, properties="on_foot", **ON_FOOT)
    assert walked["on_foot"].tolist() == [True, True, pd.NA, pd.NA]
    driven = tl.routes(town, origins, destinations, properties="on_foot", transportation="driving")
    assert driven["on_foot"].tolist() == [False, False, pd.NA, pd.NA]


# Moments -------------------------------------------------------------------------------------------------------------


def test_moments(town):
    leaving = one(town, (0, 0), (1000, 0), departure_time="2024-05-14T08:00", **ON_FOOT)
    assert leaving["arrival_time"] == pd.Timestamp("2024-05-14T08:03:20", tz="UTC")
    arriving = one(town, (0, 0), (1000, 0), arrival_time="2024-05-14T08:00", **ON_FOOT)
    assert arriving["departure_time"] == pd.Timestamp("2024-05-14T07:56:40", tz="UTC")
    assert arriving["arrival_time"] == pd.Timestamp("2024-05-14T08:00", tz="UTC")
    for options in ({}, {"arrival_time": "weekday_morning"}):
        undated = one(town, (0, 0), (1000, 0), **options, **ON_FOOT)
        assert pd.isna(undated["departure_time"])
        assert undated["route"].departure_time is None
        assert undated["route"].legs[0].arrival_time is None


def test_a_night_when_the_clocks_change(helsinki):
    # At 04:00 it is 03:00 again.
    points = tl.sample_points("helsinki")
    found = tl.routes(helsinki, points.iloc[:1], points.iloc[4:5], departure_time="2024-10-27T03:55+03:00", **ON_FOOT)
    route = found["route"][0]
    assert route.departure_time.utcoffset() == dt.timedelta(hours=3)
    assert route.arrival_time.utcoffset() == dt.timedelta(hours=2)
    apart = route.arrival_time.astimezone(dt.UTC) - route.departure_time.astimezone(dt.UTC)
    assert apart == dt.timedelta(seconds=int(found["travel_time"][0]))
    assert str(found["arrival_time"].dt.tz) == "Europe/Helsinki"


# Errors and the shape of later legs ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"properties": ["price"]},
            tl.InputError,
            "'on_foot', 'route', 'alerts'; got 'price'",
        ),
        ({"pairs": "some"}, tl.InputError, "pairs must be"),
        ({"transportation": "flying"}, tl.ModeError, "flying"),
        ({"departure_time": "2024-05-14", "arrival_time": "2024-05-14"}, tl.InputError, "not both"),
    ],
)
def test_errors(town, changes, error, message):
    with pytest.raises(error, match=message):
        tl.routes(town, at((0, 0)), at((1, 1)), **changes)


def test_too_many_routes_are_refused(town):
    many = gpd.GeoSeries.from_xy(*FRAME.to_lnglat(np.arange(400.0), np.zeros(400)), crs="EPSG:4326")
    with pytest.raises(tl.LimitError, match=r"100,000 pairs; got 160,000"):
        tl.routes(town, many, many)


def test_rides_have_the_parts_of_the_contract():
    moment = dt.datetime(2024, 5, 14, 8, 2, tzinfo=dt.UTC)
    ride = Ride(
        line="T1",
        headsign="Centre",
        board=StopCall("1", "Harbour", 0.0, 0.0, moment),
        alight=StopCall("2", "Market", 0.01, 0.0, moment + dt.timedelta(minutes=5)),
        num_stops=3,
    )
    leg = Leg("bus", "Take bus T1 to Centre", 420, 1100.0, shapely.LineString([(0, 0), (0.01, 0)]), ride=ride)
    route = tl.Route((leg,))
    assert route.parts() == [
        {
            "id": 0,
            "type": "public_transport",
            "mode": "bus",
            "directions": "Take bus T1 to Centre",
            "distance": 1100,
            "travel_time": 420,
            "coords": [{"lat": 0.0, "lng": 0.0}, {"lat": 0.0, "lng": 0.01}],
            "line": "T1",
            "departure_station": "Harbour",
            "arrival_station": "Market",
            "departs_at": "08:02:00",
            "arrives_at": "08:07:00",
            "num_stops": 3,
        }
    ]
    assert_adds_up(route, 420, 1100.0)
    assert (leg.origin, leg.destination) == ((0.0, 0.0), (0.01, 0.0))


@pytest.mark.parametrize(("kind", "on_foot"), [("walking", True), ("cycling", False), ("driving", False)])
def test_which_routes_are_walked(helsinki, kind, on_foot):
    origins, destinations = (
        gpd.GeoSeries.from_xy(*random_points(helsinki, 2, seed), crs="EPSG:4326") for seed in (1, 2)
    )
    found = tl.routes(helsinki, origins, destinations, transportation=kind, properties=["on_foot", "route"])
    assert found["on_foot"].dtype == "boolean"
    assert found["on_foot"].dropna().tolist() == [on_foot] * found["on_foot"].notna().sum()
    assert found["on_foot"].notna().any()
    assert [route is None for route in found["route"]] == found["on_foot"].isna().tolist()
