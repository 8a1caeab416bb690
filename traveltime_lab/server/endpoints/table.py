"""
The table of JSON endpoints: requests, handlers and answers. Routes and OpenAPI document follow from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

import msgspec

from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.server import formats
from traveltime_lab.server.context import Answer, Call
from traveltime_lab.server.contract import area_requests, queries, requests, rules, shape_requests
from traveltime_lab.server.contract.decode import Rule, decode
from traveltime_lab.server.endpoints import geocoding, maps
from traveltime_lab.server.endpoints.cells import cell_results, known_centres
from traveltime_lab.server.endpoints.locations import Places
from traveltime_lab.server.endpoints.matrix import matrix_results
from traveltime_lab.server.endpoints.postcodes import postcode_results, zone_results
from traveltime_lab.server.endpoints.shapes import shape_results
from traveltime_lab.server.formats import FAST_SHAPE_FORMATS, JSON, SHAPE_FORMATS, negotiate
from traveltime_lab.surfaces.grids import Grid

_R = TypeVar("_R", bound=requests.Request)
_S = TypeVar("_S", shape_requests.TimeMapRequest, shape_requests.FastTimeMapRequest, shape_requests.DistanceMapRequest)
_M = TypeVar("_M", requests.MatrixRequest, requests.FastMatrixRequest, requests.RoutesRequest)
_C = TypeVar(
    "_C",
    area_requests.H3Request,
    area_requests.GeohashRequest,
    area_requests.FastH3Request,
    area_requests.FastGeohashRequest,
)


@dataclass(frozen=True)
class Endpoint:
    """
    A method on a path.

    Attributes
    ----------
    method, path : str
    summary : str
        For the description.
    answer : callable
        From a `Call` to an `Answer`; raises `Failure`. Runs in a thread.
    request : type, str or None
        Type of the body, or of the query string of a GET; for Protocol Buffers the name of the message.
    result : str
        Name of the answer's schema.
    formats : tuple of str
        Media types it can answer with.
    """

    method: str
    path: str
    summary: str
    answer: Callable[[Call], Answer]
    request: type[msgspec.Struct] | str | None = None
    result: str = ""
    formats: tuple[str, ...] = (JSON,)


def _results(call: Call, results: object) -> Answer:
    checkpoint()
    with call.lap("encode"):
        return Answer(msgspec.json.encode({"results": results}))


def _decoded(call: Call, kind: type[_R], checks: tuple[Rule, ...], *, with_combinations: bool = False) -> _R:
    with call.lap("validate"):
        request = decode(call.body, kind, checks)
    call.count(request, with_combinations=with_combinations)
    return request


def _shapes(kind: type[_S], *, is_fast: bool = False) -> Callable[[Call], Answer]:
    known = FAST_SHAPE_FORMATS if is_fast else SHAPE_FORMATS

    def answer(call: Call) -> Answer:
        media = negotiate(call.headers.get("accept"), known)
        request = _decoded(call, kind, rules.SHAPES, with_combinations=True)
        return _drawn(call, request, media, is_fast=is_fast)

    return answer


def _queried_shape(call: Call) -> Answer:
    media = negotiate(call.headers.get("accept"), SHAPE_FORMATS)
    request = queries.time_map_request(queries.read_query(call.query, queries.TimeMapQuery))
    call.count(request)
    return _drawn(call, request, media)


def _drawn(call: Call, request: shape_requests.ShapesRequest, media: str, *, is_fast: bool = False) -> Answer:
    with call.lap("engine"):
        found = shape_results(call.atlas, request, is_fast=is_fast, media=media)
    with call.lap("encode"):
        return Answer(formats.encode(media, found), media)


def _listed_points(call: Call) -> Answer:
    negotiate(call.headers.get("accept"))
    places = Places()
    request = queries.matrix_request(queries.read_query(call.query, queries.MatrixQuery))
    places.check(request, _never)
    call.count(request)
    return _results(call, matrix_results(call, request, places))


def _matrix(kind: type[_M]) -> Callable[[Call], Answer]:
    def answer(call: Call) -> Answer:
        negotiate(call.headers.get("accept"))
        places = Places()
        request = _decoded(call, kind, (*rules.SEARCHES, places.check))
        return _results(call, matrix_results(call, request, places))

    return answer


def _queried_route(call: Call) -> Answer:
    negotiate(call.headers.get("accept"))
    places = Places()
    request = queries.routes_request(queries.read_query(call.query, queries.RoutesQuery))
    places.check(request, _never)
    call.count(request)
    return _results(call, matrix_results(call, request, places))


def _never(path: str, text: str) -> None:
    raise AssertionError(f"{path} {text}")


def _cells(kind: type[_C], system: Grid, *, is_fast: bool = False) -> Callable[[Call], Answer]:
    def answer(call: Call) -> Answer:
        negotiate(call.headers.get("accept"))
        request = _decoded(call, kind, (*rules.CELLS, known_centres(system)), with_combinations=True)
        with call.lap("engine"):
            found = cell_results(call.atlas, request, system, is_fast=is_fast)
        return _results(call, found)

    return answer


def _postcodes(call: Call) -> Answer:
    negotiate(call.headers.get("accept"))
    request = _decoded(call, area_requests.PostcodesRequest, rules.SEARCHES)
    with call.lap("engine"):
        found = postcode_results(call.atlas, call.zones, request)
    return _results(call, found)


def _zones(kind: Literal["districts", "sectors"]) -> Callable[[Call], Answer]:
    def answer(call: Call) -> Answer:
        negotiate(call.headers.get("accept"))
        request = _decoded(call, area_requests.ZonesRequest, rules.SEARCHES)
        with call.lap("engine"):
            found = zone_results(call.atlas, call.zones, request, kind)
        return _results(call, found)

    return answer


def _map_info(call: Call) -> Answer:
    negotiate(call.headers.get("accept"))
    return Answer(msgspec.json.encode(maps.map_info(call.atlas, call.zones)))


def _supported_locations(call: Call) -> Answer:
    negotiate(call.headers.get("accept"))
    places = Places()
    with call.lap("validate"):
        request = decode(call.body, requests.SupportedLocationsRequest, (places.check,))
    return Answer(msgspec.json.encode(maps.supported_locations(call.atlas, request)))


def _geocoding(call: Call) -> Answer:
    negotiate(call.headers.get("accept"))
    return geocoding.search(call, queries.read_query(call.query, queries.SearchQuery))


def _reverse(call: Call) -> Answer:
    negotiate(call.headers.get("accept"))
    return geocoding.reverse(call, queries.read_query(call.query, queries.ReverseQuery))


ENDPOINTS: Final = (
    Endpoint(
        "GET", "/v4/time-map", "One simple isochrone", _queried_shape, queries.TimeMapQuery,
        "Shapes", SHAPE_FORMATS,
    ),
    Endpoint(
        "POST", "/v4/time-map", "Isochrones, unions and intersections", _shapes(shape_requests.TimeMapRequest),
        shape_requests.TimeMapRequest, "Shapes", SHAPE_FORMATS,
    ),
    Endpoint(
        "POST", "/v4/time-map/fast", "Isochrones of a typical weekday morning",
        _shapes(shape_requests.FastTimeMapRequest, is_fast=True), shape_requests.FastTimeMapRequest,
        "Shapes", FAST_SHAPE_FORMATS,
    ),
    Endpoint(
        "POST", "/v4/distance-map", "Areas within a distance", _shapes(shape_requests.DistanceMapRequest),
        shape_requests.DistanceMapRequest, "Shapes", SHAPE_FORMATS,
    ),
    Endpoint(
        "GET", "/v4/time-filter", "One simple matrix", _listed_points, queries.MatrixQuery, "Matrix",
    ),
    Endpoint(
        "POST", "/v4/time-filter", "Travel times between places", _matrix(requests.MatrixRequest),
        requests.MatrixRequest, "Matrix",
    ),
    Endpoint(
        "POST", "/v4/time-filter/fast", "Travel times of a typical weekday morning",
        _matrix(requests.FastMatrixRequest), requests.FastMatrixRequest, "FastMatrix",
    ),
    Endpoint(
        "POST", "/v4/time-filter/postcodes", "Reachable postcodes", _postcodes, area_requests.PostcodesRequest,
        "Postcodes",
    ),
    Endpoint(
        "POST", "/v4/time-filter/postcode-districts", "Reachable postcode districts", _zones("districts"),
        area_requests.ZonesRequest, "Districts",
    ),
    Endpoint(
        "POST", "/v4/time-filter/postcode-sectors", "Reachable postcode sectors", _zones("sectors"),
        area_requests.ZonesRequest, "Sectors",
    ),
    Endpoint("GET", "/v4/routes", "One simple route", _queried_route, queries.RoutesQuery, "Matrix"),
    Endpoint(
        "POST", "/v4/routes", "Routes with directions", _matrix(requests.RoutesRequest), requests.RoutesRequest,
        "Matrix",
    ),
    Endpoint(
        "POST", "/v4/h3", "H3 cells within reach", _cells(area_requests.H3Request, "h3"), area_requests.H3Request,
        "Cells",
    ),
    Endpoint(
        "POST", "/v4/h3/fast", "H3 cells of a typical weekday morning",
        _cells(area_requests.FastH3Request, "h3", is_fast=True), area_requests.FastH3Request, "Cells",
    ),
    Endpoint(
        "POST", "/v4/geohash", "Geohash cells within reach", _cells(area_requests.GeohashRequest, "geohash"),
        area_requests.GeohashRequest, "Cells",
    ),
    Endpoint(
        "POST", "/v4/geohash/fast", "Geohash cells of a typical weekday morning",
        _cells(area_requests.FastGeohashRequest, "geohash", is_fast=True), area_requests.FastGeohashRequest, "Cells",
    ),
    Endpoint("GET", "/v4/geocoding/search", "Places by name", _geocoding, queries.SearchQuery, "Features"),
    Endpoint(
        "GET", "/v4/geocoding/autocomplete", "The same as search, under an older name", _geocoding,
        queries.SearchQuery, "Features",
    ),
    Endpoint("GET", "/v4/geocoding/reverse", "The address of a place", _reverse, queries.ReverseQuery, "Features"),
    Endpoint("GET", "/v4/map-info", "The maps and what they can answer", _map_info, None, "Maps"),
    Endpoint(
        "POST", "/v4/supported-locations", "Which maps cover which places", _supported_locations,
        requests.SupportedLocationsRequest, "SupportedLocations",
    ),
)  # fmt: skip
