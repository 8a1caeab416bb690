"""
Apply changes to a timetable.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from traveltime_lab._arrays import BoolArray, IndexArray, Int32Array
from traveltime_lab._checks import composed, did_you_mean
from traveltime_lab.errors import InputError
from traveltime_lab.scenarios import new_lines
from traveltime_lab.scenarios.changes import Change
from traveltime_lab.scenarios.headways import scale_headway, set_headway, shift_trips
from traveltime_lab.scenarios.transit_changes import (
    AddLine,
    AddStop,
    CloseElevator,
    ClosePathway,
    RemoveRoutes,
    RemoveStops,
    ScaleHeadway,
    SetHeadway,
    ShiftTrips,
)
from traveltime_lab.scenarios.trips import TripCopies, with_trips, without_stops
from traveltime_lab.transit.departures import by_route
from traveltime_lab.transit.pathways import ELEVATOR, PATHWAY_WORDS
from traveltime_lab.transit.timetable import Timetable

#: Changes of a timetable.
KINDS = (
    RemoveRoutes, RemoveStops, ScaleHeadway, SetHeadway, ShiftTrips, AddStop, AddLine, ClosePathway, CloseElevator,
)  # fmt: skip


def apply(timetable: Timetable, change: Change, timezone: str, day: dt.date | None = None) -> tuple[Timetable, str]:
    """
    Apply a change to a timetable.

    Parameters
    ----------
    timetable : Timetable
    change : Change
        One of `KINDS`.
    timezone : str
        Time zone of new lines.
    day : date, optional
        The date whose departures are counted; the first on which a line runs if it does not run then.

    Returns
    -------
    timetable : Timetable
        The same one if nothing changes.
    fact : str
        Effect of the change, for reports.
    """
    if isinstance(change, RemoveRoutes):
        gone = _trips_of(timetable, change.routes, change)
        if not gone.size:
            return timetable, "no trips"
        kept = np.setdiff1d(np.arange(timetable.n_trips), gone)
        return with_trips(timetable, TripCopies.kept(timetable, kept)), f"{_count(gone.size, 'trip')} removed"
    if isinstance(change, RemoveStops):
        stops = _stops_of(timetable, change)
        changed = without_stops(timetable, stops) if stops[timetable.pattern_stop].any() else timetable
        lost = timetable.n_trips - changed.n_trips
        more = f", with {_count(lost, 'trip')}" if lost else ""
        return changed, f"{_count(int(stops.sum()), 'stop')} removed{more}"
    if isinstance(change, AddStop):
        return new_lines.add_stop(timetable, change, timezone), f"stop {change.stop_id!r} added"
    if isinstance(change, AddLine):
        line = np.concatenate([rows("stops", "stop_id", "stop", timetable, (s,), change) for s in change.stops])
        changed = new_lines.add_line(timetable, change, line, timezone)
        return changed, f"{_count(changed.n_trips - timetable.n_trips, 'trip')} added"
    if isinstance(change, ClosePathway | CloseElevator):
        return _closed(timetable, change)
    assert isinstance(change, ScaleHeadway | SetHeadway | ShiftTrips)
    trips = _trips_of(timetable, (change.route,), change)
    changed = timetable
    if isinstance(change, ScaleHeadway):
        changed = scale_headway(timetable, change, trips)
        return changed, f"headways times {change.factor:g}: {_before_after(timetable, changed, trips, day)}"
    if isinstance(change, SetHeadway):
        changed = set_headway(timetable, change, trips)
        times = f"{change.start} to {change.end}"
        return changed, f"a headway of {change.seconds} s from {times}: {_before_after(timetable, changed, trips, day)}"
    changed = shift_trips(timetable, change, trips)
    return (
        changed,
        f"{_count(trips.size, 'trip')} {abs(change.seconds)} s {'later' if change.seconds >= 0 else 'earlier'}",
    )


def settled(timetable: Timetable) -> Timetable:
    """Return a changed timetable without the dates of its feeds, where its trips still run on them."""
    if timetable.feed_spans is None:
        return timetable
    plain = replace(timetable, feed_spans=None)
    return plain if plain.spans() == timetable.feed_spans else timetable


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _before_after(before: Timetable, after: Timetable, trips: IndexArray, day: dt.date | None) -> str:
    """Return in words how many departures the line of some trips has on a day, before and after a change."""
    if not trips.size:
        return "no departures, before and after"
    route = int(before.hot.trip_route[trips[0]])
    if day is None or not by_route(before, day)[route]:
        first, last = (bound[before.hot.trip_service[trips]] for bound in before.services.spans())
        if not (first <= last).any():
            return "no day with departures"
        day = dt.date.fromordinal(int(first[first <= last].min()))
    counts = [int(by_route(each, day)[route]) for each in (before, after)]
    return f"{_count(counts[0], 'departure')} on {day} before, {counts[1]:,} after"


def rows(table: str, column: str, what: str, timetable: Timetable, ids: tuple[str, ...], change: Any) -> Int32Array:
    """
    Return the rows of a table that have some ids, each of one feed.

    Raises
    ------
    InputError
        If no feed has an id, or several have it, or the feed of the change is unknown.
    """
    return _rows_of(
        getattr(timetable, table), column, what, timetable, ids, change,
        lambda each, known: _hint(timetable, table, each, known),
    )  # fmt: skip


def _rows_of(
    frame: pd.DataFrame,
    column: str,
    what: str,
    timetable: Timetable,
    ids: tuple[str, ...],
    change: Any,
    hint: Callable[[str, Any], str],
) -> Int32Array:
    """Return the rows of a frame; see `rows`. The function returns what may be meant by an unknown id."""
    feeds = timetable.feeds["name"].astype(str).tolist()
    # Lines and stops of changes are in a feed of their own, which need not be named.
    is_open = np.ones(len(frame), np.bool_)
    if change.feed is not None:
        if change.feed not in feeds:
            raise InputError(
                f"{change.title}: no feed is called {change.feed!r}; there are {', '.join(map(repr, feeds))}"
                f"{did_you_mean(change.feed, feeds)}"
            )
        allowed = [number for number, name in enumerate(feeds) if name in (change.feed, new_lines.FEED)]
        is_open = np.isin(frame["feed_idx"].to_numpy(), allowed)
    known = frame[column].to_numpy(object)
    found = []
    for each in ids:
        here = np.flatnonzero((known == each) & is_open)
        if here.size > 1:
            names = [feeds[feed] for feed in frame["feed_idx"].to_numpy()[here]]
            raise InputError(
                f"{change.title}: the {what} {each!r} is in several feeds, {', '.join(map(repr, names))}; "
                "say which with feed="
            )
        if not here.size:
            raise InputError(f"{change.title}: no {what} has the id {each!r}{hint(each, known[is_open])}")
        found.append(here[0])
    return np.array(found, np.int32)


def _hint(timetable: Timetable, table: str, requested: str, known: Any) -> str:
    """Return what may have been meant by an id that does not exist."""
    if table == "routes":
        names = timetable.routes[["route_short_name", "route_long_name"]].astype(str).map(composed)
        named = timetable.routes["route_id"][(names == composed(requested)).any(axis=1)].tolist()
        if named:
            return f"; it is the name of {', '.join(map(repr, named[:5]))}"
    return did_you_mean(requested, known)


def _closed(timetable: Timetable, change: ClosePathway | CloseElevator) -> tuple[Timetable, str]:
    """Close pathways of stations, by their ids."""
    pathways = timetable.pathways
    if pathways is None:
        raise InputError(
            f"{change.title}: the timetable has no pathways; feeds with a pathways.txt whose stations are complete do"
        )
    ids = change.pathways if isinstance(change, ClosePathway) else change.elevators
    feed = timetable.column("stops", "feed_idx")[pathways.start]
    frame = pd.DataFrame({"pathway_id": np.array(pathways.ids, object), "feed_idx": feed})
    what = "pathway"
    if isinstance(change, CloseElevator):
        what, is_elevator = "elevator", pathways.kind == ELEVATOR
        others = [each for each in ids if each in {*frame["pathway_id"][~is_elevator]}]
        frame.loc[~is_elevator, "pathway_id"] = None
        if others and not (frame["pathway_id"] == others[0]).any():
            kind = PATHWAY_WORDS[int(pathways.kind[pathways.ids.index(others[0])])]
            raise InputError(f"{change.title}: the pathway {others[0]!r} is no elevator but: {kind}; use ClosePathway")
    found = _rows_of(
        frame, "pathway_id", what, timetable, ids, change,
        lambda each, known: did_you_mean(each, [name for name in known if name is not None]),
    )  # fmt: skip
    is_closed = pathways.is_closed.copy()
    n_before = int(is_closed.sum())
    is_closed[found] = True
    fact = f"{_count(int(is_closed.sum()) - n_before, what)} closed"
    return replace(timetable, pathways=replace(pathways, is_closed=is_closed)), fact


def _trips_of(timetable: Timetable, routes: tuple[str, ...], change: Any) -> IndexArray:
    """Return the trips of some routes."""
    mine = rows("routes", "route_id", "route", timetable, routes, change)
    return np.flatnonzero(np.isin(timetable.hot.trip_route, mine))


def _stops_of(timetable: Timetable, change: RemoveStops) -> BoolArray:
    """Return which stops are removed: those named, and the stops of stations."""
    found = np.zeros(timetable.n_stops, np.bool_)
    found[rows("stops", "stop_id", "stop", timetable, change.stops, change)] = True
    parent = timetable.column("stops", "parent_idx")
    return np.asarray(found | ((parent >= 0) & found[parent]))
