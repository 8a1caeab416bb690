"""Speeds by hour over HTTP: a request has those of its hour, in areas, matrices, routes and the fast form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

import traveltime_lab as tl
from tests.server.test_tickets import opened
from tests.support.door import Door, locations, matrix_search, ok
from tests.support.worlds import FRAME, world

PLACES = ((100.0, 0.0), (900.0, 0.0))


@pytest.fixture(scope="module")
def town() -> tl.Network:
    street = world({"a": (0, 0), "b": (1000, 0)}, [("a", "b")])
    speeds = pd.DataFrame({"edge": 0, "day": ["tuesday", "sunday"], "hour": 8, "kph": [10.0, 40.0]})
    return tl.add_speeds(street, profile=speeds)


@pytest.fixture(scope="module")
def door(town: tl.Network) -> Iterator[Door]:
    yield from opened(town)


def asked(door: Door, path: str, kind: str, **search: Any) -> Any:
    lng, lat = FRAME.to_lnglat(*zip(*PLACES, strict=True))
    search = matrix_search(targets=1, transportation={"type": "driving"}, **search)
    request = {"locations": locations(*zip(lat.tolist(), lng.tolist(), strict=True)), kind: [search]}
    return ok(door.post(path, request))["results"][0]["locations"][0]["properties"]


@pytest.mark.parametrize(("day", "seconds"), [(3, 288), (8, 72)])
def test_matrices_and_routes_have_the_speeds_of_the_hour(door: Door, day: int, seconds: int) -> None:
    leaving = {"departure_time": f"2026-03-{day:02d}T08:20:00Z"}
    found = asked(door, "/v4/time-filter", "departure_searches", travel_time=3600, **leaving)
    assert found[0]["travel_time"] == seconds
    found = asked(door, "/v4/routes", "departure_searches", **leaving)
    assert found[0]["travel_time"] == seconds


def test_the_fast_form_has_the_mean_of_working_days_from_8_to_9(door: Door, town: tl.Network) -> None:
    lng, lat = FRAME.to_lnglat(*zip(*PLACES, strict=True))
    body = {
        "locations": locations(*zip(lat.tolist(), lng.tolist(), strict=True)),
        "arrival_searches": {
            "one_to_many": [{
                "id": "x", "departure_location_id": "P0", "arrival_location_ids": ["P1"], "travel_time": 3600,
                "arrival_time_period": "weekday_morning", "transportation": {"type": "driving"},
                "properties": ["travel_time"],
            }]
        },
    }  # fmt: skip
    names = [each["id"] for each in body["locations"]]
    search = body["arrival_searches"]["one_to_many"][0]
    search["departure_location_id"], search["arrival_location_ids"] = names[0], names[1:]
    found = ok(door.post("/v4/time-filter/fast", body))["results"][0]["locations"][0]["properties"]["travel_time"]
    table = town.edges_frame()
    free = float(table["driving_kph_forward"].iloc[0])
    # Tuesdays are measured; on four days there is the congestion of a residential street, 0.4 of 60 %.
    hours = (1 / 10.0 + 4 * (1 + 0.4 * 0.6) / free) / 5
    assert found == pytest.approx(0.8 * hours * 3600, abs=1)
