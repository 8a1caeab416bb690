"""Measured speeds by hour: stored without loss in the narrowest form, and equal to 168 times of the week."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.oracle_hours import free_kph, kph_then, measured, profiles, week_of_times
from tests.support.worlds import towns, world
from traveltime_lab.modes.transportation import TRAFFIC_MODELS, Transportation
from traveltime_lab.moments import WEEKDAY_MORNING
from traveltime_lab.streets import costs, hourly_speeds, layer
from traveltime_lab.streets.hourly_speeds import HourlySpeeds, check_hourly, overlaid
from traveltime_lab.streets.layer import HOURLY_GRAPHS
from traveltime_lab.streets.traffic import is_hour, kph_in_traffic, traffic_of

quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
MODELS = (None, *TRAFFIC_MODELS)


@st.composite
def weeks(draw, n_weeks=None):
    """Draw some weeks, with hours that are missing and days that are equal."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_weeks = draw(st.integers(1, 6)) if n_weeks is None else n_weeks
    values = np.array([np.nan, *rng.uniform(0.1, 500.0, draw(st.integers(1, 5)))], np.float32)
    days = values[rng.integers(values.size, size=(draw(st.integers(1, 3)), 24))]
    return days[rng.integers(len(days), size=(n_weeks, 7))].reshape(n_weeks, 168)


@st.composite
def directed(draw, n_weeks, n_directed=12):
    """Draw the week of each directed edge, -1 for none."""
    number = st.integers(-1, n_weeks - 1)
    return np.array(draw(st.lists(number, min_size=n_directed, max_size=n_directed)), np.intp)


def dense(hourly, n_directed=12):
    """Return the speeds of each directed edge."""
    if hourly is None:
        return np.full((n_directed, 168), np.nan, np.float32)
    return hourly.speeds()[hourly.week_of]


def plain(week_of, speeds):
    return np.where(week_of[:, None] >= 0, speeds[week_of], np.float32(np.nan))


def same(one, other):
    if one is None or other is None:
        assert one is other
        return
    for name, array in one.arrays().items():
        assert array.dtype == getattr(other, name).dtype
        np.testing.assert_array_equal(array, getattr(other, name))


@quick
@given(st.data())
@pytest.mark.parametrize("how", ["places", "speeds", "equal hashes"])
def test_nothing_is_lost_and_the_form_is_one(how, data):
    with pytest.MonkeyPatch.context() as patch:
        if how == "speeds":
            patch.setattr(hourly_speeds, "_MOST_PLACES", 1)
        if how == "equal hashes":
            patch.setattr(hourly_speeds, "_PRIME", np.uint64(0))
        speeds = data.draw(weeks())
        week_of = data.draw(directed(len(speeds)))
        hourly = HourlySpeeds.of(week_of, speeds)
        np.testing.assert_array_equal(dense(hourly), plain(week_of, speeds))
        # Rows in another order, twice, and unused ones.
        order = data.draw(st.permutations(range(len(speeds))))
        number = np.append(np.argsort(order), -1)
        more = np.vstack([speeds[order], speeds, np.full((1, 168), 77.0, np.float32)])
        same(hourly, HourlySpeeds.of(number[week_of], more))
        if hourly is not None:
            check_hourly(hourly, 6)
            assert len(np.unique(hourly.weeks, axis=0)) == len(hourly.weeks)
            for hour in (0, 100, 167):
                np.testing.assert_array_equal(hourly.at(hour)[hourly.week_of], dense(hourly)[:, hour])
            assert hourly.range_kph() == (np.nanmin(plain(week_of, speeds)), np.nanmax(plain(week_of, speeds)))


@quick
@given(st.data())
def test_what_is_done_with_speeds_is_done_with_those_of_each_edge(data):
    speeds, later = data.draw(weeks()), data.draw(weeks())
    week_of = data.draw(directed(len(speeds)))
    hourly = HourlySpeeds.of(week_of, speeds)
    if hourly is None:
        return
    before = plain(week_of, speeds)
    new_of = data.draw(directed(len(later)))
    above = plain(new_of, later)
    np.testing.assert_array_equal(dense(overlaid(hourly, new_of, later)), np.where(np.isnan(above), before, above))
    same(overlaid(None, new_of, later), HourlySpeeds.of(new_of, later))
    rows = np.array(data.draw(st.lists(st.integers(0, 11), max_size=8)), np.intp)
    left = before.copy()
    left[rows] = np.nan
    np.testing.assert_array_equal(dense(hourly.without(rows)), left)
    factor = np.array(data.draw(st.lists(st.sampled_from([0.5, 1.0, 1.3]), min_size=12, max_size=12)))
    np.testing.assert_array_equal(dense(hourly.scaled(factor)), (before * factor[:, None]).astype(np.float32))
    same(hourly.scaled(np.ones(12)), hourly)
    edges = np.array(data.draw(st.lists(st.integers(-1, 5), min_size=1, max_size=8)), np.intp)
    pairs = np.where(edges[:, None, None] >= 0, before.reshape(6, 2, 168)[edges], np.nan)
    np.testing.assert_array_equal(dense(hourly.of_edges(edges), 2 * edges.size), pairs.reshape(-1, 168))


@quick
@given(towns(), st.data())
@pytest.mark.thorough
def test_speeds_at_a_moment_equal_those_of_a_list_of_times(network, data):
    rows = data.draw(profiles(network.n_edges))
    if not len(rows):
        return
    network = tl.add_speeds(network, profile=rows)
    tables, table = network.tables, measured(rows)
    places = [(edge, side) for edge in range(network.n_edges) for side in range(2) if free_kph(tables, edge, side)]
    times = {place: week_of_times(tables, table, *place) for place in places}
    hour = data.draw(st.sampled_from([0, 3, 8, 9, 24 + 8, 24 + 17, 5 * 24 + 8, 6 * 24 + 23]))
    monday = dt.datetime(2026, 3, 2)
    for moment in (None, WEEKDAY_MORNING, monday + dt.timedelta(hours=hour, minutes=59)):
        found = {}
        for model in MODELS:
            traffic = traffic_of(tables.hourly, model, moment)
            for side in range(2):
                kph = kph_in_traffic(tables, "driving", side, traffic)
                found[model, side] = kph
                for edge in range(network.n_edges):
                    if (edge, side) not in times:
                        assert kph[edge] == 0
                    else:
                        assert kph[edge] == pytest.approx(kph_then(times[edge, side], model, moment), rel=1e-9)
                        at_hour = table.get((edge, side, hour))
                        if isinstance(moment, dt.datetime) and model is None and at_hour is not None:
                            assert kph[edge] == at_hour  # without any rounding
        for side in range(2):
            slow, usual, quick_ = (found[each, side] for each in ("pessimistic", "balanced", "optimistic"))
            assert (slow <= usual * (1 + 1e-9)).all() and (usual <= quick_ * (1 + 1e-9)).all()
            assert (quick_ <= found["off_peak", side] * (1 + 1e-9)).all()


@pytest.mark.parametrize("model", MODELS)
def test_streets_without_measured_speeds_have_the_congestion_of_others(model):
    network = world({0: (0, 0), 1: (1000, 0), 2: (2000, 0)}, [(0, 1, {"highway": "primary"}), (1, 2)])
    some = tl.add_speeds(network, profile=frame([(1, 8, 10.0)]))
    for moment in (None, WEEKDAY_MORNING, *(dt.datetime(2026, 3, day, 8) for day in range(2, 9))):
        traffic = traffic_of(network.tables.hourly, model, moment)
        assert traffic == costs.congestion(model, moment)
        other = kph_in_traffic(some.tables, "driving", 0, traffic_of(some.tables.hourly, model, moment))
        assert other[0] == kph_in_traffic(network.tables, "driving", 0, traffic)[0]


def frame(rows):
    """Return a profile of edges, hours and speeds."""
    return pd.DataFrame(rows, columns=["edge", "hour", "kph"])


def test_moments_of_one_hour_share_a_graph_and_so_do_days_that_are_alike():
    network = world({0: (0, 0), 1: (1000, 0)}, [(0, 1)])
    network = tl.add_speeds(network, profile=frame([(0, 8, 10.0), (0, 9, 12.0)]))
    graphs = {when: network.road_graph("driving", when) for when in (
        "2026-03-03T08:00", "2026-03-03T08:59:59", "2026-03-05T08:30", "2026-03-07T08:30", "2026-03-03T09:00",
    )}  # fmt: skip
    tuesday, later, thursday, saturday, nine = graphs.values()
    assert tuesday is later is thursday
    # The congestion that is assumed where nothing is measured differs.
    assert len({id(tuesday), id(saturday), id(nine)}) == 3
    free = Transportation("driving", traffic_model="off_peak")
    assert network.road_graph(free, "2026-03-03T08:00") is network.road_graph(free)


def test_few_graphs_of_hours_are_kept_in_large_networks(monkeypatch):
    assert layer.hours_kept(1) == layer.hours_kept(5000) == 168
    assert layer.hours_kept(10**8) == layer.FEWEST_HOURS
    assert layer.FEWEST_HOURS < layer.hours_kept(366_923) < 24
    monkeypatch.setattr(layer, "MEMORY_OF_HOURS", 0)
    network = world({0: (0, 0), 1: (1000, 0)}, [(0, 1)])
    network = tl.add_speeds(network, profile=frame([(0, hour, 10.0 + hour) for hour in range(24)]))
    for hour in range(24):
        network.road_graph("driving", dt.datetime(2026, 3, 3, hour))
        network.road_graph("driving")  # is not among them
    assert len(network.streets.memo.entries[HOURLY_GRAPHS]) == layer.FEWEST_HOURS
    assert is_hour(traffic_of(network.tables.hourly, None, dt.datetime(2026, 3, 3, 8)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"week_of": np.array([0, 9], np.uint8)}, "week_of contains indices"),
        ({"week_of": np.array([0, 1, 1], np.uint8)}, "week_of must have 2"),
        ({"week_of": np.array([0, 1], np.int64)}, "week_of must have 2"),
        ({"weeks": np.full((2, 7), 9, np.uint8)}, "weeks contains indices"),
        ({"weeks": np.ones((2, 7), np.uint8)}, "must be without speeds"),
        ({"weeks": np.zeros((0, 7), np.uint8)}, "weeks contains indices|week_of contains indices"),
        ({"days": np.full((2, 24), 9, np.uint8)}, "days contains indices"),
        ({"days": np.ones((2, 24), np.uint8)}, "must be without speeds"),
        ({"days": np.ones((2, 24), np.float32)}, "days must have"),
        ({"kph": np.array([np.nan, np.nan], np.float32)}, "positive and finite"),
        ({"kph": np.array([np.nan, -1.0], np.float32)}, "positive and finite"),
        ({"kph": np.array([np.nan, np.inf], np.float32)}, "positive and finite"),
        ({"kph": np.array([5.0, 6.0], np.float32)}, "after NaN"),
        ({"kph": np.array([np.nan, 6.0])}, "float32"),
        ({"kph": np.zeros(0, np.float32)}, "days must have"),
        ({"kph": np.zeros(0, np.float32), "days": np.ones((2, 24), np.float32)}, "must be without speeds"),
        ({"kph": np.zeros(0, np.float32), "days": np.full((2, 24), np.nan, np.float32)}, "positive and finite"),
    ],
)
def test_arrays_without_sense_are_refused(changes, words):
    hourly = HourlySpeeds.of(np.array([-1, 0]), np.full((1, 168), 30.0, np.float32))
    assert hourly is not None
    check_hourly(hourly, 1)
    with pytest.raises(ValueError, match=words):
        check_hourly(replace(hourly, **changes), 1)
