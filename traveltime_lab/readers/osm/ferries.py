"""Find the ways of ferries that have their tags from a relation, and the durations of crossings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from traveltime_lab.readers.osm.access_tags import ACCESS_KEYS
from traveltime_lab.readers.osm.edges import no_ways
from traveltime_lab.readers.osm.extract import OsmFile, Relation, Ways
from traveltime_lab.readers.osm.opl import encode, parse_tags
from traveltime_lab.readers.osm.tag_values import parse_duration_s

#: Keys that the ways of a ferry relation take from the relation if they do not have them.
_FERRY_KEYS = frozenset({"route", "name", "ref", "toll", "toll:motorcar", "toll:motor_vehicle", *ACCESS_KEYS})
#: Members of a ferry relation with one of these keys are objects on the shore, not part of the crossing.
_SHORE_KEYS = frozenset(
    {"aeroway", "amenity", "area", "barrier", "boundary", "building", "landuse", "leisure", "natural"}
)
_SHORE_ROLES = ("platform", "stop", "terminal")


def _crossings_of(relation: Relation) -> dict[int, str]:
    """Return the ways of a ferry relation with their roles, without objects on the shore."""
    return {ref: role for letter, ref, role in relation.members if letter == "w" and not role.startswith(_SHORE_ROLES)}


def untagged_ferries(file: OsmFile, relations: Sequence[Relation], *, known: set[int]) -> tuple[Ways, list[int]]:
    """
    Return the ways that are streets only as members of a ferry relation, with its tags, and its other members.

    Tags of a way take precedence over those of the relation.
    """
    relation_of: dict[int, Relation] = {}
    for relation in relations:
        for way in _crossings_of(relation):
            if way not in known:
                relation_of.setdefault(way, relation)
    if not relation_of:
        return no_ways(), []
    found = file.ways_by_id(relation_of)
    rows, tags = [], []
    for row, way in enumerate(found.osm_id.tolist()):
        own = parse_tags(found.tags[row])
        if _SHORE_KEYS.isdisjoint(own):
            relation = relation_of[way]
            merged = {key: value for key, value in relation.tags.items() if key in _FERRY_KEYS} | own
            one_way = {"forward": "yes", "backward": "-1"}.get(_crossings_of(relation)[way])
            if one_way:
                merged.setdefault("oneway", one_way)
            rows.append(row)
            tags.append(",".join(f"{key}={encode(value)}" for key, value in merged.items()))
    kept = found.rows(np.array(rows, np.int64))
    others = np.delete(found.osm_id, rows).tolist()
    return Ways(kept.osm_id, tags, kept.indptr, kept.refs), others


def timed_ferries(
    ferries: dict[int, tuple[int, dict[str, str]]], relations: Sequence[Relation], *, in_file: set[int]
) -> list[tuple[int, dict[str, str], list[int]]]:
    """
    Return the ferries that have a duration, as `timed_ferries` of the streets in `traveltime_lab.readers.osm.streets`.

    Parameters
    ----------
    ferries : dict
        Row and tags of each way.
    relations : sequence of Relation
        The ``duration`` of a relation covers all its ferry ways together, so it is used only if all are in the file.
    in_file : set of int
        Ids of the ways that were read.
    """
    timed = {way: (row, tags, [row]) for way, (row, tags) in ferries.items() if parse_duration_s(tags.get("duration"))}
    for relation in relations:
        duration = relation.tags.get("duration")
        # If a relation lists the ways of both directions, its duration is that of one direction.
        ways = [way for way, role in _crossings_of(relation).items() if role != "backward"]
        if not parse_duration_s(duration) or not in_file.issuperset(ways):
            continue
        rows = [ferries[way][0] for way in ways if way in ferries]
        for way in _crossings_of(relation):
            if way in ferries and way not in timed:
                row, tags = ferries[way]
                timed[way] = row, {**tags, "duration": str(duration)}, rows
    return list(timed.values())
