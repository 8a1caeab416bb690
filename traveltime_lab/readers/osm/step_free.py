"""
Obstacles for wheelchairs and prams, from the tags of OpenStreetMap ways and nodes.

Sources: "GraphHopper" is its WheelchairAccessParser (graphhopper/graphhopper, folder ``core``), and "wiki" the
OpenStreetMap wiki; "assumed" means that there is no source. ``wheelchair=yes`` says that wheelchairs pass, whatever
else is tagged; widths and slopes are numbers, to which the caps of a search apply.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from traveltime_lab.readers.osm import surfaces
from traveltime_lab.streets import step_free as facts

#: Tag keys of ways that `way_code` reads besides those of `traveltime_lab.readers.osm.tags.interpret`.
STEP_FREE_KEYS: Final[tuple[str, ...]] = (
    "wheelchair",
    "ramp:wheelchair",
    "step_count",
    "kerb",
    "kerb:height",
    "incline",
    "width",
    "est_width",
    "footway",
    "path",
    "crossing",
    "sac_scale",
    *surfaces.SURFACE_KEYS,
    *(f"{key}:width" for key in surfaces.SIDEWALKS),
    "step_free_code",
)
#: All keys that `way_code` reads.
KEYS: Final = frozenset(
    {*STEP_FREE_KEYS, "highway", "route", "conveying", "ramp", "cycleway", "surface", "smoothness", "tracktype"}
)
#: Tag keys that can make `node_code` return a number, and all that it reads.
NODE_KEYS: Final = ("barrier", "kerb", "wheelchair")
NODE_STEP_FREE_KEYS: Final = (
    *NODE_KEYS,
    "kerb:height",
    "highway",
    "maxwidth:physical",
    "opening",
    "maxwidth",
    "width",
    "est_width",
    "step_free_code",
)

_PASSES = frozenset({"yes", "designated", "official"})
#: GraphHopper: cobblestone, gravel, sand; the others are rougher or softer (assumed).
_ROUGH = frozenset(
    {"cobblestone", "gravel", "sand", "unhewn_cobblestone", "pebblestone", "mud", "rock", "rocks", "stepping_stones"}
    | {"snow", "ice", "woodchips", "grass", "salt", "shells"}
)
#: Firm and stable (assumed): openrouteservice passes flattened cobblestones, "sett", and better, by default.
_FIRM = frozenset(
    {"asphalt", "concrete", "concrete:plates", "concrete:lanes", "paved", "paving_stones", "sett", "bricks", "brick"}
    | {"wood", "metal", "compacted", "fine_gravel", "rubber", "tartan", "acrylic", "tiles", "chipseal", "plastic"}
    | {"cobblestone:flattened", "granite", "marble", "terrazzo", "glass", "carpet", "artificial_turf"}
)
#: GraphHopper, and wiki "Key:smoothness", which has wheelchairs up to "intermediate".
_SMOOTH = frozenset({"excellent", "good", "intermediate"})
_BUMPY = frozenset({"bad", "very_bad", "horrible", "very_horrible", "impassable"})
#: wiki "Key:tracktype"; that wheelchairs pass solid tracks only, and may pass the next grade, is assumed.
_SOFT_TRACKS = frozenset({"grade3", "grade4", "grade5"})
#: GraphHopper passes no way with sac_scale; strolling is the grade below its first (wiki).
_STROLLING = frozenset({"no", "strolling"})
_KERB_DOWN = frozenset({"lowered", "flush", "no", "none"})
#: GraphHopper, maxKerbHeightCm; wiki "Key:kerb": lowered ones have about 3 cm.
_HIGHEST_KERB_M = 0.03

_BARRIERS: Final = {
    # GraphHopper: closed to wheelchairs.
    "stile": facts.STILE,
    "horse_stile": facts.STILE,
    "kissing_gate": facts.KISSING_GATE,
    "turnstile": facts.TURNSTILE,
    "full-height_turnstile": facts.TURNSTILE,
    # Assumed.
    "step": facts.STEP,
    "steps": facts.STEP,
    "log": facts.BARRIER,
    "debris": facts.BARRIER,
    "handrail": facts.BARRIER,
    "guard_rail": facts.BARRIER,
    "ditch": facts.BARRIER,
    "fence": facts.BARRIER,
    "wall": facts.BARRIER,
    "hedge": facts.BARRIER,
}
#: Barriers that wheelchairs pass or not by their width; one without a width is not known.
_BY_WIDTH: Final = {
    "cycle_barrier": facts.CYCLE_BARRIER,
    "motorcycle_barrier": facts.CYCLE_BARRIER,
    "bollard": facts.BOLLARD,
    "block": facts.BARRIER,
    "planter": facts.BARRIER,
    "jersey_barrier": facts.BARRIER,
    "chain": facts.BARRIER,
    "rope": facts.BARRIER,
    "cattle_grid": facts.BARRIER,
    "spikes": facts.BARRIER,
    "yes": facts.BARRIER,
    "gate": facts.GATE,
    "lift_gate": facts.GATE,
    "swing_gate": facts.GATE,
    "sliding_gate": facts.GATE,
    "wicket_gate": facts.GATE,
    "hampshire_gate": facts.GATE,
    "bump_gate": facts.GATE,
    "door": facts.GATE,
}
#: Barriers whose ``width`` is that of the passage. That of bollards, blocks and others is of the object (assumed).
_OPENINGS: Final = frozenset({facts.GATE, facts.CYCLE_BARRIER})
#: Values of highway of nodes at which wheelchair=no is about passing there, and not about a stop or a shop.
_PASSAGES = frozenset({"crossing", "elevator", "steps"})

_NUMBER = r"(\d+(?:[.,]\d+)?)"
_METRES = re.compile(rf"{_NUMBER}\s*(m|cm|mm)?")
_FEET = re.compile(rf"(?:{_NUMBER}\s*(?:'|ft))?\s*(?:{_NUMBER}\s*(?:\"|''|in))?")
_PERCENT = re.compile(rf"[-+]?\s*{_NUMBER}\s*(%|°)?")
_RATIO = re.compile(rf"[-+]?\s*{_NUMBER}\s*:\s*{_NUMBER}")


def way_code(tags: Mapping[str, str]) -> int:
    """
    Return the number of a way for ``edge_step_free``.

    Parameters
    ----------
    tags : mapping of str to str
        Tags of the way.

    Notes
    -----
    ``step_free_code`` is the number itself, as graphs have it that a network was exported to.
    """
    return _way_code(tuple((key, value) for key, value in tags.items() if key in KEYS))


@lru_cache(maxsize=65_536)
def _way_code(known: tuple[tuple[str, str], ...]) -> int:
    tags = dict(known)
    given = tags.get("step_free_code", "")
    if given.isdecimal() and int(given) < 2**32:
        return int(given)
    highway = tags.get("highway", "")
    says = tags.get("wheelchair", "")
    flags = facts.CROSSING if _is_crossing(tags) else 0
    incline = None if highway == "steps" else parse_incline_percent(tags.get("incline"))
    if says in _PASSES:
        pass
    elif says == "no":
        flags |= facts.REFUSED
    elif "highway" not in tags and tags.get("route") == "ferry":
        flags |= facts.UNKNOWN_ACCESS
    elif highway != "elevator":
        flags |= _steps(tags, highway) | _ground(tags, highway) | _kerb_flags(tags)
        if says == "limited":
            flags |= facts.UNKNOWN_ACCESS
        if tags.get("sac_scale", "no") not in _STROLLING:
            flags |= facts.TRAIL
        if "incline" in tags and incline is None and highway != "steps":
            flags |= facts.UNKNOWN_INCLINE
    return facts.edge_code(
        flags,
        # The wider sidewalk, before the carriageway.
        width_cm=max((_centimetres(tags, f"{each}:width") or 0 for each in surfaces.SIDEWALKS), default=0)
        or _centimetres(tags, "width", "est_width"),
        incline_tenths=None if incline is None else round(incline * 10.0),
    )


def _is_crossing(tags: Mapping[str, str]) -> bool:
    """Return whether a way for pedestrians crosses a carriageway."""
    return "crossing" in (tags.get("footway"), tags.get("path"), tags.get("cycleway"))


def _steps(tags: Mapping[str, str], highway: str) -> int:
    """Return what is known of steps."""
    if highway != "steps":
        count = tags.get("step_count", "0")
        has_steps = count not in ("0", "no") and tags.get("ramp:wheelchair") != "yes"
        return facts.STEPS if has_steps else 0
    if tags.get("conveying", "no") != "no":
        return facts.ESCALATOR
    ramp = tags.get("ramp:wheelchair", "")
    if ramp == "yes":
        return 0
    # A ramp of no kind may be for bicycles; one that is mapped as a way of its own is that way.
    return facts.UNKNOWN_ACCESS if not ramp and tags.get("ramp") == "yes" else facts.STEPS


def _ground(tags: Mapping[str, str], highway: str) -> int:
    """Return what is known of the surface."""
    # A ramp beside steps has a surface of its own.
    tags = {**tags, "surface": "paved", "smoothness": ""} if highway == "steps" else tags
    return surfaces.walked(tags, _firmness, (0, facts.UNKNOWN_SURFACE, facts.SURFACE, facts.SMOOTHNESS))


def _firmness(surface: str, smoothness: str, track: str) -> int:
    """Return what a surface means; its smoothness is about wheels, and counts where it is tagged."""
    if smoothness in _SMOOTH:
        return 0
    if smoothness in _BUMPY:
        return facts.SMOOTHNESS
    surface = "paving_stones" if surface.startswith("paving_stones:") else surface
    if surface in _ROUGH or surface in _FIRM:
        return facts.SURFACE if surface in _ROUGH else 0
    return facts.SURFACE if track in _SOFT_TRACKS else 0 if track == "grade1" else facts.UNKNOWN_SURFACE


def _kerb_flags(tags: Mapping[str, str]) -> int:
    """Return what is known of the kerbs of a crossing; those of other ways are along them, not across."""
    if not _is_crossing(tags):
        return 0
    known = _is_kerb_up(tags)
    if known is None:
        return facts.UNKNOWN_KERB if "kerb" in tags else 0
    return facts.KERB if known else 0


def _is_kerb_up(tags: Mapping[str, str]) -> bool | None:
    """Return whether a kerb is too high, None if that is not known."""
    height = parse_metres(tags.get("kerb:height")) or parse_metres(tags.get("kerb"))
    if height is not None:
        return height > _HIGHEST_KERB_M
    if tags.get("kerb:height", "").strip() in ("0", "0 m", "0 cm"):
        return False
    kerb = tags.get("kerb")
    return True if kerb == "raised" else False if kerb in _KERB_DOWN else None


def node_code(tags: Mapping[str, str]) -> int:
    """
    Return the number of a node for ``node_step_free``, 0 if nothing may be in the way.

    Parameters
    ----------
    tags : mapping of str to str
        Tags of the node.
    """
    given = tags.get("step_free_code", "")
    if given.isdecimal() and int(given) < 2**16:
        return int(given)
    says, barrier = tags.get("wheelchair", ""), tags.get("barrier", "")
    is_kerb = barrier == "kerb" or "kerb" in tags
    kind = _BARRIERS.get(barrier) or _BY_WIDTH.get(barrier) or (facts.KERB_KIND if is_kerb else 0)
    own = ("width", "est_width") if kind in _OPENINGS else ()
    width = _centimetres(tags, "maxwidth:physical", "opening", "maxwidth", *own)
    if says in _PASSES:
        return facts.node_code(kind, width_cm=width) if barrier in _BY_WIDTH else 0
    if says == "no":
        if tags.get("highway") == "elevator":
            return facts.node_code(facts.ELEVATOR, barred=True)
        is_passage = kind or barrier or tags.get("highway") in _PASSAGES
        return facts.node_code(kind or facts.NO_WHEELCHAIR, barred=True) if is_passage else 0
    if barrier in _BARRIERS:
        return facts.node_code(kind, barred=True)
    if barrier in _BY_WIDTH:
        return facts.node_code(kind, unknown=width is None, width_cm=width)
    if is_kerb:
        is_up = _is_kerb_up(tags)
        return facts.node_code(kind, barred=is_up is True, unknown=is_up is None)
    return facts.node_code(facts.BARRIER, unknown=says == "limited" and bool(barrier))


def _centimetres(tags: Mapping[str, str], *keys: str) -> int | None:
    """Return the first width that is known."""
    found = (metres for key in keys if (metres := parse_metres(tags.get(key))) is not None)
    return next((round(metres * 100.0) for metres in found), None)


def parse_metres(text: str | None) -> float | None:
    """
    Parse a width or a height.

    Parameters
    ----------
    text : str or None
        Value such as ``1.2``, ``1,2 m``, ``90 cm`` or ``2'6"``; a number without a unit is in metres (wiki).

    Returns
    -------
    float or None
        Metres; None if there is no positive number.
    """
    value = (text or "").strip().lower()
    if match := _METRES.fullmatch(value):
        metres = _float(match[1]) * {"cm": 0.01, "mm": 0.001}.get(match[2] or "", 1.0)
        return metres if 0.0 < metres < 1e4 else None
    if value and (match := _FEET.fullmatch(value)):
        metres = 0.3048 * (_float(match[1] or "0") + _float(match[2] or "0") / 12.0)
        return metres if 0.0 < metres < 1e4 else None
    return None


def parse_incline_percent(text: str | None) -> float | None:
    """
    Parse the value of an ``incline`` tag.

    Parameters
    ----------
    text : str or None
        Value such as ``8%``, ``-8 %``, ``5°`` or ``1:12``; a number without a unit is in per cent (assumed). ``up``,
        ``down`` and ``steep`` have no number.

    Returns
    -------
    float or None
        Per cent, 0 or more whatever the direction; None if there is no number.
    """
    value = (text or "").strip().lower()
    if match := _RATIO.fullmatch(value):
        rise, run = _float(match[1]), _float(match[2])
        return min(100.0 * rise / run, 1000.0) if run > 0.0 and math.isfinite(rise) and math.isfinite(run) else None
    if match := _PERCENT.fullmatch(value):
        number = _float(match[1])
        if match[2] == "°":
            return min(100.0 * math.tan(math.radians(number)), 1000.0) if number < 90.0 else None
        return min(number, 1000.0)
    return None


def _float(text: str) -> float:
    """Return a number whose decimal mark may be a comma."""
    return float(text.replace(",", "."))
