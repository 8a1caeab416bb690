"""
Speed of matrices by car from raw coordinates, beside pandana, by turns in one run.

    python benchmarks/peers/matrix.py milan.network [--repeats 9]

Runs in an environment with traveltime_lab and `pandana`. pandana gets the streets for cars that hang together, with our
travel times in both directions and without turns. The points are the same coordinates near random junctions, new ones
for each repeat, and both snap them. Ours are GeoSeries in and a wide matrix out; pandana answers with an array. Medians
in milliseconds, and their ratio.
"""

import argparse
import statistics
import time

import geopandas as gpd
import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import traveltime_lab as tl

#: Numbers of origins and destinations.
SHAPES = ((1, 10), (1, 1_000), (1, 100_000), (1_000, 1_000))
#: Longest trip, the longest of `time_filter`.
LIMIT_S = 4 * 3600


def main() -> None:
    """Print one line per shape."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    network = tl.load_network(arguments.network).prepare("driving")
    peer = pandana_network(network)
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
    """Return the streets for cars that hang together, with our travel times in minutes, contracted."""
    try:
        import pandana
    except ImportError as error:
        raise SystemExit("pandana is not installed; install it beside traveltime_lab to compare with it") from error
    tables = network.tables
    kph = network.edges_frame()["driving_kph_forward"].to_numpy(np.float64)
    edges = np.flatnonzero(kph > 0.0)
    begin, end, n = tables.edge_from[edges], tables.edge_to[edges], tables.node_lng.size
    graph = coo_array((np.ones(edges.size), (begin, end)), shape=(n, n))
    part = connected_components(graph, directed=False)[1]
    # With all streets, pandana prints a warning for the pairs without a route.
    is_used = part == np.bincount(part).argmax()
    nodes, is_whole = np.flatnonzero(is_used), is_used[begin]
    begin, end, edges = begin[is_whole], end[is_whole], edges[is_whole]
    minutes = tables.edge_length_m[edges] / kph[edges] * 3.6 / 60.0
    made = pandana.Network(
        pd.Series(tables.node_lng[nodes], nodes), pd.Series(tables.node_lat[nodes], nodes),
        pd.Series(begin), pd.Series(end), pd.DataFrame({"minutes": minutes}), twoway=True,
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
