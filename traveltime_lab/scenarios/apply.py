"""
Apply the changes of a scenario to streets and timetable.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from traveltime_lab._checks import items
from traveltime_lab.errors import InputError
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.scenarios import new_streets, streets, timetables
from traveltime_lab.scenarios.changes import Change
from traveltime_lab.scenarios.street_changes import AddStreet
from traveltime_lab.scenarios.transit_changes import AddStop
from traveltime_lab.streets import snapping
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.tables import StreetTables
from traveltime_lab.transit.timetable import Timetable

#: All changes by name.
KINDS: Final[dict[str, type[Change]]] = {kind.__name__: kind for kind in (*streets.KINDS, *timetables.KINDS)}


@dataclass(frozen=True)
class Applied:
    """
    Streets and timetable with changes.

    Attributes
    ----------
    tables : StreetTables
        The same object as before if no street has changed.
    timetable : Timetable or None
        Likewise.
    changes : tuple of Change
        The changes, which name their edges; applied to the same streets and timetable, they do the same.
    facts : tuple of str
        Effect of each change, as text.
    """

    tables: StreetTables
    timetable: Timetable | None
    changes: tuple[Change, ...]
    facts: tuple[str, ...]


def changes_of(value: Any) -> tuple[Change, ...]:
    """Return a change, or a list of changes, as a tuple; raise InputError for anything else."""
    found = (value,) if isinstance(value, Change) else items(value, "changes", "changes")
    for each in found:
        if not isinstance(each, Change):
            raise InputError(f"each of changes must be one of {', '.join(KINDS)}; got {each!r}")
    return found


def apply_changes(
    tables: StreetTables,
    timetable: Timetable | None,
    timezone: str,
    changes: Sequence[Change],
    day: dt.date | None = None,
) -> Applied:
    """
    Apply changes, one after the other.

    All of them together and each in a call of its own give the same: the effect of a change depends only on the
    tables that those before it have left, and row numbers of edges are replaced by names before the first one.

    Parameters
    ----------
    tables : StreetTables
        Streets before the changes.
    timetable : Timetable or None
    timezone : str
        Time zone of the network, that of new lines.
    changes : sequence of Change
    day : date, optional
        The date whose departures are counted for reports.

    Raises
    ------
    InputError
        If a change refers to streets, routes or stops that do not exist, or to a timetable of a network without one.
    """
    changes = tuple(streets.with_names(tables, change) for change in changes)
    transit, facts = timetable, []
    for change in changes:
        if isinstance(change, AddStreet):
            tables, fact = new_streets.add_street(tables, change)
        elif isinstance(change, streets.KINDS):
            tables, fact = streets.apply(tables, change)
        elif transit is None:
            raise InputError(f"{change.title} needs a timetable, which this network has not; build it with gtfs=[...]")
        else:
            transit, fact = timetables.apply(transit, change, timezone, day)
        facts.append(fact)
    if transit is not None and transit is not timetable:
        transit = timetables.settled(transit)
    return Applied(tables, transit, changes, tuple(facts))


def check_stops(layer: StreetLayer, changes: Sequence[Change]) -> None:
    """Raise InputError for a new stop that is too far from any street for walking."""
    stops = [change for change in changes if isinstance(change, AddStop)]
    if not stops:
        return
    lng, lat = (np.array([getattr(stop, name) for stop in stops]) for name in ("lng", "lat"))
    walking, how = Transportation("walking"), snapping.STOP_SNAPPING
    far = np.flatnonzero(snapping.snap_points(layer, lng, lat, walking, how).edge < 0)
    if far.size:
        first = far[:1]
        metres = float(snapping.metres_to_streets(layer, lng[first], lat[first], walking)[0])
        stop = stops[int(first[0])]
        reason = f"{metres:,.0f} m from the nearest street for walking; stops are joined to streets within"
        if metres <= how.threshold:
            reason = "separated by water or a motorway from any street for walking within"
        raise InputError(f"{stop.title}: the stop {stop.stop_id!r} is {reason} {how.threshold:,} m. Move it")
