"""
Compute travel times along all streets with one search from one position.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from traveltime_lab._arrays import AnyArray, FloatArray, Int32Array, Int64Array, rows_of
from traveltime_lab.kernels.records import Positions
from traveltime_lab.kernels.street import reading, road
from traveltime_lab.kernels.street.road import TIME_SHIFT
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.limits import FOREVER_S
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.runtime.threads import even_slices, side_by_side
from traveltime_lab.streets import contraction
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.components import order_by_row
from traveltime_lab.streets.graph import Core, RoadGraph, mean_pace
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

    def start(self) -> float:
        """Return the value at the nearest position: that of the connector between the point and its street."""
        return float(self.starts().min(initial=np.inf))

    def starts(self) -> FloatArray:
        """Return the values at the positions."""
        return np.asarray(label_parts.primary(self.positions.connector) / self.graph.unit)

    def ahead(self) -> FloatArray:
        """
        Return the values of the whole edges of the positions, towards higher and lower fractions; inf where closed.

        In a backward search they are the values of travelling from there to the position.

        Returns
        -------
        float64 array of shape (n_positions, 2)
        """
        own = 2 * self.positions.edge[:, None].astype(np.int64) + np.arange(2)
        cost = label_parts.primary(self.graph.traversal[own]) / self.graph.unit
        cost = np.where(self.graph.topology.is_open[own], cost, np.inf)
        return cost[:, ::-1].copy() if self.is_backward else cost


@dataclass(frozen=True)
class RowField(EdgeField):
    """A search of which the values along the reached edges are kept; by `length_field`, times and lengths."""

    rows: EdgeRows

    def reached(self) -> Int32Array:
        """Return the edges that are reached and those of the positions, in ascending order."""
        assert self.rows.edges is not None
        return np.union1d(self.rows.edges, self.positions.edge)


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
    reading_of = ends, graph.traversal, graph.unit, int(is_backward), rows.values
    experience, n_edges = _SHARES.of(graph, None, dict), graph.topology.n_edges
    made = contraction.HIERARCHY.get(graph, None) if _expected_share(experience, largest) > _SWEPT_FROM else None
    with search_space(graph, core) as space:
        if made is not None:
            contraction.label_all(graph, made, *seeds, largest, space.label, is_backward=is_backward)
            is_much = True
        else:
            space.queue, edges, is_much = reading.reached_rows(
                core.arcs, core.seeds(*seeds), largest, space.label, space.queue,
                *_what_follows(graph, is_backward=is_backward), *reading_of,
            )  # fmt: skip
        if is_much:
            edges = _of_all_edges(functools.partial(reading.all_rows, space.label), n_edges, reading_of)
            space.label[:] = UNREACHED
        rows.edges = edges
    experience[limit_step(largest)] = edges.size / max(1, n_edges)
    return field


def length_field(graph: RoadGraph, snaps: Snaps, snapping: Snapping, *, limit_m: float, is_backward: bool) -> RowField:
    """
    Search from one position for all places to which the fastest route has some length at most.

    The cost depends on the streets that are reached. A search up to some time determines up to which time it had to go,
    and is repeated up to that one if it has stopped before; see `reached_lengths` of
    `traveltime_lab.kernels.street.reading`. Where much of the network is reached, one sweep of the hierarchy, or one
    search without a limit, is quicker.

    Parameters
    ----------
    graph : RoadGraph
        A graph of travel times.
    snaps, snapping, is_backward
        As in `row_field`.
    limit_m : float
        Longest route of interest, m.

    Returns
    -------
    RowField
        Its rows have times and lengths. Where the fastest route is longer than the limit, they have the length of some
        route that is longer than the limit, or none.
    """
    here, seeds, forever = _beginning(graph, snaps, snapping, FOREVER_S, is_backward=is_backward)
    core, rows = graph.core(is_backward=is_backward), EdgeRows(graph.topology, 8)
    ends, n_edges = graph.exit_ports() if is_backward else graph.entry_ports(), graph.topology.n_edges
    reading_of = ends, graph.traversal, int(is_backward), rows.values
    extra_ms = _LONGEST_EXTRA.of(graph, None, lambda: _extra_ms(graph))
    # A metre more, because values are rounded.
    most_cm = np.int64(100 * (math.ceil(limit_m) + 1))
    own_ms = _time_of_own_edges(graph, here, most_cm) + extra_ms
    experience, step = _NEEDED.of(graph, None, dict), limit_step(most_cm)
    usual_ms, share, is_sure = experience.get(step, (int(2_000 * limit_m * mean_pace(graph)), 0.0, False))
    # Without experience, a search up to a quarter of the time shows how much is reached: some sixteen times as much.
    largest_ms = max(own_ms, usual_ms if is_sure else usual_ms // 4)
    while share <= _SWEPT_FROM and largest_ms < 1000 * FOREVER_S:
        largest = np.int64(((int(largest_ms) + 1) << TIME_SHIFT) - 1)
        with search_space(graph, core) as space:
            space.queue, rows.edges, needed_ms, is_much = reading.reached_lengths(
                core.arcs, core.seeds(*seeds), largest, most_cm, extra_ms, space.label, space.queue,
                *_what_follows(graph, is_backward=is_backward), *reading_of,
            )  # fmt: skip
        share = 1.0 if is_much else rows.edges.size / max(1, n_edges)
        if needed_ms <= largest_ms and not is_much:
            # A little more, because other places need other times.
            experience[step] = max(9 * needed_ms // 8, own_ms), share, True
            return RowField(graph, is_backward, here, int(largest), rows)
        rows.clear(rows.edges)
        next_ms = max(9 * needed_ms // 8, usual_ms, largest_ms + 1)
        share, largest_ms = share * (next_ms / largest_ms) ** 2, next_ms
    label = _all_labels(graph, seeds, forever, is_backward=is_backward)
    rows.edges = _of_all_edges(functools.partial(reading.all_lengths, label), n_edges, reading_of)
    # After some times a search is tried again.
    experience[step] = usual_ms, 0.7 * min(share, 1.0), False
    return RowField(graph, is_backward, here, int(forever), rows)


def _time_of_own_edges(graph: RoadGraph, here: Positions, most_cm: np.int64) -> int:
    """Return the longest time from a point to the ends of its edges in ms, of those it reaches within a length."""
    own = 2 * here.edge[:, None].astype(np.int64) + np.arange(2)
    along = np.where(graph.topology.is_open[own], label_parts.ms(graph.traversal[own]), 0).max(axis=1, initial=0)
    near = label_parts.cm(here.connector) <= most_cm
    return int((label_parts.ms(here.connector) + along)[near].max(initial=0))


def _extra_ms(graph: RoadGraph) -> int:
    """Return the longest time of a turn and of boarding."""
    longest = 0
    for first in range(0, graph.weights.size, _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        along = label_parts.ms(graph.traversal[graph.topology.arc_edge[part]])
        longest = max(longest, int((label_parts.ms(graph.weights[part]) - along).max(initial=0)))
    return longest


def _what_follows(graph: RoadGraph, *, is_backward: bool) -> tuple[reading.Removed, reading.PortsOfStates]:
    """Return the removed states below each state, and the directed edges that have a port at each; they are kept."""
    core = graph.core(is_backward=is_backward)
    removed = _REMOVED.of(graph.topology, is_backward, lambda: _removed(core))
    return reading.Removed(*removed, core.above, core.above_key), ports_of_states(graph, is_backward=is_backward)


def ports_of_states(graph: RoadGraph, *, is_backward: bool) -> reading.PortsOfStates:
    """Return the directed edges that have an entry port, or an exit port backwards, at each state; they are kept."""
    ends = graph.exit_ports() if is_backward else graph.entry_ports()
    return _PORTS_OF_STATES.of(
        graph.topology, is_backward, lambda: reading.ports_of_states(ends.indptr, ends.states, graph.topology.n_states)
    )


def _of_all_edges(read: Callable[..., Int32Array], n_edges: int, reading_of: tuple[Any, ...]) -> Int32Array:
    """Read parts of all edges in threads, and return those that are reached."""
    parts = [functools.partial(read, part.start, part.stop, *reading_of) for part in even_slices(n_edges)]
    return np.concatenate(side_by_side(parts))


def _expected_share(experience: dict[int, float], largest: np.int64) -> float:
    """Return the share of the edges that the last search with such a limit, or the next smaller one, has reached."""
    # A copy, because other threads add to it.
    smaller = [step for step in tuple(experience) if step <= limit_step(largest)]
    return experience[max(smaller)] if smaller else 0.0


def label_field(graph: RoadGraph, snaps: Snaps, snapping: Snapping, *, limit: float, is_backward: bool) -> LabelField:
    """Search from one position and return the labels of the whole network; see `row_field` for the parameters."""
    here, seeds, largest = _beginning(graph, snaps, snapping, limit, is_backward=is_backward)
    label = _all_labels(graph, seeds, largest, is_backward=is_backward)
    ends = graph.exit_ports() if is_backward else graph.entry_ports()

    def read(edges: slice) -> Int64Array:
        both = slice(2 * edges.start, 2 * edges.stop)
        labels: Int64Array = reading.field_of_edges(label, rows_of(ends, both.start, both.stop))
        return labels

    parts = side_by_side([functools.partial(read, part) for part in even_slices(graph.topology.n_edges)])
    return LabelField(graph, is_backward, here, int(largest), np.concatenate(parts))


def _all_labels(
    graph: RoadGraph, seeds: tuple[Int32Array, Int64Array], largest: np.int64, *, is_backward: bool
) -> Int64Array:
    """Return the labels of all states, by a sweep of the hierarchy if there is one."""
    made = contraction.HIERARCHY.get(graph, None)
    if made is not None:
        label = np.empty(graph.topology.n_states, np.int64)
        contraction.label_all(graph, made, *seeds, largest, label, is_backward=is_backward)
        return label
    core = graph.core(is_backward=is_backward)
    found: Int64Array = road.one_to_all(core.arcs, *core.seeds(*seeds), largest, graph.shift, core.n_buckets)
    core.fill(found, largest)
    return found


def _beginning(
    graph: RoadGraph, snaps: Snaps, snapping: Snapping, limit: float, *, is_backward: bool
) -> tuple[Positions, tuple[Int32Array, Int64Array], np.int64]:
    """Return the positions of a point, the seeds there, and the largest label."""
    here = positions(graph, snaps, snapping)
    _, states, keys = ports(graph, here, is_entry=is_backward)
    return here, (states, keys), limit_label(limit, graph.metric)


#: Share of the edges from which on a sweep takes less processor time than a search (measured in New York and Milan).
_SWEPT_FROM = 0.2
#: Arcs that are looked at at the same time, because temporary arrays take several times the memory.
_AT_ONCE = 1 << 20
_SHARES = Derived[None, dict[int, float]]("shares of the edges that searches reached")
_NEEDED = Derived[None, dict[int, tuple[int, float, bool]]]("times that searches up to a length needed")
_LONGEST_EXTRA = Derived[None, int]("longest time of a turn")
_REMOVED = Derived[bool, tuple[AnyArray, AnyArray]]("removed states below each state", kept=2)
_PORTS_OF_STATES = Derived[bool, reading.PortsOfStates]("ports of each state", kept=2)


def _removed(core: Core) -> tuple[AnyArray, AnyArray]:
    """Return the CSR of the states that were removed, by the state that leads to them."""
    removed = np.flatnonzero(core.above >= 0).astype(np.int32)
    indptr, order = order_by_row(core.above[removed], core.above.size)
    return indptr, removed[order]
