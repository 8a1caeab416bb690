"""Costs of journeys, as in docs/contract.md, 6.3."""

from __future__ import annotations

from decimal import Decimal
from itertools import accumulate
from typing import Any, Final

from traveltime_lab.itinerary import Route

#: Decimals of the currencies that do not have two. Source: ISO 4217, list one, minor units.
_DECIMALS: Final = {
    **dict.fromkeys(
        ("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF",
         "XPF"), 0,
    ),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
    **dict.fromkeys(("CLF", "UYW"), 4),
}  # fmt: skip
#: The numbers of a Protocol Buffers answer are int32.
_LARGEST: Final = 2**31 - 1


def part_begins(route: Route) -> list[int]:
    """Return the id of the first part of each leg, and the number of parts; see `Route.parts`."""
    # A leg is as many parts as it has steps, or one.
    return [0, *accumulate(len(leg.steps) or 1 for leg in route.legs)]


def fares_entry(route: Route) -> dict[str, Any] | None:
    """
    Return the fares of a route: which parts each ticket pays for, and what all of them cost.

    Returns
    -------
    dict or None
        ``breakdown`` and ``tickets_total``, both empty for a route without rides, the latter one ticket for each
        currency; None where the fare is not known.
    """
    if route.fares is None:
        return None
    begins = part_begins(route)
    breakdown = []
    for ticket in route.fares.tickets:
        legs = [route.legs[i] for i in ticket.legs]
        breakdown.append(
            {
                "modes": list(dict.fromkeys(leg.mode for leg in legs)),
                "route_part_ids": [part for i in ticket.legs for part in range(begins[i], begins[i + 1])],
                "tickets": [_ticket(ticket.type, ticket.price, ticket.currency)],
            }
        )
    return {"breakdown": breakdown, "tickets_total": tickets_total(route.fares.totals)}


def tickets_total(totals: dict[str, float]) -> list[dict[str, Any]]:
    """Return what all rides cost, one ticket for each currency."""
    return [_ticket("single", total, currency) for currency, total in totals.items()]


def minor_units(totals: dict[str, float] | None) -> int:
    """
    Return what all rides cost as one number.

    Parameters
    ----------
    totals : dict of str to float, optional
        By currency; None if the fare is not known.

    Returns
    -------
    int
        In the smallest unit of the currency, such as cents; 0 for a journey without rides, -1 if the fare is not known
        or in several currencies.
    """
    if totals is None:
        return -1
    paid = {currency: price for currency, price in totals.items() if price}
    if len(paid) > 1:
        return -1
    return sum(
        min(round(Decimal(repr(price)).scaleb(_DECIMALS.get(currency, 2))), _LARGEST)
        for currency, price in paid.items()
    )


def _ticket(kind: str, price: float, currency: str) -> dict[str, Any]:
    return {"type": kind, "price": price, "currency": currency}
