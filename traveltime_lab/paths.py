"""
Fastest routes as lines along the streets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

from traveltime_lab import road_graph, travel_times
from traveltime_lab.crs import segment_lengths_m
from traveltime_lab.kernels import road, turns
from traveltime_lab.modes import Snapping
from traveltime_lab.network import Network
from traveltime_lab.points import Points
from traveltime_lab.road_graph import RoadGraph
from traveltime_lab.snapping import Snaps, snapped_coordinates
from traveltime_lab.streets import StreetTables

FloatArray = npt.NDArray[np.float64]


def route_lines(
    network: Network,
    graph: RoadGraph,
    starts: Points,
    ends: Points,
    start_snaps: Snaps,
    end_snaps: Snaps,
    snapping: Snapping,
    origin_of: npt.NDArray[np.intp],
    destination_of: npt.NDArray[np.intp],
    is_reached: npt.NDArray[np.bool_],
    limit: float,
) -> npt.NDArray[Any]:
    """
    Return the line of the fastest route of each reached pair.

    Parameters
    ----------
    network, graph, snapping
        As searched.
    starts, ends : Points
        What was asked.
    start_snaps, end_snaps : Snaps
        Where it meets the streets.
    origin_of, destination_of : intp arrays of shape (n_pairs,)
    is_reached : bool array of shape (n_pairs,)
    limit : float

    Returns
    -------
    object array of shape (n_pairs,)
        LineStrings in EPSG:4326 from origin to destination, walks to and from the streets included; empty where
        unreachable.
    """
    lines = np.full(origin_of.size, shapely.LineString(), dtype=object)
    start_lng, start_lat = snapped_coordinates(network, start_snaps)
    end_lng, end_lat = snapped_coordinates(network, end_snaps)
    largest = road_graph.limit_label(limit, graph.metric)
    arcs = graph.arcs(is_backward=False)
    order = np.flatnonzero(is_reached)
    order = order[np.argsort(origin_of[order], kind="stable")]
    for pairs in np.split(order, np.flatnonzero(np.diff(origin_of[order])) + 1):
        if not pairs.size:
            continue
        i = int(origin_of[pairs[0]])
        start = start_snaps.take(np.array([i]))
        connector = travel_times.connectors(graph, start, snapping)
        _, states, keys = travel_times.ports(graph, start, connector, is_entry=False)
        label, parent = road.one_to_all(*arcs, states, keys, largest, graph.shift, graph.n_buckets, True)
        for pair in pairs:
            j = int(destination_of[pair])
            pieces = _pieces(graph, label, parent, start, end_snaps.take(np.array([j])), int(connector[0]))
            line = [np.array([[starts.lng[i], starts.lat[i]], [start_lng[i], start_lat[i]]])]
            line += [_part_of_line(network.tables, *piece) for piece in pieces]
            line.append(np.array([[end_lng[j], end_lat[j]], [ends.lng[j], ends.lat[j]]]))
            coordinates = np.concatenate(line)
            kept = np.ones(len(coordinates), np.bool_)
            kept[1:] = (np.abs(np.diff(coordinates, axis=0)) > 1e-9).any(axis=1)
            if kept.sum() < 2:
                kept[-1] = True
            lines[pair] = shapely.LineString(coordinates[kept])
    return lines


def _pieces(
    graph: RoadGraph,
    label: npt.NDArray[np.int64],
    parent: npt.NDArray[np.int32],
    start: Snaps,
    end: Snaps,
    connector: int,
) -> list[tuple[int, float, float]]:
    """Return the directed edges of a route, each with the places (along it) where it is entered and left."""
    topology, cross = graph.topology, graph.cross
    start_edge, start_at = int(start.edge[0]), float(start.fraction[0])
    end_edge, end_at = int(end.edge[0]), float(end.fraction[0])
    best, best_state, best_edge = int(road.UNREACHED), -1, -1
    for d in (2 * end_edge, 2 * end_edge + 1):
        part = int(turns.part_of(cross[d], end_at if d % 2 == 0 else 1.0 - end_at))
        for k in range(int(topology.entry_indptr[d]), int(topology.entry_indptr[d + 1])):
            total = int(label[topology.entry_states[k]]) + part
            if total < best:
                best, best_state, best_edge = total, int(topology.entry_states[k]), d
    if start_edge == end_edge:
        for d in (2 * start_edge, 2 * start_edge + 1):
            a = start_at if d % 2 == 0 else 1.0 - start_at
            b = end_at if d % 2 == 0 else 1.0 - end_at
            direct = connector + int(turns.part_of(cross[d], b)) - int(turns.part_of(cross[d], a))
            if topology.is_open[d] and a <= b and direct <= best:
                return [(d, a, b)]
    root, edges = road.trace(
        best_state, label, parent, topology.indptr, topology.indices, graph.weights, topology.arc_edge
    )
    pieces: list[tuple[int, float, float]] = []
    for d in (2 * start_edge, 2 * start_edge + 1):
        a = start_at if d % 2 == 0 else 1.0 - start_at
        rest = int(cross[d]) - int(turns.part_of(cross[d], a))
        first, last = topology.exit_indptr[d], topology.exit_indptr[d + 1]
        keys = graph.exit_keys[first:last][topology.exit_states[first:last] == root]
        if not pieces and (connector + rest + keys == label[root]).any():
            pieces.append((d, a, 1.0))
    pieces += [(int(d), 0.0, 1.0) for d in edges]
    pieces.append((best_edge, 0.0, end_at if best_edge % 2 == 0 else 1.0 - end_at))
    return pieces


def _part_of_line(tables: StreetTables, directed: int, begin: float, end: float) -> FloatArray:
    """Return the (lng, lat) rows of a directed edge between two places along it."""
    edge = directed // 2
    rows = slice(int(tables.coord_indptr[edge]), int(tables.coord_indptr[edge + 1]))
    lng, lat = tables.coord_lng[rows], tables.coord_lat[rows]
    if directed % 2:
        lng, lat = lng[::-1], lat[::-1]
    along = np.concatenate([[0.0], np.cumsum(segment_lengths_m(lng, lat))])
    if along[-1] > 0:
        along /= along[-1]
    inner = (along > begin) & (along < end)
    places = np.concatenate([[begin], along[inner], [end]])
    # Interpolated on unwrapped longitudes, so that a line across the 180th meridian stays short.
    unwrapped = np.degrees(np.unwrap(np.radians(lng)))
    return np.column_stack([np.interp(places, along, unwrapped), np.interp(places, along, lat)])
