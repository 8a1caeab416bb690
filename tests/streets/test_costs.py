"""Congestion by hour, left-hand traffic, and whole milliseconds."""

from __future__ import annotations

import datetime as dt
import zoneinfo

import geopandas as gpd
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.osm_files import osm_xml
from tests.support.worlds import at, tables
from traveltime_lab import Transportation, build_network, time_filter
from traveltime_lab.modes.table import CYCLING, WALKING
from traveltime_lab.moments import WEEKDAY_MORNING
from traveltime_lab.readers.osm import tags
from traveltime_lab.streets import costs, slopes

pytestmark = pytest.mark.quick

ROME = zoneinfo.ZoneInfo("Europe/Rome")
MONDAY, SATURDAY, SUNDAY = (dt.date(2026, 3, day) for day in (2, 7, 8))


def moment(day: dt.date, hour: int, minute: int = 0) -> dt.datetime:
    return dt.datetime(day.year, day.month, day.day, hour, minute, tzinfo=ROME)


def test_the_profile_covers_the_week_and_never_beats_free_flow():
    assert costs.CONGESTION.shape == (7, 24)
    assert (costs.CONGESTION >= 1.0).all()
    assert (costs.CONGESTION[:5] == costs.CONGESTION[0]).all()
    # Two peaks on working days, the night free; weekends below both peaks.
    workday = costs.CONGESTION[0]
    assert workday[8] == max(workday[:12])
    assert workday[18] == max(workday[12:])
    assert (workday[:5] == 1.0).all()
    assert costs.CONGESTION[5:].max() < min(workday[8], workday[18])


def test_the_moment_decides_by_weekday_and_hour():
    for day, row in ((MONDAY, 0), (SATURDAY, 5), (SUNDAY, 6)):
        for hour in (3, 8, 18):
            assert costs.congestion(None, moment(day, hour, 59)) == pytest.approx(costs.CONGESTION[row, hour])
    assert costs.congestion(None, moment(MONDAY, 8)) > costs.congestion(None, moment(SUNDAY, 8))


def test_named_models_and_outlooks():
    assert costs.congestion("peak", None) == costs.congestion("peak", moment(MONDAY, 3)) == costs.PEAK
    assert costs.congestion("off_peak", None) == costs.congestion("off_peak", moment(MONDAY, 8)) == 1.0
    assert costs.congestion(None, WEEKDAY_MORNING) == costs.PEAK
    assert 1.0 < costs.congestion(None, None) == costs.BALANCED < costs.PEAK
    for when in (None, moment(MONDAY, 8), WEEKDAY_MORNING):
        middle = costs.congestion("balanced", when)
        assert costs.congestion(None, when) == middle
        assert costs.congestion("optimistic", when) == pytest.approx(1.0 + (middle - 1.0) / 2)
        assert costs.congestion("pessimistic", when) == pytest.approx(1.0 + (middle - 1.0) * 1.5)


def test_the_usual_speeds_are_those_of_the_reader():
    assert (WALKING.usual_kph, CYCLING.usual_kph) == (tags.WALKING_KPH, tags.CYCLING_KPH)
    assert costs.PUSHING_KPH == tags.PUSHING_KPH
    assert costs.CONNECTOR_KPH == tags.WALKING_KPH


def test_own_speeds():
    kph = np.array([15.0, 10.0, 4.0, 1.0, 5.0, 0.0])
    keeps = np.array([False, False, False, False, True, False])
    assert costs.at_own_speed(kph, CYCLING, 30.0, keeps).tolist() == [30.0, 20.0, 4.0, 1.0, 5.0, 0.0]
    assert costs.at_own_speed(kph, CYCLING, 5.0, keeps).tolist() == pytest.approx([5.0, 4.0, 4.0, 1.0, 5.0, 0.0])
    assert costs.at_own_speed(kph, WALKING, 10.0, keeps).tolist() == [30.0, 20.0, 8.0, 2.0, 5.0, 0.0]


@given(
    st.sampled_from([0.5, 5 / 3, 3.0, 4.0, 4.5, 6.0, 10.0, 15.0, 25.0]),
    st.floats(4.0, 60.0),
    st.floats(-0.35, 0.35),
    st.booleans(),
)
@example(4.0, 15.0, -0.03, False)  # they push on level ground, so that they push downhill, too
def test_cyclists_are_not_slower_than_pushing(kph, own, slope, keeps):
    """
    Bicycles are pushed at 4 km/h on level ground, or at the speed of the network where that is lower.

    Uphill, pushing takes as much longer as walking does.
    """
    level, grade = np.array([kph]), np.array([slope])
    ridden = costs.at_own_speed(level, CYCLING, own, np.array([keeps]))
    pushed = min(kph, 4.0)
    assert ridden[0] >= pushed
    on_foot, factor = slopes.walking_factor(grade), slopes.cycling_factor(grade)
    assert CYCLING.usual_kph / factor[0] >= 4.0 / on_foot[0] * (1 - 1e-12)
    found = costs.on_slopes(ridden, level, CYCLING, on_foot, factor)
    assert found[0] >= pushed / on_foot[0] * (1 - 1e-12)
    # They ride, or they push.
    riding, pushing = ridden[0] / factor[0], min(ridden[0], 4.0) / on_foot[0]
    assert found[0] == pytest.approx(ridden[0] / on_foot[0] if kph <= 4.0 else max(riding, pushing))
    assert costs.on_slopes(ridden, level, WALKING, on_foot, factor)[0] == ridden[0] / on_foot[0]


def test_classes_suffer_their_share():
    share = costs.delay_shares(np.array(["primary", "residential", "ferry", "track", "unheard_of"], dtype=object))
    assert share.tolist() == [1.0, 0.4, 0.0, 0.0, 0.5]


def test_cars_are_late_at_eight_and_nobody_else_is():
    """A kilometre of primary road at 5 m/s; the time of the search is the multiplier on it."""
    row = tables({"a": (0, 0), "b": (1000, 0)}, [("a", "b", {"highway": "primary"})])
    network = build_network(row, timezone="Europe/Rome")
    ends = at((100, 0), (900, 0))

    def seconds(transportation: str, when: str) -> float:
        trip = {"travel_time": 3600, "transportation": transportation, "departure_time": when}
        return time_filter(network, ends[:1], ends[1:], **trip, form="matrix").iloc[0, 0]

    assert seconds("driving", "2026-03-02T03:00:00") == 160
    assert seconds("driving", "2026-03-02T08:15:00") == round(160 * costs.CONGESTION[0, 8])
    # 07:15 UTC is 08:15 in Rome, whose hour counts.
    assert seconds("driving", "2026-03-02T07:15:00Z") == round(160 * costs.CONGESTION[0, 8])
    assert seconds("driving", "2026-03-08T08:15:00") == round(160 * costs.CONGESTION[6, 8])
    for mode in ("walking", "cycling"):
        assert seconds(mode, "2026-03-02T08:15:00") == seconds(mode, "2026-03-02T03:00:00") == 160


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Europe/London", "Europe/Paris"),
        ("Europe/Dublin", "Europe/Gibraltar"),
        ("Europe/Malta", "Europe/Rome"),
        ("Asia/Nicosia", "Europe/Athens"),
        ("Asia/Tokyo", "Asia/Seoul"),
        ("Asia/Hong_Kong", "Asia/Shanghai"),
        ("Asia/Bangkok", "Asia/Yangon"),
        ("Asia/Kolkata", "Asia/Kabul"),
        ("Africa/Johannesburg", "Africa/Luanda"),
        ("Australia/Sydney", "Asia/Manila"),
        ("Australia/Lord_Howe", "Pacific/Honolulu"),
        ("Pacific/Fiji", "Pacific/Noumea"),
        ("Pacific/Rarotonga", "Pacific/Pago_Pago"),
        ("America/Jamaica", "America/Havana"),
        ("America/Paramaribo", "America/Cayenne"),
        ("America/St_Thomas", "America/Puerto_Rico"),
        ("America/Cayman", "America/New_York"),
    ],
)
def test_who_keeps_left(left, right):
    assert costs.drives_on_left(left)
    assert not costs.drives_on_left(right)


def test_zones_of_left_hand_traffic_exist():
    assert zoneinfo.available_timezones() >= costs.LEFT_HAND_ZONES


def test_the_turn_across_the_oncoming_lane_costs_more():
    """A crossing of four roads: going left costs more where people keep right, and the other way round."""
    nodes = {"m": (0, 0), "w": (-500, 0), "e": (500, 0), "n": (0, 500), "s": (0, -500)}
    traversal = tables(nodes, [("w", "m"), ("m", "e"), ("n", "m"), ("m", "s")])
    start, ends = at((-400, 0)), at((0, 400), (0, -400))
    to_left, to_right = {}, {}
    for zone in ("Europe/Rome", "Europe/London"):
        network = build_network(traversal, timezone=zone)
        table = time_filter(network, start, ends, travel_time=3600, transportation="driving", form="matrix")
        to_left[zone], to_right[zone] = table.iloc[0]
    assert to_left["Europe/Rome"] > to_right["Europe/Rome"]
    assert to_left["Europe/London"] < to_right["Europe/London"]
    overridden = build_network(traversal, timezone="Europe/Rome", is_left_hand=True)
    assert overridden.report()["traffic_keeps"] == "left"
    assert overridden.fingerprint != build_network(traversal, timezone="Europe/Rome").fingerprint


def test_whole_milliseconds():
    ms = costs.crossing_ms(np.array([1000.0, 1000.0, 0.01, 1.0]), np.array([36.0, 0.0, 36.0, 3.6]))
    assert ms.dtype == np.int64
    assert ms.tolist() == [100_000, 0, 1, 1000]
    assert costs.connector_ms(np.array([0.0, 50.0])).tolist() == [0, 36_000]


@pytest.mark.parametrize("engine", ["dijkstra", "hierarchy", "pandana"])
@pytest.mark.parametrize("has_doubled_node", [False, True])
def test_places_along_a_very_long_edge(engine, has_doubled_node):
    """250 km without a junction, and 25 km for somebody who walks 0.5 km/h, are walked at the usual speed."""
    if engine == "pandana":
        pytest.importorskip("pandana")
    for means, metres, near in (
        (Transportation("walking"), 250_000.0, 10_000.0),
        (Transportation("walking", walking_speed=0.5), 25_000.0, 1_000.0),
    ):
        nodes = {"a": (0.0, 0.0), "b": (0.0, metres)}
        streets = [("a", "b", {"walking_kph": 5.0})]
        if has_doubled_node:
            nodes["a2"] = (-1e-9, 0.0)
            streets.append(("a", "a2", {"walking_kph": 5.0}))
        network = build_network(tables(nodes, streets), timezone="UTC")
        start, end = at((0.0, 0.0)), at((0.0, near))
        arguments = {"transportation": means, "travel_time": 14_400, "engine": engine, "form": "matrix"}
        for pair in ((start, end), (end, start)):
            seconds = time_filter(network, *pair, **arguments).iloc[0, 0]
            assert seconds == pytest.approx(near * 3.6 / (means.walking_speed or 5.0), rel=0.01), (means, pair)


def test_edges_longer_than_labels_hold_are_named():
    nodes = {"a": (0.0, 0.0), "b": (0.0, 400_000.0)}
    network = build_network(tables(nodes, [("a", "b", {"walking_kph": 5.0})]), timezone="UTC")
    points = at((0.0, 0.0))
    with pytest.warns(
        UserWarning, match=r"without a junction .* 74 hours on foot \(1 in all, the longest has \d+ km\)"
    ):
        time_filter(network, points, points, transportation="walking", travel_time=60)


@pytest.mark.filterwarnings("ignore:edges without a junction:UserWarning")
@pytest.mark.parametrize("engine", ["dijkstra", "hierarchy"])
def test_many_very_long_edges_in_a_row_are_out_of_reach(engine):
    """Their labels together exceed 63 bits."""
    nodes = {i: (0.0, i * 300.0) for i in range(14)}
    slow = {"driving_kph": 0.001, "walking_kph": 0.001}
    streets = [(i, i + 1, {"driving_kph": 30.0} if i in (0, 12) else slow) for i in range(13)]
    network = build_network(tables(nodes, streets), timezone="UTC")
    start, end = at((0.0, 30.0)), at((0.0, 13 * 300.0 - 30.0), (0.0, 290.0))
    for pair in ((start, end), (end, start)):
        table = time_filter(network, *pair, travel_time=14_400, transportation="driving", engine=engine, form="matrix")
        seconds = table.to_numpy().ravel()
        assert np.isnan(seconds[0]) and 0 < seconds[1] < 120


@pytest.mark.parametrize("engine", ["dijkstra", "pandana"])
def test_a_crossing_of_months_is_out_of_reach_and_not_around_the_corner(tmp_path, engine):
    """Labels have 32 bits for milliseconds, 49.7 days: a ferry of 348 days must not wrap around to 40 minutes."""
    if engine == "pandana":
        pytest.importorskip("pandana")
    nodes = {1: (0.0, 0.0), 2: (0.01, 0.0), 3: (0.02, 0.0), 4: (0.03, 0.0)}
    ways = [
        (10, "1 2", "highway=residential"),
        (11, "2 3", "route=ferry motor_vehicle=yes duration=P348D"),
        (12, "3 4", "highway=residential"),
    ]
    path = tmp_path / "ferry.osm"
    path.write_bytes(osm_xml(nodes, ways))
    network = build_network(path)
    ends = gpd.GeoSeries.from_xy([0.005, 0.025], [0.0, 0.0], crs="EPSG:4326")
    table = time_filter(network, ends, ends, travel_time=14_400, transportation="driving+ferry", engine=engine)
    assert table.travel_time.notna().tolist() == [True, False, False, True]
    assert table.travel_time.fillna(0).eq(0).all()
