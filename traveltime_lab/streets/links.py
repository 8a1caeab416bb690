"""
Link snapped points to the states of a search graph, as origins or as destinations.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from traveltime_lab._arrays import Int64Array, joined_rows, rows_of, unique_values
from traveltime_lab.kernels.records import Ports, Positions
from traveltime_lab.kernels.street import turns
from traveltime_lab.kernels.street.turns import ByEdge
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.runtime.threads import even_slices, side_by_side
from traveltime_lab.streets.graph import Core, RoadGraph
from traveltime_lab.streets.labels import connector_labels
from traveltime_lab.streets.snapping import Snaps


def positions(graph: RoadGraph, snaps: Snaps, snapping: Snapping) -> Positions:
    """Return the positions of snapped points, with the labels of the connectors between points and positions."""
    assert snaps.places is not None
    indptr, edge, fraction, distance = snaps.places
    connector = connector_labels(
        distance, graph.metric, is_counted=snapping.penalty == "enabled", kph=graph.connector_kph
    )
    if snaps.indoors is not None:
        connector = connector + snaps.indoors.labels
    return Positions(indptr, edge, fraction, connector)


#: If the other points have at most the first number of positions, and these at least the second, only those on the same
#: edges are sorted: that takes a tenth of the time.
_FEW, _MANY = 64, 5_000


def by_edge(here: Positions, others: Positions | None = None) -> ByEdge:
    """
    Return positions sorted by edge, with the points that they belong to.

    Parameters
    ----------
    here : Positions
    others : Positions, optional
        The points that they are compared with: if these are few, positions on other edges are left out.
    """
    first, last = here.indptr[0], here.indptr[-1]
    if others is not None and last - first >= _MANY and others.indptr[-1] - others.indptr[0] <= _FEW:
        requested = unique_values(others.edge[others.indptr[0] : others.indptr[-1]])
        found = first + np.flatnonzero(np.isin(here.edge[first:last], requested))
        owner = np.zeros(here.edge.size, np.int64)
        owner[found] = np.searchsorted(here.indptr, found, side="right") - 1
        return ByEdge(found[np.argsort(here.edge[found], kind="stable")].astype(np.int64), owner)
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
    graph : RoadGraph
    snaps : Snaps
    positions : Positions
        Positions of the points on edges.
    is_entry : bool
        Whether the points are destinations.
    """

    graph: RoadGraph
    snaps: Snaps
    positions: Positions
    is_entry: bool

    @classmethod
    def of(cls, graph: RoadGraph, snaps: Snaps, snapping: Snapping, *, is_entry: bool) -> LinkedPoints:
        """Link snapped points to a graph, as destinations (`is_entry`) or as origins."""
        return cls(graph, snaps, positions(graph, snaps, snapping), is_entry)

    @functools.cached_property
    def ports(self) -> Ports:
        """Ports by which the points are left or reached, see `ports`; computed when they are first needed."""
        parts = even_slices(len(self.snaps))
        if len(parts) == 1:
            return ports(self.graph, self.positions, is_entry=self.is_entry)
        jobs = [
            functools.partial(ports, self.graph, rows_of(self.positions, part.start, part.stop), is_entry=self.is_entry)
            for part in parts
        ]
        return joined_rows(side_by_side(jobs))

    @property
    def edge_ports(self) -> Ports:
        """Ports of the directed edges that the points are on."""
        return self.graph.entry_ports() if self.is_entry else self.graph.exit_ports()

    def read(self, label: Int64Array, core: Core, limit: np.int64, result: Int64Array) -> None:
        """
        Write the labels of all points after one search, on all threads, without making their ports.

        Parameters
        ----------
        label : int64 array of shape (n_states,)
        core : Core
            The arcs of the search; `label` may lack the states that were removed.
        limit : int64
            Larger labels become `UNREACHED`.
        result : int64 array of shape (n_points,)
            Overwritten.
        """
        how = self.positions, self.edge_ports, self.graph.traversal, self.is_entry, core.above, core.above_key, limit

        def read(part: slice) -> None:
            turns.read_positions(label, *how, part.start, part.stop, result)

        side_by_side([functools.partial(read, part) for part in even_slices(result.size)])

    def part(self, rows: slice) -> LinkedPoints:
        """Return some consecutive points."""
        snaps = self.snaps.take(np.arange(rows.start, rows.stop))
        return LinkedPoints(self.graph, snaps, rows_of(self.positions, rows.start, rows.stop), self.is_entry)
