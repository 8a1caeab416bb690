"""A matrix in parts is the matrix in memory, to the last bit, whatever the parts and whoever makes them."""

from __future__ import annotations

import json
import os
import pickle
import signal
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import traveltime_lab as tl
from tests.support.combinations import first_of
from tests.support.large_jobs import HOW, ON_FOOT, Strange, checksums, grid, manifest, points
from traveltime_lab.jobs import job
from traveltime_lab.jobs.matrix import MatrixJob
from traveltime_lab.network.network import Network
from traveltime_lab.runtime import executors
from traveltime_lab.settings import settings

# Forked workers start at once; those of the command are spawned (`test_commands`).
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")

HOMES, SHOPS = points(60, 1), points(45, 2, texts=True)
EVERYTHING = {**ON_FOOT, "properties": ("travel_time", "distance", "snap_distance")}


@pytest.fixture(scope="module")
def town() -> Network:
    return grid()


@pytest.fixture(scope="module")
def saved(town: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return town.save(tmp_path_factory.mktemp("town") / "town.network")


@pytest.fixture(scope="module")
def plain(saved: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one process writes, without an interruption."""
    folder = tmp_path_factory.mktemp("plain") / "matrix"
    return tl.write_matrix(saved, HOMES, SHOPS, folder, part_size=300, progress=False, **ON_FOOT)


def assert_same_rows(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    assert list(found) == list(expected)
    assert len(found) == len(expected) > 0
    for name in expected:
        values = found[name]
        values = values.astype("str") if isinstance(values.dtype, pd.CategoricalDtype) else values
        assert values.isna().tolist() == expected[name].isna().tolist()
        assert values.dropna().tolist() == expected[name].dropna().tolist(), name


@pytest.mark.parametrize("part_size", [1, 100, 1000, 10_000])
def test_equals_the_matrix_in_memory(town: Network, tmp_path: Path, part_size: int) -> None:
    folder = tl.write_matrix(town, HOMES, SHOPS, tmp_path / "m", part_size=part_size, progress=False, **EVERYTHING)
    expected = tl.time_filter(town, HOMES, SHOPS, form="sparse", **EVERYTHING)
    assert_same_rows(pd.read_parquet(folder), expected)
    about = manifest(folder)
    origins = max(1, part_size // len(SHOPS))
    assert about["n_parts"] == -(-len(HOMES) // min(origins, len(HOMES)))
    assert about["n_rows"] == len(expected)
    assert sum(part["n_bytes"] for part in about["parts"]) == sum(p.stat().st_size for p in folder.glob("*.parquet"))


@pytest.mark.parametrize(
    "asked",
    [
        {"properties": "travel_time", "arrival_time": "2019-05-13T09:00:00"},
        {"properties": ("travel_time", "share"), "percentiles": (50, 80), "window": 300},
        {"properties": (), "percentiles": 100, "window": 120},
    ],
    ids=["arrival", "percentiles", "percentiles alone"],
)
def test_timetables_too(porto_alegre: Network, tmp_path: Path, asked: dict[str, Any]) -> None:
    places = tl.sample_points("porto_alegre")
    asked = {"departure_time": None if "arrival_time" in asked else "2019-05-13T08:00:00", **asked}
    asked |= {"travel_time": 5400, "transportation": "public_transport"}
    folder = tl.write_matrix(porto_alegre, places, places, tmp_path / "m", part_size=30, progress=False, **asked)
    expected = tl.time_filter(porto_alegre, places, places, form="sparse", **asked)
    assert_same_rows(pd.read_parquet(folder), expected)


def test_row_groups_do_not_change_rows(town: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traveltime_lab.jobs.matrix.ROW_GROUP", 7)
    folder = tl.write_matrix(town, HOMES, SHOPS, tmp_path / "m", progress=False, **ON_FOOT)
    assert pq.read_metadata(folder / "part-000000.parquet").num_row_groups > 5
    assert_same_rows(pd.read_parquet(folder), tl.time_filter(town, HOMES, SHOPS, form="sparse", **ON_FOOT))


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (range(60), "int32"),
        (np.arange(60) - 2**40, "int64"),
        (pd.array(range(60), "UInt8"), "int32"),
        ([f"é {i}" for i in range(60)], "category"),
        (pd.CategoricalIndex([f"{i}" for i in range(60)]), "category"),
    ],
    ids=["small", "large", "nullable", "texts", "categories"],
)
def test_labels(town: Network, tmp_path: Path, labels: Any, dtype: str) -> None:
    homes = HOMES.set_axis(labels)
    folder = tl.write_matrix(town, homes, SHOPS, tmp_path / "m", part_size=500, progress=False, **ON_FOOT)
    found = pd.read_parquet(folder)
    assert str(found["origin"].dtype) == dtype
    expected = tl.time_filter(town, HOMES, SHOPS, form="sparse", **ON_FOOT)["origin"] - 100
    assert found["origin"].tolist() == [homes.index[i] for i in expected]


@pytest.mark.parametrize(
    "labels",
    [
        np.arange(60) / 2,
        pd.date_range("2026-01-01", periods=60),
        pd.MultiIndex.from_product([range(6), range(10)]),
        np.arange(60, dtype=np.uint64) + np.uint64(2**63),
        ["x", *range(59)],
        [None, *(f"{i}" for i in range(59))],
        ["\ud800", *(f"{i}" for i in range(59))],
    ],
    ids=["floats", "dates", "levels", "unsigned", "mixed", "missing", "surrogate"],
)
def test_labels_that_no_column_holds(town: Network, tmp_path: Path, labels: Any) -> None:
    homes = HOMES.set_axis(pd.Index(labels, dtype=object) if isinstance(labels, list) else labels)
    with pytest.raises(
        tl.InputError, match=r"origins (must be labelled by .* from -2\*\*63 to 2\*\*63 - 1|has the label)"
    ):
        tl.write_matrix(town, homes, SHOPS, tmp_path / "m", progress=False, **ON_FOOT)
    assert not (tmp_path / "m").exists()


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of dask, with pandas 3.1
def test_pandas_dask_and_duckdb_read_the_same_rows(plain: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    dd = pytest.importorskip("dask.dataframe")
    ((rows, seconds),) = duckdb.sql(f"select count(*), sum(travel_time) from '{plain}/*.parquet'").fetchall()
    frame = pd.read_parquet(plain)
    lazy = dd.read_parquet(plain)
    assert rows == len(frame) == len(lazy) == manifest(plain)["n_rows"]
    assert seconds == frame["travel_time"].sum() == lazy["travel_time"].sum().compute()
    where = f"select count(*) from '{plain}/*.parquet' where origin = 120 and destination = 'place 7'"
    expected = len(frame.query("origin == 120 and destination == 'place 7'"))
    assert duckdb.sql(where).fetchall() == [(expected,)]


def test_units_crs_and_licence_are_in_the_schema(town: Network, plain: Path) -> None:
    schema = pq.read_schema(plain / "part-000000.parquet")
    assert schema.field("travel_time").metadata == {b"unit": b"s"}
    about = json.loads(schema.metadata[b"traveltime_lab"])
    assert about["units"] == {"travel_time": "s"}
    assert about["crs"] == "EPSG:4326"
    assert about["licence"] == town.attribution
    assert about["network"] == town.fingerprint == manifest(plain)["network"]
    assert about["parameters"]["transportation"]["type"] == "walking"
    assert about["parameters"]["travel_time"] == 200


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=HOW) as made:
        yield made


@pytest.mark.parametrize("kind", ["threads", "processes", "strange"])
@pytest.mark.parametrize("is_path", [True, False], ids=["path", "network"])
def test_any_executor_writes_the_same_bytes(
    kind: str, is_path: bool, town: Network, saved: Path, plain: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    executor = {"threads": ThreadPoolExecutor(3), "strange": Strange()}.get(kind) or request.getfixturevalue("pool")
    network = saved if is_path else town
    folder = tl.write_matrix(
        network, HOMES, SHOPS, tmp_path / "m", part_size=300, progress=False, executor=executor, **ON_FOOT
    )
    assert checksums(folder) == checksums(plain)


def test_a_job_takes_the_path_along_and_not_the_network(town: Network, saved: Path) -> None:
    sizes = []
    for network in (saved, town):
        made = job_of(network)
        made.make(0)
        sizes.append(len(pickle.dumps(made)))
    assert sizes[0] < 20_000 < sizes[1]


def job_of(network: Any) -> Any:
    from traveltime_lab.jobs.matrix import matrix_job

    return matrix_job(network, HOMES, SHOPS, part_size=300, **ON_FOOT)


def test_workers_with_other_packages_or_another_network_are_refused(
    town: Network, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = town.save(tmp_path / "town.network")
    elsewhere = job_of(other)
    tl.add_speeds(town, classes={"residential": 9}).save(other)
    with pytest.raises(tl.InputError, match="a worker found another network"):
        pickle.loads(pickle.dumps(elsewhere)).make(0)
    copy = pickle.loads(pickle.dumps(job_of(saved)))
    monkeypatch.setattr(job, "versions", lambda: {"traveltime_lab": "9"})
    with pytest.raises(tl.InputError, match="a worker has other versions"):
        copy.make(0)


@pytest.mark.slow
def test_a_pool_whose_worker_is_killed(saved: Path, plain: Path, tmp_path: Path) -> None:
    def kill(done: int, n_parts: int) -> None:
        if done == 2:
            os.kill(next(iter(pool._processes)), signal.SIGKILL)

    with ProcessPoolExecutor(1, mp_context=HOW) as pool:
        arguments = (saved, HOMES, SHOPS, tmp_path / "m")
        ended = r"a worker process ended \(.* below if __name__ == '__main__'\).*; [2-6] of 10 parts .* repeat the call"
        with pytest.raises(tl.UnfinishedJobError, match=ended):
            tl.write_matrix(*arguments, part_size=300, progress=kill, executor=pool, **ON_FOOT)
        with pytest.raises(tl.UnfinishedJobError, match="cannot be used any more; create a new one"):
            tl.write_matrix(*arguments, part_size=300, progress=False, executor=pool, **ON_FOOT)
    with ThreadPoolExecutor(1) as threads:
        pass
    with pytest.raises(tl.InputError, match="does not take any work"):
        tl.write_matrix(*arguments, part_size=300, progress=False, executor=threads, **ON_FOOT)
    tl.write_matrix(*arguments, part_size=300, progress=False, **ON_FOOT)
    assert checksums(tmp_path / "m") == checksums(plain)


class Losing(Strange):
    """An executor that loses the first so many tasks."""

    def __init__(self, n_lost: int) -> None:
        self.n_lost = n_lost

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        self.n_lost -= 1
        if self.n_lost < 0:
            return super().submit(function, *arguments, **options)
        future: Future[Any] = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_parts_that_are_lost_are_made_again(saved: Path, plain: Path, tmp_path: Path) -> None:
    arguments = (saved, HOMES, SHOPS)
    tl.write_matrix(*arguments, tmp_path / "a", part_size=300, progress=False, executor=Losing(4), **ON_FOOT)
    assert checksums(tmp_path / "a") == checksums(plain)
    with pytest.raises(tl.UnfinishedJobError, match="workers ended 4 times while they computed part"):
        tl.write_matrix(*arguments, tmp_path / "b", part_size=300, progress=False, executor=Losing(999), **ON_FOOT)


def test_errors_of_workers_are_those_of_the_library(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise tl.LimitError("too much")

    monkeypatch.setattr(executors, "make_alone", refuse)
    with pytest.raises(tl.LimitError, match="too much"):
        tl.write_matrix(saved, HOMES, SHOPS, tmp_path / "m", executor=Strange(), progress=False, **ON_FOOT)
    wrong: Any = 5
    with pytest.raises(tl.InputError, match=r"executor must be a concurrent.futures.Executor.*client.get_executor"):
        tl.write_matrix(saved, HOMES, SHOPS, tmp_path / "m", executor=wrong, progress=False, **ON_FOOT)


@pytest.mark.thorough
def test_a_cluster_whose_only_worker_is_killed(town: Network, plain: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    # What was scattered is lost with the worker; with several workers it is not.
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))

        def kill(done: int, n_parts: int) -> None:
            if done == 2:
                os.kill(victim, signal.SIGKILL)

        arguments = (town, HOMES, SHOPS, tmp_path / "m")
        tl.write_matrix(*arguments, part_size=300, progress=kill, executor=client.get_executor(), **ON_FOOT)
        assert checksums(tmp_path / "m") == checksums(plain)


@pytest.mark.slow
def test_a_result_that_is_lost_before_it_is_fetched(
    town: Network, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    fetch, lost = distributed.Future.result, []

    def result(future: Any, timeout: Any = None) -> Any:
        if not lost and future.key.startswith("make_alone"):
            lost.append(future.key)
            raise CancelledError
        return fetch(future, timeout)

    monkeypatch.setattr(distributed.Future, "result", result)
    options = {"n_workers": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        arguments = (town, HOMES, SHOPS, tmp_path / "m")
        tl.write_matrix(*arguments, part_size=300, progress=False, executor=client.get_executor(), **ON_FOOT)
        assert lost
        assert checksums(tmp_path / "m") == checksums(plain)


@pytest.mark.slow
def test_a_client_that_is_closed_ends_the_job(town: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(executors, "_LOOK_S", 0.1)
    options = {"n_workers": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster:
        client = distributed.Client(cluster)
        arguments = (town, HOMES, SHOPS, tmp_path / "m")

        def close(done: int, n_parts: int) -> None:
            if done == 2:
                client.close()

        with pytest.raises(tl.UnfinishedJobError, match=r"was closed; .* [2-6] of 10 parts .* repeat the call"):
            tl.write_matrix(*arguments, part_size=300, progress=close, executor=client.get_executor(), **ON_FOOT)


def test_tasks_in_threads_use_one_thread_each(town: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, make = set(), MatrixJob.make
    monkeypatch.setattr(MatrixJob, "make", lambda job, part: seen.add(settings.threads) or make(job, part))
    with settings.override(threads=3), ThreadPoolExecutor(2) as executor:
        tl.write_matrix(town, HOMES, SHOPS, tmp_path / "m", part_size=300, progress=False, executor=executor, **ON_FOOT)
    assert seen == {1}


@pytest.mark.slow
def test_percentiles_of_a_lazy_frame_may_be_missing(porto_alegre: Network) -> None:
    pytest.importorskip("dask.dataframe")
    places = tl.sample_points()
    frame = tl.matrix_frame(
        porto_alegre, places, places, travel_time=2400, transportation="public_transport", part_size=40,
        departure_time="2019-05-13T08:00:00", window=1800, percentiles=[50, 100],
    )  # fmt: skip
    parts = [frame.get_partition(i).compute(scheduler="threads") for i in range(frame.npartitions)]
    for name in ("travel_time_p50", "travel_time_p100"):
        assert {str(part[name].dtype) for part in [frame._meta, *parts]} == {"Int32"}
    assert any(part["travel_time_p100"].isna().any() for part in parts)


@pytest.mark.parametrize("part_size", first_of(1, [10_000, 300], mark=pytest.mark.slow))
def test_a_lazy_frame_has_the_same_rows(saved: Path, part_size: int) -> None:
    pytest.importorskip("dask.dataframe")
    frame = tl.matrix_frame(saved, HOMES, SHOPS, part_size=part_size, **EVERYTHING)
    expected = tl.time_filter(tl.load_network(saved), HOMES, SHOPS, form="sparse", **EVERYTHING)
    assert frame.npartitions == -(-60 // min(60, part_size // 45))
    found = frame.compute(scheduler="threads")
    assert frame.dtypes.astype("str").tolist() == found.dtypes.astype("str").tolist()
    assert_same_rows(found, expected)
    per_home = frame.groupby("origin")["travel_time"].min().compute(scheduler="threads")
    assert per_home.sort_index().tolist() == expected.groupby("origin")["travel_time"].min().tolist()


def test_nothing_reachable_is_a_dataset_without_rows(town: Network, tmp_path: Path) -> None:
    far = points(3, 5).translate(10.0, 0.0)
    folder = tl.write_matrix(town, far, SHOPS, tmp_path / "m", part_size=45, progress=False, **ON_FOOT)
    found = pd.read_parquet(folder)
    assert len(found) == 0
    assert list(found) == ["origin", "destination", "travel_time"]
