"""Files that have an object several times, or deleted: every reader sees each object once, in its last version."""

from __future__ import annotations

import bz2
import dataclasses
import gzip
import random
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import osmium
import pandas as pd
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.combinations import combined
from tests.support.osm_files import Item, items_xml, last_versions
from traveltime_lab.errors import DataError
from traveltime_lab.readers.osm import extract, versions
from traveltime_lab.readers.osm.features import read_features
from traveltime_lab.readers.osm.streets import read_osm
from traveltime_lab.streets.tables import StreetTables

_NODE_TAGS = {5: "barrier=bollard", 8: "place=square name=Middle", 13: "addr:housenumber=4"}
NODES = [
    Item(
        "node", 5 * row + column + 1, lng=column * 0.001, lat=row * 0.001, tags=_NODE_TAGS.get(5 * row + column + 1, "")
    )
    for row in range(6)
    for column in range(5)
]
WAYS = [
    Item("way", 40, "1 2 3 4 5", tags="highway=residential maxspeed=30 name=South"),
    Item("way", 41, "3 8 13", tags="highway=primary maxspeed=50"),
    Item("way", 42, "8 9 10", tags="highway=service"),
    Item("way", 43, "6 7 8", tags="highway=primary"),
    Item("way", 44, "26 27 28 29 30", tags="natural=coastline"),
    Item("way", 45, "11 12 17 16 11", tags="natural=water"),
    Item("way", 46, "14 15 20 19 14", tags="building=yes addr:housenumber=7 addr:street=South"),
    Item("way", 47, "13 18"),
    Item("way", 48, "21 22 27 26 21"),
    Item("way", 49, "1 6 7 2 1"),
    Item("way", 50, "18 23 24", tags="highway=path"),
]
RELATIONS = [
    Item("relation", 60, "w43@from n8@via w42@to", tags="type=restriction restriction=no_right_turn"),
    Item("relation", 61, "w47@", tags="type=route route=ferry duration=00:10"),
    Item("relation", 62, "w48@outer", tags="type=multipolygon natural=water name=Pond"),
    Item("relation", 63, "w49@outer", tags="type=multipolygon highway=pedestrian area=yes"),
]
TOWN = [*NODES, *WAYS, *RELATIONS]
SMALL = extract._SMALL


@pytest.fixture(autouse=True)
def read_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read nodes as those of large files, with the index of libosmium; other tests have small files."""
    monkeypatch.setattr(extract, "_SMALL", 0)


#: One of each kind of object that a reader uses, and a version of it that means something else.
OBJECTS = {
    "node of a street": (NODES[3], {"lng": 0.0035}),
    "barrier": (NODES[4], {"tags": "highway=crossing"}),
    "square": (NODES[7], {"tags": "place=square|name=Elsewhere"}),
    "address": (NODES[12], {"tags": "addr:housenumber=5"}),
    "street": (WAYS[0], {"tags": "highway=residential maxspeed=120"}),
    "street of other nodes": (WAYS[1], {"nodes": "3 8 13 14"}),
    "street that was a wall": (WAYS[2], {"tags": "barrier=wall"}),
    "coastline": (WAYS[4], {"nodes": "30 29 28 27 26"}),
    "lake": (WAYS[5], {"tags": "natural=wood"}),
    "building": (WAYS[6], {"tags": "building=yes addr:housenumber=9"}),
    "ferry": (RELATIONS[1], {"tags": "type=route route=ferry duration=01:00"}),
    "ring of a lake": (WAYS[8], {"nodes": "21 22 27 21"}),
    "turn restriction": (RELATIONS[0], {"tags": "type=restriction restriction=only_right_turn"}),
    "multipolygon": (RELATIONS[2], {"tags": "type=multipolygon natural=wood"}),
    "pedestrian area": (RELATIONS[3], {"tags": "type=multipolygon highway=proposed"}),
}


def _kinds(item: Item, changes: dict[str, Any]) -> dict[str, list[Item]]:
    """Return the objects that stand in place of one object, by what they are an example of."""
    other = dataclasses.replace(item, **changes)
    bare = dataclasses.replace(item, lng=None, lat=None, nodes="", tags="", visible="false")

    def version(of: Item, number: int | None, **more: Any) -> Item:
        return dataclasses.replace(of, version=number, **more)

    return {
        "the same again": [item, item],
        "three times without numbers": [version(item, None)] * 3,
        "an earlier version before": [version(other, 1), version(item, 2)],
        "an earlier version after": [version(item, 12), version(other, 3)],
        "deleted and back": [version(other, 1), version(bare, 2), version(item, 3)],
        "deleted in the last version": [version(item, 1), version(bare, 2)],
        "deleted in a version before it": [version(bare, 5), version(item, 4)],
        "not visible": [version(item, 2, visible="false")],
        "deleted in an editor": [version(item, 2, action="delete")],
        "deleted in an editor, visible": [version(item, 2, visible="true", action="delete")],
        "changed in an editor": [version(item, 2, visible="true", action="modify")],
    }


#: Formats, and whether what is there again is at the end of the file.
FORMS = [(".osm", False), (".pbf", True), (".osm", True), (".pbf", False)]
KINDS = list(_kinds(*OBJECTS["street"]))
_IN_XML_ALONE = {"deleted in an editor", "deleted in an editor, visible", "changed in an editor"}


def _contradictions(item: Item, changes: dict[str, Any]) -> list[list[Item]]:
    other = dataclasses.replace(item, **changes)
    return [
        [item, other],
        [dataclasses.replace(item, version=None), dataclasses.replace(other, version=None)],
        [dataclasses.replace(item, version=3), dataclasses.replace(other, version=None)],
        [item, dataclasses.replace(item, visible="false")],
        [item, dataclasses.replace(item, version=None, action="delete")],
    ]


def write(path: Path, items: Iterable[Item]) -> Path:
    """Write a file in the format of its name; PBF without the mark of a history."""
    xml = items_xml(items)
    if path.suffix == ".pbf":
        source = path.with_suffix(".source.osm")
        source.write_bytes(xml)
        form = osmium.io.File(str(path), "pbf,pbf_compression=none")
        form.has_multiple_object_versions = True
        path.unlink(missing_ok=True)
        with osmium.SimpleWriter(form) as writer:
            osmium.apply(str(source), writer)
        content = path.read_bytes()
        mark = b"\x15HistoricalInformation"  # in the list of features that a reader must know
        assert content.count(b"\x22" + mark) == 1
        path.write_bytes(content.replace(b"\x22" + mark, b"\x2a" + mark))  # of features that it may ignore
    else:
        path.write_bytes({".gz": gzip.compress, ".bz2": bz2.compress}.get(path.suffix, bytes)(xml))
    return path


def replaced(item: Item, by: list[Item], *, at_end: bool) -> list[Item]:
    """Return the town with objects in place of one; all after the first at the end, or in its place."""
    row = TOWN.index(item)
    first, rest = (by[:1], by[1:]) if at_end else (by, [])
    return [*TOWN[:row], *first, *TOWN[row + 1 :], *rest]


def facts(path: Path) -> list[Any]:
    """Return what each reader finds, comparable with ==."""
    tables = read_osm(path)
    wanted = dict.fromkeys(("highway", "natural", "building", "place", "barrier", "addr:housenumber"))
    features = [
        (f.osm_type, f.osm_id, sorted(f.tags.items()), shapely.to_wkt(shapely.normalize(f.geometry)))
        for f in read_features(path, wanted)
    ]
    return [*comparable(tables), *features]


def comparable(tables: StreetTables) -> list[Any]:
    """Return all columns of tables."""
    found: list[Any] = []
    for field in dataclasses.fields(tables):
        value = getattr(tables, field.name)
        if isinstance(value, np.ndarray):
            value = value.tolist()
        elif isinstance(value, pd.DataFrame):
            value = value.to_dict("list")
        elif field.name == "coastlines":
            value = [line.tolist() for line in value]
        elif field.name == "water":
            value = sorted(shapely.to_wkt(shapely.normalize(area)) for area in value)
        elif field.name == "report":
            ignored = ("source", "generator", "objects_repeated", "objects_deleted", "nodes_in_file")
            value = {key: each for key, each in value.items() if key not in ignored}
        found.append((field.name, value))
    return found


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Iterable[Item]], list[Any]]:
    """Return the facts of a file that has each object once."""
    folder = tmp_path_factory.mktemp("clean")
    known: dict[bytes, list[Any]] = {}

    def read(items: Iterable[Item]) -> list[Any]:
        items = list(items)
        key = items_xml(items)
        if key not in known:
            known[key] = facts(write(folder / "clean.osm", items))
        return known[key]

    return read


@pytest.mark.parametrize(("name", "kind"), combined(OBJECTS, KINDS, mark=pytest.mark.thorough))
def test_each_object_counts_once(
    tmp_path: Path, expected: Callable[[Iterable[Item]], list[Any]], name: str, kind: str
) -> None:
    item, changes = OBJECTS[name]
    by = _kinds(item, changes)[kind]
    ending, at_end = FORMS[(list(OBJECTS).index(name) + KINDS.index(kind)) % 4]
    if kind in _IN_XML_ALONE:
        ending = ".osm"
    items = replaced(item, by, at_end=at_end)
    assert facts(write(tmp_path / f"town{ending}", items)) == expected(last_versions(items))


@pytest.mark.parametrize("name", OBJECTS)
def test_contradictions_are_errors(tmp_path: Path, name: str) -> None:
    item, changes = OBJECTS[name]
    for by, (ending, at_end) in zip(_contradictions(item, changes), [*FORMS, (".osm", False)], strict=True):
        path = write(tmp_path / f"town{ending}", replaced(item, by, at_end=at_end))
        for read in (read_osm, lambda path: read_features(path, {"highway": None})):
            with pytest.raises(DataError, match=rf"has {item.kind} {item.ref} several times .* and they differ"):
                read(path)


def test_errors_show_the_beginning_of_long_objects() -> None:
    way = b"w1 v1 dV T Nn1," + b"n2," * 100
    assert versions._shown(way + b"\n") == repr(way.decode()[:117] + "...")
    assert versions._shown(way[:120] + b"\n") == repr(way.decode()[:120])


@pytest.mark.parametrize("ending", [".osm", ".xml", ".osm.gz", ".osm.bz2"])
def test_compressed_files(tmp_path: Path, expected: Callable[[Iterable[Item]], list[Any]], ending: str) -> None:
    items = TOWN
    for name in ("street", "turn restriction", "node of a street"):
        kinds = _kinds(*OBJECTS[name])
        items = [each for each in items if each != OBJECTS[name][0]]
        items += kinds["an earlier version after"] if name == "street" else kinds["deleted in an editor"]
    assert facts(write(tmp_path / f"town{ending}", items)) == expected(last_versions(items))


@pytest.mark.slow
def test_what_was_left_out_is_reported(tmp_path: Path) -> None:
    kinds = _kinds(*OBJECTS["street"])
    items = replaced(WAYS[0], kinds["deleted and back"], at_end=True)
    report = read_osm(write(tmp_path / "town.osm", [*items, RELATIONS[0]])).report
    assert (report["objects_repeated"], report.get("objects_deleted")) == (3, None)
    report = read_osm(write(tmp_path / "town.osm", replaced(WAYS[0], kinds["not visible"], at_end=False))).report
    assert (report.get("objects_repeated"), report["objects_deleted"]) == (None, 1)
    assert not {"objects_repeated", "objects_deleted"} & {*read_osm(write(tmp_path / "town.osm", TOWN)).report}


@given(st.data())
@settings(max_examples=12, deadline=None)
@pytest.mark.slow
def test_any_mix_equals_the_slow_twin(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Draw several versions of several objects in any order, with the same content if the version is the same."""
    folder = tmp_path_factory.mktemp("mix", numbered=True)
    items: list[Item] = []
    drawn = data.draw(st.sets(st.sampled_from(sorted(OBJECTS)), min_size=1))
    for name in drawn:
        item, changes = OBJECTS[name]
        for number in data.draw(st.lists(st.integers(2, 5), min_size=1, max_size=4)):
            of = dataclasses.replace(item, **(changes if number % 2 else {}), version=number)
            items.append(dataclasses.replace(of, visible="false" if number == 4 else None))
    items += [item for item in TOWN if item not in [OBJECTS[name][0] for name in drawn]]
    random.Random(data.draw(st.integers(0, 99))).shuffle(items)
    ending = data.draw(st.sampled_from([".osm", ".pbf"]))
    path = write(folder / f"mix{ending}", items)
    last = last_versions(items)
    is_once = len({(item.kind, item.ref) for item in items}) == len(items)
    if is_once and (ending == ".pbf" or not any(item.visible for item in items)):
        last.sort(key=items.index)  # the file is read as it is, and edges stay in its order
    clean = write(folder / "clean.osm", last)
    try:
        found = facts(clean)
    except DataError as error:
        assert "no usable streets" in str(error)
        return
    assert facts(path) == found
    assert as_small(path) == found


def as_small(path: Path) -> list[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extract, "_SMALL", SMALL)
        return facts(path)


@pytest.mark.thorough
@pytest.mark.parametrize("ending", [".osm", ".pbf"])
def test_small_files_are_read_alike(tmp_path: Path, ending: str) -> None:
    odd = [
        Item("node", 100, lng=200.0, lat=95.0),
        Item("node", 101, lng=-180.0, lat=-90.0),
        Item("node", -5, lng=0.0005, lat=0.0005),
        Item("node", 0, lng=0.0005, lat=0.0015),
        Item("way", 110, "1 100 2 999 0 -5", tags="highway=path"),
        Item("way", 111, "0 7", tags="highway=path"),
    ]
    for items in ([*TOWN, *odd[:4], odd[5]], [*TOWN, *odd], [*odd[2:], *reversed(TOWN)], [*TOWN, *odd[:2] * 2]):
        path = write(tmp_path / f"town{ending}", items)
        assert as_small(path) == facts(path)
        with pytest.MonkeyPatch.context() as patch:
            as_large = read_osm(path).report["nodes_in_file"]
            patch.setattr(extract, "_SMALL", SMALL)
            assert read_osm(path).report["nodes_in_file"] == as_large
    no_position = items_xml(TOWN).replace(b"</osm>", b'<node id="120" version="1"/></osm>')
    (tmp_path / "none.osm").write_bytes(no_position)
    assert as_small(tmp_path / "none.osm") == facts(tmp_path / "none.osm")


@pytest.mark.thorough
def test_new_objects_of_editors(tmp_path: Path) -> None:
    """New objects have negative ids and no version."""
    new = [
        Item("node", -1, lng=0.0005, lat=0.0015, version=None, action="modify"),
        Item("way", -2, "1 -1 3", tags="highway=path", version=None, action="modify"),
        Item("way", -3, "4 9 10 5 4", version=None),
        Item("relation", -4, "w-3@outer", tags="type=multipolygon natural=water", version=None),
    ]
    once = read_osm(write(tmp_path / "once.osm", [*TOWN, *new]))
    assert -2 in once.edge_way_id
    assert len(once.water) == 3
    for again in ([new[0]], [new[1]], [new[2]], [new[3]], new):
        twice = read_osm(write(tmp_path / "twice.osm", [*TOWN, *new, *again]))
        assert sorted(twice.edge_length_m) == pytest.approx(sorted(once.edge_length_m))
        assert len(twice.water) == 3
    for item, changes in ((new[0], {"lng": 0.0007}), (new[1], {"tags": "highway=steps"})):
        path = write(tmp_path / "other.osm", [*TOWN, *new, dataclasses.replace(item, **changes)])
        with pytest.raises(DataError, match=rf"has {item.kind} {item.ref} several times without numbers of versions"):
            read_osm(path)


def test_words_in_tags_are_no_marks(tmp_path: Path) -> None:
    odd = Item("way", 70, "14 19", tags="highway=path|note=action='delete' visible=\"false\"")
    with_note, without = tmp_path / "note.osm", tmp_path / "none.osm"
    write(with_note, [*NODES, *WAYS, odd, *RELATIONS])
    write(without, [*NODES, *WAYS, dataclasses.replace(odd, tags="highway=path"), *RELATIONS])
    assert comparable(read_osm(with_note)) == comparable(read_osm(without))


def test_nothing_is_left(tmp_path: Path) -> None:
    gone = [dataclasses.replace(item, visible="false") for item in TOWN]
    path = write(tmp_path / "gone.osm", gone)
    with pytest.raises(DataError, match="no usable streets: 0 ways"):
        read_osm(path)
    assert read_features(path, {"highway": None}) == []


def test_utf_16(tmp_path: Path) -> None:
    """The bytes of the marks are others there."""
    items = replaced(WAYS[0], [dataclasses.replace(WAYS[0], action="delete")], at_end=False)
    path = tmp_path / "wide.osm"
    path.write_bytes(items_xml(items).decode().replace("UTF-8", "UTF-16").encode("utf-16"))
    assert 40 not in read_osm(path).edge_way_id


def test_marked_histories_are_refused(tmp_path: Path) -> None:
    source, path = write(tmp_path / "town.osm", TOWN), tmp_path / "town.osh.pbf"
    form = osmium.io.File(str(path), "pbf")
    form.has_multiple_object_versions = True
    with osmium.SimpleWriter(form) as writer:
        osmium.apply(str(source), writer)
    for read in (read_osm, lambda path: read_features(path, {"highway": None})):
        with pytest.raises(DataError, match="history or change file"):
            read(path)


@pytest.mark.thorough
def test_overlapping_parts_of_a_city(shared_data: Path, tmp_path: Path) -> None:
    """Join two halves that share a third of their ways, in the ways that people do it."""
    whole = shared_data / "helsinki" / "osm_center_small.pbf"
    objects = osmium.osm.NODE | osmium.osm.WAY | osmium.osm.RELATION

    def part(writer: Any, left_out: int) -> None:
        class Some:
            def node(self, item: Any) -> None:
                writer.add(item)

            def way(self, item: Any) -> None:
                if item.id % 3 != left_out:
                    writer.add(item)

            relation = way

        osmium.apply(osmium.io.Reader(str(whole), objects), Some())

    def two_parts(path: Path) -> Path:
        with osmium.SimpleWriter(str(path), header=osmium.io.Reader(str(whole)).header()) as writer:
            part(writer, 0)
            part(writer, 1)
        return path

    expected = facts(whole)
    for name in ("parts.osm.pbf", "parts.osm"):
        assert facts(two_parts(tmp_path / name)) == expected


@pytest.mark.thorough
def test_deleted_ways_of_a_city(shared_data: Path, tmp_path: Path) -> None:
    whole = shared_data / "helsinki" / "osm_center_small.pbf"
    with osmium.SimpleWriter(str(tmp_path / "whole.osm")) as writer:
        osmium.apply(str(whole), writer)
    xml = (tmp_path / "whole.osm").read_text("utf-8")
    ids = np.unique(read_osm(whole).edge_way_id)[::9][:300].tolist()
    for mark in ('visible="false"', "action='delete'"):
        text, count = re.subn(rf'(<way id="(?:{"|".join(map(str, ids))})" )', rf"\g<1>{mark} ", xml)
        assert count == len(ids)
        (tmp_path / "deleted.osm").write_text(text)
        with osmium.SimpleWriter(str(tmp_path / "cut.osm"), overwrite=True) as writer:
            gone = set(ids)
            for item in osmium.FileProcessor(str(whole)):
                if not (item.is_way() and item.id in gone):
                    writer.add(item)
        assert facts(tmp_path / "deleted.osm") == facts(tmp_path / "cut.osm")


@given(st.lists(st.tuples(st.sampled_from("nwr"), st.integers(-3, 4)), max_size=6), st.integers(1, 20))
def test_order_equals_the_slow_twin(
    tmp_path_factory: pytest.TempPathFactory, objects: list[tuple[str, int]], per_chunk: int
) -> None:
    """Chunks of a few bytes, of which each ends with a line."""
    path = tmp_path_factory.mktemp("ids") / "ids"
    path.write_text("".join(f"{letter}{osm_id}\n" for letter, osm_id in objects))
    keys = [("nwr".index(letter), osm_id) for letter, osm_id in objects]
    expected = versions.Order(len({*keys}) == len(keys), keys == sorted({*keys}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(versions, "_PER_CHUNK", per_chunk)
        assert versions.order_of(path) == expected


def test_plain_files_are_not_rewritten(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rewritten(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(versions, "write_last_versions", rewritten)
    for name in ("helsinki/osm_center_small.pbf", "porto_alegre/osm.pbf"):
        read_osm(shared_data / name)
        read_features(shared_data / name, {"amenity": None})
