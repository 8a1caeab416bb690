"""Types of the requests for cells and postcode zones; see `traveltime_lab.server.contract.requests`."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from traveltime_lab.server.contract import limits
from traveltime_lab.server.contract.properties import PostcodeProperty
from traveltime_lab.server.contract.requests import (
    Combinations,
    Coords,
    FastSearches,
    FastTravelTime,
    FullRange,
    GeohashCoords,
    H3Coords,
    Moment,
    Request,
    Search,
    Share,
    SimpleRange,
    TravelTime,
)
from traveltime_lab.server.contract.transportation import FastTransportation, Transportation

# Cells ----------------------------------------------------------------------------------------------------------------

Statistics: TypeAlias = list[Literal["min", "max", "mean"]]
H3Resolution: TypeAlias = Annotated[int, Meta(ge=limits.H3_RESOLUTIONS[0], le=limits.H3_RESOLUTIONS[1])]
GeohashResolution: TypeAlias = Annotated[int, Meta(ge=limits.GEOHASH_RESOLUTIONS[0], le=limits.GEOHASH_RESOLUTIONS[1])]


class CellSearch(Search, kw_only=True):
    """Cells within a travel time."""

    travel_time: TravelTime
    transportation: Transportation
    range: SimpleRange | None = None
    remove_water_bodies: bool | None = None


class FastCellSearch(Search, kw_only=True):
    """Cells of a typical weekday morning."""

    travel_time: FastTravelTime
    transportation: FastTransportation
    arrival_time_period: Literal["weekday_morning"] | None = None
    remove_water_bodies: bool | None = None


class H3Departure(CellSearch, kw_only=True):
    """Cells within reach."""

    coords: H3Coords
    departure_time: Moment


class H3Arrival(CellSearch, kw_only=True):
    """Cells that one can come from."""

    coords: H3Coords
    arrival_time: Moment


class GeohashDeparture(CellSearch, kw_only=True):
    """Cells within reach."""

    coords: GeohashCoords
    departure_time: Moment


class GeohashArrival(CellSearch, kw_only=True):
    """Cells that one can come from."""

    coords: GeohashCoords
    arrival_time: Moment


class FastH3Search(FastCellSearch, kw_only=True):
    """Cells of a typical weekday morning."""

    coords: H3Coords


class FastGeohashSearch(FastCellSearch, kw_only=True):
    """Cells of a typical weekday morning."""

    coords: GeohashCoords


class FastH3Searches(FastSearches):
    """Searches by direction."""

    one_to_many: Annotated[list[FastH3Search], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    many_to_one: Annotated[list[FastH3Search], Meta(max_length=limits.MAX_SEARCHES)] | None = None


class FastGeohashSearches(FastSearches):
    """Searches by direction."""

    one_to_many: Annotated[list[FastGeohashSearch], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    many_to_one: Annotated[list[FastGeohashSearch], Meta(max_length=limits.MAX_SEARCHES)] | None = None


class CellRequest(Request, kw_only=True):
    """Base of the requests for cells."""

    properties: Statistics
    unions: Combinations | None = None
    intersections: Combinations | None = None


class H3Request(CellRequest, kw_only=True):
    """POST h3."""

    resolution: H3Resolution
    departure_searches: Annotated[list[H3Departure], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    arrival_searches: Annotated[list[H3Arrival], Meta(max_length=limits.MAX_SEARCHES)] | None = None


class GeohashRequest(CellRequest, kw_only=True):
    """POST geohash."""

    resolution: GeohashResolution
    departure_searches: Annotated[list[GeohashDeparture], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    arrival_searches: Annotated[list[GeohashArrival], Meta(max_length=limits.MAX_SEARCHES)] | None = None


class FastH3Request(CellRequest, kw_only=True):
    """POST h3/fast."""

    resolution: H3Resolution
    arrival_searches: FastH3Searches


class FastGeohashRequest(CellRequest, kw_only=True):
    """POST geohash/fast."""

    resolution: GeohashResolution
    arrival_searches: FastGeohashSearches


ResolvedRequest: TypeAlias = H3Request | GeohashRequest | FastH3Request | FastGeohashRequest

# Postcodes ------------------------------------------------------------------------------------------------------------


class PostcodeSearch(Search, kw_only=True):
    """A search for postcodes or zones."""

    coords: Coords
    travel_time: TravelTime
    transportation: Transportation
    range: FullRange | None = None


class PostcodesSearch(PostcodeSearch, kw_only=True):
    """A search for postcodes."""

    properties: list[PostcodeProperty]


class ZonesSearch(PostcodeSearch, kw_only=True):
    """A search for zones."""

    properties: list[Literal["travel_time_reachable", "travel_time_all", "coverage"]]
    #: Share of the postcodes of a zone that must be reachable; one client's default is 0.
    reachable_postcodes_threshold: Share | None = None


class PostcodesDeparture(PostcodesSearch, kw_only=True):
    """Postcodes within reach."""

    departure_time: Moment


class PostcodesArrival(PostcodesSearch, kw_only=True):
    """Postcodes that one can come from."""

    arrival_time: Moment


class ZonesDeparture(ZonesSearch, kw_only=True):
    """Zones within reach."""

    departure_time: Moment


class ZonesArrival(ZonesSearch, kw_only=True):
    """Zones that one can come from."""

    arrival_time: Moment


class PostcodesRequest(Request, kw_only=True):
    """POST time-filter/postcodes."""

    departure_searches: Annotated[list[PostcodesDeparture], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    arrival_searches: Annotated[list[PostcodesArrival], Meta(max_length=limits.MAX_SEARCHES)] | None = None


class ZonesRequest(Request, kw_only=True):
    """POST time-filter/postcode-districts and postcode-sectors."""

    departure_searches: Annotated[list[ZonesDeparture], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    arrival_searches: Annotated[list[ZonesArrival], Meta(max_length=limits.MAX_SEARCHES)] | None = None
