"""
Costs of distances by public transport: processor time of `time_filter` with and without them, by turns.

Usage: python benchmarks/transit_distances.py city.osm.pbf --gtfs feed.zip --moment 2019-05-14T08:00 [--runs 7]

The network may also be a saved one, without ``--gtfs``. Questions are warm; medians and the median of the paired ratios
are printed. With ``--routes``, so is the time of the routes themselves, which distances were read from once.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import geopandas as gpd

sys.path.insert(0, str(Path(__file__).parent.parent))

import traveltime_lab as tl
from tests.support.oracles import random_points

#: Origins, destinations, arguments.
QUESTIONS: tuple[tuple[str, int, int, dict[str, Any]], ...] = (
    ("1 x 2,000", 1, 2_000, {}),
    ("1 x 20,000", 1, 20_000, {"form": "sparse"}),
    ("2,000 x 1, arriving", 2_000, 1, {"is_arrival": True}),
    ("100 x 1", 100, 1, {"form": "sparse"}),
    ("1 x 100, arriving", 1, 100, {"is_arrival": True, "form": "sparse"}),
    ("100 x 100", 100, 100, {"form": "matrix"}),
    ("1 x 2,000, window of 30 minutes", 1, 2_000, {"window": 1800}),
    ("1 x 2,000, by car to the stop", 1, 2_000, {"transportation": "driving+public_transport"}),
)


def main() -> None:
    """Print one line per question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", type=Path)
    parser.add_argument("--gtfs", nargs="+", type=Path)
    parser.add_argument("--moment", required=True)
    parser.add_argument("--limit", type=int, default=3600)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--routes", action="store_true")
    given = parser.parse_args()
    network = tl.build_network(given.network, gtfs=given.gtfs) if given.gtfs else tl.load_network(given.network)
    for name, n_origins, n_destinations, more in QUESTIONS:
        how = {"transportation": "public_transport", "travel_time": given.limit, **more}
        how["arrival_time" if how.pop("is_arrival", False) else "departure_time"] = given.moment
        points = [
            gpd.GeoSeries.from_xy(*random_points(network, n, n), crs="EPSG:4326") for n in (n_origins, n_destinations)
        ]
        kinds = {"times": ("travel_time",), "both": ("travel_time", "distance")}
        if given.routes and how.get("form", "pairs") == "pairs":
            kinds["routes"] = ("travel_time", "distance", "route")
        spent: dict[str, list[float]] = {kind: [] for kind in kinds}
        for run in range(given.runs + 1):
            for kind, properties in kinds.items():
                begun = time.process_time()
                tl.time_filter(network, *points, properties=properties, **how)
                if run:
                    spent[kind].append(time.process_time() - begun)
        ratio = statistics.median(b / a for a, b in zip(spent["times"], spent["both"], strict=True))
        medians = ", ".join(f"{kind} {statistics.median(values):.4f} s" for kind, values in spent.items())
        print(f"{name}: {medians}, ratio {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
