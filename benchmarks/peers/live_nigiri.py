"""
Live updates beside nigiri, the engine of MOTIS: the same GTFS Realtime message, arrivals from stop to stop.

pynigiri has wheels on the package index; it goes into an environment of its own, as it needs nothing of ours::

    uv venv NIGIRI && uv pip install --python NIGIRI/bin/python --only-binary :all: pynigiri
    python live_nigiri.py gtfs_20190316.zip trip_updates_20190316T0745.pb --moment 2019-03-16T07:45
        --python NIGIRI/bin/python

Without a message, one is made up for trips of the day: delays at a stop, times for all stops, skipped stops, cancelled
trips and trips with a delay as a whole, each of a fifth of `--trips` trips.

Both get the same feed, message, stops and departures. nigiri counts in minutes, cuts seconds off, and has transfers of
its own (two minutes at a stop, walks between the stops of a station), so that rides without a transfer are compared to
the minute, planned and with the updates, and the journeys with transfers only by how many of them the updates change.
Half of the origins are stops of updated trips.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import datetime as dt
import io
import json
import random
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

LIMIT_S = 4 * 3600
#: Kinds of made-up updates.
KINDS = ["delay", "times", "skipped", "cancelled", "whole"]
#: Seconds after the moment within which departures are.
WITHIN_S = 2 * 3600


def with_nigiri(job: dict[str, Any]) -> dict[str, Any]:
    """Return arrivals in POSIX minutes, None where there is no journey, by nigiri; runs in its own environment."""
    import pynigiri

    date = dt.date.fromisoformat(job["date"])
    days = [(date + dt.timedelta(days=n)).isoformat() for n in (-2, 3)]
    options = pynigiri.FinalizeOptions()
    options.merge_dupes_intra_src = options.merge_dupes_inter_src = False
    timetable = pynigiri.load_timetable([pynigiri.TimetableSource("feed", job["feed"])], *days, options)
    live = pynigiri.create_rt_timetable(timetable, dt.datetime.combine(date, dt.time()))
    counts = pynigiri.gtfsrt_update_from_file(timetable, live, pynigiri.SourceIdx(0), "feed", job["message"])
    places = {stop: timetable.find_location(stop) for each in job["queries"] for stop in each[:2]}

    def arrival(origin: str, end: str, minute: int, most: int, *, is_live: bool) -> int | None:
        if places[origin] is None or places[end] is None:
            return None
        query = pynigiri.Query()
        query.start_time = minute
        query.start = [pynigiri.Offset(places[origin], 0, 0)]
        query.destination = [pynigiri.Offset(places[end], 0, 0)]
        query.start_match_mode = query.dest_match_mode = pynigiri.LocationMatchMode.EXACT
        query.max_transfers, query.max_travel_time = most, LIMIT_S // 60
        query.use_start_footpaths = False
        found = pynigiri.route_with_rt(timetable, live, query) if is_live else pynigiri.route(timetable, query)
        ends = [journey.arrival_time for journey in found]
        return min((int(when() if callable(when) else when) for when in ends), default=None)

    names = ("total_entities", "total_entities_success", "trip_resolve_error", "unsupported_schedule_relationship")
    return {
        "counts": {name: getattr(counts, name) for name in names},
        **{
            f"{name} {most}": [arrival(*each, most, is_live=is_live) for each in job["queries"]]
            for name, is_live in (("planned", False), ("live", True))
            for most in (0, 6)
        },
    }


def main() -> None:
    """Print a line for the planned timetable and for that with updates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("feed")
    parser.add_argument("message", nargs="?")
    parser.add_argument("--moment", type=dt.datetime.fromisoformat, required=True)
    parser.add_argument("--python", required=True, help="Python with pynigiri")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--trips", type=int, default=500)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="of made-up updates")
    parser.add_argument("--show", type=int, default=10, help="differences to print")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compare(given, Path(folder))


def compare(given: Any, folder: Path) -> None:
    """Search with both, and print what differs."""
    import numpy as np

    from traveltime_lab.kernels.unreached import NEVER
    from traveltime_lab.readers.gtfs.feed import read_timetable
    from traveltime_lab.realtime.growing import Growing
    from traveltime_lab.realtime.updates import read_updates, with_updates
    from traveltime_lab.transit.calendar import day_origin
    from traveltime_lab.transit.raptor import TransitSearch
    from traveltime_lab.transit.search_options import TransitOptions
    from traveltime_lab.transit.trip_instances import trip_table

    feed = without_blocks(Path(given.feed), folder / "feed.zip")
    planned = read_timetable([feed])
    date = given.moment.date()
    zone = ZoneInfo(planned.zones[0])
    message = (
        Path(given.message)
        if given.message
        else made_up(planned, date, given.trips, given.kinds, folder / "message.pb")
    )
    updated, report, _ = with_updates(planned, read_updates([message], None), Growing())
    table = report.trips if hasattr(report, "trips") else report
    ids = planned.stops["stop_id"].tolist()
    dice = random.Random(1)
    hot = planned.hot
    trips = {name: k for k, name in enumerate(planned.trips["trip_id"].tolist())}
    touched = [trips[name] for name in table["trip_id"] if name in trips]
    today = np.flatnonzero(planned.services_on(date)[hot.trip_service]).tolist()
    begin, origin = int(given.moment.replace(tzinfo=zone).timestamp()), day_origin(date.toordinal(), planned.zones[0])
    queries: list[tuple[str, str, int]] = []
    while len(queries) < given.queries:
        trip = dice.choice(touched if len(queries) % 2 else today)
        stops = stops_of(planned, trip)
        first = dice.randrange(len(stops) - 1)
        last = dice.randrange(first + 1, len(stops))
        departs = origin + int(planned.departure[planned.trip_indptr[trip] + first])
        # Around the departure by the timetable, where an update makes a difference.
        minute = departs // 60 + dice.randrange(-5, 4)
        if begin <= minute * 60 < begin + WITHIN_S:
            queries.append((ids[stops[first]], ids[stops[last]], minute))
    job = {"feed": str(feed), "message": str(message), "date": date.isoformat(), "queries": queries}
    (folder / "job.json").write_text(json.dumps(job), "utf-8")
    subprocess.run(
        [given.python, __file__, "--job", str(folder / "job.json")], check=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    theirs = json.loads((folder / "job.json").read_text("utf-8"))
    print(f"nigiri: {theirs['counts']}")
    print(f"traveltime_lab: {len(table)} updates, {int(table['applied'].sum())} applied")
    place = {stop: k for k, stop in enumerate(ids)}
    for name, timetable in (("planned", planned), ("live", updated)):
        search = TransitSearch(trip_table(timetable, begin - 7200, begin + WITHIN_S + LIMIT_S).in_milliseconds())
        ours: dict[int, list[int | None]] = {}
        for most in (0, 6):
            options = TransitOptions(LIMIT_S * 1000, most, 120_000)
            ours[most] = []
            for origin, end, minute in queries:
                access = np.array([place[origin]], np.int32), np.zeros(1, np.int32)
                at_ms = (minute * 60 - begin + 7200) * 1000
                ms = int(search.stop_times_by_moment(access, [at_ms], options)[0][place[end]])
                ours[most].append(None if ms >= NEVER else minute + ms // 60_000)
        pairs = list(zip(queries, ours[0], theirs[f"{name} 0"], strict=True))
        both = [(mine - other) for _, mine, other in pairs if mine is not None and other is not None]
        differs = [each for each in pairs if each[1] != each[2] and (None in each[1:] or abs(each[1] - each[2]) > 1)]
        print(
            f"{name}, no transfer: {len(pairs)} queries, {len(both)} reached by both, {sum(d == 0 for d in both)} at "
            f"the same minute, {sum(abs(d) == 1 for d in both)} a minute apart, {len(differs)} differ"
        )
        for (origin, end, minute), mine, other in differs[: given.show]:
            clock = dt.datetime.fromtimestamp(minute * 60, zone)
            times = [each and dt.datetime.fromtimestamp(each * 60, zone).strftime("%H:%M") for each in (mine, other)]
            print(f"    {origin} to {end} at {clock:%H:%M}: traveltime_lab {times[0]}, nigiri {times[1]}")
        same = sum(a == b for a, b in zip(ours[6], theirs[f"{name} 6"], strict=True))
        print(f"{name}, with transfers: {same} of {len(queries)} at the same minute")
    changed = sum(a != b for a, b in zip(theirs["planned 0"], theirs["live 0"], strict=True))
    print(f"the updates change {changed} of {len(queries)} answers without a transfer")


def without_blocks(feed: Path, path: Path) -> Path:
    """Write a copy of a feed of which no trip continues another."""
    with zipfile.ZipFile(feed) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as copy:
        for name in source.namelist():
            content = source.read(name)
            if name == "trips.txt":
                rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
                text = io.StringIO()
                table = csv.DictWriter(
                    text, [column for column in rows[0] if column != "block_id"], extrasaction="ignore"
                )
                table.writeheader()
                table.writerows(rows)
                content = text.getvalue().encode()
            copy.writestr(name, content)
    return path


def stops_of(timetable: Any, trip: int) -> list[int]:
    """Return the positions of the stops of a trip."""
    import numpy as np

    begin, end = timetable.pattern_indptr[timetable.hot.trip_pattern[trip] + np.arange(2)]
    found: list[int] = timetable.pattern_stop[begin:end].tolist()
    return found


def made_up(timetable: Any, date: dt.date, n_trips: int, kinds: list[str], path: Path) -> Path:
    """Write a message of five kinds of updates for random trips of a day."""
    import numpy as np

    from traveltime_lab.realtime.json_messages import to_bytes
    from traveltime_lab.transit.calendar import day_origin

    dice, hot = random.Random(2), timetable.hot
    runs = np.flatnonzero(timetable.services_on(date)[hot.trip_service] & ~hot.is_repeated).tolist()
    ids, stop_ids = timetable.trips["trip_id"].tolist(), timetable.stops["stop_id"].tolist()
    entities = []
    for number, trip in enumerate(dice.sample(runs, min(n_trips, len(runs)))):
        begin, end = (int(timetable.trip_indptr[trip + k]) for k in range(2))
        origin = day_origin(date.toordinal(), timetable.zones[hot.trip_zone[trip]])
        delay, some = 60 * dice.randrange(1, 20), dice.randrange(end - begin)
        names = [stop_ids[stop] for stop in stops_of(timetable, trip)]
        update: dict[str, Any] = {"trip": {"trip_id": ids[trip], "start_date": date.strftime("%Y%m%d")}}
        kind = kinds[number % len(kinds)]
        if len(set(names)) < len(names):
            continue  # the stop alone would not say which of its calls
        if kind == "delay":
            update["stop_time_update"] = [
                {"stop_id": names[some], "arrival": {"delay": delay}, "departure": {"delay": delay}}
            ]
        elif kind == "times":
            update["stop_time_update"] = [
                {"stop_id": name, "arrival": {"time": origin + int(timetable.arrival[begin + k]) + delay},
                 "departure": {"time": origin + int(timetable.departure[begin + k]) + delay}}
                for k, name in enumerate(names)
            ]  # fmt: skip
        elif kind == "skipped":
            update["stop_time_update"] = [{"stop_id": names[some], "schedule_relationship": "SKIPPED"}]
        elif kind == "cancelled":
            update["trip"]["schedule_relationship"] = "CANCELED"
        else:
            update["delay"] = delay
        entities.append({"id": str(number), "trip_update": update})
    header = {"gtfs_realtime_version": "2.0", "timestamp": day_origin(date.toordinal(), timetable.zones[0]) + 5 * 3600}
    path.write_bytes(to_bytes(json.dumps({"header": header, "entity": entities}).encode(), "made up"))
    return path


if __name__ == "__main__":
    if sys.argv[1:2] == ["--job"]:
        path = Path(sys.argv[2])
        path.write_text(json.dumps(with_nigiri(json.loads(path.read_text("utf-8")))), "utf-8")
    else:
        with contextlib.suppress(BrokenPipeError):
            main()
