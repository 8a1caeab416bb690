"""
Drive along streets at speeds that depend on the hour.

**Hours.** A directed edge has a whole number of milliseconds from its start to its end for each hour. A vehicle on it
covers the same share of the edge in each millisecond of an hour, and has the speed of the next hour as soon as that
begins [1]_. Later departures can therefore not arrive earlier (first in, first out).

**Rounding.** The *place* of a vehicle is the number of milliseconds from the start of the edge to there, at the speed
of the hour. When an hour begins, the place is divided by the milliseconds of the old hour, multiplied by those of the
new one, and rounded to a whole number, halves upwards; nothing else is rounded. As rounding keeps the order of places,
first in, first out is exact in milliseconds. `_leave` is the exact inverse of `_arrive`: the latest departure that
arrives by a moment.

References
----------
.. [1] Ichoua, S., Gendreau, M., Potvin, J.-Y. (2003). Vehicle dispatching with time-dependent travel times. European
   Journal of Operational Research 144 (2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.road import LENGTH_MASK, TIME_SHIFT


class Hours(NamedTuple):
    """The hours of a search."""

    begins: np.ndarray  # int64 (n_hours + 1,), ms after the moment; the first and the last are beyond all times
    row: np.ndarray  # int64 (n_hours,), row of `ms` of each hour
    ms: np.ndarray  # int32 (n_rows, n_directed), ms from the start to the end of each directed edge


class Streets(NamedTuple):
    """The streets of a search in one direction."""

    indptr: np.ndarray  # int32 (n_states + 1,)
    indices: np.ndarray  # int32 (n_arcs,), state that each arc leads to, or comes from in a backward search
    edge: np.ndarray  # int32 (n_arcs,), directed edge that the arc travels along
    extra_ms: np.ndarray  # int32 (n_arcs,), turn, signal and boarding at its end
    single: np.ndarray  # bool (n_states,), states that one arc leads to
    length: np.ndarray  # int64 (n_directed,), cm
    is_open: np.ndarray  # bool (n_directed,)
    hours: Hours
    is_backward: bool
    shift: int  # ``label >> shift`` is the number of a bucket


class Bends(NamedTuple):
    """
    Values along directed edges on which the speed changes while they are driven, sorted by edge.

    Directed edges that are entered at their start, or left at their end in a backward search, and those of the origin.
    """

    directed: np.ndarray  # int32 (n,)
    ms: np.ndarray  # int64 (n,), value at the place where the edge is entered
    share: np.ndarray  # float64 (n,), that place, 0 to 1 in the direction of the directed edge


@kernel
def _part(ms, share):
    """Return the milliseconds of the first `share` of a directed edge, as `turns.part_of` does."""
    return np.int64(ms * share + 0.5)


@kernel
def _arrive(hours, directed, begin, end, at):
    """Return the arrival at the share `end` of a directed edge, having left the share `begin` at a time; ms."""
    begins, row, ms = hours
    k = 0
    while begins[k + 1] <= at:
        k += 1
    whole = np.int64(ms[row[k], directed])
    place = _part(whole, begin)
    while True:
        left = max(_part(whole, end) - place, 0)
        if at + left <= begins[k + 1]:
            return at + left
        # Something is left, so that `whole` is not 0.
        place += begins[k + 1] - at
        at = begins[k + 1]
        k += 1
        following = np.int64(ms[row[k], directed])
        place = (2 * place * following + whole) // (2 * whole)
        whole = following


@kernel
def _leave(hours, directed, begin, end, by):
    """Return the latest departure at the share `begin` of a directed edge that arrives at `end` by a time; ms."""
    begins, row, ms = hours
    k = 0
    while begins[k + 1] <= by:
        k += 1
    whole = np.int64(ms[row[k], directed])
    place = _part(whole, end)
    latest = by
    while True:
        departure = min(latest, by - (place - _part(whole, begin)))
        if departure >= begins[k]:
            return departure
        # The least place at the beginning of the hour, and the least one in the former hour that becomes it, or is at
        # the end of the way then.
        place -= by - begins[k]
        by = begins[k]
        latest = by - 1
        k -= 1
        former = np.int64(ms[row[k], directed])
        place = min((2 * former * place - former + 2 * whole - 1) // (2 * whole), _part(former, end))
        whole = former


@kernel
def drive(streets, directed, low, high, label):
    """
    Return the label after driving from one place on a directed edge to another.

    Parameters
    ----------
    streets : Streets
    directed : int
    low, high : float
        The places, as shares of the edge; a backward search drives from the second to the first.
    label : int64
        Label before.
    """
    time = label >> TIME_SHIFT
    if streets.is_backward:
        time = -_leave(streets.hours, directed, low, high, -time)
    else:
        time = _arrive(streets.hours, directed, low, high, time)
    length = streets.length[directed]
    return (time << TIME_SHIFT) + (label & LENGTH_MASK) + _part(length, high) - _part(length, low)


@kernel
def changes(hours, directed, time, spent, is_backward):
    """Return whether the speed changes in some milliseconds after a time, or before it in a backward search."""
    begins, row, ms = hours
    low, high = (-time - spent, -time) if is_backward else (time, time + spent)
    found = False
    for k in range(1, begins.size - 1):
        found |= low < begins[k] < high and ms[row[k - 1], directed] != ms[row[k], directed]
    return found


@kernel
def bends_after(streets, directed, share, start):
    """
    Return whether the speed changes on the ways from places on directed edges to their ends.

    Parameters
    ----------
    streets : Streets
    directed : int32 array of shape (n,)
    share : float64 array of shape (n,)
        The places, 0 to 1 in the direction of each. In a backward search, ways come from the starts of the edges.
    start : int64 array of shape (n,)
        Labels at the places.

    Returns
    -------
    bool array of shape (n,)
    """
    found = np.empty(directed.size, np.bool_)
    for i in range(directed.size):
        d, time = np.int64(directed[i]), start[i] >> TIME_SHIFT
        low, high = (0.0, share[i]) if streets.is_backward else (share[i], 1.0)
        spent = (drive(streets, d, low, high, start[i]) >> TIME_SHIFT) - time
        found[i] = changes(streets.hours, d, time, spent, streets.is_backward)
    return found


@kernel
def value_at(streets, bends, entry, edge_share):
    """Return the seconds at a position of an edge, given as a share of the edge, by a side of it; inf if behind it."""
    d, begin = np.int64(bends.directed[entry]), bends.share[entry]
    share = edge_share if d & 1 == 0 else 1.0 - edge_share
    low, high = (share, begin) if streets.is_backward else (begin, share)
    if low > high:
        return np.inf
    return (drive(streets, d, low, high, bends.ms[entry] << TIME_SHIFT) >> TIME_SHIFT) / 1000.0


@kernel
def reaches(streets, bends, limit_ms):
    """
    Return how far along directed edges values are within a limit.

    Parameters
    ----------
    streets : Streets
    bends : Bends
    limit_ms : int64

    Returns
    -------
    float64 array of shape (n,)
        Shares of the edges that are passed within the limit: up to the end, or the start in a backward search.
    """
    found = np.zeros(bends.ms.size)
    for i in range(found.size):
        d, begin, key = np.int64(bends.directed[i]), bends.share[i], bends.ms[i] << TIME_SHIFT
        low, high = 0.0, begin if streets.is_backward else 1.0 - begin
        # As many halvings as a float has bits: times are whole milliseconds, so that more have no effect.
        for _ in range(53):
            middle = 0.5 * (low + high)
            ends = (begin - middle, begin) if streets.is_backward else (begin, begin + middle)
            if drive(streets, d, ends[0], ends[1], key) >> TIME_SHIFT <= limit_ms:
                low = middle
            else:
                high = middle
        found[i] = low
    return found
