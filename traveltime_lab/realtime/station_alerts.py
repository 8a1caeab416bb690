"""
Find the pathways of stations that alerts close.

GTFS Realtime has no selector for pathways. Alerts name entrances, and the places inside stations where elevators stop,
by ``stop_id``: ``NO_SERVICE`` closes all pathways there, ``ACCESSIBILITY_ISSUE`` the elevators. A closure that is in
force when the message is sent holds at every moment of searches, as live updates do not say when it ends.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from traveltime_lab._arrays import BoolArray
from traveltime_lab.realtime.match import UNKNOWN_FEED, rows_by_text
from traveltime_lab.realtime.sources import NONE
from traveltime_lab.transit.pathways import ELEVATOR, ENTRANCE, NODE
from traveltime_lab.transit.timetable import Timetable

_ISSUE: Final = "ACCESSIBILITY_ISSUE"
#: Effects of alerts that close pathways.
_EFFECTS: Final = ("NO_SERVICE", _ISSUE)


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
    selectors = [each for alert, is_one in zip(alerts, chosen, strict=True) if is_one for each in alert["selectors"]]
    known = rows_by_text(timetable.stops["stop_id"], [each["stop_id"] for each in selectors if "stop_id" in each])
    kind, of_feed = timetable.column("stops", "location_type"), timetable.column("stops", "feed_idx")
    is_closed = pathways.is_closed.copy()
    found = list(effects)
    for number, (alert, feed) in enumerate(zip(alerts, feeds, strict=True)):
        if not chosen[number]:
            continue
        names = {each["stop_id"] for each in alert["selectors"] if "stop_id" in each}
        rows = np.array([row for name in names for row in known.get(name, ())], np.int64)
        rows = rows[(kind[rows] == ENTRANCE) | (kind[rows] == NODE)]
        rows = rows if feed < 0 else rows[of_feed[rows] == feed]
        if len(timetable.feeds) > 1 and feed < 0 and np.unique(of_feed[rows]).size > 1:
            found[number] = "closes no pathway, as its places are of several feeds; say which with feed="
            continue
        here = np.isin(pathways.start, rows) | np.isin(pathways.end, rows)
        if alert["effect"] == _ISSUE:
            here &= pathways.kind == ELEVATOR
        what = "elevators" if alert["effect"] == _ISSUE else "pathways"
        if not _is_now(alert):
            found[number] = f"closes no {what}, because it is not in force at the time of the message"
        elif here.any():
            is_closed |= here
            found[number] = f"closes {int(here.sum()):,} {what} of stations"
        elif alert["effect"] == _ISSUE:
            found[number] = "closes no elevators, as it names no entrance or place inside a station where one stops"
    return (is_closed if (is_closed != pathways.is_closed).any() else None), found


def _is_now(alert: dict[str, Any]) -> bool:
    """Return whether an alert is in force at the time of its message; without periods it is."""
    now = alert["now"]
    if not alert["periods"] or now == NONE:
        return not alert["n_void"] or bool(alert["periods"])
    return any((start is None or start <= now) and (end is None or now < end) for start, end in alert["periods"])
