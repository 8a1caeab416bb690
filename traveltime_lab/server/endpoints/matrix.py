"""Answers about travel times between places."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from traveltime_lab._arrays import FloatArray, Int64Array
from traveltime_lab.limits import MAX_ROUTE_TIME_S
from traveltime_lab.network.network import Network
from traveltime_lab.rounding import half_up
from traveltime_lab.search.pair_times import poured, reachable_pairs
from traveltime_lab.search.properties import wants_length
from traveltime_lab.search.query import Query
from traveltime_lab.search.routes import find_routes
from traveltime_lab.server.context import Call
from traveltime_lab.server.contract.properties import number_values
from traveltime_lab.server.contract.requests import FastMatrixRequest, LocatedSearch, MatrixRequest
from traveltime_lab.server.endpoints.locations import Places
from traveltime_lab.server.endpoints.routes import (
    MatrixResult,
    answer_of_choices,
    listed_routes,
    needs_routes,
    routes_of,
)
from traveltime_lab.server.endpoints.searches import Trips, by_search_id, each_search, question_of
from traveltime_lab.transit.outlines import outlines

#: Places to which fares are found.
_MOST_MEASURED: Final = 2_000


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
    totals : list of dict of str to float, or None, of length n, optional
        What the quickest trips cost by currency; None for a trip with a ride whose fare is not known.
    """

    reached: Int64Array
    travel_time: Int64Array
    distance: Int64Array | None
    totals: list[dict[str, float] | None] | None = None


def times(
    asked: Query,
    lng: float,
    lat: float,
    lngs: FloatArray,
    lats: FloatArray,
    limit: int,
    *,
    with_distance: bool,
    with_fares: bool = False,
) -> Times:
    """
    Return travel times between one place and many.

    Parameters
    ----------
    asked : Query
        With a window, the times are the least of it.
    lng, lat : float
        Where all trips begin; with a moment of arrival, where they end.
    lngs, lats : float64 arrays of shape (n,)
        The others.
    limit : int
        Seconds.
    with_distance : bool
        Whether to find distances.
    with_fares : bool, default False
        Whether to find fares; those of trips with vehicles or ferries only for a few thousand places.

    Returns
    -------
    Times

    Raises
    ------
    NotCoveredError
        If the one place has no street.
    """
    asked = replace(asked, needs_length=with_distance)
    trips = Trips.of(asked, lng, lat, lngs, lats)
    if not lngs.size:
        nothing = np.empty(0, np.int64)
        return Times(nothing, nothing, nothing if with_distance else None, [] if with_fares else None)
    found = reachable_pairs(asked, trips.pairs, limit)
    reached = trips.other_of(poured(found.origins), poured(found.destinations)).astype(np.int64)
    seconds = poured(found.seconds).astype(np.int64)
    metres = half_up(poured(found.metres)).astype(np.int64) if asked.needs_length else None
    totals: list[dict[str, float] | None] | None = None
    # Trips on foot, by bicycle or by car alone need no tickets.
    is_paid = with_fares and (asked.transit is not None or asked.transportation.type.endswith("+ferry"))
    if with_fares and not is_paid:
        totals = [{}] * reached.size
    if is_paid and reached.size <= _MOST_MEASURED:
        totals = _totals(trips.take(reached))
    return Times(reached, seconds, metres, totals)


def _totals(trips: Trips) -> list[dict[str, float] | None]:
    """Return what the quickest trips to the other places cost, None where it is not known."""
    transit = trips.query.transit
    if transit is not None and not transit.window:
        outlined = outlines(transit, trips.pairs, with_totals=True)
        return [None if each is None else each.totals for each in outlined]
    query = replace(trips.query.with_limit(MAX_ROUTE_TIME_S), needs_length=False)
    found = find_routes(query, trips.pairs)
    totals: list[dict[str, float] | None] = [None] * len(trips.others)
    others = trips.other_of(found.pairs.origin_of, found.pairs.destination_of)
    for other, route in zip(others, found.routes, strict=True):
        if route is not None and route.fares is not None:
            totals[other] = route.fares.totals
    return totals


def matrix_results(
    call: Call, request: MatrixRequest | FastMatrixRequest, places: Places, *, is_fast: bool
) -> list[MatrixResult]:
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

    def answer(path: str, search: LocatedSearch) -> MatrixResult:
        with call.lap("validate"):
            origin, targets = places.origin(search), places.targets(search)
            lngs, lats = places.lng[targets], places.lat[targets]
        lng, lat = float(places.lng[origin]), float(places.lat[origin])
        wanted = set(search.properties)

        def ask(network: Network, inside: Int64Array) -> MatrixResult:
            with call.lap("engine"):
                if needs_routes(search):
                    found = routes_of(network, path, search, lng, lat, lngs[inside], lats[inside])
                    return listed_routes(search, places.names(targets), inside, found)
                limit = search.travel_time
                assert limit is not None
                asked = question_of(network, path, search, limit=limit, is_fast=is_fast)
                with_distance = wants_length(wanted) or "distance_breakdown" in wanted
                answered = times(
                    asked, lng, lat, lngs[inside], lats[inside], limit,
                    with_distance=with_distance, with_fares="fares" in wanted,
                )  # fmt: skip
            return listed(asked, inside, answered)

        def listed(asked: Query, inside: Int64Array, answered: Times) -> MatrixResult:
            with call.lap("encode"):
                reached = inside[answered.reached]
                numbers = number_values(wanted, answered.travel_time, answered.distance)
                breakdown = None
                if answered.distance is not None and "distance_breakdown" in wanted:
                    breakdown = asked.transportation.street.leg, answered.distance
                is_lost = np.ones(targets.size, dtype=bool)
                is_lost[reached] = False
                return MatrixResult(
                    search.id,
                    places.reached(targets[reached], numbers, breakdown, answered.totals, is_fast=is_fast),
                    places.names(targets[is_lost]),
                )

        return answer_of_choices(call.atlas, search, lng, lat, lngs, lats, ask)

    return by_search_id(each_search(request, LocatedSearch, answer))
