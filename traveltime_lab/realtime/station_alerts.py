"""
Find the pathways of stations that alerts close.

GTFS Realtime has no selector for pathways. Alerts name entrances, and the places inside stations where elevators stop,
by ``stop_id``: ``NO_SERVICE`` closes all pathways there, ``ACCESSIBILITY_ISSUE`` the elevators. The ways inside
stations are computed once for all moments of a search: a closure that is in force when the message is sent holds at
every moment, whatever its periods, and none that begins later.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from traveltime_lab._arrays import BoolArray, unique_values
from traveltime_lab.realtime.match import UNKNOWN_FEED, rows_by_text
from traveltime_lab.realtime.sources import NONE
from traveltime_lab.transit.pathways import ELEVATOR, ENTRANCE, NODE
from traveltime_lab.transit.timetable import Timetable

_ISSUE: Final = "ACCESSIBILITY_ISSUE"
#: Effects of alerts that close pathways.
_EFFECTS: Final = ("NO_SERVICE", _ISSUE)
#: Fields of an informed_entity that closes a place for everybody; all fields of one hold together, also those of rides.
_OF_PLACES: Final = frozenset({"stop_id", "agency_id"})
#: Effects on trips that are not worth keeping beside what an alert does to pathways.
_NO_CALL: Final = frozenset({"note", "closes no call of the timetable"})
_NOTHING: Final = "closes nothing"


def closed_pathways(
    timetable: Timetable, alerts: list[dict[str, Any]], feeds: list[int], effects: list[str]
) -> tuple[BoolArray | None, list[str]]:
    """
    Return the pathways that are closed with alerts, and the effect of each alert as text.

    Parameters
    ----------
    timetable : Timetable
    alerts : list of dict
        See `traveltime_lab.realtime.messages.Messages`.
    feeds : list of int
        Feed of each alert, -1 for any.
    effects : list of str
        Effect of each alert on trips, which remains where it closes no pathway.

    Returns
    -------
    is_closed : bool array of shape (n_pathways,) or None
        None if alerts close none.
    effects : list of str
    """
    pathways = timetable.pathways
    if pathways is None:
        return None, effects
    chosen = [alert["effect"] in _EFFECTS and feed != UNKNOWN_FEED for alert, feed in zip(alerts, feeds, strict=True)]
    named = [_places(alert) if is_one else set() for alert, is_one in zip(alerts, chosen, strict=True)]
    known = rows_by_text(timetable.stops["stop_id"], sorted(set().union(*named)))
    kind, of_feed = timetable.column("stops", "location_type"), timetable.column("stops", "feed_idx")
    is_closed = pathways.is_closed.copy()
    found = list(effects)
    for number, (alert, feed) in enumerate(zip(alerts, feeds, strict=True)):
        if not chosen[number]:
            continue
        rows = np.array([row for name in named[number] for row in known.get(name, ())], np.int64)
        rows = rows[(kind[rows] == ENTRANCE) | (kind[rows] == NODE)]
        rows = rows if feed < 0 else rows[of_feed[rows] == feed]
        here = np.isin(pathways.start, rows) | np.isin(pathways.end, rows)
        if alert["effect"] == _ISSUE:
            here &= pathways.kind == ELEVATOR
        what = "elevator" if alert["effect"] == _ISSUE else "pathway"
        n, before = int(here.sum()), found[number]
        if not n:
            if alert["effect"] == _ISSUE:
                found[number] = "closes no elevator, as it names no entrance or place inside a station where one stops"
        elif feed < 0 and unique_values(of_feed[rows]).size > 1:
            found[number] = _and(before, f"closes no {what}, as its places are of several feeds; say which with feed=")
        elif _is_now(alert):
            is_closed |= here
            always = " at every moment, because it is in force at the time of the message" if alert["periods"] else ""
            said = f"closes {n:,} {what}{'s' if n > 1 else ''} of stations{always}"
            found[number] = said if before.startswith(_NOTHING) else _and(before, said)
        elif not before.startswith(_NOTHING):
            found[number] = _and(before, f"closes no {what}, because it is not in force at the time of the message")
    return (is_closed if (is_closed != pathways.is_closed).any() else None), found


def _places(alert: dict[str, Any]) -> set[str]:
    """Return the stops that an alert names by themselves, and not for some route, trip or direction only."""
    return {each["stop_id"] for each in alert["selectors"] if "stop_id" in each and {*each} <= _OF_PLACES}


def _and(before: str, said: str) -> str:
    """Return what an alert does to trips and to pathways."""
    return said if before in _NO_CALL else f"{before}; {said}"


def _is_now(alert: dict[str, Any]) -> bool:
    """Return whether an alert is in force at the time of its message; without periods it is."""
    now = alert["now"]
    if not alert["periods"] or now == NONE:
        return not alert["n_void"] or bool(alert["periods"])
    return any((start is None or start <= now) and (end is None or now < end) for start, end in alert["periods"])
