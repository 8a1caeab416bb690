"""
Memory and time of measured speeds by hour of the week (`add_speeds(profile=...)`).

    python benchmarks/speeds_by_hour.py DATA NETWORK [--hours 9] [--worst]

DATA is the folder with `speeds/los_angeles_week_5min.csv.gz`: a week of 207 detectors in Los Angeles, of which each has
a shape: its mean speed of the hour (harmonic, over twelve values) as a share of its highest. Every street that cars may
use gets the shape of a random detector in each direction, times its free-flow speed, for all 168 hours: first rounded
to whole km/h, as commercial patterns are, then to a hundredth. With `--worst`, each direction also has random speeds of
its own at every hour, in whole km/h and as floats (minutes and gigabytes in large cities). Prints for each the rows and
the size of the Parquet file, the processor time of `add_speeds`, the largest memory of the process so far, and the
bytes of the measured speeds by undirected edge, in memory and in the file of the network.

Then, for the first: the processor time to weigh the search graph of an hour and to customize the contraction, which is
computed once, the median of `--hours` hours, and the bytes of both by edge. At last, the processor time of
searches with `time_dependent=True` beside that of the same at the speeds of the departure or arrival, both with bounded
searches and everything prepared: medians of nine pairs on one thread.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import statistics
import tempfile
import time
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import traveltime_lab as tl
from traveltime_lab.settings import settings
from traveltime_lab.streets.contraction import contraction, hierarchy

#: Whole hours of the file, which begins on a Thursday.
FIRST_DAY = 3
ROWS_AT_ONCE = 20_000


def shapes(folder: Path) -> np.ndarray:
    """Return the speeds of each detector by hour of the week as shares of its highest, from Monday 0 o'clock."""
    table = pd.read_csv(folder / "speeds" / "los_angeles_week_5min.csv.gz").to_numpy(np.float64)
    hourly = 12.0 / (1.0 / np.maximum(table, 1.0)).reshape(168, 12, -1).sum(axis=1)
    return (np.roll(hourly, FIRST_DAY * 24, axis=0) / hourly.max(axis=0)).T


def write_profile(network: tl.Network, shape: np.ndarray | None, decimals: int, path: Path) -> int:
    """Write the speeds of all open directed edges to a Parquet file, and return the number of rows."""
    rng = np.random.default_rng(0)
    tables = network.tables
    free = tables.uses[["driving_kph_forward", "driving_kph_backward"]].to_numpy()[tables.edge_use].ravel()
    directed = np.flatnonzero(free > 0.0)
    week = np.tile(np.arange(168), ROWS_AT_ONCE)
    days, hours = (week // 24).astype(np.int8), (week % 24).astype(np.int8)
    writer, n_rows = None, 0
    for begin in range(0, directed.size, ROWS_AT_ONCE):
        part = directed[begin : begin + ROWS_AT_ONCE]
        if shape is None:
            share = rng.uniform(0.3, 1.0, (part.size, 168))
        else:
            share = shape[rng.integers(len(shape), size=part.size)]
        kph = np.maximum((free[part, None] * share).round(decimals), 1.0).astype(np.float32)
        table = pa.table(
            {
                "edge": np.repeat(part // 2, 168).astype(np.int32),
                "direction": pa.DictionaryArray.from_arrays(
                    np.repeat(part % 2, 168).astype(np.int8), pa.array(["forward", "backward"])
                ),
                "day": days[: kph.size],
                "hour": hours[: kph.size],
                "kph": kph.ravel(),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
        n_rows += kph.size
    writer.close()
    return n_rows


def n_bytes(value: Any, seen: set[int]) -> int:
    """Return the bytes of the arrays of an object, without those seen before."""
    if isinstance(value, np.ndarray):
        is_new = id(value) not in seen
        seen.add(id(value))
        return value.nbytes if is_new else 0
    if isinstance(value, tuple):
        return sum(n_bytes(item, seen) for item in value)
    if is_dataclass(value):
        return sum(n_bytes(getattr(value, item.name), seen) for item in fields(value) if item.name != "memo")
    return 0


def peak_mb() -> float:
    """Return the largest resident memory of this process so far (Linux reports kilobytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("network", type=Path)
    parser.add_argument("--hours", type=int, default=9)
    parser.add_argument("--worst", action="store_true")
    arguments = parser.parse_args()
    network = tl.load_network(arguments.network)
    found = shapes(arguments.data)
    print(f"{network.n_edges:,} edges, {peak_mb():,.0f} MB")
    first = None
    cases: dict[str, tuple[np.ndarray | None, int]] = {"whole km/h": (found, 0), "hundredths": (found, 2)}
    if arguments.worst:
        cases |= {"own km/h": (None, 0), "own floats": (None, 6)}
    for name, (shape, decimals) in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "profile.parquet"
            n_rows = write_profile(network, shape, decimals, path)
            before, size = time.process_time(), path.stat().st_size
            measured = tl.add_speeds(network, profile=path)
            seconds = time.process_time() - before
        hourly = measured.tables.hourly
        print(
            f"{name:<10} {n_rows:>11,} rows, {size / 1e6:,.0f} MB; add_speeds {seconds:6.1f} s, {peak_mb():,.0f} MB; "
            f"{len(hourly.weeks) - 1:,} weeks, {len(hourly.days) - 1:,} days, "
            f"{hourly.n_bytes / network.n_edges:.1f} bytes an edge",
            flush=True,
        )
        first = first or measured
    assert first is not None
    timing(first, arguments.hours)
    changing(first)


def timing(network: tl.Network, n_hours: int) -> None:
    """Print the time and the memory of the search graphs of some hours."""
    streets = network.streets
    topology = network.road_graph("driving").topology
    contraction(streets, topology)
    weighing, customizing, shared = [], [], set()
    n_bytes(topology, shared)
    n_bytes(contraction(streets, topology), shared)
    for number in range(n_hours):
        moment = pd.Timestamp("2026-03-02T06:00") + pd.Timedelta(hours=7 * number)
        begin = time.process_time()
        graph = network.road_graph("driving", moment)
        middle = time.process_time()
        made = hierarchy(streets, graph)
        weighing.append(middle - begin)
        customizing.append(time.process_time() - middle)
    size = n_bytes(graph, shared) + n_bytes(made, shared)
    whole = [a + b for a, b in zip(weighing, customizing, strict=True)]
    medians = [1000 * statistics.median(each) for each in (whole, weighing, customizing)]
    print("an hour: {:,.0f} ms, of which the graph {:,.0f} and the customization {:,.0f}".format(*medians))
    print(f"memory of an hour: {size / network.n_edges:,.0f} bytes an edge")


def changing(network: tl.Network, repeats: int = 9) -> None:
    """Print the processor time of searches at speeds that change on the way, beside those at the speeds of one hour."""
    rng = np.random.default_rng(0)
    nodes = network.nodes_frame().geometry
    few, many = (nodes.sample(n, random_state=rng).reset_index(drop=True) for n in (10, 1000))
    searches = {
        "matrix of 10 x 1,000, an hour": lambda how: tl.time_filter(
            network, *((many, few) if "arrival_time" in how else (few, many)),
            travel_time=3600, form="matrix", engine="dijkstra", **how,
        ),
        "10 areas of 30 minutes": lambda how: tl.time_map(network, few, travel_time=1800, **how),
    }  # fmt: skip
    moments = {"departure_time": "2026-03-03T07:45", "arrival_time": "2026-03-03T08:15"}
    with settings.override(threads=1):
        for (name, search), (when, moment) in itertools.product(searches.items(), moments.items()):
            seconds: dict[bool, list[float]] = {False: [], True: []}
            for _ in range(repeats + 1):
                for is_changing, each in seconds.items():
                    means = tl.Transportation("driving", time_dependent=is_changing)
                    begin = time.process_time()
                    search({"transportation": means, when: moment})
                    each.append(time.process_time() - begin)
            # The first of each prepares.
            frozen, timed = (np.array(each[1:]) for each in seconds.values())
            print(
                f"{name}, {when}: {1000 * np.median(timed):,.0f} ms, {1000 * np.median(frozen):,.0f} at one hour, "
                f"ratio {np.median(timed / frozen):.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
