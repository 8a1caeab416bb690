"""
The walks around all stops of a timetable, as searches use them and as prepared networks store them.

There are hundreds of walks for each stop in a city, so that only what cannot be derived is stored, in narrow types:
stop and time of each walk by the state where it ends, and how much its length differs from that time at one speed. The
same walks by stop follow from these at the first area. Walks of the other direction are the same wherever all streets
nearby are open both ways, and only the states are stored around which they are not.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from traveltime_lab._arrays import (
    BoolArray,
    Int16Array,
    Int32Array,
    Int64Array,
    chosen_rows,
    indptr_of,
    take_rows,
)
from traveltime_lab.kernels.records import StopLinks
from traveltime_lab.kernels.transit import walks as kernel
from traveltime_lab.kernels.transit.walks import StatesAround
from traveltime_lab.runtime.forks import cached_property
from traveltime_lab.runtime.threads import even_slices, side_by_side
from traveltime_lab.streets.graph import RoadGraph

#: Speeds are whole centimetres in a number of milliseconds that is this power of two.
_RATE_BITS: Final = 16
#: Number of readings by state that take less time together than computing the walks by stop (measured: 8 with 59,000
#: stops, 16 in Porto Alegre).
_FEW_READINGS: Final = 8
#: States that are compared at once, which bounds the memory that is needed.
_AT_ONCE: Final = 1 << 16


def distance_cm(ms: Int32Array, rate: int) -> Int64Array:
    """Return the distance in some times at a speed, in centimetres; for `rate` see `Walks`."""
    return ms.astype(np.int64) * rate >> _RATE_BITS


class WalkRows(NamedTuple):
    """
    CSR of walks by state, with the stops in ascending order.

    Attributes
    ----------
    indptr : int64 array of shape (n_rows + 1,)
    stops : int32 array of shape (n_walks,)
    ms : int32 array of shape (n_walks,), ms
    more_cm : int16 or int32 array of shape (n_walks,), cm
        Length, less the distance at the speed of `Walks`; int16 if all differences fit.
    """

    indptr: Int64Array
    stops: Int32Array
    ms: Int32Array
    more_cm: Int16Array | Int32Array


@dataclass(frozen=True)
class Walks:
    """
    States of the walking graph within walking distance of every stop.

    Attributes
    ----------
    is_leaving : bool
        True if the walks lead from the stops, False if they lead to the stops.
    budget_ms : int
        Longest walk.
    n_stops : int
        Number of stops of the timetable.
    rate : int
        Speed of which lengths are given as differences, in centimetres per 65,536 milliseconds.
    rows : WalkRows
        Walks of all states, or those of `states`.
    states : int32 array
        States whose walks differ from those of `other`, ascending.
    other : Walks, optional
        The walks of the opposite direction.
    """

    is_leaving: bool
    budget_ms: int
    n_stops: int
    rate: int
    rows: WalkRows
    states: Int32Array
    other: Walks | None = None

    @classmethod
    def of(cls, by_stop: StatesAround, cm: Int32Array, graph: RoadGraph, budget_ms: int, *, is_leaving: bool) -> Walks:
        """Return walks of all states, given those around each stop and their lengths in centimetres."""
        n_stops = by_stop.indptr.size - 1
        indptr, stops, ms, cm = kernel.turned(*by_stop, cm, graph.topology.n_states)
        rate = round(graph.connector_kph / 36.0 * (1 << _RATE_BITS))
        more = (cm - distance_cm(ms, rate)).astype(np.int32)
        fits = np.iinfo(np.int16)
        if fits.min <= more.min(initial=0) and more.max(initial=0) <= fits.max:
            more = more.astype(np.int16)
        rows = WalkRows(indptr, stops, ms, more)
        return cls(is_leaving, budget_ms, n_stops, rate, rows, np.zeros(0, np.int32))

    @property
    def n_states(self) -> int:
        """Number of states of the graph."""
        return (self if self.other is None else self.other).rows.indptr.size - 1

    def beside(self, other: Walks) -> Walks:
        """Return these walks, as differences from those of the opposite direction if that takes less memory."""
        if self.other is other:
            return self
        rows, theirs = self._whole, other.rows
        if rows.more_cm.dtype != theirs.more_cm.dtype or rows.indptr.size != theirs.indptr.size:
            return self.alone()
        ends = [(first, min(first + _AT_ONCE, self.n_states)) for first in range(0, self.n_states, _AT_ONCE)]
        differ = np.concatenate(
            [np.zeros(0, np.bool_), *(_differ(take_rows(rows, *part), take_rows(theirs, *part)) for part in ends)]
        )
        states = np.flatnonzero(differ).astype(np.int32)
        indptr, at = chosen_rows(rows.indptr, states)
        if 2 * at.size > rows.ms.size:
            return self.alone()
        changed = WalkRows._make([indptr, *(values[at] for values in rows[1:])])
        return replace(self, rows=changed, states=states, other=other)

    def alone(self) -> Walks:
        """Return these walks with the rows of all states."""
        return self if self.other is None else replace(self, rows=self._whole, states=self.states[:0], other=None)

    @cached_property
    def _whole(self) -> WalkRows:
        """The walks of all states."""
        if self.other is None:
            return self.rows
        theirs = self.other.rows
        if self._turned is not None:
            return theirs
        is_own = np.zeros(self.n_states, np.bool_)
        is_own[self.states] = True
        lengths = np.diff(theirs.indptr)
        from_other = np.repeat(~is_own, lengths)
        lengths[self.states] = np.diff(self.rows.indptr)
        to_own = np.repeat(is_own, lengths)
        whole = WalkRows._make([indptr_of(lengths), *(np.empty(to_own.size, values.dtype) for values in theirs[1:])])
        for values, mine, others in zip(whole[1:], self.rows[1:], theirs[1:], strict=True):
            values[to_own] = mine
            values[~to_own] = others[from_other]
        return whole

    @property
    def by_state(self) -> StopLinks:
        """Stops around each state."""
        return StopLinks(*self._whole[:3])

    @cached_property
    def cm(self) -> Int32Array:
        """Lengths of the walks of `by_state` in centimetres."""
        return (distance_cm(self._whole.ms, self.rate) + self._whole.more_cm).astype(np.int32)

    @property
    def _turned(self) -> Walks | None:
        """The walks of the opposite direction if they are the same."""
        return None if self.states.size else self.other

    @property
    def has_by_stop(self) -> bool:
        """Whether `by_stop` has been computed."""
        return "by_stop" in vars(self._turned or self)

    @cached_property
    def _n_readings(self) -> list[int]:
        """Number of readings that were counted, as the only item."""
        return [0]

    def are_read_rarely(self, n_readings: int) -> bool:
        """Count readings of all walks, and return whether there were too few so far to compute `by_stop` for them."""
        self._n_readings[0] += n_readings
        return not self.has_by_stop and self._n_readings[0] <= _FEW_READINGS

    @cached_property
    def by_stop(self) -> StatesAround:
        """States around each stop, nearest first; computed at the first use."""
        if self._turned is not None:
            return self._turned.by_stop
        indptr, stops, ms = self.by_state
        turned, states, ms, _ = kernel.turned(indptr, stops, ms, np.zeros(0, np.int32), self.n_stops)
        around = StatesAround(turned, states, ms)
        sort_by_time(around, self.budget_ms)
        return around


def sort_by_time(around: StatesAround, longest: int) -> None:
    """Sort the rows of walks of at most some duration in place, the shortest first."""
    some = functools.partial(functools.partial, kernel.sort_by_time, around)
    side_by_side([some(part.start, part.stop, longest) for part in even_slices(around.indptr.size - 1)])


def _differ(rows: WalkRows, others: WalkRows) -> BoolArray:
    """Return which rows differ."""
    lengths = np.diff(rows.indptr)
    differ: BoolArray = lengths != np.diff(others.indptr)
    _, at = chosen_rows(rows.indptr, np.flatnonzero(~differ))
    _, there = chosen_rows(others.indptr, np.flatnonzero(~differ))
    is_other = np.zeros(at.size, np.bool_)
    for mine, theirs in zip(rows[1:], others[1:], strict=True):
        is_other |= mine[at] != theirs[there]
    differ[np.repeat(np.flatnonzero(~differ), lengths[~differ])[is_other]] = True
    return differ
