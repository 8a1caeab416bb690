"""Speeds fitted to the travel times of OSRM and Valhalla, as if these had been measured.

    python calibration.py --times FOLDER --city milan=milan.osm.pbf

reads the driving times `FOLDER/times_<city>_driving.csv` that `peer_times.py` wrote, fits factors by class of street
with `calibrate_speeds` to the times of each engine, and prints the errors of the trips that were held out, before and
after, as a Markdown table. Exits with 1 if the fit does not bring held-out trips closer to the engine.
"""

import argparse
import sys
import warnings
from pathlib import Path

import geopandas as gpd
import pandas as pd

import traveltime_lab as tl

#: Off-peak, as the engines have no traffic.
TRANSPORTATION = tl.Transportation(type="driving", traffic_model="off_peak")
ENGINES = ("osrm", "valhalla")


def observed(path, engine, most):
    """Return the trips of 5 to 40 minutes of an engine."""
    table = pd.read_csv(path)
    table = table[table[f"{engine}_s"].between(300, 2400)].head(most).reset_index(drop=True)
    ends = {
        name: gpd.GeoSeries.from_xy(table[f"{short}_lng"], table[f"{short}_lat"], crs="EPSG:4326")
        for name, short in (("origin", "origin"), ("destination", "dest"))
    }
    return pd.DataFrame({**ends, "travel_time": table[f"{engine}_s"]})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=Path, required=True)
    parser.add_argument("--city", action="append", required=True, metavar="NAME=FILE")
    parser.add_argument("--trips", type=int, default=1000)
    options = parser.parse_args()
    print("| city | engine | trips held out | mean error before (s) | after (s) | factors |")
    print("|---|---|---|---|---|---|")
    is_better = True
    for item in options.city:
        city, path = item.split("=", 1)
        network = tl.build_network(path)
        for engine in ENGINES:
            trips = observed(options.times / f"times_{city}_driving.csv", engine, options.trips)
            with warnings.catch_warnings():
                # A factor at its bound, or trips without a route, are in the table.
                warnings.simplefilter("ignore", UserWarning)
                found = tl.calibrate_speeds(network, trips, transportation=TRANSPORTATION)
            errors = found.errors.set_index(["trips", "speeds"]).loc["held out"]
            before, after = errors.loc["before"], errors.loc["after"]
            is_better &= bool(after["mean_absolute_error"] < before["mean_absolute_error"])
            factors = ", ".join(f"{name} {value:.2f}" for name, value in found.factors.items())
            print(
                f"| {city} | {engine} | {before['n']:.0f} | {before['mean_absolute_error']:.0f} | "
                f"{after['mean_absolute_error']:.0f} | {factors} |",
                flush=True,
            )
    return 0 if is_better else 1


if __name__ == "__main__":
    sys.exit(main())
