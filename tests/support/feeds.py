"""
Small timetable feeds written in the test that uses them, and a slow, obvious reading of any feed.

`slow_runs` is the twin of the reader and of the trip table: csv rows, dictionaries and datetimes, one run at a time.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
import zipfile
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.trip_table import TripTable

EVERY_DAY = """
    service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
    daily,1,1,1,1,1,1,1,20260101,20261231
"""
#: A feed of one line with three stops a kilometre apart, one trip from 8:00.
LINE = {
    "agency": """
        agency_id,agency_name,agency_url,agency_timezone
        A,Transit,https://example.org,UTC
    """,
    "stops": """
        stop_id,stop_name,stop_lat,stop_lon
        a,Ash,0.5,0.50
        b,Birch,0.5,0.51
        c,Cedar,0.5,0.52
    """,
    "routes": """
        route_id,route_short_name,route_type
        R,1,3
    """,
    "calendar": EVERY_DAY,
    "trips": """
        route_id,service_id,trip_id
        R,daily,t
    """,
    "stop_times": """
        trip_id,stop_sequence,stop_id,arrival_time,departure_time
        t,1,a,8:00:00,8:00:00
        t,2,b,8:10:00,8:11:00
        t,3,c,8:20:00,8:20:00
    """,
}


def text(block: str) -> str:
    """Return the lines of a block without their indentation and empty lines."""
    return "".join(f"{line.strip()}\n" for line in block.splitlines() if line.strip())


def feed(folder: Path, name: str = "feed.zip", /, **files: str | bytes | None) -> Path:
    """
    Write a feed: `LINE` with some files replaced or, for None, left out; bytes are written as they are.
    """
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for file, content in {**LINE, **files}.items():
            if content is not None:
                archive.writestr(f"{file}.txt", text(content) if isinstance(content, str) else content)
    return path


def posix(moment: str, zone: str = "UTC") -> int:
    """Return the POSIX second of an ISO date and time in a zone."""
    return int(dt.datetime.fromisoformat(moment).replace(tzinfo=ZoneInfo(zone)).timestamp())


Run = tuple[str, int, tuple[tuple[Any, ...], ...]]


def runs_of(timetable: Timetable, table: TripTable) -> Counter[Run]:
    """Return the runs of a trip table in plain words: trip_id, service date, calls with POSIX times."""
    stop_ids, trip_ids = timetable.stops["stop_id"].tolist(), timetable.trips["trip_id"].tolist()
    runs: Counter[Run] = Counter()
    for pattern in range(table.instance_indptr.size - 1):
        begin, stop = table.pattern_indptr[pattern : pattern + 2]
        n = stop - begin
        for r, run in enumerate(range(table.instance_indptr[pattern], table.instance_indptr[pattern + 1])):
            calls = []
            for k in range(n):
                at = table.time_indptr[pattern] + r * n + k
                calls.append(
                    (
                        stop_ids[table.pattern_stops[begin + k]],
                        int(table.arrival[at]) + table.reference,
                        int(table.departure[at]) + table.reference,
                        bool(table.can_board[begin + k]),
                        bool(table.can_alight[begin + k]),
                    )
                )
            runs[trip_ids[table.instance_trip[run]], int(table.instance_date[run]), tuple(calls)] += 1
    return runs


def stays_of(timetable: Timetable, table: TripTable) -> set[tuple[tuple[str, int], tuple[str, int]]]:
    """Return the links of a trip table in plain words."""
    trip_ids = timetable.trips["trip_id"].tolist()
    name = [(trip_ids[trip], int(date)) for trip, date in zip(table.instance_trip, table.instance_date, strict=True)]
    return {(name[i], name[int(after)]) for i, after in enumerate(table.stay_instance) if after >= 0}


def check_invariants(table: TripTable) -> None:
    """Assert what the kernels rely on."""
    assert table.instance_indptr[0] == table.time_indptr[0] == table.pattern_indptr[0] == 0
    assert table.instance_indptr[-1] == table.instance_trip.size == table.instance_date.size == table.stay_instance.size
    assert table.time_indptr[-1] == table.arrival.size == table.departure.size
    for pattern in range(table.instance_indptr.size - 1):
        n = int(table.pattern_indptr[pattern + 1] - table.pattern_indptr[pattern])
        n_runs = int(table.instance_indptr[pattern + 1] - table.instance_indptr[pattern])
        assert n >= 2 and n_runs >= 1
        window = slice(table.time_indptr[pattern], table.time_indptr[pattern + 1])
        arrival, departure = table.arrival[window].reshape(n_runs, n), table.departure[window].reshape(n_runs, n)
        assert (np.diff(arrival, axis=0) >= 0).all() and (np.diff(departure, axis=0) >= 0).all()
        assert (departure >= arrival).all() and (arrival[:, 1:] >= departure[:, :-1]).all()


def _seconds(value: str) -> int | None:
    if not value:
        return None
    hours, minutes, seconds = value.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds)


def _metres(a: dict[str, str], b: dict[str, str]) -> float:
    phi_a, phi_b = math.radians(float(a["stop_lat"])), math.radians(float(b["stop_lat"]))
    half = math.radians(float(b["stop_lon"]) - float(a["stop_lon"])) / 2
    h = math.sin((phi_b - phi_a) / 2) ** 2 + math.cos(phi_a) * math.cos(phi_b) * math.sin(half) ** 2
    return 2 * 6371008.8 * math.asin(math.sqrt(h))


def _filled(rows: list[dict[str, str]], stops: dict[str, dict[str, str]]) -> list[tuple[int, int]]:
    """Return arrival and departure of the calls of a trip, missing ones shared out."""
    times = []
    for row in rows:
        arrival, departure = _seconds(row["arrival_time"]), _seconds(row["departure_time"])
        times.append((departure if arrival is None else arrival, arrival if departure is None else departure))
    timed = [i for i, (arrival, _) in enumerate(times) if arrival is not None]
    for a, b in pairwise(timed):
        along = [row.get("shape_dist_traveled", "") for row in rows[a : b + 1]]
        if all(along) and float(along[0]) < float(along[-1]) and sorted(along, key=float) == along:
            place = [float(value) - float(along[0]) for value in along]
        else:
            place = [0.0]
            for i in range(a, b):
                place.append(place[-1] + _metres(stops[rows[i]["stop_id"]], stops[rows[i + 1]["stop_id"]]))
        if not place[-1] > 0:
            place = [float(i) for i in range(b - a + 1)]
        span = times[b][0] - times[a][1]
        for i in range(a + 1, b):
            moment = min(times[a][1] + math.floor(span * (place[i - a] / place[-1]) + 0.5), times[b][0])
            times[i] = (moment, moment)
    return times


class SlowFeed:
    """A feed as dictionaries; reads only feeds without faults, and of a large one only the service dates given."""

    def __init__(self, path: Path, dates: set[str] | None = None) -> None:
        with zipfile.ZipFile(path) as archive:
            self.files = {
                name.removesuffix(".txt"): list(csv.DictReader(io.StringIO(archive.read(name).decode("utf-8-sig"))))
                for name in archive.namelist()
            }
        self.stops = {row["stop_id"]: row for row in self.files["stops"]}
        self.trips = {row["trip_id"]: row for row in self.files["trips"]}
        if dates:
            on = {name for day in dates for name in self.runs_on(dt.datetime.strptime(day, "%Y%m%d").date())}
            self.trips = {trip: row for trip, row in self.trips.items() if row["service_id"] in on}
        self.zone = ZoneInfo(self.files["agency"][0]["agency_timezone"])
        rows = defaultdict(list)
        for row in self.files["stop_times"]:
            if row["trip_id"] in self.trips:
                rows[row["trip_id"]].append(row)
        self.calls = {}
        for trip, own in rows.items():
            own.sort(key=lambda row: int(row["stop_sequence"]))
            self.calls[trip] = [
                (
                    row["stop_id"], *times, row.get("pickup_type", "") != "1", row.get("drop_off_type", "") != "1",
                )
                for row, times in zip(own, _filled(own, self.stops), strict=True)
            ]  # fmt: skip
        self.repeats = defaultdict(list)
        for row in self.files.get("frequencies", []):
            self.repeats[row["trip_id"]].append(row)

    def runs_on(self, date: dt.date) -> set[str]:
        """Return the services of a date."""
        day = date.strftime("%Y%m%d")
        on = {
            row["service_id"]
            for row in self.files.get("calendar", [])
            if row["start_date"] <= day <= row["end_date"] and row[date.strftime("%A").lower()] == "1"
        }
        for row in self.files.get("calendar_dates", []):
            if row["date"] == day:
                (on.add if row["exception_type"] == "1" else on.discard)(row["service_id"])
        return on

    def origin(self, date: dt.date) -> int:
        """Return noon minus 12 hours."""
        return int(dt.datetime(date.year, date.month, date.day, 12, tzinfo=self.zone).timestamp()) - 43200

    def runs(self, begin: int, end: int) -> Counter[Run]:
        """Return the runs that overlap an interval of POSIX seconds."""
        found: Counter[Run] = Counter()
        today = dt.datetime.fromtimestamp(begin, self.zone).date()
        for days in range(-4, (end - begin) // 86400 + 3):
            date = today + dt.timedelta(days=days)
            on = self.runs_on(date)
            for trip, calls in self.calls.items():
                if self.trips[trip]["service_id"] not in on:
                    continue
                shifts = [0]
                if trip in self.repeats:
                    shifts = [
                        start - calls[0][2]
                        for row in self.repeats[trip]
                        for start in range(
                            _seconds(row["start_time"]), _seconds(row["end_time"]), int(row["headway_secs"])
                        )
                    ]
                for shift in shifts:
                    add = self.origin(date) + shift
                    run = tuple((stop, a + add, d + add, *may) for stop, a, d, *may in calls)
                    if run[-1][1] >= begin and run[0][2] < end:
                        found[trip, date.toordinal(), run] += 1
        return found

    def stays(self, begin: int, end: int, most_m: float) -> set[tuple[tuple[str, int], tuple[str, int]]]:
        """Return the pairs of runs of one block, one after the other, that overlap an interval."""
        found = set()
        here = {(trip, date) for trip, date, _ in self.runs(begin, end) if trip not in self.repeats}
        for date in {date for _, date in here}:
            on = self.runs_on(dt.date.fromordinal(date))
            blocks = defaultdict(list)
            for trip, row in self.trips.items():
                if row.get("block_id") and row["service_id"] in on and trip not in self.repeats and trip in self.calls:
                    blocks[row["block_id"]].append(trip)
            for trips in blocks.values():
                trips.sort(key=lambda trip: (self.calls[trip][0][2], self.calls[trip][-1][1]))
                for a, b in pairwise(trips):
                    near = _metres(self.stops[self.calls[a][-1][0]], self.stops[self.calls[b][0][0]]) <= most_m
                    in_order = self.calls[b][0][2] >= self.calls[a][-1][1]
                    if near and in_order and (a, date) in here and (b, date) in here:
                        found.add(((a, date), (b, date)))
        return found
