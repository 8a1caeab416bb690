"""
Find the alerts that concern a ride: those that name its trip, route, agency, or a stop where the passenger changes.

The fields of one ``informed_entity`` hold together; an alert concerns a ride if one of its entities does, in one of its
periods. Source: GTFS Realtime reference, "EntitySelector" and "Alert".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from traveltime_lab._checks import plain_text
from traveltime_lab.itinerary import Alert
from traveltime_lab.realtime.alerts import known_feeds
from traveltime_lab.realtime.apply import repetitions
from traveltime_lab.realtime.match import UNKNOWN_FEED, ordinal_of, seconds_of
from traveltime_lab.realtime.predictions import Run
from traveltime_lab.realtime.sources import NONE
from traveltime_lab.transit.calendar import day_origin
from traveltime_lab.transit.timetable import Timetable

#: Fields by which alerts are looked up, those that few trips have first.
_KEYS: Final = ("trip.trip_id", "stop_id", "route_id", "trip.route_id", "agency_id", "route_type")
#: Alerts of a ride (assumed: more than anyone reads); those that name its trip or stops come before those of its route,
#: and these before those of its agency.
MOST_ALERTS: Final = 20
#: Characters of the texts of an alert on a ride (assumed: those of agencies rarely have as many). Addresses that are
#: longer are left out.
MOST_CHARACTERS: Final = {"header": 300, "description": 1_000, "url": 2_000}
#: Rides whose alerts are remembered.
_MOST_RIDES: Final = 10_000
_Entry = tuple[int, dict[str, Any]]


class RideAlerts:
    """
    The alerts of a timetable with updates, by what they name.

    Parameters
    ----------
    timetable : Timetable
        With the updates.
    copies : dict of int to Run
        Runs that the updates have added to the planned timetable, by the row of the trip.
    alerts : list of dict
        See `traveltime_lab.realtime.messages.Messages`.
    feeds : list of int
        Feed of each alert, -1 for any.
    names : sequence of str
        Names of the messages.
    """

    def __init__(
        self,
        timetable: Timetable,
        copies: Mapping[int, Run],
        alerts: list[dict[str, Any]],
        feeds: list[int],
        names: Sequence[str],
    ) -> None:
        self._timetable, self._alerts, self._feeds, self._names = timetable, alerts, feeds, names
        self._copies = {row: (run.source, run.named, run.starts) for row, run in copies.items()}
        self._known: dict[tuple[Any, ...], tuple[Alert, ...]] = {}
        self._made: dict[int, Alert] = {}

    @cached_property
    def _by_id(self) -> dict[tuple[str, Any], list[_Entry]]:
        """The alerts and selectors by the name and value of their first field of `_KEYS`, ("", "") for none."""
        found: dict[tuple[str, Any], list[_Entry]] = {}
        for i, alert in enumerate(self._alerts):
            for selector in alert["selectors"]:
                if {*selector} - {"trip.start_date", "trip.start_time"}:
                    key = next(((name, selector[name]) for name in _KEYS if name in selector), ("", ""))
                    found.setdefault(key, []).append((i, selector))
        return found

    @cached_property
    def _known_feeds(self) -> Any:
        """A function that returns the feeds that have the ids of a selector."""
        return known_feeds(self._timetable, [each for alert in self._alerts for each in alert["selectors"]])

    def __call__(self, trip: int, date: int, start: int, calls: Sequence[tuple[int, int]]) -> tuple[Alert, ...]:
        """
        Return the alerts about a ride, in the order of the messages; at most `MOST_ALERTS`.

        Parameters
        ----------
        trip : int
            Row of the trip.
        date : int
            Service date as an ordinal.
        start : int
            POSIX seconds at which the trip begins.
        calls : sequence of (int, int)
            Row and POSIX seconds of the stops where the passenger boards and alights.
        """
        key = (trip, date, start, *calls)
        if (found := self._known.get(key)) is None:
            if len(self._known) >= _MOST_RIDES:
                self._known.clear()
            found = self._known[key] = tuple(self._alert(i) for i in sorted(self._found(trip, date, start, calls)))
        return found

    def _found(self, trip: int, date: int, start: int, calls: Sequence[tuple[int, int]]) -> set[int]:
        """Return the numbers of the alerts about a ride."""
        timetable = self._timetable
        route = timetable.routes.iloc[int(timetable.hot.trip_route[trip])]
        agency = int(route["agency_idx"])
        ids = {
            "trip.trip_id": self._copies.get(trip, (-1, "", ()))[1] or str(timetable.trips["trip_id"].iat[trip]),
            "route_id": str(route["route_id"]),
            "agency_id": "" if agency < 0 else str(timetable.agencies["agency_id"].iat[agency]),
            "route_type": int(route["route_type"]),
        }
        ids["trip.route_id"] = ids["route_id"]
        stops = [self._stop_ids(row) for row, _ in calls]
        times = [when for _, when in calls]
        at_stops = dict.fromkeys(("stop_id", name) for names in stops for name in names)
        first, *others = ((name, ids[name]) for name in _KEYS if name in ids)
        found: set[int] = set()
        for i, selector in self._entries([first, *at_stops, *others, ("", "")]):
            if len(found) == MOST_ALERTS:
                break
            if i in found or not self._is_meant(selector, self._feeds[i], trip, ids):
                continue
            at = times
            if "stop_id" in selector:
                at = [when for when, names in zip(times, stops, strict=True) if selector["stop_id"] in names]
            if not at or not self._is_of_run(selector, trip, date, start):
                continue
            if "stop_id" in selector:
                is_active = any(_is_active(self._alerts[i], when, when) for when in at)
            else:
                is_active = _is_active(self._alerts[i], at[0], at[-1])
            if is_active:
                found.add(i)
        return found

    def _entries(self, keys: Sequence[tuple[str, Any]]) -> Iterator[_Entry]:
        for key in keys:
            yield from self._by_id.get(key, ())

    def _stop_ids(self, row: int) -> list[str]:
        """Return the id of a stop and of the station that it belongs to."""
        stops = self._timetable.stops
        found = [str(stops["stop_id"].iat[row])]
        parent = int(self._timetable.column("stops", "parent_idx")[row])
        return [*found, str(stops["stop_id"].iat[parent])] if parent >= 0 else found

    def _is_meant(self, selector: dict[str, Any], feed: int, trip: int, ids: dict[str, Any]) -> bool:
        """Return whether a selector means the trip, its stops and times apart."""
        if feed == UNKNOWN_FEED or (feed >= 0 and feed != int(self._timetable.hot.trip_feed[trip])):
            return False
        if any(selector.get(name, value) != value for name, value in ids.items()):
            return False
        direction = int(self._timetable.trips["direction_id"].iat[trip])
        if any(selector.get(name, direction) != direction for name in ("direction_id", "trip.direction_id")):
            return False
        # An id that several feeds have is of none of them, unless the message is of one; so are types of routes.
        return feed >= 0 or len(self._timetable.feeds) == 1 or len(self._known_feeds(selector)) == 1

    def _is_of_run(self, selector: dict[str, Any], trip: int, date: int, start: int) -> bool:
        """Return whether a selector means the run of a trip on a date that begins at a time."""
        if "trip.start_date" in selector and ordinal_of(selector["trip.start_date"]) != date:
            return False
        if "trip.start_time" not in selector:
            return True
        given, timetable = seconds_of(selector["trip.start_time"]), self._timetable
        if given == NONE:
            return False
        source, _, starts = self._copies.get(trip, (-1, "", ()))
        if starts:
            return given in starts
        planned, first = source if source >= 0 else trip, timetable.hot.first_departure
        if not timetable.hot.is_repeated[trip]:
            return int(first[planned]) == given
        # A copy without the first stops of its source starts later.
        own = (
            start - day_origin(date, timetable.zones[timetable.hot.trip_zone[trip]]) - int(first[trip] - first[planned])
        )
        for departures, headway, is_exact in repetitions(timetable, planned):
            far = np.abs(departures - given)
            nearest = int(far.argmin())
            if far[nearest] <= (0 if is_exact else headway / 2) and int(departures[nearest]) == own:
                return True
        return False

    def _alert(self, i: int) -> Alert:
        if i not in self._made:
            alert = self._alerts[i]
            header, description, url = (plain_text(alert[name], most) for name, most in MOST_CHARACTERS.items())
            self._made[i] = Alert(
                header=header, description=description, url=url if url == alert["url"] else "", effect=alert["effect"],
                cause=alert["cause"], entity=plain_text(alert["entity"]), source=str(self._names[alert["source"]]),
            )  # fmt: skip
        return self._made[i]


def _is_active(alert: dict[str, Any], begin: int, end: int) -> bool:
    """Return whether a period of an alert and a time have a moment in common; without periods, from the message on."""
    periods = alert["periods"]
    if not periods:
        if alert["n_void"]:
            return False
        periods = [(None if alert["now"] == NONE else alert["now"], None)]
    return any((start is None or end >= start) and (until is None or begin < until) for start, until in periods)
