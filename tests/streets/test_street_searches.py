"""Laws that hold on every network, and the exact equality with slow twins."""

from __future__ import annotations

import datetime as dt

import geopandas as gpd
import numpy as np
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

import traveltime_lab as tl
from tests.support.combinations import combined, first_of
from tests.support.oracles import StreetOracle, random_points, simple_oracle
from tests.support.oracles_snapping import SnapOracle, times_ms
from tests.support.worlds import at, towns, with_slopes, world
from traveltime_lab.kernels.records import Arcs, Ports, SharedArcs
from traveltime_lab.kernels.street import reading, reduction, road
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.modes.snapping import as_snapping
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.settings import settings as options
from traveltime_lab.streets import labels, local_pairs, row_search
from traveltime_lab.streets.layer import OWN_GRAPHS
from traveltime_lab.streets.snapping import CAN_ARRIVE, CAN_LEAVE, Snaps, snap_points

quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def csr_graphs(draw):
    n = draw(st.integers(1, 12))
    arcs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(0, 50)), max_size=40))
    arcs.sort()
    indptr = np.searchsorted([a for a, _, _ in arcs], np.arange(n + 1)).astype(np.int32)
    weights = np.array([w for _, _, w in arcs], np.int64) << 32
    return indptr, np.array([b for _, b, _ in arcs], np.int32), weights


@settings(max_examples=200, deadline=None)
@given(csr_graphs(), st.data())
def test_searches_equal_networkx_whole_and_contracted(csr, data):
    indptr, indices, weights = csr
    arcs = Arcs(*csr)
    n = indptr.size - 1
    seeds = data.draw(st.dictionaries(st.integers(0, n - 1), st.integers(0, 30).map(lambda w: w << 32), max_size=3))
    limit = data.draw(st.integers(0, 150)) << 32
    shift = 32 + data.draw(st.integers(0, 5))
    states = np.array(list(seeds), np.int32)
    keys = np.array(list(seeds.values()), np.int64)
    expected = simple_oracle(indptr, indices, weights, seeds, limit)
    ring = 128
    label, parent = np.full(n, UNREACHED, np.int64), np.full(n, -2, np.int32)
    road.search(arcs, states, keys, np.int64(limit), label, parent, road.new_queue(n, shift, ring))
    assert {i: int(v) for i, v in enumerate(label) if v != UNREACHED} == expected
    assert all((parent[i] >= -1) == (i in expected) for i in range(n))

    rows = np.repeat(np.arange(n), np.diff(indptr))
    order = np.argsort(indices, kind="stable")
    indptr_rev = np.searchsorted(indices[order], np.arange(n + 1)).astype(np.int32)
    single = reduction.single_entries(indptr_rev, rows[order].astype(np.int32))
    # Without and with labels that are elsewhere.
    mixed = np.array(data.draw(st.just([]) | st.permutations(range(indices.size))), np.int32)
    apart = weights.copy()
    apart[mixed] = weights[: mixed.size]
    whole = SharedArcs(indptr, indices, mixed, apart)
    core, above, above_key = reduction.contract(whole, single)
    assert core.indices.size <= indices.size
    _, states, keys = reduction.expand_seeds(whole, single, Ports(np.array([0, len(seeds)]), states, keys))
    ring = 1024
    label = road.one_to_all(core, states, keys, np.int64(limit), shift, ring)
    reduction.fill(label, above, above_key, np.int64(limit))
    assert {i: int(v) for i, v in enumerate(label) if v != UNREACHED} == expected


#: Around the hours at which restrictions of random towns hold, which are those of Mondays and Tuesdays.
MOMENTS = st.none() | st.integers(0, 50).map(lambda hour: dt.datetime(2026, 3, 2) + dt.timedelta(hours=hour))


@quick
@given(towns(), st.sampled_from(["walking", "driving"]), st.integers(0, 2**31), MOMENTS)
@pytest.mark.slow
def test_times_equal_networkx_on_random_towns(network, mode, seed, moment):
    compare_with_networkx(network, mode, 5, 8, seed, moment, by_hand=True)


@pytest.mark.thorough
@settings(quick, max_examples=8)
@given(
    towns(),
    st.sampled_from(["walking", "cycling", {"type": "walking", "walking_speed": 3.3},
                     {"type": "cycling", "cycling_speed": 22}, "driving"]),
    st.integers(0, 2**31),
)  # fmt: skip
def test_times_equal_networkx_on_slopes(network, mode, seed):
    compare_with_networkx(
        tl.build_network(with_slopes(network.tables, seed), timezone="UTC"), mode, 4, 6, seed, by_hand=True
    )


@pytest.mark.parametrize(
    "mode",
    first_of(1, ["driving+ferry", "walking", "cycling", "driving"], mark=pytest.mark.thorough, few=pytest.mark.slow),
)
def test_times_equal_networkx_in_helsinki(helsinki, mode):
    compare_with_networkx(helsinki, mode, 4, 40, 1)


@pytest.mark.parametrize("mode", ["cycling", "driving"])
@pytest.mark.thorough
def test_times_equal_networkx_in_porto_alegre(porto_alegre, mode):
    compare_with_networkx(porto_alegre, mode, 2, 40, 1)


@pytest.mark.parametrize(
    "means",
    [{"type": "walking", "walking_speed": 3.3}, {"type": "walking+ferry", "walking_speed": 9.0},
     {"type": "cycling", "cycling_speed": 22}, {"type": "cycling+ferry", "cycling_speed": 7.5}],
)  # fmt: skip
@pytest.mark.thorough
def test_times_at_own_speeds_equal_networkx_in_helsinki(helsinki, means):
    compare_with_networkx(helsinki, means, 3, 30, 1)


@pytest.mark.parametrize("most", [1, 2, 3, 4])
@pytest.mark.thorough
def test_times_below_a_level_of_stress_equal_networkx_in_porto_alegre(porto_alegre, most):
    compare_with_networkx(porto_alegre, {"type": "cycling", "max_stress": most}, 13, 40, most)


@pytest.mark.thorough
def test_times_pushing_above_a_level_of_stress_equal_networkx_in_porto_alegre(porto_alegre):
    compare_with_networkx(porto_alegre, {"type": "cycling", "max_stress": 2, "push_above_stress": True}, 4, 30, 1)


def test_a_speed_scales_every_answer():
    """At twice the usual speed everything takes half as long, at the usual one exactly as long."""
    network = world({0: (0, 0), 1: (3000, 0)}, [(0, 1, {"walking_kph": 5.0, "cycling_kph": 15.0})])
    home, work = at((0, 30)), at((1000, -30), (2500, 60))

    def ask(**means):
        means = {"transportation": tl.Transportation(**means)}
        times = tl.time_filter(network, home, work, travel_time=7200, **means)["travel_time"].tolist()
        route = tl.routes(network, home, work, **means)["travel_time"].tolist()
        near = tl.nearest(network, home, work, k=2, travel_time=7200, **means)["travel_time"].tolist()
        assert times == route == near
        return times

    assert ask(type="walking", walking_speed=5) == ask(type="walking") == [763, 1865]
    assert ask(type="walking", walking_speed=10) == [382, 932]
    assert ask(type="cycling", cycling_speed=15.0) == ask(type="cycling") == [283, 665]
    # Only what is ridden is quicker: 60 m and 90 m beside the street are walked.
    assert ask(type="cycling", cycling_speed=30) == [163, 365]
    shapes = [
        tl.time_map(network, home, travel_time=seconds, transportation=tl.Transportation("walking", walking_speed=kph))
        for seconds, kph in ((900, 5.0), (450, 10.0), (900, 2.5))
    ]
    areas = [float(shape.geometry.to_crs(network.crs).area.iloc[0]) for shape in shapes]
    assert areas[0] == pytest.approx(areas[1], rel=0.001)
    assert areas[2] < 0.6 * areas[0]


def test_few_graphs_of_own_speeds_are_kept():
    network = world({0: (0, 0), 1: (3000, 0)}, [(0, 1, {"walking_kph": 5.0})])
    usual = network.road_graph("walking")
    for tenths in range(30, 60):
        graph = network.road_graph({"type": "walking", "walking_speed": tenths / 10})
        assert (graph is usual) == (tenths == 50)
    assert len(network.streets.memo.entries[OWN_GRAPHS]) == OWN_GRAPHS.kept
    assert network.road_graph("walking") is usual


@pytest.mark.parametrize(
    "clock",
    [
        *(pytest.param(clock, marks=pytest.mark.slow) for clock in ("08:00", "20:00")),
        *(pytest.param(clock, marks=pytest.mark.thorough) for clock in (None, "23:00")),
    ],
)
def test_times_equal_networkx_where_restrictions_have_hours(shared_data, clock):
    """Two restrictions hold on working days, one of them until 18 o'clock, and one from 6 to 23 o'clock."""
    network = tl.build_network(shared_data / "helsinki" / "osm_center.pbf")
    assert network.tables.timed_restrictions.size == 3
    moment = None if clock is None else dt.datetime.fromisoformat(f"2026-03-02T{clock}")
    compare_with_networkx(network, "driving", 4, 60, 3, moment)


def compare_with_networkx(network, mode, n_origins, n_targets, seed, moment=None, *, by_hand=False):
    """
    Every pair, searched forwards and backwards and with each engine, to the second, with the same reachability.

    By hand, the places of points are those of an oracle, too.
    """
    transportation = tl.Transportation(mode, traffic_model="off_peak") if "driving" in mode else as_transportation(mode)
    own_kph = transportation.walking_speed or transportation.cycling_speed
    oracle = StreetOracle(
        network, transportation.type, moment=moment, own_kph=own_kph, max_stress=transportation.max_stress,
        pushes=transportation.push_above_stress, step_free=transportation if transportation.step_free else None,
        avoid=transportation.avoid,
    )  # fmt: skip
    starts, ends = random_points(network, n_origins, seed), random_points(network, n_targets, seed + 1)
    # Some destinations are origins, or as good as that.
    for axis in (0, 1):
        ends[axis][:2] = starts[axis][:2] + np.array([0.0, 3e-8])
    if by_hand:
        streets = SnapOracle(network, oracle)
        snaps, goals = streets.snaps(*starts, streets.can_leave), streets.snaps(*ends, streets.can_arrive)
    else:
        snaps, goals = (
            snap_points(network.streets, *points, transportation, as_snapping(None), needed)
            for points, needed in ((starts, CAN_LEAVE), (ends, CAN_ARRIVE))
        )
        snaps, goals = (snaps, snaps.only_islands()), (goals, goals.only_islands())
    expected = np.array([[np.nan if ms is None else ms / 1000 for ms in row] for row in times_ms(oracle, snaps, goals)])
    expected[expected > 14_400] = np.nan
    origins, targets = (gpd.GeoSeries.from_xy(*points, crs="EPSG:4326") for points in (starts, ends))
    ask = {"travel_time": 14_400, "transportation": transportation, "form": "matrix", "departure_time": moment}
    forward = tl.time_filter(network, origins, targets, **ask).to_numpy(dtype=float)
    backward = np.hstack(
        [
            tl.time_filter(network, origins, targets.iloc[j : j + 1], **ask).to_numpy(dtype=float)
            for j in range(n_targets)
        ]
    )
    np.testing.assert_array_equal(forward, backward)
    by_hierarchy = tl.time_filter(network, origins, targets, engine="hierarchy", **ask).to_numpy(dtype=float)
    np.testing.assert_array_equal(forward, by_hierarchy)
    np.testing.assert_array_equal(np.isnan(forward), np.isnan(expected))
    assert np.nanmax(np.abs(forward - expected), initial=0.0) <= 0.5


# Shapes


def test_points_at_the_same_place_are_found_one_by_one(monkeypatch):
    random = np.random.default_rng(2)

    def points(n):
        lng, lat = random.integers(0, 3, (2, n)) / 4.0
        # Some are half a centimetre and some two centimetres away.
        lng += random.choice([0.0, 4.5e-8, 1.8e-7], n)
        return Snaps(random.integers(-1, 2, n), np.zeros(n), np.zeros(n), np.zeros(n, np.int8), lng, lat)

    for n_few, few in ((0, 8), (100, 8), (8, 8), (100, 0)):
        monkeypatch.setattr(local_pairs, "_FEW_POINTS", few)
        for n in (0, 1, 8, 60):
            a, b = points(n), points(n_few)
            expected = [
                (i, j) for i in range(n) for j in range(n_few)
                if abs(a.lng[i] - b.lng[j]) < 8e-8 and a.lat[i] == b.lat[j] and min(a.edge[i], b.edge[j]) >= 0
            ]  # fmt: skip
            assert sorted(zip(*local_pairs.same_places(a, b), strict=True)) == expected


@pytest.mark.parametrize("mode", ["walking", "driving"])
@pytest.mark.parametrize("n_few", [1, 2])
@pytest.mark.parametrize("backward", [False, True])
def test_few_rows_are_read_from_positions_as_from_ports(helsinki, monkeypatch, mode, n_few, backward):
    """What is done for few origins and many destinations, and the other way round, changes no label."""
    tables, rng = helsinki.tables, np.random.default_rng(4)
    picked = rng.integers(0, tables.node_lng.size, 400)
    lng, lat = tables.node_lng[picked] + rng.normal(0, 1e-3, 400), tables.node_lat[picked] + rng.normal(0, 1e-3, 400)
    # Some on the same street as the few, one at the same place, and one far from any street.
    lng[:20], lat[:20] = lng[20] + rng.normal(0, 1e-4, 20), lat[20] + rng.normal(0, 1e-4, 20)
    lng[399], lat[398:] = lng[399] + 1.0, lat[20]
    lng[398] = lng[20]
    many = gpd.GeoSeries.from_xy(lng, lat, crs="EPSG:4326")
    few = many.iloc[20 : 20 + n_few].set_axis(["a", "b"][:n_few])
    ends = (many, few) if backward else (few, many)
    asked = {"travel_time": 1200, "transportation": mode, "properties": ("travel_time", "distance"),
             "engine": "dijkstra"}  # fmt: skip
    answers = []
    for least, threads in ((1, 1), (1, 2), (10**9, 2)):  # one thread takes all of the few
        monkeypatch.setattr(row_search, "MANY_COLUMNS", least)
        with options.override(threads=threads):
            answers.append(tl.time_filter(helsinki, *ends, **asked))
    assert answers[0]["travel_time"].notna().sum() > 100 * n_few
    assert_frame_equal(*answers[:2])
    assert_frame_equal(*answers[1:])


@pytest.mark.parametrize(
    ("mode", "backward"), combined(["walking", "driving"], [False, True], mark=pytest.mark.thorough)
)
def test_more_time_never_shrinks_a_shape(helsinki, mode, backward):
    origins = gpd.GeoSeries.from_xy(*random_points(helsinki, 3, 4), crs="EPSG:4326")
    moment = {"arrival_time": "2026-03-02T08:00:00Z"} if backward else {}
    for detail in ("lowest", "high", {"scale_type": "coarse_grid", "square_size": 600}):
        inner = None
        for travel_time in (60, 180, 181, 400, 900):
            areas = tl.time_map(
                helsinki, origins, travel_time=travel_time, transportation=mode, level_of_detail=detail, **moment
            ).geometry
            assert areas.is_valid.all()
            if inner is not None:
                outside = inner.difference(areas).to_crs(helsinki.crs).area
                assert (outside < 0.01).all(), (detail, travel_time)
            inner = areas


def test_rings_run_as_the_rfc_says_and_stay_out_of_the_water(helsinki):
    origins = gpd.GeoSeries.from_xy(*random_points(helsinki, 4, 9), crs="EPSG:4326")
    areas = tl.time_map(helsinki, origins, travel_time=900, transportation="walking", level_of_detail="medium").geometry
    assert len(helsinki.water) > 0
    for area in areas:
        for polygon in area.geoms:
            assert polygon.exterior.is_ccw
            assert not any(ring.is_ccw for ring in polygon.interiors)
        local = shapely.transform(area, lambda p: np.column_stack(helsinki.frame.to_xy(p[:, 0], p[:, 1])))
        wet = shapely.intersection(local, helsinki.water.geometry).area
        assert wet < 1e-6 * local.area
    with_water = tl.time_map(
        helsinki,
        origins,
        travel_time=900,
        transportation="walking",
        level_of_detail="medium",
        remove_water_bodies=False,
    ).geometry
    covered, dry = shapely.area(with_water.to_numpy()), shapely.area(areas.to_numpy())
    assert (covered >= dry).all()
    assert covered.sum() > dry.sum()


@pytest.mark.parametrize("mode", first_of(1, ["walking", "driving"], mark=pytest.mark.thorough))
def test_shapes_agree_with_time_filter(helsinki, mode):
    origins = gpd.GeoSeries.from_xy(*random_points(helsinki, 3, 2), crs="EPSG:4326")
    for detail, least in (("medium", 0.98), ("highest", 0.992)):
        areas = tl.time_map(helsinki, origins, travel_time=400, transportation=mode, level_of_detail=detail)
        shares = tl.shape_accuracy(helsinki, areas, origins, transportation=mode, n_points=10_000)
        assert (shares >= least).all()


def test_reversed_shapes_are_dual_to_times(helsinki):
    """A point lies in the arrival shape of a place exactly where time_filter says it can get there in time."""
    place = gpd.GeoSeries.from_xy(*random_points(helsinki, 1, 12), crs="EPSG:4326")
    ask = {"transportation": "driving", "arrival_time": "2026-03-02T04:00:00Z"}
    areas = tl.time_map(helsinki, place, travel_time=150, level_of_detail="highest", **ask)
    # Many points, because the shape is only half a kilometre wide and half of its box is water.
    assert tl.shape_accuracy(helsinki, areas, place, n_points=20_000, **ask).iloc[0] > 0.99


@pytest.mark.slow
@quick
@given(towns(), st.integers(0, 2**31), st.sampled_from(["time_map", "distance_map"]))
def test_shapes_of_random_towns_are_valid_and_hold_their_origins(network, seed, kind):
    origins = gpd.GeoSeries.from_xy(*random_points(network, 2, seed), crs="EPSG:4326")
    limit = {"travel_time": 300} if kind == "time_map" else {"distance": 900}
    areas = getattr(tl, kind)(network, origins, transportation="cycling", **limit).geometry
    assert areas.is_valid.all()
    assert areas.contains(origins)[~areas.is_empty].all()


@pytest.mark.slow
def test_unions_intersections_and_differences(porto_alegre):
    origins = gpd.GeoSeries.from_xy(*random_points(porto_alegre, 3, 3), crs="EPSG:4326")
    areas = tl.time_map(porto_alegre, origins, travel_time=900)
    together, common = tl.union(areas).geometry.iloc[0], tl.intersection(areas).geometry.iloc[0]
    for area in areas.geometry:
        assert area.difference(together).area < 1e-12
        assert common.difference(area).area < 1e-12
    only_first = tl.difference(areas.iloc[:1], areas.iloc[1:]).geometry.iloc[0]
    assert only_first.intersection(areas.geometry.iloc[1]).area < 1e-12
    assert only_first.area <= areas.geometry.iloc[0].area


@pytest.mark.slow
@quick
@given(towns(), st.sampled_from(["walking", "driving"]), st.booleans())
def test_ports_of_states(network, mode, is_backward):
    graph = network.road_graph(mode)
    ends = graph.exit_ports() if is_backward else graph.entry_ports()
    expected = [[] for _ in range(graph.topology.n_states)]
    for d in range(ends.indptr.size - 1):
        for port in range(ends.indptr[d], ends.indptr[d + 1]):
            expected[ends.states[port]].append((d, port))
    indptr, directed, ports = reading.ports_of_states(ends.indptr, ends.states, graph.topology.n_states)
    pairs = list(zip(directed.tolist(), ports.tolist(), strict=True))
    assert [pairs[indptr[state] : indptr[state + 1]] for state in range(len(expected))] == expected
    assert {indptr.dtype, directed.dtype, ports.dtype} == {np.dtype(np.int32)}


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=9), st.floats(0.1, 10.0))
def test_the_fastest_speed(ways, least):
    """The same in parts of any size."""
    found = np.array([ms << 32 | cm for ms, cm in ways], np.int64)
    expected = max([least, *(10.0 * cm / max(ms - 0.5, 0.1) for ms, cm in ways)])
    for part in (1, 2, 100):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(labels, "_PART", part)
            assert labels.fastest_mps(found, least) == expected
