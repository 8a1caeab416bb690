"""
Fields: travel times, or distances, from one point along all streets, ready to be read at cells and along roads.

`Field` says what a field must offer; `StreetField` and `DistanceField` are those of street searches, and
`traveltime_lab.transit.field.TransitField` is that of timetables. A new kind of field needs no change elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from traveltime_lab._arrays import AnyArray, BoolArray, Float32Array, FloatArray, Int64Array
from traveltime_lab._memo import Derived
from traveltime_lab.kernels.raster.surface import edge_rows, gather, gather_lengths, length_rows
from traveltime_lab.modes import Transportation
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.field import EdgeField
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.surfaces.tiles import Tile

_EDGE_BOXES = Derived[None, tuple[FloatArray, BoolArray]]("boxes of edges")


class CellReader(NamedTuple):
    """
    What sets, or lowers, the values of cells.

    Attributes
    ----------
    transportation : Transportation
        Whose streets the cells belong to.
    read : callable
        Takes a tile and the values of its cells, which it changes.
    """

    transportation: Transportation
    read: Callable[[Tile, Any], None]


class OwnEdge(NamedTuple):
    """
    The edge where a field begins: pieces around its place are reached straight.

    Attributes
    ----------
    edge : int
    fraction : float
        Place on the edge.
    value : float
        At that place.
    ahead : float64 array of shape (2,)
        What crossing the edge costs towards higher and towards lower places, inf where closed.
    low, high : float
        Places between which straight along the edge is the fastest way.
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
        Where the field begins.
    meeting : float64 array of shape (n_edges,), optional
        Place up to which the first two numbers of a row hold, and from which the others; both all along by default.
    """

    rows: AnyArray
    own: OwnEdge | None = None
    meeting: FloatArray | None = None


class Field(Protocol):
    """Values of one search, wherever they are read."""

    @property
    def is_length(self) -> bool:
        """Whether values are metres; else they are seconds."""

    def start(self) -> float:
        """Return the value at the place where the field begins: the walk between the point and its street."""

    def cell_readers(
        self, streets: StreetLayer, transportation: Transportation, *, limit: float, per_metre: float, buffer_m: float
    ) -> tuple[list[CellReader], FloatArray]:
        """
        Return what fills the values of cells, and the box of all that is reached.

        Parameters
        ----------
        streets : StreetLayer
        transportation : Transportation
            How one moves where the field begins.
        limit : float
            Seconds, or metres.
        per_metre : float
            What a metre between a cell and its street costs.
        buffer_m : float
            Farthest from a street that a cell may be.

        Returns
        -------
        readers : list of CellReader
            The first one sets the values of all cells, those after it lower them.
        box : float64 array of shape (4,)
            West, south, east, north in local metres.
        """

    def road_values(self, streets: StreetLayer, limit: float) -> list[RoadValues]:
        """Return values along roads; a place is reached if one of them is within the limit there."""


@dataclass(frozen=True)
class StreetField:
    """
    Travel times, or lengths of shortest ways, of a search on streets.

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
        """Return the value at the place where the field begins."""
        return self.edges.start()

    def cell_readers(
        self, streets: StreetLayer, transportation: Transportation, *, limit: float, per_metre: float, buffer_m: float
    ) -> tuple[list[CellReader], FloatArray]:
        """Return what fills the values of cells, and the box of all that is reached; see `Field`."""
        edges = self.edges
        rows, box = reached_rows(streets, edges, limit)
        ahead, start = edges.ahead(), edges.start()

        def read(tile: Tile, values: Any) -> None:
            gather(
                tile.edge, tile.fraction, tile.distance, rows, per_metre, buffer_m, edges.edge, edges.fraction, ahead,
                start, values,
            )  # fmt: skip

        return [CellReader(transportation, read)], box

    def road_values(self, streets: StreetLayer, limit: float) -> list[RoadValues]:
        """Return values along roads; see `Field`."""
        edges = self.edges
        own = OwnEdge(edges.edge, edges.fraction, edges.start(), edges.ahead())
        return [RoadValues(reached_rows(streets, edges, limit)[0], own)]


@dataclass(frozen=True)
class DistanceField:
    """
    Metres of the fastest ways of a whole network from one position.

    Attributes
    ----------
    times : EdgeField
        Of a search without a limit: a fast detour may be long and the way beyond it short.
    """

    times: EdgeField

    @property
    def is_length(self) -> bool:
        """Whether values are metres: they are."""
        return True

    def start(self) -> float:
        """Return the metres between the point and its street, 0 where they do not count."""
        return label_parts.cm(self.times.connector) / 100.0

    def _own_m(self) -> float:
        """Return the length of the edge where the field begins."""
        return int(label_parts.cm(self.times.graph.traversal[2 * self.times.edge])) / 100.0

    def _rows(self, streets: StreetLayer, limit: float) -> tuple[Float32Array, FloatArray]:
        """Return times and lengths along all edges and the box of what lies within a limit; see `reached_rows`."""
        boxes, is_land = edge_boxes(streets)
        rows, box = np.empty((streets.n_edges, 8), np.float32), np.empty(4)
        times = self.times
        length_rows(times.label, times.graph.traversal, times.is_backward, boxes, is_land, limit, times.edge, rows, box)
        return rows, box

    def cell_readers(
        self, streets: StreetLayer, transportation: Transportation, *, limit: float, per_metre: float, buffer_m: float
    ) -> tuple[list[CellReader], FloatArray]:
        """Return what fills the values of cells, and the box of all that is reached; see `Field`."""
        rows, box = self._rows(streets, limit)
        times = self.times
        place = (times.edge, times.fraction, times.ahead(), self._own_m(), times.start(), self.start())

        def read(tile: Tile, values: Any) -> None:
            gather_lengths(tile.edge, tile.fraction, tile.distance, rows, per_metre, buffer_m, *place, values)

        return [CellReader(transportation, read)], box

    def road_values(self, streets: StreetLayer, limit: float) -> list[RoadValues]:
        """Return values along roads; see `Field`."""
        rows, times = self._rows(streets, limit)[0].astype(np.float64), self.times
        # Where both ends lead on, the ways of equal time meet at one place.
        with np.errstate(invalid="ignore", divide="ignore"):
            meeting = (rows[:, 2] + rows[:, 3] - rows[:, 0]) / (rows[:, 1] + rows[:, 3])
        meeting = np.where(np.isfinite(rows[:, 2]), np.clip(np.nan_to_num(meeting, nan=0.5), 0.0, 1.0), 1.0)
        meeting[~np.isfinite(rows[:, 0])] = 0.0
        ahead = np.where(np.isfinite(times.ahead()), self._own_m(), np.inf)
        # Straight along the field's own edge only as far as no way through its ends is quicker.
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
    Return the values of a search along all edges and the box of what it reaches.

    Returns
    -------
    rows : float32 array of shape (n_edges, 4)
        See `traveltime_lab.kernels.raster.surface.edge_rows`.
    box : float64 array of shape (4,)
        West, south, east, north in local metres of the edges entered within the limit, ferries left out and the
        search's own edge included.
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
    """Return values and box of the labels of directed edges; see `reached_rows`."""
    boxes, is_land = edge_boxes(streets)
    rows, box = np.empty((streets.n_edges, 4), np.float32), np.empty(4)
    unit = 100.0 if graph.metric == "distance" else 1000.0
    edge_rows(label, graph.traversal, unit, is_backward, boxes, is_land, float(limit), edge, rows, box)
    return rows, box


def edge_boxes(streets: StreetLayer) -> tuple[FloatArray, BoolArray]:
    """Return the boxes of all edges in local metres, and which edges are on land; made once and kept."""
    return _EDGE_BOXES.of(streets, None, lambda: _edge_boxes(streets))


def _edge_boxes(streets: StreetLayer) -> tuple[FloatArray, BoolArray]:
    """Return the boxes of all edges in local metres, and which edges are on land."""
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
    return boxes, ~t.uses["is_ferry"].to_numpy()[t.edge_use]
