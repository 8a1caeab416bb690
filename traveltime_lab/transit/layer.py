"""
A timetable linked to the streets of a network.
"""

from __future__ import annotations

from traveltime_lab._memo import Memo
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.transit.timetable import Timetable


class TransitLayer:
    """
    A timetable and the streets for access, transfers and egress.

    Parameters
    ----------
    streets : StreetLayer
    timetable : Timetable
    timezone : str
        IANA time zone of the network.

    Attributes
    ----------
    memo : Memo
        Objects derived from timetable and streets together.
    """

    def __init__(self, streets: StreetLayer, timetable: Timetable, timezone: str) -> None:
        self.streets = streets
        self.timetable = timetable
        self.timezone = timezone
        self.memo = Memo()
