"""
What the service asks of the library: one function for each kind of question, each a call of one library function.

Questions come as plain values of the contract and answers go as arrays and shapes; nothing here knows JSON or HTTP.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final
from zoneinfo import ZoneInfo

import geopandas as gpd
import numpy as np
import numpy.typing as npt
import pandas as pd
import shapely

from traveltime_lab.errors import InputError
from traveltime_lab.itinerary import Route
from traveltime_lab.modes import STREET_TYPES, TIMETABLE_TYPES
from traveltime_lab.network.network import Network
from traveltime_lab.search import cells as library_cells
from traveltime_lab.search import routes as library_journeys
from traveltime_lab.search import time_filter, time_map
from traveltime_lab.search.geocoding import geocode as library_geocoding
from traveltime_lab.search.geocoding.countries import countries_of, country_of
from traveltime_lab.search.geocoding.nominatim import Nominatim
from traveltime_lab.search.time_filter import snap
from traveltime_lab.server.endpoints.fares import fares_entry

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Names of the modes in routes and in the breakdown of distances. Source: contract 6.4.
ROUTE_MODES: Final[Mapping[str, str]] = {"walking": "walk", "cycling": "bike", "driving": "car"}


#: Places to which distances of timetable trips are told, one trip after the other.
MOST_TOLD: Final = 2_000
#: Places that a search by name returns unless asked for another number (assumed; the contract shows none).
DEFAULT_RESULTS: Final = 10


class NotCoveredError(InputError):
    """The place of a search has no street near it."""


class NoTimetableError(InputError):
    """A network has no timetable, or none for the time of a search."""


@dataclass(frozen=True)
class When:
    """
    The moment of a search.

    Parameters
    ----------
    moment : datetime or "weekday_morning"
    is_arrival : bool
    """

    moment: Any
    is_arrival: bool

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that the library's searches take."""
        return {"arrival_time" if self.is_arrival else "departure_time": self.moment}


@dataclass(frozen=True)
class Times:
    """
    Which of many places are reached, and how.

    Attributes
    ----------
    reached : int64 array of shape (n,)
        Positions of the places within the limit, ascending.
    travel_time : int64 array of shape (n,)
        Seconds.
    distance : int64 array of shape (n,), optional
        Metres.
    """

    reached: IntArray
    travel_time: IntArray
    distance: IntArray | None


def points(lng: FloatArray, lat: FloatArray) -> gpd.GeoSeries:
    """Return places as the library takes them, labelled by position."""
    return gpd.GeoSeries(shapely.points(lng, lat), crs="EPSG:4326")


def check_transportation(network: Network, transportation: Mapping[str, Any]) -> None:
    """Raise `NoTimetableError` for a type that needs a timetable on a network that has none."""
    if transportation["type"] in TIMETABLE_TYPES and not has_timetable(network):
        raise NoTimetableError(f"{transportation['type']} needs a timetable, which this network does not have")


def has_timetable(network: Network) -> bool:
    """Return whether a network can answer for public transport."""
    return network.timetable is not None


def timetable_dates(network: Network) -> tuple[dt.datetime, dt.datetime] | None:
    """Return the first and the last moment of a network's timetable, aware; None without one."""
    spans = None if network.timetable is None else network.timetable.dates().dropna()
    if spans is None or not len(spans):
        return None
    zone = ZoneInfo(network.timezone)
    first = dt.datetime.combine(spans["first"].min(), dt.time(), zone)
    return first, dt.datetime.combine(spans["last"].max(), dt.time(23, 59, 59), zone)


def has_fares(network: Network) -> bool:
    """Return whether a network knows fares."""
    return network.timetable is not None and network.timetable.has_fares


def available_types(network: Network) -> list[str]:
    """Return the transportation types that a network can answer."""
    return [*STREET_TYPES, *(TIMETABLE_TYPES if has_timetable(network) else ())]


def usual_questions(network: Network) -> list[tuple[str, When]]:
    """Return types and moments that clients ask a network for, the most asked first."""
    midday = dt.datetime(2026, 3, 2, 12, tzinfo=dt.UTC)
    asked = [("driving", midday), ("walking", midday), ("driving", "weekday_morning"), ("cycling", midday)]
    dates = timetable_dates(network)
    if dates is not None:
        asked.insert(2, ("public_transport", dates[0] + (dates[1] - dates[0]) / 2))
    return [(kind, When(moment, is_arrival=False)) for kind, moment in asked]


def try_out(network: Network, lng: float, lat: float, kind: str, when: When) -> None:
    """Ask for a shape and a matrix around a place, for what it makes ready."""
    lngs, lats = np.array([lng]), np.array([lat])
    transportation = {"type": kind}
    shape(network, lng, lat, travel_time=600, transportation=transportation, when=when, options={})
    times(
        network, lng, lat, lngs, lats, travel_time=600, transportation=transportation, when=when,
        snapping=None, with_distance=True,
    )  # fmt: skip


def times(
    network: Network,
    lng: float,
    lat: float,
    lngs: FloatArray,
    lats: FloatArray,
    *,
    travel_time: int,
    transportation: Mapping[str, Any],
    when: When,
    snapping: Mapping[str, Any] | None,
    with_distance: bool,
    window: Mapping[str, Any] | None = None,
) -> Times:
    """
    Return travel times between one place and many.

    Parameters
    ----------
    network : Network
    lng, lat : float
        Where all trips begin; with a moment of arrival, where they end.
    lngs, lats : float64 arrays of shape (n,)
        The others.
    travel_time : int
        Limit in seconds.
    transportation, snapping : mapping
        Objects of the contract.
    when : When
    with_distance : bool
        Distances of timetable trips are told for `MOST_TOLD` places at most.
    window : mapping, optional
        The contract's range, if it is enabled: the times are then the least of the window.

    Returns
    -------
    Times

    Raises
    ------
    NotCoveredError
        If the one place has no street.
    """
    check_transportation(network, transportation)
    one = points(np.array([lng]), np.array([lat]))
    reached = np.empty(0, np.int64)
    table = None
    by_timetable = transportation["type"] in TIMETABLE_TYPES
    is_measured = with_distance and not by_timetable
    if lngs.size:
        many = points(lngs, lats)
        table = time_filter.time_filter(
            network,
            many if when.is_arrival else one,
            one if when.is_arrival else many,
            travel_time=travel_time,
            transportation=transportation,
            properties=("travel_time", "distance") if is_measured else ("travel_time",),
            snapping=snapping,
            form="sparse",
            window=_seconds(window),
            **when.arguments(),
        )
        reached = table["origin" if when.is_arrival else "destination"].to_numpy(np.int64)
    if table is None or not reached.size:
        _check_snapped(network, one, transportation, snapping)
        nothing = np.empty(0, np.int64)
        return Times(nothing, nothing, nothing if with_distance else None)
    metres = None
    if is_measured:
        metres = np.floor(table["distance"].to_numpy(np.float64) + 0.5).astype(np.int64)
    elif with_distance and reached.size <= MOST_TOLD:
        many = points(lngs[reached], lats[reached])
        told = _routes(network, one, many, transportation, when, snapping, _seconds(window))
        metres = np.array([_metres(routes[0].distance) if routes else -1 for routes in told], np.int64)
    return Times(reached, table["travel_time"].to_numpy(np.int64), metres)


def _seconds(window: Mapping[str, Any] | None) -> int | None:
    """Return the width of an enabled window."""
    return None if window is None else int(window["width"])


def _routes(
    network: Network,
    one: gpd.GeoSeries,
    many: gpd.GeoSeries,
    transportation: Mapping[str, Any],
    when: When,
    snapping: Mapping[str, Any] | None,
    window: int | None = None,
    n_best: int = 1,
) -> list[list[Route]]:
    """Return the routes to each of many places, quickest first; none where there is none."""
    table = library_journeys.routes(
        network,
        many if when.is_arrival else one,
        one if when.is_arrival else many,
        transportation=transportation,
        properties=("route",),
        snapping=snapping,
        window=window,
        max_results=n_best,
        **when.arguments(),
    )
    told: list[list[Route]] = [[] for _ in range(len(many))]
    for place, route in zip(table["origin" if when.is_arrival else "destination"], table["route"], strict=True):
        if route is not None:
            told[place].append(route)
    return told


def _check_snapped(network: Network, place: gpd.GeoSeries, transportation: Any, snapping: Any) -> None:
    """Raise `NotCoveredError` for a place without a street."""
    if snap(network, place, transportation=transportation, snapping=snapping)["status"].iloc[0] != "snapped":
        raise NotCoveredError("the place of the search has no street near it")


def shape(
    network: Network,
    lng: float,
    lat: float,
    *,
    transportation: Mapping[str, Any],
    when: When,
    options: Mapping[str, Any],
    travel_time: int | None = None,
    distance: int | None = None,
    window: Mapping[str, Any] | None = None,
) -> shapely.MultiPolygon:
    """
    Return the shape of what lies within a travel time or a distance.

    Parameters
    ----------
    network : Network
    lng, lat : float
    transportation : mapping
    when : When
    options : mapping
        Further arguments of `traveltime_lab.time_map`.
    travel_time : int, optional
        Limit in seconds.
    distance : int, optional
        Limit in metres; one of the two.
    window : mapping, optional
        The contract's range, if it is enabled: the shape is then that of all trips of the window.

    Returns
    -------
    MultiPolygon
        EPSG:4326; empty if nothing is reached.

    Raises
    ------
    NotCoveredError
        If the place has no street.
    """
    check_transportation(network, transportation)
    one = points(np.array([lng]), np.array([lat]))
    arguments: dict[str, Any] = {"transportation": transportation, **when.arguments(), **options}
    if distance is not None:
        table = time_map.distance_map(network, one, distance=distance, **arguments)
    elif travel_time is not None:
        table = time_map.time_map(network, one, travel_time=travel_time, window=_seconds(window), **arguments)
    else:
        raise TypeError("shape() needs a travel time or a distance")
    if table["reason"].iloc[0] in ("origin_outside_network", "origin_not_snapped"):
        raise NotCoveredError("the place of the search has no street near it")
    found = table.geometry.iloc[0]
    assert isinstance(found, shapely.MultiPolygon)
    return found


def is_only_walking(
    network: Network,
    lng: float,
    lat: float,
    found: shapely.MultiPolygon,
    *,
    transportation: Mapping[str, Any],
    when: When,
    options: Mapping[str, Any],
    travel_time: int,
) -> bool:
    """Return whether a shape, found with the same arguments, is reached on foot without any vehicle."""
    if transportation["type"] not in TIMETABLE_TYPES:
        return bool(transportation["type"] == "walking")
    on_foot = {"transportation": {"type": "walking"}, "when": when, "options": options}
    return bool(shape(network, lng, lat, travel_time=travel_time, **on_foot).equals(found))  # type: ignore[arg-type]


def cells(
    network: Network,
    lng: float,
    lat: float,
    *,
    system: str,
    resolution: int,
    travel_time: int,
    transportation: Mapping[str, Any],
    when: When,
    snapping: Mapping[str, Any] | None,
    window: Mapping[str, Any] | None,
    remove_water_bodies: bool,
) -> pd.DataFrame:
    """
    Return the cells within a travel time.

    Parameters
    ----------
    network : Network
    lng, lat : float
    system : {"h3", "geohash"}
    resolution : int
    travel_time, transportation, when, snapping
        As in `times`.
    window : mapping or None
        The contract's simple range, if it is enabled.
    remove_water_bodies : bool

    Returns
    -------
    DataFrame
        ``cell`` (str), ``min``, ``max`` and ``mean`` (int32, s).

    Raises
    ------
    NotCoveredError
        If the place has no street.
    """
    check_transportation(network, transportation)
    one = points(np.array([lng]), np.array([lat]))
    search_cells = library_cells.h3_cells if system == "h3" else library_cells.geohash_cells
    table = search_cells(
        network,
        one,
        travel_time=travel_time,
        resolution=resolution,
        transportation=transportation,
        remove_water_bodies=remove_water_bodies,
        snapping=snapping,
        window=_seconds(window),
        geometry=False,
        **when.arguments(),
    )
    if not len(table):
        _check_snapped(network, one, transportation, snapping)
    return table


def combine_cells(tables: list[pd.DataFrame], *, is_union: bool) -> pd.DataFrame:
    """Return the cells in any of several answers of `cells`, or in all."""
    return library_cells.union_cells(tables) if is_union else library_cells.intersection_cells(tables)


def cell_centre(system: str, cell: str) -> tuple[float, float]:
    """Return longitude and latitude of the centre of a cell; InputError if there is no such cell."""
    find = library_cells.h3_centroids if system == "h3" else library_cells.geohash_centroids
    centre = find([cell]).iloc[0]
    return float(centre.x), float(centre.y)


@dataclass(frozen=True)
class Journey:
    """
    One way from a place to another.

    Attributes
    ----------
    travel_time, distance : int
        Seconds and metres.
    departure_time, arrival_time : datetime
        Aware.
    parts : list of dict
        As in contract 6.4.
    breakdown : list of (mode, metres)
        Of `distance`, by the modes of routes.
    fares : dict, optional
        As in contract 6.3; None where they are not known.
    """

    travel_time: int
    distance: int
    departure_time: Any
    arrival_time: Any
    parts: list[dict[str, Any]]
    breakdown: list[tuple[str, int]]
    fares: dict[str, Any] | None


def journeys(
    network: Network,
    lng: float,
    lat: float,
    lngs: FloatArray,
    lats: FloatArray,
    *,
    travel_time: int | None,
    transportation: Mapping[str, Any],
    when: When,
    snapping: Mapping[str, Any] | None,
    window: Mapping[str, Any] | None,
    with_parts: bool = True,
) -> list[list[Journey]]:
    """
    Return ways between one place and others.

    Parameters
    ----------
    network, lng, lat, lngs, lats, transportation, when, snapping
        As in `times`.
    travel_time : int or None
        Limit in seconds; None for the longest journeys that there are.
    window : mapping or None
        The contract's full range, if it is enabled: up to ``max_results`` ways are returned for each place.
    with_parts : bool, default True
        Whether more than times is wanted; without, `travel_time` must be given.

    Returns
    -------
    list of lists of Journey
        One list for each of the others, quickest first; empty where there is none.

    Raises
    ------
    NotCoveredError
        If the one place has no street.
    """
    check_transportation(network, transportation)
    width, n_best = _seconds(window), 1 if window is None else int(window["max_results"])
    ways: list[list[Journey]] = [[] for _ in range(lngs.size)]
    one = points(np.array([lng]), np.array([lat]))
    if not with_parts and lngs.size:
        if travel_time is None:
            raise TypeError("journeys() without parts needs a travel time")
        many = points(lngs, lats)
        table = time_filter.time_filter(
            network,
            many if when.is_arrival else one,
            one if when.is_arrival else many,
            travel_time=travel_time,
            transportation=transportation,
            snapping=snapping,
            window=width,
            max_results=n_best,
            **when.arguments(),
        ).dropna(subset="travel_time")
        for row in table.itertuples():
            place = row.origin if when.is_arrival else row.destination
            ways[place].append(Journey(int(row.travel_time), 0, row.departure_time, row.arrival_time, [], [], None))
        if table.empty:
            _check_snapped(network, one, transportation, snapping)
        return ways
    reached = np.arange(lngs.size)
    if travel_time is not None:
        # The limit is compared before times are rounded, which only the matrix does.
        reached = times(
            network,
            lng,
            lat,
            lngs,
            lats,
            travel_time=travel_time,
            transportation=transportation,
            when=when,
            snapping=snapping,
            window=window,
            with_distance=False,
        ).reached
    if not reached.size:
        _check_snapped(network, one, transportation, snapping)
        return ways
    many = points(lngs[reached], lats[reached])
    told = _routes(network, one, many, transportation, when, snapping, width, n_best)
    if not any(told):
        _check_snapped(network, one, transportation, snapping)
    for i, routes in zip(reached.tolist(), told, strict=True):
        # The first was compared with the limit exactly; the others are what else is within it.
        ways[i] += [
            _journey(route)
            for k, route in enumerate(routes)
            if k == 0 or travel_time is None or route.travel_time <= travel_time
        ]
    return ways


def _journey(route: Route) -> Journey:
    """Return a route of the library as a journey."""
    parts = route.parts()
    for before, after in pairwise(parts):
        # Ends that are one place may differ in their last bit; clients compare them.
        after["coords"][0] = before["coords"][-1]
    return Journey(
        travel_time=route.travel_time,
        distance=_metres(route.distance),
        departure_time=route.departure_time,
        arrival_time=route.arrival_time,
        parts=parts,
        breakdown=[(mode, _metres(metres)) for mode, metres in route.distance_breakdown.items()],
        fares=fares_entry(route),
    )


def _metres(value: float) -> int:
    """Return whole metres, rounded half up."""
    return int(np.floor(value + 0.5))


def geocode(
    networks: Sequence[Network], nominatim: Nominatim | None, query: str, *, limit: int | None, **options: Any
) -> list[dict[str, Any]]:
    """
    Return places by name, best first.

    Parameters
    ----------
    networks : sequence of Network
    nominatim : Nominatim, optional
        Who to ask instead of the networks.
    query : str
    limit : int, optional
    options
        Further arguments of `traveltime_lab.geocode`.

    Returns
    -------
    list of dict
        ``lng``, ``lat`` and the properties of contract 7.17, as far as they are known.
    """
    most = limit or DEFAULT_RESULTS
    if nominatim is not None:
        return _places(nominatim.geocode(query, limit=most, **options))
    found = [
        place
        for network in networks
        for place in _places(library_geocoding.geocode(network, query, limit=most, **options))
    ]
    return sorted(found, key=lambda place: -place["score"])[:most]


def reverse_geocode(
    networks: Sequence[Network],
    nominatim: Nominatim | None,
    lng: float,
    lat: float,
    *,
    within_country: str | None,
) -> dict[str, Any]:
    """Return what is at a place, in the form of `geocode`; `NotCoveredError` where nothing is."""
    if nominatim is not None:
        found = nominatim.reverse_geocode(lng, lat)
        if within_country is not None:
            codes = countries_of(within_country, "within_country")
            found = found[[getattr(country_of(code), "alpha_2", "") in codes for code in found["country_code"]]]
        tables = [found]
    else:
        tables = [
            library_geocoding.reverse_geocode(network, lng, lat, within_country=within_country) for network in networks
        ]
    for table in tables:
        if len(table):
            return _places(table)[0]
    raise NotCoveredError("there is nothing at this place")


def _places(table: gpd.GeoDataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table of places, without what is empty."""
    names = [*library_geocoding.TEXTS, *(["score"] if "score" in table else [])]
    rows = table[names].to_dict("records")
    return [
        {"lng": float(point.x), "lat": float(point.y)}
        | {key: value for key, value in row.items() if value != ""}
        # Both are always there for the clients.
        | {"name": row["name"], "label": row["label"]}
        for row, point in zip(rows, table.geometry, strict=True)
    ]
