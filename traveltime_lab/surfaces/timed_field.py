"""
Fields of searches at speeds that change on the way.

Along an edge, the travel time is a linear function of the position as long as the speed does not change. Where an hour
ends while an edge is driven, the function has a *bend*, and is computed for each position.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from traveltime_lab._arrays import AnyArray, BoolArray, Float32Array, FloatArray, Int32Array
from traveltime_lab.kernels.raster.bends import lower_on_bends
from traveltime_lab.kernels.raster.surface import Origin, Window, gather
from traveltime_lab.kernels.records import Positions
from traveltime_lab.kernels.street import by_hour, time_dependent
from traveltime_lab.kernels.street.by_hour import Bends
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.labels import limit_label
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.links import positions
from traveltime_lab.streets.snapping import Snaps
from traveltime_lab.streets.timed import TimedGraph
from traveltime_lab.streets.workspaces import timed_space
from traveltime_lab.surfaces.field import (
    CellReader,
    CellReading,
    OwnEdge,
    RoadValues,
    edge_boxes,
    joined_box,
    needed_of_cells,
)
from traveltime_lab.surfaces.tiles import Tile


@dataclass(frozen=True)
class TimedField:
    """
    Travel times of a search at speeds that change on the way; a `traveltime_lab.surfaces.field.Field`.

    Attributes
    ----------
    graph : TimedGraph
    streets : traveltime_lab.kernels.street.by_hour.Streets
    positions : Positions
        Those of the origin, at least one.
    rows : float32 array of shape (n_edges, 4)
        Values along edges without a bend, see `traveltime_lab.kernels.raster.surface.edge_rows`.
    origin : Origin
        The positions of the origin, without the directions in which there is a bend.
    edges : int32 array of shape (n_reached,)
        Edges that are entered within the limit.
    least : float64 array of shape (n_reached,)
        Least value on each of them.
    bends : Bends
        In the order of edges.
    is_own : bool array of shape (n_bends,)
        Whether each bend is on the way between the origin and its edge's end.
    is_bent : bool array of shape (n_edges,)
        Edges with a bend.
    """

    graph: TimedGraph
    streets: by_hour.Streets
    positions: Positions
    rows: Float32Array
    origin: Origin
    edges: Int32Array
    least: FloatArray
    bends: Bends
    is_own: BoolArray
    is_bent: BoolArray

    @classmethod
    def of(cls, graph: TimedGraph, snaps: Snaps, snapping: Snapping, *, limit: float) -> TimedField:
        """Search from a snapped point, or to it in an arrival search, within a limit in seconds."""
        here, largest = positions(graph, snaps, snapping), limit_label(limit, graph.metric)
        streets = graph.searched(largest)
        rows = np.zeros((graph.streets.n_edges, 4), np.float32)
        rows[:, ::2] = np.inf
        with timed_space(graph.topology) as space:
            space.arrays, edges, entered = time_dependent.field_of_edges(
                streets, here, *graph.sides(), largest, space.arrays, rows
            )
        least = rows[edges][:, ::2].min(axis=1).astype(np.float64)
        rows[entered.directed >> 1, _column(entered.directed, is_arrival=graph.is_arrival)] = np.inf
        origin, own = _own(graph, streets, here)
        both = Bends(*(np.concatenate(each) for each in zip(entered, own, strict=True)))
        order = np.argsort(both.directed >> 1, kind="stable")
        is_bent = np.zeros(len(rows), np.bool_)
        is_bent[both.directed >> 1] = True
        bends = Bends(*(values[order] for values in both))
        return cls(graph, streets, here, rows, origin, edges, least, bends, order >= entered.ms.size, is_bent)

    @property
    def is_length(self) -> bool:
        """Whether values are metres; always False."""
        return False

    @property
    def connector_kph(self) -> float:
        """Walking speed between points and streets, km/h."""
        return self.graph.connector_kph

    def start(self) -> float:
        """Return the value at the nearest position of the origin."""
        return float(self.origin.start.min(initial=np.inf))

    def cell_readers(
        self, streets: StreetLayer, transportation: Transportation, *, limit: float, per_metre: float, buffer_m: float
    ) -> CellReading:
        """Return the functions that fill the values of cells, and where the reached edges are; see `Field`."""
        boxes = edge_boxes(streets)
        near = self.edges[(self.least <= limit) & boxes.is_land[self.edges]]

        def read(tile: Tile, window: Window, values: AnyArray) -> None:
            cells = tile.cells(per_metre, buffer_m)
            gather(cells, window, self.rows, self.origin, values)
            if self.bends.ms.size:
                lower_on_bends(cells, window, self.streets, self.bends, self.is_bent, values)

        def reached() -> tuple[Int32Array, FloatArray]:
            edges = np.concatenate([self.edges, self.positions.edge])
            return edges, np.concatenate([self.least, self.origin.start])

        reader = CellReader(transportation, needed_of_cells(is_backward=self.graph.is_arrival), read)
        return CellReading([reader], joined_box([*boxes.boxes[near], *boxes.boxes[self.positions.edge]]), reached)

    def road_values(self, streets: StreetLayer, limit: float) -> list[RoadValues]:
        """Return values along roads, with which the limit is reached where it is; see `Field`."""
        rows, ahead, bends = self.rows.astype(np.float64), self.origin.ahead.copy(), self.bends
        shares = by_hour.reaches(self.streets, bends, np.int64(limit * 1000.0))
        values = bends.ms / 1000.0
        for i in np.flatnonzero((values < limit) & (shares > 0.0)).tolist():
            directed, slope = int(bends.directed[i]), (limit - values[i]) / shares[i]
            if self.is_own[i]:
                at = (self.positions.edge == directed >> 1) & (self.origin.start == values[i])
                ahead[at, directed & 1 if not self.graph.is_arrival else 1 - (directed & 1)] = slope
            else:
                column = int(_column(bends.directed[i : i + 1], is_arrival=self.graph.is_arrival)[0])
                rows[directed >> 1, column : column + 2] = values[i], slope
        here = self.positions
        own = zip(here.edge.tolist(), here.fraction.tolist(), self.origin.start.tolist(), ahead, strict=True)
        return [RoadValues(rows, tuple(OwnEdge(*each) for each in own))]


def _column(directed: Int32Array, *, is_arrival: bool) -> AnyArray:
    """Return the column of rows with the value at which directed edges are entered."""
    return 2 * ((directed & 1) ^ int(is_arrival))


def _own(graph: TimedGraph, streets: by_hour.Streets, here: Positions) -> tuple[Origin, Bends]:
    """Return the positions of an origin, and the bends on the way to the ends of their edges."""
    ahead = np.full((here.edge.size, 2), np.inf)
    directed, shares, starts = [], [], []
    for side in range(2):
        # In an arrival search, places at higher shares come the other way.
        d = 2 * here.edge + (1 - side if graph.is_arrival else side)
        share = np.where(d & 1, 1.0 - here.fraction, here.fraction)
        is_bent = by_hour.bends_after(streets, d, share, here.connector)
        at = label_parts.ms(here.connector) * (-1 if graph.is_arrival else 1)
        hour = np.searchsorted(streets.hours.begins, at, side="right") - 1
        is_open = streets.is_open[d]
        whole_ms = streets.hours.ms[streets.hours.row[hour], d]
        ahead[:, side] = np.where(is_open & ~is_bent, whole_ms / 1000.0, np.inf)
        bent = is_open & is_bent
        directed.append(d[bent])
        shares.append(share[bent])
        starts.append(label_parts.ms(here.connector[bent]))
    origin = Origin(here.edge, here.fraction, ahead, label_parts.ms(here.connector) / 1000.0)
    own = Bends(np.concatenate(directed), np.concatenate(starts), np.concatenate(shares))
    return origin, own
