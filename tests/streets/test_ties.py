"""Points at junctions use all of their streets, in matrices, shapes, routes and cells alike."""

from __future__ import annotations

from typing import Any

import geopandas as gpd
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.oracles import StreetOracle
from tests.support.oracles_snapping import SnapOracle
from tests.support.osm_files import osm_xml
from tests.support.worlds import at, recut, towns, world
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.modes.snapping import as_snapping
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.network.network import Network
from traveltime_lab.streets.snapping import CAN_ARRIVE, CAN_LEAVE, SNAPPED, Snaps, snap_points

quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
MODES = ("walking", "cycling", "driving")


def single(snaps: Snaps, point: int, place: int) -> Snaps:
    """Return the snap of a point with only one of its places."""
    assert snaps.places is not None
    k = int(snaps.places.indptr[point]) + place
    return Snaps(
        snaps.places.edge[k : k + 1], snaps.places.fraction[k : k + 1], snaps.places.distance[k : k + 1],
        np.full(1, SNAPPED, np.int8), np.full(1, np.nan), np.full(1, np.nan),
    )  # fmt: skip


def some_nodes(network: Network, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    t = network.tables
    nodes = np.unique(np.concatenate([t.edge_from, t.edge_to]))
    picked = np.random.default_rng(seed).choice(nodes, min(n, nodes.size), replace=False)
    return t.node_lng[picked], t.node_lat[picked]


def near_nodes(network: Network, n: int, seed: int, away: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points at nodes and, some degrees away, beside them."""
    lng, lat = some_nodes(network, n, seed)
    rng = np.random.default_rng(seed)
    beside = [axis + rng.choice([0.1, 1.0], axis.size) * rng.normal(0, away, axis.size) for axis in (lng, lat)]
    return np.concatenate([lng, beside[0]]), np.concatenate([lat, beside[1]])


def assert_places_by_hand(network: Network, mode: str, lng: np.ndarray, lat: np.ndarray) -> None:
    """Compare the places of points, also those on islands, with those of an oracle that looks at every segment."""
    transportation = tl.Transportation(mode, traffic_model="off_peak") if mode == "driving" else as_transportation(mode)
    oracle = SnapOracle(network, StreetOracle(network, mode))
    for needed, edges in ((CAN_LEAVE, oracle.can_leave), (CAN_ARRIVE, oracle.can_arrive)):
        snaps = snap_points(network.streets, lng, lat, transportation, as_snapping(None), needed)
        for found, expected in zip((snaps, snaps.only_islands()), oracle.snaps(lng, lat, edges), strict=True):
            for i in range(lng.size):
                mine, hers = ({(e, round(at, 5), round(m, 4)) for e, at, m in zip(*some_of(each, i), strict=True)}
                              for each in (found, expected))  # fmt: skip
                assert mine == hers, (i, lng[i], lat[i])


def some_of(snaps: Snaps, i: int) -> list[list[float]]:
    """Return edges, positions and distances of a point."""
    assert snaps.places is not None
    rows = slice(int(snaps.places.indptr[i]), int(snaps.places.indptr[i + 1]))
    return [array[rows].tolist() for array in snaps.places[1:]]


@quick
@given(towns(), st.sampled_from(MODES), st.integers(0, 2**31))
@pytest.mark.slow
def test_places_are_found_by_hand(network: Network, mode: str, seed: int) -> None:
    assert_places_by_hand(network, mode, *near_nodes(network, 4, seed, 3e-5))
    again = tl.build_network(recut(network.tables, seed), timezone="UTC")
    assert_places_by_hand(again, mode, *near_nodes(network, 4, seed, 3e-5))


@pytest.mark.thorough
@pytest.mark.parametrize("mode", MODES)
def test_places_are_found_by_hand_in_a_city(helsinki: Network, mode: str) -> None:
    # Water and motorways may be in between; there are none this near to the streets of the centre.
    assert_places_by_hand(helsinki, mode, *near_nodes(helsinki, 60, 1, 1e-4))


@pytest.mark.slow
@quick
@given(towns(), st.sampled_from(MODES), st.integers(0, 2**31))
def test_it_does_not_matter_where_streets_are_cut_and_how_they_are_numbered(
    network: Network, mode: str, seed: int
) -> None:
    transportation = as_transportation(mode)
    points = near_nodes(network, 4, seed, 3e-5)
    found = []
    for each in (network, tl.build_network(recut(network.tables, seed), timezone="UTC")):
        sides = (
            snap_points(each.streets, *points, transportation, as_snapping(None), needed)
            for needed in (CAN_LEAVE, CAN_ARRIVE)
        )
        found.append(table(each, each.road_graph(transportation), *sides))
    np.testing.assert_array_equal(*map(np.isfinite, found))
    # Each piece is rounded to whole milliseconds; there are three for each street at most.
    np.testing.assert_allclose(*found, rtol=0, atol=0.002 * 3 * network.n_edges)


@pytest.mark.parametrize("mode", MODES)
def test_a_junction_is_as_good_as_its_best_street(helsinki: Network, mode: str) -> None:
    lng, lat = some_nodes(helsinki, 25, 3)
    other_lng, other_lat = some_nodes(helsinki, 12, 4)
    points, others = (gpd.GeoSeries.from_xy(*xy, crs=4326) for xy in ((lng, lat), (other_lng, other_lat)))
    transportation, snapping = as_transportation(mode), as_snapping(None)
    graph = helsinki.road_graph(transportation)
    ask = {"travel_time": 7200, "transportation": mode, "form": "matrix"}
    leaving = tl.time_filter(helsinki, points, others, **ask).to_numpy(dtype=float)
    arriving = tl.time_filter(helsinki, others, points, **ask).to_numpy(dtype=float)
    ends = snap_points(helsinki.streets, other_lng, other_lat, transportation, snapping, CAN_ARRIVE)
    starts = snap_points(helsinki.streets, other_lng, other_lat, transportation, snapping, CAN_LEAVE)
    for needed, found in ((CAN_LEAVE, leaving), (CAN_ARRIVE, arriving.T)):
        snaps = snap_points(helsinki.streets, lng, lat, transportation, snapping, needed)
        assert snaps.places is not None
        for i in np.flatnonzero(snaps.edge >= 0):
            best = np.full(other_lng.size, np.inf)
            for place in range(int(np.diff(snaps.places.indptr)[i])):
                one = single(snaps, i, place)
                pair = (one, ends) if needed == CAN_LEAVE else (starts, one)
                best = np.minimum(best, table(helsinki, graph, *pair).ravel())
            expected = np.where(np.isfinite(best), best, np.nan)
            # Pairs that are one place or on one island do not use these places.
            same = (other_lng == lng[i]) & (other_lat == lat[i])
            same |= snaps.on_islands()[i] & (ends if needed == CAN_LEAVE else starts).on_islands()
            np.testing.assert_allclose(np.where(same, np.nan, found[i]), np.where(same, np.nan, expected), atol=0.5)


def table(network: Network, graph: Any, starts: Snaps, ends: Snaps) -> np.ndarray:
    from traveltime_lab.modes.snapping import Snapping
    from traveltime_lab.streets import matrix

    labels = np.empty((len(starts), len(ends)), np.int64)
    for block in matrix.label_blocks(network.streets, graph, starts, ends, Snapping(), limit=7200, engine="dijkstra"):
        labels[block.rows, block.columns] = block.labels
    return np.where(labels == UNREACHED, np.inf, (labels >> 32) / 1000.0)


@pytest.mark.parametrize("mode", MODES)
def test_matrix_routes_shapes_and_cells_agree_at_junctions(helsinki: Network, mode: str) -> None:
    points = gpd.GeoSeries.from_xy(*some_nodes(helsinki, 40, 5), crs=4326)
    origins = points.iloc[:3]
    times = tl.time_filter(helsinki, origins, points, travel_time=3600, transportation=mode, form="matrix")
    aligned = tl.routes(helsinki, origins, points, transportation=mode)["travel_time"].to_numpy(dtype=float)
    matrix = times.to_numpy(dtype=float).ravel()
    reached = np.isfinite(matrix)
    np.testing.assert_allclose(aligned[reached], matrix[reached], atol=1.0)
    for engine in ("hierarchy", "dijkstra"):
        again = tl.time_filter(
            helsinki, origins, points, travel_time=3600, transportation=mode, form="matrix", engine=engine
        )
        np.testing.assert_array_equal(again.to_numpy(dtype=float).ravel(), matrix)


@pytest.fixture(scope="module")
def crossroads(tmp_path_factory: pytest.TempPathFactory) -> Network:
    """A junction whose streets are one-way: whoever leaves by the wrong one drives round the block."""
    nodes = {1: (0, 0), 2: (2, 0), 3: (2, 2), 4: (0, 2), 5: (-2, 0), 6: (-2, 2)}
    path = tmp_path_factory.mktemp("crossroads") / "crossroads.osm"
    oneway = "highway=residential oneway=yes"
    ways = [
        (101, "1 2", oneway), (102, "2 3", oneway), (103, "3 4", oneway), (104, "4 1", oneway),
        (105, "1 5", oneway), (106, "5 6", oneway), (107, "6 4", oneway),
    ]  # fmt: skip
    path.write_bytes(osm_xml({ref: (9 + x * 0.001, 45 + y * 0.001) for ref, (x, y) in nodes.items()}, ways))
    return tl.build_network(path)


def test_leaving_a_junction_by_any_of_its_streets(crossroads: Network) -> None:
    junction = gpd.GeoSeries.from_xy([9.0], [45.0], crs=4326)
    near = gpd.GeoSeries.from_xy([9.0004, 8.9996, 9.0], [45.0, 45.0, 45.0004], crs=4326)
    ask = {"travel_time": 3600, "transportation": "driving", "form": "matrix"}
    leaving = tl.time_filter(crossroads, junction, near, **ask).to_numpy(dtype=float)[0]
    arriving = tl.time_filter(crossroads, near, junction, **ask).to_numpy(dtype=float)[:, 0]
    assert (leaving[:2] < 15).all()
    assert leaving[2] > 40
    assert arriving[2] < 15
    assert (arriving[:2] > 40).all()
    shape = tl.time_map(
        crossroads, junction, travel_time=20, transportation="driving", level_of_detail="highest"
    ).geometry.iloc[0]
    assert shape.covers(near.iloc[0])
    assert shape.covers(near.iloc[1])
    back = tl.time_map(
        crossroads, junction, travel_time=20, transportation="driving", level_of_detail="highest",
        arrival_time="2026-03-04T08:00",
    ).geometry.iloc[0]  # fmt: skip
    assert back.covers(near.iloc[2])


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("moment", ["departure_time", "arrival_time"])
@pytest.mark.parametrize("search", [tl.time_map, tl.distance_map])
def test_cells_at_the_end_of_a_one_way_street(search: Any, moment: str, end: int) -> None:
    """A trip along no part of a street needs no direction."""
    network = world({"a": (0, 0), "b": (600, 0)}, [("a", "b", {"oneway": True})])
    away = np.array([-1, 1])[end]
    origin, place = at((600 * end + 15 * away, 10)), at((600 * end + 90 * away, -10))
    limit = {"travel_time": 120} if search is tl.time_map else {"distance": 120}
    how: dict[str, Any] = {"transportation": "driving", moment: "2026-03-03T03:00"}
    shape = search(network, origin, level_of_detail="highest", **limit, **how).geometry[0]
    assert shape.covers(place.iloc[0])
    ends = (place, origin) if moment == "arrival_time" else (origin, place)
    assert tl.time_filter(network, *ends, travel_time=120, **how)["travel_time"].notna().all()
