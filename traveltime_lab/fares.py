"""
Data model of fares: the tickets of a route.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal


@dataclass(frozen=True, slots=True)
class Ticket:
    """
    A ticket for one or more transit legs.

    Attributes
    ----------
    price : float
        Price in units of the currency, such as euros.
    currency : str
        ISO 4217 code.
    legs : tuple of int
        Positions in `Route.legs` of the legs that the ticket covers.
    fare_id : str
        ``fare_id`` of GTFS.
    type : {"single"}
        Type of ticket. GTFS Fares V1 has single tickets only.

    Examples
    --------
    >>> ticket = tl.Ticket(price=2.5, currency="EUR", legs=(1, 3))
    >>> tl.Fares((ticket,)).totals
    {'EUR': 2.5}
    """

    price: float
    currency: str
    legs: tuple[int, ...]
    fare_id: str = ""
    type: Literal["single"] = "single"


@dataclass(frozen=True, slots=True)
class Fares:
    """
    Fares of a route.

    Attributes
    ----------
    tickets : tuple of Ticket
        Tickets in the order of their first legs. Each transit leg belongs to one ticket; without them there is none.

    Examples
    --------
    >>> euros = tl.Ticket(2.5, "EUR", (1,)), tl.Ticket(0.1, "EUR", (3,))
    >>> fares = tl.Fares((*euros, tl.Ticket(30.0, "SEK", (5,))))
    >>> fares.totals
    {'EUR': 2.6, 'SEK': 30.0}
    """

    tickets: tuple[Ticket, ...] = ()

    @property
    def totals(self) -> dict[str, float]:
        """Total price by currency, in order of first use."""
        sums: dict[str, Decimal] = {}
        for ticket in self.tickets:
            sums[ticket.currency] = sums.get(ticket.currency, Decimal(0)) + Decimal(repr(ticket.price))
        return {currency: float(total) for currency, total in sums.items()}
