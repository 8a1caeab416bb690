"""
Compute travel times along all streets with one search from one position.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from traveltime_lab._arrays import AnyArray, FloatArray, Int32Array, Int64Array, rows_of
from traveltime_lab.kernels.records import Positions
from traveltime_lab.kernels.street import reading, road
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.runtime.threads import even_slices, side_by_side
from traveltime_lab.streets import contraction
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.components import order_by_row
from traveltime_lab.streets.graph import Core, RoadGraph
from traveltime_lab.streets.labels import limit_label, limit_step
from traveltime_lab.streets.links import ports, positions
from traveltime_lab.streets.snapping import Snaps
from traveltime_lab.streets.workspaces import EdgeRows, search_space


@dataclass(frozen=True)
class EdgeField:
    """
    A search from one position, along all edges; `RowField` and `LabelField` say what is kept of it.

    Attributes
    ----------
    graph : RoadGraph
    is_backward : bool
        Whether routes end at the position instead of beginning there.
    positions : Positions
        The positions of the point, at least one.
    limit : int
        Largest label that was settled.
    """

    graph: RoadGraph
    is_backward: bool
    positions: Positions
    limit: int

    @property
    def unit(self) -> float:
        """Units of the upper part of a label per second, or per metre in a graph of distances."""
        return 100.0 if self.graph.metric == "distance" else 1000.0

    def start(self) -> float:
        """Return the value at the nearest position: that of the connector between the point and its street."""
        return float(self.starts().min(initial=np.inf))

    def starts(self) -> FloatArray:
        """Return the values at the positions."""
        return np.asarray(label_parts.primary(self.positions.connector) / self.unit)

    def ahead(self) -> FloatArray:
        """
        Return the values of the whole edges of the positions, towards higher and lower fractions; inf where closed.

        In a backward search they are the values of travelling from there to the position.

        Returns
        -------
        float64 array of shape (n_positions, 2)
        """
        own = 2 * self.positions.edge[:, None].astype(np.int64) + np.arange(2)
        cost = label_parts.primary(self.graph.traversal[own]) / self.unit
        cost = np.where(self.graph.topology.is_open[own], cost, np.inf)
        return cost[:, ::-1].copy() if self.is_backward else cost


@dataclass(frozen=True)
class RowField(EdgeField):
    """A search of which the values along the reached edges are kept."""

    rows: EdgeRows


@dataclass(frozen=True)
class LabelField(EdgeField):
    """
    A search of which the labels of all directed edges are kept.

    Attributes
    ----------
    label : int64 array of shape (n_directed,)
        Forwards the label at the start of each directed edge, backwards the label from its end. `UNREACHED` beyond the
        limit.
    """

    label: Int64Array


def row_field(graph: RoadGraph, snaps: Snaps, snapping: Snapping, *, limit: float, is_backward: bool) -> RowField:
    """
    Search from one position, in a time that depends on the streets that are reached.

    Where a hierarchy exists, and the last search with such a limit reached much of the network, one sweep of the
    hierarchy replaces the search.

    Parameters
    ----------
    graph : RoadGraph
    snaps : Snaps of length 1
        The point, which must be snapped.
    snapping : Snapping
    limit : float
        Limit in seconds, or in metres in a graph of distances.
    is_backward : bool
        True for routes that end at the position.
    """
    here, seeds, largest = _beginning(graph, snaps, snapping, limit, is_backward=is_backward)
    core, rows = graph.core(is_backward=is_backward), EdgeRows(graph.topology)
    field = RowField(graph, is_backward, here, int(largest), rows)
    ends = graph.exit_ports() if is_backward else graph.entry_ports()
    reading_of = ends, graph.traversal, field.unit, int(is_backward), rows.values
    experience, n_edges = _SHARES.of(graph, None, dict), graph.traversal.size // 2
    made = contraction.HIERARCHY.get(graph, None) if _expected_share(experience, largest) > _SWEPT_FROM else None
    with search_space(graph, core) as space:
        if made is not None:
            contraction.label_all(graph, made, *seeds, largest, space.label, is_backward=is_backward)
            is_much = True
        else:
            removed = _REMOVED.of(graph.topology, is_backward, lambda: _removed(core))
            space.queue, edges, is_much = reading.reached_rows(
                core.arcs, core.seeds(*seeds), largest, space.label, space.queue,
                reading.Removed(*removed, core.above, core.above_key),
                _PORTS_OF_STATES.of(
                    graph.topology,
                    is_backward,
                    lambda: reading.ports_of_states(ends.indptr, ends.states, graph.topology.n_states),
                ),
                *reading_of,
            )  # fmt: skip
        if is_much:
            some = functools.partial(functools.partial, reading.all_rows, space.label)
            parts = even_slices(n_edges)
            edges = np.concatenate(side_by_side([some(part.start, part.stop, *reading_of) for part in parts]))
            space.label[:] = UNREACHED
        rows.edges = edges
    experience[limit_step(largest)] = edges.size / max(1, n_edges)
    return field


def _expected_share(experience: dict[int, float], largest: np.int64) -> float:
    """Return the share of the edges that the last search with such a limit, or the next smaller one, has reached."""
    # A copy, because other threads add to it.
    smaller = [step for step in tuple(experience) if step <= limit_step(largest)]
    return experience[max(smaller)] if smaller else 0.0


def label_field(graph: RoadGraph, snaps: Snaps, snapping: Snapping, *, limit: float, is_backward: bool) -> LabelField:
    """Search from one position and return the labels of the whole network; see `row_field` for the parameters."""
    here, seeds, largest = _beginning(graph, snaps, snapping, limit, is_backward=is_backward)
    made = contraction.HIERARCHY.get(graph, None)
    if made is not None:
        label = np.empty(graph.topology.n_states, np.int64)
        contraction.label_all(graph, made, *seeds, largest, label, is_backward=is_backward)
    else:
        core = graph.core(is_backward=is_backward)
        label, _ = road.one_to_all(core.arcs, *core.seeds(*seeds), largest, graph.shift, core.n_buckets, False)
        core.fill(label, largest)
    ends = graph.exit_ports() if is_backward else graph.entry_ports()

    def read(edges: slice) -> Int64Array:
        both = slice(2 * edges.start, 2 * edges.stop)
        labels: Int64Array = reading.field_of_edges(label, rows_of(ends, both.start, both.stop))
        return labels

    parts = side_by_side([functools.partial(read, part) for part in even_slices(graph.traversal.size // 2)])
    return LabelField(graph, is_backward, here, int(largest), np.concatenate(parts))


def _beginning(
    graph: RoadGraph, snaps: Snaps, snapping: Snapping, limit: float, *, is_backward: bool
) -> tuple[Positions, tuple[Int32Array, Int64Array], np.int64]:
    """Return the positions of a point, the seeds there, and the largest label."""
    here = positions(graph, snaps, snapping)
    _, states, keys = ports(graph, here, is_entry=is_backward)
    return here, (states, keys), limit_label(limit, graph.metric)


#: Share of the edges from which on a sweep takes less processor time than a search (measured in New York and Milan).
_SWEPT_FROM = 0.2
_SHARES = Derived[None, dict[int, float]]("shares of the edges that searches reached")
_REMOVED = Derived[bool, tuple[AnyArray, AnyArray]]("removed states below each state", kept=2)
_PORTS_OF_STATES = Derived[bool, reading.PortsOfStates]("ports of each state", kept=2)


def _removed(core: Core) -> tuple[AnyArray, AnyArray]:
    """Return the CSR of the states that were removed, by the state that leads to them."""
    removed = np.flatnonzero(core.above >= 0).astype(np.int32)
    indptr, order = order_by_row(core.above[removed], core.above.size)
    return indptr, removed[order]
