"""
What the JSON endpoints accept, as types: names, defaults and limits of the contract.

The same classes decode requests (msgspec), list their faults (`traveltime_lab.server.contract.decode`) and describe the
service (`traveltime_lab.server.openapi`). A field that is ``None`` was null or absent, which mean the same.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from traveltime_lab.server.contract import limits

# Scalars --------------------------------------------------------------------------------------------------------------

Id: TypeAlias = Annotated[str, Meta(min_length=1)]
Latitude: TypeAlias = Annotated[float, Meta(ge=-90.0, le=90.0)]
Longitude: TypeAlias = Annotated[float, Meta(ge=-180.0, le=180.0)]
Moment: TypeAlias = Annotated[
    str, Meta(extra_json_schema={"format": "date-time", "examples": ["2026-03-02T08:00:00Z"]})
]
Seconds: TypeAlias = Annotated[int, Meta(ge=0)]
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


class GeohashCoords(Struct):
    """A place, or the geohash cell whose centre it is."""

    lat: Latitude | None = None
    lng: Longitude | None = None
    geohash_centroid: str | None = None


class Snapping(Struct):
    """How points join the streets."""

    penalty: Literal["enabled", "disabled"] | None = None
    accept_roads: Literal["both_drivable_and_walkable", "any_drivable"] | None = None
    threshold: Annotated[int, Meta(ge=0)] | None = None


class SimpleRange(Struct):
    """A window of departures or arrivals; `width` counts only if it is enabled."""

    enabled: bool
    width: int | None = None


class FullRange(Struct):
    """A window and the number of journeys to return from it; both count only if it is enabled."""

    enabled: bool
    max_results: int | None = None
    width: int | None = None


class MaxChanges(Struct):
    """Most changes between timetable vehicles; `limit` counts only if it is enabled."""

    enabled: bool
    limit: int


class Combination(Struct):
    """A union or intersection of searches of the same request."""

    id: Id
    search_ids: list[str]


Combinations: TypeAlias = Annotated[list[Combination], Meta(max_length=limits.MAX_SEARCHES)]

# Transportation: a class for each type, so that what does not apply to it is an unknown field, which is ignored -------


class _OnStreets(Struct, tag_field="type"):
    pass


class _ByTimetable(Struct, tag_field="type", kw_only=True):
    pt_change_delay: Seconds | None = None
    walking_time: Seconds | None = None
    max_changes: MaxChanges | None = None


class _ByFerry(Struct, tag_field="type", kw_only=True):
    boarding_time: Seconds | None = None


Traffic: TypeAlias = Literal["optimistic", "balanced", "pessimistic"]
FastTraffic: TypeAlias = Literal["peak", "off_peak"]
Includable: TypeAlias = Literal["track", "restricted"]
Excludable: TypeAlias = Literal["toll"]


class Walking(_OnStreets, tag="walking"):
    """On foot."""


class Cycling(_OnStreets, tag="cycling"):
    """By bicycle."""


class Driving(_OnStreets, tag="driving", kw_only=True):
    """By car."""

    traffic_model: Traffic | None = None
    disable_border_crossing: bool | None = None
    include_roads: list[Includable] | None = None
    exclude_roads: list[Excludable] | None = None


class Ferry(_ByFerry, tag="ferry"):
    """On foot and by ferry."""


class CyclingFerry(_ByFerry, tag="cycling+ferry"):
    """By bicycle and ferry."""


class DrivingFerry(_ByFerry, tag="driving+ferry", kw_only=True):
    """By car and car ferry."""

    traffic_model: Traffic | None = None
    include_roads: list[Includable] | None = None
    exclude_roads: list[Excludable] | None = None


class PublicTransport(_ByTimetable, tag="public_transport"):
    """On foot and by anything with a timetable."""


class Bus(_ByTimetable, tag="bus"):
    """On foot and by bus."""


class Coach(_ByTimetable, tag="coach"):
    """On foot and by coach."""


class Train(_ByTimetable, tag="train"):
    """On foot and by rail."""


class DrivingTrain(_ByTimetable, tag="driving+train", kw_only=True):
    """By car to a station, by train, then on foot."""

    driving_time_to_station: Seconds | None = None
    parking_time: Seconds | None = None
    traffic_model: Traffic | None = None


class DrivingPublicTransport(_ByTimetable, tag="driving+public_transport", kw_only=True):
    """By car to a station, by anything with a timetable, then on foot."""

    driving_time_to_station: Seconds | None = None
    parking_time: Seconds | None = None
    traffic_model: Traffic | None = None


class CyclingPublicTransport(_ByTimetable, tag="cycling+public_transport", kw_only=True):
    """By bicycle to a station, by anything with a timetable, then on foot."""

    cycling_time_to_station: Seconds | None = None
    parking_time: Seconds | None = None
    boarding_time: Seconds | None = None


Transportation: TypeAlias = (
    Walking
    | Cycling
    | Driving
    | Ferry
    | CyclingFerry
    | DrivingFerry
    | PublicTransport
    | Bus
    | Coach
    | Train
    | DrivingTrain
    | DrivingPublicTransport
    | CyclingPublicTransport
)
DistanceTransportation: TypeAlias = Walking | Cycling | Driving | Ferry | CyclingFerry | DrivingFerry


class FastWalkingFerry(_OnStreets, tag="walking+ferry"):
    """On foot and by ferry."""


class FastCyclingFerry(_OnStreets, tag="cycling+ferry"):
    """By bicycle and ferry."""


class FastDriving(_OnStreets, tag="driving", kw_only=True):
    """By car."""

    traffic_model: FastTraffic | None = None


class FastDrivingFerry(_OnStreets, tag="driving+ferry", kw_only=True):
    """By car and car ferry."""

    traffic_model: FastTraffic | None = None


class FastPublicTransport(_OnStreets, tag="public_transport", kw_only=True):
    """On foot and by anything with a timetable."""

    walking_time: Seconds | None = None


class FastDrivingPublicTransport(_OnStreets, tag="driving+public_transport", kw_only=True):
    """By car to a station, by anything with a timetable, then on foot."""

    walking_time: Seconds | None = None
    driving_time_to_station: Seconds | None = None
    parking_time: Seconds | None = None


FastTransportation: TypeAlias = (
    Walking
    | Cycling
    | FastDriving
    | FastWalkingFerry
    | FastCyclingFerry
    | FastDrivingFerry
    | FastPublicTransport
    | FastDrivingPublicTransport
)

# Shapes ---------------------------------------------------------------------------------------------------------------


class SimpleLevel(Struct, tag_field="scale_type", tag="simple"):
    """A level of detail by name."""

    level: Literal["lowest", "low", "medium", "high", "highest"]


class NumericLevel(Struct, tag_field="scale_type", tag="simple_numeric"):
    """A level of detail by number; -2 to 2 are the five names."""

    level: Annotated[int, Meta(ge=-20, le=2)]


class CoarseGrid(Struct, tag_field="scale_type", tag="coarse_grid"):
    """Squares of so many metres."""

    square_size: Annotated[int, Meta(ge=limits.MIN_SQUARE_M)]


class PolygonsFilter(Struct):
    """How many of the largest polygons to keep."""

    limit: Annotated[int, Meta(ge=1)]


class _Search(Struct, kw_only=True):
    id: Id
    snapping: Snapping | None = None
    #: The old name of `snapping`, as an object or as the text of its penalty; counts if `snapping` is absent.
    snap_penalty: Any = None


class _Drawn(_Search, kw_only=True):
    coords: Coords
    level_of_detail: SimpleLevel | NumericLevel | CoarseGrid | None = None
    polygons_filter: PolygonsFilter | None = None
    no_holes: bool | None = None
    render_mode: Literal["approximate_time_filter", "road_buffering"] | None = None
    buffer_distance: Annotated[int, Meta(ge=limits.MIN_BUFFER_M)] | None = None
    remove_water_bodies: bool | None = None
    #: Deprecated: true is ``polygons_filter: {"limit": 1}``.
    single_shape: bool | None = None


class _TimeMapSearch(_Drawn, kw_only=True):
    travel_time: TravelTime
    transportation: Transportation
    range: SimpleRange | None = None
    properties: list[Literal["is_only_walking", "agencies"]] | None = None


class TimeMapDeparture(_TimeMapSearch, kw_only=True):
    """A shape of what can be reached."""

    departure_time: Moment


class TimeMapArrival(_TimeMapSearch, kw_only=True):
    """A shape of where one can come from."""

    arrival_time: Moment


class TimeMapRequest(Struct, kw_only=True):
    """POST time-map."""

    departure_searches: Annotated[list[TimeMapDeparture], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    arrival_searches: Annotated[list[TimeMapArrival], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    unions: Combinations | None = None
    intersections: Combinations | None = None


class FastTimeMapSearch(_Drawn, kw_only=True):
    """A shape of a typical weekday morning."""

    travel_time: FastTravelTime
    transportation: FastTransportation
    arrival_time_period: Literal["weekday_morning"] | None = None


class FastTimeMapSearches(Struct):
    """Searches by direction."""

    one_to_many: Annotated[list[FastTimeMapSearch], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    many_to_one: Annotated[list[FastTimeMapSearch], Meta(max_length=limits.MAX_SEARCHES)] | None = None


class FastTimeMapRequest(Struct, kw_only=True):
    """POST time-map/fast."""

    arrival_searches: FastTimeMapSearches
    unions: Combinations | None = None
    intersections: Combinations | None = None


class _DistanceMapSearch(_Drawn, kw_only=True):
    travel_distance: Annotated[int, Meta(ge=limits.MIN_DISTANCE_M, le=limits.MAX_DISTANCE_M)]
    transportation: DistanceTransportation


class DistanceMapDeparture(_DistanceMapSearch, kw_only=True):
    """A shape of what lies within a distance."""

    departure_time: Moment


class DistanceMapArrival(_DistanceMapSearch, kw_only=True):
    """A shape of what the place lies within a distance of."""

    arrival_time: Moment


class DistanceMapRequest(Struct, kw_only=True):
    """POST distance-map."""

    departure_searches: Annotated[list[DistanceMapDeparture], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    arrival_searches: Annotated[list[DistanceMapArrival], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    unions: Combinations | None = None
    intersections: Combinations | None = None


# Matrices and routes --------------------------------------------------------------------------------------------------

Targets: TypeAlias = Annotated[list[str], Meta(min_length=1, max_length=limits.MAX_TARGETS)]
FastTargets: TypeAlias = Annotated[list[str], Meta(min_length=1, max_length=limits.MAX_FAST_TARGETS)]
RouteTargets: TypeAlias = Annotated[list[str], Meta(min_length=1, max_length=limits.MAX_ROUTE_TARGETS)]


class _MatrixSearch(_Search, kw_only=True):
    travel_time: TravelTime
    transportation: Transportation
    properties: list[Literal["travel_time", "distance", "distance_breakdown", "fares", "route"]]
    range: FullRange | None = None


class MatrixDeparture(_MatrixSearch, kw_only=True):
    """Travel times from one place to many."""

    departure_location_id: str
    arrival_location_ids: Targets
    departure_time: Moment


class MatrixArrival(_MatrixSearch, kw_only=True):
    """Travel times from many places to one."""

    arrival_location_id: str
    departure_location_ids: Targets
    arrival_time: Moment


class MatrixRequest(Struct, kw_only=True):
    """POST time-filter."""

    locations: Locations
    departure_searches: Annotated[list[MatrixDeparture], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    arrival_searches: Annotated[list[MatrixArrival], Meta(max_length=limits.MAX_SEARCHES)] | None = None


class _FastMatrixSearch(_Search, kw_only=True):
    travel_time: FastTravelTime
    transportation: FastTransportation
    properties: list[Literal["travel_time", "distance", "fares"]]
    arrival_time_period: Literal["weekday_morning"] | None = None


class FastOneToMany(_FastMatrixSearch, kw_only=True):
    """Travel times from one place to many."""

    departure_location_id: str
    arrival_location_ids: FastTargets


class FastManyToOne(_FastMatrixSearch, kw_only=True):
    """Travel times from many places to one."""

    arrival_location_id: str
    departure_location_ids: FastTargets


class FastMatrixSearches(Struct):
    """Searches by direction."""

    one_to_many: Annotated[list[FastOneToMany], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    many_to_one: Annotated[list[FastManyToOne], Meta(max_length=limits.MAX_SEARCHES)] | None = None


class FastMatrixRequest(Struct, kw_only=True):
    """POST time-filter/fast."""

    locations: Locations
    arrival_searches: FastMatrixSearches


class _RouteSearch(_Search, kw_only=True):
    transportation: Transportation
    properties: list[Literal["travel_time", "distance", "fares", "route"]]
    range: FullRange | None = None


class RouteDeparture(_RouteSearch, kw_only=True):
    """Routes from one place to others."""

    departure_location_id: str
    arrival_location_ids: RouteTargets
    departure_time: Moment


class RouteArrival(_RouteSearch, kw_only=True):
    """Routes from others to one place."""

    arrival_location_id: str
    departure_location_ids: RouteTargets
    arrival_time: Moment


class RoutesRequest(Struct, kw_only=True):
    """POST routes."""

    locations: Locations
    departure_searches: Annotated[list[RouteDeparture], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    arrival_searches: Annotated[list[RouteArrival], Meta(max_length=limits.MAX_SEARCHES)] | None = None


class SupportedLocationsRequest(Struct):
    """POST supported-locations."""

    locations: list[Location]
