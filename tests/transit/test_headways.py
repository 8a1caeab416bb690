"""Services by headway, exact, average and random, against plain Python."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest

import traveltime_lab as tl
from tests.support.combinations import first_of
from tests.support.feeds import feed
from tests.support.oracles_headways import Line, World, random_world
from tests.support.towns import ON_FOOT, clock, timetable
from tests.support.worlds import at, tables
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.readers.gtfs.feed import read_feed
from traveltime_lab.settings import settings
from traveltime_lab.transit.average_headways import AverageSearch, headway_table
from traveltime_lab.transit.headway_draws import Draw, first_departures
from traveltime_lab.transit.legs import leg_forest
from traveltime_lab.transit.raptor import TransitSearch
from traveltime_lab.transit.search_options import TransitOptions
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.trip_instances import trip_table

DAY = dt.date(2026, 3, 3)
MIDNIGHT = int(dt.datetime(2026, 3, 3, tzinfo=dt.UTC).timestamp())
#: The interval of the tables, in seconds after midnight.
FIRST, LAST = 6 * 3600, 14 * 3600
SEEDS = range(25)


def read(folder: Path, world: World) -> Timetable:
    return read_feed(feed(folder, timezone="UTC", **world.files()))


def labels(times: np.ndarray, moment: float, sign: int = 1) -> dict[int, float]:
    """Return the moments, in seconds after midnight, of milliseconds of travel."""
    return {stop: moment + sign * ms / 1000 for stop, ms in enumerate(times.tolist()) if ms < NEVER}


class TestDraws:
    def test_each_line_departs_once_in_each_part_of_its_headway(self, tmp_path: Path) -> None:
        world = World(2, tuple(Line(((0, 0), (1, 60)), 28_800, 36_000, h) for h in (600, 601, 900, 7200, 1, 7)), {})
        timetable, rows = read(tmp_path, world), np.arange(6)
        draws = [first_departures(timetable, rows, DAY.toordinal(), Draw(3, k, 60)) for k in range(60)]
        for row, line in enumerate(world.lines):
            values = np.sort([each[row] for each in draws])
            edges = np.arange(60) * line.headway / 60
            assert (values >= np.floor(edges)).all() and (values < edges + line.headway / 60).all()
        both = np.array(draws)[:, [0, 2]] / [600, 900]
        assert abs(np.corrcoef(both.T)[0, 1]) < 0.35

    def test_draws_differ_by_seed_date_and_number_only(self, tmp_path: Path) -> None:
        world = random_world(1)
        timetable = read(tmp_path, world)
        rows = np.arange(timetable.frequency_trip.size)
        one = first_departures(timetable, rows, 739_000, Draw(0, 1, 20))
        assert one.tolist() == first_departures(timetable, rows, 739_000, Draw(0, 1, 20)).tolist()
        assert one[::-1].tolist() == first_departures(timetable, rows[::-1], 739_000, Draw(0, 1, 20)).tolist()
        for other in ((739_001, Draw(0, 1, 20)), (739_000, Draw(1, 1, 20)), (739_000, Draw(0, 2, 20))):
            assert one.tolist() != first_departures(timetable, rows, *other).tolist()

    @pytest.mark.parametrize("seed", range(5))
    def test_the_trips_of_a_draw(self, tmp_path: Path, seed: int) -> None:
        world = random_world(seed)
        timetable = read(tmp_path, world)
        rows = np.arange(timetable.frequency_trip.size)
        draw = Draw(seed, 2, 5)
        firsts = firsts_of(world, timetable, draw)
        table = trip_table(timetable, MIDNIGHT + FIRST, MIDNIGHT + LAST, headways=draw)
        ids = timetable.trips["trip_id"].to_numpy()
        found = sorted(
            (ids[table.instance_trip[run]], int(table.calls_at(run)[1][0]) + FIRST)
            for run in range(table.instance_trip.size)
        )
        expected = [(f"t{i}", when) for i, line in enumerate(world.lines) for when in line.departures(firsts[i])]
        assert found == sorted(expected)
        assert rows.size == sum(line.headway > 0 for line in world.lines)


def firsts_of(world: World, timetable: Timetable, draw: Draw) -> list[int]:
    """Return the first departures of the lines of a world in a draw."""
    rows = np.arange(timetable.frequency_trip.size)
    later = dict(
        zip(timetable.frequency_trip.tolist(), first_departures(timetable, rows, DAY.toordinal(), draw), strict=True)
    )
    ids = timetable.trips["trip_id"].tolist()
    return [int(later.get(ids.index(f"t{i}"), 0)) for i in range(len(world.lines))]


class TestAverage:
    @pytest.mark.parametrize("most_rides", first_of(1, [None, 1, 2], mark=pytest.mark.thorough, few=pytest.mark.slow))
    def test_equals_trying_all_boardings(self, tmp_path: Path, most_rides: int | None) -> None:
        n_reached = 0
        for seed in SEEDS:
            world, random = random_world(seed), Random(seed)
            search = average_search(read(tmp_path, world))
            options = TransitOptions(4 * 3_600_000, None if most_rides is None else most_rides - 1, 45_000 * (seed % 2))
            access = {random.randrange(7): random.randint(0, 500) for _ in range(2)}
            links = np.array(list(access), np.int32), np.array(list(access.values()), np.int32) * np.int32(1000)
            moments = [random.randint(7 * 3600, 10 * 3600) for _ in range(4)]
            for is_arrival in (False, True):
                ms = (np.array(moments) - FIRST) * 1000
                found = search.stop_times_by_moment(links, ms, options, is_arrival=is_arrival)
                sign = -1 if is_arrival else 1
                for row, moment in zip(found, moments, strict=True):
                    seeds = {stop: moment + sign * s for stop, s in access.items()}
                    answer = world.latest if is_arrival else world.earliest
                    expected = answer(seeds, most_rides or 9, 45 * (seed % 2))
                    within = {stop: time for stop, time in expected.items() if abs(time - moment) <= 4 * 3600}
                    assert labels(row, moment, sign) == within
                    n_reached += len(within)
        assert n_reached > 300

    @pytest.mark.thorough
    def test_departures_and_arrivals_are_dual(self, tmp_path: Path) -> None:
        options, n_pairs = TransitOptions(4 * 3_600_000), 0
        for seed in SEEDS:
            search = average_search(read(tmp_path, random_world(seed)))
            for start, end in itertools.permutations(range(7), 2):
                moment = (Random(seed + start).randint(7 * 3600, 10 * 3600) - FIRST) * 1000
                here, there = (np.array([stop], np.int32) for stop in (start, end))
                none = np.zeros(1, np.int32)
                ms = int(search.stop_times_by_moment((here, none), [moment], options)[0, end])
                if ms == NEVER:
                    continue
                back = int(
                    search.stop_times_by_moment((there, none), [moment + ms], options, is_arrival=True)[0, start]
                )
                assert back <= ms
                again = int(search.stop_times_by_moment((here, none), [moment + ms - back], options)[0, end])
                assert again == back
                n_pairs += 1
        assert n_pairs > 180

    @pytest.mark.parametrize("is_arrival", first_of(1, [False, True], mark=pytest.mark.thorough, few=pytest.mark.slow))
    def test_legs_lead_there_in_time(self, tmp_path: Path, is_arrival: bool) -> None:
        options, n_legs = TransitOptions(4 * 3_600_000), 0
        for seed in SEEDS:
            world, random = random_world(seed), Random(seed)
            timetable = read(tmp_path, world)
            search, ids = average_search(timetable), timetable.trips["trip_id"].tolist()
            stop, moment = random.randrange(7), random.randint(8 * 3600, 10 * 3600)
            access = np.array([stop], np.int32), np.zeros(1, np.int32)
            at_ms = (moment - FIRST) * 1000
            times = search.stop_times_by_moment(access, [at_ms], options, is_arrival=is_arrival)[0]
            found, waits = search.rounds(access, at_ms, options, is_arrival=is_arrival)
            assert found.times_at(np.arange(7)).tolist() == times.tolist()
            journeys = leg_forest(found, np.arange(7, dtype=np.int32)).itineraries()
            for end in range(7):
                rides = range(journeys.indptr[end], journeys.indptr[end + 1])
                assert bool(rides) == (times[end] < NEVER)
                if not rides:
                    continue
                n_legs += len(rides)
                # Both ends, and every leg in its order with enough time between them.
                here, there = (end, stop) if is_arrival else (stop, end)
                assert (journeys.board_stop[rides[0]], journeys.alight_stop[rides[-1]]) == (here, there)
                first, last = int(journeys.departure[rides[0]]), int(journeys.arrival[rides[-1]])
                assert (at_ms - first if is_arrival else last - at_ms) == times[end]
                for ride in rides:
                    run = int(journeys.board_run[ride])
                    line = world.lines[int(ids[found.table.instance_trip[run]][1:])]
                    calls = dict(line.calls)
                    ridden = calls[int(journeys.alight_stop[ride])] - calls[int(journeys.board_stop[ride])]
                    taken = int(journeys.arrival[ride] - journeys.departure[ride])
                    assert taken == ridden * 1000 + waits.ms[run]
                    assert waits.headway[run] == line.headway
                    assert waits.ms[run] == (line.spread * 500 if line.headway else 0)
                for a, b in itertools.pairwise(rides):
                    off, on = int(journeys.alight_stop[a]), int(journeys.board_stop[b])
                    walk = 0 if off == on else world.walks[off, on]
                    assert journeys.departure[b] - journeys.arrival[a] >= walk * 1000
        assert n_legs > 60


def average_search(timetable: Timetable) -> AverageSearch:
    interval = MIDNIGHT + FIRST, MIDNIGHT + LAST
    scheduled = TransitSearch(trip_table(timetable, *interval, headways=False).in_milliseconds())
    return AverageSearch(scheduled, headway_table(timetable, *interval))


class TestRandom:
    @pytest.mark.parametrize("seed", range(12))
    def test_each_draw_equals_a_plain_connection_scan(self, tmp_path: Path, seed: int) -> None:
        world = random_world(seed)
        timetable = read(tmp_path, world)
        for number in range(3):
            draw = Draw(seed, number, 3)
            table = trip_table(timetable, MIDNIGHT + FIRST, MIDNIGHT + LAST, headways=draw)
            search = TransitSearch(table.in_milliseconds())
            firsts = firsts_of(world, timetable, draw)
            for moment in range(8 * 3600, 9 * 3600, 1200):
                access = np.array([seed % 7], np.int32), np.zeros(1, np.int32)
                times = search.stop_times_by_moment(access, [(moment - FIRST) * 1000], TransitOptions(4 * 3_600_000))
                expected = world.scan(firsts, {seed % 7: moment})
                within = {stop: time for stop, time in expected.items() if time - moment <= 4 * 3600}
                assert labels(times[0], moment) == within


# From door to door ----------------------------------------------------------------------------------------------------

STOPS = {"a": (0.0, 0.0), "b": (4000.0, 0.0), "c": (9000.0, 0.0)}
STREET = tables({0: (-500, 0), 1: (4000, 0), 2: (9500, 0)}, [(i, i + 1, ON_FOOT) for i in range(2)])
HEADWAYS = (600, 900, 1100)
MOMENT = pd.Timestamp("2026-03-03T08:00", tz="UTC")
#: Of the lines a-b, b-c and a-c.
RIDES = {("a", "b"): 500, ("b", "c"): 700, ("a", "c"): 1500}


def two_lines(folder: Path, exact: int = 0, firsts: Sequence[int] = (0, 0, 0)) -> tl.Network:
    """Return a street with lines from a to b every 10 minutes, b to c every 15, and a to c every 18:20."""
    trips = [[(a, 0), (b, s)] for (a, b), s in RIDES.items()]
    rows = [
        f"t{i},{clock(21_600 + first)},12:00:00,{headway},{exact}"
        for i, (headway, first) in enumerate(zip(HEADWAYS, firsts, strict=True))
    ]
    content = "\n".join(["trip_id,start_time,end_time,headway_secs,exact_times", *rows])
    return tl.build_network(STREET, gtfs=timetable(folder, STOPS, trips, frequencies=content), timezone="UTC")


def fixed(folder: Path, network: tl.Network, draw: Draw) -> tl.Network:
    """Return the same lines with exact times: those of a draw."""
    assert network.timetable is not None
    folder = folder / f"{draw.number}"
    folder.mkdir(exist_ok=True)
    return two_lines(folder, 1, first_departures(network.timetable, np.arange(3), DAY.toordinal(), draw).tolist())


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    return two_lines(tmp_path_factory.mktemp("street"))


def a_to_c(network: tl.Network, headways: str = "random", arrive: bool = False, **how: Any) -> pd.Series:
    """Return the row from a to c."""
    options = {name: how.pop(name) for name in list(how) if name.startswith("headway_")}
    means = {"type": "bus", "headways": headways, "direct_walking_time": 0, **options}
    how = {"travel_time": 7200, "arrival_time" if arrive else "departure_time": MOMENT, **how}
    return tl.time_filter(network, at((0, 0)), at((9000, 0)), transportation=means, **how).iloc[0]


def drawn(random: Random) -> float:
    """Return the travel time from a to c at a random moment of random lines, in plain Python."""
    waits = [random.random() * headway for headway in HEADWAYS]
    at_b = waits[0] + RIDES["a", "b"]
    # The wait at b is as random as that at a: the two lines are independent.
    return min(at_b + waits[1] + RIDES["b", "c"], waits[2] + RIDES["a", "c"])


def monte_carlo(network: tl.Network, n_oracle: int, n_draws: int) -> None:
    """Compare percentiles and shares with draws of plain Python, within 4 standard errors of the binomial."""
    random = Random(7)
    times = np.sort([drawn(random) for _ in range(n_oracle)])
    percents = (5, 25, 50, 75, 95)
    for arrive in (False, True):
        row = a_to_c(
            network, arrive=arrive, window=60, percentiles=percents, headway_draws=n_draws,
            properties=("travel_time", "share"), travel_time=1900,
        )  # fmt: skip
        more = a_to_c(network, arrive=arrive, window=60, percentiles=percents, headway_draws=n_draws, properties=())
        for percent in percents:
            p = percent / 100
            rank = np.searchsorted(times, float(more[f"travel_time_p{percent}"])) / n_oracle
            error = math.sqrt(p * (1 - p) * (1 / n_draws + 1 / n_oracle))
            assert abs(rank - p) <= 4 * error + 1 / n_draws
        p = (times <= 1900).mean()
        assert abs(row["share"] - p) <= 4 * math.sqrt(p * (1 - p) * (1 / n_draws + 1 / n_oracle)) + 1 / n_draws


@pytest.mark.thorough
def test_percentiles_within_the_error_of_the_draws(street: tl.Network) -> None:
    monte_carlo(street, 10_000, 200)


@pytest.mark.thorough
def test_percentiles_of_many_draws(street: tl.Network) -> None:
    monte_carlo(street, 100_000, 1000)


def test_the_mean_of_one_ride_is_that_of_average_headways(street: tl.Network) -> None:
    """The exact expectation: half a headway and the ride."""
    how: dict[str, Any] = {"travel_time": 7200, "departure_time": MOMENT}
    for place, headway, ride in (((4000, 0), 600, 500),):
        means = {"type": "bus", "headways": "random", "headway_draws": 100, "direct_walking_time": 0}
        percents = tuple(float(p) for p in range(1, 101))
        row = tl.time_filter(
            street, at((0, 0)), at(place), transportation=means, window=60, percentiles=percents, properties=(), **how
        ).iloc[0]
        mean = np.mean([row[f"travel_time_p{p:g}"] for p in percents])
        exact = {"type": "bus", "headways": "average", "direct_walking_time": 0}
        expected = tl.time_filter(street, at((0, 0)), at(place), transportation=exact, **how)["travel_time"].iloc[0]
        assert expected == headway / 2 + ride
        # Stratified: within a headway divided by the number of draws.
        assert abs(mean - expected) <= headway / 100


SEVEN_DRAWS: Final = {"type": "bus", "headways": "random", "headway_draws": 7}


class TestDoors:
    """All functions, with the same draws and the same averages."""

    HOMES, PLACES = at((0, 0), (300, 0), (3800, 0)), at((4000, 0), (4300, 0), (9000, 0), (8500, 0))

    @pytest.mark.parametrize("arrive", first_of(1, [False, True], mark=pytest.mark.thorough))
    def test_percentiles_are_over_draws_and_departures(self, tmp_path: Path, street: tl.Network, arrive: bool) -> None:
        """A sample is a departure in the timetable of a draw, with exact times."""
        how = {"arrival_time" if arrive else "departure_time": MOMENT}
        n_departures, window, limit = 3, 180, 3000
        samples = []
        for number in range(9):
            step = pd.Timedelta(minutes=number // (9 // n_departures)) * (-1 if arrive else 1)
            network = fixed(tmp_path, street, Draw(5, number % 7, 7))
            table = tl.time_filter(
                network, self.HOMES, self.PLACES, travel_time=limit, transportation="bus", form="matrix",
                **{name: when + step for name, when in how.items()},
            )  # fmt: skip
            samples.append(table.to_numpy())
        sorted_samples = np.sort(np.nan_to_num(np.array(samples), nan=np.inf), axis=0)
        means = {**SEVEN_DRAWS, "headway_seed": 5}
        found = tl.time_filter(
            street, self.HOMES, self.PLACES, travel_time=limit, transportation=means, form="matrix", window=window,
            percentiles=(20, 50, 90), properties=("travel_time", "share"), **how,
        )  # fmt: skip
        for percent in (20, 50, 90):
            expected = sorted_samples[math.ceil(percent * 9 / 100) - 1]
            assert np.nan_to_num(found[f"travel_time_p{percent}"], nan=np.inf).tolist() == expected.tolist()
        assert np.nan_to_num(found["travel_time"], nan=np.inf).tolist() == sorted_samples[0].tolist()
        assert found["share"].to_numpy() == pytest.approx((sorted_samples <= limit).mean(axis=0))

    @pytest.mark.parametrize("arrive", [False, True])
    def test_answers_do_not_depend_on_other_points_or_threads(self, street: tl.Network, arrive: bool) -> None:
        how: dict[str, Any] = {
            "arrival_time" if arrive else "departure_time": MOMENT, "transportation": SEVEN_DRAWS, "travel_time": 3000,
            "window": 600, "percentiles": (50,), "properties": ("travel_time", "share"), "form": "matrix",
        }  # fmt: skip
        together = tl.time_filter(street, self.HOMES, self.PLACES, **how)
        before = settings.threads
        settings.threads = 1
        try:
            for row in range(3):
                for column in range(4):
                    alone = tl.time_filter(street, self.HOMES.iloc[[row]], self.PLACES.iloc[[column]], **how)
                    mine = together.iloc[[row], [column, 4 + column, 8 + column]]
                    pd.testing.assert_frame_equal(alone, mine)
        finally:
            settings.threads = before

    @pytest.mark.parametrize("headways", ["exact", "average", "random"])
    @pytest.mark.parametrize("side", ["departure_time", "arrival_time"])
    def test_many_moments_are_those_of_single_calls(self, street: tl.Network, headways: str, side: str) -> None:
        """Also where several moments are in one hour, and with percentiles."""
        moments = [MOMENT + pd.Timedelta(minutes=each) for each in (0, 20, 95)]
        means = {"type": "bus", "headways": headways}
        window: dict[str, Any] = {"window": 600, "percentiles": (50,)}
        for how in (window, {}) if headways != "random" else (window,):
            how |= {"travel_time": 3000, "transportation": means, "form": "matrix"}
            whole = tl.time_filter(street, self.HOMES, self.PLACES, **how, **{side: moments})
            single = [tl.time_filter(street, self.HOMES, self.PLACES, **how, **{side: each}) for each in moments]
            assert (whole.to_numpy() == pd.concat(single).to_numpy()).sum() == whole.notna().to_numpy().sum() > 0
            assert whole.isna().to_numpy().sum() == pd.concat(single).isna().to_numpy().sum()

    @pytest.mark.parametrize("headways", ["average", "random"])
    @pytest.mark.parametrize("arrive", [False, True])
    def test_areas_cells_and_opportunities_are_those_of_the_matrix(
        self, street: tl.Network, headways: str, arrive: bool
    ) -> None:
        how: dict[str, Any] = {
            "arrival_time" if arrive else "departure_time": MOMENT, "window": 600,
            "transportation": {"type": "bus", "headways": headways, "direct_walking_time": 0},
        }  # fmt: skip
        sides = (self.HOMES, self.PLACES)
        for percent in (None, 60):
            spread = {} if percent is None else {"percentiles": (percent,), "properties": ()}
            column = "travel_time" if percent is None else f"travel_time_p{percent}"
            seconds = tl.time_filter(street, *sides, travel_time=7200, form="pairs", **spread, **how)[column]
            limit = int(seconds.dropna().median())
            one = self.HOMES.iloc[[0]] if not arrive else self.PLACES.iloc[[3]]
            area = tl.time_map(
                street, one, travel_time=limit, level_of_detail="high",
                **({} if percent is None else {"percentile": percent}), **how,
            ).geometry.iloc[0]  # fmt: skip
            others = self.PLACES if not arrive else self.HOMES
            times = tl.time_filter(
                street,
                *((one, others) if not arrive else (others, one)),
                travel_time=7200,
                form="pairs",
                **spread,
                **how,
            )[column]
            for place, value in zip(others.geometry, times.tolist(), strict=True):
                if pd.isna(value) or abs(value - limit) > 60:  # within a cell of the border either is right
                    assert area.covers(place) == (not pd.isna(value) and value <= limit)
            if not arrive:
                jobs = gpd.GeoDataFrame({"n": [1, 10, 100, 1000]}, geometry=self.PLACES)
                many = {} if percent is None else {"percentiles": (percent,)}
                reached = tl.accessibility(
                    street, self.HOMES, jobs, values="n", travel_time=limit,
                    **many, **how,
                )  # fmt: skip
                table = tl.time_filter(street, *sides, travel_time=limit, form="pairs", **spread, **how)
                is_in = table[column].notna().to_numpy().reshape(3, 4)
                assert (
                    reached["n" if percent is None else f"n_p{percent}"].tolist()
                    == (is_in @ [1, 10, 100, 1000]).tolist()
                )


class TestAverageDoors:
    @pytest.mark.parametrize("arrive", [False, True])
    def test_routes_and_distances_are_those_of_the_matrix(self, street: tl.Network, arrive: bool) -> None:
        how: dict[str, Any] = {
            "arrival_time" if arrive else "departure_time": MOMENT,
            "transportation": {"type": "bus", "headways": "average"},
        }  # fmt: skip
        homes, places = TestDoors.HOMES, TestDoors.PLACES
        for starts in (homes, homes.iloc[[0]]):
            table = tl.time_filter(
                street, starts, places, travel_time=7200, properties=("travel_time", "distance"), **how
            )
            plain = tl.time_filter(street, starts, places, travel_time=7200, **how)
            found = tl.routes(street, starts, places, **how)
            assert table["travel_time"].tolist() == plain["travel_time"].tolist() == found["travel_time"].tolist()
            assert table["distance"].tolist() == found["distance"].tolist()
            assert found["travel_time"].notna().all()
            n_rides = 0
            for route in found["route"]:
                assert sum(leg.travel_time for leg in route.legs) == route.travel_time
                for leg in route.legs:
                    assert leg.waiting_time >= 0
                    if leg.ride is None:
                        continue
                    n_rides += 1
                    pair = str(leg.ride.board.name), str(leg.ride.alight.name)
                    assert leg.ride.headway == dict(zip(RIDES, HEADWAYS, strict=True))[pair]
                    seconds = (leg.ride.alight.time - leg.ride.board.time).total_seconds()
                    assert abs(seconds - RIDES[pair]) <= 1
            assert n_rides >= len(starts)

    @pytest.mark.slow
    def test_a_route_says_how_often_its_lines_run(self, street: tl.Network) -> None:
        means = {"type": "bus", "headways": "average"}
        route = tl.routes(street, at((0, 0)), at((9000, 0)), transportation=means, departure_time=MOMENT)["route"][0]
        (first,) = [leg for leg in route.legs if leg.ride is not None][:1]
        assert first.directions.endswith("(every 10 min; times are averages)")
        assert (first.waiting_time, first.travel_time) == (300, 800)
        explanation = tl.explain(
            street, at((0, 0)), at((9000, 0)), travel_time=7200, transportation=means, departure_time=MOMENT
        )
        assert explanation.travel_time == 1950
        assert explanation.parts["wait"] == 300 + 450
        late = tl.explain(
            street, at((0, 0)), at((9000, 0)), travel_time=2100, transportation=means, departure_time="2026-03-03T03:00"
        )
        assert not late.is_reached and late.nearest_request is not None

    def test_no_line_runs_outside_of_its_hours(self, street: tl.Network) -> None:
        row = a_to_c(street, "average", departure_time="2026-03-03T05:00", travel_time=14_400)
        assert row["travel_time"] == 3600 + 300 + 500 + 450 + 700
        # From 12:00 on no vehicle begins.
        assert a_to_c(street, "average", departure_time="2026-03-03T11:57:00")["travel_time"] is pd.NA

    def test_lines_with_exact_times_are_exact(self, tmp_path: Path) -> None:
        network = two_lines(tmp_path, 1)
        exact = a_to_c(network, "exact")["travel_time"]
        assert a_to_c(network, "average")["travel_time"] == exact
        assert a_to_c(network, "random", window=60)["travel_time"] == exact

    def test_a_change_of_headways(self, street: tl.Network) -> None:
        """Lines that a scenario does not change keep their draws, and a draw is the same part of another headway."""
        more = street.with_changes([tl.ScaleHeadway("R0", 0.5)])
        rows = np.arange(3)
        for number in range(5):
            draw = Draw(0, number, 5)
            one, other = (first_departures(net.timetable, rows, DAY.toordinal(), draw) for net in (street, more))
            assert one[1:].tolist() == other[1:].tolist()
            assert abs(one[0] - 2 * other[0]) <= 1
        assert a_to_c(more, "average", travel_time=3600)["travel_time"] == 150 + 500 + 450 + 700


ASKED: Final[dict[str, Any]] = {"travel_time": 3600, "departure_time": MOMENT}


@pytest.mark.parametrize(
    ("headways", "question", "message"),
    [
        ("random", lambda n, **how: tl.time_filter(n, HERE, THERE, **how), "requires a window"),
        ("random", lambda n, **how: tl.time_map(n, HERE, **how), "requires a window"),
        ("random", lambda n, **how: tl.explain(n, HERE, THERE, **how), "explanations"),
        ("random", lambda n, **how: tl.explain(n, HERE, THERE, window=600, **how), "explanations"),
        ("average", lambda n, **how: tl.explain(n, HERE, THERE, window=600, **how), "explanations"),
        ("random", lambda n, **how: routes(n, **how), "requires a window"),
        ("random", lambda n, **how: routes(n, window=600, **how), "routes of a window"),
        ("average", lambda n, **how: routes(n, window=600, **how), "routes of a window"),
        ("average", lambda n, **how: windowed(n, max_results=3, **how), "several trips of a window"),
        ("random", lambda n, **how: windowed(n, max_results=3, **how), "several trips of a window"),
        ("random", lambda n, **how: windowed(n, properties=("distance",), **how), "lengths in a window"),
        ("average", lambda n, **how: windowed(n, properties=("distance",), **how), "lengths in a window"),
        ("random", lambda n, **how: windowed(n, properties=("travel_time", "route"), **how), "routes"),
    ],
)
def test_what_is_refused(street: tl.Network, headways: str, question: Any, message: str) -> None:
    with pytest.raises(tl.TravelTimeError, match=message):
        question(street, transportation={"type": "bus", "headways": headways}, **ASKED)


HERE, THERE = at((0, 0)), at((9000, 0))


def windowed(network: tl.Network, **how: Any) -> Any:
    return tl.time_filter(network, HERE, THERE, window=600, **how)


def routes(network: tl.Network, travel_time: int, **how: Any) -> Any:
    return tl.routes(network, HERE, THERE, **how)
