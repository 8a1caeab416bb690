"""
Compute the lengths of journeys without building routes.

A length is the sum of those of all legs, in whole centimetres, and equals that of the route that
`traveltime_lab.transit.itineraries` builds: both take the legs from `traveltime_lab.transit.raptor.Rounds` and the
lines of rides from `traveltime_lab.kernels.transit.ride_lines`; walks and drives are shortest paths on the same graphs.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np

from traveltime_lab._arrays import IndexArray, Int32Array, Int64Array, indptr_of, take_rows
from traveltime_lab.kernels.records import StopLinks
from traveltime_lab.kernels.street import road, turns
from traveltime_lab.kernels.transit import ride_lines
from traveltime_lab.kernels.transit.journeys import Searches
from traveltime_lab.kernels.unreached import NEVER, UNREACHED
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.rounding import most_ms
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.runtime.threads import map_ahead, side_by_side
from traveltime_lab.settings import settings
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.links import LinkedPoints
from traveltime_lab.streets.local_pairs import are_same
from traveltime_lab.streets.snapping import STOP_SNAPPING, Snaps
from traveltime_lab.streets.workspaces import search_space
from traveltime_lab.transit import stop_links
from traveltime_lab.transit.inside import inside as ways_inside
from traveltime_lab.transit.legs import LegForest, Rounds, leg_forest
from traveltime_lab.transit.query import TransitQuery
from traveltime_lab.transit.raptor import TransitSearch
from traveltime_lab.transit.ride_lengths import known_lengths, straight_cm, trip_lines
from traveltime_lab.transit.stop_links import LinkedStops
from traveltime_lab.transit.stop_reach import array
from traveltime_lab.transit.walks import Walks

#: Centimetres where one leg begins at the place where the one before it ends.
NO_WAY: Final = -1
#: Centimetres that are not known yet.
_UNKNOWN: Final = -2
#: Rows that one thread searches at least.
_ROWS_AT_ONCE: Final = 32
#: Searches in one call, between two checks for a cancellation.
SEARCHES_AT_ONCE: Final = 64
#: Labels of walks between stops by `LinkedStops.key`: (label, milliseconds searched) by pair of stops. These are pairs
#: that transfers join, whose number the timetable bounds.
_CHANGES = Derived[Any, dict[int, tuple[int, int]]]("lengths of changes", kept=4)


@dataclass(frozen=True)
class StreetSide:
    """
    Points of one side of a query, and the stops on the streets by which they are joined.

    Attributes
    ----------
    graph : RoadGraph
    stops : LinkedStops
    points : Snaps
    links : StopLinks
        Between the points and stops.
    extra_ms : int
        Time in each link that is not spent on streets.
    snapping : Snapping
        That of the points.
    is_origin : bool
        Whether journeys begin at the points.
    walks : Walks or None
        Walks around all stops, if the links are walks and these are known.
    """

    graph: RoadGraph
    stops: LinkedStops
    points: Snaps
    links: StopLinks
    extra_ms: int
    snapping: Snapping
    is_origin: bool
    walks: Walks | None

    @classmethod
    def of(cls, query: TransitQuery, points: Snaps, links: StopLinks, *, is_origin: bool) -> StreetSide:
        """Return the origins, or the destinations, of a query; `links` are those of `TransitQuery.links`."""
        means = query.transportation
        graph, stops, extra_s, walks = query.walking, query.stops, 0, query.known_walks(is_leaving=not is_origin)
        if is_origin:
            extra_s = means.access_penalty + means.pt_change_delay
            if not query.is_walked_to:
                graph = query.access_graph()
                stops, walks = stop_links.linked_stops(query.layer, graph, means.access), None
        return cls(graph, stops, points, links, extra_s * 1000, query.snapping, is_origin, walks)

    def link_lengths(self, links_at: IndexArray, points_of: IndexArray, *, by_stop: bool) -> Int64Array:
        """
        Return the centimetres of the ways between points and stops.

        Parameters
        ----------
        links_at, points_of : intp arrays of shape (n,)
            Positions in `links`, and the points that these belong to.
        by_stop : bool
            Whether to search from the stops; otherwise from the points. Nothing is searched where `walks` are known.

        Returns
        -------
        int64 array of shape (n,)
            `NO_WAY` between points and stops that are one place.
        """
        ms = self.links.ms[links_at].astype(np.int64) - self.extra_ms
        stops = self.links.stops[links_at].astype(np.intp)
        joined = self.stops.side(is_leaving=not self.is_origin).snaps
        is_backward = by_stop == self.is_origin
        if self.walks is not None:
            labels = stop_links.link_labels(
                self.stops, self.walks, self.points, self.snapping, points_of, self.links.stops[links_at]
            )
        elif by_stop:
            how = STOP_SNAPPING, self.snapping
            labels = street_labels(
                self.graph, (joined, self.points), how, (stops, points_of), ms, is_backward=is_backward
            )
        else:
            how = self.snapping, STOP_SNAPPING
            labels = street_labels(
                self.graph, (self.points, joined), how, (points_of, stops), ms, is_backward=is_backward
            )
        is_none = (labels == UNREACHED) | are_same(self.points, joined, points_of, stops)
        return np.where(is_none, NO_WAY, label_parts.cm(labels))


def street_labels(
    graph: RoadGraph,
    points: tuple[Snaps, Snaps],
    how: tuple[Snapping, Snapping],
    pairs: tuple[IndexArray, IndexArray],
    longest_ms: Int64Array,
    *,
    is_backward: bool,
) -> Int64Array:
    """
    Return the labels of ways on streets between rows and columns, with one search from each row.

    Parameters
    ----------
    graph : RoadGraph
    points : pair of Snaps
        Rows and columns, of which one side are stops.
    how : pair of Snapping
        Snapping of rows and columns.
    pairs : pair of intp arrays of shape (n_pairs,)
        Positions in both.
    longest_ms : int64 array of shape (n_pairs,)
        Longest times that matter.
    is_backward : bool
        Whether the ways end at the rows.

    Returns
    -------
    int64 array of shape (n_pairs,)
        Those of `traveltime_lab.streets.paths`; `UNREACHED` beyond the longest time, or somewhat more.
    """
    order = np.argsort(pairs[0], kind="stable")
    used, row_of = np.unique(pairs[0][order], return_inverse=True)
    labels = np.full(order.size, UNREACHED, np.int64)
    if not order.size:
        return labels
    indptr = np.searchsorted(row_of, np.arange(used.size + 1)).astype(np.int64)
    rows = LinkedPoints.of(graph, points[0].take(used), how[0], is_entry=is_backward)
    columns = LinkedPoints.of(graph, points[1].take(pairs[1][order]), how[1], is_entry=not is_backward)
    limits = ((np.maximum.reduceat(longest_ms[order], indptr[:-1]) + 1) << road.TIME_SHIFT) - 1
    core = graph.core(is_backward=is_backward)
    seeds, reads = core.seed_rows(rows.ports), core.read_rows(columns.ports)

    def search(first: int, last: int) -> None:
        begin, end = indptr[first], indptr[last]
        with search_space(graph, core) as space:
            space.queue = road.one_to_some(
                core.arcs, take_rows(seeds, first, last), take_rows(reads, int(begin), int(end)),
                indptr[first : last + 1] - begin, limits[first:last], space.label, space.queue, labels[begin:end],
            )  # fmt: skip

    n_parts = max(1, min(settings.threads, used.size // _ROWS_AT_ONCE))
    ends = [used.size * part // n_parts for part in range(n_parts + 1)]
    side_by_side([functools.partial(search, *each) for each in itertools.pairwise(ends)])
    sides = (rows.positions, row_of), (columns.positions, np.arange(order.size))
    (start, start_of), (end, end_of) = sides[::-1] if is_backward else sides
    turns.improve_pairs(start, end, start_of, end_of, graph.directed, limits.max(), labels)
    # Points that are one place have no way between them.
    labels[are_same(rows.snaps, columns.snaps, row_of, np.arange(order.size))] = 0
    result = np.empty_like(labels)
    result[order] = labels
    return result


class Fastest(NamedTuple):
    """
    The fastest journeys by transit of searches from points of the search side to points of the other side.

    Attributes
    ----------
    points : intp array of shape (n_searches,)
        Where the searches begin.
    targets : int64 array of shape (n_journeys,)
        Points of the other side.
    links_at : int64 array of shape (n_journeys,)
        How each target is joined to its stop, as position in the links of the other side; -1 if no stop is reached.
    ms : int32 array of shape (n_journeys,)
        Travel times, `NEVER` beyond the limit.
    forest : LegForest
        The transit legs. Its `last` are those of the journeys.
    """

    points: IndexArray
    targets: Int64Array
    links_at: Int64Array
    ms: Int32Array
    forest: LegForest


class JourneyLegs(NamedTuple):
    """
    The transit legs of journeys, and the ways between them, with their lengths.

    Attributes
    ----------
    forest : LegForest
        Its `last` are the last legs of the journeys.
    indptr : int64 array of shape (n_legs + 1,)
        Index pointer of the trips of each leg.
    calls : int64 array of shape (n_calls, 4)
        See `traveltime_lab.kernels.transit.ride_lines.ride_calls`.
    joint_cm : int64 array of shape (n_legs,)
        Centimetres between each leg and the one before it in the forest, or the point of the search; `NO_WAY` if it
        begins where that one ends.
    link_cm : int64 array of shape (n_journeys,)
        Centimetres between the last leg and the point of the other side, or `NO_WAY`.
    """

    forest: LegForest
    indptr: Int64Array
    calls: Int64Array
    joint_cm: Int64Array
    link_cm: Int64Array


@dataclass
class JourneyLengths:
    """
    The lengths of the journeys of one query.

    Attributes
    ----------
    query : TransitQuery
    search : TransitSearch
    near, far : StreetSide
        Points of the search side and of the other side.
    """

    query: TransitQuery
    search: TransitSearch
    near: StreetSide
    far: StreetSide
    _near_cm: Int64Array = field(init=False, repr=False)
    _far_cm: Int64Array = field(init=False, repr=False)
    _far_lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        # Journeys often have the ways to the first stop and from the last one in common.
        self._near_cm = np.full(self.near.links.stops.size, _UNKNOWN, np.int64)
        self._far_cm = np.full(self.far.links.stops.size, _UNKNOWN, np.int64)

    @classmethod
    def of(
        cls,
        query: TransitQuery,
        search: TransitSearch,
        near: Snaps,
        far: Snaps,
        near_links: StopLinks,
        far_links: StopLinks,
    ) -> JourneyLengths:
        """Prepare the points of the search side (`near`) and of the other side with their links to stops."""
        is_arrival = query.is_arrival
        return cls(
            query,
            search,
            StreetSide.of(query, near, near_links, is_origin=not is_arrival),
            StreetSide.of(query, far, far_links, is_origin=is_arrival),
        )

    def fastest(self, searches: Searches) -> Fastest:
        """
        Search from points of the search side.

        Parameters
        ----------
        searches : Searches
            With moments in milliseconds after the reference of the search.
        """
        sides, is_arrival = (self.near.links, self.far.links), self.query.is_arrival
        search = self.search if self.query.has_exact_headways else self.query.average()
        found = search.fastest(*sides, searches, self.query.options, is_arrival=is_arrival)
        return Fastest(searches.points, searches.targets, *found)

    def fastest_of(self, rounds: Rounds) -> Fastest:
        """Return the journeys of a search that is already done, from the only point of the search side to all."""
        theirs = self.far.links
        targets = np.arange(theirs.n_points)
        at = ride_lines.best_links(theirs._replace(indptr=array(theirs.indptr, np.int64)), rounds.best[-1])
        ms, stops = np.full(at.size, NEVER, np.int32), np.full(at.size, -1, np.int32)
        some = np.flatnonzero(at >= 0)
        ms[some] = rounds.times_at(theirs.stops[at[some]]) + theirs.ms[at[some]]
        ms[ms > self.query.options.travel_limit] = NEVER
        some = np.flatnonzero(ms < NEVER)
        stops[some] = theirs.stops[at[some]]
        return Fastest(np.zeros(1, np.intp), targets, at, ms, leg_forest(rounds, stops))

    def of_journeys(self, found: Fastest, at: IndexArray) -> Int64Array:
        """Return the centimetres of some journeys; see `legs_of`."""
        legs = self.legs_of(found, at)
        own = np.diff(indptr_of(legs.calls[:, 3])[legs.indptr])
        total: Int64Array = ride_lines.summed(legs.forest.before, own + np.maximum(legs.joint_cm, 0))
        return total[legs.forest.last] + np.maximum(legs.link_cm, 0)

    def legs_of(self, found: Fastest, at: IndexArray) -> JourneyLegs:
        """Return the legs of the journeys at some positions in `found`, at least one."""
        with self._far_lock:  # a second thread may need the same ways
            link_cm = self._link_cm(self._far_cm, self.far, found.links_at[at], found.targets[at], by_stop=True)
        forest = replace(found.forest, last=found.forest.last[at])
        return JourneyLegs(forest, *self._calls(forest), self._joints(found.points[forest.search_of], forest), link_cm)

    def at_moments(self, near_of: IndexArray, far_of: IndexArray, starts: Int64Array, ms: Int64Array) -> Int64Array:
        """
        Return the centimetres of journeys of different moments.

        Parameters
        ----------
        near_of, far_of : intp arrays of shape (n,)
            Points on both sides.
        starts, ms : int64 arrays of shape (n,)
            Departure, or arrival, in milliseconds after the reference of the search, and travel time.
        """
        cm = np.zeros(near_of.size, np.int64)

        def measure(searches: Sequence[IndexArray]) -> None:
            rows, first = np.concatenate(searches), [each[0] for each in searches]
            limits = np.array([ms[each].max() for each in searches], np.int32)
            indptr = indptr_of(np.array([each.size for each in searches]))
            bounds = np.full(rows.size, NEVER, np.int32)
            found = self.fastest(Searches(near_of[first], starts[first], limits, indptr, far_of[rows], bounds))
            cm[rows] = self.of_journeys(found, np.arange(rows.size))

        for _ in map_ahead(measure, in_parts(one_search_each(near_of, starts))):
            checkpoint()
        return cm

    @staticmethod
    def _link_cm(
        known: Int64Array, side: StreetSide, links_at: IndexArray, points_of: IndexArray, *, by_stop: bool
    ) -> Int64Array:
        """Return `StreetSide.link_lengths` from those that are known, to which those that are not are added."""
        unknown = np.flatnonzero(known[links_at] == _UNKNOWN)
        if unknown.size:
            at, first = np.unique(links_at[unknown], return_index=True)
            known[at] = side.link_lengths(at, points_of[unknown[first]], by_stop=by_stop)
        cm: Int64Array = known[links_at]
        return cm

    @functools.cached_property
    def _near_order(self) -> tuple[Int64Array, IndexArray]:
        """The links of the search side as sorted numbers of point and stop, and their positions."""
        links = self.near.links
        points = np.repeat(np.arange(links.indptr.size - 1), np.diff(links.indptr))
        keys = points * self.search.table.n_stops + links.stops
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def _joints(self, points: IndexArray, forest: LegForest) -> Int64Array:
        """
        Return for each leg the centimetres to the leg before it, or to the point of the search; or `NO_WAY`.

        Parameters
        ----------
        points : intp array of shape (n_legs,)
            The point of the search of each leg.
        forest : LegForest
        """
        rides, before = forest.rides, forest.before
        cm = np.full(before.size, NO_WAY, np.int64)
        later = np.flatnonzero(before >= 0)
        one, two = before[later].astype(np.intp), later
        if forest.is_arrival:
            one, two = two, one
        spare_ms = rides.departure[two].astype(np.int64) - rides.arrival[one]
        cm[later] = self._changes(rides.alight_stop[one], rides.board_stop[two], forest.change[later], spare_ms)
        first = np.flatnonzero(before < 0)
        stops = (rides.alight_stop if forest.is_arrival else rides.board_stop)[first]
        keys, order = self._near_order
        at = order[np.searchsorted(keys, points[first] * self.search.table.n_stops + stops)]
        cm[first] = self._link_cm(self._near_cm, self.near, at, points[first], by_stop=False)
        return cm

    def _calls(self, forest: LegForest) -> tuple[Int64Array, Int64Array]:
        """Return the trips of all rides; see `traveltime_lab.kernels.transit.ride_lines.ride_calls`."""
        rides, table, layer = forest.rides, forest.table, self.query.layer
        indptr, calls = ride_lines.ride_calls(
            trip_lines(layer), known_lengths(layer), array(table.instance_trip, np.int32),
            array(table.stay_instance, np.int32),
            rides.board_run, rides.board_position, rides.alight_run, rides.alight_position,
        )  # fmt: skip
        return indptr, calls

    def _changes(
        self, from_stop: Int32Array, to_stop: Int32Array, change_ms: Int32Array, spare_ms: Int64Array
    ) -> Int64Array:
        """Return the centimetres of transfers, or `NO_WAY`; see `traveltime_lab.transit.itineraries`."""
        lines, stops, graph = trip_lines(self.query.layer), self.query.stops, self.query.walking
        a, b = from_stop.astype(np.intp), to_stop.astype(np.intp)
        cm = np.full(a.size, NO_WAY, np.int64)
        is_apart = (lines.stop_lng[a] != lines.stop_lng[b]) | (lines.stop_lat[a] != lines.stop_lat[b])
        inside = ways_inside(self.query.layer, stops.walker)
        if inside is not None:
            is_apart |= (a != b) & (inside.is_indoors[a] | inside.is_indoors[b])
        moves = np.flatnonzero(is_apart)
        if not moves.size:
            return cm
        # As in limits of routes, walks that round to the spare seconds are within them.
        a, b, spare_ms, change_ms = a[moves], b[moves], spare_ms[moves] + most_ms(0), change_ms[moves]
        known = _CHANGES.of(self.query.layer, stops.key, dict)
        pairs, first, pair_of = np.unique(a * len(stops) + b, return_index=True, return_inverse=True)
        # Most transfers take as long as their walk; others are shorter by a rule of the feed.
        for longest_ms in (np.minimum(change_ms + 1000, spare_ms), spare_ms):
            reach = np.zeros(pairs.size, np.int64)
            np.maximum.at(reach, pair_of, longest_ms)
            ways = [known.get(pair, (UNREACHED, -1)) for pair in pairs.tolist()]
            labels, searched = np.array(ways, np.int64).T
            unknown = np.flatnonzero((labels == UNREACHED) & (searched < reach))
            rows = first[unknown]
            labels[unknown] = street_labels(
                graph, (stops.leaving.snaps, stops.entering.snaps), (STOP_SNAPPING, STOP_SNAPPING), (a[rows], b[rows]),
                reach[unknown], is_backward=False,
            )  # fmt: skip
            found = zip(labels[unknown].tolist(), reach[unknown].tolist(), strict=True)
            known.update(zip(pairs[unknown].tolist(), found, strict=True))
        if inside is not None:
            labels = np.minimum(labels, inside.between(a[first], b[first]))
        labels = labels[pair_of]
        is_walked = (labels != UNREACHED) & (labels != 0) & (label_parts.ms(labels) <= spare_ms)
        cm[moves] = label_parts.cm(labels)
        for row in moves[~is_walked].tolist():
            cm[row] = straight_cm(lines, int(from_stop[row]), int(to_stop[row]))
        return cm


def searches_of_all(points: IndexArray, moment: int, limit: int, n_far: int) -> Searches:
    """Return searches at one moment that are to reach all points of the other side."""
    n, n_pairs = points.size, points.size * n_far
    return Searches(
        points=points,
        starts=np.full(n, moment, np.int64),
        limits=np.full(n, limit, np.int32),
        indptr=np.arange(n + 1) * n_far,
        targets=np.tile(np.arange(n_far), n),
        bounds=np.full(n_pairs, NEVER, np.int32),
    )


def in_parts(searches: list[IndexArray]) -> list[list[IndexArray]]:
    """Return a few searches at a time, for each thread some."""
    size = min(SEARCHES_AT_ONCE, -(-len(searches) // settings.threads)) or 1
    return [searches[first : first + size] for first in range(0, len(searches), size)]


def one_search_each(near_of: IndexArray, starts: Int64Array) -> list[IndexArray]:
    """Return the positions of journeys in groups that have the point of the search side and the moment in common."""
    order = np.lexsort((starts, near_of))
    is_new = (np.diff(near_of[order]) != 0) | (np.diff(starts[order]) != 0)
    return [rows for rows in np.split(order, np.flatnonzero(is_new) + 1) if rows.size]
