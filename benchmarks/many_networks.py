"""
Measure `write_networks` with and without an executor, and after a process was killed; compare the files.

Usage: python benchmarks/many_networks.py DATA [--workers 2] [--days 5]

DATA has folders of cities: `helsinki`, `milan` and `porto_alegre` become three regions, and the last one the base of
two scenarios: one leaves out the five lines with the most trips, the other closes the centre to cars. In
`realtime/auckland` are the timetable and the snapshots of a day, from which `benchmarks/observed_days.py` derives more
days, over a grid of streets. Each kind of networks is written by one process, by workers, and by workers of a process
that is killed with -9 as soon as its first network is written, after which the call is repeated. Times are processor
time of the process and its workers, and time on the clock.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import resource
import signal
import tempfile
import time
import zipfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import geopandas as gpd
import pandas as pd
from observed_days import extended, grid, repeated

import traveltime_lab as tl

CONTEXT = multiprocessing.get_context("spawn")
TYPES = ("walking", "driving", "public_transport")


def regions(data: Path) -> dict[str, Any]:
    """Return the arguments for three cities."""
    cities = {
        "helsinki": ("osm_center.pbf", ["gtfs.zip"]),
        "milan": ("osm.pbf", ["gtfs.zip"]),
        "porto_alegre": ("osm.pbf", ["gtfs_bus_full.zip", "gtfs_rail.zip"]),
    }
    networks = {
        name: {"osm": data / name / osm, "gtfs": [data / name / feed for feed in feeds]}
        for name, (osm, feeds) in cities.items()
    }
    return {"networks": networks, "prepare": TYPES}


def scenarios(data: Path, folder: Path) -> dict[str, Any]:
    """Return the arguments for two scenarios of a city that is prepared: of its timetable, and of its streets."""
    made = tl.build_network(**regions(data)["networks"]["porto_alegre"])
    base = made.prepare(*TYPES).save(folder / "porto_alegre.network")
    lines = made.trips_frame(date="2019-05-14")["route_id"].value_counts().index[:5].tolist()
    centre = made.nodes_frame().to_crs(made.crs).union_all().centroid.buffer(500)
    square = tl.CloseStreets(gpd.GeoSeries([centre], crs=made.crs), modes="driving", name="no cars")
    return {"networks": {"fewer buses": tl.RemoveRoutes(lines), "no cars": square}, "base": base, "prepare": TYPES}


def days(data: Path, folder: Path, n_days: int) -> dict[str, dict[str, Any]]:
    """Return the arguments for a real day, and for that day and others like it."""
    source = data / "realtime" / "auckland"
    gtfs, archive = source / "gtfs_reconstructed.zip", source / "snapshots_20160519.tar.xz"
    with zipfile.ZipFile(gtfs) as feed:
        streets = grid(pd.read_csv(feed.open("stops.txt")).dropna(subset=["stop_lat"]))
    planned = tl.build_network(streets, gtfs=[gtfs])
    first = next(iter(tl.observed_days(planned, archive)))
    (folder / "archive").mkdir()
    for i, table in enumerate(repeated(planned, archive, n_days)):
        table.to_parquet(folder / "archive" / f"{i}.parquet")
    long = extended(gtfs, folder / "extended.zip", first, n_days)
    base = tl.build_network(streets, gtfs=[long]).prepare("public_transport").save(folder / "auckland.network")
    network = tl.load_network(base)
    archives = {"a real day": archive, "days that derive from it": folder / "archive"}
    how = {"base": base, "prepare": "public_transport"}
    return {name: {"networks": tl.observed_days(network, path), **how} for name, path in archives.items()}


def processor_s() -> float:
    """Return the processor time of this process and of those that it has waited for."""
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def checksums(folder: Path) -> dict[str, str]:
    """Return the hash of each file."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def write(call: dict[str, Any], folder: Path, n_workers: int, progress: Any = False) -> tuple[float, float]:
    """Write networks, and return processor time and time on the clock."""
    begin = processor_s(), time.perf_counter()
    if n_workers == 1:
        tl.write_networks(**call, path=folder, progress=progress)
    else:
        with ProcessPoolExecutor(n_workers, mp_context=CONTEXT) as pool:
            tl.write_networks(**call, path=folder, progress=progress, executor=pool)
    return processor_s() - begin[0], time.perf_counter() - begin[1]


def end(done: int, total: int) -> None:
    """End the process and its workers at once, as if the machine had failed."""
    for worker in multiprocessing.active_children():
        os.kill(worker.pid or 0, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def measure(name: str, call: dict[str, Any], folder: Path, n_workers: int) -> None:
    """Print the times of a kind of networks, and whether all ways give the same bytes."""
    times = {"one process": write(call, folder / "one", 1)}
    times[f"{n_workers} workers"] = write(call, folder / "workers", n_workers)
    killed = CONTEXT.Process(target=write, args=(call, folder / "killed", n_workers, end))
    killed.start()
    killed.join()
    assert killed.exitcode == -signal.SIGKILL, killed.exitcode
    left = len([*(folder / "killed").glob("*.network")])
    times[f"repeated after kill -9, {left} there"] = write(call, folder / "killed", n_workers)
    found = [checksums(folder / each) for each in ("one", "workers", "killed")]
    size = sum(path.stat().st_size for path in (folder / "one").glob("*.network")) / 1e6
    print(f"{name}: {len(call['networks'])} networks, {size:.1f} MB, same bytes: {found[0] == found[1] == found[2]}")
    for how, (processor, clock) in times.items():
        print(f"  {how}: {processor:.1f} s of processors, {clock:.1f} s")


def main() -> None:
    """Print the times of each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--days", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        calls = {
            "regions": regions(given.data),
            "scenarios": scenarios(given.data, folder),
            **days(given.data, folder, given.days),
        }
        for kind, call in calls.items():
            (folder / kind).mkdir()
            measure(kind, call, folder / kind, given.workers)


if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    main()
