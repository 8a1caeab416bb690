"""
The table of properties of trips that an answer can contain.

The tables of the library, the columns of written files and the answers of the service follow from the rows. A property
that is computed from the time and the length of a trip, such as its distance, needs a row here and, if the service has
it, a row in `traveltime_lab.server.contract.properties`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from traveltime_lab._arrays import AnyArray, BoolArray

#: Tables that properties are for: the forms of `time_filter`, and other functions.
Door = Literal["pairs", "matrix", "sparse", "nearest", "write_matrix", "routes"]


@dataclass(frozen=True, slots=True)
class Property:
    """
    A property of trips that an answer can contain.

    Attributes
    ----------
    name : str
        Name in arguments and of the column.
    doors : frozenset of str
        Tables that can contain it.
    unit : str
        Such as ``"s"`` or ``"m"``; ``"1"`` for shares, ``""`` for what is no number.
    dtype : type, optional
        Type of the values that `of` returns.
    of : callable, optional
        Values from the seconds (integers) and the metres of trips, arrays of one shape; the metres are None unless
        `needs_length` is set. None for properties that are found in other ways.
    needs_length, needs_route : bool
        Whether lengths, or whole routes, have to be searched.
    needs_least : bool
        Whether the property is that of the fastest trip of a window, which a search for percentiles alone does not
        find.
    is_charged : bool
        Whether the property follows from `traveltime_lab.Costs`; `traveltime_lab.search.trip_costs` computes it.
    """

    name: str
    doors: frozenset[Door]
    unit: str = ""
    dtype: type[np.int32] | type[np.float64] | None = None
    of: Callable[[AnyArray, AnyArray | None], AnyArray] | None = None
    needs_length: bool = False
    needs_route: bool = False
    needs_least: bool = False
    is_charged: bool = False


_ALL: Final[frozenset[Door]] = frozenset({"pairs", "matrix", "sparse", "nearest", "write_matrix", "routes"})
_TABLES: Final[frozenset[Door]] = frozenset({"pairs", "matrix", "sparse", "write_matrix"})


def _metres(seconds: AnyArray, metres: AnyArray | None) -> AnyArray:
    assert metres is not None
    return metres


#: All properties by name, in the order of columns.
PROPERTIES: Final[Mapping[str, Property]] = MappingProxyType(
    {
        row.name: row
        for row in (
            Property("travel_time", _ALL, "s", np.int32, lambda seconds, metres: seconds, needs_least=True),
            Property("distance", _ALL, "m", np.float64, _metres, needs_length=True, needs_least=True),
            Property("distance_breakdown", frozenset({"routes"})),
            Property("fares", frozenset({"routes"})),
            Property("emissions", _ALL, "g", np.float64, needs_least=True, is_charged=True),
            Property("cost", _ALL, "", np.float64, needs_least=True, is_charged=True),
            Property("snap_distance", _TABLES - {"matrix"}, "m"),
            Property("share", _TABLES, "1"),
            Property("on_foot", frozenset({"pairs", "routes"}), needs_route=True, needs_least=True),
            Property("reaches_border", frozenset({"pairs"})),
            Property("route", frozenset({"pairs", "routes"}), needs_route=True, needs_least=True),
            Property("alerts", frozenset({"routes"})),
        )
    }
)


def names_for(*doors: Door) -> tuple[str, ...]:
    """Return the names of the properties that one of some tables can contain."""
    return tuple(name for name, row in PROPERTIES.items() if row.doors & set(doors))


def numbers(requested: Collection[str]) -> tuple[Property, ...]:
    """Return the properties that are computed from times and lengths."""
    return tuple(row for name, row in PROPERTIES.items() if name in requested and row.of is not None)


def charged(requested: Collection[str]) -> tuple[Property, ...]:
    """Return the properties that follow from the costs of a kilometre."""
    return tuple(row for name, row in PROPERTIES.items() if name in requested and row.is_charged)


def wants_length(requested: Collection[str]) -> bool:
    """Return whether the properties require the lengths of trips."""
    return any(row.needs_length for name, row in PROPERTIES.items() if name in requested)


def column(row: Property, seconds: AnyArray, metres: AnyArray | None, is_missing: BoolArray) -> Any:
    """Return the values of a property as an array of pandas that can have missing values."""
    assert row.of is not None
    values = row.of(seconds, metres)
    kind: Any = pd.arrays.IntegerArray if row.dtype is np.int32 else pd.arrays.FloatingArray
    return kind(values, is_missing)
