"""
Choices that a network offers: types of transportation, and days with service.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from traveltime_lab.limits import MAX_STRESS
from traveltime_lab.modes.table import MODES, STREET_TYPES, TIMETABLE_TYPES
from traveltime_lab.modes.transportation import AVOIDABLE
from traveltime_lab.moments import today
from traveltime_lab.transit.route_types import SELECTS

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network

#: All that walks may avoid, each word and several.
_AVOIDED: Final = [words for n in range(len(AVOIDABLE)) for words in itertools.combinations(AVOIDABLE, n + 1)]
#: Options with a few values: their label, the names of their values, and the usual value.
OPTIONS: Final[Mapping[str, tuple[str, Sequence[tuple[str, Any]], Any]]] = {
    "max_stress": (
        "Streets by traffic stress",
        (("all", MAX_STRESS), ("up to 3", 3), ("calm, up to 2", 2), ("calmest, 1", 1)),
        MAX_STRESS,
    ),
    "step_free": (
        "Walks", (("with steps", None), ("step-free, or not known", "lenient"), ("step-free", "strict")), None,
    ),
    "avoid": ("Ways on foot", (("all", ()), *((f"not {' or '.join(each)}", each) for each in _AVOIDED)), ()),
}  # fmt: skip
#: Percentiles of a departure window; 0 is the fastest departure.
PERCENTILES: Final = (
    ("the luckiest minute", 0),
    ("half of the minutes", 50),
    ("80 % of the minutes", 80),
    ("95 % of the minutes", 95),
)
#: How the areas of several origins are combined.
COMBINATIONS: Final = (
    ("Each origin's own areas", "each"),
    ("Union: any origin reaches it", "union"),
    ("Intersection: all origins reach it", "intersection"),
    ("Difference: only the first does", "difference"),
)


def in_words(kind: str) -> str:
    """Return the label of a type of transportation."""
    return MODES[kind].label


def kinds(network: Network) -> list[str]:
    """Return the types of transportation that a network supports; those with a timetable only if it has such trips."""
    groups = set() if network.timetable is None else set(network.timetable.column("routes", "group").tolist())
    plain = [name for name, row in MODES.items() if row.is_on_streets]
    ridden = [kind for kind in TIMETABLE_TYPES if SELECTS[kind] & groups]
    return [*plain, *ridden, *(kind for kind in STREET_TYPES if kind not in plain)]


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


def day_with_service(network: Network, requested: dt.date | None) -> dt.date | None:
    """Return `requested` if the timetable covers it, otherwise the day to begin with; None without any service."""
    covered = span(network)
    if covered is None:
        return None
    return requested if requested is not None and covered[0] <= requested <= covered[1] else first_day(network)
