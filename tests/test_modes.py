"""Transportation and snapping values: what is accepted, normalised and refused."""

from __future__ import annotations

import dataclasses
import pickle
import re

import numpy as np
import pytest

from traveltime_lab.errors import LimitError, ModeError, UnsupportedError
from traveltime_lab.modes import (
    STREET_TYPES,
    TIMETABLE_TYPES,
    Snapping,
    Transportation,
    as_snapping,
    as_transportation,
)


@pytest.mark.parametrize("kind", STREET_TYPES)
def test_street_types(kind: str) -> None:
    transportation = as_transportation(kind)
    assert transportation.type == kind
    assert transportation.base == kind.split("+")[0]
    assert transportation.uses_ferry == kind.endswith("ferry")
    assert as_transportation(transportation) is transportation
    assert as_transportation({"type": kind}) == transportation
    assert pickle.loads(pickle.dumps(transportation)) == transportation


def test_ferry_is_walking_and_ferry() -> None:
    assert as_transportation("ferry") == Transportation("walking+ferry")
    assert Transportation("ferry").base == "walking"
    assert Transportation("ferry").uses_ferry


def test_defaults_are_the_contract_ones() -> None:
    assert dataclasses.asdict(Transportation()) == {
        "type": "driving",
        "traffic_model": None,
        "boarding_time": 0,
        "include_roads": (),
        "exclude_roads": (),
        "disable_border_crossing": False,
    }
    assert dataclasses.asdict(Snapping()) == {
        "penalty": "enabled",
        "accept_roads": "both_drivable_and_walkable",
        "threshold": 1000,
    }


def test_values_are_frozen_and_hashable() -> None:
    transportation = Transportation("driving", include_roads=["restricted", "track", "track"])  # type: ignore[arg-type]
    assert transportation.include_roads == ("track", "restricted")
    assert len({transportation, Transportation("driving", include_roads=("track", "restricted"))}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        transportation.type = "walking"  # type: ignore[misc]


@pytest.mark.parametrize("kind", TIMETABLE_TYPES)
def test_timetable_types_are_known_but_unsupported(kind: str) -> None:
    with pytest.raises(UnsupportedError, match="timetable search"):
        as_transportation(kind)
    with pytest.raises(UnsupportedError, match="timetable search"):
        as_transportation({"type": kind, "pt_change_delay": 60})


@pytest.mark.parametrize(
    ("kind", "suggestion"),
    [("drivng", "'driving'"), ("Walking", "'walking'"), ("bicycling", "'cycling'"), ("car", "Known: 'walking'")],
)
def test_unknown_type_suggests(kind: str, suggestion: str) -> None:
    with pytest.raises(ModeError, match=suggestion):
        as_transportation(kind)


@pytest.mark.parametrize("value", [None, 3, ["driving"], {"mode": "driving"}, {"type": None}, {"type": 5}])
def test_not_a_transportation(value: object) -> None:
    with pytest.raises(ModeError):
        as_transportation(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "option", "value"),
    [
        ("walking", "traffic_model", "peak"),
        ("cycling+ferry", "traffic_model", "balanced"),
        ("driving", "boarding_time", 60),
        ("walking+ferry", "include_roads", ("track",)),
        ("cycling", "exclude_roads", ("toll",)),
        ("walking", "disable_border_crossing", True),
        ("driving", "walking_time", 600),
    ],
)
def test_option_of_another_type(kind: str, option: str, value: object) -> None:
    with pytest.raises(ModeError, match=re.escape(f"{option} does not apply to transportation type {kind!r}")):
        as_transportation({"type": kind, option: value})


@pytest.mark.parametrize(
    "values",
    [
        {"traffic_model": "rush"},
        {"traffic_model": 1},
        {"include_roads": "track"},
        {"include_roads": ("dirt",)},
        {"include_roads": 5},
        {"exclude_roads": ("track",)},
        {"disable_border_crossing": "no"},
        {"trafic_model": "peak"},
    ],
)
def test_bad_values(values: dict[str, object]) -> None:
    with pytest.raises(ModeError):
        as_transportation({"type": "driving", **values})


def test_misspelt_option_suggests() -> None:
    with pytest.raises(ModeError, match="'traffic_model'"):
        as_transportation({"type": "driving", "trafic_model": "peak"})


def test_borders_are_not_carried() -> None:
    with pytest.raises(UnsupportedError, match="borders"):
        Transportation("driving", disable_border_crossing=True)
    assert not Transportation("walking", disable_border_crossing=False).disable_border_crossing


@pytest.mark.parametrize("value", [300, 300.0, np.int64(300), np.float32(300)])
def test_whole_numbers(value: object) -> None:
    boarding = as_transportation({"type": "ferry", "boarding_time": value}).boarding_time
    assert boarding == 300
    assert type(boarding) is int


@pytest.mark.parametrize("value", ["300", 1.5, float("nan"), float("inf"), True, [1]])
def test_not_whole_numbers(value: object) -> None:
    with pytest.raises(ModeError, match="whole number of seconds"):
        as_transportation({"type": "ferry", "boarding_time": value})
    with pytest.raises(ModeError, match="whole number of metres"):
        as_snapping({"threshold": value})


def test_negative_numbers() -> None:
    with pytest.raises(LimitError):
        Transportation("ferry", boarding_time=-1)
    with pytest.raises(LimitError):
        Snapping(threshold=-1)


def test_none_equals_absent() -> None:
    assert as_transportation({"type": "driving", "traffic_model": None, "boarding_time": None}) == Transportation()
    assert as_snapping({"penalty": None, "threshold": None}) == as_snapping(None) == Snapping()


def test_snapping() -> None:
    snapping = as_snapping({"penalty": "disabled", "accept_roads": "any_drivable", "threshold": 0})
    assert snapping == Snapping("disabled", "any_drivable", 0)
    assert as_snapping(snapping) is snapping
    for bad in ({"penalty": "off"}, {"accept_roads": "any"}, {"treshold": 5}, "enabled", 5):
        with pytest.raises(ModeError):
            as_snapping(bad)  # type: ignore[arg-type]
