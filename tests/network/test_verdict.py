"""Sentences of the report: each follows from a world that shows it, and from nothing less than its threshold."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import traveltime_lab as tl
from tests.support.feeds import feed
from tests.support.osm_files import osm_xml
from tests.support.towns import ON_FOOT, timetable
from tests.support.worlds import tables, world
from traveltime_lab.network.report_text import without_nothing
from traveltime_lab.network.verdict import FINDINGS, verdict
from traveltime_lab.transit.calendar import Services

pytestmark = pytest.mark.quick

LINE = tables({0: (0, 0), 1: (1000, 0)}, [(0, 1, ON_FOOT)])
EVERY_DAY = """
    service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
    daily,1,1,1,1,1,1,1,20260101,20261231
"""
NOTHING = "None of the checks of this report found a fault."


def with_bus(folder: Path, stops: dict[str, tuple[float, float]], **files: str) -> tl.Network:
    """Return a street of a kilometre with one bus."""
    path = timetable(folder, stops, [[(name, 28_800 + 60 * i) for i, name in enumerate(stops)]], **files)
    return tl.build_network(LINE, gtfs=path, timezone="UTC")


ON_THE_STREET = {"a": (0.0, 0.0), "b": (900.0, 0.0)}


def test_a_network_without_faults(tmp_path: Path) -> None:
    network = with_bus(tmp_path, ON_THE_STREET, calendar=EVERY_DAY)
    assert network.report().verdict("2026-06-01") == [
        "The network has streets of 1 km for walking, 1 km for cycling and 1 km for driving.",
        "1 line serves 2 stops, in 1 feed.",
        NOTHING,
    ]
    assert world({0: (0, 0), 1: (1000, 0)}, [(0, 1)]).report().verdict()[1:] == [
        "It has no timetable: public transport needs gtfs=, the path of a GTFS feed.",
        NOTHING,
    ]


@pytest.mark.parametrize(
    ("day", "sentence"),
    [
        (
            "2027-01-01",
            "The timetable ended 1 day ago, on 2026-12-31: .* a departure_time from 2026-01-01 until then, .*",
        ),
        ("2032-07-26", "The timetable ended 2,034 days ago, .*"),
        ("2025-12-31", "The timetable of feed begins on 2026-01-01 only."),
        ("2026-12-17", "The timetable of feed ends on 2026-12-31: look for a newer feed."),
        ("2026-12-16", NOTHING),
    ],
)
def test_dates(tmp_path: Path, day: str, sentence: str) -> None:
    network = with_bus(tmp_path, ON_THE_STREET, calendar=EVERY_DAY)
    assert re.fullmatch(sentence, network.report().verdict(day)[2])


def test_stops_off_streets(tmp_path: Path) -> None:
    far = {f"far {i}": (50_000.0 + i, 0.0) for i in range(3)}
    network = with_bus(tmp_path, {**ON_THE_STREET, **far}, calendar=EVERY_DAY)
    assert (
        network.report()
        .verdict("2026-06-01")[2]
        .startswith("3 of 5 stops are not on these streets: the extract is smaller than the timetable")
    )
    many = {f"near {i}": (i * 10.0, 0.0) for i in range(90)}
    few = with_bus(tmp_path, {**many, "far": (50_000.0, 0.0)}, calendar=EVERY_DAY)
    assert few.report().verdict("2026-06-01")[2] == (
        "1 of 91 stops are not on these streets: stops_off_streets() of this report lists them."
    )


def test_lines_by_headway(tmp_path: Path) -> None:
    rows = "trip_id,start_time,end_time,headway_secs,exact_times\nt,06:00:00,20:00:00,600,{}"
    for exact, lines in ((0, 1), (1, 0)):
        stops = "stop_id,stop_name,stop_lat,stop_lon\na,A,0,0\nb,B,0,0.001\nc,C,0,0.002"
        path = feed(tmp_path, f"{exact}.zip", frequencies=rows.format(exact), stops=stops, calendar=EVERY_DAY)
        network = tl.build_network(LINE, gtfs=path, timezone="UTC")
        report = network.report()
        assert report["timetable"][str(exact)]["lines_by_headway"] == lines
        table = report.headways()
        assert table["route_id"].tolist() == ["R"] * lines
        columns = ["line", "mode", "least_headway", "most_headway", "trips_with_times"]
        assert table[columns].to_numpy().tolist() == [["1", "bus", 600, 600, 0]] * lines
        assert any("1 of 1 line runs by headway" in each for each in report.verdict("2026-06-01")) == (not exact)


def test_days_of_the_week(tmp_path: Path) -> None:
    calendar = EVERY_DAY.replace("1,1,1,1,1,1,1", "1,1,1,1,1,0,0")
    network = with_bus(tmp_path, ON_THE_STREET, calendar=calendar)
    assert network.report().verdict("2026-06-01")[2] == "No trip runs on Saturday and Sunday."
    assert "saturday: 0" in str(network.report())


def test_islands_and_closed_streets() -> None:
    on_foot = {"walking_kph": 5.0, "cycling_kph": 0.0, "driving_kph": 0.0}
    network = world({0: (0, 0), 1: (1000, 0)}, [(0, 1, on_foot)])
    assert network.report().verdict()[2].startswith("No street is open to cycling or driving")


def _file(
    folder: Path, tags: str = "highway=residential surface=asphalt", head: str = "", n: int = 2, **more: Any
) -> tl.Network:
    nodes = {i: (0.001 * i, 0.0) for i in range(1, n + 1)}
    ways = [(1000 + i, f"{i} {i + 1}", tags) for i in range(1, n)]
    (folder / "town.osm").write_bytes(osm_xml(nodes, [*ways, *more.pop("ways", [])], **more))
    return tl.build_network(folder / "town.osm", timezone="UTC")


def test_surfaces(tmp_path: Path) -> None:
    found = _file(tmp_path, "highway=residential").report()
    assert found["surface_unknown_share"] == 1.0
    assert found.verdict()[2].startswith("The surface of 100 % of the streets is not known")
    assert _file(tmp_path).report().verdict()[2] == NOTHING


def test_ways_without_their_nodes(tmp_path: Path) -> None:
    found = _file(tmp_path, ways=[(5, "2 98 99", "highway=residential surface=asphalt")]).report()
    assert found.verdict()[2].startswith("1 of 2 ways have nodes outside of the file: ")


def test_turn_restrictions(tmp_path: Path) -> None:
    found = _file(tmp_path, n=1002).report()
    assert found["edges"] == 1001
    assert found.verdict()[2] == "The extract has no turn restrictions: cars turn wherever streets meet."
    lost = [(7, "w1001@from w9@to n2@via", "type=restriction restriction=no_left_turn")]
    found = _file(tmp_path, relations=lost).report()
    assert found.verdict()[2].startswith("1 of 1 turn restrictions could not be used")


def facts(**changes: Any) -> dict[str, Any]:
    """Return the facts of a whole report."""
    mode = {"edges": 10, "street_km": 10.0, "island_edges": 0, "island_share": 0.0}
    every = {"timezone": "UTC", "modes": {name: dict(mode) for name in ("walking", "cycling", "driving")}, "edges": 10}
    return every | changes


def walking(**step_free: Any) -> dict[str, Any]:
    """Return the facts of modes with those of step-free walking."""
    modes = facts()["modes"]
    every = modes | {"walking": modes["walking"] | {"step_free": step_free}}
    return {"modes": every, "surface_unknown_share": 0.0}


def bus(**changes: Any) -> dict[str, Any]:
    """Return the facts of a feed."""
    own = {
        "first_date": "2026-01-01",
        "last_date": "2026-12-31",
        "routes": 2,
        "stop_times": 1000,
    }
    return {"timetable": {"bus": {**own, "stops_off_streets": {"number": 0, "of": 100}, **changes}}}


@pytest.mark.parametrize(
    ("below", "above", "words"),
    [
        (
            bus(stops_off_streets={"number": 0, "of": 100}),
            bus(stops_off_streets={"number": 1, "of": 100}),
            "1 of 100 stops",
        ),
        (bus(dropped={"a: b": "9 rows"}), bus(dropped={"a: b": "10 rows, lines 2"}), "10 rows of the timetable"),
        (bus(), bus(first_date="never", last_date="never"), "No trip of bus ever runs"),
        (bus(times_filled_in={"evenly": 499}), bus(times_filled_in={"evenly": 500}), "50 % of the stop times"),
        ({"ways_read": 100}, {"ways_read": 100, "ways_cut_at_missing_nodes": 1}, "1 of 100 ways"),
        ({"restrictions_read": 0, "edges": 999}, {"restrictions_read": 0, "edges": 1000}, "no turn restrictions"),
        (
            {"restrictions_read": 10, "restrictions_dropped": {"other_vehicles": 9, "ambiguous_members": 1}},
            {"restrictions_read": 10, "restrictions_dropped": {"ambiguous_members": 2}},
            "2 of 10 turn restrictions",
        ),
        ({"surface_unknown_share": 0.49}, {"surface_unknown_share": 0.5}, "surface of 50 %"),
        ({"data_timestamp": "2023-06-03T00:00:00Z"}, {"data_timestamp": "2023-06-01T00:00:00Z"}, "3 years ago"),
        (
            {"water_areas_dropped_incomplete": 1, "water_areas": 10},
            {"water_areas_dropped_incomplete": 1, "water_areas": 9},
            "1 of 10 lakes",
        ),
        (
            {},
            {"modes": facts()["modes"] | {"driving": {"edges": 9, "street_km": 9.0, "island_share": 0.05}}},
            "5 % of the streets for driving",
        ),
        (walking(unknown_share=0.49), walking(unknown_share=0.5), "wheelchairs pass is not known of 50 %"),
    ],
)
def test_thresholds(below: dict[str, Any], above: dict[str, Any], words: str) -> None:
    day = dt.date(2026, 6, 2)
    assert verdict(facts(**below), day)[2:] == [NOTHING]
    assert words in verdict(facts(**above), day)[2]


def test_several_feeds() -> None:
    feeds = {name: bus(last_date=last)["timetable"]["bus"] for name, last in (("a", "2026-05-01"), ("b", "2026-12-31"))}
    found = verdict(facts(timetable=feeds), dt.date(2026, 6, 1))
    assert found[1] == "4 lines serve 200 stops, in 2 feeds."
    assert found[2] == (
        "The timetable of a ended on 2026-05-01: searches with all feeds need a departure_time from 2026-01-01 to "
        "2026-05-01, or newer feeds."
    )


def feeds(**changes: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a report with several feeds."""
    return facts(timetable={name: bus(**each)["timetable"]["bus"] for name, each in changes.items()})


@pytest.mark.parametrize(
    ("every", "sentence"),
    [
        (
            feeds(a={"dropped": {"why": "900 rows"}}, b={"dropped": {"why": "20 rows", "else": "30 rows"}}),
            "950 rows of the timetable were dropped, 920 of them for 'why'.",
        ),
        (
            feeds(a={"last_date": "2026-01-31"}, b={"last_date": "2026-05-20"}, c={}),
            (
                "The timetable of a ended on 2026-01-31 and that of b on 2026-05-20: searches with all feeds need a "
                "departure_time from 2026-01-01 to 2026-01-31, or newer feeds."
            ),
        ),
        (
            feeds(a={"last_date": "2026-01-31"}, b={"first_date": "2026-03-01"}),
            "The timetable of a ended on 2026-01-31: on no date do all feeds run; look for newer ones.",
        ),
        (
            feeds(**{name: {"last_date": f"2026-05-0{i}"} for i, name in enumerate("abcdef", 1)}),
            (
                "The timetable of a ended on 2026-05-01, that of b on 2026-05-02, that of c on 2026-05-03 and 3 "
                "others: searches with all feeds need a departure_time from 2026-01-01 to 2026-05-01, or newer feeds."
            ),
        ),
        (
            feeds(a={"first_date": "never", "last_date": "never"}, b={"first_date": "never", "last_date": "never"}),
            "No trip of a and b ever runs: look at calendar.txt and calendar_dates.txt there.",
        ),
        (
            feeds(a={"first_date": "2026-07-01"}, b={"first_date": "2026-08-01"}),
            "The timetable of a begins on 2026-07-01 and that of b on 2026-08-01 only.",
        ),
        (
            feeds(a={"last_date": "2026-06-03"}, b={"last_date": "2026-06-01"}, c={}),
            "The timetable of a ends on 2026-06-03 and that of b on 2026-06-01: look for newer feeds.",
        ),
        (
            feeds(a={"stops_off_streets": {"number": 2, "of": 10}}, b={}),
            "2 of 110 stops are not on these streets: stops_off_streets() of this report lists them.",
        ),
        (
            feeds(a={"lines_by_headway": 2, "routes": 9, "lines_with_trips": 3}, b={}),
            (
                "2 of 5 lines run by headway, without fixed times: by default they depart at the beginning of each "
                "headway; headways='average' or 'random' of Transportation assume no times."
            ),
        ),
        (
            feeds(a={"times_filled_in": {"evenly": 900}}, b={"times_filled_in": {"by_straight_lines": 300}}),
            "60 % of the stop times are estimates, filled in between the times of the feed.",
        ),
    ],
)
def test_sentences_about_several_feeds(every: dict[str, Any], sentence: str) -> None:
    assert verdict(every, dt.date(2026, 6, 1))[2] == sentence


def test_one_feed_that_ended_does_not_hide_another_that_ends_soon() -> None:
    found = verdict(feeds(a={"last_date": "2026-05-31"}, b={"last_date": "2026-06-03"}), dt.date(2026, 6, 1))
    assert [sentence.partition(":")[0] for sentence in found[2:]] == [
        "The timetable of a ended on 2026-05-31",
        "The timetable of b ends on 2026-06-03",
    ]


CHANGES_IN_JULY = """
    service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
    daily,1,1,1,1,1,0,0,20260101,20260630
    weekend,0,0,0,0,0,1,1,20260701,20261231
"""


def test_days_of_the_week_count_on_the_dates_to_come(tmp_path: Path) -> None:
    trips = "route_id,service_id,trip_id\nR0,daily,t0\nR0,weekend,t1"
    times = "trip_id,stop_sequence,stop_id,arrival_time,departure_time\n" + "\n".join(
        f"t{trip},{k},{stop},8:0{k}:00,8:0{k}:00" for trip in (0, 1) for k, stop in enumerate("ab")
    )
    network = with_bus(tmp_path, ON_THE_STREET, calendar=CHANGES_IN_JULY, trips=trips, stop_times=times)
    report = network.report()
    assert report["timetable"]["feed"]["last_date_by_weekday"]["sunday"] == "2026-12-27"
    assert report["timetable"]["feed"]["last_date_by_weekday"]["monday"] == "2026-06-29"
    assert report.verdict("2026-06-01")[2] == NOTHING  # daily until June, on weekends from July
    assert report.verdict("2026-07-01")[2] == "No trip runs on Monday, Tuesday, Wednesday, Thursday and Friday."
    assert len(report.verdict("2027-07-01")) == 3  # ended, and all dates have every day of the week
    two = tl.build_network(LINE, gtfs=[tmp_path / "feed.zip", _on_mondays(tmp_path)], timezone="UTC").report()
    assert two.verdict("2026-07-01")[2] == "No trip runs on Tuesday, Wednesday, Thursday and Friday."


def _on_mondays(folder: Path) -> Path:
    """Write a feed that runs on Mondays but the last, and on the Tuesday after it."""
    days = "service_id,date,exception_type\ndaily,20261228,2"
    calendar = EVERY_DAY.replace("1,1,1,1,1,1,1", "1,0,0,0,0,0,0")
    stops = {name: (x, y) for name, (x, y) in ON_THE_STREET.items()}
    trips = [[(name, 28_800 + 60 * i) for i, name in enumerate(stops)]]
    (folder / "mondays").mkdir()
    return timetable(folder / "mondays", stops, trips, calendar=calendar, calendar_dates=days)


def test_last_dates_by_weekday() -> None:
    """They are those of a walk over all dates."""
    dice = np.random.default_rng(4)
    first = dt.date(2026, 1, 1).toordinal()
    for _ in range(60):
        n = int(dice.integers(1, 4))
        start = dice.integers(first, first + 30, n).astype(np.int32)
        pairs = {
            (int(d), int(s)) for d, s in zip(dice.integers(first, first + 60, 25), dice.integers(0, n, 25), strict=True)
        }
        date, service = np.array(sorted(pairs), np.int32).T
        services = Services(
            dice.integers(0, 128, n).astype(np.uint8), start, start + dice.integers(-5, 30, n).astype(np.int32),
            date, service, dice.random(date.size) < 0.5,
        )  # fmt: skip
        is_used = dice.random(n) < 0.7
        expected = np.zeros(7, np.int64)
        for day in range(first - 10, first + 80):
            if (services.on(day) & is_used).any():
                expected[(day - 1) % 7] = day
        assert services.last_by_weekday(is_used).tolist() == expected.tolist()


def test_lines_without_trips_do_not_count(tmp_path: Path) -> None:
    routes = "route_id,route_short_name,route_type\nR0,0,3\nR9,9,3"
    network = with_bus(tmp_path, ON_THE_STREET, calendar=EVERY_DAY, routes=routes)
    assert network.report().verdict("2026-06-01")[1] == "1 line serves 2 stops, in 1 feed."


def test_six_sentences_at_most_the_most_important_first() -> None:
    worst = bus(last_date="2026-01-02", stops_off_streets={"number": 90, "of": 100}, lines_by_headway=2)
    every = facts(**worst, surface_unknown_share=1.0, data_timestamp="2015-01-01", restrictions_read=0)
    found = verdict(every | {"edges": 5000}, dt.date(2026, 6, 1))
    assert len(found) == 6
    for sentence, words in zip(found[2:], ("ended 150 days ago", "90 of 100", "headway", "2015-01-01"), strict=True):
        assert words in sentence
    assert len(FINDINGS) == len(set(FINDINGS)) == 20
    assert verdict({}) == []


def test_lines_say_something(porto_alegre: tl.Network) -> None:
    """The text and the page begin with the verdict, and have no line of zeros."""
    report = porto_alegre.report()
    sentences = report.verdict()
    assert 3 <= len(sentences) <= 6
    assert str(report).startswith("\n".join(sentences) + "\n\nsource: ")
    assert report._repr_html_().startswith("<ul><li>The network has")
    zeros = re.findall(r"^ *[^:]*: (?:0|None|)$", str(report), re.MULTILINE)
    assert {line.strip() for line in zeros} == {"saturday: 0", "sunday: 0"}
    assert list(without_nothing({"a": 0, "b": None, "c": {}, "d": {"e": 0.0}, "f": False, "g": "", "h": 1})) == [
        ("f", False),
        ("h", 1),
    ]
