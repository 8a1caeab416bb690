"""
Time of `Network.with_changes`, and memory with ten scenarios alive.

Usage: python benchmarks/scenarios.py NETWORK [--repeats N]

NETWORK is a saved network with a timetable. Prints the processor time of each change, the median of the repeats and the
first, and the largest memory of the process after the network was loaded and has answered, and after ten scenarios were
built and have answered.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable

import shapely

import traveltime_lab as tl


def peak_mb() -> float:
    """Return the largest resident memory of this process so far (Linux reports kilobytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    network = tl.load_network(options.network)
    timetable = network.timetable
    assert timetable is not None, "the network has no timetable"
    routes = timetable.routes["route_id"].to_numpy()[timetable.hot.trip_route]
    names, counts = zip(*((name, int((routes == name).sum())) for name in dict.fromkeys(routes)), strict=True)
    route = names[counts.index(max(counts))]
    called = timetable.stops[timetable.is_called]
    west, south, east, north = network.bounds
    middle = shapely.Point((west + east) / 2, (south + north) / 2)
    around = middle.buffer(0.1 * (north - south))
    near = called[shapely.contains_xy(around, called["stop_lon"].to_numpy(float), called["stop_lat"].to_numpy(float))]
    stops = near.drop_duplicates("stop_id")["stop_id"].tolist()[:8]
    feed = str(timetable.feeds["name"].iloc[0])
    diagonal = [(middle.x - 0.01, middle.y - 0.01), (middle.x + 0.01, middle.y + 0.01)]
    changes: dict[str, Callable[[], tl.Network]] = {
        "RemoveRoutes": lambda: network.with_changes(tl.RemoveRoutes(route)),
        "RemoveStops": lambda: network.with_changes(tl.RemoveStops(stops[:3], feed=feed)),
        "ScaleHeadway": lambda: network.with_changes(tl.ScaleHeadway(route, 0.5)),
        "SetHeadway": lambda: network.with_changes(tl.SetHeadway(route, "07:00", "20:00", 300)),
        "ShiftTrips": lambda: network.with_changes(tl.ShiftTrips(route, 120)),
        "AddLine": lambda: network.with_changes(
            tl.AddLine("new", stops, headway=300, start="06:00", end="23:00", speed=25, dwell=20, feed=feed)
        ),
        "CloseStreets": lambda: network.with_changes(tl.CloseStreets(around)),
        "SetSpeed": lambda: network.with_changes(tl.SetSpeed(around, modes="driving", factor=0.5)),
        "AddStreet": lambda: network.with_changes(tl.AddStreet(diagonal, {"walking": 5, "driving": 50})),
    }
    print(network)
    for name, change in changes.items():
        times = []
        for _ in range(options.repeats):
            begun = time.process_time()
            change()
            times.append(time.process_time() - begun)
        print(f"{name:14s} {statistics.median(times):6.3f} s, first {times[0]:6.3f} s")
    places = [(middle.x, middle.y), (middle.x + 0.02, middle.y)]

    def ask(net: tl.Network) -> None:
        for means in ("walking", "driving", "public_transport"):
            tl.time_filter(
                net, places, places, travel_time=3600, transportation=means, departure_time="weekday_morning"
            )

    print(f"loaded: {peak_mb():.0f} MB")
    ask(network)
    print(f"network has answered: {peak_mb():.0f} MB")
    alive = [
        network.with_changes(
            [
                tl.ScaleHeadway(names[number % len(names)], 0.5),
                tl.CloseStreets(shapely.Point(middle.x + 0.002 * number, middle.y).buffer(0.004), modes="driving"),
            ]
        )
        for number in range(10)
    ]
    print(f"ten scenarios exist: {peak_mb():.0f} MB")
    for each in alive:
        ask(each)
    print(f"ten scenarios have answered: {peak_mb():.0f} MB")


if __name__ == "__main__":
    main()
