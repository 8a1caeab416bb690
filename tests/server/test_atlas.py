"""Several maps: a search is answered by a map that can, whichever of those that cover its place that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette", reason="the extra 'server' is not installed")

from tests.support.door import PAIR, Door, assert_error, ok, open_door
from tests.support.protobuf import matrix_message
from tests.support.towns import ON_FOOT, blocks
from tests.support.worlds import FRAME, world
from traveltime_lab.server.app import create_app
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.auth import Credentials
from traveltime_lab.server.postcodes import Zones

#: Streets of 5 km, and a small map of some hundred metres in their middle.
LARGE = {"a": (0.0, 0.0), "b": (2500.0, 0.0), "c": (2600.0, 1400.0), "d": (2700.0, 0.0), "e": (5000.0, 0.0)}
SMALL = {"b": (2500.0, 0.0), "d": (2900.0, 0.0), "f": (2900.0, 1300.0)}
#: Places on the large map: beside the box of the small map, within it but far from its streets, and near no street.
BESIDE, WITHIN, NOWHERE = (3300.0, 0.0), (2590.0, 1260.0), (2650.0, 700.0)
WHEN = {"departure_time": "2026-03-03T08:00:00Z"}
WALK = {"type": "walking"}


def place(at: tuple[float, float]) -> dict[str, float]:
    lng, lat = FRAME.to_lnglat(np.array([at[0]]), np.array([at[1]]))
    return {"lat": round(float(lat[0]), 7), "lng": round(float(lng[0]), 7)}


def service(networks: dict[str, Any]) -> Any:
    spots = [place(at) for at in (BESIDE, WITHIN, (2600.0, 0.0), (100.0, 0.0))]
    table = pd.DataFrame([{"postcode": f"A1 {i}", **spot} for i, spot in enumerate(spots)])
    return open_door(create_app(Atlas(networks), Credentials([PAIR]), None, Zones.from_table(table)))


@pytest.fixture(scope="module")
def networks() -> dict[str, Any]:
    large = world(LARGE, [("a", "b", ON_FOOT), ("b", "d", ON_FOOT), ("d", "e", ON_FOOT), ("b", "c", ON_FOOT)])
    return {"large": large, "small": world(SMALL, [("b", "d", ON_FOOT), ("d", "f", ON_FOOT)])}


@pytest.fixture(scope="module")
def both(networks: dict[str, Any]) -> Iterator[Door]:
    with service(networks) as opened:
        yield opened


@pytest.fixture(scope="module")
def alone(networks: dict[str, Any]) -> Iterator[Door]:
    with service({"large": networks["large"]}) as opened:
        yield opened


def area(at: tuple[float, float], **more: Any) -> dict[str, Any]:
    search = {"id": "s", "coords": place(at), "travel_time": 900, "transportation": WALK, **WHEN, **more}
    search["snapping"] = {"threshold": 100}
    return search


def fast(at: tuple[float, float]) -> dict[str, Any]:
    search = {key: value for key, value in area(at).items() if key != "departure_time"}
    return {"one_to_many": [{**search, "arrival_time_period": "weekday_morning"}]}


def matrix(at: tuple[float, float], *targets: tuple[float, float], **more: Any) -> dict[str, Any]:
    locations = [{"id": str(i), "coords": place(each)} for i, each in enumerate((at, *targets))]
    search = {key: value for key, value in area(at).items() if key != "coords"}
    names = [str(i + 1) for i in range(len(targets))]
    search |= {"departure_location_id": "0", "arrival_location_ids": names, "properties": ["travel_time"], **more}
    return {"locations": locations, "departure_searches": [search]}


def fast_matrix(at: tuple[float, float], *targets: tuple[float, float]) -> dict[str, Any]:
    body = matrix(at, *targets)
    (search,) = body.pop("departure_searches")
    del search["departure_time"]
    return {**body, "arrival_searches": {"one_to_many": [{**search, "arrival_time_period": "weekday_morning"}]}}


def routes(at: tuple[float, float], *targets: tuple[float, float]) -> dict[str, Any]:
    body = matrix(at, *targets)
    del body["departure_searches"][0]["travel_time"]
    return body


def distance(at: tuple[float, float]) -> dict[str, Any]:
    search = {key: value for key, value in area(at).items() if key != "travel_time"}
    return {"departure_searches": [{**search, "travel_distance": 500}]}


CELLS = {"properties": ["min"], "resolution": 8}
#: Requests about a place, by path.
BODIES: dict[str, Callable[[tuple[float, float]], dict[str, Any]]] = {
    "/v4/time-map": lambda at: {"departure_searches": [area(at)]},
    "/v4/time-map/fast": lambda at: {"arrival_searches": fast(at)},
    "/v4/distance-map": distance,
    "/v4/h3": lambda at: {**CELLS, "departure_searches": [area(at)]},
    "/v4/h3/fast": lambda at: {**CELLS, "arrival_searches": fast(at)},
    "/v4/geohash": lambda at: {**CELLS, "departure_searches": [area(at)]},
    "/v4/geohash/fast": lambda at: {**CELLS, "arrival_searches": fast(at)},
    "/v4/time-filter": lambda at: matrix(at, (2600.0, 0.0), BESIDE),
    "/v4/time-filter/fast": lambda at: fast_matrix(at, (2600.0, 0.0), BESIDE),
    "/v4/routes": lambda at: routes(at, (2600.0, 0.0), BESIDE),
    "/v4/time-filter/postcodes": lambda at: {"departure_searches": [area(at, properties=["travel_time"])]},
    "/v4/time-filter/postcode-districts": lambda at: {"departure_searches": [area(at, properties=["coverage"])]},
    "/v4/time-filter/postcode-sectors": lambda at: {"departure_searches": [area(at, properties=["coverage"])]},
}


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("at", [BESIDE, WITHIN, NOWHERE])
def test_what_the_larger_map_knows_is_answered(both: Door, alone: Door, path: str, at: tuple[float, float]) -> None:
    """A place near the small map, whose streets are on the large one only, is answered as by the large map alone."""
    body = BODIES[path](at)
    expected = alone.post(path, body)
    if expected.status_code != 200:
        # Neither map has a street there.
        assert_error(both.post(path, body), expected.status_code, expected.json()["error_code"])
        return
    assert both.post(path, body).content == expected.content


def test_every_endpoint_with_a_place_is_tried() -> None:
    from tests.support.requests import RIGHT

    assert set(BODIES) == set(RIGHT) - {"/v4/supported-locations"}


def test_a_place_on_the_small_map_goes_to_it(both: Door) -> None:
    body = matrix((2550.0, 0.0), (2650.0, 0.0))
    (result,) = ok(both.post("/v4/time-filter", body))["results"]
    assert result["locations"][0]["properties"] == [{"travel_time": 100}]


def test_targets_beside_the_small_map(both: Door, alone: Door) -> None:
    """Targets near the small map whose streets it does not have are reached on the large one."""
    body = matrix((2600.0, 0.0), BESIDE, (2550.0, 0.0))
    assert ok(both.post("/v4/time-filter", body)) == ok(alone.post("/v4/time-filter", body))


def test_protocol_buffers(both: Door, alone: Door) -> None:
    lat, lng = place(BESIDE)["lat"], place(BESIDE)["lng"]
    message = matrix_message(place=(lat, lng), targets=[(lat, lng - 0.005)]).SerializeToString()
    path = "/api/v3/uk/time-filter/fast/walking"
    answers = [door.proto(path, message) for door in (both, alone)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].content == answers[1].content


def test_get(both: Door, alone: Door) -> None:
    query = {"type": "walking", "travel_time": 900, **place(BESIDE), **WHEN}
    assert ok(both.get("/v4/time-map", query)) == ok(alone.get("/v4/time-map", query))


def test_supported_locations_names_the_map_that_is_asked_first(both: Door) -> None:
    body = {"locations": [{"id": "beside", "coords": place(BESIDE)}, {"id": "on", "coords": place((2600.0, 0.0))}]}
    found = ok(both.post("/v4/supported-locations", body))["locations"]
    assert [each["map_name"] for each in found] == ["large", "small"]
    assert [each["additional_map_names"] for each in found] == [["small"], ["large"]]


def test_a_timetable_of_the_larger_map(tmp_path_factory: pytest.TempPathFactory, networks: dict[str, Any]) -> None:
    """A small map without a timetable does not refuse what a larger one can answer."""
    town = blocks(tmp_path_factory.mktemp("town"))
    part = world({"a": (300.0, 300.0), "b": (900.0, 600.0)}, [("a", "b", ON_FOOT)])
    body = matrix((600.0, 450.0), (1500.0, 600.0), transportation={"type": "public_transport"})
    with service({"town": town}) as one, service({"town": town, "part": part}) as two:
        assert ok(two.post("/v4/time-filter", body)) == ok(one.post("/v4/time-filter", body))
    with service({"part": part}) as neither:
        assert_error(
            neither.post(
                "/v4/time-filter", matrix((600.0, 450.0), (650.0, 470.0), transportation={"type": "public_transport"})
            ),
            422,
        )
