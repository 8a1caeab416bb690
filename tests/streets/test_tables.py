"""What tables of streets may contain: kernels do not check bounds, so `check_consistent` has to find all faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.worlds import tables
from traveltime_lab.streets.tables import StreetTables, check_consistent, places_frame

pytestmark = pytest.mark.quick

WEEK = 7 * 24 * 60


def restricted() -> StreetTables:
    """Return three streets in a row, with heights, two restrictions, and hours of both."""
    drawn = tables({i: (100.0 * i, 0.0) for i in range(4)}, [(i, i + 1) for i in range(3)])
    return replace(
        drawn,
        restriction_only=np.array([False, True]),
        restriction_indptr=np.array([0, 2, 5], np.int64),
        restriction_edges=np.array([0, 2, 0, 2, 4], np.int32),
        timed_restrictions=np.array([0, 1], np.int32),
        timed_by_default=np.array([False, True]),
        timed_indptr=np.array([0, 4, 6], np.int64),
        timed_minutes=np.array([0, 60, 120, 180, 60, WEEK], np.int32),
        walking_slope_factor=np.full(6, 0.1, np.float32) + np.float32(1e-6),
        cycling_slope_factor=np.full(6, 100.0, np.float32),
        edge_off_ground=np.zeros(3, np.bool_),
    )


def with_value(name: str, place: int, value: Any) -> Callable[[StreetTables], StreetTables]:
    """Return a change of one value of a column."""

    def change(whole: StreetTables) -> StreetTables:
        values = getattr(whole, name).copy()
        values[place] = value
        return replace(whole, **{name: values})

    return change


def with_speed(column: str, value: float) -> Callable[[StreetTables], StreetTables]:
    return lambda whole: replace(whole, uses=whole.uses.assign(**{column: np.float32(value)}))


RANGES = {"node_lng": 180.0, "node_lat": 90.0, "coord_lng": 180.0, "coord_lat": 90.0}
INDICES = {
    "edge_from": 4, "edge_to": 4, "edge_use": 1, "edge_name": 1, "restriction_edges": 6, "timed_restrictions": 2,
    "timed_minutes": WEEK + 1,
}  # fmt: skip
FAULTS = [
    *((with_value(name, 1, value), name) for name, size in INDICES.items() for value in (-1, size)),
    *((with_value(name, 1, value), f"{name} contains values") for name, end in RANGES.items()
      for value in (-end - 1e-9, end + 1e-9, np.nan)),
    *((with_value("edge_length_m", 1, value), "edge_length_m contains") for value in (-1.0, 4.2e7, np.nan, np.inf)),
    *((with_value("coord_indptr", place, value), "coord_indptr does not split") for place, value in
      ((0, 1), (1, 1), (1, 3), (-1, 5), (-1, 7))),
    *((with_value("restriction_indptr", place, value), "restriction_indptr does not") for place, value in
      ((0, 1), (1, 1), (1, 4), (-1, 4), (-1, 6))),
    *((with_value("timed_indptr", place, value), "timed_indptr does not") for place, value in
      ((0, 1), (1, 5), (-1, 8))),
    (with_value("timed_indptr", 1, 3), "does not alternate"),
    *((with_value("timed_minutes", place, value), "does not alternate") for place, value in
      ((1, 0), (2, 60), (3, 100), (5, 60))),
    (with_value("timed_restrictions", 1, 0), "not in increasing order"),
    *((with_value(name, 3, value), f"{name} contains values") for name in
      ("walking_slope_factor", "cycling_slope_factor") for value in (0.09, 101.0, np.nan)),
    *((with_speed(f"{mode}_kph_{way}", value), "speeds of uses") for mode in ("walking", "cycling", "driving")
      for way in ("forward", "backward") for value in (-1.0, np.nan, np.inf)),
    *((lambda whole, name=name: replace(whole, **{name: getattr(whole, name)[:-1]}), name) for name in
      ("node_lat", "node_flags", "edge_to", "edge_way_id", "coord_indptr", "coord_lat", "timed_by_default",
       "walking_slope_factor", "cycling_slope_factor", "edge_off_ground")),
    *((lambda whole, name=name: replace(whole, **{name: getattr(whole, name).astype(np.float16)}), name) for name in
      ("node_lng", "edge_from", "edge_length_m", "coord_indptr", "restriction_edges", "cycling_slope_factor")),
    (lambda whole: replace(whole, cycling_slope_factor=np.zeros(0, np.float32)), "have different lengths"),
    (lambda whole: replace(whole, names=[]), "names must contain texts"),
]  # fmt: skip


def test_what_is_at_the_limits_is_right() -> None:
    whole = restricted()
    check_consistent(whole)
    for name, end in RANGES.items():
        for value in (-end, end):
            check_consistent(with_value(name, 0, value)(whole))
    for name, size in INDICES.items():
        if not name.startswith("timed"):
            check_consistent(with_value(name, 0, 0)(whole))
            check_consistent(with_value(name, 0, size - 1)(whole))
    for value in (0.0, 41e6):
        check_consistent(with_value("edge_length_m", 0, value)(whole))
    check_consistent(with_speed("driving_kph_forward", 0.0)(whole))


@pytest.mark.parametrize(("change", "says"), FAULTS)
def test_each_fault_is_found(change: Callable[[StreetTables], StreetTables], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        check_consistent(change(restricted()))


def test_columns_of_places_have_one_length() -> None:
    with pytest.raises(ValueError, match="the columns of places have 0 to 1 values"):
        places_frame({"osm_id": np.array([1])})
