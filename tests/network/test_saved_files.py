"""Saved networks that are damaged, or overwritten while they are in use."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.support import ROOT
from traveltime_lab import load_network
from traveltime_lab.errors import FormatError
from traveltime_lab.network import checksums
from traveltime_lab.network.network import Network

PAGE = 4096


@pytest.fixture(scope="module")
def coquimbo_file(coquimbo: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network with streets, water and a timetable."""
    assert coquimbo.timetable is not None
    return coquimbo.save(tmp_path_factory.mktemp("saved") / "coquimbo.network")


@pytest.fixture
def city(coquimbo_file: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(coquimbo_file, tmp_path / "city.network"))


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
    assert not maps.exists() or str(city) in maps.read_text()
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


@pytest.mark.parametrize("ruin", ["truncate", "overwrite", "delete"])
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
