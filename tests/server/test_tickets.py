"""Fares over HTTP: tickets of journeys, and what is left out where they are not known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import traveltime_lab as tl
from tests.support.door import PAIR, Door, assert_error, matrix_search, ok, open_door
from tests.support.towns import town
from tests.support.worlds import at
from traveltime_lab.server.app import create_app
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.auth import Credentials

#: Along the street: beginning, end, the stop in the middle, a walk from the beginning.
PLACES = at((100, 0), (5900, 0), (3000, 0), (300, 0))
EARLY = "2026-03-03T07:55:00Z"
NOTHING: dict[str, Any] = {"breakdown": [], "tickets_total": []}


@pytest.fixture(scope="module")
def fare_door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """A street with two buses, each with a fare of its own; and how it would be without the second one's."""
    folder = tmp_path_factory.mktemp("town")
    town_with_fares = town(
        folder,
        fare_attributes="fare_id,price,currency_type,transfers\none,1.40,EUR,0\ntwo,2,CHF,0",
        fare_rules="fare_id,route_id\none,R0\ntwo,R1",
    )
    yield from opened(town_with_fares)


def opened(network: tl.Network) -> Iterator[Door]:
    with open_door(create_app(Atlas({"town": network}), Credentials([PAIR]), None, None)) as door:
        yield door


def request(*, is_matrix: bool = True, **more: Any) -> dict[str, Any]:
    """Return a search from the first place to all others."""
    fields = {
        "departure_time": EARLY,
        "travel_time": 7200 if is_matrix else ...,
        "transportation": {"type": "public_transport"},
        "properties": ["travel_time", "fares"],
        **more,
    }
    return {
        "locations": [{"id": f"p{i}", "coords": {"lat": place.y, "lng": place.x}} for i, place in enumerate(PLACES)],
        "departure_searches": [matrix_search(targets=3, **fields)],
    }


def entries(response: Any) -> dict[str, dict[str, Any]]:
    """Return the first properties of each place."""
    (result,) = ok(response)["results"]
    return {location["id"]: location["properties"][0] for location in result["locations"]}


def single(price: float, currency: str) -> dict[str, Any]:
    return {"type": "single", "price": price, "currency": currency}


@pytest.mark.parametrize("path", ["/v4/time-filter", "/v4/routes"])
def test_tickets(fare_door: Door, path: str) -> None:
    is_matrix = path == "/v4/time-filter"
    properties = ["travel_time", "fares", "route"]
    found = entries(fare_door.post(path, request(is_matrix=is_matrix, properties=properties)))
    parts = {part["id"]: part for part in found["p1"]["route"]["parts"]}
    rides = [number for number, part in parts.items() if part["type"] == "public_transport"]
    assert [parts[number]["line"] for number in rides] == ["0", "1"]
    one, two = single(1.4, "EUR"), single(2.0, "CHF")
    assert found["p1"]["fares"] == {
        "breakdown": [
            {"modes": ["bus"], "route_part_ids": [rides[0]], "tickets": [one]},
            {"modes": ["bus"], "route_part_ids": [rides[1]], "tickets": [two]},
        ],
        # Different currencies are not added.
        "tickets_total": [one, two],
    }
    assert found["p2"]["fares"]["tickets_total"] == [one]
    assert found["p3"]["fares"] == NOTHING
    without = entries(fare_door.post(path, request(is_matrix=is_matrix)))
    assert {name: entry["fares"] for name, entry in without.items()} == {
        name: entry["fares"] for name, entry in found.items()
    }
    assert all(set(entry) == {"travel_time", "fares"} for entry in without.values())


def test_each_journey_of_a_window_has_its_own(fare_door: Door) -> None:
    window = {"enabled": True, "max_results": 2, "width": 1200}
    (result,) = ok(fare_door.post("/v4/time-filter", request(range=window)))["results"]
    listed = {location["id"]: location["properties"] for location in result["locations"]}
    assert all(entry["fares"] == NOTHING for entry in listed["p3"])
    # The bus takes 5 minutes for what is a walk of 48; both count where one may leave later.
    totals = [entry["fares"]["tickets_total"] for entry in listed["p2"]]
    assert totals[0] == [single(1.4, "EUR")] and all(total in ([], [single(1.4, "EUR")]) for total in totals)


def test_walking_costs_nothing(fare_door: Door) -> None:
    found = entries(fare_door.post("/v4/time-filter", request(transportation={"type": "walking"})))
    assert found and all(entry["fares"] == NOTHING for entry in found.values())


def test_a_ticket_for_several_rides(tmp_path: Path) -> None:
    network = town(tmp_path, fare_attributes="fare_id,price,currency_type\nday,3.5,EUR")
    for door in opened(network):
        fares = entries(door.post("/v4/time-filter", request()))["p1"]["fares"]
        assert fares["tickets_total"] == [single(3.5, "EUR")]
        (item,) = fares["breakdown"]
        assert len(item["route_part_ids"]) == 2 and item["tickets"] == [single(3.5, "EUR")]


def test_unknown_fares_are_left_out(tmp_path: Path) -> None:
    network = town(
        tmp_path, fare_attributes="fare_id,price,currency_type\nf,1,EUR", fare_rules="fare_id,route_id\nf,R0"
    )
    for door in opened(network):
        found = entries(door.post("/v4/time-filter", request()))
        assert set(found["p1"]) == {"travel_time"}
        assert found["p2"]["fares"]["tickets_total"] == [single(1.0, "EUR")]


def test_where_there_are_none(tmp_path: Path, fare_door: Door) -> None:
    fast = {
        "locations": request()["locations"],
        "arrival_searches": {
            "one_to_many": [
                {
                    "id": "m",
                    "departure_location_id": "p0",
                    "arrival_location_ids": ["p1"],
                    "transportation": {"type": "public_transport"},
                    "travel_time": 7200,
                    "arrival_time_period": "weekday_morning",
                    "properties": ["travel_time", "fares"],
                }
            ]
        },
    }
    assert_error(fare_door.post("/v4/time-filter/fast", fast), 422, 13, search_ids=["m"])
    (item,) = ok(fare_door.get("/v4/map-info"))["maps"]
    assert item["features"]["fares"] is True
    for door in opened(town(tmp_path)):
        for path in ("/v4/time-filter", "/v4/routes"):
            asked = request(is_matrix=path == "/v4/time-filter")
            assert_error(door.post(path, asked), 422, 13, search_ids=["m"])
        (item,) = ok(door.get("/v4/map-info"))["maps"]
        assert item["features"]["fares"] is False
