"""Elevation: heights of streets, how slopes change times, what keeps them, and what is refused."""

from __future__ import annotations

import dataclasses
import math
import pickle
import sys
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import traveltime_lab as tl
from tests.support.osm_files import osm_xml
from tests.support.worlds import FRAME, at, tables, world
from traveltime_lab.network.file import FORMAT_VERSION
from traveltime_lab.network.network import Network
from traveltime_lab.streets import slopes
from traveltime_lab.streets.tables import SLOPE_FACTORS

rasterio = pytest.importorskip("rasterio")

WALK, RIDE = {"walking_kph": 5.0}, {"cycling_kph": 15.0}
USUAL = WALK | RIDE
#: Pixels of the rasters of tests, degrees: about 22 m.
CELL = 0.0002
MODES = ("walking", "cycling")


def raster(path: Path, heights: Callable[..., Any] | np.ndarray, **more: Any) -> Path:
    """Write heights at the centres of pixels, given in metres east and north of the middle, around (0.5, 0.5)."""
    west = north = None
    if callable(heights):
        side = more.pop("side", 300)
        west, north = 0.5 - CELL * side / 2, 0.5 + CELL * side / 2
        lng = west + CELL * (np.arange(side) + 0.5)
        lat = north - CELL * (np.arange(side) + 0.5)
        x, y = FRAME.to_xy(*np.meshgrid(lng, lat))
        heights = np.broadcast_to(np.asarray(heights(x, y), np.float64), (side, side))
    place = more.pop("transform", None) or rasterio.Affine(CELL, 0.0, west or 0.49, 0.0, -CELL, north or 0.51)
    bands = more.pop("bands", 1)
    profile = {"driver": "GTiff", "height": heights.shape[0], "width": heights.shape[1], "count": bands}
    profile |= {"dtype": "float64", "crs": "EPSG:4326", "transform": place} | more
    with rasterio.open(path, "w", **profile) as file:
        for band in range(bands):
            file.write(heights.astype(profile["dtype"]), band + 1)
    return path


def directed(network: Network, start: tuple[float, float], end: tuple[float, float]) -> int:
    """Return the directed edge from one place in metres to another."""
    t = network.tables
    ends = []
    for place in (start, end):
        x, y = FRAME.to_xy(t.node_lng, t.node_lat)
        ends.append(int(np.hypot(x - place[0], y - place[1]).argmin()))
    for edge, pair in enumerate(zip(t.edge_from.tolist(), t.edge_to.tolist(), strict=True)):
        if sorted(pair) == sorted(ends):
            return 2 * edge + (pair[0] != ends[0])
    raise AssertionError(ends)


def matrix(network: Network, mode: Any, places: Any, **how: Any) -> np.ndarray:
    how = {"travel_time": 14_400, "form": "matrix", **how}
    return tl.time_filter(network, places, places, transportation=mode, **how).to_numpy(float)


@pytest.fixture(scope="module")
def cross() -> Network:
    """A street to the east, one to the north, each two kilometres."""
    nodes = {"m": (0, 0), "w": (-1000, 0), "e": (1000, 0), "s": (0, -1000), "n": (0, 1000)}
    return world(nodes, [("w", "m", USUAL), ("m", "e", USUAL), ("s", "m", USUAL), ("m", "n", USUAL)])


# The functions -------------------------------------------------------------------------------------------------------


def test_walking_is_toblers_function() -> None:
    """6 exp(-3.5 |s + 0.05|) km/h, relative to its 5.04 km/h on level ground."""
    for slope in (-0.3, -0.1, -0.05, 0.0, 0.02, 0.25):
        speed, level = (6.0 * math.exp(-3.5 * abs(s + 0.05)) for s in (slope, 0.0))
        assert slopes.walking_factor(np.array([slope]))[0] == pytest.approx(level / speed, rel=1e-12)
    # The table of OpenTripPlanner's ToblersHikingFunction.
    table = {0.35: 3.41, 0.3: 2.86, 0.1: 1.42, 0.05: 1.19, 0.0: 1.0, -0.05: 0.84, -0.1: 1.0, -0.2: 1.42}
    np.testing.assert_allclose(slopes.walking_factor(np.array([*table])), [*table.values()], atol=0.006)


def test_cycling_is_that_of_parkin_and_rotheram() -> None:
    slope = np.array([0.0, 0.01, 0.05, 0.1, -0.01, -0.05, -0.2])
    mps = [6.01, 6.01 - 0.4002, 6.01 - 2.001, 6.01 - 4.002, 6.01 + 0.2379, 6.01 + 1.1895, 35 / 3.6]
    np.testing.assert_allclose(6.01 / slopes.cycling_factor(slope), mps, rtol=1e-12)
    # Steep streets are walked, beside the bicycle, at 4 instead of 15 km/h.
    steep = np.array([0.2, 0.3])
    np.testing.assert_allclose(slopes.cycling_factor(steep), 15 / 4 * slopes.walking_factor(steep))
    assert (np.diff(slopes.cycling_factor(np.linspace(-0.5, 0.5, 1001))) >= 0.0).all()


def test_slopes_end_at_the_steepest_street() -> None:
    for function in (slopes.walking_factor, slopes.cycling_factor):
        np.testing.assert_array_equal(function(np.array([5.0, -5.0])), function(np.array([0.35, -0.35])))


# Laws ----------------------------------------------------------------------------------------------------------------


def test_a_flat_raster_changes_nothing(cross: Network, helsinki: Network, tmp_path: Path) -> None:
    flat = tl.add_elevation(cross, raster(tmp_path / "flat.tif", lambda x, y: 17.3))
    assert all((getattr(flat.tables, name) == 1.0).all() for name in SLOPE_FACTORS)
    west, south, east, north = helsinki.bounds
    wide, high = (east - west) / 40, (north - south) / 40
    pixel = rasterio.Affine(wide, 0, west - 5 * wide, 0, -high, north + 5 * high)
    flat = tl.add_elevation(helsinki, raster(tmp_path / "helsinki.tif", np.full((50, 50), 3.3), transform=pixel))
    places = helsinki.nodes_frame().geometry.iloc[::500].reset_index(drop=True)
    means = ["walking", "cycling", "driving", {"type": "cycling", "cycling_speed": 22}]
    for mode in means:
        np.testing.assert_array_equal(matrix(flat, mode, places), matrix(helsinki, mode, places))


@pytest.mark.parametrize("slope", [0.08, -0.03, 0.2])
def test_a_constant_slope_gives_the_value_of_the_function(cross: Network, tmp_path: Path, slope: float) -> None:
    hill = tl.add_elevation(cross, raster(tmp_path / "hill.tif", lambda x, y: 100 + slope * y))
    places = at((0, -900), (0, 900), (-900, 0), (900, 0))
    for mode, function in (("walking", slopes.walking_factor), ("cycling", slopes.cycling_factor)):
        level, sloped = matrix(cross, mode, places), matrix(hill, mode, places)
        up, down = (float(function(np.array([each]))[0]) for each in (slope, -slope))
        assert sloped[0, 1] == pytest.approx(level[0, 1] * up, abs=1)
        assert sloped[1, 0] == pytest.approx(level[1, 0] * down, abs=1)
        np.testing.assert_array_equal(sloped[2:, 2:], level[2:, 2:])
    np.testing.assert_array_equal(*(matrix(each, "driving", places) for each in (cross, hill)))
    # Step-free walks: 6 % by default, in both directions.
    tenths = abs(round(1000 * slope))
    assert {each for each in hill.tables.edge_slope.tolist() if each > 1} <= {tenths - 1, tenths, tenths + 1}
    for cap in (None, 2.0, tenths / 10 - 0.5, tenths / 10 + 0.5):
        means = {"type": "walking", "step_free": True, "max_incline": cap}
        walks = matrix(hill, means, places, snapping={"threshold": 50})
        assert (np.isnan(walks[0, 1]), np.isnan(walks[1, 0])) == (tenths / 10 > (cap or 6.0),) * 2
        np.testing.assert_array_equal(walks[2:, 2:], matrix(cross, "walking", places)[2:, 2:])
    metres = [
        tl.time_filter(each, places, places, travel_time=14_400, transportation="walking", properties=["distance"])
        for each in (cross, hill)
    ]
    pd.testing.assert_series_equal(metres[0]["distance"], metres[1]["distance"])


def test_a_raster_upside_down_exchanges_the_directions(cross: Network, tmp_path: Path) -> None:
    def rugged(x: Any, y: Any) -> Any:
        return 20 * np.sin(x / 150) + 15 * np.cos(y / 90)

    hills = tl.add_elevation(cross, raster(tmp_path / "hills.tif", rugged))
    holes = tl.add_elevation(cross, raster(tmp_path / "holes.tif", lambda x, y: -rugged(x, y)))
    for name in SLOPE_FACTORS:
        pair = getattr(hills.tables, name).reshape(-1, 2)
        np.testing.assert_allclose(pair[:, ::-1], getattr(holes.tables, name).reshape(-1, 2), rtol=1e-6)
        assert (pair[:, 0] != pair[:, 1]).any()
    places = at((-900, 0), (500, 0), (0, 700), (0, -500))
    for mode in MODES:
        times, back = matrix(hills, mode, places), matrix(holes, mode, places).T
        assert np.abs(times - back).max() <= 1
        assert (times != matrix(hills, mode, places).T).any()
        arriving = matrix(hills, mode, places, arrival_time="2026-03-02T08:00")
        np.testing.assert_array_equal(times, arriving)


def slow_factors(network: Network, heights: np.ndarray, west: float, north: float, metres: float) -> np.ndarray:
    """Return the factors of walking in plain Python: straight streets, bilinear heights, pieces of equal length."""

    def height(lng: float, lat: float) -> float:
        column, row = (lng - west) / CELL - 0.5, (north - lat) / CELL - 0.5
        j, i = math.floor(column), math.floor(row)
        v, u = column - j, row - i
        top = (1 - v) * heights[i][j] + v * heights[i][j + 1]
        return float((1 - u) * top + u * ((1 - v) * heights[i + 1][j] + v * heights[i + 1][j + 1]))

    t = network.tables
    factors = []
    for edge in range(network.n_edges):
        (x0, y0), (x1, y1) = ((t.node_lng[k], t.node_lat[k]) for k in (t.edge_from[edge], t.edge_to[edge]))
        length = t.edge_length_m[edge]
        n = math.ceil(length / metres)
        known = [height(x0 + (x1 - x0) * k / n, y0 + (y1 - y0) * k / n) for k in range(n + 1)]
        for sign in (1, -1):
            rises = [sign * (b - a) / (length / n) for a, b in pairwise(known)]
            rises = [min(max(s, -0.35), 0.35) for s in rises]
            factors.append(sum(math.exp(3.5 * (abs(s + 0.05) - 0.05)) for s in rises) / n)
    return np.array(factors)


def test_rugged_ground_equals_plain_python(cross: Network, tmp_path: Path) -> None:
    heights = np.random.default_rng(5).uniform(0, 12, (120, 120))
    west, north = 0.5 - 60 * CELL, 0.5 + 60 * CELL
    path = raster(tmp_path / "rugged.tif", heights, transform=rasterio.Affine(CELL, 0, west, 0, -CELL, north))
    hills = tl.add_elevation(cross, path)
    metres = hills.tables.report["elevation"]["sampled_every_m"]
    assert metres == pytest.approx(22.1, abs=0.2)
    expected = slow_factors(cross, heights, west, north, metres)
    np.testing.assert_allclose(hills.tables.walking_slope_factor, expected, rtol=1e-5)


# Rasters -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_any_crs_size_of_pixels_and_type(cross: Network, tmp_path: Path) -> None:
    """The same hill in metres, in pixels of 3 m, turned, and in tenths of metres as whole numbers."""
    from pyproj import Transformer

    def hill(x: Any, y: Any) -> Any:
        return 300 + 0.06 * y + 0.02 * x

    expected = tl.add_elevation(cross, raster(tmp_path / "degrees.tif", hill)).tables
    to_utm = Transformer.from_crs("EPSG:4326", "EPSG:32631", always_xy=True)
    x0, y0 = to_utm.transform(0.5, 0.5)
    for name, place, side in (
        ("utm", rasterio.Affine(20, 0, x0 - 1500, 0, -20, y0 + 1500), 150),
        ("fine", rasterio.Affine(3, 0, x0 - 1500, 0, -3, y0 + 1500), 1000),
        ("turned", rasterio.Affine(19, 6, x0 - 3000, 6, -19, y0 + 1600), 250),
    ):
        column, row = np.meshgrid(np.arange(side) + 0.5, np.arange(side) + 0.5)
        x, y = place.a * column + place.b * row + place.c, place.d * column + place.e * row + place.f
        lng, lat = to_utm.transform(x, y, direction="INVERSE")
        path = raster(tmp_path / f"{name}.tif", hill(*FRAME.to_xy(lng, lat)), transform=place, crs="EPSG:32631")
        found = tl.add_elevation(cross, path).tables
        for factor in SLOPE_FACTORS:
            np.testing.assert_allclose(getattr(found, factor), getattr(expected, factor), rtol=2e-3)
        assert name != "fine" or found.report["elevation"]["sampled_every_m"] == pytest.approx(10.0, abs=1.6)
    path = raster(tmp_path / "tenths.tif", lambda x, y: np.rint(10 * hill(x, y)), dtype="int32")
    with rasterio.open(path, "r+") as file:
        file.scales = (0.1,)
    found = tl.add_elevation(cross, path).tables
    np.testing.assert_allclose(found.walking_slope_factor, expected.walking_slope_factor, rtol=5e-3)


def test_streets_without_heights_are_level_and_counted(cross: Network, tmp_path: Path) -> None:
    place = rasterio.Affine(CELL, 0, 0.5 - 150 * CELL, 0, -CELL, 0.5 + 30 * CELL)  # ends 660 m north
    path = raster(tmp_path / "south.tif", np.add.outer(-np.arange(330.0), np.zeros(300)), transform=place)
    with pytest.warns(UserWarning, match=r"1.0 km of streets \(25%\) are outside of south.tif or where it has no data"):
        partly = tl.add_elevation(cross, path)
    north, south = directed(cross, (0, 0), (0, 1000)), directed(cross, (0, -1000), (0, 0))
    factors = partly.tables.walking_slope_factor
    assert factors[south] > 1.0
    # The first 660 m have heights.
    assert 1.0 < factors[north] < factors[south]
    facts = partly.report()["elevation"]
    assert (facts["edges_without_heights"], facts["km_without_heights"]) == (1, pytest.approx(1.0, rel=1e-3))

    holed = np.full((300, 300), 5.0)
    holed[:, 200:] = -9999.0
    place = rasterio.Affine(CELL, 0, 0.5 - 150 * CELL, 0, -CELL, 0.5 + 150 * CELL)
    for value in (-9999.0, np.nan):
        holed[:, 200:] = value
        path = raster(tmp_path / "holed.tif", holed, transform=place, nodata=-9999.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            flat = tl.add_elevation(cross, path)  # the hole begins 1.1 km in the east
        assert (flat.tables.cycling_slope_factor == 1.0).all()
    path = raster(tmp_path / "half.tif", np.where(np.arange(300) < 170, 5.0, -9999.0) * np.ones((300, 1)),
                  transform=place, nodata=-9999.0)  # fmt: skip
    with pytest.warns(UserWarning, match="1.0 km of streets"):
        flat = tl.add_elevation(cross, path)
    assert (flat.tables.walking_slope_factor == 1.0).all()


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_a_raster_without_a_place(cross: Network, tmp_path: Path) -> None:
    path = raster(tmp_path / "nowhere.tif", np.full((300, 300), 7.0), transform=rasterio.Affine.identity())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(tl.DataError, match="does not say where its pixels are"):
            tl.add_elevation(cross, path)


@pytest.mark.parametrize(
    ("more", "error", "says"),
    [
        ({"crs": None}, tl.CrsError, "has no CRS"),
        ({"bands": 2}, tl.InputError, "has 2 bands; heights are one band"),
        (
            {"transform": rasterio.Affine(CELL, 0, 10, 0, -CELL, 50)},
            tl.InputError,
            r"does not touch the network: it has heights from 10\.0000 to 10\.0600 east and 49\.9400 to 50\.0000 north",
        ),
        ({"nodata": 7.0}, tl.InputError, "only missing pixels"),
        ({"units": "ft"}, tl.InputError, "has heights in 'ft'; convert them to metres"),
        ({"dtype": "complex64"}, tl.InputError, "values of complex64 in band 1, expected real numbers"),
    ],
)
def test_wrong_rasters(cross: Network, tmp_path: Path, more: Any, error: type[Exception], says: str) -> None:
    more = dict(more)  # parameters are for all runs
    units = more.pop("units", None)
    transform = more.pop("transform", rasterio.Affine(CELL, 0, 0.47, 0, -CELL, 0.53))
    path = raster(tmp_path / "wrong.tif", np.full((300, 300), 7.0), transform=transform, **more)
    if units:
        with rasterio.open(path, "r+") as file:
            file.units = (units,)
    with pytest.raises(error, match=says):
        tl.add_elevation(cross, path)


def test_what_is_no_raster(cross: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tmp_path / "text.tif"
    text.write_text("no raster")
    with pytest.raises(tl.DataError, match=r"not readable as a raster.* Give a GeoTIFF of heights"):
        tl.add_elevation(cross, text)
    with pytest.raises(tl.MissingFileError, match="does not exist"):
        tl.add_elevation(cross, tmp_path / "nowhere.tif")
    with pytest.raises(tl.InputError, match="path"):
        tl.add_elevation(cross, 5)
    with pytest.raises(tl.InputError, match="first argument must be a Network"):
        tl.add_elevation("city.network", text)
    whole = raster(tmp_path / "whole.tif", lambda x, y: x * y / 1e4, compress="deflate")
    cut = tmp_path / "cut.tif"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    with pytest.raises(tl.DataError, match=r"cut.tif is (damaged|not readable)"):
        tl.add_elevation(cross, cut)
    monkeypatch.setitem(sys.modules, "rasterio", None)
    with pytest.raises(tl.MissingDependencyError, match=r"pip install 'traveltime_lab\[raster\]'"):
        tl.add_elevation(cross, whole)


# Streets that are not on the ground -----------------------------------------------------------------------------------


def built(folder: Path, tags: dict[int, str]) -> Network:
    """A street of four parts, each 300 m to the east from 600 m in the west, with other tags on some of them."""
    lng, lat = FRAME.to_lnglat(np.array([-600.0, -300, 0, 300, 600, 0, 0]), np.array([0.0, 0, 0, 0, 0, 200, -200]))
    nodes = {i + 1: (float(x), float(y)) for i, (x, y) in enumerate(zip(lng, lat, strict=True))}
    ways = [(10 + i, f"{i + 1} {i + 2}", tags.get(i, "highway=residential")) for i in range(4)]
    more = [(20, "3 6", tags[20])] if 20 in tags else []
    (folder / "street.osm").write_bytes(osm_xml(nodes, ways + more))
    return tl.build_network(folder / "street.osm", timezone="UTC")


def valley(x: Any, y: Any) -> Any:
    """Return the height of a valley 30 m deep between 300 m in the west and 300 m in the east, which is 6 m higher."""
    return np.where(np.abs(x) < 250, 0.0, 30.0) + np.where(x > -50, 6.0, 0.0)


@pytest.mark.slow
def test_bridges_and_tunnels_rise_evenly(tmp_path: Path) -> None:
    path = raster(tmp_path / "valley.tif", valley)
    bridge = "highway=residential bridge=yes"
    ground = tl.add_elevation(built(tmp_path, {}), path)
    west, east = (-300, 0), (300, 0)
    assert ground.tables.walking_slope_factor[directed(ground, (0, 0), east)] > 1.2
    even = float(slopes.walking_factor(np.array([6 / 600]))[0])
    # Two parts of a bridge, also with a footway that begins in the middle of it, on the bridge itself.
    stairs = "highway=footway bridge=yes"
    for tags in ({1: bridge, 2: bridge}, {1: bridge, 2: "highway=residential tunnel=yes layer=-1"},
                 {1: bridge, 2: bridge, 20: stairs}):  # fmt: skip
        network = tl.add_elevation(built(tmp_path, tags), path)
        factors = network.tables.walking_slope_factor
        for ends in ((west, (0, 0)), ((0, 0), east)):
            assert factors[directed(network, *ends)] == pytest.approx(even, rel=1e-4)
        assert factors[directed(network, east, (600, 0))] == pytest.approx(1.0, rel=1e-6)
        assert network.report()["elevation"]["bridges_and_tunnels"] == len(tags)
    # Where a street on the ground meets the bridge, the bridge is on the ground.
    network = tl.add_elevation(built(tmp_path, {1: bridge, 2: bridge, 20: "highway=footway"}), path)
    assert network.tables.walking_slope_factor[directed(network, (0, 0), east)] == pytest.approx(
        float(slopes.walking_factor(np.array([30 / 300]))[0]), rel=1e-3
    )
    # Neither the fingerprint nor the answers of level networks know of bridges.
    level = built(tmp_path, {1: bridge})
    other = tl.build_network(dataclasses.replace(level.tables, edge_off_ground=np.zeros(0, np.bool_)), timezone="UTC")
    assert other.fingerprint == level.fingerprint


def test_a_bridge_in_pieces_rises_with_the_metres() -> None:
    """From 0 m at a to 30 m at d, 600 m farther; in pieces of 100, 200 and 300 m. A bridge to nowhere stays."""
    nodes = {"a": (0, 0), "b": (100, 0), "c": (300, 0), "d": (600, 0), "e": (600, 300), "f": (0, 900), "g": (0, 950)}
    bridge = {"bridge": "yes"}
    parts = [(*ends, bridge) for ends in (("a", "b"), ("b", "c"), ("c", "d"), ("f", "g"))]
    drawn = tables(nodes, [*parts, ("d", "e"), ("e", "a")])
    ground = np.array([0.0, -20.0, 90.0, 30.0, 12.0, 5.0, 8.0])
    assert slopes.heights_of_bridges(drawn, ground) == pytest.approx([0.0, 5.0, 15.0, 30.0, 12.0, 5.0, 8.0])


def test_tables_and_graphs_say_where_bridges_are(tmp_path: Path) -> None:
    network = built(tmp_path, {1: "highway=residential bridge=viaduct", 2: "highway=service tunnel=building_passage"})
    nodes, edges = network.nodes_frame(), network.edges_frame()
    assert edges.set_index("way_id")["off_ground"].to_dict() == {10: False, 11: True, 12: False, 13: False}
    again = tl.build_network((nodes, edges))
    np.testing.assert_array_equal(again.tables.edge_off_ground, network.tables.edge_off_ground)
    loaded = tl.load_network(again.save(tmp_path / "a.network"))
    np.testing.assert_array_equal(loaded.tables.edge_off_ground, network.tables.edge_off_ground)
    for wrong in ("perhaps", None):
        with pytest.raises(tl.InputError, match=r"nodes and edges are not those of a network"):
            tl.build_network((nodes, edges.assign(off_ground=wrong)))
    places = {name: (100.0 * i, 0.0) for i, name in enumerate("abcde")}
    streets = [("a", "b", {"bridge": "yes"}), ("b", "c", {"bridge": "no"}), ("c", "d", {"tunnel": "yes"}), ("d", "e")]
    found = world(places, streets).tables
    assert sorted(found.edge_way_id[found.edge_off_ground]) == [100, 102]
    assert world(places, [("a", "b")]).tables.edge_off_ground.size == 0


def test_stairs_elevators_and_ferries_keep_their_speeds(tmp_path: Path) -> None:
    path = raster(tmp_path / "hill.tif", lambda x, y: 0.2 * x + 300)
    tags = {0: "highway=steps", 1: "highway=elevator", 2: "route=ferry"}
    network = tl.add_elevation(built(tmp_path, tags), path)
    for x in (-600, -300, 0):
        assert network.tables.walking_slope_factor[directed(network, (x, 0), (x + 300, 0))] == 1.0
    assert network.tables.walking_slope_factor[directed(network, (300, 0), (600, 0))] > 1.9


def test_a_line_through_many_points(tmp_path: Path) -> None:
    """Heights are those along the line, not along the straight way between its ends."""
    x = np.array([0.0, 40, 400, 400, 440, 800])
    y = np.array([0.0, 0, 0, 300, 300, 0])
    lng, lat = FRAME.to_lnglat(x, y)
    nodes = {i + 1: (float(a), float(b)) for i, (a, b) in enumerate(zip(lng, lat, strict=True))}
    (tmp_path / "bent.osm").write_bytes(osm_xml(nodes, [(7, "1 2 3 4 5 6", "highway=residential")]))
    network = tl.build_network(tmp_path / "bent.osm", timezone="UTC")
    hill = tl.add_elevation(network, raster(tmp_path / "hill.tif", lambda x, y: 50 + 0.1 * y))
    metres = np.hypot(np.diff(x), np.diff(y))
    rises = 0.1 * np.diff(y) / metres
    for sign, d in ((1, directed(network, (0, 0), (800, 0))), (-1, directed(network, (800, 0), (0, 0)))):
        expected = np.average(slopes.walking_factor(sign * rises), weights=metres)
        assert hill.tables.walking_slope_factor[d] == pytest.approx(expected, rel=0.01)


# What keeps it --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hill(cross: Network, tmp_path_factory: pytest.TempPathFactory) -> Network:
    path = raster(tmp_path_factory.mktemp("hill") / "hill.tif", lambda x, y: 200 + 0.1 * y + 0.03 * x)
    return tl.add_elevation(cross, path)


PLACES = at((0, -900), (0, 900), (-900, 0), (900, 0))


def check_same(network: Network, other: Network) -> None:
    for mode in MODES:
        np.testing.assert_array_equal(matrix(network, mode, PLACES), matrix(other, mode, PLACES))


@pytest.mark.slow
def test_files_pickles_and_tables_keep_it(hill: Network, cross: Network, tmp_path: Path) -> None:
    assert len({hill.fingerprint, cross.fingerprint}) == 2
    hill.prepare("walking")
    loaded = tl.load_network(hill.save(tmp_path / "hill.network"))
    assert loaded.fingerprint == hill.fingerprint
    assert loaded.prepared == ("walking",)
    assert loaded.report()["elevation"] == hill.report()["elevation"]
    check_same(loaded, hill)
    check_same(pickle.loads(pickle.dumps(hill)), hill)
    nodes, edges = hill.nodes_frame(), hill.edges_frame()
    again = tl.build_network((nodes, edges))
    assert again.fingerprint == hill.fingerprint
    check_same(again, hill)
    check_same(tl.build_network((nodes.iloc[::-1], edges.iloc[::-1])), hill)
    assert not [name for name in cross.edges_frame() if "slope" in name]
    with pytest.raises(tl.InputError, match="columns of slopes are missing: walking_slope_factor_forward"):
        tl.build_network((nodes, edges.drop(columns="walking_slope_factor_forward")))
    edges["cycling_slope_factor_backward"] = 0.0
    with pytest.raises(tl.InputError, match=r"cycling_slope_factor contains values that are not from 0\.1 to 100"):
        tl.build_network((nodes, edges))


def test_older_versions_refuse_files_with_slopes(hill: Network, cross: Network, tmp_path: Path) -> None:
    """They would answer without slopes; files without are as before."""
    for network, version in (
        (hill, f'"version": "{FORMAT_VERSION} with slopes"'),
        (cross, f'"version": {FORMAT_VERSION},'),
    ):
        assert version.encode() in network.save(tmp_path / "a.network").read_bytes()
    assert b"slope_factor" not in cross.save(tmp_path / "b.network").read_bytes()


def test_speeds_and_options_multiply(hill: Network, cross: Network) -> None:
    walking = tl.add_speeds(hill, factors={"residential": 0.5}, mode="walking")
    assert np.abs(matrix(walking, "walking", PLACES) - 2 * matrix(hill, "walking", PLACES)).max() <= 2
    np.testing.assert_array_equal(matrix(walking, "cycling", PLACES), matrix(hill, "cycling", PLACES))
    slow = matrix(hill, tl.Transportation("walking", walking_speed=2.5), PLACES)
    assert np.abs(slow - 2 * matrix(hill, "walking", PLACES)).max() <= 2
    quick = matrix(hill, tl.Transportation("cycling", cycling_speed=30), PLACES)
    assert np.abs(quick - matrix(hill, "cycling", PLACES) / 2).max() <= 2
    # Slow cyclists push uphill.
    slow = matrix(hill, tl.Transportation("cycling", cycling_speed=4.5), PLACES)
    assert slow[0, 1] == pytest.approx(1800 * 0.9 * math.exp(0.35), abs=40)


def test_it_replaces_itself_and_is_named(hill: Network, cross: Network, tmp_path: Path) -> None:
    path = raster(tmp_path / "other.tif", lambda x, y: 0.02 * y)
    once, twice = tl.add_elevation(cross, path), tl.add_elevation(hill, path)
    assert once.fingerprint == twice.fingerprint
    assert [*twice.report()["files"]] == ["other.tif"]
    assert "Elevation</th>" in twice._repr_html_() and "other.tif" in twice._repr_html_()
    receipt = tl.receipt(tl.time_filter(twice, PLACES, PLACES, travel_time=900, transportation="walking"))
    assert "other.tif" in str(receipt)
    assert not cross.tables.has_slopes


def test_changes_keep_it(hill: Network, cross: Network) -> None:
    closed = hill.with_changes(tl.CloseStreets(edges=0, modes="driving"))
    check_same(closed, hill)
    (lng, lat) = FRAME.to_lnglat(np.array([-500.0, 500.0]), np.array([500.0, 500.0]))
    street = tl.AddStreet([(lng[0], lat[0]), (lng[1], lat[1])], {"walking": 5, "cycling": 15}, name="new")
    with pytest.warns(UserWarning, match=r"new streets are level.*call add_elevation"):
        longer = hill.with_changes(street)
    # The street to the north is now of two parts with the slopes of the whole.
    check_same(longer, hill)
    assert longer.tables.walking_slope_factor[-4:].tolist() == [1.0] * 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross.with_changes(street)


# Every answer ---------------------------------------------------------------------------------------------------------


def test_routes_areas_and_cells_know_slopes(hill: Network, cross: Network) -> None:
    south, north = at((0, -900)), at((0, 900))
    for mode in MODES:
        there, back = (tl.routes(hill, *ends, transportation=mode)["travel_time"].iloc[0]
                       for ends in ((south, north), (north, south)))  # fmt: skip
        times = matrix(hill, mode, PLACES)
        assert [there, back] == [times[0, 1], times[1, 0]]
        near = tl.nearest(hill, south, north, k=1, travel_time=7200, transportation=mode)["travel_time"]
        assert near.tolist() == [there]
    middle = at((0, 0))
    area = tl.time_map(hill, middle, travel_time=600, transportation="walking").to_crs(hill.crs).total_bounds
    # 10 minutes are 833 m on level ground; down the hill, to the south, it is farther.
    up, down = (833 / float(slopes.walking_factor(np.array([s]))[0]) for s in (0.1, -0.1))
    assert area[3] - middle.to_crs(hill.crs).y[0] == pytest.approx(up, abs=30)
    assert middle.to_crs(hill.crs).y[0] - area[1] == pytest.approx(down, abs=30)
    arriving = tl.time_map(
        hill, middle, travel_time=600, transportation="walking", arrival_time="2026-03-02T08:00"
    ).to_crs(hill.crs).total_bounds  # fmt: skip
    assert arriving[3] - middle.to_crs(hill.crs).y[0] == pytest.approx(down, abs=30)
    cells = tl.h3_cells(hill, middle, travel_time=1800, transportation="cycling", resolution=10)
    level = tl.h3_cells(cross, middle, travel_time=1800, transportation="cycling", resolution=10)
    assert len(cells) and not cells["mean"].equals(level["mean"])


def test_porto_alegre(porto_alegre: Network) -> None:
    with pytest.warns(UserWarning, match=r"km of streets \(\d%\) are outside of elevation.tif"):
        hilly = tl.add_elevation(porto_alegre, tl.sample_files()["elevation"])
    places = porto_alegre.nodes_frame().geometry.iloc[::2000].reset_index(drop=True)
    for mode, most in (("walking", 1.5), ("cycling", 3.0)):
        level, sloped = matrix(porto_alegre, mode, places), matrix(hilly, mode, places)
        ratio = sloped[level > 0] / level[level > 0]
        assert 1.0 < np.nanmedian(ratio) < most
        assert np.nanmax(np.abs(sloped - sloped.T)) > 60
