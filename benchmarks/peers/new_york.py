"""
Speed of matrices by car on the streets of New York, beside pandana, by turns in one run.

    python new_york.py DATA/bench/nyc [--repeats 9]

Runs in an environment with traveltime_lab and `pandana`. The streets are those of `../tiled_network.py`, prepared for
driving; pandana gets the same streets with our travel times in both directions, without turns. The points are the same
coordinates near random junctions, new ones for each repeat, and both snap them. Ours are GeoDataFrames in and a wide
matrix out; pandana answers with an array. Medians in milliseconds, and their ratio.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))

import tiled_network

import traveltime_lab as tl

#: Numbers of origins and destinations.
SHAPES = ((1, 10), (1, 1_000), (1, 100_000), (1_000, 1_000))
#: Longest trip, the longest of `time_filter`.
LIMIT_S = 4 * 3600


def main() -> None:
    """Print one line per shape."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of USA-road-d.NY.gr.gz and the others")
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    network = tl.build_network(tiled_network.tiled(arguments.folder, 1), timezone="America/New_York")
    network, prepare_s = timed(lambda: network.prepare("driving"))
    peer, contract_s = timed(lambda: pandana_network(network))
    print(f"prepared in {prepare_s:.1f} s, pandana in {contract_s:.1f} s")
    random = np.random.default_rng(3)
    for shape in SHAPES:
        ours, theirs = [], []
        for repeat in range(arguments.repeats + 1):
            starts, ends = (coordinates(network, random, n) for n in shape)
            frames = [frame(points) for points in (starts, ends)]
            _, our_s = timed(lambda some=frames: asked(network, *some))
            _, their_s = timed(lambda a=starts, b=ends: asked_of_pandana(peer, a, b))
            # The first is to warm up.
            if repeat:
                ours.append(our_s)
                theirs.append(their_s)
        mine, other = (1e3 * statistics.median(each) for each in (ours, theirs))
        name = " x ".join(f"{n:,}" for n in shape)
        print(f"{name}: {mine:.1f} ms, pandana {other:.1f} ms, ratio {mine / other:.2f}", flush=True)


def timed(run):
    """Return the result of a function and its seconds."""
    begin = time.perf_counter()
    result = run()
    return result, time.perf_counter() - begin


def pandana_network(network):
    """Return the streets with our travel times by car in minutes, contracted."""
    try:
        import pandana
    except ImportError as error:
        raise SystemExit("pandana is not installed; install it beside traveltime_lab to compare with it") from error
    tables = network.tables
    kph = network.edges_frame()["driving_kph_forward"].to_numpy(np.float64)
    minutes = tables.edge_length_m / kph * 3.6 / 60.0
    made = pandana.Network(
        pd.Series(tables.node_lng), pd.Series(tables.node_lat), pd.Series(tables.edge_from), pd.Series(tables.edge_to),
        pd.DataFrame({"minutes": minutes}), twoway=True,
    )  # fmt: skip
    made.precompute(1)
    return made


def coordinates(network, random, n):
    """Return longitudes and latitudes of shape (2, n) near random junctions."""
    tables = network.tables
    at = random.integers(0, tables.node_lng.size, n)
    return np.stack([tables.node_lng[at], tables.node_lat[at]]) + random.normal(0.0, 1e-4, (2, n))


def frame(points):
    """Return coordinates as a GeoSeries."""
    return gpd.GeoSeries.from_xy(*points, crs="EPSG:4326")


def asked(network, starts, ends):
    """Return our matrix."""
    return tl.time_filter(network, starts, ends, travel_time=LIMIT_S, transportation="driving", form="matrix")


def asked_of_pandana(peer, starts, ends):
    """Return the times of all pairs by pandana."""
    origins, destinations = (peer.get_node_ids(*points).to_numpy() for points in (starts, ends))
    pairs = np.repeat(origins, destinations.size), np.tile(destinations, origins.size)
    return peer.shortest_path_lengths(*pairs, imp_name="minutes")


if __name__ == "__main__":
    main()
