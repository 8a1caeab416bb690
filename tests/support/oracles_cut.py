"""
Slow, obviously right twins of `build_network(bounds=...)`: files that are cut before they are read.

The rules are those of its docstring, one object at a time, with osmium's own objects and the csv module.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import osmium

from traveltime_lab.readers.osm.water_tags import is_water

Inside = Callable[[float, float], bool]
Box = tuple[float, float, float, float]


def in_box(box: Box) -> Inside:
    """Return a function that says whether a point is in a box or on its border."""
    west, south, east, north = box
    return lambda lng, lat: west <= lng <= east and south <= lat <= north


def cut_osm(source: Path, target: Path, inside: Inside, box: Box) -> Path:
    """Write what a region has of a file that has each object once."""
    nodes: set[int] = set()
    ways: dict[int, list[int]] = {}
    relations: dict[int, list[tuple[str, int]]] = {}
    water: set[int] = set()
    for o in osmium.FileProcessor(str(source)):
        if o.is_node():
            if o.location.valid() and inside(o.location.lon, o.location.lat):
                nodes.add(o.id)
        elif o.is_way():
            ways[o.id] = [node.ref for node in o.nodes]
        else:
            relations[o.id] = [(member.type, member.ref) for member in o.members]
            if o.tags.get("type") == "multipolygon" and is_water(dict(o.tags)):
                water.add(o.id)
    kept_ways = {way for way, refs in ways.items() if not nodes.isdisjoint(refs)}
    hit = {*(("n", node) for node in nodes), *(("w", way) for way in kept_ways)}
    kept_relations = {relation for relation, members in relations.items() if not hit.isdisjoint(members)}
    for relation in kept_relations & water:
        kept_ways |= {ref for kind, ref in relations[relation] if kind == "w" and ref in ways}
    kept_nodes = nodes.union(*(ways[way] for way in kept_ways))
    with osmium.SimpleWriter(str(target), header=_header(source, box), overwrite=True) as writer:
        for o in osmium.FileProcessor(str(source)):
            if o.id in (kept_nodes if o.is_node() else kept_ways if o.is_way() else kept_relations):
                writer.add(o)
    return target


def _header(source: Path, box: Box) -> osmium.io.Header:
    """Return the header of a cut: that of the file, with the part of the box that the file has."""
    own = osmium.io.Reader(str(source), osmium.osm.NOTHING).header()
    header = osmium.io.Header()
    for name in ("osmosis_replication_timestamp", "timestamp"):
        if own.get(name):
            header.set(name, own.get(name))
    west, south, east, north = box
    if own.box().valid():
        low, high = own.box().bottom_left, own.box().top_right
        west, south = max(west, low.lon), max(south, low.lat)
        east, north = min(east, high.lon), min(north, high.lat)
    header.add_box(osmium.osm.Box(west, south, east, north))
    return header


def cut_gtfs(source: Path, target: Path, inside: Inside) -> Path:
    """Write what a region has of a feed whose stop times all have times."""
    with zipfile.ZipFile(source) as feed:
        tables = {name: _rows(feed.read(name)) for name in feed.namelist() if name.endswith(".txt")}
    stops = {row["stop_id"]: row for row in tables["stops.txt"]}
    kept = {each for each, row in stops.items() if inside(float(row["stop_lon"]), float(row["stop_lat"]))}
    first_of = {row["trip_id"]: row for row in _last_first(tables["stop_times.txt"])}
    tables["stop_times.txt"] = [row for row in tables["stop_times.txt"] if row["stop_id"] in kept]
    n_calls: dict[str, int] = {}
    for row in tables["stop_times.txt"]:
        n_calls[row["trip_id"]] = n_calls.get(row["trip_id"], 0) + 1
    trips = {trip for trip, n in n_calls.items() if n >= 2}
    for name in ("trips.txt", "stop_times.txt", "frequencies.txt"):
        tables[name] = [row for row in tables.get(name, []) if row["trip_id"] in trips]
    first_kept = {row["trip_id"]: row for row in _last_first(tables["stop_times.txt"])}
    for row in tables["frequencies.txt"]:
        later = _s(first_kept[row["trip_id"]]["departure_time"]) - _s(first_of[row["trip_id"]]["departure_time"])
        for column in ("start_time", "end_time"):
            minutes, seconds = divmod(_s(row[column]) + later, 60)
            row[column] = f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    for _ in range(2):
        kept |= {stops[each]["parent_station"] for each in kept if stops[each].get("parent_station") in stops}
    tables["stops.txt"] = [row for row in tables["stops.txt"] if row["stop_id"] in kept]
    tables["transfers.txt"] = [
        row for row in tables.get("transfers.txt", []) if {row["from_stop_id"], row["to_stop_id"]} <= kept
    ]
    with zipfile.ZipFile(target, "w") as feed:
        for name, rows in tables.items():
            if rows:
                text = io.StringIO()
                writer = csv.DictWriter(text, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
                feed.writestr(name, text.getvalue())
    return target


def _last_first(stop_times: list[dict[str, str]]) -> list[dict[str, str]]:
    return sorted(stop_times, key=lambda row: -int(row["stop_sequence"]))


def _s(time: str) -> int:
    hours, minutes, seconds = map(int, time.split(":"))
    return 3600 * hours + 60 * minutes + seconds


def _rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
