"""
Requests of the contract to answers of the contract, through `traveltime_lab.server.engine`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, TypeVar

import geopandas as gpd
import msgspec
import numpy as np
import shapely

from traveltime_lab._interrupts import checkpoint
from traveltime_lab.errors import TravelTimeError
from traveltime_lab.modes import TIMETABLE_TYPES
from traveltime_lab.network.network import Network
from traveltime_lab.server import engine, formats
from traveltime_lab.server.atlas import MARGIN_M, Atlas, Map
from traveltime_lab.server.context import Call
from traveltime_lab.server.contract import limits
from traveltime_lab.server.contract.errors import (
    NO_FARES,
    NO_TIMETABLE,
    NOT_COVERED,
    SCHEMA,
    Failure,
    SearchFailure,
    failure_of,
    schema_failure,
    search_failure,
)
from traveltime_lab.server.contract.moments import read_moment, write_moment
from traveltime_lab.server.contract.rules import iter_searches
from traveltime_lab.server.endpoints.locations import Entry, Places, Reached
from traveltime_lab.server.engine import Journey, NotCoveredError, NoTimetableError, When
from traveltime_lab.surfaces import polygons
from traveltime_lab.surfaces.level_of_detail import parse_level_of_detail

_T = TypeVar("_T")

_FAST: Final = ("peak", "off_peak")
_SECONDS: Final = (
    "pt_change_delay", "walking_time", "driving_time_to_station", "cycling_time_to_station", "parking_time",
    "boarding_time",
)  # fmt: skip


class MatrixResult(msgspec.Struct):
    """The answer to one search."""

    search_id: str
    locations: list[Reached]
    unreachable: list[str]


# What searches have in common -----------------------------------------------------------------------------------------


def each_search(request: Any, answer: Callable[[str, Any], _T]) -> list[_T]:
    """
    Return the answers to all searches of a request.

    Raises
    ------
    Failure
        The first of them; searches that fail for the same reason are told together.
    """
    answers: list[_T] = []
    failures: list[Failure] = []
    for path, search in iter_searches(request):
        checkpoint()
        try:
            answers.append(answer(path, search))
        except (Failure, TravelTimeError) as error:
            failures.append(_failure(error, path, search.id))
    if not failures:
        return answers
    first = failures[0]
    if isinstance(first, SearchFailure):
        same = [item for item in failures if isinstance(item, SearchFailure) and item.code == first.code]
        raise search_failure(first.code, [item.search_id for item in same])
    if first.code == SCHEMA:
        raise schema_failure(
            {path: texts for item in failures if item.code == SCHEMA for path, texts in item.info.items()}
        )
    raise first


def _failure(error: Exception, path: str, search_id: str) -> Failure:
    """Return what to tell about the failure of a search; bugs and interruptions pass through."""
    if isinstance(error, NotCoveredError):
        return SearchFailure(NOT_COVERED, search_id)
    if isinstance(error, NoTimetableError):
        return SearchFailure(NO_TIMETABLE, search_id)
    failure = failure_of(error, path=path, search_id=search_id)
    if failure.status >= 500:
        raise error
    return failure


def plain(value: Any) -> dict[str, Any]:
    """Return a struct of the contract as a dict of what was given."""
    return {key: item for key, item in msgspec.to_builtins(value).items() if item is not None}


def transportation_of(search: Any, *, is_fast: bool) -> dict[str, Any]:
    """Return the transportation of a search with the defaults of its endpoint."""
    found = plain(search.transportation)
    for name, value in found.items():
        if name in _SECONDS:
            found[name] = min(value, limits.LONGEST_S)
    if "max_changes" in found:
        found["max_changes"]["limit"] = min(found["max_changes"]["limit"], limits.MOST_CHANGES)
    if is_fast and hasattr(search.transportation, "traffic_model"):
        found.setdefault("traffic_model", _FAST[0])
    return found


def snapping_of(search: Any) -> dict[str, Any]:
    """Return the snapping of a search, which an older client calls ``snap_penalty``."""
    if search.snapping is not None:
        found = plain(search.snapping)
        if "threshold" in found:
            found["threshold"] = min(found["threshold"], limits.FARTHEST_M)
        return found
    old = search.snap_penalty
    if isinstance(old, str):
        old = {"penalty": old}
    known = {"penalty": ("enabled", "disabled"), "accept_roads": ("both_drivable_and_walkable", "any_drivable")}
    # An unknown field of a deprecated name: what cannot be read counts as absent, as unknown fields do.
    return {key: old[key] for key, values in known.items() if isinstance(old, dict) and old.get(key) in values}


def when_of(path: str, search: Any) -> When:
    """Return the moment of a search."""
    if hasattr(search, "departure_time"):
        return When(read_moment(search.departure_time), is_arrival=False)
    if hasattr(search, "arrival_time"):
        return When(read_moment(search.arrival_time), is_arrival=True)
    return When("weekday_morning", is_arrival=".many_to_one[" in path)


def window_of(search: Any) -> dict[str, Any] | None:
    """Return the window of a search for which one is enabled and means something."""
    window = search.range
    if window is None or not window.enabled or not hasattr(search.transportation, "pt_change_delay"):
        return None
    return plain(window)


def map_of(atlas: Atlas, search: Any, lng: float, lat: float) -> Map:
    """Return the map for a place; the smallest of several."""
    found = atlas.covering(lng, lat, _margin(search))
    if not found:
        raise SearchFailure(NOT_COVERED, search.id)
    return found[0]


def _margin(search: Any) -> float:
    return float(max(MARGIN_M, snapping_of(search).get("threshold", 0)))


def by_search_id(results: Iterable[_T]) -> list[_T]:
    """Return results in the order of the contract."""
    return sorted(results, key=lambda result: result.search_id)  # type: ignore[attr-defined]


# Shapes ---------------------------------------------------------------------------------------------------------------


def shape_results(atlas: Atlas, request: Any, *, is_fast: bool, media: str) -> list[formats.ShapeResult]:
    """
    Return the shapes of a request's searches, unions and intersections.

    Parameters
    ----------
    atlas : Atlas
    request : TimeMapRequest, FastTimeMapRequest or DistanceMapRequest
    is_fast : bool
    media : str
        Format of the answer: bounding boxes keep the level of detail, others lower it for long travel times.
    """

    def answer(path: str, search: Any) -> formats.ShapeResult:
        lng, lat = search.coords.lng, search.coords.lat
        network = map_of(atlas, search, lng, lat).network
        transportation = transportation_of(search, is_fast=is_fast)
        question: dict[str, Any] = {
            "transportation": transportation,
            "when": when_of(path, search),
            "options": _shape_options(search, media),
            "travel_time": getattr(search, "travel_time", None),
        }
        found = engine.shape(
            network,
            lng,
            lat,
            distance=getattr(search, "travel_distance", None),
            window=window_of(search) if hasattr(search, "range") else None,
            **question,
        )
        properties: dict[str, Any] = {}
        wanted = getattr(search, "properties", None) or ()
        if "is_only_walking" in wanted:
            properties["is_only_walking"] = engine.is_only_walking(network, lng, lat, found, **question)
        if "agencies" in wanted and transportation["type"] not in TIMETABLE_TYPES:
            # Streets have none; those of the rides of a shape are not known.
            properties["agencies"] = []
        return formats.ShapeResult(search.id, found, properties)

    results = each_search(request, answer)
    return results + _combined(request, results)


def _shape_options(search: Any, media: str) -> dict[str, Any]:
    options: dict[str, Any] = {"snapping": snapping_of(search)}
    for name in ("no_holes", "render_mode", "buffer_distance", "remove_water_bodies"):
        if getattr(search, name) is not None:
            options[name] = getattr(search, name)
    if "buffer_distance" in options:
        options["buffer_distance"] = min(options["buffer_distance"], limits.MAX_BUFFER_M)
    if search.polygons_filter is not None:
        options["polygons_filter"] = min(search.polygons_filter.limit, limits.MOST_POLYGONS)
    elif search.single_shape:
        options["polygons_filter"] = 1
    if search.level_of_detail is not None:
        detail = plain(search.level_of_detail)
        if "square_size" in detail:
            detail["square_size"] = min(detail["square_size"], limits.MAX_SQUARE_M)
        level = parse_level_of_detail(detail)
        options["level_of_detail"] = replace(level, is_kept=media == formats.BOXES)
    return options


def _combined(request: Any, results: list[formats.ShapeResult]) -> list[formats.ShapeResult]:
    """Return the unions and intersections of a request."""
    members = {result.search_id: result.shape for result in results}
    combined = []
    for name, combine in (("unions", polygons.union), ("intersections", polygons.intersection)):
        for item in getattr(request, name) or ():
            checkpoint()
            frame = gpd.GeoSeries([members[search_id] for search_id in item.search_ids], crs="EPSG:4326")
            shape: shapely.MultiPolygon = combine(frame).geometry.iloc[0] if len(frame) else shapely.MultiPolygon()
            combined.append(formats.ShapeResult(item.id, shape, {}))
    return combined


# Matrices -------------------------------------------------------------------------------------------------------------


def matrix_results(call: Call, request: Any, places: Places, *, is_fast: bool) -> list[MatrixResult]:
    """
    Return the travel times of a request's searches, sorted by search id.

    Parameters
    ----------
    call : Call
        Keeps the time: a large answer takes as long to put together as to find.
    request : MatrixRequest or FastMatrixRequest
    places : Places
        That checked the request.
    is_fast : bool
        Whether properties are one object for each place, not a list.
    """

    def answer(path: str, search: Any) -> MatrixResult:
        with call.lap("validate"):
            origin, targets = places.origin(search), places.targets(search)
            lngs, lats = places.lng[targets], places.lat[targets]
        lng, lat = float(places.lng[origin]), float(places.lat[origin])
        with call.lap("engine"):
            network, inside = _chosen(call.atlas, search, lng, lat, lngs, lats, is_fast=is_fast)
            transportation = transportation_of(search, is_fast=is_fast)
            wanted = set(search.properties)
            if needs_journeys(search, transportation):
                return _listed(
                    search,
                    places.names(targets),
                    inside,
                    ways(network, path, search, lng, lat, lngs[inside], lats[inside]),
                )
            times = engine.times(
                network,
                lng,
                lat,
                lngs[inside],
                lats[inside],
                travel_time=search.travel_time,
                transportation=transportation,
                when=when_of(path, search),
                snapping=snapping_of(search),
                with_distance=not wanted.isdisjoint(("distance", "distance_breakdown")),
                window=window_of(search) if hasattr(search, "range") else None,
            )
        with call.lap("encode"):
            reached = inside[times.reached]
            known = {"travel_time": times.travel_time, "distance": times.distance}
            numbers = {name: values for name, values in known.items() if values is not None and name in wanted}
            breakdown = None
            if times.distance is not None and "distance_breakdown" in wanted:
                breakdown = engine.ROUTE_MODES[transportation["type"]], times.distance
            is_lost = np.ones(targets.size, dtype=bool)
            is_lost[reached] = False
            return MatrixResult(
                search.id,
                places.reached(targets[reached], numbers, breakdown, is_fast=is_fast),
                places.names(targets[is_lost]),
            )

    return by_search_id(each_search(request, answer))


def _chosen(
    atlas: Atlas,
    search: Any,
    lng: float,
    lat: float,
    lngs: engine.FloatArray,
    lats: engine.FloatArray,
    *,
    is_fast: bool,
) -> tuple[Network, engine.IntArray]:
    """Return the network for a search and which of its targets lie on it."""
    found = atlas.choose(lng, lat, lngs, lats, _margin(search))
    if found is None:
        raise SearchFailure(NOT_COVERED, search.id)
    # The fast endpoints answer without journeys, and so without tickets.
    if "fares" in search.properties and (is_fast or not engine.has_fares(found[0].network)):
        raise SearchFailure(NO_FARES, search.id)
    return found[0].network, np.flatnonzero(found[1])


def needs_journeys(search: Any, transportation: dict[str, Any]) -> bool:
    """Return whether whole ways have to be found, not only times and distances."""
    wanted = set(search.properties)
    if not wanted.isdisjoint(("route", "fares")):
        return True
    window = window_of(search) if hasattr(search, "range") else None
    if window is not None and window["max_results"] > 1:
        return True
    if transportation["type"] in engine.ROUTE_MODES:
        return False
    if "distance_breakdown" in wanted:
        return True
    # Distances of timetable trips come with their journeys; the fast endpoints get what `engine.times` knows.
    return "distance" in wanted and transportation["type"] in TIMETABLE_TYPES and hasattr(search, "range")


def route_results(atlas: Atlas, request: Any, places: Places) -> list[MatrixResult]:
    """Return the routes of a request's searches, sorted by search id; see `matrix_results`."""

    def answer(path: str, search: Any) -> MatrixResult:
        origin, targets = places.origin(search), places.targets(search)
        lngs, lats = places.lng[targets], places.lat[targets]
        lng, lat = float(places.lng[origin]), float(places.lat[origin])
        network, inside = _chosen(atlas, search, lng, lat, lngs, lats, is_fast=False)
        listed = ways(network, path, search, lng, lat, lngs[inside], lats[inside])
        return _listed(search, places.names(targets), inside, listed)

    return by_search_id(each_search(request, answer))


def ways(
    network: Network, path: str, search: Any, lng: float, lat: float, lngs: engine.FloatArray, lats: engine.FloatArray
) -> list[list[Journey]]:
    """Return the ways that a search asks for, to each of many places."""
    transportation = transportation_of(search, is_fast=False)
    engine.check_transportation(network, transportation)
    return engine.journeys(
        network,
        lng,
        lat,
        lngs,
        lats,
        travel_time=getattr(search, "travel_time", None),
        transportation=transportation,
        when=when_of(path, search),
        snapping=snapping_of(search),
        window=window_of(search) if hasattr(search, "range") else None,
        # Without a limit only the parts know how long it takes.
        with_parts=not hasattr(search, "travel_time") or set(search.properties) != {"travel_time"},
    )


def _listed(search: Any, ids: list[str], inside: engine.IntArray, found: list[list[Journey]]) -> MatrixResult:
    """Return ways as the contract lists them."""
    wanted = set(search.properties)
    by_position = dict(zip(inside.tolist(), found, strict=True))
    locations, unreachable = [], []
    for i, name in enumerate(ids):
        ways = by_position.get(i)
        if ways:
            locations.append(Reached(name, [journey_entry(way, wanted) for way in ways]))
        else:
            unreachable.append(name)
    return MatrixResult(search.id, locations, unreachable)


def journey_entry(journey: Journey, wanted: set[str]) -> Entry:
    """Return what was asked for of a way."""
    entry = Entry()
    if "travel_time" in wanted:
        entry.travel_time = journey.travel_time
    if "distance" in wanted:
        entry.distance = journey.distance
    if "distance_breakdown" in wanted:
        entry.distance_breakdown = [{"mode": mode, "distance": metres} for mode, metres in journey.breakdown]
    if "fares" in wanted and journey.fares is not None:
        entry.fares = journey.fares
    if "route" in wanted:
        entry.route = {
            "departure_time": write_moment(journey.departure_time),
            "arrival_time": write_moment(journey.arrival_time),
            "parts": journey.parts,
        }
    return entry
