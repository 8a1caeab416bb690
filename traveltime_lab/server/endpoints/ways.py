"""
Ways between the place of a search and others, with the properties that the search requests.

`find_ways` takes the least that is enough: the arrays of a matrix, outlines of journeys, or whole routes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, repeat
from typing import Any, Final

import numpy as np
from msgspec import UNSET

from traveltime_lab._arrays import FloatArray, Int64Array
from traveltime_lab.itinerary import Alert, Route
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.limits import MAX_ROUTE_TIME_S
from traveltime_lab.modes.costs import Costs
from traveltime_lab.modes.table import MODES
from traveltime_lab.rounding import half_up
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.search.pair_times import pair_times, poured, reachable_pairs
from traveltime_lab.search.pairs import metres_of, seconds_of
from traveltime_lab.search.properties import charged, wants_length
from traveltime_lab.search.query import Query
from traveltime_lab.search.routes import find_routes
from traveltime_lab.search.trip_costs import currencies, needs_routes, of_routes
from traveltime_lab.server.contract.moments import write_moment
from traveltime_lab.server.contract.properties import ON_THE_WIRE, number_values
from traveltime_lab.server.contract.responses import Properties
from traveltime_lab.server.endpoints.fares import fares_entry, part_begins, tickets_total
from traveltime_lab.server.endpoints.searches import Trips
from traveltime_lab.transit.outlines import outlines

#: Places to which fares are found without routes.
_MOST_MEASURED: Final = 2_000
#: Costs of a kilometre without those of a service: emissions by the factors that have a source, and no prices.
USUAL_COSTS: Final = Costs()
_NOTHING: Final = np.empty(0, np.int64)


@dataclass(frozen=True)
class Ways:
    """
    Ways between one place and others. Ways to the same place are neighbours, the quickest first.

    Attributes
    ----------
    other : int64 array of shape (n,)
        Position of the other place of each way, ascending.
    travel_time : int64 array of shape (n,)
        Seconds.
    distance : int64 array of shape (n,), optional
        Metres.
    breakdowns : list of length n, optional
        Metres by mode as in docs/contract.md, 6.2.
    totals : list of dict of str to float, or None, of length n, optional
        Cost of trips by currency; None for a trip with a ride of unknown fare.
    routes : list of Route, of length n, optional
    charges : dict of str to float64 array of shape (n,)
        Emissions and costs that are requested; NaN where they are not known.
    currency : str, optional
        That of the costs.
    """

    other: Int64Array
    travel_time: Int64Array
    distance: Int64Array | None = None
    breakdowns: list[list[dict[str, Any]]] | None = None
    totals: list[dict[str, float] | None] | None = None
    routes: list[Route] | None = None
    charges: Mapping[str, FloatArray] = field(default_factory=dict)
    currency: str | None = None

    def entries(self, requested: Collection[str]) -> Iterator[Properties]:
        """Return the requested properties of each way."""
        known: dict[str, Iterable[object]] = {**number_values(requested, self.travel_time, self.distance)}
        if self.breakdowns is not None:
            known["distance_breakdown"] = self.breakdowns
        if self.totals is not None:
            known["fares"] = [UNSET if each is None else {"tickets_total": tickets_total(each)} for each in self.totals]
        if self.routes is not None and "fares" in requested:
            known["fares"] = [fares_entry(route) or UNSET for route in self.routes]
        for name, values in self.charges.items():
            write: Callable[[float], Any] = self._money if name == "cost" else float
            known[name] = [UNSET if np.isnan(each) else write(each) for each in values.tolist()]
        if self.routes is not None and "route" in requested:
            known["route"] = [_route(route) for route in self.routes]
        if "alerts" in requested:
            # Ways that were found without routes have no rides.
            known["alerts"] = repeat([]) if self.routes is None else [_alerts(route) for route in self.routes]
        last = max((ON_THE_WIRE.index(name) for name in known), default=0)
        return map(Properties, *(known.get(name, repeat(UNSET, self.other.size)) for name in ON_THE_WIRE[: last + 1]))

    def _money(self, amount: float) -> dict[str, Any]:
        """Return a cost as in docs/contract.md, 4.8."""
        return {"amount": amount} if self.currency is None else {"amount": amount, "currency": self.currency}

    def by_place(self, requested: Collection[str]) -> tuple[Int64Array, Iterable[Sequence[Properties]]]:
        """Return the positions of the places that are reached, and the requested properties of the ways to each."""
        entries, first = self.entries(requested), np.flatnonzero(np.diff(self.other, prepend=-1))
        if first.size == self.other.size:
            return self.other, zip(entries, strict=True)
        every = list(entries)
        return self.other[first], (every[a:b] for a, b in pairwise([*first.tolist(), len(every)]))


def find_ways(
    trips: Trips,
    limit: int | None,
    requested: Collection[str],
    n_best: int = 1,
    *,
    is_fast: bool = False,
    costs: Costs = USUAL_COSTS,
) -> Ways:
    """
    Return the ways of a search.

    Parameters
    ----------
    trips : Trips
        With a window, the times are the least of it.
    limit : int, optional
        Seconds; None for any time that routes may take.
    requested : collection of str
        Names of properties.
    n_best : int, default 1
        Largest number of ways to a place, with a window.
    is_fast : bool, default False
        Whether fares are totals, which need no routes; those of trips with vehicles or ferries are found only for a few
        thousand places.
    costs : Costs, optional
        For emissions and costs. In which currency costs are is not known without one, where fares are in several.
    """
    if not len(trips.others):
        return Ways(_NOTHING, _NOTHING)
    if charged(requested):
        known = currencies(trips.query.network)
        if costs.currency is None and len(known) > 1:
            requested = set(requested) - {"cost"}
        elif costs.currency is None and known:
            costs = replace(costs, currency=known[0])
        trips = replace(trips, query=replace(trips.query, question=replace(trips.query.question, costs=costs)))
    is_by_mode, is_by_timetable = "distance_breakdown" in requested, trips.query.transit is not None
    is_by_ferry = not is_by_timetable and not MODES[trips.query.transportation.type].is_on_streets
    with_routes = {"route", "fares", *({"emissions", "cost", "alerts"} if is_by_timetable else ())}
    if needs_routes(trips.query, requested):
        with_routes |= {"emissions", "cost"}
    if limit is None or (not is_fast and not with_routes.isdisjoint(requested)) or (is_by_mode and is_by_ferry):
        return _routed(trips, limit, requested, n_best)
    if is_by_timetable and (is_by_mode or n_best > 1):
        return _outlined(trips, limit, requested, n_best)
    return _reached(trips, limit, requested)


def _reached(trips: Trips, limit: int, requested: Collection[str]) -> Ways:
    """Return ways with times, distances and totals."""
    charges = tuple(row.name for row in charged(requested))
    query = replace(trips.query, needs_length=wants_length(requested) or "distance_breakdown" in requested)
    if charges:
        query = replace(query, charges=charges, needs_length=True)
    found = reachable_pairs(query, trips.pairs, limit)
    other = trips.other_of(poured(found.origins), poured(found.destinations)).astype(np.int64)
    metres = half_up(poured(found.metres)).astype(np.int64) if query.needs_length else None
    breakdowns = None
    if metres is not None and "distance_breakdown" in requested:
        mode = query.transportation.street.leg
        breakdowns = [[{"mode": mode, "distance": each}] for each in metres.tolist()]
    totals = _totals(replace(trips.take(other), query=query)) if "fares" in requested else None
    return Ways(
        other, poured(found.seconds).astype(np.int64), metres, breakdowns, totals,
        charges={name: poured(parts) for name, parts in found.charges.items()}, currency=_currency(query),
    )  # fmt: skip


def _currency(query: Query) -> str | None:
    """Return the currency of the costs of a query."""
    return None if query.question.costs is None else query.question.costs.currency


def _totals(trips: Trips) -> list[dict[str, float] | None] | None:
    """Return what the quickest trips to the other places cost, None where it is not known, or of too many places."""
    transit, n = trips.query.transit, len(trips.others)
    if transit is None and not trips.query.transportation.type.endswith("+ferry"):
        # Trips on foot, by bicycle or by car alone need no tickets.
        return [{}] * n
    if n > _MOST_MEASURED:
        return None
    if transit is not None and not transit.window:
        outlined = outlines(transit, trips.pairs, with_totals=True)
        return [None if each is None else each.totals for each in outlined]
    totals: list[dict[str, float] | None] = [None] * n
    found = find_routes(replace(trips.query.with_limit(MAX_ROUTE_TIME_S), needs_length=False), trips.pairs)
    others = trips.other_of(found.pairs.origin_of, found.pairs.destination_of)
    for other, route in zip(others, found.routes, strict=True):
        if route is not None and route.fares is not None:
            totals[other] = route.fares.totals
    return totals


def _outlined(trips: Trips, limit: int, requested: Collection[str], n_best: int) -> Ways:
    """Return ways by timetable with times, and with distances, also by mode."""
    is_by_mode, transit = "distance_breakdown" in requested, trips.query.transit
    assert transit is not None
    query = replace(trips.query, needs_length=wants_length(requested) and not is_by_mode)
    found = pair_times(query, trips.pairs, limit, n_best=n_best)
    rows = np.flatnonzero(found.labels != UNREACHED)
    pairs, labels = found.pairs.take(rows), found.labels[rows]
    metres = metres_of(labels) if query.needs_length else None
    breakdowns = None
    if is_by_mode:
        moments = None if found.moments is None else [found.moments[row] for row in rows.tolist()]
        outlined = [each for each in outlines(transit, pairs, moments) if each is not None]
        assert len(outlined) == rows.size  # the same journeys
        metres = np.array([each.distance for each in outlined])
        breakdowns = [_by_mode(each.metres) for each in outlined]
    other = trips.other_of(pairs.origin_of, pairs.destination_of)
    seconds = seconds_of(labels).astype(np.int64)
    return Ways(other, seconds, None if metres is None else half_up(metres).astype(np.int64), breakdowns)


def _routed(trips: Trips, limit: int | None, requested: Collection[str], n_best: int) -> Ways:
    """Return ways with whole routes."""
    reached = np.arange(len(trips.others))
    if limit is not None:
        # A matrix is quicker than routes to places that are not within the limit.
        within = reachable_pairs(replace(trips.query, needs_length=False), trips.pairs, limit)
        reached = trips.other_of(poured(within.origins), poured(within.destinations)).astype(np.intp)
        if not reached.size:
            return Ways(_NOTHING, _NOTHING)
    trips = replace(trips.take(reached), query=trips.query.with_limit(MAX_ROUTE_TIME_S))
    found = find_routes(trips.query, trips.pairs, n_best=n_best)
    other = reached[trips.other_of(found.pairs.origin_of, found.pairs.destination_of)]
    is_kept = [each is not None and (limit is None or each.travel_time <= limit) for each in found.routes]
    kept = np.flatnonzero(is_kept)
    routes: list[Route] = found.routes[kept].tolist()
    metres = np.array([route.distance for route in routes])
    breakdowns = None
    if "distance_breakdown" in requested:
        breakdowns = [_by_mode(route.distance_breakdown) for route in routes]
    seconds = np.array([route.travel_time for route in routes], np.int64)
    return Ways(
        other[kept], seconds, half_up(metres).astype(np.int64), breakdowns, routes=routes,
        charges=of_routes(trips.query, routes, requested) if charged(requested) else {},
        currency=_currency(trips.query),
    )  # fmt: skip


def _by_mode(breakdown: dict[str, float]) -> list[dict[str, Any]]:
    """Return metres by mode as in docs/contract.md, 6.2."""
    return [{"mode": mode, "distance": int(half_up(metres))} for mode, metres in breakdown.items()]


def _route(route: Route) -> Any:
    """Return a route as in docs/contract.md, 6.4."""
    checkpoint()
    if route.departure_time is None or route.arrival_time is None:
        return UNSET
    parts = route.parts()
    for before, after in pairwise(parts):
        # Ends that are one place may differ in their last bit; clients compare them.
        after["coords"][0] = before["coords"][-1]
    return {
        "departure_time": write_moment(route.departure_time),
        "arrival_time": write_moment(route.arrival_time),
        "parts": parts,
    }


def _alerts(route: Route) -> list[dict[str, Any]]:
    """Return the alerts about the rides of a route as in docs/contract.md, 6.4.1."""
    begins = part_begins(route)
    parts: dict[Alert, list[int]] = {}
    for i, leg in enumerate(route.legs):
        for alert in leg.ride.alerts if leg.ride is not None else ():
            parts.setdefault(alert, []).extend(range(begins[i], begins[i + 1]))
    return [
        {
            "route_part_ids": ids,
            "effect": alert.effect,
            "cause": alert.cause,
            **{name: text for name in ("header", "description", "url") if (text := getattr(alert, name))},
        }
        for alert, ids in parts.items()
    ]
