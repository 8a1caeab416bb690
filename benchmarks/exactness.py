"""
Compare travel times with networkx on real cities: every mode, both directions of search, thousands of pairs.

Usage: python benchmarks/exactness.py CITY.osm.pbf [CITY.osm.pbf ...] [--pairs 2000] [--origins 20] [--pandana]
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
from tests.support.oracles import StreetOracle, random_points
from tests.support.oracles_snapping import times_ms
from traveltime_lab.limits import MAX_TRAVEL_TIME_S
from traveltime_lab.modes.snapping import as_snapping
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.streets import costs
from traveltime_lab.streets.snapping import CAN_ARRIVE, CAN_LEAVE, snap_points

MODES = ("walking", "cycling", "driving", "walking+ferry", "cycling+ferry", "driving+ferry")


def main() -> int:
    """Print one line per city, mode and direction; return 1 if any pair is more than a second off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("osm", nargs="+")
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--origins", type=int, default=20)
    parser.add_argument("--modes", nargs="+", default=MODES)
    parser.add_argument("--pandana", action="store_true", help="also hold the pandana engine to the same answers")
    arguments = parser.parse_args()
    worst = 0.0
    for path in arguments.osm:
        network = ttl.build_network(path) if path.endswith((".pbf", ".osm")) else ttl.load_network(path)
        for mode in arguments.modes:
            worst = max(worst, *compare(network, Path(path), mode, arguments))
    return int(worst > 1.0)


def compare(network: ttl.Network, path: Path, mode: str, arguments: argparse.Namespace) -> list[float]:
    """Return the largest difference in seconds of each direction and engine."""
    n_origins = arguments.origins
    n_targets = arguments.pairs // n_origins
    origins = gpd.GeoSeries.from_xy(*random_points(network, n_origins, 1), crs="EPSG:4326")
    targets = gpd.GeoSeries.from_xy(*random_points(network, n_targets, 2), crs="EPSG:4326")
    transportation = as_transportation(mode)
    begin = time.perf_counter()
    oracle = StreetOracle(network, mode, multiplier=costs.BALANCED)
    snaps, goals = (
        snap_points(
            network.streets, points.x.to_numpy(), points.y.to_numpy(), transportation, as_snapping(None), needed
        )
        for points, needed in ((origins, CAN_LEAVE), (targets, CAN_ARRIVE))
    )
    both = ((points, points.only_islands()) for points in (snaps, goals))
    expected = np.array([[np.nan if ms is None else ms / 1000 for ms in row] for row in times_ms(oracle, *both)])
    expected[expected >= MAX_TRAVEL_TIME_S] = np.nan
    expected[:, goals.edge < 0] = np.nan
    took = time.perf_counter() - begin
    worst = []
    for engine in ("dijkstra", "hierarchy", *(["pandana"] if arguments.pandana else [])):
        for direction in ("forward", "backward"):
            # Searches start from the side with fewer points, so the roles are swapped to go both ways.
            if direction == "forward":
                table = times(network, origins, targets, mode, engine)
            else:
                table = np.hstack(
                    [times(network, origins, targets.iloc[j : j + 1], mode, engine) for j in range(n_targets)]
                )
            difference = np.abs(table - expected)
            disagree = int((np.isnan(table) != np.isnan(expected)).sum())
            largest = float(np.nanmax(difference, initial=0.0))
            worst.append(np.inf if disagree else largest)
            print(
                f"{path.parent.name:14} {mode:14} {engine:9} {direction:9} pairs {expected.size} "
                f"reached {int(np.isfinite(expected).sum()):5} largest difference {largest:.3f} s, "
                f"reachability differs {disagree}, networkx {took:.1f} s",
                flush=True,
            )
    return worst


def times(network: ttl.Network, origins: gpd.GeoSeries, targets: gpd.GeoSeries, mode: str, engine: str) -> np.ndarray:
    """Return a matrix of seconds."""
    return ttl.time_filter(
        network,
        origins,
        targets,
        travel_time=MAX_TRAVEL_TIME_S,
        transportation=mode,
        form="matrix",
        engine=engine,
    ).to_numpy(dtype=float)


if __name__ == "__main__":
    sys.exit(main())
