"""
Step-free travel in timetables: at which stops, on which trips, by which pathways.

``wheelchair_boarding`` and ``wheelchair_accessible`` of GTFS are 1 for yes, 2 for no, and 0 for not known. Stops
without a value have that of their station, boarding areas that of their platform
(gtfs.org/documentation/schedule/reference).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from traveltime_lab._arrays import AnyArray, BoolArray, Int32Array
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.transit.pathways import ESCALATOR, MOVING_WALKWAY, STAIRS, WALKWAY, Pathways
from traveltime_lab.transit.timetable import Timetable

#: Values of the columns.
UNKNOWN, YES, NO = range(3)
#: Pathways of which max_slope counts. Source: gtfs.org/documentation/schedule/reference, pathways.txt.
_SLOPED: Final = (WALKWAY, MOVING_WALKWAY)


class Rule(NamedTuple):
    """
    The options of step-free travel of `traveltime_lab.modes.transportation.Transportation`.

    Attributes
    ----------
    kind : {"lenient", "strict"}
    incline : float
        The steepest slope in per cent.
    width_m : float
        The smallest width in metres.
    """

    kind: str
    incline: float
    width_m: float


class Ridden(NamedTuple):
    """
    Trips and stops for travellers without steps.

    Attributes
    ----------
    trips : bool array of shape (n_trips,)
    stops : bool array of shape (n_stops,)
        Whether they can board and alight there.
    """

    trips: BoolArray
    stops: BoolArray


def rule_of(transportation: Transportation) -> Rule | None:
    """Return the rule of a means of transportation, None if steps are no obstacle."""
    if not isinstance(transportation.step_free, str):
        return None
    return Rule(transportation.step_free, transportation.incline_cap, transportation.width_cap)


def is_accepted(values: AnyArray, rule: Rule) -> BoolArray:
    """Return whether values are accepted: only `YES` by the strict rule, all but `NO` by the lenient one."""
    return np.asarray(values == YES if rule.kind == "strict" else values != NO)


def boarding_values(timetable: Timetable) -> Int32Array:
    """Return wheelchair_boarding of each stop, `UNKNOWN` where neither it nor its station has a value."""
    values = timetable.column("stops", "wheelchair_boarding")
    parent = timetable.column("stops", "parent_idx")
    values = np.where((values == YES) | (values == NO), values, UNKNOWN)
    own = values
    for _ in range(2):
        values = np.where((own == UNKNOWN) & (parent >= 0), values[parent], own) if parent.size else own
    return values.astype(np.int32)


def ridden(timetable: Timetable, rule: Rule | None) -> Ridden | None:
    """Return the trips and stops that a traveller can use; None if steps are no obstacle, so that it is all of them."""
    if rule is None:
        return None
    trips = is_accepted(timetable.column("trips", "wheelchair_accessible"), rule)
    return Ridden(trips, is_accepted(boarding_values(timetable), rule))


def obstacles(pathways: Pathways, rule: Rule | None) -> dict[str, BoolArray]:
    """
    Return why a traveller cannot use pathways.

    Pathways without a slope or a width are passable by both rules, because GTFS recommends to give them only where they
    are unusual. Moving walkways are passable, as in OpenTripPlanner and along streets.

    Returns
    -------
    dict of str to bool array of shape (n_pathways,)
        By reason in words.
    """
    found = {"closed": pathways.is_closed}
    if rule is None:
        return found
    found["stairs"] = (pathways.kind == STAIRS) | ((pathways.stairs != 0) & (pathways.kind != ESCALATOR))
    found["an escalator"] = pathways.kind == ESCALATOR
    has_slope = np.isin(pathways.kind, _SLOPED)
    found[f"steeper than {rule.incline:g} %"] = has_slope & (np.abs(pathways.slope) * 100.0 > rule.incline)
    found[f"narrower than {rule.width_m:g} m"] = pathways.width < rule.width_m
    return found


def is_passable(pathways: Pathways, rule: Rule | None) -> BoolArray:
    """Return which pathways a traveller can use; see `obstacles`."""
    return np.asarray(~np.logical_or.reduce([*obstacles(pathways, rule).values()]))
