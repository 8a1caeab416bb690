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
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array
from traveltime_lab.crs import LocalFrame
from traveltime_lab.kernels.street import road, turns
from traveltime_lab.modes import Transportation
from traveltime_lab.streets import costs
from traveltime_lab.streets.tables import (
    ACCESS_DESTINATION,
    ACCESS_PRIVATE,
    ACCESS_YES,
    NODE_BLOCKS_CYCLING,
    NODE_BLOCKS_DRIVING,
    NODE_BLOCKS_WALKING,
    NODE_SIGNALS,
    StreetTables,
)

logger = logging.getLogger(__name__)

Metric = Literal["time", "distance"]
Ports = tuple[Int64Array, Int32Array, Int64Array]

_BLOCKS = {"walking": NODE_BLOCKS_WALKING, "cycling": NODE_BLOCKS_CYCLING, "driving": NODE_BLOCKS_DRIVING}

#: States in a strongly connected part that is worth starting from; smaller parts are taken for islands. Same idea
#: and same number as Valhalla's `minimum_reachability`.
MINIMUM_REACHABILITY = 50


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


def open_edges(tables: StreetTables, transportation: Transportation) -> BoolArray:
    """
    Return which directed edges a transportation may use.

    Returns
    -------
    bool array of shape (2 * n_edges,)
    """
    base = transportation.base
    uses = tables.uses
    access = uses[f"{base}_access"].to_numpy()
    allowed = (access == ACCESS_YES) | (access == ACCESS_DESTINATION)
    if base == "driving":
        if "restricted" in transportation.include_roads:
            allowed |= access == ACCESS_PRIVATE
        if "track" not in transportation.include_roads:
            allowed &= ~uses["is_track"].to_numpy()
        if "toll" in transportation.exclude_roads:
            allowed &= ~uses["is_toll"].to_numpy()
    if not transportation.uses_ferry:
        allowed &= ~uses["is_ferry"].to_numpy()
    is_open = np.empty(2 * tables.edge_from.size, np.bool_)
    is_open[0::2] = (allowed & (uses[f"{base}_kph_forward"].to_numpy() > 0))[tables.edge_use]
    is_open[1::2] = (allowed & (uses[f"{base}_kph_backward"].to_numpy() > 0))[tables.edge_use]
    return is_open


def build_topology(
    tables: StreetTables, transportation: Transportation, frame: LocalFrame, *, is_left_hand: bool
) -> Topology:
    """Build the states, arcs and ports of a mode; see `Topology`."""
    is_open = open_edges(tables, transportation)
    if transportation.base == "driving":
        return _topology_of_edges(tables, is_open, frame, is_left_hand=is_left_hand)
    return _topology_of_nodes(tables, is_open, transportation.base)


def _interleave(forward: AnyArray, backward: AnyArray) -> AnyArray:
    """Return the values of directed edges from those along and against the edges."""
    both = np.empty(2 * forward.size, forward.dtype)
    both[0::2], both[1::2] = forward, backward
    return both


def _csr_order(rows: AnyArray, n_rows: int) -> tuple[Int32Array, Int64Array]:
    """Return the index pointer and the stable order that sorts `rows`."""
    indptr = np.zeros(n_rows + 1, np.int32)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=indptr[1:])
    return indptr, np.argsort(rows, kind="stable").astype(np.int64)


def _topology_of_nodes(tables: StreetTables, is_open: BoolArray, base: str) -> Topology:
    """Build a graph whose states are nodes; a node that blocks the mode becomes one state per street end."""
    tail = _interleave(tables.edge_from, tables.edge_to).astype(np.int32)
    n_nodes = tables.node_lng.size
    blocked = (tables.node_flags[tail] & _BLOCKS[base]) != 0
    state_at_start = tail.copy()
    # Nobody passes a blocked node, but one may come up to it and turn back: its street ends are separate states.
    state_at_start[blocked] = n_nodes + np.arange(int(blocked.sum()), dtype=np.int32)
    n_states = n_nodes + int(blocked.sum())
    edges = np.flatnonzero(is_open).astype(np.int32)
    source = state_at_start[edges]
    target = state_at_start[edges ^ 1]
    head = tail[edges ^ 1]
    extra_ms = np.where((tables.node_flags[head] & NODE_SIGNALS) != 0, round(costs.SIGNAL_S * 1000), 0).astype(np.int64)
    is_ferry = np.repeat(tables.uses["is_ferry"].to_numpy()[tables.edge_use], 2)
    lands = np.zeros(n_states, np.bool_)
    lands[source[~is_ferry[edges]]] = True
    lands[target[~is_ferry[edges]]] = True
    boards = is_ferry[edges] & lands[source]
    entry_indptr = np.concatenate([[0], np.cumsum(is_open)]).astype(np.int64)
    exit_arc_of_edge = np.arange(edges.size, dtype=np.int64)
    return _finish(
        is_open,
        n_states,
        source,
        target,
        edges,
        extra_ms,
        boards,
        entry_indptr,
        source,
        entry_indptr,
        exit_arc_of_edge,
        np.full(n_states, -1, np.int32),
    )


def bearings(tables: StreetTables, frame: LocalFrame) -> tuple[FloatArray, FloatArray]:
    """
    Return the compass bearings at the start and the end of each directed edge, in its own direction.

    Measured over the first and last step of the line.

    Returns
    -------
    start, end : float64 arrays of shape (n_directed,), degrees
    """
    x, y = frame.to_xy(tables.coord_lng, tables.coord_lat)
    shrink = frame.shrink(y)
    first = tables.coord_indptr[:-1]
    last = tables.coord_indptr[1:] - 1

    def bearing(a: Int64Array, b: Int64Array) -> FloatArray:
        dx = (x[b] - x[a]) * shrink[a]
        return np.degrees(np.arctan2(dx, y[b] - y[a]))

    start = _interleave(bearing(first, first + 1), bearing(last, last - 1))
    end = _interleave(bearing(last - 1, last), bearing(first + 1, first))
    return start, end


def _topology_of_edges(tables: StreetTables, is_open: BoolArray, frame: LocalFrame, *, is_left_hand: bool) -> Topology:
    """Build a graph whose states are directed edges, with turn costs and restrictions."""
    tail = _interleave(tables.edge_from, tables.edge_to).astype(np.int32)
    n_nodes = tables.node_lng.size
    edges = np.flatnonzero(is_open).astype(np.int32)
    out_indptr, order = _csr_order(tail[edges], n_nodes)
    bearing_start, bearing_end = bearings(tables, frame)
    uses = tables.uses
    is_ferry = np.repeat(uses["is_ferry"].to_numpy()[tables.edge_use], 2)
    source, target, extra_ms = turns.turn_arcs(
        out_indptr.astype(np.int64),
        edges[order],
        tail[np.arange(tail.size) ^ 1],
        bearing_start,
        bearing_end,
        (tables.node_flags & NODE_SIGNALS) != 0,
        (tables.node_flags & NODE_BLOCKS_DRIVING) != 0,
        np.repeat(uses["is_roundabout"].to_numpy()[tables.edge_use], 2),
        is_ferry,
        is_left_hand,
        costs.TURN_PENALTY_S,
        costs.TURN_BIAS,
        np.int64(round(costs.U_TURN_S * 1000)),
        np.int64(round(costs.SIGNAL_S * 1000)),
    )
    keep, paths = _apply_turn_bans(tables, source, target, is_open)
    source, target, extra_ms = source[keep], target[keep], extra_ms[keep]

    # Directed edges become dense states, then the extra states follow.
    state_of_edge = np.full(tail.size, -1, np.int32)
    state_of_edge[edges] = np.arange(edges.size, dtype=np.int32)
    state_edge = [edges]
    access = uses["driving_access"].to_numpy()[tables.edge_use]
    is_destination = np.repeat(access == ACCESS_DESTINATION, 2) & is_open
    n_states = int(edges.size)
    source_state, target_state = state_of_edge[source], state_of_edge[target]
    arc_source_edge = source

    # A destination-only street entered from outside: a state that can go on inside, but not out again.
    inside = np.flatnonzero(is_destination).astype(np.int32)
    entered = np.full(tail.size, -1, np.int32)
    entered[inside] = n_states + np.arange(inside.size, dtype=np.int32)
    n_states += int(inside.size)
    state_edge.append(inside)
    enters = ~is_destination[source] & is_destination[target]
    target_state = np.where(enters, entered[target], target_state).astype(np.int32)
    within = is_destination[source] & is_destination[target]
    source_state = np.concatenate([source_state, entered[source[within]]])
    target_state = np.concatenate([target_state, entered[target[within]]])
    arc_source_edge = np.concatenate([arc_source_edge, source[within]])
    arc_target_edge = np.concatenate([target, target[within]])
    extra_ms = np.concatenate([extra_ms, extra_ms[within]])

    if paths:
        source_state, target_state, arc_source_edge, arc_target_edge, extra_ms, extra_edges = _add_path_states(
            paths,
            source_state,
            target_state,
            arc_source_edge,
            arc_target_edge,
            extra_ms,
            state_of_edge,
            n_states,
            is_destination,
        )
        state_edge.append(extra_edges)
        n_states += int(extra_edges.size)
    all_state_edge = np.concatenate(state_edge).astype(np.int32)

    boards = ~is_ferry[arc_source_edge] & is_ferry[arc_target_edge]
    entry_order = np.argsort(all_state_edge, kind="stable")
    entry_indptr = np.zeros(tail.size + 1, np.int64)
    np.cumsum(np.bincount(all_state_edge, minlength=tail.size), out=entry_indptr[1:])
    # One leaves an edge from its plain state: who starts on it has no history.
    by_source = np.lexsort((target_state, source_state))
    source_state, target_state = source_state[by_source], target_state[by_source]
    arc_source_edge, extra_ms, boards = arc_source_edge[by_source], extra_ms[by_source], boards[by_source]
    plain = np.flatnonzero(source_state < edges.size)
    exit_order = plain[np.argsort(arc_source_edge[plain], kind="stable")]
    exit_indptr = np.zeros(tail.size + 1, np.int64)
    np.cumsum(np.bincount(arc_source_edge[plain], minlength=tail.size), out=exit_indptr[1:])
    return _finish(
        is_open,
        n_states,
        source_state,
        target_state,
        arc_source_edge.astype(np.int32),
        extra_ms,
        boards,
        entry_indptr,
        entry_order.astype(np.int32),
        exit_indptr,
        exit_order.astype(np.int64),
        all_state_edge,
    )


def _apply_turn_bans(
    tables: StreetTables, source: Int32Array, target: Int32Array, is_open: BoolArray
) -> tuple[BoolArray, list[tuple[bool, tuple[int, ...]]]]:
    """
    Return which turns the two-edge restrictions leave, and the restrictions that run via other ways.

    A compulsory turn onto a street that is closed to the mode is not applied: it would close the junction.
    """
    indptr = tables.restriction_indptr
    n_directed = np.int64(is_open.size)
    pair = source.astype(np.int64) * n_directed + target
    keep = np.ones(source.size, np.bool_)
    lengths = np.diff(indptr)
    first = tables.restriction_edges[indptr[:-1]].astype(np.int64)
    last = tables.restriction_edges[indptr[1:] - 1].astype(np.int64)
    usable = is_open[first] & is_open[last] if first.size else np.zeros(0, np.bool_)
    direct = (lengths == 2) & usable
    banned = direct & ~tables.restriction_only
    keep &= ~np.isin(pair, first[banned] * n_directed + last[banned])
    compulsory = direct & tables.restriction_only
    # Several compulsory turns from one street leave the choice between them; those of another junction do not count.
    chosen = np.unique(first[compulsory] * n_directed + last[compulsory])
    keep &= ~np.isin(source, first[compulsory]) | np.isin(pair, chosen)
    paths = [
        (bool(tables.restriction_only[i]), tuple(int(d) for d in tables.restriction_edges[indptr[i] : indptr[i + 1]]))
        for i in np.flatnonzero((lengths > 2) & usable)
    ]
    return keep, [(only, path) for only, path in paths if all(is_open[d] for d in path)]


def _add_path_states(
    paths: list[tuple[bool, tuple[int, ...]]],
    source_state: Int32Array,
    target_state: Int32Array,
    source_edge: Int32Array,
    target_edge: Int32Array,
    extra_ms: Int64Array,
    state_of_edge: Int32Array,
    n_states: int,
    is_destination: BoolArray,
) -> tuple[Int32Array, Int32Array, Int32Array, Int32Array, Int64Array, Int32Array]:
    """
    Add a state for every place on a restricted path, so that its last turn can be refused to those who came along it.

    The states are the prefixes of the paths, as in the automaton of Aho and Corasick (CACM 1975): a turn leads to the
    longest prefix that the trip so far ends with. Paths over destination-only streets are left out; they have states
    of their own already.
    """
    paths = [(only, path) for only, path in paths if not any(is_destination[d] for d in path)]
    prefixes = {path[:k] for _, path in paths for k in range(2, len(path))}
    if not prefixes:
        return source_state, target_state, source_edge, target_edge, extra_ms, np.zeros(0, np.int32)
    ordered = sorted(prefixes)
    state_of_prefix = {prefix: n_states + i for i, prefix in enumerate(ordered)}
    refused = {path for only, path in paths if not only}
    compulsory: dict[tuple[int, ...], set[int]] = {}
    for only, path in paths:
        if only:
            compulsory.setdefault(path[:-1], set()).add(path[-1])

    def next_state(history: tuple[int, ...], plain_target: int) -> int | None:
        for begin in range(len(history) - 1):
            tail = history[begin:]
            if tail in refused or history[-1] not in compulsory.get(history[begin:-1], {history[-1]}):
                return None
        for begin in range(len(history) - 1):
            if history[begin:] in state_of_prefix:
                return state_of_prefix[history[begin:]]
        return plain_target

    # Plain arcs that begin a path now lead to its first extra state.
    target_state = target_state.copy()
    rows: dict[int, list[int]] = {}
    interesting = {prefix[-1] for prefix in ordered} | {path[0] for _, path in paths}
    is_plain = state_of_edge[source_edge] == source_state
    for arc in np.flatnonzero(np.isin(source_edge, list(interesting)) & is_plain).tolist():
        rows.setdefault(int(source_edge[arc]), []).append(arc)
    added: list[tuple[int, int, int, int, int]] = []
    for prefix in ordered:
        for arc in rows.get(prefix[-1], []):
            state = next_state((*prefix, int(target_edge[arc])), int(target_state[arc]))
            if state is not None:
                added.append((state_of_prefix[prefix], state, prefix[-1], int(target_edge[arc]), int(extra_ms[arc])))
    for first in {path[0] for _, path in paths}:
        for arc in rows.get(first, []):
            pair = (first, int(target_edge[arc]))
            if pair in state_of_prefix:
                target_state[arc] = state_of_prefix[pair]
    new = np.array(added, dtype=np.int64).reshape(-1, 5)
    return (
        np.concatenate([source_state, new[:, 0].astype(np.int32)]),
        np.concatenate([target_state, new[:, 1].astype(np.int32)]),
        np.concatenate([source_edge, new[:, 2].astype(np.int32)]),
        np.concatenate([target_edge, new[:, 3].astype(np.int32)]),
        np.concatenate([extra_ms, new[:, 4]]),
        np.array([prefix[-1] for prefix in ordered], np.int32),
    )


def _finish(
    is_open: BoolArray,
    n_states: int,
    source: Int32Array,
    target: Int32Array,
    arc_edge: Int32Array,
    extra_ms: Int64Array,
    boards: BoolArray,
    entry_indptr: Int64Array,
    entry_states: Int32Array,
    exit_indptr: Int64Array,
    exit_arcs: Int64Array,
    state_edge: Int32Array,
) -> Topology:
    """Sort the arcs into both CSRs and find the parts of the graph."""
    indptr, order = _csr_order(source, n_states)
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    indices = target[order]
    indptr_rev, order_rev = _csr_order(indices, n_states)
    indices_rev = source[order][order_rev]
    matrix = csr_array((np.ones(indices.size, np.int8), indices, indptr), shape=(n_states, n_states))
    n_parts, strong = connected_components(matrix, directed=True, connection="strong")
    sizes = np.bincount(strong, minlength=n_parts)
    has_arcs = np.diff(indptr) + np.diff(indptr_rev) > 0
    largest = int(sizes.max(initial=0))
    is_main = (sizes >= min(MINIMUM_REACHABILITY, max(largest, 1)))[strong] & has_arcs
    leads_to_main = road.reach(indptr_rev, indices_rev, is_main)
    led_from_main = road.reach(indptr, indices, is_main)
    exit_arcs_sorted = place[exit_arcs]
    exit_states = indices[exit_arcs_sorted]
    _, weak = connected_components(matrix, directed=True, connection="weak")
    return Topology(
        is_open=is_open,
        indptr=indptr,
        indices=indices,
        arc_edge=arc_edge[order],
        arc_extra_ms=extra_ms[order],
        arc_boards=boards[order],
        indptr_rev=indptr_rev,
        indices_rev=indices_rev,
        order_rev=order_rev,
        entry_indptr=entry_indptr,
        entry_states=entry_states,
        exit_indptr=exit_indptr,
        exit_states=exit_states,
        exit_arcs=exit_arcs_sorted,
        state_edge=state_edge,
        can_leave=_any_port(exit_indptr, leads_to_main[exit_states]),
        can_arrive=_any_port(entry_indptr, led_from_main[entry_states]),
        component=weak.astype(np.int32),
    )


def _any_port(indptr: Int64Array, claim: BoolArray) -> BoolArray:
    """Return for each edge whether a port of either of its directions meets the claim."""
    counts = np.concatenate([[0], np.cumsum(claim)])
    by_directed = counts[indptr[1:]] > counts[indptr[:-1]]
    return np.asarray(by_directed[0::2] | by_directed[1::2])


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
    typical = float(np.median(weights >> road.TIME_SHIFT)) if weights.size else 1000.0
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


def make_labels(time_ms: Int64Array | np.int64, length_cm: Int64Array | np.int64, metric: Metric) -> Int64Array:
    """Return labels: what is minimised in the upper 32 bits, the other part in the lower."""
    if metric == "distance":
        return np.asarray((length_cm << road.TIME_SHIFT) + time_ms)
    return np.asarray((time_ms << road.TIME_SHIFT) + length_cm)


def connector_labels(distance_m: npt.NDArray[np.floating[Any]], metric: Metric, *, is_counted: bool) -> Int64Array:
    """Return the labels of the walks between points and their streets, 0 unless they count."""
    if not is_counted:
        return np.zeros(distance_m.shape, np.int64)
    metres = np.where(np.isfinite(distance_m), distance_m, 0.0)
    return make_labels(costs.connector_ms(metres), np.rint(metres * 100.0).astype(np.int64), metric)


def limit_label(limit: float, metric: Metric) -> np.int64:
    """Return the largest label within `limit` seconds or metres, whatever its other part."""
    units = 100 if metric == "distance" else 1000
    return np.int64(((int(limit * units) + 1) << road.TIME_SHIFT) - 1)


def take_rows(ports: Ports, first: int, last: int) -> Ports:
    """Return some consecutive rows of a CSR of ports."""
    indptr, states, keys = ports
    begin, end = indptr[first], indptr[last]
    return indptr[first : last + 1] - begin, states[begin:end], keys[begin:end]
