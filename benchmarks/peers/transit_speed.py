"""Speed of traveltime_lab beside ferrobus and cafein on timetables, paired in one session, from coordinates to answer.

    python transit_speed.py city.osm.pbf --gtfs FEED.zip [FEED.zip ...] --moment 2019-05-14T14:00
        --peers-python PEERS/bin/python --workdir WORK [--repeats 5] [--tasks NAME ...] [--h3-resolution 9]
        [--peers ferrobus cafein cafein-raptor] [--processor]

`peer_transit.py` runs under the peers' own Python, loads what it needs and waits; then every task is run by turns, once
each to warm up and then `--repeats` times; medians are compared. Walks to, from and between stops take 20 minutes at
most, four rides, trips two hours. ferrobus refuses stops without times, so its feeds get interpolated ones; its doors
have all stops within the walk, as ours do (its default are the ten nearest, a different question). Points lie within
400 m of stops. Medians over a window (`percentiles=(50,)`) are of departures a minute. cafein has the transfers of the
day ready (`compute_tbtr_transfers`); `cafein-raptor` is cafein without them, which takes three times as long over a
window. With `--processor` seconds are those of the processor, of all threads: for machines on which other work runs.

Targets: less time than both peers on every matrix; shapes (true polygons, water and holes cut out) at most three times
ferrobus's hexagons, whose index was built before; arrivals at most 1.5 times departures.
"""

import argparse
import datetime as dt
import json
import statistics
import subprocess
import time
import zipfile
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

import traveltime_lab as tl

WALK_S, MAX_CHANGES, TRAVEL_TIME_S, WINDOW_S = 1200, 3, 7200, 3600
MATRICES = ("one_to_many 1000", "one_to_many 10000", "one_to_many 100000", "many_to_many", "many_arriving", "median")
SHAPES = ("isochrone 30", "isochrone 60")
#: Tasks that each peer cannot do.
MISSING = {"ferrobus": {"many_arriving", "median"}, "cafein": set(SHAPES), "cafein-raptor": set(SHAPES)}


def fill_times(feed, folder):
    """Write a feed as files, with times at all stops."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(feed) as archive:
        for name in archive.namelist():
            if name.endswith(".txt") and Path(name).name not in ("shapes.txt", "stop_times.txt"):
                (folder / Path(name).name).write_bytes(archive.read(name))
        (name,) = (name for name in archive.namelist() if Path(name).name == "stop_times.txt")
        with archive.open(name) as file:
            table = pd.read_csv(file, dtype=str)
    if not (folder / "calendar.txt").exists():  # ferrobus insists
        days = "monday,tuesday,wednesday,thursday,friday,saturday,sunday"
        (folder / "calendar.txt").write_text(f"service_id,{days},start_date,end_date\n")
    table["stop_sequence"] = table["stop_sequence"].astype(int)
    table = table.sort_values(["trip_id", "stop_sequence"])
    for column in ("arrival_time", "departure_time"):
        parts = table[column].str.strip().replace("", np.nan).str.split(":", expand=True).astype(float)
        seconds = parts[0] * 3600 + parts[1] * 60 + parts[2]
        if seconds.isna().any():
            seconds = seconds.groupby(table["trip_id"]).transform(lambda trip: trip.interpolate())
        whole = seconds.round().astype(int)
        clock = [whole // 3600, whole // 60 % 60, whole % 60]
        table[column] = pd.Series([f"{h:02d}:{m:02d}:{s:02d}" for h, m, s in zip(*clock, strict=True)], table.index)
    table.to_csv(folder / "stop_times.txt", index=False)


def draw_points(network, rng, n):
    """Return coordinates within 400 m of stops on streets, shape (n, 2)."""
    stops = network.timetable.stops
    west, south, east, north = network.bounds
    inside = stops[stops["stop_lon"].between(west, east) & stops["stop_lat"].between(south, north)]
    chosen = inside.iloc[rng.integers(0, len(inside), n)]
    return chosen[["stop_lon", "stop_lat"]].to_numpy() + rng.uniform(-0.0036, 0.0036, (n, 2)) * [1.0, 0.9]


class Ours:
    """The tasks with traveltime_lab."""

    def __init__(self, network, points, moment):
        self.network, self.moment = network, moment
        self.frames = {name: gpd.GeoSeries.from_xy(*value.T, crs="EPSG:4326") for name, value in points.items()}
        self.means = {"type": "public_transport", "walking_time": WALK_S, "max_changes": MAX_CHANGES}

    def _matrix(self, origins, destinations, **more):
        when = {} if "arrival_time" in more else {"departure_time": self.moment}
        return tl.time_filter(
            self.network, self.frames[origins], self.frames[destinations], travel_time=TRAVEL_TIME_S,
            transportation=self.means, form="matrix", **when, **more,
        )  # fmt: skip

    def one_to_many(self, n):
        """1 x n doors."""
        return self._matrix("origin", f"destinations_{n}")

    def many_to_many(self):
        """100 x 100 doors."""
        return self._matrix("rows", "columns")

    def many_arriving(self):
        """100 x 100 doors, arriving."""
        return self._matrix("rows", "columns", arrival_time=self.moment)

    def median(self):
        """100 x 100 doors, the median of 60 minutes."""
        return self._matrix("rows", "columns", window=WINDOW_S, percentiles=(50,), properties=())

    def isochrone(self, minutes, name="departure_time"):
        """A polygon."""
        return tl.time_map(
            self.network, self.frames["origin"], travel_time=minutes * 60, transportation=self.means,
            level_of_detail="lowest", **{name: self.moment},
        )  # fmt: skip

    def run(self, task, clock):
        """Run a task once; return seconds by a clock, "seconds" or "processor"."""
        name, *arguments = task.split()
        now = time.process_time if clock == "processor" else time.perf_counter
        begin = now()
        getattr(self, name)(*(int(word) if word.isdigit() else word for word in arguments))
        return now() - begin


class Peer:
    """`peer_transit.py` under another Python."""

    def __init__(self, python, name, folder):
        script = Path(__file__).with_name("peer_transit.py")
        self._process = subprocess.Popen(
            [str(python), str(script), name, str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.build = self._answer("seconds")

    def _answer(self, clock):
        for line in self._process.stdout:
            if line.startswith('{"seconds"'):  # peers print words of their own
                return json.loads(line)[clock]
        raise RuntimeError(f"the peer ended with code {self._process.wait()}; run peer_transit.py by hand")

    def run(self, task, clock):
        """Run a task once; return seconds by a clock, "seconds" or "processor"."""
        self._process.stdin.write(task + "\n")
        self._process.stdin.flush()
        return self._answer(clock)


def main():
    """Print one line per task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("osm", type=Path)
    parser.add_argument("--gtfs", type=Path, nargs="+", required=True)
    parser.add_argument("--moment", required=True)
    parser.add_argument("--peers-python", type=Path, required=True)
    parser.add_argument("--workdir", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--tasks", nargs="+", default=[*MATRICES, *SHAPES])
    parser.add_argument("--h3-resolution", type=int, default=9)
    parser.add_argument("--timezone")
    parser.add_argument("--peers", nargs="+", default=["ferrobus", "cafein"], choices=[*MISSING])
    parser.add_argument("--processor", action="store_true")
    arguments = parser.parse_args()
    folder = arguments.workdir
    folder.mkdir(parents=True, exist_ok=True)

    saved = folder / "city.network"
    begin = time.perf_counter()
    tl.build_network(arguments.osm, gtfs=arguments.gtfs, timezone=arguments.timezone).save(saved)
    print(f"ours: built in {time.perf_counter() - begin:.1f} s")
    begin = time.perf_counter()
    network = tl.load_network(saved)
    print(f"ours: loaded in {time.perf_counter() - begin:.3f} s (target 2)")
    rng = np.random.default_rng(1)
    points = {"origin": draw_points(network, rng, 1)}
    points |= {f"destinations_{n}": draw_points(network, rng, n) for n in (1000, 10_000, 100_000)}
    points |= {name: draw_points(network, rng, 100) for name in ("rows", "columns")}
    np.savez(folder / "points.npz", **points)
    filled = []
    for i, feed in enumerate(arguments.gtfs):
        filled.append(folder / f"feed_{i}")
        if not (filled[-1] / "stop_times.txt").exists():
            fill_times(feed, filled[-1])
    west, south, east, north = network.bounds
    query = {
        "osm": str(arguments.osm.resolve()), "feeds": [str(feed.resolve()) for feed in arguments.gtfs],
        "filled_feeds": [str(feed.resolve()) for feed in filled], "moment": arguments.moment,
        "walking_time": WALK_S, "max_changes": MAX_CHANGES, "change_walk": 600,
        "area": shapely.box(west, south, east, north).wkt, "h3_resolution": arguments.h3_resolution,
    }  # fmt: skip
    (folder / "question.json").write_text(json.dumps(query))
    ours = Ours(network, points, dt.datetime.fromisoformat(arguments.moment))
    peers = {name: Peer(arguments.peers_python, name, folder) for name in arguments.peers}
    clock = "processor" if arguments.processor else "seconds"
    for name, peer in peers.items():
        print(f"{name}: ready in {peer.build:.1f} s")
    print(f"| task | {' | '.join(f'{name} (s)' for name in ('ours', *peers))} | ours / quicker peer | target | |")
    print("|---" * (len(peers) + 5) + "|")
    took = {}
    for task in arguments.tasks:
        runners = {"ours": ours} | {name: peer for name, peer in peers.items() if task not in MISSING[name]}
        spans = {name: [] for name in runners}
        for turn in range(arguments.repeats + 1):
            for name, runner in runners.items():
                seconds = runner.run(task, clock)
                if turn:
                    spans[name].append(seconds)
        middle = {name: statistics.median(values) for name, values in spans.items()}
        took[task] = middle["ours"]
        theirs = [value for name, value in middle.items() if name != "ours"]
        if not theirs:
            continue
        ratio = middle["ours"] / min(theirs)
        target = 3.0 if task in SHAPES else 1.0
        cells = [f"{middle[name]:.4f}" if name in middle else "" for name in ("ours", *peers)]
        verdict = "PASS" if ratio < target else "FAIL"
        print(f"| {task} | {' | '.join(cells)} | {ratio:.2f} | {target} | {verdict} |", flush=True)
    for task, arriving in (
        ("many_to_many", "many_arriving"),
        *((task, f"{task} arrival_time") for task in SHAPES),
    ):
        if task not in took:
            continue
        spans = {"departures": [], "arrivals": []}
        for turn in range(arguments.repeats + 1):
            seconds = ours.run(arriving, clock), ours.run(task, clock)
            if turn:
                spans["arrivals"].append(seconds[0])
                spans["departures"].append(seconds[1])
        ratio = statistics.median(spans["arrivals"]) / statistics.median(spans["departures"])
        verdict = "PASS" if ratio <= 1.5 else "FAIL"
        print(f"{task}: arrivals / departures {ratio:.2f} (target 1.5) {verdict}", flush=True)


if __name__ == "__main__":
    main()
