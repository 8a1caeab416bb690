"""
Time zones: which one is at a place, of which country each is, and where two of them differ.

Zones at sea, such as ``Etc/GMT-1``, are no clocks that people live by. Boundaries of the zones of countries include
12 nautical miles of sea, so that every place with streets has one; other places get that of the nearest land.
"""

from __future__ import annotations

import datetime as dt
import functools
from importlib.resources import files
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np

from traveltime_lab._arrays import FloatArray
from traveltime_lab.crs import metres_per_degree, wrap_degrees

#: Distances at which land is looked for around a place at sea, m, and number of directions (assumed).
_DISTANCES_M: Final = np.geomspace(1_000.0, 3_000_000.0, 60)
_DIRECTIONS: Final = 32
#: Days that are looked up in the tz database: feeds may run until the year 9999.
_FIRST_DAY: Final = dt.date(1970, 1, 1).toordinal()
_LAST_DAY: Final = dt.date(2100, 1, 1).toordinal()


def zones_at(lng: FloatArray, lat: FloatArray) -> list[str]:
    """Return the IANA name of the time zone of the land at each place in EPSG:4326; empty on the open sea."""
    import tzfpy  # noqa: PLC0415 - unpacks its map at the first call

    names = [str(tzfpy.get_tz(x, y)) for x, y in zip(np.asarray(lng).tolist(), np.asarray(lat).tolist(), strict=True)]
    return ["" if name.startswith("Etc/") else name for name in names]


def nearest_zone(lng: float, lat: float) -> str:
    """Return the IANA name of the time zone of the nearest land; empty if there is none within 3,000 km."""
    found = zones_at(np.array([lng]), np.array([lat]))[0]
    angle = np.linspace(0.0, 2.0 * np.pi, _DIRECTIONS, endpoint=False)
    for distance in [] if found else _DISTANCES_M.tolist():
        _, per_lat = metres_per_degree(lat)
        north = lat + distance * np.sin(angle) / per_lat
        near_pole = np.clip(north, -89.0, 89.0)
        east = wrap_degrees(lng + distance * np.cos(angle) / metres_per_degree(near_pole)[0])
        found = next(filter(None, zones_at(east, near_pole)), "")
        if found:
            break
    return found


def canonical(timezone: str) -> str:
    """Return the name in zone.tab of the tz database for an alias, such as ``Asia/Kolkata`` for ``Asia/Calcutta``."""
    return timezone if timezone in _countries() else _links().get(timezone, timezone)


def country_code(timezone: str) -> str:
    """Return the ISO 3166-1 alpha-2 code of the country of a time zone; empty for zones of no country, as ``UTC``."""
    return _countries().get(canonical(timezone), "")


def hours_apart(one: str, other: str, first: dt.date, last: dt.date) -> list[float]:
    """
    Return by how many hours the clocks of a time zone are ahead of those of the other, at noon UTC of some days.

    Parameters
    ----------
    one, other : str
        IANA names.
    first, last : date
        One day of each week in between is looked at, and these two. Days before 1970 and after 2100 count as these.

    Returns
    -------
    list of float
        The distinct differences in increasing order.
    """
    begin, end = (min(max(day.toordinal(), _FIRST_DAY), _LAST_DAY) for day in (first, last))
    days = [*range(begin, end + 1, 7), end]
    noons = [dt.datetime.combine(dt.date.fromordinal(day), dt.time(12), dt.UTC) for day in days]
    gaps = {_offset(noon, one) - _offset(noon, other) for noon in noons}
    return sorted(gap / dt.timedelta(hours=1) for gap in gaps)


def _offset(moment: dt.datetime, timezone: str) -> dt.timedelta:
    return moment.astimezone(ZoneInfo(timezone)).utcoffset() or dt.timedelta()


@functools.cache
def _countries() -> dict[str, str]:
    """Return the country codes of the time zones in zone.tab."""
    rows = (line.split("\t") for line in _lines("zone.tab") if not line.startswith("#"))
    return {row[2]: row[0] for row in rows}


@functools.cache
def _links() -> dict[str, str]:
    """Return the names that aliases stand for; an alias of an alias is resolved, too."""
    direct = {row[2]: row[1] for row in map(str.split, _lines("tzdata.zi")) if row and row[0] == "L"}
    found = {}
    for alias, target in direct.items():
        while target not in _countries() and target in direct:
            target = direct[target]
        found[alias] = target
    return found


def _lines(name: str) -> list[str]:
    return files("tzdata").joinpath("zoneinfo", name).read_text(encoding="utf-8").splitlines()
