"""Preparing that is interrupted resumes where it was, and gives the same bytes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import traveltime_lab as tl
from tests.support import ROOT
from tests.support.combinations import first_of
from traveltime_lab.errors import FileAccessError, ModeError
from traveltime_lab.network import unfinished
from traveltime_lab.streets import contraction, layer
from traveltime_lab.transit import stop_links

TYPES = ("walking", "driving", "public_transport")
#: Prepares a network with the steps in between counted, and ends without warning after one of them.
KILLED = """
import os, signal, sys
import traveltime_lab as tl
from traveltime_lab.network import unfinished

source, folder, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
keep, n_steps = unfinished.Unfinished.keep, 0

def counted(self, uses):
    global n_steps
    keep(self, uses)
    n_steps += 1
    if n_steps == last:
        os.kill(os.getpid(), signal.SIGKILL)

unfinished.Unfinished.keep = counted
tl.load_network(source).prepare(*sys.argv[4:], folder=folder)
print(n_steps)
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small network with streets and a timetable."""
    from tests.test_fuzz import make_world

    folder = tmp_path_factory.mktemp("plain")
    return make_world(folder).network.save(folder / "plain.network")


@pytest.fixture(scope="module")
def whole(plain: Path) -> bytes:
    """The file of the network, prepared without an interruption."""
    return tl.load_network(plain).prepare(*TYPES).save(plain.with_name("whole.network")).read_bytes()


class StopError(Exception):
    """Ends preparing."""


@pytest.mark.slow
def test_every_step_may_be_the_last(plain: Path, whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call gets one step further than the one before it."""
    folder = tmp_path / "parts"
    keep, n_calls = unfinished.Unfinished.keep, 0
    steps = 0

    def stops(self: Any, uses: Any) -> None:
        nonlocal steps
        before = len(self._values)
        keep(self, uses)
        steps += 1
        if len(self._values) > before and steps > 1:
            raise StopError

    while True:
        network, steps = tl.load_network(plain), 0
        with monkeypatch.context() as patch:
            patch.setattr(unfinished.Unfinished, "keep", stops)
            try:
                network.prepare(*TYPES, folder=folder)
            except StopError:
                n_calls += 1
                assert network.prepared == ()
                continue
        break
    assert n_calls > 5
    assert network.prepared == TYPES
    assert network.save(tmp_path / "city.network").read_bytes() == whole
    others = {"index.json", "notes.txt", "speeds.npy"}
    for name in others:
        (folder / name).touch()
    tl.load_network(tmp_path / "city.network").prepare("cycling", folder=folder)
    unfinished.remove(folder)
    assert {path.name for path in folder.iterdir()} == others, "files of others stay"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no signal that ends a process at once")
@pytest.mark.parametrize("last", first_of(1, [1, 4], mark=pytest.mark.thorough, few=pytest.mark.slow))
def test_a_process_that_was_killed(plain: Path, whole: bytes, tmp_path: Path, last: int) -> None:
    folder = tmp_path / "parts"
    command = [sys.executable, "-c", KILLED, str(plain), str(folder)]
    killed = subprocess.run([*command, str(last), *TYPES], cwd=ROOT, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    # As if it had been killed while it wrote an array.
    (folder / f"{'0' * 32}-1.part").write_bytes(b"half")
    network = tl.load_network(plain).prepare(*TYPES, folder=folder)
    assert network.save(tmp_path / "city.network").read_bytes() == whole
    unfinished.remove(folder)
    assert not folder.exists()


@pytest.mark.usefixtures("whole")
def test_finished_values_are_not_computed_again(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tl.load_network(plain).prepare(*TYPES, folder=tmp_path)

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("computed again")

    for module, name in (
        (layer, "build_topology"), (layer, "weigh"), (contraction, "_rank"), (stop_links, "_walks"),
        (stop_links, "transfers_by_pathways"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, fail)
    assert tl.load_network(plain).prepare(*TYPES, folder=tmp_path).prepared == TYPES


@pytest.mark.parametrize(
    "fault",
    first_of(
        2, ["digest", "missing", "version", "network", "json", "array"], mark=pytest.mark.thorough, few=pytest.mark.slow
    ),
)
def test_folders_that_cannot_be_used(plain: Path, whole: bytes, tmp_path: Path, fault: str) -> None:
    """What they have is computed again, and their files are replaced."""
    folder = tmp_path / "parts"
    tl.load_network(plain).prepare("walking", folder=folder)
    index = folder / unfinished._INDEX
    header = json.loads(index.read_bytes())
    arrays = sorted(folder.glob("*.npy"), key=lambda path: path.stat().st_size)
    if fault in ("version", "network"):
        header["made_with" if fault == "version" else "network"] = "other"
        index.write_text(json.dumps(header))
    elif fault == "json":
        index.write_text("[")
    elif fault == "array":
        os.truncate(arrays[-1], arrays[-1].stat().st_size // 2)
    elif fault == "digest":
        header["columns"] = dict.fromkeys(header["columns"], "../secret")
        index.write_text(json.dumps(header))
    else:
        arrays[-1].unlink()
    network = tl.load_network(plain).prepare(*TYPES, folder=folder)
    assert network.save(tmp_path / "city.network").read_bytes() == whole
    again = tl.load_network(plain)
    assert unfinished.Unfinished(folder, again.fingerprint, again.streets, again.transit).found().values
    again.prepare(*TYPES, folder=folder)
    assert again.save(tmp_path / "again.network").read_bytes() == whole


def test_arguments(plain: Path, tmp_path: Path) -> None:
    network = tl.load_network(plain)
    with pytest.raises(ModeError):
        network.prepare("flying", folder=tmp_path / "new")
    assert not (tmp_path / "new").exists()
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(FileAccessError, match="file"):
        network.prepare("walking", folder=file)
