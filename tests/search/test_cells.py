"""Travel times by cell against a plain sampling with `time_filter`, and the grids against their definitions."""

from __future__ import annotations

import math

import geopandas as gpd
import h3
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import example, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.combinations import combined
from tests.support.oracles import none_near
from tests.support.worlds import FRAME, at, world
from traveltime_lab.crs import wrap_degrees
from traveltime_lab.kernels.street import nearest, nearest_raster, raster_barriers, ties
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.search import cell_numbers, cell_times
from traveltime_lab.streets.snapping import CAN_ARRIVE, MAIN, barriers, no_barriers, snap_index
from traveltime_lab.surfaces import grids

GRIDS = {"h3": tl.h3_cells, "geohash": tl.geohash_cells}

#: Two streets of 5 m/s that meet, and one that nobody can get to.
NODES = {"A": (0, 0), "B": (1200, 0), "C": (1200, 900), "D": (4000, -3000), "E": (4300, -3000)}
STREETS = [("A", "B"), ("B", "C"), ("D", "E")]


@pytest.fixture(scope="module")
def town():
    return world(NODES, STREETS)


# Grids ---------------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.floats(-180, 180), st.floats(-90, 90), st.integers(1, 12), st.floats(1, 40), st.integers(0, 2**32 - 1))
@example(0.0, 90.0, 5, 20.0, 0)
@example(180.0, 0.0, 9, 20.0, 0)
def test_many_h3_cells_at_once_are_those_of_the_library(lng, lat, resolution, width, seed):
    size = math.degrees(h3.average_hexagon_edge_length(resolution, unit="m") / 6.4e6) * width
    rng = np.random.default_rng(seed)
    lats = np.clip(lat + rng.uniform(-size, size, 60), -90, 90)
    lngs = wrap_degrees(lng + rng.uniform(-size, size, 60))
    expected = [h3.latlng_to_cell(y, x, resolution) for x, y in zip(lngs, lats, strict=True)]
    assert grids.h3_names(grids.h3_cells_of(lngs, lats, resolution)).tolist() == expected


def test_h3_cells_keep_the_shape_of_their_points():
    assert grids.h3_cells_of(np.zeros((2, 3)), np.zeros((2, 3)), 7).shape == (2, 3)
    assert grids.h3_cells_of(np.zeros(0), np.zeros(0), 7).shape == (0,)


def slow_geohash(lng: float, lat: float, resolution: int) -> str:
    """Halve the globe, longitude first, as the geohash was published."""
    ranges = {"lng": [-180.0, 180.0], "lat": [-90.0, 90.0]}
    bits = []
    for n in range(5 * resolution):
        name, value = ("lng", lng) if n % 2 == 0 else ("lat", lat)
        low, high = ranges[name]
        middle = (low + high) / 2
        bits.append(int(value >= middle))
        ranges[name] = [middle, high] if value >= middle else [low, middle]
    letters = "0123456789bcdefghjkmnpqrstuvwxyz"
    return "".join(letters[int("".join(map(str, bits[n : n + 5])), 2)] for n in range(0, len(bits), 5))


@settings(deadline=None)
@given(st.floats(-180, 180), st.floats(-90, 90), st.integers(1, 9))
@example(180.0, 90.0, 9)
@example(-180.0, -90.0, 9)
@example(0.0, 0.0, 5)
@example(-1e-17, -1e-300, 7)
def test_geohashes_are_those_of_repeated_halving(lng, lat, resolution):
    columns = grids.geohash_columns(np.array([lng]), resolution)
    rows = grids.geohash_rows(np.array([lat]), resolution)
    (name,) = grids.geohash_names(columns, rows, resolution)
    assert name == slow_geohash(lng, lat, resolution)
    assert grids.geohash_places(name) == (columns[0], rows[0], resolution)
    assert shapely.intersects_xy(grids.geohash_polygons(columns, rows, resolution)[0], lng, lat)


def test_known_cells():
    # From the contract, and from the article that made geohashes known.
    assert slow_geohash(-0.1283, 51.5076, 5) == "gcpvj"
    assert slow_geohash(-5.6, 42.6, 5) == "ezs42"
    centre = tl.h3_centroids(["87195da49ffffff"])
    assert h3.latlng_to_cell(centre.y.iloc[0], centre.x.iloc[0], 7) == "87195da49ffffff"
    centre = tl.geohash_centroids(["gcpuv5", "ezs42"])
    assert centre.index.tolist() == ["gcpuv5", "ezs42"]
    assert centre.crs == "EPSG:4326"
    assert slow_geohash(centre.x["gcpuv5"], centre.y["gcpuv5"], 6) == "gcpuv5"


def test_centroids_of_tables():
    cells = tl.counts_to_h3(tl.sample_points(kind="zones").assign(people=1.0), 7, values="people")
    expected = tl.h3_centroids(list(cells.index))
    for table in (cells, cells.reset_index(), cells.index, cells.reset_index()["cell"]):
        assert tl.h3_centroids(table).equals(expected)
    hashes = pd.DataFrame({"cell": ["66tm8d", "66tm8e"]})
    assert tl.geohash_centroids(hashes).equals(tl.geohash_centroids(["66tm8d", "66tm8e"]))
    with pytest.raises(
        tl.InputError, match="cells must have a column or an index named 'cell'; its columns are 'people'"
    ):
        tl.h3_centroids(pd.DataFrame({"people": [1]}))
    with pytest.raises(tl.InputError, match="its columns are none"):
        tl.geohash_centroids(pd.DataFrame())


@pytest.mark.parametrize("name", ["", "hello", "87195da49fffff", "zzzzzzzzzzzzzzz", "-1", None, 7])
def test_what_is_no_h3_cell(name):
    with pytest.raises(tl.InputError, match="not an H3 cell"):
        tl.h3_centroids([name])


@pytest.mark.parametrize("name", ["", "gcpua5", "gcpuv5gcpuv5g", "gc puv", None, 7])
def test_what_is_no_geohash(name):
    with pytest.raises(tl.InputError, match="not a geohash"):
        tl.geohash_centroids([name])


def test_outlines_across_the_180th_meridian_have_two_parts():
    cell = np.array([int(h3.latlng_to_cell(-17.0, 180.0, 4), 16)], np.uint64)
    (outline,) = grids.h3_polygons(cell)
    assert outline.is_valid
    assert outline.geom_type == "MultiPolygon"
    west, _, east, _ = outline.bounds
    assert (west, east) == (-180.0, 180.0)
    part = outline.intersection(shapely.box(179, -20, 180, -14)).area
    assert 0 < part < outline.area < 1.0


# Samples -------------------------------------------------------------------------------------------------------------


def slow_cells(network, origin, grid, resolution, limit, reach_m, **options):
    """Ask `time_filter` for every sample within some distance of the origin and group the answers by cell."""
    mode = options["transportation"]
    spacing = cell_numbers.sample_spacing_m(grid, resolution, mode, network.frame.lat0)
    x, y = (float(value[0]) for value in network.frame.to_xy(origin.x.to_numpy(), origin.y.to_numpy()))
    columns = np.arange(math.floor((x - reach_m) / spacing), math.ceil((x + reach_m) / spacing)) + 0.5
    rows = np.arange(math.floor((y - reach_m) / spacing), math.ceil((y + reach_m) / spacing)) + 0.5
    lng, lat = network.frame.to_lnglat(np.tile(columns * spacing, rows.size), np.repeat(rows * spacing, columns.size))
    samples = gpd.GeoSeries.from_xy(lng, lat, crs="EPSG:4326")
    ends = (samples, origin) if "arrival_time" in options else (origin, samples)
    times = tl.time_filter(network, *ends, travel_time=limit, **options)["travel_time"].to_numpy(float, na_value=np.nan)
    lng, lat = np.append(lng, origin.x), np.append(lat, origin.y)
    times = np.append(times, 0.0)
    if grid == "h3":
        names = [h3.latlng_to_cell(b, a, resolution) for a, b in zip(lng, lat, strict=True)]
    else:
        names = [slow_geohash(a, b, resolution) for a, b in zip(lng, lat, strict=True)]
    cells = pd.DataFrame({"cell": names, "time": times}).groupby("cell")["time"]
    table = cells.agg(["min", "max", "mean"]).assign(share=cells.count() / cells.size())
    return table.dropna()


def assert_like(found, expected):
    """
    Cells are equal and times differ by rounding only: surfaces are kept in float32.

    But for one cell in fifty: a sample whose nearest place is a corner of two streets belongs to either, and on
    a one-way street that makes a difference.
    """
    found = found.set_index("cell")
    assert found.index.tolist() == sorted(expected.index)
    for column in ("min", "max", "mean"):
        assert found[column].dtype == np.int32
        difference = np.abs(found[column] - expected[column].reindex(found.index))
        assert (difference > 1.01).sum() <= len(found) / 50
        assert difference.median() <= 0.51
    difference = np.abs(found["share_reachable"] - expected["share"].reindex(found.index))
    # A travel time within a rounding error of the limit is on either side of it.
    assert (difference > 1e-9).sum() <= max(len(found) / 10, 1)
    assert difference.max() <= 0.1


@pytest.mark.parametrize(
    ("grid", "resolution", "mode"),
    combined(
        [("h3", 9), ("h3", 10), ("geohash", 7), ("geohash", 6)], ["walking", "driving"],
        mark=pytest.mark.thorough, few=pytest.mark.slow, most=2,
    ),
)  # fmt: skip
def test_statistics_are_those_of_the_samples(town, grid, resolution, mode):
    origin = at((100, 40))
    options = {"transportation": mode}
    found = GRIDS[grid](town, origin, travel_time=235, resolution=resolution, **options)
    assert_like(found, slow_cells(town, origin, grid, resolution, 235, 2900, **options))
    assert found["origin"].eq(0).all()
    assert found.crs == "EPSG:4326"
    assert found.geometry.is_valid.all()


@pytest.mark.parametrize(
    ("grid", "resolution", "options"),
    combined(
        [("h3", 10), ("geohash", 7)],
        [
            {"transportation": "walking"},
            {"transportation": "driving", "departure_time": "2024-05-14T08:00"},
            {"transportation": "driving", "arrival_time": "2024-05-14T08:00"},
            {"transportation": "cycling", "snapping": {"penalty": "disabled", "threshold": 60}},
        ],
        mark=pytest.mark.thorough,
        few=pytest.mark.slow,
        most=1,
    ),
)
def test_statistics_in_a_city(helsinki, grid, resolution, options):
    origin = tl.sample_points("helsinki").geometry.iloc[[3]]
    found = GRIDS[grid](helsinki, origin, travel_time=175, resolution=resolution, remove_water_bodies=False, **options)
    assert len(found) > 10
    assert_like(
        found,
        slow_cells(
            helsinki, origin, grid, resolution, 175, 500 if options["transportation"] == "walking" else 1400, **options
        ),
    )


def test_random_places_lie_between_min_and_max(helsinki):
    """Between samples a place is off by the walk to the next one; now and then its nearest street is another one."""
    origin = tl.sample_points("helsinki").geometry.iloc[[0]]
    found = tl.h3_cells(helsinki, origin, travel_time=900, resolution=10, transportation="walking")
    whole = found.cx[24.938:24.948, 60.167:60.175]
    rng = np.random.default_rng(4)
    lng, lat = rng.uniform(24.939, 24.947, 1500), rng.uniform(60.168, 60.174, 1500)
    times = tl.time_filter(
        helsinki,
        origin,
        gpd.GeoSeries.from_xy(lng, lat, crs="EPSG:4326"),
        travel_time=900,
        transportation="walking",
    )["travel_time"].to_numpy(float, na_value=np.nan)
    reached = ~np.isnan(times)
    assert reached.mean() > 0.9
    lng, lat, times = lng[reached], lat[reached], times[reached]
    cell = pd.Index([h3.latlng_to_cell(b, a, 10) for a, b in zip(lng, lat, strict=True)])
    rows = found.set_index("cell").reindex(cell)
    assert len(whole) > 20
    assert rows["min"].notna().all()
    # Half a diagonal of the samples' square, walked at 5 km/h away from one street and up another.
    spacing = cell_numbers.sample_spacing_m("h3", 10, "walking", helsinki.frame.lat0)
    slack = 2.0 * spacing / math.sqrt(2.0) * 3.6 / 5.0 + 1.0
    is_between = (times >= rows["min"].to_numpy() - slack) & (times <= rows["max"].to_numpy() + slack)
    assert is_between.mean() > 0.985
    slack += 45.0
    is_between = (times >= rows["min"].to_numpy() - slack) & (times <= rows["max"].to_numpy() + slack)
    assert is_between.mean() > 0.99
    # The mean of the places is that of the samples.
    means = pd.Series(times).groupby(cell).mean()
    assert np.abs(means - found.set_index("cell")["mean"].reindex(means.index)).median() < 15.0


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 400), st.integers(0, 400), st.sampled_from(["h3", "geohash"]), st.floats(-300, 1500))
def test_more_time_never_loses_a_cell(town, limit, more, grid, x):
    resolution = {"h3": 10, "geohash": 7}[grid]
    options = {"resolution": resolution, "transportation": "walking", "geometry": False}
    fewer = GRIDS[grid](town, at((x, 30)), travel_time=limit, **options).set_index("cell")
    every = GRIDS[grid](town, at((x, 30)), travel_time=limit + more, **options).set_index("cell")
    both = every.reindex(fewer.index)
    assert both["min"].eq(fewer["min"]).all()
    assert both["max"].ge(fewer["max"]).all()
    assert both["mean"].ge(fewer["mean"]).all()
    for found, most in ((fewer, limit), (every, limit + more)):
        assert (found["min"] >= 0).all()
        assert (found["min"] <= found["mean"]).all()
        assert (found["mean"] <= found["max"]).all()
        assert (found["max"] <= most).all()


def test_the_origin_is_in_its_own_cell(town):
    found = tl.h3_cells(town, at((600, 0)), travel_time=1, resolution=7, transportation="walking")
    (lng,), (lat,) = FRAME.to_lnglat(np.array([600.0]), np.array([0.0]))
    assert found["cell"].tolist() == [h3.latlng_to_cell(lat, lng, 7)]
    assert found.loc[0, ["min", "max", "mean"]].tolist()[0] == 0


def test_shares_of_cells_that_are_reached_whole_and_of_large_ones(town, monkeypatch):
    """A whole cell has the share 1, a cell around everything the area of the isochrone, by all samples or by some."""
    options = {"travel_time": 600, "transportation": "walking", "remove_water_bodies": False}
    found = tl.h3_cells(town, at((600, 0)), resolution=10, **options)
    area = tl.time_map(town, at((600, 0)), **options).to_crs(town.crs).buffer(-10.0).union_all()
    inside = found.to_crs(town.crs).geometry.within(area)
    assert inside.sum() > 10
    assert (found["share_reachable"][inside] == 1.0).all()
    shares = []
    for most in (cell_times._COUNTED_SAMPLES, 100):
        monkeypatch.setattr(cell_times, "_COUNTED_SAMPLES", most)
        whole = tl.h3_cells(town, at((600, 0)), resolution=6, **options)
        shares.append(whole["share_reachable"].sum())
        area = whole.geometry.to_crs(town.crs).area.mean()
        reached = tl.time_map(town, at((600, 0)), **options).to_crs(town.crs).area[0]
        assert shares[-1] == pytest.approx(reached / area, rel=0.05)
    assert shares[0] == pytest.approx(shares[1], rel=0.02)
    assert shares[0] != shares[1]


def test_several_origins_and_unreachable_ones(town):
    origins = at((0, 0), (1200, 900), (60_000, 0))
    origins.index = ["west", "north", "nowhere"]
    found = tl.geohash_cells(town, origins, travel_time=120, resolution=7, transportation="walking")
    assert found["origin"].unique().tolist() == ["west", "north"]
    alone = tl.geohash_cells(town, origins[["north"]], travel_time=120, resolution=7, transportation="walking")
    pd.testing.assert_frame_equal(found[found["origin"] == "north"].reset_index(drop=True), alone)
    nothing = tl.h3_cells(town, origins[["nowhere"]], travel_time=120, resolution=9)
    assert len(nothing) == 0
    assert nothing.columns.tolist() == ["origin", "cell", "min", "max", "mean", "share_reachable", "geometry"]
    assert nothing.crs == "EPSG:4326"


def test_only_what_is_asked_for(town):
    options = {"travel_time": 120, "resolution": 9, "transportation": "walking"}
    found = tl.h3_cells(town, at((0, 0)), properties=["mean"], geometry=False, **options)
    assert found.columns.tolist() == ["origin", "cell", "mean"]
    assert type(found) is pd.DataFrame
    assert tl.h3_cells(town, at((0, 0)), properties=(), **options).columns.tolist() == ["origin", "cell", "geometry"]
    whole = tl.h3_cells(town, at((0, 0)), **options)
    assert whole["mean"].tolist() == found["mean"].tolist()
    middles = shapely.centroid(whole.geometry.array)
    assert [h3.latlng_to_cell(p.y, p.x, 9) for p in middles] == whole["cell"].tolist()


def test_water_does_not_count(helsinki):
    origin = tl.sample_points("helsinki").geometry[["Kaisaniemi"]]  # near a bay
    options = {"travel_time": 900, "resolution": 11, "transportation": "walking", "geometry": False}
    wet = tl.h3_cells(helsinki, origin, remove_water_bodies=False, **options)
    dry = tl.h3_cells(helsinki, origin, **options)
    assert set(dry["cell"]) < set(wet["cell"])
    lost = tl.h3_centroids(sorted(set(wet["cell"]) - set(dry["cell"])))
    x, y = helsinki.frame.to_xy(lost.x.to_numpy(), lost.y.to_numpy())
    assert helsinki.water.contains(x, y).mean() > 0.9


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"resolution": 13}, tl.LimitError, "from 1 to 12; got 13"),
        ({"resolution": 0}, tl.LimitError, "from 1 to 12; got 0"),
        ({"resolution": 8.5}, tl.InputError, "whole number from 1 to 12"),
        ({"resolution": True}, tl.InputError, "whole number"),
        ({"travel_time": 14_401}, tl.LimitError, "from 1 to 14400"),
        ({"properties": ["median"]}, tl.InputError, "'min', 'max', 'mean', 'share_reachable'; got 'median'"),
        ({"remove_water_bodies": "yes"}, tl.InputError, "True or False"),
        ({"geometry": 1}, tl.InputError, "True or False"),
        ({"transportation": "flying"}, tl.ModeError, "flying"),
    ],
)
def test_errors(town, changes, error, message):
    arguments = {"travel_time": 300, "resolution": 8} | changes
    with pytest.raises(error, match=message):
        tl.h3_cells(town, at((0, 0)), **arguments)


def test_geohashes_have_their_own_resolutions(town):
    with pytest.raises(tl.LimitError, match="geohash must be from 1 to 9; got 10"):
        tl.geohash_cells(town, at((0, 0)), travel_time=300, resolution=10)


def test_areas_with_too_many_samples_are_refused(town, monkeypatch):
    monkeypatch.setattr(cell_times, "_MOST_TILES", 10)
    with pytest.raises(tl.LimitError, match="use a coarser resolution or a shorter travel time"):
        tl.h3_cells(town, at((0, 0)), travel_time=300, resolution=12, transportation="walking")


# Combinations --------------------------------------------------------------------------------------------------------


tables = st.lists(
    st.dictionaries(st.sampled_from(["gcpv0", "gcpv1", "gcpv2", "gcpv3"]), st.integers(0, 500), max_size=4),
    min_size=1,
    max_size=4,
)


@given(tables)
def test_combinations_by_hand(rows):
    members = [
        pd.DataFrame(
            {"cell": list(row), "min": list(row.values()), "max": [v + 9 for v in row.values()]}
            | {"mean": [v + 4 for v in row.values()]}
        ).astype({"cell": object})
        for row in rows
    ]
    for combine, least in ((tl.union_cells, 1), (tl.intersection_cells, len(rows))):
        expected = {}
        for cell in sorted(set().union(*rows)):
            values = [row[cell] for row in rows if cell in row]
            if len(values) >= least:
                mean = sum(value + 4 for value in values) / len(values)
                expected[cell] = (min(values), max(values) + 9, math.floor(mean + 0.5))
        found = combine(members)
        assert found["cell"].tolist() == list(expected)
        assert list(zip(found["min"], found["max"], found["mean"], strict=True)) == list(expected.values())


def test_cells_keep_their_numbers(town):
    numbering = cell_numbers.CellNumbers(town, "h3", 9, 50.0)
    keys = np.array([[1 << 59, 2 << 59], [3 << 59, 1 << 59]], np.uint64)
    first = numbering._number(keys)
    assert first[0, 0] == first[1, 1] and np.unique(first).size == 3
    assert numbering._number(keys).tolist() == first.tolist()


@pytest.mark.parametrize(("grid", "resolution"), [("h3", 9), ("geohash", 7)])
def test_combinations_of_searches(town, grid, resolution):
    origins = at((0, 0), (1200, 900))
    found = GRIDS[grid](town, origins, travel_time=240, resolution=resolution, transportation="walking")
    members = [found[found["origin"] == n] for n in (0, 1)]
    either, both = tl.union_cells(members), tl.intersection_cells(members)
    assert set(either["cell"]) == set(found["cell"])
    assert set(both["cell"]) == set(members[0]["cell"]) & set(members[1]["cell"])
    assert 0 < len(both) < len(either)
    assert (either["min"] <= either["mean"]).all()
    assert isinstance(either, gpd.GeoDataFrame)
    assert either.geometry.union_all().equals(found.geometry.union_all())
    assert len(tl.intersection_cells([members[0], found.iloc[:0]])) == 0
    assert tl.intersection_cells([members[0], found.iloc[:0]]).crs == "EPSG:4326"
    plain = pd.DataFrame(members[0].drop(columns=["geometry", "max"]))
    assert tl.union_cells([plain, members[1]]).columns.tolist() == ["cell", "min", "mean"]


def test_combinations_that_make_no_sense(town):
    options = {"travel_time": 120, "transportation": "walking", "geometry": False}
    coarse = tl.h3_cells(town, at((0, 0)), resolution=8, **options)
    fine = tl.h3_cells(town, at((0, 0)), resolution=9, **options)
    other = tl.geohash_cells(town, at((0, 0)), resolution=7, **options)
    with pytest.raises(tl.InputError, match="h3 of resolution 8 and h3 of resolution 9"):
        tl.union_cells([coarse, fine])
    with pytest.raises(tl.InputError, match="same type of cell and resolution"):
        tl.union_cells([coarse, other])
    with pytest.raises(tl.InputError, match="at least one"):
        tl.intersection_cells([])
    with pytest.raises(tl.InputError, match="several origins"):
        tl.union_cells([pd.concat([fine, fine])])
    with pytest.raises(tl.InputError, match="result of h3_cells"):
        tl.union_cells([at((0, 0))])


# The raster of nearest streets ---------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    st.floats(-6000, 6000), st.floats(-6000, 6000), st.sampled_from([5.0, 12.0, 30.0, 62.0, 100.0]),
    st.integers(50, 1500),
    st.sampled_from([CAN_ARRIVE, MAIN]), st.booleans(), st.sampled_from(["walking", "driving"]),
    st.sampled_from([0.0, 0.5, 0.95]),
)  # fmt: skip
def test_rasters_find_the_streets_that_points_find(helsinki, x, y, step, limit, needed, with_barriers, mode, left_out):
    index = snap_index(helsinki.streets, Transportation(mode), "both_drivable_and_walkable")
    rules = (needed, barriers(helsinki.streets) if with_barriers else no_barriers())
    shape = (21, 37)
    shrink = helsinki.frame.shrink(y + np.arange(shape[0]) * step)
    centres = raster_barriers.Centres(x, y, step, shrink)
    asked = np.random.default_rng(limit).random(shape) >= left_out
    on_raster, cells, near = nearest_raster.nearest_on_raster(centres, asked, float(limit), index.grid, *rules)
    segment, place, metres, tied = on_raster
    assert np.all(segment[~asked] == -1)
    xs = np.broadcast_to(x + np.arange(shape[1]) * step, shape).ravel()
    ys = np.repeat(y + np.arange(shape[0]) * step, shape[1])
    shrinks = np.repeat(shrink, shape[1])
    xs, ys, shrinks = xs[asked.ravel()], ys[asked.ravel()], shrinks[asked.ravel()]
    found, _ = nearest.nearest_segments(xs, ys, shrinks, float(limit), index.grid, *rules)
    one, at_place, far, is_tied = found
    assert np.array_equal(segment[asked], one)
    assert np.allclose(metres[asked], far, rtol=1e-6)
    assert np.allclose(place[asked][one >= 0], at_place[one >= 0], atol=1e-6)
    assert np.array_equal(tied[asked][one >= 0], is_tied[one >= 0])
    # What was kept while cells were searched from is what a search for ties finds.
    assert np.array_equal(cells, np.flatnonzero(tied))
    kept, searched = (
        ties.tied_cells(centres, on_raster, cells, some, float(limit), index.grid, *rules, index.parts)
        for some in (near, none_near(cells.size))
    )
    assert all(map(np.array_equal, kept, searched))
