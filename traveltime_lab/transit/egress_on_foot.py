"""
Compute travel times along streets by transit and a walk from the last stop, or to the first.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from traveltime_lab._arrays import Float32Array, Int32Array, Int64Array, chosen_rows, unique_values
from traveltime_lab.kernels.raster import transit_edges
from traveltime_lab.kernels.transit import walks as stop_kernel
from traveltime_lab.kernels.unreached import NEVER, NEVER_KEY
from traveltime_lab.rounding import most_ms
from traveltime_lab.runtime.threads import even_slices, side_by_side
from traveltime_lab.settings import settings
from traveltime_lab.streets.field import ports_of_states
from traveltime_lab.streets.workspaces import EdgeNumbers, KeySpace, key_space
from traveltime_lab.transit import stop_links
from traveltime_lab.transit.query import TransitQuery
from traveltime_lab.transit.stop_links import LinkedStops
from traveltime_lab.transit.walks import Walks

#: Least number of links for which several threads are faster than one (measured in Porto Alegre).
_MANY_LINKS = 500_000
#: Number of walks from stops for each state up to which the states that they reach are listed. Walks overlap, so that
#: few of the states are reached then (assumed).
_FEW_LINKS = 1
#: Times that `EgressByDeparture.bounds_ms` compares at once, because temporary arrays take as much memory each.
_TOGETHER = 1 << 20
_NO_STATES = np.empty(0, np.int32)


@dataclass(frozen=True)
class EgressOnFoot:
    """
    Travel times of one departure along edges: by transit and a walk from the last stop.

    Attributes
    ----------
    stop_ms : int32 array of shape (n_stops,), ms
        Travel time to each stop (backwards: from there), `NEVER` if there is no journey.
    rows : EdgeNumbers
        The edges that are reached within the limit, and maybe others.
    starts : int32 array of shape (n_rows, 8), ms
        Travel times at both ends of these edges; see `traveltime_lab.kernels.raster.transit_edges.edge_starts`.
    """

    stop_ms: Int32Array
    rows: EdgeNumbers
    starts: Int32Array

    @property
    def edges(self) -> Int32Array:
        """The edges of `rows`, ascending."""
        assert self.rows.edges is not None
        return self.rows.edges


@dataclass(frozen=True)
class EgressByDeparture:
    """
    Travel times of many departures along the edges that the best of them reaches within the limit, as `EgressOnFoot`.

    Attributes
    ----------
    stop_ms : int32 array of shape (n_stops, n_departures), ms
    rows : EdgeNumbers
        The edges.
    starts : int32 array of shape (n_rows, 5, n_departures), ms
        See `traveltime_lab.kernels.raster.transit_edges.departure_starts`.
    along : int32 array of shape (n_rows, 2), ms
        Times along the edges from their starts and from their ends.
    """

    stop_ms: Int32Array
    rows: EdgeNumbers
    starts: Int32Array
    along: Int32Array

    def bounds_ms(self, budget_ms: float, rank: int) -> Int32Array:
        """
        Return bounds of the travel times of one rank along each edge.

        Parameters
        ----------
        budget_ms : float
            Longest walk from a stop that counts for every cell of an edge, its way to the edge left out.
        rank : int

        Returns
        -------
        int32 array of shape (n_rows, 8), ms
            In the form of `EgressOnFoot.starts`: the least time as that at a stop, the greatest as that at the start
            of an edge without length, after a walk of `budget_ms`, `NEVER` if a walk may be longer.
        """
        n_rows, _, n_departures = self.starts.shape
        bounds = np.zeros((n_rows, 8), np.int32)
        bounds[:, 1], bounds[:, 4] = max(0, int(np.floor(budget_ms))), NEVER
        n_together = max(1, _TOGETHER // n_departures)
        for part in (slice(at, at + n_together) for at in range(0, n_rows, n_together)):
            first, first_walk, last, last_walk, at_stop = self.starts[part].swapaxes(0, 1)
            along, back = self.along[part].T[:, :, None]
            # Not the one of that rank: one of two tied edges may be faster for some departures, the other for others.
            bounds[part, 3] = np.minimum(np.minimum(first, last), at_stop).min(axis=1)
            by_first = np.where(first_walk + along <= budget_ms, first + along, NEVER)
            by_last = np.where(last_walk + back <= budget_ms, last + back, NEVER)
            of_each = np.minimum(np.minimum(by_first, by_last), NEVER)
            bounds[part, 0] = np.partition(of_each, rank, axis=1)[:, rank]
        return bounds


def road_rows(starts: Int32Array) -> Float32Array:
    """
    Return the values along edges of walks from stops, as `traveltime_lab.kernels.raster.surface.edge_rows` has them.

    The budget of walks is only checked at the ends of edges.
    """
    rows = np.empty((len(starts), 4), np.float32)
    for column in (0, 2):
        ms, along_ms = starts[:, 2 * column], starts[:, 2 * column + 2]
        rows[:, column] = np.where(ms < NEVER, ms / 1000.0, np.inf)
        rows[:, column + 1] = np.where(ms < NEVER, along_ms / 1000.0, 0.0)
    return rows


def walked(query: TransitQuery, stops: LinkedStops, stop_ms: Int32Array, around: Walks) -> EgressOnFoot:
    """Return the travel times of walking from the stops, given the travel times to the stops; see `spread_out`."""
    graph = query.walking
    on_edges = stops.side(is_leaving=around.is_leaving).on_edges
    ports = graph.exit_ports() if query.is_arrival else graph.entry_ports()
    rows = EdgeNumbers(graph.topology)
    n_links = np.cumsum(np.where(stop_ms <= most_ms(query.limit), np.diff(around.by_stop.indptr), 0))
    n_all = int(n_links[-1:].sum())
    lists = n_all <= _FEW_LINKS * graph.topology.n_states
    is_many = n_all >= _MANY_LINKS and not lists
    borders = np.searchsorted(n_links, np.linspace(0, n_all, settings.threads + 1)[1:-1]).tolist() if is_many else ()
    with spread_out(query, stop_ms, around, borders, lists=lists) as (keys, states):
        if lists:
            of_states = ports_of_states(graph, is_backward=query.is_arrival)
            of_stops = stop_links.edges_of_stops(query.layer, stops, is_leaving=around.is_leaving)
            near = np.flatnonzero(stop_ms <= most_ms(query.limit))
            _, at = chosen_rows(of_states.indptr, states)
            _, at_stops = chosen_rows(of_stops.indptr, near)
            edges = unique_values(np.concatenate([of_states.directed[at] >> 1, of_stops.edges[at_stops]]))
        else:
            edges = np.arange(graph.topology.n_edges, dtype=np.int32)
        rows.number(edges)
        starts = np.empty((edges.size, 8), np.int32)

        def fill(part: slice) -> None:
            transit_edges.edge_starts(
                edges[part], keys, ports, graph.directed, query.is_arrival, stop_ms, on_edges, starts[part]
            )

        side_by_side([functools.partial(fill, part) for part in even_slices(edges.size)])
    return EgressOnFoot(stop_ms, rows, starts)


def walked_by_departure(
    query: TransitQuery, stops: LinkedStops, times: Int32Array, around: Walks, quickest: EgressOnFoot
) -> EgressByDeparture:
    """Return the travel times of walking from the stops for each row of travel times to the stops."""
    graph = query.walking
    ports = graph.exit_ports() if query.is_arrival else graph.entry_ports()
    rows = EdgeNumbers(graph.topology)
    edges, _ = transit_edges.edges_within(quickest.edges, quickest.starts, most_ms(query.limit) + 1.0)
    rows.number(edges)
    # Each departure reaches no more states than the best of them.
    lists = quickest.edges.size < graph.topology.n_edges
    starts = np.empty((edges.size, 5, len(times)), np.int32)
    on_edges = stops.side(is_leaving=around.is_leaving).on_edges

    def fill(moment: int) -> None:
        with spread_out(query, times[moment], around, lists=lists) as (keys, _):
            transit_edges.departure_starts(
                edges, keys, ports, graph.directed.is_open, query.is_arrival, times[moment], on_edges, moment, starts
            )

    side_by_side([functools.partial(fill, moment) for moment in range(len(times))])
    along = quickest.starts[np.searchsorted(quickest.edges, edges)][:, [2, 6]]
    return EgressByDeparture(np.ascontiguousarray(times.T), rows, starts, along)


def arrivals_on_foot(query: TransitQuery, stop_ms: Int32Array, around: Walks) -> Int64Array:
    """Return the keys of `spread_out`, in an array of its own."""
    keys = np.full(around.n_states, NEVER_KEY)
    stop_kernel.spread(stop_ms, 0, stop_ms.size, most_ms(query.limit), around.by_stop, keys, _NO_STATES)
    return keys


@contextlib.contextmanager
def spread_out(
    query: TransitQuery, stop_ms: Int32Array, around: Walks, borders: Sequence[int] = (), *, lists: bool = False
) -> Iterator[tuple[Int64Array, Int32Array]]:
    """
    Lend the travel times of all states by transit and a walk, and the durations of these walks, as keys.

    Parameters
    ----------
    query : TransitQuery
    stop_ms : int32 array of shape (n_stops,)
    around : Walks
    borders : sequence of int, optional
        Stops that divide all into parts, which are computed in parallel; none if the caller runs in parallel already.
    lists : bool, default False
        Whether to list the states that are reached, which takes a fifth of the time more. Not with `borders`.

    Yields
    ------
    keys : int64 array of shape (n_states,)
        See `traveltime_lab.kernels.transit.walks.spread`.
    states : int32 array
        The states that are reached, if they are listed.
    """
    limit_ms, topology, by_stop = most_ms(query.limit), query.walking.topology, around.by_stop
    ends = [0, *borders, stop_ms.size]
    with contextlib.ExitStack() as lent:
        spaces = [lent.enter_context(key_space(topology)) for _ in ends[1:]]

        def spread(space: KeySpace, first: int, last: int) -> Int32Array:
            states = space.states if lists else _NO_STATES
            n = stop_kernel.spread(stop_ms, first, last, limit_ms, by_stop, space.keys, states)
            return states[:n]

        parts = zip(spaces, itertools.pairwise(ends), strict=True)
        states, *_ = side_by_side([functools.partial(spread, space, *part) for space, part in parts])
        first, *others = spaces
        for other in others:
            np.minimum(first.keys, other.keys, out=first.keys)
            other.clear()
        yield first.keys, states
        first.clear(states if lists else None)
