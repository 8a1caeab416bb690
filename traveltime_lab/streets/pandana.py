"""
Compute labels of many pairs with the contraction hierarchies of pandana.

The nodes of the pandana network are the states of a `RoadGraph`. pandana computes travel times between states; the
travel time of a pair of points is the smallest sum of a port of its origin, the time between two states, and a port of
its destination.

Exactness
---------
pandana truncates weights to whole thousandths. ``(ms + 0.5) / 1000`` is therefore stored as exactly `ms`, sums are
whole numbers, and times equal those of the other engines to the millisecond. The only exception are arcs of 0 ms (two
nodes at one point), which pandana would raise to its smallest weight. They get a sixteenth of a millisecond instead,
so that a route may pass 15 of them before its time is 1 ms too long (a quarter, and 3 of them, in a network with an
edge of 33 hours or more).

Lengths come from the paths of the fastest routes, which pandana unpacks one by one. If several routes have the same
time to the millisecond, the length is that of one of them, and not always the shortest.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from traveltime_lab._arrays import (
    AnyArray,
    IndexArray,
    Int32Array,
    Int64Array,
    indptr_of,
    rows_of,
    take_rows,
    within_rows,
)
from traveltime_lab.errors import MissingDependencyError
from traveltime_lab.kernels.street import joins, road, turns
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.runtime import threads as cores
from traveltime_lab.runtime.forks import Lock
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.settings import settings
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets import links
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.links import LinkedPoints
from traveltime_lab.streets.pandana_guards import pandana_threads, silenced

#: Pairs of states in one call for times (pandana returns a list of Python floats), and in one call for paths (it
#: returns lists of lists of Python integers).
_WAYS: Final = 500_000
_PATHS: Final = 2_000
#: Parts of a millisecond in graphs with arcs of 0 ms. More parts allow more such arcs on a route, but the weights of
#: pandana have 31 bits: 16 parts leave 37 hours. Where one arc alone takes 33 hours or more, there are four.
_PARTS: Final = 16
_LONG, _PARTS_OF_LONG = 120_000_000, 4
#: The value that pandana returns if there is no path, in its own unit.
_NO_WAY: Final = (1 << 32) - 1
_building = Lock()


@dataclass(frozen=True)
class Hierarchy:
    """
    A contracted graph.

    Attributes
    ----------
    graph : RoadGraph
        The graph that was contracted, with other exit ports; see `_leaving_by_own_state`.
    contracted : cyaccess or None
        The object of pandana; None for a graph without arcs.
    threads : int
        Number of threads that pandana has workspaces for. A call from more threads would end the process.
    parts : int
        Units of pandana per millisecond (or centimetre).
    is_of_edges : bool
        Whether the states are directed edges, so that a path from a state to itself is a round trip.
    """

    graph: RoadGraph
    contracted: Any
    threads: int
    parts: int
    is_of_edges: bool

    def ways(self, origin: Int32Array, destination: Int32Array) -> Int32Array:
        """
        Return the travel times between pairs of states in milliseconds.

        Parameters
        ----------
        origin, destination : int32 arrays of shape (n,)

        Returns
        -------
        int32 array of shape (n,)
            -1 where there is no path.
        """
        found = self._direct(origin, destination)
        if self.is_of_edges:
            same = np.flatnonzero(origin == destination)
            if same.size:
                found[same] = self._round_trips(origin[same])[0]
        return found

    def _direct(self, origin: Int32Array, destination: Int32Array) -> Int32Array:
        """Return the travel times between pairs of states in milliseconds, 0 from a state to itself."""
        found = np.where(origin == destination, 0, -1).astype(np.int32)
        if self.contracted is None:
            return found
        for first in range(0, origin.size, _WAYS):
            part = slice(first, first + _WAYS)
            with pandana_threads(self.threads):
                answer = self.contracted.shortest_path_distances(
                    origin[part].astype(np.int64), destination[part].astype(np.int64), 0
                )
            units = np.rint(np.array(answer) * 1000.0).astype(np.int64)
            found[part] = np.where(units == _NO_WAY, -1, units // self.parts)
        return found

    def _round_trips(self, state: Int32Array) -> tuple[Int32Array, Int64Array]:
        """
        Return the fastest round trips from states back to themselves.

        Returns
        -------
        ms : int32 array of shape (n,)
            -1 where there is none.
        arc : int64 array of shape (n,)
            The first arc of each round trip, -1 where there is none.
        """
        topology = self.graph.topology
        once, place = np.unique(state, return_inverse=True)
        counts = topology.indptr[once + 1] - topology.indptr[once]
        owner = np.repeat(np.arange(once.size), counts)
        arcs = within_rows(counts) + topology.indptr[once][owner]
        back = self._direct(topology.indices[arcs], once[owner])
        ms = np.where(back < 0, np.int64(UNREACHED), back + label_parts.primary(self.graph.weights[arcs]))
        trips = np.full(once.size, -1, np.int32)
        first = np.full(once.size, -1, np.int64)
        best = np.lexsort((ms, owner))
        if best.size:
            best = best[np.concatenate([[True], np.diff(owner[best]) > 0])]
            best = best[back[best] >= 0]
            trips[owner[best]] = ms[best]
            first[owner[best]] = arcs[best]
        return trips[place], first[place]

    def labels(self, origin: Int32Array, destination: Int32Array) -> Int64Array:
        """
        Return the labels of the fastest paths between pairs of states.

        Parameters
        ----------
        origin, destination : int32 arrays of shape (n,)
            Pairs for which `ways` is not negative.

        Returns
        -------
        int64 array of shape (n,)
        """
        topology, weights = self.graph.topology, self.graph.weights
        n_states = topology.n_states
        once, place = np.unique(origin.astype(np.int64) * n_states + destination, return_inverse=True)
        start, end = once // n_states, once % n_states
        label = np.zeros(once.size, np.int64)
        if self.is_of_edges:
            same = np.flatnonzero(start == end)
            arc = self._round_trips(start[same].astype(np.int32))[1]
            start[same] = topology.indices[arc]
            label[same] = weights[arc]
        apart = np.flatnonzero(start != end)
        for first in range(0, apart.size, _PATHS):
            part = apart[first : first + _PATHS]
            with pandana_threads(self.threads):
                paths = self.contracted.shortest_paths(start[part], end[part], 0)
            path_indptr = indptr_of([len(path) for path in paths])
            path_states = np.fromiter(itertools.chain.from_iterable(paths), np.int64, int(path_indptr[-1]))
            label[part] += joins.path_labels(path_indptr, path_states, self.graph.arcs(is_backward=False))
        return np.asarray(label[place])


_HIERARCHY = Derived[None, Hierarchy]("pandana hierarchy")


def hierarchy(streets: StreetLayer, graph: RoadGraph) -> Hierarchy:
    """
    Return the contracted graph, which is computed once and kept with the network.

    Raises
    ------
    MissingDependencyError
        If pandana is not installed.
    """
    return _HIERARCHY.of(graph, None, lambda: _contract(graph))


def _contract(graph: RoadGraph) -> Hierarchy:
    """Contract a graph, which takes seconds to minutes."""
    try:
        import pandana  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        msg = (
            "engine='pandana' needs pandana: pip install 'traveltime_lab[pandana]'. "
            "Or omit the engine: all engines return the same results."
        )
        raise MissingDependencyError(msg) from error
    topology = graph.topology
    units = label_parts.primary(graph.weights)
    parts = (_PARTS if units.max() < _LONG else _PARTS_OF_LONG) if (units == 0).any() else 1
    is_of_edges = bool((topology.state_edge >= 0).any())
    contracted = None
    threads = settings.threads
    if units.size:
        # Paths do not depend on the coordinates. They are all different, because pandana indexes them.
        place = pd.Series(np.arange(topology.n_states, dtype=np.float64))
        source = np.repeat(np.arange(topology.n_states), np.diff(topology.indptr))
        weights = pd.DataFrame({"weight": (units * parts + 0.5) / 1000.0})
        target = pd.Series(topology.indices.astype(np.int64))
        with _building, pandana_threads(threads), silenced():
            contracted = pandana.Network(place, place, pd.Series(source), target, weights, twoway=False).net
    joined = _leaving_by_own_state(graph) if is_of_edges else graph
    return Hierarchy(joined, contracted, threads, parts, is_of_edges)


def _leaving_by_own_state(graph: RoadGraph) -> RoadGraph:
    """
    Return a graph of directed edges with one exit port per edge, to reduce the number of pairs of ports.

    A route that begins on a directed edge continues with one of the arcs that leave the plain state of that edge, and
    each of these arcs includes the whole edge and a turn. The route may therefore begin at this state instead, with the
    label of the whole edge subtracted: the sum is the same for every path with at least one arc. A path without arcs,
    to a destination on the same edge, would be wrong; for it `Hierarchy.ways` returns the round trip, and
    `traveltime_lab.kernels.street.turns` adds routes along the edge itself. In a graph of nodes this would not work,
    because a node can also be left by other streets.
    """
    topology = graph.topology
    # The plain state of an edge has the lowest number of all its states.
    plain = topology.entry_states[topology.entry_indptr[:-1][topology.is_open]]
    indptr = indptr_of(topology.is_open)
    return replace(
        graph,
        topology=replace(topology, exit_indptr=indptr, exit_states=plain),
        exit_keys=-graph.traversal[topology.is_open],
    )


class _Joints(NamedTuple):
    """
    The ports of origins or of destinations.

    Attributes
    ----------
    indptr : int64 array of shape (n_points + 1,)
    states : int32 array of shape (n_ports,)
    keys : int64 array of shape (n_ports,)
        Labels; those of origins may be negative.
    """

    indptr: Int64Array
    states: Int32Array
    keys: Int64Array

    @property
    def ms(self) -> Int64Array:
        """The milliseconds of the keys; those of a negative label are not simply its upper half."""
        return np.asarray((self.keys + (1 << (road.TIME_SHIFT - 1))) >> road.TIME_SHIFT)


def _full_labels(contracted: Hierarchy, starts: _Joints, ends: _Joints, start: AnyArray, end: AnyArray) -> Int64Array:
    """Return the labels of routes between pairs of ports, including lengths."""
    between = contracted.labels(starts.states[start], ends.states[end])
    return np.asarray(starts.keys[start] + between + ends.keys[end])


def _labels_of_pairs(
    contracted: Hierarchy,
    starts: _Joints,
    ends: _Joints,
    origin_of: IndexArray,
    destination_of: IndexArray,
    largest: np.int64,
    *,
    with_length: bool,
) -> Int64Array:
    """Return the labels of chosen pairs, comparing all pairs of their ports."""
    pair_indptr = np.empty(origin_of.size + 1, np.int64)
    arguments = (starts.indptr, ends.indptr, origin_of, destination_of, pair_indptr)
    n = joins.port_pairs(*arguments, np.empty(0, np.int32), np.empty(0, np.int32))
    start, end = np.empty(n, np.int32), np.empty(n, np.int32)
    labels = np.full(origin_of.size, UNREACHED, np.int64)
    if not n:
        return labels
    joins.port_pairs(*arguments, start, end)
    n_states = contracted.graph.topology.n_states
    numbers, place = np.unique(starts.states[start].astype(np.int64) * n_states + ends.states[end], return_inverse=True)
    ways = contracted.ways((numbers // n_states).astype(np.int32), (numbers % n_states).astype(np.int32))[place]
    time = np.where(ways < 0, -1, starts.ms[start] + ways + ends.ms[end])
    fastest = joins.fastest_pairs(pair_indptr, time, label_parts.primary(largest))
    found = np.flatnonzero(fastest >= 0)
    best = fastest[found]
    if with_length:
        labels[found] = _full_labels(contracted, starts, ends, start[best], end[best])
    else:
        labels[found] = label_parts.from_ms(time[best])
    return labels


@dataclass(frozen=True)
class Pandana:
    """
    An `traveltime_lab.streets.engines.Engine` that calls pandana. It raises MissingDependencyError if that is missing.

    Attributes
    ----------
    with_length : bool
        Whether the lower halves of the labels are needed. They take many times as long as the upper halves; without
        them the lower halves are undefined.
    """

    with_length: bool

    def label_blocks(
        self, streets: StreetLayer, graph: RoadGraph, leaving: LinkedPoints, reached: LinkedPoints, largest: np.int64
    ) -> Iterator[tuple[slice, slice, Int64Array]]:
        """Yield the labels from all origins to blocks of destinations."""
        contracted = hierarchy(streets, graph)
        starts = _Joints(*links.ports(contracted.graph, leaving.positions, is_entry=False))
        ends = _Joints(*reached.ports)
        n_rows, n_columns = len(leaving.snaps), len(reached.snaps)
        start_states, start_place = np.unique(starts.states, return_inverse=True)
        limits = np.full(n_rows, largest)
        size = int(np.clip(cores.BLOCK // max(n_rows, 1), 1, max(n_columns, 1)))
        for first in range(0, n_columns, size):
            columns = slice(first, min(first + size, n_columns))
            far = take_rows(ends, columns.start, columns.stop)
            end_states, end_place = np.unique(far.states, return_inverse=True)
            ways = contracted.ways(np.repeat(start_states, end_states.size), np.tile(end_states, start_states.size))
            labels = np.empty((n_rows, columns.stop - first), np.int64)
            start, end = (np.empty(labels.shape if self.with_length else (0, 0), np.int32) for _ in range(2))
            joins.best_joins(
                joins.Joints(starts.indptr, start_place.astype(np.int64), starts.ms),
                joins.Joints(far.indptr, end_place.astype(np.int64), far.ms),
                ways.reshape(start_states.size, end_states.size),
                label_parts.primary(largest),
                labels,
                start,
                end,
            )
            if self.with_length:
                found = labels != UNREACHED
                labels[found] = _full_labels(contracted, starts, far, start[found], end[found])
            there = rows_of(reached.positions, columns.start, columns.stop)
            turns.improve_along_edges(
                leaving.positions, there, True, graph.directed, links.by_edge(there), limits, labels
            )
            yield slice(0, n_rows), columns, labels

    def pair_labels(
        self,
        streets: StreetLayer,
        graph: RoadGraph,
        leaving: LinkedPoints,
        reached: LinkedPoints,
        row_indptr: Int64Array,
        largest: np.int64,
    ) -> Int64Array:
        """Return the labels of chosen pairs."""
        contracted = hierarchy(streets, graph)
        starts = _Joints(*links.ports(contracted.graph, leaving.positions, is_entry=False))
        ends = _Joints(*reached.ports)
        labels = np.full(len(reached.snaps), UNREACHED, np.int64)
        row_of, aligned = np.repeat(np.arange(row_indptr.size - 1), np.diff(row_indptr)), np.arange(labels.size)
        # A pair has four to ten pairs of ports.
        for first in range(0, labels.size, _WAYS // 4):
            part = slice(first, first + _WAYS // 4)
            labels[part] = _labels_of_pairs(
                contracted, starts, ends, row_of[part], aligned[part], largest, with_length=self.with_length
            )
        return labels
