"""Fares over HTTP: tickets of journeys, and what is left out where they are not known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest

import traveltime_lab as tl
from tests.support.door import PAIR, Door, assert_error, matrix_search, ok, open_door
from tests.support.protobuf import PATH, asked, matrix_message
from tests.support.towns import STOPS, STREETS, timetable, town
from tests.support.worlds import at
from traveltime_lab.server.app import create_app
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.auth import Credentials
from traveltime_lab.server.config import Options, read_costs
from traveltime_lab.server.contract import responses
from traveltime_lab.server.endpoints import ways
from traveltime_lab.server.endpoints.fares import minor_units

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


@pytest.fixture(scope="module")
def morning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """The same with buses that one catches who leaves at eight, as fast searches do."""
    trips = [[("a", 29_400), ("b", 29_700)], [("b", 30_000), ("c", 30_300)]]
    path = timetable(
        tmp_path_factory.mktemp("morning"), STOPS, trips,
        fare_attributes="fare_id,price,currency_type,transfers\none,1.40,EUR,0\ntwo,2,CHF,0",
        fare_rules="fare_id,route_id\none,R0\ntwo,R1",
    )  # fmt: skip
    yield from opened(tl.build_network(STREETS, gtfs=path, timezone="UTC"))


def opened(network: tl.Network, **more: Any) -> Iterator[Door]:
    with open_door(create_app(Atlas({"town": network}), Credentials([PAIR]), Options(**more), None)) as door:
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


def fast_request(kind: str = "public_transport", **more: Any) -> dict[str, Any]:
    """Return a fast search from the first place to all others."""
    search = {
        "id": "m",
        "departure_location_id": "p0",
        "arrival_location_ids": ["p1", "p2", "p3"],
        "transportation": {"type": kind},
        "travel_time": 7200,
        "arrival_time_period": "weekday_morning",
        "properties": ["travel_time", "fares"],
    }
    return {"locations": request()["locations"], "arrival_searches": {"one_to_many": [{**search, **more}]}}


def fast_fares(door: Door, *asked: Any, **more: Any) -> dict[str, dict[str, Any]]:
    """Return the properties of each place that a fast search reaches."""
    response = door.post("/v4/time-filter/fast", fast_request(*asked, **more))
    msgspec.json.decode(response.content, type=responses.FastMatrix)
    (result,) = ok(response)["results"]
    return {location["id"]: location["properties"] for location in result["locations"]}


def monthly_fares(door: Door, kind: int, properties: tuple[int, ...] = (0,)) -> tuple[list[int], list[int], list[int]]:
    """Return travel times, fares and distances of the same search in Protocol Buffers."""
    here, *others = ((place.y, place.x) for place in PLACES)
    found = asked(door, matrix_message(place=here, targets=others, type=kind, travelTime=7200, properties=properties))
    lists = found.properties
    return list(lists.travelTimes), list(lists.monthlyFares), list(lists.distances)


def test_totals_on_the_fast_endpoint(morning: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as context:
        # No route is built for them.
        context.setattr(ways, "find_routes", None)
        found = fast_fares(morning)
    assert found["p1"]["fares"] == {"tickets_total": [single(1.4, "EUR"), single(2.0, "CHF")]}
    assert found["p2"]["fares"] == {"tickets_total": [single(1.4, "EUR")]}
    assert found["p3"]["fares"] == {"tickets_total": []}
    assert all(set(entry) == {"travel_time", "fares"} for entry in found.values())
    both = fast_fares(morning, properties=["fares", "distance"])
    assert {name: entry["fares"] for name, entry in both.items()} == {
        name: entry["fares"] for name, entry in found.items()
    }
    # 100 m back to the stop, 6,000 m on two buses, 100 m back.
    assert both["p1"]["distance"] == pytest.approx(6200, abs=20)
    for kind in ("walking", "walking+ferry", "driving", "driving+ferry", "cycling", "cycling+ferry"):
        found = fast_fares(morning, kind)
        assert found and all(entry["fares"] == {"tickets_total": []} for entry in found.values())


def test_fares_in_protocol_buffers(morning: Door) -> None:
    times, fares, distances = monthly_fares(morning, 0)
    # Two currencies are no one number; 1.40 EUR are 140 cents; a walk costs nothing.
    assert fares == [-1, 140, 0] and min(times) > 0 and distances == []
    times, fares, distances = monthly_fares(morning, 0, (0, 1))
    assert fares == [-1, 140, 0] and min(distances) > 0
    assert monthly_fares(morning, 0, (1,))[1] == []
    for kind in (4, 7):  # walking, walking and ferry
        times, fares, _ = monthly_fares(morning, kind)
        assert fares == [0 if seconds >= 0 else -1 for seconds in times]


def test_fares_of_fast_searches_have_a_bound(morning: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways, "_MOST_MEASURED", 2)
    assert all(set(entry) == {"travel_time"} for entry in fast_fares(morning).values())
    assert monthly_fares(morning, 0)[1] == [-1, -1, -1]


@pytest.mark.parametrize(
    ("price", "currency", "units"), [(2.35, "EUR", 235), (700.0, "CLP", 700), (1.25, "KWD", 1250), (0.0, "EUR", 0)]
)
def test_smallest_units_of_currencies(price: float, currency: str, units: int) -> None:
    assert minor_units({currency: price}) == units
    assert minor_units(None) == -1 and minor_units({}) == 0


def test_where_there_are_none(tmp_path: Path, fare_door: Door) -> None:
    (item,) = ok(fare_door.get("/v4/map-info"))["maps"]
    assert item["features"]["fares"] is True
    for door in opened(town(tmp_path)):
        assert_error(door.post("/v4/time-filter/fast", fast_request()), 422, 13, search_ids=["m"])
        here = PLACES.iloc[0].y, PLACES.iloc[0].x
        message = matrix_message(place=here, targets=[here], type=0, properties=[0])
        refused = door.proto(PATH, message.SerializeToString())
        assert_error(refused, 422)
        assert refused.headers["X-ERROR-MESSAGE"] == "UNKNOWN"
        for path in ("/v4/time-filter", "/v4/routes"):
            asked = request(is_matrix=path == "/v4/time-filter")
            assert_error(door.post(path, asked), 422, 13, search_ids=["m"])
        (item,) = ok(door.get("/v4/map-info"))["maps"]
        assert item["features"]["fares"] is False


PRICED = tl.Costs(running_cost={"driving": 0.3, "cycling": 0.05}, emissions={"walking": 40}, currency="EUR")
FARES = "fare_id,price,currency_type,payment_method,transfers\nf,2.5,EUR,0,0"


@pytest.mark.parametrize("costs", [None, PRICED, tl.Costs(currency="SEK")], ids=["usual", "priced", "other currency"])
@pytest.mark.parametrize(
    "means", ["public_transport", pytest.param("walking", marks=pytest.mark.pythons), "cycling", "driving"]
)
def test_costs_are_those_of_the_library(tmp_path: Path, means: str, costs: tl.Costs | None) -> None:
    network = town(tmp_path, fare_attributes=FARES)
    how: dict[str, Any] = {"departure_time": EARLY, "transportation": means, "costs": costs}
    names = ["emissions", "cost"]
    found = tl.routes(network, PLACES.iloc[[0]], PLACES.iloc[1:], properties=names, **how)
    currency = "EUR" if costs is None else costs.currency
    for door in opened(network, costs=costs or tl.Costs()):
        for path, is_matrix in (("/v4/time-filter", True), ("/v4/routes", False)):
            for properties in (names, ["cost"], ["cost", "route"], ["travel_time", "distance_breakdown", "cost"]):
                if "distance_breakdown" in properties and not is_matrix:
                    continue
                body = request(is_matrix=is_matrix, properties=properties, transportation={"type": means})
                for each in ok(door.post(path, body))["results"][0]["locations"]:
                    row, answer = found.iloc[int(each["id"][1:]) - 1], each["properties"][0]
                    assert set(answer) <= set(properties)
                    if "emissions" in properties:
                        assert answer.get("emissions") == (None if pd.isna(row["emissions"]) else row["emissions"])
                    expected = None if pd.isna(row["cost"]) else {"amount": row["cost"], "currency": currency}
                    assert answer.get("cost") == expected


def test_costs_need_one_currency(tmp_path: Path) -> None:
    network = town(tmp_path, fare_attributes=f"{FARES}\ng,30,SEK,0,0")
    for costs, has_cost in ((tl.Costs(), False), (tl.Costs(currency="EUR"), True)):
        for door in opened(network, costs=costs):
            body = request(properties=["travel_time", "cost"])
            places = ok(door.post("/v4/time-filter", body))["results"][0]["locations"]
            assert places and all(("cost" in each["properties"][0]) == has_cost for each in places)


def test_costs_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    path.write_text('{"running_cost": {"driving": 0.3}, "currency": "EUR", "occupancy": 2}', encoding="utf-8")
    assert read_costs(path) == tl.Costs(running_cost={"driving": 0.3}, currency="EUR", occupancy=2)
    assert read_costs(None) == tl.Costs()
    for text, says in (
        ("[1", "is not JSON"),
        ("null", "must hold one object with fields of Costs"),
        ('{"price": 1}', "^costs has no 'price'"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(tl.InputError, match=says):
            read_costs(path)
    with pytest.raises(tl.TravelTimeError):
        read_costs(tmp_path / "none.json")


def test_limits_on_costs_are_unknown_fields(tmp_path: Path) -> None:
    """As every field that the contract lacks, they change nothing."""
    for door in opened(town(tmp_path)):
        plain, limited = (request(properties=["travel_time"], **more) for more in ({}, {"max_emissions": 1}))
        assert ok(door.post("/v4/time-filter", plain)) == ok(door.post("/v4/time-filter", limited))


@pytest.mark.parametrize("means", ["public_transport", "walking", "cycling", "driving"])
def test_emissions_are_those_of_the_library(tmp_path: Path, means: str) -> None:
    network = town(tmp_path)
    how: dict[str, Any] = {"departure_time": EARLY, "transportation": means}
    found = tl.routes(network, PLACES.iloc[[0]], PLACES.iloc[1:], properties=["emissions"], **how)
    for door in opened(network):
        for path, is_matrix in (("/v4/time-filter", True), ("/v4/routes", False)):
            fields = {"properties": ["travel_time", "emissions"], "transportation": {"type": means}}
            body = request(is_matrix=is_matrix, **fields)
            places = ok(door.post(path, body))["results"][0]["locations"]
            grams = {each["id"]: each["properties"][0]["emissions"] for each in places}
            assert grams == {f"p{i + 1}": value for i, value in enumerate(found["emissions"])}
