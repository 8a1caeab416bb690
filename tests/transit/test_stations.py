"""Stations from inside: entrances, pathways, step-free trips, closed elevators, and broken files."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.combinations import first_of
from tests.support.feeds import feed, posix
from tests.support.oracles_stations import StationFeed, StationOracle
from tests.support.towns import ON_FOOT, clock, towns
from tests.support.worlds import FRAME, at, tables
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.readers.gtfs.feed import read_feed
from traveltime_lab.readers.region import Region
from traveltime_lab.streets.extent import Extent

#: A street of 2 km at 1 m/s, and a train from the station S in the west to T in the east.
WITHOUT_STEPS = {**ON_FOOT, "wheelchair": "yes"}
STREETS = tables({0: (0, 0), 1: (1000, 0), 2: (5000, 0)}, [(i, i + 1, WITHOUT_STEPS) for i in range(2)])
PLACES = {
    "S": (1000, 200), "north": (900, 0), "south": (1200, 0), "hall": (1000, 150), "p1": (1000, 200), "p2": (1020, 200),
    "T": (4000, 0),
}  # fmt: skip
KINDS = {"S": 1, "north": 2, "south": 2, "hall": 3}
PATHWAYS = """
    pathway_id,from_stop_id,to_stop_id,pathway_mode,is_bidirectional,length,traversal_time,stair_count
    stairs,north,hall,2,1,20,30,40
    down,hall,p1,4,0,,20,
    up,p1,hall,4,0,,25,
    lift,south,p1,5,1,,90,
    link,p1,p2,1,1,50,40,
    gate,hall,p2,6,1,,5,
"""


def stations(
    folder: Path, pathways: str | None = PATHWAYS, trips: str = "", more: dict[str, str] | None = None, **files: str
) -> Path:
    """Write the feed of the two stations; `more` has wheelchair_boarding by stop."""
    lng, lat = FRAME.to_lnglat(*zip(*PLACES.values(), strict=True))
    rows = [
        f"{name},{name},{y:.7f},{x:.7f},{KINDS.get(name, 0)},{'' if name in 'ST' else 'S'},{(more or {}).get(name, '')}"
        for name, x, y in zip(PLACES, lng, lat, strict=True)
    ]
    calls = [("t", "p1", 28_800), ("t", "T", 29_100), ("u", "T", 29_400), ("u", "p2", 29_700), ("v", "p1", 30_000)]
    calls += [("v", "T", 30_300)]
    times = [f"{trip},{k},{stop},{clock(when)},{clock(when)}" for k, (trip, stop, when) in enumerate(calls)]
    content: dict[str, Any] = {
        "stops": "\n".join(
            ["stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station,wheelchair_boarding", *rows]
        ),
        "routes": "route_id,route_short_name,route_type\nR,1,2",
        "trips": trips or "route_id,service_id,trip_id\nR,daily,t\nR,daily,u\nR,daily,v",
        "stop_times": "\n".join(["trip_id,stop_sequence,stop_id,arrival_time,departure_time", *times]),
        "pathways": pathways,
    }
    return feed(folder, **{**content, **files})


def built(folder: Path, *given: Any, **how: Any) -> tl.Network:
    return tl.build_network(STREETS, gtfs=stations(folder, *given, **how), timezone="UTC")


def seconds(network: tl.Network, start: tuple[float, float], end: tuple[float, float], **how: Any) -> float:
    """Return the travel time of one pair by train, NaN if there is none."""
    how = {"departure_time": "2026-03-03T07:50:00", "walking_time": 3600, "direct_walking_time": 0, **how}
    moment = {name: how.pop(name) for name in ("departure_time", "arrival_time") if how.get(name)}
    if "arrival_time" in moment:
        moment.pop("departure_time", None)
    times = tl.time_filter(
        network, at(start), at(end), travel_time=7200, transportation={"type": "train", **how}, form="matrix", **moment
    )
    return float(times.to_numpy(float)[0, 0])


WEST, EAST = (900, 0), (4000, 0)


def test_platforms_that_entrances_link_are_not_off_the_streets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deep below a hill, the platforms are far from all streets, and the entrances on them."""
    monkeypatch.setitem(PLACES, "p1", (1000, 2600))
    monkeypatch.setitem(PLACES, "p2", (1020, 2600))
    deep = built(tmp_path)
    assert np.isfinite(seconds(deep, WEST, EAST))
    assert deep.report().stops_off_streets().empty
    assert "not on these streets" not in str(deep.report())
    straight = built(tmp_path, None)
    assert straight.report().stops_off_streets()["stop_id"].tolist() == ["p1", "p2"]


def test_a_station_by_hand(tmp_path: Path) -> None:
    network = built(tmp_path)
    # From the north entrance: 30 s stairs and 20 s escalator, or 5 s through the gate and 40 s along the platforms.
    # Coordinates of the feed are rounded to a centimetre, so that a second is to spare.
    late, missed = "2026-03-03T07:59:09", "2026-03-03T07:59:11"
    assert seconds(network, WEST, EAST, departure_time=late) == 1 + 50 + 300
    assert seconds(network, WEST, EAST, departure_time=missed) == 1249 + 300
    # From the south entrance it is 90 s by elevator.
    assert seconds(network, (1200, 0), EAST, departure_time="2026-03-03T07:58:29") == 1 + 90 + 300
    # Alighting at p2: 5 s to the hall, then 30 s of stairs.
    assert seconds(network, EAST, WEST, departure_time="2026-03-03T08:09:59") == 1 + 300 + 35
    assert seconds(network, EAST, WEST, arrival_time="2026-03-03T08:15:36") == 300 + 35 + 1


def test_step_free_by_hand(tmp_path: Path) -> None:
    network = built(tmp_path)
    how = {"step_free": "lenient"}
    # Along the street to the south entrance, and by elevator.
    early = "2026-03-03T07:53:29"
    assert seconds(network, WEST, EAST, departure_time=early, **how) == 1 + 300 + 90 + 300
    assert seconds(network, EAST, WEST, departure_time="2026-03-03T08:09:59", **how) == 1 + 300 + 40 + 90 + 300
    # Nothing says that trains and stops take wheelchairs.
    assert np.isnan(seconds(network, WEST, EAST, step_free="strict"))
    trips = "route_id,service_id,trip_id,wheelchair_accessible\nR,daily,t,2\nR,daily,u,1\nR,daily,v,1"
    later = built(tmp_path, trips=trips, more={"S": "1", "T": "1"})
    assert seconds(later, WEST, EAST, departure_time=early, **how) == 1591 + 300
    assert seconds(later, WEST, EAST, departure_time=early, step_free="strict") == 1591 + 300
    closed = built(tmp_path, more={"S": "1", "south": "2"})
    assert np.isnan(seconds(closed, WEST, EAST, **how))
    assert np.isnan(seconds(built(tmp_path, more={"T": "2"}), WEST, EAST, **how))


def test_closed_elevators_and_pathways(tmp_path: Path) -> None:
    network = built(tmp_path)
    without = network.with_changes(tl.CloseElevator("lift"))
    assert np.isnan(seconds(without, WEST, EAST, step_free="lenient"))
    # Others walk to the north entrance.
    way = {"departure_time": "2026-03-03T07:50:00"}
    assert seconds(without, (1200, 0), EAST, **way) == 600 + 300
    assert seconds(without, (1200, 0), EAST, departure_time="2026-03-03T07:54:09") == 1 + 300 + 50 + 300
    none = without.with_changes(tl.ClosePathway(["stairs"], name="works"))
    assert np.isnan(seconds(none, WEST, EAST))
    assert "1 pathway closed" in str(none.report()["changes"])
    again = tl.load_network(none.save(tmp_path / "saved"))
    assert np.isnan(seconds(again, WEST, EAST))
    assert again.fingerprint == none.fingerprint != network.fingerprint
    for change, words in (
        (tl.CloseElevator("lifts"), "no elevator has the id 'lifts'; did you mean 'lift'"),
        (tl.CloseElevator("stairs"), "'stairs' is no elevator but: stairs; use ClosePathway"),
        (tl.ClosePathway("stair"), "no pathway has the id 'stair'; did you mean 'stairs'"),
        (tl.ClosePathway("lift", feed="x"), "no feed is called 'x'"),
    ):
        with pytest.raises(tl.InputError, match=words):
            network.with_changes(change)
    for each in (tl.CloseElevator, tl.ClosePathway):
        with pytest.raises(tl.InputError, match="has an empty pathway_id"):
            each([""])
    with pytest.raises(tl.InputError, match="the timetable has no pathways"):
        built(tmp_path, None).with_changes(tl.ClosePathway("lift"))


#: Files with pathways that are not complete, and what the report says.
BROKEN = {
    "platform cut off": ("    link,p1,p2,1,1,50,40,\n    gate,hall,p2,6,1,,5,\n", "", "do not join with an entrance"),
    "unknown stop": ("gate,hall,p2", "gate,hal,p2", "unknown from_stop_id"),
    "wrong directions": (
        "up,p1,hall,4,0,,25,\nlift,south,p1,5,1,,90,\nlink,p1,p2,1,1,50,40,\ngate,hall,p2,6,1,,5,\n",
        "link,p1,p2,1,1,50,40,\n", "do not join with an entrance",
    ),
    "negative time": ("5,1,,90,", "5,1,,-90,", "traversal_time is not from 0 to 86,400 s"),
    "bad mode": ("lift,south,p1,5", "lift,south,p1,9", "pathway_mode is no number from 1 to 7"),
    "a station": ("lift,south,p1", "lift,south,S", "to_stop_id is a station"),
    "no direction": ("lift,south,p1,5,1", "lift,south,p1,5,", "is_bidirectional is neither 0 nor 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_findings_and_links_are_straight(name: str, tmp_path: Path) -> None:
    before, after, words = BROKEN[name]
    lines = "\n".join(line.strip() for line in PATHWAYS.splitlines())
    old, new = ("\n".join(line.strip() for line in part.splitlines()) for part in (before, after))
    assert old in lines
    network = built(tmp_path, lines.replace(old, new))
    assert words in str(network.report()["timetable"]), network.report()["timetable"]
    straight = built(tmp_path, None)
    for start, end in ((WEST, EAST), (EAST, WEST), ((1200, 0), EAST)):
        assert seconds(network, start, end) == seconds(straight, start, end)


def test_entrances_far_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PLACES, "north", (4900, 0))
    network = built(tmp_path)
    assert "entrance without a place within 2,000 m" in str(network.report()["timetable"])
    assert seconds(network, WEST, EAST) == seconds(built(tmp_path, None), WEST, EAST)


@pytest.mark.thorough
def test_transfers_inside(tmp_path: Path) -> None:
    """min_transfer_time is a minimum: the longer of it and the way inside counts, and a rule alone is no way."""
    calls = [("t", "T", 28_800), ("t", "p2", 29_100), ("u", "p1", 29_160), ("u", "T", 29_460)]
    times = [f"{trip},{k},{stop},{clock(when)},{clock(when)}" for k, (trip, stop, when) in enumerate(calls)]
    stop_times = "\n".join(["trip_id,stop_sequence,stop_id,arrival_time,departure_time", *times])
    from traveltime_lab.modes.transportation import Transportation
    from traveltime_lab.transit import stop_links

    def change(step_free: str | None = None, closed: str = "", **files: str) -> int | None:
        network = built(tmp_path, stop_times=stop_times, **files)
        if closed:
            network = network.with_changes(tl.ClosePathway(closed.split()))
        walking = Transportation("walking", step_free=step_free)
        stops = stop_links.linked_stops(network.transit, network.road_graph(walking), walking)
        found = stop_links.changes(network.transit, stops, 600)
        ids = network.timetable.stops["stop_id"].tolist()
        a, b = ids.index("p2"), ids.index("p1")
        row = slice(*found.indptr[a : a + 2])
        ways = dict(zip(found.stop[row].tolist(), found.seconds[row].tolist(), strict=True))
        return ways.get(b)

    rule = "from_stop_id,to_stop_id,transfer_type,min_transfer_time\n"
    assert change() == 5 + 20
    assert change(transfers=f"{rule}p2,p1,2,10") == 25
    assert change(transfers=f"{rule}p2,p1,2,100") == 100
    assert change(transfers=f"{rule}S,S,2,100") == 100
    assert change(transfers=f"{rule}p2,p1,3,") is None
    assert change("lenient", transfers=f"{rule}p2,p1,2,10") == 40
    everything = "link gate down"
    assert change("lenient", everything, transfers=f"{rule}p2,p1,2,10") is None
    assert change(None, "link gate", transfers=f"{rule}p2,p1,2,10") is None


@pytest.mark.slow
def test_explain_names_what_is_in_the_way(tmp_path: Path) -> None:
    def explained(network: tl.Network, **how: Any) -> tl.Explanation:
        means = {"type": "train", "direct_walking_time": 0, **how}
        return tl.explain(
            network, at(WEST), at(EAST), departure_time="2026-03-03T07:50:00", transportation=means, travel_time=3600
        )

    network = built(tmp_path)
    strict = {reason.code: reason for reason in explained(network, step_free="strict").reasons}["not_step_free"]
    assert strict.data["stops"] == ["p1", "T"]
    assert strict.data["trips"] == ["t"]
    assert "the trip t of train 1 (wheelchairs: not known)" not in strict.sentence  # the fourth obstacle
    without = network.with_changes(tl.CloseElevator("lift"))
    found = {reason.code: reason for reason in explained(without, step_free="lenient").reasons}
    assert found["not_step_free"].data["pathways"] == ["stairs", "down"]
    assert "With steps it takes" in found["not_step_free"].sentence
    assert "the stairs stairs at p1" in found["not_step_free"].sentence
    assert found["station_closed"].data["closed"] == ("lift",)
    none = network.with_changes(tl.ClosePathway(["lift", "stairs"]))
    reason = {reason.code: reason for reason in explained(none).reasons}["station_closed"]
    assert reason.sentence == "What is closed inside stations leaves no way to p1 and p2."


@pytest.mark.slow
def test_alerts_close_elevators(tmp_path: Path) -> None:
    """By the places where they stop, for ACCESSIBILITY_ISSUE, and everything there for NO_SERVICE."""
    network = built(tmp_path)

    def updated(effect: str, stop: str, entity: Any = (), **more: Any) -> tl.Network:
        alert = {"effect": effect, "informedEntity": [{"stopId": stop, **dict(entity)}], **more}
        header = {"gtfsRealtimeVersion": "2.0", "timestamp": posix("2026-03-03T07:00:00")}
        message = {"header": header, "entity": [{"id": "1", "alert": alert}]}
        return network.with_updates(json.dumps(message).encode())

    out = updated("ACCESSIBILITY_ISSUE", "south")
    assert out.updates.alerts["result"].tolist() == ["closes 1 elevator of stations"]
    assert np.isnan(seconds(out, WEST, EAST, step_free="lenient"))
    assert seconds(out, WEST, EAST) == seconds(network, WEST, EAST)
    assert out.fingerprint != network.fingerprint
    shut = updated("NO_SERVICE", "north")
    assert "closes 1 pathway of" in shut.updates.alerts["result"].iloc[0]
    assert seconds(shut, WEST, EAST) == 600 + 300
    for effect, stop, more, words in (
        ("ACCESSIBILITY_ISSUE", "p1", {}, "names no entrance or place inside a station where one stops"),
        ("ACCESSIBILITY_ISSUE", "south", {"activePeriod": [{"end": posix("2026-03-01T00:00:00")}]}, "not in force"),
        ("OTHER_EFFECT", "south", {}, "note"),
        ("ACCESSIBILITY_ISSUE", "south", {"entity": {"routeId": "R"}}, "names no entrance"),
        ("NO_SERVICE", "south", {"entity": {"trip": {"tripId": "t"}}}, "closes no call"),
    ):
        same = updated(effect, stop, **more)
        assert words in same.updates.alerts["result"].iloc[0]
        assert seconds(same, WEST, EAST, step_free="lenient") == seconds(network, WEST, EAST, step_free="lenient")
    later = [{"start": posix("2026-03-03T07:30:00"), "end": posix("2026-03-03T09:30:00")}]
    for stop, words in (
        ("p1", "closes 2 calls"),
        ("north", "closes no pathway, because it is not in force at the time of the message"),
    ):
        assert updated("NO_SERVICE", stop, activePeriod=later).updates.alerts["result"].tolist() == [words]
    now = [{"start": posix("2026-03-03T06:30:00"), "end": posix("2026-03-03T07:30:00")}]
    shut = updated("ACCESSIBILITY_ISSUE", "south", activePeriod=now)
    assert "at every moment, because it is in force at the time" in shut.updates.alerts["result"].iloc[0]
    assert np.isnan(seconds(shut, WEST, EAST, step_free="lenient"))


def test_routes_say_how(tmp_path: Path) -> None:
    network = built(tmp_path)
    for step_free, words in ((None, "Enter S by north: stairs, escalator"), ("lenient", "Enter S by south: elevator")):
        found = tl.routes(
            network, at(WEST), at(EAST), departure_time="2026-03-03T07:50:00",
            transportation={"type": "train", "direct_walking_time": 0, "step_free": step_free},
        )  # fmt: skip
        route = found["route"].iloc[0]
        assert words in [leg.directions for leg in route.legs]
        assert sum(leg.travel_time for leg in route.legs) == route.travel_time
    back = tl.routes(
        network, at(EAST), at(WEST), departure_time="2026-03-03T08:09:50",
        transportation={"type": "train", "direct_walking_time": 0},
    )["route"].iloc[0]  # fmt: skip
    assert back.legs[-1].directions == "Leave S by north: fare gate, stairs"
    assert back.legs[-1].travel_time == 35


@st.composite
def random_stations(draw: st.DrawFn) -> tuple[Any, StationFeed, str]:
    """Draw a town whose stops are in stations with random pathways, and what its feed says of wheelchairs."""
    nodes, links, stops, trips = draw(towns())
    value = st.sampled_from(["", "0", "1", "1", "2"])
    side = int(max(x for x, _ in nodes.values()))
    rows: list[dict[str, str]] = []
    pathways: list[dict[str, str]] = []

    def add(name: str, place: tuple[float, float], kind: int, parent: str) -> None:
        (lng,), (lat,) = FRAME.to_lnglat([place[0]], [place[1]])
        rows.append(
            {"stop_id": name, "stop_name": name, "stop_lat": f"{lat:.7f}", "stop_lon": f"{lng:.7f}",
             "location_type": str(kind), "parent_station": parent, "wheelchair_boarding": draw(value)}
        )  # fmt: skip

    def join(a: str, b: str, *, kind: str | None = None, both: bool | None = None) -> None:
        mode = kind or draw(st.sampled_from(["1", "1", "2", "3", "4", "5", "6"]))
        is_both = draw(st.booleans()) if both is None else both
        pathways.append(
            {"pathway_id": f"w{len(pathways)}", "from_stop_id": a, "to_stop_id": b, "pathway_mode": mode,
             "is_bidirectional": str(int(is_both)), "traversal_time": str(draw(st.integers(1, 120))),
             "length": "", "stair_count": draw(st.sampled_from(["", "0", "12"])) if mode in "12" else ""}
        )  # fmt: skip

    names = list(stops)
    n_stations = draw(st.integers(0, 2))
    of = {name: draw(st.integers(0, n_stations)) for name in names}
    for station in range(1, n_stations + 1):
        mine = [name for name in names if of[name] == station]
        if not mine:
            continue
        add(f"S{station}", stops[mine[0]], 1, "")
        doors = [f"e{station}{k}" for k in range(draw(st.integers(1, 3)))]
        for door in doors:
            add(door, (draw(st.integers(0, side)) + 0.5, draw(st.integers(0, side)) + 0.25), 2, f"S{station}")
        add(f"n{station}", stops[mine[0]], 3, f"S{station}")
        # Complete for everybody; the rest is random.
        for end in [*doors, *mine]:
            join(end, f"n{station}", both=True)
        for _ in range(draw(st.integers(0, 4))):
            a, b = draw(st.tuples(*[st.sampled_from([*doors, *mine, f"n{station}"])] * 2))
            if a != b:
                join(a, b)
    for name in names:
        add(name, stops[name], 0, f"S{of[name]}" if of[name] else "")
    trip_rows = {
        f"t{k}": {"route_id": "R", "service_id": "daily", "trip_id": f"t{k}", "wheelchair_accessible": draw(value)}
        for k in range(len(trips))
    }
    times = [
        f"t{k},{i},{stop},{clock(when)},{clock(when)}"
        for k, calls in enumerate(trips)
        for i, (stop, when) in enumerate(calls)
    ]
    called = {stop for calls in trips for stop, _ in calls}
    about = StationFeed({row["stop_id"]: row for row in rows}, trip_rows, pathways, called)
    about.closed = set(draw(st.lists(st.sampled_from([row["pathway_id"] for row in pathways] or [""]), max_size=2))) - {
        ""
    }
    return (nodes, links), about, "\n".join(["trip_id,stop_sequence,stop_id,arrival_time,departure_time", *times])


def _table(rows: list[dict[str, str]]) -> str:
    return "\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)])


@pytest.mark.slow
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(
    random_stations(),
    st.sampled_from([None, "lenient", "strict"]),
    st.sampled_from([100, 400, 900]),
    st.sampled_from([0, 100, 600]),
    st.integers(0, 2**32 - 1),
)
def test_random_stations_equal_a_plain_twin(
    tmp_path: Path, world: Any, step_free: str | None, walking_time: int, transfer_walking_time: int, seed: int
) -> None:
    (nodes, links), about, stop_times = world
    files = {
        "stops": _table([*about.stops.values()]), "trips": _table([*about.trips.values()]), "stop_times": stop_times,
        "routes": "route_id,route_short_name,route_type\nR,1,3",
    }  # fmt: skip
    if about.pathways:
        files["pathways"] = _table([*about.pathways])
    network = tl.build_network(
        tables(nodes, [(*link, WITHOUT_STEPS) for link in links]), gtfs=feed(tmp_path, **files), timezone="UTC"
    )
    if about.closed:
        network = network.with_changes(tl.ClosePathway(sorted(about.closed)))
    means = as_transportation(
        {"type": "public_transport", "walking_time": walking_time, "transfer_walking_time": transfer_walking_time,
         "step_free": step_free}
    )  # fmt: skip
    compare(network, about, means, seed, n=(3, 4), side=max(x for x, _ in nodes.values()) + 60)


def compare(network: tl.Network, about: StationFeed, means: Any, seed: int, *, n: tuple[int, int], side: float) -> None:
    rng = np.random.default_rng(seed)
    origins, destinations = (FRAME.to_lnglat(rng.uniform(-60, side, k), rng.uniform(-60, side, k)) for k in n)
    moment = posix("2026-03-03T08:00:00") + int(rng.integers(0, 900))
    oracle = StationOracle(network, about, means, origins, destinations, moment - 4000, moment + 4000)
    check(network, oracle, means, (origins, destinations), moment, 1800)


def check(
    network: tl.Network, oracle: StationOracle, means: Any, points: Any, moment: int, limit: int
) -> tuple[int, int]:
    """Hold both directions to the twin; return the number of pairs, and of those with a way, of the first."""
    n, m = (side[0].size for side in points)
    expected = {
        "departure_time": np.array([oracle.leaving(i, moment, limit) for i in range(n)]),
        "arrival_time": np.array([oracle.arriving(j, moment, limit) for j in range(m)]).T,
    }
    frames = [gpd.GeoSeries.from_xy(*side, crs="EPSG:4326") for side in points]
    for name, times in expected.items():
        stamp = {name: pd.Timestamp(moment, unit="s", tz="UTC")}
        got = tl.time_filter(network, *frames, travel_time=limit, transportation=means, form="matrix", **stamp)
        wanted = np.where(np.isfinite(times), np.floor(np.where(np.isfinite(times), times, 0) / 1000 + 0.5), np.nan)
        np.testing.assert_array_equal(got.to_numpy(float), wanted)
    first = expected["departure_time"]
    return first.size, int(np.isfinite(first).sum())


@pytest.mark.parametrize("direction", ["departure_time", "arrival_time"])
@pytest.mark.parametrize("step_free", [None, "lenient", "strict"])
def test_all_answers_agree(tmp_path: Path, direction: str, step_free: str | None) -> None:
    """Many places and few, many moments and one, windows, areas and sums are of the same times."""
    trips = "route_id,service_id,trip_id,wheelchair_accessible\nR,daily,t,2\nR,daily,u,1\nR,daily,v,1"
    network = built(tmp_path, trips=trips, more={"S": "1", "T": "1"})
    places = at(*((x, 0) for x in range(0, 5000, 100)))
    home = at((4000, 0)) if direction == "departure_time" else at((4100, 0))
    means = tl.Transportation("train", walking_time=1800, direct_walking_time=600, step_free=step_free)
    moments = pd.date_range("2026-03-03T08:09:00", periods=4, freq="1min", tz="UTC")
    if direction == "arrival_time":
        moments += pd.Timedelta(hours=1)
    ends = (home, places) if direction == "departure_time" else (places, home)

    def times(origins: Any, destinations: Any, moment: Any, **how: Any) -> pd.DataFrame:
        return tl.time_filter(
            network, origins, destinations, travel_time=3600, transportation=means, **{direction: moment}, **how
        )

    many = times(*ends, moments[0])["travel_time"].astype(float).to_numpy()
    assert np.isfinite(many).sum() > 10
    for k in range(0, len(places), 7):
        one = [side if side is home else places.iloc[[k]] for side in ends]
        np.testing.assert_array_equal(times(*one, moments[0])["travel_time"].astype(float), many[[k]])
    each = np.stack([times(*ends, moment)["travel_time"].astype(float).to_numpy() for moment in moments])
    together = times(*ends, list(moments))["travel_time"].astype(float).to_numpy()
    assert sorted(together[np.isfinite(together)]) == sorted(each[np.isfinite(each)])
    start = moments[0] if direction == "departure_time" else moments[-1]
    window = times(*ends, start, window=240, percentiles=[100])
    worst = np.where(np.isnan(each).any(axis=0), np.nan, each.max(axis=0))
    column = next(name for name in window.columns if "100" in str(name))
    np.testing.assert_array_equal(window[column].astype(float), worst)
    area = tl.time_map(network, home, travel_time=1200, transportation=means, **{direction: moments[0]})
    inside = area.geometry.iloc[0].buffer(0.0005).contains(places.to_numpy())
    assert inside[many <= 1200].all()
    assert not area.geometry.iloc[0].buffer(-0.0005).contains(places.to_numpy())[many > 1320].any()


def test_headways_without_steps(tmp_path: Path) -> None:
    files = {
        "frequencies": "trip_id,start_time,end_time,headway_secs\nt,08:00:00,10:00:00,600",
        "trips": "route_id,service_id,trip_id,wheelchair_accessible\nR,daily,t,2\nR,daily,u,1\nR,daily,v,2",
    }
    network = built(tmp_path, **files)
    for headways in ("exact", "average"):
        how = {"headways": headways, "departure_time": "2026-03-03T08:30:00"}
        assert seconds(network, WEST, EAST, **how) < 1200
        assert np.isnan(seconds(network, WEST, EAST, step_free="lenient", **how))
    how = {"headways": "average", "departure_time": "2026-03-03T08:30:00", "step_free": "strict"}
    fine = built(tmp_path, **files | {"trips": files["trips"].replace("t,2", "t,1")}, more={"S": "1", "T": "1"})
    # Along 300 m to the elevator, and half a headway.
    assert seconds(fine, WEST, EAST, **how) == 300 + 90 + 300 + 300


def test_by_car_to_a_station(tmp_path: Path) -> None:
    """Drivers park at an entrance, and walk in from there without steps if need be."""
    network = built(tmp_path)
    means = {"type": "driving+train", "direct_walking_time": 0, "parking_time": 60, "traffic_model": "off_peak"}
    for step_free, words in ((None, "Enter S by north: stairs, escalator"), ("lenient", "Enter S by south: elevator")):
        route = tl.routes(
            network, at((0, 0)), at(EAST), departure_time="2026-03-03T07:50:00",
            transportation={**means, "step_free": step_free},
        )["route"].iloc[0]  # fmt: skip
        assert [leg.mode for leg in route.legs][:3] == ["car", "parking", "walk"]
        assert route.legs[2].directions == words
        assert sum(leg.travel_time for leg in route.legs) == route.travel_time


def test_a_part_of_a_feed_has_whole_stations(tmp_path: Path) -> None:
    """Entrances, and places between, belong to a station also where they are outside of the part that is read."""
    path = stations(tmp_path)
    whole = read_feed(path)
    (west, east), (south, north) = FRAME.to_lnglat([950, 4100], [-100, 300])
    part = read_feed(path, Region((west, south, east, north)))  # without the north entrance
    assert whole.pathways is not None
    assert part.pathways is not None
    assert sorted(part.stops["stop_id"]) == sorted(whole.stops["stop_id"])
    for timetable in (whole, part):
        ids = timetable.stops["stop_id"].to_numpy(object)
        ends = zip(ids[timetable.pathways.start], ids[timetable.pathways.end], strict=True)
        assert dict(zip(timetable.pathways.ids, ends, strict=True))["stairs"] == ("north", "hall")


INFO = "feed_publisher_name,feed_publisher_url,feed_lang\nAnother,https://example.org,en"


def test_two_feeds_keep_their_pathways(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    both = [stations(tmp_path), stations(tmp_path / "other", feed_info=INFO)]
    network = tl.build_network(STREETS, gtfs=both, timezone="UTC")
    one = built(tmp_path)
    for start, end in ((WEST, EAST), (EAST, WEST)):
        assert seconds(network, start, end) == seconds(one, start, end)
    with pytest.raises(tl.InputError, match="in several feeds"):
        network.with_changes(tl.CloseElevator("lift"))
    facts = network.report()["timetable"]
    assert [each["pathways"]["platforms"] for each in facts.values()] == [2, 2]


@pytest.mark.parametrize(
    ("lift", "link", "is_open"),
    [
        (("", ""), ("", ""), True),
        (("0", ""), ("", ""), True),
        (("-1", ""), ("", ""), True),
        (("", "0.5"), ("", ""), True),  # max_slope is for walkways only
        (("0.8", ""), ("", ""), False),
        (("", ""), ("", "0.5"), False),
        (("", ""), ("", "8.3"), False),
    ],
)
def test_widths_and_slopes_of_pathways(lift: Any, link: Any, is_open: bool, tmp_path: Path) -> None:
    pathways = f"""
        pathway_id,from_stop_id,to_stop_id,pathway_mode,is_bidirectional,traversal_time,min_width,max_slope
        lift,south,hall,5,1,90,{lift[0]},{lift[1]}
        link,hall,p1,1,1,10,{link[0]},{link[1]}
        link2,p1,p2,1,1,10,,
    """
    network = built(tmp_path, pathways)
    early = "2026-03-03T07:50:00"
    assert np.isnan(seconds(network, WEST, EAST, departure_time=early, step_free="lenient")) != is_open
    said = str(network.report()["timetable"])
    assert ("min_width is not above 0: ignored" in said) == (lift[0] in ("0", "-1"))
    assert ("max_slope is above 1" in said) == (link[1] == "8.3")


def test_closed_elevators_are_no_border_of_the_extract(tmp_path: Path) -> None:
    means = {"type": "train", "walking_time": 900, "direct_walking_time": 900}
    # An extract of which the file says that ways are cut, and not where.
    streets = dataclasses.replace(
        STREETS, extent=Extent("ways"), edge_is_cut=np.zeros(STREETS.edge_from.size, np.bool_)
    )
    open_one = tl.build_network(streets, gtfs=stations(tmp_path), timezone="UTC")
    found = []
    for network in (open_one, open_one.with_changes(tl.ClosePathway(["lift", "stairs"]))):
        for moment in ("departure_time", "arrival_time"):
            area = tl.time_map(
                network, at(EAST), travel_time=3600, transportation=means, **{moment: "2026-03-03T08:09:00"}
            )
            found += area["reaches_border"].tolist()
    assert found == [False] * 4


@pytest.mark.parametrize("is_first", first_of(1, [True, False], mark=pytest.mark.thorough))
def test_explain_tells_feeds_with_the_same_ids_apart(is_first: bool, tmp_path: Path) -> None:
    # The trips of the one feed are over when the other's leave, and wheelchairs are not known there.
    (tmp_path / "other").mkdir()
    trips = "route_id,service_id,trip_id,wheelchair_accessible\nR,daily,t,1\nR,daily,u,1\nR,daily,v,1"
    early = "trip_id,stop_sequence,stop_id,arrival_time,departure_time\nt,0,p1,1:00:00,1:00:00\nt,1,T,1:05:00,1:05:00"
    known = stations(tmp_path, trips=trips, more={"S": "1", "T": "1"}, stop_times=early)
    other = stations(tmp_path / "other", PATHWAYS.replace("lift,south,p1,5,1,,90,", ""), more={"T": "2"})
    feeds = [known, other] if is_first else [other, known]
    network = tl.build_network(STREETS, gtfs=feeds, timezone="UTC")
    why = tl.explain(
        network, at(WEST), at(EAST), departure_time="2026-03-03T07:50:00", travel_time=3600,
        transportation={"type": "train", "direct_walking_time": 0, "step_free": "strict"},
    )  # fmt: skip
    data = {reason.code: reason for reason in why.reasons}["not_step_free"].data
    assert (data["stops"], data["trips"]) == (["p1", "T"], ["t"])
    assert data["pathways"] == ["stairs", "down"]
