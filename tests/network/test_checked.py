"""Saved networks that are known: their columns are checked once, and again after every change."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import traveltime_lab as tl
from tests.support.sealed import resealed
from traveltime_lab import Network
from traveltime_lab.errors import FormatError
from traveltime_lab.kernels import trusted
from traveltime_lab.network import checked, file, prepared_columns
from traveltime_lab.settings import settings
from traveltime_lab.streets import columns
from traveltime_lab.transit import timetable_columns

pytestmark = pytest.mark.skipif(not trusted.CAN_JUDGE, reason="this system does not say who could write a file")


@pytest.fixture
def saved(porto_alegre: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A prepared network, as if it were older than two seconds; its marks are in a folder of their own."""
    monkeypatch.setattr(checked, "_SAME_TIME_S", -1e9)
    monkeypatch.setattr(settings, "_cache_folder", tmp_path / "cache")
    path = porto_alegre.save(tmp_path / "city.network")
    return tl.load_network(path).prepare("walking").save(path)


def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that fills with the names of what is checked by its values."""
    seen: list[str] = []
    check_consistent, check_column = file.check_consistent, columns.check_column

    def streets(tables: Any) -> None:
        seen.append("streets")
        check_consistent(tables)

    def column(name: str, *others: Any, is_known: bool = False) -> None:
        if not is_known:
            seen.append(name)
        check_column(name, *others, is_known=is_known)

    monkeypatch.setattr(file, "check_consistent", streets)
    for module in (prepared_columns, timetable_columns):
        monkeypatch.setattr(module, "check_column", column)
    return seen


def test_columns_are_checked_once(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = looks(monkeypatch)
    first = tl.load_network(saved, verify=False)
    assert {"streets", "Topology.indptr", "Hierarchy.parent", "contraction order", "arrival"} <= set(seen)
    seen.clear()
    again = tl.load_network(saved, verify=False)
    assert not seen
    assert again.prepared == first.prepared == ("walking",)
    tl.load_network(saved)
    assert "streets" in seen, "files that are verified are checked, too"


@pytest.mark.parametrize("change", ["in place", "other file"])
def test_changed_files_are_checked(saved: Path, change: str) -> None:
    tl.load_network(saved, verify=False)
    times = saved.stat()
    content = bytearray(saved.read_bytes())
    network = tl.load_network(saved)
    at = content.find(np.ascontiguousarray(network.tables.edge_from[:64]).tobytes())
    content[at : at + 4] = np.int32(network.n_nodes).tobytes()
    if change == "other file":
        saved.unlink()
    time.sleep(0.02)  # longer than the unit of the times of files
    saved.write_bytes(content)
    # Whoever changes a file can set this time back, but not the one of the system.
    os.utime(saved, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert saved.stat().st_size == times.st_size
    for _ in range(2):
        with pytest.raises(FormatError, match="edge_from"):
            tl.load_network(saved, verify=False)
    resealed(saved)
    with pytest.raises(FormatError, match="edge_from"):
        tl.load_network(saved)


def test_files_changed_just_now_are_not_remembered(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked, "_SAME_TIME_S", 1e9)
    seen = looks(monkeypatch)
    for _ in range(2):
        tl.load_network(saved, verify=False)
        assert "streets" in seen
        seen.clear()
    assert not (settings.cache_folder / "checked").exists()


@pytest.mark.parametrize("plant", ["folder of others", "link", "file of others"])
def test_marks_that_another_user_could_have_left_are_ignored(
    saved: Path, plant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tl.load_network(saved, verify=False)
    (mark,) = (settings.cache_folder / "checked").iterdir()
    if plant == "folder of others":
        mark.parent.chmod(0o777)
    elif plant == "file of others":
        mark.chmod(0o666)
    else:
        mark.rename(mark.with_name("elsewhere"))
        mark.symlink_to(mark.with_name("elsewhere"))
    seen = looks(monkeypatch)
    tl.load_network(saved, verify=False)
    assert "streets" in seen


def test_other_rules_and_missing_folders(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tl.load_network(saved, verify=False)
    seen = looks(monkeypatch)
    monkeypatch.setattr(checked, "_rules", lambda: "other")
    tl.load_network(saved, verify=False)
    assert "streets" in seen
    seen.clear()
    # A file where the folder should be.
    folder = saved.with_name("none")
    folder.touch()
    monkeypatch.setattr(settings, "_cache_folder", folder)
    for _ in range(2):
        tl.load_network(saved, verify=False)
        assert "streets" in seen
        seen.clear()


def test_the_oldest_marks_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_cache_folder", tmp_path)
    monkeypatch.setattr(checked, "_MOST", 3)
    for number in range(5):
        checked.remember(str(number))
        for other in range(number + 1):
            if checked.is_known(str(other)):
                os.utime(tmp_path / "checked" / str(other), (other, other))
    assert [checked.is_known(str(number)) for number in range(5)] == [False, False, True, True, True]
