"""
Compute travel times along all streets with one search from one position.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from traveltime_lab._arrays import FloatArray, Int64Array
from traveltime_lab.kernels.records import Positions
from traveltime_lab.kernels.street import reading, road
from traveltime_lab.modes import Snapping
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.labels import limit_label
from traveltime_lab.streets.links import ports, positions
from traveltime_lab.streets.snapping import Snaps


@dataclass(frozen=True)
class EdgeField:
    """
    Labels of all directed edges from one position.

    Attributes
    ----------
    graph : RoadGraph
    label : int64 array of shape (n_directed,)
        Forwards the label at the start of each directed edge, backwards the label from its end. `UNREACHED` beyond the
        limit.
    is_backward : bool
        Whether routes end at the position instead of beginning there.
    positions : Positions
        The positions of the point, at least one.
    limit : int
        Largest label that was settled.
    """

    graph: RoadGraph
    label: Int64Array
    is_backward: bool
    positions: Positions
    limit: int

    @property
    def unit(self) -> float:
        """Units of the upper part of a label per second, or per metre in a graph of distances."""
        return 100.0 if self.graph.metric == "distance" else 1000.0

    def start(self) -> float:
        """Return the value at the nearest position: that of the connector between the point and its street."""
        return float(self.starts().min())

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


def edge_field(graph: RoadGraph, snaps: Snaps, snapping: Snapping, *, limit: float, is_backward: bool) -> EdgeField:
    """
    Search from one position.

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

    Returns
    -------
    EdgeField
    """
    here = positions(graph, snaps, snapping)
    _, states, keys = ports(graph, here, is_entry=is_backward)
    largest = limit_label(limit, graph.metric)
    core = graph.core(is_backward=is_backward)
    label, _ = road.one_to_all(core.arcs, *core.seeds(states, keys), largest, graph.shift, core.n_buckets, False)
    core.fill(label, largest)
    ends = graph.exit_ports() if is_backward else graph.entry_ports()
    return EdgeField(
        graph=graph,
        label=reading.field_of_edges(label, ends),
        is_backward=is_backward,
        positions=here,
        limit=int(largest),
    )
