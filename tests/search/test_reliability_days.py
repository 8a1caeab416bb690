"""Days that are no simple copies of the plan: other platforms, clocks that change, feeds in another order."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest

import traveltime_lab as tl
from tests.support.towns import STREETS, clock, timetable
from tests.support.worlds import FRAME

MONDAY = dt.date(2026, 3, 2)
MIDNIGHT = int(dt.datetime(2026, 3, 2, tzinfo=dt.UTC).timestamp())
HOW: dict[str, Any] = {"departure_time": "2026-03-02T08:00:00", "travel_time": 3000, "form": "departures"}
HOME = gpd.GeoSeries.from_xy(*FRAME.to_lnglat([0.0], [0.0]), crs=4326, index=["home"])
C = gpd.GeoSeries.from_xy(*FRAME.to_lnglat([6000.0], [0.0]), crs=4326, index=["c"])


def times(found: pd.DataFrame) -> list[Any]:
    """Return planned, realizable and possible of the only row."""
    assert len(found) == 1
    return found[["planned", "realizable", "possible"]].iloc[0].tolist()


# Platforms -----------------------------------------------------------------------------------------------------------

#: Stations with two platforms, 100 m apart, and a halt.
PLATFORMS = {"a": 0.0, "a2": 100.0, "b": 3000.0, "b2": 3100.0, "m": 4000.0, "c": 6000.0, "c2": 6100.0}


@pytest.fixture(scope="module")
def stations(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    """Return a bus from a to b, and two buses of one line on to c; a third one leaves b2 before it can be caught."""
    trips = [
        [("a", 28_800), ("b", 29_100)],
        [("b", 29_400), ("m", 29_500), ("c", 29_700)],
        [("b", 30_600), ("m", 30_700), ("c", 30_900)],
        [("b2", 29_150), ("c2", 29_300)],
    ]
    lng, lat = FRAME.to_lnglat([*PLATFORMS.values(), 0.0, 3000.0, 6000.0], [0.0] * 10)
    names = [*PLATFORMS, "A", "B", "C"]
    rows = [
        f"{name},{name},{y:.7f},{x:.7f},{int(name.isupper())},{'' if name in 'mABC' else name[0].upper()}"
        for name, x, y in zip(names, lng, lat, strict=True)
    ]
    folder = tmp_path_factory.mktemp("stations")
    path = timetable(
        folder, {"a": (0.0, 0.0)}, trips,
        stops="\n".join(["stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station", *rows]),
        trips="route_id,service_id,trip_id\nR0,daily,t0\nR1,daily,t1\nR1,daily,t2\nR1,daily,t3",
    )  # fmt: skip
    return tl.build_network(STREETS, gtfs=path, timezone="UTC")


def changed(network: tl.Network, *updates: dict[str, Any]) -> dict[dt.date, tl.Network]:
    """Return a day with updates of trips."""
    entities = [{"id": str(k), "trip_update": update} for k, update in enumerate(updates)]
    message = {"header": {"gtfs_realtime_version": "2.0"}, "entity": entities}
    return {MONDAY: network.with_updates(json.dumps(message).encode())}


def moved(trip: str, *to: tuple[int, str], skipped: tuple[int, ...] = ()) -> dict[str, Any]:
    """Return the update of a trip with other stops at some positions."""
    rows = [
        {"stop_sequence": k, "departure": {"delay": 0}, "stop_time_properties": {"assigned_stop_id": stop}}
        for k, stop in to
    ] + [{"stop_sequence": k, "schedule_relationship": "SKIPPED"} for k in skipped]
    rows.sort(key=lambda row: row["stop_sequence"])
    return {"trip": {"trip_id": trip, "start_date": "20260302"}, "stop_time_update": rows}


def cancelled(trip: str) -> dict[str, Any]:
    return {"trip": {"trip_id": trip, "start_date": "20260302", "schedule_relationship": "CANCELED"}}


@pytest.mark.parametrize(
    ("updates", "realizable", "is_possible"),
    [
        ([], 900, True),
        ([moved("t0", (0, "a2"))], 900, True),
        ([moved("t0", (1, "b2"))], 900, True),
        ([moved("t1", (0, "b2"))], 900, True),
        ([moved("t1", (2, "c2"))], 900, True),
        ([moved("t0", (0, "a2"), (1, "b2")), moved("t1", (0, "b2"), (2, "c2"))], 900, True),
        ([moved("t1", (2, "c2"), skipped=(1,))], 900, True),
        # Not to another station, and not without one.
        ([moved("t1", (2, "b2"))], 2100, False),
        ([moved("t1", (2, "m"))], 2100, False),
        # The next vehicle of the line.
        ([cancelled("t1"), moved("t2", (0, "b2"), (2, "c2"))], 2100, False),
        ([cancelled("t1"), cancelled("t2"), moved("t3", (0, "b"), (1, "c"))], 500, False),
        ([cancelled("t1"), cancelled("t2")], pd.NA, False),
    ],
)  # fmt: skip
def test_platforms_of_a_station(
    stations: tl.Network, updates: list[dict[str, Any]], realizable: Any, is_possible: bool
) -> None:
    found = tl.reliability(stations, changed(stations, *updates), HOME, C, **HOW)
    assert times(found) == [900, realizable, is_possible]


def test_added_vehicles_at_any_platform(stations: tl.Network) -> None:
    trip = {"trip_id": "x", "route_id": "R1", "start_date": "20260302", "schedule_relationship": "ADDED"}
    calls = [
        {"stop_id": stop, name: {"time": MIDNIGHT + time}}
        for stop, name, time in (("b2", "departure", 29_600), ("c2", "arrival", 29_800))
    ]
    day = changed(stations, cancelled("t1"), {"trip": trip, "stop_time_update": calls})
    assert times(tl.reliability(stations, day, HOME, C, **HOW)) == [900, 1000, False]


# Keys ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key", [MONDAY, "2026-03-02", pd.Timestamp("2026-03-02"), dt.datetime(2026, 3, 2), np.datetime64("2026-03-02")]
)
def test_keys_of_days(stations: tl.Network, key: Any) -> None:
    day = changed(stations, cancelled("t1"))[MONDAY]
    found = tl.reliability(stations, {key: day}, HOME, C, **HOW)
    assert times(found) == [900, 2100, False] and found["date"].tolist() == [pd.Timestamp("2026-03-02")]
    assert tl.receipt(found)["arguments"]["days"] == {"dates": ["2026-03-02"], "fingerprints": [day.fingerprint]}
    assert tl.replay(found, stations, days={MONDAY: day}).differences == ()


@pytest.mark.parametrize(
    "keys",
    [["2026-03-02T08:00"], [dt.datetime(2026, 3, 2, 8)], ["Monday"], [20260302], [pd.NaT], [None],
     [MONDAY, "2026-03-02"]],
)  # fmt: skip
def test_keys_that_are_no_dates(stations: tl.Network, keys: list[Any]) -> None:
    with pytest.raises(tl.InputError, match=r"keys of days must be dates such as|has the date 2026-03-02 twice"):
        tl.reliability(stations, dict.fromkeys(keys, stations), HOME, C, **HOW)


# The planned network -------------------------------------------------------------------------------------------------


def test_the_plan_is_without_updates(stations: tl.Network, tmp_path: Path) -> None:
    late = changed(stations, cancelled("t1"))
    expected = tl.reliability(stations, late, HOME, C, **HOW)
    pd.testing.assert_frame_equal(tl.reliability(late[MONDAY], late, HOME, C, **HOW), expected)
    late[MONDAY].save(tmp_path / "late")
    with pytest.raises(tl.InputError, match="this network was saved with updates"):
        tl.reliability(tl.load_network(tmp_path / "late"), late, HOME, C, **HOW)


def test_on_foot_and_early(stations: tl.Network) -> None:
    """Walks are always possible; a planned vehicle that leaves early is missed, though the observed search has it."""
    near = gpd.GeoSeries.from_xy(*FRAME.to_lnglat([300.0], [0.0]), crs=4326, index=["near"])
    early = [{**moved(trip), "delay": -120} for trip in ("t0", "t1", "t2")]
    for updates in ([], early, [cancelled(trip) for trip in ("t0", "t1", "t2")]):
        assert times(tl.reliability(stations, changed(stations, *updates), HOME, near, **HOW)) == [300, 300, True]
    found = tl.reliability(stations, changed(stations, early[0]), HOME, C, **HOW)
    assert times(found) == [900, pd.NA, False] and found["reason"].tolist() == ["no_vehicle"]
    # At the second one only, the next vehicle comes.
    early[1]["delay"] = -310
    found = tl.reliability(stations, changed(stations, early[1]), HOME, C, **HOW)
    assert times(found) == [900, 2100, False] and found["transfers_missed"].tolist() == [1]


# Feeds ---------------------------------------------------------------------------------------------------------------


def bus(folder: Path, name: str, trips: dict[str, int]) -> Path:
    """Write a feed with a bus from a to c at some seconds of each day."""
    path = folder / name
    path.mkdir(parents=True)
    stops = {"a": (0.0, 0.0), "c": (6000.0, 0.0)}
    calls = [[("a", at), ("c", at + 300)] for at in trips.values()]
    times = "\n".join(
        f"{trip},{k},{stop},{clock(at)},{clock(at)}"
        for trip, each in zip(trips, calls, strict=True)
        for k, (stop, at) in enumerate(each)
    )
    written = timetable(
        path, stops, calls, stop_times="trip_id,stop_sequence,stop_id,arrival_time,departure_time\n" + times,
        trips="\n".join(["route_id,service_id,trip_id", *(f"R0,daily,{trip}" for trip in trips)]),
    )  # fmt: skip
    return written.rename(path / f"{name}.zip")


@pytest.mark.thorough
def test_feeds_with_equal_ids(tmp_path: Path) -> None:
    """Feeds are matched by name: a trip of one is not that of another with the same id."""
    one, two = bus(tmp_path, "one", {"x": 28_800}), bus(tmp_path, "two", {"x": 29_400, "y": 30_000})
    three = bus(tmp_path, "three", {"x": 28_800, "z": 40_000})
    networks = {
        name: tl.build_network(STREETS, gtfs=gtfs, timezone="UTC")
        for name, gtfs in (
            ("same", [one, two]), ("turned", [two, one]), ("more", [two, three, one]), ("less", [two]),
            ("renamed", [three, two]), ("other", three), ("one", one),
        )
    }  # fmt: skip
    planned = networks["same"]
    for name in ("same", "turned", "more"):
        assert times(tl.reliability(planned, {MONDAY: networks[name]}, HOME, C, **HOW)) == [300, 300, True], name
    # The second feed runs another route, though it has the same id.
    assert times(tl.reliability(planned, {MONDAY: networks["less"]}, HOME, C, **HOW)) == [300, pd.NA, False]
    with pytest.raises(
        tl.InputError, match=r"days\[2026-03-02\] has the feeds three, two, the planned network has one"
    ):
        tl.reliability(planned, {MONDAY: networks["renamed"]}, HOME, C, **HOW)
    # Of one feed each, the names do not matter.
    assert times(tl.reliability(networks["one"], {MONDAY: networks["other"]}, HOME, C, **HOW)) == [300, 300, True]


# Receipts ------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_receipts_say_which_day_differs(stations: tl.Network) -> None:
    late = pd.DataFrame({"trip_id": "t0", "date": ["2026-03-02", "2026-03-03"], "stop_sequence": 0})
    late["departure_delay"] = [60, 120]
    one, other = (tl.observed_days(stations, late, gaps=gaps) for gaps in ("planned", "drop"))
    assert one.digest == other.digest
    found = tl.reliability(stations, one, HOME, C, **HOW)
    kept = tl.receipt(found)["arguments"]["days"]
    dates = ["2026-03-02", "2026-03-03"]
    assert kept == {
        "dates": dates, "digest": one.digest, "fingerprints": [one[date].fingerprint for date in dates],
    }  # fmt: skip
    again = tl.replay(found, stations, days=one)
    assert again.is_same and again.differences == ()
    differences = tl.replay(found, stations, days=other).differences
    assert [each.partition(":")[0] for each in differences if "network of" in each] == [
        f"the network of {date} differs" for date in dates
    ]
    mixed: Mapping[Any, tl.Network] = {dates[0]: one[dates[0]], dates[1]: other[dates[1]]}
    differences = tl.replay(found, stations, days=mixed).differences
    assert [each.partition(":")[0] for each in differences if "network of" in each] == [
        "the network of 2026-03-03 differs"
    ]
    # Receipts of before have no fingerprints of archives.
    old = tl.receipt(found)
    del old["arguments"]["days"]["fingerprints"]
    assert tl.replay(old, stations, days=one).differences == ()


# Clocks --------------------------------------------------------------------------------------------------------------

SUMMER, WINTER, AUTUMN = dt.date(2026, 3, 29), dt.date(2026, 10, 24), dt.date(2026, 10, 25)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2026-10-25T02:30+02:00", ["24T02:30:00+02:00", "25T02:30:00+02:00"]),
        ("2026-10-25T02:30+01:00", ["24T02:30:00+02:00", "25T02:30:00+01:00"]),
        ("2026-03-02T02:30", ["24T02:30:00+02:00", "25T02:30:00+02:00"]),
        ("2026-10-25T03:30", ["24T03:30:00+02:00", "25T03:30:00+01:00"]),
        (["2026-10-25T02:30+02:00", "2026-10-25T02:30+01:00"],
         ["24T02:30:00+02:00", "25T02:30:00+02:00", "25T02:30:00+01:00"]),
    ],
)  # fmt: skip
def test_clocks_that_go_back(rome: tl.Network, given: Any, expected: list[str]) -> None:
    """The reading that is given, or the first one."""
    how = {**HOW, "departure_time": given}
    found = tl.reliability(rome, {AUTUMN: rome, WINTER: rome}, HOME, C, **how)
    assert [each.isoformat() for each in found["departure_time"]] == [f"2026-10-{each}" for each in expected]
    for planned, when in zip(found["planned"], found["departure_time"], strict=True):
        alone = tl.time_filter(
            rome, HOME, C, departure_time=when, travel_time=3000, transportation="public_transport", form="matrix"
        ).iloc[0, 0]
        assert pd.isna(planned) if pd.isna(alone) else planned == alone


def test_windows_across_a_change(rome: tl.Network) -> None:
    """A window has elapsed minutes."""
    how = {**HOW, "departure_time": "2026-10-24T02:58", "window": 180}
    for date in (AUTUMN, SUMMER):
        first = dt.datetime.combine(date, dt.time(1, 58))
        how["departure_time"] = dt.datetime.combine(WINTER, dt.time(1, 58))
        found = tl.reliability(rome, {date: rome}, HOME, C, **how)["departure_time"]
        assert found.iloc[0].replace(tzinfo=None) == first
        assert found.diff().dropna().dt.total_seconds().tolist() == [60.0, 60.0]


def test_clocks_that_go_forward(rome: tl.Network) -> None:
    text = r"departure_time on 2026-03-29: 2026-03-29T02:30:00 does not exist .* Leave this date out of days"
    with pytest.raises(tl.MomentError, match=text):
        tl.reliability(rome, {WINTER: rome, SUMMER: rome}, HOME, C, **{**HOW, "departure_time": "2026-03-02T02:30"})


def test_nights(tmp_path: Path) -> None:
    """A bus of the service date before counts after midnight, alone and after a departure before midnight."""
    path = bus(tmp_path, "night", {"n": 86_400 + 900, "later": 86_400 + 2700})
    night = tl.build_network(STREETS, gtfs=path, timezone="UTC")
    how = {**HOW, "departure_time": "2026-03-03T00:05", "travel_time": 7200}
    dates = [MONDAY + dt.timedelta(days=k) for k in range(2)]
    late = [
        {"trip": {"trip_id": "n", "start_date": f"{date:%Y%m%d}"}, "delay": delay}
        for date, delay in zip(dates, (600, 60), strict=True)
    ]
    both = changed(night, *late)[MONDAY]
    for day, delay in ((both, 600), (changed(night, late[0])[MONDAY], 600), (changed(night, late[1])[MONDAY], 0)):
        found = tl.reliability(night, {dates[1]: day}, HOME, C, **how)
        assert found[["planned", "observed", "realizable"]].iloc[0].tolist() == [900, 900 + delay, 900 + delay]
        assert found["possible"].tolist() == [True]
    how["departure_time"] = ["2026-03-02T23:55", "2026-03-03T00:05"]
    found = tl.reliability(night, {dates[0]: both}, HOME, C, **how)
    assert found["realizable"].tolist() == [1500 + 600, 900 + 600]
    gone = {"trip": {"trip_id": "n", "start_date": "20260302", "schedule_relationship": "CANCELED"}}
    how["departure_time"] = "2026-03-03T00:05"
    assert times(tl.reliability(night, {dates[1]: changed(night, gone)[MONDAY]}, HOME, C, **how)) == [900, 2700, False]


@pytest.fixture(scope="module")
def rome(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    """Return a bus every half an hour of the night."""
    trips = {f"t{at}": at for at in range(0, 18_000, 1800)}
    return tl.build_network(STREETS, gtfs=bus(tmp_path_factory.mktemp("rome"), "x", trips), timezone="Europe/Rome")
