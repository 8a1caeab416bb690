"""Days with service of some trips."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np

from tests.support.feeds import LINE, feed
from traveltime_lab.readers.gtfs.feed import read_feed, read_timetable
from traveltime_lab.transit import service_days

HEAD = LINE["calendar"].split()[0]


def test_where_trips_can_be_boarded_and_left(tmp_path: Path) -> None:
    """No pickup at c, where the trip ends, no drop-off at a, and both by arrangement at b."""
    table = read_feed(
        feed(
            tmp_path,
            stop_times="""
                trip_id,stop_sequence,stop_id,arrival_time,departure_time,pickup_type,drop_off_type
                t,1,a,8:00:00,8:00:00,0,1
                t,2,b,8:10:00,8:10:00,2,2
                t,3,c,8:20:00,8:20:00,1,0
            """,
        )
    )
    every = np.ones(1, np.bool_)
    for is_boarding, stops in ((True, [0, 1]), (False, [1, 2])):
        assert np.flatnonzero(service_days.stops_of(table, every, is_boarding=is_boarding)).tolist() == stops
        for stop in range(3):
            at = service_days.trips_at(table, every, np.array([stop], np.int32), is_boarding=is_boarding)
            assert at.tolist() == [stop in stops]


def test_a_night_belongs_to_the_day_before_and_the_day_after(tmp_path: Path) -> None:
    """Of two services on two dates one has a trip past midnight: as such, or by its repetitions."""
    for times, frequencies in (
        ("t,1,a,25:00:00,25:00:00\nt,2,b,25:10:00,25:10:00", None),
        ("t,1,a,8:00:00,8:00:00\nt,2,b,8:10:00,8:10:00", "t,23:00:00,23:55:00,600"),
        ("t,1,a,8:00:00,8:00:00\nt,2,b,8:10:00,8:10:00", "t,23:00:00,23:45:00,600"),
    ):
        table = read_feed(
            feed(
                tmp_path,
                calendar=f"{HEAD}\nnight,0,0,0,0,0,0,0,20260101,20261231\nday,0,0,0,0,0,0,0,20260101,20261231",
                calendar_dates="service_id,date,exception_type\nnight,20260302,1\nday,20260305,1",
                trips="route_id,service_id,trip_id\nR,night,t\nR,day,u",
                stop_times="trip_id,stop_sequence,stop_id,arrival_time,departure_time\n"
                f"{times}\nu,1,a,9:00:00,9:00:00\nu,2,b,9:10:00,9:10:00",
                frequencies=frequencies and f"trip_id,start_time,end_time,headway_secs\n{frequencies}",
            )
        )
        every = np.ones(table.n_trips, np.bool_)
        days = [day for day in range(1, 9) if service_days.runs_on(table, every, dt.date(2026, 3, day))]
        assert days == ([2, 5] if frequencies and "45" in frequencies else [2, 3, 5])


def test_the_first_night_of_all(tmp_path: Path) -> None:
    late = LINE["stop_times"].replace("8:", "25:")
    table = read_feed(feed(tmp_path, calendar=f"{HEAD}\ndaily,1,1,1,1,1,1,1,00010101,00010101", stop_times=late))
    every = np.ones(1, np.bool_)
    assert [service_days.runs_on(table, every, dt.date(1, 1, day)) for day in (1, 2, 3)] == [True, True, False]


def test_nearest_days_are_those_of_all_feeds(tmp_path: Path) -> None:
    """Two feeds, and days without service between and after them."""
    calendars = ["20260105,20260106", "20260112,20260113"]
    table = read_timetable(
        feed(tmp_path, f"{i}.zip", calendar=f"{HEAD}\ndaily,1,1,1,1,1,1,1,{dates}") for i, dates in enumerate(calendars)
    )
    assert service_days.span(table) == (dt.date(2026, 1, 5), dt.date(2026, 1, 13))
    every = np.ones(2, np.bool_)
    for date, days in (((2026, 1, 9), [12, 6, 13, 5]), ((2025, 1, 1), [5, 6, 12, 13]), ((2027, 1, 1), [13, 12, 6, 5])):
        found = [day.day for day in service_days.nearest_days(table, every, dt.date(*date))]
        assert found == days
