"""What a process holds of the operating system does not grow with the number of calls."""

from __future__ import annotations

import gc
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import repeated

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks below /proc")


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary files of other tests are elsewhere."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture(autouse=True)
def own_objects() -> Iterator[None]:
    """Objects of other tests are left out when garbage is collected, which is done more than a hundred times."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize("group", repeated.GROUPS)
@pytest.mark.thorough
def test_calls_leave_nothing_behind(group: str, tmp_path: Path) -> None:
    if group == "service":
        pytest.importorskip("starlette", reason="the extra 'server' is not installed")
    left, names = {}, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, call in repeated.GROUPS[group](tmp_path):
            names.append(name)
            left[name] = repeated.repeat(call, 3)
    assert len(names) == len(set(names)) > 5
    assert {name: more for name, more in left.items() if more} == {}


def test_what_is_left_behind_is_seen(tmp_path: Path) -> None:
    files, folders = [], []

    def leave() -> None:
        files.append((tmp_path / "file").open("w"))
        folders.append(tempfile.mkdtemp(prefix="traveltime_lab_"))

    try:
        left = repeated.repeat(leave, 3, patience_s=0.0)
        assert list(left) == ["descriptors", "temporary"]
        assert left["descriptors"] == {str(tmp_path / "file"): 3} and len(left["temporary"]) == 3
    finally:
        for file in files:
            file.close()
