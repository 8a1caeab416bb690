"""
Build the states, arcs and ports of a mode from the tables of streets.

For walking and cycling the states are *nodes*. For driving they are *directed edges* (a state means "about to enter
this edge"), because the cost of a turn and whether it is allowed depend on the previous edge. Additional states
represent partly travelled restrictions via other ways, and destination-only zones entered from outside.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from traveltime_lab._arrays import BoolArray, FloatArray, Int32Array, Int64Array, indptr_of, unique_values
from traveltime_lab.crs import LocalFrame
from traveltime_lab.kernels.street import reading, turns
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.streets import avoid, costs, step_free, stress
from traveltime_lab.streets.access_zones import access_zones
from traveltime_lab.streets.chains import Chains, chains, distinct
from traveltime_lab.streets.components import order_by_row, strong, weak
from traveltime_lab.streets.graph import Topology
from traveltime_lab.streets.junctions import interleave, junction_of_ends
from traveltime_lab.streets.restriction_hours import holding
from traveltime_lab.streets.tables import (
    ACCESS_DESTINATION,
    ACCESS_PRIVATE,
    ACCESS_YES,
    CLOSED_BY_CHANGE,
    NODE_BLOCKS_DRIVING,
    NODE_SIGNALS,
    StreetTables,
)
from traveltime_lab.streets.turn_restrictions import EdgeArcs, add_path_states, apply_turn_bans

#: Size of a strongly connected component from which on it is not an island; the number is that of
#: `minimum_reachability` in Valhalla. Junctions and ends of streets are counted on foot and by bicycle, streets and
#: directions by car, so that it does not matter where ways are cut.
MINIMUM_REACHABILITY = 50


def open_edges(tables: StreetTables, transportation: Transportation, *, before_changes: bool = False) -> BoolArray:
    """
    Return which directed edges are open to a transportation.

    Parameters
    ----------
    tables : StreetTables
    transportation : Transportation
    before_changes : bool, default False
        Whether to include those that a change has closed.

    Returns
    -------
    bool array of shape (2 * n_edges,)
    """
    base = transportation.base
    uses = tables.uses
    access = uses[f"{base}_access"].to_numpy()
    if before_changes:
        access = access & ~np.uint8(CLOSED_BY_CHANGE)
    allowed = (access == ACCESS_YES) | (access == ACCESS_DESTINATION)
    if transportation.street.has_road_options:
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
    most = transportation.stress_limit
    if most is not None:
        stress.check_known(tables)
        too_much = stress.above(stress.street_levels(tables), most)
        is_open &= ~(too_much & ~_is_walked(tables)) if transportation.push_above_stress else ~too_much
    if transportation.step_free:
        is_open &= ~np.repeat(step_free.is_barred(tables, transportation), 2)
    if transportation.avoid:
        is_open &= ~np.repeat(avoid.is_avoided(tables, transportation), 2)
    return is_open


def _is_walked(tables: StreetTables) -> BoolArray:
    """Return which directed edges are open to walking."""
    access = tables.uses["walking_access"].to_numpy()
    allowed = (access == ACCESS_YES) | (access == ACCESS_DESTINATION)
    both = [allowed & (tables.uses[f"walking_kph_{way}"].to_numpy() > 0) for way in ("forward", "backward")]
    return np.stack([each[tables.edge_use] for each in both], axis=1).ravel()


def build_topology(
    tables: StreetTables,
    transportation: Transportation,
    frame: LocalFrame,
    *,
    is_left_hand: bool,
    timed: BoolArray,
) -> Topology:
    """
    Build the states, arcs and ports of a mode; see `Topology`.

    Parameters
    ----------
    tables : StreetTables
    transportation : Transportation
    frame : LocalFrame
    is_left_hand : bool
        Whether traffic keeps left.
    timed : bool array of shape (n_timed,)
        Which of the restrictions that do not always hold do so; see `traveltime_lab.streets.restriction_hours`.
    """
    # Closed streets take part until the end: without them a junction of three streets would be a bend, which costs
    # less, a mandatory turn would not hold, and a street behind them would be part of a destination-only zone.
    is_open = open_edges(tables, transportation, before_changes=True)
    if transportation.street.has_turns:
        whole = _topology_of_edges(tables, is_open, frame, is_left_hand=is_left_hand, holds=holding(tables, timed))
    else:
        whole = _topology_of_nodes(tables, is_open, _barred(tables, is_open, transportation), transportation)
    every = _on_every_street(transportation)
    if every != transportation:
        whole = _on_streets_of(whole, build_topology(tables, every, frame, is_left_hand=is_left_hand, timed=timed))
    closed = is_open & ~open_edges(tables, transportation)
    return _without(whole, closed) if closed.any() else whole


def _on_every_street(means: Transportation) -> Transportation:
    """Return a means of transportation without limits of the streets themselves."""
    if means.stress_limit is not None:
        return replace(means, max_stress=None, push_above_stress=False)
    if means.step_free or means.avoid:
        return replace(means, step_free=None, max_incline=None, min_width=None, avoid=())
    return means


def _on_streets_of(some: Topology, every: Topology) -> Topology:
    """
    Return a topology of calm, step-free, lit or paved streets with the islands of all streets.

    A calm street that busy ones surround is no island: a point there would be moved to another one across these. Nor is
    a street that stairs surround, which wheelchair users there cannot leave, or a lit one that unlit ones surround.
    """
    used = some.is_open[0::2] | some.is_open[1::2]
    return replace(some, can_leave=every.can_leave & used, can_arrive=every.can_arrive & used)


class _Barred(NamedTuple):
    """
    Directed edges that end at a crossing of too much stress, and those that may follow them nonetheless.

    Attributes
    ----------
    edges : int64 array of shape (n_barred,)
        The directed edges, in ascending order.
    before, after : int64 arrays of shape (n_ways,)
        Directed edges, of which the first are positions in `edges`, that may follow one another.
    """

    edges: Int64Array
    before: Int64Array
    after: Int64Array


def _barred(tables: StreetTables, is_open: BoolArray, transportation: Transportation) -> _Barred:
    """Return the open directed edges at whose ends there is a crossing of too much stress."""
    most = transportation.stress_limit
    if most is None or transportation.push_above_stress:
        return _Barred(*(np.zeros(0, np.int64),) * 3)
    found = stress.crossings(tables)
    start, node = junction_of_ends(tables, transportation)
    here = is_open[found.arriving] & is_open[found.leaving] & (start == node)[found.leaving]
    arriving, leaving, is_above = found.arriving[here], found.leaving[here], found.level[here] > most
    edges = unique_values(arriving[is_above])
    allowed = ~is_above & np.isin(arriving, edges)
    return _Barred(edges, np.searchsorted(edges, arriving[allowed]), leaving[allowed])


def _without(whole: Topology, closed: BoolArray) -> Topology:
    """Return a topology without travel along some directed edges; states, and where points may be, stay."""
    kept = ~closed[whole.arc_edge]
    place = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    source = np.repeat(np.arange(whole.n_states), np.diff(whole.indptr))[kept]
    indices = whole.indices[kept]
    indptr, _ = order_by_row(source, whole.n_states)
    indptr_rev, order_rev = order_by_row(indices, whole.n_states)
    entries = ~np.repeat(closed, np.diff(whole.entry_indptr))
    exits = kept[whole.exit_arcs]
    return replace(
        whole,
        is_open=whole.is_open & ~closed,
        indptr=indptr,
        indices=indices,
        arc_edge=whole.arc_edge[kept],
        arc_extra_ms=whole.arc_extra_ms[kept],
        arc_boards=whole.arc_boards[kept],
        indptr_rev=indptr_rev,
        indices_rev=source[order_rev].astype(whole.indices_rev.dtype),
        order_rev=order_rev,
        entry_indptr=_rows_left(whole.entry_indptr, entries),
        entry_states=whole.entry_states[entries],
        exit_indptr=_rows_left(whole.exit_indptr, exits),
        exit_states=whole.exit_states[exits],
        exit_arcs=place[whole.exit_arcs[exits]],
        component=weak(source, indices, whole.n_states)[1],
    )


def _rows_left(indptr: Int64Array, kept: BoolArray) -> Int64Array:
    """Return the index pointer of a CSR of which some values are kept."""
    return indptr_of(kept)[indptr]


def _topology_of_nodes(
    tables: StreetTables, is_open: BoolArray, barred: _Barred, transportation: Transportation
) -> Topology:
    """
    Build a graph whose states are nodes; a node that blocks the mode is split into one state per street.

    Edges after which a crossing is barred lead to a state of their own, with arcs to the edges that may follow.
    """
    state_at_start, tail = junction_of_ends(tables, transportation)
    first_added = max(tables.node_lng.size, int(state_at_start.max(initial=-1)) + 1)
    n_states = first_added + barred.edges.size
    edges = np.flatnonzero(is_open).astype(np.int32)
    state_at_end = state_at_start[np.arange(state_at_start.size) ^ 1]
    state_at_end[barred.edges] = first_added + np.arange(barred.edges.size)
    # A plain arc for each edge, then those from the states of barred crossings.
    arc_edge = np.concatenate([edges, barred.after]).astype(np.int32)
    source = np.concatenate([state_at_start[edges], first_added + barred.before]).astype(np.int32)
    target = state_at_end[arc_edge]
    head = tail[arc_edge ^ 1]
    extra_ms = np.where((tables.node_flags[head] & NODE_SIGNALS) != 0, round(costs.SIGNAL_S * 1000), 0).astype(np.int32)
    is_ferry = np.repeat(tables.uses["is_ferry"].to_numpy()[tables.edge_use], 2)
    lands = np.zeros(first_added, np.bool_)
    lands[state_at_start[edges[~is_ferry[edges]]]] = True
    lands[state_at_start[edges[~is_ferry[edges]] ^ 1]] = True
    boards = is_ferry[arc_edge] & lands[state_at_start[arc_edge]]
    # Plain states come first at each edge.
    entry_indptr, by_edge = order_by_row(arc_edge, is_open.size)
    entries = entry_indptr.astype(np.int64), source[by_edge]
    indptr, order = order_by_row(source, n_states)
    place = np.empty(order.size, np.int32)
    place[order] = np.arange(order.size, dtype=np.int32)
    return _finish(
        is_open,
        _Arcs(indptr, source[order], target[order], arc_edge[order], extra_ms[order], boards[order]),
        entries,
        (indptr_of(is_open), place[: edges.size]),
        np.full(n_states, -1, np.int32),
        chains(is_open, state_at_start, n_states),
    )


def bearings(tables: StreetTables, frame: LocalFrame) -> tuple[FloatArray, FloatArray]:
    """
    Return the compass bearings at the start and the end of each directed edge, in its own direction.

    They are measured on the first and the last segment of the line.

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

    start = interleave(bearing(first, first + 1), bearing(last, last - 1))
    end = interleave(bearing(last - 1, last), bearing(first + 1, first))
    return start, end


def _topology_of_edges(
    tables: StreetTables, is_open: BoolArray, frame: LocalFrame, *, is_left_hand: bool, holds: BoolArray
) -> Topology:
    """Build a graph whose states are directed edges, with turn costs and restrictions."""
    edges = np.flatnonzero(is_open).astype(np.int32)
    is_ferry = np.repeat(tables.uses["is_ferry"].to_numpy()[tables.edge_use], 2)
    source, target, extra_ms = _turns(tables, edges, is_ferry, frame, is_left_hand=is_left_hand)
    keep, paths = apply_turn_bans(tables, source, target, is_open, holds)
    # One after the other here and below, as the arcs are most of the memory.
    source = source[keep]
    target = target[keep]
    extra_ms = extra_ms[keep]
    along = chains(is_open, junction_of_ends(tables, Transportation("driving"))[0], tables.node_lng.size + is_open.size)
    arcs, state_of_edge, state_edge, is_inside = _with_zones(tables, is_open, edges, source, target, extra_ms, along)
    del source, target, extra_ms, keep
    if paths:
        arcs, added = add_path_states(paths, arcs, state_of_edge, state_edge.size, is_inside)
        state_edge = np.concatenate([state_edge, added])
    state_edge = state_edge.astype(np.int32)

    state, target, source_edge, target_edge, extra_ms = arcs
    boards = ~is_ferry[source_edge] & is_ferry[target_edge]
    del arcs, target_edge
    order = order_by_row(target, state_edge.size)[1]
    indptr, by_state = order_by_row(state[order], state_edge.size)
    order = order[by_state]
    del by_state
    state, target, source_edge = state[order], target[order], source_edge[order]
    extra_ms, boards = extra_ms[order], boards[order]
    del order
    entry_indptr, entry_states = order_by_row(state_edge, is_open.size)
    # Routes that begin on an edge leave it from its plain state: they have no previous edges.
    plain = np.flatnonzero(state < edges.size).astype(np.int32)
    exit_indptr, by_edge = order_by_row(source_edge[plain], is_open.size)
    return _finish(
        is_open,
        _Arcs(indptr, state, target, source_edge, extra_ms, boards),
        (entry_indptr.astype(np.int64), entry_states),
        (exit_indptr.astype(np.int64), plain[by_edge]),
        state_edge,
        along,
    )


class _Arcs(NamedTuple):
    """Arcs, sorted by the state that they leave."""

    indptr: Int32Array  # CSR by state
    source: Int32Array  # state
    target: Int32Array  # state
    edge: Int32Array  # directed edge that is left, or travelled in a graph of nodes
    extra_ms: Int32Array
    boards: BoolArray  # whether a ferry is boarded


def _turns(
    tables: StreetTables, edges: Int32Array, is_ferry: BoolArray, frame: LocalFrame, *, is_left_hand: bool
) -> tuple[Int32Array, Int32Array, Int32Array]:
    """Return the turns between open directed edges, without restrictions; see `turns.turn_arcs`."""
    tail = interleave(tables.edge_from, tables.edge_to).astype(np.int32)
    out_indptr, order = order_by_row(tail[edges], tables.node_lng.size)
    bearing_start, bearing_end = bearings(tables, frame)
    junctions = turns.Junctions(
        out_indptr=out_indptr.astype(np.int64),
        out_edges=edges[order],
        head=tail[np.arange(tail.size) ^ 1],
        bearing_start=bearing_start,
        bearing_end=bearing_end,
        is_roundabout=np.repeat(tables.uses["is_roundabout"].to_numpy()[tables.edge_use], 2),
        is_ferry=is_ferry,
        has_signals=(tables.node_flags & NODE_SIGNALS) != 0,
        is_blocked=(tables.node_flags & NODE_BLOCKS_DRIVING) != 0,
    )
    turn_costs = turns.TurnCosts(
        is_left_hand=is_left_hand,
        penalty_s=costs.TURN_PENALTY_S,
        bias=costs.TURN_BIAS,
        u_turn_ms=round(costs.U_TURN_S * 1000),
        signal_ms=round(costs.SIGNAL_S * 1000),
    )
    found: tuple[Int32Array, Int32Array, Int32Array] = turns.turn_arcs(junctions, turn_costs)
    return found


def _with_zones(
    tables: StreetTables,
    is_open: BoolArray,
    edges: Int32Array,
    source: Int32Array,
    target: Int32Array,
    extra_ms: Int32Array,
    along: Chains,
) -> tuple[EdgeArcs, Int32Array, Int32Array, BoolArray]:
    """
    Return the arcs between states, with further states for destination-only zones that were entered from outside.

    Returns
    -------
    arcs : EdgeArcs
    state_of_edge : int32 array of shape (n_directed,)
        Plain state of each directed edge, -1 where closed.
    state_edge : int32 array of shape (n_states,)
        Directed edge of each state: plain ones come first, then those of zones.
    is_inside : bool array of shape (n_directed,)
        Whether each directed edge is in a zone.
    """
    state_of_edge = np.full(is_open.size, -1, np.int32)
    state_of_edge[edges] = np.arange(edges.size, dtype=np.int32)
    access = (tables.uses["driving_access"].to_numpy() & ~np.uint8(CLOSED_BY_CHANGE))[tables.edge_use]
    is_destination = np.repeat(access == ACCESS_DESTINATION, 2) & is_open
    zones = access_zones(source, target, is_open, is_destination, along.of_directed)
    # A street of a zone that was entered from outside has a state with arcs to other such streets only.
    inside = np.flatnonzero(zones.is_inside).astype(np.int32)
    entered = np.full(is_open.size, -1, np.int32)
    entered[inside] = edges.size + np.arange(inside.size, dtype=np.int32)
    target_state, enters = state_of_edge[target], zones.enters(source, target)
    target_state[enters] = entered[target[enters]]
    arcs = EdgeArcs(state_of_edge[source], target_state, source, target, extra_ms)
    stays = np.flatnonzero(zones.stays(source, target))
    if stays.size:
        more = entered[source[stays]], entered[target[stays]], source[stays], target[stays], extra_ms[stays]
        arcs = EdgeArcs(*(np.concatenate(both) for both in zip(arcs, more, strict=True)))
    return arcs, state_of_edge, np.concatenate([edges, inside]), zones.is_inside


def _finish(
    is_open: BoolArray,
    arcs: _Arcs,
    entries: tuple[Int64Array, Int32Array],
    exits: tuple[Int64Array, Int32Array],
    state_edge: Int32Array,
    along: Chains,
) -> Topology:
    """
    Sort the arcs into the transposed CSR, too, and find the components of the graph.

    `entries` are the states by which each directed edge is entered, `exits` the arcs by which it is left, as CSR.
    """
    indptr, source, indices, arc_edge, extra_ms, boards = arcs
    (entry_indptr, entry_states), (exit_indptr, exit_arcs), n_states = entries, exits, state_edge.size
    indptr_rev, order_rev = order_by_row(indices, n_states)
    indices_rev = source[order_rev]
    n_groups, group = strong(indptr, indices)
    sizes = _sizes(group, n_groups, group[source[source == indices]], state_edge, along)
    has_arcs = np.diff(indptr) + np.diff(indptr_rev) > 0
    largest = int(sizes.max(initial=0))
    is_main = (sizes >= min(MINIMUM_REACHABILITY, max(largest, 1)))[group] & has_arcs
    leads_to_main = reading.reach(indptr_rev, indices_rev, is_main)
    led_from_main = reading.reach(indptr, indices, is_main)
    exit_states = indices[exit_arcs]
    return Topology(
        is_open=is_open,
        takes_points=is_open,
        indptr=indptr,
        indices=indices,
        arc_edge=arc_edge,
        arc_extra_ms=extra_ms,
        arc_boards=boards,
        indptr_rev=indptr_rev,
        indices_rev=indices_rev,
        order_rev=order_rev,
        entry_indptr=entry_indptr,
        entry_states=entry_states,
        exit_indptr=exit_indptr,
        exit_states=exit_states,
        exit_arcs=exit_arcs,
        state_edge=state_edge,
        can_leave=any_port(exit_indptr, leads_to_main[exit_states]),
        can_arrive=any_port(entry_indptr, led_from_main[entry_states]),
        component=weak(source, indices, n_states)[1],
        chain=along.of_edge,
        ends_chain=along.ends,
    )


def _sizes(strong: Int32Array, n_parts: int, looped: Int32Array, state_edge: Int32Array, along: Chains) -> Int64Array:
    """
    Return the sizes of strongly connected components, see `MINIMUM_REACHABILITY`.

    Parameters
    ----------
    strong : int32 array of shape (n_states,)
        Component of each state.
    n_parts : int
    looped : int32 array
        Components with an arc from a state to itself.
    state_edge : int32 array of shape (n_states,)
        Directed edges of the states, -1 if states are junctions.
    along : Chains
    """
    if (state_edge < 0).any():
        return np.maximum(np.bincount(strong[~along.is_inner], minlength=n_parts), 1)
    # One cannot come back to a part of a one-way street that is a component by itself: a street that is cut has more.
    is_cycle = np.bincount(strong, minlength=n_parts) > 1
    is_cycle[looped] = True
    return np.where(is_cycle, distinct(strong, along.of_directed[state_edge], n_parts), 0)


def any_port(indptr: Int64Array, claim: BoolArray) -> BoolArray:
    """Return for each edge whether `claim` is True for a port of either of its directions."""
    counts = indptr_of(claim)
    by_directed = counts[indptr[1:]] > counts[indptr[:-1]]
    return np.asarray(by_directed[0::2] | by_directed[1::2])
