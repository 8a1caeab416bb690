"""The service compares what it reports with the limit, behind every door; see tests/search/test_limits.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette", reason="the extra 'server' is not installed")

from tests.support.door import PAIR, Door, ok, open_door
from tests.support.protobuf import asked as proto_asked
from tests.support.protobuf import matrix_message
from tests.support.towns import blocks
from tests.support.worlds import FRAME
from traveltime_lab.server.app import create_app
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.auth import Credentials
from traveltime_lab.server.postcodes import Zones

LONGEST = 7200
#: Places around the blocks, as latitude and longitude. The steps of Protocol Buffers are 1e-5 degrees.
_RNG = np.random.default_rng(6)
_LNG, _LAT = FRAME.to_lnglat(*_RNG.uniform(-100, 1600, (2, 24)))
PLACES = list(zip(np.round(_LAT, 5).tolist(), np.round(_LNG, 5).tolist(), strict=True))
WHEN = {"departure_time": "2026-03-03T08:00:00Z"}

#: Travel times in seconds of those within a limit, by the position of the place or by the name of the cell.
Found = dict[Any, int]
DOORS: dict[str, Callable[[Door, dict[str, Any], tuple[float, float], int], Found]] = {}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """A service of blocks with two bus lines, and a postcode at each place."""
    codes = [f"A{i // 6} {i}" for i in range(len(PLACES))]
    rows = [(code, lat, lng) for code, (lat, lng) in zip(codes, PLACES, strict=True)]
    zones = Zones.from_table(pd.DataFrame(rows, columns=["postcode", "lat", "lng"]))
    atlas = Atlas({"town": blocks(tmp_path_factory.mktemp("town"))})
    with open_door(create_app(atlas, Credentials([PAIR]), None, zones)) as opened:
        yield opened


def coords(place: tuple[float, float]) -> dict[str, float]:
    return {"lat": place[0], "lng": place[1]}


def matrix_door(
    path: str = "/v4/time-filter", properties: tuple[str, ...] = ("travel_time",), **more: Any
) -> Callable[[Door, dict[str, Any], tuple[float, float], int], Found]:
    def ask(here: Door, means: dict[str, Any], place: tuple[float, float], limit: int) -> Found:
        names = [str(i) for i in range(len(PLACES))]
        locations = [{"id": name, "coords": coords(each)} for name, each in zip(names, PLACES, strict=True)]
        search = {
            "id": "s", "departure_location_id": "o", "arrival_location_ids": names, "travel_time": limit,
            "transportation": means, "properties": list(properties), **WHEN, **more,
        }  # fmt: skip
        body = {"locations": [{"id": "o", "coords": coords(place)}, *locations], "departure_searches": [search]}
        (result,) = ok(here.post(path, body))["results"]
        assert len(result["locations"]) + len(result["unreachable"]) == len(PLACES)
        return {int(each["id"]): each["properties"][0]["travel_time"] for each in result["locations"]}

    return ask


WINDOW = {"enabled": True, "max_results": 1, "width": 300}
DOORS["times"] = matrix_door()
DOORS["times and distances"] = matrix_door(properties=("travel_time", "distance"))
DOORS["times and routes"] = matrix_door(properties=("travel_time", "route"))
DOORS["times of a window"] = matrix_door(range=WINDOW)
DOORS["times of several journeys"] = matrix_door(range={**WINDOW, "max_results": 3})


def area_search(means: dict[str, Any], place: tuple[float, float], limit: int, **more: Any) -> dict[str, Any]:
    search = {"id": "s", "coords": coords(place), "travel_time": limit, "transportation": means, **WHEN, **more}
    return {"departure_searches": [search]}


def postcode_door(*properties: str) -> Callable[[Door, dict[str, Any], tuple[float, float], int], Found]:
    def ask(here: Door, means: dict[str, Any], place: tuple[float, float], limit: int) -> Found:
        body = area_search(means, place, limit, properties=list(properties))
        (result,) = ok(here.post("/v4/time-filter/postcodes", body))["results"]
        return {int(each["code"].split()[1]): each["properties"][0]["travel_time"] for each in result["postcodes"]}

    return ask


DOORS["postcodes"] = postcode_door("travel_time")
DOORS["postcodes and distances"] = postcode_door("travel_time", "distance")


def cell_door(path: str, resolution: int) -> Callable[[Door, dict[str, Any], tuple[float, float], int], Found]:
    def ask(here: Door, means: dict[str, Any], place: tuple[float, float], limit: int) -> Found:
        body = {"resolution": resolution, "properties": ["min"], **area_search(means, place, limit)}
        (result,) = ok(here.post(path, body))["results"]
        return {each["id"]: each["properties"]["min"] for each in result["cells"]}

    return ask


DOORS["h3"] = cell_door("/v4/h3", 11)
DOORS["geohash"] = cell_door("/v4/geohash", 8)

MEANS = st.sampled_from([{"type": "walking"}, {"type": "driving"}, {"type": "public_transport"}])
few = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def near_times(data: st.DataObject, everything: Found) -> int:
    times = sorted({seconds for seconds in everything.values() if 61 < seconds < LONGEST - 1})
    return data.draw(st.sampled_from(times)) + data.draw(st.sampled_from([-1, 0, 1]))


@pytest.mark.slow
@few
@given(st.sampled_from(sorted(DOORS)), MEANS, st.integers(0, len(PLACES) - 1), st.data())
def test_reported_seconds_are_compared_with_the_limit(
    here: Door, name: str, means: dict[str, Any], at: int, data: st.DataObject
) -> None:
    everything = DOORS[name](here, means, PLACES[at], LONGEST)
    limit = near_times(data, everything)
    within = {place: seconds for place, seconds in everything.items() if seconds <= limit}
    assert DOORS[name](here, means, PLACES[at], limit) == within
    if name not in ("h3", "geohash", "times of a window", "times of several journeys"):
        assert everything == DOORS["times"](here, means, PLACES[at], LONGEST)


@pytest.mark.slow
@few
@given(MEANS, st.integers(0, len(PLACES) - 1), st.data())
def test_shares_of_zones_do_not_depend_on_what_else_is_asked(
    here: Door, means: dict[str, Any], at: int, data: st.DataObject
) -> None:
    times = DOORS["times"](here, means, PLACES[at], LONGEST)
    limit = near_times(data, times)
    shares = [sum(times.get(i, LONGEST) <= limit for i in range(6 * zone, 6 * zone + 6)) / 0.06 for zone in range(4)]
    expected = {f"a{zone}": share for zone, share in enumerate(shares) if share}
    for path, key in (("districts", "districts"), ("sectors", "sectors")):
        for properties in (["coverage"], ["coverage", "travel_time_all"], ["coverage", "travel_time_reachable"]):
            body = area_search(means, PLACES[at], limit, properties=properties)
            (result,) = ok(here.post(f"/v4/time-filter/postcode-{path}", body))["results"]
            found = {}
            for each in result[key]:
                found.setdefault(each["code"][:2], []).append(each["properties"]["coverage"])
            if path == "districts":
                assert {code: share for code, (share,) in found.items()} == pytest.approx(expected)
            else:
                assert set(found) == set(expected)


@few
@given(st.integers(0, len(PLACES) - 1), st.data())
def test_protocol_buffers(here: Door, at: int, data: st.DataObject) -> None:
    def ask(limit: int) -> Found:
        # Type 4 walks.
        message = matrix_message(place=PLACES[at], targets=PLACES, travelTime=limit)
        times = proto_asked(here, message).properties.travelTimes
        return {i: seconds for i, seconds in enumerate(times) if seconds >= 0}

    everything = ask(LONGEST)
    limit = near_times(data, everything)
    assert ask(limit) == {i: seconds for i, seconds in everything.items() if seconds <= limit}


def test_the_example_of_a_metre_a_second() -> None:
    """A trip that takes 300.4 s is reported as 300 s whatever the limit, and is within 300 s."""
    from tests.support.towns import ON_FOOT
    from tests.support.worlds import world

    network = world({"a": (0, 0), "b": (2000, 0)}, [("a", "b", ON_FOOT)])
    lng, lat = FRAME.to_lnglat(np.array([500.0, 800.4]), np.array([0.0, 0.0]))
    with open_door(create_app(Atlas({"road": network}), Credentials([PAIR]), None, None)) as opened:
        for limit, expected in ((900, [300]), (300, [300]), (299, [])):
            search = {
                "id": "s", "departure_location_id": "o", "arrival_location_ids": ["t"], "travel_time": limit,
                "transportation": {"type": "walking"}, "properties": ["travel_time"], **WHEN,
            }  # fmt: skip
            places = [{"id": name, "coords": {"lat": lat[i], "lng": lng[i]}} for i, name in enumerate("ot")]
            (result,) = ok(opened.post("/v4/time-filter", {"locations": places, "departure_searches": [search]}))[
                "results"
            ]
            assert [each["properties"][0]["travel_time"] for each in result["locations"]] == expected
