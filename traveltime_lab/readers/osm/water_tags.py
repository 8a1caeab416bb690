"""Interpret the tags of water areas."""

from __future__ import annotations

from collections.abc import Mapping

#: Tags of water areas that cannot be crossed on foot, without basins and small ornamental water.
WATER_TAGS = (
    ("natural", "water"),
    ("waterway", "riverbank"),
    ("waterway", "dock"),
    ("landuse", "reservoir"),
)
_NOT_WATER = frozenset({"basin", "wastewater", "fountain", "swimming_pool", "pool", "reflecting_pool", "moat_dry"})


def is_water(tags: Mapping[str, str]) -> bool:
    """Return whether tags describe a permanent water area that is not small."""
    if tags.get("water") in _NOT_WATER or tags.get("intermittent") == "yes" or "amenity" in tags:
        return False
    return any(tags.get(key) == value for key, value in WATER_TAGS)
