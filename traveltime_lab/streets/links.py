"""
Link snapped points to the states of a search graph, as origins or as destinations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from traveltime_lab.kernels.records import Ports, Positions
from traveltime_lab.kernels.street import turns
from traveltime_lab.kernels.street.turns import ByEdge
from traveltime_lab.modes import Snapping
from traveltime_lab.streets.graph import RoadGraph, take_rows
from traveltime_lab.streets.labels import connector_labels
from traveltime_lab.streets.snapping import Snaps


def positions(graph: RoadGraph, snaps: Snaps, snapping: Snapping) -> Positions:
    """Return the positions of snapped points, with the labels of the connectors between points and positions."""
    assert snaps.places is not None
    indptr, edge, fraction, distance = snaps.places
    connector = connector_labels(
        distance, graph.metric, is_counted=snapping.penalty == "enabled", kph=graph.connector_kph
    )
    return Positions(indptr, edge, fraction, connector)


def rows_of(here: Positions, first: int, last: int) -> Positions:
    """Return the positions of consecutive points."""
    return Positions(here.indptr[first : last + 1], here.edge, here.fraction, here.connector)


def by_edge(here: Positions) -> ByEdge:
    """Return the positions sorted by edge, with the points that they belong to."""
    first, last = here.indptr[0], here.indptr[-1]
    owner = np.zeros(here.edge.size, np.int64)
    owner[first:last] = np.repeat(np.arange(here.indptr.size - 1), np.diff(here.indptr))
    order = first + np.argsort(here.edge[first:last], kind="stable")
    return ByEdge(order.astype(np.int64), owner)


def ports(graph: RoadGraph, here: Positions, *, is_entry: bool) -> Ports:
    """
    Return the ports of points in a search graph.

    Parameters
    ----------
    graph : RoadGraph
    here : Positions
        From `positions`.
    is_entry : bool
        True for destinations, False for origins.

    Returns
    -------
    Ports
        For each point the states to read or to seed, and the labels between them and the point.
    """
    edge_ports = graph.entry_ports() if is_entry else graph.exit_ports()
    found: Ports = turns.position_ports(here, edge_ports, graph.traversal, is_entry)
    return found


@dataclass(frozen=True)
class LinkedPoints:
    """
    Snapped points with their ports in a search graph.

    Attributes
    ----------
    snaps : Snaps
    positions : Positions
        Positions of the points on edges.
    ports : Ports
        Ports by which the points are left or reached, see `ports`.
    """

    snaps: Snaps
    positions: Positions
    ports: Ports

    @classmethod
    def of(cls, graph: RoadGraph, snaps: Snaps, snapping: Snapping, *, is_entry: bool) -> LinkedPoints:
        """Link snapped points to a graph, as destinations (`is_entry`) or as origins."""
        here = positions(graph, snaps, snapping)
        return cls(snaps, here, ports(graph, here, is_entry=is_entry))

    def part(self, rows: slice) -> LinkedPoints:
        """Return some consecutive points."""
        return LinkedPoints(
            self.snaps.take(np.arange(rows.start, rows.stop)),
            rows_of(self.positions, rows.start, rows.stop),
            take_rows(self.ports, rows.start, rows.stop),
        )
