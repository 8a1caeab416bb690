"""
Times between places and the border of the extract in searches with a timetable.

Passengers leave an extract on foot, across the border of its streets, or aboard a vehicle: at a stop next to one that
was left out when the feed was cut (`Timetable.leaving`). Where only the ways that are cut show the border, a stop that
is far from all streets counts as beyond it.

On the search side, whose moment is given, vehicles are those of the moment. On the egress side the moment at which the
border is crossed is not known: there a vehicle is at each stop when it is needed, and takes as long as the fastest one
of its line (`traveltime_lab.transit.fastest_rides`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from traveltime_lab._arrays import FloatArray, Int32Array
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.streets import border
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.layer import GraphKey
from traveltime_lab.streets.links import positions
from traveltime_lab.streets.snapping import SNAPPED, STOP_SNAPPING, Snaps, snap_points
from traveltime_lab.transit import stop_links
from traveltime_lab.transit.egress_side import EgressSide
from traveltime_lab.transit.entrances import linked_by_entrances
from traveltime_lab.transit.fastest_rides import fastest_rides
from traveltime_lab.transit.query import TransitQuery


class _Aboard(NamedTuple):
    """
    Ways of one mode between places and the border, by way of a stop.

    Attributes
    ----------
    ways : WaysThere
        Those that end aboard across the border.
    aboard, on_streets : float64 arrays of shape (n_stops,), s
        The times of these ways, and of those on streets, of each stop.
    """

    ways: border.WaysThere
    aboard: FloatArray
    on_streets: FloatArray


#: By layer and direction.
_TIMES = Derived[tuple[object, bool], _Aboard]("times to the border aboard", kept=4)
#: Ways by vehicles that never wait, by means of transportation, streets of the access, snapping and direction.
_RIDES = Derived[tuple[Transportation, GraphKey | None, Snapping, bool], border.WaysThere](
    "rides to the border", kept=4
)


class _Leg(NamedTuple):
    """A mode between places, stops and the border, with its longest time in seconds."""

    graph: RoadGraph
    means: Transportation
    longest_s: float


def _legs(query: TransitQuery, is_arrival: bool) -> tuple[_Leg, tuple[_Leg, ...]]:
    """
    Return how a point is linked with stops, and how stops are linked with the border.

    Origins are left by the mode of the access. Destinations are reached on foot, but before that passengers may have
    come across the border to their first stop by that mode.
    """
    means = query.transportation
    on_foot = _Leg(query.walking, means.egress, float(means.walking_time))
    change = on_foot._replace(longest_s=float(max(means.walking_time, means.transfer_walking_time)))
    if query.is_walked_to:
        return on_foot, (change,)
    access = _Leg(query.access_graph(), means.access, float(means.access_time))
    return (on_foot, (change, access)) if is_arrival else (access, (change,))


def after_stops(query: TransitQuery, *, is_arrival: bool) -> Int32Array:
    """
    Return a lower bound of the time between each stop and the border, without vehicles but the one across it.

    Parameters
    ----------
    query : TransitQuery
        Query to a network whose border is known.
    is_arrival : bool
        True for times from the border, False for times to the border.

    Returns
    -------
    int32 array of shape (n_stops,), ms
        `NEVER` where the border is out of reach.
    """
    found = np.full(query.layer.timetable.n_stops, np.inf)
    for leg in _legs(query, is_arrival)[1]:
        _, aboard, on_streets = _times_aboard(query, leg, is_arrival)
        np.minimum(found, aboard, out=found)
        np.minimum(found, on_streets, out=found, where=on_streets <= leg.longest_s)
    return np.where(found < NEVER / 1000.0, np.floor(found * 1000.0), NEVER).astype(np.int32)


def least_of(stop_ms: Int32Array, after_ms: Int32Array) -> int:
    """Return the least sum of the times of stops and those after them in milliseconds, `NEVER` if there is none."""
    # Twice `NEVER` fits into 32 bits.
    return int((stop_ms + after_ms).min(initial=NEVER))


@dataclass(frozen=True)
class WithBorder:
    """
    The points of an egress side, and the border as one more point, which is the last.

    Attributes
    ----------
    side : EgressSide
    after_ms : int32 array of shape (n_stops,), ms
        See `after_stops`.
    """

    side: EgressSide
    after_ms: Int32Array

    def read(self, stop_ms: Int32Array) -> Int32Array:
        """Return the travel times of the points, and the time at the border."""
        return np.append(self.side.read(stop_ms), np.int32(least_of(stop_ms, self.after_ms)))

    def read_all(self, stop_ms: Int32Array) -> Int32Array:
        """Return the same for each row of `stop_ms`."""
        least = np.array([[least_of(row, self.after_ms)] for row in stop_ms], np.int32)
        return np.concatenate([self.side.read_all(stop_ms), least], axis=1)


def with_border(query: TransitQuery, side: EgressSide) -> WithBorder:
    """Return an egress side that reads the border, too."""
    means, after_ms = query.transportation, after_stops(query, is_arrival=query.is_arrival)
    # The links of origins, which are on the egress side of an arrival search, include this time.
    extra_ms = (means.access_penalty + means.pt_change_delay) * 1000 if query.is_arrival else 0
    return WithBorder(side, np.where(after_ms < NEVER, after_ms + np.int32(extra_ms), NEVER).astype(np.int32))


def of_search_side(query: TransitQuery, snaps: Snaps, ridden_ms: Int32Array) -> FloatArray:
    """
    Return a lower bound of the time between points and the border of the extract.

    Parameters
    ----------
    query : TransitQuery
        Query to a network whose border is known.
    snaps : Snaps
        Points, snapped to the streets of the search side.
    ridden_ms : int32 array of shape (n,), ms
        The least time by way of a stop that vehicles reach: `least_of`, `WithBorder`.

    Returns
    -------
    float64 array of shape (n,)
        Seconds, inf if the border is out of reach or the point has no street. Vehicles are those of the moment, and
        wait as long as they do then; beyond the last stop before the border, and after a walk to another stop, they are
        assumed to wait nowhere.
    """
    found = _on_streets(query, snaps, is_arrival=query.is_arrival)
    own = _legs(query, query.is_arrival)[0]
    aboard = _times_aboard(query, own, query.is_arrival).ways.at(own.graph, snaps, query.snapping)
    ridden = np.where(ridden_ms < NEVER, ridden_ms / 1000.0, np.inf)
    return _of_snapped(query, snaps, np.minimum(np.minimum(found, aboard), ridden), is_arrival=query.is_arrival)


def of_egress_side(query: TransitQuery, snaps: Snaps) -> FloatArray:
    """
    Return the same for points of the egress side, with vehicles of any moment that wait nowhere.

    Points whose nearest street may be missing have values, too; see `traveltime_lab.streets.border.are_uncertain`.

    Parameters
    ----------
    query : TransitQuery
    snaps : Snaps
        Points, snapped to the streets of the egress side.
    """
    is_arrival = not query.is_arrival
    own = _legs(query, is_arrival)[0]
    key = query.transportation, query.access_key, query.snapping, is_arrival
    ways = _RIDES.of(query.layer, key, lambda: _rides(query, own, is_arrival))
    found = ways.at(own.graph, snaps, query.snapping)
    if not _is_any_walk(query, own):
        found = np.minimum(found, _on_streets(query, snaps, is_arrival=is_arrival))
    return _of_snapped(query, snaps, found, is_arrival=is_arrival)


def _is_any_walk(query: TransitQuery, own: _Leg) -> bool:
    """Return whether ways on streets are walks of any length within the limit of the query."""
    return own.graph is query.walking and query.transportation.direct_walking_time is None


def _on_streets(query: TransitQuery, snaps: Snaps, *, is_arrival: bool) -> FloatArray:
    """Return the ways without a ride: walks all the way, and those that may continue with a ride beyond the border."""
    own, streets = _legs(query, is_arrival)[0], query.layer.streets
    feet = query.on_foot(snaps, is_origin=not is_arrival)
    means = query.transportation.egress
    walk = border.from_points(streets, query.walking, means, feet, query.snapping, is_arrival=is_arrival)
    reach = walk
    if own.graph is not query.walking:
        reach = border.from_points(streets, own.graph, own.means, snaps, query.snapping, is_arrival=is_arrival)
    found: FloatArray = np.minimum(
        np.where(walk <= query.direct_limit, walk, np.inf), np.where(reach <= own.longest_s, reach, np.inf)
    )
    return found


def _of_snapped(query: TransitQuery, snaps: Snaps, found: FloatArray, *, is_arrival: bool) -> FloatArray:
    """Return the values of points that have a street, and inf of the others, whose answers are empty."""
    feet = query.on_foot(snaps, is_origin=not is_arrival)
    return np.where((snaps.status == SNAPPED) | (feet.status == SNAPPED), found, np.inf)


def _rides(query: TransitQuery, own: _Leg, is_arrival: bool) -> border.WaysThere:
    """Return the ways between places and the border by vehicles that wait nowhere, in one search from all stops."""
    after_ms = after_stops(query, is_arrival=is_arrival)
    ride_s = fastest_rides(query, np.where(after_ms < NEVER, after_ms / 1000.0, np.inf), is_arrival=is_arrival)
    linked = stop_links.linked_stops(query.layer, own.graph, own.means, query.transportation.egress)
    stops = linked.side(is_leaving=is_arrival).snaps
    served = np.flatnonzero(np.isfinite(ride_s) & (stops.status == SNAPPED))
    ways = _ways_by_stops(query, own, stops.take(served), ride_s[served], is_arrival)
    ways = ways.joined(_times_aboard(query, own, is_arrival).ways)
    if _is_any_walk(query, own):
        streets = query.layer.streets
        ways = ways.joined(border.times_to_border(streets, own.graph, own.means, query.snapping, is_arrival=is_arrival))
    return ways


def _ways_by_stops(
    query: TransitQuery, leg: _Leg, stops: Snaps, ride_s: FloatArray, is_arrival: bool
) -> border.WaysThere:
    """Return the ways by a mode between places and some stops, and the times aboard from there, as one."""
    here = positions(leg.graph, stops, STOP_SNAPPING)
    assert stops.places is not None
    # A ride counts as a walk of the same time.
    metres = stops.places.distance + np.repeat(ride_s, np.diff(here.indptr)) * (leg.graph.connector_kph / 3.6)
    places = border.Places(here.edge, here.fraction, metres)
    return border.WaysThere.of(query.layer.streets, leg.graph, places, STOP_SNAPPING, is_arrival=is_arrival)


def _times_aboard(query: TransitQuery, leg: _Leg, is_arrival: bool) -> _Aboard:
    """Return the times to the border of edges and stops; they are kept with the graph."""
    return _TIMES.of(leg.graph, (query.layer.identity, is_arrival), lambda: _times(query, leg, is_arrival))


def _times(query: TransitQuery, leg: _Leg, is_arrival: bool) -> _Aboard:
    streets, timetable = query.layer.streets, query.layer.timetable
    linked = stop_links.linked_stops(query.layer, leg.graph, leg.means, query.transportation.egress)
    stops = linked.side(is_leaving=not is_arrival).snaps
    rides_s = np.full(len(stops), np.inf)
    for stop, seconds in timetable.leaving:
        rides_s[stop] = min(rides_s[stop], seconds)
    lng, lat = (timetable.column("stops", name).astype(np.float64) for name in ("stop_lon", "stop_lat"))
    has_place = np.isfinite(lng) & np.isfinite(lat)
    # Stops that have lost all their trips at the border are not linked for searches.
    leaving = np.flatnonzero(np.isfinite(rides_s) & has_place)
    last = snap_points(streets, lng[leaving], lat[leaving], leg.means, STOP_SNAPPING).without_islands()
    ways = _ways_by_stops(query, leg, last, rides_s[leaving], is_arrival)
    aboard = np.minimum(ways.at(leg.graph, stops, STOP_SNAPPING), rides_s)
    if border.local_border(streets) is None:
        # Without a box, stops that are far from all streets show where these end.
        # Those in stations may be cut off by closed elevators, which says nothing about the streets.
        is_far = (stops.status != SNAPPED) & ~linked_by_entrances(query.layer, leg.means)
        aboard[timetable.is_called & is_far] = 0.0
    on_streets = border.from_points(streets, leg.graph, leg.means, stops, STOP_SNAPPING, is_arrival=is_arrival)
    return _Aboard(ways, aboard, on_streets)
