"""Compiled kernels are pickles: only files that the current user or root has written are read, from every place."""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import pytest

from tests.support.combinations import combined
from tests.support.logs import messages
from tests.support.trial_kernel import MODULE, STRANGER, OtherUser, load
from traveltime_lab.kernels import cache, trusted

pytestmark = pytest.mark.skipif(not trusted.CAN_JUDGE, reason="this system has no owners and modes of files")

#: The places that kernels are read from, in this order.
PLACES = ("NUMBA_CACHE_DIR", "__pycache__", "user's cache", "user's home")


class Planted:
    """Code that runs when it is unpickled, and leaves a trace."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.trace),)


class Machine:
    """A kernel of a temporary module, the places of its compiled form, and another user."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.trace = folder / "trace"
        self.bases = {
            "NUMBA_CACHE_DIR": folder / "shared" / "numba",
            "__pycache__": folder / "sources" / "__pycache__",
            "user's cache": folder / "xdg" / "numba",
            "user's home": folder / "home" / ".cache" / "numba",
        }
        self.source = folder / "sources" / "trial.py"
        self.source.parent.mkdir()
        self.source.write_text(MODULE)
        self._monkeypatch = monkeypatch
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        monkeypatch.setattr(numba.config, "CACHE_DIR", "")
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "xdg"))
        monkeypatch.setattr(cache, "home_of_user", lambda: folder / "home")
        self._stranger = OtherUser(monkeypatch)

    def load(self) -> ModuleType:
        """Import the module anew, as the next process would."""
        return load(self.source)

    def use(self, place: str) -> None:
        """Make one of the places the first that can be used."""
        if place == "NUMBA_CACHE_DIR":
            self._monkeypatch.setattr(numba.config, "CACHE_DIR", str(self.bases[place]))
        for earlier in PLACES[1 : max(PLACES.index(place), 1)]:
            # A file in the place of a folder: nothing can be written there.
            self.bases[earlier].parent.mkdir(parents=True, exist_ok=True)
            self.bases[earlier].touch()

    def give_away(self, path: Path) -> None:
        """Make another user the owner of a file or folder."""
        self._stranger.give(path)

    def plant(self, path: Path) -> None:
        """Replace a compiled kernel by code of somebody else, with a valid checksum."""
        payload = pickle.dumps(Planted(self.trace))
        head = path.read_bytes()[: len(cache._MAGIC) + cache._DIGEST_SIZE]
        path.write_bytes(head + hashlib.blake2b(payload, digest_size=cache._DIGEST_SIZE).digest() + payload)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    yield Machine(tmp_path, monkeypatch)
    cache._folders.clear()


def chmod(mode: int) -> Callable[[Machine, Path], None]:
    return lambda machine, path: path.chmod(mode)


def foreign(machine: Machine, path: Path) -> None:
    machine.give_away(path)


def linked(machine: Machine, path: Path) -> None:
    """Move a file or folder into a folder of another user, and leave a link."""
    elsewhere = machine.folder / "elsewhere"
    elsewhere.mkdir()
    shutil.move(path, elsewhere / path.name)
    path.symlink_to(elsewhere / path.name)
    machine.give_away(elsewhere)


def pipe(machine: Machine, path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


#: What somebody else can have done, to what, and a word of the warning.
HOSTILE: dict[str, tuple[Callable[[Machine, str, Path], Path], Callable[[Machine, Path], None], str]] = {
    "file of another user": (lambda machine, place, file: file, foreign, f"uid {STRANGER}"),
    "file that everybody can write": (lambda machine, place, file: file, chmod(0o646), "by everybody"),
    "file that a group can write": (lambda machine, place, file: file, chmod(0o664), "by its group"),
    "file that is a link": (lambda machine, place, file: file, linked, "symbolic link"),
    "file that is a pipe": (lambda machine, place, file: file, pipe, "is not a file"),
    "folder of another user": (lambda machine, place, file: file.parent, foreign, f"uid {STRANGER}"),
    "folder that everybody can write": (lambda machine, place, file: file.parent, chmod(0o777), "by everybody"),
    "folder like /tmp": (lambda machine, place, file: file.parent, chmod(0o1777), "by everybody"),
    "folder that a group can write": (lambda machine, place, file: file.parent, chmod(0o775), "by its group"),
    "folder that is a link": (lambda machine, place, file: file.parent, linked, f"uid {STRANGER}"),
    "folder above of another user": (
        lambda machine, place, file: machine.bases[place].parent, foreign, f"uid {STRANGER}"
    ),
    "folder above that everybody can write": (
        lambda machine, place, file: machine.bases[place].parent, chmod(0o777), "by everybody"
    ),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_planted_code_would_run(machine: Machine, place: str) -> None:
    """What is planted by the user is run: the tests below plant what works."""
    machine.use(place)
    assert machine.load().add(1, 2) == 3
    (file,) = machine.folder.rglob("trial.*.nbc")
    assert file.is_relative_to(machine.bases[place])
    machine.plant(file)
    assert machine.load().add(1, 2) == 3
    assert machine.trace.exists()


@pytest.mark.parametrize(("place", "kind"), combined(PLACES, HOSTILE, mark=pytest.mark.thorough))
def test_planted_code_is_not_run(machine: Machine, place: str, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    machine.use(place)
    assert machine.load().add(1, 2) == 3
    (file,) = machine.folder.rglob("trial.*.nbc")
    machine.plant(file)
    which, spoil, word = HOSTILE[kind]
    spoil(machine, which(machine, place, file))

    caplog.clear()
    module = machine.load()
    assert (module.add(1, 2), module.add(1.5, 2.0)) == (3, 3.5)
    assert not machine.trace.exists()
    (warning,) = messages(caplog, logging.WARNING)
    assert word in warning and "Set NUMBA_CACHE_DIR to a folder" in warning and "compiled" in warning
    assert module.add._cache.is_kept((numba.int64, numba.int64), module.add.targetctx) is not True or (
        # It was compiled again, and is kept where nobody else can write.
        Path(module.add.stats.cache_path) != file.parent or "file" in kind
    )
    # Another process neither runs what was planted nor compiles again, if there is a place for compiled kernels.
    n = len(cache.compilations())
    assert machine.load().add(1, 2) == 3
    assert not machine.trace.exists()
    has_place = place != "user's home" or kind.startswith("file")
    assert len(cache.compilations()) == n + (not has_place)


def test_own_links_are_followed(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    """A folder of the user may be elsewhere, such as on another disk."""
    real = machine.folder / "disk" / "kernels"
    real.mkdir(parents=True)
    machine.bases["NUMBA_CACHE_DIR"].parent.symlink_to(".")
    machine.bases["NUMBA_CACHE_DIR"].symlink_to("disk/../disk/kernels")
    machine.use("NUMBA_CACHE_DIR")
    assert machine.load().add(1, 2) == 3
    assert len(list(real.rglob("*.nbc"))) == 1
    n = len(cache.compilations())
    assert machine.load().add(1, 2) == 3
    assert len(cache.compilations()) == n
    assert not messages(caplog, logging.WARNING)


def test_links_in_circles_end(machine: Machine) -> None:
    (machine.folder / "a").symlink_to("b")
    (machine.folder / "b").symlink_to("a")
    with pytest.raises(OSError):
        trusted.read(machine.folder / "a" / "file")


def test_a_link_of_another_user_is_not_followed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine.folder / "real").mkdir()
    (machine.folder / "real" / "file").write_text("text")
    link = machine.folder / "link"
    link.symlink_to("real")
    assert trusted.read(link / "file") == b"text"
    seen = os.stat

    def theirs(path: Any, **options: Any) -> os.stat_result:
        found = seen(path, **options)
        values = list(found)[:10]
        values[stat.ST_UID] = STRANGER if stat.S_ISLNK(found.st_mode) else found.st_uid
        return os.stat_result(values)

    monkeypatch.setattr(trusted.os, "stat", theirs)
    with pytest.raises(trusted.UntrustedError, match=f"link belongs to another user .uid {STRANGER}"):
        trusted.read(link / "file")


def test_folders_like_tmp_may_be_on_the_way(machine: Machine) -> None:
    way = machine.folder / "way"
    (way / "own").mkdir(parents=True)
    (way / "own" / "file").write_text("text")
    way.chmod(0o1777)
    assert trusted.read(way / "own" / "file") == b"text"
    machine.give_away(way / "own")
    with pytest.raises(trusted.UntrustedError, match="belongs to another user"):
        trusted.read(way / "own" / "file")


def test_what_is_read_is_what_was_judged(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is exchanged after the check does not matter: the descriptor is that of the file judged."""
    path = machine.folder / "file"
    path.write_text("mine")
    judge = trusted._judge

    def exchanging(of: Any, *rest: Any, **more: Any) -> None:
        judge(of, *rest, **more)
        if Path(of) == path:
            path.rename(path.with_name("old"))
            path.write_text("theirs")

    monkeypatch.setattr(trusted, "_judge", exchanging)
    assert trusted.read(path) == b"mine"


@pytest.mark.parametrize(("gid", "members", "is_right"), [(7, [], True), (7, ["bob"], False), (8, [], False)])
def test_private_groups(
    gid: int, members: list[str], is_right: bool, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group without other members is the user; umask 002 makes folders that it can write to."""
    import grp
    import pwd
    from types import SimpleNamespace as Record

    monkeypatch.setattr(pwd, "getpwuid", lambda uid: Record(pw_name="ann", pw_gid=7, pw_dir="/home/ann"))
    monkeypatch.setattr(grp, "getgrgid", lambda of: Record(gr_name="ann", gr_gid=gid, gr_mem=members))
    path = machine.folder / "file"
    path.write_text("text")
    path.chmod(0o664)
    with path.open("rb") as file:
        found = os.stat_result([*list(os.fstat(file.fileno()))[:5], gid, *list(os.fstat(file.fileno()))[6:10]])
        assert trusted._is_private(found, file.fileno()) is is_right


def test_folders_are_made_for_the_user_alone(machine: Machine) -> None:
    before = os.umask(0)
    try:
        trusted.make_folder(machine.folder / "new" / "folder")
    finally:
        os.umask(before)
    assert stat.S_IMODE((machine.folder / "new").stat().st_mode) == 0o755
    assert stat.S_IMODE((machine.folder / "new" / "folder").stat().st_mode) == 0o755


def test_nothing_stays_open(machine: Machine) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("needs /proc")
    (machine.folder / "file").write_text("text")
    (machine.folder / "link").symlink_to(machine.folder)
    before = len(list(descriptors.iterdir()))
    for _ in range(20):
        trusted.read(machine.folder / "link" / "file")
        with pytest.raises(FileNotFoundError):
            trusted.read(machine.folder / "link" / "missing")
        with pytest.raises(OSError):
            trusted.read(machine.folder / "file" / "below")
    assert len(list(descriptors.iterdir())) == before
