"""
Speed of the nearest places, beside pandana and the matrix, by turns in one run.

    python benchmarks/peers/nearest.py milan.network [--repeats 5]

Runs in an environment with traveltime_lab and `pandana`. For random origins near junctions, the `k` nearest of random
places by car within half an hour: `nearest`; the same with `engine="hierarchy"`, which makes a matrix; and `set_pois`
and `nearest_pois` of pandana on the streets for cars that hang together, with our travel times in both directions and
without turns. pandana answers for every junction at once; the rows of the origins are taken from its table. Ours are
GeoSeries in. Medians in milliseconds, and the ratio of the first to the last.
"""

from __future__ import annotations

import argparse
import functools
import statistics

import numpy as np
from matrix import coordinates, frame, pandana_network, timed

import traveltime_lab as tl

#: Numbers of origins, of places, and of nearest places.
SHAPES = (
    (100, 100, 1),
    (1_000, 100, 1),
    (1_000, 1_000, 1),
    (10_000, 1_000, 1),
    (100_000, 1_000, 1),
    (100_000, 1_000, 5),
    (100_000, 10_000, 5),
)
LIMIT_S = 1_800


def main() -> None:
    """Print one line per shape."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    network = tl.load_network(arguments.network).prepare("driving")
    peer = pandana_network(network)
    random = np.random.default_rng(4)
    for n_origins, n_places, k in SHAPES:
        seconds: dict[str, list[float]] = {"nearest": [], "matrix": [], "pandana": []}
        for repeat in range(arguments.repeats + 1):
            starts, ends = (coordinates(network, random, n) for n in (n_origins, n_places))
            runs = {
                "nearest": functools.partial(asked, network, frame(starts), frame(ends), k),
                "matrix": functools.partial(asked, network, frame(starts), frame(ends), k, engine="hierarchy"),
                "pandana": functools.partial(asked_of_pandana, peer, starts, ends, k),
            }
            for name, run in runs.items():
                _, taken = timed(run)
                # The first is to warm up.
                if repeat:
                    seconds[name].append(taken)
        middle = {name: 1e3 * statistics.median(each) for name, each in seconds.items()}
        print(
            f"{n_origins:,} origins, {n_places:,} places, k={k}: "
            + ", ".join(f"{name} {each:.1f} ms" for name, each in middle.items())
            + f"; to pandana {middle['nearest'] / middle['pandana']:.2g}",
            flush=True,
        )


def asked(network, starts, ends, k, **options):
    """Return our table."""
    return tl.nearest(network, starts, ends, travel_time=LIMIT_S, transportation="driving", k=k, **options)


def asked_of_pandana(peer, starts, ends, k):
    """Return the table of pandana for the origins."""
    limit = LIMIT_S / 60.0
    peer.set_pois("places", limit, k, *ends)
    found = peer.nearest_pois(limit, "places", num_pois=k, imp_name="minutes")
    return found.loc[peer.get_node_ids(*starts)]


if __name__ == "__main__":
    main()
