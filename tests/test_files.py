"""Files are written whole or not at all, only regular files are written or read, and errors say what is wrong."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import traveltime_lab as tl
from tests.support import ROOT, worlds
from tests.support.combinations import combined, first_of
from tests.support.disk import size_limit
from tests.support.osm_files import osm_xml
from traveltime_lab import _files, cli
from traveltime_lab.errors import FileAccessError, InputError, MissingFileError
from traveltime_lab.jobs.point_files import read_point_file
from traveltime_lab.maps import plot
from traveltime_lab.network.network import Network
from traveltime_lab.readers.gtfs.feed import read_timetable
from traveltime_lab.server.auth import find_pairs
from traveltime_lab.server.postcodes import Zones

Writer = Callable[[Path], object]


@pytest.fixture(scope="module")
def network() -> Network:
    corners = {f"{x} {y}": (100.0 * x, 100.0 * y) for x in range(20) for y in range(20)}
    streets = [(f"{x} {y}", f"{x + 1} {y}") for x in range(19) for y in range(20)]
    streets += [(f"{x} {y}", f"{x} {y + 1}") for x in range(20) for y in range(19)]
    return worlds.world(corners, streets)


WRITERS = ["network", "geojson", "parquet", "html", "png", "plot", "report"]


@pytest.fixture(scope="module")
def shown(network: Network) -> tl.TravelTimeMap:
    """A map that no test changes."""
    return tl.TravelTimeMap(network, worlds.at((500.0, 500.0)))


@pytest.fixture(params=WRITERS)
def writer(request: pytest.FixtureRequest, network: Network, shown: tl.TravelTimeMap) -> Writer:
    """Everything that writes a file."""
    if request.param == "network":
        return network.save
    if request.param == "plot":
        return lambda path: plot.save(path, network, size=3, street_names=False)
    if request.param == "report":
        return network.report().to_html
    write: Writer = getattr(shown, f"to_{request.param}")
    return write


def test_writing(writer: Writer, tmp_path: Path) -> None:
    writer(tmp_path / "answer.png")
    assert [path.name for path in tmp_path.iterdir()] == ["answer.png"]
    assert (tmp_path / "answer.png").stat().st_size > 500


def test_the_same_is_written_twice(writer: Writer, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        writer(tmp_path / name / "answer.png")
    one, two = ((tmp_path / name / "answer.png").read_bytes() for name in ("one", "two"))
    assert one == two


@pytest.mark.parametrize(
    ("writer", "kind"),
    combined(WRITERS, ["device", "pipe", "socket", "link to a pipe"], mark=pytest.mark.thorough),
    indirect=["writer"],
)
def test_only_regular_files_are_replaced(writer: Writer, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "target"
    with socket.socket(socket.AF_UNIX) as listener:
        if kind == "device":
            target = Path(os.devnull)
        elif kind == "socket":
            listener.bind(str(target))
        else:
            os.mkfifo(tmp_path / "pipe")
            target = tmp_path / "pipe"
        if kind == "link to a pipe":
            target = tmp_path / "link"
            target.symlink_to(tmp_path / "pipe")
        before = target.lstat()
        with pytest.raises(InputError, match="it is a device, a pipe or a socket; give the path of a regular file"):
            writer(target)
        assert (target.lstat().st_ino, target.lstat().st_mode) == (before.st_ino, before.st_mode)


def test_folders_are_refused(writer: Writer, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it is a folder; give the path of a file"):
        writer(tmp_path)
    with pytest.raises(MissingFileError, match="does not exist; create it first"):
        writer(tmp_path / "nowhere" / "answer.png")


def test_a_link_stays_and_its_file_is_replaced(writer: Writer, tmp_path: Path) -> None:
    (tmp_path / "real.png").write_text("old")
    (tmp_path / "link.png").symlink_to("real.png")
    writer(tmp_path / "link.png")
    assert (tmp_path / "link.png").is_symlink()
    assert (tmp_path / "real.png").stat().st_size > 500


def test_a_full_disk_leaves_what_was_there(writer: Writer, tmp_path: Path) -> None:
    target = tmp_path / "answer.png"
    target.write_text("old")
    with size_limit(400), pytest.raises(FileAccessError, match=r"cannot save .*answer.png: there is no space left"):
        writer(target)
    assert target.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("path", ["a\0b", "", 5, None, b"bytes"])
def test_paths_that_are_none(network: Network, shown: tl.TravelTimeMap, path: Any) -> None:
    # None is a new file in the folder of the map.
    for write in [network.save, *([shown.to_geojson, shown.to_parquet, shown.to_png] if path is not None else [])]:
        with pytest.raises(InputError, match="path must be the path of a file or folder"):
            write(path)


def test_names_that_are_too_long(writer: Writer, tmp_path: Path) -> None:
    with pytest.raises(FileAccessError, match="cannot save"):
        writer(tmp_path / ("a" * 300))
    with pytest.raises(FileAccessError, match="cannot look for"):
        tl.load_network(tmp_path / ("a" * 300))


def test_building_looks_at_the_target_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mode = Path(os.devnull).stat().st_mode
    assert cli.main(["build", str(tmp_path / "missing.osm.pbf"), os.devnull]) == 1
    assert "it is a device, a pipe or a socket" in capsys.readouterr().err
    assert stat.S_ISCHR(mode) and Path(os.devnull).stat().st_mode == mode


def test_a_demo_into_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("old")
    assert cli.main(["demo", "--out", str(tmp_path / "file")]) == 1
    assert "cannot create the folder" in capsys.readouterr().err


# Builds a network while no file may be longer than some bytes.
BUILDER = """
    import resource, sys
    from traveltime_lab import cli

    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
    sys.exit(cli.main(["build", sys.argv[1], sys.argv[2]]))
"""


@pytest.mark.parametrize("limit", first_of(1, [1000, 0, 100_000], mark=pytest.mark.thorough, few=pytest.mark.slow))
def test_a_full_temporary_folder_does_not_end_the_process(tmp_path: Path, limit: int) -> None:
    nodes = {i: (8.0 + 0.00001 * i, 50.0) for i in range(30_000)}
    ways = [(i, f"{i} {i + 1}", "highway=residential") for i in range(29_000)]
    source, target = tmp_path / "streets.osm", tmp_path / "streets.network"
    source.write_bytes(osm_xml(nodes, ways))
    arguments = [sys.executable, "-c", textwrap.dedent(BUILDER), str(source), str(target), str(limit)]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 1, done.stderr
    assert re.search("cannot (write to the|create a) temporary folder.*; set TMPDIR|, or set TMPDIR", done.stderr)
    assert not target.exists()


# Reading --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def answer(network: Network) -> Any:
    place = worlds.at((500.0, 500.0))
    return tl.snap(network, place)


#: Everything that reads a file, and how its name ends.
READERS: dict[str, tuple[str, Callable[[Path, Network], object]]] = {
    "network": (".network", lambda path, _: tl.load_network(path)),
    "mapped network": (".network", lambda path, _: tl.load_network(path, verify=False)),
    "streets": (".osm", lambda path, _: tl.build_network(path)),
    "packed streets": (".osm.gz", lambda path, _: tl.build_network(path)),
    "streets as PBF": (".osm.pbf", lambda path, _: tl.build_network(path)),
    "timetable": (".zip", lambda path, network: read_timetable(path)),
    "changes": (".json", lambda path, _: tl.load_changes(path)),
    "heights": (".tif", lambda path, network: tl.add_elevation(network, path)),
    "counts": (".tif", lambda path, _: tl.counts_to_h3(path, 8)),
    "points": (".csv", lambda path, _: read_point_file(path)),
    "points of GDAL": (".geojson", lambda path, _: read_point_file(path)),
    "points as Parquet": (".parquet", lambda path, _: read_point_file(path)),
    "zones": (".csv", lambda path, _: Zones.read(path)),
    "zones as Parquet": (".parquet", lambda path, _: Zones.read(path)),
    "receipt": (".parquet", lambda path, _: tl.receipt(path)),
    "receipt of GeoJSON": (".geojson", lambda path, _: tl.receipt(path)),
    "credentials": (".txt", lambda path, _: find_pairs(file=path, environment={})),
    "certificate": (".pem", lambda path, network: tl.serve(network, tls=(path, path)).__enter__()),
    "network of a job": (
        ".network", lambda path, _: tl.write_matrix(path, (0, 0), (0, 0), path.parent / "m", travel_time=9)
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["device", "pipe", "socket", "link to a pipe"])
@pytest.mark.parametrize("reader", READERS)
def test_only_regular_files_are_read(reader: str, network: Network, tmp_path: Path, kind: str) -> None:
    """A pipe without a writer was waited for, and a device may never end."""
    ending, read = READERS[reader]
    path = tmp_path / f"source{ending}"
    with socket.socket(socket.AF_UNIX) as listener:
        put_there(path, kind, listener)
        with pytest.raises(FileAccessError, match="it is a device, a pipe or a socket; give the path of a regular f"):
            read(path, network)


def put_there(path: Path, kind: str, listener: socket.socket) -> None:
    """Create what is no regular file; the end of a device is not reached."""
    if kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "socket":
        listener.bind(str(path))
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        os.mkfifo(path.with_name("pipe"))
        path.symlink_to("pipe")


@pytest.mark.parametrize("kind", ["device", "pipe", "socket"])
@pytest.mark.parametrize("name", ["_manifest.json", "_parts.jsonl", "part-000000.parquet"])
def test_folders_of_jobs_with_special_files(network: Network, tmp_path: Path, name: str, kind: str) -> None:
    places = worlds.at((500.0, 500.0), (900.0, 500.0))
    question: dict[str, Any] = {"travel_time": 100, "transportation": "walking", "progress": False, "part_size": 2}
    folder = tl.write_matrix(network, places, places, tmp_path / "m", **question)
    if name == "_parts.jsonl":
        manifest = json.loads((folder / "_manifest.json").read_bytes())
        (folder / "_manifest.json").write_text(json.dumps({key: manifest[key] for key in manifest if key != "parts"}))
    else:
        # As a part without a byte would have it.
        text = (folder / "_manifest.json").read_text("utf-8")
        (folder / "_manifest.json").write_text(re.sub(r'"n_bytes": \d+', '"n_bytes": 0', text))
        (folder / name).unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        put_there(folder / name, kind, listener)
        refused: Any = (FileAccessError, InputError)
        with pytest.raises(refused, match="it is a device, a pipe or a socket; give the path of a regular file"):
            tl.write_matrix(network, places, places, folder, **question)


def test_a_folder_of_parquet_files_with_a_pipe(network: Network, answer: Any, tmp_path: Path) -> None:
    answer.to_parquet(tmp_path / "a.parquet")
    os.mkfifo(tmp_path / "b.parquet")
    with pytest.raises(FileAccessError, match=r"b\.parquet: it is a device, a pipe or a socket"):
        tl.receipt(tmp_path)


def test_a_pipe_in_place_of_a_file_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at a path and its opening."""
    os.mkfifo(tmp_path / "pipe")
    real = os.stat
    (tmp_path / "file").write_text("content")
    monkeypatch.setattr(os, "stat", lambda name, **how: real(tmp_path / "file", **how))
    with pytest.raises(FileAccessError, match="it is a device, a pipe or a socket"):
        _files.open_file(tmp_path / "pipe")


#: Modules that open files themselves, and why.
OPENERS = {
    "_files.py": "in this place",
    "commands/signatures.py": "modules of this package",
    "commands/tables.py": "os.devnull, for writing",
    "jobs/folder.py": "the list that it adds to; a folder",
    "kernels/ahead.py": "an archive that it has written",
    "kernels/cache.py": "modules of this package",
    "kernels/trusted.py": "with its own check, by descriptor",
    "kernels/warm_up.py": "a list of this package",
    "maps/leaflet/__init__.py": "parts of this package",
    "maps/offline_page/__init__.py": "parts of this package",
    "network/checked.py": "modules of this package",
    "network/checksums.py": "a file that it has written",
    "network/sample.py": "parts of other packages",
    "network/unfinished.py": "files that it has written",
    "readers/osm/cut.py": "temporary files",
    "readers/osm/extract.py": "temporary files",
    "readers/osm/versions.py": "temporary files",
    "server/metrics.py": "the memory of this process, from the kernel",
    "server/page/routes.py": "parts of this package",
    "server/reload.py": "the terminal, whether there is one",
    "streets/pandana_guards.py": "os.devnull, for writing",
    "timezones.py": "parts of another package",
}


@pytest.mark.slow
def test_files_are_opened_in_one_place() -> None:
    """Whoever opens a file itself waits for pipes."""
    package = ROOT / "traveltime_lab"
    calls = re.compile(r"(?<![\w.])open\(|\.open\(\"|\bos\.open\(|\.read_(bytes|text)\(")
    examples = re.compile(r"^ *>>> .*$", re.MULTILINE)
    users = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if calls.search(examples.sub("", path.read_text(encoding="utf-8")))
    }
    assert users == {*OPENERS}
