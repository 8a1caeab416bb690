"""
A timetable on the streets of a place.
"""

from __future__ import annotations

from traveltime_lab._memo import Memo
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.transit.timetable import Timetable


class TransitLayer:
    """
    A timetable, and the streets on which people walk, cycle or drive to its stops.

    Parameters
    ----------
    streets : StreetLayer
    timetable : Timetable
    timezone : str
        IANA zone of the place.

    Attributes
    ----------
    memo : Memo
        What has been derived from timetable and streets together.
    """

    def __init__(self, streets: StreetLayer, timetable: Timetable, timezone: str) -> None:
        self.streets = streets
        self.timetable = timetable
        self.timezone = timezone
        self.memo = Memo()
