"""
Geodetic helpers, and the local metric coordinates of a network.

A `LocalFrame` is a linear map between degrees and metres around a centre: x and y are metres along the parallel and
the meridian at the centre. It is cheap to apply and to invert, and it is continuous across the 180th meridian. North
and south of the centre it distorts east-west distances. `LocalFrame.shrink` returns the correction factor, which the
kernels apply row by row, so that snapping is correct in a network of any extent.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyproj

from traveltime_lab._arrays import FloatArray, Int64Array

#: The CRS of all tables, in the axis order longitude, latitude.
WGS84: Final = pyproj.CRS.from_epsg(4326)
WGS84_A_M = 6_378_137.0
WGS84_E2 = 6.694379990141316e-3
#: Segments that are measured at the same time.
_AT_ONCE: Final = 1 << 18


def metres_per_degree(lat: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """
    Return the lengths in metres of one degree of longitude and of one degree of latitude.

    Parameters
    ----------
    lat : float or float64 array
        Latitude in degrees.

    Returns
    -------
    metres_per_degree_lng, metres_per_degree_lat : float64 arrays
        From the radii of curvature of the WGS 84 ellipsoid in the prime vertical and in the meridian.
    """
    metres_lng, w2 = _metres_per_degree_lng(lat)
    return metres_lng, np.radians(WGS84_A_M * (1.0 - WGS84_E2) / w2**1.5)


def _metres_per_degree_lng(lat: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """Return the first of `metres_per_degree`, and what the second takes."""
    phi = np.radians(np.asarray(lat, dtype=np.float64))
    w2 = 1.0 - WGS84_E2 * np.sin(phi) ** 2
    return np.radians(WGS84_A_M / np.sqrt(w2) * np.cos(phi)), w2


@functools.lru_cache(maxsize=64)
def _metres_at(lat: float) -> tuple[float, float]:
    """Return `metres_per_degree` of one latitude; it is cached because each request needs it many times."""
    metres_lng, metres_lat = metres_per_degree(lat)
    return float(metres_lng), float(metres_lat)


def wrap_degrees(degrees: FloatArray | float) -> FloatArray:
    """Return angles wrapped to [-180, 180)."""
    return (np.asarray(degrees, dtype=np.float64) + 180.0) % 360.0 - 180.0


def segment_lengths_m(lng: FloatArray, lat: FloatArray) -> FloatArray:
    """
    Return the length in metres of each segment of a coordinate sequence.

    The error is a few parts per million for segments shorter than 10 km. Segments that cross the 180th meridian are
    measured the short way round.

    Parameters
    ----------
    lng, lat : float64 arrays of shape (n,)
        Coordinates in EPSG:4326.

    Returns
    -------
    float64 array of shape (n - 1,)
        Metres.
    """
    metres = np.empty(max(0, len(lng) - 1))
    # Some at a time, because temporary arrays take several times the memory of the coordinates.
    for first in range(0, metres.size, _AT_ONCE):
        part = slice(first, first + _AT_ONCE + 1)
        mx, my = metres_per_degree((lat[part][1:] + lat[part][:-1]) / 2.0)
        along = np.hypot(wrap_degrees(np.diff(lng[part])) * mx, np.diff(lat[part]) * my)
        metres[first : first + along.size] = along
    return metres


def nanometres(metres: FloatArray) -> Int64Array:
    """
    Return lengths in whole nanometres.

    Sums of them are exact: the length of a line does not depend on its direction, nor on the lines before it.
    """
    return np.rint(np.asarray(metres) * 1e9).astype(np.int64)


def line_length_m(lng: FloatArray, lat: FloatArray) -> float:
    """Return the length of a line in metres, the sum of its segments in whole nanometres."""
    return float(nanometres(segment_lengths_m(lng, lat)).sum() / 1e9)


@dataclass(frozen=True, slots=True)
class LocalFrame:
    """
    Linear map between degrees and local metres.

    Parameters
    ----------
    lng0, lat0 : float
        Centre in degrees, EPSG:4326.
    """

    lng0: float
    lat0: float

    @property
    def metres_per_degree_lng(self) -> float:
        """Length in metres of a degree of longitude at the centre."""
        return _metres_at(self.lat0)[0]

    @property
    def metres_per_degree_lat(self) -> float:
        """Length in metres of a degree of latitude at the centre."""
        return _metres_at(self.lat0)[1]

    def to_xy(self, lng: FloatArray, lat: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Convert coordinates in EPSG:4326 to local metres (x east, y north)."""
        x = wrap_degrees(np.asarray(lng, dtype=np.float64) - self.lng0) * self.metres_per_degree_lng
        y = (np.asarray(lat, dtype=np.float64) - self.lat0) * self.metres_per_degree_lat
        return x, y

    def to_lnglat(self, x: FloatArray, y: FloatArray, *, wrap: bool = True) -> tuple[FloatArray, FloatArray]:
        """Convert local metres to coordinates in EPSG:4326; `wrap` wraps longitudes to [-180, 180)."""
        lng = np.asarray(x, dtype=np.float64) / self.metres_per_degree_lng + self.lng0
        lat = np.asarray(y, dtype=np.float64) / self.metres_per_degree_lat + self.lat0
        return (wrap_degrees(lng) if wrap else lng), lat

    def shrink(self, y: FloatArray | float) -> FloatArray:
        """Return the ratio of true east-west distances to those in local metres at `y`; it is 1 at the centre."""
        lat = np.asarray(y, dtype=np.float64) / self.metres_per_degree_lat + self.lat0
        return np.asarray(_metres_per_degree_lng(np.clip(lat, -89.9, 89.9))[0] / self.metres_per_degree_lng)
