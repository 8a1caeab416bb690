"""
The Protocol Buffers endpoints: checks, searches and errors.

Errors have the HTTP status and the headers that the public clients read (docs/contract.md, 8.8), and the JSON body.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from traveltime_lab._arrays import BoolArray, Int64Array
from traveltime_lab.errors import TravelTimeError
from traveltime_lab.modes.table import MODES
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.search.cell_times import CellTimes
from traveltime_lab.server.atlas import Map
from traveltime_lab.server.context import Answer, Call, printable
from traveltime_lab.server.contract import limits
from traveltime_lab.server.contract.errors import NO_FARES, NO_TIMETABLE, NOT_COVERED, Failure, plain_failure
from traveltime_lab.server.endpoints.cells import find_cells
from traveltime_lab.server.endpoints.fares import minor_units
from traveltime_lab.server.endpoints.searches import (
    TYPICAL,
    NotCoveredError,
    NoTimetableError,
    RefusedError,
    Trips,
    first_answer,
    query_of,
)
from traveltime_lab.server.endpoints.table import Endpoint
from traveltime_lab.server.endpoints.ways import Ways, find_ways
from traveltime_lab.server.protobuf import messages
from traveltime_lab.server.protobuf.messages import Search
from traveltime_lab.surfaces.grids import Grid

MEDIA: Final = "application/octet-stream"
PREFIXES: Final = ("/api/v2", "/api/v3", "")

#: Countries of the public clients, and the code that some use for the United Kingdom. Source: docs/contract.md, 8.2.
COUNTRIES: Final = frozenset(
    ("nl", "at", "uk", "be", "de", "fr", "ie", "lt", "us", "za", "ro", "pt", "ph", "nz", "no", "lv", "jp", "in", "id",
     "hu", "gr", "fi", "dk", "ca", "au", "sg", "ch", "es", "it", "pl", "se", "li", "mx", "sa", "rs", "si", "cz", "sk",
     "gb")
)  # fmt: skip
#: Last segments that some client sends; the transport itself comes with the message (docs/contract.md, 13, row 12).
SEGMENTS: Final = frozenset(row.segment for row in MODES.values() if row.segment)

#: Types by their number in TransportationType.
TYPES: Final = {row.number: row for row in MODES.values() if row.number is not None}
#: Fields of the details, what they are in the library, and their word in the names of failures.
_STATION_TIMES: Final = (
    ("walkingTimeToStation", "walking_time", "WALK"),
    ("drivingTimeToStation", "driving_time_to_station", "DRIVE"),
)
#: Properties by their number in TimeFilterFastRequest.Property.
_PROPERTIES: Final = {0: "fares", 1: "distance"}
_STATISTICS: Final = ("mean", "min", "max")

#: ErrorType in the order of its numbers. Source: docs/contract.md, 8.8.
ERRORS: Final = (
    "UNKNOWN", "ONE_TO_MANY_MUST_NOT_BE_NULL", "SOURCE_MUST_NOT_BE_NULL", "TRANSPORTATION_MUST_NOT_BE_NULL",
    "SOURCE_NOT_IN_GEOMETRY", "UNRECOGNIZED_TRANSPORTATION_MODE", "TRAVEL_TIME_LIMIT_TOO_LOW",
    "TRAVEL_TIME_LIMIT_TOO_HIGH", "AUTH_ERROR_NO_USER_ID", "SERVICE_MISMATCH_WRONG_TRANSPORTATION_MODE",
    "SOURCE_OUT_OF_REACH", "INTERLEAVED_DELTAS_INVALID_COORDINATE_PAIRS", "DISTANCE_PROPERTY_NOT_SUPPORTED",
    "BOTH_MANY_TO_ONE_AND_ONE_TO_MANY_CANNOT_BE_SENT", "ONE_TO_MANY_OR_MANY_TO_ONE_MUST_NOT_BE_NULL",
    "INVALID_PROTO_REQUEST", "TOO_MANY_REQUESTS", "PARKING_TIME_OVER_TRAVEL_TIME_LIMIT",
    "WALK_TO_STATION_MUST_BE_POSITIVE", "WALK_TO_STATION_OVER_TRAVEL_TIME_LIMIT", "WALK_TO_STATION_TOO_HIGH",
    "DRIVE_TO_STATION_MUST_BE_POSITIVE", "DRIVE_TO_STATION_OVER_TRAVEL_TIME_LIMIT", "DRIVE_TO_STATION_TOO_HIGH",
    "TRANSPORTATION_DETAILS_MISMATCH",
)  # fmt: skip
_BY_STATUS: Final = {
    400: "INVALID_PROTO_REQUEST",
    401: "AUTH_ERROR_NO_USER_ID",
    413: "INVALID_PROTO_REQUEST",
    415: "INVALID_PROTO_REQUEST",
    422: "INVALID_PROTO_REQUEST",
    429: "TOO_MANY_REQUESTS",
    503: "TOO_MANY_REQUESTS",
}


#: Failures for which the JSON endpoints have a code; their bodies say the same.
_CODES: Final = {
    "SOURCE_NOT_IN_GEOMETRY": NOT_COVERED,
    "SOURCE_OUT_OF_REACH": NOT_COVERED,
    "SERVICE_MISMATCH_WRONG_TRANSPORTATION_MODE": NO_TIMETABLE,
}


class ProtoFailure(Failure):
    """A failure with a name of the contract's enumeration."""

    def __init__(self, name: str, description: str, status: int = 422) -> None:
        super().__init__(status, _CODES.get(name, status), description)
        self.name = name


def error_headers(failure: Failure) -> dict[str, str]:
    """Return the headers that report a failure."""
    name = failure.name if isinstance(failure, ProtoFailure) else _BY_STATUS.get(failure.status, "UNKNOWN")
    return {
        "X-ERROR-CODE": str(ERRORS.index(name)),
        "X-ERROR-MESSAGE": name,
        "X-ERROR-DETAILS": printable(failure.description),
    }


def is_proto_path(path: str) -> bool:
    """Return whether a path looks like one of these endpoints, so that even its 404 has the headers."""
    return re.fullmatch(r"(/api/v[23])?/[^/]+/(time-filter|geohash|h3)/fast/[^/]+", path) is not None


def _check_path(call: Call) -> None:
    """Raise a 404 for a country or mode that no client has."""
    country, mode = call.path["country"].lower(), call.path["mode"].lower()
    if country not in COUNTRIES and country not in {item.name.lower() for item in call.atlas.maps}:
        raise plain_failure(404, f"Unknown country {country!r}")
    if mode not in SEGMENTS:
        raise plain_failure(404, f"Unknown mode {mode!r}")


def _parsed(call: Call, parse: Callable[[bytes], list[Search]]) -> Search:
    """Return the one search of a request."""
    try:
        found = parse(bytes(call.body))
    except messages.DecodeError as error:
        text = f"Request body is no message of this endpoint: {error}"
        raise ProtoFailure("INVALID_PROTO_REQUEST", text, 400) from None
    if len(found) == 2:
        text = "oneToManyRequest and manyToOneRequest are both set"
        raise ProtoFailure("BOTH_MANY_TO_ONE_AND_ONE_TO_MANY_CANNOT_BE_SENT", text)
    if not found:
        text = "neither oneToManyRequest nor manyToOneRequest is set"
        raise ProtoFailure("ONE_TO_MANY_OR_MANY_TO_ONE_MUST_NOT_BE_NULL", text)
    return found[0]


def _place(search: Search) -> tuple[float, float]:
    """Return longitude and latitude of a search's own location."""
    if search.location is None:
        raise ProtoFailure("SOURCE_MUST_NOT_BE_NULL", "the location of the search is missing")
    lat, lng = search.location.lat, search.location.lng
    if not (math.isfinite(lat) and math.isfinite(lng) and abs(lat) <= 90.0 and abs(lng) <= 180.0):
        raise ProtoFailure("SOURCE_NOT_IN_GEOMETRY", f"there is no place at latitude {lat:g}, longitude {lng:g}")
    return lng, lat


def _limit(search: Search) -> int:
    travel_time: int = search.message.travelTime
    if travel_time < 0:
        raise ProtoFailure("TRAVEL_TIME_LIMIT_TOO_LOW", f"travelTime must not be negative; got {travel_time}")
    if travel_time > limits.MAX_PROTO_TRAVEL_TIME_S:
        text = f"travelTime must be at most {limits.MAX_PROTO_TRAVEL_TIME_S}; got {travel_time}"
        raise ProtoFailure("TRAVEL_TIME_LIMIT_TOO_HIGH", text)
    return travel_time


def _transportation(search: Search, travel_time: int) -> Transportation:
    """Return the transportation of a search."""
    if not search.message.HasField("transportation"):
        raise ProtoFailure("TRANSPORTATION_MUST_NOT_BE_NULL", "transportation is missing")
    given = search.message.transportation
    if given.type not in TYPES:
        raise ProtoFailure("UNRECOGNIZED_TRANSPORTATION_MODE", f"there is no transportation type {given.type}")
    row = TYPES[given.type]
    options: dict[str, Any] = {}
    if row.street.has_traffic and not row.uses_timetable:
        options["traffic_model"] = "peak"
    name = given.WhichOneof("transportationDetails")
    if name is not None:
        if name != row.details:
            raise ProtoFailure("TRANSPORTATION_DETAILS_MISMATCH", f"the details do not belong to {row.name}")
        details = getattr(given, name)
        present = {field.name: value.value for field, value in details.ListFields()}
        for field, option, word in _STATION_TIMES:
            if field in present:
                options[option] = _station_time(present[field], word, travel_time)
        if "parkingTime" in present:
            options["parking_time"] = present["parkingTime"]
            if options["parking_time"] > travel_time:
                text = f"parkingTime must not be above travelTime; got {options['parking_time']}"
                raise ProtoFailure("PARKING_TIME_OVER_TRAVEL_TIME_LIMIT", text)
    if search.message.arrivalTimePeriod != 0:
        raise ProtoFailure("INVALID_PROTO_REQUEST", f"there is no time period {search.message.arrivalTimePeriod}")
    return Transportation(row.name, **options)


def _station_time(seconds: int, word: str, travel_time: int) -> int:
    """Return the time to a station, within its bounds."""
    if seconds == 0:
        raise ProtoFailure(f"{word}_TO_STATION_MUST_BE_POSITIVE", "the time to a station must be positive")
    if seconds > limits.MAX_STATION_TIME_S:
        text = f"the time to a station must be at most {limits.MAX_STATION_TIME_S}; got {seconds}"
        raise ProtoFailure(f"{word}_TO_STATION_TOO_HIGH", text)
    if seconds > travel_time:
        text = f"the time to a station must not be above travelTime; got {seconds}"
        raise ProtoFailure(f"{word}_TO_STATION_OVER_TRAVEL_TIME_LIMIT", text)
    return seconds


def _maps(call: Call, lng: float, lat: float) -> list[Map]:
    covering = call.atlas.covering(lng, lat)
    if not covering:
        raise ProtoFailure("SOURCE_NOT_IN_GEOMETRY", "no map covers the location of the search")
    return covering


def _as_failure(error: TravelTimeError | RefusedError) -> Exception:
    """Return the failure that an error of the engine means."""
    if isinstance(error, RefusedError):
        return ProtoFailure("UNKNOWN", "there are no fares for the places of the search")
    if isinstance(error, NotCoveredError):
        return ProtoFailure("SOURCE_OUT_OF_REACH", str(error))
    if isinstance(error, NoTimetableError):
        return ProtoFailure("SERVICE_MISMATCH_WRONG_TRANSPORTATION_MODE", str(error))
    return error


def _matrix(call: Call) -> Answer:
    _check_path(call)
    with call.lap("validate"):
        search = _parsed(call, messages.parse_matrix)
        lng, lat = _place(search)
        travel_time = _limit(search)
        transportation = _transportation(search, travel_time)
        deltas = search.deltas
        if deltas.size % 2:
            text = f"locationDeltas must hold two numbers for each target; got {deltas.size}"
            raise ProtoFailure("INTERLEAVED_DELTAS_INVALID_COORDINATE_PAIRS", text)
        if deltas.size > 2 * limits.MAX_PROTO_TARGETS:
            text = f"there must be at most {limits.MAX_PROTO_TARGETS} targets; got {deltas.size // 2}"
            raise ProtoFailure("INVALID_PROTO_REQUEST", text)
        properties = set(search.message.properties)
        if not properties <= _PROPERTIES.keys():
            raise ProtoFailure("INVALID_PROTO_REQUEST", f"there is no property {max(properties)}")
        lats, lngs = lat + deltas[0::2] / 1e5, lng + deltas[1::2] / 1e5
        is_beyond = np.abs(lngs) > 180.0
        if is_beyond.any():
            lngs[is_beyond] = (lngs[is_beyond] + 180.0) % 360.0 - 180.0
    call.meter.take(call.app_id, 1)
    with call.lap("engine"):
        _maps(call, lng, lat)
        choices = call.atlas.choices(lng, lat, lngs, lats)
        if not choices:
            text = "the location of the search and its targets are on different maps"
            raise ProtoFailure("SOURCE_NOT_IN_GEOMETRY", text)

        def ask(choice: tuple[Map, BoolArray]) -> tuple[Int64Array, Ways]:
            item, inside = choice[0], np.flatnonzero(choice[1] & (np.abs(lats) <= 90.0))
            if 0 in properties and not item.has_fares:
                raise RefusedError(NO_FARES, "")
            limit = max(travel_time, 1)
            query = query_of(item.network, transportation, TYPICAL, is_arrival=search.is_arrival, limit=limit)
            trips = Trips.of(query, lng, lat, lngs[inside], lats[inside])
            return inside, find_ways(trips, limit, {_PROPERTIES[number] for number in properties}, is_fast=True)

        try:
            inside, found = first_answer(choices, ask)
        except (TravelTimeError, RefusedError) as error:
            raise _as_failure(error) from error
    checkpoint()
    with call.lap("encode"):
        seconds = np.full(lats.size, -1, np.int64)
        within = found.travel_time <= travel_time
        reached = inside[found.other[within]]
        seconds[reached] = found.travel_time[within]
        metres = fares = None
        if 1 in properties:
            metres = np.full(lats.size, -1, np.int64)
            if found.distance is not None:
                metres[reached] = found.distance[within]
        if 0 in properties:
            fares = np.full(lats.size, -1, np.int64)
            if found.totals is not None:
                fares[reached] = np.array([minor_units(each) for each in found.totals], np.int64)[within]
        return Answer(messages.matrix_response(seconds, metres, fares), MEDIA)


def _cells(call: Call, system: Grid, resolutions: tuple[int, int]) -> Answer:
    _check_path(call)
    with call.lap("validate"):
        search = _parsed(call, messages.parse_cells)
        lng, lat = _place(search)
        travel_time = _limit(search)
        transportation = _transportation(search, travel_time)
        resolution = search.message.resolution
        if not resolutions[0] <= resolution <= resolutions[1]:
            text = f"resolution must be from {resolutions[0]} to {resolutions[1]}; got {resolution}"
            raise ProtoFailure("INVALID_PROTO_REQUEST", text)
        properties = set(search.message.properties)
        if not properties <= set(range(len(_STATISTICS))):
            raise ProtoFailure("INVALID_PROTO_REQUEST", f"there is no property {max(properties)}")
    call.meter.take(call.app_id, 1)
    with call.lap("engine"):
        try:
            limit = max(travel_time, 1)
            no_water = search.message.removeWaterBodies or not search.message.HasField("removeWaterBodies")

            def ask(item: Map) -> CellTimes:
                query = query_of(item.network, transportation, TYPICAL, is_arrival=search.is_arrival, limit=limit)
                return find_cells(query, lng, lat, system, resolution, travel_time, no_water)

            found = first_answer(_maps(call, lng, lat), ask)
        except TravelTimeError as error:
            raise _as_failure(error) from error
    with call.lap("encode"):
        requested = {name: getattr(found, name) for name in (_STATISTICS[number] for number in properties)}
        return Answer(messages.cells_response(system, found.cell.tolist(), requested), MEDIA)


def _geohash(call: Call) -> Answer:
    return _cells(call, "geohash", limits.GEOHASH_RESOLUTIONS)


def _h3(call: Call) -> Answer:
    return _cells(call, "h3", limits.H3_RESOLUTIONS)


#: By path below a prefix.
ENDPOINTS: Final = {
    "/{country}/time-filter/fast/{mode}": Endpoint(
        "POST", "/{country}/time-filter/fast/{mode}", "Travel times", _matrix, "TimeFilterFastRequest",
        "TimeFilterFastResponse", (MEDIA,),
    ),
    "/{country}/geohash/fast/{mode}": Endpoint(
        "POST", "/{country}/geohash/fast/{mode}", "Geohash cells within reach", _geohash, "CellsFastRequest",
        "GeohashFastResponse", (MEDIA,),
    ),
    "/{country}/h3/fast/{mode}": Endpoint(
        "POST", "/{country}/h3/fast/{mode}", "H3 cells within reach", _h3, "CellsFastRequest", "H3FastResponse",
        (MEDIA,),
    ),
}  # fmt: skip
