"""Broken input files and saves: each has its error, nothing crashes, and nothing half-written is left behind."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import osmium
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import traveltime_lab as tl
from tests.support import ROOT
from tests.support.feeds import feed
from tests.support.osm_files import osm_xml
from traveltime_lab import _files, build_network, load_network
from traveltime_lab.errors import DataError, FormatError, InputError, LimitError, MissingFileError, TravelTimeError
from traveltime_lab.jobs.point_files import read_point_file
from traveltime_lab.network import checksums
from traveltime_lab.network.network import Network
from traveltime_lab.readers.gtfs.feed import read_timetable
from traveltime_lab.search import counts
from traveltime_lab.server.postcodes import Zones

pytestmark = pytest.mark.quick

NODES = {row * 10 + column: (column * 0.001, row * 0.001) for row in range(10) for column in range(1, 11)}
WAYS = [
    (1000 + row, " ".join(str(row * 10 + column) for column in range(1, 11)), "highway=residential|name=Way")
    for row in range(10)
] + [(2000, " ".join(str(row * 10 + 1) for row in range(10)), "highway=residential")]
XML = osm_xml(NODES, WAYS)


def pbf_bytes(folder: Path) -> bytes:
    """Write the streets as PBF, in the usual three blobs: header, nodes, ways."""
    source, target = folder / "source.osm", folder / "source.osm.pbf"
    source.write_bytes(XML)
    with osmium.SimpleWriter(str(target)) as writer:
        for item in osmium.FileProcessor(str(source)):
            writer.add(item)
    return target.read_bytes()


def blob_starts(pbf: bytes) -> list[int]:
    """Return where the blobs of a PBF begin; their sizes, under 16 kB here, stand at the end of each header."""
    starts, at = [], 0
    while at < len(pbf):
        starts.append(at)
        header = pbf[at + 4 : at + 4 + int.from_bytes(pbf[at : at + 4], "big")]
        digits = header[header.rindex(b"\x18") + 1 :]
        size = sum((digit & 0x7F) << 7 * place for place, digit in enumerate(digits))
        at += 4 + len(header) + size
    assert at == len(pbf)
    return starts


@pytest.fixture(scope="module")
def pbf(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return pbf_bytes(tmp_path_factory.mktemp("pbf"))


def refused(path: Path, error: type[TravelTimeError], *words: str) -> None:
    """Assert that a file is refused with this very error, and a message that names the file and these words."""
    with pytest.raises(error) as caught:
        build_network(path)
    assert type(caught.value) is error
    for word in (path.name, *words):
        assert word in str(caught.value)


class TestOpenStreetMapFiles:
    @pytest.mark.parametrize("n_bytes", [1, 3, 4, 30, 75, 90, 150, 190, 250, 300, -20, -1])
    def test_a_pbf_cut_short(self, tmp_path, pbf, n_bytes):
        path = tmp_path / "cut.osm.pbf"
        path.write_bytes(pbf[:n_bytes])
        refused(path, DataError, "not readable as OpenStreetMap data (pbf)", "truncated")

    def test_a_pbf_cut_between_two_blobs(self, tmp_path, pbf):
        # Such a file is well-formed: the format has no mark for its end. What is missing are the streets.
        path = tmp_path / "cut.osm.pbf"
        starts = blob_starts(pbf)
        assert len(starts) == 3
        for start in starts[1:]:
            path.write_bytes(pbf[:start])
            refused(path, DataError, "has no usable streets: 0 ways")

    def test_the_pbf_itself_is_good(self, tmp_path, pbf):
        (tmp_path / "good.osm.pbf").write_bytes(pbf)
        assert build_network(tmp_path / "good.osm.pbf").n_edges > 10

    @pytest.mark.parametrize("seed", range(6))
    def test_a_pbf_with_damaged_bytes(self, tmp_path, pbf, seed):
        rng = np.random.default_rng(seed)
        content = np.frombuffer(pbf, np.uint8).copy()
        content[rng.integers(100, content.size, 40)] ^= rng.integers(1, 256, 40).astype(np.uint8)
        path = tmp_path / "damaged.osm.pbf"
        path.write_bytes(content.tobytes())
        refused(path, DataError, "not readable as OpenStreetMap data (pbf)")

    @pytest.mark.parametrize(
        ("name", "content", "words"),
        [
            ("empty.osm.pbf", b"", ["is empty (0 bytes)", "Download it again"]),
            ("empty.osm", b"", ["is empty (0 bytes)"]),
            ("empty.osm.gz", gzip.compress(b"", mtime=0), ["not readable"]),
            ("empty.osm.bz2", bz2.compress(b""), ["not readable"]),
            ("zeros.osm.pbf", bytes(5000), ["PBF error"]),
            ("garbage.osm.pbf", bytes(range(1, 256)) * 9, ["PBF error"]),
            ("garbage.osm", bytes(range(1, 256)) * 9, ["XML parsing error"]),
            ("garbage.osm.gz", bytes(range(1, 256)) * 9, ["XML parsing error"]),
            ("broken.osm.gz", gzip.compress(XML, mtime=0)[:40] + bytes(200), ["gzip error"]),
            ("garbage.osm.bz2", bytes(range(1, 256)) * 9, ["bzip2 error"]),
            ("page.osm", b"<html><body>429 Too Many Requests</body></html>", ["html"]),
            ("page.osm.pbf", b"<!DOCTYPE html><html><body>404</body></html>", ["PBF error"]),
            ("answer.osm", b'{"version": 0.6, "elements": []}', ["XML parsing error"]),
            ("changes.osm", b'<osmChange version="0.6"></osmChange>', ["history or change file"]),
            ("xml.osm.pbf", XML, ["PBF error"]),
            ("plain.osm.bz2", XML, ["bzip2 error"]),
            ("text.txt", XML, ["the name must end in one of", ".pbf", "'.txt'"]),
            ("no_ending", XML, ["the name must end in one of", "no ending"]),
            ("table.csv", b"lat,lng\n1,2\n", ["the name must end in one of", "'.csv'"]),
            ("latin.osm", XML.replace(b"Way", b"Stra\xdfe"), ["XML parsing error"]),
        ],
    )
    def test_broken_content(self, tmp_path, name, content, words):
        (tmp_path / name).write_bytes(content)
        refused(tmp_path / name, DataError, *words)

    @pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.8, 0.99])
    @pytest.mark.parametrize(
        ("name", "pack"), [("a.osm", bytes), ("a.osm.gz", gzip.compress), ("a.xml.bz2", bz2.compress)]
    )
    def test_xml_cut_in_the_middle(self, tmp_path, name, pack, share):
        content = pack(XML)
        (tmp_path / name).write_bytes(content[: int(len(content) * share)])
        refused(tmp_path / name, DataError, "not readable as OpenStreetMap data", "download or export it again")

    @pytest.mark.parametrize("bad", [b"\xff\xfe\xfd", b"a\xc3(", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3"])
    @pytest.mark.parametrize("token", [b"STREET", b"CAFE", b"KEY", b"ROLE", b"VALUE"])
    def test_text_in_a_pbf_that_is_no_utf8(self, tmp_path, token, bad):
        """The text of a street, a place, a key, a role and a value; what is read nowhere does not matter."""
        nodes, cafe = {1: (0.0, 0.0), 2: (0.001, 0.0), 3: (0.002, 0.0)}, {1: "amenity=cafe|name=CAFE"}
        relation = (9, "w1@ROLE", "type=restriction|restriction=VALUE|KEY=x")
        source, plain, path = (tmp_path / name for name in ("a.osm", "a.osm.pbf", "bad.osm.pbf"))
        source.write_bytes(osm_xml(nodes, [(1, "1 2 3", "highway=residential|name=STREET")], [relation], cafe))
        with osmium.SimpleWriter(osmium.io.File(str(plain), "pbf,pbf_compression=none")) as writer:
            for item in osmium.FileProcessor(str(source)):
                writer.add(item)
        content = plain.read_bytes()
        assert content.count(token) == 1
        # Of the same length, so that the lengths before it are right.
        path.write_bytes(content.replace(token, bad[: len(token)].ljust(len(token), b"x")))
        try:
            assert build_network(path).n_edges == 1
            is_read = True
        except DataError as error:
            assert path.name in str(error) and ("UTF-8" in str(error) or "Unicode" in str(error))
            is_read = False
        assert not is_read or token in (b"KEY", b"ROLE", b"VALUE")

    def test_a_negative_way_of_a_multipolygon(self, tmp_path):
        """Editors give new objects negative ids."""
        nodes = {-1: (0.0, 0.0), -2: (0.001, 0.0), -3: (0.001, 0.001)}
        square = (-9, "w-7@outer", "type=multipolygon|highway=pedestrian")
        ways = [(-5, "-1 -2", "highway=residential"), (-7, "-1 -2 -3 -1", "")]
        (tmp_path / "a.osm").write_bytes(osm_xml(nodes, ways, [square]))
        assert build_network(tmp_path / "a.osm").n_edges > 1

    def test_a_plain_file_named_gz_is_read(self, tmp_path):
        (tmp_path / "plain.osm.gz").write_bytes(XML)
        assert build_network(tmp_path / "plain.osm.gz").n_edges > 10

    def test_no_such_file(self, tmp_path):
        refused(tmp_path / "nowhere.osm.pbf", MissingFileError, "does not exist")
        refused(tmp_path / "no_folder" / "a.osm", MissingFileError, "does not exist")

    def test_a_folder(self, tmp_path):
        (tmp_path / "folder.osm").mkdir()
        refused(tmp_path / "folder.osm", MissingFileError, "is a folder")

    @pytest.mark.parametrize(
        ("nodes", "ways", "words"),
        [
            ({}, [], ["0 ways have street tags"]),
            (NODES, [], ["0 ways have street tags"]),
            (NODES, [(1, "1 2", "building=yes")], ["0 ways have street tags"]),
            (NODES, [(1, "1 2", "highway=construction")], ["0 of them are open to a mode"]),
            (NODES, [(1, "", "highway=primary")], ["none has two nodes in the file"]),
            (NODES, [(1, "1", "highway=primary")], ["none has two nodes in the file"]),
            (NODES, [(1, "1 1 1", "highway=primary")], ["none has two nodes in the file"]),
            ({}, WAYS, ["none has two nodes in the file"]),
            (NODES, [(1, "500 501 502", "highway=primary")], ["none has two nodes in the file"]),
            ({1: (200.0, 10.0), 2: (201.0, 10.0)}, [(1, "1 2", "highway=primary")], ["none has two nodes in the file"]),
            ({1: (10.0, 95.0), 2: (10.0, -95.0)}, [(1, "1 2", "highway=primary")], ["none has two nodes in the file"]),
        ],
    )
    def test_no_street_in_it(self, tmp_path, nodes, ways, words):
        (tmp_path / "a.osm").write_bytes(osm_xml(nodes, ways))
        refused(tmp_path / "a.osm", DataError, "has no usable streets", *words)

    @pytest.mark.parametrize("lng", ["nan", "inf", "ten", "1,5", "2000000000", ""])
    def test_coordinates_that_are_no_numbers(self, tmp_path, lng):
        (tmp_path / "a.osm").write_bytes(osm_xml({**NODES, 1: (lng, 0.0)}, WAYS))
        refused(tmp_path / "a.osm", DataError, "not readable as OpenStreetMap data")

    @pytest.mark.parametrize("position", [(200.0, 95.0), (-180.1, 0.0), (0.0, 90.1), (213.0, -213.0)])
    def test_one_bad_position_costs_one_node(self, tmp_path, position):
        (tmp_path / "a.osm").write_bytes(osm_xml({**NODES, 5: position}, WAYS))
        network = build_network(tmp_path / "a.osm")
        assert network.report()["missing_node_references"] == 1
        assert np.isfinite(network.tables.edge_length_m).all()


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Network:
    path = tmp_path_factory.mktemp("streets") / "a.osm"
    members = "w1000@from n1@via w2000@to"
    relations = [
        (90, members, "type=restriction restriction=no_left_turn"),
        (91, members, "type=restriction|restriction:conditional=no_turn @ (Mo 07:00-09:00,16:00-18:00)"),
        (92, members, "type=restriction|restriction:conditional=no_turn @ (Mo-Fr)"),
    ]
    path.write_bytes(osm_xml(NODES, WAYS, relations))
    return build_network(path)


@pytest.fixture
def saved(network: Network, tmp_path: Path) -> Path:
    return network.save(tmp_path / "city.network")


def load_refused(path: Path, *words: str) -> None:
    with pytest.raises(FormatError) as caught:
        load_network(path)
    assert type(caught.value) is FormatError
    for word in (path.name, *words):
        assert word in str(caught.value)


def rewrite(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    with pa.OSFile(str(path), "rb") as source:
        table = change(pa.ipc.open_file(source).read_all())
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    checksums.seal(path)


def with_column(path: Path, name: str, values: Any) -> None:
    """Replace the content of one column."""

    def change(table: pa.Table) -> pa.Table:
        items = pa.array(values)
        column = pa.LargeListArray.from_arrays(pa.array([0, len(items)], pa.int64()), items)
        return table.set_column(table.column_names.index(name), name, column)

    rewrite(path, change)


class TestSavedNetworks:
    @pytest.mark.parametrize("share", [0.0, 0.001, 0.05, 0.3, 0.6, 0.9, 0.999])
    def test_cut_short(self, saved, share):
        content = saved.read_bytes()
        saved.write_bytes(content[: int(len(content) * share)])
        load_refused(saved, "is not a complete saved network", "build and save it again")

    @pytest.mark.parametrize(
        "content",
        [b"", b"hello, this is text\n" * 99, b"ARROW1\0\0", b"ARROW1\0\0" + bytes(400) + b"ARROW1", XML, bytes(4096)],
    )
    def test_other_files(self, tmp_path, content):
        (tmp_path / "a.network").write_bytes(content)
        load_refused(tmp_path / "a.network", "is not a complete saved network")

    def test_a_foreign_arrow_file(self, tmp_path):
        table = pa.table({"city": ["Suva"], "people": [93_000]})
        path = tmp_path / "cities.arrow"
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        load_refused(path, "is an Arrow file, but not a network saved by traveltime_lab")

    @pytest.mark.parametrize("version", [0, 999, None, "1"])
    def test_another_version(self, saved, version):
        def change(table: pa.Table) -> pa.Table:
            key = b"traveltime_lab.network"
            meta = json.loads(table.schema.metadata[key]) | {"version": version}
            return table.replace_schema_metadata({key: json.dumps(meta)})

        rewrite(saved, change)
        load_refused(saved, f"has network format {version}", "build the network again")

    @pytest.mark.parametrize("header", [b"{broken", b"", b"[1, 2]", b"7", b"\xff\xfe"])
    def test_a_header_that_is_no_json(self, saved, header):
        rewrite(saved, lambda table: table.replace_schema_metadata({b"traveltime_lab.network": header}))
        load_refused(saved, "is damaged", "header")

    @pytest.mark.parametrize("field", ["timezone", "report", "fingerprint"])
    def test_a_header_that_lacks_something(self, saved, field):
        def change(table: pa.Table) -> pa.Table:
            key = b"traveltime_lab.network"
            meta = json.loads(table.schema.metadata[key])
            del meta[field]
            return table.replace_schema_metadata({key: json.dumps(meta)})

        rewrite(saved, change)
        load_refused(saved, "is damaged", field)

    @pytest.mark.parametrize("column", ["edge_from", "coord_lng", "names", "uses.driving_access", "water"])
    def test_a_column_is_missing(self, saved, column):
        rewrite(saved, lambda table: table.drop_columns([column]))
        load_refused(saved, "is damaged")

    @pytest.mark.parametrize(
        ("column", "change"),
        [
            ("edge_from", lambda a: a + 100_000),
            ("edge_from", lambda a: -a - 1),
            ("edge_to", lambda a: np.where(np.arange(a.size) == 3, 2**31 - 1, a)),
            ("edge_use", lambda a: a + 1000),
            ("edge_name", lambda a: a - 5),
            ("restriction_edges", lambda a: a + 10_000_000),
            ("coord_indptr", lambda a: a * 2),
            ("coord_indptr", lambda a: a[:-1]),
            ("coord_indptr", lambda a: np.concatenate([a[:1], a[1:-1][::-1], a[-1:]])),
            ("restriction_indptr", lambda a: a + 7),
            ("restriction_indptr", lambda a: -a),
            ("timed_restrictions", lambda a: a + 1),
            ("timed_restrictions", lambda a: -a),
            ("timed_restrictions", lambda a: a[::-1]),
            ("timed_restrictions", lambda a: a * 0 + 1),
            ("timed_by_default", lambda a: a[:-1]),
            ("timed_indptr", lambda a: a[:-1]),
            ("timed_indptr", lambda a: a + np.array([0, 1, 0])),
            ("timed_indptr", lambda a: a + np.array([0, -4, 0])),
            ("timed_minutes", lambda a: a[::-1]),
            ("timed_minutes", lambda a: a * 0),
            ("timed_minutes", lambda a: a + 10_080),
            ("timed_minutes", lambda a: a - 8 * 60),
            ("edge_length_m", lambda a: a[:-3]),
            ("node_lat", lambda a: a[:-1]),
            ("edge_to", lambda a: a[:-1]),
            ("edge_from", lambda a: a.astype(str)),
            ("node_lng", lambda a: np.full_like(a, np.nan)),
            ("coord_lat", lambda a: a[:-1]),
            ("coord_lat", lambda a: a + 100),
            ("edge_length_m", lambda a: -a),
            ("edge_length_m", lambda a: np.where(np.arange(a.size) == 2, np.inf, a)),
        ],
    )
    def test_columns_that_do_not_fit_each_other(self, saved, network, column, change):
        self.check_column(saved, network, column, change)

    def check_column(self, saved, network, column, change):
        values = change(getattr(network.tables, column))
        dtype = getattr(network.tables, column).dtype
        with_column(saved, column, values if values.dtype.kind == "U" else values.astype(dtype))
        load_refused(saved, "is damaged")

    def test_no_such_file(self, tmp_path):
        with pytest.raises(MissingFileError, match=r"no saved network at .*nowhere\.network"):
            load_network(tmp_path / "nowhere.network")

    def test_a_folder(self, tmp_path):
        with pytest.raises(MissingFileError, match="no saved network at"):
            load_network(tmp_path)

    def test_an_extract_is_no_saved_network(self, tmp_path, pbf):
        (tmp_path / "city.osm.pbf").write_bytes(pbf)
        load_refused(tmp_path / "city.osm.pbf", "is not a complete saved network")

    def test_a_saved_network_is_no_extract(self, saved):
        with pytest.raises(DataError, match="the name must end in one of"):
            build_network(saved)


class TestSaving:
    def test_into_a_missing_folder(self, network, tmp_path):
        with pytest.raises(MissingFileError, match=r"the folder .*nowhere does not exist; create it first"):
            network.save(tmp_path / "nowhere" / "city.network")
        assert list(tmp_path.iterdir()) == []

    def test_onto_a_folder(self, network, tmp_path):
        with pytest.raises(InputError, match="it is a folder; give the path of a file"):
            network.save(tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_a_failure_leaves_the_old_file_and_no_other(self, network, saved, monkeypatch):
        before = saved.read_bytes()

        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="there is no space left on the disk"):
            network.save(saved)
        assert saved.read_bytes() == before
        assert [path.name for path in saved.parent.iterdir()] == [saved.name]

    def test_saving_again_replaces(self, network, saved):
        saved.write_bytes(b"old and broken")
        assert load_network(network.save(saved)).fingerprint == network.fingerprint

    def test_a_loaded_network_can_be_saved_over_its_own_file(self, network, saved):
        loaded = load_network(saved)
        loaded.save(saved)
        assert load_network(saved).fingerprint == network.fingerprint
        np.testing.assert_array_equal(loaded.tables.edge_length_m, network.tables.edge_length_m)


# Saves a network again and again, or stops in the middle of a save for good; says so before.
SAVER = """
    import os, sys, time
    import pyarrow as pa
    from traveltime_lab import load_network
    source, target, moment = sys.argv[1:]
    network = load_network(source)

    def stop(*_):
        print("stopped", flush=True)
        time.sleep(60)

    if moment == "written":
        os.fsync = stop
    if moment == "half":
        new_file = pa.ipc.new_file
        def half(sink, schema):
            sink.write(b"ARROW1" * 200)
            sink.flush()
            stop()
        pa.ipc.new_file = half
    print("saving", flush=True)
    while True:
        network.save(target)
"""


class TestKilledWhileSaving:
    def kill(self, saved: Path, target: Path, moment: str, after_s: float = 0.0) -> None:
        """Kill a process that saves to `target`, at a moment."""
        arguments = [sys.executable, "-c", textwrap.dedent(SAVER), str(saved), str(target), moment]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            assert process.stdout is not None
            try:
                assert process.stdout.readline() == "saving\n"
                if moment == "any":
                    # From the second save on there is a file to spoil.
                    patience = time.monotonic() + 30.0
                    while not target.exists():
                        assert time.monotonic() < patience, "nothing was saved"
                        time.sleep(0.001)
                    time.sleep(after_s)
                else:
                    assert process.stdout.readline() == "stopped\n"
            finally:
                process.kill()
        assert process.returncode == (1 if os.name == "nt" else -signal.SIGKILL)

    @pytest.mark.slow
    @pytest.mark.parametrize(("moment", "has_old"), [("half", True), ("written", False)])
    def test_the_old_file_stays(self, network, saved, tmp_path, moment, has_old):
        target = tmp_path / "target.network"
        before = network.save(target).read_bytes() if has_old else None
        self.kill(saved, target, moment)
        assert (target.read_bytes() if target.exists() else None) == before
        leftovers = [path for path in tmp_path.iterdir() if path.name not in (saved.name, target.name)]
        # One of them is the lock.
        endings = [".part"] if os.name == "nt" else [".part", ".part"]
        assert [path.suffix for path in leftovers] == endings, "the killed save is there under another name"
        # What was left behind does not disturb the next save and load, and does not stay.
        assert load_network(network.save(target)).fingerprint == network.fingerprint
        assert os.name == "nt" or {path.name for path in tmp_path.iterdir()} == {saved.name, target.name}

    @pytest.mark.thorough
    def test_at_any_moment_the_file_is_whole(self, network, saved, tmp_path):
        target = tmp_path / "target.network"
        for after_s in (0.0, 0.005, 0.041):
            self.kill(saved, target, "any", after_s)
            assert load_network(target).fingerprint == network.fingerprint


# What mutations have found (tests/test_mutations.py) ------------------------------------------------------------------


def test_an_agency_whose_twin_is_dropped(tmp_path: Path) -> None:
    """Of two agencies with one id, the first has no time zone: the second is that of the routes."""
    agency = "agency_id,agency_name,agency_timezone\nA,One,nowhere\nA,Two,Europe/Rome"
    assert read_timetable(feed(tmp_path, agency=agency)).feed_zones == ["Europe/Rome"]


PANDAS: list[Any] = [
    {}, [], {"columns": 5}, {"index_columns": [{"kind": "range"}], "columns": []},
    {"index_columns": ["a"], "columns": [{}], "column_indexes": [[]]},
]  # fmt: skip


@pytest.mark.parametrize("about", PANDAS, ids=str)
@pytest.mark.parametrize("read", [Zones.read, read_point_file, tl.receipt])
def test_odd_metadata_of_pandas(tmp_path: Path, about: Any, read: Callable[[Path], object]) -> None:
    table = pa.table({"postcode": ["a"], "id": ["a"], "lat": [0.5], "lng": [0.5]})
    path = tmp_path / "a.parquet"
    pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(about)}), path)
    try:
        read(path)
    except DataError as error:
        assert "a.parquet" in str(error)


@pytest.mark.parametrize("values", [[[1]], [{"x": 1}], [b"\xff\xfe"], [2**63]], ids=str)
@pytest.mark.parametrize("read", [Zones.read, read_point_file, tl.receipt])
def test_columns_of_odd_types(tmp_path: Path, values: list[Any], read: Callable[[Path], object]) -> None:
    column = pa.array(values, pa.uint64()) if values == [2**63] else pa.array(values)
    if pa.types.is_binary(column.type):
        column = pa.Array.from_buffers(pa.string(), 1, column.buffers())  # text that is not UTF-8
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"postcode": column, "id": column, "lat": [0.5], "lng": [0.5]}), path)
    try:
        read(path)
    except DataError as error:
        assert "a.parquet" in str(error)


@pytest.mark.parametrize("read", [Zones.read, read_point_file, tl.receipt])
def test_tables_that_are_much_larger_than_their_file(
    tmp_path: Path, read: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column that repeats one value takes no room."""
    n = 1_000_000
    table = pa.table({"postcode": pa.nulls(n, pa.string()), "lat": np.zeros(n), "lng": np.zeros(n)})
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, compression="zstd")
    monkeypatch.setattr(_files, "ALWAYS_UNPACKED", 1_000_000)
    with pytest.raises(
        DataError, match=r"its 1,000,000 rows take 24,000,000 bytes, which a file of [\d,]+ bytes does "
    ):
        read(path)


def test_rasters_without_a_place(tmp_path: Path) -> None:
    rasterio = pytest.importorskip("rasterio")
    profile = {"driver": "GTiff", "width": 4, "height": 4, "count": 1, "crs": "EPSG:4326"}
    places = {
        "flat": rasterio.Affine(0.001, 0, 0.5, 0.001, 0, 0.5),
        "nan": rasterio.Affine(0.001, 0, float("nan"), 0, -0.001, 0.5),
        "huge": rasterio.Affine(1e300, 0, 0.5, 0, -1e300, 0.5),
        "complex": rasterio.Affine(0.001, 0, 0.5, 0, -0.001, 0.5),
    }
    town = build_network(good_osm(tmp_path))
    for name, place in places.items():
        path = tmp_path / f"{name}.tif"
        dtype = "complex_int16" if name == "complex" else "uint8"
        with rasterio.open(path, "w", transform=place, dtype=dtype, **profile) as file:
            if name != "complex":
                file.write(np.ones((1, 4, 4), np.uint8))
        readers = [lambda path: tl.counts_to_h3(path, 8), lambda path: tl.add_elevation(town, path)]
        for read in readers[: 1 if name == "huge" else 2]:  # a pixel may be larger than the town
            with pytest.raises(TravelTimeError) as caught:
                read(path)
            assert path.name in str(caught.value)


def good_osm(folder: Path) -> Path:
    path = folder / "town.osm"
    path.write_bytes(XML)
    return path


def test_rasters_with_many_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pixels of a degree have hundreds of thousands of small cells each."""
    rasterio = pytest.importorskip("rasterio")
    monkeypatch.setattr(counts, "_MOST_CELLS", 10_000)
    profile = {"driver": "GTiff", "width": 2, "height": 2, "count": 1, "crs": "EPSG:4326", "dtype": "uint8"}
    with rasterio.open(tmp_path / "a.tif", "w", transform=rasterio.Affine(1, 0, 0, 0, -1, 2), **profile) as file:
        file.write(np.ones((1, 2, 2), np.uint8))
    with pytest.raises(LimitError, match="more than 10,000 cells of this resolution; use a coarser one"):
        tl.counts_to_h3(tmp_path / "a.tif", 9)
