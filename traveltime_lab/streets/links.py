"""
Link snapped points to the states of a search graph, as origins or as destinations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from traveltime_lab._arrays import Int64Array
from traveltime_lab.kernels.street import turns
from traveltime_lab.modes import Snapping
from traveltime_lab.streets.graph import Ports, RoadGraph, take_rows
from traveltime_lab.streets.labels import connector_labels
from traveltime_lab.streets.snapping import Snaps


def connectors(graph: RoadGraph, snaps: Snaps, snapping: Snapping) -> Int64Array:
    """Return the labels of the connectors between points and their positions on the network."""
    return connector_labels(snaps.distance_m, graph.metric, is_counted=snapping.penalty == "enabled")


def ports(graph: RoadGraph, snaps: Snaps, connector: Int64Array, *, is_entry: bool) -> Ports:
    """
    Return the ports of snapped points in a search graph.

    Parameters
    ----------
    graph : RoadGraph
    snaps : Snaps
    connector : int64 array of shape (n,)
        Label to add for each point, see `connectors`.
    is_entry : bool
        True for destinations, False for origins.

    Returns
    -------
    indptr, states, keys : int64, int32, int64 arrays
        CSR by point: the states to read or to seed, and the labels between them and the point.
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
class LinkedPoints:
    """
    Snapped points with their ports in a search graph.

    Attributes
    ----------
    snaps : Snaps
    connector : int64 array of shape (n,)
        Labels of the connectors between points and streets.
    ports : tuple of int64, int32, int64 arrays
        CSR by point, see `ports`.
    """

    snaps: Snaps
    connector: Int64Array
    ports: Ports

    @classmethod
    def of(cls, graph: RoadGraph, snaps: Snaps, snapping: Snapping, *, is_entry: bool) -> LinkedPoints:
        """Link snapped points to a graph, as destinations (`is_entry`) or as origins."""
        connector = connectors(graph, snaps, snapping)
        return cls(snaps, connector, ports(graph, snaps, connector, is_entry=is_entry))

    def part(self, rows: slice) -> LinkedPoints:
        """Return some consecutive points."""
        return LinkedPoints(
            self.snaps.take(np.arange(rows.start, rows.stop)),
            self.connector[rows],
            take_rows(self.ports, rows.start, rows.stop),
        )
