"""Speed of traveltime_lab beside OSRM, Valhalla and osmnx, paired in one session.

    python speed.py milan.osm.pbf --peers-python PEERS/bin/python --workdir WORK [--out speed.json]

Runs in an environment with traveltime_lab. `peer_speed.py` runs as a subprocess under the peers' own Python,
prepares its data and waits; then every task is run by turns, ours and theirs, once each to warm up and then
`--repeats` times. One of the two sits idle while the other runs. The points are the same, raw coordinates (some off
the street):

- `one_to_many`: 1 x 100,000 by car, GeoDataFrames in, tidy table out, snapping included; against an OSRM table;
- `ten`, `thousand`: one origin x 10 and x 1,000 by car, other points each time, the mean of ten requests; wide matrix;
- `many_to_many`: 1,000 x 1,000 by car, wide matrix (`form="matrix"`) of travel times; against an OSRM table;
- `isochrone`: 30 minutes by car, default detail, water removed, mean of five central origins one by one; against
  Valhalla's default isochrone;
- `isochrone_medium`: the same at level `medium`;
- `walk`: 15 minutes on foot, the mean of ten origins that were never searched before;
- `read`: `build_network` from the PBF; against osmnx reading the same streets, already converted to XML.
"""

import argparse
import json
import statistics
import subprocess
import time
from pathlib import Path

import geopandas as gpd
import numpy as np

import traveltime_lab as tl

#: Tasks, who is measured against, and the share of the peer's time not to exceed (None: reported only).
TASKS = {
    "one_to_many": ("OSRM (CH)", 0.1),
    "ten": ("OSRM (CH)", None),
    "thousand": ("OSRM (CH)", None),
    "many_to_many": ("OSRM (CH)", None),
    "isochrone": ("Valhalla", 0.25),
    "isochrone_medium": ("Valhalla", 0.25),
    "walk": ("Valhalla", None),
    "read": ("osmnx", 1.0),
}
#: The peers' task of those that differ for us alone.
PEER_TASKS = {"isochrone_medium": "isochrone"}
TIME_LIMIT_S = 14_400
#: As in `peer_speed.py`: small questions in one run of a task, and most runs of a task with places of its own.
AT_ONCE, MOST_RUNS = 10, 40


class PeerProcess:
    """`peer_speed.py --serve` under another Python."""

    def __init__(self, python, pbf, workdir, *, tasks, chunk):
        script = Path(__file__).with_name("peer_speed.py")
        command = [python, script, pbf, "--workdir", workdir, "--serve", "--chunk", chunk, "--tasks", *tasks]
        self._process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.points = np.load(self._answer()["points"])

    def _answer(self):
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the peers' process ended with code {self._process.wait()}; run peer_speed.py by hand")
        return json.loads(line)

    def run(self, task):
        """Run a task once; return seconds."""
        self._process.stdin.write(task + "\n")
        self._process.stdin.flush()
        return self._answer()["seconds"]

    def close(self):
        """Let the process end."""
        self._process.stdin.close()
        self._process.wait()


def frame(points):
    """Points as a GeoDataFrame of longitude and latitude."""
    return gpd.GeoDataFrame(geometry=gpd.points_from_xy(*points.T), crs="EPSG:4326")


class Ours:
    """The same tasks with traveltime_lab."""

    def __init__(self, pbf, points):
        self.pbf = pbf
        self.driving = tl.Transportation(type="driving", traffic_model="off_peak")
        self.network = tl.build_network(pbf).prepare(self.driving, "walking")
        self.n_walked = 0
        self.frames = {name: frame(points[name]) for name in points.files}
        self.centres = [self.frames["centres"].iloc[[i]] for i in range(len(self.frames["centres"]))]

    def _filter(self, origins, destinations, form):
        start = time.perf_counter()
        answer = tl.time_filter(
            self.network, self.frames[origins], self.frames[destinations],
            travel_time=TIME_LIMIT_S, transportation=self.driving, form=form,
        )  # fmt: skip
        seconds = time.perf_counter() - start
        times = answer if form == "matrix" else answer["travel_time"]
        assert times.size == len(self.frames[origins]) * len(self.frames[destinations])
        assert times.notna().to_numpy().mean() > 0.9
        return seconds

    def one_to_many(self):
        """Time 1 x 100,000."""
        return self._filter("origin", "destinations", "pairs")

    def many_to_many(self):
        """Time 1,000 x 1,000."""
        return self._filter("rows", "columns", "matrix")

    def _one_to(self, count):
        """Time one origin against some destinations, others each time."""
        rows, columns = self.frames["rows"], self.frames["destinations"]
        some = [(rows.iloc[[i]], columns.iloc[i * count : (i + 1) * count]) for i in range(AT_ONCE)]
        start = time.perf_counter()
        for origin, destinations in some:
            tl.time_filter(
                self.network, origin, destinations,
                travel_time=TIME_LIMIT_S, transportation=self.driving, form="matrix",
            )  # fmt: skip
        return (time.perf_counter() - start) / AT_ONCE

    def ten(self):
        """Time 1 x 10."""
        return self._one_to(10)

    def thousand(self):
        """Time 1 x 1,000."""
        return self._one_to(1_000)

    def _maps(self, places, **options):
        """Time isochrones from places, one by one; return the mean."""
        start = time.perf_counter()
        for place in places:
            shape = tl.time_map(self.network, place, **options)
        seconds = time.perf_counter() - start
        assert not shape.geometry.is_empty.any()
        return seconds / len(places)

    def isochrone(self):
        """Time one isochrone, as the mean of the central origins."""
        return self._maps(self.centres, travel_time=1_800, transportation=self.driving, level_of_detail="lowest")

    def isochrone_medium(self):
        """Time one isochrone with more detail."""
        return self._maps(self.centres, travel_time=1_800, transportation=self.driving, level_of_detail="medium")

    def walk(self):
        """Time one isochrone on foot, as the mean of new origins."""
        some = range(self.n_walked, self.n_walked + AT_ONCE)
        self.n_walked += AT_ONCE
        places = [self.frames["walks"].iloc[[i]] for i in some]
        return self._maps(places, travel_time=900, transportation="walking")

    def read(self):
        """Time building the network."""
        start = time.perf_counter()
        tl.build_network(self.pbf)
        return time.perf_counter() - start


def measure(task, ours, peers, repeats):
    """Alternate ours and theirs; drop the first run of each."""
    own, other = [], []
    for _ in range(repeats + 1):
        own.append(getattr(ours, task)())
        other.append(peers.run(PEER_TASKS.get(task, task)))
    mine, theirs = statistics.median(own[1:]), statistics.median(other[1:])
    ratios = [a / b for a, b in zip(own[1:], other[1:], strict=True)]
    return {
        "task": task, "ours_s": mine, "peer_s": theirs, "ratio": statistics.median(ratios),
        "first_ours_s": own[0], "runs_ours_s": own[1:], "runs_peer_s": other[1:],
    }  # fmt: skip


def table(results):
    """Render the results in Markdown."""
    lines = ["| task | ours (s) | peer (s) | peer | ours / peer | target | |", "|---|---|---|---|---|---|---|"]
    for row in results:
        peer, target = TASKS[row["task"]]
        verdict = "" if target is None else ("PASS" if row["ratio"] <= target else "FAIL")
        goal = "" if target is None else f"{target:g}"
        lines.append(
            f"| {row['task']} | {row['ours_s']:.4f} | {row['peer_s']:.4f} | {peer} | {row['ratio']:.4f}"
            f" | {goal} | {verdict} |"
        )
    return "\n".join(lines)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pbf", type=Path, help="OSM extract")
    parser.add_argument("--peers-python", type=Path, required=True, help="Python of the peers' environment")
    parser.add_argument("--workdir", type=Path, required=True, help="where the engines' data is built and kept")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--chunk", type=int, default=1_000, help="destinations per OSRM request")
    parser.add_argument("--out", type=Path, help="JSON to write")
    args = parser.parse_args()
    if args.repeats >= MOST_RUNS:
        parser.error(f"there are places for {MOST_RUNS} runs")
    theirs = sorted({PEER_TASKS.get(task, task) for task in args.tasks})
    peers = PeerProcess(args.peers_python, args.pbf, args.workdir, tasks=theirs, chunk=args.chunk)
    try:
        ours = Ours(args.pbf, peers.points)
        results = [measure(task, ours, peers, args.repeats) for task in args.tasks]
    finally:
        peers.close()
    print(table(results))
    if args.out:
        args.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
