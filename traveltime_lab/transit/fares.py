"""
What journeys cost: the cheapest tickets for rides, by the rules of GTFS fares v1.

A ticket is one fare of ``fare_attributes.txt`` and pays for consecutive rides of one feed. It does if

- one of its rules fits (or it has none) for the route of every ride: ``route_id`` is that route or empty, ``origin_id``
  the zone where the first ride is boarded or empty, ``destination_id`` the zone where the last one ends or empty, and
  its ``contains_id`` zones, if any, are exactly the zones of all stops that the rides call at;
- its ``agency_id`` is that of all rides, or empty;
- the rides have no more changes than ``transfers``, and the last is boarded no later than ``transfer_duration`` after
  the first.

Rows of ``fare_rules.txt`` with the same fare, route, origin and destination are one rule with all of their
``contains_id`` zones. That these must all be matched is what the reference says (gtfs.org, Schedule reference). That no
other zone may be entered, and that a transfer expires by boarding too late rather than by arriving too late, is how
OpenTripPlanner reads it (``FareRuleSet.matches``); else the cheapest ticket of two zones would do for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Any, Final, NamedTuple

from traveltime_lab.itinerary import Fares, Ticket
from traveltime_lab.transit.timetable import Timetable


@dataclass(frozen=True, slots=True)
class PaidRide:
    """
    One ride of a journey, as fares see it.

    Attributes
    ----------
    leg : int
        Its position in the route.
    feed : int
        feed_idx.
    routes, agencies : frozenset of int
        route_idx and agency_idx of the trips; several where the vehicle goes on as another.
    board_zone, alight_zone : str
        zone_id of the stops; "" for none.
    zones : frozenset of str
        Of all stops called at, both ends included; with "" if one of them has none, which no ``contains_id`` fits.
    board : int
        POSIX seconds.
    """

    leg: int
    feed: int
    routes: frozenset[int]
    agencies: frozenset[int]
    board_zone: str
    alight_zone: str
    zones: frozenset[str]
    board: int


class _Fare(NamedTuple):
    """A row of fare_attributes.txt; `agency`, `transfers` and `duration` are -1 where they bind nothing."""

    row: int
    fare_id: str
    agency: int
    price: Decimal
    currency: str
    transfers: int
    duration: int


class _Cover(NamedTuple):
    """Tickets for the first rides of a journey: totals by currency, and (fare, first ride, ride after the last)."""

    totals: dict[str, Decimal]
    tickets: tuple[tuple[_Fare, int, int], ...]


#: feed, route, origin, destination; -1 and "" for any.
_Rule = tuple[Any, ...]
_ANY: Final = frozenset[str]()


@dataclass(frozen=True)
class FareBook:
    """
    The fares of a timetable, ready to be looked up.

    Made by `FareBook.of`.

    Parameters
    ----------
    fares : list of _Fare
    anywhere : dict of int to set of int
        By feed the rows of fares without rules.
    rules : dict of _Rule to list of (int, frozenset of str)
        Rows of fares, and the zones to be entered (none: any).
    """

    fares: list[_Fare]
    anywhere: dict[int, set[int]]
    rules: dict[_Rule, list[tuple[int, frozenset[str]]]]

    @classmethod
    def of(cls, timetable: Timetable) -> FareBook:
        """Return the fares of a timetable."""
        table, listed = timetable.fare_attributes, timetable.fare_rules
        names = ("fare_id", "agency_idx", "price", "currency_type", "transfers", "transfer_duration")
        fares = [
            # repr gives the digits of the file back, whose sums are exact.
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
        Return the cheapest tickets for all rides of a journey.

        Parameters
        ----------
        rides : sequence of PaidRide
            In travel order.

        Returns
        -------
        Fares or None
            None if no tickets pay for all rides. Where fares are in different currencies, no other tickets cost less in
            one of them and no more in all others; of several such answers the one with the fewest currencies, the
            first of them by name and then by amount.

        Notes
        -----
        The cheapest covers of the first 0, 1, 2, ... rides are built from shorter ones and one more ticket each; those
        that another one beats in every currency are left out.
        """
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
        best = min(covers[-1], key=lambda cover: _order(cover.totals))
        return Fares(
            tuple(
                Ticket(float(fare.price), fare.currency, tuple(ride.leg for ride in rides[first:end]), fare.fare_id)
                for fare, first, end in best.tickets
            )
        )

    def _fares_for(self, rides: Sequence[PaidRide]) -> Iterator[_Fare]:
        """Yield per currency the cheapest fare that pays for all of some consecutive rides."""
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
        """Return the rows of fares with a rule that fits a route, both ends and the zones entered."""
        return frozenset(
            fare
            for key in product((feed,), (route, -1), {origin, ""}, {destination, ""})
            for fare, zones in self.rules.get(key, ())
            if not zones or zones == entered
        )


def _order(totals: dict[str, Decimal]) -> tuple[int, list[tuple[str, Decimal]]]:
    """Return what answers are chosen by."""
    paid = sorted((currency, total) for currency, total in totals.items() if total)
    return len(paid), paid


def _unbeaten(covers: list[_Cover]) -> list[_Cover]:
    """Return the covers that no other beats; one for each combination of totals, that with the fewest tickets."""
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
    """Return whether no currency costs more in one than in the other; equal ones are told apart before."""
    return all(total <= other.get(currency, Decimal(0)) for currency, total in one.items())
