"""
Link snapped points to the states of a search graph, as origins or as destinations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from traveltime_lab._arrays import IndexArray, Int64Array
from traveltime_lab.kernels.records import Ports, Positions
from traveltime_lab.kernels.street import turns
from traveltime_lab.modes import Snapping
from traveltime_lab.streets.graph import RoadGraph, take_rows
from traveltime_lab.streets.labels import connector_labels
from traveltime_lab.streets.snapping import Snaps


def connectors(graph: RoadGraph, snaps: Snaps, snapping: Snapping) -> Int64Array:
    """Return the labels of the connectors between points and their positions on the network."""
    return connector_labels(snaps.distance_m, graph.metric, is_counted=snapping.penalty == "enabled")


def positions(snaps: Snaps, connector: Int64Array, part: slice | IndexArray = slice(None)) -> Positions:
    """Return the positions of snapped points, or of some of them, with the labels of their connectors."""
    return Positions(snaps.edge[part], snaps.fraction[part], connector[part])


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
    Ports
        For each point the states to read or to seed, and the labels between them and the point.
    """
    edge_ports = graph.entry_ports() if is_entry else graph.exit_ports()
    found: Ports = turns.position_ports(positions(snaps, connector), edge_ports, graph.traversal, is_entry)
    return found


@dataclass(frozen=True)
class LinkedPoints:
    """
    Snapped points with their ports in a search graph.

    Attributes
    ----------
    snaps : Snaps
    connector : int64 array of shape (n,)
        Labels of the connectors between points and streets.
    ports : Ports
        Ports by which the points are left or reached, see `ports`.
    """

    snaps: Snaps
    connector: Int64Array
    ports: Ports

    @classmethod
    def of(cls, graph: RoadGraph, snaps: Snaps, snapping: Snapping, *, is_entry: bool) -> LinkedPoints:
        """Link snapped points to a graph, as destinations (`is_entry`) or as origins."""
        connector = connectors(graph, snaps, snapping)
        return cls(snaps, connector, ports(graph, snaps, connector, is_entry=is_entry))

    def positions(self, part: slice | IndexArray = slice(None)) -> Positions:
        """Return the positions of the points, or of some of them."""
        return positions(self.snaps, self.connector, part)

    def part(self, rows: slice) -> LinkedPoints:
        """Return some consecutive points."""
        return LinkedPoints(
            self.snaps.take(np.arange(rows.start, rows.stop)),
            self.connector[rows],
            take_rows(self.ports, rows.start, rows.stop),
        )
