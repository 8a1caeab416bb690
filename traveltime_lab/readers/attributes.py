"""
Convert attributes of nodes and edges to tags, numbers and ids.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyproj

from traveltime_lab._arrays import FloatArray, Int64Array
from traveltime_lab.crs import wrap_degrees
from traveltime_lab.errors import CoordinateError, CrsError, InputError, LimitError
from traveltime_lab.modes.table import BASE_MODES
from traveltime_lab.readers.osm import node_tags, tags
from traveltime_lab.readers.osm.avoid import AVOID_KEYS
from traveltime_lab.readers.osm.step_free import NODE_STEP_FREE_KEYS, STEP_FREE_KEYS
from traveltime_lab.readers.osm.stress import STRESS_KEYS

#: A tag of a way, with several values if a simplified edge merges several ways.
TagValue = str | tuple[str, ...]

#: Columns (or edge attributes) with speeds given by the user, km/h; 0 closes the edge to the mode.
SPEED_COLUMNS = tuple(f"{mode}_kph" for mode in BASE_MODES)
_MISSING_TAGS = frozenset({"", "nan", "none"})
#: Keys that `node_tags.node_flags` and `step_free.node_code` read.
_NODE_KEYS = frozenset(
    {*node_tags.NODE_KEYS, *tags.RELEVANT_KEYS, "bollard", "kerb", "maxheight"}
    | {"crossing", "crossing:signals", "crossing:island", *NODE_STEP_FREE_KEYS}
)
#: Keys that are read of ways.
_WAY_KEYS = frozenset({*tags.RELEVANT_KEYS, *STRESS_KEYS, *STEP_FREE_KEYS, *AVOID_KEYS})


# Reading -------------------------------------------------------------------------------------------------------------


def to_lnglat(x: FloatArray, y: FloatArray, crs: Any, what: str) -> tuple[FloatArray, FloatArray]:
    """Return coordinates in EPSG:4326; raise CoordinateError if one is not finite or out of range."""
    broken = ~(np.isfinite(x) & np.isfinite(y))
    if broken.any():
        raise CoordinateError(
            f"{int(broken.sum())} of {len(x)} {what} positions are missing or not finite; "
            f"the first is number {int(np.flatnonzero(broken)[0])}."
        )
    try:
        known = pyproj.CRS.from_user_input(crs)
    except pyproj.exceptions.CRSError as error:
        raise CrsError(f"Unknown CRS {crs!r}: {error}") from None
    if not known.equals(pyproj.CRS.from_epsg(4326), ignore_axis_order=True):
        x, y = pyproj.Transformer.from_crs(known, 4326, always_xy=True).transform(x, y)
    outside = ~(np.isfinite(x) & np.isfinite(y) & (np.abs(y) <= 90.0) & (np.abs(x) <= 360.0))
    if outside.any():
        first = int(np.flatnonzero(outside)[0])
        raise CoordinateError(
            f"{int(outside.sum())} of {len(x)} {what} positions lie outside the globe, such as lng={x[first]}, "
            f"lat={y[first]}. Is the CRS really {known.name!r}, and is x the longitude?"
        )
    is_wrapped = (x >= -180.0) & (x < 180.0)  # wrapping would only add a rounding error
    return np.where(is_wrapped, x, wrap_degrees(x)), np.asarray(y, dtype=np.float64)


def as_list(values: Any) -> list[Any]:
    """Return values as plain Python objects."""
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NA, NaT or NaN."""
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))


def members_of(value: Any) -> list[Any]:
    """Return the values of an attribute that osmnx may have merged into a list."""
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [item for item in value if not is_missing(item)]
    return [] if is_missing(value) else [value]


def tag_text(value: Any) -> str:
    """Return a value as the text of a tag."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, numbers.Real) and float(value).is_integer():
        return str(int(float(value)))
    return str(value).strip()


def way_tags_of(attributes: Mapping[Hashable, Any]) -> dict[str, TagValue]:
    """Return the relevant tags of a way, except ``oneway``."""
    found: dict[str, TagValue] = {}
    for key, value in attributes.items():
        if key == "oneway" or key not in _WAY_KEYS:
            continue
        texts = tuple(dict.fromkeys(text for text in map(tag_text, members_of(value)) if text not in _MISSING_TAGS))
        if texts:
            found[str(key)] = texts[0] if len(texts) == 1 else tuple(sorted(texts))
    return found


def node_tags_of(attributes: Mapping[Hashable, Any]) -> dict[str, str]:
    """Return the relevant tags of a node."""
    return {
        str(key): tag_text(value)
        for key, value in attributes.items()
        if key in _NODE_KEYS and (_is_text(value) or (key == "step_free_code" and not is_missing(value)))
    }


def _is_text(value: Any) -> bool:
    """Return whether a value is a text that is not empty."""
    return isinstance(value, str) and bool(value)


def identity_of(value: Any) -> tuple[Any, ...]:
    """Return an id, or several ids, as a tuple."""
    return tuple(as_list(members_of(value)))


def name_of(value: Any) -> str:
    """Return a name; several names are joined by slashes."""
    return " / ".join(dict.fromkeys(str(name) for name in members_of(value)))


def numbers_of(values: Iterable[Any], what: str) -> FloatArray:
    """Return values as float64; raise InputError if one is not a number, LimitError if it is negative or infinite."""
    try:
        found = pd.to_numeric(pd.Series(list(values), dtype=object), errors="raise").to_numpy(
            np.float64, na_value=np.nan
        )
    except (TypeError, ValueError) as error:
        raise InputError(f"Column {what!r} must hold numbers: {error}") from None
    if (np.isinf(found) | (found < 0)).any():
        raise LimitError(
            f"Column {what!r} must be 0 or more and finite; got {found[np.isinf(found) | (found < 0)][0]}."
        )
    return np.asarray(found)


def speeds_of(columns: Mapping[str, Iterable[Any]], count: int) -> FloatArray:
    """Return the speeds given by the user, km/h (NaN where there is none), as a float64 array of shape (count, 3)."""
    speeds = np.full((count, len(SPEED_COLUMNS)), np.nan)
    for position, column in enumerate(SPEED_COLUMNS):
        if column in columns:
            speeds[:, position] = numbers_of(columns[column], column)
    return speeds


def lengths_of(values: Iterable[Any]) -> FloatArray:
    """Return lengths in metres."""
    return numbers_of(values, "length")


def outside_ids(values: Sequence[Any]) -> Int64Array:
    """Return ids as whole numbers; values that are not whole numbers get negative ids."""
    found = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        found[row] = int(value) if is_whole and abs(value) < 2**63 else -(row + 1)
    return found
