"""
Types of the requests of the JSON endpoints, with the names, defaults and limits of the contract.

The same classes decode requests (msgspec), list their faults (`traveltime_lab.server.contract.decode`) and describe the
service (`traveltime_lab.server.openapi`). A field that is ``None`` was null or absent, which mean the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, TypeAlias

from msgspec import Meta, Raw, Struct

from traveltime_lab.server.contract import limits, moments
from traveltime_lab.server.contract.properties import FastProperty, MatrixProperty, RouteProperty
from traveltime_lab.server.contract.transportation import (
    ByFerry,
    ByTimetable,
    FastTransportation,
    OnStreets,
    Transportation,
)

# Scalars --------------------------------------------------------------------------------------------------------------

Id: TypeAlias = Annotated[str, Meta(min_length=1)]
Latitude: TypeAlias = Annotated[float, Meta(ge=-90.0, le=90.0)]
Longitude: TypeAlias = Annotated[float, Meta(ge=-180.0, le=180.0)]
Moment: TypeAlias = Annotated[
    moments.Moment, Meta(extra_json_schema={"format": "date-time", "examples": ["2026-03-02T08:00:00Z"]})
]
TravelTime: TypeAlias = Annotated[int, Meta(ge=limits.MIN_TRAVEL_TIME_S, le=limits.MAX_TRAVEL_TIME_S)]
FastTravelTime: TypeAlias = Annotated[int, Meta(ge=1, le=limits.MAX_FAST_TRAVEL_TIME_S)]
Share: TypeAlias = Annotated[float, Meta(ge=0.0, le=1.0)]


class Coords(Struct, gc=False):
    """A place."""

    lat: Latitude
    lng: Longitude


class Location(Struct, gc=False):
    """A named place."""

    id: Id
    coords: Coords


Locations: TypeAlias = Annotated[list[Location], Meta(min_length=1)]


class H3Coords(Struct):
    """A place, or the H3 cell whose centre it is."""

    lat: Latitude | None = None
    lng: Longitude | None = None
    h3_centroid: str | None = None

    cell_field: ClassVar[str] = "h3_centroid"

    @property
    def cell(self) -> str | None:
        """The name of the cell."""
        return self.h3_centroid


class GeohashCoords(Struct):
    """A place, or the geohash cell whose centre it is."""

    lat: Latitude | None = None
    lng: Longitude | None = None
    geohash_centroid: str | None = None

    cell_field: ClassVar[str] = "geohash_centroid"

    @property
    def cell(self) -> str | None:
        """The name of the cell."""
        return self.geohash_centroid


class Snapping(Struct):
    """How points join the streets."""

    penalty: Literal["enabled", "disabled"] | None = None
    accept_roads: Literal["both_drivable_and_walkable", "any_drivable"] | None = None
    threshold: Annotated[int, Meta(ge=0)] | None = None


class SimpleRange(Struct):
    """A window of departures or arrivals; `width` counts only if it is enabled."""

    enabled: bool
    width: int | None = None

    @property
    def max_results(self) -> int:
        """The number of journeys to return."""
        return 1


class FullRange(Struct):
    """A window and the number of journeys to return from it; both count only if it is enabled."""

    enabled: bool
    max_results: int | None = None
    width: int | None = None


class Combination(Struct):
    """A union or intersection of searches of the same request."""

    id: Id
    search_ids: Annotated[list[str], Meta(max_length=limits.MAX_COMBINED)]

    @property
    def members(self) -> list[str]:
        """The ids of the searches, each once."""
        return list(dict.fromkeys(self.search_ids))


Combinations: TypeAlias = Annotated[list[Combination], Meta(max_length=limits.MAX_SEARCHES)]


# Searches -------------------------------------------------------------------------------------------------------------


class Misplaced(Struct, kw_only=True):
    """
    Fields of `transportation`, `snapping` and `range` that a search has beside these objects, where they mean nothing.

    Unknown fields are ignored, but to ignore these would change the answer without a word: they are refused, by
    `traveltime_lab.server.contract.rules.misplaced_options`, and left out of the description of the service.
    """

    accept_roads: Raw | None = None
    avoid: Raw | None = None
    boarding_time: Raw | None = None
    cycling_time_to_station: Raw | None = None
    disable_border_crossing: Raw | None = None
    driving_time_to_station: Raw | None = None
    exclude_roads: Raw | None = None
    headways: Raw | None = None
    include_roads: Raw | None = None
    max_changes: Raw | None = None
    max_incline: Raw | None = None
    max_results: Raw | None = None
    max_stress: Raw | None = None
    min_width: Raw | None = None
    parking_time: Raw | None = None
    penalty: Raw | None = None
    pt_change_delay: Raw | None = None
    push_above_stress: Raw | None = None
    step_free: Raw | None = None
    threshold: Raw | None = None
    time_dependent: Raw | None = None
    traffic_model: Raw | None = None
    walking_time: Raw | None = None
    width: Raw | None = None


#: The object that each of these fields, and of those of `DrawnSearch`, belongs to; most are of transportation.
PLACES_OF_OPTIONS: Mapping[str, str] = {
    **dict.fromkeys(Misplaced.__struct_fields__, "transportation"),
    **dict.fromkeys(Snapping.__struct_fields__, "snapping"),
    **dict.fromkeys(("max_results", "width"), "range"),
    **dict.fromkeys(("level", "scale_type", "square_size"), "level_of_detail"),
    "limit": "polygons_filter",
}


class Search(Misplaced, kw_only=True):
    """
    Base of all searches.

    The properties stand for fields that not every kind of search has; where there is such a field it takes their place.
    """

    id: Id
    snapping: Snapping | None = None
    #: The old name of `snapping`, as an object or as the text of its penalty; counts if `snapping` is absent.
    snap_penalty: Raw | None = None

    @property
    def transportation(self) -> OnStreets | ByTimetable | ByFerry:
        """How to travel."""
        raise NotImplementedError

    @property
    def coords(self) -> Coords | H3Coords | GeohashCoords | None:
        """Its place, unless it is one of the request's locations."""
        return None

    @property
    def departure_time(self) -> moments.Moment | None:
        """When trips begin; with neither this nor an arrival the search is about a typical weekday morning."""
        return None

    @property
    def arrival_time(self) -> moments.Moment | None:
        """When trips end."""
        return None

    @property
    def range(self) -> SimpleRange | FullRange | None:
        """The window around the moment."""
        return None

    @property
    def properties(self) -> Sequence[str] | None:
        """The properties in the answer."""
        return None

    @property
    def travel_time(self) -> int | None:
        """The limit in seconds."""
        return None


class Request(Struct, kw_only=True):
    """Base of all requests; see `Search` about the properties."""

    @property
    def departure_searches(self) -> Sequence[Search] | None:
        """Searches from a place."""
        return None

    @property
    def arrival_searches(self) -> Sequence[Search] | FastSearches | None:
        """Searches to a place, or all fast searches."""
        return None

    @property
    def unions(self) -> Sequence[Combination] | None:
        """Unions of the answers to searches."""
        return None

    @property
    def intersections(self) -> Sequence[Combination] | None:
        """Intersections of the answers to searches."""
        return None


class FastSearches(Struct):
    """Fast searches by direction; see `Search` about the properties."""

    @property
    def one_to_many(self) -> Sequence[Search] | None:
        """Searches from a place."""
        return None

    @property
    def many_to_one(self) -> Sequence[Search] | None:
        """Searches to a place."""
        return None


# Matrices and routes --------------------------------------------------------------------------------------------------

Targets: TypeAlias = Annotated[list[str], Meta(min_length=1, max_length=limits.MAX_TARGETS)]
FastTargets: TypeAlias = Annotated[list[str], Meta(min_length=1, max_length=limits.MAX_FAST_TARGETS)]
RouteTargets: TypeAlias = Annotated[list[str], Meta(min_length=1, max_length=limits.MAX_ROUTE_TARGETS)]


class LocatedSearch(Search, kw_only=True):
    """A search about locations of its request: its own, at which all trips begin or end, and its targets."""

    @property
    def properties(self) -> Sequence[str]:
        """The properties of each target in the answer."""
        raise NotImplementedError

    @property
    def own_field(self) -> str:
        """The name of the field of its own location."""
        return "departure_location_id" if hasattr(self, "departure_location_id") else "arrival_location_id"

    @property
    def targets_field(self) -> str:
        """The name of the field of its targets."""
        return "arrival_location_ids" if hasattr(self, "arrival_location_ids") else "departure_location_ids"

    @property
    def own_id(self) -> str:
        """The id of its own location."""
        found: str = getattr(self, self.own_field)
        return found

    @property
    def target_ids(self) -> list[str]:
        """The ids of its targets."""
        found: list[str] = getattr(self, self.targets_field)
        return found


class MatrixSearch(LocatedSearch, kw_only=True):
    """Travel times at a given time."""

    travel_time: TravelTime
    transportation: Transportation
    properties: list[MatrixProperty]
    range: FullRange | None = None


class MatrixDeparture(MatrixSearch, kw_only=True):
    """Travel times from one place to many."""

    departure_location_id: str
    arrival_location_ids: Targets
    departure_time: Moment


class MatrixArrival(MatrixSearch, kw_only=True):
    """Travel times from many places to one."""

    arrival_location_id: str
    departure_location_ids: Targets
    arrival_time: Moment


class MatrixRequest(Request, kw_only=True):
    """POST time-filter."""

    locations: Locations
    departure_searches: Annotated[list[MatrixDeparture], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    arrival_searches: Annotated[list[MatrixArrival], Meta(max_length=limits.MAX_SEARCHES)] | None = None


class FastMatrixSearch(LocatedSearch, kw_only=True):
    """Travel times of a typical weekday morning."""

    travel_time: FastTravelTime
    transportation: FastTransportation
    properties: list[FastProperty]
    arrival_time_period: Literal["weekday_morning"] | None = None


class FastOneToMany(FastMatrixSearch, kw_only=True):
    """Travel times from one place to many."""

    departure_location_id: str
    arrival_location_ids: FastTargets


class FastManyToOne(FastMatrixSearch, kw_only=True):
    """Travel times from many places to one."""

    arrival_location_id: str
    departure_location_ids: FastTargets


class FastMatrixSearches(FastSearches):
    """Searches by direction."""

    one_to_many: Annotated[list[FastOneToMany], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    many_to_one: Annotated[list[FastManyToOne], Meta(max_length=limits.MAX_SEARCHES)] | None = None


class FastMatrixRequest(Request, kw_only=True):
    """POST time-filter/fast."""

    locations: Locations
    arrival_searches: FastMatrixSearches


class RouteSearch(LocatedSearch, kw_only=True):
    """Routes at a given time."""

    transportation: Transportation
    properties: list[RouteProperty]
    range: FullRange | None = None


class RouteDeparture(RouteSearch, kw_only=True):
    """Routes from one place to others."""

    departure_location_id: str
    arrival_location_ids: RouteTargets
    departure_time: Moment


class RouteArrival(RouteSearch, kw_only=True):
    """Routes from others to one place."""

    arrival_location_id: str
    departure_location_ids: RouteTargets
    arrival_time: Moment


class RoutesRequest(Request, kw_only=True):
    """POST routes."""

    locations: Locations
    departure_searches: Annotated[list[RouteDeparture], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    arrival_searches: Annotated[list[RouteArrival], Meta(max_length=limits.MAX_SEARCHES)] | None = None


class SupportedLocationsRequest(Request):
    """POST supported-locations."""

    locations: list[Location]


LocatedRequest: TypeAlias = MatrixRequest | FastMatrixRequest | RoutesRequest | SupportedLocationsRequest
