"""
Values of the state of a map: parsing and validation, and errors for unknown names.
"""

from __future__ import annotations

import copy
import datetime as dt
import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

import traitlets

from traveltime_lab import _checks
from traveltime_lab._checks import one_of, whole
from traveltime_lab._elsewhere import WIDGET_OPTIONS
from traveltime_lab.errors import InputError, ModeError, MomentError
from traveltime_lab.modes.table import MODES, applies
from traveltime_lab.modes.transportation import Transportation, as_transportation
from traveltime_lab.surfaces.level_of_detail import parse_level_of_detail

#: Larger than any meaningful number.
_ANY: Final = 10**12

#: Options of other packages that are not needed here.
_NOT_NEEDED: Final = dict.fromkeys(
    ("center", "centre", "location", "zoom", "zoom_start", "bounds", "extent"),
    "The map fits itself to the areas; to move it later, set its attributes map.center and map.zoom.",
) | dict.fromkeys(
    ("column", "scheme", "k", "cmap", "vmin", "vmax"),
    "The colours of its areas tell rings and origins apart; add_layer(frame, column=...) colours own data by values.",
)


def refuse_unknown(given: Sequence[str], known: Sequence[str], where: str) -> None:
    """Raise InputError for an unknown keyword, with similar known ones."""
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(known)}."
            hint = f"Use {WIDGET_OPTIONS[name]}." if name in WIDGET_OPTIONS else _NOT_NEEDED.get(name, hint)
            raise InputError(f"{where} has no option {name!r}. {hint}")


class Read(traitlets.Any):
    """A trait whose values are parsed by a function ``reader(state, value)``."""

    #: None is handled by the reader.
    allow_none = False

    def __init__(self, reader: Callable[[Any, Any], Any], usual: Any) -> None:
        super().__init__(usual)
        self._reader = reader

    def validate(self, obj: Any, value: Any) -> Any:
        """Return the parsed value, or raise the error of the reader."""
        return self._reader(obj, value)

    def default(self, obj: Any = None) -> Any:
        """Return a copy of the default, so that states do not share it."""
        return copy.copy(self.default_value)


class Means(Read):
    """The type of transportation; setting a `Transportation` or a mapping sets its options too."""

    def __init__(self, usual: str) -> None:
        super().__init__(lambda _, value: as_transportation(value).type, usual)

    def set(self, obj: Any, value: Any) -> None:
        """Set the type and, from a mapping or a `Transportation`, the options that apply to it."""
        if isinstance(value, str):
            super().set(obj, value)
            return
        means = as_transportation(value)
        others = {name: given for name, given in obj.mode_options.items() if not applies(name, means.type)}
        with obj.hold_trait_notifications():
            obj.mode_options = {**others, **{name: given for name, given in changed(means).items() if name != "type"}}
            super().set(obj, means.type)


def number(name: str, unit: str) -> Callable[[Any, Any], int]:
    """Return a reader of whole numbers; their range is checked when a search runs."""
    return lambda _, value: whole(value, name, -_ANY, _ANY, unit)


def name_of(name: str, known: tuple[str, ...]) -> Callable[[Any, Any], str]:
    """Return a reader of a name out of `known`."""
    return lambda _, value: one_of(value, name, known)


def flag(name: str) -> Callable[[Any, Any], bool]:
    """Return a reader of booleans."""

    def read(_: Any, value: Any) -> bool:
        return _checks.flag(value, name)

    return read


def read_day(value: Any) -> dt.date | None:
    """Return a date from a date, a datetime or a string such as ``"2026-03-02"``; None for None."""
    if value is None:
        return None
    try:
        if isinstance(value, str):
            value = dt.datetime.fromisoformat(value.strip())
        if isinstance(value, dt.datetime) and value == value:  # not NaT
            return dt.date(value.year, value.month, value.day)
        if isinstance(value, dt.date) and value == value:
            return value
    except ValueError:
        pass
    raise MomentError(f"day must be a date such as '2026-03-02', or None for a typical weekday; got {value!r}")


def read_level(value: Any) -> Any:
    """Validate a level of detail as `time_map` does, and return it unchanged."""
    parse_level_of_detail(value)
    return value


def read_polygons_filter(value: Any) -> Any:
    """Validate a polygons_filter as `time_map` does, and return it unchanged."""
    limit = value["limit"] if isinstance(value, Mapping) and set(value) == {"limit"} else value
    if limit is not None:
        whole(limit, "polygons_filter", -_ANY, _ANY, "polygons")
    return value


def read_mode_options(value: Any) -> dict[str, Any]:
    """Validate fields of `Transportation`, each with a type that it applies to."""
    if not isinstance(value, Mapping | None):
        raise ModeError(f"mode_options must be a mapping of the fields of Transportation; got {value!r}")
    known = tuple(f.name for f in fields(Transportation) if f.name != "type")
    options: dict[str, Any] = {}
    given_options = value or {}
    for name, given in given_options.items():
        refuse_unknown([name], known, "mode_options")
        kind = next(kind for kind in MODES if applies(name, kind))
        # Draws and their seed depend on the kind of headways.
        needs_headways = name.startswith("headway_") and "headways" in given_options
        also = {"headways": given_options["headways"]} if needs_headways else {}
        options[name] = getattr(as_transportation({"type": kind, name: given, **also}), name)
    return options


def changed(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass instance that differ from their defaults."""
    usual = type(value)()
    return {f.name: getattr(value, f.name) for f in fields(value) if getattr(value, f.name) != getattr(usual, f.name)}
