"""
Searches from rows of points to columns of points, one bounded Dijkstra search for each row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from traveltime_lab._arrays import Int64Array, rows_of, take_rows
from traveltime_lab.kernels.records import Ports
from traveltime_lab.kernels.street import road, turns
from traveltime_lab.streets.graph import Core, RoadGraph
from traveltime_lab.streets.links import LinkedPoints, by_edge
from traveltime_lab.streets.workspaces import search_space

#: With at most this number of rows and at least this number of columns, labels are read from the positions of the
#: columns without computing their ports, which takes about as long as the reading.
FEW_ROWS, MANY_COLUMNS = 2, 5_000


@dataclass(frozen=True)
class RowSearch:
    """
    Prepared searches from rows of points to columns of points.

    Attributes
    ----------
    graph : RoadGraph
    rows, columns : LinkedPoints
    is_backward : bool
        Whether routes end at the rows.
    """

    graph: RoadGraph
    rows: LinkedPoints
    columns: LinkedPoints
    is_backward: bool
    core: Core
    seeds: Ports
    reads: Ports | None
    by_edge: turns.ByEdge

    @classmethod
    def of(
        cls, graph: RoadGraph, rows: LinkedPoints, columns: LinkedPoints, *, is_backward: bool, is_once: bool = False
    ) -> RowSearch:
        """
        Prepare the seeds and readings of the points.

        Parameters
        ----------
        graph : RoadGraph
        rows, columns : LinkedPoints
        is_backward : bool
            Whether routes end at the rows.
        is_once : bool, default False
            Whether there will be no searches from other rows. With few of them, what only pays off for many is left
            out.
        """
        core = graph.core(is_backward=is_backward)
        is_few = is_once and len(rows.snaps) <= FEW_ROWS and len(columns.snaps) >= MANY_COLUMNS
        reads = None if is_few else core.read_rows(columns.ports)
        sorted_columns = by_edge(columns.positions, rows.positions if is_once else None)
        return cls(graph, rows, columns, is_backward, core, core.seed_rows(rows.ports), reads, sorted_columns)

    def starting_from(self, rows: LinkedPoints) -> RowSearch:
        """Return a search from other rows to the same columns, without preparing the columns again."""
        assert self.reads is not None
        return replace(self, rows=rows, seeds=self.core.seed_rows(rows.ports))

    def labels(self, part: slice, limits: Int64Array) -> Int64Array:
        """
        Return the labels of some rows.

        Parameters
        ----------
        part : slice
        limits : int64 array of shape (n_part,)
            Largest label of each row.

        Returns
        -------
        int64 array of shape (n_part, n_columns)
            `UNREACHED` beyond the limit.
        """
        graph, rows, columns = self.graph, self.rows, self.columns
        labels = np.empty((limits.size, len(columns.snaps)), np.int64)
        seeds = take_rows(self.seeds, part.start, part.stop)
        with search_space(graph, self.core) as space:
            if self.reads is None:
                for row, limit in enumerate(limits):
                    space.queue, touched = road.from_one(
                        self.core.arcs, take_rows(seeds, row, row + 1), limit, space.label, space.queue
                    )
                    columns.read(space.label, self.core, limit, labels[row])
                    road.clear(space.label, touched)
            else:
                n_reached = np.empty(limits.size, np.int64)
                space.queue = road.many_to_many(
                    self.core.arcs, seeds, self.reads, limits, space.label, space.queue, labels, n_reached
                )
        is_forward, here = not self.is_backward, rows_of(rows.positions, part.start, part.stop)
        turns.improve_along_edges(here, columns.positions, is_forward, graph.directed, self.by_edge, limits, labels)
        return labels
