"""
Report on stations with pathways, and on what feeds say about wheelchairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from traveltime_lab._arrays import FloatArray, IndexArray, unique_values
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.streets.costs import connector_kph
from traveltime_lab.streets.snapping import STOP_SNAPPING, snap_points
from traveltime_lab.transit.entrances import entrance_snaps, linked_by_entrances
from traveltime_lab.transit.inside import Walker, indoors, inside
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.pathways import ELEVATOR, ENTRANCE
from traveltime_lab.transit.wheelchair import UNKNOWN, YES, boarding_values, rule_of

_WALKING = Transportation("walking")
_STEP_FREE = Transportation("walking", step_free="lenient")


def access_facts(layer: TransitLayer, feed: int, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a report says about wheelchairs and stations, given what reading the feed has found."""
    found: dict[str, Any] = {"wheelchairs": _wheelchairs(layer, feed)}
    inside_facts = _stations(layer, feed)
    return found | ({"pathways": {**facts.get("pathways", {}), **inside_facts}} if inside_facts else {})


def far_stops(layer: TransitLayer, lng: FloatArray, lat: FloatArray, rows: IndexArray) -> IndexArray:
    """
    Return which of some stops (rows of the table of stops) are too far from any walkable street.

    Platforms that entrances link are not, wherever they are.
    """
    is_far = snap_points(layer.streets, lng, lat, _WALKING, STOP_SNAPPING).edge < 0
    return np.flatnonzero(is_far & ~linked_by_entrances(layer, _WALKING)[rows])


def _wheelchairs(layer: TransitLayer, feed: int) -> dict[str, int]:
    """Return how many stops with trips, and trips, of a feed say yes about wheelchairs, and how many say nothing."""
    timetable = layer.timetable
    stops = timetable.is_called & (timetable.column("stops", "feed_idx") == feed)
    boarding = boarding_values(timetable)[stops]
    trips = timetable.column("trips", "wheelchair_accessible")[timetable.hot.trip_feed == feed]
    return {
        "stops": int(stops.sum()),
        "stops_yes": int((boarding == YES).sum()),
        "stops_unknown": int((boarding == UNKNOWN).sum()),
        "trips_yes": int((trips == YES).sum()),
        "trips_unknown": int((trips <= UNKNOWN).sum()),
    }


def _stations(layer: TransitLayer, feed: int) -> dict[str, int]:
    """Return facts about the stations of a feed that have pathways; empty if none has."""
    timetable = layer.timetable
    pathways = timetable.pathways
    of_feed = timetable.column("stops", "feed_idx") == feed
    if pathways is None or not of_feed[pathways.start].any():
        return {}
    mine = of_feed[pathways.start]
    used = unique_values(np.concatenate([pathways.start[mine], pathways.end[mine]]))
    entrances = used[timetable.column("stops", "location_type")[used] == ENTRANCE]
    doors, snaps = entrance_snaps(layer, _WALKING)
    found = inside(layer, Walker(connector_kph(_STEP_FREE), rule_of(_STEP_FREE)))
    assert found is not None
    platforms = np.flatnonzero(indoors(timetable) & of_feed)
    both = np.intersect1d(found.entering.end, found.leaving.start)
    return {
        "platforms": platforms.size,
        "platforms_not_step_free": int((~np.isin(platforms, both)).sum()),
        "entrances": entrances.size,
        "entrances_step_free": int(np.isin(entrances, found.entering.start).sum()),
        "entrances_off_streets": int((snaps.edge[np.isin(doors, entrances)] < 0).sum()),
        "elevators": int((mine & (pathways.kind == ELEVATOR)).sum()),
        "closed": int((mine & pathways.is_closed).sum()),
    }
