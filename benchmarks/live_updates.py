"""
Measure how long live updates of a timetable take, and how much memory a network with updates has of its own.

Usage: python benchmarks/live_updates.py FEED [FEED ...] [--date 2026-10-20] [--trips 1000]

The message has times for the rest of random trips of the day, from a random stop on. Times are processor time of the
fastest of several runs.
"""

from __future__ import annotations

import argparse
import datetime as dt
import gc
import json
import random
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from traveltime_lab.readers.gtfs.feed import read_timetable
from traveltime_lab.realtime.growing import Growing
from traveltime_lab.realtime.json_messages import to_bytes
from traveltime_lab.realtime.updates import read_updates, with_updates
from traveltime_lab.transit.calendar import day_origin
from traveltime_lab.transit.stop_sequences import StopSequences
from traveltime_lab.transit.timetable import Timetable


def messages(timetable: Timetable, date: dt.date, n_trips: int) -> dict[str, bytes]:
    """Return a message for each feed."""
    hot, dice = timetable.hot, random.Random(1)
    runs = np.flatnonzero(timetable.services_on(date)[hot.trip_service] & ~hot.is_repeated).tolist()
    names, trip_ids = timetable.feeds["name"].tolist(), timetable.trips["trip_id"].tolist()
    entities: dict[str, list[Any]] = {}
    for trip in dice.sample(runs, min(n_trips, len(runs))):
        origin = day_origin(date.toordinal(), timetable.zones[hot.trip_zone[trip]])
        begin, delay = int(timetable.trip_indptr[trip]), dice.randrange(-60, 900)
        sequence = StopSequences.of_trip(timetable, trip)
        stops = [
            {
                "stop_sequence": sequence[k],
                "arrival": {"time": origin + int(timetable.arrival[begin + k]) + delay},
                "departure": {"time": origin + int(timetable.departure[begin + k]) + delay},
            }
            for k in range(dice.randrange(len(sequence)), len(sequence))
        ]
        named = {"trip_id": trip_ids[trip], "start_date": date.strftime("%Y%m%d")}
        feed = entities.setdefault(names[hot.trip_feed[trip]], [])
        feed.append({"id": str(len(feed)), "trip_update": {"trip": named, "stop_time_update": stops}})
    header = {"gtfs_realtime_version": "2.0"}
    return {
        feed: to_bytes(json.dumps({"header": header, "entity": rows}).encode(), feed) for feed, rows in entities.items()
    }


def n_bytes(timetable: Timetable) -> int:
    """Return the bytes of arrays and tables of a timetable."""
    values = [getattr(timetable, item.name) for item in fields(Timetable)]
    arrays = sum(value.nbytes for value in values if isinstance(value, np.ndarray))
    tables = sum(int(value.memory_usage(deep=True).sum()) for value in values if isinstance(value, pd.DataFrame))
    return arrays + tables + (0 if timetable.sequences is None else timetable.sequences.numbers.nbytes)


def memory_mb() -> float:
    """Return the memory of this process, in which shared pages count in part (Linux)."""
    gc.collect()
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("feed", nargs="+")
    parser.add_argument("--date", type=dt.date.fromisoformat, default=dt.date(2026, 10, 20))
    parser.add_argument("--trips", type=int, default=1000)
    arguments = parser.parse_args()
    timetable = read_timetable(arguments.feed)
    content = messages(timetable, arguments.date, arguments.trips)
    print(timetable, f"{timetable.arrival.size:,} stop times", f"{sum(map(len, content.values())):,} bytes", sep="\n")
    seconds: list[tuple[float, float]] = []
    growing, networks = Growing(), []
    before = 0.0
    for number in range(21):
        begin = time.process_time()
        read = read_updates(content, None)
        middle = time.process_time()
        updated, report, _ = with_updates(timetable, read, growing)
        seconds.append((middle - begin, time.process_time() - middle))
        networks.append(updated)
        # The first one also fills caches of the timetable.
        before = before if number else memory_mb()
    print(report)
    best = min(seconds[1:], key=sum)
    print(f"read: {best[0]:.3f} s, apply: {best[1]:.3f} s")
    each = (memory_mb() - before) / (len(networks) - 1)
    print(f"planned timetable: {n_bytes(timetable) / 1e6:,.0f} MB; each one with updates: {each:,.1f} MB")


if __name__ == "__main__":
    main()
