"""
Streets and crossings of traffic stress that are in the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import numpy as np

from traveltime_lab.limits import FOREVER_S, MAX_STRESS
from traveltime_lab.network.prepared import listed
from traveltime_lab.question import Question
from traveltime_lab.rounding import whole_seconds
from traveltime_lab.search.explain.reasons import distance, duration
from traveltime_lab.search.explain.relaxations import Pair
from traveltime_lab.streets import stress
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.paths import paths
from traveltime_lab.streets.pieces import Piece
from traveltime_lab.streets.tables import StreetTables

#: Obstacles that a sentence names.
_NAMED: Final = 3


def with_more_stress(question: Question) -> Iterator[Question]:
    """Yield a question with each higher level of traffic stress."""
    most = question.transportation.stress_limit
    for more in range(MAX_STRESS + 1 if most is None else most + 1, MAX_STRESS + 1):
        yield question.using(max_stress=more)


def stress_in_the_way(pair: Pair, question: Question, ms: int | None) -> tuple[str, dict[str, Any]] | None:
    """
    Return a sentence on the streets and crossings above the accepted level, and its data.

    Parameters
    ----------
    pair : Pair
    question : Question
        One whose ends are snapped.
    ms : int or None
        Its travel time in milliseconds, without a limit; None if there is no way.

    Returns
    -------
    tuple of str and dict, or None
        None if nothing above the level is on a faster way.
    """
    most = question.transportation.stress_limit
    for freer, found, pieces in faster_ways(pair, question, ms, with_more_stress(question)):
        assert most is not None
        tables = pair.network.streets.tables
        streets, crossings = _streets_above(tables, pieces, most), _crossings_above(tables, pieces, most)
        if not streets and not crossings:
            continue  # It is faster because a point is moved to another street.
        takes, level = whole_seconds(found), freer.transportation.max_stress
        words = [f"{_named(each)} (level {each['stress']}, {distance(each['metres'])})"
                 for each in sorted(streets, key=lambda each: -each["metres"])]  # fmt: skip
        words += [f"the crossing of {_named(each)} (level {each['stress']})" for each in crossings]
        return (
            f"With max_stress={level} it takes {duration(takes)}: {in_the_way(words)}.",
            {"travel_time": takes, "max_stress": level, "streets": streets, "crossings": crossings},
        )
    return None


def faster_ways(
    pair: Pair, question: Question, ms: int | None, freer: Iterator[Question]
) -> Iterator[tuple[Question, int, Sequence[Piece]]]:
    """
    Yield the questions with fewer limits of streets that have a faster way, its milliseconds, and its pieces.

    Parameters
    ----------
    pair : Pair
    question : Question
        One whose ends are snapped.
    ms : int or None
        Its travel time in milliseconds, without a limit; None if there is no way.
    freer : iterator of Question
    """
    for each in freer:
        found = pair.milliseconds(replace(each, limit=FOREVER_S))
        if found is None or (ms is not None and found >= ms):
            continue
        query = pair.query(each)
        path = next(paths(query.graph, Pairs(*pair.snaps(each)), each.snapping, FOREVER_S), None)
        yield each, found, [] if path is None else path.pieces


def in_the_way(words: Sequence[str]) -> str:
    """Return obstacles, the first few by name, such as ``"a stile and 2 more are in the way"``."""
    more = (f"{len(words) - _NAMED} more",) if len(words) > _NAMED else ()
    return f"{listed((*words[:_NAMED], *more))} {'is' if len(words) == 1 else 'are'} in the way"


def _named(obstacle: dict[str, Any]) -> str:
    """Return the name of a street."""
    return obstacle["name"] or "a street without a name"


def _streets_above(tables: StreetTables, pieces: Sequence[Piece], most: int) -> list[dict[str, Any]]:
    """Return the streets of a route that are above a level: name, OSM way of their first edge, level and metres."""
    levels = stress.street_levels(tables)
    found: dict[str, dict[str, Any]] = {}
    for piece in pieces:
        level = int(levels[piece.directed]) or stress.LEVELS[-1]
        if level <= most:
            continue
        edge = piece.directed // 2
        name = tables.names[tables.edge_name[edge]]
        known = found.setdefault(
            name, {"name": name, "way_id": int(tables.edge_way_id[edge]), "stress": level, "metres": 0.0}
        )
        known["stress"] = max(known["stress"], level)
        known["metres"] += float(tables.edge_length_m[edge]) * (piece.end - piece.begin)
    return list(found.values())


def _crossings_above(tables: StreetTables, pieces: Sequence[Piece], most: int) -> list[dict[str, Any]]:
    """Return the crossings that a route passes and that are above a level: name of the street, place and level."""
    turns = stress.crossings(tables)
    is_above = turns.level > most
    ways = zip(turns.arriving[is_above].tolist(), turns.leaving[is_above].tolist(), strict=True)
    levels = dict(zip(ways, turns.level[is_above].tolist(), strict=True))
    found = []
    for piece, following in pairwise(pieces):
        level = levels.get((piece.directed, following.directed), 0)
        if not level:
            continue
        edge = piece.directed // 2
        node = int(tables.edge_from[edge] if piece.directed % 2 else tables.edge_to[edge])
        at = np.flatnonzero((tables.edge_from == node) | (tables.edge_to == node))
        crossed = at[np.argmax(stress.ranks(tables)[at])]
        found.append(
            {
                "name": tables.names[tables.edge_name[crossed]],
                "lng": float(tables.node_lng[node]),
                "lat": float(tables.node_lat[node]),
                "stress": level,
            }
        )
    return found
