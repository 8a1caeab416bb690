"""
Draw the first departures of services by headway.

A row of frequencies.txt with ``exact_times=0`` promises a headway and no times. In a draw, the first departure of each
row on each service date is 0 or more seconds after its start, and less than a headway (and before its end); the others
follow at the headway. The draws are stratified (Latin hypercube sampling): of n draws, each row has one in each n-th of
its headway, in an order of its own. So each departure is uniform within the headway, any two rows are independent, and
the waits at one stop are spread evenly over few draws.

A draw is a function of the seed, the date, the feed and ``trip_id`` of the row, and its place among the rows of the
trip: it does not depend on other trips, other queries or the number of threads, and a scenario keeps the draws of the
lines that it does not change. A headway that changes keeps its part of the headway.

References
----------
M. D. McKay, R. J. Beckman, W. J. Conover, "A Comparison of Three Methods for Selecting Values of Input Variables in the
Analysis of Output from a Computer Code", Technometrics 21 (1979).
M. W. Conway, A. Byrd, M. van der Linden, "Evidence-Based Transit and Land Use Sketch Planning Using Interactive
Accessibility Methods on Combined Schedule and Headway-Based Networks", Transportation Research Record 2653 (2017).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from traveltime_lab._arrays import IndexArray, Int64Array, UInt64Array

if TYPE_CHECKING:
    from traveltime_lab.transit.timetable import Timetable

#: Constants of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True)
class Draw:
    """
    One of several draws of the first departures.

    Attributes
    ----------
    seed : int
    number : int
        From 0.
    of : int
        Number of draws.
    """

    seed: int
    number: int
    of: int


def first_departures(timetable: Timetable, rows: IndexArray, date: int, draw: Draw) -> Int64Array:
    """
    Return the seconds from the start of rows of frequencies.txt to their first departures in a draw.

    Parameters
    ----------
    timetable : Timetable
    rows : intp array of shape (n_rows,)
    date : int
        Service date as proleptic ordinal.
    draw : Draw

    Returns
    -------
    int64 array of shape (n_rows,), s
        From 0 to less than the headway; 0 for rows with exact times.
    """
    seed = np.array([draw.seed, date], np.uint64)
    keys = _mixed(timetable.frequency_keys[rows] ^ _mixed(_mixed(seed[:1]) ^ seed[1:]))
    numbers = np.arange(1, draw.of + 1, dtype=np.uint64)
    of_draws = _mixed(keys[:, None] + numbers * _STEP)
    place = (of_draws < of_draws[:, [draw.number]]).sum(axis=1)
    within = (_mixed(of_draws[:, draw.number]) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    spread = spread_of(timetable, rows)
    later = np.minimum((spread * ((place + within) / draw.of)).astype(np.int64), spread - 1)
    first: Int64Array = np.where(timetable.frequency_exact[rows], 0, later)
    return first


def spread_of(timetable: Timetable, rows: IndexArray) -> Int64Array:
    """
    Return the seconds within which the first departure of rows of frequencies.txt is: the headway.

    A row that ends before its headway has one departure, which is before its end.
    """
    length = timetable.frequency_end[rows].astype(np.int64) - timetable.frequency_start[rows]
    spread: Int64Array = np.minimum(timetable.frequency_headway[rows], length)
    return spread


def row_keys(timetable: Timetable) -> UInt64Array:
    """Return a number for each row of frequencies.txt, from its feed, trip and place among the rows of the trip."""
    trips = timetable.frequency_trip
    order = np.lexsort((timetable.frequency_start, trips))
    is_first = np.append(True, np.diff(trips[order]) != 0)[: trips.size]
    begins = np.maximum.accumulate(np.where(is_first, np.arange(trips.size), 0))
    place = np.empty(trips.size, np.int64)
    place[order] = np.arange(trips.size) - begins
    feeds, ids = timetable.hot.trip_feed[trips], timetable.trips["trip_id"].to_numpy()[trips]
    keys = np.empty(trips.size, np.uint64)
    for row, (feed, name, number) in enumerate(zip(feeds.tolist(), ids.tolist(), place.tolist(), strict=True)):
        text = f"{feed}\n{number}\n{name}".encode("utf-8", "surrogatepass")
        keys[row] = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
    return keys


def _mixed(values: UInt64Array) -> UInt64Array:
    """Return a pseudorandom number for each number: the output function of SplitMix64."""
    found = values + _STEP
    found = (found ^ (found >> np.uint64(30))) * _FIRST
    found = (found ^ (found >> np.uint64(27))) * _SECOND
    mixed: UInt64Array = found ^ (found >> np.uint64(31))
    return mixed
