"""Our travel times against those of OSRM and Valhalla, from the CSVs that `peer_times.py` wrote.

    python plausibility.py --times FOLDER --city milan=milan.osm.pbf --city porto_alegre=porto_alegre.osm.pbf

reads `FOLDER/times_<city>_<mode>.csv` and prints a Markdown table. The rule, per city and mode, on trips of 5 to 40
minutes (mean of the engines): the median ratio of our time to one engine's lies in 0.9 to 1.1 and to the other's in
0.8 to 1.25, and 80 % of the pairs lie within 25 % of the median ratio, for both engines. Driving is off-peak,
without a date, as the engines have no traffic. Exits with 1 if a row fails.

Like for like: neither OSRM nor Valhalla counts the way from a point to its street, our `time_filter` does; the
trips in the CSVs end on streets that all modes may use, so that this way is nil.
"""

import argparse
import sys
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd

import traveltime_lab as tl

MODES = ("walking", "cycling", "driving")
ENGINES = ("osrm", "valhalla")
TIME_LIMIT_S = 14_400
MINUTES = (5, 40)


def transportation(mode):
    """Return the option to pass to `time_filter`: off-peak where traffic matters."""
    return tl.Transportation(type="driving", traffic_model="off_peak") if mode == "driving" else mode


def read_trips(path, most):
    """Read one CSV and keep the first trips in the range of minutes; their order is random."""
    trips = pd.read_csv(path)
    minutes = trips[["osrm_s", "valhalla_s"]].median(axis=1) / 60
    return trips[minutes.between(*MINUTES)].head(most).reset_index(drop=True)


def our_answers(network, trips, mode):
    """Our travel times (s) and distances (m) of the trips, NaN where there is no answer."""
    ends = [
        gpd.GeoDataFrame(geometry=gpd.points_from_xy(trips[f"{end}_lng"], trips[f"{end}_lat"]), crs="EPSG:4326")
        for end in ("origin", "dest")
    ]
    answer = tl.time_filter(
        network,
        *ends,
        travel_time=TIME_LIMIT_S,
        transportation=transportation(mode),
        pairs="aligned",
        properties=("travel_time", "distance"),
    )
    assert len(answer) == len(trips) and (answer["origin"].to_numpy() == trips.index.to_numpy()).all()
    return tuple(answer[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in ("travel_time", "distance"))


def compare(trips, ours_s, ours_m):
    """One row of figures: median ratios of time and distance, spread, and the verdict."""
    row = {"trips": len(trips), "answered": f"{np.isfinite(ours_s).mean():.1%}"}
    medians, shares = {}, {}
    for engine in ENGINES:
        ratio = ours_s / trips[f"{engine}_s"].to_numpy()
        medians[engine] = np.nanmedian(ratio)
        shares[engine] = np.mean(np.abs(ratio / medians[engine] - 1) <= 0.25)  # a missing answer counts against us
        row[f"time / {engine}"] = f"{medians[engine]:.3f}"
        row[f"within 25 % ({engine})"] = f"{shares[engine]:.1%}"
        row[f"distance / {engine}"] = f"{np.nanmedian(ours_m / trips[f'{engine}_m'].to_numpy()):.3f}"
    row["OSRM / Valhalla"] = f"{(trips['osrm_s'] / trips['valhalla_s']).median():.3f}"
    row["verdict"] = "PASS" if passes(medians, shares) else "FAIL"
    return row


def passes(medians, shares):
    """Apply the rule to median ratios and shares per engine."""
    near = {engine: 0.9 <= value <= 1.1 for engine, value in medians.items()}
    fair = {engine: 0.8 <= value <= 1.25 for engine, value in medians.items()}
    return any(near.values()) and all(fair.values()) and min(shares.values()) >= 0.8


def markdown(rows):
    """Render rows of equal keys as a Markdown table."""
    header = list(rows[0])
    lines = [header, ["---"] * len(header), *([str(value) for value in row.values()] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=Path, required=True, help="folder with times_<city>_<mode>.csv")
    parser.add_argument("--city", action="append", required=True, metavar="NAME=PBF", help="may be repeated")
    parser.add_argument("--mode", action="append", choices=MODES, help="default: all")
    parser.add_argument("--trips", type=int, default=1_000, help="most rows of each CSV to use (a search each)")
    args = parser.parse_args()
    rows = []
    for city in args.city:
        name, _, pbf = city.partition("=")
        network = tl.build_network(pbf)
        for mode in args.mode or MODES:
            trips = read_trips(args.times / f"times_{name}_{mode}.csv", args.trips)
            rows.append({"city": name, "mode": mode, **compare(trips, *our_answers(network, trips, mode))})
    print(markdown(rows))
    sys.exit(any(row["verdict"] == "FAIL" for row in rows))


if __name__ == "__main__":
    main()
