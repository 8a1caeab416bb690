"""
Every kind of file and body that the package reads, and how its hostile cases are made and read.

The law of all of them: an answer, or a TravelTimeError (of the service, a status below 500), within the memory and the
time of `tests.support.batches`.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import random
import shutil
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import osmium
import pandas as pd
import pyarrow as pa
import shapely

import traveltime_lab as tl
from tests.support import mutations
from tests.support.door import FORUM, PAIR, STATION, Door, open_door
from tests.support.osm_files import osm_xml
from tests.support.requests import QUERIES, RIGHT
from tests.support.sealed import resealed
from traveltime_lab.jobs.point_files import read_point_file
from traveltime_lab.network import checksums
from traveltime_lab.readers.gtfs.feed import read_timetable
from traveltime_lab.realtime.json_messages import to_bytes
from traveltime_lab.server.auth import find_pairs
from traveltime_lab.server.postcodes import Zones

#: A place and another one on the streets of the world, and a moment at which its line runs.
HOME, WORK = (0.4995, 0.5), (0.5205, 0.5)
MORNING = "2026-03-02T07:50:00"
#: The file of the world's network, and what else lies beside it.
NETWORK = "ready.network"


@dataclass(frozen=True)
class Kind:
    """
    A kind of file or body.

    Attributes
    ----------
    name : str
    make : callable
        Writes good files into a folder, given that of the world.
    load : callable
        Returns what all cases need, given the folder of good files.
    case : callable
        Makes a case in the current folder, and reads it.
    cost : int
        How many times as long as others a case takes; the ordinary and thorough tests try fewer of them in proportion.
    """

    name: str
    make: Callable[[Path, Path], None]
    load: Callable[[Path], Any]
    case: Callable[[Any, random.Random], object]
    cost: int = 1


KINDS: dict[str, Kind] = {}


def _kind(name: str, make: Any, case: Any, *, load: Any = None, cost: int = 1) -> None:
    KINDS[name] = Kind(name, make, load or _contents, case, cost)


def make_world(folder: Path) -> None:
    """Write a small network with everything: streets, restrictions, a timetable, and prepared values."""
    from tests.test_fuzz import make_world as made

    network = made(folder).network.prepare("walking", "driving", "public_transport")
    network.save(folder / NETWORK)


def warm(folder: Path) -> tl.Network:
    """Load and search, so that forked processes have the kernels; nothing here has threads of its own."""
    network = tl.load_network(folder / NETWORK)
    search(network)
    network.with_updates(to_bytes(b'{"header": {"gtfs_realtime_version": "2.0"}}', "none"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without the timetable
        tl.build_network((network.nodes_frame(), network.edges_frame()), timezone="UTC")
    from traveltime_lab.server import app, atlas, auth  # noqa: F401 - an optional extra

    return network


def search(network: tl.Network) -> None:
    """Ask a network for everything that is stored in it."""
    home = gpd.GeoSeries.from_xy(*zip(HOME, WORK, strict=True), crs="EPSG:4326")
    for how in (
        {"transportation": "walking"},
        {"transportation": "driving", "departure_time": MORNING},
        {"transportation": "public_transport", "departure_time": MORNING},
    ):
        with contextlib.suppress(tl.InputError, tl.UnsupportedError):  # the place, or the timetable, is elsewhere
            tl.time_filter(network, home, home, travel_time=1500, **how)
            tl.time_map(network, home.iloc[:1], travel_time=600, **how)
            tl.routes(network, home.iloc[:1], home, **how)


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def _write(name: str, content: bytes) -> Path:
    path = Path(name)
    path.write_bytes(content)
    return path


def _network(folder: Path) -> tl.Network:
    return tl.load_network(folder.parent / NETWORK)


def _other(files: Mapping[str, bytes], name: str) -> bytes:
    """Return another of some files, to splice with."""
    return next((content for each, content in files.items() if each != name), b"")


# OpenStreetMap --------------------------------------------------------------------------------------------------------


def _osm() -> bytes:
    """Return streets with all that is read: restrictions, conditions, multipolygons, water, places, barriers."""
    nodes = {i: (0.498 + 0.002 * i, 0.5) for i in range(1, 9)} | {
        i + 20: (0.498 + 0.002 * i, 0.502) for i in range(1, 9)
    }
    ways = [
        (1, " ".join(map(str, range(1, 9))), "highway=residential|name=First Street|maxspeed=30 mph|surface=gravel"),
        (2, " ".join(map(str, range(21, 29))), "highway=tertiary|oneway=yes|maxspeed:conditional=20 @ (07:00-09:00)"),
        *((i + 2, f"{i} {i + 20}", "highway=residential|access=destination|lanes=2") for i in range(1, 9)),
        (30, "1 2 22 21 1", "natural=water"), (31, "3 4 24", ""), (32, "24 23 3", ""),
        (33, "5 6 26 25 5", "highway=pedestrian|area=yes"), (34, "7 28", "route=ferry|duration=00:05|foot=yes"),
        (35, "8 28", "natural=coastline"),
    ]  # fmt: skip
    relations = [
        (90, "w1@from n2@via w4@to", "type=restriction|restriction=no_left_turn"),
        (91, "w1@from n3@via w5@to", "type=restriction|restriction:conditional=no_right_turn @ (Mo-Fr 07:00-09:00)"),
        (92, "w31@outer w32@outer", "type=multipolygon|natural=water"),
    ]
    tags = {2: "highway=traffic_signals", 3: "barrier=gate|access=private", 4: "place=town|name=Town|population=5000",
            5: "amenity=cafe|name=Café"}  # fmt: skip
    head = '<bounds minlat="0.49" minlon="0.49" maxlat="0.51" maxlon="0.53"/>'
    return osm_xml(nodes, ways, relations, tags, head)


def _make_osm(_world: Path, folder: Path) -> None:
    (folder / "a.osm").write_bytes(_osm())
    (folder / "a.osm.gz").write_bytes(gzip.compress(_osm()))
    (folder / "a.osm.bz2").write_bytes(bz2.compress(_osm()))
    for name, options in (("a.osm.pbf", "pbf"), ("b.osm.pbf", "pbf,pbf_dense_nodes=false,pbf_compression=none")):
        with osmium.SimpleWriter(osmium.io.File(str(folder / name), options)) as writer:
            for item in osmium.FileProcessor(str(folder / "a.osm")):
                writer.add(item)


def _osm_xml(files: dict[str, bytes], dice: random.Random) -> None:
    tl.build_network(_write("x.osm", mutations.of_xml(files["a.osm"], dice)), timezone="UTC")


def _osm_packed(files: dict[str, bytes], dice: random.Random) -> None:
    how = dice.choice(["gz", "bz2"])
    content = mutations.in_stream(files[f"a.osm.{how}"], dice, mutations.of_xml, how)
    tl.build_network(_write(f"x.osm.{how}", content), timezone="UTC")


def _osm_pbf(files: dict[str, bytes], dice: random.Random) -> None:
    name = dice.choice(["a.osm.pbf", "b.osm.pbf"])
    is_spliced = dice.random() < 0.05
    content = (
        mutations.of_bytes(files[name], dice, files["b.osm.pbf"]) if is_spliced else mutations.in_pbf(files[name], dice)
    )
    tl.build_network(_write("x.osm.pbf", content), timezone="UTC")


_kind("osm xml", _make_osm, _osm_xml, cost=5)
_kind("osm packed", _make_osm, _osm_packed, cost=5)
_kind("osm pbf", _make_osm, _osm_pbf, cost=5)


# Timetables -----------------------------------------------------------------------------------------------------------


def _make_feed(world: Path, folder: Path) -> None:
    from tests.support.feeds import LINE, text

    files = {f"{name}.txt": text(block).encode() for name, block in LINE.items()}
    files |= {
        "calendar_dates.txt": b"service_id,date,exception_type\ndaily,20260501,2\n",
        "frequencies.txt": b"trip_id,start_time,end_time,headway_secs,exact_times\nu,08:00:00,10:00:00,600,0\n",
        "transfers.txt": b"from_stop_id,to_stop_id,transfer_type,min_transfer_time\na,b,2,120\n",
        "shapes.txt": b"shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence\ns,0.5,0.5,1\ns,0.5,0.52,3\n",
        "fare_attributes.txt": b"fare_id,price,currency_type,payment_method,transfers\nf,1.50,EUR,0,\n",
        "fare_rules.txt": b"fare_id,route_id\nf,R\n",
        "feed_info.txt": b"feed_publisher_name,feed_publisher_url,feed_lang\nA,http://a,en\n",
        "trips.txt": b"route_id,service_id,trip_id,shape_id,block_id\nR,daily,t,s,1\nR,daily,u,,1\n",
        "stop_times.txt": files["stop_times.txt"] + b"u,1,c,9:00:00,9:00:00\nu,2,b,,\nu,3,a,9:20:00,9:20:00\n",
        "stops.txt": (
            b"stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station,wheelchair_boarding,level_id\n"
            b"a,Ash,0.5,0.50,0,S,1,L\nb,Birch,0.5,0.51,0,,,\nc,Cedar,0.5,0.52,0,,2,\n"
            b"S,Station,0.5,0.50,1,,1,\ne,Door,0.5,0.501,2,S,0,L\nn,Hall,,,3,S,,\ng,Gate,,,4,a,,\n"
        ),
        "levels.txt": b"level_id,level_index,level_name\nL,0,Street\n",
        "pathways.txt": (
            b"pathway_id,from_stop_id,to_stop_id,pathway_mode,is_bidirectional,length,traversal_time,stair_count,"
            b"max_slope,min_width,signposted_as\np,e,n,1,1,20.5,30,,0.05,1.2,Hall\nq,n,a,5,1,,90,,,,\n"
            b"r,e,a,2,0,,,40,,,\n"
        ),
    }
    (folder / "feed.zip").write_bytes(mutations.zipped([*files.items()]))
    shutil.copy(world / "feed.zip", folder / "other.zip")


def _gtfs(state: tuple[dict[str, bytes], tl.Network], dice: random.Random) -> None:
    files, town = state
    if dice.random() < 0.05:
        content = mutations.of_bytes(files["feed.zip"], dice, files["other.zip"])
    else:
        content = mutations.in_zip(files["feed.zip"], dice, mutations.of_table)
    path = _write("x.zip", content)
    if dice.random() < 0.8:
        read_timetable(path)
    else:
        search(tl.build_network(town.tables, gtfs=path, timezone="UTC"))


def _with_network(folder: Path) -> tuple[dict[str, bytes], tl.Network]:
    return _contents(folder), _network(folder)


_kind("gtfs", _make_feed, _gtfs, load=_with_network, cost=3)


# Points and zones -----------------------------------------------------------------------------------------------------


def _points() -> gpd.GeoDataFrame:
    places = gpd.points_from_xy([0.4995, 0.5205, 0.51], [0.5, 0.5, 0.502])
    return gpd.GeoDataFrame({"id": ["a", "b", "c"], "people": [1.5, 2.0, 3.0]}, geometry=places, crs="EPSG:4326")


def _make_points(_world: Path, folder: Path) -> None:
    points = _points()
    plain = pd.DataFrame({"id": points["id"], "lng": points.geometry.x, "lat": points.geometry.y})
    plain.to_csv(folder / "a.csv", index=False)
    plain.to_csv(folder / "a.tsv", index=False, sep="\t")
    (folder / "a.csv.gz").write_bytes(gzip.compress((folder / "a.csv").read_bytes()))
    (folder / "a.parquet").write_bytes(mutations.parquet(pa.Table.from_pandas(plain)))
    points.to_parquet(folder / "b.parquet", compression=None)
    for ending, driver in (("geojson", "GeoJSON"), ("gpkg", "GPKG"), ("fgb", "FlatGeobuf"), ("gml", "GML")):
        points.to_file(folder / f"a.{ending}", driver=driver)
    points.to_file(folder / "a.shp")
    (folder / "a.shp.zip").write_bytes(
        mutations.zipped(
            [(path.name, path.read_bytes()) for path in sorted(folder.glob("a.*")) if path.suffix in _SHAPES]
        )
    )


_SHAPES = (".shp", ".shx", ".dbf", ".prj", ".cpg")


def _point_table(files: dict[str, bytes], dice: random.Random) -> None:
    name = dice.choice(["a.csv", "a.tsv", "a.csv.gz"])
    if name.endswith(".gz"):
        content = mutations.in_stream(files[name], dice, mutations.of_table, "gz")
    else:
        content = mutations.of_table(files[name], dice, b"\t" if name.endswith(".tsv") else b",")
    read_point_file(_write(f"x{name[1:]}", content), dice.choice([None, None, "id", "lng", "none"]))


def _point_json(files: dict[str, bytes], dice: random.Random) -> None:
    read_point_file(_write("x.geojson", mutations.of_json(json.loads(files["a.geojson"]), dice)))


def _point_vector(files: dict[str, bytes], dice: random.Random) -> None:
    name = dice.choice(["a.gpkg", "a.fgb", "a.gml", "a.shp.zip"])
    if name.endswith(".zip"):
        content = mutations.in_zip(files[name], dice, mutations.of_bytes)
    elif name.endswith(".gml"):
        content = mutations.of_xml(files[name], dice)
    else:
        content = mutations.of_bytes(files[name], dice)
    read_point_file(_write(f"x{name[1:]}", content))


def _point_parquet(files: dict[str, bytes], dice: random.Random) -> None:
    content = mutations.of_parquet(files[dice.choice(["a.parquet", "b.parquet"])], dice)
    read_point_file(_write("x.parquet", content), dice.choice([None, None, "id", "people"]))


_kind("points csv", _make_points, _point_table)
_kind("points geojson", _make_points, _point_json)
_kind("points vector", _make_points, _point_vector)
_kind("points parquet", _make_points, _point_parquet)


def _make_speeds(_world: Path, folder: Path) -> None:
    speeds = pd.DataFrame({"edge": [0, 0, 1, 2], "direction": ["forward", "backward", "both", None]})
    speeds = speeds.assign(day=["monday", "weekend", "3", None], hour=[0, 8, 17, 23], kph=[5.0, 20.5, 33.0, 90.0])
    speeds.to_csv(folder / "a.csv", index=False)
    (folder / "a.csv.gz").write_bytes(gzip.compress((folder / "a.csv").read_bytes()))
    (folder / "a.parquet").write_bytes(mutations.parquet(pa.Table.from_pandas(speeds)))
    speeds.assign(day=[0, 5, 3, 6]).to_parquet(folder / "b.parquet", compression=None, row_group_size=2)


def _measured_speeds(state: tuple[dict[str, bytes], tl.Network], dice: random.Random) -> None:
    files, network = state
    name = dice.choice(["a.csv", "a.csv.gz", "a.parquet", "b.parquet"])
    if name.endswith(".gz"):
        content = mutations.in_stream(files[name], dice, mutations.of_table, "gz")
    else:
        content = (mutations.of_table if name == "a.csv" else mutations.of_parquet)(files[name], dice)
    tl.add_speeds(network, profile=_write(f"x{name[1:]}", content)).edges_frame(MORNING)


_kind("measured speeds", _make_speeds, _measured_speeds, load=_with_network)


def _make_zones(_world: Path, folder: Path) -> None:
    zones = pd.DataFrame({"postcode": ["AB1 2CD", "AB1 3CD", "X9"], "lat": [0.5, 0.5, 0.502], "lng": [0.5, 0.51, 0.52]})
    zones["district"] = ["ab1", "ab1", "x"]
    zones.to_csv(folder / "a.csv", index=False)
    (folder / "a.csv.bz2").write_bytes(bz2.compress((folder / "a.csv").read_bytes()))
    (folder / "a.parquet").write_bytes(mutations.parquet(pa.Table.from_pandas(zones)))


def _zone_table(files: dict[str, bytes], dice: random.Random) -> None:
    if dice.random() < 0.2:
        path = _write("x.csv.bz2", mutations.in_stream(files["a.csv.bz2"], dice, mutations.of_table, "bz2"))
    else:
        path = _write("x.csv", mutations.of_table(files["a.csv"], dice))
    Zones.read(path).find("ab1 2")


def _zone_parquet(files: dict[str, bytes], dice: random.Random) -> None:
    Zones.read(_write("x.parquet", mutations.of_parquet(files["a.parquet"], dice))).find("ab1 2")


_kind("zones csv", _make_zones, _zone_table)
_kind("zones parquet", _make_zones, _zone_parquet)


# Rasters --------------------------------------------------------------------------------------------------------------


def _make_rasters(world: Path, folder: Path) -> None:
    import rasterio

    shutil.copy(world / "hills.tif", folder / "a.tif")
    profile = {"driver": "GTiff", "width": 32, "height": 32, "count": 1, "dtype": "float32", "crs": "EPSG:4326"}
    place = rasterio.Affine(0.001, 0, 0.49, 0, -0.001, 0.51)
    for name, how in (
        ("b.tif", {"compress": "deflate"}),
        ("c.tif", {"tiled": True, "blockxsize": 16, "blockysize": 16}),
    ):
        with rasterio.open(folder / name, "w", transform=place, nodata=-1, **profile, **how) as file:
            file.write(np.arange(1024, dtype=np.float32).reshape(32, 32) % 47, 1)


def _raster(files: dict[str, bytes], dice: random.Random) -> Path:
    return _write("x.tif", mutations.of_tiff(files[dice.choice(["a.tif", "b.tif", "c.tif"])], dice))


def _heights(state: tuple[dict[str, bytes], tl.Network], dice: random.Random) -> None:
    tl.add_elevation(state[1], _raster(state[0], dice))


def _counts(files: dict[str, bytes], dice: random.Random) -> None:
    path = _raster(files, dice)
    if dice.random() < 0.5:
        tl.counts_to_h3(path, 4)  # of finer cells a damaged file may have 5 million, which is the limit
    else:
        tl.counts_to_points(path, [HOME, WORK])


_kind("heights", _make_rasters, _heights, load=_with_network, cost=3)
_kind("counts", _make_rasters, _counts, cost=2)


# Changes --------------------------------------------------------------------------------------------------------------


def _every_change() -> list[Any]:
    square = shapely.box(0.499, 0.499, 0.505, 0.501)
    return [
        tl.CloseStreets(square, modes=["driving", "walking"], name="Fair"),
        tl.ReopenStreets(edges=3),
        tl.SetSpeed(ways=1, modes="cycling", factor=0.5),
        tl.AddCycleTrack(ways=1, direction="forward"),
        tl.MakeStepFree(ways=1),
        tl.AddStreet([(0.5, 0.5), (0.501, 0.5015)], {"walking": 5, "driving": 30}, oneway=True, highway="primary"),
        tl.ScaleHeadway("R", 1.5),
        tl.SetHeadway("R", "7:00", "9:00", 300),
        tl.ShiftTrips("R", -60, start="07:00", end="08:30"),
        tl.AddStop("n", 0.506, 0.5, stop_name="Nook"),
        tl.AddLine("X", ["a", "n"], headway=600, start="6:00", end="22:00", speed=25, dwell=20, days="monday"),
        tl.RemoveStops("c"),
        tl.RemoveRoutes(["X"]),
    ]


def _make_changes(_world: Path, folder: Path) -> None:
    tl.save_changes(_every_change(), folder / "a.json")


def _changes(state: tuple[dict[str, bytes], tl.Network], dice: random.Random) -> None:
    files, town = state
    content = json.loads(files["a.json"])
    content["changes"] = dice.sample(content["changes"], dice.choice([1, 1, 2, 3, len(content["changes"])]))
    changes = tl.load_changes(_write("x.json", mutations.of_json(content, dice)))
    tl.save_changes(changes, "y.json")
    town.with_changes(changes)


_kind("changes", _make_changes, _changes, load=_with_network, cost=2)


# Live updates ---------------------------------------------------------------------------------------------------------


def _make_updates(_world: Path, folder: Path) -> None:
    trip = {"trip_id": "t", "start_date": "20260302"}
    times = [{"stop_sequence": 2, "arrival": {"delay": 60}}, {"stop_id": "c", "departure": {"time": 1_772_440_000}}]
    new = [{"stop_id": stop, "arrival": {"time": 1_772_440_000 + i * 60}} for i, stop in enumerate("abc")]
    entities = [
        {"trip_update": {"trip": trip, "stop_time_update": times, "delay": 5, "timestamp": 1_772_437_000}},
        {"trip_update": {"trip": {**trip, "schedule_relationship": "CANCELED"}}},
        {"trip_update": {"trip": {"trip_id": "n", "route_id": "R", "schedule_relationship": "NEW"},
                         "stop_time_update": new}},
        {"trip_update": {"trip": {**trip, "schedule_relationship": "DUPLICATED"},
                         "trip_properties": {"trip_id": "d", "start_date": "20260303", "start_time": "9:00:00"}}},
        {"trip_update": {"trip": {"route_id": "R", "start_time": "08:00:00"}, "delay": 60}},
        {"alert": {"effect": "NO_SERVICE", "informed_entity": [{"stop_id": "b"}, {"route_id": "R"}],
                   "active_period": [{"start": 1_772_437_000, "end": 1_772_537_000}]}},
        {"vehicle": {"trip": trip, "position": {"latitude": 0.5, "longitude": 0.5}, "current_status": "STOPPED_AT"}},
    ]  # fmt: skip
    value = {
        "header": {"gtfs_realtime_version": "2.0", "timestamp": 1_772_437_000},
        "entity": [{"id": str(i), **entity} for i, entity in enumerate(entities)],
    }
    (folder / "a.json").write_text(json.dumps(value), encoding="utf-8")


def _updates_json(state: tuple[dict[str, bytes], tl.Network], dice: random.Random) -> None:
    files, town = state
    content = mutations.of_json(json.loads(files["a.json"]), dice)
    search(town.with_updates(_write("x.json", content)))


def _updates_pb(state: tuple[dict[str, bytes], tl.Network], dice: random.Random) -> None:
    files, town = state
    content = mutations.of_bytes(to_bytes(files["a.json"], "a"), dice)
    if dice.random() < 0.2:
        content = mutations.of_bytes(gzip.compress(content), dice)
    search(town.with_updates(_write("x.pb", content)))


_kind("updates in json", _make_updates, _updates_json, load=_with_network, cost=2)
_kind("updates", _make_updates, _updates_pb, load=_with_network, cost=2)


def _make_archive(world: Path, folder: Path) -> None:
    _make_updates(world, folder)
    rows = ["t,2026-03-02,1,1772438460,08:01:05,", "t,20260302,2,08:12:00,2026-03-02T08:12:30,1", "x,,3,,25:00:00,9"]
    text = "\n".join(["trip_id,date,stop_sequence,arrival,departure,scheduled", *rows])
    (folder / "t.csv").write_text(text, encoding="utf-8")


def _archive(state: tuple[dict[str, bytes], tl.Network], dice: random.Random) -> None:
    files, town = state
    table, message = mutations.of_bytes(files["t.csv"], dice), to_bytes(files["a.json"], "a")
    if dice.random() < 0.2:
        table = mutations.of_bytes(gzip.compress(table), dice)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("t.csv", table)
        archive.writestr("a.pb", mutations.of_bytes(message, dice))
    packed = content.getvalue() if dice.random() < 0.8 else mutations.of_bytes(content.getvalue(), dice)
    days = tl.observed_days(town, _write("x.zip", packed))
    days.quality()
    days.findings()
    for network in days.values():
        search(network)


_kind("archive", _make_archive, _archive, load=_with_network, cost=2)


# Folders of jobs ------------------------------------------------------------------------------------------------------


def _ask(job: str, town: tl.Network, folder: Path) -> None:
    how: dict[str, Any] = {"travel_time": 600, "transportation": "walking", "progress": False}
    if job == "matrix":
        tl.write_matrix(town, _points().set_index("id"), _points(), folder, part_size=3, **how)
    elif job == "areas":
        tl.write_areas(town, _points(), folder, part_size=1, **how)
    else:
        tl.write_networks({"today": [], "works": tl.CloseStreets(edges=0)}, folder, base=town, progress=False)


def _make_job(job: str) -> Callable[[Path, Path], None]:
    def make(world: Path, folder: Path) -> None:
        _ask(job, tl.load_network(world / NETWORK), folder / "whole")

    return make


def _load_job(folder: Path) -> tuple[dict[str, bytes], tl.Network]:
    return _contents(folder / "whole"), _network(folder)


def _job(job: str) -> Callable[[Any, random.Random], None]:
    def case(state: tuple[dict[str, bytes], tl.Network], dice: random.Random) -> None:
        files, town = state
        folder = Path("x")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        given = dict(files)
        if dice.random() < 0.5:  # as one that is not finished
            manifest = json.loads(given["_manifest.json"])
            parts = manifest.pop("parts")
            manifest.pop("n_rows", None)  # of tables
            given["_manifest.json"] = json.dumps(manifest).encode()
            given["_parts.jsonl"] = b"".join(json.dumps(part).encode() + b"\n" for part in parts)
        name = dice.choice([*given, *(each for each in given if each[0] == "_"), "_manifest.json"])
        if name == "_manifest.json":
            given[name] = mutations.of_json(json.loads(given[name]), dice)
        elif name == "_parts.jsonl":
            lines = given[name].splitlines()
            at = dice.randrange(len(lines))
            lines[at] = mutations.of_json(json.loads(lines[at]), dice)
            given[name] = b"\n".join(lines)
        else:
            given[name] = mutations.of_bytes(given[name], dice, _other(given, name))
        for each, content in given.items():
            (folder / each).write_bytes(content)
        _ask(job, town, folder)
        assert _contents(folder) == files, "it goes on, and the result differs"

    return case


for _name in ("matrix", "areas", "networks"):
    _kind(f"folder of {_name}", _make_job(_name), _job(_name), load=_load_job, cost=3)


# Receipts -------------------------------------------------------------------------------------------------------------


def _answers(town: tl.Network) -> dict[str, Any]:
    points = _points().set_index("id")
    walk: dict[str, Any] = {"transportation": "walking", "travel_time": 900}
    ride: dict[str, Any] = {"transportation": "public_transport", "travel_time": 1800}
    decay = tl.Decay("step", steps={300: 1, 600: 0.5})
    changed = town.with_changes([tl.SetSpeed(edges=0, kph=1, modes="walking")])
    pairs = pd.DataFrame({"origin": ["a", "a"], "destination": ["b", "c"]})
    return {
        "time_filter": tl.time_filter(town, points, points, **walk),
        "pairs": tl.time_filter(town, points, points, pairs=pairs, **walk),
        "ride": tl.time_filter(town, points, points, departure_time="weekday_morning", **ride),
        "time_map": tl.time_map(town, points, **walk),
        "snap": tl.snap(town, points),
        "h3_cells": tl.h3_cells(town, points.iloc[:1], resolution=9, **walk),
        "accessibility": tl.accessibility(town, points, points, decay=decay, values="people", **walk),
        "changed": tl.time_filter(changed, points, points, **walk),
    }


def _make_receipts(world: Path, folder: Path) -> None:
    town = tl.load_network(world / NETWORK)
    for name, answer in _answers(town).items():
        answer.to_parquet(folder / f"{name}.parquet", compression=None)
        (folder / f"{name}.json").write_bytes(json.dumps(dict(tl.receipt(answer))).encode())
    map_ = tl.TravelTimeMap(town, _points(), travel_time=300, transportation="walking", folder=folder)
    shutil.move(map_.to_geojson(), folder / "map.geojson")


def _receipt_json(state: tuple[dict[str, bytes], tl.Network], dice: random.Random) -> None:
    files, town = state
    name = dice.choice([each for each in files if each.endswith(".json")])
    try:
        damaged = json.loads(mutations.of_json(json.loads(files[name]), dice))
    except (ValueError, RecursionError):
        return  # it has come as an object of Python
    if isinstance(damaged, dict):
        tl.replay(damaged, town)


def _receipt_file(state: tuple[dict[str, bytes], tl.Network], dice: random.Random) -> None:
    files, town = state
    name = dice.choice([each for each in files if not each.endswith(".json")])
    if name.endswith(".geojson"):
        tl.receipt(_write("x.geojson", mutations.of_json(json.loads(files[name]), dice)))
    else:
        path = _write("x.parquet", mutations.of_parquet(files[name], dice))
        if dice.random() < 0.5:
            tl.receipt(path)
        else:
            tl.replay(path, town)


_kind("receipt", _make_receipts, _receipt_json, load=_with_network, cost=2)
_kind("receipt in a file", _make_receipts, _receipt_file, load=_with_network, cost=2)


# Saved networks -------------------------------------------------------------------------------------------------------


def _make_saved(world: Path, folder: Path) -> None:
    shutil.copy(world / NETWORK, folder / "a.network")
    shutil.copy(world / "town.network", folder / "b.network")


def _use(path: Path, dice: random.Random) -> None:
    network = tl.load_network(path, verify=dice.random() < 0.8)
    if dice.random() < 0.25:
        search(network)
        str(network.report())
        network._repr_html_()


def _saved_bytes(files: dict[str, bytes], dice: random.Random) -> None:
    """Change bytes, and seal the file again."""
    content = mutations.of_bytes(files["a.network"], dice, files["b.network"])
    if len(content) == len(files["a.network"]) or dice.random() < 0.3:
        content = resealed(content)
    _use(_write("x.network", content), dice)


def _saved_columns(files: dict[str, bytes], dice: random.Random) -> None:
    """Change the header or a column, as a writer of Arrow would."""
    table = pa.ipc.open_file(pa.BufferReader(files["a.network"])).read_all()
    key = b"traveltime_lab.network"
    if dice.random() < 0.4:
        header = mutations.of_json(json.loads(table.schema.metadata[key]), dice)
        table = table.replace_schema_metadata({key: header})
    else:
        for _ in range(dice.choice([1, 1, 2])):
            at = dice.randrange(table.num_columns)
            values = _column(table.column(at).chunk(0).values, dice)
            column = pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), values)
            table = table.set_column(at, table.column_names[at], column)
    path = Path("x.network")
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    try:
        checksums.seal(path)
    except tl.FormatError:
        return
    _use(path, dice)


def _column(values: pa.Array, dice: random.Random) -> pa.Array:
    """Return a column of a saved network with other numbers, of another length, or of another type."""
    if not len(values) or not pa.types.is_primitive(values.type) or dice.random() < 0.2:
        return mutations._column(values, dice)
    numbers = values.to_numpy(zero_copy_only=False).copy()
    kind = numbers.dtype
    what = dice.choice(["one", "one", "one", "some", "length", "order", "all"])
    if what in ("one", "some", "all"):
        n = {"one": 1, "some": dice.randint(1, len(numbers)), "all": len(numbers)}[what]
        at = dice.sample(range(len(numbers)), n)
        ends = [np.nan, np.inf, -np.inf, 1e300, -1.0, 0.0, 1e-300]
        if kind.kind in "iu":
            low, high = np.iinfo(kind).min, np.iinfo(kind).max
            near = int(numbers[at[0]]) + dice.choice([-1, 1, 1000])
            ends = [low, high, 0, min(max(near, low), high), min(len(numbers), high)]
        with np.errstate(all="ignore"):
            numbers[at] = np.array(dice.choice(ends)).astype(kind)
    elif what == "length":
        numbers = dice.choice([numbers[:-1], np.append(numbers, numbers[-1:]), numbers[:0], np.tile(numbers, 3)])
    else:
        numbers = dice.choice([numbers[::-1].copy(), np.roll(numbers, 1), np.sort(numbers)])
    return pa.array(numbers)


_kind("saved network", _make_saved, _saved_bytes, cost=3)
_kind("saved network, columns", _make_saved, _saved_columns, cost=3)


# Files of the service -------------------------------------------------------------------------------------------------


def _make_credentials(_world: Path, folder: Path) -> None:
    (folder / "pairs").write_bytes("# mine\nid:key\nother:schlüssel\n".encode())


def _credentials(files: dict[str, bytes], dice: random.Random) -> None:
    find_pairs(file=_write("x", mutations.of_table(files["pairs"], dice, b":")), environment={})


def _make_certificate(_world: Path, folder: Path) -> None:
    from traveltime_lab.server.tls import write_certificate

    write_certificate(folder, "127.0.0.1")


def _certificate(files: dict[str, bytes], dice: random.Random) -> None:
    from traveltime_lab.server.serve import _check_certificate

    name = dice.choice([*files])
    given = {**files, name: mutations.of_bytes(files[name], dice, _other(files, name))}
    paths = [_write(each, content) for each, content in sorted(given.items())]
    _check_certificate(*paths)


_kind("credentials", _make_credentials, _credentials)
_kind("certificate", _make_certificate, _certificate)


# Bodies and queries ---------------------------------------------------------------------------------------------------


def _moved(value: Any) -> Any:
    """Return a request of the samples at places of the world."""
    places = {STATION[0]: HOME[1], STATION[1]: HOME[0], FORUM[0]: WORK[1], FORUM[1]: WORK[0]}
    if isinstance(value, dict):
        return {key: _moved(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_moved(item) for item in value]
    return places.get(value, value) if isinstance(value, float) else value


def _load_door(folder: Path) -> Door:
    """Return a service of the world; its threads end with the process."""
    from traveltime_lab.server.app import create_app
    from traveltime_lab.server.atlas import Atlas
    from traveltime_lab.server.auth import Credentials

    table = pd.DataFrame({"postcode": ["AB1 2CD", "AB1 3CD"], "lat": [0.5, 0.5], "lng": [0.5, 0.51]})
    app = create_app(Atlas(_network(folder)), Credentials([PAIR]), None, Zones.from_table(table))
    opened = open_door(app)
    door = opened.__enter__()
    door.manager = opened  # a context manager that is collected as garbage closes the service
    return door


def _no_files(_world: Path, _folder: Path) -> None:
    """Make nothing."""


TYPES = ["walking", "cycling", "driving", "driving+ferry", "public_transport", "bus", "cycling+public_transport"]


def _check(response: Any) -> None:
    assert response.status_code < 500, f"{response.status_code}: {response.text[:200]}"
    if response.status_code >= 400:
        raise tl.InputError(response.text[:200] or "refused")


def _with_types(value: Any, dice: random.Random) -> Any:
    """Return a request for some means of transportation."""
    kind, more = dice.choice(TYPES), dice.sample(sorted(MORE), dice.choice([0, 0, 1, 2]))
    text = json.dumps(_moved(value)).replace('{"type": "walking"}', json.dumps({"type": kind}))
    options = "".join(f"{json.dumps(name)}: {json.dumps(MORE[name])}, " for name in more)
    return json.loads(text.replace('{"id": ', f'{{{options}"id": '))


def _body(path: str) -> Callable[[Door, random.Random], None]:
    def case(door: Door, dice: random.Random) -> None:
        body = mutations.of_json(_with_types(RIGHT[path], dice), dice)
        _check(door("POST", path, body=body, headers=JSON_HEADERS))

    return case


def _query(path: str) -> Callable[[Door, random.Random], None]:
    def case(door: Door, dice: random.Random) -> None:
        query = {**_moved(QUERIES[path])}
        if "type" in query:
            query["type"] = dice.choice(TYPES)
        pairs = [(key, str(value)) for key, value in query.items()]
        for _ in range(dice.choice([1, 1, 2, 3])):
            _damage(pairs, dice)
        _check(door("GET", path, query=[(key[:2000], value[:8000]) for key, value in pairs]))

    return case


def _damage(pairs: list[tuple[str, str]], dice: random.Random) -> None:
    """Change a pair of a query in place."""
    at = dice.randrange(len(pairs)) if pairs else 0
    key, value = pairs[at] if pairs else ("x", "1")
    fields = [field.decode("latin-1") for field in mutations.FIELDS]
    what = dice.choice(["value"] * 5 + ["bytes", "key", "again", "gone", "more"])
    new = {
        "value": [(key, dice.choice(fields))],
        "bytes": [(key, mutations.of_bytes(value.encode(), dice).decode("latin-1"))],
        "key": [(dice.choice(["", "x", key.upper(), f"{key}[]", "__class__"]), value)],
        "again": [(key, value), (key, dice.choice(fields))],
        "gone": [],
        "more": [(key, value), (dice.choice(OPTIONS), dice.choice([*fields, "true", "[]", "{}", "1800"]))],
    }
    pairs[at : at + 1] = new[what]


#: Options of searches; not every endpoint has them.
MORE: dict[str, Any] = {
    "range": {"enabled": True, "width": 1200, "max_results": 3},
    "snapping": {"penalty": "disabled", "accept_roads": "any_drivable", "threshold": 120},
    "level_of_detail": {"scale_type": "simple", "level": "low"},
    "polygons_filter": {"limit": 2}, "no_holes": True, "single_shape": True, "buffer_distance": 50,
    "remove_water_bodies": False, "render_mode": "road_buffering",
}  # fmt: skip
OPTIONS = [
    "travel_time", "departure_time", "arrival_time", "no_holes", "snapping", "polygons_filter", "level_of_detail",
    "single_shape", "limit", "within_country", "bounds", "focus.lat", "lat", "lng", "type", "range", "properties",
    "pt_change_delay", "format_name",
]  # fmt: skip
JSON_HEADERS = {"X-Application-Id": PAIR[0], "X-Api-Key": PAIR[1], "Content-Type": "application/json"}

for _path in RIGHT:
    _kind(f"POST {_path}", _no_files, _body(_path), load=_load_door, cost=2)
for _path in QUERIES:
    _kind(f"GET {_path}", _no_files, _query(_path), load=_load_door, cost=2)


def _messages(path: str) -> Iterator[bytes]:
    """Yield right messages of an endpoint of Protocol Buffers."""
    from traveltime_lab.server.protobuf import service_pb2

    is_matrix = "time-filter" in path
    for kind in ("oneToManyRequest", "manyToOneRequest"):
        for number in range(8):
            message = service_pb2.TimeFilterFastRequest() if is_matrix else service_pb2.CellsFastRequest()
            asked = getattr(message, kind)
            place = asked.departureLocation if kind == "oneToManyRequest" else asked.arrivalLocation
            place.lng, place.lat = HOME
            asked.transportation.type, asked.travelTime = number, 900
            if is_matrix:
                asked.locationDeltas.extend([0, 2100, 0, 100])
                asked.properties.extend([1])
            else:
                asked.resolution = 8 if "h3" in path else 6
                asked.properties.extend([0, 1, 2])
            yield message.SerializeToString()


def _message(path: str) -> Callable[[Door, random.Random], None]:
    rights = list(_messages(path))

    def case(door: Door, dice: random.Random) -> None:
        content = dice.choice(rights)
        for _ in range(dice.choice([1, 1, 2, 3])):
            content = mutations.of_message(content, dice)
        _check(door.proto(path, content[: mutations.MOST_BYTES]))

    return case


for _path in ("time-filter", "h3", "geohash"):
    _kind(f"message of {_path}", _no_files, _message(f"/api/v3/uk/{_path}/fast/walking"), load=_load_door)
