"""
A timetable linked to the streets of a network.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import TypeAlias

from traveltime_lab.itinerary import Alert
from traveltime_lab.moments import today
from traveltime_lab.runtime.memo import Memo
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.typical_day import typical_day as day_of

#: Returns the alerts about a ride on a trip (row), of a service date (ordinal), that begins at a time (POSIX seconds),
#: with the rows and times of the stops of boarding and alighting.
AlertsOf: TypeAlias = Callable[[int, int, int, Sequence[tuple[int, int]]], tuple[Alert, ...]]


class TransitLayer:
    """
    A timetable and the streets for access, transfers and egress.

    Parameters
    ----------
    streets : StreetLayer
    timetable : Timetable
    timezone : str
        IANA time zone of the network.
    typical_day : date, optional
        The day of searches without a date; by default that of `traveltime_lab.transit.typical_day` as of today.
        Scenarios have that of the timetable before the changes, so that searches before and after are of the same day.

    Attributes
    ----------
    typical_day : date or None
        None if the timetable has no day with service.
    memo : Memo
        Objects derived from timetable and streets together.
    alerts_of : callable, optional
        Returns the alerts of live updates about a ride; see `traveltime_lab.realtime.ride_alerts`.
    identity : object
        Key of this layer in the memos of the streets, which several timetables may share.
    """

    def __init__(
        self, streets: StreetLayer, timetable: Timetable, timezone: str, typical_day: dt.date | None = None
    ) -> None:
        self.streets = streets
        self.timetable = timetable
        self.timezone = timezone
        self.typical_day = typical_day or day_of(timetable, today(timezone))
        self.memo = Memo()
        self.alerts_of: AlertsOf | None = None
        self.identity = object()
