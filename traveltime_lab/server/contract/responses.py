"""
Types of the answers of the JSON endpoints: for the description of the service, and for tests that compare answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from traveltime_lab.search.properties import PROPERTIES
from traveltime_lab.server.contract.properties import ON_THE_WIRE, taken_by
from traveltime_lab.server.contract.requests import Latitude, Longitude


class _Exact(Struct, forbid_unknown_fields=True, kw_only=True):
    pass


class Point(_Exact):
    """A place."""

    lat: Latitude
    lng: Longitude


class Agency(_Exact):
    """An agency of public transport."""

    name: str
    modes: list[str]


class ShapeProperties(_Exact):
    """Those that were asked for."""

    is_only_walking: bool | UnsetType = UNSET
    agencies: list[Agency] | UnsetType = UNSET


Ring = Annotated[list[Point], Meta(min_length=4)]


class Polygon(_Exact):
    """Closed rings."""

    shell: Ring
    holes: list[Ring]


class ShapesResult(_Exact):
    """The shape of a search, union or intersection."""

    search_id: str
    shapes: list[Polygon]
    properties: ShapeProperties


class Shapes(_Exact):
    """application/json."""

    results: list[ShapesResult]


class WktResult(_Exact):
    """Longitude first."""

    search_id: str
    shape: Annotated[str, Meta(pattern="^(POLYGON|MULTIPOLYGON) ")]
    properties: ShapeProperties


class WktShapes(_Exact):
    """application/vnd.wkt+json and application/vnd.wkt-no-holes+json."""

    results: list[WktResult]


class Box(_Exact):
    """Degrees."""

    min_lat: Latitude
    max_lat: Latitude
    min_lng: Longitude
    max_lng: Longitude


class PolygonBoxes(_Exact):
    """The envelope of a polygon and boxes that cover it."""

    envelope: Box
    boxes: Annotated[list[Box], Meta(min_length=1)]


class BoxesResult(_Exact):
    """Boxes for each polygon."""

    search_id: str
    bounding_boxes: list[PolygonBoxes]
    properties: ShapeProperties


class BoxShapes(_Exact):
    """application/vnd.bounding-boxes+json."""

    results: list[BoxesResult]


class FeatureProperties(_Exact):
    """The id, and nothing else."""

    search_id: str


class MultiPolygonGeometry(_Exact):
    """Longitude first."""

    type: Literal["MultiPolygon"]
    coordinates: list[list[list[tuple[Longitude, Latitude]]]]


class ShapeFeature(_Exact):
    """A shape."""

    type: Literal["Feature"]
    geometry: MultiPolygonGeometry
    properties: FeatureProperties


class ShapeCollection(_Exact):
    """application/geo+json."""

    type: Literal["FeatureCollection"]
    features: list[ShapeFeature]


Whole = Annotated[int, Meta(ge=0)]


class ModeDistance(_Exact):
    """Part of a distance."""

    mode: str
    distance: Whole


class Ticket(_Exact):
    """A fare."""

    type: Literal["single", "week", "month", "year"]
    price: float
    currency: str


class FareBreakdown(_Exact):
    """Tickets for parts of a route."""

    modes: list[str]
    route_part_ids: list[int]
    tickets: list[Ticket]


class Fares(_Exact):
    """What a journey costs."""

    tickets_total: list[Ticket]
    breakdown: list[FareBreakdown] | UnsetType = UNSET


class Money(_Exact):
    """The cost of a trip; it is zero without a currency."""

    amount: Annotated[float, Meta(ge=0)]
    currency: str | UnsetType = UNSET


class RoutePart(_Exact):
    """A piece of a route; which fields it has depends on its type."""

    id: Whole
    type: Literal["basic", "start_end", "road", "public_transport"]
    mode: Literal[
        "car", "parking", "boarding", "walk", "bike", "bike_parking", "train", "rail_national", "rail_overground",
        "rail_underground", "rail_dlr", "bus", "cable_car", "plane", "ferry", "coach",
    ]  # fmt: skip
    directions: str
    distance: Whole
    travel_time: Whole
    coords: list[Point]
    direction: str | UnsetType = UNSET
    road: str | UnsetType = UNSET
    turn: str | UnsetType = UNSET
    line: str | UnsetType = UNSET
    departure_station: str | UnsetType = UNSET
    arrival_station: str | UnsetType = UNSET
    departs_at: str | UnsetType = UNSET
    arrives_at: str | UnsetType = UNSET
    num_stops: int | UnsetType = UNSET


class RouteDescription(_Exact):
    """A route from door to door."""

    departure_time: str
    arrival_time: str
    parts: list[RoutePart]


class RouteAlert(_Exact):
    """An alert of live updates about rides of a route."""

    route_part_ids: Annotated[list[int], Meta(min_length=1)]
    effect: str
    cause: str
    header: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    url: str | UnsetType = UNSET


#: Types of the properties that are not numbers.
_KINDS: Mapping[str, Any] = {
    "distance_breakdown": list[ModeDistance],
    "fares": Fares,
    "emissions": Annotated[float, Meta(ge=0)],
    "cost": Money,
    "route": RouteDescription,
    "alerts": list[RouteAlert],
}


def _properties(name: str, properties: Iterable[str]) -> Any:
    """Return the class of an answer with some properties of trips; those that were not requested are left out."""

    def kind_of(each: str) -> Any:
        row = PROPERTIES[each]
        if row.of is None:
            return _KINDS[each]
        return Whole if row.unit in ("s", "m") else Annotated[float, Meta(ge=0)]

    return defstruct(
        name,
        [(each, kind_of(each) | UnsetType, UNSET) for each in properties],
        namespace={"__doc__": "Those that were asked for."},
        module=__name__,
        forbid_unknown_fields=True,
        gc=False,
    )


if TYPE_CHECKING:

    class FastProperties(Struct):
        """For the type checker."""

    class Properties(Struct):
        """For the type checker."""
else:
    FastProperties = _properties("FastProperties", taken_by("time-filter/fast"))
    #: Handlers build these, on the fast endpoints, too.
    Properties = _properties("Properties", ON_THE_WIRE)


class ReachedLocation(_Exact):
    """A place within the limit."""

    id: str
    properties: Annotated[list[Properties], Meta(min_length=1, max_length=5)]


class MatrixAnswer(_Exact):
    """The answer to one search."""

    search_id: str
    locations: list[ReachedLocation]
    unreachable: list[str]


class Matrix(_Exact):
    """Travel times or routes."""

    results: list[MatrixAnswer]


class FastReachedLocation(_Exact):
    """A place within the limit."""

    id: str
    properties: FastProperties


class FastMatrixAnswer(_Exact):
    """The answer to one search."""

    search_id: str
    locations: list[FastReachedLocation]
    unreachable: list[str]


class FastMatrix(_Exact):
    """Travel times."""

    results: list[FastMatrixAnswer]


class CellProperties(_Exact):
    """Seconds, those that were asked for."""

    min: Whole | UnsetType = UNSET
    max: Whole | UnsetType = UNSET
    mean: Whole | UnsetType = UNSET


class CellAnswer(_Exact):
    """A cell."""

    id: str
    properties: CellProperties


class CellsAnswer(_Exact):
    """The cells of a search, union or intersection."""

    search_id: str
    cells: list[CellAnswer]


class Cells(_Exact):
    """Cells within reach."""

    results: list[CellsAnswer]


class PostcodeProperties(_Exact):
    """Those that were asked for."""

    travel_time: Whole | UnsetType = UNSET
    distance: Whole | UnsetType = UNSET


class PostcodeAnswer(_Exact):
    """A postcode."""

    code: str
    properties: list[PostcodeProperties]


class PostcodesAnswer(_Exact):
    """The answer to one search."""

    search_id: str
    postcodes: list[PostcodeAnswer]


class Postcodes(_Exact):
    """Postcodes within reach."""

    results: list[PostcodesAnswer]


class TimeStatistics(_Exact):
    """Seconds."""

    min: Whole
    max: Whole
    mean: Whole
    median: Whole


class ZoneProperties(_Exact):
    """Those that were asked for."""

    travel_time_reachable: TimeStatistics | UnsetType = UNSET
    travel_time_all: TimeStatistics | UnsetType = UNSET
    coverage: Annotated[float, Meta(ge=0.0, le=100.0)] | UnsetType = UNSET


class ZoneAnswer(_Exact):
    """A district or sector."""

    code: str
    properties: ZoneProperties


class DistrictsAnswer(_Exact):
    """The answer to one search."""

    search_id: str
    districts: list[ZoneAnswer]


class Districts(_Exact):
    """Districts within reach."""

    results: list[DistrictsAnswer]


class SectorsAnswer(_Exact):
    """The answer to one search."""

    search_id: str
    sectors: list[ZoneAnswer]


class Sectors(_Exact):
    """Sectors within reach."""

    results: list[SectorsAnswer]


class TimetableDates(_Exact):
    """First and last moment of the timetable."""

    date_start: str
    date_end: str


class SupportedSearch(_Exact):
    """A kind of fast search."""

    search_type: Literal["arrival.many_to_one", "arrival.one_to_many"]
    transportation_mode: str


class SupportedPeriod(_Exact):
    """A time of day with its kinds of fast search."""

    time_period: Literal["weekday_morning"]
    supported: list[SupportedSearch]


class FastFeatures(_Exact):
    """Fast searches."""

    periods: list[SupportedPeriod]


class MapFeatures(_Exact):
    """What a map can answer."""

    cross_country_modes: list[str]
    fares: bool
    postcodes: bool
    public_transport: TimetableDates | UnsetType = UNSET
    time_filter_fast: FastFeatures | UnsetType = UNSET


class MapDescription(_Exact):
    """A map."""

    name: str
    features: MapFeatures


class Maps(_Exact):
    """All maps."""

    maps: list[MapDescription]


class SupportedLocation(_Exact):
    """A covered place."""

    id: str
    map_name: str
    additional_map_names: list[str]


class SupportedLocations(_Exact):
    """Which maps cover which places."""

    locations: list[SupportedLocation]
    unsupported_locations: list[str]


class PointGeometry(_Exact):
    """Longitude first."""

    type: Literal["Point"]
    coordinates: tuple[Longitude, Latitude]


class PlaceFeature(_Exact):
    """A place with a name."""

    type: Literal["Feature"]
    geometry: PointGeometry
    properties: dict[str, Any]


class Features(_Exact):
    """Places."""

    type: Literal["FeatureCollection"]
    features: list[PlaceFeature]
    attribution: str | UnsetType = UNSET
