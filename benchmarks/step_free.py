"""
Cost of step-free walks, and how much of a city is known to be passable.

Usage: python benchmarks/step_free.py OSM [OSM ...]

Prints the kilometres of walkable streets by whether they are step-free, the share of length that is not known, and the
processor time of searches with and without `step_free`, on networks prepared for all, in turns. Points stay at their
streets in each search: they are at junctions of step-free streets.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import traveltime_lab as tl

RULES = (None, "lenient", "strict")


def facts(osm: str, network: tl.Network) -> None:
    """Print the kilometres of streets."""
    known = network.report()["modes"]["walking"]["step_free"]
    print(
        f"{osm}: {known['km_passable']:,.0f} km passable, {known['km_with_obstacles']:,.0f} km with obstacles, "
        f"{known['km_unknown']:,.0f} km ({known['unknown_share']:.0%}) not known; "
        f"obstacles at {known['places_with_obstacles']:,} nodes, {known['places_unknown']:,} not known"
    )


def cost(osm: str, rounds: int) -> None:
    """Print the medians of the processor time of searches, and their ratios to those without `step_free`."""
    network = tl.build_network(osm)
    facts(osm, network)
    nodes, edges = network.nodes_frame(), network.edges_frame()
    passable = edges[(edges["step_free"] == "yes") & (edges["walking_kph_forward"] > 0) & ~edges["is_ferry"]]
    ends = nodes.geometry.loc[np.unique(passable["from_node"])]
    near, far = ends.sample(50, random_state=1, replace=True), ends.sample(5000, random_state=2, replace=True)
    near, far = near.reset_index(drop=True), far.reset_index(drop=True)
    few = near.iloc[:5]
    how = {"form": "matrix", "travel_time": 3600}
    means = [tl.Transportation("walking", step_free=rule) for rule in RULES]
    for each in means:
        network.prepare(each)
    searches = {
        "50 x 5,000, one hour": lambda means: tl.time_filter(network, near, far, transportation=means, **how),
        "5 areas of 20 minutes": lambda means: tl.time_map(network, few, travel_time=1200, transportation=means),
    }
    for name, search in searches.items():
        seconds: list[list[float]] = [[] for _ in means]
        for turn in range(rounds + 1):
            for times, each in zip(seconds, means, strict=True):
                begin = time.process_time()
                search(each)
                if turn:
                    times.append(time.process_time() - begin)
        ratios = [float(np.median(np.array(times) / seconds[0])) for times in seconds]
        for rule, times, ratio in zip(RULES, seconds, ratios, strict=True):
            print(f"{osm} {name} step_free={rule}: {1000 * float(np.median(times)):.0f} ms, {ratio:.2f} times")


def main() -> None:
    """Print the facts and the cost for each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="OpenStreetMap files")
    parser.add_argument("--rounds", type=int, default=15, help="number of turns")
    arguments = parser.parse_args()
    for osm in arguments.files:
        cost(osm, arguments.rounds)


if __name__ == "__main__":
    main()
