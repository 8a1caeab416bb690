"""
Stops of a timetable on the streets: where they are, and what lies within a walk of them.

A stop is joined to the nearest walkable street like any other point, its walk to the street counted. What a budget of
seconds covers is found once per network and kept: the states of the street graph around every stop. Walks from a few
points, and ways by car or bicycle, are ordinary street searches.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Final

import numpy as np

from traveltime_lab._arrays import IndexArray, Int32Array, Int64Array
from traveltime_lab._memo import Derived
from traveltime_lab._threads import side_by_side
from traveltime_lab.kernels.street import road
from traveltime_lab.kernels.transit import walks as kernel
from traveltime_lab.modes import Snapping, Transportation
from traveltime_lab.settings import settings
from traveltime_lab.streets import contraction, matrix
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets import links as travel_times
from traveltime_lab.streets.graph import RoadGraph, take_rows
from traveltime_lab.streets.labels import limit_label
from traveltime_lab.streets.layer import RoadsKey, roads_key
from traveltime_lab.streets.links import LinkedPoints
from traveltime_lab.streets.snapping import STOP_SNAPPING, Snaps, snap_points
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.trip_instances import Footpaths, Transfers, merge_transfers

#: Longest walk between two vehicles, s. Source: contract 5.4 (from the documentation of the Java client).
TRANSFER_WALK_S: Final = 600

#: Near points from which a search each is quicker than reading what lies around all stops.
FEW: Final = 32

_ROOM = 1 << 16

#: Snaps, connectors, and the stops on each edge, by what streets are open.
_STOPS = Derived[RoadsKey, tuple[Snaps, Int64Array, Int64Array, Int32Array]]("stops on streets", kept=8)
#: Walks by budget and direction. Large: one budget, both ways, and that of changes.
_WALKS = Derived[tuple[int, bool], "Walks"]("walks around stops", kept=6)
#: Searches for stops by direction, kept with the graph that they search.
_SEARCHES = Derived[bool, matrix.RowSearch]("searches for stops", kept=2)
_TRANSFERS = Derived[None, Transfers]("changes")


@dataclass(frozen=True)
class Links:
    """
    Ways between points and stops as CSR by point.

    Attributes
    ----------
    indptr : int64 array of shape (n_points + 1,)
    stops : int32 array
        stop_idx.
    ms : int32 array
        Milliseconds, what the way costs beside (parking) included.
    """

    indptr: Int64Array
    stops: Int32Array
    ms: Int32Array

    def rows(self, first: int, last: int) -> Links:
        """Return the links of some consecutive points."""
        begin, end = self.indptr[first], self.indptr[last]
        return Links(self.indptr[first : last + 1] - begin, self.stops[begin:end], self.ms[begin:end])

    def take(self, points: IndexArray) -> Links:
        """Return the links of chosen points."""
        sizes = np.diff(self.indptr)[points]
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        at = np.repeat(self.indptr[points] - indptr[:-1], sizes) + np.arange(indptr[-1])
        return Links(indptr, self.stops[at], self.ms[at])

    def later(self, ms: int) -> Links:
        """Return the links with some milliseconds more each."""
        return Links(self.indptr, self.stops, (self.ms + np.int32(ms)).astype(np.int32)) if ms else self


@dataclass(frozen=True)
class LinkedStops:
    """
    Stops on the streets of one mode.

    Attributes
    ----------
    graph : RoadGraph
    snaps : Snaps of length n_stops
        Edge -1 for stops that nothing calls at, or that are too far from a street.
    connector : int64 array of shape (n_stops,)
        Labels of the walks between stops and streets.
    edge_indptr, edge_stops : int64, int32 arrays
        CSR by edge of the stops on it.
    """

    graph: RoadGraph
    snaps: Snaps
    connector: Int64Array
    edge_indptr: Int64Array
    edge_stops: Int32Array


@dataclass(frozen=True)
class Walks:
    """
    States of the walking graph around every stop.

    Attributes
    ----------
    is_leaving : bool
        Whether the walks lead from the stops; else they lead to them.
    budget_ms : int
    by_stop : tuple of int64, int32, int32 arrays
        CSR by stop: states and milliseconds, nearest first.
    by_state : tuple of int64, int32, int32 arrays
        CSR by state: stops and milliseconds.
    """

    is_leaving: bool
    budget_ms: int
    by_stop: tuple[Int64Array, Int32Array, Int32Array]
    by_state: tuple[Int64Array, Int32Array, Int32Array]


def linked_stops(layer: TransitLayer, graph: RoadGraph, transportation: Transportation) -> LinkedStops:
    """
    Join the stops to the streets of a mode, once, and keep that.

    Parameters
    ----------
    layer : TransitLayer
    graph : RoadGraph
        Any graph of the mode.
    transportation : Transportation
        The mode on streets.
    """

    def join() -> Snaps:
        timetable = layer.timetable
        lng = timetable.column("stops", "stop_lon").astype(np.float64)
        lat = timetable.column("stops", "stop_lat").astype(np.float64)
        is_used = timetable.is_called
        snaps = snap_points(
            layer.streets, np.where(is_used, lng, 0.0), np.where(is_used, lat, 0.0), transportation, STOP_SNAPPING
        )
        snaps.edge[~is_used] = -1
        return snaps

    def place() -> tuple[Snaps, Int64Array, Int64Array, Int32Array]:
        snaps = join()
        found = np.flatnonzero(snaps.edge >= 0)
        order = found[np.argsort(snaps.edge[found], kind="stable")]
        edge_indptr = np.zeros(layer.streets.n_edges + 1, np.int64)
        np.cumsum(np.bincount(snaps.edge[order], minlength=layer.streets.n_edges), out=edge_indptr[1:])
        return snaps, travel_times.connectors(graph, snaps, STOP_SNAPPING), edge_indptr, order.astype(np.int32)

    return LinkedStops(graph, *_STOPS.of(layer, roads_key(transportation), place))


def walks(layer: TransitLayer, stops: LinkedStops, budget_s: int, *, is_leaving: bool) -> Walks:
    """
    Return the walks around all stops within a budget, searched once and kept.

    Parameters
    ----------
    layer : TransitLayer
    stops : LinkedStops
        On foot.
    budget_s : int
        Seconds for the whole walk, connectors included.
    is_leaving : bool
        Whether to walk from the stops.
    """
    return _WALKS.of(layer, (budget_s, is_leaving), lambda: _walks(stops, budget_s, is_leaving))


def has_walks(layer: TransitLayer, budget_s: int, *, is_leaving: bool) -> bool:
    """Return whether `walks` were made already: a search from each of a few points is quicker than making them."""
    return _WALKS.is_ready(layer, (budget_s, is_leaving))


def _walks(stops: LinkedStops, budget_s: int, is_leaving: bool) -> Walks:
    """Search from every stop."""
    graph, topology = stops.graph, stops.graph.topology
    ports = travel_times.ports(graph, stops.snaps, stops.connector, is_entry=not is_leaving)
    arcs = (
        (topology.indptr, topology.indices, graph.weights)
        if is_leaving
        else (topology.indptr_rev, topology.indices_rev, graph.weights_rev)
    )
    limit = limit_label(budget_s, graph.metric)
    n_stops = len(stops.snaps)
    counts = np.zeros(n_stops, np.int64)
    borders = np.linspace(0, n_stops, settings.threads * 8 + 1).astype(np.int64)

    def search(first: int, last: int) -> tuple[Int32Array, Int32Array]:
        found: tuple[Int32Array, Int32Array] = kernel.states_around(
            *arcs,
            *take_rows(ports, first, last),
            limit,
            graph.shift,
            graph.n_buckets,
            counts[first:last],
            np.empty(_ROOM, np.int32),
            np.empty(_ROOM, np.int32),
        )
        return found

    parts = side_by_side([functools.partial(search, *ends) for ends in itertools.pairwise(borders.tolist())])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    states, ms = (np.concatenate(side) for side in zip(*parts, strict=True))
    by_state = kernel.turned(indptr, states, ms, topology.n_states)
    return Walks(is_leaving, budget_s * 1000, (indptr, states, ms), by_state)


def walk_links(stops: LinkedStops, around: Walks, snaps: Snaps, snapping: Snapping, budget_s: int) -> Links:
    """
    Return the stops within a walk of points.

    Parameters
    ----------
    stops : LinkedStops
        On foot.
    around : Walks
        With at least the budget.
    snaps : Snaps
        Points on walkable streets.
    snapping : Snapping
        Of the points.
    budget_s : int
    """
    graph = stops.graph
    connector = travel_times.connectors(graph, snaps, snapping)
    indptr, states, keys = travel_times.ports(graph, snaps, connector, is_entry=around.is_leaving)
    read_ms = label_parts.ms(keys)
    n = len(snaps)
    counts = np.zeros(n, np.int64)
    borders = np.linspace(0, n, (settings.threads * 4 if n > 1000 else 1) + 1).astype(np.int64)

    def link(first: int, last: int) -> tuple[Int32Array, Int32Array]:
        found: tuple[Int32Array, Int32Array] = kernel.links_of_points(
            snaps.edge[first:last],
            snaps.fraction[first:last],
            label_parts.ms(connector[first:last]),
            *take_rows((indptr, states, read_ms), first, last),
            *around.by_state,
            stops.edge_indptr,
            stops.edge_stops,
            stops.snaps.fraction,
            label_parts.ms(stops.connector),
            graph.traversal,
            graph.topology.is_open,
            around.is_leaving,
            budget_s * 1000,
            len(stops.snaps),
            counts[first:last],
            np.empty(_ROOM, np.int32),
            np.empty(_ROOM, np.int32),
        )
        return found

    parts = side_by_side([functools.partial(link, *ends) for ends in itertools.pairwise(borders.tolist())])
    found, ms = (np.concatenate(side) for side in zip(*parts, strict=True))
    return Links(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), found, ms)


def street_links(
    layer: TransitLayer, stops: LinkedStops, snaps: Snaps, snapping: Snapping, budget_s: int, *, is_leaving: bool
) -> Links:
    """
    Return the stops within a way of points by any mode on streets, by a search from each point.

    Parameters
    ----------
    layer : TransitLayer
    stops : LinkedStops
        Of the mode.
    snaps : Snaps
        Points on streets of the mode.
    snapping : Snapping
        Of the points.
    budget_s : int
    is_leaving : bool
        Whether the ways lead from the stops to the points.
    """
    graph = stops.graph

    def make_ready() -> matrix.RowSearch:
        others = LinkedPoints.of(graph, stops.snaps, STOP_SNAPPING, is_entry=not is_leaving)
        return matrix.RowSearch.of(graph, others.part(slice(0, 0)), others, is_backward=is_leaving)

    ready = _SEARCHES.of(graph, is_leaving, make_ready)
    points = LinkedPoints.of(graph, snaps, snapping, is_entry=is_leaving)
    leaving, reached = (ready.columns, points) if is_leaving else (points, ready.columns)
    largest = limit_label(budget_s, graph.metric)
    if len(snaps) == 1 and not contraction.pays_off(layer.streets, graph, leaving, reached, largest):
        labels = ready.starting_from(points).labels(slice(0, 1), np.full(1, largest))
        point, stop = np.nonzero(labels != road.UNREACHED)
        time = label_parts.ms(labels[point, stop]).astype(np.int32)
    else:
        rows, columns, ms = [], [], []
        for block in matrix.blocks_between(layer.streets, graph, leaving, reached, limit=budget_s):
            row, column = np.nonzero(block.labels != road.UNREACHED)
            rows.append(row + block.rows.start)
            columns.append(column + block.columns.start)
            ms.append(label_parts.ms(block.labels[row, column]).astype(np.int32))
        sides = (columns, rows, ms) if is_leaving else (rows, columns, ms)
        point, stop, time = (np.concatenate(part) for part in sides)
    order = np.lexsort((stop, point))
    indptr = np.zeros(len(snaps) + 1, np.int64)
    np.cumsum(np.bincount(point, minlength=len(snaps)), out=indptr[1:])
    return Links(indptr, stop[order].astype(np.int32), time[order])


def changes(layer: TransitLayer, stops: LinkedStops) -> Transfers:
    """Return how one changes between stops: walks along the streets and the rules of the feeds, made once and kept."""

    def make() -> Transfers:
        around = walks(layer, stops, TRANSFER_WALK_S, is_leaving=True)
        links = walk_links(stops, around, stops.snaps, STOP_SNAPPING, TRANSFER_WALK_S)
        # Links are by the stop walked to; whole seconds are what a timetable counts in.
        indptr, to_stop, ms = kernel.turned(links.indptr, links.stops, links.ms, len(stops.snaps))
        from_stop = np.repeat(np.arange(len(stops.snaps)), np.diff(indptr))
        kept = from_stop != to_stop
        row_of = np.concatenate([[0], np.cumsum(np.bincount(from_stop[kept], minlength=len(stops.snaps)))])
        seconds = -(-ms[kept] // 1000)
        return merge_transfers(layer.timetable, Footpaths(row_of.astype(np.int64), to_stop[kept], seconds))

    return _TRANSFERS.of(layer, None, make)
