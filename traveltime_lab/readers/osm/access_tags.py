"""
Interpret access tags: the key that applies to a base mode, and the meaning of its value.

Keys are looked up from the most specific to the most general: ``motorcar`` before ``motor_vehicle`` before ``vehicle``
before ``access``, and ``:forward`` or ``:backward`` before the plain key (OpenStreetMap wiki, "Key:access"). A key with
an unknown value is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from traveltime_lab.modes.table import STREET_MODES
from traveltime_lab.streets.tables import ACCESS_DESTINATION, ACCESS_NO, ACCESS_PRIVATE, ACCESS_YES

_KEYS = {
    "walking": ("foot", "access"),
    "cycling": ("bicycle", "vehicle", "access"),
    "driving": ("motorcar", "motor_vehicle", "vehicle", "access"),
}
_DIRECTIONS = ("", ":forward", ":backward")

#: All keys that `stated_access` reads.
ACCESS_KEYS: tuple[str, ...] = tuple(
    f"{key}{direction}" for key in dict.fromkeys(sum(_KEYS.values(), ())) for direction in _DIRECTIONS
)

DISMOUNT = 100  # bicycles may be pushed
DELIVERY = 101  # opens a road to cars for access to a place, but does not open a footway

# Meanings follow the wiki, "Key:access". Closed values are those of OSRM profiles/car.lua access_tag_blacklist;
# use_sidepath is treated as in its bicycle.lua and foot.lua.
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
    The access that tags state for a mode.

    Attributes
    ----------
    meaning : int
        An ``ACCESS_*`` constant, `DISMOUNT` or `DELIVERY`.
    key : str
        The key that was applied, without its direction.
    """

    meaning: int
    key: str


def stated_access(tags: Mapping[str, str], mode: str, direction: str = "") -> StatedAccess | None:
    """
    Return the access that tags state for a base mode, None if they state nothing.

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
    Return the access of a mode to a way in one direction.

    Parameters
    ----------
    tags, mode, direction
        As for `stated_access`.
    is_open : bool
        Whether ways of this class are open to the mode by default. If not, ``access=yes`` does not open them, only a
        key of the mode does.

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
        return (ACCESS_YES, True) if STREET_MODES[mode].is_pushed else (ACCESS_NO, False)
    return (ACCESS_DESTINATION if stated.meaning == DELIVERY else stated.meaning), False


def _meaning_of(value: str) -> int | None:
    """Return the meaning of a value, the most open one if it is a list; None if it is unknown."""
    if value in _VALUES:
        return _VALUES[value]
    meanings = {_VALUES.get(part.strip()) for part in value.split(";")}
    return next((meaning for meaning in OPENNESS if meaning in meanings), None)
