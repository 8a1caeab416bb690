"""Files that a save did not finish are deleted by the next one, but not those in use."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support import ROOT
from traveltime_lab import _files

pytestmark = pytest.mark.skipif(_files.fcntl is None, reason="no locks of files on this system")

SAVED: dict[str, str] = {"what": "the text", "example": "text.txt"}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def left_behind(target: Path) -> Path:
    """Return the temporary file of a process that is killed while it writes."""
    program = """
        import os, signal, sys
        from traveltime_lab import _files
        with _files.replacing(sys.argv[1], what="the text", example="text.txt") as temporary:
            temporary.write_text("half" * 1_000)
            print(temporary, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(target)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return Path(done.stdout.strip())


def test_what_a_killed_process_left_is_deleted(tmp_path: Path) -> None:
    target = tmp_path / "text.txt"
    temporary = left_behind(target)
    assert names(tmp_path) == [".text.txt.0.lock.part", ".text.txt.0.part"] and temporary.name in names(tmp_path)
    # The second one does not find the first one's file in use either.
    assert left_behind(target) == temporary
    _files.write_bytes(target, b"whole", **SAVED)
    assert names(tmp_path) == ["text.txt"] and target.read_bytes() == b"whole"


def test_what_is_left_is_empty_at_once(tmp_path: Path) -> None:
    """Its space may be needed."""
    temporary = left_behind(tmp_path / "text.txt")
    with _files.replacing(tmp_path / "text.txt", **SAVED) as again:
        assert again == temporary and again.stat().st_size == 0
        again.write_text("whole")


def test_saves_at_the_same_time_have_files_of_their_own(tmp_path: Path) -> None:
    target = tmp_path / "text.txt"
    all_are_open = threading.Barrier(8)

    def save(number: int) -> str:
        with _files.replacing(target, **SAVED) as temporary:
            all_are_open.wait()
            temporary.write_text(str(number) * 50_000)
        return temporary.name

    with ThreadPoolExecutor(8) as pool:
        used = list(pool.map(save, range(8)))
    assert sorted(used) == [f".text.txt.{number}.part" for number in range(8)]
    assert names(tmp_path) == ["text.txt"]
    content = target.read_text("utf-8")
    assert len(content) == 50_000 and len(set(content)) == 1


def test_saves_one_after_the_other_from_many_threads(tmp_path: Path) -> None:
    """A file that has just got its final name is not taken for one that was left behind."""
    target = tmp_path / "text.txt"

    def save(number: int) -> None:
        for _ in range(25):
            _files.write_bytes(target, str(number).encode() * 20_000, **SAVED)
            content = target.read_text("utf-8")
            assert len(content) == 20_000 and len(set(content)) == 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(save, range(8)))
    assert names(tmp_path) == ["text.txt"]


def test_a_failed_save_deletes_its_file_only(tmp_path: Path) -> None:
    target = tmp_path / "text.txt"
    with _files.replacing(target, **SAVED) as other:
        with pytest.raises(KeyError), _files.replacing(target, **SAVED) as temporary:
            temporary.write_text("half")
            raise KeyError
        assert names(tmp_path) == [".text.txt.0.lock.part", other.name]
        other.write_text("whole")
    assert names(tmp_path) == ["text.txt"] and target.read_text("utf-8") == "whole"


@pytest.mark.parametrize("ending", [".part", ".lock.part"])
@pytest.mark.parametrize("kind", ["link", "hard link", "pipe", "folder", "link to nowhere", "file"])
def test_nothing_is_written_to_what_is_there(tmp_path: Path, kind: str, ending: str) -> None:
    precious, place = tmp_path / "precious.txt", tmp_path / f".text.txt.0{ending}"
    precious.write_text("precious")
    if kind == "link":
        place.symlink_to(precious)
    elif kind == "hard link":
        place.hardlink_to(precious)
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    elif kind == "file":
        place.write_text("old")
    else:
        place.symlink_to(tmp_path / "nowhere.txt")
    with _files.replacing(tmp_path / "text.txt", **SAVED) as temporary:
        about = temporary.lstat()
        assert stat.S_ISREG(about.st_mode) and about.st_nlink == 1 and about.st_size == 0
        temporary.write_text("whole")
    assert precious.read_text("utf-8") == "precious" and not (tmp_path / "nowhere.txt").exists()
    target = tmp_path / "text.txt"
    assert target.read_text("utf-8") == "whole" and not target.is_symlink()
    # What cannot be deleted, or is not locked, stays.
    assert set(names(tmp_path)) <= {place.name, "precious.txt", "text.txt"}


def test_a_lock_that_was_deleted_meanwhile_is_none(tmp_path: Path) -> None:
    """It was opened before the process that had it deleted it, and is not locked any more."""
    place = tmp_path / ".text.txt.0.lock.part"
    real = _files.fcntl.flock

    def late(descriptor: int, how: int) -> None:
        place.unlink()
        if again:
            place.write_bytes(b"")
        real(descriptor, how)

    for again in (False, True):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(_files.fcntl, "flock", late)
            assert _files._locked(place) is None
        assert place.exists() == again


@pytest.mark.parametrize("missing", ["locks of the file system", "locks of the operating system", "numbers"])
def test_without_locks_each_save_has_a_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    temporary = left_behind(tmp_path / "text.txt")
    if missing == "locks of the file system":

        def refuse(*_arguments: object) -> None:
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr(_files.fcntl, "flock", refuse)
    elif missing == "numbers":
        monkeypatch.setattr(_files, "_MOST_NUMBERS", 0)
    else:
        monkeypatch.setattr(_files, "fcntl", None)
    _files.write_bytes(tmp_path / "text.txt", b"whole", **SAVED)
    # Another one may be writing to it.
    assert names(tmp_path) == [".text.txt.0.lock.part", temporary.name, "text.txt"]
    assert (tmp_path / "text.txt").read_bytes() == b"whole"
    _files.write_bytes(tmp_path / "other.txt", b"whole", **SAVED)
    assert names(tmp_path) == [".text.txt.0.lock.part", temporary.name, "other.txt", "text.txt"]


def test_long_names(tmp_path: Path) -> None:
    """The temporary name is not longer than a file system allows where that of the file is not."""
    target = tmp_path / ("ü" * 127)
    _files.write_bytes(target, b"whole", **SAVED)
    assert names(tmp_path) == [target.name]
