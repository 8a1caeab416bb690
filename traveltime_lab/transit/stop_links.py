"""
Link the stops of a timetable to the streets, and find what is within walking distance of them.

A stop is snapped to the nearest walkable street like any other point, and its connector counts. The states of the
street graph within walking distance of every stop are searched once for each budget, and kept. Walks from few points,
and access by car or bicycle, are ordinary street searches.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from traveltime_lab._arrays import (
    IndexArray,
    Int32Array,
    Int64Array,
    indptr_of_rows,
    joined_rows,
    rows_of,
    take_rows,
)
from traveltime_lab.errors import DataError
from traveltime_lab.kernels.records import Ports, StopLinks
from traveltime_lab.kernels.transit import walks as kernel
from traveltime_lab.kernels.transit.walks import StatesAround, StopsOnEdges
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.rounding import most_ms
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.runtime.threads import side_by_side
from traveltime_lab.settings import settings
from traveltime_lab.streets import engines, matrix
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets import links as travel_times
from traveltime_lab.streets.components import order_by_row
from traveltime_lab.streets.costs import CONNECTOR_KPH, connector_kph
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.labels import limit_label
from traveltime_lab.streets.layer import RoadsKey, roads_key
from traveltime_lab.streets.links import LinkedPoints
from traveltime_lab.streets.row_search import RowSearch
from traveltime_lab.streets.snapping import STOP_SNAPPING, Snaps, snap_points
from traveltime_lab.transit.entrances import snaps_by_entrances, transfers_by_pathways
from traveltime_lab.transit.inside import Walker
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.transfers import Footpaths, Transfers
from traveltime_lab.transit.walks import Walks, sort_by_time
from traveltime_lab.transit.wheelchair import rule_of

#: Streets that are open, speed of connectors, and walker inside stations.
_LinksKey: TypeAlias = tuple[RoadsKey, float, Walker]

#: Largest number of points for which one street search each is faster than walks around all stops.
FEW: Final = 32

#: Snaps, connectors, and the stops on each edge, by the streets that are open.
STOPS = Derived[RoadsKey, tuple[Snaps, StopsOnEdges]]("stops on streets", kept=8)
#: The same for people with a walking speed of their own, whose connectors differ.
OWN_STOPS = Derived[tuple[RoadsKey, float], tuple[Snaps, StopsOnEdges]]("stops on streets at own speeds", kept=4)
#: Walks by streets and walker, budget and direction. They are large; usually there is one budget in both directions,
#: and that of transfers.
WALKS = Derived["tuple[_LinksKey, int, bool]", Walks]("walks around stops", kept=6)
#: Searches from points to all stops by layer, walker and direction, kept with their graph. Scenarios share graphs, not
#: stops.
_SEARCHES = Derived["tuple[object, _LinksKey, bool]", RowSearch]("searches for stops", kept=4)
#: Transfers by streets and walker, and longest walk.
TRANSFERS = Derived["tuple[_LinksKey, int]", Transfers]("changes", kept=4)
#: Stops that are linked by the entrances of stations, in both directions.
_BY_ENTRANCES = Derived["_LinksKey", "tuple[StopSide, StopSide]"]("stops by entrances", kept=8)
#: Edges of stops, by links and direction.
_EDGES = Derived["tuple[_LinksKey, bool]", "EdgesOfStops"]("edges of stops", kept=8)


def share_stops(layer: TransitLayer, other: TransitLayer) -> None:
    """
    Keep the links of stops and the walks around them together with a layer of the same streets and stops.

    A layer whose timetable has other stops, or calls at others, keeps its own.
    """
    ours, theirs = layer.timetable, other.timetable
    if (
        layer.streets is other.streets
        and ours.stops is theirs.stops
        and ours.pathways is theirs.pathways
        and np.array_equal(ours.is_called, theirs.is_called)
    ):
        layer.identity = other.identity
        layer.memo.share(other.memo, (STOPS, OWN_STOPS, _BY_ENTRANCES, _EDGES, WALKS, TRANSFERS))


class EdgesOfStops(NamedTuple):
    """CSR by stop of the edges on which it has a position: the transpose of `StopsOnEdges`."""

    indptr: Int32Array
    edges: Int32Array


class StopSide(NamedTuple):
    """
    Stops linked to the streets of one mode, in one direction.

    Attributes
    ----------
    snaps : Snaps of length n_stops
        The edge is -1 for stops without trips and for stops that are too far from a street.
    on_edges : StopsOnEdges
        The stops on each edge, with their positions and connectors.
    """

    snaps: Snaps
    on_edges: StopsOnEdges


@dataclass(frozen=True)
class LinkedStops:
    """
    Stops linked to the streets of one mode.

    Attributes
    ----------
    graph : RoadGraph
    walker : Walker
        The traveller inside stations.
    key : tuple
        Values on which the links depend.
    entering, leaving : StopSide
        The links by which stops are reached and left. They differ in stations with pathways only.
    """

    graph: RoadGraph
    walker: Walker
    key: _LinksKey
    entering: StopSide
    leaving: StopSide

    def __len__(self) -> int:
        """Return the number of stops."""
        return len(self.leaving.snaps)

    def side(self, *, is_leaving: bool) -> StopSide:
        """Return the links of one direction."""
        return self.leaving if is_leaving else self.entering

    def ports(self, *, is_entry: bool) -> Ports:
        """Return the ports of the stops, as destinations (`is_entry`) or as origins."""
        snaps = self.side(is_leaving=not is_entry).snaps
        return travel_times.ports(
            self.graph, travel_times.positions(self.graph, snaps, STOP_SNAPPING), is_entry=is_entry
        )


def linked_stops(
    layer: TransitLayer, graph: RoadGraph, transportation: Transportation, walker: Transportation | None = None
) -> LinkedStops:
    """
    Link the stops to the streets of a mode; the result is kept.

    Stops in stations with pathways are linked by their entrances (`traveltime_lab.transit.entrances`).

    Parameters
    ----------
    layer : TransitLayer
    graph : RoadGraph
        Any graph of the mode with the walking speed in question.
    transportation : Transportation
        Transportation on streets.
    walker : Transportation, optional
        Transportation inside stations, on foot; by default `transportation`.
    """

    def join() -> Snaps:
        timetable = layer.timetable
        lng = timetable.column("stops", "stop_lon").astype(np.float64)
        lat = timetable.column("stops", "stop_lat").astype(np.float64)
        is_used = timetable.is_called
        used = np.flatnonzero(is_used)
        snaps = snap_points(layer.streets, lng[used], lat[used], transportation, STOP_SNAPPING)
        # Stops are on the main network for all points, because the same walks serve many of them.
        return snaps.without_islands().spread_out(used, lng.size)

    def place(snaps: Snaps) -> tuple[Snaps, StopsOnEdges]:
        here = travel_times.positions(graph, snaps, STOP_SNAPPING)
        order, owner = travel_times.by_edge(here)
        edge_indptr = indptr_of_rows(here.edge, layer.streets.n_edges)
        stops = owner[order].astype(np.int32)
        return snaps, StopsOnEdges(edge_indptr, stops, here.fraction[order], here.connector[order], len(snaps))

    roads = roads_key(transportation)
    who = transportation if walker is None else walker
    inside = Walker(connector_kph(who), rule_of(who))
    key = roads, graph.connector_kph, inside
    if graph.connector_kph != CONNECTOR_KPH:
        straight = OWN_STOPS.of(layer, (roads, graph.connector_kph), lambda: place(join()))
    else:
        straight = STOPS.of(layer, roads, lambda: place(join()))
    plain = StopSide(*straight)
    if layer.timetable.pathways is None:
        return LinkedStops(graph, inside, key, plain, plain)

    def by_entrances() -> tuple[StopSide, StopSide]:
        entering, leaving = snaps_by_entrances(layer, plain.snaps, transportation, inside)
        return StopSide(*place(entering)), StopSide(*place(leaving))

    return LinkedStops(graph, inside, key, *_BY_ENTRANCES.of(layer, key, by_entrances))


def edges_of_stops(layer: TransitLayer, stops: LinkedStops, *, is_leaving: bool) -> EdgesOfStops:
    """Return the edges of each stop in one direction, which are kept."""

    def make() -> EdgesOfStops:
        on_edges = stops.side(is_leaving=is_leaving).on_edges
        edges = np.repeat(np.arange(on_edges.indptr.size - 1, dtype=np.int32), np.diff(on_edges.indptr))
        indptr, order = order_by_row(on_edges.stops, len(stops))
        return EdgesOfStops(indptr, edges[order])

    return _EDGES.of(layer, (stops.key, is_leaving), make)


def walks(layer: TransitLayer, stops: LinkedStops, budget_s: int, *, is_leaving: bool) -> Walks:
    """
    Return the walks around all stops within a budget; they are searched once and kept.

    Parameters
    ----------
    layer : TransitLayer
    stops : LinkedStops
        Stops linked to the walking graph.
    budget_s : int
        Longest walk in seconds, including connectors.
    is_leaving : bool
        True for walks from the stops, False for walks to them.

    Raises
    ------
    DataError
        If those of a prepared network do not fit its streets, which only a forged file has.
    """

    def make() -> Walks:
        found = _walks(stops, budget_s, is_leaving)
        if not has_walks(layer, stops, budget_s, is_leaving=not is_leaving):
            return found
        other = walks(layer, stops, budget_s, is_leaving=not is_leaving)
        return found if other.other is not None else found.beside(other)

    found = WALKS.of(layer, (stops.key, budget_s, is_leaving), make)
    # Kernels do not check bounds.
    if found.n_states != stops.graph.topology.n_states:
        raise DataError(
            "the walks around stops of the prepared network do not fit its streets; prepare and save it again"
        )
    return found


def has_walks(layer: TransitLayer, stops: LinkedStops, budget_s: int, *, is_leaving: bool) -> bool:
    """Return whether `walks` exist already; if not, a search from each of few points is faster than computing them."""
    return WALKS.is_ready(layer, (stops.key, budget_s, is_leaving))


def _walks(stops: LinkedStops, budget_s: int, is_leaving: bool) -> Walks:
    """Search from every stop."""
    graph = stops.graph
    ports = stops.ports(is_entry=not is_leaving)
    arcs = graph.arcs(is_backward=not is_leaving)
    limit = limit_label(budget_s, graph.metric)
    borders = np.linspace(0, len(stops), settings.threads * 8 + 1).astype(np.int64)

    def search(first: int, last: int) -> tuple[StatesAround, Int32Array]:
        rows = take_rows(ports, first, last)
        found: tuple[StatesAround, Int32Array] = kernel.states_around(arcs, rows, limit, graph.shift, graph.n_buckets)
        return found

    parts = side_by_side([functools.partial(search, *ends) for ends in itertools.pairwise(borders.tolist())])
    by_stop: StatesAround = joined_rows([around for around, _ in parts])
    cm = np.concatenate([cm for _, cm in parts])
    del parts
    return Walks.of(by_stop, cm, graph, most_ms(budget_s), is_leaving=is_leaving)


def walk_links(
    stops: LinkedStops,
    around: Walks,
    snaps: Snaps,
    snapping: Snapping,
    budget_s: int,
    *,
    times: Int32Array | None = None,
) -> StopLinks:
    """
    Return the stops within walking distance of points.

    Parameters
    ----------
    stops : LinkedStops
        Stops linked to the walking graph.
    around : Walks
        Walks with at least this budget.
    snaps : Snaps
        Points on walkable streets.
    snapping : Snapping
        Snapping of the points.
    budget_s : int
        Longest walk in seconds.
    times : int32 array of shape (n_stops,), optional
        Travel times at the stops. With them, only the link of each point is returned that leads to the least sum.
    """
    graph = stops.graph
    positions = travel_times.positions(graph, snaps, snapping)
    ports = travel_times.ports(graph, positions, is_entry=around.is_leaving)
    on_edges = stops.side(is_leaving=around.is_leaving).on_edges
    n = len(snaps)
    borders = np.linspace(0, n, (settings.threads * 4 if n > 1000 else 1) + 1).astype(np.int64)

    def link(first: int, last: int) -> StopLinks:
        here = rows_of(positions, first, last)
        reads = take_rows(ports, first, last)
        walks = here, reads, around.by_state, on_edges, graph.directed, around.is_leaving, most_ms(budget_s)
        found: StopLinks = (
            kernel.links_of_points(*walks) if times is None else kernel.best_links_of_points(*walks, times)
        )
        return found

    parts = side_by_side([functools.partial(link, *ends) for ends in itertools.pairwise(borders.tolist())])
    return joined_rows(parts)


def link_labels(
    stops: LinkedStops, around: Walks, snaps: Snaps, snapping: Snapping, point_of: IndexArray, stop_of: Int32Array
) -> Int64Array:
    """
    Return the labels of links between points and stops.

    Parameters
    ----------
    stops, around, snaps, snapping
        As in `walk_links`.
    point_of, stop_of : intp and int32 arrays of shape (n,)

    Returns
    -------
    int64 array of shape (n,)
        `UNREACHED` between points and stops without a link.
    """
    graph = stops.graph
    used, row_of = np.unique(point_of, return_inverse=True)
    points = LinkedPoints.of(graph, snaps.take(used), snapping, is_entry=around.is_leaving)
    labels: Int64Array = kernel.labels_of_links(
        row_of, stop_of, points.positions, points.ports, around.by_state, around.cm,
        stops.side(is_leaving=around.is_leaving).on_edges, graph.directed, around.is_leaving,
    )  # fmt: skip
    return labels


def street_links(
    layer: TransitLayer, stops: LinkedStops, snaps: Snaps, snapping: Snapping, budget_s: int, *, is_leaving: bool
) -> StopLinks:
    """
    Return the stops within a budget of points by any mode on streets, with one search from each point.

    Parameters
    ----------
    layer : TransitLayer
    stops : LinkedStops
        Stops linked to the graph of the mode.
    snaps : Snaps
        Points on streets of the mode.
    snapping : Snapping
        Snapping of the points.
    budget_s : int
        Longest travel time on streets in seconds.
    is_leaving : bool
        True from the stops to the points, False from the points to the stops.
    """
    graph = stops.graph

    def make_ready() -> RowSearch:
        others = LinkedPoints.of(graph, stops.side(is_leaving=is_leaving).snaps, STOP_SNAPPING, is_entry=not is_leaving)
        return RowSearch.of(graph, others.part(slice(0, 0)), others, is_backward=is_leaving)

    ready = _SEARCHES.of(graph, (layer.identity, stops.key, is_leaving), make_ready)
    points = LinkedPoints.of(graph, snaps, snapping, is_entry=is_leaving)
    leaving, reached = (ready.columns, points) if is_leaving else (points, ready.columns)
    largest = limit_label(budget_s, graph.metric)
    if len(snaps) == 1 and not engines.pays_off(layer.streets, graph, leaving, reached, largest):
        labels = ready.starting_from(points).labels(slice(0, 1), np.full(1, largest))
        point, stop = np.nonzero(labels != UNREACHED)
        time = label_parts.ms(labels[point, stop]).astype(np.int32)
    else:
        # Without points there are no blocks.
        none = np.zeros(0, np.int64)
        found: list[tuple[IndexArray, IndexArray, Int32Array]] = [(none, none, none.astype(np.int32))]
        for block in matrix.blocks_between(layer.streets, graph, leaving, reached, limit=budget_s):
            row, column = np.nonzero(block.labels != UNREACHED)
            ms = label_parts.ms(block.labels[row, column]).astype(np.int32)
            here, there = row + block.rows.start, column + block.columns.start
            found.append((there, here, ms) if is_leaving else (here, there, ms))
        point, stop, time = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((stop, point))
    return StopLinks(indptr_of_rows(point, len(snaps)), stop[order].astype(np.int32), time[order])


def changes(layer: TransitLayer, stops: LinkedStops, budget_s: int, longer_s: int = 0) -> Transfers:
    """
    Return the transfers between stops, from walks along streets and the rules of the feeds; they are kept.

    Those from each stop are nearest first, as searches need them.

    Parameters
    ----------
    layer : TransitLayer
    stops : LinkedStops
        Stops linked to the walking graph.
    budget_s : int
        Longest walk in seconds.
    longer_s : int, default 0
        Budget of other walks that the query needs. If they are longer, and known by now, they are used instead of a
        search of their own.
    """

    def make() -> Transfers:
        has_longer = longer_s >= budget_s and has_walks(layer, stops, longer_s, is_leaving=True)
        around = walks(layer, stops, longer_s if has_longer else budget_s, is_leaving=True)
        links = walk_links(stops, around, stops.entering.snaps, STOP_SNAPPING, budget_s)
        # Links are grouped by the stop at the end of the walk. Timetables have whole seconds.
        indptr, to_stop, ms, _ = kernel.turned(*links, np.zeros(0, np.int32), len(stops))
        from_stop = np.repeat(np.arange(len(stops)), np.diff(indptr))
        kept = from_stop != to_stop
        row_of = indptr_of_rows(from_stop[kept], len(stops))
        seconds = -(-ms[kept] // 1000)
        outside = Footpaths(row_of, to_stop[kept], seconds)
        found = transfers_by_pathways(layer, outside, stops.walker, budget_s)
        # Searches refuse negative times, which only a forged file has.
        if found.seconds.min(initial=0) >= 0:
            sort_by_time(StatesAround(*found[:3]), int(found.seconds.max(initial=0)))
        return found

    return TRANSFERS.of(layer, (stops.key, budget_s), make)
