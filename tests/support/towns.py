"""Streets with a timetable: written out by hand, and drawn by hypothesis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.feeds import feed
from tests.support.worlds import FRAME, tables

#: Speeds of streets on which a metre takes a second on foot.
ON_FOOT = {"walking_kph": 3.6, "cycling_kph": 14.4, "driving_kph": 36.0}


def clock(seconds: int) -> str:
    """Return seconds after midnight as GTFS writes them."""
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def timetable(
    folder: Path, stops: dict[str, tuple[float, float]], trips: list[list[tuple[str, int]]], /, **files: str
) -> Path:
    """Write a feed of stops in metres and trips of (stop, seconds after midnight), one route for each trip."""
    lng, lat = FRAME.to_lnglat(*zip(*stops.values(), strict=True))
    rows = [f"{name},{name},{y:.7f},{x:.7f}" for name, x, y in zip(stops, lng, lat, strict=True)]
    times = [
        f"t{i},{k},{stop},{clock(when)},{clock(when)}"
        for i, calls in enumerate(trips)
        for k, (stop, when) in enumerate(calls)
    ]
    content = {
        "stops": "\n".join(["stop_id,stop_name,stop_lat,stop_lon", *rows]),
        "routes": "\n".join(["route_id,route_short_name,route_type", *(f"R{i},{i},3" for i in range(len(trips)))]),
        "trips": "\n".join(["route_id,service_id,trip_id", *(f"R{i},daily,t{i}" for i in range(len(trips)))]),
        "stop_times": "\n".join(["trip_id,stop_sequence,stop_id,arrival_time,departure_time", *times]),
    }
    return feed(folder, **{**content, **files})


#: A town of one straight street and two buses, from a to b and on from there to c.
STOPS = {"a": (0.0, 0.0), "b": (3000.0, 0.0), "c": (6000.0, 0.0)}
TRIPS = [[("a", 28_800), ("b", 29_100)], [("b", 29_400), ("c", 29_700)]]
STREETS = tables({0: (-500, 0), 1: (3000, 0), 2: (6500, 0)}, [(i, i + 1, ON_FOOT) for i in range(2)])


def town(folder: Path, **files: str) -> tl.Network:
    """Return a street with a bus from a to b, and another one on from there to c."""
    return tl.build_network(STREETS, gtfs=timetable(folder, STOPS, TRIPS, **files), timezone="UTC")


def blocks(folder: Path) -> tl.Network:
    """Return blocks of 300 m, with a bus along the middle every five minutes and one across it every seven."""
    side = 6
    nodes = {(i, j): (300 * i, 300 * j) for i in range(side) for j in range(side)}
    streets = [((i, j), (i + 1, j), ON_FOOT) for i in range(side - 1) for j in range(side) if (i, j) != (2, 3)]
    streets += [((i, j), (i, j + 1), ON_FOOT) for i in range(side) for j in range(side - 1) if (i, j) != (4, 1)]
    stops = {"w": (0.0, 600.0), "m": (900.0, 600.0), "e": (1500.0, 600.0), "n": (900.0, 1500.0)}
    trips = [[("w", t), ("m", t + 90), ("e", t + 150)] for t in range(28_000, 34_000, 300)]
    trips += [[("m", t), ("n", t + 100)] for t in range(28_000, 34_000, 420)]
    return tl.build_network(tables(nodes, streets), gtfs=timetable(folder, stops, trips), timezone="UTC")


@st.composite
def towns(draw: st.DrawFn) -> tuple[dict[Any, Any], list[Any], dict[str, Any], list[Any]]:
    """Draw streets on a grid with gaps, stops near them and trips between the stops."""
    n = draw(st.integers(2, 4))
    step = 300.0
    nodes = {(i, j): (i * step, j * step) for i in range(n) for j in range(n)}
    links = [((i, j), (i + 1, j)) for i in range(n - 1) for j in range(n)]
    links += [((i, j), (i, j + 1)) for i in range(n) for j in range(n - 1)]
    kept = draw(st.lists(st.sampled_from(links), min_size=len(links) // 2, unique=True))
    place = st.tuples(st.integers(-50, int((n - 1) * step) + 50), st.integers(-50, int((n - 1) * step) + 50))
    places = draw(st.lists(place, min_size=2, max_size=6, unique=True))
    stops = {f"s{i}": (float(x), float(y)) for i, (x, y) in enumerate(places)}
    trips = []
    for _ in range(draw(st.integers(1, 6))):
        calls = draw(st.lists(st.sampled_from(list(stops)), min_size=2, max_size=4))
        calls = [stop for k, stop in enumerate(calls) if k == 0 or stop != calls[k - 1]]
        if len(calls) < 2:
            continue
        when = 28_800 + draw(st.integers(0, 1200))
        trip = []
        for stop in calls:
            trip.append((stop, when))
            when += draw(st.integers(0, 200))
        trips.append(trip)
    if not trips:
        trips = [[("s0", 28_800), ("s1", 28_900)]]
    return nodes, kept, stops, trips


#: Ways to travel by public transport.
MEANS = st.fixed_dictionaries(
    {"type": st.sampled_from(["public_transport", "bus", "cycling+public_transport", "driving+public_transport"])},
    optional={
        "walking_time": st.sampled_from([0, 60, 200, 400]),
        "pt_change_delay": st.sampled_from([0, 45]),
        "max_changes": st.integers(0, 2),
        "transfer_walking_time": st.sampled_from([0, 100, 1500]),
        "direct_walking_time": st.sampled_from([0, 120, 600]),
        "walking_speed": st.sampled_from([3.0, 5.0, 8.2]),
    },
)


def two_feeds(folder: Path) -> tl.Network:
    """
    Return a street with a bus from a to c at 8:05, in a feed of 2019, and a night metro, in a feed of 2008 to 2020.

    From a to c it is 6,000 s on foot, and on a day of both feeds 300 s of waiting and 400 s in the bus at 8:00.
    """
    calendar = "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date"
    days = {
        "métro": ([("a", 82_800), ("b", 83_000)], f"{calendar}\ndaily,1,1,1,1,1,1,1,20080101,20201231"),
        "lines": ([("a", 29_100), ("c", 29_500)], f"{calendar}\ndaily,1,1,1,1,1,1,1,20190101,20191231"),
    }
    feeds = []
    for name, (trip, dates) in days.items():
        path = timetable(folder, STOPS, [trip], calendar=dates)
        feeds.append(path.rename(path.with_stem(name)))
    return tl.build_network(STREETS, gtfs=feeds, timezone="UTC")
