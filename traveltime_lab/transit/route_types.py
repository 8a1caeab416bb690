"""
Route types of GTFS: the mode that results report, and the transportation types that select them.

==================  =============================================  ==================  ======  ==========
route_type          GTFS name                                      mode in answers     group   assumed
==================  =============================================  ==================  ======  ==========
0, 900-906          tram, streetcar, light rail                    train               train   mode, group
1, 400-404          metro, underground, urban railway              rail_underground    train   group
2, 100-117          rail of every distance                         train               train
3, 700-716          bus of every kind                              bus                 bus
4, 1000, 1200       ferry, water transport                         ferry               ferry
5                   cable tram (cars on street-level rails)        train               train   mode, group
6, 1300-1307        aerial lift, gondola, telecabin                cable_car           other
7, 1400             funicular                                      train               train   mode, group
11, 800             trolleybus                                     bus                 bus     group
12, 405             monorail                                       train               train   mode, group
200-209             coach                                          coach               coach
1100-1114           air                                            plane               other
1500-1507           taxi                                           bus                 other   mode
1700, 1702          miscellaneous, horse-drawn carriage            bus                 other   mode
==================  =============================================  ==================  ======  ==========

`_MODES` has finer names, by which `Transportation.modes` selects: those of GTFS, without regard to the contract.

Codes and names: GTFS Schedule reference, ``routes.txt``, and Google's extended route types
(developers.google.com/transit/gtfs/reference/extended-route-types). Modes are those of the parts of a route in
docs/contract.md, 6.4, which has none for trams, taxis and carriages. The contract defines ``train`` as "walk + rail"
(5.1) and reports underground and light railways as kinds of rail, so everything on rails is in the group ``train``.
``public_transport`` selects all routes, including those that no other type selects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from traveltime_lab._arrays import BoolArray, ObjectArray
from traveltime_lab.errors import ModeError
from traveltime_lab.modes.options import listed
from traveltime_lab.modes.table import ALL_VEHICLES, MODES, VEHICLES
from traveltime_lab.modes.transportation import ROUTE_MODES, Transportation

GROUPS: Final = ("train", "bus", "coach", "ferry", "other")


class RouteClass(NamedTuple):
    """The mode that results report, and the group that transportation types select by."""

    mode: str
    group: str


_RANGES: Final[tuple[tuple[int, int, RouteClass], ...]] = (
    (0, 0, RouteClass("train", "train")),
    (1, 1, RouteClass("rail_underground", "train")),
    (2, 2, RouteClass("train", "train")),
    (3, 3, RouteClass("bus", "bus")),
    (4, 4, RouteClass("ferry", "ferry")),
    (5, 5, RouteClass("train", "train")),
    (6, 6, RouteClass("cable_car", "other")),
    (7, 7, RouteClass("train", "train")),
    (11, 11, RouteClass("bus", "bus")),
    (12, 12, RouteClass("train", "train")),
    (100, 117, RouteClass("train", "train")),
    (200, 209, RouteClass("coach", "coach")),
    (400, 404, RouteClass("rail_underground", "train")),
    (405, 405, RouteClass("train", "train")),
    (700, 716, RouteClass("bus", "bus")),
    (800, 800, RouteClass("bus", "bus")),
    (900, 906, RouteClass("train", "train")),
    (1000, 1000, RouteClass("ferry", "ferry")),
    (1100, 1114, RouteClass("plane", "other")),
    (1200, 1200, RouteClass("ferry", "ferry")),
    (1300, 1307, RouteClass("cable_car", "other")),
    (1400, 1400, RouteClass("train", "train")),
    (1500, 1507, RouteClass("bus", "other")),
    (1700, 1700, RouteClass("bus", "other")),
    (1702, 1702, RouteClass("bus", "other")),
)

#: Names of GTFS for the route types above: first and last code, and an item of `ROUTE_MODES` in
#: `traveltime_lab.modes.transportation`.
_MODES: Final[tuple[tuple[int, int, str], ...]] = (
    (0, 0, "tram"),
    (1, 1, "subway"),
    (2, 2, "rail"),
    (3, 3, "bus"),
    (4, 4, "ferry"),
    (5, 5, "cable_tram"),
    (6, 6, "aerial_lift"),
    (7, 7, "funicular"),
    (11, 11, "trolleybus"),
    (12, 12, "monorail"),
    (100, 117, "rail"),
    (200, 209, "coach"),
    (400, 404, "subway"),
    (405, 405, "monorail"),
    (700, 716, "bus"),
    (800, 800, "trolleybus"),
    (900, 906, "tram"),
    (1000, 1000, "ferry"),
    (1100, 1114, "air"),
    (1200, 1200, "ferry"),
    (1300, 1307, "aerial_lift"),
    (1400, 1400, "funicular"),
    (1500, 1507, "taxi"),
)

#: Words for a vehicle of each item of `traveltime_lab.modes.transportation.ROUTE_MODES`, for texts that people read.
VEHICLE_WORDS: Final[Mapping[str, str]] = {
    "tram": "tram",
    "subway": "underground",
    "rail": "train",
    "bus": "bus",
    "ferry": "ferry",
    "cable_tram": "cable tram",
    "aerial_lift": "cable car",
    "funicular": "funicular",
    "trolleybus": "trolleybus",
    "monorail": "monorail",
    "coach": "coach",
    "air": "plane",
    "taxi": "taxi",
    "other": "vehicle",
}

#: Groups that the vehicles of a transportation type are in: all, or the one of that name.
_GROUPS_OF: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(GROUPS if name == ALL_VEHICLES else {name}) for name in VEHICLES
}
#: Groups that each transportation type with a timetable uses.
SELECTS: Final[Mapping[str, frozenset[str]]] = {
    row.name: _GROUPS_OF[row.vehicles] for row in MODES.values() if row.uses_timetable
}


def route_class(route_type: int) -> RouteClass | None:
    """Return the mode and the group of a basic or extended route type, None if it is unknown."""
    for first, last, kind in _RANGES:
        if first <= route_type <= last:
            return kind
    return None


def route_mode(route_type: int) -> str:
    """Return the mode of a basic or extended route type, as `Transportation.modes` names it; "other" if unknown."""
    return next((mode for first, last, mode in _MODES if first <= route_type <= last), "other")


def ridden_routes(routes: pd.DataFrame, transportation: Transportation) -> BoolArray | None:
    """
    Return for each route whether a means of transportation uses it, None if it uses all.

    Parameters
    ----------
    routes : DataFrame
        The routes of a timetable, with the columns ``group`` and ``route_type``.
    transportation : Transportation
        A timetable type.
    """
    if transportation.vehicles == ALL_VEHICLES and not transportation.modes:
        return None
    is_used = is_selected(routes["group"].to_numpy(), transportation.vehicles)
    if transportation.modes:
        is_used &= np.isin(modes_of(routes), transportation.modes)
    return is_used


def check_modes(routes: pd.DataFrame, transportation: Transportation) -> None:
    """
    Check that a timetable has routes of each mode of a means of transportation.

    Raises
    ------
    ModeError
        If there are none; routes that a scenario has removed count.
    """
    if not transportation.modes:
        return
    kind = transportation.type
    there = set(modes_of(routes)[is_selected(routes["group"].to_numpy(), transportation.vehicles)])
    lost = [mode for mode in transportation.modes if mode not in there]
    if lost:
        has = f"it has {listed(mode for mode in ROUTE_MODES if mode in there)}" if there else "it has none at all"
        raise ModeError(
            f"modes has {listed(lost)}, but the timetable of this network has no such routes for transportation type "
            f"{kind!r}; {has}. Leave out what the timetable has not."
        )


def modes_of(routes: pd.DataFrame) -> ObjectArray:
    """Return the mode of each route."""
    codes, place = np.unique(routes["route_type"].to_numpy(), return_inverse=True)
    return np.array([route_mode(int(code)) for code in codes], dtype=object)[place]


def is_selected(groups: ObjectArray | list[str], vehicles: str) -> BoolArray:
    """Return for each route whether its vehicles are used; `groups` is the ``group`` column of the routes."""
    return np.isin(np.asarray(groups, dtype=object).astype(str), sorted(_GROUPS_OF[vehicles]))
