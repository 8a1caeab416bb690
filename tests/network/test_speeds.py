"""Speeds of one's own: what they change, what they leave alone, and what is refused."""

from __future__ import annotations

import dataclasses

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

from tests.support.worlds import FRAME, at, world
from traveltime_lab import Transportation, add_speeds, time_filter
from traveltime_lab.errors import CrsError, InputError, LimitError
from traveltime_lab.network.network import Network
from traveltime_lab.network.speeds import tables_with_factors

# Four streets in a row, a kilometre each, 18 km/h or 5 m/s; the last one goes eastwards only, and back over f.
#
#   a ---100--- b ---101--- c ---102--- d ---103--> e
#                                        <--  f  <--
NODES = {name: (1000.0 * i, 0.0) for i, name in enumerate("abcde")} | {"f": (3500.0, 800.0)}
STREETS = [
    ("a", "b"),
    ("b", "c", {"highway": "primary"}),
    ("c", "d", {"highway": "primary"}),
    ("d", "e", {"oneway": "yes"}),
    ("e", "f", {"oneway": "yes"}),
    ("f", "d", {"oneway": "yes"}),
]
FREE = Transportation("driving", traffic_model="off_peak")


@pytest.fixture(scope="module")
def row() -> Network:
    return world(NODES, STREETS)


def edge(network: Network, way: int) -> int:
    return int(np.flatnonzero(network.tables.edge_way_id == way)[0])


def seconds(network: Network, west: float, east: float, transportation: object = FREE) -> list[float]:
    """Return the times there and back between two places on the row; no walks, no turns, no signals on the way."""
    ends = at((west, 0.0), (east, 0.0))
    table = time_filter(network, ends, ends, travel_time=14_400, transportation=transportation, form="matrix")
    return [table.iloc[0, 1], table.iloc[1, 0]]


def kph(network: Network, way: int, mode: str = "driving") -> list[float]:
    use = network.tables.uses.iloc[network.tables.edge_use[edge(network, way)]]
    return [float(use[f"{mode}_kph_{side}"]) for side in ("forward", "backward")]


def box(west: float, east: float, factor: float, crs: str | None = "EPSG:4326") -> gpd.GeoDataFrame:
    lng, lat = FRAME.to_lnglat(np.array([west, east]), np.array([-50.0, 50.0]))
    frame = gpd.GeoDataFrame({"factor": [factor]}, geometry=[shapely.box(lng[0], lat[0], lng[1], lat[1])])
    return frame.set_crs(crs) if crs else frame


def test_by_class_of_street(row):
    faster = add_speeds(row, classes={"primary": 36})
    assert [kph(faster, way)[0] for way in (100, 101, 102, 103)] == [18, 36, 36, 18]
    # From the middle of one street to the middle of the next, and within one: twice as fast.
    assert seconds(row, 1100, 1900) == pytest.approx([160, 160], abs=1)
    assert seconds(faster, 1100, 1900) == pytest.approx([80, 80], abs=1)
    assert seconds(faster, 100, 900) == seconds(row, 100, 900)


def test_by_way_and_by_edge_and_which_wins(row):
    network = add_speeds(
        row, classes={"primary": 36}, ways={101: 54, 100: 9}, edges={edge(row, 100): 72, edge(row, 102): 3.6}
    )
    assert [kph(network, way)[0] for way in (100, 101, 102, 103)] == pytest.approx([72, 54, 3.6, 18])
    assert seconds(network, 1100, 1900) == pytest.approx([800 / 15] * 2, abs=1)


def test_by_series(row):
    for given in ({101: 54, 102: 54.5}, pd.Series({101: 54, 102: 54.5}), pd.Series(["54", "54.5"], [101, 102])):
        assert kph(add_speeds(row, ways=given), 102) == [54.5, 54.5]


def test_closed_directions_stay_closed(row):
    assert kph(row, 103) == [18, 0]
    network = add_speeds(row, ways={103: 72})
    assert kph(network, 103) == [72, 0]
    there, back = seconds(network, 3100, 3900)
    assert there == pytest.approx(40, abs=1)
    assert back > 5 + 5 + 2 * 940 / 5


def test_factors_of_polygons_multiply_what_comes_out(row):
    # The middle of a street decides: that of 101 is at 1500 m, and both polygons hold that of 102.
    zones = pd.concat([box(1400, 2600, 0.5), box(2400, 2700, 0.5)], ignore_index=True)
    network = add_speeds(row, ways={101: 36}, polygons=zones)
    assert [kph(network, way)[0] for way in (100, 101, 102, 103)] == [18, 18, 4.5, 18]
    projected = add_speeds(row, ways={101: 36}, polygons=zones.to_crs("EPSG:3857"))
    assert projected.fingerprint == network.fingerprint


def test_factors_by_class_multiply_what_comes_out(row):
    network = add_speeds(row, edges={edge(row, 101): 36}, factors={"primary": 0.5}, polygons=box(2400, 2700, 0.5))
    assert [kph(network, way)[0] for way in (100, 101, 102, 103)] == [18, 18, 4.5, 18]
    assert kph(network, 103) == [18, 0]
    tables = tables_with_factors(row.tables, {"primary": 0.7, "residential": 1.3}, "driving")
    scaled = add_speeds(row, factors=pd.Series({"primary": 0.7, "residential": 1.3}))
    speeds = ["driving_kph_forward", "driving_kph_backward"]
    mine, theirs = (each.uses[speeds].to_numpy()[each.edge_use] for each in (tables, scaled.tables))
    np.testing.assert_array_equal(mine, theirs)


def test_of_one_mode_only(row):
    network = add_speeds(row, classes={"primary": 6}, mode="walking")
    assert kph(network, 101, "walking") == [6, 6]
    assert kph(network, 101) == kph(network, 101, "cycling") == [18, 18]
    assert seconds(network, 1100, 1900, "walking") == pytest.approx([480, 480], abs=1)


def test_congestion_still_slows_them_down(row):
    network = add_speeds(row, classes={"primary": 36})
    peak = Transportation("driving", traffic_model="peak")
    assert seconds(network, 1100, 1900, peak)[0] > 1.4 * seconds(network, 1100, 1900)[0]


def test_the_network_itself_stays_as_it_is(row):
    before = row.fingerprint
    uses = row.tables.uses.copy()
    network = add_speeds(row, classes={"primary": 36})
    pd.testing.assert_frame_equal(row.tables.uses, uses)
    assert row.fingerprint == before != network.fingerprint
    assert network.report()["own_speeds"] == 2
    assert add_speeds(row, classes={"primary": 18}).report()["own_speeds"] == 0
    for item in ("timezone", "is_left_hand", "attribution", "bounds"):
        assert getattr(network, item) == getattr(row, item)
    for item in dataclasses.fields(row.tables):
        if item.name.startswith(("node_", "coord_", "restriction_", "edge_")) and item.name != "edge_use":
            np.testing.assert_array_equal(getattr(network.tables, item.name), getattr(row.tables, item.name))


def test_speeds_survive_saving(row, tmp_path):
    from traveltime_lab import load_network

    network = add_speeds(row, ways={101: 54})
    loaded = load_network(network.save(tmp_path / "row.network"))
    assert loaded.fingerprint == network.fingerprint
    assert kph(loaded, 101) == [54, 54]


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({}, InputError, "at least one of classes, ways, edges, profile, polygons and factors"),
        ({"classes": {"primary": 36}, "mode": "flying"}, InputError, "got 'flying'"),
        ({"classes": {"motorway": 36}}, InputError, "has the class of street 'motorway', which does not occur"),
        ({"ways": {7: 36}}, InputError, "has the OSM way 7, which does not occur"),
        ({"edges": {6: 36}}, InputError, "has the edge 6, which does not occur"),
        ({"edges": {-1: 36}}, InputError, "has the edge -1, which does not occur"),
        ({"ways": pd.Series([1, 2], [101, 101])}, InputError, "has the OSM way 101 more than once"),
        ({"ways": {101: 0}}, LimitError, "has the speed 0 for OSM way 101; speeds must be from 0.1 to 500"),
        ({"ways": {101: 0.09}}, LimitError, "the speed 0.09"),
        ({"ways": {101: 500.5}}, LimitError, "the speed 500.5"),
        ({"ways": {101: -30}}, LimitError, "the speed -30"),
        ({"ways": {101: float("nan")}}, LimitError, "the speed nan"),
        ({"ways": {101: float("inf")}}, LimitError, "the speed inf"),
        ({"ways": {101: "fast"}}, LimitError, "the speed 'fast'"),
        ({"ways": {101: None}}, LimitError, "the speed None"),
        ({"factors": {"motorway": 0.5}}, InputError, "factors has the class of street 'motorway', which does not"),
        ({"factors": {"primary": 0.001}}, LimitError, "factor 0.001 for class of street 'primary'; factors must be"),
        ({"factors": {"primary": 50}}, LimitError, r"^factors give edge \d a speed of 900 km/h"),
        ({"factors": 0.5}, InputError, "must map each class of street to a factor"),
        ({"polygons": box(1400, 1600, 0.5, crs=None)}, CrsError, "polygons has no CRS"),
        ({"polygons": box(1400, 1600, 0.0)}, LimitError, "factor 0.0 at 0; factors must be above 0"),
        ({"polygons": box(1400, 1600, 101.0)}, LimitError, "factor 101.0"),
        ({"polygons": box(1400, 1600, np.nan)}, LimitError, "factor nan"),
        ({"polygons": box(1400, 1600, 0.001)}, LimitError, r"give edge \d a speed of 0.018 km/h; choose factors"),
        ({"polygons": box(1400, 1600, 50.0)}, LimitError, r"give edge \d a speed of 900 km/h"),
        ({"polygons": box(1400, 1600, 1.0).rename(columns={"factor": "f"})}, InputError, "with a column 'factor'"),
        ({"polygons": box(1400, 1600, 1.0).geometry}, InputError, "must be a GeoDataFrame"),
    ],
)
def test_what_is_refused(row, given, error, words):
    with pytest.raises(error, match=words):
        add_speeds(row, **given)


def test_polygons_may_be_empty_or_missing(row):
    zones = pd.concat([box(1400, 1600, 0.5), box(0, 1, 0.5)], ignore_index=True)
    zones.loc[1, "geometry"] = None
    assert kph(add_speeds(row, polygons=zones), 101) == [9, 9]
    assert add_speeds(row, polygons=zones.iloc[:0]).report()["own_speeds"] == 0


def test_the_slowest_speed_neither_crashes_nor_wraps(row):
    network = add_speeds(row, ways={101: 0.1})
    assert seconds(network, 1100, 1450) == pytest.approx([350 * 36] * 2, abs=1)
    assert np.isnan(seconds(network, 500, 2500)).all()
