"""Streets behind destination-only streets can be reached and left, but not passed."""

from __future__ import annotations

from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest

from tests.support.oracles import StreetOracle
from tests.support.osm_files import osm_xml
from traveltime_lab import Network, build_network, time_filter
from traveltime_lab.modes.snapping import as_snapping
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.streets import costs
from traveltime_lab.streets.access_zones import access_zones
from traveltime_lab.streets.snapping import snap_points

LNG, LAT, STEP = 9.0, 45.0, 0.002
#: Two public avenues (1-2-3-4 and 11-12-13-14), with an estate (21-22) between them behind gates at both ends.
NODES = {
    **{1 + i: (i, 0) for i in range(4)}, **{11 + i: (i, 4) for i in range(4)},
    21: (1, 1), 22: (1, 3), 23: (2, 1), 24: (2, 3), 31: (6, 0), 32: (6, 4),
}  # fmt: skip
STREETS = {
    "1 2 3 4": "highway=residential", "11 12 13 14": "highway=residential",
    "4 31 32 14": "highway=residential", "1 11": "highway=residential oneway=yes",
    "2 21": "highway=residential {gate}", "22 12": "highway=residential {gate}",
    "21 22": "highway=residential",
    "3 23": "highway=residential oneway=yes", "23 24": "highway=residential oneway=yes",
    "24 13": "highway=residential oneway=yes {gate}",
}  # fmt: skip
GATES = ("access=destination", "vehicle=destination", "motor_vehicle=destination", "motor_vehicle=customers",
         "motor_vehicle=delivery", "motorcar=destination")  # fmt: skip


def town(folder: Path, gate: str) -> Network:
    path = folder / "town.osm"
    nodes = {ref: (LNG + x * STEP, LAT + y * STEP) for ref, (x, y) in NODES.items()}
    ways = [(ref, refs, tags.format(gate=gate)) for ref, (refs, tags) in enumerate(STREETS.items(), 101)]
    path.write_bytes(osm_xml(nodes, ways))
    return build_network(path)


def places(**named: tuple[float, float]) -> gpd.GeoSeries:
    x, y = np.array(list(named.values())).T
    return gpd.GeoSeries.from_xy(LNG + x * STEP, LAT + y * STEP, index=pd.Index(named), crs="EPSG:4326")


PLACES = places(
    south=(0.5, 0), north=(0.5, 4), estate=(1, 2), gate=(1, 0.5), far=(6, 2), lane=(2, 2), lane_end=(2, 3.5)
)


@pytest.mark.parametrize("engine", ["dijkstra", "hierarchy"])
@pytest.mark.parametrize("gate", GATES)
def test_an_estate_is_reached_and_left_but_not_passed(tmp_path: Path, gate: str, engine: str) -> None:
    network = town(tmp_path, gate)
    times = time_filter(
        network, PLACES, PLACES, travel_time=7200, transportation="driving", form="matrix", engine=engine
    )
    assert times.notna().all(axis=None)
    oracle = StreetOracle(network, "driving", multiplier=costs.BALANCED)
    snaps = snap_points(
        network.streets, PLACES.x.to_numpy(), PLACES.y.to_numpy(), as_transportation("driving"), as_snapping(None)
    )
    expected = np.array([oracle.times_ms(snaps, i, snaps) for i in range(len(PLACES))]) / 1000.0
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(times.to_numpy(dtype=float), expected, atol=0.5)
    # From avenue to avenue over the estate would be a third of the way round.
    assert times.loc["south", "north"] < times.loc["north", "south"]
    assert times.loc["north", "south"] > 3 * times.loc["estate", "south"]
    # Points in the estate stay there.
    assert (snaps.distance_m < 1.0).all()


def test_zones_of_a_small_graph() -> None:
    # 0 <-> 1 are public; 2 is for destinations, 3 behind it; 4 is entered openly and left over 5; 6 is apart.
    turns = [(0, 1), (1, 0), (1, 2), (2, 3), (3, 2), (2, 0), (0, 4), (4, 5), (5, 1)]
    source, target = np.array(turns, np.int32).T
    is_open = np.ones(7, np.bool_)
    is_destination = np.isin(np.arange(7), [2, 5])
    zones = access_zones(source, target, is_open, is_destination, np.arange(is_open.size, dtype=np.int32))
    assert np.flatnonzero(zones.ends_behind).tolist() == [3]
    assert np.flatnonzero(zones.begins_behind).tolist() == [3, 4]
    entered = {turn for turn, enters in zip(turns, zones.enters(source, target), strict=True) if enters}
    assert entered == {(1, 2), (0, 4)}
    stays = {turn for turn, stay in zip(turns, zones.stays(source, target), strict=True) if stay}
    assert stays == {(2, 3), (3, 2), (4, 5)}


def test_equal_groups_count_alike() -> None:
    # 0 and 2 are public streets on both sides of 1, which is for destinations.
    source, target = np.array([(0, 1), (1, 2)], np.int32).T
    for numbers in ([0, 1, 2], [2, 1, 0]):
        order = np.array(numbers, np.int32)
        is_destination = np.arange(3) == 1
        zones = access_zones(
            order[source], order[target], np.ones(3, np.bool_), is_destination, np.arange(3, dtype=np.int32)
        )
        assert not zones.ends_behind.any()
        assert not zones.begins_behind.any()
        assert not zones.stays(order[source], order[target]).any()
