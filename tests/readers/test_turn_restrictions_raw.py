"""
What the restriction relations of a file demand, worked out by a second reader, against what the library made of them.

The second reader knows pyosmium, dictionaries and nothing of the library: it finds the turn that a relation names as
three points (before the via node, the via node, after it) by walking the raw node lists of its ways, and the hours of
the week at which it holds. Relations that
demand nothing of a car are counted by reason, and the counts are written out here, so that none is left out silently.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import osmium
import pytest

from traveltime_lab.readers.osm.streets import read_osm
from traveltime_lab.streets.tables import StreetTables

Place = tuple[float, float]
#: Whether it is an ``only_`` restriction, the points of the turn, and the minutes of the week between which it holds by
#: turns; none if it always does.
Turn = tuple[bool, tuple[Place, ...], tuple[int, ...]]

NOT_FOR_CARS = {"construction", "corridor", "cycleway", "footway", "path", "pedestrian", "steps"}


class RawFile(NamedTuple):
    """Nodes, ways and relations as they are in a file."""

    places: dict[int, Place]
    ways: dict[int, tuple[list[int], dict[str, str]]]
    relations: list[tuple[int, dict[str, str], list[tuple[str, int, str]]]]


def read_raw(path: Path) -> RawFile:
    raw = RawFile({}, {}, [])
    for item in osmium.FileProcessor(str(path)):
        if item.is_node():
            raw.places[item.id] = item.location.lon, item.location.lat
        elif item.is_way():
            raw.ways[item.id] = [node.ref for node in item.nodes], dict(item.tags)
        elif item.is_relation():
            raw.relations.append((item.id, dict(item.tags), [(m.type, m.ref, m.role) for m in item.members]))
    return raw


def is_closed(tags: dict[str, str]) -> bool:
    """Return whether no car may use a way at all; the files have no further ways of saying so."""
    own = [tags[key] for key in ("motorcar", "motor_vehicle", "vehicle", "access") if key in tags]
    return tags.get("highway") in NOT_FOR_CARS or own[:1] == ["no"]


def neighbours(raw: RawFile, way: int, node: int, *, before: bool) -> set[int]:
    """Return the nodes from which a car comes to a node along a way, or to which it goes on."""
    refs, tags = raw.ways[way]
    is_one_way = tags.get("oneway") in ("yes", "true", "1") or tags.get("junction") == "roundabout"
    steps = list(pairwise(refs))
    if not is_one_way:
        steps += [(b, a) for a, b in steps]
    if tags.get("oneway") == "-1":
        steps = [(b, a) for a, b in pairwise(refs)]
    return {a for a, b in steps if b == node} if before else {b for a, b in steps if a == node}


def hours(tags: dict[str, str]) -> tuple[int, ...]:
    """Return the minutes of ``hour_on`` and the like, which are the same on each of some weekdays in these files."""
    if "hour_on" not in tags:
        return ()
    first, last = ("MTWTFSS".index(tags[key][0]) for key in ("day_on", "day_off"))
    begin, end = (60 * int(h) + int(m) for h, m in (tags[key].split(":") for key in ("hour_on", "hour_off")))
    return tuple(1440 * day + minute for day in range(first, last + 1) for minute in (begin, end))


def demanded_turns(raw: RawFile) -> tuple[set[Turn], Counter[str]]:
    """Return the turns at nodes that relations name, and how many relations demand something else, by reason."""
    turns: set[Turn] = set()
    others: Counter[str] = Counter()
    for _, tags, members in raw.relations:
        if tags.get("type") != "restriction":
            continue
        sources, vias, targets = ([(m[0], m[1]) for m in members if m[2] == role] for role in ("from", "via", "to"))
        ways = [ref for letter, ref in sources + vias + targets if letter == "w"]
        if {"motorcar", "motor_vehicle"} & set(tags.get("except", "").split(";")):
            others["not for cars"] += 1
        elif not sources or not targets or not vias:
            others["without from, to or via"] += 1
        elif not set(ways) <= set(raw.ways):
            others["a way is outside of the file"] += 1
        elif any(is_closed(raw.ways[way][1]) for way in ways):
            others["a way is closed to cars"] += 1
        elif vias[0][0] == "w":
            others["via ways"] += 1
        else:
            via = vias[0][1]
            found = [
                (before, via, after)
                for _, source in sources
                for _, target in targets
                for before in neighbours(raw, source, via, before=True)
                for after in neighbours(raw, target, via, before=False)
                if (before == after) == (source == target)  # back along the same way, or not back at all
            ]
            if len(found) == 1:
                line = tuple(raw.places[node] for node in found[0])
                turns.add((tags["restriction"].startswith("only_"), line, hours(tags)))
            else:
                others["ways do not meet at the via node"] += 1
    return turns, others


def mapped_turns(tables: StreetTables) -> tuple[set[Turn], int]:
    """Return the turns at nodes that the library forbids or prescribes, and how many longer paths."""

    def line(directed: int) -> list[Place]:
        row = slice(*tables.coord_indptr[directed // 2 : directed // 2 + 2])
        places = list(zip(tables.coord_lng[row].tolist(), tables.coord_lat[row].tolist(), strict=True))
        return places[::-1] if directed % 2 else places

    held = {
        row: tuple(tables.timed_minutes[slice(*tables.timed_indptr[k : k + 2])].tolist())
        for k, row in enumerate(tables.timed_restrictions.tolist())
    }
    turns: set[Turn] = set()
    n_longer = 0
    for i, is_only in enumerate(tables.restriction_only.tolist()):
        edges = tables.restriction_edges[slice(*tables.restriction_indptr[i : i + 2])].tolist()
        if len(edges) > 2:
            n_longer += 1
            continue
        first, last = map(line, edges)
        assert first[-1] == last[0]
        turns.add((is_only, (first[-2], first[-1], last[1]), held.get(i, ())))
    return turns, n_longer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_turns", "others"),
    [
        (
            "edge_cases/no_left_turn.osm.pbf",
            143,
            {
                "without from, to or via": 6,
                "a way is outside of the file": 4,
                "ways do not meet at the via node": 3,
                "a way is closed to cars": 1,
                "not for cars": 1,
            },
        ),
        (
            "edge_cases/via_way_restriction.osm.pbf",
            33,
            {"via ways": 1, "a way is closed to cars": 1, "a way is outside of the file": 1},
        ),
        # Two of its four relations say the same.
        ("edge_cases/fiji_ferry_antimeridian.osm.pbf", 3, {}),
        ("monaco/osm.pbf", 27, {}),
    ],
)
def test_every_relation_is_mapped_or_demands_nothing(shared_data, name, n_turns, others):
    raw = read_raw(shared_data / name)
    demanded, excused = demanded_turns(raw)
    assert (len(demanded), dict(excused)) == (n_turns, others)
    mapped, n_longer = mapped_turns(read_osm(shared_data / name))
    assert mapped == demanded
    assert n_longer == others.get("via ways", 0)


def test_the_path_via_ways_is_that_of_the_relation(shared_data):
    """The one relation via ways of the file: all one-way, so that their nodes in order are the forbidden path."""
    path = shared_data / "edge_cases" / "via_way_restriction.osm.pbf"
    raw = read_raw(path)
    ((tags, members),) = [
        (tags, members) for _, tags, members in raw.relations if ("w", "via") in {(m[0], m[2]) for m in members}
    ]
    assert tags["restriction"] == "no_u_turn"
    assert [role for _, _, role in members] == ["from", "via", "via", "to"]
    ways = [ref for _, ref, _ in members]
    assert all(raw.ways[way][1]["oneway"] == "yes" for way in ways)
    joints = [raw.ways[way][0][-1] for way in ways[:-1]]
    assert joints == [raw.ways[way][0][0] for way in ways[1:]]
    tables = read_osm(path)
    (row,) = (tables.restriction_indptr[1:] - tables.restriction_indptr[:-1] > 2).nonzero()[0].tolist()
    edges = tables.restriction_edges[slice(*tables.restriction_indptr[row : row + 2])]
    assert not tables.restriction_only[row]
    assert not (edges % 2).any(), "all along the one-ways"
    assert list(dict.fromkeys(tables.edge_way_id[edges // 2].tolist())) == ways
    ends = tables.node_osm_id[tables.edge_to[edges // 2]].tolist()
    assert [end for end in ends if end in joints] == joints


#: Access to the ways around Delft station by their tags: whether people walk, cycle and drive (forward, backward).
#: Cyclists may push where people walk, but not on steps nor on the busway, which is open to pedestrians alone.
STATION = {
    "highway=footway": ("both", "both", "none"),
    "highway=pedestrian": ("both", "both", "none"),
    "highway=steps": ("both", "none", "none"),
    "highway=cycleway oneway=no": ("both", "both", "none"),
    "highway=cycleway oneway=yes": ("both", "forward", "none"),
    "foot=yes highway=busway oneway=yes": ("both", "none", "none"),
    "highway=residential oneway=yes oneway:bicycle=no": ("both", "both", "forward"),
    "highway=unclassified oneway=yes": ("both", "forward", "forward"),
    "railway=platform": ("both", "both", "none"),
}


def test_access_around_a_station(shared_data):
    path = shared_data / "edge_cases" / "delft_station.osm.pbf"
    tables = read_osm(path)
    ways = read_raw(path).ways
    keys = {pair.partition("=")[0] for text in STATION for pair in text.split()}
    seen = set()
    for way, use_idx in zip(tables.edge_way_id.tolist(), tables.edge_use.tolist(), strict=True):
        tags = ways[way][1]
        text = " ".join(f"{key}={tags[key]}" for key in sorted(keys & set(tags)))
        use = tables.uses.iloc[use_idx]
        open_to = tuple(
            ("none", "forward", "backward", "both")[
                (use[f"{mode}_kph_forward"] > 0) + 2 * (use[f"{mode}_kph_backward"] > 0)
            ]
            for mode in ("walking", "cycling", "driving")
        )
        assert open_to == STATION[text], way
        seen.add(text)
    assert seen == set(STATION)
