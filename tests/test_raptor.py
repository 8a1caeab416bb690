"""The timetable searches against their slow twins, and the laws that they must keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_transit import TransitOracle
from timetables import random_table, trip_table

from traveltime_lab.kernels import lines as line_kernels
from traveltime_lab.kernels import raptor
from traveltime_lab.kernels.lines import UNREACHED, Lines
from traveltime_lab.trip_table import TripTable

tables = st.builds(
    random_table,
    st.integers(0, 2**32 - 1),
    n_stops=st.integers(2, 6),
    n_patterns=st.integers(1, 6),
    most_runs=st.integers(1, 4),
)
seconds = st.integers(0, 60)
seed_lists = st.lists(st.tuples(st.integers(0, 1), seconds), min_size=1, max_size=3)
changes = st.sampled_from([-1, -1, 0, 1, 2])
delays = st.sampled_from([0, 0, 3, 7])
limits = st.sampled_from([1000, 1000, 80, 120])


def forward(table: TripTable) -> Lines:
    t = table
    return line_kernels.forward_lines(
        t.pattern_indptr, t.pattern_stops, t.can_board, t.can_alight, t.run_indptr, t.time_indptr,
        t.arrival, t.departure, t.transfer_indptr, t.transfer_stop, t.transfer_s, t.change_s, t.stay_run,
    )  # fmt: skip


def rides(max_changes: int) -> int:
    return raptor.UNLIMITED if max_changes < 0 else max_changes + 1


def earliest(lines: Lines, seeds: list[tuple[int, int]], max_changes: int, delay: int, limit: int) -> dict[int, int]:
    stops, times = np.array(seeds, np.int32).reshape(-1, 2).T.copy()
    state = raptor.new_state(lines, 1)
    found = raptor.search(lines, state, stops, times, limit, rides(max_changes), delay)
    return {stop: int(time) for stop, time in enumerate(found) if time != UNREACHED}


def latest(lines: Lines, seeds: list[tuple[int, int]], max_changes: int, delay: int, limit: int) -> dict[int, int]:
    turned = [(stop, -time) for stop, time in seeds]
    found = earliest(line_kernels.mirrored(lines), turned, max_changes, delay, -limit)
    return {stop: -time for stop, time in found.items()}


@settings(max_examples=1500, deadline=None)
@given(tables, seed_lists, changes, delays, limits)
def test_earliest_arrivals_equal_the_connection_scan(table, seeds, max_changes, delay, limit):
    expected = TransitOracle(table).earliest(seeds, max_changes=max_changes, change_delay=delay, limit=limit)
    assert earliest(forward(table), seeds, max_changes, delay, limit) == expected


@settings(max_examples=1500, deadline=None)
@given(tables, seed_lists, changes, delays, st.sampled_from([-1000, -1000, 40, 80]))
def test_latest_departures_equal_the_connection_scan(table, seeds, max_changes, delay, limit):
    seeds = [(stop, 180 - time) for stop, time in seeds]
    expected = TransitOracle(table).latest(seeds, max_changes=max_changes, change_delay=delay, limit=limit)
    assert latest(forward(table), seeds, max_changes, delay, limit) == expected


@settings(max_examples=150, deadline=None)
@given(tables, seed_lists, changes, delays)
def test_the_backward_twin_means_what_it_says(table, seeds, max_changes, delay):
    seeds = [(stop, 180 - time) for stop, time in seeds]
    oracle = TransitOracle(table)
    expected = oracle.latest_by_trying(seeds, max_changes=max_changes, change_delay=delay)
    assert oracle.latest(seeds, max_changes=max_changes, change_delay=delay) == expected


@settings(max_examples=100, deadline=None)
@given(tables)
def test_mirroring_twice_gives_the_lines_back(table):
    lines = forward(table)
    again = line_kernels.mirrored(line_kernels.mirrored(lines))
    for name in ("pattern_stops", "can_board", "can_alight", "arrival", "departure", "stop_pattern", "stay_indptr"):
        assert np.array_equal(getattr(again, name), getattr(lines, name)), name
    assert line_kernels.first_fault(lines)[0] == 0 == line_kernels.first_fault(again)[0]


def test_staying_seated_in_a_later_run_is_no_change():
    """The first run ends at stop 1; only the second one continues to stop 2."""
    table = trip_table(
        [((0, 1), [[(0, 0), (10, 10)], [(5, 5), (15, 15)]]), ((1, 2), [[(16, 16), (30, 30)]])], 3, stays={1: 2},
        change_s=[0, 60, 0],
    )  # fmt: skip
    assert earliest(forward(table), [(0, 0)], 0, 0, 1000) == {1: 10, 2: 30}
    assert latest(forward(table), [(2, 30)], 0, 0, -1000) == {0: 5, 1: 16}


def test_a_change_at_the_stop_takes_its_time_and_a_footpath_its_own():
    lines_to = [((0, 1), [[(0, 0), (10, 10)]]), ((1, 3), [[(39, 39), (50, 50)]]), ((2, 3), [[(39, 39), (60, 60)]])]
    table = trip_table(lines_to, 4, change_s=[0, 30, 0, 0], walks={(1, 2): 20})
    assert earliest(forward(table), [(0, 0)], -1, 0, 1000) == {1: 10, 3: 60}
    assert earliest(forward(table), [(0, 0)], -1, 10, 1000) == {1: 10}
    table = trip_table(lines_to, 4, change_s=[0, 29, 0, 0], walks={(1, 2): 20})
    assert earliest(forward(table), [(0, 0)], -1, 0, 1000) == {1: 10, 3: 50}


@pytest.mark.parametrize(("name", "value", "fault"), [("arrival", 9, 3), ("transfer_s", -5, 5), ("change_s", -5, 6)])
def test_broken_tables_are_noticed(name, value, fault):
    table = trip_table([((0, 1), [[(0, 0), (10, 10)], [(5, 5), (15, 15)]])], 2, walks={(0, 1): 20}, change_s=[0, 0])
    getattr(table, name)[-1] = value
    assert line_kernels.first_fault(forward(table))[0] == fault
