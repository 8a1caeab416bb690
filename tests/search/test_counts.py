"""Counts from points, polygons and rasters, by H3 cell and by the nearest point: nothing is lost, nothing is made."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import geopandas as gpd
import h3
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import traveltime_lab as tl

#: Places of all latitudes; the sides of the squares below are 0.02 degrees at most.
PLACES = [(0.5, 0.5), (-51.2, -30.0), (24.9, 60.2), (139.7, 35.7), (15.6, 78.2)]


@settings(max_examples=30)
@given(st.sampled_from(PLACES), st.integers(5, 9), st.integers(0, 2**31), st.booleans())
def test_totals_stay(place: tuple[float, float], resolution: int, seed: int, are_points: bool) -> None:
    rng = np.random.default_rng(seed)
    corner = np.array(place) + rng.uniform(-0.02, 0.02, (6, 2))
    shapes: Any = shapely.points(corner)
    if not are_points:
        size = rng.uniform(0.0005, 0.02, (6, 2))
        shapes = shapely.box(*corner.T, *(corner + size).T)
    people, jobs = rng.uniform(0, 1e4, 6), rng.integers(0, 9, 6)
    given = gpd.GeoDataFrame({"people": people, "jobs": jobs}, geometry=shapes, crs="EPSG:4326")
    cells = tl.counts_to_h3(given, resolution, values=["people", "jobs"])
    points = gpd.GeoSeries(shapely.points(np.array(place) + rng.uniform(-0.02, 0.02, (5, 2))), crs="EPSG:4326")
    near = tl.counts_to_points(given, points, values=["people", "jobs"])
    for found in (cells, near):
        assert found[["people", "jobs"]].sum().tolist() == pytest.approx([people.sum(), jobs.sum()], rel=1e-12)
        assert (found[["people", "jobs"]] >= 0).all(axis=None)
    assert cells.index.is_monotonic_increasing
    assert near.index.equals(points.index)
    # Each cell with a count touches what it has the count from.
    apart = shapely.distance(cells.geometry.to_numpy(), shapely.union_all(shapes))
    assert apart.max() < 1e-9


def test_areas_share_by_area() -> None:
    """A polygon that is one cell and half of its neighbour gives two thirds to the one and a third to the other."""
    cell = h3.latlng_to_cell(-30.0, -51.2, 8)
    other = sorted(h3.grid_ring(cell, 1))[0]
    one, two = (shapely.Polygon([(lng, lat) for lat, lng in h3.cell_to_boundary(name)]) for name in (cell, other))
    middle = shapely.LineString([two.centroid, one.centroid])
    # The half of the neighbour on this side: the line through its centre, along the border of the two.
    (x0, y0), (x1, y1) = middle.coords
    across = shapely.Polygon([(x0 - (y1 - y0) * 9, y0 + (x1 - x0) * 9), (x0 + (y1 - y0) * 9, y0 - (x1 - x0) * 9),
                              (x1 + (x1 - x0) * 9, y1 + (y1 - y0) * 9)])  # fmt: skip
    shape = shapely.union(one, shapely.intersection(two, across))
    given = gpd.GeoDataFrame({"people": [300.0]}, geometry=[shape], crs="EPSG:4326").to_crs(32722)
    found = tl.counts_to_h3(given, 8, values="people")
    assert found["people"].idxmax() == cell
    assert found.loc[[cell, other], "people"].tolist() == pytest.approx([200.0, 100.0], rel=0.02)
    alone = gpd.GeoDataFrame({"people": [300.0]}, geometry=[one.buffer(-1e-6)], crs="EPSG:4326")
    assert tl.counts_to_h3(alone, 8, values="people")["people"].to_dict() == {cell: pytest.approx(300.0)}


def test_polygons_and_the_points_in_them() -> None:
    zones = gpd.GeoDataFrame(
        {"people": [90.0, 7.0]}, geometry=[shapely.box(0, 0, 1, 1), shapely.box(3, 0, 4, 1)], crs="EPSG:4326"
    )
    points = gpd.GeoSeries.from_xy([0.2, 0.5, 0.9, 2.2], [0.2, 0.5, 0.9, 0.5], index=list("abcd"), crs="EPSG:4326")
    # Nobody lives at a point of the second zone: d is nearest.
    assert tl.counts_to_points(zones, points, values="people")["people"].to_dict() == {
        "a": 30,
        "b": 30,
        "c": 30,
        "d": 7,
    }


# Rasters -------------------------------------------------------------------------------------------------------------


def raster(path: Path, values: np.ndarray, *, crs: Any = "EPSG:4326", cell: float = 0.01, **more: Any) -> Path:
    rasterio = pytest.importorskip("rasterio")
    west, north = (480_000.0, 6_680_000.0) if crs == "EPSG:32722" else (-51.2, -30.0)
    place = rasterio.Affine(cell, 0.0, west, 0.0, -cell, north)
    height, width = values.shape
    profile = {"driver": "GTiff", "height": height, "width": width, "count": 1, "dtype": values.dtype, "crs": crs}
    with rasterio.open(path, "w", transform=place, **{**profile, **more}) as file:
        file.write(values, 1)
    return path


@pytest.mark.parametrize(("crs", "cell"), [("EPSG:4326", 0.01), ("EPSG:32722", 700.0)])
@pytest.mark.parametrize("resolution", [6, 9])
def test_the_total_of_a_raster_stays(tmp_path: Path, crs: str, cell: float, resolution: int) -> None:
    values = np.random.default_rng(3).uniform(0, 50, (7, 5)).astype(np.float32)
    values[2, 3], values[4, 4] = -9999.0, np.nan
    path = raster(tmp_path / "people.tif", values, crs=crs, cell=cell, nodata=-9999.0)
    total = np.nansum(values[values != -9999.0].astype(np.float64))
    cells = tl.counts_to_h3(path, resolution)
    assert cells["count"].sum() == pytest.approx(total, rel=1e-12)
    points = tl.h3_centroids(cells.index[:4])
    assert tl.counts_to_points(str(path), points)["count"].sum() == pytest.approx(total, rel=1e-12)


def test_a_pixel_is_shared_among_cells(tmp_path: Path) -> None:
    """A pixel of about 1 km has the same people in each cell of 174 m that lies in it."""
    path = raster(tmp_path / "one.tif", np.array([[3600]], np.int32))
    cells = tl.counts_to_h3(path, 9)
    inside = cells.geometry.within(shapely.box(-51.2, -30.01, -51.19, -30.0))
    assert inside.sum() > 3
    shares = cells["count"][inside]
    assert shares.max() / shares.min() < 1.15


@pytest.mark.parametrize(
    ("more", "options", "error", "says"),
    [
        ({"crs": None}, {}, tl.CrsError, "has no CRS; write it into the file first"),
        ({}, {"band": 2}, tl.InputError, "band must be from 1 to 1"),
        ({}, {"band": 0}, tl.LimitError, "band must be from 1"),
        ({}, {"values": "people"}, tl.InputError, "a GeoTIFF has bands"),
        ({"values": np.array([[-1.0]])}, {}, tl.InputError, "negative counts, such as -1; if that stands for missing"),
    ],
)
def test_wrong_rasters(tmp_path: Path, more: Any, options: Any, error: type[Exception], says: str) -> None:
    path = raster(tmp_path / "wrong.tif", **{"values": np.ones((1, 1)), **more})
    with pytest.raises(error, match=says):
        tl.counts_to_h3(path, 8, **options)


def test_what_is_no_raster(tmp_path: Path) -> None:
    pytest.importorskip("rasterio")
    text = tmp_path / "text.tif"
    text.write_text("no raster")
    with pytest.raises(tl.DataError, match="not readable as a raster"):
        tl.counts_to_h3(text, 8)
    with pytest.raises(tl.MissingFileError, match="does not exist"):
        tl.counts_to_h3(tmp_path / "nowhere.tif", 8)


def test_without_rasterio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rasterio", None)
    with pytest.raises(tl.MissingDependencyError, match=r"pip install 'traveltime_lab\[raster\]'"):
        tl.counts_to_h3("people.tif", 8)


# Wrong input ---------------------------------------------------------------------------------------------------------

HOMES = gpd.GeoDataFrame({"people": [1.0, 2.0]}, geometry=gpd.points_from_xy([0.1, 0.2], [0.5, 0.5]), crs="EPSG:4326")
BOW = shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])


@pytest.mark.parametrize(
    ("counts", "options", "error", "says"),
    [
        (HOMES.iloc[:0], {}, tl.InputError, "counts is empty"),
        (HOMES.set_crs(None, allow_override=True), {}, tl.CrsError, "counts has no CRS"),
        (HOMES, {"values": None}, tl.InputError, "values must be a list of names"),
        (HOMES.drop(columns="geometry").pipe(gpd.GeoDataFrame), {}, tl.InputError, "counts has no active geometry"),
        (HOMES, {"values": []}, tl.InputError, "values is empty"),
        (HOMES, {"values": "jobs"}, tl.InputError, "must name a column of counts; got 'jobs'"),
        (HOMES.assign(people=[1.0, np.nan]), {}, tl.InputError, "has 1 missing values, the first at 1"),
        (HOMES.assign(people=[1.0, -2.0]), {}, tl.InputError, "has 1 negative values, the first at 1"),
        (HOMES, {"resolution": 13}, tl.LimitError, "12"),
        (HOMES.assign(geometry=[shapely.Point(1, 1), BOW]), {}, tl.InputError, "points only, or polygons only"),
        (HOMES.assign(geometry=[shapely.Point(), shapely.Point(1, 1)]), {}, tl.InputError, "missing or empty"),
        (HOMES.assign(geometry=[BOW, BOW]), {}, tl.InputError, "2 invalid polygons, the first at 0 .Self-intersection"),
        (HOMES.set_geometry(shapely.box(0, [0, 40], 90, [40, 80])), {}, tl.LimitError, "use a coarser"),
        (pd.DataFrame(HOMES), {}, tl.InputError, "GeoDataFrame or the path of a GeoTIFF; got DataFrame"),
        (5, {"values": None}, tl.InputError, "must be the path"),
    ],
)  # fmt: skip
def test_wrong_counts(counts: Any, options: Any, error: type[Exception], says: str) -> None:
    if isinstance(counts, int):
        pytest.importorskip("rasterio")
    with pytest.raises(error, match=says):
        tl.counts_to_h3(counts, **{"resolution": 9, "values": "people", **options})
    if "resolution" not in options and "coarser" not in says:
        with pytest.raises(error, match=says):
            tl.counts_to_points(counts, HOMES, **{"values": "people", **options})
