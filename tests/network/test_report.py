"""Tables of the report on a network, against slow twins."""

from __future__ import annotations

import copy
import datetime as dt
import doctest
import html.parser
import pickle
import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import traveltime_lab as tl
from tests.support.combinations import first_of
from tests.support.feeds import feed
from tests.support.towns import ON_FOOT, STOPS, TRIPS, blocks, timetable
from tests.support.worlds import tables, world
from traveltime_lab.network.report import Report
from traveltime_lab.network.report_text import label, without_nothing
from traveltime_lab.transit.timetable import Timetable

pytestmark = pytest.mark.quick

WEEKENDS = """
    service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
    work,1,1,1,1,1,0,0,20260105,20260116
    rest,0,0,0,0,0,1,1,20260105,20260117
"""


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    """A feed with exceptions, trips past midnight and repeated trips, and one of the same name without service."""
    times = ["trip_id,stop_sequence,stop_id,arrival_time,departure_time"]
    for trip, (one, two) in {
        "early": ("05:59:59", "06:10:00"),
        "late": ("25:30:00", "25:45:00"),
        "often": ("00:00:00", "00:10:00"),
        "rest": ("06:00:00", "06:10:00"),
    }.items():
        times += [f"{trip},1,a,{one},{one}", f"{trip},2,b,{two},{two}"]
    path = feed(
        tmp_path_factory.mktemp("one"),
        calendar=WEEKENDS,
        calendar_dates="service_id,date,exception_type\nwork,20260107,2\nrest,20260108,1",
        trips="route_id,service_id,trip_id\nR,work,early\nR,work,late\nR,work,often\nR,rest,rest",
        stop_times="\n".join(times),
        frequencies="""
            trip_id,start_time,end_time,headway_secs
            often,06:50:00,09:00:00,600
            often,09:00:00,10:00:01,1200
        """,
    )
    never = feed(
        tmp_path_factory.mktemp("two"),
        calendar_dates="service_id,date,exception_type\ndaily,20260107,2",
        calendar=WEEKENDS.partition("work")[0] + "daily,0,0,0,0,0,0,0,20260101,20261231",
    )
    corners = {0: (-500.0, 0.0), 1: (500.0, 0.0)}
    return tl.build_network(tables(corners, [(0, 1, ON_FOOT)]), gtfs=[path, never], timezone="UTC")


def slow_departures(timetable: Timetable, monday: dt.date) -> Counter[tuple[int, dt.date, int]]:
    """Return departures by feed, date and hour, one at a time."""
    found: Counter[tuple[int, dt.date, int]] = Counter()
    for days in range(7):
        date = monday + dt.timedelta(days=days)
        runs = timetable.services_on(date)
        for trip in range(timetable.n_trips):
            if not runs[timetable.trips["service_idx"].iloc[trip]]:
                continue
            feed = int(timetable.routes["feed_idx"].iloc[timetable.trips["route_idx"].iloc[trip]])
            rows = np.flatnonzero(timetable.frequency_trip == trip)
            moments = [] if rows.size else [int(timetable.departure[timetable.trip_indptr[trip]])]
            for row in rows:
                start, end = int(timetable.frequency_start[row]), int(timetable.frequency_end[row])
                moments += range(start, end, int(timetable.frequency_headway[row]))
            found.update((feed, date, moment // 3600) for moment in moments)
    return found


def same_as_slow(network: tl.Network, week: dt.date) -> None:
    assert network.timetable is not None
    table = network.report().service(week)
    labels = list(network.timetable.report())
    monday = week - dt.timedelta(days=week.weekday())
    some = table[table["departures"] > 0]
    found = {(labels.index(name), date, hour): n for name, date, hour, n in some.itertuples(index=False)}
    assert found == slow_departures(network.timetable, monday)
    # The sums of days are those of the timetable.
    for date, rows in table.groupby("date"):
        assert rows["departures"].sum() == network.timetable.trips_per_day(date)["departures"].sum()


@pytest.mark.pythons
def test_departures_by_hour(odd: tl.Network) -> None:
    same_as_slow(odd, dt.date(2026, 1, 8))
    same_as_slow(odd, dt.date(2026, 1, 12))
    table = odd.report().service("2026-01-05")
    assert table["feed"].unique().tolist() == ["feed", "feed (2)"]
    days = table[table["feed"] == "feed"].set_index(["date", "hour"])["departures"]
    monday = days.loc[dt.date(2026, 1, 5)]
    assert monday.index.tolist() == list(range(26))
    assert monday[monday > 0].to_dict() == {5: 1, 6: 1, 7: 6, 8: 6, 9: 3, 10: 1, 25: 1}
    assert days.loc[dt.date(2026, 1, 7)].sum() == 0
    assert days.loc[dt.date(2026, 1, 8)][6] == 2
    # By default, a week with most trips of each feed that has any.
    week = odd.report()["timetable"]["feed"]["week_of"]
    assert odd.report().service()["feed"].unique().tolist() == ["feed"]
    assert str(odd.report().service()["date"].min()) == week


@pytest.mark.thorough
def test_departures_of_samples(porto_alegre: tl.Network, tmp_path: Path) -> None:
    same_as_slow(porto_alegre, dt.date(2016, 1, 18))
    same_as_slow(blocks(tmp_path), dt.date(2026, 3, 4))


def test_the_last_days_of_the_calendar(tmp_path: Path) -> None:
    calendar = WEEKENDS.partition("work")[0] + "daily,1,1,1,1,1,1,1,00010101,99991231"
    path = timetable(tmp_path, STOPS, TRIPS, calendar=calendar)
    network = tl.build_network(tables({0: (0, 0), 1: (500, 0)}, [(0, 1, ON_FOOT)]), gtfs=path, timezone="UTC")
    report = network.report()
    assert report.service("9999-12-31")["date"].nunique() == 5
    assert report.service("9999-12-31")["departures"].sum() == 10
    assert report.service()["departures"].sum() == 14
    assert report.expiry("9999-12-30")["days_left"].tolist() == [1]


def test_expiry(odd: tl.Network) -> None:
    table = odd.report().expiry(dt.date(2026, 1, 17))
    assert table["feed"].tolist() == ["feed", "feed (2)"]
    assert table["first"].tolist() == [dt.date(2026, 1, 5), None]
    assert table["last"].tolist() == [dt.date(2026, 1, 17), None]
    assert table["days_left"].iloc[0] == 0 and table["days_left"].isna().iloc[1]
    assert odd.report().expiry("2026-01-27")["days_left"].iloc[0] == -10
    today = (dt.date(2026, 1, 17) - dt.datetime.now(dt.UTC).date()).days
    assert abs(odd.report().expiry()["days_left"].iloc[0] - today) <= 1


def test_stops_off_streets(tmp_path: Path) -> None:
    stops = {"a": (0.0, 0.0), "near": (500.0, 999.0), "<far>": (600.0, 1001.0), "lost": (-3000.0, -4000.0)}
    path = timetable(tmp_path, stops, [[(name, 28_800 + 60 * i) for i, name in enumerate(stops)]])
    network = tl.build_network(tables({0: (0, 0), 1: (1000, 0)}, [(0, 1, ON_FOOT)]), gtfs=path, timezone="UTC")
    far = network.report().stops_off_streets()
    assert far["stop_id"].tolist() == ["<far>", "lost"]
    np.testing.assert_allclose(far["metres"], [1001.0, 5000.0], atol=1.0)
    assert far.crs.to_epsg() == 4326 and far.geometry.notna().all()
    assert list(far.columns) == [*network.stops_frame().columns[:-1], "metres", "geometry"]
    # As the report counts them, after a change, too.
    changed = network.with_changes(tl.RemoveStops("lost"))
    for each in (network, changed):
        counted = sum(facts["stops_off_streets"]["number"] for facts in each.report()["timetable"].values())
        assert len(each.report().stops_off_streets()) == counted
    assert len(changed.report().stops_off_streets()) == 1


@pytest.mark.slow
def test_islands(porto_alegre: tl.Network, tmp_path: Path) -> None:
    found = porto_alegre.report().islands()
    edges = porto_alegre.edges_frame()
    assert found.crs == edges.crs and not found.attrs
    assert found.geometry.equals(edges.geometry.loc[found.index])
    assert found[["walking", "cycling", "driving"]].any(axis=1).all()
    for mode, facts in porto_alegre.report()["modes"].items():
        own = found[found[mode]]
        assert len(own) == facts["island_edges"]
        assert own["length_m"].sum() / 1000 == pytest.approx(facts["island_share"] * facts["street_km"])
    assert len(blocks(tmp_path).report().islands()) == 0


def test_without_timetable_or_network(odd: tl.Network) -> None:
    bare = tl.build_network(tables({0: (0, 0), 1: (500, 0)}, [(0, 1, ON_FOOT)]), timezone="UTC")
    assert bare.report().islands().columns.tolist()[3:] == ["walking", "cycling", "driving", "geometry"]
    for name in ("service", "expiry", "stops_off_streets"):
        with pytest.raises(tl.InputError, match="gtfs="):
            getattr(bare.report(), name)()
    report = odd.report()
    for again in (copy.copy(report), copy.deepcopy(report), pickle.loads(pickle.dumps(report))):
        assert again == report and str(again) == str(report) and isinstance(again, Report)
        with pytest.raises(tl.InputError, match=r"call network\.report\(\) again"):
            again.islands()


@pytest.mark.parametrize("value", ["", "14 May", "2026-02-30", 20260101, 1.5, b"2026-01-01", np.datetime64("NaT", "s")])
def test_dates_that_are_none(odd: tl.Network, value: Any) -> None:
    with pytest.raises(tl.InputError, match="week must be a date"):
        odd.report().service(value)
    with pytest.raises(tl.InputError, match="on must be a date"):
        odd.report().expiry(value)


class Reader(html.parser.HTMLParser):
    """The tags and the cells of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.cells: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags[tag] += 1

    def handle_data(self, data: str) -> None:
        self.cells.append(data)


@pytest.mark.slow
def test_html(odd: tl.Network, tmp_path: Path) -> None:
    report = odd.report()
    page = Reader(report._repr_html_())
    assert page.tags["caption"] == 2 and "script" not in page.tags
    # A line of the text, and every number of departures of the busiest week.
    assert report["fingerprint"] in page.cells
    numbers = [text for text in page.cells if text.isdigit()]
    table = report.service()
    assert Counter(table["departures"][table["departures"] > 1].astype(str)) <= Counter(numbers)
    path = report.to_html(tmp_path / "report.html")
    assert report._repr_html_() in path.read_text("utf-8")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    # Copies have the facts alone.
    assert Reader(copy.copy(report)._repr_html_()).tags["caption"] == 1
    with pytest.raises(tl.MissingFileError):
        report.to_html(tmp_path / "none" / "report.html")


def slow_overtaking(timetable: Timetable, date: dt.date) -> dict[str, int]:
    """Return the seconds by which trips overtake others of their pattern on a date, at most, by trip_id."""
    runs, found = timetable.services_on(date), {}
    trips = [
        i
        for i in range(timetable.n_trips)
        if runs[timetable.trips["service_idx"].iloc[i]] and i not in timetable.frequency_trip
    ]
    times = {i: slice(timetable.trip_indptr[i], timetable.trip_indptr[i + 1]) for i in trips}
    for one in trips:
        for other in trips:
            if timetable.trips["pattern_idx"].iloc[one] != timetable.trips["pattern_idx"].iloc[other]:
                continue
            if timetable.departure[times[one]][0] > timetable.departure[times[other]][0]:
                ahead = int((timetable.arrival[times[other]] - timetable.arrival[times[one]])[1:].max())
                if ahead > 0:
                    name = str(timetable.trips["trip_id"].iloc[one])
                    found[name] = max(found.get(name, 0), ahead)
    return found


@pytest.mark.thorough
def test_trips_that_overtake(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    for number in range(20):
        starts = random.integers(0, 8, 12) * 300
        trips = [
            [("a", 28_800 + int(s)), ("b", 29_000 + int(s + d)), ("c", 30_000 + int(s + d + e))]
            for s, d, e in zip(starts, random.integers(0, 900, 12), random.integers(0, 900, 12), strict=True)
        ]
        stops = {"a": (0.0, 0.0), "b": (400.0, 0.0), "c": (800.0, 0.0)}
        folder = tmp_path / str(number)
        folder.mkdir()
        path = timetable(folder, stops, trips)
        network = tl.build_network(tables({0: (0, 0), 1: (1000, 0)}, [(0, 1, ON_FOOT)]), gtfs=path, timezone="UTC")
        report = network.report()
        table = report.overtaking()
        assert network.timetable is not None
        expected = slow_overtaking(network.timetable, table["date"].iloc[0]) if len(table) else {}
        assert dict(zip(table["trip_id"], table["seconds"], strict=True)) == expected
        assert number or len(table), "the first of these worlds has such trips"


def test_rides_that_are_too_fast(tmp_path: Path) -> None:
    stops = {"a": (0.0, 0.0), "b": (4000.0, 0.0), "c": (4100.0, 0.0)}
    # 4 km in 60 s, and with the minute of rounding 120 km/h; in 30 s, 160 km/h. Each trip is a route.
    trips = [
        [("a", 28_800), ("b", 28_860), ("c", 28_860)],
        [("a", 30_000), ("b", 30_030), ("c", 30_040)],
        [("a", 31_000), ("b", 31_025), ("c", 31_040)],
    ]
    network = tl.build_network(
        tables({0: (0, 0), 1: (1000, 0)}, [(0, 1, ON_FOOT)]), gtfs=timetable(tmp_path, stops, trips), timezone="UTC"
    )
    ride, other = network.report().fast_rides().to_dict("records")
    assert (other["seconds"], other["trips"]) == (30, 1)
    assert (ride["from_stop_id"], ride["to_stop_id"], ride["mode"]) == ("a", "b", "bus")
    assert (ride["seconds"], ride["trips"]) == (25, 1)
    assert ride["km"] == pytest.approx(4.0, rel=5e-4)
    assert ride["kph"] == pytest.approx(4.0 / 25 * 3600, rel=5e-4)
    assert ride["geometry"].geom_type == "LineString"


def test_figure(odd: tl.Network) -> None:
    pytest.importorskip("matplotlib.pyplot")
    report = odd.report()
    figure = report.plot(on="2026-01-17")
    strip, map_ = (part.axes[0] for part in figure.subfigs)
    table = report.service()
    expected = table.pivot_table(index="date", columns="hour", values="departures", aggfunc="sum")
    drawn = np.asarray(strip.images[0].get_array())
    assert np.array_equal(drawn, expected.to_numpy()[:, : drawn.shape[1]])
    assert not expected.to_numpy()[:, drawn.shape[1] :].any()
    assert strip.get_title(loc="left").endswith("service from 2026-01-05 to 2026-01-17, 0 days left")
    words = [text.get_text() for text in map_.get_legend().get_texts()]
    assert f"stops off streets: {len(report.stops_off_streets())}" in words
    islands = report.islands()
    assert any(text.startswith(f"islands walking: {islands['walking'].sum()} edges") for text in words)
    with pytest.raises(tl.InputError, match="week must be a date"):
        report.plot(week="soon")


def test_figure_without_a_timetable() -> None:
    pytest.importorskip("matplotlib.pyplot")
    report = tl.build_network(tables({0: (0, 0), 1: (1000, 0)}, [(0, 1, ON_FOOT)]), timezone="UTC").report()
    figure = report.plot()
    assert not any(ax.images for ax in figure.axes)
    with pytest.raises(tl.InputError, match="needs a timetable"):
        report.plot(on="2026-01-17")


def test_names_in_html_are_escaped(tmp_path: Path) -> None:
    bad = "<script>alert(1)</script>"
    stops = {"a": (0.0, 0.0), bad: (600.0, 1001.0)}
    path = timetable(tmp_path, stops, [[(name, 28_800 + 60 * i) for i, name in enumerate(stops)]])
    network = tl.build_network(tables({0: (0, 0), 1: (1000, 0)}, [(0, 1, ON_FOOT)]), gtfs=path, timezone="UTC")
    report = network.report()
    report[bad] = {bad: bad}
    page = Reader(report._repr_html_())
    assert "script" not in page.tags and page.cells.count(bad) == 3
    assert any(cell.startswith(f"{bad} (1,001 m)") for cell in page.cells)


@pytest.mark.thorough
def test_examples(porto_alegre: tl.Network, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tl, "sample_network", lambda: porto_alegre)
    tests = [test for test in doctest.DocTestFinder().find(Report, globs={"tl": tl}) if test.examples]
    assert len(tests) == 10
    for test in tests:
        assert not doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed


# Speeds of streets


def slow_doubtful_speeds(network: tl.Network) -> dict[int, tuple[float, str]]:
    """Say of each edge, one by one, what the docstring says."""
    edges = network.edges_frame()
    kph = edges[["driving_kph_forward", "driving_kph_backward"]].max(axis=1).where(~edges["is_ferry"], 0.0)
    found = {}
    for edge in edges.index[kph > 0]:
        row, own = edges.loc[edge], kph[edge]
        alike = kph[(edges["highway"] == row["highway"]) & (kph > 0)]
        sides = [
            kph[
                ((edges["from_node"] == node) | (edges["to_node"] == node))
                & (edges["name"] == row["name"]) & (edges["highway"] == row["highway"])
                & (kph > 0) & (edges.index != edge)
            ]
            for node in (row["from_node"], row["to_node"])
        ]  # fmt: skip
        is_street = row["name"] != "" and all(len(side) for side in sides)
        if own > 145:
            found[edge] = (own, "too_fast")
        elif is_street and (all(min(side) >= 2 * own for side in sides) or all(own >= 2 * max(side) for side in sides)):
            found[edge] = (own, "differs_from_neighbours")
        elif len(alike) >= 30 and not alike.median() / 3 <= own <= alike.median() * 3:
            found[edge] = (own, "differs_from_class")
    return found


@pytest.mark.parametrize("seed", first_of(2, range(4), mark=pytest.mark.thorough))
def test_doubtful_speeds_are_those_of_a_slow_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = {(i, j): (100.0 * i, 100.0 * j) for i in range(8) for j in range(5)}
    edges = [
        (
            (i, j), (i + 1, j),
            {"name": f"Street {j}" if j else "", "driving_kph": float(rng.choice([20, 50, 50, 50, 120, 160]))},
        )
        for j in range(5) for i in range(7)
    ]  # fmt: skip
    edges += [((i, j), (i, j + 1), {"driving_kph": 30.0}) for j in range(4) for i in range(8)]
    network = world(nodes, edges)
    table = network.report().doubtful_speeds()
    expected = slow_doubtful_speeds(network)
    assert {edge: (row["kph"], row["reason"]) for edge, row in table.iterrows()} == expected
    assert set(table["reason"]) >= {"too_fast", "differs_from_neighbours"}
    assert table.crs == "EPSG:4326" and (table["usual_kph"].notna() | (table["reason"] == "too_fast")).all()


def test_the_page_lists_what_may_be_wrong(tmp_path: Path) -> None:
    nodes = {"a": (0.0, 0.0), "b": (100.0, 0.0), "c": (200.0, 0.0), "d": (300.0, 0.0)}
    streets = [("a", "b", 50.0), ("b", "c", 120.0), ("c", "d", 50.0)]
    network = world(nodes, [(a, b, {"name": "<b>High</b> Street", "driving_kph": kph}) for a, b, kph in streets])
    page = network.report().to_html(tmp_path / "report.html").read_text("utf-8")
    assert "Streets whose speeds may be wrong" in page and "differs_from_neighbours" in page
    assert "&lt;b&gt;High&lt;/b&gt; Street" in page and "<b>High" not in page
    assert "Trips that overtake" not in page


def test_names_from_the_data_keep_their_underscores(tmp_path: Path) -> None:
    """Keys of the report are words; files, feeds, tags and time zones are called what they are called."""
    names = {
        "files": "city_of_x.osm.pbf", "timetable": "gtfs_of_x", "edges_by_highway": "primary_link",
        "km_by_timezone": "America/Argentina/La_Rioja", "changes": "1. CloseStreets 'a_b'",
        "restriction_conditions_ignored": "no_left_turn @ (a_b)",
    }  # fmt: skip
    facts = {section: {name: 1} for section, name in names.items()}
    facts["timetable"] = {"gtfs_of_x": {"dropped": {"stops.txt: stop_lat is not a number": 1}, "week_of": 1}}
    report = Report({**facts, "nodes_in_file": 3})
    for text in (str(report), unescape(report._repr_html_())):
        assert all(name in text for name in [*names.values(), "stops.txt: stop_lat is not a number"])
        assert "nodes in file" in text and "week of" in text and "edges by highway" in text


@pytest.mark.slow
def test_sections_of_a_report_with_names_from_the_data(odd: tl.Network, porto_alegre: tl.Network) -> None:
    """A key that is no word of ours stands in a section that is known to have names from the data."""

    def keys(facts: dict[str, Any], section: str) -> Iterator[tuple[str, str]]:
        for key, value in facts.items():
            yield key, section
            if isinstance(value, dict):
                yield from keys(value, key)

    def shown_keys(facts: dict[str, Any], section: str) -> Iterator[tuple[str, str]]:
        for key, value in without_nothing(facts, section):
            yield key, section
            if isinstance(value, dict):
                yield from shown_keys(value, key)

    for network in (odd, porto_alegre, tl.sample_network("helsinki")):
        for key, section in keys(network.report(), ""):
            is_word = re.fullmatch("[a-z]+(_[a-z]+)*", key) is not None
            assert is_word or label(key, section) == key, (section, key)
        shown = str(network.report())
        for key, section in shown_keys(network.report(), ""):
            assert label(key, section) in shown
