"""Files of points as people have them: other names of columns, separators and decimal commas."""

from __future__ import annotations

import argparse
from pathlib import Path

import geopandas as gpd
import pandas as pd
import pyproj
import pytest
import shapely

import traveltime_lab as tl
from traveltime_lab.commands.point_options import point_options
from traveltime_lab.jobs.point_files import read_point_file

EXPECTED = {"a": (24.9414, 60.1711), "b": (-51.5, -30.25)}


@pytest.mark.parametrize("names", ["lng lat", "lon lat", "Long LAT", "longitude latitude", "X Y", "lat lng", "y x"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_points_are_the_same_however_they_are_written(names: str, separator: str, decimal: str, tmp_path: Path) -> None:
    first, second = names.split()
    is_swapped = first.lower() in ("lat", "y")
    lines = [separator.join(["id", first, second])]
    for label, pair in EXPECTED.items():
        numbers = [str(each).replace(".", decimal) for each in (pair[::-1] if is_swapped else pair)]
        quoted = [f'"{each}"' if separator == decimal else each for each in numbers]
        lines.append(separator.join([label, *quoted]))
    path = tmp_path / "points.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    if separator == decimal:
        with pytest.raises(tl.DataError, match="in row 1, which is not a number"):
            read_point_file(path)
        return
    found = read_point_file(path)
    assert {label: (point.x, point.y) for label, point in found.geometry.items()} == EXPECTED


def test_the_first_known_pair_of_columns_counts(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("x,y,lng,lat\n500000,6600000,24.9,60.1\n", encoding="utf-8")
    point = read_point_file(path).geometry.iloc[0]
    assert (point.x, point.y) == (24.9, 60.1)


@pytest.mark.parametrize(
    ("header", "missing"), [("easting,northing", "lng"), ("lon,north", "lat"), ("latitude,lng", "lat")]
)
def test_missing_columns_are_named(header: str, missing: str, tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text(f"{header}\n1,2\n", encoding="utf-8")
    with pytest.raises(tl.DataError, match=f"has no column '{missing}'; its columns are"):
        read_point_file(path)


def test_thousands_are_no_decimals(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("lng;lat\n1.234,5;60,1\n", encoding="utf-8")
    with pytest.raises(tl.DataError, match=r"has '1\.234,5' as lng in row 1, which is not a number"):
        read_point_file(path)


def test_other_numbers_have_decimal_commas_too(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("lon;lat;people\n24,9;60,1;12,5\n24,8;60,2;\n", encoding="utf-8")
    found = read_point_file(path, numbers=["people"])["people"]
    assert found.iloc[0] == 12.5 and found.isna().iloc[1]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("text", ["12,500", "-1,000", " 999,999 "])
def test_amounts_that_may_be_thousands_are_refused(text: str, separator: str, tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text(f'lng;lat;people\n24.9;60.1;0.5\n24.8;60.2;"{text}"\n'.replace(";", separator), encoding="utf-8")
    whole, point = text.strip().replace(",", ""), text.strip().replace(",", ".")
    with pytest.raises(
        tl.DataError, match=f"as people in row 2, which may be thousands .*write it as {whole} or {point}"
    ):
        read_point_file(path, numbers=["people"])
    assert len(read_point_file(path)) == 2, "nothing counts them"


@pytest.mark.parametrize(
    ("text", "number"), [("0,500", 0.5), ("1234,567", 1234.567), ("12,5", 12.5), ("1,2345", 1.2345)]
)
def test_amounts_that_are_decimals(text: str, number: float, tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text(f"lng;lat;people\n24,941;60,171;{text}\n", encoding="utf-8")
    found = read_point_file(path, numbers=["people"])
    assert found["people"].tolist() == [number] and found.geometry.iloc[0].x == 24.941
    path.write_text(f'lng,lat,people\n24.9,60.1,"{text}"\n', encoding="utf-8")
    with pytest.raises(tl.DataError, match="which is not a number"):
        read_point_file(path, numbers=["people"])


NAMED = {"lng": "east", "lat": "north"}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", ":", " "])
@pytest.mark.parametrize("decimal", [".", ","])
def test_columns_separator_and_decimal_mark_may_be_named(separator: str, decimal: str, tmp_path: Path) -> None:
    """With all of them named, every combination is read, also commas for both, if the numbers are quoted."""
    lines = [separator.join(["id", "lng", "lat", "east", "north"])]
    for label, pair in EXPECTED.items():
        lines.append(separator.join([label, "0", "0", *(f'"{each}"'.replace(".", decimal) for each in pair)]))
    path = tmp_path / "points.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    word = {"\t": "tab", ",": "comma"}.get(separator, separator)
    found = read_point_file(path, separator=word, decimal=decimal, **NAMED)
    assert {label: (point.x, point.y) for label, point in found.geometry.items()} == EXPECTED


def test_a_decimal_mark_that_is_named_settles_what_a_comma_is(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("lng;lat;people\n24,9;60,1;12,500\n", encoding="utf-8")
    assert read_point_file(path, numbers=["people"], decimal=",")["people"].tolist() == [12.5]
    with pytest.raises(tl.DataError, match=r"has '24,9' as lng in row 1, which is not a number"):
        read_point_file(path, decimal=".")
    path.write_text("lng;lat;people\n24,9;60,1;12.500\n", encoding="utf-8")
    with pytest.raises(tl.DataError, match=r"has '12.500' as people in row 1, which is not a number"):
        read_point_file(path, numbers=["people"], decimal=",")


@pytest.mark.parametrize("name", ["points.csv", "points.parquet", "points.gpkg"])
def test_named_columns_count_before_the_others_and_have_a_crs(name: str, tmp_path: Path) -> None:
    places = gpd.GeoSeries.from_xy([24.9414, 24.95], [60.1711, 60.18], crs="EPSG:4326")
    metres = places.to_crs("EPSG:3067")
    table = pd.DataFrame({"lng": [0.0, 0.0], "lat": [0.0, 0.0], "east": metres.x, "north": metres.y})
    if name.endswith(".csv"):
        table.to_csv(tmp_path / name, index=False)
    elif name.endswith(".parquet"):
        table.to_parquet(tmp_path / name)
    else:
        gpd.GeoDataFrame(table, geometry=places.translate(1.0), crs="EPSG:4326").to_file(tmp_path / name)
    found = read_point_file(tmp_path / name, crs="EPSG:3067", **NAMED)
    assert found.crs == "EPSG:3067" and shapely.distance(found.to_crs(4326).geometry, places).max() < 1e-9


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"lng": "long", "lat": "north"}, r"has no column 'long'; its columns are .*; did you mean 'lng'"),
        ({"lng": "east", "lat": "norht"}, r"has no column 'norht'; its columns are .*; did you mean 'north'\?"),
        ({"lng": "east"}, "--lng names a column of coordinates without the other; add --lat"),
        ({"lat": "north"}, "--lat names a column of coordinates without the other; add --lng"),
        ({"lng": "east", "lat": "east"}, "--lng and --lat both name the column 'east'; give each its own"),
        ({"separator": ";;"}, "--separator must be one character, or one of tab, comma, .*; got ';;'"),
        ({"separator": "e"}, "--separator must be one character"),
        ({"decimal": "'"}, r"--decimal must be \. or a comma"),
        ({"crs": "EPSG:0"}, "--crs must be a CRS such as EPSG:31370; got 'EPSG:0'"),
        ({"id_column": "nr"}, "has no column 'nr'; its columns are"),
    ],
)
def test_options_that_do_not_fit_the_file(how: dict[str, str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("lng,lat,east,north\n24.9,60.1,1,2\n", encoding="utf-8")
    with pytest.raises(tl.TravelTimeError, match=message):
        read_point_file(path, **how)


def test_options_of_text_and_crs_are_refused_for_layers(tmp_path: Path) -> None:
    path = tmp_path / "points.gpkg"
    gpd.GeoSeries.from_xy([24.9], [60.1], crs="EPSG:4326").to_file(path)
    for how in ({"separator": ","}, {"decimal": ","}):
        with pytest.raises(tl.InputError, match=f"is not a text file such as .csv, which --{next(iter(how))} is for"):
            read_point_file(path, **how)
    with pytest.raises(tl.InputError, match="has a geometry with a CRS of its own; leave --crs out"):
        read_point_file(path, crs="EPSG:3067")


@pytest.mark.parametrize(
    ("crs", "kind"),
    [("EPSG:5773", "Vertical CRS"), ("EPSG:4978", "Geocentric CRS"), ("EPSG:4979", ""), ("EPSG:7415", "")],
)
def test_coordinates_are_in_a_horizontal_crs(crs: str, kind: str, tmp_path: Path) -> None:
    """Compound and geographic 3D CRSs have horizontal coordinates, of which the columns are."""
    path = tmp_path / "points.csv"
    path.write_text("x,y\n5.1,52.1\n", encoding="utf-8")
    if not kind:
        assert len(read_point_file(path, crs=crs)) == 1
        return
    with pytest.raises(tl.InputError, match=f"must be a geographic or projected CRS .*{crs}' is a {kind}"):
        read_point_file(path, crs=crs)


@pytest.mark.parametrize("text", ["inf", "-inf", "1e999"])
@pytest.mark.parametrize("name", ["points.csv", "points.parquet"])
def test_infinite_coordinates_are_refused(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name.endswith(".csv"):
        path.write_text(f"lng,lat\n24.9,60.1\n24.9,{text}\n", encoding="utf-8")
    else:
        pd.DataFrame({"lng": [24.9, 24.9], "lat": [60.1, float(text)]}).to_parquet(path)
    with pytest.raises(tl.DataError, match="as lat in row 2, which is an infinite number"):
        read_point_file(path)


def test_projected_coordinates_that_may_have_thousands_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("x;y\n148990,5;170123,5\n148,990;170,123\n", encoding="utf-8")
    with pytest.raises(tl.DataError, match="has '148,990' as x in row 2, which may be thousands or decimals"):
        read_point_file(path, crs="EPSG:31370")
    assert read_point_file(path, crs="EPSG:31370", decimal=",").geometry.iloc[1].x == 148.99
    path.write_text("x;y\n24,990;60,123\n", encoding="utf-8")
    assert read_point_file(path).geometry.iloc[0].x == 24.99, "degrees have no thousands"


@pytest.mark.parametrize(
    "requested", ["shop name", " shop name", " shop name ", "Name, Vorname", "Caf\u00e9", "Cafe\u0301"]
)
def test_one_file_takes_any_name_of_a_column(requested: str, tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text('id, lng, lat, shop name,"Name, Vorname",Cafe\u0301\n1,24.9,60.1,a,a,a\n', encoding="utf-8")
    options = argparse.Namespace(id=requested, layer=None, lng=None, lat=None, crs=None, separator=None, decimal=None)
    (how,) = point_options(options, [path])
    assert read_point_file(path, **how).index.tolist() == ["a"]
    options.id, options.lng, options.lat, options.crs = None, "lng", " lat", pyproj.CRS("EPSG:4258").to_wkt()
    (how,) = point_options(options, [path])
    assert read_point_file(path, **how).crs == "EPSG:4258"
    both = point_options(options, [path, path])
    assert [each["crs"] for each in both] == [options.crs] * 2


def test_names_of_two_files_are_split_unless_both_have_the_whole(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole.csv", tmp_path / "parts.csv"
    whole.write_text('"a,b",a,b,lng,lat\n1,2,3,24.9,60.1\n', encoding="utf-8")
    parts.write_text("a,b,lng,lat\n2,3,24.9,60.1\n", encoding="utf-8")
    options = argparse.Namespace(id="a,b", layer=None, lng=None, lat=None, crs=None, separator=None, decimal=None)

    def names(*paths: Path) -> list[str]:
        return [how["id_column"] for how in point_options(options, paths)]

    assert names(whole, whole) == ["a,b", "a,b"]
    assert names(whole, parts) == names(parts, parts) == ["a", "b"]
    assert [how["id_column"] for how in point_options(options, [None, whole])] == [None, "a,b"]
