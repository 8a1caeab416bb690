"""
Access tags: which key decides for a base mode and what its value means.

Keys are looked up from the most specific to the most general, ``motorcar`` before ``motor_vehicle`` before ``vehicle``
before ``access``, and in a direction ``:forward`` or ``:backward`` before the plain key (OpenStreetMap wiki,
"Key:access"). A value that we do not know says nothing, and the next key is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from traveltime_lab.streets.tables import ACCESS_DESTINATION, ACCESS_NO, ACCESS_PRIVATE, ACCESS_YES

_KEYS = {
    "walking": ("foot", "access"),
    "cycling": ("bicycle", "vehicle", "access"),
    "driving": ("motorcar", "motor_vehicle", "vehicle", "access"),
}
_DIRECTIONS = ("", ":forward", ":backward")

#: All keys that `stated_access` may look at.
ACCESS_KEYS: tuple[str, ...] = tuple(
    f"{key}{direction}" for key in dict.fromkeys(sum(_KEYS.values(), ())) for direction in _DIRECTIONS
)

DISMOUNT = 100  # allowed for a pushed bicycle
DELIVERY = 101  # lets a car reach a place on a road, but does not turn a footway into a road

# Meanings after the wiki, "Key:access". The closed ones are those of OSRM profiles/car.lua access_tag_blacklist, and
# use_sidepath as in its bicycle.lua and foot.lua.
_VALUES: dict[str, int] = {
    **dict.fromkeys(("yes", "permissive", "designated", "official", "public", "discouraged", "hov"), ACCESS_YES),
    **dict.fromkeys(("destination", "customers"), ACCESS_DESTINATION),
    "delivery": DELIVERY,
    **dict.fromkeys(("private", "permit", "residents", "employees", "students", "restricted"), ACCESS_PRIVATE),
    **dict.fromkeys(("no", "none", "agricultural", "forestry", "military", "emergency", "use_sidepath"), ACCESS_NO),
    **dict.fromkeys(("psv", "bus", "minibus", "taxi", "share_taxi"), ACCESS_NO),
    "dismount": DISMOUNT,
}
#: From the most to the least open.
OPENNESS = (ACCESS_YES, DISMOUNT, ACCESS_DESTINATION, DELIVERY, ACCESS_PRIVATE, ACCESS_NO)


class StatedAccess(NamedTuple):
    """
    What tags state for a mode.

    Attributes
    ----------
    meaning : int
        An ``ACCESS_*`` constant, `DISMOUNT` or `DELIVERY`.
    key : str
        The key that decided, without direction.
    """

    meaning: int
    key: str


def stated_access(tags: Mapping[str, str], mode: str, direction: str = "") -> StatedAccess | None:
    """
    Return what access tags state for a base mode, None if they state nothing.

    Parameters
    ----------
    tags : mapping of str to str
        Tags of a way or a node.
    mode : {"walking", "cycling", "driving"}
        The base mode.
    direction : {"", ":forward", ":backward"}
        Direction along a way.
    """
    for key in _KEYS[mode]:
        for candidate in (f"{key}{direction}", key) if direction else (key,):
            value = tags.get(candidate)
            if value is not None and (meaning := _meaning_of(value)) is not None:
                return StatedAccess(meaning, key)
    return None


def resolve_access(tags: Mapping[str, str], mode: str, direction: str, *, is_open: bool) -> tuple[int, bool]:
    """
    Return who a way admits in a direction.

    Parameters
    ----------
    tags, mode, direction
        As for `stated_access`.
    is_open : bool
        Whether ways of this class are open to the mode where no tag says otherwise. If they are not, ``access=yes``
        does not open them: it takes a key of the mode.

    Returns
    -------
    access : int
        An ``ACCESS_*`` constant.
    is_dismount : bool
        Whether bicycles must be pushed.
    """
    stated = stated_access(tags, mode, direction)
    if stated is None:
        return (ACCESS_YES if is_open else ACCESS_NO), False
    if not is_open and (stated.key == "access" or stated.meaning == DELIVERY):
        return ACCESS_NO, False
    if stated.meaning == DISMOUNT:
        return (ACCESS_YES, True) if mode == "cycling" else (ACCESS_NO, False)
    return (ACCESS_DESTINATION if stated.meaning == DELIVERY else stated.meaning), False


def _meaning_of(value: str) -> int | None:
    """Return the meaning of a value, the most open one of a list, None if it says nothing we know."""
    if value in _VALUES:
        return _VALUES[value]
    meanings = {_VALUES.get(part.strip()) for part in value.split(";")}
    return next((meaning for meaning in OPENNESS if meaning in meanings), None)
