"""
Fields: travel times, or distances, from one point along all streets, which are read at cells and along roads.

`Field` is the interface. `StreetField` and `DistanceField` are the fields of street searches;
`traveltime_lab.transit.field.TransitField` is that of transit searches. To add a new kind of field, implement `Field`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from traveltime_lab._arrays import AnyArray, Float32Array, FloatArray, Int64Array
from traveltime_lab._memo import Derived
from traveltime_lab.kernels.raster.surface import EdgeBoxes, Origin, edge_rows, gather, gather_lengths, length_rows
from traveltime_lab.modes import Transportation
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.field import EdgeField
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.snapping import CAN_ARRIVE, CAN_LEAVE
from traveltime_lab.surfaces.tiles import Tile

_EDGE_BOXES = Derived[None, EdgeBoxes]("boxes of edges")


class CellReader(NamedTuple):
    """
    A function that sets, or lowers, the values of cells.

    Attributes
    ----------
    transportation : Transportation
        Transportation to whose streets the cells are snapped.
    needed : {CAN_LEAVE, CAN_ARRIVE}
        What is needed of those streets, see `traveltime_lab.streets.snapping.snap_points`.
    read : callable
        Called with a tile and the values of its cells, which it changes in place.
    """

    transportation: Transportation
    needed: np.uint8
    read: Callable[[Tile, Any], None]


def needed_of_cells(*, is_backward: bool) -> np.uint8:
    """Return what cells need of streets: cells of a backward search are origins."""
    return CAN_LEAVE if is_backward else CAN_ARRIVE


class OwnEdge(NamedTuple):
    """
    The edge of the origin of a field, parts of which are reached along the edge itself.

    Attributes
    ----------
    edge : int
    fraction : float
        Position of the origin on the edge.
    value : float
        Value at that position.
    ahead : float64 array of shape (2,)
        Values of the whole edge towards higher and towards lower fractions; inf where closed.
    low, high : float
        Fractions between which the fastest route follows the edge itself.
    """

    edge: int
    fraction: float
    value: float
    ahead: FloatArray
    low: float = 0.0
    high: float = 1.0


class RoadValues(NamedTuple):
    """
    Values along all edges.

    Attributes
    ----------
    rows : float array of shape (n_edges, 4)
        See `traveltime_lab.kernels.raster.surface.edge_rows`.
    own : OwnEdge, optional
        The edge of the origin.
    meeting : float64 array of shape (n_edges,), optional
        Fraction of each edge up to which the first two numbers of its row apply; after it the other two apply. Default:
        the smaller value applies everywhere.
    """

    rows: AnyArray
    own: OwnEdge | None = None
    meeting: FloatArray | None = None


class Field(Protocol):
    """Interface of the values of one search."""

    @property
    def is_length(self) -> bool:
        """Whether values are metres; otherwise they are seconds."""

    def start(self) -> float:
        """Return the value at the position of the origin: that of the connector between the point and its street."""

    def cell_readers(
        self, streets: StreetLayer, transportation: Transportation, *, limit: float, per_metre: float, buffer_m: float
    ) -> tuple[list[CellReader], FloatArray]:
        """
        Return the functions that fill the values of cells, and the bounding box of the reached edges.

        Parameters
        ----------
        streets : StreetLayer
        transportation : Transportation
            Transportation at the origin of the field.
        limit : float
            Limit in seconds, or in metres.
        per_metre : float
            Value of one metre between a cell and its street.
        buffer_m : float
            Largest distance of a cell from its street, m.

        Returns
        -------
        readers : list of CellReader
            The first sets the values of all cells, the others lower them.
        box : float64 array of shape (4,), m
            West, south, east, north in local metres.
        """

    def road_values(self, streets: StreetLayer, limit: float) -> list[RoadValues]:
        """Return values along roads; a position is reached if one of its values is within the limit."""


@dataclass(frozen=True)
class StreetField:
    """
    Travel times, or lengths of shortest routes, of a street search.

    Attributes
    ----------
    edges : EdgeField
    """

    edges: EdgeField

    @property
    def is_length(self) -> bool:
        """Whether values are metres."""
        return self.edges.graph.metric == "distance"

    def start(self) -> float:
        """Return the value at the position of the origin."""
        return self.edges.start()

    def cell_readers(
        self, streets: StreetLayer, transportation: Transportation, *, limit: float, per_metre: float, buffer_m: float
    ) -> tuple[list[CellReader], FloatArray]:
        """Return the functions that fill the values of cells, and a bounding box; see `Field`."""
        edges = self.edges
        rows, box = reached_rows(streets, edges, limit)
        origin = Origin(edges.edge, edges.fraction, edges.ahead(), edges.start())

        def read(tile: Tile, values: Any) -> None:
            gather(tile.cells(per_metre, buffer_m), rows, origin, values)

        return [CellReader(transportation, needed_of_cells(is_backward=edges.is_backward), read)], box

    def road_values(self, streets: StreetLayer, limit: float) -> list[RoadValues]:
        """Return values along roads; see `Field`."""
        edges = self.edges
        own = OwnEdge(edges.edge, edges.fraction, edges.start(), edges.ahead())
        return [RoadValues(reached_rows(streets, edges, limit)[0], own)]


@dataclass(frozen=True)
class DistanceField:
    """
    Lengths of the fastest routes from one position, along the whole network.

    Attributes
    ----------
    times : EdgeField
        Field of a search without a limit on time. A place within the limit on length may lie at the end of a slow
        route.
    """

    times: EdgeField

    @property
    def is_length(self) -> bool:
        """Whether values are metres; always True."""
        return True

    def start(self) -> float:
        """Return the length of the connector in metres, or 0 if connectors are not counted."""
        return label_parts.cm(self.times.connector) / 100.0

    def _own_m(self) -> float:
        """Return the length of the edge of the origin."""
        return int(label_parts.cm(self.times.graph.traversal[2 * self.times.edge])) / 100.0

    def _rows(self, streets: StreetLayer, limit: float) -> tuple[Float32Array, FloatArray]:
        """Return times and lengths along all edges and the bounding box within a limit; see `reached_rows`."""
        rows, times = np.empty((streets.n_edges, 8), np.float32), self.times
        boxes, traversal = edge_boxes(streets), times.graph.traversal
        return rows, length_rows(times.label, traversal, times.is_backward, boxes, limit, times.edge, rows)

    def cell_readers(
        self, streets: StreetLayer, transportation: Transportation, *, limit: float, per_metre: float, buffer_m: float
    ) -> tuple[list[CellReader], FloatArray]:
        """Return the functions that fill the values of cells, and a bounding box; see `Field`."""
        rows, box = self._rows(streets, limit)
        times = self.times
        origin = Origin(times.edge, times.fraction, times.ahead(), times.start())
        ahead_m, start_m = self._own_m(), self.start()

        def read(tile: Tile, values: Any) -> None:
            gather_lengths(tile.cells(per_metre, buffer_m), rows, origin, ahead_m, start_m, values)

        return [CellReader(transportation, needed_of_cells(is_backward=times.is_backward), read)], box

    def road_values(self, streets: StreetLayer, limit: float) -> list[RoadValues]:
        """Return values along roads; see `Field`."""
        rows, times = self._rows(streets, limit)[0].astype(np.float64), self.times
        # If an edge is reached from both ends, the two fastest routes have equal times at one position.
        with np.errstate(invalid="ignore", divide="ignore"):
            meeting = (rows[:, 2] + rows[:, 3] - rows[:, 0]) / (rows[:, 1] + rows[:, 3])
        meeting = np.where(np.isfinite(rows[:, 2]), np.clip(np.nan_to_num(meeting, nan=0.5), 0.0, 1.0), 1.0)
        meeting[~np.isfinite(rows[:, 0])] = 0.0
        ahead = np.where(np.isfinite(times.ahead()), self._own_m(), np.inf)
        # Follow the edge of the origin itself only as far as no route through its ends is faster.
        up, down = times.ahead()
        t0, dt0, t1, dt1 = rows[times.edge, :4]
        start, place = times.start(), times.fraction
        low, high = 0.0, 1.0
        if np.isfinite(t1) and np.isfinite(up):
            high = float(np.clip((t1 + dt1 - start + place * up) / (up + dt1), place, 1.0))
        if np.isfinite(t0) and np.isfinite(down):
            low = float(np.clip((start + place * down - t0) / (dt0 + down), 0.0, place))
        return [RoadValues(rows[:, 4:], OwnEdge(times.edge, place, self.start(), ahead, low, high), meeting)]


def reached_rows(streets: StreetLayer, edges: EdgeField, limit: float) -> tuple[Float32Array, FloatArray]:
    """
    Return the values of a search along all edges and the bounding box of the reached edges.

    Returns
    -------
    rows : float32 array of shape (n_edges, 4)
        See `traveltime_lab.kernels.raster.surface.edge_rows`.
    box : float64 array of shape (4,), m
        West, south, east, north in local metres of the edges that are entered within the limit, without ferries and
        always with the edge of the origin.
    """
    return label_rows(streets, edges.graph, edges.label, limit, edges.edge, is_backward=edges.is_backward)


def label_rows(
    streets: StreetLayer,
    graph: RoadGraph,
    label: Int64Array,
    limit: float,
    edge: int,
    *,
    is_backward: bool,
) -> tuple[Float32Array, FloatArray]:
    """Return values and bounding box for labels of directed edges; see `reached_rows`."""
    rows = np.empty((streets.n_edges, 4), np.float32)
    unit = 100.0 if graph.metric == "distance" else 1000.0
    return rows, edge_rows(label, graph.traversal, unit, is_backward, edge_boxes(streets), float(limit), edge, rows)


def edge_boxes(streets: StreetLayer) -> EdgeBoxes:
    """Return the bounding boxes of all edges, and which edges are on land; they are kept."""
    return _EDGE_BOXES.of(streets, None, lambda: _edge_boxes(streets))


def _edge_boxes(streets: StreetLayer) -> EdgeBoxes:
    """Return the bounding boxes of all edges, and which edges are on land."""
    t = streets.tables
    x, y = streets.frame.to_xy(t.coord_lng, t.coord_lat)
    begin = t.coord_indptr[:-1]
    boxes = np.column_stack(
        [
            np.minimum.reduceat(x, begin),
            np.minimum.reduceat(y, begin),
            np.maximum.reduceat(x, begin),
            np.maximum.reduceat(y, begin),
        ]
    )
    return EdgeBoxes(boxes, ~t.uses["is_ferry"].to_numpy()[t.edge_use])
