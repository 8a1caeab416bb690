"""
Obstacles of travellers without steps in a timetable, and closed ways inside stations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np

from traveltime_lab._arrays import BoolArray, FloatArray
from traveltime_lab.crs import metres_per_degree, wrap_degrees
from traveltime_lab.itinerary import Route
from traveltime_lab.network.prepared import listed
from traveltime_lab.question import Question
from traveltime_lab.search.explain.reasons import duration
from traveltime_lab.search.explain.relaxations import Pair
from traveltime_lab.search.explain.stress import in_the_way
from traveltime_lab.search.query import transit_of
from traveltime_lab.streets.costs import connector_kph
from traveltime_lab.transit.inside import Inside, Walker, inside
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.pathways import PATHWAY_WORDS
from traveltime_lab.transit.wheelchair import boarding_values, is_accepted, obstacles, rule_of

#: Platforms that a sentence names.
_NAMED: Final = 3
_VALUES: Final = {1: "yes", 2: "no"}


def steps_in_the_way(pair: Pair, question: Question, found: Route | None) -> tuple[str, dict[str, Any]] | None:
    """
    Return a sentence on the stops, trips and pathways that are not step-free, and its data.

    Parameters
    ----------
    pair : Pair
    question : Question
    found : Route or None
        The route of the same question with steps.

    Returns
    -------
    tuple of str and dict, or None
        None if the route has no such obstacle.
    """
    rule, layer = rule_of(question.transportation), transit_of(pair.network)
    if rule is None or found is None:
        return None
    timetable = layer.timetable
    boarding, trips = boarding_values(timetable), timetable.trips
    words: list[str] = []
    data: dict[str, Any] = {"stops": [], "trips": [], "pathways": []}
    wheelchairs = trips["wheelchair_accessible"].to_numpy()
    # Feeds may have the same ids: rows tell them apart.
    seen: set[tuple[str, int]] = set()

    def is_new(table: str, row: int) -> bool:
        is_first = (table, row) not in seen
        seen.add((table, row))
        return is_first

    walker = Walker(connector_kph(question.transportation.egress), rule)
    for leg in found.legs:
        if leg.ride is None:
            continue
        *stops, trip = leg.ride.rows
        for row, call, is_entering in zip(stops, (leg.ride.board, leg.ride.alight), (True, False), strict=True):
            if not is_accepted(boarding[[row]], rule)[0] and is_new("stops", row):
                data["stops"].append(call.stop_id)
                words.append(f"the stop {call.name or call.stop_id} ({_said(int(boarding[row]))})")
            for number, what in _barred(layer, walker, row, is_entering=is_entering):
                assert timetable.pathways is not None
                if is_new("pathways", number):
                    data["pathways"].append(timetable.pathways.ids[number])
                    words.append(f"{what} at {call.name or call.stop_id}")
        if not is_accepted(wheelchairs[[trip]], rule)[0] and is_new("trips", trip):
            data["trips"].append(leg.ride.trip_id)
            words.append(f"the trip {leg.ride.trip_id} of {leg.way} {leg.ride.line} ({_said(int(wheelchairs[trip]))})")
    if not words:
        return None
    return (
        f"With steps it takes {duration(found.travel_time)}: {in_the_way(words)}.",
        {"travel_time": found.travel_time, **data},
    )


def _said(value: int) -> str:
    return f"wheelchairs: {_VALUES.get(value, 'not known')}"


def _barred(layer: TransitLayer, walker: Walker, stop: int, *, is_entering: bool) -> Iterator[tuple[int, str]]:
    """Yield the pathways on the fastest way to, or from, a platform that a walker without steps cannot reach."""
    pathways = layer.timetable.pathways
    mine, others = inside(layer, walker), inside(layer, walker._replace(rule=None))
    if pathways is None or mine is None or others is None or not mine.is_indoors[stop]:
        return
    if stop in (mine.entering.end if is_entering else mine.leaving.start):
        return
    links = others.entering if is_entering else others.leaving
    rows = np.flatnonzero((links.end if is_entering else links.start) == stop)
    if not rows.size:
        return
    best = rows[links.label[rows].argmin()]
    reasons = obstacles(pathways, walker.rule)
    for arc in others.way(int(links.start[best]), int(links.end[best])) or ():
        row = int(others.arcs.row[arc])
        if row >= 0 and any(barred[row] for barred in reasons.values()):
            yield row, f"the {PATHWAY_WORDS[int(pathways.kind[row])]} {pathways.ids[row]}"


def closed_stations(pair: Pair, question: Question, places: FloatArray) -> tuple[str, dict[str, Any]] | None:
    """
    Return a sentence on platforms near two places that closed pathways cut off, and its data; None if there are none.

    Parameters
    ----------
    pair : Pair
    question : Question
    places : float64 array of shape (2, 2)
        Longitude and latitude of origin and destination.
    """
    layer = transit_of(pair.network)
    timetable = layer.timetable
    pathways = timetable.pathways
    if pathways is None or not pathways.is_closed.any():
        return None
    walker = Walker(connector_kph(question.transportation.egress), rule_of(question.transportation))
    opened = replace(pathways, is_closed=np.zeros(len(pathways), np.bool_))
    before = TransitLayer(layer.streets, replace(timetable, pathways=opened), layer.timezone, layer.typical_day)
    now, then = inside(layer, walker), inside(before, walker)
    assert now is not None
    assert then is not None
    lost = _reached(then) & ~_reached(now)
    lng, lat = (timetable.column("stops", name).astype(np.float64) for name in ("stop_lon", "stop_lat"))
    mx, my = metres_per_degree(places[:, 1:])
    metres = np.hypot(wrap_degrees(lng - places[:, :1]) * mx, (lat - places[:, 1:]) * my).min(axis=0)
    lost &= metres <= question.transportation.walking_time * walker.kph / 3.6
    if not lost.any():
        return None
    names = [str(name) for name in timetable.stops["stop_name"].to_numpy(object)[lost]]
    ids = [str(name) for name in timetable.stops["stop_id"].to_numpy(object)[lost]]
    closed = [pathways.ids[row] for row in np.flatnonzero(pathways.is_closed)]
    shown = listed((*names[:_NAMED], *((f"{len(names) - _NAMED} more",) if len(names) > _NAMED else ())))
    return (
        f"What is closed inside stations leaves no way to {shown}.",
        {"stops": tuple(ids), "closed": tuple(closed)},
    )


def _reached(found: Inside) -> BoolArray:
    """Return which stops can be reached from an entrance, and left by one."""
    into, out = np.zeros(found.is_indoors.size, np.bool_), np.zeros(found.is_indoors.size, np.bool_)
    into[found.entering.end], out[found.leaving.start] = True, True
    return into & out
