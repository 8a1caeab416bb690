"""Levels of detail by name, number and object."""

from __future__ import annotations

import pytest

from traveltime_lab.errors import InputError, LimitError, ModeError
from traveltime_lab.surfaces.level_of_detail import LevelOfDetail, parse_level_of_detail

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("value", "numeric"),
    [
        ("lowest", -2),
        (None, 0),
        ({"scale_type": "simple"}, 0),
        ("highest", 2),
        (-20, -20),
        (1.0, 1),
        ({"scale_type": "simple", "level": "medium"}, 0),
        ({"scale_type": "simple_numeric", "level": -3}, -3),
        (LevelOfDetail(1), 1),
    ],
)
def test_levels_have_names_numbers_and_objects(value, numeric):
    assert parse_level_of_detail(value) == LevelOfDetail(numeric)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("best", InputError),
        (True, InputError),
        (0.5, InputError),
        ([], InputError),
        (3, LimitError),
        (-21, LimitError),
        ({"scale_type": "fine"}, InputError),
        ({"scale_type": "simple", "level": 1}, InputError),
        ({"scale_type": "simple", "level": []}, InputError),
        ({"scale_type": "simple_numeric", "level": "1"}, InputError),
        ({"scale_type": "coarse_grid"}, InputError),
        ({"scale_type": "coarse_grid", "square_size": 599}, LimitError),
    ],
)
def test_other_levels_are_refused(value, error):
    with pytest.raises(error, match="Got"):
        parse_level_of_detail(value)


@pytest.mark.parametrize(
    ("name", "travel_time_s", "drawn"),
    [
        ("highest", 5400, "highest"),
        ("highest", 5401, "high"),
        ("highest", 7201, "medium"),
        ("high", 14400, "low"),
        ("medium", 10800, "medium"),
        ("medium", 10801, "low"),
        ("low", 14400, "low"),
        ("lowest", 14400, "lowest"),
    ],
)
def test_long_times_lower_the_level(name, travel_time_s, drawn):
    assert parse_level_of_detail(name).downgraded(travel_time_s) == parse_level_of_detail(drawn)


def test_coarse_levels_are_never_lowered():
    for value in (-3, {"scale_type": "coarse_grid", "square_size": 600}):
        assert parse_level_of_detail(value).downgraded(14400) == parse_level_of_detail(value)


def test_cells_grow_as_levels_fall():
    for mode in ("walking", "cycling", "driving"):
        sizes = [LevelOfDetail(numeric).cell_m(mode) for numeric in range(-20, 3)]
        assert sizes == sorted(sizes, reverse=True)
    assert LevelOfDetail(-4).cell_m("walking") == pytest.approx(50 * 1.25**2)
    assert LevelOfDetail(square_size_m=600).cell_m("driving") == 100
    with pytest.raises(ModeError, match="'rowing'"):
        LevelOfDetail().cell_m("rowing")
