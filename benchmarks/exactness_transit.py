"""
Compare timetable trips from door to door with a plain connection scan and networkx on a real city.

Usage: python benchmarks/exactness_transit.py CITY.osm.pbf --gtfs FEED.zip [FEED.zip ...] --moment 2019-05-14T08:00
       [--types public_transport bus ...] [--origins 5] [--destinations 100] [--limit 3600] [--window 0]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import geopandas as gpd
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import traveltime_lab as ttl
from tests.support.oracles import random_points
from tests.support.oracles_doors import DoorOracle
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.moments import resolve_moment


def main() -> int:
    """Print one line per type and direction; return 1 if any pair differs by more than a second."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("osm")
    parser.add_argument("--gtfs", nargs="+", required=True)
    parser.add_argument("--moment", required=True)
    parser.add_argument("--types", nargs="+", default=["public_transport"])
    parser.add_argument("--origins", type=int, default=5)
    parser.add_argument("--destinations", type=int, default=100)
    parser.add_argument("--limit", type=int, default=3600)
    parser.add_argument("--window", type=int, default=0, help="seconds; the twin searches at each of them")
    arguments = parser.parse_args()
    network = ttl.build_network(arguments.osm, gtfs=arguments.gtfs)
    moment = resolve_moment(arguments.moment, network.timezone, name="moment")
    posix, limit = int(moment.timestamp()), arguments.limit
    few, many = random_points(network, arguments.origins, 1), random_points(network, arguments.destinations, 2)
    worst = 0.0
    for kind in arguments.types:
        means = as_transportation(kind)
        for is_arrival in (False, True):
            origins, destinations = (many, few) if is_arrival else (few, many)
            begin = time.perf_counter()
            width = arguments.window
            oracle = DoorOracle(network, means, origins, destinations, posix - limit - width, posix + limit + width)
            ask, sign = (oracle.arriving, -1) if is_arrival else (oracle.leaving, 1)
            expected = np.min(
                [[ask(i, posix + sign * second, limit) for i in range(len(few[0]))] for second in range(width + 1)],
                axis=0,
            )
            expected = expected.T if is_arrival else expected
            took = time.perf_counter() - begin
            got = ttl.time_filter(
                network,
                gpd.GeoSeries.from_xy(*origins, crs="EPSG:4326"),
                gpd.GeoSeries.from_xy(*destinations, crs="EPSG:4326"),
                travel_time=limit,
                transportation=means,
                form="matrix",
                window=width or None,
                **{"arrival_time" if is_arrival else "departure_time": moment},
            ).to_numpy()
            expected = np.where(np.isfinite(expected), expected / 1000.0, np.nan)
            differs = int((np.isnan(got) != np.isnan(expected)).sum())
            largest = float(np.nanmax(np.abs(got - expected)))
            worst = max(worst, largest, 9.9 * differs)
            print(
                f"{kind:26s} {'arriving' if is_arrival else 'leaving':9s} pairs {got.size} reached "
                f"{int(np.isfinite(got).sum()):5d} largest difference {largest:.3f} s, reachability differs {differs}, "
                f"oracle {took:.0f} s",
                flush=True,
            )
    return int(worst > 1.0)


if __name__ == "__main__":
    sys.exit(main())
