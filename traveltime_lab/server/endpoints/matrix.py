"""Answers about travel times and routes between places."""

from __future__ import annotations

import msgspec
import numpy as np

from traveltime_lab._arrays import BoolArray
from traveltime_lab.limits import MAX_ROUTE_TIME_S
from traveltime_lab.server.atlas import Map
from traveltime_lab.server.context import Call
from traveltime_lab.server.contract.errors import NO_FARES, NOT_COVERED, SearchFailure
from traveltime_lab.server.contract.requests import FastMatrixSearch, LocatedRequest, LocatedSearch
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
    most_ways,
    question_of,
)
from traveltime_lab.server.endpoints.ways import find_ways


class MatrixResult(msgspec.Struct):
    """The answer to one search."""

    search_id: str
    locations: list[Reached]
    unreachable: list[str]


def matrix_results(call: Call, request: LocatedRequest, places: Places) -> list[MatrixResult]:
    """
    Return the ways of a request's searches, sorted by search id.

    Parameters
    ----------
    call : Call
        Keeps the time: a large answer takes as long to put together as to find.
    request : LocatedRequest
    places : Places
        That checked the request.
    """

    def answer(path: str, search: LocatedSearch) -> MatrixResult:
        with call.lap("validate"):
            origin, targets = places.origin(search), places.targets(search)
            lngs, lats = places.lng[targets], places.lat[targets]
        lng, lat = float(places.lng[origin]), float(places.lat[origin])
        requested, limit, is_fast = set(search.properties), search.travel_time, isinstance(search, FastMatrixSearch)

        def ask(choice: tuple[Map, BoolArray]) -> MatrixResult:
            item, inside = choice[0], np.flatnonzero(choice[1])
            if "fares" in requested and not item.has_fares:
                raise RefusedError(NO_FARES, search.id)
            with call.lap("engine"):
                longest = MAX_ROUTE_TIME_S if limit is None else limit
                query = question_of(item.network, path, search, limit=longest, is_fast=is_fast)
                trips = Trips.of(query, lng, lat, lngs[inside], lats[inside])
                ways = find_ways(trips, limit, requested, most_ways(search), is_fast=is_fast, costs=call.costs)
            with call.lap("encode"):
                # The fast endpoints give one object, not a list, for each place.
                others, entries = (ways.other, ways.entries(requested)) if is_fast else ways.by_place(requested)
                reached = inside[others]
                locations = list(map(Reached, places.names(targets[reached]), entries))
                is_lost = np.ones(targets.size, dtype=bool)
                is_lost[reached] = False
                return MatrixResult(search.id, locations, places.names(targets[is_lost]))

        choices = call.atlas.choices(lng, lat, lngs, lats, margin_of(search))
        if not choices:
            covered = call.atlas.covering(lng, lat, margin_of(search))
            raise SearchFailure(NOT_COVERED, search.id, ON_TWO_MAPS if covered else ON_NO_MAP)
        return first_answer(choices, ask)

    return by_search_id(each_search(request, LocatedSearch, answer))
