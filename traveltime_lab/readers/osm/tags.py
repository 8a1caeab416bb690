"""
Interpret the tags of OpenStreetMap ways: which modes may use them, and how fast.

`interpret` reads the tags of a way once for all three base modes and both directions. Directions are those of the OSM
way: forward is along its nodes.

Every number and default has its source beside it. "car.lua", "bicycle.lua" and "foot.lua" are the profiles of OSRM
(Project-OSRM/osrm-backend, folder ``profiles``), "wiki" is the OpenStreetMap wiki, and "assumed" means that there is
no source.
Time-dependent tags (``*:conditional``) and lane tags (``*:lanes``) are not interpreted.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from traveltime_lab.modes.table import BASE_MODES
from traveltime_lab.readers.osm.access_tags import ACCESS_KEYS, OPENNESS, resolve_access, stated_access
from traveltime_lab.readers.osm.node_tags import NODE_KEYS, node_flags
from traveltime_lab.readers.osm.tag_values import parse_duration_s, parse_maxspeed_kph
from traveltime_lab.streets.tables import ACCESS_DESTINATION, ACCESS_NO, ACCESS_YES

__all__ = ["NODE_KEYS", "OFF_GROUND_KEYS", "RELEVANT_KEYS", "WayUse", "interpret", "is_off_ground", "node_flags"]


class WayUse(NamedTuple):
    """Interpretation of the tags of a way; fields as in `traveltime_lab.streets.tables.USE_DTYPES`."""

    highway: str
    is_ferry: bool
    is_toll: bool
    is_track: bool
    is_roundabout: bool
    is_barrier: bool
    walking_access: int
    walking_kph_forward: float
    walking_kph_backward: float
    cycling_access: int
    cycling_kph_forward: float
    cycling_kph_backward: float
    driving_access: int
    driving_kph_forward: float
    driving_kph_backward: float


class _ClassDefaults(NamedTuple):
    """Free-flow km/h for a class of way; 0 if the class is closed unless a tag of the mode opens it."""

    walking_kph: float
    cycling_kph: float
    driving_kph: float


class _ModeUse(NamedTuple):
    access: int
    kph_forward: float
    kph_backward: float


WALKING_KPH = 5.0  # foot.lua walking_speed
PUSHING_KPH = 4.0  # bicycle.lua walking_speed: pushing a bicycle
CYCLING_KPH = 15.0  # bicycle.lua default_speed
DRIVING_OPENED_KPH = 10.0  # car.lua default_speed: ways that are open to cars by their access tags only
MAXSPEED_FACTOR = 0.8  # car.lua speed_reduction: typical speed as a share of the speed limit
SERVICE_FACTOR = 0.5  # car.lua service_penalties
# OpenTripPlanner, stairsTimeFactor: three times the time of level ground, after Fujiyama and Tyler, "Predicting the
# walking speed of pedestrians on stairs", Transportation Planning and Technology 33(2), 2010.
STAIRS_KPH = WALKING_KPH / 3.0
PUSHING_STAIRS_KPH = STAIRS_KPH  # bicycle.lua pedestrian_speeds.steps has 2, but pushing is not faster than walking
ELEVATOR_KPH = 1.0  # assumed: a way of a few metres stands for half a minute of waiting and riding
FASTEST_FERRY_KPH = 107.0  # HSC Francisco, 58 knots: a duration that implies more is an error in the data
FERRY_KPH = 5.0  # car.lua and bicycle.lua route_speeds.ferry: slow, because it includes the wait

_CLASSES: dict[str, _ClassDefaults] = {
    # Driving: car.lua speeds. Cycling: bicycle.lua bicycle_speeds and pedestrian_speeds. Walking: foot.lua speeds.
    # Where these are silent, FootAccessParser and BikeCommonAccessParser of GraphHopper apply: trunk roads, cycleways
    # and bridleways are open to walking, and trunk roads to cycling, unless motorroad or access tags close them.
    "motorway": _ClassDefaults(0, 0, 90),
    "motorway_link": _ClassDefaults(0, 0, 45),
    "trunk": _ClassDefaults(WALKING_KPH, CYCLING_KPH, 85),
    "trunk_link": _ClassDefaults(WALKING_KPH, CYCLING_KPH, 40),
    "primary": _ClassDefaults(WALKING_KPH, CYCLING_KPH, 65),
    "primary_link": _ClassDefaults(WALKING_KPH, CYCLING_KPH, 30),
    "secondary": _ClassDefaults(WALKING_KPH, CYCLING_KPH, 55),
    "secondary_link": _ClassDefaults(WALKING_KPH, CYCLING_KPH, 25),
    "tertiary": _ClassDefaults(WALKING_KPH, CYCLING_KPH, 40),
    "tertiary_link": _ClassDefaults(WALKING_KPH, CYCLING_KPH, 20),
    "unclassified": _ClassDefaults(WALKING_KPH, CYCLING_KPH, 25),
    "residential": _ClassDefaults(WALKING_KPH, CYCLING_KPH, 25),
    "living_street": _ClassDefaults(WALKING_KPH, CYCLING_KPH, 10),
    "service": _ClassDefaults(WALKING_KPH, CYCLING_KPH, 15),
    "road": _ClassDefaults(WALKING_KPH, CYCLING_KPH, DRIVING_OPENED_KPH),  # unknown class: the slowest speed
    "track": _ClassDefaults(WALKING_KPH, 12, DRIVING_OPENED_KPH),
    "path": _ClassDefaults(WALKING_KPH, 13, 0),
    "cycleway": _ClassDefaults(WALKING_KPH, CYCLING_KPH, 0),
    "bridleway": _ClassDefaults(WALKING_KPH, PUSHING_KPH, 0),
    "footway": _ClassDefaults(WALKING_KPH, PUSHING_KPH, 0),
    "pedestrian": _ClassDefaults(WALKING_KPH, PUSHING_KPH, 0),
    "crossing": _ClassDefaults(WALKING_KPH, PUSHING_KPH, 0),  # former tagging of a footway across a street
    "platform": _ClassDefaults(WALKING_KPH, PUSHING_KPH, 0),
    "pier": _ClassDefaults(WALKING_KPH, PUSHING_KPH, 0),
    "corridor": _ClassDefaults(WALKING_KPH, 0, 0),  # assumed: not in any profile
    "steps": _ClassDefaults(STAIRS_KPH, 0, 0),
    "elevator": _ClassDefaults(ELEVATOR_KPH, 0, 0),
    "busway": _ClassDefaults(0, 0, 0),
    "bus_guideway": _ClassDefaults(0, 0, 0),
}

# Classes on which vehicles move at walking pace, regardless of their tags (assumed).
_SHARED_WITH_WALKERS = frozenset({"pedestrian", "footway", "platform", "pier", "crossing", "corridor"})

_SERVICES_SLOW = frozenset({"alley", "parking", "parking_aisle", "driveway", "drive-through", "drive-thru"})  # car.lua
_SERVICES_CLOSED_TO_CARS = frozenset({"emergency_access"})  # car.lua service_tag_forbidden

# Highest km/h by surface, tracktype and smoothness. car.lua surface_speeds, tracktype_speeds, smoothness_speeds.
_DRIVING_SURFACE_KPH: dict[str, float] = {
    **dict.fromkeys(("cement", "compacted", "fine_gravel"), 80.0),
    **dict.fromkeys(("paving_stones", "metal", "bricks"), 60.0),
    **dict.fromkeys(("grass", "wood", "sett", "grass_paver", "gravel", "unpaved", "ground", "dirt"), 40.0),
    **dict.fromkeys(("pebblestone", "tartan"), 40.0),
    **dict.fromkeys(("cobblestone", "clay", "snow"), 30.0),
    **dict.fromkeys(("earth", "stone", "rocky", "sand", "ice"), 20.0),
    "mud": 10.0,
}
_DRIVING_TRACKTYPE_KPH = {"grade1": 60.0, "grade2": 40.0, "grade3": 30.0, "grade4": 25.0, "grade5": 20.0}
_DRIVING_SMOOTHNESS_KPH = {
    "intermediate": 80.0,
    "bad": 40.0,
    "very_bad": 20.0,
    "horrible": 10.0,
    "very_horrible": 5.0,
    "impassable": 0.0,
}
# bicycle.lua surface_speeds. Smoothness is not in it: assumed, for a loaded city bicycle.
_CYCLING_SURFACE_KPH: dict[str, float] = {
    **dict.fromkeys(("wood", "metal", "cobblestone:flattened", "paving_stones", "compacted", "fine_gravel"), 10.0),
    "ground": 10.0,
    "sett": 9.0,
    "dirt": 8.0,
    "cobblestone": 7.0,
    **dict.fromkeys(("unpaved", "gravel", "pebblestone", "grass_paver", "earth", "grass"), 6.0),
    **dict.fromkeys(("mud", "sand", "woodchips"), 3.0),
}
_CYCLING_SMOOTHNESS_KPH = {"very_bad": 8.0, "horrible": PUSHING_KPH, "very_horrible": 3.0, "impassable": 0.0}
# foot.lua surface_speeds, as shares of the walking speed.
_WALKING_SURFACE_FACTOR: dict[str, float] = {
    **dict.fromkeys(("fine_gravel", "gravel", "pebblestone"), 0.75),
    **dict.fromkeys(("mud", "sand"), 0.5),
}

_ALONG = frozenset({"yes", "true", "1"})
_AGAINST = frozenset({"-1", "reverse"})
_BOTH_WAYS = frozenset({"no", "false", "0", "alternating"})

# One-way keys from the most specific to the most general. The first key that is present applies.
_DRIVING_ONEWAY_KEYS = ("oneway:motorcar", "oneway:motor_vehicle", "oneway:vehicle")
_CYCLING_ONEWAY_KEYS = ("oneway:bicycle", "oneway:vehicle")

_PLATFORM_KEYS = ("railway", "public_transport")
_GRADE_KEYS = ("bridge", "tunnel", "covered", "layer")

#: Keys of ways off the ground, with their values on it. A building passage is a street at ground level.
_AT_GRADE = {
    "bridge": frozenset({"no", "0"}),
    "tunnel": frozenset({"no", "0", "building_passage"}),
    "floating": frozenset({"no", "0"}),
}
#: Structures that reach into the water, which streets may lie on.
_IN_WATER = frozenset({"pier", "jetty", "breakwater", "groyne"})
#: Keys that `is_off_ground` reads.
OFF_GROUND_KEYS = (*_AT_GRADE, "man_made")

#: Tag keys that `interpret` and `is_off_ground` read; two ways with equal values of these have the same use.
RELEVANT_KEYS: tuple[str, ...] = (
    "highway",
    "route",
    "railway",
    "public_transport",
    "man_made",
    "area",
    *ACCESS_KEYS,
    "oneway",
    "oneway:foot",
    *dict.fromkeys(_DRIVING_ONEWAY_KEYS + _CYCLING_ONEWAY_KEYS),
    *(f"cycleway{side}{way}" for side in ("", ":left", ":right", ":both") for way in ("", ":oneway")),
    "conveying",
    "junction",
    "motorroad",
    *_GRADE_KEYS,
    "floating",
    "service",
    "surface",
    "tracktype",
    "smoothness",
    "ramp",
    "ramp:bicycle",
    "maxspeed",
    "maxspeed:forward",
    "maxspeed:backward",
    "maxspeed:type",
    "source:maxspeed",
    "toll",
    "toll:motorcar",
    "toll:motor_vehicle",
    "duration",
)
_RELEVANT = frozenset(RELEVANT_KEYS)


def interpret(tags: Mapping[str, str], *, length_m: float | None = None) -> WayUse | None:
    """
    Return which modes may use a way with these tags, and how fast.

    Parameters
    ----------
    tags : mapping of str to str
        Tags of the way; keys outside `RELEVANT_KEYS` are ignored.
    length_m : float, optional
        Length of the whole way in metres. It is used only for a ferry with a ``duration``, to compute its speed.

    Returns
    -------
    WayUse or None
        None if none of the base modes may use the way in any direction.

    Notes
    -----
    A more specific access tag takes precedence over a more general one: ``motorcar`` over ``motor_vehicle`` over
    ``vehicle`` over ``access``, and ``:forward`` or ``:backward`` over the plain key. ``access=yes`` does not open a
    footway to cars, ``motor_vehicle=yes`` does. A private way keeps its speeds and gets ``ACCESS_PRIVATE``; a query
    decides whether to use it. Tracks that no tag opens to cars keep their speeds, too, and get ``is_track``.
    """
    relevant = tuple((key, value) for key, value in tags.items() if key in _RELEVANT)
    if tags.get("route") != "ferry":
        length_m = None
    return _interpret(relevant, length_m)


@lru_cache(maxsize=65_536)
def _interpret(relevant: tuple[tuple[str, str], ...], length_m: float | None) -> WayUse | None:
    tags = dict(relevant)
    highway = _class_of(tags)
    if highway is None:
        return None
    if highway == "ferry":
        walking, cycling, driving = _ferry_modes(tags, length_m)
    else:
        limits = _speed_limits_kph(tags)
        walking = _walking(tags, highway)
        cycling = _cycling(tags, highway, limits, walking)
        driving = _driving(tags, highway, limits)
    if max(*walking[1:], *cycling[1:], *driving[1:]) <= 0.0:
        return None
    return WayUse(
        highway,
        is_ferry=highway == "ferry",
        is_toll=_is_toll(tags),
        is_track=highway == "track" and not _is_opened_to_cars(tags),
        is_roundabout=_is_roundabout(tags),
        is_barrier=_is_barrier(tags, highway, walking),
        walking_access=walking.access,
        walking_kph_forward=walking.kph_forward,
        walking_kph_backward=walking.kph_backward,
        cycling_access=cycling.access,
        cycling_kph_forward=cycling.kph_forward,
        cycling_kph_backward=cycling.kph_backward,
        driving_access=driving.access,
        driving_kph_forward=driving.kph_forward,
        driving_kph_backward=driving.kph_backward,
    )


def _class_of(tags: Mapping[str, str]) -> str | None:
    """Return the class of a way, None if it is not a street, such as construction sites, raceways or railways."""
    highway = tags.get("highway")
    if highway is not None:
        return highway if highway in _CLASSES else None
    if tags.get("route") == "ferry":
        return "ferry"
    if any(tags.get(key) == "platform" for key in _PLATFORM_KEYS):
        return "platform"
    return "pier" if tags.get("man_made") == "pier" else None


def _mode_use(forward: tuple[int, float], backward: tuple[int, float]) -> _ModeUse:
    """Combine two directions; the access of the way is the more open one."""
    kph_forward = forward[1] if forward[0] != ACCESS_NO else 0.0
    kph_backward = backward[1] if backward[0] != ACCESS_NO else 0.0
    levels = {access for access, kph in ((forward[0], kph_forward), (backward[0], kph_backward)) if kph > 0.0}
    access = next((level for level in OPENNESS if level in levels), ACCESS_NO)
    return _ModeUse(access, kph_forward, kph_backward)


def _walking(tags: Mapping[str, str], highway: str) -> _ModeUse:
    default_kph = _CLASSES[highway].walking_kph
    is_open = default_kph > 0.0 and tags.get("motorroad") != "yes"
    kph = (default_kph or WALKING_KPH) * _WALKING_SURFACE_FACTOR.get(tags.get("surface", ""), 1.0)
    # One-way streets may be walked both ways. Only oneway:foot, escalators and moving walkways restrict walking.
    closed_forward, closed_backward = _closed_by(tags.get("oneway:foot"))
    conveying = tags.get("conveying")
    directions = []
    for suffix, closed in (
        (":forward", closed_forward or conveying == "backward"),
        (":backward", closed_backward or conveying == "forward"),
    ):
        access, _ = resolve_access(tags, "walking", suffix, is_open=is_open)
        directions.append((access, 0.0 if closed else kph))
    return _mode_use(*directions)


def _cycling(
    tags: Mapping[str, str], highway: str, limits: tuple[float | None, float | None], walking: _ModeUse
) -> _ModeUse:
    default_kph = _CLASSES[highway].cycling_kph
    if highway == "steps" and "yes" in (tags.get("ramp:bicycle"), tags.get("ramp")):
        default_kph = PUSHING_STAIRS_KPH
    cap_kph = min(
        _CYCLING_SURFACE_KPH.get(tags.get("surface", ""), CYCLING_KPH),
        _CYCLING_SMOOTHNESS_KPH.get(tags.get("smoothness", ""), CYCLING_KPH),
        PUSHING_STAIRS_KPH if highway == "steps" else ELEVATOR_KPH if highway == "elevator" else CYCLING_KPH,
    )
    is_open = default_kph > 0.0 and tags.get("motorroad") != "yes"
    directions = []
    for suffix, closed, limit, on_foot in zip(
        (":forward", ":backward"), _cycling_directions_closed(tags, highway), limits, walking[1:], strict=True
    ):
        stated = stated_access(tags, "cycling", suffix)
        if default_kph == PUSHING_KPH and (stated is None or stated.key != "bicycle"):
            # Where bicycles are pushed by default, access for walking applies, and vehicle=no does not.
            access, is_pushed = resolve_access(tags, "walking", suffix, is_open=is_open)[0], True
        else:
            access, is_pushed = resolve_access(tags, "cycling", suffix, is_open=is_open)
        # On a footway or pedestrian street with bicycle=yes cyclists ride (bicycle.lua speed_handler).
        kph = PUSHING_KPH if is_pushed else CYCLING_KPH if default_kph <= PUSHING_KPH else default_kph
        kph = min(kph, cap_kph, limit or kph)
        if kph > 0.0:
            # Where riding is slower than walking beside the bicycle, it is pushed.
            kph = max(kph, min(PUSHING_KPH, on_foot))
        directions.append((access, 0.0 if closed else kph))
    return _mode_use(*directions)


def _driving(tags: Mapping[str, str], highway: str, limits: tuple[float | None, float | None]) -> _ModeUse:
    default_kph = _CLASSES[highway].driving_kph
    if tags.get("area") == "yes" or tags.get("service") in _SERVICES_CLOSED_TO_CARS or highway == "steps":
        return _ModeUse(ACCESS_NO, 0.0, 0.0)  # areas: car.lua avoid; the outline of an area is not a carriageway
    cap_kph = min(
        _DRIVING_SURFACE_KPH.get(tags.get("surface", ""), 999.0),
        _DRIVING_TRACKTYPE_KPH.get(tags.get("tracktype", ""), 999.0),
        _DRIVING_SMOOTHNESS_KPH.get(tags.get("smoothness", ""), 999.0),
    )
    if highway in _SHARED_WITH_WALKERS:
        cap_kph = min(cap_kph, DRIVING_OPENED_KPH)
    factor = SERVICE_FACTOR if highway == "service" and tags.get("service") in _SERVICES_SLOW else 1.0
    directions = []
    for suffix, closed, limit in zip(
        (":forward", ":backward"), _driving_directions_closed(tags, highway), limits, strict=True
    ):
        access, _ = resolve_access(tags, "driving", suffix, is_open=default_kph > 0.0)
        kph = (default_kph or DRIVING_OPENED_KPH) * factor if limit is None else limit * MAXSPEED_FACTOR
        directions.append((access, 0.0 if closed else min(kph, cap_kph)))
    return _mode_use(*directions)


def _is_opened_to_cars(tags: Mapping[str, str]) -> bool:
    stated = stated_access(tags, "driving")
    return stated is not None and stated.key != "access" and stated.meaning in (ACCESS_YES, ACCESS_DESTINATION)


def _is_barrier(tags: Mapping[str, str], highway: str, walking: _ModeUse) -> bool:
    """Return whether a way is a motorway or the like at ground level, which pedestrians cannot cross."""
    is_fast = highway in ("motorway", "motorway_link") or tags.get("motorroad") == "yes"
    is_at_grade = all(tags.get(key, "no") in ("no", "0") for key in _GRADE_KEYS)
    return is_fast and is_at_grade and max(walking.kph_forward, walking.kph_backward) <= 0.0


def is_off_ground(tags: Mapping[str, str]) -> bool:
    """
    Return whether a way is on a bridge, in a tunnel, or on a pier, breakwater or pontoon.

    Heights of the ground are not those of such a way, and the ground there may be under water.
    """
    return any(tags.get(key, "no") not in at_grade for key, at_grade in _AT_GRADE.items()) or (
        tags.get("man_made") in _IN_WATER
    )


def _is_roundabout(tags: Mapping[str, str]) -> bool:
    return tags.get("junction") in ("roundabout", "circular")


def _is_toll(tags: Mapping[str, str]) -> bool:
    specific = tags.get("toll:motorcar", tags.get("toll:motor_vehicle"))
    return (specific or tags.get("toll", "no")) != "no"


def _closed_by(oneway: str | None) -> tuple[bool, bool]:
    """Return whether a value of ``oneway`` closes the forward and the backward direction."""
    if oneway == "reversible":  # open in one direction at a time, depending on the time of day
        return True, True
    return oneway in _AGAINST, oneway in _ALONG


def _first_of(tags: Mapping[str, str], keys: tuple[str, ...]) -> str | None:
    return next((tags[key] for key in keys if key in tags), None)


def _driving_directions_closed(tags: Mapping[str, str], highway: str) -> tuple[bool, bool]:
    own = _first_of(tags, _DRIVING_ONEWAY_KEYS)
    return _closed_by(own) if own is not None else _traffic_directions_closed(tags, highway)


def _traffic_directions_closed(tags: Mapping[str, str], highway: str) -> tuple[bool, bool]:
    """Return the directions that ``oneway`` and the class of the way close to all vehicles."""
    oneway = tags.get("oneway")
    # Implied one-ways: wiki, "Key:oneway". Motorway links are included as in car.lua.
    is_implied = _is_roundabout(tags) or highway in ("motorway", "motorway_link")
    if is_implied and (oneway is None or oneway not in _BOTH_WAYS | _AGAINST | {"reversible"}):
        return False, True
    return _closed_by(oneway)


def _cycling_directions_closed(tags: Mapping[str, str], highway: str) -> tuple[bool, bool]:
    own = _first_of(tags, _CYCLING_ONEWAY_KEYS)
    if own is not None:
        return _closed_by(own)
    closed_forward, closed_backward = _traffic_directions_closed(tags, highway)
    if not (closed_forward or closed_backward) or tags.get("oneway") == "reversible":
        return closed_forward, closed_backward
    # Cycling against the traffic is allowed by access tags of bicycles or by a lane or track (wiki, "Key:cycleway").
    contra_key = "bicycle:backward" if closed_backward else "bicycle:forward"
    if tags.get(contra_key) in ("yes", "designated", "permissive"):
        return False, False
    # The one-way of a lane refers to the direction of the way, so with oneway=-1 it runs against the traffic.
    against = _AGAINST if closed_backward else _ALONG
    for side in ("cycleway", "cycleway:left", "cycleway:right", "cycleway:both"):
        lane = tags.get(f"{side}:oneway", "")
        if tags.get(side, "").startswith("opposite") or lane == "no" or lane in against:
            return False, False
    return closed_forward, closed_backward


def _speed_limits_kph(tags: Mapping[str, str]) -> tuple[float | None, float | None]:
    """Return the speed limits forward and backward, None where there is none."""
    both = parse_maxspeed_kph(tags.get("maxspeed"))
    if both is None and "maxspeed" not in tags:
        # These keys also hold values with a country code such as IT:urban. Plain numbers and "sign" are no limits.
        words = (tags.get(key, "") for key in ("maxspeed:type", "source:maxspeed"))
        both = next((kph for word in words if ":" in word and (kph := parse_maxspeed_kph(word))), None)
    forward = parse_maxspeed_kph(tags.get("maxspeed:forward"))
    backward = parse_maxspeed_kph(tags.get("maxspeed:backward"))
    return forward if forward is not None else both, backward if backward is not None else both


def _ferry_modes(tags: Mapping[str, str], length_m: float | None) -> tuple[_ModeUse, _ModeUse, _ModeUse]:
    """
    Return the use of a ferry for walking, cycling and driving.

    Access without a tag of the mode follows FootAccessParser, BikeCommonAccessParser and CarAccessParser of
    GraphHopper: a ferry is open to walking, to cycling unless ``foot`` is tagged, and to cars unless ``foot`` or
    ``bicycle`` is tagged.
    """
    seconds = parse_duration_s(tags.get("duration"))
    kph = min(length_m / seconds * 3.6, FASTEST_FERRY_KPH) if length_m and seconds else FERRY_KPH
    is_open = {
        "walking": True,
        "cycling": "foot" not in tags,
        "driving": "foot" not in tags and "bicycle" not in tags,
    }
    closed = _closed_by(tags.get("oneway"))
    uses = []
    for mode in BASE_MODES:
        directions = []
        for suffix, is_closed in zip((":forward", ":backward"), closed, strict=True):
            access, _ = resolve_access(tags, mode, suffix, is_open=is_open[mode])
            directions.append((access, 0.0 if is_closed else kph))
        uses.append(_mode_use(*directions))
    return uses[0], uses[1], uses[2]
