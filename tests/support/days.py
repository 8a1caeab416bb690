"""Days on which vehicles do not run as planned: towns with timetables, and their networks with live updates."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import numpy as np

import traveltime_lab as tl
from tests.support.feeds import feed
from tests.support.oracles_reliability import Vehicle
from tests.support.towns import ON_FOOT, clock
from tests.support.worlds import FRAME, tables

EIGHT = 8 * 3600
#: The stops of two stations.
STATIONS = {"s0": "A", "s1": "A", "s2": "A", "s3": "B", "s4": "B"}


def write(folder: Path, stops: dict[str, tuple[float, float]], vehicles: list[Vehicle]) -> Path:
    """Write a feed of stops in metres and vehicles that run every day."""
    lng, lat = FRAME.to_lnglat(*zip(*stops.values(), strict=True))
    rows = [
        f"{name},{name},{y:.7f},{x:.7f},0,{STATIONS.get(name, '')}" for name, x, y in zip(stops, lng, lat, strict=True)
    ]
    rows += [f"{name},{name},{lat[0]:.7f},{lng[0]:.7f},1," for name in ("A", "B")]
    lines = sorted({each.route_id for each in vehicles})
    times = [
        f"{each.trip_id},{k},{stop},{clock(arrival)},{clock(departure)}"
        for each in vehicles
        for k, (stop, arrival, departure) in enumerate(each.calls)
    ]
    return feed(
        folder,
        stops="\n".join(["stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station", *rows]),
        routes="\n".join(["route_id,route_short_name,route_type", *(f"{line},{line},3" for line in lines)]),
        trips="\n".join(
            ["route_id,service_id,trip_id", *(f"{each.route_id},daily,{each.trip_id}" for each in vehicles)]
        ),
        stop_times="\n".join(["trip_id,stop_sequence,stop_id,arrival_time,departure_time", *times]),
    )


def drawn_town(rng: np.random.Generator) -> tuple[Any, dict[str, tuple[float, float]], list[Vehicle]]:
    """Draw streets on a grid with gaps, stops near them, and vehicles along three lines."""
    n, step = 5, 300
    nodes = {(i, j): (i * step, j * step) for i in range(n) for j in range(n)}
    links = [((i, j), (i + 1, j)) for i in range(n - 1) for j in range(n)]
    links += [((i, j), (i, j + 1)) for i in range(n) for j in range(n - 1)]
    kept = [link for link in links if rng.random() < 0.9]
    corners = rng.permutation(n * n)[:9]
    stops = {
        f"s{k}": (float(corner // n * step + rng.integers(-20, 20)), float(corner % n * step + rng.integers(-20, 20)))
        for k, corner in enumerate(corners)
    }
    sequences = []
    for _ in range(5):
        calls = rng.permutation(list(stops))[: rng.integers(3, 7)].tolist()
        gaps = rng.integers(20, 200, len(calls))
        sequences.append([(stop, EIGHT + int(when)) for stop, when in zip(calls, np.cumsum(gaps), strict=True)])
    return tables(nodes, [(*link, ON_FOOT) for link in kept]), stops, planned_vehicles(sequences, rng)


def planned_vehicles(sequences: list[list[tuple[str, int]]], rng: np.random.Generator) -> list[Vehicle]:
    """Return two lines or more, each with some trips along one or two sequences of stops, some of them faster."""
    vehicles = []
    for number, sequence in enumerate(sequences):
        for k in range(int(rng.integers(3, 9))):
            shift = int(rng.integers(0, 3000))
            pace = float(rng.choice([1.0, 0.5]))
            begin = sequence[0][1]
            calls = [(stop, begin + shift + int((time - begin) * pace)) for stop, time in sequence]
            name = f"R{number % 3}"
            vehicles.append(Vehicle(f"t{number}_{k}", name, tuple((stop, time, time) for stop, time in calls)))
    return vehicles


def observed_vehicles(vehicles: list[Vehicle], rng: np.random.Generator) -> list[Vehicle]:
    """Return vehicles of a day: late or early, some cancelled, some without a stop, some at other platforms."""
    found = []
    for each in vehicles:
        if rng.random() < 0.15:
            continue
        now, late, calls = 0, int(rng.integers(-120, 400)), []
        for stop, arrival, departure in each.calls:
            late += int(rng.integers(-30, 90))
            first = max(now, arrival + late)
            now = max(first, departure + late + int(rng.integers(0, 30)))
            calls.append((stop, first, now))
        planned = [(k, stop) for k, (stop, *_) in enumerate(each.calls)]
        for k, (stop, *when) in enumerate(calls):
            others = [name for name in STATIONS if name != stop and STATIONS[name] == STATIONS.get(stop)]
            if others and rng.random() < 0.3:
                calls[k] = (str(rng.choice(others)), *when)
        if len(calls) > 2 and rng.random() < 0.2:
            gone = int(rng.integers(0, len(calls)))
            del calls[gone], planned[gone]
        found.append(Vehicle(each.trip_id, each.route_id, tuple(calls), tuple(planned), len(calls) == len(each.calls)))
    return found or vehicles


def updated(network: tl.Network, vehicles: list[Vehicle], ran: list[Vehicle], date: dt.date) -> tl.Network:
    """Return a network with the live updates by which planned vehicles run as observed."""
    observed = {each.trip_id: each for each in ran}
    midnight = int(dt.datetime.combine(date, dt.time(), dt.UTC).timestamp())
    entities = []
    for each in vehicles:
        trip: dict[str, Any] = {"trip_id": each.trip_id, "start_date": f"{date:%Y%m%d}"}
        update: dict[str, Any] = {"trip": trip}
        if each.trip_id not in observed:
            trip["schedule_relationship"] = "CANCELED"
        else:
            update["stop_time_update"] = rows = []
            own = observed[each.trip_id]
            calls = {k: call for (k, _), call in zip(own.planned, own.calls, strict=True)}
            for k, (planned, *_) in enumerate(each.calls):
                if k not in calls:
                    rows.append({"stop_sequence": k, "schedule_relationship": "SKIPPED"})
                    continue
                stop, arrival, departure = calls[k]
                times = {"arrival": {"time": midnight + arrival}, "departure": {"time": midnight + departure}}
                to = {} if stop == planned else {"stop_time_properties": {"assigned_stop_id": stop}}
                rows.append({"stop_sequence": k, **times, **to})
        entities.append({"id": each.trip_id, "trip_update": update})
    message = {"header": {"gtfs_realtime_version": "2.0"}, "entity": entities}
    return network.with_updates(json.dumps(message).encode())


def day_of(network: tl.Network, date: dt.date, **delays: int | None) -> tl.Network:
    """Return a network with trips that are late by some seconds, or cancelled."""
    entities = []
    for trip, delay in delays.items():
        about: dict[str, Any] = {"trip_id": trip, "start_date": f"{date:%Y%m%d}"}
        late = {"schedule_relationship": "CANCELED"} if delay is None else {}
        entities.append({"id": trip, "trip_update": {"trip": {**about, **late}, "delay": delay or 0}})
    message = {"header": {"gtfs_realtime_version": "2.0"}, "entity": entities}
    return network.with_updates(json.dumps(message).encode())
