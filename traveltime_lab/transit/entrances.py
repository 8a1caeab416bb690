"""
Link the platforms of stations with pathways to the streets by their entrances, and join them inside.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from traveltime_lab._arrays import (
    BoolArray,
    IndexArray,
    Int32Array,
    Int64Array,
    chosen_rows,
    indptr_of_rows,
    unique_values,
)
from traveltime_lab.kernels.street.ties import Places
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.rounding import most_ms
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.indoors import Indoors
from traveltime_lab.streets.layer import RoadsKey, roads_key
from traveltime_lab.streets.snapping import SNAPPED, STOP_SNAPPING, TOO_FAR, Snaps, snap_points
from traveltime_lab.transit.inside import Links, Walker, indoors, inside
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.pathways import ENTRANCE, roots
from traveltime_lab.transit.transfers import Footpaths, StationWays, Transfers, merge_transfers

#: Entrances on streets, by the streets that are open.
_ENTRANCES = Derived[RoadsKey, tuple[Int32Array, Snaps]]("entrances on streets", kept=8)


def entrance_snaps(layer: TransitLayer, transportation: Transportation) -> tuple[Int32Array, Snaps]:
    """
    Return the entrances (stop_idx) of stations with pathways, and their places on the streets of a mode; both are kept.
    """

    def snap() -> tuple[Int32Array, Snaps]:
        timetable = layer.timetable
        assert timetable.pathways is not None
        used = unique_values(np.concatenate([timetable.pathways.start, timetable.pathways.end]))
        doors = used[timetable.column("stops", "location_type")[used] == ENTRANCE]
        lng, lat = (timetable.column("stops", name).astype(np.float64)[doors] for name in ("stop_lon", "stop_lat"))
        return doors, snap_points(layer.streets, lng, lat, transportation, STOP_SNAPPING).without_islands()

    return _ENTRANCES.of(layer, roads_key(transportation), snap)


def linked_by_entrances(layer: TransitLayer, transportation: Transportation) -> BoolArray:
    """
    Return which stops are linked to the streets by entrances, shape (n_stops,).

    Those of stations that have no entrance near a street of the mode are linked straight, as without pathways. That
    does not depend on `step_free` and `avoid`: stations of which only entrances without steps, or on ways that are not
    avoided, are missing cannot be reached.
    """
    if layer.timetable.pathways is None:
        return np.zeros(layer.timetable.n_stops, np.bool_)
    every = replace(transportation, step_free=None, max_incline=None, min_width=None, avoid=())
    doors, snaps = entrance_snaps(layer, every)
    root = roots(layer.timetable.column("stops", "parent_idx"))
    has_door = np.zeros(root.size, np.bool_)
    has_door[root[doors[snaps.edge >= 0]]] = True
    return np.asarray(indoors(layer.timetable) & has_door[root])


def snaps_by_entrances(
    layer: TransitLayer, straight: Snaps, transportation: Transportation, walker: Walker
) -> tuple[Snaps, Snaps]:
    """
    Return the places of all stops on streets, where stops in stations with pathways have those of their entrances.

    Parameters
    ----------
    layer : TransitLayer
        With pathways.
    straight : Snaps of length n_stops
        The places of the stops themselves.
    transportation : Transportation
        Transportation on streets.
    walker : Walker

    Returns
    -------
    entering, leaving : Snaps of length n_stops
        For the ways to the stops, and from them.
    """
    found = inside(layer, walker)
    assert found is not None
    doors, snaps = entrance_snaps(layer, transportation)
    row_of = np.full(layer.timetable.n_stops, -1, np.intp)
    row_of[doors] = np.arange(doors.size)
    is_linked = linked_by_entrances(layer, transportation)

    def by(links: Links, platform: Int32Array, door: Int32Array) -> Snaps:
        rows = np.flatnonzero(is_linked[platform])
        return _by_doors(straight, snaps, is_linked, platform[rows], row_of[door[rows]], links.label[rows])

    entering, leaving = found.entering, found.leaving
    return by(entering, entering.end, entering.start), by(leaving, leaving.start, leaving.end)


def _by_doors(
    straight: Snaps, doors: Snaps, is_linked: BoolArray, platform: Int32Array, door: IndexArray, label: Int64Array
) -> Snaps:
    """Return the places of all stops, given the platforms, doors (rows of `doors`) and labels of ways inside."""
    assert straight.places is not None
    assert doors.places is not None
    n = len(straight)
    own = np.flatnonzero(~is_linked)
    _, own_at = chosen_rows(straight.places.indptr, own)
    door_indptr, door_at = chosen_rows(doors.places.indptr, door)
    way = np.repeat(np.arange(door.size), np.diff(door_indptr))
    stop = np.concatenate([np.repeat(own, np.diff(straight.places.indptr)[own]), platform[way]])
    places = [
        np.concatenate([mine[own_at], theirs[door_at]])
        for mine, theirs in zip(straight.places[1:], doors.places[1:], strict=True)
    ]
    labels = np.concatenate([np.zeros(own_at.size, np.int64), label[way]])
    # The first place of each stop is the one with the shortest way inside.
    order = np.lexsort((labels, stop))
    edge, fraction, distance = (each[order] for each in places)
    indptr = indptr_of_rows(stop, n)
    has_any = np.diff(indptr) > 0
    first = indptr[:-1][has_any]
    status = straight.status.copy()
    status[is_linked] = np.where(has_any[is_linked], SNAPPED, TOO_FAR)
    nearest, along, away = np.full(n, -1, np.int32), np.zeros(n), np.full(n, np.inf)
    nearest[has_any], along[has_any], away[has_any] = edge[first], fraction[first], distance[first]
    found = Places(indptr, edge, fraction, distance)
    here = straight.lng, straight.lat
    return Snaps(nearest, along, away, status, *here, found, indoors=Indoors(labels[order], is_linked))


def transfers_by_pathways(layer: TransitLayer, outside: Footpaths, walker: Walker, budget_s: int) -> Transfers:
    """
    Return the transfers between stops by streets, by pathways and by the rules of the feeds.

    Parameters
    ----------
    layer : TransitLayer
    outside : Footpaths
        Walks along streets; in stations with pathways, from entrance to entrance and inside.
    walker : Walker
    budget_s : int
        Longest walk in seconds.
    """
    timetable = layer.timetable
    found = inside(layer, walker)
    if found is None and walker.rule is None:
        return merge_transfers(timetable, outside)
    n = timetable.n_stops
    start = np.repeat(np.arange(n), np.diff(outside.indptr))
    stop, seconds = outside.stop.astype(np.int64), outside.seconds.astype(np.int64)
    is_indoors, root = np.zeros(n, np.bool_), roots(timetable.column("stops", "parent_idx"))
    links = Links(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64))
    if found is not None:
        is_indoors, links = found.is_indoors, found.changing
        ms = label_parts.ms(links.label)
        # Ways within the budget are those that are within it along streets.
        near = ms <= most_ms(budget_s)
        start = np.concatenate([start, links.start[near]])
        stop = np.concatenate([stop, links.end[near]])
        seconds = np.concatenate([seconds, -(-ms[near] // 1000)])
        order = np.lexsort((seconds, stop, start))
        is_first = np.ones(order.size, np.bool_)
        is_first[1:] = (np.diff(start[order]) != 0) | (np.diff(stop[order]) != 0)
        start, stop, seconds = (each[order[is_first]] for each in (start, stop, seconds))
    walks = Footpaths(indptr_of_rows(start, n), stop.astype(np.int32), seconds.astype(np.int32))
    ways = StationWays(is_indoors, root, links.start, links.end, -(-label_parts.ms(links.label) // 1000), walker.rule)
    return merge_transfers(timetable, walks, ways)
