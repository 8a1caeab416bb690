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
from traveltime_lab.transit.pathways import ESCALATOR, MOVING_WALKWAY, STAIRS, Pathways
from traveltime_lab.transit.timetable import Timetable

#: Values of the columns.
UNKNOWN, YES, NO = range(3)
#: Slope beyond which pathways are not step-free. Source: gtfs.org/documentation/schedule/reference, max_slope of
#: pathways.txt: the largest slope ratio for hand-propelled wheelchairs.
STEEPEST: Final = 0.083
#: Width in metres below which pathways are not step-free. Source: 2010 ADA Standards for Accessible Design, 403.5.1,
#: where the clear width may be reduced to 815 mm at points.
NARROWEST_M: Final = 0.815


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


def rule_of(transportation: Transportation) -> str | None:
    """Return the option `step_free` of a means of transportation: ``"lenient"``, ``"strict"`` or None."""
    return transportation.step_free if isinstance(transportation.step_free, str) else None


def is_accepted(values: AnyArray, step_free: str) -> BoolArray:
    """Return whether values are accepted: only `YES` if `step_free` is ``"strict"``, all but `NO` otherwise."""
    return np.asarray(values == YES if step_free == "strict" else values != NO)


def boarding_values(timetable: Timetable) -> Int32Array:
    """Return wheelchair_boarding of each stop, `UNKNOWN` where neither it nor its station has a value."""
    values = timetable.column("stops", "wheelchair_boarding")
    parent = timetable.column("stops", "parent_idx")
    values = np.where((values == YES) | (values == NO), values, UNKNOWN)
    own = values
    for _ in range(2):
        values = np.where((own == UNKNOWN) & (parent >= 0), values[parent], own) if parent.size else own
    return values.astype(np.int32)


def ridden(timetable: Timetable, step_free: str | None) -> Ridden | None:
    """Return the trips and stops that a traveller can use; None if steps are no obstacle, so that it is all of them."""
    if not step_free:
        return None
    trips = is_accepted(timetable.column("trips", "wheelchair_accessible"), step_free)
    return Ridden(trips, is_accepted(boarding_values(timetable), step_free))


def obstacles(pathways: Pathways, step_free: str | None) -> dict[str, BoolArray]:
    """
    Return why a traveller cannot use pathways.

    What is not known is passable, as slopes and widths are only given where they are unusual. Moving walkways may be
    inclined, which is why ``"strict"`` does not use them; OpenTripPlanner closes stairs and escalators only.

    Returns
    -------
    dict of str to bool array of shape (n_pathways,)
        By reason in words.
    """
    found = {"closed": pathways.is_closed}
    if not step_free:
        return found
    found["stairs"] = (pathways.kind == STAIRS) | ((pathways.stairs != 0) & (pathways.kind != ESCALATOR))
    found["an escalator"] = pathways.kind == ESCALATOR
    if step_free == "strict":
        found["a moving walkway"] = pathways.kind == MOVING_WALKWAY
    found[f"steeper than {STEEPEST}"] = np.abs(pathways.slope) > STEEPEST
    found[f"narrower than {NARROWEST_M} m"] = pathways.width < NARROWEST_M
    return found


def is_passable(pathways: Pathways, step_free: str | None) -> BoolArray:
    """Return which pathways a traveller can use; see `obstacles`."""
    return np.asarray(~np.logical_or.reduce([*obstacles(pathways, step_free).values()]))
