"""
The straight segments of streets, and an index of those of some edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from traveltime_lab._arrays import BoolArray, Int32Array, Int64Array, UInt8Array, indptr_of
from traveltime_lab.kernels.street import ties
from traveltime_lab.kernels.street.grid import Grid, build_grid
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.streets.layer import StreetLayer

_SEGMENTS = Derived[None, tuple[Any, ...]]("segments")

#: Side of the cells of the index in metres: about a city block, so that a cell has few segments (90 m was the quickest
#: of 30 to 160 m for 100,000 points in Milan).
CELL_M: Final = 90.0


@dataclass(frozen=True)
class SegmentIndex:
    """
    Line segments of some edges in a grid.

    Attributes
    ----------
    grid : traveltime_lab.kernels.street.grid.Grid
        The segments by the cells that they cross, with marks such as `CAN_LEAVE`.
    parts : traveltime_lab.kernels.street.ties.Parts
        Which part of its edge, and of which street, each segment is.
    """

    grid: Grid
    parts: ties.Parts

    @property
    def edge(self) -> Int32Array:
        """Edge of each segment."""
        return np.asarray(self.grid.edge)

    @classmethod
    def build(
        cls,
        streets: StreetLayer,
        requested: BoolArray,
        marks: UInt8Array | None = None,
        street: Int32Array | None = None,
        ends: BoolArray | None = None,
    ) -> SegmentIndex:
        """
        Index the segments of some edges.

        Parameters
        ----------
        streets : StreetLayer
        requested : bool array of shape (n_edges,)
            The edges.
        marks : uint8 array of shape (n_edges,), optional
            Marks of the edges, which searches can require.
        street : int32 array of shape (n_edges,), optional
            Number of the street that each edge is a part of. Default: each is a street.
        ends : bool array of shape (n_directed,), optional
            Whether the street ends where each directed edge begins. Default: everywhere.
        """
        if street is None or ends is None:
            street, ends = np.arange(requested.size, dtype=np.int32), np.ones(2 * requested.size, np.bool_)
        x1, y1, x2, y2, edge, start, span = segments(streets)
        mine = requested[edge]
        kept = None if marks is None else marks[edge[mine]]
        grid = build_grid(x1[mine], y1[mine], x2[mine], y2[mine], CELL_M, kept, edge[mine])
        return cls(grid, ties.Parts(start[mine], span[mine], street[edge[mine]], ends))


def segments(streets: StreetLayer) -> tuple[Any, ...]:
    """
    Return the straight segments of all edges, edge by edge and along each edge.

    Returns
    -------
    x1, y1, x2, y2 : float64 arrays of shape (n_segments,), m
        Ends in local metres.
    edge : int32 array of shape (n_segments,)
        Edge of each segment.
    start, span : float64 arrays of shape (n_segments,)
        Position of the first end on the edge, and share of the edge, 0 to 1.
    """
    return _SEGMENTS.of(streets, None, lambda: _segments(streets))


def segments_of(streets: StreetLayer, edges: Int32Array) -> tuple[Int64Array, Int64Array]:
    """
    Return the segments of some edges, edge by edge and along each edge.

    Returns
    -------
    numbers : int64 array of shape (n,)
        As in `segments`.
    indptr : int64 array of shape (n_edges_given + 1,)
        Those of each edge.
    """
    indptr, edge = streets.tables.coord_indptr, edges.astype(np.int64)
    # An edge has one segment less than coordinates.
    first, counts = indptr[edge] - edge, indptr[edge + 1] - indptr[edge] - 1
    own = indptr_of(counts)
    return np.repeat(first - own[:-1], counts) + np.arange(own[-1]), own


def _segments(streets: StreetLayer) -> tuple[Any, ...]:
    """Split the lines of all edges into straight segments; see `segments`."""
    t = streets.tables
    x, y = streets.frame.to_xy(t.coord_lng, t.coord_lat)
    edge_of_coord = np.repeat(np.arange(streets.n_edges, dtype=np.int32), np.diff(t.coord_indptr))
    inner = edge_of_coord[1:] == edge_of_coord[:-1]
    first = np.flatnonzero(inner)
    # Use the mean shrink of both ends to get the length of a segment in true metres.
    shrink = streets.frame.shrink(y)
    dx = (x[first + 1] - x[first]) * (shrink[first] + shrink[first + 1]) / 2.0
    length = np.hypot(dx, y[first + 1] - y[first])
    edge = edge_of_coord[first]
    total = np.bincount(edge, weights=length, minlength=streets.n_edges)
    before = np.concatenate([[0.0], np.cumsum(length)])[:-1]
    offset = np.concatenate([[0.0], np.cumsum(total)])[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        start = np.where(total[edge] > 0, (before - offset[edge]) / total[edge], 0.0)
        span = np.where(total[edge] > 0, length / total[edge], 0.0)
    return x[first], y[first], x[first + 1], y[first + 1], edge, np.clip(start, 0.0, 1.0), span
