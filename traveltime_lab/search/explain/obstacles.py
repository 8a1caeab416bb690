"""
Obstacles that are in the way of walks: those for wheelchairs, and ways that are avoided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import shapely

from traveltime_lab.itinerary import Route
from traveltime_lab.modes.transportation import STEP_FREE, Transportation
from traveltime_lab.points import read_points
from traveltime_lab.question import Question
from traveltime_lab.rounding import whole_seconds
from traveltime_lab.search.explain.questions import changed_options
from traveltime_lab.search.explain.reasons import distance, duration
from traveltime_lab.search.explain.relaxations import LONGEST_S, Pair
from traveltime_lab.search.explain.stress import faster_ways, in_the_way
from traveltime_lab.streets import avoid, step_free
from traveltime_lab.streets.junctions import junction_of_ends
from traveltime_lab.streets.pieces import Piece
from traveltime_lab.streets.tables import StreetTables

#: Options of walks about what is in the way.
OPTIONS: Final = ("step_free", "avoid")
#: Options of walks that pass every obstacle for wheelchairs.
ANY_STEPS: Final[Mapping[str, Any]] = {"step_free": None, "max_incline": None, "min_width": None}


def with_more_obstacles(question: Question) -> Iterator[Question]:
    """Yield questions that avoid fewer ways, that pass what is not known, every obstacle, or all of these."""
    rule, avoided = question.transportation.step_free, question.transportation.avoid
    for word in avoided:
        yield question.using(avoid=tuple(each for each in avoided if each != word))
    if len(avoided) > 1:
        yield question.using(avoid=())
    if rule == STEP_FREE[1]:
        yield question.using(step_free=STEP_FREE[0])
    if rule:
        with_steps = question.using(**ANY_STEPS)
        yield with_steps
        if avoided:
            yield with_steps.using(avoid=())


def obstacles_in_the_way(pair: Pair, question: Question, ms: int | None) -> tuple[str, dict[str, Any]] | None:
    """
    Return a sentence on the obstacles on a faster way, and its data.

    Parameters
    ----------
    pair : Pair
    question : Question
        One on streets whose ends are snapped.
    ms : int or None
        Its travel time in milliseconds, without a limit; None if there is no way.

    Returns
    -------
    tuple of str and dict, or None
        None if no obstacle is on a faster way.
    """
    for freer, found, pieces in faster_ways(pair, question, ms, with_more_obstacles(question)):
        obstacles = _obstacles(pair.network.streets.tables, pieces, question.transportation)
        if obstacles:
            return _reason(question, freer, found, obstacles)
    return None


def obstacles_on_route(pair: Pair, question: Question, ms: int | None, route: Any) -> tuple[str, dict[str, Any]] | None:
    """Return the same for a question with a timetable, for the walks to, between and from stops of a faster route."""
    for freer in with_more_obstacles(question):
        found = pair.milliseconds(replace(freer, limit=LONGEST_S))
        if found is None or (ms is not None and found >= ms):
            continue
        known: Route | None = route(freer)
        # Walks inside stations have no steps along streets.
        walks = [] if known is None else [leg for leg in known.legs if leg.mode == "walk" and leg.steps]
        obstacles: list[dict[str, Any]] = []
        for leg in walks:
            ends = [
                read_points(shapely.Point(place), "origin", pair.network.bounds)
                for place in (leg.origin, leg.destination)
            ]
            walk, barred = Pair(pair.network, *ends), question.on_foot
            for _, _, pieces in faster_ways(walk, barred, None, iter([freer.on_foot])):
                obstacles += _obstacles(pair.network.streets.tables, pieces, barred.transportation)
        if obstacles:
            return _reason(question, freer, found, obstacles)
    return None


def _reason(given: Question, freer: Question, ms: int, obstacles: list[dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Return the sentence and its data."""
    takes, words = whole_seconds(ms), [_in_words(each) for each in obstacles]
    changed = changed_options(given.transportation, freer.transportation)
    data: dict[str, Any] = {name: changed[name] for name in OPTIONS if name in changed}
    which = " and ".join(f"{name}={value!r}" for name, value in data.items())
    return (
        f"With {which} it takes {duration(takes)}: {in_the_way(words)}.",
        {"travel_time": takes, **data, "obstacles": obstacles},
    )


def _in_words(obstacle: dict[str, Any]) -> str:
    """Return an obstacle with its street or node."""
    at = f"OSM way {obstacle['way_id']}" if obstacle["way_id"] is not None else f"OSM node {obstacle['node_id']}"
    name = f"{obstacle['name']}, " if obstacle["name"] else ""
    metres = f"{distance(obstacle['metres'])}, " if obstacle["metres"] else ""
    return f"{obstacle['what']} ({name}{metres}{at})"


def _obstacles(tables: StreetTables, pieces: Sequence[Piece], means: Transportation) -> list[dict[str, Any]]:
    """Return the obstacles of a route in travel order; those of one OSM way that follow one another are one."""
    is_barred = avoid.is_avoided(tables, means)
    if means.step_free:
        is_barred |= step_free.is_barred(tables, means)
    starts = junction_of_ends(tables, means)[0]
    found: list[dict[str, Any]] = []
    for piece, following in pairwise([*pieces, None]):
        assert piece is not None
        edge = piece.directed // 2
        if is_barred[edge]:
            what = _along(tables, edge, means)
            metres = float(tables.edge_length_m[edge]) * (piece.end - piece.begin)
            way, last = int(tables.edge_way_id[edge]), found[-1] if found else None
            if last is not None and (last["way_id"], last["what"]) == (way, what):
                last["metres"] += metres
            else:
                line = slice(int(tables.coord_indptr[edge]), int(tables.coord_indptr[edge + 1]))
                middle = (line.stop - line.start) // 2
                place = float(tables.coord_lng[line][middle]), float(tables.coord_lat[line][middle])
                found.append(_obstacle(what, tables.names[tables.edge_name[edge]], place, metres, way_id=way))
        if following is None:
            continue
        node = int(tables.edge_from[edge] if piece.directed % 2 else tables.edge_to[edge])
        if starts[piece.directed ^ 1] != starts[following.directed]:
            what = step_free.node_in_words(int(tables.node_step_free[node]), means)
            place = float(tables.node_lng[node]), float(tables.node_lat[node])
            found.append(_obstacle(what, "", place, 0.0, node_id=int(tables.node_osm_id[node])))
    return found


def _along(tables: StreetTables, edge: int, means: Transportation) -> str:
    """Return what is in the way along an edge."""
    avoided = avoid.in_words(int(tables.edge_avoid[edge]), means) if means.avoid else ""
    if not means.step_free:
        return avoided
    slope = int(tables.edge_slope[edge]) if tables.edge_slope.size else 0
    steps = step_free.edge_in_words(int(tables.edge_step_free[edge]), means, slope)
    return ", ".join(filter(None, (steps, avoided)))


def _obstacle(
    what: str, name: str, place: tuple[float, float], metres: float, *, way_id: int | None = None,
    node_id: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the data of an obstacle."""
    return {
        "what": what, "name": name, "way_id": way_id, "node_id": node_id, "lng": place[0], "lat": place[1],
        "metres": metres,
    }  # fmt: skip
