"""
Origins of a map: places with names, read from whatever describes them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import geopandas as gpd
import numpy as np
import shapely

from traveltime_lab.errors import CoordinateError, InputError
from traveltime_lab.points import plain, read_points

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network


@dataclass(frozen=True, slots=True)
class Origin:
    """
    A place that areas are drawn around.

    Parameters
    ----------
    name : object
        What it is called on the map, in answers and in files; unlike those of other origins also when written down.
    lng, lat : float
        EPSG:4326.
    """

    name: Any
    lng: float
    lat: float


_LISTS = (list, tuple, np.ndarray)
_PLACES = (Origin, shapely.Point, *_LISTS)


def read_origins(network: Network, origins: Any) -> list[Origin]:
    """
    Return origins from whatever describes them.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat), Origin, or a list of the last three; or None
        Tables in any CRS; their labels become names. Places without a name are numbered. None is the middle of the
        network.

    Returns
    -------
    list of Origin
        Empty for an empty table or list.

    Raises
    ------
    InputError, CrsError, CoordinateError
        If something is no place, has no CRS or has a name twice.
    """
    if origins is None:
        return [Origin("Place 1", float(network.frame.lng0), float(network.frame.lat0))]
    if isinstance(origins, gpd.GeoDataFrame | gpd.GeoSeries):
        if len(origins) == 0:
            return []
        points = read_points(origins, "origins", network.bounds)
        found = [
            Origin(plain(name), float(lng), float(lat))
            for name, lng, lat in zip(points.index, points.lng, points.lat, strict=True)
        ]
    elif isinstance(origins, _PLACES):
        found = _named(origins if isinstance(origins, _LISTS) and not _is_pair(origins) else [origins])
    else:
        # A table that is none is refused in the words of every other function.
        read_points(origins, "origins", network.bounds)
        raise InputError(f"origins must be a table of points, points or pairs (lng, lat); got {origins!r}")
    check_names(found)
    return found


def _is_pair(value: Any) -> bool:
    """Return whether something is one (lng, lat), or means to be, and not a list of places."""
    return len(value) == 2 and not any(isinstance(item, _PLACES) for item in value)


def _named(places: Any) -> list[Origin]:
    """Return places as origins, those without a name numbered."""
    found: list[Origin] = []
    # Numbers never take a name that a later place brings along.
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
    Return longitude and latitude of a place.

    Parameters
    ----------
    place : Point, (lng, lat) or float
        A number is the longitude, and needs `lat`.
    lat : float, optional

    Returns
    -------
    tuple of float

    Raises
    ------
    InputError
        If it is no place.
    CoordinateError
        If it is not finite or out of range.
    """
    given = place if lat is None else (place, lat)
    pair: Any = (given.x, given.y) if isinstance(given, shapely.Point) and not given.is_empty else given
    try:
        if isinstance(pair, str) or len(pair) != 2:
            raise TypeError
        x, y = (float(side) for side in pair)
    except (TypeError, ValueError):
        raise InputError(f"A single origin is a Point or a pair (lng, lat); got {given!r}") from None
    if not (math.isfinite(x) and math.isfinite(y) and abs(x) <= 180.0 and abs(y) <= 90.0):
        raise CoordinateError(
            f"A place has a longitude from -180 to 180 and a latitude from -90 to 90; got lng {x:g}, lat {y:g}. "
            "Are they swapped, or in another CRS?"
        )
    return x, y


def check_names(origins: Sequence[Origin]) -> None:
    """Raise InputError if two origins have the same name as people read it."""
    seen: set[str] = set()
    for origin in origins:
        if str(origin.name) in seen:
            raise InputError(f"Two origins are called {origin.name!r}; give each a name of its own.")
        seen.add(str(origin.name))


def new_name(origins: Sequence[Origin], number: int | None = None) -> str:
    """Return a name that no origin has yet, with a number or the next free one."""
    taken = {str(origin.name) for origin in origins}
    number = len(origins) + 1 if number is None else number
    while f"Place {number}" in taken:
        number += 1
    return f"Place {number}"


#: What a name gets when its origin is no longer where the name says.
_MOVED = " (moved)"


def moved_name(name: Any, others: Sequence[Origin]) -> Any:
    """Return what a moved origin is called: a number stays, the name of a place does not stay at another place."""
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
    Return the position of the origin of a name; one that has been moved is found by the name it had before, too.

    Raises
    ------
    InputError
        If there is none; it names those that there are.
    """
    names = [str(origin.name) for origin in origins]
    for wanted in (str(name), f"{name}{_MOVED}"):
        if wanted in names:
            return names.index(wanted)
    known = f"There are {', '.join(map(repr, names))}." if names else "There is none."
    raise InputError(f"There is no origin {name!r}. {known}")


def called(name: Any) -> str:
    """Return a name as the beginning of a sentence: a label of a table that is only a number says too little."""
    return str(name) if isinstance(name, str) and name.strip() else f"Origin {name}"
