"""Traffic stress over HTTP: the library's answers, and what is refused."""

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

#: An arterial from a to b, a calm detour, and a street beyond.
PLACES = ((0.0, 0.0), (1000.0, 0.0), (500.0, 0.0))
TOWN = {"a": (0, 0), "b": (1000, 0), "c": (1000, 800), "d": (0, 800)}
BUSY = {"highway": "primary", "walking_kph": 5.0}


@pytest.fixture(scope="module")
def town() -> tl.Network:
    return world(TOWN, [("a", "b", BUSY), ("b", "c"), ("c", "d"), ("d", "a")])


@pytest.fixture(scope="module")
def door(town: tl.Network) -> Iterator[Door]:
    yield from opened(town)


def asked(door: Door, **means: Any) -> Any:
    lng, lat = FRAME.to_lnglat(*zip(*PLACES, strict=True))
    search = matrix_search(
        targets=2, travel_time=7200, transportation={"type": "cycling", **means}, snapping={"threshold": 50},
        departure_time="2026-03-03T08:00:00Z",
    )  # fmt: skip
    request = {"locations": locations(*zip(lat.tolist(), lng.tolist(), strict=True)), "departure_searches": [search]}
    return door.post("/v4/time-filter", request)


@pytest.mark.parametrize("means", [
    {}, {"max_stress": 4}, {"max_stress": 3}, {"max_stress": 1}, {"max_stress": 2, "push_above_stress": True},
])  # fmt: skip
def test_answers_are_those_of_the_library(door: Door, town: tl.Network, means: dict[str, Any]) -> None:
    (result,) = ok(asked(door, **means))["results"]
    found = {each["id"]: each["properties"][0]["travel_time"] for each in result["locations"]}
    table = tl.time_filter(
        town, at(PLACES[0]), at(*PLACES[1:]), travel_time=7200, transportation={"type": "cycling", **means},
        snapping={"threshold": 50},
    )  # fmt: skip
    assert list(found.values()) == table["travel_time"].dropna().tolist()
    assert len(found) == (1 if means.get("max_stress", 4) < 4 and len(means) == 1 else 2)


def test_what_is_refused(door: Door, town: tl.Network) -> None:
    for wrong in (0, 5, "2", 1.5, True):
        assert_error(asked(door, max_stress=wrong), 422, 2)
    assert_error(asked(door, push_above_stress=True), 422, 2)
    assert_error(asked(door, max_stress=2, push_above_stress="yes"), 422, 2)
    tables = replace(town.tables, edge_stress=np.zeros(0, np.uint16))
    for without in opened(tl.build_network(tables, timezone="UTC")):
        assert_error(asked(without, max_stress=2), 422, 2)
        assert ok(asked(without, max_stress=4)) == ok(asked(door, max_stress=4))
