"""
Look up the positions of nodes.

A file has many more nodes than its streets have: in the extract of a country, nine of ten are corners of buildings
(assumed). The table of all nodes therefore stays where libosmium has written it, 16 bytes for each, and every reader
takes the rows that it needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import shapely

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array, unique_values
from traveltime_lab.crs import wrap_degrees

#: Rows of the table of nodes as libosmium writes them.
LOCATION: Final = np.dtype([("id", "<i8"), ("x", "<i4"), ("y", "<i4")])
#: Coordinates are integers of this part of a degree.
PER_DEGREE: Final = 10_000_000
#: Rows, or references, that are looked at together.
_BLOCK: Final = 1 << 18


@dataclass(frozen=True)
class NodePositions:
    """Positions of nodes, sorted by id."""

    osm_id: Int64Array
    lng: FloatArray
    lat: FloatArray

    def find(self, refs: Int64Array) -> Int32Array:
        """Return the index of each node reference, -1 where the node is not among them."""
        found = np.full(len(refs), -1, np.int32)
        # Some at a time, because the places have twice the memory of the result.
        for begin in range(0, len(refs) if len(self.osm_id) else 0, _BLOCK):
            part = refs[begin : begin + _BLOCK]
            idx = np.minimum(np.searchsorted(self.osm_id, part), len(self.osm_id) - 1)
            found[begin : begin + _BLOCK] = np.where(self.osm_id[idx] == part, idx, -1)
        return found


class NodeTable:
    """
    The positions of all nodes of a file.

    Parameters
    ----------
    rows : array of dtype `LOCATION`
        Each node once. Rows without a position have coordinates out of range. Rows that do not ascend by id are sorted
        in memory.

    Attributes
    ----------
    n_nodes : int
        Number of nodes with a position.
    bounds : tuple of float, optional
        West, south, east and north of all nodes, in degrees; None without nodes.
    """

    def __init__(self, rows: AnyArray) -> None:
        self._rows = rows
        if not ascends(rows):
            kept = rows[_is_there(rows)]
            self._rows = kept[np.argsort(kept["id"], kind="stable")]
        # The first id of each block that has one, in which ids ascend.
        firsts, starts, n_nodes = [], [], 0
        low, high = np.full(2, np.iinfo(np.int32).max), np.full(2, np.iinfo(np.int32).min)
        for start, ids, x, y in self._blocks():
            firsts.append(ids[0])
            starts.append(start)
            n_nodes += ids.size
            low, high = np.minimum(low, [x.min(), y.min()]), np.maximum(high, [x.max(), y.max()])
        self._firsts, self._starts = np.array(firsts, np.int64), np.array(starts, np.int64)
        self.n_nodes = n_nodes
        corners = tuple((np.concatenate([low, high]) / PER_DEGREE).tolist())
        self.bounds: tuple[float, ...] | None = corners if n_nodes else None

    def forget(self) -> None:
        """Free the memory of the rows; their number and bounds stay."""
        self._rows, self._firsts, self._starts = self._rows[:0].copy(), self._firsts[:0], self._starts[:0]

    def of(self, refs: Int64Array) -> NodePositions:
        """Return the positions of the nodes with these ids that the file has."""
        sought = unique_values(refs)
        first = np.searchsorted(sought, self._firsts)
        found = [np.zeros(0, LOCATION)]
        for start, low, high in zip(self._starts, first, np.append(first, sought.size)[1:], strict=True):
            if low == high:
                continue
            rows = self._rows[start : start + _BLOCK]
            rows = rows[_is_there(rows)]
            ids = np.ascontiguousarray(rows["id"])
            at = np.minimum(np.searchsorted(ids, sought[low:high]), ids.size - 1)
            found.append(rows[at[ids[at] == sought[low:high]]])
        table = np.concatenate(found)
        return NodePositions(table["id"].astype(np.int64), table["x"] / PER_DEGREE, table["y"] / PER_DEGREE)

    def hull(self, lng: float) -> tuple[FloatArray, float]:
        """
        Return the corners of the convex hull of all nodes, and their mean latitude.

        Parameters
        ----------
        lng : float
            Longitude from which those of the corners are counted, -180 to 180 degrees.

        Returns
        -------
        corners : float64 array of shape (n, 2)
        mean : float
        """
        corners, total = np.empty((0, 2)), 0.0
        for _, _, x, y in self._blocks():
            lat = y / PER_DEGREE
            total += float(lat.sum())
            at = np.column_stack([wrap_degrees(x / PER_DEGREE - lng), lat])
            corners = shapely.get_coordinates(shapely.convex_hull(shapely.multipoints(np.concatenate([corners, at]))))
        return corners, total / max(1, self.n_nodes)

    def _blocks(self) -> Iterator[tuple[int, Int64Array, Any, Any]]:
        """Yield the begin of each block with nodes, their ids, and their coordinates as integers."""
        for start in range(0, len(self._rows), _BLOCK):
            rows = self._rows[start : start + _BLOCK]
            rows = rows[_is_there(rows)]
            if rows.size:
                yield start, rows["id"].astype(np.int64), rows["x"], rows["y"]


def ascends(rows: AnyArray) -> bool:
    """Return whether the ids of rows ascend, without those that are not used."""
    last = np.iinfo(np.int64).min
    for start in range(0, len(rows), _BLOCK):
        ids = ids_of(rows[start : start + _BLOCK])
        if ids.size and (ids[0] <= last or not (ids[1:] > ids[:-1]).all()):
            return False
        last = ids[-1] if ids.size else last
    return True


def ids_of(rows: AnyArray) -> Int64Array:
    """Return the ids of the rows that are used."""
    return np.asarray(rows["id"][rows["id"] != 0], np.int64)


def _is_there(rows: AnyArray) -> BoolArray:
    """Return which rows have a node with a position: the others have coordinates out of range."""
    return np.asarray((np.abs(rows["x"]) <= 180 * PER_DEGREE) & (np.abs(rows["y"]) <= 90 * PER_DEGREE))
