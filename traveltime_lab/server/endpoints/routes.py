"""Answers about routes from door to door."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from traveltime_lab._arrays import BoolArray, FloatArray, Int64Array
from traveltime_lab.itinerary import Route
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.limits import MAX_ROUTE_TIME_S
from traveltime_lab.network.network import Network
from traveltime_lab.rounding import half_up
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.search.pair_times import pair_times, poured, reachable_pairs
from traveltime_lab.search.pairs import metres_of, seconds_of
from traveltime_lab.search.properties import numbers, wants_length
from traveltime_lab.search.routes import find_routes
from traveltime_lab.server.atlas import Atlas, Map
from traveltime_lab.server.contract.errors import NO_FARES, NOT_COVERED, SearchFailure
from traveltime_lab.server.contract.moments import write_moment
from traveltime_lab.server.contract.properties import number_values
from traveltime_lab.server.contract.requests import FastMatrixSearch, LocatedSearch, RoutesRequest, Search
from traveltime_lab.server.contract.responses import Properties
from traveltime_lab.server.contract.transportation import type_of
from traveltime_lab.server.endpoints.fares import fares_entry
from traveltime_lab.server.endpoints.locations import Places, Reached
from traveltime_lab.server.endpoints.searches import (
    ON_NO_MAP,
    ON_TWO_MAPS,
    RefusedError,
    Trips,
    by_search_id,
    each_search,
    first_answer,
    margin_of,
    question_of,
    window_of,
)
from traveltime_lab.transit.outlines import outlines


class MatrixResult(msgspec.Struct):
    """The answer to one search."""

    search_id: str
    locations: list[Reached]
    unreachable: list[str]


@dataclass(frozen=True)
class Way:
    """
    One way from a place to another.

    Attributes
    ----------
    travel_time : int
        Seconds.
    route : Route or None
        None where only the time and the distance are wanted.
    distance : int, optional
        Metres, if there is no route and they are wanted.
    breakdown : dict of str to float, optional
        Metres by mode, likewise.
    """

    travel_time: int
    route: Route | None
    distance: int | None = None
    breakdown: dict[str, float] | None = None


def answer_of_choices(
    atlas: Atlas,
    search: LocatedSearch,
    lng: float,
    lat: float,
    lngs: FloatArray,
    lats: FloatArray,
    answer: Callable[[Network, Int64Array], MatrixResult],
) -> MatrixResult:
    """Return the answer of the first map that does not refuse a search, given the positions of its targets there."""

    def ask(choice: tuple[Map, BoolArray]) -> MatrixResult:
        item, inside = choice
        if "fares" in search.properties and not item.has_fares:
            raise RefusedError(NO_FARES, search.id)
        return answer(item.network, np.flatnonzero(inside))

    choices = atlas.choices(lng, lat, lngs, lats, margin_of(search))
    if not choices:
        covered = atlas.covering(lng, lat, margin_of(search))
        raise SearchFailure(NOT_COVERED, search.id, ON_TWO_MAPS if covered else ON_NO_MAP)
    return first_answer(choices, ask)


def needs_routes(search: Search) -> bool:
    """Return whether ways have to be found one by one with `routes_of`, not only times and distances of a matrix."""
    # The fast endpoints get what `matrix.times` knows.
    if isinstance(search, FastMatrixSearch):
        return False
    wanted = set(search.properties or ())
    if not wanted.isdisjoint(("route", "fares")):
        return True
    window = window_of(search)
    if window is not None and (window.max_results or 1) > 1:
        return True
    return "distance_breakdown" in wanted and not type_of(search.transportation).is_on_streets


def route_results(atlas: Atlas, request: RoutesRequest, places: Places) -> list[MatrixResult]:
    """Return the routes of a request's searches, sorted by search id."""

    def answer(path: str, search: LocatedSearch) -> MatrixResult:
        origin, targets = places.origin(search), places.targets(search)
        lngs, lats = places.lng[targets], places.lat[targets]
        lng, lat = float(places.lng[origin]), float(places.lat[origin])

        def ask(network: Network, inside: Int64Array) -> MatrixResult:
            found = routes_of(network, path, search, lng, lat, lngs[inside], lats[inside])
            return listed_routes(search, places.names(targets), inside, found)

        return answer_of_choices(atlas, search, lng, lat, lngs, lats, ask)

    return by_search_id(each_search(request, LocatedSearch, answer))


def routes_of(
    network: Network, path: str, search: Search, lng: float, lat: float, lngs: FloatArray, lats: FloatArray
) -> list[list[Way]]:
    """
    Return the ways that a search asks for, between its place and others.

    Returns
    -------
    list of lists of Way
        One list for each of the others, quickest first; empty where there is none.

    Raises
    ------
    NotCoveredError
        If the place has no street.
    """
    limit, window = search.travel_time, window_of(search)
    n_best = 1 if window is None else window.max_results or 1
    asked = question_of(network, path, search, limit=limit or MAX_ROUTE_TIME_S)
    trips = Trips.of(asked, lng, lat, lngs, lats)
    ways: list[list[Way]] = [[] for _ in range(lngs.size)]
    if not lngs.size:
        return ways
    wanted = set(search.properties or ())
    known = {row.name for row in numbers(wanted)} | (set() if asked.transit is None else {"distance_breakdown"})
    if limit is not None and wanted and wanted <= known:
        timed = replace(asked, needs_length=wants_length(wanted) and "distance_breakdown" not in wanted)
        found = pair_times(timed, trips.pairs, limit, n_best=n_best)
        others, seconds = trips.other_of(found.pairs.origin_of, found.pairs.destination_of), seconds_of(found.labels)
        rows = np.flatnonzero(found.labels != UNREACHED)
        metres: list[float | None] = (
            metres_of(found.labels[rows]).tolist() if timed.needs_length else [None] * rows.size
        )
        parts: list[dict[str, float] | None] = [None] * rows.size
        if "distance_breakdown" in wanted:
            assert asked.transit is not None
            moments = None if found.moments is None else [found.moments[row] for row in rows.tolist()]
            outlined = outlines(asked.transit, found.pairs.take(rows), moments)
            parts = [None if each is None else each.metres for each in outlined]
            metres = [None if each is None else each.distance for each in outlined]
        for row, distance, breakdown in zip(rows.tolist(), metres, parts, strict=True):
            whole = None if distance is None or not wants_length(wanted) else whole_metres(distance)
            ways[others[row]].append(Way(int(seconds[row]), None, whole, breakdown))
        return ways
    reached = np.arange(lngs.size)
    if limit is not None:
        # A matrix is quicker than routes to places that are not within the limit.
        within = reachable_pairs(replace(asked, needs_length=False), trips.pairs, limit)
        reached = trips.other_of(poured(within.origins), poured(within.destinations)).astype(np.intp)
        if not reached.size:
            return ways
    trips = replace(trips.take(reached), query=asked.with_limit(MAX_ROUTE_TIME_S))
    answer = find_routes(trips.query, trips.pairs, n_best=n_best)
    others = trips.other_of(answer.pairs.origin_of, answer.pairs.destination_of)
    for other, route in zip(others, answer.routes, strict=True):
        mine = ways[reached[other]]
        if route is not None and (limit is None or route.travel_time <= limit):
            mine.append(Way(route.travel_time, route))
    return ways


def listed_routes(search: LocatedSearch, ids: list[str], inside: Int64Array, found: list[list[Way]]) -> MatrixResult:
    """Return ways as the contract lists them."""
    wanted = set(search.properties)
    by_position = dict(zip(inside.tolist(), found, strict=True))
    locations, unreachable = [], []
    for i, name in enumerate(ids):
        checkpoint()
        ways = by_position.get(i)
        if ways:
            locations.append(Reached(name, [way_entry(way, wanted) for way in ways]))
        else:
            unreachable.append(name)
    return MatrixResult(search.id, locations, unreachable)


def way_entry(way: Way, wanted: set[str]) -> Properties:
    """Return what was asked for of a way."""
    metres = way.distance if way.route is None else whole_metres(way.route.distance)
    values = number_values(wanted, [way.travel_time], None if metres is None else [metres])
    entry = Properties(**{name: value for name, (value,) in values.items()})
    if way.breakdown is not None:
        entry.distance_breakdown = _by_mode(way.breakdown)
    route = way.route
    if route is None:
        return entry
    if "distance_breakdown" in wanted:
        entry.distance_breakdown = _by_mode(route.distance_breakdown)
    if "fares" in wanted:
        fares = fares_entry(route)
        if fares is not None:
            entry.fares = fares
    if "route" in wanted and route.departure_time is not None and route.arrival_time is not None:
        entry.route = {
            "departure_time": write_moment(route.departure_time),
            "arrival_time": write_moment(route.arrival_time),
            "parts": _parts(route),
        }
    return entry


def _by_mode(breakdown: dict[str, float]) -> list[dict[str, Any]]:
    """Return metres by mode as in docs/contract.md, 6.2."""
    return [{"mode": mode, "distance": whole_metres(metres)} for mode, metres in breakdown.items()]


def _parts(route: Route) -> list[dict[str, Any]]:
    """Return the parts of a route as in docs/contract.md, 6.4."""
    parts = route.parts()
    for before, after in pairwise(parts):
        # Ends that are one place may differ in their last bit; clients compare them.
        after["coords"][0] = before["coords"][-1]
    return parts


def whole_metres(value: float) -> int:
    """Return whole metres, rounded half up."""
    return int(half_up(value))
