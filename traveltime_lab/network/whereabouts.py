"""
The time zone of a network and the side of its traffic, from the place of its streets and from its timetable.

Neither follows from the middle of a bounding box, which may be at sea or abroad.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np

from traveltime_lab import timezones
from traveltime_lab.crs import wrap_degrees
from traveltime_lab.errors import DataError
from traveltime_lab.runtime.warnings import warn
from traveltime_lab.streets import costs
from traveltime_lab.streets.tables import StreetTables

if TYPE_CHECKING:
    from traveltime_lab.transit.timetable import Timetable

#: Side of the squares, in degrees, whose streets have the time zone of one of their junctions: about a kilometre.
_SQUARE = 0.01
#: Least share of the streets on the other side of the border that a warning is worth (assumed).
_SHARE = 0.01


def km_by_timezone(tables: StreetTables) -> dict[str, float]:
    """
    Return the kilometres of street in each time zone, the longest first.

    Ferries, and streets on the open sea, have none.
    """
    on_land = np.flatnonzero(~tables.uses["is_ferry"].to_numpy()[tables.edge_use])
    at = tables.edge_from[on_land]
    square = np.floor(tables.node_lng[at] / _SQUARE) * 1e5 + np.floor(tables.node_lat[at] / _SQUARE)
    _, first, of = np.unique(square, return_index=True, return_inverse=True)
    km = np.bincount(of, weights=tables.edge_length_m[on_land], minlength=first.size) / 1000.0
    found: dict[str, float] = {}
    zones = timezones.zones_at(tables.node_lng[at[first]], tables.node_lat[at[first]])
    for zone, length in zip(zones, km.tolist(), strict=True):
        if zone:
            found[zone] = found.get(zone, 0.0) + length
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def timezone_of(tables: StreetTables, timetable: Timetable | None, km: dict[str, float]) -> str:
    """
    Return the time zone of a network.

    It is that of the timetable, of its most trips if there are several, unless that belongs to no country (``UTC``);
    without a timetable that of most streets. Streets on the open sea have that of the nearest land.

    Parameters
    ----------
    tables : StreetTables
    timetable : Timetable, optional
    km : dict
        As of `km_by_timezone`.

    Raises
    ------
    DataError
        If there is no land near the streets.

    Warns
    -----
    UserWarning
        If feeds have time zones whose clocks differ, or differ from those where the streets are.
    """
    of_streets = next(iter(km), "")
    zones = {} if timetable is None else timetable.trips_by_timezone()
    chosen = next((zone for zone in zones if timezones.country_code(zone)), "") or of_streets or next(iter(zones), "")
    chosen = chosen or timezones.nearest_zone(float(tables.node_lng[0]), float(tables.node_lat[0]))
    if not chosen:
        lng, lat = float(tables.node_lng[0]), float(tables.node_lat[0])
        msg = f"no time zone found at lng {lng:.4f}, lat {lat:.4f}; pass timezone= to build_network"
        raise DataError(msg)
    if timetable is not None:
        _warn_of_clocks(timetable, zones, of_streets, chosen)
    return chosen


def is_left_hand_of(km: dict[str, float], timezone: str) -> bool:
    """
    Return whether traffic keeps left along most streets.

    Parameters
    ----------
    km : dict
        As of `km_by_timezone`.
    timezone : str
        IANA name of the time zone that counts if the streets are in none.

    Warns
    -----
    UserWarning
        If it keeps to the other side along a considerable share of the streets.
    """
    if not km:
        return costs.drives_on_left(timezone)
    sides = {True: 0.0, False: 0.0}
    for zone, length in km.items():
        sides[costs.drives_on_left(zone)] += length
    is_left = sides[True] > sides[False]
    if sides[not is_left] > _SHARE * sum(sides.values()):
        name, other = ("left", "right") if is_left else ("right", "left")
        msg = (
            f"traffic keeps {name} along {sides[is_left]:,.0f} km of the streets and {other} along "
            f"{sides[not is_left]:,.0f} km: turns are timed as if it kept {name} everywhere. Pass is_left_hand= to "
            "choose, or build a network of each country"
        )
        warn(msg)
    return is_left


def facts_of(km: dict[str, float]) -> dict[str, Any]:
    """Return the text of a report about streets in several time zones."""
    return {"km_by_timezone": {zone: round(length, 1) for zone, length in km.items()}} if len(km) > 1 else {}


def middle_of(tables: StreetTables) -> tuple[float, float]:
    """Return longitude and latitude of the crossing that is nearest to the middle of the streets, in EPSG:4326."""
    # From one crossing, so that the 180th meridian is no border.
    east = wrap_degrees(tables.node_lng - tables.node_lng[0])
    away = (east - np.median(east)) ** 2 + (tables.node_lat - np.median(tables.node_lat)) ** 2
    nearest = int(np.argmin(away))
    return float(tables.node_lng[nearest]), float(tables.node_lat[nearest])


def _warn_of_clocks(timetable: Timetable, zones: dict[str, int], of_streets: str, chosen: str) -> None:
    """Warn if clocks of the timetable differ from each other or from those of the streets."""
    dates = timetable.dates().dropna()
    first, last = (dates["first"].min(), dates["last"].max()) if len(dates) else (dt.date(2026, 1, 1),) * 2
    most = next(iter(zones))
    default = f"times without a time zone are those of {chosen}; pass timezone= to choose another"
    if any(timezones.hours_apart(zone, most, first, last) != [0.0] for zone in zones):
        trips = ", ".join(f"{zone} ({number:,} trips)" for zone, number in zones.items())
        msg = (
            f"the timetables are in time zones whose clocks differ: {trips}. Trips run by the clock of their agency; "
            f"{default}"
        )
        warn(msg)
    gaps = timezones.hours_apart(most, of_streets or most, first, last)
    if gaps != [0.0]:
        hours = " or ".join(f"{gap:+g}" for gap in gaps)
        msg = (
            f"the timetable is in the time zone {most}, most streets are in {of_streets}, whose clocks differ by "
            f"{hours} hours: check agency_timezone of the feeds and the place of the streets; {default}"
        )
        warn(msg)
