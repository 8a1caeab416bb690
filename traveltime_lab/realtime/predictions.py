"""
Compute the times of a trip from its timetable and an update, as the GTFS Realtime reference says.

- The delay of a stop holds for the stops after it, up to the next with a delay of its own; that of a skipped stop for
  none. The delay of the trip holds up to the first of them.
- From a stop with ``NO_DATA``, or without times, the timetable holds.
- Stops before the first with a time keep the times of the timetable, or that first time if it is earlier: the vehicle
  was ahead of the timetable.
- Times never decrease along the trip: one that would be before the time before it is raised to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from traveltime_lab.realtime.schema import STOP_RELATIONS

SKIPPED: Final = STOP_RELATIONS["SKIPPED"]
NO_DATA: Final = STOP_RELATIONS["NO_DATA"]


class StopUpdate(NamedTuple):
    """
    The update of one call of a trip.

    Attributes
    ----------
    relation : int
    arrival, departure : int or None, s
        Delays.
    stop : int
        Row of the stop that takes the place of the planned one, -1 for none.
    pickup, drop_off : int
        -1 for those of the timetable.
    """

    relation: int = 0
    arrival: int | None = None
    departure: int | None = None
    stop: int = -1
    pickup: int = -1
    drop_off: int = -1


@dataclass
class Run:
    """
    A trip on some service dates with times of its own.

    Attributes
    ----------
    source : int
        Row of the trip that it derives from, -1 for none.
    dates : tuple of int
        Service dates as ordinals.
    position : list of int
        Position of each call in the source; without a source, 0, 1 and so on.
    stop, pickup, drop_off : list of int
    arrival, departure : list of int, s
    is_new : bool
        Whether it runs in addition to its source.
    route : int
        Row of the route, for a run without a source.
    trip_id, headsign, short_name : str
        Those of the source if empty.
    is_repaired : bool
        Whether given times decreased along the trip.
    named : str
        Id of the trip in messages, if `trip_id` is made up.
    starts : tuple of int, s
        Times at which it starts in messages; empty for the first departure of the source.
    """

    source: int
    dates: tuple[int, ...]
    position: list[int]
    stop: list[int]
    pickup: list[int]
    drop_off: list[int]
    arrival: list[int]
    departure: list[int]
    is_new: bool = False
    route: int = -1
    trip_id: str = ""
    headsign: str = ""
    short_name: str = ""
    is_repaired: bool = field(default=False, compare=False)
    named: str = field(default="", compare=False)
    starts: tuple[int, ...] = field(default=(), compare=False)


def in_order(times: list[int], is_given: list[bool]) -> tuple[list[int], bool]:
    """
    Return times that do not decrease, and whether given ones did.

    Times that are not given are lowered to the next one that is; then each time is raised to the one before it.
    """
    found, following = list(times), None
    for k in range(len(found) - 1, -1, -1):
        if is_given[k]:
            following = found[k]
        elif following is not None and found[k] > following:
            found[k] = following
    is_repaired = False
    for k in range(1, len(found)):
        if found[k] < found[k - 1]:
            is_repaired |= is_given[k]
            found[k] = found[k - 1]
    return found, is_repaired


def predicted(
    arrival: list[int],
    departure: list[int],
    updates: dict[int, StopUpdate],
    trip_delay: int | None,
    skipped: set[int],
    carried: Mapping[int, int | None] = MappingProxyType({}),
) -> tuple[list[int], list[int], list[int], bool]:
    """
    Return the times of a trip.

    Parameters
    ----------
    arrival, departure : list of int, s
        Times of the timetable.
    updates : dict
        Updates by position.
    trip_delay : int or None, s
    skipped : set of int
        Positions at which the vehicle does not stop, in addition to those of the updates.
    carried : mapping of int to int or None, s
        Delays that hold from positions on, None for the timetable.

    Returns
    -------
    position, arrival, departure : list of int
        The calls that remain.
    is_repaired : bool
        Whether given times decreased along the trip.
    named : str
        Id of the trip in messages, if `trip_id` is made up.
    starts : tuple of int, s
        Times at which it starts in messages; empty for the first departure of the source.
    """
    delay, position, times, is_given = trip_delay, [], [], []
    for i, planned in enumerate(zip(arrival, departure, strict=True)):
        own = updates.get(i)
        delay = carried.get(i, delay)
        if i in skipped or (own is not None and own.relation == SKIPPED):
            continue
        given: tuple[int | None, int | None] = (None, None)
        if own is not None:
            if own.relation != NO_DATA:
                given = (own.arrival, own.departure)
            if given == (None, None):
                delay = None
        position.append(i)
        for moment, known in zip(planned, given, strict=True):
            if known is not None:
                delay = known
            times.append(moment + (delay or 0))
            is_given.append(known is not None)
    times, is_repaired = in_order(times, is_given)
    return position, times[0::2], times[1::2], is_repaired
