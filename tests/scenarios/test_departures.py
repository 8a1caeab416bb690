"""Departures of lines before and after changes of headways, counted one by one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.combinations import first_of
from tests.support.towns import STOPS, STREETS, clock, timetable

COUNTS = re.compile(r"([\d,]+) departures? on (\S+) before, ([\d,]+) after$")


def counts(network: tl.Network, change: Any) -> tuple[int, str, int]:
    """Return the departures before, the day, and the departures after that the report names for the last change."""
    fact = list(network.with_changes(change).report()["changes"].values())[-1]
    found = COUNTS.search(fact)
    assert found, fact
    return int(found[1].replace(",", "")), found[2], int(found[3].replace(",", ""))


def line(folder: Path, times: list[int], **files: str) -> tl.Network:
    """Return a network of one line from a to b, with a trip at each time."""
    trips = [[("a", when), ("b", when + 300)] for when in times]
    rows = "\n".join(["route_id,service_id,trip_id,direction_id", *(f"R,daily,t{i},0" for i in range(len(times)))])
    routes = "route_id,route_short_name,route_type\nR,4,3"
    feed = timetable(folder, STOPS, trips, **{"trips": rows, "routes": routes, **files})
    return tl.build_network(STREETS, gtfs=feed, timezone="UTC")


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    times=st.lists(st.integers(20_000, 40_000), min_size=1, max_size=12, unique=True),
    factor=st.sampled_from([0.25, 0.5, 1.0, 2.0, 3.0]),
    start=st.integers(20_000, 39_000),
    length=st.integers(1, 4_000),
    headway=st.sampled_from([60, 300, 777]),
)
def test_departures_by_hand(
    times: list[int], factor: float, start: int, length: int, headway: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    network = line(tmp_path_factory.mktemp("feed"), times)
    day = str(network.typical_day)
    scaled = len([k for k in range(1000) if k * factor <= len(times) - 1])
    assert counts(network, tl.ScaleHeadway("R", factor)) == (len(times), day, scaled)
    change = tl.SetHeadway("R", clock(start), clock(start + length), headway)
    outside = [when for when in times if not start <= when < start + length]
    assert counts(network, change) == (len(times), day, len(outside) + len(range(start, start + length, headway)))


def test_repetitions_count(tmp_path: Path) -> None:
    rows = "trip_id,start_time,end_time,headway_secs\nt0,06:00:00,07:00:00,600\nt0,08:00:00,09:00:00,1200"
    network = line(tmp_path, [21_600, 50_000], frequencies=rows)
    day = str(network.typical_day)
    assert counts(network, tl.ScaleHeadway("R", 0.5)) == (6 + 3 + 1, day, 12 + 6 + 1)
    assert counts(network, tl.SetHeadway("R", "06:30", "08:30", 300)) == (10, day, 3 + 24 + 1 + 1)


def test_each_change_counts_from_the_one_before(tmp_path: Path) -> None:
    network = line(tmp_path, [30_000, 31_000, 32_000])
    steps = [tl.ScaleHeadway("R", 0.5), tl.ScaleHeadway("R", 0.5, name="again")]
    assert counts(network, steps)[::2] == (5, 9)
    assert counts(network.with_changes(steps[0]), steps[1])[::2] == (5, 9)


def test_a_line_that_does_not_run_on_the_typical_day(tmp_path: Path) -> None:
    calendar = (
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n"
        "daily,1,1,1,1,1,0,0,20260101,20261231\nsunday,0,0,0,0,0,0,1,20260101,20261231\nnever,0,0,0,0,0,0,0,20260101,20261231"
    )
    trips = "route_id,service_id,trip_id\nR,daily,t0\nS,sunday,t1\nS,sunday,t2\nN,never,t3"
    routes = "route_id,route_short_name,route_type\nR,4,3\nS,5,3\nN,6,3"
    network = line(tmp_path, [30_000, 31_000, 32_000, 33_000], calendar=calendar, trips=trips, routes=routes)
    assert counts(network, tl.ScaleHeadway("S", 0.5)) == (2, "2026-01-04", 3)


@pytest.mark.parametrize("route", first_of(1, ["494", "LINHA1"], mark=pytest.mark.thorough, few=pytest.mark.slow))
def test_reports_and_tables_agree_in_a_city(porto_alegre: tl.Network, route: str) -> None:
    day = porto_alegre.typical_day
    for change in (tl.ScaleHeadway(route, 0.5), tl.SetHeadway(route, "07:00", "09:30", 420)):
        before, named, after = counts(porto_alegre, change)
        changed = porto_alegre.with_changes(change)
        assert named == str(day)
        for network, number in ((porto_alegre, before), (changed, after)):
            trips = network.trips_frame(date=day, routes=route, geometry=False)
            assert trips["n_departures"].sum() == number
        table = tl.compare(porto_alegre.routes_frame(), changed.routes_frame()).set_index("route_id")
        assert table.loc[route, ["before", "after", "increase"]].tolist() == [before, after, after - before]
        assert (table.drop(index=route)["change"] == "same").all()


@pytest.mark.thorough
def test_new_and_removed_lines_are_gained_and_lost(porto_alegre: tl.Network) -> None:
    stops = porto_alegre.stops_frame()["stop_id"].iloc[:2].tolist()
    new = tl.AddLine(
        "X1", stops, headway=1200, start="06:00", end="07:00", speed=30, feed="buses", both_directions=False
    )
    changed = porto_alegre.with_changes([new, tl.RemoveRoutes("R4", feed="buses")])
    table = tl.compare(porto_alegre.routes_frame(), changed.routes_frame()).set_index("route_id")
    assert table.loc["X1", "change"] == "gained" and table.loc["X1", "after"] == 3
    assert table.loc["R4", "change"] == "lost" and np.isnan(table.loc["R4", "after"])
    stops_of = tl.compare(porto_alegre.routes_frame(), changed.routes_frame(), column="n_stops").set_index("route_id")
    assert stops_of.loc["X1", "after"] == 2
    with pytest.raises(tl.InputError, match="results of one function"):
        tl.compare(
            porto_alegre.routes_frame(),
            tl.h3_cells(
                porto_alegre, tl.sample_points().iloc[[0]], travel_time=300, resolution=8, transportation="walking"
            ),
        )
    with pytest.raises(tl.InputError, match="did you mean 'n_stops'"):
        tl.compare(porto_alegre.routes_frame(), changed.routes_frame(), column="nstops")
