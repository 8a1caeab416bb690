"""A large job goes on where it stopped, whatever stopped it, and gives the same bytes."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import traveltime_lab as tl
from tests.support import ROOT
from tests.support.combinations import combined
from tests.support.disk import size_limit
from tests.support.large_jobs import ON_FOOT, checksums, grid, points
from traveltime_lab.jobs import folder as folders
from traveltime_lab.network.network import Network

HOMES, SHOPS = points(60, 1), points(45, 2, texts=True)
#: Parts of two origins.
SMALL: dict[str, Any] = {"part_size": 100, **ON_FOOT}


@pytest.fixture(scope="module")
def town() -> Network:
    return grid()


@pytest.fixture(scope="module")
def whole(town: Network, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Checksums of what an undisturbed process writes."""
    folder = tmp_path_factory.mktemp("whole") / "matrix"
    return checksums(tl.write_matrix(town, HOMES, SHOPS, folder, progress=False, **SMALL))


def write(network: Any, folder: Path, progress: Any = False, **others: Any) -> Path:
    return tl.write_matrix(network, HOMES, SHOPS, folder, progress=progress, **SMALL | others)


def stop_after(n_parts: int, error: BaseException) -> Callable[[int, int], None]:
    def stop(done: int, _: int) -> None:
        if done >= n_parts:
            raise error

    return stop


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
@pytest.mark.slow
def test_killed_at_any_moment(town: Network, whole: dict[str, str], tmp_path: Path) -> None:
    target, dice = tmp_path / "m", random.Random()
    begin = time.perf_counter()
    write(town, tmp_path / "warm")
    longest = time.perf_counter() - begin
    n_killed = 0
    for _ in range(10):
        before = listed_in(target)
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException):
                write(town, target)
            os._exit(0)
        time.sleep(dice.uniform(0.0, 0.4) * longest)
        os.kill(child, signal.SIGKILL)
        n_killed += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        # Nothing that was listed is lost.
        assert before <= listed_in(target)
    assert n_killed
    made: list[int] = []
    n_listed = len(listed_in(target))
    write(town, target, progress=lambda done, n_parts: made.append(done))
    assert made == list(range(n_listed + 1, 31))
    assert checksums(target) == whole


def listed_in(folder: Path) -> set[int]:
    """Return the numbers of the parts that are there, as the folder says."""
    if not (folder / folders.MANIFEST).exists():
        return set()
    listed = folders.read_manifest(folder).get("parts") or folders._listed(folder / folders.LIST)
    return {row["part"] for row in listed}


@pytest.mark.parametrize("at", ["manifest", "first part", "part"])
def test_a_full_disk(town: Network, whole: dict[str, str], tmp_path: Path, at: str) -> None:
    target = tmp_path / "m"
    size = {"manifest": 100, "first part": 2000, "part": 3200}[at]
    with (
        size_limit(size),
        pytest.raises(tl.UnfinishedJobError, match=r"cannot save .*: there is no space left on the disk") as caught,
    ):
        write(town, target)
    assert caught.value.errno is not None
    assert ("repeat the call once there is space" if at == "manifest" else "of 30 parts") in str(caught.value)
    write(town, target)
    assert checksums(target) == whole


@pytest.mark.slow
def test_a_disk_that_is_full_when_the_list_is_written(town: Network, tmp_path: Path) -> None:
    target, homes = tmp_path / "m", points(120, 1)  # so many parts that their list is larger than each of them

    def write_all(folder: Path, progress: Any = False) -> Path:
        return tl.write_matrix(town, homes, SHOPS, folder, progress=progress, **SMALL | {"part_size": 45})

    with pytest.raises(ZeroDivisionError):
        write_all(target, stop_after(110, ZeroDivisionError()))
    size = (target / folders.LIST).stat().st_size + 20
    with size_limit(size), pytest.raises(tl.UnfinishedJobError, match="cannot save the list of parts") as caught:
        write_all(target)
    assert "110 of 120 parts" in str(caught.value)
    write_all(target)
    assert checksums(target) == checksums(write_all(tmp_path / "whole"))


def test_ctrl_c_says_how_far_it_came(town: Network, whole: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        write(town, tmp_path / "m", progress=stop_after(4, KeyboardInterrupt()))
    told = f"interrupted; 4 of 30 parts (360 of 2,700 pairs) are in {tmp_path / 'm'}; repeat the call to resume"
    assert str(caught.value) == told
    made: list[tuple[int, int]] = []
    write(town, tmp_path / "m", progress=lambda *numbers: made.append(numbers))
    assert made[0] == (5, 30) and made[-1] == (30, 30)
    assert checksums(tmp_path / "m") == whole


def damage(folder: Path, how: str) -> None:
    part = folder / "part-000001.parquet"
    content = part.read_bytes()
    if how == "truncated":
        part.write_bytes(content[:-1])
    elif how == "changed":
        part.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    elif how == "deleted":
        part.unlink()
    elif how == "n_rows":
        for path in (folder / folders.LIST, folder / folders.MANIFEST):
            if path.exists():  # of the second part
                path.write_text(re.sub(r'("part": 1,\s+"n_rows": )\d+', r"\g<1>10", path.read_text("utf-8")))
    elif how == "left over":
        (folder / ".123-456.part").write_bytes(b"half")
    elif how == "list cut":
        path = folder / folders.LIST
        if path.exists():
            path.write_bytes(path.read_bytes()[:-9])
    elif how == "list odd" and (folder / folders.LIST).exists():
        with (folder / folders.LIST).open("a") as file:
            file.write(
                '5\n{"part": "x"}\n{"part": 99, "n_rows": 1, "n_bytes": 1, "blake2b": ""}\n\xff\n{"part": 1e400}\n'
            )


@pytest.mark.parametrize(
    ("how", "is_finished"),
    combined(
        ["truncated", "changed", "deleted", "n_rows", "left over", "list cut", "list odd"],
        [False, True],
        mark=pytest.mark.thorough,
    ),
)
def test_damage_is_found_and_mended(
    town: Network, whole: dict[str, str], tmp_path: Path, how: str, is_finished: bool
) -> None:
    if is_finished:
        write(town, tmp_path / "m")
    else:
        with pytest.raises(ZeroDivisionError):
            write(town, tmp_path / "m", progress=stop_after(5, ZeroDivisionError()))
    damage(tmp_path / "m", how)
    made: list[int] = []
    write(town, tmp_path / "m", progress=lambda done, _: made.append(done))
    is_lost = how in ("truncated", "changed", "deleted", "n_rows") or (how == "list cut" and not is_finished)
    assert len(made) == (0 if is_finished else 25) + is_lost
    assert checksums(tmp_path / "m") == whole


def test_what_is_complete_is_not_made_again(town: Network, whole: dict[str, str], tmp_path: Path) -> None:
    target = write(town, tmp_path / "m")
    times = {path: path.stat().st_mtime_ns for path in target.glob("part-*")}
    write(town, target, progress=stop_after(0, AssertionError()))
    assert {path: path.stat().st_mtime_ns for path in target.glob("part-*")} == times
    assert checksums(target) == whole


def moved() -> Any:
    places = HOMES.copy()
    places.iloc[7] = places.translate(1e-9).iloc[7]
    return places


@pytest.mark.parametrize(
    ("change", "words", "is_finished"),
    combined([
        ({"travel_time": 201}, "travel_time was 200 and is now 201"),
        ({"transportation": "cycling"}, "transportation.type was 'walking' and is now 'cycling'"),
        ({"departure_time": "weekday_morning"}, "departure_time was None and is now 'weekday_morning'"),
        ({"properties": ["distance"]}, r"properties was \['travel_time'\] and is now \['distance'\]"),
        ({"snapping": {"threshold": 10}}, "snapping.threshold was 1000 and is now 10"),
        ({"part_size": 45}, "origins_per_part was 2 and is now 1"),
        ({"origins": moved()}, "origins.digest was"),
        ({"origins": HOMES[::-1]}, "origins.digest was"),
        ({"origins": HOMES.rename({100: 1})}, "origins.digest was"),
        ({"destinations": SHOPS[:-1]}, "destinations.count was 45 and is now 44"),
    ], [False, True], mark=pytest.mark.thorough),
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)  # fmt: skip
def test_other_questions_are_refused(
    town: Network, tmp_path: Path, change: dict[str, Any], words: str, is_finished: bool
) -> None:
    stop = False if is_finished else stop_after(2, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError) if stop else pytest.MonkeyPatch.context():
        write(town, tmp_path / "m", progress=stop)
    before = checksums(tmp_path / "m")
    arguments = {"origins": HOMES, "destinations": SHOPS, **SMALL, **change}
    with pytest.raises(tl.InputError, match=f"holds the parts of another job: .*{words}.*Give another path"):
        tl.write_matrix(town, path=tmp_path / "m", progress=False, **arguments)
    assert checksums(tmp_path / "m") == before


def test_another_network_version_or_kind_is_refused(
    town: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = write(town, tmp_path / "m")
    with pytest.raises(tl.InputError, match="another job: network was"):
        write(tl.add_speeds(town, classes={"residential": 4}), target)
    with pytest.raises(tl.InputError, match="another job: kind was 'matrix' and is now 'areas'"):
        tl.write_areas(town, HOMES, target, progress=False, **ON_FOOT)
    monkeypatch.setattr("pyarrow.__version__", "1.0")
    with pytest.raises(tl.InputError, match=r"versions.pyarrow was .* and is now '1.0'"):
        write(town, target)


def test_the_same_question_in_other_words_is_the_same(town: Network, tmp_path: Path) -> None:
    import datetime as dt

    target = write(town, tmp_path / "m", departure_time="2026-03-02T08:00:00")
    others = {"travel_time": dt.timedelta(seconds=200), "transportation": tl.Transportation("walking")}
    others |= {"departure_time": dt.datetime(2026, 3, 2, 8, tzinfo=dt.UTC), "engine": "dijkstra"}
    write(town, target, progress=stop_after(0, AssertionError()), **others)


def test_another_engine_goes_on_with_the_same_bytes(town: Network, whole: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        write(town, tmp_path / "m", progress=stop_after(4, ZeroDivisionError()), engine="dijkstra")
    write(town, tmp_path / "m", engine="hierarchy")
    assert checksums(tmp_path / "m") == whole


@pytest.mark.parametrize("name", ["part-000050.parquet", "part-old.parquet", "part-1.parquet"])
def test_parts_of_others_are_refused(town: Network, tmp_path: Path, name: str) -> None:
    target = write(town, tmp_path / "m")
    (target / name).write_bytes(b"mine")
    with pytest.raises(tl.InputError, match=f"has '{name}', which is no part of this job, .* delete it"):
        write(town, target)
    assert (target / name).read_bytes() == b"mine"


def test_folders_of_others_are_left_alone(town: Network, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(tl.InputError, match="it is a file; give the path of a folder"):
        write(town, tmp_path / "file")
    with pytest.raises(tl.InputError, match=r"is not empty \('file'\) and has no manifest"):
        write(town, tmp_path)
    with pytest.raises(tl.MissingFileError, match="does not exist; create it first"):
        write(town, tmp_path / "nowhere" / "m")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    known = f'"format": "{folders.FORMAT}"'
    for text, words in (
        ("{", "is damaged"),
        ("[" * 100_000, "is damaged"),
        ("[]", "is not the manifest of a large job"),
        ("null", "is not the manifest of a large job"),
        ('{"format": "x", "format_version": 1}', "is not the manifest of a large job"),
        (f'{{{known}, "format_version": 9}}', "has format 9, this version continues 1"),
        (f'{{{known}, "format_version": 1, "parts": 5}}', "its parts are not a list"),
    ):
        (tmp_path / "m").mkdir(exist_ok=True)
        (tmp_path / "m" / folders.MANIFEST).write_text(text)
        with pytest.raises(tl.FormatError, match=words):
            write(town, tmp_path / "m")


@pytest.mark.parametrize("of_folders", [True, False], ids=["folder", "file, as on Windows"])
@pytest.mark.thorough
def test_two_at_a_time_are_refused(
    town: Network, whole: dict[str, str], tmp_path: Path, of_folders: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if of_folders and folders.fcntl is None:
        pytest.skip("no locks of folders on this system")
    if not of_folders:
        pytest.importorskip("filelock")
        monkeypatch.setattr(folders, "fcntl", None)

    # Another process, not only another call of this one.
    code = (
        "import sys; from pathlib import Path; import traveltime_lab as tl; from traveltime_lab.jobs import folder\n"
        "if sys.argv[2] == 'False': folder.fcntl = None\n"
        "try:\n"
        "    with folder._alone(Path(sys.argv[1])): print('alone')\n"
        "except tl.InputError as error: print(error)\n"
    )

    def other() -> str:
        given = [sys.executable, "-c", code, str(tmp_path / "m"), str(of_folders)]
        return subprocess.run(given, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout

    def again(done: int, _: int) -> None:
        if done == 1:
            with pytest.raises(tl.InputError, match="another process writes to"):
                write(town, tmp_path / "m")
            assert "another process writes to" in other()

    write(town, tmp_path / "m", progress=again)
    assert other() == "alone\n"
    # Windows deletes the file with the lock.
    assert {name: told for name, told in checksums(tmp_path / "m").items() if name != folders.LOCK} == whole
    if not of_folders:
        write(town, tmp_path / "m")
        (tmp_path / "n").mkdir()
        (tmp_path / "n" / folders.LOCK).touch()
        write(town, tmp_path / "n")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_a_forked_process_does_not_keep_the_folder_locked(tmp_path: Path) -> None:
    with folders._alone(tmp_path):
        pid = os.fork()
        if not pid:
            os._exit(len(folders._holders))
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert len(folders._holders) == 1


def test_a_progress_bar_shows_rate_and_time_left(
    town: Network, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ZeroDivisionError):
        write(town, tmp_path / "m", progress=stop_after(15, ZeroDivisionError()))
    write(town, tmp_path / "m", progress=True)
    told = capsys.readouterr().err
    assert "1.35k/2.70k" in told  # begins where it goes on
    assert "2.70k/2.70k" in told and "pair/s" in told
    write(town, tmp_path / "m", progress=True)
    assert not capsys.readouterr().err
    with pytest.raises(tl.InputError, match="progress must be True or False"):
        write(town, tmp_path / "m", progress="yes")


def test_the_manifest_says_what_is_there(town: Network, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        write(town, tmp_path / "m", progress=stop_after(3, ZeroDivisionError()))
    listed = [json.loads(line) for line in (tmp_path / "m" / folders.LIST).read_text("utf-8").splitlines()]
    assert [row["part"] for row in listed] == [0, 1, 2]
    assert "parts" not in folders.read_manifest(tmp_path / "m")
    about = folders.read_manifest(write(town, tmp_path / "m"))
    assert [row["part"] for row in about["parts"]] == list(range(30))
    assert about["parts"][:3] == listed
    assert {path.name for path in (tmp_path / "m").iterdir()} == {
        folders.MANIFEST, *(f"part-{part:06d}.parquet" for part in range(30))
    }  # fmt: skip
    with pytest.raises(tl.MissingFileError, match="has no manifest"):
        folders.read_manifest(tmp_path)
