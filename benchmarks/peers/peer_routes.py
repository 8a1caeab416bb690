"""Times, lengths and snapped ends of OSRM and Valhalla by car for given pairs, as CSV; for `worst_driving.py`.

python peer_routes.py milan.osm.pbf FOLDER/pairs_milan.csv --workdir WORK --out FOLDER/peers_milan.csv
"""

import argparse
from pathlib import Path

import engines
import numpy as np
import osrm
import pandas as pd
from peer_times import decode_ends

NOTHING = (np.nan,) * 6


def osrm_route(engine, origin, destination):
    """Duration (s), distance (m) and the snapped ends (lng, lat, lng, lat) of an OSRM route."""
    params = osrm.RouteParameters(coordinates=[tuple(origin), tuple(destination)], overview="false")
    try:
        answer = engine.Route(params)
    except RuntimeError:
        return NOTHING
    route, ends = answer["routes"][0], [point["location"] for point in answer["waypoints"]]
    return float(route["duration"]), float(route["distance"]), *(float(v) for end in ends for v in (end[0], end[1]))


def valhalla_route(actor, origin, destination):
    """Duration (s), distance (m) and the ends (lng, lat, lng, lat) of a Valhalla route."""
    locations = [{"lon": float(p[0]), "lat": float(p[1])} for p in (origin, destination)]
    request = {"locations": locations, "costing": "auto", "units": "kilometers", "directions_type": "none"}
    try:
        answer = actor.route(request)
    except RuntimeError:
        return NOTHING
    summary = answer["trip"]["summary"]
    ends = decode_ends(answer["trip"]["legs"][0]["shape"])
    return float(summary["time"]), 1000 * float(summary["length"]), *(float(v) for end in ends for v in end)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pbf", type=Path)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--workdir", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    pairs = pd.read_csv(args.pairs)
    engine = engines.open_osrm(args.pbf, "driving", args.workdir)
    actor = engines.open_valhalla(args.pbf, args.workdir)
    rows = []
    for lng, lat, to_lng, to_lat in pairs[["origin_lng", "origin_lat", "dest_lng", "dest_lat"]].to_numpy():
        ends = (lng, lat), (to_lng, to_lat)
        rows.append((*osrm_route(engine, *ends), *valhalla_route(actor, *ends)))
    names = ("s", "m", "lng", "lat", "to_lng", "to_lat")
    columns = [f"{peer}_{name}" for peer in ("osrm", "valhalla") for name in names]
    pd.concat([pairs, pd.DataFrame(rows, columns=columns)], axis=1).to_csv(args.out, index=False)


if __name__ == "__main__":
    main()
