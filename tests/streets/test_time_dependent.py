"""Speeds that change on the way: every street is driven at the speeds of the hour in which it is driven."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from fractions import Fraction
from zoneinfo import ZoneInfo

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.oracle_hours import measured, profiles
from tests.support.oracle_timed import TimedOracle
from tests.support.oracles import random_points
from tests.support.oracles_snapping import times_ms
from tests.support.worlds import at, tables, towns
from traveltime_lab.errors import InputError, ModeError, UnsupportedError
from traveltime_lab.kernels.street import by_hour as kernels
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.modes.snapping import as_snapping
from traveltime_lab.network.network import Network
from traveltime_lab.rounding import most_ms
from traveltime_lab.search.query import Query, ask
from traveltime_lab.streets.labels import ms
from traveltime_lab.streets.matrix import pair_labels
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.snapping import CAN_ARRIVE, CAN_LEAVE, Snaps, snap_points
from traveltime_lab.streets.timed import hours_between
from traveltime_lab.surfaces.raster import surfaces
from traveltime_lab.surfaces.road_buffer import reached_pieces

quick = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TIMED = tl.Transportation("driving", time_dependent=True)
LIMIT = 14_400
WHEN = ("departure_time", "arrival_time")
#: A day like others, midnight into a weekend, and the nights in which the clocks of Berlin change.
MOMENTS = ("2026-03-03T07:58", "2026-03-06T23:59", "2026-03-29T01:58:30", "2026-10-25T02:57", "2026-10-25T03:01")


# Along one street


@st.composite
def hours(draw: st.DrawFn) -> tuple[kernels.Hours, list[int], list[int]]:
    """Draw hours of some milliseconds each, and the milliseconds along one street in each of them."""
    n = draw(st.integers(1, 5))
    lengths = draw(st.lists(st.integers(1, 12), min_size=n, max_size=n))
    begins = (np.cumsum(lengths) - 20).tolist()
    ms = draw(st.lists(st.integers(0, 30), min_size=n, max_size=n))
    far = 1 << 40
    made = kernels.Hours(
        np.array([-far, *begins[1:], far], np.int64), np.arange(n), np.array(ms, np.int32).reshape(-1, 1)
    )
    return made, begins[1:], ms


def followed(begins: list[int], ms: list[int], begin: float, end: float, at: int) -> int:
    """Return when a vehicle arrives, followed millisecond by millisecond."""
    hour = sum(each <= at for each in begins)
    place = math.floor(ms[hour] * begin + 0.5)
    while place < math.floor(ms[hour] * end + 0.5):
        at, place = at + 1, place + 1
        if hour < len(begins) and at == begins[hour]:
            if place >= math.floor(ms[hour] * end + 0.5):
                break
            place = math.floor(Fraction(place * ms[hour + 1], ms[hour]) + Fraction(1, 2))
            hour += 1
    return at


@pytest.mark.thorough
@settings(max_examples=400, deadline=None)
@given(hours(), st.floats(0, 1), st.floats(0, 1))
def test_first_in_is_first_out_and_departures_are_the_inverse(drawn, one, other):
    made, begins, ms = drawn
    begin, end = sorted((one, other))
    times = range(-40, 50)
    arrivals = [kernels._arrive(made, 0, begin, end, at) for at in times]
    assert arrivals == [followed(begins, ms, begin, end, at) for at in times]
    assert arrivals == sorted(arrivals)
    for by in range(40):
        latest = kernels._leave(made, 0, begin, end, by)
        assert kernels._arrive(made, 0, begin, end, latest) <= by < kernels._arrive(made, 0, begin, end, latest + 1)


def test_a_street_is_driven_at_two_speeds():
    """Ten kilometres from 7:55 on: five minutes at 60 km/h, and the other five kilometres at 30 km/h."""
    network = road(7, 60.0, 8, 30.0)
    start, end = at((0, 0)), at((10_000, 0))
    assert seconds(network, start, end, departure_time="2026-03-03T07:55") == 300 + 600
    # To arrive at 8:10, one leaves at 7:55.
    assert seconds(network, start, end, arrival_time="2026-03-03T08:10") == 900
    # 2.5 kilometres, from a quarter to a half, of which one is driven at 60 km/h.
    middle = at((2500, 0)), at((5000, 0))
    assert seconds(network, *middle, departure_time="2026-03-03T07:59") == 60 + 180
    assert seconds(network, *middle, arrival_time="2026-03-03T08:03") == 240
    frozen = tl.Transportation("driving")
    assert seconds(network, start, end, departure_time="2026-03-03T07:55", transportation=frozen) == 600


def road(*hours_and_kph: float, cut: float | None = None) -> Network:
    """Return ten kilometres of street, in one piece or two, with speeds at some hours."""
    nodes = {"a": (0, 0), "b": (10_000, 0)} if cut is None else {"a": (0, 0), "m": (cut, 0), "b": (10_000, 0)}
    plain = tl.build_network(
        tables(nodes, [(*ends, {"highway": "primary"}) for ends in itertools.pairwise(nodes)]), timezone="Europe/Berlin"
    )
    week = pd.DataFrame({"hour": hours_and_kph[::2], "kph": hours_and_kph[1::2]})
    return tl.add_speeds(plain, profile=pd.concat(week.assign(edge=edge) for edge in range(plain.n_edges)))


def seconds(network: Network, start: gpd.GeoSeries, end: gpd.GeoSeries, **how: object) -> float:
    ask = {"travel_time": 14_400, "transportation": TIMED, "snapping": {"penalty": "disabled"}} | how
    return float(tl.time_filter(network, start, end, **ask)["travel_time"].iloc[0])


def test_hours_are_those_of_clocks():
    zone = ZoneInfo("Europe/Berlin")
    for day, expected in (
        (dt.date(2026, 3, 29), ["00", "01", "03", "04"]),
        (dt.date(2026, 10, 25), ["00", "01", "02", "02", "03", "04"]),
    ):
        first = dt.datetime.combine(day, dt.time(0, 30), zone).astimezone(dt.UTC)
        last = dt.datetime.combine(day, dt.time(4, 30), zone).astimezone(dt.UTC)
        found = list(hours_between(first, last, zone))
        assert [f"{local:%H}" for _, local in found] == expected
        assert [begin.minute for begin, _ in found] == [30] + [0] * (len(expected) - 1)
    # Half an hour, as clocks change on Lord Howe Island.
    zone = ZoneInfo("Australia/Lord_Howe")
    first = dt.datetime(2026, 4, 4, 14, 10, tzinfo=dt.UTC)
    found = [local for _, local in hours_between(first, first + dt.timedelta(hours=2), zone)]
    assert [f"{local:%H:%M}" for local in found] == ["01:10", "01:30", "02:00"]


# Searches


def drawn_town(network: Network, data: st.DataObject) -> tuple[Network, Network, dict, dt.datetime]:
    """Return a town with random speeds by hour, the one without, the speeds, and a moment."""
    plain = tl.build_network(network.tables, timezone="Europe/Berlin")
    rows = data.draw(profiles(network.n_edges, is_whole=True))
    # Slower than in any town, so that hours change on the way.
    rows["kph"] /= data.draw(st.sampled_from([1.0, 20.0]))
    moment = dt.datetime.fromisoformat(data.draw(st.sampled_from(MOMENTS))).replace(tzinfo=ZoneInfo("Europe/Berlin"))
    return tl.add_speeds(plain, profile=rows), plain, measured(rows), moment


@quick
@given(towns(), st.data())
@pytest.mark.slow
def test_matrices_equal_a_time_dependent_dijkstra(network, data):
    by_hour, _, speeds, moment = drawn_town(network, data)
    starts, ends = (random_points(network, 6, data.draw(st.integers(0, 999))) for _ in range(2))
    model = data.draw(st.sampled_from([None, "optimistic", "pessimistic"]))
    for is_arrival in (False, True):
        compare(by_hour, speeds, moment, starts, ends, is_arrival=is_arrival, model=model)


def compare(network, speeds, moment, starts, ends, *, is_arrival, most_ideal_ms=None, **options):
    """Compare every pair with the twin, to the millisecond; return the number of pairs with a way."""
    means = tl.Transportation("driving", time_dependent=True, traffic_model=options.get("model"))
    oracle = TimedOracle(network, speeds, moment, is_arrival=is_arrival, **options)
    snaps, goals = (
        snap_points(network.streets, *points, means, as_snapping(None), needed)
        for points, needed in ((starts, CAN_LEAVE), (ends, CAN_ARRIVE))
    )
    graph = ask(network, means, *((None, moment) if is_arrival else (moment, None)), None, limit=LIMIT).graph
    labels = pair_labels(network.streets, graph, Pairs(snaps, goals), as_snapping(None), limit=LIMIT)
    found = np.where(labels == UNREACHED, np.nan, ms(labels)).reshape(len(snaps), len(goals))
    expected = np.array(times_ms(oracle, (snaps, snaps.only_islands()), (goals, goals.only_islands())), float)
    expected[expected > most_ms(LIMIT)] = np.nan
    np.testing.assert_array_equal(found, expected)
    if most_ideal_ms is not None:
        ideal = np.array([oracle.timed_ms(snaps, i, goals, is_ideal=True) for i in range(len(snaps))], float)
        assert np.nanmax(np.abs(found - ideal)) <= most_ideal_ms
    return int(np.isfinite(expected).sum())


@quick
@given(towns(), st.data())
@pytest.mark.thorough
def test_equal_hours_are_the_frozen_search(network, data):
    """Without a change on the way, every answer is that of the speeds of the moment."""
    rows = data.draw(profiles(network.n_edges, is_whole=True))
    # The speed of one hour at all of them.
    hourly = rows.groupby(["edge", "direction"], dropna=False)["kph"].first().reset_index()
    hourly = pd.concat([hourly.assign(hour=hour) for hour in range(24)])
    by_hour = tl.add_speeds(network, profile=hourly)
    points = gpd.GeoSeries.from_xy(*random_points(network, 6, data.draw(st.integers(0, 999))), crs="EPSG:4326")
    for when in WHEN:
        answers = []
        for means in ("driving", TIMED):
            how = {"transportation": means, when: data.draw(st.just("2026-03-06T23:58"))}
            both = {"travel_time": 7200, "properties": ("travel_time", "distance"), **how}
            areas = tl.time_map(by_hour, points.iloc[:2], travel_time=120, **how)
            cells = tl.h3_cells(by_hour, points.iloc[:2], travel_time=300, resolution=10, **how)
            routes = tl.routes(by_hour, points.iloc[:3], points, **how)
            answers.append(
                (tl.time_filter(by_hour, points, points, **both), areas.geometry.to_wkb(), pd.DataFrame(cells),
                 routes.geometry.to_wkb(), [route and route.legs for route in routes["route"]])
            )  # fmt: skip
        for one, other in zip(*answers, strict=True):
            if isinstance(one, list):
                assert one == other
            else:
                compare_tables(one, other)


def compare_tables(one: pd.DataFrame | pd.Series, other: pd.DataFrame | pd.Series) -> None:
    pd.testing.assert_frame_equal(*(pd.DataFrame(each) for each in (one, other)))


@quick
@given(towns(), st.data())
@pytest.mark.thorough
def test_leaving_later_never_arrives_earlier(network, data):
    by_hour, _, _, moment = drawn_town(network, data)
    points = gpd.GeoSeries.from_xy(*random_points(network, 5, data.draw(st.integers(0, 999))), crs="EPSG:4326")
    moment = moment.astimezone(dt.UTC)
    arrivals, departures = [], []
    for minutes in (0, 1, 2, 3, 30, 61, 62):
        there = moment + dt.timedelta(minutes=minutes)
        for when, sign, found in ((WHEN[0], 1, arrivals), (WHEN[1], -1, departures)):
            ask = {"travel_time": 14_400, "transportation": TIMED, when: there, "form": "matrix"}
            found.append(60 * minutes + sign * tl.time_filter(by_hour, points, points, **ask).to_numpy(float))
    for earlier, later in itertools.chain(itertools.pairwise(arrivals), itertools.pairwise(departures)):
        # Where both are within the limit; times are whole seconds, rounded.
        assert not (later - earlier < -1).any()


@quick
@given(towns(), st.data())
@pytest.mark.slow
def test_all_answers_agree(network, data):
    """Matrix, pairs, nearest, routes and fields have one time for a pair; legs add up to it."""
    by_hour, _, _, moment = drawn_town(network, data)
    places = random_points(network, 6, data.draw(st.integers(0, 999)))
    points = gpd.GeoSeries.from_xy(*places, crs="EPSG:4326")
    for when in WHEN:
        how = {"transportation": TIMED, when: moment}
        both = {"travel_time": LIMIT, "properties": ("travel_time", "distance"), **how}
        pairs = tl.time_filter(by_hour, points, points, form="pairs", **both)
        matrix = tl.time_filter(by_hour, points, points, form="matrix", **both)
        for name in both["properties"]:
            np.testing.assert_array_equal(
                matrix[name].to_numpy().ravel(), pairs[name].to_numpy(np.float32, na_value=np.nan)
            )
        least = tl.nearest(by_hour, points, points, k=1, travel_time=LIMIT, **how)
        expected = pairs.groupby("origin", sort=False)["travel_time"].min()
        np.testing.assert_array_equal(
            least.set_index("origin")["travel_time"].reindex(expected.index).to_numpy(float, na_value=np.nan),
            expected.to_numpy(float, na_value=np.nan),
        )
        chosen = pd.DataFrame({"origin": [0, 3, 3], "destination": [4, 1, 2]})
        some = tl.time_filter(by_hour, points, points, pairs=chosen, form="pairs", **both)
        whole = pairs.set_index(["origin", "destination"]).loc[list(chosen.itertuples(index=False, name=None))]
        assert some["travel_time"].tolist() == whole["travel_time"].tolist()
        routes = tl.routes(by_hour, points, points, **how)
        within = pairs["travel_time"].notna().to_numpy()
        for name in both["properties"]:
            assert routes.loc[within, name].tolist() == pairs.loc[within, name].tolist()
        for route in routes.loc[within, "route"]:
            assert sum(leg.travel_time for leg in route.legs) == route.travel_time


@quick
@given(towns(), st.data())
@pytest.mark.thorough
def test_areas_have_the_times_of_the_matrix(network, data):
    """Any place along the streets, also where the speed changes on the way, and on the street of the origin."""
    by_hour, _, _, moment = drawn_town(network, data)
    places = random_points(network, 60, data.draw(st.integers(0, 999)))
    points = gpd.GeoSeries.from_xy(*places, crs="EPSG:4326")
    x, y = network.frame.to_xy(*places)
    for when in WHEN:
        departure, arrival = (moment, None) if when == WHEN[0] else (None, moment)
        query = ask(by_hour, TIMED, departure, arrival, None, limit=LIMIT)
        for i in range(3):
            one = points.iloc[[i]]
            ends = (one, points) if when == WHEN[0] else (points, one)
            times = tl.time_filter(
                by_hour, *ends, travel_time=LIMIT, transportation=TIMED, form="matrix", **{when: moment}
            )
            here = query.snap_at(*(each[i : i + 1] for each in places), is_origin=when == WHEN[0])
            if here.edge[0] < 0 or here.on_islands()[0]:
                continue
            field = query.field_from(here, LIMIT)
            how = {"cell_m": 50.0, "buffer_m": 5000.0, "limits": [LIMIT]}
            values = surfaces(by_hour.streets, TIMED, query.snapping, field, **how)[0].probe(x, y).astype(float)
            values[values > LIMIT + 0.499] = np.nan
            expected = times.to_numpy(float).ravel()
            # Others are one place with the origin, or on an island with another street that is nearer.
            usual = ~query.snap_at(*places, is_origin=when != WHEN[0]).on_islands() & (expected != 0.0)
            assert np.array_equal(np.isnan(values[usual]), np.isnan(expected[usual]))
            # Whole seconds in the matrix.
            assert np.nanmax(np.abs(values - expected)[usual], initial=0.0) <= 0.502


def test_roads_are_reached_up_to_where_the_time_ends():
    """From a at 7:55: 5 km at 60 km/h until 8, then 30 km/h; the streets meet after 3 km."""
    network = road(7, 60.0, 8, 30.0, cut=3000)
    for place, limit, reached_m in (((0, 0), 600, 7500), ((0, 0), 200, 3333), ((2500, 0), 480, 9000)):
        query = ask(network, TIMED, "2026-03-03T07:55", None, {"penalty": "disabled"}, limit=limit)
        found = reached_pieces(network.streets, query.field_from(snapped(query, place), limit), limit)
        assert found[:, ::2].max() - found[:, ::2].min() == pytest.approx(reached_m, abs=2)
    # Until 8:02:30, from the west: 2.5 minutes at 30 km/h, and 5 minutes at 60 km/h before.
    query = ask(network, TIMED, None, "2026-03-03T08:02:30", {"penalty": "disabled"}, limit=450)
    field = query.field_from(snapped(query, (9000, 0), is_origin=False), 450)
    found = reached_pieces(network.streets, field, 450)
    west = network.frame.to_xy(*at((9000, 0)).get_coordinates().to_numpy().T)[0][0] - found[:, ::2].min()
    assert west == pytest.approx(6250, abs=2)


def snapped(query: Query, place: tuple[float, float], *, is_origin: bool = True) -> Snaps:
    return query.snap_at(*at(place).get_coordinates().to_numpy().T, is_origin=is_origin)


# Refusals


def test_what_cannot_be_honoured_is_refused():
    network = road(8, 30.0)
    one, other = at((0, 0)), at((500, 0))
    then = {"departure_time": "2026-03-03T07:55"}
    ask = {"travel_time": 900, "transportation": TIMED}
    for search in (tl.time_filter, tl.nearest):
        with pytest.raises(InputError, match="time_dependent=True needs a departure_time or arrival_time"):
            search(network, one, other, **ask)
        for engine in ("hierarchy", "pandana"):
            with pytest.raises(InputError, match="with time_dependent=True, engine must be one of 'auto', 'dijkstra'"):
                search(network, one, other, engine=engine, **ask, **then)
    with pytest.raises(InputError, match="time_dependent=True needs a departure_time or arrival_time"):
        tl.time_map(network, one, **ask)
    with pytest.raises(InputError, match="got 'weekday_morning'"):
        tl.routes(network, one, other, transportation=TIMED, departure_time="weekday_morning")
    with pytest.raises(UnsupportedError, match="searches by distance need time_dependent=False"):
        tl.distance_map(network, one, distance=500, transportation=TIMED, **then)
    for door in (network.road_graph, network.prepare, network.to_networkx):
        with pytest.raises(UnsupportedError, match="has the speeds of one moment; time_dependent=True is for searches"):
            door(TIMED)
    trips = pd.DataFrame({"origin": [0], "destination": [0], "travel_time": [60.0]})
    with pytest.raises(UnsupportedError, match="a calibration has the speeds of one moment"):
        tl.calibrate_speeds(network, trips, transportation=TIMED)
    for model in ("peak", "off_peak"):
        with pytest.raises(ModeError, match="time_dependent=True needs speeds by hour; traffic_model="):
            tl.Transportation("driving", time_dependent=True, traffic_model=model)
    for kind in ("walking", "cycling", "driving+public_transport", "public_transport"):
        with pytest.raises(ModeError, match="time_dependent does not apply to transportation type"):
            tl.Transportation(kind, time_dependent=True)
    # Snapping has no times.
    assert tl.snap(network, one, transportation=TIMED)["snap_distance"].iloc[0] < 1.0


def test_boarding_a_ferry_takes_its_time_on_the_way():
    """A kilometre, five minutes to board, two kilometres by ferry, and a kilometre at the speed of the hour."""
    nodes = {"a": (0, 0), "b": (1000, 0), "c": (3000, 0), "d": (4000, 0)}
    ferry = {"route": "ferry", "highway": None, "driving_kph": 20.0}
    drawn = tables(nodes, [("a", "b"), ("b", "c", ferry), ("c", "d")])
    week = pd.DataFrame({"hour": [7, 7, 8, 8], "edge": [0, 2, 0, 2], "kph": [60.0, 60.0, 30.0, 30.0]})
    network = tl.add_speeds(tl.build_network(drawn, timezone="UTC"), profile=week)
    means = tl.Transportation("driving+ferry", boarding_time=300, time_dependent=True)
    # To arrive at 8:14, the car is at the ferry at 8:01: half of the way there is driven before 8.
    for when, clock, there in (("departure_time", "07:58", 60), ("arrival_time", "08:14", 30 + 60)):
        how = {"transportation": means, "snapping": {"penalty": "disabled"}, when: f"2026-03-03T{clock}"}
        route = tl.routes(network, at((0, 0)), at((4000, 0)), **how)["route"].iloc[0]
        assert route.travel_time == there + 300 + 360 + 120
        assert sum(leg.travel_time for leg in route.legs) == route.travel_time


@pytest.mark.slow
def test_every_door_has_the_speeds_on_the_way(tmp_path):
    """Jobs, receipts, explanations, several moments, accessibility, scenarios and saved networks."""
    network = road(7, 60.0, 8, 30.0, cut=3000)
    start, end = at((0, 0)), at((10_000, 0))
    how = {"transportation": TIMED, "snapping": {"penalty": "disabled"}, "travel_time": 3600}
    then = {"departure_time": "2026-03-03T07:55"}
    found = tl.time_filter(network, start, end, **how, **then)
    assert found["travel_time"].tolist() == [900]
    assert tl.replay(found, network).is_same
    path = tl.write_matrix(network, start, end, tmp_path / "matrix", **how, **then)
    assert pd.read_parquet(path)["travel_time"].tolist() == [900]
    several = tl.time_filter(network, start, end, **how, departure_time=["2026-03-03T07:50", "2026-03-03T07:55"])
    assert several["travel_time"].tolist() == [600, 900]
    late = tl.explain(network, start, end, **(how | {"travel_time": 700}), **then)
    assert "900" in str(late.nearest_request["travel_time"])
    assert late.nearest_request["transportation"] == TIMED
    people = end.to_frame("geometry").assign(people=7)
    sums = tl.accessibility(network, start, people, values="people", **(how | {"travel_time": [899, 900]}), **then)
    assert sums["people"].tolist() == [0, 7]
    loaded = tl.load_network(network.save(tmp_path / "road.network"))
    slower = loaded.with_changes(tl.SetSpeed(factor=0.5, edges=[1]))
    # Three kilometres in three minutes, one at 30 km/h until 8, and six at 15 km/h.
    assert tl.time_filter(slower, start, end, **how, **then)["travel_time"].tolist() == [180 + 120 + 1440]


@pytest.mark.thorough
def test_a_thousand_pairs_of_a_city_equal_the_twin(porto_alegre):
    """500 pairs by departure and 500 by arrival, at the assumed congestion and at measured speeds."""
    rng, n = np.random.default_rng(0), porto_alegre.n_edges
    speeds = [9.0, 17.5, 28.0, 47.0]
    rows = pd.concat(
        pd.DataFrame({"edge": np.arange(n), "day": "weekday", "hour": hour, "kph": rng.choice(speeds, n)})
        for hour in (6, 7, 8)
    )
    by_hour = tl.add_speeds(porto_alegre, profile=rows)
    moment = dt.datetime(2026, 3, 3, 7, 55, tzinfo=ZoneInfo(porto_alegre.timezone))
    starts, ends = random_points(porto_alegre, 10, 1), random_points(porto_alegre, 50, 2)
    assert (
        compare(
            by_hour, measured(rows.assign(direction=None)), moment, starts, ends, is_arrival=False, most_ideal_ms=100
        )
        > 450
    )
    assert compare(porto_alegre, {}, moment, ends, starts, is_arrival=True) > 450
