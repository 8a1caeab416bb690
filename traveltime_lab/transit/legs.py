"""
The transit legs of journeys, from the labels of a search.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from traveltime_lab._arrays import IndexArray, Int32Array, Int64Array, indptr_of
from traveltime_lab.kernels.transit import reconstruct
from traveltime_lab.kernels.transit.patterns import Lines
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.transit.trip_table import TripTable


@dataclass(frozen=True)
class Itineraries:
    """
    Transit legs of several itineraries in travel order, for searches in either direction.

    Parameters
    ----------
    indptr : int64 array of shape (n_journeys + 1,)
        Index pointer of the legs of each itinerary; one without legs was not found.
    board_run, alight_run : int32 arrays of shape (n_rides,)
        Trip instances (rows of `TripTable.instance_trip`) that are boarded and left. They differ if passengers stay
        seated while the vehicle continues as another trip: follow `TripTable.stay_instance` from the first.
    board_position, alight_position : int32 arrays of shape (n_rides,)
        Positions in the patterns of these trip instances.
    board_stop, alight_stop : int32 arrays of shape (n_rides,)
        stop_idx.
    departure, arrival : int32 arrays of shape (n_rides,)
        Time after the reference of the table.
    """

    indptr: Int64Array
    board_run: Int32Array
    board_position: Int32Array
    alight_run: Int32Array
    alight_position: Int32Array
    board_stop: Int32Array
    alight_stop: Int32Array
    departure: Int32Array
    arrival: Int32Array


@dataclass(frozen=True)
class Rounds:
    """
    The labels of one search by number of legs.

    Attributes
    ----------
    table : TripTable
    lines, back : Lines
        The lines of the table that were searched, and the same lines mirrored.
    best, ready : int32 arrays of shape (n_rounds + 1, n_stops)
        From `traveltime_lab.kernels.transit.raptor.search_rounds`.
    start, delay : int
        Moment in the direction of the search, and the time added to each transfer.
    is_arrival : bool
    """

    table: TripTable
    lines: Lines
    back: Lines
    best: Int32Array
    ready: Int32Array
    start: int
    delay: int
    is_arrival: bool

    @property
    def run_pattern(self) -> Int32Array:
        """The pattern of each trip instance, in the order of the table."""
        pattern_of: Int32Array = (self.back if self.is_arrival else self.lines).run_pattern
        return pattern_of

    def times_at(self, stops: IndexArray | Int32Array) -> Int32Array:
        """Return travel times to some stops, as `traveltime_lab.transit.raptor.TransitSearch.stop_times` does."""
        latest = self.best[-1][stops]
        return np.where(latest == NEVER, NEVER, latest - np.int32(self.start)).astype(np.int32)


@dataclass(frozen=True)
class LegForest:
    """
    Transit legs of many journeys in one direction of time, each leg of a search once.

    Parameters
    ----------
    last : int32 array of shape (n_targets,)
        The leg of each journey that is farthest from the point of its search; -1 for stops that were not reached.
    before : int32 array of shape (n_legs,)
        For each leg the next one towards the point of the search, which comes earlier in the array; -1 for none.
    change : int32 array of shape (n_legs,)
        Duration of the transfer between the two.
    search_of : intp array of shape (n_legs,)
        Position of the search of each leg.
    is_arrival : bool
        Whether `before` comes later in travel order.
    rides : Itineraries
        The legs, whose `indptr` is meaningless.
    table : TripTable
        The table of their trip instances.
    """

    last: Int32Array
    before: Int32Array
    change: Int32Array
    search_of: IndexArray
    is_arrival: bool
    rides: Itineraries
    table: TripTable

    def in_order(self) -> tuple[Int64Array, Int32Array]:
        """Return the legs of each journey in travel order, as index pointer and positions of legs."""
        now, rows = self.last, [self.last]
        while (now >= 0).any():
            now = np.where(now >= 0, self.before[now], -1) if self.before.size else np.full_like(now, -1)
            rows.append(now)
        table = np.stack(rows if self.is_arrival else rows[::-1], axis=1)
        is_leg = table >= 0
        return indptr_of(is_leg.sum(axis=1)), table[is_leg]

    def itineraries(self) -> Itineraries:
        """Return the legs of each journey in travel order."""
        indptr, legs = self.in_order()
        parts = (getattr(self.rides, part.name)[legs] for part in fields(Itineraries)[1:])
        return Itineraries(indptr, *parts)


def leg_forest(search: Rounds, stops: Int32Array) -> LegForest:
    """
    Return the transit legs of the fastest journeys between the point of a search and stops.

    Parameters
    ----------
    search : Rounds
    stops : int32 array of shape (n_targets,)
        Stops of the journeys. A stop may occur several times.
    """
    traced = reconstruct.trace(search.lines, search.back, search.best, search.ready, search.delay, stops)
    first = np.array([0, traced[1].shape[1]])
    return forest_of(search.table, (*traced, first), search.run_pattern, is_arrival=search.is_arrival)


def forest_of(
    table: TripTable, traced: tuple[Int32Array, Int32Array, Int64Array], run_pattern: Int32Array, *, is_arrival: bool
) -> LegForest:
    """
    Return the transit legs of journeys of one search or several.

    Parameters
    ----------
    table : TripTable
    traced : tuple of last, legs, first
        See `traveltime_lab.kernels.transit.journeys.fastest_journeys`.
    run_pattern : int32 array of shape (n_runs,)
        The pattern of each trip instance, in the order of the table.
    is_arrival : bool
    """
    last, legs, first = traced
    board_run, board_position, alight_run, alight_position, change, _, _, before = legs
    t, sizes = table, np.diff(table.pattern_indptr)
    if is_arrival:
        # Mirroring reversed the trip instances, the positions, and the ends of each leg.
        ends = []
        for run, position in ((alight_run, alight_position), (board_run, board_position)):
            p = run_pattern[run]
            ends.append((t.instance_indptr[p] + t.instance_indptr[p + 1] - 1 - run).astype(np.int32))
            ends.append((sizes[p] - 1 - position).astype(np.int32))
        board_run, board_position, alight_run, alight_position = ends

    def calls(run: Int32Array, position: Int32Array) -> tuple[Int32Array, Int64Array]:
        p = run_pattern[run]
        at = np.asarray(t.time_indptr[p] + (run - t.instance_indptr[p]) * sizes[p] + position, np.int64)
        return t.pattern_stops[t.pattern_indptr[p] + position], at

    board_stop, leaves = calls(board_run, board_position)
    alight_stop, arrives = calls(alight_run, alight_position)
    rides = Itineraries(
        np.zeros(1, np.int64), board_run, board_position, alight_run, alight_position, board_stop, alight_stop,
        t.departure[leaves], t.arrival[arrives],
    )  # fmt: skip
    return LegForest(
        last, before, change, np.repeat(np.arange(first.size - 1), np.diff(first)), is_arrival, rides, table
    )
