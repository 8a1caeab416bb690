"""
Build the arcs between directed edges and the ports of positions on edges.

An arc between two directed edges is a turn; its cost follows the turn function of OSRM, see
`traveltime_lab.streets.costs`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.prefetch import prefetch
from traveltime_lab.kernels.records import Ports
from traveltime_lab.kernels.unreached import UNREACHED

#: How many positions ahead `read_positions` prefetches.
_AHEAD = 8


class Junctions(NamedTuple):
    """Directed edges and the nodes where they meet."""

    out_indptr: np.ndarray  # int64 (n_nodes + 1,), CSR of the usable directed edges that leave each node
    out_edges: np.ndarray  # int32
    head: np.ndarray  # int32 (n_directed,), node at the end
    bearing_start: np.ndarray  # float64 (n_directed,), compass bearing in degrees at the start, in its own direction
    bearing_end: np.ndarray  # float64 (n_directed,), and at the end
    is_roundabout: np.ndarray  # bool (n_directed,)
    is_ferry: np.ndarray  # bool (n_directed,)
    has_signals: np.ndarray  # bool (n_nodes,)
    is_blocked: np.ndarray  # bool (n_nodes,), whether a barrier blocks driving


class TurnCosts(NamedTuple):
    """Costs of turns; see `traveltime_lab.streets.costs`."""

    is_left_hand: bool  # whether traffic keeps left
    penalty_s: float
    bias: float  # makes turns across the oncoming lane cost more than the others
    u_turn_ms: int
    signal_ms: int


@kernel
def _turn_ms(bearing_in, bearing_out, is_left_hand, penalty_s, bias):
    """Return the milliseconds of a turn, a logistic function of its angle; see `TurnCosts`."""
    angle = (bearing_out - bearing_in + 540.0) % 360.0 - 180.0
    if is_left_hand:
        angle = -angle
    if angle >= 0.0:
        seconds = penalty_s / (1.0 + np.exp(-((13.0 / bias) * angle / 180.0 - 6.5 * bias)))
    else:
        seconds = penalty_s / (1.0 + np.exp(-((13.0 * bias) * -angle / 180.0 - 6.5 / bias)))
    return np.int64(np.rint(seconds * 1000.0))


@kernel
def turn_arcs(junctions, costs):
    """
    Return every turn that the geometry of a network allows, with its cost.

    Parameters
    ----------
    junctions : Junctions
    costs : TurnCosts

    Returns
    -------
    source, target : int32 arrays of shape (n_turns,)
        Directed edges before and after the turn, sorted by source.
    extra_ms : int32 array of shape (n_turns,)
        Milliseconds that the turn adds.

    Notes
    -----
    U-turns are allowed only where there is no other turn: at dead ends and in front of barriers. Staying on a
    roundabout and passing a node with at most two outgoing edges cost nothing but the signal.
    """
    out_indptr, out_edges, edge_head = junctions.out_indptr, junctions.out_edges, junctions.head
    bearing_start, bearing_end = junctions.bearing_start, junctions.bearing_end
    is_roundabout, is_ferry = junctions.is_roundabout, junctions.is_ferry
    has_signals, is_blocked = junctions.has_signals, junctions.is_blocked
    is_left_hand, penalty_s, bias, u_turn_ms, signal_ms = costs
    total = 0
    for i in range(out_edges.size):
        head = edge_head[out_edges[i]]
        total += max(1, out_indptr[head + 1] - out_indptr[head])
    source = np.empty(total, np.int32)
    target = np.empty(total, np.int32)
    extra_ms = np.empty(total, np.int32)
    n = 0
    is_out = np.zeros(edge_head.size, np.bool_)
    for i in range(out_edges.size):
        is_out[out_edges[i]] = True
    for d in range(edge_head.size):
        if not is_out[d]:
            continue
        node = edge_head[d]
        first, last = out_indptr[node], out_indptr[node + 1]
        n_before = n
        signal = signal_ms if has_signals[node] else np.int64(0)
        if not is_blocked[node]:
            streets = last - first
            for k in range(first, last):
                f = out_edges[k]
                if f == d ^ 1:
                    continue
                extra = signal
                # Cars do not slow down for a turn inside a roundabout, and boarding a ferry is not a turn.
                if streets > 2 and not (is_roundabout[d] and is_roundabout[f]) and not (is_ferry[d] or is_ferry[f]):
                    extra += _turn_ms(bearing_end[d], bearing_start[f], is_left_hand, penalty_s, bias)
                source[n] = d
                target[n] = f
                extra_ms[n] = extra
                n += 1
        if n == n_before:
            for k in range(first, last):
                if out_edges[k] == d ^ 1:
                    source[n] = d
                    target[n] = d ^ 1
                    extra_ms[n] = u_turn_ms
                    n += 1
    return source[:n], target[:n], extra_ms[:n]


class ByEdge(NamedTuple):
    """Positions sorted by edge, and the points that they belong to."""

    order: np.ndarray  # int64 (n,), positions
    owner: np.ndarray  # int64 (n,), point of each position


@kernel
def position_ports(positions, edge_ports, traversal, is_entry):
    """
    Return the ports of points, which are those of all their positions.

    Parameters
    ----------
    positions : Positions
    edge_ports : Ports
        Entry or exit ports of directed edges.
    traversal : int64 array of shape (n_directed,)
        Label of each directed edge from start to end.
    is_entry : bool
        True for ports by which a position is reached, along the part of the edge before it; False for ports by which
        it is left, along the part after it.

    Returns
    -------
    Ports
    """
    point_indptr, edges, fractions, connectors = positions
    port_indptr, port_states, port_keys = edge_ports
    indptr = np.zeros(point_indptr.size, np.int64)
    for i in range(indptr.size - 1):
        indptr[i + 1] = indptr[i]
        for p in range(point_indptr[i], point_indptr[i + 1]):
            # Both directed edges of an edge follow each other.
            first = 2 * np.int64(edges[p])
            indptr[i + 1] += port_indptr[first + 2] - port_indptr[first]
    states = np.empty(indptr[-1], np.int32)
    keys = np.empty(indptr[-1], np.int64)
    at = 0
    for p in range(point_indptr[0], point_indptr[-1]):
        for side in range(2):
            d = 2 * edges[p] + side
            part = part_of(traversal[d], fractions[p] if side == 0 else 1.0 - fractions[p])
            key = connectors[p] + (part if is_entry else traversal[d] - part)
            for k in range(port_indptr[d], port_indptr[d + 1]):
                states[at] = port_states[k]
                keys[at] = key + port_keys[k]
                at += 1
    return Ports(indptr, states, keys)


@kernel
def read_positions(label, positions, edge_ports, traversal, is_entry, above, above_key, limit, first, last, result):
    """
    Write the smallest labels of points after one search, without making their ports.

    Parameters
    ----------
    label : int64 array of shape (n_states,)
        Labels of the search, `UNREACHED` elsewhere.
    positions, edge_ports, traversal, is_entry
        As in `position_ports`.
    above, above_key : int32 and int64 arrays of shape (n_states,)
        As in `traveltime_lab.kernels.street.reduction.expand_reads`.
    limit : int64
        Larger labels are not written.
    first, last : int
        The points.
    result : int64 array of shape (n_points,)
        Overwritten from `first` to ``last - 1``; `UNREACHED` beyond the limit.
    """
    point_indptr, edges, fractions, connectors = positions
    port_indptr, port_states, port_keys = edge_ports
    n = point_indptr[last]
    for i in range(first, last):
        best = UNREACHED
        # Prefetch the data of the points ahead, in the order of the lookups.
        ahead = point_indptr[i] + 2 * _AHEAD
        if ahead < n:
            d = 2 * np.int64(edges[ahead])
            prefetch(port_indptr, d)
            prefetch(traversal, d)
        ahead -= _AHEAD
        if ahead < n:
            d = 2 * np.int64(edges[ahead])
            for k in range(port_indptr[d], port_indptr[d + 2]):
                prefetch(label, np.int64(port_states[k]))
                prefetch(above, np.int64(port_states[k]))
                prefetch(above_key, np.int64(port_states[k]))
        for p in range(point_indptr[i], point_indptr[i + 1]):
            for side in range(2):
                d = 2 * np.int64(edges[p]) + side
                if port_indptr[d] == port_indptr[d + 1]:
                    continue
                part = part_of(traversal[d], fractions[p] if side == 0 else 1.0 - fractions[p])
                key = connectors[p] + (part if is_entry else traversal[d] - part)
                for k in range(port_indptr[d], port_indptr[d + 1]):
                    state = port_states[k]
                    if label[state] != UNREACHED:
                        best = min(best, label[state] + key + port_keys[k])
                    if above[state] >= 0 and label[above[state]] != UNREACHED:
                        best = min(best, label[above[state]] + above_key[state] + key + port_keys[k])
        result[i] = best if best <= limit else UNREACHED


@kernel
def part_of(traversal, share):
    """Return the label of the first `share` (0 to 1) of an edge with label `traversal`, time and length rounded."""
    time = np.int64((traversal >> 32) * share + 0.5)
    length = np.int64((traversal & 0xFFFFFFFF) * share + 0.5)
    return (time << 32) + length


@kernel
def along_same_edge(edge_a, fraction_a, edge_b, fraction_b, directed):
    """Return the label of travelling from one position to another along one edge, `UNREACHED` if that is impossible."""
    best = UNREACHED
    if edge_a != edge_b:
        return best
    for side in range(2):
        d = 2 * edge_a + side
        if not directed.is_open[d]:
            continue
        a = fraction_a if side == 0 else 1.0 - fraction_a
        b = fraction_b if side == 0 else 1.0 - fraction_b
        if a <= b:
            best = min(best, part_of(directed.traversal[d], b) - part_of(directed.traversal[d], a))
    return best


@kernel
def improve_along_edges(rows, columns, is_forward, directed, by_edge, limit, result):
    """
    Lower the labels of a matrix where origin and destination lie on one edge and no junction is between them.

    Parameters
    ----------
    rows, columns : Positions
    is_forward : bool
        True if routes lead from rows to columns, False if they lead from columns to rows.
    directed : Directed
    by_edge : ByEdge
        The positions of the columns, or those on edges of the rows.
    limit : int64 array of shape (n_rows,)
        Larger labels are not written.
    result : int64 array of shape (n_rows, n_columns)
        Lowered in place.
    """
    order, owner = by_edge
    edge_b = columns.edge
    for row in range(rows.indptr.size - 1):
        for a in range(rows.indptr[row], rows.indptr[row + 1]):
            edge = rows.edge[a]
            low, high = 0, order.size
            while low < high:
                middle = (low + high) // 2
                if edge_b[order[middle]] < edge:
                    low = middle + 1
                else:
                    high = middle
            while low < order.size and edge_b[order[low]] == edge:
                b = order[low]
                column = owner[b]
                if is_forward:
                    direct = along_same_edge(edge, rows.fraction[a], edge_b[b], columns.fraction[b], directed)
                else:
                    direct = along_same_edge(edge_b[b], columns.fraction[b], edge, rows.fraction[a], directed)
                direct += rows.connector[a] + columns.connector[b]
                if direct <= limit[row] and direct < result[row, column]:
                    result[row, column] = direct
                low += 1


@kernel
def improve_pairs(origins, destinations, origin_of, destination_of, directed, limit, result):
    """
    Lower the labels of pairs whose origin and destination lie on one edge; see `improve_along_edges`.

    Parameters
    ----------
    origins, destinations : Positions
    origin_of, destination_of : intp arrays of shape (n_pairs,)
        Points of each pair.
    directed : Directed
    limit : int64
        Larger labels are not written.
    result : int64 array of shape (n_pairs,)
        Lowered in place.
    """
    for i in range(result.size):
        for a in range(origins.indptr[origin_of[i]], origins.indptr[origin_of[i] + 1]):
            for b in range(destinations.indptr[destination_of[i]], destinations.indptr[destination_of[i] + 1]):
                direct = along_same_edge(
                    origins.edge[a], origins.fraction[a], destinations.edge[b], destinations.fraction[b], directed
                )
                direct += origins.connector[a] + destinations.connector[b]
                if direct <= limit and direct < result[i]:
                    result[i] = direct
