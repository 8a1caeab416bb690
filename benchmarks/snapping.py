"""
Measure how many points are not joined to the street that is nearest, and why.

Usage: python benchmarks/snapping.py CITY.osm.pbf [CITY.osm.pbf ...] [--points 5000] [--junctions 400]

The points lie up to 50 m away from random places on streets of the mode. A point is moved if the walk to its street is
more than 3 m longer than the distance to the nearest street of the mode.

The excess is what a trip from or to a random node takes longer than the best of the trips that begin or end on one of
the streets at the node alone.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import geopandas as gpd
import numpy as np

import traveltime_lab as ttl
from traveltime_lab.kernels.street import road
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.modes.snapping import as_snapping
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.streets import matrix
from traveltime_lab.streets.snapping import CAN_ARRIVE, CAN_LEAVE, SNAPPED, Snaps, snap_points

MODES = ("walking", "cycling", "driving")
MOVED_M = 3.0


def main() -> None:
    """Print one line per city, mode and role."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("osm", nargs="+")
    parser.add_argument("--points", type=int, default=5000)
    parser.add_argument("--junctions", type=int, default=400)
    arguments = parser.parse_args()
    for path in arguments.osm:
        network = ttl.build_network(path) if path.endswith((".pbf", ".osm")) else ttl.load_network(path)
        for mode in MODES:
            points = near_streets(network, mode, arguments.points)
            for role in ("origin", "destination"):
                print(f"{Path(path).parent.name:14} {mode:8} {role:11} {line(network, points, mode, role)}", flush=True)
                excess, worst = excess_s(network, mode, role, arguments.junctions)
                print(
                    f"{Path(path).parent.name:14} {mode:8} {role:11} {arguments.junctions} junctions: excess over the "
                    f"best street at most {excess:.3f} s, over the worst one at most {worst:.0f} s saved",
                    flush=True,
                )


def near_streets(network: ttl.Network, mode: str, n: int) -> gpd.GeoSeries:
    """Return points up to 50 m away from random places on streets of a mode."""
    is_open = network.road_graph(as_transportation(mode)).topology.is_open
    usable = (is_open[0::2] | is_open[1::2]) & ~network.tables.uses["is_ferry"].to_numpy()[network.tables.edge_use]
    lines = network.edges_frame().geometry[usable].to_crs(network.crs)
    rng = np.random.default_rng(1)
    picked = lines.iloc[rng.choice(len(lines), n, p=lines.length / lines.length.sum())]
    places = picked.interpolate(rng.random(n), normalized=True)
    distance, angle = 50.0 * np.sqrt(rng.random(n)), rng.uniform(0.0, 2.0 * np.pi, n)
    moved = gpd.GeoSeries.from_xy(
        places.x.to_numpy() + distance * np.cos(angle), places.y.to_numpy() + distance * np.sin(angle), crs=network.crs
    )
    return moved.to_crs(4326)


def line(network: ttl.Network, points: gpd.GeoSeries, mode: str, role: str) -> str:
    """Return the shares of points that are moved and that are not joined at all."""
    found = ttl.snap(network, points, transportation=mode, role=role)
    is_snapped = (found["status"] == "snapped").to_numpy()
    extra = (found["snap_distance"] - found["nearest_distance"]).to_numpy(dtype=float)[is_snapped]
    moved = extra[extra > MOVED_M]
    return (
        f"moved {len(moved) / len(points):.2%} (median {np.median(moved) if len(moved) else 0:.0f} m, most "
        f"{moved.max(initial=0.0):.0f} m), without a street {1 - is_snapped.mean():.2%} of {len(points)}"
    )


def excess_s(network: ttl.Network, mode: str, role: str, n: int) -> tuple[float, float]:
    """Return how much longer trips at junctions take than by their best street, and how much less than by the worst."""
    t, transportation, snapping = network.tables, as_transportation(mode), as_snapping(None)
    graph, rng = network.road_graph(transportation), np.random.default_rng(2)
    nodes = rng.choice(np.unique(np.concatenate([t.edge_from, t.edge_to])), n + 1, replace=False)
    mine, other = CAN_LEAVE, CAN_ARRIVE
    if role == "destination":
        mine, other = other, mine
    here = snap_points(network.streets, t.node_lng[nodes[1:]], t.node_lat[nodes[1:]], transportation, snapping, mine)
    there = snap_points(network.streets, t.node_lng[nodes[:1]], t.node_lat[nodes[:1]], transportation, snapping, other)
    assert here.places is not None
    indptr, edge, fraction, distance = here.places
    nowhere = np.full(edge.size, np.nan)
    alone = Snaps(edge, fraction, distance, np.full(edge.size, SNAPPED, np.int8), nowhere, nowhere)

    def seconds(points: Snaps) -> np.ndarray:
        starts, ends = (points, there) if role == "origin" else (there, points)
        labels = np.empty((len(starts), len(ends)), np.int64)
        for block in matrix.label_blocks(network.streets, graph, starts, ends, snapping, limit=14_400.0):
            labels[block.rows, block.columns] = block.labels
        return np.where(labels == UNREACHED, np.inf, (labels >> road.TIME_SHIFT) / 1000.0).ravel()

    first = indptr[:-1][np.diff(indptr) > 0]
    together, each = seconds(here)[np.diff(indptr) > 0], seconds(alone)
    best, worst = np.minimum.reduceat(each, first), np.maximum.reduceat(each, first)
    with np.errstate(invalid="ignore"):
        excess, saved = together - best, worst - together
    return float(np.nanmax(excess, initial=0.0)), float(np.max(saved[np.isfinite(saved)], initial=0.0))


if __name__ == "__main__":
    main()
