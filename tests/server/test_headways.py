"""Services by headway over HTTP: the library's answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import traveltime_lab as tl
from tests.server.test_tickets import opened
from tests.support.door import Door, assert_error, locations, matrix_search, ok
from tests.support.worlds import FRAME, at
from tests.transit.test_headways import MOMENT, two_lines

AVERAGE: dict[str, Any] = {"type": "public_transport", "headways": "average"}
PLACES = ((0, 0), (4000, 0), (9000, 0))


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    return two_lines(tmp_path_factory.mktemp("street"))


@pytest.fixture(scope="module")
def door(street: tl.Network) -> Iterator[Door]:
    yield from opened(street)


def asked(door: Door, **more: Any) -> Any:
    lng, lat = FRAME.to_lnglat(*zip(*PLACES, strict=True))
    defaults: dict[str, Any] = {"departure_time": MOMENT.isoformat(), "travel_time": 7200, "transportation": AVERAGE}
    request = {
        "locations": locations(*zip(lat.tolist(), lng.tolist(), strict=True)),
        "departure_searches": [matrix_search(targets=2, **{**defaults, **more})],
    }
    return door.post("/v4/time-filter", request)


@pytest.mark.parametrize("headways", ["exact", "average"])
@pytest.mark.parametrize("window", [None, 600])
def test_answers_are_those_of_the_library(door: Door, street: tl.Network, headways: str, window: int | None) -> None:
    means = {**AVERAGE, "headways": headways}
    spread = {} if window is None else {"range": {"enabled": True, "max_results": 1, "width": window}}
    properties = ["travel_time", *(["distance"] if window is None else [])]
    (result,) = ok(asked(door, transportation=means, properties=properties, **spread))["results"]
    table = tl.time_filter(
        street, at(PLACES[0]), at(*PLACES[1:]), travel_time=7200, transportation=means, departure_time=MOMENT,
        window=window,
    )  # fmt: skip
    found = [each["properties"][0]["travel_time"] for each in result["locations"]]
    assert found == table["travel_time"].tolist()
    if headways == "average":
        assert found == [300 + 500, 300 + 500 + 450 + 700]


def test_routes_say_how_often_lines_run(door: Door) -> None:
    (result,) = ok(asked(door, properties=["travel_time", "route"]))["results"]
    parts = result["locations"][0]["properties"][0]["route"]["parts"]
    assert any("every 10 min" in part["directions"] for part in parts)


def test_what_is_refused(door: Door) -> None:
    window = {"range": {"enabled": True, "max_results": 3, "width": 600}, "properties": ["travel_time"]}
    for more in ({"transportation": {**AVERAGE, "headways": "random"}}, window, {"headways": "average"}):
        assert_error(asked(door, **more), 422, 2)
