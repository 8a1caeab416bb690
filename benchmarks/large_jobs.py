"""
A large matrix: time, memory and size on disk; killed with -9 and resumed; on a Dask cluster of two processes.

    python benchmarks/large_jobs.py porto_alegre/osm.pbf --points 100000 --travel-time 900 --kills 3 --cluster

Points lie within about 50 m of random junctions, origins and destinations apart. The matrix is written by the command
``traveltime-lab matrix`` in processes of their own. A run that is killed at random moments must give the same bytes as
an undisturbed one, and so must a cluster, of which one worker is killed midway.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import geopandas as gpd
import numpy as np

import traveltime_lab as tl


def points_near(network: tl.Network, number: int, seed: int) -> gpd.GeoSeries:
    rng = np.random.default_rng(seed)
    node = rng.integers(0, network.n_nodes, number)
    lng, lat = (
        column[node] + rng.normal(0.0, 0.0005, number) for column in (network.tables.node_lng, network.tables.node_lat)
    )
    return gpd.GeoSeries.from_xy(lng, lat, crs="EPSG:4326")


class Task:
    """The files of a matrix, and the command that writes it."""

    def __init__(self, osm: str, folder: Path, number: int, travel_time: int, part_size: int) -> None:
        self.folder, self.travel_time, self.part_size = folder, travel_time, part_size
        self.network = folder / "city.network"
        if not self.network.is_file():
            tl.build_network(osm).save(self.network)
        network = tl.load_network(self.network)
        self.files = {}
        for seed, name in enumerate(("origins", "destinations")):
            self.files[name] = folder / f"{name}.parquet"
            gpd.GeoDataFrame(geometry=points_near(network, number, seed)).to_parquet(self.files[name])

    def start(self, out: Path) -> subprocess.Popen[bytes]:
        arguments = [
            "matrix", self.network, *self.files.values(), out, "--travel-time", self.travel_time,
            "--transportation", "walking", "--part-size", self.part_size,
        ]  # fmt: skip
        return subprocess.Popen([sys.executable, "-m", "traveltime_lab", *map(str, arguments)])

    def frames(self) -> list[gpd.GeoDataFrame]:
        return [gpd.read_parquet(path) for path in self.files.values()]

    def write(self, out: Path, executor: object) -> None:
        tl.write_matrix(
            self.network, *self.frames(), out, travel_time=self.travel_time, transportation="walking",
            part_size=self.part_size, executor=executor, progress=False,
        )  # fmt: skip


def checksum(folder: Path) -> str:
    """Return one hash of the names and bytes of all files."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def undisturbed(task: Task, out: Path) -> float:
    shutil.rmtree(out, ignore_errors=True)
    begin = time.perf_counter()
    process = task.start(out)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    assert status == 0, status
    rows = json.loads((out / "_manifest.json").read_text("utf-8"))["n_rows"]
    size = sum(path.stat().st_size for path in out.iterdir())
    print(
        f"undisturbed: {wall:.0f} s wall, {usage.ru_utime + usage.ru_stime:.0f} s of processors, peak "
        f"{usage.ru_maxrss / 1e6:.2f} GB, {rows:,} rows, {size / 1e9:.3f} GB on disk ({size / rows:.2f} bytes a row), "
        f"{checksum(out)}",
        flush=True,
    )
    return wall


def killed(task: Task, out: Path, times: int, wall: float, seed: int) -> None:
    shutil.rmtree(out, ignore_errors=True)
    rng = np.random.default_rng(seed)
    begin = time.perf_counter()
    for moment in rng.uniform(0.1, 0.6, times) * wall:
        process = task.start(out)
        try:
            process.wait(timeout=moment)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        n_parts = len(list(out.glob("part-*.parquet"))) if out.exists() else 0
        print(f"killed after {moment:.0f} s with {n_parts} parts", flush=True)
    assert task.start(out).wait() == 0
    print(f"resumed: {time.perf_counter() - begin:.0f} s in all, {checksum(out)}", flush=True)


def clustered(task: Task, out: Path, *, kills: bool) -> None:
    import distributed

    shutil.rmtree(out, ignore_errors=True)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as client:
        if kills:
            victim = next(iter(client.run(os.getpid).values()))

            def kill() -> None:
                # When some parts are written.
                while len(list(out.glob("part-*.parquet"))) < 5:
                    time.sleep(0.05)
                os.kill(victim, signal.SIGKILL)

            threading.Thread(target=kill, daemon=True).start()
        begin = time.perf_counter()
        task.write(out, client.get_executor())
        wall = time.perf_counter() - begin
    print(f"two workers{', one killed' if kills else ''}: {wall:.0f} s wall, {checksum(out)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("osm")
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--travel-time", type=int, default=900)
    parser.add_argument("--part-size", type=int, default=20_000_000)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--cluster", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="default: a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        task = Task(options.osm, folder, options.points, options.travel_time, options.part_size)
        wall = undisturbed(task, folder / "undisturbed")
        if options.kills:
            killed(task, folder / "killed", options.kills, wall, options.seed)
        if options.cluster:
            clustered(task, folder / "cluster", kills=False)
            clustered(task, folder / "cluster", kills=True)


if __name__ == "__main__":
    main()
