"""Files of points as people have them: other names of columns, separators and decimal commas."""

from __future__ import annotations

from pathlib import Path

import pytest

import traveltime_lab as tl
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
