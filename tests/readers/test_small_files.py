"""Small files with huge numbers, long rows or much air: memory and time are bounded by what a file holds."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import osmium
import pyarrow as pa
import pytest

import traveltime_lab as tl
from tests.support import ROOT, repeated
from tests.support.feeds import feed
from tests.support.osm_files import osm_xml
from traveltime_lab import _files
from traveltime_lab.jobs.point_files import read_point_file
from traveltime_lab.kernels.street import nearest
from traveltime_lab.kernels.street.grid import build_grid
from traveltime_lab.readers.osm import blobs, extract
from traveltime_lab.readers.osm.streets import read_osm
from traveltime_lab.server.postcodes import Zones
from traveltime_lab.surfaces import raster

POND = [(7, "4 8 12", ""), (8, "12 16 4", "")]


def test_ids_of_members_take_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bit for each id up to 2 ** 55 takes 8.4 GB, and 4 MB for each of 2,000 ids far apart."""
    asked: list[list[int]] = []
    real = osmium.filter.IdFilter
    monkeypatch.setattr(osmium.filter, "IdFilter", lambda ids: asked.append(sorted(ids)) or real(ids))
    spread = " ".join(f"w{(i + 1) << 25}@outer" for i in range(2000))
    for i, members in enumerate(["", "w1234567890@outer", f"w{2**55}@outer", f"w{2**56}@outer", f"w{2**62}@", spread]):
        path = tmp_path / f"{i}.osm"
        relation = (1, f"w7@outer w8@outer {members}", "type=multipolygon natural=water")
        path.write_bytes(osm_xml(repeated.NODES, [*repeated.WAYS, *POND], [relation]))
        read_osm(path)
    assert asked and max(map(max, asked)) < 2**31 and max(map(len, asked)) < 10


def test_ways_by_id_are_the_same_with_and_without_the_filter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "town.osm"
    path.write_bytes(osm_xml(repeated.NODES, [*repeated.WAYS, (2**40, "1 2", "highway=path")]))

    def found(ids: list[int]) -> Any:
        with extract.OsmFile(path) as file:
            ways = file.ways_by_id(ids)
        return ways.osm_id.tolist(), ways.tags, ways.indptr.tolist(), ways.refs.tolist()

    for ids in ([], [1], [3, 1, 99], [2**40, 2]):
        expected = found(ids)
        with monkeypatch.context() as patch:
            patch.setattr(extract, "_FILTER_BYTES", -(2**60))
            assert found(ids) == expected


def test_every_cut_of_a_pbf_is_refused(tmp_path: Path) -> None:
    content = repeated._files(tmp_path)["osm.pbf"].read_bytes()
    path, n_whole = tmp_path / "cut.osm.pbf", 0
    for n_bytes in range(1, len(content)):
        path.write_bytes(content[:n_bytes])
        try:
            extract.OsmFile(path)
        except tl.DataError as error:
            assert "is not readable as OpenStreetMap data (pbf): PBF error" in str(error)
        else:
            n_whole += 1  # it ends between two blobs
    assert n_whole == 3


@pytest.mark.parametrize("n_fields", [4, 5_000])
@pytest.mark.parametrize("before", ["", "b,3,4\n"])
def test_rows_that_are_longer_than_the_header(tmp_path: Path, n_fields: int, before: str) -> None:
    """Of the first one, pandas made levels of an index."""
    for name, read, first in (("zones.csv", Zones.read, "postcode"), ("points.csv", read_point_file, "id")):
        path = tmp_path / name
        path.write_text(f"{first},lat,lng\n{before}a,1,2{',x' * (n_fields - 3)}\n")
        with pytest.raises(tl.DataError, match=f"Expected 3 fields in line .*, saw {n_fields}"):
            read(path)
        path.write_text(f"{first},lat,lng{',x' * 200_000}\na,1,2\n")
        with pytest.raises(tl.DataError, match="at most 1,000 are read"):
            read(path)
        path.write_text(f"\n{first},lat,lng\na,1,2\nb,3,4\n")
        read(path)


def test_pandas_reads_csv_in_one_place() -> None:
    """Whoever reads a table with `pandas.read_csv` itself gets its index from rows that are too long."""
    package = ROOT / "traveltime_lab"
    users = {
        path.name
        for path in package.rglob("*.py")
        if re.search(r"\b(pd|pandas)\.read_(csv|table|fwf)", path.read_text("utf-8"))
    }
    assert users == {"_csv.py"}


def test_feeds_that_unpack_to_much_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import zipfile

    path = feed(tmp_path)
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in content.items():
            archive.writestr(name, text + b"\n" * 500_000 * (name == "stops.txt"))
    tl.build_network(repeated._files(tmp_path)["osm"], gtfs=[path], timezone="UTC")
    monkeypatch.setattr(_files, "ALWAYS_UNPACKED", 100_000)
    with pytest.raises(tl.GtfsError, match=r"stops.txt unpacks from [\d,]+ to 500,[\d,]+ bytes, more than 100 times"):
        tl.build_network(repeated._files(tmp_path)["osm"], gtfs=[path], timezone="UTC")


PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("ending", list(PACKED))
def test_tables_that_unpack_to_much_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    text = b"%s,lat,lng\na,1,2\nb,3,4\n"
    # GDAL reads other points than those of .csv.gz.
    for read, column in ((Zones.read, b"postcode"), (read_point_file, b"id"))[: 1 + (ending == "gz")]:
        path = tmp_path / f"{column.decode()}.csv.{ending}"
        path.write_bytes(PACKED[ending](text % column + b"\n" * 500_000))
        read(path)
        with monkeypatch.context() as patch:
            patch.setattr(_files, "ALWAYS_UNPACKED", 100_000)
            with pytest.raises(tl.DataError, match=r"unpacks from [\d,]+ to more than 1\d\d,\d+ bytes"):
                read(path)
        path.write_bytes(PACKED[ending](text % column)[:-12])
        with pytest.raises(tl.DataError):
            read(path)


@pytest.mark.parametrize("ending", ["gz", "bz2"])
def test_extracts_that_unpack_to_much_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    xml = osm_xml(repeated.NODES, repeated.WAYS)
    path = tmp_path / f"town.osm.{ending}"
    path.write_bytes(PACKED[ending](xml + b"\n" * 500_000))
    read_osm(path)
    monkeypatch.setattr(_files, "ALWAYS_UNPACKED", 100_000)
    with pytest.raises(tl.DataError, match=r"unpacks from [\d,]+ to more than \d\d\d,\d+ bytes"):
        read_osm(path)
    path.write_bytes(PACKED[ending](xml))
    read_osm(path)


def test_pbf_blobs_that_unpack_to_much_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes one after another at one place are 3 bytes each, of which deflate makes a thousandth."""
    path = repeated._files(tmp_path)["osm.pbf"]
    n_unpacked = blobs_of(path)
    assert n_unpacked > path.stat().st_size / 2
    nodes = b"".join(_field(number, content) for number, content in ((1, b"\2" * N), (8, b"\0" * N), (9, b"\0" * N)))
    raw = _field(1, b"") + _field(2, _field(2, nodes))
    blob = b"\x10" + _varint(len(raw)) + _field(3, zlib.compress(raw, 9))
    header = _field(1, b"OSMData") + b"\x18" + _varint(len(blob))
    path.write_bytes(path.read_bytes() + len(header).to_bytes(4, "big") + header + blob)
    assert blobs_of(path) == n_unpacked + len(raw)
    extract.OsmFile(path)
    monkeypatch.setattr(_files, "ALWAYS_UNPACKED", 100_000)
    with pytest.raises(tl.DataError, match=r"unpacks from [\d,]+ to 3,\d+,\d+ bytes, more than 100 times as many"):
        extract.OsmFile(path)


def _pbf_of(kind: str, form: str, text: bytes) -> bytes:
    """Return a blob of data with one street and one relation, one of whose texts is `text`."""
    texts = dict.fromkeys(("key", "value", "role", "user"), b"text") | {kind: text}
    table = b"".join(_field(1, each) for each in (b"", *texts.values(), b"highway", b"residential"))
    way = b"\x08\x01" + _field(2, bytes([1, 5])) + _field(3, bytes([2, 6])) + _field(8, bytes([2, 2]))
    relation = b"\x08\x01" + _field(2, bytes([1])) + _field(3, bytes([2]))
    relation += _field(8, bytes([3])) + _field(9, bytes([2])) + _field(10, bytes([1]))
    raw = _field(1, table) + _field(2, _field(3, way)) + _field(2, _field(4, relation))
    packed = {
        "raw": lambda: _field(1, raw),
        "zlib": lambda: _field(3, zlib.compress(raw)),
        "lz4": lambda: _field(6, pa.Codec("lz4_raw").compress(raw, asbytes=True)),
    }[form]()
    blob = b"\x10" + _varint(len(raw)) + packed
    header = _field(1, b"OSMData") + b"\x18" + _varint(len(blob))
    return len(header).to_bytes(4, "big") + header + blob


@pytest.mark.parametrize("form", ["raw", "zlib", "lz4"])
@pytest.mark.parametrize("kind", ["key", "value", "role", "user"])
def test_texts_with_null_bytes_in_a_pbf(tmp_path: Path, kind: str, form: str) -> None:
    """In a tag they end the process: libosmium reads behind the tags of the object."""
    path = repeated._files(tmp_path)["osm.pbf"]
    start = path.read_bytes()
    path.write_bytes(start + _pbf_of(kind, form, b"te\nxt"))
    extract.OsmFile(path)
    for text in (b"te\0xt", b"\0", b"text\0"):
        path.write_bytes(start + _pbf_of(kind, form, text))
        with pytest.raises(tl.DataError, match=rf"a text with a null byte in the blob at byte {len(start) + 15:,}"):
            extract.OsmFile(path)


#: Fields that libosmium skips or reads otherwise, before the texts: of fixed length, a number where texts are expected,
#: and a length of more than 32 bits.
ODD = {"fixed": b"\x7d" + bytes(4), "number": b"\x08\x01", "long": b"\x7a\x80\x80\x80\x80\x10"}


@pytest.mark.parametrize("odd", ODD)
def test_null_bytes_behind_odd_fields_of_a_pbf(tmp_path: Path, odd: str) -> None:
    path = repeated._files(tmp_path)["osm.pbf"]
    table = _field(1, b"") + _field(1, b"te\0xt")
    raw = ODD[odd] + _field(1, table)
    for blob in (_field(1, raw), _field(3, b"x") + _field(3, zlib.compress(_field(1, table)))):
        blob = b"\x10" + _varint(len(raw)) + blob
        header = _field(1, b"OSMData") + b"\x18" + _varint(len(blob))
        damaged = tmp_path / "damaged.osm.pbf"
        damaged.write_bytes(path.read_bytes() + len(header).to_bytes(4, "big") + header + blob)
        with pytest.raises(tl.DataError, match="damaged data in the blob at byte"):
            extract.OsmFile(damaged)


N = 1_000_000


def _varint(value: int) -> bytes:
    more = bytearray()
    while value > 127:
        more.append(value & 127 | 128)
        value >>= 7
    return bytes([*more, value])


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def blobs_of(path: Path) -> int:
    """Return the bytes of all blobs when unpacked, by a look at each of their fields."""
    content, at, n_bytes = path.read_bytes(), 0, 0
    while at < len(content):
        n_header = int.from_bytes(content[at : at + 4], "big")
        size = dict(blobs._pairs(content[at + 4 : at + 4 + n_header]))[3]
        assert isinstance(size, int)
        at += 4 + n_header
        whole = dict(blobs._pairs(content[at : at + size]))[2]
        assert isinstance(whole, int)
        with path.open("rb") as file:
            assert blobs._unpacked(file, at, at + size) == whole
        n_bytes, at = n_bytes + whole, at + size
    return n_bytes


def test_segments_around_the_earth_take_little_memory() -> None:
    """Grids of 90 m along 200 ways between places thrown far away took 7 GB."""
    rng = np.random.default_rng(1)
    near, far = rng.uniform(-500.0, 500.0, (2, 30, 2)), rng.uniform(-9e6, 9e6, (2, 200, 2))
    start, end = (np.concatenate(pair) for pair in zip(near, far, strict=True))
    grid = build_grid(*start.T.copy(), *end.T.copy(), 90.0)
    assert sum(part.nbytes for part in grid if isinstance(part, np.ndarray)) < 2e8
    px, py = rng.uniform(-2000.0, 2000.0, (2, 50))
    found, _ = nearest.nearest_across_barriers(px, py, np.ones(50), 5000.0, grid, np.uint8(0))
    t = (px[:, None] - start[:, 0]) * (end - start)[:, 0] + (py[:, None] - start[:, 1]) * (end - start)[:, 1]
    t = np.clip(t / ((end - start) ** 2).sum(axis=1), 0.0, 1.0)
    foot = start + t[:, :, None] * (end - start)
    metres = np.hypot(px[:, None] - foot[:, :, 0], py[:, None] - foot[:, :, 1])
    assert np.allclose(found.distance, metres.min(axis=1)) and (found.segment == metres.argmin(axis=1)).all()
    # Streets of a city keep the cells that they are given.
    assert build_grid(*near[0].T.copy(), *near[1].T.copy(), 90.0).cell == 90.0


def _grid_with_long_way(folder: Path, share: float) -> tl.Network:
    """Return 64 junctions, and a street that leads away from them for a share of 470 km."""
    nodes = {i + 1: (9.0 + 0.001 * (i % 8), 45.0 + 0.001 * (i // 8)) for i in range(64)}
    nodes |= {101: (9.0042, 45.0034), 102: (9.0048, 45.0036)}
    nodes[100] = (9.003 + 5.97 * share, 45.003 + 0.97 * share)
    lines = [range(8 * row + 1, 8 * row + 9) for row in range(8)] + [range(row + 1, 65, 8) for row in range(8)]
    ways = [(i + 1, " ".join(map(str, line)), "highway=residential") for i, line in enumerate(lines)]
    path = folder / f"{share}.osm"
    path.write_bytes(osm_xml(nodes, [*ways, (50, "28 100", "highway=residential"), (51, "101 102", "highway=path")]))
    return tl.build_network(path, timezone="UTC")


@pytest.mark.slow
def test_a_far_node_makes_no_near_area_coarse(tmp_path: Path) -> None:
    """Areas reached into a way of 150 km had cells of 40 m, because all of the way was in the extent."""
    near, far = (_grid_with_long_way(tmp_path, share) for share in (0.005, 0.32))
    home = (9.0035, 45.0035)

    def difference(call: Any, limit: int, **how: Any) -> float:
        one, other = (call(town, home, limit, **how).to_crs(32632).geometry.iloc[0] for town in (near, far))
        return float(one.symmetric_difference(other).area / one.area)

    times = lambda town, at, limit, **how: tl.time_map(town, at, travel_time=limit, **how)  # noqa: E731
    metres = lambda town, at, limit, **how: tl.distance_map(town, at, distance=limit, **how)  # noqa: E731
    for level in ("medium", "highest"):
        assert difference(times, 300, transportation="walking", level_of_detail=level) < 0.01
        assert difference(metres, 400, transportation="walking", level_of_detail=level) < 0.01
    how: dict[str, Any] = {"transportation": "walking", "level_of_detail": "highest"}
    both = tl.time_map(far, home, travel_time=[240, 300], **how)
    for limit in (240, 300):
        alone = tl.time_map(far, home, travel_time=limit, **how).geometry.iloc[0]
        assert both.geometry[both["travel_time"] == limit].iloc[0].equals_exact(alone, 0.0)


@pytest.mark.slow
def test_areas_of_reached_parts_are_those_of_whole_edges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    town = _grid_with_long_way(tmp_path, 0.01)
    homes = gpd.GeoSeries.from_xy([9.0035, 9.0047, 9.0045], [45.0035, 45.0071, 45.0035], crs=4326)  # one on an island
    limits: dict[str, Any] = {"travel_time": [60, 200, 390], "transportation": "cycling"}

    def areas() -> list[Any]:
        found = [tl.time_map(town, homes, level_of_detail=level, **limits) for level in ("lowest", "highest")]
        return [*found, tl.distance_map(town, homes, distance=[150, 800], transportation="walking")]

    whole = areas()
    used = []

    def parts(streets: Any, field: Any, reading: Any, limit: float, *_: float) -> Any:
        used.append(raster._reached_box(streets, field, reading, limit))
        return used[-1]

    monkeypatch.setattr(raster, "_box", parts)
    monkeypatch.setattr(raster, "_LONG_M", 0.0)
    for one, other in zip(whole, areas(), strict=True):
        assert one.geometry.geom_equals_exact(other.geometry, 0.0).all()
    assert len(used) >= 10
