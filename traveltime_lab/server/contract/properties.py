"""
Properties of trips that requests name, and the endpoints that take them.

A property that `traveltime_lab.search.properties` computes from times and lengths needs a row in `_TAKEN_BY`: the types
of requests and answers, and the answers themselves, follow. The others also have a type in
`traveltime_lab.server.contract.responses`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from traveltime_lab._arrays import AnyArray
from traveltime_lab.search.properties import PROPERTIES, numbers

Endpoint: TypeAlias = Literal["time-filter", "time-filter/fast", "routes", "time-filter/postcodes"]

#: The endpoints that take each property. Source: docs/contract.md, 6.
_TAKEN_BY: Final[Mapping[str, tuple[Endpoint, ...]]] = {
    "travel_time": ("time-filter", "time-filter/fast", "routes", "time-filter/postcodes"),
    "distance": ("time-filter", "time-filter/fast", "routes", "time-filter/postcodes"),
    "distance_breakdown": ("time-filter",),
    "fares": ("time-filter", "time-filter/fast", "routes"),
    "emissions": ("time-filter", "routes"),
    "cost": ("time-filter", "routes"),
    "route": ("time-filter", "routes"),
    "alerts": ("time-filter", "routes"),
}


def taken_by(endpoint: Endpoint) -> tuple[str, ...]:
    """Return the properties that an endpoint takes, in the order of the answers."""
    return tuple(name for name in PROPERTIES if endpoint in _TAKEN_BY.get(name, ()))


#: All properties of trips, in the order of the answers.
ON_THE_WIRE: Final = tuple(name for name in PROPERTIES if name in _TAKEN_BY)

if TYPE_CHECKING:
    MatrixProperty: TypeAlias = str
    FastProperty: TypeAlias = str
    RouteProperty: TypeAlias = str
    PostcodeProperty: TypeAlias = str
else:
    MatrixProperty = Literal[taken_by("time-filter")]
    FastProperty = Literal[taken_by("time-filter/fast")]
    RouteProperty = Literal[taken_by("routes")]
    PostcodeProperty = Literal[taken_by("time-filter/postcodes")]


def number_values(
    requested: Collection[str], seconds: AnyArray | Sequence[int], metres: AnyArray | Sequence[int] | None
) -> dict[str, list[Any]]:
    """
    Return the values of the properties that are computed from the whole seconds and metres of trips, by name.

    Without metres, properties that need them are left out.
    """
    times, lengths = np.asarray(seconds), None if metres is None else np.asarray(metres)
    return {
        row.name: row.of(times, lengths).tolist()
        for row in numbers(requested)
        if row.of is not None and (lengths is not None or not row.needs_length)
    }
