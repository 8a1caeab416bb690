"""
Compute the cheapest tickets for the transit legs of an itinerary, by the rules of GTFS Fares V1.

A ticket is one fare of ``fare_attributes.txt``. It covers consecutive legs of one feed if

- the fare has no rules, or one of its rules matches the route of every leg: ``route_id`` is that route or empty,
  ``origin_id`` is the zone where the first leg is boarded or empty, ``destination_id`` is the zone where the last leg
  ends or empty, and the ``contains_id`` zones, if any, are exactly the zones of all stops of the legs;
- its ``agency_id`` is that of all legs, or empty;
- the legs have no more transfers than ``transfers``, and the last leg is boarded no later than ``transfer_duration``
  after the first.

Rows of ``fare_rules.txt`` with the same fare, route, origin and destination form one rule with all of their
``contains_id`` zones. The reference (gtfs.org, Schedule reference) requires that all of these zones are matched. As in
OpenTripPlanner (``FareRuleSet.matches``), no other zone may be entered, and the duration of a transfer ends with the
last boarding, not with the arrival. Otherwise the cheapest ticket for two zones would cover all zones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Any, Final, NamedTuple

from traveltime_lab.fares import Fares, Ticket
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.timetable import Timetable


@dataclass(frozen=True, slots=True)
class PaidRide:
    """
    The properties of a ride that fares depend on.

    A ride is one transit leg, or several between which the passenger stays seated; in this module, a leg is a ride.

    Attributes
    ----------
    legs : tuple of int
        Positions of its transit legs in the route.
    feed : int
        feed_idx.
    routes, agencies : frozenset of int
        route_idx and agency_idx of its trips; several if the vehicle continues as another trip.
    board_zone, alight_zone : str
        zone_id of the first and the last stop; "" for none.
    zones : frozenset of str
        zone_id of all stops of the leg. It contains "" if a stop has no zone, which no ``contains_id`` matches.
    board : int
        Moment of boarding, POSIX seconds.
    """

    legs: tuple[int, ...]
    feed: int
    routes: frozenset[int]
    agencies: frozenset[int]
    board_zone: str
    alight_zone: str
    zones: frozenset[str]
    board: int

    @classmethod
    def of(cls, timetable: Timetable, calls: Sequence[Call], legs: tuple[int, ...], board: int) -> PaidRide:
        """
        Return a ride.

        Parameters
        ----------
        timetable : Timetable
        calls : sequence of (int, int, int)
            trip_idx, and the positions of the first and the last stop in its pattern, of each trip of the ride.
        legs, board
            See the attributes.
        """
        t, hot, zone_of = timetable, timetable.hot, timetable.stops["zone_id"].array
        zones: list[str] = []
        for trip, first, last in calls:
            begin = int(t.pattern_indptr[hot.trip_pattern[trip]])
            zones += (str(zone_of[stop]) for stop in t.pattern_stop[begin + first : begin + last + 1].tolist())
        routes = {int(hot.trip_route[trip]) for trip, _, _ in calls}
        agency_of = t.routes["agency_idx"].array
        return cls(
            legs=legs,
            feed=int(hot.trip_feed[calls[0][0]]),
            routes=frozenset(routes),
            agencies=frozenset(int(agency_of[route]) for route in routes),
            board_zone=zones[0],
            alight_zone=zones[-1],
            zones=frozenset(zones),
            board=board,
        )


class _Fare(NamedTuple):
    """A row of fare_attributes.txt; `agency`, `transfers` and `duration` are -1 if they are not restricted."""

    row: int
    fare_id: str
    agency: int
    price: Decimal
    currency: str
    transfers: int
    duration: int


class _Cover(NamedTuple):
    """Tickets for the first legs of an itinerary: totals by currency, and (fare, first leg, leg after the last)."""

    totals: dict[str, Decimal]
    tickets: tuple[tuple[_Fare, int, int], ...]


#: trip_idx, and positions of the first and the last stop.
Call = tuple[int, int, int]
#: feed, route, origin, destination; -1 and "" for any.
_Rule = tuple[Any, ...]
_ANY: Final = frozenset[str]()


@dataclass(frozen=True)
class FareBook:
    """
    The fares of a timetable, indexed by their rules; built by `FareBook.of`.

    Parameters
    ----------
    fares : list of _Fare
    anywhere : dict of int to set of int
        Rows of the fares without rules, by feed.
    rules : dict of _Rule to list of (int, frozenset of str)
        Rows of fares, and the zones that have to be entered (empty for any).
    """

    fares: list[_Fare]
    anywhere: dict[int, set[int]]
    rules: dict[_Rule, list[tuple[int, frozenset[str]]]]

    @classmethod
    def of(cls, timetable: Timetable) -> FareBook:
        """Index the fares of a timetable."""
        table, listed = timetable.fare_attributes, timetable.fare_rules
        names = ("fare_id", "agency_idx", "price", "currency_type", "transfers", "transfer_duration")
        fares = [
            # repr returns the digits of the file, so that decimal sums are exact.
            _Fare(row, str(fare_id), int(agency), Decimal(repr(float(price))), str(currency), int(most), int(seconds))
            for row, (fare_id, agency, price, currency, most, seconds) in enumerate(
                zip(*(table[name] for name in names), strict=True)
            )
        ]
        feed_of = table["feed_idx"].tolist()
        columns = ("fare_idx", "route_idx", "origin_id", "destination_id", "contains_id")
        zones: dict[tuple[Any, ...], frozenset[str]] = {}
        for *key, zone in zip(*(listed[name].tolist() for name in columns), strict=True):
            where = tuple(key)
            known = zones.get(where, _ANY)
            zones[where] = known | {zone} if zone else known
        rules: dict[_Rule, list[tuple[int, frozenset[str]]]] = {}
        for (fare, *rest), entered in zones.items():
            rules.setdefault((feed_of[fare], *rest), []).append((fare, entered))
        anywhere: dict[int, set[int]] = {}
        for fare in set(range(len(fares))) - {fare for fare, *_ in zones}:
            anywhere.setdefault(feed_of[fare], set()).add(fare)
        return cls(fares, anywhere, rules)

    def cheapest(self, rides: Sequence[PaidRide]) -> Fares | None:
        """
        Return the cheapest tickets for all legs of an itinerary.

        Parameters
        ----------
        rides : sequence of PaidRide
            Legs in travel order.

        Returns
        -------
        Fares or None
            None if no tickets cover all legs. With several currencies the result is Pareto-optimal: no other tickets
            cost less in one currency and no more in the others. Ties go to the result with the fewest
            currencies, then to the first by names of currencies, then by amounts.

        Notes
        -----
        The cheapest tickets for the first 0, 1, 2, ... legs are computed by dynamic programming, adding one ticket to
        those for fewer legs. Tickets that are dominated in all currencies are dropped.
        """
        best = self._best(rides)
        if best is None:
            return None
        return Fares(
            tuple(
                Ticket(
                    float(fare.price),
                    fare.currency,
                    tuple(leg for ride in rides[first:end] for leg in ride.legs),
                    fare.fare_id,
                )
                for fare, first, end in best.tickets
            )
        )

    def totals(self, rides: Sequence[PaidRide]) -> dict[str, float] | None:
        """Return the `Fares.totals` of the cheapest tickets; None if no tickets cover all legs."""
        best = self._best(rides)
        return None if best is None else {currency: float(total) for currency, total in best.totals.items()}

    def _best(self, rides: Sequence[PaidRide]) -> _Cover | None:
        """Return the cheapest tickets; see `cheapest`."""
        covers: list[list[_Cover]] = [[_Cover({}, ())]]
        for end in range(1, len(rides) + 1):
            found = [
                _Cover(
                    {**cover.totals, fare.currency: cover.totals.get(fare.currency, Decimal(0)) + fare.price},
                    (*cover.tickets, (fare, first, end)),
                )
                for first in range(end)
                if covers[first]
                for fare in self._fares_for(rides[first:end])
                for cover in covers[first]
            ]
            covers.append(_unbeaten(found))
        if not covers[-1]:
            return None
        return min(covers[-1], key=lambda cover: _order(cover.totals))

    def _fares_for(self, rides: Sequence[PaidRide]) -> Iterator[_Fare]:
        """Yield for each currency the cheapest fare that covers consecutive legs with one ticket."""
        feed = rides[0].feed
        if any(ride.feed != feed for ride in rides):
            return
        agencies = frozenset[int]().union(*(ride.agencies for ride in rides))
        routes = frozenset[int]().union(*(ride.routes for ride in rides))
        entered = frozenset[str]().union(*(ride.zones for ride in rides))
        seconds = rides[-1].board - rides[0].board
        ends = rides[0].board_zone, rides[-1].alight_zone
        rows = frozenset.intersection(*(self._ruled(feed, route, *ends, entered) for route in routes))
        cheapest: dict[str, _Fare] = {}
        for row in sorted(rows | self.anywhere.get(feed, set())):
            fare = self.fares[row]
            fits = (
                (fare.agency < 0 or agencies == {fare.agency})
                and (fare.transfers < 0 or len(rides) - 1 <= fare.transfers)
                and (fare.duration < 0 or seconds <= fare.duration)
            )
            if fits and (fare.currency not in cheapest or fare.price < cheapest[fare.currency].price):
                cheapest[fare.currency] = fare
        yield from cheapest.values()

    def _ruled(self, feed: int, route: int, origin: str, destination: str, entered: frozenset[str]) -> frozenset[int]:
        """Return the rows of fares with a rule that matches a route, both ends and the entered zones."""
        return frozenset(
            fare
            for key in product((feed,), (route, -1), {origin, ""}, {destination, ""})
            for fare, zones in self.rules.get(key, ())
            if not zones or zones == entered
        )


_FARES = Derived[None, FareBook]("fares")


def fare_book(layer: TransitLayer) -> FareBook:
    """Return the fares of a timetable, indexed once."""
    return _FARES.of(layer, None, lambda: FareBook.of(layer.timetable))


def total_in(totals: Mapping[str, float], currency: str | None) -> float | None:
    """Return the sum of `Fares.totals` in a currency, None if a part is in another."""
    paid = {code: total for code, total in totals.items() if total}
    return None if any(code != currency for code in paid) else float(sum(paid.values()))


def _order(totals: dict[str, Decimal]) -> tuple[int, list[tuple[str, Decimal]]]:
    """Return the sort key of a result."""
    paid = sorted((currency, total) for currency, total in totals.items() if total)
    return len(paid), paid


def _unbeaten(covers: list[_Cover]) -> list[_Cover]:
    """Return the Pareto-optimal covers; among equal totals only the one with the fewest tickets."""
    by_totals: dict[tuple[tuple[str, Decimal], ...], _Cover] = {}
    for cover in covers:
        key = tuple(_order(cover.totals)[1])
        if key not in by_totals or len(cover.tickets) < len(by_totals[key].tickets):
            by_totals[key] = cover
    kept = list(by_totals.values())
    return [
        cover for cover in kept if not any(_beats(other.totals, cover.totals) for other in kept if other is not cover)
    ]


def _beats(one: dict[str, Decimal], other: dict[str, Decimal]) -> bool:
    """Return whether `one` costs no more than `other` in any currency; equal totals are handled by the caller."""
    return all(total <= other.get(currency, Decimal(0)) for currency, total in one.items())
