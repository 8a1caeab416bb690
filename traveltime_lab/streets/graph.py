"""
The graph that a mode of transport searches: states, arcs, and how street positions join them.

Walking and cycling search *nodes*. Driving searches *directed edges* (a state is "about to enter this edge"), because
what a turn costs and whether it is allowed depends on where one comes from. Both look alike to a kernel: a CSR of
states, and for every directed edge its *entry ports* (states that mean "at its start") and *exit ports* (states to
continue with from its end, and the extra label to get there). A trip is a seed from the exit ports of its origin, a
search, and a reading at the entry ports of its destination; backwards it is the same with the roles and the arcs
turned round.

What needs memory of the past gets states of its own: a turn restriction via other ways has one for each place on the
forbidden path, and a street open only to those with business there has a second, which has no arcs back out.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import numpy as np

from traveltime_lab._arrays import BoolArray, Int32Array, Int64Array
from traveltime_lab._memo import Memo
from traveltime_lab.kernels.street import road
from traveltime_lab.modes import Transportation
from traveltime_lab.streets import costs
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.labels import Metric, make_labels
from traveltime_lab.streets.tables import (
    StreetTables,
)

logger = logging.getLogger(__name__)
Ports = tuple[Int64Array, Int32Array, Int64Array]


@dataclass(frozen=True)
class Topology:
    """
    What does not depend on speeds: which edges are open to a mode and how they connect.

    Attributes
    ----------
    is_open : bool array of shape (n_directed,)
    indptr, indices : int32 arrays
        Forward CSR of states.
    arc_edge : int32 array of shape (n_arcs,)
        Directed edge that the arc travels.
    arc_extra_ms : int64 array of shape (n_arcs,)
        Turn and signal.
    arc_boards : bool array of shape (n_arcs,)
        Whether the arc goes aboard a ferry.
    indptr_rev, indices_rev, order_rev : int32, int32, int64 arrays
        The transposed CSR; arc ``i`` of it is forward arc ``order_rev[i]``.
    entry_indptr, entry_states : int64 and int32 arrays
        Entry ports by directed edge.
    exit_indptr, exit_states : int64 and int32 arrays
        Exit ports by directed edge.
    exit_arcs : int64 array
        Forward arc behind each exit port.
    state_edge : int32 array of shape (n_states,)
        Directed edge at whose start a state is, -1 in graphs of nodes.
    can_leave, can_arrive : bool arrays of shape (n_edges,)
        Whether the edge leads to, and can be reached from, a part of the network that is not an island.
    component : int32 array of shape (n_states,)
        Weakly connected part of each state.
    memo : Memo
        What has been derived from the topology.
    """

    is_open: BoolArray
    indptr: Int32Array
    indices: Int32Array
    arc_edge: Int32Array
    arc_extra_ms: Int64Array
    arc_boards: BoolArray
    indptr_rev: Int32Array
    indices_rev: Int32Array
    order_rev: Int64Array
    entry_indptr: Int64Array
    entry_states: Int32Array
    exit_indptr: Int64Array
    exit_states: Int32Array
    exit_arcs: Int64Array
    state_edge: Int32Array
    can_leave: BoolArray
    can_arrive: BoolArray
    component: Int32Array
    memo: Memo = field(default_factory=Memo, init=False, repr=False, compare=False)

    @property
    def n_states(self) -> int:
        """Number of states."""
        return self.indptr.size - 1


@dataclass(frozen=True)
class Core:
    """
    A CSR without the states that have only one way in, which a search then need not queue.

    Nearly half of the directed edges of a city have one predecessor (beyond a bend, a change of name, a one-way
    junction). Their labels follow from that of the state before, after the search.

    Attributes
    ----------
    whole : tuple of arrays
        The CSR that the core was made from.
    single : bool array of shape (n_states,)
        States left out.
    indptr, indices, weights : int32, int32, int64 arrays
        Arcs between the states that are left.
    above, above_key : int32 and int64 arrays of shape (n_states,)
        Through which state, and with which label from it, each left-out state is reached; -1 for the others.
    n_buckets : int
        Layout of the search queue.
    """

    whole: tuple[Int32Array, Int32Array, Int64Array]
    single: BoolArray
    indptr: Int32Array
    indices: Int32Array
    weights: Int64Array
    above: Int32Array
    above_key: Int64Array
    n_buckets: int

    @classmethod
    def of(cls, whole: tuple[Int32Array, Int32Array, Int64Array], single: BoolArray, shift: int) -> Core:
        """Contract a CSR."""
        indptr, indices, weights, above, above_key = road.contract(*whole, single)
        n_buckets = _ring_size(weights, shift)
        return cls(whole, single, indptr, indices, weights, above, above_key, n_buckets)

    def arcs(self) -> tuple[Int32Array, Int32Array, Int64Array]:
        """Return the CSR to search."""
        return self.indptr, self.indices, self.weights

    def seeds(self, states: Int32Array, keys: Int64Array) -> tuple[Int32Array, Int64Array]:
        """Return the seeds of one search, carried on behind left-out states."""
        return self.seed_rows((np.array([0, states.size]), states, keys))[1:]

    def seed_rows(self, rows: Ports) -> Ports:
        """Return the seeds of many searches, carried on behind left-out states."""
        return road.expand_seeds(*self.whole, self.single, *rows)  # type: ignore[no-any-return]

    def read_rows(self, rows: Ports) -> Ports:
        """Return readings that also look at the states before left-out ones."""
        return road.expand_reads(self.above, self.above_key, *rows)  # type: ignore[no-any-return]

    def fill(self, label: Int64Array, limit: np.int64) -> None:
        """Label the left-out states after a search, in place."""
        road.fill(label, self.above, self.above_key, limit)


@dataclass(frozen=True)
class RoadGraph:
    """
    A topology with the labels of one moment.

    Attributes
    ----------
    topology : Topology
    cross : int64 array of shape (n_directed,)
        Label (see `traveltime_lab.kernels.street.road`) of each directed edge, 0 where closed.
    weights, weights_rev : int64 arrays of shape (n_arcs,)
        Labels of the forward and of the transposed arcs.
    entry_keys, exit_keys : int64 arrays
        Labels to add at the ports.
    shift, n_buckets : int
        Layout of the search queue.
    core_forward, core_backward : Core
        The CSRs without the states that need no queue.
    metric : {"time", "distance"}
        What the labels minimise.
    memo : Memo
        What has been derived from the graph.
    """

    topology: Topology
    traversal: Int64Array
    weights: Int64Array
    weights_rev: Int64Array
    entry_keys: Int64Array
    exit_keys: Int64Array
    shift: int
    n_buckets: int
    core_forward: Core
    core_backward: Core
    metric: Metric
    memo: Memo = field(default_factory=Memo, init=False, repr=False, compare=False)

    def core(self, *, is_backward: bool) -> Core:
        """Return the contracted CSR to search forwards or backwards."""
        return self.core_backward if is_backward else self.core_forward

    def arcs(self, *, is_backward: bool) -> tuple[Int32Array, Int32Array, Int64Array]:
        """Return the CSR to search forwards or backwards."""
        if is_backward:
            return self.topology.indptr_rev, self.topology.indices_rev, self.weights_rev
        return self.topology.indptr, self.topology.indices, self.weights

    def entry_ports(self) -> tuple[Int64Array, Int32Array, Int64Array]:
        """Return the CSR of the ports by which directed edges are entered."""
        return self.topology.entry_indptr, self.topology.entry_states, self.entry_keys

    def exit_ports(self) -> tuple[Int64Array, Int32Array, Int64Array]:
        """Return the CSR of the ports by which directed edges are left."""
        return self.topology.exit_indptr, self.topology.exit_states, self.exit_keys


def weigh(
    topology: Topology,
    tables: StreetTables,
    transportation: Transportation,
    multiplier: float,
    *,
    metric: Metric = "time",
) -> RoadGraph:
    """
    Put labels on a topology.

    Parameters
    ----------
    topology : Topology
    tables : StreetTables
    transportation : Transportation
    multiplier : float
        Travel-time multiplier of arterial streets for cars, 1 in free flow; see
        `traveltime_lab.streets.costs.congestion`.
    metric : {"time", "distance"}
        What to minimise. With ``"distance"`` the two parts of every label change places: centimetres above,
        milliseconds below.
    """
    base = transportation.base
    uses = tables.uses
    traversal_ms = np.empty(topology.is_open.size, np.int64)
    factor = np.ones(len(uses))
    if base == "driving":
        factor += (multiplier - 1.0) * costs.delay_shares(uses["highway"].to_numpy())
    for side, name in enumerate(("forward", "backward")):
        kph = (uses[f"{base}_kph_{name}"].to_numpy().astype(np.float64) / factor)[tables.edge_use]
        traversal_ms[side::2] = costs.crossing_ms(tables.edge_length_m, kph)
    length_cm = np.repeat(np.rint(tables.edge_length_m * 100.0).astype(np.int64), 2)
    boarding_ms = transportation.boarding_time * 1000
    extra_ms = topology.arc_extra_ms + np.where(topology.arc_boards, boarding_ms, 0)
    traversal = np.where(topology.is_open, make_labels(traversal_ms, length_cm, metric), 0)
    extra = make_labels(extra_ms, np.int64(0), metric)
    weights = traversal[topology.arc_edge] + extra
    # Buckets a fifth as wide as a typical arc: few states share one and few are scanned twice.
    typical = float(np.median(label_parts.primary(weights))) if weights.size else 1000.0
    shift = road.TIME_SHIFT + max(0, int(np.log2(max(typical / 5.0, 1.0))))
    weights_rev = weights[topology.order_rev]
    forward = (topology.indptr, topology.indices, weights)
    backward = (topology.indptr_rev, topology.indices_rev, weights_rev)
    return RoadGraph(
        topology=topology,
        traversal=traversal,
        weights=weights,
        weights_rev=weights_rev,
        core_forward=Core.of(forward, road.single_entries(*backward[:2]), shift),
        core_backward=Core.of(backward, road.single_entries(*forward[:2]), shift),
        entry_keys=np.zeros(topology.entry_states.size, np.int64),
        exit_keys=extra[topology.exit_arcs],
        shift=shift,
        n_buckets=_ring_size(weights, shift),
        metric=metric,
    )


def _ring_size(weights: Int64Array, shift: int) -> int:
    """Return the number of buckets that a search queue needs: a power of two beyond the longest arc."""
    return 1 << (int(weights.max(initial=0) >> shift) + 3).bit_length()


def take_rows(ports: Ports, first: int, last: int) -> Ports:
    """Return some consecutive rows of a CSR of ports."""
    indptr, states, keys = ports
    begin, end = indptr[first], indptr[last]
    return indptr[first : last + 1] - begin, states[begin:end], keys[begin:end]
