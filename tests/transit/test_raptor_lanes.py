"""Many timetable searches at once, as one after the other and as their slow twin."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.oracles_transit import TransitOracle
from tests.support.timetables import random_table, trip_table
from tests.transit.test_raptor import arriving, departing, links, reached
from traveltime_lab._arrays import indptr_of
from traveltime_lab.kernels import time_lanes
from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.records import StopLinks
from traveltime_lab.kernels.time_lanes import LATEST, SEARCHES
from traveltime_lab.kernels.unreached import FORBIDDEN, NEVER
from traveltime_lab.settings import settings as settings_of_process
from traveltime_lab.transit import lanes
from traveltime_lab.transit.raptor import TransitSearch
from traveltime_lab.transit.search_options import TransitOptions, turned
from traveltime_lab.transit.trip_table import TripTable

tables = st.builds(
    random_table,
    st.integers(0, 2**32 - 1),
    n_stops=st.integers(2, 8),
    n_patterns=st.integers(1, 8),
    most_runs=st.integers(1, 6),
)
limited = st.builds(
    TransitOptions,
    travel_limit=st.sampled_from([1000, 1000, 60, 100]),
    max_changes=st.sampled_from([None, None, 0, 1, 2]),
    change_delay=st.sampled_from([0, 0, 3, 7]),
)


def in_lanes(
    table: TripTable, access: StopLinks, moments: np.ndarray, options: TransitOptions, *, is_arrival: bool
) -> np.ndarray | None:
    """Return what `TransitSearch.stop_times` returns, from lanes however few the searches are; None if not possible."""
    starts = turned(np.asarray(moments, np.int64), is_arrival)
    out = np.full((access.n_points, table.n_stops), -7, np.int32)
    search = lanes.LaneSearch(TransitSearch(table).lines(is_arrival))
    return out if search._run(access, starts, options.limits, lanes.to_stops(starts, out), 1, by_area=True) else None


def one_by_one(
    table: TripTable, access: StopLinks, moments: np.ndarray, options: TransitOptions, *, is_arrival: bool
) -> np.ndarray:
    """Return the same of searches that are too few for lanes."""
    search = TransitSearch(table)
    rows = [
        search.stop_times(access.rows(i, i + 1), int(moments[i]), options, is_arrival=is_arrival)
        for i in range(access.n_points)
    ]
    return np.concatenate(rows)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    tables, st.lists(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 40)), max_size=3), min_size=1, max_size=3),
    st.integers(-5, 60), limited, st.booleans(),
)  # fmt: skip
def test_lanes_equal_the_connection_scan(table, access, moment, options, is_arrival):
    moment = 170 - moment if is_arrival else moment
    moments = moment + np.arange(len(access))
    found = in_lanes(table, links(*access), moments, options, is_arrival=is_arrival)
    oracle, ask = TransitOracle(table), arriving if is_arrival else departing
    for row, seeds, at in zip(found, access, moments, strict=True):
        assert reached(row) == ask(oracle, seeds, int(at), options)


@st.composite
def many_points(draw: st.DrawFn) -> tuple[TripTable, StopLinks, np.ndarray]:
    """Draw a table, the links of up to three groups of lanes, and a moment of each point."""
    table = draw(tables)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.sampled_from([1, 2, SEARCHES - 1, SEARCHES, SEARCHES + 1, 2 * SEARCHES + 3]))
    counts = rng.integers(0, 4, n)
    stops, times = rng.integers(0, table.n_stops, counts.sum()), rng.integers(0, 40, counts.sum())
    access = StopLinks(indptr_of(counts), stops.astype(np.int32), times.astype(np.int32))
    return table, access, rng.integers(-5, 90, n)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(many_points(), limited, st.booleans())
def test_lanes_equal_single_searches(drawn, options, is_arrival):
    table, access, moments = drawn
    moments = 170 - moments if is_arrival else moments
    found = in_lanes(table, access, moments, options, is_arrival=is_arrival)
    assert np.array_equal(found, one_by_one(table, access, moments, options, is_arrival=is_arrival))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(many_points(), limited, st.booleans(), st.integers(0, 2**32 - 1))
def test_lanes_equal_single_searches_in_milliseconds(drawn, options, is_arrival, seed):
    # Whole seconds of the vehicles, any milliseconds of walks and moments; and footpaths too long for 16 bits.
    table, access, moments = drawn
    rng = np.random.default_rng(seed)
    moments = (170 - moments if is_arrival else moments) * 1000 + rng.integers(-1000, 1000, moments.size)
    table = table.in_milliseconds()
    walks = table.transfer_time + rng.integers(-999, 1, table.transfer_time.size) * (table.transfer_time > 0)
    walks = np.where(rng.random(walks.size) < 0.1, 40_000_000, walks)
    table = replace(table, transfer_time=walks.astype(np.int32))
    access = access._replace(ms=(access.ms * 1000 + rng.integers(0, 1000, access.ms.size)).astype(np.int32))
    options = replace(
        options, travel_limit=options.travel_limit * 1000 - 1, change_delay=options.change_delay * 1000 + seed % 2
    )
    found = in_lanes(table, access, moments, options, is_arrival=is_arrival)
    assert np.array_equal(found, one_by_one(table, access, moments, options, is_arrival=is_arrival))


@contextmanager
def chosen(way: bool) -> Iterator[None]:
    """Search in lanes wherever that is possible, or nowhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lanes, "_FEWEST", 1 if way else 10_000)
        patch.setattr(lanes.LaneSearch, "_is_busy", lambda *_: way)
        yield


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(many_points(), limited, st.booleans(), st.integers(0, 2**32 - 1))
def test_targets_and_moments_have_the_same_times_in_lanes(drawn, options, is_arrival, seed):
    table, access, moments = drawn
    moments = 170 - moments if is_arrival else moments
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, 5)
    ends, times = rng.integers(0, table.n_stops, counts.sum()), rng.integers(0, 40, counts.sum())
    egress = StopLinks(indptr_of(counts), ends.astype(np.int32), times.astype(np.int32))
    direct = rng.choice(np.array([NEVER, 20, 70], np.int32), 5)
    found = []
    for way in (False, True):
        search = TransitSearch(table)
        how = {"is_arrival": is_arrival}
        with chosen(way):
            # Twice, with what the first search has prepared.
            for _ in range(2):
                answers = [
                    search.target_times(access, moments, egress, options, **how),
                    search.stop_times(access, moments, options, **how),
                    search.stop_times_by_moment(access.of(0), moments, options, **how),
                    search.window_times(access.of(0), moments, egress, options, direct_time=direct, **how),
                ]
        found.append(answers)
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)


def test_busy_departures_are_searched_in_lanes_and_others_with_range_raptor(monkeypatch):
    # A vehicle every minute, or every quarter of an hour.
    ways = []
    run = lanes.LaneSearch._run
    monkeypatch.setattr(lanes.LaneSearch, "_run", lambda *a, **k: ways.append(True) or run(*a, **k))
    moments = 60 * np.arange(60)
    for headway, is_busy in ((60, True), (900, False)):
        runs = [[(at, at), (at + 300, at + 300)] for at in range(0, 8000, headway)]
        search = TransitSearch(trip_table([([0, 1], runs)], 2))
        found = search.stop_times_by_moment((np.zeros(1, int), np.array([30])), moments, TransitOptions(7200))
        assert found[:, 1].tolist() == [-(-(at + 30) // headway) * headway + 300 - at for at in moments]
        assert bool(ways) is is_busy
        ways.clear()


@pytest.mark.parametrize("is_watched", [False, True])
def test_matrices_are_searched_in_lanes_by_many_threads_and_when_watched(monkeypatch, is_watched):
    sizes = []
    run = lanes.LaneSearch.from_points
    monkeypatch.setattr(
        lanes.LaneSearch,
        "from_points",
        lambda self, access, *rest: sizes.append(access.n_points) or run(self, access, *rest),
    )
    points = tl.sample_points().iloc[np.arange(70) % 8].reset_index(drop=True)
    how = {"transportation": "public_transport", "departure_time": "2019-05-13T08:00", "form": "matrix"}
    report = (lambda done, total: None) if is_watched else False
    with settings_of_process.override(threads=16):
        tl.time_filter(tl.sample_network(), points, points[:3], travel_time=1800, progress=report, **how)
    assert sizes == [35, 35]


@pytest.mark.parametrize("early", [0, 1])
def test_each_lane_catches_its_own_trip_where_several_walk_to_one_stop(early):
    # Stops 0 and 1 each have a line to 2 and 3, from which one walks to 4; one of them arrives 100 before the other.
    late = [0, 100][early], [100, 0][early]
    patterns = [([stop, stop + 2], [[(at, at), (at + 10, at + 10)]]) for stop, at in enumerate(late)]
    patterns.append(([4, 5], [[(at, at), (at + 10, at + 10)] for at in range(20, 200, 20)]))
    table = trip_table(patterns, 6, walks={(2, 4): 5, (3, 4): 5})
    found = in_lanes(table, links([(0, 0)], [(1, 0)]), np.array([0, 0]), TransitOptions(1000), is_arrival=False)
    assert found[:, 5].tolist() == [at + 30 for at in late]


def test_all_lanes_stay_seated_where_vehicles_join():
    # Two trips continue as one, and each is caught by one of two lanes. Nobody may change at stop 1.
    patterns = [([0, 1], [[(5, 5), (10, 10)], [(20, 20), (30, 30)]]), ([1, 2], [[(40, 40), (50, 50)]])]
    table = trip_table(patterns, 3, change_time=[0, FORBIDDEN, 0], stays={0: 2, 1: 2})
    found = in_lanes(table, links([(0, 0)], [(0, 15)], [(0, 25)]), np.zeros(3), TransitOptions(100), is_arrival=False)
    assert found[:, 2].tolist() == [50, 50, NEVER]


def test_one_walks_on_from_a_stop_where_nobody_may_change():
    patterns = [([0, 1], [[(0, 0), (10, 10)]]), ([2, 3], [[(20, 20), (30, 30)]]), ([1, 4], [[(20, 20), (30, 30)]])]
    table = trip_table(patterns, 5, walks={(1, 2): 5}, change_time=[0, FORBIDDEN, 0, 0, 0])
    found = in_lanes(table, links([(0, 0)]), np.zeros(1), TransitOptions(100), is_arrival=False)
    assert found.tolist() == [[NEVER, 10, NEVER, 30, NEVER]]


def test_trips_that_begin_before_the_first_departure_or_after_the_limit_do_not_count():
    # One has left stop 0 before the search begins, and one continues as a trip that departs after the limit.
    patterns = [([0, 1], [[(-5, -5), (10, 10)], [(5, 5), (20, 20)]]), ([1, 2], [[(110, 110), (120, 120)]])]
    table = trip_table(patterns, 3, stays={0: 2, 1: 2})
    found = in_lanes(table, links([(0, 0)]), np.zeros(1), TransitOptions(100), is_arrival=False)
    assert found.tolist() == [[NEVER, 20, NEVER]]


def test_rides_of_no_time_at_the_first_and_the_last_moment_count():
    patterns = [([0, 1], [[(0, 0), (0, 0)]]), ([0, 2], [[(100, 100), (100, 100)]])]
    found = in_lanes(trip_table(patterns, 3), links([(0, 0)]), np.zeros(1), TransitOptions(100), is_arrival=False)
    assert found.tolist() == [[NEVER, 0, 100]]


def test_times_that_are_no_whole_seconds_are_searched_one_by_one():
    n = lanes._FEWEST
    access, moments = links(*[[(0, 0)]] * n), np.zeros(n)
    options = TransitOptions(100_000)
    for table, is_possible in (
        (trip_table([([0, 1], [[(0, 5_000), (9_000, 9_000)]])], 2), True),
        (trip_table([([0, 1], [[(0, 5_000), (9_001, 9_001)]])], 2), False),
        # Beyond the limit, and before the departure, it does not matter.
        (trip_table([([0, 1], [[(0, 5_000), (9_000, 9_000)], [(0, 100_001), (100_001, 100_001)]])], 2), True),
        (trip_table([([0, 1], [[(-5, -5), (-2, -1)], [(0, 5_000), (9_000, 9_000)]])], 2), True),
    ):
        found = in_lanes(table, access, moments, options, is_arrival=False)
        assert (found is not None) is is_possible
        expected = [[NEVER, 9_000 if is_possible else 9_001]] * n
        assert found is None or found.tolist() == expected
        assert TransitSearch(table).stop_times(access, moments, options).tolist() == expected


def repeated(table: TripTable, after: np.ndarray) -> TripTable:
    """Return a table whose vehicles go again after some times; none of them continues as another trip."""
    n_each = np.diff(table.instance_indptr)
    blocks = np.split(np.arange(table.arrival.size), table.time_indptr[1:-1])
    rows = np.concatenate([np.tile(block, after.size) for block in blocks])
    more = np.concatenate([np.repeat(after, block.size) for block in blocks])
    return replace(
        table,
        instance_indptr=indptr_of(n_each * after.size),
        time_indptr=table.time_indptr * after.size,
        arrival=(table.arrival[rows] + more).astype(np.int32),
        departure=(table.departure[rows] + more).astype(np.int32),
        stay_instance=np.full(n_each.sum() * after.size, -1, np.int32),
    )


@pytest.mark.parametrize("arrival", [40_000, 40_300, 40_499, 40_500, 40_501])
def test_a_part_of_a_second_before_the_limit_counts(arrival):
    n, options = lanes._FEWEST, TransitOptions(40_500)
    table = trip_table([([0, 1], [[(0, 5_000), (arrival, arrival)]])], 2)
    access, moments = links(*[[(0, 0)]] * n), np.zeros(n)
    assert (in_lanes(table, access, moments, options, is_arrival=False) is not None) is (arrival in (40_000, 40_501))
    found = [NEVER, arrival if arrival <= 40_500 else NEVER]
    assert TransitSearch(table).stop_times(access, moments, options).tolist() == [found] * n


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(tables, limited, st.booleans(), st.integers(0, 2**32 - 1), st.sampled_from([40_000, 300_000, 3_000_000]))
def test_moments_far_apart_are_searched_in_parts(table, options, is_arrival, seed, apart):
    rng = np.random.default_rng(seed)
    moments = rng.integers(0, 30, 40) * apart + rng.integers(-40_000, 300_000, 40)
    table = repeated(table.in_milliseconds(), np.arange(-1, 2 + int(moments.max()) // 600_000) * 600_000)
    options = replace(options, travel_limit=options.travel_limit * 1000, change_delay=options.change_delay * 1000)
    seeds = rng.integers(0, table.n_stops, 3).astype(np.int32), rng.integers(0, 40_000, 3).astype(np.int32)
    access = StopLinks(np.arange(41) * 3, np.tile(seeds[0], 40), np.tile(seeds[1], 40))
    expected = one_by_one(table, access, moments, options, is_arrival=is_arrival)
    search = TransitSearch(table)
    with chosen(True):
        for _ in range(2):
            found = search.stop_times_by_moment(seeds, moments, options, is_arrival=is_arrival)
            assert np.array_equal(found, expected)
    n_parts = len(lanes._in_parts(turned(moments, is_arrival), options.travel_limit))
    assert n_parts == 1 or len(search._in_lanes[is_arrival]._idle) == n_parts


def test_timetables_that_take_too_much_memory_are_forgotten(monkeypatch):
    table = trip_table([([0, 1], [[(0, 5_000), (9_000, 9_000)]])], 2)
    access, moments = links(*[[(0, 0)]] * 4), np.arange(4) * 40_000_000
    search = lanes.LaneSearch(TransitSearch(table).lines(False))
    out = np.empty((4, 2), np.int32)

    def run() -> None:
        starts = moments.astype(np.int32)
        assert search._run(access, starts, TransitOptions(9_000).limits, lanes.to_stops(starts, out), 1, by_area=True)

    run()
    assert out.tolist() == [[NEVER, 9_000], *[[NEVER, NEVER]] * 3]
    assert [mine.moments.base for mine in search._idle] == moments.tolist()
    monkeypatch.setattr(lanes, "_MOST_KEPT", 2 * search._idle[0].n_bytes)
    run()
    assert [mine.moments.base for mine in search._idle] == moments[2:].tolist()


def test_searches_too_long_for_lanes_are_searched_one_by_one():
    n, options = lanes._FEWEST, TransitOptions(50_000_000)
    table = trip_table([([0, 1], [[(0, 5_000), (45_000_000, 45_000_000)]])], 2)
    access, moments = links(*[[(0, 0)]] * n), np.zeros(n)
    assert in_lanes(table, access, moments, options, is_arrival=False) is None
    assert TransitSearch(table).stop_times(access, moments, options).tolist() == [[NEVER, 45_000_000]] * n


@kernel
def within(rows, row, time):
    """Call the intrinsic, which Python cannot."""
    return time_lanes.within(rows, row, time)


@kernel
def lower(rows, row, changed, time):
    """Call the intrinsic, which Python cannot."""
    return time_lanes.lower(rows, row, changed, time)


@kernel
def lower_from(rows, row, others, other, time):
    """Call the intrinsic, which Python cannot."""
    return time_lanes.lower_from(rows, row, others, other, time)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([3, int(LATEST)]))
def test_lanes_are_compared_as_one_by_one(seed, most):
    # Few values, so that lanes are equal, or any.
    rng = np.random.default_rng(seed)
    rows, others = rng.integers(0, most, (2, 3, SEARCHES), np.int16, endpoint=True)
    time, changed = np.int16(rng.integers(0, most + 1)), np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
    row, other = int(rng.integers(3)), int(rng.integers(3))
    assert within(rows, row, time) == time_lanes._within_one_by_one(rows, row, time)
    for compiled, plain, arguments in (
        (lower, time_lanes._lower_one_by_one, (row, changed, time)),
        (lower_from, time_lanes._lower_from_one_by_one, (row, others, other, time)),
    ):
        found, expected = rows.copy(), rows.copy()
        assert compiled(found, *arguments) == plain(expected, *arguments)
        assert np.array_equal(found, expected)


#: Half an hour, in milliseconds and so in ticks of a second, for the searches of eight points.
WITHOUT_NUMBA = """
import numpy as np
from tests.support.timetables import trip_table
from tests.transit.test_raptor import links
from traveltime_lab.transit.raptor import TransitSearch
from traveltime_lab.transit.search_options import TransitOptions

search = TransitSearch(trip_table([([0, 1], [[(0, 5_000), (1_800_000, 1_800_000)]])], 2))
for n in (1, 8):
    found = search.stop_times(links(*[[(0, 0)]] * n), np.zeros(n), TransitOptions(7_200_000))
    assert found[:, 1].tolist() == [1_800_000] * n
"""


@pytest.mark.slow
def test_times_are_the_same_without_numba():
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-W", "error", "-c", WITHOUT_NUMBA], check=True, env=environment)
