"""The day of searches without a date."""

from __future__ import annotations

import datetime as dt
import functools
from dataclasses import replace
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tests.support.feeds import feed
from tests.support.typical_days import services_on, slow_typical_day
from traveltime_lab._files import temporary_folder
from traveltime_lab.readers.gtfs.feed import read_timetable
from traveltime_lab.transit.calendar import Services
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.typical_day import _candidates, typical_day

HEAD = "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date"
#: Far from the days of all feeds here.
LATER = dt.date(2200, 1, 1)
EPOCH = dt.date(2026, 3, 2).toordinal()


def timetable(folder: Path, *calendars: str, dates: tuple[str | None, ...] = (), trips: int = 1) -> Timetable:
    """Return a timetable of a feed for each calendar, whose services have a number of trips each."""
    paths = []
    for i, calendar in enumerate(calendars):
        exceptions = dates[i] if i < len(dates) else None
        names = [row.split(",")[0] for row in f"{calendar}\n{exceptions or ''}".split() if row[0] != "s"]
        names = [f"{name}:{k}" for name in dict.fromkeys(names) for k in range(trips)]
        paths.append(
            feed(
                folder, f"feed{i}.zip", calendar=f"{HEAD}\n{calendar}",
                calendar_dates=None if exceptions is None else f"service_id,date,exception_type\n{exceptions}",
                trips="route_id,service_id,trip_id\n" + "\n".join(f"R,{n.split(':')[0]},{n}" for n in names),
                stop_times="trip_id,stop_sequence,stop_id,arrival_time,departure_time\n"
                + "\n".join(f"{n},1,a,8:00:00,8:00:00\n{n},2,b,8:10:00,8:10:00" for n in names),
            )
        )  # fmt: skip
    return read_timetable(paths)


def day_of(table: Timetable, today: dt.date = LATER) -> str:
    found = typical_day(table, today)
    assert found is not None
    return found.isoformat()


# Law


@functools.cache
def _trips(n_feeds: int) -> Timetable:
    """Return feeds of four services each, with 1, 3, 20 and 41 departures on each of their dates."""
    names = ["w", "x", "y", "z"]
    with temporary_folder() as folder:
        path = feed(
            folder,
            calendar=HEAD + "".join(f"\n{name},1,1,1,1,1,1,1,20260101,20261231" for name in names),
            trips="route_id,service_id,trip_id\n" + "\n".join(f"R,{name},{name}" for name in names),
            stop_times="trip_id,stop_sequence,stop_id,arrival_time,departure_time\n"
            + "\n".join(f"{name},1,a,8:00:00,8:00:00\n{name},2,b,8:10:00,8:10:00" for name in names),
            frequencies="trip_id,start_time,end_time,headway_secs\n"
            "x,8:00:00,8:30:00,600\ny,8:00:00,8:20:00,60\nz,8:00:00,8:40:01,60",
        )
        return read_timetable([path] * n_feeds)


@st.composite
def calendars(draw: st.DrawFn) -> Timetable:
    """Return feeds with random calendars, some weeks or years long, and random exceptions."""
    base = _trips(draw(st.integers(1, 3)))
    n = len(base.services)
    length = draw(st.sampled_from([3, 30, 120, 700]))
    day = st.integers(0, length)
    weekdays = st.sampled_from([0, 0b0011111, 0b0011111, 0b1111111, 0b0001110, 0b1100000, 0b0010001, 0b0000100])
    services = [
        (0, 1, 0) if draw(st.integers(0, 4)) == 0 else (draw(weekdays), *sorted((draw(day), draw(day))))
        for _ in range(n)
    ]
    exceptions = draw(
        st.dictionaries(st.tuples(day, st.integers(0, n - 1)), st.booleans(), max_size=draw(st.integers(0, 25)))
    )
    if draw(st.booleans()):  # a holiday of all
        for service in range(n):
            exceptions[draw(day), service] = draw(st.booleans())
    rows = sorted(exceptions)
    found = Services(
        weekdays=np.array([each for each, _, _ in services], np.uint8),
        start=np.array([first + EPOCH for _, first, _ in services], np.int32),
        end=np.array([last + EPOCH for _, _, last in services], np.int32),
        exception_date=np.array([date + EPOCH for date, _ in rows], np.int32),
        exception_service=np.array([service for _, service in rows], np.int32),
        exception_added=np.array([exceptions[row] for row in rows], np.bool_),
    )
    return replace(base, services=found)


@pytest.mark.slow
@given(calendars(), st.integers(-900, 1600))
@settings(max_examples=80, deadline=None)
def test_it_is_that_of_all_dates_one_after_the_other(table: Timetable, today: int) -> None:
    date = dt.date.fromordinal(EPOCH + today)
    assert typical_day(table, date) == slow_typical_day(table, date)


@given(calendars(), st.lists(st.integers(-40, 800), min_size=1, max_size=20, unique=True))
@settings(max_examples=40, deadline=None)
def test_departures_of_many_dates_are_those_of_single_ones(table: Timetable, days: list[int]) -> None:
    ordinals = np.sort(np.array(days, np.int64)) + EPOCH
    found = table.departures_on(ordinals)
    for column, ordinal in enumerate(ordinals.tolist()):
        date = dt.date.fromordinal(ordinal)
        assert found[:, column].tolist() == table.trips_per_day(date)["departures"].tolist()
        assert set(np.flatnonzero(table.services_on(date)).tolist()) == services_on(table, date)


# Examples


def test_all_feeds_run_on_it(tmp_path: Path) -> None:
    """A feed of thirteen years and one of its last but one, as in a city whose lines are published year by year."""
    metro, lines = "m,1,1,1,1,1,1,1,20080101,20201231", "b,1,1,1,1,1,0,0,20190101,20191231"
    table = timetable(tmp_path, metro, lines)
    assert day_of(table) == "2019-12-31"
    assert day_of(table, dt.date(2008, 1, 1)) == "2019-01-01"
    assert day_of(table, dt.date(2019, 5, 12)) == "2019-05-14"


def test_as_many_feeds_as_possible_run_on_it(tmp_path: Path) -> None:
    """No day has all three: the two that overlap count, although the third alone is busier."""
    calendars = ("a,1,1,1,1,1,0,0,20260101,20260331", "b,1,1,1,1,1,0,0,20260301,20260630")
    busy = "c,1,1,1,1,1,0,0,20270101,20271231\nd,1,1,1,1,1,0,0,20270101,20271231\ne,1,1,1,1,1,0,0,20270101,20271231"
    assert day_of(timetable(tmp_path, *calendars, busy)) == "2026-03-31"


@pytest.mark.parametrize(
    ("busy", "little", "expected"),
    [
        ("20260302,20260306", "20260309,20260313", "2026-03-05"),
        ("20260309,20260313", "20260302,20260306", "2026-03-12"),
    ],
)
def test_little_service_is_that_of_the_weeks_around(tmp_path: Path, busy: str, little: str, expected: str) -> None:
    """A feed with a twentieth of its departures does not run, whether the other days come before or after."""
    week = "1,1,1,1,1,0,0"
    services = "\n".join(f"a{i},{week},{busy}" for i in range(20))
    table = timetable(tmp_path, f"{services}\nb,{week},{little}", f"c,{week},{little}")
    assert day_of(table) == expected


def test_the_busiest_day_is_found_in_the_middle_of_a_century(tmp_path: Path) -> None:
    table = timetable(tmp_path, "d,1,1,1,1,1,1,1,20000101,21000101\nx,1,1,1,1,1,1,1,20500614,20500614")
    assert day_of(table) == "2050-06-14"


def test_holidays_are_avoided(tmp_path: Path) -> None:
    """On a Wednesday it is that day, unless services are exchanged on it; then the later one of its neighbours."""
    daily = "d,1,1,1,1,1,1,1,20260101,20261231"
    plain = timetable(tmp_path, daily)
    assert day_of(plain, dt.date(2026, 5, 13)) == "2026-05-13"
    exchanged = timetable(
        tmp_path, f"{daily}\nh,0,0,0,0,0,0,0,20260101,20261231", dates=("h,20260513,1\nd,20260513,2",)
    )
    assert day_of(exchanged, dt.date(2026, 5, 13)) == "2026-05-14"


def test_a_holiday_of_one_feed_of_two_is_avoided(tmp_path: Path) -> None:
    daily = "d,1,1,1,1,1,1,1,20260101,20261231"
    both = timetable(
        tmp_path, daily, f"{daily}\nh,0,0,0,0,0,0,0,20260101,20261231", dates=(None, "h,20260513,1\nd,20260513,2")
    )
    assert day_of(both, dt.date(2026, 5, 13)) == "2026-05-14"


def test_christmas_and_new_year_are_no_rule(tmp_path: Path) -> None:
    """They are a week apart, and have the same services."""
    listed = "w,1,1,1,1,1,0,0,20251101,20260228\nx,0,0,0,0,0,0,0,20251101,20260228"
    days = ("20251225", "20260101")
    dates = "\n".join(f"w,{day},2\nx,{day},1" for day in days)
    table = timetable(tmp_path, listed, dates=(dates,))
    assert day_of(table, dt.date(2025, 12, 25)) == "2025-12-24"
    assert day_of(table, dt.date(2026, 1, 1)) == "2025-12-31"


@pytest.mark.parametrize(
    ("days", "expected"),
    [("1,1,1,1,1,1,1", 3), ("1,0,0,0,1,1,1", 4), ("0,0,0,0,0,1,1", 6), ("0,1,0,0,0,0,0", 1), ("1,0,0,0,0,0,0", 0)],
)
def test_weekdays(tmp_path: Path, days: str, expected: int) -> None:
    """The last days are Monday 9 March to Sunday 15 March."""
    assert day_of(timetable(tmp_path, f"d,{days},20260302,20260315")) == f"2026-03-{9 + expected:02}"


def test_a_feed_of_dates(tmp_path: Path) -> None:
    """Milan and many others list dates instead of weekdays."""
    table = timetable(tmp_path, "", dates=("\n".join(f"d,202603{day:02},1" for day in range(2, 16)),))
    assert day_of(table) == "2026-03-12"


@pytest.mark.parametrize(("first", "last"), [("20000101", "21000101"), ("00010101", "99991231")])
def test_long_calendars_are_not_listed_day_by_day(tmp_path: Path, first: str, last: str) -> None:
    table = timetable(tmp_path, f"d,1,1,1,1,1,1,1,{first},{last}")
    today = dt.date(2026, 3, 8)
    assert day_of(table, today) == "2026-03-10"
    assert _candidates(table, today.toordinal()).size < 250
    assert day_of(table, dt.date.min) in ("2000-01-04", "0001-01-02")
    assert typical_day(table, dt.date.max) is not None


def test_no_service(tmp_path: Path) -> None:
    table = timetable(tmp_path, "d,0,0,0,0,0,0,0,20260302,20260315")
    assert typical_day(table, LATER) is None


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["porto_alegre/gtfs_bus_full.zip", "porto_alegre/gtfs_rail.zip"], "2019-07-11"),
        (["milan/gtfs.zip"], "2014-10-30"),
        (["oaxaca/gtfs_frequencies.zip"], "2099-12-31"),
        (["helsinki/gtfs.zip"], "2022-02-22"),
        (["gtfs_only/kuopio.zip"], "2017-06-01"),
        (["gtfs_only/caltrain.zip"], "2027-01-28"),
        (["gtfs_only/zug_transfers.zip"], "2021-12-09"),
    ],
)
def test_real_feeds(shared_data: Path, files: list[str], expected: str) -> None:
    """Of them caltrain has two days with more trips than usual, and zug_transfers exceptions on each date."""
    assert day_of(read_timetable([shared_data / name for name in files])) == expected
