"""
Measure how long kernels compile, with and without dispatchers of their own for kernels that others call.

Usage: python benchmarks/compiling.py [--rounds 3] [--section demo]

Each measurement is a process with an empty cache; the two ways take turns. Times are processor time, without imports.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import sys, time
from traveltime_lab.kernels import compiled
compiled._PARTS = compiled._PARTS and sys.argv[1] == "parts"
from traveltime_lab.kernels import warm_up
listed = list(map(warm_up.resolve, warm_up.listed(sys.argv[2:])))
begin = time.process_time()
for kernel, arguments in listed:
    kernel.compile(arguments)
print(len(listed), time.process_time() - begin)
"""


def main() -> None:
    """Print the seconds of each round, and the ratio of the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--section", action="append", default=[], help="of signatures.txt; all by default")
    arguments = parser.parse_args()
    found: dict[str, list[float]] = {"parts": [], "whole": []}
    for _ in range(arguments.rounds):
        for way, seconds in found.items():
            with tempfile.TemporaryDirectory() as cache:
                path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
                done = subprocess.run(
                    [sys.executable, "-c", PROGRAM, way, *arguments.section],
                    env={**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": path},
                    stdout=subprocess.PIPE,
                    text=True,
                    check=True,
                )
            n_kernels, took = done.stdout.split()
            seconds.append(float(took))
            print(f"{way}: {n_kernels} signatures in {seconds[-1]:.1f} s", flush=True)
    ratio = statistics.median(found["parts"]) / statistics.median(found["whole"])
    print(f"parts / whole: {ratio:.2f}")


if __name__ == "__main__":
    main()
