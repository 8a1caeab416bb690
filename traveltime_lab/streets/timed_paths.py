"""
Find fastest routes at speeds that change on the way.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from traveltime_lab._arrays import Int32Array, Int64Array
from traveltime_lab.kernels.records import Positions
from traveltime_lab.kernels.street import by_hour
from traveltime_lab.kernels.street import time_dependent as kernels
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.pieces import Path, Piece, each_position
from traveltime_lab.streets.timed import TimedGraph
from traveltime_lab.streets.workspaces import numbers, timed_space


class _Step(NamedTuple):
    """A part of a directed edge, its label with what follows at its end, and the arc along it; -1 for none."""

    directed: int
    begin: float
    end: float
    label: int
    arc: int


@dataclass(frozen=True)
class TimedTree:
    """
    The fastest routes from an origin, or to a destination in an arrival search: the *near* point.

    Attributes
    ----------
    graph : TimedGraph
    streets : traveltime_lab.kernels.street.by_hour.Streets
    here : Positions
        Those of the near point.
    largest : int
        Largest label that was settled.
    label : int64 array of shape (n_states,)
        Label between the near point and each state.
    parent : int32 array of shape (n_states,)
        The next state towards the near point, -1 if that is the next.
    """

    graph: TimedGraph
    streets: by_hour.Streets
    here: Positions
    largest: int
    label: Int64Array
    parent: Int32Array

    @classmethod
    @contextlib.contextmanager
    def of(cls, graph: TimedGraph, here: Positions, largest: int) -> Iterator[TimedTree]:
        """Search from a point up to a label, and lend the tree."""
        streets, ports = graph.searched(largest), graph.sides()[0]
        with timed_space(graph.topology) as space, numbers(graph.topology) as parent:
            space.arrays, touched = kernels.tree(streets, here, ports, np.int64(largest), parent, space.arrays)
            label = space.arrays.label
            yield cls(graph, streets, here, largest, label, parent)
            label[touched], parent[touched] = UNREACHED, -1

    def path(self, pair: int, there: Positions) -> Path | None:
        """
        Return the fastest route between the near point and another one, which is not the same place.

        None if there is none up to the largest label, beyond which states have none.
        """
        best, state, last, far_connector = int(UNREACHED), -1, None, 0
        for each, label, step, connector in self._reads(there):
            if label + connector < best:
                best, state, last, far_connector = label + connector, each, step, connector
        direct = None
        for step, near_connector, connector in self._along(there):
            if near_connector + step.label + connector <= best:
                best = near_connector + step.label + connector
                direct = self._ordered(pair, [step], near_connector, connector)
        if best > self.largest:
            return None
        if direct is not None or last is None:
            return direct
        states = [state]
        while self.parent[states[-1]] >= 0:
            states.append(int(self.parent[states[-1]]))
        states.reverse()
        near_connector, first = self._first(states[0])
        steps = [first, *(self._between(*both) for both in itertools.pairwise(states)), last]
        return self._ordered(pair, steps, near_connector, far_connector)

    def _driven(self, directed: int, low: float, high: float, label: int) -> int:
        """Return a label after driving between two places on a directed edge, away from the near point."""
        return int(by_hour.drive(self.streets, directed, low, high, np.int64(label)))

    def _reads(self, there: Positions) -> Iterator[tuple[int, int, _Step, int]]:
        """Yield the states by which a point is reached, its label without a connector, the step and the connector."""
        is_arrival, ports = self.graph.is_arrival, self.graph.sides()[1]
        for edge, at, connector in each_position(there):
            for d, place in ((2 * edge, at), (2 * edge + 1, 1.0 - at)):
                ends = (place, 1.0) if is_arrival else (0.0, place)
                for k in range(int(ports.indptr[d]), int(ports.indptr[d + 1])):
                    state = int(ports.states[k])
                    before = int(self.label[state])
                    if before != UNREACHED:
                        label = self._driven(d, *ends, before + int(ports.keys[k]))
                        arc = int(self.graph.topology.exit_arcs[k]) if is_arrival else -1
                        yield state, label, _Step(d, *ends, label - before, arc), connector

    def _along(self, there: Positions) -> Iterator[tuple[_Step, int, int]]:
        """Yield the steps to a point along a single edge, with the connectors of the near and the other point."""
        is_arrival = self.graph.is_arrival
        for (edge, near_at, near_connector), (other, far_at, connector) in itertools.product(
            each_position(self.here), each_position(there)
        ):
            for d, near, far in ((2 * edge, near_at, far_at), (2 * edge + 1, 1.0 - near_at, 1.0 - far_at)):
                low, high = (far, near) if is_arrival else (near, far)
                if edge == other and low <= high and self.graph.topology.is_open[d]:
                    label = self._driven(d, low, high, near_connector) - near_connector
                    yield _Step(d, low, high, label, -1), near_connector, connector

    def _first(self, root: int) -> tuple[int, _Step]:
        """Return the connector of the near point, and the step between it and the state where the search began."""
        is_arrival, ports = self.graph.is_arrival, self.graph.sides()[0]
        for edge, at, connector in each_position(self.here):
            for d, place in ((2 * edge, at), (2 * edge + 1, 1.0 - at)):
                ends = (0.0, place) if is_arrival else (place, 1.0)
                for k in range(int(ports.indptr[d]), int(ports.indptr[d + 1])):
                    if ports.states[k] != root:
                        continue
                    if self._driven(d, *ends, connector) + int(ports.keys[k]) == self.label[root]:
                        arc = -1 if is_arrival else int(self.graph.topology.exit_arcs[k])
                        return connector, _Step(d, *ends, int(self.label[root]) - connector, arc)
        raise AssertionError("a search begins at the ports of its point")

    def _between(self, near: int, far: int) -> _Step:
        """Return the step between a state and the next one away from the near point."""
        graph, topology = self.graph, self.graph.topology
        before, after = int(self.label[near]), int(self.label[far])
        start, end = (far, near) if graph.is_arrival else (near, far)
        for arc in range(int(topology.indptr[start]), int(topology.indptr[start + 1])):
            d = int(topology.arc_edge[arc])
            extra = int(graph.weights[arc] - graph.traversal[d])
            if topology.indices[arc] != end:
                continue
            if graph.is_arrival:
                reached = self._driven(d, 0.0, 1.0, before + extra)
            else:
                reached = self._driven(d, 0.0, 1.0, before) + extra
            if reached == after:
                return _Step(d, 0.0, 1.0, after - before, arc)
        raise AssertionError("an arc leads from each state to the next")

    def _ordered(self, pair: int, steps: list[_Step], near_connector: int, far_connector: int) -> Path:
        """Return the route of steps, given in the order of the search."""
        topology, connectors = self.graph.topology, (near_connector, far_connector)
        if self.graph.is_arrival:
            steps, connectors = steps[::-1], connectors[::-1]
        pieces: list[Piece] = []
        before = 0
        for d, begin, end, label, arc in steps:
            boards = arc >= 0 and bool(topology.arc_boards[arc])
            boarding = label_parts.from_ms(self.graph.transportation.boarding_time * 1000) if boards else 0
            # An arc is an edge and the turn after it, so that boarding belongs to the next edge.
            pieces.append(Piece(d, begin, end, label - boarding, before))
            before = boarding
        return Path(pair, pieces, *connectors)
