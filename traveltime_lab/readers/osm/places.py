"""Read names and addresses from an OpenStreetMap file: places, shops, stations, houses, but not streets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import osmium
import pandas as pd

from traveltime_lab._arrays import FloatArray, Int64Array
from traveltime_lab.readers.osm.extract import NodePositions, OsmFile, Relation
from traveltime_lab.readers.osm.opl import parse_tags
from traveltime_lab.streets.tables import places_frame

#: Keys that make a named object a place, in order of precedence (https://wiki.openstreetmap.org/wiki/Map_features).
KIND_KEYS = (
    "place", "amenity", "shop", "tourism", "leisure", "historic", "aeroway", "railway", "public_transport",
    "healthcare", "office", "craft", "natural", "man_made", "landuse", "building", "highway",
)  # fmt: skip
#: Values of these keys that are places. For the other keys, all values but "no" are.
_VALUES: dict[str, frozenset[str]] = {
    "railway": frozenset({"station", "halt", "tram_stop", "subway_entrance"}),
    "public_transport": frozenset({"station"}),
    "highway": frozenset({"bus_stop", "services", "rest_area"}),
    "natural": frozenset({"peak", "beach", "bay", "cape", "water", "wood", "volcano", "spring", "cave_entrance"}),
}
_ADDRESS_KEYS = ("addr:housenumber", "addr:housename")
#: Only objects with one of these keys are read.
NAME_KEYS = ("name", *_ADDRESS_KEYS)

_OTHER_NAMES = ("name:en", "int_name", "alt_name", "official_name", "short_name", "loc_name", "old_name")
#: Columns of the table of places and the tags that they are read from, in order of precedence.
_ADDRESS = {
    "house_number": ("addr:housenumber", "addr:housename"),
    "street": ("addr:street", "addr:place"),
    "neighbourhood": ("addr:neighbourhood", "addr:suburb"),
    "district": ("addr:district", "addr:city_district"),
    "city": ("addr:city",),
    "county": ("addr:county",),
    "region": ("addr:state", "addr:province"),
    "postcode": ("addr:postcode", "postal_code"),
    "country": ("addr:country",),
}


class Places(NamedTuple):
    """Table of places (columns of `traveltime_lab.streets.tables.PLACE_DTYPES`), and counts of dropped objects."""

    table: pd.DataFrame
    report: dict[str, int]


def is_place(tags: Mapping[str, str]) -> bool:
    """Return whether tags give an address, or a name to an object of one of `KIND_KEYS`."""
    return any(key in tags for key in _ADDRESS_KEYS) or ("name" in tags and kind_of(tags) is not None)


def kind_of(tags: Mapping[str, str]) -> str | None:
    """Return the kind of an object as ``key=value``, None if it has none of `KIND_KEYS`."""
    if "name" not in tags:
        return "place=house" if any(key in tags for key in _ADDRESS_KEYS) else None
    for key in KIND_KEYS:
        value = tags.get(key, "no").partition(";")[0]
        if value != "no" and value in _VALUES.get(key, (value,)):
            return f"{key}={value}"
    return "place=house" if any(key in tags for key in _ADDRESS_KEYS) else None


def read_places(
    file: OsmFile,
    nodes: Iterable[tuple[int, Mapping[str, str]]],
    multipolygons: Sequence[Relation],
    positions: NodePositions,
) -> Places:
    """
    Return the places of a file.

    Parameters
    ----------
    file : OsmFile
        File with the ways.
    nodes : iterable of (int, mapping)
        Id and tags of the nodes for which `is_place` is True.
    multipolygons : sequence of Relation
        Multipolygon relations of the file, named or not.
    positions : NodePositions
        Positions of the nodes.

    Returns
    -------
    Places
        Nodes first, then ways, then relations. Ways and relations get the centre of their bounding box; those without
        a node in the file, or across the 180th meridian, are dropped and counted.
    """
    report: Counter[str] = Counter()
    rows: list[dict[str, Any]] = []
    boxes: list[FloatArray] = []

    kept = list(nodes)
    at = positions.find(np.array([osm_id for osm_id, _ in kept], np.int64))
    for (osm_id, tags), idx in zip(kept, at.tolist(), strict=True):
        if idx >= 0:
            rows.append(_row("n", osm_id, tags))
            boxes.append(np.array([positions.lng[idx], positions.lat[idx]] * 2))
    report["place_nodes"] = len(rows)

    ways = file.ways(osmium.filter.KeyFilter(*NAME_KEYS), osmium.filter.KeyFilter(*KIND_KEYS[:-1], *_ADDRESS_KEYS))
    refs = positions.find(ways.refs)
    for n, text in enumerate(ways.tags):
        tags = parse_tags(text)
        if is_place(tags) and "highway" not in tags and "addr:interpolation" not in tags:
            box = _box(refs[ways.indptr[n] : ways.indptr[n + 1]], positions)
            if box is None:
                report["places_dropped"] += 1
            else:
                rows.append(_row("w", int(ways.osm_id[n]), tags))
                boxes.append(box)
                report["place_ways"] += 1

    areas = [relation for relation in multipolygons if is_place(relation.tags) and "highway" not in relation.tags]
    ids = {ref for relation in areas for letter, ref, role in relation.members if letter == "w" and role != "inner"}
    if ids:
        members = file.ways_by_id(ids)
        refs = positions.find(members.refs)
        row_of = {way: n for n, way in enumerate(members.osm_id.tolist())}
        for relation in areas:
            found = [row_of[ref] for letter, ref, role in relation.members if letter == "w" and ref in row_of]
            parts = [refs[members.indptr[n] : members.indptr[n + 1]] for n in found]
            box = _box(np.concatenate(parts), positions) if parts else None
            if box is None:
                report["places_dropped"] += 1
            else:
                rows.append(_row("r", relation.osm_id, relation.tags))
                boxes.append(box)
                report["place_relations"] += 1
    corners = np.array(boxes).reshape(-1, 4)
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    columns |= dict(zip(("west", "south", "east", "north"), corners.T, strict=True))
    columns |= {"lng": (corners[:, 0] + corners[:, 2]) / 2.0, "lat": (corners[:, 1] + corners[:, 3]) / 2.0}
    return Places(places_frame(columns), dict(report))


def _row(osm_type: str, osm_id: int, tags: Mapping[str, str]) -> dict[str, Any]:
    """Return the columns of a place that come from its tags."""
    name = tags.get("name", "")
    others = [tags[key] for key in _OTHER_NAMES if tags.get(key, name) != name]
    row: dict[str, Any] = {
        "name": name,
        "other_names": ";".join(dict.fromkeys(others)),
        "kind": kind_of(tags) or "place=house",
        "osm_type": osm_type,
        "osm_id": osm_id,
        "population": _population(tags.get("population", "")),
    }
    for column, keys in _ADDRESS.items():
        row[column] = next((tags[key] for key in keys if tags.get(key)), "")
    return row


def _population(text: str) -> int:
    """Return the number in a population tag, 0 if there is none."""
    digits = text.replace(" ", "").replace(",", "").replace(".", "")
    return min(int(digits), 10**10) if digits.isdecimal() and len(digits) < 15 else 0


def _box(nodes: Int64Array, positions: NodePositions) -> FloatArray | None:
    """Return west, south, east, north of the nodes in the file; None if there are none or they cross 180 degrees."""
    nodes = nodes[nodes >= 0]
    if not nodes.size:
        return None
    lng, lat = positions.lng[nodes], positions.lat[nodes]
    box = np.array([lng.min(), lat.min(), lng.max(), lat.max()])
    return None if box[2] - box[0] > 180.0 else box
