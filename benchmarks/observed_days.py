"""
Measure time and memory of observed days, and which share of the runs of an archive is matched.

Usage: python benchmarks/observed_days.py GTFS ARCHIVE [--days 20]

The archive has snapshots of GTFS Realtime or a table of events. Its first observed date is repeated on the days that
follow: each run is observed again with probability 0.98, with delays that differ by a normal number of 60 s a run and
15 s an event. The calendar of the timetable is extended by these days. Streets are a grid of 150 m around the stops, as
no extract comes with the archive. Times are processor time. Memory is what a process has in RAM after a search of each
network: of the planned one, of one observed day, and of all of them alive.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import gc
import io
import multiprocessing
import os
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

import traveltime_lab as tl

STEP_M = 150.0
AROUND = 2


def memory_mb() -> float:
    """Return the RAM that only this process has, with maps of files that it has written to."""
    gc.collect()
    fields = dict(line.split(":") for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:])
    return float(fields["Pss"].split()[0]) / 1024


def grid(stops: pd.DataFrame) -> tuple[gpd.GeoDataFrame, gpd.GeoDataFrame]:
    """Return nodes and edges of a grid of streets around stops."""
    ky = 111_320.0
    kx = ky * np.cos(np.radians(stops["stop_lat"].mean()))
    cells = np.unique(np.rint(np.column_stack([stops["stop_lon"] * kx, stops["stop_lat"] * ky]) / STEP_M), axis=0)
    steps = np.array([(i, j) for i in range(-AROUND, AROUND + 1) for j in range(-AROUND, AROUND + 1)])
    cells = np.unique((cells[:, None, :] + steps).reshape(-1, 2).astype(np.int64), axis=0)
    row = {tuple(cell): i for i, cell in enumerate(cells.tolist())}
    lng, lat = cells[:, 0] * STEP_M / kx, cells[:, 1] * STEP_M / ky
    nodes = gpd.GeoDataFrame({"x": lng, "y": lat}, geometry=gpd.points_from_xy(lng, lat), crs="EPSG:4326")
    pairs = [(i, row[to]) for (x, y), i in row.items() for to in ((x + 1, y), (x, y + 1)) if to in row]
    u, v = np.array(pairs + [(j, i) for i, j in pairs]).T
    ends = np.stack([np.column_stack([lng[each], lat[each]]) for each in (u, v)], axis=1)
    index = pd.MultiIndex.from_arrays([u, v, np.zeros(u.size, np.int64)], names=["u", "v", "key"])
    columns = {"highway": "residential", "length": STEP_M, "oneway": False, "osmid": np.arange(u.size)}
    return nodes, gpd.GeoDataFrame(columns, geometry=shapely.linestrings(ends), crs="EPSG:4326", index=index)


def extended(gtfs: Path, target: Path, first: dt.date, n_days: int) -> Path:
    """Write a feed whose trips of one date run on the days that follow, too."""
    dates = [f"{first + dt.timedelta(days=i):%Y%m%d}" for i in range(n_days)]
    with zipfile.ZipFile(gtfs) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "calendar_dates.txt":
                rows = [*csv.DictReader(io.StringIO(content.decode("utf-8-sig")))]
                own = [row["service_id"] for row in rows if row["date"] == dates[0] and row["exception_type"] == "1"]
                lines = ["service_id,date,exception_type", *(f"{each},{date},1" for each in own for date in dates)]
                content = "\n".join(lines).encode()
            if name != "calendar.txt":
                new.writestr(name, content)
    return target


def repeated(network: tl.Network, archive: Path, n_days: int) -> Iterator[pd.DataFrame]:
    """Yield tables of observed events: those of the first date of an archive, and of the days that follow."""
    days = tl.observed_days(network, archive)
    first = next(iter(days))
    delays = days.delays(("trip_id", "stop_sequence"))[["trip_id", "stop_sequence", "median"]]
    rng = np.random.default_rng(36)
    trip, ids = pd.factorize(delays["trip_id"])
    for i in range(n_days):
        run = rng.normal(0.0, 60.0, ids.size) * (i > 0)
        noise = run[trip] + rng.normal(0.0, 15.0, trip.size) * (i > 0)
        kept = (rng.random(ids.size) < 0.98)[trip] | (i == 0)
        table = delays.assign(date=first + dt.timedelta(days=i), departure_delay=np.rint(delays["median"] + noise))
        yield table[kept].drop(columns="median")


def main() -> None:
    """Print a line for each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gtfs", type=Path)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--days", type=int, default=20)
    given = parser.parse_args()
    with zipfile.ZipFile(given.gtfs) as feed:
        stops = pd.read_csv(feed.open("stops.txt")).dropna(subset=["stop_lat"])
    with tempfile.TemporaryDirectory() as folder:
        streets = grid(stops)
        planned = tl.build_network(streets, gtfs=[given.gtfs])
        begin = time.process_time()
        days = tl.observed_days(planned, given.archive)
        print(f"read the archive: {time.process_time() - begin:.1f} s")
        begin = time.process_time()
        date, network = next(iter(days.items()))
        print(f"create the network of {date}: {time.process_time() - begin:.1f} s, {network.updates}")
        print(days.quality().T.to_string(header=False))
        print(days.findings().to_string(index=False))
        for i, table in enumerate(repeated(planned, given.archive, given.days)):
            table.to_parquet(Path(folder) / f"{i}.parquet")
        gtfs = extended(given.gtfs, Path(folder) / "extended.zip", date, given.days)
        tl.build_network(streets, gtfs=[gtfs]).save(Path(folder) / "network.ttn")
        # In a new process, which has nothing else in memory.
        process = multiprocessing.get_context("spawn").Process(target=measure, args=(Path(folder), date))
        process.start()
        process.join()


def measure(folder: Path, date: dt.date) -> None:
    """Print the memory of a planned network, of one observed day, and of all of them."""
    network = tl.load_network(folder / "network.ttn")
    stops = network.stops_frame().geometry.iloc[:50]

    def search(network: tl.Network, date: Any) -> None:
        how: dict[str, Any] = {"departure_time": f"{date}T08:00", "travel_time": 3600}
        tl.time_filter(network, stops, stops, transportation="public_transport", **how)

    search(network, date)
    print(f"RAM with the planned network: {memory_mb():.0f} MB", flush=True)
    begin = time.process_time()
    days = tl.observed_days(network, sorted(folder.glob("*.parquet")))
    print(f"read {len(days)} days of tables: {time.process_time() - begin:.1f} s; RAM {memory_mb():.0f} MB")
    alive = {date: days[date]}
    search(alive[date], date)
    one = memory_mb()
    print(f"RAM with one observed day: {one:.0f} MB")
    begin = time.process_time()
    for each in days:
        alive[each] = days[each]
        search(alive[each], each)
    seconds = (time.process_time() - begin) / len(days)
    print(f"create and search a day: {seconds:.1f} s each")
    whole = memory_mb()
    print(f"RAM with {len(alive)} observed days: {whole:.0f} MB, {whole / one:.2f} times that with one")


if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    main()
