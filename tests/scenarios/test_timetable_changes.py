"""Changes of timetables: what they do, laws that hold for all of them, and lines as if they were in the feed."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support import worlds
from tests.support.combinations import first_of
from tests.support.feeds import feed, runs_of
from tests.support.towns import STOPS, STREETS, TRIPS, clock, timetable, town, towns
from traveltime_lab.scenarios.headways import directions
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.timetable_file import from_tables, to_tables
from traveltime_lab.transit.trip_instances import trip_table

DAY = "2026-03-03"
MORNING = f"{DAY}T07:55:00"


def departures(network: tl.Network, route: str, day: str = DAY) -> list[str]:
    """Return the departures of a route from its first stop on a day, as clock times."""
    table = network.timetable
    assert table is not None
    begin = int(pd.Timestamp(day, tz="UTC").timestamp())
    runs = runs_of(table, trip_table(table, begin, begin + 86_400))
    route_of = dict(zip(table.trips["trip_id"], table.routes["route_id"].to_numpy()[table.hot.trip_route], strict=True))
    return sorted(clock(calls[0][2] - begin) for trip, _, calls in runs.elements() if route_of[trip] == route)


def seconds(network: tl.Network, points: Any, **how: Any) -> np.ndarray:
    """Return travel times between all points, infinite where there is no way."""
    how = {"departure_time": MORNING, "transportation": "public_transport", "travel_time": 7200, **how}
    found = tl.time_filter(network, points, points, form="matrix", **how)
    return found.astype("float64").fillna(np.inf).to_numpy()


@pytest.fixture
def hourly(tmp_path: Path) -> tl.Network:
    """A town whose line R runs from a to b every hour from 6 to 12, and a line of one trip."""
    trips = [[("a", 3600 * h), ("b", 3600 * h + 300)] for h in range(6, 12)] + [[("b", 29_400), ("c", 29_700)]]
    route = "\n".join(["route_id,service_id,trip_id", *(f"{'R' if i < 6 else 'S'},daily,t{i}" for i in range(7))])
    routes = "route_id,route_short_name,route_type\nR,1,3\nS,2,3"
    return tl.build_network(STREETS, gtfs=timetable(tmp_path, STOPS, trips, trips=route, routes=routes), timezone="UTC")


def test_headways(hourly: tl.Network) -> None:
    assert departures(hourly, "R") == [f"{h:02d}:00:00" for h in range(6, 12)]
    twice = hourly.with_changes([tl.ScaleHeadway("R", 0.5)])
    assert departures(twice, "R") == [clock(21_600 + 1800 * k) for k in range(11)]
    half = hourly.with_changes(tl.ScaleHeadway("R", 2))
    assert departures(half, "R") == ["06:00:00", "08:00:00", "10:00:00"]
    other = hourly.with_changes(tl.ScaleHeadway("R", 1.5))
    assert departures(other, "R") == ["06:00:00", "07:30:00", "09:00:00", "10:30:00"]
    fixed = hourly.with_changes(tl.SetHeadway("R", "07:30", "09:15", 1200))
    assert departures(fixed, "R") == [
        "06:00:00", "07:00:00", "07:30:00", "07:50:00", "08:10:00", "08:30:00", "08:50:00", "09:10:00", "10:00:00",
        "11:00:00",
    ]  # fmt: skip
    assert departures(fixed, "S") == departures(hourly, "S")
    # Hours without trips get them, too.
    late = hourly.with_changes(tl.SetHeadway("R", "22:00", "25:00", 3600))
    assert departures(late, "R")[-2:] == ["22:00:00", "23:00:00"]
    assert departures(late, "R", "2026-03-04")[0] == "00:00:00"
    later = hourly.with_changes(tl.ShiftTrips("R", 90, start="08:00", end="10:00"))
    assert departures(later, "R") == ["06:00:00", "07:00:00", "08:01:30", "09:01:30", "10:00:00", "11:00:00"]


#: Sequences of stops of one route, and the direction of each: the whole line and back, short runs, branches, loops.
SEQUENCES = {
    "line": (["abcd", "dcba"], [0, 1]),
    "short runs": (["abcd", "abc", "bc", "dcba", "cb", "dc"], [0, 0, 0, 1, 1, 1]),
    "express": (["abcd", "ad", "dbca", "da"], [0, 0, 1, 1]),
    "branches": (["abc", "abd", "cba", "dba"], [0, 0, 1, 1]),
    "branches that meet at one stop": (["ab", "ac", "ba", "ca"], [0, 1, 2, 3]),
    "loops": (["abcda", "adcba", "abca"], [0, 1, 0]),
    "platforms of stations": (["ab", "AB", "BA", "ba"], [0, 0, 1, 1]),
    "ends of two kinds": (["abc", "bcd", "dcb"], [0, 0, 1]),
}


@pytest.mark.parametrize("kind", first_of(2, SEQUENCES, mark=pytest.mark.thorough, few=pytest.mark.slow))
def test_directions_without_ids(kind: str, tmp_path: Path) -> None:
    """Each direction gets the headway once, as if the feed had direction_id; the order of trips does not matter."""
    sequences, wanted = SEQUENCES[kind]
    lng, lat = worlds.FRAME.to_lnglat(*np.array([[300.0 * k, 0.0] for k in range(4)]).T)
    rows = ["stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station"]
    for k, name in enumerate("abcd"):
        at = f"{name},{lat[k]:.7f},{lng[k]:.7f}"  # both platforms of a station have its name
        rows += [f"S{name},{at},1,", f"{name},{at},0,S{name}", f"{name.upper()},{at},0,S{name}"]
    for order in (1, -1):
        chosen = list(zip(sequences, wanted, strict=True))[::order]
        trips = [[(s, 25_200 + 600 * i + 60 * k) for k, s in enumerate(stops)] for i, (stops, _) in enumerate(chosen)]
        ids = [f"R,daily,t{i}" for i in range(len(trips))]
        files = {"stops": "\n".join(rows), "routes": "route_id,route_short_name,route_type\nR,1,3"}
        plain = timetable(tmp_path, STOPS, trips, trips="\n".join(["route_id,service_id,trip_id", *ids]), **files)
        change = tl.SetHeadway("R", "06:00", "10:00", 1800)
        net = tl.build_network(STREETS, gtfs=plain, timezone="UTC")
        found = directions(net.timetable, np.arange(net.timetable.n_trips))
        of_trip = dict(zip(net.timetable.trips["trip_id"], found.tolist(), strict=True))
        pairs = {(of_trip[f"t{i}"], direction) for i, (_, direction) in enumerate(chosen)}
        assert len(pairs) == len({a for a, _ in pairs}) == len(set(wanted))
        assert len(departures(net.with_changes(change), "R")) == 8 * len(set(wanted))
        if len(set(wanted)) <= 2:
            head = "route_id,service_id,trip_id,direction_id"
            with_ids = "\n".join([head, *(f"{row},{d}" for row, (_, d) in zip(ids, chosen, strict=True))])
            said = tl.build_network(
                STREETS, gtfs=timetable(tmp_path, STOPS, trips, trips=with_ids, **files), timezone="UTC"
            )
            assert departures(said.with_changes(change), "R") == departures(net.with_changes(change), "R")
            # One trip without a direction leaves all directions to the order of stations.
            some = with_ids.removesuffix(str(chosen[-1][1]))
            part = tl.build_network(
                STREETS, gtfs=timetable(tmp_path, STOPS, trips, trips=some, **files), timezone="UTC"
            )
            assert departures(part.with_changes(change), "R") == departures(net.with_changes(change), "R")


def test_days_with_several_services_get_one_headway(tmp_path: Path) -> None:
    days = """
        service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
        daily,1,1,1,1,1,1,1,20260302,20260315
        school,0,1,0,0,0,0,0,20260302,20260315
    """
    trips = [[("a", 3600 * h), ("b", 3600 * h + 300)] for h in (7, 8, 9)]
    rows = "route_id,service_id,trip_id\nR0,daily,t0\nR0,school,t1\nR0,daily,t2"
    net = tl.build_network(STREETS, gtfs=timetable(tmp_path, STOPS, trips, trips=rows, calendar=days), timezone="UTC")
    changed = net.with_changes(tl.SetHeadway("R0", "07:00", "09:30", 3000))
    expected = ["07:00:00", "07:50:00", "08:40:00"]
    assert departures(changed, "R0", "2026-03-03") == departures(changed, "R0", "2026-03-04") == expected
    twice = net.with_changes(tl.ScaleHeadway("R0", 0.5))
    assert departures(twice, "R0", "2026-03-03") == [clock(25_200 + 1800 * k) for k in range(5)]
    assert departures(twice, "R0", "2026-03-04") == ["07:00:00", "08:00:00", "09:00:00"]


def test_headways_of_frequencies(tmp_path: Path) -> None:
    rows = "trip_id,start_time,end_time,headway_secs\nt0,06:00:00,09:00:00,1800"
    net = town(tmp_path, frequencies=rows)
    assert departures(net, "R0") == [clock(21_600 + 1800 * k) for k in range(6)]
    assert departures(net.with_changes(tl.ScaleHeadway("R0", 0.5)), "R0") == [
        clock(21_600 + 900 * k) for k in range(12)
    ]
    fixed = net.with_changes(tl.SetHeadway("R0", "07:15", "08:15", 1200))
    assert departures(fixed, "R0") == [
        "06:00:00", "06:30:00", "07:00:00", "07:15:00", "07:35:00", "07:55:00", "08:30:00",
    ]  # fmt: skip
    later = net.with_changes(tl.ShiftTrips("R0", 60))
    assert departures(later, "R0")[0] == "06:01:00"
    # A trip that is repeated no more does not run once instead.
    none = net.with_changes([tl.SetHeadway("R0", "05:00", "10:00", 86_400), tl.ShiftTrips("R0", -3600)])
    assert departures(none, "R0") == ["04:00:00"]


@pytest.mark.thorough
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=3),
    st.sampled_from([0.05, 0.1, 0.5, 2.0, 20.0]),
    st.integers(1, 2),
)
@settings(max_examples=30)
def test_scaled_headways_are_one_second_or_more(headways: list[int], factor: float, times: int) -> None:
    """A headway of half a second would be 0 s, at which a trip departs without end."""
    rows = [f"t0,0{6 + i}:00:00,0{6 + i}:01:00,{headway}" for i, headway in enumerate(headways)]
    with tempfile.TemporaryDirectory() as folder:
        net = town(Path(folder), frequencies="\n".join(["trip_id,start_time,end_time,headway_secs", *rows]))
    changed = net.with_changes([tl.ScaleHeadway("R0", factor)] * times)
    expected = headways
    for _ in range(times):
        expected = [max(1, round(headway * factor)) for headway in expected]
    assert changed.timetable.frequency_headway.tolist() == expected
    assert departures(changed, "R0") == [
        clock(21_600 + 3600 * i + second) for i, headway in enumerate(expected) for second in range(0, 60, headway)
    ]


def test_routes_and_stops_are_removed(hourly: tl.Network) -> None:
    places = worlds.at((0.0, 0.0), (3000.0, 0.0), (6000.0, 0.0))
    before = seconds(hourly, places)
    without = hourly.with_changes([tl.RemoveRoutes("R", name="cut")])
    assert departures(without, "R") == []
    assert before[0, 1] == 600 and seconds(without, places)[0, 1] == 3000
    assert without.report()["changes"] == {"1. RemoveRoutes 'cut'": "6 trips removed"}
    assert without.timetable.report()["feed"]["first_date"] == "2026-01-01"
    # Without any trip there are still walks, and no error about dates.
    walk = hourly.with_changes(tl.RemoveRoutes(["R", "S"]))
    assert seconds(walk, places)[0, 1] == 3000 and walk.timetable.n_trips == 0
    on_foot = walk.with_changes(tl.RemoveStops("a"))
    assert seconds(on_foot, places)[0, 1] == 3000
    gone = hourly.with_changes(tl.RemoveStops("b"))
    assert gone.timetable.n_trips == 0


def test_vehicles_pass_removed_stops(tmp_path: Path) -> None:
    trips = [[("a", 28_800), ("b", 29_100), ("c", 29_400)]]
    net = tl.build_network(STREETS, gtfs=timetable(tmp_path, STOPS, trips), timezone="UTC")
    places = worlds.at((0.0, 0.0), (3000.0, 0.0), (6000.0, 0.0))
    passing = net.with_changes(tl.RemoveStops("b"))
    before, after = seconds(net, places), seconds(passing, places)
    assert after[0, 2] == before[0, 2] == 900 and before[0, 1] == 600 and after[0, 1] == 3000
    how = {"departure_time": MORNING, "transportation": "public_transport"}
    route = tl.routes(passing, places.iloc[[0]], places.iloc[[2]], **how)["route"].iloc[0]
    ride = next(leg.ride for leg in route.legs if leg.ride)
    assert (ride.board.stop_id, ride.alight.stop_id, ride.num_stops) == ("a", "c", 1)
    # Repetitions start at the first stop that is left.
    rows = "trip_id,start_time,end_time,headway_secs\nt0,06:00:00,07:00:00,1800"
    net = tl.build_network(STREETS, gtfs=timetable(tmp_path, STOPS, trips, frequencies=rows), timezone="UTC")
    assert departures(net.with_changes(tl.RemoveStops("a")), "R0") == ["06:05:00", "06:35:00"]


def test_stations_stand_for_their_stops(tmp_path: Path) -> None:
    lng, lat = worlds.FRAME.to_lnglat(np.array([0.0, 3000.0]), np.array([0.0, 0.0]))
    rows = f"""
        stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station
        S,Station,{lat[0]:.7f},{lng[0]:.7f},1,
        a,A,{lat[0]:.7f},{lng[0]:.7f},0,S
        b,B,{lat[1]:.7f},{lng[1]:.7f},0,
        c,C,{lat[1]:.7f},{lng[1]:.7f},0,
    """
    changed = town(tmp_path, stops=rows).with_changes(tl.RemoveStops("S"))
    assert changed.timetable.trips["trip_id"].tolist() == ["t1"]


def test_vehicles_of_a_block_do_not_skip_a_removed_trip(tmp_path: Path) -> None:
    trips = [[("a", 28_800), ("b", 29_100)], [("b", 29_200), ("b", 29_300)], [("b", 29_400), ("c", 29_700)]]
    rows = "route_id,service_id,trip_id,block_id\nR0,daily,t0,x\nR1,daily,t1,x\nR2,daily,t2,x"
    net = tl.build_network(STREETS, gtfs=timetable(tmp_path, STOPS, trips, trips=rows), timezone="UTC")
    places = worlds.at((0.0, 0.0), (6000.0, 0.0))
    how = {"transportation": {"type": "public_transport", "max_changes": 0}}
    assert seconds(net, places, **how)[0, 1] == 1200
    changed = net.with_changes(tl.RemoveRoutes("R1"))
    assert seconds(changed, places, **how)[0, 1] > 3000
    assert seconds(changed, places)[0, 1] == 1200


def line_in_feed(
    folder: Path, ids: Sequence[str], legs: Sequence[int], dwell: int, first: int, n: int, step: int
) -> Path:
    """Write the feed of the town with a line in both directions, by hand."""
    trips, rows, times = list(TRIPS), [f"R{i},daily,t{i}" for i in range(len(TRIPS))], []
    for i, calls in enumerate(trips):
        times += [f"t{i},{k},{stop},{clock(when)},{clock(when)}" for k, (stop, when) in enumerate(calls)]
    for way, (line, seconds) in enumerate([(ids, legs), (ids[::-1], legs[::-1])]):
        for run in range(n):
            rows.append(f"X,daily,x{way}-{run}")
            when = first + run * step
            for k, stop in enumerate(line):
                wait = dwell if 0 < k < len(line) - 1 else 0
                times.append(f"x{way}-{run},{k},{stop},{clock(when)},{clock(when + wait)}")
                when += wait + (seconds[k] if k < len(seconds) else 0)
    return timetable(
        folder, STOPS, TRIPS,
        routes="\n".join(["route_id,route_short_name,route_type", "R0,0,3", "R1,1,3", "X,X,0"]),
        trips="\n".join(["route_id,service_id,trip_id", *rows]),
        stop_times="\n".join(["trip_id,stop_sequence,stop_id,arrival_time,departure_time", *times]),
    )  # fmt: skip


@pytest.mark.slow
def test_a_line_answers_as_if_it_were_in_the_feed(tmp_path: Path) -> None:
    line = tl.AddLine(
        "X", ["a", "b", "c"], headway=420, start="07:00", end="09:00", times=[200, 260], dwell=15, route_type=0
    )
    changed = town(tmp_path).with_changes(line)
    by_hand = tl.build_network(
        STREETS, gtfs=line_in_feed(tmp_path, "abc", [200, 260], 15, 25_200, -(-7200 // 420), 420), timezone="UTC"
    )
    places = worlds.at(*((x, 0.0) for x in range(-500, 6501, 350)))
    for how in (
        {},
        {"transportation": "train"},
        {"transportation": "cycling+public_transport"},
        {"arrival_time": f"{DAY}T09:05:00", "departure_time": None},
        {"window": 3600},
    ):
        assert (seconds(changed, places, **how) == seconds(by_hand, places, **how)).all()
    ask = {"departure_time": MORNING, "transportation": "public_transport"}
    one, other = (
        tl.time_filter(net, places, places, percentiles=[5, 50, 95], travel_time=3600, window=3600, **ask)
        for net in (changed, by_hand)
    )
    columns = [name for name in one.columns if name.startswith("travel_time")]
    pd.testing.assert_frame_equal(one[columns], other[columns])
    route = tl.routes(changed, places.iloc[[0]], places.iloc[[10]], **ask)["route"].iloc[0]
    ride = next(leg.ride for leg in route.legs if leg.ride)
    assert (ride.route_id, ride.headsign) == ("X", "c")


def test_new_stops(tmp_path: Path) -> None:
    lng, lat = (float(v[0]) for v in worlds.FRAME.to_lnglat([1500.0], [10.0]))
    changed = town(tmp_path).with_changes(
        [
            tl.AddStop("n", lng, lat, stop_name="Nook"),
            tl.AddLine("X", ["n", "c"], headway=600, start="07:00", end="09:00", speed=36),
        ]
    )
    table = changed.timetable
    assert table.report()["changes"]["trips"] == 24
    first = table.trip_indptr[np.flatnonzero(table.routes["route_id"].to_numpy()[table.hot.trip_route] == "X")[0]]
    assert table.arrival[first + 1] - table.departure[first] == pytest.approx(450, abs=3)
    sea = worlds.FRAME.to_lnglat([1500.0], [9000.0])
    with pytest.raises(
        tl.InputError, match=r"AddStop 'pier': the stop 's' is 9,0\d\d m from the nearest street for walking"
    ):
        changed.with_changes(tl.AddStop("s", float(sea[0][0]), float(sea[1][0]), name="pier"))


def test_saved_timetables(hourly: tl.Network, tmp_path: Path) -> None:
    changed = hourly.with_changes([tl.RemoveRoutes("S"), tl.ScaleHeadway("R", 0.5, name="twice")])
    again = tl.load_network(changed.save(tmp_path / "x.network"))
    assert again.changes == changed.changes and again.fingerprint == changed.fingerprint
    assert again.report()["changes"] == changed.report()["changes"]
    assert again.report()["fingerprint_before_changes"] == hourly.fingerprint
    more = again.with_changes(tl.ShiftTrips("R", 60))
    assert len(more.changes) == 3 and more.history.original == hourly.fingerprint
    assert departures(again, "R") == departures(changed, "R")
    _consistent(changed.timetable)


def _consistent(table: Timetable) -> None:
    """Check a timetable as the reader of saved networks does."""
    columns, meta = to_tables(table)
    assert from_tables(columns, meta).fingerprint == table.fingerprint


def test_unchanged_arrays_are_shared(hourly: tl.Network) -> None:
    changed = hourly.with_changes(tl.ScaleHeadway("R", 0.5))
    assert changed.streets is hourly.streets and changed.water is hourly.water
    assert changed.timetable.shape_lng is hourly.timetable.shape_lng
    assert changed.timetable.stops is hourly.timetable.stops
    closed = hourly.with_changes(tl.CloseStreets(edges=[0]))
    assert closed.timetable is hourly.timetable and closed.tables.coord_lng is hourly.tables.coord_lng


def test_the_typical_day_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traveltime_lab.transit.layer.today", lambda timezone: dt.date(2026, 3, 1))
    days = """
        service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
        daily,1,1,1,1,1,1,1,20260302,20260331
        more,0,0,1,0,0,0,0,20260302,20260331
    """
    rows = "route_id,service_id,trip_id\nR0,daily,t0\nR1,more,t1"
    net = town(tmp_path, trips=rows, calendar=days)
    places = worlds.at((0.0, 0.0), (3000.0, 0.0))
    how = {"departure_time": "weekday_morning", "transportation": "public_transport"}
    day = tl.routes(net, places, places, **how)["departure_time"].iloc[1]
    changed = net.with_changes(tl.RemoveRoutes("R1"))
    assert str(day)[:10] == "2026-03-04"
    assert tl.routes(changed, places, places, **how)["departure_time"].iloc[1] == day
    again = tl.load_network(changed.save(tmp_path / "x.network"))
    assert tl.routes(again, places, places, **how)["departure_time"].iloc[1] == day


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: tl.RemoveRoutes("4"), "RemoveRoutes: no route has the id '4'"),
        (lambda: tl.RemoveRoutes("1"), "no route has the id '1'; it is the name of 'R1'"),
        (lambda: tl.RemoveStops("x", name="n"), "RemoveStops 'n': no stop has the id 'x'"),
        (lambda: tl.RemoveStops("a", feed="no"), "no feed is called 'no'; there are 'feed'"),
        (lambda: tl.ScaleHeadway("R0", 0), "factor must be from 0.05 to 20 times the headway; got 0"),
        (lambda: tl.SetHeadway("R0", "7:00", "9:00", 0), "seconds must be from 1 to 86400 seconds; got 0"),
        (lambda: tl.SetHeadway("R0", "9:00", "7:00", 60), "end must be after start"),
        (lambda: tl.SetHeadway("R0", 7, 9, 60), "start must be a time such as '07:30'"),
        (lambda: tl.ShiftTrips("R0", -36_000), "moves a departure at 28800 s after midnight by -36000 s"),
        (lambda: tl.AddStop("a", 0.5, 0.5), "there is a stop 'a' already"),
        (lambda: tl.AddStop("z", 0.5, 95), "lat from -90 to 90"),
        (lambda: tl.AddLine("R0", "ab", headway=60, start="7:00", end="8:00", times=60), "stops must be a list"),
        (lambda: _line("R0"), "there is a route 'R0' already"),
        (lambda: _line("X", headway=0), "headway must be from 1 to 86400 seconds; got 0"),
        (lambda: _line("X", stops=["a", "q"]), "no stop has the id 'q'"),
        (lambda: _line("X", stops=["a"]), "stops must be two or more; got 1"),
        (lambda: _line("X", stops=["a", "a"]), "stops has 'a' twice in a row"),
        (lambda: _line("X", times=[1, 2]), "times needs 1 values, one from each of 2 stops to the next; got 2"),
        (lambda: _line("X", times=None), "needs either times or speed"),
        (lambda: _line("X", days="sun"), "days must be among monday"),
        (lambda: _line("X", route_type=99), "route_type 99 is none of GTFS"),
    ],
)
def test_errors(tmp_path: Path, change: Any, message: str) -> None:
    net = town(tmp_path)
    with pytest.raises(tl.InputError) as caught:
        net.with_changes([change()])
    assert message in str(caught.value)


def _line(route: str, **how: Any) -> tl.AddLine:
    return tl.AddLine(route, **{"stops": ["a", "b"], "headway": 60, "start": "7:00", "end": "8:00", "times": 60, **how})


def test_ids_of_several_feeds(tmp_path: Path) -> None:
    one = timetable(tmp_path, STOPS, TRIPS)
    (tmp_path / "two").mkdir()
    two = feed(tmp_path / "two", "other.zip")
    net = tl.build_network(STREETS, gtfs=[one, two], timezone="UTC")
    with pytest.raises(tl.InputError, match="the stop 'a' is in several feeds, 'feed', 'other'; say which with feed="):
        net.with_changes(tl.RemoveStops("a"))
    assert net.with_changes(tl.RemoveStops("a", feed="feed")).timetable.n_trips == 2
    with pytest.raises(tl.InputError, match="needs a timetable, which this network has not"):
        tl.build_network(STREETS, timezone="UTC").with_changes(tl.RemoveRoutes("R"))
    with pytest.raises(tl.InputError, match="each of changes must be one of"):
        net.with_changes(["R"])


CHANGES = st.one_of(
    st.builds(tl.RemoveRoutes, st.integers(0, 5).map(lambda n: f"R{n}")),
    st.builds(tl.RemoveStops, st.integers(0, 5).map(lambda n: f"s{n}")),
    st.builds(tl.ScaleHeadway, st.integers(0, 5).map(lambda n: f"R{n}"), st.sampled_from([2.0, 3.0])),
)


@settings(max_examples=40)
@given(towns(), st.lists(CHANGES, min_size=1, max_size=3), st.booleans())
@pytest.mark.thorough
def test_removing_never_gains_and_adding_never_loses(drawn: Any, changes: list[Any], arrives: bool) -> None:
    nodes, kept, stops, trips = drawn
    with tempfile.TemporaryDirectory() as folder:
        # Trips of three routes, so that headways have something to scale.
        rows = "\n".join(["route_id,service_id,trip_id", *(f"R{i % 3},daily,t{i}" for i in range(len(trips)))])
        net = tl.build_network(
            worlds.tables(nodes, kept), gtfs=timetable(Path(folder), stops, trips, trips=rows), timezone="UTC"
        )
        known = {f"R{i}" for i in range(len(trips))} | set(stops)
        changes = [
            c
            for c in changes
            if {*getattr(c, "routes", ()), *getattr(c, "stops", ()), getattr(c, "route", None)} - {None} <= known
        ]
        fewer = net.with_changes(changes)
        places = worlds.at((0.0, 0.0), (310.0, 290.0), (30.0, 610.0), (600.0, 20.0))
        moment = {"departure_time": None, "arrival_time": f"{DAY}T08:40:00"} if arrives else {}
        for how in ({}, {"window": 900}, {"transportation": "cycling+public_transport"}):
            before, after = (seconds(each, places, **how, **moment) for each in (net, fewer))
            assert (after >= before).all()
        more = [tl.ScaleHeadway(f"R{i}", 0.5) for i in range(min(3, len(trips)))]
        line = tl.AddLine("X", list(stops)[:2], headway=300, start="07:30", end="09:00", speed=30)
        added = fewer.with_changes([*more, line])
        assert (seconds(added, places, **moment) <= seconds(fewer, places, **moment)).all()
        _consistent(added.timetable)
        nothing = fewer.with_changes([tl.ScaleHeadway("R0", 1.0), tl.ShiftTrips("R0", 0)])
        assert nothing.fingerprint == fewer.fingerprint
        back = fewer.with_changes([tl.ShiftTrips("R0", 600), tl.ShiftTrips("R0", -600)])
        assert (seconds(back, places, **moment) == seconds(fewer, places, **moment)).all()
