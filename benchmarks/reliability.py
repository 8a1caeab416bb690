"""
Measure how long a study of reliability takes, and what real delays do to travel times.

Usage: python benchmarks/reliability.py [--days 20] [--points 100] [--auckland FOLDER]

The days of Porto Alegre have delays that are made up, each trip of the day one of its own. Auckland is one real day:
the folder has the feed and the observed events of 2016-05-19 (`gtfs_reconstructed.zip`, `events_20160519.csv.gz`).
There are no streets in it, so that stops are joined with their neighbours by straight walks. Times are processor time,
and memory is that of this process at most.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import random
import resource
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import scipy.spatial
import shapely

import traveltime_lab as tl

#: Longest straight walk between stops of Auckland, m (assumed).
LONGEST_M = 3000.0
#: A delay that falls by more seconds from one event to the next is taken for a fault of the data (assumed).
MOST_FALL_S = 300


def with_trips(network: tl.Network, updates: list[dict[str, Any]]) -> tl.Network:
    """Return a network with updates of trips."""
    entities = [{"id": str(number), "trip_update": update} for number, update in enumerate(updates)]
    message = {"header": {"gtfs_realtime_version": "2.0"}, "entity": entities}
    return network.with_updates(json.dumps(message).encode())


class MadeUpDays(Mapping[dt.date, tl.Network]):
    """Days with a delay of each trip, 2 minutes late on average; each network is created on access."""

    def __init__(self, network: tl.Network, dates: list[dt.date]) -> None:
        self.network, self.dates, self.seconds = network, dates, 0.0

    def __getitem__(self, date: dt.date) -> tl.Network:
        begin, dice = time.process_time(), random.Random(date.toordinal())
        day = date.strftime("%Y%m%d")
        found = with_trips(
            self.network,
            [
                {"trip": {"trip_id": trip, "start_date": day}, "delay": round(dice.gammavariate(2.0, 120.0) - 120.0)}
                for trip in self.network.trips_frame(date=date.isoformat())["trip_id"]
            ],
        )
        self.seconds += time.process_time() - begin
        return found

    def __iter__(self) -> Iterator[dt.date]:
        return iter(self.dates)

    def __len__(self) -> int:
        return len(self.dates)


def report(name: str, found: pd.DataFrame, seconds: float, of_days: float) -> None:
    """Print times, and means over pairs that all three kinds of passengers reach."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    n_times = len(found) * int(found["n_departures"].iloc[0])
    print(f"{name}: {len(found):,} pairs, {found['n_departures'].iloc[0]} departures on {found['n_days'].iloc[0]} days")
    print(
        f"  {seconds - of_days:.1f} s for {n_times:,} travel times of each kind, days {of_days:.1f} s; {peak:.0f} MiB"
    )
    print("  within the limit:", *(f"{kind} {found[f'{kind}_share'].mean():.3f}" for kind in KINDS))
    for percent in (50, 80, 95):
        columns = found[[f"{kind}_p{percent}" for kind in KINDS]].dropna()
        minutes = (columns.astype(float).mean() / 60).round(1)
        print(f"  p{percent}, minutes:", *(f"{kind} {value}" for kind, value in zip(KINDS, minutes, strict=True)))
    print(f"  transfers missed {found['transfers_missed'].mean():.3f}, trips possible {found['possible'].mean():.3f}")


KINDS = ("planned", "observed", "realizable")


def porto_alegre(n_days: int, n_points: int) -> None:
    """Study made-up days of Porto Alegre."""
    network = tl.sample_network()
    zones = tl.sample_points(kind="zones").to_crs(4326)
    zones = zones.set_geometry(zones.geometry.representative_point())
    origins, destinations = (zones.sample(n_points, random_state=seed) for seed in (1, 2))
    dates = [date.date() for date in pd.bdate_range("2019-05-13", periods=n_days)]
    days = MadeUpDays(network, dates)
    how: dict[str, Any] = {"departure_time": [f"2019-05-13T{hour}:10" for hour in ("08", "12", "15", "18")]}
    tl.reliability(network, {dates[0]: network}, origins[:2], destinations[:60], travel_time=5400, **how)
    begin = time.process_time()
    found = tl.reliability(network, days, origins, destinations, travel_time=5400, **how)
    report("Porto Alegre, made-up delays", found, time.process_time() - begin, days.seconds)


def auckland(folder: Path, n_points: int) -> None:
    """Study a real day of Auckland."""
    with zipfile.ZipFile(folder / "gtfs_reconstructed.zip") as archive, archive.open("stops.txt") as file:
        stops = pd.read_csv(file, dtype={"stop_id": str})
    points = gpd.GeoSeries.from_xy(stops["stop_lon"], stops["stop_lat"], crs=4326).drop_duplicates()
    network = tl.build_network(straight_walks(points), gtfs=folder / "gtfs_reconstructed.zip")
    begin, date = time.process_time(), dt.date(2016, 5, 19)
    day = with_trips(network, observed(pd.read_csv(folder / "events_20160519.csv.gz", dtype={"trip_id": str})))
    assert day.updates is not None
    print(f"Auckland: {day.updates.trips['applied'].mean():.3f} of {len(day.updates.trips):,} trips applied")
    of_days = time.process_time() - begin
    origins, destinations = (points.sample(n_points, random_state=seed) for seed in (1, 2))
    how: dict[str, Any] = {"departure_time": [f"2016-05-19T{hour}:10" for hour in ("08", "12", "15", "18")]}
    found = tl.reliability(network, {date: day}, origins, destinations, travel_time=7200, **how)
    report("Auckland, observed", found, time.process_time() - begin, of_days)


def straight_walks(points: gpd.GeoSeries) -> tuple[gpd.GeoDataFrame, gpd.GeoDataFrame]:
    """Return nodes at stops, and edges between neighbours."""
    metres = points.to_crs(points.estimate_utm_crs())
    corners = scipy.spatial.Delaunay(np.column_stack([metres.x, metres.y])).simplices
    pairs = np.unique(np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]])), axis=0)
    ends = metres.to_numpy()[pairs]
    pairs = pairs[shapely.distance(ends[:, 0], ends[:, 1]) <= LONGEST_M]
    lines = shapely.linestrings(np.stack([points.x.to_numpy()[pairs], points.y.to_numpy()[pairs]], axis=2))
    columns = {"u": pairs[:, 0], "v": pairs[:, 1], "highway": "residential"}
    nodes = gpd.GeoDataFrame(geometry=points.reset_index(drop=True), crs=4326)
    return nodes, gpd.GeoDataFrame(columns, geometry=lines, crs=4326)


def observed(events: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the updates of trips with the observed time of each event, without trips that are hardly possible."""
    events = events.sort_values(["trip_id", "stop_sequence", "event"])
    falls = events.groupby("trip_id", sort=False)["delay_s"].diff() < -MOST_FALL_S
    faulty = events["trip_id"].isin(events["trip_id"][falls])
    print(f"Auckland: {events['trip_id'][faulty].nunique():,} trips are left as planned")
    updates = []
    for trip, own in events[~faulty].groupby("trip_id", sort=False):
        stops: dict[int, dict[str, Any]] = {}
        for number, event, when in zip(own["stop_sequence"], own["event"], own["observed"], strict=True):
            stops.setdefault(int(number), {"stop_sequence": int(number)})[event] = {"time": int(when)}
        about = {"trip_id": trip, "start_date": "20160519"}
        updates.append({"trip": about, "stop_time_update": list(stops.values())})
    return updates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=20)
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--auckland", type=Path)
    given = parser.parse_args()
    porto_alegre(given.days, given.points)
    if given.auckland is not None:
        auckland(given.auckland, given.points)


if __name__ == "__main__":
    main()
