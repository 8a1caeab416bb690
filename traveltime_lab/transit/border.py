"""
Times between places and the border of the extract in searches with a timetable.

Passengers leave an extract on foot, across the border of its streets, or aboard a vehicle: at a stop next to one that
was left out when the feed was cut (`Timetable.leaving`). Where only the ways that are cut show the border, a stop that
is far from all streets counts as beyond it.
"""

from __future__ import annotations

import numpy as np

from traveltime_lab._arrays import FloatArray
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.streets import border
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.links import positions
from traveltime_lab.streets.snapping import SNAPPED, STOP_SNAPPING, Snaps, snap_points
from traveltime_lab.transit import stop_links
from traveltime_lab.transit.field import TransitField
from traveltime_lab.transit.query import TransitQuery

#: By layer and direction: the ways to a stop and aboard across the border; for each stop the time of this way, and of
#: that on streets.
_TIMES = Derived[tuple[object, bool], tuple[border.WaysThere, FloatArray, FloatArray]](
    "times to the border aboard", kept=4
)


def from_point(query: TransitQuery, snaps: Snaps, field: TransitField) -> float:
    """
    Return a lower bound of the time between a point and the border of the extract.

    Parameters
    ----------
    query : TransitQuery
        Query to a network whose border is known.
    snaps : Snaps of length 1
        The point, snapped to the streets of the search side.
    field : TransitField
        Its travel times.

    Returns
    -------
    float
        Seconds, inf if the border is out of reach or the point has no street. Vehicles are those of the moment, and
        wait as long as they do then; beyond the last stop before the border, and after a walk to another stop, they are
        assumed to wait nowhere.
    """
    means, is_arrival, streets = query.transportation, query.is_arrival, query.layer.streets
    is_driven = not query.is_walked_to
    by_access = (query.access_graph(), means.access, float(means.access_time)) if is_driven else None
    on_foot = query.walking, means.egress, float(means.walking_time)
    here = on_foot if is_arrival or by_access is None else by_access
    there = on_foot if not is_arrival or by_access is None else by_access

    feet = query.on_foot(snaps, is_origin=not is_arrival)
    if snaps.status[0] != SNAPPED and feet.status[0] != SNAPPED:
        return np.inf
    walk = border.from_points(streets, *on_foot[:2], feet, query.snapping, is_arrival=is_arrival)[0]
    ways = [walk] if walk <= query.direct_limit else []
    reach = border.from_points(streets, *here[:2], snaps, query.snapping, is_arrival=is_arrival)[0]
    ways += [reach] if reach <= here[2] else []
    aboard, _, _ = _times_aboard(query, *here[:2])
    ways.append(aboard.at(here[0], snaps, query.snapping)[0])
    _, stop_aboard, stop_border = _times_aboard(query, *there[:2])
    after = np.minimum(np.where(stop_border <= there[2], stop_border, np.inf), stop_aboard)
    stop_ms = field.quickest.stop_ms
    reached = np.flatnonzero(stop_ms < NEVER)
    ways += (stop_ms[reached] / 1000.0 + after[reached]).tolist()
    return float(min(ways))


def _times_aboard(
    query: TransitQuery, graph: RoadGraph, means: Transportation
) -> tuple[border.WaysThere, FloatArray, FloatArray]:
    """Return the times to the border of edges and stops; they are kept with the graph."""
    key = query.layer.identity, query.is_arrival
    return _TIMES.of(graph, key, lambda: _times(query, graph, means))


def _times(
    query: TransitQuery, graph: RoadGraph, means: Transportation
) -> tuple[border.WaysThere, FloatArray, FloatArray]:
    streets, timetable, is_arrival = query.layer.streets, query.layer.timetable, query.is_arrival
    stops = stop_links.linked_stops(query.layer, graph, means).snaps
    rides_s = np.full(len(stops), np.inf)
    for stop, seconds in timetable.leaving:
        rides_s[stop] = min(rides_s[stop], seconds)
    lng, lat = (timetable.column("stops", name).astype(np.float64) for name in ("stop_lon", "stop_lat"))
    has_place = np.isfinite(lng) & np.isfinite(lat)
    # Stops that have lost all their trips at the border are not linked for searches.
    leaving = np.flatnonzero(np.isfinite(rides_s) & has_place)
    last = snap_points(streets, lng[leaving], lat[leaving], means, STOP_SNAPPING).without_islands()
    here = positions(graph, last, STOP_SNAPPING)
    assert last.places is not None
    ride_s = np.repeat(rides_s[leaving], np.diff(here.indptr))
    # A ride counts as a walk of the same time.
    metres = last.places.distance + ride_s * (graph.connector_kph / 3.6)
    places = border.Places(here.edge, here.fraction, metres)
    aboard = border.WaysThere.of(streets, graph, places, STOP_SNAPPING, is_arrival=is_arrival)
    stop_aboard = np.minimum(aboard.at(graph, stops, STOP_SNAPPING), rides_s)
    if border.local_border(streets) is None:
        # Without a box, stops that are far from all streets show where these end.
        stop_aboard[timetable.is_called & (stops.status != SNAPPED)] = 0.0
    stop_border = border.from_points(streets, graph, means, stops, STOP_SNAPPING, is_arrival=is_arrival)
    return aboard, stop_aboard, stop_border
