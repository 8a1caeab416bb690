"""
Times of small questions in large networks, which should cost what they reach and not what the network has.

    python benchmarks/local_questions.py nyc1.network nyc2.network

Networks are those of `tiled_network.py`, prepared for walking and driving. Places are random junctions in the box that
`--box` gives, the same for all networks. Each kind of question runs twice before the clock runs. Medians of wall
time and of processor time of all threads, in milliseconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import geopandas as gpd
import numpy as np

import traveltime_lab as tl


def main() -> None:
    """Print a line for each network and question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--box", type=float, nargs=4, default=(-74.1, 40.6, -73.8, 40.85), metavar="DEGREES")
    parser.add_argument("--repeats", type=int, default=40)
    arguments = parser.parse_args()
    for path in arguments.networks:
        ask_all(path, tl.load_network(path, verify=False), arguments.box, arguments.repeats)


def ask_all(path: str, network: tl.Network, box: tuple[float, float, float, float], repeats: int) -> None:
    """Run each kind of question on one network."""
    random, tables = np.random.default_rng(2), network.tables
    west, south, east, north = box
    inside = (tables.node_lng > west) & (tables.node_lng < east) & (tables.node_lat > south) & (tables.node_lat < north)
    nodes = np.flatnonzero(inside)

    def places(number: int) -> gpd.GeoSeries:
        at = random.choice(nodes, number)
        return gpd.GeoSeries.from_xy(tables.node_lng[at], tables.node_lat[at], crs="EPSG:4326")

    def ask(words: str, question: Callable[[gpd.GeoSeries], object], times: int) -> None:
        for _ in range(2):
            question(places(1))
        wall, processor = [], []
        for _ in range(times):
            place = places(1)
            began, before = time.perf_counter(), time.process_time()
            question(place)
            wall.append(time.perf_counter() - began)
            processor.append(time.process_time() - before)
        print(f"{path} {words}: {np.median(wall) * 1e3:.2f} ms ({np.median(processor) * 1e3:.2f})", flush=True)

    def walk(place: gpd.GeoSeries) -> object:
        return tl.time_map(network, place, travel_time=900, transportation="walking")

    def drive(place: gpd.GeoSeries) -> object:
        return tl.time_map(network, place, travel_time=1800, transportation="driving")

    def matrix(ends: gpd.GeoSeries) -> Callable[[gpd.GeoSeries], object]:
        return lambda place: tl.time_filter(
            network, place, ends, travel_time=3600, transportation="driving", form="matrix"
        )

    def beside(place: gpd.GeoSeries) -> gpd.GeoSeries:
        return gpd.GeoSeries.from_xy(place.x + random.normal(0.0, 3e-3, 1), place.y, crs="EPSG:4326")

    def route(means: str) -> Callable[[gpd.GeoSeries], object]:
        return lambda place: tl.routes(network, place, beside(place), transportation=means)

    same = places(1)
    ask("walk of 15 minutes, new places", walk, repeats)
    ask("walk of 15 minutes, the same place again", lambda _: walk(same), repeats)
    ask("drive of 30 minutes, the same place again", lambda _: drive(same), 5)
    ask("car, 1 x 10", matrix(places(10)), repeats)
    ask("car, 1 x 1,000", matrix(places(1000)), repeats)
    ask("snap of a point", lambda place: tl.snap(network, place), repeats)
    for means in ("walking", "driving"):
        ask(f"route to a neighbour, {means}", route(means), repeats)
        ask(
            f"area of 1 km, {means}",
            lambda place, means=means: tl.distance_map(network, place, distance=1_000, transportation=means),
            repeats,
        )
    ask("explanation of a pair", lambda place: tl.explain(network, place, beside(place), travel_time=3600), repeats)
    ask("address of a point", lambda place: tl.reverse_geocode(network, place.x.iloc[0], place.y.iloc[0]), repeats)


if __name__ == "__main__":
    main()
