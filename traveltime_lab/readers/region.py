"""
The part of files that a network is built from: a bounding box or a polygon.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import shapely

from traveltime_lab._arrays import BoolArray, FloatArray
from traveltime_lab._checks import items, number
from traveltime_lab.errors import CoordinateError, InputError
from traveltime_lab.streets.extent import Bounds, are_inside

_ORDER: Final = "give (west, south, east, north), in degrees, longitude first"
#: Characters of a polygon that a report shows; longer ones are shown as a hash.
_LONGEST_TEXT: Final = 500
#: Degrees of longitude of the widest box across the 180th meridian; a wider one has west and east exchanged (assumed).
_WIDEST: Final = 180.0


@dataclass(frozen=True)
class Region:
    """
    A bounding box, or a polygon with its bounding box, in EPSG:4326.

    Attributes
    ----------
    bounds : tuple of float
        West, south, east, north; west is greater than east across the 180th meridian.
    shape : Polygon or MultiPolygon, optional
    """

    bounds: Bounds
    shape: Any = None

    def contains(self, lng: FloatArray, lat: FloatArray) -> BoolArray:
        """Return whether points are in the region or on its border; NaN are not."""
        return are_inside(self.bounds, self.shape, lng, lat)

    def within(self, bounds: Bounds | None) -> Bounds:
        """Return the bounds of what the region has of a file with these bounds."""
        west, south, east, north = self.bounds
        if bounds is None or west > east or bounds[0] > bounds[2]:
            return self.bounds
        common = max(west, bounds[0]), max(south, bounds[1]), min(east, bounds[2]), min(north, bounds[3])
        return common if common[0] <= common[2] and common[1] <= common[3] else self.bounds

    def __str__(self) -> str:
        """Return the bounds, with all digits."""
        return str(tuple(float(value) for value in self.bounds))

    def facts(self) -> dict[str, str]:
        """Return what the region is, for the report of a network: enough to cut the same part again."""
        facts = {"bounds": str(self).strip("()")}
        if self.shape is not None:
            text = shapely.to_wkt(self.shape, rounding_precision=20)  # -1 loses digits
            is_short = len(text) <= _LONGEST_TEXT
            facts["polygon"] = text if is_short else f"SHA-256 {sha256(shapely.to_wkb(self.shape)).hexdigest()} of WKB"
        return facts


def region_of(bounds: Any) -> Region:
    """
    Return the region that a user has given.

    Raises
    ------
    InputError
        If it is neither four numbers in order nor a valid polygon, has no area, or has west and east exchanged.
    CoordinateError
        If it is not on the globe.
    """
    if isinstance(bounds, shapely.Polygon | shapely.MultiPolygon):
        if bounds.is_empty or not bounds.is_valid:
            msg = "the polygon of bounds is empty or not valid; try shapely.make_valid(polygon)"
            raise InputError(msg)
        shape = shapely.force_2d(bounds)
        shapely.prepare(shape)
        region = Region(tuple(bounds.bounds), shape)
    else:
        if isinstance(bounds, str) or hasattr(bounds, "geom_type"):
            msg = f"bounds must be four numbers or a polygon; got {bounds!r}; {_ORDER}"
            raise InputError(msg)
        west, south, east, north = (
            number(value, "each of bounds", "degrees") for value in items(bounds, "bounds", "four numbers", 4)
        )
        region = Region((west, south, east, north))
    west, south, east, north = region.bounds
    is_on_globe = abs(west) <= 180.0 and abs(east) <= 180.0 and abs(south) <= 90.0 and abs(north) <= 90.0
    if not is_on_globe:  # NaN too
        msg = f"bounds must be on the globe; got {region}; {_ORDER}, in EPSG:4326"
        raise CoordinateError(msg)
    if not south < north or west == east:
        msg = f"bounds must have south < north and west other than east; got {region}; {_ORDER}"
        raise InputError(msg)
    check_west_and_east(west, east, "bounds")
    return region


def check_west_and_east(west: float, east: float, name: str) -> None:
    """Raise InputError if they seem to be exchanged, so that a box would be all around the globe but for itself."""
    if west > east and (width := east + 360.0 - west) > _WIDEST:
        msg = (
            f"{name} from {west} to {east} would cross the 180th meridian and be {width:g} degrees wide: west and east "
            f"seem to be exchanged; {_ORDER}"
        )
        raise InputError(msg)


def swapped_hint(region: Region, bounds: Bounds) -> str:
    """Return advice if a region with longitude and latitude exchanged would meet these bounds, else ""."""
    west, south, east, north = region.bounds
    is_met = south <= bounds[2] and north >= bounds[0] and west <= bounds[3] and east >= bounds[1]
    return "; longitude and latitude seem to be exchanged" if is_met else ""
