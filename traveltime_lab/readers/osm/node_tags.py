"""Interpret the tags of nodes: signals, signs, crossings and barriers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from traveltime_lab.readers.osm.access_tags import stated_access
from traveltime_lab.streets.tables import (
    ACCESS_NO,
    NODE_BLOCKS_CYCLING,
    NODE_BLOCKS_DRIVING,
    NODE_BLOCKS_WALKING,
    NODE_CROSSING,
    NODE_CROSSING_SIGNALS,
    NODE_GIVE_WAY,
    NODE_LEVEL_CROSSING,
    NODE_REFUGE,
    NODE_SIGNALS,
    NODE_STOP,
    NODE_TRAFFIC_CALMING,
)

#: Tag keys that can make `node_flags` return flags.
NODE_KEYS = ("highway", "barrier", "railway", "traffic_calming")

_NODE_HIGHWAY_FLAGS = {
    "traffic_signals": NODE_SIGNALS,
    "stop": NODE_STOP,
    "give_way": NODE_GIVE_WAY,
    "crossing": NODE_CROSSING,
}
# OSRM profiles/car.lua barrier_whitelist and barrier_penalties; checkpoint, coupure and open: assumed.
_BARRIERS_OPEN_TO_CARS = frozenset(
    {"no", "entrance", "cattle_grid", "border_control", "checkpoint", "toll_booth", "sally_port", "gate", "lift_gate"}
    | {"height_restrictor", "arch", "open", "coupure"}
)
_BARRIERS_CLOSED_TO_ALL = frozenset({"yes", "wall", "fence"})  # OSRM bicycle.lua, foot.lua
# GraphHopper BikeAccessParser: barriers that a bicycle does not fit through or over.
_BARRIERS_CLOSED_TO_BICYCLES = frozenset({"stile", "turnstile", "full-height_turnstile", "kissing_gate"})
_LOWEST_CAR_M = 2.0  # OSRM profiles/car.lua vehicle_height


def node_flags(tags: Mapping[str, str]) -> int:
    """
    Return the sum of the ``NODE_*`` flags of a node.

    Parameters
    ----------
    tags : mapping of str to str
        Tags of the node.

    Returns
    -------
    int
        Zero for a plain node.

    Notes
    -----
    The ``direction`` of signals, stop and give-way signs is ignored: the node is flagged for both directions. Access
    tags are read on barriers only. A private gate does not block, as in OSRM, because the way behind it has access tags
    of its own.
    """
    flags = _NODE_HIGHWAY_FLAGS.get(tags.get("highway", ""), 0)
    if tags.get("railway") == "level_crossing":
        flags |= NODE_LEVEL_CROSSING
    if tags.get("traffic_calming", "no") != "no":
        flags |= NODE_TRAFFIC_CALMING
    if flags & NODE_CROSSING:
        # wiki, "Key:crossing", "Key:crossing:signals" and "Key:crossing:island".
        if tags.get("crossing") == "traffic_signals" or tags.get("crossing:signals") == "yes":
            flags |= NODE_CROSSING_SIGNALS
        if tags.get("crossing") == "island" or tags.get("crossing:island") == "yes":
            flags |= NODE_REFUGE
    barrier = tags.get("barrier")
    if barrier is None:
        return flags
    blocks = {
        "walking": barrier in _BARRIERS_CLOSED_TO_ALL,
        "cycling": barrier in _BARRIERS_CLOSED_TO_ALL or barrier in _BARRIERS_CLOSED_TO_BICYCLES,
        "driving": _blocks_cars(barrier, tags),
    }
    bits = {"walking": NODE_BLOCKS_WALKING, "cycling": NODE_BLOCKS_CYCLING, "driving": NODE_BLOCKS_DRIVING}
    for mode, blocks_by_default in blocks.items():
        stated = stated_access(tags, mode)
        if blocks_by_default if stated is None else stated.meaning == ACCESS_NO:
            flags |= bits[mode]
    return flags


def _blocks_cars(barrier: str, tags: Mapping[str, str]) -> bool:
    if barrier == "height_restrictor":
        match = re.match(r"\d+(\.\d+)?", tags.get("maxheight", ""))
        return match is not None and float(match.group()) < _LOWEST_CAR_M
    if tags.get("bollard") == "rising":
        return False
    if barrier == "kerb" and (tags.get("kerb") in ("lowered", "flush") or tags.get("highway") == "crossing"):
        return False
    return barrier not in _BARRIERS_OPEN_TO_CARS
