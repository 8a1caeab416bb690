"""
Slow, obviously right twins of the times to the border of an extract with a timetable.

Ways along streets are those of `traveltime_lab.streets.border`, which laws test; everything aboard is done one trip,
one stop and one point at a time.
"""

from __future__ import annotations

import math

import numpy as np

from traveltime_lab._arrays import BoolArray, FloatArray
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.limits import FOREVER_S
from traveltime_lab.search import border as search_border
from traveltime_lab.search.pair_times import PairTimes
from traveltime_lab.search.query import Query
from traveltime_lab.streets import border, matrix
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.snapping import STOP_SNAPPING, Snaps, snap_points
from traveltime_lab.transit import stop_links
from traveltime_lab.transit.query import TransitQuery


def without_waits(query: TransitQuery, first: dict[int, float], *, is_arrival: bool) -> dict[int, float]:
    """Return the least time of each stop by rides and changes without waits, given those of stops at the border."""
    timetable = query.layer.timetable
    changes = stop_links.changes(query.layer, query.stops, query.transportation.transfer_walking_time)
    arcs: dict[tuple[int, int], float] = {}
    for stop in range(timetable.n_stops):
        for k in range(changes.indptr[stop], changes.indptr[stop + 1]):
            arcs[stop, int(changes.stop[k])] = float(changes.seconds[k])
    for trip, pattern in enumerate(timetable.trips["pattern_idx"]):
        stops = timetable.pattern_stop[timetable.pattern_indptr[pattern] : timetable.pattern_indptr[pattern + 1]]
        begin = int(timetable.trip_indptr[trip])
        for k in range(len(stops) - 1):
            hop = int(stops[k]), int(stops[k + 1])
            ride = float(timetable.arrival[begin + k + 1] - timetable.departure[begin + k])
            arcs[hop] = min(arcs.get(hop, math.inf), ride)
    found, changed = dict(first), True
    while changed:
        changed = False
        for (begin, end), seconds in arcs.items():
            here, there = (begin, end) if is_arrival else (end, begin)
            if found.get(here, math.inf) + seconds < found.get(there, math.inf):
                found[there] = found[here] + seconds
                changed = True
    return found


def stops_at_border(query: TransitQuery, *, is_arrival: bool) -> dict[int, float]:
    """Return the least time of each stop and the border, on foot or by a walk to a stop with a ride across it."""
    timetable, means, graph = query.layer.timetable, query.transportation.egress, query.walking
    stops = query.stops.leaving.snaps
    longest = max(query.transportation.walking_time, query.transportation.transfer_walking_time)
    on_foot = border.from_points(query.layer.streets, graph, means, stops, STOP_SNAPPING, is_arrival=is_arrival)
    walks = walks_aboard(query, stops, is_arrival=is_arrival)
    found: dict[int, float] = {}
    for stop in range(timetable.n_stops):
        ways = [on_foot[stop]] if on_foot[stop] <= longest else []
        ways += [ride + (0.0 if last == stop else walks[stop, k]) for k, (last, ride) in enumerate(timetable.leaving)]
        if ways and min(ways) < math.inf:
            found[stop] = float(min(ways))
    return found


def walks_aboard(query: TransitQuery, points: Snaps, *, is_arrival: bool) -> FloatArray:
    """Return the walks between points and the stops of rides across the border, also of stops that have lost theirs."""
    stops = query.layer.timetable.stops.iloc[[stop for stop, _ in query.layer.timetable.leaving]]
    lng, lat = (stops[name].to_numpy(float) for name in ("stop_lon", "stop_lat"))
    snaps = snap_points(query.layer.streets, lng, lat, query.transportation.egress, STOP_SNAPPING)
    return walks_of(query, points, snaps.without_islands(), is_arrival=is_arrival)


def walks_of(query: TransitQuery, points: Snaps, stops: Snaps, *, is_arrival: bool) -> FloatArray:
    """Return the seconds of walks between points and stops of shape (n_points, n_stops), in the direction of trips."""
    starts, ends = (stops, points) if is_arrival else (points, stops)
    found = np.full((len(starts), len(ends)), np.inf)
    for block in matrix.label_blocks(
        query.layer.streets, query.walking, starts, ends, query.snapping, limit=FOREVER_S, engine="dijkstra"
    ):
        reached = block.labels != UNREACHED
        found[block.rows, block.columns] = np.where(reached, label_parts.ms(block.labels) / 1000.0, np.inf)
    return found.T if is_arrival else found


def of_egress_side(query: TransitQuery, points: Snaps) -> FloatArray:
    """Return the times between points of the egress side and the border, for trips whose access is on foot."""
    is_arrival = not query.is_arrival
    rides = without_waits(query, stops_at_border(query, is_arrival=is_arrival), is_arrival=is_arrival)
    walks = walks_of(query, points, query.stops.leaving.snaps, is_arrival=is_arrival)
    on_foot = border.from_points(
        query.layer.streets, query.walking, query.transportation.egress, points, query.snapping, is_arrival=is_arrival
    )
    longest = max(query.direct_limit, query.transportation.walking_time)
    found = np.where(on_foot <= longest, on_foot, np.inf)
    for stop, seconds in rides.items():
        found = np.minimum(found, walks[:, stop] + seconds)
    aboard = walks_aboard(query, points, is_arrival=is_arrival)
    for k, (_, ride) in enumerate(query.layer.timetable.leaving):
        found = np.minimum(found, aboard[:, k] + ride)
    return found


def of_search_side(query: Query, points: Snaps) -> FloatArray:
    """Return the times between points of the search side and the border: those of the areas of each."""
    fields = [(here, query.field_from(here, query.limit)) for here in map(points.take, np.arange(len(points))[:, None])]
    return np.array([search_border.of_field(query, here, field) for here, field in fields])


def gaps(query: Query, found: PairTimes, longest: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return by how much a way across the border is longer than the longest of pairs, and which are uncertain."""
    assert query.transit is not None
    starts, ends = found.pairs.starts, found.pairs.ends
    near, far = (ends, starts) if query.is_arrival else (starts, ends)
    here, there = of_search_side(query, near), of_egress_side(query.transit, far)
    leave, enter = (there, here) if query.is_arrival else (here, there)
    streets, means = query.network.streets, query.transit.transportation.egress
    ways = border.times_to_border(streets, query.graph, means, query.snapping, is_arrival=False)
    first, last = (border.are_uncertain(streets, ways, snaps, query.snapping) for snaps in (starts, ends))
    origin_of, destination_of = found.pairs.origin_of, found.pairs.destination_of
    return leave[origin_of] + enter[destination_of] - longest, first[origin_of] | last[destination_of]
