"""Options of a search beside the objects that they belong to are refused, at every endpoint."""

from __future__ import annotations

import copy
import typing
from typing import Any

import msgspec
import pytest

pytest.importorskip("starlette", reason="the extra 'server' is not installed")

from tests.support.door import Door, assert_error, ok
from tests.support.requests import RIGHT
from traveltime_lab.server.contract import requests, shape_requests, transportation
from traveltime_lab.server.openapi import describe

ENDPOINTS = [path for path in RIGHT if path != "/v4/supported-locations"]
#: Objects that only searches for shapes have.
OF_SHAPES = ("level_of_detail", "polygons_filter")


def searches(body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the JSON paths of the searches of a request, and the searches."""
    found = []
    for name in ("departure_searches", "arrival_searches"):
        array = body.get(name, [])
        parts = {f"{name}.{key}": each for key, each in array.items()} if isinstance(array, dict) else {name: array}
        found += [(f"obj.{path}[{i}]", each) for path, part in parts.items() for i, each in enumerate(part)]
    return found


def test_every_option_is_known() -> None:
    """The list has the fields of all types of transportation, of snapping, of windows and of the options of shapes."""
    kinds = [
        *typing.get_args(transportation.Transportation), *typing.get_args(transportation.FastTransportation),
    ]  # fmt: skip
    options = {field.name for kind in kinds for field in msgspec.structs.fields(kind)}
    expected = dict.fromkeys(options, "transportation")
    expected |= {field.name: "snapping" for field in msgspec.structs.fields(requests.Snapping)}
    # Whether a window is enabled is too general a word.
    expected |= {field.name: "range" for field in msgspec.structs.fields(requests.FullRange)}
    del expected["enabled"]
    levels = (shape_requests.SimpleLevel, shape_requests.NumericLevel, shape_requests.CoarseGrid)
    expected |= {field.name: "level_of_detail" for level in levels for field in msgspec.structs.fields(level)}
    expected["scale_type"] = "level_of_detail"
    expected |= {field.name: "polygons_filter" for field in msgspec.structs.fields(shape_requests.PolygonsFilter)}
    assert expected == requests.PLACES_OF_OPTIONS


@pytest.mark.parametrize(
    ("path", "name", "place"),
    [
        (path, name, place)
        for name, place in requests.PLACES_OF_OPTIONS.items()
        for path in ENDPOINTS
        if place not in OF_SHAPES or "map" in path
    ],
)
def test_an_option_beside_its_object_is_refused(door: Door, path: str, name: str, place: str) -> None:
    body = copy.deepcopy(RIGHT[path])
    ((at, search),) = searches(body)
    search[name] = "peak"
    found = assert_error(door.post(path, body), 422, 2, paths={f"{at}.{name}"})
    assert found[f"{at}.{name}"] == [f"is a field of {place}; write it there, as {place}.{name}"]


def test_null_and_what_is_not_known_are_ignored(door: Door) -> None:
    body = copy.deepcopy(RIGHT["/v4/time-map"])
    expected = ok(door.post("/v4/time-map", body))
    body["departure_searches"][0] |= {"traffic_model": None, "colour": "green"}
    assert ok(door.post("/v4/time-map", body)) == expected


def test_the_description_does_not_offer_them() -> None:
    schemas = describe()["components"]["schemas"]
    offered = [name for name, schema in schemas.items() if "traffic_model" in schema.get("properties", {})]
    assert offered and all("coords" not in schemas[name]["properties"] for name in offered)
    assert "traffic_model" not in schemas["MatrixDeparture"]["properties"]
    assert not {"traffic_model", "level", "limit"} & set(schemas["TimeMapDeparture"]["properties"])
