"""Files that are cut while they are read: the network is that of a file that was cut before."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import random
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import osmium
import pandas as pd
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.readers.test_versions import TOWN, comparable, write
from tests.support.feeds import LINE, feed, posix, runs_of
from tests.support.oracles_cut import cut_gtfs, cut_osm, in_box
from tests.support.osm_files import Item, items_xml
from traveltime_lab.readers.gtfs.feed import read_feed
from traveltime_lab.readers.osm import blobs
from traveltime_lab.readers.osm.streets import read_osm
from traveltime_lab.readers.region import Region, region_of
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.trip_instances import trip_table

#: A restriction between streets on both sides of a border, and a lake whose shore is one way inside and one outside.
MORE = [
    Item("way", 70, "2 7 12 17"),
    Item("way", 71, "17 16 11 6 1 2"),
    Item("relation", 80, "w70@outer w71@outer", tags="type=multipolygon natural=water"),
    Item("relation", 81, "r80@ w40@", tags="type=site"),
]
ITEMS = sorted([*TOWN, *MORE], key=lambda item: (("node", "way", "relation").index(item.kind), item.ref))


def tables_of(path: Path, region: Region | None = None) -> list[Any]:
    """Return all columns of the tables of a file, comparable with ==; the report of a cut has more."""
    tables = read_osm(path, region=region)
    tables.report.pop("cut", None)
    # The header of a file has a box only, and does not say where it is from.
    return comparable(dataclasses.replace(tables, extent=None, edge_is_cut=np.zeros(0, np.bool_)))


def same(path: Path, clean: Path, box: tuple[float, float, float, float]) -> bool:
    """Return whether a file read within a box has the tables of a clean copy that is cut before; False if empty."""
    expected = tables_of_cut(clean, box)
    if expected is None:
        with pytest.raises(tl.DataError):
            read_osm(path, region=region_of(box))
        return False
    assert tables_of(path, region_of(box)) == expected
    return True


@functools.lru_cache(maxsize=8)
def tables_of_cut(clean: Path, box: tuple[float, float, float, float]) -> Any:
    """Return the tables of a file that is cut to a box, None without any street."""
    before = cut_osm(clean, clean.with_name("cut.osm.pbf"), in_box(box), box)
    try:
        return tables_of(before)
    except tl.DataError:
        return None


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the town in several forms."""
    folder = tmp_path_factory.mktemp("towns")
    for name in ("clean.osm", "packed.osm.gz"):
        write(folder / name, ITEMS)
    for name in ("clean.osm.pbf", "clean.opl.pbf"):
        with osmium.SimpleWriter(str(folder / name)) as writer:
            osmium.apply(str(folder / "clean.osm"), writer)
    shuffled = random.Random(3).sample(ITEMS, len(ITEMS))
    moved = [dataclasses.replace(item, lng=9.0) for item in ITEMS if item.kind == "node" and item.ref % 7 == 1]
    last = [dataclasses.replace(item, version=3) for item in ITEMS]
    write(folder / "shuffled.osm", shuffled)
    write(folder / "twice.pbf", [*ITEMS, *ITEMS[3:9]])
    write(folder / "history.pbf", [*moved, *last])
    deleted = [
        Item("node", 98, lng=0.001, lat=0.001, action="delete"),
        Item("way", 99, "1 12", "highway=path", action="delete"),
    ]
    write(folder / "edited.osm", [*ITEMS, *deleted])
    return folder


FORMS = ("clean.osm", "packed.osm.gz", "clean.osm.pbf", "shuffled.osm", "twice.pbf", "history.pbf", "edited.osm")


@pytest.mark.parametrize("name", FORMS)
def test_cut_while_reading_is_cut_before(town: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blobs, "_PART_BYTES", 1)  # each blob is a part
    found = [
        same(town / name, town / "clean.osm", box)
        for box in [
            (-0.0005, -0.0005, 0.0025, 0.0025),
            (0.001, 0.0, 0.002, 0.001),  # nodes on the border count
            (-1.0, -1.0, 1.0, 1.0),
            (0.0035, -0.001, 0.005, 0.0005),
            (0.0105, 0.0105, 0.011, 0.011),  # nothing
        ]
    ]
    assert found == [True, True, True, True, False]


@settings(max_examples=40)
@given(st.tuples(*[st.integers(-1, 11)] * 4), st.sampled_from(FORMS))
def test_any_box(town: Path, sides: tuple[int, ...], name: str) -> None:
    west, south, east, north = (round(side * 0.0005, 7) for side in sides)
    if west < east and south < north:
        same(town / name, town / "clean.osm", (west, south, east, north))


def test_new_objects_of_editors(tmp_path: Path) -> None:
    """They have negative ids, which libosmium's indexes do not take."""
    items = [
        dataclasses.replace(item, ref=-item.ref, nodes=" ".join(f"-{ref}" for ref in item.nodes.split()))
        for item in ITEMS
        if item.kind != "relation"
    ]
    (tmp_path / "new.osm").write_bytes(items_xml(items))
    box = (-0.0005, -0.0005, 0.0025, 0.0025)
    inside = {item.ref for item in items if item.kind == "node" and in_box(box)(item.lng, item.lat)}
    ways = [item for item in items if item.kind == "way" and inside & {int(ref) for ref in item.nodes.split()}]
    nodes = inside.union(*({int(ref) for ref in way.nodes.split()} for way in ways))
    (tmp_path / "cut.osm").write_bytes(items_xml([*(item for item in items if item.ref in nodes), *ways]))
    expected = dict(tables_of(tmp_path / "cut.osm")) | {"bounds": box}
    assert dict(tables_of(tmp_path / "new.osm", region_of(box))) == expected


def test_shapes(town: Path) -> None:
    triangle = shapely.Polygon([(-0.0001, -0.0001), (0.0041, -0.0001), (-0.0001, 0.0041)])
    region = region_of(triangle)
    inside = lambda lng, lat: bool(shapely.intersects_xy(triangle, lng, lat))  # noqa: E731
    before = cut_osm(town / "clean.osm", town / "cut.osm.pbf", inside, triangle.bounds)
    assert tables_of(town / "clean.osm.pbf", region) == tables_of(before)
    assert tables_of(town / "clean.osm.pbf", region_of(triangle.envelope)) != tables_of(before)


def test_lakes_across_the_border_are_whole(town: Path) -> None:
    box = (0.0005, -0.0005, 0.0015, 0.0005)  # node 2 alone
    tables = read_osm(town / "clean.osm.pbf", region=region_of(box))
    assert shapely.area(tables.water).max() == pytest.approx(1e-3 * 3e-3)


def test_across_the_180th_meridian(tmp_path: Path) -> None:
    items = [
        *(Item("node", n, lng=lng, lat=-17.0) for n, lng in enumerate((179.8, 179.9, -179.9, -179.8, 10.0, 10.1), 1)),
        *(Item("way", 10 + n, f"{n} {n + 1}", "highway=residential") for n in (1, 3, 5)),
    ]
    (tmp_path / "fiji.osm").write_bytes(items_xml(items))
    network = tl.build_network(tmp_path / "fiji.osm", bounds=(179.0, -18.0, -179.0, -16.0))
    assert sorted(network.edges_frame()["way_id"]) == [11, 13]
    assert network.bounds == (179.8, -17.0, -179.8, -17.0)


@pytest.mark.parametrize(
    ("bounds", "error", "message"),
    [
        ((0.0, 0.0, 1.0), tl.InputError, "four numbers"),
        ("0,0,1,1", tl.InputError, "four numbers"),
        ((0.0, 0.0, 1.0, None), tl.InputError, "must be a number"),
        ((0.0, 1.0, 1.0, 0.0), tl.InputError, "south < north"),
        ((0.0, 0.0, 0.0, 1.0), tl.InputError, "west other than east"),
        ((9.2, 45.4, 9.1, 45.5), tl.InputError, "west and east seem to be exchanged"),
        ({0.0, 1.0, 2.0, 3.0}, tl.InputError, "must be a list of four numbers"),
        (dict.fromkeys((0.0, 1.0, 2.0, 3.0)).keys(), tl.InputError, "must be a list of four numbers"),
        ((0.0, 0.0, 1.0, 91.0), tl.CoordinateError, "on the globe"),
        ((0.0, 0.0, float("nan"), 1.0), tl.CoordinateError, "on the globe"),
        (shapely.Point(0, 0), tl.InputError, "four numbers or a polygon"),
        (shapely.Polygon(), tl.InputError, "empty or not valid"),
        (shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)]), tl.InputError, "empty or not valid"),
        ((5.0, 5.0, 6.0, 6.0), tl.DataError, "nothing within the bounds .*its data are within"),
    ],
)
def test_wrong_bounds(town: Path, bounds: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tl.build_network(town / "clean.osm", bounds=bounds)


@pytest.mark.slow
def test_cuts_can_be_repeated_from_the_report(town: Path) -> None:
    path = town / "clean.osm.pbf"
    box = (-0.00012345678, -0.0001, 0.0041000000001, 1 / 300)
    cut = tl.build_network(path, bounds=box).report()["cut"]
    assert tuple(map(float, cut["bounds"].split(", "))) == box
    assert "polygon" not in cut
    triangle = shapely.Polygon([(-0.00010000001, -0.0001), (0.0041, -0.0001), (-0.0001, 1 / 300)])
    cut = tl.build_network(path, bounds=triangle).report()["cut"]
    assert shapely.from_wkt(cut["polygon"]).equals(triangle)
    assert shapely.get_coordinates(shapely.from_wkt(cut["polygon"])).tolist() == list(
        map(list, triangle.exterior.coords)
    )
    assert tl.build_network(path, bounds=shapely.from_wkt(cut["polygon"])).report()["cut"] == cut
    circles = [shapely.Point(0.002, 0.002).buffer(radius) for radius in (0.002, 0.0021)]
    texts = [tl.build_network(path, bounds=circle).report()["cut"]["polygon"] for circle in circles]
    assert texts[0] == f"SHA-256 {hashlib.sha256(circles[0].wkb).hexdigest()} of WKB"
    assert texts[0] != texts[1]


def test_exchanged_coordinates(tmp_path: Path) -> None:
    items = [Item("node", n, lng=9.18 + n * 0.001, lat=45.46) for n in (1, 2)]
    (tmp_path / "milan.osm").write_bytes(items_xml([*items, Item("way", 3, "1 2", "highway=service")]))
    assert tl.build_network(tmp_path / "milan.osm", bounds=(9.1, 45.4, 9.2, 45.5)).n_edges == 1
    with pytest.raises(tl.DataError, match="longitude and latitude seem to be exchanged"):
        tl.build_network(tmp_path / "milan.osm", bounds=(45.4, 9.1, 45.5, 9.2))
    with pytest.raises(tl.CoordinateError, match="longitude first"):
        tl.build_network(tmp_path / "milan.osm", bounds=(35.6, 139.6, 35.7, 139.7))  # Tokyo
    with pytest.raises(tl.InputError, match="bounds cut a file"):
        tl.build_network("Tokyo", bounds=(139.6, 35.6, 139.7, 35.7))


# Timetables ----------------------------------------------------------------------------------------------------------


def timetable_of(timetable: Timetable) -> dict[str, Any]:
    """Return all columns of a timetable but its notes, comparable with ==."""
    found = {}
    for field in dataclasses.fields(timetable):
        value = getattr(timetable, field.name, None)
        if isinstance(value, np.ndarray):
            found[field.name] = repr(value.tolist())  # NaN equals itself
        elif isinstance(value, pd.DataFrame):
            found[field.name] = repr(value.to_dict("list"))
        elif isinstance(value, list) and field.name != "notes":
            found[field.name] = value
    return found


MORE_TIMES = """
    trip_id,stop_sequence,stop_id,arrival_time,departure_time
    t,1,a,8:00:00,8:00:00
    t,2,b,8:10:00,8:11:00
    t,3,c,8:20:00,8:20:00
    t,4,a,8:30:00,8:30:00
    u,1,c,9:00:00,9:00:00
    u,2,b,9:10:00,9:10:00
"""
STATIONS = """
    stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station
    s,Station,0.5,0.49,1,
    a,Ash,0.5,0.50,0,s
    b,Birch,0.5,0.51,0,
    c,Cedar,0.5,0.52,0,
"""
TRIPS = LINE["trips"] + "    R,daily,u\n"
LINE_OF_STREETS = [
    *(Item("node", n, lng=0.49 + n / 1000, lat=0.5) for n in range(1, 46)),
    *(Item("way", n, " ".join(map(str, range(n, n + 20))), "highway=residential") for n in (6, 26)),
]
TRANSFERS = """
    from_stop_id,to_stop_id,transfer_type,min_transfer_time
    a,b,2,60
    b,c,2,60
"""


@pytest.mark.parametrize(
    ("box", "times", "cut"),
    [
        (
            (0.495, 0.4, 0.515, 0.6),
            [[28800, 29400, 30600]],
            {"stops_outside": 1, "stop_times_outside": 2, "trips_with_fewer_than_two_stops_inside": 1},
        ),
        (
            (0.505, 0.4, 0.525, 0.6),
            [[29400, 30000], [32400, 33000]],
            {"stops_outside": 2, "stop_times_outside": 2, "trips_with_fewer_than_two_stops_inside": 0},
        ),
    ],
)
def test_timetables(tmp_path: Path, box: Any, times: list[list[int]], cut: dict[str, int]) -> None:
    path = feed(tmp_path, stops=STATIONS, trips=TRIPS, stop_times=MORE_TIMES, transfers=TRANSFERS)
    before = read_feed(cut_gtfs(path, tmp_path / "cut.zip", in_box(box)))
    found = read_feed(path, region_of(box))
    assert timetable_of(found) == timetable_of(before) | {"feeds": timetable_of(found)["feeds"]}
    arrivals = np.split(found.arrival, found.trip_indptr[1:-1])
    assert sorted(each.tolist() for each in arrivals) == times
    assert found.notes[0]["cut"] == cut
    assert found.notes[0]["dropped"] == {}


def test_in_seat_transfers_need_no_stops(tmp_path: Path) -> None:
    """The trips continue as one across a stop outside, and rules between stops outside are left out, as before."""
    rules = """
        from_stop_id,to_stop_id,transfer_type,from_trip_id,to_trip_id
        c,c,4,t,u
        nowhere,,5,u,t
        c,a,2,,
        b,c,1,t,u
    """
    more = """
        u,1,a,9:00:00,9:00:00
        u,2,b,9:10:00,9:10:00
    """
    files = {"trips": TRIPS, "stop_times": LINE["stop_times"] + more, "transfers": rules}
    for region in (None, region_of((0.495, 0.4, 0.515, 0.6))):
        found = read_feed(feed(tmp_path, **files), region)
        names = found.trips["trip_id"].to_numpy()
        in_seat = found.transfers[found.transfers["transfer_type"] >= 4]
        ends = names[in_seat[["from_trip_idx", "to_trip_idx"]].to_numpy()]
        assert ends.tolist() == [["t", "u"], ["u", "t"]]
        assert (found.transfers["transfer_type"] < 4).sum() == (2 if region is None else 0)
        assert found.notes[0]["dropped"] == {}


def test_missing_times_are_filled_in_before_the_cut(tmp_path: Path) -> None:
    calls = """
        trip_id,stop_sequence,stop_id,arrival_time,departure_time
        t,1,a,8:00:00,8:00:00
        t,2,b,,
        t,3,c,8:20:00,8:20:00
    """
    found = read_feed(feed(tmp_path, stop_times=calls), region_of((0.505, 0.4, 0.525, 0.6)))
    assert found.arrival.tolist() == [29400, 30000]


HEADWAYS = """
    trip_id,start_time,end_time,headway_secs
    t,8:00:00,9:00:00,1200
    u,9:05:00,10:00:00,900
"""


@pytest.mark.parametrize("box", [(0.495, 0.4, 0.515, 0.6), (0.505, 0.4, 0.525, 0.6)])
def test_headways_of_trips_that_begin_outside(tmp_path: Path, box: Any) -> None:
    path = feed(tmp_path, stops=STATIONS, trips=TRIPS, stop_times=MORE_TIMES, transfers=TRANSFERS, frequencies=HEADWAYS)
    before = read_feed(cut_gtfs(path, tmp_path / "cut.zip", in_box(box)))
    found = read_feed(path, region_of(box))
    assert timetable_of(found) == timetable_of(before) | {"feeds": timetable_of(found)["feeds"]}
    begin, end = posix("2026-06-01T05:00"), posix("2026-06-01T14:00")
    kept = {stop for stop, lng in (("a", 0.50), ("b", 0.51), ("c", 0.52)) if box[0] <= lng <= box[2]}
    whole = read_feed(path)
    expected: list[Any] = []
    for (trip, _, calls), n in runs_of(whole, trip_table(whole, begin, end)).items():
        if len(inside := tuple(call for call in calls if call[0] in kept)) > 1:
            expected.extend([(trip, inside)] * n)
    ours = runs_of(found, trip_table(found, begin, end))
    assert sorted((trip, calls) for trip, _, calls in ours.elements()) == sorted(expected)
    assert expected


def test_answers_with_headways(tmp_path: Path) -> None:
    """A bus every half hour from Ash, outside, passes Birch 11 minutes later, as in the whole network."""
    write(tmp_path / "line.osm", LINE_OF_STREETS)
    path = feed(tmp_path, frequencies="trip_id,start_time,end_time,headway_secs\nt,8:00:00,9:00:00,1800")
    found = []
    for bounds in (None, (0.505, 0.4, 0.525, 0.6)):
        network = tl.build_network(tmp_path / "line.osm", gtfs=path, bounds=bounds, timezone="UTC")
        found.append(
            tl.time_filter(
                network,
                [(0.51, 0.5)],
                [(0.52, 0.5)],
                travel_time=3600,
                transportation={"type": "public_transport", "walking_time": 120},
                departure_time="2026-06-01T08:00:00",
                form="matrix",
            )
        )
    pd.testing.assert_frame_equal(*found)
    assert found[0].to_numpy().item() >= 20 * 60  # at 8:20, not 8:09


def test_a_feed_outside(tmp_path: Path) -> None:
    with pytest.raises(tl.GtfsError, match="no trip has two stops within the bounds"):
        read_feed(feed(tmp_path), region_of((5.0, 5.0, 6.0, 6.0)))


# Real cities ---------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("city", "box"), [("milan", (9.15, 45.44, 9.22, 45.49)), ("helsinki", (24.935, 60.16, 24.95, 60.175))]
)
def test_thousand_pairs(shared_data: Path, tmp_path: Path, city: str, box: Any) -> None:
    """No travel time differs between a cut while reading and a cut before."""
    osm, gtfs = (
        shared_data / city / ("osm.pbf" if city == "milan" else "osm_center.pbf"),
        shared_data / city / "gtfs.zip",
    )
    whole = tl.build_network(osm, gtfs=gtfs, bounds=box)
    before = tl.build_network(
        cut_osm(osm, tmp_path / "cut.osm.pbf", in_box(box), box), gtfs=cut_gtfs(gtfs, tmp_path / "cut.zip", in_box(box))
    )
    ours, theirs = whole.tables, before.tables
    ours.report.pop("cut")
    for name, value in comparable(ours):
        if name not in ("report", "extent"):  # the same box, from `bounds` and from the header of the file
            assert value == dict(comparable(theirs))[name], name
    assert ours.extent is not None and theirs.extent is not None
    assert ours.extent.box == pytest.approx(theirs.extent.box)
    rng = np.random.default_rng(7)
    points = [(rng.uniform(*box[::2]), rng.uniform(*box[1::2])) for _ in range(80)]
    moment = {"milan": "2014-10-28T08:00:00", "helsinki": "2022-02-22T08:00:00"}[city]
    for mode in ("walking", "driving", "public_transport"):
        times = [
            tl.time_filter(
                each,
                points[:40],
                points[40:],
                travel_time=3600,
                transportation=mode,
                departure_time=moment,
                form="matrix",
            )
            for each in (whole, before)
        ]
        pd.testing.assert_frame_equal(*times)
        assert times[0].notna().to_numpy().sum() > 300


@pytest.mark.thorough
def test_memory_grows_with_the_cut(shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file four times as long takes no more memory for the same cut; libosmium's is not counted."""
    source, box = shared_data / "monaco/osm.pbf", region_of((7.40, 43.72, 7.42, 43.74))
    # Both files are shorter than the parts in which larger ones are read.
    monkeypatch.setattr("traveltime_lab.readers.osm.cut._TEXT_BYTES", 1 << 20)
    monkeypatch.setattr("traveltime_lab.readers.osm.blobs._PART_BYTES", 1 << 18)
    peaks = []
    for n_copies in (1, 4):
        path = tmp_path / f"{n_copies}.osm.pbf"
        _repeated(source, path, n_copies)
        read_osm(path, region=box)
        tracemalloc.start()
        read_osm(path, region=box)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def _repeated(source: Path, target: Path, n_copies: int) -> None:
    """Write a file with copies of all nodes, ten degrees to the east of each other, sorted by id."""
    with osmium.SimpleWriter(str(target)) as writer:
        for copy in range(n_copies):
            for o in osmium.FileProcessor(str(source), osmium.osm.NODE):
                place = (o.location.lon + 10 * copy, o.location.lat)
                writer.add_node(o.replace(id=o.id + copy * 10**10, location=place, tags={}))
        for o in osmium.FileProcessor(str(source), osmium.osm.WAY):
            writer.add_way(o)
