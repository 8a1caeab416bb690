"""
Time matrices of our engines beside RoutingKit's contraction hierarchy, on the same search graph.

Usage: python benchmarks/bench_matrix.py CITY.osm.pbf [CITY.osm.pbf ...] [--mode driving] [--limit 14400] [--runs 5]

From snapped points to labels in memory. `dijkstra` and `hierarchy` give time and length of every pair, from positions
on streets, and are compared label by label. `pyroutingkit` (if installed; `pip install pyroutingkit`) gives
milliseconds between states of the same graph, one state for each point: less work and less of an answer. All run by
turns, and the medians are printed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import traveltime_lab as ttl
from tests.support.oracles import random_points
from traveltime_lab.kernels.street import road
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.modes.snapping import as_snapping
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.settings import settings
from traveltime_lab.streets import contraction, matrix
from traveltime_lab.streets.dijkstra import Dijkstra
from traveltime_lab.streets.labels import limit_label
from traveltime_lab.streets.links import LinkedPoints
from traveltime_lab.streets.snapping import snap_points

SHAPES = ((100, 100), (1_000, 1_000), (1, 100_000), (100_000, 1))


def main() -> None:
    """Print one line per city, shape and engine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("osm", nargs="+")
    parser.add_argument("--mode", default="driving")
    parser.add_argument("--limit", type=int, default=14_400)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    for path in arguments.osm:
        network = ttl.build_network(path) if path.endswith((".pbf", ".osm")) else ttl.load_network(path)
        compare(network, f"{Path(path).parent.name} {arguments.mode}", arguments)


def compare(network: ttl.Network, name: str, arguments: argparse.Namespace) -> None:
    """Measure one city."""
    transportation, snapping = as_transportation(arguments.mode), as_snapping(None)
    graph = network.road_graph(transportation)
    n_states, n_arcs = graph.topology.n_states, graph.topology.indices.size
    print(f"{name}: {n_states} states, {n_arcs} arcs, {settings.threads} threads, limit {arguments.limit} s")
    warm_up(network, graph, transportation, snapping)
    contract = median(lambda: contraction._contract(network.streets, graph.topology), arguments.runs)
    contraction.contraction(network.streets, graph.topology)
    customize = median(lambda: contraction._customize(network.streets, graph), arguments.runs)
    made = contraction.hierarchy(network.streets, graph)
    print(f"  hierarchy     contract {contract:.3f} s, customize {customize:.3f} s, arcs up {made.up.indices.size}")
    peer, peer_contract, peer_customize = routing_kit(network, graph)
    if peer:
        print(f"  pyroutingkit  contract {peer_contract:.3f} s, customize {peer_customize:.3f} s")
    largest = limit_label(arguments.limit, "time")
    for shape in SHAPES:
        origins, destinations = (
            snap_points(network.streets, *random_points(network, n, seed), transportation, snapping)
            for seed, n in enumerate(shape)
        )
        leaving = LinkedPoints.of(graph, origins, snapping, is_entry=False)
        reached = LinkedPoints.of(graph, destinations, snapping, is_entry=True)
        by_dijkstra, by_hierarchy = np.zeros(shape, np.int64), np.zeros(shape, np.int64)

        def dijkstra(labels: Any = by_dijkstra, rows: Any = leaving, columns: Any = reached) -> None:
            for part, others, block in Dijkstra().label_blocks(network.streets, graph, rows, columns, largest):
                labels[part, others] = block

        def sweeps(labels: Any = by_hierarchy, rows: Any = leaving, columns: Any = reached) -> None:
            for part, others, block in contraction.label_blocks(network.streets, graph, rows, columns, largest):
                labels[part, others] = block

        engines: dict[str, Callable[[], object]] = {"dijkstra": dijkstra, "hierarchy": sweeps}
        if peer:
            starts, ends = one_state(leaving.ports), one_state(reached.ports)
            engines["pyroutingkit"] = lambda a=starts, b=ends: peer.distances_many_to_many(a, b)
        times: dict[str, list[float]] = {engine: [] for engine in engines}
        for _ in range(arguments.runs):
            for engine, run in engines.items():
                times[engine].append(seconds(run))
        print(
            f"  {shape[0]:>6} x {shape[1]:<6}",
            ", ".join(f"{engine} {1000 * statistics.median(times[engine]):.1f} ms" for engine in engines),
            f"; reached {(by_dijkstra != UNREACHED).mean():.3f},",
            "labels equal" if np.array_equal(by_dijkstra, by_hierarchy) else "LABELS DIFFER",
            flush=True,
        )


def warm_up(network: ttl.Network, graph: Any, transportation: Any, snapping: Any) -> None:
    """Compile everything."""
    few = snap_points(network.streets, *random_points(network, 3, 0), transportation, snapping)
    list(matrix.label_blocks(network.streets, graph, few, few, snapping, limit=60.0, engine="dijkstra"))
    leaving = LinkedPoints.of(graph, few, snapping, is_entry=False)
    reached = LinkedPoints.of(graph, few, snapping, is_entry=True)
    begin = time.perf_counter()
    list(contraction.label_blocks(network.streets, graph, leaving, reached, limit_label(60.0, "time")))
    print(f"  hierarchy     first call {time.perf_counter() - begin:.1f} s, compiling or loading what was compiled")


def routing_kit(network: ttl.Network, graph: Any) -> tuple[Any, float, float]:
    """Return a contraction hierarchy of RoutingKit with its times, or None."""
    try:
        import pyroutingkit
    except ImportError:
        return None, 0.0, 0.0
    topology = graph.topology
    source = np.repeat(np.arange(topology.n_states, dtype=np.int32), np.diff(topology.indptr))
    x, y = contraction._places(network.streets, topology, source)
    lng, lat = network.frame.to_lnglat(x, y)
    made = pyroutingkit.CCHTopology()
    contract = seconds(
        lambda: made.build(
            source.astype(np.uint32),
            topology.indices.astype(np.uint32),
            lat.astype(np.float32),
            lng.astype(np.float32),
            topology.n_states,
        )
    )
    weighted = pyroutingkit.CCHMetric(made)
    units = (graph.weights >> road.TIME_SHIFT).astype(np.uint32)
    customize = seconds(lambda: weighted.customize(units, settings.threads))
    return weighted, contract, customize


def one_state(ports: Any) -> np.ndarray:
    """Return the first state of each point that has one."""
    indptr, states, _ = ports
    return states[indptr[:-1][np.diff(indptr) > 0]].astype(np.uint32)


def seconds(run: Callable[[], object]) -> float:
    """Return how long a call takes."""
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def median(run: Callable[[], object], runs: int) -> float:
    """Return the median time of some calls."""
    return statistics.median(seconds(run) for _ in range(runs))


if __name__ == "__main__":
    main()
