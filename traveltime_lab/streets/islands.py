"""
Find the points that are on an island: whose nearest street is not part of the main network.

Snapping moves such a point to the main network, because nearly all trips lead there. A trip between two points on one
island does not have to, so their places on the island are kept, too; see `traveltime_lab.streets.local_pairs`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from traveltime_lab._arrays import BoolArray, FloatArray, Int32Array, indptr_of
from traveltime_lab.kernels.street import nearer, nearest, reading, ties
from traveltime_lab.kernels.street.grid import Grid
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.streets.graph import Topology
from traveltime_lab.streets.segments import SegmentIndex
from traveltime_lab.streets.topology import any_port

#: A point is on an island if this is nearer than the main network by more than this, so that a junction of both, with
#: coordinates rounded to seven decimals, is on the main network.
ISLAND_M: Final = 0.01
#: Nothing is required of a street.
_ANY = np.uint8(0)


def island_places(
    x: FloatArray,
    y: FloatArray,
    shrink: FloatArray,
    places: ties.Places,
    is_main: BoolArray,
    islands: SegmentIndex,
    barriers: Grid,
    limit_m: float,
) -> ties.Places | None:
    """
    Return the places on islands of points that are nearer to an island than to the main network.

    Parameters
    ----------
    x, y, shrink : float64 arrays of shape (n,)
        Points in local metres, and the shrink at their latitudes.
    places : Places
        Places of the points where most trips begin or end.
    is_main : bool array of shape (n_edges,)
        Edges that can be left for, and reached from, the main network.
    islands : SegmentIndex
        The other edges.
    barriers : Grid
        Lines that straight walks must not cross.
    limit_m : float
        Snapping threshold.

    Returns
    -------
    Places, optional
        None if no point is on an island.
    """
    if not islands.edge.size or not x.size:
        return None
    is_found, metres = np.diff(places.indptr) > 0, np.full(x.size, np.inf)
    if places.edge.size:
        to_main = np.where(is_main[places.edge], places.distance, np.inf)
        metres[is_found] = np.minimum.reduceat(to_main, places.indptr[:-1][is_found])
    within = np.minimum(metres - ISLAND_M, limit_m)
    near = np.flatnonzero(nearer.has_nearer(x, y, shrink, within, islands.grid))
    here, rules = (x[near], y[near], shrink[near]), (limit_m, islands.grid, _ANY, barriers)
    found, tied = nearest.nearest_segments(*here, *rules)
    # The walk to the nearest street of an island may be barred.
    found.segment[~(found.distance < within[near])] = -1
    some: ties.Places = ties.tied_places(*here, found, tied, *rules, islands.parts)
    if not some.edge.size:
        return None
    counts = np.zeros(x.size, np.int64)
    counts[near] = np.diff(some.indptr)
    return some._replace(indptr=indptr_of(counts))


_MAIN = Derived[None, BoolArray]("edges of the main network")


def main_edges(topology: Topology) -> BoolArray:
    """Return which edges can be left for, and reached from, the main network; it is cached."""
    return _MAIN.of(topology, None, lambda: topology.can_leave & topology.can_arrive)


def reachable_edges(topology: Topology, edges: Int32Array, *, is_backward: bool) -> BoolArray:
    """
    Return to which edges there is a way from the end of some edges, or from which to their beginning.

    Parameters
    ----------
    topology : Topology
    edges : int32 array of shape (n,)
    is_backward : bool
        Whether ways lead to the edges instead of from there.

    Returns
    -------
    bool array of shape (n_edges,)
    """
    ports = [(topology.exit_indptr, topology.exit_states), (topology.entry_indptr, topology.entry_states)]
    arcs = topology.indptr, topology.indices
    if is_backward:
        ports, arcs = ports[::-1], (topology.indptr_rev, topology.indices_rev)
    (indptr, states), others = ports
    begins = np.zeros(topology.n_states, np.bool_)
    for d in (2 * edges.astype(np.int64)[:, None] + np.arange(2)).ravel().tolist():
        begins[states[indptr[d] : indptr[d + 1]]] = True
    return any_port(others[0], reading.reach(*arcs, begins)[others[1]])
