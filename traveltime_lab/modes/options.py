"""
Check the values of options, such as those of `traveltime_lab.modes.transportation.Transportation`.
"""

from __future__ import annotations

import difflib
import math
import numbers
import sys
from collections.abc import Collection, Iterable, Mapping
from typing import Any, cast

from traveltime_lab.errors import LimitError, ModeError
from traveltime_lab.limits import MAX_CHANGES


def listed(names: Iterable[str]) -> str:
    """Return names as a list in words."""
    return ", ".join(repr(name) for name in names)


def guess(value: object, known: Iterable[str]) -> str:
    """Return a sentence that lists similar known names, or all of them."""
    known = tuple(known)
    text = str(value).strip().lower().replace(" ", "_").replace("-", "_")
    close = difflib.get_close_matches(text, known, n=3, cutoff=0.6)
    if close:
        return f"Did you mean {listed(close)}?"
    return f"Known: {listed(known)}."


def one_of(value: object, known: tuple[str, ...], name: str) -> str:
    """Return a known name."""
    if isinstance(value, str) and value in known:
        return value
    raise ModeError(f"{name} must be one of {listed(known)}; got {value!r}. {guess(value, known)}")


def subset(value: object, known: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return the unique items of `value` in the order of `known`, so that equal options compare equal."""
    if value is None or (type(value) is tuple and not value):
        return ()
    try:
        # An iterable without a length may never end.
        items = None if isinstance(value, str | Mapping) or not isinstance(value, Collection) else tuple(value)
    except TypeError:
        items = None
    if items is None:
        raise ModeError(f"{name} must be a tuple or list of {listed(known)}; got {value!r}.")
    given = {one_of(item, known, f"Each item of {name}") for item in items}
    return tuple(item for item in known if item in given)


def whole(value: object, name: str, unit: str, most: int) -> int:
    """Return a whole number from 0 to a maximum, of a unit or "" for none; whole floats are accepted, too."""
    is_number = not isinstance(value, bool) and (hasattr(value, "__index__") or isinstance(value, numbers.Real))
    try:
        number = float(cast(Any, value)) if is_number else math.nan
    except OverflowError:
        number = sys.float_info.max if cast(Any, value) > 0 else -sys.float_info.max
    except (TypeError, ValueError):
        number = math.nan
    units = unit and f" {unit}"
    if not number.is_integer():
        raise ModeError(f"{name} must be a whole number{unit and f' of {unit}'}; got {value!r}.")
    if number < 0:
        raise LimitError(f"{name} must be 0{units} or more; got {value!r}.")
    if number > most:
        raise LimitError(f"{name} must be at most {most}{units}; got {value!r}.")
    return int(number)


def flag(value: object, name: str) -> bool:
    """Return True or False."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise ModeError(f"{name} must be True or False; got {value!r}.")
    return bool(value)


def number(value: object, name: str, unit: str, least: float, most: float) -> float:
    """Return a number in a range; numpy numbers are accepted, booleans are not."""
    try:
        is_number = isinstance(value, numbers.Real) and type(value).__name__ not in ("bool", "bool_")
        found = float(cast(Any, value)) if is_number else math.nan
    except OverflowError:
        found = math.inf
    except (TypeError, ValueError):
        found = math.nan
    if math.isnan(found):
        raise ModeError(f"{name} must be a number of {unit}; got {value!r}.")
    if not least <= found <= most:
        raise LimitError(f"{name} must be from {least:g} to {most:g} {unit}; got {value!r}.")
    return found


def changes(value: object) -> int | None:
    """Return the maximum number of transfers from a number or the contract's object; None for no maximum."""
    if isinstance(value, Mapping):
        unknown = set(value) - {"enabled", "limit"}
        if unknown or "enabled" not in value or (value["enabled"] and "limit" not in value):
            raise ModeError(f"max_changes must be a number or {{'enabled': ..., 'limit': ...}}; got {dict(value)!r}.")
        value = value["limit"] if flag(value["enabled"], "max_changes 'enabled'") else None
    return None if value is None else whole(value, "max_changes", "changes", MAX_CHANGES)


def speed(value: object, name: str, limits: tuple[float, float]) -> float | None:
    """Return a speed in km/h, None for that of the network."""
    return None if value is None else number(value, name, "km/h", *limits)
