"""Types of the requests for shapes; see `traveltime_lab.server.contract.requests`."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Raw, Struct

from traveltime_lab.server.contract import limits
from traveltime_lab.server.contract.requests import (
    Combinations,
    Coords,
    FastSearches,
    FastTravelTime,
    Moment,
    Request,
    Search,
    SimpleRange,
    TravelTime,
)
from traveltime_lab.server.contract.transportation import DistanceTransportation, FastTransportation, Transportation


class SimpleLevel(Struct, tag_field="scale_type", tag="simple"):
    """A level of detail by name."""

    level: Literal["lowest", "low", "medium", "high", "highest"]


class NumericLevel(Struct, tag_field="scale_type", tag="simple_numeric"):
    """A level of detail by number; -2 to 2 are the five names."""

    level: Annotated[int, Meta(ge=-20, le=2)]


class CoarseGrid(Struct, tag_field="scale_type", tag="coarse_grid"):
    """Squares with sides in metres."""

    square_size: Annotated[int, Meta(ge=limits.MIN_SQUARE_SIZE_M)]


class PolygonsFilter(Struct):
    """How many of the largest polygons to keep."""

    limit: Annotated[int, Meta(ge=1)]


class DrawnSearch(Search, kw_only=True):
    """A search for a shape."""

    coords: Coords
    level_of_detail: SimpleLevel | NumericLevel | CoarseGrid | None = None
    polygons_filter: PolygonsFilter | None = None
    no_holes: bool | None = None
    render_mode: Literal["approximate_time_filter", "road_buffering"] | None = None
    buffer_distance: Annotated[int, Meta(ge=limits.MIN_BUFFER_M)] | None = None
    remove_water_bodies: bool | None = None
    #: Deprecated: true is ``polygons_filter: {"limit": 1}``.
    single_shape: bool | None = None
    #: Fields of level of detail and polygons filter, see `Misplaced`.
    level: Raw | None = None
    limit: Raw | None = None
    scale_type: Raw | None = None
    square_size: Raw | None = None


class TimeMapSearch(DrawnSearch, kw_only=True):
    """A shape within a travel time."""

    travel_time: TravelTime
    transportation: Transportation
    range: SimpleRange | None = None
    properties: list[Literal["is_only_walking", "agencies"]] | None = None


class TimeMapDeparture(TimeMapSearch, kw_only=True):
    """A shape of what can be reached."""

    departure_time: Moment


class TimeMapArrival(TimeMapSearch, kw_only=True):
    """A shape of where one can come from."""

    arrival_time: Moment


class TimeMapRequest(Request, kw_only=True):
    """POST time-map."""

    departure_searches: Annotated[list[TimeMapDeparture], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    arrival_searches: Annotated[list[TimeMapArrival], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    unions: Combinations | None = None
    intersections: Combinations | None = None


class FastTimeMapSearch(DrawnSearch, kw_only=True):
    """A shape of a typical weekday morning."""

    travel_time: FastTravelTime
    transportation: FastTransportation
    arrival_time_period: Literal["weekday_morning"] | None = None


class FastTimeMapSearches(FastSearches):
    """Searches by direction."""

    one_to_many: Annotated[list[FastTimeMapSearch], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    many_to_one: Annotated[list[FastTimeMapSearch], Meta(max_length=limits.MAX_SEARCHES)] | None = None


class FastTimeMapRequest(Request, kw_only=True):
    """POST time-map/fast."""

    arrival_searches: FastTimeMapSearches
    unions: Combinations | None = None
    intersections: Combinations | None = None


class DistanceMapSearch(DrawnSearch, kw_only=True):
    """A shape within a distance."""

    travel_distance: Annotated[int, Meta(ge=limits.MIN_DISTANCE_M, le=limits.MAX_DISTANCE_M)]
    transportation: DistanceTransportation


class DistanceMapDeparture(DistanceMapSearch, kw_only=True):
    """A shape of what lies within a distance."""

    departure_time: Moment


class DistanceMapArrival(DistanceMapSearch, kw_only=True):
    """A shape of what the place lies within a distance of."""

    arrival_time: Moment


class DistanceMapRequest(Request, kw_only=True):
    """POST distance-map."""

    departure_searches: Annotated[list[DistanceMapDeparture], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    arrival_searches: Annotated[list[DistanceMapArrival], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    unions: Combinations | None = None
    intersections: Combinations | None = None


ShapesRequest: TypeAlias = TimeMapRequest | FastTimeMapRequest | DistanceMapRequest
