"""
Peak memory of large requests, each in a fresh process.

Usage: python benchmarks/memory.py CITY [--cases NAME ...] [--engine dijkstra] [--travel-time 600]

CITY is a .osm.pbf file or a saved network; a .osm.pbf is built and saved first, in a process that is not measured.
The figures cover everything from the import to the answer: the network, its search graph, points, table.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

#: Origins, destinations and form of each request.
CASES = {
    "one_to_many": (1, 200_000, "sparse"),
    "one_to_many_pairs": (1, 200_000, "pairs"),
    "many_to_one": (200_000, 1, "sparse"),
    "square_sparse": (10_000, 10_000, "sparse"),
    "square_matrix": (10_000, 10_000, "matrix"),
}
#: Upper limit of the requests.
MOST_GB = 4.0


def main() -> int:
    """Print one line per case; return 1 if one needs too much."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("city")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--mode", default="driving")
    parser.add_argument("--travel-time", type=int, default=600)
    parser.add_argument("--measure", choices=CASES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments)))
        return 0
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        city = arguments.city
        if city.endswith((".pbf", ".osm")):
            city = str(Path(folder) / "city.network")
            script = "import sys, traveltime_lab as t; t.build_network(sys.argv[1]).save(sys.argv[2])"
            subprocess.run([sys.executable, "-c", script, arguments.city, city], check=True)
        for name in arguments.cases:
            options = ["--engine", arguments.engine, "--mode", arguments.mode]
            options += ["--travel-time", str(arguments.travel_time), "--measure", name]
            answer = subprocess.run(
                [sys.executable, __file__, city, *options], check=True, stdout=subprocess.PIPE, text=True
            )
            figures = json.loads(answer.stdout)
            worst = max(worst, figures["peak_gb"])
            n_origins, n_destinations, form = CASES[name]
            print(
                f"{n_origins:7,} x {n_destinations:7,} {form:6} {arguments.mode} {arguments.travel_time} s "
                f"{arguments.engine:8}: peak {figures['peak_gb']:.2f} GB (before the request "
                f"{figures['before_gb']:.2f} GB), table {figures['table_gb']:.2f} GB, "
                f"{figures['reached']:,} reached, {figures['seconds']:.1f} s",
                flush=True,
            )
    return int(worst >= MOST_GB)


def peak_gb() -> float:
    """Return the most memory that this process has had so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e9 if sys.platform == "darwin" else 1e6 / 1.024)


def measure(arguments: argparse.Namespace) -> dict[str, float]:
    """Return the figures of one request in this process."""
    import geopandas as gpd
    import numpy as np

    import traveltime_lab as ttl
    from tests.support.oracles import random_points

    n_origins, n_destinations, form = CASES[arguments.measure]
    network = ttl.load_network(arguments.city)
    origins = gpd.GeoSeries.from_xy(*random_points(network, n_origins, 1), crs="EPSG:4326")
    destinations = gpd.GeoSeries.from_xy(*random_points(network, n_destinations, 2), crs="EPSG:4326")
    before = peak_gb()
    begin = time.perf_counter()
    table = ttl.time_filter(
        network,
        origins,
        destinations,
        travel_time=arguments.travel_time,
        transportation=arguments.mode,
        form=form,
        engine=arguments.engine,
    )
    seconds = time.perf_counter() - begin
    peak = peak_gb()
    if form == "matrix":
        reached = sum(int(np.isfinite(table.iloc[i : i + 500].to_numpy()).sum()) for i in range(0, len(table), 500))
    else:
        reached = int(table["travel_time"].notna().sum())
    return {
        "peak_gb": peak,
        "before_gb": before,
        "table_gb": float(table.memory_usage(index=False).sum()) / 1e9,
        "reached": reached,
        "seconds": seconds,
    }


if __name__ == "__main__":
    sys.exit(main())
