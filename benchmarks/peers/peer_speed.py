"""Speed of OSRM, Valhalla and osmnx on one extract: the peers' half of `speed.py`.

    python peer_speed.py milan.osm.pbf --workdir WORK --out peers.json

measures every task alone. With `--serve` the script prepares everything, prints one JSON line with the points it
uses, then reads names of tasks from standard input, runs each once and answers with the seconds: so `speed.py` can
alternate.

Tasks, each with data open and warm, from raw coordinates as Python lists to numbers in a numpy array (or JSON
text):

- `one_to_many`: OSRM table, contraction hierarchies, car, 1 x 100,000, in the chunks that suit OSRM best (`--chunk`),
  durations only, no hints, no way-points in the answer;
- `many_to_many`: the same, 1,000 x 1,000;
- `ten`, `thousand`: the same, one origin x 10 and x 1,000 (seconds are the mean of ten requests);
- `isochrone`: Valhalla, 30 minutes by car, default settings, polygons, one central origin (the five take turns; seconds
  are the mean of the five);
- `walk`: the same, 15 minutes on foot, the mean of ten origins that no request had before;
- `read`: osmnx `graph_from_xml` of the extract's highways as OSM XML (converted before; simplified as by default).
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import time
from pathlib import Path

import engines
import numpy as np
import osmium
from peer_times import street_points

TASKS = ("one_to_many", "ten", "thousand", "many_to_many", "isochrone", "walk", "read")
#: Small questions in one run of a task.
AT_ONCE = 10
#: Most runs of a task with places of its own.
MOST_RUNS = 40
CLOSED_HIGHWAYS = {
    *("abandoned", "construction", "no", "planned", "platform"),
    *("proposed", "raceway", "razed", "rest_area"),
}


def sample_points(pbf, *, seed=7, count=100_000, side=1_000, centres=5, walks=AT_ONCE * MOST_RUNS):
    """Raw coordinates near streets (some 30 m off), and central origins within 3 km of the middle, for walks 10 km."""
    rng = np.random.default_rng(seed)
    streets = street_points(pbf)
    low, high = np.quantile(streets, [0.01, 0.99], axis=0)
    streets = streets[((streets >= low) & (streets <= high)).all(axis=1)]
    degrees = np.array([np.cos(np.radians(streets[:, 1].mean())), 1.0]) * 111_195

    def draw(size, source=streets):
        return source[rng.integers(len(source), size=size)] + rng.normal(0, 20, (size, 2)) / degrees

    middle = np.median(streets, axis=0)
    metres = np.hypot(*((streets - middle) * degrees).T)
    central = streets[metres < 3_000]
    return {
        "origin": draw(1, central),
        "destinations": draw(count),
        "rows": draw(side),
        "columns": draw(side),
        "centres": draw(centres, central),
        "walks": draw(walks, streets[metres < 10_000]),
    }


def highways_xml(pbf, target):
    """Write the ways osmnx would request from Overpass with `network_type="all"`, and their nodes, as OSM XML."""
    if target.exists():
        return target
    ways, needed, present = [], set(), set()
    for way in osmium.FileProcessor(str(pbf), osmium.osm.WAY).with_filter(osmium.filter.KeyFilter("highway")):
        if way.tags["highway"] in CLOSED_HIGHWAYS or way.tags.get("area") == "yes":
            continue
        refs = [node.ref for node in way.nodes]
        ways.append((way.id, refs, dict(way.tags)))
        needed.update(refs)
    temporary = target.with_name("partial.osm")
    temporary.unlink(missing_ok=True)
    with osmium.SimpleWriter(str(temporary)) as writer:
        for node in osmium.FileProcessor(str(pbf), osmium.osm.NODE):
            if node.id in needed and node.location.valid():
                present.add(node.id)
                writer.add_node(node)
        for way_id, refs, tags in ways:
            kept = [ref for ref in refs if ref in present]
            if len(kept) > 1:
                writer.add_way(osmium.osm.mutable.Way(id=way_id, nodes=kept, tags=tags))
    temporary.rename(target)
    return target


class Peers:
    """The open engines, and one method per task that answers with seconds."""

    def __init__(self, pbf, workdir, *, chunk, tasks=TASKS):
        """Build or reuse what the tasks need, and draw the points."""
        self.chunk = chunk
        self.n_walked = 0
        self.points = sample_points(pbf)
        self.lists = {name: [tuple(p) for p in values.tolist()] for name, values in self.points.items()}
        if {"one_to_many", "ten", "thousand", "many_to_many"} & set(tasks):
            self.osrm = engines.open_osrm(pbf, "driving", workdir)
        if {"isochrone", "walk"} & set(tasks):
            self.valhalla = engines.open_valhalla(pbf, workdir)
        if "read" in tasks:
            self.xml = highways_xml(pbf, engines.folder_of(workdir, pbf, "xml") / "highways.osm")

    def _table(self, sources, destinations):
        import osrm

        params = osrm.TableParameters(
            coordinates=sources + destinations,
            sources=list(range(len(sources))),
            destinations=list(range(len(sources), len(sources) + len(destinations))),
            annotations=["duration"],
            generate_hints=False,
        )
        params.skip_waypoints = True
        rows = self.osrm.Table(params)["durations"]
        return np.array([[np.nan if cell is None else cell for cell in row] for row in rows], dtype=np.float64)

    def one_to_many(self):
        """Time one origin against all destinations, in chunks."""
        origin, destinations = self.lists["origin"], self.lists["destinations"]
        start = time.perf_counter()
        parts = [
            self._table(origin, destinations[first : first + self.chunk])
            for first in range(0, len(destinations), self.chunk)
        ]
        durations = np.hstack(parts)
        seconds = time.perf_counter() - start
        assert durations.shape == (1, len(destinations))
        return seconds

    def many_to_many(self):
        """Time the square table."""
        start = time.perf_counter()
        self._table(self.lists["rows"], self.lists["columns"])
        return time.perf_counter() - start

    def _one_to(self, count):
        """Time one origin against some destinations, others each time."""
        rows, columns = self.lists["rows"], self.lists["destinations"]
        start = time.perf_counter()
        for i in range(AT_ONCE):
            self._table([rows[i]], columns[i * count : (i + 1) * count])
        return (time.perf_counter() - start) / AT_ONCE

    def ten(self):
        """Time 1 x 10."""
        return self._one_to(10)

    def thousand(self):
        """Time 1 x 1,000."""
        return self._one_to(1_000)

    def _isochrones(self, places, costing, minutes):
        """Time isochrones from places, one by one; return the mean."""
        start = time.perf_counter()
        for lng, lat in places:
            request = {
                "locations": [{"lon": lng, "lat": lat}],
                "costing": costing,
                "contours": [{"time": minutes}],
                "polygons": True,
            }
            answer = self.valhalla.isochrone(json.dumps(request))
        seconds = time.perf_counter() - start
        assert '"Polygon"' in answer or '"MultiPolygon"' in answer
        return seconds / len(places)

    def isochrone(self):
        """Time one isochrone, as the mean of the central origins."""
        return self._isochrones(self.lists["centres"], "auto", 30)

    def walk(self):
        """Time one isochrone on foot, as the mean of new origins."""
        places = self.lists["walks"][self.n_walked : self.n_walked + AT_ONCE]
        self.n_walked += AT_ONCE
        return self._isochrones(places, "pedestrian", 15)

    def read(self):
        """Time osmnx reading the prepared XML."""
        import osmnx

        start = time.perf_counter()
        graph = osmnx.graph_from_xml(self.xml)
        seconds = time.perf_counter() - start
        assert len(graph) > 0
        return seconds


def serve(peers, points_file):
    """Answer names of tasks on standard input with seconds, as JSON lines on the real standard output."""
    np.savez(points_file, **peers.points)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the libraries print must not mix with the answers
    print(json.dumps({"points": str(points_file)}), file=out, flush=True)
    for line in sys.stdin:
        task = line.strip()
        if task not in TASKS:
            break
        print(json.dumps({"task": task, "seconds": getattr(peers, task)()}), file=out, flush=True)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pbf", type=Path, help="OSM extract")
    parser.add_argument("--workdir", type=Path, required=True, help="where the engines' data is built and kept")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--repeats", type=int, default=3, help="timed runs per task, after one to warm up")
    parser.add_argument("--chunk", type=int, default=1_000, help="destinations per OSRM request")
    parser.add_argument("--out", type=Path, help="JSON to write")
    parser.add_argument("--serve", action="store_true", help="take tasks from standard input")
    args = parser.parse_args()
    args.workdir.mkdir(parents=True, exist_ok=True)
    with contextlib.redirect_stdout(sys.stderr):
        peers = Peers(args.pbf, args.workdir, chunk=args.chunk, tasks=args.tasks)
    if args.serve:
        serve(peers, args.workdir / "points.npz")
        return
    results = {}
    for task in args.tasks:
        runs = [getattr(peers, task)() for _ in range(args.repeats + 1)][1:]
        results[task] = {"median_s": statistics.median(runs), "runs_s": runs}
        print(f"{task}: {statistics.median(runs):.4f} s (median of {len(runs)})", flush=True)
    if args.out:
        args.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
