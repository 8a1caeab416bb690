"""Times of OSRM and Valhalla for seeded random trips in one extract and one mode, as CSV.

Ends of trips are midpoints of street segments (residential to primary, without access limits), so that every engine
snaps them to the same place, at no distance, with no doubt between the streets of a junction: neither engine counts
the way from a point to its street, and here there is none. Pairs for which an engine snaps further than
`--max-snap` metres (a street the mode may not use) or finds no route are dropped and counted. Distances of trips
are spread over a band per mode, and trips whose mean of both engines lies outside 5 to 40 minutes are left out.

    python peer_times.py milan.osm.pbf driving --workdir WORK --out times_milan_driving.csv

Valhalla runs without a date, so with the speeds of its tiles (free flow, off-peak); `auto`, `pedestrian` (5.1 km/h)
and `bicycle` (type hybrid, 18 km/h on a flat good road) with default options. OSRM runs the wheel's car, foot and
bicycle profiles.
"""

import argparse
import time
from itertools import pairwise
from pathlib import Path

import engines
import numpy as np
import osmium
import osrm
import pandas as pd

STREETS = {"residential", "unclassified", "tertiary", "secondary", "primary", "living_street"}
CLOSED = {"no", "private", "destination", "customers", "delivery", "agricultural", "forestry", "use_sidepath"}
ACCESS_KEYS = ("access", "foot", "bicycle", "vehicle", "motor_vehicle", "motorcar")
BANDS_M = {"walking": (300, 3_300), "cycling": (900, 9_500), "driving": (1_200, 22_000)}


def street_points(pbf):
    """Midpoints of the segments of ordinary streets, as an array of longitude and latitude."""
    points = []
    for way in osmium.FileProcessor(str(pbf)).with_locations().with_filter(osmium.filter.KeyFilter("highway")):
        if not way.is_way() or way.tags.get("highway") not in STREETS:
            continue
        if any(way.tags.get(key) in CLOSED for key in ACCESS_KEYS) or way.tags.get("area") == "yes":
            continue
        ends = [(n.location.lon, n.location.lat) if n.location.valid() else None for n in way.nodes]
        for a, b in pairwise(ends):
            if a is not None and b is not None and a != b:
                points.append(((a[0] + b[0]) / 2, (a[1] + b[1]) / 2))
    return np.unique(np.round(np.array(points), 6), axis=0)


def random_pairs(points, count, band_m, seed):
    """Draw origins at random, and for each a destination at about a distance drawn evenly from the band."""
    rng = np.random.default_rng(seed)
    low, high = np.quantile(points, [0.01, 0.99], axis=0)
    points = points[((points >= low) & (points <= high)).all(axis=1)]
    scale = np.array([np.cos(np.radians(points[:, 1].mean())), 1.0]) * 111_195
    metric = points * scale
    pairs = []
    while len(pairs) < count:
        i = rng.integers(len(points))
        wanted = rng.uniform(*band_m)
        distance = np.hypot(*(metric - metric[i]).T)
        near = np.flatnonzero(np.abs(distance - wanted) < 0.1 * wanted)
        if len(near):
            pairs.append((i, rng.choice(near)))
    pairs = np.array(pairs)
    return points[pairs[:, 0]], points[pairs[:, 1]]


def osrm_trip(engine, origin, destination):
    """Duration (s), distance (m) and the larger snapping distance (m) of one OSRM route."""
    params = osrm.RouteParameters(coordinates=[tuple(origin), tuple(destination)], overview="false")
    try:
        answer = engine.Route(params)
    except RuntimeError:
        return np.nan, np.nan, np.nan
    route = answer["routes"][0]
    snap = max(float(point["distance"]) for point in answer["waypoints"])
    return float(route["duration"]), float(route["distance"]), snap


def valhalla_trip(actor, origin, destination, costing):
    """Duration (s), distance (m) and the larger snapping distance (m) of one Valhalla route."""
    locations = [{"lon": float(p[0]), "lat": float(p[1])} for p in (origin, destination)]
    request = {"locations": locations, "costing": costing, "units": "kilometers", "directions_type": "none"}
    try:
        answer = actor.route(request)
        summary = answer["trip"]["summary"]
        shape = decode_ends(answer["trip"]["legs"][0]["shape"])
    except RuntimeError:
        return np.nan, np.nan, np.nan
    snap = max(_metres(end, point) for end, point in zip(shape, (origin, destination), strict=True))
    return float(summary["time"]), 1000 * float(summary["length"]), snap


def decode_ends(text):
    """First and last position (longitude, latitude) of a polyline with six decimals."""
    values, value, shift = [], 0, 0
    for byte in text.encode():
        value |= ((byte - 63) & 31) << shift
        shift += 5
        if byte - 63 < 32:
            values.append(~(value >> 1) if value & 1 else value >> 1)
            value, shift = 0, 0
    lat, lng = np.cumsum(values[0::2]) / 1e6, np.cumsum(values[1::2]) / 1e6
    return (lng[0], lat[0]), (lng[-1], lat[-1])


def _metres(a, b):
    return 111_195 * float(np.hypot((a[0] - b[0]) * np.cos(np.radians(b[1])), a[1] - b[1]))


def collect(pbf, mode, workdir, *, pairs=3_000, seed=1, max_snap_m=15.0, minutes=(5.0, 40.0), progress=print):
    """Search the same pairs with both engines; return the trips in the range of minutes."""
    engine = engines.open_osrm(pbf, mode, workdir)
    actor = engines.open_valhalla(pbf, workdir)
    origins, destinations = random_pairs(street_points(pbf), pairs, BANDS_M[mode], seed)
    costing = engines.VALHALLA_COSTINGS[mode]
    start = time.perf_counter()
    theirs = [osrm_trip(engine, a, b) for a, b in zip(origins, destinations, strict=True)]
    middle = time.perf_counter()
    others = [valhalla_trip(actor, a, b, costing) for a, b in zip(origins, destinations, strict=True)]
    progress(f"{mode}: OSRM {middle - start:.1f} s, Valhalla {time.perf_counter() - middle:.1f} s for {pairs} routes")
    table = pd.DataFrame(
        np.column_stack([origins, destinations, theirs, others]),
        columns=[
            *("origin_lng", "origin_lat", "dest_lng", "dest_lat"),
            *("osrm_s", "osrm_m", "osrm_snap", "valhalla_s", "valhalla_m", "valhalla_snap"),
        ],
    )
    routed = table[["osrm_s", "valhalla_s"]].notna().all(axis=1)
    snapped = (table[["osrm_snap", "valhalla_snap"]] <= max_snap_m).all(axis=1)
    minute = table[["osrm_s", "valhalla_s"]].median(axis=1) / 60
    kept = table[routed & snapped & minute.between(*minutes)]
    progress(f"{mode}: {(~routed).sum()} not routed, {(routed & ~snapped).sum()} snapped too far, {len(kept)} kept")
    return kept.drop(columns=["osrm_snap", "valhalla_snap"]).reset_index(drop=True)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pbf", type=Path, help="OSM extract")
    parser.add_argument("mode", choices=engines.MODES)
    parser.add_argument("--workdir", type=Path, required=True, help="where the engines' data is built and kept")
    parser.add_argument("--out", type=Path, required=True, help="CSV to write")
    parser.add_argument("--pairs", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-snap", type=float, default=15.0, help="metres")
    parser.add_argument("--minutes", type=float, nargs=2, default=(5.0, 40.0), metavar=("MIN", "MAX"))
    args = parser.parse_args()
    table = collect(
        args.pbf, args.mode, args.workdir,
        pairs=args.pairs, seed=args.seed, max_snap_m=args.max_snap, minutes=args.minutes,
    )  # fmt: skip
    table.round({"osrm_s": 1, "osrm_m": 1, "valhalla_s": 1, "valhalla_m": 1}).to_csv(args.out, index=False)
    ratio = (table["osrm_s"] / table["valhalla_s"]).quantile([0.05, 0.25, 0.5, 0.75, 0.95]).round(3).tolist()
    print(f"{args.mode}: OSRM / Valhalla durations, 5 / 25 / 50 / 75 / 95 %: {ratio}")


if __name__ == "__main__":
    main()
