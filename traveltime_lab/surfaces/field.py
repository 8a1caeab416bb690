"""
Fields: travel times, or distances, from one point along all streets, which are read at cells and along roads.

`Field` is the interface. `StreetField` and `DistanceField` are the fields of street searches;
`traveltime_lab.transit.field.TransitField` is that of transit searches. To add a new kind of field, implement `Field`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from traveltime_lab._arrays import AnyArray, BoolArray, Float32Array, FloatArray, Int32Array, Int64Array
from traveltime_lab.kernels.raster.blocks import RideBounds
from traveltime_lab.kernels.raster.surface import (
    EdgeBoxes,
    Origin,
    Window,
    box_of_rows,
    edge_rows,
    gather,
    gather_lengths,
)
from traveltime_lab.kernels.raster.transit_surface import Rides
from traveltime_lab.kernels.records import Ports, StopLinks
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.field import EdgeField, RowField
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.snapping import CAN_ARRIVE, CAN_LEAVE
from traveltime_lab.surfaces.tiles import Tile, cells_of_blocks

_NO_NUMBERS, _NO_KEYS = np.empty(0, np.int32), np.empty(0, np.int64)
#: Journeys without any stop, and bounds without any journey.
NO_STOPS = Rides(Ports(_NO_KEYS, _NO_NUMBERS, _NO_KEYS), StopLinks(_NO_KEYS, _NO_NUMBERS, _NO_NUMBERS), _NO_NUMBERS)
NO_RIDES = RideBounds(_NO_NUMBERS, np.empty((0, 8), np.int32), 0.0, 0.0, False, NO_STOPS)
EDGE_BOXES = Derived[None, EdgeBoxes]("boxes of edges")


class CellReader(NamedTuple):
    """
    A function that sets, or lowers, the values of cells.

    Attributes
    ----------
    transportation : Transportation
        Transportation to whose streets the cells are snapped.
    needed : {CAN_LEAVE, CAN_ARRIVE}
        Requirement for those streets, see `traveltime_lab.streets.snapping.snap_points`.
    read : callable
        Called with a tile, a window of its cells and an array of values, of which it changes those in the blocks of the
        window in place.
    """

    transportation: Transportation
    needed: np.uint8
    read: Callable[[Tile, Window, Any], None]


def of_windows(read: Callable[[Tile, Any], None]) -> Callable[[Tile, Window, Any], None]:
    """Return what `CellReader.read` is, given a function of a tile and the values of all its cells."""

    def read_window(tile: Tile, window: Window, values: Any) -> None:
        here, cells, is_read = within(window, values), tile.part(window), read_cells(window)
        if not is_read.all():
            own = here.copy()
            read(cells.only(is_read), own)
            np.copyto(here, own, where=is_read)
            return
        # Kernels are compiled again for each layout of the arrays, so all arrays of cells are contiguous.
        own = np.ascontiguousarray(here)
        read(cells, own)
        if own is not here:
            here[...] = own

    return read_window


def all_cells(tile: Tile) -> Window:
    """Return the window of all cells of a tile or of a part of one, in an array of their shape."""
    n_rows, n_columns = tile.edge.shape
    return Window(0, 0, n_rows, n_columns, 0, 0, np.ones((n_rows, 1), np.bool_))


def read_cells(window: Window) -> BoolArray:
    """Return which cells of a window are in its blocks."""
    if window.blocks.all():
        return np.ones((window.bottom - window.top, window.right - window.left), np.bool_)
    return cells_of_blocks(window.blocks)[window.top : window.bottom, window.left : window.right]


def within(window: Window, values: Any) -> Any:
    """Return the values of the cells of a window, as a view."""
    n_rows, n_columns = window.bottom - window.top, window.right - window.left
    return values[window.row : window.row + n_rows, window.column : window.column + n_columns]


class EdgeBounds(NamedTuple):
    """
    Bounds of the values of cells by their edges; see `traveltime_lab.kernels.raster.blocks.settle_blocks`.

    Attributes
    ----------
    rows : float32 array of shape (n_edges, 4)
        The least value of an edge is that of its first and third number, the greatest one the lesser sum of the first
        two and the last two. To both a cell adds its way to the edge.
    own_edge : int32 array of shape (n,)
        Edges of which these bounds are not true.
    per_metre : float
        Value of one metre between a cell and its edge.
    buffer_m : float
        Cells farther from their edge have no value.
    most : float
        Greater values of `rows` and the way to the edge do not count.
    rides : RideBounds
        Other values, of which the lesser ones count.
    """

    rows: Float32Array
    own_edge: Int32Array
    per_metre: float
    buffer_m: float
    most: float = np.inf
    rides: RideBounds = NO_RIDES


def bounded_rows(least: FloatArray | Float32Array, most: FloatArray | Float32Array) -> Float32Array:
    """Return the rows of `EdgeBounds` for the least and the greatest value of each edge; inf where there is none."""
    rows = np.zeros((least.size, 4), np.float32)
    rows[:, 0], rows[:, 2] = least, np.inf
    np.subtract(most, least, out=rows[:, 1], where=np.isfinite(least))
    return rows


class CellReading(NamedTuple):
    """
    How the values of cells are read, and where they are.

    Attributes
    ----------
    readers : list of CellReader
        The first sets the values of all cells, the others lower them.
    box : float64 array of shape (4,), m
        West, south, east, north in local metres of the reached edges.
    reached : callable
        Called without arguments, returns the edges that are reached within the limit, some of them more than once, and
        the least value on each. Ferries may be among them.
    bounds : callable, optional
        Called without arguments, returns bounds of the values of cells, with which blocks far from all limits need not
        be read. None if there are none.
    """

    readers: list[CellReader]
    box: FloatArray
    reached: Callable[[], tuple[Int32Array, FloatArray]]
    bounds: Callable[[], EdgeBounds] | None = None


def needed_of_cells(*, is_backward: bool) -> np.uint8:
    """Return the requirement of cells for streets: cells of a backward search are origins."""
    return CAN_LEAVE if is_backward else CAN_ARRIVE


class OwnEdge(NamedTuple):
    """
    An edge on which the origin of a field is, parts of which are reached along the edge itself.

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
    Values along edges.

    Attributes
    ----------
    rows : float array of shape (n, 4)
        See `traveltime_lab.kernels.raster.surface.edge_rows`.
    own : tuple of OwnEdge
        The edges of the origin.
    meeting : float64 array of shape (n,), optional
        Fraction of each edge up to which the first two numbers of its row apply; after it the other two apply. Default:
        the smaller value applies everywhere.
    most : float
        Larger values do not count.
    edges : int array of shape (n,), optional
        The edges, ascending, those of the origin among them. Default: all.
    """

    rows: AnyArray
    own: tuple[OwnEdge, ...] = ()
    meeting: FloatArray | None = None
    most: float = np.inf
    edges: Int32Array | None = None


class Field(Protocol):
    """Interface of the values of one search."""

    @property
    def is_length(self) -> bool:
        """Whether values are metres; otherwise they are seconds."""

    @property
    def connector_kph(self) -> float:
        """Walking speed between points and streets, km/h; the highest if there are several."""

    def start(self) -> float:
        """Return the value at the position of the origin: that of the connector between the point and its street."""

    def cell_readers(
        self, streets: StreetLayer, transportation: Transportation, *, limit: float, per_metre: float, buffer_m: float
    ) -> CellReading:
        """
        Return the functions that fill the values of cells, and where the reached edges are.

        Parameters
        ----------
        streets : StreetLayer
        transportation : Transportation
            Transportation at the origin of the field.
        limit : float
            Limit in seconds, or in metres.
        per_metre : float
            Value of one metre between a cell and its street, at the speed `connector_kph`.
        buffer_m : float
            Largest distance of a cell from its street, m.
        """

    def road_values(self, streets: StreetLayer, limit: float) -> list[RoadValues]:
        """Return values along roads; a position is reached if one of its values is within the limit."""


@dataclass(frozen=True)
class StreetField:
    """Travel times, or lengths of shortest routes, of a street search."""

    edges: RowField

    @property
    def is_length(self) -> bool:
        """Whether values are metres."""
        return self.edges.graph.metric == "distance"

    @property
    def connector_kph(self) -> float:
        """Walking speed between points and streets, km/h."""
        return self.edges.graph.connector_kph

    def start(self) -> float:
        """Return the value at the position of the origin."""
        return self.edges.start()

    def cell_readers(
        self, streets: StreetLayer, transportation: Transportation, *, limit: float, per_metre: float, buffer_m: float
    ) -> CellReading:
        """Return the functions that fill the values of cells, and where the reached edges are; see `Field`."""
        edges = self.edges
        reached, origin = edges.rows, origin_of(edges)
        box = box_of_rows(reached.edges, reached.values, 0, edge_boxes(streets), float(limit), edges.positions.edge)

        def read(tile: Tile, window: Window, values: Any) -> None:
            if edges.positions.edge.size:
                gather(tile.cells(per_metre, buffer_m), window, reached.values, origin, values)
            else:
                # There is no street on foot near the place where a drive to a stop begins.
                within(window, values)[read_cells(window)] = np.inf

        readers = [CellReader(transportation, needed_of_cells(is_backward=edges.is_backward), read)]

        def entered() -> tuple[Int32Array, FloatArray]:
            least = np.minimum(reached.values[reached.edges, 0], reached.values[reached.edges, 2])
            return np.concatenate([reached.edges, edges.positions.edge]), np.concatenate([least, edges.starts()])

        def bounds() -> EdgeBounds:
            return EdgeBounds(reached.values, edges.positions.edge, per_metre, buffer_m)

        return CellReading(readers, box, entered, bounds if edges.positions.edge.size else None)

    def road_values(self, streets: StreetLayer, limit: float) -> list[RoadValues]:
        """Return values along roads; see `Field`."""
        edges = self.edges
        here, reached = edges.positions, edges.reached()
        own = zip(here.edge.tolist(), here.fraction.tolist(), edges.starts().tolist(), edges.ahead(), strict=True)
        return [RoadValues(edges.rows.values[reached], tuple(OwnEdge(*each) for each in own), edges=reached)]


@dataclass(frozen=True)
class DistanceField:
    """
    Lengths of the fastest routes from one position, up to a limit that may be at the end of a slow route.

    Attributes
    ----------
    times : RowField
        From `length_field`.
    """

    times: RowField

    @property
    def is_length(self) -> bool:
        """Whether values are metres; always True."""
        return True

    @property
    def connector_kph(self) -> float:
        """Walking speed between points and streets, km/h."""
        return self.times.graph.connector_kph

    def start(self) -> float:
        """Return the length of the connector in metres, or 0 if connectors are not counted."""
        return float(self._starts_m().min())

    def _starts_m(self) -> FloatArray:
        """Return the lengths of the connectors of all positions of the origin in metres."""
        return np.asarray(label_parts.cm(self.times.positions.connector) / 100.0)

    def _own_m(self) -> FloatArray:
        """Return the lengths of the edges of the origin."""
        own = 2 * self.times.positions.edge.astype(np.int64)
        return np.asarray(label_parts.cm(self.times.graph.traversal[own]) / 100.0)

    def cell_readers(
        self, streets: StreetLayer, transportation: Transportation, *, limit: float, per_metre: float, buffer_m: float
    ) -> CellReading:
        """Return the functions that fill the values of cells, and where the reached edges are; see `Field`."""
        times, own = self.times, self.times.positions.edge
        edges, rows = times.rows.edges, times.rows.values
        assert edges is not None
        box = box_of_rows(edges, rows, 4, edge_boxes(streets), float(limit), own)
        origin = origin_of(times)
        ahead_m, start_m = self._own_m(), self._starts_m()
        seconds_per_metre = per_metre * 3.6 / self.connector_kph

        def read(tile: Tile, values: Any) -> None:
            # Their arrays are used again for other searches once nothing refers to these rows.
            cells, rows = tile.cells(per_metre, buffer_m), times.rows.values
            gather_lengths(cells, rows, origin, ahead_m, start_m, seconds_per_metre, values)

        def reached() -> tuple[Int32Array, FloatArray]:
            least = np.minimum(rows[edges, 4], rows[edges, 6])
            is_within = least <= limit
            return np.concatenate([edges[is_within], own]), np.concatenate([least[is_within], start_m])

        def bounds() -> EdgeBounds:
            # The fastest way to a cell leads over either end of its edge.
            ends = rows[:, [4, 6]]
            over = np.where(np.isfinite(ends), ends + rows[:, [5, 7]], -np.inf)
            return EdgeBounds(bounded_rows(ends.min(axis=1), over.max(axis=1)), own, per_metre, buffer_m)

        return CellReading(
            [CellReader(transportation, needed_of_cells(is_backward=times.is_backward), of_windows(read))],
            box,
            reached,
            bounds,
        )

    def road_values(self, streets: StreetLayer, limit: float) -> list[RoadValues]:
        """Return values along roads; see `Field`."""
        times = self.times
        reached = times.reached()
        rows = times.rows.values[reached].astype(np.float64)
        # If an edge is reached from both ends, the two fastest routes have equal times at one position.
        with np.errstate(invalid="ignore", divide="ignore"):
            meeting = (rows[:, 2] + rows[:, 3] - rows[:, 0]) / (rows[:, 1] + rows[:, 3])
        meeting = np.where(np.isfinite(rows[:, 2]), np.clip(np.nan_to_num(meeting, nan=0.5), 0.0, 1.0), 1.0)
        meeting[~np.isfinite(rows[:, 0])] = 0.0
        place = np.searchsorted(reached, times.positions.edge)
        own = tuple(self._own_edge(rows[at], position) for position, at in enumerate(place))
        return [RoadValues(rows[:, 4:], own, meeting, edges=reached)]

    def _own_edge(self, row: FloatArray, position: int) -> OwnEdge:
        """Return the edge of a position of the origin, as far as no route through its ends is faster."""
        times = self.times
        edge, place = int(times.positions.edge[position]), float(times.positions.fraction[position])
        start = float(times.starts()[position])
        up, down = times.ahead()[position]
        t0, dt0, t1, dt1 = row[:4]
        low, high = 0.0, 1.0
        if np.isfinite(t1) and np.isfinite(up):
            high = float(np.clip((t1 + dt1 - start + place * up) / (up + dt1), place, 1.0))
        if np.isfinite(t0) and np.isfinite(down):
            low = float(np.clip((start + place * down - t0) / (dt0 + down), 0.0, place))
        ahead = np.where(np.isfinite([up, down]), self._own_m()[position], np.inf)
        return OwnEdge(edge, place, float(self._starts_m()[position]), ahead, low, high)


def origin_of(edges: EdgeField) -> Origin:
    """Return the positions of the origin of a search as kernels read them."""
    return Origin(edges.positions.edge, edges.positions.fraction, edges.ahead(), edges.starts())


def label_rows(
    streets: StreetLayer,
    graph: RoadGraph,
    label: Int64Array,
    limit: float,
    own_edges: Int32Array,
    *,
    is_backward: bool,
) -> tuple[Float32Array, FloatArray]:
    """
    Return the values of labels along all edges and the bounding box of the reached edges.

    Returns
    -------
    rows : float32 array of shape (n_edges, 4)
        See `traveltime_lab.kernels.raster.surface.edge_rows`.
    box : float64 array of shape (4,), m
        West, south, east, north in local metres of the edges that are entered within the limit, without ferries and
        always with the edge of the origin.
    """
    rows = np.empty((streets.n_edges, 4), np.float32)
    return rows, edge_rows(
        label, graph.traversal, graph.unit, is_backward, edge_boxes(streets), float(limit), own_edges, rows
    )


def joined_box(boxes: Sequence[Sequence[float] | FloatArray]) -> FloatArray:
    """Return the smallest bounding box (west, south, east, north) around some."""
    array = np.array(boxes)
    return np.concatenate([array[:, :2].min(axis=0), array[:, 2:].max(axis=0)])


def edge_boxes(streets: StreetLayer) -> EdgeBoxes:
    """Return the bounding boxes of all edges, and which edges are on land; they are kept."""
    return EDGE_BOXES.of(streets, None, lambda: _edge_boxes(streets))


def _edge_boxes(streets: StreetLayer) -> EdgeBoxes:
    """Return the bounding boxes of all edges, and which edges are on land."""
    t = streets.tables
    x, y = streets.frame.to_xy(t.coord_lng, t.coord_lat)
    begin = t.coord_indptr[:-1]
    boxes = np.empty((t.edge_from.size, 4), np.float32)
    for side, values in enumerate((x, y)):
        # A step beyond the nearest number of 32 bits, so that no box is smaller than its edge.
        boxes[:, side] = np.nextafter(np.minimum.reduceat(values, begin).astype(np.float32), np.float32(-np.inf))
        boxes[:, side + 2] = np.nextafter(np.maximum.reduceat(values, begin).astype(np.float32), np.float32(np.inf))
    return EdgeBoxes(boxes, ~t.uses["is_ferry"].to_numpy()[t.edge_use])
