"""
Edit a GTFS feed by hand as live updates say: the slow twin of `traveltime_lab.realtime`.

Tables are lists of dictionaries with the texts of the files. Each trip gets a service of its own that lists its dates,
so that an update takes one date away from a trip and gives it to a new one. A new trip is called ``trip#date``, with
the id of its trip before the mark.
"""

from __future__ import annotations

import copy
import csv
import datetime as dt
import io
import random
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

Tables = dict[str, list[dict[str, str]]]

#: Dates with a clock change in New York and without.
DATES = ("20260306", "20260307", "20260308", "20260309", "20260602")
ZONE = "America/New_York"


def clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def seconds(text: str) -> int:
    hours, minutes, rest = (int(part) for part in text.split(":"))
    return hours * 3600 + minutes * 60 + rest


def midnight(date: str, zone: str = ZONE) -> int:
    """Return the POSIX second from which times of a date count: noon minus twelve hours."""
    noon = dt.datetime.strptime(date, "%Y%m%d").replace(hour=12, tzinfo=ZoneInfo(zone))
    return int(noon.timestamp()) - 43_200


def next_day(date: str, days: int = 1) -> str:
    return (dt.datetime.strptime(date, "%Y%m%d") + dt.timedelta(days=days)).strftime("%Y%m%d")


def write(tables: Tables, path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, rows in tables.items():
            if rows:
                file = io.StringIO()
                columns = list(dict.fromkeys(key for row in rows for key in row))
                table = csv.DictWriter(file, columns, restval="")
                table.writeheader()
                table.writerows(rows)
                archive.writestr(f"{name}.txt", file.getvalue())
    return path


def read(path: Path) -> Tables:
    with zipfile.ZipFile(path) as archive:
        return {
            name.removesuffix(".txt"): list(csv.DictReader(io.TextIOWrapper(archive.open(name), "utf-8-sig")))
            for name in archive.namelist()
            if name.endswith(".txt")
        }


def dates_of(tables: Tables) -> dict[str, set[str]]:
    """Return the dates of each service."""
    found: dict[str, set[str]] = {}
    names = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    for row in tables.get("calendar", []):
        days = found.setdefault(row["service_id"], set())
        date = row["start_date"]
        while date <= row["end_date"]:
            if row[names[dt.datetime.strptime(date, "%Y%m%d").weekday()]] == "1":
                days.add(date)
            date = next_day(date)
    for row in tables.get("calendar_dates", []):
        days = found.setdefault(row["service_id"], set())
        (days.add if row["exception_type"] == "1" else days.discard)(row["date"])
    return found


def starts_of(row: dict[str, str]) -> list[int]:
    """Return the departures of a row of frequencies."""
    return list(range(seconds(row["start_time"]), seconds(row["end_time"]), int(row["headway_secs"])))


class Edited:
    """A feed that is edited by hand."""

    def __init__(self, tables: Tables) -> None:
        self.tables = copy.deepcopy(tables)
        services = dates_of(tables)
        self.trips = {row["trip_id"]: row for row in self.tables["trips"]}
        self.dates = {trip: set(services.get(row["service_id"], ())) for trip, row in self.trips.items()}
        self.calls: dict[str, list[dict[str, str]]] = {trip: [] for trip in self.trips}
        for row in self.tables["stop_times"]:
            self.calls[row["trip_id"]].append(row)
        for rows in self.calls.values():
            rows.sort(key=lambda row: int(row["stop_sequence"]))
        self.repeats: dict[str, list[dict[str, str]]] = {}
        for row in self.tables.get("frequencies", []):
            self.repeats.setdefault(row["trip_id"], []).append(row)
        self.copies: dict[tuple[str, str], str] = {}
        self.left: dict[tuple[str, str], list[int]] = {}
        self.numbers = 0
        #: Positions of closed calls by start, of each trip and date.
        self.closed: dict[tuple[str, str], dict[int, set[int]]] = {}
        self.touched: set[tuple[str, str]] = set()

    def close(self, alert: dict[str, Any]) -> None:
        """Close the calls of an alert with one period, whose times by the timetable are in it."""
        begin, end = (alert["active_period"][0][name] for name in ("start", "end"))
        for trip, row in self.trips.items():
            calls = self.calls[trip]
            first = seconds(calls[0]["departure_time"])
            for date in self.dates[trip]:
                for i, call in enumerate(calls):
                    name = "arrival_time" if i == len(calls) - 1 else "departure_time"
                    starts = [first]
                    if trip in self.repeats:
                        starts = [start for each in self.repeats[trip] for start in starts_of(each)]
                    is_meant = any(
                        all(
                            {**row, **call}.get(key) == str(value)
                            for key, value in selector.get("trip", selector).items()
                        )
                        for selector in alert["informed_entity"]
                    )
                    for start in starts:
                        if is_meant and begin <= midnight(date) + seconds(call[name]) - first + start < end:
                            self.closed.setdefault((trip, date), {}).setdefault(start, set()).add(i)

    def add(self, name: str, trip: dict[str, str], date: str, calls: list[dict[str, str]]) -> None:
        self.trips[name] = {**trip, "trip_id": name}
        self.dates[name] = {date}
        self.calls[name] = [{**row, "trip_id": name} for row in calls]

    # Updates, each with trip and date.

    def apply(self, update: dict[str, Any]) -> None:
        trip = update["trip"]
        relation = trip.get("schedule_relationship", "SCHEDULED")
        own, date = trip.get("trip_id", ""), trip["start_date"]
        if relation in ("ADDED", "NEW"):
            self.add(f"{own}#{date}", {"route_id": trip["route_id"], "service_id": ""}, date, self._new(update, date))
        elif relation == "DUPLICATED":
            properties = update["trip_properties"]
            later = seconds(properties["start_time"]) - seconds(self.calls[own][0]["departure_time"])
            date = properties["start_date"]
            calls = self._predicted(update, own, date, later)
            if len(calls) >= 2:
                self.add(f"{properties['trip_id']}#{date}", {**self.trips[own], "block_id": ""}, date, calls)
        elif own in self.repeats:
            self._repeated(update, own, date, relation)
        else:
            self.touched.add((own, date))
            self.dates[own].discard(date)
            calls = []
            if relation == "REPLACEMENT":
                calls = self._new(update, date)
            elif relation not in ("CANCELED", "DELETED"):
                calls = self._predicted(
                    update, own, date, 0, {i for each in self.closed.get((own, date), {}).values() for i in each}
                )
            if calls == self.calls[own]:
                self.dates[own].add(date)
            elif len(calls) >= 2:
                row = dict(self.trips[own])
                if relation == "REPLACEMENT":
                    row["block_id"] = row["shape_id"] = ""
                else:
                    self.copies[own, date] = f"{own}#{date}"
                self.add(f"{own}#{date}", row, date, calls)

    def _new(self, update: dict[str, Any], date: str) -> list[dict[str, str]]:
        """Return the calls of a trip that is new."""
        rows, latest = [], -(10**9)
        for number, stop in enumerate(update["stop_time_update"]):
            if stop.get("schedule_relationship") == "SKIPPED":
                continue
            times = []
            for name, other in (("arrival", "departure"), ("departure", "arrival")):
                latest = max(latest, stop.get(name, stop.get(other))["time"] - midnight(date))
                times.append(latest)
            rows.append(
                {
                    "stop_id": stop.get("stop_time_properties", {}).get("assigned_stop_id", stop["stop_id"]),
                    "stop_sequence": str(number), "arrival_time": clock(times[0]), "departure_time": clock(times[1]),
                }
            )  # fmt: skip
        return rows

    def _where(self, update: dict[str, Any], calls: list[dict[str, str]]) -> dict[int, dict[str, Any]]:
        """Return the updates of stops by position."""
        found: dict[int, dict[str, Any]] = {}
        after = 0
        for stop in update.get("stop_time_update", []):
            if "stop_sequence" in stop:
                fits = [i for i, row in enumerate(calls) if int(row["stop_sequence"]) == stop["stop_sequence"]]
            else:
                fits = [i for i, row in enumerate(calls) if row["stop_id"] == stop["stop_id"]]
                fits = [i for i in fits if i >= after] or fits
            if fits:
                found[fits[0]] = stop
                after = fits[0] + 1
        return found

    def _predicted(
        self, update: dict[str, Any], trip: str, date: str, later: int, closed: Any = ()
    ) -> list[dict[str, str]]:
        """Return the calls of a trip, event by event; each looks back for the delay that holds."""
        calls = self.calls[trip]
        where = self._where(update, calls)
        kept = [i for i in range(len(calls)) if where.get(i, {}).get("schedule_relationship") != "SKIPPED"]
        kept = [i for i in kept if i not in closed]
        planned, given, ends = [], [], []
        for i in kept:
            own = where.get(i)
            events = []
            for name in ("arrival", "departure"):
                planned.append(seconds(calls[i][f"{name}_time"]) + later)
                event = (own or {}).get(name)
                value = None
                if event is not None and own.get("schedule_relationship") != "NO_DATA":
                    value = event["delay"]
                    if "time" in event:
                        value = event["time"] - midnight(date) - planned[-1]
                events.append(value)
            # From a stop that says nothing, nothing is known.
            ends += [own is not None and events == [None, None], False]
            given += events
        times, known = [], update.get("delay", 0)
        for k, moment in enumerate(planned):
            back = k
            while back >= 0 and given[back] is None and not ends[back]:
                back -= 1
            delay = known if back < 0 else given[back] or 0
            times.append(moment + delay)
        for k, value in enumerate(given):
            if value is None:
                following = next((times[j] for j in range(k + 1, len(given)) if given[j] is not None), None)
                if following is not None:
                    times[k] = min(times[k], following)
        times = [max(times[: k + 1]) for k in range(len(times))]
        rows = []
        for n, i in enumerate(kept):
            properties = where.get(i, {}).get("stop_time_properties", {})
            row = {**calls[i], "arrival_time": clock(times[2 * n]), "departure_time": clock(times[2 * n + 1])}
            row["stop_id"] = properties.get("assigned_stop_id", row["stop_id"])
            for name in ("pickup_type", "drop_off_type"):
                if name in properties:
                    row[name] = str(properties[name])
            rows.append(row)
        return rows

    def _repeated(self, update: dict[str, Any], trip: str, date: str, relation: str) -> None:
        start = update["trip"].get("start_time")
        if start is None:
            self.dates[trip].discard(date)
            return
        begin, best = seconds(start), None
        rows = [(starts_of(row), int(row["headway_secs"]), row["exact_times"] == "1") for row in self.repeats[trip]]
        if (trip, date) not in self.left:
            self.left[trip, date] = [time for times, _, _ in rows for time in times]
        for times, step, is_exact in rows:
            for time in times:
                far = abs(time - begin)
                is_near = time in self.left[trip, date] and far <= (0 if is_exact else step / 2)
                if is_near and (best is None or far < best[0]):
                    best = (far, time)
        if best is not None:
            self.left[trip, date].remove(best[1])
        if relation in ("CANCELED", "DELETED") or (best is None and all(exact for _, _, exact in rows)):
            return
        later = begin - seconds(self.calls[trip][0]["departure_time"])
        closed = () if best is None else self.closed.get((trip, date), {}).get(best[1], ())
        calls = self._predicted(update, trip, date, later, closed)
        if len(calls) >= 2:
            self.numbers += 1
            name = f"{trip}@{start}#{date}{self.numbers}"
            self.add(name, {**self.trips[trip], "block_id": ""}, date, calls)

    def feed(self) -> Tables:
        """Return the tables of the edited feed."""
        for (trip, date), closed in self.closed.items():
            if (trip, date) in self.touched or date not in self.dates[trip]:
                continue
            if trip in self.repeats:
                self.left.setdefault((trip, date), [time for row in self.repeats[trip] for time in starts_of(row)])
                continue
            self.dates[trip].discard(date)
            gone = {i for each in closed.values() for i in each}
            calls = [row for i, row in enumerate(self.calls[trip]) if i not in gone]
            if len(calls) >= 2:
                self.copies[trip, date] = f"{trip}#{date}"
                self.add(f"{trip}#{date}", self.trips[trip], date, calls)
        for (trip, date), times in self.left.items():
            closed = self.closed.get((trip, date), {})
            if date in self.dates[trip]:
                self.dates[trip].discard(date)
                first = seconds(self.calls[trip][0]["departure_time"])
                for time in times:
                    rows = [
                        {**row, **{f"{n}_time": clock(seconds(row[f"{n}_time"]) + time - first)
                                   for n in ("arrival", "departure")}}
                        for i, row in enumerate(self.calls[trip])
                        if i not in closed.get(time, ())
                    ]  # fmt: skip
                    if len(rows) < 2:
                        continue
                    self.numbers += 1
                    self.add(f"{trip}#{date}n{self.numbers}", self.trips[trip], date, rows)
        tables = dict(self.tables)
        tables["transfers"] = self._transfers()
        tables["calendar"] = []
        tables["calendar_dates"] = [
            {"service_id": f"of {trip}", "date": date, "exception_type": "1"}
            for trip, dates in self.dates.items()
            for date in sorted(dates)
        ]
        tables["trips"] = [{**row, "service_id": f"of {trip}"} for trip, row in self.trips.items() if self.dates[trip]]
        tables["stop_times"] = [row for trip, rows in self.calls.items() if self.dates[trip] for row in rows]
        tables["frequencies"] = [row for row in self.tables.get("frequencies", []) if self.dates[row["trip_id"]]]
        return tables

    def _transfers(self) -> list[dict[str, str]]:
        """Return the transfers by date; a trip before one that has changed is copied, too."""
        rows = []
        for row in self.tables.get("transfers", []):
            a, b = row["from_trip_id"], row["to_trip_id"]
            ends, begins = self.calls[a][-1]["arrival_time"], self.calls[b][0]["departure_time"]
            rows.append((row, a, b, 0 if seconds(begins) >= seconds(ends) else 1))
        again = True
        while again:
            again = False
            for _, a, b, later in rows:
                for trip, date in list(self.copies):
                    before = next_day(date, -later)
                    if trip == b and before in self.dates[a] and (a, before) not in self.copies:
                        self.dates[a].discard(before)
                        self.copies[a, before] = f"{a}#{before}"
                        self.add(f"{a}#{before}", self.trips[a], before, self.calls[a])
                        again = True
        found = []
        for row, a, b, later in rows:
            pairs = {(a, b)} | {
                (name, self.copies.get((b, next_day(date, later)), b))
                for (trip, date), name in self.copies.items()
                if trip == a
            }
            found += [
                {**row, "from_trip_id": one, "to_trip_id": two}
                for one, two in sorted(pairs)
                if self.dates[one] and self.dates[two]
            ]
        return found


# Random feeds and updates ---------------------------------------------------------------------------------------------


def random_feed(dice: random.Random) -> Tables:
    """Return a small feed with loops, nights, blocks, in-seat transfers, headways and gaps between sequences."""
    stops = [
        {"stop_id": f"s{i}", "stop_name": f"Stop {i}", "stop_lat": f"{40.7 + i * 0.01:.4f}", "stop_lon": "-73.9"}
        for i in range(7)
    ]
    services = ("daily", "workdays", "sundays")
    days = {"daily": "1111111", "workdays": "1111100", "sundays": "0000001"}
    names = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    tables: Tables = {
        "agency": [{"agency_id": "A", "agency_name": "A", "agency_url": "https://a.example", "agency_timezone": ZONE}],
        "stops": stops,
        "routes": [
            {"route_id": f"R{i}", "agency_id": "A", "route_short_name": str(i), "route_type": "3"} for i in range(3)
        ],
        "calendar": [
            {"service_id": name, "start_date": "20260301", "end_date": "20260610"}
            | dict(zip(names, days[name], strict=True))
            for name in services
        ],
        "calendar_dates": [
            {"service_id": "workdays", "date": "20260309", "exception_type": "2"},
            {"service_id": "sundays", "date": "20260307", "exception_type": "1"},
        ],
        "trips": [], "stop_times": [], "frequencies": [], "transfers": [],
    }  # fmt: skip
    first = dice.choice((0, 1, 1, 5))
    step = dice.choice((1, 1, 10))
    for t in range(12):
        is_repeated = t >= 10
        tables["trips"].append(
            {"route_id": f"R{t % 3}", "service_id": dice.choice(services), "trip_id": f"t{t}", "shape_id": "",
             "direction_id": str(t % 2), "block_id": dice.choice(("", "b1", "b2")) if not is_repeated else ""}
        )  # fmt: skip
        time = dice.randrange(3600, 26 * 3600)
        for k in range(dice.randrange(2, 7)):
            leaves = time + dice.choice((0, 0, dice.randrange(90)))
            tables["stop_times"].append(
                {"trip_id": f"t{t}", "stop_sequence": str(first + step * k), "stop_id": f"s{dice.randrange(7)}",
                 "arrival_time": clock(time), "departure_time": clock(leaves),
                 "pickup_type": dice.choice(("", "", "0", "1")), "drop_off_type": dice.choice(("", "", "", "1"))}
            )  # fmt: skip
            time = leaves + dice.choice((0, dice.randrange(30, 900), dice.randrange(30, 900)))
        if is_repeated:
            start = dice.randrange(4 * 3600, 20 * 3600)
            for _ in range(dice.randrange(1, 3)):
                headway = dice.randrange(300, 1500)
                end = start + dice.randrange(1, 6) * headway + dice.randrange(headway)
                tables["frequencies"].append(
                    {"trip_id": f"t{t}", "start_time": clock(start), "end_time": clock(end),
                     "headway_secs": str(headway), "exact_times": str(t - 10)}
                )  # fmt: skip
                start = end + dice.randrange(1800)
    # A vehicle continues as one trip at most, by its block or by a transfer.
    alone = [row["trip_id"] for row in tables["trips"][:10] if not row["block_id"]]
    pairs = [(a, f"t{dice.randrange(10)}", "4") for a in dice.sample(alone, min(3, len(alone)))]
    pairs.append((*(f"t{i}" for i in dice.sample(range(10), 2)), "5"))
    tables["transfers"] += [
        {"from_stop_id": "", "to_stop_id": "", "from_trip_id": a, "to_trip_id": b, "transfer_type": kind}
        for a, b, kind in pairs
        if a != b
    ]
    return tables


def random_updates(tables: Tables, dice: random.Random, dates: tuple[str, ...] = DATES) -> list[dict[str, Any]]:
    """Return updates of some trips on some of their dates, at most one of each run."""
    services = dates_of(tables)
    calls: dict[str, list[dict[str, str]]] = {}
    for row in tables["stop_times"]:
        calls.setdefault(row["trip_id"], []).append(row)
    repeats: dict[str, list[dict[str, str]]] = {}
    for row in tables.get("frequencies", []):
        repeats.setdefault(row["trip_id"], []).append(row)
    stops = [row["stop_id"] for row in tables["stops"]]
    found: list[dict[str, Any]] = []
    taken = set()
    for number in range(14):
        row = dice.choice(tables["trips"])
        trip = row["trip_id"]
        active = [date for date in dates if date in services.get(row["service_id"], ())]
        if not active:
            continue
        date = dice.choice(active)
        update: dict[str, Any] = {"trip": {"trip_id": trip, "start_date": date}}
        others = ("CANCELED", "DELETED", "REPLACEMENT", "DUPLICATED", "ADDED", "NEW")
        relation = dice.choice(("SCHEDULED",) * 8 + others)
        if trip in repeats:
            if (trip, date, "all") in taken:
                continue
            relation = dice.choice(("UNSCHEDULED", "SCHEDULED", "CANCELED"))
            one = dice.choice(repeats[trip])
            start = seconds(one["start_time"]) + dice.randrange(0, 4) * int(one["headway_secs"])
            if one["exact_times"] == "0":
                start += dice.randrange(-400, 400)
            update["trip"]["start_time"] = clock(start)
        key = trip, date, update["trip"].get("start_time")
        if relation not in ("ADDED", "NEW", "DUPLICATED"):
            if key in taken:
                continue
            taken.add(key)
        if relation != "SCHEDULED" or dice.random() < 0.5:
            update["trip"]["schedule_relationship"] = relation
        if relation in ("ADDED", "NEW", "REPLACEMENT"):
            time = midnight(date) + dice.randrange(3600, 24 * 3600)
            own = []
            for stop in dice.sample(stops, dice.randrange(2, 5)):
                time += dice.randrange(-60, 900)
                event: dict[str, Any] = {"stop_id": stop, dice.choice(("arrival", "departure")): {"time": time}}
                if dice.random() < 0.5:
                    event |= {"arrival": {"time": time}, "departure": {"time": time + dice.randrange(60)}}
                own.append(event)
            update["stop_time_update"] = own
            if relation != "REPLACEMENT":
                update["trip"] |= {"trip_id": f"new{number}", "route_id": dice.choice(tables["routes"])["route_id"]}
            found.append(update)
            continue
        later = 0
        if relation == "DUPLICATED":
            start = dice.randrange(2 * 3600, 20 * 3600)
            properties = {"trip_id": f"copy{number}", "start_date": date, "start_time": clock(start)}
            later = start - seconds(calls[trip][0]["departure_time"])
            update["trip_properties"] = properties
        if trip in repeats:
            later = seconds(update["trip"]["start_time"]) - seconds(calls[trip][0]["departure_time"])
        if relation not in ("CANCELED", "DELETED"):
            _stop_updates(update, calls[trip], date, later, stops, dice)
        found.append(update)
    return found


def _stop_updates(
    update: dict[str, Any], calls: list[dict[str, str]], date: str, later: int, stops: list[str], dice: random.Random
) -> None:
    """Give an update delays, times, skipped stops and so on."""
    if dice.random() < 0.3:
        update["delay"] = dice.randrange(-200, 900)
    is_by_sequence = dice.random() < 0.6
    own = []
    for row in calls:
        if dice.random() < 0.5:
            continue
        stop: dict[str, Any] = {"stop_id": row["stop_id"]}
        if is_by_sequence:
            stop = {"stop_sequence": int(row["stop_sequence"])}
        relation = dice.choice(("SCHEDULED",) * 6 + ("SKIPPED", "NO_DATA"))
        if relation != "SCHEDULED":
            stop["schedule_relationship"] = relation
        if relation == "SCHEDULED" and dice.random() < 0.9:
            delay = dice.choice((0, dice.randrange(-600, 600), dice.randrange(0, 4000)))
            for name in dice.choice((("arrival",), ("departure",), ("arrival", "departure"))):
                planned = seconds(row[f"{name}_time"]) + later
                event: dict[str, Any] = {"delay": delay + dice.randrange(60)}
                if dice.random() < 0.5:
                    event["time"] = midnight(date) + planned + event["delay"]
                    if dice.random() < 0.3:
                        event["delay"] = dice.randrange(999)
                stop[name] = event
        if dice.random() < 0.15 and is_by_sequence:
            stop["stop_time_properties"] = {"assigned_stop_id": dice.choice(stops)}
            if dice.random() < 0.5:
                stop["stop_time_properties"][dice.choice(("pickup_type", "drop_off_type"))] = dice.randrange(2)
        own.append(stop)
    update["stop_time_update"] = own


def random_alerts(tables: Tables, dice: random.Random) -> list[dict[str, Any]]:
    """Return alerts that close routes, directions, trips or stops for hours or days."""
    found = []
    for _ in range(dice.randrange(3)):
        begin = midnight(dice.choice(DATES)) + dice.randrange(-3600, 20 * 3600)
        stop, route = (dice.choice(tables[name]) for name in ("stops", "routes"))
        selectors: list[dict[str, Any]] = [
            {"stop_id": stop["stop_id"]},
            {"route_id": route["route_id"], "direction_id": dice.randrange(2)},
            {"route_id": route["route_id"], "stop_id": stop["stop_id"]},
            {"trip": {"trip_id": dice.choice(tables["trips"])["trip_id"]}},
        ]
        found.append(
            {
                "effect": "NO_SERVICE",
                "informed_entity": dice.sample(selectors, dice.randrange(1, 3)),
                "active_period": [{"start": begin, "end": begin + dice.randrange(3600, 50 * 3600)}],
            }
        )
    return found


def message(updates: list[dict[str, Any]], timestamp: int, alerts: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """Return a feed message in JSON."""
    entities = [{"trip_update": update} for update in updates] + [{"alert": alert} for alert in alerts]
    return {
        "header": {"gtfs_realtime_version": "2.0", "timestamp": timestamp},
        "entity": [{"id": str(i), **entity} for i, entity in enumerate(entities)],
    }
