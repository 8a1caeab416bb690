"""
Ways that walks avoid by option, such as unlit ones, and those of which that is not known.

The tables of streets have a number of 8 bits for each edge, ``edge_avoid``: two bits for each word of `AVOIDABLE`, a
position in `ANSWERS`. `traveltime_lab.readers.osm.avoid` computes it from tags.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from traveltime_lab._arrays import AnyArray, BoolArray, UInt8Array
from traveltime_lab.errors import ModeError
from traveltime_lab.modes.transportation import AVOIDABLE, Transportation
from traveltime_lab.streets.tables import StreetTables

#: Answers to the question of a word, such as whether a way is lit. Ways with the last one are avoided.
ANSWERS: Final = ("unknown", "yes", "no")
_UNKNOWN, _YES, _NO = range(3)
_SHIFT: Final = {word: 2 * place for place, word in enumerate(AVOIDABLE)}


def edge_code(found: Mapping[str, str]) -> int:
    """
    Return the number of an edge.

    Parameters
    ----------
    found : mapping of str to str
        The answer for each word of `AVOIDABLE`; those without one are not known.
    """
    return sum(ANSWERS.index(answer) << _SHIFT[word] for word, answer in found.items())


def codes_of(found: Mapping[str, AnyArray]) -> UInt8Array:
    """Return the numbers of edges, of the answers for each word of `AVOIDABLE` as positions in `ANSWERS`."""
    parts = [positions.astype(np.uint8) << _SHIFT[word] for word, positions in found.items()]
    return np.asarray(np.bitwise_or.reduce(parts))


def answers(codes: AnyArray | int, word: str) -> AnyArray:
    """Return the answers for a word, as positions in `ANSWERS`."""
    return np.asarray(np.asarray(codes) >> _SHIFT[word] & 3)


def worst(*codes: int) -> int:
    """Return the number of an edge that consists of parts with these numbers: all of it is as the worst of them."""
    by_rank = (_NO, _UNKNOWN, _YES)
    found = {word: {int(answers(code, word)) for code in codes} for word in AVOIDABLE}
    return edge_code({word: ANSWERS[min(each, key=by_rank.index)] for word, each in found.items()})


def is_avoided(tables: StreetTables, means: Transportation) -> BoolArray:
    """
    Return which edges a means of transportation avoids; those of which that is not known are not avoided.

    Returns
    -------
    bool array of shape (n_edges,)

    Raises
    ------
    ModeError
        If it avoids any, and the tables do not say which they are.
    """
    found = np.zeros(tables.edge_from.size, np.bool_)
    if means.avoid and not tables.edge_avoid.size:
        raise ModeError(
            f"avoid needs the {' and '.join(AVOIDABLE.values())} streets, which this network does not have; build it "
            "again from OpenStreetMap data, or from tables with the columns 'highway', 'lit' and 'surface'; "
            f"those of edges_frame() need {' and '.join(map(repr, AVOIDABLE.values()))}"
        )
    for word in means.avoid:
        found |= answers(tables.edge_avoid, word) == _NO
    return found


def in_words(code: int, means: Transportation) -> str:
    """Return why an edge is avoided, such as ``"an unlit way"``; "" if it is not."""
    words = [word for word in means.avoid if answers(code, word) == _NO]
    return f"an {' and '.join(words)} way" if words else ""
