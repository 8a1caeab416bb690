"""
Whether ways are lit and paved, from the tags of OpenStreetMap.

Sources: the OpenStreetMap wiki, "Key:lit", "Key:surface" and "Key:tracktype". The time of day at which lights are on is
not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from traveltime_lab.readers.osm import surfaces
from traveltime_lab.streets.avoid import edge_code

#: Tag keys of ways that `avoid_code` reads besides those of `traveltime_lab.readers.osm.tags.interpret`. Graphs that a
#: network was exported to have ``paved``, which says yes or no.
AVOID_KEYS: Final[tuple[str, ...]] = ("lit", "paved", *surfaces.SURFACE_KEYS)
#: All keys that it reads.
KEYS: Final = frozenset({*AVOID_KEYS, "highway", "surface", "smoothness", "tracktype"})

#: "Off" in the wiki: no lights, or broken ones.
_UNLIT: Final = frozenset({"no", "disused"})
#: "On" and "intermittent" there. Hours are those of lights that are installed.
_LIT: Final = frozenset(
    {"yes", "24/7", "automatic", "limited", "interval", "operating_times", "sunset-sunrise", "dusk-dawn"}
)
#: Those of the wiki, without surfaces of sports. "grass_paver" is paved there and unpaved in StreetComplete: not known.
_PAVED: Final = frozenset(
    {"paved", "asphalt", "chipseal", "concrete", "paving_stones", "sett", "cobblestone", "unhewn_cobblestone"}
    | {"bricks", "brick", "metal", "metal_grid", "wood", "stepping_stones", "tiles"}
)
_UNPAVED: Final = frozenset(
    {"unpaved", "compacted", "fine_gravel", "gravel", "shells", "rock", "rocks", "pebblestone", "ground", "dirt"}
    | {"earth", "grass", "mud", "sand", "woodchips", "snow", "ice", "salt"}
)
#: Grade 1 is a paved track or one of compacted hardcore: not known.
_UNPAVED_TRACKS: Final = frozenset({"grade2", "grade3", "grade4", "grade5"})
_RANKS: Final = ("yes", "unknown", "no")


def avoid_code(tags: Mapping[str, str]) -> int:
    """
    Return the number of a way for ``edge_avoid``.

    Parameters
    ----------
    tags : mapping of str to str
        Tags of the way.
    """
    return _avoid_code(tuple((key, value) for key, value in tags.items() if key in KEYS))


@lru_cache(maxsize=65_536)
def _avoid_code(known: tuple[tuple[str, str], ...]) -> int:
    tags = dict(known)
    lit = tags.get("lit", "")
    paved = surfaces.walked(tags, _paved, _RANKS)
    if paved == "unknown" and "surface" not in tags and tags.get("paved") in ("yes", "no"):
        paved = tags["paved"]
    return edge_code({"unlit": "no" if lit in _UNLIT else "yes" if lit in _LIT else "unknown", "unpaved": paved})


def _paved(surface: str, _smoothness: str, track: str) -> str:
    """Return whether a surface is paved; if there are several values, all must be."""
    # "concrete:plates" is concrete.
    parts = {each.strip().partition(":")[0] for each in surface.split(";")} - {""}
    if parts & _UNPAVED or (not parts and track in _UNPAVED_TRACKS):
        return "no"
    return "yes" if parts and parts <= _PAVED else "unknown"
