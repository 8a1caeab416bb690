"""
Which turn restrictions hold at a moment.

A search has one moment, its departure or arrival. A restriction that holds at this moment, in the local time of the
network, holds for the whole search, also where a car would come to it earlier or later: congestion is that of the same
moment. Searches without a moment leave conditions aside: a restriction holds if its relation says so without one.
Points are snapped to the same streets at all moments, which are those of searches without a moment.
"""

from __future__ import annotations

import datetime as dt
from typing import Final

import numpy as np

from traveltime_lab._arrays import BoolArray
from traveltime_lab.streets.tables import StreetTables

_DAY_MIN: Final = 1440
#: The moment of "weekday_morning", which is a working day between 8 and 9: Tuesday at half past eight.
_MORNING: Final = _DAY_MIN + 8 * 60 + 30


def timed_holding(tables: StreetTables, moment: dt.datetime | object | None) -> BoolArray:
    """
    Return which of the restrictions that do not always hold do so at a moment.

    Parameters
    ----------
    tables : StreetTables
    moment : datetime in the network's zone, the weekday-morning period, or None

    Returns
    -------
    bool array of shape (n_timed,)
    """
    if moment is None or not tables.timed_restrictions.size:
        return tables.timed_by_default
    minute = _MORNING
    if isinstance(moment, dt.datetime):
        minute = moment.weekday() * _DAY_MIN + moment.hour * 60 + moment.minute
    # A restriction holds after an odd number of beginnings and ends.
    passed = np.add.reduceat(tables.timed_minutes <= minute, tables.timed_indptr[:-1], dtype=np.int64)
    return np.asarray(passed % 2 == 1)


def holding(tables: StreetTables, timed: BoolArray) -> BoolArray:
    """Return which restrictions hold, given those of `timed_holding`."""
    holds = np.ones(tables.restriction_only.size, np.bool_)
    holds[tables.timed_restrictions] = timed
    return holds
