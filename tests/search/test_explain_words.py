"""The words of explanations: durations, distances, moments, and what a travel time is made of."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
import shapely

import traveltime_lab as tl
from traveltime_lab.itinerary import Leg, Ride, Step, StopCall
from traveltime_lab.search.explain.reasons import clock, day, distance, duration, made_of, parts_of, parts_words

LINE = shapely.LineString([(0, 0), (0.01, 0)])
STOP = StopCall("1", "Harbour", 0.0, 0.0, dt.datetime(2026, 3, 3, 8, 2, tzinfo=dt.UTC))
RIDE = Ride("T1", "Centre", STOP, STOP, 3)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"), (1, "1 s"), (59, "59 s"), (60, "1 min"), (61, "1 min 1 s"), (3599, "59 min 59 s"), (3600, "1 h"),
        (3601, "1 h 1 s"), (3660, "1 h 1 min"), (86_400, "24 h"), (90_061, "25 h 1 min 1 s"),
    ],
)  # fmt: skip
def test_durations(seconds: int, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("metres", "words"),
    [(0.4, "0 m"), (840.0, "840 m"), (9999.4, "9999 m"), (9999.6, "10.0 km"), (1_234_567.0, "1,234.6 km")],
)
def test_distances(metres: float, words: str) -> None:
    assert distance(metres) == words


def test_moments() -> None:
    moment = dt.datetime(2026, 3, 2, 8, 0, tzinfo=dt.UTC)
    assert clock(moment) == "08:00 on Monday 2026-03-02"
    assert clock(moment.replace(second=5)) == "08:00:05 on Monday 2026-03-02"
    assert day(moment.date()) == "Monday 2026-03-02"


def test_parts_are_added_by_activity_and_the_longest_come_first() -> None:
    """Walks between points and streets are walked in any mode; waits are apart; staying seated is no change."""
    ends = Step("start_end", "", 30, 25.0, LINE)
    drive = Leg("car", "", 400, 0.0, LINE, (ends, Step("road", "", 340, 0.0, LINE), ends))
    walk = Leg("walk", "", 100, 0.0, LINE, (ends, Step("road", "", 70, 0.0, LINE)))
    bus = Leg("bus", "", 700, 0.0, LINE, waiting_time=200, ride=RIDE)
    parts, n_changes = parts_of(tl.Route((drive, walk, bus)))
    assert (list(parts.items()), n_changes) == ([("bus", 500), ("car", 340), ("wait", 200), ("walk", 160)], 0)
    on = replace(bus, ride=replace(RIDE, stays_seated=True), waiting_time=0)
    assert parts_of(tl.Route((bus, on)))[1] == 0
    assert parts_of(tl.Route((bus, on, bus)))[1] == 1
    assert parts_of(tl.Route((bus, on, bus, walk, bus)))[1] == 2
    assert parts_of(tl.Route((walk,))) == ({"walk": 100}, 0)
    assert parts_of(tl.Route(())) == parts_of(None) == ({}, 0)


def test_what_a_time_is_made_of() -> None:
    parts = {"bus": 600, "walk": 300, "underground": 100}
    words = "10 min by bus, 5 min walking, 1 min 40 s by underground"
    assert parts_words(parts, 0) == words
    assert parts_words(parts, 1) == f"{words}, with 1 change"
    assert parts_words(parts, 2) == f"{words}, with 2 changes"
    reason = made_of(parts, 2)
    assert str(reason) == f"The time is made of {words}, with 2 changes."
    assert (reason.data["most"], reason.data["share"], reason.data["n_changes"]) == ("bus", 0.6, 2)
    assert made_of({}, 0).data == {"parts": {}, "n_changes": 0}
