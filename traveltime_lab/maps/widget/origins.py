"""
Origins of a map: named points, converted from any accepted input.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import geopandas as gpd
import numpy as np
import shapely

from traveltime_lab.errors import CoordinateError, InputError
from traveltime_lab.network.whereabouts import middle_of
from traveltime_lab.points import plain, read_points
from traveltime_lab.readers.attributes import is_missing

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network


@dataclass(frozen=True, slots=True)
class Origin:
    """
    A named origin of isochrones.

    Parameters
    ----------
    name : object
        Name on the map, in results and in files. The strings of names must be unique. Labels of several levels, which
        are tuples, become a text such as "3, north", and so do truths and bytes.
    lng, lat : float
        Coordinates in EPSG:4326.
    """

    name: Any
    lng: float
    lat: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", flat_name(self.name))


def flat_name(name: Any) -> Any:
    """Return a label as text that pandas would take for several labels, as tuples, or for a mask, as truths."""
    if isinstance(name, tuple | range):
        return ", ".join(map(str, name))
    return str(name) if isinstance(name, bool | np.bool_ | bytes) else name


_LISTS = (list, tuple, np.ndarray)
_PLACES = (Origin, shapely.Point, *_LISTS)


def read_origins(network: Network, origins: Any) -> list[Origin]:
    """
    Convert the input to a list of origins.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat), Origin, or a list of the last three; or None
        Tables may have any CRS; their index labels become names. Points without a name are numbered. None is the
        crossing nearest to the middle of the streets.

    Returns
    -------
    list of Origin
        Empty for an empty table or list.

    Raises
    ------
    InputError, CrsError, CoordinateError
        If the input is not a valid table, point or list, has no CRS, or has duplicate names.
    """
    if isinstance(origins, np.ndarray) and origins.ndim == 0:
        origins = origins.item()
    if origins is None:
        return [Origin("Place 1", *middle_of(network.tables))]
    if isinstance(origins, gpd.GeoDataFrame | gpd.GeoSeries):
        if len(origins) == 0:
            return []
        points = read_points(origins, "origins", network.bounds)
        # A label that is missing is no name.
        found = _named(
            (float(lng), float(lat)) if is_missing(name) else Origin(plain(name), float(lng), float(lat))
            for name, lng, lat in zip(points.index, points.lng, points.lat, strict=True)
        )
    elif isinstance(origins, _PLACES):
        found = _named(origins if isinstance(origins, _LISTS) and not _is_pair(origins) else [origins])
    else:
        # `read_points` raises the same error for invalid tables as in other functions.
        read_points(origins, "origins", network.bounds)
        raise InputError(f"origins must be a table of points, points or pairs (lng, lat); got {origins!r}")
    check_names(found)
    return found


def _is_pair(value: Any) -> bool:
    """Return whether a sequence is a single (lng, lat) pair, valid or not, rather than a list of places."""
    return len(value) == 2 and not any(isinstance(item, _PLACES) for item in value)


def _named(places: Iterable[Any]) -> list[Origin]:
    """Return places as origins, with numbers for those without a name."""
    found: list[Origin] = []
    places = list(places)
    # The names of all places are reserved, also of those that come later.
    given = [place for place in places if isinstance(place, Origin)]
    for number, place in enumerate(places, start=1):
        if isinstance(place, Origin):
            found.append(place)
            continue
        lng, lat = lng_lat(place)
        found.append(Origin(new_name([*found, *given], number), lng, lat))
    return found


def lng_lat(place: Any, lat: Any = None) -> tuple[float, float]:
    """
    Return the longitude and latitude of a place.

    Parameters
    ----------
    place : Point, (lng, lat) or float
        A number is the longitude and requires `lat`.
    lat : float, optional
        Latitude, if `place` is a number.

    Returns
    -------
    tuple of float

    Raises
    ------
    InputError
        If the place is not a point or a pair of numbers.
    CoordinateError
        If a coordinate is not finite or out of range.
    """
    given = place if lat is None else (place, lat)
    pair: Any = (given.x, given.y) if isinstance(given, shapely.Point) and not given.is_empty else given
    try:
        if isinstance(pair, str) or len(pair) != 2:
            raise TypeError
        x, y = (float(side) for side in pair)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"A single origin must be a Point or a pair (lng, lat); got {given!r}") from None
    if not (math.isfinite(x) and math.isfinite(y) and abs(x) <= 180.0 and abs(y) <= 90.0):
        raise CoordinateError(
            f"The longitude must be from -180 to 180 and the latitude from -90 to 90; got lng {x:g}, lat {y:g}. "
            "Are they swapped, or in another CRS?"
        )
    return x, y


def check_name(name: Any) -> None:
    """Raise InputError for names that are no labels: tables, lists, missing values."""
    is_label = not isinstance(name, np.timedelta64)
    try:
        hash(name)
        is_label = is_label and bool(name == name)  # NaN and NaT are not
    except (TypeError, ValueError):
        is_label = False
    if not is_label:
        raise InputError(f"The name of an origin must be a text or a number; got {name!r}.")


def check_names(origins: Sequence[Origin]) -> None:
    """Raise InputError if the names of two origins are equal as strings."""
    seen: set[str] = set()
    for origin in origins:
        check_name(origin.name)
        if str(origin.name) in seen:
            raise InputError(f"Two origins have the name {origin.name!r}; names must be unique.")
        seen.add(str(origin.name))


def new_name(origins: Sequence[Origin], number: int | None = None) -> str:
    """Return an unused name with the given number or the next free one."""
    taken = {str(origin.name) for origin in origins}
    number = len(origins) + 1 if number is None else number
    while f"Place {number}" in taken:
        number += 1
    return f"Place {number}"


def unused(name: str, origins: Sequence[Origin]) -> str:
    """Return a name, with a number if an origin has it already."""
    taken = {str(origin.name) for origin in origins}
    number, requested = 2, name
    while requested in taken:
        requested, number = f"{name} {number}", number + 1
    return requested


#: Suffix of the name of an origin that has been moved away from the place of that name.
_MOVED = " (moved)"


def moved_name(name: Any, others: Sequence[Origin]) -> Any:
    """Return the name of an origin after moving it: numbered names stay, others get a suffix."""
    text = str(name)
    if text.endswith(_MOVED) or (text.startswith("Place ") and text.removeprefix("Place ").isdigit()):
        return name
    taken = {str(origin.name) for origin in others}
    number = 2
    moved = f"{text}{_MOVED}"
    while moved in taken:
        moved, number = f"{text} {number}{_MOVED}", number + 1
    return moved


def find(origins: Sequence[Origin], name: Any) -> int:
    """
    Return the position of the origin with a name; a moved origin is also found by its previous name.

    Raises
    ------
    InputError
        If there is no such origin.
    """
    names = [str(origin.name) for origin in origins]
    name = flat_name(name)
    for requested in (str(name), f"{name}{_MOVED}"):
        if requested in names:
            return names.index(requested)
    known = f"Known: {', '.join(map(repr, names))}." if names else "The map has no origins."
    raise InputError(f"There is no origin {name!r}. {known}")


def called(name: Any) -> str:
    """Return a name as the subject of a sentence; index labels that are not strings are preceded by "Origin"."""
    return str(name) if isinstance(name, str) and name.strip() else f"Origin {name}"
