"""The timetable searches against their slow twins, and the laws that they must keep."""

from __future__ import annotations

import itertools
import math
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.oracles_transit import TransitOracle
from tests.support.timetables import random_table, trip_table
from traveltime_lab._arrays import indptr_of
from traveltime_lab.errors import DataError, InputError, LimitError
from traveltime_lab.kernels.records import StopLinks
from traveltime_lab.kernels.transit import patterns as line_kernels
from traveltime_lab.kernels.transit import range_raptor
from traveltime_lab.kernels.transit.access import gather
from traveltime_lab.kernels.transit.journeys import Searches
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.transit.legs import Itineraries
from traveltime_lab.transit.raptor import TransitSearch
from traveltime_lab.transit.search_options import TransitOptions
from traveltime_lab.transit.trip_table import TripTable

tables = st.builds(
    random_table,
    st.integers(0, 2**32 - 1),
    n_stops=st.integers(2, 6),
    n_patterns=st.integers(1, 6),
    most_runs=st.integers(1, 4),
)
access_lists = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 40)), min_size=1, max_size=3)
options = st.builds(
    TransitOptions,
    travel_limit=st.sampled_from([1000, 1000, 60, 100]),
    max_changes=st.sampled_from([None, None, 0, 1, 2]),
    change_delay=st.sampled_from([0, 0, 3, 7]),
)
moments = st.integers(-5, 60)
ANY = TransitOptions(1000)
DIRECT = TransitOptions(1000, max_changes=0)


def links(*rows: list[tuple[int, int]]) -> StopLinks:
    flat = [pair for row in rows for pair in row]
    stops, times = (np.array([pair[side] for pair in flat], np.int32) for side in (0, 1))
    return StopLinks(indptr_of([len(row) for row in rows]), stops, times)


def asked(options: TransitOptions) -> dict[str, int]:
    return {
        "max_changes": -1 if options.max_changes is None else options.max_changes,
        "change_delay": options.change_delay,
    }


def departing(oracle: TransitOracle, access: list, moment: int, options: TransitOptions) -> dict[int, int]:
    seeds = [(stop, moment + s) for stop, s in access]
    found = oracle.earliest(seeds, limit=moment + options.travel_limit, **asked(options))
    return {stop: time - moment for stop, time in found.items()}


def arriving(oracle: TransitOracle, access: list, moment: int, options: TransitOptions) -> dict[int, int]:
    seeds = [(stop, moment - s) for stop, s in access]
    found = oracle.latest(seeds, limit=moment - options.travel_limit, **asked(options))
    return {stop: moment - time for stop, time in found.items()}


def reached(times: np.ndarray) -> dict[int, int]:
    return {stop: int(time) for stop, time in enumerate(times) if time != NEVER}


def stop_times(table: TripTable, access: list, moment: int, options: TransitOptions, **more: bool) -> dict[int, int]:
    return reached(TransitSearch(table).stop_times(links(access), moment, options, **more)[0])


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(tables, access_lists, moments, options)
def test_earliest_arrivals_equal_the_connection_scan(table, access, moment, options):
    expected = departing(TransitOracle(table), access, moment, options)
    assert stop_times(table, access, moment, options) == expected


@settings(max_examples=500, deadline=None)
@given(tables, access_lists, moments, options)
@pytest.mark.slow
def test_latest_departures_equal_the_connection_scan(table, access, moment, options):
    moment = 170 - moment
    expected = arriving(TransitOracle(table), access, moment, options)
    assert stop_times(table, access, moment, options, is_arrival=True) == expected


@settings(max_examples=150, deadline=None)
@given(tables, access_lists, options)
def test_the_backward_twin_means_what_it_says(table, access, options):
    seeds = [(stop, 150 - s) for stop, s in access]
    oracle = TransitOracle(table)
    assert oracle.latest(seeds, **asked(options)) == oracle.latest_by_trying(seeds, **asked(options))


@settings(max_examples=150, deadline=None)
@given(tables, access_lists, moments, st.integers(0, 40), options, st.booleans(), st.data())
def test_windows_equal_a_search_at_every_second(table, access, moment, width, options, is_arrival, data):
    moment = 150 - moment if is_arrival else moment
    every = range(moment - width, moment + 1) if is_arrival else range(moment, moment + width + 1)
    oracle, search = TransitOracle(table), TransitSearch(table)
    ask = arriving if is_arrival else departing
    singles = {start: ask(oracle, access, start, options) for start in every}

    least: dict[int, int] = {}
    for found in singles.values():
        for stop, time in found.items():
            least[stop] = min(time, least.get(stop, time))
    times = search.window_stop_times(links(access), moment, width, options, is_arrival=is_arrival)
    assert reached(times[0]) == least

    stops = st.integers(0, table.n_stops - 1)
    egress = data.draw(st.lists(st.lists(st.tuples(stops, st.integers(0, 30)), max_size=3), min_size=1, max_size=2))
    chosen = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=4))
    direct = np.array([data.draw(st.sampled_from([NEVER, 20, 70])) for _ in egress], np.int32)
    rows = search.window_times(
        (np.array([stop for stop, _ in access]), np.array([s for _, s in access])), chosen, links(*egress), options,
        is_arrival=is_arrival, direct_time=direct,
    )  # fmt: skip

    def through(found: dict[int, int], ports: list[tuple[int, int]]) -> float:
        time = min((found[stop] + s for stop, s in ports if stop in found), default=math.inf)
        return time if time <= options.travel_limit else math.inf

    for row, start in zip(rows, chosen, strict=True):
        for time, ports, other in zip(row, egress, direct, strict=True):
            either = min(through(singles[start], ports), other if other <= options.travel_limit else math.inf)
            assert time == (NEVER if either == math.inf else either)

    seconds, starts = search.window_best(
        links(access), moment, width, links(*egress), 3, options, is_arrival=is_arrival
    )
    for target, ports in enumerate(egress):
        sign = -1 if is_arrival else 1
        pareto, best = [], math.inf
        for start in every if is_arrival else reversed(every):
            time = through(singles[start], ports)
            if sign * start + time < best:
                best = sign * start + time
                pareto.append((time, start))
        pareto.sort(key=lambda pair: pair[0])
        got = [(int(s), int(m)) for s, m in zip(seconds[0, target], starts[0, target], strict=True) if s != NEVER]
        assert got == [(time, start) for time, start in pareto if time < math.inf][:3]


@settings(max_examples=250, deadline=None)
@given(tables, access_lists, moments, options, st.booleans())
def test_journeys_can_be_travelled_and_take_the_time_of_the_label(table, access, moment, options, is_arrival):
    moment = 150 - moment if is_arrival else moment
    search = TransitSearch(table)
    arrays = np.array([stop for stop, _ in access]), np.array([s for _, s in access])
    times, found = search.journeys(arrays, moment, np.arange(table.n_stops), options, is_arrival=is_arrival)
    assert reached(times) == stop_times(table, access, moment, options, is_arrival=is_arrival)
    walks = {
        (start, int(table.transfer_stop[k])): int(table.transfer_time[k])
        for start in range(table.n_stops)
        for k in range(table.transfer_indptr[start], table.transfer_indptr[start + 1])
    }
    for stop in range(table.n_stops):
        rides = list(range(found.indptr[stop], found.indptr[stop + 1]))
        if times[stop] == NEVER:
            assert not rides
            continue
        for ride in rides:
            check_ride(table, found, ride)
        assert options.max_changes is None or len(rides) <= options.max_changes + 1
        for first, second in itertools.pairwise(rides):
            pair = int(found.alight_stop[first]), int(found.board_stop[second])
            change = min(walks.get(pair, NEVER), int(table.change_time[pair[0]]) if pair[0] == pair[1] else NEVER)
            assert found.arrival[first] + change + options.change_delay <= found.departure[second]
        street = {}
        for end, s in access:
            street[end] = min(s, street.get(end, s))
        if is_arrival:
            assert found.departure[rides[0]] == moment - times[stop]
            assert found.board_stop[rides[0]] == stop
            assert found.arrival[rides[-1]] + street[int(found.alight_stop[rides[-1]])] <= moment
        else:
            assert found.arrival[rides[-1]] == moment + times[stop]
            assert found.alight_stop[rides[-1]] == stop
            assert moment + street[int(found.board_stop[rides[0]])] <= found.departure[rides[0]]


def assert_searched_one_by_one(search, near, far, searches, options, *, is_arrival):
    """Compare many searches in one call with one search after the other, whose legs `journeys` returns."""
    at, times, forest = search.fastest(near, far, searches, options, is_arrival=is_arrival)
    found = forest.itineraries()
    for i, (point, moment, limit) in enumerate(zip(searches.points, searches.starts, searches.limits, strict=True)):
        own = replace(options, travel_limit=int(limit))
        everywhere = np.arange(search.table.n_stops)
        arrays = near.of(int(point))
        at_stops, legs = search.journeys(arrays, int(moment), everywhere, own, is_arrival=is_arrival)
        for k in range(searches.indptr[i], searches.indptr[i + 1]):
            first, last = far.indptr[searches.targets[k]], far.indptr[searches.targets[k] + 1]
            ways = [
                (int(at_stops[stop]) + int(ms), int(stop), link)
                for link, stop, ms in zip(range(first, last), far.stops[first:last], far.ms[first:last], strict=True)
                if at_stops[stop] != NEVER
            ]
            best = min(ways, default=(NEVER, -1, -1))
            if best[0] > limit:
                assert times[k] == NEVER
            else:
                assert (times[k], far.stops[at[k]], far.ms[at[k]]) == (best[0], best[1], far.ms[best[2]])
            rows = range(found.indptr[k], found.indptr[k + 1])
            if times[k] >= searches.bounds[k]:
                assert not rows
                continue
            expected = range(legs.indptr[best[1]], legs.indptr[best[1] + 1])
            for part in fields(Itineraries)[1:]:
                mine, theirs = getattr(found, part.name), getattr(legs, part.name)
                assert mine[rows].tolist() == theirs[expected].tolist(), part.name


@settings(max_examples=200, deadline=None)
@given(
    tables, st.lists(st.tuples(moments, st.sampled_from([40, 90, 1000])), max_size=4), options, st.booleans(), st.data()
)
def test_many_searches_in_one_call_are_those_of_one_after_the_other(table, chosen, options, is_arrival, data):
    stops = st.integers(0, table.n_stops - 1)
    ports = st.lists(st.lists(st.tuples(stops, st.integers(0, 30)), max_size=3), min_size=2, max_size=3)
    near, far = (links(*data.draw(ports)) for _ in range(2))
    targets = data.draw(st.lists(st.lists(st.integers(0, 1), max_size=3), min_size=len(chosen), max_size=len(chosen)))
    flat = [target for row in targets for target in row]
    searches = Searches(
        points=np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(chosen), max_size=len(chosen))), np.int64),
        starts=np.array([150 - moment if is_arrival else moment for moment, _ in chosen], np.int64),
        limits=np.array([limit for _, limit in chosen], np.int32),
        indptr=indptr_of([len(row) for row in targets]),
        targets=np.array(flat, np.int64),
        bounds=np.array([data.draw(st.sampled_from([NEVER, NEVER, 30])) for _ in flat], np.int32),
    )
    assert_searched_one_by_one(TransitSearch(table), near, far, searches, options, is_arrival=is_arrival)


@pytest.mark.parametrize("is_arrival", [False, True])
def test_searches_of_many_rounds_in_one_call(is_arrival):
    """A chain of twenty lines, of one stop to the next each, between searches of few legs."""
    n = 20
    table = trip_table([((i, i + 1), [[(10 * i, 10 * i + 1), (10 * i + 9, 10 * i + 9)]]) for i in range(n)], n + 1)
    near, far = links([(n if is_arrival else 0, 0)], [(1, 0)]), links([(0 if is_arrival else n, 2)], [(2, 1)])
    when = 300 if is_arrival else 0
    searches = Searches(
        points=np.array([1, 0, 1, 0]),
        starts=np.full(4, when),
        limits=np.full(4, 1000, np.int32),
        indptr=np.arange(5) * 2,
        targets=np.array([0, 1] * 4),
        bounds=np.full(8, NEVER, np.int32),
    )
    search = TransitSearch(table)
    assert_searched_one_by_one(search, near, far, searches, ANY, is_arrival=is_arrival)
    _, _, forest = search.fastest(near, far, searches, ANY, is_arrival=is_arrival)
    assert np.diff(forest.itineraries().indptr).max() == n


def check_ride(table: TripTable, found: Itineraries, ride: int) -> None:
    """Follow a vehicle from where it is boarded to where it is left."""

    def call(run: int, position: int) -> tuple[int, int]:
        p = int(np.searchsorted(table.instance_indptr, run, side="right")) - 1
        n = int(table.pattern_indptr[p + 1] - table.pattern_indptr[p])
        assert 0 <= position < n
        at = int(table.time_indptr[p]) + (run - int(table.instance_indptr[p])) * n + position
        return int(table.pattern_indptr[p]) + position, at

    run, last = int(found.board_run[ride]), int(found.alight_run[ride])
    at, departure = call(run, int(found.board_position[ride]))
    assert table.can_board[at]
    assert table.pattern_stops[at] == found.board_stop[ride]
    assert table.departure[departure] == found.departure[ride]
    at, arrival = call(last, int(found.alight_position[ride]))
    assert table.can_alight[at]
    assert table.pattern_stops[at] == found.alight_stop[ride]
    assert table.arrival[arrival] == found.arrival[ride]
    if run != last or found.board_position[ride] >= found.alight_position[ride]:
        seen = set()
        while (run := int(table.stay_instance[run])) != last:
            assert run >= 0
            assert run not in seen
            seen.add(run)


@settings(max_examples=120, deadline=None)
@given(tables, access_lists, moments, options, st.data())
def test_targets_are_the_best_of_their_ports(table, access, moment, options, data):
    search = TransitSearch(table)
    stops = st.integers(0, table.n_stops - 1)
    rows = data.draw(st.lists(st.lists(st.tuples(stops, st.integers(0, 30)), max_size=3), min_size=1, max_size=3))
    egress = links(*rows)
    origins = links(access, [], [(0, 3)])
    when = [moment, moment, moment + 9]
    at_stops = search.stop_times(origins, when, options).astype(float)
    at_stops[at_stops == NEVER] = math.inf
    expected = np.array(
        [[min((row[stop] + s for stop, s in ports), default=math.inf) for ports in rows] for row in at_stops]
    )
    direct = np.full(expected.shape, NEVER, np.int32)
    direct[0, 0] = 33
    expected[0, 0] = min(expected[0, 0], 33)
    expected[expected > options.travel_limit] = NEVER
    found = direct.copy()
    for row, times in zip(found, search.stop_times(origins, when, options), strict=True):
        gather(times, 0, options.travel_limit, egress, row)
    assert np.array_equal(found, expected)


@settings(max_examples=150, deadline=None)
@given(tables, access_lists, moments, options, st.integers(0, 30))
def test_leaving_later_never_arrives_earlier(table, access, moment, options, later):
    first = stop_times(table, access, moment, options)
    for stop, time in stop_times(table, access, moment + later, options).items():
        assert moment + first.get(stop, math.inf) <= moment + later + time or (
            # The earlier one may be beyond the limit, which counts from its own start.
            stop not in first and time + later > options.travel_limit
        )


@settings(max_examples=120, deadline=None)
@given(tables, moments, st.sampled_from([None, 0, 1]), st.sampled_from([0, 4]))
def test_arriving_and_departing_are_dual(table, moment, max_changes, delay):
    """Who leaves a stop by ride as late as possible arrives in time, and who leaves a second later does not."""
    options = TransitOptions(100_000, max_changes, delay)
    search = TransitSearch(table)
    nodes = links(*[[(stop, 0)] for stop in range(table.n_stops)])
    out = search.stop_times(nodes, moment, options)
    for target in range(table.n_stops):
        for origin in range(table.n_stops):
            if out[origin, target] == NEVER:
                continue
            arrival = moment + int(out[origin, target])
            back = search.stop_times(links([(target, 0)]), arrival, options, is_arrival=True)[0]
            latest = arrival - int(back[origin])
            assert latest >= moment
            again = search.stop_times(links([(origin, 0)]), latest, options)[0, target]
            assert latest + again == arrival
            after = search.stop_times(links([(origin, 0)]), latest + 1, options)[0, target]
            assert latest + 1 + after > arrival


@settings(max_examples=150, deadline=None)
@given(tables, access_lists, moments, st.integers(0, 2), st.booleans())
def test_more_changes_and_more_access_never_hurt(table, access, moment, max_changes, is_arrival):
    moment = 150 - moment if is_arrival else moment
    few = stop_times(table, access, moment, TransitOptions(1000, max_changes), is_arrival=is_arrival)
    more = stop_times(table, access, moment, TransitOptions(1000, max_changes + 1), is_arrival=is_arrival)
    any_number = stop_times(table, access, moment, ANY, is_arrival=is_arrival)
    wider = stop_times(table, [*access, (table.n_stops - 1, 5)], moment, ANY, is_arrival=is_arrival)
    for stop, time in few.items():
        assert wider[stop] <= any_number[stop] <= more[stop] <= time


@settings(max_examples=120, deadline=None)
@given(st.integers(1, 30), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_percentiles_and_shares(n_starts, n_targets, seed):
    random = np.random.default_rng(seed)
    times = random.integers(0, 50, (n_starts, n_targets)).astype(np.int32)
    times[random.random(times.shape) < 0.3] = NEVER
    percents = np.array([1.0, 50.0, 80.0, 100.0])
    out = np.empty((n_targets, percents.size), np.int32)
    range_raptor.percentiles(times, percents, out)
    expected = np.percentile(times, percents, axis=0, method="inverted_cdf").T
    assert np.array_equal(out, expected)
    shares = np.empty(n_targets)
    range_raptor.share_within(times, 25, shares)
    assert np.allclose(shares, (times <= 25).mean(axis=0))


@settings(max_examples=100, deadline=None)
@given(tables)
def test_mirroring_twice_gives_the_lines_back(table):
    lines = TransitSearch(table).lines(False)
    again = line_kernels.mirrored(line_kernels.mirrored(lines))
    for name in ("pattern_stops", "can_board", "can_alight", "arrival", "departure", "stay_indptr"):
        assert np.array_equal(getattr(again, name), getattr(lines, name)), name
    assert line_kernels.first_fault(again)[0] == 0


def test_staying_seated_in_a_later_run_is_no_change():
    """The first run ends at stop 1; only the second one continues to stop 2."""
    table = trip_table(
        [((0, 1), [[(0, 0), (10, 10)], [(5, 5), (15, 15)]]), ((1, 2), [[(16, 16), (30, 30)]])], 3,
        stays={1: 2}, change_time=[0, 60, 0],
    )  # fmt: skip
    assert stop_times(table, [(0, 0)], 0, DIRECT) == {1: 10, 2: 30}
    assert stop_times(table, [(2, 0)], 30, DIRECT, is_arrival=True) == {0: 25, 1: 14}
    _, found = TransitSearch(table).journeys((np.array([0]), np.array([0])), 0, [2], DIRECT)
    assert (found.board_run.tolist(), found.alight_run.tolist()) == ([1], [2])


def test_a_change_at_the_stop_takes_its_time_and_a_footpath_its_own():
    patterns = [((0, 1), [[(0, 0), (10, 10)]]), ((1, 3), [[(39, 39), (50, 50)]]), ((2, 3), [[(39, 39), (60, 60)]])]
    table = trip_table(patterns, 4, change_time=[0, 30, 0, 0], walks={(1, 2): 20})
    assert stop_times(table, [(0, 0)], 0, ANY) == {1: 10, 3: 60}
    assert stop_times(table, [(0, 0)], 0, TransitOptions(1000, change_delay=10)) == {1: 10}
    table = trip_table(patterns, 4, change_time=[0, 29, 0, 0], walks={(1, 2): 20})
    assert stop_times(table, [(0, 0)], 0, ANY) == {1: 10, 3: 50}


def test_calls_of_a_run_are_its_own():
    patterns = [
        ((0, 1), [[(0, 1), (5, 6)], [(7, 8), (9, 9)]]),
        ((1, 0, 1), [[(2, 2), (3, 4), (6, 7)], [(8, 8), (8, 9), (9, 9)]]),
    ]
    table = trip_table(patterns, 2)
    runs = [run for _, runs in patterns for run in runs]
    for instance, run in enumerate(runs):
        arrivals, departures = table.calls_at(instance)
        assert list(zip(arrivals.tolist(), departures.tolist(), strict=True)) == run


def test_no_delay_before_the_first_ride_and_no_footpath_from_a_seed():
    table = trip_table([((0, 1), [[(5, 5), (10, 10)]]), ((2, 3), [[(50, 50), (60, 60)]])], 4, walks={(0, 2): 1})
    assert stop_times(table, [(0, 5)], 0, TransitOptions(1000, change_delay=99)) == {1: 10}


def test_tables_that_never_change_can_be_read_only():
    table = trip_table([((0, 1), [[(0, 0), (10, 10)]])], 2)
    for name in ("arrival", "departure", "pattern_stops"):
        getattr(table, name).flags.writeable = False
    assert stop_times(table, [(0, 0)], 0, ANY) == {1: 10}


def test_a_table_without_runs_or_patterns_answers():
    for table in (trip_table([((0, 1), [])], 2), trip_table([], 2)):
        assert stop_times(table, [(0, 0)], 0, ANY) == {}
        assert stop_times(table, [(0, 0)], 0, ANY, is_arrival=True) == {}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("arrival", 9, "overtakes"), ("departure", 1, "before it arrives"), ("transfer_time", -5, "footpath"),
     ("change_time", -5, "transfer time")],
)  # fmt: skip
def test_broken_tables_are_refused(name, value, words):
    table = trip_table([((0, 1), [[(0, 0), (10, 10)], [(5, 5), (15, 15)]])], 2, walks={(0, 1): 20}, change_time=[0, 0])
    getattr(table, name).flags.writeable = True
    getattr(table, name)[-1] = value
    with pytest.raises(DataError, match=words):
        TransitSearch(table)


def test_bad_requests_are_refused():
    search = TransitSearch(trip_table([((0, 1), [[(0, 0), (10, 10)]])], 2))
    with pytest.raises(InputError, match="stops 0 to 7"):
        search.stop_times(links([(0, 0), (7, 0)]), 0, ANY)
    assert links().n_points == 0
    with pytest.raises(InputError, match="reference"):
        search.stop_times(links([(0, 0)]), 1_500_000_000, ANY)
    with pytest.raises(LimitError, match="max_changes"):
        TransitOptions(10, max_changes=-1)
    with pytest.raises(LimitError, match="length of a window"):
        search.window_stop_times(links([(0, 0)]), 0, NEVER // 4, ANY)
    with pytest.raises(InputError, match="shape"):
        search.window_times(links([(0, 0)]).of(0), [0], links([(1, 0)]), ANY, direct_time=np.zeros(3, np.int32))
