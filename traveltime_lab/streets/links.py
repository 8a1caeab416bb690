"""
Fields of travel time: one search on a street graph, read at any position of the network.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from traveltime_lab._arrays import FloatArray, Int64Array
from traveltime_lab.kernels.street import road, turns
from traveltime_lab.modes import Snapping
from traveltime_lab.streets import graph as road_graph
from traveltime_lab.streets.graph import Ports, RoadGraph
from traveltime_lab.streets.snapping import Snaps


def connectors(graph: RoadGraph, snaps: Snaps, snapping: Snapping) -> Int64Array:
    """Return the labels of the walks between points and their places on the network."""
    return road_graph.connector_labels(snaps.distance_m, graph.metric, is_counted=snapping.penalty == "enabled")


def ports(graph: RoadGraph, snaps: Snaps, connector: Int64Array, *, is_entry: bool) -> Ports:
    """
    Join positions to a search graph.

    Parameters
    ----------
    graph : RoadGraph
    snaps : Snaps
    connector : int64 array of shape (n,)
        Label to add for each point, see `connectors`.
    is_entry : bool
        True for positions to be reached, False for positions to leave from.

    Returns
    -------
    indptr, states, keys : int64, int32, int64 arrays
        CSR by point: the states to read or to seed and the labels between them and the point.
    """
    csr = graph.entry_ports() if is_entry else graph.exit_ports()
    arguments = (snaps.edge, snaps.fraction, connector, *csr, graph.traversal, is_entry)
    indptr = np.zeros(len(snaps) + 1, np.int64)
    n = turns.position_ports(*arguments, indptr, np.empty(0, np.int32), np.empty(0, np.int64))
    states, keys = np.empty(n, np.int32), np.empty(n, np.int64)
    if n:
        turns.position_ports(*arguments, indptr, states, keys)
    return indptr, states, keys


@dataclass(frozen=True)
class EdgeField:
    """
    Labels of a whole network from one position.

    Attributes
    ----------
    graph : RoadGraph
    label : int64 array of shape (n_directed,)
        Forwards, the label at the start of each directed edge; backwards, from its end. `UNREACHED` beyond the
        limit.
    is_backward : bool
        Whether trips end at the origin of the field instead of beginning there.
    edge, fraction : int, float
        Where on the network the field begins.
    connector : int
        Label between the point and that place.
    limit : int
        Largest label that was settled.
    """

    graph: RoadGraph
    label: Int64Array
    is_backward: bool
    edge: int
    fraction: float
    connector: int
    limit: int

    @property
    def unit(self) -> float:
        """Units of a label's upper part in a second, or in a metre where distances are minimised."""
        return 100.0 if self.graph.metric == "distance" else 1000.0

    def start(self) -> float:
        """Return the value at the place where the field begins: the walk between the point and its street."""
        return (self.connector >> road.TIME_SHIFT) / self.unit

    def ahead(self) -> FloatArray:
        """
        Return what crossing the field's own edge costs towards higher and towards lower places, inf where closed.

        Backwards it is the cost of coming from there.
        """
        own = slice(2 * self.edge, 2 * self.edge + 2)
        cost = (self.graph.traversal[own] >> road.TIME_SHIFT) / self.unit
        cost = np.where(self.graph.topology.is_open[own], cost, np.inf)
        return cost[::-1].copy() if self.is_backward else cost


def edge_field(graph: RoadGraph, snaps: Snaps, snapping: Snapping, *, limit: float, is_backward: bool) -> EdgeField:
    """
    Search from one position.

    Parameters
    ----------
    graph : RoadGraph
    snaps : Snaps of length 1
        Where to search from; must be snapped.
    snapping : Snapping
    limit : float
        Seconds, or metres in a graph of distances.
    is_backward : bool
        True for trips that end at the position.

    Returns
    -------
    EdgeField
    """
    connector = connectors(graph, snaps, snapping)
    _, states, keys = ports(graph, snaps, connector, is_entry=is_backward)
    largest = road_graph.limit_label(limit, graph.metric)
    core = graph.core(is_backward=is_backward)
    label, _ = road.one_to_all(*core.arcs(), *core.seeds(states, keys), largest, graph.shift, core.n_buckets, False)
    core.fill(label, largest)
    reading = graph.exit_ports() if is_backward else graph.entry_ports()
    return EdgeField(
        graph=graph,
        label=road.field_of_edges(label, *reading),
        is_backward=is_backward,
        edge=int(snaps.edge[0]),
        fraction=float(snaps.fraction[0]),
        connector=int(connector[0]),
        limit=int(largest),
    )
