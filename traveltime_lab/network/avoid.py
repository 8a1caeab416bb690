"""
Lit and paved streets in tables of edges, and in reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from traveltime_lab._arrays import AnyArray
from traveltime_lab.modes.transportation import AVOIDABLE, Transportation
from traveltime_lab.streets.avoid import ANSWERS, answers, codes_of
from traveltime_lab.streets.tables import StreetTables, street_km
from traveltime_lab.streets.topology import open_edges

_WORDS: Final = np.array(ANSWERS, dtype=object)


def _by_column(tables: StreetTables) -> Iterator[tuple[str, AnyArray]]:
    """Yield each column, with the answers of edges as positions in `ANSWERS`; none if nothing is known of them."""
    for word, column in AVOIDABLE.items() if tables.edge_avoid.size else ():
        yield column, answers(tables.edge_avoid, word)


def columns_of_edges(tables: StreetTables) -> dict[str, AnyArray]:
    """Return the columns of edges by name; none if nothing is known of them."""
    return {column: _WORDS[found] for column, found in _by_column(tables)}


def arrays_of(edges: Any) -> dict[str, AnyArray]:
    """Return the array ``edge_avoid`` of a table of edges; raise ValueError if a column is missing or wrong."""
    missing = [column for column in AVOIDABLE.values() if column not in edges]
    if len(missing) == len(AVOIDABLE):
        return {}
    if missing:
        raise ValueError(f"the column {missing[0]} is missing")
    found: dict[str, AnyArray] = {}
    for word, column in AVOIDABLE.items():
        given = edges[column].to_numpy(object)
        wrong = [each for each in dict.fromkeys(given.tolist()) if each not in ANSWERS]
        if wrong:
            raise ValueError(f"the column {column} must have 'yes', 'no' or 'unknown'; got {wrong[0]!r}")
        found[word] = (given[:, None] == _WORDS).argmax(axis=1)
    return {"edge_avoid": codes_of(found)}


def with_facts(modes: dict[str, Any], tables: StreetTables) -> dict[str, Any]:
    """Return facts about the streets of each mode, with the kilometres for walking that are lit and paved or not."""
    walked = open_edges(tables, Transportation("walking"), before_changes=True).reshape(-1, 2).any(axis=1)
    for column, found in _by_column(tables):
        km = {answer: street_km(tables, walked & (found == place)) for place, answer in enumerate(ANSWERS)}
        total = sum(km.values())
        modes["walking"][column] = {
            **{f"km_{answer}": round(km[answer], 1) for answer in ("yes", "no", "unknown")},
            "unknown_share": km["unknown"] / total if total else 0.0,
        }
    return modes
