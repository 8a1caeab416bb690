"""
Choices that a network offers: types of transportation, and days with service.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final

from traveltime_lab.modes import STREET_TYPES, TIMETABLE_TYPES
from traveltime_lab.moments import today
from traveltime_lab.transit.route_types import SELECTS

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network

#: Labels of types of transportation.
_IN_WORDS: Final = {
    "walking": "on foot",
    "cycling": "by bicycle",
    "driving": "by car",
    "walking+ferry": "on foot and by ferry",
    "cycling+ferry": "by bicycle and ferry",
    "driving+ferry": "by car and ferry",
    "public_transport": "public transport",
    "bus": "bus only",
    "coach": "coach only",
    "train": "train only",
    "driving+train": "car to the train",
    "driving+public_transport": "car to the stop",
    "cycling+public_transport": "bicycle to the stop",
}


def in_words(kind: str) -> str:
    """Return the label of a type of transportation."""
    return _IN_WORDS.get(kind, kind)


def kinds(network: Network) -> list[str]:
    """Return the types of transportation that a network supports; those with a timetable only if it has such trips."""
    if network.timetable is None:
        return [*STREET_TYPES]
    groups = set(network.timetable.column("routes", "group").tolist())
    ridden = [kind for kind in TIMETABLE_TYPES if SELECTS[kind] & groups]
    return [*STREET_TYPES[:3], *ridden, *STREET_TYPES[3:]]


def span(network: Network) -> tuple[dt.date, dt.date] | None:
    """Return the first and last day of service; None without a timetable or without service."""
    if network.timetable is None:
        return None
    dates = network.timetable.dates().dropna()
    return None if dates.empty else (dates["first"].min(), dates["last"].max())


def first_day(network: Network) -> dt.date:
    """Return the day to begin with: that of ``"weekday_morning"``; without a timetable, today or the next Tuesday."""
    now = today(network.timezone)
    return network.typical_day or now + dt.timedelta(days=(1 - now.weekday()) % 7)


def day_with_service(network: Network, wanted: dt.date | None) -> dt.date | None:
    """Return `wanted` if the timetable covers it, otherwise the day to begin with; None without any service."""
    covered = span(network)
    if covered is None:
        return None
    return wanted if wanted is not None and covered[0] <= wanted <= covered[1] else first_day(network)
