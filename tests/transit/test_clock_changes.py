"""The two nights of a year when the clocks change, from door to door, worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import traveltime_lab as tl
from tests.support.towns import ON_FOOT, timetable
from tests.support.worlds import at, tables

ROME = "agency_id,agency_name,agency_url,agency_timezone\nA,Transit,https://example.org,Europe/Rome"


def night(folder: Path, first_day: str, *departures: int) -> tl.Network:
    """A street of 10 km and buses along it in ten minutes, so many seconds after noon minus twelve hours."""
    streets = tables({0: (-500, 0), 1: (0, 0), 2: (10_500, 0)}, [(i, i + 1, ON_FOOT) for i in range(2)])
    calendar = (
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n"
        f"daily,1,1,1,1,1,1,1,{first_day},{int(first_day) + 3}"
    )
    path = timetable(
        folder,
        {"a": (0.0, 0.0), "c": (10_000.0, 0.0)},
        [[("a", when), ("c", when + 600)] for when in departures],
        agency=ROME,
        calendar=calendar,
    )
    return tl.build_network(streets, gtfs=path, timezone="Europe/Rome")


def rows(network: tl.Network, **how: Any) -> Any:
    """Return a table from 60 m before the first stop to the last one."""
    return tl.time_filter(network, at((60, 0)), at((10_000, 0)), travel_time=7200, transportation="bus", **how)


@pytest.fixture(scope="module")
def autumn(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    """
    The night before Sunday 2014-10-26, when clocks in Rome go from 3:00 +02:00 back to 2:00 +01:00.

    The service day of the 25th begins at 22:00 UTC, and 26:45 is 0:45 UTC, 2:45 +02:00. That of the 26th begins twelve
    hours before noon, 23:00 UTC, and 2:30 is 1:30 UTC, 2:30 +01:00.
    """
    return night(tmp_path_factory.mktemp("autumn"), "20141025", 96_300, 9_000)


@pytest.fixture(scope="module")
def spring(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    """
    The night before Sunday 2015-03-29, when clocks in Rome go from 2:00 +01:00 forward to 3:00 +02:00.

    The service day of the 29th begins at 22:00 UTC: 2:30 is 0:30 UTC, 1:30 +01:00, and 3:30 is 1:30 UTC, 3:30 +02:00.
    """
    return night(tmp_path_factory.mktemp("spring"), "20150328", 9_000, 12_600)


@pytest.mark.parametrize(
    ("moment", "seconds"),
    [
        ("2014-10-26T02:40+02:00", 300 + 600),
        ("2014-10-26T02:44+02:00", 60 + 600),
        ("2014-10-26T02:50+02:00", 2400 + 600),  # to the second half past two of this night
        ("2014-10-26T02:20+01:00", 600 + 600),
    ],
)
def test_leaving_in_autumn(autumn: tl.Network, moment: str, seconds: int) -> None:
    assert rows(autumn, departure_time=moment)["travel_time"][0] == seconds


def test_an_hour_that_comes_twice_needs_an_offset(autumn: tl.Network) -> None:
    with pytest.raises(tl.MomentError, match="ambiguous"):
        rows(autumn, departure_time="2014-10-26T02:40")


def test_arriving_in_autumn(autumn: tl.Network) -> None:
    # By 3:00 +01:00 one takes the bus of 2:30 +01:00, and leaves a minute before.
    assert rows(autumn, arrival_time="2014-10-26T03:00+01:00")["travel_time"][0] == 1800 + 60
    # By 2:20 +01:00 only that of 2:45 +02:00, 35 minutes before.
    assert rows(autumn, arrival_time="2014-10-26T02:20+01:00")["travel_time"][0] == 2100 + 60


def test_a_window_over_the_change(autumn: tl.Network) -> None:
    # From 2:40 +02:00 for an hour, until 2:40 +01:00.
    found = rows(autumn, departure_time="2014-10-26T02:40+02:00", window=3600, max_results=5)
    assert found["travel_time"].tolist() == [660, 660]
    assert sorted(moment.isoformat() for moment in found["departure_time"]) == [
        "2014-10-26T02:29:00+01:00",
        "2014-10-26T02:44:00+02:00",
    ]
    found = rows(
        autumn, departure_time="2014-10-26T02:40+02:00", window=3600, percentiles=(100,), properties=("share",)
    )
    # Who comes after 2:44 +02:00 waits for 2:30 +01:00, who comes after 2:29 +01:00 waits in vain.
    assert found["share"][0] == pytest.approx(50 / 60)


def test_a_route_in_autumn(autumn: tl.Network) -> None:
    found = tl.routes(
        autumn, at((60, 0)), at((10_000, 0)), transportation="bus", departure_time="2014-10-26T02:50+02:00"
    )
    route = found["route"][0]
    assert route.arrival_time.isoformat() == "2014-10-26T02:40:00+01:00"
    (ride,) = [leg for leg in route.legs if leg.mode == "bus"]
    assert ride.waiting_time == 2340
    assert ride.ride.board.time.isoformat() == "2014-10-26T02:30:00+01:00"
    assert found["departure_time"][0] == pd.Timestamp("2014-10-26T00:50Z")


def test_spring(spring: tl.Network) -> None:
    assert rows(spring, departure_time="2015-03-29T01:20+01:00")["travel_time"][0] == 600 + 600
    # 1:50 +01:00 is forty minutes before 3:30 +02:00.
    assert rows(spring, departure_time="2015-03-29T01:50+01:00")["travel_time"][0] == 2400 + 600
    assert rows(spring, departure_time="2015-03-29T01:50")["travel_time"][0] == 3000
    assert rows(spring, arrival_time="2015-03-29T03:20+02:00")["travel_time"][0] == 3000 + 60
    with pytest.raises(tl.MomentError, match="2015-03-29"):
        rows(spring, departure_time="2015-03-29T02:30")


def test_shapes_over_the_change(autumn: tl.Network) -> None:
    how: dict[str, Any] = {
        "transportation": "bus",
        "departure_time": "2014-10-26T02:50+02:00",
        "level_of_detail": "high",
    }
    end = at((10_000, 0)).union_all()
    for travel_time, is_there in ((2900, False), (3100, True)):
        area = tl.time_map(autumn, at((60, 0)), travel_time=travel_time, **how).geometry[0]
        assert area.covers(end) == is_there
