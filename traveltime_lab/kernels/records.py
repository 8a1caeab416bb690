"""
The groups of arrays that kernels take.

Numba passes a named tuple as its parts, so that a kernel which reads ``arcs.weights`` compiles to the same code as one
with an argument `weights`. Each array is described here once. Groups that belong to one kind of search are in its
module. *CSR* is compressed sparse row form: row ``i`` has the entries ``indptr[i]`` to ``indptr[i + 1] - 1``.

The terms state, label and port are explained in `traveltime_lab.kernels.street.road`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab._arrays import chosen_rows, take_rows


class Arcs(NamedTuple):
    """CSR by state of the arcs that leave it. In backward searches, and in transposed graphs, those that enter it."""

    indptr: np.ndarray  # int32 (n_states + 1,); int64 in a hierarchy of 2**31 arcs or more
    indices: np.ndarray  # int32 (n_arcs,), state that each arc leads to
    weights: np.ndarray  # int64 (n_arcs,), labels, non-negative


class SharedArcs(NamedTuple):
    """CSR by state of arcs whose labels are those of other arcs, so that a transposed graph needs no copy of them."""

    indptr: np.ndarray  # int32 (n_states + 1,)
    indices: np.ndarray  # int32 (n_arcs,), state that each arc leads to
    order: np.ndarray  # int32 (n_arcs,), place of the label of each arc; empty if they have the same order
    weights: np.ndarray  # int64 (n_arcs,), labels, non-negative


class Ports(NamedTuple):
    """
    CSR of ports: states, and the labels to add there.

    Rows are points or directed edges. Ports by which a point is left are the *seeds* of a search. Ports by which a
    point is reached are its *readings*: the label of the point is the smallest ``label[state] + key`` in its row.
    """

    indptr: np.ndarray  # int64 (n_rows + 1,)
    states: np.ndarray  # int32 (n_ports,)
    keys: np.ndarray  # int64 (n_ports,), labels


class Positions(NamedTuple):
    """
    CSR by point of its positions on edges.

    A point that was not snapped has none, a point at a junction has one on each street.
    """

    indptr: np.ndarray  # int64 (n_points + 1,)
    edge: np.ndarray  # int32 (n,)
    fraction: np.ndarray  # float64 (n,), share of the edge before the position, from 0 at ``edge_from`` to 1
    connector: np.ndarray  # int64 (n,), label of the connector between the point and the position


class StopLinks(NamedTuple):
    """
    CSR of the stops that points, or states, are linked to, and the times in between.

    Times are milliseconds, or in the unit of the trip table that is searched. They include what is added to the way,
    such as the time for parking.
    """

    indptr: np.ndarray  # int64 (n_points + 1,)
    stops: np.ndarray  # int32 (n_links,), stop_idx
    ms: np.ndarray  # int32 (n_links,), non-negative

    @property
    def n_points(self) -> int:
        """Number of points."""
        return self.indptr.size - 1

    def of(self, point: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the stops and times of one point."""
        part = slice(int(self.indptr[point]), int(self.indptr[point + 1]))
        return self.stops[part], self.ms[part]

    def rows(self, first: int, last: int) -> StopLinks:
        """Return the links of consecutive points."""
        return take_rows(self, first, last)

    def take(self, points: np.ndarray) -> StopLinks:
        """Return the links of the points at some positions."""
        indptr, at = chosen_rows(self.indptr, points)
        return StopLinks(indptr, self.stops[at], self.ms[at])

    def later(self, ms: int) -> StopLinks:
        """Return the links with some milliseconds added to each."""
        return self._replace(ms=(self.ms + np.int32(ms)).astype(np.int32)) if ms else self


class Directed(NamedTuple):
    """Directed edges: edge `e` is the directed edges ``2 * e`` and ``2 * e + 1``."""

    traversal: np.ndarray  # int64 (n_directed,), label from start to end
    is_open: np.ndarray  # bool (n_directed,), whether the edge may be used in this direction
