"""
Compare the engine that ``engine="auto"`` chooses with both engines, on random requests.

Usage: python benchmarks/engine_choice.py OSM [OSM ...] [--requests 100] [--searches | --expected]

Each request has 1 to 1,000 origins and 1 to 3,000 destinations in one or all regions of the network, by car or by
bicycle, within 5 minutes to 4 hours. The three engines answer it by turns: whole requests, which are `time_filter` from
points to a matrix, or with ``--searches`` what is left without points, snapping and tables. Hierarchies are built
before; what ``auto`` has learned from earlier requests is kept, as in a service. ``--expected`` prints, instead, the
real time of each engine over the one that `traveltime_lab.streets.engines.expected` says, of which the choice needs the
quotient only.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np

import traveltime_lab as ttl
from traveltime_lab._arrays import FloatArray
from traveltime_lab.modes.snapping import as_snapping
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.streets import contraction, engines, matrix
from traveltime_lab.streets.snapping import CAN_ARRIVE, CAN_LEAVE, snap_points

ENGINES = ("auto", "dijkstra", "hierarchy")
Ask = Callable[[str], object]


def main() -> None:
    """Print the ratio of the chosen engine to the better one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("osm", nargs="+")
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--searches", action="store_true", help="time the searches alone, from snapped points")
    parser.add_argument("--expected", action="store_true", help="compare expected times with those of the searches")
    arguments = parser.parse_args()
    for path in arguments.osm:
        network = ttl.build_network(path) if path.endswith((".pbf", ".osm")) else ttl.load_network(path)
        ratios, slowest, of_expected = [], 0.0, []
        rng = np.random.default_rng(arguments.seed)
        for mode in ("driving", "cycling"):
            contraction.hierarchy(network.streets, network.road_graph(as_transportation(mode)))
        for number in range(arguments.requests):
            ask = random_request(network, rng, only_search=arguments.searches or arguments.expected)
            if arguments.expected:
                of_expected.append(over_expected(ask))
                continue
            seconds = seconds_of(ask, is_first=number == 0)
            better = min(seconds["dijkstra"], seconds["hierarchy"])
            ratios.append(seconds["auto"] / better)
            slowest = max(slowest, seconds["auto"])
            if ratios[-1] > 2.0:
                text = ", ".join(f"{name} {value * 1e3:.1f} ms" for name, value in seconds.items())
                print(f"  request {number}: {text}", flush=True)
        if of_expected:
            both = np.array(of_expected)
            for name, these in (*zip(ENGINES[1:], both.T, strict=True), ("quotient", both[:, 0] / both[:, 1])):
                quantiles = ", ".join(f"{value:.2f}" for value in np.quantile(these, [0.1, 0.25, 0.5, 0.75, 0.9]))
                print(f"{Path(path).name}: {name} real / expected (10, 25, 50, 75, 90 %): {quantiles}", flush=True)
            continue
        print(
            f"{Path(path).name}: {arguments.requests} requests, auto / better engine: median {np.median(ratios):.2f}, "
            f"90 % {np.quantile(ratios, 0.9):.2f}, most {max(ratios):.2f}; slowest {slowest:.2f} s",
            flush=True,
        )


def random_request(network: ttl.Network, rng: np.random.Generator, *, only_search: bool) -> Ask:
    """Return a function that answers a random request with an engine."""
    mode, limit = str(rng.choice(["driving", "cycling"])), int(rng.choice([300, 900, 1800, 3600, 14_400]))
    counts = int(10 ** rng.uniform(0, 3)), int(10 ** rng.uniform(0, 3.5))
    starts, ends = (coordinates(network, rng, n) for n in counts)
    return (search if only_search else request)(network, starts, ends, mode, limit)


def seconds_of(ask: Ask, *, is_first: bool, names: tuple[str, ...] = ENGINES) -> dict[str, float]:
    """Return the seconds of each engine for one request, the least of three runs."""
    seconds = dict.fromkeys(names, np.inf)
    for _ in range(4 if is_first else 3):
        for engine in names:
            begin = time.perf_counter()
            ask(engine)
            seconds[engine] = min(seconds[engine], time.perf_counter() - begin)
    return seconds


def over_expected(ask: Ask) -> tuple[float, float]:
    """Return the times of searches and of the hierarchy over the expected ones."""
    told: list[engines.Expected] = []
    usual = engines.expected

    def told_too(*given: Any, **more: Any) -> engines.Expected:
        told.append(usual(*given, **more))
        return told[-1]

    engines.expected = told_too
    try:
        ask("auto")
    finally:
        engines.expected = usual
    seconds = seconds_of(ask, is_first=False, names=ENGINES[1:])
    return seconds["dijkstra"] * 1e9 / told[0].searching_ns, seconds["hierarchy"] * 1e9 / told[0].asking_ns


def request(network: ttl.Network, starts: FloatArray, ends: FloatArray, mode: str, limit: int) -> Ask:
    """Return a function that computes a matrix from points."""
    tables = [gpd.GeoSeries(gpd.points_from_xy(*xy), crs=4326) for xy in (starts, ends)]
    return lambda engine: ttl.time_filter(
        network, *tables, travel_time=limit, transportation=mode, form="matrix", engine=engine
    )


def search(network: ttl.Network, starts: FloatArray, ends: FloatArray, mode: str, limit: int) -> Ask:
    """Return what searches between points that are snapped already."""
    transportation, snapping = as_transportation(mode), as_snapping(None)
    graph = network.road_graph(transportation)
    leaving, reached = (
        snap_points(network.streets, *xy, transportation, snapping, needed)
        for xy, needed in ((starts, CAN_LEAVE), (ends, CAN_ARRIVE))
    )
    return lambda engine: list(
        matrix.label_blocks(network.streets, graph, leaving, reached, snapping, limit=limit, engine=engine)
    )


def coordinates(network: ttl.Network, rng: np.random.Generator, n: int) -> FloatArray:
    """Return longitudes and latitudes of random nodes, of the whole network or of the part around one of them."""
    t = network.tables
    nodes = rng.integers(0, t.node_lng.size, n)
    if rng.random() < 0.5:
        near = np.hypot(t.node_lng - t.node_lng[nodes[0]], t.node_lat - t.node_lat[nodes[0]]) < 0.05
        nodes = rng.choice(np.flatnonzero(near), n)
    return np.stack((t.node_lng[nodes], t.node_lat[nodes]))


if __name__ == "__main__":
    main()
