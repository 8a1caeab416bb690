"""
Time from opening a saved network to its first answer, each in a fresh process, and what a network costs as it grows.

    python benchmarks/first_answer.py nyc2.network nyc2_prepared.network [--repeats 3] [--verify]

Questions: a car trip from one place to one other, the area of a walk of 15 minutes, one to 1,000 and 1,000 to 1,000
by car; each between random junctions, up to an hour of driving. Seconds are wall time and, in brackets, processor
time of the process, which says more on a busy machine. They begin before `load_network` and end after the answer. The
imports of the package come before and are reported apart, and kernels are compiled already (each question runs once
before by a process that is not measured). Without `--verify` the file is mapped, so that processes share it.

The last columns are the size of the file, its bytes per edge, and the most memory of a process that ran all
questions; mapped pages count as memory where they were read.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

TASKS = {"1 x 1": (1, 1), "walk": (1, 0), "1 x 1,000": (1, 1000), "1,000 x 1,000": (1000, 1000)}


def measure(path: Path, task: str, *, verify: bool, again: int = 0) -> dict[str, float]:
    """Return the figures of one question in this process; `again` repeats it at other places."""
    begin = time.perf_counter()
    import geopandas as gpd
    import numpy as np

    import traveltime_lab as tl

    load, matrix, area = tl.load_network, tl.time_filter, tl.time_map  # imported now, not when they are called
    imported = time.perf_counter() - begin
    begin, processor = time.perf_counter(), time.process_time()
    network = load(path, verify=verify)
    opened = time.perf_counter() - begin
    rng = np.random.default_rng(1)

    def places(number: int) -> gpd.GeoSeries:
        at = rng.integers(0, network.n_nodes, number)
        return gpd.GeoSeries.from_xy(network.tables.node_lng[at], network.tables.node_lat[at], crs="EPSG:4326")

    def ask() -> None:
        n_origins, n_destinations = TASKS[task]
        if task == "walk":
            area(network, places(1), travel_time=900, transportation="walking")
        else:
            matrix(
                network, places(n_origins), places(n_destinations), travel_time=3600, transportation="driving",
                form="matrix",
            )  # fmt: skip

    ask()
    first, first_processor = time.perf_counter() - begin, time.process_time() - processor
    later = []
    for _ in range(again):
        processor = time.process_time()
        ask()
        later.append(time.process_time() - processor)
    return {
        "import": imported,
        "opened": opened,
        "wall": first,
        "processor": first_processor,
        "later": statistics.median(later) if later else 0.0,
        "edges": network.n_edges,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def main() -> None:
    """Print a row for each network."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="+", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--again", type=int, default=0, help="further questions at other places in the same process")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--measure", choices=TASKS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        found = measure(arguments.networks[0], arguments.measure, verify=arguments.verify, again=arguments.again)
        print(json.dumps(found))
        return
    for path in arguments.networks:
        told, peak, n_edges = [], 0.0, 1.0
        for task in arguments.tasks:
            runs = []
            for _ in range(arguments.repeats + 1):
                command = [sys.executable, __file__, str(path), "--measure", task, "--again", str(arguments.again)]
                command += ["--verify"] if arguments.verify else []
                answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ)
                runs.append(json.loads(answer.stdout))
            runs = runs[1:]
            middle = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
            peak, n_edges = max(peak, *(run["peak_gb"] for run in runs)), middle["edges"]
            later = f", later {1000 * middle['later']:.1f} ms" if arguments.again else ""
            told.append(f"{task}: {middle['wall']:.2f} s ({middle['processor']:.2f}){later}")
            print(
                f"  {path.name} {told[-1]}, opened in {middle['opened']:.2f} s, import {middle['import']:.2f} s",
                flush=True,
            )
        size = path.stat().st_size
        print(
            f"{path.name}: {'; '.join(told)}; {size / 1e6:.0f} MB, {size / n_edges:.0f} bytes per edge, "
            f"peak {peak:.2f} GB"
        )


if __name__ == "__main__":
    main()
