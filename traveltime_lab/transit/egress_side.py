"""
Read the travel times by transit of chosen points on the egress side, given those of the stops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from traveltime_lab._arrays import Int32Array, Int64Array
from traveltime_lab.kernels.records import Ports, Positions, StopLinks
from traveltime_lab.kernels.transit import egress, walks
from traveltime_lab.kernels.transit.access import gather, gather_rows
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.rounding import most_ms
from traveltime_lab.runtime.forks import cached_property
from traveltime_lab.streets import links as travel_times
from traveltime_lab.streets.snapping import Snaps
from traveltime_lab.transit import stop_links
from traveltime_lab.transit.egress_on_foot import arrivals_on_foot
from traveltime_lab.transit.field import driven
from traveltime_lab.transit.query import TransitQuery
from traveltime_lab.transit.raptor import TransitSearch
from traveltime_lab.transit.stop_links import FEW, LinkedStops
from traveltime_lab.transit.stop_reach import StopReach
from traveltime_lab.transit.walks import Walks

#: Cost of linking a point with the stops around it, in units of reading one link (measured in Porto Alegre, New York).
_LINK_COST = 8
#: Cost of reading a link for one of many rows in the same units (assumed).
_TOGETHER = 0.2
#: Fewer rows are read one after the other (measured).
_FEW_ROWS = 4


class EgressSide(Protocol):
    """Points on the egress side of searches, prepared for reading their travel times many times."""

    def read(self, stop_ms: Int32Array) -> Int32Array:
        """
        Return the travel times of the points.

        Parameters
        ----------
        stop_ms : int32 array of shape (n_stops,), ms
            Travel time by transit to (or from) each stop, `NEVER` if there is none.

        Returns
        -------
        int32 array of shape (n_points,), ms
            `NEVER` beyond the limit.
        """

    def read_all(self, stop_ms: Int32Array) -> Int32Array:
        """Return the travel times of the points (n_rows, n_points) for each row of `stop_ms` (n_rows, n_stops)."""


@dataclass(frozen=True)
class _Linked:
    """Points with links to all stops around."""

    links: StopLinks
    limit_ms: int
    n_stops: int

    @cached_property
    def reach(self) -> StopReach:
        """The same links by target and by stop."""
        return StopReach(self.links, self.n_stops)

    def read(self, stop_ms: Int32Array) -> Int32Array:
        out = np.full(self.links.indptr.size - 1, NEVER, np.int32)
        gather(stop_ms, 0, self.limit_ms, self.links, out)
        return out

    def read_all(self, stop_ms: Int32Array) -> Int32Array:
        if len(stop_ms) < _FEW_ROWS:
            return np.stack([self.read(row) for row in stop_ms])
        out = np.empty((self.links.n_points, len(stop_ms)), np.int32)
        gather_rows(np.ascontiguousarray(stop_ms.T), self.limit_ms, self.links, out)
        return np.ascontiguousarray(out.T)


@dataclass(frozen=True)
class _OnStreets:
    """Points on streets, over which each reading spreads the travel times of the stops."""

    query: TransitQuery
    stops: LinkedStops
    positions: Positions
    ports: Ports
    around: Walks | None
    extra_ms: int
    #: Whether the walks are read by state, because there are few readings.
    by_state: bool

    def read(self, stop_ms: Int32Array) -> Int32Array:
        query, stops, directed = self.query, self.stops, self.stops.graph.directed
        on_edges = stops.side(is_leaving=not query.is_arrival).on_edges
        means = query.transportation
        stop_ms = np.where(stop_ms < NEVER, stop_ms + self.extra_ms, NEVER).astype(np.int32)
        limit_ms = most_ms(query.limit)
        found: Int32Array
        if self.around is None:
            labels, budget_ms = driven(query, stops, stop_ms).labels, most_ms(means.access_time)
            found = egress.read_drives(
                self.positions, self.ports, labels, stop_ms, on_edges, directed, budget_ms, limit_ms
            )
        else:
            found = egress.read_walks(
                self.positions,
                self.ports,
                self._arrivals(self.around, stop_ms, limit_ms),
                self.around.by_state,
                stop_ms,
                on_edges,
                directed,
                self.around.is_leaving,
                most_ms(means.walking_time),
                limit_ms,
            )
        return found

    def _arrivals(self, around: Walks, stop_ms: Int32Array, limit_ms: int) -> Int64Array:
        """Return what `arrivals_on_foot` does."""
        if not self.by_state:
            return arrivals_on_foot(self.query, stop_ms, around)
        keys = np.empty(around.n_states, np.int64)
        walks.gather(stop_ms, limit_ms, around.by_state, keys)
        return keys

    def read_all(self, stop_ms: Int32Array) -> Int32Array:
        return np.stack([self.read(row) for row in stop_ms])


def egress_side(
    query: TransitQuery, snaps: Snaps, *, is_origin: bool, n_readings: int, by_row: bool = False
) -> EgressSide:
    """
    Prepare points for reading.

    Parameters
    ----------
    query : TransitQuery
    snaps : Snaps
    is_origin : bool
        Whether journeys begin at the points.
    n_readings : int
        Expected number of readings, which decides how much to prepare. It does not change the results.
    by_row : bool, default False
        Whether it is `read_all` that reads, which takes a fraction of the time where points have links.
    """
    means = query.transportation
    is_driven = is_origin and not query.is_walked_to
    around = None if is_driven or len(snaps) <= FEW else query.walks(is_leaving=not is_origin)
    is_linked = len(snaps) <= FEW
    if around is not None:
        n_entries = around.by_state.stops.size
        links = len(snaps) * n_entries / max(1, query.walking.topology.n_states)
        link_cost = n_readings * (_TOGETHER if by_row else 1.0)
        is_linked = links * (_LINK_COST + link_cost) < n_readings * (n_entries + len(snaps))
    if is_linked:
        found = query.links(snaps, is_origin=is_origin)
        return _Linked(found, most_ms(query.limit), query.layer.timetable.n_stops)
    stops = query.stops
    if is_driven:
        stops = stop_links.linked_stops(query.layer, query.access_graph(), means.access, means.egress)
    here = travel_times.positions(stops.graph, snaps, query.snapping)
    reads = travel_times.ports(stops.graph, here, is_entry=not is_origin)
    extra_ms = (means.access_penalty + means.pt_change_delay) * 1000 if is_origin else 0
    by_state = around is not None and around.are_read_rarely(n_readings)
    return _OnStreets(query, stops, here, reads, around, extra_ms, by_state)


def least_times(query: TransitQuery, search: TransitSearch, access: StopLinks, there: EgressSide) -> Int32Array:
    """
    Return the least travel times of the window between points and those of the egress side.

    Parameters
    ----------
    query : TransitQuery
    search : TransitSearch
        That of the query, or of more hours.
    access : StopLinks
        Stops and times of the points, ms.
    there : EgressSide

    Returns
    -------
    int32 array of shape (n_access, n_points), ms
        `NEVER` beyond the limit.
    """
    is_arrival, options, moment = query.is_arrival, query.options, query.at(search)
    if not query.has_exact_headways:
        at_stops = [query.sampled_times(access.of(i)).min(axis=0) for i in range(access.n_points)]
        return there.read_all(np.stack(at_stops))
    if query.window:
        return there.read_all(
            search.window_stop_times(
                access, moment, query.window * 1000, options, is_arrival=is_arrival, step=1000
            )
        )  # fmt: skip
    if isinstance(there, _Linked):
        return search.target_times(access, moment, there.links, options, is_arrival=is_arrival)
    return there.read_all(search.stop_times(access, moment, options, is_arrival=is_arrival))


def sampled_times(query: TransitQuery, access: tuple[Int32Array, Int32Array], there: EgressSide) -> Int32Array:
    """
    Return the travel times between one point and those of the egress side that percentiles are computed from.

    Parameters
    ----------
    query : TransitQuery
    access : pair of int32 arrays of shape (n_links,)
        Stops and times of the point, ms.
    there : EgressSide

    Returns
    -------
    int32 array of shape (n_samples, n_points), ms
        `NEVER` beyond the limit.
    """
    if query.has_exact_headways and isinstance(there, _Linked):
        # Only the points around stops whose times a departure improves are read.
        search, is_arrival = query.search(), query.is_arrival
        moments = query.samples(search)
        return search.window_times(access, moments, there.reach, query.options, is_arrival=is_arrival)
    return there.read_all(query.sampled_times(access))
