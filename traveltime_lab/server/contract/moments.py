"""Date-times of the wire: ISO 8601, with an offset or, without one, in UTC (docs/contract.md, 3.6)."""

from __future__ import annotations

import datetime as dt
import re

#: Characters of a date and time; more digits of a second than clients write.
_LONGEST = 100
_SHAPE = re.compile(r"\d{4}-?\d{2}-?\d{2}[Tt ]\d{2}.*", re.ASCII | re.DOTALL)


class Moment:
    """
    A date-time of a request, read when the request is decoded.

    Raises
    ------
    ValueError
        As from `read_moment`.
    """

    __slots__ = ("value",)

    def __init__(self, text: str) -> None:
        #: Aware.
        self.value = read_moment(text)


def read_moment(text: str) -> dt.datetime:
    """
    Return the aware moment that a text means.

    Parameters
    ----------
    text : str
        Extended ISO 8601; digits of a second beyond the sixth are dropped.

    Raises
    ------
    ValueError
        If the text is no date with a time, or lies in the first or last days of the calendar.
    """
    try:
        moment = dt.datetime.fromisoformat(text.strip().upper()) if len(text) <= _LONGEST else None
    except ValueError:
        moment = None
    if moment is None or not _SHAPE.fullmatch(text.strip()):
        raise ValueError(f"must be a date and time such as 2026-03-02T08:00:00Z; got {text[:40]!r}")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    if not 2 < moment.year < 9998:
        raise ValueError(f"must be in the years 3 to 9997; got {text[:40]!r}")
    return moment


def write_moment(moment: dt.datetime) -> str:
    """Return an aware moment as the wire has it, in whole seconds."""
    return moment.replace(microsecond=0).isoformat()
