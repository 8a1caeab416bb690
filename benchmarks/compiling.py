"""
Measure how long kernels compile, with and without what the decorator of kernels does to compile faster.

`parts` is how they compile; for `whole`, kernels that others call are compiled alone, too; for `flags`, functions of
Numba are compiled once for each set of flags of their callers.

Usage: python benchmarks/compiling.py [--rounds 3] [--section demo] [--by-kernel]

Each measurement is a process with an empty cache; the ways take turns. Times are processor time, without imports.
``--by-kernel`` prints the least time of each signature in place of the comparison. A part that several kernels call
counts for the first of them.
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
compiled._PARTS = compiled._PARTS and sys.argv[1] != "whole"
compiled._Flags = None if sys.argv[1] == "flags" else compiled._Flags
from traveltime_lab.kernels import warm_up
listed = list(map(warm_up.resolve, warm_up.listed(sys.argv[2:])))
for kernel, arguments in listed:
    begin = time.process_time()
    kernel.compile(arguments)
    print(time.process_time() - begin, kernel.__module__.removeprefix("traveltime_lab.kernels."), kernel.__name__)
"""


def measured(way: str, sections: list[str]) -> list[tuple[str, float]]:
    """Return the kernel of each signature and the seconds that it took, in a new process."""
    with tempfile.TemporaryDirectory() as cache:
        path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, way, *sections],
            env={**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    found = (line.split() for line in done.stdout.splitlines())
    return [(f"{module}.{name}", float(seconds)) for seconds, module, name in found]


def main() -> None:
    """Print the seconds of each round and the ratio of the medians, or the seconds of each kernel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--section", action="append", default=[], help="of signatures.txt; all by default")
    parser.add_argument("--by-kernel", action="store_true")
    arguments = parser.parse_args()
    ways = ["parts"] if arguments.by_kernel else ["parts", "whole", "flags"]
    totals: dict[str, list[float]] = {way: [] for way in ways}
    rounds = []
    for _ in range(arguments.rounds):
        for way, seconds in totals.items():
            rounds.append(measured(way, arguments.section))
            seconds.append(sum(took for _, took in rounds[-1]))
            print(f"{way}: {len(rounds[-1])} signatures in {seconds[-1]:.1f} s", flush=True)
    if arguments.by_kernel:
        least = [(min(took for _, took in same), same[0][0]) for same in zip(*rounds, strict=True)]
        for took, name in sorted(least, reverse=True):
            print(f"{took:6.2f} {name}")
    else:
        for way in ("whole", "flags"):
            print(f"parts / {way}: {statistics.median(totals['parts']) / statistics.median(totals[way]):.2f}")


if __name__ == "__main__":
    main()
