"""Timetables written in another form give the same answers."""

from __future__ import annotations

import datetime as dt
import functools
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

import traveltime_lab as tl
from tests.support import gtfs_rewritings as gtfs
from tests.support import questions, towns, worlds
from tests.support.combinations import combined
from tests.support.questions import assert_same


@dataclass(frozen=True)
class Form:
    """A form of a feed: what changes in it, and by how many days the question moves."""

    rewrite: Callable[[str], gtfs.Rewriting]
    days: int = 0
    is_folder: bool = False


def plain(rewrite: gtfs.Rewriting) -> Callable[[str], gtfs.Rewriting]:
    return lambda day: rewrite


def same(feed: gtfs.Feed, random: Random) -> gtfs.Feed:
    return feed


FORMS: dict[str, Form] = {
    "as it was": Form(plain(same)),
    "a folder": Form(plain(same), is_folder=True),
    "shuffled": Form(plain(gtfs.shuffled)),
    "columns shuffled": Form(plain(gtfs.columns_shuffled)),
    "renamed": Form(plain(gtfs.renamed)),
    "gaps in sequences": Form(plain(gtfs.spaced)),
    "a week later": Form(plain(gtfs.weeks_later), days=7),
    "32:00 of the day before": Form(plain(gtfs.day_before)),
    "days one by one": Form(gtfs.as_exceptions),
    "a service for each trip": Form(plain(gtfs.own_services)),
    "as headways": Form(plain(gtfs.as_headways)),
    "headways in two rows": Form(plain(gtfs.series_cut)),
    "headways written out": Form(plain(gtfs.in_and_out_of_headways)),
    "with unused rows": Form(plain(gtfs.with_unused_rows)),
    "with stations": Form(plain(gtfs.with_stations)),
    "with extended types of routes": Form(plain(gtfs.with_extended_types)),
}
QUESTIONS = [*questions.rides("", "")]


class City:
    """A city with a timetable, and the answers to all questions, each computed once."""

    def __init__(self, streets: Any, feed: Path, folder: Path, day: str, zone: str, n_places: int = 8) -> None:
        self.feed, self.folder, self.day, self.zone = gtfs.read_feed(feed), folder, day, zone
        self.streets = streets
        self.original = tl.build_network(streets, gtfs=feed, timezone=zone)
        self.places = questions.places_in(self.original, n_places, 1)
        self.answer = functools.cache(self._answer)
        self.network = functools.lru_cache(1)(self._network)

    def _network(self, form: str) -> tl.Network:
        how = FORMS[form]
        feed = how.rewrite(self.day)(self.feed, Random(5))
        path = gtfs.write_feed(feed, self.folder / "feed.zip")
        if how.is_folder:
            with zipfile.ZipFile(path) as archive:
                archive.extractall(self.folder / "folder")
            path = self.folder / "folder"
        return tl.build_network(self.streets, gtfs=path, timezone=self.zone)

    def _answer(self, question: str) -> Any:
        return self.ask(question, self.original, 0)

    def ask(self, question: str, network: tl.Network, days: int) -> Any:
        day = dt.date.fromisoformat(self.day) + dt.timedelta(days)
        return questions.rides(f"{day}T08:00:00", f"{day}T09:00:00")[question](network, self.places)

    def check(self, form: str, question: str) -> None:
        """Assert that a question has the same answer in a form of the timetable."""
        assert_same(self.ask(question, self.network(form), FORMS[form].days), self.answer(question))


@pytest.mark.slow
def test_the_questions_reach_something(town: City) -> None:
    """Otherwise all answers are equally empty."""
    for question in QUESTIONS:
        answer = town.answer(question)
        if "travel_time" in answer:
            assert answer["travel_time"].notna().mean() > 0.3, question
        if "legs" in answer:
            assert answer["legs"].str.contains("bus").mean() > 0.3


FORM_AND_QUESTION = [(form, question) for form in FORMS for question in QUESTIONS]
cases = pytest.mark.parametrize(
    ("form", "question"), FORM_AND_QUESTION, ids=[f"{form}-{asked}" for form, asked in FORM_AND_QUESTION]
)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> City:
    """Blocks of 300 m with a line along every second street, both ways, every five to eleven minutes."""
    side = 6
    nodes = {(i, j): (300 * i, 300 * j) for i in range(side) for j in range(side)}
    streets = [((i, j), (i + 1, j), towns.ON_FOOT) for i in range(side - 1) for j in range(side)]
    streets += [((i, j), (i, j + 1), towns.ON_FOOT) for i in range(side) for j in range(side - 1)]
    stops = {f"s{i}{j}": (300.0 * i, 300.0 * j) for i in range(side) for j in range(side)}
    lines = [[f"s{i}{j}" for i in range(side)] for j in (0, 2, 4)] + [[f"s{i}{j}" for j in range(side)] for i in (1, 3)]
    trips = []
    for number, line in enumerate([*lines, *(line[::-1] for line in lines)]):
        departures = range(28_000 + 17 * number, 36_000, 60 * (5 + number % 7))
        trips += [[(stop, begin + (45 + number) * k) for k, stop in enumerate(line)] for begin in departures]
    folder = tmp_path_factory.mktemp("town")
    feed = towns.timetable(folder, stops, trips)
    return City(worlds.tables(nodes, streets), feed, folder, "2026-03-03", "UTC", n_places=14)


@pytest.mark.parametrize(("form", "question"), combined(FORMS, QUESTIONS, mark=pytest.mark.thorough))
def test_town(town: City, form: str, question: str) -> None:
    town.check(form, question)


@pytest.fixture(scope="module")
def few_lines(porto_alegre: tl.Network, tmp_path_factory: pytest.TempPathFactory) -> City:
    """Porto Alegre with six of its bus routes."""
    folder = tmp_path_factory.mktemp("few_lines")
    feed = gtfs.read_feed(tl.sample_files()["buses"])
    feed["routes"] = feed["routes"][feed["routes"]["route_id"].isin(["T9", "T7", "T11", "510", "346", "T4"])]
    for name, key, of in (
        ("trips", "route_id", "routes"), ("stop_times", "trip_id", "trips"), ("shapes", "shape_id", "trips"),
        ("calendar", "service_id", "trips"), ("calendar_dates", "service_id", "trips"),
        ("stops", "stop_id", "stop_times"),
    ):  # fmt: skip
        feed[name] = feed[name][feed[name][key].isin(feed[of][key])]
    path = gtfs.write_feed(feed, folder / "buses.zip")
    return City(porto_alegre.tables, path, folder, "2019-05-13", "America/Sao_Paulo")


@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "question", ["by departure", "percentiles of a window", "areas by arrival", "routes by arrival"]
)
def test_small_city(few_lines: City, form: str, question: str) -> None:
    few_lines.check(form, question)


LARGE = {
    "porto_alegre": (["gtfs_bus_full.zip"], "2019-05-14", "America/Sao_Paulo"),
    "helsinki": (["gtfs.zip"], "2022-02-22", "Europe/Helsinki"),
    "milan": (["gtfs.zip"], "2014-10-28", "Europe/Rome"),
    "oaxaca": (["gtfs_frequencies.zip"], "2025-02-04", "America/Mexico_City"),
}


@pytest.fixture(scope="module", params=[*LARGE])
def large(request: pytest.FixtureRequest, shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> City:
    """Real cities: empty times, headways, services by exceptions only."""
    (feed,), day, zone = LARGE[request.param]
    folder = shared_data / request.param
    streets = folder / ("osm_center.pbf" if request.param == "helsinki" else "osm.pbf")
    return City(tl.build_network(streets).tables, folder / feed, tmp_path_factory.mktemp(request.param), day, zone)


@pytest.mark.cities
# A feed of one day, written as 32:00 of the day before, ends on that day.
@pytest.mark.filterwarnings("ignore::traveltime_lab.transit.timetable.ServiceWarning")
@cases
def test_large_cities(large: City, form: str, question: str) -> None:
    large.check(form, question)
