"""
Speed of the timetable searches on real feeds: one origin to all stops, windows, matrices, both directions of time.

Run: ``python benchmarks/bench_raptor.py DATA [city ...]`` with DATA the folder of extracts and feeds. Footpaths are
crow flies times 1.3 at 4.5 km/h up to 600 s, access and egress the same up to 1,200 s: assumed, to have work of the
right size without streets. Figures are processor seconds of the one thread that works, so that a busy machine disturbs
them little: the median over origins of the least of three repetitions after a warm-up. With ``--peer PYTHON``, an
interpreter that has cafein, both search from the same stops over the same footpaths, one after the other.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import subprocess
import tempfile
import time
import zoneinfo
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from traveltime_lab._arrays import indptr_of
from traveltime_lab.kernels.records import StopLinks
from traveltime_lab.kernels.transit import range_raptor, raptor, search_state
from traveltime_lab.kernels.transit.access import gather
from traveltime_lab.kernels.transit.range_raptor import Seeds
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.readers.gtfs.feed import read_timetable
from traveltime_lab.transit.raptor import TransitSearch
from traveltime_lab.transit.search_options import TransitOptions
from traveltime_lab.transit.stop_reach import StopReach
from traveltime_lab.transit.transfers import Footpaths, merge_transfers
from traveltime_lab.transit.trip_instances import trip_table

CITIES = {
    "porto_alegre": (("porto_alegre/gtfs_bus_full.zip", "porto_alegre/gtfs_rail.zip"), "2019-05-14T08:00"),
    "nyc": (
        tuple(f"bench/nyc/gtfs_{name}.zip" for name in ("bus_bk", "bus_bx", "bus_m", "bus_qns", "lirr", "subway")),
        "2026-10-21T08:00",
    ),
}
#: Metres per second along the crow line: 4.5 km/h with a detour of 1.3.
CROW_MPS = 1.25 / 1.3
HOURS = 4


def metres(lng: np.ndarray, lat: np.ndarray) -> np.ndarray:
    """Return places on a plane."""
    k = np.cos(np.radians(np.nanmean(lat)))
    return np.column_stack([np.asarray(lng) * 111_320.0 * k, np.asarray(lat) * 110_574.0])


def near(points: np.ndarray, stops: np.ndarray, most_s: int) -> StopLinks:
    """Return the stops within a walk of each point."""
    lists = cKDTree(stops).query_ball_point(points, most_s * CROW_MPS)
    indptr = indptr_of([len(found) for found in lists])
    flat = np.concatenate([np.array(found, np.int32) for found in lists])
    away = np.linalg.norm(stops[flat] - np.repeat(points, np.diff(indptr), axis=0), axis=1)
    return StopLinks(indptr, flat, np.minimum(np.ceil(away / CROW_MPS), most_s).astype(np.int32))


def least(job: Callable[[], Any], repeat: int = 3) -> float:
    """Return the processor seconds of the fastest of a few runs after a warm-up."""
    job()
    times = []
    for _ in range(repeat):
        begin = time.thread_time()
        job()
        times.append(time.thread_time() - begin)
    return min(times)


def target_times(
    search: TransitSearch, access: StopLinks, moment_s: int, egress: StopLinks, options: TransitOptions, **how: bool
) -> np.ndarray:
    """Return the times between points and targets, by the times of stops."""
    times = search.stop_times(access, moment_s, options, **how)
    out = np.full((access.n_points, egress.n_points), NEVER, np.int32)
    for row, at_stops in zip(out, times, strict=True):
        gather(at_stops, 0, options.travel_limit, egress, row)
    return out


def one_to_all(
    search: TransitSearch, links: StopLinks, moment_s: int, options: TransitOptions, is_arrival: bool
) -> str:
    """Return the time of a search and the number of stops it reaches."""
    lines = search.lines(is_arrival)
    state = search_state.new_state(lines, 1)
    start = np.int32(-moment_s if is_arrival else moment_s)
    limits = (int(start) + options.travel_limit, options.max_rides, options.change_delay)

    def run(stops: np.ndarray, times: np.ndarray) -> np.ndarray:
        return raptor.search(lines, state, stops, times + start, *limits)

    origins = [links.of(i) for i in range(20)]
    took = [least(lambda o=origin: run(*o)) for origin in origins]
    n_reached = [(run(*origin) <= limits[0]).sum() for origin in origins]
    return f"{np.median(took) * 1e3:.2f} ms ({np.median(n_reached):.0f} reached)"


def window(search: TransitSearch, links: StopLinks, moment_s: int, options: TransitOptions, is_arrival: bool) -> str:
    """Return the times of an hour by minutes and of the union of its journeys."""
    lines = search.lines(is_arrival)
    state = range_raptor.window_state(lines, options.max_rides)
    start = -moment_s if is_arrival else moment_s
    limits = options.limits
    minutes = np.arange(start + 3540, start - 1, -60, dtype=np.int32)
    rows = np.empty((60, search.table.n_stops), np.int32)
    union = np.empty(search.table.n_stops, np.int32)
    by_minute, by_event, n_events = [], [], []

    def run_minutes(seeds: range_raptor.Seeds) -> None:
        search_state.reset(state)
        range_raptor.window_stops(lines, state, seeds, minutes, limits, rows)

    def run_events(seeds: range_raptor.Seeds) -> int:
        events = range_raptor.window_starts(lines, seeds, start, start + 3600, 1)
        search_state.reset(state)
        union.fill(NEVER)
        range_raptor.window_least(lines, state, seeds, events, limits, union)
        return events.size

    for i in range(9):
        seeds = Seeds(*links.of(i))
        by_minute.append(least(lambda s=seeds: run_minutes(s)))
        by_event.append(least(lambda s=seeds: run_events(s)))
        n_events.append(run_events(seeds))
    return (
        f"60 starts {np.median(by_minute) * 1e3:.1f} ms, union over {np.median(n_events):.0f} starts "
        f"{np.median(by_event) * 1e3:.1f} ms"
    )


def against_peer(
    python: str, feeds: list[str], timetable: Any, search: TransitSearch, moment: str, moment_s: int
) -> None:
    """Print times from stops beside those of cafein, with the same footpaths and at most four rides."""
    table = search.table
    ids = timetable.stops["stop_id"].astype(str)
    full = (timetable.stops["feed_idx"].astype(str) + ":" + ids).to_numpy()
    walk_from = np.repeat(np.arange(table.n_stops), np.diff(table.transfer_indptr))
    origins = np.random.default_rng(3).choice(np.unique(table.pattern_stops), 20)
    query = {
        "feeds": feeds,
        "footpaths": list(
            zip(full[walk_from].tolist(), full[table.transfer_stop].tolist(), table.transfer_time.tolist(), strict=True)
        ),
        "origins": full[origins].tolist(),
        "moment": moment.replace("T", " "),
        "rides": 4,
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "question.json").write_text(json.dumps(query))
        script = Path(__file__).parent / "peers" / "transit_cafein.py"
        done = subprocess.run([python, str(script), folder], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    answer = json.loads(done.stdout)
    options = TransitOptions(4 * 3600, 3)
    for way, is_arrival in (("departure", False), ("arrival", True)):
        lines = search.lines(is_arrival)
        state = search_state.new_state(lines, 1)
        start = np.int32(-moment_s if is_arrival else moment_s)
        took, ratios = [], []
        for origin, times in zip(origins, answer[way]["times"], strict=True):
            walks = slice(lines.transfer_indptr[origin], lines.transfer_indptr[origin + 1])
            seeds = np.append(lines.transfer_stop[walks], np.int32(origin))
            seconds = np.append(lines.transfer_time[walks], np.int32(0)) + start
            limits = (int(start) + options.travel_limit, options.max_rides, 0)
            took.append(least(lambda a=(lines, state, seeds, seconds, *limits): raptor.search(*a)))
            rides = raptor.search(lines, state, seeds, seconds, *limits)
            found = rides.astype(float)
            for stop in np.flatnonzero(rides < limits[0]):  # the peer walks on from the last ride
                ends = slice(lines.transfer_indptr[stop], lines.transfer_indptr[stop + 1])
                ahead = lines.transfer_stop[ends]
                found[ahead] = np.minimum(found[ahead], rides[stop] + lines.transfer_time[ends])
            np.minimum.at(found, seeds, seconds)
            both = [(times[full[i]], found[i] - start) for i in np.flatnonzero(found < limits[0]) if full[i] in times]
            ratios.extend(ours / theirs for theirs, ours in both if theirs)
        theirs = np.median(answer[way]["took_s"])
        low, middle, high = np.percentile(ratios, [5, 50, 95])
        # The peer's arrival searches give a journey's own length, without the wait at its end: no ratio for them.
        spread = "" if is_arrival else f"; our times to theirs {low:.2f} / {middle:.2f} / {high:.2f} (5, 50, 95 %)"
        print(f"  from stops, {way}: {np.median(took) * 1e3:.2f} ms, cafein {theirs * 1e3:.2f} ms{spread}")


def bench(data: Path, city: str, peer: str | None) -> None:
    """Print the figures of a city."""
    names, moment = CITIES[city]
    begin = time.perf_counter()
    timetable = read_timetable([data / name for name in names])
    print(f"{city}: {len(timetable.stops):,} stops, read in {time.perf_counter() - begin:.1f} s")
    stops = metres(timetable.column("stops", "stop_lon"), timetable.column("stops", "stop_lat"))
    zone = zoneinfo.ZoneInfo(timetable.zones[0])
    at = int(dt.datetime.fromisoformat(moment).replace(tzinfo=zone).timestamp())
    begin = time.perf_counter()
    walks = near(stops, stops, 600)
    changes = merge_transfers(timetable, Footpaths(walks.indptr, walks.stops, walks.ms))
    table = trip_table(timetable, at - 3600 * HOURS, at + 3600 * HOURS, changes=changes)
    print(
        f"  {table.instance_trip.size:,} trip instances, {table.instance_indptr.size - 1:,} patterns, "
        f"{table.arrival.size:,} stop times, {changes.stop.size:,} footpaths, "
        f"{(table.stay_instance >= 0).sum():,} stays, {time.perf_counter() - begin:.2f} s"
    )
    begin = time.perf_counter()
    search = TransitSearch(table)
    search.lines(True)
    print(f"  ready for both directions in {time.perf_counter() - begin:.3f} s")
    moment_s = at - table.reference
    if peer:
        against_peer(peer, [str(data / name) for name in names], timetable, search, moment, moment_s)

    random = np.random.default_rng(7)
    served = np.unique(table.pattern_stops)
    places = stops[random.choice(served, 100)] + random.normal(0, 150, (100, 2))
    links = near(places, stops, 1200)
    print(f"  {np.diff(links.indptr).mean():.0f} stops within 20 minutes' walk on average")

    for label, options in (
        ("2 h, any changes", TransitOptions(7200)),
        ("2 h, 3 changes", TransitOptions(7200, 3)),
        ("1 h, any changes", TransitOptions(3600)),
    ):
        leaving, arriving = (one_to_all(search, links, moment_s, options, way) for way in (False, True))
        print(f"  one to all stops, {label}: leaving {leaving}, arriving {arriving}")
    for label, options in (("any changes", TransitOptions(7200)), ("3 changes", TransitOptions(7200, 3))):
        leaving, arriving = (window(search, links, moment_s, options, way) for way in (False, True))
        print(f"  60 minutes, {label}: leaving {leaving}, arriving {arriving}")

    doors = stops[random.choice(served, 100_000)] + random.normal(0, 300, (100_000, 2))
    options = TransitOptions(7200, 3)
    ends = near(doors[:100], stops, 1200)
    print(f"  100 x 100: {least(lambda: target_times(search, links, moment_s, ends, options)):.3f} s, ", end="")
    arriving = least(lambda: target_times(search, ends, moment_s, links, options, is_arrival=True))
    print(f"arriving {arriving:.3f} s, ", end="")
    best = least(lambda: search.window_best(links.rows(0, 10), moment_s, 3600, ends, 5, options), 1)
    print(f"10 x 100 best five of 60 minutes {best:.3f} s")
    one = links.rows(0, 1)
    ends = near(doors, stops, 1200)
    reach = StopReach(ends, table.n_stops)
    by_door = least(lambda: target_times(search, one, moment_s, ends, options))
    print(f"  1 x 100,000 doors ({ends.stops.size:,} links): {by_door * 1e3:.1f} ms")
    when = moment_s + 60 * np.arange(60)
    times = search.window_times(one.of(0), when, reach, options)
    out = np.empty((times.shape[1], 3), np.int32)
    percents = np.array([20.0, 50.0, 80.0])
    by_minute = least(lambda: search.window_times(one.of(0), when, reach, options))
    sorting = least(lambda: range_raptor.percentiles(times, percents, out))
    print(f"  1 x 100,000 doors at 60 minutes {by_minute:.3f} s, three percentiles {sorting:.3f} s")
    stop_list = served[:1000]
    took = least(lambda: search.journeys(one.of(0), moment_s, stop_list, options))
    print(f"  rides of 1 x 1,000 stops {took * 1e3:.1f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("city", nargs="*", default=list(CITIES))
    parser.add_argument("--peer", help="a Python that has cafein")
    given = parser.parse_args()
    for name in given.city:
        bench(given.data, name, given.peer)
