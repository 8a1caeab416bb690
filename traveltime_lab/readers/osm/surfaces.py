"""
The surface on which people walk along a way, from the tags of its sidewalks and of its carriageway.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

_SIDES: Final = ("", ":left", ":right", ":both")
SIDEWALKS: Final = tuple(f"sidewalk{side}" for side in _SIDES)
#: Tag keys of ways that `walked` reads besides those of `traveltime_lab.readers.osm.tags.interpret`.
SURFACE_KEYS: Final = (
    *SIDEWALKS,
    *(f"{key}:{what}" for key in SIDEWALKS for what in ("surface", "smoothness")),
    "footway:surface",
)
#: Values of sidewalks that are none, or a way of their own.
_NONE: Final = ("no", "none", "separate")

T = TypeVar("T")


def walked(tags: Mapping[str, str], judge: Callable[[str, str, str], T], ranks: Sequence[T]) -> T:
    """
    Return what a way is for people on foot; that of a sidewalk counts where it is tagged, on the better side.

    Parameters
    ----------
    tags : mapping of str to str
        Tags of the way.
    judge : callable
        Returns a value for those of ``surface``, ``smoothness`` and ``tracktype``, each "" if there is none.
    ranks : sequence
        Values of `judge`, from the best; the second is for surfaces that are not known.
    """
    sides = [
        judge(tags.get(f"{each}:surface", ""), tags.get(f"{each}:smoothness", ""), "")
        for each in (*SIDEWALKS, "footway")
        if f"{each}:surface" in tags or f"{each}:smoothness" in tags
    ]
    if sides:
        return min(sides, key=ranks.index)
    own = judge(*(tags.get(key, "") for key in ("surface", "smoothness", "tracktype")))
    has_sidewalk = any(tags.get(key, "no") not in _NONE for key in SIDEWALKS)
    # The carriageway may be rough where the sidewalk is not.
    return ranks[1] if own != ranks[0] and has_sidewalk else own
