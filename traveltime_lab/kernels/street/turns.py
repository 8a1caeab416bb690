"""
Build the arcs between directed edges and the ports of positions on edges.

An arc between two directed edges is a turn; its cost follows the turn function of OSRM, see
`traveltime_lab.streets.costs`.
"""

from __future__ import annotations

import numpy as np

from traveltime_lab.kernels.compiled import kernel


@kernel
def _turn_ms(bearing_in, bearing_out, is_left_hand, penalty_s, bias):
    """
    Return the milliseconds of a turn, a logistic function of its angle.

    `bias` makes turns across the oncoming lane cost more than the others.
    """
    angle = (bearing_out - bearing_in + 540.0) % 360.0 - 180.0
    if is_left_hand:
        angle = -angle
    if angle >= 0.0:
        seconds = penalty_s / (1.0 + np.exp(-((13.0 / bias) * angle / 180.0 - 6.5 * bias)))
    else:
        seconds = penalty_s / (1.0 + np.exp(-((13.0 * bias) * -angle / 180.0 - 6.5 / bias)))
    return np.int64(np.rint(seconds * 1000.0))


@kernel
def turn_arcs(
    out_indptr,
    out_edges,
    edge_head,
    bearing_start,
    bearing_end,
    node_signals,
    node_blocks,
    is_roundabout,
    is_ferry,
    is_left_hand,
    penalty_s,
    bias,
    u_turn_ms,
    signal_ms,
):
    """
    Return every turn that the geometry of a network allows, with its cost.

    Parameters
    ----------
    out_indptr, out_edges : int64 and int32 arrays
        CSR of the usable directed edges that leave each node.
    edge_head : int32 array of shape (n_directed,)
        Node at the end of each directed edge.
    bearing_start, bearing_end : float64 arrays of shape (n_directed,)
        Compass bearings in degrees at the start and the end of each directed edge, in its own direction.
    node_signals, node_blocks : bool arrays of shape (n_nodes,)
        Nodes with traffic signals; nodes with barriers that block driving.
    is_roundabout, is_ferry : bool arrays of shape (n_directed,)
    is_left_hand : bool
        Whether traffic keeps left.
    penalty_s, bias, u_turn_ms, signal_ms
        See `traveltime_lab.streets.costs`.

    Returns
    -------
    source, target : int32 arrays of shape (n_turns,)
        Directed edges before and after the turn, sorted by source.
    extra_ms : int64 array of shape (n_turns,)
        Milliseconds that the turn adds.

    Notes
    -----
    U-turns are allowed only where there is no other turn: at dead ends and in front of barriers. Staying on a
    roundabout and passing a node with at most two outgoing edges cost nothing but the signal.
    """
    total = 0
    for i in range(out_edges.size):
        head = edge_head[out_edges[i]]
        total += max(1, out_indptr[head + 1] - out_indptr[head])
    source = np.empty(total, np.int32)
    target = np.empty(total, np.int32)
    extra_ms = np.empty(total, np.int64)
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
        signal = signal_ms if node_signals[node] else np.int64(0)
        if not node_blocks[node]:
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


@kernel
def position_ports(
    edges,
    fractions,
    connectors,
    port_indptr,
    port_states,
    port_keys,
    traversal,
    is_entry,
    out_indptr,
    out_states,
    out_keys,
):
    """
    Return the ports of positions on edges.

    Call it with empty `out_states` and `out_keys` to count the ports, then with arrays of that size.

    Parameters
    ----------
    edges, fractions : int32 and float64 arrays of shape (n,)
        Edge of each position (-1 for none) and the fraction of the edge before it, from 0 at ``edge_from`` to 1.
    connectors : int64 array of shape (n,)
        Label of the connector between the point and the position.
    port_indptr, port_states, port_keys
        Entry or exit ports of directed edges, see `traveltime_lab.streets.graph.RoadGraph`.
    traversal : int64 array of shape (n_directed,)
        Label of each directed edge from start to end.
    is_entry : bool
        True for ports by which a position is reached, along the part of the edge before it; False for ports by which
        it is left, along the part after it.
    out_indptr, out_states, out_keys : int64, int32, int64 arrays
        Overwritten with the CSR of the ports of each position. Nothing is written if `out_states` is empty.

    Returns
    -------
    int
        Number of ports.
    """
    write = out_states.size > 0
    at = 0
    for i in range(edges.size):
        if write:
            out_indptr[i] = at
        if edges[i] >= 0:
            for side in range(2):
                d = 2 * edges[i] + side
                part = part_of(traversal[d], fractions[i] if side == 0 else 1.0 - fractions[i])
                key = connectors[i] + (part if is_entry else traversal[d] - part)
                for k in range(port_indptr[d], port_indptr[d + 1]):
                    if write:
                        out_states[at] = port_states[k]
                        out_keys[at] = key + port_keys[k]
                    at += 1
    if write:
        out_indptr[edges.size] = at
    return at


@kernel
def part_of(traversal, share):
    """Return the label of the first `share` (0 to 1) of an edge with label `traversal`, time and length rounded."""
    time = np.int64((traversal >> 32) * share + 0.5)
    length = np.int64((traversal & 0xFFFFFFFF) * share + 0.5)
    return (time << 32) + length


@kernel
def along_same_edge(edge_a, fraction_a, edge_b, fraction_b, traversal, is_open):
    """Return the label of travelling from one position to another along one edge, ``1 << 62`` if that is impossible."""
    best = np.int64(1) << np.int64(62)
    if edge_a < 0 or edge_a != edge_b:
        return best
    for side in range(2):
        d = 2 * edge_a + side
        if not is_open[d]:
            continue
        a = fraction_a if side == 0 else 1.0 - fraction_a
        b = fraction_b if side == 0 else 1.0 - fraction_b
        if a <= b:
            best = min(best, part_of(traversal[d], b) - part_of(traversal[d], a))
    return best


@kernel
def improve_along_edges(
    edge_a,
    fraction_a,
    connector_a,
    edge_b,
    fraction_b,
    connector_b,
    is_forward,
    traversal,
    is_open,
    by_edge,
    limit,
    result,
):
    """
    Lower the labels of a matrix where origin and destination lie on one edge and no junction is between them.

    Parameters
    ----------
    edge_a, fraction_a, connector_a : int32, float64, int64 arrays of shape (n_rows,)
    edge_b, fraction_b, connector_b : int32, float64, int64 arrays of shape (n_columns,)
        Positions of rows and of columns and the labels of their connectors.
    is_forward : bool
        True if routes lead from rows to columns, False if they lead from columns to rows.
    traversal, is_open : int64 and bool arrays of shape (n_directed,)
        Labels of the directed edges, and whether they may be used.
    by_edge : int64 array of shape (n_columns,)
        Columns sorted by edge.
    limit : int64 array of shape (n_rows,)
        Larger labels are not written.
    result : int64 array of shape (n_rows, n_columns)
        Lowered in place.
    """
    n = edge_b.size
    for row in range(edge_a.size):
        if edge_a[row] < 0:
            continue
        low, high = 0, n
        while low < high:
            middle = (low + high) // 2
            if edge_b[by_edge[middle]] < edge_a[row]:
                low = middle + 1
            else:
                high = middle
        while low < n and edge_b[by_edge[low]] == edge_a[row]:
            column = by_edge[low]
            if is_forward:
                direct = along_same_edge(
                    edge_a[row], fraction_a[row], edge_b[column], fraction_b[column], traversal, is_open
                )
            else:
                direct = along_same_edge(
                    edge_b[column], fraction_b[column], edge_a[row], fraction_a[row], traversal, is_open
                )
            direct += connector_a[row] + connector_b[column]
            if direct <= limit[row] and direct < result[row, column]:
                result[row, column] = direct
            low += 1


@kernel
def improve_aligned(
    edge_a, fraction_a, connector_a, edge_b, fraction_b, connector_b, traversal, is_open, limit, result
):
    """
    Lower the labels of pairs whose origin and destination lie on one edge; see `improve_along_edges`.

    Parameters
    ----------
    edge_a, fraction_a, connector_a, edge_b, fraction_b, connector_b : arrays of shape (n_pairs,)
        Positions of origins and of destinations and the labels of their connectors.
    traversal, is_open : int64 and bool arrays of shape (n_directed,)
    limit : int64
        Larger labels are not written.
    result : int64 array of shape (n_pairs,)
        Lowered in place.
    """
    for i in range(edge_a.size):
        direct = along_same_edge(edge_a[i], fraction_a[i], edge_b[i], fraction_b[i], traversal, is_open)
        direct += connector_a[i] + connector_b[i]
        if direct <= limit and direct < result[i]:
            result[i] = direct
