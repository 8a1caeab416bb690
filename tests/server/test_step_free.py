"""Step-free walks, and those that avoid ways, over HTTP: the library's answers, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import traveltime_lab as tl
from tests.server.test_tickets import opened
from tests.support.door import Door, assert_error, locations, matrix_search, ok
from tests.support.worlds import FRAME, at, world

#: Stairs from a to b, and a detour of 2,600 m without a known surface, of which parts are a slope and unlit.
PLACES = ((0.0, 0.0), (1000.0, 0.0))
TOWN = {"a": (0, 0), "b": (1000, 0), "c": (1000, 800), "d": (0, 800)}


DARK = {"lit": "no"}


@pytest.fixture(scope="module")
def town() -> tl.Network:
    return world(TOWN, [("a", "b", {"highway": "steps"}), ("b", "c", {"incline": "5%"}), ("c", "d", DARK), ("d", "a")])


@pytest.fixture(scope="module")
def door(town: tl.Network) -> Iterator[Door]:
    yield from opened(town)


def asked(door: Door, **means: Any) -> Any:
    lng, lat = FRAME.to_lnglat(*zip(*PLACES, strict=True))
    search = matrix_search(
        targets=1, travel_time=7200, transportation={"type": "walking", **means}, snapping={"threshold": 50},
        departure_time="2026-03-03T08:00:00Z",
    )  # fmt: skip
    request = {"locations": locations(*zip(lat.tolist(), lng.tolist(), strict=True)), "departure_searches": [search]}
    return door.post("/v4/time-filter", request)


@pytest.mark.parametrize(
    ("means", "n_reached"),
    [
        ({}, 1),
        ({"step_free": "lenient"}, 1),
        ({"step_free": "lenient", "max_incline": 4}, 0),
        ({"avoid": []}, 1),
        ({"avoid": ["unlit"]}, 1),
        ({"avoid": ["unpaved", "unlit"], "step_free": "lenient"}, 0),
        ({"avoid": ["unpaved"], "step_free": "lenient"}, 1),
    ],
)
def test_answers_are_those_of_the_library(door: Door, town: tl.Network, means: dict[str, Any], n_reached: int) -> None:
    (result,) = ok(asked(door, **means))["results"]
    found = [each["properties"][0]["travel_time"] for each in result["locations"]]
    table = tl.time_filter(
        town, at(PLACES[0]), at(PLACES[1]), travel_time=7200, transportation={"type": "walking", **means},
        snapping={"threshold": 50},
    )  # fmt: skip
    assert found == table["travel_time"].dropna().tolist()
    assert len(found) == n_reached


def test_what_is_refused(door: Door, town: tl.Network) -> None:
    for wrong in ({"step_free": "yes"}, {"step_free": True}, {"max_incline": 4}, {"min_width": 1},
                  {"step_free": "lenient", "max_incline": 0}, {"step_free": "strict", "min_width": "1"},
                  {"avoid": "unlit"}, {"avoid": ["dark"]}, {"avoid": [1]}, {"avoid": {"unlit": True}}):  # fmt: skip
        assert_error(asked(door, **wrong), 422, 2)
    nothing = {"edge_step_free": np.zeros(0, np.uint32), "node_step_free": np.zeros(0, np.uint16)}
    nothing["edge_avoid"] = np.zeros(0, np.uint8)
    for without in opened(tl.build_network(replace(town.tables, **nothing), timezone="UTC")):
        assert_error(asked(without, step_free="lenient"), 422, 2)
        assert_error(asked(without, avoid=["unlit"]), 422, 2)
        assert ok(asked(without)) == ok(asked(door))
