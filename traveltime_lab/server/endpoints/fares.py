"""What journeys cost, as the contract lists it (6.3)."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from traveltime_lab.itinerary import Route


def fares_entry(route: Route) -> dict[str, Any] | None:
    """
    Return the fares of a route: which parts each ticket pays for, and what all of them cost.

    Parameters
    ----------
    route : Route

    Returns
    -------
    dict or None
        ``breakdown`` and ``tickets_total``, both empty for a route without rides, the latter one ticket for each
        currency; None where the fare is not known.
    """
    if route.fares is None:
        return None
    # A leg is as many parts as it has steps, or one; see `Route.parts`.
    sizes = [len(leg.steps) or 1 for leg in route.legs]
    begins = [0, *accumulate(sizes)]
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
    totals = [_ticket("single", total, currency) for currency, total in route.fares.totals.items()]
    return {"breakdown": breakdown, "tickets_total": totals}


def _ticket(kind: str, price: float, currency: str) -> dict[str, Any]:
    return {"type": kind, "price": price, "currency": currency}
