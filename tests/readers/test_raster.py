"""Rasters of counts and of heights: both have the values that rasterio gives, pixel by pixel."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyproj
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from traveltime_lab.readers import raster
from traveltime_lab.readers.elevation import read_heights
from traveltime_lab.readers.raster import read_counts

rasterio = pytest.importorskip("rasterio")
pytestmark = pytest.mark.quick

PLACES = {
    "EPSG:4326": rasterio.Affine(0.001, 0, -51.2, 0, -0.001, -30.0),
    "south up": rasterio.Affine(0.001, 0, -51.2, 0, 0.001, -30.0),
    "EPSG:32722": rasterio.Affine(120, 0, 480_000, 0, -120, 6_680_000),
    "turned": rasterio.Affine(100, 40, 480_000, 40, -100, 6_680_000),
}


def write(path: Path, values: np.ndarray, place: str, **more: Any) -> Path:
    """Write a raster; options are scales, offsets, mask and those of rasterio."""
    bands, height, width = values.shape
    crs = {"south up": "EPSG:4326", "turned": "EPSG:32722"}.get(place, place)
    scales, offsets, mask = (more.pop(key, None) for key in ("scales", "offsets", "mask"))
    profile = {"driver": "GTiff", "height": height, "width": width, "count": bands, "dtype": values.dtype, "crs": crs}
    with (
        rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True),
        rasterio.open(path, "w", transform=PLACES[place], **profile, **more) as file,
    ):
        file.write(values)
        if scales is not None:
            file.scales, file.offsets = scales, offsets
        if mask is not None:
            file.write_mask(mask)
    return path


def pixels_of(path: Path, band: int) -> list[tuple[float, float, float]]:
    """Return longitude and latitude of the centre and the value of each pixel that has one: the slow twin."""
    found = []
    with rasterio.open(path) as file:
        raw, mask = file.read(band), file.read_masks(band)
        to_degrees = pyproj.Transformer.from_crs(file.crs, 4326, always_xy=True)
        for row in range(file.height):
            for column in range(file.width):
                if mask[row, column] and not math.isnan(raw[row, column]):
                    value = float(raw[row, column]) * file.scales[band - 1] + file.offsets[band - 1]
                    found.append((*to_degrees.transform(*file.xy(row, column)), value))
    return found


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_both_readers_equal_the_slow_twin(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("raster") / "values.tif"
    place = data.draw(st.sampled_from(sorted(PLACES)))
    dtype = data.draw(st.sampled_from(["uint8", "int16", "uint16", "int32", "float32", "float64"]))
    bands = data.draw(st.integers(1, 3))
    scales = data.draw(st.lists(st.sampled_from([1.0, 0.1, 2.5, 100.0]), min_size=bands, max_size=bands))
    offsets = data.draw(st.lists(st.sampled_from([0.0, 50.0, 1000.0]), min_size=bands, max_size=bands))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31)))
    shape = bands, data.draw(st.integers(1, 7)), data.draw(st.integers(1, 7))
    values = rng.integers(0, 120, shape).astype(dtype)
    more: dict[str, Any] = {}
    missing = data.draw(st.sampled_from(["none", "nodata", "mask", "nan"]))
    if missing == "nodata":
        more["nodata"] = 0
    elif missing == "mask":
        more["mask"] = rng.random(shape[1:]) < 0.7
    elif missing == "nan" and dtype.startswith("float"):
        values[rng.random(shape) < 0.3] = np.nan
    write(path, values, place, scales=scales, offsets=offsets, **more)

    for band in range(1, bands + 1):
        expected = [pixel for pixel in pixels_of(path, band) if pixel[2] > 0.0]
        for at_once in (raster._AT_ONCE, 7, 1):  # all rows, a few, one
            with mock.patch.object(raster, "_AT_ONCE", at_once):
                found = [
                    (lng, lat, count)
                    for pixels in read_counts(path, band, math.inf)
                    for lng, lat, count in zip(pixels.lng[:, 0], pixels.lat[:, 0], pixels.counts, strict=True)
                ]
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    if bands == 1 and (every := pixels_of(path, 1)):
        lng, lat, heights = np.array(every).T
        np.testing.assert_allclose(read_heights(path, lng, lat).at(lng, lat), heights, rtol=1e-5, atol=1e-3)


@pytest.mark.pythons
@pytest.mark.parametrize(
    ("place", "part_m", "parts"),
    [
        ("EPSG:32722", 120.5, 1),
        ("EPSG:32722", 119.5, 2),
        ("EPSG:32722", 30.5, 4),
        # The sides are 107.7 m, the diagonals 152 m.
        ("turned", 108.0, 1),
        ("turned", 107.0, 2),
        # 96 m to the east, 111 m to the north.
        ("EPSG:4326", 112.0, 1),
        ("EPSG:4326", 110.0, 2),
        ("EPSG:4326", 97.0, 2),
        ("EPSG:4326", 55.0, 3),
    ],
)
def test_large_pixels_are_divided_into_equal_parts(tmp_path: Path, place: str, part_m: float, parts: int) -> None:
    """By their longer side; parts are the pixels of a raster with so many times as many pixels."""
    path = write(tmp_path / "coarse.tif", np.array([[[0, 5], [0, 0]]], np.int32), place)
    (found,) = read_counts(path, 1, part_m)
    assert found.counts.tolist() == [5]
    fine = PLACES[place] @ rasterio.Affine.scale(1 / parts)
    with mock.patch.dict(PLACES, {place: fine}):
        values = np.kron(np.array([[0, 1], [0, 0]]), np.ones((parts, parts))).astype(np.int32)
        expected = np.array(pixels_of(write(tmp_path / "fine.tif", values[None], place), 1))
    expected = expected[expected[:, 2] > 0]
    assert found.lng.shape == found.lat.shape == (1, parts**2)
    assert next(read_counts(path, 1, 0.5)).lng.shape == (1, 100**2)  # the most
    np.testing.assert_allclose(np.column_stack([found.lng[0], found.lat[0]]), expected[:, :2], rtol=1e-12)


def test_pixels_have_the_size_that_they_have_in_the_middle_of_a_raster(tmp_path: Path) -> None:
    """From 60 to 20 degrees north: a pixel is 2.4 km wide at 40 degrees, and 1.4 to 2.6 km elsewhere."""
    wide = rasterio.Affine(0.028, 0, 10.0, 0, -0.01, 60.0)
    values = np.zeros((1, 4000, 1), np.int32)
    values[0, 0, 0] = 1
    with mock.patch.dict(PLACES, {"EPSG:4326": wide}):
        path = write(tmp_path / "tall.tif", values, "EPSG:4326")
    for part_m, parts in ((2_400.0, 1), (2_380.0, 2)):
        found = [pixels for pixels in read_counts(path, 1, part_m) if pixels.counts.size]
        assert [pixels.lng.shape for pixels in found] == [(1, parts**2)], part_m


def test_heights_of_a_fine_raster_that_is_turned(tmp_path: Path) -> None:
    """Pixels of 3.2 m are joined by three; a plane stays one."""
    fine = rasterio.Affine(3.0, 1.2, 480_000, 1.2, -3.0, 6_680_000)
    row, column = np.mgrid[0:200, 0:230]
    x, y = (axis - start for axis, start in zip(fine @ (column + 0.5, row + 0.5), (480_000, 6_680_000), strict=True))
    with mock.patch.dict(PLACES, {"turned": fine}):
        path = write(tmp_path / "plane.tif", (500 + 0.3 * x - 0.2 * y)[None].astype(np.float32), "turned")
    inner = (slice(20, 180, 13), slice(20, 210, 11))
    to_degrees = pyproj.Transformer.from_crs(32722, 4326, always_xy=True)
    lng, lat = to_degrees.transform(480_000 + x[inner].ravel(), 6_680_000 + y[inner].ravel())
    heights = read_heights(path, lng, lat)
    assert heights.values.shape[0] < 70 and heights.values.shape[1] < 80
    np.testing.assert_allclose(heights.at(lng, lat), (500 + 0.3 * x - 0.2 * y)[inner].ravel(), atol=0.05)


@pytest.mark.pythons
def test_scale_and_offset_of_counts(tmp_path: Path) -> None:
    """The answer of the public functions, for the same values with and without a scale."""
    raw = np.array([[[10, 200, 0], [35, 7, 90]]], np.int32)
    plain = write(tmp_path / "plain.tif", raw * 0.1 + 2.0, "EPSG:4326")
    scaled = write(tmp_path / "scaled.tif", raw, "EPSG:4326", scales=[0.1], offsets=[2.0])
    expected = tl.counts_to_h3(plain, 8)
    assert expected["count"].sum() == pytest.approx(34.2 + 12.0)
    assert tl.counts_to_h3(scaled, 8).equals(expected)
    points = tl.h3_centroids(expected.index[:2])
    assert tl.counts_to_points(scaled, points).equals(tl.counts_to_points(plain, points))
    below = write(tmp_path / "below.tif", raw, "EPSG:4326", scales=[1.0], offsets=[-1.0])
    with pytest.raises(tl.InputError, match="negative counts, such as -1"):
        tl.counts_to_h3(below, 8)


@pytest.mark.parametrize(
    ("values", "more", "error", "says"),
    [
        (np.ones((1, 2, 2), np.complex64), {}, tl.InputError, "values of complex64 in band 1, expected real numbers"),
        (np.ones((1, 2, 2)), {"scales": [0.0], "offsets": [5.0]}, tl.DataError, "has the scale 0 and the offset 5"),
        (np.ones((1, 2, 2)), {"scales": [1.0], "offsets": [np.nan]}, tl.DataError, "the offset nan in band 1"),
    ],
)
def test_values_that_cannot_be_read(
    tmp_path: Path, values: np.ndarray, more: Any, error: type[Exception], says: str
) -> None:
    path = write(tmp_path / "wrong.tif", values, "EPSG:4326", **more)
    places = np.array([-51.199]), np.array([-30.001])
    for read in (lambda: tl.counts_to_h3(path, 8), lambda: read_heights(path, *places)):
        with pytest.raises(error, match=says):
            read()


def test_infinite_counts_and_damaged_files(tmp_path: Path) -> None:
    path = write(tmp_path / "endless.tif", np.full((1, 2, 2), np.inf, np.float32), "EPSG:4326")
    with pytest.raises(tl.InputError, match="infinite counts"):
        tl.counts_to_h3(path, 8)
    path = write(tmp_path / "cut.tif", np.random.default_rng(1).random((1, 200, 200)), "EPSG:4326", compress="deflate")
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(tl.DataError, match="is damaged"):
        tl.counts_to_h3(path, 8)
