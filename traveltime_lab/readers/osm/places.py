"""Read names and addresses from an OpenStreetMap file: places, shops, stations, houses, but not streets."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import osmium
import pandas as pd
import pyarrow as pa

from traveltime_lab._arrays import FloatArray, Int32Array
from traveltime_lab.readers.osm.extract import OsmFile, Relation
from traveltime_lab.readers.osm.nodes import NodePositions
from traveltime_lab.readers.osm.opl import parse_tags
from traveltime_lab.streets.tables import PLACE_DTYPES, places_frame

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
#: Rows of places, and ways, that are Python objects at the same time.
_AT_ONCE = 100_000
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


class PlaceRows:
    """The places that have been read so far, as columns: dictionaries would take several times the memory."""

    def __init__(self) -> None:
        self._nodes: list[tuple[int, Mapping[str, str]]] = []
        self._rows: list[dict[str, Any]] = []
        self._boxes = array("d")
        self._parts: dict[str, list[Any]] = {name: [] for name in PLACE_DTYPES}

    def __len__(self) -> int:
        return sum(map(len, self._parts["osm_id"])) + len(self._rows)

    def add(self, osm_type: str, osm_id: int, tags: Mapping[str, str], box: FloatArray) -> None:
        """Add a place with a bounding box: west, south, east and north."""
        self._rows.append(_row(osm_type, osm_id, tags))
        self._boxes.extend(box)
        if len(self._rows) >= _AT_ONCE:
            self._put_away()

    def add_node(self, file: OsmFile, osm_id: int, tags: Mapping[str, str]) -> None:
        """Add a node, if the file has its position."""
        self._nodes.append((osm_id, tags))
        if len(self._nodes) >= _AT_ONCE:
            self.place_nodes(file)

    def place_nodes(self, file: OsmFile) -> None:
        """Look up the positions of the nodes that have been added."""
        nodes, self._nodes = self._nodes, []
        ids = np.array([osm_id for osm_id, _ in nodes], np.int64)
        positions = file.positions_of(ids)
        for (osm_id, tags), idx in zip(nodes, positions.find(ids).tolist(), strict=True):
            if idx >= 0:
                self.add("n", osm_id, tags, np.array([positions.lng[idx], positions.lat[idx]] * 2))

    def table(self) -> pd.DataFrame:
        """Return the table of all places."""
        self._put_away()
        columns = {}
        for name in PLACE_DTYPES:
            parts = self._parts.pop(name)
            columns[name] = pa.concat_arrays(parts) if isinstance(parts[0], pa.Array) else np.concatenate(parts)
        return places_frame(columns)

    def _put_away(self) -> None:
        rows, self._rows = self._rows, []
        corners = np.array(self._boxes, np.float64).reshape(-1, 4)
        self._boxes = array("d")
        columns = dict(zip(("west", "south", "east", "north"), corners.T, strict=True))
        columns |= {"lng": (corners[:, 0] + corners[:, 2]) / 2.0, "lat": (corners[:, 1] + corners[:, 3]) / 2.0}
        for name, dtype in PLACE_DTYPES.items():
            values = columns[name] if name in columns else [row[name] for row in rows]
            is_text = dtype == "string"
            self._parts[name].append(pa.array(values, pa.large_string()) if is_text else np.asarray(values, dtype))


def read_places(file: OsmFile, nodes: PlaceRows, multipolygons: Sequence[Relation]) -> Places:
    """
    Return the places of a file.

    Parameters
    ----------
    file : OsmFile
        File with the ways, whose nodes have been read.
    nodes : PlaceRows
        The nodes for which `is_place` is True. The other places are added.
    multipolygons : sequence of Relation
        Multipolygon relations of the file, named or not.

    Returns
    -------
    Places
        Nodes first, then ways, then relations. Ways and relations get the centre of their bounding box; those without
        a node in the file, or across the 180th meridian, are dropped and counted.
    """
    report: Counter[str] = Counter()
    found = nodes
    found.place_nodes(file)
    report["place_nodes"] = len(found)

    filters = osmium.filter.KeyFilter(*NAME_KEYS), osmium.filter.KeyFilter(*KIND_KEYS[:-1], *_ADDRESS_KEYS)
    for ways in file.parts_of_ways(*filters, most=_AT_ONCE):
        positions = file.positions_of(ways.refs)
        refs = positions.find(ways.refs)
        for n, text in enumerate(ways.tags):
            tags = parse_tags(text)
            if is_place(tags) and "highway" not in tags and "addr:interpolation" not in tags:
                box = _box(refs[ways.indptr[n] : ways.indptr[n + 1]], positions)
                if box is None:
                    report["places_dropped"] += 1
                else:
                    found.add("w", int(ways.osm_id[n]), tags, box)
                    report["place_ways"] += 1

    areas = [relation for relation in multipolygons if is_place(relation.tags) and "highway" not in relation.tags]
    ids = {ref for relation in areas for letter, ref, role in relation.members if letter == "w" and role != "inner"}
    if ids:
        members = file.ways_by_id(ids)
        positions = file.positions_of(members.refs)
        refs = positions.find(members.refs)
        row_of = {way: n for n, way in enumerate(members.osm_id.tolist())}
        for relation in areas:
            rows = [row_of[ref] for letter, ref, role in relation.members if letter == "w" and ref in row_of]
            parts = [refs[members.indptr[n] : members.indptr[n + 1]] for n in rows]
            box = _box(np.concatenate(parts), positions) if parts else None
            if box is None:
                report["places_dropped"] += 1
            else:
                found.add("r", relation.osm_id, relation.tags, box)
                report["place_relations"] += 1
    return Places(found.table(), dict(report))


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


def _box(nodes: Int32Array, positions: NodePositions) -> FloatArray | None:
    """Return west, south, east, north of the nodes in the file; None if there are none or they cross 180 degrees."""
    nodes = nodes[nodes >= 0]
    if not nodes.size:
        return None
    lng, lat = positions.lng[nodes], positions.lat[nodes]
    box = np.array([lng.min(), lat.min(), lng.max(), lat.max()])
    return None if box[2] - box[0] > 180.0 else box
