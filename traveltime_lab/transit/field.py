"""
Compute the field of travel times by transit: along all streets around the stops.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from traveltime_lab._arrays import Float32Array, FloatArray, Int32Array, Int64Array
from traveltime_lab.kernels.raster import transit_edges, transit_surface
from traveltime_lab.kernels.raster.blocks import RideBounds
from traveltime_lab.kernels.raster.surface import Window
from traveltime_lab.kernels.records import Ports
from traveltime_lab.kernels.street import reading
from traveltime_lab.kernels.transit import drives
from traveltime_lab.kernels.transit.range_raptor import nearest_rank
from traveltime_lab.kernels.transit.walks import StopsOnEdges
from traveltime_lab.kernels.unreached import NEVER, UNREACHED
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.rounding import most_ms, most_s
from traveltime_lab.runtime.shared import shared
from traveltime_lab.runtime.threads import side_by_side
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.field import RowField, row_field
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.snapping import Snaps
from traveltime_lab.surfaces.field import (
    NO_STOPS,
    CellReader,
    CellReading,
    EdgeBounds,
    Field,
    RoadValues,
    StreetField,
    all_cells,
    edge_boxes,
    joined_box,
    label_rows,
    needed_of_cells,
    of_windows,
    read_cells,
    within,
)
from traveltime_lab.surfaces.islands import with_island
from traveltime_lab.surfaces.tiles import Tile
from traveltime_lab.transit import stop_links
from traveltime_lab.transit.egress_on_foot import (
    EgressByDeparture,
    EgressOnFoot,
    road_rows,
    walked,
    walked_by_departure,
)
from traveltime_lab.transit.query import TransitQuery
from traveltime_lab.transit.stop_links import LinkedStops
from traveltime_lab.transit.together import Together
from traveltime_lab.transit.walks import Walks

#: Cells up to this distance from their street have a greatest value, which takes this part from the budget of walks, m
#: (assumed).
_NEAR_M = 200.0


@dataclass(frozen=True)
class AccessByVehicle:
    """
    Travel times to one arrival from all states: by car or bicycle to a stop, and by transit from there.

    Attributes
    ----------
    stop_ms : int32 array of shape (n_stops,), ms
        Travel time from each stop, including parking.
    labels : Drives
        Pareto-optimal pairs of travel time and driving time, by state.
    """

    stop_ms: Int32Array
    labels: drives.Drives


@dataclass(frozen=True)
class TransitField:
    """
    Travel times along all streets from one point, by transit or by walking all the way.

    Attributes
    ----------
    graph : RoadGraph
        Graph of the streets between stops and places.
    is_backward : bool
        Whether journeys end at the point instead of beginning there.
    direct : RowField
        Field of walking all the way.
    walked : Field
        The same, along an island if the point is on one.
    quickest : EgressOnFoot or AccessByVehicle
        Travel times of the best departure.
    departures : EgressByDeparture or tuple of AccessByVehicle
        Travel times of each departure if a percentile is requested, otherwise empty.
    percent : float
        Values are the least times that at least `percent` percent of the departures do not exceed.
    budget_ms : int
        Longest walk, or drive, between a stop and a place.
    limit_ms : int
        Longest travel time. Beyond it values may be higher than they would be without a limit.
    direct_s : float
        Longest walk all the way; inf if only the limit applies.
    around : Walks, optional
        Walks from, or to, the stops, unless stops are reached by vehicle.
    stops : LinkedStops
        The stops, linked to `graph`.
    transportation : Transportation
        Transportation between stops and places.
    """

    graph: RoadGraph
    is_backward: bool
    direct: RowField
    walked: Field
    quickest: EgressOnFoot | AccessByVehicle
    departures: EgressByDeparture | tuple[AccessByVehicle, ...]
    percent: float
    budget_ms: int
    limit_ms: int
    direct_s: float
    around: Walks | None
    stops: LinkedStops
    transportation: Transportation

    def start(self) -> float:
        """Return the value at the position of the point: that of the connector between the point and its street."""
        return self.walked.start()

    @property
    def _on_edges(self) -> StopsOnEdges:
        """The stops on each edge, with the links between them and the places."""
        return self.stops.side(is_leaving=not self.is_backward).on_edges

    @property
    def _ports(self) -> Ports:
        """How places are reached from stops, or stops from places."""
        return self.graph.exit_ports() if self.is_backward else self.graph.entry_ports()

    @property
    def is_length(self) -> bool:
        """Whether values are metres; always False."""
        return False

    @property
    def connector_kph(self) -> float:
        """Highest walking speed between points and streets, km/h: drivers to stops walk at the usual one."""
        return max(self.direct.graph.connector_kph, self.graph.connector_kph)

    def cell_readers(
        self, streets: StreetLayer, transportation: Transportation, *, limit: float, per_metre: float, buffer_m: float
    ) -> CellReading:
        """Return the functions that fill the values of cells, and where the reached edges are; see `Field`."""
        of_walks, of_rides = self._scaled(per_metre, self.direct.graph), self._scaled(per_metre, self.graph)
        readers, box, walked, bounds = self.walked.cell_readers(
            streets, transportation, limit=limit, per_metre=of_walks, buffer_m=buffer_m
        )
        if self.direct_s < np.inf:
            readers = [reader._replace(read=self._up_to_direct(reader.read)) for reader in readers]
        needed = needed_of_cells(is_backward=self.is_backward)
        lower = self._gatherer(of_rides, buffer_m)
        readers.append(CellReader(self.transportation, needed, lower))

        def reached() -> tuple[Int32Array, FloatArray]:
            (on_foot, walk_s), (edges, least_s) = walked(), self._reached(streets, limit)
            return np.concatenate([on_foot, edges]), np.concatenate([walk_s, least_s])

        def joined() -> EdgeBounds:
            assert bounds is not None
            return bounds()._replace(most=float(self.direct_s), rides=self._ride_bounds(of_rides, buffer_m))

        has_bounds = bounds is not None and isinstance(self.quickest, EgressOnFoot)
        return CellReading(
            readers, joined_box([box, self._box(streets, limit)]), reached, joined if has_bounds else None
        )

    def _ride_bounds(self, per_metre: float, buffer_m: float) -> RideBounds:
        """Return bounds of the travel times by transit of cells, which are at most `buffer_m` from their street."""
        rides = self.quickest if isinstance(self.departures, tuple) else self.departures
        if isinstance(rides, EgressByDeparture):
            near_ms = 1000.0 * per_metre * min(buffer_m, _NEAR_M)
            rank = nearest_rank(self.percent, rides.stop_ms.shape[1])
            starts, stops = rides.bounds_ms(self.budget_ms - near_ms, rank), NO_STOPS
        else:
            assert isinstance(rides, EgressOnFoot)
            starts, stops = rides.starts, self._rides(rides.stop_ms)
        return RideBounds(rides.rows.values, starts, per_metre, float(self.budget_ms), self.is_backward, stops)

    def _rides(self, stop_ms: Int32Array) -> transit_surface.Rides:
        """Return how places are reached from stops, or stops from places, given the travel times at the stops."""
        assert self.around is not None
        return transit_surface.Rides(self._ports, self.around.by_state, stop_ms)

    def _up_to_direct(self, read: Callable[[Tile, Window, Any], None]) -> Callable[[Tile, Window, Any], None]:
        """Return a function that sets the values of cells as another does, without walks that take too long."""

        def read_some(tile: Tile, window: Window, values: Any) -> None:
            read(tile, window, values)
            here = within(window, values)
            here[read_cells(window) & (here > self.direct_s)] = np.inf

        return read_some

    def _scaled(self, per_metre: float, graph: RoadGraph) -> float:
        """Return the value of one metre between a cell and a street of a graph."""
        return per_metre * (self.connector_kph / graph.connector_kph)

    def road_values(self, streets: StreetLayer, limit: float) -> list[RoadValues]:
        """Return values along roads; see `Field`."""
        walks = self.walked.road_values(streets, limit)
        if isinstance(self.quickest, EgressOnFoot):
            by_transit = RoadValues(road_rows(self.quickest.starts), edges=self.quickest.edges)
        else:
            by_transit = RoadValues(self._driven_rows(streets, limit)[0])
        return [*(each._replace(most=self.direct_s) for each in walks), by_transit]

    def _box(self, streets: StreetLayer, limit: float) -> FloatArray:
        """Return the bounding box of the edges that transit reaches."""
        if isinstance(self.quickest, AccessByVehicle):
            return self._driven_rows(streets, limit)[1]
        west, south, east, north = transit_edges.box_of(
            self.quickest.edges, self.quickest.starts, edge_boxes(streets), limit * 1000.0
        )
        return np.array([west, south, east, north])

    def _reached(self, streets: StreetLayer, limit: float) -> tuple[Int32Array, FloatArray]:
        """Return the edges that transit reaches, and the least value on each in seconds."""
        if isinstance(self.quickest, EgressOnFoot):
            edges, least_ms = transit_edges.edges_within(self.quickest.edges, self.quickest.starts, limit * 1000.0)
            return edges, least_ms / 1000.0
        rows = self._driven_rows(streets, limit)[0]
        least = np.minimum(rows[:, 0], rows[:, 2]).astype(np.float64)
        # A drive to a stop on the same street passes neither end of it.
        least[np.diff(self._on_edges.indptr) > 0] = 0.0
        reached = np.flatnonzero(least <= limit)
        return reached.astype(np.int32), least[reached]

    def _driven_rows(self, streets: StreetLayer, limit: float) -> tuple[Float32Array, FloatArray]:
        """
        Return the values of drives to stops along all edges, and the bounding box of the reached edges.

        The budget of drives is only checked at the ends of edges.
        """
        assert isinstance(self.quickest, AccessByVehicle)
        indptr, times, _ = self.quickest.labels
        has_any = np.diff(indptr) > 0
        least = np.full(has_any.size, UNREACHED, np.int64)
        least[has_any] = label_parts.from_ms(times[indptr[:-1][has_any]].astype(np.int64))
        labels: Int64Array = reading.field_of_edges(least, self.graph.exit_ports())
        return label_rows(streets, self.graph, labels, limit, self.direct.positions.edge, is_backward=self.is_backward)

    def _gatherer(self, per_metre: float, buffer_m: float) -> Callable[[Tile, Window, Any], None]:
        """Return a function that lowers the values of cells; see `CellReader.read`."""
        directed, budget_ms, on_edges = self.graph.directed, self.budget_ms, self._on_edges
        departures = self.departures

        def lower_by_rides(rides: EgressOnFoot, tile: Tile, window: Window, values: Any) -> None:
            transit_surface.gather_rides(
                tile.cells(per_metre, buffer_m), window, rides.rows.values, rides.starts, directed, self.is_backward,
                budget_ms, self.limit_ms, self._rides(rides.stop_ms), on_edges, values,
            )  # fmt: skip

        def lower_one(rides: EgressOnFoot | AccessByVehicle, tile: Tile, values: Any) -> None:
            if isinstance(rides, EgressOnFoot):
                lower_by_rides(rides, tile, all_cells(tile), values)
                return
            cells = tile.cells(per_metre, buffer_m)
            transit_surface.gather_drives(
                cells, directed, budget_ms, self._ports, rides.labels, rides.stop_ms, on_edges, values
            )

        def lower(tile: Tile, values: Any) -> None:
            if isinstance(departures, tuple) and not departures:
                lower_one(self.quickest, tile, values)
                return
            # For most cells the departure makes no difference: walking is faster, or no departure reaches them.
            least = values.copy()
            lower_one(self.quickest, tile, least)
            depends = least < values
            cells = tile.some(depends)
            if isinstance(departures, EgressByDeparture):
                rank = nearest_rank(self.percent, departures.stop_ms.shape[1])
                at_rank = values[depends][None]
                transit_surface.gather_departures(
                    cells.cells(per_metre, buffer_m), departures.rows.values, departures.starts, directed,
                    self.is_backward, budget_ms, self.limit_ms, self._rides(departures.stop_ms), on_edges, rank,
                    at_rank,
                )  # fmt: skip
                values[depends] = at_rank[0]
                return
            of_each = np.repeat(values[depends][None], len(departures), axis=0)
            for k, part in enumerate(of_each):
                lower_one(departures[k], cells, part[None])
            rank = nearest_rank(self.percent, len(departures))
            values[depends] = np.partition(np.ascontiguousarray(of_each.T), rank, axis=1)[:, rank]

        if isinstance(self.quickest, EgressOnFoot) and isinstance(departures, tuple):
            return functools.partial(lower_by_rides, self.quickest)
        return of_windows(lower)


def transit_field(
    query: TransitQuery, snaps: Snaps, stop_times: Callable[[], Int32Array] | None = None
) -> TransitField:
    """
    Return the field of travel times from, or to, one point.

    Parameters
    ----------
    query : TransitQuery
    snaps : Snaps of length 1
        The point, snapped to the streets of the search side.
    stop_times : callable, optional
        Returns the travel times between the point and all stops, of shape (n_departures, n_stops), in milliseconds; by
        default they are searched.
    """
    is_arrival, means = query.is_arrival, query.transportation
    is_driven = is_arrival and not query.is_walked_to
    graph = query.access_graph() if is_driven else query.walking
    stops, around = query.stops, None
    if is_driven:
        stops = stop_links.linked_stops(query.layer, graph, means.access, means.egress)
    else:
        around = query.walks(is_leaving=not is_arrival)
    feet = query.on_foot(snaps, is_origin=not is_arrival)

    def walk(here: Snaps) -> RowField:
        def search() -> RowField:
            return row_field(query.walking, here, query.snapping, limit=query.direct_limit, is_backward=is_arrival)

        return shared("walks", (query.walking, here), search, query.direct_limit, is_arrival)

    jobs: list[Callable[[], Any]] = [
        functools.partial(walk, feet),
        stop_times or functools.partial(_stop_times, query, snaps),
    ]
    direct, times = side_by_side(jobs)
    quickest: EgressOnFoot | AccessByVehicle
    departures: EgressByDeparture | tuple[AccessByVehicle, ...] = ()
    if around is None:
        quickest = driven(query, stops, times.min(axis=0))
        if query.percents:
            departures = tuple(side_by_side([functools.partial(driven, query, stops, row) for row in times]))
    else:
        quickest = walked(query, stops, times.min(axis=0), around)
        if query.percents:
            departures = walked_by_departure(query, stops, times, around, quickest)
    return TransitField(
        graph=graph,
        is_backward=is_arrival,
        direct=direct,
        walked=with_island(
            StreetField(direct), lambda here: StreetField(walk(here)), query.walking, feet, is_backward=is_arrival
        ),
        quickest=quickest,
        departures=departures,
        percent=query.percents[0] if query.percents else 0.0,
        budget_ms=most_ms(means.access_time if is_driven else means.walking_time),
        limit_ms=most_ms(query.limit),
        direct_s=np.inf if means.direct_walking_time is None else most_s(means.direct_walking_time),
        around=around,
        stops=stops,
        transportation=means.access if is_driven else means.egress,
    )


def _stop_times(query: TransitQuery, snaps: Snaps) -> Int32Array:
    """
    Return the travel times between one point and all stops in milliseconds.

    Returns
    -------
    int32 array of shape (n_departures, n_stops)
        A single row if only the fastest departure is needed. In an arrival search the delay of the first boarding is
        included.
    """
    is_arrival = query.is_arrival
    links = query.links(snaps, is_origin=not is_arrival)
    together = Together.of(query, len(query.stops))
    search = query.search() if together is None else together.search()
    if together is not None and (query.percents or not query.window):
        times = together.stop_times(links)
    elif query.percents:
        times = query.sampled_times(links.of(0))
    elif not query.has_exact_headways:
        times = query.sampled_times(links.of(0)).min(axis=0)[None]
    elif query.window:
        times = search.window_stop_times(
            links, query.at(search), query.window * 1000, query.options, is_arrival=is_arrival, step=1000
        )
    else:
        times = search.stop_times(links, query.at(search), query.options, is_arrival=is_arrival)
    return with_boarding(query, times)


def with_boarding(query: TransitQuery, times: Int32Array) -> Int32Array:
    """Return travel times at stops with the delay of the first boarding, which only those of departures have."""
    means = query.transportation
    extra = (means.access_penalty + means.pt_change_delay) * 1000 if query.is_arrival else 0
    return np.where(times < NEVER, times + extra, NEVER).astype(np.int32)


def driven(query: TransitQuery, stops: LinkedStops, stop_ms: Int32Array) -> AccessByVehicle:
    """Return the travel times of driving to the stops, given the travel times from the stops."""
    arcs, entries = stops.graph.arcs(is_backward=True), stops.ports(is_entry=True)
    budget_ms, limit_ms = most_ms(query.transportation.access_time), most_ms(query.limit)
    return AccessByVehicle(stop_ms, drives.drives_to_stops(arcs, stop_ms, entries, budget_ms, limit_ms))
