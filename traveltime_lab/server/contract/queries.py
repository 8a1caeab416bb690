"""
Types of the query strings of GET endpoints, and the POST requests they stand for.

Ids in their answers are ours: no source has those of the service (docs/contract.md, 14.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar

from msgspec import Meta, Struct, inspect

from traveltime_lab.modes.table import QUERY_TYPES
from traveltime_lab.server.contract import limits
from traveltime_lab.server.contract.decode import Rule, convert, is_faulty
from traveltime_lab.server.contract.errors import shown
from traveltime_lab.server.contract.requests import (
    Coords,
    Latitude,
    Location,
    Longitude,
    MatrixArrival,
    MatrixDeparture,
    MatrixRequest,
    Moment,
    RouteArrival,
    RouteDeparture,
    RoutesRequest,
)
from traveltime_lab.server.contract.rules import Report
from traveltime_lab.server.contract.shape_requests import TimeMapArrival, TimeMapDeparture, TimeMapRequest
from traveltime_lab.server.contract.transportation import TYPES

_T = TypeVar("_T")

if TYPE_CHECKING:
    QueryType: TypeAlias = str
else:
    QueryType = Literal[QUERY_TYPES]
QueryTravelTime = Annotated[int, Meta(ge=1, le=limits.MAX_TRAVEL_TIME_S)]


class _Query(Struct, kw_only=True):
    type: QueryType
    departure_time: Moment | None = None
    arrival_time: Moment | None = None


class TimeMapQuery(_Query, kw_only=True):
    """GET time-map."""

    travel_time: QueryTravelTime
    lat: Latitude
    lng: Longitude


class MatrixQuery(_Query, kw_only=True):
    """GET time-filter; `locations` are ``lat_lng`` pairs separated by commas."""

    search_lat: Latitude
    search_lng: Longitude
    locations: Annotated[str, Meta(min_length=1)]
    travel_time: QueryTravelTime | None = None


class RoutesQuery(_Query, kw_only=True):
    """GET routes."""

    origin_lat: Latitude
    origin_lng: Longitude
    destination_lat: Latitude
    destination_lng: Longitude


#: Types of places that a search by name can leave out.
EXCLUDABLE_TYPES = ("country",)

#: Names with dots, which fields cannot have.
_DOTTED: Mapping[str, str] = {
    "within_country": "within.country",
    "format_name": "format.name",
    "format_exclude_country": "format.exclude.country",
    "force_add_postcode": "force.add.postcode",
    "focus_lat": "focus.lat",
    "focus_lng": "focus.lng",
    "exclude_location_types": "exclude.location.types",
}


class SearchQuery(Struct, kw_only=True, rename=_DOTTED):
    """GET geocoding/search."""

    query: Annotated[str, Meta(min_length=1)]
    limit: Annotated[int, Meta(ge=1, le=limits.MAX_GEOCODING_RESULTS)] | None = None
    within_country: str | None = None
    format_name: bool | None = None
    format_exclude_country: bool | None = None
    bounds: str | None = None
    force_add_postcode: bool | None = None
    focus_lat: Latitude | None = None
    focus_lng: Longitude | None = None
    exclude_location_types: str | None = None


class ReverseQuery(Struct, kw_only=True, rename=_DOTTED):
    """GET geocoding/reverse."""

    lat: Latitude
    lng: Longitude
    within_country: str | None = None


def read_query(query: Mapping[str, str], kind: type[_T]) -> _T:
    """
    Return a query string as a type.

    Parameters
    ----------
    query : mapping of str to str
    kind : type
        One of the queries above.

    Raises
    ------
    Failure
        Code 2 with all faults.
    """
    values: dict[str, Any] = {}
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    for field in described.fields:
        text = query.get(field.encode_name)
        if text is not None and text.strip():
            values[field.encode_name] = _as(text.strip(), field.type)
    rules = (_one_moment,) if issubclass(kind, _Query) else ()
    return convert(values, kind, (*rules, *_RULES.get(kind, ())))


def _as(text: str, kind: inspect.Type) -> Any:
    """Return a text as the plain value that its type can check; return the text if it cannot be read."""
    if isinstance(kind, inspect.UnionType):
        kind = next(option for option in kind.types if not isinstance(option, inspect.NoneType))
    if isinstance(kind, inspect.BoolType):
        return {"true": True, "false": False}.get(text.lower(), text)
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        try:
            number = float(text)
        except ValueError:
            return text
        if not (text.isascii() and "_" not in text and abs(number) < 1e15):
            return text
        return int(number) if isinstance(kind, inspect.IntType) and number.is_integer() else number
    # In a query string an unescaped + of an offset arrives as a blank.
    if isinstance(kind, inspect.Metadata) and (kind.extra_json_schema or {}).get("format") == "date-time":
        head, _, offset = text.rpartition(" ")
        return f"{head}+{offset}" if "T" in head.upper() else text
    return text


def _one_moment(query: _Query, report: Report) -> None:
    """Check that one of departure and arrival time is given."""
    given = [moment for moment in (query.departure_time, query.arrival_time) if moment is not None]
    if len(given) != 1:
        how = "not both" if given else "got neither"
        report("obj.departure_time", f"must be given, or arrival_time instead; {how}")


def _listed_points(query: MatrixQuery, report: Report) -> None:
    """Check that the points of a matrix can be read."""
    if is_faulty(query.locations):
        return
    pairs = query.locations.split(",")
    if len(pairs) > limits.MAX_LISTED_POINTS:
        report("obj.locations", f"must have at most {limits.MAX_LISTED_POINTS} points; got {len(pairs)}")
    for i, pair in enumerate(pairs):
        if _point(pair) is None:
            report(f"obj.locations[{i}]", f"must be lat_lng, such as 51.5_-0.12; got {pair[:40]!r}")


def _point(pair: str) -> Coords | None:
    lat, _, lng = pair.strip().partition("_")
    try:
        found = Coords(float(lat), float(lng))
    except ValueError:
        return None
    return found if abs(found.lat) <= 90.0 and abs(found.lng) <= 180.0 else None


def _box_and_focus(query: SearchQuery, report: Report) -> None:
    """Check that bounds are four numbers and a focus is a pair."""
    if isinstance(query.bounds, str) and read_bounds(query.bounds) is None:
        report("obj.bounds", "must be two opposite corners lat,lng,lat,lng within 90 and 180 degrees")
    if (query.focus_lat is None) != (query.focus_lng is None):
        name = "focus.lat" if query.focus_lat is None else "focus.lng"
        report(f"obj.{name}", "missing")


def _known_types(query: SearchQuery, report: Report) -> None:
    """Check that the types of places to leave out are known: a service that ignored others would return them."""
    for name in sorted(left_out(query) - set(EXCLUDABLE_TYPES)):
        report("obj.exclude.location.types", f"must be one of [{', '.join(EXCLUDABLE_TYPES)}]; got {shown(name)!r}")


def left_out(query: SearchQuery) -> frozenset[str]:
    """Return the types of places that a search by name leaves out."""
    names = (name.strip().lower() for name in (query.exclude_location_types or "").split(","))
    return frozenset(name for name in names if name)


def read_bounds(text: str) -> tuple[float, float, float, float] | None:
    """Return west, south, east, north of any two opposite corners ``lat,lng,lat,lng``; None if they are not that."""
    try:
        lat1, lng1, lat2, lng2 = (float(part) for part in text.split(","))
    except ValueError:
        return None
    if not (max(abs(lat1), abs(lat2)) <= 90.0 and max(abs(lng1), abs(lng2)) <= 180.0):
        return None
    return min(lng1, lng2), min(lat1, lat2), max(lng1, lng2), max(lat1, lat2)


_RULES: Mapping[object, tuple[Rule, ...]] = {
    MatrixQuery: (_listed_points,),
    SearchQuery: (_box_and_focus, _known_types),
}


def time_map_request(query: TimeMapQuery) -> TimeMapRequest:
    """Return the POST request that a GET time-map stands for."""
    place: dict[str, Any] = {"coords": Coords(query.lat, query.lng), "travel_time": query.travel_time}
    return TimeMapRequest(**_search(query, TimeMapDeparture, TimeMapArrival, id="time-map", **place))


def matrix_request(query: MatrixQuery) -> MatrixRequest:
    """Return the POST request that a GET time-filter stands for; points are called by their position."""
    points = [point for point in map(_point, query.locations.split(",")) if point is not None]
    locations = [Location("search", Coords(query.search_lat, query.search_lng))]
    locations += [Location(str(i), point) for i, point in enumerate(points)]
    found = _search(
        query, MatrixDeparture, MatrixArrival, ("search", [str(i) for i in range(len(points))]), id="time-filter",
        travel_time=query.travel_time or limits.MAX_TRAVEL_TIME_S, properties=["travel_time", "distance"],
    )  # fmt: skip
    return MatrixRequest(locations=locations, **found)


def routes_request(query: RoutesQuery) -> RoutesRequest:
    """Return the POST request that a GET routes stands for."""
    locations = [
        Location("origin", Coords(query.origin_lat, query.origin_lng)),
        Location("destination", Coords(query.destination_lat, query.destination_lng)),
    ]
    # The answer names the other end, which of an arrival search is where the trip begins.
    ends = ("origin", ["destination"]) if query.departure_time is not None else ("destination", ["origin"])
    requested = ["travel_time", "distance", "route"]
    return RoutesRequest(
        locations=locations, **_search(query, RouteDeparture, RouteArrival, ends, id="routes", properties=requested)
    )


def _search(
    query: _Query, leaving: type, arriving: type, ends: tuple[str, list[str]] | None = None, **fields: Any
) -> dict[str, Any]:
    """Return the search of a query as the field of a POST request; `ends` are its place and the others, by id."""
    is_departure = query.departure_time is not None
    here, there = ("departure", "arrival") if is_departure else ("arrival", "departure")
    fields |= {"transportation": TYPES[query.type](), f"{here}_time": query.departure_time or query.arrival_time}
    if ends is not None:
        fields |= {f"{here}_location_id": ends[0], f"{there}_location_ids": ends[1]}
    return {f"{here}_searches": [(leaving if is_departure else arriving)(**fields)]}
