"""When services run, and the runs of an interval: by hand, against a slow twin, and on real feeds."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import tempfile
import warnings
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.feeds import LINE, SlowFeed, check_invariants, feed, posix, runs_of, stays_of, text
from traveltime_lab._arrays import arrays_by_field
from traveltime_lab.errors import InputError, LimitError, MomentError, NoServiceError
from traveltime_lab.kernels.unreached import FORBIDDEN
from traveltime_lab.readers.gtfs.feed import read_feed, read_timetable
from traveltime_lab.transit.calendar import day_origin
from traveltime_lab.transit.timetable import ServiceWarning, Timetable
from traveltime_lab.transit.timetable_file import from_tables, to_tables
from traveltime_lab.transit.transfers import Footpaths, merge_transfers
from traveltime_lab.transit.trip_instances import trip_table

CALLS = text(LINE["stop_times"])


def starts(timetable: Timetable, begin: str, end: str, zone: str) -> list[tuple[str, str]]:
    """First departures of the runs of an interval, in local time with offset, and their service dates."""
    table = trip_table(timetable, posix(begin, zone), posix(end, zone))
    found = []
    for (_, date, calls), n in runs_of(timetable, table).items():
        local = dt.datetime.fromtimestamp(calls[0][2], ZoneInfo(zone)).isoformat()
        found += [(local, dt.date.fromordinal(date).isoformat())] * n
    return sorted(found)


def clock_feed(folder: Path, first: str, *times: str) -> Timetable:
    """A feed in Rome with a trip of ten minutes at each time of each day from a date for a week."""
    last = (dt.datetime.strptime(first, "%Y%m%d") + dt.timedelta(days=6)).strftime("%Y%m%d")
    rows = [f"{time},1,a,{time},{time}\n{time},2,b,{time[:-5]}{int(time[-5:-3]) + 10}:00," for time in times]
    return read_feed(
        feed(
            folder,
            agency=LINE["agency"].replace("UTC", "Europe/Rome"),
            calendar=f"{text(LINE['calendar']).splitlines()[0]}\ndaily,1,1,1,1,1,1,1,{first},{last}",
            trips="route_id,service_id,trip_id\n" + "\n".join(f"R,daily,{time}" for time in times),
            stop_times=CALLS.splitlines()[0] + "\n" + "\n".join(rows),
        )
    )


# Clock changes, worked out by hand


def test_night_when_clocks_go_back(tmp_path: Path) -> None:
    # Rome, Sunday 2014-10-26: at 3:00 +02:00 clocks go back to 2:00 +01:00. Noon is 11:00 UTC, and 12 hours before is
    # 23:00 UTC, 1:00 +02:00: the service day of the 26th begins an hour late, times before 3:00 are shown an hour late.
    # Noon of the 25th is 10:00 UTC, that day begins at midnight, and 26:30 is 26.5 hours later, 0:30 UTC.
    timetable = clock_feed(tmp_path, "20141025", "0:30:00", "1:30:00", "2:30:00", "8:00:00", "26:30:00")
    assert day_origin(dt.date(2014, 10, 26).toordinal(), "Europe/Rome") == posix("2014-10-25T23:00")
    assert starts(timetable, "2014-10-26T00:00:00", "2014-10-26T12:00", "Europe/Rome") == [
        ("2014-10-26T01:30:00+02:00", "2014-10-26"),
        ("2014-10-26T02:30:00+01:00", "2014-10-26"),
        ("2014-10-26T02:30:00+02:00", "2014-10-25"),
        ("2014-10-26T02:30:00+02:00", "2014-10-26"),
        ("2014-10-26T08:00:00+01:00", "2014-10-26"),
    ]


def test_night_when_clocks_go_forward(tmp_path: Path) -> None:
    # Rome, Sunday 2015-03-29: at 2:00 +01:00 clocks go forward to 3:00 +02:00. Noon is 10:00 UTC, and 12 hours before
    # is 22:00 UTC, 23:00 +01:00 of the 28th: times before 3:00 are shown an hour early. 26:30 of the 28th is 1:30 UTC.
    timetable = clock_feed(tmp_path, "20150328", "0:30:00", "2:30:00", "3:30:00", "8:00:00", "26:30:00")
    assert starts(timetable, "2015-03-28T22:00", "2015-03-29T12:00", "Europe/Rome") == [
        ("2015-03-28T23:30:00+01:00", "2015-03-29"),
        ("2015-03-29T01:30:00+01:00", "2015-03-29"),
        ("2015-03-29T03:30:00+02:00", "2015-03-28"),
        ("2015-03-29T03:30:00+02:00", "2015-03-29"),
        ("2015-03-29T08:00:00+02:00", "2015-03-29"),
    ]


def test_each_agency_has_its_own_zone(tmp_path: Path) -> None:
    timetable = read_feed(
        feed(
            tmp_path,
            agency="""
                agency_id,agency_name,agency_timezone
                A,Here,UTC
                B,There,Asia/Tokyo
            """,
            routes="route_id,agency_id,route_type\nR,A,3\nS,B,3",
            trips="route_id,service_id,trip_id\nR,daily,t\nS,daily,u",
            stop_times=CALLS + CALLS.partition("\n")[2].replace("t,", "u,"),
        )
    )
    runs = runs_of(timetable, trip_table(timetable, posix("2026-03-02"), posix("2026-03-03")))
    # Eight o'clock of the 3rd in Tokyo is 23:00 UTC of the 2nd.
    assert {(trip, calls[0][2]) for trip, _, calls in runs} == {
        ("t", posix("2026-03-02T08:00")),
        ("u", posix("2026-03-03T08:00", "Asia/Tokyo")),
    }


# Services


def test_calendars_and_exceptions(tmp_path: Path) -> None:
    timetable = read_feed(
        feed(
            tmp_path,
            calendar="""
                service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
                week,1,1,1,1,1,0,0,20260105,20260118
                never,0,0,0,0,0,0,0,20260101,20261231
            """,
            calendar_dates="""
                service_id,date,exception_type
                week,20260105,2
                week,20260116,2
                week,20260110,1
                extra,20260301,1
                never,20260401,2
            """,
            trips="route_id,service_id,trip_id\nR,week,t\nR,extra,u\nR,never,v",
            stop_times=CALLS + "".join(CALLS.partition("\n")[2].replace("t,", f"{trip},") for trip in "uv"),
        )
    )
    january = [timetable.trips_per_day(dt.date(2026, 1, day))["trips"].iloc[0] for day in range(1, 32)]
    on = {6, 7, 8, 9, 10, 12, 13, 14, 15}
    assert january == [int(day in on) for day in range(1, 32)]
    first, last = timetable.services.spans()
    assert [dt.date.fromordinal(day) for day in first[:1]] == [dt.date(2026, 1, 6)]
    assert [dt.date.fromordinal(day) for day in last[:1]] == [dt.date(2026, 1, 15)]
    assert first[1] > last[1]
    assert timetable.dates().loc["feed"].tolist() == [dt.date(2026, 1, 6), dt.date(2026, 3, 1)]


def test_a_calendar_of_a_hundred_years_costs_nothing(tmp_path: Path) -> None:
    head = text(LINE["calendar"]).splitlines()[0]
    timetable = read_feed(feed(tmp_path, calendar=f"{head}\ndaily,0,0,0,0,0,1,0,20000101,21000101"))
    assert timetable.dates().loc["feed"].tolist() == [dt.date(2000, 1, 1), dt.date(2099, 12, 26)]
    assert sum(array.size for array in arrays_by_field(timetable.services).values()) == 3
    assert timetable.report()["feed"]["trips_per_weekday"]["saturday"] == 1
    assert trip_table(timetable, posix("2077-06-05"), posix("2077-06-06")).instance_trip.size == 1


# Moments


@pytest.mark.parametrize(("first", "last"), [("20260101", "99991231"), ("00010101", "99991231"), ("99991231",) * 2])
def test_calendars_to_the_end_of_time(tmp_path: Path, first: str, last: str) -> None:
    """The end of service in 9999 means that nobody knows it; the day after has no date."""
    calendar = f"""
        service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
        daily,1,1,1,1,1,1,1,{first},{last}
    """
    timetable = read_timetable(feed(tmp_path, calendar=calendar))
    assert timetable.report()["feed"]["last_date"] == "9999-12-31"
    if first == last:
        with pytest.raises(NoServiceError, match="9999-12-31 to 9999-12-31"):
            timetable.check_moment(moment("2026-03-02T08:00:00+00:00"))
        timetable.check_moment(moment("9999-12-31T08:00:00+00:00"))
        return
    timetable.check_moment(moment("2026-03-02T08:00:00+00:00"))
    day = ("2026-03-02T00:00:00", "2026-03-03T00:00:00", "UTC")
    assert starts(timetable, *day) == [("2026-03-02T08:00:00+00:00", "2026-03-02")]


def moment(value: str) -> dt.datetime:
    return dt.datetime.fromisoformat(value).replace(tzinfo=dt.UTC)


def test_moments_outside_the_dates_are_errors_that_name_them(tmp_path: Path) -> None:
    late = text(LINE["stop_times"]).replace("8:", "25:")
    timetable = read_feed(feed(tmp_path, stop_times=late))
    for inside in ("2026-01-01T00:00", "2026-12-31T23:59", "2027-01-01T01:19"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ServiceWarning)
            timetable.check_moment(moment(inside))
    # The last day is covered to its end, after its last trip too.
    by_day = read_feed(feed(tmp_path))
    by_day.check_moment(moment("2026-12-31T23:59"))
    with pytest.raises(NoServiceError):
        by_day.check_moment(moment("2027-01-01T00:00"))
    for outside in ("2025-12-31T23:59", "2027-01-01T01:20", "1990-01-01T00:00"):
        with pytest.raises(NoServiceError) as caught:
            timetable.check_moment(moment(outside), name="arrival_time")
        assert str(caught.value) == (
            f"arrival_time {moment(outside).isoformat()} is outside the dates that the timetable covers: "
            "feed runs from 2026-01-01 to 2026-12-31. "
            "Choose a moment in between, or build the network with a timetable of that date."
        )
        assert isinstance(caught.value, MomentError)
    with pytest.raises(InputError, match="has no time zone"):
        timetable.check_moment(dt.datetime(2026, 3, 2))


def test_little_service_brings_a_warning(tmp_path: Path) -> None:
    head = text(LINE["calendar"]).splitlines()[0]
    copies = [f"t{i}" for i in range(20)]
    rows = "".join(CALLS.partition("\n")[2].replace("t,", f"{trip},") for trip in copies)
    timetable = read_feed(
        feed(
            tmp_path,
            calendar=f"{head}\nweek,1,1,1,1,1,0,0,20260101,20261231\nsunday,0,0,0,0,0,0,1,20260101,20261231",
            trips="route_id,service_id,trip_id\n"
            + "\n".join(f"R,{'sunday' if i < 1 else 'week'},{trip}" for i, trip in enumerate(copies)),
            stop_times=CALLS.partition("\n")[0] + "\n" + rows,
        )
    )
    timetable.check_moment(moment("2026-03-02T08:00"))
    with pytest.warns(ServiceWarning, match="only 0 departures on Saturday 2026-02-28, against 19 on the busiest day"):
        timetable.check_moment(moment("2026-02-28T08:00"))
    with pytest.warns(ServiceWarning, match="only 1 departures on Sunday 2026-03-01"):
        timetable.check_moment(moment("2026-03-01T08:00"))


def test_a_feed_that_does_not_cover_the_moment_brings_a_warning(tmp_path: Path) -> None:
    old = LINE["calendar"].replace("2026", "2025")
    timetable = read_timetable([feed(tmp_path, "new.zip"), feed(tmp_path, "old.zip", calendar=old)])
    with pytest.warns(ServiceWarning, match=r"is not covered by old: new runs from 2026-01-01 .*; old runs from 2025"):
        timetable.check_moment(moment("2026-03-02T08:00"))
    with pytest.raises(NoServiceError, match="new runs from 2026-01-01 to 2026-12-31; old runs from 2025-01-01"):
        timetable.check_moment(moment("2024-03-02T08:00"))


# Runs


@pytest.mark.parametrize("exact", ["", "0", "1"])
def test_repeated_trips(tmp_path: Path, exact: str) -> None:
    # The last repetition leaves before the end, not at it; the trip itself does not run.
    timetable = read_feed(
        feed(
            tmp_path,
            frequencies=f"""
                trip_id,start_time,end_time,headway_secs,exact_times
                t,6:00:00,7:00:00,1200,{exact}
                t,24:30:00,25:00:00,1800,{exact}
            """,
        )
    )
    assert starts(timetable, "2026-03-02T03:00", "2026-03-03T03:00", "UTC") == [
        ("2026-03-02T06:00:00+00:00", "2026-03-02"),
        ("2026-03-02T06:20:00+00:00", "2026-03-02"),
        ("2026-03-02T06:40:00+00:00", "2026-03-02"),
        ("2026-03-03T00:30:00+00:00", "2026-03-02"),
    ]
    assert timetable.trips_per_day(dt.date(2026, 3, 2)).loc["feed"].tolist() == [1, 4]


def test_only_runs_on_their_way_in_the_interval(tmp_path: Path) -> None:
    timetable = read_feed(feed(tmp_path))  # 8:00 to 8:20
    day = "2026-03-02T"
    for begin, end, n in [("08:20", "08:21", 1), ("08:21", "09:00", 0), ("07:00", "08:00", 0), ("07:00", "08:01", 1)]:
        assert trip_table(timetable, posix(day + begin), posix(day + end)).instance_trip.size == n, (begin, end)


def test_runs_that_overtake_are_put_into_patterns_of_their_own(tmp_path: Path) -> None:
    timetable = read_feed(
        feed(
            tmp_path,
            trips="route_id,service_id,trip_id\n" + "\n".join(f"R,daily,{trip}" for trip in ("slow", "fast", "next")),
            stop_times="""
                trip_id,stop_sequence,stop_id,arrival_time,departure_time
                slow,1,a,8:00:00,8:00:00
                slow,2,b,8:30:00,8:30:00
                fast,1,a,8:05:00,8:05:00
                fast,2,b,8:15:00,8:15:00
                next,1,a,8:10:00,8:10:00
                next,2,b,8:30:00,8:30:00
            """,
        )
    )
    table = trip_table(timetable, posix("2026-03-02"), posix("2026-03-03"))
    check_invariants(table)
    names = np.array(timetable.trips["trip_id"])[table.instance_trip].tolist()
    assert [names[a:b] for a, b in zip(table.instance_indptr[:-1], table.instance_indptr[1:], strict=True)] == [
        ["slow", "next"],
        ["fast"],
    ]
    assert table.pattern_stops.tolist() == [0, 1, 0, 1]


def test_runs_that_wait_while_another_leaves_overtake_too(tmp_path: Path) -> None:
    timetable = read_feed(
        feed(
            tmp_path,
            trips="route_id,service_id,trip_id\nR,daily,waits\nR,daily,leaves",
            stop_times="""
                trip_id,stop_sequence,stop_id,arrival_time,departure_time
                waits,1,a,8:00:00,8:00:00
                waits,2,b,8:10:00,8:20:00
                waits,3,c,8:30:00,8:30:00
                leaves,1,a,8:01:00,8:01:00
                leaves,2,b,8:11:00,8:12:00
                leaves,3,c,8:30:00,8:30:00
            """,
        )
    )
    table = trip_table(timetable, posix("2026-03-02"), posix("2026-03-03"))
    check_invariants(table)
    assert table.instance_indptr.size - 1 == 2


def test_only_the_routes_asked_for(tmp_path: Path) -> None:
    timetable = read_feed(
        feed(
            tmp_path,
            routes="route_id,route_type\nR,3\nS,2",
            trips="route_id,service_id,trip_id\nR,daily,t\nS,daily,u",
            stop_times=CALLS + CALLS.partition("\n")[2].replace("t,", "u,"),
        )
    )
    day = posix("2026-03-02"), posix("2026-03-03")
    for used in ([True, False], [False, True], [True, True], [False, False]):
        table = trip_table(timetable, *day, is_used=np.array(used))
        check_invariants(table)
        assert table.instance_trip.size == sum(used)
    with pytest.raises(InputError, match="is_used must be a bool array of 2 routes"):
        trip_table(timetable, *day, is_used=np.array([True]))
    with pytest.raises(LimitError, match="1 second to 366 days"):
        trip_table(timetable, day[1], day[0])


# Changes

STATION = """
    stop_id,stop_lat,stop_lon,location_type,parent_station
    a,0.5,0.50,0,S
    b,0.5,0.51,0,S
    c,0.5,0.52,0,
    S,0.5,0.50,1,
"""


def ways(timetable: Timetable, walks: dict[tuple[int, int], int]) -> tuple[dict[tuple[int, int], int], list[int]]:
    """Ways between stops and changes at them, from walks between stops."""
    pairs = sorted(walks)
    indptr = np.searchsorted([a for a, _ in pairs], np.arange(timetable.n_stops + 1)).astype(np.int64)
    stop = np.array([b for _, b in pairs], np.int32)
    footpaths = Footpaths(indptr, stop, np.array([walks[pair] for pair in pairs], np.int32))
    changes = merge_transfers(timetable, footpaths)
    starts = np.repeat(np.arange(timetable.n_stops), np.diff(changes.indptr))
    found = dict(zip(zip(starts.tolist(), changes.stop.tolist(), strict=True), changes.seconds.tolist(), strict=True))
    assert list(found) == sorted(found)
    return found, changes.change_time.tolist()


def test_rules_of_changes(tmp_path: Path) -> None:
    timetable = read_feed(
        feed(
            tmp_path,
            stops=STATION,
            transfers="""
                from_stop_id,to_stop_id,transfer_type,min_transfer_time
                a,c,2,300
                c,a,3,
                b,c,0,999
                c,c,3,
                b,b,2,60
            """,
        )
    )
    walks = {(0, 1): 10, (0, 2): 100, (1, 2): 90, (2, 0): 100, (2, 1): 90}
    found, at_stop = ways(timetable, walks)
    assert found == {(0, 1): 10, (0, 2): 300, (1, 2): 90, (2, 1): 90}
    assert at_stop == [0, 60, FORBIDDEN, 0]
    found, _ = ways(timetable, {})
    assert found == {(0, 2): 300}


#: Stops a and b of station S, stop c of station T.
TWO_STATIONS = """
    stop_id,stop_lat,stop_lon,location_type,parent_station
    a,0.5,0.50,0,S
    b,0.5,0.51,0,S
    c,0.5,0.52,0,T
    S,0.5,0.50,1,
    T,0.5,0.52,1,
"""
RULE = st.tuples(st.sampled_from("abcST"), st.sampled_from("abcST"), st.sampled_from([0, 1, 2, 3]), st.integers(1, 900))


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(RULE, min_size=1, max_size=6, unique_by=lambda rule: rule[:2]))
def test_the_most_specific_rule_of_two_stops_holds(rules: list[tuple[str, str, int, int]]) -> None:
    """The rule with the fewest stations holds for two stops, the first of the file if there are several."""
    rows = "\n".join(["from_stop_id,to_stop_id,transfer_type,min_transfer_time", *(
        f"{a},{b},{kind},{least}" for a, b, kind, least in rules)])  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        timetable = read_feed(feed(Path(folder), stops=TWO_STATIONS, transfers=rows))
    station = {"a": "S", "b": "S", "c": "T"}
    expected = {}
    for pair in itertools.permutations(station, 2):
        fits = [
            ((a != pair[0]) + (b != pair[1]), place, kind, least)
            for place, (a, b, kind, least) in enumerate(rules)
            if a in (pair[0], station[pair[0]]) and b in (pair[1], station[pair[1]])
        ]
        if fits and min(fits)[2] == 2:
            expected[tuple("abc".index(stop) for stop in pair)] = min(fits)[3]
    found, _ = ways(timetable, {})
    assert {pair: seconds for pair, seconds in found.items() if max(pair) < 3} == expected


def test_a_rule_of_a_station_holds_for_its_stops_and_gives_way_to_theirs(tmp_path: Path) -> None:
    timetable = read_feed(
        feed(
            tmp_path,
            stops=STATION,
            transfers="""
                from_stop_id,to_stop_id,transfer_type,min_transfer_time
                S,S,2,180
                a,b,0,
                S,c,3,
                b,c,2,240
            """,
        )
    )
    found, at_stop = ways(timetable, {(0, 1): 10, (1, 0): 10, (0, 2): 100, (1, 2): 90})
    assert {pair: s for pair, s in found.items() if 3 not in pair} == {(0, 1): 10, (1, 0): 180, (1, 2): 240}
    assert at_stop == [180, 180, 0, 180]


def linked(folder: Path, *, transfers: str | None = None, blocks: str = "vvv") -> set[tuple[str, str]]:
    """Links of trips one (a to c, 8:00), two (c to a, 9:00) and three (b to a, 10:00)."""
    timetable = read_feed(
        feed(
            folder,
            transfers=transfers,
            trips="route_id,service_id,trip_id,block_id\n"
            + "\n".join(f"R,daily,{trip},{blocks[i].strip()}" for i, trip in enumerate(("one", "two", "three"))),
            stop_times="""
                trip_id,stop_sequence,stop_id,arrival_time,departure_time
                one,1,a,8:00:00,8:00:00
                one,2,c,8:20:00,8:20:00
                two,1,c,9:00:00,9:00:00
                two,2,a,9:20:00,9:20:00
                three,1,b,10:00:00,10:00:00
                three,2,a,10:20:00,10:20:00
            """,
        )
    )
    table = trip_table(timetable, posix("2026-03-02"), posix("2026-03-03"))
    return {(a, b) for (a, _), (b, _) in stays_of(timetable, table)}


def test_riders_stay_seated(tmp_path: Path) -> None:
    # From the end of two to the start of three the vehicle runs a kilometre empty.
    assert linked(tmp_path) == {("one", "two")}
    assert linked(tmp_path, blocks="vwv") == set()
    assert linked(tmp_path, blocks="   ") == set()
    head = "transfer_type,from_trip_id,to_trip_id,from_stop_id,to_stop_id\n"
    assert linked(tmp_path, transfers=head + "5,one,two,,") == set()
    assert linked(tmp_path, transfers=head + "4,one,three,c,b", blocks="   ") == {("one", "three")}
    assert linked(tmp_path, transfers=head + "4,one,three,,") == {("one", "three")}


def test_bans_of_staying_seated_are_those_of_their_trips(tmp_path: Path) -> None:
    """A vehicle goes from a to c, back to a, and on to b."""
    for bans, kept in (
        ([], {("one", "two"), ("two", "three")}),
        (["two,three"], {("one", "two")}),
        (["two,three", "one,two"], set()),
        (["one,three", "two,one"], {("one", "two"), ("two", "three")}),
    ):
        timetable = read_feed(
            feed(
                tmp_path,
                transfers="\n".join(["transfer_type,from_trip_id,to_trip_id", *(f"5,{ban}" for ban in bans)]),
                trips="route_id,service_id,trip_id,block_id\nR,daily,one,v\nR,daily,two,v\nR,daily,three,v",
                stop_times="""
                    trip_id,stop_sequence,stop_id,arrival_time,departure_time
                    one,1,a,8:00:00,8:00:00
                    one,2,c,8:20:00,8:20:00
                    two,1,c,9:00:00,9:00:00
                    two,2,a,9:20:00,9:20:00
                    three,1,a,10:00:00,10:00:00
                    three,2,b,10:20:00,10:20:00
                """,
            )
        )
        table = trip_table(timetable, posix("2026-03-02"), posix("2026-03-03"))
        assert {(a, b) for (a, _), (b, _) in stays_of(timetable, table)} == kept, bans


def test_riders_stay_seated_over_midnight(tmp_path: Path) -> None:
    timetable = read_feed(
        feed(
            tmp_path,
            transfers="transfer_type,from_trip_id,to_trip_id\n4,late,early",
            trips="route_id,service_id,trip_id\nR,daily,late\nR,daily,early",
            stop_times="""
                trip_id,stop_sequence,stop_id,arrival_time,departure_time
                late,1,a,23:50:00,23:50:00
                late,2,b,24:10:00,24:10:00
                early,1,b,0:15:00,0:15:00
                early,2,c,0:30:00,0:30:00
            """,
        )
    )
    day = dt.date(2026, 3, 2).toordinal()
    table = trip_table(timetable, posix("2026-03-02T20:00"), posix("2026-03-03T04:00"))
    assert stays_of(timetable, table) == {(("late", day), ("early", day + 1))}


def test_riders_do_not_stay_seated_until_the_next_day(tmp_path: Path) -> None:
    """The trip that the vehicle continues as does not run on Monday."""
    timetable = read_feed(
        feed(
            tmp_path,
            transfers="transfer_type,from_trip_id,to_trip_id\n4,one,two",
            trips="route_id,service_id,trip_id\nR,daily,one\nR,but_monday,two",
            calendar="""
                service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
                daily,1,1,1,1,1,1,1,20260101,20261231
                but_monday,0,1,1,1,1,1,1,20260101,20261231
            """,
            stop_times="""
                trip_id,stop_sequence,stop_id,arrival_time,departure_time
                one,1,a,8:00:00,8:00:00
                one,2,b,8:20:00,8:20:00
                two,1,b,8:25:00,8:25:00
                two,2,c,8:40:00,8:40:00
            """,
        )
    )
    tuesday = dt.date(2026, 3, 3).toordinal()
    table = trip_table(timetable, posix("2026-03-02"), posix("2026-03-04"))
    assert stays_of(timetable, table) == {(("one", tuesday), ("two", tuesday))}


# Saving


def test_tables_there_and_back(tmp_path: Path) -> None:
    files: dict[str, Any] = {
        "frequencies": "trip_id,start_time,end_time,headway_secs\nt,8:00:00,9:00:00,600",
        "shapes": "shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence\ns,0.5,0.5,1\ns,0.5,0.52,2",
        "transfers": "from_stop_id,to_stop_id,transfer_type,min_transfer_time\na,b,2,60",
        "fare_attributes": "fare_id,price,currency_type\nf,2.50,EUR",
    }
    timetable = read_timetable([feed(tmp_path, "a.zip", **files), feed(tmp_path, "b.zip")])
    columns, meta = to_tables(timetable)
    again = from_tables(columns, meta)
    assert again.fingerprint == timetable.fingerprint
    assert again.zones == timetable.zones and again.headsigns == timetable.headsigns
    assert again.report() == timetable.report()
    for item in dataclasses.fields(Timetable):
        value = getattr(timetable, item.name)
        if isinstance(value, pd.DataFrame):
            pd.testing.assert_frame_equal(getattr(again, item.name), value, check_dtype=False)
        elif isinstance(value, np.ndarray):
            assert getattr(again, item.name).dtype == value.dtype
    assert not again.arrival.flags.writeable
    outside = pa.array(np.full(6, 6, np.int32)), pa.array(np.full(6, -1, np.int32))
    for stops in outside:
        with pytest.raises(ValueError, match="pattern_stop contains row numbers outside"):
            from_tables({**columns, "pattern_stop": stops}, meta)
    with pytest.raises(ValueError, match="column trip_indptr does not split 2 values into rows"):
        from_tables({**columns, "arrival": columns["arrival"][:2]}, meta)
    with pytest.raises(KeyError):
        from_tables({name: values for name, values in columns.items() if name != "arrival"}, meta)


# The twin

STOPS = {"p": (0.5, 0.5), "q": (0.5013, 0.5071), "r": (0.5, 0.5009), "s": (0.5371, 0.4902)}
TIME = st.integers(0, 30 * 60)
SERVICES = ("weekday", "weekend", "odd")
DAYS = st.tuples(st.sampled_from(SERVICES), st.integers(20, 31)).filter(lambda key: key != ("odd", 27))


def clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}:00"


@st.composite
def feeds(draw: st.DrawFn) -> dict[str, str]:
    """A feed around the clock change of 2014-10-26 with everything that decides which runs there are."""
    trips, stop_times, repeats = [], [], []
    for number in range(draw(st.integers(1, 6))):
        trip = f"t{number}"
        n = draw(st.integers(2, 5))
        # Few stop sequences, so that trips share patterns and overtake.
        stops = draw(st.sampled_from(["pqrsp", "pqpqs", "srqpp"]))[:n]
        moment = draw(TIME)
        with_distance = draw(st.booleans())
        types = draw(st.sampled_from(["0000000000", "1000000001", "0001230100"]))
        along = 0
        for k in range(n):
            arrival = moment + draw(st.integers(0, 20)) * (k > 0)
            moment = arrival + draw(st.integers(0, 3))
            along += draw(st.integers(0, 5))
            is_timed = k in (0, n - 1) or draw(st.booleans())
            stop_times.append(
                f"{trip},{10 * k},{stops[k]},{clock(arrival) if is_timed else ''},{clock(moment) if is_timed else ''},"
                f"{types[2 * k]},{types[2 * k + 1]},{along if with_distance else ''}"
            )
        service, block = draw(st.sampled_from(SERVICES)), draw(st.sampled_from(["", "v", "w"]))
        trips.append(f"R,{service},{trip},{block}")
        if draw(st.integers(0, 3)) == 0:
            start = draw(TIME)
            repeats.append(
                f"{trip},{clock(start)},{clock(start + draw(st.integers(1, 200)))},{draw(st.integers(60, 4000))},1"
            )
    exceptions = draw(st.dictionaries(DAYS, st.integers(1, 2), max_size=6))
    zone = draw(st.sampled_from(["Europe/Rome", "UTC", "America/Sao_Paulo", "Pacific/Auckland"]))
    return {
        "agency": f"agency_name,agency_timezone\nx,{zone}",
        "stops": "stop_id,stop_lat,stop_lon\n" + "\n".join(f"{k},{lat},{lng}" for k, (lat, lng) in STOPS.items()),
        "calendar": f"{text(LINE['calendar']).splitlines()[0]}\nweekday,1,1,1,1,1,0,0,20141020,20141028\n"
        "weekend,0,0,0,0,0,1,1,20141001,20141031\n",
        "calendar_dates": "service_id,date,exception_type\nodd,20141027,1\n"
        + "\n".join(f"{name},201410{day},{kind}" for (name, day), kind in exceptions.items()),
        "trips": "route_id,service_id,trip_id,block_id\n" + "\n".join(trips),
        "stop_times": "trip_id,stop_sequence,stop_id,arrival_time,departure_time,pickup_type,drop_off_type,"
        "shape_dist_traveled\n" + "\n".join(stop_times),
        "frequencies": "trip_id,start_time,end_time,headway_secs,exact_times\n" + "\n".join(repeats),
    }  # fmt: skip


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(files=feeds(), begin=st.integers(0, 5 * 96), length=st.integers(1, 30 * 4))
def test_runs_agree_with_the_twin(files: dict[str, str], begin: int, length: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = feed(Path(folder), **files)
        timetable, slow = read_feed(path), SlowFeed(path)
    assert timetable.notes[0]["dropped"] == {}
    start = posix("2014-10-23") + begin * 900
    end = start + length * 900
    table = trip_table(timetable, start, end)
    check_invariants(table)
    assert runs_of(timetable, table) == slow.runs(start, end)
    assert stays_of(timetable, table) == slow.stays(start, end, 200.0)


# Real feeds

#: Trips (and departures where trips are repeated) by date; the README's figures, its other columns found by the reader
#: and checked with the csv module.
COUNTS: dict[str, dict[str, tuple[int, int]]] = {
    "porto_alegre/gtfs_bus_full": {
        "2019-05-14": (8520, 8520), "2019-05-01": (3981, 3981), "2019-04-19": (3981, 3981), "2019-06-20": (3981, 3981),
        "2019-05-18": (0, 0), "2019-05-19": (0, 0),
    },
    "porto_alegre/gtfs_bus": {"2019-05-14": (2374, 2374)},
    "porto_alegre/gtfs_rail": {"2019-05-14": (529, 529), "2019-05-18": (416, 416), "2019-05-19": (303, 303)},
    # 3,195 trips and 12,878 departures, of which 8 and 90 are of trips that the clipping left one call.
    "helsinki/gtfs": {"2022-02-22": (3195 - 8, 12878 - 90), "2022-02-23": (0, 0)},
    "milan/gtfs": {"2014-10-28": (3359, 3359), "2014-10-25": (2617, 2617), "2014-10-26": (1995, 1995)},
    "oaxaca/gtfs_frequencies": {"2025-02-04": (85, 15538), "2025-02-01": (85, 15538), "2025-02-02": (85, 13796)},
    "london/gtfs_headways": {"2026-05-12": (2294, 113078), "2026-05-16": (95, 1111), "2026-05-17": (0, 0)},
    "gtfs_only/kuopio": {"2017-02-14": (1131, 1131), "2017-02-18": (619, 619), "2017-02-19": (340, 340)},
    "gtfs_only/zug_transfers": {"2021-03-09": (3569, 3569), "2021-03-13": (2901, 2901), "2021-03-14": (2130, 2130)},
    "gtfs_only/cairns": {"2014-09-09": (622, 622), "2014-09-13": (437, 437), "2014-09-14": (266, 266)},
    "gtfs_only/nyc_subway_two_lines": {
        "2024-12-17": (786, 786), "2024-12-21": (650, 650), "2024-12-22": (554, 554), "2024-12-25": (554, 554),
    },
    "gtfs_only/caltrain": {"2026-08-04": (112, 112), "2026-08-08": (66, 66), "2026-08-09": (66, 66)},
    # 932 trips, one of which arrives at 00:00:00 after 23:58:00 and is dropped as going back in time.
    "gtfs_only/fortaleza_missing_times": {
        "2019-07-30": (932 - 1, 931), "2019-08-03": (770, 770), "2019-08-04": (587, 587),
    },
    "gtfs_only/bydgoszcz": {"2020-05-12": (4698, 4698), "2020-05-16": (3525, 3525), "2020-05-17": (2730, 2730)},
    "bench/nyc/gtfs_lirr": {"2026-10-20": (945, 945)},
    "bench/nyc/gtfs_subway": {"2026-10-20": (8497, 8497)},
}  # fmt: skip
#: Dates covered, as the README has them.
VALID = {
    "porto_alegre/gtfs_bus_full": ("2019-04-15", "2019-07-15"),
    "porto_alegre/gtfs_rail": ("2019-03-01", "2019-12-31"),
    "helsinki/gtfs": ("2022-02-22", "2022-02-22"),
    "milan/gtfs": ("2014-10-19", "2014-11-01"),
    "oaxaca/gtfs_frequencies": ("2000-01-01", "2100-01-01"),
    "london/gtfs_headways": ("2026-01-01", "2027-12-31"),
    "gtfs_only/kuopio": ("2016-10-24", "2017-06-04"),
    "gtfs_only/zug_transfers": ("2020-12-13", "2021-12-11"),
    "gtfs_only/cairns": ("2014-05-26", "2014-12-28"),
    "gtfs_only/nyc_subway_two_lines": ("2024-12-15", "2025-01-17"),
    "gtfs_only/caltrain": ("2026-01-31", "2027-01-31"),
    "gtfs_only/fortaleza_missing_times": ("2019-06-14", "2019-09-14"),
    "gtfs_only/bydgoszcz": ("2020-04-16", "2020-10-25"),
    "bench/nyc/gtfs_lirr": ("2026-09-21", "2026-11-08"),
    "bench/nyc/gtfs_subway": ("2026-05-26", "2026-10-31"),
}
#: Everything that is dropped from all of them; the fortaleza rows are checked below.
DROPPED = {
    "helsinki/gtfs": ["stop_times.txt: trip with fewer than two stop times"],
    "gtfs_only/zug_transfers": ["transfers.txt: unknown from_stop_id", "transfers.txt: unknown to_stop_id"],
    "gtfs_only/fortaleza_missing_times": ["stop_times.txt: trip whose times decrease"],
}


@pytest.mark.parametrize("name", list(COUNTS))
def test_real_feeds(shared_data: Path, name: str) -> None:
    timetable = read_feed(shared_data / f"{name}.zip")
    for date, counts in COUNTS[name].items():
        assert tuple(timetable.trips_per_day(dt.date.fromisoformat(date)).iloc[0]) == counts, date
    if name in VALID:
        assert tuple(map(str, timetable.dates().iloc[0])) == VALID[name]
    assert sorted(timetable.notes[0]["dropped"]) == DROPPED.get(name, [])
    # The runs that start on the good day are the departures of that day.
    day = dt.date.fromisoformat(next(iter(COUNTS[name])))
    origin = day_origin(day.toordinal(), timetable.zones[0])
    table = trip_table(timetable, origin, origin + 86400)
    check_invariants(table)
    of_the_day = table.instance_date == day.toordinal()
    latest = timetable.hot.first_departure.max()
    if latest < 86400:
        assert of_the_day.sum() == COUNTS[name][str(day)][1]
    columns, meta = to_tables(timetable)
    assert from_tables(columns, meta).fingerprint == timetable.fingerprint


def test_report_of_a_real_feed(shared_data: Path) -> None:
    facts = read_feed(shared_data / "gtfs_only/fortaleza_missing_times.zip").report()["fortaleza_missing_times"]
    assert facts["first_date"] == "2019-06-14" and facts["last_date"] == "2019-09-14"
    assert facts["dropped"] == {
        "stop_times.txt: trip whose times decrease": (
            "4 rows, lines 820, 11858, 25822, 44114, such as 'D804-T03V20B02-I'"
        )
    }
    week = facts["trips_per_weekday"]
    assert [week[day] for day in ("tuesday", "saturday", "sunday")] == [931, 770, 587]


@pytest.mark.slow
def test_real_runs_agree_with_the_twin(shared_data: Path) -> None:
    # The night of the clock change: trips of Saturday to 26:30, of Sunday from 25 hours before midnight.
    path = shared_data / "milan/gtfs.zip"
    timetable, slow = read_feed(path), SlowFeed(path, {"20141025", "20141026"})
    begin, end = posix("2014-10-25T23:00"), posix("2014-10-26T05:00")
    table = trip_table(timetable, begin, end)
    expected = slow.runs(begin, end)
    assert table.instance_trip.size == sum(expected.values()) == 97
    assert {dt.date.fromordinal(date).day for _, date, _ in expected} == {25, 26}
    assert runs_of(timetable, table) == expected
