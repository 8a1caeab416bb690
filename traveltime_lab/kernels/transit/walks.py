"""
Find the states of the street graph within walking distance of stops, and the stops within walking distance of points.

Times are int32 milliseconds. The walking budget covers the whole walk, including connectors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.records import StopLinks
from traveltime_lab.kernels.street.road import TIME_SHIFT, _grow, new_queue, search
from traveltime_lab.kernels.street.turns import along_same_edge
from traveltime_lab.kernels.unreached import NEVER, NEVER_KEY, UNREACHED

#: Mask of the walk in the key of a state; see `spread`.
WALK_MASK = np.int64((1 << TIME_SHIFT) - 1)
#: Number of walks that arrays have room for at first; they grow where necessary.
_ROOM = 1 << 16
#: Classes of times into which the walks around a stop are sorted first.
_CLASSES = 128


class StatesAround(NamedTuple):
    """CSR of the states within walking distance of each stop."""

    indptr: np.ndarray  # int64 (n_stops + 1,)
    states: np.ndarray  # int32
    ms: np.ndarray  # int32, walking times, connector of the stop included


class StopsOnEdges(NamedTuple):
    """CSR by edge of the stops that have a position on it."""

    indptr: np.ndarray  # int64 (n_edges + 1,)
    stops: np.ndarray  # int32 (n,)
    fraction: np.ndarray  # float64 (n,), position on the edge, 0 to 1
    connector: np.ndarray  # int64 (n,), label of the connector between stop and street
    n_stops: int


@kernel
def states_around(arcs, seeds, limit, shift, n_buckets):
    """
    Return the states around each row of seeds within a limit.

    Parameters
    ----------
    arcs : Arcs
    seeds : Ports
        Seeds of each stop.
    limit : int64
        Largest label to settle.
    shift, n_buckets : int
        As in `traveltime_lab.kernels.street.road.one_to_all`.

    Returns
    -------
    around : StatesAround
        The states of a row are in no order.
    cm : int32 array
        Lengths of the walks, connector of the stop included.
    """
    n_states = arcs.indptr.size - 1
    n_rows = seeds.indptr.size - 1
    label = np.full(n_states, UNREACHED, np.int64)
    parent = np.empty(0, np.int32)
    queue = new_queue(n_states, shift, n_buckets)
    indptr = np.zeros(n_rows + 1, np.int64)
    states = np.empty(_ROOM, np.int32)
    walk_ms = np.empty(_ROOM, np.int32)
    walk_cm = np.empty(_ROOM, np.int32)
    at = 0
    for row in range(n_rows):
        first, last = seeds.indptr[row], seeds.indptr[row + 1]
        queue, touched = search(arcs, seeds.states[first:last], seeds.keys[first:last], limit, label, parent, queue)
        while at + touched.size > states.size:
            states = _grow(states)
            walk_ms = _grow(walk_ms)
            walk_cm = _grow(walk_cm)
        for state in touched:
            states[at] = state
            walk_ms[at] = np.int32(label[state] >> TIME_SHIFT)
            walk_cm[at] = np.int32(label[state] & WALK_MASK)
            label[state] = UNREACHED
            at += 1
        indptr[row + 1] = at
    return StatesAround(indptr, states[:at].copy(), walk_ms[:at].copy()), walk_cm[:at].copy()


@kernel
def turned(indptr, columns, values, others, n_columns):
    """
    Return the transposed CSR.

    Parameters
    ----------
    indptr, columns, values : int64, int32 and any arrays
    others : any array
        Further values, or an empty array.
    n_columns : int

    Returns
    -------
    indptr, rows, values, others : int64, int32 and any arrays
        The rows of the input ascend within a row of the result.
    """
    out_indptr = np.zeros(n_columns + 1, np.int64)
    for column in columns:
        out_indptr[column + 1] += 1
    for column in range(n_columns):
        out_indptr[column + 1] += out_indptr[column]
    at = out_indptr[:-1].copy()
    rows = np.empty(columns.size, np.int32)
    out_values, out_others = np.empty(columns.size, values.dtype), np.empty(others.size, others.dtype)
    for row in range(indptr.size - 1):
        for k in range(indptr[row], indptr[row + 1]):
            place = at[columns[k]]
            rows[place] = row
            out_values[place] = values[k]
            if others.size > 0:
                out_others[place] = others[k]
            at[columns[k]] += 1
    return out_indptr, rows, out_values, out_others


@kernel
def sort_by_time(around, first, last, budget_ms):
    """
    Sort the states around stops in place, nearest first; states at the same time keep their order.

    Parameters
    ----------
    around : StatesAround
        With times from 0.
    first, last : int
        Stops `first` to ``last - 1`` are sorted.
    budget_ms : int
        Longest walk.
    """
    indptr, states, walk_ms = around
    shift = 0
    while budget_ms >> shift >= _CLASSES:
        shift += 1
    ends = np.zeros(_CLASSES + 1, np.int64)
    old_states, old_ms = np.empty(_ROOM, np.int32), np.empty(_ROOM, np.int32)
    for stop in range(first, last):
        begin, end = indptr[stop], indptr[stop + 1]
        while end - begin > old_ms.size:
            old_states = _grow(old_states)
            old_ms = _grow(old_ms)
        # Into classes of similar times first.
        ends[:] = 0
        for k in range(begin, end):
            old_states[k - begin], old_ms[k - begin] = states[k], walk_ms[k]
            ends[(walk_ms[k] >> shift) + 1] += 1
        for number in range(_CLASSES):
            ends[number + 1] += ends[number]
        for k in range(end - begin):
            number = old_ms[k] >> shift
            place = begin + ends[number]
            ends[number] += 1
            states[place], walk_ms[place] = old_states[k], old_ms[k]
        # Few are out of order now.
        for k in range(begin + 1, end):
            state, ms = states[k], walk_ms[k]
            place = k
            while place > begin and walk_ms[place - 1] > ms:
                states[place], walk_ms[place] = states[place - 1], walk_ms[place - 1]
                place -= 1
            states[place], walk_ms[place] = state, ms


@kernel
def straight_ms(edge, here, there, directed, is_leaving):
    """
    Return the milliseconds along an edge between a position `here` and a stop at position `there`.

    Parameters
    ----------
    edge : int
    here, there : float
        Fractions of the edge, 0 to 1.
    directed : Directed
    is_leaving : bool
        True from the stop to the position, False from the position to the stop.

    Returns
    -------
    int
        `NEVER` if the edge is closed in that direction.
    """
    a, b = (there, here) if is_leaving else (here, there)
    best = NEVER
    for side in range(2):
        d = 2 * edge + side
        start, end = (a, b) if side == 0 else (1.0 - a, 1.0 - b)
        if directed.is_open[d] and end >= start:
            time = directed.traversal[d] >> TIME_SHIFT
            best = min(best, np.int64(time * end + 0.5) - np.int64(time * start + 0.5))
    return best


@kernel
def links_of_points(positions, reads, around, on_edges, directed, is_leaving, budget_ms):
    """
    Return the stops within walking distance of each point.

    Parameters
    ----------
    positions : Positions
    reads : Ports
        Ports of each point, connectors included.
    around : StopLinks
        Stops around each state.
    on_edges : StopsOnEdges
    directed : Directed
    is_leaving : bool
        True if one walks from the stops to the points, False if one walks from the points to the stops.
    budget_ms : int
        Longest walk.

    Returns
    -------
    StopLinks
        Stops around each point.
    """
    state_indptr, state_stops, state_ms = around
    n_stops, n_points = on_edges.n_stops, positions.indptr.size - 1
    indptr = np.zeros(n_points + 1, np.int64)
    stops = np.empty(_ROOM, np.int32)
    walk_ms = np.empty(_ROOM, np.int32)
    best = np.full(n_stops, NEVER, np.int32)
    found = np.empty(n_stops, np.int32)
    at = 0
    for i in range(n_points):
        n = 0
        for k in range(reads.indptr[i], reads.indptr[i + 1]):
            state, extra = reads.states[k], reads.keys[k] >> TIME_SHIFT
            for j in range(state_indptr[state], state_indptr[state + 1]):
                time = state_ms[j] + extra
                stop = state_stops[j]
                if time <= budget_ms and time < best[stop]:
                    if best[stop] == NEVER:
                        found[n] = stop
                        n += 1
                    best[stop] = time
        for p in range(positions.indptr[i], positions.indptr[i + 1]):
            edge = positions.edge[p]
            for k in range(on_edges.indptr[edge], on_edges.indptr[edge + 1]):
                stop = on_edges.stops[k]
                time = straight_ms(edge, positions.fraction[p], on_edges.fraction[k], directed, is_leaving)
                time += (positions.connector[p] >> TIME_SHIFT) + (on_edges.connector[k] >> TIME_SHIFT)
                if time <= budget_ms and time < best[stop]:
                    if best[stop] == NEVER:
                        found[n] = stop
                        n += 1
                    best[stop] = time
        while at + n > stops.size:
            stops = _grow(stops)
            walk_ms = _grow(walk_ms)
        for k in range(n):
            stops[at] = found[k]
            walk_ms[at] = best[found[k]]
            best[found[k]] = NEVER
            at += 1
        indptr[i + 1] = at
    return StopLinks(indptr, stops[:at].copy(), walk_ms[:at].copy())


@kernel
def best_links_of_points(positions, reads, around, on_edges, directed, is_leaving, budget_ms, times):
    """
    Return the link of each point from which it is reached fastest, or by which it reaches a stop fastest.

    Equal to `traveltime_lab.kernels.transit.ride_lines.best_links` of all links, which are not collected.

    Parameters
    ----------
    positions, reads, around, on_edges, directed, is_leaving, budget_ms
        As in `links_of_points`.
    times : int32 array of shape (n_stops,)
        Travel times at the stops, `NEVER` where there is no journey.

    Returns
    -------
    StopLinks
        At most one stop for each point; ties go to the first.
    """
    state_indptr, state_stops, state_ms = around
    n_points = positions.indptr.size - 1
    indptr = np.zeros(n_points + 1, np.int64)
    stops = np.empty(n_points, np.int32)
    walk_ms = np.empty(n_points, np.int32)
    at = 0
    for i in range(n_points):
        # Time, walk and stop of the best link so far; a stop is reached by the shortest walk to it.
        least, walk, nearest = np.int64(NEVER), np.int64(NEVER), np.int64(on_edges.n_stops)
        for k in range(reads.indptr[i], reads.indptr[i + 1]):
            state, extra = reads.states[k], reads.keys[k] >> TIME_SHIFT
            for j in range(state_indptr[state], state_indptr[state + 1]):
                time, stop = state_ms[j] + extra, np.int64(state_stops[j])
                total = time + times[stop]
                if total <= least and time <= budget_ms and (total < least or stop < nearest):
                    least, walk, nearest = total, time, stop
        for p in range(positions.indptr[i], positions.indptr[i + 1]):
            edge = positions.edge[p]
            for k in range(on_edges.indptr[edge], on_edges.indptr[edge + 1]):
                stop = np.int64(on_edges.stops[k])
                time = straight_ms(edge, positions.fraction[p], on_edges.fraction[k], directed, is_leaving)
                time += (positions.connector[p] >> TIME_SHIFT) + (on_edges.connector[k] >> TIME_SHIFT)
                total = time + times[stop]
                if total <= least and time <= budget_ms and (total < least or stop < nearest):
                    least, walk, nearest = total, time, stop
        if least < NEVER:
            stops[at], walk_ms[at] = nearest, walk
            at += 1
        indptr[i + 1] = at
    return StopLinks(indptr, stops[:at].copy(), walk_ms[:at].copy())


@kernel
def labels_of_links(point_of, stop_of, positions, reads, around, lengths, on_edges, directed, is_leaving):
    """
    Return the labels of the walks between points and stops near them.

    Parameters
    ----------
    point_of : int64 array of shape (n,)
    stop_of : int32 array of shape (n,)
    positions, reads, around, on_edges, directed, is_leaving
        As in `links_of_points`.
    lengths : int32 array
        Length in centimetres of each walk of `around`.

    Returns
    -------
    int64 array of shape (n,)
        `UNREACHED` where `links_of_points` finds no walk.
    """
    state_indptr, state_stops, state_ms = around
    labels = np.full(point_of.size, UNREACHED, np.int64)
    for i in range(point_of.size):
        point, stop = point_of[i], stop_of[i]
        for k in range(reads.indptr[point], reads.indptr[point + 1]):
            low, last = state_indptr[reads.states[k]], state_indptr[reads.states[k] + 1]
            high = last
            while low < high:
                middle = (low + high) // 2
                if state_stops[middle] < stop:
                    low = middle + 1
                else:
                    high = middle
            if low < last and state_stops[low] == stop:
                walk = (np.int64(state_ms[low]) << TIME_SHIFT) | np.int64(lengths[low])
                labels[i] = min(labels[i], walk + reads.keys[k])
        for p in range(positions.indptr[point], positions.indptr[point + 1]):
            edge, here = positions.edge[p], positions.fraction[p]
            for k in range(on_edges.indptr[edge], on_edges.indptr[edge + 1]):
                if on_edges.stops[k] == stop:
                    start, end = (on_edges.fraction[k], here) if is_leaving else (here, on_edges.fraction[k])
                    walk = along_same_edge(edge, start, edge, end, directed)
                    labels[i] = min(labels[i], walk + positions.connector[p] + on_edges.connector[k])
    return labels


@kernel
def spread(times_ms, first, last, limit_ms, around, keys, reached):
    """
    Lower the keys of states to the earliest time at which a walk from a stop reaches them, and maybe list these states.

    Parameters
    ----------
    times_ms : int32 array of shape (n_stops,)
        Travel time at each stop, `NEVER` if it was not reached.
    first, last : int
        Stops `first` to ``last - 1`` are used.
    limit_ms : int
        Longest travel time of interest.
    around : StatesAround
        Nearest first.
    keys : int64 array of shape (n_states,)
        Lowered in place. A key holds the travel time in the upper 32 bits and the duration of the walk in the lower 32
        bits, so that among equal times the shortest walk wins; `NEVER_KEY` where no walk leads.
    reached : int32 array of shape (n_states,) or (0,)
        Overwritten with the states whose keys were `NEVER_KEY` before, unless it is empty.

    Returns
    -------
    int
        Number of these states.
    """
    indptr, states, walk_ms = around
    lists, n = reached.size > 0, 0
    for stop in range(first, last):
        start = np.int64(times_ms[stop])
        if start > limit_ms:
            continue
        for k in range(indptr[stop], indptr[stop + 1]):
            walk = np.int64(walk_ms[k])
            if start + walk > limit_ms:
                break
            key, before = ((start + walk) << TIME_SHIFT) | walk, keys[states[k]]
            if lists and before == NEVER_KEY:
                reached[n] = states[k]
                n += 1
            keys[states[k]] = min(before, key)
    return n


@kernel
def gather(times_ms, limit_ms, around, keys):
    """
    Set the keys of states to the earliest time at which a walk from a stop reaches them.

    Equal to `spread` from all stops, but reads all walks, by state.

    Parameters
    ----------
    times_ms, limit_ms
        As in `spread`.
    around : StopLinks
        Stops around some states.
    keys : int64 array of shape (n_states,)
        Set in place.
    """
    indptr, stops, walk_ms = around
    for state in range(keys.size):
        best = NEVER_KEY
        for k in range(indptr[state], indptr[state + 1]):
            walk = np.int64(walk_ms[k])
            time = np.int64(times_ms[stops[k]]) + walk
            if time <= limit_ms:
                best = min(best, (time << TIME_SHIFT) | walk)
        keys[state] = best
