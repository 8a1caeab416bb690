"""
Hold random headways to 10,000 draws of a plain connection scan, and average ones to trying all boardings.

Usage: python benchmarks/headway_draws.py CITY.osm.pbf --gtfs FEED.zip --moment 2022-02-22T08:00
       [--origins 5] [--destinations 100] [--limit 3600] [--draws 10000] [--library-draws 600] [--seed 0]

All lines of the feed run by headway: rows of frequencies.txt lose their exact times, and in feeds without such rows,
trips of a route with the same stops become one row for each hour in which there are three or more, with the mean
headway of that hour. With ``grid`` in place of the streets, these are a grid of 250 m around the densest stops.

The plain scan takes the stops near a point and the walks between stops from `tests/support/oracles_doors.py`, draws the
first departures of all rows and one of the departures of the window at random, and scans all connections until nothing
changes. Let F be the distribution of its travel times: a percentile p of the library at v is right where F is below p
just before v, and at least p at v. The difference is in standard errors of both samples, the square root of
p (1 - p) (1 / draws + 1 / draws of the library). Shares of departures within the limit are compared in the same way.
"""

from __future__ import annotations

import argparse
import csv
import io
import itertools
import math
import sys
import tempfile
import time
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import geopandas as gpd
import numba
import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))

import traveltime_lab as tl
from tests.support.oracles import random_points
from tests.support.oracles_doors import DoorOracle
from tests.support.oracles_realtime import clock, read, seconds, write
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.moments import resolve_moment
from traveltime_lab.transit.trip_instances import active_rows, trip_table, usable_trips

PERCENTS = (5, 10, 25, 50, 75, 90, 95)
WINDOW_S = 3600
NEVER = 1 << 30


def by_headway(feed: Path, folder: Path) -> Path:
    """Return a copy of a feed of which all lines run by headway."""
    tables = read(feed)
    # Passengers would stay seated from trip to trip, which repeated trips do not have.
    for row in tables["trips"]:
        row["block_id"] = ""
    if tables.get("frequencies"):
        for row in tables["frequencies"]:
            row["exact_times"] = "0"
        return write(tables, folder / "headways.zip")
    calls = defaultdict(list)
    for row in tables["stop_times"]:
        calls[row["trip_id"]].append(row)
    alike = defaultdict(list)
    for trip in tables["trips"]:
        rows = sorted(calls[trip["trip_id"]], key=lambda row: int(row["stop_sequence"]))
        begin = seconds(rows[0]["departure_time"])
        stops = tuple(row["stop_id"] for row in rows)
        alike[trip["route_id"], trip["service_id"], stops, begin // 3600].append((begin, trip["trip_id"]))
    repeated, dropped = [], set()
    for (_, _, _, hour), trips in alike.items():
        if len(trips) >= 3:
            trips.sort()
            headway = 3600 // len(trips)
            repeated.append(
                {
                    "trip_id": trips[0][1], "start_time": clock(hour * 3600), "end_time": clock((hour + 1) * 3600),
                    "headway_secs": str(headway), "exact_times": "0",
                }
            )  # fmt: skip
            dropped |= {name for _, name in trips[1:]}
    for name in ("trips", "stop_times"):
        tables[name] = [row for row in tables[name] if row["trip_id"] not in dropped]
    tables["frequencies"] = repeated
    return write(tables, folder / "headways.zip")


def grid(feed: Path, folder: Path, n: int = 48, side_m: float = 250.0) -> Path:
    """Write streets as a grid around the densest stops of a feed, and return the path of the file."""
    with zipfile.ZipFile(feed) as archive:
        rows = list(csv.DictReader(io.TextIOWrapper(archive.open("stops.txt"), "utf-8-sig")))
    lat, lng = (np.array([float(row[f"stop_{name}"]) for row in rows]) for name in ("lat", "lon"))
    dy, dx = side_m / 111_320, side_m / 111_320 / math.cos(math.radians(float(np.median(lat))))
    south, west = float(np.median(lat)) - dy * n / 2, float(np.median(lng)) - dx * n / 2
    text = ["<osm version='0.6'>"]
    text += [
        f"<node id='{i * n + j + 1}' lat='{south + i * dy:.7f}' lon='{west + j * dx:.7f}' version='1'/>"
        for i in range(n)
        for j in range(n)
    ]
    for k in range(n):
        for way, nodes in ((k, [k * n + j for j in range(n)]), (n + k, [i * n + k for i in range(n)])):
            refs = "".join(f"<nd ref='{node + 1}'/>" for node in nodes)
            text.append(f"<way id='{way + 1}' version='1'>{refs}<tag k='highway' v='residential'/></way>")
    path = folder / "grid.osm"
    path.write_text("\n".join([*text, "</osm>"]), "utf-8")
    return path


class Lines:
    """All lines of an interval: trips by headway, and trips with times, as rows of one departure."""

    def __init__(self, network: tl.Network, oracle: DoorOracle, begin: int, end: int) -> None:
        timetable = network.timetable
        assert timetable is not None
        table = trip_table(timetable, begin, end)
        runs, trips = oracle.rides.runs, table.instance_trip.tolist()
        assert len(runs) == len(trips) and not oracle.rides.stays
        templates = {trip: run for run, trip in zip(runs, trips, strict=True)}
        rows, _, shift = active_rows(timetable, begin, end, usable_trips(timetable, None, None))
        self.calls: list[list[Any]] = []
        lines: list[tuple[int, int, int]] = []
        for row, moved in zip(rows.tolist(), shift.tolist(), strict=True):
            trip = int(timetable.frequency_trip[row])
            if trip in templates:
                start, until = (
                    int(times[row]) + moved for times in (timetable.frequency_start, timetable.frequency_end)
                )
                lines.append((start, until, int(timetable.frequency_headway[row])))
                self.calls.append(templates[trip])
        repeated = set(timetable.frequency_trip.tolist())
        for run, trip in zip(runs, trips, strict=True):
            if trip not in repeated:
                lines.append((run[0].departure, run[0].departure + 1, 0))
                self.calls.append(run)
        self.start, self.until, self.headway = np.array(lines, np.int64).T
        self.spread = np.minimum(self.headway, self.until - self.start)
        each = [
            (i, a.departure - calls[0].departure, b.arrival - calls[0].departure, a.stop, b.stop, a.can_board,
             b.can_alight)
            for i, calls in enumerate(self.calls) for a, b in itertools.pairwise(calls)
        ]  # fmt: skip
        #: Line, departure and arrival after the first departure, the two stops, whether one may board and alight.
        self.links = np.array(each, np.int64)
        self.change = np.array(oracle.rides.change, np.int64)
        walks = [(stop, end, s) for stop, ends in oracle.rides.walks.items() for end, s in ends]
        self.walks = np.array(walks, np.int64).reshape(-1, 3)
        self.walk_indptr = np.searchsorted(self.walks[:, 0], np.arange(len(self.change) + 1))


@numba.njit
def plain_draws(rng, n_draws, line, links, walks, walk_indptr, change, seeds, seed_indptr, moment, n_departures, limit):
    """Return the arrivals at all stops, in seconds after the departure, of each origin in each draw."""
    start, until, headway, spread = line
    n_stops, n_origins = change.size, seed_indptr.size - 1
    last = moment + 60 * n_departures + limit
    found = np.full((n_origins, n_draws, n_stops), np.int32(NEVER))
    counts = np.zeros(last + 2, np.int64)
    for draw in range(n_draws):
        first = np.zeros(start.size, np.int64)
        n_runs = np.zeros(start.size + 1, np.int64)
        for i in range(start.size):
            if headway[i] > 0:
                first[i] = start[i] + rng.integers(0, spread[i])
                n_runs[i + 1] = max(0, (until[i] - first[i] - 1) // headway[i] + 1)
            else:
                first[i], n_runs[i + 1] = start[i], 1
        base = np.cumsum(n_runs)
        # Connections in the order of their departures, by counting.
        counts[:] = 0
        n = 0
        of_link, of_run, departs = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
        for sweep in range(2):
            for k in range(links.shape[0]):
                i = links[k, 0]
                for run in range(n_runs[i + 1]):
                    when = first[i] + run * headway[i] + links[k, 1]
                    if when < moment or when > last:
                        continue
                    if sweep == 0:
                        counts[when + 1] += 1
                    else:
                        of_link[counts[when]], of_run[counts[when]] = k, base[i] + run
                        departs[counts[when]] = when
                        counts[when] += 1
            if sweep == 0:
                for when in range(last + 1):
                    counts[when + 1] += counts[when]
                n = counts[last + 1]
                of_link, of_run, departs = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
        for origin in range(n_origins):
            now = moment + 60 * rng.integers(0, n_departures)
            ready = np.full(n_stops, NEVER)
            best = np.full(n_stops, NEVER)
            for s in range(seed_indptr[origin], seed_indptr[origin + 1]):
                ready[seeds[s, 0]] = now + seeds[s, 1]
            changed = True
            while changed:
                changed = False
                aboard = np.zeros(base[-1], np.bool_)
                for c in range(np.searchsorted(departs, now), n):
                    if departs[c] > now + limit:
                        break
                    k, run = of_link[c], of_run[c]
                    if not aboard[run]:
                        if not links[k, 5] or ready[links[k, 3]] > departs[c]:
                            continue
                        aboard[run] = True
                    arrives = departs[c] - links[k, 1] + links[k, 2]
                    stop = links[k, 4]
                    if links[k, 6] and arrives < best[stop]:
                        best[stop] = arrives
                        changed = True
                        ready[stop] = min(ready[stop], arrives + change[stop])
                        for w in range(walk_indptr[stop], walk_indptr[stop + 1]):
                            ready[walks[w, 1]] = min(ready[walks[w, 1]], arrives + walks[w, 2])
            for stop in range(n_stops):
                if best[stop] < NEVER:
                    found[origin, draw, stop] = best[stop] - now
    return found


def with_all_boardings(lines: Lines, oracle: DoorOracle, seeds: dict[int, float]) -> dict[int, float]:
    """Return the earliest arrivals if each boarding of a line waits half its headway, trying all boardings."""
    ready, best = dict(seeds), {}
    start, until, half = lines.start, lines.until, lines.spread / 2
    while ready:
        arrived: dict[int, float] = {}
        for i, calls in enumerate(lines.calls):
            first = calls[0].departure
            for k, call in enumerate(calls[:-1]):
                if call.stop not in ready or not call.can_board:
                    continue
                later = call.departure - first
                if lines.headway[i]:
                    base = max(ready[call.stop], start[i] + later) + half[i] - later
                    if base > until[i]:
                        continue
                elif ready[call.stop] <= call.departure:
                    base = first
                else:
                    continue
                for end in calls[k + 1 :]:
                    when = base + end.arrival - first
                    if end.can_alight and when < best.get(end.stop, math.inf):
                        best[end.stop] = arrived[end.stop] = when
        ready = {}
        for stop, when in arrived.items():
            for end, s in [(stop, oracle.rides.change[stop]), *oracle.rides.walks[stop]]:
                ready[end] = min(ready.get(end, math.inf), when + s)
    return best


def from_door_to_door(oracle: DoorOracle, i: int, at_stops: np.ndarray, limit: int) -> np.ndarray:
    """Return the travel times in milliseconds from an origin to all destinations, inf beyond the limit, by draw."""
    found = np.empty((len(at_stops), len(oracle.ends)))
    for j in range(len(oracle.ends)):
        direct = oracle.direct[i][j]
        times = np.full(len(at_stops), np.inf if direct is None else float(direct))
        for stop, ms in oracle.egress[j].items():
            times = np.minimum(times, np.where(at_stops[:, stop] < NEVER, at_stops[:, stop] * 1000.0 + ms, np.inf))
        found[:, j] = np.where(times <= limit * 1000 + 499, times, np.inf)
    return found


def main() -> int:
    """Print what was compared; return 1 if a percentile is more than four standard errors away, or a mean differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("osm")
    parser.add_argument("--gtfs", required=True)
    parser.add_argument("--moment", required=True)
    parser.add_argument("--origins", type=int, default=5)
    parser.add_argument("--destinations", type=int, default=100)
    parser.add_argument("--limit", type=int, default=3600)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--library-draws", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        feed = by_headway(Path(given.gtfs), Path(folder))
        osm = grid(Path(given.gtfs), Path(folder)) if given.osm == "grid" else given.osm
        network = tl.build_network(osm, gtfs=feed)
    posix = int(resolve_moment(given.moment, network.timezone, name="moment").timestamp())
    points = random_points(network, given.origins, 1), random_points(network, given.destinations, 2)
    few, many = (gpd.GeoSeries.from_xy(*each, crs="EPSG:4326") for each in points)
    begin, end = posix - 3600, posix + WINDOW_S + given.limit
    oracle = DoorOracle(network, as_transportation("public_transport"), *points, begin, end)
    lines = Lines(network, oracle, begin, end)
    print(
        f"{Path(given.gtfs).parent.name}: {int((lines.headway > 0).sum())} lines by headway and "
        f"{int((lines.headway == 0).sum())} trips with times, {network.timetable.n_stops} stops",
        flush=True,
    )
    how: dict[str, Any] = {"travel_time": given.limit, "departure_time": given.moment}
    failed = drawn(given, network, oracle, lines, few, many, posix - begin, how)
    return int(failed + averaged(given, network, oracle, lines, few, many, posix - begin, how) > 0)


def drawn(
    given: Any, network: tl.Network, oracle: DoorOracle, lines: Lines, few: Any, many: Any, moment: int, how: Any
) -> int:
    """Compare random headways; return the number of percentiles more than four standard errors away."""
    random = {"type": "public_transport", "headways": "random", "headway_draws": given.library_draws,
              "headway_seed": given.seed}  # fmt: skip
    cpu = time.process_time()
    got = tl.time_filter(
        network, few, many, transportation=random, window=WINDOW_S, percentiles=list(PERCENTS), properties=["share"],
        **how,
    )  # fmt: skip
    ours = time.process_time() - cpu
    seeds = [(stop, math.ceil(ms / 1000)) for reached in oracle.access for stop, ms in reached.items()]
    seed_indptr = np.cumsum([0, *map(len, oracle.access)])
    cpu = time.process_time()
    line = np.stack([lines.start, lines.until, lines.headway, lines.spread])
    rng = np.random.default_rng(given.seed + 1)
    at_stops = plain_draws(
        rng, given.draws, line, lines.links, lines.walks, lines.walk_indptr, lines.change,
        np.array(seeds, np.int64).reshape(-1, 2), seed_indptr, moment, WINDOW_S // 60, given.limit,
    )  # fmt: skip
    plain = time.process_time() - cpu
    n, beyond, away = 0, {2: 0, 4: 0}, []
    shares, n_shares = {2: 0, 4: 0}, 0
    se = math.sqrt(1 / given.draws + 1 / given.library_draws)
    for i in range(len(few)):
        times = np.sort(from_door_to_door(oracle, i, at_stops[i], given.limit), axis=0)
        mine = got[got["origin"] == few.index[i]].set_index("destination")
        for j in range(len(many)):
            row = mine.loc[many.index[j]]
            reached = float(np.isfinite(times[:, j]).mean())
            if reached in (0.0, 1.0) and float(row["share"]) == reached == 0.0:
                continue
            spread = math.sqrt(max(reached * (1 - reached), 1 / given.draws)) * se
            n_shares += 1
            for k in shares:
                shares[k] += abs(float(row["share"]) - reached) > k * spread
            for p in PERCENTS:
                value = row[f"travel_time_p{p}"]
                value = math.inf if pd.isna(value) else float(value) * 1000
                below = np.searchsorted(times[:, j], value - 500) / given.draws
                upto = np.searchsorted(times[:, j], value + 500, side="right") / given.draws
                off = max(0.0, below - p / 100, p / 100 - upto) / (math.sqrt(p / 100 * (1 - p / 100)) * se)
                n += 1
                away.append((off, i, j, p))
                for k in beyond:
                    beyond[k] += off > k
    print(
        f"random, {given.library_draws} draws ({ours:.1f} s) against {given.draws} plain ones ({plain:.0f} s): of {n} "
        f"percentiles {beyond[2]} more than 2 and {beyond[4]} more than 4 standard errors away; "
        f"of {n_shares} shares {shares[2]} and {shares[4]}",
        flush=True,
    )
    print(
        "    most:", ", ".join(f"{off:.1f} (pair {i}-{j}, {p} %)" for off, i, j, p in sorted(away)[:-6:-1]), flush=True
    )
    return beyond[4] + shares[4]


def averaged(
    given: Any, network: tl.Network, oracle: DoorOracle, lines: Lines, few: Any, many: Any, moment: int, how: Any
) -> int:
    """Compare average headways; return the number of pairs that differ by more than a second."""
    means = {"type": "public_transport", "headways": "average"}
    got = tl.time_filter(network, few, many, transportation=means, form="matrix", **how).to_numpy(float)
    differs = reached = 0
    most = 0.0
    for i in range(len(few)):
        seeds = {stop: moment + ms / 1000 for stop, ms in oracle.access[i].items()}
        arrivals = with_all_boardings(lines, oracle, seeds)
        for j in range(len(many)):
            direct = oracle.direct[i][j]
            best = math.inf if direct is None else direct / 1000
            for stop, ms in oracle.egress[j].items():
                best = min(best, arrivals.get(stop, math.inf) - moment + ms / 1000)
            best = best if best <= given.limit + 0.499 else math.nan
            reached += best == best
            if (best == best) != (got[i, j] == got[i, j]):
                differs += 1
            elif best == best:
                off = abs(best - got[i, j])
                differs += off > 1.0
                most = max(most, off if off <= 1.0 else 0.0)
    print(
        f"average: {got.size} pairs, {reached} reached, {differs} differ by more than 1 s, the others by up to "
        f"{most:.2f} s"
    )
    return differs


if __name__ == "__main__":
    sys.exit(main())
