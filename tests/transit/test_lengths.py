"""Distances of trips with a timetable, by mode too, and fares: they are those of their routes in every metre."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.combinations import first_of
from tests.support.feeds import posix
from tests.support.towns import MEANS, ON_FOOT, STOPS, TRIPS, clock, timetable, town, towns
from tests.support.worlds import FRAME, at, tables
from traveltime_lab import crs
from traveltime_lab.kernels.transit import ride_lines
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.points import read_points
from traveltime_lab.search.query import ask
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.transit import ride_lengths
from traveltime_lab.transit.lengths import NO_WAY, StreetSide
from traveltime_lab.transit.outlines import outlines

#: Moments, windows and what is asked of them.
ASKED: list[dict[str, Any]] = [
    {"departure_time": 0},
    {"arrival_time": 0},
    {"departure_time": 0, "window": 600},
    {"arrival_time": 0, "window": 600},
    {"departure_time": 0, "window": 300, "max_results": 3},
    {"arrival_time": 0, "window": 300, "percentiles": (50,)},
]


def assert_distances_are_those_of_routes(
    network: tl.Network, origins: gpd.GeoSeries, destinations: gpd.GeoSeries, **how: Any
) -> int:
    """Compare distances in every form, and outlines, with routes of the same request; return how many are reached."""
    window = {name: how[name] for name in ("window", "max_results") if name in how}
    both = ("travel_time", "distance")
    found = tl.time_filter(network, origins, destinations, properties=both, **how)
    with_lines = tl.time_filter(network, origins, destinations, properties=(*both, "route"), **how)
    pd.testing.assert_frame_equal(found.drop(columns="geometry"), with_lines.drop(columns="geometry"))
    asked = {name: how[name] for name in ("transportation", "departure_time", "arrival_time") if name in how}
    properties = ("distance", "distance_breakdown", "fares")
    routes = tl.routes(network, origins, destinations, properties=properties, **asked, **window)
    key = [*("origin", "destination"), *(("departure_time", "arrival_time") if window else ())]
    reached = found[found["travel_time"].notna()]
    twins = routes.set_index(key).loc[pd.MultiIndex.from_frame(reached[key])]
    assert twins["distance"].tolist() == reached["distance"].tolist()
    for with_totals in (True, False):
        outlined = outlines_of(network, origins, destinations, reached, with_totals=with_totals, **how)
        assert [each.distance for each in outlined] == twins["distance"].tolist()
        for each, breakdown, fares in zip(outlined, twins["distance_breakdown"], twins["fares"], strict=True):
            # Modes are in order of first use, currencies in that of the tickets.
            assert list(each.metres.items()) == list(breakdown.items())
            if with_totals:
                assert (each.totals is None) == (fares is None)
                assert fares is None or list(each.totals.items()) == list(fares.totals.items())
    if how.get("max_results", 1) == 1:
        sparse = tl.time_filter(network, origins, destinations, properties=both, form="sparse", **how)
        columns = ["origin", "destination", *both]
        pd.testing.assert_frame_equal(sparse[columns], pd.DataFrame(reached[columns]).reset_index(drop=True))
        matrix = tl.time_filter(network, origins, destinations, properties=both, form="matrix", **how)
        table = found.pivot_table(index="origin", columns="destination", values="distance", dropna=False)
        np.testing.assert_array_equal(matrix["distance"].to_numpy(), table.to_numpy(np.float32, na_value=np.nan))
        aligned = pd.DataFrame({"origin": found["origin"], "destination": found["destination"]}).iloc[::-2]
        some = tl.time_filter(network, origins, destinations, properties=both, pairs=aligned, **how)
        assert some["distance"].isna().tolist() == found["distance"].isna().iloc[::-2].tolist()
        assert some["distance"].dropna().tolist() == found["distance"].iloc[::-2].dropna().tolist()
        # A single search links the points of the other side in a way of its own.
        for i in range(len(destinations) if "arrival_time" in how else len(origins)):
            one = (origins, destinations.iloc[[i]]) if "arrival_time" in how else (origins.iloc[[i]], destinations)
            part = tl.time_filter(network, *one, properties=both, form="matrix", **how)
            chosen = matrix.loc[part.index, part.columns]
            pd.testing.assert_frame_equal(part, chosen)
    return len(reached)


def outlines_of(
    network: tl.Network,
    origins: gpd.GeoSeries,
    destinations: gpd.GeoSeries,
    reached: pd.DataFrame,
    *,
    with_totals: bool,
    **how: Any,
) -> list[Any]:
    """Return the outlines of the reached rows of a table, whose labels are positions."""
    query = ask(
        network, how["transportation"], how.get("departure_time"), how.get("arrival_time"), None,
        limit=how["travel_time"], window=how.get("window"),
    )  # fmt: skip
    assert query.transit is not None
    starts, ends = (
        query.snap(read_points(points, "points", network.bounds), is_origin=is_origin)
        for points, is_origin in ((origins, True), (destinations, False))
    )
    moments = None
    if "window" in how:
        column = "arrival_time" if query.is_arrival else "departure_time"
        moments = [when.to_pydatetime() for when in reached[column]]
    rows = (reached[side].to_numpy(np.intp) for side in ("origin", "destination"))
    return outlines(query.transit, Pairs(starts, ends, (*rows,)), moments, with_totals=with_totals)


def drawn_feed(folder: Path, town: Any, rng: np.random.Generator) -> Path:
    """Write the feed of a town with shapes, blocks and rules for transfers, which some trips and stops have."""
    _, _, stops, trips = town
    places = {name: np.array(FRAME.to_lnglat(*np.array(xy))) for name, xy in stops.items()}
    shapes, rows, times = [], [], []
    for i, calls in enumerate(trips):
        shape, block = "", str(rng.integers(2)) if rng.random() < 0.3 else ""
        has_along = rng.random() < 0.5
        if rng.random() < 0.7:
            shape, n = f"h{i}", 0
            for k, (stop, _) in enumerate(calls):
                for bend in range(int(rng.integers(1, 3)) if k else 1):
                    lng, lat = places[stop] + rng.normal(0.0, 5e-4, 2) * (bend > 0)
                    shapes.append(f"{shape},{lat:.7f},{lng:.7f},{n},{k + bend / 4 if has_along else ''}")
                    n += 1
        rows.append(f"R{i},daily,t{i},{shape},{block}")
        times += [
            f"t{i},{k},{stop},{clock(when)},{clock(when)},{k if has_along else ''}"
            for k, (stop, when) in enumerate(calls)
        ]
    names = list(stops)
    rules = []
    for _ in range(int(rng.integers(0, 4))):
        a, b = rng.choice(names, 2)
        rules.append(f"{a},{b},2,{rng.integers(0, 200)}")
    zoned = [f"{name},{name},{lat:.7f},{lng:.7f},{rng.integers(3)}" for name, (lng, lat) in places.items()]
    # Some questions are about buses only.
    vehicles = [f"R{i},{i},{rng.choice([3, 1, 4]) if i else 3}" for i in range(len(trips))]
    fares = [f"f{i},{rng.integers(1, 5)},{rng.choice(['EUR', 'CHF'])},{rng.choice(['', 0, 1])}" for i in range(3)]
    paid = [f"f{rng.integers(3)},{rng.choice(['', f'R{i}'])},{rng.choice(['', 0, 1])}" for i in range(len(trips))]
    return timetable(
        folder, stops, trips,
        stops="\n".join(["stop_id,stop_name,stop_lat,stop_lon,zone_id", *zoned]),
        routes="\n".join(["route_id,route_short_name,route_type", *vehicles]),
        fare_attributes="\n".join(["fare_id,price,currency_type,transfers", *fares]),
        fare_rules="\n".join(["fare_id,route_id,origin_id", *dict.fromkeys(paid)]),
        shapes="\n".join(["shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence,shape_dist_traveled", *shapes]),
        trips="\n".join(["route_id,service_id,trip_id,shape_id,block_id", *rows]),
        stop_times="\n".join(
            ["trip_id,stop_sequence,stop_id,arrival_time,departure_time,shape_dist_traveled", *times]
        ),
        transfers="\n".join(["from_stop_id,to_stop_id,transfer_type,min_transfer_time", *dict.fromkeys(rules)]),
    )  # fmt: skip


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(towns(), MEANS, st.sampled_from(ASKED), st.integers(-120, 900), st.integers(0, 2**32 - 1))
@pytest.mark.thorough
def test_distances_in_random_towns(
    tmp_path_factory: pytest.TempPathFactory,
    town: Any,
    means: dict[str, Any],
    asked: dict[str, Any],
    when: int,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    nodes, links, *_ = town
    path = drawn_feed(tmp_path_factory.mktemp("town"), town, rng)
    network = tl.build_network(tables(nodes, [(*link, ON_FOOT) for link in links]), gtfs=path, timezone="UTC")
    means = {**means, **({"traffic_model": "off_peak"} if means["type"].startswith("driving") else {})}
    side = max(x for x, _ in nodes.values()) + 60
    origins, destinations = (
        gpd.GeoSeries.from_xy(*FRAME.to_lnglat(rng.uniform(-60, side, n), rng.uniform(-60, side, n)), crs="EPSG:4326")
        for n in (3, 4)
    )
    # One place is an origin and a destination.
    destinations.iloc[0] = origins.iloc[0]
    moment = pd.Timestamp(posix("2026-03-03T08:00:00") + when, unit="s", tz="UTC")
    how = {name: moment if name.endswith("_time") else value for name, value in asked.items()}
    how |= {"travel_time": 1800, "transportation": means}
    if seed % 2:
        # As after searches from many points: lengths are then those of the walks around stops.
        query = ask(network, means, how.get("departure_time"), how.get("arrival_time"), None, limit=1800).transit
        assert query is not None
        for is_leaving in (False, True):
            query.walks(is_leaving=is_leaving)
    assert_distances_are_those_of_routes(network, origins, destinations, **how)


@pytest.mark.slow
def test_the_last_millisecond_of_a_limit_has_a_distance(tmp_path: Path) -> None:
    """A ride of 300 s, and places a millisecond apart around those where the walk after it is too long by one."""
    network = town(tmp_path)
    ends = at(*((3000.49 + k / 1000, 0.0) for k in range(20)))
    how: dict[str, Any] = {"departure_time": "2026-03-03T08:00", "transportation": "public_transport"}
    n_reached = assert_distances_are_those_of_routes(network, at((0, 0)), ends, travel_time=300, **how)
    assert 0 < n_reached < len(ends)


@pytest.mark.parametrize(("seconds", "price"), [(600, 2.0), (599, 4.0)])
def test_prices_depend_on_when_vehicles_are_boarded(tmp_path: Path, seconds: int, price: float) -> None:
    """The second bus leaves ten minutes after the first."""
    tariff = f"fare_id,price,currency_type,transfers,transfer_duration\nf,2,EUR,,{seconds}"
    network = town(tmp_path, fare_attributes=tariff)
    way = at((0, 0)), at((6000, 0))
    for moment in ({"departure_time": "2026-03-03T08:00"}, {"arrival_time": "2026-03-03T08:16"}):
        how: dict[str, Any] = {**moment, "travel_time": 1800, "transportation": "public_transport"}
        assert assert_distances_are_those_of_routes(network, *way, **how) == 1
        how.pop("travel_time")
        assert tl.routes(network, *way, properties=["fares"], **how)["fares"][0].totals == {"EUR": price}


def test_a_bicycle_on_a_ferry_to_the_stop(tmp_path: Path) -> None:
    """Where any street is a ferry, routes are built for their lengths by mode."""
    nodes = {0: (-900, 0), 1: (-500, 0), 2: (0, 0), 3: (6500, 0)}
    links = [(0, 1, ON_FOOT), (1, 2, {**ON_FOOT, "highway": None, "route": "ferry"}), (2, 3, ON_FOOT)]
    network = tl.build_network(tables(nodes, links), gtfs=timetable(tmp_path, STOPS, TRIPS), timezone="UTC")
    means = {"type": "cycling+public_transport", "parking_time": 0, "boarding_time": 10}
    how: dict[str, Any] = {"departure_time": "2026-03-03T07:50", "transportation": means}
    way = at((-900, 0)), at((6000, 0))
    assert assert_distances_are_those_of_routes(network, *way, travel_time=3600, **how) == 1
    (breakdown,) = tl.routes(network, *way, properties=["distance_breakdown"], **how)["distance_breakdown"]
    assert {mode: round(metres) for mode, metres in breakdown.items()} == {"bike": 400, "ferry": 500, "bus": 6000}


CITIES = {
    "porto_alegre": ("2019-05-14T08:00", "2019-05-14T09:00"),
    "helsinki": ("2022-02-22T08:00", "2022-02-22T09:00"),
    "milan": ("2014-10-28T08:00", "2014-10-28T09:00"),
}
FILES = {"helsinki": "osm_transit_roads.pbf", "milan": "osm.pbf"}


@pytest.fixture(scope="module", params=["porto_alegre", *(pytest.param(c, marks=pytest.mark.thorough) for c in FILES)])
def city(request: pytest.FixtureRequest) -> tuple[str, tl.Network]:
    """Return the name and the network of a city with a timetable."""
    if request.param == "porto_alegre":
        return request.param, request.getfixturevalue("porto_alegre")
    folder = request.getfixturevalue("shared_data") / request.param
    return request.param, tl.build_network(folder / FILES[request.param], gtfs=folder / "gtfs.zip")


@pytest.mark.thorough
def test_distances_in_cities(city: tuple[str, tl.Network]) -> None:
    name, network = city
    leaving, arriving = CITIES[name]
    # Not all stops of Helsinki are on the map.
    assert network.timetable is not None
    stops = network.timetable.stops[network.timetable.is_called]
    west, south, east, north = network.bounds
    stops = stops[stops["stop_lon"].between(west, east) & stops["stop_lat"].between(south, north)]
    places = stops.sample(15, random_state=1)[["stop_lon", "stop_lat"]].to_numpy(np.float64)
    places = places + np.random.default_rng(1).normal(0.0, 1e-3, places.shape)
    origins, destinations = (gpd.GeoSeries.from_xy(*some.T, crs="EPSG:4326") for some in (places[:3], places[3:]))
    n_reached = 0
    for kind in ("public_transport", "driving+public_transport"):
        for asked in ASKED[:4]:
            moments = {"departure_time": leaving, "arrival_time": arriving}
            how = {word: moments.get(word, value) for word, value in asked.items()}
            n_reached += assert_distances_are_those_of_routes(
                network, origins, destinations, travel_time=3600, transportation=kind, **how
            )
    assert n_reached > 40


@pytest.mark.parametrize("is_origin", first_of(1, [False, True], mark=pytest.mark.thorough))
def test_the_best_link_is_that_of_all_links(porto_alegre: tl.Network, is_origin: bool) -> None:
    query = ask(porto_alegre, "public_transport", "2019-05-14T08:00", None, None, limit=1800).transit
    assert query is not None
    rng, points = np.random.default_rng(5), porto_alegre.tables
    nodes = rng.integers(0, points.node_lng.size, 400)
    snaps = query.snap(points.node_lng[nodes], points.node_lat[nodes] + 2e-4, is_origin=is_origin)
    links = query.links(snaps, is_origin=is_origin)
    # Round times, so that several stops are equally good.
    times = (rng.integers(0, 60, query.search().table.n_stops) * 60_000).astype(np.int32)
    times[rng.random(times.size) < 0.5] = NEVER
    best = query.links(snaps, is_origin=is_origin, times=times)
    at = ride_lines.best_links(links, times)
    assert np.diff(best.indptr).tolist() == (at >= 0).tolist()
    assert best.stops.tolist() == links.stops[at[at >= 0]].tolist()
    assert best.ms.tolist() == links.ms[at[at >= 0]].tolist()


@pytest.mark.parametrize("penalty", ["enabled", "disabled"])
@pytest.mark.parametrize("is_origin", [False, True])
def test_lengths_of_walks_around_stops_are_those_of_searches(
    porto_alegre: tl.Network, is_origin: bool, penalty: str
) -> None:
    query = ask(
        porto_alegre, "public_transport", "2019-05-14T08:00", None, tl.Snapping(penalty=penalty), limit=1800
    ).transit
    assert query is not None
    rng, tables, stops = np.random.default_rng(6), porto_alegre.tables, query.stops.leaving.snaps
    nodes, near = rng.integers(0, tables.node_lng.size, 30), rng.choice(np.flatnonzero(stops.edge >= 0), 30)
    # Some points are places of stops, or beside them on the same edge.
    lng = np.concatenate([tables.node_lng[nodes], stops.lng[near], stops.lng[near] + 1e-4])
    lat = np.concatenate([tables.node_lat[nodes] + 2e-4, stops.lat[near], stops.lat[near]])
    snaps = query.snap(lng, lat, is_origin=is_origin)
    links = query.links(snaps, is_origin=is_origin)
    side = StreetSide.of(query, snaps, links, is_origin=is_origin)
    assert side.walks is not None, "walks around stops are known after links of this many points"
    points_of = np.repeat(np.arange(lng.size), np.diff(links.indptr))
    everything = np.arange(links.stops.size), points_of
    found = side.link_lengths(*everything, by_stop=True)
    assert (found > 0).sum() > 1000
    assert (found == NO_WAY).any()
    for by_stop in (True, False):
        assert found.tolist() == replace(side, walks=None).link_lengths(*everything, by_stop=by_stop).tolist()


def distances(line: np.ndarray, along: np.ndarray, places: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return how far places along a line are from points."""
    there = np.column_stack([np.interp(places, along, line[:, k]) for k in (0, 1)])
    return np.asarray(np.hypot(*(there - points).T))


def places_of(line: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the length up to each point of a line, and the places of points along it."""
    along, found = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))]), np.empty(len(points))
    ride_lines.places_along(*(np.ascontiguousarray(each) for each in (*line.T, along, *points.T)), found)
    return along, found


coordinates = st.tuples(*[st.integers(-50, 50).map(lambda value: value / 20_000)] * 2)
wide_coordinates = st.tuples(*[st.integers(-50, 50).map(lambda value: value / 4_000)] * 2)


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(
    st.lists(coordinates, min_size=2, max_size=7),
    st.lists(st.one_of(coordinates, wide_coordinates), min_size=1, max_size=5),
)
@example([(0.0, 0.0), (-0.00165, 0.0003)], [(-0.0017, 0.0), (0.0025, -0.0025)])
def test_places_along_a_line_are_in_order_and_the_nearest_where_these_are(line: Any, points: Any) -> None:
    line, points = np.array(line), np.array(points)
    along, found = places_of(line, points)
    if along[-1] == 0.0:
        assert np.isnan(found).all()
        return
    drawn = shapely.LineString(line)
    is_near = shapely.distance(drawn, shapely.points(points)) <= ride_lines.FAR_DEGREES
    assert np.isnan(found[~is_near]).all()
    points, found = points[is_near], found[is_near]
    if found.size == 0:
        return
    assert found.tolist() == pytest.approx(places_of(line, points)[1].tolist(), abs=0.0, nan_ok=True), "others alone"
    has_place = ~np.isnan(found)
    assert (np.diff(found[has_place]) >= 0.0).all()
    assert ((found >= 0.0) & (found <= along[-1] + 1e-12))[has_place].all()
    # Those without a place are at least so far away from where they would be.
    away = np.where(has_place, distances(line, along, found, points), ride_lines.FAR_DEGREES)
    least = shapely.distance(drawn, shapely.points(points))
    assert (away >= least - 1e-9).all()
    nearest = shapely.line_locate_point(drawn, shapely.points(points))
    if (np.diff(nearest) >= 0.0).all():
        assert away == pytest.approx(least, abs=1e-7)
    # Places of which each is the nearest after that before it are no better.
    greedy, begin = 0.0, 0.0
    for point in points:
        some = np.unique(np.concatenate([np.linspace(begin, along[-1], 200), along[along >= begin]]))
        there = distances(line, along, some, np.broadcast_to(point, (some.size, 2)))
        begin = some[int(there.argmin())]
        greedy += there.min()
    assert away.sum() <= greedy + 1e-4


@pytest.mark.thorough
def test_a_loop_is_followed_although_its_first_stop_is_nearest_to_its_end() -> None:
    line = np.array([(0, 0), (3000, 0), (3000, 20), (-50, 20), (-50, 45), (0, 45)]) * 1e-5
    stops = np.array([(0, 23), (3000, 0), (0, 40)]) * 1e-5
    assert distances(line, *places_of(line, stops[:1]), stops[:1])[0] < 23e-5
    along, found = places_of(line, stops)
    assert found == pytest.approx(np.array([0, 3000, along[-1] * 1e5]) * 1e-5, abs=1e-9)


@pytest.mark.thorough
def test_stops_far_from_the_line_do_not_draw_others_away() -> None:
    """A branch that the shape lacks: both of its stops are nearest to the end, where the stop after them would be."""
    line = np.array([(0, 0), (1000, 0), (1200, 600), (1000, 900)]) * 1e-5
    stops = np.array([(100, 5), (900, 2000), (950, 1900), (980, 3), (1190, 605)]) * 1e-5
    along, found = places_of(line, stops)
    assert found == pytest.approx([100e-5, np.nan, np.nan, 980e-5, along[2] + 10e-5], abs=3e-5, nan_ok=True)


@pytest.mark.thorough
def test_stops_without_coordinates_have_no_place_nor_has_one_of_many_that_is_far_away() -> None:
    line, stops = np.array([(0, 0), (1, 0), (1, 1)]), np.array([(0.2, 0.001), (np.nan, 0.0), (1.001, 0.5), (0.9, 1.0)])
    assert places_of(line, stops)[1] == pytest.approx([0.2, np.nan, 1.5, np.nan], nan_ok=True), "the last is far away"
    many = np.column_stack([np.linspace(0.0, 1.0, 1201), np.zeros(1201)])
    stops = many[:-1] + np.array([0.0, 0.001])
    stops[600] = 2.0, 0.0
    expected = np.where(np.arange(1200) == 600, np.nan, stops[:, 0])
    assert places_of(many, stops)[1] == pytest.approx(expected, abs=1e-9, nan_ok=True)


def line_of_ride(network: tl.Network, trip: int, first: int, last: int) -> np.ndarray:
    """Return the line of a trip between two positions; the twin of `ride_lines.trip_line`."""
    t = network.timetable
    assert t is not None
    pattern = int(t.hot.trip_pattern[trip])
    begin = int(t.pattern_indptr[pattern])
    stops = t.pattern_stop[begin + first : begin + last + 1]
    straight = np.column_stack([t.column("stops", "stop_lon")[stops], t.column("stops", "stop_lat")[stops]])
    course = int(t.column("trips", "course_idx")[trip])
    shape = int(t.course_shape[course]) if course >= 0 else -1
    if shape < 0:
        return straight
    rows = slice(int(t.shape_indptr[shape]), int(t.shape_indptr[shape + 1]))
    line = np.column_stack([t.shape_lng[rows], t.shape_lat[rows]])
    if len(line) < 2:
        return straight
    at = int(t.course_indptr[course])
    before = after = straight[:0]
    given = t.course_along[at : at + int(np.diff(t.pattern_indptr)[pattern])].astype(np.float64)
    along, ends = t.shape_along[rows], given[[first, last]]
    if not (np.isfinite(given).all() and np.isfinite(along).all() and along[-1] > along[0]):
        every = t.pattern_stop[begin : begin + given.size]
        points = np.column_stack([t.column("stops", "stop_lon")[every], t.column("stops", "stop_lat")[every]])
        along, places = places_of(line, points)
        inner = places[first : last + 1]
        if np.isfinite(inner).any():
            one, two = np.flatnonzero(np.isfinite(inner))[[0, -1]]
            ends, before, after = inner[[one, two]], straight[:one], straight[two + 1 :]
        else:
            ends = inner[[0, -1]]
    if not ends[0] < ends[1]:
        return straight
    along_line = (along > ends[0]) & (along < ends[1])
    cut = [np.array([np.interp(end, along, line[:, k]) for k in (0, 1)]) for end in ends]
    return np.vstack([before, cut[0], line[along_line], cut[1], after])


def assert_lines_equal(network: tl.Network, trips: Any, rng: np.random.Generator) -> None:
    """Compare lines of rides with those of a twin, and their lengths."""
    t, lines = network.timetable, ride_lengths.trip_lines(network.transit)
    assert t is not None
    for trip in trips:
        size = int(np.diff(t.pattern_indptr)[t.hot.trip_pattern[trip]])
        first, last = sorted(rng.integers(0, size, 2).tolist())
        got, expected = ride_lines.trip_line(lines, trip, first, last), line_of_ride(network, trip, first, last)
        metres = crs.segment_lengths_m(expected[:, 0], expected[:, 1]).sum()
        assert ride_lines.line_cm(got) / 100.0 == pytest.approx(metres, abs=0.011)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(towns(), st.integers(0, 2**32 - 1))
@pytest.mark.slow
def test_lines_of_rides_equal_the_twin(tmp_path_factory: pytest.TempPathFactory, town: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes, links, _, trips = town
    path = drawn_feed(tmp_path_factory.mktemp("town"), town, rng)
    network = tl.build_network(tables(nodes, [(*link, ON_FOOT) for link in links]), gtfs=path, timezone="UTC")
    assert_lines_equal(network, range(len(trips)), rng)


@pytest.mark.thorough
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(towns(), st.integers(0, 2**32 - 1), st.sampled_from([0, 12, 1 << 20]))
def test_lengths_that_are_kept_are_those_of_lines(
    tmp_path_factory: pytest.TempPathFactory, town: Any, seed: int, most: int
) -> None:
    rng = np.random.default_rng(seed)
    nodes, links, _, trips = town
    path = drawn_feed(tmp_path_factory.mktemp("town"), town, rng)
    network = tl.build_network(tables(nodes, [(*link, ON_FOOT) for link in links]), gtfs=path, timezone="UTC")
    t, lines = network.timetable, ride_lengths.trip_lines(network.transit)
    assert t is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ride_lengths, "_MOST_KNOWN", most)
        known = ride_lengths._no_lengths(t)
    assert known.cm.size <= most
    rides = [
        (trip, first, last)
        for trip in rng.permutation(len(trips)).tolist()
        for last in range(int(np.diff(t.pattern_indptr)[t.hot.trip_pattern[trip]]))
        for first in range(last)
    ]
    trip, first, last = np.array(rides, np.int32).reshape(-1, 3).T.copy()
    runs, stays = np.arange(len(trips), dtype=np.int32), np.full(len(trips), -1, np.int32)
    expected = [ride_lines.line_cm(ride_lines.trip_line(lines, *ride)) for ride in rides]
    for _ in range(2):  # measured, then kept
        indptr, calls = ride_lines.ride_calls(lines, known, runs, stays, trip, first, trip, last)
        assert indptr.tolist() == list(range(len(rides) + 1))
        assert calls.tolist() == [[*ride, cm] for ride, cm in zip(rides, expected, strict=True)]
    assert np.count_nonzero(known.cm) == known.cm.size or most < 1 << 20


@pytest.mark.thorough
def test_lines_of_rides_in_cities(city: tuple[str, tl.Network]) -> None:
    _, network = city
    rng = np.random.default_rng(5)
    assert network.timetable is not None
    assert_lines_equal(network, rng.integers(0, network.timetable.n_trips, 400).tolist(), rng)


def test_lengths_are_measured_as_everywhere() -> None:
    rng = np.random.default_rng(1)
    lng, lat = rng.uniform(-180, 180, (2, 200)), rng.uniform(-89, 89, (2, 200))
    lng[1, ::2], lat[1, ::2] = lng[0, ::2] + 1e-3, lat[0, ::2] + 1e-3
    for a, b in zip(np.column_stack([lng[0], lat[0]]), np.column_stack([lng[1], lat[1]]), strict=True):
        expected = crs.segment_lengths_m(np.array([a[0], b[0]]), np.array([a[1], b[1]]))[0]
        assert ride_lines.length_m(*a, *b) == pytest.approx(expected, rel=1e-9)
    assert (ride_lines.WGS84_A_M, ride_lines.WGS84_E2) == (crs.WGS84_A_M, crs.WGS84_E2)
