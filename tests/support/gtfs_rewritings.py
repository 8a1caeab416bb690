"""
Timetables as tables of text, and ways to write the same one in another form.

A rewriting is a function from a `Feed` and a random generator to a `Feed` with the same departures.
"""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random

import pandas as pd

from tests.support.towns import clock

#: The files of a feed by their names without ending, all values as text.
Feed = dict[str, pd.DataFrame]
Rewriting = Callable[[Feed, Random], Feed]
Row = dict[str, str]

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_TIMES = ("arrival_time", "departure_time")
#: Columns with the ids of each kind.
_IDS = {
    "agency": ("agency_id",),
    "stop": ("stop_id", "parent_station", "from_stop_id", "to_stop_id"),
    "route": ("route_id", "from_route_id", "to_route_id"),
    "trip": ("trip_id", "from_trip_id", "to_trip_id"),
    "service": ("service_id",),
    "shape": ("shape_id",),
    "block": ("block_id",),
    "fare": ("fare_id",),
}


def read_feed(path: Path) -> Feed:
    """Read the files of a zip file."""
    with zipfile.ZipFile(path) as archive:
        return {
            name.removesuffix(".txt"): pd.read_csv(
                io.StringIO(archive.read(name).decode("utf-8-sig")), dtype=str, keep_default_na=False
            ).rename(columns=str.strip)
            for name in archive.namelist()
            if name.endswith(".txt")
        }


def write_feed(feed: Feed, path: Path) -> Path:
    """Write a zip file."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, table in feed.items():
            archive.writestr(f"{name}.txt", table.to_csv(index=False))
    return path


def _seconds(text: str) -> int:
    hours, minutes, seconds = text.split(":")
    return 3600 * int(hours) + 60 * int(minutes) + int(seconds)


def _day(text: str) -> dt.date:
    return dt.datetime.strptime(text, "%Y%m%d").date()


# Names and order


def shuffled(feed: Feed, random: Random) -> Feed:
    """Shuffle the rows of each file."""
    return {name: table.sample(frac=1.0, random_state=random.randrange(2**31)) for name, table in feed.items()}


def columns_shuffled(feed: Feed, random: Random) -> Feed:
    """Shuffle the columns of each file and the files, and add columns and a file that GTFS does not know."""
    found = {}
    for name in random.sample([*feed], len(feed)):
        table = feed[name].assign(color_of_seats="blue")
        found[name] = table[random.sample([*table.columns], table.shape[1])]
    return found | {"seats": pd.DataFrame({"seat_id": ["1"]})}


def renamed(feed: Feed, random: Random) -> Feed:
    """Give everything another id, in another order."""
    found = {name: table.copy() for name, table in feed.items()}
    for kind, columns in _IDS.items():
        places = [(table, column) for table in found.values() for column in columns if column in table]
        ids = sorted({value for table, column in places for value in table[column]} - {""})
        new = [f"{kind} {number}" for number in random.sample(range(10 * len(ids)), len(ids))]
        names = dict(zip(ids, new, strict=True)) | {"": ""}
        for table, column in places:
            table[column] = table[column].map(names)
    return found


def spaced(feed: Feed, random: Random) -> Feed:
    """Leave gaps in the sequences of stop times and of shapes."""
    found = dict(feed)
    for name, column in (("stop_times", "stop_sequence"), ("shapes", "shape_pt_sequence")):
        if name in feed:
            found[name] = feed[name].assign(**{column: [str(10 * int(value) + 3) for value in feed[name][column]]})
    return found


# Days


def weeks_later(feed: Feed, random: Random) -> Feed:
    """Move all dates by a week."""
    return _moved(feed, 7)


def _moved(feed: Feed, days: int) -> Feed:
    found = dict(feed)
    for name, columns in (("calendar", ("start_date", "end_date")), ("calendar_dates", ("date",))):
        if name in feed:
            moved = {
                column: [(_day(text) + dt.timedelta(days)).strftime("%Y%m%d") for text in feed[name][column]]
                for column in columns
            }
            found[name] = feed[name].assign(**moved)
    if "calendar" in feed and days % 7:
        found["calendar"] = found["calendar"].assign(
            **{DAYS[(i + days) % 7]: feed["calendar"][day] for i, day in enumerate(DAYS)}
        )
    return found


def day_before(feed: Feed, random: Random) -> Feed:
    """Write 08:00 as 32:00 of the day before."""
    found = _moved(feed, -1)
    for name, columns in (("stop_times", _TIMES), ("frequencies", ("start_time", "end_time"))):
        if name in feed:
            later = {
                column: [clock(_seconds(text) + 86_400) if text else "" for text in feed[name][column]]
                for column in columns
            }
            found[name] = feed[name].assign(**later)
    return found


def _dates(feed: Feed, first: dt.date, last: dt.date) -> list[tuple[str, str]]:
    """Return the (service_id, date) of all service from one date to another."""
    on = set()
    days = [first + dt.timedelta(i) for i in range((last - first).days + 1)]
    if "calendar" in feed:
        for row in feed["calendar"].to_dict("records"):
            begin, end = _day(row["start_date"]), _day(row["end_date"])
            on |= {(row["service_id"], day) for day in days if begin <= day <= end and row[DAYS[day.weekday()]] == "1"}
    if "calendar_dates" in feed:
        for row in feed["calendar_dates"].to_dict("records"):
            pair = row["service_id"], _day(row["date"])
            (on.add if row["exception_type"] == "1" else on.discard)(pair)
    return sorted((service, day.strftime("%Y%m%d")) for service, day in on if first <= day <= last)


def as_exceptions(day: str) -> Rewriting:
    """Return a rewriting that lists the days of service around a day one by one."""

    def rewrite(feed: Feed, random: Random) -> Feed:
        around = dt.date.fromisoformat(day)
        rows = _dates(feed, around - dt.timedelta(20), around + dt.timedelta(20))
        dates = pd.DataFrame([(*row, "1") for row in rows], columns=["service_id", "date", "exception_type"])
        return {name: table for name, table in feed.items() if name != "calendar"} | {"calendar_dates": dates}

    return rewrite


def own_services(feed: Feed, random: Random) -> Feed:
    """Give each trip a service of its own with the days of its service."""
    trips = feed["trips"]
    own = trips.assign(service_id=[f"service of {trip}" for trip in trips["trip_id"]])
    names = pd.DataFrame({"service_id": trips["service_id"].to_numpy(), "own": own["service_id"].to_numpy()})
    found = dict(feed)
    for name in ("calendar", "calendar_dates"):
        if name in feed:
            joined = feed[name].merge(names, on="service_id")
            found[name] = joined.assign(service_id=joined["own"])[feed[name].columns]
    return found | {"trips": own}


# Headways


def _calls(feed: Feed) -> dict[str, list[Row]]:
    """Return the stop times of each trip in their order."""
    calls: dict[str, list[Row]] = {}
    for row in feed["stop_times"].to_dict("records"):
        calls.setdefault(row["trip_id"], []).append(row)
    for rows in calls.values():
        rows.sort(key=lambda row: int(row["stop_sequence"]))
    return calls


def _at(calls: list[Row], begin: int, **changes: str) -> list[Row]:
    """Return stop times that leave the first stop at another second of the day."""
    later = begin - _seconds(calls[0]["departure_time"])
    return [
        {**row, **{name: clock(_seconds(row[name]) + later) if row[name] else "" for name in _TIMES}, **changes}
        for row in calls
    ]


def as_headways(feed: Feed, random: Random) -> Feed:
    """Write trips that follow at equal intervals, and single ones, as headways of one trip that begins at 0:00."""
    calls, repeated = _calls(feed), set(feed["frequencies"]["trip_id"]) if "frequencies" in feed else set()
    kept: list[Row] = []
    alike: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    for trip in feed["trips"].to_dict("records"):
        name = trip["trip_id"]
        own = calls.get(name, [])
        is_timed = own and all(row[column] for row in own for column in _TIMES)
        # A vehicle may arrive at the first stop before it leaves there, which would be before 0:00.
        if not is_timed or trip.get("block_id") or name in repeated or own[0]["arrival_time"] != own[0][_TIMES[1]]:
            kept += own
            continue
        begin = _seconds(own[0]["departure_time"])
        rows = _at(own, 0, trip_id="")
        key = (*{**trip, "trip_id": ""}.values(), *(value for row in rows for value in row.values()))
        alike.setdefault(key, []).append((begin, name))
    headways = []
    for departures in alike.values():
        departures.sort()
        template = departures[0][1]
        kept += _at(calls[template], 0)
        # Series of equal intervals, one after the other.
        series: list[list[int]] = []
        for begin, _ in departures:
            if series and begin > series[-1][-1] and (
                len(series[-1]) == 1 or begin - series[-1][-1] == series[-1][1] - series[-1][0]
            ):  # fmt: skip
                series[-1].append(begin)
            else:
                series.append([begin])
        for run in series:
            gap = run[1] - run[0] if len(run) > 1 else 60
            headways.append((template, clock(run[0]), clock(run[-1] + 1), str(gap), "1"))
    names = ["trip_id", "start_time", "end_time", "headway_secs", "exact_times"]
    before = [feed["frequencies"].reindex(columns=names, fill_value="")] if "frequencies" in feed else []
    trips = {row["trip_id"] for row in kept}
    return feed | {
        "trips": feed["trips"][feed["trips"]["trip_id"].isin(trips)],
        "stop_times": pd.DataFrame(kept)[feed["stop_times"].columns],
        "frequencies": pd.concat([*before, pd.DataFrame(headways, columns=names)]),
    }


def written_out(feed: Feed, random: Random) -> Feed:
    """Write headways as trips, one for each departure."""
    if "frequencies" not in feed:
        return feed
    calls, repeated = _calls(feed), set(feed["frequencies"]["trip_id"])
    trip_of = {row["trip_id"]: row for row in feed["trips"].to_dict("records")}
    trips = [row for name, row in trip_of.items() if name not in repeated]
    times = [row for name, rows in calls.items() if name not in repeated for row in rows]
    for row in feed["frequencies"].to_dict("records"):
        for begin in range(_seconds(row["start_time"]), _seconds(row["end_time"]), int(row["headway_secs"])):
            name = f"{row['trip_id']} number {len(trips)}"
            trips.append({**trip_of[row["trip_id"]], "trip_id": name})
            times += _at(calls[row["trip_id"]], begin, trip_id=name)
    found = {name: table for name, table in feed.items() if name != "frequencies"}
    return found | {"trips": pd.DataFrame(trips), "stop_times": pd.DataFrame(times)}


def in_and_out_of_headways(feed: Feed, random: Random) -> Feed:
    """Write trips as headways, and these as trips again."""
    return written_out(as_headways(feed, random), random)


def series_cut(feed: Feed, random: Random) -> Feed:
    """Cut headways in two rows after some departure."""
    whole = as_headways(feed, random)
    rows = []
    for row in whole["frequencies"].to_dict("records"):
        begin, end, gap = _seconds(row["start_time"]), _seconds(row["end_time"]), int(row["headway_secs"])
        n = len(range(begin, end, gap))
        cuts = [begin, *([begin + gap * random.randrange(1, n)] if n > 1 else []), end]
        rows += [{**row, "start_time": clock(a), "end_time": clock(b)} for a, b in pairwise(cuts)]
    return whole | {"frequencies": pd.DataFrame(rows)}


# Rows that do not matter


def _with_rows(feed: Feed, name: str, *rows: dict[str, str]) -> Feed:
    if name not in feed:
        return feed
    known = [{column: row.get(column, "") for column in feed[name].columns} for row in rows]
    return feed | {name: pd.concat([pd.DataFrame(known), feed[name]])}


def with_unused_rows(feed: Feed, random: Random) -> Feed:
    """Add stops, routes, services, shapes and trips on no day that nothing uses."""
    stop, route = feed["stops"].iloc[0], feed["routes"].iloc[0].to_dict()
    place = {"stop_lat": stop["stop_lat"], "stop_lon": stop["stop_lon"]}
    feed = _with_rows(feed, "stops", {"stop_id": "nothing stops here", "stop_name": "Nowhere", **place})
    feed = _with_rows(feed, "routes", {**route, "route_id": "no trips"}, {**route, "route_id": "never"})
    for name, row in (
        ("calendar", {**dict.fromkeys(DAYS, "0"), "start_date": "20000101", "end_date": "20991231"}),
        ("calendar_dates", {"date": "20000101", "exception_type": "2"}),
    ):
        feed = _with_rows(feed, name, {"service_id": "no trips", **row}, {"service_id": "never", **row})
    trip = feed["trips"].iloc[0].to_dict()
    calls = feed["stop_times"][feed["stop_times"]["trip_id"] == trip["trip_id"]]
    feed = _with_rows(feed, "trips", {**trip, "route_id": "never", "trip_id": "never", "service_id": "never"})
    feed = _with_rows(feed, "stop_times", *calls.assign(trip_id="never").to_dict("records"))
    ends = {"shape_pt_lat": stop["stop_lat"], "shape_pt_lon": stop["stop_lon"]}
    return _with_rows(
        feed, "shapes",
        *({"shape_id": "unused", "shape_pt_sequence": str(i), **ends} for i in range(2)),
    )  # fmt: skip


def with_stations(feed: Feed, random: Random) -> Feed:
    """Give stops without a station one of their own at the same place."""
    stops = feed["stops"]
    columns = {name: stops.get(name, "") for name in ("location_type", "parent_station")}
    stops = stops.assign(**columns)
    is_alone = stops["location_type"].isin(["", "0"]) & (stops["parent_station"] == "")
    alone = stops[is_alone]
    stations = alone.assign(stop_id=[f"station of {name}" for name in alone["stop_id"]], location_type="1")
    parents = stops["parent_station"].where(~is_alone, "station of " + stops["stop_id"])
    return feed | {"stops": pd.concat([stations, stops.assign(parent_station=parents)])}


def with_extended_types(feed: Feed, random: Random) -> Feed:
    """Write the types of routes in the extended list."""
    new = {"0": "900", "1": "401", "2": "100", "3": "700", "4": "1000", "7": "1400", "11": "800", "12": "405"}
    types = [new.get(kind, kind) for kind in feed["routes"]["route_type"]]
    return feed | {"routes": feed["routes"].assign(route_type=types)}
