"""Turn restrictions that hold at some hours of the week: every search at every moment, and what it costs."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from zoneinfo import ZoneInfo

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

import traveltime_lab as tl
from tests.support.osm_files import osm_xml
from traveltime_lab.network.network import Network
from traveltime_lab.search.explain.reasons import Reason
from traveltime_lab.streets import contraction

# Nodes 1 to 25 on a grid with steps of 0.002 degrees, row by row from the north-west, with streets all around a
# crossing at 13. It lies where the clocks are three hours behind those of Greenwich.
GRID = {5 * row + column + 1: (-46.6 + column * 0.002, -23.5 - row * 0.002) for row in range(5) for column in range(5)}
ZONE = "America/Sao_Paulo"
WAYS = [
    (1, "1 2 3 4 5 10 15 20 25 24 23 22 21 16 11 6 1", "highway=residential"),
    (10, "11 12 13", "highway=residential"),  # from the west
    (11, "13 14 15", "highway=residential"),  # to the east
    (12, "3 8 13", "highway=residential"),  # to the north
    (13, "13 18 23", "highway=residential"),  # to the south
]
LEFT = "w10@from n13@via w12@to"
PEAKS = "restriction:conditional=no_left_turn @ (Mo-Fr 07:00-09:00,16:00-18:00)"
#: From the west to the north; straight over the crossing it is 445 m.
START, GOAL = (-46.5975, -23.504), (-46.596, -23.5025)
#: Free flow, so that the moment does not change the speed.
CAR = tl.Transportation("driving", traffic_model="off_peak")


def build(folder: Path, *relations: str, members: str = LEFT, ways=WAYS) -> Network:
    path = folder / "grid.osm"
    every = [(90 + i, members, f"type=restriction|{tags}") for i, tags in enumerate(relations)]
    path.write_bytes(osm_xml(GRID, ways, every))
    return tl.build_network(path, timezone=ZONE)


def point(place: tuple[float, float]) -> gpd.GeoSeries:
    return gpd.GeoSeries([shapely.Point(place)], crs="EPSG:4326")


def turns(network: Network, moment=None, *, start=START, goal=GOAL, **ask) -> bool:
    """Return whether the best drive turns at the crossing; all engines and routes must say the same."""
    ask = {"departure_time": moment, "transportation": CAR} | ask
    places = point(start), point(goal)
    engines = ("auto", "dijkstra", "hierarchy", "pandana")
    tables = [
        tl.time_filter(network, *places, travel_time=7200, engine=engine, properties=["travel_time", "distance"], **ask)
        for engine in engines
    ]
    times = {(int(table["travel_time"].iloc[0]), float(table["distance"].iloc[0])) for table in tables}
    assert len(times) == 1
    table = tl.routes(network, *places, properties=["travel_time", "distance", "route"], **ask)
    ((seconds, metres),) = times
    assert (table["travel_time"].iloc[0], table["distance"].iloc[0]) == (seconds, metres)
    return metres < 500


MONDAY = "2026-03-02"
SATURDAY = "2026-03-07"


@pytest.fixture(scope="module")
def crossing(tmp_path_factory: pytest.TempPathFactory) -> Network:
    return build(tmp_path_factory.mktemp("crossing"), PEAKS)


@pytest.mark.parametrize(
    ("moment", "is_free"),
    [
        (None, True),
        (f"{MONDAY}T06:59:59", True),
        (f"{MONDAY}T07:00", False),
        (f"{MONDAY}T08:59:59", False),
        (f"{MONDAY}T09:00", True),
        (f"{MONDAY}T16:00", False),
        (f"{MONDAY}T18:00", True),
        ("2026-03-06T08:00", False),
        (f"{SATURDAY}T08:00", True),
        ("2026-03-08T08:00", True),
        # Moments of other time zones: it is the hour at the crossing that counts.
        (f"{MONDAY}T11:30:00Z", False),
        (f"{MONDAY}T08:30:00Z", True),
        (dt.datetime(2026, 3, 2, 20, 30, tzinfo=ZoneInfo("Asia/Tokyo")), False),
        ("2026-03-07T00:30:00+14:00", False),  # still Friday at the crossing
        ("2026-03-02T11:30:00+14:00", True),  # still Sunday
        # A typical working day between 8 and 9.
        ("weekday_morning", False),
    ],
)
def test_the_hours_decide(crossing, moment, is_free):
    assert turns(crossing, moment) == is_free
    assert turns(crossing, None, arrival_time=moment) == is_free


def test_the_moment_is_that_of_the_search(crossing):
    """The car leaves before seven and is at the crossing after it: the departure decides, or else the arrival."""
    long_before, after = f"{MONDAY}T06:59:55", f"{MONDAY}T07:01"
    assert turns(crossing, long_before)
    assert not turns(crossing, None, arrival_time=after)


@pytest.mark.parametrize("model", ["off_peak", "peak", "optimistic", "balanced", "pessimistic", None])
@pytest.mark.slow
def test_traffic_models_change_the_speed_only(crossing, model):
    car = tl.Transportation("driving", traffic_model=model)
    assert turns(crossing, transportation=car)
    assert not turns(crossing, f"{MONDAY}T08:00", transportation=car)
    assert turns(crossing, f"{SATURDAY}T08:00", transportation=car)


def test_past_midnight(tmp_path):
    network = build(tmp_path, "restriction:conditional=no_left_turn @ (Su 22:00-02:00)")
    hours = {"2026-03-01T21:59": True, "2026-03-01T22:00": False, f"{MONDAY}T01:59": False, f"{MONDAY}T02:00": True}
    assert {moment: turns(network, moment) for moment in hours} == hours


@pytest.mark.slow
def test_on_the_days_when_the_clocks_change(tmp_path):
    """Helsinki: 3 o'clock does not exist on 29 March 2026, and comes twice on 25 October."""
    path = tmp_path / "grid.osm"
    tags = "type=restriction|restriction:conditional=no_left_turn @ (Su 03:00-04:00)"
    path.write_bytes(osm_xml(GRID, WAYS, [(90, LEFT, tags)]))
    network = tl.build_network(path, timezone="Europe/Helsinki")
    moments = {
        "2026-03-29T02:59:00+02:00": True,
        "2026-03-29T03:30:00+02:00": True,  # 4:30 in summer time
        "2026-10-25T03:30:00+03:00": False,
        "2026-10-25T03:30:00+02:00": False,
        "2026-10-25T04:00:00+02:00": True,
    }
    assert {moment: turns(network, moment) for moment in moments} == moments


@pytest.mark.parametrize(
    ("tags", "free"),
    [
        ("restriction:motorcar:conditional=no_left_turn @ (07:00-09:00)", [True, False, True]),
        ("restriction:hgv:conditional=no_left_turn @ (07:00-09:00)", [True, True, True]),
        ("restriction:conditional=no_left_turn @ (07:00-09:00)|except=motorcar", [True, True, True]),
        ("restriction:conditional=no_left_turn @ (07:00-09:00)|except=bus;psv", [True, False, True]),
        ("restriction=no_left_turn|hour_on=7|hour_off=9", [True, False, True]),
        # Without a moment, what is said without a condition holds.
        ("restriction=no_left_turn|restriction:conditional=none @ (07:00-09:00)", [False, True, False]),
        ("restriction=no_left_turn|restriction:motor_vehicle:conditional=none @ (07:00-09:00)", [False, True, False]),
        ("restriction:conditional=no_left_turn @ (24/7)", [False, False, False]),
        ("restriction:conditional=no_left_turn @ (PH)", [True, True, True]),
    ],
)
@pytest.mark.slow
def test_tags_decide_at_no_moment_at_eight_and_at_noon(tmp_path, tags, free):
    network = build(tmp_path, tags)
    assert [turns(network, moment) for moment in (None, f"{MONDAY}T08:00", f"{MONDAY}T12:00")] == free


@pytest.mark.slow
def test_compulsory_turns(tmp_path):
    """At these hours one may go east only: neither to the north nor to the south."""
    tags = "restriction:conditional=only_straight_on @ (Mo-Fr 07:00-09:00)"
    network = build(tmp_path, tags, members="w10@from n13@via w11@to")
    east, south = (-46.5945, -23.504), (-46.596, -23.5055)
    for moment, is_free in ((f"{MONDAY}T08:00", False), (f"{MONDAY}T12:00", True), (None, True)):
        assert turns(network, moment, goal=GOAL) == turns(network, moment, goal=south) == is_free
        assert turns(network, moment, goal=east)


def test_via_ways(tmp_path):
    """A U-turn over the link between two carriageways, forbidden at some hours."""
    ways = [
        (20, "6 7 8 9 10", "highway=primary oneway=yes"),
        (21, "20 19 18 17 16", "highway=primary oneway=yes"),
        (22, "10 15 20", "highway=primary"),
        (23, "8 13 18", "highway=primary"),
        (24, "16 11 6", "highway=primary"),
    ]
    tags = "restriction:conditional=no_u_turn @ (Sa,Su)"
    network = build(tmp_path, tags, members="w20@from w23@via w21@to", ways=ways)
    assert np.diff(network.tables.restriction_indptr).tolist() == [3]
    trip = {"start": (-46.597, -23.502), "goal": (-46.597, -23.506)}
    metres = {}
    for day in (MONDAY, SATURDAY):
        table = tl.time_filter(
            network, point(trip["start"]), point(trip["goal"]), travel_time=7200, transportation=CAR,
            departure_time=f"{day}T12:00", properties=["distance"],
        )  # fmt: skip
        metres[day] = float(table["distance"].iloc[0])
    assert metres[SATURDAY] > metres[MONDAY] + 500


def test_all_searches_see_the_hours(crossing):
    """A minute is enough for the turn and not for the way round it."""
    ask = {"travel_time": 60, "transportation": CAR}
    for moment, is_free in ((f"{MONDAY}T08:00", False), (f"{MONDAY}T12:00", True)):
        for direction, place, other in (("departure_time", START, GOAL), ("arrival_time", GOAL, START)):
            when = {direction: moment}
            area = tl.time_map(crossing, point(place), level_of_detail="highest", **ask, **when).geometry.iloc[0]
            assert area.covers(shapely.Point(other)) == is_free
            area = tl.distance_map(
                crossing, point(place), distance=500, transportation=CAR, level_of_detail="highest", **when
            ).geometry.iloc[0]
            assert area.covers(shapely.Point(other)) == is_free
            cells = tl.h3_cells(crossing, point(place), resolution=12, **ask, **when)
            assert bool(cells.geometry.covers(shapely.Point(other)).any()) == is_free
        told = tl.explain(crossing, START, GOAL, departure_time=moment, **ask)
        assert told.is_reached == is_free
        assert all(isinstance(reason, Reason) for reason in told.reasons)


def test_walking_and_cycling_are_the_same_at_all_moments(crossing):
    for mode in ("walking", "cycling"):
        graphs = {id(crossing.road_graph(mode, moment)) for moment in (None, f"{MONDAY}T08:00", f"{SATURDAY}T08:00")}
        assert len(graphs) == 1


def test_graphs_and_hierarchies_are_kept_by_the_restrictions_that_hold(crossing):
    streets = crossing.streets
    moments = [None, *(f"{MONDAY}T{hour:02}:30" for hour in range(24)), f"{SATURDAY}T08:30"]
    graphs = {moment: crossing.road_graph(CAR, moment) for moment in moments}
    assert len({id(graph) for graph in graphs.values()}) == 2
    at_peak, by_default = graphs[f"{MONDAY}T08:30"], graphs[None]
    assert at_peak is graphs[f"{MONDAY}T16:30"]
    assert contraction.hierarchy(streets, at_peak) is contraction.hierarchy(streets, graphs[f"{MONDAY}T17:30"])
    assert contraction.hierarchy(streets, at_peak) is not contraction.hierarchy(streets, by_default)
    assert at_peak.topology.indices.size == by_default.topology.indices.size - 1


def test_networks_without_hours_have_one_topology(tmp_path):
    network = build(tmp_path, "restriction=no_left_turn")
    moments = [None, "weekday_morning", *(f"{MONDAY}T{hour:02}:30" for hour in range(24)), f"{SATURDAY}T08:30"]
    assert len({id(network.road_graph("driving", moment).topology) for moment in moments}) == 1
    assert len({id(network.road_graph(CAR, moment)) for moment in moments}) == 1


def test_a_street_that_some_hours_close(tmp_path):
    """A street whose only way out is forbidden at some hours: points stay on it, and reach nothing then."""
    ways = [WAYS[0], (10, "12 13", "highway=residential"), (11, "13 14 15", "highway=residential")]
    network = build(tmp_path, "restriction:conditional=no_entry @ (Sa)", members="w10@from n13@via w11@to", ways=ways)
    start, goal = point((-46.5975, -23.504)), point((-46.594, -23.504))
    ask = {"travel_time": 3600, "transportation": CAR}
    found = {
        day: tl.time_filter(network, start, goal, departure_time=f"{day}T12:00", **ask).iloc[0]
        for day in (MONDAY, SATURDAY)
    }
    assert found[MONDAY]["travel_time"] > 0
    assert pd.isna(found[SATURDAY]["travel_time"])
    told = tl.explain(network, start, goal, departure_time=f"{SATURDAY}T12:00", **ask)
    assert "one_way_trap" in [reason.code for reason in told.reasons]
    # The other direction is open at all times.
    back = tl.time_filter(network, goal, start, departure_time=f"{SATURDAY}T12:00", **ask).iloc[0]
    assert back["travel_time"] > 0


def test_saved_and_loaded(crossing, tmp_path):
    loaded = tl.load_network(crossing.save(tmp_path / "grid.network"))
    for name in ("timed_restrictions", "timed_by_default", "timed_indptr", "timed_minutes"):
        found, expected = getattr(loaded.tables, name), getattr(crossing.tables, name)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
    assert loaded.fingerprint == crossing.fingerprint
    assert [turns(loaded, moment) for moment in (None, f"{MONDAY}T08:00")] == [True, False]
    report = loaded.report()
    assert (report["restrictions_mapped"], report["restrictions_with_hours"]) == (1, 1)
    assert report["restrictions_with_ignored_conditions"] == 0


def test_hours_are_part_of_the_fingerprint(crossing, tmp_path):
    other = build(tmp_path, PEAKS.replace("16:00", "15:00"))
    assert other.fingerprint != crossing.fingerprint
