"""
Combine the ports of origins and destinations with travel times between nodes that another engine computed.

Pandana returns travel times between nodes. The kernels here add the ways between the points and those nodes and take
the smallest sum over all pairs of an origin port and a destination port.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.road import TIME_SHIFT
from traveltime_lab.kernels.unreached import UNREACHED


class Joints(NamedTuple):
    """CSR of the ports of points, as rows or columns of a table of travel times between nodes."""

    indptr: np.ndarray  # int64 (n_points + 1,)
    place: np.ndarray  # int64 (n_ports,), row or column of the table
    ms: np.ndarray  # int64 (n_ports,), milliseconds to add, which may be negative


@kernel
def best_joins(starts, ends, ways, most, label, start, end):
    """
    Fill ``label[i, j]`` with the fastest route from a port of row `i` to a port of column `j`.

    Parameters
    ----------
    starts, ends : Joints
        Ports of the rows and of the columns.
    ways : int32 array of shape (n_start_places, n_end_places), ms
        Travel times between nodes, negative where there is no route.
    most : int64, ms
        Slower routes are ignored.
    label : int64 array of shape (n_rows, n_columns)
        Overwritten; milliseconds above `TIME_SHIFT` zero bits, `UNREACHED` where there is no route.
    start, end : int32 arrays of shape (n_rows, n_columns) or (0, 0)
        Overwritten with the ports of the fastest route, -1 where there is none. Not written if of shape (0, 0).
    """
    start_indptr, start_place, start_ms = starts
    end_indptr, end_place, end_ms = ends
    with_ports = start.size > 0
    for i in range(start_indptr.size - 1):
        for j in range(end_indptr.size - 1):
            best = UNREACHED
            best_k = best_m = -1
            for k in range(start_indptr[i], start_indptr[i + 1]):
                for m in range(end_indptr[j], end_indptr[j + 1]):
                    way = ways[start_place[k], end_place[m]]
                    if way < 0:
                        continue
                    time = start_ms[k] + way + end_ms[m]
                    if time < best and time <= most:
                        best = time
                        best_k, best_m = k, m
            label[i, j] = best if best == UNREACHED else best << TIME_SHIFT
            if with_ports:
                start[i, j] = best_k
                end[i, j] = best_m


@kernel
def port_pairs(start_indptr, end_indptr, start_of, end_of, pair_indptr, start, end):
    """
    List the pairs of an origin port and a destination port of each requested pair of points.

    Call it with empty `start` and `end` to count the pairs, then with arrays of that size.

    Parameters
    ----------
    start_indptr, end_indptr : int64 arrays
        Index pointers of the ports of origins and of destinations.
    start_of, end_of : intp arrays of shape (n_trips,)
        Origin and destination of each pair of points.
    pair_indptr : int64 array of shape (n_trips + 1,)
        Overwritten: where the pairs of ports of each pair of points begin.
    start, end : int32 arrays of shape (n_pairs,) or (0,)
        Overwritten with the port of the origin and of the destination.

    Returns
    -------
    int
        Number of pairs of ports.
    """
    write = start.size > 0
    at = 0
    for trip in range(start_of.size):
        pair_indptr[trip] = at
        for k in range(start_indptr[start_of[trip]], start_indptr[start_of[trip] + 1]):
            for m in range(end_indptr[end_of[trip]], end_indptr[end_of[trip] + 1]):
                if write:
                    start[at] = k
                    end[at] = m
                at += 1
    pair_indptr[start_of.size] = at
    return at


@kernel
def fastest_pairs(pair_indptr, time, most):
    """
    Return the fastest pair of ports of each pair of points; see `port_pairs`.

    Parameters
    ----------
    pair_indptr : int64 array of shape (n_trips + 1,)
    time : array of shape (n_pairs,), ms
        Negative where there is no route.
    most : int, ms
        Slower pairs are ignored.

    Returns
    -------
    int64 array of shape (n_trips,)
        -1 where no pair of ports has a route.
    """
    fastest = np.full(pair_indptr.size - 1, -1, np.int64)
    for trip in range(fastest.size):
        best = most
        for pair in range(pair_indptr[trip], pair_indptr[trip + 1]):
            if 0 <= time[pair] <= best and (fastest[trip] < 0 or time[pair] < best):
                best = time[pair]
                fastest[trip] = pair
    return fastest


@kernel
def path_labels(path_indptr, path_states, arcs):
    """
    Return the label of each path, taking the smallest arc between consecutive states.

    Parameters
    ----------
    path_indptr, path_states : int64 arrays
        CSR of the states of each path, both ends included.
    arcs : Arcs

    Returns
    -------
    int64 array of shape (n_paths,)
        `UNREACHED` for paths without states.
    """
    indptr, indices, weights = arcs
    label = np.zeros(path_indptr.size - 1, np.int64)
    for path in range(label.size):
        if path_indptr[path] == path_indptr[path + 1]:
            label[path] = UNREACHED
        for i in range(path_indptr[path] + 1, path_indptr[path + 1]):
            state, after = path_states[i - 1], path_states[i]
            best = UNREACHED
            for arc in range(indptr[state], indptr[state + 1]):
                if indices[arc] == after and weights[arc] < best:
                    best = weights[arc]
            label[path] += best
    return label
