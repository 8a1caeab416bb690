"""Many networks are those that are made one by one, byte for byte, on any executor and after any interruption."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.jobs.test_matrix import Losing
from tests.support import ROOT
from tests.support.combinations import combined, first_of
from tests.support.disk import size_limit
from tests.support.feeds import feed
from tests.support.large_jobs import HOW, Strange, checksums, manifest
from tests.test_fuzz import World, make_world
from traveltime_lab import cli
from traveltime_lab.commands import large_jobs
from traveltime_lab.jobs import job as jobs
from traveltime_lab.jobs import network_items
from traveltime_lab.jobs import networks as module
from traveltime_lab.network import unfinished

TYPES = ("walking", "driving", "public_transport")
#: Changes by name; the first changes nothing, and the second the timetable only.
SCENARIOS: dict[str, Any] = {
    "today": [],
    "late": tl.ShiftTrips("R", 300),
    "works": [tl.CloseStreets(edges=[3, 4], name="works"), tl.SetSpeed(kph=20, edges=7)],
}
LATE = pd.DataFrame(
    {"trip_id": "t", "date": ["2026-03-03", "2026-03-04"], "stop_sequence": 1, "departure_delay": [60, 120]}
)
KINDS = ("regions", "scenarios", "days")

#: Writes networks as the arguments say, and ends without warning after a number of networks, or of steps in between.
KILLED = """
import os, pickle, signal, sys
import traveltime_lab as tl
from traveltime_lab.network import unfinished

arguments, at, after = pickle.loads(bytes.fromhex(sys.argv[1])), sys.argv[2], int(sys.argv[3])
keep, n_steps = unfinished.Unfinished.keep, 0

def end(done, total):
    if at == "network" and done == after:
        os.kill(os.getpid(), signal.SIGKILL)

def counted(self, uses):
    global n_steps
    keep(self, uses)
    n_steps += 1
    if at == "step" and n_steps == after:
        os.kill(os.getpid(), signal.SIGKILL)

unfinished.Unfinished.keep = counted
tl.write_networks(**arguments, progress=end)
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def calls(world: World) -> dict[str, dict[str, Any]]:
    """The arguments of a call for each kind of networks."""
    streets = world.folder / "town.osm"
    regions = {
        "whole": {"osm": streets, "gtfs": world.folder / "feed.zip", "timezone": "UTC"},
        "east": {"osm": [streets], "bounds": (0.51, 0.49, 0.53, 0.51), "prepare": "walking", "is_left_hand": True},
        "città vecchia": {"osm": str(streets), "gtfs": [world.folder / "feed.zip"], "prepare": ()},
    }
    base = world.folder / "town.network"
    days = tl.observed_days(tl.load_network(base), LATE)
    return {
        "regions": {"networks": regions, "prepare": TYPES},
        "scenarios": {"networks": SCENARIOS, "base": base, "prepare": TYPES},
        "days": {"networks": days, "base": base, "prepare": TYPES[2]},
    }


@pytest.fixture(scope="module")
def plain(calls: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Checksums of what undisturbed calls without an executor write."""
    folder = tmp_path_factory.mktemp("plain")
    return {kind: checksums(write(calls[kind], folder / kind)) for kind in calls}


def write(call: dict[str, Any], path: Path, **others: Any) -> Path:
    return tl.write_networks(**{"progress": False, **call, "path": path, **others})


@pytest.mark.slow
def test_files_are_those_of_one_by_one(
    world: World, calls: dict[str, dict[str, Any]], plain: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    """The slow twin: each network made by hand."""
    made: dict[str, tl.Network] = {}
    for name, region in calls["regions"]["networks"].items():
        given = {"prepare": TYPES, **region}
        prepare = given.pop("prepare")
        made[name] = tl.build_network(**given)
        if prepare:
            made[name].prepare(*([prepare] if isinstance(prepare, str) else prepare))
    for name, changes in SCENARIOS.items():
        made[name] = tl.load_network(world.folder / "town.network").with_changes(changes).prepare(*TYPES)
    days = tl.observed_days(tl.load_network(world.folder / "town.network"), LATE)
    made |= {str(date): network.prepare(TYPES[2]) for date, network in days.items()}
    for name, network in made.items():
        network.save(tmp_path / f"{name}.network")
    found = {name: told for kind in KINDS for name, told in plain[kind].items() if name != "_manifest.json"}
    assert checksums(tmp_path) == found


@pytest.mark.thorough
def test_files_answer(world: World, calls: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    folder = write(calls["days"], tmp_path / "d")
    assert sorted(path.name for path in folder.iterdir()) == [
        "2026-03-03.network", "2026-03-04.network", "_manifest.json",
    ]  # fmt: skip
    how: dict[str, Any] = {
        "transportation": "public_transport", "departure_time": "2026-03-04T07:55", "travel_time": 3600,
    }  # fmt: skip
    loaded = tl.load_network(folder / "2026-03-04.network")
    assert loaded.prepared == ("public_transport",)
    expected = tl.time_filter(calls["days"]["networks"]["2026-03-04"], world.home, world.work, **how)
    pd.testing.assert_frame_equal(
        pd.DataFrame(tl.time_filter(loaded, world.home, world.work, **how)), pd.DataFrame(expected)
    )
    saved = {date: tl.load_network(folder / f"{date}.network", verify=False) for date in calls["days"]["networks"]}
    studies = [
        tl.reliability(world.network, days, world.home, world.work, **how)
        for days in (calls["days"]["networks"], saved)
    ]
    pd.testing.assert_frame_equal(*map(pd.DataFrame, studies))
    planned = tl.time_filter(world.network, world.home, world.work, **how)
    assert expected["travel_time"].iloc[0] > planned["travel_time"].iloc[0]


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=HOW) as made:
        yield made


@pytest.mark.parametrize(
    ("how", "kind"),
    combined(["threads", "processes", "strange", "lost"], KINDS, mark=pytest.mark.thorough, few=pytest.mark.slow),
)
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_any_executor_writes_the_same_bytes(
    kind: str, how: str, calls: dict[str, dict[str, Any]], plain: dict[str, dict[str, str]], tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    made: dict[str, Callable[[], Executor]] = {
        "threads": lambda: ThreadPoolExecutor(3), "strange": Strange, "lost": lambda: Losing(2),
        "processes": lambda: request.getfixturevalue("pool"),
    }  # fmt: skip
    assert checksums(write(calls[kind], tmp_path / "n", executor=made[how]())) == plain[kind]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_network_in_place_of_its_file(
    kind: str, world: World, calls: dict[str, dict[str, Any]], plain: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    base = tl.load_network(world.folder / "town.network")
    networks = tl.observed_days(base, LATE) if kind == "days" else SCENARIOS
    call = {**calls[kind], "networks": networks, "base": base}
    assert checksums(write(call, tmp_path / "n", executor=Strange())) == plain[kind]
    if kind == "days":
        assert checksums(write({**call, "base": None}, tmp_path / "m", executor=Strange())) == plain[kind]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_workers_that_do_not_see_the_folder_send_files(
    kind: str, calls: dict[str, dict[str, Any]], plain: dict[str, dict[str, str]], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(module.NetworksJob, "_seen", lambda _: None)
    kept: list[Any] = []
    monkeypatch.setattr(unfinished.Unfinished, "keep", lambda *_: kept.append(_))
    assert checksums(write(calls[kind], tmp_path / "n", executor=Strange())) == plain[kind]
    assert not kept


@pytest.mark.slow
def test_a_folder_of_the_same_path_elsewhere_is_not_that_of_the_job(
    calls: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    seen = []

    class Moving(Strange):
        """An executor whose workers have a different file at the path of the manifest."""

        def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Any:
            path = tmp_path / "n" / "_manifest.json"
            own = path.read_bytes()
            path.write_text('{"kind": "matrix"}')
            future = super().submit(function, *arguments, **options)
            path.write_bytes(own)
            seen.append(isinstance(future.result().content, bytes))
            return future

    write(calls["regions"], tmp_path / "n", executor=Moving())
    assert seen == [True] * 3


def test_jobs_take_the_path_along_and_not_the_network(
    calls: dict[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Any] = []
    monkeypatch.setattr(module, "run", lambda job, *_: taken.append(job) or tmp_path)
    sizes = {}
    for kind in KINDS[1:]:
        write(calls[kind], tmp_path / "n")
        write({**calls[kind], "base": None if kind == "days" else tl.load_network(calls[kind]["base"])}, tmp_path / "n")
        sizes[kind] = [len(pickle.dumps(each)) for each in taken[-2:]]
        assert sizes[kind][0] < sizes[kind][1] / 3, sizes
    copy = pickle.loads(pickle.dumps(taken[0]))
    monkeypatch.setattr(jobs, "versions", lambda: {"traveltime_lab": "9"})
    with pytest.raises(tl.InputError, match="a worker has other versions"):
        copy.make("today")


# Interruptions --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no signal that ends a process at once")
@pytest.mark.parametrize(("kind", "at", "after"), [
    pytest.param("regions", "network", 1, marks=pytest.mark.thorough),
    pytest.param("regions", "step", 2, marks=pytest.mark.slow),
    pytest.param("scenarios", "network", 2, marks=pytest.mark.thorough),
    pytest.param("scenarios", "step", 3, marks=pytest.mark.thorough),
    pytest.param("days", "network", 1, marks=pytest.mark.thorough),
])  # fmt: skip
def test_a_process_that_was_killed(
    kind: str, at: str, after: int, calls: dict[str, dict[str, Any]], plain: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    target = tmp_path / "n"
    call = pickle.dumps({**calls[kind], "path": target}).hex()
    command = [sys.executable, "-c", KILLED, call, at, str(after)]
    killed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    # As if it had been killed while it wrote a file.
    (target / ".late.part").write_bytes(b"half")
    there = {path.name: path.stat().st_mtime_ns for path in target.glob("*.network")}
    assert len(there) == (after if at == "network" else 1 if kind == "scenarios" else 0) or at == "step"
    made: list[int] = []
    write(calls[kind], target, progress=lambda done, total: made.append(done))
    assert made == list(range(len(there) + 1, len(calls[kind]["networks"]) + 1)), "those that are there are kept"
    assert all((target / name).stat().st_mtime_ns == when for name, when in there.items())
    assert checksums(target) == plain[kind]


@pytest.mark.thorough
def test_what_was_prepared_is_not_computed_again(
    calls: dict[str, dict[str, Any]], plain: dict[str, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A region resumes within its preparation, as `Network.prepare` with a folder does."""
    keep, found = unfinished.Unfinished.keep, unfinished.Unfinished.found

    def stop(self: Any, uses: Any) -> None:
        keep(self, uses)
        if len(self._values) > 6:
            raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(unfinished.Unfinished, "keep", stop)
        with pytest.raises(ZeroDivisionError):
            write(calls["regions"], tmp_path / "n")
    assert (tmp_path / "n" / ".whole.unfinished").is_dir()
    n_found: list[int] = []
    monkeypatch.setattr(
        unfinished.Unfinished, "found", lambda self: (n_found.append(len((made := found(self)).values)), made)[1]
    )
    assert checksums(write(calls["regions"], tmp_path / "n")) == plain["regions"]
    assert n_found[0] > 6 and not any(n_found[1:])


@pytest.mark.thorough
@given(
    st.lists(st.tuples(st.sets(st.sampled_from(sorted(SCENARIOS)), min_size=1), st.integers(0, 3)), max_size=4),
    st.sampled_from(sorted(SCENARIOS)),
)
@settings(max_examples=12, deadline=None)
def test_any_calls_end_with_the_same_folder(
    calls: dict[str, dict[str, Any]], plain: dict[str, dict[str, str]], steps: list[tuple[set[str], int]], damaged: str
) -> None:
    """Networks are added in any order, calls stop anywhere, and a file is damaged: the last call mends all."""
    given: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "n"

        def stop_after(n: int) -> Callable[[int, int], None]:
            def stop(done: int, total: int) -> None:
                if done >= n:
                    raise ZeroDivisionError

            return stop

        for names, after in steps:
            given |= names
            chosen = {name: SCENARIOS[name] for name in SCENARIOS if name in given}
            with contextlib.suppress(ZeroDivisionError):
                write({**calls["scenarios"], "networks": chosen}, target, progress=stop_after(after))
        if (target / f"{damaged}.network").exists():
            (target / f"{damaged}.network").write_bytes(b"damaged")
        assert checksums(write(calls["scenarios"], target)) == plain["scenarios"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_a_pool_whose_worker_is_killed(
    calls: dict[str, dict[str, Any]], plain: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    def kill(done: int, total: int) -> None:
        if done == 1:
            os.kill(next(iter(pool._processes)), signal.SIGKILL)

    target = tmp_path / "n"
    regions = dict(calls["regions"]["networks"])
    more = {**regions, **{f"{name} {i}": region for i in range(6) for name, region in regions.items()}}
    call = {**calls["regions"], "networks": more}
    with ProcessPoolExecutor(1, mp_context=HOW) as pool:
        ended = r"a worker process ended .* [1-9]\d? of 21 networks are in .*n; repeat the call to resume"
        with pytest.raises(tl.UnfinishedJobError, match=ended):
            write(call, target, progress=kill, executor=pool)
    with pytest.raises(tl.UnfinishedJobError, match="workers ended 4 times while they computed part"):
        write(call, tmp_path / "m", executor=Losing(999))
    write(call, target)
    told = checksums(target)
    assert {name: told[name] for name in plain["regions"] if name != "_manifest.json"} == {
        name: each for name, each in plain["regions"].items() if name != "_manifest.json"
    }
    assert not [*target.glob(".*")]


@pytest.mark.thorough
def test_a_cluster_whose_only_worker_is_killed(
    calls: dict[str, dict[str, Any]], plain: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    # 15 s after a worker was lost, a cluster gives it up if it is not there just then, even if it had come back.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster) as client,
    ):
        for kind in KINDS:
            victim = next(iter(client.run(os.getpid).values()))

            def kill(done: int, total: int, victim: int = victim) -> None:
                if done == 1:
                    os.kill(victim, signal.SIGKILL)

            write(calls[kind], tmp_path / kind, progress=kill, executor=client.get_executor())
            assert checksums(tmp_path / kind) == plain[kind]


@pytest.mark.slow
@pytest.mark.parametrize("is_seen", [True, False], ids=["there", "sent"])
def test_a_full_disk(
    is_seen: bool, calls: dict[str, dict[str, Any]], plain: dict[str, dict[str, str]], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    target = tmp_path / "n"
    with monkeypatch.context() as patch:
        if not is_seen:
            patch.setattr(module.NetworksJob, "_seen", lambda _: None)
        for size, told in ((100, "repeat the call once there is space"), (20_000, "0 of 3 networks are in")):
            with size_limit(size), pytest.raises(tl.UnfinishedJobError, match="no space left") as caught:
                write(calls["scenarios"], target)
            assert told in str(caught.value)
    assert checksums(write(calls["scenarios"], target)) == plain["scenarios"]


# Errors ---------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_error_names_its_network_and_leaves_the_others(world: World, tmp_path: Path) -> None:
    broken = feed(tmp_path, "broken.zip", stop_times=None)
    streets = world.folder / "town.osm"
    regions: dict[str, Any] = {
        "first": {"osm": streets, "gtfs": broken},
        "second": {"osm": streets, "timezone": "UTC"},
        "third": {"osm": streets, "bounds": (9.0, 9.0, 9.1, 9.1)},
        "fourth": {"osm": streets},
    }
    target = tmp_path / "n"
    told = (
        r"networks\['first'\]: .*stop_times.txt.*; there are errors of 'third', too; 2 of 4 networks are in .*n; repeat"
    )
    with pytest.raises(tl.GtfsError, match=told):
        write({"networks": regions}, target)
    there = {path.name: path.stat().st_mtime_ns for path in target.glob("*.network")}
    assert [*there] and {*there} == {"second.network", "fourth.network"}
    # The data of one are corrected, and the arguments of the other.
    feed(tmp_path, "broken.zip")
    regions["third"] = {"osm": streets}
    write({"networks": regions}, target, executor=ThreadPoolExecutor(2))
    assert all((target / name).stat().st_mtime_ns == when for name, when in there.items())
    assert (target / "first.network").exists() and (target / "third.network").exists()
    assert [*target.glob(".*")] == []


@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_errors_and_warnings_of_workers_are_those_of_the_library(
    world: World, calls: dict[str, dict[str, Any]], pool: ProcessPoolExecutor, tmp_path: Path
) -> None:
    scenarios = {"lost": tl.RemoveRoutes("ghost"), "new": tl.AddStreet([(0.5, 0.5), (0.501, 0.5015)], {"walking": 5})}
    hills = tl.add_elevation(world.network, world.folder / "hills.tif")
    with (
        pytest.warns(UserWarning, match=r"^networks\['new'\]: new streets are level"),
        pytest.raises(tl.InputError, match=r"networks\['lost'\]: .*ghost.*; 1 of 2 networks are in"),
    ):
        write({"networks": scenarios, "base": hills}, tmp_path / "n", executor=pool)
    with pytest.raises(tl.ModeError, match=r"networks\['town'\]: .*no street .* is open"):
        by_bus = {"town": {"osm": island(tmp_path), "prepare": "driving"}}
        write({"networks": by_bus}, tmp_path / "m", executor=pool)
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == ["_manifest.json", "_parts.jsonl"]


def island(folder: Path) -> Path:
    """Return the file of a footpath."""
    from tests.support.osm_files import osm_xml

    path = folder / "path.osm"
    path.write_bytes(osm_xml({1: (0.5, 0.5), 2: (0.501, 0.5)}, [(10, "1 2", "highway=footway")]))
    return path


@pytest.mark.thorough
def test_errors_that_nobody_expects_name_their_network_too(
    calls: dict[str, dict[str, Any]], plain: dict[str, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply, errors = network_items.Scenario.network, [MemoryError("4 GB"), ZeroDivisionError()]

    def fail(self: Any, *others: Any) -> Any:
        if self.changes and self.changes[0] == SCENARIOS["late"]:
            raise errors.pop(0)
        return apply(self, *others)

    monkeypatch.setattr(network_items.Scenario, "network", fail)
    words = r"^networks\['late'\] needs more memory than there is \(4 GB\)[^;]*; [^;]*; 2 of 3 [^;]*; repeat [^;]*$"
    with pytest.raises(tl.UnfinishedJobError, match=words):
        write(calls["scenarios"], tmp_path / "n")
    with pytest.raises(ZeroDivisionError) as caught:
        write(calls["scenarios"], tmp_path / "n", executor=ThreadPoolExecutor(1))
    assert caught.value.__notes__ == ["networks['late']"]
    errors.append(tl.FileAccessError("may not be read"))
    with pytest.raises(tl.FileAccessError, match=r"^networks\['late'\]: may not be read; 2 of 3 [^;]*; repeat [^;]*$"):
        write(calls["scenarios"], tmp_path / "n")
    monkeypatch.setattr(network_items.Scenario, "network", apply)
    assert checksums(write(calls["scenarios"], tmp_path / "n")) == plain["scenarios"]


@pytest.mark.thorough
def test_errors_do_not_keep_networks_in_memory(
    calls: dict[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive: list[weakref.ref[tl.Network]] = []

    def prepare(self: tl.Network, *_: Any, **__: Any) -> None:
        gc.collect()
        assert not [each for each in alive if each() is not None]
        alive.append(weakref.ref(self))
        try:
            raise KeyError
        except KeyError as error:
            raise tl.ModeError("no street") from error

    monkeypatch.setattr(tl.Network, "prepare", prepare)
    with pytest.raises(
        tl.ModeError, match=r"^networks\['today'\]: no street; there are errors of 'late', 'works', too; 0 of"
    ):
        write({**calls["scenarios"], "base": tl.load_network(calls["scenarios"]["base"])}, tmp_path / "n")
    assert len(alive) == 3


@pytest.mark.parametrize(("networks", "more", "words"), [
    ([], {}, "networks must map names to arguments of build_network or to changes"),
    ({}, {}, "networks is empty"),
    ({"a/b": {}}, {}, "each name of networks becomes that of a file"),
    ({".hidden": {}}, {}, "each name of networks becomes that of a file"),
    ({"x" * 201: {}}, {}, "at most 200 bytes"),
    ({" a": {}}, {}, "without blanks"),
    ({"a\n": {}}, {}, "becomes that of a file"),
    ({5: {}}, {}, "each name of networks must be a text; got 5"),
    ({"Rome": [], "rome": []}, {"base": True}, "which some systems take for the same name"),
    ({"a": {}}, {}, r"networks\['a'\]: build_network\(\) needs osm"),
    ({"a": {"osm": "x.osm", "bound": 1}}, {}, r"networks\['a'\]: build_network\(\) has no argument 'bound'. Did"),
    ({"a": {"osm": "x.osm", "progress": True}}, {}, r"has no argument 'progress'"),
    ({"a": {"osm": "x.osm", 3: 1}}, {}, r"the arguments of build_network have names; got 3"),
    ({"a": {"osm": "Porto Alegre, Brazil"}}, {}, "osm must be a file or a list of files, which workers can read"),
    ({"a": {"osm": "ghost.osm"}}, {}, r"networks\['a'\]: no file or folder at ghost.osm"),
    ({"a": {"osm": "ghost.osm", "timezone": "Mars"}}, {}, "not an IANA time zone"),
    ({"a": {"osm": "ghost.osm"}}, {"prepare": "flying"}, "Unknown transportation type 'flying'"),
    ({"a": {"osm": "ghost.osm"}}, {"prepare": "bus"}, r"networks\['a'\]: 'bus' cannot be prepared"),
    ({"a": {"osm": "town.osm"}}, {"base": True}, "base is the network of scenarios and observed days"),
    ({"a": "a.osm"}, {}, r"networks\['a'\]: give a dict of arguments of build_network, such as \{'osm': 'a.osm'\}"),
    ({"a": []}, {}, r"networks\['a'\]: changes need the network that they change; give it as base"),
    ({"a": [5]}, {"base": True}, "each of changes must be one of"),
    ({"a": []}, {"base": 5}, "network must be a Network or the path of a saved one"),
    ({"a": []}, {"base": True, "executor": 5}, "executor must be a concurrent.futures.Executor"),
    ({"a": []}, {"base": True, "progress": 5}, "progress must be True or False"),
])  # fmt: skip
def test_wrong_arguments_make_no_folder(
    world: World, tmp_path: Path, networks: Any, more: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.folder)
    given = {**more, **({"base": world.network} if more.get("base") is True else {})}
    with pytest.raises(tl.InputError if "no file" not in words else tl.MissingFileError, match=words):
        write({"networks": networks, **given}, tmp_path / "n")
    assert not (tmp_path / "n").exists()


def test_networks_and_other_days_are_refused(world: World, calls: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    with pytest.raises(tl.InputError, match=r"networks\['a'\]: it is a network already; write it with Network.save"):
        write({"networks": {"a": world.network}}, tmp_path / "n")
    other = tl.add_speeds(world.network, classes={"residential": 9})
    with pytest.raises(tl.InputError, match="base is not the network of the observed days"):
        write({**calls["days"], "base": other}, tmp_path / "n")
    assert not (tmp_path / "n").exists()


SLOW = {"classes": {"residential": 9}}
OTHERS: dict[str, tuple[str, Callable[[dict[str, Any], World], dict[str, Any]], str]] = {
    "types": ("regions", lambda c, w: {**c, "prepare": "walking"}, r"whole.prepared was \['walking', 'driving'"),
    "bounds": (
        "regions", lambda c, w: with_region(c, "whole", bounds=(0.49, 0.49, 0.6, 0.6)), "whole.bounds was None and"
    ),
    "side": (
        "regions", lambda c, w: with_region(c, "east", is_left_hand=False), "is_left_hand was True and is now False"
    ),
    "file": (
        "regions", lambda c, w: with_region(c, "east", osm=copied(w, "a.osm")), r"east.files\[0\].name was 'town.osm'"
    ),
    "content": (
        "regions", lambda c, w: with_region(c, "east", osm=copied(w, "town.osm", " ")), r"east.files\[0\].sha256 was"
    ),
    "feeds": (
        "regions", lambda c, w: with_region(c, "whole", gtfs=(), prepare=()), r"whole.files was \[.* and is now \["
    ),
    "changes": (
        "scenarios", lambda c, w: {**c, "networks": {**SCENARIOS, "late": tl.ShiftTrips("R", 360)}},
        r"late.changes\[0\].seconds was 300.* and is now 360",
    ),
    "base": ("scenarios", lambda c, w: {**c, "base": tl.add_speeds(w.network, **SLOW)}, "today.network was '"),
    "fewer": (
        "scenarios", lambda c, w: {**c, "networks": {"today": []}}, "'late.network', which is no part of this job"
    ),
    "options": (
        "days", lambda c, w: {**c, "networks": tl.observed_days(w.network, LATE, gaps="planned")},
        "2026-03-03.gaps was 'interpolate' and is now 'planned'",
    ),
    "archive": (
        "days", lambda c, w: {**c, "networks": tl.observed_days(w.network, LATE.assign(departure_delay=30))},
        "2026-03-03.archive was",
    ),
}  # fmt: skip


def with_region(call: dict[str, Any], name: str, **others: Any) -> dict[str, Any]:
    regions = call["networks"]
    return {**call, "networks": {**regions, name: {**regions[name], **others}}}


def copied(world: World, name: str, more: str = "") -> Path:
    """Return a copy of the streets, with more at its end."""
    folder = Path(tempfile.mkdtemp(dir=world.folder))
    shutil.copy(world.folder / "town.osm", folder / name)
    with (folder / name).open("a") as file:
        file.write(more)
    return folder / name


@pytest.mark.parametrize("which", first_of(2, OTHERS, mark=pytest.mark.thorough, few=pytest.mark.slow))
def test_other_arguments_are_refused(
    which: str, world: World, calls: dict[str, dict[str, Any]], plain: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    kind, change, words = OTHERS[which]
    target = write(calls[kind], tmp_path / "n")
    with pytest.raises(tl.InputError, match=words):
        write(change(calls[kind], world), target)
    assert checksums(target) == plain[kind]


@pytest.mark.thorough
def test_the_same_data_in_other_words_are_the_same(
    world: World, calls: dict[str, dict[str, Any]], plain: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    target = write(calls["regions"], tmp_path / "n")
    call = with_region(calls["regions"], "east", osm=str(copied(world, "town.osm")), prepare=[{"type": "walking"}])
    again = {**call, "prepare": [tl.Transportation("walking"), "driving", "public_transport"]}
    assert checksums(write(again, target, executor=Strange())) == plain["regions"]


@pytest.mark.slow
def test_other_versions_and_jobs_are_refused(
    world: World, calls: dict[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = write(calls["scenarios"], tmp_path / "n")
    with monkeypatch.context() as patch:
        patch.setattr(module, "MADE_WITH", "9 x")
        with pytest.raises(tl.InputError, match=r"prepared_values was .* and is now '9 x'"):
            write(calls["scenarios"], target)
    with pytest.raises(tl.InputError, match="kind was 'networks' and is now 'matrix'"):
        tl.write_matrix(world.network, world.home, world.work, target, travel_time=600, progress=False)
    own = tmp_path / "own"
    own.mkdir()
    (own / "mine.network").touch()
    with pytest.raises(tl.InputError, match="is not empty"):
        write(calls["scenarios"], own)


@pytest.mark.thorough
def test_inputs_in_another_order_are_the_same(
    calls: dict[str, dict[str, Any]], plain: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    """Found by a mutated manifest."""
    target = write(calls["scenarios"], tmp_path / "n")
    about = manifest(target)
    for part in about["parts"]:
        part["inputs"] = dict(reversed(part["inputs"].items()))
    (target / "_manifest.json").write_text(json.dumps(about))
    assert checksums(write(calls["scenarios"], target)) == plain["scenarios"]


@pytest.mark.slow
def test_the_manifest_says_what_networks_are_inputs(
    world: World, calls: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    parts = {part["part"]: part for part in manifest(write(calls["scenarios"], tmp_path / "n"))["parts"]}
    assert [*parts] == [*SCENARIOS]
    about = parts["late"]["inputs"]
    assert about["network"] == world.network.fingerprint and about["prepared"] == [*TYPES]
    assert about["changes"] == [{"change": "ShiftTrips", "route": "R", "seconds": 300}]
    assert about["typical_day"] == str(world.network.typical_day)


# The command ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def command(
    world: World, calls: dict[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, list[str]]:
    """The options for each kind of networks."""
    monkeypatch.chdir(tmp_path)
    regions = {
        name: {key: value if isinstance(value, bool | tuple) else as_texts(value) for key, value in region.items()}
        for name, region in calls["regions"]["networks"].items()
    }
    (tmp_path / "regions.json").write_text(json.dumps(regions))
    for name, changes in SCENARIOS.items():
        tl.save_changes(changes, tmp_path / f"{name}.json")
    LATE.to_csv(tmp_path / "late.csv", index=False)
    base = ["--base", str(world.folder / "town.network")]
    return {
        "regions": ["--regions", "regions.json", "--prepare", *TYPES],
        "scenarios": [
            *base,
            "--changes",
            "today.json",
            "late=late.json",
            "--changes",
            "works.json",
            "--prepare",
            *TYPES,
        ],
        "days": [*base, "--archive", "late.csv", "--prepare", TYPES[2]],
    }


def as_texts(value: Any) -> Any:
    return [str(each) for each in value] if isinstance(value, list) else str(value)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_command_writes_the_same_bytes(
    kind: str, command: dict[str, list[str]], plain: dict[str, dict[str, str]], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert cli.main(["networks", "n", *command[kind], "--quiet"]) == 0
    size = sum(path.stat().st_size for path in (tmp_path / "n").glob("*.network")) / 1e6
    n = len(plain[kind]) - 1
    assert capsys.readouterr().out == f"Complete: {n} networks, {size:,.1f} MB: {tmp_path / 'n'}\n"
    assert checksums(tmp_path / "n") == plain[kind]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_workers_of_the_command(
    command: dict[str, list[str]], plain: dict[str, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    if HOW.get_start_method() == "fork":
        monkeypatch.setattr(large_jobs, "START", "fork")
    for kind in KINDS:
        assert cli.main(["networks", kind, *command[kind], "--workers", "2"]) == 0
        assert checksums(tmp_path / kind) == plain[kind]
    one = ["--dates", "2026-03-04", "--gaps", "planned"]
    assert cli.main(["networks", "one", *command["days"], *one]) == 0
    assert [path.name for path in (tmp_path / "one").glob("*.network")] == ["2026-03-04.network"]
    with size_limit(20_000):
        assert cli.main(["networks", "full", *command["scenarios"]]) == 3
    assert "0 of 3 networks are in" in capsys.readouterr().err
    assert cli.main(["networks", "full", *command["scenarios"]]) == 0


@pytest.mark.skipif(HOW.get_start_method() != "fork", reason="no forks on this system")
@pytest.mark.thorough
def test_a_signal_does_not_wait_for_networks_under_way(
    command: dict[str, list[str]], plain: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    """Workers are ended, as a region may take hours."""
    code = (
        "import runpy, sys, time\n"
        "from pathlib import Path\n"
        "from traveltime_lab.commands import large_jobs\n"
        "from traveltime_lab.jobs import network_items\n"
        "large_jobs.START = 'fork'\n"
        "def wait(*_):\n"
        "    Path('begun').touch()\n"
        "    time.sleep(10_000)\n"
        "network_items.Region.network = wait\n"
        "sys.argv = ['traveltime-lab', *sys.argv[1:]]\n"
        "runpy.run_module('traveltime_lab', run_name='__main__')\n"
    )
    given = [sys.executable, "-W", "ignore", "-c", code, "networks", "n", *command["regions"], "--workers", "2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(given, stderr=subprocess.PIPE, text=True, env=environment) as process:
        while process.poll() is None and not (tmp_path / "begun").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=300)
    assert process.returncode == 130 and "0 of 3 networks are in n; repeat the call to resume" in told, told
    assert cli.main(["networks", "n", *command["regions"]]) == 0
    assert checksums(tmp_path / "n") == plain["regions"]


@pytest.mark.parametrize(("given", "words"), [
    ([], "Give one of --regions, --changes and --archive"),
    (["--regions", "regions.json", "--changes", "late.json"], "Give one of --regions"),
    (["--changes", "late.json"], "give it as --base"),
    (["--regions", "regions.json", "--dates", "2026-03-03"], "--dates is about observed days; give --archive"),
    (["--regions", "regions.json", "--max-delay", "60"], "--max-delay is about observed days"),
    (["--regions", "ghost.json"], "no file of regions at ghost.json"),
    (["--regions", "twice.json"], "has the key 'a' twice"),
    (["--regions", "list.json"], "must be a JSON object"),
    (["--regions", "late.csv"], "is not JSON"),
    (["--base", "BASE", "--changes", "late.json", "late=works.json"], "two scenarios named 'late'"),
    (["--regions", "regions.json", "--workers", "0"], "--workers must be from 1"),
])  # fmt: skip
def test_commands_that_are_wrong(
    command: dict[str, list[str]], given: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "twice.json").write_text('{"a": {"osm": "x.osm"}, "a": {"osm": "y.osm"}}')
    (tmp_path / "list.json").write_text("[]")
    given = [command["days"][1] if text == "BASE" else text for text in given]
    assert cli.main(["networks", "n", *given]) == 1
    assert words in capsys.readouterr().err
    assert not (tmp_path / "n").exists()
