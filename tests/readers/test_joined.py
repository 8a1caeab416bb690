"""Files of adjoining regions that are read as one: the network is that of their joint file."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

import numpy as np
import osmium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.readers.test_cut import ITEMS
from tests.readers.test_versions import comparable, write
from tests.support.oracles_cut import Box, cut_osm, in_box
from tests.support.osm_files import Item
from traveltime_lab.readers.osm.source_file import Header, joint
from traveltime_lab.readers.osm.streets import read_osm
from traveltime_lab.readers.region import region_of
from traveltime_lab.streets.extent import Extent

#: The town, a little smaller than its nodes: a box that all nodes fill is no border.
WHOLE = (0.0, 0.0, 0.004, 0.004)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The town in one file, in a folder of its own."""
    path = tmp_path_factory.mktemp("joined") / "town.osm"
    write(path, ITEMS)
    return path


def parts_of(town: Path, boxes: list[Box], endings: list[str]) -> list[Path]:
    """Return files of the objects in some boxes."""
    return [
        cut_osm(town, town.with_name(f"part{i}{ending}"), in_box(box), box)
        for i, (box, ending) in enumerate(zip(boxes, endings, strict=True))
    ]


def quarters(at: tuple[float, float]) -> list[Box]:
    """Return the four parts of the town around a point."""
    west, south, east, north = WHOLE
    lng, lat = at
    return [(west, south, lng, lat), (lng, south, east, lat), (west, lat, lng, north), (lng, lat, east, north)]


INSIDE = st.integers(1, 79).map(lambda step: round(step * 0.00005, 7))


@pytest.mark.slow
@settings(max_examples=30)
@given(
    st.tuples(INSIDE, INSIDE), st.permutations(range(4)), st.lists(st.sampled_from([".osm", ".osm.pbf"]), min_size=4)
)
def test_four_quarters_are_the_town(town: Path, at: tuple[float, float], order: list[int], endings: list[str]) -> None:
    parts = parts_of(town, quarters(at), endings[:4])
    whole = cut_osm(town, town.with_name("whole.osm.pbf"), in_box(WHOLE), WHOLE)
    assert comparable(read_osm([parts[i] for i in order])) == comparable(read_osm(whole))


@pytest.mark.thorough
@settings(max_examples=15)
@given(st.tuples(INSIDE, INSIDE), st.integers(0, 3))
def test_three_quarters_have_a_corner(town: Path, at: tuple[float, float], left_out: int) -> None:
    boxes = quarters(at)
    del boxes[left_out]
    found = read_osm(parts_of(town, boxes, [".osm.pbf"] * 3))
    insides = [in_box(box) for box in boxes]
    whole = cut_osm(town, town.with_name("whole.osm.pbf"), lambda lng, lat: any(f(lng, lat) for f in insides), WHOLE)

    def content(tables: Any) -> list[Any]:
        return comparable(dataclasses.replace(tables, extent=None, edge_is_cut=np.zeros(0, np.bool_)))

    assert content(found) == content(read_osm(whole))
    assert found.extent is not None and found.extent.source == "file"
    rng = np.random.default_rng(1)
    lng, lat = rng.uniform(-0.001, 0.005, (2, 400))
    expected = [any(inside(*point) for inside in insides) for point in zip(lng, lat, strict=True)]
    assert found.extent.contains(lng, lat).tolist() == expected


@pytest.mark.parametrize("endings", [[".osm.pbf"] * 4, [".osm", ".osm.pbf"] * 2])
@pytest.mark.parametrize("box", [(0.0005, 0.0005, 0.0035, 0.003), (-0.001, 0.001, 0.003, 0.005)])
def test_bounds_cut_the_joint_file(town: Path, box: Box, endings: list[str]) -> None:
    parts = parts_of(town, quarters((0.002, 0.0015)), endings)
    whole = cut_osm(town, town.with_name("whole.osm.pbf"), in_box(WHOLE), WHOLE)
    region = region_of(box)
    assert comparable(read_osm(parts, region=region)) == comparable(read_osm(whole, region=region))


def test_bounds_that_reach_beyond_a_corner(town: Path) -> None:
    boxes = quarters((0.002, 0.002))[:3]
    tables = read_osm(parts_of(town, boxes, [".osm.pbf"] * 3), region=region_of((0.001, 0.001, 0.003, 0.003)))
    assert tables.extent is not None and tables.extent.source == "bounds"
    lng, lat = np.array([0.0015, 0.0025, 0.0025, 0.0005]), np.array([0.0015, 0.0015, 0.0025, 0.0015])
    assert tables.extent.contains(lng, lat).tolist() == [True, True, False, False]


@pytest.mark.thorough
def test_the_last_version_counts_in_any_file(tmp_path: Path) -> None:
    """Also where it is deleted, by the mark of an editor too, and where files have the same number of objects."""
    moved = [dataclasses.replace(item, lng=9.0) for item in ITEMS if item.kind == "node" and item.ref % 7 == 1]
    last = [dataclasses.replace(item, version=3) for item in ITEMS]
    gone = [Item("way", 99, "1 12", "highway=path", version=1)]
    mark = [Item("way", 99, "1 12", "highway=path", version=4, action="delete")]
    write(tmp_path / "old.osm", [*moved, *gone])
    write(tmp_path / "new.osm", last)
    write(tmp_path / "edited.osm", mark)
    write(tmp_path / "clean.osm", ITEMS)
    expected = comparable(read_osm(tmp_path / "clean.osm"))
    names = ["old.osm", "new.osm", "edited.osm"]
    for seed in range(6):
        paths = [tmp_path / name for name in random.Random(seed).sample(names, 3)]
        tables = read_osm(paths)
        assert comparable(tables) == expected
        assert tables.report["objects_repeated"] == len(moved) + 1 and tables.report["objects_deleted"] == 1
        assert tables.report["source"] == ", ".join(path.name for path in paths)


def test_copies_that_differ_name_the_files(tmp_path: Path) -> None:
    write(tmp_path / "one.osm", ITEMS)
    other = [dataclasses.replace(item, tags="highway=motorway") if item.kind == "way" else item for item in ITEMS]
    write(tmp_path / "two.osm", other)
    with pytest.raises(tl.DataError, match=r"one\.osm, .*two\.osm has way \d+ several times .*, and they differ"):
        tl.build_network([tmp_path / "one.osm", tmp_path / "two.osm"])


def test_faults_name_their_file(town: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole.osm.pbf"
    with osmium.SimpleWriter(str(whole)) as writer:
        osmium.apply(str(town), writer)
    damaged = tmp_path / "damaged.osm.pbf"
    damaged.write_bytes(whole.read_bytes()[:-20])
    with pytest.raises(tl.DataError, match=r"^\S*damaged\.osm\.pbf is not readable"):
        tl.build_network([whole, damaged])
    with pytest.raises(tl.MissingFileError, match=r"none\.osm does not exist"):
        tl.build_network((whole, "none.osm"))
    with pytest.raises(tl.InputError, match=r"osm has .*whole\.osm\.pbf twice; give each file once"):
        tl.build_network([whole, str(whole)])


def test_files_without_objects_have_no_streets(tmp_path: Path) -> None:
    for name in ("one.osm.pbf", "two.osm.pbf"):
        with osmium.SimpleWriter(str(tmp_path / name)):
            pass
    with pytest.raises(tl.DataError, match="has no usable streets"):
        tl.build_network([tmp_path / "one.osm.pbf", tmp_path / "two.osm.pbf"])


@pytest.mark.parametrize("wrong", [[], (), ["a.osm.pbf", 3], [None, "a.osm.pbf"]])
def test_what_is_no_list_of_files(wrong: Any) -> None:
    with pytest.raises(tl.InputError, match="osm must be a file or a list of files"):
        tl.build_network(wrong)


def test_copies_of_a_file_are_refused(town: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.osm"
    copy.write_bytes(town.read_bytes())
    with pytest.raises(tl.InputError, match=r"osm has .*copy\.osm twice: .* are the same file; give each file once"):
        tl.build_network([town, copy])


def test_bounds_between_boxes(town: Path) -> None:
    """Ways are complete, so that a file has nodes beyond its box."""
    west, south, east, north = WHOLE
    parts = parts_of(town, [(west, south, 0.0012, north), (0.0028, south, east, north)], [".osm.pbf"] * 2)
    with pytest.raises(tl.DataError, match="are between the boxes of the files"):
        read_osm(parts, region=region_of((0.0015, south, 0.0025, north)))


def test_networks_name_all_files(town: Path) -> None:
    parts = parts_of(town, quarters((0.002, 0.002)), [".osm"] * 4)
    network = tl.build_network([str(part) for part in parts])
    assert network.fingerprint == tl.build_network(tuple(parts)).fingerprint
    assert all(part.name in str(network.report()) for part in parts)


def header(*bounds: float, timestamp: str | None = None, generator: str | None = None) -> Header:
    west, south, east, north = bounds
    return Header((west, south, east, north), timestamp, generator)


def test_joint_headers() -> None:
    one = header(-1.0, 2.0, 3.0, 4.0, timestamp="2026-02-01T00:00:00Z", generator="osmium")
    assert joint([one]) == one
    other = header(3.0, 2.0, 5.0, 4.0, timestamp="2026-01-01T00:00:00Z", generator="osmosis")
    assert joint([one, other]) == header(
        -1.0, 2.0, 5.0, 4.0, timestamp="2026-01-01T00:00:00Z", generator="osmium, osmosis"
    )
    assert joint([one, Header(None, None, None)]) == Header(None, None, "osmium")


def test_boxes_across_the_180th_meridian() -> None:
    longitudes = [(170.0, 179.0), (179.0, -179.0), (-179.0, -170.0)]
    west, across, east = (header(low, -20.0, high, -10.0) for low, high in longitudes)
    for order in ([west, across, east], [east, west, across], [across, east, west]):
        assert joint(order) == header(170.0, -20.0, -170.0, -10.0)
    found = joint([west, east])
    assert found.bounds == (170.0, -20.0, -170.0, -10.0)
    extent = Extent("file", found.bounds, found.shape)
    lng = np.array([169.0, 175.0, 179.5, 180.0, -179.5, -175.0, -169.0, 0.0])
    assert extent.contains(lng, np.full(8, -15.0)).tolist() == [False, True, False, False, False, True, False, False]
    halves = [header(-180.0, -5.0, 0.0, 5.0), header(0.0, -5.0, 180.0, 5.0)]
    assert joint(halves).bounds == (-180.0, -5.0, 180.0, 5.0)
