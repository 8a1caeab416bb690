"""
Pareto-optimal journeys by transit: by travel time, emissions, fares and number of rides.

`pareto_journeys` searches one pair with `traveltime_lab.kernels.transit.pareto`, and builds the routes of the journeys
that it finds. Fares are those of `traveltime_lab.transit.fares`, for all rides of a journey together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from traveltime_lab._arrays import FloatArray, Int32Array, Int64Array, unique_values
from traveltime_lab.errors import LimitError, UnsupportedError
from traveltime_lab.itinerary import Route, timed, unpaid
from traveltime_lab.kernels.transit import pareto
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.modes.costs import Costs
from traveltime_lab.rounding import most_ms
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.transit.emissions import factor, milligrams, trip_factors
from traveltime_lab.transit.fares import total_in
from traveltime_lab.transit.itineraries import ItineraryBuilder, Rides
from traveltime_lab.transit.legs import Itineraries
from traveltime_lab.transit.lengths import StreetSide
from traveltime_lab.transit.query import TransitQuery
from traveltime_lab.transit.raptor import TransitSearch
from traveltime_lab.transit.ride_lengths import known_lengths, trip_lines
from traveltime_lab.transit.stop_reach import array
from traveltime_lab.transit.timetable import Timetable

#: Most labels of a search (assumed): each is compared with those of its stop, so that time grows with the square.
MOST_LABELS: Final = 250_000
#: Units of money of the kernel: 1e-4 of the currency.
_MONEY: Final = 1e4


@dataclass(frozen=True)
class ParetoSearch:
    """
    Searches of pairs by several criteria.

    Attributes
    ----------
    query : TransitQuery
        A departure without a window.
    costs : Costs
    currency : str, optional
        The currency of costs.
    with_grams, with_money : bool
        Whether emissions and costs are criteria.
    step_mg : int
        Milligrams of a step, in which emissions of rides are compared.
    """

    query: TransitQuery
    costs: Costs
    currency: str | None
    with_grams: bool
    with_money: bool
    step_mg: int

    def check(self) -> None:
        """
        Raise an error for what cannot be searched.

        Raises
        ------
        UnsupportedError
        """
        query = self.query
        query.check_headways("Pareto-optimal routes")
        walking = query.transportation.egress.base
        if self.with_grams and factor(self.costs, walking) != 0.0:
            msg = (
                f"Pareto-optimal routes need a factor of 0 for {walking}; got {self.costs.grams_per_km(walking)!r}. "
                "Leave emissions out of criteria, or the factor of walking out of costs"
            )
            raise UnsupportedError(msg)
        has_toll = bool(query.layer.streets.tables.uses["is_toll"].any())
        if self.with_money and query.transportation.street.has_traffic and has_toll:
            msg = (
                f"costs of transportation {query.transportation.type!r} have tolls, which are known for whole routes "
                "only; leave cost out of criteria"
            )
            raise UnsupportedError(msg)

    def routes(self, pairs: Pairs) -> Iterator[tuple[int, list[Route]]]:
        """
        Yield the position of each pair with routes, and the routes; those of a pair differ in some criterion.

        Routes that are beaten in all criteria may be among them.

        Raises
        ------
        LimitError
            If a search has too many partial journeys.
        """
        self.check()
        query = self.query
        search, builder = query.search(), ItineraryBuilder(query, pairs)
        tariff = self.tariff(search)
        egress = query.links(pairs.ends, is_origin=False)
        walked = builder.on_foot(pairs)
        for pair in range(len(pairs)):
            checkpoint()
            found: list[Route] = []
            limit = most_ms(query.limit)
            if pair in walked:
                legs, label = walked[pair]
                found.append(timed(legs, query.moment, is_arrival=False, fares=unpaid(legs)))
                # Nothing is better than a walk but what is faster.
                limit = min(limit, int(label_parts.ms(label)) - 1)
            stops, ms = egress.of(int(pairs.destination_of[pair]))
            far = np.full(search.table.n_stops, NEVER, np.int32)
            np.minimum.at(far, stops, ms.astype(np.int32))
            labels = self._labels(search, tariff, pairs, pair, far, limit)
            found += self._built(search, builder, pair, labels, far)
            if found:
                yield pair, found

    def tariff(self, search: TransitSearch) -> pareto.Tariff:
        """Return the emissions of rides on the trip instances of a search, and the facts that fares depend on."""
        timetable, table = self.query.layer.timetable, search.table
        trip, n_runs = table.instance_trip, table.instance_trip.size
        grams, course = np.zeros(n_runs), np.zeros(n_runs, np.int64)
        if self.with_grams:
            grams = trip_factors(timetable, self.costs)[trip]
            course = timetable.trips["course_idx"].to_numpy()[trip].astype(np.int64)
        signature, zone, with_times = np.zeros(n_runs, np.int64), np.zeros(table.n_stops, np.int64), False
        if self.with_money:
            signature, zone, with_times = fare_signatures(timetable, trip)
        # Instances that continue as others, and those whose hour matters for the fare, are like no others.
        own = np.where((table.stay_instance >= 0) | with_times, np.arange(n_runs), -1)
        pattern = search.lines(is_arrival=False).run_pattern.astype(np.int64)
        keys = np.column_stack([pattern, grams.view(np.int64), course, signature, own])
        kinds, kind_of = np.unique(keys, axis=0, return_inverse=True)
        n_classes = np.bincount(kinds[:, 0], minlength=table.pattern_indptr.size - 1)
        with_signatures = with_times or unique_values(signature).size > 1 or bool((zone != zone[:1]).any())
        # The cheapest tickets for more rides may be in the currency of costs, those for fewer in another.
        with_signatures |= self.with_money and has_currencies(timetable)
        return pareto.Tariff(
            grams, kind_of.ravel().astype(np.int32), n_classes.astype(np.int32), signature, zone,
            int(zone.max(initial=0)) + 1, self.step_mg, with_signatures, with_times,
        )  # fmt: skip

    def _labels(
        self,
        search: TransitSearch,
        tariff: pareto.Tariff,
        pairs: Pairs,
        pair: int,
        far: Int32Array,
        limit: int,
    ) -> Int64Array:
        """Return all labels of the search of a pair; see `pareto.pareto_labels`."""
        query, begin = self.query, self.query.at(search)
        snaps = pairs.starts.one(int(pairs.origin_of[pair]))
        links = query.links(snaps, is_origin=True)
        cm = np.zeros(links.stops.size, np.int64)
        if not query.is_walked_to:
            side = StreetSide.of(query, snaps, links, is_origin=True)
            cm = np.maximum(side.link_lengths(np.arange(cm.size), np.zeros(cm.size, np.intp), by_stop=False), 0)
        base = query.transportation.access.base
        mg = milligrams(cm, factor(self.costs, base)) if self.with_grams else np.zeros_like(cm)
        steps = (2 * mg + self.step_mg) // (2 * self.step_mg)
        price = self.costs.money_per_km(base)
        spent = np.zeros(cm.size)
        if self.with_money:
            # A way that is priced at an unknown rate is worse than all with a known cost.
            spent = np.where(cm > 0, pareto.UNKNOWN, 0) if price is None else np.round(cm * (price * _MONEY / 1e5))
        access = pareto.Access(
            array(links.stops, np.int32), (links.ms + begin).astype(np.int32),
            np.where(mg < 0, pareto.UNKNOWN, steps), spent.astype(np.int64),
        )  # fmt: skip
        table, options = search.table, query.options
        found, is_complete = pareto.pareto_labels(
            search.lines(is_arrival=False), trip_lines(query.layer), known_lengths(query.layer),
            (array(table.instance_trip, np.int32), array(table.stay_instance, np.int32)), tariff, access, far,
            begin + limit, options.max_rides, options.change_delay, MOST_LABELS,
        )  # fmt: skip
        if not is_complete:
            msg = (
                f"a search by several criteria has more than {MOST_LABELS:,} partial journeys; reduce travel_time or "
                "max_changes, or leave out one of the criteria, cost first"
            )
            raise LimitError(msg)
        labels: Int64Array = found
        return labels

    def _built(
        self, search: TransitSearch, builder: ItineraryBuilder, pair: int, labels: Int64Array, far: Int32Array
    ) -> list[Route]:
        """Return the routes of the labels from which the destination is reached, without those certainly beaten."""
        begin = self.query.at(search)
        at = np.flatnonzero(labels[:, pareto.ALIVE] == 1)
        at = at[far[labels[at, pareto.STOP]] < NEVER]
        ms = labels[at, pareto.TIME] + far[labels[at, pareto.STOP]] - begin
        at, ms = at[ms <= most_ms(self.query.limit)], ms[ms <= most_ms(self.query.limit)]
        if not at.size:
            return []
        journeys = journeys_of(search, labels, at)
        money = np.zeros(at.size)
        if self.with_money:
            totals = [builder.fares.totals(builder.paid_rides(search.table, journeys, row)) for row in range(at.size)]
            sums = [None if each is None else total_in(each, self.currency) for each in totals]
            spent = labels[at, pareto.SPENT]
            money = np.array(sums, np.float64) + spent / _MONEY
            money[np.isnan(money) | (spent >= pareto.UNKNOWN)] = np.inf
        criteria = np.column_stack([ms, labels[at, pareto.STEPS], money, labels[at, pareto.RIDES]])
        kept = unbeaten(criteria)
        rides = Rides(search.table, journeys, None)
        return [builder.ridden(rides, row, pair, int(ms[row]), self.query.moment) for row in kept.tolist()]


def unbeaten(criteria: FloatArray) -> Int64Array:
    """
    Return the rows that no other row beats, best first: no worse in all columns, and better in one or earlier.

    Parameters
    ----------
    criteria : float64 array of shape (n_rows, n_criteria)
        Smaller is better.
    """
    order = np.lexsort((np.arange(len(criteria)), *criteria.T[::-1]))
    kept: list[int] = []
    for row in order.tolist():
        # Rows are sorted, so that none is beaten by a later one.
        if not kept or not (criteria[kept] <= criteria[row]).all(axis=1).any():
            kept.append(row)
    return np.array(kept, np.int64)


def journeys_of(search: TransitSearch, labels: Int64Array, at: Int64Array) -> Itineraries:
    """Return the rides of the journeys that end with some labels."""
    chains = []
    for label in at.tolist():
        chain = [label]
        while labels[chain[-1], pareto.BEFORE] >= 0:
            chain.append(int(labels[chain[-1], pareto.BEFORE]))
        chains.append(chain[::-1])
    rows = labels[[label for chain in chains for label in chain]]
    t, run_pattern = search.table, search.lines(is_arrival=False).run_pattern

    def calls(run: Int64Array, position: Int64Array) -> tuple[Int32Array, Int64Array]:
        p = run_pattern[run]
        size = np.diff(t.pattern_indptr)[p]
        return t.pattern_stops[t.pattern_indptr[p] + position], t.time_indptr[p] + (
            run - t.instance_indptr[p]
        ) * size + position

    board = rows[:, pareto.BOARD_RUN], rows[:, pareto.BOARD_POSITION]
    alight = rows[:, pareto.ALIGHT_RUN], rows[:, pareto.ALIGHT_POSITION]
    (board_stop, leaves), (alight_stop, arrives) = calls(*board), calls(*alight)
    board_run, board_position, alight_run, alight_position = (each.astype(np.int32) for each in (*board, *alight))
    return Itineraries(
        np.cumsum([0, *map(len, chains)]), board_run, board_position, alight_run, alight_position, board_stop,
        alight_stop, t.departure[leaves], t.arrival[arrives],
    )  # fmt: skip


def fare_signatures(timetable: Timetable, trip: Int32Array) -> tuple[Int64Array, Int64Array, bool]:
    """
    Return the facts that fares depend on, of trip instances and of stops, and whether tickets expire.

    Parameters
    ----------
    timetable : Timetable
    trip : int32 array of shape (n_runs,)
        trip_idx of the trip instances.

    Returns
    -------
    signature : int64 array of shape (n_runs,)
        Equal for routes that no fare tells apart; -1 if fares depend on more, such as all zones along the way.
    zone : int64 array of shape (n_stops,)
        Equal for stops that no fare tells apart.
    with_times : bool
    """
    fares, rules, hot = timetable.fare_attributes, timetable.fare_rules, timetable.hot
    n_stops = len(timetable.stops)
    may_expire = bool(((fares["transfer_duration"] >= 0) & (fares["transfers"] != 0)).any())
    if (rules["contains_id"] != "").any() or (may_expire and has_currencies(timetable)):
        return np.full(trip.size, -1, np.int64), np.zeros(n_stops, np.int64), True
    columns = [hot.trip_feed[trip].astype(np.int64)]
    if (fares["agency_idx"] >= 0).any():
        columns.append(timetable.routes["agency_idx"].to_numpy()[hot.trip_route[trip]].astype(np.int64))
    if (rules["route_idx"] >= 0).any():
        columns.append(hot.trip_route[trip].astype(np.int64))
    signature = np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].ravel().astype(np.int64)
    zone = np.zeros(n_stops, np.int64)
    if (rules["origin_id"] != "").any() or (rules["destination_id"] != "").any():
        zone = np.unique(timetable.stops["zone_id"].astype(str), return_inverse=True)[1].astype(np.int64)
    return signature, zone, may_expire


def has_currencies(timetable: Timetable) -> bool:
    """Return whether there are fares in several currencies."""
    return bool(timetable.fare_attributes["currency_type"].nunique() > 1)
