"""
Read, save, load and query the timetables of Porto Alegre and New York, and check how many trips they run.

Usage: python benchmarks/timetable.py DATA_FOLDER [--repeats 5]
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from traveltime_lab.readers.gtfs.feed import read_timetable
from traveltime_lab.transit.calendar import day_origin
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.timetable_file import from_tables, to_tables
from traveltime_lab.transit.trip_instances import trip_table

#: Feeds, date, hours, and the trips of each feed that day as the data's README has them.
CITIES: dict[str, tuple[tuple[str, ...], dt.date, tuple[int, int], tuple[int, ...]]] = {
    "Porto Alegre, a day": (
        ("porto_alegre/gtfs_bus_full", "porto_alegre/gtfs_rail"), dt.date(2019, 5, 14), (0, 24), (8520, 529),
    ),
    "New York, a morning": (
        tuple(f"bench/nyc/gtfs_{name}" for name in ("bus_bk", "bus_bx", "bus_m", "bus_qns", "lirr", "subway")),
        dt.date(2026, 10, 20), (7, 10), (13371, 9709, 8575, 7603, 945, 8497),
    ),
}  # fmt: skip


def main() -> None:
    """Print one line per job: median seconds and seconds of processor time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    warm_up = trip_table(read_timetable(arguments.data / "porto_alegre/gtfs_rail.zip"), 1557835200, 1557838800)
    print(f"compiled with {warm_up.instance_trip.size} runs")
    for city, (names, date, hours, expected) in CITIES.items():
        paths = [arguments.data / f"{name}.zip" for name in names]
        timetable = timed(f"{city}: read", 1, lambda paths=paths: read_timetable(paths))
        print(f"{timetable!r}, {timetable.arrival.size:,} calls")
        counts = timed(f"{city}: trips of the day", arguments.repeats, lambda t=timetable, d=date: t.trips_per_day(d))
        assert tuple(counts["trips"]) == expected, (city, counts)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "timetable.arrow"
            save(timetable, path)
            print(f"{city}: saved, {path.stat().st_size / 1e6:.0f} MB")
            loaded = timed(f"{city}: load", arguments.repeats, lambda path=path: load(path))
            begin = day_origin(date.toordinal(), timetable.zones[0])
            table = timed(
                f"{city}: table of {hours[0]} to {hours[1]} o'clock", arguments.repeats,
                lambda t=loaded, b=begin, h=hours: trip_table(t, b + h[0] * 3600, b + h[1] * 3600),
            )  # fmt: skip
            print(
                f"{table.instance_trip.size:,} trip instances in {table.instance_indptr.size - 1:,} patterns, "
                f"{table.arrival.size:,} stop times"
            )


def timed(label: str, repeats: int, run: Callable[[], Any]) -> Any:
    """Run something and print its median time."""
    walls, processors = [], []
    for _ in range(repeats):
        wall, processor = time.perf_counter(), time.process_time()
        result = run()
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    print(f"{label}: {statistics.median(walls):.4f} s, processor {statistics.median(processors):.4f} s")
    return result


def save(timetable: Timetable, path: Path) -> None:
    """Write one row of lists, as a saved network has them."""
    columns, meta = to_tables(timetable)
    lists = {
        name: pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), values)
        for name, values in columns.items()
    }
    table = pa.table(lists).replace_schema_metadata({"meta": json.dumps(meta)})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def load(path: Path) -> Timetable:
    """Map what `save` wrote."""
    with pa.memory_map(str(path), "rb") as mapped:
        table = pa.ipc.open_file(mapped).read_all()
    columns = {name: table.column(name).chunk(0).values for name in table.column_names}
    return from_tables(columns, json.loads(table.schema.metadata[b"meta"]))


if __name__ == "__main__":
    main()
