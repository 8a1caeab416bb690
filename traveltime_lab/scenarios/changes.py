"""
The base of all changes of a scenario, and the checks of their arguments.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, Final

import numpy as np
import shapely

from traveltime_lab._checks import items, number, whole, words
from traveltime_lab.errors import CoordinateError, InputError, LimitError
from traveltime_lab.modes.table import BASE_MODES
from traveltime_lab.scenarios.edge_names import EdgeName

#: Latest clock time, s: a week, as far as trips of a service date go.
_LATEST_S: Final = 7 * 86_400
_CLOCK: Final = re.compile(r"(\d{1,3}):([0-5]\d)(?::([0-5]\d))?")


@dataclass(frozen=True)
class Change:
    """
    A change of a network; see its subclasses.

    Parameters
    ----------
    name : str, default ""
        A name for reports.
    """

    #: Fields that hold shapes, which files have as GeoJSON.
    shapes: ClassVar[frozenset[str]] = frozenset()

    name: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        """Check the name; subclasses check the rest."""
        words(self.name, "name")

    def _put(self, **values: Any) -> None:
        """Replace arguments by what was meant."""
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def given(self) -> dict[str, Any]:
        """Return the arguments that are not the default."""
        found = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.default is MISSING or value != item.default:
                found[item.name] = value
        return found

    @property
    def title(self) -> str:
        """Kind and name in a few words."""
        return f"{type(self).__name__} {self.name!r}" if self.name else type(self).__name__


def texts(value: Any, what: str) -> tuple[str, ...]:
    """Return at least one text, of a text or a list of texts, each once."""
    found = (value,) if isinstance(value, str) else items(value, what, "texts")
    if not found:
        raise InputError(f"{what} is empty; give at least one")
    return tuple(dict.fromkeys(words(each, f"each of {what}") for each in found))


def integers(value: Any, what: str) -> tuple[int, ...]:
    """Return whole numbers, of a number or a list of numbers, each once."""
    return tuple(dict.fromkeys(_integer(each, what) for each in _one_or_several(value, what)))


def edges(value: Any, what: str) -> tuple[int | EdgeName, ...]:
    """Return row numbers and names of edges, of one or a list of them, each once."""
    found = (value,) if isinstance(value, EdgeName) else _one_or_several(value, what)
    return tuple(
        dict.fromkeys(
            EdgeName.of(each, what) if isinstance(each, list | tuple) else _integer(each, what) for each in found
        )
    )


def _one_or_several(value: Any, what: str) -> tuple[Any, ...]:
    return (value,) if isinstance(value, int) and not isinstance(value, bool) else items(value, what, "whole numbers")


def _integer(value: Any, what: str) -> int:
    return whole(value, f"each of {what}", -(2**62), 2**62, "ids")


def modes(value: Any, what: str = "modes") -> tuple[str, ...]:
    """Return some of the modes on streets, in their order."""
    found = texts(value, what)
    for each in found:
        if each not in BASE_MODES:
            raise InputError(f"{what} must be among {', '.join(map(repr, BASE_MODES))}; got {each!r}")
    return tuple(mode for mode in BASE_MODES if mode in found)


def a_number(value: Any, what: str, least: float, most: float, unit: str) -> float:
    """Return a number in a range."""
    found = number(value, what, unit)
    if not least <= found <= most:
        raise LimitError(f"{what} must be from {least:g} to {most:g} {unit}; got {value}")
    return found


def polygon_of(value: Any, what: str = "polygon") -> Any:
    """Return a valid polygon in EPSG:4326, of a shape in EPSG:4326 or a table with a CRS."""
    value = _shape_of(value, what)
    if not isinstance(value, shapely.Polygon | shapely.MultiPolygon):
        raise InputError(f"{what} must be a polygon in EPSG:4326, or a GeoDataFrame of polygons; got {_kind(value)}")
    if value.is_empty:
        raise InputError(f"{what} is empty; give a polygon with an area")
    if not value.is_valid:
        raise InputError(f"{what} is not valid ({shapely.is_valid_reason(value)}); repair it with shapely.make_valid")
    return _in_degrees(value, what)


def line_of(value: Any, what: str = "line") -> Any:
    """Return a line in EPSG:4326, of a LineString or (lng, lat) pairs."""
    value = _shape_of(value, what)
    if isinstance(value, list | tuple):
        try:
            value = shapely.LineString(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{what} must be a LineString or (lng, lat) pairs; got {value!r}") from error
    if not isinstance(value, shapely.LineString):
        raise InputError(f"{what} must be a LineString in EPSG:4326 or (lng, lat) pairs; got {_kind(value)}")
    value = _in_degrees(shapely.force_2d(value), what)
    if value.is_empty or value.length == 0.0:
        raise InputError(f"{what} is empty; give at least two positions that differ")
    return value


def _shape_of(value: Any, what: str) -> Any:
    """Return the one shape in EPSG:4326 that a table stands for; other values unchanged."""
    if not hasattr(value, "to_crs"):
        return value
    try:
        crs = value.crs
    except AttributeError as error:
        raise InputError(f"{what} has no active geometry; name the column with {what}.set_geometry(...)") from error
    if crs is None:
        raise InputError(f"{what} has no CRS; set it first, for example with set_crs('EPSG:4326')")
    if len(value) == 0:
        raise InputError(f"{what} is empty; give at least one shape")
    shapes = np.asarray(value.to_crs("EPSG:4326").geometry.array)
    is_valid = shapely.is_valid(shapes) | shapely.is_missing(shapes)
    if not is_valid.all():
        reason = shapely.is_valid_reason(shapes[~is_valid][0])
        raise InputError(f"{what} has a shape that is not valid ({reason}); repair it with make_valid()")
    return shapely.union_all(shapes)


def _kind(value: Any) -> str:
    return value.geom_type if isinstance(value, shapely.Geometry) else f"{type(value).__name__} {value!r}"


def _in_degrees(value: Any, what: str) -> Any:
    """Return a shape whose coordinates are degrees."""
    west, south, east, north = value.bounds if not value.is_empty else (0.0, 0.0, 0.0, 0.0)
    if not (west >= -180.0 and east <= 180.0 and south >= -90.0 and north <= 90.0):
        raise CoordinateError(f"{what} must be in degrees of EPSG:4326 (lng, lat); its bounds are {value.bounds}")
    return value


def place(lng: Any, lat: Any) -> tuple[float, float]:
    """Return a position in EPSG:4326."""
    x, y = number(lng, "lng", "degrees"), number(lat, "lat", "degrees")
    if not (math.isfinite(x) and math.isfinite(y) and abs(x) <= 180.0 and abs(y) <= 90.0):
        raise CoordinateError(f"lng must be from -180 to 180 and lat from -90 to 90; got {lng}, {lat}")
    return x, y


def places_of(value: Any, what: str = "near") -> tuple[tuple[float, float], ...]:
    """Return positions in EPSG:4326, of Points, (lng, lat) pairs, one or a list of them, or a table with a CRS."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if hasattr(value, "to_crs"):
        shapes: list[Any] = [_shape_of(value, what)]
        shapes = list(shapes[0].geoms) if hasattr(shapes[0], "geoms") else shapes
    elif isinstance(value, shapely.Point) or _is_pair(value):
        shapes = [value]
    else:
        shapes = list(items(value, what, "Points or (lng, lat) pairs"))
    found = []
    for each in shapes:
        if isinstance(each, shapely.Point) and not each.is_empty:
            found.append(place(each.x, each.y))
        elif _is_pair(each):
            found.append(place(*each))
        else:
            raise InputError(f"{what} must be Points or (lng, lat) pairs in EPSG:4326; got {_kind(each)}")
    return tuple(dict.fromkeys(found))


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and not any(map(_is_place, value))


def _is_place(value: Any) -> bool:
    return isinstance(value, list | tuple | shapely.Geometry)


def clock(value: Any, what: str) -> str:
    """Return a time of a service date as ``HH:MM:SS``; hours of 24 and more are those after midnight."""
    if isinstance(value, dt.time):
        value = value.strftime("%H:%M:%S")
    match = _CLOCK.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise InputError(f"{what} must be a time such as '07:30', '25:00' after midnight, or a time; got {value!r}")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    if hours * 3600 + minutes * 60 + seconds > _LATEST_S:
        raise LimitError(f"{what} must be at most 168:00:00; got {value}")
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}"


def seconds_of(text: str) -> int:
    """Return the seconds of a clock time of `clock`."""
    hours, minutes, seconds = map(int, text.split(":"))
    return hours * 3600 + minutes * 60 + seconds


def span(start: Any, end: Any) -> tuple[str, str]:
    """Return two clock times, the second after the first."""
    first, last = clock(start, "start"), clock(end, "end")
    if seconds_of(last) <= seconds_of(first):
        raise InputError(f"end must be after start; got {first} and {last}. For the night give hours after 24:00")
    return first, last
