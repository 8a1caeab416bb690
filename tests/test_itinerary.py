"""Routes as they are shown: in one line, as a table of legs, and in HTML."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from traveltime_lab.itinerary import Leg, Ride, Route, StopCall, timed

pytestmark = [pytest.mark.quick, pytest.mark.pythons]

ZONE = ZoneInfo("Europe/Helsinki")
EIGHT = dt.datetime(2026, 3, 2, 8, tzinfo=ZONE)
LINE = shapely.LineString([(24.94, 60.17), (24.95, 60.17)])
WALK = Leg("walk", "Walk 400 m", 300, 400.0, LINE)


def ride(minute: int, *, stays_seated: bool = False) -> Leg:
    """A ride of ten minutes that departs at 8:10, after a wait."""
    board = StopCall("a", "Ash & <Birch>", 24.94, 60.17, EIGHT + dt.timedelta(minutes=minute))
    alight = StopCall("b", "Cedar", 24.95, 60.17, EIGHT + dt.timedelta(minutes=minute + 10))
    trip = Ride("550", "East", board, alight, 3, stays_seated=stays_seated)
    wait_s = 0 if stays_seated else 60 * minute - 300
    return Leg(
        "rail_underground", "Take 550 from Ash & <Birch>", 600 + wait_s, 5000.0, LINE, waiting_time=wait_s, ride=trip
    )


ROUTE = timed((WALK, ride(10), ride(20, stays_seated=True), WALK), EIGHT, is_arrival=False, fares=None)


@given(st.lists(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 25)), min_size=2, max_size=5), max_size=4))
def test_points_are_no_further_apart_than_rounding(legs: list[list[tuple[int, int]]]) -> None:
    """The line of a route has the points of its legs, without those that are the last one, up to rounding."""
    lines = [shapely.LineString([(x, y * 1e-10) for x, y in points]) for points in legs]
    expected: list[tuple[float, float]] = []
    for point in [point for line in lines for point in line.coords]:
        if not expected or max(abs(a - b) for a, b in zip(point, expected[-1], strict=True)) > 1e-9:
            expected.append(point)
    found = Route(tuple(replace(WALK, geometry=line) for line in lines)).geometry
    assert list(found.coords) == (expected * 2 if len(expected) == 1 else expected)


def test_one_line() -> None:
    told = "<Route 35 min, 10.8 km: walk, rail underground 550, rail underground 550, walk; 2026-03-02 08:00 to 08:35>"
    assert repr(ROUTE) == str(ROUTE) == told
    assert repr(Route((WALK,))) == "<Route 5 min, 0.4 km: walk>"
    assert repr(Route(())) == "<Route 0 s, 0.0 km: no legs>"
    assert (
        repr(Route((Leg("ferry", "Ferry", 90, 600.0, LINE, name="Suomenlinna"),)))
        == "<Route 2 min, 0.6 km: ferry Suomenlinna>"
    )


def test_table_of_legs() -> None:
    table = ROUTE.legs_frame()
    assert table.crs == "EPSG:4326"
    assert table["travel_time"].sum() == ROUTE.travel_time
    assert table["distance"].sum() == ROUTE.distance
    assert table["waiting_time"].tolist() == [0, 300, 0, 0]
    assert table["line"].tolist() == ["", "550", "550", ""]
    assert table["from_stop"].tolist() == ["", "Ash & <Birch>", "Ash & <Birch>", ""]
    assert table["departure_time"].dt.strftime("%H:%M").tolist() == ["08:00", "08:05", "08:20", "08:30"]
    boarding = table["boarding_time"]
    assert boarding[1] == EIGHT + dt.timedelta(minutes=10) and pd.isna(boarding[0])
    assert str(boarding.dt.tz) == "Europe/Helsinki"


def test_tables_have_the_same_columns_without_times_and_legs() -> None:
    dtypes = ROUTE.legs_frame().dtypes.drop(["departure_time", "boarding_time", "arrival_time", "geometry"])
    undated = Route((WALK,)).legs_frame()
    assert undated["departure_time"].isna().all()
    assert undated.dtypes[dtypes.index].equals(dtypes)
    empty = Route(()).legs_frame()
    assert list(empty.columns) == list(undated.columns) and empty.empty


def test_html() -> None:
    html = ROUTE._repr_html_()
    assert "Ash &amp; &lt;Birch&gt;" in html and "<Birch>" not in html
    assert html.count("<tr>") == html.count("</tr>") == 5
    # The ride starts when the vehicle departs, and the wait is apart.
    assert [f">{text}<" in html for text in ("08:10", "5 min", "10 min", "08:05")] == [True, True, True, False]


def test_a_leg_may_come_back_to_where_it_begins() -> None:
    """The line of a route is that of its legs; points where legs meet, up to rounding, are in it once."""
    lines = [[(0, 0), (1, 0)], [(1, 1e-12), (2, 0), (1, 0), (1, 3)], [(1, 3), (1, 3)], [(1, 3), (0, 3)]]
    route = Route(tuple(Leg("walk", "", 60, 1.0, shapely.LineString(line)) for line in lines))
    assert list(route.geometry.coords) == [(0, 0), (1, 0), (2, 0), (1, 0), (1, 3), (0, 3)]
