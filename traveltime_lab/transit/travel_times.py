"""
Compute travel times from door to door with a timetable: matrices, chosen pairs, and the journeys of a window.
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from traveltime_lab._arrays import FloatArray, IndexArray, Int32Array, Int64Array
from traveltime_lab.kernels.records import StopLinks
from traveltime_lab.kernels.street.nearest import TIE_M
from traveltime_lab.kernels.transit import range_raptor
from traveltime_lab.kernels.unreached import NEVER, UNREACHED
from traveltime_lab.rounding import most_ms
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.runtime.progress import advance, unwatched
from traveltime_lab.runtime.shared import shared, shared_by
from traveltime_lab.runtime.threads import BLOCK, map_ahead, row_blocks
from traveltime_lab.streets import contraction, engines, matrix
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.labels import limit_label
from traveltime_lab.streets.links import LinkedPoints
from traveltime_lab.streets.local_pairs import LocalPairs, local_pairs
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.row_search import RowSearch
from traveltime_lab.streets.snapping import Snaps
from traveltime_lab.transit import border, emissions, lanes
from traveltime_lab.transit.egress_side import EgressSide, egress_side, least_times, sampled_times
from traveltime_lab.transit.lengths import SEARCHES_AT_ONCE, searches_of_all
from traveltime_lab.transit.query import TransitQuery
from traveltime_lab.transit.raptor import TransitSearch
from traveltime_lab.transit.stop_links import FEW
from traveltime_lab.transit.together import Together, question_without_moment

#: Highest speed on any street or connector of a graph, m/s.
_FASTEST_MPS = Derived[None, float]("fastest street")


def label_blocks(
    query: TransitQuery, origins: Snaps, destinations: Snaps, *, with_length: bool = False, with_border: bool = False
) -> Iterator[matrix.Block]:
    """
    Yield the labels of all pairs, in blocks of whole rows (departures) or whole columns (arrivals).

    Parameters
    ----------
    query : TransitQuery
    origins : Snaps
        Origins, snapped to the streets of the access.
    destinations : Snaps
        Destinations, snapped to walkable streets.
    with_length : bool, default False
        Whether to compute lengths; with a window, those of the fastest journeys in it.
    with_border : bool, default False
        Whether to compute the times to the border of the extract, which must be known.

    Yields
    ------
    Block
        Labels have milliseconds in the upper 32 bits, and in the lower the length of the route that
        `traveltime_lab.transit.itineraries` builds, if it is requested; otherwise 0.

    Notes
    -----
    The travel time of a departure search includes the wait at the origin and ends with the arrival; that of an arrival
    search begins with the departure and includes the time left at the destination. With a window it is the least over
    all seconds of the window.
    """
    is_arrival = query.is_arrival
    near, far = (destinations, origins) if is_arrival else (origins, destinations)
    search_links = query.links(near, is_origin=not is_arrival)
    together = None if with_length else Together.of(query, len(far))
    if len(far) > FEW and not is_arrival:
        query.walks(is_leaving=True)  # before the search, whose transfers are found along the same walks
    search = query.search() if together is None else together.search()
    walks = shared("walks all the way", (near, far), lambda: _Walks.of(query, near, far), query.direct_limit)
    if with_length:
        blocks = _blocks_with_length(query, search, near, far, search_links, walks)
        if query.has_spread:
            spreads = label_blocks(query.asking(with_least=False), origins, destinations)
            blocks = (replace(block, spread=other.spread) for block, other in zip(blocks, spreads, strict=True))
        yield from _with_border(query, near, blocks) if with_border else blocks
        return
    n_readings = len(near) * (1 + (query.n_samples if query.has_spread else 0))
    there = _reads(query, far, n_readings, together, with_border=with_border)

    def ride(part: slice) -> matrix.Block:
        access = search_links.rows(part.start, part.stop)
        spread = None
        if query.has_spread:
            if together is not None:
                by_moment = [together.times(search_links, i, there) for i in range(part.start, part.stop)]
            else:
                by_moment = [sampled_times(query, access.of(i), there) for i in range(part.stop - part.start)]
            times = np.stack([each.min(axis=0) for each in by_moment])
            if with_border:
                by_moment = [np.ascontiguousarray(each[:, :-1]) for each in by_moment]
            direct = walks.of_rows(part, np.stack([each.max(axis=0) for each in by_moment]))
            spread = _spread(query, by_moment, direct)
        if spread is None or query.with_least:
            if together is not None and not query.window:
                times = np.concatenate([together.times(search_links, i, there) for i in range(part.start, part.stop)])
            else:
                times = least_times(query, search, access, there)
        to_border = None
        if with_border:
            times, to_border = times[:, :-1], times[:, -1]
        if spread is None:
            direct = walks.of_rows(part, times)
        np.minimum(times, direct, out=times)
        labels = np.where(times >= NEVER, UNREACHED, label_parts.from_ms(times.astype(np.int64)))
        everyone = slice(0, len(far))
        if not is_arrival:
            return matrix.Block(part, everyone, labels, spread, to_border)
        if spread is not None:
            spread = matrix.Spread(spread.ms.transpose(1, 0, 2), spread.share.T)
        return matrix.Block(everyone, part, labels.T, spread, to_border)

    # All samples of a block are in memory, with draws more than one of each departure.
    n_each = query.draws_of_each if query.has_spread else 1
    is_by_group = together is None and query.has_exact_headways and not (query.window or query.has_spread)
    fewest = lanes.ENOUGH if is_by_group and len(near) >= lanes.ENOUGH else 1
    yield from map_ahead(ride, row_blocks(len(near), len(far) * n_each, fewest=fewest))


def _with_border(query: TransitQuery, near: Snaps, blocks: Iterator[matrix.Block]) -> Iterator[matrix.Block]:
    """Yield blocks with the times to the border, in searches of their own."""
    for block in blocks:
        part = block.columns if query.is_arrival else block.rows
        yield replace(block, to_border=times_to_border(query, near.take(np.arange(part.start, part.stop))))


def times_to_border(query: TransitQuery, near: Snaps) -> Int32Array:
    """Return the times of `Block.to_border` of all points of the search side."""
    none = near.take(np.arange(0))
    sides = (none, near) if query.is_arrival else (near, none)
    found = [block.to_border for block in label_blocks(query, *sides, with_border=True)]
    return np.concatenate([np.zeros(0, np.int32), *(part for part in found if part is not None)])


def _reads(
    query: TransitQuery, far: Snaps, n_readings: int, together: Together | None, *, with_border: bool
) -> EgressSide:
    """Return the points of the egress side, prepared for a number of readings for each moment."""
    n_moments = 1 if together is None else len(together.group.moments)

    def prepared() -> EgressSide:
        side = egress_side(
            query,
            far,
            is_origin=query.is_arrival,
            n_readings=n_readings * n_moments,
            by_row=query.has_spread or together is not None,
        )
        return border.with_border(query, side) if with_border else side

    # Stops are left, or reached, on the streets of the moment.
    key = query.access_key if query.is_arrival else None
    return shared("egress", (far, query.layer), prepared, question_without_moment(query), key, with_border)


def _blocks_with_length(
    query: TransitQuery, search: TransitSearch, near: Snaps, far: Snaps, search_links: StopLinks, walks: _Walks
) -> Iterator[matrix.Block]:
    """Yield the labels of all pairs with lengths, without percentiles; see `label_blocks`."""
    query.check_headways(*(("lengths in a window",) if query.window else ("lengths", ("exact", "average"))))
    is_arrival, moment = query.is_arrival, query.at(search)
    first = None
    if len(near) == 1 and not query.window and query.has_exact_headways:
        # A single search needs no list of links by point.
        first = search.rounds((search_links.stops, search_links.ms), moment, query.options, is_arrival=is_arrival)
    egress_links = query.links(far, is_origin=is_arrival, times=None if first is None else first.best[-1])
    lengths = emissions.lengths_of(query).of(query, search, near, far, search_links, egress_links)

    def ride(part: slice) -> Int64Array:
        rows = np.arange(part.start, part.stop)
        if first is not None:
            found = lengths.fastest_of(first)
        else:
            found = lengths.fastest(searches_of_all(rows, moment, query.options.travel_limit, len(far)))
        ms = found.ms.reshape(rows.size, len(far))
        labels = emissions.of_walks(query, walks.labels(part, ms))
        ridden = np.flatnonzero(ms < _ms_of(labels))
        if ridden.size:
            cm = lengths.of_journeys(found, ridden)
            labels.reshape(-1)[ridden] = label_parts.from_ms(found.ms[ridden].astype(np.int64)) + cm
        return labels

    def ride_in_window(part: slice) -> Int64Array:
        labels = walks.labels(part, np.full((part.stop - part.start, len(far)), NEVER, np.int32))
        labels = emissions.of_walks(query, labels)
        walk_ms = _ms_of(labels)
        mine = search_links.rows(part.start, part.stop)
        found, starts = search.window_best(
            mine, moment, query.window * 1000, egress_links, 1, query.options,
            is_arrival=is_arrival, step=1000, direct_time=walk_ms,
        )  # fmt: skip
        ms = found[:, :, 0].astype(np.int64)
        row, column = np.nonzero(ms < walk_ms)
        ms, start = ms[row, column], starts[row, column, 0].astype(np.int64)
        labels[row, column] = label_parts.from_ms(ms) + lengths.at_moments(row + part.start, column, start, ms)
        return labels

    def block(part: slice) -> matrix.Block:
        labels = ride_in_window(part) if query.window else ride(part)
        if not is_arrival:
            return matrix.Block(part, slice(0, len(far)), labels)
        return matrix.Block(slice(0, len(far)), part, labels.T)

    yield from map_ahead(block, row_blocks(len(near), max(len(far), BLOCK // SEARCHES_AT_ONCE)))


def _ms_of(labels: Int64Array) -> Int32Array:
    """Return the milliseconds of labels, `NEVER` of the timetable where there is no way."""
    return np.where(labels == UNREACHED, NEVER, label_parts.ms(labels)).astype(np.int32)


@dataclass(frozen=True)
class _Walks:
    """Walks all the way between points of both sides, searched as far as walking can be faster than transit."""

    query: TransitQuery
    search: RowSearch
    by_hierarchy: bool
    #: Pairs of the search side and the egress side.
    local: LocalPairs
    near_xy: FloatArray
    far_xy: FloatArray
    #: Length of the connector of each point if it takes no time, otherwise 0; inf for points without a street.
    near_free_m: FloatArray
    far_free_m: FloatArray
    shrink: FloatArray
    fastest: float
    limit_ms: int

    @classmethod
    def of(cls, query: TransitQuery, near: Snaps, far: Snaps) -> _Walks:
        """Prepare the points of a query."""
        is_arrival, graph, streets = query.is_arrival, query.walking, query.layer.streets
        feet = query.on_foot(near, is_origin=not is_arrival), query.on_foot(far, is_origin=is_arrival)
        ends = [
            LinkedPoints.of(graph, snaps, query.snapping, is_entry=is_entry)
            for snaps, is_entry in zip(feet, (is_arrival, not is_arrival), strict=True)
        ]
        near_xy, far_xy = (np.column_stack(streets.frame.to_xy(snaps.lng, snaps.lat)) for snaps in feet)
        is_counted = query.snapping.penalty == "enabled"
        near_free_m, far_free_m = (
            np.where(snaps.edge < 0, np.inf, 0.0 if is_counted else snaps.distance_m + TIE_M) for snaps in feet
        )
        # Use the smallest shrink of all points, so that straight-line distances are lower bounds.
        shrink = streets.frame.shrink(np.concatenate([near_xy[:, 1], far_xy[:, 1]]))
        reached, leaving = ends if is_arrival else ends[::-1]
        largest = limit_label(query.direct_limit, graph.metric)
        local = local_pairs(graph, leaving.snaps, reached.snaps, query.snapping, largest)
        if len(near) > FEW:
            # Queries of this size need the walks around all stops, too, which take longer to compute.
            contraction.hierarchy(streets, graph)
        return cls(
            query=query,
            search=RowSearch.of(graph, *ends, is_backward=is_arrival),
            by_hierarchy=engines.pays_off(streets, graph, leaving, reached, largest),
            local=local.transposed if is_arrival else local,
            near_xy=near_xy,
            far_xy=far_xy,
            near_free_m=near_free_m,
            far_free_m=far_free_m,
            shrink=np.array([np.nanmin(shrink, initial=1.0), 1.0]),
            fastest=_FASTEST_MPS.of(
                graph, None, lambda: label_parts.fastest_mps(graph.traversal, graph.connector_kph / 3.6)
            ),
            limit_ms=most_ms(query.direct_limit),
        )

    def of_rows(self, part: slice, bounds: Int32Array) -> Int32Array:
        """
        Return walking times in milliseconds, `NEVER` for walks that are certainly longer than a bound.

        Parameters
        ----------
        part : slice
            Points of the search side.
        bounds : int32 array of shape (n_part, n_far), ms
            Travel times by transit.
        """
        if shared_by() is not None:
            # Bounds differ by moment; without them the walks are those of all.
            most = np.full(bounds.shape, NEVER, np.int32)
            return shared("walks of rows", (self,), lambda: _ms_of(self.labels(part, most)), part.start, part.stop)
        return _ms_of(self.labels(part, bounds))

    def labels(self, part: slice, bounds: Int32Array) -> Int64Array:
        """Return the labels of the walks that `of_rows` returns."""
        labels = self._swept(part) if self.by_hierarchy else self._searched(part, bounds)
        self.local.write(part, slice(0, labels.shape[1]), labels)
        return labels

    def _swept(self, part: slice) -> Int64Array:
        """Return the labels of some points of the search side with a contraction hierarchy."""
        query, is_arrival = self.query, self.query.is_arrival
        near, far = self.search.rows.part(part), self.search.columns
        labels = np.empty((part.stop - part.start, len(far.snaps)), np.int64)
        leaving, reached = (far, near) if is_arrival else (near, far)
        for block in matrix.blocks_between(
            query.layer.streets, query.walking, leaving, reached, limit=query.direct_limit, engine="hierarchy"
        ):
            rows, columns = (block.columns, block.rows) if is_arrival else (block.rows, block.columns)
            labels[rows, columns] = block.labels.T if is_arrival else block.labels
        return labels

    def _searched(self, part: slice, bounds: Int32Array) -> Int64Array:
        """Return the labels of some points of the search side with searches that end where transit is faster."""
        limits = np.empty(part.stop - part.start, np.int64)
        for row, here in enumerate(self.near_xy[part]):
            # Lower bound: the straight line at the speed of the fastest street or connector, less 2 % for distortion of
            # the frame, and without connectors that take no time.
            free_m = self.far_free_m + self.near_free_m[part.start + row]
            away = np.hypot(*((self.far_xy - here) * self.shrink).T) - free_m
            least = np.where(np.isinf(free_m), np.inf, np.fmax(away, 0.0) * (980.0 / self.fastest))
            most = np.minimum(bounds[row], self.limit_ms)
            limits[row] = most[least <= most].max(initial=-1)
        return self.search.labels(part, label_parts.from_ms(limits + 1) - 1)


def _spread(query: TransitQuery, by_moment: list[Int32Array], direct: Int32Array) -> matrix.Spread:
    """
    Return the percentiles and shares of the travel times of some points of the search side over the window.

    Parameters
    ----------
    query : TransitQuery
    by_moment : list of int32 arrays of shape (n_moments, n_far), ms
        Travel times by transit, one array for each point of the search side.
    direct : int32 array of shape (n_near, n_far), ms
        Walking times.
    """
    ms = np.empty((*direct.shape, len(query.percents)), np.int32)
    share = np.empty(direct.shape, np.float64)
    for row, times in enumerate(by_moment):
        np.minimum(times, direct[row], out=times)
        range_raptor.percentiles(times, np.array(query.percents, np.float64), ms[row])
        range_raptor.share_within(times, most_ms(query.limit), share[row])
    return matrix.Spread(ms, share.astype(np.float32))


def direct_labels(query: TransitQuery, pairs: Pairs) -> Int64Array:
    """Return the labels of walking all the way between chosen pairs."""
    walked = replace(pairs, starts=query.on_foot(pairs.starts, is_origin=True))
    with unwatched():
        return matrix.pair_labels(
            query.layer.streets, query.walking, walked, query.snapping, limit=query.direct_limit, engine="dijkstra"
        )


def pair_labels(
    query: TransitQuery, pairs: Pairs, *, with_length: bool = False, with_border: bool = False
) -> tuple[Int64Array, matrix.Spread | None, Int32Array | None]:
    """
    Return the labels of chosen pairs, with one search for each point of the search side; see `label_blocks`.

    Returns
    -------
    labels : int64 array of shape (n_pairs,)
    spread : Spread, optional
    to_border : int32 array of shape (n_near,), optional
        Times of `Block.to_border` for all points of the search side.
    """
    near_of = pairs.destination_of if query.is_arrival else pairs.origin_of
    labels = np.full(near_of.size, UNREACHED, np.int64)
    to_border = np.full(len(pairs.ends if query.is_arrival else pairs.starts), NEVER, np.int32) if with_border else None
    spread = None
    if query.has_spread:
        spread = matrix.Spread(
            np.empty((near_of.size, len(query.percents)), np.int32), np.empty(near_of.size, np.float32)
        )
    order = np.argsort(near_of, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(near_of[order])) + 1):
        if rows.size:
            sides = shared(
                "sides",
                (pairs.starts, pairs.ends, pairs.chosen),
                functools.partial(_sides, query, pairs, rows),
                rows[0],
            )
            for block in label_blocks(query, *sides, with_length=with_length, with_border=with_border):
                labels[rows] = block.labels.ravel()
                if to_border is not None and block.to_border is not None:
                    to_border[near_of[rows[0]]] = block.to_border[0]
                if spread is not None and block.spread is not None:
                    spread.ms[rows] = block.spread.ms.reshape(rows.size, -1)
                    spread.share[rows] = block.spread.share.ravel()
            advance(rows.size)
    return labels, spread, to_border


def _sides(query: TransitQuery, pairs: Pairs, rows: IndexArray) -> tuple[Snaps, Snaps]:
    """Return the origins and destinations of pairs that have the same point of the search side, which is given once."""
    starts, ends = pairs.starts.take(pairs.origin_of[rows]), pairs.ends.take(pairs.destination_of[rows])
    first = np.zeros(1, np.intp)
    return (starts, ends.take(first)) if query.is_arrival else (starts.take(first), ends)


class Departures(NamedTuple):
    """
    Journeys of a window, sorted by pair and travel time.

    Attributes
    ----------
    pair : intp array of shape (n_journeys,)
        Position of the pair, ascending.
    labels : int64 array of shape (n_journeys,)
    moments : list of datetime
        Departure from the origin, or arrival at the destination, of each journey; timezone-aware, in the network's
        zone.
    """

    pair: IndexArray
    labels: Int64Array
    moments: list[dt.datetime]


def window_itineraries(query: TransitQuery, pairs: Pairs, n_best: int, *, with_length: bool = False) -> Departures:
    """
    Return the shortest journeys of a window for chosen pairs.

    The journeys of a pair are Pareto-optimal: no other journey departs no earlier and arrives no later. Walking all the
    way is one of them if nothing is faster at some moment of the window.

    Parameters
    ----------
    query : TransitQuery
        Query with a window.
    pairs : Pairs
    n_best : int
        Largest number of journeys of a pair.
    with_length : bool, default False
        Whether to compute lengths.
    """
    query.check_headways("the trips of a window")
    is_arrival = query.is_arrival
    searched = pairs.reversed() if is_arrival else pairs
    near, far, near_of, far_of = searched.starts, searched.ends, searched.origin_of, searched.destination_of
    search_links = query.links(near, is_origin=not is_arrival)
    egress_links = query.links(far, is_origin=is_arrival)
    search, options = query.search(), query.options
    begin = query.at(search)
    walked = emissions.of_walks(query, direct_labels(query, pairs))
    walk_ms = _ms_of(walked)
    ms = np.full((near_of.size, n_best), NEVER, np.int64)
    starts = np.full((near_of.size, n_best), begin, np.int64)
    order = np.argsort(near_of, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(near_of[order])) + 1):
        if not rows.size:
            continue
        checkpoint()
        mine = search_links.rows(int(near_of[rows[0]]), int(near_of[rows[0]]) + 1)
        theirs = egress_links.take(far_of[rows])
        times, moments = search.window_best(
            mine, begin, query.window * 1000, theirs, n_best, options, is_arrival=is_arrival, step=1000,
            direct_time=walk_ms[None, rows],
        )  # fmt: skip
        ms[rows], starts[rows] = times[0], moments[0]
        advance(rows.size)
    pair, column = np.nonzero(ms < NEVER)
    zone = ZoneInfo(query.layer.timezone)
    epoch = search.table.reference
    when = [
        (dt.datetime.fromtimestamp(epoch, dt.UTC) + dt.timedelta(milliseconds=int(start))).astimezone(zone)
        for start in starts[pair, column]
    ]
    labels = label_parts.from_ms(ms[pair, column])
    if with_length:
        is_walked = walk_ms[pair] <= ms[pair, column]
        labels[is_walked] = walked[pair[is_walked]]
        ridden = np.flatnonzero(~is_walked)
        lengths = emissions.lengths_of(query).of(query, search, near, far, search_links, egress_links)
        labels[ridden] += lengths.at_moments(
            near_of[pair[ridden]], far_of[pair[ridden]], starts[pair, column][ridden], ms[pair, column][ridden]
        )
    return Departures(pair, labels, when)
