"""Saved networks that are damaged, or overwritten while they are in use."""

from __future__ import annotations

import dataclasses
import json
import random
import shutil
import struct
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.support import ROOT
from tests.support.combinations import first_of
from tests.support.sealed import resealed
from traveltime_lab import load_network
from traveltime_lab.errors import FormatError
from traveltime_lab.network import checksums, prepared, prepared_columns
from traveltime_lab.network import prepared_file as prepared_file_module
from traveltime_lab.network.network import Network
from traveltime_lab.streets import tables
from traveltime_lab.streets.tables import StreetTables
from traveltime_lab.transit import timetable_columns, timetable_file

PAGE = 4096


@pytest.fixture(scope="module")
def saved_city(porto_alegre: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network with streets, water and a timetable."""
    assert porto_alegre.timetable is not None
    return porto_alegre.save(tmp_path_factory.mktemp("saved") / "porto_alegre.network")


@pytest.fixture
def city(saved_city: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(saved_city, tmp_path / "city.network"))


def assert_refused(path: Path, at: int, damage: bytes) -> None:
    """Bytes at a place are replaced for one load, which must not go through."""
    with path.open("rb+") as file:
        file.seek(at)
        before = file.read(len(damage))
        assert before != damage
        file.seek(at)
        file.write(damage)
        file.flush()
        try:
            with pytest.raises(FormatError) as caught:
                load_network(path)
        finally:
            file.seek(at)
            file.write(before)
    assert path.name in str(caught.value)


@pytest.mark.thorough
def test_every_flipped_bit_is_an_error(city: Path) -> None:
    content = city.read_bytes()
    dice = random.Random(13)
    places = [dice.randrange(len(content)) for _ in range(900)]
    # Headers and footers are small: random places hardly ever hit them.
    places += [dice.randrange(2 * PAGE) for _ in range(50)]
    places += [len(content) - 1 - dice.randrange(2 * PAGE) for _ in range(50)]
    for at in places:
        assert_refused(city, at, bytes([content[at] ^ 1 << dice.randrange(8)]))
    assert load_network(city).n_edges > 0


@pytest.mark.thorough
def test_every_zeroed_page_is_an_error(city: Path) -> None:
    content = city.read_bytes()
    pages = [at for at in range(0, len(content), PAGE) if content[at : at + PAGE].strip(b"\0")]
    random.Random(13).shuffle(pages)
    assert len(pages) > 200
    for at in [0, max(pages), *pages[:200]]:
        assert_refused(city, at, bytes(len(content[at : at + PAGE])))


def test_the_error_names_the_column(city: Path) -> None:
    with pa.memory_map(str(city), "rb") as mapped:
        whole = mapped.read_buffer()
        table = pa.ipc.open_file(pa.BufferReader(whole)).read_all()
        places = {
            name: table.column(name).chunk(0).values.buffers()[1].address - whole.address
            for name in ("edge_length_m", "coord_lat", "timetable/arrival")
        }
        del table, whole
    for name, at in places.items():
        with city.open("rb+") as file:
            file.seek(at)
            before = file.read(1)
            file.seek(at)
            file.write(bytes([before[0] ^ 1]))
        with pytest.raises(FormatError, match=rf"damaged: the checksum of bytes [\d,]+ to [\d,]+ \({name}\) is"):
            load_network(city)
        with city.open("rb+") as file:
            file.seek(at)
            file.write(before)


@pytest.mark.parametrize("cut", [slice(PAGE), slice(PAGE, 3 * PAGE)], ids=["beginning", "middle"])
def test_a_file_without_a_part(city: Path, cut: slice) -> None:
    """The footer and the table of checksums are whole, but they are not where they say."""
    content = bytearray(city.read_bytes())
    del content[cut]
    city.write_bytes(content)
    with pytest.raises(FormatError, match=r"is damaged: a part of it is missing or was added; copy the file again"):
        load_network(city)


def test_long_columns_have_several_checksums(city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksums, "_LONGEST", 1000)
    short = load_network(city).save(tmp_path / "short.network")
    assert short.stat().st_size > city.stat().st_size
    assert load_network(short).fingerprint == load_network(city).fingerprint


def test_verification_may_be_left_out(city: Path) -> None:
    """Without it the file is mapped, and damage of values goes unnoticed."""
    loaded = load_network(city, verify=False)
    maps = Path("/proc/self/maps")  # Linux only
    assert not maps.exists() or str(city) in maps.read_text("utf-8")
    with pa.memory_map(str(city), "rb") as mapped:
        whole = mapped.read_buffer()
        column = pa.ipc.open_file(pa.BufferReader(whole)).read_all().column("edge_length_m")
        at = column.chunk(0).values.buffers()[1].address - whole.address
        del column, whole
    copy = Path(shutil.copy(city, city.with_name("copy.network")))
    with copy.open("rb+") as file:
        file.seek(at)
        file.write(bytes(1))
    changed = load_network(copy, verify=False)
    assert not np.array_equal(changed.tables.edge_length_m, loaded.tables.edge_length_m)
    with pytest.raises(FormatError):
        load_network(copy)


def without_checksums(path: Path, **header: object) -> None:
    """Write a file again as another Arrow writer would, with changes of its header."""
    with pa.OSFile(str(path), "rb") as source:
        table = pa.ipc.open_file(source).read_all()
    key = b"traveltime_lab.network"
    table = table.replace_schema_metadata({key: json.dumps(json.loads(table.schema.metadata[key]) | header)})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def test_files_from_before_checksums_are_refused(city: Path) -> None:
    without_checksums(city, version=2)
    for is_verified in (True, False):
        with pytest.raises(FormatError, match=r"has network format 2, .*; build the network again from its sources"):
            load_network(city, verify=is_verified)


def test_a_file_of_an_arrow_writer_has_no_checksums(city: Path) -> None:
    without_checksums(city)
    with pytest.raises(FormatError, match=r"is damaged \(it has no checksums\); copy the file again"):
        load_network(city)
    assert load_network(city, verify=False).n_edges > 0


# Valid checksums, hostile contents ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def prepared_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small network with everything: streets, restrictions, a timetable, and prepared values."""
    from tests.test_fuzz import make_world

    folder = tmp_path_factory.mktemp("prepared")
    network = make_world(folder).network.prepare("walking", "driving", "public_transport")
    return network.save(folder / "ready.network")


def table_of(path: Path) -> pa.Table:
    with pa.OSFile(str(path), "rb") as source:
        return pa.ipc.open_file(source.read_buffer()).read_all()


def forged(table: pa.Table, path: Path, header: Any = None, **columns: pa.Array) -> Path:
    """Write a table with other columns and another header, and valid checksums."""
    names = table.column_names
    arrays = {name: table.column(name).chunk(0) for name in names}
    for name, values in columns.items():
        offsets = pa.array([0, len(values)], type=pa.int64())
        arrays[name] = pa.LargeListArray.from_arrays(offsets, values)
    made = pa.table(arrays)
    metadata = table.schema.metadata if header is None else {b"traveltime_lab.network": header}
    made = made.replace_schema_metadata(metadata)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, made.schema) as writer:
        writer.write_table(made)
    checksums.seal(path)
    return path


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
@pytest.mark.parametrize("is_verified", [True, False])
def test_compressed_columns_are_refused_before_memory_is_taken(
    prepared_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str, is_verified: bool
) -> None:
    table = table_of(prepared_file)
    zeros = pa.LargeListArray.from_arrays(pa.array([0, 1 << 24]), pa.array(np.zeros(1 << 24, np.int64)))
    table = table.append_column("zeros", pa.chunked_array([zeros]))
    path = tmp_path / "small.network"
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checksums, "_sections", lambda whole, footer: [("all columns", 0, footer)])
        checksums.seal(path)
    assert path.stat().st_size < 1 << 20
    monkeypatch.setattr(pa.ipc, "read_record_batch", lambda *_: pytest.fail("it is read"))
    with pytest.raises(FormatError, match=r"is not a complete saved network .*compressed"):
        load_network(path, verify=is_verified)


@pytest.mark.parametrize("fault", ["the schema is the end", "the batch is the end", "the schema is another message"])
def test_streams_that_are_no_networks(prepared_file: Path, tmp_path: Path, fault: str) -> None:
    content = bytearray(prepared_file.read_bytes())
    (length,) = struct.unpack_from("<i", content, 12)
    if fault == "the schema is another message":
        message = 16 + struct.unpack_from("<I", content, 16)[0]
        fields = message - struct.unpack_from("<i", content, message)[0]
        # The type of the header is field 1 of a message; Arrow ends the process when it decodes a schema of no type.
        content[message + struct.unpack_from("<H", content, fields + 6)[0]] = 200
    else:
        at = 12 if fault == "the schema is the end" else 16 + length + 4
        content[at : at + 4] = bytes(4)
    path = tmp_path / "town.network"
    path.write_bytes(resealed(bytes(content)))
    for is_verified in (True, False):
        with pytest.raises(FormatError, match=r"does not begin with a schema|ends before its columns"):
            load_network(path, verify=is_verified)


def hostile(values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield other contents of a column: lengths, dtypes, and numbers that no column may have everywhere."""
    kind = values.dtype
    yield "shorter", values[:-1]
    yield "longer", np.append(values, values[-1:])
    yield "empty", values[:0]
    yield "another dtype", np.zeros(len(values), np.float32 if kind != np.float32 else np.int16)
    if kind.kind in "iu":
        for name, number in (("largest", np.iinfo(kind).max), ("smallest", np.iinfo(kind).min)):
            for at in (0, -1):
                changed = values.copy()
                changed[at] = number
                yield f"{name} at {at}", changed
    elif kind.kind == "f":
        for number in (np.nan, np.inf, -np.inf, 1e300):
            changed = values.copy()
            with np.errstate(over="ignore"):
                changed[0] = number
            yield f"{number}", changed


#: Columns where any number of the dtype is a value: ids, flags, words, and what is shown only.
ANY_NUMBER = {
    "node_osm_id", "node_flags", "edge_way_id", "timetable/pattern_pickup", "timetable/pattern_drop_off",
    "timetable/course_along", "timetable/shape_along", "timetable/services.start", "timetable/services.end",
    "timetable/fare_attributes.price", "places.population", "places.osm_id",
    "edge_step_free",
}  # fmt: skip


@pytest.mark.thorough
def test_every_column_is_checked(prepared_file: Path, tmp_path: Path) -> None:
    """Each column of a file with hostile content and valid checksums: refused by name, or a value like any other."""
    table = table_of(prepared_file)
    assert load_network(forged(table, tmp_path / "same.network")).prepared
    assert sum(name.startswith("prepared/") for name in table.column_names) > 40
    accepted: list[str] = []
    for name in table.column_names:
        values = table.column(name).chunk(0).values
        if not pa.types.is_primitive(values.type) or not len(values):
            continue
        for what, changed in hostile(values.to_numpy(zero_copy_only=False)):
            if random.Random(f"{name} {what}").random() > 0.2:
                continue
            path = forged(table, tmp_path / "city.network", **{name: pa.array(changed)})
            try:
                load_network(path)
                accepted.append(f"{name}: {what}")
            except FormatError as error:
                assert path.name in str(error)
    # What is left are values like any other.
    odd = [text for text in accepted if text.partition(":")[0] not in ANY_NUMBER]
    assert not [text for text in odd if not may_be_any(text)], odd


def may_be_any(text: str) -> bool:
    """Return whether a change leaves a column that means something: a prepared label, a missing number."""
    name, _, what = text.partition(": ")
    if name.startswith("prepared/"):  # labels, coordinates in metres and truths as bytes
        return what.startswith(("largest", "inf", "-inf", "1e", "nan", "smallest", "another dtype"))
    if name == "edge_avoid":  # not known
        return what == "empty" or what.startswith("smallest")
    return (name.startswith("timetable/") and what in ("nan", "largest at 0", "largest at -1")) or name.startswith(
        "uses."
    )


@pytest.mark.parametrize("name", ["names", "timetable/headsigns", "timetable/stops.stop_id", "uses.highway"])
def test_texts_that_are_none(prepared_file: Path, tmp_path: Path, name: str) -> None:
    table = table_of(prepared_file)
    path = tmp_path / "city.network"
    n = len(table.column(name).chunk(0).values)
    with pytest.raises(FormatError):
        load_network(forged(table, path, **{name: pa.array([5] * n)}))
    if n:
        # Offsets that lead out of the text, which no reader may follow.
        whole = forged(table, path).read_bytes()
        good = table.column(name).chunk(0).values.buffers()[1].to_pybytes()[: 4 * (n + 1)]
        if whole.count(good) == 1:
            at = whole.index(good)
            content = bytearray(whole)
            content[at : at + len(good)] = np.full(n + 1, 1 << 30, np.int32).tobytes()
            path.write_bytes(resealed(bytes(content)))
            with pytest.raises(FormatError):
                load_network(path)


#: What a report cannot show, in the header of a saved network.
REPORTS: list[Any] = [
    {"files": 5}, {"files": [5]}, {"files": [{}]}, {"files": {"name": "a"}}, {"elevation": []},
    {"files": [{"name": "a", "role": "streets", "modified": "now", "sha256": 5}]},
    {"deep": json.loads("[" * 500 + "]" * 500)}, {"deep": json.loads('{"a":' * 500 + "1" + "}" * 500)},
]  # fmt: skip


@pytest.mark.parametrize("name", ["report", "water_report"])
@pytest.mark.parametrize("facts", REPORTS, ids=lambda facts: str(facts)[:60])
def test_reports_that_cannot_be_shown(prepared_file: Path, tmp_path: Path, name: str, facts: dict[str, Any]) -> None:
    """They were loaded, and `report`, receipts and `add_elevation` failed."""
    table = table_of(prepared_file)
    header = json.loads(table.schema.metadata[b"traveltime_lab.network"])
    header[name] = {**header[name], **facts}
    path = forged(table, tmp_path / "city.network", json.dumps(header))
    if name == "report" or "deep" in facts:
        with pytest.raises(FormatError, match=r"city\.network is damaged"):
            load_network(path)
    else:
        assert str(load_network(path).report())


#: Parts of 500 mutations each, 5,000 together: the first 60 of the first part are in the ordinary suite, the first two
#: parts in that of thorough tests, and the others in that of mutations.
PARTS = [
    pytest.param(0, 60, marks=pytest.mark.slow),
    *(pytest.param(part, 500, marks=pytest.mark.thorough if part < 2 else pytest.mark.mutations) for part in range(10)),
]


@pytest.mark.parametrize(("part", "cases"), PARTS)
def test_changed_bytes_with_valid_checksums(prepared_file: Path, tmp_path: Path, part: int, cases: int) -> None:
    """Loaded or refused, with no other error and no crash."""
    content, path = prepared_file.read_bytes(), tmp_path / "city.network"
    dice, n_refused = random.Random(part), 0
    for _ in range(cases):
        changed = bytearray(content)
        for _ in range(dice.randint(1, 3)):
            size = len(changed)
            at = dice.choice([dice.randrange(size), size - 1 - dice.randrange(PAGE), dice.randrange(PAGE)])
            changed[at] = dice.randrange(256)
        path.write_bytes(resealed(bytes(changed)))
        try:
            load_network(path)
        except FormatError as error:
            assert path.name in str(error)
            n_refused += 1
    assert 0 < n_refused < cases


def test_every_array_has_a_rule(prepared_file: Path) -> None:
    """A new field of a saved class fails here until it has a rule."""
    for kind in prepared_file_module._CLASSES.values():
        names = [item.name for item in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else kind._fields
        rules = prepared_columns.RULES[kind.__name__]
        notes = {name: kind.__annotations__[name] for name in names}
        annotations = {name: str(getattr(note, "__forward_arg__", note)) for name, note in notes.items()}
        arrays = {name for name, text in annotations.items() if text.endswith("Array") or "ndarray" in text}
        assert arrays == {*rules}, kind
    assert {*prepared_columns.KINDS} == {*prepared.KINDS}
    arrays = {item.name for item in dataclasses.fields(StreetTables) if str(item.type).endswith("Array")}
    assert arrays == {*tables._NODE_DTYPES, *tables._EDGE_DTYPES, *tables._RAGGED_DTYPES, *tables.OPTIONAL_ARRAYS}
    timetable = load_network(prepared_file).timetable
    columns, _ = timetable_file.to_tables(timetable)
    texts = {f"{table}.{name}" for table, names in timetable_columns.TEXTS.items() for name in names.split()}
    assert {*columns} - {"headsigns"} == {*timetable_columns.ARRAYS, *timetable_columns.NUMBERS, *texts}


# Loads a network, lets somebody ruin its file, and searches.
USER = """
    import sys
    import geopandas as gpd
    import traveltime_lab as tl

    network = tl.load_network(sys.argv[1])
    print("loaded", flush=True)
    sys.stdin.readline()
    west, south, east, north = network.bounds
    points = gpd.GeoSeries.from_xy([west / 2 + east / 2], [south / 2 + north / 2], crs="EPSG:4326")
    options = {"travel_time": 1800, "snapping": {"threshold": 20_000}}
    times, areas = tl.time_filter(network, points, points, **options), tl.time_map(network, points, **options)
    print(len(times), areas.to_crs(network.crs).area.sum() > 0)
    network.save(sys.argv[1])
"""


@pytest.mark.parametrize(
    "ruin", first_of(1, ["overwrite", "truncate", "delete"], mark=pytest.mark.thorough, few=pytest.mark.slow)
)
def test_a_file_may_be_overwritten_while_it_is_in_use(city: Path, ruin: str) -> None:
    arguments = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(USER), str(city)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "loaded\n"
        size = city.stat().st_size
        if ruin == "truncate":
            city.write_bytes(b"")
        elif ruin == "overwrite":
            with city.open("rb+") as file:
                file.write(bytes(size))
        else:
            city.unlink()
        process.stdin.write("go on\n")
        process.stdin.close()
        assert process.stdout.read() == "1 True\n"
    assert process.returncode == 0
    assert load_network(city).n_edges > 0
