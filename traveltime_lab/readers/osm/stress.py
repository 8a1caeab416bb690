"""
Levels of traffic stress of OpenStreetMap ways, from their tags.

The rules are those of Furth's criteria; `traveltime_lab.streets.stress` has his tables, and what is assumed for a class
of street: OpenStreetMap has no volumes of traffic, and often neither speeds nor lanes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import numpy as np

from traveltime_lab import timezones
from traveltime_lab._arrays import FloatArray, UInt16Array
from traveltime_lab.readers.osm.tag_values import parse_maxspeed_kph
from traveltime_lab.streets import costs, stress
from traveltime_lab.streets.stress import Class, Facts

#: Wide enough for the upper rows of Furth's tables: 6 feet, and with a parking lane of 7 feet, 15 feet in all.
_WIDE_M, _WIDE_BY_PARKING_M = 1.83, 2.44

_SIDES = ("", ":left", ":right", ":both")
_TRACKS = frozenset({"track", "opposite_track"})
_LANES = frozenset({"lane", "opposite_lane", "yes", "shoulder"})
#: Kinds of separation that make a lane a track.
_SEPARATED = frozenset(
    {"bollard", "bump", "flex_post", "vertical_panel", "studs", "kerb", "planter", "separation_kerb", "jersey_barrier"}
    | {"guard_rail", "fence", "parking_lane", "greenery", "hedge", "tree_row", "grass_verge", "structure", "cone"}
)
_NOT_PARKED = frozenset({"no", "none", "no_parking", "no_stopping", "no_standing", "fire_lane", "separate", "unknown"})
_LIMITED = frozenset({"destination", "delivery", "private", "customers", "residents", "permit", "agricultural"})
_WITH_BUSES = frozenset({"yes", "designated", "official", "permissive"})
_CYCLEWAYS = tuple(f"cycleway{side}" for side in _SIDES)

#: Tag keys that `codes` reads besides those of `traveltime_lab.readers.osm.tags.interpret`.
STRESS_KEYS: Final[tuple[str, ...]] = (
    "lts",
    "lanes",
    "lanes:forward",
    "lanes:backward",
    "lane_markings",
    "bicycle_road",
    "cyclestreet",
    "bus",
    "psv",
    *(f"{key}:width" for key in _CYCLEWAYS),
    *(f"{key}:separation{edge}" for key in _CYCLEWAYS for edge in ("", ":left", ":right", ":both")),
    *(f"parking:{side}" for side in ("left", "right", "both")),
    *(f"parking:lane:{side}" for side in ("left", "right", "both")),
)
#: All keys that `codes` reads.
KEYS: Final = frozenset(
    {
        *STRESS_KEYS,
        *_CYCLEWAYS,
        *(f"{key}:oneway" for key in _CYCLEWAYS),
        *("highway", "route", "oneway", "junction", "maxspeed", "maxspeed:forward", "maxspeed:backward"),
        *("maxspeed:type", "source:maxspeed", "access", "vehicle", "motor_vehicle", "motorcar"),
    }
)
_ONE_WAY, _ONE_WAY_BACK = frozenset({"yes", "true", "1"}), frozenset({"-1", "reverse"})
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def codes(tags: Mapping[str, str], *, is_left_hand: bool = False) -> tuple[int, int]:
    """
    Return the numbers of a way for ``edge_stress``, along it and against it.

    Parameters
    ----------
    tags : mapping of str to str
        Tags of the way.
    is_left_hand : bool, default False
        Whether traffic keeps left.
    """
    return _codes(tuple((key, value) for key, value in tags.items() if key in KEYS), is_left_hand)


def by_side_of_traffic(both: UInt16Array, lng: FloatArray, lat: FloatArray) -> UInt16Array:
    """
    Return the numbers of edges for the side on which traffic keeps where they are.

    Parameters
    ----------
    both : uint16 array of shape (n_edges, 2, 2)
        Numbers of `codes` where traffic keeps right and left, in both directions.
    lng, lat : float64 arrays of shape (n_edges,)
        A place on each edge in EPSG:4326.

    Returns
    -------
    uint16 array of shape (2 * n_edges,)
    """
    found = both[:, 0].copy()
    rows = np.flatnonzero((both[:, 0] != both[:, 1]).any(axis=1))
    zones = timezones.zones_at(lng[rows], lat[rows]) if rows.size else []
    is_left = np.array([bool(zone) and costs.drives_on_left(zone) for zone in zones], np.bool_)
    found[rows[is_left]] = both[rows[is_left], 1]
    return found.ravel()


@lru_cache(maxsize=65_536)
def _codes(relevant: tuple[tuple[str, str], ...], is_left_hand: bool) -> tuple[int, int]:
    tags = dict(relevant)
    one, other = (_facts(tags, direction, is_left_hand=is_left_hand) for direction in ("forward", "backward"))
    given = tags.get("lts", "")
    if given in ("1", "2", "3", "4"):
        one, other = (facts._replace(kind=stress.GIVEN) for facts in (one, other))
        return one.packed(int(given)), other.packed(int(given))
    return one.packed(), other.packed()


def _facts(tags: Mapping[str, str], direction: str, *, is_left_hand: bool) -> Facts:
    """Return what the level in a direction follows from."""
    if "highway" not in tags:
        return Facts(stress.FERRY if tags.get("route") == "ferry" else stress.PATH)
    usual = stress.CLASSES.get(tags["highway"].removesuffix("_link"))
    if usual is None or _is_without_motors(tags):
        return Facts(stress.PATH)
    oneway = _oneway(tags)
    kph = _limit(tags, direction)
    lanes, width, lanes_assumed = _lanes(tags, direction, usual, oneway)
    kind = usual.kind
    if "yes" in (tags.get("bicycle_road"), tags.get("cyclestreet")) or _is_limited(tags):
        kind = stress.LOCAL
    mixed = Facts(
        kind,
        stress.speed_column(usual.kph if kph is None else kph),
        lanes,
        width,
        speed_assumed=kph is None,
        lanes_assumed=lanes_assumed,
    )
    facility = _facility(tags, direction, oneway, is_left_hand=is_left_hand)
    # A lane does not make a calm street worse.
    return mixed if facility is None else stress.calmest(mixed._replace(kind=facility), mixed)


def _is_without_motors(tags: Mapping[str, str]) -> bool:
    """Return whether neither cars nor buses use the way."""
    stated = next((tags[key] for key in ("motorcar", "motor_vehicle", "vehicle", "access") if key in tags), "")
    return stated == "no" and not _WITH_BUSES & {tags.get("bus"), tags.get("psv")} and "busway" not in tags["highway"]


def _is_limited(tags: Mapping[str, str]) -> bool:
    """Return whether only those use the way who live there or have to get there."""
    stated = next((tags[key] for key in ("motorcar", "motor_vehicle", "vehicle", "access") if key in tags), "")
    return stated in _LIMITED


def _oneway(tags: Mapping[str, str]) -> str | None:
    """Return the only direction of motor traffic, None if there are two."""
    value = tags.get("oneway")
    if value in _ONE_WAY_BACK:
        return "backward"
    is_implied = tags.get("junction") in ("roundabout", "circular") or tags["highway"].startswith("motorway")
    return "forward" if value in _ONE_WAY or (is_implied and value is None) else None


def _limit(tags: Mapping[str, str], direction: str) -> float | None:
    """Return the speed limit in km/h, None if no tag has one."""
    own = parse_maxspeed_kph(tags.get(f"maxspeed:{direction}")) or parse_maxspeed_kph(tags.get("maxspeed"))
    if own is None and "maxspeed" not in tags:
        words = (tags.get(key, "") for key in ("maxspeed:type", "source:maxspeed"))
        own = next((kph for word in words if ":" in word and (kph := parse_maxspeed_kph(word))), None)
    return own


def _lanes(tags: Mapping[str, str], direction: str, usual: Class, oneway: str | None) -> tuple[int, int, bool]:
    """Return the lanes in a direction, the lanes to cross (see `Facts`), and whether they are assumed."""
    total = _number(tags.get("lanes"))
    own, other = (_number(tags.get(f"lanes:{way}")) for way in ("forward", "backward"))
    if direction == "backward":
        own, other = other, own
    is_marked = tags.get("lane_markings") != "no"
    if total is None and own is None:
        lanes, width = usual.usual_lanes(is_oneway=oneway is not None)
        return (lanes if is_marked else 0), width, True
    n_across = total if total is not None else (own or 0) + (other or own or 0)
    if own is None:
        assert total is not None
        # The larger half of an odd number in two directions.
        own = total if oneway is not None else 0 if total <= 1 else (total - other if other else -(-total // 2))
    return (min(max(own, 0), 3) if is_marked else 0), stress.width_of(n_across), False


def _number(text: str | None) -> int | None:
    """Return the largest whole number of a value such as ``2`` or ``2;3``, None if there is none."""
    found = [float(each) for each in _NUMBER.findall(text or "")]
    return int(min(max(found), 99.0)) if found and max(found) >= 1 else None


def _facility(tags: Mapping[str, str], direction: str, oneway: str | None, *, is_left_hand: bool) -> int | None:
    """Return the best lane or track for a direction, None if there is none."""
    near = "left" if (direction == "forward") == is_left_hand else "right"
    against = frozenset({"-1", "reverse"} if direction == "forward" else {"yes", "1", "true"})
    found = []
    for side in _SIDES:
        key = f"cycleway{side}"
        value = tags.get(key, "")
        if value not in _TRACKS | _LANES:
            continue
        way = tags.get(f"{key}:oneway", "")
        is_opposite = value.startswith("opposite")
        if oneway is None or oneway == direction:
            # Without a direction of its own, a lane is for the side that it is on, or the only direction.
            is_ours = not is_opposite and (side in ("", ":both", f":{near}") or oneway is not None)
            is_ours = way == "no" or (is_ours and way not in against) or _is_along(way, direction)
        else:
            is_ours = is_opposite or way == "no" or _is_along(way, direction)
        if is_ours:
            found.append(_kind_of(tags, key, value, side, near))
    best = (stress.TRACK, stress.WIDE_LANE, stress.WIDE_LANE_BY_PARKING, stress.LANE, stress.LANE_BY_PARKING)
    return next((kind for kind in best if kind in found), None)


def _is_along(way: str, direction: str) -> bool:
    """Return whether the one-way of a lane is in a direction of the street."""
    return way in (_ONE_WAY_BACK if direction == "backward" else _ONE_WAY)


def _kind_of(tags: Mapping[str, str], key: str, value: str, side: str, near: str) -> int:
    """Return the kind of a lane or track."""
    separations = (tags.get(f"{key}:separation{edge}", "") for edge in ("", ":left", ":right", ":both"))
    if value in _TRACKS or any(part in _SEPARATED for text in separations for part in text.split(";")):
        return stress.TRACK
    width = _metres(tags.get(f"{key}:width")) or 0.0
    beside = side[1:] if side in (":left", ":right") else near
    parked = (tags.get(f"parking:{lane}{place}", "no") for lane in ("", "lane:") for place in (beside, "both"))
    if any(each not in _NOT_PARKED for each in parked):
        return stress.WIDE_LANE_BY_PARKING if width >= _WIDE_BY_PARKING_M else stress.LANE_BY_PARKING
    return stress.WIDE_LANE if width >= _WIDE_M else stress.LANE


def _metres(text: str | None) -> float | None:
    """Return a width in metres."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:m)?", (text or "").strip())
    return float(match[1]) if match else None
