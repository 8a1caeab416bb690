"""
Search graphs of a mode: states, arcs, and the ports that connect street positions to them.

For walking and cycling the states are *nodes*. For driving they are *directed edges* (a state means "about to enter
this edge"), because the cost of a turn and whether it is allowed depend on the previous edge. Kernels treat both alike:
they see a CSR of states and, for each directed edge, its *entry ports* (the states at its start) and its *exit ports*
(the states to continue with after its end, with the label to get there); see `traveltime_lab.kernels.street.road`.

Rules that depend on more than the previous edge have states of their own. A turn restriction via other ways has one
state for each place on the restricted path. A destination-only street, and a public street that only such streets lead
to or from, has a second state for trips that entered from outside; it has no arcs that leave the zone of these streets
(see `traveltime_lab.streets.access_zones`).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import numpy as np

from traveltime_lab._arrays import BoolArray, Int32Array, Int64Array, unique_values
from traveltime_lab.kernels.records import Arcs, Directed, Ports, SharedArcs
from traveltime_lab.kernels.street import reduction, road
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.question import Metric
from traveltime_lab.runtime.memo import Derived, Memo
from traveltime_lab.runtime.warnings import warn
from traveltime_lab.streets import costs, stress
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.labels import make_labels
from traveltime_lab.streets.tables import StreetTables
from traveltime_lab.streets.traffic import Traffic, kph_in_traffic

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Topology:
    """
    The part of a search graph that does not depend on speeds: which edges are open, and how they connect.

    Attributes
    ----------
    is_open : bool array of shape (n_directed,)
        Whether each directed edge is open to the mode.
    takes_points : bool array of shape (n_directed,)
        Whether points may be at each directed edge: those that are open, and those that a change has closed.
    indptr, indices : int32 arrays
        Forward CSR of states.
    arc_edge : int32 array of shape (n_arcs,)
        Directed edge that the arc travels along.
    arc_extra_ms : int32 array of shape (n_arcs,)
        Time of the turn and the signal at its end, ms.
    arc_boards : bool array of shape (n_arcs,)
        Whether the arc boards a ferry.
    indptr_rev, indices_rev, order_rev : int32 arrays
        The transposed CSR; its arc ``i`` is forward arc ``order_rev[i]``.
    entry_indptr, entry_states : int64 and int32 arrays
        CSR of the entry ports of each directed edge.
    exit_indptr, exit_states : int64 and int32 arrays
        CSR of the exit ports of each directed edge.
    exit_arcs : int32 array of shape (n_exit_ports,)
        Forward arc that leads to each exit port.
    state_edge : int32 array of shape (n_states,)
        Directed edge that a state is about to enter, -1 in graphs of nodes.
    can_leave, can_arrive : bool arrays of shape (n_edges,)
        Whether the edge leads to, and can be reached from, a part of the network that is not an island; before the
        closures of changes, so that points stay at their streets.
    component : int32 array of shape (n_states,)
        Weakly connected component of each state.
    chain : int32 array of shape (n_edges,)
        Chain that each edge is a part of, see `traveltime_lab.streets.chains`.
    ends_chain : bool array of shape (n_directed,)
        Whether the chain ends where the directed edge begins.
    memo : Memo
        Objects derived from the topology.
    """

    is_open: BoolArray
    takes_points: BoolArray
    indptr: Int32Array
    indices: Int32Array
    arc_edge: Int32Array
    arc_extra_ms: Int32Array
    arc_boards: BoolArray
    indptr_rev: Int32Array
    indices_rev: Int32Array
    order_rev: Int32Array
    entry_indptr: Int64Array
    entry_states: Int32Array
    exit_indptr: Int64Array
    exit_states: Int32Array
    exit_arcs: Int32Array
    state_edge: Int32Array
    can_leave: BoolArray
    can_arrive: BoolArray
    component: Int32Array
    chain: Int32Array
    ends_chain: BoolArray
    memo: Memo = field(default_factory=Memo, init=False, repr=False, compare=False)

    @property
    def n_states(self) -> int:
        """Number of states."""
        return self.indptr.size - 1

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return self.is_open.size // 2


@dataclass(frozen=True)
class Core:
    """
    Arcs without the states that have only one incoming arc, so that a search need not queue them.

    Nearly half of the directed edges of a city have only one predecessor (after a bend, a change of name or a one-way
    junction). Their labels are computed from that of the predecessor after the search.

    Attributes
    ----------
    whole : SharedArcs
        The arcs before the contraction.
    single : bool array of shape (n_states,)
        States that were removed.
    arcs : Arcs
        Arcs between the states that were kept.
    above, above_key : int32 and int64 arrays of shape (n_states,)
        For each removed state the kept state that leads to it (-1 for kept states), and the label from there.
    n_buckets : int
        Size of the bucket queue.
    """

    whole: SharedArcs
    single: BoolArray
    arcs: Arcs
    above: Int32Array
    above_key: Int64Array
    n_buckets: int

    @classmethod
    def of(cls, whole: SharedArcs, single: BoolArray, shift: int) -> Core:
        """Remove states with one incoming arc."""
        arcs, above, above_key = reduction.contract(whole, single)
        return cls(whole, single, arcs, above, above_key, _ring_size(arcs.weights, shift))

    def seeds(self, states: Int32Array, keys: Int64Array) -> tuple[Int32Array, Int64Array]:
        """Return the seeds of one search, extended to the states that follow removed states."""
        _, states, keys = self.seed_rows(Ports(np.array([0, states.size]), states, keys))
        return states, keys

    def seed_rows(self, rows: Ports) -> Ports:
        """Return the seeds of many searches, extended to the states that follow removed states."""
        extended: Ports = reduction.expand_seeds(self.whole, self.single, rows)
        return extended

    def read_rows(self, rows: Ports) -> Ports:
        """Return readings, extended to the states that lead to removed states."""
        extended: Ports = reduction.expand_reads(self.above, self.above_key, rows)
        return extended

    def fill(self, label: Int64Array, limit: np.int64) -> None:
        """Label the removed states after a search, in place."""
        reduction.fill(label, self.above, self.above_key, limit)


#: Labels of the transposed arcs of a search graph.
_WEIGHTS_REV = Derived[None, Int64Array]("transposed labels")


@dataclass(frozen=True)
class RoadGraph:
    """
    A topology with the labels of one moment.

    Attributes
    ----------
    topology : Topology
    traversal : int64 array of shape (n_directed,)
        Label (see `traveltime_lab.kernels.street.road`) of each directed edge, 0 where closed.
    weights : int64 array of shape (n_arcs,)
        Labels of the forward arcs.
    entry_keys, exit_keys : int64 arrays of shape (n_entry_ports,), (n_exit_ports,)
        Labels to add at the ports.
    shift, n_buckets : int
        Width of a bucket and size of the bucket queue.
    core_forward, core_backward : Core
        The arcs without the states that need no queue.
    metric : {"time", "distance"}
        The part of the labels that is minimised.
    connector_kph : float
        Walking speed between points and streets, km/h.
    memo : Memo
        Objects derived from the graph.
    """

    topology: Topology
    traversal: Int64Array
    weights: Int64Array
    entry_keys: Int64Array
    exit_keys: Int64Array
    shift: int
    n_buckets: int
    core_forward: Core
    core_backward: Core
    metric: Metric
    connector_kph: float = costs.CONNECTOR_KPH
    memo: Memo = field(default_factory=Memo, init=False, repr=False, compare=False)

    def core(self, *, is_backward: bool) -> Core:
        """Return the contracted arcs to search forwards or backwards."""
        return self.core_backward if is_backward else self.core_forward

    @property
    def unit(self) -> float:
        """Units of the upper part of a label per second, or per metre in a graph of distances."""
        return 100.0 if self.metric == "distance" else 1000.0

    @property
    def directed(self) -> Directed:
        """The directed edges."""
        return Directed(self.traversal, self.topology.is_open)

    def arcs(self, *, is_backward: bool) -> Arcs:
        """Return the arcs to search forwards or backwards; the transposed ones are computed at first use, and kept."""
        topology, weights = self.topology, self.weights
        if not is_backward:
            return Arcs(topology.indptr, topology.indices, weights)
        rev = _WEIGHTS_REV.of(self, None, lambda: weights[topology.order_rev])
        return Arcs(topology.indptr_rev, topology.indices_rev, rev)

    def entry_ports(self) -> Ports:
        """Return the ports by which directed edges are entered."""
        return Ports(self.topology.entry_indptr, self.topology.entry_states, self.entry_keys)

    def exit_ports(self) -> Ports:
        """Return the ports by which directed edges are left."""
        return Ports(self.topology.exit_indptr, self.topology.exit_states, self.exit_keys)


def weigh(
    topology: Topology,
    tables: StreetTables,
    transportation: Transportation,
    traffic: Traffic,
    *,
    metric: Metric = "time",
) -> RoadGraph:
    """
    Compute the labels of a topology.

    Parameters
    ----------
    topology : Topology
    tables : StreetTables
    transportation : Transportation
    traffic : Traffic
        For cars; see `traveltime_lab.streets.traffic.traffic_of`.
    metric : {"time", "distance"}
        Quantity to minimise. With ``"distance"`` the two parts of every label are exchanged: centimetres in the upper
        half, milliseconds in the lower.
    """
    base, street = transportation.base, transportation.street
    uses = tables.uses
    traversal_ms = np.empty(topology.is_open.size, np.int64)
    own, most, is_pushed = transportation.speed, transportation.stress_limit, None
    if most is not None and transportation.push_above_stress:
        is_pushed = stress.above(stress.street_levels(tables), most)
    for side, name in enumerate(("forward", "backward")):
        if street.has_traffic:
            traversal_ms[side::2] = costs.crossing_ms(tables.edge_length_m, kph_in_traffic(tables, base, side, traffic))
            continue
        usual = kph = uses[f"{base}_kph_{name}"].to_numpy().astype(np.float64)
        if own is not None:
            keeps = uses["is_ferry"].to_numpy() | (uses["highway"].to_numpy() == "elevator")
            kph = costs.at_own_speed(kph, street, own, keeps)
        along, before = kph[tables.edge_use], usual[tables.edge_use]
        if is_pushed is not None:
            on_foot = np.minimum(uses[f"walking_kph_{name}"].to_numpy(np.float64)[tables.edge_use], costs.PUSHING_KPH)
            along, before = (np.where(is_pushed[side::2], np.minimum(each, on_foot), each) for each in (along, before))
        if tables.has_slopes:
            factors = tables.walking_slope_factor[side::2], tables.cycling_slope_factor[side::2]
            along = costs.on_slopes(along, before, street, *factors)
        traversal_ms[side::2] = costs.crossing_ms(tables.edge_length_m, along)
    if metric == "time":
        _warn_of_cut_times(traversal_ms, topology, tables, street.how)
    length_cm = np.repeat(np.rint(tables.edge_length_m * 100.0).astype(np.int64), 2)
    boarding_ms = transportation.boarding_time * 1000
    extra_ms = topology.arc_extra_ms.astype(np.int64)
    extra_ms[topology.arc_boards] += boarding_ms
    traversal = np.where(topology.is_open, make_labels(traversal_ms, length_cm, metric), 0)
    extra = make_labels(extra_ms, np.int64(0), metric)
    weights = traversal[topology.arc_edge] + extra
    # Buckets are about a fifth as wide as a typical arc, so that few states are relaxed twice.
    typical = float(np.median(label_parts.primary(weights), overwrite_input=True)) if weights.size else 1000.0
    shift = road.TIME_SHIFT + max(0, int(np.log2(max(typical / 5.0, 1.0))))
    forward = SharedArcs(topology.indptr, topology.indices, np.empty(0, np.int32), weights)
    backward = SharedArcs(topology.indptr_rev, topology.indices_rev, topology.order_rev, weights)
    return RoadGraph(
        topology=topology,
        traversal=traversal,
        weights=weights,
        core_forward=Core.of(forward, reduction.single_entries(backward.indptr, backward.indices), shift),
        core_backward=Core.of(backward, reduction.single_entries(forward.indptr, forward.indices), shift),
        entry_keys=np.zeros(topology.entry_states.size, np.int64),
        exit_keys=extra[topology.exit_arcs],
        shift=shift,
        n_buckets=_ring_size(weights, shift),
        metric=metric,
        connector_kph=costs.connector_kph(transportation),
    )


def _warn_of_cut_times(traversal_ms: Int64Array, topology: Topology, tables: StreetTables, how: str) -> None:
    """Warn if edges take longer than labels can hold; ferries with a mistyped duration are left out."""
    is_cut = (traversal_ms >= costs.LONGEST_CROSSING_MS) & topology.is_open
    if not is_cut.any():
        return
    edges = unique_values(np.flatnonzero(is_cut) // 2)
    edges = edges[~tables.uses["is_ferry"].to_numpy()[tables.edge_use[edges]]]
    if edges.size:
        hours, longest = costs.LONGEST_CROSSING_MS // 3_600_000, tables.edge_length_m[edges].max() / 1000.0
        warn(
            f"edges without a junction take longer than {hours} hours {how} ({edges.size:,} in all, the longest has "
            f"{longest:,.0f} km): they are crossed in {hours} hours, and places along them are too near. "
            "Check the extract, or split these edges."
        )


def _ring_size(weights: Int64Array, shift: int) -> int:
    """Return the number of buckets of a search queue: a power of two that exceeds the longest arc."""
    return 1 << (int(weights.max(initial=0) >> shift) + 3).bit_length()


_MEAN_PACE = Derived[None, float]("mean pace")


def mean_pace(graph: RoadGraph) -> float:
    """Return the mean seconds, or metres, for each metre of street; it is cached."""
    return _MEAN_PACE.of(graph, None, lambda: _mean_pace(graph))


def _mean_pace(graph: RoadGraph) -> float:
    labels = graph.traversal[graph.topology.is_open]
    metres = label_parts.cm(labels).sum() / 100.0
    return float(label_parts.primary(labels).sum() / graph.unit / metres) if metres else 1.0
