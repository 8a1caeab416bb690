"""
Compute the metres by mode and the prices of journeys without building routes.

They equal those of the routes of `traveltime_lab.transit.itineraries`: the legs are those of
`traveltime_lab.transit.lengths`, each with its mode. Ways to the first stop by bicycle may use ferries of the street
network, which lengths do not distinguish; where there are any, and with average headways, routes are built.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from traveltime_lab._arrays import IndexArray, Int64Array, indptr_of
from traveltime_lab.kernels.transit.journeys import Searches
from traveltime_lab.kernels.unreached import NEVER, UNREACHED
from traveltime_lab.modes.table import STREET_MODES, WALKING
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.runtime.threads import map_ahead
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.transit.fares import PaidRide, fare_book
from traveltime_lab.transit.itineraries import transit_routes
from traveltime_lab.transit.lengths import NO_WAY, JourneyLegs, JourneyLengths, in_parts, one_search_each
from traveltime_lab.transit.query import TransitQuery
from traveltime_lab.transit.travel_times import direct_labels

_HAS_FERRIES = Derived[None, bool]("streets with ferries")
_ON_FOOT = WALKING.leg


class Outline(NamedTuple):
    """
    The metres by mode and the price of a journey.

    Attributes
    ----------
    metres : dict of str to float
        As `traveltime_lab.itinerary.Route.distance_breakdown`.
    totals : dict of str to float, or None
        As `traveltime_lab.itinerary.Fares.totals`; None where the fares of the route would be None.
    """

    metres: dict[str, float]
    totals: dict[str, float] | None

    @property
    def distance(self) -> float:
        """Metres, as `traveltime_lab.itinerary.Route.distance`."""
        return sum(round(metres * 100.0) for metres in self.metres.values()) / 100.0


def outlines(
    query: TransitQuery, pairs: Pairs, moments: Sequence[dt.datetime] | None = None, *, with_totals: bool = False
) -> list[Outline | None]:
    """
    Return the outlines of the fastest journeys of pairs; see `traveltime_lab.transit.itineraries.transit_routes`.

    Parameters
    ----------
    query, pairs, moments
        As there.
    with_totals : bool, default False
        Whether to compute prices; otherwise those of journeys with rides are None.

    Returns
    -------
    list of Outline or None, of length n_pairs
        None for pairs without a journey within the limit.
    """
    found: list[Outline | None] = [None] * len(pairs)
    if not found:
        return found
    is_by_ferry = query.transportation.access.uses_ferry and _has_ferries(query.layer.streets)
    if is_by_ferry or not query.has_exact_headways:
        for pair, route, _ in transit_routes(query, pairs, moments):
            found[pair] = Outline(route.distance_breakdown, None if route.fares is None else route.fares.totals)
        return found
    is_arrival = query.is_arrival
    searched = pairs.reversed() if is_arrival else pairs
    near, far, near_of, far_of = searched.starts, searched.ends, searched.origin_of, searched.destination_of
    search = query.search()
    starts = np.full(near_of.size, query.at(search), np.int64)
    if moments is not None:
        starts += [round((when.timestamp() - query.moment.timestamp()) * 1000) for when in moments]
    near_links, far_links = query.links(near, is_origin=not is_arrival), query.links(far, is_origin=is_arrival)
    lengths = JourneyLengths.of(query, search, near, far, near_links, far_links)
    walked = direct_labels(query, pairs)
    walk_ms = np.where(walked == UNREACHED, NEVER, label_parts.ms(walked))
    builder = _OutlineBuilder(query, lengths, with_totals=with_totals)

    def outline(searches: Sequence[IndexArray]) -> None:
        rows, first = np.concatenate(searches), [each[0] for each in searches]
        limits = np.full(len(searches), query.options.travel_limit, np.int32)
        indptr, bounds = indptr_of(np.array([each.size for each in searches])), walk_ms[rows].astype(np.int32)
        journeys = lengths.fastest(Searches(near_of[first], starts[first], limits, indptr, far_of[rows], bounds))
        is_ridden = journeys.ms < bounds
        for row in rows[~is_ridden & (walk_ms[rows] != NEVER)].tolist():
            found[row] = Outline(_metres({_ON_FOOT: label_parts.cm(int(walked[row]))}), {})
        ridden = np.flatnonzero(is_ridden)
        if ridden.size:
            legs = lengths.legs_of(journeys, ridden)
            for row, each in zip(rows[ridden].tolist(), builder.outlines(legs), strict=True):
                found[row] = each

    for _ in map_ahead(outline, in_parts(one_search_each(near_of, starts))):
        checkpoint()
    return found


def _has_ferries(streets: StreetLayer) -> bool:
    """Return whether any edge is a ferry."""
    t = streets.tables
    return _HAS_FERRIES.of(streets, None, lambda: bool(t.uses["is_ferry"].to_numpy()[t.edge_use].any()))


class _OutlineBuilder:
    """Computes the metres by mode and the prices of journeys from their legs."""

    def __init__(self, query: TransitQuery, lengths: JourneyLengths, *, with_totals: bool) -> None:
        self.is_arrival, self.timetable = query.is_arrival, query.layer.timetable
        self.with_totals, self.fares = with_totals, fare_book(query.layer)
        self.reference = lengths.search.table.reference
        self.ride_modes: list[str] = self.timetable.routes["mode"].tolist()
        access = STREET_MODES[query.transportation.access.base].leg
        self.near_mode, self.far_mode = (_ON_FOOT, access) if self.is_arrival else (access, _ON_FOOT)

    def outlines(self, legs: JourneyLegs) -> list[Outline]:
        """Return the outline of each journey."""
        by_leg = self._modes(legs)
        last = legs.forest.last.tolist()
        totals: dict[int, dict[str, float] | None] = dict.fromkeys(last)
        if self.with_totals:
            totals = self._totals(legs)
        return [
            Outline(_metres(self._in_order(by_leg[leg].items(), _way(self.far_mode, cm))), totals[leg])
            for leg, cm in zip(last, legs.link_cm.tolist(), strict=True)
        ]

    def _in_order(self, *parts: Iterable[tuple[str, int]]) -> dict[str, int]:
        """Return the centimetres by mode, in order of first use, of parts from the point of the search outwards."""
        total: dict[str, int] = {}
        for part in parts[::-1] if self.is_arrival else parts:
            for mode, cm in part:
                total[mode] = total.get(mode, 0) + cm
        return total

    def _modes(self, legs: JourneyLegs) -> list[dict[str, int]]:
        """Return for each leg the centimetres by mode from the point of the search to its far end."""
        route_of = self.timetable.hot.trip_route
        ridden = [
            (self.ride_modes[route], cm)
            for route, cm in zip(route_of[legs.calls[:, 0]].tolist(), legs.calls[:, 3].tolist(), strict=True)
        ]
        begins, befores, ways = legs.indptr.tolist(), legs.forest.before.tolist(), legs.joint_cm.tolist()
        by_leg: list[dict[str, int]] = []
        for leg, (before, cm) in enumerate(zip(befores, ways, strict=True)):
            way = _way(self.near_mode if before < 0 else _ON_FOOT, cm)
            earlier: Iterable[tuple[str, int]] = by_leg[before].items() if before >= 0 else ()
            by_leg.append(self._in_order(earlier, way, ridden[begins[leg] : begins[leg + 1]]))
        return by_leg

    def _totals(self, legs: JourneyLegs) -> dict[int, dict[str, float] | None]:
        """Return the price of the journeys that end with each of the last legs."""
        begins, calls = legs.indptr.tolist(), legs.calls[:, :3].tolist()
        departures: Int64Array = self.reference + legs.forest.rides.departure.astype(np.int64) // 1000
        rides: list[tuple[PaidRide, ...]] = []
        for leg, (before, leaves) in enumerate(zip(legs.forest.before.tolist(), departures.tolist(), strict=True)):
            trips = [(trip, first, last) for trip, first, last in calls[begins[leg] : begins[leg + 1]]]
            ride = (PaidRide.of(self.timetable, trips, (), leaves),)
            earlier = rides[before] if before >= 0 else ()
            rides.append(ride + earlier if self.is_arrival else earlier + ride)
        return {leg: self.fares.totals(rides[leg]) for leg in set(legs.forest.last.tolist())}


def _way(mode: str, cm: int) -> tuple[tuple[str, int], ...]:
    """Return a way on streets as parts of a journey."""
    return () if cm == NO_WAY else ((mode, cm),)


def _metres(cm: dict[str, int]) -> dict[str, float]:
    """Return the metres by mode, without modes of no length."""
    return {mode: total / 100.0 for mode, total in cm.items() if total}
