"""
OpenStreetMap files as lists, and ways to write the same streets in another form.

A rewriting is a function from an `Extract` and a random generator to an `Extract` that describes the same streets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import osmium
from osmium.osm import mutable

Tags = dict[str, str]

#: Coordinates are whole ten millionths of a degree, as in the files.
DEGREE = 10_000_000


class Node(NamedTuple):
    """A node; coordinates are in units of 1e-7 degrees."""

    osm_id: int
    x: int
    y: int
    tags: Tags


class Way(NamedTuple):
    """A way."""

    osm_id: int
    refs: list[int]
    tags: Tags


class Relation(NamedTuple):
    """A relation; members are (type letter, id, role)."""

    osm_id: int
    members: list[tuple[str, int, str]]
    tags: Tags


@dataclass(frozen=True)
class Extract:
    """The objects of a file in its order, and the box of its header."""

    nodes: list[Node]
    ways: list[Way]
    relations: list[Relation]
    box: tuple[int, int, int, int] | None

    @property
    def street_ways(self) -> set[int]:
        """Ids of the ways that have a tag of streets."""
        return {way.osm_id for way in self.ways if {"highway", "route"} & way.tags.keys()}


def read_extract(path: str | Path) -> Extract:
    """Read a file."""
    nodes, ways, relations = [], [], []
    for item in osmium.FileProcessor(str(path)):
        tags = {tag.k: tag.v for tag in item.tags}
        if item.is_node():
            nodes.append(Node(item.id, item.location.x, item.location.y, tags))
        elif item.is_way():
            ways.append(Way(item.id, [node.ref for node in item.nodes], tags))
        elif item.is_relation():
            relations.append(Relation(item.id, [(m.type, m.ref, m.role) for m in item.members], tags))
    box = osmium.io.Reader(str(path), osmium.osm.NOTHING).header().box()
    corners = (box.bottom_left.x, box.bottom_left.y, box.top_right.x, box.top_right.y) if box.valid() else None
    return Extract(nodes, ways, relations, corners)


def write_extract(extract: Extract, path: Path, *, order: str = "nwr") -> Path:
    """Write a file whose format follows from its name; `order` is that of the types of objects."""
    header = osmium.io.Header()
    if extract.box:
        west, south, east, north = (value / DEGREE for value in extract.box)
        header.add_box(osmium.osm.Box(osmium.osm.Location(west, south), osmium.osm.Location(east, north)))
    writer = osmium.SimpleWriter(str(path), overwrite=True, header=header)
    for kind in order:
        if kind == "n":
            for node in extract.nodes:
                location = (node.x / DEGREE, node.y / DEGREE)
                writer.add_node(mutable.Node(id=node.osm_id, location=location, tags=node.tags, version=1))
        elif kind == "w":
            for way in extract.ways:
                writer.add_way(mutable.Way(id=way.osm_id, nodes=way.refs, tags=way.tags, version=1))
        else:
            for relation in extract.relations:
                writer.add_relation(
                    mutable.Relation(id=relation.osm_id, members=relation.members, tags=relation.tags, version=1)
                )
    writer.close()
    return path


# Numbers and order


def _renamed(extract: Extract, new: dict[str, dict[int, int]]) -> Extract:
    def member(kind: str, ref: int, role: str) -> tuple[str, int, str]:
        # Members outside of the file keep numbers that nothing in it has.
        return kind, new[kind].get(ref, 10**12 + ref), role

    return replace(
        extract,
        nodes=[node._replace(osm_id=new["n"][node.osm_id]) for node in extract.nodes],
        ways=[
            Way(new["w"][way.osm_id], [new["n"].get(ref, 10**12 + ref) for ref in way.refs], way.tags)
            for way in extract.ways
        ],
        relations=[
            Relation(new["r"][row.osm_id], [member(*m) for m in row.members], row.tags) for row in extract.relations
        ],
    )


def in_order(extract: Extract) -> Extract:
    """Return the objects sorted by their ids, as files usually are."""
    return replace(
        extract,
        nodes=sorted(extract.nodes, key=lambda node: node.osm_id),
        ways=sorted(extract.ways, key=lambda way: way.osm_id),
        relations=sorted(extract.relations, key=lambda relation: relation.osm_id),
    )


def renumbered(extract: Extract, random: Random) -> Extract:
    """Give all objects other ids in a random order, and sort the file by them."""
    new = {}
    for kind, objects in (("n", extract.nodes), ("w", extract.ways), ("r", extract.relations)):
        ids = [item.osm_id for item in objects]
        numbers = [7 + 3 * i for i in range(len(ids))]
        random.shuffle(numbers)
        new[kind] = dict(zip(ids, numbers, strict=True))
    return in_order(_renamed(extract, new))


def unsorted(extract: Extract, random: Random) -> Extract:
    """Shuffle the objects of each type."""
    rows: list[list[Any]] = [list(extract.nodes), list(extract.ways), list(extract.relations)]
    for objects in rows:
        random.shuffle(objects)
    return Extract(*rows, extract.box)


# Objects that do not matter


def without_others(extract: Extract, random: Random) -> Extract:
    """Leave out ways that are no streets, such as buildings, and the nodes that only they have."""
    keys = {"highway", "route", "railway", "public_transport", "man_made", "natural", "waterway", "water", "landuse"}
    member = {ref for row in extract.relations for kind, ref, _ in row.members if kind == "w"}
    ways = [way for way in extract.ways if keys & way.tags.keys() or way.osm_id in member]
    used = {ref for way in ways for ref in way.refs}
    return replace(extract, ways=ways, nodes=[node for node in extract.nodes if node.osm_id in used or node.tags])


def with_others(extract: Extract, random: Random) -> Extract:
    """Add buildings, power lines, loose nodes and relations of unknown types between the streets."""
    free = 10**10
    streets = [way for way in extract.ways if "highway" in way.tags]
    nodes = [node for node in extract.nodes if random.random() < 0.02]
    more = [Node(free + i, node.x + 1, node.y - 1, {}) for i, node in enumerate(nodes)]
    ways = [
        # A boundary along the nodes of a street, and a power line across nodes of several streets.
        *(Way(free + i, way.refs, {"boundary": "administrative"}) for i, way in enumerate(streets[:200])),
        *(Way(free + 1000 + i, [a.refs[0], b.refs[-1]], {"power": "line"})
          for i, (a, b) in enumerate(zip(streets[:100], streets[100:200], strict=False))),
        Way(free + 5000, [node.osm_id for node in more], {"highway": "proposed", "proposed": "primary"}),
    ]  # fmt: skip
    relations = [
        Relation(free + i, [("w", way.osm_id, "outer")], {"type": "boundary"}) for i, way in enumerate(streets[:50])
    ]
    return Extract(extract.nodes + more, ways + extract.ways, relations + extract.relations, extract.box)


def stuttered(extract: Extract, random: Random) -> Extract:
    """Repeat nodes of ways."""
    return replace(
        extract,
        ways=[
            way._replace(refs=[ref for ref in way.refs for _ in range(1 + (random.random() < 0.1))])
            for way in extract.ways
        ],
    )


# Directions and sides

_BACK = {"yes": "-1", "true": "-1", "1": "-1", "-1": "yes", "reverse": "yes"}
_SIDES = (("left", "right"), ("forward", "backward"))


def _swapped(word: str, one: str, other: str) -> str:
    return ":".join(other if part == one else one if part == other else part for part in word.split(":"))


def _turned_tags(tags: Tags) -> Tags:
    """Return the tags of a street that is drawn in the other direction."""
    # What is one-way without saying so goes along its nodes.
    is_implied = tags.get("junction") in ("roundabout", "circular") or tags.get("highway") in (
        "motorway",
        "motorway_link",
    )
    if is_implied and tags.get("oneway", "yes") not in ("no", "false", "0", "alternating", "reversible", *_BACK):
        tags = {**tags, "oneway": "yes"}
    if is_implied and "oneway" not in tags:
        tags = {**tags, "oneway": "yes"}
    found = {}
    for key, value in tags.items():
        if key == "oneway" or key.startswith("oneway:") or (key.startswith("cycleway") and key.endswith(":oneway")):
            value = _BACK.get(value, value)
        elif key == "conveying":
            value = {"forward": "backward", "backward": "forward"}.get(value, value)
        for one, other in _SIDES:
            key = _swapped(key, one, other)
        found[key] = value
    return found


def reversed_ways(extract: Extract, random: Random) -> Extract:
    """Draw half of the streets in the other direction."""
    turned = {way for way in extract.street_ways if random.random() < 0.5}
    return replace(
        extract,
        ways=[
            Way(way.osm_id, way.refs[::-1], _turned_tags(way.tags)) if way.osm_id in turned else way
            for way in extract.ways
        ],
    )


def mirrored(extract: Extract, random: Random) -> Extract:
    """Exchange east and west; traffic then keeps to the other side."""
    twice = mirror_of(extract)
    west, south, east, north = extract.box or (0, 0, 0, 0)

    def sides(tags: Tags) -> Tags:
        found = {_swapped(key, "left", "right"): value for key, value in tags.items()}
        if found.get("type", "").startswith("restriction"):
            # "no_left_turn" becomes "no_right_turn".
            words = {key: value.split("_") for key, value in found.items() if key.startswith("restriction")}
            found |= {
                key: "_".join({"left": "right", "right": "left"}.get(word, word) for word in parts)
                for key, parts in words.items()
            }
        return found

    return Extract(
        [node._replace(x=twice - node.x, tags=sides(node.tags)) for node in extract.nodes],
        # Land is to the left of coastlines, so these are drawn in the other direction.
        [
            Way(way.osm_id, way.refs[::-1] if way.tags.get("natural") == "coastline" else way.refs, sides(way.tags))
            for way in extract.ways
        ],
        [row._replace(tags=sides(row.tags)) for row in extract.relations],
        (twice - east, south, twice - west, north) if extract.box else None,
    )


def mirror_of(extract: Extract) -> int:
    """Return twice the longitude of the mirror in 1e-7 degrees: the middle of the nodes of streets."""
    streets = {ref for way in extract.ways if "highway" in way.tags for ref in way.refs}
    x = [node.x for node in extract.nodes if node.osm_id in streets]
    return min(x) + max(x)


Rewriting = Callable[[Extract, Random], Extract]


# Cuts and copies


def negative(extract: Extract, random: Random) -> Extract:
    """Give all objects negative ids, as editors do with new ones."""
    kinds = (("n", extract.nodes), ("w", extract.ways), ("r", extract.relations))
    return _renamed(extract, {kind: {item.osm_id: -item.osm_id for item in objects} for kind, objects in kinds})


def split(extract: Extract, random: Random) -> Extract:
    """
    Cut streets in two at a node in their middle; the parts have the tags of the whole.

    Streets that are closed, ferries (whose duration is that of the whole) and members of relations stay whole.
    """
    member = {ref for row in extract.relations for kind, ref, _ in row.members if kind == "w"}
    free = max(way.osm_id for way in extract.ways) + 1
    ways = []
    for way in extract.ways:
        is_whole = way.osm_id in member or way.refs[0] == way.refs[-1] or "duration" in way.tags
        if is_whole or "highway" not in way.tags or len(way.refs) < 3 or random.random() < 0.5:
            ways.append(way)
            continue
        at = random.randrange(1, len(way.refs) - 1)
        ways += [way._replace(refs=way.refs[: at + 1]), Way(free, way.refs[at:], way.tags)]
        free += 1
    return in_order(replace(extract, ways=ways))


def turned_rings(extract: Extract, random: Random) -> Extract:
    """Begin closed ways, such as roundabouts, squares and lakes, at another of their nodes."""
    ways = []
    for way in extract.ways:
        if len(way.refs) > 3 and way.refs[0] == way.refs[-1]:
            at = random.randrange(len(way.refs) - 1)
            way = way._replace(refs=[*way.refs[at:-1], *way.refs[:at], way.refs[at]])
        ways.append(way)
    return replace(extract, ways=ways)


def doubled(extract: Extract, random: Random) -> Extract:
    """Repeat a third of the objects, as files put together from overlapping extracts do."""

    def twice(objects: list[Any]) -> list[Any]:
        return [item for item in objects for _ in range(1 + (random.random() < 0.33))]

    return Extract(twice(extract.nodes), twice(extract.ways), twice(extract.relations), extract.box)


def put_together(extract: Extract, random: Random) -> Extract:
    """Put all objects after all objects, in the same order again."""
    return Extract(extract.nodes * 2, extract.ways * 2, extract.relations * 2, extract.box)


def with_far_city(extract: Extract, random: Random) -> Extract:
    """Add two streets five degrees to the east, and a box around everything."""
    free = 10**11
    streets = {ref for way in extract.ways if "highway" in way.tags for ref in way.refs}
    x = max(node.x for node in extract.nodes if node.osm_id in streets) + 5 * DEGREE
    y = next(node.y for node in extract.nodes if node.osm_id in streets)
    nodes = [Node(free + i, x + 10_000 * i, y, {}) for i in range(3)]
    ways = [Way(free + i, [free + i, free + i + 1], {"highway": "residential"}) for i in range(2)]
    box = extract.box and (extract.box[0], extract.box[1], x + 30_000, extract.box[3])
    return Extract(extract.nodes + nodes, extract.ways + ways, extract.relations, box)
